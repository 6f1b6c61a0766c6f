"""Files: read with limits, written whole or not at all, given back as they were."""

from __future__ import annotations

import json
import math
import os
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

import privopt as po
from privopt.files import json as _files
from privopt.files.csv import read_table
from privopt.files.json import check_schema, parse_json, read_json, schema, write_json, writing
from privopt.mechanisms import mechanism_from_dict

SCHEMAS = sorted(
    entry.name for entry in files("privopt.files.schemas").iterdir() if entry.name.endswith(".json")
)


def chain(initial: list[float] | None = None) -> po.MarkovChain:
    return po.MarkovChain([[0.75, 0.25], [0.5, 0.5]], initial, states=["dry", "wet"])


PROBLEMS = {
    "plain": po.Redaction(chain(), 5, 2, 1.0),
    "no budget": po.Redaction(chain(), 4, (0, 3), math.inf),
    "zero budget": po.Redaction(chain([1.0, 0.0]), 3, 1, 0.0),
    "weights": po.Redaction(chain(), 3, 1, 0.1, weights=[1, 0, 2.5]),
    "counts": po.Redaction(po.MarkovChain.fit([["a", "b", "a", "a"]]), 3, 1, 1.0),
    "words": po.Redaction(po.MarkovChain.fit([list("abaabbab")], order=2, smoothing=0.5), 3, 1, 1.0),
    "labels": po.Redaction(po.MarkovChain([[0.5, 0.5]] * 2, states=[("f", 30), True]), 3, 1, 1.0),
    "steps": po.Redaction(po.MarkovChain([[[0.5, 0.5], [1.0, 0.0]]] * 2, initial=[0.5, 0.5]), 3, 1, 1.0),
}


def through_json(fields: dict[str, Any]) -> dict[str, Any]:
    return parse_json(json.dumps(fields, allow_nan=False))


@pytest.mark.parametrize("name", SCHEMAS)
def test_schemas_are_valid(name: str) -> None:
    document = schema(name.removesuffix(".json"))
    Draft202012Validator.check_schema(document)
    assert document["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert document["title"]


def test_every_problem_and_mechanism_has_a_schema() -> None:
    assert {"certificate.json", "model.json", "solution.json", "mechanism-redaction.json"} <= set(SCHEMAS)
    assert {f"problem-{problem.to_dict()['type']}.json" for problem in PROBLEMS.values()} <= set(SCHEMAS)


def test_there_is_no_other_schema() -> None:
    for name in ("nothing", "../errors"):
        with pytest.raises(po.errors.FileRefused, match="no JSON Schema"):
            schema(name)


@pytest.mark.parametrize("problem", PROBLEMS.values(), ids=PROBLEMS)
def test_problems_come_back(tmp_path: Path, problem: po.Redaction) -> None:
    fields = through_json(problem.to_dict())
    check_schema(fields, "problem-redaction")
    again = po.problem_from_dict(fields)
    assert again == problem
    assert again.fingerprint == problem.fingerprint
    write_json(tmp_path / "problem.json", problem.to_dict())
    assert po.load_problem(tmp_path / "problem.json") == problem


@pytest.mark.parametrize("problem", PROBLEMS.values(), ids=PROBLEMS)
def test_models_come_back(tmp_path: Path, problem: po.Redaction) -> None:
    fields = through_json(problem.chain.to_dict())
    check_schema(fields, "model")
    assert po.model_from_dict(fields) == problem.chain
    write_json(tmp_path / "model.json", problem.chain.to_dict())
    assert po.load_model(tmp_path / "model.json") == problem.chain


def test_joint_distributions_come_back(tmp_path: Path) -> None:
    joint = po.JointDistribution([[0.1, 0.4], [0.2, 0.3]], sensitive=["a", "b"])
    write_json(tmp_path / "model.json", joint.to_dict())
    assert po.load_model(tmp_path / "model.json") == joint


@pytest.mark.parametrize("certify", [True, False])
@pytest.mark.parametrize("problem", PROBLEMS.values(), ids=PROBLEMS)
def test_solutions_come_back(tmp_path: Path, problem: po.Redaction, certify: bool) -> None:
    solution = po.solve(problem, "windows", certify=certify)
    assert solution.status.ok
    fields = through_json(solution.to_dict())
    check_schema(fields, "solution")
    assert po.Solution[Any].from_dict(fields) == solution
    path = tmp_path / "solution.json"
    solution.save(path)
    assert po.Solution[Any].load(path) == solution
    assert po.verify(problem, po.Solution[Any].load(path)).ok is certify


def test_a_solution_without_an_answer_comes_back(tmp_path: Path) -> None:
    solution = po.solve(PROBLEMS["plain"], "oracle")
    assert not solution.status.ok
    solution.save(tmp_path / "solution.json")
    assert po.Solution[Any].load(tmp_path / "solution.json") == solution


@pytest.mark.parametrize("problem", PROBLEMS.values(), ids=PROBLEMS)
def test_mechanisms_and_certificates_come_back(problem: po.Redaction) -> None:
    mechanism = problem.safe().quantised()
    fields = through_json(mechanism.to_dict())
    check_schema(fields, "mechanism-redaction")
    assert mechanism_from_dict(fields) == mechanism
    certificate = problem.certify(mechanism)
    fields = through_json(certificate.to_dict())
    check_schema(fields, "certificate")
    assert po.Certificate.from_dict(fields) == certificate


def test_infinity_is_a_word(tmp_path: Path) -> None:
    problem = PROBLEMS["no budget"]
    write_json(tmp_path / "problem.json", problem.to_dict())
    text = (tmp_path / "problem.json").read_text()
    assert '"epsilon": "inf"' in text
    assert "Infinity" not in text
    assert po.load_problem(tmp_path / "problem.json").budget == math.inf


def test_limits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "file.json"
    path.write_text('{"a": [1, 2, 3]}')
    assert read_json(path) == {"a": [1, 2, 3]}
    monkeypatch.setattr(_files, "MAX_VALUES", 4)
    assert read_json(path) == {"a": [1, 2, 3]}
    monkeypatch.setattr(_files, "MAX_VALUES", 3)
    with pytest.raises(po.errors.FileRefused, match="more than 3 values"):
        read_json(path)
    monkeypatch.setattr(_files, "MAX_BYTES", path.stat().st_size)
    with pytest.raises(po.errors.FileRefused, match="values"):
        read_json(path)
    monkeypatch.setattr(_files, "MAX_BYTES", path.stat().st_size - 1)
    with pytest.raises(po.errors.FileRefused, match="more than 15 bytes"):
        read_json(path)


@pytest.mark.parametrize(("levels", "accepted"), [(31, True), (32, True), (33, False), (34, False)])
def test_depth(levels: int, accepted: bool) -> None:
    text = '{"a": ' + "[" * (levels - 1) + "]" * (levels - 1) + "}"
    if accepted:
        parse_json(text)
        return
    with pytest.raises(po.errors.FileRefused, match="deeper than 32"):
        parse_json(text)


def test_an_endless_device_is_not_read() -> None:
    if not Path("/dev/zero").exists():
        pytest.skip("there is no such device here")
    for read in (read_json, lambda path: read_table(Path(path), ["a"])):
        with pytest.raises(po.errors.FileRefused, match="/dev/zero: is a device, not a file"):
            read("/dev/zero")


def test_writing(tmp_path: Path) -> None:
    path = tmp_path / "file.txt"
    with writing(path) as stream:
        stream.write("first\n")
        assert not path.exists()
    assert path.read_text() == "first\n"
    umask = os.umask(0o022)
    os.umask(umask)
    assert path.stat().st_mode & 0o777 == 0o666 & ~umask
    with writing(path) as stream:
        stream.write("second\n")
        stream.flush()
        assert path.read_text() == "first\n"
    assert path.read_text() == "second\n"
    assert os.listdir(tmp_path) == ["file.txt"]


@pytest.mark.parametrize("fault", [ValueError, KeyboardInterrupt, SystemExit])
def test_an_exception_in_the_middle_leaves_the_old_file(tmp_path: Path, fault: type[BaseException]) -> None:
    path = tmp_path / "file.txt"
    path.write_text("old")

    def interrupted() -> None:
        with writing(path) as stream:
            stream.write("half")
            stream.flush()
            raise fault

    with pytest.raises(fault):
        interrupted()
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["file.txt"]


def test_a_full_disk_is_said_in_a_sentence(tmp_path: Path) -> None:
    def full() -> None:
        with writing(tmp_path / "file.txt"):
            raise OSError(28, "No space left on device")

    with pytest.raises(po.errors.FileRefused, match=r"file\.txt: cannot be written: No space left"):
        full()
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_numbers_that_json_lacks_are_not_written(tmp_path: Path, value: float) -> None:
    with pytest.raises(ValueError, match="JSON compliant"):
        write_json(tmp_path / "file.json", {"a": value})
    assert os.listdir(tmp_path) == []


def test_places_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").touch()
    for name in ("folder", "no/file", "file/file", "x" * 300):
        with pytest.raises(po.errors.FileRefused, match=r"cannot be written|is a folder"):
            write_json(tmp_path / name, {})
    assert sorted(os.listdir(tmp_path)) == ["file", "folder"]
    assert os.listdir(tmp_path / "folder") == []


def test_the_sentence_about_a_schema_names_the_place() -> None:
    fields = PROBLEMS["plain"].to_dict()
    fields["chain"]["order"] = "first"
    with pytest.raises(po.errors.FileRefused, match=r"^chain\.order: 'first' is not of type 'integer'"):
        check_schema(fields, "problem-redaction")
    fields["chain"] = {"transition": [[0.5] * 1000]} | {"x" * 5000: 1}
    with pytest.raises(po.errors.FileRefused) as caught:
        check_schema(fields, "problem-redaction")
    assert len(str(caught.value)) < 400
