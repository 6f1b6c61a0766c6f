"""Noise on queries: its level against OpenDP's own map, its distributions against exact tables, and what validation refuses."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy import stats

import privopt as po
from privopt.errors import InvalidMechanism, MissingExtra
from privopt.mechanisms.noise import shapes
from privopt.mechanisms.noise.shapes import SHAPES

NAN = float("nan")


@pytest.mark.parametrize("noise", ["laplace", "discrete_laplace", "randomised_response"])
def test_the_level_is_never_below_the_map_of_opendp(noise: str) -> None:
    shape, rng = SHAPES[noise], np.random.default_rng(5)
    for tau in np.exp(rng.uniform(math.log(1e-4), math.log(20.0), 200)).tolist():
        sensitivity = 1.0 if noise != "laplace" else float(rng.uniform(0.01, 1e3))
        scale = shape.scale_for(tau, sensitivity)
        stated = shape.level(scale, sensitivity)
        mapped = shape.opendp_level(scale, sensitivity)
        assert mapped <= stated <= tau
        assert stated == pytest.approx(tau, rel=1e-7)
        assert mapped == pytest.approx(stated, rel=1e-9)


def test_the_vector_map_of_opendp_agrees() -> None:
    assert SHAPES["discrete_laplace"].opendp_level(4.0, 2.0, True) == 0.5
    assert SHAPES["discrete_laplace"].level(4.0, 2.0) == 0.5
    assert SHAPES["laplace"].opendp_level(4.0, 2.0, True) == 0.5


def test_errors_and_quantiles_against_tables_of_the_distribution() -> None:
    for scale in (0.3, 1.0, 7.5):
        q, k = math.exp(-1 / scale), np.arange(-4000, 4001)
        weights = (1 - q) / (1 + q) * q ** np.abs(k)
        m = po.NoisyQuery("count", "discrete_laplace", scale, 1 / scale + 1e-9, 9.0)
        assert m.expected_error == pytest.approx(float(weights @ np.abs(k)), rel=1e-10)
        for beta in (0.5, 0.05, 0.001):
            alpha = m.accuracy(beta)
            assert weights[np.abs(k) > alpha].sum() <= beta * (1 + 1e-12)
            assert alpha == 0 or weights[np.abs(k) > alpha - 1].sum() > beta
        continuous = po.NoisyQuery("count", "laplace", scale, 1 / scale + 1e-9, 9.0)
        assert stats.laplace(scale=scale).sf(continuous.accuracy(0.1)) * 2 == pytest.approx(0.1)


def test_reports_are_unbiased_with_the_stated_error() -> None:
    n, lie = 40, 0.3
    m = po.NoisyQuery("count", "randomised_response", lie, 1.0, 2.0, length=n, states=("no", "yes"))
    rng, data = np.random.default_rng(3), ["yes"] * 11 + ["no"] * 29
    errors = np.array([m.release(data, rng) - 11 for _ in range(4000)])
    assert abs(errors.mean()) < 4 * errors.std() / math.sqrt(4000)
    assert np.abs(errors).mean() == pytest.approx(m.expected_error, rel=0.05)
    assert (np.abs(errors) > m.accuracy(0.05)).mean() <= 0.05


def test_sums_move_by_no_more_than_the_sensitivity() -> None:
    from privopt.mechanisms.noise.statistics import value

    rng = np.random.default_rng(1)
    for clip in ((0.1, 0.7), (-3.3, 1e9), (40.0, 160.0)):
        m = po.NoisyQuery("sum", "laplace", math.inf, 0.0, 0.0, clip=clip, length=50)
        data = rng.uniform(*clip, 50)
        for _ in range(50):
            low, high = data.copy(), data.copy()
            low[7], high[7] = clip[0] - 1, clip[1] + 1
            apart = value("sum", high, clip, 50, None) - value("sum", low, clip, 50, None)
            assert apart <= m.sensitivity
            data = rng.uniform(*clip, 50)
        assert m.sensitivity == pytest.approx(clip[1] - clip[0], rel=1e-9)
    assert m.sensitivity == 120.0


def test_releases_by_opendp() -> None:
    letters = ["a", "b", "b", "c"]
    histogram = po.NoisyQuery("histogram", "discrete_laplace", 1e-2, 200.0, 300.0, states=("a", "b", "c"))
    assert histogram.release(letters).tolist() == [1, 2, 1]
    assert not histogram.release(letters).simulated
    assert histogram.release(letters, np.random.default_rng(0)).simulated
    count = po.NoisyQuery(("count", "b"), "laplace", 1e-6, 1e6 + 1, 2e6, states=("a", "b", "c"))
    assert count.release(letters) == pytest.approx(2, abs=1e-3)
    mean = po.NoisyQuery("mean", "laplace", 1e-6, 1e7, 1e7, clip=(0, 10), length=4)
    assert mean.release([1, 2, 3, 400]) == pytest.approx(4, abs=1e-3)
    top = po.NoisyQuery(po.Query(max, 5.0), "laplace", 1e-6, 1e7, 1e7)
    assert top.release([1, 5, 2]) == pytest.approx(5, abs=1e-3)
    reports = po.NoisyQuery("count", "randomised_response", 1e-9, 30.0, 40.0, length=4, states=(0, 1))
    assert reports.release([1, 0, 1, 1]) == pytest.approx(3, abs=1e-6)
    hidden = po.NoisyQuery("count", "laplace", math.inf, 0.0, 0.0)
    assert hidden.release([1, 1]) == hidden.release([0, 0])


def test_without_opendp_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shapes, "find_spec", lambda name: None)
    m = po.NoisyQuery("count", "discrete_laplace", 2.0, 0.5, 1.0)
    with pytest.raises(MissingExtra, match="pip install 'privopt\\[noise\\]'"):
        m.release([1, 0])
    assert m.release([1, 0], np.random.default_rng(0)).simulated


GOOD: dict[str, Any] = {
    "query": "sum",
    "noise": "laplace",
    "scale": 10.0,
    "tau": 1.0,
    "leakage": 2.0,
    "clip": (0, 1),
}


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"query": "median"}, "query must be one of"),
        ({"clip": None}, "needs clip"),
        ({"clip": (1, 0)}, "the lower first"),
        ({"clip": (0, NAN)}, "finite"),
        ({"scale": 0}, "scale must be > 0"),
        ({"scale": NAN}, "scale"),
        ({"scale": 0.5}, "raise the scale"),
        ({"noise": "gauss"}, "noise must be one of"),
        ({"noise": "discrete_laplace"}, "for counts and histograms"),
        ({"noise": "randomised_response", "scale": 0.1}, "answers counts"),
        ({"query": "count", "noise": "randomised_response", "scale": 0.5}, "below 1/2"),
        ({"query": "mean"}, "needs length"),
        ({"leakage": -1}, "leakage must be >= 0"),
        ({"scope": "everything"}, "scope must be one of"),
        ({"length": 0}, "length"),
    ],
)
def test_bad_mechanisms_are_refused(changed: dict[str, Any], words: str) -> None:
    with pytest.raises(InvalidMechanism, match=words):
        po.NoisyQuery(**{**GOOD, **changed})


@pytest.mark.parametrize(
    ("data", "words"),
    [
        ([1.0, NAN], "record 1"),
        ([1.0, None], "record 1"),
        (["a"], "record 0 is not a number"),
        ([], "no records"),
        ("ab", "one string"),
    ],
)
def test_bad_data_are_refused(data: Any, words: str) -> None:
    with pytest.raises(InvalidMechanism, match=words):
        po.NoisyQuery(**GOOD).release(data)


def test_queries_need_a_sensitivity() -> None:
    for sensitivity in (None, 0, -1, math.inf, NAN, True):
        with pytest.raises(InvalidMechanism, match="sensitivity"):
            po.Query(max, sensitivity)  # type: ignore[arg-type]
    with pytest.raises(InvalidMechanism, match="cannot be written"):
        po.NoisyQuery(po.Query(max, 1.0), "laplace", 2.0, 1.0, 1.0).to_dict()
    with pytest.raises(InvalidMechanism, match="not certified"):
        po.NoisyQuery(**GOOD).validated(simulation_only=True).release([1.0])
