"""Patterns of likely and unlikely secrets where the secret is a function of the observation: the best mixture, with a proof."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from privopt.arrays import Floats, Ints
from privopt.core.registry import register
from privopt.core.solver import Budget, Guarantee, Proposal, Solver
from privopt.problems.local_information_privacy.bound import analytic_bound, priced_bound
from privopt.problems.local_information_privacy.lattice import Lattice, lattice_of, priced
from privopt.problems.local_information_privacy.patterns import MOST, Groups, Search, classes, groups
from privopt.problems.local_information_privacy.problem import LocalInformationPrivacy
from privopt.solvers.common.mixing import Restricted
from privopt.solvers.local_information_privacy.answer import (
    ANALYTIC,
    NOT_INDEPENDENT,
    channel_from_posteriors,
    independent,
    whole_release,
)
from privopt.solvers.local_information_privacy.columns.master import master

ORDERS, FEWEST, FIRST_CELLS = 100, 5, 400_000
"""Orders of the secrets from which the first patterns are made: fewer where that would be more pairs of a pattern and a symbol."""

LARGEST = 1000
"""Possible observations up to which the linear program takes seconds."""

LARGE, JUDGED = 400, 0.4
"""Possible observations from which on no more rounds begin than may end, and share of the time that judging takes then."""

PROGRAM, FIRST = 1e-8, 0.4
"""Seconds of the linear program of the patterns of one order per cube of the symbols, twice as many for ratios, and the share of the time that it may take."""

ROUND = 4.0
"""How many times as long as its linear program a round takes, of many symbols."""

EARLY = 20_000
"""Parts of a search after which it ends if it has found what lowers the value."""

LOOSER = 8.0
"""By what the claim of a proof is multiplied where it would be too long."""

ENTERING = 200
"""Posteriors that come in at a time."""

HIGHEST = 30.0
"""Levels in nats at which the least of the likelihoods are as small as rounding."""

SURE = 20
"""Secrets up to which the proof ends within seconds."""

SHARE, FINEST = 3e-7, 1e-13
"""What a proof leaves open, relative to the utility or in nats."""

MOST_VALUES = 64
"""Values of the secret up to which nearly even patterns are sought: with hundreds their linear program alone takes seconds."""

FEWEST_VALUES, BLOCK, MATCHINGS, SUBSETS, PICKED, KEPT = 16, 18, 40, 150, 24, 4000
"""Values of the secret from which on nearly even patterns are sought: values of whose subsets all sums are known, repetitions, random
subsets of the others, sums for each, and patterns that are kept, those that cost least."""

INWARD = 0.7
"""Share of the best prices in those that are tried on a lattice; the others are the program's."""

CELLS, FEW, ON_LATTICE, STALLED = 400, 60, 30, 60
"""Cells of a lattice whose patterns are looked at, those that come in at a time, orders for the first ones, and rounds in a row without any."""


@register
@dataclass(frozen=True)
class Patterns(Solver[LocalInformationPrivacy]):
    """Column generation over patterns: each release makes some secrets likely and the others unlikely.

    Where each observation has one value of the secret, the secret itself or a class of it, the vertices of the polytope of
    posteriors are staircase patterns for LDP (Kairouz, Oh, Viswanath, "Extremal mechanisms for local differential
    privacy", Theorem 2), and for LIP the vertices of a box cut by the simplex. Windows of random orders of the secrets
    are the first ones; branch and bound on how many are likely finds the others, or proves that there are none. Where the
    probabilities of the secret are multiples of one unit, as counts are, dynamic programming prices all of them at once.
    """

    solves: ClassVar = LocalInformationPrivacy
    name: ClassVar[str] = "patterns"

    def guarantee(self, problem: LocalInformationPrivacy) -> Guarantee:
        """Optimal for a few secrets; the patterns of many are too many to be told apart, and bounds as good."""
        sure = len(problem.observation.p_s) <= SURE or lattice_of(problem) is not None
        return Guarantee.OPTIMAL if sure else Guarantee.BOUNDED

    def cost(self, problem: LocalInformationPrivacy) -> float:
        """Seconds of the programs and of a proof."""
        k, n = len(problem.observation.p_s), len(problem.observation.support)
        if lattice_of(problem) is not None:
            return 0.05 + 0.02 * k
        return 0.05 + 2e-4 * n + min(5e-6 * 2.0 ** min(k, 40), 10.0)

    def refuse(self, problem: LocalInformationPrivacy) -> str | None:
        """Refuse other utilities, delta, secrets that no observation determines, and perfect privacy."""
        if problem.matrix is not None or problem.cost is not None:
            return "it prices posteriors by their entropy: the utility must be mutual information"
        if problem.delta > 0:
            return "it spends no delta"
        if classes(problem) is None:
            return "it needs a secret that is a function of the useful symbol"
        if independent(problem) and whole_release(problem) is None:
            return NOT_INDEPENDENT
        if any(HIGHEST < level < math.inf for level in (problem.lower, problem.upper)):
            return f"beyond {HIGHEST:g} nats rounding of its posteriors breaks the bounds"
        if (n := len(problem.observation.support)) > LARGEST:
            return f"its linear programs take at most {LARGEST} symbols, this problem has {n}"
        return None

    def run(self, problem: LocalInformationPrivacy, budget: Budget) -> Proposal:
        """Propose the best mixture, and the best bound proved."""
        if (whole := whole_release(problem)) is not None:
            return whole
        lattice = lattice_of(problem)
        if lattice is None:
            return _Rounds(problem, budget).proposal()
        return _LatticeRounds(problem, budget, lattice).proposal()


class _Rounds:
    """The linear program over the posteriors so far, and the best prices met."""

    orders, nearly = ORDERS, True

    def __init__(self, problem: LocalInformationPrivacy, budget: Budget) -> None:
        n = len(problem.observation.support)
        once = PROGRAM * n**3 * (2 if problem.notion == "ldp" else 1)
        self.affordable = max(1, int(min(FIRST * budget.remaining / once, ORDERS)))
        self.large = n > LARGE or self.affordable < FEWEST
        self.problem, self.rng = problem, np.random.default_rng(budget.seed)
        self.budget = budget.earlier(JUDGED) if self.large else budget
        of, weights = classes(problem), problem.observation.p_w[problem.observation.support]
        self.of = np.zeros(0, dtype=np.int64) if of is None else of
        self.p = weights / weights.sum()
        self.rounds = 0
        self.bound: tuple[float, object] = (analytic_bound(problem), ANALYTIC)
        self.program = Restricted(self.p)
        self._enter(np.vstack([self.p, self._members(self._windows(), None)]))

    def proposal(self) -> Proposal:
        """Rounds until nothing helps, or time is out."""
        stop = "no other posterior would help"
        if self.problem.notion == "ldp":
            self._even_prices()
        whole = float(_entropies(self.p[None, :])[0])
        while True:
            left = self.budget.remaining
            weights, prices, value = self.program.solve()
            self.rounds += 1
            tolerance = max(FINEST, SHARE * min(1.0, whole - value))
            if self.bound[0] <= whole - value + 2 * tolerance:
                break
            if self.large and left < 2 * (left - self.budget.remaining) * ROUND:
                stop = "another round would not end in time"
                break
            search = self._search(prices, tolerance)
            self.budget.report(whole - value, self.bound[0])
            if self.bound[0] <= whole - value + 2 * tolerance or not search.points:
                break
            if search.least >= -tolerance or self.budget.remaining <= 0:
                stop = "the proof is too long" if self.budget.remaining > 0 else "out of time"
                break
            self._enter(self._cheapest(search, prices))
        return self._mixture(weights, stop)

    def _mixture(self, weights: Floats, stop: str) -> Proposal:
        """The release of the posteriors of positive weight, with the bound."""
        columns, costs = self.program.columns, self.program.costs
        used = weights > 0
        try:
            chosen = master(columns[used], costs[used], self.p).weights
        except ArithmeticError:
            chosen = weights[used]
        stats: dict[str, float | int | str] = {
            "iterations": self.rounds,
            "vertices": len(costs),
            "stop": stop,
        }
        return Proposal(
            channel_from_posteriors(self.problem, chosen, columns[used]), *self.bound, stats=stats
        )

    def _search(self, prices: Floats, tolerance: float) -> Search:
        """Look for posteriors that cost less than their price; the bound of a search that is whole is kept."""
        search = Search(self._groups(prices), -tolerance)
        while not search.done and search.parts < MOST and self.budget.remaining > 0:
            if search.parts > EARLY and search.least < -10 * tolerance:
                return search
            search.step()
        self._keep(search, prices)
        claim = min(search.least, -tolerance)
        while not search.done and search.least >= -10 * tolerance and self.budget.remaining > 0:
            claim *= LOOSER  # of what is nearly as cheap there is too much
            rough = Search(search.groups, claim)
            while not rough.done and rough.parts < MOST // 4 and self.budget.remaining > 0:
                rough.step()
            self._keep(rough, prices)
            if rough.done:
                break
        return search

    def _even_prices(self) -> None:
        """The bound H(X | S) and the largest divergence of a pattern from the prior, were there one of every share."""
        mass = np.bincount(self.of, self.p)
        prices = -np.log(mass)[self.of]
        ratio = math.exp(self.problem.budget)
        share = _best_share(ratio)
        mean = 1.0 + share * (ratio - 1.0)
        most = share * ratio * math.log(ratio) / mean - math.log(mean)
        search = Search(self._groups(prices), -most * (1.0 + SHARE / 10) - FINEST)
        self._keep(search, prices)

    def _keep(self, search: Search, prices: Floats) -> None:
        bound = priced_bound(self.problem, prices, search.bound[0])
        if search.done and bound < self.bound[0]:
            dual: dict[str, object] = {"kind": "patterns", "pi": prices.tolist()}
            self.bound = bound, {**dual, "least": search.bound[0]}

    def _groups(self, prices: Floats) -> Groups:
        made = groups(self.problem, prices)
        if made is None:
            raise ArithmeticError("the prices of the master program are too large")
        return made

    def _cheapest(self, search: Search, prices: Floats) -> Floats:
        columns = self._members(np.vstack(search.points), prices)
        reduced = _entropies(columns) - columns @ prices
        return np.asarray(columns[np.argsort(reduced, kind="stable")[:ENTERING]])

    def _enter(self, columns: Floats) -> None:
        self.program.add(columns, _entropies(columns))

    def _members(self, points: Floats, prices: Floats | None) -> Floats:
        """Distributions of the secret as posteriors of one observation each: the dearest, or a random one."""
        full = np.zeros((len(points), len(self.p)))
        for k in range(points.shape[1]):
            own = np.flatnonzero(self.of == k)
            if prices is None:
                chosen = self.rng.choice(own, len(points), p=self.p[own] / self.p[own].sum())
            else:
                chosen = np.full(len(points), own[prices[own].argmax()])
            full[np.arange(len(points)), chosen] = points[:, k]
        return full

    def _windows(self) -> Floats:
        """Patterns whose likely secrets follow each other in a random order, from each secret on."""
        flat = self._groups(np.zeros(len(self.p)))
        low, high = np.zeros(len(np.unique(self.of))), np.zeros(len(np.unique(self.of)))
        for g, values in enumerate(flat.members):
            low[values], high[values] = flat.low.mid[g], flat.high.mid[g]
        made = []
        several = max(FEWEST, min(self.orders, FIRST_CELLS // (len(low) * len(self.p))))
        for _ in range(min(self.affordable, several)):
            order = self.rng.permutation(len(low))
            made += [_window(np.roll(order, k), low, high, flat.ldp) for k in range(len(low))]
        if self.nearly and not flat.ldp and FEWEST_VALUES <= len(low) <= MOST_VALUES:
            points = _nearly_even(low, high, self.rng)
            made.append(points[np.argsort(self._at_even(points), kind="stable")[:KEPT]])
        return np.vstack(made)

    def _at_even(self, points: Floats) -> Floats:
        """Costs of distributions of the secret at prices that make all patterns of the best share alike."""
        return np.asarray(_entropies(points) + points @ np.log(np.bincount(self.of, self.p)))


class _LatticeRounds(_Rounds):
    """The same where all patterns are priced at once, at prices between the best ones and those of the program."""

    orders, nearly = ON_LATTICE, False

    def __init__(self, problem: LocalInformationPrivacy, budget: Budget, lattice: Lattice) -> None:
        super().__init__(problem, budget)
        self.lattice = lattice
        self.centre: tuple[float, Floats] | None = None

    def proposal(self) -> Proposal:
        """Rounds until the gap is closed, nothing helps any more, or time is out."""
        whole, stop, quiet = float(_entropies(self.p[None, :])[0]), "no other posterior would help", 0
        while True:
            weights, prices, value = self.program.solve()
            self.rounds += 1
            tolerance = max(FINEST, SHARE * min(1.0, whole - value))
            points = self._priced(prices)
            self.budget.report(whole - value, self.bound[0])
            if self.bound[0] <= whole - value + 2 * tolerance or quiet > STALLED:
                break
            if self.budget.remaining <= 0:
                stop = "out of time"
                break
            reduced = _entropies(points) - points @ prices
            cheap = np.argsort(reduced, kind="stable")[:FEW]
            cheap = cheap[reduced[cheap] < -FINEST]
            if len(cheap):
                self._enter(points[cheap])
            quiet = 0 if len(cheap) else quiet + 1
        return self._mixture(weights, stop)

    def _priced(self, prices: Floats) -> Floats:
        """The cheapest patterns at prices between; their bound counts, and where it is the best one they are the next centre."""
        if self.centre is None:
            tried = -np.log(np.bincount(self.of, self.p))[
                self.of
            ]  # what makes all patterns of the best share alike
        else:
            tried = INWARD * self.centre[1] + (1.0 - INWARD) * prices
        found = priced(self.problem, self.lattice, tried)
        if found is None:
            raise ArithmeticError("the prices of the master program are too large")
        bound = priced_bound(self.problem, tried, found.least[0])
        if bound < self.bound[0]:
            self.bound = bound, {"kind": "lattice", "pi": tried.tolist()}
        if self.centre is None or bound < self.centre[0]:
            self.centre = bound, tried
        points = self._members(found.cheapest(CELLS), prices)
        if len(points) and float((_entropies(points) - points @ prices).min()) >= -FINEST:
            self.centre = self.centre[0], (self.centre[1] + prices) / 2
        return points


def _window(order: Ints, low: Floats, high: Floats, ldp: bool) -> Floats:
    """The first values of an order made likely: as many as the sum 1 takes, or as make the release say most."""
    room = (high - low)[order]
    if not ldp:
        point = low.copy()
        point[order] += np.clip(1.0 - low.sum() - (np.cumsum(room) - room), 0.0, room)
        return point[None, :]
    ratio = float((high / low).max())
    shares = np.cumsum(low[order])
    before = int(np.searchsorted(shares, _best_share(ratio)))
    points = np.tile(low, (2, 1))
    for i in (0, 1):
        points[i, order[: before + i]] = high[order[: before + i]]
    return np.asarray(points / points.sum(axis=1, keepdims=True))


def _nearly_even(low: Floats, high: Floats, rng: np.random.Generator) -> Floats:
    """Points of a box with sum 1 whose odd value is nearly low: likely values are chosen so that little is left of the sum.

    The subsets of some values, ordered by their sum, are matched with random subsets of the others, those that leave least first.
    """
    width, room, made = high - low, 1.0 - float(low.sum()), []
    for _ in range(MATCHINGS):
        order = rng.permutation(len(low))
        block, rest = order[:BLOCK], order[BLOCK:]
        sums = np.zeros(1)
        for k in block:
            sums = np.concatenate([sums, sums + width[k]])
        by = np.argsort(sums)
        chosen = np.unique(rng.random((SUBSETS, len(rest))) < rng.random((SUBSETS, 1)), axis=0)
        left = room - chosen @ width[rest]
        chosen, left = chosen[left >= 0], left[left >= 0]
        places = (
            np.searchsorted(sums[by], left, side="right")[:, None]
            - 1
            - np.arange(max(PICKED, PICKED * SUBSETS // (4 * len(left))))
        )
        row, column = np.nonzero(places >= 0)
        codes = by[places[row, column]]
        points = np.tile(low, (len(row), 1))
        points[:, block] += ((codes[:, None] >> np.arange(len(block))) & 1) * width[block]
        points[:, rest] += chosen[row] * width[rest]
        odd = left[row] - sums[codes]
        free = (points < low + width / 2) & (width >= odd[:, None])
        some = free.any(axis=1)
        points, odd, free = points[some], odd[some], free[some]
        points[np.arange(len(points)), np.where(free, rng.random(free.shape), -1.0).argmax(axis=1)] += odd
        made.append(points)
    return np.vstack(made)


def _best_share(ratio: float) -> float:
    """The probability a of the likely values that makes a r ln r / M - ln M, M = 1 + a (r - 1), largest: 0 of its slope."""
    log = math.log(ratio)
    mean = ratio * log / (ratio - 1.0) if ratio > 1.0 else 1.0
    return (mean - 1.0) / (ratio - 1.0) if ratio > 1.0 else 0.5


def _entropies(columns: Floats) -> Floats:
    return np.asarray(-(columns * np.log(np.where(columns > 0, columns, 1.0))).sum(axis=1))
