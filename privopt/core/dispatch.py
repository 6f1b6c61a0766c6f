"""The life of a problem: pick solvers, judge what they propose, keep the best."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Generic

from privopt.core.alarm import raise_alarm
from privopt.core.beside import Outcome
from privopt.core.expected import ends_surely, proving
from privopt.core.isolate import PATIENCE, SolverFailure, SolverTimeout, describe
from privopt.core.judge import BEATEN, contradicts, judge, with_bound
from privopt.core.portfolio import FEASIBLE_SHARE, Search, best_of, winner_of
from privopt.core.predictions import corrected
from privopt.core.problem import M, Problem
from privopt.core.reformulation import propose, seen_by
from privopt.core.registry import find_solver, solvers_of
from privopt.core.solution import Solution, Status
from privopt.core.solver import Budget, Candidate, Guarantee, Proposal, Solver, fit, missing_requirement
from privopt.errors import InvalidProblem, UnsuitableSolver

BY_NAME_ONLY = (Guarantee.BASELINE, Guarantee.ORACLE)

RESERVE = 0.3
"""Share of the time limit that is kept, at most, for judging the last proposal, unless it is predicted to take longer."""
LATE = 1.5
"""Seconds of judging, as predicted, that may pass the limit then."""
HARMLESS = 0.5
"""Seconds of judging, as predicted, that may pass the limit: for less nothing is kept until it is measured."""
LATEST = 1.0
"""Seconds past the limit up to which a solver of milliseconds may begin that imports left no time for, beside those of the imports."""
MODULES = 20
"""Modules that are new after a run in which it was imports that took the time."""
FIRST = 2
"""While no more was judged, or predicted, than the anchor, half of what is left is for the first solver all the same."""


def candidates(problem: Problem[Any]) -> tuple[Candidate, ...]:
    """Every registered solver for a problem: those that take it, best first; then the refusals.

    The order is (guarantee, predicted seconds, name), so it does not depend on how files were found.

    Examples
    --------
    >>> import privopt as po
    >>> problem = po.Redaction(po.MarkovChain([[0.9, 0.1], [0.5, 0.5]]), 5, 2, epsilon=1.0)
    >>> [c.name for c in po.candidates(problem)][0]
    'optimal'
    """
    kinds = solvers_of(type(_problem(problem))).values()
    fit = [corrected(fitness(cls(), problem), problem) for cls in kinds]
    return tuple(sorted(fit, key=_preference))


def fitness(solver: Solver[Any], problem: Problem[Any]) -> Candidate:
    """One solver's fitness for one problem."""
    try:
        posed = seen_by(solver, problem)
        if posed.contiguous and not solver.contiguous:
            return Candidate(
                solver, "the problem asks for intervals and nodes of a hierarchy, which it does not keep to"
            )
        if posed.robust and not solver.robust:
            return Candidate(solver, "the problem is over a set of distributions, and it knows one only")
        if more := posed.beyond - solver.handles:
            return Candidate(solver, f"the problem has {' and '.join(sorted(more))}, which it does not take")
        refusal = missing_requirement(solver) or solver.refuse(posed)
        if refusal is not None:
            return Candidate(solver, str(refusal))
        return fit(solver, posed)
    except Exception as cause:  # noqa: BLE001 - foreign code may raise anything; it becomes the refusal
        return Candidate(solver, f"its own check failed: {describe(cause)}")


def _preference(c: Candidate) -> tuple[int, int, float, str]:
    if c.guarantee is None or c.seconds is None:
        return (1, 0, 0.0, c.name)
    return (0, c.guarantee.rank, c.seconds, c.name)


def _problem(problem: object) -> Problem[Any]:
    if not isinstance(problem, Problem):
        raise InvalidProblem(
            f"expected a problem such as privopt.Redaction(...), got {type(problem).__name__}"
        )
    return problem


def select(problem: Problem[Any], *, time_limit: float = 10.0) -> Solver[Any] | None:
    """The solver that :func:`solve` would rely on, without running it; None if all refuse.

    Examples
    --------
    >>> import privopt as po
    >>> po.select(po.Redaction(po.MarkovChain([[0.9, 0.1], [0.5, 0.5]]), 5, 2, epsilon=1.0)).name
    'optimal'
    """
    takers = [c for c in candidates(problem) if c.refusal is None and c.guarantee not in BY_NAME_ONLY]
    order = proving(takers, (1 - FEASIBLE_SHARE) * time_limit) or takers
    return order[0].solver if order else None


def solve(
    problem: Problem[M],
    solver: str | Solver[Any] | None = None,
    *,
    time_limit: float = 10.0,
    certify: bool = True,
    seed: int = 0,
    progress: Callable[[float, str], None] | None = None,
) -> Solution[M]:
    """Answer a problem: find a mechanism, judge it, prove that it is private.

    Parameters
    ----------
    problem : Problem
        What is asked.
    solver : str or Solver, optional
        A name such as ``"relaxation"`` or a solver object with its options; then only that one runs.
        By default a portfolio: quick proofs, cheap feasible solvers, then those that prove, until the gap is closed,
        the time is spent or all have run.
    time_limit : float
        Seconds, > 0. Overshoot is at most two seconds.
    certify : bool
        False skips quantising and certifying; the mechanism then releases only as a simulation.
    seed : int
        The same seed gives the same answer.
    progress : callable (fraction, message), optional
        Told how far the run is.

    Returns
    -------
    Solution
        With a status; infeasible, out of time, not private and failed are statuses, not exceptions.

    Raises
    ------
    UnsuitableSolver
        If the solver named does not exist or answers another kind of problem.
    InvalidProblem
        If ``problem`` is not a problem or ``time_limit`` is not positive.

    Examples
    --------
    >>> import privopt as po
    >>> problem = po.Redaction(po.MarkovChain([[0.75, 0.25], [0.5, 0.5]]), 5, 2, epsilon=1.0)
    >>> solution = po.solve(problem)
    >>> solution.status.ok, solution.certified, round(solution.utility, 6)
    (True, True, 0.65107)
    """
    _problem(problem)
    if not time_limit > 0:
        raise InvalidProblem(f"time_limit must be > 0 seconds, got {time_limit}")
    return solve_from(
        problem, None, solver, time_limit=time_limit, certify=certify, seed=seed, progress=progress
    )


def solve_from(
    problem: Problem[M],
    start: Solution[M] | None,
    solver: str | Solver[Any] | None = None,
    *,
    time_limit: float,
    certify: bool,
    seed: int,
    progress: Callable[[float, str], None] | None = None,
) -> Solution[M]:
    """As :func:`solve`, from the answer to a neighbouring problem, where that keeps the budget of this one."""
    begun = time.monotonic()
    told = progress or (lambda fraction, message: None)
    needed = problem.judging_seconds
    call = _Call(
        problem,
        begun,
        time_limit,
        certify,
        seed,
        told,
        [needed if needed > HARMLESS else 0.0],
        judging=needed,
    )
    if needed > time_limit:
        return _too_large(needed, time_limit)
    carried = None if start is None else carried_over(problem, start, certify)
    if solver is None:
        return _dispatch(call, carried)
    incumbent = None if carried is None else carried.answer
    return call.finish(call.run(fitness(find_solver(problem, solver), problem), None, incumbent), ())


def _too_large(needed: float, time_limit: float) -> Solution[Any]:
    reason = (
        f"judging one mechanism of this size takes about {needed:.2g} s, more than the time limit of "
        f"{time_limit:g} s: give time_limit={math.ceil(2 * needed)} or more"
    )
    return Solution(Status.REFUSED, reason=reason)


def carried_over(problem: Problem[M], neighbour: Solution[M], certify: bool) -> Solution[M] | None:
    """The answer to a neighbouring problem, judged for this one; None where it does not keep this budget."""
    if neighbour.answer is None or not problem.evaluate(neighbour.answer).feasible:
        return None
    judged = judge(problem, Proposal(neighbour.answer), certify=certify)
    if not judged.status.ok:
        return None
    return replace(judged, solver=neighbour.solver, reason="carried over from a neighbouring budget")


@dataclass(frozen=True)
class _Call(Generic[M]):
    """One call of solve: its clock and its settings."""

    problem: Problem[M]
    begun: float
    time_limit: float
    certify: bool
    seed: int
    progress: Callable[[float, str], None]
    judgings: list[float] = field(default_factory=list)
    """Seconds of judging what was proposed so far: the longest are kept for the last proposal."""
    granted: list[float] = field(default_factory=list)
    """Seconds beyond the limit, see :meth:`grant`."""
    judging: float = 0.0
    """Predicted seconds of judging one mechanism."""
    imported: list[float] = field(default_factory=list)
    """Seconds of runs in which packages were imported, beyond what was predicted."""

    @property
    def left(self) -> float:
        rest = self.begun + self.time_limit + sum(self.granted) - time.monotonic()
        most = max(RESERVE * self.time_limit, self.judging - LATE)
        reserve = min(max(self.judgings, default=0.0), most)
        if len(self.judgings) <= FIRST:
            reserve = min(reserve, rest / 2)
        return rest - reserve

    def grant(self, seconds: float) -> bool:
        """Let that much time be left, if the limit is not long past."""
        if time.monotonic() > self.begun + self.time_limit + LATEST + sum(self.imported):
            return False
        self.granted.append(max(0.0, seconds - self.left))
        return True

    def run(
        self,
        candidate: Candidate,
        seconds: float | None = None,
        incumbent: M | None = None,
        least: float = -math.inf,
        known: float = math.inf,
    ) -> Solution[M]:
        """Run one candidate within some seconds (all that is left by default) from an incumbent, and judge it.

        What is below ``least`` is judged by its reading only; a bound that it claims to be no less than ``known`` is not checked.
        """
        begun, modules = time.monotonic(), len(sys.modules)
        if candidate.refusal is not None:
            return Solution(Status.REFUSED, reason=candidate.refusal, solver=candidate.solver.name)
        deadline = begun + (self.left if seconds is None else min(seconds, self.left))
        outcome: Outcome
        try:
            outcome = propose(
                candidate.solver, self.problem, Budget(deadline, self.seed, self.progress, incumbent)
            )
        except (SolverTimeout, SolverFailure) as cause:
            outcome = cause
        patience = max(0.0, deadline - time.monotonic()) + PATIENCE
        judged = self.judged(candidate, outcome, least, known, patience)
        spent = time.monotonic() - begun
        if len(sys.modules) >= modules + MODULES:
            self.imported.append(max(0.0, spent - (candidate.seconds or 0.0)))
        return replace(judged, seconds=spent)

    def judged(
        self,
        candidate: Candidate,
        outcome: Outcome,
        least: float,
        known: float = math.inf,
        patience: float = PATIENCE,
    ) -> Solution[M]:
        """Judge what a candidate proposed, its bound within some seconds, or take down why it did not."""
        match outcome:
            case SolverTimeout():
                return Solution(Status.TIME_OUT, reason=str(outcome), solver=candidate.solver.name)
            case SolverFailure():
                return Solution(Status.FAILED, reason=str(outcome), solver=candidate.solver.name)
            case _:
                proposal = outcome
                if proposal.bound is not None and proposal.bound >= known:
                    proposal = replace(proposal, bound=None, dual=None)
                return replace(
                    self._judge(candidate, proposal, least, patience), solver=candidate.solver.name
                )

    def _judge(self, candidate: Candidate, proposal: Proposal, least: float, patience: float) -> Solution[M]:
        begun, modules = time.monotonic(), len(sys.modules)
        judged = judge(
            self.problem,
            proposal,
            certify=self.certify,
            seconds=patience,
            repairable=candidate.solver.repairable,
            least=least,
        )
        spent = time.monotonic() - begun
        if len(sys.modules) >= modules + MODULES:  # what is imported once is not imported by the next judging
            spent = min(spent, max(self.problem.judging_seconds, *self.judgings, 0.0))
        self.judgings.append(spent)
        if "contradiction" not in judged.stats:
            return judged
        return self._alarmed(replace(judged, solver=candidate.solver.name), proposal)

    def _alarmed(self, judged: Solution[M], proposal: Proposal) -> Solution[M]:
        """The alarm where a solver's own bound is below its own answer."""
        claimed = -math.inf if proposal.bound is None else proposal.bound
        bound = self.problem.check_bound(claimed, proposal.dual)
        return raise_alarm(self.problem, judged, replace(judged, bound=bound, dual=proposal.dual))

    def anchor(self) -> Solution[M]:
        """The anchor, judged by its reading where that is exact: it is seldom the answer, see :meth:`certified`.

        What is made once of a problem, such as its fingerprint, is no part of a judging.
        """
        start, fingerprint = self.problem.anchor(), self.problem.fingerprint
        begun = time.monotonic()
        judged = judge(self.problem, Proposal(start), certify=self.certify, least=math.inf)
        self.judgings.append(time.monotonic() - begun)
        reason = "" if judged.reason == BEATEN else judged.reason
        return replace(judged, solver="anchor", reason=reason, problem=fingerprint)

    def certified(self, read: Solution[M]) -> Solution[M]:
        """A solution that was judged by its reading only, judged whole; its checked bound is kept."""
        judged = judge(self.problem, Proposal(read.answer), certify=True)
        stats = {**read.stats, **judged.stats}
        judged = replace(judged, solver=read.solver, seconds=read.seconds, stats=stats)
        if read.bound is None:
            return judged
        if not judged.status.ok or contradicts(self.problem, judged, read.bound):
            return replace(judged, bound=read.bound, dual=read.dual)
        return with_bound(self.problem, judged, read.bound, read.dual)

    def finish(self, solution: Solution[M], alternatives: tuple[str, ...]) -> Solution[M]:
        return replace(solution, problem=self.problem.fingerprint, alternatives=alternatives)


def _dispatch(call: _Call[M], carried: Solution[M] | None) -> Solution[M]:
    """Search from the anchor; the best judged answer wins, with the best bound that was checked.

    Where judging takes long and a proof is sure to end in time, the anchor comes last, and only if it did not.
    """
    listed = candidates(call.problem)
    takers = [c for c in listed if c.refusal is None and c.guarantee not in BY_NAME_ONLY]
    search = Search(call, takers)
    last = call.problem.judging_seconds > HARMLESS and any(ends_surely(c, call.left) for c in takers)
    if not last:
        search.runs.append(call.anchor())
    if carried is not None:
        search.runs.append(carried)
    search.run()
    if last and not search.settled:
        search.runs.append(call.anchor())
    best = _best_certified(call, search)
    alternatives = tuple(_account(c, search.tried) for c in listed)
    return call.finish(replace(best, seconds=time.monotonic() - call.begun), alternatives)


def _best_certified(call: _Call[M], search: Search[M]) -> Solution[M]:
    """The best of some runs; one that was judged by its reading only is certified now, before a bound is held against it."""
    while call.certify:
        best = winner_of(call.problem, search.runs)
        if best is None or best.certificate is not None:
            break
        place = next(i for i, run in enumerate(search.runs) if run.answer is best.answer)
        search.runs[place] = certified = call.certified(search.runs[place])
        if best.solver in search.tried and search.tried[best.solver].answer is best.answer:
            search.tried[best.solver] = certified
    return best_of(call.problem, search.runs)


def _account(c: Candidate, tried: dict[str, Solution[Any]]) -> str:
    """What became of one candidate, in a line."""
    ran = tried.get(c.name)
    if ran is None:
        note = "runs by name and in compare only" if c.guarantee in BY_NAME_ONLY else "not run"
        return str(c) if c.refusal is not None else f"{c} ({note})"
    return str(ran).replace("NOT certified", "beaten and not certified") if ran.reason == BEATEN else str(ran)


def check_solvers(problem: Problem[Any], solvers: Sequence[str | Solver[Any]] | None) -> list[Candidate]:
    """The candidates asked for, or all of them."""
    if solvers is None:
        return list(candidates(problem))
    if isinstance(solvers, str):
        raise UnsuitableSolver(f"solvers must be a list of names or solver objects, got {solvers!r}")
    return [fitness(find_solver(problem, s), problem) for s in solvers]
