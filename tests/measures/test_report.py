"""The leakage report: its numbers are those of the measures, its reasons hold, its labels line up."""

from __future__ import annotations

import math

import numpy as np
import pytest

import privopt as po
from privopt import measures as m
from privopt.mechanisms.channel import Channel
from privopt.mechanisms.merging import Merging

JOINT = po.JointDistribution(
    [[0.3, 0.1, 0.05], [0.05, 0.2, 0.3], [0.0, 0.0, 0.0]],
    sensitive=["ill", "well", "<gone>"],
    useful=["u", "v", "w"],
)
CHANNEL = Channel(
    [[0.8, 0.2, 0.0], [0.3, 0.7, 0.0], [0.25, 0.75, 0.0]], inputs=["u", "v", "w"], outputs=["a", "b", "c"]
)


def test_every_row_is_its_measure_at_the_law_of_secret_and_release() -> None:
    report = m.leakage_report(CHANNEL, JOINT, alpha=3, epsilon=0.2)
    law = JOINT.table @ CHANNEL.matrix
    rows = law[:2] / law[:2].sum(axis=1, keepdims=True)
    upper, lower, symmetric = m.local_information_privacy(law)
    expected = {
        "upper": upper,
        "lower": -lower,
        "symmetric": symmetric,
        "local_differential_privacy": m.local_differential_privacy(rows),
        "delta_at(0.2)": m.delta_at(rows, 0.2),
        "mutual_information": m.mutual_information(law),
        "min_entropy_leakage": m.min_entropy_leakage(law),
        "maximal_leakage": m.maximal_leakage(rows),
        "capacity": m.capacity(rows)[1],
        "alpha_leakage(3)": m.alpha_leakage(law, 3),
        "sibson_mutual_information(3)": m.sibson_mutual_information(law, 3),
        "maximal_alpha_leakage(3)": m.maximal_alpha_leakage(rows, 3)[1],
        "alpha_lift(3)": m.alpha_lift(law, 3),
    }
    assert [row.measure for row in report.rows] == list(expected)
    for row in report.rows:
        exact = not row.measure.startswith(("capacity", "maximal_alpha"))
        assert row.value == pytest.approx(expected[row.measure], rel=1e-12, abs=1e-14 if exact else 2e-9)
        level = row.measure.startswith(("local_d", "delta"))
        assert row.bits is None if level else row.bits == pytest.approx(row.value / math.log(2))
        assert row.meaning
        assert row.implied is None or row.value <= row.implied * (1 + 1e-9)
    assert report.dropped == ("<gone>",)
    assert report.smallest_prior == pytest.approx(0.45)


def test_the_worst_places_are_named_by_label() -> None:
    report = m.leakage_report(CHANNEL, JOINT)
    lifts = m.log_lift(JOINT.table @ CHANNEL.matrix)
    s, y = np.unravel_index(np.nanargmax(lifts), lifts.shape)
    assert report["upper"].attained == f"secret {JOINT.sensitive[s]!r}, output {CHANNEL.outputs[y]!r}"
    assert report["local_differential_privacy"].attained == "secrets 'ill' and 'well', output 'a'"
    with pytest.raises(KeyError, match="has upper"):
        report["lift"]


def test_rows_are_matched_by_label() -> None:
    shuffled = Channel(CHANNEL.matrix[[2, 0, 1]], inputs=["w", "u", "v"], outputs=CHANNEL.outputs)
    assert str(m.leakage_report(shuffled, JOINT)) == str(m.leakage_report(CHANNEL, JOINT))
    assert (
        m.leakage_report(CHANNEL.matrix, JOINT)["upper"].value
        == m.leakage_report(CHANNEL, JOINT)["upper"].value
    )
    foreign = Channel(CHANNEL.matrix, inputs=["u", "v", "z"])
    with pytest.raises(po.errors.InvalidMechanism, match="'w', 'z'"):
        m.leakage_report(foreign, JOINT)
    with pytest.raises(po.errors.InvalidMechanism, match="2 inputs"):
        m.leakage_report([[1.0], [1.0]], JOINT)
    for alpha in (1, math.inf, 0.5):
        with pytest.raises(po.errors.InvalidProblem, match="alpha"):
            m.leakage_report(CHANNEL, JOINT, alpha=alpha)


def test_merging_everything_leaks_nothing() -> None:
    report = m.leakage_report(Merging([["w", "u", "v"]]), JOINT)
    assert all(row.value == pytest.approx(0, abs=1e-12) for row in report.rows)
    part = m.leakage_report(Merging([["w", "v"], ["u"]]), JOINT)
    merged = np.column_stack([JOINT.table[:, [1, 2]].sum(axis=1), JOINT.table[:, 0]])
    assert part["mutual_information"].value == pytest.approx(m.mutual_information(merged), rel=1e-12)


def test_an_observed_joint_is_read_through_its_observation() -> None:
    rng = np.random.default_rng(0)
    table, rows = rng.dirichlet(np.ones(24)).reshape(2, 3, 4), rng.dirichlet(np.ones(3), size=4)
    report = m.leakage_report(rows, po.ObservedJoint.normalised(table))
    law = np.einsum("sxw,wy->sy", table, rows)
    truth = m.mutual_information(law, normalise=True)
    assert report["mutual_information"].value == pytest.approx(truth, rel=1e-12)


def test_it_is_shown_as_text_frame_and_escaped_html() -> None:
    report = m.leakage_report(CHANNEL, JOINT)
    text = str(report)
    assert len(text.splitlines()) == len(report.rows) + 2
    assert text.splitlines()[0].startswith("measure")
    frame = report.to_frame()
    assert frame["nats"].tolist() == [row.value for row in report.rows]
    assert frame["bits"].isna().sum() == 2
    page = report._repr_html_()
    assert "&lt;gone&gt;" in page
    assert "<gone>" not in page


def test_infinite_leakage_is_said_plainly() -> None:
    report = m.leakage_report(np.eye(2), [[0.5, 0.0], [0.2, 0.3]])
    assert report["lower"].value == math.inf
    assert "rule a secret out" in report["lower"].meaning
    assert "for certain" in report["local_differential_privacy"].meaning
    assert "inf" in str(report)
