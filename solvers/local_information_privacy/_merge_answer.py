"""From blocks of observations to a merging that answers the question."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from privopt.arrays import Bools
from privopt.core.solver import Proposal
from privopt.errors import InvalidMechanism
from privopt.mechanisms import Merging
from privopt.models.channel_data import Release
from privopt.problems.local_information_privacy.bound import analytic_bound
from privopt.problems.local_information_privacy.problem import LocalInformationPrivacy
from privopt.solvers.local_information_privacy.merge_blocks import Blocks

Stats = Mapping[str, float | int | str]


def refusal(problem: LocalInformationPrivacy) -> str | None:
    """Why a merging solver does not take a question, or None."""
    if problem.matrix is not None:
        return "it maximises mutual information, this problem has a distortion"
    if problem.cost is not None:
        return "it maximises mutual information, this problem has a cost of its own"
    return None


def merging(blocks: Blocks, parts: Bools) -> Release:
    """The merging with these blocks, shape (m, n); impossible observations join the most probable block.

    A matrix of zeros and ones where two blocks would be released under one name.
    """
    problem = blocks.problem
    labels = problem.observation.observed
    likely = int(np.argmax(parts.astype(np.float64) @ blocks.law.sum(axis=1)))
    block_of = np.full(len(labels), likely)
    for i, part in enumerate(parts):
        block_of[blocks.support[part]] = i
    named = [[labels[w] for w in np.flatnonzero(block_of == i).tolist()] for i in range(len(parts))]
    try:
        return Merging(named, labels)
    except InvalidMechanism:
        return problem.answer(np.eye(len(parts))[block_of])


def proposed(blocks: Blocks, release: Release, parts: Bools, stats: Stats) -> Proposal:
    """A proposal with the analytic bound."""
    return Proposal(release, analytic_bound(blocks.problem), {"kind": "analytic"}, stats=stats)
