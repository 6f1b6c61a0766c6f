"""Best objectives that have a closed form, in balls: two symbols, symmetric pairs."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from functools import reduce
from typing import Any

from flint import arb

from oracles.documents import Json, Table, ball, costs, joint, margins, number, ratio
from oracles.truths import HUGE, diagonal


def optimum(problem: Json) -> arb | None:
    """The best objective where it has a closed form: two symbols, or symmetric pairs; None elsewhere."""
    kind = problem["type"]
    if kind == "belief_release" and len(problem["belief"]) == 2:
        weights = [ratio(v) for v in problem["belief"]]
        table, level = diagonal([p / sum(weights) for p in weights]), number(problem["epsilon"])
        return _two_symbols(table, level, level, "lip", costs(problem["distortion"], problem["letters"]))
    if (
        kind == "local_information_privacy"
        and not number(problem["delta"])
        and len(problem["joint"]["useful"]) == 2
    ):
        lower, upper = number(problem["lower"]), number(problem["upper"])
        return _two_symbols(joint(problem["joint"])[0], lower, upper, problem["notion"], problem["utility"])
    if kind == "pointwise_maximal_leakage" and len(problem["joint"]["useful"]) == 2:
        level = min(HUGE, number(problem["epsilon"]))
        return _two_symbols(joint(problem["joint"])[0], math.inf, level, "lip", problem["utility"])
    return _symmetric_pair(problem) if "joint" in problem else None


def _two_symbols(table: Table, lower: float, upper: float, notion: str, utility: Any) -> arb:
    """The extreme posteriors of the second symbol, which every concave loss asks for.

    P(s | y) / P(s) is linear in q = P(x = 1 | y), so the bounds are an interval of q. The least mean of a concave
    function of q, of given mean, is that of the ends.
    """
    p_s, p_x = margins(table)
    level = max(v for v in (lower, upper) if v < math.inf)
    low, high = (-arb(lower)).exp(), arb(upper).exp()
    rows = [[ball(row[x] / p / p_x[x]) for x in (0, 1)] for row, p in zip(table, p_s, strict=True) if p]
    if notion == "ldp":
        grown = arb(level).exp()
        limits = [(b[0] - grown * a[0], b[1] - grown * a[1]) for a, b in itertools.permutations(rows, 2)]
    else:
        limits = [(a[0] - high, a[1] - high) for a in rows] + [(low - a[0], low - a[1]) for a in rows]
    p, ends = ball(p_x[1]), [arb(0), arb(1)]
    for at_0, at_1 in limits:  # at_0 (1 - q) + at_1 q <= 0, which holds at the mean
        if at_1 > at_0:
            ends[1] = arb.min(ends[1], -at_0 / (at_1 - at_0))
        elif at_1 < at_0:
            ends[0] = arb.max(ends[0], -at_0 / (at_1 - at_0))
    share = (p - ends[0]) / (ends[1] - ends[0])
    return _gain(p, utility) - (1 - share) * _loss(ends[0], utility) - share * _loss(ends[1], utility)


def _gain(p: arb, utility: Any) -> arb:
    return binary_entropy(p) if utility == "mutual_information" else arb(0)


def _loss(q: arb, utility: Any) -> arb:
    """What is lost at a posterior: its entropy, or the least expected distortion."""
    if utility == "mutual_information":
        return binary_entropy(q)
    first, second = utility
    at_each = [(1 - q) * number(a) + q * number(b) for a, b in zip(first, second, strict=True)]
    return reduce(arb.min, at_each)


def binary_entropy(q: arb) -> arb:
    """Entropy of a coin, in nats."""
    return -sum((p * p.log() for p in (q, 1 - q) if not p.contains(0)), arb(0))


def _symmetric_pair(problem: Json) -> arb | None:
    """Fair coins that agree with probability 1 - a: Mrs. Gerber's curve h(a * h^-1(v)) is convex in v.

    So I(S;Y) is largest at a rate where Y is another noisy coin, and least at a utility where Y is X or nothing
    (Wyner and Ziv, 1973). By Fano's inequality no distortion below that of a noisy coin leaks as little.
    """
    if problem["joint"]["type"] != "joint_distribution" or problem.get("form", "stochastic") != "stochastic":
        return None
    table = joint(problem["joint"])[0]
    if [len(row) for row in table] != [2, 2] or table[0][0] != table[1][1] or table[0][1] != table[1][0]:
        return None
    flip, bit = ball(2 * table[0][1]), arb(2).log()
    said = bit - binary_entropy(flip)
    if "min_utility" in problem:
        return -said * number(problem["min_utility"]) / bit
    if "max_rate" in problem:
        error = inverse_entropy(bit - number(problem["max_rate"]))
        return bit - binary_entropy(flip * (1 - error) + (1 - flip) * error)
    hamming = problem.get("leakage") == "mutual_information" and problem["distortion"] == [
        [0.0, 1.0],
        [1.0, 0.0],
    ]
    if hamming and "max_leakage" in problem and number(problem["max_leakage"]) < said:
        error = inverse_entropy(bit - number(problem["max_leakage"]))
        return -(error - flip) / (1 - 2 * flip)
    return None


def inverse_entropy(value: arb) -> arb:
    """The error of at most 1/2 of a coin of known entropy, by bisection."""
    low, high = Fraction(0), Fraction(1, 2)
    for _ in range(240):
        middle = (low + high) / 2
        low, high = (middle, high) if binary_entropy(ball(middle)) < value else (low, middle)
    return ball(low)
