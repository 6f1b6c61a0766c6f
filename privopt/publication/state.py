"""Which records were released, so that a second draw of the same ones is answered with the first, or refused."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from privopt.errors import FileRefused, InvalidModel
from privopt.files.json import check_schema, read_json, write_json
from privopt.files.labels import Label, decode_label, encode_label
from privopt.files.private import user
from privopt.mechanisms.policy.journal import alone
from privopt.publication.receipt import column_digest, new_salt

Released = list[Label | None]

VOID = (
    "a second draw of the same records says more than the certificate allows (two draws of a mechanism that says nothing of a secret "
    "can name it), and budgets add up"
)


@dataclass(frozen=True)
class Once:
    """What was released of each user, what of it was drawn by this run, and what had been recorded."""

    released: dict[str, Released]
    drawn: int
    recorded: int


def release_once(
    path: Path,
    mechanism: str,
    users: Mapping[str, Sequence[tuple[str, ...]]],
    draw: Callable[[Mapping[str, int]], Mapping[str, Released]],
    whole: bool = False,
) -> Once:
    """Release the records of users, each of them once: what a file records is given out again, the rest is drawn and recorded.

    The file is locked while it is read, drawn for and replaced, and it is on the disk before this returns. Records are recognised
    by keyed hashes; the file holds their releases and no raw cell, and belongs beside the data.

    Parameters
    ----------
    path : Path
    mechanism : str
        Fingerprint of the mechanism; the records of another one are refused.
    users : mapping of names to rows of cells
        All rows of each user, those that were released before first.
    draw : callable
        Told how many rows of each user are recorded; returns the releases of the others.
    whole : bool
        A user is released as a whole, as by a redaction: nothing can be added later.

    Raises
    ------
    FileRefused
        If the file is not of this kind, or of another mechanism, or a user's records are not those that were released.

    Examples
    --------
    >>> import tempfile
    >>> place = Path(tempfile.mkdtemp()) / "state.json"
    >>> rows = {"": [("a",), ("b",)]}
    >>> release_once(place, "0" * 64, rows, lambda done: {"": ["x", "y"]}).drawn
    2
    >>> release_once(place, "0" * 64, rows, lambda done: {"": []}).released
    {'': ['x', 'y']}
    """
    with alone(path):
        salt, kept = _read(path, mechanism) if path.exists() else (new_salt(), {})
        done = {
            name: _recorded(path, user(name, i) if name else "the table", rows, kept.get(name), salt, whole)
            for i, (name, rows) in enumerate(users.items(), 1)
        }
        drawn = draw({name: len(old) for name, old in done.items()})
        released: dict[str, Released] = {}
        for name, rows in users.items():
            released[name] = [*done[name], *drawn[name]]
            if len(released[name]) != len(rows):
                raise FileRefused(
                    f"{path}: {len(released[name])} releases for {len(rows)} rows; nothing was released"
                )
            kept[name] = {
                "rows": len(rows),
                "digest": _digest(rows, salt),
                "released": [
                    None if label is None else {"label": encode_label(label)} for label in released[name]
                ],
            }
        fields = {
            "format": "privopt/releases",
            "version": 1,
            "mechanism": mechanism,
            "salt": salt,
            "users": kept,
        }
        write_json(path, fields, private=True, indent=None)
    return Once(released, sum(map(len, drawn.values())), sum(map(len, done.values())))


def _read(path: Path, mechanism: str) -> tuple[str, dict[str, Any]]:
    fields = read_json(path)
    if fields.get("format") != "privopt/releases":
        raise FileRefused(f"{path}: is not a file of releases; give another --state")
    check_schema(fields, "releases")
    if fields["mechanism"] != mechanism:
        raise FileRefused(
            f"{path}: records the releases of another mechanism: {VOID}; give another --state for other people only"
        )
    return fields["salt"], fields["users"]


def _digest(rows: Sequence[tuple[str, ...]], salt: str) -> str:
    return column_digest([cell for row in rows for cell in (str(len(row)), *row)], salt)


def _recorded(
    path: Path,
    whose: str,
    rows: Sequence[tuple[str, ...]],
    entry: Mapping[str, Any] | None,
    salt: str,
    whole: bool,
) -> Released:
    """What was released of a user, if these are the records that it was released of."""
    if entry is None:
        return []
    count = entry["rows"]
    if len(entry["released"]) != count:
        raise FileRefused(f"{path}: {whose}: {len(entry['released'])} releases do not make {count} rows")
    if len(rows) < count or (whole and len(rows) != count) or _digest(rows[:count], salt) != entry["digest"]:
        raise FileRefused(
            f"{path}: {whose}: {count} rows were released, and the first {count} rows now are others: {VOID}; give the rows as they "
            "were, new ones after them, or another --state for other people"
        )
    try:
        return [
            None if item is None else decode_label(item["label"], "released") for item in entry["released"]
        ]
    except InvalidModel as cause:
        raise FileRefused(f"{path}: {whose}: {cause}") from cause
