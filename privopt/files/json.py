"""Files from outside: parsed with limits, checked against a schema, never executed; written whole or not at all."""

from __future__ import annotations

import io
import json
import math
import os
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, NoReturn

from privopt.errors import FileRefused

if TYPE_CHECKING:
    from jsonschema import Draft202012Validator

MAX_BYTES = 256 * 2**20
MAX_DEPTH = 32
MAX_VALUES = 20_000_000
LARGEST = sys.float_info.max  # 1e999 is read as infinity, and an integer of 999 digits cannot become a float


def read_json(path: str | os.PathLike[str]) -> dict[str, Any]:
    """One JSON object from a file of at most 256 MiB, 32 levels and 20 million values.

    Raises
    ------
    FileRefused
        If it cannot be read, is too large or too deep, repeats a key, holds NaN, or is not an object.
    """
    source = Path(path)
    try:
        with source.open("rb") as stream:
            content = stream.read(MAX_BYTES + 1)  # not stat: a device or a pipe does not tell its size
        if len(content) > MAX_BYTES:
            raise FileRefused(f"{source}: more than {MAX_BYTES} bytes; no more are read")
        text = content.decode("utf-8")
    except OSError as cause:
        raise FileRefused(f"{source}: cannot be read: {cause.strerror or cause}") from cause
    except UnicodeDecodeError as cause:
        raise FileRefused(f"{source}: is not UTF-8 text ({cause.reason} at byte {cause.start})") from cause
    return parse_json(text, str(source))


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
    return value


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
def writing(path: str | os.PathLike[str]) -> Iterator[IO[str]]:
    """A text file that appears under its name only when the block ends well; the block only writes.

    Raises
    ------
    FileRefused
        If the folder does not exist or cannot be written, the disk is full, or the name is a folder's.
    """
    with writing_bytes(path) as raw:
        stream = io.TextIOWrapper(raw, encoding="utf-8", newline="")
        yield stream
        stream.flush()
        stream.detach()


@contextmanager
def writing_bytes(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """The same for a file of bytes.

    Raises
    ------
    FileRefused
        As :func:`writing`.
    """
    target = Path(path)
    try:
        handle, name = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
    except OSError as cause:
        raise FileRefused(f"{target}: cannot be written: {cause.strerror or cause}") from cause
    try:
        with os.fdopen(handle, "wb") as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        os.chmod(name, 0o666 & ~_umask())
        os.replace(name, target)
    except OSError as cause:
        Path(name).unlink(missing_ok=True)
        raise FileRefused(f"{target}: cannot be written: {cause.strerror or cause}") from cause
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def _umask() -> int:
    mask = os.umask(0o022)
    os.umask(mask)
    return mask


def write_json(path: str | os.PathLike[str], value: Mapping[str, Any]) -> None:
    """Write one JSON object, whole or not at all."""
    with writing(path) as stream:
        json.dump(value, stream, indent=1, allow_nan=False)
        stream.write("\n")


@cache
def schema(name: str) -> dict[str, Any]:
    """The published JSON Schema of a kind of file, such as ``solution`` or ``problem-redaction``."""
    entry = files("privopt.files.schemas").joinpath(f"{name}.json")
    if not entry.is_file():
        raise FileRefused(f"there is no JSON Schema called {name!r}")
    loaded: dict[str, Any] = json.loads(entry.read_text(encoding="utf-8"))
    return loaded


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
        message = fault.message if len(fault.message) < 300 else fault.message[:300] + " ..."
        raise FileRefused(f"{place}: {message} (schema {name})")
