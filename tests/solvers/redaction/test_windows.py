"""Windows around several private records that are next to each other."""

from __future__ import annotations

import math
import time

import numpy as np
import pytest

import privopt as po
from privopt.core.solver import Budget
from privopt.solvers.redaction.windows import Windows

LENGTH, PRIVATE = 24, (3, 4, 5, 6, 15, 16, 17)


def problem(seed: int, private: tuple[int, ...] = PRIVATE, epsilon: float = 1.5) -> po.Redaction:
    """A chain of three states whose matrix changes with time."""
    rng = np.random.default_rng(seed)
    steps = [0.6 * np.eye(3) + 0.4 * rng.dirichlet(np.ones(3), 3) for _ in range(LENGTH - 1)]
    return po.Redaction(po.MarkovChain.normalised(steps, initial=[0.2, 0.3, 0.5]), LENGTH, private, epsilon)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("epsilon", [0.5, 1.5])
def test_no_worse_than_the_union_of_the_windows_of_each(seed: int, epsilon: float) -> None:
    there = problem(seed, epsilon=epsilon)
    hidden = np.zeros((LENGTH, 3))
    for p in PRIVATE:
        alone = po.solve(problem(seed, (p,), epsilon), "windows").mechanism
        hidden = np.maximum(hidden, alone.probabilities)
    solution = po.solve(there, "windows")
    assert solution.certified
    assert solution.utility is not None
    assert solution.utility >= there.evaluate(po.RedactionMechanism(hidden)).utility - 1e-12


def test_without_time_for_each_record_there_is_a_window_around_all(monkeypatch: pytest.MonkeyPatch) -> None:
    """The clock ends after the walks around runs of records: what is proposed hides no more than those need."""
    there = problem(1)
    begun = Windows().run(there, Budget(deadline=math.inf)).mechanism
    assert begun is not None
    walks: list[int] = []
    possible = po.Redaction.possible_values

    def counted(asked: po.Redaction, record: int) -> object:
        walks.append(record)
        return possible(asked, record)

    monkeypatch.setattr(po.Redaction, "possible_values", counted)
    monkeypatch.setattr(time, "monotonic", lambda: 0.0 if len(walks) <= 4 else 2.0)
    cut = Windows().run(there, Budget(deadline=1.0)).mechanism
    assert cut is not None
    reading = there.evaluate(there.check(cut))
    assert reading.feasible
    assert 0.0 < reading.utility <= there.evaluate(there.check(begun)).utility
