"""The linear programme of one release in the variables a(y | x), as anybody would write it: for comparison."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from privopt.mechanisms._hamming_cases import Floats


def plain(p: Floats, cost: Floats, epsilon: float) -> Floats | None:
    """A kernel of least expected cost by HiGHS with its default tolerances, shape (n, m); None if it gives none.

    Examples
    --------
    >>> found = plain(np.array([0.6, 0.4]), 1 - np.eye(2), 0.5)
    >>> found.round(6).tolist()
    [[0.757388, 0.242612], [0.363918, 0.636082]]
    """
    from scipy.optimize import linprog
    from scipy.sparse import csr_array, eye_array, kron, vstack

    def rows(table: Any) -> Any:
        return csr_array(table)

    n, m = cost.shape
    means = kron(np.tile(p, (n, 1)), eye_array(m))
    below = vstack(
        [eye_array(n * m) - math.exp(epsilon) * means, math.exp(-epsilon) * means - eye_array(n * m)]
    )
    found = linprog(
        (p[:, None] * cost).ravel(),
        A_ub=rows(below),
        b_ub=np.zeros(2 * n * m),
        A_eq=rows(kron(eye_array(n), np.ones((1, m)))),
        b_eq=np.ones(n),
        method="highs-ds",
    )
    return None if found.x is None else np.asarray(found.x).reshape(n, m)


def value(p: Floats, cost: Floats, kernel: Floats) -> float:
    """Expected cost."""
    return float(p @ (kernel * cost).sum(axis=1))
