"""Bounds on ratios and a distortion as one linear programme over P(y | x), given to HiGHS with its default tolerances."""

from __future__ import annotations

from typing import Any

import numpy as np

from privopt.benchmarks._peers import PeerAnswer, register_peer
from privopt.benchmarks.peers._programmes import Linear, no_linear_programme, programme, stochastic


@register_peer("local_information_privacy", "highs", ("scipy",), no_linear_programme)
@register_peer("belief_release", "highs", ("scipy",))
def highs(problem: Linear, seconds: float) -> PeerAnswer:
    """The linear programme through SciPy's ``linprog``."""
    from scipy import optimize
    from scipy.sparse import csr_array, eye_array, kron

    cost, rows = programme(problem)
    n, m = cost.shape
    tool: Any = optimize  # its types know no sparse arrays of ours
    found = tool.linprog(
        cost.ravel(),
        A_ub=kron(csr_array(rows), eye_array(m), format="csr"),
        b_ub=np.zeros(len(rows) * m),
        A_eq=kron(eye_array(n), np.ones((1, m)), format="csr"),
        b_eq=np.ones(n),
        method="highs",
        options={"time_limit": seconds},
    )
    if found.x is None:
        raise ArithmeticError(f"HiGHS found nothing: {found.message}")
    return PeerAnswer(problem.answer(stochastic(found.x.reshape(n, m))), -float(found.fun))
