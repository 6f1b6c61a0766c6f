"""Releases of classes of observations with the same posterior of the secret, and those of their members."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from privopt.arrays import Floats, Ints
from privopt.core.trace import Reached
from privopt.models.channel_data import Observation

SHARE = 0.95
"""Classes per observation up to which it is worth it."""

DECIMALS = 9
"""Of posteriors, by which floats are compared."""

NARROW = 1e-13
"""Probability of a release below which it is left out: its posterior would be rounding."""

LEAST = 1e-15
"""Share of a class below which a release does without it: it is rounding."""


def may_be_alike(observed: Observation) -> bool:
    """Whether there may be fewer classes than observations, as floats show, which is quick to see."""
    posteriors = np.round(observed.s_given_w[:, observed.support], DECIMALS)
    return len(np.unique(posteriors, axis=1).T) <= SHARE * len(observed.support)


def raised(progress: Callable[[float, str], None], by: float) -> Callable[[float, str], None]:
    """Reports what a run reaches in the smaller problem in terms of the larger one."""

    def report(fraction: float, message: str) -> None:
        if isinstance(message, Reached):
            objective, bound = (None if v is None else v + by for v in (message.objective, message.bound))
            message = Reached(objective, bound)
        progress(fraction, message)

    return report


def gathered(matrix: Floats, p: Floats, classes: Ints) -> Floats:
    """What a channel of the observations makes of their classes: P(y | class) of the releases that occur.

    Examples
    --------
    >>> gathered(np.array([[1.0, 0.0], [0.5, 0.5], [0.0, 1.0]]), np.array([0.25, 0.25, 0.5]), np.array([0, 0, 1]))
    array([[0.75, 0.25],
           [0.  , 1.  ]])
    """
    joint = np.zeros((int(classes.max()) + 1, matrix.shape[1]))
    np.add.at(joint, classes, p[:, None] * matrix)
    joint = joint[:, joint.sum(axis=0) > 0]
    return np.asarray(joint / joint.sum(axis=1, keepdims=True))


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
        used = np.flatnonzero(share > LEAST)
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
