"""How much a first release tells at each distance from the private record, computed as far as it matters."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import numpy as np
from numpy.typing import NDArray

from privopt.arrays import Floats
from privopt.measures.directional_informed import informed_windows
from privopt.measures.redaction.directional import first_release_ratios
from privopt.measures.redaction.leakage import left_steps, right_steps
from privopt.problems.redaction.problem import Redaction


def possible_values(problem: Redaction, private: int) -> NDArray[np.intp]:
    """States that the private record can have."""
    return np.flatnonzero(problem.supports[private])


def misses_side_information(problem: Redaction) -> str | None:
    """Why a solver whose adversary knows no record refuses, or None if the problem's knows none either."""
    if problem.side_information is None:
        return None
    return (
        f"its adversary knows no other record, this problem has side_information={problem.side_information!r}: "
        "use windows or side-information"
    )


def window_sides(problem: Redaction, private: int) -> tuple[Iterator[Floats], Iterator[Floats]]:
    """What releasing everything from each distance on tells, by side: see :func:`window_leakages`."""
    possible, sides = possible_values(problem, private), both_sides(problem, private)
    if problem.side_information is None:
        return window_leakages(sides[0], possible), window_leakages(sides[1], possible)
    can = problem.supports
    left = informed_windows(sides[0], can[:private][::-1], possible)
    return left, informed_windows(sides[1], can[private + 1 :], possible)


def both_sides(problem: Redaction, private: int) -> tuple[Iterable[Floats], Iterable[Floats]]:
    """Steps away from the private record, to the left and to the right."""
    chain = problem.chain
    return left_steps(chain, private), right_steps(chain, private, problem.length)


def window_leakages(steps: Iterable[Floats], possible: NDArray[np.intp]) -> Iterator[Floats]:
    """For each distance, the largest log-ratio over released values: [x, x'] among possible values."""
    for ratios in first_release_ratios(steps):
        yield ratios.max(axis=0)[np.ix_(possible, possible)]


def influences(
    steps: Iterable[Floats],
    possible: NDArray[np.intp],
    negligible: float,
    remaining: Callable[[], float] = lambda: np.inf,
) -> Floats:
    """Max-influence of each released value by distance, shape (m, k), until all are negligible or time is up.

    The influence of value v at distance d is the largest |log Pr(X_d = v | x) / Pr(X_d = v | x')| over
    possible private values x, x'. A value that cannot occur has influence 0.
    """
    rows: list[Floats] = []
    for ratios in first_release_ratios(steps):
        inner = ratios[:, possible][:, :, possible]
        rows.append(np.maximum(inner.max(axis=(1, 2)), 0.0))
        if rows[-1].max() <= negligible or remaining() <= 0:
            break
    return np.array(rows) if rows else np.empty((0, 0))
