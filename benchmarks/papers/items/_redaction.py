"""Random chains and the small functions that the items on local redaction share."""

from __future__ import annotations

import math

import numpy as np

from privopt.arrays import Floats
from privopt.core.dispatch import solve
from privopt.core.solver import Solver
from privopt.measures import influence, redaction_leakage
from privopt.measures.redaction.influence import BinaryChain
from privopt.models import MarkovChain
from privopt.problems.redaction.problem import Redaction

ALWAYS = (1.0, 1.0)


def chain(alpha: float, beta: float) -> MarkovChain:
    """The stationary chain that leaves 0 with probability alpha and 1 with probability beta."""
    return MarkovChain.normalised([[1 - alpha, alpha], [beta, 1 - beta]])


def rates(rng: np.random.Generator, sign: int = 0) -> tuple[float, float]:
    """Probabilities alpha <= beta with a second eigenvalue of a sign, of either sign for 0."""
    while True:
        alpha, beta = sorted(rng.uniform(0.02, 0.98, 2).tolist())
        if sign == 0 or sign * (1 - alpha - beta) > 0:
            return alpha, beta


def told(distribution: MarkovChain, distance: int) -> Floats:
    """Influence of both values at a distance."""
    return influence(distribution, 0, distance)


def largest(distribution: MarkovChain, distance: int) -> float:
    """Max-influence at a distance."""
    return float(told(distribution, distance).max())


def reach(distribution: MarkovChain, budget: float) -> int:
    """The smallest distance of at least 1 whose max-influence is within the budget."""
    binary = BinaryChain.of(distribution)
    assert binary is not None
    return binary.first_within(budget)


def one_side(distribution: MarkovChain, rows: Floats) -> float:
    """Leakage about a record of the ones that follow it, with redaction probabilities by distance and value."""
    return redaction_leakage(distribution, 0, np.vstack([ALWAYS, rows]))


def both_sides(distribution: MarkovChain, left: Floats, right: Floats) -> float:
    """Leakage about a record from both sides; rows by distance."""
    return redaction_leakage(distribution, len(left), np.vstack([left[::-1], ALWAYS, right]))


def utility(problem: Redaction, solver: str | Solver[Redaction]) -> float:
    """Utility of a solver's mechanism, which must have been proved private."""
    solution = solve(problem, solver)
    if solution.utility is None or not solution.certified:
        raise ValueError(f"{solver} on {problem!r}: {solution.status.name}, {solution.reason}")
    return solution.utility


def question(rng: np.random.Generator, sign: int = 0, longest: int = 30) -> Redaction:
    """A problem whose private record is in the first half."""
    n = int(rng.integers(4, longest + 1))
    return Redaction(
        chain(*rates(rng, sign)), n, int(rng.integers((n + 1) // 2)), float(rng.uniform(0.1, 2.5))
    )


def regions_of(distribution: MarkovChain, records: int, budget: float) -> tuple[int, int]:
    """How many records next to the private one are large, and how many after them medium, on a side."""
    large = next((d for d in range(1, records + 1) if told(distribution, d).min() <= budget), records + 1) - 1
    small = next((d for d in range(1, records + 1) if largest(distribution, d) <= budget), records + 1)
    return large, max(0, small - 1 - large)


def prefix_budgets(distribution: MarkovChain, records: int, budget: float) -> Floats:
    """What the medium records may use up together, from the first to each of them (Appendix A)."""
    large, medium = regions_of(distribution, records, budget)
    budgets = []
    for i in range(1, medium + 1):
        after = large + i + 1
        ahead = 0.0
        if after <= records:
            ahead = float(told(distribution, after).min()) if i < medium else largest(distribution, after)
        budgets.append(budget - ahead)
    return np.array(budgets)


def mechanism_side(distribution: MarkovChain, records: int, budget: float, q: Floats) -> Floats:
    """Rows of a 3R mechanism on a side: hidden, then zeros hidden with q, then released; ones are the telling value."""
    large, medium = regions_of(distribution, records, budget)
    rows = np.zeros((records, 2))
    rows[:large] = 1.0
    rows[large : large + medium, 1] = 1.0
    rows[large : large + medium, 0] = q
    return rows


def relaxed_bound(distribution: MarkovChain, records: int, budget: float, q: Floats) -> float:
    """The upper bound on the leakage of one side (Eq. (4)), with the plain influence of the first medium record."""
    if not len(q):
        return min(budget, math.inf)
    used = np.cumsum(-np.log(q))
    ahead = budget - prefix_budgets(distribution, records, budget)
    first = float(told(distribution, regions_of(distribution, records, budget)[0] + 1).min())
    return max(first, float((used + ahead).max()))
