"""Channels and mergings: their integers, their draws, their files, their door; joints with an observation of their own."""

from __future__ import annotations

import math
import pickle
from fractions import Fraction
from itertools import accumulate

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import privopt as po
from privopt.core.exact import IntegerRow
from privopt.mechanisms import draw as _draw
from privopt.mechanisms import mechanism_from_dict
from privopt.mechanisms.draw import draw

# integers


@given(st.integers(0, 10**6), st.integers(1, 6), st.integers(1, 6))
@settings(max_examples=60, deadline=None)
def test_the_integers_are_the_floats_but_for_what_the_row_misses_of_one(seed: int, n: int, m: int) -> None:
    rng = np.random.default_rng(seed)
    matrix = rng.dirichlet(np.full(m, 0.05), size=n)
    channel = po.Channel(matrix)
    totals = {row.total for row in channel.exact()}
    assert len(totals) == 1
    assert totals.pop().bit_count() == 1
    for row, floats in zip(channel.exact(), channel.matrix.tolist(), strict=True):
        largest = max(floats)
        for i, p in enumerate(floats):
            off = abs(row.fraction(i) - Fraction(p))
            assert off == 0 or (p == largest and off <= Fraction(m, 2**52))


def test_tiny_probabilities_survive() -> None:
    channel = po.Channel([[1.0, 1e-300], [0.5, 0.5]])
    row = channel.exact()[0]
    assert row.fraction(1) == Fraction(1e-300)
    assert row.fraction(0) == 1 - Fraction(1e-300)


def test_fractions_are_kept_exactly_and_give_their_row_a_total_of_its_own() -> None:
    third = Fraction(1, 3)
    channel = po.Channel([[third, 2 * third], [0.5, 0.5]])
    assert channel.exact()[0] == IntegerRow((1, 2), 3)
    assert channel.exact()[1].fraction(0) == Fraction(1, 2)
    again = mechanism_from_dict(channel.to_dict())
    assert again == channel
    assert again.fingerprint == channel.fingerprint
    assert pickle.loads(pickle.dumps(channel)) == channel


# draws


@pytest.mark.parametrize(
    "row", [IntegerRow((3, 0, 5), 8), IntegerRow((2**80, 3 * 2**80, 2**79 + 1), 9 * 2**79 + 1)]
)
def test_draws_have_the_distribution_of_the_weights(row: IntegerRow) -> None:
    count = 200_000
    drawn = draw([row], np.zeros(count, dtype=np.int64), None)
    for i in range(len(row.weights)):
        p = float(row.fraction(i))
        assert abs(np.mean(drawn == i) - p) <= 6 * math.sqrt(p * (1 - p) / count) + 1e-12


def test_a_draw_whose_first_word_does_not_settle_it_reads_the_rest(monkeypatch: pytest.MonkeyPatch) -> None:
    """With one-bit words nearly every draw is decided by later bits; the distribution must not change."""
    monkeypatch.setattr(_draw, "_WORD", 1)
    monkeypatch.setattr(_draw, "below", None)
    words = np.random.default_rng(0)
    monkeypatch.setattr(_draw, "_words", lambda count, rng: words.integers(0, 2, count).astype(np.uint64))
    row = IntegerRow((2**64, 2**65 + 7, 2**62), 2**64 + 2**65 + 7 + 2**62)
    drawn = draw([row], np.zeros(40_000, dtype=np.int64), None)
    for i in range(3):
        p = float(row.fraction(i))
        assert abs(np.mean(drawn == i) - p) <= 6 * math.sqrt(p * (1 - p) / 40_000)


def test_a_draw_is_the_place_of_a_uniform_integer(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every integer below a small total falls where the cumulated weights say."""
    row = IntegerRow((2, 0, 3, 1), 6)
    monkeypatch.setattr(_draw, "below", lambda total, shape, rng: np.arange(total, dtype=np.uint64))
    ends = list(accumulate(row.weights))
    expected = [next(j for j, end in enumerate(ends) if u < end) for u in range(6)]
    assert draw([row], np.zeros(6, dtype=np.int64), None).tolist() == expected


def test_release_keeps_containers_and_marks_simulations() -> None:
    import pandas as pd
    import polars as pl

    channel = po.Channel([[0.0, 1.0], [1.0, 0.0]], ["a", "b"], ["x", "y"])
    assert channel.release(pd.Series(["a", "b"], index=[7, 8])).to_dict() == {7: "y", 8: "x"}
    assert channel.release(pl.Series("v", ["a", "b"])).to_list() == ["y", "x"]
    simulated = channel.release(np.array([["a"], ["b"]]), np.random.default_rng(0))
    assert simulated.simulated
    assert simulated.tolist() == [["y"], ["x"]]
    numbers = po.Channel([[0.0, 1.0], [1.0, 0.0]], ["a", "b"])
    assert numbers.release(pl.Series("v", ["a", "b"])).to_list() == [1, 0]


def test_a_frame_is_read_row_by_row() -> None:
    import pandas as pd

    frame = pd.DataFrame({"sex": ["m", "f"], "age": [1, 2]})
    merging = po.Merging([[("m", 1)], [("f", 1), ("f", 2)]])
    assert merging.release(frame).tolist() == [("m", 1), "('f', 1) | ('f', 2)"]


# doors


@pytest.mark.parametrize(
    ("matrix", "fragment"),
    [
        ([[0.5, 0.6]], "row 0 of matrix sums to 1"),
        ([[1.5, -0.5]], r"matrix\[0, 0\] = 1.5 is not a probability"),
        ([[0.5, math.nan]], "not a probability"),
        ([[1.0], [0.5, 0.5]], "rectangular"),
        ([], "shape"),
        ("ab", "table of numbers"),
        ([["a", Fraction(1)]], "give a float or a Fraction"),
    ],
)
def test_bad_matrices_are_refused(matrix: object, fragment: str) -> None:
    with pytest.raises(po.errors.InvalidMechanism, match=fragment):
        po.Channel(matrix)


def test_bad_labels_and_unknown_symbols_are_refused() -> None:
    with pytest.raises(po.errors.InvalidMechanism, match="inputs must be 2 distinct labels"):
        po.Channel([[1.0], [1.0]], inputs=["a", "a"])
    with pytest.raises(po.errors.InvalidMechanism, match="record 1: the letter is not one of"):
        po.Channel([[1.0]], inputs=["a"]).release(["a", "z"])


@pytest.mark.parametrize(
    ("blocks", "inputs", "fragment"),
    [
        ([["a"], []], None, "block 1 is empty"),
        ([["a"], ["a", "b"]], None, "'a' is in blocks 0 and 1"),
        ([["a"]], ["a", "b"], "every input exactly once"),
        ([], None, "no blocks"),
        ([["a | b"], ["a", "b"]], None, "under one name"),
    ],
)
def test_bad_blocks_are_refused(blocks: list[list[str]], inputs: list[str] | None, fragment: str) -> None:
    with pytest.raises(po.errors.InvalidMechanism, match=fragment):
        po.Merging(blocks, inputs)


def test_a_merging_is_its_matrix() -> None:
    merging = po.Merging([["c"], ["a", "b"]], inputs=["a", "b", "c"])
    assert merging.matrix.tolist() == [[0, 1], [0, 1], [1, 0]]
    assert [row.weights for row in merging.exact()] == [(0, 1), (0, 1), (1, 0)]
    assert mechanism_from_dict(merging.to_dict()) == merging
    assert pickle.loads(pickle.dumps(merging)) == merging


# observed joints


def test_observed_joints_have_the_marginals_of_their_table() -> None:
    rng = np.random.default_rng(3)
    table = rng.integers(0, 9, size=(2, 3, 4))
    joint = po.ObservedJoint.normalised(table)
    distribution = table / table.sum()
    assert np.allclose(joint.sensitive_observed.table, distribution.sum(axis=1), atol=1e-15)
    assert np.allclose(joint.useful_observed.table, distribution.sum(axis=0), atol=1e-15)
    assert np.allclose(joint.p_w, distribution.sum(axis=(0, 1)), atol=1e-15)
    assert po.model_from_dict(joint.to_dict()) == joint
    assert pickle.loads(pickle.dumps(joint)) == joint


def test_output_perturbation_is_the_plain_joint() -> None:
    joint = po.JointDistribution.normalised([[3, 1], [1, 2]])
    seen = po.ObservedJoint.output_perturbation(joint)
    channel = po.Channel([[0.7, 0.3], [0.2, 0.8]])
    for budget in (0.1, 1.0):
        plain = po.LocalInformationPrivacy(joint, budget).evaluate(channel)
        through = po.LocalInformationPrivacy(seen, budget).evaluate(channel)
        assert plain.utility == pytest.approx(through.utility, abs=1e-15)
        assert plain.leakage == pytest.approx(through.leakage, abs=1e-15)
