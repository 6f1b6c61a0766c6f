"""Upper bounds on the utility of noise, proved from a level of differential privacy that is too high.

The dual is ``{"kind": "level", "tau": t}``. The family is one noise of any scale. If the leakage that is read at level t
is exact - the supremum over the mechanisms of that level, or the leakage of the noisy count itself - and above epsilon,
then it is above epsilon at every higher level: the classes are nested, and noise of a smaller scale becomes noise of a
larger one by adding more (Laplace: a mixture of no noise and Laplace noise). So an allowed mechanism has a level below t,
a scale above the one of t, and at least its error.

If the reading is not exact, only t >= epsilon proves something: some mechanism of level tau leaks tau, whoever has a record with
two possible values.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from privopt.problems import _bayesian_levels as levels

if TYPE_CHECKING:
    from privopt.problems.bayesian_privacy import BayesianPrivacy

SLACK = 1e-12
"""Allowance, relative, for the rounding of a scale and of its error."""


def check_dual(problem: BayesianPrivacy, dual: object) -> float | None:
    """The upper bound on utility that a dual proves, or None."""
    if not isinstance(dual, dict) or dual.get("kind") != "level":
        return None
    tau = dual.get("tau")
    if isinstance(tau, bool) or not isinstance(tau, (int, float)) or not 0 < tau < math.inf:
        return None
    return level_bound(problem, float(tau))


def level_bound(problem: BayesianPrivacy, tau: float) -> float | None:
    """The upper bound on utility that a level proves, or None where it is not proved to be too high.

    Examples
    --------
    >>> from privopt.models import GaussianModel
    >>> from privopt.problems.bayesian_privacy import BayesianPrivacy
    >>> pair = BayesianPrivacy(GaussianModel([[1, 0.5], [0.5, 1]]), "sum", 1.5, clip=(0, 1))
    >>> level_bound(pair, 1.0), round(level_bound(pair, 1.001), 6)
    (None, -0.999001)
    """
    found = levels.reading(problem, tau)
    too_high = found.exact and found.value > problem.epsilon * (1 + SLACK)
    if not too_high and not (tau >= problem.epsilon and levels.has_secret(problem)):
        return None
    if problem.mechanism == "randomised_response":
        scale = 1.0 / (1.0 + math.exp(tau))
    else:
        scale = problem.sensitivity / tau
    bound = problem.utility_of(scale)
    return bound * (1 - SLACK)
