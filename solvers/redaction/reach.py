"""What the solvers of this folder share: refusals, and how far the influence of other records is followed."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from privopt.arrays import Floats
from privopt.measures.redaction import influence
from privopt.measures.redaction.leakage import steps_away
from privopt.problems.redaction.problem import Redaction

NEGLIGIBLE = 1e-9
"""Share of a budget below which an influence is not followed any farther."""

NOISE = 1e-13
"""Budget below which differences of logarithms mean nothing, and the best window is proposed."""


def refusal(
    problem: Redaction, *, local: str = "", one_private: bool = False, binary: bool = False
) -> str | None:
    """Why a solver refuses whose adversary knows no other record, or None.

    Parameters
    ----------
    problem
    local
        What a solver of local mechanisms does, which it refuses to do for another form.
    one_private, binary
        Whether it serves one private record, or two states, only.
    """
    if binary and problem.chain.k != 2:
        return f"it needs a chain of 2 states, this one has {problem.chain.k}"
    if local and problem.form != "local":
        return f"{local}, this problem asks for form {problem.form!r}"
    if one_private and len(problem.private) > 1:
        return f"it protects one private record, this problem has {len(problem.private)}"
    if problem.side_information is None:
        return None
    return (
        f"its adversary knows no other record, this problem has side_information={problem.side_information!r}: "
        "use windows or side-information"
    )


def influences(
    problem: Redaction,
    private: int,
    side: int,
    negligible: float,
    remaining: Callable[[], float] = lambda: np.inf,
    most: int | None = None,
) -> Floats:
    """Influence of each value by distance to the left (0) or right (1) of a private record, shape (m, k).

    Followed until all values of a record are negligible, ``most`` records are seen, or time is up.
    """
    rows: list[Floats] = []
    steps = steps_away(problem.chain, private, problem.length)[side]
    walk = influence.influences(steps, problem.possible_values(private))
    for row in itertools.islice(walk, most):
        rows.append(row)
        if row.max() <= negligible or remaining() <= 0:
            break
    return np.array(rows).reshape(-1, problem.chain.k)


def first(flags: ArrayLike) -> int:
    """Place of the first true flag, their number if there is none."""
    places = np.flatnonzero(flags)
    return int(places[0]) if len(places) else int(np.size(flags))
