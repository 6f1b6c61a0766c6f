"""The door of a question on one step of a sequence: belief, letters and distortion checked, every refusal a sentence."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias

import numpy as np

from privopt.core.exact import Number
from privopt.errors import InvalidModel, InvalidProblem
from privopt.files.labels import Label, Labels
from privopt.models.validation import exact_law, label_tuple, number_array
from privopt.problems.validation import Matrix
from privopt.problems.validation import distortion as read_matrix

Distortion: TypeAlias = str | Matrix

NAMED = ("hamming", "l1", "squared")


def belief(given: object) -> tuple[Number, ...]:
    """Probabilities as they were given, with a sum of 1 within 1e-9."""
    try:
        values = number_array(given, "belief")
        if values.ndim != 1:
            raise InvalidProblem(f"belief must be one row of probabilities, got shape {values.shape}")
        found = tuple(values.tolist())
        exact_law(found, "belief", "belief / sum(belief)")
    except InvalidModel as cause:
        raise InvalidProblem(str(cause)) from cause
    return found


def letters(given: Iterable[Label] | None, count: int) -> Labels:
    """Distinct labels, a letter each; 0 .. count-1 when none are given."""
    try:
        return label_tuple(given, count, "letters")
    except InvalidModel as cause:
        raise InvalidProblem(str(cause)) from cause


def distortion(given: object, symbols: Labels) -> Distortion:
    """The name of a distortion, or a finite matrix D[x, y] with a row a letter."""
    if not isinstance(given, str):
        return read_matrix(given, len(symbols))
    if given not in NAMED:
        raise InvalidProblem(
            f"distortion must be one of {', '.join(NAMED)}, or a matrix D[x, y], got {given!r}"
        )
    if given != "hamming" and not all(map(_is_real, symbols)):
        raise InvalidProblem(
            f"{given!r} needs letters that are finite numbers; give a matrix for other letters"
        )
    return given


def _is_real(letter: object) -> bool:
    return isinstance(letter, (int, float)) and not isinstance(letter, bool) and bool(np.isfinite(letter))


def costs(named: Distortion, symbols: Labels) -> Matrix:
    """The matrix D[x, y] of a distortion.

    Raises
    ------
    InvalidProblem
        If letters are so far apart that their distance is not a float.

    Examples
    --------
    >>> costs("l1", (0, 1, 3))
    ((0.0, 1.0, 3.0), (1.0, 0.0, 2.0), (3.0, 2.0, 0.0))
    """
    if not isinstance(named, str):
        return named
    if named == "hamming":
        return tuple(map(tuple, (1.0 - np.eye(len(symbols))).tolist()))
    places = np.array([float(letter) for letter in symbols])  # type: ignore[arg-type]  # numbers, as checked
    with np.errstate(over="ignore"):
        apart = np.abs(places[:, None] - places[None, :])
        found = apart if named == "l1" else apart**2
    if not np.isfinite(found).all():
        raise InvalidProblem(f"the letters are too far apart: their {named!r} distortion is not finite")
    return tuple(map(tuple, found.tolist()))
