"""Proofs about policies on Markov chains: the kind of file that checker_sequence.py checks."""

from __future__ import annotations

import math
from typing import Any, TypeAlias

import numpy as np

from privopt.errors import InvalidProblem
from privopt.mechanisms.policy.policy import SequencePolicy
from privopt.problems.sequence_information_privacy.data import SequenceData
from privopt.proof.draft import Draft, Line, Solved, whole_rows
from privopt.proof.rationals import GUARD, PRECISIONS, levels

MOST = 2000
"""Kernels that are written."""

Node: TypeAlias = tuple[tuple[float, ...], tuple[int, ...]]
"""The belief that the policy computes, by which it chooses a kernel, and the exact one up to a factor."""


def sequence(data: SequenceData, solution: Solved) -> Draft:
    """Every kernel that may be used within the horizon.

    Raises
    ------
    InvalidProblem
        If letters are released in words, the chain varies in a set, or the kernels are too many.
    """
    policy, releases = solution.mechanism, list(data.releases())
    if data.ambiguity is not None:
        raise InvalidProblem("policies for a set of chains are not covered by proof files")
    if not isinstance(policy, SequencePolicy) or any(not r.paths.identity or r.length != 1 for r in releases):
        raise InvalidProblem("proof files cover policies that release one letter at a time and remember one")
    if data.epsilon == math.inf:
        raise InvalidProblem("nothing is promised about the letters, so there is no privacy to prove")
    steps, places = list[list[list[int]]](), list[int]()
    for t in range(len(releases) - 1):
        rows = whole_rows(data.chain.exact_step(t))
        if rows not in steps:
            steps.append(rows)
        places.append(steps.index(rows))
    kernels, following = _walk(data, policy, steps, places)
    problem: Line = {"initial": list(data.chain.exact_initial.weights), "steps": steps, "step_of": places}
    draft = Draft("sequence", problem, {"kernels": kernels, "next": following}, {}, GUARD)
    draft.at(levels({"letter": data.epsilon}, PRECISIONS[0]))
    draft.left_out.append(
        "how much is lost, and what is released beyond the horizon, for which the policy checks its kernels itself"
    )
    return draft


def _walk(
    data: SequenceData, policy: SequencePolicy, steps: list[list[list[int]]], places: list[int]
) -> tuple[list[Line], list[list[int]]]:
    """The kernels in the order in which they are reached, and which one follows each release."""
    part = policy.part(1)
    kernels, following = list[Line](), list[list[int]]()
    reached: list[Node] = [(policy.start().belief, data.chain.exact_initial.weights)]
    for record in range(len(places) + 1):
        computed = np.array([node[0] for node in reached])
        weights = part.weights(computed, record)
        first, after = len(kernels), dict[Node, int]()
        kernels += [{"rows": table.tolist()} for table in weights]
        if len(kernels) > MOST:
            raise InvalidProblem(
                f"more than {MOST} kernels may be used, which is too many for a proof file: give a shorter horizon"
            )
        for at, (_, belief) in enumerate(reached):
            row = [0] * weights.shape[2]
            for y in range(weights.shape[2] if record < len(places) else 0):
                moved = _moved(belief, weights[at, :, y].tolist(), steps[places[record]])
                if moved is not None:
                    column = weights[at : at + 1, :, y].astype(np.float64)
                    then = part.filter.after(computed[at : at + 1], column, record)[0]
                    node = (tuple(then.tolist()), moved)
                    row[y] = first + len(reached) + after.setdefault(node, len(after))
            following.append(row)
        reached = list(after)
    return kernels, following


def _moved(belief: tuple[int, ...], column: list[Any], step: list[list[int]]) -> tuple[int, ...] | None:
    """The belief in the next letter after a release; None if it cannot be released."""
    posterior = [p * int(c) for p, c in zip(belief, column, strict=True)]
    if not any(posterior):
        return None
    moved = [sum(p * row[v] for p, row in zip(posterior, step, strict=True)) for v in range(len(belief))]
    common = math.gcd(*moved)
    return tuple(v // common for v in moved)
