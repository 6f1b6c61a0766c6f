"""The exact layer against mpmath and plain fractions."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import mpmath
import pytest
from hypothesis import given
from hypothesis import strategies as st

from privopt.core.exact import IntegerRow, exp_at_least, integer_row, log_enclosure


def floor_of_exp(x: float, scale: int) -> int:
    """The floor of e^x times a scale, at the working precision of mpmath."""
    value: Any = mpmath.floor(mpmath.exp(mpmath.mpf(x)) * scale)
    return int(value)


@given(st.floats(1e-12, 30), st.integers(-10, 10))
def test_comparisons_next_to_the_exponential(epsilon: float, offset: int) -> None:
    with mpmath.workdps(80):
        scale = 10**60
        nearest = floor_of_exp(epsilon, scale)
    # The floor itself is below e^epsilon, which is irrational; one more is above.
    assert exp_at_least(epsilon, nearest + offset, scale) == (offset <= 0)


def test_the_edges_of_comparison() -> None:
    assert exp_at_least(0.0, 5, 5)
    assert exp_at_least(0.0, 10**400, 10**400 + 1)
    assert not exp_at_least(0.0, 10**400 + 1, 10**400)
    assert exp_at_least(math.inf, 1, 0)
    assert not exp_at_least(700.0, 1, 0)
    assert exp_at_least(0.0, 0, 0)


def test_what_4096_bits_do_not_decide_is_not_a_pass() -> None:
    with mpmath.workprec(6000):
        scale = 1 << 5000
        close = floor_of_exp(1.0, scale)
    assert exp_at_least(1.0, close, scale) is None


@given(st.integers(1, 10**40), st.integers(1, 10**40))
def test_logarithms_are_enclosed(a: int, b: int) -> None:
    lo, hi = log_enclosure(a, b)
    with mpmath.workdps(80):
        exact = mpmath.log(mpmath.mpf(a) / mpmath.mpf(b))
        assert mpmath.mpf(lo) <= exact <= mpmath.mpf(hi)
    assert hi - lo <= 4 * math.ulp(max(abs(lo), abs(hi)))


@given(st.lists(st.floats(0, 1e6), min_size=1, max_size=6).filter(lambda v: sum(v) > 0))
def test_distributions_are_the_exact_quotients(values: list[float]) -> None:
    total = sum(Fraction(v) for v in values)
    row = integer_row(values)
    assert [row.fraction(i) for i in range(len(values))] == [Fraction(v) / total for v in values]
    assert math.gcd(*row.weights) == 1


@pytest.mark.parametrize(("weights", "total"), [((1, 2), 4), ((-1, 2), 1), ((0, 0), 0)])
def test_rows_add_up(weights: tuple[int, ...], total: int) -> None:
    with pytest.raises(ValueError, match="positive sum"):
        IntegerRow(weights, total)
