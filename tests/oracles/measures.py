"""Every leakage measure from its definition, at 80 digits: slow, obvious, and not the code under test."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import cast

import mpmath
import numpy as np
from mpmath import mpf
from numpy.typing import NDArray

mpmath.mp.dps = 80

Table = list[list[mpf]]


def total(values: Iterable[mpf]) -> mpf:
    return cast(mpf, mpmath.fsum(values))


def exact(values: NDArray[np.float64] | Sequence[Sequence[float]]) -> Table:
    """The law of a table of floats or Fractions: exact values over their exact sum, no empty rows or columns."""
    cells = [[Fraction(v) for v in row] for row in np.asarray(values, dtype=object).tolist()]
    whole = sum(map(sum, cells), Fraction(0))
    rows = [row for row in cells if any(row)]
    kept = [y for y in range(len(rows[0])) if any(row[y] for row in rows)]
    return [
        [mpf((row[y] / whole).numerator) / mpf((row[y] / whole).denominator) for y in kept] for row in rows
    ]


def rows_of(table: Table) -> Table:
    return [[p / total(row) for p in row] for row in table]


def p_s(table: Table) -> list[mpf]:
    return [total(row) for row in table]


def p_y(table: Table) -> list[mpf]:
    return [total(column) for column in zip(*table, strict=True)]


def entropy(p: Sequence[mpf]) -> mpf:
    return -total(v * mpmath.log(v) for v in p if v)


def mutual_information(table: Table) -> mpf:
    joint = [v for row in table for v in row]
    return entropy(p_s(table)) + entropy(p_y(table)) - entropy(joint)


def lifts(table: Table) -> list[mpf]:
    a, b = p_s(table), p_y(table)
    return [table[s][y] / (a[s] * b[y]) for s in range(len(a)) for y in range(len(b))]


def log(value: mpf) -> mpf:
    return mpmath.log(value) if value else -mpmath.inf


def sibson(prior: Sequence[mpf], rows: Table, alpha: float) -> mpf:
    if alpha == 1:
        return mutual_information([[p * w for w in row] for p, row in zip(prior, rows, strict=True)])
    columns = list(zip(*rows, strict=True))
    if alpha == float("inf"):
        return mpmath.log(total(max(column) for column in columns))
    a = mpf(alpha)
    inner = [total(p * w**a for p, w in zip(prior, column, strict=True) if w) for column in columns]
    return a / (a - 1) * mpmath.log(total(v ** (1 / a) for v in inner))


def arimoto(table: Table, alpha: float) -> mpf:
    if alpha == 1:
        return mutual_information(table)
    columns = list(zip(*table, strict=True))
    if alpha == float("inf"):
        return mpmath.log(total(map(max, columns)) / max(p_s(table)))
    a = mpf(alpha)
    seen = total(norm(column, a) for column in columns)
    return a / (a - 1) * mpmath.log(seen / norm(p_s(table), a))


def norm(values: Sequence[mpf], a: mpf) -> mpf:
    return total(v**a for v in values if v) ** (1 / a)


def alpha_lift(table: Table, alpha: float) -> mpf:
    if alpha == 1:
        return mpf(0)
    prior, law = p_s(table), p_y(table)
    columns = [[table[s][y] / (prior[s] * law[y]) for s in range(len(prior))] for y in range(len(law))]
    if alpha == float("inf"):
        return mpmath.log(max(map(max, columns)))
    a = mpf(alpha)
    means = [total(p * v**a for p, v in zip(prior, column, strict=True) if v) for column in columns]
    return mpmath.log(max(means)) / a


def expected_loss(table: Table, alpha: float) -> tuple[mpf, mpf]:
    columns, prior = list(zip(*table, strict=True)), p_s(table)
    if alpha == 1:
        return entropy([v for row in table for v in row]) - entropy(p_y(table)), entropy(prior)
    if alpha == float("inf"):
        return 1 - total(map(max, columns)), 1 - max(prior)
    a = mpf(alpha)
    seen = total(norm(column, a) for column in columns)
    return a / (a - 1) * (1 - seen), a / (a - 1) * (1 - norm(prior, a))


def levels(rows: Table) -> mpf:
    """Local differential privacy."""
    return max(
        (log(max(column)) - log(min(column)) for column in zip(*rows, strict=True) if max(column)),
    )


def radius_at(rows: Table, law: Sequence[mpf], alpha: float) -> mpf:
    """max_x D_alpha(W_x || law)."""
    a = mpf(alpha)
    divergences = []
    for row in rows:
        if alpha == 1:
            divergences.append(total(w * mpmath.log(w / q) for w, q in zip(row, law, strict=True) if w))
        else:
            power = total(w**a * q ** (1 - a) for w, q in zip(row, law, strict=True) if w)
            divergences.append(mpmath.log(power) / (a - 1))
    return max(divergences)
