"""Lectures on privacy-utility trade-offs, extra slides: the alpha-lift watchdog, and which measure bounds which."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import combinations

import numpy as np

from privopt.benchmarks.papers.item import Reproduced, Setting, reproduces
from privopt.benchmarks.papers.items import _lectures_measures
from privopt.benchmarks.papers.verdicts import holds, invariant, refuted
from privopt.core.solver import Budget
from privopt.measures import (
    alpha_leakage,
    alpha_lift,
    axioms,
    differential_privacy,
    local_differential_privacy,
    local_information_privacy,
    maximal_alpha_leakage,
    maximal_leakage,
    min_entropy_leakage,
    mutual_information,
    sibson_mutual_information,
)
from privopt.mechanisms import Channel, Merging
from privopt.models import JointDistribution
from privopt.problems.local_information_privacy.examples import lecture_joint
from privopt.problems.local_information_privacy.problem import LocalInformationPrivacy
from privopt.solvers.local_information_privacy.watchdog import AlphaLiftWatchdog

Measure = Callable[[JointDistribution], float]


def _path(joint: JointDistribution) -> float:
    return differential_privacy(joint, [(i, i + 1) for i in range(len(joint.p_s) - 1)])


SYMMETRIC: dict[str, Measure] = {
    "mutual_information": mutual_information,
    "upper": lambda joint: local_information_privacy(joint).upper,
    "lower": lambda joint: -local_information_privacy(joint).lower,
    "symmetric": lambda joint: local_information_privacy(joint).symmetric,
}
OTHERS: dict[str, Measure] = {
    "local_differential_privacy": local_differential_privacy,
    "sibson_mutual_information": lambda joint: sibson_mutual_information(joint, 2),
    "alpha_lift": lambda joint: alpha_lift(joint, 2),
    "maximal_alpha_leakage": lambda joint: maximal_alpha_leakage(joint, 2)[0],
    "maximal_leakage": maximal_leakage,
}
UNLINKED: dict[str, Measure] = {
    "differential_privacy": _path,
    "alpha_leakage": lambda joint: alpha_leakage(joint, 3),
    "min_entropy_leakage": min_entropy_leakage,
}
LINKED = {**SYMMETRIC, **OTHERS}
FAMILY = ((0.2, 0.4, 0.4, 0.6), (0.2, 0.6, 0.6, 0.6))
"""Chances of a positive release by the state of two relatives, and by that of the two bits behind both."""


@reproduces("F-P1")
def zero_if_independent(setting: Setting) -> Reproduced:
    """Measures that are 0 for dependent symbols."""
    counts = JointDistribution.normalised([[1, 0], [1, 2]])
    leaked, told = min_entropy_leakage(counts), mutual_information(counts)
    apart = JointDistribution.normalised([[3, 1], [3, 1], [1, 3], [1, 3]])
    unseen, kept = differential_privacy(apart, [(0, 1), (2, 3)]), mutual_information(apart)

    def check(rng: np.random.Generator) -> float:
        joint = _lectures_measures.distribution_of(_lectures_measures.joint(rng))
        alone = _lectures_measures.distribution_of(np.outer(joint.p_s, joint.p_x))
        some = {**LINKED, "differential_privacy": _path, "alpha_leakage": UNLINKED["alpha_leakage"]}
        return max(max(f(alone) - 1e-9, 1e-12 - f(joint)) for f in some.values())

    rest = invariant(check, setting, setting.count(20, 200), "")
    return refuted(
        leaked == 0 and told > 0.2 and unseen == 0 and kept > 0.1 and rest.ours.startswith("0 of"),
        f"alpha-leakage of order inf of the counts 1, 0; 1, 2 is {leaked:g} where I(S;Y) is {told:.6f} nats",
        "Two measures of the lectures are 0 for dependent symbols: alpha-leakage of order inf where the best guess never "
        f"changes, and differential privacy if the neighbours are not connected ({abs(unseen):g} with {kept:.4f} nats). For the others: "
        f"{rest.ours}.",
    )


def _processed(rng: np.random.Generator, joint: JointDistribution) -> JointDistribution:
    return _lectures_measures.distribution_of(
        joint.table @ _lectures_measures.channel(rng, joint.table.shape[1], int(rng.integers(2, 5)))
    )


def _behind(rng: np.random.Generator, joint: JointDistribution) -> JointDistribution:
    reading = _lectures_measures.channel(rng, joint.table.shape[0], int(rng.integers(2, 5)))
    return _lectures_measures.distribution_of(reading.T @ joint.table)


@reproduces("F-P2")
def post_processing(setting: Setting) -> Reproduced:
    """No later computation leaks more."""
    measures = {**LINKED, **UNLINKED}

    def check(rng: np.random.Generator) -> float:
        joint = _lectures_measures.distribution_of(_lectures_measures.joint(rng))
        after = _processed(rng, joint)
        return max(f(after) - f(joint) for f in measures.values())

    flagged = all(axioms(name).post_processing for name in [*OTHERS, *UNLINKED])
    why = f"All {len(measures)} measures, on random joint distributions and random later channels; our table of axioms says so too: {flagged}."
    return invariant(check, setting, setting.count(30, 300), why, 1e-8)


@reproduces("F-P3")
def linkage(setting: Setting) -> Reproduced:
    """What protects a secret protects everything behind it, for which measures."""

    def check(rng: np.random.Generator) -> float:
        joint = _lectures_measures.distribution_of(_lectures_measures.joint(rng))
        far = _behind(rng, joint)
        return max(f(far) - f(joint) for f in LINKED.values())

    verdict = invariant(check, setting, setting.count(40, 300), "", 1e-8)
    counts, reading = np.array([[1, 0], [1, 2]]) / 4, np.array([[0, 1], [2 / 3, 1 / 3]])
    family = [
        differential_privacy([[1 - p, p] for p in chances], _lectures_measures.hamming(2))
        for chances in FAMILY
    ]
    pairs = [
        (
            f(_lectures_measures.distribution_of(counts)),
            f(_lectures_measures.distribution_of(reading.T @ counts)),
        )
        for f in list(UNLINKED.values())[1:]
    ]
    fails = [abs(near) < far for near, far in (family, *pairs)]
    flags = [axioms(name).linkage for name in (*OTHERS, *UNLINKED)]
    assert flags == [True] * len(OTHERS) + [False] * len(UNLINKED)
    assert all(fails)
    why = (
        f"A property that {len(LINKED)} of the measures have on random chains. It fails for differential privacy, as the lectures "
        f"say ({family[0]:.4f} and {family[1]:.4f} nats), and for alpha-leakage, of which they do not say it: counts 1, 0; 1, 2 "
        f"give {pairs[0][0]:.4f} at order 3 and a secret behind them {pairs[0][1]:.4f}."
    )
    return Reproduced(verdict.ours, verdict.finding, why)


@reproduces("F-P4")
def equivalent(setting: Setting) -> Reproduced:
    """Linkage is post-processing of the other symbol where a measure is symmetric."""

    def check(rng: np.random.Generator) -> float:
        joint = _lectures_measures.distribution_of(_lectures_measures.joint(rng))
        far, after = _behind(rng, joint), _processed(rng, joint)
        turned = [_lectures_measures.distribution_of(one.table.T) for one in (joint, far, after)]
        apart = max(
            abs(f(a) - f(b))
            for f in SYMMETRIC.values()
            for a, b in zip((joint, far, after), turned, strict=True)
        )
        falls = max(max(f(one) - f(joint) for one in (far, after)) for f in SYMMETRIC.values())
        return max(apart, falls)

    why = "Information and the three lift measures are equal for the transposed distribution, and both inequalities hold for each of them."
    return invariant(check, setting, setting.count(50, 500), why)


@reproduces("F-P5")
def diseases_of_a_family(setting: Setting) -> Reproduced:
    """Two bits that are both the OR of two others."""

    def check(rng: np.random.Generator) -> float:
        q, r, s = np.sort(rng.uniform(0.001, 0.999, 3)).tolist()
        near = _lectures_measures.hamming(2)
        first = differential_privacy([[1 - p, p] for p in (q, r, r, s)], near)
        second = differential_privacy([[1 - p, p] for p in (q, s, s, s)], near)
        four = max(math.log(s / r), math.log(r / q), math.log((1 - r) / (1 - s)), math.log((1 - q) / (1 - r)))
        two = max(math.log(s / q), math.log((1 - q) / (1 - s)))
        return max(abs(first - four), abs(second - two), float(not four < two))

    levels = [
        differential_privacy([[1 - p, p] for p in chances], _lectures_measures.hamming(2))
        for chances in FAMILY
    ]
    why = (
        "Both levels are the printed ones, and the second is larger for all q < r < s that were drawn; at .2, .4, .6 they are "
        f"{levels[0]:.6f} and {levels[1]:.6f} nats."
    )
    return invariant(check, setting, setting.count(200, 5000), why)


def _families() -> list[tuple[int, ...]]:
    """All ages that fit the printed table, in years: three black women, a black man, a white woman, two white men, the married."""
    databases: list[tuple[int, ...]] = []
    for low, high in ((x, 110 - 36 - x) for x in range(37)):  # median 36, and 36.7 is 110 / 3
        man, woman = 4 * 48.5 - 110, 4 * 33.5 - 110
        for other in range(37):
            ages = (low, 36, high, round(man), round(woman), other, round(3 * 24 - woman) - other)
            databases += [(*ages, *four) for four in combinations(range(7), 4) if _fits(ages, four)]
    return databases


def _fits(ages: tuple[int, ...], married: tuple[int, ...]) -> bool:
    groups = (range(7), (0, 1, 2, 4), (3, 5, 6), (0, 1, 2, 3), (4, 5, 6), married, (0, 1, 2))
    middles = (30, 30, 30, 51, 24, 51, 36)
    means = (38, 33.5, 44, 48.5, 24, 54, 36.7)
    for group, middle, mean in zip(groups, middles, means, strict=True):
        chosen = [ages[i] for i in group]
        if float(np.median(chosen)) != middle or abs(sum(chosen) / len(chosen) - mean) > 0.05:
            return False
    return ages[5] <= ages[6]


@reproduces("F-B1")
def census(setting: Setting) -> Reproduced:
    """Who is behind the table of seven people."""
    databases = _families()
    ages = sorted(databases[0][:7])
    return holds(
        len(databases) == 1,
        f"{len(databases)} database fits: ages {', '.join(map(str, ages))}",
        "The counts leave three black women, a black man, a white woman and two white men; of all whole ages only one list has "
        "the printed medians and means, and it says who is married. The number of equations and the 0.2 seconds were not checked.",
    )


@reproduces("F-X11")
def invariant_release(setting: Setting) -> Reproduced:
    """Randomising high-risk symbols against releasing any of them alike."""
    above = [0]

    def check(rng: np.random.Generator) -> float:
        table, alpha = _lectures_measures.joint(rng, 8), _lectures_measures.order(rng)
        prior = table.sum(axis=1)
        risks = np.log(_lectures_measures.column_lifts(table, prior, alpha))
        level = float(np.quantile(risks, rng.uniform(0, 0.7)))
        high = table[:, risks > level]
        merged = float(
            np.log(_lectures_measures.column_lifts(high.sum(axis=1, keepdims=True), prior, alpha))[0]
        )
        above[0] += merged > level
        size, any_way = high.shape[1], []
        for spread in (0.1, 1.0, 10.0):
            drawn = high @ rng.dirichlet(np.full(size, spread), size)
            kept = drawn[:, drawn.sum(axis=0) > 1e-12]
            any_way.append(merged - float(np.log(_lectures_measures.column_lifts(kept, prior, alpha)).max()))
        alike = high @ np.tile(rng.dirichlet(np.ones(size)), (size, 1))
        same = float(np.abs(np.log(_lectures_measures.column_lifts(alike, prior, alpha)) - merged).max())
        return max(*any_way, same)

    instances = setting.count(50, 1000)
    verdict = invariant(check, setting, instances, "")
    why = (
        "No random release of the high-risk symbols has a lower worst alpha-lift than one that ignores X, and all those are "
        f"alike; it may still exceed the level, as in {above[0]} of {instances}."
    )
    return Reproduced(verdict.ours, verdict.finding, why)


@reproduces("F-A8")
def alpha_lift_watchdog(setting: Setting) -> Reproduced:
    """The watchdog on the 4x9 table, merging and uniform."""
    joint, alpha, level = lecture_joint(), 2.0, 0.1
    proposal = AlphaLiftWatchdog(alpha=alpha).run(LocalInformationPrivacy(joint, upper=level), Budget())
    assert isinstance(proposal.mechanism, Merging)
    blocks = [[int(str(x)) for x in block] for block in proposal.mechanism.blocks]
    risks = np.log(_lectures_measures.column_lifts(joint.table, joint.p_s, alpha))
    high = np.flatnonzero(risks > level)
    merging, uniform = np.zeros((9, len(blocks))), np.eye(9)
    for i, block in enumerate(blocks):
        merging[block, i] = 1.0
    uniform[high] = 0.0
    uniform[np.ix_(high, high)] = 1 / len(high)
    measured = [
        (
            alpha_lift(joint.table @ m, alpha),
            mutual_information(joint.p_x[:, None] * Channel(m).matrix, unit="bits"),
        )
        for m in (merging, uniform)
    ]
    lifts = local_information_privacy(joint.table @ merging).upper
    return holds(
        sorted(high.tolist()) in [sorted(b) for b in blocks]
        and np.allclose(measured[0], measured[1], atol=1e-12)
        and measured[0][0] <= risks.max(),
        f"at 0.1 nats and order 2 symbols {', '.join(str(x + 1) for x in high)} are merged: alpha-lift {measured[0][0]:.4f} nats, "
        f"I(X;Y) {measured[0][1]:.4f} bits",
        "The 4x9 table of the running example. Releasing the same symbols uniformly gives the same values; the largest single "
        f"log-lift is then {lifts:.4f}, which the level does not bound.",
    )


@reproduces("F-R7")
def lift_bounds_leakage(setting: Setting) -> Reproduced:
    """Alpha-leakage under a bound on the largest log-lift."""
    share = [0.0]

    def check(rng: np.random.Generator) -> float:
        joint, alpha = (
            _lectures_measures.distribution_of(_lectures_measures.joint(rng)),
            _lectures_measures.order(rng),
        )
        upper, ours = local_information_privacy(joint).upper, alpha_leakage(joint, alpha)
        share[0] = max(share[0], ours / upper)
        return ours - alpha / (alpha - 1) * upper

    verdict = invariant(check, setting, setting.count(100, 3000), "")
    why = (
        "The factor a / (a - 1), which grows without limit near order 1, is not needed: alpha-leakage was at most "
        f"{share[0]:.4f} of the largest log-lift itself."
    )
    return Reproduced(verdict.ours, verdict.finding, why)


@reproduces("F-R8")
def lift_bounds_alpha_lift(setting: Setting) -> Reproduced:
    """Alpha-lift under a bound on the largest log-lift."""
    share = [0.0]

    def check(rng: np.random.Generator) -> float:
        joint, alpha = (
            _lectures_measures.distribution_of(_lectures_measures.joint(rng)),
            _lectures_measures.order(rng),
        )
        upper, ours = local_information_privacy(joint).upper, alpha_lift(joint, alpha)
        share[0] = max(share[0], ours * alpha / (alpha - 1) / upper)
        return ours - upper

    verdict = invariant(check, setting, setting.count(100, 3000), "")
    why = f"Even (a - 1) / a of the bound is enough: alpha-lift was at most {share[0]:.4f} of that."
    return Reproduced(verdict.ours, verdict.finding, why)


@reproduces("F-R9")
def maximal_bounds_alpha_leakage(setting: Setting) -> Reproduced:
    """Alpha-leakage against maximal alpha-leakage."""

    def check(rng: np.random.Generator) -> float:
        joint, alpha = (
            _lectures_measures.distribution_of(_lectures_measures.joint(rng)),
            _lectures_measures.order(rng),
        )
        return alpha_leakage(joint, alpha) - maximal_alpha_leakage(joint, alpha)[1]

    return invariant(
        check, setting, setting.count(50, 500), "On random joint distributions, at random orders."
    )


@reproduces("F-R10")
def grows_with_order(setting: Setting) -> Reproduced:
    """Maximal alpha-leakage at two orders, at inf and at 1."""

    def check(rng: np.random.Generator) -> float:
        joint, orders = (
            _lectures_measures.distribution_of(_lectures_measures.joint(rng)),
            sorted(_lectures_measures.order(rng) for _ in "ab"),
        )
        low, high = (maximal_alpha_leakage(joint, a) for a in orders)
        return max(low[0] - high[1], mutual_information(joint) - low[1], high[0] - maximal_leakage(joint))

    even = _lectures_measures.distribution_of(np.array([[0.4, 0.1], [0.1, 0.4]]))
    small, large = (maximal_alpha_leakage(even, a)[0] for a in (2.0, 10.0))
    why = (
        "The lemma is right; the title of its slide says the reverse, that a bound at a smaller order is one at a larger: "
        f"for the cells .4, .1, .1, .4 order 2 gives {small:.4f} and order 10 gives {large:.4f}."
    )
    return invariant(check, setting, setting.count(50, 500), why)
