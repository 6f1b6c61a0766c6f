"""Measurements: the same work by this library and by a reference, timed in one run; invariants, tried on random instances."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Self, TypeVar

import numpy as np

from privopt.benchmarks.catalogue import Catalogue
from privopt.files.numbers import encode_float

T = TypeVar("T")
LONG, VERY_LONG = 0.5, 5.0
"""Seconds above which work runs only once after its warm-up, and above which its warm-up is the reading."""
SHORTEST = 2e-3
"""Seconds that one reading of the clock should span; shorter work is looped."""
_REPETITIONS, _MOST_LOOPS = 7, 1000


def clock(work: Callable[[], T]) -> tuple[T, float]:
    """The result of some work, and its seconds: the median of several repetitions after a warm-up.

    Long work is read once, and very long work has no warm-up: do a small one of its kind before, so that
    no reading pays for imports.

    Examples
    --------
    >>> result, seconds = clock(lambda: sum(range(100)))
    >>> result, 0 < seconds < 0.1
    (4950, True)
    """
    begun = time.perf_counter()
    result = work()
    first = time.perf_counter() - begun
    if first > LONG:
        return result, first if first > VERY_LONG else _reading(work, 1)
    loops = max(1, min(_MOST_LOOPS, int(SHORTEST / max(_reading(work, 1), 1e-9))))
    return result, statistics.median(_reading(work, loops) for _ in range(_REPETITIONS))


def _reading(work: Callable[[], object], loops: int) -> float:
    begun = time.perf_counter()
    for _ in range(loops):
        work()
    return (time.perf_counter() - begun) / loops


@dataclass(frozen=True)
class Timing:
    """One piece of work, by us and, where there is one, by a reference.

    Parameters
    ----------
    case : str
        What was done; the rows of one case differ in size.
    size : int
        Records, variables or instances.
    seconds : float or None
        Ours; None where there is nothing to time.
    reference : str
        What does the same, empty if nothing does.
    reference_seconds, ratio : float or None
        Its seconds, and theirs to ours; None where it did not run.
    quality : float or None
        What ``note`` says.
    note : str
        What the quality is, or why a number is missing.
    holds : bool
        False where an invariant was violated.
    """

    case: str
    size: int
    seconds: float | None
    reference: str = ""
    reference_seconds: float | None = None
    ratio: float | None = None
    quality: float | None = None
    note: str = ""
    holds: bool = True

    @classmethod
    def against(
        cls, case: str, size: int, seconds: float, reference: tuple[str, float], quality: float, note: str
    ) -> Self:
        """A row with a reference, given by its name and its seconds."""
        name, theirs = reference
        return cls(case, size, seconds, name, theirs, theirs / seconds, quality, note)

    def to_dict(self) -> dict[str, Any]:
        """A JSON-safe dictionary.

        Examples
        --------
        >>> Timing("sorting", 10, 0.5, quality=float("inf")).to_dict()["quality"]
        'inf'
        """
        return {name: encode_float(v) if isinstance(v, float) else v for name, v in asdict(self).items()}


Run = Callable[[bool], Sequence[Timing]]
"""Does the work; True asks for the small sizes only."""


@dataclass(frozen=True)
class Measurement:
    """Named work to time; ``describe`` is one line for listings."""

    name: str
    describe: str
    run: Run


_CATALOGUE = Catalogue[Measurement](
    "a measurement", "privopt.benchmarks.timings.measurements", "privopt.benchmarks.timings.invariants"
)


def register_measurement(name: str, describe: str) -> Callable[[Run], Run]:
    """Decorate the function that does the work.

    Raises
    ------
    ValueError
        If the name is taken.
    """

    def enter(run: Run) -> Run:
        _CATALOGUE.add(name, Measurement(name, describe, run))
        return run

    return enter


def measurements() -> dict[str, Measurement]:
    """Every registered measurement by name, in the order of names.

    Examples
    --------
    >>> "redaction-laws" in measurements()
    True
    """
    return _CATALOGUE.items()


def find_measurement(name: str) -> Measurement:
    """The measurement of that name.

    Raises
    ------
    InvalidProblem
        If there is none.
    """
    return _CATALOGUE.find(name)


Check = Callable[[np.random.Generator], bool]
"""Draws an instance and says whether the invariant holds on it."""

_INVARIANTS = Catalogue[Mapping[str, Check]]("a list of invariants", "privopt.benchmarks.timings.invariants")


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

    _INVARIANTS.add(name, checks)
    register_measurement(name, describe)(run)


def invariants() -> dict[str, Mapping[str, Check]]:
    """Every list of invariants by the name of its measurement.

    Examples
    --------
    >>> "redaction-laws" in invariants()
    True
    """
    return _INVARIANTS.items()


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
