"""Where a bundle is: a zip file, or the folder that 'privopt publish' wrote, with its released table."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from privopt.errors import FileRefused
from privopt.publication.publication import BUNDLE, TABLE


@dataclass(frozen=True)
class Place:
    """A bundle, and the released table where it is known.

    Parameters
    ----------
    bundle : Path
    released : Path or None
    """

    bundle: Path
    released: Path | None


def bundle_at(path: Path, released: Path | None) -> Place | None:
    """The bundle that a path names, None where it names no zip file and no folder.

    Of a folder it is its ``bundle.zip``; the released table is then its ``released.csv``, unless another one is given.

    Raises
    ------
    FileRefused
        If a folder holds no bundle.
    """
    if not path.is_dir():
        return Place(path, released) if path.suffix == ".zip" else None
    inside = path / BUNDLE
    if not inside.is_file():
        raise FileRefused(
            f"{path}: is a folder without {BUNDLE}; give the folder that 'privopt publish' wrote, a bundle, or a problem and its solution"
        )
    table = path / TABLE
    return Place(inside, released if released is not None or not table.is_file() else table)
