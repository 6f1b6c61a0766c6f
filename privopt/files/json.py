"""Files from outside: parsed with limits, checked against a schema, never executed; written whole or not at all."""

from __future__ import annotations

import io
import json
import math
import os
import re
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, NoReturn

from privopt.errors import FileRefused
from privopt.files.labels import short
from privopt.files.paths import reading, writing_bytes
from privopt.files.wanted import wanted

if TYPE_CHECKING:
    from jsonschema import Draft202012Validator

MAX_BYTES = 128 * 2**20
MAX_DEPTH = 32
MAX_VALUES = 20_000_000
MAX_MARKS = 20_000_000
"""Commas and brackets, by which a file is weighed before it is parsed."""
_HALF = re.compile(r"\\u[dD][89a-fA-F]|[\ud800-\udfff]")
LARGEST = sys.float_info.max  # 1e999 is read as infinity, and an integer of 999 digits cannot become a float


def read_json(path: str | os.PathLike[str]) -> dict[str, Any]:
    """One JSON object from a file of at most 128 MiB, 32 levels and 20 million values.

    Raises
    ------
    FileRefused
        If it cannot be read, is too large or too deep, repeats a key, holds NaN, or is not an object.
    """
    source = Path(path)
    with reading(source) as stream:
        content = stream.read(MAX_BYTES + 1)  # not stat: a pipe does not tell its size
    if len(content) > MAX_BYTES:
        raise FileRefused(f"{source}: more than {MAX_BYTES} bytes; no more are read")
    _check_count(content, source)
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as cause:
        raise FileRefused(f"{source}: is not UTF-8 text ({cause.reason} at byte {cause.start})") from cause
    return parse_json(text, str(source))


def _check_count(content: bytes, source: Path) -> None:
    """Refuse what would fill the memory when it is parsed: an object takes as much of it as some numbers.

    Raises
    ------
    FileRefused
        If there are more commas and brackets than :data:`MAX_MARKS`.
    """
    if content.count(b",") + 2 * content.count(b"[") + 4 * content.count(b"{") > MAX_MARKS:
        raise FileRefused(f"{source}: more values than fit into memory; divide the data")


def parse_json(text: str, source: str = "input") -> dict[str, Any]:
    """One JSON object from a text, with the limits of :func:`read_json`.

    Examples
    --------
    >>> parse_json('{"epsilon": "inf"}')
    {'epsilon': 'inf'}
    """
    try:
        value = json.loads(text, object_pairs_hook=_object, parse_constant=_constant)
    except FileRefused as cause:
        raise FileRefused(f"{source}: {cause}") from cause
    except (ValueError, RecursionError) as cause:
        raise FileRefused(f"{source}: not valid JSON: {cause}") from cause
    if not isinstance(value, dict):
        raise FileRefused(f"{source}: expected one JSON object {{...}}, got {type(value).__name__}")
    check_limits(value, source)
    if _HALF.search(text):
        _check_whole(value, source)
    return value


def _check_whole(value: object, source: str) -> None:
    """Refuse a text with half of a character, which no file and no screen can show."""
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError as cause:
        raise FileRefused(
            f"{source}: a text holds half of a character (the lone surrogate {cause.object[cause.start]!a}); write it whole"
        ) from cause


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields = dict(pairs)
    if len(fields) < len(pairs):
        times = Counter(name for name, _ in pairs)
        raise FileRefused(f"key {next(name for name in times if times[name] > 1)!r} is given twice")
    return fields


def _constant(name: str) -> float:
    raise FileRefused(f'{name} is not JSON; write infinity as "inf", and leave missing numbers out')


def check_limits(value: object, source: str = "input") -> None:
    """Refuse a parsed document that is too deep or too long, or holds NaN or a number too large for a float.

    Raises
    ------
    FileRefused
        With the first limit that is passed.

    Examples
    --------
    >>> check_limits({"dual": [1, 2.5]})
    """
    level, count = [value], 0
    for _ in range(MAX_DEPTH):
        inner: list[object] = []
        for item in level:
            if item is None or isinstance(item, str):
                continue
            if isinstance(item, (int, float)):
                if not -LARGEST <= item <= LARGEST:
                    _refuse(item, source)
            elif isinstance(item, dict):
                inner.extend(item.values())
            elif isinstance(item, list):
                inner.extend(item)
        count += len(inner)
        if count > MAX_VALUES:
            raise FileRefused(f"{source}: more than {MAX_VALUES} values")
        if not inner:
            return
        level = inner
    raise FileRefused(f"{source}: nested deeper than {MAX_DEPTH} levels")


def _refuse(item: float, source: str) -> NoReturn:
    if isinstance(item, float) and math.isnan(item):
        _constant("NaN")
    raise FileRefused(f'{source}: a number is too large for a float; write infinity as "inf"')


@contextmanager
def writing(path: str | os.PathLike[str], private: bool = False) -> Iterator[IO[str]]:
    """A text file that appears under its name only when the block ends well; see :func:`privopt.files.paths.writing_bytes`.

    Raises
    ------
    FileRefused
        If the folder does not exist or cannot be written, the disk is full, or the name is not that of a regular file.
    """
    with writing_bytes(path, private) as raw:
        stream = io.TextIOWrapper(raw, encoding="utf-8", newline="")
        yield stream
        stream.flush()
        stream.detach()


def write_json(
    path: str | os.PathLike[str], value: Mapping[str, Any], private: bool = False, indent: int | None = 1
) -> None:
    """Write one JSON object, whole or not at all; ``private`` as for :func:`privopt.files.paths.writing_bytes`.

    Raises
    ------
    FileRefused
        As :func:`writing`, and if it is larger than what :func:`read_json` reads.
    """
    with writing_bytes(path, private) as raw:
        stream = io.TextIOWrapper(raw, encoding="utf-8", newline="")
        json.dump(value, stream, indent=indent, allow_nan=False)
        stream.write("\n")
        stream.flush()
        if raw.tell() > MAX_BYTES:
            raise FileRefused(
                f"{path}: would have more than {MAX_BYTES} bytes, which are never read again; divide the data"
            )
        stream.detach()


@cache
def schema(name: str) -> dict[str, Any]:
    """The published JSON Schema of a kind of file, such as ``solution`` or ``problem-redaction``."""
    entry = files("privopt.files.schemas").joinpath(f"{name}.json")
    if not entry.is_file():
        raise FileRefused(f"there is no JSON Schema called {name!r}")
    loaded: dict[str, Any] = json.loads(entry.read_text(encoding="utf-8"))
    return loaded


def schema_names() -> list[str]:
    """The names of all published JSON Schemas.

    Examples
    --------
    >>> "problem-redaction" in schema_names()
    True
    """
    entries = files("privopt.files.schemas").iterdir()
    return sorted(entry.name.removesuffix(".json") for entry in entries if entry.name.endswith(".json"))


@cache
def _validator(name: str) -> Draft202012Validator:
    from jsonschema import Draft202012Validator

    return Draft202012Validator(_resolved(schema(name), name))


def _resolved(part: Any, home: str) -> Any:
    """A schema with what it refers to, in its own file or in another one, written in its place.

    That halves the time of a table of numbers: a reference would be looked up again for each of them.
    """
    if isinstance(part, list):
        return [_resolved(item, home) for item in part]
    if not isinstance(part, dict):
        return part
    own = {key: _resolved(value, home) for key, value in part.items() if key != "$ref"}
    if "$ref" not in part:
        return own
    file, _, pointer = part["$ref"].partition("#")
    there = file.removesuffix(".json") or home
    target: Any = schema(there)
    for key in pointer.split("/")[1:]:
        target = target[key]
    return _resolved(target, there) | own


def check_schema(value: Mapping[str, Any], name: str) -> None:
    """Check a parsed file against a published schema.

    Raises
    ------
    FileRefused
        With the place and the first thing that does not fit.
    """
    from jsonschema.exceptions import best_match

    fault = best_match(_validator(name).iter_errors(value))
    if fault is not None:
        place = fault.json_path.removeprefix("$").lstrip(".") or "the file"
        message = fault.message
        if fault.validator in ("anyOf", "oneOf"):
            message = f"{short(fault.instance)} does not fit; expected {wanted(fault.schema)}"
        message = message if len(message) < 300 else message[:300] + " ..."
        raise FileRefused(f"{place}: {message} (schema {name})")
