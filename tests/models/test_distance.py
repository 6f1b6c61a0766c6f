"""Distances between the values of a column: what they are, and that a release errs by what its problem promised."""

from __future__ import annotations

import json
from datetime import date
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import privopt as po
from privopt.errors import InvalidModel
from privopt.models.columns import Column
from privopt.models.distance import Distance

RNG = np.random.default_rng(3)
SECRET = RNG.integers(0, 2, 6000)
PEOPLE = pd.DataFrame(
    {
        "vote": np.where(SECRET == 1, "left", "right"),
        "age": np.clip(20 + RNG.poisson(3 + 3 * SECRET), 17, 32),
        "school": RNG.choice(["low", "middle", "high"], 6000),
    }
)


def test_numbers_ranks_bins_and_categories() -> None:
    assert po.distance(pd.Series([30, None, 17.5, 30])).matrix.tolist() == [[0, 12.5], [12.5, 0]]
    order = ["low", "middle", "high"]
    ranked = po.distance(pd.Series(pd.Categorical(PEOPLE.school, order, ordered=True)))
    assert (ranked.labels, ranked.unit, ranked.matrix[0].tolist()) == (tuple(order), "ranks", [0, 1, 2])
    assert po.distance(pl.Series("school", ["high", "low"], dtype=pl.Enum(order))).matrix[0].tolist() == [
        0,
        1,
        2,
    ]
    assert po.distance(pd.Series(pd.Categorical(["b", "a"]))).matrix.tolist() == [[0, 1], [1, 0]]
    assert po.distance([True, False]).kind == "categories"
    cut = po.distance(pd.cut(pd.Series([1.0, 12.0]), [0, 10, 30]), unit="years")
    assert (cut.kind, cut.matrix[0].tolist()) == ("bins", [0, 15])
    binned = po.distance(Column("age", "binned", ("0-9", "10-30"), (0.0, 10.0, 30.0)), unit="years")
    assert binned.matrix[0].tolist() == [0, 15]
    assert np.array_equal(np.asarray(binned), binned.matrix)


def test_polars_and_pandas_give_the_same() -> None:
    assert po.distance(pl.Series("age", PEOPLE.age.tolist()), "years") == po.distance(PEOPLE.age, "years")


@pytest.mark.parametrize(
    ("column", "unit", "match"),
    [
        (PEOPLE.school, "years", "has no unit"),
        (PEOPLE.age, "", "name of what a number counts"),
        (PEOPLE.age, 3, "name of what a number counts"),
        ("age", None, "is a str: give a column"),
        ([None], None, "no value"),
        ([1.0, float("inf")], None, "not finite"),
        ([[1]], None, "cannot be hashed"),
        (pd.Series(pd.to_datetime(["2020-01-01"])), None, "dates or times"),
        (pl.Series("born", [date(2020, 1, 1)]), None, "dates or times"),
        (range(5001), None, None),
    ],
)
def test_what_is_no_distance_is_refused(column: Any, unit: Any, match: str | None) -> None:
    if match is None:
        with pytest.raises(InvalidModel, match="too many for a matrix"):
            po.distance(column).matrix  # noqa: B018 - the matrix is what is refused
        return
    with pytest.raises(InvalidModel, match=match):
        po.distance(column, unit)


def test_a_distance_is_put_into_the_order_of_the_model() -> None:
    joint = po.JointDistribution.normalised([[3, 2, 1], [1, 2, 3]], useful=[25, 17, 18])
    problem = po.DistortionPrivacy(joint, po.distance([17, 18, 25], unit="years"), max_distortion=2)
    assert problem.matrix[0].tolist() == [0, 8, 7]
    assert "unit='years'" in repr(problem)
    assert problem.release_labels == (25, 17, 18)
    utility = po.LocalInformationPrivacy(joint, 0.5, utility=po.distance([17, 18, 25]))
    assert utility.matrix is not None
    assert np.array_equal(utility.matrix, problem.matrix)


def test_a_model_of_bins_gets_the_distance_of_their_middles() -> None:
    joint = po.JointDistribution.from_frame(PEOPLE, "vote", "age", bins={"age": [17, 21, 25, 33]})
    problem = po.DistortionPrivacy(joint, po.distance(PEOPLE.age, unit="years"), max_distortion=2)
    assert problem.matrix.tolist() == [[0, 4, 10], [4, 0, 6], [10, 6, 0]]


def test_a_distance_of_something_else_is_refused() -> None:
    two = po.JointDistribution.from_frame(PEOPLE, "vote", ["age", "school"])
    one = po.JointDistribution.from_frame(PEOPLE, "vote", "school")
    gaps = PEOPLE.age.astype(float).where(PEOPLE.age > 20)
    missing = po.JointDistribution.from_frame(PEOPLE.assign(age=gaps), "vote", "age", missing="symbol")
    for joint, match in (
        (two, "made of 'age', 'school'"),
        (one, "another column"),
        (missing, 'missing="drop"'),
    ):
        with pytest.raises(InvalidModel, match=match):
            po.DistortionPrivacy(joint, po.distance(PEOPLE.age), max_distortion=2)
    other = po.JointDistribution.normalised([[1, 1]], useful=[1, 99])
    with pytest.raises(InvalidModel, match="make both from the same column"):
        po.DistortionPrivacy(other, po.distance([1, 2]), max_distortion=2)
    labels = po.JointDistribution.from_frame(PEOPLE.assign(age=gaps), "vote", "age", missing="symbol").useful
    assert Distance(labels[:-1], (), "age").between(labels).matrix.shape == (len(labels), len(labels))


def test_the_promised_mean_error_is_that_of_the_released_table() -> None:
    joint = po.JointDistribution.from_frame(PEOPLE, "vote", "age")
    problem = po.DistortionPrivacy(
        joint, po.distance(PEOPLE.age, unit="years"), max_leakage=0.3, leakage="lip"
    )
    solution = po.solve(problem, "direct-lp")
    promised = -solution.utility if solution.utility is not None else 0.0
    errors = []
    for seed in range(5):
        released = solution.mechanism.release(PEOPLE, np.random.default_rng(seed))
        assert list(released.columns) == ["age"]
        errors.append(np.abs(released.age.astype(int) - PEOPLE.age).to_numpy())
    drawn = np.concatenate(errors)
    assert abs(drawn.mean() - promised) < 5 * drawn.std() / np.sqrt(len(drawn))
    assert promised > 0.5


def test_a_unit_is_written_read_and_part_of_the_fingerprint() -> None:
    joint = po.JointDistribution.from_frame(PEOPLE, "vote", "age")
    problem = po.DistortionPrivacy(joint, po.distance(PEOPLE.age, unit="years"), max_distortion=2)
    again = po.problem_from_dict(json.loads(json.dumps(problem.to_dict())))
    assert isinstance(again, po.DistortionPrivacy)
    assert (again, again.unit, again.fingerprint) == (problem, "years", problem.fingerprint)
    assert problem.with_budget(1.0).unit == "years"
    bare = po.DistortionPrivacy(joint, problem.matrix, max_distortion=2)
    assert "unit" not in bare.to_dict()
    assert bare.fingerprint != problem.fingerprint
    assert "2.0 years" in problem.certify(problem.anchor()).reason
    with pytest.raises(po.errors.InvalidProblem, match="unit must be a short name"):
        po.DistortionPrivacy(joint, problem.matrix, max_distortion=2, unit=" ")
