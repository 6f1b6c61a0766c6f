"""The life of a problem: pick solvers, judge what they propose, keep the best."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic

from privopt.core.alarm import raise_alarm
from privopt.core.isolate import PATIENCE, SolverFailure, SolverTimeout, describe
from privopt.core.judge import contradicts, judge, with_bound
from privopt.core.problem import M, Problem
from privopt.core.reformulation import propose, seen_by
from privopt.core.registry import find_solver, solvers_of
from privopt.core.solution import Solution, Status
from privopt.core.solver import Budget, Candidate, Guarantee, Proposal, Solver, missing_requirement
from privopt.errors import InvalidProblem, UnsuitableSolver

BY_NAME_ONLY = (Guarantee.BASELINE, Guarantee.ORACLE)


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
    proved = _affordable(takers, 0.45 * time_limit) or _anytime(takers)
    order = proved or takers
    return order[0].solver if order else None


def _affordable(takers: Sequence[Candidate], seconds: float) -> list[Candidate]:
    proving = (Guarantee.OPTIMAL, Guarantee.BOUNDED)
    return [c for c in takers if c.guarantee in proving and c.seconds is not None and c.seconds <= seconds]


def _anytime(takers: Sequence[Candidate]) -> list[Candidate]:
    return [c for c in takers if c.guarantee is Guarantee.BOUNDED and c.solver.interruptible]


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
        By default a quick feasible solver, then the best guarantee that fits the time limit.
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

    def run(self, candidate: Candidate, seconds: float | None = None) -> Solution[M]:
        """Run one candidate within some seconds (all that is left by default) and judge it."""
        name, begun = candidate.name, time.monotonic()
        if candidate.refusal is not None:
            return Solution(Status.REFUSED, reason=candidate.refusal, solver=name)
        deadline = begun + (self.left if seconds is None else min(seconds, self.left))
        try:
            proposal = propose(candidate.solver, self.problem, Budget(deadline, self.seed, self.progress))
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
    """Incumbent, then the best guarantee that fits, then feasible solvers; the best judged answer wins."""
    listed = candidates(call.problem)
    takers = [c for c in listed if c.refusal is None and c.guarantee not in BY_NAME_ONLY]
    tried: dict[str, Solution[M]] = {}
    anchor = judge(call.problem, Proposal(call.problem.anchor()), certify=call.certify)
    tried["anchor"] = replace(anchor, solver="anchor")
    feasible = sorted(
        (c for c in takers if c.guarantee is Guarantee.FEASIBLE), key=lambda c: (c.seconds, c.name)
    )
    for c in feasible[:1]:
        tried[c.name] = call.run(c, 0.1 * call.time_limit)
    if not _settled(tried.values()) and not _prove(call, takers, tried):
        for c in feasible:
            if call.left > 0 and c.name not in tried and not _settled(tried.values()):
                tried[c.name] = call.run(c)
    return call.finish(_best(call.problem, tried), tuple(_account(c, tried) for c in listed))


def _settled(tried: Iterable[Solution[Any]]) -> bool:
    """Whether some answer closes its gap, or it is proved that there is none."""
    return any(s.status in (Status.OPTIMAL, Status.INFEASIBLE) for s in tried)


def _prove(call: _Call[M], takers: Sequence[Candidate], tried: dict[str, Solution[M]]) -> bool:
    """Run those that prove a bound until one does; whether one did."""
    for c in _affordable(takers, 0.5 * call.left) or _anytime(takers):
        if call.left <= 0:
            return False
        tried[c.name] = call.run(c)
        if _settled([tried[c.name]]) or (tried[c.name].status.ok and tried[c.name].bound is not None):
            return True
    return False


def _best(problem: Problem[M], tried: dict[str, Solution[M]]) -> Solution[M]:
    """The best judged objective with the best checked bound; failures are remembered in the statistics."""
    ok = [s for s in tried.values() if s.status.ok and s.objective is not None]
    if not ok:
        failures = list(reversed(tried.values()))
        return next((s for s in failures if s.status is Status.INFEASIBLE), failures[0])
    winner = max(ok, key=_rank)
    seconds = sum(s.seconds for s in tried.values())
    bounded = [s for s in tried.values() if s.bound is not None]
    tightest = min(bounded, key=lambda s: s.bound if s.bound is not None else math.inf, default=None)
    if tightest is None or tightest.bound is None:
        return replace(winner, seconds=seconds)
    if contradicts(problem, winner, tightest.bound):
        return replace(raise_alarm(problem, winner, tightest), seconds=seconds)
    return replace(with_bound(problem, winner, tightest.bound, tightest.dual), seconds=seconds)


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
