"""Everything a mechanism leaks about the secrets of a joint law."""

from __future__ import annotations

import math

import numpy as np

from privopt.errors import InvalidMechanism, InvalidProblem
from privopt.files.labels import Labels
from privopt.measures.inputs import ChannelInput, Joint, JointLike, read_channel, read_joint
from privopt.measures.report._rows import Reading, readings
from privopt.measures.report.implications import implied_bounds
from privopt.measures.report.table import LeakageReport, LeakageRow
from privopt.measures.values import read_order


def leakage_report(
    mechanism: ChannelInput,
    joint: JointLike,
    *,
    alpha: float = 2.0,
    epsilon: float = 1.0,
    normalise: bool = False,
) -> LeakageReport:
    """Every leakage of S into the release Y of a mechanism that reads X.

    The law of (s, y) is ``joint.table @ matrix``. Each row also shows the best bound that the other rows imply,
    with ``delta_at`` as a probability.

    Parameters
    ----------
    mechanism : Channel, Merging or array-like, shape (n_x, n_y)
        Rows Pr(y|x) for the columns x of the joint: matched by label, or by place if one of the two has no labels
        of its own.
    joint : JointDistribution, ObservedJoint or array-like, shape (n_s, n_x)
        Pr(s, x); of an ObservedJoint the mechanism reads w, and the law is that of (s, w).
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
        If the table is no joint law.
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
    found = readings(released, order, epsilon)
    smallest = float(released.prior.min())
    dropped = tuple(s for i, s in enumerate(released.sensitive) if i not in set(released.rows.tolist()))
    return LeakageReport(tuple(_row(reading, found, smallest) for reading in found), dropped, smallest)


def _released(mechanism: ChannelInput, joint: JointLike, normalise: bool) -> Joint:
    """The law of the secret and the release."""
    law = read_joint(joint, normalise)
    matrix, inputs, outputs = read_channel(mechanism, normalise)
    if len(matrix) != law.shape[1]:
        raise InvalidMechanism(
            f"the mechanism has {len(matrix)} inputs and the joint {law.shape[1]} columns: give a row a column"
        )
    table = law.table @ matrix[_order(inputs, law.released)][law.columns]
    used = np.flatnonzero(table.any(axis=0))
    shape = (law.shape[0], matrix.shape[1])
    return Joint(table[:, used], law.rows, used, shape, law.sensitive, outputs)


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


def _row(reading: Reading, found: list[Reading], smallest: float) -> LeakageRow:
    known = {other.key: math.inf if other is reading else other.value for other in found}
    implied = implied_bounds(known, smallest_prior=min(smallest, 0.5) if smallest < 1 else 1.0)
    return LeakageRow(
        reading.name,
        reading.value,
        reading.value / math.log(2) if reading.information else None,
        reading.attained,
        reading.meaning,
        implied.get(reading.key),
    )
