"""Rényi divergences and entropies that keep their relative accuracy near independence and near order 1.

With r = p/q and d = r - 1, and because p and q both sum to 1,

    sum q r^a = 1 + (a-1) G,   G = sum q g(d),   g(d) = ((1+d)^a - 1 - a d) / (a-1) >= 0.

The linear term sums to 0 and is taken out of every summand, so that G is a sum of non-negative numbers and
D_a = log1p((a-1) G) / (a-1) loses nothing, however small it is and however near a is to 1, where g becomes
(1+d) ln(1+d) - d.
"""

from __future__ import annotations

import numpy as np

from privopt.arrays import Floats

_TERMS = 16
_SMALL = 0.1
_LARGEST = 700.0  # exp of more overflows


def log_sum_exp(values: Floats, axis: int = -1) -> Floats:
    """Logarithm of the sum of exp; -inf entries are empty terms."""
    top = values.max(axis=axis, keepdims=True)
    top = np.where(np.isfinite(top), top, 0.0)
    with np.errstate(divide="ignore"):
        total: Floats = np.log(np.exp(values - top).sum(axis=axis)) + np.squeeze(top, axis=axis)
    return total


def log_ratio(p: Floats, q: Floats) -> Floats:
    """ln(p/q) for q > 0, accurate where p is near q, and -inf where p is 0."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        near = np.abs(p - q) < 0.5 * q
        logs: Floats = np.where(near, np.log1p((p - q) / q), np.log(p) - np.log(q))
    return logs


def divergences(p: Floats, q: Floats, alpha: float) -> Floats:
    """D_alpha of each row of p from q, in nats; rows sum to 1, q is positive and sums to 1, alpha > 0.

    At alpha = 1 the Kullback-Leibler divergence, at inf the largest log-ratio.
    """
    log = log_ratio(p, q)
    if np.isinf(alpha):
        largest: Floats = np.maximum(log.max(axis=-1), 0.0)
        return largest
    order = alpha - 1
    if order > 0 and alpha * log.max() > _LARGEST:
        return _direct(q, log, alpha)
    gain = (q * _bregman((p - q) / q, log, alpha)).sum(axis=-1)
    if order == 0:
        return np.asarray(gain, dtype=np.float64)
    if order > 0 or (order * gain > -0.5).all():
        return np.asarray(np.log1p(order * gain) / order, dtype=np.float64)
    return _direct(q, log, alpha)


def _direct(q: Floats, log: Floats, alpha: float) -> Floats:
    return log_sum_exp(np.log(q) + alpha * log) / (alpha - 1)


def _bregman(d: Floats, log: Floats, alpha: float) -> Floats:
    """((1+d)^a - 1 - a d) / (a-1), at a = 1 its limit; log is ln(1+d)."""
    order, ratio = alpha - 1, 1.0 + d
    finite = np.where(np.isfinite(log), log, 0.0)
    # exp(log) rather than 1 + d: the latter has lost a small ratio.
    ratio = np.where(d < -0.5, np.exp(log), ratio)
    slope = finite if order == 0 else np.expm1(order * finite) / order
    values = np.where(ratio > 0, ratio * slope - d, 1.0)
    small = max(alpha, 1.0) * np.abs(d) < _SMALL
    if small.any():
        values[small] = _series(d[small], alpha)
    return values


def _series(d: Floats, alpha: float) -> Floats:
    """Binomial series of the same from its second term, (a/2) d^2 + a(a-2)/6 d^3 + ..."""
    coefficient, coefficients = alpha / 2, []
    for k in range(2, 2 + _TERMS):
        coefficients.append(coefficient)
        coefficient *= (alpha - k) / (k + 1)
    series = np.zeros_like(d)
    for value in reversed(coefficients):
        series = series * d + value
    return series * d * d


def mean_of_exponentials(distribution: Floats, divergence: Floats, alpha: float) -> float:
    """a/(a-1) ln E exp((a-1)/a D), the way divergences of posteriors make Sibson's information.

    At alpha = 1 the mean of D.
    """
    if alpha == 1:
        return float(distribution @ divergence)
    factor = 1.0 if np.isinf(alpha) else (alpha - 1) / alpha
    exponent = factor * divergence
    if exponent.max() < _LARGEST:
        mean = float(distribution @ np.expm1(exponent))
        if mean > -0.5:
            return float(np.log1p(mean)) / factor
    return float(log_sum_exp(np.log(distribution) + exponent)) / factor


def renyi_entropies(p: Floats, alpha: float) -> Floats:
    """H_alpha of each row, in nats; alpha in [1, inf], and rows sum to 1."""
    with np.errstate(divide="ignore"):
        log = np.log(p)
    if np.isinf(alpha):
        return np.asarray(np.abs(log.max(axis=-1)), dtype=np.float64)
    finite = np.where(p > 0, log, 0.0)
    if alpha == 1:
        return np.asarray(np.abs((p * finite).sum(axis=-1)), dtype=np.float64)
    order = alpha - 1
    change = (p * np.expm1(order * finite)).sum(axis=-1)
    direct = -log_sum_exp(alpha * log) / order
    with np.errstate(divide="ignore"):
        near = -np.log1p(np.maximum(change, -0.5)) / order
    return np.asarray(np.abs(np.where(change > -0.5, near, direct)), dtype=np.float64)
