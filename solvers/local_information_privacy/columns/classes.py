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

from privopt.arrays import Floats, Ints
from privopt.core.solver import Budget, Proposal
from privopt.core.trace import Reached
from privopt.measures.shannon import entropy
from privopt.mechanisms import Channel, Merging
from privopt.problems.local_information_privacy.bound import analytic_bound
from privopt.problems.local_information_privacy.problem import LocalInformationPrivacy
from privopt.solvers.local_information_privacy.answer import ANALYTIC, matrix_from_joint

MANY = 60
"""Observations from which they are joined: proofs of smaller problems can be written as files as they are."""

SHARE = 0.95
"""Classes per observation up to which it is worth it."""

NARROW = 1e-13
"""Probability of a release below which it is left out: its posterior would be rounding."""


def joined(problem: LocalInformationPrivacy) -> LocalInformationPrivacy | None:
    """The problem about classes, where there are far fewer of them than many observations; else None."""
    n, smaller = len(problem.observation.support), problem.of_classes
    if smaller is None or n < MANY or len(smaller.observation.p_w) > SHARE * n:
        return None
    return smaller


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
    until = replace(budget, progress=_raised(budget.progress, within), incumbent=None)
    if isinstance(budget.incumbent, (Channel, Merging)):
        until = replace(until, incumbent=_of_classes(smaller, budget.incumbent.matrix[support], p, classes))
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


def _raised(progress: Callable[[float, str], None], by: float) -> Callable[[float, str], None]:
    """Tells what a run reaches in the smaller problem in terms of the larger one."""

    def tell(fraction: float, message: str) -> None:
        if isinstance(message, Reached):
            objective, bound = (None if v is None else v + by for v in (message.objective, message.bound))
            message = Reached(objective, bound)
        progress(fraction, message)

    return tell


def _of_classes(smaller: LocalInformationPrivacy, matrix: Floats, p: Floats, classes: Ints) -> Channel:
    """What a channel of the observations makes of their classes."""
    joint = np.zeros((len(smaller.observation.p_w), matrix.shape[1]))
    np.add.at(joint, classes, p[:, None] * matrix)
    joint = joint[:, joint.sum(axis=0) > 0]
    return smaller.answer(joint / joint.sum(axis=1, keepdims=True))


def divided(joint: Floats, p: Floats, classes: Ints) -> Floats:
    """P(w, y') of releases that name one member of each class, from P(class, y).

    The members of each class follow each other along its total over the releases y in their order. Where a member ends within a y, that
    release is divided there, with the same share of all classes on either side: there are at most as many releases more as observations.

    Parameters
    ----------
    joint : array (k, m)
        Rows sum to the probabilities of the classes.
    p : array (n,)
        Probabilities of the observations.
    classes : array (n,)
        The class of each.

    Examples
    --------
    >>> divided(np.array([[0.25, 0.25], [0.1, 0.4]]), np.array([0.125, 0.375, 0.5]), np.array([0, 0, 1])).round(3)
    array([[0.125, 0.   , 0.   ],
           [0.   , 0.125, 0.25 ],
           [0.05 , 0.05 , 0.4  ]])
    """
    members = [np.flatnonzero(classes == c) for c in range(len(joint))]
    ends = [np.cumsum(p[of]) / p[of].sum() for of in members]
    shares = joint / joint.sum(axis=1, keepdims=True)
    after = np.cumsum(shares, axis=1)
    parts: list[tuple[Ints, Floats]] = []
    for column, share, end in zip(joint.T, shares.T, after.T, strict=True):
        used = np.flatnonzero(column > 0)
        first = end - share
        cuts = [(ends[c][:-1] - first[c]) / share[c] for c in used.tolist() if len(members[c]) > 1]
        within = np.unique(np.concatenate([*cuts, np.zeros(1)]))
        starts = within[(within >= 0.0) & (within < 1.0)]
        lengths = np.diff(starts, append=1.0)
        wide = lengths * column.sum() > NARROW
        places = first[used, None] + share[used, None] * (starts + lengths / 2)[wide]
        named = np.array(
            [
                members[c][np.searchsorted(ends[c][:-1], at)]
                for c, at in zip(used.tolist(), places, strict=True)
            ]
        )
        parts += [
            (who, column[used] * length) for who, length in zip(named.T, lengths[wide].tolist(), strict=True)
        ]
    table = np.zeros((len(p), len(parts)))
    for place, (who, mass) in enumerate(parts):
        table[who, place] = mass
    return table
