"""The certificate of a policy: exact ratios of all outputs in reach, or the margins by which it builds its kernels.

A policy checks the integers that it draws from at its computed belief, to e^(w epsilon - h - c), where h bounds the
Hilbert distance of that belief from the true one (:mod:`privopt.mechanisms._policy_beliefs`,
:mod:`privopt.mechanisms._policy_kernel`). So every ratio at the true belief is within e^(w epsilon), whatever was
released before. That argument covers all outputs; where these are few it is not needed, and every one of them is
checked with the exact law instead. A policy that is not enforced has only the second way.

A policy goes on after the horizon, and data may end within a word. So an enforced one, which may release for real, must also
be built for no more than the budget: the outputs within the horizon say nothing of the rest.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING

from privopt._certificate import Certificate
from privopt._exact import log_enclosure
from privopt.mechanisms.sequence_policy import SequencePolicy
from privopt.problems._sequence_exact import Walked, walk
from privopt.problems._sequence_releases import releases

if TYPE_CHECKING:
    from privopt.problems.sequence_information_privacy import SequenceInformationPrivacy


def certify(problem: SequenceInformationPrivacy, policy: SequencePolicy) -> Certificate:
    """Prove or refute that no release within the horizon leaks more than its budget."""
    found = walk(problem, policy)
    fault = _beyond(problem, policy) if found.complete else _fault(problem, policy)
    ok = not found.broken and not fault
    return Certificate(
        ok=ok,
        claim="leakage <= budget",
        reason=_reason(found, fault),
        budget=problem.budget,
        leakage=_leakage(problem, found, ok=ok),
        utility=_utility(problem, found),
        worst=found.worst if found.complete else (),
        where=found.where if found.complete and found.worst else "",
        problem=problem.fingerprint,
        mechanism=policy.fingerprint,
        method="exact rationals against balls of e^budget"
        if found.complete
        else "integer kernels checked at the computed belief, with a proved distance from the true one",
        assumption=f"the data follow {problem.chain!r} exactly as written (rows divided by their exact sums)",
    )


def _beyond(problem: SequenceInformationPrivacy, policy: SequencePolicy) -> str:
    """Why a policy that may release for real would break the budget outside the horizon; empty if it would not."""
    if policy.enforced and policy.epsilon > problem.epsilon:
        return f"the policy is built for {policy.epsilon:g} nats a letter, more than {problem.epsilon:g}"
    return ""


def _fault(problem: SequenceInformationPrivacy, policy: SequencePolicy) -> str:
    """Why the way in which a policy builds its kernels proves nothing here; empty if it does."""
    if not policy.enforced:
        return "the policy is not enforced, and has too many outputs to check each"
    if beyond := _beyond(problem, policy):
        return beyond
    if problem.epsilon == math.inf:
        return ""
    for release in releases(problem):
        part = policy.part(release.length)
        spent = Fraction(part.margin.check) + Fraction(part.filter.distance(policy.limit))
        if part.margin.mix > 0 and spent > Fraction(problem.epsilon) * release.length:
            return "the margins of the policy do not cover the rounding of its beliefs"
        if release.begin > 0 and release.length == policy.batch:
            break
    return ""


def _reason(found: Walked, fault: str) -> str:
    if found.broken:
        return f"{found.broken} ratios in {found.count} kernels break the bound"
    if fault:
        return fault
    if found.complete:
        return f"every ratio of the {found.count} kernels in reach keeps the bound"
    return (
        "every kernel is checked when it is built, at a belief whose distance from the true one is covered; "
        f"{found.count} of them were checked again exactly"
    )


def _leakage(problem: SequenceInformationPrivacy, found: Walked, *, ok: bool) -> tuple[float, float]:
    """Enclosure, a letter."""
    lo, hi = log_enclosure(*found.largest)
    if found.complete:
        return max(0.0, lo / found.length * (1 - 1e-15)), max(0.0, hi / found.length * (1 + 1e-15))
    return 0.0, problem.epsilon if ok else math.inf


def _utility(problem: SequenceInformationPrivacy, found: Walked) -> tuple[float, float]:
    """Enclosure: the exact value, or what the distortions allow."""
    if not found.complete:
        cost = problem.setting(1).cost
        return -float(cost.max()), -float(cost.min())
    value = -float(found.cost / problem.horizon)
    return math.nextafter(value, -math.inf), math.nextafter(value, math.inf)
