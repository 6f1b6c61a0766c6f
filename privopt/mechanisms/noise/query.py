"""A numeric query on records, with the most that one record can change it."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from privopt.errors import InvalidMechanism


@dataclass(frozen=True)
class Query:
    """A function of the records, with its sensitivity, which nobody can check: it is the caller's word.

    Parameters
    ----------
    function : callable (records) -> float
        Reads all records as they are given to ``release``.
    sensitivity : float
        The most by which the value changes when one record is replaced by another, > 0 and finite.

    Raises
    ------
    InvalidMechanism
        If the function cannot be called or the sensitivity is missing or not a positive number.

    Examples
    --------
    >>> Query(max, sensitivity=10).value([1, 7, 3])
    7.0
    """

    function: Callable[[Any], float]
    sensitivity: float = math.nan  # so that leaving it out is refused with the sentence below

    def __post_init__(self) -> None:
        if not callable(self.function):
            raise InvalidMechanism(f"the function of a query must be callable, got {self.function!r}")
        given: object = self.sensitivity
        if isinstance(given, np.generic):
            given = given.item()
        if isinstance(given, bool) or not isinstance(given, (int, float)) or not 0 < given < math.inf:
            raise InvalidMechanism(
                f"the sensitivity of a query must be a finite number > 0, got {given!r}: "
                "give the most that one record can change its value"
            )
        object.__setattr__(self, "sensitivity", float(given))

    def value(self, records: Any) -> float:
        """The value of the function on these records.

        Raises
        ------
        InvalidMechanism
            If it is not a finite number.
        """
        given = self.function(records)
        try:
            found = float(given)
        except (TypeError, ValueError) as cause:
            raise InvalidMechanism(f"the query gave {given!r} on these records, not a number") from cause
        if not math.isfinite(found):
            raise InvalidMechanism(f"the query gave {found} on these records, not a finite number")
        return found
