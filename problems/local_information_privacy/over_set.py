"""A release judged over a set of joints: read in floats, proved in rationals, repaired by the least mixture."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator
from dataclasses import replace
from fractions import Fraction

import numpy as np

from privopt.core.certificate import Terms
from privopt.core.exact import MAX_BITS, log_enclosure
from privopt.core.problem import FEASIBILITY, Enclosure, Evaluation
from privopt.files.labels import Label
from privopt.mechanisms import Channel
from privopt.models.ambiguity.joint import JointAmbiguity
from privopt.models.channel_data import Release, release_name, release_rows
from privopt.problems.exact_joint import leaking_joint
from privopt.problems.local_information_privacy import exceptions_over_set as exceptions
from privopt.problems.local_information_privacy.certificate import (
    BREAKS,
    Limit,
    Verdict,
    few,
    uncovered_symbols,
)
from privopt.problems.local_information_privacy.data import LocalInformationPrivacyData
from privopt.problems.local_information_privacy.leakage import utility_of
from privopt.problems.local_information_privacy.support import mended, of_set
from privopt.problems.robust import NOTHING, Shift, larger, never_seen, shifts
from privopt.problems.robust_reading import SetReader

ROUNDING = 2.0**-49
"""Nats kept free of the budget: what rounding the mixed matrix to floats can add to a ratio."""


def sides(data: LocalInformationPrivacyData) -> tuple[bool, bool]:
    """Whether falls and rises of the probability of a value count; both where none is bounded."""
    both = data.lower == data.upper
    return both or data.lower < math.inf, both or data.upper < math.inf


def evaluate(data: LocalInformationPrivacyData, reader: SetReader, release: Release) -> Evaluation:
    """Utility at the nominal joint, the largest leakage over the set, and the worst pair (s, y), in float64."""
    (rise, fall), (below, above) = reader.spread(release.matrix, data.notion).levels(), sides(data)
    rise, fall = rise if above else np.zeros_like(rise), fall if below else np.zeros_like(fall)
    used = np.maximum(rise, fall)
    utility, bounds = (
        utility_of(data, release),
        (data.budget if data.notion == "ldp" else data.upper, data.lower),
    )
    excess = exceptions.over((rise, fall), bounds)
    leakage, violation = (
        float(levels.max(initial=0.0))
        if data.delta == 0
        else exceptions.reading(reader, release.matrix, levels, data.delta)
        for levels in (used, excess)
    )
    feasible = violation <= FEASIBILITY * max(1.0, min(data.budget, 1e6))
    reading = Evaluation(utility, leakage, utility, feasible, violation)
    if leakage == 0:
        return reading
    s, y = np.unravel_index(int(np.argmax(used)), used.shape)
    names = data.observation.leaking.sensitive[s], release.outputs[y]
    return replace(reading, worst=names, where=where(names, release))


def where(names: tuple[Label, ...], release: Release) -> str:
    """At which release a value of the secret leaks most, in words."""
    return f"the release {release_name(release, release.outputs.index(names[1]))} shifts the odds of {names[0]!r} most, at the worst distribution of the set"


def certify(data: LocalInformationPrivacyData, ambiguity: JointAmbiguity, release: Release) -> Verdict:
    """Prove or refute that every release keeps the bounds at every joint of the set.

    Symbols that no joint of the set gives a positive probability must keep them around the distribution of the output at
    the nominal one.
    """
    if data.delta:
        return _certify_but_for(data, ambiguity, release)
    count, broken, undecided = 0, 0, 0
    worst, least = None, NOTHING
    upper, lower = Limit(data.budget if data.notion == "ldp" else data.upper), Limit(data.lower)
    for shift in _counted(data, ambiguity, release):
        rising = data.notion == "ldp" or shift.other > 0
        verdict = (upper if rising else lower).keeps(*shift.high) if shift.high[0] else True
        count += 1
        broken, undecided = broken + (verdict is False), undecided + (verdict is None)
        least = larger(least, shift.low)
        worst = _worse(worst, shift)
    names: tuple[Label, ...] = ()
    if worst is not None:
        names = data.observation.leaking.sensitive[worst.s], release.outputs[worst.y]
    high = max(0.0, log_enclosure(*(NOTHING if worst is None else worst.high))[1])
    outside = uncovered(data, ambiguity, release)
    ok = not (broken or undecided)
    reason = f"every one of {count} ratios keeps the bounds, each at the distributions of the set where it is largest"
    if broken:
        reason = f"{broken} of {count} ratios break the bounds at some distribution of the set"
    elif undecided:
        reason = f"undecided at {MAX_BITS} bits for {undecided} pairs, which is not a pass"
    elif outside:
        reason = f"{few(outside)} of probability 0 {BREAKS}: repair releases it like the average symbol"
    return Verdict(
        ok=ok and not outside,
        reason=reason,
        leakage=(max(0.0, log_enclosure(*least)[0]), high),
        worst=names if high > 0 else (),
        where=where(names, release) if names and high > 0 else "",
        uncovered=(),
    )


def _certify_but_for(
    data: LocalInformationPrivacyData, ambiguity: JointAmbiguity, release: Release
) -> Verdict:
    """The same but for a probability of at most delta."""
    verdict = exceptions.certify(data, ambiguity, release, list(_counted(data, ambiguity, release)))
    outside = uncovered(data, ambiguity, release)
    reason = verdict.reason
    if verdict.ok and outside:
        reason = f"{few(outside)} of probability 0 {BREAKS}: repair releases it like the average symbol"
    told = where(verdict.worst, release) if verdict.worst else ""
    return replace(verdict, ok=verdict.ok and not outside, reason=reason, where=told)


def level_beyond(data: LocalInformationPrivacyData, ambiguity: JointAmbiguity, release: Release) -> Enclosure:
    """Floats around the level over a set beyond which pairs are as likely as delta at most."""
    return exceptions.level(data, ambiguity, release, list(_counted(data, ambiguity, release)))[0]


def _counted(
    data: LocalInformationPrivacyData, ambiguity: JointAmbiguity, release: Release
) -> Iterator[Shift]:
    below, above = sides(data)
    return shifts(ambiguity, release, data.notion, below=below, above=above)


def _worse(worst: Shift | None, shift: Shift) -> Shift | None:
    """The one that leaks more; None where neither leaks."""
    than = NOTHING if worst is None else worst.high
    return shift if larger(than, shift.high) is not than else worst


def is_worst(
    data: LocalInformationPrivacyData,
    ambiguity: JointAmbiguity,
    release: Release,
    named: tuple[Hashable, ...],
) -> bool:
    """Whether a pair of labels reaches the largest leakage over the set."""
    if data.delta:
        found = list(_counted(data, ambiguity, release))
        return exceptions.is_worst(data, ambiguity, release, found, named)
    most, of_pair = NOTHING, NOTHING
    sensitive = data.observation.leaking.sensitive
    for shift in _counted(data, ambiguity, release):
        most = larger(most, shift.high)
        if (sensitive[shift.s], release.outputs[shift.y]) == tuple(named):
            of_pair = larger(of_pair, shift.high)
    if not named:
        return most is NOTHING
    return most is not NOTHING and of_pair[0] * most[1] == most[0] * of_pair[1] and any(of_pair)


def uncovered(
    data: LocalInformationPrivacyData, ambiguity: JointAmbiguity, release: Release
) -> tuple[Hashable, ...]:
    """Symbols outside the whole set whose rows are outside the bounds around the nominal distribution of the output."""
    if not data.observation.unseen:
        return ()
    outside = {ambiguity.useful[w] for w in never_seen(ambiguity)}
    wrong = uncovered_symbols(data, release, leaking_joint(data.observation, release)) if outside else ()
    return tuple(label for label in wrong if label in outside)


def repair(
    data: LocalInformationPrivacyData,
    ambiguity: JointAmbiguity,
    reader: SetReader,
    release: Release,
    margin: float,
) -> Release:
    """A release near the one proposed that keeps the bounds everywhere, with the same zeros where rounding alone broke them.

    Else (1 - eta) W + eta P(y), P(y) the nominal distribution, with the least eta that does: at every joint of the set each ratio
    moves towards 1. Symbols outside the whole set are then covered.
    """
    read = of_set(reader, data.notion, inside(data)) if data.delta == 0 else None
    nearest = mended(release, margin, read) or _mixed(data, reader, release, margin)
    return _covered(data, ambiguity, nearest)


def _mixed(data: LocalInformationPrivacyData, reader: SetReader, release: Release, margin: float) -> Release:
    """The release mixed with its nominal distribution."""
    marginal = data.observation.p_w @ release.matrix
    marginal = marginal / marginal.sum()
    aims = inside(data, margin)
    if data.delta:
        keep = exceptions.share(data, reader, release.matrix, marginal, aims)
    else:
        keep = float(reader.spread(release.matrix, data.notion).shares(marginal, aims).min())
    if keep < 1.0:
        keep = max(0.0, math.nextafter(keep, 0.0))
        matrix = keep * release.matrix + (1.0 - keep) * marginal[None, :]
        matrix = np.tile(marginal, (len(matrix), 1)) if keep == 0.0 else matrix
        release = Channel(matrix, release.inputs, release.outputs, simulation_only=release.simulation_only)
    return release


def _covered(data: LocalInformationPrivacyData, ambiguity: JointAmbiguity, release: Release) -> Release:
    """The release with the exact nominal distribution of the output in the rows of symbols outside the set that need it."""
    if not (wrong := set(uncovered(data, ambiguity, release))):
        return release
    exact = leaking_joint(data.observation, release)
    average = [Fraction(c, exact.total) for c in exact.columns]
    rows = [
        average if label in wrong else [row.fraction(y) for y in range(len(row.weights))]
        for label, row in zip(release.inputs, release_rows(release, range(len(release.inputs))), strict=True)
    ]
    return Channel(rows, release.inputs, release.outputs, simulation_only=release.simulation_only)


def inside(data: LocalInformationPrivacyData, margin: float = 0.0) -> tuple[float, float]:
    """The levels of rises and falls that a mixture aims at."""
    upper = data.budget if data.notion == "ldp" else data.upper
    rise, fall = (max(0.0, level * (1.0 - margin) - ROUNDING) for level in (upper, data.lower))
    return rise, fall


def terms(plain: Terms, ambiguity: JointAmbiguity) -> Terms:
    """What a certificate says beside its numbers, from what it would say of one distribution."""
    return replace(
        plain,
        assumption=f"the data follow any one distribution of the set {ambiguity!r}; how useful the release is rests on its nominal one",
        adversary=plain.adversary.replace(
            "that distribution", "the distribution of the data, whichever of the set it is"
        ),
        distributions=ambiguity.described,
        confidence=ambiguity.confidence,
    )
