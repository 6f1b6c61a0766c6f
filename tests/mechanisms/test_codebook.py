"""Codebooks: names that can be read, and probabilities that are Bayes' rule."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import privopt as po
from privopt.errors import InvalidMechanism
from privopt.mechanisms.codebook import codebook
from privopt.mechanisms.tables import release_cells
from privopt.publication.books import codebook_fault, codebook_part, codebook_remarks

AGES = [20, 28, 31, 40, 47, 60]
FRAME = pd.DataFrame({"s": list("ab") * 6, "age": AGES * 2, "town": ["Ulm"] * 6 + ["Bonn"] * 6})


def joint() -> po.JointDistribution:
    return po.JointDistribution.from_frame(FRAME, "s", ["age", "town"], bins={"age": [17, 25, 35, 45, 90]})


def test_blocks_are_named_after_their_values() -> None:
    counted = joint()
    ages = ("17-24", "25-34", "35-44", "45-90")
    blocks = [
        [(a, t) for a in ages[:2] for t in ("Bonn", "Ulm")],
        [(ages[2], "Bonn"), (ages[3], "Bonn")],
        [(ages[2], "Ulm")],
        [(ages[3], "Ulm")],
    ]
    merging = po.Merging(blocks, counted.useful).described(counted.columns, None)
    book = codebook(merging, counted.useful, counted.p_x)
    assert [entry.name for entry in book] == ["B0", "B1", "B2", "B3"]
    assert [entry.suggestion for entry in book] == [
        "age 17-34", "age 35-90, town Bonn", "age 35-44, town Ulm", "age 45-90, town Ulm",
    ]  # fmt: skip
    assert [round(entry.share * 12) for entry in book] == [6, 3, 1, 2]
    assert (
        merging.release(FRAME)["released"].tolist()
        == ["B0"] * 3 + ["B2", "B3", "B3"] + ["B0"] * 3 + ["B1"] * 3
    )
    assert "age 17-34" in str(book)
    assert "<td>age 17-34</td>" in book._repr_html_()
    assert repr(book) == "Codebook(4 releases)"


def test_a_block_that_is_no_product_says_within() -> None:
    counted = joint()
    first = [("17-24", "Ulm"), ("25-34", "Bonn")]
    rest = [x for x in counted.useful if x not in first]
    book = codebook(
        po.Merging([first, rest], counted.useful).described(counted.columns, None),
        counted.useful,
        counted.p_x,
    )
    assert book.entries[0].suggestion == "within age 17-34"
    assert book.entries[0].members == (("25-34", "Bonn"), ("17-24", "Ulm"))


def test_channels_follow_bayes_rule_and_name_what_is_likely() -> None:
    p = np.array([0.5, 0.3, 0.2])
    matrix = np.array([[0.98, 0.02, 0.0], [0.02, 0.98, 0.0], [0.0, 1.0, 0.0]])
    channel = po.Channel(matrix, ["a", "b", "c"])
    book = codebook(channel, channel.inputs, p)
    assert [entry.suggestion for entry in book] == ["mostly a", "mostly b or c", "never"]
    for y, entry in enumerate(book):
        weights = p * matrix[:, y]
        assert entry.share == pytest.approx(weights.sum())
        for member, probability in zip(entry.members, entry.probabilities, strict=True):
            assert probability == pytest.approx(weights["abc".index(str(member))] / weights.sum())
    columns = book.columns()
    assert list(columns) == ["release", "suggested_name", "share", "symbol", "probability"]
    assert list(zip(columns["release"], columns["symbol"], strict=True)) == [
        ("B0", "a"), ("B0", "b"), ("B1", "b"), ("B1", "c"), ("B1", "a"),
    ]  # fmt: skip


def test_releases_that_stand_one_to_one_for_values_have_their_names() -> None:
    p = np.array([0.6, 0.4])
    matrix = np.array([[0.3, 0.7], [0.8, 0.2]])
    channel = po.Channel(matrix, ["yes", "no"], ["u", "v"])
    assert [entry.suggestion for entry in codebook(channel, channel.inputs, p)] == ["mostly no", "mostly yes"]
    seven = np.full((7, 7), 1 / (np.e + 6)) + np.eye(7) * (np.e - 1) / (np.e + 6)
    wide = po.Channel(seven, list("abcdefg"), range(7))
    book = codebook(wide, wide.inputs, np.full(7, 1 / 7))
    assert [entry.suggestion for entry in book] == [f"most likely {x}" for x in "abcdefg"]
    assert book.entries[2].probabilities[0] == pytest.approx(np.e / (np.e + 6))


@pytest.mark.parametrize(
    "matrix",
    [
        [[0.5, 0.5], [0.5, 0.5]],  # they say nothing
        [[0.6, 0.4], [0.7, 0.3]],  # both come most likely from the first, with p below
        [[0.5, 0.25, 0.25], [0.25, 0.5, 0.25]],  # more releases than values
    ],
)
def test_releases_that_do_not_stand_for_one_value_are_not_named_after_it(matrix: list[list[float]]) -> None:
    channel = po.Channel(matrix, ["yes", "no"])
    book = codebook(channel, channel.inputs, np.array([0.7, 0.3]))
    assert {entry.suggestion for entry in book} == {"anything"}


def test_names_of_releases_do_not_depend_on_impossible_values() -> None:
    channel = po.Channel([[0.7, 0.3], [0.3, 0.7], [0.5, 0.5]], ["yes", "no", "none"])
    book = codebook(channel, channel.inputs, np.array([0.5, 0.5, 0.0]))
    assert [entry.suggestion for entry in book] == ["mostly yes", "mostly no"]


def test_short_names_avoid_values_that_look_like_them() -> None:
    assert release_cells(("B1", "x", "y"), ("B1", "x | y"), (False, True)) == (("B1",), ("B_1",))


def test_a_codebook_of_another_distribution_is_refused() -> None:
    with pytest.raises(InvalidMechanism, match="other symbols"):
        codebook(po.Channel([[1.0]], ["a"]), ("b",), np.array([1.0]))


def test_notebooks_show_sizes_and_no_dump() -> None:
    n = 300
    channel = po.Channel(np.full((n, n), 1 / n), [f"x{i}" for i in range(n)])
    assert len(channel._repr_html_()) < 60_000
    assert f"{n} inputs x {n} outputs" in channel._repr_html_()
    merging = po.Merging([[f"x{i}" for i in range(200)], ["y"]])
    assert len(merging._repr_html_()) < 1000
    table = np.random.default_rng(0).integers(1, 9, (2, n))
    page = po.LocalInformationPrivacy(po.JointDistribution.normalised(table), 0.5)._repr_html_()
    assert f"JointDistribution(2 sensitive x {n} useful symbols)" in page
    assert "[[" not in page
    assert len(page) < 2000
    problem = po.Redaction(po.MarkovChain([[0.75, 0.25], [0.5, 0.5]]), 5, 2, epsilon=1.0)
    frontier = po.frontier(problem, [0.5, 1.0], "windows")
    assert repr(frontier) == str(frontier)
    assert repr(frontier).splitlines()[0].startswith("budget")
    assert repr(frontier[0]) == f"Solution({frontier[0]})"


def test_symbols_of_hardly_any_probability_are_counted_and_not_listed() -> None:
    joint = po.JointDistribution([[0.3, 0.1, 0.1], [0.2, 0.2, 0.1]], ["r", "b"], ["x", "y", "z"])
    matrix = [[1 - 2e-15, 1e-15, 1e-15], [0.5, 0.5, 0.0], [1e-15, 1e-15, 1 - 2e-15]]
    channel = po.Channel(matrix, joint.useful)
    book = codebook(channel, joint.useful, joint.p_x)
    assert [(entry.members, entry.rare) for entry in book] == [(("x", "y"), 1), (("y",), 2), (("z",), 1)]
    assert book.note.startswith(
        "4 symbols that a release comes from with a probability below 1e-09 are not listed"
    )
    assert str(book).endswith(f"{book.note}.")
    assert book.note in book._repr_html_()
    assert len(book.columns()["release"]) == 4
    whole = codebook(channel, joint.useful, joint.p_x, rare=0.0)
    assert (whole.note, len(whole.columns()["release"])) == ("", 8)
    problem = po.LocalInformationPrivacy(joint, 1.0)
    for written in (book.columns(), whole.columns()):  # the second as earlier versions wrote it
        assert codebook_fault(written, problem, channel) is None
        assert codebook_remarks(codebook_part(written, public=False), problem, channel) == []
    assert codebook_fault({name: cells[1:] for name, cells in book.columns().items()}, problem, channel)
    rare = codebook(po.Merging([["x", "y"], ["z"]]), joint.useful, np.array([1 - 1e-12, 5e-13, 5e-13]))
    assert rare.entries[0].members == ("x", "y")
