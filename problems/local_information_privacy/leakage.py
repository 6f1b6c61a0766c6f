"""A channel read in float64: log-lifts, the level they reach, the utility."""

from __future__ import annotations

import math

import numpy as np

from privopt.arrays import Bools, Floats
from privopt.core.problem import FEASIBILITY, Evaluation
from privopt.measures.shannon import mutual_information
from privopt.mechanisms import Merging
from privopt.models.channel_data import Release, release_name
from privopt.problems.local_information_privacy.data import LocalInformationPrivacyData


def log_lifts(joint: Floats) -> Floats:
    """Logarithm of P(s, y) / (P(s) P(y)), shape (n_s, n_y); 0 where s or y has probability 0, -inf where only the pair has.

    Sums are taken with extended precision, so that a log-lift near 0 keeps its digits.
    """
    table = joint.astype(np.longdouble)
    product = table.sum(axis=1)[:, None] * table.sum(axis=0)[None, :]
    with np.errstate(divide="ignore", invalid="ignore"):
        lifts = np.log(table / product)
    return np.where(product > 0, lifts, 0.0).astype(np.float64)


def excesses(data: LocalInformationPrivacyData, joint: Floats) -> Floats:
    """How far each cell uses its side: |log-lift| on bounded sides (on both if none is), 0 on others; for LDP the spread of its column."""
    lifts = log_lifts(joint)
    if data.notion == "ldp":
        return _spread(lifts, _counts(joint))
    lower, upper = data.sides
    free = data.unbounded  # with no bound at all the leakage is that of both sides
    above = np.where((upper < math.inf) | free, np.maximum(lifts, 0.0), 0.0)
    below = np.where((lower < math.inf) | free, np.maximum(-lifts, 0.0), 0.0)
    return np.maximum(above, below)


def _spread(lifts: Floats, used: Bools) -> Floats:
    """Log-lift above the lowest of its column; inf above a cell of probability 0."""
    low = np.where(used, lifts, np.inf).min(axis=0)
    with np.errstate(invalid="ignore"):  # -inf - -inf, which is replaced
        spread = np.where(np.isneginf(lifts), 0.0, lifts - low)
    return np.where(used, spread, 0.0)


def evaluate(data: LocalInformationPrivacyData, release: Release) -> Evaluation:
    """Utility, leakage and feasibility in float64."""
    secret = data.observation.leaking_distribution(release)
    used = excesses(data, secret)
    leakage = _level(used, secret, data.delta)
    violation = _violation(data, used, secret)
    utility = utility_of(data, release)
    feasible = violation <= FEASIBILITY * max(1.0, min(data.budget, 1e6))
    worst, where = _names(data, used, release, leakage)
    return Evaluation(utility, leakage, utility, feasible, violation, worst, where)


def utility_of(data: LocalInformationPrivacyData, release: Release) -> float:
    """The utility of a release in float64."""
    utility = _sparse_information(data, release)
    return _utility(data, data.observation.useful_distribution(release)) if utility is None else utility


def leakage_of(data: LocalInformationPrivacyData, release: Release) -> float:
    """The leakage of a release in float64, in nats."""
    secret = data.observation.leaking_distribution(release)
    return _level(excesses(data, secret), secret, data.delta)


def _level(used: Floats, joint: Floats, delta: float) -> float:
    """The least t such that cells beyond t have probability at most delta."""
    if delta == 0:
        return float(used.max(where=_counts(joint), initial=0.0))
    flat, mass = used.ravel(), joint.ravel()
    order = np.argsort(-flat, kind="stable")
    beyond = np.cumsum(mass[order])
    first = int(np.searchsorted(beyond, delta, side="right"))
    return 0.0 if first >= flat.size else float(max(0.0, flat[order[first]]))


def _counts(joint: Floats) -> Bools:
    """Cells whose secret and whose release have positive probability."""
    return np.asarray((joint.sum(axis=1) > 0)[:, None] & (joint.sum(axis=0) > 0)[None, :])


def _violation(data: LocalInformationPrivacyData, used: Floats, joint: Floats) -> float:
    """By how much the level of each side, with delta, exceeds its bound; nats."""
    if data.notion == "ldp" or (data.lower == data.upper and data.per_value is None):
        level = _level(used, joint, data.delta)
        return 0.0 if level <= data.budget else level - data.budget
    return max(0.0, _level(beyond_sides(data, log_lifts(joint)), joint, data.delta))


def beyond_sides(data: LocalInformationPrivacyData, lifts: Floats) -> Floats:
    """By how much each log-lift exceeds the bound on its side, 0 where it does not."""
    lower, upper = data.sides
    with np.errstate(invalid="ignore"):  # inf - inf, where there is no bound
        over = np.where(upper < math.inf, np.maximum(lifts - upper, 0.0), 0.0)
        under = np.where(lower < math.inf, np.maximum(-lifts - lower, 0.0), 0.0)
    return np.maximum(over, under)


LARGE = 100_000
"""Cells of a channel from which those that are 0 are left out, where they are most."""

PLAIN = 1e-2
"""Informations below this, in nats, are summed in the way that keeps their digits."""


def _sparse_information(data: LocalInformationPrivacyData, release: Release) -> float | None:
    """I(X;Y) of a large release with few cells that are not 0; None where the usual sum is better."""
    observed = data.observation
    cells = len(release.inputs) * len(release.outputs)
    if data.utility != "mutual_information" or observed.useful is not None or cells < LARGE:
        return None
    p = observed.p_w
    if isinstance(release, Merging):
        w, y = np.arange(len(p)), release.assignment
        joint = p
    else:
        w, y = np.nonzero(release.matrix)
        if 2 * len(w) > cells:
            return None
        joint = p[w] * release.matrix[w, y]
    columns = np.bincount(y, joint, minlength=len(release.outputs))
    used = joint > 0
    terms = joint[used] * np.log(joint[used] / (p[w[used]] * columns[y[used]]))
    value = math.fsum(terms.tolist())
    return value if value > PLAIN else None


def _utility(data: LocalInformationPrivacyData, useful: Floats) -> float:
    """I(X;Y) in nats, or minus the expected distortion or cost, from the distribution of (X, Y)."""
    kept = useful[:, useful.sum(axis=0) > 0]
    if data.matrix is not None:
        return -math.fsum((useful * data.matrix).ravel().tolist())
    if data.cost is not None:
        weights = kept.sum(axis=0)
        return -math.fsum(p * float(data.cost(column / p)) for p, column in zip(weights, kept.T, strict=True))
    return float(mutual_information(kept))


def _names(
    data: LocalInformationPrivacyData, used: Floats, release: Release, leakage: float
) -> tuple[tuple[object, ...], str]:
    """Labels of the worst pair (s, y) and, in words, which way it leaks."""
    if leakage == 0:
        return (), ""
    s, y = np.unravel_index(int(np.argmax(used)), used.shape)
    names = (data.observation.leaking.sensitive[s], release.outputs[y])
    return names, f"the release {release_name(release, int(y))} shifts the odds of {names[0]!r} most"
