"""Brute force on small problems: a general non-linear solver from many starts."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from privopt.arrays import Floats
from privopt.core.registry import register
from privopt.core.solver import Budget, Guarantee, Proposal, Solver
from privopt.problems.distortion_privacy.problem import DistortionPrivacy
from privopt.solvers.common.slsqp import minimise
from privopt.solvers.distortion_privacy._space import Space, at_once

LARGEST = 700.0
"""Nats: e to it is a float, and forbids nothing that floats would show."""
FLOOR = 1e-14


class Definition:
    """A problem as cost and slack of the cells of a channel and, for largest values, of those values.

    The variables are all cells but those of the last release, row by row, then the largest P(y|s) of each
    release, or the level of the ratios where distortion is bounded.
    """

    def __init__(self, space: Space) -> None:
        self.space = space
        self.problem = space.problem
        self.seen, self.outputs = space.excess.shape
        self.cells = self.seen * (self.outputs - 1)

    @property
    def _extra(self) -> int:
        if self.problem.order is None:
            return int(self.problem.max_leakage is None)
        return self.outputs if math.isinf(self.problem.order) else 0

    @property
    def largest(self) -> float:
        """The largest value of a variable: a level may be above 1."""
        return 30.0 if self.problem.order is None else 1.0

    def channel(self, x: Floats) -> Floats:
        """The channel of some variables, shape (n_w, n_y)."""
        free = x[: self.cells].reshape(self.seen, self.outputs - 1)
        return np.column_stack([free, 1.0 - free.sum(axis=1)])

    def variables(self, matrix: Floats) -> Floats:
        """The variables of a channel, with the values that it reaches."""
        cells = matrix[:, :-1].ravel()
        if self.problem.order is None:
            return np.append(cells, [min(self.largest, self.space.leakage(matrix))] * self._extra)
        return np.append(cells, self._conditional(matrix).max(axis=0)[: self._extra])

    def _conditional(self, matrix: Floats) -> Floats:
        """P(y|s), shape (n_s, n_y)."""
        return np.asarray(self.space.table @ matrix / self.space.prior[:, None])

    @cached_property
    def _moves(self) -> Floats:
        """Slopes of the cells in the variables, shape (n_w, n_y, variables)."""
        moves = np.zeros((self.seen, self.outputs, self.cells + self._extra))
        moves[:, :-1, : self.cells] = np.eye(self.cells).reshape(self.seen, self.outputs - 1, self.cells)
        moves[:, -1] = -moves[:, :-1].sum(axis=1)
        return moves

    @cached_property
    def _slopes(self) -> Floats:
        """Of P(y|s) in the variables, shape (n_s, n_y, variables)."""
        weights = self.space.table / self.space.prior[:, None]
        return np.asarray(np.einsum("sw,wyv->syv", weights, self._moves))

    def _distortion(self, matrix: Floats) -> tuple[float, Floats]:
        """The expected distortion above the least, with its slope."""
        excess = self.space.excess
        return float((excess * matrix).sum()), np.einsum("wy,wyv->v", excess, self._moves)

    def cost(self, x: Floats) -> tuple[float, Floats]:
        """What is minimised, with its slope."""
        return self._leakage(x) if self.problem.max_leakage is None else self._distortion(self.channel(x))

    def _leakage(self, x: Floats) -> tuple[float, Floats]:
        order = self.problem.order
        if order is not None and math.isfinite(order):
            return self._information(x, order)
        slope = np.append(np.zeros(self.cells), np.ones(self._extra))
        return float(x[self.cells :].sum()), slope

    def _information(self, x: Floats, order: float) -> tuple[float, Floats]:
        """Sibson's information of a finite order, with its slope."""
        conditional, prior = np.maximum(self._conditional(self.channel(x)), FLOOR), self.space.prior
        if order == 1:
            logs = np.log(conditional / (prior @ conditional))
            value, slopes = float((prior[:, None] * conditional * logs).sum()), prior[:, None] * logs
        else:
            means = (prior @ conditional**order) ** (1 / order)
            value = order / (order - 1) * math.log(means.sum())
            slopes = prior[:, None] * conditional ** (order - 1) * means ** (1 - order)
            slopes = order / (order - 1) * slopes / means.sum()
        return value, np.einsum("sy,syv->v", slopes, self._slopes)

    def slack(self, x: Floats) -> tuple[Floats, Floats]:
        """What must not be negative, with its slopes."""
        matrix = self.channel(x)
        parts = [(matrix[:, -1], self._moves[:, -1]), self._definitions(x, matrix)]
        if self.problem.max_leakage is None:
            value, slope = self._distortion(matrix)
            parts.append((np.array([self.space.room - value]), -slope[None, :]))
        elif self.problem.order is not None:
            value, slope = self._leakage(x)
            limit = math.exp(self.problem.budget) if math.isinf(self.problem.order) else self.problem.budget
            parts.append((np.array([limit - value]), -slope[None, :]))
        return np.concatenate([p[0] for p in parts]), np.concatenate([p[1] for p in parts])

    def _definitions(self, x: Floats, matrix: Floats) -> tuple[Floats, Floats]:
        """Of the largest probabilities, or of the ratios."""
        conditional, slopes = self._conditional(matrix), self._slopes
        if self.problem.order is None:
            return self._ratios(x, conditional)
        if not self._extra:
            return np.zeros(0), np.zeros((0, len(x)))
        tops = np.zeros_like(slopes)
        for y in range(self.outputs):
            tops[:, y, self.cells + y] = 1.0
        rows = (tops - slopes).reshape(-1, len(x))
        return (x[self.cells :][None, :] - conditional).ravel(), rows

    def _ratios(self, x: Floats, conditional: Floats) -> tuple[Floats, Floats]:
        """e^t b - a for every pair that the notion compares, and its slope."""
        free = self.problem.max_leakage is None
        scale = math.exp(min(float(x[-1]) if free else self.problem.budget, LARGEST))
        values, rows = [], []
        for a, b in self._compared(conditional):
            slope = scale * b[1] - a[1]
            if free:
                slope[:, -1] += scale * b[0]
            values.append(scale * b[0] - a[0])
            rows.append(slope)
        return np.concatenate(values), np.concatenate(rows)

    def _compared(self, conditional: Floats) -> list[tuple[tuple[Floats, Floats], tuple[Floats, Floats]]]:
        """Pairs (a, b) with a <= e^t b: rows of two secrets, or one and the distribution of the output, both ways."""
        slopes, prior = self._slopes, self.space.prior
        rows = list(zip(conditional, slopes, strict=True))
        if self.problem.leakage == "ldp":
            return list(itertools.permutations(rows, 2))
        mean = (prior @ conditional, np.einsum("s,syv->yv", prior, slopes))
        return [pair for row in rows for pair in ((row, mean), (mean, row))]


MAX_CELLS = 20


@register
@dataclass(frozen=True)
class Oracle(Solver[DistortionPrivacy]):
    """SLSQP on all cells of the channel, from a constant, the best reproduction and random channels.

    The measures are written as they are defined; those with a largest ratio or probability get variables
    for it. No dual, no bound.
    """

    solves: ClassVar = DistortionPrivacy
    name: ClassVar[str] = "oracle"
    guaranteed: ClassVar[Guarantee | None] = Guarantee.ORACLE
    """Brute force."""

    starts: int = 6

    def cost(self, problem: DistortionPrivacy) -> float:
        """Some runs of SLSQP."""
        return 0.1 * self.starts

    def refuse(self, problem: DistortionPrivacy) -> str | None:
        """Refuse beyond twenty cells, and exact independence."""
        if problem.max_leakage == 0:
            return "exact independence is beyond floats: direct-lp answers it exactly"
        cells = len(problem.observation.support) * problem.matrix.shape[1]
        if cells > MAX_CELLS:
            return f"it searches all cells at once: at most {MAX_CELLS} of them, not {cells}"
        return None

    def run(self, problem: DistortionPrivacy, budget: Budget) -> Proposal:
        """Propose the best of all starts, after the problem's own repair."""
        known = at_once(problem)
        if known is not None:
            return known
        space = Space(problem)
        view = Definition(space)
        best, value, runs = problem.anchor(), -np.inf, 0
        for start in _starts(space, self.starts, np.random.default_rng(budget.seed)):
            x = minimise(view.cost, view.slack, view.variables(start), upper=view.largest)
            tried = problem.repair(
                space.release(view.channel(x)), 2.0**-44
            )  # within the bound as floats see it
            objective = problem.evaluate(tried).objective
            best, value = (tried, objective) if objective > value else (best, value)
            runs += 1
            if budget.remaining <= 0:
                break
        return Proposal(best, stats={"iterations": runs, "stop": "all starts done"})


def _starts(space: Space, count: int, rng: np.random.Generator) -> list[Floats]:
    """Channels with all cells positive."""
    seen, outputs = space.excess.shape
    even = np.full((seen, outputs), 1 / outputs)
    best = np.eye(outputs)[space.excess.argmin(axis=1)]
    first = [0.5 * even + 0.5 * best, 0.1 * even + 0.9 * best]
    return (first + [rng.dirichlet(np.ones(outputs), seen) for _ in range(count)])[:count]
