"""Running a mechanism on a column of text."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import privopt as po
from privopt._files import check_schema, read_json
from privopt._solution import FORMAT
from privopt.errors import FileRefused, InvalidMechanism, NotSolved
from privopt.mechanisms import mechanism_from_dict

BARE = "a mechanism file carries no certificate: nothing says what it protects"


@dataclass(frozen=True)
class Machine:
    """A mechanism to run, and what is known of its privacy."""

    mechanism: po.RedactionMechanism
    proof: str


def load_machine(path: Path, simulated: bool) -> Machine:
    """A mechanism from its own file or from that of a solution.

    Raises
    ------
    FileRefused, InvalidMechanism
        If the file is malformed, inconsistent, or of a kind that does not redact columns.
    NotSolved
        If the solution is not ok, or carries no certificate of its mechanism and this is no simulation.
    """
    fields = read_json(path)
    if fields.get("format") == FORMAT:
        return _from_solution(path, po.Solution.from_dict(fields), simulated)
    mechanism = _redaction(path, mechanism_from_dict(fields))
    check_schema(fields, f"mechanism-{mechanism.kind}")
    return Machine(mechanism, BARE)


def _from_solution(path: Path, solution: po.Solution[Any], simulated: bool) -> Machine:
    mechanism, certificate = _redaction(path, solution.mechanism), solution.certificate
    if certificate is not None and certificate.ok and certificate.mechanism == mechanism.fingerprint:
        return Machine(
            mechanism, f"as stated in {path}: {certificate.claim}; 'privopt verify' proves it again"
        )
    if not simulated:
        fault = (
            "no certificate that holds"
            if certificate is None or not certificate.ok
            else "the certificate of another mechanism"
        )
        raise NotSolved(f"{path}: the solution carries {fault}; solve it again, or give --simulate SEED")
    return Machine(mechanism, "not certified")


def _redaction(path: Path, mechanism: po.Mechanism) -> po.RedactionMechanism:
    if not isinstance(mechanism, po.RedactionMechanism):
        raise InvalidMechanism(f"{path}: a {mechanism.kind} mechanism does not redact a column of records")
    return mechanism


def letters_of(mechanism: po.RedactionMechanism, mark: str) -> dict[str, Hashable]:
    """The states by their text, which is what a CSV file holds.

    Raises
    ------
    InvalidMechanism
        If two states have the same text, or the mark is the text of a state.
    """
    found: dict[str, Hashable] = {}
    for state in mechanism.states:
        if str(state) in found:
            raise InvalidMechanism(
                f"the states {found[str(state)]!r} and {state!r} have the same text; a CSV file cannot tell them apart"
            )
        found[str(state)] = state
    if mark in found:
        raise InvalidMechanism(f"the mark {mark!r} is also a state; give another --mark for redacted cells")
    return found


def read_letters(
    path: Path, column: str, cells: Sequence[str], letters: dict[str, Hashable]
) -> list[Hashable]:
    """The states that the cells of a column name.

    Raises
    ------
    FileRefused
        With the row of the first cell that names none.
    """
    for row, cell in enumerate(cells, 1):
        if cell not in letters:
            known = ", ".join(repr(text) for text in list(letters)[:8]) + (
                ", ..." if len(letters) > 8 else ""
            )
            what = f"holds {cell!r}" if cell else "is empty"
            raise FileRefused(f"{path}: row {row}: {column!r} {what}; the states are {known}")
    return [letters[cell] for cell in cells]


def draw(
    machine: Machine, letters: Sequence[Hashable], users: dict[str, Sequence[int]], seed: int | None
) -> list[Hashable | None]:
    """The released letters of all rows, None where redacted; each user is drawn independently.

    Raises
    ------
    FileRefused
        If a user has more or fewer records than the mechanism.
    """
    length = machine.mechanism.length
    for name, rows in users.items():
        if len(rows) != length:
            whose = f"{name!r} has" if len(users) > 1 or name else "the data have"
            raise FileRefused(
                f"{whose} {len(rows)} records, the mechanism is for {length}; cut to that window"
            )
    table = [[letters[i] for i in rows] for rows in users.values()]
    rng = None if seed is None else np.random.default_rng(seed)
    released: list[Hashable | None] = list(letters)
    for rows, row in zip(users.values(), machine.mechanism.release(table, rng), strict=True):
        for i, letter in zip(rows, row, strict=True):
            released[i] = letter
    return released
