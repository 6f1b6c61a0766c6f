"""Solvers that lie, crash, hang or cheat: never an unjudged answer, never a long hang, always a reason."""

from __future__ import annotations

import itertools
import math
import os
import re
import time
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pytest

import privopt as po

LIMIT = 1.0
ENOUGH = 30.0
"""Seconds for what ends by itself: a process of its own may start slowly on a busy machine."""
LATE = 15.0
"""Seconds over the limit that a busy machine may take; how late a solver is, the benchmarks measure."""
PROBLEM = po.Redaction(po.MarkovChain([[0.75, 0.25], [0.5, 0.5]], states=("a", "b")), 5, 2, 1.0)
COUNTER = itertools.count()


@dataclass(frozen=True)
class Hostile(po.Solver[po.Redaction]):
    """Does what ``act`` says. Declares itself interruptible, which must not be believed."""

    solves: ClassVar = po.Redaction
    name: ClassVar[str] = "hostile"
    interruptible: ClassVar[bool] = True

    act: str = ""

    def guarantee(self, problem: po.Redaction) -> po.Guarantee:
        return po.Guarantee.OPTIMAL

    def cost(self, problem: po.Redaction) -> float:
        return 0.0

    def run(self, problem: po.Redaction, budget: po.Budget) -> po.Proposal:
        return ACTS[self.act](problem)


@dataclass(frozen=True)
class Hanging(Hostile):
    """Promises the optimum for nothing, and hangs."""

    act: str = "hang_in_python"


def window(problem: po.Redaction, shown: float = 0.0) -> po.RedactionMechanism:
    """A private window, with the released cells shown at redaction probability ``shown``."""
    table = np.ones((5, 2))
    table[[0, 4]] = shown
    return po.RedactionMechanism(table, problem.chain.states)


def release_all(problem: po.Redaction) -> po.RedactionMechanism:
    table = np.zeros((5, 2))
    table[2] = 1.0
    return po.RedactionMechanism(table, problem.chain.states)


def broken(values: object) -> po.RedactionMechanism:
    """A mechanism forced past its constructor."""
    mechanism = object.__new__(po.RedactionMechanism)
    object.__setattr__(mechanism, "probabilities", values)
    object.__setattr__(mechanism, "states", ("a", "b"))
    object.__setattr__(mechanism, "sequential", None)
    object.__setattr__(mechanism, "never", ())
    object.__setattr__(mechanism, "simulation_only", False)
    object.__setattr__(mechanism, "stream", None)
    return mechanism


def lie_about_utility(problem: po.Redaction) -> po.Proposal:
    return po.Proposal(window(problem), stats={"utility": 1.0, "leakage": 0.0})


def fail(problem: po.Redaction) -> po.Proposal:
    raise RuntimeError("the moon is full")


def leave(problem: po.Redaction) -> po.Proposal:
    raise SystemExit(3)


def die(problem: po.Redaction) -> po.Proposal:
    os.abort()


def hang_in_python(problem: po.Redaction) -> po.Proposal:
    while True:
        time.sleep(0.001)


def hang_in_c(problem: po.Redaction) -> po.Proposal:
    re.match(r"(a+)+$", "a" * 64 + "b")
    return po.Proposal(window(problem))


def not_a_proposal(problem: po.Redaction) -> Any:
    return 0.99


def not_a_number(problem: po.Redaction) -> po.Proposal:
    return po.Proposal(broken(np.full((5, 2), np.nan)))


def wrong_shape(problem: po.Redaction) -> po.Proposal:
    return po.Proposal(po.RedactionMechanism(np.ones((4, 2)), problem.chain.states))


def wrong_labels(problem: po.Redaction) -> po.Proposal:
    return po.Proposal(po.RedactionMechanism(np.ones((5, 2)), ("b", "a")))


def negative(problem: po.Redaction) -> po.Proposal:
    return po.Proposal(broken(np.full((5, 2), -0.5)))


def slightly_above(problem: po.Redaction) -> po.Proposal:
    best = np.ones((5, 2))
    best[1, 0], best[[0, 4]] = 0.61697513, 0.0
    best[3, 1] = 0.6
    return po.Proposal(po.RedactionMechanism(best, problem.chain.states))


def hugely_above(problem: po.Redaction) -> po.Proposal:
    return po.Proposal(po.RedactionMechanism(np.zeros((5, 2)), problem.chain.states))


def tight_bound(problem: po.Redaction) -> po.Proposal:
    return po.Proposal(window(problem), bound=0.1, dual={"kind": "trust me"})


def odd_bound(problem: po.Redaction) -> po.Proposal:
    return po.Proposal(window(problem), bound=math.nan, dual=object)


def another_answer_each_time(problem: po.Redaction) -> po.Proposal:
    seed = int.from_bytes(os.urandom(4), "little")
    return po.Proposal(window(problem, float(np.random.default_rng(seed).random())))


def chatter(problem: po.Redaction) -> po.Proposal:
    print("look at me", flush=True)
    os.write(2, b"and me\n")
    return po.Proposal(window(problem))


def change_the_input(problem: po.Redaction) -> po.Proposal:
    object.__setattr__(problem, "epsilon", 50.0)
    problem.chain.transition.setflags(write=True)
    problem.chain.transition[:] = 0.5
    return po.Proposal(release_all(problem))


def no_mechanism(problem: po.Redaction) -> po.Proposal:
    return po.Proposal()


def infeasible(problem: po.Redaction) -> po.Proposal:
    return po.Proposal(infeasible="because I say so")


ACTS = {
    f.__name__: f
    for f in (
        lie_about_utility, fail, leave, die, hang_in_python, hang_in_c, not_a_proposal, not_a_number, wrong_shape,
        wrong_labels, negative, slightly_above, hugely_above, tight_bound, odd_bound, another_answer_each_time,
        chatter, change_the_input, no_mechanism, infeasible,
    )
}  # fmt: skip

FAILURES = {
    "fail": (po.Status.FAILED, "the moon is full"),
    "leave": (po.Status.FAILED, "SystemExit"),
    "die": (po.Status.FAILED, "process of the solver died"),
    "hang_in_python": (po.Status.TIME_OUT, "deadline"),
    "hang_in_c": (po.Status.TIME_OUT, "deadline"),
    "not_a_proposal": (po.Status.FAILED, "float"),
    "not_a_number": (po.Status.FAILED, "not in [0, 1]"),
    "wrong_shape": (po.Status.FAILED, "(4, 2)"),
    "wrong_labels": (po.Status.FAILED, "states"),
    "negative": (po.Status.FAILED, "not in [0, 1]"),
    "no_mechanism": (po.Status.FAILED, "no mechanism"),
    "infeasible": (po.Status.FAILED, "no mechanism"),
}


@pytest.mark.parametrize("act", FAILURES)
def test_failures_have_a_status_and_a_reason_and_no_numbers(act: str) -> None:
    begun = time.monotonic()
    status, fragment = FAILURES[act]
    limit = LIMIT if status is po.Status.TIME_OUT else ENOUGH
    solution = po.solve(PROBLEM, Hostile(act), time_limit=limit)
    assert time.monotonic() - begun < limit + LATE
    assert solution.status is status
    assert fragment in solution.reason
    assert (solution.utility, solution.leakage, solution.objective, solution.gap) == (None,) * 4
    with pytest.raises(ValueError, match="there is no mechanism"):
        _ = solution.mechanism


@pytest.mark.parametrize("act", sorted(set(ACTS) - set(FAILURES)))
def test_whatever_is_returned_is_private_and_judged(act: str) -> None:
    solution = po.solve(PROBLEM, Hostile(act), time_limit=ENOUGH)
    assert solution.status.ok, solution.reason
    assert po.verify(PROBLEM, solution).ok
    evaluation = PROBLEM.evaluate(solution.mechanism)
    assert (solution.utility, solution.leakage) == pytest.approx(
        (evaluation.utility, evaluation.leakage), rel=1e-12
    )
    assert evaluation.leakage <= PROBLEM.epsilon


def test_a_lie_about_utility_is_only_a_statistic() -> None:
    solution = po.solve(PROBLEM, Hostile("lie_about_utility"), time_limit=ENOUGH)
    assert solution.utility == pytest.approx(0.4)


def test_slightly_above_is_repaired_and_says_what_it_cost() -> None:
    solution = po.solve(PROBLEM, Hostile("slightly_above"), time_limit=ENOUGH)
    raw, lost = float(solution.stats["raw_leakage"]), float(solution.stats["utility_lost_by_repair"])
    assert PROBLEM.epsilon < raw < PROBLEM.epsilon + 1e-4
    assert 0 < lost <= 1e-6
    assert float(solution.stats["repaired"]) > 0


def test_hugely_above_is_repaired_without_jumping_to_the_anchor() -> None:
    solution = po.solve(PROBLEM, Hostile("hugely_above"), time_limit=ENOUGH)
    assert solution.stats["raw_leakage"] == math.inf
    assert solution.utility is not None
    assert solution.utility >= 0.4


@pytest.mark.parametrize("act", ["tight_bound", "odd_bound"])
def test_a_bound_without_proof_closes_no_gap(act: str) -> None:
    solution = po.solve(PROBLEM, Hostile(act), time_limit=ENOUGH)
    assert (solution.bound, solution.gap, solution.status) == (None, None, po.Status.FEASIBLE)
    assert "claimed_bound" in solution.stats


def test_printing_and_changing_the_input_stay_in_the_child(capfd: pytest.CaptureFixture[str]) -> None:
    before = PROBLEM.fingerprint
    po.solve(PROBLEM, Hostile("chatter"), time_limit=ENOUGH)
    solution = po.solve(PROBLEM, Hostile("change_the_input"), time_limit=ENOUGH)
    assert PROBLEM.fingerprint == before
    assert PROBLEM.epsilon == 1.0
    assert solution.leakage is not None
    assert solution.leakage <= 1.0
    captured = capfd.readouterr()
    assert captured.out == ""
    assert captured.err == ""


def test_an_answer_that_changes_is_still_judged_each_time() -> None:
    utilities = {
        po.solve(PROBLEM, Hostile("another_answer_each_time"), time_limit=ENOUGH).utility for _ in range(3)
    }
    assert len(utilities) == 3


def test_solve_falls_back_when_the_best_promise_breaks(monkeypatch: pytest.MonkeyPatch) -> None:
    from privopt.core import registry as _registry

    monkeypatch.setitem(_registry._solvers, (po.Redaction, "hostile"), Hanging)
    begun = time.monotonic()
    solution = po.solve(PROBLEM, time_limit=2 * LIMIT)
    assert time.monotonic() - begun < 2 * LIMIT + LATE
    assert solution.status.ok
    assert po.verify(PROBLEM, solution).ok
    assert any(line.startswith("TIME_OUT by hostile") for line in solution.alternatives)
