"""The door of a question on distortion and leakage: every argument checked, every refusal a sentence."""

from __future__ import annotations

import math
from typing import TypeAlias

import numpy as np

from privopt.errors import InvalidProblem
from privopt.files.numbers import decode_float
from privopt.problems.validation import level

Matrix: TypeAlias = tuple[tuple[float, ...], ...]

INFORMATION = ("mutual_information", "sibson", "maximal_leakage")
RATIOS = ("lip", "ldp")
LEAKAGES = (*INFORMATION, *RATIOS)


def leakage(given: object) -> str:
    """A measure of leakage by name."""
    if given not in LEAKAGES:
        raise InvalidProblem(f"leakage must be one of {', '.join(LEAKAGES)}, got {given!r}")
    return str(given)


def alpha(given: object, measure: str) -> float | None:
    """The order of Sibson's information, in (0, inf]; None for the other measures."""
    if measure != "sibson":
        if given is not None:
            raise InvalidProblem(f'alpha is the order of leakage="sibson"; leave it out for {measure!r}')
        return None
    if given is None:
        raise InvalidProblem('leakage="sibson" needs its order: give alpha > 0, perhaps inf')
    value = _number(given, "alpha", "a number > 0, perhaps inf")
    if not value > 0:
        raise InvalidProblem(f"alpha must be > 0, got {value}")
    return value


def order(measure: str, given: float | None) -> float | None:
    """The order of Sibson's information that a measure is: 1 for mutual information, inf for maximal leakage."""
    return {"mutual_information": 1.0, "maximal_leakage": math.inf}.get(measure, given)


def bounds(max_distortion: object, max_leakage: object) -> tuple[float | None, float | None]:
    """Exactly one of the two."""
    if (max_distortion is None) == (max_leakage is None):
        raise InvalidProblem("give exactly one of max_distortion and max_leakage: the other is optimised")
    if max_leakage is not None:
        return None, level(max_leakage, "max_leakage")
    value = _number(max_distortion, "max_distortion", "a number in the unit of the distortion, perhaps inf")
    if value == -math.inf:
        raise InvalidProblem("max_distortion must not be -inf: no release reaches it")
    return value + 0.0, None


def _number(given: object, name: str, what: str) -> float:
    try:
        return decode_float(given.item() if isinstance(given, np.generic) else given)
    except ValueError as cause:
        raise InvalidProblem(f"{name} must be {what}: {cause}") from cause
