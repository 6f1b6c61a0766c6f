"""Stored documents read exactly: floats as the rationals that they store, tables as probabilities, chains as their words.

Nothing of the library is imported. What does not make a distribution, a label or a number is a ValueError or a TypeError.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from flint import arb, fmpq

Json = dict[str, Any]
Table = list[list[Fraction]]

MET = 1e-9
"""What a prescribed value of a colouring may be missed by, and rounded probabilities may miss 1 by."""


class Undecided(Exception):
    """What this brute force does not know."""


def number(value: object) -> float:
    """A float of a file."""
    if isinstance(value, str) and value in ("inf", "-inf"):
        return float(value)
    if isinstance(value, bool) or not isinstance(value, (int, float)) or math.isnan(value):
        raise ValueError(f"{value!r} is no number")
    return float(value)


def ratio(value: object) -> Fraction:
    """An exact number of a file: a float as the rational it stores, or "a/b"."""
    if isinstance(value, str):
        if value.strip("0123456789/") or value.count("/") > 1:
            raise ValueError(f"{value!r} is no fraction")
        return Fraction(value)
    as_float = number(value)
    return Fraction(value) if isinstance(value, int) else Fraction(as_float)


def label(value: Any) -> Any:
    """A label of a file."""
    if isinstance(value, dict):
        if set(value) == {"tuple"}:
            return tuple(map(label, value["tuple"]))
        if set(value) == {"float"} and value["float"] in ("inf", "-inf"):
            return float(value["float"])
        raise ValueError(f"{value!r} is no label")
    if not isinstance(value, (str, int, float)):
        raise TypeError(f"{value!r} is no label")
    return value


def labels(values: object, count: int) -> list[Any]:
    """Distinct labels; 0, 1, ... where none are given."""
    if values is None:
        return list(range(count))
    if not isinstance(values, list) or len(values) != count:
        raise ValueError("labels do not fit")
    names = [label(value) for value in values]
    if len(set(names)) != count:
        raise ValueError("labels are not distinct")
    return names


def ball(value: Fraction | int) -> arb:
    """A rational as a ball."""
    exact = Fraction(value)
    return arb(fmpq(exact.numerator, exact.denominator))


def log_of(value: Fraction) -> arb:
    return ball(value).log() if value else arb("-inf")


def at_most_exp(value: Fraction | None, level: float) -> bool:
    """Whether a ratio (None for infinity) is at most e^level."""
    if level == math.inf:
        return True
    if value is None:
        return False
    if level == 0 or value == 0:
        return value <= 1
    limit = arb(level).exp()
    if ball(value) < limit or ball(value) > limit:
        return bool(ball(value) < limit)
    raise Undecided("256 bits do not decide")


def budget(problem: Json) -> float:
    """The number that bounds the answer."""
    if problem["type"] == "local_information_privacy":
        sides = [number(problem[side]) for side in ("lower", "upper")]
        return max((side for side in sides if side < math.inf), default=math.inf)
    for name in ("epsilon", "max_distortion", "max_leakage", "min_utility", "max_rate", "trade_off"):
        if name in problem:
            return number(problem[name])
    raise KeyError("budget")


CHAIN: Json = {
    "type": "markov_chain", "version": 1,
    "initial": None, "states": [0, 1], "order": 1, "letters": [0, 1], "normalised": False, "counts": None,
}  # fmt: skip
"""What a chain of two states has where its document is silent."""

DEFAULTS: dict[str, Json] = {
    "sequence_policy": {
        "batch": 1, "distortion": "hamming", "rule": "closed-form", "enforced": True, "limit": 2**20, "prepared": [],
    },
    "noisy_query": {"clip": None, "length": None, "states": None},
}  # fmt: skip


def rows_of_floats(matrix: list[list[Any]]) -> Table:
    """Rows of probabilities: floats as they are, but the largest of a row takes what it misses of 1; fractions over their sum."""
    if not matrix or not all(isinstance(row, list) and len(row) == len(matrix[0]) > 0 for row in matrix):
        raise ValueError("not a table")
    rows = []
    for row in matrix:
        exact = [ratio(v) for v in row]
        if min(exact) < 0 or abs(sum(exact) - 1) > MET * 1.01:
            raise ValueError("not probabilities")
        if any(isinstance(v, str) for v in row):
            rows.append([v / sum(exact) for v in exact])
            continue
        total = math.fsum(map(float, row))
        rows.append(filled([float(v) if total == 1.0 else float(v) / total for v in row]))
    return rows


def filled(row: Sequence[float]) -> list[Fraction]:
    """Floats of which the largest takes what they miss of 1."""
    exact = [Fraction(v) for v in row]
    exact[exact.index(max(exact))] += 1 - sum(exact)
    return exact


def levels_of(levels: list[list[Any]]) -> list[list[float]]:
    rows = []
    for row in levels:
        values = [number(v) + 0.0 for v in row]
        if min(values) < 0 or abs(math.fsum(values) - 1) > MET:
            raise ValueError("not probabilities")
        total = math.fsum(values)
        rows.append([v / total for v in values] if abs(total - 1) > (len(values) + 1) * 2.0**-52 else values)
    return rows


def channel(mechanism: Json, inputs: Sequence[Any]) -> tuple[Table, list[Any]]:
    """Kernel and names of the outputs of a channel or a merging of known inputs."""
    if mechanism["type"] == "channel":
        kernel = rows_of_floats(mechanism["matrix"])
        if labels(mechanism.get("inputs"), len(kernel)) != list(inputs):
            raise ValueError("other inputs")
        return kernel, labels(mechanism.get("outputs"), len(kernel[0]))
    if mechanism["type"] != "merging":
        raise ValueError("no channel")
    blocks = [[label(v) for v in block] for block in mechanism["blocks"]]
    if sorted(map(repr, inputs)) != sorted(repr(v) for block in blocks for v in block):
        raise ValueError("not a partition")
    own = mechanism.get("inputs")
    if own is not None and [label(v) for v in own] != list(inputs):
        raise ValueError("other inputs")
    return [[Fraction(int(x in block)) for block in blocks] for x in inputs], list(range(len(blocks)))


def joint(model: Json) -> tuple[Table, list[Any], list[Any]]:
    """P(s, x) with the names of both."""
    if model["type"] != "joint_distribution":
        raise Undecided(model["type"])
    table = [[ratio(v) for v in row] for row in model["table"]]
    total = sum(map(sum, table))
    if min(map(min, table)) < 0 or total <= 0 or not (model["normalised"] or abs(total - 1) <= MET):
        raise ValueError("not a distribution")
    names = labels(model["sensitive"], len(table)), labels(model["useful"], len(table[0]))
    return [[v / total for v in row] for row in table], *names


def through(table: Table, kernel: Table) -> Table:
    """P(s, y)."""
    return [
        [
            sum((p * k[y] for p, k in zip(row, kernel, strict=True)), Fraction(0))
            for y in range(len(kernel[0]))
        ]
        for row in table
    ]


def margins(table: Table) -> tuple[list[Fraction], list[Fraction]]:
    return [sum(row, Fraction(0)) for row in table], [
        sum(col, Fraction(0)) for col in zip(*table, strict=True)
    ]


def information(table: Table) -> arb:
    """I of the two of a joint table."""
    rows, columns = margins(table)
    total = arb(0)
    for r, row in zip(rows, table, strict=True):
        for c, p in zip(columns, row, strict=True):
            if p and p != r * c:
                total += ball(p) * log_of(p / (r * c))
    return total


def costs(distortion: Any, names: Sequence[Any]) -> list[list[Any]]:
    """D[x, y] of letters."""
    if isinstance(distortion, str):
        by = {
            "hamming": lambda a, b: int(a != b),
            "l1": lambda a, b: abs(a - b),
            "squared": lambda a, b: (a - b) ** 2,
        }
        return [[by[distortion](a, b) for b in names] for a in names]
    return distortion


def codes_of(graph: Json) -> list[int]:
    palette = [label(c) for c in graph["palette"]]
    return [palette.index(label(c)) for c in graph["colours"]]


def neighbours_of(graph: Json) -> list[list[int]]:
    names = labels(graph["vertices"], len(graph["colours"]))
    neighbours: list[set[int]] = [set() for _ in names]
    for a, b in graph["edges"]:
        i, j = names.index(label(a)), names.index(label(b))
        if i != j:
            neighbours[i].add(j)
            neighbours[j].add(i)
    return [sorted(row) for row in neighbours]


def chain(model: Json) -> tuple[list[Fraction], Table, list[Any]]:
    """Initial distribution, transition matrix and states of a homogeneous chain of two states."""
    if model["type"] != "markov_chain" or model["order"] != 1:
        raise Undecided("chain")
    rows = [[ratio(v) for v in row] for row in model["transition"]]
    if [len(row) for row in rows] != [2, 2]:
        raise Undecided("chain of other than two states")
    start = model["initial"]
    for row in [*rows, *([] if start is None else [[ratio(v) for v in start]])]:
        if min(row) < 0 or sum(row) <= 0 or not (model["normalised"] or abs(sum(row) - 1) <= MET):
            raise ValueError("not a distribution")
    rows = [[v / sum(row) for v in row] for row in rows]
    if start is None:
        a, b = rows[0][1], rows[1][0]
        initial = [b / (a + b), a / (a + b)]
    else:
        exact = [ratio(v) for v in start]
        initial = [v / sum(exact) for v in exact]
    return initial, rows, labels(model["states"], 2)


def words(model: Json, length: int) -> dict[tuple[int, ...], Fraction]:
    """The probability of every sequence."""
    initial, rows, _ = chain(model)
    probabilities = {}
    for word in itertools.product((0, 1), repeat=length):
        p = initial[word[0]]
        for a, b in itertools.pairwise(word):
            p *= rows[a][b]
        if p:
            probabilities[word] = p
    return probabilities
