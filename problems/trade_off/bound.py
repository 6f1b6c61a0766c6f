"""Upper bounds on the objective of a funnel or a bottleneck, each proved afresh from its dual.

The kinds of dual:

- ``{"kind": "analytic"}``: I(S;Y) >= I(X;Y) - H(X | S), and what follows from data processing; nothing can be said
  without any leakage where P(s | w) has full rank.
- ``{"kind": "pricing", "multiplier": m, "pi": [...], "tree": [...], "tightened": True}``: prices of the observations at which no
  posterior costs less than the tree shows (:mod:`privopt.problems.trade_off.tree`); this bounds I(S;Y) - m I(X;Y)
  over every release. ``"tightened": "everywhere"`` says that the parts of every split are.
- ``{"kind": "contiguous"}``: where blocks must be contiguous, every partition of one column tried again.
- ``{"kind": "partitions"}``: for form "merging", every partition tried again; small alphabets only.
- ``{"kind": "blocks", "multiplier": m, "pi": [...], "cost": c}``: for form "merging", prices of the observations, beyond which no
  block costs less than is seen by trying all of them; and, if c is not None, every partition tried that costs at most c
  (:mod:`privopt.problems.trade_off.priced_blocks`). Up to 24 observations.
- ``{"kind": "classes", "proof": {...}}``: a proof of another kind about the classes of observations with the same posterior of the
  secret; see :attr:`privopt.problems.trade_off.data.TradeOffData.of_classes`.

What :func:`prove_bound` returns is rounded outward from integers, fractions and balls; the search for duals uses the
float readings (:func:`analytic_bound`, :func:`weighed_bound`, :func:`from_weighed`).
"""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np

from privopt.arrays import Floats
from privopt.core.balls import ETA, Balls, U
from privopt.core.problem import Enclosure
from privopt.problems.exact_joint import ExactJoint, enclose
from privopt.problems.trade_off import contiguous
from privopt.problems.trade_off.data import TradeOffData
from privopt.problems.trade_off.information import exact_table, most_information
from privopt.problems.trade_off.partitions import proved_best
from privopt.problems.trade_off.priced_blocks import proved_by_prices
from privopt.problems.trade_off.tree import cost_of, exact_rank, least_reduced_cost

FEW = 40
"""Symbols up to which it is tried to prove that nothing is better than silence."""


ANYWAY = 3.0
"""Seconds that a tree may take whatever is allowed: on a busy machine a proof would be lost for a moment."""


def prove_bound(problem: TradeOffData, dual: object, seconds: float) -> Enclosure | None:
    """Floats around the upper bound on the objective that a dual proves, or None."""
    if not isinstance(dual, dict):
        return None
    kind = dual.get("kind")
    if kind == "analytic":
        return proved_analytic(problem)
    if kind == "partitions" and problem.form == "merging":
        best, simple = proved_best(problem, seconds), proved_analytic(problem)
        return None if best is None else (min(best[0], simple[0]), min(best[1], simple[1]))
    if kind == "blocks":
        return proved_by_prices(problem, dual, max(seconds, ANYWAY))
    if kind == "contiguous":
        return contiguous.proved_best(problem, seconds)
    if kind == "classes":
        return _of_classes(problem, dual, seconds)
    return _priced(problem, dual, seconds) if kind == "pricing" else None


def _of_classes(problem: TradeOffData, dual: dict[str, object], seconds: float) -> Enclosure | None:
    """What a proof about classes of observations that say the same of the secret proves, and what symbols add."""
    smaller, inner = problem.of_classes, dual.get("proof")
    if smaller is None or not isinstance(inner, dict) or inner.get("kind") == "classes":
        return None
    proved, more = prove_bound(smaller, inner, seconds), problem.beside_classes(smaller)
    if proved is None or not all(map(math.isfinite, proved)):
        return proved
    low, high = (Fraction(a) + Fraction(b) for a, b in zip(proved, more, strict=True))
    return enclose(low)[0], enclose(high)[1]


def analytic_bound(problem: TradeOffData) -> float:
    """What holds for every release without solving anything: the upper end of what is proved."""
    return proved_analytic(problem)[1]


def proved_analytic(problem: TradeOffData) -> Enclosure:
    """Floats around what holds for every release without solving anything.

    From I(X;Y) <= I(S;Y) + I(X;Y | S) <= I(S;Y) + H(X | S), and from data processing.
    """
    if problem.is_cap and problem.budget == 0 and _nothing_is_free(problem):
        return 0.0, 0.0
    if problem.mode == "trade_off" and problem.observation.useful is None and _silence_is_best(problem):
        return 0.0, 0.0
    (low_x, high_x), most = problem.entropies[1], most_information(problem.observation)
    (low_i, high_i), secret = problem.informations
    rest = (max(Fraction(0), Fraction(low_x) - Fraction(high_i)), Fraction(high_x) - Fraction(low_i))
    ends = [_analytic(problem, rest[i], Fraction(most[i]), Fraction(secret[i])) for i in (0, 1)]
    return enclose(ends[0])[0], enclose(ends[1])[1]


def _nothing_is_free(problem: TradeOffData) -> bool:
    """Whether a release that must be independent says nothing: of X itself, or because P(s | w) determines P(w)."""
    if problem.is_funnel:
        return exact_rank(problem) == len(problem.observation.support)
    return problem.observation.useful is None


def _silence_is_best(problem: TradeOffData) -> bool:
    """Whether a weight is proved to leave nothing better than to say nothing, whose objective is 0.

    Bottleneck: I(S;Y) <= eta I(X;Y), where eta is the largest H^2 - H^4 / 4 of two columns P(s | w), H^2 the sum of squares
    of the differences of their roots (Ordentlich, Polyanskiy, "Strong data processing constant is achieved by binary
    inputs", IEEE Trans. Inf. Theory 2022). Funnel: with d = v - P(w) and a left inverse L of A = P(s | w), in the norm
    |d| = sum |d_w|, D(A v || A p) >= |A d|^2 / 2 >= |d|^2 / (2 |L|^2) by Pinsker, and
    D(v || p) <= sum d_w^2 / p_w <= |d|^2 / (2 min p), as the parts of d of either sign sum to |d| / 2 each.
    """
    if problem.budget == 0:
        return problem.is_funnel
    table = exact_table(problem.observation.leaking)
    support = [w for w, weight in enumerate(table.columns) if weight]
    if len(support) > FEW:
        return False
    decided = _expands if problem.is_funnel else _contracts
    return decided(table, support, problem.budget)


def _contracts(table: ExactJoint, support: list[int], weight: float) -> bool:
    """Whether the weight is at least the strong data processing constant."""
    from flint import arb, fmpq

    limit = arb(fmpq(*Fraction(weight).as_integer_ratio()))
    roots = [[(arb(row[w]) / arb(table.columns[w])).sqrt() for row in table.cells] for w in support]
    for first, second in itertools.combinations(roots, 2):
        apart = [a - b for a, b in zip(first, second, strict=True)]
        squared = sum((d * d for d in apart), arb(0))
        if not bool(squared - squared * squared / 4 <= limit):
            return False
    return True


def _expands(table: ExactJoint, support: list[int], weight: float) -> bool:
    """Whether the weight is at most min p / |L|^2."""
    from flint import fmpq, fmpq_mat

    matrix = fmpq_mat([[fmpq(row[w], table.columns[w]) for w in support] for row in table.cells])
    gram = matrix.transpose() * matrix
    try:
        inverse = gram.inv() * matrix.transpose()
    except ZeroDivisionError:  # another distribution of W gives the same one of S
        return False
    rows = [[Fraction(int(v.p), int(v.q)) for v in row] for row in inverse.tolist()]
    norm = max(sum(map(abs, column)) for column in zip(*rows, strict=True))
    least = Fraction(min(table.columns[w] for w in support), table.total)
    return bool(Fraction(weight) * norm * norm <= least)


def _analytic(problem: TradeOffData, rest: Fraction, most: Fraction, secret: Fraction) -> Fraction:
    """The bound, which grows with H(X | S), I(X;W) and I(S;W)."""
    none = Fraction(0)
    if problem.is_floor:
        return -max(none, Fraction(problem.floor) - rest)
    if problem.is_cap:
        if problem.is_funnel:
            return most if problem.budget == math.inf else min(most, Fraction(problem.cap) + rest)
        within = problem.observation.useful is None and problem.budget < math.inf
        return min(secret, Fraction(problem.cap)) if within else secret
    weight = Fraction(problem.budget)
    if problem.is_funnel:
        return weight * most - max(none, most - rest) if weight >= 1 else weight * min(rest, most)
    return secret if problem.observation.useful is not None else max(none, 1 - weight) * secret


def weighed_bound(problem: TradeOffData, multiplier: float, prices: Floats, least: float) -> float:
    """A bound on I(S;Y) - m I(X;Y) in floats: from below for the funnel, from above for the bottleneck."""
    observed = problem.observation
    of_s, of_x = problem.entropies
    value = math.fsum((observed.p_w[observed.support] * prices).tolist()) + least
    whole = of_s[0] - multiplier * of_x[0]
    return whole + value if problem.is_funnel else whole - value


def from_weighed(problem: TradeOffData, multiplier: float, weighed: float) -> float | None:
    """The bound on the objective that a bound on I(S;Y) - m I(X;Y) gives in floats, or None if it gives none."""
    if not math.isfinite(weighed):
        return None
    exact = _from_weighed(problem, multiplier, Fraction(weighed))
    return None if exact is None else _float(exact)


def _from_weighed(problem: TradeOffData, multiplier: float, weighed: Fraction) -> Fraction | None:
    funnel = problem.is_funnel
    if problem.mode == "trade_off":
        return None if multiplier != problem.budget else -weighed if funnel else weighed
    if problem.budget == math.inf or (funnel and problem.is_cap and multiplier == 0):
        return None
    if not funnel:
        return weighed + Fraction(multiplier) * Fraction(problem.cap)
    if problem.is_floor:
        return -(weighed + Fraction(multiplier) * Fraction(problem.floor))
    return (Fraction(problem.cap) - weighed) / Fraction(multiplier)


def _float(value: Fraction) -> float:
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def _priced(problem: TradeOffData, dual: dict[str, object], seconds: float) -> Enclosure | None:
    """Prices of the observations: a bound from what they add up to and the least that any posterior costs beyond."""
    multiplier, values = dual.get("multiplier"), dual.get("pi")
    observed = problem.observation
    if type(multiplier) not in (int, float) or not isinstance(values, list):
        return None
    if not set(map(type, values)) <= {int, float} or len(values) != len(observed.support):
        return None
    m, prices = float(multiplier), np.array([float(v) for v in values])  # type: ignore[arg-type]  # a number, as was seen
    if not np.isfinite(prices).all() or not 0 <= m < math.inf:
        return None
    least = least_reduced_cost(
        cost_of(problem, m),
        prices,
        dual.get("tree"),
        max(seconds, ANYWAY),
        tight="tightened" in dual,
        everywhere=dual.get("tightened") == "everywhere",
    )
    if least is None:
        return None
    p_w = observed.p_w[observed.support]
    paid = (Balls(p_w, U * p_w + ETA) * prices).sum() + Balls.between(*least)
    if not math.isfinite(float(paid.rad)):
        return None
    ends = [
        _from_weighed(problem, m, _whole(problem, m, i, Fraction(end)))
        for i, end in ((0, float(paid.lower)), (1, float(paid.upper)))
    ]
    if ends[0] is None or ends[1] is None:
        return None
    return enclose(min(ends[0], ends[1]))[0], enclose(max(ends[0], ends[1]))[1]


def _whole(problem: TradeOffData, m: float, end: int, paid: Fraction) -> Fraction:
    """An end of the bound on I(S;Y) - m I(X;Y), from an end of what is paid for posteriors."""
    of_s, of_x = problem.entropies
    if problem.is_funnel:
        return Fraction(of_s[end]) - Fraction(m) * Fraction(of_x[1 - end]) + paid
    return Fraction(of_s[1 - end]) - Fraction(m) * Fraction(of_x[end]) - paid
