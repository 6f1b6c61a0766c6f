"""Repair of a channel: on its own support, or the least mixture with its own output distribution that keeps the bounds."""

from __future__ import annotations

import math
from collections.abc import Collection, Hashable
from fractions import Fraction

import numpy as np

from privopt.arrays import Floats
from privopt.mechanisms import Channel
from privopt.models.channel_data import Observation, Release, release_rows
from privopt.problems.exact_joint import ExactJoint, leaking_joint
from privopt.problems.local_information_privacy.certificate import uncovered_symbols
from privopt.problems.local_information_privacy.data import LocalInformationPrivacyData
from privopt.problems.local_information_privacy.leakage import excesses, log_lifts
from privopt.problems.local_information_privacy.support import on_support

HALVINGS = 60

ROUNDING = 2.0**-49
"""Nats kept free of the budget: what rounding the mixed matrix to floats can add to a log-lift."""


def repair(data: LocalInformationPrivacyData, release: Release, margin: float) -> Release:
    """A release near the one proposed that keeps the bounds times (1 - margin), with the same zeros where rounding alone broke them.

    Else (1 - eta) W + eta P(y), with the least eta that does. Every lift moves straight towards 1,
    l -> 1 + (1 - eta)(l - 1), and P(y) stays, so the least eta has a closed form. With delta > 0 it is found by bisection. Symbols of probability 0 are then covered.
    """
    if (mended := on_support(data, release, margin)) is not None:
        return covered(data, mended)
    joint, _ = data.observation.with_release(release)
    keep = _share(data, joint, margin) if data.delta == 0 else _share_delta(data, joint, margin)
    if keep >= 1.0:
        return covered(data, release)
    keep = max(0.0, math.nextafter(keep, 0.0))
    marginal = joint.sum(axis=0)
    matrix = keep * release.matrix + (1.0 - keep) * (marginal / marginal.sum())[None, :]
    matrix = np.tile(matrix[0], (len(matrix), 1)) if keep == 0.0 else matrix
    mixed = Channel(matrix, release.inputs, release.outputs, simulation_only=release.simulation_only)
    return covered(data, mixed)


def covered(data: LocalInformationPrivacyData, release: Release) -> Release:
    """The release itself, or with the exact distribution of the output in the rows of symbols of probability 0 that need it."""
    if not data.observation.unseen:
        return release
    exact = leaking_joint(data.observation, release)
    return with_average(data.observation, release, exact, uncovered_symbols(data, release, exact))


def with_average(
    observation: Observation, release: Release, exact: ExactJoint, wrong: Collection[Hashable]
) -> Release:
    """The release with the exact distribution of the output in the rows of some symbols of probability 0."""
    if not wrong:
        return release
    average = [Fraction(c, exact.total) for c in exact.columns]
    observed = observation.observed
    rows = [
        average if label in wrong else [row.fraction(y) for y in range(len(row.weights))]
        for label, row in zip(observed, release_rows(release, range(len(observed))), strict=True)
    ]
    return Channel(rows, release.inputs, release.outputs, simulation_only=release.simulation_only)


def _inside(level: float, margin: float) -> float:
    """The level that the mixture aims at."""
    return max(0.0, level * (1.0 - margin) - ROUNDING)


def _share(data: LocalInformationPrivacyData, joint: Floats, margin: float) -> float:
    """The largest 1 - eta."""
    used = (joint.sum(axis=1) > 0)[:, None] & (joint.sum(axis=0) > 0)[None, :]
    with np.errstate(over="ignore"):  # a lift beyond all floats is infinite, and leaves no share
        lifts = np.exp(log_lifts(joint))
    high, low = np.where(used, lifts, 1.0).max(axis=0), np.where(used, lifts, 1.0).min(axis=0)
    if data.notion == "ldp":
        return _ldp_share(high, low, _inside(data.budget, margin))
    if data.per_value is None:
        return _side_share(data.lower, data.upper, float(high.max()), float(low.min()), margin)
    extremes = zip(
        data.per_value,
        np.where(used, lifts, 1.0).max(axis=1).tolist(),
        np.where(used, lifts, 1.0).min(axis=1).tolist(),
        strict=True,
    )
    return min(_side_share(*levels, top, bottom, margin) for levels, top, bottom in extremes)


def _side_share(lower: float, upper: float, top: float, bottom: float, margin: float) -> float:
    """The largest share that brings a greatest and a least lift inside two levels."""
    share = 1.0
    if upper < math.inf and top > 1.0:
        share = min(share, math.expm1(min(700.0, _inside(upper, margin))) / (top - 1.0))
    if lower < math.inf and bottom < 1.0:
        share = min(share, -math.expm1(-_inside(lower, margin)) / (1.0 - bottom))
    return share


def _ldp_share(high: Floats, low: Floats, level: float) -> float:
    """Largest k with (1 - k + k a) <= e^level (1 - k + k b) for the extreme lifts a, b of each release."""
    if level > 700:
        return 1.0
    room = math.expm1(level)
    need = high - (room + 1.0) * low + room
    over = high > (room + 1.0) * low
    return float((room / need[over]).min()) if over.any() else 1.0


def _share_delta(data: LocalInformationPrivacyData, joint: Floats, margin: float) -> float:
    """A large share that keeps delta; the mass beyond need not fall as lifts move towards 1, so shares near 1 come first.

    Mixing adds mass to pairs of low lift that are beyond their bound, so the shares 1 - 2^-k are tried for falling k,
    and the first that keeps delta is raised by bisection towards the one before it.
    """
    marginal = joint.sum(axis=1)[:, None] * joint.sum(axis=0)[None, :]

    def keeps(share: float) -> bool:
        mass = _mass_beyond(data, share * joint + (1 - share) * marginal, margin)
        return mass <= data.delta * (1 - margin)

    if keeps(1.0):
        return 1.0
    tried = [1.0 - 2.0**-k for k in range(52, 0, -1)]
    first = next((i for i, share in enumerate(tried) if keeps(share)), len(tried))
    low = tried[first] if first < len(tried) else 0.0
    high = 1.0 if first == 0 else tried[first - 1]
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if keeps(middle) else (low, middle)
    return low


def _mass_beyond(data: LocalInformationPrivacyData, joint: Floats, margin: float) -> float:
    lifts = log_lifts(joint)
    beyond = (lifts > _inside(data.upper, margin)) | (lifts < -_inside(data.lower, margin))
    return math.fsum(joint[beyond & (excesses(data, joint) > 0)].tolist())
