"""Numbers that a measure is given or gives: probabilities, orders, units."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from privopt.arrays import Floats
from privopt.errors import InvalidModel, InvalidProblem, PrivoptError

Numbers: TypeAlias = Sequence[Any] | NDArray[Any]
Unit: TypeAlias = Literal["nats", "bits"]

_TOLERANCE = 1e-9
_ROUNDING = 1e-12


def read_law(values: Numbers, what: str = "p", normalise: bool = False) -> Floats:
    """Probabilities that sum to 1, of any shape, as a flat array."""
    return divided(floats(values, what, InvalidModel).ravel(), what, normalise)


def read_order(alpha: float, least: float = 1.0) -> float:
    """An order in [least, inf]."""
    if (
        isinstance(alpha, bool)
        or not isinstance(alpha, (int, float, np.integer, np.floating))
        or not alpha >= least
    ):
        raise InvalidProblem(f"alpha must be a number of at least {least:g}, perhaps inf, got {alpha!r}")
    return float(alpha)


def in_unit(nats: float, unit: Unit) -> float:
    """A value in nats, converted."""
    if unit not in ("nats", "bits"):
        raise InvalidProblem(f'unit must be "nats" or "bits", got {unit!r}')
    return nats / math.log(2) if unit == "bits" else nats


def settled(nats: float, what: str) -> float:
    """A leakage, with what rounding put below 0 set to 0.

    Raises
    ------
    FloatingPointError
        If it is below 0 by more than rounding can explain, or not a number.
    """
    value = float(nats)
    if not value >= -_ROUNDING:
        raise FloatingPointError(
            f"{what} came out as {value!r} nats, which no law has: please report the table"
        )
    return max(value, 0.0)


def floats(values: object, what: str, error: type[PrivoptError]) -> Floats:
    """Finite non-negative numbers in float64; Fractions and large integers are rounded once."""
    if isinstance(values, np.ma.MaskedArray):
        raise error(f"{what} is a masked array: fill or drop the masked entries first")
    try:
        array = np.array(values)
    except ValueError as cause:
        raise error(f"{what} is not a rectangular table of numbers: {cause}") from cause
    if array.dtype.kind not in "iufO" or array.size == 0:
        raise error(f"{what} must hold numbers, at least one, got {array.size} of type {array.dtype}")
    try:
        found = array.astype(np.float64)
    except (TypeError, ValueError, OverflowError) as cause:
        raise error(f"{what} must hold numbers: {cause}") from cause
    bad = np.argwhere(~((found >= 0) & np.isfinite(found)))
    if len(bad):
        place = ", ".join(map(str, bad[0]))
        raise error(f"{what} has {array[tuple(bad[0])]!r} at [{place}]: give finite numbers of at least 0")
    return found


def divided(values: Floats, what: str, normalise: bool, error: type[PrivoptError] = InvalidModel) -> Floats:
    """Values divided by their sum, which must be near 1 unless counts are welcome."""
    total = math.fsum(values.ravel().tolist())
    if total == 0:
        raise error(f"{what} sums to 0, so it has no law: give at least one positive entry")
    if not normalise and abs(total - 1) > _TOLERANCE:
        raise error(f"{what} sums to {total!r}, not to 1 within 1e-9: correct it, or pass normalise=True")
    return values if total == 1.0 else values / total
