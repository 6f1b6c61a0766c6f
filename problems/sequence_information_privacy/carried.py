"""Policies that carry their kernels, and policies for streams of any length, as many beliefs as can be followed."""

from __future__ import annotations

import math
from dataclasses import replace

from privopt.arrays import Floats
from privopt.mechanisms.channel import Channel
from privopt.mechanisms.policy.fixed import total
from privopt.mechanisms.policy.kernel import TOTAL
from privopt.mechanisms.policy.policy import SequencePolicy
from privopt.problems.sequence_information_privacy.data import SequenceData
from privopt.problems.sequence_information_privacy.long_run import lasting_policy, machine_of
from privopt.problems.sequence_information_privacy.reach import affordable, cells_of, nodes

CARRIED = 2**17
"""Cells of kernels that a policy carries; as text they take some 3 MB."""
BY_DIMENSION = 30_000
"""Beliefs of a policy without end for each dimension that they have."""


def settled(problem: SequenceData, policy: SequencePolicy) -> SequencePolicy:
    """The same policy with the kernel of every belief within reach written into it, where they are few.

    A linear program has other optima on another processor; a policy that carries its kernels does not ask again.
    """
    if policy.cost.same_everywhere:
        return policy
    if problem.lasting:
        return _carrying(problem, policy)
    carried: dict[tuple[int, bytes], tuple[Floats, Channel]] = {}
    cells = 0
    for here in nodes(problem, policy, carried=False):
        if here is None:
            return policy
        setting = here.release.setting
        for belief, weights in zip(here.inputs, here.weights, strict=True):
            key = (here.release.length, belief.tobytes())
            if key in carried:
                continue
            cells += weights.size
            if cells > CARRIED:
                return policy
            carried[key] = (belief, Channel(weights / float(TOTAL), setting.inputs, setting.outputs))
    return policy.with_prepared(tuple(carried.values()))


def _carrying(problem: SequenceData, policy: SequencePolicy) -> SequencePolicy:
    """The same for a stream without end."""
    release = problem.release(0)
    setting, machine = release.setting, machine_of(policy, affordable(policy, cells_of(release)))
    if machine is None or machine.weights.size > CARRIED:
        return policy
    inputs = policy.part(1).filter.inputs(machine.beliefs, 0)
    inputs = inputs / total(inputs)[:, None]
    pairs = zip(inputs, machine.weights, strict=True)
    return policy.with_prepared(
        [(p, Channel(w / float(TOTAL), setting.inputs, setting.outputs)) for p, w in pairs]
    )


def lasting(problem: SequenceData, policy: SequencePolicy) -> SequencePolicy:
    """The same rule for streams of any length, with beliefs that are rounded as little as can be followed."""
    cells = cells_of(problem.release(0))
    bare = replace(policy, limit=math.inf, prepared=())
    return lasting_policy(lambda steps: replace(bare, rounding=steps), lambda made: _followed(made, cells))


def _followed(policy: SequencePolicy, cells: int) -> int:
    """Beliefs of a machine: as many as are asked about, or as a file may carry the kernels of; fewer where few are enough."""
    most = min(affordable(policy, cells), BY_DIMENSION * max(1, policy.chain.k - 1))
    return most if policy.cost.same_everywhere else min(most, CARRIED // cells)
