"""Whatever is wrong with the input, the command line says so in one sentence and leaves no file behind."""

from __future__ import annotations

import copy
import json
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import privopt as po
from privopt.cli import app

Fields = dict[str, Any]
CSV = "user,weather\n" + "u,dry\nu,wet\nu,dry\nu,dry\nu,wet\n" + "v,wet\nv,dry\nv,dry\nv,wet\nv,dry\n"


@pytest.fixture(scope="module")
def documents() -> tuple[Fields, Fields]:
    """A problem and a solution of it, as they are written to files."""
    chain = po.MarkovChain([[0.75, 0.25], [0.5, 0.5]], states=["dry", "wet"])
    problem = po.Redaction(chain, 5, 2, 1.0)
    return problem.to_dict(), po.solve(problem, "windows").to_dict()


@pytest.fixture
def folder(tmp_path: Path, documents: tuple[Fields, Fields], monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder with a good problem.json, solution.json, mechanism.json and data.csv."""
    problem, solution = documents
    write(tmp_path / "problem.json", problem)
    write(tmp_path / "solution.json", solution)
    write(tmp_path / "mechanism.json", solution["mechanism"])
    (tmp_path / "data.csv").write_text(CSV)
    (tmp_path / "folder").mkdir()
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write(path: Path, fields: Fields) -> None:
    path.write_text(json.dumps(fields))


def check(folder: Path, args: Sequence[str], fragment: str, code: int = 2) -> None:
    """Run; expect this exit code, one line on standard error that holds the fragment, and no new file."""
    before = sorted(folder.rglob("*"))
    result = CliRunner().invoke(app, args, prog_name="privopt")
    assert result.exit_code == code, (result.output, result.exception)
    lines = result.stderr.splitlines()
    assert len(lines) == 1
    assert fragment in lines[0]
    assert len(lines[0]) <= 600
    assert result.stdout == ""
    assert sorted(folder.rglob("*")) == before


TEXTS = {
    "nothing": ("", "not valid JSON"),
    "cut off": ('{"type": "redaction"', "not valid JSON"),
    "trailing": ("{} {}", "not valid JSON"),
    "twice": ('{"type": "redaction", "type": "redaction"}', "'type' is given twice"),
    "nan": ('{"epsilon": NaN}', "NaN is not JSON"),
    "infinity": ('{"epsilon": Infinity}', 'write infinity as "inf"'),
    "overflow": ('{"type": "redaction", "epsilon": 1e999}', 'write infinity as "inf"'),
    "huge integer": ('{"type": "redaction", "epsilon": 1' + "0" * 400 + "}", 'write infinity as "inf"'),
    "many digits": ('{"epsilon": ' + "1" * 5000 + "}", "not valid JSON"),
    "deep": ('{"a": ' + "[" * 40 + "]" * 40 + "}", "deeper than 32 levels"),
    "very deep": ('{"a": ' + "[" * 200_000, "not valid JSON"),
    "a list": ("[1, 2]", "expected one JSON object"),
    "a number": ("7", "expected one JSON object"),
    "no type": ("{}", "problem type None is not one of"),
    "unknown type": ('{"type": "oracle"}', "problem type 'oracle' is not one of"),
    "type a list": ('{"type": ["redaction"]}', "is not one of"),
    "only a type": ('{"type": "redaction"}', "required property"),
}


@pytest.mark.parametrize(("text", "fragment"), TEXTS.values(), ids=TEXTS)
def test_a_file_that_is_no_problem(folder: Path, text: str, fragment: str) -> None:
    (folder / "bad.json").write_text(text)
    check(folder, ["solve", "bad.json", "--output", "out.json"], fragment)


def test_binary_files(folder: Path) -> None:
    (folder / "bad").write_bytes(bytes(range(256)))
    check(folder, ["solve", "bad", "--output", "out.json"], "is not UTF-8 text")
    check(folder, ["fit", "bad", "--column", "weather", "--output", "out.json"], "is not UTF-8 text")
    check(folder, ["verify", "problem.json", "bad"], "is not UTF-8 text")
    (folder / "zero.csv").write_bytes(b"weather\ndry\0\n")
    check(folder, ["fit", "zero.csv", "--column", "weather"], "zero byte")


def test_files_that_are_not_there(folder: Path) -> None:
    for args in (
        ["solve", "no.json"],
        ["verify", "no.json", "solution.json"],
        ["verify", "problem.json", "no.json"],
    ):
        check(folder, args, "no.json: cannot be read: No such file")
    for args in (["fit", "no.csv"], ["release", "mechanism.json", "no.csv", "--output", "out.csv"]):
        check(folder, [*args, "--column", "weather"], "no.csv: cannot be read: No such file")
    check(folder, ["solve", "folder"], "folder: cannot be read: Is a directory")
    check(folder, ["fit", "folder", "--column", "weather"], "folder: cannot be read: Is a directory")


def put(*path: str | int, value: object) -> Callable[[Fields], None]:
    """A change of one place of a document."""

    def change(fields: Any) -> None:
        for key in path[:-1]:
            fields = fields[key]
        fields[path[-1]] = value

    return change


def drop(*path: str | int) -> Callable[[Fields], None]:
    """The removal of one place of a document."""

    def change(fields: Any) -> None:
        for key in path[:-1]:
            fields = fields[key]
        del fields[path[-1]]

    return change


CHANGES: dict[str, tuple[Callable[[Fields], None], str]] = {
    "row not 1": (put("chain", "transition", 0, value=[0.75, 0.3]), "row 0"),
    "negative probability": (put("chain", "transition", 0, value=[1.25, -0.25]), "-0.25"),
    "text probability": (
        put("chain", "transition", 0, 1, value="a quarter"),
        "chain.transition[0][1]: 'a quarter'",
    ),
    "fraction of zero": (put("chain", "transition", 0, 1, value="1/0"), "transition"),
    "whole number as text": (put("chain", "transition", 0, 1, value="1"), "chain.transition[0][1]: '1'"),
    "null probability": (put("chain", "transition", 1, 0, value=None), "chain.transition[1][0]: None"),
    "ragged matrix": (put("chain", "transition", 0, value=[1.0]), "transition"),
    "not square": (put("chain", "transition", value=[[0.5, 0.5]]), "(1, 2)"),
    "initial not 1": (put("chain", "initial", value=[0.5, 0.6]), "initial"),
    "repeated label": (put("chain", "states", value=["dry", "dry"]), "states"),
    "too few labels": (put("chain", "states", value=["dry"]), "states"),
    "chain of another type": (put("chain", "type", value="joint_distribution"), "chain.type"),
    "chain is a list": (put("chain", value=[]), "chain"),
    "unknown key": (put("epsilom", value=1), "'epsilom' was unexpected"),
    "unknown key in chain": (put("chain", "sates", value=1), "'sates' was unexpected"),
    "version": (put("version", value=9), "version"),
    "version of chain": (put("chain", "version", value=7), "version"),
    "no epsilon": (drop("epsilon"), "'epsilon' is a required property"),
    "epsilon negative": (put("epsilon", value=-1), "epsilon"),
    "epsilon text": (put("epsilon", value="one"), "epsilon"),
    "epsilon true": (put("epsilon", value=True), "epsilon"),
    "epsilon null": (put("epsilon", value=None), "epsilon"),
    "length 0": (put("length", value=0), "length"),
    "length 1.5": (put("length", value=1.5), "length"),
    "length text": (put("length", value="5"), "length"),
    "too long for the steps": (
        put("chain", "transition", value=[[[0.5, 0.5], [0.5, 0.5]]] * 2),
        "length 5 exceeds",
    ),
    "private outside": (put("private", value=5), "private record 5 is outside 0 .. 4"),
    "private negative": (put("private", value=-1), "private"),
    "private twice": (put("private", value=[2, 2]), "repeat"),
    "private empty": (put("private", value=[]), "private"),
    "too few weights": (put("weights", value=[1, 1]), "weights must be 5 numbers"),
    "negative weight": (put("weights", value=[1, 1, -1, 1, 1]), "weights[2]"),
    "no weight": (put("weights", value=[0] * 5), "positive finite sum"),
    "weights overflow": (put("weights", value=[1e308] * 5), "positive finite sum"),
    "form": (put("form", value="global"), "form"),
}


@pytest.mark.parametrize(("change", "fragment"), CHANGES.values(), ids=CHANGES)
def test_a_problem_with_a_fault(
    folder: Path, documents: tuple[Fields, Fields], change: Callable[[Fields], None], fragment: str
) -> None:
    problem = copy.deepcopy(documents[0])
    if "initial" in fragment or "steps" in fragment or "exceeds" in fragment:
        problem["chain"]["initial"] = [0.5, 0.5]
    change(problem)
    write(folder / "bad.json", problem)
    check(folder, ["solve", "bad.json", "--output", "out.json"], fragment)


OPTIONS = {
    "unknown solver": ("solve problem.json --solver simplex --output out.json", "no solver 'simplex'"),
    "unknown solver in compare": ("compare problem.json --solver simplex --output o.csv", "no solver 'simplex'"),
    "time limit 0": ("solve problem.json --time-limit 0 --output out.json", "time_limit must be > 0"),
    "time limit negative": ("solve problem.json --time-limit -3 --output out.json", "time_limit must be > 0"),
    "time limit nan": ("compare problem.json --time-limit nan --output o.csv", "time_limit must be > 0"),
    "time limit text": ("solve problem.json --time-limit soon", "--time-limit"),
    "seed negative": ("solve problem.json --seed -1", "--seed"),
    "seed text": ("solve problem.json --seed x", "--seed"),
    "no problem": ("solve", "PROBLEM.json"),
    "unknown option": ("solve problem.json --fast", "--fast"),
    "unknown root option": ("--fast", "--fast"),
    "unknown command": ("improve problem.json", "improve"),
    "one file too many": ("solve problem.json problem.json", "problem.json"),
    "no budgets": ("frontier problem.json", "--budgets"),
    "budgets empty": ("frontier problem.json --budgets=", "'' is not a list"),
    "budgets text": ("frontier problem.json --budgets 1,two", "'1,two' is not a list"),
    "budgets hole": ("frontier problem.json --budgets 1,,2", "is not a list"),
    "budgets nan": ("frontier problem.json --budgets 1,nan", "is not a list"),
    "budgets negative": ("frontier problem.json --budgets 1,-1 --output o.csv", "is not a list"),
    "grid of one": ("frontier problem.json --budgets 0:1:1", "is not a list"),
    "grid too fine": ("frontier problem.json --budgets 0:1:1000000", "2 to 10000"),
    "grid of two parts": ("frontier problem.json --budgets 0:1", "is not a list"),
    "grid endless": ("frontier problem.json --budgets 0:inf:3", "is not a list"),
    "no such folder": ("solve problem.json --output no/out.json", "there is no folder no"),
    "output a folder": ("solve problem.json --output folder", "folder: is a folder"),
    "output under a file": ("frontier problem.json --budgets 1 --output data.csv/o.csv", "there is no folder"),
    "output is input": ("solve problem.json --output problem.json", "is also read"),
    "fit into its data": ("fit data.csv --column weather --output data.csv", "is also read"),
    "fit without column": ("fit data.csv --output out.json", "--column"),
    "fit unknown column": ("fit data.csv --column wether --output out.json", "no column 'wether'; there are 'user'"),
    "fit unknown user column": ("fit data.csv --column weather --by who", "no column 'who'"),
    "fit unknown letter": ("fit data.csv --column weather --states dry,hot --output out.json", "position 1 of sequence 0 holds a value, which"),
    "fit empty letter": ("fit data.csv --column weather --states dry,,wet", "empty letter"),
    "fit repeated letter": ("fit data.csv --column weather --states dry,dry,wet", "states"),
    "fit order 0": ("fit data.csv --column weather --order 0", "--order"),
    "fit order too high": ("fit data.csv --column weather --order 99", "order 99"),
    "fit smoothing negative": ("fit data.csv --column weather --smoothing -1", "smoothing"),
    "fit smoothing nan": ("fit data.csv --column weather --smoothing nan", "smoothing"),
    "fit a state never left": ("fit data.csv --column weather --states dry,wet,hot", "no transition leaves"),
    "release without output": ("release solution.json data.csv --column weather --by user", "--output"),
    "release without column": ("release solution.json data.csv --output o.csv", "--column"),
    "release all rows": ("release solution.json data.csv --column weather --output o.csv", "10 records"),
    "release a copied column": (
        "release solution.json data.csv --column weather --by user --keep weather --output o.csv",
        "cannot also be copied",
    ),
    "release over its data": (
        "release solution.json data.csv --column weather --by user --output data.csv",
        "is also read",
    ),
    "release unknown kept column": (
        "release solution.json data.csv --column weather --by user --keep age --output o.csv",
        "no column 'age'",
    ),
    "release marked as a letter": (
        "release solution.json data.csv --column weather --by user --mark dry --output o.csv",
        "the mark 'dry' is also a state",
    ),
    "release a problem": (
        "release problem.json data.csv --column weather --by user --output o.csv",
        "mechanism",
    ),
    "release wrong column": ("release solution.json data.csv --column user --output o.csv", "row 1: 'user' holds another value"),
    "release seed negative": (
        "release solution.json data.csv --column weather --by user --output o.csv --simulate -1",
        "--simulate",
    ),
    "verify one file": ("verify problem.json", "SOLUTION.json"),
    "verify swapped": ("verify solution.json problem.json", "this is a solution, not a problem"),
    "verify a mechanism": ("verify problem.json mechanism.json", "required property"),
    "solvers of no problem": ("solvers solution.json", "this is a solution, not a problem"),
}  # fmt: skip


@pytest.mark.parametrize(("line", "fragment"), OPTIONS.values(), ids=OPTIONS)
def test_options(folder: Path, line: str, fragment: str) -> None:
    check(folder, line.split(" "), fragment)


TABLES = {
    "empty": ("", "is empty"),
    "blank": ("\n\n", "is empty"),
    "no rows": ("user,weather\n", "has a header but no rows"),
    "column twice": ("weather,weather\ndry,wet\n", "'weather' is given twice"),
    "other column twice": ("a,a,weather\n1,2,dry\n", "'a' is given twice"),
    "short row": ("user,weather\nu,dry\nu\n", "row 2 has 1 cells, the header has 2"),
    "long row": ("user,weather\nu,dry\nu,wet,cold\n", "row 2 has 3 cells, the header has 2"),
    "blank row": ("user,weather\nu,dry\n\nu,wet\n", "row 2 is blank; remove the line"),
    "semicolons": (
        "user;weather\nu;dry\n",
        "seems to be separated by semicolons; save it separated by commas",
    ),
    "open quote": ('user,weather\nu,"dry\n', "is not a CSV file"),
    "stray quote": ('user,weather\nu,"dry"x\n', "is not a CSV file"),
    "huge cell": ("user,weather\nu," + "x" * 200_000 + "\n", "is not a CSV file"),
    "no user": ("user,weather\nu,dry\n,wet\n", "row 2 has no 'user'"),
}


@pytest.mark.parametrize(("text", "fragment"), TABLES.values(), ids=TABLES)
@pytest.mark.parametrize("line", ["fit data.csv", "release solution.json data.csv"])
def test_tables(folder: Path, line: str, text: str, fragment: str) -> None:
    (folder / "data.csv").write_text(text)
    check(
        folder,
        [*line.split(), "--column", "weather", "--by", "user", "--output", "out"],
        fragment,
    )


RECORDS = {
    "unknown letter": (["dry", "wet", "hot", "dry", "dry"], "row 3: 'weather' holds another value; the states are 'dry', 'wet'"),
    "space": (["dry", " wet", "dry", "dry", "dry"], "row 2: 'weather' holds another value"),
    "missing": (["dry", "wet", "dry", "", "dry"], "row 4: 'weather' is empty"),
    "one too few": (["dry", "wet", "dry", "dry"], "the data have 4 records, the mechanism is for 5"),
    "one too many": (["dry"] * 6, "the data have 6 records, the mechanism is for 5"),
}  # fmt: skip


@pytest.mark.parametrize(("cells", "fragment"), RECORDS.values(), ids=RECORDS)
def test_records(folder: Path, cells: list[str], fragment: str) -> None:
    (folder / "data.csv").write_text("weather\n" + "".join(f"{cell}\n" for cell in cells))
    check(
        folder,
        ["release", "solution.json", "data.csv", "--column", "weather", "--output", "out.csv"],
        fragment,
    )


def test_one_user_with_too_few_records(folder: Path) -> None:
    (folder / "data.csv").write_text(CSV.removesuffix("v,dry\n"))
    line = "release solution.json data.csv --column weather --by user --output out.csv"
    check(
        folder, line.split(), "user number 2 (--show-values says which) has 4 records, the mechanism is for 5"
    )


def test_nothing_to_fit(folder: Path) -> None:
    (folder / "data.csv").write_text("weather\n\n\ndry\n")
    check(folder, ["fit", "data.csv", "--column", "weather", "--output", "out.json"], "no transition")


MACHINES: dict[str, tuple[Callable[[Fields], None], str]] = {
    "not ok": (put("status", value="TIME_OUT"), "there is no mechanism: TIME_OUT"),
    "no certificate": (put("certificate", value=None), "no certificate that holds"),
    "failed certificate": (put("certificate", "ok", value=False), "no certificate that holds"),
    "certificate of another": (put("certificate", "mechanism", value="0" * 64), "the certificate of another mechanism"),
    "no mechanism": (put("mechanism", value=None), "there is no mechanism"),
    "weight": (put("mechanism", "weights", 0, 0, value=1), "do not agree"),
    "same text": (put("mechanism", "states", value=["1", 1]), "same text"),
    "simulation only": (put("mechanism", "simulation_only", value=True), "certif"),
}  # fmt: skip


@pytest.mark.parametrize(("change", "fragment"), MACHINES.values(), ids=MACHINES)
def test_a_solution_that_must_not_release(
    folder: Path, documents: tuple[Fields, Fields], change: Callable[[Fields], None], fragment: str
) -> None:
    solution = copy.deepcopy(documents[1])
    change(solution)
    if fragment == "same text":
        solution = solution["mechanism"]
    write(folder / "bad.json", solution)
    line = "release bad.json data.csv --column weather --by user --output out.csv"
    check(folder, line.split(), fragment)


PARTS: dict[str, tuple[Callable[[Fields], None], str]] = {
    "type": (put("type", value="sieve"), "mechanism type 'sieve' is not one of"),
    "no type": (drop("type"), "mechanism type None"),
    "no probabilities": (drop("probabilities"), "probabilities"),
    "probability 2": (put("probabilities", 0, 0, value=2), "is not in [0, 1]"),
    "probability text": (put("probabilities", 0, 0, value="x"), "probabilities"),
    "ragged": (put("probabilities", 0, value=[1]), "probabilities"),
    "too few states": (put("states", value=["dry"]), "states must be 2 distinct labels"),
    "states null": (put("states", value=None), "states"),
    "total": (put("total", value=2), "do not agree"),
    "unknown key": (put("prob", value=2), "'prob' was unexpected"),
    "version": (put("version", value=3), "version"),
}


@pytest.mark.parametrize(("change", "fragment"), PARTS.values(), ids=PARTS)
def test_a_mechanism_with_a_fault(
    folder: Path, documents: tuple[Fields, Fields], change: Callable[[Fields], None], fragment: str
) -> None:
    mechanism = copy.deepcopy(documents[1]["mechanism"])
    change(mechanism)
    write(folder / "bad.json", mechanism)
    line = "release bad.json data.csv --column weather --by user --output out.csv"
    check(folder, line.split(), fragment)


def test_a_mechanism_without_states_is_for_numbers(folder: Path, documents: tuple[Fields, Fields]) -> None:
    mechanism = {k: v for k, v in documents[1]["mechanism"].items() if k != "states"}
    write(folder / "bad.json", mechanism)
    line = "release bad.json data.csv --column weather --by user --output out.csv"
    check(folder, line.split(), "the states are '0', '1'")


def _publish(fields: Fields) -> None:
    """Release the private record, in weights and probabilities alike."""
    fields["mechanism"]["probabilities"][2] = [0.0, 0.0]
    fields["mechanism"]["weights"][2] = [0, 0]


def _hide(fields: Fields) -> None:
    """Redact one more value, in weights and probabilities alike: private, but not what was certified."""
    fields["mechanism"]["probabilities"][0][0] = 1.0
    fields["mechanism"]["weights"][0][0] = 2**52


def _swap(fields: Fields) -> None:
    fields["mechanism"]["states"].reverse()


TAMPERED: dict[str, tuple[Callable[[Fields], None], str]] = {
    "weight": (put("mechanism", "weights", 0, 0, value=1), "do not agree"),
    "probability": (put("mechanism", "probabilities", 0, 0, value=0.5), "do not agree"),
    "probability 2": (put("mechanism", "probabilities", 0, 0, value=2), "is not in [0, 1]"),
    "total": (put("mechanism", "total", value=2**51), "do not agree"),
    "published": (_publish, "NOT PROVED"),
    "hidden": (_hide, "not the one that was certified"),
    "label": (put("mechanism", "states", 0, value="hot"), "does not fit the problem"),
    "labels swapped": (_swap, "does not fit the problem"),
    "no states": (drop("mechanism", "states"), "does not fit the problem"),
    "a record less": (put("mechanism", value={"type": "redaction", "probabilities": [[1, 1]]}), "does not fit"),
    "another kind": (put("mechanism", "type", value="sieve"), "mechanism type 'sieve'"),
    "utility": (put("utility", value=0.9), "the stated utility 0.9 is not in"),
    "leakage": (put("leakage", value=0.1), "the stated leakage 0.1 is not in"),
    "no leakage": (put("leakage", value=None), "states no leakage"),
    "no certificate": (put("certificate", value=None), "carries no certificate"),
    "certified budget": (put("certificate", "budget", value=0.5), "the certificate states the budget 0.5, the problem's is 1.0"),
    "certified leakage": (put("certificate", "leakage", value=[0, 0.1]), "the certificate encloses the leakage in [0.0, 0.1], proved is"),
    "certificate failed": (put("certificate", "ok", value=False), "says that nothing is proved"),
    "certified mechanism": (put("certificate", "mechanism", value="0" * 64), "not the one that was certified"),
    "status": (put("status", value="FAILED"), "there is no mechanism to verify: FAILED"),
    "problem": (put("problem", value="0" * 64), "answers another problem"),
}  # fmt: skip


@pytest.mark.parametrize(("change", "fragment"), TAMPERED.values(), ids=TAMPERED)
def test_a_tampered_solution_is_not_proved(
    folder: Path, documents: tuple[Fields, Fields], change: Callable[[Fields], None], fragment: str
) -> None:
    solution = copy.deepcopy(documents[1])
    change(solution)
    write(folder / "bad.json", solution)
    check(folder, ["verify", "problem.json", "bad.json"], fragment, code=1)
    result = CliRunner().invoke(app, ["verify", "problem.json", "bad.json", "--json"])
    assert result.exit_code == 1
    assert not json.loads(result.stdout)["ok"]


OTHER_QUESTIONS = {
    "epsilon": put("epsilon", value=1.5),
    "private": put("private", value=1),
    "chain": put("chain", "transition", 0, value=[0.7, 0.3]),
    "weights": put("weights", value=[1, 2, 3, 4, 5]),
}


@pytest.mark.parametrize("change", OTHER_QUESTIONS.values(), ids=OTHER_QUESTIONS)
def test_a_solution_of_another_problem_is_not_proved(
    folder: Path, documents: tuple[Fields, Fields], change: Callable[[Fields], None]
) -> None:
    problem = copy.deepcopy(documents[0])
    change(problem)
    write(folder / "other.json", problem)
    check(folder, ["verify", "other.json", "solution.json"], "answers another problem", code=1)


MALFORMED: dict[str, tuple[Callable[[Fields], None], str]] = {
    "format": (put("format", value="other"), "format"),
    "version": (put("version", value=3), "version"),
    "status": (put("status", value="PERFECT"), "status"),
    "no status": (drop("status"), "'status' is a required property"),
    "unknown key": (put("note", value=1), "'note' was unexpected"),
    "utility text": (put("utility", value="high"), "utility"),
    "seconds negative": (put("seconds", value=-1), "seconds"),
    "stats a list": (put("stats", value=[]), "stats"),
    "certificate text": (put("certificate", value="yes"), "certificate"),
    "certificate without assumption": (drop("certificate", "assumption"), "certificate"),
    "mechanism a list": (put("mechanism", value=[]), "mechanism"),
}


@pytest.mark.parametrize(("change", "fragment"), MALFORMED.values(), ids=MALFORMED)
def test_a_malformed_solution_is_misuse(
    folder: Path, documents: tuple[Fields, Fields], change: Callable[[Fields], None], fragment: str
) -> None:
    solution = copy.deepcopy(documents[1])
    change(solution)
    write(folder / "bad.json", solution)
    check(folder, ["verify", "problem.json", "bad.json"], fragment)


def test_messages_cannot_steer_the_terminal(folder: Path) -> None:
    (folder / "bad.json").write_text(json.dumps({"type": "\x1b[31mred\nline" * 200}))
    check(folder, ["solve", "bad.json"], "problem type")
    (folder / "data.csv").write_text("a\x1b[31m,b\n1,2\n")
    check(folder, ["fit", "data.csv", "--column", "c"], "no column 'c'")


def test_no_permission(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.access", lambda path, mode: mode != os.W_OK)  # a superuser may write anywhere
    check(folder, ["solve", "problem.json", "--output", "folder/out.json"], "no permission")
