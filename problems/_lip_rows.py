"""The posteriors that one release may have: a polytope with homogeneous rows.

A release y with posterior v(w) = P(w | y) keeps the bounds when v >= 0, sum v = 1 and G v <= 0. For
LIP the rows of G are P(s | w) - e^upper P(s) and e^-lower P(s) - P(s | w); for LDP they are
P(s | w) / P(s) - e^epsilon P(t | w) / P(t). Source: Sadeghi, "Fundamental trade-offs between privacy and utility in data sharing" (CSCIT 2021), optimal LIP
release by the vertices of this polytope.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from privopt.problems._observation import Floats

if TYPE_CHECKING:
    from privopt.problems.local_information_privacy import LocalInformationPrivacy

ULPS = 4
"""By how many units in the last place e^budget is rounded up, so that no allowed posterior is cut off."""


def posterior_rows(problem: LocalInformationPrivacy) -> Floats:
    """G, shape (rows, n_w), without rows that no posterior can break; columns of probability 0 are kept.

    Rounded outwards: the polytope holds every allowed posterior up to errors of the last places in G.
    """
    observed = problem.observation
    given = observed.s_given_w[observed.p_s > 0]
    prior = observed.p_s[observed.p_s > 0][:, None]
    rows = (
        _ldp_rows(given / prior, problem.budget)
        if problem.notion == "ldp"
        else _lip_rows(problem, given, prior)
    )
    support = observed.support
    return rows[(rows[:, support] > 0).any(axis=1)]


def _lip_rows(problem: LocalInformationPrivacy, given: Floats, prior: Floats) -> Floats:
    found = []
    if problem.upper < math.inf:
        found.append(given - _exp(problem.upper) * prior)
    if problem.lower < math.inf:
        found.append(math.exp(-problem.lower) * (1.0 - ULPS * 2.0**-53 * (problem.lower > 0)) * prior - given)
    return np.concatenate(found) if found else np.zeros((0, given.shape[1]))


def _ldp_rows(lifts: Floats, epsilon: float) -> Floats:
    if epsilon == math.inf:
        return np.zeros((0, lifts.shape[1]))
    n = len(lifts)
    pairs = [(s, t) for s in range(n) for t in range(n) if s != t]
    rows = [lifts[s] - _exp(epsilon) * lifts[t] for s, t in pairs]
    return np.array(rows).reshape(len(rows), lifts.shape[1])


def _exp(level: float) -> float:
    """e^level rounded up; 1 at 0."""
    return 1.0 if level == 0 else math.exp(min(level, 700.0)) * (1.0 + ULPS * 2.0**-53)
