"""Informations of releases and the best merging by trying every partition, in 300-bit balls from fractions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any

from flint import arb, ctx, fmpq

PRECISION = 300

Table = Sequence[Sequence[Fraction]]


def partitions(n: int) -> Iterator[list[int]]:
    """Every partition of n symbols, as block numbers in order of first occurrence."""

    def grow(prefix: list[int], blocks: int) -> Iterator[list[int]]:
        if len(prefix) == n:
            yield prefix
            return
        for block in range(blocks + 1):
            yield from grow([*prefix, block], max(blocks, block + 1))

    return grow([], 0)


def information(table: Table) -> Any:
    """Mutual information of an exact joint distribution, as a ball; exactly 0 where it is a product."""
    total = sum(sum(row) for row in table)
    rows, columns = [sum(row) for row in table], [sum(c) for c in zip(*table, strict=True)]
    nats = arb(0)
    for i, row in enumerate(table):
        for j, p in enumerate(row):
            lift = p * total / (rows[i] * columns[j]) if p else Fraction(1)
            if p and lift != 1:
                nats += _ball(p / total) * _ball(lift).log()
    return nats


def merged(table: Table, assignment: Sequence[int]) -> list[list[Fraction]]:
    """The joint distribution of the row and the block of the column."""
    blocks = max(assignment) + 1
    return [
        [
            sum((p for p, b in zip(row, assignment, strict=True) if b == block), Fraction(0))
            for block in range(blocks)
        ]
        for row in table
    ]


def both(table: Table, assignment: Sequence[int]) -> tuple[Any, Any]:
    """I(S;Y) and I(X;Y) = H(Y) of a merging."""
    small = merged(table, assignment)
    masses = [sum(c, Fraction(0)) for c in zip(*small, strict=True)]
    diagonal = [[m if i == j else Fraction(0) for j, m in enumerate(masses)] for i in range(len(masses))]
    return information(small), information(diagonal)


def best_merging(table: Table, mode: str, budget: float, *, funnel: bool) -> Any:
    """The best objective of all merged releases, as a ball; None if no partition keeps the bound."""
    with ctx.workprec(PRECISION):
        level = _ball(Fraction(budget)) if budget < float("inf") else arb(10) ** 9
        best = None
        for assignment in partitions(len(table[0])):
            secret, useful = both(table, assignment)
            if mode == "min_utility":
                kept, value = not useful < level - _ball(Fraction(1e-12)), -secret
            elif mode == "max_leakage":
                kept, value = not secret > level, useful
            elif mode == "max_rate":
                kept, value = not useful > level, secret
            else:
                kept, value = True, level * useful - secret if funnel else secret - level * useful
            if kept and (best is None or value.mid() > best.mid()):
                best = value
        return best


def _ball(value: Fraction) -> Any:
    return arb(fmpq(value.numerator, value.denominator))
