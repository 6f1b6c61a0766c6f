"""Distortions of single letters, by name or as a matrix."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np

from privopt.arrays import Floats
from privopt.errors import InvalidMechanism
from privopt.files.labels import Labels

Matrix: TypeAlias = tuple[tuple[float, ...], ...]
Distortion: TypeAlias = str | Matrix

NAMED = ("hamming", "l1", "squared")


def distortion(given: object, letters: Labels) -> Distortion:
    """The name of a distortion, or its matrix as tuples, a row a letter.

    Raises
    ------
    InvalidMechanism
        If it is unknown, not finite, of another number of rows, or needs letters that are numbers.

    Examples
    --------
    >>> distortion([[0, 1, 0.5], [1, 0, 0.5]], ("a", "b"))
    ((0.0, 1.0, 0.5), (1.0, 0.0, 0.5))
    """
    if isinstance(given, str):
        if given not in NAMED:
            raise InvalidMechanism(f"distortion must be one of {', '.join(NAMED)} or a matrix, got {given!r}")
        if given != "hamming" and not all(map(_is_real, letters)):
            raise InvalidMechanism(
                f"{given!r} needs letters that are finite numbers; give a matrix for others"
            )
        return given
    try:
        table = np.array(given, dtype=np.float64)
    except (TypeError, ValueError) as cause:
        raise InvalidMechanism(
            f"distortion must be a name or a matrix of numbers, a row a letter: {cause}"
        ) from cause
    if table.ndim != 2 or table.shape[0] != len(letters) or not table.shape[1]:
        raise InvalidMechanism(
            f"distortion must have a row for each of the {len(letters)} letters, got shape {table.shape}"
        )
    if not np.isfinite(table).all():
        raise InvalidMechanism("distortion holds an entry that is not a finite number")
    return tuple(map(tuple, (table + 0.0).tolist()))


def costs(named: Distortion, letters: Labels) -> Floats:
    """The matrix D[x, y] of a distortion; read-only.

    Examples
    --------
    >>> costs("l1", (0, 1, 3)).tolist()
    [[0.0, 1.0, 3.0], [1.0, 0.0, 2.0], [3.0, 2.0, 0.0]]
    """
    if not isinstance(named, str):
        found = np.array(named)
    elif named == "hamming":
        found = 1.0 - np.eye(len(letters))
    else:
        places = np.array([float(letter) for letter in letters])  # type: ignore[arg-type]  # numbers, as checked
        with np.errstate(over="ignore"):
            apart = np.abs(places[:, None] - places[None, :])
            found = apart if named == "l1" else apart**2
    if not np.isfinite(found).all():
        raise InvalidMechanism(f"the letters are too far apart: their {named!r} distortion is not finite")
    found.setflags(write=False)
    return found


def _is_real(letter: object) -> bool:
    return isinstance(letter, (int, float)) and not isinstance(letter, bool) and bool(np.isfinite(letter))
