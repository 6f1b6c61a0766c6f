"""The program of a distortion to which rows join: against the whole program by SciPy, and over sets of joints."""

from __future__ import annotations

import math
import time

import numpy as np
import pytest
from scipy.optimize import linprog

import privopt as po
from privopt.core.solver import Budget
from privopt.solvers.local_information_privacy.cuts.growing import Growing
from privopt.solvers.local_information_privacy.direct_lp import Program


def whole(lp: Program) -> float:
    """The optimum with all rows for all releases."""
    inequalities, equations = lp.inequalities(), lp.equations()
    found = linprog(
        lp.cost.ravel(),
        A_ub=inequalities,
        b_ub=np.zeros(inequalities.shape[0]),
        A_eq=equations,
        b_eq=lp.marginal,
        method="highs",
    )
    assert found.status == 0
    assert found.fun is not None
    return float(found.fun)


@pytest.mark.parametrize("seed", range(4))
def test_rows_that_join_lead_to_the_optimum_of_all_and_multipliers_prove_it(seed: int) -> None:
    rng = np.random.default_rng(seed)
    k, m = int(rng.integers(4, 9)), int(rng.integers(3, 7))
    marginal = rng.dirichlet(np.ones(k))
    rows = rng.normal(size=(12, k))
    rows -= np.maximum(rows @ marginal, 0.0)[:, None] / marginal.sum() + 0.05  # the marginal keeps them all
    lp = Program(rng.random((k, m)), rows, marginal)
    growing = Growing(lp)
    for count in (5, 12):
        assert growing.solve(rows[:count], Budget(math.inf))
        assert growing.value == pytest.approx(whole(Program(lp.cost, rows[:count], marginal)), abs=1e-9)
        assert (rows[:count] @ growing.q).max() <= 1e-8
        multipliers = growing.multipliers(rows[:count])
        assert multipliers.min() >= 0
        priced = lp.cost + (multipliers @ rows[:count]).T
        assert marginal @ priced.min(axis=1) == pytest.approx(growing.value, abs=1e-8)


def test_without_rows_the_cheapest_releases_are_the_optimum() -> None:
    lp = Program(np.array([[0.0, 1.0], [2.0, 1.0]]), np.zeros((0, 2)), np.array([0.25, 0.75]))
    growing = Growing(lp)
    assert growing.solve(lp.rows, Budget(math.inf))
    assert growing.value == 0.75


def test_no_time_is_no_optimum() -> None:
    lp = Program(np.eye(2), np.array([[1.0, -2.0]]), np.array([0.5, 0.5]))
    assert not Growing(lp).solve(lp.rows, Budget(time.monotonic() - 1.0))


@pytest.mark.parametrize("notion", ["lip", "ldp"])
def test_distortions_over_a_set_are_proved_and_no_member_leaks_more(notion: str) -> None:
    rng = np.random.default_rng(3)
    counts = rng.multinomial(4000, rng.dirichlet(np.ones(3 * 8))).reshape(3, 8)
    near = po.JointAmbiguity.from_counts(counts)
    problem = po.LocalInformationPrivacy(near, 1.0, notion=notion, utility=1 - np.eye(8))
    solution = po.solve(problem, "cuts", time_limit=20)
    assert solution.status is po.Status.OPTIMAL
    assert solution.certified
    assert solution.mechanism is not None
    nominal = po.LocalInformationPrivacy(near.nominal, 1.0, notion=notion, utility=1 - np.eye(8))
    assert solution.utility is not None
    assert solution.utility <= po.solve(nominal).utility + 1e-9  # type: ignore[operator]
    lower, upper = po.measures.robust_level(problem, solution.mechanism, near)
    assert lower <= upper <= 1.0 + 1e-9
