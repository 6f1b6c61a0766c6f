from __future__ import annotations

import copy
import json
import math
import pickle
from collections import Counter
from fractions import Fraction
from itertools import pairwise, product
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from privopt.errors import InvalidModel
from privopt.models import MarkovChain, model_from_dict

WEIGHT = st.one_of(
    st.integers(1, 10**15), st.floats(1e-9, 1e6), st.fractions(Fraction(1, 1000), 100, max_denominator=1000)
)


@st.composite
def matrices(draw: st.DrawFn) -> list[list[Any]]:
    k = draw(st.integers(1, 4))
    return draw(st.lists(st.lists(WEIGHT, min_size=k, max_size=k), min_size=k, max_size=k))


def exact_rows(matrix: list[list[Any]]) -> list[list[Fraction]]:
    rows = [[Fraction(v) for v in row] for row in matrix]
    return [[v / sum(row) for v in row] for row in rows]


def step_distribution(distribution: list[Fraction], rows: list[list[Fraction]]) -> list[Fraction]:
    return [
        sum((p * row[j] for p, row in zip(distribution, rows, strict=True)), Fraction(0))
        for j in range(len(distribution))
    ]


@settings(max_examples=60, deadline=None)
@given(matrices())
def test_stationary_distribution_is_invariant_and_rounded_correctly(matrix: list[list[Any]]) -> None:
    chain = MarkovChain.normalised(matrix)
    rows = exact_rows(matrix)
    distribution = [chain.exact_initial.fraction(i) for i in range(chain.k)]
    assert sum(distribution) == 1
    assert step_distribution(distribution, rows) == distribution
    assert chain.initial.tolist() == [float(p) for p in distribution]
    assert chain.transition.tolist() == [[float(p) for p in row] for row in rows]
    assert chain.stationary
    assert MarkovChain.normalised(matrix, distribution).stationary
    backward = [
        [distribution[i] * rows[i][j] / distribution[j] for i in range(chain.k)] for j in range(chain.k)
    ]
    assert chain.reversed(3).tolist() == [[float(p) for p in row] for row in backward]


def test_stationary_distribution_agrees_with_an_eigenvector() -> None:
    matrix = np.random.default_rng(0).random((45, 45))
    chain = MarkovChain.normalised(matrix)
    values, vectors = np.linalg.eig(chain.transition.T)
    vector = np.real(vectors[:, np.argmax(np.real(values))])
    np.testing.assert_allclose(chain.initial, vector / vector.sum(), rtol=1e-10)


@settings(max_examples=40, deadline=None)
@given(matrices(), st.integers(0, 12))
def test_marginals_agree_with_fractions(matrix: list[list[Any]], t: int) -> None:
    start = [Fraction(1)] + [Fraction(0)] * (len(matrix) - 1)
    chain = MarkovChain.normalised(matrix, start)
    rows = exact_rows(matrix)
    distribution, before = start, start
    for _ in range(t):
        distribution, before = step_distribution(distribution, rows), distribution
    assert [chain.exact_marginal(t).fraction(i) for i in range(chain.k)] == distribution
    np.testing.assert_allclose(chain.marginal(t), [float(p) for p in distribution], rtol=1e-13)
    np.testing.assert_array_equal(chain.marginals(t + 1)[0], chain.initial)
    np.testing.assert_allclose(chain.marginals(t + 1)[t], chain.marginal(t), rtol=1e-14)
    if t:
        joint = [
            [float(before[i] * rows[i][j] / distribution[j]) for i in range(chain.k)] for j in range(chain.k)
        ]
        np.testing.assert_allclose(chain.reversed(t), joint, rtol=1e-12)


def test_distant_records_are_cheap_and_converge() -> None:
    chain = MarkovChain([[0.99, 0.01], [0.8, 0.2]], initial=[0.0, 1.0])
    limit = MarkovChain(chain.transition).initial
    for t in (10**4, 10**7, 10**15):
        np.testing.assert_allclose(chain.marginal(t), limit, rtol=1e-12)
    marginals = chain.marginals(10**5)
    np.testing.assert_allclose(marginals.sum(axis=1), 1.0, rtol=1e-15)
    for t in range(0, 10**5, 997):
        np.testing.assert_allclose(chain.marginal(t), marginals[t], rtol=1e-15)


def test_one_matrix_per_step() -> None:
    first, second = [[0.5, 0.5], [0.25, 0.75]], [[1, 0], [1, 0]]
    chain = MarkovChain([first, second], initial=[1, 0], states=["a", "b"])
    assert not chain.homogeneous
    assert chain.max_length == 3
    assert chain.transition.shape == (2, 2, 2)
    assert chain.step(1).tolist() == [[1.0, 0.0], [1.0, 0.0]]
    assert [row.weights for row in chain.exact_step(0)] == [(1, 1), (1, 3)]
    assert chain.marginals(3).tolist() == [[1, 0], [0.5, 0.5], [1, 0]]
    assert chain.marginal(2).tolist() == [1, 0]
    assert chain.exact_marginal(2).weights == (1, 0)
    assert chain.reversed(2).tolist() == [[0.5, 0.5], [0, 0]]
    assert repr(chain) == "MarkovChain(2 states, 2 steps)"
    assert chain == MarkovChain(
        np.array([first, second], dtype=object), initial=[1.0, 0.0], states=["a", "b"]
    )
    assert MarkovChain([first, first], initial=[0, 1]).stationary is False
    assert MarkovChain.normalised([first, first], initial=[1, 2]).stationary
    for use in (chain.step, chain.exact_step):
        with pytest.raises(InvalidModel, match="record 3 is beyond the last one, 2"):
            use(2)
    for look in (chain.marginal, chain.exact_marginal, chain.reversed):
        with pytest.raises(InvalidModel, match="record 3 is beyond the last one, 2"):
            look(3)
    with pytest.raises(InvalidModel, match="beyond"):
        chain.marginals(4)


def test_records_before_the_first() -> None:
    chain = MarkovChain([[0.5, 0.5], [0.25, 0.75]])
    assert chain.max_length is None
    for look in (chain.step, chain.exact_step, chain.marginal, chain.exact_marginal, chain.reversed):
        with pytest.raises(InvalidModel, match="record -1 does not exist"):
            look(-1)
    with pytest.raises(InvalidModel, match="no record before"):
        chain.reversed(0)


HALF = [[0.5, 0.5], [0.5, 0.5]]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ([[0.5, 0.4], [0.5, 0.5]],),
            r"row 0 \(state 0\) of transition sums to 0.9, .*MarkovChain.normalised",
        ),
        (([HALF, [[1, 0], [2, 0]]], [1, 0]), r"row 1 \(state 1\) of transition\[1\] sums to 2.0"),
        (([[0.5, 0.5], [-0.5, 1.5]],), r"transition\[1, 0\] is -0.5"),
        (([[0.5, math.nan], [0.5, 0.5]],), r"transition\[0, 1\] is nan"),
        (([[0.5, math.inf], [0.5, 0.5]],), r"transition\[0, 1\] is inf"),
        (([[0.5, 0.5]],), r"shape \(1, 2\): give a square"),
        (([0.5, 0.5],), "give a square"),
        ((np.ones((1, 1, 1, 1)),), "give a square"),
        (([],), "transition is empty"),
        (([[0.5, 0.5], [1.0]],), "different lengths"),
        (([HALF, [[1.0]]], [1, 0]), "different lengths"),
        (([np.ones((2, 2)), np.ones((2, 3))], [1, 0]), "different lengths"),
        ((np.eye(2) > 0,), "a bool"),
        (([["0.5", "0.5"]] * 2,), "a str"),
        ((HALF, [0.5, 0.4]), "initial sums to 0.9"),
        ((HALF, [1.0]), r"initial has shape \(1,\): give one probability for each of the 2"),
        ((HALF, [1.5, -0.5]), r"initial\[1\] is -0.5"),
        ((HALF, None, ["a"]), "states holds 1 labels for 2"),
        ((HALF, None, ["a", "a"]), "repeats the label 'a'"),
        ((HALF, None, "ab"), "give a list of labels"),
        (([HALF, HALF],), "no stationary distribution: give initial="),
        ((np.eye(2), None, ["a", "b"]), "not unique .*'a' and 'b' never reach.*give initial="),
        (([[0.5, 0.5], [0, 1]], None, ["a", "b"]), "probability 0 to the state 'a'.*drop the state"),
    ],
)
def test_bad_chains(arguments: Any, message: str) -> None:
    with pytest.raises(InvalidModel, match=message):
        MarkovChain(*arguments)


def test_periodic_and_reducible_chains_with_an_initial_law() -> None:
    assert MarkovChain([[0, 1], [1, 0]]).initial.tolist() == [0.5, 0.5]
    assert MarkovChain(np.eye(2), initial=[0.25, 0.75]).stationary
    assert MarkovChain([[0.5, 0.5], [0, 1]], initial=[0, 1]).reversed(1).tolist() == [[0, 0], [0, 1]]
    with pytest.raises(InvalidModel, match=r"row 1 \(state 1\) of transition sums to 0"):
        MarkovChain.normalised([[1, 1], [0, 0]])


def test_labels() -> None:
    chain = MarkovChain(HALF, states=np.array(["a", "b"]))
    assert chain.index("b") == 1
    assert chain.letters == chain.states == ("a", "b")
    for label in ("c", ["a"], 0):
        with pytest.raises(InvalidModel, match=r"no state is called .*the states are 'a', 'b'"):
            chain.index(label)  # type: ignore[arg-type]


def brute_force(sequences: list[list[Any]], order: int) -> Counter[tuple[Any, Any]]:
    counts: Counter[tuple[Any, Any]] = Counter()
    for sequence in sequences:
        for i in range(len(sequence) - order):
            window = sequence[i : i + order + 1]
            if None not in window:
                counts[tuple(window[:-1]), tuple(window[1:])] += 1
    return counts


@settings(max_examples=80, deadline=None)
@given(
    st.lists(st.lists(st.sampled_from(["a", "b", "c", None]), max_size=30), min_size=1, max_size=4),
    st.integers(1, 3),
    st.sampled_from([0.5, 0.1, 1]),
)
def test_fit_counts_what_a_loop_counts(sequences: list[list[Any]], order: int, smoothing: float) -> None:
    oracle = brute_force(sequences, order)
    if not oracle:
        with pytest.raises(InvalidModel, match=f"no transition of order {order}|are empty"):
            MarkovChain.fit(sequences, order=order, smoothing=smoothing)
        return
    chain = MarkovChain.fit(sequences, order=order, smoothing=smoothing)
    letters = sorted({v for s in sequences for v in s if v is not None})
    words = list(product(letters, repeat=order))
    assert chain.letters == tuple(letters)
    assert chain.order == order
    assert chain.states == (tuple(letters) if order == 1 else tuple(words))
    assert chain.counts == tuple(tuple(oracle[u, v] for v in words) for u in words)
    for i, u in enumerate(words):
        row = [oracle[u, v] + Fraction(smoothing) if u[1:] == v[:-1] else Fraction(0) for v in words]
        assert [chain.exact_step(0)[i].fraction(j) for j in range(len(words))] == [v / sum(row) for v in row]
    assert MarkovChain.from_dict(json.loads(json.dumps(chain.to_dict()))) == chain


def test_higher_order_without_smoothing_keeps_the_words_that_occur() -> None:
    text = list("aabaabaabbaab" * 3)
    chain = MarkovChain.fit(text, order=2)
    assert chain.states == tuple(sorted(set(pairwise(text))))
    oracle = brute_force([text], 2)
    assert chain.counts == tuple(tuple(oracle[u, v] for v in chain.states) for u in chain.states)
    assert "order 2" in repr(chain)


DATA = [0, 1, 1, 0, 2, 1, 0, 0, 2, 0, 1, 2]


@pytest.mark.parametrize(
    "sequences",
    [
        DATA,
        tuple(DATA),
        [DATA],
        np.array(DATA),
        np.array([DATA]),
        np.array(DATA, dtype=np.uint8),
        list(np.array(DATA)),
        pd.Series(DATA, index=DATA),
        pd.Series(DATA, dtype="Int64"),
        pd.Series(DATA, dtype="category"),
        pl.Series(DATA),
        [pl.Series(DATA)],
        [np.array(DATA), pd.Series([1])],
        iter(DATA),
        (sequence for sequence in [DATA, [2]]),
    ],
    ids=lambda value: type(value).__name__,
)
def test_forms_of_sequences(sequences: Any) -> None:
    chain = MarkovChain.fit(sequences)
    oracle = pd.crosstab(np.array(DATA[:-1]), np.array(DATA[1:]))
    assert chain.states == (0, 1, 2)
    assert [list(row) for row in chain.counts or ()] == oracle.to_numpy().tolist()


@pytest.mark.parametrize(
    "sequences",
    [
        [1, 2, None, 1, 2, 1],
        [1, 2, math.nan, 1, 2, 1],
        [1, 2, pd.NA, 1, 2, 1],
        [1, 2, pd.NaT, 1, 2, 1],
        [[1, 2], [1, 2, 1]],
        np.array([1, 2, math.nan, 1, 2, 1]),
        np.array([1, 2, None, 1, 2, 1]),
        np.ma.masked_array([1, 2, 2, 1, 2, 1], np.array([0, 0, 1, 0, 0, 0]) > 0),
        np.array([[1, 2, math.nan], [1, 2, 1]]),
        pd.Series([1, 2, None, 1, 2, 1]),
        pd.Series([1, 2, None, 1, 2, 1], dtype="Int64"),
        pl.Series([1, 2, None, 1, 2, 1]),
        pl.Series([1, 2, math.nan, 1, 2, 1], strict=False),
    ],
    ids=lambda value: type(value).__name__,
)
def test_missing_values_split_sequences(sequences: Any) -> None:
    chain = MarkovChain.fit(sequences)
    assert chain.states == (1, 2)
    assert chain.counts == ((0, 2), (1, 0))


def test_strings_as_letters_and_as_sequences() -> None:
    labels = ["sun", "rain", "sun", "sun"]
    assert MarkovChain.fit([labels]) == MarkovChain.fit(labels, states=["rain", "sun"])
    assert MarkovChain.fit(pd.Series(labels)) == MarkovChain.fit([labels])
    assert MarkovChain.fit(["abab", "ba"], states=["a", "b"]) == MarkovChain.fit([list("abab"), list("ba")])
    assert MarkovChain.fit(["abab", ["b", "a"]]) == MarkovChain.fit([list("abab"), list("ba")])
    assert MarkovChain.fit(["a", "b", "a"]).counts == ((0, 1), (1, 0))


@pytest.mark.parametrize(
    ("sequences", "options", "message"),
    [
        ("abab", {}, r"one string: give list\(text\)"),
        (b"abab", {}, "one string"),
        (["sun", "rain", "sun"], {}, "one sequence of labels or many sequences of characters"),
        (7, {}, "sequences are a int"),
        ({"a": 1}, {}, "sequences are a dict"),
        ({1, 2}, {}, "sequences are a set"),
        (pd.DataFrame({"a": [1, 2]}), {}, "a data frame: give one of its columns"),
        (np.zeros((2, 2, 2)), {}, "3 dimensions"),
        ([np.zeros((2, 2))], {}, "2 dimensions: give one-dimensional"),
        (np.array(["2020-01-01"], dtype="datetime64[D]"), {}, "dates or durations"),
        ([], {}, "sequences are empty"),
        ([[]], {}, "sequences are empty"),
        ([1], {}, "no transition of order 1"),
        ([None, None], {}, "no transition of order 1"),
        ([1, 2, 1], {"order": 5}, "no transition of order 5"),
        ([[1, 2], 3], {}, "item 1 of sequences is a value among sequences"),
        ([[[1], [2]]], {}, r"position 0 of sequence 0 holds a value, which cannot be hashed"),
        (
            [[0, 1], [1, 0, 5]],
            {"states": [0, 1]},
            "position 2 of sequence 1 holds a value, which is not in states",
        ),
        ([0, pd.NA, 5], {"states": [0, 1]}, "position 2 of sequence 0 holds a value"),
        ([0, 1], {}, "no transition leaves the state 1: use smoothing"),
        ([0, 1, 0], {"states": [0, 1, 2]}, "no transition leaves the state 2"),
        ([0, 1, 0], {"states": [0, 0]}, "repeats the label 0"),
        ([0, 1, 0], {"order": 0}, "order is 0"),
        ([0, 1, 0], {"order": 1.0}, "order is 1.0"),
        ([0, 1, 0], {"order": True}, "order is True"),
        ([0, 1, 0], {"smoothing": -1}, "smoothing is -1: give a finite"),
        ([0, 1, 0], {"smoothing": math.nan}, "smoothing is nan"),
        ([0, 1, 0], {"smoothing": math.inf}, "smoothing is inf"),
        ([0, 1, 0], {"smoothing": "1"}, "smoothing is '1': give a number"),
        (list(range(100)) * 2, {"order": 2, "smoothing": 1}, "would have 10000 states"),
        (list(range(100)) * 2, {"order": 9}, "too many words"),
        ([0, 1, 1], {}, "gives probability 0 to the state 0.*smoothing > 0"),
        ([[0, 0], [1, 1]], {}, "not unique"),
    ],
)
def test_bad_fits(sequences: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidModel, match=message):
        MarkovChain.fit(sequences, **options)


def test_letters_without_an_order_stay_as_they_came() -> None:
    assert MarkovChain.fit([["b", 1, "b", 1, 1]]).states == ("b", 1)


def test_a_million_letters() -> None:
    letters = np.random.default_rng(0).integers(0, 4, 10**6)
    oracle = np.bincount(letters[:-1] * 4 + letters[1:], minlength=16).reshape(4, 4)
    assert np.array_equal(MarkovChain.fit(letters).counts or (), oracle)


CHAINS = [
    MarkovChain([[0.99, 0.01], [0.8, 0.2]]),
    MarkovChain([[Fraction(1, 3), Fraction(2, 3)], [1, 0]], initial=[0.1, 0.9], states=["a", "b"]),
    MarkovChain([HALF, HALF], initial=[1, 0], states=[(1, "x"), (2, "y")]),
    MarkovChain.normalised([[3, 4], [5, 6]], initial=[2, 7]),
    MarkovChain.fit(list("abbabaab"), order=2, smoothing=0.1),
]


@pytest.mark.parametrize("chain", CHAINS, ids=repr)
def test_round_trips(chain: MarkovChain) -> None:
    text = json.dumps(chain.to_dict(), allow_nan=False)
    for again in (
        MarkovChain.from_dict(json.loads(text)),
        model_from_dict(json.loads(text)),
        pickle.loads(pickle.dumps(chain)),
        copy.deepcopy(chain),
    ):
        assert isinstance(again, MarkovChain)
        assert again == chain
        assert hash(again) == hash(chain)
        assert again.counts == chain.counts
        assert json.dumps(again.to_dict()) == text
        assert not again.transition.flags.writeable
    assert sum(chain == other for other in CHAINS) == 1


GOOD = MarkovChain(HALF, states=["a", "b"]).to_dict()
WORDS = MarkovChain.fit(list("abbabaab"), order=2, smoothing=1).to_dict()


@pytest.mark.parametrize("key", ["type", "transition"])
def test_documents_that_lack_a_key(key: str) -> None:
    with pytest.raises(InvalidModel, match="type None" if key == "type" else f"no key '{key}'"):
        model_from_dict({k: v for k, v in GOOD.items() if k != key})


def test_a_document_needs_only_its_transition() -> None:
    assert model_from_dict({"type": "markov_chain", "transition": [[0.5, 0.5], [0.25, 0.75]]}) == MarkovChain(
        [[0.5, 0.5], [0.25, 0.75]]
    )


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ({**GOOD, "transition": {"a": 1}}, "transition is .*expected a list"),
        ({**GOOD, "transition": [[0.5, "x"], [0.5, 0.5]]}, "transition holds 'x'"),
        ({**GOOD, "transition": [[0.5, 0.4], [0.5, 0.5]]}, "sums to 0.9"),
        ({**GOOD, "transition": [[[[1]]]]}, "transition holds"),
        ({**GOOD, "initial": [[1], [0]]}, "initial holds"),
        ({**GOOD, "states": "ab"}, "states is 'ab': expected a list"),
        ({**GOOD, "letters": ["a", "c"]}, "letters differ from states"),
        ({**GOOD, "order": "1"}, "order is '1'"),
        ({**GOOD, "order": 2}, "words of 2 letters"),
        ({**GOOD, "counts": 3}, "counts are not 2 lists"),
        ({**GOOD, "counts": [[1, 2], [3, 0.5]]}, "counts are not 2 lists"),
        ({**WORDS, "order": 3}, "not a word of 3"),
        ({**WORDS, "letters": ["a"]}, "not a word of 2"),
        ({**WORDS, "transition": [[1, 1, 1, 1]] * 4}, "do not overlap"),
        ([], "a dict, not a list"),
    ],
)
def test_bad_documents(document: Any, message: str) -> None:
    with pytest.raises(InvalidModel, match=message):
        model_from_dict(document)


def test_values_are_copied_and_read_only() -> None:
    matrix = np.array(HALF)
    chain = MarkovChain(matrix, initial=[1, 0])
    matrix[:] = 0
    assert chain.transition.tolist() == HALF
    arrays = [chain.transition, chain.initial, chain.step(0), chain.marginal(1), chain.marginal(5)]
    for array in [*arrays, chain.marginals(3), chain.reversed(1), MarkovChain(HALF).marginals(2)]:
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0


def test_equality_is_of_law_and_labels() -> None:
    chain = MarkovChain([[0.75, 0.25], [0.5, 0.5]])
    assert chain == MarkovChain.normalised([[3, 1], [2, 2]])
    assert chain == MarkovChain.normalised([[3, 1], [2, 2]], initial=[2, 1])
    assert chain != MarkovChain.normalised([[3, 1], [2, 2]], initial=[1, 1])
    assert chain != MarkovChain([[[0.75, 0.25], [0.5, 0.5]]], initial=[Fraction(2, 3), Fraction(1, 3)])
    assert chain != "chain"
    assert "<table>" in chain._repr_html_()
