"""Metric privacy as the plain linear program that anyone would write down, which answers are compared with."""

from __future__ import annotations

from typing import Any

import numpy as np

from privopt.arrays import Floats
from privopt.problems.metric_privacy.problem import MetricPrivacy


def promised(problem: MetricPrivacy) -> Any:
    """Rows M[x] - e^(epsilon d) M[x'] of each promised pair, both ways, sparse of shape (2 pairs, n)."""
    from scipy.sparse import csr_array

    pairs = problem.pairs
    first = np.concatenate([pairs.first, pairs.second])
    second = np.concatenate([pairs.second, pairs.first])
    growth = np.exp(problem.epsilon * np.tile(pairs.distance, 2))
    at = np.tile(np.arange(len(first)), 2)
    values = np.concatenate([np.ones(len(first)), -growth])
    shape = len(first), len(problem.losses)
    return csr_array((values, (at, np.concatenate([first, second]))), shape=shape)


def plain_channel(problem: MetricPrivacy, method: str, seconds: float) -> tuple[Floats, float]:
    """The matrix of SciPy's ``linprog`` as it comes, and the loss that it claims.

    Raises
    ------
    ArithmeticError
        If it brings no matrix.

    Examples
    --------
    >>> from privopt.models.metric import Metric
    >>> two = MetricPrivacy(Metric.line(2), [0.5, 0.5], "distance", 1.0)
    >>> round(plain_channel(two, "highs", 10.0)[1], 6)  # 1 / (1 + e)
    0.268941
    """
    from scipy import optimize
    from scipy.sparse import eye_array, kron

    (n, m), rows = problem.losses.shape, promised(problem)
    tool: Any = optimize  # its types know no sparse arrays of ours
    solution = tool.linprog(
        (problem.p[:, None] * problem.losses).ravel(),
        A_ub=kron(rows, eye_array(m), format="csr"),
        b_ub=np.zeros(rows.shape[0] * m),
        A_eq=kron(eye_array(n), np.ones((1, m)), format="csr"),
        b_eq=np.ones(n),
        method=method,
        options={"time_limit": seconds},
    )
    if solution.x is None:
        raise ArithmeticError(f"HiGHS found nothing: {solution.message}")
    return np.asarray(solution.x).reshape(n, m), float(solution.fun)
