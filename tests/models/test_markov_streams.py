"""Chains whose matrices repeat, and chains of numeric columns."""

from __future__ import annotations

import json
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest

from privopt.errors import InvalidModel, InvalidProblem
from privopt.measures import bayesian_leakage
from privopt.models import MarkovChain


def day(seed: int, period: int = 3, k: int = 2) -> list[list[list[int]]]:
    table: list[list[list[int]]] = np.random.default_rng(seed).integers(1, 9, (period, k, k)).tolist()
    return table


def test_fit_counts_each_step_of_the_period_apart() -> None:
    rng = np.random.default_rng(3)
    streams: list[list[str | None]] = [["abc"[i] for i in rng.integers(0, 3, n)] for n in (40, 31)]
    streams[0][7] = None
    counts = np.full((4, 3, 3), Fraction(1, 2), dtype=object)
    for stream in streams:
        for t, (one, other) in enumerate(pairwise(stream)):
            if one is not None and other is not None:
                counts[t % 4, "abc".index(one), "abc".index(other)] += 1
    chain = MarkovChain.fit(streams, smoothing=0.5, period=4)
    assert chain.period == 4
    assert chain.max_length is None
    for t in range(9):
        for i, row in enumerate(chain.exact_step(t)):
            whole = sum(counts[t % 4, i])
            assert [row.fraction(j) for j in range(3)] == [c / whole for c in counts[t % 4, i]]


def test_the_distribution_comes_back_exactly_after_a_period() -> None:
    exact = [[[Fraction(w, sum(row)) for w in row] for row in matrix] for matrix in day(0, 3, 3)]
    chain = MarkovChain.periodic(exact)
    assert chain.returns
    assert not chain.stationary
    now = [chain.exact_initial.fraction(i) for i in range(3)]
    for t in range(7):
        assert [chain.exact_marginal(t).fraction(i) for i in range(3)] == now
        assert chain.marginal(t) == pytest.approx([float(p) for p in now], rel=1e-14)
        now = [sum(now[i] * exact[t % 3][i][j] for i in range(3)) for j in range(3)]
    assert chain.exact_marginal(3 * 10**9 + 1) == chain.exact_marginal(1)
    assert chain.marginals(8)[7] == pytest.approx(chain.marginal(1), rel=1e-14)


@pytest.mark.parametrize("initial", [None, [1, 0]])
def test_a_periodic_chain_is_its_unrolled_chain(initial: list[int] | None) -> None:
    exact = [[[Fraction(w, sum(row)) for w in row] for row in matrix] for matrix in day(1)]
    chain = MarkovChain.periodic(exact, initial, ["low", "high"])
    unrolled = chain.unrolled(8)
    assert unrolled.max_length == 8
    assert unrolled.period is None
    for t in range(7):
        assert unrolled.exact_step(t) == chain.exact_step(t)
        assert unrolled.exact_marginal(t) == chain.exact_marginal(t)
        assert unrolled.reversed(t + 1) == pytest.approx(chain.reversed(t + 1), rel=1e-13)
    assert unrolled.marginals(8) == pytest.approx(chain.marginals(8), rel=1e-13)
    assert chain.returns is (initial is None)


def test_days_that_are_sequences_of_their_own_give_a_chain_of_one_day() -> None:
    chain = MarkovChain.fit([list("aab"), list("bab"), list("abb")], period=3, smoothing=0.5)
    assert chain.max_length == 3
    assert chain.initial.tolist() == [0.625, 0.375]


def test_documents_keep_periods_and_columns_and_older_ones_are_as_they_were() -> None:
    plain = MarkovChain([[0.75, 0.25], [0.5, 0.5]])
    assert not {"periodic", "columns"} & set(plain.to_dict())
    assert plain.to_dict()["version"] == 1
    numbers = [1.0, 7.5, 9.0, 2.0, 3.0, 8.0, None, 4.0, 1.0]
    chain = MarkovChain.fit(numbers, bins=[0, 5, 10], smoothing=1, period=2, column="watts", users="house")
    again = MarkovChain.from_dict(json.loads(json.dumps(chain.to_dict())))
    assert again == chain
    assert again.columns == chain.columns
    assert again.states == ("0 to 5", "5 to 10")
    assert again.columns is not None
    assert again.columns.letters(["4.9", "", "5"]) == ["0 to 5", None, "5 to 10"]
    assert chain != chain.unrolled(3)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"period": 1}, "period is 1"),
        ({"period": 2, "order": 2}, "order 1"),
        ({"period": 5}, "at step"),
        ({"bins": "quantiles:2"}, "not a number"),
        ({"bins": "quantiles:2", "states": ["a", "b"]}, "leave states out"),
    ],
)
def test_bad_periods_and_bins(options: dict[str, object], message: str) -> None:
    with pytest.raises(InvalidModel, match=message):
        MarkovChain.fit(list("abaabbab"), **options)  # type: ignore[arg-type]  # what a user may write


def test_numbers_outside_of_the_bins_are_counted_and_not_quoted() -> None:
    with pytest.raises(InvalidModel, match="2 of 5 records are outside the bins") as caught:
        MarkovChain.fit([1.0, 2.0, 3.0, 77.125, 88.0], bins=[0, 2, 4])
    assert "77" not in str(caught.value)
    chain = MarkovChain.fit([1.0, 2.0, 3.0, 1.0], bins=[0, 2, 4], column="x")
    assert chain.columns is not None
    with pytest.raises(InvalidModel, match="in row 3 is outside its bins, 0 to 4") as refused:
        chain.columns.letters(["1", "", "77.125"])
    assert "77" not in str(refused.value)


def test_what_needs_an_end_says_so() -> None:
    chain = MarkovChain.periodic([[[0.5, 0.5], [0.25, 0.75]], [[0.5, 0.5], [0.5, 0.5]]])
    with pytest.raises(InvalidProblem, match="unrolled"):
        bayesian_leakage(chain, 0.1)
    assert bayesian_leakage(chain.unrolled(4), 0.1).value > 0.1
