"""A release read in float64: its leakage by any of the measures, its expected distortion."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from privopt.arrays import Floats
from privopt.core.problem import FEASIBILITY, Evaluation
from privopt.measures.shannon import mutual_information
from privopt.measures.sibson import sibson_mutual_information
from privopt.models.channel_data import Release
from privopt.problems.local_information_privacy.leakage import excesses, log_lifts

if TYPE_CHECKING:
    from privopt.problems.distortion_privacy.problem import DistortionPrivacy


def leakage_of(problem: DistortionPrivacy, law: Floats) -> float:
    """The leakage of a release with this law of (S, Y), in nats; may be inf."""
    order = problem.order
    if order is None:
        return float(excesses(problem.ratios(1.0), law).max(initial=0.0))
    if order == 1:
        return float(mutual_information(law))
    return float(sibson_mutual_information(law, order))


def evaluate(problem: DistortionPrivacy, release: Release) -> Evaluation:
    """Utility, leakage, objective and feasibility."""
    law, _ = problem.observation.with_release(release)
    leakage = leakage_of(problem, law)
    utility = -float(problem.costs.expected(release)) + 0.0
    if problem.max_leakage is None:
        violation, objective = max(0.0, -utility - problem.budget), -leakage + 0.0
    else:
        violation = 0.0 if leakage <= problem.budget else leakage - problem.budget
        objective = utility
    feasible = violation <= FEASIBILITY * max(1.0, min(abs(problem.budget), 1e6))
    worst, where = _names(problem, law, release, leakage)
    return Evaluation(utility, leakage, objective, feasible, violation, worst, where)


def _names(
    problem: DistortionPrivacy, law: Floats, release: Release, leakage: float
) -> tuple[tuple[object, ...], str]:
    """The pair (s, y) that leaks most: by its ratio, or by its share of an average."""
    if leakage == 0:
        return (), ""
    s, y = np.unravel_index(int(np.argmax(_shares(problem, law))), law.shape)
    names = (problem.observation.leaking.sensitive[s], release.outputs[y])
    return names, f"the release {names[1]!r} says most about {names[0]!r}"


def _shares(problem: DistortionPrivacy, law: Floats) -> Floats:
    if problem.order is None:
        return excesses(problem.ratios(1.0), law)
    lifts = log_lifts(law)
    found: Floats = np.where(law > 0, law, 0.0) * np.where(np.isfinite(lifts), lifts, 0.0)
    return np.where(law > 0, lifts, -math.inf) if problem.order == math.inf else found
