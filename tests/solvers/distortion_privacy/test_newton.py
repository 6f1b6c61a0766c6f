"""Newton's method for mutual information: the optimum of a conic program, found without one."""

from __future__ import annotations

import numpy as np
import pytest

import privopt as po
from privopt.core.registry import find_solver
from privopt.core.solver import Budget
from privopt.solvers.distortion_privacy._bound import best_bound
from privopt.solvers.distortion_privacy._newton import fits, newton
from privopt.solvers.distortion_privacy._space import Space


def problem(seed: int, secrets: int, symbols: int, *, capped: bool) -> po.DistortionPrivacy:
    """A random table; a cap on the information, or on the distortion that stays between none and that of a constant."""
    rng = np.random.default_rng(seed)
    joint = po.JointDistribution.normalised(
        rng.dirichlet(np.ones(secrets * symbols)).reshape(secrets, symbols)
    )
    places = np.sort(rng.random(symbols))
    distances = np.abs(places[:, None] - places)
    if capped:
        return po.DistortionPrivacy(joint, distances, leakage="mutual_information", max_leakage=0.02)
    return po.DistortionPrivacy(joint, distances, leakage="mutual_information", max_distortion=0.05)


@pytest.mark.parametrize("capped", [True, False])
@pytest.mark.parametrize(("seed", "secrets", "symbols"), [(0, 3, 6), (1, 8, 8), (2, 12, 7)])
def test_the_optimum_of_a_conic_program(seed: int, secrets: int, symbols: int, *, capped: bool) -> None:
    there = problem(seed, secrets, symbols, capped=capped)
    solution = po.solve(there, "blahut-arimoto")
    known = po.solve(there, "conic-clarabel", time_limit=60)
    assert solution.status is po.Status.OPTIMAL
    assert solution.objective is not None
    assert known.objective is not None
    assert known.bound is not None
    scale = there.scale(solution)
    assert known.objective - 2e-6 * scale <= solution.objective <= known.bound + 1e-9 * scale


@pytest.mark.parametrize("capped", [True, False])
def test_its_channel_and_its_posteriors_meet(*, capped: bool) -> None:
    """Each row is a distribution, and what the posteriors prove is what the channel reaches, to five digits on any processor."""
    there = problem(3, 5, 9, capped=capped)
    space = Space(there)
    reached = next(newton(space, Budget()))
    assert np.allclose(reached.matrix.sum(axis=1), 1.0)
    assert (reached.matrix > 0).all()
    assert np.allclose(reached.posteriors.sum(axis=1), 1.0)
    assert reached.posteriors.shape == (9, 5)
    reading = there.evaluate(space.release(reached.matrix))
    bound, _ = best_bound(space, reached.posteriors)
    assert bound is not None
    assert reading.violation <= 1e-6
    assert abs(bound - reading.objective) <= 1e-5 * there.scale(reading)
    assert po.solve(there, "blahut-arimoto").status is po.Status.OPTIMAL


@pytest.mark.parametrize("capped", [True, False])
def test_what_it_has_when_the_time_ends_counts(*, capped: bool) -> None:
    there = problem(4, 4, 6, capped=capped)
    (begun,) = newton(Space(there), Budget(deadline=0.0))
    assert begun.steps == 0
    cut = find_solver(there, "blahut-arimoto").run(there, Budget(deadline=0.0))
    assert cut.mechanism is not None
    assert there.evaluate(there.check(cut.mechanism)).violation < 1e-9


def test_large_tables_are_not_begun() -> None:
    assert fits(100, 100)
    assert not fits(300, 300)
