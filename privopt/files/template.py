"""Templates of problem files: a problem that solves as it is, with a comment on every field, written from its schema."""

from __future__ import annotations

import json
from typing import Any

from privopt.core.registry import problem_types
from privopt.errors import FileRefused
from privopt.files.json import schema
from privopt.files.load import COMMENT

NOT_WRITTEN = ("type", "version")


def problem_schema(kind: str) -> dict[str, Any]:
    """The published JSON Schema of a problem.

    Raises
    ------
    FileRefused
        If there is no such problem, or it publishes no schema.

    Examples
    --------
    >>> problem_schema("redaction")["title"]
    'Redaction on a Markov chain'
    """
    if kind not in problem_types():
        raise FileRefused(f"there is no problem {kind!r}; choose one of {', '.join(problem_types())}")
    return schema(f"problem-{kind}")


def problem_template(kind: str) -> str:
    """A problem as a JSON file that solves as it is, each field explained in a comment before it.

    Optional fields that the example leaves out stand as comments only. Fields that begin with ``//`` are comments:
    :func:`privopt.load_problem` passes over them.

    Parameters
    ----------
    kind : str
        Type of the problem, such as "redaction".

    Raises
    ------
    FileRefused
        If there is no such problem.

    Examples
    --------
    >>> print(problem_template("belief_release"))  # doctest: +ELLIPSIS
    {
     "//": "One step of sequence information privacy; lines that begin with // are comments",
     "type": "belief_release",
     "// belief": "a probability for each letter, which sum to 1 within 1e-9; or a set of such beliefs",
     "belief": [0.6, 0.3, 0.1],
    ...
    }
    """
    published = problem_schema(kind)
    example: dict[str, Any] = published["examples"][0]
    lines = [_line(COMMENT, f"{published['title']}; lines that begin with {COMMENT} are comments")]
    lines.append(_line("type", kind))
    for name, field in published["properties"].items():
        if name in NOT_WRITTEN:
            continue
        optional = "" if name in published["required"] else "optional: "
        lines.append(_line(f"{COMMENT} {name}", optional + described(field) + _choices(field)))
        if name in example:
            lines.append(_line(name, example[name]))
    return "{\n" + ",\n".join(lines) + "\n}\n"


def described(field: dict[str, Any]) -> str:
    """What a schema says a field is, in its own words or in those of the shared part that it refers to."""
    if "description" in field or "$ref" not in field:
        return str(field.get("description", ""))
    shared = schema("defs")["$defs"][field["$ref"].rpartition("/")[2]]
    return str(shared.get("description", ""))


def _choices(field: dict[str, Any]) -> str:
    """The words that a field may be, where its description does not say them."""
    words = [str(word) for word in field.get("enum", ()) if word is not None]
    unsaid = [word for word in words if word not in described(field)]
    return f" (one of {', '.join(words)})" if unsaid else ""


def _line(name: str, value: object) -> str:
    return f" {json.dumps(name)}: {json.dumps(value, ensure_ascii=False)}"
