"""Repair within the time of a solver: over sets of distributions one reading of the leakage may take long, and a repair many."""

from __future__ import annotations

import time
from typing import TypeVar

from privopt.core.problem import Problem
from privopt.core.solver import Budget
from privopt.mechanisms import Mechanism

M = TypeVar("M", bound=Mechanism)


def repaired_in_time(problem: Problem[M], mechanism: M, budget: Budget, readings: int) -> M | None:
    """A mechanism that keeps the budget: itself, or repaired; None where the repair is not expected to end in time.

    Parameters
    ----------
    problem : Problem
    mechanism : Mechanism
        Of this problem, whose leakage is read for the first time here.
    budget : Budget
    readings : int
        Readings of the leakage that a repair of this problem takes, about.
    """
    begun = time.monotonic()
    if problem.evaluate(mechanism).feasible:
        return mechanism
    reading = time.monotonic() - begun
    return problem.repair(mechanism, 0.0) if readings * reading < budget.remaining else None
