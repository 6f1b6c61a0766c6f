"""Equations of the blocks of interior points against a general solver, for every shape of the rows."""

from __future__ import annotations

import numpy as np
import pytest

import privopt as po
from privopt.arrays import Floats
from privopt.solvers.common.inverses import Blocks, Inverse, Single, Thin, Whole

OUTPUTS = 3
SIDES = {"both": (1.7, 0.6), "above": (1.7, None), "below": (None, 0.6)}


def blocks(secrets: int, observations: int, sides: str, *, own: bool, permuted: bool = False) -> Blocks:
    """Rows of a random distribution, or of observations that are secrets in another order."""
    rng = np.random.default_rng(5)
    conditional = rng.dirichlet(np.ones(observations), size=secrets)
    if permuted:
        conditional = np.eye(observations)[rng.permutation(observations)] * rng.uniform(
            0.5, 1.0, (secrets, 1)
        )
    upper, lower = SIDES[sides]
    return Blocks(conditional, None if own else rng.dirichlet(np.ones(observations)), upper, lower)


def inverse_of(kind: str, b: Blocks, weights: Floats, diagonal: Floats) -> Inverse:
    if kind == "single":
        return Single.of(b, weights, diagonal)
    found = (
        Thin.of(b, weights, diagonal)
        if kind == "thin"
        else Whole.of(b, weights, diagonal, lambda: False, single=False)
    )
    assert found is not None
    return found


def dense(b: Blocks, weights: Floats, diagonal: Floats) -> Floats:
    """The matrix of one block, both unknowns: d x - G' u = first, G x + u / w = rows."""
    size = len(diagonal)
    g = b.slack(np.eye(size)).reshape(size, -1).T
    return np.block([[np.diag(diagonal), -g.T], [g, np.diag(1.0 / weights.reshape(-1))]])


@pytest.mark.parametrize("own", [True, False])
@pytest.mark.parametrize("sides", list(SIDES))
@pytest.mark.parametrize("kind", ["whole", "thin", "single"])
@pytest.mark.parametrize("spread", [1.0, 4.0])
def test_both_unknowns_are_those_of_a_general_solver(kind: str, sides: str, own: bool, spread: float) -> None:
    secrets, observations = (6, 6) if kind == "single" else (2, 6)
    b = blocks(secrets, observations, sides, own=own, permuted=kind == "single")
    rng = np.random.default_rng(1)
    weights = 10.0 ** rng.uniform(-spread, spread, (OUTPUTS, len(b.sides), secrets))
    diagonal = 10.0 ** rng.uniform(-spread, spread, (OUTPUTS, observations + b.own))
    first, rows = rng.normal(size=diagonal.shape), rng.normal(size=weights.shape)
    inverse = inverse_of(kind, b, weights, diagonal)
    x, u = inverse.solve(first, rows)
    sums = np.zeros((observations, observations))
    for y in range(OUTPUTS):
        matrix = dense(b, weights[y], diagonal[y])
        known = np.linalg.solve(matrix, np.concatenate([first[y], rows[y].reshape(-1)]))
        size = observations + b.own
        np.testing.assert_allclose(x[y], known[:size], rtol=1e-6, atol=1e-9 * np.abs(known[:size]).max())
        np.testing.assert_allclose(
            u[y].reshape(-1), known[size:], rtol=1e-5, atol=1e-8 * np.abs(known[size:]).max()
        )
        sums += np.linalg.inv(matrix)[:observations, :observations]
    np.testing.assert_allclose(inverse.sums, sums, rtol=1e-7, atol=1e-9 * np.abs(sums).max())


@pytest.mark.parametrize("leakage", ["ldp", "lip", "maximal_leakage"])
@pytest.mark.parametrize("shape", [(3, 20), (12, 12)])
@pytest.mark.parametrize("budget", [0.05, 1.0])
def test_few_secrets_and_secrets_that_are_observed_have_the_optimum_of_highs(
    leakage: str, shape: tuple[int, int], budget: float
) -> None:
    rng = np.random.default_rng(2)
    secrets, n = shape
    joint = rng.dirichlet(np.ones(n), size=secrets) if secrets < n else np.diag(rng.uniform(0.1, 1.0, n))
    places = np.arange(n) / (n - 1)
    problem = po.DistortionPrivacy(
        po.JointDistribution.normalised(joint),
        np.abs(places[:, None] - places),
        leakage=leakage,
        max_leakage=budget,
    )
    solution, known = po.solve(problem, "interior-point"), po.solve(problem, "direct-lp")
    assert solution.status is po.Status.OPTIMAL
    assert solution.certified
    assert solution.objective == pytest.approx(known.objective, rel=2e-6)
