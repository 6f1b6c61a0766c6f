"""The work of one task, inside its own process: warm up, solve, prove again from the stored form, attack."""

from __future__ import annotations

import json
import math
import os
import platform
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, packages_distributions, version
from typing import Any

import numpy as np
from numpy.typing import NDArray

import privopt
from privopt.benchmarks.runner.rows import AUTO
from privopt.benchmarks.runner.traces import encode_points
from privopt.core.dispatch import fitness, solve
from privopt.core.isolate import already_isolated
from privopt.core.problem import Problem
from privopt.core.registry import find_solver
from privopt.core.solution import Solution, Status
from privopt.core.solver import Solver
from privopt.core.trace import Course
from privopt.core.verify import verify
from privopt.errors import PrivoptError
from privopt.files.json import parse_json
from privopt.files.load import problem_from_dict
from privopt.files.numbers import decode_float
from privopt.measures.sequence.adversary import adversary
from privopt.mechanisms.policy.policy import SequencePolicy
from privopt.models import MarkovChain
from privopt.problems.sequence_information_privacy.problem import SequenceInformationPrivacy

SEQUENCES, LETTERS = 20, 48
"""Of the simulation: sequences, and the most letters of one."""
CELLS = 2**10
"""Of a kernel: rules that are no formulas take too long at more."""


def attack_accuracy(problem: Problem[Any], solution: Solution[Any], seed: int) -> float | None:
    """Share of letters that the best guess from all releases gets right, by a seeded simulation.

    For given releases the best guess is right with the largest posterior probability of each letter; that
    is averaged, over sequences drawn from the chain and released in simulation. It needs no guess to be drawn, and so
    has less error than counting.

    Returns
    -------
    float or None
        None unless the solution is a sequence policy whose kernels are quickly made: by a formula, or small.

    Examples
    --------
    >>> import privopt as po
    >>> problem = po.BeliefRelease([0.6, 0.4], 0.5)
    >>> attack_accuracy(problem, po.solve(problem), 0) is None
    True
    """
    policy = solution.mechanism if solution.status.ok else None
    if not isinstance(problem, SequenceInformationPrivacy) or not isinstance(policy, SequencePolicy):
        return None
    if not policy.cost.quick and len(policy.setting.inputs) * len(policy.setting.outputs) > CELLS:
        return None
    rng = np.random.default_rng([seed, 0x5EC])
    length = min(LETTERS, problem.span)
    guessed = []
    for _ in range(SEQUENCES):
        letters = [policy.letters[i] for i in drawn(policy.chain, length, rng).tolist()]
        guessed.append(adversary(policy, policy.release(letters, rng)).expected_accuracy)
    return float(np.mean(guessed))


def drawn(chain: MarkovChain, length: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Positions of the letters of a simulated sequence.

    Examples
    --------
    >>> drawn(MarkovChain([[0.0, 1.0], [1.0, 0.0]], initial=[1, 0]), 4, np.random.default_rng(0)).tolist()
    [0, 1, 0, 1]
    """
    place = {letter: i for i, letter in enumerate(chain.letters)}
    letter = [place[s[-1] if chain.order > 1 and isinstance(s, tuple) else s] for s in chain.states]
    letters, distribution = [], chain.initial
    for t in range(length):
        state = int(rng.choice(chain.k, p=distribution / distribution.sum()))
        letters.append(letter[state])
        distribution = chain.step(t)[state] if t + 1 < length else distribution
    return np.array(letters, dtype=np.int64)


Send = Callable[[Mapping[str, Any]], None]
"""Reports to the watching process what is known so far; each call ends a phase of the task."""


def work(task: Mapping[str, Any], send: Send) -> None:
    """Run a task that :meth:`privopt.benchmarks.runner.task.Task.to_dict` wrote; misuse becomes a failure.

    Three phases are told, each with its own deadline: warm, solved, proved; for sequence policies a fourth, attacked.
    """
    try:
        problem = problem_from_dict(task["problem"]).with_budget(decode_float(task["budget"]))
        if task["solver"] == AUTO:
            solution = _by_itself(problem, task, send)
        else:
            solution = _by_name(problem, task, send)
    except PrivoptError as cause:
        solution = Solution[Any](Status.FAILED, reason=str(cause))
        send({"solution": solution.to_dict()})
        return
    stored = solution.to_dict()
    if solution.certified:
        again = proved_again(problem, stored)
        send(
            {
                "verified": again.verified,
                "fault": again.fault,
                "claim_holds": again.holds,
                "differs": again.differs,
            }
        )
    attacked = attack_accuracy(problem, solution, task["seed"])
    if attacked is not None:
        send({"attack_accuracy": attacked})


def _by_name(problem: Problem[Any], task: Mapping[str, Any], send: Send) -> Solution[Any]:
    """What one solver answers, in this process whether or not it polls the deadline: another process ends it."""
    solver = find_solver(problem, task["solver"])
    with already_isolated():
        fit = fitness(solver, problem)
        role = fit.guarantee or solver.guaranteed
        warm = warm_up(type(problem), solver) if fit.refusal is None else None
        send({"cold_seconds": warm, "role": "" if role is None else role.name, **versions(solver)})
        return _solved(problem, solver, task, send)


def _by_itself(problem: Problem[Any], task: Mapping[str, Any], send: Send) -> Solution[Any]:
    """What ``solve()`` answers when no solver is named, as a user's process would."""
    send({"cold_seconds": warm_up(type(problem), None), **versions(None)})
    return _solved(problem, None, task, send)


def _solved(
    problem: Problem[Any], solver: Solver[Any] | None, task: Mapping[str, Any], send: Send
) -> Solution[Any]:
    begun, course = _cpu(), Course()
    solution = solve(problem, solver, time_limit=task["time_limit"], seed=task["seed"], progress=course)
    cpu = _cpu() - begun
    chosen = solution.solver if solver is None and solution.status.ok else ""
    told = {"solution": solution.to_dict(), "cpu": cpu, "chosen": chosen}
    trace = encode_points(course.points)
    send({**told, "raw_objective": raw_objective(problem, solution), "trace": trace})
    return solution


def _cpu() -> float:
    """Processor seconds of this process and of the children that ended."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def raw_objective(problem: Problem[Any], solution: Solution[Any]) -> float | None:
    """Objective of the mechanism as proposed, from its utility and leakage; None where it was not measured."""
    utility, leakage = (solution.stats.get(name) for name in ("raw_utility", "raw_leakage"))
    if not isinstance(utility, float) or not isinstance(leakage, float):
        return None
    value = problem.objective_of(utility, leakage)
    return None if math.isnan(value) else value


def warm_up(kind: type[Problem[Any]], solver: Solver[Any] | None) -> float | None:
    """Seconds of the first answer in this process, to the easiest example that asks for something.

    None if the solver takes no example; without a solver ``solve()`` chooses.

    Examples
    --------
    >>> from privopt import Redaction
    >>> from privopt.solvers.redaction.windows import Windows
    >>> warm_up(Redaction, Windows()) > 0
    True
    """
    for example in (kind if solver is None else solver.solves).examples():
        if example.optimum != 0 and (solver is None or fitness(solver, example.problem).refusal is None):
            begun = time.monotonic()
            solve(example.problem, solver, time_limit=5.0)
            return time.monotonic() - begun
    return None


@dataclass(frozen=True)
class Proved:
    """What came of proving a stored solution again.

    ``fault`` says why it does not verify, ``differs`` where the record says something else than what was proved;
    ``holds`` whether the budget and the bound were proved, whatever else the record says.
    """

    verified: bool
    holds: bool
    fault: str = ""
    differs: str = ""


def proved_again(problem: Problem[Any], stored: Mapping[str, Any]) -> Proved:
    """Prove a certified solution again from its stored form."""
    try:
        text = json.dumps(stored, allow_nan=False)
        solution: Solution[Any] = Solution.from_dict(parse_json(text, "the stored solution"))
        again = verify(problem, solution)
        if again.ok:
            return Proved(True, True, differs="; ".join(again.remarks))
        fault = f"the stored solution does not verify: {again.reason}"
        return Proved(False, claim_holds(problem, solution), fault, again.reason)
    except PrivoptError as cause:
        return Proved(False, False, f"the stored solution cannot be verified: {cause}")


def claim_holds(problem: Problem[Any], solution: Solution[Any]) -> bool:
    """Whether the mechanism keeps its budget and the stated bound is proved by its dual; nothing else is looked at.

    Examples
    --------
    >>> import privopt as po
    >>> problem = po.BeliefRelease([0.6, 0.4], 0.5)
    >>> claim_holds(problem, po.solve(problem)), claim_holds(problem.with_budget(0.1), po.solve(problem))
    (True, False)
    """
    if solution.answer is None or not problem.certify(problem.check(solution.answer)).ok:
        return False
    if solution.bound is None:
        return True
    proved = problem.proved_bound(solution.dual)
    return proved is not None and proved[1] <= solution.bound


def versions(solver: Solver[Any] | None) -> dict[str, str]:
    """Versions of this process: privopt, Python, NumPy, and what the solver requires, in words."""
    return {
        "privopt": privopt.__version__,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "libraries": ", ".join(filter(None, map(_version, solver.requires if solver else ()))),
        "host": platform.node(),
    }


def _version(module: str) -> str:
    """A distribution with its version, from the name of its module; empty if it is not installed."""
    try:
        return f"{module} {version(module)}"
    except PackageNotFoundError:
        names = packages_distributions().get(module, [])
        return f"{names[0]} {version(names[0])}" if names else ""
