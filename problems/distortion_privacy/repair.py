"""Repair of a release: the least mixture that meets the bound.

Where distortion is bounded the partner is the best deterministic reproduction, among the releases in use if that is
enough: a release used for the first time, however rarely, would have a posterior of its own, and the ratio measures
would see it. Expected distortion is linear in the mixture, so the least weight is exact. Where leakage is bounded the
partner is the release's own output distribution, and every leakage is convex or quasi-convex in the channel: Brent's method.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import partial

import numpy as np

from privopt.mechanisms import Channel
from privopt.models.channel_data import Release
from privopt.problems.costs import share
from privopt.problems.distortion_privacy import over_set
from privopt.problems.distortion_privacy.certificate import level_of
from privopt.problems.distortion_privacy.data import DistortionData
from privopt.problems.information_support import information_slopes, moved, sibson_slopes
from privopt.problems.local_information_privacy.repair import covered
from privopt.problems.robust_reading import SetReader

CLOSE = 2.0**-52
"""How near to the largest share its root is sought."""
LARGE = 1e6
"""Nats; stands for an infinite excess, which has no secant."""


def repair(problem: DistortionData, release: Release, margin: float) -> Release:
    """A release near the one proposed that meets the bound with a relative margin, symbols of probability 0 included."""
    if problem.max_leakage is not None and problem.order is None and problem.budget < math.inf:
        return problem.ratios(problem.budget).repair(release, margin)
    if problem.ambiguity is not None:
        return over_set.repair(problem, problem.ambiguity, SetReader.of(problem.ambiguity), release, margin)
    if problem.budget < math.inf:
        mixed = _closer if problem.max_leakage is None else _quieter
        release = mixed(problem, release, margin)
    if not problem.observation.unseen:
        return release
    return covered(problem.ratios(level_of(problem, release)), release)


def _closer(problem: DistortionData, release: Release, margin: float) -> Release:
    """Mixed with a reproduction, exactly, until least + (floor - least) (1 - margin) is met."""
    costs = problem.costs
    target = costs.least + (problem.floor - costs.least) * (1 - Fraction(margin))
    now = costs.expected(release)
    if now <= target:
        return release
    used = np.flatnonzero(release.matrix[problem.observation.support].any(axis=0)).tolist()
    chosen = costs.reproduction_among(used)
    if costs.of_map(chosen) >= target:
        chosen = costs.reproduction
    least = costs.of_map(chosen)
    weight = share(now - max(target, least), now - least) if now > least else Fraction(1)
    rows, (a, b), zero = [], weight.as_integer_ratio(), Fraction(0)
    for row, best in zip(release.exact(), chosen, strict=True):
        mixed = [Fraction((b - a) * w, b * row.total) if w else zero for w in row.weights]
        mixed[best] += weight
        rows.append(mixed)
    return Channel(rows, release.inputs, release.outputs, simulation_only=release.simulation_only)


def _quieter(problem: DistortionData, release: Release, margin: float) -> Release:
    """A release near it whose leakage reads at most budget (1 - margin): on its own support, or mixed with its output distribution."""
    if (mended := _on_support(problem, release, problem.budget * (1.0 - margin))) is not None:
        return mended
    joint, _ = problem.observation.with_release(release)
    marginal = joint.sum(axis=0) / joint.sum()
    free = joint.sum(axis=1)[:, None] * marginal[None, :]
    limit = problem.budget * (1.0 - margin)

    def excess(share: float) -> float:
        return problem.leakage_of(share * joint + (1.0 - share) * free) - limit

    kept = largest_share(excess)
    if kept == 1.0:
        return release
    matrix = np.tile(marginal, (len(release.matrix), 1))
    if kept > 0.0:
        matrix = kept * release.matrix + (1.0 - kept) * matrix
    return Channel(matrix, release.inputs, release.outputs, simulation_only=release.simulation_only)


def _on_support(problem: DistortionData, release: Release, target: float) -> Channel | None:
    """The release with its positive weights moved until its leakage meets a target; None where that has no slopes, or fails."""
    order, observed = problem.order, problem.observation
    if order is None or order == math.inf or not isinstance(release, Channel):
        return None

    def missed(at: Channel) -> float:
        return problem.leakage_of(observed.leaking_distribution(at)) - target

    slopes = (
        partial(information_slopes, observed, leaking=True)
        if order == 1
        else partial(sibson_slopes, observed, order=order)
    )
    return moved(release, missed, slopes)


def largest_share(excess: Callable[[float], float]) -> float:
    """The largest share in [0, 1] whose excess over a bound is at most 0, of an excess that does not decrease.

    Examples
    --------
    >>> largest_share(lambda share: share - 0.25), largest_share(lambda share: -1.0), largest_share(lambda share: share)
    (0.25, 1.0, 0.0)
    """
    from scipy.optimize import brentq

    if excess(1.0) <= 0.0:
        return 1.0
    if excess(0.0) >= 0.0:
        return 0.0
    share = float(brentq(lambda at: min(excess(at), LARGE), 0.0, 1.0, xtol=CLOSE, rtol=4.0 * CLOSE))
    step = CLOSE
    while excess(share) > 0.0:
        share, step = max(0.0, share - step), 2.0 * step
    return share
