"""Repair of a release judged by two informations."""

from __future__ import annotations

from functools import partial

import numpy as np

from privopt.files.labels import Label
from privopt.mechanisms import Channel, Merging
from privopt.models.channel_data import Release
from privopt.problems.information_support import information_slopes, moved
from privopt.problems.robust_information import kept_share
from privopt.problems.trade_off.data import TradeOffData
from privopt.problems.trade_off.information import information

ROUNDING = 2.0**-46
"""Nats kept free of the bound: what rounding the repaired matrix to floats can change an information by."""


def repair(problem: TradeOffData, release: Release, margin: float) -> Release:
    """A release near the one proposed that keeps the bound; the release itself where there is none to keep.

    What rounding broke is mended on the support of the channel where that is possible. Else, under a floor a channel publishes the observation with probability eta and says which of the two it
    did, so both informations move along an exact chord; under a cap it is mixed with its own output
    distribution, and information is convex in that mixture. A merging is split or merged further, step by step.
    """
    if not (problem.is_floor or problem.is_cap):
        return release
    if isinstance(release, Merging):
        return _move(problem, release, margin)
    if (mended := _on_support(problem, release, _target(problem, margin))) is not None:
        return mended
    return _raised(problem, release, margin) if problem.is_floor else _lowered(problem, release, margin)


def _target(problem: TradeOffData, margin: float) -> float:
    if problem.is_floor:
        return min(problem.most, problem.budget * (1 + margin) + ROUNDING)
    return max(0.0, problem.budget * (1 - margin) - ROUNDING)


def _on_support(problem: TradeOffData, release: Channel, target: float) -> Channel | None:
    """The release itself or with its positive weights moved until the target is met; None where that is not possible, or slow."""
    if problem.reader is not None or target == 0:
        return None

    def missed(at: Channel) -> float:
        utility, leakage = problem.readings(at)
        return target - utility if problem.is_floor else leakage - target

    slopes = partial(information_slopes, problem.observation, leaking=problem.is_funnel != problem.is_floor)
    return moved(release, missed, slopes, rising=problem.is_floor)


def _raised(problem: TradeOffData, release: Channel, margin: float) -> Channel:
    have, target = problem.readings(release)[0], _target(problem, margin)
    if have >= target:
        return release
    eta = 1.0 if problem.most <= have else min(1.0, (target - have) / (problem.most - have) * (1 + 1e-15))
    everything = problem.everything()
    published = [("published", label) for label in everything.outputs]
    matrix = np.hstack([(1 - eta) * release.matrix, eta * everything.matrix])
    kept = matrix.sum(axis=0) > 0
    labels = [label for label, keep in zip((*release.outputs, *published), kept, strict=True) if keep]
    return Channel(matrix[:, kept], release.inputs, labels, simulation_only=release.simulation_only)


def _lowered(problem: TradeOffData, release: Channel, margin: float) -> Release:
    target = _target(problem, margin)
    marginal = problem.observation.p_w @ release.matrix
    constant = np.tile(marginal / marginal.sum(), (len(release.inputs), 1))
    if problem.reader is not None:
        kept = kept_share(problem.reader, release.matrix, constant, target)
        matrix = kept * release.matrix + (1 - kept) * constant if kept else constant
        if kept == 1.0:
            return release
        return Channel(matrix, release.inputs, release.outputs, simulation_only=release.simulation_only)

    def mixed(share: float) -> Channel:
        matrix = constant if share == 0 else share * release.matrix + (1 - share) * constant
        return Channel(matrix, release.inputs, release.outputs, simulation_only=release.simulation_only)

    if target == 0:  # a reading of 0 is no proof of independence
        return mixed(0.0)
    if problem.readings(release)[1] <= target:
        return release
    share, step = _largest_share(problem, release, target), 2.0**-52
    while share > 0 and problem.readings(mixed(share))[1] > target:
        share, step = max(0.0, share - step), 4 * step
    return mixed(share)


def _largest_share(problem: TradeOffData, release: Channel, target: float) -> float:
    """The share of a release, mixed with its own output distribution, that leaks the target: to rounding.

    The joint distribution with what is leaked moves along a chord to the product of its marginals, so that one table is
    read for every share, instead of a channel.
    """
    from scipy.optimize import brentq

    observed = problem.observation
    joint = (
        observed.leaking_distribution(release) if problem.is_funnel else observed.useful_distribution(release)
    )
    product = np.outer(joint.sum(axis=1), joint.sum(axis=0)) / joint.sum()

    def excess(share: float) -> float:
        return information(share * joint + (1 - share) * product) - target

    return 1.0 if excess(1.0) <= 0 else float(brentq(excess, 0.0, 1.0, xtol=2.0**-52, rtol=2.0**-50))


def _move(problem: TradeOffData, merging: Merging, margin: float) -> Merging:
    """Take single symbols out of blocks until the floor is met, or merge blocks until the cap is."""
    target = _target(problem, margin)
    blocks: list[list[Label]] = [list(block) for block in merging.blocks]
    while True:
        made = Merging(blocks, merging.inputs, simulation_only=merging.simulation_only)
        utility, leakage = problem.readings(made)
        if utility >= target - 2 * ROUNDING if problem.is_floor else leakage <= target or len(blocks) == 1:
            return made
        if problem.is_floor and all(len(block) == 1 for block in blocks):
            return made
        blocks = _split(problem, blocks) if problem.is_floor else _merge(problem, made)


def _split(problem: TradeOffData, blocks: list[list[Label]]) -> list[list[Label]]:
    """The likeliest symbol of the likeliest block that has several goes on its own."""
    p_w = dict(zip(problem.observation.observed, problem.observation.p_w.tolist(), strict=True))
    block = max((b for b in blocks if len(b) > 1), key=lambda b: sum(p_w[x] for x in b))
    symbol = max(block, key=lambda x: p_w[x])
    rest = [b for b in blocks if b is not block]
    return [*rest, [x for x in block if x != symbol], [symbol]]


def _merge(problem: TradeOffData, merging: Merging) -> list[list[Label]]:
    """The block that reveals most goes together with the likeliest other one."""
    joint = problem.observation.leaking_distribution(merging)
    p_y = joint.sum(axis=0)
    expected = joint.sum(axis=1)[:, None] * p_y[None, :]
    with np.errstate(divide="ignore", invalid="ignore"):
        shares = np.where(joint > 0, joint * np.log(joint / expected), 0.0).sum(axis=0)
    first = int(np.argmax(shares))
    second = int(np.argmax(np.where(np.arange(len(p_y)) == first, -1.0, p_y)))
    blocks: list[list[Label]] = [list(b) for i, b in enumerate(merging.blocks) if i not in (first, second)]
    return [*blocks, [*merging.blocks[first], *merging.blocks[second]]]
