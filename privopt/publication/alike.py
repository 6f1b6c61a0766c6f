"""Values of a column that differ only by blanks or capitals, and are counted as different ones."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from privopt.files.labels import Label
from privopt.models.columns import Column

SHOWN = 3
"""Groups of alike values that a sentence names."""


def spelled_alike(labels: Sequence[Label]) -> list[list[str]]:
    """The groups of texts that are the same but for blanks and capitals.

    Examples
    --------
    >>> spelled_alike(["no", "NO", "yes", " no", 3])
    [['no', 'NO', ' no']]
    """
    groups: dict[str, list[str]] = {}
    for label in labels:
        if isinstance(label, str):
            groups.setdefault(" ".join(label.split()).casefold(), []).append(label)
    return [group for group in groups.values() if len(group) > 1]


def alike_notes(columns: Iterable[Column]) -> list[str]:
    """A sentence for each column that spells a value in several ways.

    Examples
    --------
    >>> alike_notes([Column("ward", "categorical", ("A", "A ", "B")), Column("age", "categorical", ("old", "young"))])
    ["column 'ward' has values that differ only by blanks or capitals and are counted as different: 'A' and 'A '; make them one first"]
    """
    notes = []
    for column in dict.fromkeys(columns):
        groups = [] if column.kind == "binned" else spelled_alike(column.labels)
        if groups:
            named = ", ".join(" and ".join(map(repr, group)) for group in groups[:SHOWN])
            more = f", and {len(groups) - SHOWN} more such groups" if len(groups) > SHOWN else ""
            notes.append(
                f"column {column.name!r} has values that differ only by blanks or capitals and are counted as different: "
                f"{named}{more}; make them one first"
            )
    return notes
