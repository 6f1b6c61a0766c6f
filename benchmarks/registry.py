"""Data sets that do not ship: files in a folder of your own, checked by checksum before use."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

from privopt.benchmarks._external import ENTRIES, External
from privopt.errors import FileRefused

FOLDER = "PRIVOPT_DATA"
"""Environment variable: the folder that holds the external data sets."""


def external_sets() -> dict[str, External]:
    """Every known external data set by name, whether or not its file is present.

    Examples
    --------
    >>> external_sets()["galton"].file
    'galton/galton.csv'
    """
    return {entry.name: entry for entry in sorted(ENTRIES, key=lambda entry: entry.name)}


def load_external(name: str) -> Path:
    """The path of an external data set whose content was checked.

    Raises
    ------
    FileRefused
        If there is no such data set, the environment variable is not set, the file is missing, or its
        checksum differs.
    """
    known = external_sets()
    if name not in known:
        raise FileRefused(f"there is no external data set {name!r}; there are {', '.join(known)}")
    entry, folder = known[name], os.environ.get(FOLDER)
    if not folder:
        raise FileRefused(
            f"{name} does not ship with privopt; set {FOLDER} to the folder that holds {entry.file}"
        )
    path = Path(folder) / entry.file
    try:
        content = path.read_bytes()
    except OSError as cause:
        raise FileRefused(f"{path} cannot be read: {cause}; origin of {name}: {entry.origin}") from cause
    found = hashlib.sha256(content).hexdigest()
    if found != entry.sha256:
        raise FileRefused(
            f"{path} is not the {name} that is meant: its sha256 is {found}, not {entry.sha256}"
        )
    return path
