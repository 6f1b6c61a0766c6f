"""The most informative release from the vertices of the polytope of posteriors, enumerated by cddlib and by PPL.

The mutual information is convex in the channel, so that the best release mixes vertices: a linear program picks them.
Source: Sadeghi, "Fundamental trade-offs between privacy and utility in data sharing" (CSCIT 2021).
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from privopt.arrays import Floats
from privopt.benchmarks.peers.peer import PeerAnswer, Work, register_peer
from privopt.benchmarks.peers.tools._programs import (
    BACKENDS,
    Linear,
    minimum,
    needs,
    no_linear_program,
    no_plain_ratios,
    program,
    ratio_rows,
    stochastic,
)
from privopt.core.exact import ensure_nearest
from privopt.problems.local_information_privacy.problem import LocalInformationPrivacy


def with_backend(backend: str) -> Work:
    """The peer of a back end."""

    def work(problem: Linear, seconds: float) -> PeerAnswer:
        import cvxpy

        cp: Any = cvxpy  # much of it has no types
        cost, rows = program(problem)
        channel = cp.Variable(cost.shape, nonneg=True)
        rules = [cp.sum(channel, axis=1) == 1, rows @ channel <= 0]
        reached = minimum(cp.sum(cp.multiply(cost, channel)), rules, backend)
        return PeerAnswer(problem.answer(stochastic(channel.value)), -reached)

    return work


for _backend in BACKENDS:
    _work = with_backend(_backend)
    register_peer("local_information_privacy", f"cvxpy-{_backend}", needs(_backend), no_linear_program)(_work)
    register_peer("belief_release", f"cvxpy-{_backend}", needs(_backend))(_work)


@register_peer("local_information_privacy", "highs", ("scipy",), no_linear_program)
@register_peer("belief_release", "highs", ("scipy",))
def highs(problem: Linear, seconds: float) -> PeerAnswer:
    """The linear program through SciPy's ``linprog``."""
    from scipy import optimize
    from scipy.sparse import csr_array, eye_array, kron

    cost, rows = program(problem)
    n, m = cost.shape
    tool: Any = optimize  # its types know no sparse arrays of ours
    solution = tool.linprog(
        cost.ravel(),
        A_ub=kron(csr_array(rows), eye_array(m), format="csr"),
        b_ub=np.zeros(len(rows) * m),
        A_eq=kron(eye_array(n), np.ones((1, m)), format="csr"),
        b_eq=np.ones(n),
        method="highs",
        options={"time_limit": seconds},
    )
    if solution.x is None:
        raise ArithmeticError(f"HiGHS found nothing: {solution.message}")
    return PeerAnswer(problem.answer(stochastic(solution.x.reshape(n, m))), -float(solution.fun))


MOST = 12
"""Symbols; beyond, an enumeration does not end in the time of a benchmark."""
GRID = 10**9
"""PPL reads integers: coefficients are rounded to this share of the largest of their row."""


def _unfit(problem: LocalInformationPrivacy) -> str | None:
    if problem.utility != "mutual_information":
        return "it mixes vertices for the mutual information"
    if len(problem.observation.p_x) > MOST:
        return f"enumerating vertices of more than {MOST} symbols takes too long"
    return no_plain_ratios(problem)


@register_peer("local_information_privacy", "cddlib", ("cdd",), _unfit)
def cddlib(problem: LocalInformationPrivacy, seconds: float) -> PeerAnswer:
    """Vertices by the double description method in floats."""
    import cdd

    api: Any = cdd  # its calls have no types
    rows = _posterior_rows(problem)
    n = rows.shape[1]
    unequal = np.vstack([np.pad(-rows, ((0, 0), (1, 0))), np.pad(np.eye(n), ((0, 0), (1, 0)))])
    constraints = np.vstack([np.concatenate([[1.0], -np.ones(n)]), unequal])
    kind = api.RepType.INEQUALITY
    polyhedron = api.polyhedron_from_matrix(
        api.matrix_from_array(constraints.tolist(), lin_set=[0], rep_type=kind)
    )
    points = np.array(api.copy_generators(polyhedron).array, dtype=np.float64).reshape(-1, n + 1)
    return _mixed(problem, points[points[:, 0] == 1, 1:])


@register_peer("local_information_privacy", "pplpy", ("ppl",), _unfit)
def pplpy(problem: LocalInformationPrivacy, seconds: float) -> PeerAnswer:
    """Vertices in exact rationals, of coefficients rounded to integers."""
    import ppl  # type: ignore[import-untyped]

    ensure_nearest()  # some versions of it leave the processor rounding upward
    api: Any = ppl  # its calls have no types
    rows = _posterior_rows(problem)
    n = rows.shape[1]
    at = [api.Variable(i) for i in range(n)]
    system = api.Constraint_System()
    system.insert(sum(at) == 1)
    for v in at:
        system.insert(v >= 0)
    for row in np.rint(rows / np.abs(rows).max(axis=1, keepdims=True) * GRID).astype(int).tolist():
        system.insert(sum(c * v for c, v in zip(row, at, strict=True)) <= 0)
    points = [p for p in api.C_Polyhedron(system).minimized_generators() if p.is_point()]
    exact = [[Fraction(int(c), int(p.divisor())) for c in p.coefficients()] for p in points]
    return _mixed(problem, np.array(exact, dtype=np.float64))


def _posterior_rows(problem: LocalInformationPrivacy) -> Floats:
    """The bounds for a posterior v of X: those for P(y | x) = P(y) v(x) / p(x)."""
    return ratio_rows(problem) / problem.observation.p_x


def _mixed(problem: LocalInformationPrivacy, vertices: Floats) -> PeerAnswer:
    """The mixture of vertices with the distribution of X for its mean and the least entropy left."""
    from scipy import optimize
    from scipy.special import entr

    p = problem.observation.p_x
    points = np.maximum(vertices, 0.0)
    tool: Any = optimize  # its types know no sparse arrays of ours
    mixture = tool.linprog(entr(points).sum(axis=1), A_eq=points.T, b_eq=p, method="highs")
    if mixture.x is None:
        raise ArithmeticError(f"HiGHS found no mixture of {len(points)} vertices: {mixture.message}")
    used = mixture.x > 1e-12
    matrix = mixture.x[used] * points[used].T / p[:, None]
    return PeerAnswer(problem.answer(stochastic(matrix)), float(entr(p).sum() - mixture.fun))
