"""Sparse factors of the interior-point method against full matrices."""

from __future__ import annotations

import numpy as np
import pytest

from privopt.solvers.metric_privacy._factors import Factors, Pattern

pytest.importorskip("numba")


@pytest.mark.parametrize("seed", range(4))
def test_factors_are_those_of_full_matrices(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n, m = 12, 5
    first, second = np.array([(i, j) for i in range(n) for j in range(i) if rng.uniform() < 0.3]).T
    off = rng.uniform(0.1, 2.0, size=(len(first), m))
    x = rng.uniform(0.5, 3.0, size=(n, m))
    image = rng.uniform(0.0, 0.1, size=(n, m))
    image[0] += 1.0
    full = np.zeros((m, n, n))
    full[:, first, second] = full[:, second, first] = -off.T
    for y in range(m):
        full[y][np.diag_indices(n)] = (image[:, y] - full[y] @ x[:, y]) / x[:, y]
    factors = Factors(Pattern(first, second, n), off, x, image)
    right = rng.normal(size=(n, m))
    solved = np.stack([np.linalg.solve(full[y], right[:, y]) for y in range(m)], axis=1)
    assert np.allclose(factors.solve(right), solved, rtol=1e-9)
    assert np.allclose(factors.summed(), np.linalg.inv(full).sum(axis=0), rtol=1e-9)


def test_factors_of_nearly_singular_matrices_lose_no_digits() -> None:
    tiny = 1e-25  # a chain of three that hardly resists a common shift: full matrices of floats are singular
    first, second = np.array([0, 1]), np.array([1, 2])
    factors = Factors(Pattern(first, second, 3), np.ones((2, 1)), np.ones((3, 1)), np.full((3, 1), tiny))
    assert np.allclose(factors.solve(np.ones((3, 1))), 1 / tiny, rtol=1e-12)
