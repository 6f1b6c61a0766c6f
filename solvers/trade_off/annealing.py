"""Simulated annealing of partitions: single symbols change their block by chance, less and less against what they are worth.

Moves of single symbols alone end where none helps, which is often far from the best partition. Here a symbol goes into a block
with a probability that falls exponentially with what the partition loses by it, at a temperature that falls from what moves are
worth on the average to a thousandth of it; several such runs start at random or from the best so far. Under a floor or a cap what is
missing has a price, that rises while something is missing. Source: Kirkpatrick, Gelatt, Vecchi, "Optimization by Simulated Annealing".
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, field
from typing import ClassVar, TypeVar

import numpy as np

from privopt.arrays import Floats, Ints
from privopt.core.registry import register
from privopt.core.solver import Budget, Guarantee, Proposal, Solver
from privopt.problems.information_bottleneck.problem import InformationBottleneck
from privopt.problems.privacy_funnel.problem import PrivacyFunnel
from privopt.problems.trade_off.partition_costs import BlockCosts, Goal, block_costs, goal_of, xlogx
from privopt.problems.trade_off.problem import TradeOff
from privopt.solvers.trade_off.large import start_of, worth_of
from privopt.solvers.trade_off.mergings import first_kept, impossible, merging_table, numbered, proposed
from privopt.solvers.trade_off.portfolio import moved

T = TypeVar("T", bound=TradeOff)

SWEEPS = 100
"""Rounds over all symbols in a run, where there is time."""

COLDEST = 1e-3
"""The last temperature, relative to the first."""

WARM = 0.1
"""The first temperature of a run that starts from the best partition so far, relative to that of one that starts at random."""

IN_VAIN = 8
"""Runs in a row without a gain after which there are no more."""

DEARER, CHEAPER = 1.1, 0.97
"""What a sweep multiplies the price of what is missing by: where something is, and where nothing is."""

SWAPS = 100
"""Symbols with which one may change places at a time, at most."""

LARGE = 100
"""Symbols from which on a better partition is found long before the runs end."""

SWAPPED = 4.0
"""How many times as long as its moves alone a sweep with changes of places takes."""

WORTH = 1e-12
"""Nats that a better partition must be worth."""


class Annealing(Solver[T]):
    """Runs of simulated annealing, from the best merging so far and from random ones."""

    name: ClassVar[str] = "annealing"
    guaranteed: ClassVar[Guarantee | None] = Guarantee.FEASIBLE

    def cost(self, problem: T) -> float:
        """Steps of all symbols in all sweeps of as many runs as end it; of large alphabets, what it finds first counts most."""
        size, width = min(len(problem.observation.support), LARGE), len(problem.observation.p_s)
        step = 8e-6 * (1.0 if problem.mode == "trade_off" else SWAPPED)
        return 0.01 + step * SWEEPS * IN_VAIN * size * (1.0 + 2e-4 * size * width)

    def refuse(self, problem: T) -> str | None:
        """Refuse channels."""
        return None if problem.form == "merging" else 'it seeks mergings: ask form="merging"'

    def run(self, problem: T, budget: Budget) -> Proposal:
        """Propose the best partition that was met, with the moves of single symbols that still help."""
        if (none := impossible(problem)) is not None:
            return none
        short = budget.earlier(0.1)
        start = start_of(problem, budget.earlier(0.7))
        costs = block_costs(problem)
        order = np.searchsorted(problem.observation.support, costs.symbols)
        search = _Runs(costs, goal_of(problem, costs), np.random.default_rng(budget.seed), start[order])
        runs = search.run(short)
        best = np.empty_like(start)
        best[order] = search.best
        best = numbered(best)
        settled = moved(merging_table(problem), best, worth_of(problem), budget)
        stop = "no run helps" if short.remaining > 0 else "out of time"
        return proposed(
            problem, first_kept(problem, [settled, best, start]), {"iterations": runs, "stop": stop}
        )


@register
@dataclass(frozen=True)
class FunnelAnnealing(Annealing[PrivacyFunnel]):
    """Simulated annealing: symbols change their block by chance, less and less against what they are worth."""

    solves: ClassVar = PrivacyFunnel


@register
@dataclass(frozen=True)
class BottleneckAnnealing(Annealing[InformationBottleneck]):
    """Simulated annealing: symbols change their block by chance, less and less against what they are worth."""

    solves: ClassVar = InformationBottleneck


@dataclass(eq=False)
class _Runs:
    """The runs of one problem: symbols in the order of ``costs``, the best numbers of their blocks so far."""

    costs: BlockCosts
    goal: Goal
    rng: np.random.Generator
    best: Ints
    lowest: float = math.inf
    price: float = 0.0
    """Of a nat that is missing."""
    hottest: float = 0.0
    pace: float = 0.0
    """Seconds of a sweep."""
    rows: Floats = field(init=False)
    weights: Floats = field(init=False)
    need: float = field(init=False)

    def __post_init__(self) -> None:
        self.rows = np.ascontiguousarray(self.costs.rows.T)
        cost, both = self.goal.entropies(self.costs, 0.0), self.goal.entropies(self.costs, 1.0)
        self.weights = np.column_stack([-cost, both - cost])
        self.need = self.goal.need - self.goal.gain_error  # ties are looked at in exact arithmetic at the end
        self.lowest = self._value(self.best)

    def run(self, budget: Budget) -> int:
        """Runs until time is up or several did not help; how many there were."""
        runs = in_vain = 0
        n = len(self.rows)
        if n < 2:
            return 0
        self._measure(int(self.best.max()) + 1)
        while budget.remaining > 0 and in_vain < IN_VAIN:
            before = self.lowest
            count = int(self.best.max()) + 1
            warm = runs % 2 == 1 or budget.remaining < SWEEPS * self.pace
            room = min(n, count + 1 + int(self.rng.integers(2 + count // 3)))
            start = self.best.copy() if warm else self.rng.integers(room, size=n)
            self._anneal(start, max(room, count), warm, budget)
            runs, in_vain = runs + 1, 0 if self.lowest < before - WORTH else in_vain + 1
            budget.progress(in_vain / IN_VAIN, f"{runs} runs")
        return runs

    def _measure(self, room: int) -> None:
        """What random moves from a random partition into some blocks change, and how long they take."""
        begun, n = time.monotonic(), len(self.rows)
        state = _State(self.rows, self.weights, self.rng.integers(room, size=n), room)
        cost, gain = np.abs(state.changes_of_all(self.rng)).sum(axis=0).tolist()
        self.price = 2.0 * cost / max(gain, n * self.goal.gain_error, 1e-300)
        self.hottest = max(cost / n, 1e-15)
        self.pace = (time.monotonic() - begun) * (1.0 if self.goal.weighed else SWAPPED)

    def _value(self, numbers: Ints) -> float:
        """The cost of a partition; inf where it gains too little."""
        sums = np.zeros((int(numbers.max()) + 1, self.rows.shape[1]))
        np.add.at(sums, numbers, self.rows)
        cost, gain = (xlogx(sums) @ self.weights).sum(axis=0).tolist()
        return cost if self._missing(gain) <= 0 else math.inf

    def _missing(self, gain: float) -> float:
        """By how much a partition gains too little."""
        return -math.inf if self.goal.weighed else self.need - gain

    def _anneal(self, numbers: Ints, room: int, warm: bool, budget: Budget) -> None:
        """One run, from hot to cold, in as many sweeps as fit."""
        state = _State(self.rows, self.weights, numbers, room)
        sweeps = max(1, int(min(SWEEPS, budget.remaining / self.pace)))
        hottest = self.hottest * (WARM * sweeps / SWEEPS if warm else 1.0)
        for sweep in range(sweeps):
            begun = time.monotonic()
            self._sweep(state, hottest * COLDEST ** (sweep / sweeps), budget)
            if budget.remaining <= 0:
                return
            self.pace = max(time.monotonic() - begun, 1e-6)
            if not self.goal.weighed:
                self.price *= DEARER if self._missing(state.levels[1]) > 0 else CHEAPER
            state.renew()

    def _sweep(self, state: _State, temperature: float, budget: Budget) -> None:
        """Every symbol once, in random order, into a block by chance; under a bound into the place of another one, every other time."""
        n = len(self.rows)
        chances = self.rng.gumbel(size=(n, state.room))
        for step, (i, chance) in enumerate(zip(self.rng.permutation(n).tolist(), chances, strict=True)):
            if step % 64 == 0 and budget.remaining <= 0:
                return
            moved = self._moved(state, i, temperature * chance)
            if not self.goal.weighed:
                moved |= self._swapped(state, i, temperature)
            cost, gain = state.levels
            if moved and cost < self.lowest - WORTH and self._missing(gain) <= 0:
                self._keep(state.numbers)

    def _moved(self, state: _State, i: int, chance: Floats) -> bool:
        """Whether a symbol went into another block, drawn with chances on the scale of energies."""
        change, made = state.changes(i)
        to = int(np.argmax(chance - self._energies(state, change)))
        if to == state.numbers[i]:
            return False
        state.move(i, to, made)
        return True

    def _swapped(self, state: _State, i: int, temperature: float) -> bool:
        """Whether a symbol changed places with one of another block, drawn from some."""
        n = len(self.rows)
        others = np.arange(n) if n <= SWAPS else self.rng.integers(n, size=SWAPS)
        others = others[state.numbers[others] != state.numbers[i]]
        if len(others) == 0:
            return False
        change, made = state.swaps(i, others)
        energies = self._energies(state, change)
        chances = temperature * self.rng.gumbel(size=len(others) + 1)
        best = int(np.argmax(chances[1:] - energies))
        if chances[1 + best] - energies[best] <= chances[0]:
            return False
        state.swap(i, int(others[best]), best, made)
        return True

    def _energies(self, state: _State, change: Floats) -> Floats:
        """What changes of cost and gain cost, with the price of what they leave missing."""
        if self.goal.weighed:
            return change[:, 0]
        missing = self.need - state.levels[1]
        more = np.maximum(0.0, missing - change[:, 1]) - max(0.0, missing)
        return np.asarray(change[:, 0] + self.price * more)

    def _keep(self, numbers: Ints) -> None:
        """A partition that seems better, if it is by sums made afresh."""
        kept = numbered(numbers)
        if (value := self._value(kept)) < self.lowest:
            self.best, self.lowest = kept, value


@dataclass(eq=False)
class _State:
    """A partition into numbered blocks, some of them empty: their sums, what they cost and gain, and the totals."""

    rows: Floats
    weights: Floats
    numbers: Ints
    room: int
    sums: Floats = field(init=False)
    parts: Floats = field(init=False)
    counts: list[int] = field(init=False)
    levels: tuple[float, float] = field(init=False)

    def __post_init__(self) -> None:
        self.renew()

    def renew(self) -> None:
        """Make all sums afresh, so that errors do not build up."""
        self.sums = np.zeros((self.room, self.rows.shape[1]))
        np.add.at(self.sums, self.numbers, self.rows)
        self.parts = xlogx(self.sums) @ self.weights
        self.counts = np.bincount(self.numbers, minlength=self.room).tolist()
        cost, gain = self.parts.sum(axis=0).tolist()
        self.levels = (cost, gain)

    def changes(self, i: int) -> tuple[Floats, tuple[Floats, Floats]]:
        """What each block for symbol i changes in cost and gain, shape (room, 2), and the new sums and parts: of its own last."""
        own, row = int(self.numbers[i]), self.rows[i]
        sums = np.empty((self.room + 1, len(row)))
        np.add(self.sums, row, out=sums[:-1])
        if self.counts[own] == 1:
            sums[-1] = 0.0
        else:
            np.maximum(self.sums[own] - row, 0.0, out=sums[-1])
        parts = xlogx(sums) @ self.weights
        change = parts[:-1] - self.parts
        change += parts[-1] - self.parts[own]
        change[own] = 0.0
        return change, (sums, parts)

    def swaps(self, i: int, others: Ints) -> tuple[Floats, tuple[Floats, Floats]]:
        """What changing places with each of some symbols of other blocks changes, shape (others, 2), and both blocks' new sums and parts."""
        own, theirs = int(self.numbers[i]), self.numbers[others]
        shift = self.rows[others] - self.rows[i]
        sums = np.maximum(np.stack([self.sums[own] + shift, self.sums[theirs] - shift]), 0.0)
        parts = xlogx(sums) @ self.weights
        change = parts[0] + parts[1] - self.parts[theirs] - self.parts[own]
        return change, (sums, parts)

    def swap(self, i: int, other: int, place: int, made: tuple[Floats, Floats]) -> None:
        """Let two symbols change places, by what :meth:`swaps` made; the other is in that place of it."""
        sums, parts = made
        for side, block in enumerate((int(self.numbers[i]), int(self.numbers[other]))):
            cost, gain = (parts[side, place] - self.parts[block]).tolist()
            self.levels = (self.levels[0] + cost, self.levels[1] + gain)
            self.sums[block], self.parts[block] = sums[side, place], parts[side, place]
        self.numbers[i], self.numbers[other] = self.numbers[other], self.numbers[i]

    def changes_of_all(self, rng: np.random.Generator) -> Floats:
        """What a random move of each symbol changes, shape (n, 2)."""
        return np.array([self.changes(i)[0][rng.integers(self.room)] for i in range(len(self.rows))])

    def move(self, i: int, to: int, made: tuple[Floats, Floats]) -> None:
        """Put symbol i into another block, by what :meth:`changes` made."""
        own, (sums, parts) = int(self.numbers[i]), made
        cost, gain = (parts[to] - self.parts[to] + parts[-1] - self.parts[own]).tolist()
        self.sums[own], self.parts[own] = sums[-1], parts[-1]
        self.sums[to], self.parts[to] = sums[to], parts[to]
        self.counts[own] -= 1
        self.counts[to] += 1
        self.numbers[i] = to
        self.levels = (self.levels[0] + cost, self.levels[1] + gain)
