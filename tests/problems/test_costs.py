"""Expected distortions in integers, against fractions."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from privopt.models import JointDistribution
from privopt.models.channel_data import observation
from privopt.problems.costs import costs


@pytest.mark.parametrize("size", [1.0, 3e5, 1e-9, 1e-300, 1e300, 1e-320])
def test_costs_are_the_exact_products_of_distortions_and_probabilities(size: float) -> None:
    rng = np.random.default_rng(7)
    matrix = rng.standard_normal((3, 4)) * size * 10.0 ** rng.integers(-8, 1, size=(3, 4))
    matrix[1, 2] = 0.0
    joint = JointDistribution([[0.5, 0.125, 0.0], [0.125, 0.0, 0.25]])
    read = costs(observation(joint), tuple(map(tuple, matrix.tolist())))
    for row, p, distortions in zip(read.cells, (0.625, 0.125, 0.25), matrix.tolist(), strict=True):
        assert [Fraction(c, read.scale) for c in row] == [Fraction(p) * Fraction(d) for d in distortions]
