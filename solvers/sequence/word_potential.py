"""Words of a chain of two letters: a potential of the posterior of the last letter bounds all releases together."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from functools import cached_property
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
"""Of the potential at first; those that lose most are cut in two, again and again."""
NEARLY = 2e-3
"""It ends once cells lose no more than this share of what all releases cost, beside the others."""
WORST, LOSING = 0.25, 0.1
"""Cells that lose this share of the worst one are cut with it, and those that lose this share of what all releases cost."""
FAR = 1.0
"""Cells that lose more than this share of what all releases cost are cut before other prices are tried."""
INSIDE = 0.35
"""Cuts are so far from the ends of cells, as a share of their width."""
SETTLED = 1e-4
"""A table proves itself once it grows everywhere by the same but for this share."""
NEAR = 1e-3
"""Where prices are sought in a cell: so far from its nodes, as a share of its width."""
DEAR = 1e4
"""Cost of words alone, which no budget allows: they only make a first mixture feasible."""
AGAIN = 5.0
"""Seconds of a master program that is solved from nothing, at most."""
MOVED = 1e-5
"""How far probabilities are moved for prices, at most, relative to themselves."""
ALIKE = 1e-9
"""Prices that differ by less are the same."""
GOLDEN = (5**0.5 - 1) / 2
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
    proves_only: ClassVar[bool] = True
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
        best: Proved | None = None
        stats = dict[str, float | int | str](cells=0, stop=OUT_OF_TIME)
        while True:
            begun = time.monotonic()
            try:
                found = tables.proved()
            except ArithmeticError as cause:
                stats["stop"] = str(cause)
                break
            if found is None:
                break
            if best is None or found.total > best.total:
                best, stats["cells"] = found, len(tables.nodes) - 1
                budget.report(None, -best.total / problem.span)
            if found.lost.max() <= NEARLY * abs(found.total) or len(tables.nodes) > self.cells:
                stats["stop"] = "cells are many" if len(tables.nodes) > self.cells else "no cell loses much"
                break
            if LONGER * (time.monotonic() - begun) > budget.remaining or not tables.divide(found):
                break
        if best is None:
            return Proposal(policy, stats=stats)
        return Proposal(policy, -best.total / problem.span, best.dual, stats=stats)


@dataclass(eq=False)
class _Tables:
    """The tables of a problem on some nodes, from the last release backward; mixtures at nodes are kept from round to round."""

    problem: SequenceInformationPrivacy
    budget: Budget

    def __post_init__(self) -> None:
        self.releases, _ = lengths(self.problem)
        self._mixtures: dict[tuple[bool, float], _Mixture] = {}
        self._first: _Mixture | None = None
        self._known: tuple[Floats, list[Floats]] | None = None
        self._on((1.0 - np.cos(np.pi * np.arange(CELLS + 1) / CELLS)) / 2)

    def _on(self, nodes: Floats) -> None:
        self.nodes = nodes
        self.last, self.usual = bounds_of(self.problem, nodes)
        self.values, self.prices = list[Floats](), list[Floats]()

    def proved(self) -> Proved | None:
        """Values, and prices that prove them; None where time runs out."""
        later, families = np.zeros(len(self.nodes)), list[Floats]()
        while len(self.values) < self.releases - 1:
            found = self._in_cells(later, shorter=not self.values)
            if found is None:
                return None
            value, prices = found
            families.append(prices)
            grown = value - later
            if self.values and (
                len(self.values) == MAX_TABLES or np.ptp(grown) <= SETTLED * np.abs(grown).max()
            ):
                break
            self.values.append(value)
            later = value
        if self._first is None:
            self._first = _Mixture(self.usual, first_words(self.problem).mid[0])
            self._first.borrow(self._near_nodes(shorter=len(self.prices) == 1)[len(self.nodes)])
        self._first.bounds = self.usual
        first = self._prices([self._first], later)
        if first is None:
            return None
        self.first = first[0, 0]
        return self._chosen(families)

    def _chosen(self, families: list[Floats]) -> Proved | None:
        """The prices of each cell that prove most, with what they prove; None where time runs out.

        Others are tried where the first ones lose something.
        """
        lost, prices = np.zeros(len(self.nodes) - 1), list[Floats]()
        total = self.usual.least(self.values[-1], self.first, first_words(self.problem))
        steps = steps_of(self.problem, (self.last, self.usual), self.values)
        found = [
            step.bounds.excess(step.later, step.aim, _rows(offered[0]))
            for step, offered in zip(steps, families, strict=True)
        ]
        usual = [float(np.median(excess)) for excess in found]
        whole = abs(total + sum(step.times * each for step, each in zip(steps, usual, strict=True)))
        for i, (step, excess, known) in enumerate(zip(steps, found, self._carried(len(steps)), strict=True)):
            best, share = families[i][0].copy(), whole / step.times
            for other in [*known, *families[i][1:]]:
                below = usual[i] - excess
                tried = np.flatnonzero((below > NEARLY * share) & (below < FAR * share))
                if self.budget.remaining == 0:
                    return None
                if len(tried) == 0:
                    break
                more = step.bounds.excess(step.later, step.aim, _rows(other[tried]), tried)
                better = tried[more > excess[tried]]
                best[better], excess[tried] = other[better], np.maximum(excess[tried], more)
            prices.append(_rows(best))
            total += step.times * float(excess.min())
            lost += step.times * (np.median(excess) - excess).clip(0.0)
        self._known = self.nodes, prices
        dual = {
            "kind": "words",
            "nodes": self.nodes.tolist(),
            "values": [row.tolist() for row in self.values],
            "prices": [rows.tolist() for rows in prices],
            "first": self.first.tolist(),
        }
        return Proved(total, dual, lost)

    def _carried(self, tables: int) -> list[list[Floats]]:
        """For each table the prices that proved most on the cells before these, where they are known."""
        if self._known is None:
            return [[]] * tables
        nodes, known = self._known
        inside = np.searchsorted(nodes, self.nodes[:-1], side="right") - 1
        shares = (np.stack([self.nodes[:-1], self.nodes[1:]]) - nodes[inside]) / np.diff(nodes)[inside]
        found = list[list[Floats]]()
        for i in range(tables):
            bounds = self.usual if i else self.last
            if i and len(known) == 1:  # those of a last release, which may be shorter
                found.append([])
                continue
            around, here = (bounds.given(at).mid for at in (nodes, self.nodes))
            paid = known[min(i, len(known) - 1)].reshape(len(nodes) - 1, 2, -1) * np.stack(
                [around[:-1], around[1:]], axis=1
            )
            first, last = paid[inside, 0], paid[inside, 1]
            ends = np.stack([first + share[:, None] * (last - first) for share in shares], axis=1)
            words = np.stack([here[:-1], here[1:]], axis=1)
            found.append([np.divide(ends, words, out=np.zeros(ends.shape), where=words > 0)])
        return found

    def divide(self, proved: Proved) -> bool:
        """Cut the cells that lose most; False where the check would not take so many."""
        worst = proved.lost >= min(WORST * proved.lost.max(), LOSING * abs(proved.total))
        if not fits(self.problem, len(self.nodes) + int(worst.sum()), MAX_TABLES + 1):
            return False
        cuts = _kinks(self.nodes, self.values[-1])[worst]
        self._on(np.sort(np.concatenate([self.nodes, cuts])))
        return True

    def _in_cells(self, later: Floats, *, shorter: bool) -> tuple[Floats, Floats] | None:
        """What releases cost at nodes with what follows, and prices (F, N, 2, n) at both ends of each cell, of several kinds.

        Those near both ends, inside, as at a node there may be several, of the cells beside it: the mean of two optimal ones and both; and
        those of the cells beside, continued. None where time runs out.
        """
        mixtures = self._near_nodes(shorter=shorter)
        rows = self._prices(mixtures, later)
        if rows is None:
            return None
        words = (self.last if shorter else self.usual).given(self.nodes).mid
        around = np.stack([words[:-1], words[1:]], axis=1)
        paid = np.concatenate([rows.mean(axis=0, keepdims=True), rows]) * np.array(
            [m.words for m in mixtures]
        )
        rising = (paid[:, 1::2] - paid[:, ::2]) * (NEAR / (1.0 - 2.0 * NEAR))
        ends = np.stack([paid[:, ::2] - rising, paid[:, 1::2] + rising], axis=2)
        totals = ends[0].sum(axis=-1)
        values = np.concatenate([totals[:1, 0], np.minimum(totals[:-1, 1], totals[1:, 0]), totals[-1:, 1]])
        offered = np.concatenate([ends, _continued(self.nodes, ends[0])])
        return values, np.divide(offered, around, out=np.zeros(offered.shape), where=around > 0)

    def _near_nodes(self, *, shorter: bool) -> list[_Mixture]:
        """The mixtures near both ends of each cell, of the last release, which may be shorter, or of others."""
        bounds = self.last if shorter else self.usual
        shorter = shorter and self.last is not self.usual
        inside = NEAR * np.diff(self.nodes)
        near = np.stack([self.nodes[:-1] + inside, self.nodes[1:] - inside], axis=1).ravel()
        made = []
        for r, words in zip(near.tolist(), bounds.given(near).mid, strict=True):
            mixture = self._mixtures.setdefault((shorter, r), _Mixture(bounds, words))
            mixture.bounds = bounds
            made.append(mixture)
        return made

    def _prices(self, mixtures: list[_Mixture], later: Floats) -> Floats | None:
        """The prices of mixtures, two rows each, (2, M, n); None where time runs out."""
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
        return np.stack(rows, axis=1)


@dataclass(frozen=True, eq=False)
class Proved:
    """What all releases cost at least, the dual that proves it, and what each cell may lose beside the others."""

    total: float
    dual: dict[str, Any]
    lost: Floats


def _rows(prices: Floats) -> Floats:
    """Prices of cells at both ends, (N, 2, n), as rows."""
    return prices.reshape(-1, prices.shape[-1])


def _continued(nodes: Floats, paid: Floats) -> Floats:
    """What is paid for words in cells (N, 2, n), as it is in the cell before and in the cell after, continued: (2, N, 2, n)."""
    width = np.diff(nodes)[:, None]
    slopes = (paid[:, 1] - paid[:, 0]) / width
    before, after = paid.copy(), paid.copy()
    before[1:, 0] = paid[:-1, 1]
    before[1:, 1] = paid[:-1, 1] + slopes[:-1] * width[1:]
    after[:-1, 1] = paid[1:, 0]
    after[:-1, 0] = paid[1:, 0] - slopes[1:] * width[:-1]
    return np.stack([before, after])


def _kinks(nodes: Floats, values: Floats) -> Floats:
    """Where to cut cells: where the lines of values in the two cells beside one meet, if that is well inside, else in the middle.

    Prices change at once where the best releases do; a cell on either side of such a place loses little.

    Examples
    --------
    >>> _kinks(np.array([0.0, 0.25, 0.5, 0.75, 1.0]), np.array([0.0, 0.25, 0.4, 0.2, 0.0])).round(6).tolist()
    [0.125, 0.375, 0.625, 0.875]
    """
    width, rise = np.diff(nodes), np.diff(values)
    slopes = rise / width
    cuts = nodes[:-1] + width / 2
    before, after, inner = slopes[:-2], slopes[2:], slice(1, -1)
    with np.errstate(divide="ignore", invalid="ignore"):
        share = (rise[inner] - after * width[inner]) / ((before - after) * width[inner])
    found = np.flatnonzero((share > INSIDE) & (share < 1.0 - INSIDE))
    cuts[1 + found] = nodes[1 + found] + share[found] * width[1 + found]
    return np.asarray(cuts)


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
        """Those of words in the best mixture where ``later`` is the potential after it, two rows, which differ where several are optimal."""
        columns, found = self.columns, list[Floats]()
        master = Restricted(self.words)
        master.add(np.eye(len(self.words)), np.full(len(self.words), DEAR))
        master.add(np.array(columns), self._costs(columns, later))
        for share in (MOVED, -MOVED):
            master.aim(_moved(self.words, share))
            prices = self._solved(master)
            if found and np.abs(prices - found[0]).max() <= ALIKE:
                found.append(prices)  # priced before: there is one optimum
            else:
                found.append(self._generated(master, prices, columns, later, budget))
        reduced = self._costs(columns, later) - np.array(columns) @ found[-1]
        kept = np.argsort(reduced, kind="stable")[: KEPT * len(self.words)]
        self.columns = [self.words, *(columns[i] for i in kept if i)]
        return np.array(found)

    def _generated(
        self, master: Restricted, found: Floats, columns: list[Floats], later: Floats, budget: Budget
    ) -> Floats:
        """Its prices, from those of now on, once no posterior would join, or time is spent; those that join are noted."""
        while True:
            values, points = self._priced(later, found)
            order = values.argsort(kind="stable")[:EACH]
            new = order[values[order] < -TOLERANCE]
            if len(new) == 0 or budget.remaining == 0:
                return found
            joining = list(points[new])
            columns += joining
            master.add(points[new], self._costs(joining, later))
            found = self._solved(master)

    def _solved(self, master: Restricted) -> Floats:
        """Its prices; from nothing, by other means, where HiGHS finds no way on from where it is."""
        try:
            return master.solve()[1]
        except ArithmeticError:
            again = Restricted(master.p, AGAIN)
            again.add(master.columns, master.costs)
            return again.solve()[1]

    def _costs(self, columns: list[Floats], later: Floats) -> Floats:
        """What the best release at each posterior costs, with what follows."""
        points = np.array(columns)
        own = (points @ self.bounds.cost.T).min(axis=1)
        return np.asarray(
            own + np.interp(points[:, self.bounds.second].sum(axis=1), self.bounds.nodes, later)
        )

    def _priced(self, later: Floats, prices: Floats) -> tuple[Floats, Floats]:
        """For each release what the posterior within the budget that costs least beyond prices costs, (m,), and that posterior, (m, n).

        The cheapest words of either last letter come first, so costs are linear between points at which one of them is full.
        """
        slopes, masses = self.bounds.cost - prices, [self._masses(group) for group in self.groups]
        least, most = max(masses[1][0], 1.0 - masses[0][1]), min(masses[1][1], 1.0 - masses[0][0])
        if least > most:
            return np.empty(0), np.empty((0, len(prices)))
        lines = [self._line(slopes, group) for group in self.groups]
        ends = np.broadcast_to(
            np.append(self.bounds.nodes, [least, most]), (len(slopes), len(self.bounds.nodes) + 2)
        )
        points = np.concatenate([ends, 1.0 - lines[0].reached, lines[1].reached], axis=1).clip(least, most)
        value = (
            np.interp(points, self.bounds.nodes, later) + lines[0].cost(1.0 - points) + lines[1].cost(points)
        )
        best = value.argmin(axis=1)
        every = np.arange(len(slopes))
        second, posteriors = points[every, best][:, None], np.empty(slopes.shape)
        for line, mass in zip(lines, (1.0 - second, second), strict=True):
            np.put_along_axis(posteriors, line.words, line.filled(mass)[:, 0], axis=1)
        return value[every, best], posteriors

    def _masses(self, group: Ints) -> tuple[float, float]:
        """The least and the largest probability of some words."""
        return float(self.low[group].sum()), float(self.high[group].sum())

    def _line(self, slopes: Floats, group: Ints) -> _Line:
        """The words of a group, the cheapest first, for each release."""
        words = group[slopes[:, group].argsort(axis=1, kind="stable")]
        return _Line(
            words, np.take_along_axis(slopes, words, axis=1), self.low[words], (self.high - self.low)[words]
        )


def _moved(words: Floats, share: float) -> Floats:
    """A distribution nearby, moved the same way everywhere: of several optimal prices it has one, and those nearby the like."""
    other = words * (1.0 + share * ((GOLDEN * np.arange(1, len(words) + 1)) % 1.0))
    return np.asarray(other / other.sum())


@dataclass(frozen=True, eq=False)
class _Line:
    """Words in the order of their slopes, for each release: (m, n_g) each, with their least probabilities and the room above these."""

    words: Ints
    slopes: Floats
    low: Floats
    room: Floats

    @cached_property
    def reached(self) -> Floats:
        """The probability of all of them when one after the other is as likely as may be."""
        return np.asarray(self.low.sum(axis=1, keepdims=True) + self.room.cumsum(axis=1))

    def filled(self, masses: Floats) -> Floats:
        """Probabilities (m, J, n_g) where these have some masses (m, J) together."""
        before = (self.reached - self.room)[:, None]
        return np.asarray(self.low[:, None] + (masses[:, :, None] - before).clip(0.0, self.room[:, None]))

    def cost(self, masses: Floats) -> Floats:
        """What that costs, (m, J): linear between masses at which one more of them is full."""
        least, paid = self.low.sum(axis=1, keepdims=True), (self.low * self.slopes).sum(axis=1, keepdims=True)
        apart = (1.0 + self.low.shape[1]) * np.arange(len(masses))[:, None]  # one line after the other
        ends = np.concatenate([least, self.reached], axis=1) + apart
        costs = np.concatenate([paid, paid + (self.room * self.slopes).cumsum(axis=1)], axis=1)
        return np.asarray(np.interp(masses + apart, ends.ravel(), costs.ravel()))
