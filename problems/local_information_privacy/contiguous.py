"""The most that a merging into intervals, or into nodes of a hierarchy, may say: every such partition is tried, in floats with room for errors."""

from __future__ import annotations

import math

import numpy as np

from privopt.arrays import Bools, Floats
from privopt.core.problem import Enclosure
from privopt.problems.box_partitions import best_partition, boxes_of
from privopt.problems.local_information_privacy.data import LocalInformationPrivacyData
from privopt.problems.local_information_privacy.divergences import of_moves

SLACK = 1e-11
"""By how much a block may miss a bound and still count: far above the errors of floats, so that no allowed block is left out."""

ERROR = 1e-12
"""By how much the sum of what the blocks say may be off, relative to 1 + its size."""

CHUNK = 4_000_000
"""Cells of a table of blocks that are summed at once."""


def proved_best(data: LocalInformationPrivacyData) -> Enclosure | None:
    """Floats around the most that a contiguous merging may say; None where not every one of them is tried."""
    if not data.contiguous or data.delta > 0 or not data.shape.is_single:
        return None
    boxes = boxes_of(data.shape)
    if boxes is None:
        return None
    members = boxes.members()
    values = np.concatenate([_values(data, part) for part in chunks(members)])
    best = best_partition(boxes, values)
    several = best_partition(boxes, np.where(members.all(axis=1), -math.inf, values))
    if best is None or several is None:
        return None if best is None else (0.0, 0.0)  # one block says nothing, exactly
    error = ERROR * (1.0 + best.value)
    return best.value - error, best.value + error


def chunks(members: Bools) -> list[Bools]:
    """The rows of a table of blocks, a few at a time."""
    step = max(1, CHUNK // members.shape[1])
    return [members[i : i + step] for i in range(0, len(members), step)]


def _values(data: LocalInformationPrivacyData, members: Bools) -> Floats:
    """What each block says in nats, -inf where it misses a bound by more than the slack."""
    table = data.observation.leaking.table
    prior = table.sum(axis=1)
    sums = members.astype(np.float64) @ table[prior > 0].T
    mass = sums.sum(axis=1)
    with np.errstate(divide="ignore"):
        lifts = np.log(sums) - np.log(mass)[:, None] - np.log(prior[prior > 0])[None, :]
    high, low = lifts.max(axis=1), lifts.min(axis=1)
    if data.notion == "ldp":
        broken = high - low > data.budget + SLACK
    elif 0 < data.divergence < math.inf:
        whole = prior[prior > 0] / prior.sum()
        moved = sums.T / mass - whole[:, None]
        broken = of_moves(data.notion, moved, whole) > data.divergence + SLACK
    else:
        lower, upper = (side[prior > 0].T if len(side) > 1 else side for side in data.sides)
        broken = ((lifts > upper + SLACK) | (lifts < -lower - SLACK)).any(axis=1)
    return np.where(broken, -math.inf, -mass * np.log(mass))
