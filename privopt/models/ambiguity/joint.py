"""Sets of joint distributions: a set for each row P(x | s), and one for P(s)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Self, TypeAlias

import numpy as np

from privopt.core.exact import Number
from privopt.errors import InvalidModel
from privopt.files.labels import Label, Labels
from privopt.models.ambiguity.chains import ChainAmbiguity
from privopt.models.ambiguity.covariances import CovarianceAmbiguity
from privopt.models.ambiguity.intervals import (
    METHODS,
    check_confidence,
    clopper_pearson,
    read_confidence,
    weissman_radius,
)
from privopt.models.ambiguity.row_set import RowSet
from privopt.models.codec import VERSION, document
from privopt.models.columns import TableColumns
from privopt.models.hierarchies import Hierarchies
from privopt.models.html import html_table
from privopt.models.intervals import Bins
from privopt.models.joint import JointDistribution
from privopt.models.joint_frame import Orders
from privopt.models.validation import TOLERANCE, Row, Table, number_array

_FIELDS: dict[str, object] = {"rows": ..., "prior": ..., "nominal": ..., "confidence": None}


@dataclass(frozen=True, init=False, repr=False)
class JointAmbiguity:
    """A set of joint distributions of a sensitive symbol S and a useful symbol X.

    It holds every joint whose distribution of S lies in ``prior`` and whose rows P(x | s) lie each in its own set. A
    certificate over it holds for whichever of them the data follow.

    Source: the sets are those of Lopuhaa-Zwakenberg and Goseling, "Mechanisms for Robust Local Differential Privacy"
    (Entropy 2024), and of imprecise probability; rows and prior vary independently.

    Parameters
    ----------
    rows : sequence of RowSet, length n_s
        A set of P(x | s) for each s, of n_x values each.
    prior : RowSet or sequence of int, float or Fraction, length n_s
        The set of P(s); a vector is one point.
    nominal : JointDistribution or array-like of shape (n_s, n_x), optional
        The joint by which utilities are read; must lie in the set. By default the centers of the sets, where all have one.
    sensitive, useful : iterable of hashable, optional
        Labels, where the nominal joint has none.

    Attributes
    ----------
    rows : tuple of RowSet
    prior : RowSet
    nominal : JointDistribution
    confidence : float or None
        How often a set made from counts holds the distribution of the population.

    Raises
    ------
    InvalidModel
        If sizes differ, a nominal joint is needed and missing, or does not lie in the set.

    Examples
    --------
    >>> joint = JointDistribution([[0.25, 0.25], [0.125, 0.375]])
    >>> near = JointAmbiguity.total_variation(joint, 0.125)
    >>> near.nominal == joint, near.contains(JointDistribution([[0.25, 0.25], [0.5, 0.0]]))
    (True, False)
    """

    rows: tuple[RowSet, ...]
    prior: RowSet
    nominal: JointDistribution
    confidence: float | None

    def __init__(
        self,
        rows: Sequence[RowSet],
        prior: RowSet | Row,
        *,
        nominal: JointDistribution | Table | None = None,
        sensitive: Iterable[Label] | None = None,
        useful: Iterable[Label] | None = None,
    ) -> None:
        self._fill(rows, prior, nominal, (sensitive, useful), None)

    def _fill(
        self,
        rows: Sequence[RowSet],
        prior: RowSet | Row,
        nominal: JointDistribution | Table | None,
        labels: tuple[Iterable[Label] | None, Iterable[Label] | None],
        confidence: float | None,
    ) -> None:
        of_s = prior if isinstance(prior, RowSet) else RowSet.total_variation(_vector(prior), 0)
        _check_sizes(rows, of_s)
        joint = _nominal(rows, of_s, nominal, labels)
        if not isinstance(prior, RowSet):
            joint = _with_prior(joint, of_s.center)
        values: dict[str, object] = {
            "rows": tuple(rows), "prior": of_s, "nominal": joint, "confidence": confidence,
        }  # fmt: skip
        for name, value in values.items():
            object.__setattr__(self, name, value)
        if (outside := self._outside(joint)) is not None:
            raise InvalidModel(f"the nominal joint does not lie in the set, by {outside}: give one that does")

    @classmethod
    def _build(
        cls, rows: Sequence[RowSet], prior: RowSet, nominal: JointDistribution, confidence: float | None
    ) -> Self:
        made = cls.__new__(cls)
        made._fill(rows, prior, nominal, (None, None), confidence)
        return made

    @classmethod
    def total_variation(cls, joint: JointDistribution, radius: Number, prior_radius: Number = 0) -> Self:
        """Each row P(x | s) within a total variation of that of a joint, and P(s) within another.

        Parameters
        ----------
        joint : JointDistribution
            The nominal one; where P(s) = 0 any row is in the set.
        radius, prior_radius : int, float or Fraction

        Examples
        --------
        >>> JointAmbiguity.total_variation(JointDistribution([[0.5, 0.5]]), 0.25)
        JointAmbiguity(1 sensitive x 2 useful symbols, rows within total variation 0.25, a known prior)
        """
        prior, rows = _exact_rows(joint)
        sets = [
            RowSet.all(len(joint.useful)) if row is None else RowSet.total_variation(row, radius)
            for row in rows
        ]
        return cls._build(sets, RowSet.total_variation(prior, prior_radius), joint, None)

    @classmethod
    def joint_total_variation(cls, joint: JointDistribution, radius: Number) -> Self:
        """A set that holds every joint within a total variation r of a joint: rows within r / P(s), the prior within r.

        Moving mass a into row s and b out of it leaves an overlap of the normalised rows of at least 1 - max(a, b) / P(s),
        and a, b <= r.

        Examples
        --------
        >>> near = JointAmbiguity.joint_total_variation(JointDistribution([[0.25, 0.25], [0.25, 0.25]]), 0.125)
        >>> near.rows[0].radius, near.prior.radius
        (Fraction(1, 4), Fraction(1, 8))
        """
        prior, rows = _exact_rows(joint)
        (moved,) = number_array([radius], "radius").tolist()
        sets = [
            RowSet.all(len(joint.useful)) if row is None else RowSet.total_variation(row, Fraction(moved) / p)
            for p, row in zip(prior, rows, strict=True)
        ]
        return cls._build(sets, RowSet.total_variation(prior, moved), joint, None)

    @classmethod
    def interval(
        cls, lower: Table, upper: Table, prior: RowSet | Row, *, nominal: JointDistribution | Table
    ) -> Self:
        """Each P(x | s) between two tables, entry by entry.

        Parameters
        ----------
        lower, upper : array-like of int, float or Fraction, shape (n_s, n_x)
            Bounds of P(x | s).
        prior : RowSet or sequence, length n_s
        nominal : JointDistribution or array-like

        Examples
        --------
        >>> JointAmbiguity.interval([[0.25, 0.5]], [[0.5, 0.75]], [1], nominal=[[0.5, 0.5]]).rows[0].lower
        (Fraction(1, 4), Fraction(1, 2))
        """
        sets = [RowSet.interval(low, high) for low, high in zip(lower, upper, strict=True)]
        return cls(sets, prior, nominal=nominal)

    @classmethod
    def from_counts(
        cls,
        table: Table,
        confidence: float = 0.95,
        method: str = "clopper-pearson",
        sensitive: Iterable[Label] | None = None,
        useful: Iterable[Label] | None = None,
    ) -> Self:
        """A set that holds the distribution of the population with a confidence, whatever it is.

        What may be missed is shared out equally over the rows and the prior, and within each over its probabilities. The
        rows of the table are taken for independent draws from the population.

        Parameters
        ----------
        table : array-like of int, shape (n_s, n_x)
            How often each pair was counted.
        confidence : float
            Between 0 and 1.
        method : {"clopper-pearson", "weissman"}
            Bounds of each probability, or a ball of total variation.
        sensitive, useful : iterable of hashable, optional

        Raises
        ------
        InvalidModel
            If an entry is no count, the confidence not between 0 and 1, or the method unknown.

        Examples
        --------
        >>> JointAmbiguity.from_counts([[30, 10], [20, 40]]).contains(JointDistribution([[0.3, 0.1], [0.2, 0.4]]))
        True
        """
        counts = _counts(table)
        joint = JointDistribution.normalised(counts, sensitive, useful)
        if method not in METHODS:
            raise InvalidModel(f"method is {method!r}: choose {' or '.join(map(repr, METHODS))}")
        share = check_confidence(confidence) / (len(counts) + 1)
        sets = [_counted(row, share, method) for row in counts]
        return cls._build(sets, _counted([sum(row) for row in counts], share, method), joint, confidence)

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
        confidence: float = 0.95,
        method: str = "clopper-pearson",
    ) -> Self:
        """Count the rows of a data frame, as :meth:`JointDistribution.from_frame` does, and set bounds around the counts.

        The symbols must be fixed beforehand for the confidence to hold: bins and rare combinations that were chosen by
        looking at these rows make it a little too high.

        Examples
        --------
        >>> import pandas as pd
        >>> frame = pd.DataFrame({"ill": ["no", "no", "yes"], "sex": ["f", "f", "m"]})
        >>> JointAmbiguity.from_frame(frame, "ill", "sex").nominal.useful
        ('f', 'm')
        """
        joint = JointDistribution.from_frame(
            frame, sensitive, useful, bins, order=order, missing=missing, minimum_count=minimum_count,
            hierarchies=hierarchies,
        )  # fmt: skip
        return cls.from_joint(joint, confidence, method)

    @classmethod
    def from_joint(
        cls, joint: JointDistribution, confidence: float = 0.95, method: str = "clopper-pearson"
    ) -> Self:
        """The set of :meth:`from_counts` around a joint that was counted, whose labels and columns it keeps.

        Raises
        ------
        InvalidModel
            If the joint does not say how many rows were counted.

        Examples
        --------
        >>> JointAmbiguity.from_joint(JointDistribution.normalised([[30, 10], [20, 40]])).nominal.p_s
        array([0.4, 0.6])
        """
        rows = joint.rows_counted
        if rows is None:
            raise InvalidModel(
                "the joint does not say how many rows were counted: give counts, or make it with from_frame"
            )
        made = cls.from_counts(np.rint(joint.table * rows).astype(int), confidence, method)
        return cls._build(made.rows, made.prior, joint, confidence)

    @property
    def described(self) -> str:
        """What the set is, as a certificate says it.

        Examples
        --------
        >>> JointAmbiguity.from_counts([[30, 10], [20, 40]]).described
        'from counts of 100 rows at 95 % confidence, Clopper-Pearson (each row P(x | s) and P(s) between bounds)'
        >>> JointAmbiguity.total_variation(JointDistribution([[0.25, 0.25], [0.25, 0.25]]), 0.125).described
        'each row P(x | s): total variation at most 0.125 from a center; P(s): one distribution exactly'
        """
        if self.confidence is not None:
            ball = any(row.kind == "total_variation" for row in (*self.rows, self.prior))
            method, shape = (
                ("Weissman", "within balls of total variation")
                if ball
                else ("Clopper-Pearson", "between bounds")
            )
            counted = self.nominal.rows_counted
            of = "counts" if counted is None else f"counts of {counted} rows"
            return f"from {of} at {100 * self.confidence:g} % confidence, {method} (each row P(x | s) and P(s) {shape})"
        rows = list(dict.fromkeys(row.described for row in self.rows))
        shown = "; or ".join(rows[:3]) + ("; or others" if len(rows) > 3 else "")
        return f"each row P(x | s): {shown}; P(s): {self.prior.described}"

    @property
    def is_point(self) -> bool:
        """Whether it holds one joint only."""
        return self.prior.is_point and all(row.is_point for row in self.rows)

    @property
    def is_rational(self) -> bool:
        """Whether extremes over it are rational: not so for chi-squared balls."""
        return all(row.kind != "chi2" for row in (*self.rows, self.prior))

    @property
    def columns(self) -> TableColumns | None:
        """What is remembered of the table that was counted."""
        return self.nominal.columns

    @property
    def sensitive(self) -> Labels:
        """Labels of S."""
        return self.nominal.sensitive

    @property
    def useful(self) -> Labels:
        """Labels of X."""
        return self.nominal.useful

    def contains(self, joint: JointDistribution) -> bool:
        """Whether a joint of the same symbols lies in the set; decided exactly. Rows of P(s) = 0 may be anything."""
        return self._outside(joint) is None

    def _outside(self, joint: JointDistribution) -> str | None:
        """Which of its distributions lies outside."""
        prior, rows = _exact_rows(joint)
        if len(rows) != len(self.rows) or len(joint.useful) != self.rows[0].size:
            return "its numbers of symbols"
        if not self.prior.contains(prior):
            return "its distribution of S"
        for s, (row, allowed) in enumerate(zip(rows, self.rows, strict=True)):
            if row is not None and not allowed.contains(row):
                return f"its row {s} of P(x | s)"
        return None

    def to_dict(self) -> dict[str, object]:
        """Plain JSON values from which :meth:`from_dict` makes an equal set.

        Examples
        --------
        >>> near = JointAmbiguity.from_counts([[3, 1], [1, 3]], 0.9)
        >>> JointAmbiguity.from_dict(near.to_dict()) == near
        True
        """
        written: dict[str, object] = {
            "type": "joint_ambiguity",
            "version": VERSION,
            "rows": [row.to_dict() for row in self.rows],
            "prior": self.prior.to_dict(),
            "nominal": self.nominal.to_dict(),
        }
        return written if self.confidence is None else {**written, "confidence": self.confidence}

    @classmethod
    def from_dict(cls, d: Mapping[str, object]) -> Self:
        """Read what :meth:`to_dict` wrote.

        Raises
        ------
        InvalidModel
            If a key is missing or unknown, or a value is not of its kind.
        """
        fields = document(d, "joint_ambiguity", _FIELDS)
        rows, confidence = fields["rows"], read_confidence(fields["confidence"])
        if not isinstance(rows, list):
            raise InvalidModel("rows is no list: give a set of P(x | s) for each s")
        nominal = JointDistribution.from_dict(_mapping(fields["nominal"], "nominal"))
        prior = RowSet.from_dict(_mapping(fields["prior"], "prior"))
        return cls._build(
            [RowSet.from_dict(_mapping(row, "a row")) for row in rows], prior, nominal, confidence
        )

    def __repr__(self) -> str:
        size = f"{len(self.sensitive)} sensitive x {len(self.useful)} useful symbols"
        prior = "a known prior" if self.prior.is_point else f"prior {_words([self.prior])}"
        sure = "" if self.confidence is None else f", confidence {self.confidence:g}"
        return f"JointAmbiguity({size}, rows {_words(self.rows)}, {prior}{sure})"

    def _repr_html_(self) -> str:
        return html_table(repr(self), self.sensitive, self.useful, self.nominal.table)


def _words(sets: Sequence[RowSet]) -> str:
    """What kind of sets these are."""
    kinds, radii = {row.kind for row in sets}, {float(row.radius) for row in sets}
    if len(kinds) > 1:
        return "in sets of several kinds"
    kind = kinds.pop()
    size = f"{radii.pop():g}" if len(radii) == 1 else f"{min(radii):g} to {max(radii):g}"
    names = {
        "interval": "within intervals",
        "all": "of any distribution",
        "chi2": f"within chi-squared {size}",
    }
    return names.get(kind, f"within total variation {size}")


def _mapping(value: object, what: str) -> Mapping[str, object]:
    if not isinstance(value, Mapping):
        raise InvalidModel(f"{what} is no document: expected a dict")
    return value


def _vector(values: Row) -> list[Number]:
    array = number_array(values, "prior")
    if array.ndim != 1:
        raise InvalidModel(f"prior has {array.ndim} dimensions: give one probability for each s")
    return list(array.tolist())


def _check_sizes(rows: Sequence[RowSet], prior: RowSet) -> None:
    if not rows or any(not isinstance(row, RowSet) for row in rows):
        raise InvalidModel("rows is no list of RowSet: give a set of P(x | s) for each s")
    if len({row.size for row in rows}) > 1:
        raise InvalidModel("the rows are sets over different numbers of useful symbols: give all the same")
    if prior.size != len(rows):
        raise InvalidModel(
            f"the prior is over {prior.size} values of S and there are {len(rows)} rows: give one row each"
        )


def _nominal(
    rows: Sequence[RowSet],
    prior: RowSet,
    nominal: JointDistribution | Table | None,
    labels: tuple[Iterable[Label] | None, Iterable[Label] | None],
) -> JointDistribution:
    """The nominal joint that was given, or that of the centers."""
    if isinstance(nominal, JointDistribution) and labels == (None, None):
        return nominal
    if isinstance(nominal, JointDistribution):
        shape = nominal.table.shape
        return JointDistribution.normalised(
            np.array(nominal.exact.weights, dtype=object).reshape(shape), *labels
        )
    if nominal is not None:
        return JointDistribution(nominal, *labels)
    if not all(s.center for s in (*rows, prior)):
        raise InvalidModel("a set without a center needs a nominal joint: give nominal=")
    table = [[p * q for q in row.center] for p, row in zip(prior.center, rows, strict=True)]
    return JointDistribution(table, *labels)


def _with_prior(joint: JointDistribution, prior: Sequence[Fraction]) -> JointDistribution:
    """The joint with this very P(s), where its own differs by the rounding of floats only."""
    own, rows = _exact_rows(joint)
    apart = max(abs(a - b) for a, b in zip(own, prior, strict=True))
    if not 0 < apart <= TOLERANCE:
        return joint
    width = len(joint.useful)
    table = [[p * q for q in row or [Fraction(0)] * width] for p, row in zip(prior, rows, strict=True)]
    return JointDistribution.normalised(table, joint.sensitive, joint.useful)


def _exact_rows(joint: JointDistribution) -> tuple[list[Fraction], list[list[Fraction] | None]]:
    """P(s), and P(x | s) where P(s) > 0."""
    width, weights = len(joint.useful), joint.exact.weights
    rows = [weights[i : i + width] for i in range(0, len(weights), width)]
    totals = [sum(row) for row in rows]
    given = [[Fraction(w, t) for w in row] if t else None for row, t in zip(rows, totals, strict=True)]
    return [Fraction(t, joint.exact.total) for t in totals], given


def _counts(table: Table) -> list[list[int]]:
    array = number_array(table, "table")
    if array.ndim != 2:
        raise InvalidModel(f"table has {array.ndim} dimensions: give counts of shape (n_s, n_x)")
    if any(v != int(v) for v in array.ravel()):
        raise InvalidModel("table holds numbers that are no counts: give how often each pair was seen")
    return [[int(v) for v in row] for row in array.tolist()]


def _counted(row: Sequence[int], miss: Fraction, method: str) -> RowSet:
    """The set of one distribution that was counted; every distribution where nothing was."""
    total = sum(row)
    if total == 0:
        return RowSet.all(len(row))
    if method == "weissman":
        center = [Fraction(k, total) for k in row]
        return RowSet.total_variation(center, weissman_radius(total, len(row), miss))
    if len(row) == 1:
        return RowSet.interval([1], [1])
    ends = [clopper_pearson(k, total, miss / len(row)) for k in row]
    return RowSet.interval([low for low, _ in ends], [high for _, high in ends])


Ambiguity: TypeAlias = JointAmbiguity | RowSet | ChainAmbiguity | CovarianceAmbiguity
"""A set of joints, of the distributions of one symbol, of chains or of covariances."""
