"""Receipts: what was drawn from which columns, into which file, by which mechanism, and that it was once."""

from __future__ import annotations

import hashlib
import hmac
import math
import os
import secrets
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Self

from privopt.core.certificate import Certificate
from privopt.core.problem import Problem, fingerprint_of
from privopt.errors import FileRefused
from privopt.files.json import check_limits, check_schema, read_json, write_json
from privopt.files.numbers import decode_float, encode_float
from privopt.measures.sequence.total import DELTA
from privopt.mechanisms import Mechanism
from privopt.publication.counts import COUNTS, counts_records
from privopt.publication.released import Columns, Layout, released_files, written_as
from privopt.publication.words import listed, plain, share, times

FORMAT = "privopt/receipt"
VERSION = 2

RECORDED = "once: a state file answers every later draw of the same records with what was released"
NOT_RECORDED = "once, as far as anybody wrote it down: nothing was kept that would recognise a second draw of the same records"
AGAIN = "again: every record had been released before, and the same release was given out"

CHARGED = "as often as the ledger says: every answer was charged to it before it was drawn, and it refuses what would exceed its total"

ONCE = (RECORDED, NOT_RECORDED, AGAIN, CHARGED)


@dataclass(frozen=True)
class Receipt:
    """What a release leaves behind for those who have to answer for it.

    Hashes of the columns that were read are keyed with a salt, since a column of few values could be guessed from a bare one. The
    salt stays in the owner's receipt, and :meth:`public` leaves it out.

    Parameters
    ----------
    problem, mechanism, certificate : str
        Fingerprints.
    read : tuple of (name, keyed hash)
        The columns that the mechanism read, or the records of a noisy query.
    rows, drawn : int
        Rows in all, and how many of them were drawn by this run.
    released : str
        Name of the file that was written.
    sha256 : str
        Of its bytes.
    columns, kept : tuple of str
        The columns of it that were released, and those that were copied as they are.
    once : str
        Whether a second draw would be recognised, in a sentence.
    how : str
        Where the randomness came from.
    symbols : tuple of tuples of str
        How each output is written in the columns; empty where it is the text of its label.
    mark, by : str
        What stands for a hidden cell, and the column of users; empty where there is none.
    hidden : int or None
    smallest, unique : (before, after) or None
        The fewest rows that share all cells of the columns, and how many rows share them with none, before and after.
    accepted_leakage : float or None
        What kept columns were allowed to leak together with the release, in nats.
    kept_leakage : float or None
        What they leak together with it, in nats, as the problem counts it; None where that was not computed.
    kept_how : str
        From which rows that was computed, or why it was not.
    total : float or None
        What all releases of the longest stream, or all answers of a ledger, leak together at most, in nats.
    total_within : float or None
        A tighter bound on the total, which is exceeded with probability ``delta`` at most.
    delta : float or None
    when : str
        In words; may be left out.
    salt : str
    raw_cells : bool
        Texts that a spreadsheet would run as formulas stand in the file as they are, not behind an apostrophe.
    start_step : int
        The step of the chain at which each stream begins.
    """

    problem: str
    mechanism: str
    certificate: str
    read: tuple[tuple[str, str], ...]
    rows: int
    drawn: int
    released: str
    sha256: str
    columns: tuple[str, ...]
    kept: tuple[str, ...]
    once: str
    how: str
    symbols: tuple[tuple[str, ...], ...] = ()
    mark: str = ""
    by: str = ""
    hidden: int | None = None
    smallest: tuple[int, int] | None = None
    unique: tuple[int, int] | None = None
    accepted_leakage: float | None = None
    total: float | None = None
    when: str = ""
    salt: str = ""
    kept_leakage: float | None = None
    kept_how: str = ""
    total_within: float | None = None
    delta: float | None = None
    raw_cells: bool = False
    start_step: int = 0

    def to_dict(self) -> dict[str, Any]:
        """A JSON-safe dictionary, sealed with a hash of all the rest but the salt."""
        fields = {"format": FORMAT, "version": VERSION, **_plain(asdict(self))}
        for name in NATS:
            fields[name] = None if fields[name] is None else encode_float(fields[name])
        for name in ("raw_cells", "start_step"):
            if not fields[name]:
                del fields[name]
        return {**fields, "seal": _seal(fields)}

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> Self:
        """The receipt that :meth:`to_dict` wrote.

        Raises
        ------
        FileRefused
            If it is not one, or its seal does not fit it.
        """
        check_limits(fields, "the receipt")
        check_schema(fields, "receipt")
        if fields["seal"] != _seal(fields):
            raise FileRefused("the receipt was changed: its seal does not fit what it says")
        values: dict[str, Any] = {
            name: value for name, value in fields.items() if name not in ("format", "version", "seal")
        }
        for name in ("columns", "kept", "smallest", "unique"):
            values[name] = None if values[name] is None else tuple(values[name])
        for name in NATS:
            values[name] = None if values.get(name) is None else decode_float(values[name])
        for name in ("read", "symbols"):
            values[name] = tuple(tuple(item) for item in values[name])
        return cls(**values)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a JSON file, whole or not at all; that with the salt is for its owner alone to read."""
        write_json(path, self.to_dict(), private=bool(self.salt))

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read a file that :meth:`save` wrote."""
        return cls.from_dict(read_json(path))

    def public(self) -> Self:
        """The same without the salt: nobody can then guess a column that was read from its hash."""
        return replace(self, salt="")

    @property
    def layout(self) -> Layout:
        """Where in the released file what stands."""
        by = self.by or None
        accepted = self.accepted_leakage is not None
        return Layout(
            self.columns, self.kept, self.symbols or None, self.mark, by=by, accepted=accepted, start_step=self.start_step
        )  # fmt: skip

    def sentences(self, average: bool = False, secret: str = "the secret") -> tuple[str, ...]:
        """What it says beyond the certificate, in plain sentences: what is kept, small groups, the total.

        Parameters
        ----------
        average : bool
            The leakage is an average, which is said in bits and not as a factor.
        secret : str
            What the secret is called.
        """
        said = [self._beside(average, secret), self._crowds(), self._total()]
        return tuple(f"{text}." for text in said if text)

    def _beside(self, average: bool, secret: str) -> str:
        if not self.kept:
            return ""
        what = f"Beside the release, {_names(self.kept)} {_copied(self.kept)}"
        allowed = (
            ""
            if self.accepted_leakage is None
            else f"; {_amount(self.accepted_leakage, average)} was accepted"
        )
        if self.kept_leakage is None:
            return (
                f"{what}, and what they leak is not known ({self.kept_how or 'it was not computed'}){allowed}"
            )
        return f"{what}: together they leak {_amount(self.kept_leakage, average)} about {secret}, {self.kept_how}{allowed}"

    def _crowds(self) -> str:
        if self.smallest is None or self.unique is None:
            return ""
        before, after = self.smallest
        alone, still = self.unique
        return (
            f"The smallest group of equal rows has {_rows(before)} before the release and {_rows(after)} after it; "
            f"{_rows(alone)} stood alone before, and {still} after"
        )

    def _total(self) -> str:
        if self.total is None:
            return ""
        said = f"All releases together change how likely anything is by at most {times(self.total)} times ({plain(self.total)} nats)"
        if self.total_within is None or self.delta is None:
            return said
        return f"{said}, and but for {share(self.delta)} of cases by at most {times(self.total_within)} times ({plain(self.total_within)} nats)"

    def fault(self, mechanism: Mechanism | None = None, certificate: Certificate | None = None) -> str | None:
        """What speaks against its being the receipt of this mechanism and certificate, or None."""
        if mechanism is not None and self.mechanism != mechanism.fingerprint:
            return "the receipt is of another mechanism (its fingerprint differs)"
        if certificate is not None and self.problem != certificate.problem:
            return "the receipt is of another problem (its fingerprint differs)"
        if certificate is not None and self.certificate != certificate_fingerprint(certificate):
            return "the receipt is of another certificate (its fingerprint differs)"
        return None

    def fault_of_words(self, mechanism: Mechanism, problem: Problem[Any] | None = None) -> str | None:
        """What it says otherwise than the mechanism, or than it can be, or None; of receipts of this version."""
        if self.once not in ONCE:
            return "the receipt says in other words than a receipt does whether the release was once"
        if self.drawn > self.rows:
            return f"the receipt says that {self.drawn} of {self.rows} rows were drawn"
        if self.symbols and not _spelled(self.symbols, written_as(mechanism)):
            return "the receipt says that the outputs are written otherwise than the mechanism writes them"
        if not self.kept and (
            self.kept_leakage is not None or self.accepted_leakage is not None or self.kept_how
        ):
            return "the receipt says what kept columns leak, and names none"
        if (self.delta is None) != (self.total_within is None) or (
            self.delta is not None and self.delta != DELTA
        ):
            return "the receipt has a bound on the total without its probability, or another one than receipts have"
        if self.total is not None and self.total_within is not None and self.total_within > self.total:
            return "the receipt has a bound on the total above the total"
        return None

    def fault_of_table(self, table: Columns) -> str | None:
        """What it says otherwise than the released table, or None."""
        rows = len(next(iter(table.values()), ()))
        if rows != self.rows and not self.is_answer:
            return f"the table has {rows} rows, the receipt says {self.rows}"
        missing = [name for name in (*self.columns, *self.kept) if name not in table]
        if missing:
            return f"there is no column {missing[0]!r}, which the receipt names"
        if self.smallest is not None and self.unique is not None:
            groups = ((*self.kept, *self.columns), self.columns)  # the second as earlier versions counted
            told = [crowd({name: table[name] for name in names}) for names in groups]
            if (self.smallest[1], self.unique[1]) not in told:
                return (
                    "the smallest group of equal rows, or how many stand alone, is not what the receipt says"
                )
        if self.kept_how == COUNTS and not self._counts(table):
            return "the receipt says that what is kept only numbers the records, and it does not"
        if self.hidden is not None and self.columns:
            count = sum(cell == self.mark for cell in table[self.columns[0]])
            if count != self.hidden:
                return f"{count} records are hidden, the receipt says {self.hidden}"
        return None

    def _counts(self, table: Columns) -> bool:
        """Whether the kept columns number the records of each user."""
        users: dict[str, list[int]] = {}
        for i in range(self.rows):
            users.setdefault(table[self.by][i] if self.by else "", []).append(i)
        return all(
            counts_records([[table[name][i] for i in rows] for rows in users.values()]) for name in self.kept
        )

    @property
    def is_answer(self) -> bool:
        """Whether it is of a number with noise, whose rows are no records."""
        return self.columns in (("query", "released"), ("state", "count"))

    def fault_of_file(self, path: str | os.PathLike[str]) -> str | None:
        """What speaks against a file's being the one that was released, or None."""
        told = file_digest(path)
        if told != self.sha256:
            return f"{Path(path).name} is not the file that was released: its SHA-256 is {told[:16]}..., the receipt says {self.sha256[:16]}..."
        return None

    def fault_of_data(self, columns: Columns) -> str | None:
        """What speaks against columns' being those that were read, or None; only the owner's receipt can say.

        Raises
        ------
        FileRefused
            If the salt was left out.
        """
        if not self.salt:
            raise FileRefused(
                "the salt of this receipt was left out: only the owner's copy says which data were read"
            )
        for name, digest in self.read:
            if name not in columns:
                return f"there is no column {name!r}"
            if column_digest(columns[name], self.salt) != digest:
                return f"the column {name!r} is not the one that was read"
        return None


def _spelled(symbols: Sequence[tuple[str, ...]], written: Sequence[tuple[str, ...]]) -> bool:
    """Whether symbols are the outputs as they are written, perhaps with cells in other words after their names."""
    return len(symbols) == len(written) and all(
        said == cells or (bool(said) and said[0] == ", ".join(cells))
        for said, cells in zip(symbols, written, strict=True)
    )


NATS = ("accepted_leakage", "kept_leakage", "total", "total_within")
"""Fields that may be infinite."""


def _names(columns: Sequence[str]) -> str:
    return listed([repr(name) for name in columns]).replace(" or ", " and ")


def _copied(columns: Sequence[str]) -> str:
    return "was copied as it is" if len(columns) == 1 else "were copied as they are"


def _rows(count: int) -> str:
    return "1 row" if count == 1 else f"{count} rows"


def _amount(nats: float, average: bool) -> str:
    if nats == math.inf:
        return "everything"
    return (
        f"{plain(nats / math.log(2.0))} bits"
        if average
        else f"a factor of {times(nats)} ({plain(nats)} nats)"
    )


def _plain(value: Any) -> Any:
    """Tuples as lists, as JSON has them."""
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    return [_plain(item) for item in value] if isinstance(value, (list, tuple)) else value


def _seal(fields: Mapping[str, Any]) -> str:
    return fingerprint_of({name: value for name, value in fields.items() if name not in ("salt", "seal")})


def new_salt() -> str:
    """A fresh random salt."""
    return secrets.token_hex(32)


def column_digest(cells: Sequence[str], salt: str) -> str:
    """A keyed SHA-256 of the cells of a column, in their order.

    Examples
    --------
    >>> column_digest(["a", "b"], "00") == column_digest(["ab"], "00")
    False
    """
    keyed = hmac.new(bytes.fromhex(salt), digestmod=hashlib.sha256)
    for cell in cells:
        content = cell.encode()
        keyed.update(len(content).to_bytes(8, "big") + content)
    return keyed.hexdigest()


def file_digest(path: str | os.PathLike[str]) -> str:
    """SHA-256 of a file; of a folder, that of the names and hashes of its CSV files.

    Raises
    ------
    FileRefused
        If it cannot be read.
    """
    place = Path(path)
    if place.is_dir():
        lines = [f"{file_digest(file)}  {file.name}\n" for file in released_files(place)]
        return hashlib.sha256("".join(lines).encode()).hexdigest()
    try:
        with place.open("rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()
    except OSError as cause:
        raise FileRefused(f"{path}: cannot be read: {cause.strerror or cause}") from cause


def certificate_fingerprint(certificate: Certificate) -> str:
    """SHA-256 of a certificate, whose remarks do not count."""
    return fingerprint_of(replace(certificate, remarks=()).to_dict())


def crowd(columns: Columns) -> tuple[int, int]:
    """The fewest rows that share all cells of some columns, and how many rows share them with none.

    Examples
    --------
    >>> crowd({"age": ["young", "old", "young"]})
    (1, 1)
    """
    times = Counter(zip(*columns.values(), strict=True))
    return (min(times.values(), default=0), sum(1 for n in times.values() if n == 1))


def make_receipt(
    mechanism: Mechanism,
    certificate: Certificate | None,
    read: Columns,
    path: str | os.PathLike[str],
    released: Columns,
    *,
    kept: Sequence[str] = (),
    drawn: int | None = None,
    once: str = NOT_RECORDED,
    how: str,
    symbols: Sequence[Sequence[str]] = (),
    mark: str = "",
    by: str = "",
    hidden: int | None = None,
    accepted_leakage: float | None = None,
    total: float | None = None,
    when: str = "",
    copied: Columns | None = None,
    kept_leakage: float | None = None,
    kept_how: str = "",
    total_within: float | None = None,
    delta: float | None = None,
    crowds: bool = True,
    raw_cells: bool = False,
) -> Receipt:
    r"""The receipt of a file that was just written.

    Parameters
    ----------
    mechanism : Mechanism
    certificate : Certificate or None
    read : mapping of names to cells
        The columns that were drawn from.
    path : path
        The file that was released.
    released : mapping of names to cells
        Those of its columns that were drawn.
    kept, drawn, once, how, symbols, mark, by, hidden, accepted_leakage, total, when, raw_cells
        As in :class:`Receipt`.
    copied : mapping of names to cells, optional
        The kept columns: groups of equal rows are those of all columns that anybody sees.
    kept_leakage, kept_how, total_within, delta
        As in :class:`Receipt`.
    crowds : bool
        Groups of equal rows mean something: rows are people, not records of a stream.

    Examples
    --------
    >>> import tempfile, pathlib, privopt as po
    >>> place = pathlib.Path(tempfile.mkdtemp()) / "released.csv"
    >>> _ = place.write_text("age\nyoung | old\n")
    >>> merging = po.Merging([["young", "old"]])
    >>> receipt = make_receipt(merging, None, {"age": ["old"]}, place, {"age": ["young | old"]}, how="drawn")
    >>> receipt.fault(merging), receipt.fault_of_file(place), receipt.fault_of_data({"age": ["young"]})
    (None, None, "the column 'age' is not the one that was read")
    """
    salt = new_salt()
    rows = len(next(iter(read.values()), ()))
    table = crowds and bool(released) and rows == len(next(iter(released.values())))
    beside = {name: cells for name, cells in (copied or {}).items() if name in kept}
    before, after = (crowd({**beside, **read}), crowd({**beside, **released})) if table else ((0, 0), (0, 0))
    return Receipt(
        problem="" if certificate is None else certificate.problem,
        mechanism=mechanism.fingerprint,
        certificate="" if certificate is None else certificate_fingerprint(certificate),
        read=tuple((name, column_digest(cells, salt)) for name, cells in read.items()),
        rows=rows,
        drawn=rows if drawn is None else drawn,
        released=Path(path).name,
        sha256=file_digest(path),
        raw_cells=raw_cells,
        columns=tuple(released),
        kept=tuple(kept),
        once=once,
        how=how,
        symbols=tuple(tuple(text) for text in symbols),
        mark=mark,
        by=by,
        hidden=hidden,
        smallest=(before[0], after[0]) if table else None,
        unique=(before[1], after[1]) if table else None,
        accepted_leakage=accepted_leakage,
        total=total,
        when=when,
        salt=salt,
        kept_leakage=kept_leakage,
        kept_how=kept_how,
        total_within=total_within,
        delta=delta,
    )
