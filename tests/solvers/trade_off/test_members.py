"""Bounds of the funnel over a set at other joints than the nominal one: the joints lie in the set and keep P(x), and the bounds hold."""

from __future__ import annotations

import copy
import math
import time
from fractions import Fraction

import numpy as np
import pytest

import privopt as po
from privopt.core.solver import Budget
from privopt.models.ambiguity.joint import JointAmbiguity
from privopt.solvers.trade_off.members import Spread, between, dual_at
from privopt.solvers.trade_off.tightened_cap import TightenedCap

SQUARE = po.JointDistribution([[0.3, 0.2], [0.1, 0.4]])
COUNTS = np.array([[60, 20, 30, 40, 25], [20, 50, 45, 10, 35], [30, 30, 10, 60, 0]])
THREE = po.JointDistribution.normalised(COUNTS)
ENDLESS = Budget(math.inf, 0)
SETS = {
    "square": po.JointAmbiguity.total_variation(SQUARE, 0.05),
    "counts": po.JointAmbiguity.from_counts(COUNTS, 0.9),
    "prior": po.JointAmbiguity.total_variation(THREE, 0.1, 0.05),
    "all": po.JointAmbiguity([po.RowSet.all(5)] * 3, po.RowSet.all(3), nominal=THREE),
    "one row": po.JointAmbiguity(
        [po.RowSet.total_variation([1, 0], 0), po.RowSet.all(2), po.RowSet.interval([0.1, 0.3], [0.7, 0.9])],
        po.RowSet.interval([0.2, 0.2, 0.2], [0.5, 0.5, 0.5]),
        nominal=po.JointDistribution([[0.3, 0], [0.15, 0.15], [0.2, 0.2]]),
    ),
}


def _member(near: JointAmbiguity) -> po.JointDistribution:
    found = Spread(near).most_telling(np.eye(len(near.useful)), ENDLESS)
    assert found is not None
    return found


@pytest.mark.parametrize("name", SETS)
def test_joints_lie_in_the_set_keep_the_useful_symbol_and_say_more(name: str) -> None:
    near = SETS[name]
    joint = _member(near)
    exact, nominal, n = joint.exact, near.nominal.exact, len(near.useful)
    rows = [exact.weights[i : i + n] for i in range(0, len(exact.weights), n)]
    assert all(allowed.contains(row) for allowed, row in zip(near.rows, rows, strict=True))
    assert near.prior.contains([sum(row) for row in rows])
    for x in range(n):
        assert Fraction(sum(exact.weights[x::n]), exact.total) == Fraction(
            sum(nominal.weights[x::n]), nominal.total
        )
    assert po.measures.mutual_information(joint) > po.measures.mutual_information(near.nominal)
    halfway = between(joint, near.nominal, 3)
    assert np.allclose(halfway.table, 0.75 * joint.table + 0.25 * near.nominal.table, atol=1e-15)


@pytest.mark.parametrize("name", ["square", "counts"])
def test_a_bound_at_another_joint_is_lower_and_no_release_exceeds_it(name: str) -> None:
    problem = po.PrivacyFunnel(SETS[name], max_leakage=0.02)
    assert problem.ambiguity is not None
    dual = dual_at(_member(problem.ambiguity), {"kind": "analytic"})
    proved, nominal = problem.prove_bound(dual), problem.prove_bound({"kind": "analytic"})
    assert proved is not None
    assert nominal is not None
    assert proved[1] < nominal[1]
    rng = np.random.default_rng(1)
    n = problem.sizes[1]
    for _ in range(3 if name == "square" else 0):  # a repair reads the leakage over the set many times
        kept = problem.repair(po.Channel(rng.dirichlet(np.full(3, 0.3), n), problem.ambiguity.useful), 0.0)
        assert problem.evaluate(kept).utility <= proved[1] + 1e-12


def test_joints_outside_the_set_or_with_another_spread_prove_nothing() -> None:
    problem = po.PrivacyFunnel(SETS["square"], max_leakage=0.02)
    assert problem.ambiguity is not None
    good = dual_at(_member(problem.ambiguity), {"kind": "analytic"})
    far = dual_at(po.JointDistribution([[0.4, 0.1], [0, 0.5]]), {"kind": "analytic"})
    spread = dual_at(po.JointDistribution([[0.31, 0.19], [0.1, 0.4]]), {"kind": "analytic"})
    assert problem.prove_bound(good) is not None
    assert problem.prove_bound(far) is None
    assert problem.prove_bound(spread) is None
    for damage in ({"members": []}, {"pool": []}, {"proof": None}, {"members": [[0, -1, 1]]}):
        assert problem.prove_bound({**copy.deepcopy(good), **damage}) is None
    assert po.PrivacyFunnel(SQUARE, max_leakage=0.02).prove_bound(good) is None


@pytest.mark.long
def test_two_symbols_are_closed() -> None:
    problem = po.PrivacyFunnel(SETS["square"], max_leakage=0.02)
    proposal = TightenedCap().run(problem, Budget(time.monotonic() + 60.0, 0))
    assert proposal.mechanism is not None
    assert proposal.bound is not None
    reading = problem.evaluate(problem.check(proposal.mechanism))
    assert reading.feasible
    assert 0.107 < reading.objective <= proposal.bound < reading.objective + 1e-4
    nominal = problem.at_nominal(0.02)
    assert po.solve(nominal, time_limit=20.0).objective == pytest.approx(0.16408, abs=1e-4)
