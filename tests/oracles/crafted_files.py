"""What files made by hand are made of: lines, levels that are enclosed, and changes of one place."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

from oracles.planted_proofs import Lines
from privopt.proof import checker
from privopt.proof.rationals import written

Planted = dict[str, list[tuple[int, tuple[Any, ...], Any]]]
"""By kind, a number, entry or field of one of its files by its place, and what is put there."""

HALF = {"level": "1/2", "below": "3/2", "above": 2}
FIFTH = {"level": "1/5", "below": "6/5", "above": "5/4"}
QUARTER = {"level": "1/4", "below": "5/4", "above": "4/3"}
LINES = [[2, 1], [1, 2]]
"""Two secrets, and two inputs that are likelier with one of them each."""


def lines(kind: str, problem: Any, mechanism: Any, claim: Any, *proofs: Any, bits: int = 32) -> Lines:
    """A file."""
    header = {"format": "privopt/proof", "version": 1, "kind": kind, "bits": bits}
    return copy.deepcopy([header, problem, mechanism, claim, *proofs])


def lip(*more: Any, **fields: Any) -> Any:
    """A problem with log-lifts that are bounded from above."""
    return {"notion": "lip", "distribution": LINES, "slack": 0, "levels": {"upper": FIFTH}, **fields}


def above(problem: Any, bits: int = 32) -> Any:
    return checker.levels(problem["levels"], bits)[1]


GONE, TWICE = object(), object()
TINY = Fraction(1, 10**15)


def neighbours(file: Lines) -> Iterator[Lines]:
    """A file with one thing changed: each number in several ways, each entry and field left out, each entry given twice."""
    for path, value in _parts(file[1:]):
        for other in _others(path, value):
            yield changed(file, (path[0] + 1, *path[1:]), other)


def changed(file: Lines, path: tuple[Any, ...], value: Any) -> Lines:
    """A file with something else in a place."""
    changed = copy.deepcopy(file)
    target: Any = changed
    for key in path[:-1]:
        target = target[key]
    if value is GONE:
        del target[path[-1]]
    elif value is TWICE:
        target.insert(path[-1], copy.deepcopy(target[path[-1]]))
    else:
        target[path[-1]] = value
    return changed


def _parts(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], Any]]:
    if path:
        yield path, value
    if isinstance(value, dict):
        for key, part in value.items():
            yield from _parts(part, (*path, key))
    if isinstance(value, list):
        for i, part in enumerate(value):
            yield from _parts(part, (*path, i))


def _others(path: tuple[Any, ...], value: Any) -> Iterator[Any]:
    if len(path) > 1:
        yield GONE
        if isinstance(path[-1], int):
            yield TWICE
    if type(value) is int:
        yield from (value + 1, value - 1, -value, 2 * value, value + 10**6, True, float(value), str(value))
    if isinstance(value, str) and not set(value) <= set("-/0123456789"):
        yield from (
            "lip",
            "ldp",
            "pairs",
            "maximal",
            "interval",
            "total_variation",
            "chi2",
            "laplace",
            "discrete_laplace",
            "",
            None,
        )
        yield from (
            "randomised_response",
            "column",
            "subsets",
            "h-matrix",
            "group",
            "upper",
            "lower",
            "other",
        )
    elif type(value) is int or isinstance(value, str):
        exact = Fraction(value)
        yield from (
            written(v)
            for v in (
                exact + TINY,
                exact - TINY,
                exact * Fraction(9, 10),
                exact * Fraction(11, 10),
                exact / 2,
            )
        )
        yield from (written(v) for v in (-exact, exact * 3, exact + 1, exact - 1))
    if value is None:
        yield from (0, 1)
