"""The certificate of a release: exact expected distortion, leakage by balls, never a float reading."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from privopt._certificate import Certificate
from privopt._exact import MAX_BITS
from privopt.problems._distortion_enclosure import at_most, enclosure
from privopt.problems._exact_joint import leaking_joint
from privopt.problems._exact_utility import enclose
from privopt.problems._lip_certificate import certify as certify_ratios
from privopt.problems._observation import Release

if TYPE_CHECKING:
    from privopt.problems.distortion_privacy import DistortionPrivacy

Verdict = tuple[bool | None, tuple[float, float]]


def certify(problem: DistortionPrivacy, release: Release) -> Certificate:
    """Prove or refute that the bound that was asked for holds."""
    distortion = problem.costs.expected(release)
    lo, hi = enclose(distortion)
    kept, leakage = _leakage(problem, release)
    if problem.max_leakage is None:
        kept = problem.budget == math.inf or distortion <= problem.floor
        claim = "expected distortion <= budget, leakage enclosed"
        reason = f"the exact expected distortion is {'at most' if kept else 'above'} {problem.budget!r}"
    else:
        claim, reason = "leakage <= budget", _reason(kept)
    return Certificate(
        ok=kept is True,
        claim=claim,
        reason=reason,
        budget=problem.budget,
        leakage=leakage,
        utility=(-hi + 0.0, -lo + 0.0),
        problem=problem.fingerprint,
        mechanism=release.fingerprint,
        method="exact rationals for the distortion, balls for the leakage",
        assumption=f"the data follow {problem.observation.leaking!r} exactly as written (divided by its exact sum)",
    )


def _leakage(problem: DistortionPrivacy, release: Release) -> Verdict:
    """Whether the leakage is at most the budget, where leakage is bounded, and what encloses it."""
    if problem.order is None:
        level = problem.budget if problem.max_leakage is not None and problem.budget < math.inf else 1.0
        found = certify_ratios(problem.ratios(level), release)
        return found.ok or problem.budget == math.inf, found.leakage
    law = leaking_joint(problem.observation, release)
    around = enclosure(law, problem.order)
    if problem.max_leakage is None:
        return None, around
    return at_most(law, problem.order, problem.budget), around


def _reason(kept: bool | None) -> str:
    if kept is None:
        return f"undecided at {MAX_BITS} bits, which is not a pass"
    return "the enclosure of the leakage is at most the budget" if kept else "the leakage is above the budget"
