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
