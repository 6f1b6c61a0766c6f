"""Joint distributions of what is sensitive and what is useful."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from privopt.arrays import Floats
from privopt.core.exact import IntegerRow
from privopt.errors import InvalidModel
from privopt.files.labels import Label, Labels, decode_labels, encode_labels
from privopt.models.codec import VERSION, decode_numbers, document, encode_numbers
from privopt.models.columns import TableColumns
from privopt.models.hierarchies import Hierarchies
from privopt.models.html import html_table
from privopt.models.intervals import Bins
from privopt.models.joint_frame import Orders, Reading, count_frame
from privopt.models.validation import (
    Objects,
    Table,
    exact_distribution,
    frozen_floats,
    label_tuple,
    number_array,
)

_FIELDS: dict[str, object] = {
    "table": ..., "sensitive": None, "useful": None, "normalised": False, "columns": None,
}  # fmt: skip


@dataclass(frozen=True, init=False, eq=False, repr=False)
class JointDistribution:
    """The joint distribution of a sensitive symbol S and a useful symbol X.

    The distribution is the exact rational value of the given numbers divided by their exact sum; the float
    arrays are that distribution, each entry rounded correctly. Symbols of probability zero are kept. Two
    joints are equal when their exact distributions and their labels are.

    Parameters
    ----------
    table : array-like of int, float or Fraction, shape (n_s, n_x)
        Pr(S=s, X=x), non-negative, summing to 1 within 1e-9.
    sensitive : iterable of hashable, length n_s, optional
        Distinct labels of the rows; 0..n_s-1 by default.
    useful : iterable of hashable, length n_x, optional
        Distinct labels of the columns; 0..n_x-1 by default.

    Attributes
    ----------
    table : float array, shape (n_s, n_x)
        Pr(S=s, X=x); read-only, as are the others.
    sensitive, useful : tuple
        Labels of rows and columns.
    p_s, p_x : float array, shape (n_s,) and (n_x,)
        Marginal distributions.
    s_given_x : float array, shape (n_s, n_x)
        Pr(S=s | X=x); a column of zeros where Pr(X=x) = 0.
    exact : IntegerRow
        The exact distribution of the table, row by row.
    columns : TableColumns or None
        What is remembered of the table that was counted; counts neither in comparisons nor in fingerprints.

    Raises
    ------
    InvalidModel
        If an entry is negative, not finite or not a number, the sum is off 1, the shape is wrong, or
        labels are repeated or too few.

    Examples
    --------
    >>> joint = JointDistribution([[0.5, 0.25], [0.0, 0.25]], sensitive=["ill", "well"])
    >>> joint.p_s, joint.s_given_x[:, 1]
    (array([0.75, 0.25]), array([0.5, 0.5]))
    """

    table: Floats
    sensitive: Labels
    useful: Labels
    p_s: Floats
    p_x: Floats
    s_given_x: Floats
    exact: IntegerRow
    columns: TableColumns | None
    _numbers: Objects
    _normalised: bool

    def __init__(
        self, table: Table, sensitive: Iterable[Label] | None = None, useful: Iterable[Label] | None = None
    ) -> None:
        self._fill(table, sensitive, useful, False)

    @classmethod
    def normalised(
        cls, table: Table, sensitive: Iterable[Label] | None = None, useful: Iterable[Label] | None = None
    ) -> Self:
        """Divide counts, or a rounded table, by their exact sum.

        Parameters
        ----------
        table : array-like of int, float or Fraction, shape (n_s, n_x)
            Non-negative numbers with a positive sum; kept as they are.
        sensitive, useful : iterable of hashable, optional
            Labels, as in the constructor.

        Raises
        ------
        InvalidModel
            As the constructor, except that any positive sum will do.

        Examples
        --------
        >>> JointDistribution.normalised([[3, 1], [0, 4]]).exact
        IntegerRow(weights=(3, 1, 0, 4), total=8)
        """
        return cls._build(table, sensitive, useful, True)

    @classmethod
    def from_frame(
        cls,
        frame: object,
        sensitive: str | Sequence[str],
        useful: str | Sequence[str],
        bins: Mapping[str, Bins] | None = None,
        *,
        order: Orders | None = None,
        missing: str = "refuse",
        minimum_count: int = 0,
        hierarchies: Hierarchies | None = None,
    ) -> Self:
        """Count the rows of a pandas or Polars data frame, and remember its columns.

        One column gives its values as labels. Several columns give one product symbol, whose labels
        are the tuples of values that occur. Labels are sorted where they can be.

        Parameters
        ----------
        frame : pandas.DataFrame, polars.DataFrame or another frame that narwhals reads
            One row a person.
        sensitive, useful : str or sequence of str
            Columns that make up S and X.
        bins : dict of column to int, str or sequence of float, optional
            A number of intervals of equal width, their increasing edges, or "quantiles:8", "width:10",
            "minimum:100" (rows in each). Labels are then names such as ``"25-34"``; the last interval is closed.
        order : dict of column to sequence, optional
            The values of a column from first to last, where their order means something.
        missing : {"refuse", "drop", "symbol"}
            What becomes of a missing value: an error, a row that is not counted, or a symbol of its own.
        minimum_count : int
            Combinations of the useful columns that fewer rows have become one symbol, "(rare)".
        hierarchies : dict of column to path or mapping, optional
            What the values of a column may be generalised to: a CSV file without a header and with a row
            ``value;level1;level2;...`` for each value, as ARX has it, or such rows as a mapping.

        Raises
        ------
        InvalidModel
            If a column is unknown, values are missing and refused, or bins or an order do not fit.

        Examples
        --------
        >>> import pandas as pd
        >>> frame = pd.DataFrame({"ill": ["no", "no", "yes"], "age": [20, 60, 70]})
        >>> joint = JointDistribution.from_frame(frame, ["ill"], ["age"], bins={"age": [0, 50, 100]})
        >>> joint.useful, joint.exact.weights
        (('0-49', '50-100'), (1, 1, 0, 1))
        >>> joint.columns.reads_names
        ('age',)
        """
        reading = Reading(bins or {}, order or {}, missing, minimum_count, hierarchies or {})
        counts = count_frame(frame, sensitive, useful, reading)
        return cls._build(counts.table, counts.sensitive, counts.useful, True, counts.columns)

    @property
    def rows_counted(self) -> int | None:
        """How many rows the table counts; None where it holds probabilities.

        Examples
        --------
        >>> JointDistribution.normalised([[3, 1], [0, 4]]).rows_counted
        8
        """
        if self.columns is not None:
            return self.columns.rows
        counts = self._numbers.ravel().tolist()
        return sum(counts) if self._normalised and all(isinstance(n, int) for n in counts) else None

    def small_cells(self, least: int) -> int:
        """How many cells that occur hold fewer rows than this.

        Parameters
        ----------
        least : int

        Raises
        ------
        InvalidModel
            If the joint was not counted by :meth:`from_frame`.

        Examples
        --------
        >>> import pandas as pd
        >>> frame = pd.DataFrame({"ill": ["no", "no", "yes"], "sex": ["f", "f", "m"]})
        >>> JointDistribution.from_frame(frame, "ill", "sex").small_cells(2)
        1
        """
        if self.columns is None:
            raise InvalidModel("the joint does not say how many rows were counted: make it with from_frame")
        counts = np.rint(self.table * self.columns.rows)
        return int(((counts > 0) & (counts < least)).sum())

    @classmethod
    def _build(
        cls,
        table: object,
        sensitive: Iterable[Label] | None,
        useful: Iterable[Label] | None,
        normalised: bool,
        columns: TableColumns | None = None,
    ) -> Self:
        joint = cls.__new__(cls)
        joint._fill(table, sensitive, useful, normalised, columns)
        return joint

    def _fill(
        self,
        table: object,
        sensitive: Iterable[Label] | None,
        useful: Iterable[Label] | None,
        normalised: bool,
        columns: TableColumns | None = None,
    ) -> None:
        numbers = number_array(table, "table")
        if numbers.ndim != 2:
            raise InvalidModel(
                f"table has {numbers.ndim} dimensions: give one row a sensitive symbol, shape (n_s, n_x)"
            )
        height, width = numbers.shape
        exact = exact_distribution(
            numbers.ravel().tolist(), "table", None if normalised else "JointDistribution.normalised"
        )
        weights = np.array(exact.weights, dtype=object).reshape(height, width)
        of_s, of_x = weights.sum(axis=1), weights.sum(axis=0)
        values: dict[str, object] = {
            "table": frozen_floats(np.array(exact.floats()).reshape(height, width)),
            "sensitive": label_tuple(sensitive, height, "sensitive"),
            "useful": label_tuple(useful, width, "useful"),
            "p_s": frozen_floats([w / exact.total for w in of_s]),
            "p_x": frozen_floats([w / exact.total for w in of_x]),
            "s_given_x": frozen_floats(
                [[w / (t or 1) for w, t in zip(row, of_x, strict=True)] for row in weights]
            ),
            "exact": exact,
            "columns": columns,
            "_numbers": numbers,
            "_normalised": normalised,
        }
        for name, value in values.items():
            object.__setattr__(self, name, value)

    def to_dict(self) -> dict[str, object]:
        """Plain JSON values from which :meth:`from_dict` makes an equal joint.

        Returns
        -------
        dict
            The given numbers, unrounded, the labels, and the columns where they are remembered.

        Raises
        ------
        InvalidModel
            If a label is neither str, int, float, bool nor a tuple of those.

        Examples
        --------
        >>> JointDistribution.normalised([[1, 2]]).to_dict()["table"]
        [[1, 2]]
        """
        written: dict[str, object] = {
            "type": "joint_distribution",
            "version": VERSION,
            "table": encode_numbers(self._numbers.tolist()),
            "sensitive": encode_labels(self.sensitive),
            "useful": encode_labels(self.useful),
            "normalised": self._normalised,
        }
        return written if self.columns is None else {**written, "columns": self.columns.to_dict()}

    @classmethod
    def from_dict(cls, d: Mapping[str, object]) -> Self:
        """Read what :meth:`to_dict` wrote.

        Raises
        ------
        InvalidModel
            If a key is missing or unknown, or a value is not of its kind.

        Examples
        --------
        >>> joint = JointDistribution([[0.5, 0.5]])
        >>> JointDistribution.from_dict(joint.to_dict()) == joint
        True
        """
        fields = document(d, "joint_distribution", _FIELDS)
        return cls._build(
            decode_numbers(fields["table"], "table", 2),
            _decode_optional(fields["sensitive"], "sensitive"),
            _decode_optional(fields["useful"], "useful"),
            fields["normalised"] is True,
            None if fields["columns"] is None else TableColumns.from_dict(fields["columns"]),
        )

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, JointDistribution):
            return NotImplemented
        return self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def _key(self) -> tuple[IntegerRow, Labels, Labels]:
        return self.exact, self.sensitive, self.useful

    def __reduce__(self) -> tuple[object, ...]:
        # Arrays come out of a pickle writable, so the joint is made anew.
        return type(self)._build, (self._numbers, self.sensitive, self.useful, self._normalised, self.columns)

    def __repr__(self) -> str:
        return f"JointDistribution({len(self.sensitive)} sensitive x {len(self.useful)} useful symbols)"

    def _repr_html_(self) -> str:
        return html_table(repr(self), self.sensitive, self.useful, self.table)


def _decode_optional(value: object, what: str) -> Labels | None:
    """Labels, or None for the default ones."""
    return None if value is None else decode_labels(value, what)
