"""Receipts of streams: which records, which files, once, and what all releases of the longest stream leak together."""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import privopt as po
from privopt.cli import app
from privopt.measures.sequence.total import DELTA
from privopt.publication.receipt import AGAIN, RECORDED, Receipt, file_digest

CHAIN = po.MarkovChain([[0.8, 0.2], [0.3, 0.7]], states=["in", "out"])
PROBLEM = po.SequenceInformationPrivacy(CHAIN, 1.0, horizon=4)


@pytest.fixture(scope="module")
def solution() -> po.Solution[Any]:
    """A policy that is certified without a solver."""
    policy = po.SequencePolicy(CHAIN, 1.0)
    reading = PROBLEM.evaluate(policy)
    return po.Solution[Any](
        po.Status.FEASIBLE,
        answer=policy,
        utility=reading.utility,
        leakage=reading.leakage,
        objective=reading.objective,
        certificate=PROBLEM.certify(policy),
        guarantee=po.Guarantee.FEASIBLE,
        problem=PROBLEM.fingerprint,
    )


@pytest.fixture
def folder(tmp_path: Path, solution: po.Solution[Any], monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two users, one with 31 records and one with 20; a policy of one letter a time and one of two."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    users = (("u", 31), ("v", 20))
    rows = [(who, i, str(rng.choice(["in", "out"]))) for who, count in users for i in range(count)]
    with Path("days.csv").open("w", newline="", encoding="utf-8") as stream:
        csv.writer(stream).writerows([("user", "day", "place"), *rows])
    Path("people").mkdir()
    for who in "uv":
        lines = ["place", *(place for name, _, place in rows if name == who), ""]
        Path(f"people/{who}.csv").write_text("\n".join(lines), encoding="utf-8")
    Path("problem.json").write_text(json.dumps(PROBLEM.to_dict()), encoding="utf-8")
    solution.save("solution-1.json")
    words = po.SequencePolicy(CHAIN, 1.0, 2, rule="randomised-response")
    Path("solution-2.json").write_text(json.dumps(words.to_dict()), encoding="utf-8")
    return tmp_path


def run(*words: str, code: int = 0) -> str:
    done = CliRunner().invoke(app, list(words))
    assert done.exit_code == code, done.output
    return " ".join(done.output.split())


def release(
    *words: str, batch: int = 1, data: str = "days.csv", output: str = "out.csv", code: int = 0
) -> str:
    return run(
        "release",
        f"solution-{batch}.json",
        data,
        "--column",
        "place",
        "--output",
        output,
        "--receipt",
        "receipt.json",
        *words,
        code=code,
    )


def test_a_stream_leaves_a_receipt_with_its_total_and_is_verified_with_it(folder: Path) -> None:
    release("--by", "user", "--state", "state.json")
    receipt = Receipt.load("receipt.json")
    assert (receipt.rows, receipt.drawn, receipt.once, receipt.by) == (51, 51, RECORDED, "user")
    assert receipt.total == 31.0
    assert receipt.delta == DELTA
    assert receipt.total_within == pytest.approx(po.measures.composition([1.0] * 31, DELTA))
    assert receipt.smallest is None
    with Path("days.csv").open(newline="", encoding="utf-8") as stream:
        table = list(csv.DictReader(stream))
    assert receipt.fault_of_data({name: [row[name] for row in table] for name in ("user", "place")}) is None
    assert "is plausible" in run(
        "verify", "problem.json", "solution-1.json", "out.csv", "--receipt", "receipt.json"
    )
    release("--by", "user", "--state", "state.json", output="again.csv")
    assert Receipt.load("receipt.json").once == AGAIN
    assert Path("again.csv").read_bytes() == Path("out.csv").read_bytes()


def test_words_of_a_batch_are_charged_word_by_word(folder: Path) -> None:
    release("--by", "user", batch=2)
    receipt = Receipt.load("receipt.json")
    assert receipt.total == 31.0
    assert receipt.total_within == pytest.approx(po.measures.composition([2.0] * 15 + [1.0], DELTA))


def test_a_folder_has_one_receipt_for_all_its_files(folder: Path) -> None:
    release(data="people", output="released")
    receipt = Receipt.load("receipt.json")
    assert (receipt.rows, receipt.released) == (51, "released")
    assert receipt.total == 31.0
    said = run("verify", "problem.json", "solution-1.json", "released", "--receipt", "receipt.json")
    assert "is plausible" in said
    lines = Path("released/v.csv").read_text(encoding="utf-8").splitlines()
    Path("released/v.csv").write_text("\n".join([lines[0], *lines[:0:-1], ""]), encoding="utf-8")
    if lines[1:] != lines[:0:-1]:
        said = run(
            "verify", "problem.json", "solution-1.json", "released", "--receipt", "receipt.json", code=1
        )
        assert "is not the file that was released" in said


def with_column(name: str, cell: Callable[[int, dict[str, str]], object]) -> str:
    """The days with one more column, made of a row's place and cells."""
    with Path("days.csv").open(newline="", encoding="utf-8") as stream:
        rows = list(csv.DictReader(stream))
    with Path(f"{name}.csv").open("w", newline="", encoding="utf-8") as stream:
        out = csv.DictWriter(stream, [*rows[0], name])
        out.writeheader()
        out.writerows({**row, name: cell(i, row)} for i, row in enumerate(rows))
    return f"{name}.csv"


def verified(code: int = 0) -> str:
    return run("verify", "problem.json", "solution-1.json", "out.csv", "--receipt", "receipt.json", code=code)


def test_a_column_that_numbers_the_records_adds_nothing(folder: Path) -> None:
    said = release("--by", "user", "--keep", "day")
    assert "as what is kept only numbers the records" in said
    receipt = Receipt.load("receipt.json")
    assert (receipt.kept, receipt.accepted_leakage) == (("day",), None)
    assert receipt.kept_leakage == pytest.approx(1.0, abs=1e-6)
    beside = "by the receipt: Beside the release, 'day' was copied as it is: together they leak a factor of 2.719 (1 nats)"
    assert beside in verified()
    run("bundle", "problem.json", "solution-1.json", "--receipt", "receipt.json", "--output", "b.zip")
    assert beside in run("verify", "b.zip", "out.csv")
    fields = "explain", "problem.json", "solution-1.json", "out.csv", "--receipt", "receipt.json"
    assert "'day' was copied as it is" in run(*fields)
    assert "give it with --keep" in release("--by", "user", "--accept-leakage", "1", code=2)


def test_a_receipt_that_says_falsely_that_a_column_numbers_the_records_is_refused(folder: Path) -> None:
    release("--by", "user", "--keep", "day")
    lines = Path("out.csv").read_text(encoding="utf-8").splitlines()
    changed = [line.replace(",3,", ",4,", 1) for line in lines]
    assert changed != lines
    Path("out.csv").write_text("\n".join([*changed, ""]), encoding="utf-8")
    receipt = Receipt.load("receipt.json")
    replace(receipt, sha256=file_digest("out.csv")).save("receipt.json")
    assert "only numbers the records, and it does not" in verified(code=1)


def test_a_column_that_the_model_does_not_know_is_refused_unless_anything_is_accepted(folder: Path) -> None:
    data = with_column("noise", lambda i, row: (i * 7919) % 13)
    for accepted in ((), ("--accept-leakage", "5")):
        said = release("--by", "user", "--keep", "noise", *accepted, data=data, code=2)
        assert "what 'noise' beside the release would leak is not known" in said
        assert "--accept-leakage inf, which the receipt then states" in said
        assert not Path("out.csv").exists()
    release("--by", "user", "--keep", "noise", "--accept-leakage", "inf", data=data)
    receipt = Receipt.load("receipt.json")
    assert (receipt.kept, receipt.kept_leakage, receipt.accepted_leakage) == (("noise",), None, math.inf)
    assert receipt.kept_how.startswith("not computed: the model says nothing of kept columns")
    assert "what they leak is not known" in verified()
    assert "everything was accepted" in verified()


def test_a_column_that_is_made_of_the_records_leaks_everything(folder: Path) -> None:
    chain = po.MarkovChain([[0.5, 0.3, 0.2], [0.2, 0.5, 0.3], [0.3, 0.2, 0.5]], states=["home", "in", "out"])
    problem = po.SequenceInformationPrivacy(chain, 1.0, horizon=4)
    policy = po.SequencePolicy(chain, 1.0)
    Path("solution-1.json").write_text(json.dumps(policy.to_dict()), encoding="utf-8")
    Path("problem.json").write_text(json.dumps(problem.to_dict()), encoding="utf-8")
    places = ["home", "in", "out"]
    rows = [places[i] for i in np.random.default_rng(2).integers(0, 3, 40).tolist()]
    lines = ["place,indoors", *(f"{place},{'no' if place == 'out' else 'yes'}" for place in rows), ""]
    Path("indoors.csv").write_text("\n".join(lines), encoding="utf-8")
    said = release("--keep", "indoors", data="indoors.csv", code=2)
    assert "'indoors' beside the release would leak inf nats: it says of some records for certain" in said
    release("--keep", "indoors", "--accept-leakage", "inf", data="indoors.csv")
    assert Receipt.load("receipt.json").kept_leakage == math.inf
    copy = [*(line.replace("yes", "home") for line in lines[:1]), *(f"{p},{p.upper()}" for p in rows), ""]
    Path("copy.csv").write_text("\n".join(copy), encoding="utf-8")
    words = ("--keep", "indoors", "--accept-leakage", "inf")
    assert "is the same under other names" in release(*words, data="copy.csv", code=2)
