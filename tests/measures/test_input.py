"""What the leakage measures accept, and how they refuse the rest."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import privopt as po
from privopt import measures as m
from privopt.mechanisms.channel import Channel

JOINT = [[0.3, 0.2], [0.1, 0.4]]
ROWS = [[0.6, 0.4], [0.2, 0.8]]
OF_JOINT: list[Callable[[Any], object]] = [
    m.mutual_information,
    m.conditional_entropy,
    m.lift,
    m.log_lift,
    m.local_information_privacy,
    m.min_entropy_leakage,
    lambda t: m.expected_alpha_loss(t, 2),
    lambda t: m.optimal_alpha_belief(t, 2, 0),
    lambda t: m.alpha_leakage(t, 2),
    lambda t: m.sibson_mutual_information(t, 2),
    lambda t: m.alpha_lift(t, 2),
    lambda t: m.leakage_report(ROWS, t),
]
OF_CHANNEL: list[Callable[[Any], object]] = [
    m.local_differential_privacy,
    m.maximal_leakage,
    m.capacity,
    lambda w: m.differential_privacy(w, [(0, 1)]),
    lambda w: m.delta_at(w, 0.5),
    lambda w: m.maximal_alpha_leakage(w, 2),
    lambda w: m.leakage_report(w, JOINT),
]
BAD = [
    [[0.5, -0.1], [0.2, 0.4]],
    [[math.nan, 0.5], [0.25, 0.25]],
    [[math.inf, 0.5], [0.25, 0.25]],
    [[0.3, 0.2], [0.1, 0.4 + 2e-9]],
    [[0.3, 0.2], [0.5]],
    [0.5, 0.5],
    [[]],
    [["a", "b"], ["c", "d"]],
    [[True, False], [False, False]],
    [[0, 0], [0, 0]],
    [[0.5 + 0.1j, 0.5], [0, 0]],
    np.ma.masked_array([[0.5, 0.5], [0.0, 0.0]], mask=False),
]


@pytest.mark.parametrize("bad", BAD, ids=range(len(BAD)))
@pytest.mark.parametrize("measure", OF_JOINT, ids=range(len(OF_JOINT)))
def test_what_is_no_joint_is_refused(measure: Callable[[Any], object], bad: object) -> None:
    with pytest.raises(po.errors.InvalidModel):
        measure(bad)


@pytest.mark.parametrize("bad", BAD, ids=range(len(BAD)))
@pytest.mark.parametrize("measure", OF_CHANNEL, ids=range(len(OF_CHANNEL)))
def test_what_is_no_channel_is_refused(measure: Callable[[Any], object], bad: object) -> None:
    with pytest.raises(po.errors.InvalidMechanism):
        measure(bad)


@pytest.mark.parametrize("measure", OF_JOINT, ids=range(len(OF_JOINT)))
def test_a_joint_distribution_is_read_like_its_array(measure: Callable[[Any], object]) -> None:
    joint = po.JointDistribution(JOINT)
    np.testing.assert_equal(str(measure(joint)), str(measure(JOINT)))


@pytest.mark.parametrize("measure", OF_CHANNEL, ids=range(len(OF_CHANNEL)))
def test_a_channel_is_read_like_its_array(measure: Callable[[Any], object]) -> None:
    assert str(measure(Channel(ROWS))) == str(measure(ROWS))


def test_counts_and_fractions() -> None:
    counts = [[3, 2], [1, 4]]
    with pytest.raises(po.errors.InvalidModel, match="pass normalise=True"):
        m.mutual_information(counts)
    expected = m.mutual_information(JOINT)
    assert m.mutual_information(counts, normalise=True) == pytest.approx(expected, rel=1e-14)
    assert m.mutual_information(po.JointDistribution.normalised(counts)) == pytest.approx(expected, rel=1e-14)
    thirds = [[Fraction(1, 3), Fraction(1, 3)], [Fraction(1, 3), 0]]
    assert m.mutual_information(thirds) == pytest.approx(
        m.mutual_information([[1, 1], [1, 0]], normalise=True)
    )
    huge = [[10**400, 0], [0, 10**400]]
    with pytest.raises(po.errors.InvalidModel, match="numbers"):
        m.mutual_information(huge, normalise=True)
    assert m.mutual_information(po.JointDistribution.normalised(huge), unit="bits") == 1


def test_impossible_symbols_do_not_count() -> None:
    padded = np.zeros((4, 4))
    padded[np.ix_([0, 2], [1, 3])] = JOINT
    for measure in OF_JOINT[:2] + OF_JOINT[4:7] + OF_JOINT[8:11]:
        assert measure(padded) == measure(JOINT)
    assert np.isnan(m.lift(padded)[[1, 3]]).all()
    assert np.isnan(m.log_lift(padded)[:, [0, 2]]).all()
    np.testing.assert_array_equal(m.lift(padded)[np.ix_([0, 2], [1, 3])], m.lift(JOINT))
    belief = m.optimal_alpha_belief(padded, 2, 1)
    assert belief[[1, 3]].tolist() == [0, 0]
    assert belief.sum() == pytest.approx(1)


def test_impossible_pairs_are_infinitely_telling() -> None:
    joint = [[0.5, 0.0], [0.25, 0.25]]
    upper, lower, symmetric = m.local_information_privacy(joint)
    assert (lower, symmetric) == (-math.inf, math.inf)
    assert upper == pytest.approx(math.log(2))
    assert m.log_lift(joint)[0, 1] == -math.inf
    assert m.local_differential_privacy(po.JointDistribution(joint)) == math.inf
    assert m.delta_at(po.JointDistribution(joint), math.inf) == 0.5


def test_units() -> None:
    for measure in (m.mutual_information, m.conditional_entropy, m.min_entropy_leakage):
        assert measure(JOINT, unit="bits") == pytest.approx(measure(JOINT) / math.log(2), rel=1e-15)
    with pytest.raises(po.errors.InvalidProblem, match="nats"):
        m.mutual_information(JOINT, unit="dits")  # type: ignore[arg-type]


@pytest.mark.parametrize("alpha", [0.99, -1, math.nan, "2", True, None])
def test_orders_outside_their_range_are_refused(alpha: Any) -> None:
    for measure in (m.alpha_leakage, m.alpha_lift, m.expected_alpha_loss):
        with pytest.raises(po.errors.InvalidProblem, match="alpha"):
            measure(JOINT, alpha)
    with pytest.raises(po.errors.InvalidProblem, match="alpha"):
        m.alpha_loss(0.5, alpha)
    with pytest.raises(po.errors.InvalidProblem, match="alpha"):
        m.maximal_alpha_leakage(ROWS, alpha)


def test_misuse_of_channels_is_refused() -> None:
    with pytest.raises(po.errors.InvalidProblem, match="capacity"):
        m.maximal_alpha_leakage(ROWS, 1)
    with pytest.raises(po.errors.InvalidMechanism, match="2 inputs"):
        m.maximal_leakage(ROWS, [0.2, 0.3, 0.5])
    with pytest.raises(po.errors.InvalidModel, match="prior"):
        m.maximal_leakage(ROWS, [0.2, 0.3])
    with pytest.raises(po.errors.InvalidProblem, match="epsilon"):
        m.delta_at(ROWS, -0.1)
    with pytest.raises(po.errors.InvalidProblem, match="probability"):
        m.alpha_loss(1.5, 2)
    for neighbours in ([(0, 2)], [(0,)], [0, 1], [("a", "b")], np.ones((3, 3), dtype=bool)):
        with pytest.raises(po.errors.InvalidProblem):
            m.differential_privacy(ROWS, neighbours)  # type: ignore[arg-type]
    with pytest.raises(po.errors.InvalidProblem):
        m.mutual_information_bound(-0.1, 0.2)
    with pytest.raises(po.errors.InvalidProblem):
        m.mutual_information_bound(0.1, math.nan)


def test_neighbours_by_label_or_by_place() -> None:
    channel = Channel([[0.7, 0.3], [0.5, 0.5], [0.2, 0.8]], inputs=["low", "mid", "high"])
    by_label = m.differential_privacy(channel, [("low", "mid"), ("mid", "high")])
    assert by_label == m.differential_privacy(channel, [(0, 1), (2, 1)])
    numbered = Channel(channel.matrix, inputs=[1, 2, 3])
    assert by_label == m.differential_privacy(numbered, [(1, 2), (2, 3)])
    with pytest.raises(po.errors.InvalidProblem, match="unknown"):
        m.differential_privacy(numbered, [(0, 1)])


def test_inputs_are_not_changed_and_answers_repeat() -> None:
    table, rows = np.array(JOINT), np.array(ROWS)
    kept = table.copy(), rows.copy()
    first = [str(measure(table)) for measure in OF_JOINT] + [str(measure(rows)) for measure in OF_CHANNEL]
    again = [str(measure(table)) for measure in OF_JOINT] + [str(measure(rows)) for measure in OF_CHANNEL]
    assert first == again
    np.testing.assert_array_equal(table, kept[0])
    np.testing.assert_array_equal(rows, kept[1])
