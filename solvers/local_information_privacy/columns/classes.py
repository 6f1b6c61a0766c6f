"""Observations with the same posterior of the secret are one in a smaller problem; its releases then name a member of every class.

The class of an observation is a sufficient statistic of it for the secret. A release of the class becomes several, each of which
names one member of every class and is as likely under every value of the secret, in proportion, so that it leaks what it did and
says H(W | class) more; no release can say more than that. Tables of counts have many such observations: all that were seen with one
value of the secret only are alike.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from privopt.core.solver import Budget, Proposal
from privopt.measures.shannon import entropy
from privopt.mechanisms import Channel, Merging
from privopt.problems.local_information_privacy.bound import analytic_bound
from privopt.problems.local_information_privacy.problem import LocalInformationPrivacy
from privopt.solvers.common.classes import divided, gathered, may_be_alike, raised
from privopt.solvers.local_information_privacy.answer import ANALYTIC, matrix_from_joint


def joined(problem: LocalInformationPrivacy) -> LocalInformationPrivacy | None:
    """The problem about classes, where there are far fewer of them than many observations; else None."""
    return problem.of_classes if may_be_alike(problem.observation) else None


def through_classes(
    problem: LocalInformationPrivacy,
    smaller: LocalInformationPrivacy,
    budget: Budget,
    run: Callable[[LocalInformationPrivacy, Budget], Proposal],
) -> Proposal:
    """What a run proposes to the problem about classes, as a proposal to the problem."""
    support, classes = problem.observation.support, np.array(problem.alike)
    p = problem.observation.p_w[support]
    within = float(entropy(p, normalise=True)) - float(entropy(smaller.observation.p_w, normalise=True))
    until = replace(budget, progress=raised(budget.progress, within), incumbent=None)
    if isinstance(budget.incumbent, (Channel, Merging)):
        until = replace(
            until, incumbent=smaller.answer(gathered(budget.incumbent.matrix[support], p, classes))
        )
    found = run(smaller, until)
    bound, dual = analytic_bound(problem), dict[str, object](ANALYTIC)
    if found.bound is not None and found.bound + within < bound:
        bound, dual = found.bound + within, {"kind": "classes", "proof": found.dual}
    stats = {**found.stats, "classes": len(smaller.observation.p_w)}
    if not isinstance(found.mechanism, (Channel, Merging)):
        return Proposal(None, bound, dual, stats=stats)
    joint = smaller.observation.p_w[:, None] * found.mechanism.matrix
    matrix = matrix_from_joint(problem, divided(joint, p, classes), negligible=0.0)
    return Proposal(problem.answer(matrix), bound, dual, stats=stats)
