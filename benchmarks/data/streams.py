"""Loaders of the streams that do not ship: clicks of two news sites, and gazes at a screen.

Files are found and checked by :func:`privopt.benchmarks.data.external.load_external`.
"""

from __future__ import annotations

import csv
import gzip
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from privopt.arrays import Ints
from privopt.benchmarks.data.external import load_external

GRID = 100


@dataclass(frozen=True, eq=False)
class Streams:
    """Sequences of letters 0 .. k-1, one a user or recording, and what is to be known of them."""

    sequences: tuple[Ints, ...]
    letters: int
    about: str


def _numbers(text: str) -> tuple[Ints, ...]:
    return tuple(np.array(line.split(), dtype=np.int64) for line in text.splitlines() if line.strip())


def msnbc() -> Streams:
    """323 long visits to a news site, 17 categories, in the order of clicks.

    Raises
    ------
    FileRefused
        If the file is missing or is not the one meant.
    """
    rows = _numbers(load_external("msnbc323").read_text(encoding="ascii"))
    about = "msnbc323: long visits only, 17 categories, true click order"
    return Streams(tuple(row - 1 for row in rows), 17, about)


def kosarak() -> Streams:
    """The first 20,000 rows of Kosarak as written, the 15 most clicked items and "other" as letters.

    Row order is not click order: each row is a set of items, written in one fixed order of items. A chain
    fitted to it describes how the file was stored.

    Raises
    ------
    FileRefused
        If the file is missing or is not the one meant.
    """
    with gzip.open(load_external("kosarak-reduced16"), "rt", encoding="ascii") as stream:
        rows = _numbers(stream.read())
    about = "Kosarak, first 20,000 rows reduced to 16 letters, as written: row order is not click order"
    return Streams(rows, 16, about)


def kosarak_rows(name: str = "kosarak-36682") -> tuple[Ints, ...]:
    """Rows of a prefix of Kosarak with the items' own numbers; sets, not sequences of clicks.

    Raises
    ------
    FileRefused
        If the file is missing or is not the one meant.
    """
    with gzip.open(load_external(name), "rt", encoding="ascii") as stream:
        return _numbers(stream.read())


@dataclass(frozen=True, eq=False)
class Gaze:
    """Gazes of eight people: cells of a grid, a sequence a recording, with whose it is and what they did."""

    streams: Streams
    subjects: tuple[str, ...]
    activities: tuple[str, ...]


def gaze(cells: int) -> Gaze:
    """Recordings at 30 samples a second, coarsened from 100 x 100 cells to ``cells`` x ``cells``; letter = row * cells + column.

    Raises
    ------
    FileRefused
        If the file is missing or is not the one meant.
    """
    places: dict[tuple[str, str], list[int]] = {}
    with gzip.open(load_external("gaze"), "rt", encoding="utf-8", newline="") as stream:
        for row in csv.DictReader(stream):
            at = int(row["gy"]) * cells // GRID * cells + int(row["gx"]) * cells // GRID
            places.setdefault((row["subject"], row["activity"]), []).append(at)
    sequences = tuple(np.array(letters, dtype=np.int64) for letters in places.values())
    about = f"gaze of 8 people, 48 recordings at 30 Hz, {cells} x {cells} cells"
    subjects, activities = zip(*places, strict=True)
    return Gaze(Streams(sequences, cells * cells, about), subjects, activities)


def activity() -> Ints:
    """Whether a person moved in each of 17,568 successive intervals of five minutes: 1 or 0, -1 where it is not known.

    Raises
    ------
    FileRefused
        If the file is missing or is not the one meant.
    """
    with load_external("activity").open(encoding="utf-8", newline="") as stream:
        steps = [row["steps"] for row in csv.DictReader(stream)]
    return np.array([-1 if step == "NA" else int(int(step) > 0) for step in steps], dtype=np.int64)


def electricity() -> NDArray[np.float64]:
    """Energy of a house on each of 731 successive days in kWh, all meters summed, which counts most of it about three times.

    Of all sums of the meters it is the one whose transitions across 80 and 90 kWh are nearest to published ones.

    Raises
    ------
    FileRefused
        If the file is missing or is not the one meant.
    """
    with load_external("ampds-daily").open(encoding="utf-8", newline="") as stream:
        return np.array([float(row["all_columns_kwh"]) for row in csv.DictReader(stream)])
