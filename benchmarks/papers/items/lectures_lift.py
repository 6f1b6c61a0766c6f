"""The lectures: log-lifts, local information privacy, and the local privacy funnel."""

from __future__ import annotations

import itertools
import math

import numpy as np

from privopt.benchmarks.data.joints import lecture
from privopt.benchmarks.papers.item import Finding, Reproduced, Setting, reproduces
from privopt.benchmarks.papers.items import _lectures
from privopt.benchmarks.papers.verdicts import holds, invariant
from privopt.measures import (
    lift,
    local_information_privacy,
    log_lift,
    mutual_information,
    mutual_information_bound,
)
from privopt.mechanisms import Channel
from privopt.models import JointDistribution
from privopt.problems.local_information_privacy.data import posterior_rows
from privopt.problems.local_information_privacy.problem import LocalInformationPrivacy
from privopt.solvers.local_information_privacy.vertices.systems import system, vertices

_CUT = """
 0.009  0.32  0.07  0.31 -0.76 -0.09 -0.10  0.35 -0.27
 0.43  -1.21  0.40 -0.03  0.33 -2.68  0.33 -0.65 -1.74
-1.56  -0.20 -1.44  0.42  0.15  0.44  0.27  0.71 -1.03
 0.18   0.24  0.14 -1.53  0.11  0.31 -0.59 -2.60  0.87
"""
_ABSOLUTE = """
0.0093 0.3298 0.0710 0.3169 0.7614 0.0983 0.1024 0.3598 0.2723
0.4383 1.2163 0.4017 0.0391 0.3369 2.6855 0.3308 0.6598 1.7406
1.5647 0.2054 1.4484 0.4227 0.1537 0.4449 0.2731 0.7189 1.0352
0.1809 0.2419 0.1418 1.5348 0.1178 0.3127 0.5935 2.6078 0.8747
"""


@reproduces("F-LL1")
def two_decimals(setting: Setting) -> Reproduced:
    """Log-lifts with two decimals."""
    texts, ours = _CUT.split(), log_lift(lecture())
    ranges = [_lectures.log_lift_range(s, [x]) for s in range(4) for x in range(9)]
    cut = sum(a.lstrip("-")[:4] == b[:4] for a, b in zip(texts, _ABSOLUTE.split(), strict=True))
    signs = all((float(t) > 0) == (v > 0) for t, v in zip(texts, ours.ravel().tolist(), strict=True))
    why = (
        f"In nats. {cut} of 36 entries are the four-decimal table of a later slide, cut after two decimals; all signs agree, and "
        "every entry is reached by a table that rounds to the printed cells."
    )
    verdict = _lectures.within(texts, ranges, f"{ours.min():.6f} to {ours.max():.6f}", why)
    return verdict if signs else Reproduced(verdict.ours, Finding.OFF, "A sign differs.")


@reproduces("F-LL2")
def four_decimals(setting: Setting) -> Reproduced:
    """Absolute log-lifts with four decimals."""
    texts, ours = _ABSOLUTE.split(), np.abs(log_lift(lecture())).ravel()
    gaps = np.abs(ours - np.array([float(text) for text in texts]))
    worst = int(gaps.argmax())
    ranges = [_lectures.absolute(*_lectures.log_lift_range(s, [x])) for s in range(4) for x in range(9)]
    why = (
        f"The largest difference, {gaps[worst]:.4f}, is at the cell {_lectures.PRINTED[worst // 9][worst % 9]:.4f} ({texts[worst]} "
        f"printed, {ours[worst]:.4f} from the printed cells); every entry is reached by a table that rounds to the printed one."
    )
    return _lectures.within(texts, ranges, f"largest difference {gaps[worst]:.4f}", why)


@reproduces("F-LL3")
def symmetric(setting: Setting) -> Reproduced:
    """The symmetric leakage of Y = X."""
    ours = local_information_privacy(lecture()).symmetric
    low, high = _lectures.absolute(*_lectures.log_lift_range(1, [5]))
    why = f"The cell .0017 is printed with two digits: tables that round to it give {low:.4f} to {high:.4f}; 2.6855 was cut."
    return _lectures.within(["2.68"], [(low, high)], f"{ours:.6f}", why)


@reproduces("F-LL4")
def identities(setting: Setting) -> Reproduced:
    """Symmetry, the average, and the two-sided bound."""

    def check(rng: np.random.Generator) -> float:
        joint = _lectures.any_joint(rng)
        lifts, logs = lift(joint), log_lift(joint)
        level = float(rng.uniform(0, 2))
        posterior = joint.table / joint.p_x / joint.p_s[:, None]
        inside = bool(((posterior >= math.exp(-level)) & (posterior <= math.exp(level))).all())
        return max(
            float(np.abs(lift(joint.table.T) - lifts.T).max()),
            abs(float((joint.table * logs).sum()) - _lectures.information(joint.table)),
            abs(mutual_information(joint) - _lectures.information(joint.table)),
            float(inside != (local_information_privacy(joint).symmetric <= level)),
        )

    return invariant(
        check, setting, setting.count(100, 2000), "Random tables; the three statements as they stand."
    )


@reproduces("F-R0")
def two_sides(setting: Setting) -> Reproduced:
    """The symmetric level from the two others, and the two-sided bounds."""

    def check(rng: np.random.Generator) -> float:
        joint = _lectures.any_joint(rng)
        upper, lower, both = local_information_privacy(joint)
        up, down = rng.uniform(0, 2, 2).tolist()
        posterior = joint.table / joint.p_x / joint.p_s[:, None]
        inside = bool(((posterior >= math.exp(-down)) & (posterior <= math.exp(up))).all())
        return max(
            abs(both - max(upper, abs(lower))),
            lower,
            float(inside != (upper <= up and lower >= -down)),
            abs(upper - math.log(posterior.max())),
            abs(lower - math.log(posterior.min())),
        )

    return invariant(
        check,
        setting,
        setting.count(100, 2000),
        "The lower level is never positive, as it is a smallest log-lift.",
    )


@reproduces("F-R1")
def implies_information(setting: Setting) -> Reproduced:
    """I(S;Y) against the upper level."""
    closest = 0.0

    def check(rng: np.random.Generator) -> float:
        nonlocal closest
        joint = _lectures.any_joint(rng)
        upper, lower, _ = local_information_privacy(joint)
        told, sharper = _lectures.information(joint.table), mutual_information_bound(upper, lower)
        closest = max(closest, told / sharper)
        return max(told - upper, told - sharper, sharper - upper)

    verdict = invariant(check, setting, setting.count(100, 2000), "")
    why = (
        "Holds. Sharper with the lower level l too: the largest I(S;Y) is that of lifts e^u and e^-l only, for u = l it is "
        f"u tanh(u/2); a random table comes within {closest:.3f} of it."
    )
    return Reproduced(verdict.ours, verdict.finding, why)


@reproduces("F-PF")
def polytope(setting: Setting) -> Reproduced:
    """The constraints of the program, release by release."""

    def check(rng: np.random.Generator) -> float:
        joint = _lectures.any_joint(rng)
        problem = LocalInformationPrivacy(joint, epsilon=float(rng.uniform(0.05, 1.5)))
        share = float(rng.uniform(0, 1))
        noise = _lectures.any_channel(rng, joint, int(rng.integers(2, 5)))
        mixed = Channel(share * noise.matrix + (1 - share) / len(noise.outputs), joint.useful)
        both = joint.p_x[:, None] * mixed.matrix
        of_y, posteriors = both.sum(axis=0), both / both.sum(axis=0)
        s_given_y = joint.s_given_x @ posteriors
        level, prior = problem.epsilon, joint.p_s[:, None]
        allowed = bool(
            ((s_given_y >= math.exp(-level) * prior) & (s_given_y <= math.exp(level) * prior)).all()
        )
        rows = posterior_rows(problem)
        read = problem.evaluate(mixed)
        said = _lectures.entropy(joint.p_x) - sum(
            p * _lectures.entropy(v) for p, v in zip(of_y.tolist(), posteriors.T, strict=True)
        )
        agree = read.feasible == allowed == bool((rows @ posteriors <= 0).all())
        return max(0.0 if agree else 1.0, float(abs(read.utility - said)))

    why = (
        "A channel is private just if every posterior P(x|y) obeys the printed inequalities, and its utility is H(X) less the "
        "mean entropy of the posteriors."
    )
    return invariant(check, setting, setting.count(100, 1000), why)


@reproduces("F-A4")
def vertex_program(setting: Setting) -> Reproduced:
    """Optima of several solvers against all vertices listed one by one."""

    def check(rng: np.random.Generator) -> float:
        joint = _lectures.random_joint(rng, int(rng.integers(2, 4)), int(rng.integers(2, 5)))
        problem = LocalInformationPrivacy(joint, epsilon=float(rng.uniform(0.1, 1.0)))
        names = ("vertices-systems", "column-generation")
        best = _program(joint, problem.epsilon)
        return max(abs(_lectures.answer(problem, name).utility - best) for name in names)

    told = []
    for epsilon in (1.0, 0.3, 2.0)[: setting.count(1, 3)]:
        problem = LocalInformationPrivacy(lecture(), epsilon=epsilon)
        values = [
            _lectures.answer(problem, name).utility for name in ("vertices-systems", "column-generation")
        ]
        if max(values) - min(values) > 2e-6:
            raise ValueError(f"the solvers differ at {epsilon}: {values}")
        told.append(f"{values[0] / _lectures.BITS:.9f} bits at {epsilon:g}")
    why = (
        "The linear program over the vertices, found by trying every choice of tight inequalities, gives the optimum of our "
        f"solvers. On the lectures' table: {', '.join(told)}."
    )
    return invariant(check, setting, setting.count(8, 100), why, 2e-6)


def _program(joint: JointDistribution, epsilon: float) -> float:
    """The optimum by the definition: every vertex by trial, then a linear program."""
    n = len(joint.useful)
    s_given_x, prior = joint.s_given_x, joint.p_s[:, None]
    rows = np.vstack(
        [s_given_x - math.exp(epsilon) * prior, math.exp(-epsilon) * prior - s_given_x, -np.eye(n)]
    )
    feasible = []
    for tight in itertools.combinations(range(len(rows)), n - 1):
        square = np.vstack([rows[list(tight)], np.ones(n)])
        if abs(np.linalg.det(square)) < 1e-12:
            continue
        v = np.linalg.solve(square, np.eye(n)[-1])
        if (rows @ v <= 1e-10).all():
            feasible.append(np.maximum(v, 0.0))
    corners = np.array(feasible)
    cost = [_lectures.entropy(v) for v in corners]
    return _lectures.entropy(joint.p_x) - _lectures.program(cost, (corners.T, joint.p_x))[0]


@reproduces("F-C3")
def alphabet(setting: Setting) -> Reproduced:
    """Releases in use by optimal channels."""

    def check(rng: np.random.Generator) -> float:
        joint = _lectures.random_joint(rng, int(rng.integers(2, 4)), int(rng.integers(2, 8)))
        problem = LocalInformationPrivacy(joint, epsilon=float(rng.uniform(0.1, 1.0)))
        used = (_lectures.answer(problem, "vertices-systems").matrix > 0).any(axis=0).sum()
        return float(used) - len(joint.useful)

    why = "A basic solution of the program, which has |X| equations, uses at most |X| vertices."
    return invariant(check, setting, setting.count(10, 150), why)


@reproduces("F-C4")
def vertex_counts(setting: Setting) -> Reproduced:
    """Numbers of vertices where the secret is X, and with two secrets."""
    counts, expected, level = [], [], 0.2
    sizes = range(4, setting.count(8, 10))
    for n in sizes:
        uniform = JointDistribution.normalised(np.eye(n, dtype=int).tolist())
        counts.append(_count(LocalInformationPrivacy(uniform, epsilon=level)))
        high = int(n * -math.expm1(-level) / (math.exp(level) - math.exp(-level)))
        expected.append(n * math.comb(n - 1, high))
    rng, few = np.random.default_rng(0), {}
    for n in (10, 20, 40):
        few[n] = _count(LocalInformationPrivacy(_lectures.random_joint(rng, 2, n), epsilon=1.0))
    doubles = all(b >= 2 * a for a, b in itertools.pairwise(counts))
    quadratic = all(count <= n + 4 * math.comb(n, 2) for n, count in few.items())
    why = (
        f"With S = X uniform at {level} nats the count at least doubles with every symbol (n times a binomial coefficient). With "
        "the number of secrets fixed it is polynomial instead: with two, at most |X| + 2 |X| (|X| - 1)."
    )
    shown = f"S = X, n = 4 to {sizes[-1]}: {', '.join(map(str, counts))}; two secrets, n = 10, 20, 40: {', '.join(map(str, few.values()))}"
    return holds(counts == expected and doubles and quadratic, shown, why)


def _count(problem: LocalInformationPrivacy) -> int:
    corners = np.concatenate(list(vertices(system(problem))))
    return len(np.unique(np.round(corners, 8), axis=0))
