"""Local descent on the channel itself, in closed form, from many starts at many multipliers; the best mixture answers."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, TypeVar

import numpy as np

from privopt.arrays import Floats
from privopt.core.registry import register
from privopt.core.solver import Budget, Guarantee, Proposal, Solver
from privopt.mechanisms import Channel, Merging
from privopt.problems.information_bottleneck.problem import InformationBottleneck
from privopt.problems.privacy_funnel.problem import PrivacyFunnel
from privopt.problems.trade_off.problem import TradeOff
from privopt.problems.trade_off.tree import cost_of
from privopt.solvers.trade_off.columns.descent import alternate
from privopt.solvers.trade_off.columns.generation import settled
from privopt.solvers.trade_off.columns.pool import EQUAL
from privopt.solvers.trade_off.columns.program import CHANNELS_ONLY, Program, channel_of, kept
from privopt.solvers.trade_off.mergings import proposed
from privopt.solvers.trade_off.zero_leakage import posteriors, refuse_independence

LARGEST = 300
"""Symbols up to which channels are followed."""

SLICE = 50
"""Rounds between looks at the clock."""

STILL = 1e-12
"""Change of the joint distribution in a slice at which a run ends."""

NEARBY = (0.85, 1.0, 1.2)
"""Multiples of the multiplier that matters at which more runs start."""

MOST = 2500
"""Posteriors of which a mixture is made."""

T = TypeVar("T", bound=TradeOff)


class Descent(Solver[T]):
    """Runs of a closed-form step at several multipliers, whose results a linear program mixes."""

    guaranteed: ClassVar[Guarantee | None] = Guarantee.FEASIBLE
    """A local optimum."""

    span: ClassVar[tuple[float, float]]
    """The least and the largest multiplier that is tried."""

    multipliers: int
    starts: int
    rounds: int

    @property
    def bold(self) -> bool:
        """Whether the longer steps are taken."""
        return False

    def cost(self, problem: T) -> float:
        """Steps times the entries of the channel."""
        n = len(problem.observation.support)
        m = 1 if problem.mode == "trade_off" else self.multipliers
        return 0.05 + 3e-7 * m * self.starts * self.rounds * n * min(n, 20) / 4

    def refuse(self, problem: T) -> str | None:
        """Refuse mergings and channels that are too large."""
        if len(problem.observation.support) > LARGEST:
            return f"it takes up to {LARGEST} symbols, this problem has {len(problem.observation.support)}"
        return CHANNELS_ONLY if problem.form != "stochastic" else refuse_independence(problem)

    def run(self, problem: T, budget: Budget) -> Proposal:
        """Propose the best mixture of what the runs reach."""
        if (simple := settled(problem)) is not None:
            return simple
        weighed = problem.mode == "trade_off"
        values = [problem.budget] if weighed else np.geomspace(*self.span, self.multipliers).tolist()
        short = budget.earlier(0.1)
        return best_of_runs(problem, values, self.starts, self.rounds, short, bold=self.bold)


@register
@dataclass(frozen=True)
class DifferenceOfConvex(Descent[PrivacyFunnel]):
    """Local descent on the channel itself, in closed form, from many starts.

    I(S;Y) - m I(X;Y) is a difference of convex functions of the channel; each step minimises an upper bound of it.

    The multiplier m runs over a range, several random releases are followed at each, and a linear program mixes
    what they reach so that the bound is kept. Sources: Huang and El Gamal, "An Efficient Difference-of-Convex
    Solver for Privacy Funnel"; Chen et al., "An Expectation-Maximization Relaxed Method for Privacy Funnel".

    Parameters
    ----------
    step : {"linearised", "relaxed"}
        What is replaced by an upper bound: all of I(X;Y) by its tangent, or only the entropy of the release, which
        makes longer steps.
    multipliers, starts, rounds : int
        Values of m between 0 and 1 (one where the problem weighs the two), releases at each, steps at most.
    """

    solves: ClassVar = PrivacyFunnel
    name: ClassVar[str] = "difference-of-convex"
    span: ClassVar[tuple[float, float]] = (0.02, 0.9)

    step: str = "linearised"
    multipliers: int = 12
    starts: int = 6
    rounds: int = 1000

    def refuse(self, problem: PrivacyFunnel) -> str | None:
        """Refuse mergings, unknown steps and channels that are too large."""
        if self.step not in ("linearised", "relaxed"):
            return f'its option step is "linearised" or "relaxed", not {self.step!r}'
        return super().refuse(problem)

    @property
    def bold(self) -> bool:
        """Whether only the entropy of the release is linearised."""
        return self.step == "relaxed"


@register
@dataclass(frozen=True)
class SelfConsistent(Descent[InformationBottleneck]):
    """The self-consistent equations of the information bottleneck, iterated from many starts.

    P(y | x) proportional to P(y) exp(-D(P(s | x) || P(s | y)) / m), again and again.

    The price m of the rate runs over a range, several random releases are followed at each, and a linear program
    mixes what they reach so that the rate is kept. Source: Tishby, Pereira, Bialek, "The information bottleneck method".

    Parameters
    ----------
    multipliers, starts, rounds : int
        Values of m between 0 and 1 (one where the problem weighs the two), releases at each, steps at most.
    """

    solves: ClassVar = InformationBottleneck
    name: ClassVar[str] = "self-consistent"
    span: ClassVar[tuple[float, float]] = (0.01, 0.95)

    multipliers: int = 16
    starts: int = 4
    rounds: int = 1000


def best_of_runs(
    problem: TradeOff, multipliers: Sequence[float], starts: int, rounds: int, budget: Budget, *, bold: bool
) -> Proposal:
    """Descend from random releases at several multipliers, then near the one that matters; mix what they reach.

    Mixing releases and publishing which one was used gives every point of the hull of theirs, so the best mixture is
    a linear program over all posteriors met, and its dual says which multiplier matters.
    """
    try:
        return _best_of_runs(problem, multipliers, starts, rounds, budget, bold=bold)
    except ArithmeticError as cause:
        return proposed(problem, None, {"stop": str(cause)})


def _best_of_runs(
    problem: TradeOff, multipliers: Sequence[float], starts: int, rounds: int, budget: Budget, *, bold: bool
) -> Proposal:
    program = Program(problem)
    rng = np.random.default_rng(budget.seed)
    n, values, runs = len(program.p_w), list(multipliers), 0
    columns = np.vstack([np.eye(n), program.p_w[None]])
    if isinstance(
        budget.incumbent, (Channel, Merging)
    ):  # the first runs start from the best mixture, so from this
        columns = np.vstack([columns, posteriors(problem, budget.incumbent)])
    master = program.mixed(columns, budget.deadline)
    for _ in range(starts):
        met = [columns]
        used = master.weights > 0
        mixture = master.weights[used, None] * columns[used]
        for multiplier, start in itertools.product(values, (None, mixture)):
            if budget.remaining == 0:
                break
            joint = _start(program, rng) if start is None else start
            joint = _descended(program, multiplier, joint, rounds, budget, bold=bold)
            met.append(joint / joint.sum(axis=1, keepdims=True))
            runs += 1
        more = _without_copies(np.vstack(met))
        try:
            columns, master = more, program.mixed(more, budget.deadline)
        except ArithmeticError:  # the mixture before stands
            break
        scaled = program.scaled(master.prices, master.dual)
        if problem.mode != "trade_off" and scaled is not None and scaled[0] > 0:
            values = [scaled[0] * factor for factor in NEARBY]
    release = kept(problem, channel_of(problem, master.weights, columns))
    return Proposal(release, stats={"runs": runs, "columns": len(columns)})


def _start(program: Program, rng: np.random.Generator) -> Floats:
    """The joint distribution of a random release of up to n + 1 symbols: noisy copies of X, more or less of them."""
    n = len(program.p_w)
    m = int(rng.integers(2, min(n, 40) + 2))
    sharpness = 10.0 ** rng.uniform(-1.0, 1.0)
    channel = rng.dirichlet(np.full(m, 1.0 / sharpness), size=n) + 1e-9
    return np.asarray((channel / channel.sum(axis=1, keepdims=True) * program.p_w[:, None]).T)


def _descended(
    program: Program, multiplier: float, joint: Floats, rounds: int, budget: Budget, *, bold: bool
) -> Floats:
    cost = cost_of(program.problem, multiplier)
    for _ in range(max(1, rounds // SLICE)):
        before = joint
        joint = alternate(cost, program.p_w, joint, SLICE, bold=bold)
        still = before.shape == joint.shape and float(np.abs(before - joint).max()) < STILL
        if still or budget.remaining == 0:
            break
    return joint


def _without_copies(columns: Floats) -> Floats:
    _, first = np.unique(np.round(columns / EQUAL), axis=0, return_index=True)
    return columns[np.sort(first)[:MOST]]
