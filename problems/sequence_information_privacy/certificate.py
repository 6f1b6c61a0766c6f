"""The certificate of a policy: the margins by which it builds its kernels, and what they come to over all outputs in reach.

A policy checks the integers that it draws from at its computed belief, to e^(w epsilon - h - c), where h bounds the
Hilbert distance of that belief from the true one (:mod:`privopt.mechanisms.policy.beliefs`,
:mod:`privopt.mechanisms.policy.kernel`). So every ratio at the true belief is within e^(w epsilon), whatever was
released before and whatever kernel the rule proposed. Outputs are also followed in exact integers, all of them where
they are few, and every ratio is compared with e^(w epsilon) again. A policy that is not enforced has only this second way.

A policy goes on after the horizon, and data may end within a word. So an enforced one, which may release for real, must also
be built for no more than the budget: the outputs within the horizon say nothing of the rest.

Utility and leakage are enclosed by one walk over all beliefs (:mod:`privopt.problems.sequence_information_privacy.leakage`), the same that
reads them. Where it does not end, the utility is only simulated, and its enclosure is what the distortions allow.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from privopt.core.certificate import Terms
from privopt.core.problem import Enclosure
from privopt.files.labels import Label
from privopt.files.text import number
from privopt.mechanisms.policy.policy import SequencePolicy
from privopt.problems.sequence_information_privacy import exact
from privopt.problems.sequence_information_privacy.data import SequenceData
from privopt.problems.sequence_information_privacy.leakage import Walked, walk
from privopt.problems.sequence_information_privacy.over_set import Level, level_over
from privopt.problems.sequence_information_privacy.over_set import terms as over_terms


@dataclass(frozen=True)
class Verdict:
    """What is proved of a policy, and how."""

    ok: bool
    reason: str
    method: str
    leakage: Enclosure
    utility: Enclosure
    worst: tuple[Label, ...] = ()
    where: str = ""


def judge(problem: SequenceData, policy: SequencePolicy) -> Verdict:
    """Prove or refute that no release leaks more than its budget."""
    checked, known = exact.walk(problem, policy), walk(problem, policy)
    over = problem.ambiguity
    level = None if over is None else level_over(problem, policy, over)
    fault = _fault(problem, policy) if policy.enforced or over is not None or not checked.complete else ""
    ok = not checked.broken and not fault
    if level is not None:
        return _over_set(problem, known, level, checked, fault)
    return Verdict(
        ok,
        _reason(checked, fault),
        "integer kernels checked at the computed belief, with a proved distance from the true one"
        if policy.enforced
        else "exact rationals against balls of e^budget",
        _leakage(problem, known, ok=ok),
        _utility(problem, known),
        known.reading.worst if known.complete else (),
        known.reading.where if known.complete else "",
    )


def _over_set(
    problem: SequenceData, known: Walked, level: Level, checked: exact.Walked, fault: str
) -> Verdict:
    """The verdict on a policy over a set: its kernels are built within the bounds of all beliefs, whatever was released."""
    ok = not checked.broken and not fault
    reason = _reason(checked, fault)
    if ok:
        seen = (
            "all outputs within the horizon were followed"
            if level.complete
            else "the outputs are too many to follow"
        )
        reason = f"every kernel is checked when it is built, at every belief that a chain of the set may lead to; {seen}"
    high = min(level.high, problem.epsilon) if ok else math.inf
    return Verdict(
        ok,
        reason,
        "integer kernels checked within bounds of the belief, rounded outward",
        (min(level.low, high), high),
        _utility(problem, known),
        level.worst,
        level.where,
    )


def terms_of(problem: SequenceData, policy: SequencePolicy) -> Terms:
    """What the certificate of a policy is about."""
    words = f"a word of {problem.batch} letters" if problem.batch > 1 else "a letter"
    level, letters = problem.batch * problem.epsilon, ", ".join(map(repr, problem.chain.letters[:4]))
    letters += ", ..." if len(problem.chain.letters) > 4 else ""
    spent = problem.horizon * problem.epsilon if problem.epsilon > 0 else 0.0
    in_all = "together they may tell everything"
    if spent < math.inf:
        in_all = f"the {problem.horizon} letters of the horizon may tell {number(spent)} nats in all, a factor of {_factor(spent)}"
    plain = Terms(
        kind="privacy",
        statement=(
            f"no release of {words} makes any course of the data so far (letters {letters}) more than {_factor(level)} times as "
            "likely or unlikely as it was before that release"
            if level < math.inf
            else f"a release of {words} may tell everything: the budget is infinite"
        ),
        assumption=(
            f"the data follow {problem.chain!r} exactly as written (rows divided by their exact sums); a letter that this makes "
            "impossible is refused by release"
            + (", and keeps the same bounds in step" if policy.enforced else "")
        ),
        adversary="anyone who sees every release so far, and knows the chain, the policy and the beliefs that follow",
        unit=f"letter: a release of w letters may tell w times {number(problem.epsilon)} nats",
        uncovered=(
            f"all releases together: budgets of single releases add up, so {in_all}",
            "what is known of the data besides the chain and the releases, and data that follow another chain",
            *_simulated(problem, policy),
        ),
    )
    return plain if problem.ambiguity is None else over_terms(plain, problem.ambiguity)


def _factor(nats: float) -> str:
    return number(math.exp(nats)) if nats < 700.0 else f"e^{number(nats)}"


def _simulated(problem: SequenceData, policy: SequencePolicy) -> tuple[str, ...]:
    """The sentence for a utility that is not proved."""
    if walk(problem, policy).complete:
        return ()
    why = "too many beliefs are within reach"
    if not policy.cost.same_everywhere:
        why += f", or the policy does not carry the kernels that {policy.rule!r} finds"
    return (
        f"the utility: {why}, so it is simulated, with a standard error, and a gap to a bound rests on the simulation",
    )


def _fault(problem: SequenceData, policy: SequencePolicy) -> str:
    """Why the way in which a policy builds its kernels proves nothing here; empty if it does."""
    if not policy.enforced:
        why = "has too many outputs to check each" if problem.ambiguity is None else "the set has many chains"
        return f"the policy is not enforced, and {why}"
    if policy.epsilon > problem.epsilon:
        return f"the policy is built for {policy.epsilon:g} nats a letter, more than {problem.epsilon:g}"
    if problem.epsilon == math.inf:
        return ""
    for release in problem.releases():
        part = policy.part(release.length)
        spent = Fraction(part.margin.check) + Fraction(part.filter.distance(policy.limit))
        if part.margin.mix > 0 and spent > Fraction(problem.epsilon) * release.length:
            return "the margins of the policy do not cover the rounding of its beliefs"
        if release.begin > 0 and release.length == policy.batch:
            break
    return ""


def _reason(checked: exact.Walked, fault: str) -> str:
    if checked.broken:
        return f"{checked.broken} ratios in {checked.count} kernels break the bound"
    if fault:
        return fault
    if checked.complete:
        return f"every ratio of the {checked.count} kernels in reach keeps the bound"
    return (
        "every kernel is checked when it is built, at a belief whose distance from the true one is covered; "
        f"{checked.count} of them were checked again exactly"
    )


def _leakage(problem: SequenceData, known: Walked, *, ok: bool) -> Enclosure:
    """Enclosure, a letter: what is proved to be within the budget is at most that."""
    most = problem.epsilon if ok else math.inf
    lo, hi = known.leakage if known.complete else (0.0, math.inf)
    return min(lo, most), min(hi, most)


def _utility(problem: SequenceData, known: Walked) -> Enclosure:
    """Enclosure: that of the walk, or what the distortions allow."""
    if known.complete:
        return known.utility
    cost = problem.setting(1).cost
    return -float(cost.max()), -float(cost.min())
