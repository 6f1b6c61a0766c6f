"""What a certificate of noise on a query says: the claim, what it assumes and what it does not cover, in plain sentences.

The level: tau is at least sensitivity / scale in rationals (ln((1 - q) / q) in balls), which the mechanism checks when it is
made. OpenDP's own privacy map is read at every release, and refuses one above tau.
The bound: rational factors for Gaussian records and groups; for chains the recursion with every step enlarged by more
than its rounding, or the number of records; for counts, sums and means of chains that are short or forget
every adversary who matters in balls, and the others by how little the chain remembers.
"""

from __future__ import annotations

import math

from privopt.core.certificate import Terms
from privopt.mechanisms import NoisyQuery, Query
from privopt.mechanisms.noise.shapes import EXACT_REPORTS
from privopt.models import ChainAmbiguity, GaussianModel, GroupModel, MarkovChain
from privopt.problems.bayesian_privacy.data import BayesianPrivacyData
from privopt.problems.bayesian_privacy.validation import impossible


def terms(data: BayesianPrivacyData, mechanism: NoisyQuery) -> Terms:
    """What a certificate of noise is about, in plain sentences."""
    factor = math.exp(data.epsilon) if data.epsilon < 700 else math.inf
    what = "the same constant" if mechanism.constant else f"the {mechanism.name}"
    return Terms(
        kind="privacy",
        statement=(
            f"no release of {what} makes one of two values of a record more than {factor:.4g} times as likely or unlikely, "
            f"compared with the other, as before, whatever is known of other records; {_compared(data)}"
        ),
        assumption=_assumption(data),
        adversary="anyone who knows the assumed distribution and the values of any other records: none, some or all of them",
        unit=f"release of the {mechanism.name}, about one record",
        uncovered=_uncovered(data, mechanism),
        distributions="" if data.ambiguity is None else data.ambiguity.described,
        confidence=data.ambiguity.confidence if isinstance(data.ambiguity, ChainAmbiguity) else None,
    )


def _compared(data: BayesianPrivacyData) -> str:
    """The scope, in words: a Gaussian result never goes without it."""
    model = data.model
    if isinstance(model, MarkovChain):
        return "all values that are possible are compared"
    if data.scope == "all_reals" or not isinstance(model, GaussianModel):
        return "any two values are compared (scope all_reals)"
    if isinstance(data.query, Query):
        return "any two values are compared, as the bound is that of the size of a group"
    return f"two values inside the clipping interval {data.clip} are compared (scope targets_in_interval)"


def _assumption(data: BayesianPrivacyData) -> str:
    model = data.model
    if isinstance(model, GroupModel):
        return f"at most {model.size} records depend on each other, in any way; groups are independent"
    order = model.order if isinstance(model, MarkovChain) else 1
    words = "" if order == 1 else f"; a record is a word of {order} letters"
    groups = "; groups are independent copies" if isinstance(model, GaussianModel) else ""
    which = (
        f"{model!r} exactly as written"
        if data.ambiguity is None
        else f"any one distribution of {data.ambiguity!r}"
    )
    return f"the records follow {which}{groups}{words}; {_compared(data)}"


def _uncovered(data: BayesianPrivacyData, mechanism: NoisyQuery) -> tuple[str, ...]:
    model, clauses = data.model, ["other releases of the same data, which a BudgetLedger adds up"]
    if isinstance(model, GaussianModel) and data.scope == "targets_in_interval":
        clauses.append(
            f"values of a record outside the clipping interval {data.clip}, and what the share of clipped records reveals"
        )
    if isinstance(model, GroupModel):
        clauses.append(f"groups of more than {model.size} records that depend on each other")
    elif data.ambiguity is not None:
        clauses.append("records that follow none of the distributions of the set")
    else:
        clauses.append(
            "records that follow another distribution than the assumed one, as where it is only estimated"
        )
    if isinstance(model, MarkovChain):
        gone = impossible(model, data.length)
        clauses.append(
            "sequences to which the chain gives probability zero"
            + (f"; records in the states {gone!r} are refused at release" if gone else "")
        )
    if isinstance(data.query, Query):
        clauses.append(
            f"a sensitivity of the query above {data.query.sensitivity!r}, which is the caller's word"
        )
    if mechanism.noise == "randomised_response" and (data.length or 1) > EXACT_REPORTS:
        clauses.append("the exact error: its bound by the standard deviation is the utility")
    return tuple(clauses)
