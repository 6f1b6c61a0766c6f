"""The door of a redaction problem: every argument checked, every refusal a sentence."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from privopt.errors import InvalidProblem
from privopt.files.numbers import decode_float
from privopt.models import MarkovChain

MAX_CELLS = 2**27
"""Cells of the largest mechanism: one gigabyte of floats."""


def length(chain: MarkovChain, given: object) -> int:
    """A number of records that the chain can have."""
    if not isinstance(chain, MarkovChain):
        raise InvalidProblem(f"chain must be a MarkovChain, got {type(chain).__name__}")
    size = _integer(given, "length")
    if size < 1:
        raise InvalidProblem(f"length must be >= 1 record, got {size}")
    if size * chain.k > MAX_CELLS:
        raise InvalidProblem(
            f"length {size} x {chain.k} states exceeds the {MAX_CELLS} cells that fit a mechanism"
        )
    if chain.max_length is not None and size > chain.max_length:
        raise InvalidProblem(
            f"length {size} exceeds the {chain.max_length} records that the chain's steps give"
        )
    return size


def private(given: object, size: int) -> tuple[int, ...]:
    """Distinct 0-based positions, sorted."""
    items = given if isinstance(given, (Sequence, np.ndarray)) and not isinstance(given, str) else [given]
    positions = [_integer(p, "private") for p in items]
    if not positions:
        raise InvalidProblem("private must name at least one record")
    outside = [p for p in positions if not 0 <= p < size]
    if outside:
        raise InvalidProblem(
            f"private record {outside[0]} is outside 0 .. {size - 1} (positions are 0-based)"
        )
    if len(set(positions)) < len(positions):
        raise InvalidProblem(f"private records {positions} repeat; name each once")
    return tuple(sorted(positions))


def epsilon(given: object) -> float:
    """A budget in nats, >= 0, perhaps inf."""
    try:
        value = decode_float(given.item() if isinstance(given, np.generic) else given)
    except ValueError as cause:
        raise InvalidProblem(f"epsilon must be a number of nats >= 0, or inf: {cause}") from cause
    if value < 0:
        raise InvalidProblem(f"epsilon must be >= 0 nats, got {value}")
    return value + 0.0


def weights(given: ArrayLike, size: int) -> tuple[float, ...]:
    """Finite non-negative weights, one a record, not all zero."""
    try:
        table = np.array(given, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as cause:
        raise InvalidProblem(f"weights must be {size} numbers: {cause}") from cause
    if table.shape != (size,):
        raise InvalidProblem(f"weights must be {size} numbers, one a record, got shape {table.shape}")
    bad = np.flatnonzero(~((table >= 0) & (table < math.inf)))
    if bad.size:
        raise InvalidProblem(f"weights[{bad[0]}] = {table[bad[0]]} is not a finite number >= 0")
    with np.errstate(over="ignore"):
        total = float(table.sum())
    if total == 0 or not math.isfinite(total):
        raise InvalidProblem("weights must have a positive finite sum; give at least one record a weight")
    return tuple(table.tolist())


def form(given: object, positions: tuple[int, ...]) -> str:
    """The form of the mechanism; a sequential one walks away from one private record."""
    if given not in ("local", "sequential"):
        raise InvalidProblem(f'form must be "local" or "sequential", got {given!r}')
    if given == "sequential" and len(positions) > 1:
        raise InvalidProblem(
            f'form "sequential" walks away from one private record, got {len(positions)}; use form="local"'
        )
    return str(given)


def side_information(given: object) -> str | None:
    """What the adversary knows of other records."""
    if given is not None and given != "any":
        raise InvalidProblem(f'side_information must be None or "any", got {given!r}')
    return None if given is None else "any"


def _integer(given: object, name: str) -> int:
    if isinstance(given, bool) or not isinstance(given, (int, np.integer)):
        raise InvalidProblem(f"{name} must be an integer, got {given!r}")
    return int(given)


def fields(given: Mapping[str, Any]) -> dict[str, Any]:
    """A dictionary of a redaction problem with its defaults filled in."""
    from privopt.files.json import check_schema

    check_schema(given, "problem-redaction")
    return {
        "weights": None,
        "form": "local",
        "side_information": None,
        **given,
        "chain": {"type": "markov_chain", **given["chain"]},
    }


def output_in_words(
    states: Sequence[Hashable],
    record: int,
    left: tuple[int, int],
    right: tuple[int, int],
    known: tuple[tuple[int, int], tuple[int, int]] = ((0, -1), (0, -1)),
) -> str:
    """The output at which a private record leaks most, from (distance, value) on each side, and what is known of others."""
    if left[0] == 0 and left[1] >= 0:
        return f"private record {record} itself is released as {states[left[1]]!r}"
    sides = []
    for name, sign, (distance, value), (far, told) in (
        ("left", -1, left, known[0]),
        ("right", 1, right, known[1]),
    ):
        if distance == 0:
            sides.append(f"nothing released on the {name}")
        elif value < 0 and told >= 0:
            sides.append(f"all redacted on the {name} up to record {record + sign * far}")
        elif value < 0:
            sides.append(f"all redacted on the {name}")
        else:
            at = record + sign * distance
            sides.append(f"first release on the {name} {states[value]!r} at record {at}")
        if told >= 0:
            sides.append(f"record {record + sign * far} known to be {states[told]!r}")
    return f"about private record {record}: {', '.join(sides)}"
