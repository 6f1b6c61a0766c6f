"""The certificate of a release: exact expected distortion, leakage by balls, never a float reading."""

from __future__ import annotations

import math
from collections.abc import Hashable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from privopt.core.certificate import Certificate, Terms
from privopt.core.exact import MAX_BITS
from privopt.core.problem import Enclosure
from privopt.files.text import number
from privopt.models.channel_data import Release
from privopt.problems.distortion_privacy.enclosure import at_most, enclosure
from privopt.problems.exact_joint import leaking_joint, worst_log_lift
from privopt.problems.exact_utility import enclose
from privopt.problems.local_information_privacy import certificate as lips

if TYPE_CHECKING:
    from privopt.problems.distortion_privacy.problem import DistortionPrivacy


@dataclass(frozen=True)
class _Leak:
    """Whether the leakage is at most the budget (None: undecided or not asked), and what encloses it."""

    kept: bool | None
    ends: Enclosure
    worst: tuple[Hashable, ...] = ()
    where: str = ""
    reason: str = ""


def certify(problem: DistortionPrivacy, release: Release, *, cover: bool = True) -> Certificate:
    """Prove or refute that the bound that was asked for holds."""
    distortion = problem.costs.expected(release)
    lo, hi = enclose(distortion)
    leak = _leakage(problem, release)
    kept = leak.kept
    if problem.max_leakage is None:
        kept = problem.budget == math.inf or distortion <= problem.floor
        claim = "expected distortion <= budget, leakage enclosed"
        reason = f"the exact expected distortion is {'at most' if kept else 'above'} {problem.budget!r}"
    else:
        claim, reason = "leakage <= budget", leak.reason or _reason(kept)
    if problem.order is not None:
        reason += f"; {single_release(problem, release)}"
    outside = problem.uncovered_symbols(release)
    if outside and cover and kept:
        kept, reason = (
            False,
            f"{lips.few(outside)} of probability 0 {lips.BREAKS}: repair releases it like the average symbol",
        )
    certificate = problem.certificate(
        release,
        release.fingerprint,
        ok=kept is True,
        claim=claim,
        reason=reason,
        method="exact rationals for the distortion, balls for the leakage",
        leakage=leak.ends,
        utility=(-hi + 0.0, -lo + 0.0),
        worst=leak.worst,
        where=leak.where,
    )
    if not outside or cover:
        return certificate
    return replace(certificate, uncovered=(*certificate.uncovered, lips.not_covered(outside)))


def level_of(problem: DistortionPrivacy, release: Release) -> float:
    """The level that rows of symbols of probability 0 must keep: the bound on ratios, or the worst log-lift or ratio there is."""
    if problem.order is None and problem.max_leakage is not None:
        return problem.budget
    if problem.order is None:
        high = _leakage(problem, release).ends[1]
    else:
        high = worst_log_lift(leaking_joint(problem.observation, release))[0][1]
    return math.nextafter(high, math.inf) if high > 0 else 0.0


def _leakage(problem: DistortionPrivacy, release: Release) -> _Leak:
    joint = leaking_joint(problem.observation, release)
    if problem.order is None:
        bounded = problem.max_leakage is not None and problem.budget < math.inf
        found = lips.certify(problem.ratios(problem.budget if bounded else 1.0), release, cover=False)
        reason = found.reason if bounded else ""
        return _Leak(found.ok or problem.budget == math.inf, found.leakage, found.worst, found.where, reason)
    around = enclosure(joint, problem.order)
    if problem.max_leakage is None:
        return _Leak(None, around)
    return _Leak(at_most(joint, problem.order, problem.budget), around)


def _reason(kept: bool | None) -> str:
    if kept is None:
        return f"undecided at {MAX_BITS} bits, which is not a pass"
    return "the enclosure of the leakage is at most the budget" if kept else "the leakage is above the budget"


def single_release(problem: DistortionPrivacy, release: Release) -> str:
    """What one release may do to the odds of one value of the secret, whatever the average is."""
    joint = leaking_joint(problem.observation, release)
    (_, high), (s, y) = worst_log_lift(joint)
    names = problem.observation.leaking.sensitive[s], release.outputs[y]
    if high == 0:
        return "no single release changes the odds of any value of the secret"
    if high == math.inf:
        return f"a single release may rule a value of the secret out: {names[1]!r} rules out {names[0]!r} (log-lift -inf)"
    up, down = joint.lift(s, y)
    way = "likely" if up > down else "unlikely"
    return (
        f"a single release may change the odds: {names[1]!r} makes {names[0]!r} {lips.factor(high)} times as {way} as before "
        f"(|log-lift| at most {number(math.nextafter(high, math.inf), 9)}, the worst of all)"
    )


def terms(problem: DistortionPrivacy, release: Release) -> Terms:
    """What a certificate says beside its numbers."""
    secret = lips.named_secret(problem.observation)
    plain = problem.ratios(math.inf).terms(release)
    if problem.order is None:
        return problem.ratios(level_of(problem, release)).terms(release)
    measure = {1.0: "mutual information", math.inf: "maximal leakage"}.get(
        problem.order, f"Sibson's information of order {problem.order:g}"
    )
    limit = (
        f"{number(problem.budget)} nats"
        if problem.max_leakage is not None
        else "what the certificate encloses"
    )
    if problem.max_leakage == 0:
        told = f"a release tells nothing about {secret}"
    else:
        told = f"on average over releases, what is told about {secret} ({measure}) is at most {limit}"
    if problem.max_leakage is not None and problem.budget == math.inf:
        told = f"nothing is promised about {secret}: no bound was asked for"
    alone = f"the worst that a single release tells, as only the average is bounded: {single_release(problem, release)}"
    return replace(
        plain,
        kind="average" if problem.budget < math.inf or problem.max_leakage is None else "utility",
        statement=told,
        unit="release of one record, on average",
        uncovered=(alone, *plain.uncovered),
    )


def is_worst(problem: DistortionPrivacy, release: Release, worst: tuple[Hashable, ...]) -> bool | None:
    """Whether a pair of labels leaks most, where a ratio is the leakage; not checked of averages, which name none."""
    if problem.order is not None:
        return not worst
    found = lips.is_worst(problem.ratios(1.0), release, worst)
    return found if worst else (True if found else None)
