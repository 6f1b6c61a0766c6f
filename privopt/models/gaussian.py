"""Gaussian records: how real-valued records that depend on each other vary together."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from privopt.arrays import Floats
from privopt.errors import InvalidModel, MissingExtra
from privopt.files.labels import Label, Labels, decode_labels, encode_labels
from privopt.files.numbers import decode_table
from privopt.models import gaussian_parts as parts
from privopt.models.codec import VERSION, document
from privopt.models.html import html_table
from privopt.models.validation import label_tuple, sorted_labels

if TYPE_CHECKING:
    import narwhals as nw


_ESTIMATORS = ("sample", "ledoit-wolf")


@dataclass(frozen=True)
class FittedGaussian:
    """An estimated covariance, mean and the names of the records."""

    covariance: Floats
    mean: Floats
    names: Labels


def fit_gaussian(frame: object, groups: str | None, roles: str | None, estimator: str) -> FittedGaussian:
    """Dispatch on the form of the frame: wide, long with roles, long with exchangeable records."""
    if estimator not in _ESTIMATORS:
        raise InvalidModel(f"estimator is {estimator!r}: give one of {', '.join(map(repr, _ESTIMATORS))}")
    data = _eager(frame)
    if groups is None:
        if roles is not None:
            raise InvalidModel(
                "roles are given without groups: name the column that says which rows belong together"
            )
        table = np.column_stack([_numbers(data, name) for name in data.columns])
        return _estimated(table, tuple(data.columns), estimator)
    values = _numbers(data, _value_column(data, groups, roles))
    keys = _keys(data, groups)
    if roles is not None:
        return _with_roles(values, keys, _keys(data, roles), estimator)
    if estimator != "sample":
        raise InvalidModel(f"the estimator {estimator!r} needs roles: without them use 'sample'")
    return _exchangeable(values, keys)


def _eager(frame: object) -> nw.DataFrame[Any]:
    """The frame through narwhals, with at least one row and one column."""
    import narwhals as nw

    data: object = nw.from_native(frame, pass_through=True)
    if isinstance(data, nw.LazyFrame):
        raise InvalidModel("the frame is lazy: collect() it first")
    if not isinstance(data, nw.DataFrame):
        raise InvalidModel(f"frame is a {type(frame).__name__}: give a pandas or Polars data frame")
    if len(data) == 0 or not data.columns:
        raise InvalidModel("the frame has no rows or no columns: there is nothing to estimate from")
    return data


def _value_column(data: nw.DataFrame[Any], groups: str, roles: str | None) -> str:
    """The one column of a long frame that is neither groups nor roles."""
    for name in (groups, *([] if roles is None else [roles])):
        if name not in data.columns:
            raise InvalidModel(f"the frame has no column {name!r}: it has {data.columns}")
    rest = [name for name in data.columns if name not in (groups, roles)]
    if len(rest) != 1:
        raise InvalidModel(
            f"beside groups and roles the frame has the columns {rest}: keep the one with the values"
        )
    return rest[0]


def _numbers(data: nw.DataFrame[Any], name: str) -> Floats:
    """A numeric column without missing or infinite values."""
    column = data[name]
    if not column.dtype.is_numeric():
        raise InvalidModel(
            f"column {name!r} holds {column.dtype}, not numbers: leave it out or name it as groups"
        )
    _no_null(column, name)
    values = np.asarray(column.to_numpy(), dtype=np.float64)
    bad = np.flatnonzero(~np.isfinite(values))
    if bad.size:
        row = int(bad[0])
        raise InvalidModel(
            f"column {name!r} is {values[row]} in row {row}: drop such rows or fill them in first"
        )
    return values


def _no_null(column: nw.Series[Any], name: str) -> None:
    """Refuse missing entries, for dropping them silently would change the law."""
    null = np.flatnonzero(np.asarray(column.is_null().to_numpy(), dtype=np.bool_))
    if null.size:
        raise InvalidModel(
            f"column {name!r} is missing in row {int(null[0])} ({null.size} in all): drop or fill them in first"
        )


def _keys(data: nw.DataFrame[Any], name: str) -> list[Any]:
    """The entries of a column of labels."""
    _no_null(data[name], name)
    found: list[Any] = data[name].to_list()
    return found


def _with_roles(values: Floats, keys: list[Any], roles: list[Any], estimator: str) -> FittedGaussian:
    """One row a group, one column a role."""
    names = sorted_labels(dict.fromkeys(roles))
    group_of = {key: i for i, key in enumerate(dict.fromkeys(keys))}
    role_of = {role: i for i, role in enumerate(names)}
    table = np.full((len(group_of), len(names)), np.nan)
    for value, key, role in zip(values.tolist(), keys, roles, strict=True):
        where = group_of[key], role_of[role]
        if not np.isnan(table[where]):
            raise InvalidModel(f"group {key!r} has the role {role!r} twice: give each role once")
        table[where] = value
    holes = np.argwhere(np.isnan(table))
    if len(holes):
        key = list(group_of)[holes[0, 0]]
        raise InvalidModel(
            f"group {key!r} lacks the role {names[holes[0, 1]]!r}: drop the group or fill it in"
        )
    return _estimated(table, tuple(names), estimator)


def _estimated(table: Floats, names: Labels, estimator: str) -> FittedGaussian:
    """Covariance of the columns of a table of independent rows."""
    if len(table) < 2:
        raise InvalidModel("a covariance needs at least two groups: give more rows")
    if estimator == "sample":
        return FittedGaussian(np.atleast_2d(np.cov(table, rowvar=False)), table.mean(axis=0), names)
    try:
        from sklearn.covariance import LedoitWolf
    except ImportError as error:
        raise MissingExtra(
            "the estimator 'ledoit-wolf' needs scikit-learn: pip install 'privopt[fit]'"
        ) from error
    found = LedoitWolf().fit(table)
    return FittedGaussian(np.asarray(found.covariance_), table.mean(axis=0), names)


def _exchangeable(values: Floats, keys: list[Any]) -> FittedGaussian:
    """Fisher's intraclass covariance: the mean product over ordered pairs of distinct records of one group."""
    position = {key: i for i, key in enumerate(dict.fromkeys(keys))}
    codes = np.array([position[key] for key in keys])
    sizes = np.bincount(codes)
    pairs = int((sizes * (sizes - 1)).sum())
    mean = float(values.mean())
    squares = (values - mean) ** 2
    variance = float(squares.mean())
    sums = np.bincount(codes, weights=values - mean)
    # over pairs i != j of a group, sum of products = (sum)^2 - sum of squares
    covariance = float((sums**2).sum() - squares.sum()) / pairs if pairs else 0.0
    size = int(sizes.max())
    if size > 1 and covariance < -variance / (size - 1):
        raise InvalidModel(
            f"the intraclass correlation {covariance / variance:.3g} is too negative for groups of {size}: "
            "no law has it; divide the groups or give roles"
        )
    matrix = np.full((size, size), min(covariance, variance))
    np.fill_diagonal(matrix, variance)
    return FittedGaussian(matrix, np.full(size, mean), tuple(range(size)))


_FIELDS: dict[str, object] = {"covariance": ..., "mean": None, "names": None}


@dataclass(frozen=True, init=False, eq=False, repr=False)
class GaussianModel:
    """One group of dependent records with a joint Gaussian law; groups are independent copies of it.

    Record i is one person's number, such as the height of the mother of a family. The law is exact: each float
    stands for the rational number that it stores. Two models are equal when these and the names are.

    Parameters
    ----------
    covariance : array-like of float, shape (m, m)
        Symmetric up to rounding (the two entries are averaged), positive semidefinite, variances positive.
    mean : array-like of float, shape (m,), optional
        Zeros by default. No leakage depends on it.
    names : iterable of hashable, length m, optional
        Distinct names of the records; 0..m-1 by default.

    Attributes
    ----------
    covariance : float array, shape (m, m)
        Read-only.
    mean : float array, shape (m,)
        Read-only.
    names : tuple

    Raises
    ------
    InvalidModel
        If numbers, shapes or names are wrong, or no data can have this covariance.

    Examples
    --------
    >>> model = GaussianModel([[1, 0.5, 0], [0.5, 1, 0], [0, 0, 4]], names=["mother", "child", "neighbour"])
    >>> model
    GaussianModel(3 records in 2 independent blocks, correlations up to 0.5)
    >>> model.blocks
    ((0, 1), (2,))
    """

    covariance: Floats
    mean: Floats
    names: Labels

    def __init__(
        self, covariance: object, mean: object | None = None, names: Iterable[Label] | None = None
    ) -> None:
        matrix = parts.covariance_array(covariance)
        object.__setattr__(self, "covariance", matrix)
        object.__setattr__(self, "mean", parts.mean_array(mean, len(matrix)))
        object.__setattr__(self, "names", label_tuple(names, len(matrix), "names"))

    @classmethod
    def fit(
        cls, frame: object, groups: str | None = None, *, roles: str | None = None, estimator: str = "sample"
    ) -> Self:
        """Estimate the law of a group from data.

        Without ``groups`` the frame is *wide*: a row is one group (a family), a column one record of it (the father,
        the mother, the child), and groups are independent. With ``groups`` it is *long*: a row is one record, and
        rows with the same entry in the column ``groups`` belong together. The one remaining numeric column holds the
        values. If ``roles`` names a column, it says which record of the group a row is, and every group has each
        role once. Otherwise records of a group are exchangeable: they share one mean, one variance and one
        covariance, that of all pairs of records of the same group (Fisher's intraclass correlation, Statistical
        Methods for Research Workers, Section 38), and the model is as large as the largest group.

        Parameters
        ----------
        frame : pandas or Polars data frame
            Only the columns to be used.
        groups : str, optional
            Column that says which group a row belongs to.
        roles : str, optional
            Column that says which record of its group a row is; only with ``groups``.
        estimator : str
            ``"sample"``: the sample covariance, divided by rows - 1; ``"ledoit-wolf"``: the shrunk one of Ledoit and
            Wolf, "A well-conditioned estimator for large-dimensional covariance matrices", which needs scikit-learn.
            Exchangeable records have only ``"sample"``, divided by the number of records, or of pairs.

        Raises
        ------
        InvalidModel
            If a value is missing or not a number, a column is unknown, a role is missing or repeated in a group,
            there are too few rows, or no Gaussian group of this size has such a negative intraclass correlation.
        MissingExtra
            If scikit-learn is needed and not installed.

        Examples
        --------
        >>> import pandas as pd
        >>> wide = pd.DataFrame({"father": [70.0, 68.0, 72.0], "child": [69.0, 68.0, 70.0]})
        >>> GaussianModel.fit(wide).covariance
        array([[4., 2.],
               [2., 1.]])
        >>> long = pd.DataFrame({"family": ["a", "a", "b", "b"], "height": [1.0, 2.0, 3.0, 4.0]})
        >>> GaussianModel.fit(long, groups="family").correlation[0, 1].round(3)
        np.float64(0.6)
        """
        fitted = fit_gaussian(frame, groups, roles, estimator)
        return cls(fitted.covariance, fitted.mean, fitted.names)

    @property
    def size(self) -> int:
        """Number of records of a group, m."""
        return len(self.covariance)

    @cached_property
    def correlation(self) -> Floats:
        """Correlations, shape (m, m)."""
        return parts.correlation_of(self.covariance)

    @cached_property
    def blocks(self) -> tuple[tuple[int, ...], ...]:
        """Positions of the records of each block: blocks are independent, and cannot be divided further.

        Examples
        --------
        >>> GaussianModel([[1, 0, 0.5], [0, 1, 0], [0.5, 0, 1]]).blocks
        ((0, 2), (1,))
        """
        return parts.components(self.covariance != 0)

    @property
    def max_correlation(self) -> float:
        """Largest absolute correlation between two records; 0 for a single record."""
        return float(np.abs(self.correlation - np.eye(self.size)).max())

    def index(self, name: Label) -> int:
        """Position of a record.

        Raises
        ------
        InvalidModel
            If there is no such record.
        """
        if name not in self.names:
            raise InvalidModel(f"no record is called {name!r}: the names are {self.names[:10]}")
        return self.names.index(name)

    def to_dict(self) -> dict[str, object]:
        """Plain JSON values from which :meth:`from_dict` makes an equal model.

        Raises
        ------
        InvalidModel
            If a name is neither str, int, float, bool nor a tuple of those.

        Examples
        --------
        >>> GaussianModel([[2.0]]).to_dict()
        {'type': 'gaussian', 'version': 1, 'covariance': [[2.0]], 'mean': [0.0], 'names': [0]}
        """
        return {
            "type": "gaussian",
            "version": VERSION,
            "covariance": self.covariance.tolist(),
            "mean": self.mean.tolist(),
            "names": encode_labels(self.names),
        }

    @classmethod
    def from_dict(cls, d: Mapping[str, object]) -> Self:
        """Read what :meth:`to_dict` wrote.

        Raises
        ------
        InvalidModel
            If a key is missing or unknown, or a value is not of its kind.

        Examples
        --------
        >>> model = GaussianModel([[1, 0.5], [0.5, 1]], names=["a", "b"])
        >>> GaussianModel.from_dict(model.to_dict()) == model
        True
        """
        fields = document(d, "gaussian", _FIELDS)
        names = None if fields["names"] is None else decode_labels(fields["names"], "names")
        try:
            covariance = decode_table(fields["covariance"], "covariance")
            mean = None if fields["mean"] is None else decode_table(fields["mean"], "mean")
        except ValueError as cause:
            raise InvalidModel(str(cause)) from cause
        return cls(covariance, mean, names)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, GaussianModel):
            return NotImplemented
        return self._key() == other._key()

    def __hash__(self) -> int:
        return self._hash

    @cached_property
    def _hash(self) -> int:
        return hash(self._key())

    def _key(self) -> tuple[object, ...]:
        return self.names, self.covariance.tobytes(), self.mean.tobytes()

    def __reduce__(self) -> tuple[object, ...]:
        # Arrays come out of a pickle writable, so the model is made anew.
        return type(self), (self.covariance, self.mean, self.names)

    def __repr__(self) -> str:
        records = f"{self.size} record{'s' if self.size > 1 else ''}"
        blocks = f"{len(self.blocks)} independent blocks" if len(self.blocks) > 1 else "1 block"
        return f"GaussianModel({records} in {blocks}, correlations up to {self.max_correlation:.4g})"

    def _repr_html_(self) -> str:
        return html_table(repr(self), self.names, self.names, self.covariance)
