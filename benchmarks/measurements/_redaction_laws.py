"""Laws of redaction on random instances; what is reported is how often each was violated.

Source of the setting: Massny, Bitar, Ye, El Rouayheb, "Between Close Enough to Reveal and Far Enough to Protect".
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from privopt._dispatch import candidates, solve
from privopt.benchmarks._measurements import Timing
from privopt.benchmarks.measurements import _redaction_instances as instances
from privopt.benchmarks.measurements import _redaction_shape_laws as shape
from privopt.benchmarks.measurements._laws import Law, tried
from privopt.benchmarks.measurements._redaction_outputs import all_at_once
from privopt.measures import redaction_leakage
from privopt.models import MarkovChain
from privopt.problems.redaction import Redaction
from privopt.solvers.redaction.optimal import Optimal

NOISE = 1e-9
"""What rounding may explain, in nats or in utility."""
SLOW_SOLVERS = ("oracle", "central-lp", "joint-search")


def run(count: int) -> Iterator[Timing]:
    """Every law on ``count`` instances of its own."""
    return tried(LAWS, count)


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
    one = instances.question(rng)
    (p,) = one.private
    return _alike(one, Redaction(one.chain, one.length, one.length - 1 - p, one.epsilon))


def _exchanged(rng: np.random.Generator) -> bool:
    one = instances.question(rng)
    swapped = MarkovChain.normalised(one.chain.transition[::-1, ::-1])
    return _alike(one, Redaction(swapped, one.length, one.private, one.epsilon))


def _budgets(rng: np.random.Generator) -> bool:
    one = instances.question(rng)
    return _best(one.with_budget(one.epsilon * (1 + rng.random()))) >= _best(one) - NOISE


def _windows(rng: np.random.Generator) -> bool:
    return _at_most(instances.question(rng), "windows")


def _relaxation(rng: np.random.Generator) -> bool:
    return _at_most(instances.question(rng), "relaxation")


def _bounded(rng: np.random.Generator) -> bool:
    found = solve(instances.question(rng), "optimal", time_limit=5.0)
    return found.bound is not None and found.utility is not None and found.bound >= found.utility


def _certified(rng: np.random.Generator) -> bool:
    problem = instances.question(rng)
    names = [c.name for c in candidates(problem) if not c.refusal and c.name not in SLOW_SOLVERS]
    found = solve(problem, names[int(rng.integers(len(names)))], time_limit=5.0)
    return found.certified and found.leakage is not None and found.leakage <= problem.epsilon * (1 + 1e-12)


def _best(problem: Redaction) -> float:
    return solve(problem, Optimal(bound=False), certify=False).utility or 0.0


def _alike(one: Redaction, other: Redaction) -> bool:
    return abs(_best(one) - _best(other)) <= NOISE


def _at_most(problem: Redaction, solver: str) -> bool:
    return (solve(problem, solver, certify=False).utility or 0.0) <= _best(problem) + NOISE


def _close(one: float, other: float) -> bool:
    return one == other if math.inf in (one, other) else abs(one - other) <= NOISE * max(1.0, one)


LAWS: dict[str, Law] = {
    "leakage by recursion = by enumeration": _enumerated,
    "hiding more never leaks more": _raised,
    "reversing the records changes nothing": _mirrored,
    "exchanging the labels changes nothing": _exchanged,
    "a larger budget is never less useful": _budgets,
    "a window ≤ the optimum": _windows,
    "the relaxation ≤ the optimum": _relaxation,
    "the closed form ≤ relaxation, constant ≤ optimum": shape.constants,
    "the optimum ≤ its checked bound": _bounded,
    "the optimum ≤ the bound over all mechanisms": shape.central,
    "a longer chain never hides less": shape.longer,
    "a weightless record is hidden for free": shape.weightless,
    "redaction falls with distance": shape.falling,
    "every mechanism is certified": _certified,
}
