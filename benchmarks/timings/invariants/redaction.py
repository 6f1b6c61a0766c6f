"""Invariants of redaction on random chains: of leakage, of the optimum, and of how mechanisms fall with distance."""

from __future__ import annotations

import math

import numpy as np

from privopt.benchmarks.papers import redactions as instances
from privopt.benchmarks.papers.redactions import all_at_once
from privopt.benchmarks.timings.measurement import Check, register_invariants
from privopt.core.dispatch import candidates, solve
from privopt.measures import redaction_leakage
from privopt.models import MarkovChain
from privopt.problems.redaction.problem import Redaction
from privopt.solvers.redaction.optimal import Optimal

NOISE = 1e-9
"""What rounding may explain, in nats or in utility."""
SLOW_SOLVERS = ("oracle", "central-lp", "joint-search")


def _enumerated(rng: np.random.Generator) -> bool:
    k = int(rng.integers(2, 4))
    length = int(rng.integers(1, 6))
    chain, private = instances.any_chain(rng, k, length), int(rng.integers(length))
    table = instances.table(rng, length, k, private)
    table[private] = 1.0 if rng.random() < 0.9 else table[private] / 2
    return _close(redaction_leakage(chain, private, table), all_at_once(chain, private, table))


def _raised(rng: np.random.Generator) -> bool:
    k, length = int(rng.integers(2, 4)), int(rng.integers(2, 30))
    chain, private = instances.any_chain(rng, k, length), int(rng.integers(length))
    table = instances.table(rng, length, k, private)
    higher = np.where(rng.random(table.shape) < 0.3, table + (1 - table) * rng.random(table.shape), table)
    before, after = (redaction_leakage(chain, private, r) for r in (table, higher))
    return after <= before + NOISE * max(1.0, before)


def _mirrored(rng: np.random.Generator) -> bool:
    one = instances.random_problem(rng)
    (p,) = one.private
    return _alike(one, Redaction(one.chain, one.length, one.length - 1 - p, one.epsilon))


def _exchanged(rng: np.random.Generator) -> bool:
    one = instances.random_problem(rng)
    swapped = MarkovChain.normalised(one.chain.transition[::-1, ::-1])
    return _alike(one, Redaction(swapped, one.length, one.private, one.epsilon))


def _budgets(rng: np.random.Generator) -> bool:
    one = instances.random_problem(rng)
    return _best(one.with_budget(one.epsilon * (1 + rng.random()))) >= _best(one) - NOISE


def _windows(rng: np.random.Generator) -> bool:
    return _at_most(instances.random_problem(rng), "windows")


def _relaxation(rng: np.random.Generator) -> bool:
    return _at_most(instances.random_problem(rng), "relaxation")


def _bounded(rng: np.random.Generator) -> bool:
    solution = solve(instances.random_problem(rng), "optimal", time_limit=5.0)
    return solution.bound is not None and solution.utility is not None and solution.bound >= solution.utility


def _certified(rng: np.random.Generator) -> bool:
    problem = instances.random_problem(rng)
    names = [c.name for c in candidates(problem) if not c.refusal and c.name not in SLOW_SOLVERS]
    solution = solve(problem, names[int(rng.integers(len(names)))], time_limit=5.0)
    return (
        solution.certified
        and solution.leakage is not None
        and solution.leakage <= problem.epsilon * (1 + 1e-12)
    )


def _best(problem: Redaction) -> float:
    return solve(problem, Optimal(bound=False), certify=False).utility or 0.0


def _alike(one: Redaction, other: Redaction) -> bool:
    return abs(_best(one) - _best(other)) <= NOISE


def _at_most(problem: Redaction, solver: str) -> bool:
    return (solve(problem, solver, certify=False).utility or 0.0) <= _best(problem) + NOISE


def _close(one: float, other: float) -> bool:
    return one == other if math.inf in (one, other) else abs(one - other) <= NOISE * max(1.0, one)


def longer(rng: np.random.Generator) -> bool:
    """One more record at the end never lowers the expected number of hidden ones."""
    one = instances.random_problem(rng)
    more = Redaction(one.chain, one.length + 1, one.private, one.epsilon)
    return more.length * (1 - _utility(more)) >= one.length * (1 - _utility(one)) - 10 * NOISE


def weightless(rng: np.random.Generator) -> bool:
    """A record without weight may be hidden in the optimum at no cost."""
    one = instances.random_problem(rng)
    weights = rng.random(one.length) + 0.1
    weights[free := int(rng.integers(one.length))] = 0.0
    if not weights.any():
        return True
    problem = Redaction(one.chain, one.length, one.private, one.epsilon, weights=weights)
    solution = solve(problem, Optimal(bound=False), certify=False)
    hidden = solution.mechanism.probabilities.copy()
    hidden[free] = 1.0
    again = problem.evaluate(problem.answer(hidden))
    return again.feasible and abs(again.utility - (solution.utility or 0.0)) <= NOISE


def falling(rng: np.random.Generator) -> bool:
    """On a persistent chain with the private record at an end, redaction falls with distance."""
    alpha, beta = rng.uniform(0.005, 0.495, 2)
    chain = MarkovChain.normalised([[1 - alpha, alpha], [beta, 1 - beta]])
    problem = Redaction(chain, int(rng.integers(2, 40)), 0, float(rng.uniform(0.05, 3.0)))
    table = solve(problem, Optimal(bound=False), certify=False).mechanism.probabilities[1:]
    return bool((np.diff(table.min(axis=1)) <= NOISE).all() and (np.diff(table.max(axis=1)) <= NOISE).all())


def constants(rng: np.random.Generator) -> bool:
    """The closed form is at most the relaxation and at most the best constant, which is at most the optimum."""
    one = instances.random_problem(rng)
    closed, relaxed, constant = (
        solve(one, name, certify=False).utility or 0.0
        for name in ("constant-closed-form", "relaxation", "constant-search")
    )
    return closed <= min(relaxed, constant) + NOISE and constant <= _utility(one) + NOISE


def central(rng: np.random.Generator) -> bool:
    """The optimum is at most the bound over mechanisms that see all records, on up to four of them."""
    one = instances.random_problem(rng)
    length = min(one.length, 4)
    problem = Redaction(one.chain, length, min(one.private[0], length - 1), one.epsilon)
    bound = solve(problem, "central-lp", certify=False).bound
    return bound is not None and _utility(problem) <= bound + NOISE


def _utility(problem: Redaction) -> float:
    return solve(problem, Optimal(bound=False), certify=False).utility or 0.0


INVARIANTS: dict[str, Check] = {
    "leakage by recursion = by enumeration": _enumerated,
    "hiding more never leaks more": _raised,
    "reversing the records changes nothing": _mirrored,
    "exchanging the labels changes nothing": _exchanged,
    "a larger budget is never less useful": _budgets,
    "a window ≤ the optimum": _windows,
    "the relaxation ≤ the optimum": _relaxation,
    "the closed form ≤ relaxation, constant ≤ optimum": constants,
    "the optimum ≤ its checked bound": _bounded,
    "the optimum ≤ the bound over all mechanisms": central,
    "a longer chain never hides less": longer,
    "a weightless record is hidden for free": weightless,
    "redaction falls with distance": falling,
    "every mechanism is certified": _certified,
}

register_invariants(
    "redaction-laws",
    "Invariants of leakage and of the optimum on random instances; violations counted",
    INVARIANTS,
    few=50,
    many=2000,
)
