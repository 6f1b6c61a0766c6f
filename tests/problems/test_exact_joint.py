"""The largest lifts of an exact joint distribution: floats only say where to look."""

import random
from fractions import Fraction

import numpy as np
import pytest

import privopt as po
from privopt.problems.exact_joint import ExactJoint, pushed


def tables(seed: int, count: int) -> list[ExactJoint]:
    """Small tables, some with zeros, some independent or nearly so, some with weights far beyond floats."""
    rng = random.Random(seed)
    made: list[ExactJoint] = []
    while len(made) < count:
        rows, columns = rng.randint(1, 5), rng.randint(1, 6)
        most = rng.choice([3, 10, 2**60, 2**2000])
        left = [rng.randint(1, most) for _ in range(rows)]
        right = [rng.randint(1, most) for _ in range(columns)]
        kind = len(made) % 4
        if kind == 0:
            cells = tuple(tuple(rng.choice([0, 1, rng.randint(1, most)]) for _ in right) for _ in left)
        elif kind == 1:
            cells = tuple(tuple(a * b for b in right) for a in left)
        elif kind == 2:
            cells = tuple(tuple(a * b * 2**70 + rng.randint(0, 1) for b in right) for a in left)
        else:
            cells = tuple(tuple(rng.randint(1, most) for _ in right) for _ in left)
        if total := sum(map(sum, cells)):
            made.append(ExactJoint(cells, total))
    return made


@pytest.mark.parametrize("seed", range(3))
def test_the_extreme_lifts_are_those_of_all_pairs_in_fractions(seed: int) -> None:
    for joint in tables(seed, 200):
        lifts = {pair: Fraction(*joint.lift(*pair)) for pair in joint.pairs()}
        assert joint.largest_lift == max(lifts, key=lambda pair: lifts[pair])
        none = [pair for pair, lift in lifts.items() if not lift]
        far = {pair: max(lift, 1 / lift) for pair, lift in lifts.items() if lift}
        assert joint.farthest_lift == (none[0] if none else max(far, key=lambda pair: far[pair]))


@pytest.mark.parametrize("dense", [False, True])
def test_integer_tables_are_pushed_through_channels_as_rationals_are(dense: bool) -> None:
    rng = np.random.default_rng(4)
    weights = rng.integers(1, 50, size=(6, 5)) * (dense | (rng.random((6, 5)) < 0.3))
    weights[:, 0] += 1
    channel = po.Channel([[Fraction(int(v), int(row.sum())) for v in row] for row in weights])
    table = [tuple(int(v) for v in row) for row in rng.integers(0, 9, size=(3, 6))]
    cells, scale = pushed(table, channel)
    for line, seen in zip(table, cells, strict=True):
        for y in range(5):
            exact = sum(
                (v * row.fraction(y) for v, row in zip(line, channel.exact(), strict=True)), Fraction(0)
            )
            assert Fraction(seen[y], scale) == exact
