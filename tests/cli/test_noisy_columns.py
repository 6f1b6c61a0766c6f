"""A noisy query knows the columns that its model was fitted to: others are refused, its own need not be named."""

from __future__ import annotations

import csv
import json
import pickle
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from typer.testing import CliRunner

import privopt as po
from privopt.cli import app
from privopt.errors import FileRefused, InvalidMechanism, InvalidModel

FATHERS = [170.0, 182.0, 165.0, 177.0, 190.0, 168.0]
CHILDREN = [171.0, 178.0, 169.0, 180.0, 184.0, 166.0]
FRAME = pd.DataFrame({"father": FATHERS, "child": CHILDREN})


def run(*words: str, code: int = 0) -> str:
    done = CliRunner().invoke(app, list(words))
    assert done.exit_code == code, done.output
    return " ".join(done.output.split())


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    with Path("days.csv").open("w", newline="", encoding="utf-8") as stream:
        rows = [("n", "other"), *(("10"[i % 3 > 0], "01"[i % 2]) for i in range(60))]
        csv.writer(stream).writerows(rows)
    FRAME.to_csv("families.csv", index=False)
    return tmp_path


def solved(model: str, query: Any, **more: Any) -> Any:
    problem = {"type": "bayesian_privacy", "model": {"file": model}, "query": query, "epsilon": 1.0, **more}
    Path("problem.json").write_text(json.dumps(problem), encoding="utf-8")
    run("solve", "problem.json", "--output", "solution.json")
    return po.Solution[Any].load("solution.json").mechanism


def test_a_count_of_a_chain_is_of_the_column_of_the_chain(folder: Path) -> None:
    run("fit", "days.csv", "--column", "n", "--output", "chain.json")
    assert solved("chain.json", {"count": "1"}).read_columns == ("n",)
    words = ("release", "solution.json", "days.csv", "--output", "out.csv")
    said = run(*words, "--column", "other", code=2)
    assert "the model was fitted to 'n', not 'other': what is proved is about that column" in said
    assert not Path("out.csv").exists()
    assert "records 60" in run(*words)
    assert float(pd.read_csv("out.csv")["released"][0]) == pytest.approx(20, abs=200)
    run(*words, "--column", "n")
    assert "PROVED" in run("verify", "problem.json", "solution.json")


def test_a_sum_of_a_gaussian_model_is_of_all_its_columns(folder: Path) -> None:
    run("fit", "families.csv", "--record", "father", "--record", "child", "--output", "model.json")
    assert solved("model.json", "sum", clip=[150, 190]).read_columns == ("father", "child")
    words = ("release", "solution.json", "families.csv", "--output", "out.csv")
    assert "records 12" in run(*words)
    assert "'child' is missing" in run(*words, "--column", "father", code=2)
    assert "not 'mother'" in run(*words, "--column", "mother", code=2)


def test_a_long_table_is_fitted_by_roles_or_said_to_be_taken_as_alike(folder: Path) -> None:
    rows = [
        (f"f{i}", who, str(height))
        for i in range(6)
        for who, height in (("father", FATHERS[i]), ("child", CHILDREN[i]))
    ]
    pd.DataFrame(rows, columns=["family", "who", "height"]).to_csv("long.csv", index=False)
    words = ("fit", "long.csv", "--record", "height", "--groups", "family")
    said = run(*words, "--output", "alike.json")
    assert "members of a group of 'family' are taken as alike" in said
    assert "'who' has each of its values once in every group, so give --roles who" in said
    assert "taken as alike" not in run(*words, "--roles", "who", "--output", "roles.json")
    pd.DataFrame(rows[:-1], columns=["family", "who", "height"]).to_csv("uneven.csv", index=False)
    uneven = ("fit", "uneven.csv", *words[2:])
    assert "the groups have 1 to 2 members, so that --roles is for groups of equal size only" in run(*uneven)
    assert "leave roles out, or assume nothing with GroupModel" in run(*uneven, "--roles", "who", code=2)
    wide = po.GaussianModel.fit(FRAME[["child", "father"]])
    fitted = po.load_model("roles.json")
    assert isinstance(fitted, po.GaussianModel)
    assert fitted.names == ("child", "father")
    assert fitted.covariance == pytest.approx(wide.covariance)
    alike = po.load_model("alike.json")
    assert isinstance(alike, po.GaussianModel)
    assert alike.covariance[0, 0] == alike.covariance[1, 1]
    assert "give --groups NAME" in run("fit", "long.csv", "--record", "height", "--roles", "who", code=2)
    assert "there is no column 'whom'" in run(*words, "--roles", "whom", code=2)


def test_the_noise_is_told_with_its_unit_and_a_release_says_the_scope_of_its_certificate_alone(
    folder: Path,
) -> None:
    Path("group.json").write_text('{"type": "group", "version": 1, "size": 3}', encoding="utf-8")
    problem = {
        "type": "bayesian_privacy",
        "model": {"file": "group.json"},
        "query": "sum",
        "epsilon": 1.5,
        "clip": [0, 10],
    }
    Path("problem.json").write_text(json.dumps(problem), encoding="utf-8")
    said = run("solve", "problem.json", "--output", "solution.json")
    # the general bound: level 1.5 / 3, and the scale is the distance of two values over it
    assert "noise laplace of scale 20 in the unit of the sum (level 0.5 nats)" in said.replace(",", "")
    assert "with 95 % probability the sum is within +-" in said
    told = run(
        "release", "solution.json", "families.csv", "--column", "father", "--output", "out.csv", "--ledger", "ledger.json",
        "--total", "5", "--problem", "problem.json",
    )  # fmt: skip
    assert "any two values are compared (scope all_reals)" in told
    assert "targets_in_interval" not in told
    assert "(all_reals)" in told[told.index("ledger.json:") :]


def test_a_state_that_the_group_does_not_declare_is_refused_and_without_states_it_is_said(
    folder: Path,
) -> None:
    pd.DataFrame({"ill": ["yes", "no", "yes"] * 20}).to_csv("ill.csv", index=False)
    words = ("release", "solution.json", "ill.csv", "--column", "ill", "--output", "out.csv")
    for name, fields in (("bare", {}), ("states", {"version": 2, "states": ["no", "yes"]})):
        Path(f"{name}.json").write_text(
            json.dumps({"type": "group", "version": 1, "size": 2, **fields}), encoding="utf-8"
        )
    assert solved("bare.json", {"count": "y"}, mechanism="discrete_laplace").states is None
    assert "no record is 'y', and the model declares no states" in run(*words)
    assert solved("states.json", {"count": "yes"}, mechanism="discrete_laplace").states == ("no", "yes")
    assert "no record is" not in run(*words)
    pd.DataFrame({"ill": ["yes", "no", "maybe"]}).to_csv("ill.csv", index=False)
    assert "row 3: 'ill' holds another value" in run(*words, code=2)
    problem = json.loads(Path("problem.json").read_text(encoding="utf-8")) | {"query": {"count": "y"}}
    Path("wrong.json").write_text(json.dumps(problem), encoding="utf-8")
    assert "the count is of 'y', which is not among the states ('no', 'yes')" in run(
        "solve", "wrong.json", code=2
    )


def test_long_data_remember_the_column_of_the_values() -> None:
    long = pd.DataFrame({"family": list("aabbcc"), "height": FATHERS, "role": ["f", "c"] * 3})
    assert po.GaussianModel.fit(long[["family", "height"]], groups="family").columns == ("height",)
    assert po.GaussianModel.fit(long, groups="family", roles="role").columns == ("height",)


def test_certificates_and_equality_do_not_depend_on_the_columns(folder: Path) -> None:
    fitted = po.GaussianModel.fit(FRAME)
    bare = po.GaussianModel(fitted.covariance, fitted.mean, fitted.names)
    assert fitted == bare
    assert "columns" not in bare.to_dict()
    assert po.GaussianModel.from_dict(fitted.to_dict()).columns == ("father", "child")
    assert pickle.loads(pickle.dumps(fitted)).columns == ("father", "child")
    one, two = (po.BayesianPrivacy(model, "sum", 1.0, clip=(150, 190)) for model in (fitted, bare))
    assert one.fingerprint == two.fingerprint
    named, unnamed = one.answer(0.5), two.answer(0.5)
    assert (named.read_columns, unnamed.read_columns) == (("father", "child"), ())
    assert named == unnamed
    assert named.fingerprint == unnamed.fingerprint
    assert "columns" not in unnamed.to_dict()
    assert po.NoisyQuery.from_dict(named.to_dict()).read_columns == ("father", "child")
    assert one.certify(unnamed).ok
    assert two.certify(named).ok
    other = po.NoisyQuery.from_dict({**named.to_dict(), "columns": ["mother"]})
    with pytest.raises(InvalidMechanism, match="was fitted to"):
        one.certify(other)


def test_a_group_model_may_name_its_columns() -> None:
    model = po.GroupModel(2, ("father", "child"))
    assert model == po.GroupModel(2)
    assert model.to_dict() == {"type": "group", "version": 1, "size": 2, "columns": ["father", "child"]}
    assert po.model_from_dict(model.to_dict()).columns == ("father", "child")  # type: ignore[union-attr]
    assert po.BayesianPrivacy(model, "count", 1.0).answer(0.5).reads() == ("father", "child")
    for wrong in ("father", [""], ["a", "a"], [1], None):
        with pytest.raises((InvalidModel, FileRefused)):
            po.GroupModel(2, wrong)  # type: ignore[arg-type]
        with pytest.raises((InvalidModel, FileRefused)):
            po.model_from_dict({"type": "group", "size": 2, "columns": wrong})


def test_a_query_of_an_earlier_version_names_no_column_and_takes_any(folder: Path) -> None:
    run("fit", "days.csv", "--column", "n", "--output", "chain.json")
    solved("chain.json", {"count": "1"})
    fields = json.loads(Path("solution.json").read_text(encoding="utf-8"))
    del fields["mechanism"]["columns"]
    Path("solution.json").write_text(json.dumps(fields), encoding="utf-8")
    assert "PROVED" in run("verify", "problem.json", "solution.json")
    words = ("release", "solution.json", "days.csv", "--output", "out.csv")
    assert "give --column NAME" in run(*words, code=2)
    run(*words, "--column", "other")


def test_a_count_of_intervals_reads_the_numbers_that_the_chain_was_fitted_to(folder: Path) -> None:
    levels = [3, 12, 25, 8, 4, 17, 22, 9, 1, 15] * 6
    pd.DataFrame({"level": levels}).to_csv("levels.csv", index=False)
    run("fit", "levels.csv", "--column", "level", "--bins", "level=0,10,20,30", "--output", "chain.json")
    mechanism = solved("chain.json", {"count": "10-19"}, epsilon=30.0, length=60)
    words = ("release", "solution.json", "levels.csv", "--output", "out.csv")
    said = run(*words, code=2)
    assert "'level' holds numbers, and the states are '0-9', '10-19', '20-30'" in said
    assert "give --problem PROBLEM.json" in said
    assert not Path("out.csv").exists()
    run(*words, "--problem", "problem.json", "--simulate", "1")
    assert float(pd.read_csv("out.csv")["released"][0]) == pytest.approx(18, abs=40 * mechanism.scale)
    pd.DataFrame({"level": [*levels[:-1], 99]}).to_csv("high.csv", index=False)
    said = run(
        "release", "solution.json", "high.csv", "--output", "o.csv", "--problem", "problem.json", code=2
    )
    assert "row 60 is outside its bins, 0 to 30" in said
    pd.DataFrame({"level": [*levels[:-1], None]}).to_csv("gap.csv", index=False)
    said = run(
        "release", "solution.json", "gap.csv", "--output", "o.csv", "--problem", "problem.json", code=2
    )
    assert "row 60: 'level' is empty" in said
