"""Spending delta in a randomised release: allowed posteriors mixed with a few that break the bounds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from privopt.arrays import Bools, Floats
from privopt.core.registry import register
from privopt.core.solver import Budget, Guarantee, Proposal, Solver
from privopt.problems.local_information_privacy.problem import LocalInformationPrivacy
from privopt.problems.local_information_privacy.systems import system, work
from privopt.problems.local_information_privacy.vertices import costs, vertices
from privopt.solvers.local_information_privacy._answer import channel_from_posteriors
from privopt.solvers.local_information_privacy._merge_answer import merging, proposed, refusal
from privopt.solvers.local_information_privacy._merge_subsets import members
from privopt.solvers.local_information_privacy.merge_blocks import Blocks

MOST_SYSTEMS = 2_000_000
"""Small systems whose solution, for the vertices, takes seconds."""

BLOCKS = 12
"""Observations up to which every block is offered; above, single ones and pairs."""

ROOM = 1e-7
"""Share of delta, and of the bounds on the allowed posteriors, that is left to rounding."""

LEAST = 1e-6
"""Bounds below this, in nats, leave rounding no room."""


@register
@dataclass(frozen=True)
class RandomisedBoosting(Solver[LocalInformationPrivacy]):
    """The best mixture of allowed posteriors with blocks released beyond the bounds, within delta.

    Joins the two ideas of the lectures on privacy-utility trade-offs: the optimal release as a linear programme
    over the vertices of the posterior polytope, and boosting by delta. Blocks that break the bounds, single
    observations among them, are further columns, and one more row says that their violations have probability
    at most delta. So it is never worse than either, up to rounding.
    """

    solves: ClassVar = LocalInformationPrivacy
    name: ClassVar[str] = "randomised-boosting"
    guaranteed: ClassVar[Guarantee | None] = Guarantee.FEASIBLE
    """Private; other posteriors beyond the bounds could be better still."""

    def cost(self, problem: LocalInformationPrivacy) -> float:
        """The systems and the linear programme."""
        n = len(problem.observation.support)
        return 0.1 + 1e-6 * work(system(problem)) + 1e-5 * 2.0 ** min(n, BLOCKS)

    def refuse(self, problem: LocalInformationPrivacy) -> str | None:
        """Refuse delta = 0, utilities other than mutual information, and too many vertices."""
        if problem.delta == 0:
            return "it spends delta, this problem has delta = 0; column-generation is for that"
        if (other := refusal(problem)) is not None:
            return other
        if min(problem.lower, problem.upper) < LEAST:
            return f"a bound is below {LEAST:g} nats, which leaves rounding no room; perfect-privacy takes it"
        if (count := work(system(problem))) > MOST_SYSTEMS:
            return f"it would solve {count:.1e} systems for the vertices, more than {MOST_SYSTEMS:.0e}"
        return None

    def run(self, problem: LocalInformationPrivacy, budget: Budget) -> Proposal:
        """Propose the mixture."""
        blocks = Blocks(problem)
        if blocks.keep(blocks.singles):
            stats = {"stop": "nothing needs noise"}
            return proposed(blocks, merging(blocks, blocks.singles), blocks.singles, stats)
        allowed = []
        for batch in vertices(system(_tighter(problem)), 1e-3 * ROOM * min(1.0, problem.budget)):
            allowed.append(batch)
            if budget.remaining <= 0:
                break
        free, mass = _blocks_beyond(blocks)
        p = problem.observation.p_w[blocks.support]
        columns = np.vstack([*allowed, p, free])
        spent = np.concatenate([np.zeros(len(columns) - len(free)), mass])
        weights = _mixture(costs(problem, columns), columns, spent, p, problem.delta * (1 - ROOM))
        counts = {"iterations": 1, "vertices": len(columns) - len(free), "blocks_offered": len(free)}
        stop = "the best mixture" if budget.remaining > 0 else "out of time before every vertex was found"
        return Proposal(channel_from_posteriors(problem, weights, columns), stats={**counts, "stop": stop})


def _tighter(problem: LocalInformationPrivacy) -> LocalInformationPrivacy:
    """The question with bounds that rounding cannot carry beyond those asked for.

    A repair would not do here: mixing in noise adds to the mass of the pairs that may break the bounds.
    """
    lower, upper = ((1 - ROOM) * level for level in (problem.lower, problem.upper))
    return LocalInformationPrivacy(problem.joint, lower=lower, upper=upper)


def _blocks_beyond(blocks: Blocks) -> tuple[Floats, Floats]:
    """The posteriors of blocks that break the bounds, and the probability of violations given the block."""
    offered = _offered(blocks.size)
    mass = blocks.broken_mass(offered)
    beyond = blocks.broken(offered).any(axis=1)
    joint = offered[beyond] * blocks.law.sum(axis=1)[None, :]
    whole = joint.sum(axis=1)
    return np.asarray(joint / whole[:, None]), np.asarray(mass[beyond] / whole)


def _offered(n: int) -> Bools:
    if n <= BLOCKS:
        return members(n)[1:]
    singles = np.eye(n, dtype=bool)
    first, second = np.triu_indices(n, 1)
    return np.concatenate([singles, singles[first] | singles[second]])


def _mixture(price: Floats, columns: Floats, spent: Floats, p: Floats, delta: float) -> Floats:
    """Weights >= 0 of least price, whose posteriors average to p and whose violations stay within delta."""
    from scipy.optimize import linprog

    found = linprog(price, A_ub=spent[None, :], b_ub=[delta], A_eq=columns.T, b_eq=p, method="highs")
    if found.x is None:
        raise ArithmeticError(f"the mixture was not found: {found.message}")
    return np.maximum(np.asarray(found.x, dtype=np.float64), 0.0)
