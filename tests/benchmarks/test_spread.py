"""Repetitions: quartiles against their definition, and no claim where intervals overlap."""

from __future__ import annotations

import statistics
from dataclasses import replace

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from instances.report_rows import make_row
from scipy.stats.mstats import mquantiles

from privopt.benchmarks.runner.spread import Claims, Spread, Verdict, claims, repetitions, spreads, verdict

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
    assert claims({"high": high, "low": low, "none": Spread((), 3)}) == Claims(("high",))
    assert claims({"high": Spread((3.0, 3.0, 3.0), 4), "low": low}) == Claims((), ("high", "low"))


GROUPS = st.dictionaries(
    st.sampled_from("abcd"), st.lists(st.floats(-9, 9), min_size=3, max_size=6), min_size=1
)


@given(GROUPS)
def test_the_best_are_those_whose_quartiles_by_scipy_lie_nowhere_below_those_of_another(
    group: dict[str, list[float]],
) -> None:
    ends = {name: mquantiles(values, [0.25, 0.5, 0.75], alphap=1, betap=1) for name, values in group.items()}
    room = 1e-6 * max(1.0, abs(max(middle for _, middle, _ in ends.values())))
    others = {name: [own for other, own in ends.items() if other != name] for name in group}
    best = [n for n, (low, _, _) in ends.items() if all(low >= own[2] - room for own in others[n])]
    last = [n for n, (_, _, high) in ends.items() if any(own[0] - high > room for own in others[n])]
    said = claims({n: Spread(tuple(values), len(values)) for n, values in group.items()}, alike=1e-6)
    assume(min((abs(a[0] - b[2] - s * room) for a in ends.values() for b in ends.values() for s in (1, -1) if a is not b), default=1) > 1e-12)  # fmt: skip
    assert list(said.best) == best
    assert list(said.undecided) == [n for n in group if n not in best and n not in last]


@given(st.dictionaries(st.sampled_from("abcd"), st.floats(-9, 9), min_size=1))
def test_single_answers_are_compared_as_before(group: dict[str, float]) -> None:
    top = max(group.values())
    least = top - 1e-6 * max(1.0, abs(top))
    assume(all(abs(value - least) > 1e-12 for value in group.values()))  # where rounding decides
    said = claims({name: Spread((value,), 1) for name, value in group.items()}, alike=1e-6)
    assert said.best == tuple(n for n, value in group.items() if value >= least)
    assert said.undecided == ()


def test_two_repetitions_allow_no_claim_but_a_proof_does() -> None:
    group = {"high": Spread((3.0, 3.0), 2), "low": Spread((1.0, 1.0), 2)}
    assert claims(group) == Claims((), ("high",))
    assert claims(group, bound=3.0) == Claims(("high",))
    assert claims(group, bound=3.1) == Claims((), ("high",))


def test_who_takes_the_answers_of_others_does_not_rob_them_of_their_claim() -> None:
    noisy, low = Spread((0.9, 1.0, 1.1), 3), Spread((0.1, 0.2, 0.3), 3)
    group = {"auto": noisy, "search": noisy, "simple": low}
    assert claims(group) == Claims((), ("auto", "search"))
    assert claims(group, choosing=("auto",)) == Claims(("search",), ("auto",))
    better = {**group, "auto": Spread((2.0, 2.0, 2.0), 3)}
    assert claims(better, choosing=("auto",)) == Claims(("auto",))


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
