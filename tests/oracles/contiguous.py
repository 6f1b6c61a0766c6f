"""Contiguous mergings by brute force: every partition of a few symbols, and by definition which blocks are allowed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd

import privopt as po
from privopt.models.hierarchies import Ancestors

TREE: Ancestors = {
    "a": ["A", "left", "*"], "b": ["A", "left", "*"], "c": ["C", "left", "*"],
    "d": ["D", "right", "*"], "e": ["D", "right", "*"], "f": ["D", "right", "*"],
}  # fmt: skip
NODES = [
    {"a"},
    {"b"},
    {"c"},
    {"d"},
    {"e"},
    {"f"},
    {"a", "b"},
    {"a", "b", "c"},
    {"d", "e", "f"},
    set("abcdef"),
]


def partitions(n: int) -> Iterator[list[list[int]]]:
    """Every partition of 0..n-1."""
    if n == 0:
        yield []
        return
    for smaller in partitions(n - 1):
        for i, block in enumerate(smaller):
            yield [*smaller[:i], [*block, n - 1], *smaller[i + 1 :]]
        yield [*smaller, [n - 1]]


def is_interval(block: list[int]) -> bool:
    """Whether numbers are next to each other."""
    return max(block) - min(block) + 1 == len(block)


def best(problem: Any, allowed: Any) -> float | None:
    """The best objective of all partitions into allowed blocks; None if none is feasible."""
    labels = problem.joint.useful
    values = []
    for blocks in partitions(len(labels)):
        if all(allowed(block) for block in blocks):
            reading = problem.evaluate(po.Merging([[labels[i] for i in block] for block in blocks], labels))
            if reading.feasible:
                values.append(reading.objective)
    return max(values, default=None)


def tree_joint(rng: np.random.Generator, secrets: int = 2) -> po.JointDistribution:
    """A joint whose useful column has the hierarchy."""
    rows = [(s, x) for s in range(secrets) for x in TREE for _ in range(int(rng.integers(1, 20)))]
    frame = pd.DataFrame(rows, columns=["s", "x"])
    return po.JointDistribution.from_frame(frame, "s", "x", hierarchies={"x": TREE})
