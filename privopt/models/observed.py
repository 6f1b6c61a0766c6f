"""Joint distributions of what is sensitive, what is useful and what the mechanism gets to read."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from privopt.arrays import Floats
from privopt.core.exact import IntegerRow
from privopt.errors import InvalidModel
from privopt.files.labels import Label, Labels, decode_labels, encode_labels
from privopt.models.codec import VERSION, decode_numbers, document, encode_numbers
from privopt.models.columns import TableColumns
from privopt.models.html import html_table
from privopt.models.joint import JointDistribution
from privopt.models.validation import (
    Objects,
    exact_distribution,
    frozen_floats,
    label_tuple,
    number_array,
)

_FIELDS: dict[str, object] = {
    "table": ..., "sensitive": None, "useful": None, "observed": None, "normalised": False, "columns": None,
}  # fmt: skip


@dataclass(frozen=True, init=False, eq=False, repr=False)
class ObservedJoint:
    """The joint distribution of a sensitive symbol S, a useful one X and the observation W that is released from.

    Leakage is about S and utility about X, but the mechanism reads W only: full data is W = (S, X),
    output perturbation is W = X, and anything else is a noisy view. Accepted wherever a
    :class:`JointDistribution` is.

    Source: Sadeghi, "Fundamental trade-offs between privacy and utility in data sharing" (CSCIT 2021): full data,
    output perturbation, noisy observation.

    Parameters
    ----------
    table : array-like of int, float or Fraction, shape (n_s, n_x, n_w)
        Pr(S=s, X=x, W=w), non-negative, summing to 1 within 1e-9.
    sensitive, useful, observed : iterable of hashable, optional
        Distinct labels of the three axes; 0, 1, ... by default.

    Attributes
    ----------
    table : float array, shape (n_s, n_x, n_w)
        Read-only, as are the others.
    sensitive_observed, useful_observed : JointDistribution
        The distributions of (S, W) and of (X, W).
    p_s, p_x, p_w : float arrays
        Marginal distributions.
    exact : IntegerRow
        The exact distribution of the table, flattened.
    columns : TableColumns or None
        What is remembered of the table that was counted; counts neither in comparisons nor in fingerprints.

    Raises
    ------
    InvalidModel
        If an entry is negative, not finite or not a number, the sum is off 1, the shape is wrong, or
        labels are repeated or too few.

    Examples
    --------
    >>> joint = ObservedJoint.full_data(JointDistribution([[0.5, 0.25], [0.0, 0.25]]))
    >>> joint.observed, joint.p_w
    (((0, 0), (0, 1), (1, 0), (1, 1)), array([0.5 , 0.25, 0.  , 0.25]))
    """

    table: Floats
    sensitive: Labels
    useful: Labels
    observed: Labels
    sensitive_observed: JointDistribution
    useful_observed: JointDistribution
    exact: IntegerRow
    columns: TableColumns | None
    _numbers: Objects
    _normalised: bool

    def __init__(
        self,
        table: object,
        sensitive: Iterable[Label] | None = None,
        useful: Iterable[Label] | None = None,
        observed: Iterable[Label] | None = None,
    ) -> None:
        self._fill(table, (sensitive, useful, observed), False)

    @classmethod
    def normalised(
        cls,
        table: object,
        sensitive: Iterable[Label] | None = None,
        useful: Iterable[Label] | None = None,
        observed: Iterable[Label] | None = None,
    ) -> Self:
        """Divide counts, or a rounded table, by their exact sum; arguments as in the constructor."""
        return cls._build(table, (sensitive, useful, observed), True)

    @classmethod
    def full_data(cls, joint: JointDistribution) -> Self:
        """The mechanism reads both symbols: W = (S, X), labelled by pairs."""
        n_s, n_x = joint.table.shape
        weights = np.zeros((n_s, n_x, n_s * n_x), dtype=object)
        for i, weight in enumerate(joint.exact.weights):
            weights[i // n_x, i % n_x, i] = weight
        pairs = [(s, x) for s in joint.sensitive for x in joint.useful]
        columns = None if joint.columns is None else replace(joint.columns, reads="both")
        return cls._build(weights, (joint.sensitive, joint.useful, pairs), True, columns)

    @classmethod
    def output_perturbation(cls, joint: JointDistribution) -> Self:
        """The mechanism reads the useful symbol only: W = X."""
        n_s, n_x = joint.table.shape
        weights = np.zeros((n_s, n_x, n_x), dtype=object)
        for i, weight in enumerate(joint.exact.weights):
            weights[i // n_x, i % n_x, i % n_x] = weight
        return cls._build(weights, (joint.sensitive, joint.useful, joint.useful), True, joint.columns)

    @classmethod
    def _build(
        cls,
        table: object,
        labels: tuple[Iterable[Label] | None, ...],
        normalised: bool,
        columns: TableColumns | None = None,
    ) -> Self:
        joint = cls.__new__(cls)
        joint._fill(table, labels, normalised, columns)
        return joint

    def _fill(
        self,
        table: object,
        labels: tuple[Iterable[Label] | None, ...],
        normalised: bool,
        columns: TableColumns | None = None,
    ) -> None:
        numbers = number_array(table, "table")
        if numbers.ndim != 3:
            raise InvalidModel(f"table has {numbers.ndim} dimensions: give shape (n_s, n_x, n_w)")
        remedy = None if normalised else "ObservedJoint.normalised"
        exact = exact_distribution(numbers.ravel().tolist(), "table", remedy)
        weights = np.array(exact.weights, dtype=object).reshape(numbers.shape)
        names = ("sensitive", "useful", "observed")
        label_tuples = [
            label_tuple(v, n, what) for v, n, what in zip(labels, numbers.shape, names, strict=True)
        ]
        s, x, w = label_tuples
        values: dict[str, object] = {
            "table": frozen_floats(np.array(exact.floats()).reshape(numbers.shape)),
            **dict(zip(names, label_tuples, strict=True)),
            "sensitive_observed": JointDistribution.normalised(weights.sum(axis=1), s, w),
            "useful_observed": JointDistribution.normalised(weights.sum(axis=0), x, w),
            "exact": exact,
            "columns": columns,
            "_numbers": numbers,
            "_normalised": normalised,
        }
        for name, value in values.items():
            object.__setattr__(self, name, value)

    @property
    def p_s(self) -> Floats:
        """Distribution of S."""
        return self.sensitive_observed.p_s

    @property
    def p_x(self) -> Floats:
        """Distribution of X."""
        return self.useful_observed.p_s

    @property
    def p_w(self) -> Floats:
        """Distribution of W."""
        return self.sensitive_observed.p_x

    def to_dict(self) -> dict[str, object]:
        """Plain JSON values from which :meth:`from_dict` makes an equal joint."""
        written: dict[str, object] = {
            "type": "observed_joint",
            "version": VERSION,
            "table": encode_numbers(self._numbers.tolist()),
            "sensitive": encode_labels(self.sensitive),
            "useful": encode_labels(self.useful),
            "observed": encode_labels(self.observed),
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
        >>> joint = ObservedJoint([[[0.5, 0.5]]])
        >>> ObservedJoint.from_dict(joint.to_dict()) == joint
        True
        """
        fields = document(d, "observed_joint", _FIELDS)
        names = ("sensitive", "useful", "observed")
        labels = tuple(None if fields[n] is None else decode_labels(fields[n], n) for n in names)
        table = decode_numbers(fields["table"], "table", 3)
        columns = None if fields["columns"] is None else TableColumns.from_dict(fields["columns"])
        return cls._build(table, labels, fields["normalised"] is True, columns)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ObservedJoint):
            return NotImplemented
        return self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def _key(self) -> tuple[object, ...]:
        return self.exact, self.table.shape, self.sensitive, self.useful, self.observed

    def __reduce__(self) -> tuple[object, ...]:
        # Arrays come out of a pickle writable, so the joint is made anew.
        labels = (self.sensitive, self.useful, self.observed)
        return type(self)._build, (self._numbers, labels, self._normalised, self.columns)

    def __repr__(self) -> str:
        sizes = f"{len(self.sensitive)} sensitive x {len(self.useful)} useful x {len(self.observed)} observed"
        return f"ObservedJoint({sizes} symbols)"

    def _repr_html_(self) -> str:
        return html_table(repr(self), self.sensitive, self.observed, self.sensitive_observed.table)
