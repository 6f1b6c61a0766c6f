"""The life of a problem: pick solvers, judge what they propose, keep the best."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Generic

from privopt.core.alarm import raise_alarm
from privopt.core.isolate import PATIENCE, SolverFailure, SolverTimeout, describe
from privopt.core.judge import contradicts, judge, with_bound
from privopt.core.problem import M, Problem
from privopt.core.reformulation import propose, seen_by
from privopt.core.registry import find_solver, solvers_of
from privopt.core.solution import Solution, Status, standing
from privopt.core.solver import Budget, Candidate, Guarantee, Proposal, Solver, missing_requirement
from privopt.errors import InvalidProblem, UnsuitableSolver

BY_NAME_ONLY = (Guarantee.BASELINE, Guarantee.ORACLE)

QUICK = 0.1
"""Predicted seconds of a prover that runs before anything else."""
PROBE = 1.0
"""Seconds that such a prover gets at first; one that is stopped runs again among those that prove."""
FEASIBLE_SHARE = 0.15
"""Share of the time limit that feasible solvers get, at most, before those that prove."""
ALIKE = 1e-9
"""Objectives that differ by less, relative to the problem's scale, count as equal."""
SLICE = 4.0
"""How many times its predicted seconds a prover may take while others wait."""


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
    found = [fitness(cls(), problem) for cls in solvers_of(type(_problem(problem))).values()]
    return tuple(sorted(found, key=_preference))


def fitness(solver: Solver[Any], problem: Problem[Any]) -> Candidate:
    """One solver's fitness for one problem."""
    try:
        posed = seen_by(solver, problem)
        refusal = missing_requirement(solver) or solver.refuse(posed)
        if refusal is not None:
            return Candidate(solver, str(refusal))
        return Candidate(solver, None, solver.guarantee(posed), float(solver.cost(posed)))
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
    order = _provers(takers, (1 - FEASIBLE_SHARE) * time_limit) or takers
    return order[0].solver if order else None


def _provers(takers: Sequence[Candidate], seconds: float) -> list[Candidate]:
    """Those that bound the optimum: first what is predicted to end in time, then what improves until it is stopped."""
    proving = [c for c in takers if c.guarantee in (Guarantee.OPTIMAL, Guarantee.BOUNDED)]
    fitting = [c for c in proving if _seconds(c) <= 0.5 * seconds]
    return fitting + [c for c in proving if c not in fitting and c.solver.interruptible]


def _seconds(c: Candidate) -> float:
    return math.inf if c.seconds is None or math.isnan(c.seconds) else c.seconds


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
    call = _Call(
        problem, time.monotonic(), time_limit, certify, seed, progress or (lambda fraction, message: None)
    )
    if solver is not None:
        return call.finish(call.run(fitness(find_solver(problem, solver), problem)), ())
    return _dispatch(call)


@dataclass(frozen=True)
class _Call(Generic[M]):
    """One call of solve: its clock and its settings."""

    problem: Problem[M]
    begun: float
    time_limit: float
    certify: bool
    seed: int
    progress: Callable[[float, str], None]

    @property
    def left(self) -> float:
        return self.begun + self.time_limit - time.monotonic()

    def run(
        self, candidate: Candidate, seconds: float | None = None, incumbent: M | None = None
    ) -> Solution[M]:
        """Run one candidate within some seconds (all that is left by default) from an incumbent, and judge it."""
        name, begun = candidate.name, time.monotonic()
        if candidate.refusal is not None:
            return Solution(Status.REFUSED, reason=candidate.refusal, solver=name)
        deadline = begun + (self.left if seconds is None else min(seconds, self.left))
        try:
            proposal = propose(
                candidate.solver, self.problem, Budget(deadline, self.seed, self.progress, incumbent)
            )
            patience = max(0.0, deadline - time.monotonic()) + PATIENCE
            judged = judge(
                self.problem,
                proposal,
                certify=self.certify,
                seconds=patience,
                repairable=candidate.solver.repairable,
            )
            if "contradiction" in judged.stats:
                judged = self._alarmed(replace(judged, solver=name), proposal)
        except SolverTimeout as cause:
            judged = Solution(Status.TIME_OUT, reason=str(cause))
        except SolverFailure as cause:
            judged = Solution(Status.FAILED, reason=str(cause))
        return replace(judged, solver=name, seconds=time.monotonic() - begun)

    def _alarmed(self, judged: Solution[M], proposal: Proposal) -> Solution[M]:
        """The alarm where a solver's own bound is below its own answer."""
        claimed = -math.inf if proposal.bound is None else proposal.bound
        bound = self.problem.check_bound(claimed, proposal.dual)
        return raise_alarm(self.problem, judged, replace(judged, bound=bound, dual=proposal.dual))

    def finish(self, solution: Solution[M], alternatives: tuple[str, ...]) -> Solution[M]:
        return replace(solution, problem=self.problem.fingerprint, alternatives=alternatives)


def _dispatch(call: _Call[M]) -> Solution[M]:
    """An anytime portfolio: quick proofs, then cheap feasible solvers, then those that prove, then the rest.

    It ends when the gap is closed, the time is spent, or every taker has run to its end. The best judged answer
    wins, with the best bound that was checked.
    """
    listed = candidates(call.problem)
    takers = [c for c in listed if c.refusal is None and c.guarantee not in BY_NAME_ONLY]
    search = _Search(call, takers)
    anchor = judge(call.problem, Proposal(call.problem.anchor()), certify=call.certify)
    search.runs.append(replace(anchor, solver="anchor"))
    search.run()
    best = _best(call.problem, search.runs)
    alternatives = tuple(_account(c, search.tried) for c in listed)
    return call.finish(replace(best, seconds=time.monotonic() - call.begun), alternatives)


@dataclass
class _Search(Generic[M]):
    """The order in which takers run, and for how long."""

    call: _Call[M]
    takers: Sequence[Candidate]
    runs: list[Solution[M]] = field(default_factory=list)
    """What was judged, in order; a solver that ran twice is there twice."""
    tried: dict[str, Solution[M]] = field(default_factory=dict)
    """The best run of each solver."""
    cut: dict[str, float] = field(default_factory=dict)
    """Seconds of solvers that were stopped before their end: they may run again, for longer."""

    def run(self) -> None:
        """Run takers until the gap is closed, the time is spent, or all of them have run."""
        limit = self.call.time_limit
        feasible = sorted(
            (c for c in self.takers if c.guarantee is Guarantee.FEASIBLE), key=lambda c: (_seconds(c), c.name)
        )
        provers = _provers(self.takers, self.call.left)
        for c in sorted(provers, key=_seconds):
            if _seconds(c) <= QUICK:
                self._try(c, min(PROBE, self.call.left / 3))
        budget = min([FEASIBLE_SHARE * limit, *(max(QUICK, _seconds(c)) for c in provers)])
        until = self.call.left - budget
        for c in feasible:
            if self._affords(c, self.call.left - until):
                self._try(c, self.call.left - until)
        self._prove([c for c in provers if c.name not in self.tried or c.name in self.cut])
        unfinished = [c for c in (*provers, *feasible) if c.name in self.cut]
        for c in (*(c for c in feasible if c.name not in self.tried), *unfinished):
            if self.call.left > 2 * self.cut.get(c.name, 0.0):
                self._try(c, self.call.left)

    def _prove(self, provers: Sequence[Candidate]) -> None:
        """The last that can be stopped gets all the time that is left; those before it several predictions."""
        for i, c in enumerate(provers):
            left = self.call.left
            slice_ = min(max(SLICE * _seconds(c), left / 3), 0.6 * left)
            if not c.solver.interruptible:
                slice_ = min(SLICE * _seconds(c) + PATIENCE, left / 3)
            elif not any(after.solver.interruptible for after in provers[i + 1 :]):
                slice_ = left if self._answered else 0.6 * left
            self._try(c, slice_)

    def _affords(self, c: Candidate, seconds: float) -> bool:
        """Whether a solver is worth starting: it fits, or can be stopped, or nothing else has an answer yet."""
        return seconds > 0 and (_seconds(c) <= seconds or (c.solver.interruptible and not self._answered))

    @property
    def _answered(self) -> bool:
        """Whether some solver did better than the anchor."""
        ok = [s for s in self.runs if s.status.ok]
        return bool(ok) and max(ok, key=_rank).solver != "anchor"

    @property
    def _incumbent(self) -> M | None:
        """The mechanism of the best answer so far."""
        best = max((s for s in self.runs if s.status.ok), key=_rank, default=None)
        return None if best is None else best.answer

    def _try(self, c: Candidate, seconds: float) -> None:
        done = c.name in self.tried and c.name not in self.cut
        if done or min(seconds, self.call.left) <= 0 or _settled(self.call.problem, self.runs):
            return
        begun = time.monotonic()
        solution = self.call.run(c, seconds, self._incumbent)
        self.runs.append(solution)
        before = self.tried.get(c.name)
        if before is None or not before.status.ok or (solution.status.ok and _rank(solution) > _rank(before)):
            self.tried[c.name] = solution
        spent = time.monotonic() - begun
        self.cut.pop(c.name, None)
        if spent >= 0.9 * seconds:
            self.cut[c.name] = spent


def _settled(problem: Problem[M], runs: Sequence[Solution[M]]) -> bool:
    """Whether the best answer meets the least bound, whoever proved it, or it is proved that there is no answer."""
    if any(s.status in (Status.OPTIMAL, Status.INFEASIBLE) for s in runs):
        return True
    bounds = [s.bound for s in runs if s.bound is not None]
    best = max((s for s in runs if s.status.ok), key=_rank, default=None)
    if best is None or best.objective is None or not bounds:
        return False
    least = max(best.objective, min(bounds))
    return standing(best.objective, least, problem.scale(best))[1] is Status.OPTIMAL


def _best(problem: Problem[M], runs: Sequence[Solution[M]]) -> Solution[M]:
    """The best judged objective with the best checked bound; failures are remembered in the statistics."""
    ok = [s for s in runs if s.status.ok and s.objective is not None]
    if not ok:
        failures = runs[::-1]
        return next((s for s in failures if s.status is Status.INFEASIBLE), failures[0])
    winner = _winner(problem, ok)
    bounded = [s for s in runs if s.bound is not None]
    tightest = min(bounded, key=lambda s: s.bound if s.bound is not None else math.inf, default=None)
    if tightest is None or tightest.bound is None:
        return winner
    if contradicts(problem, winner, tightest.bound):
        return raise_alarm(problem, winner, tightest)
    return with_bound(problem, winner, tightest.bound, tightest.dual)


def _winner(problem: Problem[M], ok: Sequence[Solution[M]]) -> Solution[M]:
    """The best answer; one whose own bound closed wins over another that is better in its last digits only."""
    best = max(ok, key=_rank)
    room = ALIKE * problem.scale(best)
    closed = [s for s in ok if s.status is Status.OPTIMAL and _rank(s)[0] >= _rank(best)[0] - room]
    return max(closed, key=_rank, default=best)


def _rank(solution: Solution[Any]) -> tuple[float, bool]:
    """The objective; between equal ones, the answer whose own bound closed."""
    objective = -math.inf if solution.objective is None else solution.objective
    return objective, solution.status is Status.OPTIMAL


def _account(c: Candidate, tried: dict[str, Solution[Any]]) -> str:
    """What became of one candidate, in a line."""
    ran = tried.get(c.name)
    if ran is None:
        note = "runs by name and in compare only" if c.guarantee in BY_NAME_ONLY else "not run"
        return str(c) if c.refusal is not None else f"{c} ({note})"
    return str(ran)


def check_solvers(problem: Problem[Any], solvers: Sequence[str | Solver[Any]] | None) -> list[Candidate]:
    """The candidates asked for, or all of them."""
    if solvers is None:
        return list(candidates(problem))
    if isinstance(solvers, str):
        raise UnsuitableSolver(f"solvers must be a list of names or solver objects, got {solvers!r}")
    return [fitness(find_solver(problem, s), problem) for s in solvers]
