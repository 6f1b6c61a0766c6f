"""Channels: a released symbol drawn from a distribution that depends on the symbol read."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from privopt.core.exact import IntegerRow
from privopt.errors import InvalidMechanism
from privopt.files.labels import Label, Labels, decode_labels, encode_labels
from privopt.mechanisms import _channel_table as tables
from privopt.mechanisms.base import Mechanism
from privopt.mechanisms.columns import encode
from privopt.mechanisms.draw import draw
from privopt.mechanisms.tables import Cells, read_rows, release_cells
from privopt.models.columns import TableColumns


@dataclass(frozen=True, init=False, eq=False, repr=False)
class Channel(Mechanism):
    """A channel: input x becomes output y with probability ``matrix[x, y]``.

    What is sampled and certified are integers. Rows of floats become weights that add up to one power
    of two for the whole channel, long enough to hold every float exactly; what the floats of a row miss
    of 1 goes to its largest entry. Rows that hold a Fraction are exact as given.

    Parameters
    ----------
    matrix : array-like of float or Fraction, shape (n_x, n_y)
        Non-negative; each row sums to 1 within 1e-9, and is divided by its sum.
    inputs : iterable of hashable, length n_x, optional
        Distinct labels; 0 .. n_x - 1 by default.
    outputs : iterable of hashable, length n_y, optional
        Distinct labels; 0 .. n_y - 1 by default.
    simulation_only : bool
        Set by ``solve(..., certify=False)``: such a mechanism releases only with a simulation generator.
    columns : TableColumns, optional
        The columns of the table that it is for: it then reads raw cells of these and refuses others. No part of
        comparisons and fingerprints.

    Attributes
    ----------
    matrix : float array, shape (n_x, n_y)
        Read-only.

    Raises
    ------
    InvalidMechanism
        If an entry is negative or not a number, a row does not sum to 1, or labels do not fit.

    Examples
    --------
    >>> channel = Channel([[1, 0], [0.5, 0.5]], inputs=["no", "yes"], outputs=["no", "yes"])
    >>> channel.release(["no", "no"]).tolist()
    ['no', 'no']
    >>> channel.exact()[1].weights[0] * 2 == channel.exact()[1].total
    True
    """

    kind: ClassVar[str] = "channel"

    matrix: NDArray[np.float64]
    inputs: Labels
    outputs: Labels
    simulation_only: bool
    columns: TableColumns | None
    _entries: tables.Entries

    def __init__(
        self,
        matrix: object,
        inputs: Iterable[Label] | None = None,
        outputs: Iterable[Label] | None = None,
        *,
        simulation_only: bool = False,
        columns: TableColumns | None = None,
    ) -> None:
        entries, readings = tables.checked(matrix)
        floats = tables.normalised(readings)
        values: dict[str, object] = {
            "matrix": floats,
            "inputs": tables.labels(inputs, floats.shape[0], "inputs"),
            "outputs": tables.labels(outputs, floats.shape[1], "outputs"),
            "simulation_only": bool(simulation_only),
            "columns": columns,
            "_entries": entries,
        }
        for name, value in values.items():
            object.__setattr__(self, name, value)

    @cached_property
    def _rows(self) -> tuple[IntegerRow, ...]:
        return tables.integer_rows(self._entries, self.matrix)

    def exact(self) -> tuple[IntegerRow, ...]:
        """The integer weights that are sampled, a row an input.

        Rows of floats share the total 2**b with the least b >= 62 that holds every float; a row given
        with a Fraction has its own total.
        """
        return self._rows

    def quantised(self) -> Channel:
        """The channel itself: its integer form is exact, so there is nothing to round."""
        return self

    def validated(self, simulation_only: bool = False) -> Channel:
        """A fresh copy that went through the constructor's checks again."""
        return Channel(
            self._entries, self.inputs, self.outputs, simulation_only=simulation_only, columns=self.columns
        )

    def described(self, columns: TableColumns | None, outputs: Labels | None) -> Channel:
        """The channel with the columns that it is for, and with its releases named where they have only positions."""
        if outputs is None or len(outputs) != len(self.outputs) or not self._has_positions:
            outputs = self.outputs
        columns = self.columns if columns is None else columns.of_mechanism()
        if (columns, outputs) == (self.columns, self.outputs):
            return self
        return Channel(
            self._entries, self.inputs, outputs, simulation_only=self.simulation_only, columns=columns
        )

    @property
    def _has_positions(self) -> bool:
        return self.outputs == tuple(range(len(self.outputs)))

    @property
    def messages(self) -> tuple[bool, ...]:
        """Which releases are messages without a value of their own: all, where symbols have names and releases only positions."""
        bare = self._has_positions and self.inputs != tuple(range(len(self.inputs)))
        return (bare,) * len(self.outputs)

    @property
    def cells(self) -> tuple[Cells, ...]:
        """What is written in a table for each release: a cell for each part of a product symbol, a short name for a message."""
        return release_cells(self.inputs, self.outputs, self.messages)

    def release(self, data: Any, rng: np.random.Generator | None = None) -> Any:
        """Release each symbol of a column, or of a 2-d array, independently.

        Draw once: a second draw of the same records voids the certificate.

        Parameters
        ----------
        data : sequence, NumPy array, pandas or Polars column, or a frame
            Symbols among ``inputs``; a frame of several columns is read row by row as tuples. With ``columns``,
            raw cells of these, and a frame comes back as a frame of what is released.
        rng : numpy.random.Generator, optional
            Simulate with this generator. The result is then marked as simulated and protects nobody.

        Returns
        -------
        The same kind of column, or a NumPy object array, of symbols among ``outputs``.

        Raises
        ------
        InvalidMechanism
            If a symbol is unknown, the columns are others than those it is for, or the mechanism was not certified
            and no ``rng`` is given.
        """
        if self.simulation_only and rng is None:
            raise InvalidMechanism(
                "this mechanism was not certified (certify=False): it releases only with rng=, as a simulation"
            )
        rows = read_rows(data, self.columns, self.inputs)
        drawn = draw(self.exact(), encode(rows.symbols, self.inputs), rng)
        return rows.released(drawn, self.outputs, self.cells, rng is not None)

    @property
    def fingerprint(self) -> str:
        """SHA-256 of the canonical JSON form, hashed row by row."""
        return self._fingerprint

    @cached_property
    def _fingerprint(self) -> str:
        return tables.digest(self._fields(), "matrix", self._entries)

    def to_dict(self) -> dict[str, Any]:
        """A JSON-safe dictionary; fractions are written "a/b"."""
        fields = self._fields()
        written = {
            "type": fields.pop("type"),
            "version": fields.pop("version"),
            "matrix": tables.encode(self._entries),
            **fields,
        }
        return written if self.columns is None else {**written, "columns": self.columns.to_dict()}

    def _fields(self) -> dict[str, Any]:
        """What is written beside the matrix."""
        return {
            "type": self.kind,
            "version": 1,
            "inputs": encode_labels(self.inputs),
            "outputs": encode_labels(self.outputs),
            "simulation_only": self.simulation_only,
        }

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> Self:
        """The channel that :meth:`to_dict` wrote.

        Raises
        ------
        InvalidMechanism
            If a field is missing or not of its kind.
        """
        if "matrix" not in fields:
            raise InvalidMechanism('a channel needs "matrix": a row an input, a column an output')
        names = [fields.get("inputs"), fields.get("outputs")]
        try:
            inputs, outputs = (None if name is None else decode_labels(name) for name in names)
            columns = None if fields.get("columns") is None else TableColumns.from_dict(fields["columns"])
        except ValueError as cause:
            raise InvalidMechanism(str(cause)) from cause
        simulated = fields.get("simulation_only", False) is True
        matrix = tables.decode(fields["matrix"])
        return cls(matrix, inputs, outputs, simulation_only=simulated, columns=columns)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Channel):
            return NotImplemented
        return self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def _key(self) -> tuple[object, ...]:
        return self.kind, self.exact(), self.inputs, self.outputs, self.simulation_only

    def __reduce__(self) -> tuple[object, ...]:
        # Arrays come out of a pickle writable, so the channel is made anew.
        return type(self).from_dict, (self.to_dict(),)

    def __repr__(self) -> str:
        used = int((self.matrix > 0).any(axis=0).sum())
        note = ", simulation only" if self.simulation_only else ""
        return f"Channel({len(self.inputs)} inputs x {len(self.outputs)} outputs, {used} in use{note})"

    def _repr_html_(self) -> str:
        from privopt.files.text import html_table, number

        rows = [
            (label, *(number(p) for p in row[:20]))
            for label, row in zip(self.inputs[:50], self.matrix[:50].tolist(), strict=True)
        ]
        cut = f"{self!r} (cut)" if len(self.inputs) > 50 or len(self.outputs) > 20 else "input"
        return html_table(rows, (cut, *(f"Pr({y!r})" for y in self.outputs[:20])))
