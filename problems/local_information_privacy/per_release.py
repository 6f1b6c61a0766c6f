"""A bound on a divergence of every release, judged: read in floats, compared exactly, repaired by the least mixture."""

from __future__ import annotations

import math
from collections.abc import Hashable
from dataclasses import replace

import numpy as np

from privopt.core.certificate import Terms
from privopt.core.exact import MAX_BITS
from privopt.core.problem import FEASIBILITY, Evaluation
from privopt.mechanisms import Channel
from privopt.models.channel_data import Release, release_rows
from privopt.problems.exact_joint import ExactJoint, leaking_joint
from privopt.problems.local_information_privacy import divergences
from privopt.problems.local_information_privacy.certificate import Verdict, factor, few, named_secret
from privopt.problems.local_information_privacy.data import LocalInformationPrivacyData
from privopt.problems.local_information_privacy.leakage import utility_of
from privopt.problems.local_information_privacy.repair import with_average
from privopt.problems.local_information_privacy.support import mended, of_divergences

MEANING = {
    "l1": "moves the probabilities of the values of {secret} by more than {bound} in all",
    "chi2": "moves the probabilities of the values of {secret} by a chi-squared divergence of more than {bound}",
    "average": "makes the true value of {secret} more than {factor} times as likely as before, as a geometric mean over what it leaves possible",
}
"""What a release may not do, by notion."""

FORMULAS = {
    "l1": "sum_s |P(s|y) - P(s)|",
    "chi2": "sum_s (P(s|y) - P(s))^2 / P(s)",
    "average": "sum_s P(s|y) ln P(s|y) / P(s)",
}

ROUNDING = 2.0**-49
"""Share of the way to the prior that is added to a mixture, for what rounding its matrix can undo."""


def leakage_of(data: LocalInformationPrivacyData, release: Release) -> float:
    """The largest divergence of a release, in float64."""
    joint = data.observation.leaking_distribution(release)
    return float(divergences.readings(data.notion, joint).max(initial=0.0))


def evaluate(data: LocalInformationPrivacyData, release: Release) -> Evaluation:
    """Utility, the largest divergence of a release and which one has it, in float64."""
    values = divergences.readings(data.notion, data.observation.leaking_distribution(release))
    y = int(np.argmax(values))
    leakage, utility = float(values[y]), utility_of(data, release)
    violation = max(0.0, leakage - data.divergence) if leakage > data.divergence else 0.0
    feasible = violation <= FEASIBILITY * max(1.0, min(data.divergence, 1e6))
    reading = Evaluation(
        utility, leakage, utility, feasible, violation, leakage_unit=divergences.unit(data.notion)
    )
    if leakage == 0:
        return reading
    return replace(reading, worst=(release.outputs[y],), where=where(release.outputs[y]))


def where(name: Hashable) -> str:
    """Which release moves the secret most, in words."""
    return f"the release {name!r} moves the distribution of the secret most"


def certify(data: LocalInformationPrivacyData, release: Release) -> Verdict:
    """Prove or refute that the divergence of every release is at most the bound.

    Symbols of probability 0 must be released exactly like the average one.
    """
    joint = leaking_joint(data.observation, release)
    columns = _columns(joint)
    kept = {y: column.keeps(data.notion, data.divergence) for y, column in columns.items()}
    broken = [y for y, verdict in kept.items() if verdict is False]
    undecided = [y for y, verdict in kept.items() if verdict is None]
    outside = unlike_average(data, release, joint)
    ends = {y: column.ends(data.notion) for y, column in columns.items()}
    y = max(ends, key=lambda place: ends[place][1])
    leakage = max(low for low, _ in ends.values()), ends[y][1]
    reason = f"the divergence of each of {len(columns)} releases is at most the bound"
    if broken:
        reason = f"{len(broken)} of {len(columns)} releases have a divergence above the bound"
    elif undecided:
        reason = f"undecided at {MAX_BITS} bits for {len(undecided)} releases, which is not a pass"
    elif outside:
        reason = f"{few(outside)} of probability 0 is not released like the average symbol: repair does so"
    return Verdict(
        ok=not (broken or undecided or outside),
        reason=reason,
        leakage=leakage,
        worst=(release.outputs[y],) if leakage[1] > 0 else (),
        where=where(release.outputs[y]) if leakage[1] > 0 else "",
        uncovered=(),
    )


def _columns(joint: ExactJoint) -> dict[int, divergences.Column]:
    """The releases that occur."""
    seen = [s for s, weight in enumerate(joint.rows) if weight]
    secrets = tuple(joint.rows[s] for s in seen)
    return {
        y: divergences.Column(tuple(joint.cells[s][y] for s in seen), secrets)
        for y, weight in enumerate(joint.columns)
        if weight
    }


def is_worst(data: LocalInformationPrivacyData, release: Release, worst: tuple[Hashable, ...]) -> bool | None:
    """Whether a release reaches the largest divergence; None where balls do not tell."""
    joint = leaking_joint(data.observation, release)
    ends = {y: column.ends(data.notion) for y, column in _columns(joint).items()}
    most = max(low for low, _ in ends.values())
    if not worst:
        return max(high for _, high in ends.values()) == 0
    if len(worst) != 1 or worst[0] not in release.outputs:
        return False
    named = ends.get(release.outputs.index(worst[0]))
    if named is None or named[1] < most:
        return False
    if data.notion == "average":
        return True if sum(high >= most for _, high in ends.values()) == 1 else None
    values = {y: column.exact(data.notion) for y, column in _columns(joint).items()}
    return values[release.outputs.index(worst[0])] == max(values.values())


def unlike_average(
    data: LocalInformationPrivacyData, release: Release, joint: ExactJoint
) -> tuple[Hashable, ...]:
    """Symbols of probability 0 whose rows are not the distribution of the output, exactly; none where nothing is bounded."""
    unseen = data.observation.unseen
    if not unseen or data.unbounded:
        return ()
    rows = zip(unseen, release_rows(release, unseen), strict=True)
    return tuple(
        data.observation.observed[w]
        for w, row in rows
        if any(q * joint.total != c * row.total for q, c in zip(row.weights, joint.columns, strict=True))
    )


def repair(data: LocalInformationPrivacyData, release: Release, margin: float) -> Release:
    """A release near the one proposed that keeps the bound times (1 - margin), with the same zeros where rounding alone broke it.

    Else (1 - eta) W + eta P(y), with the least eta that does, nearly: every posterior of the secret moves straight towards the
    prior, and the divergence falls all the way.
    """
    release = mended(release, margin, of_divergences(data)) or _mixed(data, release, margin)
    if not data.observation.unseen:
        return release
    exact = leaking_joint(data.observation, release)
    return with_average(data.observation, release, exact, unlike_average(data, release, exact))


def _mixed(data: LocalInformationPrivacyData, release: Release, margin: float) -> Release:
    """The release mixed with its own output distribution."""
    joint, _ = data.observation.with_release(release)
    keep = float(divergences.shares(data.notion, joint, data.divergence * (1.0 - margin)).min())
    if keep >= 1.0:
        return release
    keep = max(0.0, keep * (1.0 - margin) - ROUNDING)
    marginal = joint.sum(axis=0)
    matrix = keep * release.matrix + (1.0 - keep) * (marginal / marginal.sum())[None, :]
    matrix = np.tile(matrix[0], (len(matrix), 1)) if keep == 0.0 else matrix
    return Channel(matrix, release.inputs, release.outputs, simulation_only=release.simulation_only)


def claim(data: LocalInformationPrivacyData) -> str:
    """What the certificate claims, in a formula."""
    formula = FORMULAS[data.notion]
    return f"{formula} enclosed, not bounded" if data.unbounded else f"{formula} <= {data.divergence:g}"


def terms(data: LocalInformationPrivacyData, plain: Terms) -> Terms:
    """What a certificate says beside its numbers, from what it would say of lifts."""
    if data.unbounded:
        return plain
    meaning = MEANING[data.notion].format(
        secret=named_secret(data.observation), bound=_shown(data.divergence), factor=factor(data.divergence)
    )
    return replace(plain, statement=f"no release {meaning}")


def _shown(bound: float) -> str:
    """Four digits, rounded up."""
    if bound == 0:
        return "0"
    step = 10.0 ** (math.floor(math.log10(bound)) - 3)
    return f"{math.ceil(bound / step - 1e-12) * step:.4g}"
