"""Ratios of hundreds of secrets: proofs whose size does not grow with their pairs, and no table of all pairs in memory."""

from __future__ import annotations

import tracemalloc
from typing import Any

import numpy as np
import pytest

import privopt as po
from privopt.problems.local_information_privacy.polytope import polytope
from privopt.solvers.local_information_privacy import answer, interior_point

HAMMING = "the distortion of Hamming"


def random_problem(seed: int, notion: str = "ldp") -> po.LocalInformationPrivacy:
    """A table of three secrets and four symbols, a distortion of five releases."""
    rng = np.random.default_rng(seed)
    joint = po.JointDistribution.normalised(rng.random((3, 4)))
    return po.LocalInformationPrivacy(joint, 0.7, notion=notion, utility=rng.random((4, 5)).tolist())


def same(n: int, *, uniform: bool = True, hamming: bool = True, **bounds: Any) -> po.LocalInformationPrivacy:
    """The secret is the useful symbol, in another order."""
    rng = np.random.default_rng(n)
    weights = np.full(n, 1.0) if uniform else rng.random(n) + 0.1
    table = np.diag(weights)[rng.permutation(n)]
    matrix = 2.0 * (1.0 - np.eye(n)) if hamming else rng.random((n, n))
    joint = po.JointDistribution.normalised(table)
    return po.LocalInformationPrivacy(joint, utility=matrix.tolist(), **bounds)


@pytest.mark.parametrize("seed", range(8))
def test_any_multipliers_of_bands_prove_no_less_than_the_optimum(seed: int) -> None:
    problem, rng = random_problem(seed), np.random.default_rng(seed)
    best = po.solve(problem, "direct-lp").objective
    assert best is not None
    for size in (1e-3, 0.1, 1.0, 1e6):
        above, below = size * rng.random((2, 5, 3))
        proved = problem.prove_bound({"kind": "bands", "above": above.tolist(), "below": below.tolist()})
        assert proved is not None
        assert proved[0] <= proved[1]
        assert proved[1] >= best - 1e-12


@pytest.mark.parametrize("seed", range(3))
def test_multipliers_of_bands_close_the_gap(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    problem = random_problem(seed)
    by_pairs = po.solve(problem, "direct-lp")
    monkeypatch.setattr(interior_point, "MOST_PAIRS", 0.0)
    by_bands = po.solve(problem, "interior-point")
    assert isinstance(by_bands.dual, dict)
    assert by_bands.dual["kind"] == "bands"
    assert by_bands.status is po.Status.OPTIMAL
    assert by_bands.bound == pytest.approx(by_pairs.objective, rel=1e-6)
    assert po.verify(problem, by_bands).ok


ZEROS, ONES = [[0.0] * 3] * 5, [[1.0] * 3] * 5


@pytest.mark.parametrize(
    "dual",
    [
        {"above": [[-1.0] * 3] * 5, "below": ZEROS},
        {"above": ONES, "below": [[-1.0] * 3] * 5},
        {"above": [[float("nan")] * 3] * 5, "below": ZEROS},
        {"above": ONES[:4], "below": ZEROS},
        {"above": ZEROS},
        {"above": "all", "below": ZEROS},
    ],
)
def test_malformed_bands_prove_nothing(dual: dict[str, object]) -> None:
    problem = random_problem(0)
    assert problem.proved_bound({"kind": "bands", "above": ZEROS, "below": ZEROS}) is not None
    assert problem.proved_bound({"kind": "bands", **dual}) is None


def test_bands_are_for_ratios_and_distortions_only() -> None:
    idle: dict[str, object] = {"kind": "bands", "above": ZEROS, "below": ZEROS}
    assert random_problem(0, "lip").proved_bound(idle) is None
    said = po.LocalInformationPrivacy(random_problem(0).joint, 0.7, notion="ldp")
    assert said.proved_bound(idle) is None


@pytest.mark.parametrize("n", [2, 3, 5])
@pytest.mark.parametrize(
    "bounds",
    [
        {"epsilon": 0.8, "notion": "ldp"},
        {"epsilon": 0.4},
        {"lower": 0.1, "upper": 0.9},
        {"lower": 2.0, "upper": 0.3},
        {"upper": 0.5},
        {"lower": 0.5},
    ],
    ids=str,
)
def test_errors_of_a_uniform_secret_are_bounded_in_closed_form(n: int, bounds: dict[str, Any]) -> None:
    problem = same(n, **bounds)
    best = po.solve(problem, "direct-lp")
    proved = problem.proved_bound({"kind": "analytic"})
    assert best.status is po.Status.OPTIMAL
    assert proved is not None
    assert proved[1] == pytest.approx(best.objective, abs=1e-9)
    assert best.objective is not None
    assert proved[1] >= best.objective - 1e-15


@pytest.mark.parametrize("bounds", [{"epsilon": 1.0, "notion": "ldp"}, {"epsilon": 0.4}], ids=str)
def test_what_rewards_errors_is_no_hamming_distortion(bounds: dict[str, Any]) -> None:
    for matrix in (np.eye(4) - 1.0, np.where(np.eye(4) > 0, 0.0, [[-1.0, 1.0, 1.0, 1.0]])):
        joint = po.JointDistribution.normalised(np.eye(4))
        problem = po.LocalInformationPrivacy(joint, utility=matrix.tolist(), **bounds)
        best = po.solve(problem, "direct-lp")
        proved = problem.proved_bound({"kind": "analytic"})
        assert proved is not None
        assert best.objective is not None
        assert proved[1] >= best.objective - 1e-15


@pytest.mark.parametrize("options", [{"uniform": False}, {"hamming": False}], ids=str)
def test_other_secrets_and_distortions_have_the_bound_of_the_best_reproduction(
    options: dict[str, bool],
) -> None:
    problem = same(4, epsilon=0.8, notion="ldp", **options)
    assert isinstance(problem.utility, tuple)
    table, matrix = problem.observation.leaking.table, np.array(problem.utility)
    least = float((table.sum(axis=0) * matrix.min(axis=1)).sum())
    proved = problem.proved_bound({"kind": "analytic"})
    assert proved is not None
    assert proved[1] == pytest.approx(-least, abs=1e-12)


@pytest.mark.parametrize(
    "sides", [("ldp", 0.6, 0.6), ("ldp", 40.0, 40.0), ("lip", 0.3, 0.9), ("lip", 0.2, np.inf)]
)
@pytest.mark.parametrize("seed", range(3))
def test_rows_that_some_posterior_breaks_are_those_with_a_number_above_0(
    seed: int, sides: tuple[str, float, float]
) -> None:
    rng = np.random.default_rng(seed)
    joint = po.JointDistribution.normalised(rng.integers(0, 4, (4, 5)) + np.eye(4, 5, dtype=int))
    problem = po.LocalInformationPrivacy(joint, 1.0)
    rows = polytope(problem.observation, sides)
    expected = [i for i in range(len(rows.names)) if any(v > 0 for v in rows.numerators(i))]
    assert list(rows.kept) == expected
    assert rows.binds is bool(expected)


@pytest.mark.parametrize("hamming", [True, False], ids=[HAMMING, "another distortion"])
def test_hundreds_of_secrets_are_compared_without_a_table_of_their_pairs(hamming: bool) -> None:
    """All pairs of 320 secrets and 320 symbols would be 260 MB of floats."""
    problem = same(320, hamming=hamming, epsilon=1.0, notion="ldp")
    tracemalloc.start()
    try:
        fit = {c.name for c in po.candidates(problem) if c.refusal is None}
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert {"interior-point", "coarse"} <= fit
    assert peak < 1e8


def test_errors_of_hundreds_of_secrets_are_proved() -> None:
    solution = po.solve(same(320, epsilon=1.0, notion="ldp"), time_limit=30)
    assert solution.status is po.Status.OPTIMAL
    assert solution.objective == pytest.approx(-2 * (1 - np.e / (np.e + 319)), rel=1e-9)


def test_what_would_be_too_many_systems_is_said_in_a_short_sentence() -> None:
    refusals = {c.name: c.refusal for c in po.candidates(same(320, epsilon=1.0, notion="ldp"))}
    assert "systems in fractions" in str(refusals["oracle"])
    assert max(len(str(r)) for r in refusals.values()) < 200


@pytest.mark.parametrize("epsilon", [0.4, 1.5])
def test_lifts_whose_levels_add_up_to_the_budget_stand_for_too_many_pairs(
    epsilon: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    joint = po.JointDistribution.normalised(np.random.default_rng(2).random((6, 7)))
    problem = po.LocalInformationPrivacy(joint, epsilon, notion="ldp")
    optimum = po.solve(problem, "vertices-systems", time_limit=60)
    assert optimum.status is po.Status.OPTIMAL
    assert optimum.objective is not None
    monkeypatch.setattr(answer, "MOST_ROWS", 100)
    solution = po.solve(problem, "column-generation", time_limit=5)
    assert solution.certified
    assert solution.guarantee is not po.Guarantee.OPTIMAL
    assert solution.objective is not None
    assert 0.9 * optimum.objective < solution.objective <= optimum.objective * (1 + 1e-9)
    assert po.verify(problem, solution).ok


def test_thousands_of_secrets_are_told_apart_from_saying_nothing() -> None:
    """All pairs of 1 200 secrets and sixteen symbols are 23 million numbers."""
    joint = po.JointDistribution.normalised(np.random.default_rng(3).random((1200, 16)))
    problem = po.LocalInformationPrivacy(joint, 1.0, notion="ldp")
    solution = po.solve(problem, time_limit=2)
    assert solution.certified
    assert solution.objective is not None
    assert solution.objective > 0.2
