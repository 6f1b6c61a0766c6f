"""Mergings: deterministic channels that publish only which block a symbol is in."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from privopt.core.exact import IntegerRow
from privopt.errors import InvalidMechanism
from privopt.files.labels import Label, Labels, decode_labels, encode_labels, plain_labels
from privopt.mechanisms._channel_table import MAX_CELLS
from privopt.mechanisms.base import Mechanism
from privopt.mechanisms.columns import encode
from privopt.mechanisms.tables import Cells, read_rows, release_cells
from privopt.models.columns import TableColumns


@dataclass(frozen=True, init=False, eq=False, repr=False)
class Merging(Mechanism):
    """A merging: a partition of the input symbols into blocks; the block is released, never the symbol in it.

    Parameters
    ----------
    blocks : sequence of sequences of labels
        Disjoint, none empty, together all inputs.
    inputs : iterable of hashable, optional
        The order of the inputs; by default that of the blocks.
    simulation_only : bool
        Set by ``solve(..., certify=False)``.
    columns : TableColumns, optional
        The columns of the table that it is for: it then reads raw cells of these and refuses others. No part of
        comparisons and fingerprints.

    Attributes
    ----------
    outputs : tuple
        A block of one symbol is released as that symbol, a larger one as its symbols joined by " | ".
    assignment : int array, shape (n_x,)
        Position of the block of each input.
    matrix : float array, shape (n_x, n_blocks)
        Entries 0 and 1, built when asked for.

    Raises
    ------
    InvalidMechanism
        If a block is empty, a symbol is in two blocks or in none, or two blocks would have one name.

    Examples
    --------
    >>> merging = Merging([["a"], ["b", "c"]])
    >>> merging.release(["a", "c", "b"]).tolist()
    ['a', 'b | c', 'b | c']
    """

    kind: ClassVar[str] = "merging"

    blocks: tuple[Labels, ...]
    inputs: Labels
    outputs: Labels
    assignment: NDArray[np.int64]
    simulation_only: bool
    columns: TableColumns | None

    def __init__(
        self,
        blocks: Sequence[Sequence[Label]],
        inputs: Iterable[Label] | None = None,
        *,
        simulation_only: bool = False,
        columns: TableColumns | None = None,
    ) -> None:
        parts = tuple(map(plain_labels, blocks))
        of = _block_of(parts)
        symbols = tuple(of) if inputs is None else plain_labels(inputs)
        if set(symbols) != set(of) or len(symbols) != len(of):
            odd = sorted(set(symbols) ^ set(of), key=repr)
            raise InvalidMechanism(f"blocks must hold every input exactly once; look at {odd[:5]!r}")
        outputs = tuple(block[0] if len(block) == 1 else " | ".join(map(str, block)) for block in parts)
        if len(set(outputs)) < len(outputs):
            raise InvalidMechanism("two blocks would be released under one name; rename the inputs")
        assignment = np.array([of[symbol] for symbol in symbols], dtype=np.int64)
        assignment.setflags(write=False)
        values: dict[str, object] = {
            "blocks": parts,
            "inputs": symbols,
            "outputs": outputs,
            "assignment": assignment,
            "simulation_only": bool(simulation_only),
            "columns": columns,
        }
        for name, value in values.items():
            object.__setattr__(self, name, value)

    @cached_property
    def matrix(self) -> NDArray[np.float64]:
        """Entry [x, y] is 1 where input x is in block y, else 0."""
        if len(self.inputs) * len(self.blocks) > MAX_CELLS:
            raise InvalidMechanism(f"the matrix would have more than {MAX_CELLS} cells; use assignment")
        table = np.zeros((len(self.inputs), len(self.blocks)))
        table[np.arange(len(self.inputs)), self.assignment] = 1.0
        table.setflags(write=False)
        return table

    def exact(self) -> tuple[IntegerRow, ...]:
        """Weights 0 and 1, a row an input."""
        return tuple(IntegerRow(tuple(int(p) for p in row), 1) for row in self.matrix.tolist())

    def quantised(self) -> Merging:
        """The merging itself: there is nothing to round."""
        return self

    def validated(self, simulation_only: bool = False) -> Merging:
        """A fresh copy that went through the constructor's checks again."""
        return Merging(self.blocks, self.inputs, simulation_only=simulation_only, columns=self.columns)

    def described(self, columns: TableColumns | None, outputs: Labels | None) -> Merging:
        """The merging with the columns that it is for; blocks keep their names."""
        if columns is None or columns.of_mechanism() == self.columns:
            return self
        columns = columns.of_mechanism()
        return Merging(self.blocks, self.inputs, simulation_only=self.simulation_only, columns=columns)

    @property
    def messages(self) -> tuple[bool, ...]:
        """Which releases are messages without a value of their own: blocks of several symbols."""
        return tuple(len(block) > 1 for block in self.blocks)

    @property
    def cells(self) -> tuple[Cells, ...]:
        """What is written in a table for each release: a cell for each part of a product symbol, a short name for a message."""
        return release_cells(self.inputs, self.outputs, self.messages)

    def release(self, data: Any, rng: np.random.Generator | None = None) -> Any:
        """Release the block of each symbol; nothing is drawn, so that a second release of the same records says no more.

        Parameters
        ----------
        data : sequence, NumPy array, pandas or Polars column, or a frame
            Symbols among ``inputs``; a frame of several columns is read row by row as tuples. With ``columns``,
            raw cells of these, and a frame comes back as a frame in which blocks have short names.
        rng : numpy.random.Generator, optional
            Only marks the result as simulated.

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
        codes = self.assignment[encode(rows.symbols, self.inputs)]
        return rows.released(codes, self.outputs, self.cells, rng is not None)

    def to_dict(self) -> dict[str, Any]:
        """A JSON-safe dictionary."""
        written = {
            "type": self.kind,
            "version": 1,
            "blocks": [encode_labels(block) for block in self.blocks],
            "inputs": encode_labels(self.inputs),
            "simulation_only": self.simulation_only,
        }
        return written if self.columns is None else {**written, "columns": self.columns.to_dict()}

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> Self:
        """The merging that :meth:`to_dict` wrote.

        Raises
        ------
        InvalidMechanism
            If a field is missing or not of its kind.
        """
        blocks, inputs = fields.get("blocks"), fields.get("inputs")
        if not isinstance(blocks, list):
            raise InvalidMechanism('a merging needs "blocks": a list of lists of input symbols')
        try:
            parts = [decode_labels(block) for block in blocks]
            symbols = None if inputs is None else decode_labels(inputs)
            columns = None if fields.get("columns") is None else TableColumns.from_dict(fields["columns"])
        except ValueError as cause:
            raise InvalidMechanism(str(cause)) from cause
        simulated = fields.get("simulation_only", False) is True
        return cls(parts, symbols, simulation_only=simulated, columns=columns)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Merging):
            return NotImplemented
        return self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def _key(self) -> tuple[object, ...]:
        return self.blocks, self.inputs, self.simulation_only

    def __repr__(self) -> str:
        largest = max(map(len, self.blocks))
        return f"Merging({len(self.inputs)} inputs into {len(self.blocks)} blocks, the largest of {largest})"

    def _repr_html_(self) -> str:
        from privopt.files.text import html_table

        rows = [
            (f"B{i}", len(block), ", ".join(map(str, block[:10])) + (", ..." if len(block) > 10 else ""))
            for i, block in enumerate(self.blocks[:50])
        ]
        return html_table(rows, (repr(self), "symbols", "which"))


def _block_of(blocks: tuple[Labels, ...]) -> dict[Label, int]:
    """The block of each symbol, in the order of the blocks."""
    block_of: dict[Label, int] = {}
    for i, block in enumerate(blocks):
        if not block:
            raise InvalidMechanism(f"block {i} is empty; leave it out")
        for symbol in block:
            if symbol in block_of:
                raise InvalidMechanism(
                    f"symbol {symbol!r} is in blocks {block_of[symbol]} and {i}; put it in one"
                )
            block_of[symbol] = i
    if not block_of:
        raise InvalidMechanism("there are no blocks; give at least one")
    return block_of
