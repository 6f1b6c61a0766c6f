"""Invariants: what must hold whatever the instance; one list, tried by tests on few instances and by timings on many."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np

from privopt.benchmarks.catalogue import Catalogue
from privopt.benchmarks.timings.measurement import Timing, register_measurement

Check = Callable[[np.random.Generator], bool]
"""Draws an instance and says whether the invariant holds on it."""

_CATALOGUE = Catalogue[Mapping[str, Check]]("a list of invariants", "privopt.benchmarks.timings.invariants")


def register_invariants(
    name: str, describe: str, checks: Mapping[str, Check], *, few: int, many: int
) -> None:
    """Enter invariants by what they state, and the measurement of that name that tries them.

    Parameters
    ----------
    name, describe : str
        Of the measurement.
    checks : mapping of str to callable
    few, many : int
        Instances of each in a quick measurement and in a whole one.

    Raises
    ------
    ValueError
        If the name is taken.
    """

    def run(quick: bool) -> Sequence[Timing]:
        return tuple(tried(checks, few if quick else many))

    _CATALOGUE.add(name, checks)
    register_measurement(name, describe)(run)


def invariants() -> dict[str, Mapping[str, Check]]:
    """Every list of invariants by the name of its measurement.

    Examples
    --------
    >>> "redaction-laws" in invariants()
    True
    """
    return _CATALOGUE.items()


def tried(checks: Mapping[str, Check], count: int) -> Iterator[Timing]:
    """Every invariant on ``count`` instances of its own.

    Examples
    --------
    >>> (row,) = tried({"squares are not negative": lambda rng: rng.normal() ** 2 >= 0}, 5)
    >>> row.size, row.quality, row.holds
    (5, 0.0, True)
    """
    for place, (name, check) in enumerate(checks.items()):
        rng, begun = np.random.default_rng(place), time.perf_counter()
        violations = sum(not check(rng) for _ in range(count))
        seconds = time.perf_counter() - begun
        yield Timing(
            name, count, seconds, quality=float(violations), note="violations", holds=violations == 0
        )
