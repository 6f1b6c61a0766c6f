"""Models and problems from dictionaries and files."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from privopt.core.problem import Problem
from privopt.core.registry import problem_types
from privopt.errors import FileRefused
from privopt.files.json import check_limits, check_schema, read_json
from privopt.models import Model, model_from_dict

COMMENT = "//"
"""Members of a problem file whose names begin so are comments."""


def problem_from_dict(fields: Mapping[str, Any]) -> Problem[Any]:
    """The problem that ``problem.to_dict()`` wrote, or one written by hand.

    Raises
    ------
    FileRefused
        If the type is missing or unknown, or the fields do not fit its published schema.
    InvalidModel, InvalidProblem
        If the numbers do not make a model or a problem.

    Examples
    --------
    >>> chain = {"transition": [[0.9, 0.1], [0.5, 0.5]]}
    >>> problem_from_dict({"type": "redaction", "chain": chain, "length": 4, "private": 1, "epsilon": 1}).length
    4
    """
    check_limits(fields, "the problem")
    known, kind = problem_types(), fields.get("type")
    if kind is None and fields.get("format") == "privopt/solution":
        raise FileRefused("this is a solution, not a problem: the problem comes first, then its solution")
    if not isinstance(kind, str) or kind not in known:
        raise FileRefused(f'problem type {kind!r} is not one of {", ".join(known)}; give it as "type"')
    return known[kind].from_dict(fields)


def load_problem(path: str | os.PathLike[str]) -> Problem[Any]:
    """Read a problem from a JSON file; see :func:`problem_from_dict`.

    A model may stand in a file of its own: ``{"joint": {"file": "joint.json"}}`` reads the file beside the
    problem's. Members whose names begin with ``//`` are comments.

    Raises
    ------
    FileRefused
        If a file cannot be read, or names a model outside the problem's folder.
    """
    folder = Path(path).parent
    return problem_from_dict(
        {name: _beside(value, folder) for name, value in without_comments(read_json(path)).items()}
    )


def without_comments(value: Any) -> Any:
    """A parsed file without the members whose names begin with ``//``, at any depth.

    Examples
    --------
    >>> without_comments({"// epsilon": "in nats", "epsilon": 1, "chain": {"//": "mine", "states": [0]}})
    {'epsilon': 1, 'chain': {'states': [0]}}
    """
    if isinstance(value, dict):
        return {name: without_comments(item) for name, item in value.items() if not name.startswith(COMMENT)}
    return [without_comments(item) for item in value] if isinstance(value, list) else value


def _beside(value: Any, folder: Path) -> Any:
    """The content of the file that a field names, or the field itself."""
    if not isinstance(value, dict) or set(value) != {"file"}:
        return value
    name = value["file"]
    if not isinstance(name, str) or Path(name).name != name:
        raise FileRefused(f'"file" must be the name of a file in the folder of the problem, got {name!r}')
    return read_json(folder / name)


def load_model(path: str | os.PathLike[str]) -> Model:
    """Read a model from a JSON file.

    Raises
    ------
    FileRefused
        If the file cannot be read or does not fit the published schema.
    InvalidModel
        If the numbers do not make a model.
    """
    fields = read_json(path)
    check_schema(fields, "model")
    return model_from_dict(fields)
