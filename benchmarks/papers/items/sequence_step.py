"""One step: Theorem 4 of the paper, its key insights and its proof.

Source: Jiang, Li, Tandon, "Online Context-aware Data Release with Sequence Information Privacy", Theorem 4, Appendix G.
"""

from __future__ import annotations

import math

import numpy as np

from privopt.arrays import Floats
from privopt.benchmarks.papers.item import Reproduced, Setting, reproduces
from privopt.benchmarks.papers.items._sequence import listed, verdict
from privopt.benchmarks.papers.sequences import cheapest, leakages, optimum, printed, walk
from privopt.mechanisms.policy.hamming import HammingKernel

HAMMING = 1.0 - np.eye(2)
SKEWED = np.array([[0.9, 0.1]])


def ratio(belief: Floats, epsilon: float) -> float:
    """The largest ratio of the printed kernel at a belief (1, n)."""
    return float(np.exp(leakages(belief, printed(epsilon)(belief))[0]))


def error(belief: Floats, kernel: Floats) -> float:
    """Pr(Y != X) of one kernel, shape (n, n)."""
    return 1.0 - float(belief @ np.diag(kernel))


def heavy(rng: np.random.Generator, epsilon: float) -> Floats:
    """A random belief whose letters all weigh 1 / (e^epsilon + 1) or more."""
    theta = 1 / (math.exp(epsilon) + 1)
    n = int(rng.integers(2, max(3, min(6, math.floor(1 / theta)))))
    return np.asarray(theta + (1 - n * theta) * rng.dirichlet(np.ones(n)))


def metric(rng: np.random.Generator, n: int) -> Floats:
    """Distances between random points of the plane."""
    points = rng.random((n, 2))
    return np.asarray(np.linalg.norm(points[:, None] - points[None], axis=2))


def optimal_gap(rng: np.random.Generator) -> float:
    """How far the printed kernel is from a linear program's optimum, where it is private, on a random metric."""
    epsilon = float(rng.uniform(0.8, 2.5))
    belief = heavy(rng, epsilon)
    cost = metric(rng, len(belief))
    both = (f(belief[None, :])[0] for f in (printed(epsilon), cheapest(epsilon, cost)))
    values = [float((belief[:, None] * kernel * cost).sum()) for kernel in both]
    return abs(values[0] - values[1])


@reproduces("S-TH4")
def theorem_4(setting: Setting) -> Reproduced:
    """Infeasible and, where it is private, optimal."""
    rng = np.random.default_rng(4)
    gap = max(optimal_gap(rng) for _ in range(20 if setting.quick else 400))
    far = ratio(SKEWED, math.log(2))
    half = math.log(1.5)
    worse = error(SKEWED[0], printed(half)(SKEWED)[0])
    best = HammingKernel(SKEWED[0], half).error
    shown = f"ratio {listed([far])} at belief (.9, .1), e^ε = 2; error {listed([worse])} against {listed([best])} at e^ε = 1.5"
    why = (
        "It is private only where every possible letter has belief 1 / (e^ε + 1) or more; there it is optimal "
        f"for every metric (largest difference from a linear program {gap:.1g})."
    )
    return Reproduced(shown, verdict(far <= 2 and worse <= best), why)


@reproduces("S-TH4b")
def display(setting: Setting) -> Reproduced:
    """The display has β(x) where β(y) is meant."""
    belief, low = np.array([0.6, 0.4]), math.exp(-1)
    rows = [1 - (1 - b) * low + (len(belief) - 1) * b * low for b in belief]
    off = max(abs(row - 1) for row in rows) > 1e-12
    why = "Rows with β(x)/e^ε off the diagonal do not sum to 1; Algorithm 1 and Appendix D have β(y)/e^ε."
    return Reproduced(f"rows sum to {listed(rows)} at belief (.6, .4), ε = 1", verdict(not off), why)


@reproduces("S-K1")
def boundary(setting: Setting) -> Reproduced:
    """Off the diagonal the lower bound is tight."""
    rng, worst, slack = np.random.default_rng(1), 0.0, 0.0
    for _ in range(50 if setting.quick else 500):
        epsilon = float(rng.uniform(0.8, 2.5))
        belief = heavy(rng, epsilon)
        ratios = printed(epsilon)(belief[None, :])[0] / belief
        apart = ratios[~np.eye(len(belief), dtype=bool)]
        worst = max(worst, float(np.abs(apart - math.exp(-epsilon)).max()))
        slack = max(slack, float((math.exp(epsilon) - np.diag(ratios)).max()))
    why = "Every ratio off the diagonal equals e^-ε; on the diagonal the upper bound has room unless β = 1 / (e^ε + 1)."
    return Reproduced(
        f"off the diagonal within {worst:.1g}; room above up to {listed([slack])}",
        verdict(worst < 1e-12),
        why,
    )


@reproduces("S-K2")
def marginal(setting: Setting) -> Reproduced:
    """The optimum need not keep the marginal."""
    belief = np.array([0.85, 0.15])
    releases = HammingKernel(belief, 1.0).marginal
    kept = float(np.abs(belief @ printed(1.0)(belief[None, :])[0] - belief).max())
    why = (
        f"The printed kernel keeps the marginal (within {kept:.1g}); where it is not private the optimum does not: here it "
        "releases one letter always."
    )
    return Reproduced(
        f"releases of the optimum have distribution {listed(releases)} at belief (.85, .15), ε = 1",
        verdict(bool(np.allclose(releases, belief))),
        why,
    )


@reproduces("S-EQ62")
def range_of_entries(setting: Setting) -> Reproduced:
    """The claimed range is wider than the constraint allows."""
    epsilon, beta = math.log(2), 0.1
    entry = 1 - (1 - beta) / math.exp(epsilon)
    most = math.exp(epsilon) * beta
    why = "With output distribution β an entry is at most e^ε β: the upper end of the range breaks that unless β ≥ 1 / (e^ε + 1)."
    return Reproduced(
        f"upper end {listed([entry])} at β = .1, e^ε = 2; the constraint allows {listed([most])}",
        verdict(entry <= most),
        why,
    )


@reproduces("S-KKT")
def multipliers(setting: Setting) -> Reproduced:
    """Complementary slackness fails."""
    epsilon, belief = 1.0, np.array([0.6, 0.4])
    e, b = math.exp(epsilon), float(belief[0])
    multiplier = (e - 1) * (e - 1 + 2 * b) / (b * (1 - belief[1]) * e)
    slack = e - (1 - (1 - b) / e) / b
    why = (
        "The printed multiplier of the upper bound on a diagonal entry is positive although the bound is not met: their "
        "product must be 0. Prices that do prove the theorem, where it is private: e^-ε / (1 - e^-ε) Σ β(y) D(x, y)."
    )
    shown = f"multiplier {listed([multiplier])}, room {listed([slack])} at belief (.6, .4), ε = 1, D = 1"
    return Reproduced(shown, verdict(multiplier * slack < 1e-12), why)


@reproduces("S-A1")
def algorithm_1(setting: Setting) -> Reproduced:
    """Real leakage of Algorithm 1 along a chain."""
    walked = walk(np.array([0.1, 0.9]), np.array([[0.9, 0.1], [0.1, 0.9]]), printed(1.0), HAMMING, 12)
    best = walk(np.array([0.1, 0.9]), np.array([[0.9, 0.1], [0.1, 0.9]]), optimum(1.0), HAMMING, 12)
    why = f"Beliefs leave the range where the kernel is private; the optimum at ε = 1 leaks {listed([best.worst])} and errs {listed([best.cost])}."
    shown = f"leaks {listed([walked.worst])} in a step, errs {listed([walked.cost])} (12 steps, P₁ = .9, q = .9, ε = 1)"
    return Reproduced(shown, verdict(walked.worst <= 1 + 1e-9), why)


def _products(n: int) -> int:
    """Multiplications of one belief update on a chain whose transitions are all positive."""
    transition = np.full((n, n), 1 / n)
    return n + int(np.count_nonzero(transition))


@reproduces("S-C1")
def step_cost(setting: Setting) -> Reproduced:
    """Operation counts of a belief update."""
    sizes = (10, 100, 1000)
    counts = [_products(n) for n in sizes]
    slope = math.log(counts[-1] / counts[-2]) / math.log(10)
    why = "The next belief is a vector times the matrix of transitions: n² products unless the matrix is sparse; only the release itself is O(n)."
    shown = f"{', '.join(map(str, counts))} products at n = 10, 100, 1000: growth like n^{slope:.2f}"
    return Reproduced(shown, verdict(slope < 1.5), why)


@reproduces("S-T1")
def table_1(setting: Setting) -> Reproduced:
    """The entry of the paper's own method."""
    outcome = step_cost(setting)
    return Reproduced(
        outcome.ours,
        outcome.finding,
        "Of the table only the paper's own entry, O(n) a step, is ours to check: the update of the belief is O(n²).",
    )


@reproduces("S-UTL")
def utilities(setting: Setting) -> Reproduced:
    """Both utilities are cost matrices; squared error breaks Theorem 4."""
    belief, points = np.full(3, 1 / 3), np.array([0.0, 1.0, 10.0])
    cost = (points[:, None] - points) ** 2
    values = [
        float((belief[:, None] * f(belief[None, :])[0] * cost).sum())
        for f in (printed(math.log(2)), cheapest(math.log(2), cost))
    ]
    why = "Both are cost matrices; squared error is no metric, so that the printed kernel need not be optimal: here it is private and costs more."
    return Reproduced(
        f"{listed(values, 6)} (printed kernel, optimum) for points 0, 1, 10, uniform, ε = ln 2",
        verdict(values[1] <= values[0] + 1e-9),
        why,
    )
