"""The best merging into intervals of ordered columns, or nodes of hierarchies, each of which keeps the bounds."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from privopt.arrays import Bools, Floats, Ints
from privopt.core.registry import register
from privopt.core.solver import Budget, Guarantee, Proposal, Solver
from privopt.mechanisms import Merging
from privopt.models.generalisation import Box, Generalisation
from privopt.problems.box_partitions import Boxes, best_partition, boxes_within
from privopt.problems.local_information_privacy.contiguous import chunks, proved_best
from privopt.problems.local_information_privacy.problem import LocalInformationPrivacy
from privopt.solvers.local_information_privacy.merging.blocks import HANDLED, Blocks, Stats, proposed, summed

NOT_ASKED = "it keeps to orders and hierarchies, which this problem does not ask for (contiguous=True)"


@register
@dataclass(frozen=True)
class ContiguousMerging(Solver[LocalInformationPrivacy]):
    """The best merging into intervals of an ordered column, or into nodes of a hierarchy; of several columns into boxes.

    Dynamic programming over intervals, nodes or boxes. With one column and delta = 0 every partition is tried, which
    the problem tries again as a proof. With several, what comes from cutting one column of a box after the other; if there
    are too many boxes, the best cut each time.
    """

    solves: ClassVar = LocalInformationPrivacy
    name: ClassVar[str] = "contiguous-merging"
    contiguous: ClassVar[bool] = True
    handles: ClassVar[frozenset[str]] = HANDLED

    def guarantee(self, problem: LocalInformationPrivacy) -> Guarantee:
        """Optimal for one column without missing or rare values."""
        exact = problem.shape.is_single and problem.delta == 0
        return Guarantee.OPTIMAL if exact else Guarantee.FEASIBLE

    def cost(self, problem: LocalInformationPrivacy) -> float:
        """A table of all boxes, of several columns of as many as are looked at; of one column it is tried twice."""
        boxes, symbols = problem.shape.size, len(problem.observation.p_w)
        if problem.shape.single is not None:
            return 0.05 + min(boxes, 10**5) * (5e-6 + 2.5e-8 * symbols)
        return 0.05 + min(boxes, 30_000) * (3e-5 + 8e-8 * symbols)

    def refuse(self, problem: LocalInformationPrivacy) -> str | None:
        """Refuse problems whose blocks may be any."""
        return None if problem.contiguous else NOT_ASKED

    def run(self, problem: LocalInformationPrivacy, budget: Budget) -> Proposal:
        """Propose the merging, with the bound that every partition was tried where it was."""
        blocks = Blocks(problem)
        budget.progress(0.0, "trying intervals and nodes")
        alone, together = _specials(blocks, problem.shape)
        half = time.monotonic() + budget.remaining / 2
        boxes = boxes_within(problem.shape, budget.remaining / 3)
        groups = None if boxes is None else best_groups(blocks, boxes, together, half)
        stop = "every partition into boxes tried"
        if boxes is not None and boxes.shape.is_coarse:
            stop = "neighbours put together, every partition of these tried"
        if groups is None or (boxes is not None and boxes.shape.is_coarse):
            cut = _cut(blocks, problem.shape, together, budget)
            if groups is None or _worth(blocks, cut) > _worth(blocks, groups):
                groups, stop = cut, "no cut is left"
        parts = [*groups, *alone]
        labels = problem.observation.observed
        release = Merging([[labels[i] for i in part.tolist()] for part in parts], labels)
        stats: Stats = {"iterations": 1, "blocks": len(parts), "stop": stop}
        proposal = proposed(blocks, release, stats)
        proved = proved_best(problem)
        if proved is None or (proposal.bound is not None and proposal.bound <= proved[1]):
            return proposal
        return Proposal(release, proved[1], {"kind": "contiguous"}, stats=stats)


def _specials(blocks: Blocks, shape: Generalisation) -> tuple[list[Ints], Ints]:
    """Special symbols that are released on their own, and those that are merged, first with each other."""
    alone = [i for i in shape.special.tolist() if not blocks.broken_alone[i].any()]
    rest = np.array([i for i in shape.special.tolist() if i not in alone], dtype=np.int64)
    return [np.array([i]) for i in alone], rest


def best_groups(
    blocks: Blocks, boxes: Boxes, together: Ints, deadline: float = math.inf
) -> list[Ints] | None:
    """The best partition into boxes, one of which also holds the symbols that must be merged; None if none is allowed, or it is late."""
    members = boxes.members()
    value = _values(blocks, members, deadline)
    if len(value) < len(members):
        return None
    if not len(together):
        best = best_partition(boxes, value)
        return None if best is None else _groups(members, best.blocks)
    extra = np.zeros(members.shape[1], dtype=bool)
    extra[together] = True
    joined = _values(blocks, members | extra, deadline)
    if len(joined) < len(members):
        return None
    best = best_partition(boxes, value, joined)
    own = _values(blocks, extra[None, :])[0]
    apart = best_partition(boxes, value)
    if apart is not None and apart.value + own > (-math.inf if best is None else best.value):
        return [*_groups(members, apart.blocks), together]
    if best is None or best.joined is None:
        return None
    rest = _groups(members, [box for box in best.blocks if box != best.joined])
    return [*rest, np.flatnonzero(members[best.joined] | extra)]


def _worth(blocks: Blocks, groups: list[Ints]) -> float:
    """What a partition says, in nats."""
    return float(blocks.worth_of(summed(groups, blocks.seen)).sum())


def _groups(members: Bools, chosen: list[int] | tuple[int, ...]) -> list[Ints]:
    """The symbols of the boxes that hold any."""
    return [np.flatnonzero(members[box]) for box in chosen if members[box].any()]


def _values(blocks: Blocks, members: Bools, deadline: float = math.inf) -> Floats:
    """What each block says, -inf where it is not allowed; 0 of an empty one. Those up to the deadline."""
    values = []
    for part in chunks(members):
        if time.monotonic() > deadline:
            break
        filled = part.any(axis=1)
        value = np.zeros(len(part))
        value[filled] = np.where(blocks.allowed(part[filled]), blocks.worth(part[filled]), -math.inf)
        values.append(value)
    return np.concatenate(values) if values else np.zeros(0)


def _cut(blocks: Blocks, shape: Generalisation, together: Ints, budget: Budget) -> list[Ints]:
    """Everything, cut in the best way whose parts are all allowed, again and again; the symbols to be merged stay in the first part."""
    extra = np.zeros(len(shape.symbols), dtype=bool)
    extra[together] = True
    waiting: list[tuple[Box, Bools]] = [(shape.whole, shape.members([shape.whole])[0] | extra)]
    done = []
    while waiting:
        box, block = waiting.pop()
        parts = None if budget.remaining <= 0 else _best_cut(blocks, shape, box, block & extra, budget)
        if parts is None:
            done.append(np.flatnonzero(block))
        else:
            waiting.extend(parts)
    return [group for group in done if len(group)]


def _best_cut(
    blocks: Blocks, shape: Generalisation, box: Box, extra: Bools, budget: Budget
) -> list[tuple[Box, Bools]] | None:
    """The parts of the cut that says most, of those that were tried in time; None if each has a part that is not allowed."""
    best: list[tuple[Box, Bools]] | None = None
    most = -math.inf
    for j, axis in enumerate(shape.axes):
        for parts in axis.splits(box[j]):
            smaller = [(*box[:j], part, *box[j + 1 :]) for part in parts]
            members = shape.members(smaller)
            members[0] |= extra
            if budget.remaining <= 0:
                return best
            value = float(_values(blocks, members).sum())
            if value > most:
                best, most = list(zip(smaller, members, strict=True)), value
    return best
