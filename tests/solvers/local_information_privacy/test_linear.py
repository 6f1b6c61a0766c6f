"""Distortions under local information privacy: direct program, closed forms, conic back ends, proofs."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from instances.channels import random_problem
from instances.few import few

import privopt as po

CONIC = ("conic-ecos", "conic-scs", "conic-clarabel")


def distorted(seed: int) -> po.LocalInformationPrivacy:
    """A random problem with a random distortion, of as many columns as it likes."""
    rng = np.random.default_rng(seed)
    n = len(random_problem(seed).observation.p_x)
    return random_problem(seed, rng.uniform(size=(n, int(rng.integers(1, 6)))))


@pytest.mark.parametrize("seed", few(range(40), 12))
def test_direct_program_against_oracle_and_vertices(seed: int) -> None:
    problem = distorted(seed)
    direct = po.solve(problem, "direct-lp")
    assert direct.certified
    assert direct.status is po.Status.OPTIMAL
    for name in ("oracle", "vertices-systems", "vertices-exact"):
        other = po.solve(problem, name, time_limit=20)
        if other.status is not po.Status.REFUSED:
            assert other.utility == pytest.approx(direct.utility, abs=1e-9)


@pytest.mark.parametrize("seed", range(0, 40, 4))
def test_any_multipliers_bound_and_bad_ones_are_refused(seed: int) -> None:
    problem = distorted(seed)
    solution = po.solve(problem, "direct-lp")
    dual = solution.dual
    assert isinstance(dual, dict)
    assert solution.utility is not None
    if dual["kind"] == "analytic":
        assert solution.gap == pytest.approx(0.0, abs=1e-11)
        return
    multipliers, rng = np.array(dual["multipliers"]), np.random.default_rng(seed)
    for scale in (0.0, 0.5, 2.0):
        moved = multipliers * scale + 0.01 * rng.random(multipliers.shape)
        proved = problem.check_bound(-math.inf, {"kind": "linear", "multipliers": moved.tolist()})
        assert proved is not None
        assert proved >= solution.utility - 1e-11
    for bad in (multipliers - 1.0, multipliers[:, :-1], multipliers * math.nan, "many", None):
        value = bad.tolist() if isinstance(bad, np.ndarray) else bad
        assert problem.check_bound(-math.inf, {"kind": "linear", "multipliers": value}) is None


def uniform(n: int, **options: object) -> po.LocalInformationPrivacy:
    """S = X uniform on n symbols, in an order that is not the same for the two."""
    table = np.roll(np.eye(n, dtype=int), 1, axis=1)
    return po.LocalInformationPrivacy(po.JointDistribution.normalised(table.tolist()), **options)  # type: ignore[arg-type]


SIDES = (
    {"epsilon": 0.1},
    {"epsilon": 1.0},
    {"lower": 0.4},
    {"upper": 0.4},
    {"lower": 0.2, "upper": 1.0},
    {"lower": 1.5, "upper": 0.3},
    {"epsilon": 0.7, "notion": "ldp"},
    {"epsilon": 2.5, "notion": "ldp"},
)


@pytest.mark.parametrize("options", SIDES, ids=str)
@pytest.mark.parametrize("n", [2, 3, 5])
def test_closed_forms_against_searches(n: int, options: dict[str, object]) -> None:
    hamming = 3.0 * (1.0 - np.eye(n))
    formula = po.solve(uniform(n, utility=hamming, **options), "closed-form")
    search = po.solve(uniform(n, utility=hamming, **options), "direct-lp")
    assert formula.status is po.Status.OPTIMAL
    assert formula.utility == pytest.approx(search.utility, abs=1e-10)
    formula = po.solve(uniform(n, **options), "closed-form")
    search = po.solve(uniform(n, **options), "vertices-systems")
    assert formula.status is po.Status.OPTIMAL
    assert formula.utility == pytest.approx(search.utility, abs=1e-10)


@pytest.mark.parametrize(("n", "epsilon"), list(itertools.product((2, 4, 7, 30), (0.3, 1.0, 3.0))))
def test_published_formulas(n: int, epsilon: float) -> None:
    """Error of k-ary randomised response, subset selection's information, LIP's Hamming error."""
    r, hamming = math.exp(epsilon), 1.0 - np.eye(n)
    ldp = po.solve(uniform(n, epsilon=epsilon, notion="ldp", utility=hamming), "closed-form")
    assert ldp.utility == pytest.approx(-(n - 1) / (r + n - 1), abs=1e-12)
    lip = po.solve(uniform(n, epsilon=epsilon, utility=hamming), "closed-form")
    assert lip.utility == pytest.approx(min(r, n - (n - 1) / r, n) / n - 1, abs=1e-12)
    parts = [(k, r / (k * r + n - k), 1 / (k * r + n - k)) for k in range(1, n)]
    least = min(-k * a * math.log(a) - (n - k) * b * math.log(b) for k, a, b in parts)
    solution = po.solve(uniform(n, epsilon=epsilon, notion="ldp"), "closed-form")
    assert solution.utility == pytest.approx(math.log(n) - least, abs=1e-12)
    assert solution.bound is not None
    assert solution.bound >= math.log(n) - least - 1e-12


def test_closed_form_refuses_the_rest() -> None:
    skew = po.JointDistribution.normalised([[1, 0], [0, 2]])
    cases = (
        po.LocalInformationPrivacy(skew, epsilon=1.0),
        uniform(3, epsilon=1.0, utility=[[0, 1, 2], [1, 0, 1], [2, 1, 0]]),
        po.LocalInformationPrivacy(po.JointDistribution.normalised([[1, 1], [1, 1]]), epsilon=1.0),
        uniform(3, epsilon=1.0, utility=lambda v: 1.0 - float(v.max())),
    )
    for problem in cases:
        assert po.solve(problem, "closed-form").status is po.Status.REFUSED


@pytest.mark.parametrize("seed", range(0, 24, 2))
def test_conic_back_ends_come_close_after_repair(seed: int) -> None:
    problem = distorted(seed)
    best = po.solve(problem, "direct-lp").utility
    assert best is not None
    for name in CONIC:
        solution = po.solve(problem, name, time_limit=20)
        assert solution.certified
        assert solution.utility is not None
        assert best - 1e-4 <= solution.utility <= best + 1e-10


def test_conic_answers_break_the_budget_until_repaired() -> None:
    broken = dict.fromkeys(CONIC, 0)
    for seed in range(6):
        table = np.random.default_rng(seed).uniform(size=(3, 8))
        joint = po.JointDistribution.normalised(table.tolist())
        problem = po.LocalInformationPrivacy(joint, epsilon=0.2, utility=1.0 - np.eye(8))
        for name in CONIC:
            solution = po.solve(problem, name, time_limit=20)
            assert solution.certified
            assert solution.leakage is not None
            assert solution.leakage <= 0.2
            broken[name] += float(solution.stats["raw_leakage"]) > 0.2 * (1 + 1e-12)
    assert all(broken.values()), broken


@pytest.mark.parametrize("squared", [False, True])
def test_a_large_program_closes_its_gap(squared: bool) -> None:
    table = np.random.default_rng(0).uniform(size=(10, 150))
    places = np.arange(150) / 150
    matrix = (places[:, None] - places) ** 2 if squared else 1.0 - np.eye(150)
    joint = po.JointDistribution.normalised(table.tolist())
    solution = po.solve(po.LocalInformationPrivacy(joint, epsilon=0.5, utility=matrix), "direct-lp")
    assert solution.status is po.Status.OPTIMAL
    assert solution.gap is not None
    assert solution.gap < 1e-9


def test_releases_of_almost_no_probability_do_not_cost_the_rest() -> None:
    """On this table HiGHS leaves a column of mass 1e-17 whose posterior is noise."""
    table = np.random.default_rng(0).uniform(size=(10, 50))
    joint = po.JointDistribution.normalised(table.tolist())
    problem = po.LocalInformationPrivacy(joint, epsilon=0.5, utility=1.0 - np.eye(50))
    solution = po.solve(problem, "direct-lp")
    assert solution.status is po.Status.OPTIMAL
