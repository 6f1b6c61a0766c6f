"""What a certificate says: on the command line, in JSON and HTML, and the example of two draws that it names."""

from __future__ import annotations

import json
import math
import os
import pty
import subprocess
import sys
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import privopt as po
from privopt.cli import app
from privopt.core.certificate import KINDS, ONE_RELEASE


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    joint = po.JointDistribution([[0.3, 0.1], [0.2, 0.4]], ["red", "blue"], ["young", "old"])
    Path("problem.json").write_text(json.dumps(po.LocalInformationPrivacy(joint, 0.3).to_dict()))
    Path("data.csv").write_text("age\n" + "young\nold\n" * 4)
    assert run("solve", "problem.json", "--output", "solution.json")[0] == 0
    return tmp_path


def run(*args: str) -> tuple[int, str, str]:
    result = CliRunner().invoke(app, list(args), catch_exceptions=False)
    return result.exit_code, result.stdout, result.stderr


def stored() -> po.Certificate:
    certificate = po.Solution[Any].load("solution.json").certificate
    assert certificate is not None
    return certificate


def corrupted(**changes: Any) -> None:
    fields = json.loads(Path("solution.json").read_text())
    Path("changed.json").write_text(json.dumps({**fields, **changes}))


def test_solve_and_verify_print_one_sentence_a_line(folder: Path) -> None:
    said = stored().sentences()
    assert said[0].startswith("PROVED (privacy): ")
    for start in (
        "In words: ",
        "Kind: it holds for every release",
        "Assumed: ",
        "Against: ",
        "Budget per: ",
        "Not covered: ",
    ):
        assert sum(text.startswith(start) for text in said) == 1, start
    code, text, _ = run("verify", "problem.json", "solution.json")
    assert (code, text.splitlines()) == (0, said)
    lines = run("solve", "problem.json", "--verbose")[1].splitlines()
    told = [line.split(None, 1)[1] for line in lines if line.startswith("certificate ")]
    assert told[1:] == said[1:]
    considered = [line.split(None, 1)[1] for line in lines if line.startswith("considered ")]
    assert len(considered) == len(po.Solution[Any].load("solution.json").alternatives) > 1


def test_solve_says_in_short_what_is_claimed_and_how_many_others_there_are(folder: Path) -> None:
    lines = run("solve", "problem.json")[1].splitlines()
    told = [line.split(None, 1)[1] for line in lines if line.startswith("certificate ")]
    assert told[0].startswith("PROVED (privacy): ")
    assert told[1] == f"In words: {stored().statement}."
    assert told[2:] == [
        (
            f"Not covered: more than one release of the same records, and {len(stored().uncovered) - 1} more; "
            "--verbose and 'privopt verify' tell all, and what is assumed, against whom."
        )
    ]
    count = len(po.Solution[Any].load("solution.json").alternatives) - 1
    considered = [line.split(None, 1)[1] for line in lines if line.startswith("considered ")]
    assert considered == [f"{count} other solvers: --verbose lists them"]


def test_an_average_is_said_to_be_one_in_short_too(folder: Path) -> None:
    joint = {"table": [[0.3, 0.1], [0.2, 0.4]]}
    problem = {"type": "privacy_funnel", "joint": joint, "max_leakage": 0.01}
    Path("funnel.json").write_text(json.dumps(problem))
    code, text, _ = run("solve", "funnel.json")
    assert code == 0
    assert f"Kind: {KINDS['average']}." in text


def test_what_was_run_in_vain_is_named_where_there_is_no_answer(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = (
        "FAILED by first: too slow",
        "FAILED by second: too large",
        "third: no, it needs two columns",
    )
    failed = po.Solution[Any](po.Status.FAILED, solver="second", alternatives=told)
    monkeypatch.setattr(po, "solve", lambda *args, **options: failed)
    code, text, _ = run("solve", "problem.json")
    assert code == 1
    considered = [line.split(None, 1)[1] for line in text.splitlines() if line.startswith("considered ")]
    assert considered == ["FAILED by first: too slow", "1 other solver: --verbose lists it"]


def test_a_release_says_what_is_claimed_and_what_is_not_covered(folder: Path) -> None:
    code, text, _ = run("release", "solution.json", "data.csv", "--column", "age", "--output", "out.csv")
    assert code == 0
    lines = [line.split("  ", 1) for line in text.splitlines()]
    told = {name: [rest[0].strip() for key, *rest in lines if key == name] for name, *_ in lines}
    certificate = stored()
    assert told["in words"] == [certificate.statement]
    assert told["kind"] == [f"privacy: {KINDS['privacy']}"]
    assert told["budget per"] == [certificate.unit]
    assert told["not covered"] == list(certificate.uncovered)
    assert told["not covered"][0] == ONE_RELEASE


def test_a_release_of_an_old_file_says_that_it_is_for_one(folder: Path) -> None:
    fields = json.loads(Path("solution.json").read_text())
    for name in ("kind", "statement", "adversary", "unit", "uncovered", "remarks"):
        del fields["certificate"][name]
    fields["certificate"]["law"] = fields["certificate"].pop("assumption")
    fields["version"] = fields["certificate"]["version"] = 1
    del fields["not_proved"]
    Path("old.json").write_text(json.dumps(fields))
    code, text, _ = run("release", "old.json", "data.csv", "--column", "age", "--output", "out.csv")
    assert code == 0
    assert ONE_RELEASE in text


def test_json_and_html_carry_every_field(folder: Path) -> None:
    fields = json.loads(run("verify", "problem.json", "solution.json", "--json")[1])
    names = {
        "ok",
        "claim",
        "kind",
        "statement",
        "assumption",
        "adversary",
        "unit",
        "uncovered",
        "remarks",
        "reason",
    }
    assert names <= set(fields)
    assert fields == json.loads(Path("solution.json").read_text())["certificate"]
    assert fields == json.loads(run("solve", "problem.json", "--json")[1])["certificate"]
    certificate, solution = stored(), po.Solution[Any].load("solution.json")
    for page in (certificate._repr_html_(), solution._repr_html_()):
        for text in (certificate.statement, certificate.adversary, certificate.unit, *certificate.uncovered):
            assert text.replace("'", "&#x27;") in page or text in page


def test_remarks_are_no_failure(folder: Path) -> None:
    changed = {
        **json.loads(Path("solution.json").read_text())["certificate"],
        "statement": "everything is safe",
    }
    corrupted(certificate=changed)
    code, text, _ = run("verify", "problem.json", "changed.json")
    assert code == 0
    assert "Remark: the stored certificate words statement in another way; not believed." in text
    assert "everything is safe" not in text


@pytest.mark.parametrize(("field", "value"), [("utility", 0.9), ("leakage", 0.1), ("bound", 0.2)])
def test_what_does_not_hold_is_named_with_both_values(folder: Path, field: str, value: float) -> None:
    solution = po.Solution[Any].load("solution.json")
    changes: dict[str, Any] = {field: value}
    if field == "utility":
        changes["objective"] = value
    if field == "bound":
        changes = {"bound": solution.objective, "gap": 0.0}
    corrupted(**changes)
    code, text, complaint = run("verify", "problem.json", "changed.json")
    assert (code, text) == (1, "")
    assert complaint.startswith("NOT PROVED: ")
    assert field in complaint
    assert repr(changes[field]) in complaint
    assert f"solver {solution.solver!r}" in complaint
    assert json.loads(run("verify", "problem.json", "changed.json", "--json")[1])["ok"] is False


def terminal(*args: str) -> tuple[int, str]:
    reader, writer = pty.openpty()
    environment = {**os.environ, "TERM": "xterm-256color", "COLUMNS": "80"}
    process = subprocess.Popen(
        [sys.executable, "-m", "privopt", *args], stdin=writer, stdout=writer, stderr=writer, env=environment
    )
    os.close(writer)
    output = bytearray()
    try:
        while chunk := os.read(reader, 65536):
            output += chunk
    except OSError:
        pass  # how a terminal says that nobody writes any more
    os.close(reader)
    return process.wait(), output.decode()


@pytest.mark.long
def test_a_terminal_gets_wrapped_lines(folder: Path) -> None:
    for args in (
        ("verify", "problem.json", "solution.json"),
        ("solve", "problem.json"),
        ("solve", "problem.json", "--verbose"),
    ):
        code, text = terminal(*args)
        assert code == 0
        plain = "".join(part.partition("m")[2] if i else part for i, part in enumerate(text.split("\x1b[")))
        assert max(map(len, plain.splitlines())) <= 80
        assert "PROVED (privacy)" in plain
        assert "Not covered:" in plain
    assert "\x1b[" in terminal("verify", "problem.json", "solution.json")[1]


@pytest.mark.parametrize("strains", [2, 4, 16])
def test_two_draws_of_what_is_certified_at_zero(strains: int) -> None:
    table = np.zeros((2, strains + 1))
    table[0, 0], table[1, 1:] = 0.5, 0.5 / strains
    problem = po.LocalInformationPrivacy(po.JointDistribution(table), 0.0)
    solution = po.solve(problem)
    certificate = po.verify(problem, solution)
    assert certificate.ok
    assert certificate.leakage == (0.0, 0.0)
    assert solution.utility == pytest.approx(math.log(strains) / 2)
    rows = solution.mechanism.exact()
    size = len(rows[0].weights)
    people = [Fraction(1, 2)] + [Fraction(1, 2 * strains)] * strains

    def joint(draws: int) -> list[tuple[Fraction, Fraction]]:
        """Probabilities of the draws together with each secret."""
        pairs = []
        for ys in np.ndindex(*(size,) * draws):
            of = [
                p * math.prod((row.fraction(y) for y in ys), start=Fraction(1))
                for p, row in zip(people, rows, strict=True)
            ]
            pairs.append((of[0], sum(of[1:], Fraction(0))))
        return pairs

    assert all(well == ill for well, ill in joint(1))
    guessed = sum((max(pair) for pair in joint(2)), Fraction(0))
    assert guessed == 1 - Fraction(1, 2 * strains)
    if strains == 16:
        assert str(guessed) in ONE_RELEASE
    # Draws that differ prove that the person is well; those that agree never prove that the person is ill.
    assert {
        bool(ill) for (well, ill), ys in zip(joint(2), np.ndindex(size, size), strict=True) if ys[0] != ys[1]
    } == {False}
    assert all(
        well > 0 for (well, _), ys in zip(joint(2), np.ndindex(size, size), strict=True) if ys[0] == ys[1]
    )
