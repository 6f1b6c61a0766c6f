"""Spending delta where the utility is a distortion: linear programs over releases that break the bounds of some secrets each."""

from __future__ import annotations

import heapq
import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import ClassVar

import numpy as np

from privopt.arrays import Bools, Floats, Ints
from privopt.core.highs import FINEST, SOLVED, Least, Rows, minimise
from privopt.core.registry import register
from privopt.core.solver import OUT_OF_TIME, Budget, Guarantee, Proposal, Solver
from privopt.problems.local_information_privacy.bound import analytic_bound
from privopt.problems.local_information_privacy.data import posterior_rows
from privopt.problems.local_information_privacy.problem import LocalInformationPrivacy
from privopt.problems.local_information_privacy.spending import bounded, broken_sets
from privopt.solvers.local_information_privacy.answer import ANALYTIC, matrix_from_joint, whole_release

MOST_SECRETS = 6
"""Secrets whose sets are all offered to every release."""
MOST_UNKNOWNS = 100_000
"""Cells of all releases and sets together: a program of some ten seconds."""
MOST_CASES, MOST_NUMBERS = 2_000, 1_500_000
"""Cases into which the sets of all releases are split, and multipliers of all of them together."""
DEAR = 1e3
"""Price of spending more than delta, in units of the largest distortion, where a case cannot do with less."""
FINAL = 0.1
"""Seconds for an answer, also where none are left."""
ROOM = 2e-8
"""Share of delta, and of the bounds, that is left to rounding: mixing in noise would add to the mass of violations."""
LEAST = 1e-6
"""Bounds below this, in nats, leave rounding no room."""
NEARLY = 0.9
"""Share of the time for the programs."""
CLOSED = 1e-7
"""What the search leaves open, relative to the distortion."""


@dataclass(frozen=True, eq=False)
class _Offer:
    """Releases that may break the bounds of a set of secrets.

    Parameters
    ----------
    rows : array (r, k)
        Of the posteriors, for the secrets that are left.
    spent : array (k,)
        Probability of the set, given each observation.
    """

    rows: Floats
    spent: Floats


@dataclass(frozen=True, eq=False)
class _Program:
    """The least distortion of releases, each of which breaks the bounds of one set of those on offer.

    Unknowns are q(set, release, observation) >= 0, in that order. ``cost`` has shape (k, m), ``marginal`` (k,).
    """

    cost: Floats
    marginal: Floats
    offers: tuple[_Offer, ...]
    delta: float

    @property
    def cells(self) -> int:
        """Unknowns."""
        return len(self.offers) * self.cost.size

    @cached_property
    def below(self) -> Rows:
        """The rows of every offer and release, and last what is spent."""
        k, m = self.cost.shape
        rows, columns, values, count = [], [], [], 0
        for i, offer in enumerate(self.offers):
            at, w = np.nonzero(offer.rows)
            for y in range(m):
                rows.append(count + at)
                columns.append((i * m + y) * k + w)
                values.append(offer.rows[at, w])
                count += len(offer.rows)
        spent = np.concatenate([np.tile(offer.spent, m) for offer in self.offers])
        used = np.flatnonzero(spent)
        return Rows.cells(
            np.concatenate([*rows, np.full(len(used), count)]),
            np.concatenate([*columns, used]),
            np.concatenate([*values, spent[used]]),
            np.append(np.zeros(count), self.delta),
        )

    @cached_property
    def sums(self) -> Rows:
        """Every observation is released."""
        cells = np.arange(self.cells)
        return Rows.cells(cells % len(self.marginal), cells, np.ones(self.cells), self.marginal)

    def objective(self) -> Floats:
        """The cost of every unknown."""
        return np.tile(self.cost.T.ravel(), len(self.offers))


def _offers(problem: LocalInformationPrivacy, sets: list[tuple[int, ...]]) -> tuple[_Offer, ...]:
    """The rows that each set leaves, and what it spends."""
    observed = problem.observation
    given = observed.s_given_w[observed.p_s > 0][:, observed.support]
    rows = [
        posterior_rows(problem.without(frozenset(broken)))[:, observed.support].reshape(-1, given.shape[1])
        for broken in sets
    ]
    return tuple(
        _Offer(left, given[list(broken)].sum(axis=0)) for left, broken in zip(rows, sets, strict=True)
    )


def _program(problem: LocalInformationPrivacy, strict: LocalInformationPrivacy) -> _Program:
    """The program with the rows of a stricter problem."""
    observed = problem.observation
    cost = (observed.x_given_w.T @ np.asarray(problem.matrix))[observed.support]
    sets = list(broken_sets(problem))
    return _Program(cost, observed.p_w[observed.support], _offers(strict, sets), problem.delta * (1 - ROOM))


def _cells(problem: LocalInformationPrivacy) -> float:
    columns = 0 if problem.matrix is None else problem.matrix.shape[1]
    return float((1 << len(bounded(problem))) * len(problem.observation.support) * columns)


@register
@dataclass(frozen=True)
class SpendingLp(Solver[LocalInformationPrivacy]):
    """For a distortion and delta > 0: each release may break the bounds of some secrets, and what that spends is one more row.

    A linear program in which every release stands once for each set of secrets proves a bound, by weak duality. In its
    optimum a release may stand for several sets: it keeps the one of most probability, and branch and bound splits the rest
    by what a release may break.
    """

    solves: ClassVar = LocalInformationPrivacy
    name: ClassVar[str] = "spending-lp"
    guaranteed: ClassVar[Guarantee | None] = Guarantee.BOUNDED

    def cost(self, problem: LocalInformationPrivacy) -> float:
        """Grows faster than the cells of all releases and sets."""
        return 2e-3 + 3e-6 * math.pow(_cells(problem), 1.3)

    def refuse(self, problem: LocalInformationPrivacy) -> str | None:
        """Refuse other utilities and notions, delta = 0, too many secrets, and what does not fit."""
        if problem.matrix is None:
            return "it minimises a distortion matrix, this utility is not linear in the channel"
        if problem.delta == 0:
            return "it spends delta, this problem has delta = 0; direct-lp is for that"
        if problem.notion != "lip":
            return f"it spends delta on lifts, this notion is {problem.notion!r}"
        if (count := len(bounded(problem))) > MOST_SECRETS:
            return f"it offers every set of secrets: {count} may be broken, more than {MOST_SECRETS}"
        if min(problem.lower, problem.upper) < LEAST:
            return f"a bound is below {LEAST:g} nats, which leaves rounding no room"
        if (cells := _cells(problem)) > MOST_UNKNOWNS:
            return f"its program has {cells:.1e} unknowns, more than {MOST_UNKNOWNS:.0e}"
        return None

    def run(self, problem: LocalInformationPrivacy, budget: Budget) -> Proposal:
        """Propose the best choice of sets that was found, with a proof for every other one."""
        if (whole := whole_release(problem)) is not None:
            return whole
        search = _Search(_program(problem, _tighter(problem)))
        if not search.run(budget.earlier(1 - NEARLY)):
            return Proposal(problem.safe(), analytic_bound(problem), ANALYTIC, stats={"stop": OUT_OF_TIME})
        channel = problem.answer(matrix_from_joint(problem, search.best))
        dual: dict[str, object] = {"kind": "spending", **search.root.proof()}
        return Proposal(channel, -search.bound, dual, stats=search.stats())


def _tighter(problem: LocalInformationPrivacy) -> LocalInformationPrivacy:
    """The problem with bounds that rounding cannot carry beyond its own."""
    lower, upper = ((1 - ROOM) * level for level in (problem.lower, problem.upper))
    return LocalInformationPrivacy(
        problem.nominal, lower=lower, upper=upper, utility=problem.utility, outputs=problem.outputs
    )


@dataclass(eq=False)
class _Case:
    """What is left open of the sets of every release, (sets, m), the least distortion there, and the multipliers that prove it."""

    open_sets: Bools
    value: float = math.inf
    multipliers: Floats = field(default_factory=lambda: np.zeros(0))
    tables: list[list[list[float]]] = field(default_factory=list)
    split: tuple[int, list[int], _Case, _Case] | None = None

    def proof(self) -> dict[str, object]:
        """As the problem checks it."""
        if self.split is None:
            price = float(self.multipliers[-1]) if len(self.multipliers) else 0.0
            return {"price": price, "multipliers": self.tables}
        release, sets, within, beyond = self.split
        halves = {"within": within.proof(), "beyond": beyond.proof()}
        return {"release": release, "sets": sets, **halves}


class _Search:
    """Branch and bound over the sets that releases may break: the case of least bound is split by its most divided release."""

    def __init__(self, lp: _Program) -> None:
        self.lp = lp
        self.root = _Case(np.ones((len(lp.offers), lp.cost.shape[1]), dtype=bool))
        self.best, self.value = np.zeros_like(lp.cost), math.inf
        self.iterations, self.cases, self.stop = 0, 1, SOLVED
        self._tried: set[tuple[int, ...]] = set()
        self._most = max(
            1, min(MOST_CASES, MOST_NUMBERS // sum(len(o.rows) + 1 for o in lp.offers) // len(lp.cost.T))
        )

    @property
    def bound(self) -> float:
        """The least distortion of every case that is left."""
        return min((case.value for case in self._leaves()), default=math.inf)

    def stats(self) -> dict[str, float | int | str]:
        """What to report of it."""
        return {"iterations": self.iterations, "cases": self.cases, "stop": self.stop}

    def run(self, budget: Budget) -> bool:
        """Search until the gap is closed or the time is over; whether there is an answer."""
        shares = self._solve(self.root, budget)
        if shares is None:
            return False
        waiting, count = [(self.root.value, 0, self.root, shares)], 1
        while waiting and self.value - waiting[0][0] > CLOSED * self.value:
            if budget.remaining <= 0 or self.cases >= self._most:
                self.stop = OUT_OF_TIME if budget.remaining <= 0 else "no more cases are split"
                break
            _, _, case, shares = heapq.heappop(waiting)
            for half in self._halves(case, shares):
                below = self._solve(half, budget)
                if below is not None and half.value < self.value:
                    heapq.heappush(waiting, (half.value, count, half, below))
                    count += 1
        return True

    def _leaves(self) -> Iterator[_Case]:
        cases = [self.root]
        while cases:
            case = cases.pop()
            if case.split is None:
                yield case
            else:
                cases += case.split[2:]

    def _halves(self, case: _Case, shares: Floats) -> tuple[_Case, ...]:
        """Split by the release whose probability is most divided: its likeliest set, and all others."""
        ordered = np.sort(shares, axis=0)
        release = int((shares.sum(axis=0) - ordered[-1]).argmax())
        first = int(shares[:, release].argmax())
        if case.open_sets[:, release].sum() < 2:
            return ()
        within, beyond = case.open_sets.copy(), case.open_sets.copy()
        within[:, release] = False
        within[first, release] = True
        beyond[first, release] = False
        # until they are solved, both have the proof of the whole, which holds for its parts
        halves = [_Case(sets, case.value, case.multipliers, case.tables) for sets in (within, beyond)]
        case.split = (release, [first], halves[0], halves[1])
        self.cases += 2
        return tuple(halves)

    def _solve(self, case: _Case, budget: Budget) -> Floats | None:
        """Bound a case, and round its optimum to an answer; the probability of each set and release, None where there is none."""
        solved = self._least(case.open_sets, budget.remaining)
        possible = solved is not None
        if solved is None and case is not self.root and budget.remaining > 0:
            solved = self._least(case.open_sets, budget.remaining, dear=DEAR)
        if solved is None:
            return None
        self.iterations += solved.iterations
        if case is self.root or solved.value > case.value:
            case.value, case.multipliers = solved.value, solved.multipliers
            case.tables = _tables(self.lp, solved.multipliers)
        if not possible:
            return None
        shares = self._divided(solved.point).sum(axis=2)
        self._round(np.where(case.open_sets, shares, -1.0).argmax(axis=0), budget)
        return np.asarray(shares)

    def _least(self, open_sets: Bools, seconds: float, dear: float = 0.0) -> Least | None:
        """The least distortion; with a dear price more than delta may be spent, which shows where that cannot be avoided."""
        upper = np.where(np.repeat(open_sets.ravel(), len(self.lp.marginal)), np.inf, 0.0)
        cost, below, sums = self.lp.objective(), self.lp.below, self.lp.sums
        if dear > 0:
            last = np.zeros(len(below))
            last[-1] = -1.0
            below = below.with_column(len(cost), last)
            cost, upper = np.append(cost, dear * float(self.lp.cost.max())), np.append(upper, np.inf)
        return minimise(cost, below, sums, upper=upper, tolerance=FINEST, seconds=seconds)

    def _divided(self, point: Floats) -> Floats:
        """q(set, release, observation)."""
        k, m = self.lp.cost.shape
        return np.asarray(point[: self.lp.cells].reshape(len(self.lp.offers), m, k))

    def _round(self, chosen: Ints, budget: Budget) -> None:
        """The best releases that break the bounds of these sets."""
        if tuple(chosen.tolist()) in self._tried:
            return
        self._tried.add(tuple(chosen.tolist()))
        own = np.arange(len(self.lp.offers))[:, None] == chosen
        solved = self._least(own, max(budget.remaining, FINAL))
        if solved is not None and solved.value < self.value:
            self.value = solved.value
            self.best = self._divided(solved.point)[chosen, np.arange(len(chosen))].T


def _tables(lp: _Program, multipliers: Floats) -> list[list[list[float]]]:
    """Multipliers of the rows, release by release for each set."""
    m = lp.cost.shape[1]
    ends = np.cumsum([0, *(m * len(offer.rows) for offer in lp.offers)]).tolist()
    return [
        multipliers[low:high].reshape(m, (high - low) // m).tolist() for low, high in itertools.pairwise(ends)
    ]
