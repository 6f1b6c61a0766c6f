"""A problem that is another problem: solved by the solvers of the other, judged in its own words."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Hashable
from dataclasses import replace
from typing import Any, ClassVar

from privopt.core.certificate import Certificate, Terms
from privopt.core.isolate import SolverFailure, describe, run_guarded
from privopt.core.problem import Enclosure, Evaluation, M, Numbers, Problem
from privopt.core.solver import Budget, Proposal, Solver
from privopt.errors import InvalidMechanism
from privopt.files.labels import Labels
from privopt.mechanisms import Mechanism


class Reformulation(Problem[M]):
    """A reformulation: a problem that is another problem, its target, under another name.

    A subclass names the kind of its target and builds it; every solver of that kind then serves it, by the same name,
    beside solvers of its own. Judgement and proofs are those of the target: a mechanism has the same utility, leakage
    and objective there, so that a bound on the one is a bound on the other and a dual proves both. The certificate is
    stated for this problem, with its own claim, terms and fingerprint.

    Where the mechanisms of the two differ, :meth:`posed` and :meth:`restored` map one to the other and back without
    rounding, and :meth:`check` is overridden.

    Attributes
    ----------
    target_type : class of problems
        Whose solvers serve this one.

    Examples
    --------
    >>> import privopt as po
    >>> vote = po.JointDistribution([[0.4, 0.1], [0.1, 0.4]], ["left", "right"], ["city", "country"])
    >>> problem = po.PointwiseMaximalLeakage(vote, epsilon=0.25)
    >>> isinstance(problem, Reformulation), type(problem.target).__name__, problem.target.upper
    (True, 'LocalInformationPrivacy', 0.25)
    """

    target_type: ClassVar[type[Problem[Any]]]

    @property
    @abstractmethod
    def target(self) -> Problem[Any]:
        """The problem that this one is."""

    def posed(self, mechanism: M) -> Any:
        """A mechanism of this problem as one of the target; the default is itself."""
        return mechanism

    def restored(self, mechanism: Any) -> M:
        """A mechanism of the target as one of this problem; the default is itself."""
        mapped: M = mechanism
        return mapped

    @property
    def claim(self) -> str:
        """What a certificate claims."""
        return "leakage <= budget"

    def where(self, worst: tuple[Hashable, ...], where: str) -> str:
        """The output at which the worst pair leaks, in words; the default is what the target says."""
        return where

    @property
    def release_labels(self) -> Labels | None:
        """Those of the target."""
        return self.target.release_labels

    @property
    def leakage_unit(self) -> str:
        """That of the target."""
        return self.target.leakage_unit

    def check(self, mechanism: Mechanism) -> M:
        """The mechanism, if it is one for the target."""
        try:
            return self.restored(self.target.check(mechanism))
        except InvalidMechanism as cause:
            told = str(cause).replace(self.target_type.__name__, type(self).__name__)
            raise InvalidMechanism(told) from cause

    def evaluate(self, mechanism: M) -> Evaluation:
        """What the target reads, in this problem's words."""
        reading = self.target.evaluate(self.posed(self.check(mechanism)))
        return replace(reading, where=self.where(reading.worst, reading.where))

    def certify(self, mechanism: M) -> Certificate:
        """What the target proves, stated for this problem."""
        checked = self.check(mechanism)
        proved = self.target.certify(self.posed(checked))
        return self.restated(proved, checked, claim=self.claim, where=self.where(proved.worst, proved.where))

    def terms(self, mechanism: M) -> Terms:
        """What a certificate is about; the default is what the target says."""
        return self.target.terms(self.posed(mechanism))

    def is_worst(self, mechanism: M, worst: tuple[Hashable, ...], where: str) -> bool | None:
        """Whether the target finds that the named pair leaks as much as any."""
        return self.target.is_worst(self.posed(mechanism), worst, where)

    def anchor(self) -> M:
        """The anchor of the target."""
        return self.restored(self.target.anchor())

    def repair(self, mechanism: M, margin: float) -> M:
        """The target's repair."""
        return self.restored(self.target.repair(self.posed(mechanism), margin))

    def prove_bound(self, dual: object, seconds: float = math.inf) -> Enclosure | None:
        """What ``dual`` proves of the target."""
        return self.target.prove_bound(dual, seconds)

    def check_infeasible(self, witness: object) -> str | None:
        """Why the target has no mechanism, if ``witness`` proves it."""
        return self.target.check_infeasible(witness)

    @property
    def robust(self) -> bool:
        """Whether the target is over a set of distributions."""
        return self.target.robust

    @property
    def sizes(self) -> tuple[int, ...]:
        """Those of the target."""
        return self.target.sizes

    @property
    def judging_seconds(self) -> float:
        """What the target predicts."""
        return self.target.judging_seconds

    def objective_of(self, utility: float, leakage: float) -> float:
        """The target's objective."""
        return self.target.objective_of(utility, leakage)

    def scale(self, solution: Numbers) -> float:
        """The target's scale of gaps."""
        return self.target.scale(solution)


def kinds_of(kind: type[Problem[Any]]) -> tuple[type[Problem[Any]], ...]:
    """A kind of problem, and the kinds that it is reformulated into, one after the other.

    Examples
    --------
    >>> import privopt as po
    >>> [k.__name__ for k in kinds_of(po.PointwiseMaximalLeakage)]
    ['PointwiseMaximalLeakage', 'LocalInformationPrivacy']
    """
    if not issubclass(kind, Reformulation):
        return (kind,)
    return (kind, *kinds_of(kind.target_type))


def seen_by(solver: Solver[Any], problem: Problem[Any]) -> Problem[Any]:
    """The problem as a solver sees it: itself, or the target that the solver solves."""
    while isinstance(problem, Reformulation) and not isinstance(problem, solver.solves):
        problem = problem.target
    return problem


def propose(solver: Solver[Any], problem: Problem[Any], budget: Budget) -> Proposal:
    """Run a solver on the problem or on its target, and return what it proposes as an answer to the problem.

    Raises
    ------
    SolverTimeout, SolverFailure
        As :func:`privopt.core.isolate.run_guarded`; also if a mechanism cannot be mapped back.
    """
    if not isinstance(problem, Reformulation) or isinstance(problem, solver.solves):
        return run_guarded(solver, problem, budget)
    start = budget.incumbent
    if start is not None:
        budget = replace(budget, incumbent=problem.posed(problem.check(start)))
    proposal = propose(solver, problem.target, budget)
    if proposal.mechanism is None:
        return proposal
    try:
        return replace(proposal, mechanism=problem.restored(proposal.mechanism))
    except Exception as cause:
        raise SolverFailure(f"its mechanism cannot be mapped back: {describe(cause)}") from cause
