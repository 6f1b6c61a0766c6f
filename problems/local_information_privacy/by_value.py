"""Bounds of its own for each value of the secret: how they are given, and the rows of posteriors that they make."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import TypeAlias

import numpy as np

from privopt.core.words import NATS
from privopt.errors import InvalidProblem
from privopt.files.labels import Label, Labels
from privopt.files.numbers import encode_float
from privopt.problems import validation as checks
from privopt.problems.local_information_privacy.polytope import Cut, exp_above, exp_below

Levels: TypeAlias = tuple[tuple[float, float], ...]
"""(lower, upper) of each value of the secret, in nats, inf where there is no bound."""

Bounds: TypeAlias = float | Sequence[float] | Mapping[Label, float]
"""One bound for all values of the secret, one for each in their order, or some by their labels."""


def levels(
    epsilon: Bounds | None, lower: Bounds | None, upper: Bounds | None, secrets: Labels, unit: str = NATS
) -> tuple[float, float, Levels | None]:
    """The largest lower and upper bound, and those of each value of the secret where they differ.

    Raises
    ------
    InvalidProblem
        If a bound is no number of nats >= 0, or a value is unknown or has no bound in a list.

    Examples
    --------
    >>> levels(None, None, {"yes": 0.25}, ("no", "yes"))
    (inf, inf, ((inf, inf), (inf, 0.25)))
    >>> levels([0.5, 0.5], None, None, ("no", "yes"))
    (0.5, 0.5, None)
    """
    if not any(map(_several, (epsilon, lower, upper))):
        low, high = checks.levels(epsilon, lower, upper, unit)
        return low, high, None
    if epsilon is not None:
        if lower is not None or upper is not None:
            raise InvalidProblem("give epsilon, or lower and upper, not both: epsilon sets both")
        lower = upper = epsilon
    below, above = _side(lower, "lower", secrets), _side(upper, "upper", secrets)
    each = tuple(zip(below, above, strict=True))
    return max(below), max(above), None if len(set(each)) == 1 else each


def _several(given: object) -> bool:
    """Whether an argument holds bounds of single values."""
    return (
        isinstance(given, Mapping | Sequence | np.ndarray)
        and not isinstance(given, str)
        and np.ndim([*given]) == 1
    )


def _side(given: Bounds | None, name: str, secrets: Labels) -> tuple[float, ...]:
    """The bound of each value on one side."""
    if given is None:
        return (math.inf,) * len(secrets)
    if not isinstance(given, Mapping | Sequence | np.ndarray) or isinstance(given, str):
        return (checks.level(given, name),) * len(secrets)
    if isinstance(given, Mapping):
        unknown = [label for label in given if label not in secrets]
        if unknown or not given:
            shown = repr(unknown[0]) if unknown else "nothing"
            raise InvalidProblem(f"{name} names {shown}, which is no value of the secret; known: {secrets!r}")
        return tuple(checks.level(given.get(label, math.inf), f"{name}[{label!r}]") for label in secrets)
    if len(given) != len(secrets):
        raise InvalidProblem(
            f"{name} has {len(given)} bounds, the secret {len(secrets)} values: give one each, or name some in a mapping"
        )
    return tuple(checks.level(v, f"{name} of {label!r}") for v, label in zip(given, secrets, strict=True))


def scaled(each: Levels, factor: float) -> Levels:
    """All bounds times a factor; those that are inf stay."""
    return tuple((low * factor, high * factor) for low, high in each)


def written(each: Levels) -> dict[str, list[float | str]]:
    """The two sides as they stand in a file, in the order of the values."""
    return {
        "lower": [encode_float(low) for low, _ in each],
        "upper": [encode_float(high) for _, high in each],
    }


def rows(table: Sequence[Sequence[int]], each: Levels) -> tuple[Cut, ...]:
    """What the bounds demand of a posterior, in integers, a little enlarged; see :class:`Polytope`.

    Parameters
    ----------
    table : rows of int
        Weights of (S, W), a row a value of S; those of values that never occur are 0.
    each : (lower, upper) of each value
    """
    symbols = [sum(column) for column in zip(*table, strict=True)]
    total = sum(symbols)
    made = []
    for row, (low, high) in zip(table, each, strict=True):
        above, below = None if high == math.inf else exp_above(high), exp_below(low)
        if any(row) and above is not None:
            made.append(_row(row, symbols, total, above, 1))
        if any(row) and below > 0:
            made.append(_row(row, symbols, total, below, -1))
    return tuple(made)


def _row(row: Sequence[int], symbols: list[int], total: int, factor: Fraction, side: int) -> Cut:
    """Times ``side``: P(s, w) - factor P(s) P(w) of each observation."""
    up, down = factor.numerator * sum(row), factor.denominator * total
    values = [side * (down * x - up * c) for x, c in zip(row, symbols, strict=True)]
    below = factor.denominator * total**2
    shared = math.gcd(below, *values)
    return tuple(v // shared for v in values), below // shared
