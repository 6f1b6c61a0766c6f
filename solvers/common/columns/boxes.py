"""Boxes of posteriors in a branch and bound, and the tree that they make."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from privopt.arrays import Floats

NARROW = 1e-10
"""Boxes are not split across a side shorter than this."""

MARGIN = 0.1
"""A split keeps this share of the side on either part."""


@dataclass(slots=True, eq=False)
class Node:
    """A part low <= C v <= high of the simplex, with some entries of v known to be positive.

    A leaf has a tangent law and multipliers; a split has its entry of the written tree and two parts.
    """

    low: Floats
    high: Floats
    positive: frozenset[int] = frozenset()
    law: Floats | None = None
    multipliers: Floats | None = None
    split: dict[str, object] | None = None
    parts: tuple[Node, ...] = field(default=())

    def on_support(self, k: int, rank: int) -> tuple[Node, Node]:
        """Split on whether v_k is positive."""
        zero, other = self.high.copy(), self.high.copy()
        zero[k] = 0.0
        positive = self.positive | {k}
        if len(positive) >= rank:
            other[[i for i in range(len(other)) if i not in positive]] = 0.0
        return self._divide(
            {"support": k}, Node(self.low, zero, self.positive), Node(self.low, other, positive)
        )

    def on_side(self, k: int, where: float) -> tuple[Node, Node]:
        """Split side k near ``where``."""
        width = self.high[k] - self.low[k]
        t = float(np.clip(where, self.low[k] + MARGIN * width, self.high[k] - MARGIN * width))
        return self._cut(k, float(f"{t:.9g}") if width > 1e-6 else t)

    def _cut(self, k: int, t: float) -> tuple[Node, Node]:
        high, low = self.high.copy(), self.low.copy()
        high[k] = low[k] = t
        return self._divide(
            {"k": k, "t": t}, Node(self.low, high, self.positive), Node(low, self.high, self.positive)
        )

    def _divide(self, split: dict[str, object], first: Node, second: Node) -> tuple[Node, Node]:
        for part in (first, second):
            part.law, part.multipliers = self.law, self.multipliers
        self.split, self.parts = split, (first, second)
        self.law = self.multipliers = None
        return first, second

    def written(self, laws: int) -> list[dict[str, object]]:
        """The tree below, in preorder; a leaf without a law gets the uniform one of that length."""
        tree: list[dict[str, object]] = []
        waiting = [self]
        while waiting:
            node = waiting.pop()
            if node.split is not None:
                tree.append(node.split)
                waiting += [node.parts[1], node.parts[0]]
                continue
            leaf: dict[str, object] = {"q": [1] * laws if node.law is None else node.law.tolist()}
            if node.multipliers is not None and (rows := np.flatnonzero(node.multipliers)).size:
                leaf |= {"rows": rows.tolist(), "values": node.multipliers[rows].tolist()}
            tree.append(leaf)
        return tree
