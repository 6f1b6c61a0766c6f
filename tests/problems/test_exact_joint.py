"""The largest lifts of an exact joint distribution: floats only say where to look."""

import random
from fractions import Fraction

import pytest

from privopt.problems.exact_joint import ExactJoint


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
