"""Influences, regions and the gradient of the leakage against enumeration and finite differences."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from instances.few import few
from oracles.enumeration import random_chain, random_table

import privopt as po
from privopt.errors import InvalidMechanism, InvalidProblem

KINDS = ("stationary", "started", "stepwise")


def enumerated(chain: po.MarkovChain, length: int, private: int, record: int) -> list[float]:
    """Influence of each value from the joint distribution of two records, summed over all sequences."""
    k = chain.k
    joint = [[Fraction(0)] * k for _ in range(k)]
    for sequence in itertools.product(range(k), repeat=length):
        probability = chain.exact_initial.fraction(sequence[0])
        for t in range(length - 1):
            probability *= chain.exact_step(t)[sequence[t]].fraction(sequence[t + 1])
        joint[sequence[private]][sequence[record]] += probability
    rows = [[cell / sum(row) for cell in row] for row in joint if sum(row)]
    told = []
    for v in range(k):
        column = [row[v] for row in rows]
        if max(column) == 0:
            told.append(0.0)
        else:
            told.append(math.inf if min(column) == 0 else math.log(max(column) / min(column)))
    return told


@pytest.mark.parametrize("seed", range(45))
def test_influence_equals_enumeration(seed: int) -> None:
    rng = np.random.default_rng(seed)
    k, length = int(rng.integers(2, 4)), int(rng.integers(1, 6))
    chain = random_chain(rng, k, KINDS[seed % 3], length)
    private, record = (int(rng.integers(length)) for _ in range(2))
    expected = enumerated(chain, length, private, record)
    assert po.measures.influence(chain, private, record) == pytest.approx(expected, rel=1e-11, abs=1e-14)


def test_influence_where_values_are_impossible() -> None:
    chain = po.MarkovChain([[0.5, 0.5, 0], [0, 1, 0], [0.5, 0, 0.5]], initial=[0.5, 0.5, 0])
    assert po.measures.influence(chain, 1, 1).tolist() == [math.inf, math.inf, 0]
    assert po.measures.influence(chain, 0, 2).tolist() == pytest.approx([math.inf, math.log(4 / 3), 0])
    fixed = po.MarkovChain([[0.5, 0.5], [0.5, 0.5]], initial=[1, 0])
    assert po.measures.influence(fixed, 0, 0).tolist() == [0, 0]
    assert po.measures.influence(fixed, 0, 1).tolist() == [0, 0]


@pytest.mark.parametrize("record", [0, 200])
def test_far_records_keep_their_digits(record: int) -> None:
    # P^d = [[(b + a L), a (1 - L)], [b (1 - L), a + b L]] / (a + b) with L = (1/2)^d, a = 1/10, b = 4/10.
    chain = po.MarkovChain([[Fraction(9, 10), Fraction(1, 10)], [Fraction(4, 10), Fraction(6, 10)]])
    power = 0.5**100
    expected = [math.log1p(power / 4) - math.log1p(-power), math.log1p(power * 4) - math.log1p(-power)]
    assert po.measures.influence(chain, 100, record) == pytest.approx(expected, rel=1e-13)


@pytest.mark.parametrize("seed", range(40))
def test_regions_of_a_repeating_binary_chain_are_contiguous(seed: int) -> None:
    rng = np.random.default_rng(seed)
    chain, length = random_chain(rng, 2, "stationary", 0), int(rng.integers(2, 25))
    private, budgets = int(rng.integers(length)), rng.exponential(0.7, 2).tolist()
    large, medium, small = po.measures.regions(chain, length, private, *budgets)
    assert sorted((*large, *medium, *small, private)) == list(range(length))
    region = {t: i for i, places in enumerate((large, medium, small)) for t in places}
    for side in (range(private - 1, -1, -1), range(private + 1, length)):
        order = [region[t] for t in side]
        assert order == sorted(order)
        if chain.transition[0, 0] < chain.transition[1, 0]:
            assert order.count(1) <= 1
    for t, rank in region.items():
        within = po.measures.influence(chain, private, t) <= budgets[int(t > private)]
        assert rank == int(within.any()) + int(within.all())


def test_regions_of_three_states() -> None:
    chain = po.MarkovChain([[0.5, 0.3, 0.2], [0.1, 0.7, 0.2], [0.3, 0.3, 0.4]])
    large, medium, small = po.measures.regions(chain, 8, 3, 0.1, 0.8)
    for t in range(8):
        if t != 3:
            within = po.measures.influence(chain, 3, t) <= (0.1 if t < 3 else 0.8)
            assert t in (large, medium, small)[int(within.any()) + int(within.all())]
    assert medium


def test_what_is_refused() -> None:
    chain = po.MarkovChain([[0.5, 0.5], [0.25, 0.75]])
    short = po.MarkovChain([[[0.5, 0.5], [0.25, 0.75]]], initial=[0.5, 0.5])
    for call in (
        lambda: po.measures.influence(chain, -1, 0),
        lambda: po.measures.influence(short, 0, 2),
        lambda: po.measures.regions(chain, 3, 3, 1, 1),
        lambda: po.measures.regions(chain, 3, 1, -1, 1),
        lambda: po.measures.regions(chain, 3, 1, 1, math.nan),
        lambda: po.measures.regions(short, 3, 1, 1, 1),
        lambda: po.measures.data_independent_bound(short, 2, 1, 1.0),
        lambda: po.measures.data_independent_bound(chain, 3, 3, 1.0),
        lambda: po.measures.data_independent_bound(chain, 3, 1, math.nan),
        lambda: po.measures.data_independent_bound(po.MarkovChain([[0.1, 0.9], [0.8, 0.2]]), 3, 1, 1.0),
    ):
        with pytest.raises(InvalidProblem):
            call()
    for private, rows in ((2, [(1, 1), (0, 0)]), (0, [(1, 1), (0, 2)]), (0, [(1, 1, 1)])):
        with pytest.raises(InvalidMechanism):
            po.measures.redaction_gradient(chain, private, rows)


@pytest.mark.parametrize("seed", few(range(60), 18))
def test_gradient_equals_finite_differences(seed: int) -> None:
    rng = np.random.default_rng(seed)
    k, length = int(rng.integers(2, 4)), int(rng.integers(1, 9))
    chain = random_chain(rng, k, KINDS[seed % 3], length)
    private = int(rng.integers(length))
    table = np.clip(random_table(rng, length, k), 0.001, 0.999)
    table[private] = 1.0
    table[rng.random(length) < 0.2] = 1.0
    leakage, gradient = po.measures.redaction_gradient(chain, private, table)
    assert leakage == po.measures.redaction_leakage(chain, private, table)
    assert (gradient[private] == 0).all()
    inside = (table > 0) & (table < 1)
    assert (gradient[inside] <= 1e-12 * max(1.0, np.abs(gradient).max())).all()
    for t, v in zip(*np.nonzero(inside), strict=True):
        moved = [table.copy() for _ in range(2)]
        for sign, other in zip((1, -1), moved, strict=True):
            other[t, v] += sign * 1e-6
        up, down = (po.measures.redaction_leakage(chain, private, other) for other in moved)
        assert gradient[t, v] == pytest.approx((up - down) / 2e-6, rel=1e-4, abs=1e-6)


def test_gradient_where_nothing_moves_the_leakage() -> None:
    chain = po.MarkovChain([[0.9, 0.1], [0.4, 0.6]])
    leakage, gradient = po.measures.redaction_gradient(chain, 1, [(0.5, 0.5), (0.5, 1), (0, 0)])
    assert leakage == math.inf
    assert not gradient.any()
    leakage, gradient = po.measures.redaction_gradient(chain, 0, [(1, 1), (0, 0), (0.3, 0.4)])
    assert leakage == pytest.approx(math.log(6))
    assert not gradient.any()
