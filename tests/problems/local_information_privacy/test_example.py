"""From a frame of people to a released column: the survey that ships, and the census where it is present."""

from __future__ import annotations

import gzip
import hashlib
from importlib.resources import files
from io import StringIO
from pathlib import Path

import pandas as pd
import pytest

import privopt as po
from privopt.benchmarks.data.external import load_external
from privopt.benchmarks.data.shipped import FIRST, WORDS, anes

COLUMNS = ["sex", "income", "education", "occupation"]


def test_the_survey_is_what_its_licence_page_says() -> None:
    folder = files("privopt.benchmarks.data")
    digest = hashlib.sha256(folder.joinpath("anes-1996.csv").read_bytes()).hexdigest()
    assert f"`{digest}`" in folder.joinpath("LICENCES.md").read_text(encoding="utf-8")


def test_every_code_has_its_word() -> None:
    frame = anes()
    codes = pd.read_csv(StringIO(files("privopt.benchmarks.data").joinpath("anes-1996.csv").read_text()))
    for column, words in WORDS.items():
        expected = codes[column].map(dict(enumerate(words, start=FIRST[column])))
        assert frame[column].tolist() == expected.tolist()
        assert set(frame[column]) == set(words)
    # the published cross table of vote and party
    strong = frame[frame["party"] == "strong Republican"]["vote"].value_counts().to_dict()
    assert strong == {"Dole": 167, "Clinton": 8}


@pytest.mark.parametrize("useful", [["education"], ["leaning"], ["party"], ["leaning", "education"]])
def test_a_survey_column_is_released(useful: list[str]) -> None:
    frame = anes()
    joint = po.JointDistribution.from_frame(frame, sensitive=["vote"], useful=useful)
    problem = po.LocalInformationPrivacy(joint, epsilon=0.4)
    solution = po.solve(problem, "subset-merging")
    assert isinstance(solution.mechanism, po.Merging)
    if len(useful) == 1:
        released = solution.mechanism.release(frame[useful[0]])
    else:  # blocks of product symbols have short names, in one column
        released = solution.mechanism.release(frame)["released"]
        assert set(released) == {f"B{i}" for i in range(len(solution.mechanism.blocks))}
    check_column(frame["vote"], pd.Series(list(released)), 0.4)
    assert po.verify(problem, solution).ok


def test_the_merge_of_high_risk_education_leaks() -> None:
    joint = po.JointDistribution.from_frame(anes(), sensitive=["vote"], useful=["education"])
    solution = po.solve(po.LocalInformationPrivacy(joint, epsilon=0.3), "watchdog-merge")
    assert solution.stats["raw_leakage"] == pytest.approx(0.4648573716, abs=1e-9)
    assert solution.certified
    assert solution.leakage == pytest.approx(0.3, abs=1e-9)


def test_an_answer_goes_through_files(tmp_path: Path) -> None:
    frame = anes()
    joint = po.JointDistribution.from_frame(frame, sensitive=["vote"], useful=["leaning"])
    problem = po.LocalInformationPrivacy(joint, epsilon=0.5)
    solution = po.solve(problem, "subset-merging")
    solution.save(tmp_path / "solution.json")
    again = po.Solution.load(tmp_path / "solution.json")
    assert po.verify(problem, again).ok
    assert list(again.mechanism.release(frame["leaning"])) == list(
        solution.mechanism.release(frame["leaning"])
    )


def test_a_census_column_is_released() -> None:
    try:
        path = load_external("adult")
    except po.errors.FileRefused as cause:
        pytest.skip(str(cause))
    with gzip.open(path, "rt") as file:
        frame = pd.read_csv(file, usecols=COLUMNS, skipinitialspace=True, keep_default_na=False)
    joint = po.JointDistribution.from_frame(
        frame, sensitive=["sex", "income"], useful=["education", "occupation"]
    )
    problem = po.LocalInformationPrivacy(joint, epsilon=1.0)
    solution = po.solve(problem, "subset-merging")
    assert solution.certified
    assert solution.stats["repaired"] == 0
    assert solution.utility is not None
    assert solution.utility > po.measures.entropy(joint.p_x) / 2
    released = solution.mechanism.release(frame[["education", "occupation"]])
    secret = frame["sex"] + ", " + frame["income"]
    check_column(secret, released["released"], 1.0)


def check_column(secret: pd.Series[str], released: pd.Series[str], epsilon: float) -> None:
    """The lifts of the released column itself, counted anew."""
    table = pd.crosstab(secret.array, released.array).to_numpy()
    rows, columns = table.sum(axis=1, keepdims=True), table.sum(axis=0, keepdims=True)
    lifts = table * table.sum() / (rows * columns)
    assert lifts.max() <= 2.718281828459046**epsilon
    assert lifts.min() >= 2.718281828459045**-epsilon
