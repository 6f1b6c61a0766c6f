"""The linear programme of one release in the variables K and Q / theta, where every number is of the size of 1.

Write L = e^-epsilon and theta = 1 / (e^epsilon + 1). A kernel keeps the bounds exactly when it is
(1 - L) K(y | x) + L Q(y) with a kernel K of the same output law Q and K(y | x) <= Q(y) / theta.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from privopt.arrays import Floats
from privopt.mechanisms.policy.hamming_cases import Levels

TOLERANCE = 1e-10
"""Of HiGHS, on rows and on reduced costs; with looser ones small beliefs and large budgets lose four digits."""


@dataclass(frozen=True, eq=False)
class Solved:
    """Answer of the programme: K (k, m), Q (m,) and prices (k,) in the unit of the distortion.

    ``prices`` are those of the rows of K, divided by (1 - L).
    """

    kernel: Floats
    law: Floats
    prices: Floats
    iterations: int
    message: str


def solve_programme(p: Floats, cost: Floats, levels: Levels, seconds: float) -> Solved | None:
    """The least (1 - L) sum p D K + theta L sum Dbar z  with K stochastic, sum_x p K / theta = z and K <= z; None in time.

    Parameters
    ----------
    p : array (k,)
        Positive probabilities that sum to about 1.
    cost : array (k, m)
    """
    from scipy.optimize import linprog

    k, m = cost.shape
    objective = np.concatenate(
        [(levels.room * p[:, None] * cost).ravel(), levels.theta * levels.low * (p @ cost)]
    )
    below, equal = _rows(p, m, levels.theta)
    found = linprog(
        objective,
        A_ub=below,
        b_ub=np.zeros(k * m),
        A_eq=equal,
        b_eq=np.concatenate([np.ones(k), np.zeros(m)]),
        method="highs-ds",
        options={
            "time_limit": max(0.01, min(seconds, 1e9)),
            "primal_feasibility_tolerance": TOLERANCE,
            "dual_feasibility_tolerance": TOLERANCE,
        },
    )
    if found.x is None or found.eqlin.marginals is None or found.status != 0:
        return None
    kernel = np.clip(np.asarray(found.x)[: k * m].reshape(k, m), 0.0, 1.0)
    law = np.maximum(np.asarray(found.x)[k * m :], 0.0) * levels.theta
    lam = np.asarray(found.eqlin.marginals)[:k] / (levels.room * p)
    return Solved(kernel, law, lam, int(found.nit), str(found.message))


def _rows(p: Floats, m: int, theta: float) -> tuple[Any, Any]:
    """K(x, y) - z(y) <= 0, and the two kinds of equations."""
    from scipy.sparse import csr_array, eye_array, hstack, kron, vstack

    k = len(p)
    tops = kron(np.ones((k, 1)), eye_array(m))
    below = csr_array(hstack([eye_array(k * m), -tops]))
    sums = kron(eye_array(k), np.ones((1, m)))
    means = kron((p / theta)[None, :], eye_array(m))
    upper, lower = hstack([sums, csr_array((k, m))]), hstack([means, -eye_array(m)])
    equal = csr_array(vstack([upper, lower]))
    return below, equal
