"""Lectures on privacy-utility trade-offs, extra slides: the alpha-lift watchdog, and which measure bounds which."""

from __future__ import annotations

import numpy as np

from privopt._solver import Budget
from privopt.benchmarks._reproduction import Reproduced, Setting, reproduces
from privopt.benchmarks.reproduction import _lectures_measures_tools as tools
from privopt.benchmarks.reproduction._verdicts import holds, law
from privopt.measures import (
    alpha_leakage,
    alpha_lift,
    local_information_privacy,
    maximal_alpha_leakage,
    maximal_leakage,
    mutual_information,
)
from privopt.mechanisms import Channel, Merging
from privopt.problems._lip_examples import lecture_joint
from privopt.problems.local_information_privacy import LocalInformationPrivacy
from privopt.solvers.local_information_privacy.alpha_lift_watchdog import AlphaLiftWatchdog


@reproduces("F-X11")
def invariant_release(setting: Setting) -> Reproduced:
    """Randomising high-risk symbols against releasing any of them alike."""
    above = [0]

    def check(rng: np.random.Generator) -> float:
        table, alpha = tools.joint(rng, 8), tools.order(rng)
        prior = table.sum(axis=1)
        risks = np.log(tools.column_lifts(table, prior, alpha))
        level = float(np.quantile(risks, rng.uniform(0, 0.7)))
        high = table[:, risks > level]
        merged = float(np.log(tools.column_lifts(high.sum(axis=1, keepdims=True), prior, alpha))[0])
        above[0] += merged > level
        size, any_way = high.shape[1], []
        for spread in (0.1, 1.0, 10.0):
            drawn = high @ rng.dirichlet(np.full(size, spread), size)
            kept = drawn[:, drawn.sum(axis=0) > 1e-12]
            any_way.append(merged - float(np.log(tools.column_lifts(kept, prior, alpha)).max()))
        alike = high @ np.tile(rng.dirichlet(np.ones(size)), (size, 1))
        same = float(np.abs(np.log(tools.column_lifts(alike, prior, alpha)) - merged).max())
        return max(*any_way, same)

    instances = setting.count(50, 1000)
    found = law(check, setting, instances, "")
    why = (
        "No random release of the high-risk symbols has a lower worst alpha-lift than one that ignores X, and all those are "
        f"alike; it may still exceed the level, as in {above[0]} of {instances}."
    )
    return Reproduced(found.ours, found.finding, why)


@reproduces("F-A8")
def alpha_lift_watchdog(setting: Setting) -> Reproduced:
    """The watchdog on the 4x9 table, merging and uniform."""
    joint, alpha, level = lecture_joint(), 2.0, 0.1
    proposal = AlphaLiftWatchdog(alpha=alpha).run(LocalInformationPrivacy(joint, upper=level), Budget())
    assert isinstance(proposal.mechanism, Merging)
    blocks = [[int(str(x)) for x in block] for block in proposal.mechanism.blocks]
    risks = np.log(tools.column_lifts(joint.table, joint.p_s, alpha))
    high = np.flatnonzero(risks > level)
    merging, uniform = np.zeros((9, len(blocks))), np.eye(9)
    for i, block in enumerate(blocks):
        merging[block, i] = 1.0
    uniform[high] = 0.0
    uniform[np.ix_(high, high)] = 1 / len(high)
    found = [
        (
            alpha_lift(joint.table @ m, alpha),
            mutual_information(joint.p_x[:, None] * Channel(m).matrix, unit="bits"),
        )
        for m in (merging, uniform)
    ]
    lifts = local_information_privacy(joint.table @ merging).upper
    return holds(
        sorted(high.tolist()) in [sorted(b) for b in blocks]
        and np.allclose(found[0], found[1], atol=1e-12)
        and found[0][0] <= risks.max(),
        f"at 0.1 nats and order 2 symbols {', '.join(str(x + 1) for x in high)} are merged: alpha-lift {found[0][0]:.4f} nats, "
        f"I(X;Y) {found[0][1]:.4f} bits",
        "The 4x9 table of the running example. Releasing the same symbols uniformly gives the same values; the largest single "
        f"log-lift is then {lifts:.4f}, which the level does not bound.",
    )


@reproduces("F-R7")
def lift_bounds_leakage(setting: Setting) -> Reproduced:
    """Alpha-leakage under a bound on the largest log-lift."""
    share = [0.0]

    def check(rng: np.random.Generator) -> float:
        given, alpha = tools.law_of(tools.joint(rng)), tools.order(rng)
        upper, ours = local_information_privacy(given).upper, alpha_leakage(given, alpha)
        share[0] = max(share[0], ours / upper)
        return ours - alpha / (alpha - 1) * upper

    found = law(check, setting, setting.count(100, 3000), "")
    why = (
        "The factor a / (a - 1), which grows without limit near order 1, is not needed: alpha-leakage was at most "
        f"{share[0]:.4f} of the largest log-lift itself."
    )
    return Reproduced(found.ours, found.finding, why)


@reproduces("F-R8")
def lift_bounds_alpha_lift(setting: Setting) -> Reproduced:
    """Alpha-lift under a bound on the largest log-lift."""
    share = [0.0]

    def check(rng: np.random.Generator) -> float:
        given, alpha = tools.law_of(tools.joint(rng)), tools.order(rng)
        upper, ours = local_information_privacy(given).upper, alpha_lift(given, alpha)
        share[0] = max(share[0], ours * alpha / (alpha - 1) / upper)
        return ours - upper

    found = law(check, setting, setting.count(100, 3000), "")
    why = f"Even (a - 1) / a of the bound is enough: alpha-lift was at most {share[0]:.4f} of that."
    return Reproduced(found.ours, found.finding, why)


@reproduces("F-R9")
def maximal_bounds_alpha_leakage(setting: Setting) -> Reproduced:
    """Alpha-leakage against maximal alpha-leakage."""

    def check(rng: np.random.Generator) -> float:
        given, alpha = tools.law_of(tools.joint(rng)), tools.order(rng)
        return alpha_leakage(given, alpha) - maximal_alpha_leakage(given, alpha)[1]

    return law(check, setting, setting.count(50, 500), "On random joint laws, at random orders.")


@reproduces("F-R10")
def grows_with_order(setting: Setting) -> Reproduced:
    """Maximal alpha-leakage at two orders, at inf and at 1."""

    def check(rng: np.random.Generator) -> float:
        given, orders = tools.law_of(tools.joint(rng)), sorted(tools.order(rng) for _ in "ab")
        low, high = (maximal_alpha_leakage(given, a) for a in orders)
        return max(low[0] - high[1], mutual_information(given) - low[1], high[0] - maximal_leakage(given))

    even = tools.law_of(np.array([[0.4, 0.1], [0.1, 0.4]]))
    small, large = (maximal_alpha_leakage(even, a)[0] for a in (2.0, 10.0))
    why = (
        "The lemma is right; the title of its slide says the reverse, that a bound at a smaller order is one at a larger: "
        f"for the cells .4, .1, .1, .4 order 2 gives {small:.4f} and order 10 gives {large:.4f}."
    )
    return law(check, setting, setting.count(50, 500), why)
