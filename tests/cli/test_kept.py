"""Columns that are kept beside a release: refused with what they leak, accepted with a word, and stated in the receipt."""

from __future__ import annotations

import csv
import json
import math
import os
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import privopt as po
from privopt.cli import app

HEADER = ("id", "vote", "age", "sex", "region")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """People whose region hangs on their vote, and whose sex does not: each combination of the others occurs with both."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    rows = []
    for i in range(300):
        vote = str(rng.choice(["red", "blue"]))
        age = str(
            rng.choice(["young", "mid", "old"], p=[0.3, 0.2, 0.5] if vote == "red" else [0.4, 0.3, 0.3])
        )
        region = str(rng.choice(["N", "S"], p=[0.8, 0.2] if vote == "red" else [0.4, 0.6]))
        rows += [(str(2 * i + j), vote, age, "fm"[j], region) for j in (0, 1)]
    write("people.csv", HEADER, rows)
    run("fit", "people.csv", "--sensitive", "vote", "--useful", "age", "--output", "joint.json")
    problem = {"type": "local_information_privacy", "joint": {"file": "joint.json"}, "epsilon": 0.2}
    Path("problem.json").write_text(json.dumps(problem), encoding="utf-8")
    run("solve", "problem.json", "--output", "solution.json")
    return tmp_path


def write(name: str, header: tuple[str, ...], rows: list[tuple[str, ...]]) -> None:
    with Path(name).open("w", newline="", encoding="utf-8") as stream:
        csv.writer(stream).writerows([header, *rows])


def test_a_column_beside_a_release_is_compared_with_the_secret_where_the_original_is_at_hand(
    folder: Path,
) -> None:
    run("release", "solution.json", "people.csv", "--output", "out.csv")
    people, released = rows_of("people.csv"), rows_of("out.csv")

    def beside(**columns: str) -> tuple[str, ...]:
        """A released table with columns of the original beside it, their values under other names."""
        cells = [
            tuple(
                f"{name}{sorted({p[of] for p in people}).index(person[of])}" for name, of in columns.items()
            )
            for person in people
        ]
        rows = [(row["age"], *more) for row, more in zip(released, cells, strict=True)]
        write("beside.csv", ("age", *columns), rows)
        return ("verify", "problem.json", "solution.json", "beside.csv")

    words = beside(group="vote")
    said = run(*words)
    assert "nothing is proved of the columns beside it: 'group'" in said
    assert "the values of 'group' occur exactly as often as those of the secret" in said
    said = run(*words, "--data", "people.csv", code=1)
    assert (
        "'group' beside the release has one value for each value of 'vote': it is the secret under another name"
        in said
    )
    words = beside(place="region")
    assert "occur exactly as often" not in run(*words)
    assert "'place' beside the release leaks 0." in run(*words, "--data", "people.csv", code=1)
    words = beside(kind="sex")
    assert "'kind' beside the release leaks" in run(*words, "--data", "people.csv")
    both = run(*beside(kind="sex", place="region"), "--data", "people.csv", code=1)
    assert "'place' beside the release leaks" in both
    write("few.csv", HEADER, [tuple(person[name] for name in HEADER) for person in people[:-1]])
    assert "not compared with the secret, as few.csv has 599 rows" in run(
        *words, "--data", "few.csv", "--others"
    )
    assert "the model was not counted from few.csv, whose 599 rows" in run(
        *words, "--data", "few.csv", code=1
    )


def rows_of(name: str) -> list[dict[str, str]]:
    with Path(name).open(newline="", encoding="utf-8") as stream:
        return list(csv.DictReader(stream))


def run(*words: str, code: int = 0) -> str:
    done = CliRunner().invoke(app, list(words))
    assert done.exit_code == code, done.output
    return " ".join(done.output.split())


def release(*words: str, code: int = 0) -> str:
    return run(
        "release",
        "solution.json",
        "people.csv",
        "--problem",
        "problem.json",
        "--output",
        "out.csv",
        *words,
        code=code,
    )


def independently() -> float:
    """The worst |log-lift| of the vote given region and release, summed row by row."""
    mechanism = po.Solution.load("solution.json").mechanism
    rows = rows_of("people.csv")
    votes, seen, both = Counter[str](), Counter[tuple[str, int]](), Counter[tuple[str, str, int]]()
    for row in rows:
        votes[row["vote"]] += 1
        for y, p in enumerate(mechanism.matrix[mechanism.inputs.index(row["age"])].tolist()):
            seen[row["region"], y] += p
            both[row["vote"], row["region"], y] += p
    return max(
        abs(math.log(both[vote, *place] * len(rows) / (votes[vote] * weight)))
        for vote in votes
        for place, weight in seen.items()
        if weight
    )


def test_the_secret_beside_its_release_is_refused(folder: Path) -> None:
    said = release("--keep", "vote", code=2)
    assert "'vote' beside the release would leak inf nats about 'vote', and epsilon is 0.2" in said
    assert "is the secret itself, leave it out" in said
    assert "is the secret itself" in run(
        "release", "solution.json", "people.csv", "--keep", "vote", "--output", "out.csv", code=2
    )
    assert "cannot be the column of users" in release("--by", "vote", code=2)
    assert not Path("out.csv").exists()


def test_a_column_that_leaks_is_refused_with_the_number_and_accepted_with_a_word(folder: Path) -> None:
    leak = independently()
    assert leak > 0.3
    said = release("--keep", "region", code=2)
    assert f"would leak {leak:.6g} nats about 'vote', and epsilon is 0.2" in said
    assert "which is less" in release("--keep", "region", "--accept-leakage", "0.3", code=2)
    assert not Path("out.csv").exists()
    release("--keep", "region", "--accept-leakage", str(leak + 0.01), "--receipt", "receipt.json")
    receipt = json.loads(Path("receipt.json").read_text(encoding="utf-8"))
    assert receipt["accepted_leakage"] == pytest.approx(leak + 0.01)
    assert receipt["kept_leakage"] == pytest.approx(leak, abs=1e-12)
    assert receipt["kept"] == ["region"]
    assert receipt["kept_how"] == "counted from the 600 rows of this table"
    assert [row["region"] for row in rows_of("out.csv")] == [row["region"] for row in rows_of("people.csv")]


def test_a_column_that_adds_nothing_is_kept(folder: Path) -> None:
    assert "kept columns leak" in release("--keep", "sex", "--receipt", "receipt.json")
    receipt = json.loads(Path("receipt.json").read_text(encoding="utf-8"))
    assert receipt["kept_leakage"] <= 0.2 + 1e-12
    assert receipt["accepted_leakage"] is None


def test_groups_of_equal_rows_before_and_after_are_those_of_the_tables(folder: Path) -> None:
    said = release("--keep", "region", "--accept-leakage", "inf", "--receipt", "receipt.json")
    receipt = json.loads(Path("receipt.json").read_text(encoding="utf-8"))
    assert receipt["accepted_leakage"] == "inf"
    before = Counter((row["age"], row["region"]) for row in rows_of("people.csv"))
    after = Counter(tuple(row.values()) for row in rows_of("out.csv"))
    assert receipt["smallest"] == [min(before.values()), min(after.values())]
    assert receipt["unique"] == [sum(n == 1 for n in group.values()) for group in (before, after)]
    assert f"smallest group {min(before.values())} before, {min(after.values())} after" in said


def test_numbers_of_rows_name_the_secret_as_counted(folder: Path) -> None:
    assert "most values are in one row only" in release("--keep", "id", code=2)
    release("--keep", "id", "--accept-leakage", "inf")
    release("--by", "id")
    assert [row["id"] for row in rows_of("out.csv")] == [str(i) for i in range(600)]


def test_without_the_secret_or_the_problem_nothing_is_assumed(folder: Path) -> None:
    write("others.csv", ("age", "region"), [("young", "N"), ("old", "S")] * 5)
    words = ("release", "solution.json", "others.csv", "--keep", "region", "--output", "out.csv")
    assert "give --problem PROBLEM.json" in run(*words, code=2)
    assert "has no column 'vote'" in run(*words, "--problem", "problem.json", code=2)
    said = run(*words, "--problem", "problem.json", "--accept-leakage", "inf", "--receipt", "receipt.json")
    assert "not computed: the table has no column 'vote'" in said
    assert json.loads(Path("receipt.json").read_text(encoding="utf-8"))["kept_leakage"] is None
    other = {"type": "local_information_privacy", "joint": {"file": "joint.json"}, "epsilon": 0.3}
    Path("other.json").write_text(json.dumps(other), encoding="utf-8")
    assert "another problem" in run(*words, "--problem", "other.json", code=2)


def test_the_option_goes_with_kept_columns_and_is_a_number_of_nats(folder: Path) -> None:
    assert "give it with --keep" in release("--accept-leakage", "1", code=2)
    for wrong in ("-1", "nan"):
        assert "at least 0 nats" in release("--keep", "sex", "--accept-leakage", wrong, code=2)


def test_a_sequence_under_another_name_is_refused(folder: Path) -> None:
    mechanism = po.RedactionMechanism([[0.5, 0.5]] * 4, ["dry", "wet"])
    Path("mechanism.json").write_text(json.dumps(mechanism.to_dict()), encoding="utf-8")
    write(
        "days.csv",
        ("day", "weather", "code"),
        [("1", "dry", "0"), ("2", "wet", "1"), ("3", "dry", "0"), ("4", "wet", "1")],
    )
    words = ("release", "mechanism.json", "days.csv", "--column", "weather", "--output", "out.csv")
    assert "is the same under other names" in run(*words, "--keep", "code", code=2)
    assert "what 'day' beside the release would leak is not known" in run(*words, "--keep", "day", code=2)
    assert "only how records follow each other" in run(*words, "--keep", "day", "--accept-leakage", "inf")


def test_users_of_a_redaction_are_numbered_alike_or_not(folder: Path) -> None:
    mechanism = po.RedactionMechanism([[0.5, 0.5]] * 4, ["dry", "wet"])
    Path("mechanism.json").write_text(json.dumps(mechanism.to_dict()), encoding="utf-8")
    rng = np.random.default_rng(0)
    rows = [
        (f"u{u}", str(t), str(rng.choice(["dry", "wet"])), str(u + t)) for u in range(5) for t in range(4)
    ]
    write("days.csv", ("user", "hour", "weather", "clock"), rows)
    words = (
        "release",
        "mechanism.json",
        "days.csv",
        "--column",
        "weather",
        "--by",
        "user",
        "--output",
        "out.csv",
    )
    assert "a mechanism file states no budget" in run(*words, "--keep", "hour")
    assert "'clock' beside the release would leak is not known" in run(*words, "--keep", "clock", code=2)
    assert "'clock'" in run(*words, "--keep", "hour", "--keep", "clock", code=2)


def test_beside_answers_about_datasets_only_numbers_of_rows_are_kept(folder: Path) -> None:
    graph = po.DatasetGraph([(0, 1), (1, 2)], ["no", "no", "yes"])
    solution = po.solve(po.BoundaryColouring(graph, 1.0))
    solution.save("colouring.json")
    write("rows.csv", ("row", "votes", "town"), [(str(i), str(i * i % 3), f"t{i * i}") for i in range(20)])
    words = ("release", "colouring.json", "rows.csv", "--column", "votes", "--output", "out.csv")
    run(*words, "--keep", "row")
    said = run(*words, "--keep", "town", code=2)
    assert "which datasets are neighbours, and no column is known to be harmless" in said
    run(*words, "--keep", "town", "--accept-leakage", "inf")
    run(*words, "--by", "town")


@pytest.mark.skipif(
    "PRIVOPT_DATA" not in os.environ, reason="PRIVOPT_DATA does not name the folder of data sets"
)
def test_sex_beside_education_and_age_says_too_much_about_income(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    frame = pd.read_csv(Path(os.environ["PRIVOPT_DATA"]) / "adult" / "adult.csv.gz", skipinitialspace=True)
    frame = frame[["education", "sex", "income"]].iloc[:10_000]
    frame.to_csv("people.csv", index=False)
    joint = po.JointDistribution.from_frame(frame, "income", "education")
    problem = po.PointwiseMaximalLeakage(joint, 0.2)
    Path("problem.json").write_text(json.dumps(problem.to_dict()), encoding="utf-8")
    solution = po.solve(problem)
    solution.save("solution.json")
    drawn = pd.DataFrame(
        solution.mechanism.matrix, index=pd.Index(solution.mechanism.inputs, name="education")
    )
    spread = frame.groupby(["income", "sex", "education"]).size().unstack().fillna(0.0)
    told: Any = (spread @ drawn).stack().unstack("income") / len(frame)
    lifts = told.div(told.sum(axis=1), axis=0) / told.sum()
    leak = float(np.log(lifts.max().max()))
    assert leak > 0.2
    said = release("--keep", "sex", code=2)
    assert f"'sex' beside the release would leak {leak:.6g} nats about 'income', and epsilon is 0.2" in said
    release("--keep", "sex", "--accept-leakage", f"{leak + 1e-9}")
    assert set(rows_of("out.csv")[0]) == {"sex", "released"} or "education" in rows_of("out.csv")[0]


def by_hand(folder: Path) -> None:
    """The same problem with a joint that was written by hand: it remembers no columns."""
    fields = json.loads(Path("joint.json").read_text(encoding="utf-8"))
    del fields["columns"]
    problem = {"type": "local_information_privacy", "joint": fields, "epsilon": 0.2}
    Path("problem.json").write_text(json.dumps(problem), encoding="utf-8")
    run("solve", "problem.json", "--output", "solution.json")
    assert po.Solution[Any].load("solution.json").mechanism.columns is None


def test_beside_a_joint_written_by_hand_the_secret_is_recognised_and_counted(folder: Path) -> None:
    by_hand(folder)
    leak = independently()
    assert leak > 0.3
    said = release("--column", "age", "--keep", "region", code=2)
    assert f"would leak {leak:.6g} nats about 'vote', and epsilon is 0.2" in said
    assert "is the secret itself" in release("--column", "age", "--keep", "vote", code=2)
    assert "is the secret itself" in release("--column", "age", "--by", "vote", code=2)
    assert not Path("out.csv").exists()
    accepted = ("--accept-leakage", str(leak + 0.01), "--receipt", "receipt.json")
    release("--column", "age", "--keep", "region", *accepted)
    receipt = json.loads(Path("receipt.json").read_text(encoding="utf-8"))
    assert receipt["kept_leakage"] == pytest.approx(leak, abs=1e-12)
    assert receipt["kept_how"] == "counted from the 600 rows of this table"
    release("--column", "age", "--keep", "sex")
    assert [row["sex"] for row in rows_of("out.csv")] == [row["sex"] for row in rows_of("people.csv")]


def test_where_two_columns_hold_the_values_of_the_secret_it_is_named(folder: Path) -> None:
    by_hand(folder)
    rows = [(*row.values(), "red" if i % 3 else "blue") for i, row in enumerate(rows_of("people.csv"))]
    write("people.csv", (*HEADER, "earlier"), rows)
    keep = ("--column", "age", "--keep", "region")
    said = release(*keep, code=2)
    assert (
        "has 2 columns that hold its values ('vote' and 'earlier'): give --secret NAME, leave --keep out"
        in said
    )
    assert f"would leak {independently():.6g} nats about 'vote'" in release(*keep, "--secret", "vote", code=2)
    said = release(*keep, "--secret", "sex", code=2)
    assert "row 1: 'sex' holds no value of the secret" in said
    assert "there is no column 'votes'" in release(*keep, "--secret", "votes", code=2)
    assert not Path("out.csv").exists()
    assert "it is not known which column the secret is" in release(*keep, "--accept-leakage", "inf")
    assert "give it with --keep" in release("--column", "age", "--secret", "vote", code=2)


def test_without_the_column_of_the_secret_nothing_is_kept_beside_a_joint_by_hand(folder: Path) -> None:
    by_hand(folder)
    write("people.csv", ("age", "region"), [(row["age"], row["region"]) for row in rows_of("people.csv")])
    keep = ("--column", "age", "--keep", "region")
    said = release(*keep, code=2)
    assert "the table has no such column: give --secret NAME" in said
    assert not Path("out.csv").exists()
    release(*keep, "--accept-leakage", "inf", "--receipt", "receipt.json")
    assert json.loads(Path("receipt.json").read_text(encoding="utf-8"))["kept_leakage"] is None
    words = ("release", "solution.json", "people.csv", "--output", "out.csv", *keep)
    assert "give --problem PROBLEM.json and --secret NAME" in run(*words, code=2)


def test_a_secret_of_two_columns_is_named_by_both(folder: Path) -> None:
    run(
        "fit",
        "people.csv",
        "--sensitive",
        "vote",
        "--sensitive",
        "sex",
        "--useful",
        "age",
        "--output",
        "joint.json",
    )
    by_hand(folder)
    keep = ("--column", "age", "--keep", "region")
    assert "give --secret NAME 2 times" in release(*keep, code=2)
    assert "names 1 columns where the secret has 2" in release(*keep, "--secret", "vote", code=2)
    said = release(*keep, "--secret", "vote", "--secret", "sex", code=2)
    assert "nats about 'vote' and 'sex', and epsilon is 0.2" in said


def test_a_secret_that_the_model_remembers_is_not_another(folder: Path) -> None:
    assert "remembers that the secret is 'vote'" in release("--keep", "sex", "--secret", "region", code=2)
    release("--keep", "sex", "--secret", "vote")
