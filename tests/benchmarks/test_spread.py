"""Repetitions: quartiles against their definition, and no claim where intervals overlap."""

from __future__ import annotations

import statistics
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from instances.report_rows import make_row

from privopt.benchmarks.runner.spread import Spread, Verdict, leaders, repetitions, spreads, verdict

NUMBERS = st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=9)


@given(NUMBERS)
def test_quartiles_are_those_of_the_values_in_any_order(values: list[float]) -> None:
    spread = Spread(tuple(values), len(values))
    assert spread.median == pytest.approx(statistics.median(values), abs=1e-9)
    assert spread.lower is not None
    assert spread.upper is not None
    assert min(values) <= spread.lower <= spread.upper <= max(values)
    if len(values) > 1:
        low, _, high = statistics.quantiles(values, n=4, method="inclusive")
        assert (spread.lower, spread.upper) == (pytest.approx(low, abs=1e-6), pytest.approx(high, abs=1e-6))
        assert spread.deviation == pytest.approx(statistics.stdev(values), abs=1e-6)


@given(NUMBERS, NUMBERS, st.booleans())
def test_a_claim_is_antisymmetric_and_never_made_where_intervals_overlap(
    one: list[float], other: list[float], larger: bool
) -> None:
    a, b = Spread(tuple(one), len(one)), Spread(tuple(other), len(other))
    swapped = {Verdict.BETTER: Verdict.WORSE, Verdict.WORSE: Verdict.BETTER, Verdict.SAME: Verdict.SAME}
    said = verdict(a, b, larger=larger)
    assert verdict(b, a, larger=larger) is swapped[said]
    assert verdict(a, b, larger=not larger) is swapped[said]
    assert None not in (a.lower, a.upper, b.lower, b.upper)
    if max(a.lower or 0.0, b.lower or 0.0) <= min(a.upper or 0.0, b.upper or 0.0):
        assert said is Verdict.SAME


def test_failed_repetitions_are_counted_and_forbid_a_claim() -> None:
    high, low = Spread((3.0, 3.0, 3.0), 3), Spread((1.0, 1.0, 1.0), 3)
    assert verdict(high, low) is Verdict.BETTER
    assert verdict(Spread((3.0, 3.0, 3.0), 4), low) is Verdict.SAME
    assert verdict(low, Spread((), 3)) is Verdict.BETTER
    assert verdict(Spread((), 3), Spread((), 3)) is Verdict.SAME
    assert leaders({"high": high, "low": low, "none": Spread((), 3)}) == ["high"]


def test_rows_are_repetitions_where_only_the_seed_differs() -> None:
    base = make_row()
    rows = [
        *(replace(base, seed=seed, seconds=float(seed)) for seed in range(5)),
        replace(base, seed=0, budget=base.budget + 1),
        replace(base, seed=9, status="TIME_OUT", seconds=99.0),
    ]
    assert [len(group) for group in repetitions(rows).values()] == [6, 1]
    first, second = spreads(rows, lambda row: row.seconds).values()
    assert (first.median, first.count, first.total) == (2.0, 5, 6)
    assert second.total == 1
