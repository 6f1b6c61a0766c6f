"""Over a set of joints, or under a bound on a divergence: solve with rows around what is allowed, add those that the answer breaks, and again."""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np

from privopt.arrays import Floats
from privopt.core.registry import register
from privopt.core.solver import Budget, Guarantee, Proposal, Solver
from privopt.mechanisms import Channel, Merging
from privopt.problems.local_information_privacy.bound import analytic_bound
from privopt.problems.local_information_privacy.data import CURVED
from privopt.problems.local_information_privacy.layers import Layers
from privopt.problems.local_information_privacy.problem import LocalInformationPrivacy
from privopt.solvers.common.separation import set_refused
from privopt.solvers.local_information_privacy.answer import (
    ANALYTIC,
    NEGLIGIBLE,
    independent,
    matrix_from_joint,
    too_many_rows,
    whole_release,
)
from privopt.solvers.local_information_privacy.column_generation import SURE, ColumnGeneration
from privopt.solvers.local_information_privacy.columns.generation import Anytime, Generation
from privopt.solvers.local_information_privacy.columns.pricing import TOLERANCE
from privopt.solvers.local_information_privacy.cuts.descents import Allowed, Descents
from privopt.solvers.local_information_privacy.cuts.exceptions import with_exceptions
from privopt.solvers.local_information_privacy.cuts.growing import Growing
from privopt.solvers.local_information_privacy.cuts.layered import Layered
from privopt.solvers.local_information_privacy.cuts.layers import FEW
from privopt.solvers.local_information_privacy.cuts.mixtures import Curved, Mixtures, OverSet
from privopt.solvers.local_information_privacy.cuts.plateaus import Plateaus
from privopt.solvers.local_information_privacy.direct_lp import DirectLp, linear_bound, program

WALKING = 0.45
"""Share of the time in which joints are sought before the bound is proved."""

ROUND = 0.1
"""Share of the time for one round at most."""

NEAR = 1e-3
"""Reduced cost, in nats, up to which posteriors that are not in use are tried in mixtures."""

ROWS = 250
"""Rows of other joints that are kept from round to round: walks solve systems of as many."""

ROOM = 5000
"""Entries of a table whose rows vary in intervals, and of the bounds of one program of a box, up to which descents and layers may be tried."""

LAYING = 0.1
"""Share of the time that layers may take to be made: exact bounds of each entry, and of each pair of secrets."""

EARLY = 0.15
"""Share of the time that cuts may take there at first."""

LEANING, ALONE = 0.2, 0.7
"""When releases of two levels are no longer sought, as shares of the time: before descents, and where tables are too large for these."""

DESCENDING = 0.42
"""When descents end that seek what these leave open, as a share of the time."""

ON = 0.75
"""When they end where cuts leave much open and layers no less, as a share of the time."""

LARGE = 200
"""Entries from which layers of posteriors may bound what is open: on smaller tables cuts prove more."""

SMALL = 60
"""The same where the secret has few values."""

FAR = 0.25
"""They do where more than this share of the utility is open."""

WORTH = 0.85
"""Layers go on where their bound after a while leaves open less than this share of what cuts do, or anything less where cuts prove nothing."""

LATER = 0.5
"""When cuts that go on turn from further joints to the proof, as a share of the time."""

THOUSAND = 4.0
"""Seconds of a round of column generation over a thousand observations; they grow by the power 2.5."""

MIXING = 0.4
"""The part of that which a mixture takes."""

SOLVING, PROVING = 0.8, 3e-5
"""Share of the time for the programs of a distortion, at most, and seconds of writing and checking their proof, for each row and observation."""

FLAWS = 1e-10
"""Rounds end once what is left to gain is below this, relative to the utility or to 1."""


@register
@dataclass(frozen=True)
class RobustCuts(Solver[LocalInformationPrivacy]):
    """Over a set of joints, or under a bound on a divergence: solve with rows around what is allowed, add those that the answer breaks, and again.

    What a joint demands of a release is a row of the polytope of its posteriors, and so is a half-space around the posteriors
    that keep a divergence. Column generation, or one linear program for a distortion, solves each round, and its dual bounds
    what can be had on the whole set. Of the posteriors
    met, drawn towards the distribution of the observations until they keep the bounds, the best mixture is the answer. The sets are
    those of Lopuhaa-Zwakenberg and Goseling (Entropy 2024). What cuts leave open over a set is sought among releases that are likelier
    on a set of observations than elsewhere, by flips. Where rows vary in intervals posteriors are sought by descents, too, and a
    tree over the layers of posteriors proves more for large tables and wide intervals. With delta > 0 a linear program mixes in posteriors that may break the bounds, and the bound is that of the nominal joint.

    Parameters
    ----------
    tolerance : float
        What the bound may leave open, as a share of the utility, or of 1 nat if that is less.
    """

    solves: ClassVar = LocalInformationPrivacy
    name: ClassVar[str] = "cuts"
    robust: ClassVar[bool] = True
    handles: ClassVar[frozenset[str]] = frozenset({CURVED})

    tolerance: float = TOLERANCE

    def guarantee(self, problem: LocalInformationPrivacy) -> Guarantee:
        """Optimal where the gap is expected to close in seconds, otherwise bounded."""
        return Guarantee.OPTIMAL if problem.delta == 0 and self.cost(problem) <= SURE else Guarantee.BOUNDED

    def cost(self, problem: LocalInformationPrivacy) -> float:
        """Some rounds of what the nominal problem takes."""
        nominal = problem.relaxed(())
        once = (DirectLp() if problem.matrix is not None else ColumnGeneration()).cost(nominal)
        return 0.2 + 8 * once

    def refuse(self, problem: LocalInformationPrivacy) -> str | None:
        """Refuse single joints, and symbols that occur in the set but not at its nominal joint."""
        curved = CURVED in problem.beyond
        if not curved and (reason := set_refused(problem.ambiguity, problem.observation)) is not None:
            return reason
        nominal = problem.relaxed(())
        if (reason := too_many_rows(nominal)) is not None:
            return reason
        return (DirectLp() if problem.matrix is not None else ColumnGeneration()).refuse(nominal)

    def run(self, problem: LocalInformationPrivacy, budget: Budget) -> Proposal:
        """Propose the best mixture that keeps the bounds on the whole set, and the best bound proved."""
        ambiguity = problem.ambiguity
        if ambiguity is not None and problem.delta > 0:
            return with_exceptions(problem, ambiguity, budget, self.run)
        mixtures = Curved(problem) if ambiguity is None else OverSet(problem, ambiguity)
        run = _Rounds(problem, mixtures, budget, self.tolerance)
        return run.linear() if problem.matrix is not None else run.informed()


def _alone(problem: LocalInformationPrivacy) -> LocalInformationPrivacy:
    """The problem that an analytic bound is about: at one joint, with its own bounds."""
    return problem if problem.ambiguity is None else problem.relaxed(())


@dataclass
class _Rounds:
    """The rounds of one run."""

    problem: LocalInformationPrivacy
    cuts: Mixtures
    budget: Budget
    tolerance: float
    stats: dict[str, float | int | str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.start, self.left, self.part = time.monotonic(), self.budget.remaining, 1.0
        self.bound, self.dual = analytic_bound(_alone(self.problem)), dict[str, object](ANALYTIC)
        self.rounds = 0
        of_x = self.problem.observation.p_x
        self.whole = (
            0.0
            if self.problem.matrix is not None
            else float(-(of_x[of_x > 0] * np.log(of_x[of_x > 0])).sum())
        )
        self.cuts.begin()
        if isinstance(self.budget.incumbent, (Channel, Merging)):
            self.cuts.mix(self.cuts.posteriors(self.budget.incumbent))

    @property
    def utility(self) -> float:
        """What the best mixture reaches."""
        return self.whole - self.cuts.value

    def until(self, share: float) -> Budget:
        """The budget that ends when a share of the time is spent, with the best mixture to begin from."""
        end = self.start + share * self.part * self.left
        return replace(self.budget, deadline=min(end, self.budget.deadline), incumbent=self.cuts.best)

    def closed(self, estimate: float) -> bool:
        """Whether a bound, or a guess of one, leaves nothing to gain."""
        return estimate - self.utility <= FLAWS * max(1.0, abs(self.utility))

    def answer(self, stop: str) -> Proposal:
        """What was reached."""
        stats = {"iterations": self.rounds, "cuts": self.cuts.count, **self.stats, "stop": stop}
        return Proposal(self.cuts.best or self.problem.safe(), self.bound, self.dual, stats=stats)

    def lower(self, bound: float, dual: object) -> None:
        """Note a bound of the relaxed problem with its dual."""
        if bound < self.bound:
            self.bound, self.dual = bound, self.cuts.proof(dual)
        self.budget.report(self.utility, self.bound, fraction=0.5)

    def linear(self) -> Proposal:
        """Rounds of the linear program of a distortion."""
        first = program(self.cuts.relaxed())
        growing, rows, count, stop = Growing(first), first.rows, self.cuts.count, ""
        while not stop:
            self.rounds += 1
            begun, relaxed = time.monotonic(), self.cuts.relaxed()
            rows, count = program(relaxed).rows, self.cuts.count
            solving = self._before_proof(rows)
            solved = growing.solve(rows, solving)
            posteriors = self.cuts.posteriors(relaxed.answer(matrix_from_joint(relaxed, growing.q)))
            new = self.cuts.separate(posteriors)
            self.cuts.mix(posteriors)
            if solved and (not new or self.closed(-growing.value)):
                stop = "no joint breaks the bounds"
            elif not solved or solving.remaining <= time.monotonic() - begun:
                stop = "out of time"
            elif self.rounds == 1 and self.problem.ambiguity is not None:
                Plateaus(self.cuts, self.budget.seed).run(self.until(LEANING))
        self.stats["cuts"] = self.cuts.count
        self._by_multipliers(growing.multipliers(rows), count)
        return self.answer(stop)

    def _before_proof(self, rows: Floats) -> Budget:
        """The budget that leaves time for a proof with so many rows, but no more than half."""
        until = self.until(SOLVING)
        seconds = min(PROVING * rows.size, 0.5 * self.left)
        return replace(until, deadline=min(until.deadline, self.budget.deadline - seconds))

    def _by_multipliers(self, multipliers: Floats, count: int) -> None:
        """Note the bound that multipliers (m, r) of rows prove, the last ones of joints; those without any are left out."""
        first = multipliers.shape[1] - count
        used = np.flatnonzero(multipliers[:, first:].max(axis=0, initial=0.0) > 0)
        self.cuts.keep(used.tolist())
        relaxed = self.cuts.relaxed()
        some = np.concatenate([multipliers[:, :first], multipliers[:, first:][:, used]], axis=1)
        if some.shape[1] == len(program(relaxed).rows) > 0:
            self.lower(linear_bound(relaxed, some), {"kind": "linear", "multipliers": some.tolist()})

    def informed(self) -> Proposal:
        """Rounds of column generation, and layers where these leave much open."""
        if independent(self.problem) and whole_release(self.problem.relaxed(())) is None:
            return self.answer("the bounds leave no room")
        if self.budget.remaining < MIXING * self._round_seconds:
            return self.answer("the time is short for so many observations")
        layers = self._layers()
        if self.problem.ambiguity is None:
            return self.answer(self._cut(WALKING))
        self.part = EARLY
        stop = self._cut(WALKING)
        self.part = 1.0
        if self._enough() or self.budget.remaining == 0:
            return self.answer(stop)
        plateaus = Plateaus(self.cuts, self.budget.seed)
        if layers is None:
            plateaus.run(self.until(ALONE))
            return self.answer(self._cut(LATER))
        plateaus.run(self.until(LEANING))
        descents = Descents(Allowed(layers), self.cuts, self.budget.seed)
        descents.run(self.until(DESCENDING))
        secrets, symbols = self.problem.sizes[:2]
        large = secrets * symbols >= (SMALL if secrets <= FEW else LARGE)
        far = self.bound - self.utility > (0.0 if self._stuck else FAR) * self.utility
        if large and far and self._layered(layers, descents):
            return self.answer("out of time")
        if self._stuck or (large and far):
            descents.run(self.until(ON))
        return self.answer(self._cut(LATER))

    @property
    def _stuck(self) -> bool:
        """Whether cuts have proved nothing yet."""
        return self.dual == ANALYTIC

    def _layers(self) -> Layers | None:
        """Layers, where there are some and programs of boxes are small."""
        secrets, symbols = self.problem.sizes[:2]
        if self.problem.ambiguity is None or secrets * symbols > ROOM:
            return None
        if LAYING * self.budget.remaining < 1.4e-4 * secrets * symbols + 6e-5 * secrets**2:
            return None
        layers = Layers.of(self.problem, self.problem.ambiguity)
        return None if layers is None or layers.above.shape[0] * symbols > ROOM else layers

    def _layered(self, layers: Layers, descents: Descents) -> bool:
        """Whether layers bound what cuts leave open well enough to be gone on with."""
        run = Layered(self.problem, layers, descents, self.until)
        first = run.begin()
        if not first - self.utility < (1.0 if self._stuck else WORTH) * (self.bound - self.utility):
            return False
        proved = run.run()
        if proved is not None and proved[0] < self.bound:
            self.bound, self.dual = proved
        self.stats["boxes"] = run.boxes
        self.budget.report(self.utility, self.bound, fraction=0.95)
        return True

    def _enough(self) -> bool:
        """Whether the bound leaves open no more than it may."""
        most = self.tolerance * min(1.0, abs(self.utility))
        return self.closed(self.bound) or self.bound - self.utility <= most

    @property
    def _round_seconds(self) -> float:
        """What one round of column generation is predicted to take."""
        return float(THOUSAND * (len(self.cuts.p) / 1000) ** 2.5)

    def _cut(self, walking: float) -> str:
        """Rounds of column generation, first without a proof of each; why they end."""
        if self.budget.remaining < self._round_seconds:
            return "the time is short for so many observations"
        while self.until(walking).remaining > 0:
            posteriors, estimate = self._walked(walking)
            self.cuts.prune(posteriors, ROWS)
            new = self.cuts.separate(posteriors)
            if not new or self.closed(estimate):
                break
        while True:
            posteriors = self._proved()
            if self._enough():
                return "no joint breaks the bounds"
            self.cuts.prune(posteriors, ROWS)
            if not self.cuts.separate(posteriors):
                return "what is left open is rounding, or the time was short"
            if self.until(0.9).remaining == 0:
                return "out of time"

    def _walked(self, walking: float) -> tuple[Floats, float]:
        """The posteriors in use after walks, and what they reach without regard to other joints."""
        self.rounds += 1
        relaxed = self.cuts.relaxed()
        if whole_release(relaxed) is not None:
            points = np.eye(len(self.cuts.p))
            self.cuts.mix(points)
            return points, self.whole
        until = self.until(walking)
        until = replace(until, deadline=min(until.deadline, time.monotonic() + ROUND * self.left))
        columns = Generation(relaxed, until)
        while until.remaining > 0 and columns.walk(until):
            pass
        return self._used(columns), self.whole - columns.value

    def _used(self, columns: Generation) -> Floats:
        """The posteriors in use; those near to it are tried in mixtures too."""
        last = columns.master
        self.cuts.mix(last.columns[last.costs - last.columns @ columns.prices < NEAR])
        return last.columns[columns.weights > NEGLIGIBLE]

    def _proved(self) -> Floats:
        """One round of column generation with its proof; the posteriors in use."""
        self.rounds += 1
        relaxed = self.cuts.relaxed()
        if (whole := whole_release(relaxed)) is not None:
            if whole.bound is not None:
                self.lower(whole.bound, whole.dual)
            points = np.eye(len(self.cuts.p))
            self.cuts.mix(points)
            return points
        until = self.until(0.95)
        run = Anytime(relaxed, until, self.tolerance, turn=0.4, end=1.0)
        run.finish()
        bound, dual = run.proved(relaxed)
        if dual is not ANALYTIC:
            self.lower(bound, dual)
        return self._used(run.columns)
