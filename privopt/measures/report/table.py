"""The table of leakages that a custodian reads."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from privopt.files.labels import Label
from privopt.files.text import html_table, number, plain_table
from privopt.measures.report.implications import ImpliedBound

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class LeakageRow:
    """One measure of a report.

    Attributes
    ----------
    measure : str
        Its name in :mod:`privopt.measures`, with the order where it has one.
    value : float
        In nats (``delta_at``: a probability); for measures known by an interval, its upper end.
    bits : float or None
        The same in bits; None for privacy levels, which are always in nats.
    attained : str
        Secrets and outputs, by label, where the value is reached; empty where it is a mean over all of them.
    meaning : str
        A plain sentence.
    implied : ImpliedBound or None
        The best bound that the *other* rows put on this one, with their keys in ``since``.
    """

    measure: str
    value: float
    bits: float | None
    attained: str
    meaning: str
    implied: ImpliedBound | None


@dataclass(frozen=True)
class LeakageReport:
    """Leakages of a mechanism under a joint law, one row a measure.

    Attributes
    ----------
    rows : tuple of LeakageRow
    dropped : tuple of labels
        Secrets of probability zero, which no measure counts.
    smallest_prior : float
        Probability of the rarest possible secret.
    """

    rows: tuple[LeakageRow, ...]
    dropped: tuple[Label, ...]
    smallest_prior: float

    def to_frame(self) -> pd.DataFrame:
        """A pandas data frame, one row a measure.

        Returns
        -------
        pandas.DataFrame
            Columns measure, nats, bits, attained, implied, since, meaning.
        """
        import pandas as pd

        columns = ["measure", "nats", "bits", "attained", "implied", "since", "meaning"]
        cells = [
            (r.measure, r.value, r.bits, r.attained, r.implied, _since(r.implied), r.meaning)
            for r in self.rows
        ]
        frame = pd.DataFrame(cells, columns=columns)
        return frame.astype({"nats": float, "bits": float, "implied": float})

    def __getitem__(self, measure: str) -> LeakageRow:
        """The row of a measure, by its name."""
        for row in self.rows:
            if row.measure == measure:
                return row
        raise KeyError(f"no row {measure!r}: the report has {', '.join(row.measure for row in self.rows)}")

    def __str__(self) -> str:
        return "\n".join([plain_table(self._cells(), _HEADER), *self._notes()])

    def _repr_html_(self) -> str:
        cells = [(*line, row.meaning) for line, row in zip(self._cells(), self.rows, strict=True)]
        return html_table(cells, (*_HEADER, "meaning")) + html_table([(note,) for note in self._notes()])

    def _cells(self) -> list[tuple[str, str, str, str, str]]:
        return [
            (
                r.measure,
                number(r.value),
                number(r.bits),
                r.attained,
                f"{number(r.implied)} {_since(r.implied)}".strip(),
            )
            for r in self.rows
        ]

    def _notes(self) -> list[str]:
        note = f"smallest possible Pr(s) {number(self.smallest_prior)}"
        return [
            note
            + (f"; impossible, not counted: {', '.join(map(repr, self.dropped))}" if self.dropped else "")
        ]


_HEADER = ("measure", "nats", "bits", "attained at", "at most, by other rows")


def _since(bound: ImpliedBound | None) -> str:
    if bound is None:
        return ""
    return "from " + ", ".join(key if isinstance(key, str) else f"{key[0]} {key[1]:g}" for key in bound.since)
