"""Upper bounds on the utility of a channel question, each proved afresh from its dual.

The kinds of dual:

- ``{"kind": "analytic"}``: what is released cannot say more than W itself, nor more about X than
  H(X | S) + B, where B bounds I(S;Y) by the two levels.
- ``{"kind": "linear", "multipliers": [[...], ...]}``: multipliers >= 0 of the posterior rows, one list a
  release, for a distortion; weak duality.
- ``{"kind": "pricing", "pi": [...], "tree": [...]}``: prices of the observations, and a tree of boxes that
  shows how far a posterior's entropy can be below its price; see :mod:`privopt.problems._lip_tree`.
- ``{"kind": "vertices", "pi": [...]}``: prices, with every vertex of the polytope tried; for small ones.

With prices pi, any release satisfies sum_y P(y) cost(v_y) >= pi . P(w) + min over the polytope of
cost(v) - pi . v, as the posteriors average to P(w).
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from privopt.measures.information_bound import mutual_information_bound
from privopt.measures.shannon import entropy, mutual_information
from privopt.problems._lip_rows import posterior_rows
from privopt.problems._lip_tree import least_reduced_cost
from privopt.problems._lip_vertices import least_vertex_cost
from privopt.problems._observation import Floats

if TYPE_CHECKING:
    from privopt.problems.local_information_privacy import LocalInformationPrivacy

ALLOWANCE = 1e-12
"""Added to every bound for rounding, relative to max(1, the size of its terms)."""


def check_dual(problem: LocalInformationPrivacy, dual: object, seconds: float) -> float | None:
    """The upper bound on utility that a dual proves, or None."""
    if not isinstance(dual, dict):
        return None
    kind = dual.get("kind")
    if kind == "analytic":
        return analytic_bound(problem) + ALLOWANCE
    if problem.delta > 0:  # the other proofs are for releases that all keep the bounds
        return None
    if kind == "linear":
        return _linear(problem, dual.get("multipliers"))
    prices = _array(dual.get("pi"), (len(problem.observation.support),))
    if prices is None or problem.matrix is not None:
        return None
    least: float | None = None
    if kind == "pricing" and problem.cost is None:
        least = least_reduced_cost(problem, prices, dual.get("tree"))
    elif kind == "vertices":
        least = least_vertex_cost(problem, prices, seconds)
    return None if least is None else priced_bound(problem, prices, least)


def priced_bound(problem: LocalInformationPrivacy, prices: Floats, least: float) -> float:
    """Upper bound from prices and a lower bound on cost(v) - prices . v over the polytope."""
    observed = problem.observation
    value = math.fsum((observed.p_w[observed.support] * prices).tolist()) + least
    whole = float(entropy(observed.p_x)) if problem.cost is None else 0.0
    return whole - value + ALLOWANCE * max(1.0, float(np.abs(prices).max(initial=0.0)))


def analytic_bound(problem: LocalInformationPrivacy) -> float:
    """The utility of releasing W itself, or H(X | S) + B if that is less."""
    observed = problem.observation
    if problem.matrix is not None:
        means = observed.x_given_w.T @ problem.matrix
        return -math.fsum((observed.p_w * means.min(axis=1)).tolist())
    if problem.cost is not None:
        posteriors = observed.x_given_w.T[observed.support]
        costs = [float(problem.cost(v)) for v in posteriors]
        return -math.fsum((observed.p_w[observed.support] * costs).tolist())
    if observed.useful is None:
        whole = float(entropy(observed.p_x))
    else:
        whole = float(mutual_information(observed.useful.table))
    if problem.delta > 0:
        return whole
    lower, upper = _levels(problem)
    rest = float(entropy(observed.p_x)) - float(mutual_information(_secret_useful(problem)))
    return min(whole, rest + mutual_information_bound(upper, lower))


def _levels(problem: LocalInformationPrivacy) -> tuple[float, float]:
    """(lower, upper) bounds on the log-lift that the notion implies."""
    if problem.notion == "lip" or problem.budget == math.inf:
        return problem.lower, problem.upper
    least = float(problem.observation.p_s[problem.observation.p_s > 0].min())
    e = math.exp(min(problem.budget, 700.0))
    return math.log(least + (1 - least) * e), math.log(e / (1 + least * (e - 1)))


def _secret_useful(problem: LocalInformationPrivacy) -> Floats:
    """The law of (S, X)."""
    table = problem.joint.table
    return table if table.ndim == 2 else np.asarray(table.sum(axis=2))


def _linear(problem: LocalInformationPrivacy, given: object) -> float | None:
    """Weak duality for a distortion: each observation may go to the release that is cheapest at these prices."""
    if problem.matrix is None:
        return None
    observed, rows = problem.observation, posterior_rows(problem)
    outputs = problem.matrix.shape[1]
    multipliers = _array(given, (outputs, len(rows))) if len(rows) else np.zeros((outputs, 0))
    if multipliers is None or (multipliers < 0).any():
        return None
    priced = observed.x_given_w.T @ problem.matrix + (multipliers @ rows).T
    size = max(1.0, float(np.abs(priced).max()))
    return -math.fsum((observed.p_w * priced.min(axis=1)).tolist()) + ALLOWANCE * size


def _array(given: object, shape: tuple[int, ...]) -> Floats | None:
    """Finite numbers of that shape, or None."""
    try:
        found = np.array(given, dtype=np.float64)
    except (TypeError, ValueError):
        return None
    return found if found.shape == shape and np.isfinite(found).all() else None
