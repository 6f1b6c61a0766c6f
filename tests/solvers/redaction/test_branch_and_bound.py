"""Branch and bound as a solver: several private records, three states, the sequential form; and parts for listed records."""

from __future__ import annotations

import time

import pytest

import privopt as po
from privopt.benchmarks.suites.redaction import random_chain
from privopt.core.registry import find_solver

THREE = po.MarkovChain([[0.5, 0.3, 0.2], [0.1, 0.7, 0.2], [0.3, 0.3, 0.4]])
MIXED = random_chain(12, 3)
SLOW = po.MarkovChain([[0.9, 0.1], [0.2, 0.8]])
QUICK = po.MarkovChain([[0.75, 0.25], [0.5, 0.5]])


@pytest.mark.parametrize(
    "problem",
    [
        po.Redaction(MIXED, 12, 6, 1.0),
        po.Redaction(QUICK, 40, (18, 22), 1.0),
        po.Redaction(THREE, 5, 2, 1.0, form="sequential"),
    ],
    ids=["three-states", "two-private", "sequential"],
)
def test_answers_are_certified_and_their_bounds_checked(problem: po.Redaction) -> None:
    solution = po.solve(problem, "branch-and-bound", time_limit=20.0)
    assert solution.certified
    assert solution.utility is not None
    assert solution.bound is not None
    assert solution.utility <= solution.bound
    assert solution.gap is not None
    assert solution.gap <= 0.01
    assert po.verify(problem, solution).ok


def test_the_bound_is_that_of_the_control_problem_for_one_binary_record() -> None:
    problem = po.Redaction(QUICK, 8, 3, 0.3)
    other = po.solve(problem, "optimal")
    solution = po.solve(problem, "branch-and-bound", time_limit=20.0)
    assert solution.utility == pytest.approx(other.utility, abs=1e-6)
    assert solution.bound == pytest.approx(other.bound, abs=1e-3)


def test_no_box_is_searched_once_the_time_is_spent() -> None:
    """What is left is never negative, so that the search must not run until it is."""
    problem = po.Redaction(MIXED, 12, 6, 1.0)
    proposal = find_solver(problem, "branch-and-bound").run(problem, po.Budget(time.monotonic() - 1.0))
    assert proposal.mechanism is not None
    assert problem.evaluate(problem.check(proposal.mechanism)).feasible
    assert proposal.stats["boxes"] == 0
    assert proposal.stats["stop"] == "out of time"


@pytest.mark.long
def test_private_records_far_apart_are_solved_in_parts() -> None:
    problem = po.Redaction(SLOW, 40, (10, 30), 1.0)
    parts = po.solve(problem, "optimal", time_limit=20.0)
    assert parts.certified
    assert parts.gap is not None
    assert parts.gap <= 1e-6
    far = po.Redaction(THREE, 200, (20, 150), 1.0)
    wide = po.solve(far, "branch-and-bound", time_limit=20.0)
    assert wide.certified
    assert wide.stats["parts"] == 2
    assert wide.bound is not None
    assert po.verify(far, wide).ok


@pytest.mark.parametrize(
    ("problem", "why"),
    [
        (po.Redaction(SLOW, 8, 2, 0.0), "budget above 0"),
        (po.Redaction(SLOW, 8, 2, 1.0, side_information="any"), "side_information"),
        (po.Redaction(po.MarkovChain([[1.0, 0.0], [0.5, 0.5]], initial=[1, 0]), 4, 1, 1.0), "constant"),
    ],
)
def test_what_it_refuses(problem: po.Redaction, why: str) -> None:
    solution = po.solve(problem, "branch-and-bound")
    assert solution.status is po.Status.REFUSED
    assert why in str(solution)
