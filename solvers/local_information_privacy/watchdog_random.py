"""The watchdog by randomisation: a high-risk symbol is replaced by a random high-risk symbol."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from privopt.arrays import Bools
from privopt.core.registry import register
from privopt.core.solver import Budget, Guarantee, Proposal, Solver
from privopt.errors import InvalidProblem
from privopt.mechanisms import Channel
from privopt.problems.local_information_privacy.problem import LocalInformationPrivacy
from privopt.solvers.local_information_privacy._merge_answer import Stats, proposed, refusal
from privopt.solvers.local_information_privacy.merge_blocks import Blocks
from privopt.solvers.local_information_privacy.watchdog import absorbed, high_risk, one_block

LAWS = ("prior", "uniform")


@register
@dataclass(frozen=True)
class WatchdogRandom(Solver[LocalInformationPrivacy]):
    """Publish low-risk symbols, and for a high-risk one a high-risk symbol drawn afresh, whatever it was.

    Sadeghi, "Fundamental trade-offs between privacy and utility in data sharing" (CSCIT 2021), X-invariant
    randomisation: leaks and tells exactly what ``watchdog-merge`` does, with more symbols, and keeps the
    alphabet. It may leak too much in the same cases.

    Parameters
    ----------
    law : {"prior", "uniform"}
        From which high-risk symbols are drawn.
    absorb : bool
        Add low-risk symbols to the set until it keeps the bounds.
    """

    solves: ClassVar = LocalInformationPrivacy
    name: ClassVar[str] = "watchdog-random"

    law: str = "prior"
    absorb: bool = False

    def __post_init__(self) -> None:
        if self.law not in LAWS:
            raise InvalidProblem(f'law must be "prior" or "uniform", got {self.law!r}')

    def guarantee(self, problem: LocalInformationPrivacy) -> Guarantee:
        """Feasible where the merge keeps the bounds, which is tried; else published for comparison."""
        blocks = Blocks(problem)
        return Guarantee.FEASIBLE if blocks.keep(one_block(self._high(blocks))) else Guarantee.BASELINE

    def cost(self, problem: LocalInformationPrivacy) -> float:
        """One test a symbol."""
        return 1e-3 + 1e-6 * len(problem.observation.support) ** 2

    def refuse(self, problem: LocalInformationPrivacy) -> str | None:
        """Refuse utilities other than mutual information."""
        return refusal(problem)

    def run(self, problem: LocalInformationPrivacy, budget: Budget) -> Proposal:
        """Propose the channel; outputs are the symbols read."""
        blocks = Blocks(problem)
        found = self._high(blocks)
        high = blocks.support[found]
        matrix = self._matrix(problem, high)
        labels = problem.observation.observed
        stats: Stats = {"iterations": 1, "high_risk": len(high), "stop": "randomised"}
        return proposed(blocks, Channel(matrix, labels, labels), one_block(found), stats)

    def _matrix(self, problem: LocalInformationPrivacy, high: NDArray[np.int64]) -> object:
        """Rows of high-risk symbols, and of impossible ones, are one law on the high-risk symbols."""
        p = problem.observation.p_w
        matrix = np.eye(len(p))
        if len(high):
            drawn = np.zeros(len(p))
            drawn[high] = p[high] / p[high].sum() if self.law == "prior" else 1.0 / len(high)
            matrix[high] = matrix[p == 0] = drawn
        return matrix

    def _high(self, blocks: Blocks) -> Bools:
        high = high_risk(blocks)
        return absorbed(blocks, high) if self.absorb else high
