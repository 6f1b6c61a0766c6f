"""Symbols that are merged: what the two informations of a merging need of each, the release that a partition makes, and its proposal."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from privopt.arrays import Floats, Ints
from privopt.core.solver import Proposal
from privopt.errors import InvalidMechanism
from privopt.models.channel_data import Release
from privopt.problems.trade_off.bound import analytic_bound
from privopt.problems.trade_off.information import information_enclosures
from privopt.problems.trade_off.partition_costs import xlogx
from privopt.problems.trade_off.problem import TradeOff

Stats = Mapping[str, float | int | str]

CLOSE = 1e-11
"""A bound that is met to within this many nats is looked at in exact arithmetic."""


@dataclass(frozen=True, eq=False)
class MergingTable:
    """Observations of positive probability, in their order, or blocks of them, in the order of their first ones.

    Parameters
    ----------
    secret : float array (n, n_s)
        Joint distribution with S, a row an observation.
    useful : float array (n, n_x)
        Joint distribution with X; no columns where X itself is observed.
    mass : float array (n,)
        Their probabilities.
    offsets : (float, float)
        H(S), and H(X) or, where X itself is observed, 0.
    """

    secret: Floats
    useful: Floats
    mass: Floats
    offsets: tuple[float, float]

    @property
    def size(self) -> int:
        """Number n of observations."""
        return len(self.mass)

    @cached_property
    def costs(self) -> tuple[Floats, Floats]:
        """What each adds to I(S;Y) and to I(X;Y), shape (n,)."""
        return self.costs_of(self.secret, self.useful, self.mass)

    def costs_of(self, secret: Floats, useful: Floats, mass: Floats) -> tuple[Floats, Floats]:
        """The same for blocks, from sums of rows."""
        own = xlogx(mass)
        return xlogx(secret).sum(axis=-1) - own, xlogx(useful).sum(axis=-1) - own

    @cached_property
    def informations(self) -> tuple[float, float]:
        """I(S;Y) and I(X;Y) of releasing each as it is, in nats."""
        secret, useful = self.costs
        return self.offsets[0] + math.fsum(secret.tolist()), self.offsets[1] + math.fsum(useful.tolist())

    def merged(self, assignment: Ints) -> MergingTable:
        """Blocks as symbols; ``assignment`` numbers them 0, 1, ... in the order of their first symbols."""
        count = int(assignment.max()) + 1
        parts = []
        for rows in (self.secret, self.useful, self.mass):
            sums = np.zeros((count, *rows.shape[1:]))
            np.add.at(sums, assignment, rows)
            parts.append(sums)
        return MergingTable(parts[0], parts[1], parts[2], self.offsets)


def merging_table(problem: TradeOff) -> MergingTable:
    """The observations of positive probability of a problem; secrets of probability 0 are left out."""
    observed = problem.observation
    support = observed.support
    p_s = observed.p_s
    secret = np.ascontiguousarray(observed.leaking.table[p_s > 0][:, support].T)
    entropy = -float(xlogx(p_s).sum())
    if observed.useful is None:
        return MergingTable(secret, np.zeros((len(support), 0)), observed.p_w[support], (entropy, 0.0))
    p_x = observed.p_x
    useful = np.ascontiguousarray(observed.useful.table[p_x > 0][:, support].T)
    return MergingTable(secret, useful, observed.p_w[support], (entropy, -float(xlogx(p_x).sum())))


def numbered(assignment: NDArray[np.integer]) -> Ints:
    """The same partition with blocks numbered 0, 1, ... in the order of their first members.

    Examples
    --------
    >>> numbered(np.array([7, 2, 7, 0])).tolist()
    [0, 1, 0, 2]
    """
    _, first, inverse = np.unique(assignment, return_index=True, return_inverse=True)
    rank = np.empty(len(first), dtype=np.int64)
    rank[np.argsort(first)] = np.arange(len(first))
    return np.asarray(rank[inverse.reshape(-1)])


def on_all_symbols(problem: TradeOff, assignment: Ints) -> Ints:
    """An assignment of the observations of positive probability, with all others in the most probable block."""
    observed = problem.observation
    mass = np.bincount(assignment, weights=observed.p_w[observed.support])
    everywhere = np.full(len(observed.p_w), int(np.argmax(mass)), dtype=np.int64)
    everywhere[observed.support] = assignment
    return everywhere


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
    why = problem.check_infeasible(witness)
    return None if why is None else Proposal(infeasible=witness, stats={"stop": why})
