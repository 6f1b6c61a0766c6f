"""Distortion and leakage over a set of joints: programs at some of them, and at those where the answer breaks its bounds."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np

from privopt.arrays import Floats
from privopt.core.registry import register
from privopt.core.solver import Budget, Guarantee, Proposal, Solver
from privopt.models.ambiguity.joint import JointAmbiguity
from privopt.models.channel_data import Release
from privopt.problems.distortion_privacy.problem import DistortionPrivacy
from privopt.problems.local_information_privacy.data import posterior_rows
from privopt.problems.local_information_privacy.members import Demand, written
from privopt.problems.robust_reading import SetReader
from privopt.solvers.common.capped_mixture import CappedMixture
from privopt.solvers.common.cutting import Program, least_cost, least_of_largest
from privopt.solvers.common.separation import Separation, set_refused
from privopt.solvers.common.tightened import tightened
from privopt.solvers.distortion_privacy.blahut_arimoto import BlahutArimoto
from privopt.solvers.distortion_privacy.direct_lp import DirectLp
from privopt.solvers.distortion_privacy.guess_cuts import GuessCuts, most_distorted, observed_at
from privopt.solvers.distortion_privacy.members import MembersBound

ANALYTIC = {"kind": "analytic"}

WIDTH = 1e-8
"""Width of the bracket of a least level, relative to it, at which the search stops."""

HIGHEST = 64.0
"""Levels above this are not searched: a lift of e^64 is as good as none."""

BELOW = 1e-9
"""A level is proved too low a little below where the program says so, relative to it."""

ANSWERING, BEFORE, CAPS = 0.6, 0.3, 0.5
"""Shares of the time for an answer where an average is capped, the bound has the rest; of that for a mixture of releases first, and then for smaller
caps."""

MOST_CELLS = 40_000
"""Cells of a channel up to which the program of maximal leakage over a set is written down."""

CHECKING = 0.1
"""Share of what is left then for the bound to be proved."""


@register
@dataclass(frozen=True)
class RobustCuts(Solver[DistortionPrivacy]):
    """Over a set of joints: programs at some of them, and at those where the answer breaks its bounds, until none does.

    A bound on ratios is a row for each joint, a bound on distortion another. The least level of ratios is searched, with a
    mixture of joints that proves a level too low. The bound on maximal leakage over the set is itself a linear program, with a row for each
    distribution at which a release says most. Mutual information is solved at the nominal joint with smaller and smaller caps, whose
    answers are mixed, and bounded by cutting planes at several joints of the set.
    """

    solves: ClassVar = DistortionPrivacy
    name: ClassVar[str] = "cuts"
    robust: ClassVar[bool] = True

    def guarantee(self, problem: DistortionPrivacy) -> Guarantee:
        """Optimal to the tolerance of the programs for ratios; bounded for averages."""
        return Guarantee.OPTIMAL if problem.order is None else Guarantee.BOUNDED

    def cost(self, problem: DistortionPrivacy) -> float:
        """Some rounds of what the nominal problem takes."""
        return 0.1 + 5 * _of_nominal(problem).cost(_nominal(problem))

    def refuse(self, problem: DistortionPrivacy) -> str | None:
        """Refuse single joints, symbols that occur in the set but not at its nominal joint, and what is too large."""
        if (reason := set_refused(problem.ambiguity, problem.observation)) is not None:
            return reason
        return _of_nominal(problem).refuse(_nominal(problem))

    def run(self, problem: DistortionPrivacy, budget: Budget) -> Proposal:
        """Propose what meets the bounds on the whole set, and the bound from the multipliers."""
        ambiguity = problem.ambiguity
        if ambiguity is None:
            return Proposal()
        if problem.check_infeasible({}) is not None:
            return Proposal(infeasible={"kind": "analytic"})
        if problem.evaluate(problem.constant()).feasible and problem.max_leakage is None:
            return Proposal(
                problem.constant(), 0.0, ANALYTIC, stats={"iterations": 0, "stop": "a constant is enough"}
            )
        if problem.order == math.inf and 0 < problem.budget < math.inf:
            return _by_guesses(problem, ambiguity, budget)
        if problem.order is not None and problem.max_leakage is not None and 0 < problem.budget < math.inf:
            return _averaged(problem, ambiguity, budget)
        if problem.order is not None:
            half = replace(budget, incumbent=None)
            proposal = _of_nominal(problem).run(_nominal(problem), half)
            if proposal.mechanism is None:
                return Proposal(problem.anchor(), stats=proposal.stats)
            return replace(proposal, mechanism=problem.repair(problem.check(proposal.mechanism), 0.0))
        if problem.max_leakage is None:
            return _Levels(problem, ambiguity, budget).run()
        return _within(problem, budget)


def _averaged(problem: DistortionPrivacy, ambiguity: JointAmbiguity, budget: Budget) -> Proposal:
    """Mutual information: smaller caps at the nominal joint, mixtures of their answers, and a bound at several joints of the set."""
    until = replace(budget.earlier(1 - ANSWERING), incumbent=None)
    early = _mixed(problem, [problem.constant()], until.earlier(1 - BEFORE))
    proposal = tightened(problem, lambda cap, share: _capped(problem, cap, share), until.earlier(1 - CAPS))
    tried = [] if proposal.mechanism is None else [problem.check(proposal.mechanism)]
    release = _mixed(problem, [early, *tried], until)
    proposal = replace(proposal, mechanism=release)
    inside = release.matrix
    if inside.shape != problem.matrix.shape:
        return proposal
    dual = MembersBound(problem, ambiguity, inside).run(budget.earlier(CHECKING))
    proved = None if dual is None else problem.prove_bound(dual)
    if proved is None or (proposal.bound is not None and proved[1] >= proposal.bound):
        return proposal
    return replace(proposal, bound=proved[1], dual=dual)


def _by_guesses(problem: DistortionPrivacy, ambiguity: JointAmbiguity, budget: Budget) -> Proposal:
    """Maximal leakage: the best channel for its bound over the set, and the bound of the nominal joint."""
    nominal = _capped(problem, problem.budget, replace(budget.earlier(1 - CAPS), incumbent=None))
    cuts = GuessCuts(problem, ambiguity, SetReader.of(ambiguity))
    found = cuts.run(budget.earlier(CHECKING)) if problem.matrix.size <= MOST_CELLS else None
    tried = [] if nominal.mechanism is None else [problem.check(nominal.mechanism)]
    tried += [] if found is None else [problem.answer(found)]
    kept = [problem.repair(release, 0.0) for release in tried]
    return replace(nominal, mechanism=_best(problem, kept), stats={**nominal.stats, **cuts.stats})


def _mixed(problem: DistortionPrivacy, releases: list[Release], budget: Budget) -> Release:
    """The best of some releases and a mixture of their columns and others; columns with the same best reproduction are one release."""
    same = [release for release in releases if release.matrix.shape == problem.matrix.shape]
    costs = problem.observation.p_w[:, None] * problem.matrix

    def gains(columns: Floats) -> Floats:
        return -np.asarray((costs.T @ columns).min(axis=0))

    if problem.reader is not None:
        mixture = CappedMixture(problem.reader, gains, problem.budget, problem.observation.p_w)
        mixture.take([release.matrix for release in same])
        found = mixture.run(budget)
        if found is not None:
            matrix = np.zeros(problem.matrix.shape)
            np.add.at(matrix.T, (costs.T @ found).argmin(axis=0), found.T)
            same.append(problem.answer(matrix))
    return _best(problem, [*releases, *same])


def _best(problem: DistortionPrivacy, releases: list[Release]) -> Release:
    """The best of those that keep the budget, or what is always private."""
    readings = [(problem.evaluate(release), release) for release in releases]
    kept = [(reading.objective, release) for reading, release in readings if reading.feasible]
    return max(kept, key=lambda pair: pair[0])[1] if kept else problem.anchor()


def _of_nominal(problem: DistortionPrivacy) -> Solver[DistortionPrivacy]:
    """What solves the problem at the nominal joint."""
    return BlahutArimoto() if problem.order == 1 and problem.max_leakage != 0 else DirectLp()


def _capped(problem: DistortionPrivacy, cap: float, budget: Budget) -> Proposal:
    """The problem at the nominal joint with another budget."""
    return _of_nominal(problem).run(_nominal(problem).with_budget(cap), budget)


def _nominal(problem: DistortionPrivacy) -> DistortionPrivacy:
    ambiguity = problem.ambiguity
    joint = problem.joint if ambiguity is None else ambiguity.nominal
    return DistortionPrivacy(
        joint, problem.matrix, max_distortion=problem.max_distortion, max_leakage=problem.max_leakage,
        leakage=problem.leakage, alpha=problem.alpha, outputs=problem.outputs,
    )  # fmt: skip


def _least(problem: DistortionPrivacy) -> tuple[float, object]:
    return -float(problem.costs.least), dict(ANALYTIC)


def _within(problem: DistortionPrivacy, budget: Budget) -> Proposal:
    """The least distortion within a bound on ratios: a problem that bounds ratios, whose unit is another."""
    bound, dual = _least(problem)
    if problem.budget == 0:
        return Proposal(
            problem.constant(), bound, dual, stats={"iterations": 0, "stop": "the bounds leave no room"}
        )
    proposal = least_cost(problem.ratios(problem.budget), budget)
    if proposal.dual is not None and (proved := problem.check_bound(-math.inf, proposal.dual)) is not None:
        bound, dual = proved, proposal.dual
    matrix = (
        problem.constant().matrix if proposal.mechanism is None else problem.check(proposal.mechanism).matrix
    )
    return Proposal(problem.answer(matrix), bound, dual, stats=proposal.stats)


@dataclass
class _Levels:
    """The search for the least level at which the distortion is met at every joint of the set."""

    problem: DistortionPrivacy
    ambiguity: JointAmbiguity
    budget: Budget
    low: float = 0.0
    high: float = math.inf
    best: Release | None = None
    dual: dict[str, Any] = field(default_factory=dict)
    demands: list[Demand] = field(default_factory=list)
    joints: list[Demand] = field(default_factory=list)
    programs: int = 0

    def run(self) -> Proposal:
        """Halve the bracket until it is narrow or time is out."""
        self.p = self.problem.observation.p_w
        self.seen = np.flatnonzero(self.p > 0)
        self._distortion(self.problem.reproduction())
        self._candidate(self.problem.reproduction())
        level, stop = 0.5, "the bracket is narrow"
        while self.high - self.low > WIDTH * min(self.high, HIGHEST):
            if self.budget.remaining == 0:
                stop = "out of time"
                break
            if self.high < math.inf:
                level = (self.low + self.high) / 2
            elif self.low >= level:
                level = 2 * self.low
            if level > HIGHEST:
                stop = "no finite level is enough"
                break
            self._at(level)
        stats: dict[str, float | int | str] = {
            "iterations": self.programs,
            "joints": len(self.demands),
            "stop": stop,
        }
        mechanism = self.best or self.problem.anchor()
        return Proposal(mechanism, -self.low, self.dual or ANALYTIC, stats=stats)

    def _at(self, level: float) -> None:
        """Solve at a level, with joints added until it is proved too low or is enough."""
        ratios = self.problem.ratios(level)
        cuts = Separation(ratios, self.ambiguity)
        for demand in self.demands:
            cuts.take(demand)
        while self.budget.remaining > 0:
            relaxed = cuts.relaxed()
            solved = self._solve(posterior_rows(relaxed)[:, self.seen])
            if solved is None:
                self.low = self.low if self.high < math.inf else level
                return
            if solved.value / self.problem.magnitude > float(self.problem.floor) and self._prove(
                level, cuts, solved
            ):
                return
            channel = self.problem.answer(cuts.matrix(solved.matrix))
            before, known = len(cuts.demands), len(self.joints)
            cuts.separate(cuts.posteriors(channel))
            self.demands = list(cuts.demands)
            self._distortion(channel)
            self._candidate(channel)
            if self.high <= level * (1 + WIDTH) or (len(cuts.demands), len(self.joints)) == (before, known):
                self.high = min(self.high, max(level, self.low))
                return

    def _prove(self, level: float, cuts: Separation, solved: Program) -> bool:
        """Whether the multipliers prove a level too low."""
        for lower in (level, level * (1 - BELOW)):
            parts = written(cuts.demands, list(zip(solved.weights.tolist(), self.joints, strict=True)))
            proof = {"kind": "level", "level": lower, "multipliers": solved.multipliers.tolist()}
            dual = {**parts, "proof": proof}
            if self.problem.check_bound(-math.inf, dual) is not None:
                self.low, self.dual = max(self.low, lower), dual
                return True
        return False

    def _candidate(self, channel: Release) -> None:
        """Keep a channel that meets the distortion, if it leaks less than the best."""
        met = self.problem.repair(self.problem.check(channel), 0.0)
        leakage = self.problem.evaluate(met).leakage
        if leakage < self.high:
            self.high, self.best = leakage, met

    def _distortion(self, channel: Release) -> None:
        """Add the joint at which the expected distortion of a channel is largest."""
        joint = most_distorted(self.problem, self.ambiguity, channel.matrix)
        if joint not in self.joints:
            self.joints.append(joint)

    def _solve(self, rows: Floats) -> Program | None:
        self.programs += 1
        shares = [observed_at(joint)[self.seen] / self.p[self.seen] for joint in self.joints]
        table = (self.problem.matrix * self.problem.magnitude)[self.seen]
        return least_of_largest(rows, self.p[self.seen], [w[:, None] * table for w in shares], self.budget)
