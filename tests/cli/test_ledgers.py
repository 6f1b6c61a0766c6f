"""Noisy answers on the command line: receipts, a ledger that is charged by one run at a time, and what the accuracy says."""

from __future__ import annotations

import csv
import json
import threading
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import privopt as po
from privopt.cli import app
from privopt.core.ledger import BudgetLedger
from privopt.publication.receipt import CHARGED, NOT_RECORDED, Receipt

HEIGHTS = [160, 171, 182, 149, 195, 178, 166, 173]
"""Two of them are outside of the interval that is clipped to."""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    with Path("heights.csv").open("w", newline="", encoding="utf-8") as stream:
        csv.writer(stream).writerows([["father", "child"], *zip(HEIGHTS[::2], HEIGHTS[1::2], strict=True)])
    model = {"type": "group", "size": 2}
    problem = {"type": "bayesian_privacy", "model": model, "query": "sum", "epsilon": 0.5, "clip": [150, 190]}
    Path("problem.json").write_text(json.dumps(problem), encoding="utf-8")
    run("solve", "problem.json", "--output", "solution.json")
    return tmp_path


def run(*words: str, code: int = 0) -> str:
    done = CliRunner().invoke(app, list(words))
    assert done.exit_code == code, done.output
    return " ".join(done.output.split())


def release(*words: str, output: str = "sum.csv", code: int = 0) -> str:
    columns = ("--column", "father", "--column", "child")
    return run("release", "solution.json", "heights.csv", *columns, "--output", output, *words, code=code)


NEW = ("--ledger", "ledger.json", "--total", "1.2", "--problem", "problem.json")


def test_what_is_beyond_the_total_is_refused_and_draws_nothing(folder: Path) -> None:
    assert "at most 0.5 of 1.2 nats" in release(*NEW)
    assert "at most 1 of 1.2 nats" in release("--ledger", "ledger.json")
    before = Path("ledger.json").read_bytes()
    said = release("--ledger", "ledger.json", output="third.csv", code=2)
    assert (
        "would leak 1.5 nats, the total is 1.2; a level of 0.1 is left: such a query fits if it is solved for epsilon = 0.2 at most"
        in said
    )
    assert not Path("third.csv").exists()
    assert Path("ledger.json").read_bytes() == before
    ledger = BudgetLedger.load("ledger.json")
    assert ledger.leakage == pytest.approx(1.0)
    assert len(ledger.entries) == 2
    assert [path.name for path in folder.glob(".*")] == []


def test_a_ledger_is_begun_with_a_total_and_kept_to_its_data(folder: Path) -> None:
    assert "give --total NATS" in release("--ledger", "ledger.json", code=2)
    assert "give it with --ledger" in release("--total", "1", code=2)
    assert not Path("ledger.json").exists()
    release(*NEW)
    assert "cannot be changed" in release("--ledger", "ledger.json", "--total", "9", code=2)
    assert "leave --simulate or --ledger out" in release("--ledger", "ledger.json", "--simulate", "1", code=2)
    assert "give --ledger, not --state" in release("--state", "state.json", code=2)


def test_records_that_do_not_fit_are_refused_before_they_are_charged(folder: Path) -> None:
    model = {"type": "group", "size": 2}
    mean = {
        "type": "bayesian_privacy",
        "model": model,
        "query": "mean",
        "epsilon": 0.5,
        "clip": [150, 190],
        "length": 9,
    }
    Path("problem.json").write_text(json.dumps(mean), encoding="utf-8")
    run("solve", "problem.json", "--output", "solution.json")
    release(*NEW, code=2)
    assert not Path("ledger.json").exists()


def test_runs_at_once_never_spend_more_than_the_total(folder: Path) -> None:
    release(*NEW)
    answer = po.Solution[Any].load("solution.json").mechanism
    from privopt.cli._columns import Machine
    from privopt.cli._noisy import Account, answer_query

    refused: list[Exception] = []

    def one(number: int) -> None:
        try:
            account = Account(Path("ledger.json"))
            columns, output = ["father", "child"], Path(f"{number}.csv")
            assert isinstance(answer, po.NoisyQuery)
            answer_query(
                Machine(answer, ""), answer, Path("heights.csv"), columns, output, None, "drawn", account
            )
        except po.errors.InvalidMechanism as cause:
            refused.append(cause)

    runs = [threading.Thread(target=one, args=(i,)) for i in range(6)]
    for thread in runs:
        thread.start()
    for thread in runs:
        thread.join()
    assert len(refused) == 5
    assert BudgetLedger.load("ledger.json").leakage == pytest.approx(1.0)
    assert len(list(folder.glob("[0-9].csv"))) == 1


def test_the_receipt_says_what_was_read_and_what_all_answers_leak(folder: Path) -> None:
    release(*NEW, "--receipt", "receipt.json")
    receipt = Receipt.load("receipt.json")
    assert (receipt.rows, receipt.columns, receipt.once) == (4, ("query", "released"), CHARGED)
    assert receipt.total == pytest.approx(0.5)
    assert receipt.smallest is None
    table = {"father": list(map(str, HEIGHTS[::2])), "child": list(map(str, HEIGHTS[1::2]))}
    assert receipt.fault_of_data(table) is None
    assert "is plausible" in run(
        "verify", "problem.json", "solution.json", "sum.csv", "--receipt", "receipt.json"
    )
    run("bundle", "problem.json", "solution.json", "--receipt", "receipt.json", "--output", "bundle.zip")
    assert "PROVED" in run("verify", "bundle.zip", "sum.csv")
    Path("other.csv").write_text("query,released\nsum,1000.5\n", encoding="utf-8")
    assert "is not the file that was released" in run("verify", "bundle.zip", "other.csv", code=1)
    release("--receipt", "receipt.json")
    receipt = Receipt.load("receipt.json")
    assert (receipt.once, receipt.total) == (NOT_RECORDED, None)


def test_the_accuracy_is_of_the_noise_and_says_what_is_clipped(folder: Path) -> None:
    said = release("--receipt", "receipt.json")
    assert "(noise only; 2 of 8 records, 25 %, are outside 150 to 190 and clipped)" in said
    assert "do not publish it" in said
    assert "clipped" not in Path("sum.csv").read_text(encoding="utf-8") + Path("receipt.json").read_text(
        encoding="utf-8"
    )


@pytest.mark.parametrize(
    ("query", "states", "cell", "said"),
    [
        ("sum", None, "secret-7", "row 2: 'n' is not a finite number"),
        ("sum", None, "", "row 2: 'n' is empty, not a finite number"),
        ("sum", [1, 2], "7017", "row 2: 'n' holds another value; the states are 1, 2"),
        ("histogram", ["1", "2"], "7017", "row 2: 'n' holds another value; the states are '1', '2'"),
        ("histogram", ["1", "2"], "", "row 2: 'n' is empty; the states are '1', '2'"),
    ],
)
def test_a_cell_that_does_not_fit_is_told_by_its_row_and_never_quoted(
    tmp_path: Path, query: str, states: list[Any] | None, cell: str, said: str
) -> None:
    clip = (0, 9) if query == "sum" else None
    mechanism = po.NoisyQuery(query, "laplace", 1e9, 1.0, 1.0, clip=clip, states=states)
    (tmp_path / "query.json").write_text(json.dumps(mechanism.to_dict()), encoding="utf-8")
    with (tmp_path / "n.csv").open("w", newline="", encoding="utf-8") as stream:
        csv.writer(stream).writerows([["n", "m"], ["1", "x"], [cell, "x"]])
    words = (str(tmp_path / name) for name in ("query.json", "n.csv", "out.csv"))
    mechanism_file, data, output = words
    told = run("release", mechanism_file, data, "--column", "n", "--output", output, code=2)
    assert said in told
    assert cell == "" or cell not in told
    assert not Path(output).exists()


def of_file(name: str, *columns: str, code: int = 0) -> str:
    named = [word for column in columns for word in ("--column", column)]
    return run(
        "release", "solution.json", name, *named, "--output", "o.csv", "--ledger", "ledger.json", code=code
    )


def test_a_ledger_knows_a_renamed_copy_and_a_column_that_has_changed(folder: Path) -> None:
    release(*NEW)
    kept = json.loads(Path("ledger.json").read_text(encoding="utf-8"))
    assert (kept["version"], sorted(kept["contents"]["columns"])) == (2, ["child", "father"])
    raw = Path("heights.csv").read_text(encoding="utf-8")
    Path("other.csv").write_text(raw.replace("160", "161"), encoding="utf-8")
    assert "is for other data than 'other.csv'" in of_file("other.csv", "father", code=2)
    Path("heights.csv").write_text(raw.replace("160", "161"), encoding="utf-8")
    said = of_file("heights.csv", "father", "child", code=2)
    assert "the column 'father' of 'heights.csv' is not the one that this ledger was charged for" in said
    assert json.loads(Path("ledger.json").read_text(encoding="utf-8")) == kept
    Path("copy.csv").write_text(raw, encoding="utf-8")
    assert "at most 1 of 1.2 nats" in of_file("copy.csv", "father")
    assert Path("heights.csv").read_text(encoding="utf-8") != raw


def test_a_ledger_of_an_earlier_version_learns_its_columns(folder: Path) -> None:
    release(*NEW)
    fields = json.loads(Path("ledger.json").read_text(encoding="utf-8"))
    del fields["contents"]
    Path("ledger.json").write_text(json.dumps({**fields, "version": 1}), encoding="utf-8")
    Path("copy.csv").write_bytes(Path("heights.csv").read_bytes())
    assert "is for other data than 'copy.csv'" in of_file("copy.csv", "father", code=2)
    assert "at most 1 of 1.2 nats" in release("--ledger", "ledger.json")
    raw = Path("heights.csv").read_text(encoding="utf-8")
    Path("heights.csv").write_text(raw + "150,150\n", encoding="utf-8")
    assert "its cells have changed" in release("--ledger", "ledger.json", code=2)


def test_the_epsilon_that_is_said_to_be_left_fits_and_a_larger_one_does_not() -> None:
    chain = po.MarkovChain([[0.8, 0.2], [0.3, 0.7]])
    family = po.GaussianModel([[225, 100], [100, 225]])
    for model, query, clip in (
        (chain, "count", None),
        (family, "sum", (120, 220)),
        (po.GroupModel(3), "count", None),
    ):
        problem = po.BayesianPrivacy(model, query, 1.0, clip=clip)
        spent = po.solve(problem).mechanism
        ledger = po.BudgetLedger(model, 1.5, "x", clip=clip).charge(spent, "x")
        with pytest.raises(po.errors.InvalidMechanism, match=r"epsilon = [0-9.]+ at most") as refused:
            ledger.charge(spent, "x")
        epsilon = float(str(refused.value).rpartition("epsilon = ")[2].split()[0])
        assert 0.01 < epsilon < 1
        after = ledger.charge(po.solve(problem.with_budget(epsilon)).mechanism, "x")
        assert after.leakage <= 1.5
        with pytest.raises(po.errors.InvalidMechanism):
            ledger.charge(po.solve(problem.with_budget(1.02 * epsilon)).mechanism, "x")


def test_a_count_and_a_mean_share_a_ledger(tmp_path: Path) -> None:
    group = po.GroupModel(2)
    count = po.solve(po.BayesianPrivacy(group, ("count", 1), 0.5)).mechanism
    mean = po.solve(po.BayesianPrivacy(group, "mean", 0.5, length=8, clip=(0, 1))).mechanism
    for first, second in ((count, mean), (mean, count)):
        for length in (None, 8):
            begun = BudgetLedger(group, 1.2, "survey", length).charge(first, "survey")
            both = begun.charge(second, "survey")
            assert (both.clip, len(both.entries)) == ((0.0, 1.0), 2)
            assert both.leakage == pytest.approx(1.0, rel=1e-9)
            with pytest.raises(po.errors.InvalidMechanism, match=r"would leak 1\.5 nats"):
                both.charge(count, "survey")
    place = tmp_path / "ledger.json"
    _, ledger = BudgetLedger(group, 1.2, "survey").release(count, [0, 1] * 4, "survey", place)
    _, ledger = ledger.release(mean, [0, 1] * 4, "survey", place)
    assert BudgetLedger.load(place) == ledger
    wide = po.solve(po.BayesianPrivacy(group, "mean", 0.1, length=8, clip=(0, 5))).mechanism
    with pytest.raises(po.errors.InvalidMechanism, match="the mechanism clips to"):
        ledger.charge(wide, "survey")
    pairs = po.GaussianModel([[4.0, 1.0], [1.0, 4.0]], [0.0, 0.0])
    with pytest.raises(po.errors.InvalidProblem, match=r"are had for GroupModel\(size\)"):
        po.BayesianPrivacy(pairs, "count", 0.5)
