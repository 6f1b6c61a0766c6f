"""What the solvers of this folder share: refusals, and how far the influence of other records is followed."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from privopt.arrays import Floats
from privopt.measures.redaction import influence
from privopt.measures.redaction.leakage import equal_steps, steps_away
from privopt.problems.redaction.problem import Redaction

FORGOTTEN = 200.0
"""Records after which a chain whose steps differ is taken to have forgotten."""

NEGLIGIBLE = 1e-9
"""Share of a budget below which an influence is not followed any farther."""

POLLED = 16
"""Records between two looks at the clock."""

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


def walked(problem: Redaction, level: float) -> float:
    """About how many records a walk passes until none of their values has more influence than a level.

    From the second eigenvalue of equal steps; of others, as many as a chain of middling memory needs.
    """
    chain, longest = problem.chain, float(problem.length)
    if not chain.homogeneous:
        return min(longest, FORGOTTEN)
    second = chain.second_eigenvalue
    if second >= 1 - 1e-12:
        return longest
    least = max(float(chain.initial[chain.initial > 0].min()), 1e-9) * max(level, 1e-300)
    return min(longest, 2.0 + math.log(1 / min(least, 0.5)) / max(-math.log(max(second, 1e-300)), 1e-9))


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
    equal = equal_steps(problem.chain, 2 * side - 1)
    walk = influence.influences(steps, problem.possible_values(private), equal)
    for i, row in enumerate(itertools.islice(walk, most)):
        rows.append(row)
        if row.max() <= negligible or (i % POLLED == 0 and remaining() <= 0):
            break
    return np.array(rows).reshape(-1, problem.chain.k)


def first(flags: ArrayLike) -> int:
    """Place of the first true flag, their number if there is none."""
    places = np.flatnonzero(flags)
    return int(places[0]) if len(places) else int(np.size(flags))
