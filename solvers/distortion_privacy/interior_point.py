"""Our own interior-point method for the linear programs of distortion and leakage, a block of rows a release.

It serves tables of a hundred symbols and more, where a general code sees ten thousand variables and rows that are full. For
the least level of ratios the multipliers at one level say at which level they prove the distortion too large: Newton's
method from below, each program started from the one before.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from threadpoolctl import threadpool_limits

from privopt.arrays import Floats
from privopt.core.registry import register
from privopt.core.solver import Budget, Guarantee, Proposal, Solver
from privopt.mechanisms import Channel
from privopt.problems.distortion_privacy.problem import DistortionPrivacy
from privopt.solvers.common.crossover import crossed
from privopt.solvers.common.interior import NEAR, Answer, Interior, Limit, State
from privopt.solvers.common.inverses import MOST_NUMBERS, Blocks, Size
from privopt.solvers.distortion_privacy._bound import better_bound
from privopt.solvers.distortion_privacy._silent import projected_release
from privopt.solvers.distortion_privacy._space import Space, at_once, inner_release

TARGET = 2e-7
"""Relative gap at which it stops."""

STEPS = 30
"""Steps that a program takes, about."""

HIGHEST = 30.0
"""Levels above this are left to others: the ratios leave the precision of floats."""

LOWEST = 1e-15
"""Least level: the ratios of a smaller one are 1 in floats."""

SHARE_KEPT = 0.1
"""Of the time, for judging."""

LATE = 0.8
"""Share of the time that is left when a release is looked for a little above, if there is none yet."""

LATER = 0.4
"""The same where there is one that leaks far more."""

FAR = 0.01
"""How far above, relative to the level; and the share of the distortion that a channel leaves which others are mixed with."""

CAUTION = 2.0**-40
"""How far inside the bound a mixture is proposed, relative to it."""

CLOSED = 8e-7
"""Relative width of the bracket of a level at which the search ends."""

CLOSED_SMALL = 5e-8
"""The same for channels of at most ``SMALL_CELLS`` cells, where floats show more."""

SMALL_CELLS = 900

FIRST = 0.5
"""The first level."""

MOST_LEVELS = 60
"""Levels after which the search ends in any case."""

SPREAD = 0.01
"""Share of the centre in the iterates that the next level starts from."""


@register
@dataclass(frozen=True)
class InteriorPoint(Solver[DistortionPrivacy]):
    """An interior-point method of our own with one small factorisation a release, for linear programs of hundreds of symbols.

    Its answers keep the bounds on ratios strictly, and its multipliers prove a bound wherever it is stopped.
    """

    solves: ClassVar = DistortionPrivacy
    name: ClassVar[str] = "interior-point"
    guaranteed: ClassVar[Guarantee | None] = Guarantee.OPTIMAL
    """Optimal, to a relative gap of 2e-7."""

    def cost(self, problem: DistortionPrivacy) -> float:
        """Some thirty steps; more where the least leakage is looked for."""
        return (0.04 + STEPS * _size(problem).seconds) * (3 if problem.max_leakage is None else 1)

    def refuse(self, problem: DistortionPrivacy) -> str | None:
        """Refuse measures that are not linear, bounds without an inside, and what memory cannot hold."""
        if problem.order not in (None, math.inf):
            return (
                f"{problem.leakage!r} is not linear in the channel; blahut-arimoto or conic-clarabel takes it"
            )
        if problem.max_leakage == 0:
            return "where nothing may leak there is no inside: direct-lp answers it exactly"
        if problem.max_leakage is not None and problem.max_leakage < LOWEST:
            return f"levels below {LOWEST:g} leave no inside that floats can see; direct-lp takes them"
        if problem.max_leakage is not None and HIGHEST < problem.max_leakage < math.inf:
            return f"levels above {HIGHEST:g} are beyond its precision; direct-lp takes them"
        if (numbers := _size(problem).numbers) > MOST_NUMBERS:
            return f"its factors have {numbers:.2g} numbers, at most {MOST_NUMBERS:.2g} fit"
        return None

    def run(self, problem: DistortionPrivacy, budget: Budget) -> Proposal:
        """Propose the channel where it stopped, with what its multipliers prove."""
        known = at_once(problem)
        if known is not None:
            return known
        space = Space(problem)
        if space.room == 0:
            return Proposal(problem.reproduction(), stats={"iterations": 0, "stop": "there is no inside"})
        if (silent := projected_release(space, budget)) is not None:
            return silent
        until = budget.earlier(SHARE_KEPT)
        import scipy.linalg  # noqa: F401 - only what is loaded is limited

        # several threads wait for each other in the factorisations of a release, most of all beside another process
        with threadpool_limits(1, user_api="blas"):
            if problem.order is not None:
                return _guess(space, until)
            if problem.max_leakage is None:
                return _least_level(space, until)
            return _ratios(space, until)


def _size(problem: DistortionPrivacy) -> Size:
    space = Space(problem)
    return Size.of(space.table, 2 if problem.order is None else 1, problem.matrix.shape[1])


# programs


def band_program(space: Space, level: float) -> Interior:
    """The least distortion whose ratios keep a level."""
    cost = space.excess.T.copy()
    conditional = space.table / space.prior[:, None]
    if space.problem.leakage == "ldp":
        blocks = Blocks(conditional, None, math.exp(level), 1.0)
        return Interior(np.column_stack([cost, np.zeros(len(cost))]), blocks)
    return Interior(cost, Blocks(conditional, space.weights, math.exp(level), math.exp(-level)))


def guess_program(space: Space) -> Interior:
    """Maximal leakage, either way: the largest probability of each release is a variable of its own."""
    conditional = space.table / space.prior[:, None]
    distances, outputs = space.excess.T, space.excess.shape[1]
    blocks = Blocks(conditional, None, 1.0, None)
    costs = np.column_stack([distances, np.zeros(outputs)])
    tops = np.column_stack([np.zeros(distances.shape), np.ones(outputs)])
    if space.problem.max_leakage is None:
        return Interior(tops, blocks, Limit(costs, space.room))
    return Interior(costs, blocks, Limit(tops, math.exp(min(700.0, space.problem.budget))))


def centre(space: Space, program: Interior, factor: float) -> Floats:
    """One distribution of the output for all, which is strictly inside; own variables at ``factor`` of it."""
    outputs = space.excess.shape[1]
    x = np.full((outputs, len(space.seen)), 1.0 / outputs)
    return np.column_stack([x, np.full(outputs, factor / outputs)]) if program.blocks.own else x


@dataclass
class _Target:
    """Says when the gap is small, relative to the distortion or the leakage."""

    space: Space
    share: float = TARGET

    def __call__(self, value: float, bound: float) -> str:
        problem = self.space.problem
        if problem.max_leakage is None:
            size = math.log(max(value, 1.0))
            near = math.log(max(value, 1.0)) - math.log(max(bound, 1e-300)) <= self.share * size
        else:
            size = abs(float(problem.costs.least) * problem.magnitude + value)
            near = value - bound <= self.share * size
        return NEAR if near else ""


def _ratios(space: Space, budget: Budget) -> Proposal:
    """The least distortion within a bound on ratios."""
    level = space.problem.budget
    program = band_program(space, level)
    answer = program.solve(
        program.start(centre(space, program, math.exp(-level / 2))), budget, _Target(space)
    )
    dual = bands(space, answer.proof)
    bound = space.problem.check_bound(-math.inf, dual)
    release = inner_release(space, _matrix(space, answer))
    if answer.stop == NEAR:
        release = crossed(space.problem, space.problem.ratios(level), release, budget)
    return Proposal(release, bound, dual, stats=_stats(answer.steps, answer.stop))


def _guess(space: Space, budget: Budget) -> Proposal:
    """Maximal leakage, either way."""
    problem, program = space.problem, guess_program(space)
    factor = 2.0 if problem.max_leakage is None else math.exp(problem.budget / 2)
    answer = program.solve(program.start(centre(space, program, factor)), budget, _Target(space))
    matrix = _matrix(space, answer)
    posteriors = answer.proof.u[:, 0] + 1e-300 * space.prior
    bound, dual = better_bound(space, posteriors, matrix)
    return Proposal(inner_release(space, matrix), bound, dual, stats=_stats(answer.steps, answer.stop))


def bands(space: Space, state: State) -> dict[str, object]:
    """The multipliers as a dual that the problem checks."""
    unit = space.problem.magnitude
    above, below = (state.u / unit).transpose(1, 0, 2)
    return {"kind": "bands", "above": above.tolist(), "below": below.tolist()}


def _matrix(space: Space, answer: Answer) -> Floats:
    """The channel, shape (n_w, n_y)."""
    return np.asarray(answer.state.x[:, : len(space.seen)].T)


def _stats(steps: int, stop: str) -> dict[str, float | int | str]:
    return {"iterations": steps, "stop": stop}


# the least level


@dataclass
class _Levels:
    """The bracket of the least level: one that is proved too low, with its multipliers, and a channel that is close enough."""

    space: Space
    budget: Budget
    low: float = 0.0
    high: float = math.inf
    dual: dict[str, object] | None = None
    matrix: Floats | None = None
    inside: Floats | None = None
    before: State | None = None
    begun: float = 0.0
    aim: float = 0.0
    tried: float = 0.0
    steps: int = 0

    @property
    def width(self) -> float:
        """The relative width at which the search ends."""
        return CLOSED_SMALL if self.space.excess.size <= SMALL_CELLS else CLOSED

    @property
    def closed(self) -> bool:
        """Whether the ends are near each other."""
        return self.high < math.inf and self.high - self.low <= self.width * self.high

    @property
    def mechanism(self) -> Channel:
        """The channel that is close enough; until there is one, that of a level too low, mixed with the best reproduction."""
        if self.matrix is not None:
            return inner_release(self.space, self.matrix)
        if self.before is None:
            return self.space.problem.reproduction()
        far = inner_release(self.space, self.before.x[:, : len(self.space.seen)].T)
        mixed = self.space.problem.repair(far, CAUTION)
        return mixed if isinstance(mixed, Channel) else far

    def at(self, level: float) -> None:
        """Solve at a level, from the iterates of a lower one, and move the bracket."""
        self.tried = level
        program = band_program(self.space, level)
        middle = centre(self.space, program, math.exp(-level / 2))
        begin = program.start(middle)
        if self.before is not None and self.begun <= level:
            begin = program.start((1 - SPREAD) * self.before.x + SPREAD * middle, self.before.u, SPREAD)
        answer = program.solve(begin, self.budget, self._decided)
        self.steps += answer.steps
        matrix = _matrix(self.space, answer)
        if answer.value <= self.space.room:
            self.inside = matrix if self.inside is None or self._left(matrix) > FAR else self.inside
            self._keep(matrix)
        else:
            self.before, self.begun = answer.state, level
            self._mix(matrix)
        self._prove(answer.proof, level)
        self.aim = level + (answer.bound - self.space.room) / self._slope(program, answer.proof)

    def _keep(self, matrix: Floats) -> None:
        """Take a channel that is close enough, if it leaks less than what is known."""
        reached = self.space.leakage(matrix / matrix.sum(axis=1, keepdims=True))
        if reached < self.high:
            self.high, self.matrix = reached, matrix

    def _mix(self, far: Floats) -> None:
        """A channel that is not close enough, with just so much of one that is."""
        if self.inside is None:
            return
        missed, kept = CAUTION - self._left(far), self._left(self.inside) - CAUTION
        if missed > 0 and kept > 0:
            share = missed / (missed + kept)
            self._keep((1 - share) * far + share * self.inside)

    def _left(self, matrix: Floats) -> float:
        """Share of the room for distortion that a channel leaves; negative where it needs more."""
        return 1.0 - float((self.space.excess * matrix).sum()) / self.space.room

    def _decided(self, value: float, bound: float) -> str:
        """Whether the level is known to be enough, or not, by ten times the gap; near the lower end, to be enough will do."""
        room = self.space.room
        near = value - bound <= max(0.05 * abs(room - value), 1e-9 * room)
        last = value <= room and self.tried - self.low <= self.width * self.tried
        return "decided" if near or last else ""

    @staticmethod
    def _slope(program: Interior, state: State) -> float:
        """How fast the bound of multipliers falls with the level."""
        blocks = program.blocks
        paid = (blocks.upper or 0.0) * state.u[:, 0].sum(axis=1)
        if program.blocks.output is not None:
            paid = paid + (blocks.lower or 0.0) * state.u[:, 1].sum(axis=1)
        return max(float(blocks.level(state.x) @ paid), 1e-300)

    def _prove(self, state: State, level: float) -> None:
        """The highest level at which these multipliers prove the distortion too large."""

        def too_low(tried: float) -> bool:
            return band_program(self.space, tried).bound(state) > self.space.room

        low, high = self.low, max(2 * level, self.low)
        if not too_low(max(low, 1e-9)):
            return
        for _ in range(60):
            middle = (low + high) / 2
            low, high = (middle, high) if too_low(middle) else (low, middle)
        for less in (1e-10, 1e-9, 1e-8):
            proof = {**bands(self.space, state), "kind": "level", "level": low * (1 - less)}
            if low * (1 - less) > self.low and self.space.problem.check_bound(-math.inf, proof) is not None:
                self.low, self.dual = low * (1 - less), proof
                return

    def search(self) -> str:
        """Newton's method from below, a little over each time; why it ended."""
        level, over, whole = FIRST, self.width / 2, self.budget.remaining
        for _ in range(MOST_LEVELS):
            low = self.low
            self.at(level)
            if self.closed:
                return "the bracket is narrow"
            if self.budget.remaining <= 0:
                return "out of time"
            moved = (self.low - low) / self.low if self.low > 0 else 1.0
            over = min(1.0, max(self.width / 2, 4 * over if moved < self.width / 8 else 0.0))
            late = LATE if self.high == math.inf else LATER
            if self.high > self.low * (1 + 3 * FAR) and self.budget.remaining < late * whole:
                over = max(over, FAR)  # a release first: the level may be a hundredth too large
            level = max(self.low, self.aim) * (1 + over) if self.low > 0 else level / 4
            if level >= self.high:
                level = (self.low + self.high) / 2
            if level > HIGHEST:
                return "no finite level is enough"
            if level < LOWEST:
                return "no level that floats can see is needed"
        return "the steps no longer change anything"


def _least_level(space: Space, budget: Budget) -> Proposal:
    """The channel of the least level, with the proof that a level just below is too low."""
    levels = _Levels(space, budget)
    stop = levels.search()
    mechanism = levels.mechanism
    bound = None if levels.dual is None else -levels.low
    return Proposal(mechanism, bound, levels.dual, stats=_stats(levels.steps, stop))
