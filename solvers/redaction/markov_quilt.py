"""Algorithm 1 of Massny et al.: hide a window whose outside tells little, in the manner of a Markov quilt."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from privopt.core.registry import register
from privopt.core.solver import Budget, Guarantee, Proposal, Solver
from privopt.measures.redaction.binary import BinaryChain
from privopt.problems.redaction.problem import Redaction
from privopt.solvers.redaction._reach import misses_side_information


@register
@dataclass(frozen=True)
class MarkovQuilt(Solver[Redaction]):
    """Hide the shorter side and part of the longer one, or equally many records on both sides.

    Massny, Bitar, Ye, El Rouayheb, "Between Close Enough to Reveal and Far Enough to Protect",
    Algorithm 1, mirrored where the private record is past the middle. The distance at which the
    max-influence falls to the budget is hidden although it could be released; ``corrected`` releases it.
    The ``windows`` solver is never worse.
    """

    solves: ClassVar = Redaction
    name: ClassVar[str] = "markov-quilt"
    interruptible: ClassVar[bool] = False
    guaranteed: ClassVar[Guarantee | None] = Guarantee.BASELINE
    """Published, and kept for comparison."""

    corrected: bool = False

    def cost(self, problem: Redaction) -> float:
        """A closed form; filling in the table is most of it."""
        return 2e-4 + 2e-8 * problem.length

    def refuse(self, problem: Redaction) -> str | None:
        """Refuse several private records, and chains other than those the paper treats."""
        if len(problem.private) > 1:
            return f"it protects one private record, this problem has {len(problem.private)}"
        if BinaryChain.of(problem.chain) is None:
            return "its distances are for stationary chains of 2 states with one matrix for every step"
        return misses_side_information(problem)

    def run(self, problem: Redaction, budget: Budget) -> Proposal:
        """Propose the window."""
        (p,) = problem.private
        chain = BinaryChain.of(problem.chain)
        if chain is None:
            return Proposal(problem.safe())
        before, after = p, problem.length - 1 - p
        near, far = self._window(chain, min(before, after), max(before, after), problem.epsilon)
        left, right = (near, far) if before <= after else (far, near)
        table = np.zeros((problem.length, 2))
        table[p - left : p + right + 1] = 1.0
        return Proposal(problem.answer(table))

    def _window(self, chain: BinaryChain, shorter: int, longer: int, epsilon: float) -> tuple[int, int]:
        """Widths hidden on the shorter and the longer side."""
        whole, half = chain.first_within(epsilon), chain.first_within(epsilon / 2)
        spared = int(self.corrected)
        # The printed threshold takes the longer side one record too long.
        one_side = (
            shorter == 0
            or epsilon < chain.influence(longer + 1) + chain.influence(shorter)
            or shorter + 1 + whole - 2 * half < 0
        )
        if one_side:
            return shorter, min(whole - spared, longer)
        return min(half - spared, shorter), min(half - spared, longer)
