"""Sets from samples of all of Adult hold it as often as they say, certificates cover its leakage, and a planted set fails."""

from __future__ import annotations

import numpy as np
import pytest

from privopt.benchmarks.data.joints import leaning
from privopt.benchmarks.timings.measurements import coverage as measured
from privopt.models import JointAmbiguity, JointDistribution


@pytest.fixture(scope="module")
def population() -> JointDistribution:
    whole = measured.adult()
    if whole is None:
        pytest.skip("the Adult set is not there: see PRIVOPT_DATA")
    return whole


def shares(
    population: JointDistribution, rows: int, method: str, samples: int, mechanism: bool
) -> tuple[float, ...]:
    seen = [measured.tried(population, rows, method, seed, mechanism) for seed in range(samples)]
    held, planted = (sum(getattr(one, name) for one in seen) / samples for name in ("holds", "planted"))
    return held, planted, sum(one.leakage <= one.level for one in seen) / samples


def test_sets_hold_the_population_and_half_of_them_does_not(population: JointDistribution) -> None:
    held, planted, _ = shares(population, 2000, "weissman", 60, mechanism=False)
    assert held >= measured.CONFIDENCE
    assert not measured.enough(round(60 * planted), 60)


def test_so_it_is_of_the_survey_that_ships() -> None:
    held, planted, covered = shares(leaning(), 2000, "weissman", 8, mechanism=True)
    assert held >= measured.CONFIDENCE
    assert planted < measured.CONFIDENCE
    assert covered == 1


@pytest.mark.long
@pytest.mark.parametrize("method", measured.METHODS)
def test_two_hundred_samples_of_adult(population: JointDistribution, method: str) -> None:
    held, planted, covered = shares(population, 2000, method, measured.SAMPLES, mechanism=True)
    assert measured.enough(round(held * measured.SAMPLES), measured.SAMPLES)
    assert covered >= measured.CONFIDENCE
    assert not measured.enough(round(planted * measured.SAMPLES), measured.SAMPLES)


def test_samples_are_seeded_and_drawn_with_replacement() -> None:
    first, again, other = (measured.sample(leaning(), 5000, seed) for seed in (1, 1, 2))
    assert first == again
    assert first != other
    assert first.rows_counted == 5000  # more than there are people in the survey
    assert np.abs(first.table - leaning().table).sum() / 2 < 0.05


@pytest.mark.parametrize("method", measured.METHODS)
def test_the_planted_set_lies_inside_and_at_half_the_way(method: str) -> None:
    near = JointAmbiguity.from_counts([[30, 10, 20], [20, 40, 0]], 0.9, method)
    planted = measured.halved(near)
    assert planted.contains(near.nominal)
    values = [3, 1, 2]
    for whole, half in zip(near.rows, planted.rows, strict=True):
        mean = sum(
            v * float(c) for v, c in zip(values, near.nominal.table[near.rows.index(whole)], strict=True)
        )
        mean /= near.nominal.p_s[near.rows.index(whole)]
        wide, narrow = (row.largest(values)[1] / row.denominator - mean for row in (whole, half))
        assert 0 < narrow <= wide
    if method == "weissman":
        assert [row.radius * 2 for row in planted.rows] == [row.radius for row in near.rows]
