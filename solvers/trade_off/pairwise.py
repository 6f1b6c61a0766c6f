"""Pairwise merging: join the two blocks of the best score, again and again; for the funnel and for the bottleneck."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import combinations
from typing import ClassVar

import numpy as np

from privopt.core.registry import register
from privopt.core.solver import Budget, Guarantee, Proposal, Solver
from privopt.problems.information_bottleneck.problem import InformationBottleneck
from privopt.problems.privacy_funnel.problem import PrivacyFunnel
from privopt.problems.trade_off.problem import TradeOff
from privopt.solvers.trade_off.mergings import first_kept, impossible, merging_table, proposed
from privopt.solvers.trade_off.pairs import (
    PairPath,
    PairRule,
    max_symbols,
    merge_path,
    pair_path,
    predicted_seconds,
)
from privopt.solvers.trade_off.zero_leakage import refuse_independence

RULES = ("skip", "first")
SCORES = ("leakage", "ratio", "lagrangian")

STOP_SLACK = 1e-12
"""Merging goes on until a cap is kept with this much to spare; the first step that surely keeps it answers."""

MAX_PLAIN = 60
"""Symbols up to which pairs are merged by the definition."""

Table = list[list[float]]


@register
@dataclass(frozen=True)
class Greedy(Solver[PrivacyFunnel]):
    """Pairwise merging: join the two blocks of the best score, again and again.

    Merge the pair that lowers I(S;Y) most and keeps the floor on I(X;Y), as long as there is one.

    Under a cap on I(S;Y) merging ends as soon as it is kept; with a weighed objective, when no merge pays.
    What two blocks lose by merging depends on them only, so scores stay until one of the two is merged. Equal scores
    (to 2^-44 nats, ratios to 2^-32) go to the lowest pair, a block counting as its first symbol.

    Source: the lectures on privacy-utility trade-offs, merging algorithm for the privacy funnel.

    Parameters
    ----------
    rule : {"skip", "first"}
        "skip" takes the best pair among those that keep the floor; "first" ends when the best pair of all does not.
    score : {"leakage", "ratio", "lagrangian"}, optional
        The fall dS of I(S;Y), dS over the fall dX of I(X;Y), or dS - multiplier dX, ending when no pair makes it
        positive. By default "leakage", and "lagrangian" with a weighed objective.
    multiplier : float, optional
        For score "lagrangian" under a floor or a cap; ``trade_off`` else.
    """

    solves: ClassVar = PrivacyFunnel
    name: ClassVar[str] = "greedy"
    guaranteed: ClassVar[Guarantee | None] = Guarantee.FEASIBLE
    """Feasible: nothing is proved."""

    rule: str = "skip"
    score: str | None = None
    multiplier: float | None = None

    def cost(self, problem: PrivacyFunnel) -> float:
        """Quadratic in the number of symbols."""
        return predicted_seconds(len(problem.observation.support), len(problem.observation.p_s))

    def refuse(self, problem: PrivacyFunnel) -> str | None:
        """Refuse alphabets that are too large, options that do not fit, and no leakage at all."""
        if (why := too_many(problem)) is not None:
            return f"{why} (more with privopt[fast])"
        return self._unfit(problem) or refuse_independence(problem)

    def run(self, problem: PrivacyFunnel, budget: Budget) -> Proposal:
        """Propose the merging at the end of the path."""
        if (none := impossible(problem)) is not None:
            return none
        return proposal(problem, self.path(problem, budget))

    def path(self, problem: PrivacyFunnel, budget: Budget) -> PairPath:
        """The merges, in order."""
        return merge_path(merging_table(problem), self._rule(problem), budget)

    def _unfit(self, problem: PrivacyFunnel) -> str | None:
        """Why the options do not fit the problem, or None."""
        if self.rule not in RULES:
            return f'rule must be "skip" or "first", got {self.rule!r}'
        if self.score is not None and self.score not in SCORES:
            return f"score must be one of {', '.join(SCORES)}, got {self.score!r}"
        if self.score == "lagrangian" and problem.mode != "trade_off" and self.multiplier is None:
            return f'score "lagrangian" needs a multiplier where the budget is {problem.mode}'
        return None

    def _rule(self, problem: PrivacyFunnel) -> PairRule:
        """Under a floor it must be kept, under a cap merging ends there, else every merge must pay."""
        score = self.score or ("lagrangian" if problem.mode == "trade_off" else "leakage")
        multiplier, first = self.multiplier or 0.0, self.rule == "first"
        if problem.is_floor:
            price = multiplier if score == "lagrangian" else None
            return PairRule(score, multiplier, floor=problem.budget, price=price, first=first)
        if problem.is_cap:
            return PairRule(score, multiplier, stop_secret=problem.budget - STOP_SLACK, first=first)
        return PairRule(score, problem.budget, price=problem.budget, first=first)


@register
@dataclass(frozen=True)
class PlainGreedy(Greedy):
    """Pairwise merging by its definition: both informations of the whole table, for every pair, at every step.

    The pairwise merging of ``greedy`` by its definition; O(n^4 n_s) steps, to compare with.

    Both informations of the whole table are computed for every pair, at every step.

    Source: the lectures on privacy-utility trade-offs, merging algorithm for the privacy funnel.

    Parameters
    ----------
    rule, score, multiplier
        As for ``greedy``.
    """

    name: ClassVar[str] = "plain-greedy"
    guaranteed: ClassVar[Guarantee | None] = Guarantee.BASELINE
    """Kept for comparison."""

    def cost(self, problem: PrivacyFunnel) -> float:
        """The fourth power of the number of symbols."""
        return 1e-3 + 1e-7 * len(problem.observation.support) ** 4 * len(problem.observation.p_s)

    def refuse(self, problem: PrivacyFunnel) -> str | None:
        """Refuse more than 60 symbols, observations that are not X itself, and options that do not fit."""
        size = len(problem.observation.support)
        if size > MAX_PLAIN:
            return (
                f"it takes at most {MAX_PLAIN} symbols, this problem has {size}; greedy makes the same merges"
            )
        if problem.observation.useful is not None:
            return "it is written for releases of X itself, here X is seen through an observation"
        return self._unfit(problem)

    def path(self, problem: PrivacyFunnel, budget: Budget) -> PairPath:
        """The same merges, every pair tried at every step."""
        return plain_path(problem, self._rule(problem), budget)


@register
@dataclass(frozen=True)
class Agglomerative(Solver[InformationBottleneck]):
    """The agglomerative information bottleneck: merge the two blocks that differ least in what they reveal.

    Merge the pair that loses the least I(S;Y), until the rate is met; with a weighed objective the best on the way.

    Equal losses (to 2^-44 nats) go to the lowest pair of first symbols.

    Source: Slonim, Tishby, "Agglomerative information bottleneck".
    """

    solves: ClassVar = InformationBottleneck
    name: ClassVar[str] = "agglomerative"
    guaranteed: ClassVar[Guarantee | None] = Guarantee.FEASIBLE
    """Feasible: nothing is proved."""

    def cost(self, problem: InformationBottleneck) -> float:
        """Quadratic in the number of symbols."""
        return predicted_seconds(len(problem.observation.support), len(problem.observation.p_s))

    def refuse(self, problem: InformationBottleneck) -> str | None:
        """Refuse alphabets that are too large for memory."""
        return too_many(problem)

    def run(self, problem: InformationBottleneck, budget: Budget) -> Proposal:
        """Propose the first merging on the way that keeps the rate, or the best."""
        stop = problem.budget - STOP_SLACK if problem.is_cap else -np.inf
        path = merge_path(merging_table(problem), PairRule("closeness", stop_useful=stop), budget)
        return proposal(problem, path)


def too_many(problem: TradeOff) -> str | None:
    """Why there are too many symbols for pairwise merging, or None."""
    size, limit = len(problem.observation.support), max_symbols()
    return None if size <= limit else f"it merges at most {limit} symbols here, this problem has {size}"


def proposal(problem: TradeOff, path: PairPath) -> Proposal:
    """The end of a path for a funnel, the best step for a bottleneck that is weighed; under a cap the first that keeps it."""
    m = len(path.pairs)
    steps = range(m, -1, -1)
    if problem.is_cap:
        leakage = path.secret if problem.is_funnel else path.useful
        kept = np.flatnonzero(leakage <= problem.budget + STOP_SLACK)
        steps = range(int(kept[0]) if len(kept) else m, m + 1)
    elif not problem.is_funnel:
        best = int(np.argmax(path.secret - problem.budget * path.useful))
        steps = range(best, best + 1)
    stats = {"iterations": m, "stop": "merged" if path.complete else "out of time"}
    return proposed(problem, first_kept(problem, (path.assignment(k) for k in steps)), stats)


def plain_path(problem: PrivacyFunnel, rule: PairRule, budget: Budget) -> PairPath:
    """The path, every pair tried at every step."""
    observed = problem.observation
    table: Table = observed.leaking.table[:, observed.support].T.tolist()
    columns = dict(enumerate(table))
    pairs: list[tuple[int, int]] = []
    levels = [informations(list(columns.values()))]
    complete = False
    while budget.remaining > 0:
        if rule.ended(*levels[-1]) or (best := best_pair(columns, rule, levels[-1])) is None:
            complete = True
            break
        a, c = best
        columns[a] = added(columns[a], columns.pop(c))
        pairs.append((a, c))
        levels.append(informations(list(columns.values())))
    return pair_path(len(table), pairs, levels, complete=complete)


def best_pair(
    columns: dict[int, list[float]], rule: PairRule, now: tuple[float, float]
) -> tuple[int, int] | None:
    """The pair that merges next, the lowest of equal scores, or None where the path ends."""
    best, top, fits = None, -math.inf, False
    for a, c in combinations(sorted(columns), 2):
        rest = [column for k, column in columns.items() if k not in (a, c)]
        then = informations([*rest, added(columns[a], columns[c])])
        loss = np.array([now[0] - then[0]]), np.array([now[1] - then[1]])
        admissible = bool(rule.admissible(*loss, now[1])[0])
        score = float(rule.scores(*loss)[0])
        if (admissible or rule.first) and score > top:
            best, top, fits = (a, c), score, admissible
    return best if fits else None


def added(first: list[float], second: list[float]) -> list[float]:
    """The column of a merged block."""
    return [p + q for p, q in zip(first, second, strict=True)]


def informations(columns: list[list[float]]) -> tuple[float, float]:
    """I(S;Y) and H(Y) from the columns P(., y), by their definitions."""
    p_s, p_y = (
        [math.fsum(row) for row in zip(*columns, strict=True)],
        [math.fsum(column) for column in columns],
    )
    secret = math.fsum(
        p * math.log(p / (q * p_s[s]))
        for column, q in zip(columns, p_y, strict=True)
        for s, p in enumerate(column)
        if p > 0
    )
    return secret, -math.fsum(q * math.log(q) for q in p_y)
