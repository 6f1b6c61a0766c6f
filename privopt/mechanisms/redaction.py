"""Local redaction: each record is hidden with a probability that depends on its own value."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from privopt.errors import InvalidMechanism
from privopt.files.labels import decode_labels, encode_labels, plain_labels
from privopt.files.numbers import decode_table
from privopt.mechanisms.base import Mechanism
from privopt.mechanisms.columns import decode, encode
from privopt.mechanisms.sampling import below
from privopt.models.markov.stream import StreamColumns

TOTAL = 2**52
"""Total of every integer row. A float in [0, 1] times it, rounded up, is exact in both worlds."""


PIECE = 1 << 14
"""Rows of JSON text in memory at once."""


@dataclass(frozen=True, eq=False)
class RedactionMechanism(Mechanism):
    """Redaction of single records: record t with value v is redacted with probability ``probabilities[t, v]``, else released as it is.

    Local redaction treats each record by itself. Sequential redaction walks away from the private record
    to both sides and, after the first release on a side, releases everything beyond: given the record
    released first, what lies beyond it says nothing more, so the leakage is that of the local mechanism.

    Parameters
    ----------
    probabilities : array (length, k)
        In [0, 1]. Row t belongs to record t, column v to state v.
    states : sequence of k labels, optional
        Default 0 .. k-1.
    sequential : int, optional
        Position of the private record from which a sequential mechanism walks; None for a local one.
    never : pairs (record, position of a state), optional
        What a sequential mechanism hides even beyond a first release: values that the model rules out.
    simulation_only : bool
        Set by ``solve(..., certify=False)``: such a mechanism releases only with a simulation generator.
    stream : StreamColumns, optional
        The column that the chain was counted from, for the command line; not part of what is proved.

    Raises
    ------
    InvalidMechanism
        If an entry is outside [0, 1] or not a number, or the shape does not fit the states.

    Examples
    --------
    >>> mechanism = RedactionMechanism([[1, 1], [0, 0]], states=("dry", "wet"))
    >>> mechanism.release(["wet", "dry"]).tolist()
    [None, 'dry']
    """

    kind: ClassVar[str] = "redaction"

    probabilities: NDArray[np.float64]
    states: tuple[Hashable, ...]
    sequential: int | None
    never: tuple[tuple[int, int], ...]
    simulation_only: bool
    stream: StreamColumns | None

    def __init__(
        self,
        probabilities: ArrayLike,
        states: Sequence[Hashable] | None = None,
        *,
        sequential: int | None = None,
        never: Sequence[Sequence[int]] = (),
        simulation_only: bool = False,
        stream: StreamColumns | None = None,
    ) -> None:
        table = _table(probabilities)
        labels = tuple(range(table.shape[1])) if states is None else plain_labels(states)
        if len(labels) != table.shape[1] or len(set(labels)) != len(labels):
            raise InvalidMechanism(
                f"states must be {table.shape[1]} distinct labels, one a column of probabilities, got {labels!r}"
            )
        object.__setattr__(self, "probabilities", table)
        object.__setattr__(self, "states", labels)
        if sequential is not None and not 0 <= sequential < len(table):
            raise InvalidMechanism(
                f"sequential must be a position in 0 .. {len(table) - 1}, got {sequential}"
            )
        object.__setattr__(self, "sequential", sequential)
        object.__setattr__(self, "never", _cells(never, table.shape, sequential))
        object.__setattr__(self, "simulation_only", bool(simulation_only))
        object.__setattr__(self, "stream", stream)

    @property
    def length(self) -> int:
        """Number of records."""
        return int(self.probabilities.shape[0])

    def exact(self) -> NDArray[np.int64]:
        """Integer redaction weights out of ``2**52``, rounded towards redaction, which never leaks more.

        Returns
        -------
        array (length, k) of int64
            Record t with value v is redacted when a uniform integer below 2**52 is below ``exact()[t, v]``.
            Raising a redaction probability equals erasing released values afterwards, so by
            post-processing no leakage rises.

        Examples
        --------
        >>> RedactionMechanism([[1.0, 0.5]]).exact() / 2**52
        array([[1. , 0.5]])
        """
        return self._exact

    @cached_property
    def _exact(self) -> NDArray[np.int64]:
        weights = np.repeat(self._run_weights, self._runs[1], axis=0)
        weights.setflags(write=False)
        return weights

    @cached_property
    def _runs(self) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        return equal_rows(self.probabilities)

    @property
    def _run_weights(self) -> NDArray[np.int64]:
        """The weights of the first row of each run."""
        return np.ceil(self.probabilities[self._runs[0]] * float(TOTAL)).astype(np.int64)

    def quantised(self) -> RedactionMechanism:
        """The mechanism whose probabilities are exactly ``exact() / 2**52``."""
        if np.array_equal(self._run_weights / float(TOTAL), self.probabilities[self._runs[0]]):
            return self
        return self.with_probabilities(self.exact() / float(TOTAL))

    def with_probabilities(self, probabilities: ArrayLike) -> RedactionMechanism:
        """The same kind of mechanism with other probabilities."""
        return replace(self, probabilities=np.asarray(probabilities))

    def validated(self, simulation_only: bool = False) -> RedactionMechanism:
        """A fresh copy that went through the constructor's checks again."""
        return replace(self, simulation_only=simulation_only)

    def release(self, data: Any, rng: np.random.Generator | None = None, *, gaps: bool = False) -> Any:
        """Release one sequence of ``length`` letters, or a 2-d array with one row a user.

        Draw once: a second draw of the same records voids the certificate.

        Parameters
        ----------
        data : sequence, NumPy array, pandas or Polars column
            Letters among ``states``.
        rng : numpy.random.Generator, optional
            Simulate with this generator. The result is then marked as simulated and protects nobody.
        gaps : bool
            A missing letter (None, NaN) is hidden, instead of refused. To hide more is to erase releases afterwards, so no
            leakage rises, if what is missing does not depend on the data.

        Returns
        -------
        The same kind of column, or a NumPy object array, with None in redacted cells.

        Raises
        ------
        InvalidMechanism
            If the data do not fit, or the mechanism was not certified and no ``rng`` is given.
        """
        if self.simulation_only and rng is None:
            raise InvalidMechanism(
                "this mechanism was not certified (certify=False): it releases only with rng=, as a simulation"
            )
        codes = encode(data, self.states, gaps)
        if codes.shape[-1] != self.length:
            raise InvalidMechanism(
                f"data has {codes.shape[-1]} records, the mechanism is for {self.length}; cut it to that window"
            )
        weights = self.exact()[np.arange(self.length), codes]
        redacted = (below(TOTAL, codes.shape, rng) < weights.astype(np.uint64)) | (codes < 0)
        if self.sequential is not None:
            p = self.sequential
            redacted[..., p + 1 :] = np.logical_and.accumulate(redacted[..., p + 1 :], axis=-1)
            redacted[..., :p] = np.logical_and.accumulate(redacted[..., :p][..., ::-1], axis=-1)[..., ::-1]
            hidden = np.zeros(self.probabilities.shape, dtype=bool)
            hidden[tuple(np.array(self.never, dtype=np.intp).reshape(-1, 2).T)] = True
            redacted |= hidden[np.arange(self.length), codes] | (codes < 0)
        return decode(codes, redacted, data, self.states, rng is not None)

    def to_dict(self) -> dict[str, Any]:
        """A JSON-safe dictionary with both the floats and the integer weights."""
        fields = {
            key: value.tolist() if isinstance(value, np.ndarray) else value for key, value in self._fields()
        }
        return fields if self.stream is None else {**fields, "stream": self.stream.to_dict()}

    def _fields(self) -> Iterator[tuple[str, Any]]:
        """What is stored, tables as arrays."""
        yield "type", self.kind
        yield "version", 2 if self.never else 1
        yield "states", encode_labels(self.states)
        yield "probabilities", self.probabilities
        yield "total", TOTAL
        yield "weights", self.exact()
        yield "sequential", self.sequential
        yield "simulation_only", self.simulation_only
        if self.never:  # left out otherwise, so that fingerprints of older files hold
            yield "never", [list(cell) for cell in self.never]

    @cached_property
    def fingerprint(self) -> str:  # pyright: ignore[reportIncompatibleMethodOverride]
        """SHA-256 of the canonical JSON form, whose tables are written run by run: most rows repeat."""
        digest = hashlib.sha256(b"{")
        for i, (key, value) in enumerate(sorted(self._fields(), key=lambda item: item[0])):
            digest.update(f'{"," if i else ""}"{key}":'.encode())
            table = isinstance(value, np.ndarray)
            for text in _table_text(value, *self._runs) if table else (_canonical(value),):
                digest.update(text.encode())
        digest.update(b"}")
        return digest.hexdigest()

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> Self:
        """The mechanism that :meth:`to_dict` wrote; weights and floats must agree."""
        if "probabilities" not in fields:
            raise InvalidMechanism(
                'a redaction mechanism needs "probabilities": a row a record, a column a state'
            )
        weights = fields.get("weights")
        states = fields.get("states")
        if states is not None and not isinstance(states, list):
            raise InvalidMechanism(f'"states" must be a list of labels, got {states!r}')
        try:
            labels = None if states is None else decode_labels(states)
            table = decode_table(fields["probabilities"], "probabilities")
            stated = None if weights is None else decode_table(weights, "weights")
            described = fields.get("stream")
            stream = None if described is None else StreamColumns.from_dict(described)
        except ValueError as cause:
            raise InvalidMechanism(str(cause)) from cause
        sequential = fields.get("sequential")
        if sequential is not None and type(sequential) is not int:
            raise InvalidMechanism(f'"sequential" must be a position or null, got {sequential!r}')
        mechanism = cls(
            table,
            labels,
            sequential=sequential,
            never=fields.get("never", ()),
            simulation_only=fields.get("simulation_only", False) is True,
            stream=stream,
        )
        if fields.get("total", TOTAL) != TOTAL or stated not in (None, mechanism.exact().tolist()):
            raise InvalidMechanism("the integer weights and the probabilities of the mechanism do not agree")
        return mechanism

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, RedactionMechanism):
            return NotImplemented
        same = np.array_equal(self.probabilities, other.probabilities) and self.states == other.states
        mine, theirs = ((m.sequential, m.never, m.simulation_only) for m in (self, other))
        return same and mine == theirs

    def __hash__(self) -> int:
        return hash((self.probabilities.tobytes(), self.states))

    def __repr__(self) -> str:
        hidden = int((self.probabilities == 1).all(axis=1).sum())
        shown = int((self.probabilities == 0).all(axis=1).sum())
        note = "" if self.sequential is None else f", sequential from record {self.sequential}"
        note += ", simulation only" if self.simulation_only else ""
        return (
            f"RedactionMechanism({self.length} records x {len(self.states)} states: "
            f"{hidden} always redacted, {shown} always released{note})"
        )

    def _repr_html_(self) -> str:
        from privopt.files.text import html_table, number

        rows = [(t, *(number(p) for p in row)) for t, row in enumerate(self.probabilities[:50].tolist())]
        return html_table(rows, ("record", *(f"Pr(redacted | {s})" for s in self.states)))


def equal_rows(table: NDArray[Any]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Where runs of equal rows of a table begin, and how long they are.

    Examples
    --------
    >>> equal_rows(np.array([[1, 0], [1, 0], [0, 0]]))
    (array([0, 2]), array([2, 1]))
    """
    new = table[1:, 0] != table[:-1, 0]
    for column in range(1, table.shape[1]):
        new |= table[1:, column] != table[:-1, column]
    begins = np.concatenate(([0], 1 + np.flatnonzero(new)))
    return begins, np.diff(begins, append=len(table))


def _canonical(value: object) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)


def _table_text(table: NDArray[Any], begins: NDArray[np.intp], counts: NDArray[np.intp]) -> Iterator[str]:
    """The canonical JSON form of a table, in pieces; a run of equal rows is written once and repeated."""
    yield "["
    for i, (row, count) in enumerate(zip(table[begins].tolist(), counts.tolist(), strict=True)):
        text = _canonical(row)
        yield ("," if i else "") + text
        for begin in range(1, count, PIECE):
            yield f",{text}" * (min(count, begin + PIECE) - begin)
    yield "]"


def _table(probabilities: ArrayLike) -> NDArray[np.float64]:
    """A read-only checked copy."""
    try:
        table = np.array(probabilities, dtype=np.float64)
    except (TypeError, ValueError) as cause:
        raise InvalidMechanism(
            f"probabilities must be a table of numbers, a row a record: {cause}"
        ) from cause
    if table.ndim != 2 or 0 in table.shape:
        raise InvalidMechanism(f"probabilities must be a (records, states) table, got shape {table.shape}")
    if not (table.min() >= 0 and table.max() <= 1):  # a number that is none fails too
        t, v = np.argwhere(~((table >= 0) & (table <= 1)))[0].tolist()
        raise InvalidMechanism(f"probabilities[{t}, {v}] = {table[t, v]} is not in [0, 1]")
    table += 0.0
    table.setflags(write=False)
    return table


def _cells(
    pairs: Sequence[Sequence[int]], shape: tuple[int, ...], sequential: int | None
) -> tuple[tuple[int, int], ...]:
    """Distinct cells of the table, sorted."""
    fault = InvalidMechanism(
        f'"never" must hold pairs (record, state position) within {shape}, got {pairs!r:.200}'
    )
    try:
        cells = sorted({(t, v) for t, v in pairs})
    except (TypeError, ValueError) as cause:
        raise fault from cause
    if any(
        type(x) is not int or not 0 <= x < size for cell in cells for x, size in zip(cell, shape, strict=True)
    ):
        raise fault
    if cells and sequential is None:
        raise InvalidMechanism(
            '"never" is for sequential mechanisms: a local one has redaction probability 1 there'
        )
    return tuple(cells)
