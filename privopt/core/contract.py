"""The contract of a solver, checked: what ``privopt check-solver`` shows and what the package's own solvers are tested by.

A solver proposes and leaves the problem alone; what it proposes keeps the budget once it is judged; it ends at its deadline;
the same seed gives the same answer; what it does not take it refuses in a sentence; its bound is proved by the problem.
"""

from __future__ import annotations

import pickle
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

from privopt.core.dispatch import fitness, solve
from privopt.core.folders import is_own
from privopt.core.isolate import describe
from privopt.core.problem import Example, Problem
from privopt.core.reformulation import seen_by
from privopt.core.solution import Solution, Status
from privopt.core.solver import Budget, Candidate, Guarantee, Proposal, Solver
from privopt.core.verify import verify
from privopt.errors import PrivoptError
from privopt.files.text import number

TIME_LIMIT = 20.0
"""Seconds for each answer to an example."""
CLOCK = "out of time"
"""What a solver says under ``stop`` in its statistics where the clock ended it before half of its limit was over."""
SHORT = 1.0
"""Seconds of the limit that a solver is held to on an instance that may be too large for it."""
OVERSHOOT = 2.0
"""Seconds that an answer may come after its limit, judging included."""
READING = 1e-12
"""Relative error of a stated objective."""


class Check(Enum):
    """One promise of the contract; the value says it in words."""

    DECLARED = "declares what it solves, its name, its guarantee and its predicted seconds"
    TAKES = "takes some of the problem's examples"
    REFUSES = "refuses in one sentence what it does not take"
    PROPOSES = "proposes only: returns a Proposal and leaves the problem as it was"
    PRIVATE = "what it proposes keeps the budget after judging, and the certificate is proved again"
    BOUND = "its bound is proved by the problem, from the dual that comes with it"
    OPTIMUM = "neither its answer nor its bound contradicts a known optimum"
    SEED = "the same seed gives the same answer"
    DEADLINE = "ends at its deadline, by itself or by being ended"


@dataclass(frozen=True)
class Finding:
    """What one check found on one instance.

    Parameters
    ----------
    check : Check
    case : str
        The instance; empty where none is concerned.
    fault : str
        What is wrong and what to do; empty where the promise is kept.
    note : str
        What is worth knowing although the promise is kept.
    """

    check: Check
    case: str = ""
    fault: str = ""
    note: str = ""

    @property
    def ok(self) -> bool:
        """Whether the promise is kept."""
        return not self.fault

    def __str__(self) -> str:
        said = f": {self.fault or self.note}" if self.fault or self.note else ""
        return f"{'ok' if self.ok else 'failed'}, {self.check.value}{f' ({self.case})' if self.case else ''}{said}"


def check_solver(
    cls: type[Solver[Any]],
    *,
    instances: Sequence[Example[Any]] = (),
    large: Sequence[Example[Any]] = (),
    time_limit: float = TIME_LIMIT,
) -> tuple[Finding, ...]:
    """The whole contract of a solver, on the examples of its problem and on instances of one's own.

    Parameters
    ----------
    cls : subclass of Solver
        Constructed without arguments, as the dispatcher does.
    instances : sequence of Example
        Tried as the examples are.
    large : sequence of Example
        Tried with a limit of one second only, to see how it ends.
    time_limit : float
        Seconds for each answer to an example.

    Examples
    --------
    >>> from privopt.solvers.redaction.windows import Windows
    >>> findings = check_solver(Windows)
    >>> {finding.ok for finding in findings}, {finding.check for finding in findings} == set(Check)
    ({True}, True)
    """
    declared = list(check_declaration(cls))
    if not all(finding.ok for finding in declared):
        return tuple(declared)
    solver = cls()
    cases = (*solver.solves.examples(), *instances)
    findings = [*declared, check_takes(solver, cases)]
    for example in cases:
        findings += check_example(solver, example, time_limit)
    if not any(finding.check is Check.REFUSES for finding in findings):
        findings.append(Finding(Check.REFUSES, note="it refuses none of them"))
    taken = [example for example in cases if _takes(solver, example)]
    findings += (
        check_deadline(solver, example)
        for example in (*taken[-1:], *(example for example in large if _takes(solver, example)))
    )
    return tuple(findings)


def summary(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """One finding for each promise: the first fault, or else how often it was tried.

    Examples
    --------
    >>> seen = [Finding(Check.SEED, "coin"), Finding(Check.SEED, "four", "the answers differ")]
    >>> print(summary(seen)[0])
    failed, the same seed gives the same answer (four): the answers differ
    """
    grouped: dict[Check, list[Finding]] = {}
    for finding in findings:
        grouped.setdefault(finding.check, []).append(finding)
    return tuple(_summed(grouped[check]) for check in Check if check in grouped)


def _summed(group: Sequence[Finding]) -> Finding:
    faults = [finding for finding in group if not finding.ok]
    check = group[0].check
    if faults:
        more = f" (and on {len(faults) - 1} more)" if len(faults) > 1 else ""
        return Finding(check, faults[0].case, faults[0].fault + more)
    notes = "; ".join(dict.fromkeys(finding.note for finding in group if finding.note))
    tried = sum(bool(finding.case) for finding in group)
    return Finding(check, note=notes or (f"on {tried} instance{'s' * (tried > 1)}" if tried else ""))


def check_declaration(cls: type[Solver[Any]]) -> Iterator[Finding]:
    """What a solver says of itself, before it runs."""
    kind, name = getattr(cls, "solves", None), getattr(cls, "name", None)
    if not isinstance(kind, type) or not issubclass(kind, Problem):
        yield Finding(
            Check.DECLARED, fault="solves is not a problem class: write solves: ClassVar = po.SomeProblem"
        )
        return
    if not isinstance(name, str) or not name or name != name.strip():
        yield Finding(Check.DECLARED, fault=f"name is {name!r}: write name: ClassVar[str] = 'my-solver'")
        return
    try:
        solver = cls()
    except TypeError as cause:
        yield Finding(
            Check.DECLARED, fault=f"{cls.__name__}() fails: {cause}; every option needs a default value"
        )
        return
    try:
        alike = pickle.loads(pickle.dumps(solver)) == solver == cls()
    except Exception as cause:  # noqa: BLE001 - what pickling a foreign object raises is anything
        yield Finding(Check.DECLARED, fault=f"it cannot be sent to another process: {describe(cause)}")
        return
    fault = "" if alike else "a copy is not equal to it: decorate the class with @dataclass(frozen=True)"
    yield Finding(Check.DECLARED, fault=fault)


def check_takes(solver: Solver[Any], cases: Sequence[Example[Any]]) -> Finding:
    """Whether a solver takes at least one instance: to refuse everything is no way of keeping promises."""
    candidates = [fitness(solver, example.problem) for example in cases]
    taken = sum(candidate.refusal is None for candidate in candidates)
    if taken:
        return Finding(Check.TAKES, note=f"{taken} of {len(cases)}")
    first = candidates[0].refusal if candidates else "there is none"
    return Finding(
        Check.TAKES,
        fault=f"it refuses all {len(cases)}, so that nothing of it can be checked; the first because: {first}; "
        "take a small instance, or give one of yours that it takes",
    )


def check_example(
    solver: Solver[Any], example: Example[Any], time_limit: float = TIME_LIMIT
) -> Iterator[Finding]:
    """All that one small instance shows."""
    problem, case = example.problem, example.name
    candidate = fitness(solver, problem)
    if candidate.refusal is not None:
        yield check_refusal(candidate.refusal, solve(problem, solver, time_limit=time_limit), case)
        return
    seconds = candidate.seconds
    if seconds is None or not seconds >= 0:
        yield Finding(Check.DECLARED, case, f"cost() predicts {seconds!r}: return seconds, a number >= 0")
        return
    before = pickle.dumps(problem.to_dict())
    solution = solve(problem, solver, time_limit=time_limit)
    proposes = _proposes(solver, problem, solution, before)
    yield Finding(Check.PROPOSES, case, proposes)
    if proposes and not solution.status.ok:
        return
    if candidate.guarantee is Guarantee.BASELINE and solution.status is Status.NOT_PRIVATE:
        yield Finding(Check.PRIVATE, case, note="published for comparison, and shown to break its promise")
        return
    private = _private(problem, solution)
    yield Finding(Check.PRIVATE, case, private, "" if private else _repaired(solution))
    if private:
        return
    yield Finding(Check.BOUND, case, _bound(candidate, solution), _claims(solution))
    yield Finding(Check.OPTIMUM, case, _optimum(candidate, example, solution))
    yield Finding(Check.SEED, case, _repeats(solver, problem, solution, time_limit))


def check_refusal(sentence: str, solution: Solution[Any], case: str = "") -> Finding:
    """Whether a refusal is one sentence, and is what the user gets."""
    fault = ""
    if sentence.startswith("its own check failed"):
        fault = (
            f"refuse(), cost() or guarantee() raised ({sentence}); return a sentence from refuse() instead"
        )
    elif len(sentence.split()) < 4 or "\n" in sentence:
        fault = f"{sentence!r} does not say why: return one sentence on one line from refuse()"
    elif (solution.status, solution.reason) != (Status.REFUSED, sentence) or solution.utility is not None:
        fault = f"the solution says {solution.status}: {solution.reason}"
    return Finding(Check.REFUSES, case, fault)


def check_deadline(solver: Solver[Any], example: Example[Any], seconds: float = SHORT) -> Finding:
    """Whether a solver ends within a short limit, on an instance that may be too large for it.

    One that says it polls the deadline has to come back with its best so far; every other one is ended.
    """
    begun = time.monotonic()
    solution = solve(example.problem, solver, time_limit=seconds)
    taken = time.monotonic() - begun
    if taken > seconds + OVERSHOOT:
        fault = f"with a limit of {seconds:g} s it took {taken:.1f} s: look at budget.remaining in every long loop"
        return Finding(Check.DEADLINE, example.name, fault)
    if solution.status is Status.TIME_OUT and solver.polls(example.problem):
        return Finding(
            Check.DEADLINE,
            example.name,
            f"with a limit of {seconds:g} s it had to be ended and gave nothing: return the best so far when "
            "budget.remaining is 0, or declare interruptible: ClassVar[bool] = False",
        )
    ended = "was ended" if solution.status is Status.TIME_OUT else "ended by itself"
    return Finding(
        Check.DEADLINE, example.name, note=f"{ended} after {taken:.2g} s of {seconds:g} s on {example.name}"
    )


def _takes(solver: Solver[Any], example: Example[Any]) -> bool:
    return fitness(solver, example.problem).refusal is None


def _outside(solver: Solver[Any]) -> bool:
    """Whether a solver is none of the package: it is run in a process of its own, whose problem is a copy."""
    module = type(solver).__module__
    return not module.startswith("privopt.solvers.") or is_own(module)


def _proposes(solver: Solver[Any], problem: Problem[Any], solution: Solution[Any], before: bytes) -> str:
    """Why a run is no proposal, or what it did to the problem.

    A solver from outside that ended in a process of its own is run once more in this one, where its changes are seen.
    """
    if solution.status is Status.FAILED:
        return f"{solution.reason}; run() ends with return po.Proposal(mechanism), whatever happens"
    if _outside(solver) and solution.status is not Status.TIME_OUT:
        posed = pickle.loads(pickle.dumps(seen_by(solver, problem)))
        before = pickle.dumps(posed.to_dict())
        proposal = solver.run(posed, Budget(time.monotonic() + max(SHORT, 10 * (solution.seconds or 0.0))))
        problem = posed
        if not isinstance(proposal, Proposal):
            return f"run() returned {type(proposal).__name__}: return po.Proposal(mechanism)"
    if pickle.dumps(problem.to_dict()) != before:
        return "it changed the problem: copy an array before writing to it"
    return ""


def _private(problem: Problem[Any], solution: Solution[Any]) -> str:
    """Why a solution is no certified answer."""
    if not solution.status.ok or solution.objective is None or solution.certificate is None:
        return f"{solution.status.name}: {solution.reason}"
    try:
        proved = verify(problem, solution)
    except PrivoptError as cause:
        return f"the certificate cannot be proved again: {cause}"
    evaluation = problem.evaluate(solution.mechanism)
    lo, hi = problem.objective_enclosure(solution.certificate)
    if not proved.ok:
        return f"the certificate does not hold when proved again: {proved.reason}"
    if not evaluation.feasible:
        return f"it misses the budget by {number(evaluation.violation)}"
    if abs(evaluation.objective - solution.objective) > max(1e-15, READING * abs(solution.objective)):
        return f"its objective is {evaluation.objective!r}, stated {solution.objective!r}"
    return (
        ""
        if lo <= solution.objective <= hi
        else f"its objective is not within what is certified, [{lo!r}, {hi!r}]"
    )


def _repaired(solution: Solution[Any]) -> str:
    """What repair took, where it took more than rounding."""
    lost = solution.stats.get("utility_lost_by_repair", 0.0)
    if "repairing it took the utility" not in solution.reason or not isinstance(lost, float):
        return ""
    return f"some proposals broke the budget and were repaired, which cost up to {number(lost, 3)} of utility"


def _bound(candidate: Candidate, solution: Solution[Any]) -> str:
    """Why a claimed or promised bound is none."""
    if "bound_refused" in solution.stats:
        return (
            f"the claimed bound {solution.stats.get('claimed_bound')} is refused: {solution.stats['bound_refused']}; "
            "return the dual that the problem's prove_bound takes, or no bound"
        )
    if solution.bound is None and candidate.guarantee in (Guarantee.OPTIMAL, Guarantee.BOUNDED):
        return (
            f"its guarantee is {candidate.guarantee.name}, but it gives no bound: return po.Proposal(mechanism, bound, "
            "dual), or declare po.Guarantee.FEASIBLE"
        )
    if solution.bound is not None and solution.objective is not None and solution.bound < solution.objective:
        return f"its bound {solution.bound!r} is below its own objective {solution.objective!r}"
    return ""


def _claims(solution: Solution[Any]) -> str:
    return "" if "claimed_bound" in solution.stats else "it claims no bound"


def _optimum(candidate: Candidate, example: Example[Any], solution: Solution[Any]) -> str:
    """Why an answer or a bound cannot be right, by the known optimum of an example."""
    optimum, objective = example.optimum, solution.objective
    if optimum is None or objective is None:
        return ""
    if objective > optimum + example.tolerance:
        return f"its objective {objective!r} is above the optimum {optimum!r}"
    if solution.bound is not None and solution.bound < optimum - example.tolerance:
        return f"its bound {solution.bound!r} is below the optimum {optimum!r}"
    exact = {Guarantee.ORACLE: 1e-7}.get(candidate.guarantee or Guarantee.FEASIBLE)
    exact = 1e-6 if exact is None and solution.guarantee is Guarantee.OPTIMAL else exact
    if exact is not None and abs(objective - optimum) > exact:
        return f"it should be exact, and its objective {objective!r} is not the optimum {optimum!r}"
    return ""


def _repeats(solver: Solver[Any], problem: Problem[Any], solution: Solution[Any], time_limit: float) -> str:
    """How a second answer with the same seed differs from the first; where the clock stopped one of them, they may."""
    again = solve(problem, solver, time_limit=time_limit)
    if any((s.seconds or 0.0) > time_limit / 2 or s.stats.get("stop") == CLOCK for s in (solution, again)):
        return ""
    for what, one, other in (
        ("status", solution.status.name, again.status.name),
        ("objective", solution.objective, again.objective),
        ("bound", solution.bound, again.bound),
    ):
        if one != other:
            return (
                f"its {what} is {one!r}, then {other!r}: draw from numpy.random.default_rng(budget.seed) only"
            )
    if solution.answer != again.answer or (solution.utility, solution.leakage) != (
        again.utility,
        again.leakage,
    ):
        return "its mechanisms differ: draw from numpy.random.default_rng(budget.seed) only"
    return ""
