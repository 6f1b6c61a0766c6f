"""The watchdog of the lectures: release low-risk symbols as they are, and all others as one, or at random among them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from privopt.arrays import Bools, Floats, Ints
from privopt.core.registry import register
from privopt.core.solver import Budget, Guarantee, Proposal, Solver
from privopt.errors import InvalidProblem
from privopt.measures.inputs import read_order
from privopt.mechanisms import Channel
from privopt.problems.local_information_privacy.problem import LocalInformationPrivacy
from privopt.solvers.local_information_privacy.merging.blocks import (
    BAND,
    HANDLED,
    Blocks,
    Stats,
    merged,
    proposed,
    refusal,
    summed,
)


def high_risk(blocks: Blocks) -> Bools:
    """Which observations break a bound when released as they are, shape (n,)."""
    return np.asarray(blocks.broken_alone.any(axis=1))


def one_block(high: Bools) -> Bools:
    """The partition into one block of these and the others as they are, shape (m, n)."""
    rest = np.eye(len(high), dtype=bool)[~high]
    return np.concatenate([high[None, :], rest]) if high.any() else rest


def absorbed(blocks: Blocks, high: Bools) -> Bools:
    """The block with further observations added until its partition keeps the bounds, shape (n,).

    Each time the one that makes it allowed at the least loss of worth, or else brings it nearest. The block of
    all observations says nothing, so this ends.
    """
    high = high.copy()
    while high.any() and not high.all() and not blocks.keep_one(high):
        low = np.flatnonzero(~high)
        block = high.astype(np.float64)
        sums, seen = block @ blocks.joint + blocks.joint[low], block @ blocks.seen + blocks.seen[low]
        excess = blocks.excess_of(sums).max(axis=1)
        loss = blocks.worth_of(blocks.seen[low]) - blocks.worth_of(seen)
        fits = excess <= BAND
        best = (
            np.argmin(np.where(fits, loss, math.inf)) if fits.any() else np.argmin(np.minimum(excess, 1e300))
        )
        high[low[int(best)]] = True
    return high


def alpha_risks(blocks: Blocks, members: Bools, alpha: float) -> Floats:
    """Logarithm of the alpha-lift of blocks, (a-1)/a D_a(P(s | block) from P(s)), nats, shape (m,)."""
    return _risks(blocks, members.astype(np.float64) @ blocks.joint, alpha)


def _risks(blocks: Blocks, sums: Floats, alpha: float) -> Floats:
    """As :func:`alpha_risks`, from the P(B, s) of blocks."""
    from privopt.measures.renyi import divergences

    prior = blocks.joint.sum(axis=0)
    factor = 1.0 if math.isinf(alpha) else (alpha - 1) / alpha
    return factor * divergences(sums / sums.sum(axis=1, keepdims=True), prior / prior.sum(), alpha)


def one_group(high: Bools) -> list[Ints]:
    """As :func:`one_block`, by the places of the observations."""
    rest = [np.array([w]) for w in np.flatnonzero(~high).tolist()]
    return [np.flatnonzero(high), *rest] if high.any() else rest


def violations(blocks: Blocks, parts: Bools, shown: int = 10) -> dict[str, float | str]:
    """The pairs (secret, block) that break the bounds in words, and their probability."""
    return violated(blocks, [np.flatnonzero(part) for part in parts], shown)


def violated(blocks: Blocks, groups: Sequence[Ints], shown: int = 10) -> dict[str, float | str]:
    """As :func:`violations`, for blocks given by the places of their observations."""
    observed = blocks.problem.observation
    if blocks.problem.notion != "lip":
        return {}
    broken = blocks.broken_groups(groups)
    secrets = [label for label, p in zip(observed.leaking.sensitive, observed.p_s, strict=True) if p > 0]
    places = np.argwhere(broken)
    pairs = [
        f"({secrets[s]!r}, {' | '.join(str(observed.observed[w]) for w in blocks.support[groups[y]])!r})"
        for y, s in places[:shown].tolist()
    ]
    more = "" if len(places) <= shown else f" and {len(places) - shown} more"
    return {
        "violating_pairs": ", ".join(pairs) + more,
        "violating_mass": float(np.where(broken, summed(groups, blocks.joint), 0.0).sum()),
    }


class Watchdog(Solver[LocalInformationPrivacy]):
    """One block of high risk, the other symbols as they are."""

    solves: ClassVar = LocalInformationPrivacy

    absorb: bool

    def high(self, blocks: Blocks) -> Bools:
        """The observations of the block, shape (n,): those that break a bound alone, and what ``absorb`` adds."""
        high = high_risk(blocks)
        return absorbed(blocks, high) if self.absorb else high

    def guarantee(self, problem: LocalInformationPrivacy) -> Guarantee:
        """Feasible where the merge keeps the bounds, which is tried; else published for comparison."""
        blocks = Blocks(problem)
        return Guarantee.FEASIBLE if blocks.keep_one(self.high(blocks)) else Guarantee.BASELINE

    def cost(self, problem: LocalInformationPrivacy) -> float:
        """One test a symbol, and their names."""
        n, secrets = len(problem.observation.support), len(problem.observation.p_s)
        return 1e-3 + n * (5e-6 + 2e-7 * secrets)

    def refuse(self, problem: LocalInformationPrivacy) -> str | None:
        """Refuse utilities other than mutual information."""
        return refusal(problem)


@register
@dataclass(frozen=True)
class WatchdogMerge(Watchdog):
    """The watchdog of the lectures: release low-risk symbols as they are, and all others as one.

    Publish low-risk symbols, merge all high-risk ones into one symbol, which may still leak too much.

    Sadeghi, "Fundamental trade-offs between privacy and utility in data sharing" (CSCIT 2021), the watchdog: no
    randomisation within the high-risk set leaks less than its merge. But the merge need not keep the
    bounds, plainly so where the set has one symbol; the judge then mixes in noise. ``subset-merging``
    is never worse.

    Parameters
    ----------
    absorb : bool
        Add low-risk symbols to the merged one until it keeps the bounds.
    """

    name: ClassVar[str] = "watchdog-merge"
    handles: ClassVar[frozenset[str]] = HANDLED

    absorb: bool = False

    def run(self, problem: LocalInformationPrivacy, budget: Budget) -> Proposal:
        """Propose the merging."""
        blocks = Blocks(problem)
        groups = one_group(self.high(blocks))
        stats = {"iterations": 1, "blocks": len(groups), "stop": "merged", **violated(blocks, groups)}
        return proposed(blocks, merged(blocks, groups), stats)


DRAWS = ("prior", "uniform")

MOST = 500
"""Observations up to which a channel with a full row for each one at risk is worth its exact judgement."""


@register
@dataclass(frozen=True)
class WatchdogRandom(Watchdog):
    """The watchdog by randomisation: a high-risk symbol is replaced by a random high-risk symbol.

    Publish low-risk symbols, and for a high-risk one a high-risk symbol drawn afresh, whatever it was.

    Sadeghi, "Fundamental trade-offs between privacy and utility in data sharing" (CSCIT 2021), X-invariant
    randomisation: leaks and says exactly what ``watchdog-merge`` does, with more symbols, and keeps the
    alphabet. It may leak too much in the same cases.

    Parameters
    ----------
    law : {"prior", "uniform"}
        The distribution from which high-risk symbols are drawn.
    absorb : bool
        Add low-risk symbols to the set until it keeps the bounds.
    """

    name: ClassVar[str] = "watchdog-random"
    handles: ClassVar[frozenset[str]] = HANDLED

    law: str = "prior"
    absorb: bool = False

    def __post_init__(self) -> None:
        if self.law not in DRAWS:
            raise InvalidProblem(f'law must be "prior" or "uniform", got {self.law!r}')

    def guarantee(self, problem: LocalInformationPrivacy) -> Guarantee:
        """Published for comparison: ``watchdog-merge`` leaks and says the same, and is judged much faster.

        With ``absorb``, which somebody asks for, it is feasible where the merge is.
        """
        return super().guarantee(problem) if self.absorb else Guarantee.BASELINE

    def refuse(self, problem: LocalInformationPrivacy) -> str | None:
        """Refuse other utilities, and channels too large for what they say."""
        if (n := len(problem.observation.support)) > MOST:
            return f"its channel would have {n}^2 entries; watchdog-merge says the same with fewer symbols"
        return refusal(problem)

    def run(self, problem: LocalInformationPrivacy, budget: Budget) -> Proposal:
        """Propose the channel; outputs are the symbols read.

        Rows of high-risk symbols, and of impossible ones, are one distribution on the high-risk symbols.
        """
        blocks = Blocks(problem)
        high = blocks.support[self.high(blocks)]
        p, labels = problem.observation.p_w, problem.observation.observed
        matrix = np.eye(len(p))
        if len(high):
            drawn = np.zeros(len(p))
            drawn[high] = p[high] / p[high].sum() if self.law == "prior" else 1.0 / len(high)
            matrix[high] = matrix[p == 0] = drawn
        stats: Stats = {"iterations": 1, "high_risk": len(high), "stop": "randomised"}
        return proposed(blocks, Channel(matrix, labels, labels), stats)


@register
@dataclass(frozen=True)
class AlphaLiftWatchdog(Watchdog):
    """The watchdog with alpha-lift as risk: a mean of the lifts in place of the largest.

    Merge the symbols whose alpha-lift exceeds the upper bound, a milder test than the largest lift.

    Sadeghi, "Fundamental trade-offs between privacy and utility in data sharing" (CSCIT 2021), tunable
    alpha-lift: the risk of a symbol is ln (sum_s P(s) lift^alpha)^(1/alpha), and merging is again optimal on the
    high-risk set. At alpha = inf the risk is the largest log-lift. An alpha-lift within the bound does not
    keep single lifts within it, and the merged symbol may stay above.

    Parameters
    ----------
    alpha : float
        Order in [1, inf]; at 1 nothing is at risk.
    absorb : bool
        Add symbols of the lowest resulting risk to the merged one until its alpha-lift keeps the bound.
    """

    name: ClassVar[str] = "alpha-lift-watchdog"

    alpha: float = 2.0
    absorb: bool = False

    def __post_init__(self) -> None:
        read_order(self.alpha)

    def refuse(self, problem: LocalInformationPrivacy) -> str | None:
        """Refuse utilities other than mutual information, LDP, and problems without an upper bound."""
        if problem.notion == "ldp":
            return 'alpha-lift bounds lifts, this problem has notion "ldp", which bounds their ratios'
        if problem.upper == math.inf:
            return "alpha-lift bounds lifts from above, this problem has no upper bound"
        return refusal(problem)

    def high(self, blocks: Blocks) -> Bools:
        """Those whose alpha-lift alone is above the bound, and what ``absorb`` adds."""
        limit = blocks.problem.upper + BAND
        high = np.asarray(_risks(blocks, blocks.joint, self.alpha) > limit)
        while self.absorb and high.any() and not high.all():
            if alpha_risks(blocks, high[None, :], self.alpha)[0] <= limit:
                break
            low = np.flatnonzero(~high)
            high[low[int(np.argmin(alpha_risks(blocks, high | blocks.singles[low], self.alpha)))]] = True
        return high

    def run(self, problem: LocalInformationPrivacy, budget: Budget) -> Proposal:
        """Propose the merging."""
        blocks = Blocks(problem)
        groups = one_group(self.high(blocks))
        risk = float(_risks(blocks, summed(groups, blocks.joint), self.alpha).max())
        stats: Stats = {"iterations": 1, "blocks": len(groups), "alpha_lift": risk, "stop": "merged"}
        return proposed(blocks, merged(blocks, groups), stats)
