"""Running a mechanism on columns of text."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

import privopt as po
from privopt.core.certificate import KINDS, ONE_RELEASE
from privopt.core.solution import FORMAT
from privopt.errors import FileRefused, InvalidMechanism, NotSolved
from privopt.files.json import check_schema, read_json
from privopt.mechanisms import mechanism_from_dict

BARE = "a mechanism file carries no certificate: nothing says what it protects"
RELEASED = "released"
"""The column of a release that is not of the columns it was drawn from."""

Runnable: TypeAlias = po.RedactionMechanism | po.Channel | po.Merging | po.SequencePolicy | po.NoisyQuery
Cells: TypeAlias = tuple[str, ...]


@dataclass(frozen=True)
class Machine:
    """A mechanism to run, and what is known of its privacy."""

    mechanism: Runnable
    proof: str
    certificate: po.Certificate | None = None

    def facts(self) -> list[tuple[str, object]]:
        """What is said of the privacy of a release: the claim, its kind, its unit, and what it does not cover."""
        if self.certificate is None:
            return [("proof", self.proof)]
        told = self.certificate
        return [
            ("proof", self.proof),
            ("claim", told.statement),
            ("kind", f"{told.kind}: {KINDS[told.kind]}" if told.kind in KINDS else ""),
            ("budget per", told.unit),
            ("not covered", list(told.uncovered) or [ONE_RELEASE]),
        ]


def load_machine(path: Path, simulated: bool) -> Machine:
    """A mechanism from its own file or from that of a solution.

    Raises
    ------
    FileRefused, InvalidMechanism
        If the file is malformed, inconsistent, or of a kind that does not run on columns.
    NotSolved
        If the solution is not ok, or carries no certificate of its mechanism and this is no simulation.
    """
    fields = read_json(path)
    if fields.get("format") == FORMAT:
        return _from_solution(path, po.Solution.from_dict(fields), simulated)
    mechanism = _runnable(path, mechanism_from_dict(fields))
    check_schema(fields, f"mechanism-{mechanism.kind}")
    return Machine(mechanism, BARE)


def _from_solution(path: Path, solution: po.Solution[Any], simulated: bool) -> Machine:
    mechanism, certificate = _runnable(path, solution.mechanism), solution.certificate
    if certificate is not None and certificate.ok and certificate.mechanism == mechanism.fingerprint:
        proof = f"as stated in {path}: {certificate.claim}; 'privopt verify' proves it again"
        return Machine(mechanism, proof, certificate)
    if not simulated:
        fault = (
            "no certificate that holds"
            if certificate is None or not certificate.ok
            else "the certificate of another mechanism"
        )
        raise NotSolved(f"{path}: the solution carries {fault}; solve it again, or give --simulate SEED")
    return Machine(mechanism, "not certified")


def _runnable(path: Path, mechanism: po.Mechanism) -> Runnable:
    runnable = (po.RedactionMechanism, po.Channel, po.Merging, po.SequencePolicy, po.NoisyQuery)
    if not isinstance(mechanism, runnable):
        raise InvalidMechanism(f"{path}: a {mechanism.kind} mechanism does not run on columns of a table")
    return mechanism


def symbols_of(mechanism: Runnable, columns: int, mark: str) -> dict[Cells, Hashable]:
    """The symbols that a mechanism reads by their text, a cell a column, which is what a CSV file holds.

    Raises
    ------
    InvalidMechanism
        If a symbol is of another number of columns, two have the same text, or the mark is the text of a symbol.
    """
    labels = _labels(mechanism)
    symbols: dict[Cells, Hashable] = {}
    for label in labels:
        cells = text_of(label)
        if len(cells) != columns:
            raise InvalidMechanism(
                f"the mechanism reads symbols of {len(cells)} columns such as {label!r}; give --column {len(cells)} times"
            )
        if cells in symbols:
            raise InvalidMechanism(
                f"the states {symbols[cells]!r} and {label!r} have the same text; a CSV file cannot tell them apart"
            )
        symbols[cells] = label
    if (mark,) in symbols and isinstance(mechanism, po.RedactionMechanism):
        raise InvalidMechanism(f"the mark {mark!r} is also a state; give another --mark for redacted cells")
    return symbols


def _labels(mechanism: Runnable) -> tuple[Hashable, ...]:
    if isinstance(mechanism, (po.RedactionMechanism, po.NoisyQuery)):
        return mechanism.states or ()
    return mechanism.letters if isinstance(mechanism, po.SequencePolicy) else mechanism.inputs


def text_of(label: Hashable) -> Cells:
    """A symbol as the cells of a row: a tuple has a cell for each part."""
    return tuple(map(str, label)) if isinstance(label, tuple) else (str(label),)


def read_symbols(
    path: Path, columns: Sequence[str], rows: Sequence[Cells], symbols: dict[Cells, Hashable]
) -> list[Hashable]:
    """The symbols that the rows of some columns name.

    Raises
    ------
    FileRefused
        With the first row that names none.
    """
    for row, cells in enumerate(rows, 1):
        if cells not in symbols:
            known = ", ".join(repr(", ".join(text)) for text in list(symbols)[:8])
            known += ", ..." if len(symbols) > 8 else ""
            what = f"holds {', '.join(cells)!r}" if any(cells) else "is empty"
            place = ", ".join(map(repr, columns))
            raise FileRefused(f"{path}: row {row}: {place} {what}; the states are {known}")
    return [symbols[cells] for cells in rows]


def draw(
    machine: Machine, symbols: Sequence[Hashable], users: dict[str, Sequence[int]], seed: int | None
) -> list[Hashable | None]:
    """The released symbols of all rows, None where redacted.

    A redaction mechanism treats the rows of each user as one sequence; a channel treats every row by itself.

    Raises
    ------
    FileRefused
        If a user has more or fewer records than a redaction mechanism.
    """
    rng = None if seed is None else np.random.default_rng(seed)
    mechanism = machine.mechanism
    if not isinstance(mechanism, po.RedactionMechanism):
        return list(mechanism.release(symbols, rng).tolist())
    for name, rows in users.items():
        if len(rows) != mechanism.length:
            whose = f"{name!r} has" if len(users) > 1 or name else "the data have"
            raise FileRefused(
                f"{whose} {len(rows)} records, the mechanism is for {mechanism.length}; cut to that window"
            )
    table = [[symbols[i] for i in rows] for rows in users.values()]
    released: list[Hashable | None] = list(symbols)
    for rows, row in zip(users.values(), mechanism.release(table, rng), strict=True):
        for i, letter in zip(rows, row, strict=True):
            released[i] = letter
    return released


def columns_of(columns: Sequence[str], drawn: Sequence[Hashable | None], mark: str) -> dict[str, list[str]]:
    """The released columns: those read where every release has their shape, else one column of their own."""
    cells = [(mark,) * len(columns) if symbol is None else text_of(symbol) for symbol in drawn]
    if all(len(row) == len(columns) for row in cells):
        return {name: [row[i] for row in cells] for i, name in enumerate(columns)}
    return {RELEASED: [mark if symbol is None else str(symbol) for symbol in drawn]}
