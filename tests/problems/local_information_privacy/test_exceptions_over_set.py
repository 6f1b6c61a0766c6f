"""Bounds over a set of joints but for a probability of delta: linear programs, members of the set, one joint."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

import privopt as po
from privopt.arrays import Floats
from privopt.errors import InvalidProblem
from privopt.measures import robust_level
from privopt.problems.local_information_privacy import exceptions_over_set as exceptions
from privopt.problems.robust import most_likely
from privopt.problems.robust_reading import SetReader
from privopt.proof.write import prove

SQUARE = po.JointDistribution.normalised([[4, 3, 2, 1], [1, 2, 3, 4], [3, 3, 1, 3]])


def near(radius: float) -> po.JointAmbiguity:
    return po.JointAmbiguity.total_variation(SQUARE, radius, radius / 2)


def counted(rng: np.random.Generator) -> po.JointAmbiguity:
    return po.JointAmbiguity.from_counts(rng.integers(5, 60, (3, 4)))


def largest(row: po.RowSet, values: Floats) -> float:
    """By a linear program."""
    bounds = [(float(a), float(b)) for a, b in zip(row.lower, row.upper, strict=True)]
    found = linprog(-values, A_eq=np.ones((1, len(values))), b_eq=[1.0], bounds=bounds)
    return -float(found.fun or 0.0)


@settings(max_examples=8, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_the_probability_of_pairs_is_that_of_linear_programs(seed: int) -> None:
    rng = np.random.default_rng(seed)
    allowed, matrix = counted(rng), rng.dirichlet(np.ones(3), 4)
    pairs = rng.random((3, 3)) < 0.5
    of_s = [largest(row, matrix @ pairs[s]) for s, row in enumerate(allowed.rows)]
    expected = largest(allowed.prior, np.array(of_s))
    exact = most_likely(allowed, po.Channel(matrix), [(int(s), int(y)) for s, y in np.argwhere(pairs)])
    assert float(exact) == pytest.approx(expected, abs=1e-9)
    assert exceptions.likely(SetReader.of(allowed), matrix, pairs) == pytest.approx(expected, abs=1e-9)


@settings(max_examples=8, deadline=None)
@given(st.integers(0, 2**32 - 1), st.sampled_from([0.01, 0.1, 0.4]))
def test_no_member_leaks_more_and_more_exceptions_allow_less_leakage(seed: int, delta: float) -> None:
    rng = np.random.default_rng(seed)
    allowed = counted(rng)
    channel = po.Channel(rng.dirichlet(np.ones(3), 4)).quantised()
    problem = po.LocalInformationPrivacy(allowed, 0.5, delta=delta)
    proved, reading = problem.certify(channel), problem.evaluate(channel)
    assert reading.leakage == pytest.approx(proved.leakage[1], abs=1e-9)
    assert robust_level(problem, channel, allowed) == proved.leakage
    strict = po.LocalInformationPrivacy(allowed, 0.5).certify(channel)
    assert proved.leakage[1] <= strict.leakage[1]
    for _ in range(10):
        prior = allowed.prior.farthest(rng.integers(0, 100, 3).tolist())
        rows = [row.farthest(rng.integers(0, 100, 4).tolist()) for row in allowed.rows]
        table = [
            [Fraction(p, sum(prior)) * Fraction(v, sum(row)) for v in row]
            for p, row in zip(prior, rows, strict=True)
        ]
        member = po.LocalInformationPrivacy(po.JointDistribution.normalised(table), 0.5, delta=delta)
        assert member.evaluate(channel).leakage <= proved.leakage[1] + 1e-9
        if proved.ok:
            assert member.certify(channel).ok


@pytest.mark.parametrize("sides", [{"epsilon": 0.3}, {"upper": 0.2}, {"lower": 0.4, "upper": 0.2}])
def test_a_set_of_one_joint_is_that_joint(sides: dict[str, float]) -> None:
    rng = np.random.default_rng(5)
    for delta in (0.02, 0.2):
        channel = po.Channel(rng.dirichlet(np.ones(3), 4)).quantised()
        one = po.LocalInformationPrivacy(SQUARE, **sides, delta=delta)  # type: ignore[arg-type]
        over = po.LocalInformationPrivacy(near(0), **sides, delta=delta)  # type: ignore[arg-type]
        told, proved = one.certify(channel), over.certify(channel)
        assert (proved.ok, proved.leakage, proved.worst) == (told.ok, told.leakage, told.worst)
        assert over.evaluate(channel).violation == pytest.approx(one.evaluate(channel).violation, abs=1e-12)
        assert over.is_worst(channel, proved.worst, proved.where)
        repaired = over.check(over.repair(channel, 2.0**-36)).quantised()
        assert over.certify(repaired).ok


def test_known_levels_of_two_pairs() -> None:
    """Publishing X itself with probability delta is an exception of that probability at every joint."""
    delta = Fraction(1, 8)
    whole = [[Fraction(int(w == y)) * delta for y in range(4)] + [1 - delta] for w in range(4)]
    channel = po.Channel(whole)
    problem = po.LocalInformationPrivacy(near(0.1), 0.0, delta=0.125)
    assert problem.certify(channel).ok
    assert problem.certify(channel).leakage[1] == 0.0
    assert not po.LocalInformationPrivacy(near(0.1), 0.0, delta=0.12).certify(channel).ok


def test_exceptions_are_spent_proved_and_stored() -> None:
    kept: list[float] = []
    for delta in (0.0, 0.02, 0.1):
        problem = po.LocalInformationPrivacy(near(0.05), 0.4, delta=delta)
        solution = po.solve(problem, "cuts", time_limit=10)
        assert solution.certified
        assert solution.bound is not None
        assert po.verify(problem, solution).ok
        kept.append(solution.objective or 0.0)
        again = po.LocalInformationPrivacy.from_dict(problem.to_dict())
        assert again.certify(solution.mechanism).ok
    assert kept[0] < kept[1] < kept[2]
    assert solution.certificate is not None
    assert "but for a probability of at most 0.1" in solution.certificate.statement
    with pytest.raises(InvalidProblem, match="delta"):
        prove(problem, solution)


def test_one_joint_as_a_set_is_solved_as_well_as_the_joint() -> None:
    one = po.solve(po.LocalInformationPrivacy(SQUARE, 0.4, delta=0.05), "randomised-boosting")
    over = po.solve(po.LocalInformationPrivacy(near(0), 0.4, delta=0.05), "cuts")
    assert (over.objective or 0.0) == pytest.approx(one.objective or 1.0, abs=1e-6)


def test_proofs_for_no_exceptions_prove_nothing_where_there_are_some() -> None:
    strict = po.LocalInformationPrivacy(near(0.05), 0.4)
    dual: Any = po.solve(strict, "cuts").dual
    assert strict.prove_bound(dual) is not None
    assert po.LocalInformationPrivacy(near(0.05), 0.4, delta=0.1).prove_bound(dual) is None
