"""What the items of the lectures on measures and on graphs share."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privopt.arrays import Floats
from privopt.benchmarks.papers.item import Setting
from privopt.core.dispatch import solve
from privopt.measures import below
from privopt.models import DatasetGraph, JointDistribution
from privopt.problems.boundary_colouring.problem import BoundaryColouring

Law = Callable[[Floats], float]
Pairs = list[tuple[int, int]]


def channel(rng: np.random.Generator, inputs: int, outputs: int) -> Floats:
    """Rows Pr(y|x), all positive."""
    rows = rng.gamma(rng.uniform(0.3, 2), size=(inputs, outputs)) + 0.01
    return np.asarray(rows / rows.sum(axis=1, keepdims=True))


def joint(rng: np.random.Generator, most: int = 5) -> Floats:
    """A positive joint distribution of at least two secrets and two releases."""
    shape = rng.integers(2, most, 2)
    cells = rng.gamma(rng.uniform(0.3, 2), size=shape) + 0.01
    return np.asarray(cells / cells.sum())


def order(rng: np.random.Generator) -> float:
    """An order above 1, often near it."""
    return float(1 + np.exp(rng.uniform(-3, 3)))


def events(outputs: int) -> NDArray[np.int64]:
    """Every event but the impossible and the sure one, a column each."""
    numbers = np.arange(1, 2**outputs - 1)
    return np.asarray(numbers[None, :] >> np.arange(outputs)[:, None] & 1)


def hamming(bits: int) -> Pairs:
    """Databases of bits that differ in one of them."""
    return [(a, a | 1 << i) for a in range(2**bits) for i in range(bits) if not a >> i & 1]


def everything(inputs: int) -> Pairs:
    """All pairs."""
    return [(a, b) for a in range(inputs) for b in range(a)]


def level_by_events(rows: Floats, pairs: Pairs) -> float:
    """The differential privacy level by its definition, over all events."""
    chances = rows @ events(rows.shape[1])
    return max(float(np.abs(np.log(chances[a] / chances[b])).max()) for a, b in pairs)


def delta_by_events(rows: Floats, epsilon: float, pairs: Pairs) -> float:
    """The smallest delta at an epsilon by its definition, over all events."""
    chances = rows @ events(rows.shape[1])
    both = [*pairs, *((b, a) for a, b in pairs)]
    return max(0.0, *(float((chances[a] - math.exp(epsilon) * chances[b]).max()) for a, b in both))


def laplace_rows(centres: range, ends: NDArray[np.int64], epsilon: float) -> Floats:
    """Distributions of a count plus Laplace noise of scale 1 / epsilon, in bins with integer ends, and the two tails."""
    distributions = []
    for centre in centres:
        z = epsilon * (ends - centre)
        near = np.minimum(np.abs(z[1:]), np.abs(z[:-1]))
        inner = 0.5 * np.exp(-near) * -np.expm1(-np.diff(z))
        distributions.append(np.concatenate([[0.5 * math.exp(z[0])], inner, [0.5 * math.exp(-z[-1])]]))
    return np.array(distributions)


def laplace_information(records: int, gap: int, epsilon: float) -> float:
    """I(X;Y) in bits, X uniform on 0, gap, ..., records and Y = X + Laplace noise, by Gauss's quadrature of h(Y)."""
    atoms = records // gap + 1
    decay = math.exp(-epsilon * gap)
    nodes, weights = _gauss()
    t = gap * (nodes + 1) / 2
    left = -np.expm1(-epsilon * gap * np.arange(1, atoms)) / (1 - decay)
    density = np.outer(left, np.exp(-epsilon * t)) + np.outer(left[::-1], np.exp(-epsilon * (gap - t)))
    density *= epsilon / (2 * atoms)
    inside = float((-density * np.log(density) @ weights).sum()) * gap / 2
    height = epsilon / (2 * atoms) * -math.expm1(-epsilon * gap * atoms) / (1 - decay)
    tails = 2 * height / epsilon * (1 - math.log(height))
    return (inside + tails - 1 - math.log(2 / epsilon)) / math.log(2)


@cache
def _gauss() -> tuple[Floats, Floats]:
    nodes, weights = np.polynomial.legendre.leggauss(160)
    return np.asarray(nodes), np.asarray(weights)


def column_lifts(table: Floats, prior: Floats, alpha: float) -> Floats:
    """Alpha-lift of each column, (sum_s P(s) lift^alpha)^(1/alpha)."""
    lifts = table / table.sum(axis=0) / prior[:, None]
    return np.asarray((prior @ lifts**alpha) ** (1 / alpha))


def best_reward(distribution: Floats, alpha: float) -> float:
    """The largest expected reward sum_s P(s) q(s)^(1 - 1/alpha) over beliefs q, by a search from the uniform one."""
    from scipy.optimize import minimize
    from scipy.special import log_softmax, logsumexp

    power = 1 - 1 / alpha

    def lost(z: Floats) -> tuple[float, Floats]:
        # The logarithm of the reward, since the reward itself is flat far from its maximum.
        belief = log_softmax(z)
        terms = np.log(distribution) + power * belief
        total = float(logsumexp(terms))
        return -total, power * (np.exp(belief) - np.exp(terms - total))

    search: Any = minimize  # its stubs know fewer calls
    optimum = search(lost, np.zeros(len(distribution)), jac=True, method="BFGS", tol=1e-8)
    return math.exp(-float(optimum.fun))


def sibson(prior: Floats, rows: Floats, alpha: float) -> float:
    """Sibson's information as printed."""
    return alpha / (alpha - 1) * math.log(float(((prior @ rows**alpha) ** (1 / alpha)).sum()))


def arimoto(prior: Floats, rows: Floats, alpha: float) -> float:
    """Arimoto's information as printed."""
    cells = prior[:, None] * rows
    seen = float(((cells**alpha).sum(axis=0) ** (1 / alpha)).sum())
    return alpha / (alpha - 1) * math.log(seen / float((prior**alpha).sum() ** (1 / alpha)))


def over_priors(measure: Callable[[Floats, Floats, float], float], rows: Floats, alpha: float) -> float:
    """The largest value over priors, by a numerical search."""
    from scipy.optimize import minimize
    from scipy.special import softmax

    def lost(z: Floats) -> float:
        return -measure(softmax(z), rows, alpha)

    search: Any = minimize  # its stubs know fewer calls
    optimum = search(lost, np.zeros(len(rows)), method="BFGS", tol=1e-12)
    return -float(optimum.fun)


def split(rows: Floats, parts: NDArray[np.int64], prior: Floats) -> Floats:
    """The joint distribution of S and Y where S is X with its symbol x split into equally likely parts[x]."""
    return np.asarray(np.repeat(rows * (prior / parts)[:, None], parts, axis=0))


def behind(rng: np.random.Generator, prior: Floats, rows: Floats) -> Floats:
    """The joint distribution of Y and a random secret of three values behind X."""
    return np.asarray((channel(rng, len(rows), 3) * prior[:, None]).T @ rows)


def distribution_of(table: Floats) -> JointDistribution:
    """A joint distribution from cells that sum to 1 up to rounding."""
    return JointDistribution.normalised(table)


LN2 = math.log(2)


def coloured(rng: np.random.Generator, most: int = 10) -> DatasetGraph:
    """A connected graph with vertices of both colours, 1 (blue) and 2 (red)."""
    n = int(rng.integers(3, most))
    tree = [(v, int(rng.integers(0, v))) for v in range(1, n)]
    more = rng.integers(0, n, (int(rng.integers(0, n)), 2)).tolist()
    colours = rng.permutation([1, 2, *rng.integers(1, 3, n - 2).tolist()])
    return DatasetGraph([*tree, *more], colours.tolist(), palette=[1, 2])


def budget(rng: np.random.Generator) -> tuple[float, float]:
    """Epsilon in nats, and delta, which is 0 half of the time."""
    return float(rng.uniform(0.1, 2)), float(rng.choice([0.0, rng.uniform(0.01, 0.2)]))


def rows(graph: DatasetGraph, epsilon: float, delta: float = 0.0) -> tuple[Floats, Floats]:
    """A and b of A p <= b: both colours in both directions of every edge, p = Pr[colour 1]."""
    coefficients, limits, growth = [], [], math.exp(epsilon)
    for edge in graph.edges().tolist():
        for u, v in (edge, edge[::-1]):
            for sign in (1.0, -1.0):
                row = np.zeros(graph.size)
                row[u], row[v] = sign, -sign * growth
                coefficients.append(row)
                limits.append(delta if sign > 0 else delta + growth - 1)
    return np.array(coefficients), np.array(limits)


def program(
    graph: DatasetGraph,
    epsilon: float,
    delta: float,
    weights: Floats,
    fixed: Mapping[int, float],
    floor: Floats | None = None,
) -> Floats | None:
    """The most accurate Pr[colour 1] with given values, and accuracies of at least a floor; None if there is none."""
    from scipy.optimize import linprog

    matrix, limits = rows(graph, epsilon, delta)
    blue = graph.codes == 0
    least = np.zeros(graph.size) if floor is None else floor
    bounds = [(f, 1.0) if b else (0.0, 1.0 - f) for f, b in zip(least.tolist(), blue.tolist(), strict=True)]
    for v, p in fixed.items():
        bounds[v] = (p, p)
    call: Any = linprog  # its stubs know fewer methods
    optimum = call(np.where(blue, -weights, weights), matrix, limits, bounds=bounds, method="highs")
    return np.asarray(optimum.x) if optimum.status == 0 else None


def private(rng: np.random.Generator, graph: DatasetGraph, epsilon: float, delta: float) -> Floats:
    """A random private mechanism: the largest one below random values."""
    drawn = dict(enumerate(rng.random(graph.size).tolist()))
    return np.array(list(below(graph, drawn, epsilon, delta).values()))


def accuracy(graph: DatasetGraph, p: Floats) -> Floats:
    """Pr[true colour] of every vertex."""
    return np.where(graph.codes == 0, p, 1 - p)


def answer(problem: BoundaryColouring, solver: str) -> Floats:
    """Pr[colour 1] of a solver's mechanism.

    Raises
    ------
    ValueError
        If it gave none.
    """
    solution = solve(problem, solver, certify=False)
    if not solution.status.ok:
        raise ValueError(f"{solver}: {solution.status.name}, {solution.reason}")
    return np.asarray(solution.mechanism.probabilities[:, 0])


def initial(error: float, i: int, epsilon: float, delta: float) -> float:
    """R_Ini as printed."""
    rise = math.exp(i * epsilon)
    return 1 - rise * (1 - error) - delta * (rise - 1) / (math.exp(epsilon) - 1)


def terminal(error: float, i: int, epsilon: float, delta: float) -> float:
    """R_Ter as printed."""
    rise = math.exp(i * epsilon)
    return error / rise - delta * (rise - 1) / (rise * (math.exp(epsilon) - 1))


def switch(error: float, epsilon: float, delta: float) -> int:
    """Tau as printed."""
    growth = math.exp(epsilon)
    below_it = (1 - error) * (growth**3 - growth) + delta * (growth**2 + growth)
    return math.ceil(math.log((growth + 2 * delta - 1) / below_it) / epsilon)


def on_line(error: float, i: int, epsilon: float, delta: float, tau: int) -> float:
    """The theorem's error at i hops from the boundary, with the switch at tau."""
    if i <= tau + 1:
        return initial(error, i, epsilon, delta)
    return terminal(initial(error, tau + 1, epsilon, delta), i - tau - 1, epsilon, delta)


def balanced(i: int, epsilon: float, delta: float) -> float:
    """The printed error of the balanced mechanism at a distance."""
    growth, rise = math.exp(epsilon), math.exp(i * epsilon)
    return (growth - 1 - delta * (rise * growth + rise - 2)) / (rise * (growth + 1) * (growth - 1))


def worst_on_lines(setting: Setting, instances: int) -> tuple[float, int, int]:
    """The corrected theorem against the solver: largest difference, and how often each clip was needed."""
    rng, most, early, negative = setting.rng(), 0.0, 0, 0
    for _ in range(instances):
        epsilon, delta = budget(rng)
        error, n = float(rng.uniform(0.01, 0.99)), int(rng.integers(2, 9))
        tau = switch(error, epsilon, delta)
        raw = [on_line(error, i, epsilon, delta, max(tau, -1)) for i in range(n)]
        early, negative = early + (tau < -1), negative + (min(raw) < -1e-12)
        problem = BoundaryColouring(DatasetGraph.line(n, 2), epsilon, delta, boundary=(1 - error, None))
        ours = 1 - answer(problem, "line")[:n][::-1]
        most = max(most, float(np.abs(np.maximum(raw, 0.0) - ours).max()))
    return most, early, negative
