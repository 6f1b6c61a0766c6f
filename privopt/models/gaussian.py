"""Records in independent groups: Gaussian ones, which vary together in a known way, and groups of any dependence."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Self, cast

import numpy as np
from numpy.typing import NDArray

from privopt.arrays import Floats
from privopt.errors import InvalidModel
from privopt.files.labels import Label, Labels, decode_labels, encode_labels
from privopt.files.numbers import decode_table
from privopt.files.text import fields_html
from privopt.models._gaussian_fit import fit_gaussian
from privopt.models.codec import VERSION, document
from privopt.models.html import html_table
from privopt.models.validation import column_names, distinct_labels, frozen_floats, label_tuple

_ASYMMETRY = 1e-9  # of the two standard deviations: more than any library's rounding
_NEGATIVE = 1e-10  # of an eigenvalue of the correlations: a covariance of few observations rounds this far

WITH_STATES = 2
"""Version of the file of a group model that names its states."""

_FIELDS: dict[str, object] = {"covariance": ..., "mean": None, "names": None, "columns": []}


@dataclass(frozen=True, init=False, eq=False, repr=False)
class GaussianModel:
    """One group of dependent records with a joint Gaussian distribution; groups are independent copies of it.

    Record i is one person's number, such as the height of the mother of a family. The distribution is exact: each float
    stands for the rational number that it stores. Two models are equal when these and the names are.

    Parameters
    ----------
    covariance : array-like of float, shape (m, m)
        Symmetric up to rounding (the two entries are averaged), positive semidefinite, variances positive.
    mean : array-like of float, shape (m,), optional
        Zeros by default. No leakage depends on it.
    names : iterable of hashable, length m, optional
        Distinct names of the records; 0..m-1 by default.
    columns : iterable of str, optional
        The columns of a table that hold the records, as :meth:`fit` remembers them. No leakage, and no equality of models,
        depends on them.

    Attributes
    ----------
    covariance : float array, shape (m, m)
        Read-only.
    mean : float array, shape (m,)
        Read-only.
    names : tuple
    columns : tuple of str

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
    columns: tuple[str, ...]

    def __init__(
        self,
        covariance: object,
        mean: object | None = None,
        names: Iterable[Label] | None = None,
        columns: Iterable[str] = (),
    ) -> None:
        matrix = _covariance_array(covariance)
        object.__setattr__(self, "covariance", matrix)
        object.__setattr__(self, "mean", _mean_array(mean, len(matrix)))
        object.__setattr__(self, "names", label_tuple(names, len(matrix), "names"))
        object.__setattr__(self, "columns", column_names(columns))

    @classmethod
    def fit(
        cls, frame: object, groups: str | None = None, *, roles: str | None = None, estimator: str = "sample"
    ) -> Self:
        """Estimate the distribution of a group from data.

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
        return cls(*fit_gaussian(frame, groups, roles, estimator))

    @property
    def size(self) -> int:
        """Number of records of a group, m."""
        return len(self.covariance)

    @cached_property
    def correlation(self) -> Floats:
        """Correlations, shape (m, m)."""
        return correlation_of(self.covariance)

    @cached_property
    def blocks(self) -> tuple[tuple[int, ...], ...]:
        """Positions of the records of each block: blocks are independent, and cannot be divided further.

        Examples
        --------
        >>> GaussianModel([[1, 0, 0.5], [0, 1, 0], [0.5, 0, 1]]).blocks
        ((0, 2), (1,))
        """
        return _components(self.covariance != 0)

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
        written: dict[str, object] = {
            "type": "gaussian",
            "version": VERSION,
            "covariance": self.covariance.tolist(),
            "mean": self.mean.tolist(),
            "names": encode_labels(self.names),
        }
        return {**written, "columns": list(self.columns)} if self.columns else written

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
        return cls(covariance, mean, names, column_names(fields["columns"]))

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
        return type(self), (self.covariance, self.mean, self.names, self.columns)

    def __repr__(self) -> str:
        records = f"{self.size} record{'s' if self.size > 1 else ''}"
        blocks = f"{len(self.blocks)} independent blocks" if len(self.blocks) > 1 else "1 block"
        return f"GaussianModel({records} in {blocks}, correlations up to {self.max_correlation:.4g})"

    def _repr_html_(self) -> str:
        return html_table(repr(self), self.names, self.names, self.covariance)


@dataclass(frozen=True)
class GroupModel:
    """Records in groups that are independent of each other; inside a group, any dependence at all.

    Source: Lange, Guerra-Balboa, Parra-Arnau, Strufe, "Balancing Privacy and Utility in Correlated Data: A Study of
    Bayesian Differential Privacy", Section 4: the number of correlated records m.

    Parameters
    ----------
    size : int
        Largest number of records in a group, >= 1; 1 means that all records are independent.
    columns : tuple of str
        The columns of a table that hold the records, if they are to be remembered.
    states : sequence of labels, optional
        The states that a record can have. Counts and histograms then refuse any other, in the query and in the data; without
        them a count takes whatever is not the counted value as another one.

    Raises
    ------
    InvalidModel
        If the size is not a whole number of at least 1, or states repeat.

    Examples
    --------
    >>> GroupModel(4).to_dict()
    {'type': 'group', 'version': 1, 'size': 4}
    >>> GroupModel(4, states=["well", "ill"]).states
    ('well', 'ill')
    """

    size: int
    columns: tuple[str, ...] = field(default=(), compare=False, repr=False)
    states: Sequence[Label] | None = field(default=None, repr=False)

    def _repr_html_(self) -> str:
        return fields_html(self, "GroupModel")

    def __post_init__(self) -> None:
        size: object = self.size
        if isinstance(size, np.integer):
            object.__setattr__(self, "size", int(size))
        if isinstance(self.size, bool) or not isinstance(self.size, int) or self.size < 1:
            raise InvalidModel(
                f"size is {self.size!r}: give the whole number of records in the largest group"
            )
        object.__setattr__(self, "columns", column_names(self.columns))
        if self.states is not None:
            states = distinct_labels(self.states, "states")
            if not states:
                raise InvalidModel(
                    "states is empty: name the states that a record can have, or leave them out"
                )
            object.__setattr__(self, "states", states)

    def to_dict(self) -> dict[str, object]:
        """Plain JSON values from which :meth:`from_dict` makes an equal model."""
        version = VERSION if self.states is None else WITH_STATES
        written: dict[str, object] = {"type": "group", "version": version, "size": self.size}
        if self.states is not None:
            written["states"] = encode_labels(tuple(self.states))
        return {**written, "columns": list(self.columns)} if self.columns else written

    @classmethod
    def from_dict(cls, d: Mapping[str, object]) -> Self:
        """Read what :meth:`to_dict` wrote.

        Raises
        ------
        InvalidModel
            If a key is missing or unknown, or the size is not a whole number of at least 1.

        Examples
        --------
        >>> GroupModel.from_dict({"type": "group", "size": 3})
        GroupModel(size=3)
        """
        fields = document(d, "group", {"size": ..., "columns": [], "states": None}, WITH_STATES)
        states = None if fields["states"] is None else decode_labels(fields["states"], "states")
        return cls(cast(int, fields["size"]), column_names(fields["columns"]), states)


def correlation_of(covariance: Floats) -> Floats:
    """Correlations, with ones on the diagonal, within [-1, 1]."""
    deviations = np.sqrt(np.diag(covariance))
    correlation = np.clip(covariance / deviations / deviations[:, None], -1.0, 1.0)
    np.fill_diagonal(correlation, 1.0)
    return frozen_floats(correlation)


def spread(covariance: Floats) -> float:
    """Largest standard deviation over the smallest."""
    variances = np.diag(covariance)
    return math.sqrt(float(variances.max())) / math.sqrt(float(variances.min()))


def _real_array(values: object, what: str) -> Floats:
    """A float64 copy, refused unless rectangular, numeric and finite."""
    if isinstance(values, np.ma.MaskedArray):
        raise InvalidModel(f"{what} is a masked array: fill or drop the masked entries first")
    try:
        raw = np.asarray(values)
    except ValueError as error:
        raise InvalidModel(f"{what} has rows of different lengths: give a rectangular array") from error
    if raw.dtype.kind not in "iufO":
        raise InvalidModel(f"{what} holds {raw.dtype} entries: give real numbers")
    try:
        array = np.array(raw, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise InvalidModel(f"{what} is not an array of real numbers: {error}") from error
    bad = np.argwhere(~np.isfinite(array))
    if len(bad):
        where = ", ".join(map(str, bad[0]))
        raise InvalidModel(f"{what}[{where}] is {array[tuple(bad[0])]}: give finite numbers")
    return array


def _covariance_array(values: object) -> Floats:
    """A symmetric, positive semidefinite matrix with positive diagonal, read-only."""
    matrix = _real_array(values, "covariance")
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or not matrix.size:
        raise InvalidModel(
            f"covariance has shape {matrix.shape}: give a square matrix of at least one record"
        )
    low = np.flatnonzero(np.diag(matrix) / 2 <= 0)  # half of the least float is 0
    if low.size:
        i = int(low[0])
        raise InvalidModel(
            f"covariance[{i}, {i}] is {matrix[i, i]}: variances are positive, so leave constant records out"
        )
    deviations = np.sqrt(np.diag(matrix))
    with np.errstate(over="ignore"):
        scaled = matrix / deviations / deviations[:, None]
        skew = np.abs(scaled - scaled.T)
    if not skew.max() <= _ASYMMETRY:
        i, j = map(int, np.unravel_index(int(skew.argmax()), skew.shape))
        raise InvalidModel(
            f"covariance[{i}, {j}] is {matrix[i, j]} and covariance[{j}, {i}] is {matrix[j, i]}: make it symmetric"
        )
    symmetric = (
        matrix / 2 + matrix.T / 2 + 0.0
    )  # + 0.0 turns -0.0 into 0.0, so that equal distributions hash alike
    _check_semidefinite(symmetric)
    return frozen_floats(symmetric)


def _check_semidefinite(covariance: Floats) -> None:
    """Refuse a matrix that no data can have."""
    deviations = np.sqrt(np.diag(covariance))
    correlation = covariance / deviations / deviations[:, None]
    try:
        np.linalg.cholesky(correlation)
    except np.linalg.LinAlgError:
        least = float(np.linalg.eigvalsh(correlation)[0])
        if least < -_NEGATIVE:
            raise InvalidModel(
                f"covariance is not positive semidefinite: its correlations have the eigenvalue {least:.3g}; "
                "estimate it from complete rows"
            ) from None


def _mean_array(values: object, size: int) -> Floats:
    """One finite mean a record, zeros by default, read-only."""
    if values is None:
        return frozen_floats(np.zeros(size))
    mean = _real_array(values, "mean")
    if mean.shape != (size,):
        raise InvalidModel(f"mean has shape {mean.shape} for {size} records: give one number for each")
    return frozen_floats(mean + 0.0)


def _components(linked: NDArray[np.bool_]) -> tuple[tuple[int, ...], ...]:
    """Connected components of a symmetric relation, each sorted, in the order of their first members."""
    left = np.ones(len(linked), dtype=np.bool_)
    blocks: list[tuple[int, ...]] = []
    for start in range(len(linked)):
        if not left[start]:
            continue
        block = np.zeros(len(linked), dtype=np.bool_)
        block[start] = True
        frontier = np.array([start])
        while frontier.size:
            frontier = np.flatnonzero(linked[frontier].any(axis=0) & ~block)
            block[frontier] = True
        left &= ~block
        blocks.append(tuple(np.flatnonzero(block).tolist()))
    return tuple(blocks)
