"""Local information privacy: the watchdog's simulation, and invariants that every release must keep."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from privopt.arrays import Bools
from privopt.benchmarks.timings.measurement import Timing, register_measurement
from privopt.core.dispatch import solve
from privopt.core.solver import Budget
from privopt.measures import entropy
from privopt.models import JointDistribution
from privopt.problems.local_information_privacy.problem import LocalInformationPrivacy
from privopt.solvers.local_information_privacy.merging import choices as heuristics
from privopt.solvers.local_information_privacy.merging.blocks import Blocks
from privopt.solvers.local_information_privacy.merging.choices import one_super_symbol, partition
from privopt.solvers.local_information_privacy.merging.partitions import rows, search
from privopt.solvers.local_information_privacy.subset_merging import best_partition
from privopt.solvers.local_information_privacy.watchdog import high_risk, one_block
from privopt.solvers.local_information_privacy.watchdog_boosting import WatchdogBoosting

EPSILON = 1.0
TOLERANCE = 0.01
"""How far the mean loss over all tables may be from the published one."""
ALL, SLOW = 5000, 300
Work = Callable[[Blocks], float | None]
"""Worth of a release in nats; None where there is none."""


@dataclass(frozen=True)
class Release:
    """A way to release, with the mean loss that is expected over ``count`` tables (nan: none is known)."""

    name: str
    delta: float
    work: Work
    mean: float = math.nan
    count: int = ALL


def tables(count: int) -> Iterator[JointDistribution]:
    """Cells uniform on (0, 1), divided by their sum."""
    rng = np.random.default_rng(0)
    for _ in range(count):
        yield JointDistribution.normalised(rng.random((4, 9)))


def losses(count: int) -> Iterator[Timing]:
    """One row a release."""
    joints = list(tables(count))
    for release in RELEASES:
        yield _row(release, joints[: release.count])


def _row(release: Release, joints: list[JointDistribution]) -> Timing:
    problems = [LocalInformationPrivacy(j, epsilon=EPSILON, delta=release.delta) for j in joints]
    whole = [float(entropy(j.p_x)) for j in joints]
    begun = time.perf_counter()
    informations = [release.work(Blocks(problem)) for problem in problems]
    seconds = time.perf_counter() - begun
    losses = np.array([1 - w / h for w, h in zip(informations, whole, strict=True) if w is not None])
    low, middle, high = np.quantile(losses, [0.1, 0.5, 0.9]).tolist()
    mean, missing = float(losses.mean()), len(joints) - len(losses)
    note = f"mean loss of I(X;Y) / H(X); 10 % {low:.4f}, median {middle:.4f}, 90 % {high:.4f}"
    note += f"; no such release for {missing} tables" if missing else ""
    full = len(joints) == release.count and not math.isnan(release.mean)
    note += f"; expected mean {release.mean:.4f}" if full else ""
    holds = abs(mean - release.mean) <= TOLERANCE if full else True
    return Timing(release.name, len(joints), seconds, quality=mean, note=note, holds=holds)


def _total(blocks: Blocks, parts: Bools | None) -> float | None:
    return None if parts is None else float(blocks.worth(parts).sum())


def _merge(blocks: Blocks) -> float | None:
    return _total(blocks, one_block(high_risk(blocks)))


def _chosen(blocks: Blocks, *, count_merged: bool) -> float | None:
    high = high_risk(blocks)
    merged = one_super_symbol(blocks, high, count_merged=count_merged)
    return None if merged is None else _total(blocks, partition(high & ~merged, merged, high))


def _slide_rule(blocks: Blocks) -> float | None:
    return _chosen(blocks, count_merged=False)


def _counted(blocks: Blocks) -> float | None:
    return _chosen(blocks, count_merged=True)


def _smallest_mass(blocks: Blocks) -> float | None:
    high = high_risk(blocks)
    rule = heuristics.Rule(blocks, high, count_merged=False)
    merged = heuristics.greedy(heuristics.greedy_orders(blocks, high)["mass"], high, rule)
    return _total(blocks, partition(high & ~merged, merged, high))


def _blocks(blocks: Blocks) -> float | None:
    return _total(blocks, best_partition(blocks))


def _search(blocks: Blocks) -> float | None:
    return _total(blocks, rows(search(blocks, Budget(), rounds=20)[0], blocks.size))


def _boosted(blocks: Blocks) -> float | None:
    return solve(blocks.problem, WatchdogBoosting(), certify=False).utility


def _optimal(blocks: Blocks) -> float | None:
    return solve(blocks.problem, certify=False).utility


RELEASES = (
    Release("merge all high-risk symbols, delta 0", 0.0, _merge, 0.3190),
    Release("delta 0.005, lectures' rule, best choice", 0.005, _slide_rule, 0.1631),
    Release("delta 0.005, lectures' rule, smallest mass first", 0.005, _smallest_mass, 0.1680),
    Release("delta 0.005, merged symbol counted", 0.005, _counted, 0.1806),
    Release("delta 0.01, lectures' rule, best choice", 0.01, _slide_rule, 0.0893),
    Release("best blocks, delta 0", 0.0, _blocks, 0.1615),
    Release("blocks by search, delta 0", 0.0, _search, 0.1689),
    Release("delta 0.005, several merged symbols", 0.005, _boosted, count=SLOW),
    Release("optimal randomised, delta 0", 0.0, _optimal, 0.0690, SLOW),
)


@register_measurement(
    "lip-watchdog-simulation", "Loss of mutual information by the watchdog, by boosting and by several blocks"
)
def simulation(quick: bool) -> Sequence[Timing]:
    """5000 random tables, as in the figure on utility boosting of the lectures."""
    return list(losses(100 if quick else 5000))
