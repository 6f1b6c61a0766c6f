"""Laws about what the optimum looks like and what lies below and above it."""

from __future__ import annotations

import numpy as np

from privopt._dispatch import solve
from privopt.benchmarks.measurements import _redaction_instances as instances
from privopt.models import MarkovChain
from privopt.problems.redaction import Redaction
from privopt.solvers.redaction.optimal import Optimal

NOISE = 1e-9


def longer(rng: np.random.Generator) -> bool:
    """One more record at the end never lowers the expected number of hidden ones."""
    one = instances.question(rng)
    more = Redaction(one.chain, one.length + 1, one.private, one.epsilon)
    return more.length * (1 - _utility(more)) >= one.length * (1 - _utility(one)) - 10 * NOISE


def weightless(rng: np.random.Generator) -> bool:
    """A record without weight may be hidden in the optimum at no cost."""
    one = instances.question(rng)
    weights = rng.random(one.length) + 0.1
    weights[free := int(rng.integers(one.length))] = 0.0
    if not weights.any():
        return True
    problem = Redaction(one.chain, one.length, one.private, one.epsilon, weights=weights)
    found = solve(problem, Optimal(bound=False), certify=False)
    hidden = found.mechanism.probabilities.copy()
    hidden[free] = 1.0
    again = problem.evaluate(problem.answer(hidden))
    return again.feasible and abs(again.utility - (found.utility or 0.0)) <= NOISE


def falling(rng: np.random.Generator) -> bool:
    """On a persistent chain with the private record at an end, redaction falls with distance."""
    alpha, beta = rng.uniform(0.005, 0.495, 2)
    chain = MarkovChain.normalised([[1 - alpha, alpha], [beta, 1 - beta]])
    problem = Redaction(chain, int(rng.integers(2, 40)), 0, float(rng.uniform(0.05, 3.0)))
    table = solve(problem, Optimal(bound=False), certify=False).mechanism.probabilities[1:]
    return bool((np.diff(table.min(axis=1)) <= NOISE).all() and (np.diff(table.max(axis=1)) <= NOISE).all())


def constants(rng: np.random.Generator) -> bool:
    """The closed form is at most the relaxation and at most the best constant, which is at most the optimum."""
    one = instances.question(rng)
    closed, relaxed, constant = (
        solve(one, name, certify=False).utility or 0.0
        for name in ("constant-closed-form", "relaxation", "constant-search")
    )
    return closed <= min(relaxed, constant) + NOISE and constant <= _utility(one) + NOISE


def central(rng: np.random.Generator) -> bool:
    """The optimum is at most the bound over mechanisms that see all records, on up to four of them."""
    one = instances.question(rng)
    length = min(one.length, 4)
    problem = Redaction(one.chain, length, min(one.private[0], length - 1), one.epsilon)
    bound = solve(problem, "central-lp", certify=False).bound
    return bound is not None and _utility(problem) <= bound + NOISE


def _utility(problem: Redaction) -> float:
    return solve(problem, Optimal(bound=False), certify=False).utility or 0.0
