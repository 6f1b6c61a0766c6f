"""Sets of distributions: extremes against linear programs and SLSQP, members, counts, files, refusals."""

from __future__ import annotations

import json
import math
from fractions import Fraction as F
from operator import mul
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.optimize import linprog, minimize
from scipy.stats import beta

import privopt as po
from privopt.errors import InvalidModel
from privopt.models.ambiguity.intervals import clopper_pearson, weissman_radius


def expectation(row: po.RowSet, weights: tuple[int, ...], values: list[int]) -> float:
    return float(F(sum(w * v for w, v in zip(weights, values, strict=True)), row.denominator))


@pytest.mark.parametrize("seed", range(20))
def test_extremes_are_those_of_programs(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 6))
    values = [int(v) for v in rng.integers(0, 20, n)]
    counts = [int(k) for k in rng.integers(0, 9, n)]
    counts[0] += 1
    center = [F(k, sum(counts)) for k in counts]
    q = np.array([float(c) for c in center])

    ball = po.RowSet.total_variation(center, F(int(rng.integers(0, 11)), 10))
    eye = np.eye(n)
    moved = np.vstack([np.hstack([eye, -eye]), np.hstack([-eye, -eye]), np.r_[np.zeros(n), np.ones(n)][None]])
    program = linprog(
        -np.r_[values, np.zeros(n)],
        moved,
        np.r_[q, -q, 2 * float(ball.radius)],
        np.r_[np.ones(n), np.zeros(n)][None],
        [1],
    )
    assert ball.largest(values)[0] / ball.denominator == pytest.approx(-float(program.fun or 0.0), abs=1e-9)

    low, high = [max(F(0), c - F(1, 10)) for c in center], [c + F(1, 7) for c in center]
    box = po.RowSet.interval(low, high)
    program = linprog(
        values,
        bounds=list(zip(map(float, low), map(float, high), strict=True)),
        A_eq=np.ones((1, n)),
        b_eq=[1],
    )
    assert box.smallest(values)[1] / box.denominator == pytest.approx(program.fun, abs=1e-9)
    order = sorted(range(n), key=values.__getitem__)
    for row in (ball, box):
        assert row.contains(row.farthest(values))
        assert row.largest(values, order)[0] == sum(map(mul, row.farthest(values), values))
        assert row.smallest(values, order) == row.smallest(values)


@pytest.mark.parametrize("seed", range(12))
def test_chi_squared_extremes_are_those_of_slsqp(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 6))
    values = [int(v) for v in rng.integers(0, 20, n)]
    counts = [int(k) for k in rng.integers(1, 9, n)]
    row = po.RowSet.chi2([F(k, sum(counts)) for k in counts], F(int(rng.integers(0, 25)), 10))
    q = np.array([float(c) for c in row.center])
    best: Any = minimize(
        lambda p: -p @ values,
        q,  # type: ignore[arg-type]  # the stubs know numbers only
        bounds=[(0, 1)] * n,
        constraints=[
            {"type": "eq", "fun": lambda p: p.sum() - 1},
            {"type": "ineq", "fun": lambda p: float(row.radius) ** 2 - ((p - q) ** 2 / q).sum()},
        ],
        options={"ftol": 1e-14, "maxiter": 500},
    )
    low, high = row.largest(values)
    assert 0 <= high - low <= 2
    assert high / row.denominator == pytest.approx(-best.fun, abs=1e-5)
    member = row.farthest(values)
    assert row.contains(member)
    assert expectation(row, member, values) == pytest.approx(high / row.denominator, abs=1e-9)


def test_a_known_chi_squared_extreme() -> None:
    row = po.RowSet.chi2([F(1, 10), F(1, 5), F(3, 10), F(2, 5)], F(3, 10))
    assert row.largest([9, 1, 5, 2])[1] / row.denominator / 10 == pytest.approx(0.412498276, abs=1e-9)


@pytest.mark.parametrize(("count", "total"), [(0, 10), (3, 10), (10, 10), (480, 1000), (1, 20_000)])
def test_counted_bounds_are_those_of_scipy_rounded_outward(count: int, total: int) -> None:
    miss = F(1, 20)
    low, high = clopper_pearson(count, total, miss)
    expected = beta.ppf(0.025, count, total - count + 1) if count else 0.0
    assert expected * (1 - 1e-9) <= low <= expected or low == expected == 0
    expected = beta.ppf(0.975, count + 1, total - count) if count < total else 1.0
    assert expected <= high <= expected * (1 + 1e-9)
    if 0 < count:
        tail = (
            sum(math.comb(total, k) * low**k * (1 - low) ** (total - k) for k in range(count, total + 1))
            if total <= 10
            else F(0)
        )
        assert tail <= miss / 2


@pytest.mark.long
def test_sets_of_counts_hold_the_population_as_often_as_they_say() -> None:
    rng, population = np.random.default_rng(1), np.array([[0.3, 0.15, 0.05], [0.1, 0.15, 0.25]])
    joint = po.JointDistribution.normalised(population)
    for method, at_least in (("clopper-pearson", 50), ("weissman", 50)):
        held = 0
        for _ in range(60):
            counts = rng.multinomial(400, population.ravel() / population.sum()).reshape(2, 3)
            held += po.JointAmbiguity.from_counts(counts, 0.9, method).contains(joint)
        assert held >= at_least


def test_the_outer_set_holds_every_joint_of_the_ball() -> None:
    rng = np.random.default_rng(3)
    center = po.JointDistribution.normalised([[5, 2, 1], [1, 3, 4]])
    near = po.JointAmbiguity.joint_total_variation(center, F(1, 20))
    weights = np.array([[5, 2, 1], [1, 3, 4]]) * 400
    for _ in range(200):
        moved, left = weights.copy().ravel(), 320  # 1/20 of 6400
        while left:
            a, b = rng.integers(0, 6, 2)
            step = min(int(rng.integers(1, left + 1)), int(moved[a]))
            moved[a], moved[b], left = moved[a] - step, moved[b] + step, left - max(step, 1)
        assert near.contains(po.JointDistribution.normalised(moved.reshape(2, 3)))


def test_files_and_notebooks(tmp_path: Path) -> None:
    rows = [po.RowSet.chi2([0.5, 0.5], 0.25), po.RowSet.interval([0, F(1, 3)], [F(2, 3), 1])]
    for near in (
        po.JointAmbiguity(rows, po.RowSet.all(2), nominal=[[0.25, 0.25], [0.25, 0.25]], sensitive=["a", "b"]),
        po.JointAmbiguity.from_counts([[3, 1], [2, 5]], 0.9, "weissman", ["no", "yes"], ["f", "m"]),
        po.RowSet.total_variation([0.1, 0.9], 0.05),
    ):
        path = tmp_path / "set.json"
        path.write_text(json.dumps(near.to_dict()))
        assert po.load_model(path) == near
        assert po.model_from_dict(near.to_dict()) == near
    assert "confidence 0.9" in repr(po.JointAmbiguity.from_counts([[3, 1], [2, 5]], 0.9))
    assert "<table" in po.JointAmbiguity.from_counts([[3, 1], [2, 5]])._repr_html_()
    shown = po.RowSet.total_variation([0.25, 0.75], 0.125)._repr_html_()
    assert all(f">{value}<" in shown for value in ("at least", "0.125", "0.375", "0.625", "0.875"))


def test_a_prior_of_floats_fits_a_nominal_joint_of_floats() -> None:
    joint = po.JointDistribution([[0.3, 0.2], [0.1, 0.4]])
    near = po.JointAmbiguity.interval(
        [[0.5, 0.3], [0.1, 0.7]], [[0.7, 0.5], [0.3, 0.9]], [0.5, 0.5], nominal=joint
    )
    assert near.prior.is_point
    assert near.nominal.table == pytest.approx(joint.table, abs=1e-15)
    with pytest.raises(InvalidModel, match="its distribution of S"):
        po.JointAmbiguity.interval(
            [[0.5, 0.3], [0.1, 0.7]], [[0.7, 0.5], [0.3, 0.9]], [0.4, 0.6], nominal=joint
        )


def test_a_frame_keeps_its_columns() -> None:
    import pandas as pd

    frame = pd.DataFrame({"ill": ["no", "no", "yes", "no"], "age": [20, 60, 70, 30]})
    near = po.JointAmbiguity.from_frame(frame, "ill", "age", bins={"age": [0, 50, 100]})
    assert near.nominal.columns is not None
    assert near.useful == ("0-49", "50-100")
    assert near.confidence == 0.95


def test_refusals() -> None:
    with pytest.raises(InvalidModel, match="no distribution lies between"):
        po.RowSet.interval([0.6, 0.6], [0.7, 0.7])
    with pytest.raises(InvalidModel, match=r"lower\[1\] is above upper\[1\]"):
        po.RowSet.interval([0.1, 0.6], [0.7, 0.5])
    with pytest.raises(InvalidModel, match="sums to"):
        po.RowSet.total_variation([0.5, 0.6], 0.1)
    with pytest.raises(InvalidModel, match="radius"):
        po.RowSet.chi2([0.5, 0.5], -1)
    with pytest.raises(InvalidModel, match="needs a nominal joint"):
        po.JointAmbiguity([po.RowSet.all(2)], [1])
    with pytest.raises(InvalidModel, match=r"by its row 0 of P\(x \| s\)"):
        po.JointAmbiguity([po.RowSet.total_variation([0.5, 0.5], 0.1)], [1], nominal=[[0.9, 0.1]])
    with pytest.raises(InvalidModel, match="different numbers of useful symbols"):
        po.JointAmbiguity([po.RowSet.all(2), po.RowSet.all(3)], [0.5, 0.5], nominal=[[0.5, 0], [0, 0.5]])
    with pytest.raises(InvalidModel, match="one row each"):
        po.JointAmbiguity([po.RowSet.all(2)], [0.5, 0.5], nominal=[[0.5, 0], [0, 0.5]])
    with pytest.raises(InvalidModel, match="between 0 and 1"):
        po.JointAmbiguity.from_counts([[1, 2]], 1.0)
    with pytest.raises(InvalidModel, match="no counts"):
        po.JointAmbiguity.from_counts([[1.5, 2]])
    with pytest.raises(InvalidModel, match="choose 'clopper-pearson' or 'weissman'"):
        po.JointAmbiguity.from_counts([[1, 2]], method="wald")


def test_rows_that_were_not_counted_may_be_anything() -> None:
    near = po.JointAmbiguity.from_counts([[3, 1], [0, 0]])
    assert near.rows[1].kind == "all"
    assert weissman_radius(0, 3, F(1, 20)) == 1
    assert weissman_radius(5, 1, F(1, 20)) == 0
