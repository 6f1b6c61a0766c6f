"""The lectures: leakage and distortion, log-loss, and the privacy funnel with its opposite, the bottleneck."""

from __future__ import annotations

import math

import numpy as np

from privopt.benchmarks.data.joints import lecture
from privopt.benchmarks.papers.item import Reproduced, Setting, reproduces
from privopt.benchmarks.papers.items import _lectures
from privopt.benchmarks.papers.verdicts import holds, invariant
from privopt.measures import (
    conditional_entropy,
    expected_alpha_loss,
    mutual_information,
    optimal_alpha_belief,
)
from privopt.mechanisms import Channel
from privopt.models import JointDistribution
from privopt.problems.information_bottleneck.problem import InformationBottleneck
from privopt.problems.local_information_privacy.problem import LocalInformationPrivacy
from privopt.problems.privacy_funnel.problem import PrivacyFunnel
from privopt.solvers.trade_off.local_descent import DifferenceOfConvex, SelfConsistent


@reproduces("F-D1")
def two_forms(setting: Setting) -> Reproduced:
    """The least leakage at a distortion, and the least distortion at that leakage."""

    def check(rng: np.random.Generator) -> float:
        joint = _lectures.random_joint(rng, 2, 3)
        least = _lectures.answer(LocalInformationPrivacy(joint, epsilon=0.0)).utility
        floor = least + float(rng.uniform(0.3, 0.9)) * (_lectures.entropy(joint.p_x) - least)
        leak = _lectures.answer(PrivacyFunnel(joint, min_utility=floor), "column-generation").leakage
        back = _lectures.answer(PrivacyFunnel(joint, max_leakage=leak), "column-generation").utility
        return abs(back - floor)

    why = (
        "With I(S;Y) as leakage and H(X|Y) as distortion: the least distortion at the least leakage of a distortion is that "
        "distortion again, above the point where nothing leaks; proved optima, to 1e-4."
    )
    return invariant(check, setting, setting.count(1, 15), why, 1e-4)


@reproduces("F-D2")
def distortions(setting: Setting) -> Reproduced:
    """Probability of error, and the mean of -log P(X|Y)."""

    def check(rng: np.random.Generator) -> float:
        joint = _lectures.any_joint(rng)
        n = len(joint.useful)
        channel = _lectures.any_channel(rng, joint, n)
        both = joint.p_x[:, None] * channel.matrix
        of_errors = LocalInformationPrivacy(joint, epsilon=1.0, utility=1.0 - np.eye(n))
        wrong = sum(float(both[x, y]) for x in range(n) for y in range(n) if x != y)
        mean = -sum(
            float(both[x, y]) * math.log(both[x, y] / both[:, y].sum()) for x in range(n) for y in range(n)
        )
        return max(abs(of_errors.evaluate(channel).utility + wrong), abs(conditional_entropy(both) - mean))

    return invariant(
        check,
        setting,
        setting.count(30, 500),
        "The indicator distortion gives the error, log-loss gives H(X|Y).",
    )


@reproduces("F-D3")
def log_loss(setting: Setting) -> Reproduced:
    """The best belief by numerical search, and what seeing Y gains."""
    from scipy.optimize import minimize

    def check(rng: np.random.Generator) -> float:
        joint = _lectures.any_joint(rng, 4)
        after = 0.0
        off = 0.0
        for y, mass in enumerate(joint.p_x.tolist()):
            posterior = joint.table[:, y] / mass

            def loss(logits: np.ndarray, p: np.ndarray = posterior) -> float:
                return float(np.logaddexp.reduce(logits) - p @ logits)

            optimum = minimize(loss, np.zeros(len(posterior)), method="BFGS", options={"gtol": 1e-9})
            belief = np.exp(optimum.x - np.logaddexp.reduce(optimum.x))
            off = max(off, float(np.abs(belief - optimal_alpha_belief(joint, 1.0, y)).max()))
            after += mass * float(optimum.fun)
        seen, unseen = expected_alpha_loss(joint, 1.0)
        gain = mutual_information(joint)
        return max(
            off * 1e-3,
            abs(seen - after),
            abs(unseen - _lectures.entropy(joint.p_s)),
            abs(unseen - seen - gain),
            abs(mutual_information(joint.table.T) - gain),
        )

    why = "A numerical search finds the posterior (to 1e-6), the gain is I(S;Y), and the same from the other side."
    return invariant(check, setting, setting.count(5, 60), why)


@reproduces("F-C2")
def releases_needed(setting: Setting) -> Reproduced:
    """Releases that proved optima need."""
    rng, gap, worse, used = setting.rng(), 0.0, 0.0, []
    for _ in range(setting.count(2, 20)):
        joint = _lectures.random_joint(rng, int(rng.integers(2, 4)), int(rng.integers(3, 5)))
        problem = PrivacyFunnel(joint, theta_fraction=float(rng.uniform(0.6, 0.95)))
        best = _lectures.answer(problem, "column-generation")
        leakage, count = _fewest(joint, best)
        gap, worse = max(gap, best.bound - best.objective), max(worse, leakage - best.leakage)
        used.append(count - len(joint.useful))
    shown = ", ".join(f"|X|{extra:+d} in {used.count(extra)}" for extra in sorted(set(used)))
    why = (
        f"Random tables, optima proved to {gap:.1e} nats. Sharing X among their posteriors is a linear program with |X| + 1 "
        "rows, so a basic solution needs no more releases; at a fixed multiplier |X| are enough."
    )
    return holds(max(used) <= 1 and gap < 1e-5 and worse < 1e-9, f"releases: {shown}", why)


def _fewest(joint: JointDistribution, best: _lectures.Release) -> tuple[float, int]:
    """Least leakage at the same utility from the posteriors of an answer, and the releases of a basic solution."""
    both = joint.p_x[:, None] * best.matrix
    posteriors = both[:, both.sum(axis=0) > 0]
    posteriors = posteriors / posteriors.sum(axis=0)
    unknown = np.array([[_lectures.entropy(v) for v in posteriors.T]])
    told = [_lectures.entropy(joint.p_s) - _lectures.entropy(joint.s_given_x @ v) for v in posteriors.T]
    room = np.array([_lectures.entropy(joint.p_x) - best.utility])
    leakage, weights = _lectures.program(told, (posteriors, joint.p_x), (unknown, room))
    return leakage, int((weights > 1e-12).sum())


@reproduces("F-CV")
def convexity(setting: Setting) -> Reproduced:
    """I(S;Y) at the middle of two channels, and a floor that the middle breaks."""

    def check(rng: np.random.Generator) -> float:
        joint = _lectures.any_joint(rng)
        outputs = int(rng.integers(2, 6))
        one, two = (_lectures.any_channel(rng, joint, outputs) for _ in range(2))
        middle = Channel((one.matrix + two.matrix) / 2, joint.useful)
        told = [PrivacyFunnel(joint, trade_off=0.5).evaluate(c).leakage for c in (one, two, middle)]
        return told[2] - (told[0] + told[1]) / 2

    joint = lecture()
    problem = PrivacyFunnel(joint, theta_fraction=1.0)
    ends = [Channel(m, joint.useful) for m in (np.eye(9), np.roll(np.eye(9), 1, axis=1))]
    middle = Channel((ends[0].matrix + ends[1].matrix) / 2, joint.useful)
    if not all(problem.evaluate(c).feasible for c in ends) or problem.evaluate(middle).feasible:
        raise ValueError("the two ends of the counter-example are feasible and their middle is not, no more")
    low = problem.evaluate(middle).utility / _lectures.BITS
    why = (
        "Midpoints never leak more than the mean. At the floor H(X) both Y = X and a shifted copy are feasible, "
        f"their mixture says only {low:.4f} bits."
    )
    return invariant(check, setting, setting.count(100, 2000), why)


@reproduces("F-IB")
def bottleneck(setting: Setting) -> Reproduced:
    """The bottleneck of a noisy bit against Mrs. Gerber's lemma, and the least rate for what it keeps."""
    flip = 0.1
    joint = JointDistribution([[(1 - flip) / 2, flip / 2], [flip / 2, (1 - flip) / 2]])
    off, above = 0.0, True
    rates = np.linspace(0.1, 0.9, setting.count(2, 9)) * _lectures.BITS
    for rate in rates.tolist():
        kept = _lectures.answer(InformationBottleneck(joint, max_rate=rate), "column-generation").utility
        off = max(off, abs(_rate_of(kept, flip) - rate))
        above &= kept > _lectures.answer(PrivacyFunnel(joint, min_utility=rate)).leakage
    why = (
        "Least rate for a level of I(U;Y): a release that keeps the most at a rate needs just that rate for it, by the closed "
        "form of a noisy bit, so asking for the most at a rate is the same problem; at equal rate the funnel says less."
    )
    return holds(off < 1e-5 and above, f"{len(rates)} rates met to {off:.1e} nats", why)


def _rate_of(kept: float, flip: float) -> float:
    """The least I(X;Y) for I(U;Y) = ``kept``: ln 2 - h(a), where ln 2 - h(a * flip) = kept."""
    from scipy.optimize import brentq

    def h(p: float) -> float:
        return _lectures.entropy(np.array([p, 1 - p]))

    a = brentq(lambda a: _lectures.BITS - h(a * (1 - flip) + (1 - a) * flip) - kept, 1e-12, 0.5, xtol=1e-14)
    return _lectures.BITS - h(float(a))


@reproduces("F-A2")
def iterative(setting: Setting) -> Reproduced:
    """Iterations from several starts, and the proved optimum."""
    tables = [_lectures.random_joint(np.random.default_rng(seed), 3, 6) for seed in (5, 0)]
    seeds = range(setting.count(4, 40))
    told, wrong = [], False
    for problem, method in (
        (PrivacyFunnel(tables[0], trade_off=0.15), DifferenceOfConvex(starts=1)),
        (InformationBottleneck(tables[1], trade_off=0.25), SelfConsistent(starts=1)),
    ):
        best = _lectures.answer(problem, "column-generation")
        values = [_lectures.answer(problem, method, seed, certify=False).objective for seed in seeds]
        wrong |= max(values) > best.bound + 1e-9 or max(values) - min(values) < 1e-4
        told.append(
            f"{method.name} {min(values):.6f} to {max(values):.6f} (optimum {best.objective:.6f}, at most {best.bound:.6f})"
        )
    why = f"A random table each, {len(seeds)} starts: the iterations end at different values, none above the proved bound."
    return holds(not wrong, "; ".join(told), why)


@reproduces("F-A9")
def linear_constraints(setting: Setting) -> Reproduced:
    """Local constraints at midpoints of channels, and a linear distortion against a program written out."""

    def check(rng: np.random.Generator) -> float:
        joint = _lectures.any_joint(rng)
        outputs = int(rng.integers(2, 6))
        one, two = (_lectures.any_channel(rng, joint, outputs) for _ in range(2))
        middle = Channel((one.matrix + two.matrix) / 2, joint.useful)
        worst = 0.0
        for notion in ("lip", "ldp"):
            problem = LocalInformationPrivacy(joint, epsilon=1.0, notion=notion)
            told = [problem.evaluate(c).leakage for c in (one, two, middle)]
            worst = max(worst, told[2] - max(told[:2]))
        n = int(rng.integers(2, 5))
        square = _lectures.random_joint(rng, 3, n)
        epsilon = float(rng.uniform(0.1, 1.0))
        ours = _lectures.answer(
            LocalInformationPrivacy(square, epsilon=epsilon, utility=1.0 - np.eye(n)), "direct-lp"
        )
        return max(worst, (abs(ours.utility + _least_error(square, epsilon)) - 1e-7))

    why = (
        "Releases within a level form a convex set under both, and the least error probability is a linear program. I(X;Y) is "
        "convex too but is to be maximised, so that problem becomes linear only through the vertices of the set."
    )
    return invariant(check, setting, setting.count(5, 60), why)


def _least_error(joint: JointDistribution, epsilon: float) -> float:
    """The least P(Y != X) with all lifts in [e^-epsilon, e^epsilon], by a program over P(y|x)."""
    n = len(joint.useful)
    rows = []
    for y in range(n):
        for s, p in enumerate(joint.p_s.tolist()):
            for sign, level in ((1.0, math.exp(epsilon)), (-1.0, math.exp(-epsilon))):
                row = np.zeros((n, n))
                row[:, y] = sign * (joint.table[s] / p - level * joint.p_x)
                rows.append(row.ravel())
    sums = np.asarray(np.kron(np.eye(n), np.ones(n)), dtype=np.float64)
    cost = (joint.p_x[:, None] * (1 - np.eye(n))).ravel()
    return _lectures.program(cost, (sums, np.ones(n)), (np.array(rows), np.zeros(len(rows))))[0]


@reproduces("F-LG")
def weighed(setting: Setting) -> Reproduced:
    """Optima of weighed objectives, against the funnel at their own utility."""
    joint = lecture()
    off, reached = 0.0, set()
    for weight in np.linspace(0.02, 0.98, setting.count(7, 49)).tolist():
        one = _lectures.answer(PrivacyFunnel(joint, trade_off=weight, form="merging"), "exact-merging")
        two = _lectures.answer(PrivacyFunnel(joint, min_utility=one.utility, form="merging"), "exact-merging")
        off = max(off, abs(one.leakage - two.leakage))
        reached.add(round(one.utility, 9))
    every = set()
    for share in np.linspace(0.05, 1, setting.count(7, 39)).tolist():
        every.add(
            round(_lectures.answer(PrivacyFunnel(joint, theta_fraction=share, form="merging")).utility, 9)
        )
    random = _lectures.random_joint(np.random.default_rng(1), 2, 3)
    for weight in (0.1, 0.3, 0.5)[: setting.count(1, 3)]:
        one = _lectures.answer(PrivacyFunnel(random, trade_off=weight), "column-generation")
        two = _lectures.answer(PrivacyFunnel(random, min_utility=one.utility), "column-generation")
        off = max(off, abs(one.leakage - two.leakage) - 1e-5)
    whole = _lectures.answer(PrivacyFunnel(joint, trade_off=1.0)).utility
    why = (
        "Every weighed optimum is an optimum of the funnel at its own utility. Not conversely among mergings, where only points "
        "of the convex hull are reached; with randomised releases the boundary is convex. At weight 1 the answer is Y = X."
    )
    return holds(
        off < 1e-9 and abs(whole - _lectures.entropy(joint.p_x)) < 1e-9 and not every <= reached,
        f"{len(reached)} mergings reached by weights, {len(every)} by floors",
        why,
    )
