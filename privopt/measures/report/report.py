"""The table of leakages that a custodian reads, and how it is filled."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from privopt.errors import InvalidMechanism, InvalidProblem
from privopt.files.labels import Label, Labels
from privopt.files.text import html_table, number, plain_table
from privopt.measures.alpha import alpha_leakage, alpha_lift, min_entropy_leakage
from privopt.measures.capacity import radius
from privopt.measures.differential import delta_at
from privopt.measures.inputs import (
    ChannelInput,
    Joint,
    JointLike,
    read_channel,
    read_joint,
    read_order,
    settled,
)
from privopt.measures.renyi import divergences, log_ratio
from privopt.measures.report.implications import ImpliedBound, Key, implied_bounds
from privopt.measures.sibson import maximal_leakage, sibson_mutual_information

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
    """Leakages of a mechanism under a joint distribution, one row a measure.

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


_TOLERANCE, _STEPS = 1e-9, 20_000


@dataclass(frozen=True)
class Reading:
    """A measure of a distribution of (s, y), in nats."""

    key: Key
    value: float
    attained: str
    meaning: str
    information: bool = True

    @property
    def name(self) -> str:
        """The key as one writes it."""
        return self.key if isinstance(self.key, str) else f"{self.key[0]}({self.key[1]:g})"


def readings(distribution: Joint, order: float, epsilon: float) -> list[Reading]:
    """All measures of a report, by kind."""
    return [
        *_lifts(distribution),
        *_levels(distribution, epsilon),
        *_informations(distribution),
        *_orders(distribution, order),
    ]


def _lifts(distribution: Joint) -> Iterator[Reading]:
    log = log_ratio(distribution.channel, distribution.marginal)
    high, low = np.unravel_index(log.argmax(), log.shape), np.unravel_index(log.argmin(), log.shape)
    upper, lower = settled(log.max(), "the largest log-lift"), settled(-log.min(), "the smallest log-lift")
    up = f"one release can make one secret up to {_factor(upper)} times as likely as before"
    down = (
        "one release can rule a secret out"
        if math.isinf(lower)
        else (f"one release can make one secret as little as 1/{_factor(lower)} as likely as before")
    )
    yield Reading("upper", upper, _place(distribution, high), up)
    yield Reading("lower", lower, _place(distribution, low), down)
    place = _place(distribution, high if upper >= lower else low)
    yield Reading("symmetric", max(upper, lower), place, "the larger of the two changes of belief")


def _levels(distribution: Joint, epsilon: float) -> Iterator[Reading]:
    channel = distribution.channel
    spread = log_ratio(channel.min(axis=0), channel.max(axis=0))
    y = int(spread.argmin())
    value = settled(-float(spread[y]), "the local differential privacy level")
    first, second = int(channel[:, y].argmax()), int(channel[:, y].argmin())
    place = f"secrets {_secret(distribution, first)} and {_secret(distribution, second)}, output {_output(distribution, y)}"
    meaning = (
        "an output separates two secrets for certain"
        if math.isinf(value)
        else (f"no output is more than {_factor(value)} times as likely under one secret as under another")
    )
    yield Reading("local_differential_privacy", value, place, meaning, information=False)
    delta = delta_at(channel, epsilon)
    meaning = f"except with probability {delta:.3g}, outputs differ by a factor {_factor(epsilon)} at most"
    yield Reading(("delta_at", float(epsilon)), delta, "", meaning, information=False)


def _informations(distribution: Joint) -> Iterator[Reading]:
    told = divergences(distribution.posterior, distribution.prior, 1.0)
    y = int(told.argmax())
    value = settled(float(distribution.marginal @ told), "the mutual information")
    meaning = f"mean information about the secret; output {_output(distribution, y)} reveals most, {told[y]:.3g} nats"
    yield Reading("mutual_information", value, "", meaning)
    guess = min_entropy_leakage(distribution.table, normalise=True)
    meaning = f"one guess at the secret is right {_factor(guess)} times as often as before"
    yield Reading("min_entropy_leakage", guess, "", meaning)
    worst = maximal_leakage(distribution.channel, normalise=True)
    meaning = (
        f"whatever hangs on the secret, one guess at it is right at most {_factor(worst)} times as often"
    )
    yield Reading("maximal_leakage", worst, "", meaning)
    high = radius(distribution.channel, 1.0, _TOLERANCE, _STEPS)[1]
    meaning = "the largest mean information that any prior on the secrets could give"
    yield Reading("capacity", high, "", meaning)


def _orders(distribution: Joint, a: float) -> Iterator[Reading]:
    table = distribution.table
    reward = f"under a loss of order {a:g} between log-loss (1) and guessing (inf)"
    value = alpha_leakage(table, a, normalise=True)
    yield Reading(("alpha_leakage", a), value, "", f"what an adversary gains {reward}")
    value = sibson_mutual_information(table, a, normalise=True)
    yield Reading(("sibson_mutual_information", a), value, "", "a mean of the alpha-lifts of all outputs")
    high = radius(distribution.channel, a, _TOLERANCE, _STEPS)[1]
    yield Reading(
        ("maximal_alpha_leakage", a), high, "", f"the most it gains {reward}, about anything behind S"
    )
    y = int(divergences(distribution.posterior, distribution.prior, a).argmax())
    value = alpha_lift(table, a, normalise=True)
    yield Reading(
        ("alpha_lift", a), value, f"output {_output(distribution, y)}", "the largest mean lift of one output"
    )


def _place(distribution: Joint, cell: tuple[np.intp, ...]) -> str:
    return f"secret {_secret(distribution, int(cell[0]))}, output {_output(distribution, int(cell[1]))}"


def _secret(distribution: Joint, row: int) -> str:
    return repr(distribution.sensitive[int(distribution.rows[row])])


def _output(distribution: Joint, column: int) -> str:
    return repr(distribution.released[int(distribution.columns[column])])


def _factor(nats: float) -> str:
    return f"{math.exp(nats):.3g}" if nats < 20 else f"e^{nats:.3g}"


def leakage_report(
    mechanism: ChannelInput,
    joint: JointLike,
    *,
    alpha: float = 2.0,
    epsilon: float = 1.0,
    normalise: bool = False,
) -> LeakageReport:
    """Every leakage of S into the release Y of a mechanism that reads X.

    The distribution of (s, y) is ``joint.table @ matrix``. Each row also shows the best bound that the other rows imply,
    with ``delta_at`` as a probability.

    Parameters
    ----------
    mechanism : Channel, Merging or array-like, shape (n_x, n_y)
        Rows Pr(y|x) for the columns x of the joint: matched by label, or by place if one of the two has no labels
        of its own.
    joint : JointDistribution, ObservedJoint or array-like, shape (n_s, n_x)
        Pr(s, x); of an ObservedJoint the mechanism reads w, and the distribution is that of (s, w).
    alpha : float
        Order > 1 and finite, of the measures that have one.
    epsilon : float
        Level in nats at which ``delta_at`` is read.
    normalise : bool
        Divide counts, or a rounded table, by their sum.

    Returns
    -------
    LeakageReport

    Raises
    ------
    InvalidMechanism
        If the mechanism does not fit the columns of the joint.
    InvalidModel
        If the table is no joint distribution.
    InvalidProblem
        If alpha is not between 1 and inf, or epsilon is negative.

    Examples
    --------
    >>> report = leakage_report([[0.75, 0.25], [0.25, 0.75]], [[0.4, 0.1], [0.2, 0.3]])
    >>> row = report["local_differential_privacy"]
    >>> round(row.value, 6), row.attained
    (0.451985, 'secrets 1 and 0, output 1')
    """
    order = read_order(alpha)
    if order == 1 or math.isinf(order):
        raise InvalidProblem(
            f"alpha must be above 1 and finite, got {alpha}: orders 1 and inf have rows of their own"
        )
    released = _released(mechanism, joint, normalise)
    measured = readings(released, order, epsilon)
    smallest = float(released.prior.min())
    dropped = tuple(s for i, s in enumerate(released.sensitive) if i not in set(released.rows.tolist()))
    return LeakageReport(tuple(_row(reading, measured, smallest) for reading in measured), dropped, smallest)


def _released(mechanism: ChannelInput, joint: JointLike, normalise: bool) -> Joint:
    """The distribution of the secret and the release."""
    distribution = read_joint(joint, normalise)
    matrix, inputs, outputs = read_channel(mechanism, normalise)
    if len(matrix) != distribution.shape[1]:
        raise InvalidMechanism(
            f"the mechanism has {len(matrix)} inputs and the joint {distribution.shape[1]} columns: give a row a column"
        )
    table = distribution.table @ matrix[_order(inputs, distribution.released)][distribution.columns]
    used = np.flatnonzero(table.any(axis=0))
    shape = (distribution.shape[0], matrix.shape[1])
    return Joint(table[:, used], distribution.rows, used, shape, distribution.sensitive, outputs)


def _order(inputs: Labels, columns: Labels) -> list[int]:
    """The row of each column of the joint: by label, or by place if one of the two has no labels of its own."""
    if set(inputs) == set(columns):
        return [inputs.index(label) for label in columns]
    numbers = tuple(range(len(inputs)))
    if numbers in (inputs, columns):
        return list(numbers)
    odd = sorted(set(inputs) ^ set(columns), key=repr)
    raise InvalidMechanism(
        f"the labels of the mechanism and of the joint differ at {odd[:5]!r}: rename one of them"
    )


def _row(reading: Reading, measured: list[Reading], smallest: float) -> LeakageRow:
    known = {other.key: math.inf if other is reading else other.value for other in measured}
    implied = implied_bounds(known, smallest_prior=min(smallest, 0.5) if smallest < 1 else 1.0)
    return LeakageRow(
        reading.name,
        reading.value,
        reading.value / math.log(2) if reading.information else None,
        reading.attained,
        reading.meaning,
        implied.get(reading.key),
    )
