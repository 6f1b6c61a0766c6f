"""Invariants of local information privacy on random joint distributions."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from privopt.arrays import Floats
from privopt.benchmarks.timings.measurement import Check, register_invariants
from privopt.core.dispatch import candidates, solve
from privopt.core.exact import exp_at_least
from privopt.core.solution import Solution, Status
from privopt.mechanisms import Channel
from privopt.models import JointDistribution, ObservedJoint
from privopt.models.channel_data import Release
from privopt.problems.local_information_privacy.problem import LocalInformationPrivacy
from privopt.solvers.local_information_privacy.subset_merging import SubsetMerging
from privopt.solvers.local_information_privacy.watchdog import WatchdogMerge
from privopt.solvers.local_information_privacy.watchdog_boosting import WatchdogBoosting

ZERO = Fraction(0)
Cells = list[list[Fraction]]


def keeps(problem: LocalInformationPrivacy, release: Release) -> bool:
    """Whether every pair (s, y) keeps the bounds, but for probability delta."""
    cells = _joint(problem, release)
    rows = [sum(row, ZERO) for row in cells]
    whole, mass, broken = sum(rows, ZERO), ZERO, False
    for y in range(len(cells[0])):
        column = [row[y] for row in cells]
        if sum(column, ZERO):
            for s, cell in enumerate(column):
                if _breaks(problem, column, rows, whole, s):
                    broken, mass = True, mass + cell
    return not broken if problem.delta == 0 else mass <= Fraction(problem.delta) * whole


def _joint(problem: LocalInformationPrivacy, release: Release) -> Cells:
    """Weights of (s, y), secrets of probability 0 left out."""
    joint = problem.observation.leaking
    n, weights = len(joint.useful), joint.exact.weights
    table = [weights[i : i + n] for i in range(0, len(weights), n)]
    channel = [[row.fraction(y) for y in range(len(row.weights))] for row in release.exact()]
    outputs = range(len(channel[0]))
    return [
        [sum((w * q[y] for w, q in zip(row, channel, strict=True)), ZERO) for y in outputs]
        for row in table
        if sum(row)
    ]


def _breaks(
    problem: LocalInformationPrivacy, column: list[Fraction], rows: list[Fraction], whole: Fraction, s: int
) -> bool:
    if problem.notion == "ldp":
        pairs = zip(column, rows, strict=True)
        return not all(_at_most(problem.budget, column[s] * other, cell * rows[s]) for cell, other in pairs)
    up, down = column[s] * whole, rows[s] * sum(column, ZERO)
    return not (_at_most(problem.upper, up, down) and _at_most(problem.lower, down, up))


def _at_most(level: float, up: Fraction, down: Fraction) -> bool:
    """Whether up <= e^level down, proved."""
    scale = up.denominator * down.denominator
    return exp_at_least(level, int(up * scale), int(down * scale)) is True


def joint(rng: np.random.Generator, largest: int = 6) -> JointDistribution:
    """Two to four secrets and 2 to ``largest`` symbols: any distribution, counts with zeros, or nearly independent."""
    shape = int(rng.integers(2, 5)), int(rng.integers(2, largest + 1))
    kind = int(rng.integers(3))
    if kind == 0:
        return JointDistribution.normalised(rng.dirichlet(np.ones(shape[0] * shape[1])).reshape(shape))
    if kind == 1:
        counts = rng.integers(0, 6, shape)
        counts[0] += 1
        return JointDistribution.normalised(counts)
    near = np.outer(rng.dirichlet(np.ones(shape[0])), rng.dirichlet(np.ones(shape[1])))
    return JointDistribution.normalised(near * (1 + 0.1 * rng.random(shape)))


def budget(rng: np.random.Generator) -> float:
    """0, 1e-6, or log-uniform from there to 5 nats, mostly above 0.05."""
    kind = rng.random()
    if kind < 0.1:
        return 0.0
    if kind < 0.15:
        return 1e-6
    low = 1e-6 if kind < 0.25 else 0.05
    return float(math.exp(rng.uniform(math.log(low), math.log(5.0))))


def random_problem(rng: np.random.Generator, *, delta: bool = False) -> LocalInformationPrivacy:
    """Both sides, one side, two levels, or LDP; with ``delta`` sometimes a probability of violations."""
    distribution, level, kind = joint(rng), budget(rng), int(rng.integers(6))
    allowed = float(rng.uniform(0.0, 0.1)) if delta and rng.random() < 0.3 else 0.0
    if kind == 0:
        return LocalInformationPrivacy(distribution, upper=level, delta=allowed)
    if kind == 1:
        return LocalInformationPrivacy(distribution, lower=level, delta=allowed)
    if kind == 2:
        return LocalInformationPrivacy(distribution, lower=level, upper=budget(rng), delta=allowed)
    if kind == 3:
        return LocalInformationPrivacy(distribution, epsilon=level, notion="ldp")
    return LocalInformationPrivacy(distribution, epsilon=level, delta=allowed)


def with_joint(problem: LocalInformationPrivacy, distribution: JointDistribution) -> LocalInformationPrivacy:
    """The same problem about another distribution."""
    return LocalInformationPrivacy(
        distribution, lower=problem.lower, upper=problem.upper, delta=problem.delta, notion=problem.notion
    )


def stochastic(rng: np.random.Generator, inputs: int) -> Floats:
    """A random channel to 1 to 6 outputs, some entries 0."""
    channel = rng.dirichlet(np.full(int(rng.integers(1, 7)), 0.7), size=inputs)
    channel[rng.random(channel.shape) < 0.1] = 0.0
    channel[channel.sum(axis=1) == 0, 0] = 1.0
    return np.asarray(channel / channel.sum(axis=1, keepdims=True))


def shuffled(rng: np.random.Generator, distribution: JointDistribution) -> JointDistribution:
    """The same distribution with secrets and symbols in another order."""
    weights = np.array(distribution.exact.weights, dtype=object).reshape(distribution.table.shape)
    rows, columns = (rng.permutation(k) for k in distribution.table.shape)
    return JointDistribution.normalised(weights[rows][:, columns])


def processed(problem: LocalInformationPrivacy, rng: np.random.Generator) -> tuple[Channel, Channel]:
    """A random channel of the problem's symbols, and the same followed by another."""
    first = stochastic(rng, len(problem.observation.observed))
    return problem.answer(first), problem.answer(first @ stochastic(rng, first.shape[1]))


NOISE = 1e-9
"""What rounding may explain, in nats."""
GAP = 1e-6
"""How far an answer that counts as optimal may be from the optimum."""
SECONDS = 5.0


def _private(rng: np.random.Generator) -> bool:
    """A solver drawn among those that take the problem."""
    problem = random_problem(rng, delta=True)
    names = [c.name for c in candidates(problem) if c.refusal is None and (c.seconds or 0.0) < 1.0]
    solution = solve(problem, names[int(rng.integers(len(names)))], time_limit=SECONDS)
    if not solution.status.ok:
        return solution.status in (Status.NOT_PRIVATE, Status.TIME_OUT)
    return solution.certified and keeps(problem, solution.mechanism)


def _bounded(rng: np.random.Generator) -> bool:
    problem = random_problem(rng)
    names = [c.name for c in candidates(problem) if c.refusal is None and (c.seconds or 0.0) < 1.0]
    chosen = rng.choice(names, size=min(2, len(names)), replace=False).tolist()
    solutions = [solve(problem, name, time_limit=SECONDS) for name in [*chosen, None]]
    best = max(_utility(s) for s in solutions)
    return all(s.bound is None or s.bound >= best - NOISE for s in solutions)


def _budgets(rng: np.random.Generator) -> bool:
    problem = random_problem(rng)
    return _grows(problem, problem.with_budget(problem.budget * (1 + rng.random())))


def _deltas(rng: np.random.Generator) -> bool:
    distribution, level = joint(rng), budget(rng)
    problem = LocalInformationPrivacy(distribution, epsilon=level, delta=float(rng.uniform(1e-3, 0.2)))
    without = solve(LocalInformationPrivacy(distribution, epsilon=level), SubsetMerging())
    return _utility(solve(problem, WatchdogBoosting())) >= _utility(without) - NOISE


def _grows(one: LocalInformationPrivacy, other: LocalInformationPrivacy) -> bool:
    """The optimum and the best blocks of ``other`` are at least those of ``one``."""
    blocks = [_utility(solve(p, SubsetMerging())) for p in (one, other)]
    return blocks[1] >= blocks[0] - NOISE and _at_least(solve(other), solve(one))


def _at_least(high: Solution[Release], low: Solution[Release]) -> bool:
    """Whether the first optimum is at least the second, as far as both are known."""
    reached = high.bound if high.status is not Status.OPTIMAL else _utility(high)
    return reached is None or reached >= _utility(low) - GAP


def _relabelled(rng: np.random.Generator) -> bool:
    one = random_problem(rng)
    if isinstance(one.joint, JointDistribution):
        other = with_joint(one, shuffled(rng, one.joint))
        blocks = [_utility(solve(p, SubsetMerging())) for p in (one, other)]
        a, b = solve(one), solve(other)
        return abs(blocks[0] - blocks[1]) <= NOISE and _at_least(a, b) and _at_least(b, a)
    return True


def _full_data(rng: np.random.Generator) -> bool:
    distribution, level = joint(rng, largest=4), budget(rng)
    whole = LocalInformationPrivacy(ObservedJoint.full_data(distribution), epsilon=level)
    return _at_least(solve(whole), solve(LocalInformationPrivacy(distribution, epsilon=level)))


def _processed(rng: np.random.Generator) -> bool:
    problem = random_problem(rng)
    before, after = (problem.evaluate(channel) for channel in processed(problem, rng))
    less = after.leakage <= before.leakage + NOISE * max(1.0, before.leakage)
    return less and after.utility <= before.utility + NOISE


def _ordered(rng: np.random.Generator) -> bool:
    """Watchdog <= best blocks <= optimum."""
    problem = random_problem(rng)
    blocks = solve(problem, SubsetMerging())
    merged = solve(problem, WatchdogMerge(absorb=True))
    return _utility(merged) <= _utility(blocks) + NOISE and _at_least(solve(problem), blocks)


def _utility(solution: Solution[Release]) -> float:
    return 0.0 if solution.utility is None else solution.utility


INVARIANTS: dict[str, Check] = {
    "no mechanism exceeds its budget, in integers": _private,
    "no answer is above a checked bound": _bounded,
    "a larger budget never costs utility": _budgets,
    "delta never costs utility": _deltas,
    "other labels change nothing": _relabelled,
    "full data is never worse than output perturbation": _full_data,
    "post-processing never leaks nor reveals more": _processed,
    "watchdog <= best blocks <= optimum": _ordered,
}

register_invariants(
    "lip-laws",
    "Invariants of local information privacy on random instances; violations counted",
    INVARIANTS,
    few=10,
    many=2000,
)
