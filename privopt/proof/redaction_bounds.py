"""Proofs of how much of a binary chain can be released at most: the kind of file that checker_redaction_bounds.py checks."""

from __future__ import annotations

import heapq
import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from privopt.proof import checker, checker_redaction_bounds
from privopt.proof.draft import Draft, Line
from privopt.proof.rationals import floor, written

NODES, WORK = 8192, 50_000
"""States of a side that are tabulated at most, and those of all records together."""

DEEPEST = 60
"""Records of a side that are tabulated; what is hidden beyond is free, which proves less."""

LEAVES = 600
"""Parts of what the left side may show."""

DIGITS = 40
"""Bits of a place where a part is split."""

CLOSE = 1e-9
"""By how much a part is split beside a place where a release becomes possible, relative to it."""


def redaction_bounds(problem: Line, bits: int, hidden: float) -> Draft:
    """The bound of tables and a tree.

    Parameters
    ----------
    problem : dict
        Of a file of the kind "redaction", with two values and one private record.
    bits : int
        Of the logarithms.
    hidden : float
        What a mechanism hides beside the private record: no more is worth proving.
    """
    above = checker.levels(problem["levels"], bits)[1]["upper"]
    depths = _depths(problem, hidden)
    count = max(256, min(NODES, WORK // max(1, sum(depths))))
    line: Line = {"nodes": _nodes(float(above), count), "depths": depths}
    left, right = checker_redaction_bounds.sides(problem, line)
    line["tree"] = _Tree(left, right, above, hidden).split()
    cost = checker_redaction_bounds.least_cost(problem, above, line)
    weights = [checker.number(w) for w in problem["weights"]]
    kept = weights[problem["private"][0]] + Fraction(cost, 2**checker_redaction_bounds.BITS)
    share = 1 - kept / sum(weights)
    draft = Draft("redaction_bounds", problem, {}, {}, bits)
    draft.proofs.append({**line, "bound": written(-floor(-share))})
    return draft


def _nodes(e: float, count: int) -> list[int]:
    """States from 0 to 1, the closer the nearer they are to either end."""
    one = 2**checker_redaction_bounds.BITS
    ends = -16.0, 12.0 + max(0.0, -math.log(max(e - 1.0, 1e-12)))
    steps = [ends[0] + (ends[1] - ends[0]) * i / count for i in range(count + 1)]
    return sorted({0, one, *(int(one / (1 + math.exp(-z))) for z in steps)})


def _depths(problem: Line, hidden: float) -> list[int]:
    """So many records of each side that hiding one value of each of them costs more than is worth proving."""
    chain, (p,) = checker_redaction_bounds.Chain(problem), problem["private"]
    weights, depths = [checker.number(w) for w in problem["weights"]], []
    for places in (range(p - 1, -1, -1), range(p + 1, chain.n)):
        spent, depth = 0.0, 0
        for t in places[:DEEPEST]:
            if spent > hidden:
                break
            spent += float(weights[t] * min(chain.share(t, v) for v in range(2)))
            depth += 1
        depths.append(depth)
    return depths


Ends = tuple[list[Fraction], list[Fraction]]


@dataclass
class _Tree:
    """Parts of what the left side may show; the one that proves least is split."""

    left: list[checker_redaction_bounds.Side]
    right: list[checker_redaction_bounds.Side]
    above: Fraction
    hidden: float

    def value(self, ends: Ends) -> int:
        """What a part costs at least."""
        low, high = ends
        over = [self.above / v for v in low]
        of_left = min(side.least(e) for side, e in zip(self.left, (high, high[::-1]), strict=True))
        return of_left + min(side.least(e) for side, e in zip(self.right, (over, over[::-1]), strict=True))

    def split(self) -> list[Any]:
        """The tree in preorder."""
        enough = int(self.hidden * 2**checker_redaction_bounds.BITS)
        root: Ends = [Fraction(1)] * 2, [self.above] * 2
        nodes: list[tuple[int, Fraction, int, int] | None] = [None]
        waiting = [(self.value(root), 0, root)]
        while waiting and len(nodes) < 2 * LEAVES:
            value, place, (low, high) = heapq.heappop(waiting)
            cut = self._place(low, high) if value < enough else None
            if cut is None:
                break
            x, at = cut
            nodes[place] = x, at, len(nodes), len(nodes) + 1
            below: Ends = low, [*high[:x], at, *high[x + 1 :]]
            beyond: Ends = [*low[:x], at, *low[x + 1 :]], high
            for part in (below, beyond):
                heapq.heappush(waiting, (self.value(part), len(nodes), part))
                nodes.append(None)
        order, stack = list[Any](), [0]
        while stack:
            node = nodes[stack.pop()]
            order.append(None if node is None else [node[0], written(node[1])])
            if node is not None:
                stack += [node[3], node[2]]
        return order

    def _place(self, low: list[Fraction], high: list[Fraction]) -> tuple[int, Fraction] | None:
        """Beside a place where a release becomes possible, the middle one, or in the middle of the wider side."""
        widths = [math.log(b / a) for a, b in zip(low, high, strict=True)]
        x = widths.index(max(widths))
        for way in (x, 1 - x):
            inside = [
                v
                for v in self._hints(way)
                if low[way] * (1 + 4 * Fraction(CLOSE)) < v < high[way] * (1 - 4 * Fraction(CLOSE))
            ]
            if inside:
                return way, floor(inside[len(inside) // 2], DIGITS)
        if widths[x] < 4 * CLOSE:
            return None
        return x, floor(Fraction(math.sqrt(low[x] * high[x])), DIGITS)

    def _hints(self, x: int) -> list[Fraction]:
        """Just below the ratios that first releases on the left show, and what those on the right leave over, just above."""
        mine = [Fraction(o[0], t[0]) * (1 - Fraction(CLOSE)) for o, t in self.left[x].shown if t[0]]
        rest = [self.above * t[0] / o[0] * (1 + Fraction(CLOSE)) for o, t in self.right[x].shown if o[0]]
        return sorted(v for v in mine + rest if v > 1)
