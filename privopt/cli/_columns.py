"""Running a mechanism on columns of text."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

import privopt as po
from privopt.core.certificate import KINDS, ONE_RELEASE
from privopt.core.solution import FORMAT
from privopt.errors import FileRefused, InvalidMechanism, InvalidModel, NotSolved
from privopt.files.json import check_schema, read_json
from privopt.files.private import shown, user
from privopt.mechanisms import mechanism_from_dict
from privopt.mechanisms.codebook import Codebook, codebook
from privopt.mechanisms.tables import RELEASED, table_of
from privopt.models.channel_data import observation
from privopt.publication.released import joint_of

DRAWS_ONCE = "draws once: a second draw of the same records voids the certificate"
SAME_AGAIN = "nothing is drawn: a merging answers the same records in the same way each time, and a second release says no more"
BARE = "a mechanism file carries no certificate: nothing says what it protects"
Runnable: TypeAlias = (
    po.RedactionMechanism | po.Channel | po.Merging | po.SequencePolicy | po.NoisyQuery | po.Colouring
)
Cells: TypeAlias = tuple[str, ...]


@dataclass(frozen=True)
class Machine:
    """A mechanism to run, and what is known of its privacy."""

    mechanism: Runnable
    proof: str
    certificate: po.Certificate | None = None

    def facts(self) -> list[tuple[str, object]]:
        """What is said of the privacy of a release: the claim, for what it holds, its kind, its unit, and what it does not cover."""
        once = SAME_AGAIN if isinstance(self.mechanism, po.Merging) else DRAWS_ONCE
        if isinstance(self.mechanism, po.NoisyQuery):  # whose answers add up in a ledger
            once = ""
        if self.certificate is None:
            return [("certificate", self.proof), ("once", once)]
        told = self.certificate
        sure = (
            ""
            if told.confidence is None
            else f", which holds the population's with confidence {told.confidence:g}"
        )
        return [
            ("certificate", self.proof),
            ("in words", told.statement),
            ("holds for", told.distributions and f"every distribution in the set {told.distributions}{sure}"),
            ("kind", f"{told.kind}: {KINDS[told.kind]}" if told.kind in KINDS else ""),
            ("budget per", told.unit),
            ("once", once),
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
    runnable = (po.RedactionMechanism, po.Channel, po.Merging, po.SequencePolicy, po.NoisyQuery, po.Colouring)
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
    if isinstance(mechanism, po.Colouring):
        return tuple(mechanism.vertices)
    return mechanism.letters if isinstance(mechanism, po.SequencePolicy) else mechanism.inputs


def text_of(label: Hashable) -> Cells:
    """A symbol as the cells of a row: a tuple has a cell for each part."""
    return tuple(map(str, label)) if isinstance(label, tuple) else (str(label),)


def also(count: int) -> str:
    """That more rows are so, that all may be mended at once; nothing if none is.

    Examples
    --------
    >>> also(2), also(0)
    ('; so it is in 2 more rows', '')
    """
    return f"; so it is in {count} more row{'s' if count > 1 else ''}" if count else ""


def read_symbols(
    path: Path, columns: Sequence[str], rows: Sequence[Cells], symbols: dict[Cells, Hashable]
) -> list[Hashable]:
    """The symbols that the rows of some columns name.

    Raises
    ------
    FileRefused
        With the first row that names none; its cells are private and are not quoted.
    """
    for row, cells in enumerate(rows, 1):
        if cells not in symbols:
            known = ", ".join(repr(", ".join(text)) for text in list(symbols)[:8])
            known += ", ..." if len(symbols) > 8 else ""
            what = f"holds {shown(', '.join(cells), 'another value')}" if any(cells) else "is empty"
            place = ", ".join(map(repr, columns))
            others = also(sum(text not in symbols for text in rows[row:]))
            raise FileRefused(f"{path}: row {row}: {place} {what}; the states are {known}{others}")
    return [symbols[cells] for cells in rows]


def draw(
    machine: Machine, symbols: Sequence[Hashable | None], users: dict[str, Sequence[int]], seed: int | None
) -> list[Hashable | None]:
    """The released symbols of all rows, None where redacted.

    A redaction mechanism treats the rows of each user as one sequence; a channel treats every row by itself, as a
    colouring does, whose rows name datasets.

    Raises
    ------
    FileRefused
        If a user has more or fewer records than a redaction mechanism.
    """
    rng = None if seed is None else np.random.default_rng(seed)
    mechanism = machine.mechanism
    if not isinstance(mechanism, po.RedactionMechanism):
        return list(mechanism.release(symbols, rng).tolist())
    for number, (name, rows) in enumerate(users.items(), 1):
        if len(rows) != mechanism.length:
            whose = f"{user(name, number)} has" if len(users) > 1 or name else "the data have"
            raise FileRefused(
                f"{whose} {len(rows)} records, the mechanism is for {mechanism.length}; cut to that window"
            )
    table = [[symbols[i] for i in rows] for rows in users.values()]
    released: list[Hashable | None] = list(symbols)
    for rows, row in zip(users.values(), mechanism.release(table, rng, gaps=True), strict=True):
        for i, letter in zip(rows, row, strict=True):
            released[i] = letter
    return released


def described_rows(
    path: Path, mechanism: po.Channel | po.Merging, table: Mapping[str, Sequence[str]]
) -> list[Hashable | None]:
    """The symbols of the rows of a table through the columns that the mechanism remembers; None for rows it drops.

    Raises
    ------
    FileRefused
        With the first row that makes no symbol.
    """
    if mechanism.columns is None:
        raise FileRefused(f"{path}: the mechanism remembers no columns")
    try:
        return mechanism.columns.symbols(table, frozenset(mechanism.inputs), text=True)
    except InvalidModel as cause:
        raise FileRefused(f"{path}: {cause}") from cause


def check_columns(mechanism: Runnable, columns: Sequence[str] | None) -> list[str]:
    """The columns to read: those that the mechanism remembers, which the ones on the command line must be.

    Raises
    ------
    InvalidMechanism
        If other columns are named, or none where the mechanism remembers none.
    """
    if isinstance(mechanism, po.NoisyQuery):
        return list(mechanism.reads(columns or ()))
    described = mechanism.columns if isinstance(mechanism, (po.Channel, po.Merging)) else None
    if described is None:
        stream = mechanism.chain.columns if isinstance(mechanism, po.SequencePolicy) else None
        stream = mechanism.stream if isinstance(mechanism, po.RedactionMechanism) else stream
        if not columns and stream is not None:
            return [stream.record.name]
        if not columns:
            raise InvalidMechanism("the mechanism does not say which columns it reads: give --column NAME")
        return list(columns)
    try:
        described.check_names(columns or described.reads_names)
    except InvalidModel as cause:
        raise InvalidMechanism(str(cause)) from cause
    return list(described.reads_names)


def codebook_of(mechanism: Runnable, problem: Path | None) -> Codebook:
    """The codebook of a channel or merging for the joint distribution of its problem.

    Raises
    ------
    FileRefused
        If there is no problem, or it has no joint distribution.
    InvalidMechanism
        If the mechanism is of another kind, or reads other symbols than the problem's.
    """
    if not isinstance(mechanism, (po.Channel, po.Merging)):
        raise InvalidMechanism(f"a {mechanism.kind} mechanism has no codebook; leave --codebook out")
    if problem is None:
        raise FileRefused(
            "--codebook needs --problem PROBLEM.json: shares and P(x | y) follow from its model"
        )
    joint = joint_of(po.load_problem(problem))
    if joint is None:
        raise FileRefused(f"{problem}: has no joint distribution, so there is no codebook")
    observed = observation(joint)
    return codebook(mechanism, observed.observed, observed.p_w)


def columns_of(
    columns: Sequence[str], drawn: Sequence[Hashable | None], mark: str, mechanism: Runnable | None = None
) -> dict[str, list[str]]:
    """The released columns: those read where every release has their shape, else one column of their own.

    Blocks of a merging, and releases of a channel that are bare positions, are written by short names; answers about datasets
    are no datasets, and have a column of their own.
    """
    if isinstance(mechanism, po.Colouring):
        return {RELEASED: [", ".join(text_of(colour)) for colour in drawn]}
    if isinstance(mechanism, (po.Channel, po.Merging)):
        place = {label: y for y, label in enumerate(mechanism.outputs)}
        codes = [place[symbol] for symbol in drawn]
        return {
            name: list(map(str, column)) for name, column in table_of(mechanism.cells, codes, columns).items()
        }
    cells = [(mark,) * len(columns) if symbol is None else text_of(symbol) for symbol in drawn]
    if all(len(row) == len(columns) for row in cells):
        return {name: [row[i] for row in cells] for i, name in enumerate(columns)}
    return {RELEASED: [mark if symbol is None else str(symbol) for symbol in drawn]}
