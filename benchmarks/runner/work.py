"""The work of one task, inside its own process: warm up, solve, prove again from the stored form, attack."""

from __future__ import annotations

import json
import platform
import time
from collections.abc import Callable, Mapping
from importlib.metadata import PackageNotFoundError, packages_distributions, version
from typing import Any

import numpy as np
from numpy.typing import NDArray

import privopt
from privopt.core.dispatch import fitness, solve
from privopt.core.isolate import already_isolated
from privopt.core.problem import Problem
from privopt.core.registry import find_solver
from privopt.core.solution import Solution, Status
from privopt.core.solver import Solver
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
    length = min(LETTERS, problem.horizon)
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
        solver = find_solver(problem, task["solver"])
        with already_isolated():
            taken = fitness(solver, problem).refusal is None
            send({"cold_seconds": warm_up(solver) if taken else None, **versions(solver)})
            solution = solve(problem, solver, time_limit=task["time_limit"], seed=task["seed"])
    except PrivoptError as cause:
        solution = Solution[Any](Status.FAILED, reason=str(cause))
        send({"solution": solution.to_dict()})
        return
    stored = solution.to_dict()
    send({"solution": stored})
    fault = fault_of(problem, solution.certified, stored)
    send({"verified": fault == "", "fault": fault})
    attacked = attack_accuracy(problem, solution, task["seed"])
    if attacked is not None:
        send({"attack_accuracy": attacked})


def warm_up(solver: Solver[Any]) -> float | None:
    """Seconds of the solver's first answer in this process: the easiest example that asks for something.

    None if it takes no example.

    Examples
    --------
    >>> from privopt.solvers.redaction.windows import Windows
    >>> warm_up(Windows()) > 0
    True
    """
    for example in solver.solves.examples():
        if example.optimum != 0 and fitness(solver, example.problem).refusal is None:
            begun = time.monotonic()
            solve(example.problem, solver, time_limit=5.0)
            return time.monotonic() - begun
    return None


def fault_of(problem: Problem[Any], certified: bool, stored: Mapping[str, Any]) -> str:
    """Why the certified claim of a stored solution does not hold when it is read back; empty if it does."""
    if not certified:
        return "not certified"
    try:
        text = json.dumps(stored, allow_nan=False)
        again = verify(problem, Solution.from_dict(parse_json(text, "the stored solution")))
    except PrivoptError as cause:
        return f"the stored solution cannot be verified: {cause}"
    return "" if again.ok else f"the stored solution does not verify: {again.reason}"


def versions(solver: Solver[Any]) -> dict[str, str]:
    """Versions of this process: privopt, Python, NumPy, and what the solver requires, in words."""
    return {
        "privopt": privopt.__version__,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "libraries": ", ".join(filter(None, map(_version, solver.requires))),
        "host": platform.node(),
    }


def _version(module: str) -> str:
    """A distribution with its version, from the name of its module; empty if it is not installed."""
    try:
        return f"{module} {version(module)}"
    except PackageNotFoundError:
        names = packages_distributions().get(module, [])
        return f"{names[0]} {version(names[0])}" if names else ""
