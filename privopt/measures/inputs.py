"""Joint distributions, channels and numbers that a measure reads, checked and without impossible symbols."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from privopt.arrays import Floats
from privopt.errors import InvalidMechanism, InvalidModel, InvalidProblem, PrivoptError
from privopt.files.labels import Label, Labels
from privopt.mechanisms.channel import Channel
from privopt.mechanisms.merging import Merging
from privopt.models import JointDistribution, ObservedJoint

Numbers: TypeAlias = Sequence[Any] | NDArray[Any]
Unit: TypeAlias = Literal["nats", "bits"]

_TOLERANCE = 1e-9
_ROUNDING = 1e-12


def read_distribution(values: Numbers, what: str = "p", normalise: bool = False) -> Floats:
    """Probabilities that sum to 1, of any shape, as a flat array."""
    return divided(floats(values, what, InvalidModel).ravel(), what, normalise)


def read_order(alpha: float, least: float = 1.0) -> float:
    """An order in [least, inf]."""
    if (
        isinstance(alpha, bool)
        or not isinstance(alpha, (int, float, np.integer, np.floating))
        or not alpha >= least
    ):
        raise InvalidProblem(f"alpha must be a number of at least {least:g}, perhaps inf, got {alpha!r}")
    return float(alpha)


def in_unit(nats: float, unit: Unit) -> float:
    """A value in nats, converted."""
    if unit not in ("nats", "bits"):
        raise InvalidProblem(f'unit must be "nats" or "bits", got {unit!r}')
    return nats / math.log(2) if unit == "bits" else nats


def settled(nats: float, what: str) -> float:
    """A leakage, with what rounding put below 0 set to 0.

    Raises
    ------
    FloatingPointError
        If it is below 0 by more than rounding can explain, or not a number.
    """
    value = float(nats)
    if not value >= -_ROUNDING:
        raise FloatingPointError(
            f"{what} came out as {value!r} nats, which no distribution has: please report the table"
        )
    return max(value, 0.0)


def floats(values: object, what: str, error: type[PrivoptError]) -> Floats:
    """Finite non-negative numbers in float64; Fractions and large integers are rounded once."""
    if isinstance(values, np.ma.MaskedArray):
        raise error(f"{what} is a masked array: fill or drop the masked entries first")
    try:
        array = np.array(values)
    except ValueError as cause:
        raise error(f"{what} is not a rectangular table of numbers: {cause}") from cause
    if array.dtype.kind not in "iufO" or array.size == 0:
        raise error(f"{what} must hold numbers, at least one, got {array.size} of type {array.dtype}")
    try:
        numbers = array.astype(np.float64)
    except (TypeError, ValueError, OverflowError) as cause:
        raise error(f"{what} must hold numbers: {cause}") from cause
    bad = np.argwhere(~((numbers >= 0) & np.isfinite(numbers)))
    if len(bad):
        place = ", ".join(map(str, bad[0]))
        raise error(f"{what} has {array[tuple(bad[0])]!r} at [{place}]: give finite numbers of at least 0")
    return numbers


def divided(values: Floats, what: str, normalise: bool, error: type[PrivoptError] = InvalidModel) -> Floats:
    """Values divided by their sum, which must be near 1 unless counts are welcome."""
    total = math.fsum(values.ravel().tolist())
    if total == 0:
        raise error(f"{what} sums to 0, so it has no distribution: give at least one positive entry")
    if not normalise and abs(total - 1) > _TOLERANCE:
        raise error(f"{what} sums to {total!r}, not to 1 within 1e-9: correct it, or pass normalise=True")
    return values if total == 1.0 else values / total


ChannelLike: TypeAlias = Channel | Merging
JointLike: TypeAlias = JointDistribution | ObservedJoint | Numbers
ChannelInput: TypeAlias = ChannelLike | JointDistribution | ObservedJoint | Numbers


@dataclass(frozen=True)
class Joint:
    """A distribution of (s, y) without symbols of probability zero.

    ``rows`` and ``columns`` are the positions kept, ``shape`` the shape as given; ``prior`` is Pr(s), ``marginal`` Pr(y),
    ``channel`` Pr(y | s).
    """

    table: Floats
    rows: NDArray[np.intp]
    columns: NDArray[np.intp]
    shape: tuple[int, int]
    sensitive: Labels
    released: Labels

    @property
    def prior(self) -> Floats:
        """Pr(s)."""
        sums: Floats = self.table.sum(axis=1)
        return sums

    @property
    def marginal(self) -> Floats:
        """Pr(y)."""
        sums: Floats = self.table.sum(axis=0)
        return sums

    @property
    def channel(self) -> Floats:
        """Pr(y | s), rows s."""
        return self.table / self.prior[:, None]

    @property
    def posterior(self) -> Floats:
        """Pr(s | y), rows y."""
        return np.ascontiguousarray((self.table / self.marginal).T)


def read_joint(joint: JointLike, normalise: bool = False) -> Joint:
    """A joint distribution, from a :class:`privopt.JointDistribution` or an array [s, y]; of an observed one that of (s, w)."""
    if isinstance(joint, ObservedJoint):
        joint = joint.sensitive_observed
    if isinstance(joint, JointDistribution):
        return _kept(joint.table, joint.sensitive, joint.useful)
    table = floats(joint, "the joint", InvalidModel)
    if table.ndim != 2:
        raise InvalidModel(f"the joint has {table.ndim} dimensions: give one row a secret, shape (n_s, n_y)")
    return _kept(divided(table, "the joint", normalise), *(tuple(range(n)) for n in table.shape))


def _kept(table: Floats, sensitive: Labels, released: Labels) -> Joint:
    rows, columns = np.flatnonzero(table.any(axis=1)), np.flatnonzero(table.any(axis=0))
    shape = (table.shape[0], table.shape[1])
    return Joint(np.array(table[np.ix_(rows, columns)]), rows, columns, shape, sensitive, released)


def read_channel(channel: ChannelInput, normalise: bool = False) -> tuple[Floats, Labels, Labels]:
    """Rows Pr(y | x), with the labels of rows and columns; of a joint, the rows given each possible s."""
    if isinstance(channel, JointDistribution | ObservedJoint):
        joint = read_joint(channel)
        labels = tuple(joint.sensitive[i] for i in joint.rows)
        return joint.channel, labels, tuple(joint.released[i] for i in joint.columns)
    if isinstance(channel, Channel | Merging):
        return channel.matrix, channel.inputs, channel.outputs
    table = floats(channel, "the channel", InvalidMechanism)
    if table.ndim != 2:
        raise InvalidMechanism(
            f"the channel has {table.ndim} dimensions: give one row an input, shape (n_x, n_y)"
        )
    rows = [
        divided(row, f"row {x} of the channel", normalise, InvalidMechanism) for x, row in enumerate(table)
    ]
    return np.array(rows), tuple(range(table.shape[0])), tuple(range(table.shape[1]))


def supported(channel: ChannelInput, prior: Numbers | None, normalise: bool) -> tuple[Floats, Floats | None]:
    """Rows of the inputs that can occur, without columns that cannot, and the prior on those rows."""
    rows, labels, _ = read_channel(channel, normalise)
    distribution = None
    if prior is not None:
        probabilities = read_distribution(prior, "the prior", normalise)
        if len(probabilities) != len(labels):
            raise InvalidMechanism(
                f"the prior has {len(probabilities)} entries for {len(labels)} inputs: give one each"
            )
        rows, distribution = rows[probabilities > 0], probabilities[probabilities > 0]
    elif isinstance(channel, JointDistribution | ObservedJoint):
        distribution = read_joint(channel).prior
    return rows[:, rows.any(axis=0)], distribution


def position(label: Label, labels: Labels, what: str) -> int:
    """The place of a label; a plain number also names a place where no label is a number."""
    if label in labels:
        return labels.index(label)
    numbered = any(isinstance(name, (int, float)) for name in labels)
    if isinstance(label, (int, np.integer)) and not numbered and 0 <= label < len(labels):
        return int(label)
    raise InvalidProblem(f"{what} {label!r} is unknown: use one of {', '.join(map(repr, labels[:20]))}")
