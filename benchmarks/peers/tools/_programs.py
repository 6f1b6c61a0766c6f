"""What several peers write down: the cost of a channel and the rows that bound its ratios, straight from the definitions."""

from __future__ import annotations

import math
import warnings
from typing import Any, TypeAlias

import numpy as np

from privopt.arrays import Floats
from privopt.models import JointDistribution
from privopt.problems.belief_release.problem import BeliefRelease
from privopt.problems.local_information_privacy.problem import LocalInformationPrivacy

BACKENDS = {"ecos": "ECOS", "scs": "SCS", "clarabel": "CLARABEL"}
"""Name of a peer, which is also its module, and CVXPY's name of the back end."""


def needs(backend: str) -> tuple[str, ...]:
    """Modules that a back end needs."""
    return ("cvxpy", backend)


def minimum(objective: Any, rules: list[Any], backend: str) -> float:
    """Minimise, and return what the back end says it reached.

    Raises
    ------
    ArithmeticError
        If it says that it found nothing.
    """
    import cvxpy

    cp: Any = cvxpy  # much of it has no types
    posed = cp.Problem(cp.Minimize(objective), rules)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what an inaccurate answer is worth is judged afterwards
        posed.solve(solver=BACKENDS[backend])
    if posed.status not in ("optimal", "optimal_inaccurate"):
        raise ArithmeticError(f"{BACKENDS[backend]} ended with status {posed.status!r}")
    return float(posed.value)


Linear: TypeAlias = LocalInformationPrivacy | BeliefRelease


def no_linear_program(problem: LocalInformationPrivacy) -> str | None:
    """Why a problem on ratios is not one linear program over P(y | x); None if it is."""
    if problem.matrix is None:
        return "this utility is not linear in the channel"
    return no_plain_ratios(problem)


def no_plain_ratios(problem: LocalInformationPrivacy) -> str | None:
    """Why the bounds are not rows on a channel that reads X."""
    if problem.delta > 0:
        return "a tolerated probability is not linear in the channel"
    if problem.observation.useful is not None:
        return "it is written for a channel that reads X"
    return None


def program(problem: Linear) -> tuple[Floats, Floats]:
    """Cost p(x) D[x, y], shape (n_x, n_y), and rows G, shape (r, n_x), with G Q <= 0 for every column of Q."""
    ratios = _of_belief(problem) if isinstance(problem, BeliefRelease) else problem
    if ratios.matrix is None:
        raise ValueError("only a distortion is linear in the channel")
    return ratios.observation.p_x[:, None] * ratios.matrix, ratio_rows(ratios)


def _of_belief(problem: BeliefRelease) -> LocalInformationPrivacy:
    """The same bounds on a joint distribution of S = X."""
    table = [[0] * i + [p] + [0] * (len(problem.nominal) - i - 1) for i, p in enumerate(problem.nominal)]
    joint = JointDistribution.normalised(table, problem.letters, problem.letters)
    return LocalInformationPrivacy(joint, problem.epsilon, utility=problem.matrix)


def ratio_rows(problem: LocalInformationPrivacy) -> Floats:
    """The bounds on the ratios of P(y | s) and P(y), or of P(y | s) and P(y | t) for "ldp"."""
    table = problem.observation.leaking.table
    table = table[table.sum(axis=1) > 0]
    conditional = table / table.sum(axis=1, keepdims=True)
    if problem.notion == "ldp":
        up = math.exp(problem.budget)
        pairs = [(s, t) for s in range(len(conditional)) for t in range(len(conditional)) if s != t]
        return np.array([conditional[s] - up * conditional[t] for s, t in pairs]).reshape(-1, table.shape[1])
    distribution, rows = table.sum(axis=0), []
    if problem.upper < math.inf:
        rows.append(conditional - math.exp(problem.upper) * distribution)
    if problem.lower < math.inf:
        rows.append(math.exp(-problem.lower) * distribution - conditional)
    return np.concatenate([np.zeros((0, table.shape[1])), *rows])


def stochastic(matrix: Floats) -> Floats:
    """What users do with the matrix of a solver: negative entries become 0, and rows are divided by their sums.

    Examples
    --------
    >>> stochastic(np.array([[0.5, 0.5000001, -1e-9]])).min()
    np.float64(0.0)
    """
    kept = np.maximum(np.asarray(matrix, dtype=np.float64), 0.0)
    return np.asarray(kept / kept.sum(axis=1, keepdims=True))
