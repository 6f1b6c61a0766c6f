"""The reference implementation for small problems: a linear program over a fine grid of posteriors, then finer ones."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import ClassVar, TypeVar

import numpy as np

from privopt.arrays import Floats
from privopt.core.registry import register
from privopt.core.solver import Budget, Guarantee, Proposal, Solver
from privopt.problems.information_bottleneck.problem import InformationBottleneck
from privopt.problems.privacy_funnel.problem import PrivacyFunnel
from privopt.problems.trade_off.problem import TradeOff
from privopt.solvers.trade_off.columns.program import CHANNELS_ONLY, Program, channel_of, kept
from privopt.solvers.trade_off.mergings import impossible, proposed

STEPS = {1: 1, 2: 4000, 3: 80}
"""Intervals of the grid, by number of symbols."""

ZOOMS = 6
FINER = 8
"""Each zoom divides the step by this, around every posterior in use."""

STILL = 1e-11
"""Gain below which a grid of that step is done with."""

LARGEST = max(STEPS)

T = TypeVar("T", bound=TradeOff)


class GridSearch(Solver[T]):
    """A linear program over all posteriors of a fine grid, and over finer ones around those it uses."""

    name: ClassVar[str] = "oracle"
    guaranteed: ClassVar[Guarantee | None] = Guarantee.ORACLE

    def cost(self, problem: T) -> float:
        """A few linear programs of some thousand columns."""
        return 1.0

    def refuse(self, problem: T) -> str | None:
        """Refuse mergings and more than three symbols."""
        if problem.form != "stochastic":
            return CHANNELS_ONLY
        n = len(problem.observation.support)
        why = f"it lays a grid over the posteriors of at most {LARGEST} symbols, this problem has {n}"
        return why if n > LARGEST else None

    def run(self, problem: T, budget: Budget) -> Proposal:
        """Propose the best mixture of grid points."""
        if (none := impossible(problem)) is not None:
            return none
        try:
            return _zoomed(problem, budget)
        except ArithmeticError as cause:
            return proposed(problem, None, {"stop": str(cause)})


@register
@dataclass(frozen=True)
class Oracle(GridSearch[PrivacyFunnel]):
    """The reference optimum over a grid of posteriors.

    A linear program over all posteriors of a fine grid, and over finer ones around those it uses.

    No pricing and no proof: at most three symbols, whose posteriors a grid covers.
    """

    solves: ClassVar = PrivacyFunnel


@register
@dataclass(frozen=True)
class BottleneckOracle(GridSearch[InformationBottleneck]):
    """The reference optimum over a grid of posteriors.

    A linear program over all posteriors of a fine grid, and over finer ones around those it uses.
    """

    solves: ClassVar = InformationBottleneck


def _zoomed(problem: TradeOff, budget: Budget) -> Proposal:
    """Grids around what is used, finer and finer."""
    program = Program(problem)
    n = len(program.p_w)
    columns = np.vstack([_grid(n, STEPS[n]), program.p_w[None]])
    step, master = 1.0 / STEPS[n], program.mixed(columns)
    for _ in range(ZOOMS if n > 1 else 0):
        step /= FINER
        gained = math.inf
        while gained > STILL and budget.remaining > 0:
            columns, before = columns[master.weights > 0], master.value
            columns = np.vstack([columns, *(_around(v, step) for v in columns)])
            master = program.mixed(columns)
            gained = before - master.value
    release = kept(problem, channel_of(problem, master.weights, columns))
    return Proposal(release, stats={"columns": len(columns), "step": step})


def _grid(n: int, steps: int) -> Floats:
    """All distributions on n symbols in multiples of 1 / steps."""
    heads = itertools.product(range(steps + 1), repeat=n - 1)
    points = np.array([(*head, steps - sum(head)) for head in heads if sum(head) <= steps], dtype=np.float64)
    return points / steps


def _around(v: Floats, step: float) -> Floats:
    """Distributions near v: some steps more or less of all symbols but the likeliest, which makes up for it."""
    n, rest = len(v), int(v.argmax())
    others = [i for i in range(n) if i != rest]
    moves = np.array(list(itertools.product(range(-FINER, FINER + 1), repeat=n - 1)), dtype=np.float64) * step
    near = np.tile(v, (len(moves), 1))
    near[:, others] = np.maximum(near[:, others] + moves, 0.0)
    near[:, rest] = 1.0 - near[:, others].sum(axis=1)
    return near[near[:, rest] >= 0]
