"""The certificate of noise on a query: a proved bound on the leakage, the level of the noise, and its error.

The level: tau is at least sensitivity / scale in rationals (ln((1 - q) / q) in balls), which the mechanism checks when it is
made. OpenDP's own privacy map is read at every release, and refuses one above tau.
The bound: rational factors for Gaussian records and groups; for chains the recursion with every step enlarged by more
than its rounding, or the number of records; for short counts every adversary in balls.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from privopt.core.certificate import Certificate, Terms
from privopt.files.labels import Labels
from privopt.measures.bayesian.proof import prove_leakage
from privopt.mechanisms import NoisyQuery, Query
from privopt.mechanisms.noise.accuracy import EXACT_REPORTS, enclosed_error
from privopt.models import GaussianModel, GroupModel, MarkovChain
from privopt.problems.bayesian_privacy import levels

if TYPE_CHECKING:
    from privopt.problems.bayesian_privacy.problem import BayesianPrivacy

CLAIM = "leakage <= budget"


def certify(problem: BayesianPrivacy, mechanism: NoisyQuery) -> Certificate:
    """Prove that noise of the stated level keeps epsilon."""
    low, high, method = proved_leakage(problem, mechanism.tau)
    ok = high <= problem.epsilon
    least, most = enclosed_error(mechanism.noise, mechanism.scale, mechanism.length)
    who = "the noisy count" if levels.enumerable(problem) else "every mechanism"
    reason = (
        f"{who} of level {mechanism.tau!r} leaks at most {high:.9g}"
        if ok
        else f"the proved bound on the leakage is {high!r} > epsilon = {problem.epsilon!r}"
    )
    return problem.certificate(
        mechanism,
        mechanism.fingerprint,
        ok=ok,
        claim=CLAIM,
        reason=reason,
        method=f"{method}; noise of scale {mechanism.scale!r} has at most the level {mechanism.tau!r}",
        leakage=(low, high),
        utility=(0.0 - most, 0.0 - least),
    )


def proved_leakage(problem: BayesianPrivacy, tau: float) -> tuple[float, float, str]:
    """Floats around the leakage of noise of a level, and how they were proved; only a short count has a lower one above 0.

    Examples
    --------
    >>> from privopt.problems.bayesian_privacy.problem import BayesianPrivacy
    >>> question = BayesianPrivacy(GaussianModel([[1, 0.5], [0.5, 1]]), "sum", 1.0, clip=(0, 1))
    >>> proved_leakage(question, 0.5)
    (0.0, 0.75, 'gaussian-column in rationals')
    """
    if levels.enumerable(problem) and 0 < tau < math.inf:
        return *levels.enclosed(problem, tau), "every adversary in balls"
    proved, method = prove_leakage(levels.setting(problem), tau, problem.epsilon)
    return 0.0, proved, method


def terms(problem: BayesianPrivacy, mechanism: NoisyQuery) -> Terms:
    """What a certificate of noise is about, in plain sentences."""
    factor = math.exp(problem.epsilon) if problem.epsilon < 700 else math.inf
    what = "the same constant" if mechanism.constant else f"the {mechanism.name}"
    return Terms(
        kind="privacy",
        statement=(
            f"no release of {what} makes one of two values of a record more than {factor:.4g} times as likely or unlikely, "
            f"compared with the other, as before, whatever is known of other records; {_compared(problem)}"
        ),
        assumption=_assumption(problem),
        adversary="anyone who knows the assumed distribution and the values of any other records: none, some or all of them",
        unit=f"release of the {mechanism.name}, about one record",
        uncovered=_uncovered(problem, mechanism),
    )


def _compared(problem: BayesianPrivacy) -> str:
    """The scope, in words: a Gaussian result never goes without it."""
    model = problem.model
    if isinstance(model, MarkovChain):
        return "all values that are possible are compared"
    if problem.scope == "all_reals" or not isinstance(model, GaussianModel):
        return "any two values are compared (scope all_reals)"
    if isinstance(problem.query, Query):
        return "any two values are compared, as the bound is that of the size of a group"
    return f"two values inside the clipping interval {problem.clip} are compared (scope targets_in_interval)"


def _assumption(problem: BayesianPrivacy) -> str:
    model = problem.model
    if isinstance(model, GroupModel):
        return f"at most {model.size} records depend on each other, in any way; groups are independent"
    order = model.order if isinstance(model, MarkovChain) else 1
    words = "" if order == 1 else f"; a record is a word of {order} letters"
    groups = "; groups are independent copies" if isinstance(model, GaussianModel) else ""
    return f"the records follow {model!r} exactly as written{groups}{words}; {_compared(problem)}"


def _uncovered(problem: BayesianPrivacy, mechanism: NoisyQuery) -> tuple[str, ...]:
    model, found = problem.model, []
    found.append("other releases of the same data, which a BudgetLedger adds up")
    if isinstance(model, GaussianModel) and problem.scope == "targets_in_interval":
        found.append(
            f"values of a record outside the clipping interval {problem.clip}, and what the share of clipped records tells"
        )
    if isinstance(model, GroupModel):
        found.append(f"groups of more than {model.size} records that depend on each other")
    else:
        found.append(
            "records that follow another distribution than the assumed one, as where it is only estimated"
        )
    if isinstance(model, MarkovChain):
        gone = impossible(model, problem.length)
        found.append(
            "sequences to which the chain gives probability zero"
            + (f"; records in the states {gone!r} are refused at release" if gone else "")
        )
    if isinstance(problem.query, Query):
        found.append(
            f"a sensitivity of the query above {problem.query.sensitivity!r}, which is the caller's word"
        )
    if mechanism.noise == "randomised_response" and (problem.length or 1) > EXACT_REPORTS:
        found.append("the exact error: its bound by the standard deviation is the utility")
    return tuple(found)


def impossible(chain: MarkovChain, length: int | None) -> Labels:
    """The states that no record of a chain can have."""
    support = {i for i, weight in enumerate(chain.exact_initial.weights) if weight}
    seen, t = set(support), 0
    past: set[frozenset[int]] = set()
    while t + 1 < (length or math.inf) and (chain.max_length is None or t + 1 < chain.max_length):
        if chain.homogeneous and (len(seen) == chain.k or frozenset(support) in past):
            break
        past.add(frozenset(support))
        rows = chain.exact_step(t)
        support = {j for i in support for j, weight in enumerate(rows[i].weights) if weight}
        seen |= support
        t += 1
    return tuple(state for i, state in enumerate(chain.states) if i not in seen)
