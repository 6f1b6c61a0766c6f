"""Pairwise merging word by word: both informations of the whole table, for every pair, at every step."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import combinations
from typing import ClassVar

import numpy as np

from privopt.core.registry import register
from privopt.core.solver import Budget, Guarantee, Proposal, Solver
from privopt.problems.privacy_funnel.problem import PrivacyFunnel
from privopt.solvers.common.merging_answer import impossible
from privopt.solvers.common.pair_rule import PairPath, PairRule
from privopt.solvers.trade_off._pairwise import funnel_rule, path_proposal, refusal, settled_score

MAX_SYMBOLS = 60

Table = list[list[float]]


@register
@dataclass(frozen=True)
class PlainGreedy(Solver[PrivacyFunnel]):
    """The pairwise merging of ``greedy`` by its definition; O(n^4 n_s) steps, to compare with.

    Source: the lectures on privacy-utility trade-offs, merging algorithm for the privacy funnel.

    Parameters
    ----------
    rule, score, multiplier
        As for ``greedy``.
    """

    solves: ClassVar = PrivacyFunnel
    name: ClassVar[str] = "plain-greedy"
    guaranteed: ClassVar[Guarantee | None] = Guarantee.BASELINE
    """Kept for comparison."""

    rule: str = "skip"
    score: str | None = None
    multiplier: float | None = None

    def cost(self, problem: PrivacyFunnel) -> float:
        """The fourth power of the number of symbols."""
        return 1e-3 + 1e-7 * len(problem.observation.support) ** 4 * len(problem.observation.p_s)

    def refuse(self, problem: PrivacyFunnel) -> str | None:
        """Refuse more than 60 symbols, observations that are not X itself, and options that do not fit."""
        size = len(problem.observation.support)
        if size > MAX_SYMBOLS:
            return f"it takes at most {MAX_SYMBOLS} symbols, this problem has {size}; greedy makes the same merges"
        if problem.observation.useful is not None:
            return "it is written for releases of X itself, here X is seen through an observation"
        return refusal(problem, self.rule, self.score, self.multiplier)

    def run(self, problem: PrivacyFunnel, budget: Budget) -> Proposal:
        """Propose the merging at the end of the path."""
        if (none := impossible(problem)) is not None:
            return none
        rule = funnel_rule(problem, self.rule, settled_score(problem, self.score), self.multiplier or 0.0)
        return path_proposal(problem, plain_path(problem, rule, budget))


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
    found = np.array(levels)
    return PairPath(
        len(table), np.array(pairs, dtype=np.int64).reshape(-1, 2), found[:, 0], found[:, 1], complete
    )


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
