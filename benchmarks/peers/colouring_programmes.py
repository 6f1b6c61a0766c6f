"""A colouring as one linear programme over Pr(colour | dataset): HiGHS, and CVXPY with three back ends, all by default."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from privopt.benchmarks._peers import PeerAnswer, Work, register_peer
from privopt.benchmarks.peers._conic import BACKENDS, minimum, needs
from privopt.benchmarks.peers._programmes import stochastic
from privopt.problems._observation import Floats
from privopt.problems.boundary_colouring import BoundaryColouring

CELLS = {"highs": 20_000, "ecos": 5_000, "scs": 5_000, "clarabel": 20_000}
"""Datasets times colours that a back end is asked for; more takes minutes."""


def _fits(backend: str) -> Any:
    def unfit(problem: BoundaryColouring) -> str | None:
        if problem.delta > 0 or problem.objective != "accuracy":
            return "it is written for delta = 0 and the mean accuracy"
        if problem.boundary is not None and problem.boundary != "balanced":
            return "it is written for a balanced or a free boundary"
        cells = problem.graph.size * problem.k
        return (
            f"its programme has {cells} cells, more than {CELLS[backend]}" if cells > CELLS[backend] else None
        )

    return unfit


def _gains(problem: BoundaryColouring) -> Floats:
    """Weight of each true answer in the mean accuracy, shape (n, k)."""
    n = problem.graph.size
    weights = np.ones(n) if problem.weights is None else np.asarray(problem.weights)
    gains = np.zeros((n, problem.k))
    gains[np.arange(n), problem.graph.codes] = weights / weights.sum()
    return gains


def _caps(problem: BoundaryColouring) -> Floats:
    """Largest probabilities (n, k): the balanced boundary is right at most e^epsilon / (1 + e^epsilon) of the time."""
    caps = np.ones((problem.graph.size, problem.k))
    if problem.boundary == "balanced" and problem.k == 2:
        sites = np.flatnonzero(problem.graph.boundary())
        caps[sites, np.asarray(problem.graph.codes)[sites]] = 1 / (1 + math.exp(-problem.epsilon))
    return caps


def _differences(problem: BoundaryColouring) -> Any:
    """Sparse rows u - e^epsilon v for the edges in both directions, shape (2m, n)."""
    from scipy.sparse import csr_array

    edges = np.asarray(problem.graph.edges())
    both = np.concatenate([edges, edges[:, ::-1]])
    entries = np.tile([1.0, -math.exp(problem.epsilon)], len(both))
    rows = np.repeat(np.arange(len(both)), 2)
    return csr_array((entries, (rows, both.ravel())), shape=(len(both), problem.graph.size))


def _answer(problem: BoundaryColouring, found: Floats, claimed: float) -> PeerAnswer:
    return PeerAnswer(problem.colouring(stochastic(found), np.arange(problem.graph.size)), claimed)


@register_peer("boundary_colouring", "highs", ("scipy",), _fits("highs"))
def highs(problem: BoundaryColouring, seconds: float) -> PeerAnswer:
    """The linear programme through SciPy's ``linprog``."""
    from scipy import optimize
    from scipy.sparse import eye_array, kron

    gains, rows = _gains(problem), _differences(problem)
    n, k = gains.shape
    tool: Any = optimize  # its types know no sparse arrays of ours
    found = tool.linprog(
        -gains.ravel(),
        A_ub=kron(rows, eye_array(k), format="csr"),
        b_ub=np.zeros(rows.shape[0] * k),
        A_eq=kron(eye_array(n), np.ones((1, k)), format="csr"),
        b_eq=np.ones(n),
        bounds=np.stack([np.zeros(n * k), _caps(problem).ravel()], axis=1),
        method="highs",
        options={"time_limit": seconds},
    )
    if found.x is None:
        raise ArithmeticError(f"HiGHS found nothing: {found.message}")
    return _answer(problem, found.x.reshape(n, k), -float(found.fun))


def with_backend(backend: str) -> Work:
    """The peer of a back end."""

    def work(problem: BoundaryColouring, seconds: float) -> PeerAnswer:
        import cvxpy

        cp: Any = cvxpy  # much of it has no types
        gains = _gains(problem)
        p = cp.Variable(gains.shape, nonneg=True)
        rules = [cp.sum(p, axis=1) == 1, _differences(problem) @ p <= 0, p <= _caps(problem)]
        reached = minimum(-cp.sum(cp.multiply(gains, p)), rules, backend)
        return _answer(problem, np.asarray(p.value), -reached)

    return work


for _backend in BACKENDS:
    register_peer("boundary_colouring", f"cvxpy-{_backend}", needs(_backend), _fits(_backend))(
        with_backend(_backend)
    )
