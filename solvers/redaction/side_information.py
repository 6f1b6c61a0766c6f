"""Redaction against an adversary who knows other records: windows, and optima of smaller budgets repaired."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from privopt.core.registry import register
from privopt.core.solver import Budget, Guarantee, Proposal, Solver
from privopt.mechanisms import RedactionMechanism
from privopt.problems.redaction.problem import Redaction
from privopt.solvers.redaction.joint_search import JointSearch
from privopt.solvers.redaction.optimal.solver import Optimal
from privopt.solvers.redaction.relaxation import Relaxation
from privopt.solvers.redaction.windows import Windows

SHARES = tuple((np.arange(1, 17) / 16).tolist())
FINEST = 3e-4
"""Difference of shares at which the search ends."""
COARSE, FINE = 2.0**-20, 2.0**-44
"""Shares of epsilon that a repair may leave: while parts are compared, and of the best one."""


@register
@dataclass(frozen=True)
class SideInformation(Solver[Redaction]):
    """The best of what is proposed for adversaries who know no other record, with as little budget as needed.

    A known record beside a released one can double what it reveals, so a mechanism for a part of epsilon is raised to
    redact more until it is private against an adversary who knows any other records (raising a redaction
    probability never raises that leakage either), and the best part is searched: parts of the local optimum of Massny,
    Bitar, Ye, El Rouayheb, "Between Close Enough to Reveal and Far Enough to Protect", Section IV, for two states and one
    private record, of their relaxation else; the best window is where it starts. For two states and one private record
    it has the bound of ``optimal``: a more knowing adversary leaves no more utility.
    """

    solves: ClassVar = Redaction
    name: ClassVar[str] = "side-information"
    guaranteed: ClassVar[Guarantee | None] = Guarantee.FEASIBLE
    """Feasible, or bounded where the problem without side information can be."""

    def cost(self, problem: Redaction) -> float:
        """Some dozen mechanisms, each repaired."""
        return 0.5 + 2e-3 * min(problem.length, 2000) * problem.chain.k * len(problem.private)

    def refuse(self, problem: Redaction) -> str | None:
        """Refuse an adversary who knows no other record, for whom others are better."""
        if problem.side_information is None:
            return "it is for an adversary who knows other records (side_information='any')"
        return None

    def run(self, problem: Redaction, budget: Budget) -> Proposal:
        """Propose the best mechanism, and the bound for an adversary who knows less."""
        search = _Search(problem, budget)
        best = search.best()
        binary = problem.chain.k == 2 and len(problem.private) == 1 and problem.form == "local"
        if not binary or budget.remaining <= 0:
            return Proposal(best, stats={"tried": search.tried})
        less = Optimal().run(search.less(problem.epsilon), budget)
        return Proposal(best, less.bound, less.dual, stats={"tried": search.tried})


class _Search:
    def __init__(self, problem: Redaction, budget: Budget) -> None:
        self.problem, self.budget, self.tried = problem, budget, 0
        self.mechanism = self._window()
        self.utility = problem.evaluate(self.mechanism).utility

    def best(self) -> RedactionMechanism:
        """Parts of epsilon on a grid, then a search around the best of them."""
        from scipy.optimize import minimize_scalar

        stop = self.budget.remaining / 2

        def lost(share: float) -> float:
            return -self._try(share) if self.budget.remaining > stop else 0.0

        grid = [(lost(share), -share) for share in SHARES]
        if self.tried and 0 < self.problem.epsilon < np.inf:
            place = -min(grid)[1]
            around = max(0.0, place - 1 / 16), min(1.0, place + 1 / 16)
            minimize_scalar(lost, bounds=around, method="bounded", options={"xatol": FINEST})
        return self.mechanism

    def less(self, epsilon: float) -> Redaction:
        """The problem of an adversary who knows no other record."""
        return replace(self.problem, epsilon=epsilon, side_information=None)

    def _window(self) -> RedactionMechanism:
        window = Windows().run(self.problem, self.budget).mechanism
        return window if isinstance(window, RedactionMechanism) else self.problem.safe()

    def _try(self, share: float) -> float:
        """Utility of the repaired mechanism for a part of epsilon; the best is kept."""
        problem = self.less(share * self.problem.epsilon)
        self.tried += 1
        table = self._table(problem)
        proposed = self.problem.answer(table)
        read = self.problem.evaluate(self.problem.repair(proposed, COARSE))
        if read.feasible and read.utility > self.utility:
            self.mechanism, self.utility = self.problem.repair(proposed, FINE), read.utility
        return read.utility if read.feasible else 0.0

    def _table(self, problem: Redaction) -> NDArray[np.float64]:
        budget = replace(self.budget, progress=_silent)
        solver: Solver[Redaction]
        if problem.chain.k == 2 and len(problem.private) == 1 and problem.form == "local":
            solver = Optimal(bound=False)
        elif (
            JointSearch().refuse(problem) is None and JointSearch().cost(problem) < self.budget.remaining / 40
        ):
            solver = JointSearch(runs=30)
        else:
            solver = Relaxation()
        mechanism = solver.run(problem, budget).mechanism
        assert isinstance(mechanism, RedactionMechanism)
        return mechanism.probabilities


def _silent(share: float, what: str) -> None:
    """Progress of a part is not reported."""
