"""Codebooks: what each release of a mechanism stands for, in numbers and in words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape

import numpy as np

from privopt.arrays import Floats
from privopt.errors import InvalidMechanism
from privopt.files.labels import Label, Labels
from privopt.files.text import html_table, number, plain_table
from privopt.mechanisms.channel import Channel
from privopt.mechanisms.merging import Merging
from privopt.models.columns import Column, TableColumns
from privopt.models.hierarchies import node_named
from privopt.models.intervals import span

MOSTLY = 0.9
"""Share of a release that a suggested name covers, where it does not cover all."""

SAME = 1e-9
"""Probabilities as near to each other, relatively, have no likeliest one."""

RARE = 1e-9
"""Symbols that a release comes from with a smaller probability are counted, and not listed."""

ANYTHING = "anything"
"""The name of what may be every symbol."""

NAMED = 3
"""Values that a suggested name lists; of more it gives the number."""

HEADER = ("release", "share", "symbols", "suggested name", "most likely", "P(x | y)")


@dataclass(frozen=True)
class Entry:
    """One release.

    Parameters
    ----------
    name : str
        As it is written.
    share : float
        Pr(Y = y).
    members : tuple
        The symbols that it may come from, the most likely first; those of a probability below 1e-9 are left out.
    probabilities : tuple of float
        Pr(X = x | Y = y) of each.
    suggestion : str
        A readable name; it starts with "mostly" where it covers nine tenths only, and with "within" where it covers more than
        the members. Where releases stand one to one for values it is that value, "mostly" where it is likelier than not,
        else "most likely".
    rare : int
        How many symbols were left out.
    """

    name: str
    share: float
    members: Labels
    probabilities: tuple[float, ...]
    suggestion: str
    rare: int = 0

    def row(self) -> tuple[str, ...]:
        """A row of the table of a codebook."""
        first, likely = (
            ("", "") if not self.members else (text(self.members[0]), number(self.probabilities[0], 3))
        )
        symbols = f"{len(self.members)} + {self.rare} rare" if self.rare else str(len(self.members))
        return self.name, number(self.share, 3), symbols, self.suggestion, first, likely


@dataclass(frozen=True)
class Codebook:
    """What the releases of a mechanism stand for.

    It is counted from the same table as the model: who gets it learns P(x | y), which certificates do not cover.

    Parameters
    ----------
    entries : tuple of Entry
        In the order of the outputs.
    names : tuple of str
        Columns of the symbols; ``("symbol",)`` where they are not remembered.

    Examples
    --------
    >>> book = codebook(Merging([["a"], ["b", "c"]]), ("a", "b", "c"), np.array([0.5, 0.3, 0.2]))
    >>> print(book)
    release  share  symbols  suggested name  most likely  P(x | y)
    a        0.5    1        a               a            1
    B1       0.5    2        b or c          b            0.6
    """

    entries: tuple[Entry, ...]
    names: tuple[str, ...]

    def __iter__(self) -> Iterator[Entry]:
        return iter(self.entries)

    def __len__(self) -> int:
        return len(self.entries)

    def rows(self) -> list[tuple[str, ...]]:
        """A row for each release: its name, share, number of symbols, suggested name and most likely symbol."""
        return [entry.row() for entry in self.entries]

    @property
    def note(self) -> str:
        """A sentence on the symbols that are left out; empty where none are."""
        rare = sum(entry.rare for entry in self.entries)
        if not rare:
            return ""
        one = rare == 1
        return (
            f"{rare} symbol{'' if one else 's'} that a release comes from with a probability below {RARE:g} {'is' if one else 'are'} not "
            "listed; the mechanism and its certificate count them"
        )

    def __str__(self) -> str:
        table = plain_table(self.rows(), HEADER)
        return f"{table}\n{self.note}." if self.note else table

    def __repr__(self) -> str:
        return f"Codebook({len(self.entries)} releases)"

    def _repr_html_(self) -> str:
        table = html_table(self.rows(), HEADER)
        return f"{table}<p>{escape(self.note)}.</p>" if self.note else table

    def columns(self) -> dict[str, list[str]]:
        """The columns of a CSV file: a row for each release and each symbol that it may come from; numbers to twelve digits."""
        header = ("release", "suggested_name", "share", *self.names, "probability")
        lines: list[tuple[object, ...]] = []
        for entry in self.entries:
            for member, probability in zip(entry.members, entry.probabilities, strict=True):
                parts = flat(member) if len(self.names) > 1 else (text(member),)
                lines.append((entry.name, entry.suggestion, _short(entry.share), *parts, _short(probability)))
        return {name: [str(line[j]) for line in lines] for j, name in enumerate(header)}


def _short(value: float) -> float:
    """A number to twelve digits: what follows is rounding, which nobody wants to read."""
    return float(f"{value:.12g}")


def codebook(
    mechanism: Channel | Merging,
    inputs: Labels,
    p: Floats,
    columns: TableColumns | None = None,
    *,
    rare: float = RARE,
) -> Codebook:
    """The codebook of a channel or merging for a distribution of its inputs.

    Parameters
    ----------
    mechanism : Channel or Merging
    inputs : tuple
        The symbols of the distribution: those that the mechanism reads.
    p : float array
        Their probabilities: ``joint.useful`` and ``joint.p_x`` of a joint.
    columns : TableColumns, optional
        What is known of the columns; by default what the mechanism remembers.
    rare : float
        Symbols that a release of a channel comes from with a smaller probability are left out.

    Raises
    ------
    InvalidMechanism
        If the mechanism reads other symbols.
    """
    if mechanism.inputs != inputs:
        raise InvalidMechanism(
            "the mechanism reads other symbols than those of the distribution: is it of another problem?"
        )
    columns = mechanism.columns if columns is None else columns
    described = () if columns is None else columns.read
    shares = np.asarray(p @ mechanism.matrix)
    cells, exact, namer = mechanism.cells, isinstance(mechanism, Merging), _Namer(inputs, described)
    stands = not exact and _stand_for_one(p[:, None] * mechanism.matrix)
    entries = []
    for y, share in enumerate(shares.tolist()):
        weights = p * mechanism.matrix[:, y]
        order = np.argsort(-weights, kind="stable")
        order = order[weights[order] > 0]
        posterior = weights[order] / share if share > 0 else weights[order]
        listed = len(order) if exact or share <= 0 else int((posterior >= rare).sum())
        members = tuple(inputs[x] for x in order[:listed].tolist())
        count = len(order) if exact else int(np.searchsorted(np.cumsum(posterior), MOSTLY)) + 1
        chosen = order[:count].tolist()
        suggestion = namer.name(chosen, len(chosen) == len(order)) if members else "never"
        if members and stands and count > 1 and (posterior[0] > 0.5 or suggestion.endswith(ANYTHING)):
            one = namer.name(order[:1].tolist(), True)
            suggestion = f"{'mostly' if posterior[0] > 0.5 else 'most likely'} {one}"
        entries.append(
            Entry(
                ", ".join(map(str, cells[y])),
                share,
                members,
                tuple(posterior[:listed].tolist()),
                suggestion,
                len(order) - listed,
            )
        )
    return Codebook(tuple(entries), tuple(column.name for column in described) or ("symbol",))


def _stand_for_one(weights: Floats) -> bool:
    """Whether releases stand one to one for inputs: each has one likeliest input, which is released as it more than otherwise."""
    weights = weights[weights.sum(axis=1) > 0][:, weights.sum(axis=0) > 0]
    if weights.shape[0] != weights.shape[1] or len(weights) < 2:
        return False
    likely, highest = weights.argmax(axis=0), np.sort(weights, axis=0)[-2:]
    unique = highest[1] * (1.0 - SAME) > highest[0]
    own = highest[1] >= weights[likely].max(axis=1)
    return len(set(likely.tolist())) == len(weights) and bool((unique & own).all())


class _Namer:
    """Readable names of sets of symbols."""

    def __init__(self, inputs: Labels, columns: Sequence[Column]) -> None:
        self.columns = columns
        parts = (
            list(zip(*map(flat, inputs), strict=True))
            if len({len(flat(x)) for x in inputs}) == 1
            else [inputs]
        )
        self.values = [list(dict.fromkeys(part)) for part in parts]
        places = [{value: i for i, value in enumerate(values)} for values in self.values]
        self.codes = np.array([[place[v] for v in part] for place, part in zip(places, parts, strict=True)])

    def name(self, chosen: Sequence[int], whole: bool) -> str:
        """The values of each column that the symbols at some positions have; of all of them, or of the likeliest."""
        if len(chosen) == self.codes.shape[1]:
            return ANYTHING
        words = []
        inside = np.ones(self.codes.shape[1], dtype=bool)
        for j, codes in enumerate(self.codes):
            distinct = list(dict.fromkeys(codes[list(chosen)].tolist()))
            if len(distinct) < len(self.values[j]):
                inside &= np.isin(codes, distinct)
                column = self.columns[j] if j < len(self.columns) else None
                words.append(_of_column([self.values[j][v] for v in distinct], column))
        prefix = "mostly " if not whole else "within " if int(inside.sum()) > len(chosen) else ""
        return prefix + (", ".join(words) or ANYTHING)


def _of_column(values: Sequence[Label], column: Column | None) -> str:
    """The values of one column in words: an interval where they are next to each other, else a short list."""
    title = "" if column is None else f"{column.name} "
    if column is not None and column.tree is not None and set(values) <= set(column.labels):
        node = node_named(column.tree, frozenset(map(column.labels.index, values)))
        if node is not None:
            return f"{title}{node}"
    if column is not None and column.is_ordered:
        places = sorted(column.labels.index(value) for value in values if value in column.labels)
        if len(places) == len(values) and places[-1] - places[0] == len(places) - 1:
            first, last = places[0], places[-1]
            if column.kind == "binned":
                return title + span(column.edges, column.labels, first, last)
            return title + (
                str(column.labels[first])
                if first == last
                else f"{column.labels[first]} to {column.labels[last]}"
            )
    if len(values) <= NAMED:
        return title + " or ".join(map(str, values))
    return f"{title}{values[0]} or {len(values) - 1} others"


def flat(label: Label) -> tuple[Label, ...]:
    """The parts of a symbol, one a column."""
    return tuple(part for inner in label for part in flat(inner)) if isinstance(label, tuple) else (label,)


def text(label: Label) -> str:
    """A symbol in words."""
    return ", ".join(map(str, flat(label)))
