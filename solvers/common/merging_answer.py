"""From partitions to a merging that answers the question, whose bound is surely kept."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from privopt.arrays import Ints
from privopt.core.solver import Proposal
from privopt.errors import InvalidMechanism
from privopt.models.channel_data import Release
from privopt.problems.trade_off.bound import analytic_bound
from privopt.problems.trade_off.information import information_enclosures
from privopt.problems.trade_off.problem import TradeOff
from privopt.solvers.common.merging_table import on_all_symbols

Stats = Mapping[str, float | int | str]

CLOSE = 1e-11
"""A bound that is met to within this many nats is looked at in exact arithmetic."""


def release_of(problem: TradeOff, assignment: Ints) -> Release:
    """The merging; a matrix of zeros and ones where two blocks would be released under one name, if that is allowed."""
    everywhere = on_all_symbols(problem, assignment)
    try:
        return problem.merging(everywhere)
    except InvalidMechanism:
        if problem.form == "merging":
            raise
        return problem.answer(np.eye(int(everywhere.max()) + 1)[everywhere])


def keeps_bound(problem: TradeOff, release: Release) -> bool:
    """Whether the floor or the cap is kept, in exact arithmetic where floats leave doubt."""
    reading = problem.evaluate(release)
    if problem.is_floor:
        over = reading.utility - problem.floor
    elif problem.is_cap:
        over = problem.budget - reading.leakage
    else:
        return True
    if abs(over) > CLOSE:
        return over > 0
    secret, useful = information_enclosures(problem.observation, release)
    if problem.is_floor:
        return problem.split(secret[0], useful[0])[0] >= problem.floor
    return problem.split(secret[1], useful[1])[1] <= problem.budget


def first_kept(problem: TradeOff, assignments: Iterable[Ints]) -> Release | None:
    """The first of some partitions that keeps the bound."""
    for assignment in assignments:
        release = release_of(problem, assignment)
        if keeps_bound(problem, release):
            return release
    return None


def best_kept(problem: TradeOff, assignments: Iterable[Ints]) -> Release | None:
    """The best of some partitions among those that keep the bound; the earlier of equal ones."""
    releases = [release_of(problem, a) for a in assignments]
    order = np.argsort([-problem.evaluate(r).objective for r in releases], kind="stable")
    return next((releases[k] for k in order.tolist() if keeps_bound(problem, releases[k])), None)


def proposed(problem: TradeOff, release: Release | None, stats: Stats) -> Proposal:
    """A proposal with the analytic bound; the anchor if there is no release."""
    answer = problem.anchor() if release is None else release
    return Proposal(answer, analytic_bound(problem), {"kind": "analytic"}, stats=stats)


def impossible(problem: TradeOff) -> Proposal | None:
    """The proposal that says that no release exists, where none does."""
    witness = {"kind": "most"}
    return Proposal(infeasible=witness) if problem.check_infeasible(witness) else None
