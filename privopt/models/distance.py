"""Distances between the values of a column: a distortion in the unit of the column."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from privopt.arrays import Floats
from privopt.errors import InvalidModel
from privopt.files.labels import Label, Labels, plain_labels
from privopt.models.columns import MISSING, RARE, Column, TableColumns
from privopt.models.validation import hashable, is_missing, sorted_labels

if TYPE_CHECKING:
    import narwhals as nw

MOST = 5000
"""Values up to which a distance is written out as a matrix."""

RANKS = "ranks"
"""The unit of a distance between values in an order."""


@dataclass(frozen=True)
class Distance:
    """A distance between the values of one column; wherever a distortion matrix is expected, its matrix.

    Parameters
    ----------
    labels : tuple
        The values.
    places : tuple of float
        Where each is on a line: its number, its rank, the middle of its interval. Empty for categories, which are at
        distance 1 from each other.
    name : str
        The column.
    unit : str or None
        Of the distances.
    kind : "numbers", "ranks", "bins" or "categories"

    Examples
    --------
    >>> distance([17, 25, 18], unit="years").matrix
    array([[0., 1., 8.],
           [1., 0., 7.],
           [8., 7., 0.]])
    """

    labels: Labels
    places: tuple[float, ...]
    name: str = ""
    unit: str | None = None
    kind: str = "numbers"

    @property
    def matrix(self) -> Floats:
        """The distances, a row and a column for each label.

        Raises
        ------
        InvalidModel
            If there are more than 5000 values.
        """
        count = len(self.labels)
        if count > MOST:
            raise InvalidModel(
                f"{self._title} has {count} values, too many for a matrix: fit with bins, and give the distance of its column"
            )
        if not self.places:
            return 1.0 - np.eye(count)
        line = np.array(self.places)
        return np.asarray(np.abs(line[:, None] - line[None, :]))

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> NDArray[Any]:
        """The matrix, so that a distance can stand wherever an array can."""
        return np.asarray(self.matrix, dtype=dtype)

    @property
    def _title(self) -> str:
        return f"the distance of column {self.name!r}" if self.name else "the distance"

    def between(self, symbols: Labels, columns: TableColumns | None = None) -> Distance:
        """The same distance between the symbols of a model, in their order.

        Where the model has put the numbers of the column into bins, the distance is that of the middles of these.

        Parameters
        ----------
        symbols : tuple
            The useful symbols of a joint distribution.
        columns : TableColumns, optional
            What the model remembers of its table.

        Raises
        ------
        InvalidModel
            If the symbols are made of other columns, or one of them is no value of this one.
        """
        useful: tuple[Column, ...] = () if columns is None else columns.useful
        if len(useful) > 1:
            names = ", ".join(repr(column.name) for column in useful)
            raise InvalidModel(
                f"{self._title} is of one column, the useful symbols are made of {names}: fit with one of them, or give a matrix"
            )
        if useful and self.name and useful[0].name != self.name:
            raise InvalidModel(
                f"{self._title} is of another column than the useful one, {useful[0].name!r}: give the distance of that"
            )
        bins = [column for column in useful if column.kind == "binned" and self.kind == "numbers"]
        known = replace(_of_column(bins[0]), unit=self.unit) if bins else self
        place = {label: i for i, label in enumerate(known.labels)}
        extra = (MISSING, RARE) if not self.places else ()
        odd = next((symbol for symbol in symbols if symbol not in place and symbol not in extra), None)
        if odd in (MISSING, RARE):
            remedy = 'missing="drop"' if odd == MISSING else "no minimum_count"
            raise InvalidModel(f"{odd!r} is at no distance from a number: fit with {remedy}")
        if odd is not None:
            raise InvalidModel(
                f"{self._title} knows {len(self.labels)} values, and the model has others: make both from the same column"
            )
        places = tuple(known.places[place[symbol]] for symbol in symbols) if known.places else ()
        return replace(known, labels=symbols, places=places, name=self.name)

    def __repr__(self) -> str:
        unit = f" in {self.unit}" if self.unit else ""
        return f"Distance({self.name + ': ' if self.name else ''}{len(self.labels)} {self.kind}{unit})"


def distance(column: object, unit: str | None = None) -> Distance:
    """The distance between the values of a column, as a square distortion that knows its values and its unit.

    Numbers are as far apart as they differ, values in an order as their ranks, bins as their middles, and categories
    1 from each other.

    Parameters
    ----------
    column : pandas or Polars column, sequence of values, or Column
        Of a frame, or ``joint.columns.useful[0]`` of a model. Missing values are left out. Ordered categories (pandas) and
        enumerations (Polars) are in an order; the intervals of ``pandas.cut`` are bins.
    unit : str, optional
        What a number counts, such as ``"years"``; problems then say their distortion in it.

    Raises
    ------
    InvalidModel
        If the column has no values, values that are not plain, dates, or a unit where its values have none.

    Examples
    --------
    >>> import privopt as po
    >>> joint = po.JointDistribution.normalised([[3, 2, 1], [1, 2, 3]], useful=[17, 18, 25])
    >>> po.DistortionPrivacy(joint, po.distance([17, 18, 25], unit="years"), max_distortion=2).unit
    'years'
    >>> distance(["b", "a", "b"]).matrix
    array([[0., 1.],
           [1., 0.]])
    """
    if unit is not None and (not isinstance(unit, str) or not unit.strip()):
        raise InvalidModel(f"unit is {unit!r}: give the name of what a number counts, such as 'years'")
    made = _of_column(column) if isinstance(column, Column) else _of_values(column)
    if unit is None:
        return made
    if not made.places:
        raise InvalidModel(
            f"{made._title} is 0 or 1, as its values are categories, so it has no unit: turn them into numbers, or give "
            "their order"
        )
    return replace(made, unit=unit)


def _of_column(column: Column) -> Distance:
    """Of a column that a model remembers."""
    if column.kind == "binned":
        middles = tuple((low + high) / 2 for low, high in zip(column.edges, column.edges[1:], strict=False))
        return Distance(column.labels, middles, column.name, None, "bins")
    if column.kind == "ordered":
        return _ranked(column.labels, column.name)
    return _plain(column.labels, column.name)


def _of_values(column: object) -> Distance:
    import narwhals as nw

    series: object = nw.from_native(column, pass_through=True, allow_series=True)
    if isinstance(series, nw.Series):
        return _of_series(series)
    if isinstance(column, str) or not isinstance(column, Iterable):
        raise InvalidModel(
            f"the column is a {type(column).__name__}: give a column of a frame, such as frame['age'], or a list of values"
        )
    return _plain(_distinct(column, ""), "")


def _of_series(series: nw.Series[Any]) -> Distance:
    """Of a column of a frame: in the order of its categories where they have one."""
    import narwhals as nw

    name = str(series.name or "")
    if series.dtype.is_temporal():
        raise InvalidModel(
            f"column {name!r} holds dates or times: turn them into numbers, such as days since the first, and name their unit"
        )
    native: Any = series.to_native()
    categories: Labels = ()
    if isinstance(series.dtype, nw.Categorical | nw.Enum):
        categories = _order_of(native)
    if categories and all(_is_interval(label) for label in categories):
        middles = tuple(float(label.mid) for label in categories)  # type: ignore[attr-defined]  # intervals of pandas
        return Distance(categories, middles, name, None, "bins")
    if categories:
        return _ranked(categories, name)
    return _plain(_distinct(series.to_list(), name), name)


def _order_of(native: Any) -> Labels:
    """The categories of a pandas or Polars column from first to last; none where their order means nothing."""
    if type(native).__module__.partition(".")[0] == "polars":
        import polars as pl

        return tuple(native.dtype.categories.to_list()) if isinstance(native.dtype, pl.Enum) else ()
    return plain_labels(native.cat.categories) if native.cat.ordered else ()


def _is_interval(label: Label) -> bool:
    return type(label).__name__ == "Interval" and type(label).__module__.partition(".")[0] == "pandas"


def _distinct(cells: Iterable[object], name: str) -> Labels:
    """The values that occur, sorted where they can be, without missing ones."""
    values = list(cells)
    if not all(map(hashable, values)):
        raise InvalidModel(f"column {name!r} holds values that cannot be hashed: turn them into plain ones")
    labels = plain_labels(sorted_labels(v for v in dict.fromkeys(values) if not is_missing(v)))
    if not labels:
        raise InvalidModel(f"column {name!r} has no value: there is nothing to measure a distance between")
    return labels


def _plain(labels: Labels, name: str) -> Distance:
    """Numbers by their difference, anything else as categories."""
    numbers = [v for v in labels if isinstance(v, int | float) and not isinstance(v, bool)]
    if len(numbers) < len(labels):
        return Distance(labels, (), name, None, "categories")
    if not all(map(math.isfinite, numbers)):
        raise InvalidModel(f"column {name!r} holds a number that is not finite: leave it out")
    return Distance(labels, tuple(map(float, numbers)), name)


def _ranked(labels: Labels, name: str) -> Distance:
    return Distance(labels, tuple(map(float, range(len(labels)))), name, RANKS, "ranks")
