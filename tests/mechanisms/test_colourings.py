"""Colourings: rows and their integers, releases, errors, files."""

from __future__ import annotations

import math
import pickle
from fractions import Fraction

import numpy as np
import pytest

import privopt as po

TINY = 1e-79
SHARP = po.Colouring([[1.0, TINY], [0.25, 0.75], [1.0, TINY]], ["blue", "red"], answers=[0, 0, 0])


def test_small_errors_survive_in_floats_and_in_integers() -> None:
    assert SHARP.error.tolist() == [TINY, 0.75, TINY]
    assert len(SHARP.levels) == 2
    row = SHARP.exact()[SHARP.level[0]]
    assert row.fraction(1) == Fraction(TINY)
    assert row.fraction(0) == 1 - Fraction(TINY)
    assert row.total == 1 << (row.total.bit_length() - 1)


@pytest.mark.parametrize("seed", range(20))
def test_checking_again_changes_nothing(seed: int) -> None:
    rng = np.random.default_rng(seed)
    made = po.Colouring(rng.dirichlet(np.ones(4), size=30) * rng.choice([1.0, 1 - 1e-10]))
    assert made.validated() == made
    assert made.quantised() == made
    assert po.Colouring.from_dict(made.to_dict()) == made
    assert pickle.loads(pickle.dumps(made)) == made
    for row, floats in zip(made.exact(), made.levels, strict=True):
        assert row.floats() == pytest.approx(floats.tolist(), rel=1e-15)


def test_releases_follow_the_distribution() -> None:
    rng = np.random.default_rng(1)
    drawn = SHARP.release(np.ones(20_000, dtype=int), rng)
    assert drawn.simulated
    share = np.mean([c == "blue" for c in drawn])
    assert abs(share - 0.25) < 5 * math.sqrt(0.25 * 0.75 / 20_000)
    assert set(SHARP.release([0, 2] * 50)) == {"blue"}
    assert SHARP.release(0) == "blue"


@pytest.mark.parametrize("label", [True, np.True_, 3, np.int64(3), ("a", np.int64(1)), "x", np.str_("x")])
def test_labels_of_every_kind_are_found(label: object) -> None:
    named = po.Colouring([[1.0, 0.0]] * 4, vertices=[True, 3, ("a", 1), "x"])
    assert named.release(label) == 0
    assert po.DatasetGraph([], [0] * 4, [True, 3, ("a", 1), "x"]).position(label) in range(4)  # type: ignore[arg-type]


def test_positions_of_every_kind_are_found() -> None:
    for position in (1, np.int32(1), np.uint8(1)):
        assert SHARP.release(position) in ("blue", "red")
    for bad in (True, np.True_, 3, -1, "1", 1.5, None):
        with pytest.raises(po.errors.InvalidMechanism, match="no vertex"):
            SHARP.release(bad)


def test_a_colouring_that_was_not_certified_is_a_simulation() -> None:
    loose = SHARP.validated(simulation_only=True)
    with pytest.raises(po.errors.InvalidMechanism, match="certify=False"):
        loose.release(0)
    assert loose.release(0, np.random.default_rng(0)) == "blue"


@pytest.mark.parametrize(
    ("table", "part"),
    [
        ([[0.5, 0.6]], "sums to"),
        ([[-0.1, 1.1]], "not a probability"),
        ([[math.nan, 1.0]], "not a probability"),
        ([0.5, 0.5], "table"),
        ([["a", "b"]], "table of numbers"),
        ([], "table"),
    ],
)
def test_refused(table: object, part: str) -> None:
    with pytest.raises(po.errors.InvalidMechanism, match=part):
        po.Colouring(table)  # type: ignore[arg-type]


def test_refused_parts() -> None:
    for call, part in (
        (lambda: po.Colouring([[1.0, 0.0]], ["a"]), "colours"),
        (lambda: po.Colouring([[1.0, 0.0]], answers=[2]), "answers"),
        (lambda: po.Colouring([[1.0, 0.0]], vertices=["a", "b"]), "vertices"),
        (lambda: po.Colouring.of_levels([[1.0, 0.0]], [1]), "level"),
        (lambda: po.Colouring.of_levels([[1.0, 0.0]], [0.5]), "level"),
        (lambda: po.Colouring([[1.0, 0.0]]).error, "true colours"),
        (lambda: po.Colouring.from_dict({"levels": [[1.0]]}), "level"),
    ):
        with pytest.raises(po.errors.InvalidMechanism, match=part):
            call()
