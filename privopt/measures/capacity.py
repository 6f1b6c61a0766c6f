"""Channel capacity, and the radii of sets of distributions that it is one of."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from privopt.arrays import Floats
from privopt.measures.inputs import ChannelInput, Unit, in_unit, supported
from privopt.measures.renyi import divergences, log_sum_exp, mean_of_exponentials

_NEAR_ONE = 1.5
_LARGE = 30.0
_LEAST = 1e-300


@dataclass(frozen=True)
class Step:
    """What a prior gives: D_a of each row from its best output distribution, and its Sibson information, in nats."""

    divergence: Floats
    value: float


class Rows:
    """A channel without empty columns, with the powers that every step needs."""

    def __init__(self, matrix: Floats, order: float) -> None:
        self.matrix, self.order = matrix, order
        with np.errstate(divide="ignore"):
            self.log = np.log(matrix)
        # Columns are scaled by their largest entry: what underflows then does not count.
        self.top = self.log.max(axis=0)
        self.power = np.exp(order * (self.log - self.top))
        b, log = order - 1, np.where(matrix > 0, self.log, 0.0)
        self.slope = matrix * (np.expm1(b * log) / b if b else log)

    def step(self, log_prior: Floats) -> Step:
        """By a few products of a matrix and a vector; by the accurate formulas where powers would underflow."""
        if self.order <= _NEAR_ONE:
            return self._near_one(log_prior)
        return self._powers(log_prior) if self.order < _LARGE else self.accurate(log_prior)

    def _near_one(self, log_prior: Floats) -> Step:
        """With b = a - 1 divided out of every power: W^a = W + b F, and 1 at the order 1 of Blahut and Arimoto."""
        a, b, prior = self.order, self.order - 1, np.exp(log_prior)
        mean = np.maximum(prior @ self.matrix, _LEAST)
        log_mean, ratio = np.log(mean), (prior @ self.slope) / mean
        # The best output distribution is proportional to mean * exp(b * tilt).
        tilt = ((np.log1p(b * ratio) / b if b else ratio) - log_mean) / a
        norm = float(np.log1p(mean @ np.expm1(b * tilt)))
        log_distribution = log_mean + b * tilt - norm
        rest = np.expm1(-b * log_distribution) / b if b else -log_distribution
        gain = self.slope @ np.exp(-b * log_distribution) + self.matrix @ rest
        if not b:
            return Step(gain, float(mean @ tilt))
        return Step(np.log1p(b * gain) / b, a * norm / b)

    def _powers(self, log_prior: Floats) -> Step:
        a = self.order
        outer = np.log(np.maximum(np.exp(log_prior) @ self.power, _LEAST)) / a + self.top
        norm = float(log_sum_exp(outer))
        weight = a * self.top + (1 - a) * (outer - norm)
        most = weight.max()
        sums = np.maximum(self.power @ np.exp(weight - most), _LEAST)
        return Step((np.log(sums) + most) / (a - 1), norm * a / (a - 1))

    def accurate(self, log_prior: Floats) -> Step:
        """By formulas that keep their relative accuracy at every order."""
        a = self.order
        outer = log_sum_exp((log_prior[:, None] + a * self.log).T) / a
        # Any output distribution bounds from above: one that has not underflowed keeps the bound finite.
        distribution = np.maximum(np.exp(outer - log_sum_exp(outer)), _LEAST)
        return Step(
            divergences(self.matrix, distribution / distribution.sum(), a),
            self._information(np.exp(log_prior)),
        )

    def _information(self, prior: Floats) -> float:
        kept = prior > 1e-280
        p = prior[kept] / prior[kept].sum()
        distribution = p @ self.matrix[kept]
        seen = distribution > 0
        posterior = (self.matrix[kept][:, seen] * p[:, None] / distribution[seen]).T
        return mean_of_exponentials(distribution[seen], divergences(posterior, p, self.order), self.order)


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
        next_step = rows.step(moved)
        if next_step.value >= step.value or stride == 1.0:
            return moved, next_step, min(1.3 * stride, _LONGEST)
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
    next_step = rows.step(moved)
    return (moved, next_step) if next_step.value > step.value else (log_prior, step)


def widened(low: float, high: float, matrix: Floats) -> tuple[float, float]:
    """Both ends moved out by what rounding can have done to them.

    Every summand is non-negative and known to a few units in the last place, and a sum of n of them, or a distribution of n
    floats that should sum to 1, is off by less than n units.
    """
    unit = float(np.finfo(float).eps) * (64 + sum(matrix.shape))
    return max(0.0, low - unit * (1 + low)), high + unit * (1 + high)


def capacity(
    channel: ChannelInput,
    *,
    unit: Unit = "nats",
    normalise: bool = False,
    tol: float = 1e-9,
    max_steps: int = 20_000,
) -> tuple[float, float]:
    """Shannon's capacity max over priors of I(X;Y), as an interval that contains it.

    The limit of maximal alpha-leakage as alpha falls to 1; Blahut's and Arimoto's iteration, with the certificate
    of :func:`maximal_alpha_leakage`.

    Parameters
    ----------
    channel : Channel, JointDistribution or array-like, shape (n_x, n_y)
        Rows Pr(y|x), each summing to 1 within 1e-9.
    unit : {"nats", "bits"}
    normalise : bool
        Divide rows of counts by their sums.
    tol : float
        Width in nats at which to stop.
    max_steps : int
        Steps after which the interval is returned as it is.

    Returns
    -------
    (float, float)
        Lower and upper end, never below 0.

    Raises
    ------
    InvalidMechanism
        If the table is no channel.

    Examples
    --------
    >>> low, high = capacity([[1, 0], [0.5, 0.5]], unit="bits")  # the Z-channel: log2(5/4)
    >>> bool(low <= 0.3219280948873623 <= high), high - low < 1e-8
    (True, True)
    """
    rows, _ = supported(channel, None, normalise)
    low, high = radius(rows, 1.0, tol, max_steps)
    return in_unit(low, unit), in_unit(high, unit)
