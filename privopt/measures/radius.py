"""The largest Sibson information of a channel over priors, enclosed from both sides.

For a > 1 and every prior p and output law q,

    Sibson_a(p) <= max over priors = min over q of max_x D_a(W_x || q) <= max_x D_a(W_x || q),

so a prior and an output law enclose it. The output law that is best for a prior is proportional to
(sum_x p_x W(y|x)^a)^(1/a), and p_x <- p_x exp(a D_x) never lowers the information; at a = 1 this is Blahut's and
Arimoto's iteration, with the factor exp(D_x).
"""

from __future__ import annotations

import numpy as np

from privopt.arrays import Floats
from privopt.measures._radius_step import Rows, Step

_PATIENCE = 64  # steps between two certified enclosures
_FADED = 40.0
_LONGEST = 1e4  # stride, in steps of the plain iteration


def radius(matrix: Floats, order: float, tol: float, max_steps: int) -> tuple[float, float]:
    """Interval, in nats, that contains the maximum; the width is at most tol unless the steps ran out."""
    rows = Rows(matrix, order)
    log_prior = np.full(len(matrix), -np.log(len(matrix)))
    low, high, stride, step = 0.0, np.inf, 1.0, rows.step(log_prior)
    for count in range(max_steps):
        if count % _PATIENCE == 0 or step.divergence.max() - step.value <= tol / 2:
            sure = rows.accurate(log_prior)
            low, high = max(low, sure.value), min(high, float(sure.divergence.max()))
            if high - low <= tol:
                break
            log_prior, step = _transferred(rows, log_prior, step)
        log_prior, step, stride = _advanced(rows, log_prior, step, stride)
    return widened(low, high, matrix)


def _advanced(rows: Rows, log_prior: Floats, step: Step, stride: float) -> tuple[Floats, Step, float]:
    """The next prior: by a long stride while that gains, else by the plain step, which never loses."""
    while True:
        moved = log_prior + stride * rows.order * (step.divergence - step.divergence.max())
        moved -= np.log(np.exp(moved - moved.max()).sum()) + moved.max()
        found = rows.step(moved)
        if found.value >= step.value or stride == 1.0:
            return moved, found, min(1.3 * stride, _LONGEST)
        stride = max(1.0, stride / 4)


def _transferred(rows: Rows, log_prior: Floats, step: Step) -> tuple[Floats, Step]:
    """Give the weight of the row that holds most of the gap to the best row, if that gains.

    Of two nearly equal rows the worse one would otherwise lose its weight only over 1 / difference steps.
    """
    best = int(step.divergence.argmax())
    giver = int((np.exp(log_prior) * (step.divergence[best] - step.divergence)).argmax())
    if giver == best:
        return log_prior, step
    moved = log_prior.copy()
    moved[best] = np.logaddexp(moved[best], moved[giver])
    moved[giver] -= _FADED  # not to zero, from where no step could bring it back
    found = rows.step(moved)
    return (moved, found) if found.value > step.value else (log_prior, step)


def widened(low: float, high: float, matrix: Floats) -> tuple[float, float]:
    """Both ends moved out by what rounding can have done to them.

    Every summand is non-negative and known to a few units in the last place, and a sum of n of them, or a law of n
    floats that should sum to 1, is off by less than n units.
    """
    unit = float(np.finfo(float).eps) * (64 + sum(matrix.shape))
    return max(0.0, low - unit * (1 + low)), high + unit * (1 + high)
