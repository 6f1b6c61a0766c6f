"""Measurements: the same work by this library and by a reference, timed in one run; found by scanning a folder."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Self

from privopt._numbers import encode_float
from privopt.benchmarks.catalogue import Catalogue


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
        False where a law was violated.
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
