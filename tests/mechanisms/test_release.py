"""Releases: containers, marks, exact sampling."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import privopt as po
from privopt.mechanisms.sampling import below

MECHANISM = po.RedactionMechanism([[1, 1], [0.25, 0.75], [0, 0]], ("dry", "wet"))


def test_lists_arrays_and_tables() -> None:
    released = MECHANISM.release(["wet", "dry", "wet"])
    assert isinstance(released, np.ndarray)
    assert released[0] is None
    assert released[2] == "wet"
    table = MECHANISM.release(np.array([["wet", "dry", "wet"], ["dry", "dry", "dry"]]))
    assert table.shape == (2, 3)
    assert table[1, 2] == "dry"


def test_columns_keep_their_library() -> None:
    column = MECHANISM.release(pd.Series(["wet", "dry", "wet"], index=[5, 6, 7], name="rain"))
    assert list(column.index) == [5, 6, 7]
    assert column.name == "rain"
    assert column.isna()[5]
    assert column.attrs["simulated"] is False
    polars = pytest.importorskip("polars")
    released = MECHANISM.release(polars.Series("rain", ["wet", "dry", "wet"]))
    assert released.name == "rain"
    assert released[0] is None
    simulated = MECHANISM.release(polars.Series("rain", ["wet", "dry", "wet"]), rng=np.random.default_rng(0))
    assert simulated.name == "rain (simulated)"


def test_a_simulation_says_so_and_repeats() -> None:
    first = MECHANISM.release(["wet"] * 3, rng=np.random.default_rng(3))
    again = MECHANISM.release(["wet"] * 3, rng=np.random.default_rng(3))
    assert first.simulated
    assert first[1:].simulated
    assert first.tolist() == again.tolist()
    assert not MECHANISM.release(["wet"] * 3).simulated


@pytest.mark.parametrize(("letter", "column"), [("dry", 0), ("wet", 1)])
def test_sampled_frequencies_follow_the_weights(letter: str, column: int) -> None:
    users = 40_000
    released = MECHANISM.release(np.full((users, 3), letter))
    redacted = int(sum(cell is None for cell in released[:, 1]))
    expected = MECHANISM.exact()[1, column] / 2**52
    assert stats.binomtest(redacted, users, expected).pvalue > 1e-9
    assert all(cell is None for cell in released[:, 0])
    assert all(cell == letter for cell in released[:, 2])


@pytest.mark.parametrize("total", [1, 2, 3, 7, 2**52, 2**63 - 25, 2**63])
def test_integers_below_a_total_are_uniform(total: int) -> None:
    drawn = below(total, (20_000,), None)
    assert int(drawn.max()) < total
    cells = np.minimum((drawn.astype(float) / total * min(total, 8)).astype(int), min(total, 8) - 1)
    counts = np.bincount(cells, minlength=min(total, 8))
    assert total == 1 or stats.chisquare(counts).pvalue > 1e-9


def test_rounding_is_towards_redaction_and_stays() -> None:
    table = np.array([[1e-300, 1 / 3], [1 - 2**-53, 0.0]])
    weights = po.RedactionMechanism(table).exact()
    assert weights.tolist() == [[1, -(-(2**52) // 3)], [2**52, 0]]
    quantised = po.RedactionMechanism(table).quantised()
    assert (quantised.probabilities >= table).all()
    assert quantised.quantised() == quantised


@pytest.mark.parametrize(
    ("data", "fragment"),
    [
        (["wet", "dry"], "2 records, the mechanism is for 3"),
        (["wet", "snow", "dry"], "record 1: the letter is not one of"),
        (["wet", None, "dry"], "record 1: the letter is missing"),
        ("wet", "not one string"),
        ([["wet", "dry", "dry"], ["wet"]], "different lengths"),
        (np.zeros((1, 1, 3)), "3 dimensions"),
        ([["wet", "dry", "fog"]], "row 0, record 2"),
    ],
)
def test_data_that_do_not_fit_are_refused(data: object, fragment: str) -> None:
    with pytest.raises(po.errors.InvalidMechanism, match=fragment):
        MECHANISM.release(data)


def test_an_uncertified_mechanism_releases_only_as_a_simulation() -> None:
    problem = po.Redaction(po.MarkovChain([[0.9, 0.1], [0.4, 0.6]]), 4, 1, 1.0)
    solution = po.solve(problem, certify=False)
    assert solution.certificate is None
    assert "not certified" in solution.reason
    with pytest.raises(po.errors.InvalidMechanism, match="releases only with rng="):
        solution.mechanism.release([0, 1, 0, 1])
    assert len(solution.mechanism.release([0, 1, 0, 1], rng=np.random.default_rng(0))) == 4
    assert not po.verify(problem, solution).ok


@pytest.mark.parametrize(
    ("probabilities", "fragment"),
    [
        ([[0.5, 1.5]], r"probabilities\[0, 1\] = 1.5"),
        ([[0.5, float("nan")]], "nan is not in"),
        ([0.5, 0.5], "shape"),
        ([], "shape"),
        ([["a"]], "table of numbers"),
        ([[0.5], [0.5, 0.5]], "table of numbers"),
    ],
)
def test_mechanisms_refuse_bad_tables(probabilities: object, fragment: str) -> None:
    with pytest.raises(po.errors.InvalidMechanism, match=fragment):
        po.RedactionMechanism(probabilities)  # type: ignore[arg-type]


def test_mechanisms_refuse_bad_labels() -> None:
    with pytest.raises(po.errors.InvalidMechanism, match="distinct labels"):
        po.RedactionMechanism([[1, 1]], ("a", "a"))


def test_a_table_that_may_change_is_copied() -> None:
    table = np.array([[1.0, 1.0], [-0.0, 0.5]])
    view = table.view()
    view.setflags(write=False)
    copies = [po.RedactionMechanism(table), po.RedactionMechanism(view)]
    table[:] = 1.0
    for mechanism in copies:
        assert mechanism.probabilities.tolist() == [[1.0, 1.0], [0.0, 0.5]]
        assert not np.signbit(mechanism.probabilities).any()
        with pytest.raises(ValueError, match="read-only"):
            mechanism.probabilities[0, 0] = 0.0
