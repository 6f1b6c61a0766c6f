"""Zip files of a few stored parts: written byte for byte alike, read as if an enemy had made them."""

from __future__ import annotations

import os
import zipfile
from collections.abc import Collection, Mapping
from pathlib import Path

from privopt.errors import FileRefused
from privopt.files.json import MAX_BYTES
from privopt.files.paths import writing_bytes

MOST_PARTS = 16
MOST_DIRECTORY = 2**16
"""Bytes of the directory of parts, of which a zip reader makes an entry each."""
END = 22
"""Bytes of the record at the end of a zip file, without its comment."""
FARTHEST = END + 2**16 + 20
"""Bytes at the end of a file among which that record is, with a comment and the mark of a larger form."""
DAWN = (1980, 1, 1, 0, 0, 0)
"""The time of every part: the first that a zip file can hold."""


def write_archive(path: str | os.PathLike[str], parts: Mapping[str, bytes]) -> None:
    """Write parts in the order of their names, uncompressed, whole or not at all; equal parts give equal bytes."""
    with writing_bytes(path) as stream, zipfile.ZipFile(stream, "w", zipfile.ZIP_STORED) as archive:
        for name in sorted(parts):
            entry = zipfile.ZipInfo(name, DAWN)
            entry.create_system = 3
            entry.external_attr = 0o644 << 16
            archive.writestr(entry, parts[name])


def read_archive(path: str | os.PathLike[str], names: Collection[str]) -> dict[str, bytes]:
    """The parts of a zip file, of which only some names are possible; nothing is written and nothing unpacked.

    Parts must be stored, so that none grows when it is read, and together at most 256 MiB.

    Raises
    ------
    FileRefused
        If it is not such a file: another name, a name twice, a compressed or encrypted part, too many or too large ones.
    """
    place = Path(path)
    try:
        if place.stat().st_size > MAX_BYTES:
            raise FileRefused(f"{place}: more than {MAX_BYTES} bytes; no more are read")
        _check_directory(place)
        with zipfile.ZipFile(place) as archive:
            entries = archive.infolist()
            _check(place, entries, names)
            return {entry.filename: archive.read(entry) for entry in entries}
    except OSError as cause:
        raise FileRefused(f"{place}: cannot be read: {cause.strerror or cause}") from cause
    except (zipfile.BadZipFile, EOFError, ValueError, NotImplementedError, RuntimeError) as cause:
        if isinstance(cause, FileRefused):
            raise
        raise FileRefused(f"{place}: is not a bundle: {cause}") from cause


def _check_directory(place: Path) -> None:
    """Refuse a directory of parts that is too long to be read, or of the form for more than 65 535 parts."""
    with place.open("rb") as stream:
        size = stream.seek(0, os.SEEK_END)
        stream.seek(max(0, size - FARTHEST))
        tail = stream.read(FARTHEST)
    end = tail.rfind(b"PK\x05\x06")
    if end < 0 or len(tail) - end < END:
        return  # no zip file, which is said when it is opened
    length = int.from_bytes(tail[end + 12 : end + 16], "little")
    if length > MOST_DIRECTORY or tail[max(0, end - 20) : end].startswith(b"PK\x06\x07"):
        raise FileRefused(f"{place}: its directory is longer than that of a bundle of {MOST_PARTS} parts")


def _check(place: Path, entries: list[zipfile.ZipInfo], names: Collection[str]) -> None:
    if len(entries) > MOST_PARTS:
        raise FileRefused(f"{place}: holds {len(entries)} parts, a bundle has at most {MOST_PARTS}")
    seen: set[str] = set()
    total = 0
    for entry in entries:
        if entry.filename not in names or entry.orig_filename != entry.filename:
            raise FileRefused(
                f"{place}: holds a part of another name than those of a bundle: {entry.filename[:60]!r}"
            )
        if entry.filename in seen:
            raise FileRefused(f"{place}: holds {entry.filename!r} twice")
        if (
            entry.compress_type != zipfile.ZIP_STORED
            or entry.compress_size != entry.file_size
            or entry.flag_bits & 0x1
        ):
            raise FileRefused(
                f"{place}: the part {entry.filename!r} is compressed or encrypted; a bundle stores its parts as they are"
            )
        seen.add(entry.filename)
        total += entry.file_size
        if total > MAX_BYTES:
            raise FileRefused(f"{place}: its parts have more than {MAX_BYTES} bytes")
