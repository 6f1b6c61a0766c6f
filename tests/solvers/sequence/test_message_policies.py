"""Policies with several messages for each letter: certified, better than one message, and refused where there is none."""

from __future__ import annotations

import math

import numpy as np
import pytest

import privopt as po
from privopt.core.solver import Budget
from privopt.solvers.sequence.quadratics import Quadratics

WALK = [[0.8, 0.2, 0.0, 0.0], [0.2, 0.6, 0.2, 0.0], [0.0, 0.2, 0.6, 0.2], [0.0, 0.0, 0.2, 0.8]]


def walk(messages: int, epsilon: float = 2.0, horizon: float = 30) -> po.SequenceInformationPrivacy:
    chain = po.MarkovChain(WALK)
    return po.SequenceInformationPrivacy(chain, epsilon, horizon=horizon, messages=messages)


def test_two_messages_are_better_than_one_and_no_bound_is_passed() -> None:
    one = po.solve(walk(1), "closed-form").objective
    assert one is not None
    for messages in (2, 3):
        solution = po.solve(walk(messages), "messages")
        assert solution.certified
        assert solution.objective is not None
        assert solution.objective > 0.9 * one
        bound = Quadratics(cells=4).run(walk(messages), Budget()).bound
        assert bound is not None
        assert solution.objective <= bound


def test_solve_with_messages_is_not_worse_than_with_one() -> None:
    rng = np.random.default_rng(3)
    chain = po.MarkovChain.normalised(rng.dirichlet(np.full(5, 0.5), 5))
    found = [
        po.solve(po.SequenceInformationPrivacy(chain, 2.0, horizon=20, messages=m), time_limit=3).objective
        for m in (1, 2)
    ]
    assert found[0] is not None
    assert found[1] is not None
    assert found[1] >= found[0] - 0.01 * abs(found[0])


def test_a_stream_without_end_has_messages() -> None:
    solution = po.solve(walk(2, 1.0, math.inf), "messages", time_limit=20)
    assert solution.certified
    assert solution.objective is not None
    assert solution.objective > -0.75


@pytest.mark.parametrize(
    ("problem", "why"),
    [
        (walk(1), "two messages or more"),
        (po.SequenceInformationPrivacy(po.MarkovChain(WALK), 1.0, distortion="l1", messages=2), "Hamming"),
        (po.SequenceInformationPrivacy(po.MarkovChain([[0.8, 0.2], [0.3, 0.7]]), 1.0, batch=2), "not words"),
    ],
)
def test_what_it_does_not_take_is_refused_with_the_reason(
    problem: po.SequenceInformationPrivacy, why: str
) -> None:
    solution = po.solve(problem, "messages")
    assert solution.status is po.Status.REFUSED
    assert why in str(solution.reason)
