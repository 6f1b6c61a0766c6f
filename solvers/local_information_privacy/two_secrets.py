"""A secret with two values: the best pairs of observations to release together, all of them priced."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np

from privopt.arrays import Floats, Ints
from privopt.core.registry import register
from privopt.core.solver import Budget, Guarantee, Proposal, Solver
from privopt.problems.local_information_privacy.bound import analytic_bound, priced_bound
from privopt.problems.local_information_privacy.pairs import Pairs, Side, pairs
from privopt.problems.local_information_privacy.problem import LocalInformationPrivacy
from privopt.solvers.local_information_privacy.answer import (
    ANALYTIC,
    NOT_INDEPENDENT,
    independent,
    whole_release,
)
from privopt.solvers.local_information_privacy.columns.program import engine, phi

MOST = 6000
"""Observations up to which the channel, about as many releases, fits in memory several times over (300 MB each time)."""

INSIDE = 1e-12
"""Share of the room inside an end that is left to rounding."""

THINNEST = 1e-9
"""Distances between the ends below this drown in rounding."""

EACH = 3
"""Pairs that enter for each observation in a round."""

WORTH = 1e-10
"""A pair enters if its reduced cost is below minus this."""

WORTH_WAITING = 0.5
"""Seconds past the deadline that the judgement of the answer may take."""

CLOSE = 1e-8
"""What the bound may leave open, in nats."""


def _judging(n: int) -> float:
    """Seconds that the judgement of a channel of n observations and about as many releases takes."""
    return 2e-7 * n * n


@register
@dataclass(frozen=True)
class TwoSecrets(Solver[LocalInformationPrivacy]):
    """Pairs of observations for a secret with two values, all of them priced, from a monotone coupling on.

    With two secrets the posteriors lie on a line, and an optimal release names one observation or two, of which one
    leaks too much and the other makes up for it. What a pair costs has a positive mixed difference in the inverse
    distances, so that the cheapest coupling of either side takes the worst with the safest (Hoffman's rule for
    transport problems); a linear program over pairs puts both sides together, and pairs that its prices ask for come
    in until none is missed. All pairs are tried again in the proof.
    """

    solves: ClassVar = LocalInformationPrivacy
    name: ClassVar[str] = "two-secrets"

    def guarantee(self, problem: LocalInformationPrivacy) -> Guarantee:
        """Optimal for delta = 0."""
        return Guarantee.OPTIMAL if problem.delta == 0 else Guarantee.FEASIBLE

    def cost(self, problem: LocalInformationPrivacy) -> float:
        """The pairs, tried twice or three times, the program over as many as there are observations, and the judgement."""
        n = len(problem.observation.support)
        return 0.005 + 2e-5 * n + 1e-7 * n * n + _judging(n)

    def refuse(self, problem: LocalInformationPrivacy) -> str | None:
        """Refuse other utilities and secrets, perfect privacy, and what does not fit in memory."""
        observed = problem.observation
        if problem.matrix is not None or problem.cost is not None or observed.useful is not None:
            return "it prices pairs by their entropy: the utility must be mutual information with what is observed"
        if (count := int((observed.p_s > 0).sum())) != 2:
            return f"it pairs observations of a secret with two values, this one has {count}"
        if independent(problem) and whole_release(problem) is None:
            return NOT_INDEPENDENT
        if (n := len(observed.support)) > MOST:
            return f"its channel would have about {n * n:.1e} entries, more than {MOST}^2; subset-merging stores less"
        return None

    def run(self, problem: LocalInformationPrivacy, budget: Budget) -> Proposal:
        """Propose the best mixture of single observations and pairs, with the proof that none is missed."""
        if (whole := whole_release(problem)) is not None:
            return whole
        exact = pairs(problem.polytope)
        if exact is None:
            return Proposal(
                problem.safe(), analytic_bound(problem), ANALYTIC, stats={"stop": "ends too close"}
            )
        program = _Program(problem.observation.p_w[problem.observation.support], exact)
        judging = _judging(len(program.p))
        stop = program.run(replace(budget, deadline=budget.deadline - judging))
        dual: object = {"kind": "pairs", "pi": program.best_prices.tolist()}
        bound = priced_bound(problem, program.best_prices, program.best_least)
        if problem.delta > 0 or not bound < analytic_bound(problem):
            bound, dual = analytic_bound(problem), ANALYTIC
        stats: dict[str, float | int | str] = {
            "iterations": program.rounds,
            "vertices": len(program.costs),
            "stop": stop,
        }
        if budget.remaining + WORTH_WAITING < judging:  # the channel would be judged late: the bound alone
            return Proposal(None, bound, dual, stats=stats)
        return Proposal(problem.answer(program.channel(problem)), bound, dual, stats=stats)


@dataclass(eq=False)
class _Program:
    """min costs . w over sum_j w_j v_j = p with columns of one observation or two: (first, second, share of the first)."""

    p: Floats
    known: Pairs
    costs: Floats = field(default_factory=lambda: np.zeros(0))
    best_least: float = -math.inf
    rounds: int = 0

    def __post_init__(self) -> None:
        import highspy

        n = len(self.p)
        self.sides = tuple(side.narrowed(INSIDE) for side in self.known.sides)
        self.first, self.second = np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
        self.share = np.zeros(0)
        self._taken: set[int] = set()
        self._highs: Any = engine("off")
        lp = highspy.HighsLp()
        lp.num_col_, lp.num_row_ = 0, n
        lp.row_lower_ = lp.row_upper_ = self.p
        self._highs.passModel(lp)
        alone = np.flatnonzero(self.known.alone)
        self._enter(alone, alone, np.ones(len(alone)), np.zeros(len(alone)))
        # The whole distribution is allowed: with it there is a solution from the start.
        self._highs.addCol(float(phi(self.p).sum()), 0.0, math.inf, n, np.arange(n, dtype=np.int32), self.p)
        self.constant = len(self.costs)
        self.first, self.second = np.append(self.first, -1), np.append(self.second, -1)
        self.share, self.costs = np.append(self.share, 1.0), np.append(self.costs, float(phi(self.p).sum()))
        for side in self.sides:
            self._pair(side, *_monotone(side, self.p))
        self.weights, self.prices = np.zeros(len(self.costs)), np.zeros(n)
        self.weights[self.constant] = 1.0
        self.best_prices, self.best_least = self.prices, float(-phi(self.p).sum())

    def run(self, budget: Budget) -> str:
        """Solve and price until nothing is missed; why it stopped."""
        while self._solve(budget):
            self.rounds += 1
            least, missing = self._price()
            value = float(self.prices @ self.p) + least
            if self.rounds == 1 or value > float(self.best_prices @ self.p) + self.best_least:
                self.best_prices, self.best_least = self.prices, least
            if least > -CLOSE:
                return "no other pair would help"
            added = [self._pair(side, i, j) for side, (i, j) in zip(self.sides, missing, strict=True)]
            if not any(added):
                return "rounding hides what else would help"
        return "out of time"

    def _pair(self, side: Side, i: Ints, j: Ints) -> int:
        """Add pairs by their places among the wrong and the right of a side; how many are new."""
        first, second = side.wrong[i], side.right[j]
        names = (first * len(self.p) + second).tolist()
        new = [place for place, name in enumerate(names) if name not in self._taken]
        self._taken.update(names)
        i, j = i[new], j[new]
        share = side.room[j] / (side.excess[i] + side.room[j])
        self._enter(first[new], second[new], share, phi(share) + phi(1.0 - share))
        return len(new)

    def _enter(self, first: Ints, second: Ints, share: Floats, costs: Floats) -> None:
        m = len(first)
        if not m:
            return
        two = first != second
        used = np.stack([np.ones(m, dtype=bool), two], axis=1)
        index = np.stack([first, second], axis=1)[used].astype(np.int32)
        values = np.stack([share, 1.0 - share], axis=1)[used]
        starts = np.concatenate([[0], np.cumsum(1 + two)[:-1]]).astype(np.int32)
        self._highs.addCols(m, costs, np.zeros(m), np.full(m, np.inf), len(index), starts, index, values)
        self.first, self.second = np.append(self.first, first), np.append(self.second, second)
        self.share, self.costs = np.append(self.share, share), np.append(self.costs, costs)

    def _solve(self, budget: Budget) -> bool:
        """Weights and prices of the best mixture of the columns so far, if there is time for it."""
        import highspy

        if budget.remaining <= 0:
            return False
        self._highs.setOptionValue("time_limit", self._highs.getRunTime() + min(budget.remaining, 1e8))
        self._highs.run()
        if self._highs.getModelStatus() != highspy.HighsModelStatus.kOptimal:
            return False
        solution = self._highs.getSolution()
        self.weights, self.prices = np.array(solution.col_value), np.array(solution.row_dual)
        return True

    def _price(self) -> tuple[float, list[tuple[Ints, Ints]]]:
        """The least reduced cost of all vertices, and for each side the pairs to add."""
        alone = self.prices[self.known.alone]
        least = min(-float(alone.max(initial=-math.inf)), 0.0)
        missing = []
        for side, exact in zip(self.sides, self.known.sides, strict=True):
            pairs_i, pairs_j = [np.zeros(0, dtype=np.int64)], [np.zeros(0, dtype=np.int64)]
            for rows in exact.chunks():
                least = min(least, float(exact.reduced(self.prices, rows).min(initial=0.0)))
            for rows in side.chunks():
                reduced = side.reduced(self.prices, rows)
                for axis in (0, 1):
                    i, j = _lowest(reduced, axis)
                    pairs_i.append(i + rows.start)
                    pairs_j.append(j)
            missing.append((np.concatenate(pairs_i), np.concatenate(pairs_j)))
        return least, missing

    def channel(self, problem: LocalInformationPrivacy) -> Floats:
        """P(y | w), a release for each column in use; observations of probability 0 are treated like the average one."""
        weights = self._refined()
        used = np.flatnonzero(weights > 0)
        n, m = len(self.p), len(used)
        joint = np.zeros((n, m))
        for y, column in enumerate(used.tolist()):
            if column == self.constant:
                joint[:, y] = weights[column] * self.p
            else:
                joint[self.second[column], y] = weights[column] * (1.0 - self.share[column])
                joint[self.first[column], y] = weights[column] * self.share[column]
        sums = joint.sum(axis=1)
        told = sums > 0  # what is left of an observation may be too small for floats
        joint[told] /= sums[told, None]
        joint[~told] = weights[used] / weights[used].sum()
        support, size = problem.observation.support, len(problem.observation.p_w)
        if len(support) == size:
            return joint
        matrix = np.tile(weights[used] / weights[used].sum(), (size, 1))
        matrix[support] = joint
        return matrix

    def _refined(self) -> Floats:
        """The weights of the basis to the last digits, where they stay non-negative."""
        import highspy
        from scipy.sparse import csc_matrix
        from scipy.sparse.linalg import splu

        rough = np.where(self.weights > 0, self.weights, 0.0)
        inside = highspy.HighsBasisStatus.kBasic
        basis = self._highs.getBasis()
        basic = np.flatnonzero([status == inside for status in basis.col_status])
        fixed = np.flatnonzero([status != inside for status in basis.row_status])
        if len(basic) != len(fixed) or rough[self.constant] > 0 or self.constant in basic:
            return rough
        two = self.first[basic] != self.second[basic]
        columns = np.arange(len(basic))
        cells = np.concatenate([self.share[basic], 1.0 - self.share[basic][two]])
        rows = np.concatenate([self.first[basic], self.second[basic][two]])
        table = csc_matrix(
            (cells, (rows, np.concatenate([columns, columns[two]]))), shape=(len(self.p), len(basic))
        )
        square = table[fixed].tocsc()
        try:
            factors = splu(square)
        except RuntimeError:  # a basis that rounding made singular
            return rough
        solved = factors.solve(self.p[fixed])
        solved = solved + factors.solve(self.p[fixed] - square @ solved)
        refined = np.zeros(len(rough))
        refined[basic] = np.maximum(solved, 0.0)
        return refined if float(solved.min(initial=0.0)) > -1e-12 else rough


def _lowest(reduced: Floats, axis: int) -> tuple[Ints, Ints]:
    """The EACH lowest entries along an axis that are below -WORTH."""
    if not reduced.size:
        return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
    count = min(EACH, reduced.shape[axis])
    best = np.argpartition(reduced, count - 1, axis=axis)
    best = best[:count] if axis == 0 else best[:, :count]
    other = np.broadcast_to(
        np.arange(reduced.shape[1 - axis])[None, :] if axis == 0 else np.arange(reduced.shape[0])[:, None],
        best.shape,
    )
    i, j = (best, other) if axis == 0 else (other, best)
    good = reduced[i, j] < -WORTH
    return np.asarray(i[good]), np.asarray(j[good])


def _monotone(side: Side, p: Floats) -> tuple[Ints, Ints]:
    """The coupling that takes the least excess with the most room: pairs along a staircase."""
    wrong, right = np.argsort(side.excess), np.argsort(-side.room)
    if not len(wrong) or not len(right):
        return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
    need = np.cumsum(p[side.wrong[wrong]] * side.excess[wrong])
    room = np.cumsum(p[side.right[right]] * side.room[right])
    steps = np.sort(np.concatenate([[0.0], need, room[room < need[-1]]]))[:-1]
    i = np.minimum(np.searchsorted(need, steps, side="right"), len(wrong) - 1)
    j = np.minimum(np.searchsorted(room, steps, side="right"), len(right) - 1)
    return wrong[i], right[j]
