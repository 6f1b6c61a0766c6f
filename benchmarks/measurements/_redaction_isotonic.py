"""The relaxation's convex programme: isotonic regression against conic solvers.

Source: Massny, Bitar, Ye, El Rouayheb, "Between Close Enough to Reveal and Far Enough to Protect", Appendix A.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from importlib.util import find_spec

import numpy as np

from privopt.benchmarks._clock import clock
from privopt.benchmarks._measurements import Timing
from privopt.problems._redaction_side import Floats
from privopt.solvers.redaction._conic import Backend, solve_side
from privopt.solvers.redaction._isotonic import pooled

BACKENDS: tuple[Backend, ...] = ("ecos", "scs", "clarabel")
_CASE = "isotonic regression"
_NOTE = "objective above the isotonic one, relative"


def programme(size: int) -> tuple[Floats, Floats]:
    """Bounds on prefix sums, rising on the whole but not from each to the next, and equal weights."""
    rng = np.random.default_rng(size)
    return np.cumsum(rng.random(size)) * 3 / size + 0.2 * rng.random(size), np.ones(size)


def run(sizes: Sequence[int]) -> list[Timing]:
    """Each size with each back end, smallest first."""
    _warm_up()
    return [row for size in sizes for row in _rows(size)]


def _warm_up() -> None:
    bounds, weights = programme(5)
    pooled(bounds, weights)
    for backend in BACKENDS:
        if find_spec(backend) is not None:
            solve_side(bounds, weights, backend)


def _rows(size: int) -> Iterator[Timing]:
    bounds, weights = programme(size)
    ours, seconds = clock(lambda: pooled(bounds, weights))
    cost = float(np.exp(-ours).sum())
    for backend in BACKENDS:
        if find_spec(backend) is None:
            why = f'{backend} is not installed: pip install "privopt[all]"'
            yield Timing(_CASE, size, seconds, backend, note=why)
            continue
        yield _row(size, seconds, cost, backend)


def _row(size: int, seconds: float, cost: float, backend: Backend) -> Timing:
    bounds, weights = programme(size)
    try:
        theirs, theirs_seconds = clock(lambda: solve_side(bounds, weights, backend))
    except ArithmeticError as cause:
        return Timing(_CASE, size, seconds, backend, note=str(cause))
    worse = float(np.exp(-theirs).sum()) / cost - 1
    return Timing.against(_CASE, size, seconds, (backend, theirs_seconds), worse, _NOTE)
