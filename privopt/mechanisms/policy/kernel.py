"""Kernels that keep the budget: proposals mixed with their own output distribution, rounded to integers, and checked.

Let b be the computed belief over inputs and eps the budget of a release. What is sampled are integer weights w(x, y)
with row sums 2**52. With Q(y) = sum_x b(x) w(x, y), every input, possible or not, must have

    e^-(eps - h - c) Q(y) <= w(x, y) <= e^(eps - h - c) Q(y),

where h is the distance of the computed belief from the true one (see :mod:`privopt.mechanisms.policy.beliefs`) and c
covers the rounding of this check: weights up to 2**52 are floats, sums of n positive products have a relative error of
at most n 2^-53, the exponentials and quotients a few units more. If the Hilbert distance of two distributions b and
b' is at most h, then sum b w / sum b' w is in [e^-h, e^h]. So at the true belief the ratio of w(x, y) to its mean is
in [e^-eps, e^eps], which is the bound on the leakage of the release.
"""

from __future__ import annotations

import math
import secrets
from dataclasses import dataclass

import numpy as np

from privopt.arrays import Bools, Floats, Ints
from privopt.mechanisms.policy.fixed import exp, means, total
from privopt.mechanisms.policy.ranges import Bounds, keeps_over, mixture_over, some

BITS = 52
TOTAL = 2**BITS
"""Total of every row of integer weights; a power of two, so that masked random bits draw from it exactly."""
_UNIT = 2.0**-BITS
_ROUNDING = 2.0**-24
"""Share of the budget, in nats, left to the rounding to integers."""
_FAINT = 2.0**-26
"""Outputs of less probability are not used: integers could not keep their ratios."""
_LARGEST = 600.0
"""Larger finite budgets are checked at this one: e^-level must not be 0 in floats, nor 2**52 e^level infinite."""


@dataclass(frozen=True)
class Margin:
    """The levels at which kernels are mixed and checked, in nats.

    Parameters
    ----------
    check : float
        What the integers must keep at the computed belief: eps - h - c.
    mix : float
        The level of the floats before rounding; 0 or less where only a constant release is possible.
    faint : float
        Least probability of an output in use.
    """

    check: float
    mix: float
    faint: float

    @classmethod
    def of(cls, epsilon: float, distance: float, inputs: int, outputs: int) -> Margin:
        """Margins of a budget for tables of this shape.

        Examples
        --------
        >>> margin = Margin.of(1.0, 1e-9, 4, 4)
        >>> 0 < 1.0 - margin.mix < 1e-7 and margin.mix < margin.check < 1.0 - 1e-9
        True
        """
        if epsilon == math.inf:
            return cls(math.inf, math.inf, 0.0)
        check = min(epsilon * (1 - 2.0**-50) - distance - 4 * (inputs + outputs + 16) * _UNIT, _LARGEST)
        rounding = min(_ROUNDING + outputs**2 * 2 * _UNIT, check / 2)
        faint = max(_FAINT, 2 * _UNIT / rounding) if rounding > 0 else 1.0
        return cls(check, check - rounding, faint)


def enforce(
    proposal: Floats,
    beliefs: Floats,
    muted: Bools,
    margin: Margin,
    best: Ints,
    bounds: Bounds | None = None,
) -> Ints:
    """Integer kernels that keep the budget, whatever was proposed.

    Parameters
    ----------
    proposal : array (M, n, m)
        Anything; what is not a number counts as 0.
    beliefs : array (M, n)
        Computed beliefs over inputs; 0 exactly where an input is impossible.
    muted : bool array (M, n)
        Inputs that get the output distribution as their row: the impossible ones, and those of vanishing belief.
    margin : Margin
    best : int array (M,)
        The output released for every input where nothing else passes the check: it leaks nothing.
    bounds : (least, most), arrays (M, n), optional
        Of beliefs, at every one of which the budget must be kept, see :mod:`privopt.mechanisms.policy.ranges`.

    Returns
    -------
    int64 array (M, n, m)
        Rows sum to 2**52.
    """
    if margin.mix <= 0:
        return constant(best, proposal.shape)
    kernel = cleaned(proposal)
    weights = integers(_mixed(kernel, beliefs, muted, margin, margin.mix, bounds))
    failed = np.flatnonzero(~passes(weights, beliefs, margin.check, bounds))
    if failed.size:  # half of what is left, once, and then nothing
        few = some(bounds, failed)
        again = integers(_mixed(kernel[failed], beliefs[failed], muted[failed], margin, margin.mix / 2, few))
        weights[failed] = again
        lost = failed[~passes(again, beliefs[failed], margin.check, few)]
        weights[lost] = constant(best[lost], (len(lost), *proposal.shape[1:]))
    return weights


def constant(best: Ints, shape: tuple[int, ...]) -> Ints:
    """Kernels that release one output for every input."""
    weights = np.zeros(shape, dtype=np.int64)
    weights[np.arange(shape[0]), :, best] = TOTAL
    return weights


def cleaned(proposal: Floats) -> Floats:
    """Non-negative rows that sum to 1; a row without mass becomes uniform."""
    kernel: Floats = np.where(np.isfinite(proposal), proposal, 0.0).clip(0.0, 1e9)
    sums = total(kernel)
    empty = sums <= 0
    if empty.any():
        kernel[empty] = 1.0
        sums = total(kernel)
    kernel /= sums[:, :, None]
    return kernel


def _mixed(
    kernel: Floats, beliefs: Floats, muted: Bools, margin: Margin, level: float, bounds: Bounds | None
) -> Floats:
    """Kernels at a level: faint outputs dropped, muted rows replaced, the least mixture with the output distribution."""
    loud = np.where(muted, 0.0, beliefs)
    loud /= total(loud)[:, None]
    marginal = means(loud, kernel)
    top = kernel.max(axis=1)
    quiet = ((marginal < margin.faint) & (top > 0)).any(axis=1)
    if quiet.any():  # where they are, so that no kernel depends on which others are made with it
        kernel = kernel.copy()
        kernel[quiet], marginal[quiet] = _without_faint(
            kernel[quiet], loud[quiet], marginal[quiet], margin.faint
        )
    if muted.any():
        kernel = np.where(muted[:, :, None], marginal[:, None, :], kernel)
    if level == math.inf:
        return kernel
    if bounds is not None:
        part = mixture_over(kernel, marginal, bounds, level)[:, None, None]
        return np.asarray(kernel + part * (marginal[:, None, :] - kernel))
    over = np.where(marginal > 0, marginal, 1.0)
    least = np.where(marginal > 0, kernel.min(axis=1) / over, 1.0).min(axis=1)
    most = np.where(marginal > 0, kernel.max(axis=1) / over, 1.0).max(axis=1)
    low, up = exp(-level), exp(min(level, 700.0))
    down = (low - least) / np.where(least < low, 1.0 - least, 1.0)
    above = (most - up) / np.where(most > up, most - 1.0, 1.0)
    weight = np.maximum(down, above).clip(0.0, 1.0)[:, None, None]
    return np.asarray(kernel + weight * (marginal[:, None, :] - kernel))


def _without_faint(kernel: Floats, loud: Floats, marginal: Floats, faint: float) -> tuple[Floats, Floats]:
    """The kernels without outputs of less probability than ``faint``; the likeliest one always stays."""
    used = marginal >= np.minimum(faint, marginal.max(axis=1, keepdims=True))
    kept = np.where(used[:, None, :], kernel, 0.0)
    sums = total(kept)[:, :, None]
    shared = np.where(used, marginal, 0.0)
    shared /= total(shared)[:, None]
    kept = np.where(sums > 0.5, kept / np.where(sums > 0.5, sums, 1.0), shared[:, None, :])
    return kept, means(loud, kept)


def integers(kernel: Floats) -> Ints:
    """Weights out of 2**52: every entry rounded up, except the largest of a row, which takes the rest.

    Rounding up keeps the lower side of the ratios: only the output distribution grows, by less than a unit.
    """
    n, m = kernel.shape[1:]
    weights = np.ceil(kernel * float(TOTAL)).astype(np.int64)
    flat = weights.reshape(-1, m)
    top = flat.argmax(axis=1)
    flat[np.arange(len(flat)), top] += TOTAL - flat.sum(axis=1)
    return flat.reshape(-1, n, m)


def keeps(weights: Ints, beliefs: Floats, muted: Bools, level: float, bounds: Bounds | None = None) -> Bools:
    """Whether integer kernels may be drawn from as they are: ratios within e^±level, muted rows nearly the marginal."""
    real = weights.astype(np.float64)
    marginal = means(np.where(muted, 0.0, beliefs), real) / total(np.where(muted, 0.0, beliefs))[:, None]
    near = np.abs(real - marginal[:, None, :]) <= 2.0**-25 * marginal[:, None, :] + (weights.shape[2] + 2)
    return np.asarray(passes(weights, beliefs, level, bounds) & (near | ~muted[:, :, None]).all(axis=(1, 2)))


def passes(weights: Ints, beliefs: Floats, level: float, bounds: Bounds | None = None) -> Bools:
    """Whether every ratio of integers to their mean is within e^±level at a belief, of impossible inputs too; shape (M,).

    With bounds, at every belief within them instead.
    """
    if bounds is not None:
        return keeps_over(weights, bounds, level)
    if level == math.inf:
        return np.ones(len(weights), dtype=bool)
    real = weights.astype(np.float64)
    marginal = means(beliefs, real) / total(beliefs)[:, None]
    high = real.max(axis=1) <= marginal * exp(min(level, 700.0))
    low = real.min(axis=1) >= marginal * exp(-level)
    return np.asarray((high & low).all(axis=1) & (weights >= 0).all(axis=(1, 2)))


def draw(rows: Ints, rng: np.random.Generator | None) -> Ints:
    """One output a row: output j with probability ``rows[i, j] / 2**52``, exactly.

    Parameters
    ----------
    rows : int64 array (M, m)
        Non-negative; each row sums to 2**52.
    rng : numpy.random.Generator or None
        None masks bits of the operating system's generator; otherwise the draws are a simulation.

    Examples
    --------
    >>> draw(np.array([[0, 2**52], [2**52, 0]]), None).tolist()
    [1, 0]
    """
    if rng is None:
        bits = np.frombuffer(secrets.token_bytes(8 * len(rows)), dtype=np.uint64)
        drawn = (bits & np.uint64(TOTAL - 1)).astype(np.int64)
    else:
        drawn = rng.integers(0, TOTAL, size=len(rows), dtype=np.int64)
    return np.asarray((np.cumsum(rows, axis=1) <= drawn[:, None]).sum(axis=1))
