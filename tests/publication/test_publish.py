"""From a frame to a release: private by an oracle, true to the rows, readable, whole or not at all, and once."""

from __future__ import annotations

import csv
import html
import os
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import privopt as po
from privopt.errors import FileRefused, InvalidModel, InvalidProblem, NotSolved
from privopt.models.hierarchies import Ancestors
from privopt.publication import publication as written
from privopt.publication.bundle import read_bundle

pytestmark = pytest.mark.usefixtures("plain_pictures")

ROWS = 1200


def people(rows: int = ROWS, seed: int = 3) -> pd.DataFrame:
    """Incomes, and schools, ages and numbers of children that hang on them."""
    rng = np.random.default_rng(seed)
    high = rng.random(rows) < 0.3
    school = np.where(
        high,
        rng.choice(["low", "middle", "high"], rows, p=[0.1, 0.3, 0.6]),
        rng.choice(["low", "middle", "high"], rows),
    )
    return pd.DataFrame(
        {
            "income": np.where(high, "much", "little"),
            "school": school,
            "age": rng.integers(18, 80, rows) + np.where(high, 8, 0),
            "children": rng.integers(0, 4, rows),
        }
    )


PEOPLE = people()
DRAWN = po.Publication.figure
"""The picture itself, before tests put empty ones in its place."""


@pytest.fixture(scope="module")
def publication() -> po.Publication:
    return po.publish(PEOPLE, secret="income", columns=["school", "age"], epsilon=0.2)


def interval(text: str) -> tuple[float, float]:
    low, _, high = text.partition("-")
    return float(low), float(high or low)


def test_no_message_shifts_the_odds_of_the_secret_beyond_epsilon(publication: po.Publication) -> None:
    joint = publication.problem.joint
    assert isinstance(joint, po.JointDistribution)
    shares = joint.table @ publication.solution.mechanism.matrix
    lift = shares / np.outer(joint.table.sum(axis=1), shares.sum(axis=0))
    assert np.abs(np.log(lift)).max() <= 0.2 + 1e-9
    assert po.verify(publication.problem, publication.solution).ok
    # It is the table of these people that was counted.
    assert joint.columns is not None
    assert joint.columns.rows == ROWS
    assert joint.p_s.tolist() == [float((PEOPLE["income"] == s).mean()) for s in joint.sensitive]


def test_a_larger_budget_never_keeps_less(publication: po.Publication) -> None:
    kept = [solution.utility or 0.0 for solution in publication.frontier.solutions]
    assert kept == sorted(kept)
    assert [s.certified for s in publication.frontier.solutions] == [True] * len(kept)
    at = publication.frontier.budgets.index(0.2)
    assert publication.frontier.solutions[at] == publication.solution


def test_each_row_is_released_as_a_message_that_it_may_come_from(publication: po.Publication) -> None:
    frame = publication.frame
    assert list(frame.columns) == ["released", "school", "age"]
    assert frame.index.equals(PEOPLE.index)
    members = {entry.name: {str(m) for m in entry.members} for entry in publication.codebook}
    joint = publication.problem.joint
    assert isinstance(joint, po.JointDistribution)
    assert joint.columns is not None
    symbols = joint.columns.symbols(
        {name: PEOPLE[name].tolist() for name in ("school", "age")}, frozenset(joint.useful)
    )
    assert all(str(x) in members[y] for x, y in zip(symbols, frame["released"], strict=True))
    assert sum(entry.share for entry in publication.codebook) == pytest.approx(1.0)


def test_cells_name_the_values_of_a_message(publication: po.Publication) -> None:
    """Where a message comes from one combination alone, its cells are that combination, and they are true."""
    alone = {entry.name for entry in publication.codebook if len(entry.members) == 1}
    assert alone
    rows = publication.frame[publication.frame["released"].isin(alone)]
    for (_, row), (_, true) in zip(rows.iterrows(), PEOPLE.loc[rows.index].iterrows(), strict=True):
        low, high = interval(row["age"])
        assert row["school"] in ("(rare)", true["school"])
        assert low <= true["age"] <= high
    several = publication.frame[~publication.frame["released"].isin(alone)]
    assert several["school"].str.contains("|", regex=False).any()


def test_the_frontier_never_falls_and_holds_what_was_chosen(publication: po.Publication) -> None:
    curve = publication.frontier
    utilities = [s.utility or 0.0 for s in curve]
    assert 0.2 in curve.budgets
    assert utilities == sorted(utilities)
    assert curve[curve.budgets.index(0.2)].utility == publication.solution.utility
    axes = DRAWN(publication).axes[0]
    assert axes.get_xlabel().endswith("(nats)")
    assert axes.get_ylabel().endswith("(nats)")


def test_the_least_budget_for_a_wished_utility() -> None:
    wished = 0.97
    publication = po.publish(PEOPLE, secret="income", columns=["school", "age"], min_utility=wished)
    joint, budget = publication.problem.joint, publication.problem.budget
    assert isinstance(joint, po.JointDistribution)
    most = po.measures.entropy(joint.p_x)
    assert publication.told >= wished - 1e-9
    less = po.solve(publication.problem.with_budget(0.97 * budget))
    assert less.bound is not None
    assert less.bound < wished * most
    assert any("is the least of those tried that keeps 97 %" in note for note in publication.notes)


def test_a_wish_that_no_budget_reaches_says_how_far_it_comes() -> None:
    # A value that only rich people have is never released beside one that nobody rich has, at any budget.
    frame = pd.DataFrame({"s": ["a"] * 40 + ["b"] * 40, "x": ["p"] * 40 + ["q"] * 40})
    with pytest.raises(NotSolved, match=r"was not reached: at epsilon 10 it was"):
        po.publish(frame, secret="s", columns="x", min_utility=1.0, time_limit=4.0)


def test_polars_in_polars_out() -> None:
    publication = po.publish(
        pl.DataFrame(PEOPLE.to_dict("list")), secret="income", columns="school", epsilon=0.5
    )
    assert isinstance(publication.frame, pl.DataFrame)
    assert publication.frame.columns == ["released", "school"]
    assert publication.frame.height == ROWS


def test_an_index_stays() -> None:
    frame = PEOPLE.set_index(np.arange(ROWS) + 1000)
    publication = po.publish(frame, secret="income", columns="school", epsilon=0.5)
    assert publication.frame.index.equals(frame.index)


def columns_of(publication: po.Publication) -> dict[str, Any]:
    joint = publication.problem.joint
    assert isinstance(joint, po.JointDistribution)
    assert joint.columns is not None
    return {column.name: column for column in (*joint.columns.sensitive, *joint.columns.useful)}


def test_many_numbers_become_intervals_and_few_keep_their_order() -> None:
    publication = po.publish(PEOPLE, secret="income", columns=["age", "children"], epsilon=0.5)
    columns = columns_of(publication)
    assert columns["age"].kind == "binned"
    assert columns["children"].kind == "ordered"
    assert columns["children"].labels == (0, 1, 2, 3)
    assert any(note.startswith("age was put into") for note in publication.notes)


def test_a_number_that_nearly_everybody_has_stands_alone() -> None:
    frame = PEOPLE.assign(gain=np.where(np.arange(ROWS) % 10 == 0, np.arange(ROWS), 0))
    column = columns_of(po.publish(frame, secret="income", columns="gain", epsilon=0.5))["gain"]
    assert len(column.labels) > 2
    assert column.edges[0] == 0
    assert column.edges[1] <= 30  # the first number above 0 that occurs, after a few rows at most


def test_rules_that_are_given_hold() -> None:
    publication = po.publish(
        PEOPLE,
        secret="income",
        columns=["school", "age"],
        epsilon=0.5,
        bins={"age": [18, 40, 90]},
        order={"school": ["low", "middle", "high"]},
        minimum_count=0,
    )
    columns = columns_of(publication)
    assert columns["age"].labels == ("18-39", "40-90")
    assert columns["school"].labels == ("low", "middle", "high")
    assert len(publication.notes) == 1


def test_a_hierarchy_is_kept_to_and_names_cells() -> None:
    tree: Ancestors = {"low": ["school", "*"], "middle": ["school", "*"], "high": ["degree", "*"]}
    publication = po.publish(
        PEOPLE, secret="income", columns=["school"], epsilon=0.7, hierarchies={"school": tree}
    )
    assert columns_of(publication)["school"].levels
    assert set(publication.frame["school"]) == {"school", "high"}
    assert "neighbouring values and nodes of hierarchies only" in publication.notes[-1]


def test_ordered_values_merge_with_neighbours_only() -> None:
    order = ["low", "middle", "high"]
    publication = po.publish(PEOPLE, secret="income", columns="school", epsilon=0.7, order={"school": order})
    blocks = [sorted(order.index(str(m)) for m in entry.members) for entry in publication.codebook]
    assert sorted(place for block in blocks for place in block) == [0, 1, 2]
    assert all(block == list(range(block[0], block[-1] + 1)) for block in blocks)
    assert len(blocks) > 1


def test_a_release_that_says_nothing_is_refused_and_had_if_it_is_asked_for() -> None:
    wish: dict[str, Any] = {"epsilon": 0.01, "order": {"school": ["low", "middle", "high"]}}
    with pytest.raises(
        NotSolved, match=r"says nothing about school.* larger epsilon \(0\.\d+ is the least"
    ) as refused:
        po.publish(PEOPLE, secret="income", columns="school", **wish)
    assert "allow_constant=True" in str(refused.value)
    publication = po.publish(PEOPLE, secret="income", columns="school", allow_constant=True, **wish)
    assert publication.told == publication.told_of_original == 0.0
    assert set(publication.frame["school"]) == {"any"}
    said = [text for name, text in publication.facts() if name == "note"]
    assert said[0].startswith("this release does not depend on the data; of the epsilons, 0.")
    assert any(
        text.startswith("No single release raises the belief") for text in publication.explain().sentences
    )


def test_what_is_kept_is_said_of_the_columns_as_they_were_read_and_as_they_stand_in_the_rows() -> None:
    frame = PEOPLE.assign(school=PEOPLE["school"].where(np.arange(ROWS) >= 8, "none"))
    publication = po.publish(frame, secret="income", columns=["school", "age"], epsilon=0.5)
    joint = publication.problem.nominal
    assert isinstance(joint, po.JointDistribution)
    assert joint.columns is not None
    # The information of a release about the rows themselves: each row is released through the symbol that is read of it.
    original = list(zip(frame["school"], frame["age"], strict=True))
    symbols = joint.columns.symbols(
        {name: frame[name].tolist() for name in ("school", "age")}, frozenset(joint.useful)
    )
    matrix = publication.solution.mechanism.matrix
    place = {symbol: x for x, symbol in enumerate(joint.useful)}
    rows: dict[tuple[str, int], np.ndarray[Any, Any]] = {}
    for pair, symbol in zip(original, symbols, strict=True):
        assert symbol is not None
        rows[pair] = rows.get(pair, 0.0) + matrix[place[symbol]] / ROWS
    table = np.array(list(rows.values()))
    told = po.measures.mutual_information(table)
    assert publication.told_of_original == pytest.approx(
        told / po.measures.entropy(table.sum(axis=1)), abs=1e-9
    )
    assert publication.told == pytest.approx(told / po.measures.entropy(joint.p_x), abs=1e-9)
    assert publication.told_of_original < publication.told
    said = dict(publication.facts())["useful"]
    assert "after numbers were put into intervals and rare combinations were made one, and " in said
    assert "of what they say as they stand in the data" in said


def test_a_secret_number_is_protected_as_an_interval_and_that_is_said() -> None:
    publication = po.publish(PEOPLE, secret="age", columns=["school"], epsilon=0.5)
    assert publication.notes[0].startswith("what is protected of age is only which of 4 intervals")


def test_missing_values_are_a_value_and_counted() -> None:
    frame = PEOPLE.assign(school=PEOPLE["school"].where(np.arange(ROWS) % 7 > 0))
    publication = po.publish(frame, secret="income", columns="school", epsilon=3.0)
    assert len(publication.frame) == ROWS
    assert "(missing)" in set(publication.frame["school"].str.split("|").explode())
    assert any(note.startswith("172 of 1200 rows have a missing value") for note in publication.notes)


def test_rare_combinations_are_one() -> None:
    frame = PEOPLE.assign(school=PEOPLE["school"].where(np.arange(ROWS) >= 8, "none"))
    publication = po.publish(frame, secret="income", columns=["school", "age", "children"], epsilon=0.5)
    assert any('"(rare)"' in note for note in publication.notes)
    joint = publication.problem.joint
    assert isinstance(joint, po.JointDistribution)
    counts = np.rint(joint.p_x * ROWS)
    assert counts[:-1].min() >= 10
    assert publication.receipt.smallest is not None
    assert publication.receipt.unique is not None
    assert publication.receipt.unique[1] < publication.receipt.unique[0]


NAMES = pd.DataFrame({"vote": ["a", "b"] * 5000, "name": [f"person-{i}" for i in range(10000)]})


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"secret": "salary"}, "there is no column 'salary'; there are 'income', 'school', 'age', 'children'"),
        ({"columns": ["school", "weight"]}, "there is no column 'weight'"),
        ({"columns": ["school", "income"]}, "'income' is the secret, so it cannot be released as well"),
        ({"columns": []}, "at least one column to release"),
        ({"epsilon": None}, "neither of epsilon and min_utility were given"),
        ({"min_utility": 0.5}, "both of epsilon and min_utility were given"),
        ({"epsilon": float("nan")}, "epsilon is nan: give a finite number"),
        ({"epsilon": "0.3"}, "epsilon is a str: give a number"),
        ({"epsilon": None, "min_utility": 80}, "min_utility is 80: give a part"),
        ({"time_limit": 0.0}, "time_limit is 0.0: give seconds"),
        ({"confidence": 95}, "confidence is 95: give a number between 0 and 1"),
        ({"confidence": 0.95, "contiguous": True}, "cannot be proved for a set of distributions yet"),
        ({"bins": {"weight": 3}}, "bins name the column 'weight'"),
        ({"bins": {"school": 3}}, "column 'school' is not numeric"),
        ({"frame": PEOPLE.iloc[:0]}, "the frame has no rows"),
        ({"frame": [1, 2]}, "frame is a list: give a pandas or Polars data frame"),
        ({"frame": pl.DataFrame(PEOPLE.to_dict("list")).lazy()}, "collected if it is lazy"),
        ({"frame": PEOPLE.assign(school="low")}, "the columns to be released held one value only"),
        ({"frame": PEOPLE.assign(income="low")}, "the secret held one value only"),
        ({"frame": NAMES, "secret": "vote", "columns": "name"}, "column 'name' has 10000 values in 10000 rows"),
    ],
)  # fmt: skip
def test_mistakes_are_told_at_once_without_a_cell(changes: dict[str, Any], words: str) -> None:
    options: dict[str, Any] = {
        "frame": PEOPLE, "secret": "income", "columns": "school", "epsilon": 0.3, "min_utility": None, "bins": None,
        "confidence": None, "time_limit": 5.0,
    } | changes  # fmt: skip
    frame = options.pop("frame")
    with pytest.raises((InvalidModel, InvalidProblem)) as caught:
        po.publish(frame, **options)
    assert words in str(caught.value)
    assert "person-" not in str(caught.value)


def test_a_folder_holds_all_that_speaks_for_a_release(publication: po.Publication, tmp_path: Path) -> None:
    out = tmp_path / "out"
    publication.save(out)
    assert {path.name for path in out.iterdir()} == {
        "released.csv", "codebook.csv", "explanation.html", "frontier.png", "frontier.csv", "problem.json", "solution.json",
        "receipt.json", "state.json", "bundle.zip", "README.txt",
    }  # fmt: skip
    assert list(tmp_path.iterdir()) == [out]
    with (out / "released.csv").open(encoding="utf-8", newline="") as stream:
        rows = list(csv.reader(stream))
    assert rows[0] == list(publication.frame.columns)
    assert rows[1:] == publication.frame.to_numpy().tolist()
    assert po.verify_bundle(out / "bundle.zip", out / "released.csv").ok
    contents = read_bundle(out / "bundle.zip")
    assert contents.receipt is not None
    assert contents.receipt.once.startswith("once: a state file answers")
    assert contents.codebook is not None
    readme = (out / "README.txt").read_text(encoding="utf-8")
    assert "a second draw of the same records says more than the certificate allows" in readme
    assert all(path.name in readme for path in out.iterdir() if path.name != "README.txt")
    book = pd.read_csv(out / "codebook.csv")
    assert book.groupby("release")["probability"].sum().to_numpy() == pytest.approx(1.0)


def test_no_name_of_an_interval_is_the_least_or_the_largest_value_of_somebody() -> None:
    frame = PEOPLE.assign(days=np.random.default_rng(5).exponential(20, ROWS).round() + 3)
    publication = po.publish(frame, secret="days", columns=["age", "income"], epsilon=1.0, time_limit=2)
    joint = publication.problem.joint
    assert isinstance(joint, po.JointDistribution)
    assert joint.columns is not None
    for column, values in (
        (joint.columns.read[0], frame["age"]),
        (joint.columns.sensitive[0], frame["days"]),
    ):
        assert column.edges[0] < values.min()
        assert column.edges[-1] > values.max()


def test_what_holds_the_counted_table_is_for_the_owner_alone(
    publication: po.Publication, tmp_path: Path
) -> None:
    publication.save(tmp_path / "out")
    for name in ("problem.json", "bundle.zip", "receipt.json", "state.json"):
        assert (tmp_path / "out" / name).stat().st_mode & 0o077 == 0, name
    assert (tmp_path / "out" / "released.csv").stat().st_mode & 0o044


def test_the_page_says_how_the_table_is_counted_with_and_that_counts_well(
    publication: po.Publication, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    publication.save(tmp_path / "out")
    page = html.unescape((tmp_path / "out" / "explanation.html").read_text(encoding="utf-8"))
    assert "What the release of school, age protects, at epsilon 0.2" in page
    assert publication.plan.kept() in page
    assert all(note in page for note in publication.notes)
    found = re.search(r"In pandas: (pd\..*?\.sum\(\))", page)
    assert found is not None
    monkeypatch.chdir(tmp_path / "out")
    counted = eval(found[1], {"pd": pd})  # the line that readers copy
    assert counted.sum() == pytest.approx(ROWS)
    for school in ("low", "middle", "high"):
        true = (PEOPLE["school"] == school).sum()
        assert abs(counted[counted.index.get_level_values("school") == school].sum() - true) < 3 * ROWS**0.5


def test_an_altered_release_is_refused(publication: po.Publication, tmp_path: Path) -> None:
    publication.save(tmp_path / "out")
    path = tmp_path / "out" / "released.csv"
    lines = path.read_text(encoding="utf-8").splitlines()
    path.write_text("\n".join([lines[0], *[lines[1]] * (len(lines) - 1)]) + "\n", encoding="utf-8")
    assert not po.verify_bundle(tmp_path / "out" / "bundle.zip", path).ok


def test_nothing_is_left_where_writing_fails(
    publication: po.Publication, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(written, "bundle", full)
    with pytest.raises(FileRefused, match="No space left"):
        publication.save(tmp_path / "out")
    assert list(tmp_path.iterdir()) == []


def test_of_two_runs_at_once_one_is_told_why_it_was_refused(
    publication: po.Publication, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / "out"
    rename = os.rename

    def late(source: Path, target: Path) -> None:
        """As if the other run had ended just now."""
        monkeypatch.setattr(os, "rename", rename)
        target.mkdir()
        (target / "receipt.json").write_text("{}", encoding="utf-8")
        os.rename(source, target)

    monkeypatch.setattr(os, "rename", late)
    with pytest.raises(FileRefused, match="holds a release already, and records are released once only"):
        publication.save(place)
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
    assert [path.name for path in place.iterdir()] == ["receipt.json"]


def test_a_folder_is_never_written_over(publication: po.Publication, tmp_path: Path) -> None:
    publication.save(tmp_path / "out")
    before = {path.name: path.read_bytes() for path in (tmp_path / "out").iterdir()}
    with pytest.raises(
        FileRefused, match="a second draw of the same records says more than the certificate allows"
    ):
        publication.save(tmp_path / "out")
    assert before == {path.name: path.read_bytes() for path in (tmp_path / "out").iterdir()}
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "letter.txt").write_text("mine", encoding="utf-8")
    with pytest.raises(FileRefused, match="is there already and not empty"):
        publication.save(tmp_path / "other")
    with pytest.raises(FileRefused, match="there is no folder"):
        publication.save(tmp_path / "no" / "out")
    (tmp_path / "new").mkdir()
    publication.save(tmp_path / "new")
    assert po.verify_bundle(tmp_path / "new" / "bundle.zip").ok


@pytest.mark.long
def test_adult_is_released_usefully_in_a_small_file(tmp_path: Path) -> None:
    path = Path(os.environ.get("PRIVOPT_DATA", "nowhere")) / "adult" / "adult.csv.gz"
    if not path.is_file():
        pytest.skip("needs the Adult data in the folder that PRIVOPT_DATA names")
    adult = pd.read_csv(path)[["income", "education", "age", "hours_per_week"]]
    publication = po.publish(
        adult, secret="income", columns=["education", "age", "hours_per_week"], epsilon=0.3, time_limit=20.0
    )
    assert publication.told > 0.9
    publication.save(tmp_path / "out")
    adult.to_csv(tmp_path / "people.csv", index=False)
    assert (tmp_path / "out" / "released.csv").stat().st_size < 2 * (tmp_path / "people.csv").stat().st_size
    assert len(publication.codebook) < 300
    assert publication.receipt.rows == len(adult) == 32561


def test_how_far_a_release_is_from_the_best_possible_is_said() -> None:
    frame = pd.DataFrame({"vote": ["a", "b", "a", "b"] * 50, "age": ["young", "old", "old", "old"] * 50})
    made = po.publish(frame, secret="vote", columns="age", epsilon=0.3)

    def useful(**changes: Any) -> str:
        return dict(replace(made, solution=replace(made.solution, **changes)).facts())["useful"]

    assert made.solution.status is po.Status.OPTIMAL
    assert useful().endswith("of what the columns say")
    joint = made.problem.joint
    assert isinstance(joint, po.JointDistribution)
    half = po.measures.entropy(joint.p_x) / 2
    assert useful(status=po.Status.GAP, bound=half).endswith("; the best possible keeps 50 % at most")
    assert useful(status=po.Status.GAP, bound=9.0).endswith("; the best possible keeps 100 % at most")
    assert useful(status=po.Status.FEASIBLE, bound=None).endswith("best possible would keep is not known")


def test_a_dry_run_chooses_and_proves_and_draws_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    frame = pd.DataFrame({"vote": ["a", "b", "a", "b"] * 50, "age": ["young", "old", "old", "old"] * 50})
    monkeypatch.setattr("privopt.mechanisms.channel.Channel.release", None)
    monkeypatch.setattr("privopt.mechanisms.merging.Merging.release", None)
    told = po.publish(frame, secret="vote", columns="age", epsilon=0.3, dry_run=True)
    monkeypatch.undo()
    assert told.solution.certified
    assert "rows: 200\n" in str(told)
    assert str(told).endswith("nothing was drawn")
    assert told.explain().sentences[1] in told._repr_html_()
    assert 0.3 in told.frontier.budgets
    drawn = po.publish(frame, secret="vote", columns="age", epsilon=0.3)
    assert drawn.solution.mechanism == told.solution.mechanism
    silent = po.publish(frame, secret="vote", columns="age", epsilon=1e-6, dry_run=True)
    assert silent.is_silent
    assert "does not depend on the data" in str(silent)
