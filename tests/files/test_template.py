"""Templates of problem files: each solves as it is, explains every field, and matches the problem's schema."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

import privopt as po
from privopt.cli import app
from privopt.core.registry import problem_types
from privopt.errors import FileRefused
from privopt.files.json import check_schema, schema
from privopt.files.load import problem_from_dict, without_comments
from privopt.files.template import described, problem_schema, problem_template

KINDS = list(problem_types())
RUN = CliRunner()


@pytest.mark.parametrize("kind", KINDS)
def test_a_template_is_a_problem_that_is_solved_with_a_certificate(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "problem.json"
    assert RUN.invoke(app, ["new", kind, "--output", str(path)]).exit_code == 0
    problem = po.load_problem(path)
    solution = po.solve(problem, time_limit=2)
    assert solution.certified, solution.status
    assert po.verify(problem, solution).ok


@pytest.mark.parametrize("kind", KINDS)
def test_every_field_of_a_problem_is_described_and_stands_in_its_template(kind: str) -> None:
    published = problem_schema(kind)
    fields = json.loads(problem_template(kind))
    for name, field in published["properties"].items():
        if name in ("type", "version"):
            continue
        assert len(described(field)) > 10, name
        assert described(field) in fields[f"// {name}"]
    assert set(published["required"]) <= set(fields)


@pytest.mark.parametrize("kind", KINDS)
def test_what_a_problem_writes_fits_the_fields_of_its_template(kind: str) -> None:
    """A field that to_dict writes and the template does not know would be a field that nobody can look up."""
    example = problem_from_dict(problem_schema(kind)["examples"][0])
    written = example.to_dict()
    check_schema(written, f"problem-{kind}")
    assert {f"// {name}" for name in written if name not in ("type", "version")} <= set(
        json.loads(problem_template(kind))
    )


def test_comments_stand_at_any_depth_and_nothing_else_is_passed_over(tmp_path: Path) -> None:
    path = tmp_path / "problem.json"
    fields = {**schema("problem-redaction")["examples"][0], "//": "mine"}
    fields["chain"] = {**fields["chain"], "// transition": "counted last year"}
    path.write_text(json.dumps(fields))
    assert po.load_problem(path) == problem_from_dict(without_comments(fields))
    path.write_text(json.dumps({**fields, "espilon": 1}))
    with pytest.raises(FileRefused, match="espilon"):
        po.load_problem(path)


def test_commands_list_what_there_is_and_overwrite_nothing(tmp_path: Path) -> None:
    assert all(kind in RUN.invoke(app, ["new"]).output for kind in KINDS)
    listed = RUN.invoke(app, ["schema"]).output
    assert all(f"problem-{kind}" in listed for kind in KINDS)
    assert json.loads(RUN.invoke(app, ["schema", "solution"]).output) == schema("solution")
    path = tmp_path / "mine.json"
    path.write_text("mine")
    for command in (
        ["new", "redaction", "--output", str(path)],
        ["new", "redactions"],
        ["schema", "redactions"],
    ):
        assert RUN.invoke(app, command).exit_code == 2
    assert path.read_text() == "mine"
