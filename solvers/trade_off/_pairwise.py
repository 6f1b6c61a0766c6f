"""The pairwise merging that a funnel asks for: its rule, and which step of its path answers."""

from __future__ import annotations

import numpy as np

from privopt.core.solver import Proposal
from privopt.problems.privacy_funnel.problem import PrivacyFunnel
from privopt.solvers.common.merging_answer import first_kept, proposed
from privopt.solvers.common.pair_rule import PairPath, PairRule

RULES = ("skip", "first")
SCORES = ("leakage", "ratio", "lagrangian")

STOP_SLACK = 1e-12
"""Merging goes on until a cap is kept with this much to spare; the first step that surely keeps it answers."""


def funnel_rule(problem: PrivacyFunnel, rule: str, score: str, multiplier: float) -> PairRule:
    """The rule: under a floor it must be kept, under a cap merging ends there, else every merge must pay."""
    first = rule == "first"
    if problem.is_floor:
        price = multiplier if score == "lagrangian" else None
        return PairRule(score, multiplier, floor=problem.budget, price=price, first=first)
    if problem.is_cap:
        return PairRule(score, multiplier, stop_secret=problem.budget - STOP_SLACK, first=first)
    return PairRule(score, problem.budget, price=problem.budget, first=first)


def path_proposal(problem: PrivacyFunnel, path: PairPath) -> Proposal:
    """The end of a path; under a cap the first step that keeps it."""
    m = len(path.pairs)
    order = range(m, -1, -1)
    if problem.is_cap:
        kept = np.flatnonzero(path.secret <= problem.budget + STOP_SLACK)
        order = range(int(kept[0]) if len(kept) else m, m + 1)
    stats = {"iterations": m, "stop": "merged" if path.complete else "out of time"}
    return proposed(problem, first_kept(problem, (path.assignment(k) for k in order)), stats)


def refusal(problem: PrivacyFunnel, rule: str, score: str | None, multiplier: float | None) -> str | None:
    """Why options do not fit the problem, or None."""
    if rule not in RULES:
        return f'rule must be "skip" or "first", got {rule!r}'
    if score is not None and score not in SCORES:
        return f"score must be one of {', '.join(SCORES)}, got {score!r}"
    if score == "lagrangian" and problem.mode != "trade_off" and multiplier is None:
        return f'score "lagrangian" needs a multiplier where {problem.mode} is given'
    return None


def settled_score(problem: PrivacyFunnel, score: str | None) -> str:
    """The score asked for; by default the loss of leakage, or of the objective where both are weighed."""
    if score is not None:
        return score
    return "lagrangian" if problem.mode == "trade_off" else "leakage"
