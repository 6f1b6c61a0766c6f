"""The risk before and after, against simulations and by what must hold."""

from __future__ import annotations

import math

import numpy as np
import pytest

import privopt as po
from privopt.studio.risk import of_nothing, of_release, of_values

COUNTS = np.array([[3, 1, 0, 2, 1], [1, 4, 2, 0, 0]])
JOINT = po.JointDistribution.normalised(COUNTS)
ROWS = int(COUNTS.sum())


PAIRS = [(x, s) for s, row in enumerate(COUNTS.tolist()) for x, count in enumerate(row) for _ in range(count)]
BEFORE = of_values([x for x, _ in PAIRS], [s for _, s in PAIRS])


def test_publishing_as_it_is_is_the_release_by_the_identity() -> None:
    identity = of_release(JOINT, ROWS, np.eye(5))
    assert identity.guess == pytest.approx(BEFORE.guess)
    assert (identity.smallest, identity.unique, identity.exact) == (1, 1, True)
    assert (BEFORE.smallest, BEFORE.unique, BEFORE.exact) == (1, 1, True)
    assert math.isinf(identity.factor)
    assert math.isinf(BEFORE.factor)


def test_the_factor_of_values_is_that_of_their_joint() -> None:
    counts = np.array([[3, 1], [1, 4]])
    pairs = [(x, s) for s in range(2) for x in range(2) for _ in range(counts[s, x])]
    risk = of_values([x for x, _ in pairs], [s for _, s in pairs])
    joint = po.JointDistribution.normalised(counts)
    assert math.log(risk.factor) == pytest.approx(po.measures.local_information_privacy(joint).symmetric)
    assert risk.guess == pytest.approx(7 / 9)


def test_a_constant_release_is_as_good_as_nothing() -> None:
    nothing, constant = of_nothing(JOINT, ROWS), of_release(JOINT, ROWS, np.ones((5, 1)))
    assert constant.guess == pytest.approx(nothing.guess)
    assert constant.factor == pytest.approx(1.0)
    assert (constant.smallest, constant.unique) == (ROWS, 0)


@pytest.mark.parametrize("seed", range(5))
def test_the_mean_number_of_rows_like_no_other_is_that_of_a_simulation(seed: int) -> None:
    rng = np.random.default_rng(seed)
    matrix = rng.dirichlet(np.full(4, 0.4), size=5)
    matrix[seed % 5] = np.eye(4)[seed % 4]  # a symbol that is released as it is
    rows = np.repeat(np.arange(5), COUNTS.sum(axis=0))
    draws = (rng.random((20_000, ROWS, 1)) > np.cumsum(matrix, axis=1)[rows][None, :, :-1]).sum(axis=2)
    alone = sum((draws == y).sum(axis=1) == 1 for y in range(4))
    risk = of_release(JOINT, ROWS, matrix)
    assert not risk.exact
    assert risk.unique == pytest.approx(float(np.mean(alone)), abs=6 * 0.01)
    assert of_nothing(JOINT, ROWS).guess <= risk.guess <= BEFORE.guess + 1e-12


def test_the_factor_of_a_proved_release_is_within_its_budget() -> None:
    solution = po.solve(po.LocalInformationPrivacy(JOINT, 0.4))
    assert isinstance(solution.mechanism, po.Channel | po.Merging)
    assert of_release(JOINT, ROWS, solution.mechanism.matrix).factor <= math.exp(0.4) * (1 + 1e-9)
