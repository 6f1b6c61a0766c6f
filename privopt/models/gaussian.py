"""Gaussian records: how real-valued records that depend on each other vary together."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np

from privopt.arrays import Floats
from privopt.errors import InvalidModel
from privopt.files.labels import Label, Labels, decode_labels, encode_labels
from privopt.models import gaussian_parts as parts
from privopt.models._gaussian_fit import fit_gaussian
from privopt.models.codec import VERSION, document
from privopt.models.html import html_table
from privopt.models.validation import label_tuple

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
        return cls(fields["covariance"], fields["mean"], names)

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
