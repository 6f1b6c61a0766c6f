"""Colourings: the randomised answer of each dataset of a graph."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from privopt.core.exact import IntegerRow
from privopt.errors import InvalidMechanism
from privopt.files.labels import Label, Labels, decode_labels, encode_labels, plain_label
from privopt.files.numbers import decode_table
from privopt.mechanisms import _channel_table as tables
from privopt.mechanisms.base import Mechanism
from privopt.mechanisms.columns import ReleasedArray
from privopt.mechanisms.draw import draw

MAX_WRITTEN = 1 << 20
"""Vertices of the largest colouring that goes into a file."""


@dataclass(frozen=True, init=False, eq=False, repr=False)
class Colouring(Mechanism):
    """A randomised colouring: vertex v has colour c with probability ``probabilities[v, c]``.

    Vertices of one *level* share a row. Every row has integers of its own: a power of two as total, with as many
    bits as hold each of its floats exactly, so that an error of 1e-79 survives; what the floats of a row miss of 1 goes
    to its largest entry.

    Parameters
    ----------
    probabilities : array-like, shape (n, k)
        In [0, 1]; each row sums to 1 within 1e-9. Small entries are kept as they are.
    colours : iterable of hashable, length k, optional
        Distinct labels of the columns; 0 .. k-1 by default.
    answers : array-like of int, shape (n,), optional
        The true colour of each vertex, for :attr:`error`.
    vertices : iterable of hashable, length n, optional
        Distinct labels; 0 .. n-1 by default.
    simulation_only : bool
        Set by ``solve(..., certify=False)``.

    Attributes
    ----------
    levels : float array, shape (l, k)
        Distinct rows.
    level : int array, shape (n,)
        The row of each vertex.

    Raises
    ------
    InvalidMechanism
        If an entry is negative or not a number, a row does not sum to 1, or labels do not fit.

    Examples
    --------
    >>> colouring = Colouring([[0.75, 0.25], [1.0, 0.0]], ["blue", "red"], answers=[0, 0])
    >>> colouring.error, colouring.release(1)
    (array([0.25, 0.  ]), 'blue')
    """

    kind: ClassVar[str] = "colouring"

    levels: NDArray[np.float64]
    level: NDArray[np.int32]
    colours: Labels
    answers: NDArray[np.int16] | None
    vertices: tuple[Label, ...] | range
    simulation_only: bool

    def __init__(
        self,
        probabilities: ArrayLike,
        colours: Iterable[Label] | None = None,
        *,
        answers: ArrayLike | None = None,
        vertices: Iterable[Label] | None = None,
        simulation_only: bool = False,
    ) -> None:
        table = _rows_of(probabilities)
        levels, level = np.unique(table, axis=0, return_inverse=True)
        self._fill(levels, level.reshape(-1), colours, answers, vertices, simulation_only)

    @classmethod
    def of_levels(
        cls,
        levels: ArrayLike,
        level: ArrayLike,
        colours: Iterable[Label] | None = None,
        *,
        answers: ArrayLike | None = None,
        vertices: Iterable[Label] | None = None,
        simulation_only: bool = False,
    ) -> Self:
        """A colouring whose vertices share few rows: ``levels`` (l, k) and the row of each vertex, ``level`` (n,)."""
        made = cls.__new__(cls)
        made._fill(_rows_of(levels), np.asarray(level), colours, answers, vertices, simulation_only)
        return made

    def _fill(
        self,
        levels: NDArray[np.float64],
        level: NDArray[Any],
        colours: Iterable[Label] | None,
        answers: ArrayLike | None,
        vertices: Iterable[Label] | None,
        simulation_only: bool,
    ) -> None:
        n = len(level)
        if (
            level.ndim != 1
            or level.dtype.kind not in "iu"
            or (n and not 0 <= level.min() <= level.max() < len(levels))
        ):
            raise InvalidMechanism(f"level must be the row of each vertex, in 0 .. {len(levels) - 1}")
        truth = None if answers is None else _codes(answers, n, levels.shape[1])
        names = (
            range(n)
            if vertices is None or isinstance(vertices, range)
            else tables.labels(vertices, n, "vertices")
        )
        values: dict[str, object] = {
            "levels": _frozen(levels, np.float64),
            "level": _frozen(level, np.int32),
            "colours": tables.labels(colours, levels.shape[1], "colours"),
            "answers": truth,
            "vertices": names,
            "simulation_only": bool(simulation_only),
        }
        for name, value in values.items():
            object.__setattr__(self, name, value)

    @property
    def probabilities(self) -> NDArray[np.float64]:
        """Probability of each colour at each vertex, shape (n, k)."""
        return np.asarray(self.levels[self.level])

    @property
    def error(self) -> NDArray[np.float64]:
        """Probability of a wrong answer at each vertex, shape (n,): the sum of the other colours, never 1 - accuracy.

        Raises
        ------
        InvalidMechanism
            If the true colours are not known.
        """
        if self.answers is None:
            raise InvalidMechanism(
                "the true colours are not known; give answers=, a position in colours a vertex"
            )
        wrong = self._errors[self.level, self.answers]
        return np.asarray(wrong)

    @cached_property
    def _errors(self) -> NDArray[np.float64]:
        return wrong_answers(self.levels)

    @cached_property
    def _rows(self) -> tuple[IntegerRow, ...]:
        return tuple(_integers(row) for row in self.levels)

    def exact(self) -> tuple[IntegerRow, ...]:
        """The integer weights of each level; vertex v is drawn from ``exact()[level[v]]``."""
        return self._rows

    def quantised(self) -> Colouring:
        """The colouring itself: its integer form holds the floats, so there is nothing to round."""
        return self

    def validated(self, simulation_only: bool = False) -> Colouring:
        """A fresh copy that went through the constructor's checks again."""
        return Colouring.of_levels(
            self.levels,
            self.level,
            self.colours,
            answers=self.answers,
            vertices=self.vertices,
            simulation_only=simulation_only,
        )

    def release(self, data: Any, rng: np.random.Generator | None = None) -> Any:
        """The randomised answer of one dataset, or of each of several.

        Parameters
        ----------
        data : vertex, or list or 1-d array of vertices
            Labels of datasets.
        rng : numpy.random.Generator, optional
            Simulate with this generator; the result protects nobody.

        Returns
        -------
        A colour, or an array of colours.

        Raises
        ------
        InvalidMechanism
            If a vertex is unknown, or the mechanism was not certified and no ``rng`` is given.
        """
        if self.simulation_only and rng is None:
            raise InvalidMechanism(
                "this mechanism was not certified (certify=False): it releases only with rng=, as a simulation"
            )
        many = isinstance(data, (list, np.ndarray))
        places = np.array([self.place(v) for v in (data if many else [data])], dtype=np.int64)
        needed, codes = np.unique(self.level[places], return_inverse=True)
        rows = [_integers(self.levels[i]) for i in needed.tolist()]
        drawn = draw(rows, codes.astype(np.int64), rng).tolist()
        if not many:
            return self.colours[drawn[0]]
        cells = np.empty(len(drawn), dtype=object)
        for i, c in enumerate(drawn):
            cells[i] = self.colours[c]
        released = cells.view(ReleasedArray)
        released.simulated = rng is not None
        return released

    def place(self, vertex: Any) -> int:
        """The position of a dataset by its label.

        Raises
        ------
        InvalidMechanism
            If there is none of this label.
        """
        label = plain_label(vertex)
        place = self._places.get(label) if not isinstance(self.vertices, range) else label
        if not isinstance(place, int) or isinstance(place, bool) or not 0 <= place < len(self.level):
            raise InvalidMechanism(
                f"there is no vertex {vertex!r} among the {len(self.level)} of the colouring"
            )
        return place

    @cached_property
    def _places(self) -> dict[Label, int]:
        return {label: i for i, label in enumerate(self.vertices)}

    @property
    def fingerprint(self) -> str:
        """SHA-256 of the arrays and the labels."""
        return self._digest

    @cached_property
    def _digest(self) -> str:
        digest = hashlib.sha256(f"{self.colours!r}{self.simulation_only}".encode())
        for array in (self.levels, self.level):
            digest.update(array.tobytes())
        if self.answers is not None:
            digest.update(self.answers.tobytes())
        if not isinstance(self.vertices, range):
            digest.update(repr(self.vertices).encode())
        return digest.hexdigest()

    def to_dict(self) -> dict[str, Any]:
        """A JSON-safe dictionary.

        Raises
        ------
        InvalidMechanism
            If there are more than 2**20 vertices, which is too much for a file.
        """
        if len(self.level) > MAX_WRITTEN:
            raise InvalidMechanism(f"a colouring of {len(self.level)} vertices is too large for a file")
        return {
            "type": self.kind,
            "version": 1,
            "levels": self.levels.tolist(),
            "level": self.level.tolist(),
            "colours": encode_labels(self.colours),
            "answers": None if self.answers is None else self.answers.tolist(),
            "vertices": None if isinstance(self.vertices, range) else encode_labels(self.vertices),
            "simulation_only": self.simulation_only,
        }

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> Self:
        """The colouring that :meth:`to_dict` wrote.

        Raises
        ------
        InvalidMechanism
            If a field is missing or not of its kind.
        """
        if "levels" not in fields or "level" not in fields:
            raise InvalidMechanism(
                'a colouring needs "levels", distinct rows, and "level", the row of each vertex'
            )
        try:
            colours, vertices = (
                None if fields.get(name) is None else decode_labels(fields[name])
                for name in ("colours", "vertices")
            )
            levels = decode_table(fields["levels"], "levels")
        except ValueError as cause:
            raise InvalidMechanism(str(cause)) from cause
        for name in ("level", "answers"):
            places = fields.get(name, [])
            whole = isinstance(places, list) and all(type(v) is int and abs(v) < 2**31 for v in places)
            if not whole and not (name == "answers" and places is None):
                raise InvalidMechanism(f'"{name}" must be a list of positions, one a vertex')
        return cls.of_levels(
            levels,
            np.array(fields["level"], dtype=np.int64),
            colours,
            answers=fields.get("answers"),
            vertices=vertices,
            simulation_only=fields.get("simulation_only", False) is True,
        )

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Colouring):
            return NotImplemented
        return self.fingerprint == other.fingerprint

    def __hash__(self) -> int:
        return hash(self.fingerprint)

    def __reduce__(self) -> tuple[object, ...]:
        # Arrays come out of a pickle writable, so the colouring is made anew.
        parts = (self.levels, self.level, self.colours, self.answers, self.vertices, self.simulation_only)
        return _remade, parts

    def __repr__(self) -> str:
        note = ", simulation only" if self.simulation_only else ""
        sizes = f"{len(self.level)} vertices x {len(self.colours)} colours, {len(self.levels)} levels"
        return f"Colouring({sizes}{note})"

    def _repr_html_(self) -> str:
        from privopt.files.text import html_table, number

        shown = range(min(50, len(self.level)))
        rows = [(self.vertices[v], *(number(p) for p in self.levels[self.level[v]].tolist())) for v in shown]
        return html_table(rows, ("vertex", *(f"Pr({c!r})" for c in self.colours)))


def wrong_answers(levels: NDArray[np.float64]) -> NDArray[np.float64]:
    """For each level and each colour that may be true, the sum of the other colours."""
    return np.stack([np.delete(levels, c, axis=1).sum(axis=1) for c in range(levels.shape[1])], axis=1)


def _remade(
    levels: Any, level: Any, colours: Any, answers: Any, vertices: Any, simulation_only: bool
) -> Colouring:
    return Colouring.of_levels(
        levels, level, colours, answers=answers, vertices=vertices, simulation_only=simulation_only
    )


def _rows_of(rows: ArrayLike) -> NDArray[np.float64]:
    """Checked rows, divided by their sum only where that is off by more than rounding: so it is done once at most."""
    table = tables.checked(rows)[1]
    totals = table.sum(axis=1, keepdims=True)
    off = np.abs(totals - 1.0) > (table.shape[1] + 1) * 2.0**-52
    return np.where(off, table / totals, table)


def _integers(row: NDArray[np.float64]) -> IntegerRow:
    return tables.integer_rows(row[None, :], row[None, :])[0]


def _codes(answers: ArrayLike, n: int, k: int) -> NDArray[np.int16]:
    codes = np.asarray(answers)
    if codes.shape != (n,) or codes.dtype.kind not in "iu" or (n and not 0 <= codes.min() <= codes.max() < k):
        raise InvalidMechanism(f"answers must be the true colour of each of {n} vertices, in 0 .. {k - 1}")
    return _frozen(codes, np.int16)


def _frozen(values: NDArray[Any], kind: Any) -> NDArray[Any]:
    array = np.array(values, dtype=kind)
    array.setflags(write=False)
    return array
