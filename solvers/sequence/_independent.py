"""Whether the letters of a chain are independent and of one law, and sentences that say why not."""

from __future__ import annotations

import numpy as np

from privopt.measures.sequence.joint_types import count_joint_types
from privopt.problems.sequence_information_privacy.problem import SequenceInformationPrivacy
from privopt.solvers.sequence._prices import independent


def refuse_dependent(problem: SequenceInformationPrivacy) -> str | None:
    """The sentence for letters that are not independent, of one law, and all possible.

    Examples
    --------
    >>> from privopt.models import MarkovChain
    >>> refuse_dependent(SequenceInformationPrivacy(MarkovChain([[0.8, 0.2], [0.3, 0.7]]), 1.0, batch=2))
    'letters must be independent and of one law: each row of the transition matrix, and the initial law, the same'
    """
    chain = problem.chain
    steps = 1 if chain.homogeneous else problem.horizon - 1
    rows = {(row.weights, row.total) for t in range(steps) for row in chain.exact_step(t)}
    first = (chain.exact_initial.weights, chain.exact_initial.total)
    if chain.order > 1 or not independent(problem) or rows != {first}:
        return "letters must be independent and of one law: each row of the transition matrix, and the initial law, the same"
    if min(first[0]) == 0:
        return "every letter must be possible: leave letters of probability 0 out of the chain"
    return None


def refuse_uneven(problem: SequenceInformationPrivacy) -> str | None:
    """The sentence for letters that are not all alike likely, or another distortion than Hamming's."""
    if problem.distortion != "hamming":
        return 'it needs distortion="hamming"; orbit-lp takes others'
    if len(set(problem.chain.exact_initial.weights)) > 1:
        return "letters must be all alike likely; orbit-lp takes other laws"
    return None


def types_of(problem: SequenceInformationPrivacy) -> int:
    """Joint types of words of the first release."""
    n, m = np.shape(problem.setting(1).letter_cost)
    return count_joint_types(n, m, min(problem.batch, problem.horizon))
