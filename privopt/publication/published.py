"""Which releases were published of the rows of a file, wherever they were written, so that the same rows are not drawn again."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from privopt.errors import FileRefused
from privopt.files.json import check_schema, read_json, writing
from privopt.mechanisms.policy.journal import alone
from privopt.publication.receipt import column_digest, new_salt
from privopt.publication.state import VOID
from privopt.publication.words import plain


def beside(source: Path) -> Path:
    """The file beside a table that says what was published of it.

    Examples
    --------
    >>> beside(Path("data/people.csv")).name
    'people.csv.published.json'
    """
    return source.with_name(f"{source.name}.published.json")


@dataclass
class Published:
    """What a file says was published; it holds keyed hashes of columns, no cell, and belongs beside the data.

    Parameters
    ----------
    path : Path
    salt : str
    releases : list of mappings
        Each with its folder, rows, epsilon and the hashes of the columns that were read, the secret among them.
    """

    path: Path
    salt: str
    releases: list[dict[str, Any]]

    def check(self, source: Path, cells: Mapping[str, Sequence[str]]) -> None:
        """Refuse rows of which something was published before.

        A file of releases beside a table stands for the people of that table: other rows in it are refused as well, as some of them may
        be those that were released.

        Raises
        ------
        FileRefused
            With what was published and why there is no second draw, or why it cannot be known that these are other people.
        """
        if not self.releases:
            return
        now = _digests(cells, self.salt)
        alike = [old for old in self.releases if any(old["columns"].get(name) == now[name] for name in now)]
        old = (alike or self.releases)[-1]
        which = f"into {old['folder']} with epsilon {old['epsilon']}"
        if alike:
            said = f"these rows were published {which}, and records are released once only, since {VOID}. Use that release"
        else:
            said = (
                f"{source.name} was published {which} when it had other rows ({old['rows']}); whether some of them are the same people cannot be "
                f"known, and {VOID}; rows that were left out for a missing value make others of those that stay"
            )
        raise FileRefused(
            f"{source}: {said}; for other people give another --state FILE. If that release was given to nobody and is deleted, delete {self.path} too"
        )

    def add(self, folder: Path, epsilon: float, cells: Mapping[str, Sequence[str]]) -> None:
        """Record a release; on return it is on the disk."""
        rows = len(next(iter(cells.values()), ()))
        told = {
            "folder": str(folder),
            "rows": rows,
            "epsilon": plain(epsilon),
            "columns": _digests(cells, self.salt),
        }
        self._write([*self.releases, told])
        self.releases.append(told)

    def take_back(self) -> None:
        """Leave out the last release, of which nothing was written."""
        self.releases.pop()
        if self.releases:
            self._write(self.releases)
        else:
            self.path.unlink(missing_ok=True)

    def _write(self, releases: Sequence[Mapping[str, Any]]) -> None:
        fields = {"format": "privopt/published", "version": 1, "salt": self.salt, "releases": list(releases)}
        with writing(self.path, private=True) as stream:
            json.dump(fields, stream, allow_nan=False, indent=1)


@contextmanager
def published(path: Path) -> Iterator[Published]:
    """What a file says was published, while no other run reads or changes it; nothing where there is no file.

    Raises
    ------
    FileRefused
        If it is not of this kind, or its folder cannot be written, so that nothing could be recorded.

    Examples
    --------
    >>> import tempfile
    >>> place = Path(tempfile.mkdtemp()) / "people.csv.published.json"
    >>> with published(place) as before:
    ...     before.check(Path("people.csv"), {"age": ["old"]})
    ...     before.add(Path("out"), 0.3, {"age": ["old"]})
    >>> with published(place) as before:
    ...     before.check(Path("people.csv"), {"age": ["old"]})
    Traceback (most recent call last):
    privopt.errors.FileRefused: people.csv: these rows were published into out with epsilon 0.3, ...
    """
    with alone(path):
        if not path.exists():
            yield Published(path, new_salt(), [])
            return
        fields = read_json(path)
        if fields.get("format") != "privopt/published":
            raise FileRefused(f"{path}: does not say what was published; give another --state")
        check_schema(fields, "published")
        yield Published(path, fields["salt"], list(fields["releases"]))


def check_copies(source: Path, record: Path, cells: Mapping[str, Sequence[str]]) -> None:
    """Refuse rows that were published from another file of the same folder, of which this one is a copy.

    Columns are compared whole and in order, under whatever name, but not those with one value only. Rows that were sorted, recoded
    or left out are not recognised.

    Parameters
    ----------
    source : Path
        The table that is to be published.
    record : Path
        Where its own releases are recorded, which is not looked at.
    cells : mapping of str to sequence of str
        The columns that are read.

    Raises
    ------
    FileRefused
        With the file that says so, or if one of these files cannot be read.

    Examples
    --------
    >>> check_copies(Path("nowhere/people.csv"), Path("nowhere/people.csv.published.json"), {"age": ["old", "young"]})
    """
    telling = [column for column in cells.values() if len(set(column)) > 1]
    for other in sorted(source.parent.glob("*.published.json")):
        if other == record:
            continue
        with published(other) as before:
            now = {column_digest(column, before.salt) for column in telling if before.releases}
            for old in before.releases:
                if now & set(old["columns"].values()):
                    raise FileRefused(
                        f"{source}: these rows were published from another file into {old['folder']} with epsilon {old['epsilon']}, as {other} "
                        f"says, and records are released once only, since {VOID}. If that release was given to nobody and is deleted, delete "
                        f"{other} too"
                    )


def _digests(cells: Mapping[str, Sequence[str]], salt: str) -> dict[str, str]:
    return {name: column_digest(column, salt) for name, column in cells.items()}
