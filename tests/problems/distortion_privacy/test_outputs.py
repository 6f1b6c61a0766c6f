"""Names of the releases: what a mechanism writes, what files keep, and what is refused."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pandas as pd
import pytest

import privopt as po
from privopt.errors import InvalidMechanism, InvalidProblem

PEOPLE = pd.DataFrame({"vote": ["a", "b", "a", "b"] * 30, "age": [17, 18, 25, 40] * 30})
JOINT = po.JointDistribution.from_frame(PEOPLE, "vote", "age")
GROUPS = [[0, 1], [0, 1], [1, 0], [1, 0]]


def problems(outputs: Any) -> list[po.Problem[Any]]:
    return [
        po.DistortionPrivacy(JOINT, GROUPS, max_leakage=0.4, leakage="lip", outputs=outputs),
        po.LocalInformationPrivacy(JOINT, 0.4, utility=GROUPS, outputs=outputs),
    ]


@pytest.mark.parametrize("kind", [0, 1])
def test_a_distortion_that_is_not_square_releases_the_names_of_its_columns(kind: int) -> None:
    problem = problems(["young", "old"])[kind]
    solution = po.solve(problem, time_limit=4.0)
    released = solution.mechanism.release(PEOPLE, np.random.default_rng(1))
    assert list(released.columns) == ["age"]
    assert set(released.age) == {"young", "old"}
    assert po.verify(problem, solution).ok
    again = po.problem_from_dict(json.loads(json.dumps(problem.to_dict())))
    assert again == problem
    assert again.fingerprint == problem.fingerprint
    assert again.with_budget(0.2).release_labels == ("young", "old")
    assert problem.anchor().outputs == ("young", "old")


@pytest.mark.parametrize("kind", [0, 1])
def test_names_change_no_fingerprint_where_there_are_none(kind: int) -> None:
    plain, named = problems(None)[kind], problems(["young", "old"])[kind]
    assert "outputs" not in plain.to_dict()
    assert plain.fingerprint != named.fingerprint
    assert plain.evaluate(plain.anchor()) == named.evaluate(plain.anchor())


@pytest.mark.parametrize(
    ("outputs", "match"),
    [
        (["young"], "1 names, the distortion has 2 columns"),
        (["young", "young"], "repeats the label"),
        ("ab", "give a list of labels"),
        ([["a"], "b"], "cannot be hashed"),
        ([None, "b"], "missing value"),
    ],
)
def test_names_that_do_not_fit_are_refused(outputs: Any, match: str) -> None:
    for make in range(2):
        with pytest.raises(InvalidProblem, match=match):
            problems(outputs)[make]


def test_an_information_has_no_columns_to_name() -> None:
    with pytest.raises(InvalidProblem, match="leave outputs out"):
        po.LocalInformationPrivacy(JOINT, 0.4, outputs=["a", "b"])


@pytest.mark.parametrize("kind", [0, 1])
def test_a_mechanism_of_other_names_is_refused(kind: int) -> None:
    problem = problems(["young", "old"])[kind]
    matrix = [[0.5, 0.5]] * 4
    for outputs in (("old", "young"), ("a", "b")):
        with pytest.raises(InvalidMechanism, match="give it the problem's outputs"):
            problem.evaluate(po.Channel(matrix, JOINT.useful, outputs))
    assert problem.evaluate(po.Channel(matrix, JOINT.useful)).feasible
    assert problem.evaluate(po.Channel(matrix, JOINT.useful, ("young", "old"))).feasible
