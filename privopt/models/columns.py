"""What a model remembers of the table that it was counted from: columns, roles, bins, order, missing values."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Self

from privopt.errors import InvalidModel
from privopt.files.labels import Label, Labels, decode_labels, encode_labels
from privopt.models.hierarchies import Levels, Node, check_levels, tree_of
from privopt.models.validation import is_missing

MISSING = "(missing)"
"""The symbol of a missing value, where the rule for them is "symbol"."""

RARE = "(rare)"
"""The value in each useful column of combinations that too few rows have."""

KINDS = ("categorical", "ordered", "binned")
MISSING_RULES = ("refuse", "drop", "symbol")


@dataclass(frozen=True)
class Column:
    """A column of a table, as a model remembers it.

    Parameters
    ----------
    name : str
    kind : "categorical", "ordered" or "binned"
        Whether its values have no order, are in the order of the labels, or are numbers in intervals.
    labels : tuple
        Its values, or the names of its intervals.
    edges : tuple of float
        Of the intervals; the last one is closed, the others do not hold their upper edge.
    missing : "refuse", "drop" or "symbol"
        What becomes of a missing value.
    levels : tuple of tuple of str
        Of a hierarchy: for each label the names of what it is generalised to, the nearest first.

    Examples
    --------
    >>> age = Column("age", "binned", ("17-24", "25-90"), (17.0, 25.0, 90.0))
    >>> age.symbols([18, 25.0, "25-90"])
    ['17-24', '25-90', '25-90']
    """

    name: str
    kind: str
    labels: Labels
    edges: tuple[float, ...] = ()
    missing: str = "refuse"
    levels: Levels = ()

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise InvalidModel(f"the kind of column {self.name!r} is {self.kind!r}: give one of {KINDS}")
        if self.missing not in MISSING_RULES:
            raise InvalidModel(f"missing is {self.missing!r}: give one of {MISSING_RULES}")
        if self.kind == "binned" and len(self.edges) != len(self.labels) + 1:
            raise InvalidModel(
                f"column {self.name!r} has {len(self.labels)} bins and {len(self.edges)} edges"
            )
        if self.levels:
            check_levels(self.labels, self.levels, self.name)

    @cached_property
    def tree(self) -> Node | None:
        """Its hierarchy, if it has one."""
        return tree_of(self.labels, self.levels, self.name) if self.levels else None

    @property
    def is_ordered(self) -> bool:
        """Whether its labels are in an order that means something."""
        return self.kind != "categorical"

    def symbols(self, cells: Sequence[object], text: bool = False) -> list[Label | None]:
        """The label of each cell; None where the cell is missing and such rows are dropped.

        Parameters
        ----------
        cells : sequence
            Raw values, or labels.
        text : bool
            The cells are text, as in a CSV file: an empty one is missing, labels are compared as text, and rows are
            counted from 1.

        Raises
        ------
        InvalidModel
            With the number of the first row that does not fit; its cell is private and is not quoted.
        """
        names: dict[Hashable, Label] = {str(label) if text else label: label for label in self.labels}
        if self.missing == "symbol":
            names[MISSING] = MISSING
        known: dict[object, Label | None] = {}
        symbols: list[Label | None] = []
        for row, cell in enumerate(cells, int(text)):
            try:
                symbol = known[cell] if cell in known else self._symbol(cell, names, text)
            except TypeError as cause:
                raise InvalidModel(f"column {self.name!r} in row {row} holds no plain value") from cause
            except InvalidModel as cause:
                raise InvalidModel(f"column {self.name!r} in row {row} {cause}") from cause
            if cell == cell:  # noqa: PLR0124 - a NaN is no key
                known[cell] = symbol
            symbols.append(symbol)
        return symbols

    def _symbol(self, cell: object, names: Mapping[Hashable, Label], text: bool) -> Label | None:
        if (text and cell == "") or is_missing(cell):
            if self.missing == "symbol":
                return MISSING
            if self.missing == "drop":
                return None
            raise InvalidModel(
                'is missing, which the model refuses: fill it in, or fit with missing="drop" or missing="symbol"'
            )
        if isinstance(cell, Hashable) and cell in names:
            return names[cell]
        if self.kind != "binned":
            raise InvalidModel(f"is none of the {len(self.labels)} values that the model knows: {self.few()}")
        number = as_number(cell)
        if number is None:
            raise InvalidModel("is not a number, and the column has bins")
        if not self.edges[0] <= number <= self.edges[-1]:
            low, high = self.edges[0], self.edges[-1]
            raise InvalidModel(
                f"is outside its bins, {low:g} to {high:g}: is it in another unit? Else fit with wider edges"
            )
        return self.labels[min(bisect_right(self.edges, number) - 1, len(self.labels) - 1)]

    def few(self) -> str:
        """Its first labels."""
        shown = ", ".join(map(repr, self.labels[:6]))
        return shown + (", ..." if len(self.labels) > 6 else "")

    def to_dict(self) -> dict[str, object]:
        """Plain JSON values from which :meth:`from_dict` makes an equal column."""
        written: dict[str, object] = {
            "name": self.name,
            "kind": self.kind,
            "labels": encode_labels(self.labels),
        }
        if self.edges:
            written["edges"] = list(self.edges)
        if self.levels:
            written["levels"] = [list(row) for row in self.levels]
        return written if self.missing == "refuse" else {**written, "missing": self.missing}

    @classmethod
    def from_dict(cls, d: object) -> Self:
        """Read what :meth:`to_dict` wrote.

        Raises
        ------
        InvalidModel
            If a key is missing or unknown, or a value is not of its kind.
        """
        if not isinstance(d, Mapping) or not {"name", "kind", "labels"} <= set(d):
            raise InvalidModel('a column needs "name", "kind" and "labels"')
        if unknown := set(d) - {"name", "kind", "labels", "edges", "missing", "levels"}:
            raise InvalidModel(f"a column has the unknown key {min(map(str, unknown))!r}: remove it")
        edges = d.get("edges", [])
        if not isinstance(edges, list) or not all(type(e) in (int, float) for e in edges):
            raise InvalidModel("the edges of a column are a list of numbers")
        if any(low >= high for low, high in pairwise(edges)):
            raise InvalidModel("the edges of a column increase")
        labels = decode_labels(d["labels"], "labels")
        missing, ends = str(d.get("missing", "refuse")), tuple(map(float, edges))
        return cls(str(d["name"]), str(d["kind"]), labels, ends, missing, _levels(d.get("levels", [])))


def _levels(rows: object) -> Levels:
    """The levels of a hierarchy as a file holds them."""
    if not isinstance(rows, list) or not all(isinstance(row, list) for row in rows):
        raise InvalidModel("the levels of a column are a list of names for each label")
    if not all(isinstance(name, str) for row in rows for name in row):
        raise InvalidModel("the levels of a column are names, which are text")
    return tuple(map(tuple, rows))


@dataclass(frozen=True)
class TableColumns:
    """The columns of a table by their roles, as a model, a problem and its mechanism remember them.

    They say what a mechanism may be run on; certificates do not depend on them, and no fingerprint holds them.

    Parameters
    ----------
    sensitive, useful : tuple of Column
        What makes up the secret S, and the useful symbol X.
    reads : "useful" or "both"
        What a mechanism gets to read: X, or the pair (S, X).
    minimum_count : int
        Combinations of the useful columns that fewer rows had are one symbol, :data:`RARE` in each column.
    rows, dropped : int
        Rows that were counted, and rows left out because of missing values; 0 in mechanisms.

    Examples
    --------
    >>> vote, age = Column("vote", "categorical", ("a", "b")), Column("age", "binned", ("17-90",), (17.0, 90.0))
    >>> TableColumns((vote,), (age,)).reads_names
    ('age',)
    """

    sensitive: tuple[Column, ...]
    useful: tuple[Column, ...]
    reads: str = "useful"
    minimum_count: int = 0
    rows: int = 0
    dropped: int = 0

    def __post_init__(self) -> None:
        if self.reads not in ("useful", "both"):
            raise InvalidModel(f'reads is {self.reads!r}: give "useful" or "both"')
        if not self.sensitive or not self.useful:
            raise InvalidModel("columns name at least one sensitive and one useful column")

    @property
    def groups(self) -> tuple[tuple[Column, ...], ...]:
        """The columns of each symbol that a mechanism reads."""
        return (self.useful,) if self.reads == "useful" else (self.sensitive, self.useful)

    @property
    def read(self) -> tuple[Column, ...]:
        """The columns that a mechanism reads, one after the other."""
        return tuple(column for group in self.groups for column in group)

    @property
    def reads_names(self) -> tuple[str, ...]:
        """Their names."""
        return tuple(column.name for column in self.read)

    @property
    def secret_names(self) -> tuple[str, ...]:
        """Names of the sensitive columns."""
        return tuple(column.name for column in self.sensitive)

    def check_names(self, names: Sequence[str]) -> None:
        """Refuse other columns than those that a mechanism reads.

        Raises
        ------
        InvalidModel
            With the columns that it reads.
        """
        other = [name for name in names if name not in self.reads_names]
        lacking = [name for name in self.reads_names if name not in names]
        if not other and not lacking:
            return
        reads = ", ".join(map(repr, self.reads_names))
        if other:
            raise InvalidModel(
                f"the mechanism reads {reads}, not {other[0]!r}: what is proved is about that column. Fit a model to "
                f"{other[0]!r}; only if it is the same quantity under another name, rename it"
            )
        raise InvalidModel(f"the mechanism reads {reads}; {lacking[0]!r} is missing")

    def symbols(
        self, table: Mapping[str, Sequence[object]], known: frozenset[Label], text: bool = False
    ) -> list[Label | None]:
        """The symbol that a mechanism reads of each row; None for rows that are dropped.

        Parameters
        ----------
        table : mapping of name to cells
            At least the columns that are read.
        known : frozenset
            The inputs of the mechanism.
        text : bool
            The cells are text.

        Raises
        ------
        InvalidModel
            With the first row that makes no known symbol.
        """
        coded = {column.name: column.symbols(table[column.name], text) for column in self.read}
        rows = zip(*(self._group(group, coded) for group in self.groups), strict=True)
        symbols: list[Label | None] = []
        for row, parts in enumerate(rows):
            symbol: Label | None = None
            if None not in parts:
                symbol = parts[0] if len(parts) == 1 else parts
                if symbol not in known:
                    symbol = self._unseen(row + text, known)
            symbols.append(symbol)
        return symbols

    def _group(
        self, group: Sequence[Column], coded: Mapping[str, Sequence[Label | None]]
    ) -> Sequence[Label | None]:
        if len(group) == 1:
            return coded[group[0].name]
        words = zip(*(coded[column.name] for column in group), strict=True)
        return [None if None in word else word for word in words]

    def _unseen(self, row: int, known: frozenset[Label]) -> Label:
        rare = self.rare
        if self.minimum_count and self.reads == "useful" and rare in known:
            return rare
        names = ", ".join(map(repr, self.reads_names))
        raise InvalidModel(
            f"row {row}: its combination of {names} was in no row that the model was counted from: drop the row, or "
            "fit with coarser bins or a minimum count"
        )

    @property
    def rare(self) -> Label:
        """The symbol of rare combinations."""
        return RARE if len(self.useful) == 1 else (RARE,) * len(self.useful)

    def of_mechanism(self, reads: str | None = None) -> Self:
        """What a mechanism needs of it: no counts, and of the sensitive columns only what it reads of them."""
        reads = self.reads if reads is None else reads
        secret = (
            self.sensitive
            if reads == "both"
            else tuple(
                replace(column, kind="categorical", labels=(), edges=(), levels=())
                for column in self.sensitive
            )
        )
        return replace(self, sensitive=secret, reads=reads, rows=0, dropped=0)

    def to_dict(self) -> dict[str, object]:
        """Plain JSON values from which :meth:`from_dict` makes equal columns."""
        written: dict[str, object] = {
            "sensitive": [column.to_dict() for column in self.sensitive],
            "useful": [column.to_dict() for column in self.useful],
        }
        if self.reads != "useful":
            written["reads"] = self.reads
        counts = {"minimum_count": self.minimum_count, "rows": self.rows, "dropped": self.dropped}
        return {**written, **{name: count for name, count in counts.items() if count}}

    @classmethod
    def from_dict(cls, d: object) -> Self:
        """Read what :meth:`to_dict` wrote.

        Raises
        ------
        InvalidModel
            If a key is missing or unknown, or a value is not of its kind.
        """
        if not isinstance(d, Mapping):
            raise InvalidModel("columns are a mapping of roles to columns")
        if unknown := set(d) - {"sensitive", "useful", "reads", "minimum_count", "rows", "dropped"}:
            raise InvalidModel(f"columns have the unknown key {min(map(str, unknown))!r}: remove it")
        roles = [d.get("sensitive"), d.get("useful")]
        if not all(isinstance(role, list) for role in roles):
            raise InvalidModel('columns need "sensitive" and "useful", lists of columns')
        counts = [d.get(name, 0) for name in ("minimum_count", "rows", "dropped")]
        if not all(type(count) is int and count >= 0 for count in counts):
            raise InvalidModel("the counts of columns are whole numbers of at least 0")
        sensitive, useful = (tuple(Column.from_dict(c) for c in role or ()) for role in roles)
        return cls(sensitive, useful, str(d.get("reads", "useful")), *counts)


def as_number(cell: object) -> float | None:
    """A finite number, or the text of one; None for anything else.

    Examples
    --------
    >>> as_number(" 2.5"), as_number("1_0"), as_number(True)
    (2.5, None, None)
    """
    if isinstance(cell, bool) or (isinstance(cell, str) and "_" in cell):
        return None
    try:
        number = float(cell)  # type: ignore[arg-type]  # whatever is no number says so
    except (TypeError, ValueError):
        return None
    return number if math.isfinite(number) else None
