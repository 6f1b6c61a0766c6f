"""Proofs about channels whose utility is mutual information: the kind of file that checker_information.py checks."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import Any, TypeAlias

from privopt.errors import InvalidProblem
from privopt.problems.local_information_privacy.data import LocalInformationPrivacyData
from privopt.proof import checker, checker_information
from privopt.proof.draft import Draft, Line, Solved
from privopt.proof.linear import channel_draft
from privopt.proof.rationals import floor, written

SYSTEMS = 20_000
"""Vertices that a file may ask its checker to try."""

LARGEST_TREE = 500_000
"""Nodes times inputs of a tree of classes that a file may ask its checker to follow: some minutes."""

WIDER = Fraction(1, 2**30)
"""By how much more than the rows allow an input may have in the first box of a tree, relative to it."""

GRID = 80
"""Bits of a slope behind the point."""

NEAR = 1e-6
"""By how much, relatively, a bound may be above that of the solution and still count as the same."""

Places: TypeAlias = list[tuple[int, Fraction]]

Allowed: TypeAlias = Callable[[Sequence[Any]], checker_information.Posteriors]


def local_information(data: LocalInformationPrivacyData, solution: Solved) -> Draft:
    """A channel that says as much as it can of the useful symbol."""
    if data.cost is not None:
        raise InvalidProblem("a cost that is a function of yours is not covered by proof files")
    draft = channel_draft(data, solution, "information")
    draft.claim["information"] = written(max(Fraction(0), Fraction(solution.certificate.utility[0])))
    dual = solution.dual if isinstance(solution.dual, dict) else {}
    if dual.get("kind") in ("vertices", "pairs"):
        line = of_vertices(dual["pi"], partial(_posteriors, draft))
    else:
        line = _of_tree(data, draft, dual)
    if line is None and not data.contiguous:
        line = whole_entropy(draft)
    if line is not None:
        bound = -floor(-_bound(draft, line))
        note_weaker(draft, bound, solution)
        draft.proofs.append({**line, "bound": written(bound)})
    return draft


def _of_tree(data: LocalInformationPrivacyData, draft: Draft, dual: dict[str, Any]) -> Line | None:
    """Prices and a tree, of classes where the dual is of them; None where it is of another kind."""
    joined, inner = data.of_classes, dual.get("proof")
    if dual.get("kind") == "classes" and joined is not None and isinstance(inner, dict):
        if too_large(inner, data.alike, LARGEST_TREE):
            return None
        numbers = classes(draft, data.alike)
        found = _of_tree(joined, about_classes(draft, numbers), inner)
        return None if found is None else {**found, "classes": numbers}
    if dual.get("kind") != "pricing":
        return None
    return Tree(draft, _places(data, draft), partial(_posteriors, draft)).line(dual)


def too_large(inner: dict[str, Any], alike: Sequence[int], most: int) -> bool:
    """Whether the tree of a proof about classes has more than so many nodes times inputs."""
    return len(inner.get("tree") or ()) * (1 + max(alike)) > most


def classes(draft: Draft, alike: Sequence[int]) -> list[int]:
    """The class of each input; those that never occur are in the first one."""
    of = iter(alike)
    return [next(of) if weight else 0 for weight in checker.prior(draft.problem)]


def about_classes(draft: Draft, numbers: list[int]) -> Draft:
    """What the checker makes of classes."""
    problem, _ = checker_information.joined(draft.problem, {"classes": numbers}, draft.bits)
    return replace(draft, problem=problem)


def note_weaker(draft: Draft, bound: Fraction, solution: Solved) -> None:
    """Say so where the bound of the solution is below the one that is proved."""
    if solution.bound is not None and float(bound) - solution.bound > NEAR * abs(solution.bound):
        draft.left_out.append(
            f"the bound of the solution, {solution.bound:.6g}; a weaker one is proved, {float(bound):.6g}"
        )


def _posteriors(draft: Draft, prices: Sequence[Any]) -> checker_information.Posteriors:
    """What the checker makes of the problem."""
    above = checker.levels(draft.problem["levels"], draft.bits)[1]
    return checker_information.Posteriors(draft.problem, above, prices, draft.bits)


def _bound(draft: Draft, line: Line) -> Fraction:
    """What a line proves."""
    above = checker.levels(draft.problem["levels"], draft.bits)[1]
    return checker_information.most_information(draft.problem, above, line, draft.bits)


def of_vertices(given: Sequence[float], posteriors: Allowed) -> Line | None:
    """Prices with which every vertex is tried; None if they are too many."""
    prices = [written(v) for v in given]
    allowed = posteriors(prices)
    n, rows = len(prices), len(allowed.rows)
    count = sum(math.comb(n, k) * math.comb(rows, k - 1) for k in range(1, min(allowed.most, n) + 1))
    return {"prices": prices} if count <= SYSTEMS else None


def whole_entropy(draft: Draft) -> Line:
    """No release says more than the useful symbol itself: one box, and lines of slope 0."""
    n = sum(1 for weight in checker.prior(draft.problem) if weight)
    columns = len(draft.problem.get("useful", checker.prior(draft.problem)))
    return {"prices": [0] * n, "tree": [{"slopes": [0] * columns, "rows": []}]}


def _places(data: LocalInformationPrivacyData, draft: Draft) -> Places:
    """For each kept row of the package the place of the checker's row, and what its multipliers are worth there."""
    polytope, total = data.polytope, data.polytope.total
    above = checker.levels(draft.problem["levels"], draft.bits)[1]
    never = {w for w, weight in enumerate(checker.prior(draft.problem)) if not weight}
    hypotheses, pairs = checker.compared(draft.problem)
    kept = [p for p in pairs if not never & (set(hypotheses[p[0]]) | set(hypotheses[p[1]]))]
    last = len(hypotheses) - 1
    place = {pair: i for i, pair in enumerate(kept)}
    found = []
    for row in polytope.kept:
        first, second = polytope.names[row]
        if data.notion == "ldp":
            pair, worth = (first, second, "upper"), Fraction(total)
        elif second > 0:
            pair, worth = (first, last, "upper"), Fraction(polytope.secrets[first])
        else:
            pair, worth = (last, first, "lower"), polytope.secrets[first] / above["lower"]
        found.append((place[pair], worth * sum(checker.prior(draft.problem)) / total))
    return found


class Tree:
    """A tree of the package in the words of the checker.

    The package multiplies its rows and the sides of a box; a line of another slope is worth as much as the multiplier of a
    side, and where the useful symbol is the input a price of the sum 1 too.

    Parameters
    ----------
    draft : Draft
    places : list of (place, worth)
        For each row of the package that a leaf may multiply, the place of the checker's row, and what a multiplier is worth.
    posteriors : callable
        What the checker makes of the problem, given prices.
    """

    def __init__(self, draft: Draft, places: Places, posteriors: Allowed) -> None:
        self.draft, self.places, self.posteriors = draft, places, posteriors
        self.itself = "useful" not in draft.problem

    def line(self, dual: dict[str, Any]) -> Line | None:
        """Prices and tree."""
        prices = [written(v) for v in dual["pi"]]
        allowed = self.posteriors(prices)
        occurs = [w for w, weight in enumerate(checker.prior(self.draft.problem)) if weight]
        low, high = [*map(min, allowed.seen)], [*map(max, allowed.seen)]
        nodes, after = list[Line](), list[Line]()
        if self.itself:
            for w, top, row in self._tops(allowed):
                x = occurs[w]
                nodes.append({"x": x, "at": written(top)})
                after.append(self._closed(allowed, x, w, row, top))
                high[x] = top
        waiting = [(low, high)]
        for node in dual["tree"]:
            low, high = waiting.pop()
            if "k" in node:
                x, t = (occurs[node["k"]] if self.itself else node["k"]), Fraction(node["t"])
                cut: Line = {}
                if "enough" in node:
                    cut, low, high = self._cut_down(allowed, occurs, low, high, node)
                    t = min(max(t, low[x]), high[x])
                nodes.append({"x": x, "at": written(t), **cut})
                waiting += [([*low[:x], t, *low[x + 1 :]], high), (low, [*high[:x], t, *high[x + 1 :]])]
            else:
                nodes.append(self._leaf(allowed, occurs, low, high, node))
        return {"prices": prices, "tree": nodes + after[::-1]}

    def _tops(self, allowed: Any) -> list[tuple[int, Fraction, int]]:
        """Inputs that may not be certain: the most that each may have, a little more, and the row that says so."""
        best: dict[int, tuple[Fraction, int]] = {}
        for place, _ in self.places:
            row = allowed.rows[place]
            room = -min(row)
            for w, a in enumerate(row):
                if a > 0 and room > 0:
                    top = floor(room / (a + room) * (1 + WIDER), 60) + Fraction(1, 2**80)
                    if top < 1 and (w not in best or top < best[w][0]):
                        best[w] = (top, place)
        return [(w, top, place) for w, (top, place) in sorted(best.items())]

    def _closed(self, allowed: Any, x: int, w: int, place: int, top: Fraction) -> Line:
        """A leaf that no posterior is in: one row times a large number."""
        row = allowed.rows[place]
        a, room = row[w], -min(row)
        least = (a + room) * top - room
        price = Fraction(math.ceil((1 + 2 * max(map(abs, allowed.prices), default=Fraction(0))) * 64 / least))
        slopes = [Fraction(0)] * len(allowed.seen)
        slopes[x] = -price * (a + room)
        return {"slopes": [written(floor(v, GRID)) for v in slopes], "rows": [[place, written(price)]]}

    def _leaf(
        self, allowed: Any, occurs: list[int], low: list[Fraction], high: list[Fraction], node: Any
    ) -> Line:
        """Slopes and prices of rows."""
        if (
            beyond := max(sum(low) - 1, 1 - sum(high))
        ) > 0:  # no posterior is in the box, as probabilities add to 1
            price = math.ceil((1 + 2 * max(map(abs, allowed.prices), default=Fraction(0))) * 64 / beyond)
            return {"slopes": [-price if sum(low) > 1 else price] * len(low), "rows": []}
        count, k = len(self.places), len(occurs) if self.itself else len(low)
        rows, tilt = [], [Fraction(0)] * len(low)
        for i, value in zip(node["rows"], node["values"], strict=True):
            if i < count:
                place, worth = self.places[i]
                if value:
                    rows.append((place, floor(Fraction(value) * worth, 60)))
            else:
                x, sign = (i - count, 1) if i < count + k else (i - count - k, -1)
                tilt[occurs[x] if self.itself else x] += sign * Fraction(value)
        slopes = [secant(float(a), float(b)) + t for a, b, t in zip(low, high, tilt, strict=True)]
        if self.itself:
            linear = {}
            for i, w in enumerate(occurs):
                paid = sum((price * allowed.rows[place][i] for place, price in rows), Fraction(0))
                linear[w] = slopes[w] - allowed.prices[i] + paid
            level = filled([(linear[w], low[w], high[w]) for w in occurs])
            for w in occurs:
                slopes[w] += level - linear[w]
        return {
            "slopes": [written(Fraction(math.floor(v * 2**GRID), 2**GRID)) for v in slopes],
            "rows": [[place, written(price)] for place, price in rows],
        }

    def _cut_down(
        self, allowed: Any, occurs: list[int], low: list[Fraction], high: list[Fraction], node: Any
    ) -> tuple[Line, list[Fraction], list[Fraction]]:
        """A leaf's lines, the cuts that they prove, and the box that is left."""
        leaf, enough = self._leaf(allowed, occurs, low, high, node), Fraction(node["enough"])
        short = float(enough - allowed.leaf(low, high, leaf))
        low, high, cuts = [*low], [*high], []
        for x in occurs:
            slope = float(Fraction(leaf["slopes"][x]))
            rate = secant(float(low[x]), float(high[x])) - Fraction(slope)
            if not rate or short <= 0:
                continue
            reach = Fraction(short / abs(float(rate)) + 1e-9)
            if reach < high[x] - low[x]:
                side = int(rate > 0)
                t = floor(low[x] + reach if side else high[x] - reach, 60)
                cuts.append([x, side, written(t)])
                (high if side else low)[x] = t
        return {**leaf, "cuts": cuts, "enough": written(enough)}, low, high


def secant(low: float, high: float) -> Fraction:
    """The slope of -t ln t between two points, nearly."""

    def phi(t: float) -> float:
        return -t * math.log(t) if t > 0 else 0.0

    return Fraction((phi(high) - phi(low)) / (high - low)) if high > low else Fraction(0)


def filled(parts: list[tuple[Fraction, Fraction, Fraction]]) -> Fraction:
    """The cost of the entry that is filled last when a sum of 1 is filled by cost between low and high."""
    left = 1 - sum(low for _, low, _ in parts)
    for cost, low, high in sorted(parts):
        left -= high - low
        if left <= 0:
            return cost
    return max(cost for cost, _, _ in parts)
