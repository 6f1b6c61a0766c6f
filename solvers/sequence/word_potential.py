"""Words of a chain of two letters: a potential of the posterior of the last letter bounds all releases together."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from privopt.arrays import Floats, Ints
from privopt.core.registry import register
from privopt.core.solver import OUT_OF_TIME, Budget, Guarantee, Proposal, Solver
from privopt.mechanisms.policy.rules import seconds_of
from privopt.problems.sequence_information_privacy.problem import SequenceInformationPrivacy
from privopt.problems.sequence_information_privacy.word_potential import (
    MAX_TABLES,
    WordBounds,
    bounds_of,
    first_words,
    fits,
    lengths,
    refuse_words_of_two,
    steps_of,
)
from privopt.solvers.common.mixing import Restricted
from privopt.solvers.sequence.prices import policy_in_time

CELLS = 8
"""Of the potential at first; those that lose most are halved, again and again."""
NEARLY = 2e-3
"""It ends once cells lose no more than this share of what all releases cost, beside the others."""
WORST = 0.25
"""Cells that lose this share of the worst one are halved with it."""
SETTLED = 1e-4
"""A table proves itself once it grows everywhere by the same but for this share."""
TOLERANCE = 1e-7
"""Of reduced costs."""
EACH = 24
"""Posteriors that join a mixture at a time."""
KEPT = 4
"""Posteriors of a mixture that are kept from table to table, times words."""
JUDGED = 1.0
"""Seconds that judging the policy may take which it proposes where none is known."""
LONGER = 1.5
"""How many times as long as the last round the next one may take."""


@register
@dataclass(frozen=True)
class WordPotential(Solver[SequenceInformationPrivacy]):
    """Words of a chain of two letters: a potential of the posterior of the last letter bounds all releases together.

    What follows a word depends on one number, how likely its last letter is. At some of these numbers the best mixture of posteriors
    within the budget is found by column generation, whose prices bound what any releases cost there, with the potential of the
    release after. Tables are computed from the last release backward until one proves itself. It proposes one release at a time.

    Releases are those of Jiang, Li, Tandon, "Online Context-aware Data Release with Sequence Information Privacy", batches. Potentials
    as bounds: D. P. de Farias, B. Van Roy, "The Linear Programming Approach to Approximate Dynamic Programming".
    """

    solves: ClassVar = SequenceInformationPrivacy
    name: ClassVar[str] = "word-potential"
    guaranteed: ClassVar[Guarantee | None] = Guarantee.BOUNDED
    """With a bound that is checked."""
    cells: int = 128
    """Cells of the potential, about at most; a round takes time as their square."""

    def cost(self, problem: SequenceInformationPrivacy) -> float:
        """Until the first bound that is near; it goes on while there is time."""
        words, outputs = problem.words
        cells = words * outputs
        return float(0.35 * (cells / 16) ** 0.3 + 1e-7 * cells**2)

    def refuse(self, problem: SequenceInformationPrivacy) -> str | None:
        """Refuse other chains, single letters, single releases, and budgets of nothing, or nearly everything."""
        if problem.robust:
            return "it takes a chain, not a set of chains"
        return refuse_words_of_two(problem)

    def run(self, problem: SequenceInformationPrivacy, budget: Budget) -> Proposal:
        """Propose one release at a time, with the potential as proof."""
        policy = budget.incumbent
        if policy is None:
            soon = replace(budget, deadline=min(budget.deadline, time.monotonic() + JUDGED))
            setting = problem.setting(problem.batch)
            once = seconds_of("structure-lp", setting.cost.size, setting.epsilon)
            policy = policy_in_time(problem, "structure-lp", soon, once) or problem.anchor()
        tables = _Tables(problem, budget)
        least, dual, stats = -np.inf, None, dict[str, float | int | str](cells=0, stop=OUT_OF_TIME)
        while True:
            begun = time.monotonic()
            found = tables.dual()
            weighed = None if found is None else tables.weighed()
            if weighed is None:
                break
            total, lost = weighed
            if total > least:
                least, dual, stats["cells"] = total, found, len(tables.nodes) - 1
                budget.report(None, -least / problem.span)
            if lost.max() <= NEARLY * abs(total) or len(tables.nodes) > self.cells:
                stats["stop"] = "cells are many" if len(tables.nodes) > self.cells else "no cell loses much"
                break
            if LONGER * (time.monotonic() - begun) > budget.remaining or not tables.halve(lost):
                break
        return Proposal(policy, None if dual is None else -least / problem.span, dual, stats=stats)


@dataclass(eq=False)
class _Tables:
    """The tables of a problem on some nodes, from the last release backward; mixtures at nodes are kept from round to round."""

    problem: SequenceInformationPrivacy
    budget: Budget

    def __post_init__(self) -> None:
        self.releases, _ = lengths(self.problem)
        self._mixtures: dict[tuple[bool, float], _Mixture] = {}
        self._first: _Mixture | None = None
        self._on((1.0 - np.cos(np.pi * np.arange(CELLS + 1) / CELLS)) / 2)

    def _on(self, nodes: Floats) -> None:
        self.nodes = nodes
        self.last, self.usual = bounds_of(self.problem, nodes)
        self.values, self.prices = list[Floats](), list[Floats]()

    def dual(self) -> dict[str, Any] | None:
        """Values, and prices that prove them; None where time runs out."""
        later = np.zeros(len(self.nodes))
        while len(self.values) < self.releases - 1:
            mixtures = self._at_nodes(shorter=not self.values)
            rows = self._prices(mixtures, later)
            if rows is None:
                return None
            value = np.array([lam @ mixture.words for lam, mixture in zip(rows, mixtures, strict=True)])
            self.prices.append(rows)
            grown = value - later
            if self.values and (
                len(self.values) == MAX_TABLES or np.ptp(grown) <= SETTLED * np.abs(grown).max()
            ):
                break
            self.values.append(value)
            later = value
        if self._first is None:
            self._first = _Mixture(self.usual, first_words(self.problem).mid[0])
            self._first.borrow(self._at_nodes(shorter=len(self.prices) == 1)[len(self.nodes) // 2])
        self._first.bounds = self.usual
        first = self._prices([self._first], later)
        if first is None:
            return None
        self.first = first[0]
        return {
            "kind": "words",
            "nodes": self.nodes.tolist(),
            "values": [row.tolist() for row in self.values],
            "prices": [rows.tolist() for rows in self.prices],
            "first": self.first.tolist(),
        }

    def weighed(self) -> tuple[float, Floats] | None:
        """What they prove that all releases cost, and what each cell may lose beside the others; None where time runs out."""
        lost = np.zeros(len(self.nodes) - 1)
        total = self.usual.least(self.values[-1], self.first, first_words(self.problem))
        for excess, times in steps_of(self.problem, (self.last, self.usual), self.values, self.prices):
            if self.budget.remaining == 0:
                return None
            total += times * float(excess.min())
            lost += times * (np.median(excess) - excess).clip(0.0)
        return total, lost

    def halve(self, lost: Floats) -> bool:
        """Halve the cells that lose most; False where the check would not take so many."""
        worst = lost >= WORST * lost.max()
        if not fits(self.problem, len(self.nodes) + int(worst.sum()), MAX_TABLES + 1):
            return False
        middles = (self.nodes[1:] + self.nodes[:-1])[worst] / 2
        self._on(np.sort(np.concatenate([self.nodes, middles])))
        return True

    def _at_nodes(self, *, shorter: bool) -> list[_Mixture]:
        """The mixtures at nodes, of the last release, which may be shorter, or of others."""
        bounds = self.last if shorter else self.usual
        shorter = shorter and self.last is not self.usual
        made = []
        for r, words in zip(self.nodes.tolist(), bounds.given(self.nodes).mid, strict=True):
            mixture = self._mixtures.setdefault((shorter, r), _Mixture(bounds, words))
            mixture.bounds = bounds
            made.append(mixture)
        return made

    def _prices(self, mixtures: list[_Mixture], later: Floats) -> Floats | None:
        """The prices of mixtures, a row each; None where time runs out."""
        rows = list[Floats]()
        for i, mixture in enumerate(mixtures):
            if self.budget.remaining == 0:
                return None
            if len(mixture.columns) == 1:
                known = (
                    near for near in (*mixtures[i - 1 : i], *mixtures[i + 1 : i + 2]) if len(near.columns) > 1
                )
                mixture.borrow(next(known, mixture))
            rows.append(mixture.prices(later, self.budget))
        return np.array(rows)


@dataclass(eq=False)
class _Mixture:
    """The best mixture of posteriors at one distribution of words, by column generation; columns are kept from table to table."""

    bounds: WordBounds
    words: Floats

    def __post_init__(self) -> None:
        self.columns = [self.words]
        low, up = self.bounds.factors
        self.low, self.high = self.words * low, np.minimum(1.0, self.words * up)
        second = self.bounds.second
        self.groups = [np.flatnonzero(~second), np.flatnonzero(second)]

    def borrow(self, near: _Mixture) -> None:
        """Take the posteriors of another mixture, moved to these words: as much likelier than the words are, but for their sum."""
        points = np.array(near.columns[1:]).reshape(-1, len(self.words))
        usual = np.where(near.words > 0, near.words, 1.0)
        moved = (points / usual * self.words).clip(self.low, self.high)
        excess = moved.sum(axis=1, keepdims=True) - 1.0
        room = np.where(excess > 0, moved - self.low, self.high - moved)
        moved -= excess * room / np.maximum(room.sum(axis=1, keepdims=True), 1e-300)
        self.columns += list(moved)

    def prices(self, later: Floats, budget: Budget) -> Floats:
        """Those of words in the best mixture where ``later`` is the potential after it."""
        columns, master = list[Floats](), Restricted(self.words)
        joining, found = self.columns, np.zeros(len(self.words))
        while joining:
            columns += joining
            master.add(np.array(joining), self._costs(joining, later))
            _, found, _ = master.solve()
            new = [(value, p) for value, p in self._priced(later, found) if value < -TOLERANCE]
            joining = (
                [p for _, p in sorted(new, key=lambda one: one[0])[:EACH]] if budget.remaining > 0 else []
            )
        reduced = self._costs(columns, later) - np.array(columns) @ found
        kept = np.argsort(reduced, kind="stable")[: KEPT * len(self.words)]
        self.columns = [self.words, *(columns[i] for i in kept if i)]
        return found

    def _costs(self, columns: list[Floats], later: Floats) -> Floats:
        """What the best release at each posterior costs, with what follows."""
        points = np.array(columns)
        own = (points @ self.bounds.cost.T).min(axis=1)
        return np.asarray(
            own + np.interp(points[:, self.bounds.second].sum(axis=1), self.bounds.nodes, later)
        )

    def _priced(self, later: Floats, prices: Floats) -> list[tuple[float, Floats]]:
        """For each release the posterior within the budget that costs least beyond prices, and what."""
        found = []
        for slopes in self.bounds.cost - prices:
            lines = [self._line(slopes, group) for group in self.groups]
            (_, mass0, cost0), (_, mass1, cost1) = lines
            least, most = max(mass1[0], 1 - mass0[-1]), min(mass1[-1], 1 - mass0[0])
            if least > most:
                continue
            points = np.concatenate([[least, most], mass1, 1 - mass0, self.bounds.nodes]).clip(least, most)
            value = np.interp(points, mass1, cost1) + np.interp(1 - points, mass0, cost0)
            value += np.interp(points, self.bounds.nodes, later)
            best = int(value.argmin())
            found.append((float(value[best]), self._posterior(lines, float(points[best]))))
        return found

    def _line(self, slopes: Floats, group: Ints) -> tuple[Ints, Floats, Floats]:
        """The words of a group from the cheapest on, and masses with the least cost of each, linear in between."""
        order = group[slopes[group].argsort(kind="stable")]
        low, gaps = self.low[order], (self.high - self.low)[order]
        masses = low.sum() + np.concatenate([[0.0], gaps.cumsum()])
        costs = slopes[order] @ low + np.concatenate([[0.0], (slopes[order] * gaps).cumsum()])
        return order, masses, costs

    def _posterior(self, lines: list[tuple[Ints, Floats, Floats]], second: float) -> Floats:
        """The posterior with that much on words that end in the second letter, from the cheapest of each group on."""
        p = self.low.copy()
        for (order, masses, _), mass in zip(lines, (1.0 - second, second), strict=True):
            gaps = np.diff(masses)
            p[order] += np.clip(mass - masses[:-1], 0.0, gaps)
        return p
