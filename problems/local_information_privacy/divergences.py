"""How far a release moves the distribution of the secret, as one number: a convex function of its posterior.

With the prior p and the posterior q of the secret after a release, and the lifts l = q / p:

- "l1": sum_s p(s) |l(s) - 1| = sum_s |q(s) - p(s)|, twice the total variation;
- "chi2": sum_s p(s) (l(s) - 1)^2 = sum_s (q(s) - p(s))^2 / p(s), the chi-squared divergence;
- "average": sum_s q(s) ln l(s), the information density averaged over the posterior, a Kullback-Leibler divergence.

Averaged over the releases the last is I(S;Y) and "chi2" the chi-squared information. The first two are rational, so they are
compared exactly; the last is enclosed in balls. Source: Zarrabian, Ding, Sadeghi, "On the Lift, Related Privacy Measures, and
Applications to Privacy-Utility Tradeoffs" (Entropy 2023), Section 5, for the first two as bounds on every release.

What is allowed is a convex set of posteriors. It lies in the half-space sum_s c(s) q(s) <= h(c) of every direction c, where
h(c) is at least the largest such sum over the set: :func:`reach`. Directions alone so make a proof.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from privopt.arrays import Floats
from privopt.core.exact import MAX_BITS, ball_enclosure, log_enclosure
from privopt.core.problem import Enclosure
from privopt.core.words import NATS
from privopt.problems.exact_joint import enclose
from privopt.problems.local_information_privacy.polytope import Cut, Polytope

if TYPE_CHECKING:
    from flint import arb

NOTIONS = ("l1", "chi2", "average")

SCALE = 1 << 24
"""Entries of a direction are multiples of 1 / SCALE of its unit: nats for "average", its largest entry else."""

DEEPEST = 40
"""Entries of a direction are at most this in size, in its unit."""

WHOLE = 8
"""Values of the secret up to which the set of "l1" is given by all its faces."""

HALVINGS = 60

BITS = 192
"""Precision of the roots and logarithms in :func:`reach`."""


def unit(notion: str) -> str:
    """Of what a notion bounds: nothing for numbers without logarithms.

    Examples
    --------
    >>> [unit(notion) for notion in ("lip", *NOTIONS)]
    ['nats', '', '', 'nats']
    """
    return "" if notion in ("l1", "chi2") else NATS


def readings(notion: str, joint: Floats) -> Floats:
    """The divergence of each release in float64, from the joint distribution (n_s, n_y); 0 where a release never occurs.

    Examples
    --------
    >>> [readings(notion, np.array([[0.5, 0.0], [0.25, 0.25]])).round(4).tolist() for notion in NOTIONS]
    [[0.3333, 1.0], [0.1111, 1.0], [0.0566, 0.6931]]
    """
    moved, prior, occurs = _moved(joint)
    return np.where(occurs, of_moves(notion, moved, prior), 0.0).astype(np.float64)


def _moved(joint: Floats) -> tuple[Any, Any, Any]:
    """Posteriors less the prior, (n, n_y), the prior of the n possible values, and which releases occur; in extended precision."""
    table = joint[joint.sum(axis=1) > 0].astype(np.longdouble)
    prior, mass = table.sum(axis=1) / table.sum(), table.sum(axis=0)
    moved = table / np.where(mass > 0, mass, 1.0) - prior[:, None]
    return moved, prior, mass > 0


def of_moves(notion: str, moved: Any, prior: Any) -> Any:
    """The divergences of posteriors prior + moved."""
    if notion == "l1":
        return np.abs(moved).sum(axis=0)
    if notion == "chi2":
        return (moved**2 / prior[:, None]).sum(axis=0)
    off = moved / prior[:, None]  # (1 + d) ln(1 + d) - d, whose sum over the prior has no cancellation
    logs = np.where(off > -1, np.log1p(np.where(off > -1, off, 0.0)), 0.0)
    return np.maximum((prior[:, None] * ((1 + off) * logs - off)).sum(axis=0), 0.0)


def shares(notion: str, joint: Floats, bound: float) -> Floats:
    """The largest k <= 1 of each release at which the mixture k q + (1 - k) p of its posterior keeps a bound; nearly.

    For "average" by bisection: the divergence is convex along the way from 0 to its value, so that bound / value is small enough.
    """
    moved, prior, _ = _moved(joint)
    return shares_of(notion, moved, prior, bound)


def shares_of(notion: str, moved: Any, prior: Any, bound: float) -> Floats:
    """As :func:`shares`, of posteriors prior + moved, a column each."""
    values = of_moves(notion, moved, prior)
    over = values > bound
    part = np.where(over, bound / np.where(over, values, 1.0), 1.0)
    if notion != "average":
        return np.asarray(np.sqrt(part) if notion == "chi2" else part, dtype=np.float64)
    low, high = part, np.ones(len(part))
    for _ in range(HALVINGS if over.any() else 0):
        middle = (low + high) / 2
        kept = of_moves(notion, middle * moved, prior) <= bound
        low, high = np.where(kept & over, middle, low), np.where(kept, high, middle)
    return np.asarray(low, dtype=np.float64)


@dataclass(frozen=True)
class Column:
    """A release in integers: how often it occurs with each possible value of the secret, and how often these occur.

    Parameters
    ----------
    cells : tuple of int
    secrets : tuple of int
        Weights of the values, all positive; cells are at most these.
    """

    cells: tuple[int, ...]
    secrets: tuple[int, ...]

    def exact(self, notion: str) -> Fraction:
        """The value of "l1" or "chi2"."""
        mass, total = sum(self.cells), sum(self.secrets)
        moved = [c * total - p * mass for c, p in zip(self.cells, self.secrets, strict=True)]
        if notion == "l1":
            return Fraction(sum(map(abs, moved)), mass * total)
        parts = (Fraction(m * m, p) for m, p in zip(moved, self.secrets, strict=True))
        return sum(parts, Fraction(0)) / (mass * mass * total)

    def ball(self, bits: int) -> arb:
        """The value of "average"."""
        from flint import arb, ctx, fmpq

        mass, total = sum(self.cells), sum(self.secrets)
        with ctx.workprec(bits):
            value = arb(0)
            for c, p in zip(self.cells, self.secrets, strict=True):
                if c and c * total != p * mass:
                    value += c * arb(fmpq(c * total, p * mass)).log()
            return value / mass

    def keeps(self, notion: str, bound: float) -> bool | None:
        """Whether the value is at most the bound, proved; None where that is undecided."""
        if bound == math.inf or all(c * sum(self.secrets) == p * sum(self.cells) for c, p in self._pairs):
            return True
        if notion != "average":
            return self.exact(notion) <= Fraction(bound)
        from flint import arb, ctx, fmpq

        bits = 64 + 2 * sum(self.secrets).bit_length()
        while bits <= MAX_BITS:
            with ctx.workprec(bits):
                value, limit = self.ball(bits), arb(fmpq(*Fraction(bound).as_integer_ratio()))
                if value <= limit:
                    return True
                if value > limit:
                    return False
            bits *= 2
        return None

    @property
    def _pairs(self) -> zip[tuple[int, int]]:
        return zip(self.cells, self.secrets, strict=True)

    def ends(self, notion: str) -> Enclosure:
        """Floats around the value."""
        if notion != "average":
            return enclose(self.exact(notion))
        bits = 128 + 2 * sum(self.secrets).bit_length()
        while True:
            value = self.ball(bits)
            if value.rel_accuracy_bits() >= 64 or bits >= MAX_BITS or not value.mid():
                low, high = ball_enclosure(value)
                return max(0.0, low), max(0.0, high)
            bits *= 2


def direction(notion: str, posterior: Floats, prior: Floats) -> tuple[int, ...]:
    """The direction in which the set of allowed posteriors ends at a posterior on its border, rounded; see :func:`reach`.

    Examples
    --------
    >>> direction("l1", np.array([0.75, 0.25]), np.array([0.5, 0.5]))
    (16777216, 0)
    """
    if notion == "l1":
        slope = np.where(posterior > prior, 1.0, 0.0)
    elif notion == "chi2":
        slope = posterior / prior - 1.0
        slope = slope / max(float(np.abs(slope).max()), 1e-300)
    else:
        slope = np.log(np.maximum(posterior, 1e-300)) - np.log(prior)
    return tuple(round(v) for v in (np.clip(slope, -DEEPEST, DEEPEST) * SCALE).tolist())


def slopes(notion: str, cells: Floats, prior: Floats, bound: float) -> Floats:
    """The derivative of mass times (divergence - bound) in the cells P(s, y) of a release, whose mass is their sum.

    It is homogeneous in the cells: the sum of cells times derivatives is what is differentiated.

    Examples
    --------
    >>> cells, prior = np.array([0.3, 0.1]), np.array([0.5, 0.5])
    >>> [round(float(slopes(notion, cells, prior, 0.1) @ cells), 4) for notion in NOTIONS]
    [0.16, 0.06, 0.0123]
    >>> [round(0.4 * float(readings(notion, np.array([[0.3, 0.2], [0.1, 0.4]]))[0] - 0.1), 4) for notion in NOTIONS]
    [0.16, 0.06, 0.0123]
    """
    mass = cells.sum()
    lifts = cells / (mass * prior)
    if notion == "l1":
        signs = np.sign(lifts - 1.0)
        return np.asarray(signs - signs @ prior - bound)
    if notion == "chi2":
        return np.asarray(2.0 * lifts - lifts @ (lifts * prior) - 1.0 - bound)
    return np.asarray(np.log(np.maximum(lifts, 1e-300)) - bound)


def first_directions(notion: str, values: int) -> list[tuple[int, ...]]:
    """Directions to begin with: all faces of a small set of "l1", else up and down for each value."""
    if notion == "l1" and values <= WHOLE:
        return [
            tuple(SCALE * on for on in row) for row in product((0, 1), repeat=values) if 0 < sum(row) < values
        ]
    return [
        tuple(sign * SCALE * (i == s) for i in range(values)) for s in range(values) for sign in (1, -1)
    ]  # fmt: skip


def complete(notion: str, values: int) -> bool:
    """Whether the directions to begin with say all."""
    return notion == "l1" and values <= WHOLE


def reach(notion: str, along: Sequence[int], secrets: Sequence[int], bound: float) -> Fraction:
    """A number that is at least sum_s c(s) q(s) for every posterior q that keeps the bound, with c = along / SCALE.

    For "l1" it is the mean of c plus half the bound times its range, as q - p takes at most half the bound from one place to
    another. For "chi2" it is the mean plus the root of bound times variance (Cauchy and Schwarz). For "average" it is bound +
    ln sum_s p(s) e^c(s) (Donsker and Varadhan; Gibbs). None is more than the largest entry.

    Parameters
    ----------
    along : ints
    secrets : ints
        Weights of the possible values of the secret.

    Examples
    --------
    >>> [float(reach(notion, (SCALE, 0), (1, 1), 0.25)) for notion in NOTIONS]
    [0.625, 0.75, 0.8701145069582775]
    """
    total = sum(secrets)
    some = [
        (Fraction(v, SCALE), p) for v, p in zip(along, secrets, strict=True) if v
    ]  # most are next to one value
    mean = sum((v * p for v, p in some), Fraction(0)) / total
    most, least = Fraction(max(along), SCALE), Fraction(min(along), SCALE)
    if notion == "l1":
        far = mean + Fraction(bound) / 2 * (most - least)
    elif notion == "chi2":
        square = sum((v * v * p for v, p in some), Fraction(0)) / total
        far = mean + _root_above(Fraction(bound) * (square - mean * mean))
    else:
        far = Fraction(bound) + _log_mean_above(some, total)
    return min(far, most)


def _root_above(square: Fraction) -> Fraction:
    """A rational a little above the root."""
    up, down = square.numerator << (2 * BITS), square.denominator
    root = math.isqrt(up * down)
    return Fraction(root + (root * root < up * down), down << BITS)


def _log_mean_above(some: Sequence[tuple[Fraction, int]], total: int) -> Fraction:
    """A rational a little above ln sum_s p(s) e^c(s), from the values c and weights of those where c is not 0."""
    from flint import arb, ctx, fmpq

    with ctx.workprec(BITS):
        parts = (p * arb(fmpq(v.numerator, v.denominator)).exp() for v, p in some)
        rest = arb(total - sum(p for _, p in some))
        mantissa, exponent = (sum(parts, rest) / total).log().upper().man_exp()
    return Fraction(int(mantissa)) * Fraction(2) ** int(exponent)


def most_information(notion: str, bound: float) -> Enclosure:
    """Floats around what I(S;Y) is at most under a bound: "average" is its mean, and ln(1 + "chi2") at least as much (Jensen).

    Examples
    --------
    >>> [most_information(notion, 0.5)[1] for notion in NOTIONS]
    [inf, 0.4054651081081644, 0.5]
    """
    if notion == "average" or bound == math.inf:
        return bound, bound
    if notion == "l1":
        return math.inf, math.inf
    exact = 1 + Fraction(bound)
    return log_enclosure(exact.numerator, exact.denominator)


def cut(notion: str, along: Sequence[int], weights: Polytope, bound: float) -> Cut:
    """The row of posteriors that a direction makes, in integers; of the polytope only its weights count."""
    far = reach(notion, along, weights.secrets, bound) * SCALE
    step = 1 << BITS
    level = math.ceil(far * step)
    values = [-level * weight for weight in weights.symbols]
    for c, row in zip(along, weights.table, strict=True):
        if c:
            values = [v + step * c * w for v, w in zip(values, row, strict=True)]
    below = step * sum(weights.secrets) * SCALE
    shared = math.gcd(below, *values)
    return tuple(v // shared for v in values), below // shared
