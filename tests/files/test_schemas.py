"""The published schemas: shared parts are referred to, stored files fit them, broken ones do not."""

from __future__ import annotations

import copy
import json
from collections import Counter
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from referencing import Registry, Resource
from referencing.jsonschema import DRAFT202012

import privopt as po
from privopt.core.registry import problem_types
from privopt.files.json import check_schema, schema
from privopt.publication.bundle import read_bundle
from privopt.publication.published import published
from privopt.publication.receipt import make_receipt
from privopt.publication.state import release_once

STORED = Path(__file__).resolve().parents[1] / "files_of_0_1_0"
NAMES = sorted(
    entry.name.removesuffix(".json")
    for entry in files("privopt.files.schemas").iterdir()
    if entry.name.endswith(".json")
)
WHOLE = [name for name in NAMES if name != "defs"]
Json = dict[str, Any]


def parts(value: object) -> Iterator[Json]:
    """Every object of a schema, itself included; examples are values, not parts."""
    if isinstance(value, dict):
        yield value
        for name, inner in value.items():
            if name != "examples":
                yield from parts(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from parts(inner)


def reader(name: str) -> Draft202012Validator:
    """A validator that follows the references as the standard says, not as the package does."""

    def retrieve(uri: str) -> Resource[Any]:
        return Resource.from_contents(schema(uri.removesuffix(".json")), default_specification=DRAFT202012)

    return Draft202012Validator(schema(name), registry=Registry(retrieve=retrieve))  # type: ignore[call-arg]


def documents() -> list[tuple[str, Json]]:
    """Stored files of 0.1.0 with the schema of each, and an example of each problem that is newer."""
    stored: list[tuple[str, Json]] = []
    for pattern in (
        "*/*/*.json",
        "models/*.json",
        "mechanisms/*.json",
        "certificates/*.json",
        "ledgers/*.json",
    ):
        for path in sorted(STORED.glob(pattern)):
            fields = json.loads(path.read_text(encoding="utf-8"))
            folder = path.relative_to(STORED).parts[0]
            if path.name == "problem.json" and not any(part.keys() == {"file"} for part in parts(fields)):
                stored.append((f"problem-{fields['type']}", fields))
            elif fields.get("format") == "privopt/solution":
                stored.append(("solution", fields))
                if fields["mechanism"] is not None:
                    stored.append((f"mechanism-{fields['mechanism']['type']}", fields["mechanism"]))
            elif path.name == "joint.json" or folder == "models":
                stored.append(("model", fields))
            elif folder == "mechanisms":
                stored.append((f"mechanism-{fields['type']}", fields))
            elif folder == "certificates":
                stored.append(("certificate", fields))
            elif folder == "ledgers":
                stored.append(("budget-ledger", fields))
    kinds = {name for name, _ in stored}
    for kind, problem_type in problem_types().items():
        if f"problem-{kind}" not in kinds:  # newer than 0.1.0
            stored.append((f"problem-{kind}", problem_type.examples()[0].problem.to_dict()))
    return [*stored, *publications()]


def publications() -> list[tuple[str, Json]]:
    """What goes with a release, newer than 0.1.0."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "released.csv").write_text("y\n0\n", encoding="utf-8")
        problem = po.LocalInformationPrivacy(po.JointDistribution([[0.4, 0.1], [0.1, 0.4]]), 0.5)
        solution = po.solve(problem)
        receipt = make_receipt(
            solution.mechanism,
            solution.certificate,
            {"x": ["1"]},
            folder / "released.csv",
            {"y": ["0"]},
            how="drawn",
        )
        po.bundle(folder / "bundle.zip", problem, solution, receipt=receipt)
        release_once(folder / "state.json", "0" * 64, {"": [("1",)]}, lambda done: {"": [None]})
        state = json.loads((folder / "state.json").read_text(encoding="utf-8"))
        manifest = dict(read_bundle(folder / "bundle.zip").manifest)
        with published(folder / "published.json") as before:
            before.add(folder, 0.3, {"x": ["1"]})
        told = json.loads((folder / "published.json").read_text(encoding="utf-8"))
    return [("receipt", receipt.to_dict()), ("releases", state), ("bundle", manifest), ("published", told)]


DOCUMENTS = documents()


@pytest.mark.parametrize("name", WHOLE)
def test_references_lead_somewhere_and_stand_alone(name: str) -> None:
    for part in parts(schema(name)):
        if "$ref" in part:
            assert part.keys() <= {"$ref", "description"}, "a reference is not mixed with other conditions"
            file, _, pointer = part["$ref"].partition("#")
            target: Any = schema(file.removesuffix(".json") or name)
            for key in pointer.split("/")[1:]:
                target = target[key]
            assert isinstance(target, dict)


def test_shared_parts_are_used_and_nothing_is_written_twice() -> None:
    text = "".join(json.dumps(schema(name)) for name in NAMES)
    for name in schema("defs")["$defs"]:
        assert f'#/$defs/{name}"' in text, f"nothing refers to the part {name}"
    count: Counter[str] = Counter()
    for name in NAMES:
        count.update(json.dumps(part, sort_keys=True) for part in parts(schema(name)))
    copies = [part for part, times in count.items() if times > 1 and len(part) > 120]
    assert not copies, "write it once in defs.json and refer to it"


def test_all_stored_files_fit() -> None:
    assert {name for name, _ in DOCUMENTS} == set(WHOLE)
    for name, fields in DOCUMENTS:
        check_schema(fields, name)


@pytest.mark.parametrize("kind", sorted(problem_types()))
def test_fresh_problems_answers_and_certificates_fit(kind: str) -> None:
    problem = problem_types()[kind].examples()[0].problem
    solution = po.solve(problem, time_limit=5.0)
    assert solution.status.ok
    written = solution.to_dict()
    for name, fields in [
        (f"problem-{kind}", problem.to_dict()),
        ("solution", written),
        (f"mechanism-{written['mechanism']['type']}", written["mechanism"]),
        ("certificate", written["certificate"]),
    ]:
        fields = json.loads(json.dumps(fields))
        check_schema(fields, name)
        assert reader(name).is_valid(fields)


@pytest.mark.parametrize("name", WHOLE)
def test_broken_files_are_refused(name: str) -> None:
    whole = schema(name)
    fields = next(fields for kind, fields in DOCUMENTS if kind == name)
    broken: list[Json] = []
    for key in whole["required"]:
        broken.append({other: value for other, value in fields.items() if other != key})
    for key in fields.keys() & whole["properties"].keys() - {"dual"}:
        broken.append(fields | {key: [{}]})
    broken.append(fields | {"extra": 1})
    for variant in broken:
        assert not reader(name).is_valid(variant)
        with pytest.raises(po.errors.FileRefused):
            check_schema(variant, name)


@pytest.mark.parametrize(
    ("name", "place", "value"),
    [
        ("problem-redaction", ("chain", "transition"), []),
        ("problem-redaction", ("chain", "transition"), [["0.5", 0.5]]),
        ("problem-redaction", ("chain", "states"), [None]),
        ("problem-redaction", ("chain", "extra"), 1),
        ("problem-redaction", ("epsilon",), -1),
        ("problem-privacy_funnel", ("joint", "table"), [0.5, 0.5]),
        ("problem-privacy_funnel", ("joint", "type"), "observed_joint"),
        ("problem-boundary_colouring", ("graph", "edges"), [[0, 1, 2]]),
        ("problem-bayesian_privacy", ("model", "type"), "joint_distribution"),
        ("certificate", ("leakage",), [0.0]),
        ("solution", ("utility",), "much"),
        ("mechanism-sequence_policy", ("prepared",), [{"belief": [1.0], "kernel": {"matrix": [[-1.0]]}}]),
    ],
)
def test_shared_parts_refuse_what_they_refused(name: str, place: tuple[str, ...], value: object) -> None:
    fields = copy.deepcopy(next(fields for kind, fields in DOCUMENTS if kind == name))
    target = fields
    for key in place[:-1]:
        target = target[key]
    target[place[-1]] = value
    assert not reader(name).is_valid(fields)
    with pytest.raises(po.errors.FileRefused, match=rf"schema {name}"):
        check_schema(fields, name)
