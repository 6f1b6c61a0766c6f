"""Sets of covariances of Gaussian records, entry by entry."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Self

import numpy as np

from privopt.arrays import Floats
from privopt.errors import InvalidModel
from privopt.files.labels import Labels
from privopt.files.numbers import decode_table
from privopt.models.codec import VERSION, document
from privopt.models.gaussian import GaussianModel
from privopt.models.html import html_table
from privopt.models.validation import frozen_floats

_FIELDS: dict[str, object] = {"lower": ..., "upper": ..., "nominal": ...}


@dataclass(frozen=True, init=False, eq=False, repr=False)
class CovarianceAmbiguity:
    """The Gaussian distributions of a group of records whose covariances lie between two matrices, entry by entry.

    Parameters
    ----------
    lower, upper : array-like of float, shape (m, m)
        Symmetric, lower <= upper, with positive variances; each float stands for the rational number that it stores.
    nominal : GaussianModel or array-like of shape (m, m)
        One of them, whose names and mean are those of the set.

    Attributes
    ----------
    lower, upper : float array, shape (m, m)
        Read-only.
    nominal : GaussianModel

    Raises
    ------
    InvalidModel
        If numbers or shapes are wrong, a bound is crossed, or the nominal covariance does not lie between the bounds.

    Examples
    --------
    >>> near = CovarianceAmbiguity([[0.9, 0.4], [0.4, 0.9]], [[1.1, 0.6], [0.6, 1.1]], nominal=[[1, 0.5], [0.5, 1]])
    >>> near
    CovarianceAmbiguity(2 records, variances 0.9 to 1.1, covariances 0.4 to 0.6)
    >>> near.contains(GaussianModel([[1, 0.25], [0.25, 1]]))
    False
    """

    lower: Floats
    upper: Floats
    nominal: GaussianModel

    def __init__(self, lower: object, upper: object, *, nominal: GaussianModel | object) -> None:
        model = nominal if isinstance(nominal, GaussianModel) else GaussianModel(nominal)
        low, high = (_bound(value, name, model.size) for value, name in ((lower, "lower"), (upper, "upper")))
        _check_order(low, high)
        for name, value in (("lower", low), ("upper", high), ("nominal", model)):
            object.__setattr__(self, name, value)
        outside = np.argwhere((model.covariance < low) | (model.covariance > high))
        if len(outside):
            i, j = map(int, outside[0])
            raise InvalidModel(
                f"the nominal covariance[{i}, {j}] = {model.covariance[i, j]} does not lie between the bounds "
                f"{low[i, j]} and {high[i, j]}: give one that does"
            )

    @property
    def names(self) -> Labels:
        """Names of the records."""
        return self.nominal.names

    @property
    def size(self) -> int:
        """Number of records of a group, m."""
        return self.nominal.size

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of a table that hold the records, where the nominal model remembers them."""
        return self.nominal.columns

    @property
    def is_point(self) -> bool:
        """Whether it holds one covariance only."""
        return bool((self.lower == self.upper).all())

    @property
    def described(self) -> str:
        """What the set is, as a certificate says it.

        Examples
        --------
        >>> CovarianceAmbiguity([[1]], [[2]], nominal=[[1.5]]).described
        'Gaussian distributions of a group of 1 record, variances 1 to 2, each entry of the covariance between two bounds'
        """
        return f"Gaussian distributions of a group of {self._sizes()}, each entry of the covariance between two bounds"

    def contains(self, model: GaussianModel) -> bool:
        """Whether a model of the same records lies in the set; decided exactly. Means may be any."""
        if model.names != self.names:
            return False
        return bool(((self.lower <= model.covariance) & (model.covariance <= self.upper)).all())

    def to_dict(self) -> dict[str, object]:
        """Plain JSON values from which :meth:`from_dict` makes an equal set.

        Examples
        --------
        >>> near = CovarianceAmbiguity([[1]], [[2]], nominal=[[1.5]])
        >>> CovarianceAmbiguity.from_dict(near.to_dict()) == near
        True
        """
        return {
            "type": "covariance_ambiguity",
            "version": VERSION,
            "lower": self.lower.tolist(),
            "upper": self.upper.tolist(),
            "nominal": self.nominal.to_dict(),
        }

    @classmethod
    def from_dict(cls, d: Mapping[str, object]) -> Self:
        """Read what :meth:`to_dict` wrote.

        Raises
        ------
        InvalidModel
            If a key is missing or unknown, or a value is not of its kind.
        """
        fields = document(d, "covariance_ambiguity", _FIELDS)
        nominal = fields["nominal"]
        if not isinstance(nominal, Mapping):
            raise InvalidModel("nominal is no document: expected a dict")
        try:
            lower, upper = (decode_table(fields[name], name) for name in ("lower", "upper"))
        except ValueError as cause:
            raise InvalidModel(str(cause)) from cause
        return cls(lower, upper, nominal=GaussianModel.from_dict(nominal))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, CovarianceAmbiguity):
            return NotImplemented
        return self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def _key(self) -> tuple[object, ...]:
        return self.lower.tobytes(), self.upper.tobytes(), self.nominal

    def __reduce__(self) -> tuple[object, ...]:
        # Arrays come out of a pickle writable, so the set is made anew.
        return _made, (self.lower, self.upper, self.nominal)

    def __repr__(self) -> str:
        return f"CovarianceAmbiguity({self._sizes()})"

    def _sizes(self) -> str:
        """Its size and ranges in words."""
        beside = ~np.eye(self.size, dtype=np.bool_)
        parts = [("variances", ~beside), ("covariances", beside)]
        words = [
            f", {name} {self.lower[where].min():.4g} to {self.upper[where].max():.4g}"
            for name, where in parts
            if where.any()
        ]
        return f"{self.size} record{'s' if self.size > 1 else ''}{''.join(words)}"

    def _repr_html_(self) -> str:
        return html_table(repr(self), self.names, self.names, self.nominal.covariance)


def _made(lower: Floats, upper: Floats, nominal: GaussianModel) -> CovarianceAmbiguity:
    return CovarianceAmbiguity(lower, upper, nominal=nominal)


def _bound(value: object, name: str, size: int) -> Floats:
    """A symmetric matrix of finite numbers with a positive diagonal, read-only."""
    if not isinstance(value, Iterable):
        raise InvalidModel(f"{name} is {value!r}: give a matrix of bounds")
    try:
        matrix = np.array(value, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as cause:
        raise InvalidModel(f"{name} is no matrix of real numbers: {cause}") from cause
    if matrix.shape != (size, size):
        raise InvalidModel(f"{name} has shape {matrix.shape} for {size} records: give shape {(size, size)}")
    bad = np.argwhere(~np.isfinite(matrix) | (matrix != matrix.T))
    if len(bad):
        i, j = map(int, bad[0])
        raise InvalidModel(f"{name}[{i}, {j}] is {matrix[i, j]}: give finite numbers, symmetric ones")
    low = np.flatnonzero(np.diag(matrix) <= 0)
    if low.size:
        raise InvalidModel(f"{name}[{low[0]}, {low[0]}] is {matrix[low[0], low[0]]}: variances are positive")
    return frozen_floats(matrix + 0.0)


def _check_order(low: Floats, high: Floats) -> None:
    crossed = np.argwhere(low > high)
    if len(crossed):
        i, j = map(int, crossed[0])
        raise InvalidModel(f"lower[{i}, {j}] is above upper[{i}, {j}]: the set is empty")
