"""Proofs about average informations, of funnels, bottlenecks and distortions: the kind of file that checker_trade_off.py checks."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np

from privopt.errors import InvalidProblem
from privopt.problems.distortion_privacy.data import DistortionData
from privopt.problems.trade_off.data import TradeOffData
from privopt.proof import checker, checker_information, checker_trade_off
from privopt.proof.draft import Draft, Line, Solved, release_line, weights_of
from privopt.proof.information import classes, filled, secant, too_large
from privopt.proof.rationals import PRECISIONS, floor, levels, rows_written, written

BITS = 192
"""Bits of logarithms."""

LARGEST_TREE = 50_000
"""Nodes times inputs of a tree of classes that a file may ask its checker to follow: each needs logarithms, a minute in all."""

GRID = 80
"""Bits of a slope behind the point."""


def trade_off(data: TradeOffData, solution: Solved) -> Draft:
    """Both informations of a release, and a bound on a sum of them that no release exceeds."""
    draft = _draft(data, solution)
    _claim_information(draft, "secret")
    _claim_information(draft, "useful")
    dual = solution.dual if isinstance(solution.dual, dict) else {}
    numbers, inner = None, dual.get("proof")
    if dual.get("kind") == "classes" and data.of_classes is not None and isinstance(inner, dict):
        if too_large(inner, data.alike, LARGEST_TREE):
            draft.left_out.append("the bound of the solution, whose proof is too large for a file")
            return draft
        numbers, dual = classes(draft, data.alike), inner
    if dual.get("kind") != "pricing":
        if solution.bound is not None:
            draft.left_out.append("the bound of the solution, which is not of a kind that proof files cover")
        return draft
    multiplier = Fraction(dual["multiplier"])
    secret, useful = (Fraction(-1), multiplier) if data.is_funnel else (Fraction(1), -multiplier)
    line: Line = {
        "secret": written(secret),
        "useful": written(useful),
        "prices": [written(v) for v in dual["pi"]],
    }
    if numbers is not None:
        line["classes"] = numbers
    smaller, _ = checker_trade_off.joined(draft.problem, line, draft.bits)
    cost = checker_trade_off.Cost(smaller, line, draft.bits)
    if any("support" in node for node in dual["tree"]) and not cost.itself:
        draft.left_out.append("the bound of the solution, as some inputs never occur")
        return draft
    line["tree"] = _tree(
        cost,
        dual["tree"],
        itself=len(cost.seen) == len(cost.prices) and _is_unit(cost.seen),
        everywhere=dual.get("tightened") == "everywhere",
    )
    line["bound"] = written(-floor(-checker_trade_off.most(draft.problem, line, draft.bits)))
    draft.proofs.append(line)
    return draft


def distortion(data: DistortionData, solution: Solved) -> Draft:
    """The mutual information of secret and release, or the maximal leakage, and the mean loss.

    Raises
    ------
    InvalidProblem
        If the leakage is another average.
    """
    if data.order not in (1, math.inf):
        raise InvalidProblem(f"proof files do not cover {data.leakage.replace('_', ' ')}")
    draft = _draft(data, solution)
    if data.order == 1:
        _claim_information(draft, "secret")
    else:
        high = Fraction(solution.certificate.leakage[1])
        enclosed = levels({"": high + Fraction(1, 2**80) if high else high}, PRECISIONS[0])
        draft.claim["maximal"], draft.bits = enclosed.entries[""], max(draft.bits, enclosed.bits)
    draft.problem["loss"] = rows_written(data.matrix.tolist())
    rows, total = checker.channel(draft.mechanism, len(checker.prior(draft.problem)))
    each = [checker.dot(*pair) / total for pair in zip(checker.costs(draft.problem), rows, strict=True)]
    draft.claim["cost"] = written(sum(each, Fraction(0)))
    if solution.bound is not None:
        draft.left_out.append("the bound of the solution, which is not of a kind that proof files cover")
    return draft


def _draft(data: TradeOffData | DistortionData, solution: Solved) -> Draft:
    """The distributions and the mechanism."""
    secret, useful = weights_of(data.observation)
    problem: Line = {"distribution": secret}
    if useful is not None:
        problem["useful"] = useful
    return Draft("trade_off", problem, release_line(data.observation, solution.mechanism), {}, BITS)


def _claim_information(draft: Draft, name: str) -> None:
    """Claim what the mechanism says of a symbol."""
    rows, _ = checker.channel(draft.mechanism, len(checker.prior(draft.problem)))
    weights = draft.problem["distribution"] if name == "secret" else checker_information.useful(draft.problem)
    columns = list(zip(*rows, strict=True))
    joint = [[checker.dot(row, column) for column in columns] for row in weights]
    low, high = checker_information.information(joint, draft.bits)
    draft.claim[name] = [written(floor(low)), written(-floor(-high))]


def _is_unit(rows: list[list[Fraction]]) -> bool:
    """Whether a symbol is the input itself."""
    return all(v == (i == j) for i, row in enumerate(rows) for j, v in enumerate(row))


def _tree(cost: checker_trade_off.Cost, tree: list[Any], *, itself: bool, everywhere: bool) -> list[Line]:
    """A tree of the package in the words of the checker."""
    k, nodes = len(cost.seen), list[Line]()
    waiting = [([*map(min, cost.seen)], [*map(max, cost.seen)], frozenset[int]())]
    for node in tree:
        low, high, possible = waiting.pop()
        if "support" in node:
            w = node["support"]
            more = possible | {w}
            closed = [Fraction(0) if i == w else v for i, v in enumerate(high)]
            left = [v if i in more or len(more) < cost.most else Fraction(0) for i, v in enumerate(high)]
            nodes.append({"support": w})
            waiting += [(low, left, more), (low, closed, possible)]
        elif "k" in node:
            x, t = node["k"], Fraction(node["t"])
            nodes.append({"x": x, "at": written(t)})
            above = [*low[:x], max(t, low[x]), *low[x + 1 :]], high
            below = low, [*high[:x], min(t, high[x]), *high[x + 1 :]]
            if everywhere or itself or k == 2:  # as the package does: its multipliers are for these boxes
                above, below = checker_trade_off.tight(*above), checker_trade_off.tight(*below)
            waiting += [(*above, possible), (*below, possible)]
        else:
            nodes.append(_leaf(cost, low, high, node, itself=itself))
    return nodes


def _leaf(
    cost: checker_trade_off.Cost, low: list[Fraction], high: list[Fraction], node: Any, *, itself: bool
) -> Line:
    """Slopes and a distribution."""
    if "slopes" in node:
        return _line_leaf(cost, [Fraction(y) for y in node["slopes"]])
    k = len(low)
    slopes = [secant(float(a), float(b)) if a <= b else Fraction(0) for a, b in zip(low, high, strict=True)]
    for row, value in zip(node.get("rows", ()), node.get("values", ()), strict=True):
        if cost.up:
            slopes[row % k] += (1 if row < k else -1) * Fraction(value) / cost.up
    if itself and cost.up and all(a <= b for a, b in zip(low, high, strict=True)):
        logs = [Fraction(math.log(q / math.fsum(node["q"]))) for q in node["q"]]
        linear = [
            cost.up * s + cost.down * checker.dot(logs, column) - price
            for s, column, price in zip(slopes, zip(*cost.other, strict=True), cost.prices, strict=True)
        ]
        level = filled([(c, a, b) for c, a, b in zip(linear, low, high, strict=True)])
        slopes = [s + (level - c) / cost.up for s, c in zip(slopes, linear, strict=True)]
    return {
        "slopes": [written(Fraction(math.floor(s * 2**GRID), 2**GRID)) for s in slopes],
        "r": [written(Fraction(q)) for q in node["q"]],
    }


def _line_leaf(cost: checker_trade_off.Cost, slopes: list[Fraction]) -> Line:
    """Slopes, and the distribution that is best at them."""
    seen = np.array([[float(v) for v in row] for row in cost.seen])
    through = (
        np.array([float(v) for v in cost.prices]) - np.array([float(y) for y in slopes]) @ seen
    ) / float(cost.down)
    weights = np.maximum(np.exp(through - through.max()), 1e-290)
    scaled = [math.floor(y / cost.up * 2**GRID) for y in slopes]
    return {
        "slopes": [written(Fraction(s, 2**GRID)) for s in scaled],
        "r": [written(Fraction(float(w))) for w in weights],
    }
