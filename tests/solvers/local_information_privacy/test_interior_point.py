"""The interior-point method for distortions: the optimum of a linear program, and a proof wherever it stops."""

import time
from collections.abc import Mapping

import numpy as np
import pytest

import privopt as po
from privopt.core.registry import find_solver
from privopt.core.solver import Budget
from privopt.models import JointDistribution, ObservedJoint
from privopt.solvers.common import interior

BOUNDS: tuple[Mapping[str, object], ...] = (
    {"epsilon": 0.1},
    {"epsilon": 3.0},
    {"lower": 0.4, "upper": 1.2},
    {"upper": 0.7},
    {"lower": 0.5},
    {"epsilon": 0.8, "notion": "ldp"},
    {"epsilon": 2.0, "notion": "ldp"},
)


def random_problem(seed: int, bounds: Mapping[str, object]) -> po.LocalInformationPrivacy:
    """A small table with a random distortion; every third one of an observation of X."""
    rng = np.random.default_rng(seed)
    secrets, useful, outputs = rng.integers(2, 6, size=3).tolist()
    joint: JointDistribution | ObservedJoint
    if seed % 3 == 0:
        joint = ObservedJoint(rng.dirichlet(np.ones(secrets * useful * 4)).reshape(secrets, useful, 4))
    else:
        table = rng.dirichlet(np.ones(secrets * useful) * rng.choice([0.3, 1.0, 5.0]))
        joint = JointDistribution.normalised(table.reshape(secrets, useful))
    matrix = rng.random((useful, outputs)).round(2).tolist()
    names = [f"output {y}" for y in range(outputs)]
    return po.LocalInformationPrivacy(joint, utility=matrix, outputs=names, **bounds)  # type: ignore[arg-type]


@pytest.mark.parametrize("bounds", BOUNDS, ids=str)
@pytest.mark.parametrize("seed", range(3))
def test_the_optimum_is_that_of_a_general_code(seed: int, bounds: Mapping[str, object]) -> None:
    problem = random_problem(seed, bounds)
    ours = po.solve(problem, "interior-point", time_limit=30)
    theirs = po.solve(problem, "direct-lp", time_limit=30)
    assert ours.status is theirs.status is po.Status.OPTIMAL
    assert ours.objective == pytest.approx(theirs.objective, rel=2e-6, abs=1e-9)
    assert ours.certified


@pytest.mark.parametrize("bounds", BOUNDS, ids=str)
def test_wherever_it_stops_the_bounds_are_kept_and_a_bound_is_proved(bounds: Mapping[str, object]) -> None:
    problem = random_problem(1, bounds)
    best = po.solve(problem, "direct-lp", time_limit=30).objective
    assert best is not None
    proposal = find_solver(problem, "interior-point").run(problem, Budget(time.monotonic()))
    assert proposal.stats["stop"] in ("out of time", "no bound can be broken")
    assert isinstance(proposal.mechanism, po.Channel)
    assert problem.evaluate(proposal.mechanism).feasible
    proved = problem.check_bound(np.inf, proposal.dual)
    assert proved is not None
    assert proved >= best - 1e-9


def test_a_table_of_forty_symbols_is_optimal() -> None:
    rng = np.random.default_rng(5)
    places = np.arange(40.0) / 40
    joint = JointDistribution.normalised(
        np.exp(-8 * np.abs(places[:, None] - places)) + 0.01 * rng.random((40, 40))
    )
    distance = np.abs(places[:, None] - places).tolist()
    problem = po.LocalInformationPrivacy(joint, epsilon=1.0, utility=distance)
    solution = po.solve(problem, "interior-point", time_limit=60)
    assert solution.status is po.Status.OPTIMAL


@pytest.mark.parametrize("bounds", BOUNDS, ids=str)
def test_first_steps_in_single_precision_lead_to_the_same_optimum(
    monkeypatch: pytest.MonkeyPatch, bounds: Mapping[str, object]
) -> None:
    problem = random_problem(4, bounds)
    one = po.solve(problem, "interior-point", time_limit=30)
    monkeypatch.setattr(
        interior, "ROUGH", -1.0
    )  # each of them is refused, and made again in double precision
    other = po.solve(problem, "interior-point", time_limit=30)
    assert one.status is other.status is po.Status.OPTIMAL
    assert one.objective == pytest.approx(other.objective, rel=2e-6, abs=1e-9)


def test_what_has_no_inside_is_refused() -> None:
    problem = random_problem(1, {"epsilon": 1e-9})
    refused = po.solve(problem, "interior-point", time_limit=5)
    assert refused.status is po.Status.REFUSED
    assert "no inside" in refused.reason
