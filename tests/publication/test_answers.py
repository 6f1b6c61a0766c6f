"""Answers of colourings: possible ones, as often as some datasets, or the very ones that were asked about, give them."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom

import privopt as po
from privopt.errors import FileRefused, InvalidMechanism
from privopt.publication import answers
from privopt.publication.answers import answer_texts, fault_of_answers
from privopt.publication.frequencies import ALARM
from privopt.publication.released import Layout
from privopt.publication.table import check_table

PLACES = [(i, j) for i in range(3) for j in range(3)]
EDGES = [(a, b) for a in PLACES for b in PLACES if a < b and abs(a[0] - b[0]) + abs(a[1] - b[1]) == 1]
GRAPH = po.DatasetGraph(EDGES, {v: "passed" if sum(v) >= 2 else "failed" for v in PLACES}, PLACES)
PROBLEM = po.BoundaryColouring(GRAPH, epsilon=1.0)
CHANCES = np.array([0.1, 0.3, 0.7, 0.3, 0.7, 0.9, 0.7, 0.9, 0.96])
VOTES = po.Colouring(np.stack([1 - CHANCES, CHANCES], axis=1), ["failed", "passed"], vertices=PLACES)
THREE = po.Colouring([[0.5, 0.5, 0.0], [0.25, 0.5, 0.25]], [1, "1", ("a", "b")])


def asked(rows: int, seed: int) -> list[tuple[int, int]]:
    return [PLACES[i] for i in np.random.default_rng(seed).integers(0, 9, rows).tolist()]


def test_possible_answers_are_those_that_a_release_writes() -> None:
    assert answer_texts(THREE) == ("1", "a, b")
    assert (
        fault_of_answers(THREE, ["1", "a, b", "b"])
        == "row 3 holds what is never answered; possible are '1', 'a, b'"
    )
    assert (
        fault_of_answers(THREE, ["1", "a, b"], [0, 0])
        == "row 2 holds an answer that is never given about its dataset"
    )
    with pytest.raises(InvalidMechanism, match="1 datasets for 2 answers"):
        fault_of_answers(THREE, ["1", "1"], [0])
    with pytest.raises(InvalidMechanism, match="no vertex 7"):
        fault_of_answers(THREE, ["1"], [7])


def test_counts_are_refused_just_where_no_datasets_make_them_plausible() -> None:
    """Against the tails of the two datasets that give an answer most and least often."""
    n = 200
    for count in range(n + 1):
        told = fault_of_answers(VOTES, ["passed"] * count + ["failed"] * (n - count))
        often, seldom = binom.sf(count - 1, n, 0.96), binom.cdf(count, n, 0.1)
        assert (told is not None) == (min(often, seldom) < ALARM / 4)
    assert "at most about 180 times whatever the datasets are" in (
        fault_of_answers(VOTES, ["failed"] * n) or ""
    )


@pytest.mark.parametrize("known", [True, False])
def test_true_answers_are_refused_no_oftener_than_is_said(
    known: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(answers, "ALARM", 0.05)
    alarms = 0
    for seed in range(200):
        about = asked(200, seed) if known else [PLACES[8 * (seed % 2)]] * 200
        cells = [str(y) for y in VOTES.release(about, np.random.default_rng(seed))]
        alarms += fault_of_answers(VOTES, cells, about if known else None) is not None
    assert alarms <= 0.05 * 200


def test_altered_answers_are_seen_by_who_has_the_datasets() -> None:
    about = asked(20000, 0)
    cells = [str(y) for y in VOTES.release(about, np.random.default_rng(0))]
    assert fault_of_answers(VOTES, cells, about) is None
    failed = [i for i, cell in enumerate(cells) if cell == "failed"][:1000]
    for i in failed:
        cells[i] = "passed"
    assert "should about" in (fault_of_answers(VOTES, cells, about) or "")
    assert fault_of_answers(VOTES, cells) is None  # other datasets would be answered so


def test_a_table_of_answers_and_what_stands_beside_them() -> None:
    about = asked(400, 3)
    table = {"town": [f"t{i}" for i in range(400)], "released": [str(y) for y in VOTES.release(about)]}
    told = check_table(PROBLEM, VOTES, table, Layout(by="town"))
    assert told.ok
    assert "a true release is refused with probability 1e-06 at most" in told.sentence()
    assert check_table(PROBLEM, VOTES, table).beside == ("town",)
    east = {**table, "east": [str(v[0]) for v in about]}
    assert "'east' holds values that name datasets" in check_table(PROBLEM, VOTES, east).reason
    assert not check_table(PROBLEM, VOTES, east, Layout(("released",), kept=("east",))).ok
    assert check_table(PROBLEM, VOTES, east, Layout(("released",), kept=("east",), accepted=True)).ok
    swapped = {"town": table["released"], "released": table["town"]}
    assert "never answered" in check_table(PROBLEM, VOTES, swapped).reason
    assert "no column 'city'" in check_table(PROBLEM, VOTES, table, Layout(by="city")).reason
    with pytest.raises(FileRefused, match="name them"):
        check_table(PROBLEM, VOTES, {"a": ["passed", "no"], "b": ["maybe", "failed"]})
