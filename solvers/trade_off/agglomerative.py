"""The agglomerative information bottleneck: merge the two blocks that tell the least apart."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from privopt.core.registry import register
from privopt.core.solver import Budget, Guarantee, Proposal, Solver
from privopt.problems.information_bottleneck.problem import InformationBottleneck
from privopt.solvers.common.merging_answer import first_kept, proposed
from privopt.solvers.common.merging_table import merging_table
from privopt.solvers.common.pair_path import max_symbols, merge_path, predicted_seconds
from privopt.solvers.common.pair_rule import PairRule


@register
@dataclass(frozen=True)
class Agglomerative(Solver[InformationBottleneck]):
    """Merge the pair that loses the least I(S;Y), until the rate is met; with a weighed objective the best on the way.

    Equal losses (to 2^-44 nats) go to the lowest pair of first symbols.

    Source: Slonim, Tishby, "Agglomerative information bottleneck".
    """

    solves: ClassVar = InformationBottleneck
    name: ClassVar[str] = "agglomerative"
    guaranteed: ClassVar[Guarantee | None] = Guarantee.FEASIBLE
    """Feasible: nothing is proved."""

    def cost(self, problem: InformationBottleneck) -> float:
        """Quadratic in the number of symbols."""
        return predicted_seconds(len(problem.observation.support), len(problem.observation.p_s))

    def refuse(self, problem: InformationBottleneck) -> str | None:
        """Refuse alphabets that are too large for memory."""
        size = len(problem.observation.support)
        return (
            None
            if size <= max_symbols()
            else f"it merges at most {max_symbols()} symbols here, this problem has {size}"
        )

    def run(self, problem: InformationBottleneck, budget: Budget) -> Proposal:
        """Propose the first merging on the way that keeps the rate, or the best."""
        stop = problem.budget - 1e-12 if problem.is_cap else -np.inf
        path = merge_path(merging_table(problem), PairRule("closeness", stop_useful=stop), budget)
        stats = {"iterations": len(path.pairs), "stop": "merged" if path.complete else "out of time"}
        if problem.is_cap:
            m = len(path.pairs)
            kept = np.flatnonzero(path.useful <= problem.budget + 1e-12)
            order = range(int(kept[0]) if len(kept) else m, m + 1)
            release = first_kept(problem, (path.assignment(k) for k in order))
        else:
            best = int(np.argmax(path.secret - problem.budget * path.useful))
            release = first_kept(problem, [path.assignment(best)])
        return proposed(problem, release, stats)
