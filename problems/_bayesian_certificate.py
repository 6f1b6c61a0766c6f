"""The certificate of noise on a query: a proved bound on the leakage, and the level of the noise.

The level: tau is at least sensitivity / scale in rationals (ln((1 - q) / q) in balls), which is OpenDP's own privacy
map; where OpenDP is installed that map is read too. The release is as exact as OpenDP's noise.
The bound: rational factors for Gaussian records and groups; for chains the recursion with every step enlarged by more
than its rounding, or the number of records.
"""

from __future__ import annotations

import math
from fractions import Fraction
from importlib.util import find_spec
from typing import TYPE_CHECKING

from privopt._certificate import Certificate
from privopt.mechanisms import NoisyQuery
from privopt.mechanisms._statistics import up
from privopt.models import GaussianModel, GroupModel, MarkovChain
from privopt.problems import _bayesian_levels as levels

if TYPE_CHECKING:
    from privopt.problems.bayesian_privacy import BayesianPrivacy

CLAIM = "leakage <= budget"
CHEAP = 10
"""Records of a block up to which the least factor is proved even where their number is enough."""

ROUNDING = 1e-9
"""Relative width of the enclosure of an expected error that is not a scale."""


def certify(problem: BayesianPrivacy, mechanism: NoisyQuery) -> Certificate:
    """Prove that noise of the stated level keeps epsilon."""
    proved, method = proved_leakage(problem, mechanism.tau)
    fault = _fault(problem, mechanism, proved)
    utility = problem.utility_of(mechanism.scale)
    room = 0.0 if problem.mechanism == "laplace" or math.isinf(utility) else ROUNDING * abs(utility)
    return Certificate(
        ok=not fault,
        claim=CLAIM,
        reason=fault or f"every mechanism of level {mechanism.tau!r} leaks at most {proved!r}",
        budget=problem.epsilon,
        leakage=(0.0, proved),
        utility=(utility - room, utility + room),
        problem=problem.fingerprint,
        mechanism=mechanism.fingerprint,
        method=f"{method}; noise of scale {mechanism.scale!r} has level {mechanism.tau!r} by OpenDP's map",
        assumption=_law(problem),
    )


def _fault(problem: BayesianPrivacy, mechanism: NoisyQuery, proved: float) -> str:
    """Why the claim is not proved; empty if it is."""
    if not proved <= problem.epsilon:
        return f"the proved bound on the leakage is {proved!r} > epsilon = {problem.epsilon!r}"
    if not mechanism.constant and find_spec("opendp") is not None:
        from privopt.mechanisms._noise_draw import opendp_level

        vector = problem.query == "histogram"
        spent = opendp_level(mechanism.noise, mechanism.scale, mechanism.sensitivity, vector)
        if spent > mechanism.tau:
            return f"OpenDP's map gives the noise the level {spent!r}, above the stated {mechanism.tau!r}"
    return ""


def _law(problem: BayesianPrivacy) -> str:
    inside = problem.scope == "targets_in_interval" and isinstance(problem.model, GaussianModel)
    scope = (
        "values of a target inside the clipping interval are compared"
        if inside
        else "any values are compared"
    )
    order = problem.model.order if isinstance(problem.model, MarkovChain) else 1
    words = "" if order == 1 else f"; a record is a word of {order} letters"
    return f"the records follow {problem.model!r} exactly as written, groups are independent{words}; {scope}"


def proved_leakage(problem: BayesianPrivacy, tau: float) -> tuple[float, str]:
    """A proved upper bound on the leakage of every mechanism of a level, rounded up, and how it was proved.

    Examples
    --------
    >>> from privopt.problems.bayesian_privacy import BayesianPrivacy
    >>> question = BayesianPrivacy(GaussianModel([[1, 0.5], [0.5, 1]]), "sum", 1.0, clip=(0, 1))
    >>> proved_leakage(question, 0.5)
    (0.75, 'gaussian-column in rationals')
    """
    if tau == 0:
        return 0.0, "the answer does not read the data"
    model = levels.judged_model(problem)
    if isinstance(model, GroupModel):
        size = model.size if problem.length is None else min(model.size, problem.length)
        return up(size * Fraction(tau)), "general in rationals"
    if isinstance(model, GaussianModel):
        return _gaussian(problem, model, tau)
    return _chain(problem, tau)


def _gaussian(problem: BayesianPrivacy, model: GaussianModel, tau: float) -> tuple[float, str]:
    """The proved factor of the worst block; the size of the largest one for all reals, or where it suffices."""
    from privopt.measures._bayesian_gaussian_proof import prove_factor

    if problem.scope == "all_reals":
        return up(max(map(len, model.blocks)) * Fraction(tau)), "general in rationals"
    general = up(max(map(len, model.blocks)) * Fraction(tau))
    if general <= problem.epsilon and max(map(len, model.blocks)) > CHEAP:
        return general, "general in rationals"
    factor, method = prove_factor(model)
    how = "balls" if method == "gaussian-h-matrix" else "rationals"
    return up(factor * Fraction(tau)), f"{method} in {how}"


def _chain(problem: BayesianPrivacy, tau: float) -> tuple[float, str]:
    """The least of what is proved for a chain; a short count is enumerated where that is needed."""
    from privopt.measures._bayesian_markov_proof import prove_markov_recursion

    chain, n = problem.model, problem.length
    assert isinstance(chain, MarkovChain)
    found = [(prove_markov_recursion(chain, tau, n), "markov-recursion, every step rounded up")]
    if n is not None:
        found.append((up(n * Fraction(tau)), "general in rationals"))
    if levels.enumerable(problem) and min(found)[0] > problem.epsilon:
        from privopt.problems._bayesian_enumeration import prove_enumerated

        found.append((prove_enumerated(*levels.counted_chain(problem), tau), "every adversary in balls"))
    return min(found)
