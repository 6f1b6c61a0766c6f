"""Kernels of one step by belief, for many beliefs at once: the optimum, and those of the paper.

Source: Jiang, Li, Tandon, "Online Context-aware Data Release with Sequence Information Privacy", Theorem 4, Section VI.
Beliefs are arrays (beliefs, letters), kernels arrays (beliefs, letters, releases).
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from privopt.mechanisms._hamming_cases import Levels
from privopt.mechanisms._hamming_kernel import HammingKernel
from privopt.mechanisms._hamming_rows import rows

Floats = NDArray[np.float64]
Kernels = Callable[[Floats], Floats]
"""Kernels for beliefs."""


def optimum(epsilon: float) -> Kernels:
    """The kernel of least Hamming error.

    Examples
    --------
    >>> bool(np.allclose(optimum(0.5)(np.array([[0.6, 0.4]])), printed(0.5)(np.array([[0.6, 0.4]]))))
    True
    """

    def kernels(beliefs: Floats) -> Floats:
        return np.array([HammingKernel(belief, epsilon).matrix() for belief in beliefs])

    return kernels


def optimum_at_once(beliefs: Floats, epsilon: float) -> Floats:
    """The same kernels written from the implicit ones, a column at a time: faster for many beliefs of few letters."""
    mine, (m, n) = rows(beliefs, epsilon), beliefs.shape
    columns = np.stack([mine.column(np.full(m, y)) for y in range(n)], axis=2)
    found = mine.levels.room * columns + mine.levels.low * mine.law[:, None, :]
    place = np.argsort(mine.order, axis=1)
    found = np.take_along_axis(found, place[:, :, None], axis=1)
    return np.take_along_axis(found, place[:, None, :], axis=2)


def printed(epsilon: float) -> Kernels:
    """Conditional randomised response as Algorithm 1 prints it, private or not."""
    low = math.exp(-epsilon)

    def kernels(beliefs: Floats) -> Floats:
        n = beliefs.shape[1]
        return np.asarray(low * beliefs[:, None, :] + (1 - low) * np.eye(n))

    return kernels


def randomised_response(epsilon: float) -> Kernels:
    """Randomised response, which does not look at the belief."""

    def kernels(beliefs: Floats) -> Floats:
        m, n = beliefs.shape
        matrix = np.exp(np.where(np.eye(n, dtype=bool), 0.0, -epsilon))
        return np.broadcast_to(matrix / matrix.sum(axis=1, keepdims=True), (m, n, n))

    return kernels


def cheapest(epsilon: float, cost: Floats) -> Kernels:
    """The kernel of least expected cost, shape (n, m), by a linear programme for each belief.

    Examples
    --------
    >>> hamming = 1 - np.eye(2)
    >>> belief = np.array([0.8, 0.2])
    >>> found = cheapest(1.0, hamming)(belief[None, :])[0]
    >>> round(float((belief @ (found * hamming)).sum()), 9) == round(HammingKernel(belief, 1.0).error, 9)
    True
    """
    from privopt.solvers.belief_release._structure import solve_structure

    levels = Levels.of(epsilon)

    def one(belief: Floats) -> Floats:
        seen = np.flatnonzero(belief > 0)
        p = belief[seen] / belief[seen].sum()
        solved = solve_structure(p, cost[seen], levels, math.inf)
        if solved is None:
            raise ArithmeticError(f"the linear programme of a belief of {len(p)} letters found no optimum")
        rows_of = solved.kernel / solved.kernel.sum(axis=1, keepdims=True)
        law = p @ rows_of
        found = np.tile(law, (len(belief), 1))
        found[seen] = levels.room * rows_of + levels.low * law
        return mended(found, belief, epsilon)

    return lambda beliefs: np.array([one(belief) for belief in beliefs])


def mended(kernel: Floats, belief: Floats, epsilon: float) -> Floats:
    """A kernel mixed with its own output law by the least weight that keeps the budget at this belief.

    Examples
    --------
    >>> kernel = np.array([[0.9, 0.1], [0.2, 0.8]])
    >>> after = mended(kernel, np.array([0.5, 0.5]), 0.4)
    >>> round(float((after[0, 0] - 0.9) / (0.55 - 0.9)), 12)
    0.576125773474
    """
    law = belief @ kernel
    used, seen = law > 0, belief > 0
    ratios = kernel[np.ix_(seen, used)] / law[used]
    low, high = float(ratios.min()), float(ratios.max())
    weight = max(
        0.0,
        (math.exp(-epsilon) - low) / (1 - low) if low < math.exp(-epsilon) else 0.0,
        (high - math.exp(epsilon)) / (high - 1) if high > math.exp(epsilon) else 0.0,
    )
    return np.asarray((1 - weight) * kernel + weight * law)


def leakages(beliefs: Floats, kernels: Floats) -> Floats:
    """The largest |ln a(y | x) / Q(y)| of each belief, over possible letters and releases.

    Examples
    --------
    >>> belief = np.array([[0.9, 0.1]])
    >>> round(float(np.exp(leakages(belief, printed(np.log(2))(belief))[0])), 9)
    5.5
    """
    law = np.einsum("mx,mxy->my", beliefs, kernels)
    counted = (beliefs > 0)[:, :, None] & (law > 0)[:, None, :]
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.abs(np.log(kernels / law[:, None, :]))
    return np.asarray(np.where(counted, logs, 0.0).max(axis=(1, 2)))
