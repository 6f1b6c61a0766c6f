"""The certificate of a release: exact expected distortion, leakage by balls, never a float reading.

Mutual information and maximal leakage are Sibson's information of orders 1 and inf. Where a ratio is the leakage, the
problem that bounds ratios proves it.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING

from privopt.core.certificate import Terms, over_set
from privopt.core.exact import MAX_BITS, ball_ceiling, ball_floor, exp_at_least, log_enclosure
from privopt.core.problem import Enclosure
from privopt.files.labels import Label
from privopt.files.text import number
from privopt.models.channel_data import Release
from privopt.problems.distortion_privacy.data import DistortionData
from privopt.problems.distortion_privacy.over_set import average_over, guess_kept
from privopt.problems.exact_joint import ExactJoint
from privopt.problems.local_information_privacy.certificate import BREAKS, factor, few, named_secret

if TYPE_CHECKING:
    from flint import arb

OUTWARD = "leakage <= budget, read outward by its last digit"

BITS = (192, 384, 768, 1536, 3072)
"""Precisions that are tried one after the other."""


@dataclass(frozen=True)
class Leak:
    """Whether the leakage is at most the budget (None: undecided, or not bounded), and what encloses it.

    ``outward`` says that it is only so where the budget is read outward by its last digit.
    """

    kept: bool | None
    ends: Enclosure
    worst: tuple[Hashable, ...] = ()
    where: str = ""
    reason: str = ""
    outward: bool = False


def leak_of(problem: DistortionData, release: Release) -> Leak:
    """The exact leakage; of ratios also the pair that leaks most."""
    bounded = problem.max_leakage is not None
    if problem.order is None:
        finite = bounded and problem.budget < math.inf
        proved = problem.ratios(problem.budget if finite else 1.0).verdict(release, cover=False)
        kept = proved.ok or problem.budget == math.inf
        return Leak(kept, proved.leakage, proved.worst, proved.where, proved.reason if finite else "")
    joint = problem.exact(release).joint
    if problem.ambiguity is not None:
        ends = average_over(problem, problem.ambiguity, release)
        if not bounded:
            return Leak(None, ends)
        if problem.order == 1:
            return Leak(ends[1] <= problem.budget, ends)
        return Leak(guess_kept(problem.ambiguity, release, problem.budget), ends)
    ends = enclosure(joint, problem.order)
    if not bounded:
        return Leak(None, ends)
    within = at_most(joint, problem.order, problem.budget)
    outward = within is not True and at_most(joint, problem.order, problem.cap) is True
    return Leak(True if outward else within, ends, outward=outward)


def verdict(
    problem: DistortionData, release: Release, leak: Leak, distortion: Fraction, outside: Sequence[Label]
) -> tuple[bool, str, str]:
    """Whether the bound is proved to hold, what is claimed, and why; ``outside`` are symbols that must be covered."""
    if problem.max_leakage is None:
        kept: bool | None = problem.budget == math.inf or distortion <= problem.floor
        claim = "expected distortion <= budget, leakage enclosed"
        largest = "" if problem.ambiguity is None else "largest over the set of "
        reason = f"the {largest}exact expected distortion is {'at most' if kept else 'above'} {problem.budget!r}{problem.in_unit}"
    else:
        kept, claim, reason = leak.kept, OUTWARD if leak.outward else "leakage <= budget", leak.reason
        if not reason and kept is None:
            reason = f"undecided at {MAX_BITS} bits, which is not a pass"
        elif not reason:
            word = "the enclosure of the leakage is at most" if kept else "the leakage is above"
            reason = f"{word} the budget"
    if problem.order is not None and problem.ambiguity is None:
        reason += f"; {single_release(problem, release)}"
    if problem.ambiguity is not None:
        claim = over_set(claim)
    if kept and outside:
        told = f"{few(outside)} of probability 0 {BREAKS}: repair releases it like the average symbol"
        return False, claim, told
    return kept is True, claim, reason


def level_of(problem: DistortionData, release: Release) -> float:
    """The level that rows of symbols of probability 0 must keep: the bound on ratios, or the worst log-lift or ratio there is."""
    if problem.order is None and problem.max_leakage is not None:
        return problem.budget
    if problem.order is None:
        high = leak_of(problem, release).ends[1]
    else:
        high = problem.exact(release).worst[0][1]
    return math.nextafter(high, math.inf) if high > 0 else 0.0


def single_release(problem: DistortionData, release: Release) -> str:
    """What one release may do to the odds of one value of the secret, whatever the average is."""
    exact = problem.exact(release)
    joint, ((_, high), (s, y)) = exact.joint, exact.worst
    names = problem.observation.leaking.sensitive[s], release.outputs[y]
    if high == 0:
        return "no single release changes the odds of any value of the secret"
    if high == math.inf:
        return f"a single release may rule a value of the secret out: {names[1]!r} rules out {names[0]!r} (log-lift -inf)"
    up, down = joint.lift(s, y)
    way = "likely" if up > down else "unlikely"
    return (
        f"a single release may change the odds: {names[1]!r} makes {names[0]!r} {factor(high)} times as {way} as before "
        f"(|log-lift| at most {number(math.nextafter(high, math.inf), 9)}, the worst of all)"
    )


def terms(problem: DistortionData, release: Release) -> Terms:
    """What a certificate says beside its numbers."""
    if problem.order is None and problem.max_leakage is not None:
        return problem.ratios(problem.budget).terms(release)
    if problem.order is None:
        return problem.ratios(level_of(problem, release)).terms(release)
    plain, secret = problem.ratios(math.inf).terms(release), named_secret(problem.observation)
    measure = {1.0: "mutual information", math.inf: "maximal leakage"}.get(
        problem.order, f"Sibson's information of order {problem.order:g}"
    )
    bounded = problem.max_leakage is not None
    limit = f"{number(problem.budget)} nats" if bounded else "what the certificate encloses"
    told = f"on average over releases, what is told about {secret} ({measure}) is at most {limit}"
    if problem.max_leakage == 0:
        told = f"a release reveals nothing about {secret}"
    elif problem.max_leakage == math.inf:
        told = f"nothing is promised about {secret}: no bound was asked for"
    if problem.ambiguity is not None:
        return replace(
            plain,
            kind="utility" if problem.max_leakage == math.inf else "average",
            statement=told,
            unit="release of one record, on average",
            uncovered=("what a single release reveals, as only the average is bounded", *plain.uncovered),
        )
    alone = f"the worst that a single release reveals, as only the average is bounded: {single_release(problem, release)}"
    return replace(
        plain,
        kind="utility" if problem.max_leakage == math.inf else "average",
        statement=told,
        unit="release of one record, on average",
        uncovered=(alone, *plain.uncovered),
    )


def is_worst(
    problem: DistortionData, release: Release, worst: tuple[Hashable, ...], where: str
) -> bool | None:
    """Whether a pair of labels leaks most, where a ratio is the leakage; not checked of averages, which name none."""
    if problem.order is not None:
        return not worst
    return problem.ratios(1.0).is_worst(release, worst, where) or (False if worst else None)


def at_most(joint: ExactJoint, order: float, budget: float) -> bool | None:
    """Whether Sibson's information of this order is at most the budget, proved; None where 3072 bits do not decide.

    Examples
    --------
    >>> joint = ExactJoint(((3, 1), (1, 3)), 8)
    >>> at_most(joint, 1.0, 0.13), at_most(joint, 1.0, 0.131), at_most(joint, math.inf, 0.405)
    (False, True, False)
    """
    if budget == math.inf or independent(joint):
        return True
    if budget == 0:
        return False
    if math.isinf(order):
        return exp_at_least(budget, *best_guess(joint).as_integer_ratio())
    from flint import arb, ctx, fmpq

    limit = fmpq(*Fraction(budget).as_integer_ratio())
    for bits in BITS:
        with ctx.workprec(bits):
            ball = information_ball(joint, order)
            if ball <= arb(limit):
                return True
            if ball > arb(limit):
                return False
    return None


def enclosure(joint: ExactJoint, order: float) -> Enclosure:
    """Floats around Sibson's information of this order, in nats.

    Examples
    --------
    >>> lo, hi = enclosure(ExactJoint(((1, 0), (0, 1)), 2), 2.0)
    >>> lo <= math.log(2) <= hi and hi - lo < 1e-15
    True
    """
    if independent(joint):
        return 0.0, 0.0
    if math.isinf(order):
        return log_enclosure(*best_guess(joint).as_integer_ratio())
    from flint import ctx

    ends = 0.0, math.inf
    for bits in BITS:
        with ctx.workprec(bits):
            ball = information_ball(joint, order)
            ends = max(0.0, ball_floor(ball)), max(0.0, ball_ceiling(ball))
            if ball.rel_accuracy_bits() >= 64:
                break
    return ends


def independent(joint: ExactJoint) -> bool:
    """Whether secret and release are exactly independent."""
    return all(up == down for up, down in (joint.lift(s, y) for s, y in joint.pairs()))


def best_guess(joint: ExactJoint) -> Fraction:
    """The sum over releases of the largest P(y | s): e to the maximal leakage."""
    rows = [(row, total) for row, total in zip(joint.cells, joint.rows, strict=True) if total]
    tops = (max(Fraction(row[y], total) for row, total in rows) for y in range(len(joint.columns)))
    return sum(tops, Fraction(0))


def information_ball(joint: ExactJoint, order: float) -> arb:
    """A ball around Sibson's information of a finite order, at the precision in force.

    a/(a-1) ln sum_y (sum_s P(s) P(y|s)^a)^(1/a); at a = 1 the mean log-lift.
    """
    from flint import arb, fmpq

    ball = arb(0)
    if order == 1:
        for s, y in joint.pairs():
            if joint.cells[s][y]:
                up, down = joint.lift(s, y)
                ball += arb(joint.cells[s][y]) * (arb(up) / arb(down)).log()
        return ball / arb(joint.total)
    a = arb(fmpq(*Fraction(order).as_integer_ratio()))
    for y, weight in enumerate(joint.columns):
        inner = arb(0)
        for row, total in zip(joint.cells, joint.rows, strict=True):
            if row[y]:
                inner += arb(total) / arb(joint.total) * (arb(row[y]) / arb(total)) ** a
        if weight:
            ball += inner ** (1 / a)
    return a / (a - 1) * ball.log()
