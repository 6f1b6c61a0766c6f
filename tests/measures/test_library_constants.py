"""Numbers that the test suites of libqif and dit print, asked of the measures here; neither library is needed."""

from __future__ import annotations

import math

import numpy as np
import pytest

from privopt import measures as m

C1 = np.array([[0.8, 0.2], [0.3, 0.7]])
PI1, PI3, PI4 = np.array([0.2, 0.8]), np.array([0.25, 0.75]), np.array([0.75, 0.25])
HALF, TENTH = np.full(2, 0.5), np.full(10, 0.1)
SAME, NOTHING = np.eye(10), np.tile(np.eye(10)[0], (10, 1))


def test_shannon_numbers_of_libqif() -> None:
    assert m.entropy(HALF, unit="bits") == pytest.approx(1.0)
    assert m.entropy(TENTH, unit="bits") == pytest.approx(math.log2(10))
    assert m.entropy(PI1, unit="bits") == pytest.approx(0.721928094887362, abs=1e-14)
    assert m.conditional_entropy(PI3[:, None] * C1, unit="bits") == pytest.approx(
        0.669020059980807, abs=1e-14
    )
    assert m.conditional_entropy(TENTH[:, None] * SAME, unit="bits") == pytest.approx(0.0)
    assert m.conditional_entropy(TENTH[:, None] * NOTHING, unit="bits") == pytest.approx(math.log2(10))


def test_capacities_of_libqif_and_dit() -> None:
    symmetric = np.array([[0.3, 0.2, 0.5], [0.5, 0.3, 0.2], [0.2, 0.5, 0.3]])
    erased = [np.array([[1 - e, 0.0, e], [0.0, 1 - e, e]]) for e in (0.3, 0.01)]
    known = [
        (C1, 0.19123813831431799),
        (np.eye(2), 1.0),
        (NOTHING, 0.0),
        (symmetric, math.log2(3) - float(m.entropy(symmetric[0], unit="bits"))),
        (erased[0], 0.7),
        (erased[1], 0.99),
    ]
    for channel, bits in known:
        low, high = m.capacity(channel, unit="bits")
        assert low - 1e-7 <= bits <= high + 1e-7
        assert high - low < 1e-6


def test_guesses_of_libqif() -> None:
    for prior, channel, guessed in (
        (PI3, C1, 0.75),
        (PI4, C1, 31 / 40),
        (TENTH, SAME, 1.0),
        (TENTH, NOTHING, 0.1),
    ):
        leaked = m.min_entropy_leakage(prior[:, None] * channel)
        assert prior.max() * math.exp(leaked) == pytest.approx(guessed, abs=1e-14)
    assert m.min_entropy_leakage(HALF[:, None] * C1, unit="bits") == pytest.approx(math.log2(1.5))
    for channel, most in ((np.eye(2), 2.0), (SAME, 10.0), (NOTHING, 1.0), (C1, 1.5)):
        assert m.maximal_leakage(channel) == pytest.approx(math.log(most), abs=1e-14)


def test_levels_of_libqif() -> None:
    assert m.local_differential_privacy(C1) == pytest.approx(math.log(7 / 2))
    assert m.local_differential_privacy(NOTHING) == 0.0
    assert m.local_differential_privacy(SAME) == math.inf


@pytest.mark.parametrize("order", [0.5, 1, 2, 5, math.inf])
def test_orders_of_dit(order: float) -> None:
    independent, same = np.full((2, 2), 0.25), np.eye(2) / 2
    assert m.sibson_mutual_information(independent, order, unit="bits") == pytest.approx(0.0, abs=1e-14)
    assert m.sibson_mutual_information(same, order, unit="bits") == pytest.approx(1.0)
    assert m.mutual_information(same, unit="bits") == pytest.approx(1.0)
    lopsided = np.array([[0.5, 0.25], [0.0, 0.25]])
    if order == 2:
        there, back = (m.sibson_mutual_information(t, order) for t in (lopsided, lopsided.T))
        assert there != pytest.approx(back)
