"""The numbers of a channel: checked, as floats, as integer weights, as JSON."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterable
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from privopt.core.exact import IntegerRow, integer_row
from privopt.errors import InvalidMechanism
from privopt.files.labels import Label, Labels, plain_labels

Entries: TypeAlias = NDArray[np.float64] | NDArray[np.object_]
"""Float64 where all is float, else an object array of floats and Fractions."""

TOLERANCE = 1e-9
LEAST_BITS = 62
LARGEST_BITS = 1023
"""Below which 1 times a power of 2 is a float."""
MAX_CELLS = 2**27


def checked(matrix: object) -> tuple[Entries, NDArray[np.float64]]:
    """A read-only copy of a table of probabilities, with its rows summing to 1 within 1e-9, and the same in floats."""
    table = _table(matrix)
    if table.ndim != 2 or 0 in table.shape:
        raise InvalidMechanism(f"matrix must be an (inputs, outputs) table, got shape {table.shape}")
    if table.size > MAX_CELLS:
        raise InvalidMechanism(f"matrix has {table.size} cells, more than {MAX_CELLS}")
    values = table.astype(np.float64, copy=False)
    if not (values.min() >= 0 and values.max() <= 1 + TOLERANCE):  # one that is no number is neither
        x, y = np.argwhere(~((values >= 0) & (values <= 1 + TOLERANCE)))[0].tolist()
        raise InvalidMechanism(f"matrix[{x}, {y}] = {table[x, y]} is not a probability in [0, 1]")
    off = np.flatnonzero(np.abs(values.sum(axis=1) - 1) > TOLERANCE)
    if off.size:
        x = int(off[0])
        raise InvalidMechanism(f"row {x} of matrix sums to {float(values[x].sum())!r}, not to 1 within 1e-9")
    table.setflags(write=False)
    return table, values


def _table(matrix: object) -> Entries:
    try:
        table = np.asarray(matrix)
    except ValueError as cause:
        raise InvalidMechanism(f"matrix must be a rectangular table of numbers: {cause}") from cause
    if table.dtype.kind in "iufb":
        numbers: NDArray[np.float64] = np.add(table, 0.0, dtype=np.float64)
        return numbers
    if table.dtype.kind != "O" or table.ndim != 2:
        raise InvalidMechanism("matrix must be a table of numbers, a row an input")
    flat = table.ravel().tolist()
    if set(map(type, flat)) != {Fraction}:
        flat = [
            value if type(value) is Fraction else _cell(value, divmod(i, table.shape[1]))
            for i, value in enumerate(flat)
        ]
    entries = np.empty(len(flat), dtype=object)
    entries[:] = flat
    return entries.reshape(table.shape)


def _cell(value: object, where: tuple[int, int]) -> float | Fraction:
    """A Fraction as it is, another number as a float."""
    if isinstance(value, Fraction):
        return value
    if isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool):
        return float(value) + 0.0
    raise InvalidMechanism(f"matrix[{where[0]}, {where[1]}] is {value!r}: give a float or a Fraction")


def normalised(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Probabilities with each row divided by its sum, read-only."""
    totals = values.max(axis=1, keepdims=True)
    for x in np.flatnonzero(np.count_nonzero(values, axis=1) > 1).tolist():
        totals[x] = math.fsum(values[x][values[x] > 0].tolist())
    divided = values if (totals == 1.0).all() else np.where(totals == 1.0, values, values / totals)
    divided.setflags(write=False)
    return divided


def integer_rows(entries: Entries, values: NDArray[np.float64]) -> tuple[IntegerRow, ...]:
    """Weights of every row; see :class:`privopt.mechanisms.Channel`."""
    bits = _bits(values)
    exact = entries.dtype.kind == "O"
    return tuple(
        integer_row(entries[x].tolist())
        if exact and any(isinstance(v, Fraction) for v in entries[x].tolist())
        else _dyadic(values[x], bits)
        for x in range(len(values))
    )


def _bits(values: NDArray[np.float64]) -> int:
    """The least number of bits, at least 62, of which every float is a multiple: float = m 2**(e - 53)."""
    smallest = values[values > 0].min()
    _, exponent = np.frexp(smallest)
    return max(LEAST_BITS, 53 - int(exponent))


def _dyadic(row: NDArray[np.float64], bits: int) -> IntegerRow:
    total = 1 << bits
    weights = _scaled(row, bits)
    weights[int(np.argmax(row))] += total - sum(weights)
    return IntegerRow(tuple(weights), total)


def _scaled(row: NDArray[np.float64], bits: int) -> list[int]:
    """Every entry times 2**bits, rounded down: a power of 2 changes no digit, and what is left of a float is an integer."""
    if bits == LEAST_BITS:  # at most 2**62
        floored: list[int] = np.floor(np.ldexp(row, bits)).astype(np.int64).tolist()
        return floored
    if bits < LARGEST_BITS:
        return list(map(int, np.ldexp(row, bits).tolist()))
    ratios = [p.as_integer_ratio() for p in row.tolist()]
    return [(numerator << bits) // denominator for numerator, denominator in ratios]


def labels(values: Iterable[Label] | None, count: int, what: str) -> Labels:
    """Distinct labels; 0 .. count-1 when none are given."""
    if values is None:
        return tuple(range(count))
    names = plain_labels(values)
    if len(names) != count or len(set(names)) != count:
        raise InvalidMechanism(f"{what} must be {count} distinct labels, got {names!r}")
    return names


def encode(entries: Entries) -> list[list[float | str]]:
    """Numbers as JSON holds them; the zeros of long rows are one object."""
    if entries.dtype.kind == "f":
        return [_plain(row) for row in entries]
    return [
        [f"{v.numerator}/{v.denominator}" if isinstance(v, Fraction) else v for v in row]
        for row in entries.tolist()
    ]


def digest(fields: dict[str, Any], name: str, entries: Entries) -> str:
    """SHA-256 of the canonical JSON of fields and a table under a name, without the whole text in memory."""
    text = json.dumps({**fields, name: 0}, sort_keys=True, separators=(",", ":"), allow_nan=False)
    before = text.index(f'"{name}":0') + len(name) + 3
    hashed = hashlib.sha256(text[:before].encode())
    for x, row in enumerate(entries):
        hashed.update(b"[[" if x == 0 else b",[")
        if entries.dtype.kind == "f":
            hashed.update(",".join(_written(row)).encode())
        else:
            hashed.update(
                json.dumps(encode(row[None])[0], separators=(",", ":"), allow_nan=False)[1:-1].encode()
            )
        hashed.update(b"]")
    hashed.update(b"]" + text[before + 1 :].encode())
    return hashed.hexdigest()


def _written(row: NDArray[np.float64]) -> list[str]:
    """Every number as JSON has it; the zeros of long rows are one object."""
    used = np.flatnonzero(row)
    if 4 * len(used) > len(row):
        return list(map(float.__repr__, row.tolist()))
    cells = ["0.0"] * len(row)
    for y in used.tolist():
        cells[y] = float.__repr__(float(row[y]))
    return cells


def _plain(row: NDArray[np.float64]) -> list[float | str]:
    used = np.flatnonzero(row)
    if 4 * len(used) > len(row):
        return list(row.tolist())
    numbers: list[float | str] = [0.0] * len(row)
    for y in used.tolist():
        numbers[y] = float(row[y])
    return numbers


def decode(value: object) -> list[list[float | Fraction]]:
    """The numbers that :func:`encode` wrote."""
    from privopt.errors import InvalidModel
    from privopt.models.codec import decode_number

    if not isinstance(value, list) or not all(isinstance(row, list) for row in value):
        raise InvalidMechanism('"matrix" must be a list of rows of numbers')
    try:
        return [[decode_number(v, "matrix") for v in row] for row in value]
    except InvalidModel as cause:
        raise InvalidMechanism(str(cause)) from cause
