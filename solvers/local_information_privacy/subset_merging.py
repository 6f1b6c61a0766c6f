"""The best deterministic release: the partition of the observations into allowed blocks that says most."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from privopt.arrays import Bools
from privopt.core.registry import register
from privopt.core.solver import Budget, Guarantee, Proposal, Solver
from privopt.problems.local_information_privacy.problem import LocalInformationPrivacy
from privopt.solvers.local_information_privacy.merging.blocks import (
    HANDLED,
    Blocks,
    Stats,
    merged,
    proposed,
    refusal,
)
from privopt.solvers.local_information_privacy.merging.partitions import (
    SAMPLE,
    best_blocks,
    best_values_fast,
    limit,
    members,
    predicted_seconds,
    search,
)


@register
@dataclass(frozen=True)
class SubsetMerging(Solver[LocalInformationPrivacy]):
    """The best merging into several allowed blocks, exact for up to 17 observations (19 with numba).

    Goes beyond the watchdog of the lectures on privacy-utility trade-offs, which has one merged symbol: every
    block of a partition must keep the bounds, low-risk symbols may join one, and the partition of
    most worth comes from a dynamic program over subsets. Above ``exact_up_to`` observations blocks are
    merged until allowed, and ``rounds`` times a few of them are broken up and put together anew, exactly.

    Parameters
    ----------
    exact_up_to : int or None
        None: 17, or 19 where the package numba is installed.
    rounds : int
        Cuts tried by the search.
    """

    solves: ClassVar = LocalInformationPrivacy
    name: ClassVar[str] = "subset-merging"
    handles: ClassVar[frozenset[str]] = HANDLED
    guaranteed: ClassVar[Guarantee | None] = Guarantee.FEASIBLE
    """Private always; a randomised release can say more."""

    exact_up_to: int | None = None
    rounds: int = 600

    def cost(self, problem: LocalInformationPrivacy) -> float:
        """3^n additions, or the rounds of the search."""
        n, secrets = len(problem.observation.support), len(problem.observation.p_s)
        if self._exactly(n):
            return _exact_seconds(n, secrets)
        merges = n * (1e-4 + 1e-8 * min(n, 20 * SAMPLE) * secrets)
        return 1e-3 * self.rounds * (1 + secrets / 20) + merges

    def refuse(self, problem: LocalInformationPrivacy) -> str | None:
        """Refuse utilities other than mutual information."""
        return refusal(problem)

    def run(self, problem: LocalInformationPrivacy, budget: Budget) -> Proposal:
        """Propose the partition; everything as it is where that is allowed."""
        blocks = Blocks(problem)
        n = blocks.size
        if not blocks.broken_alone.any():
            whole: Stats = {"iterations": 0, "blocks": n, "stop": "nothing needs merging"}
            return proposed(blocks, merged(blocks, [np.array([w]) for w in range(n)]), whole)
        if self._exactly(n) and _exact_seconds(n, blocks.joint.shape[1]) < budget.remaining:
            groups = [np.flatnonzero(part) for part in best_partition(blocks)]
            count, stop = 1 << n, "the best of all partitions"
        else:
            groups, count = search(blocks, budget, self.rounds)
            stop = "rounds done" if budget.remaining > 0 else "out of time"
        stats: Stats = {"iterations": count, "blocks": len(groups), "stop": stop}
        return proposed(blocks, merged(blocks, groups), stats)

    def _exactly(self, n: int) -> bool:
        return n <= (limit() if self.exact_up_to is None else self.exact_up_to)


def _exact_seconds(n: int, secrets: int) -> float:
    """All partitions, and all subsets beside each secret."""
    return predicted_seconds(n) + 2e-8 * 2.0**n * secrets


def best_partition(blocks: Blocks) -> Bools:
    """The allowed partition of most worth, by dynamic programming over all subsets."""
    table = members(blocks.size)
    value = np.where(blocks.allowed(table), blocks.worth(table), -math.inf)
    chosen = best_blocks(value, best_values_fast(value), len(value) - 1)
    return np.asarray(table[chosen[::-1]])
