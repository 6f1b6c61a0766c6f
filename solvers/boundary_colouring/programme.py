"""The linear programme of two colours: the best weighted accuracy over the probabilities of the first colour."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from privopt.arrays import Floats, Ints
from privopt.measures.colouring.steps import Step

TOLERANCES = (1e-10, 1e-8)
"""Of HiGHS, tried in turn: at the first it sometimes stops without an answer."""


@dataclass(frozen=True, eq=False)
class Solved:
    """What the linear programme found.

    Parameters
    ----------
    p : array (n,)
        Probability of the first colour.
    multipliers : array (m, 4)
        Of the edges (u, v) in order: Pr[M(u)=c] - e^eps Pr[M(v)=c] <= delta for both colours, then with u and v
        exchanged.
    iterations : int
    """

    p: Floats
    multipliers: Floats
    iterations: int


def signed(codes: Any, weights: Floats) -> Floats:
    """Gain of each vertex's weighted accuracy in its probability of the first colour."""
    return np.where(np.asarray(codes) == 0, weights, -weights)


def solve_programme(
    edges: Ints, gains: Floats, one: Step, seconds: float, box: Floats | None = None
) -> Solved | None:
    """Maximise gains . p over private colourings, or None where HiGHS does not end.

    ``box``, (n, 2), bounds the probabilities; [0, 1] by default. The rows are divided by e^eps, so that no coefficient exceeds 1.
    """
    from scipy.optimize import linprog

    scale = float(np.abs(gains).max(initial=0.0)) or 1.0
    matrix, limits = _rows(edges, len(gains), one)
    bounds: Any = (0.0, 1.0) if box is None else box
    for tolerance in TOLERANCES:
        found = linprog(
            -gains / scale,
            A_ub=matrix,
            b_ub=limits,
            bounds=bounds,
            method="highs-ds",
            options={
                "time_limit": max(seconds, 0.01),
                "primal_feasibility_tolerance": tolerance,
                "dual_feasibility_tolerance": tolerance,
            },
        )
        if found.x is not None:
            rows = np.maximum(-found.ineqlin.marginals, 0.0).reshape(4, len(edges)).T
            return Solved(np.clip(found.x, 0.0, 1.0), rows * (scale * one.decay), int(found.nit))
    return None


def _rows(edges: Ints, n: int, one: Step) -> tuple[Any, Floats]:
    """Rows block by block: colour 1 and 2 from u to v, then from v to u."""
    from scipy.sparse import csr_array

    m = len(edges)
    u, v = edges[:, 0], edges[:, 1]
    small, large = np.full(m, one.decay), np.ones(m)
    columns = np.concatenate([u, v, u, v, v, u, v, u])
    entries = np.concatenate([small, -large, -small, large] * 2)
    row = np.arange(m)
    rows = np.concatenate([block * m + row for block in (0, 0, 1, 1, 2, 2, 3, 3)])
    first, second = one.decay * one.delta, 1.0 - one.decay * (1.0 - one.delta)
    limits = np.repeat([first, second, first, second], m)
    return csr_array((entries, (rows, columns)), shape=(4 * m, n)), limits
