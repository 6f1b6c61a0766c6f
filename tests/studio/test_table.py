"""Tables are read strictly: each cell as it is written, and whatever is wrong said in a sentence."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
from instances.people import EMPTY, ROWS, write_people

import privopt as po
from privopt.errors import FileRefused, PrivoptError
from privopt.files.csv import read_table as read_columns
from privopt.studio.analysis import Analysis
from privopt.studio.choice import Choice
from privopt.studio.table import Table, read_table


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Table:
    return read_table(write_people(tmp_path_factory.mktemp("people") / "people.csv"))


def test_columns_are_described(table: Table) -> None:
    assert table.rows == ROWS
    age, school, country = table.column("age"), table.column("school"), table.column("country")
    assert age.numeric
    assert age.many
    assert (age.low, age.high, age.values) == (18.0, 79.0, ())
    assert (school.distinct, school.missing) == (3, EMPTY)
    assert school.values == ("high", "low", "middle")
    assert country.advice == "it has one value only"
    assert "too few rows for each" in table.column("name").advice


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"", "is empty"),
        (b"\na,b\n1,2\n", "begins with a blank line"),
        (b"a,b\n", "no rows"),
        (b"a,b\n1,2,3\n", "row 1 has 3 cells, the header has 2; is a cell with a comma not in quotes"),
        (b"a,b\n1,2\n\n3,4\n", "row 2 is blank; remove the line"),
        (b"a,a\n1,2\n", "the column 'a' is given twice"),
        (b"a,,\n1,2,3\n", "a column without a name is given twice"),
        (b"a;b\n1;2\n", "separated by semicolons"),
        (b"\xef\xbb\xbfa;b\n1;2\n", "separated by semicolons"),
        (b"a\tb\n1\t2\n", "separated by tabs"),
        (b"PK\x03\x04\xff\xfe", "is not UTF-8"),
        (b"a,b\n1,\x00\n", "zero byte"),
        (b'a,b\n"1,2\n', "is not a CSV file"),
        (b"a,b\n1," + b"x" * 200_000 + b"\n", "is not a CSV file"),
    ],
)
def test_other_files_are_refused_in_a_sentence(tmp_path: Path, content: bytes, sentence: str) -> None:
    path = tmp_path / "people.csv"
    path.write_bytes(content)
    with pytest.raises(FileRefused, match=sentence):
        read_table(path)
    with pytest.raises(FileRefused, match=sentence):  # the commands read by the same rules
        read_columns(path, ["a"])


def test_a_missing_file_and_a_folder_are_refused(tmp_path: Path) -> None:
    with pytest.raises(FileRefused, match="No such file"):
        read_table(tmp_path / "people.csv")
    with pytest.raises(FileRefused, match="Is a directory"):
        read_table(tmp_path)


def test_cells_stay_as_they_are_written(tmp_path: Path) -> None:
    path = tmp_path / "codes.csv"
    path.write_text('\ufeffcode,x\n007,"a,b"\nNA,None\n,\n\n\n', encoding="utf-8")
    table = read_table(path)
    assert table.cells(["code", "x"]) == {"code": ["007", "NA", ""], "x": ["a,b", "None", ""]}
    assert table.cells(["code", "x"]) == read_columns(path, ["code", "x"]).columns
    assert table.column("code").missing == 1
    assert "some cells read NA: a value like any other" in table.column("code").advice


def test_one_column_may_have_blank_lines_which_are_empty_cells(tmp_path: Path) -> None:
    path = tmp_path / "one.csv"
    path.write_text("a\nx\n\ny\n\n", encoding="utf-8")
    assert read_table(path).cells(["a"]) == {"a": ["x", "", "y"]} == read_columns(path, ["a"]).columns
    with pytest.raises(PrivoptError, match="at least one column to release"):
        Analysis.of(Choice(("a",), ()), read_table(path))


def test_a_column_without_a_name_is_left_out(tmp_path: Path) -> None:
    path = tmp_path / "index.csv"
    path.write_text(",a\n0,x\n1,y\n", encoding="utf-8")
    table = read_table(path)
    assert [column.name for column in table.columns] == ["a"]
    assert table.nameless


@pytest.mark.long
def test_a_hundred_thousand_different_values_are_said_and_can_be_put_into_ranges(tmp_path: Path) -> None:
    path = tmp_path / "wide.csv"
    lines = [f"{i},key {i},{'ab'[i % 7 > 3]}" for i in range(100_000)]
    path.write_text("\n".join(["number,key,vote", *lines]) + "\n", encoding="utf-8")
    table = read_table(path)
    assert table.column("key").distinct == 100_000
    with pytest.raises(PrivoptError, match="'key' has 100000 different values in 100000 rows: leave it out"):
        Analysis.of(Choice(("vote",), ("key",)), table)
    with pytest.raises(PrivoptError, match="100000 different values in 100000 rows: group them into ranges"):
        Analysis.of(Choice(("vote",), ("number",), order={"number": ()}), table)
    analysis = Analysis.of(Choice(("vote",), ("number",)), table)
    assert len(analysis.joint.useful) <= 10
    assert analysis.before.unique == 100_000


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({"secret": [], "columns": ["age"]}, "choose a column to be the secret"),
        ({"secret": ["income"], "columns": []}, "at least one column to release"),
        ({"secret": ["income"], "columns": ["income"]}, "cannot be the secret and be released"),
        ({"secret": ["income"], "columns": ["wage"]}, "no column 'wage'"),
        (
            {"secret": ["income"], "columns": ["name"]},
            "'name' has 1200 different values in 1200 rows: leave it out",
        ),
        ({"secret": ["income"], "columns": ["country"]}, "columns to be released held one value only"),
        ({"secret": ["country"], "columns": ["school"]}, "the secret held one value only"),
        ({"secret": ["income"], "columns": ["school"], "bins": {"school": "equal:3"}}, "no numbers"),
        (
            {"secret": ["income"], "columns": ["age"], "order": {"age": []}},
            "'age' has 62 different values in 1200 rows: group them into ranges",
        ),
        ({"secret": ["income"], "columns": ["age"], "bins": {"age": "hundred"}}, "bins of column 'age'"),
        (
            {"secret": ["income"], "columns": ["age"], "bins": {"age": "30,60"}},
            "go from 30 to 60, its numbers from 18 to 79",
        ),
        (
            {"secret": ["income"], "columns": ["age"], "bins": {"age": "equal:1e9"}},
            "more than 10000; make them wider",
        ),
        ({"secret": ["income"], "columns": ["age"], "bins": {"age": "width:1e-9"}}, "make them wider"),
        ({"secret": ["income"], "columns": ["age"], "bins": {"age": "width:0"}}, "make them wider"),
        ({"secret": ["income"], "columns": ["age"], "bins": {"age": "5,4"}}, "increasing edges"),
        (
            {"secret": ["income"], "columns": ["school"], "bins": {"age": "equal:3"}},
            "neither secret nor released",
        ),
        (
            {"secret": ["income"], "columns": ["school"], "order": {"city": ["A", "B"]}},
            "an order for 'city', which is neither",
        ),
        ({"secret": ["income"], "columns": ["school"], "order": {"school": ["low"]}}, "lacks 2 of its 3"),
        ({"secret": ["income"], "columns": ["school"], "order": {"school": "low"}}, "not a list"),
        (
            {"secret": ["income"], "columns": ["school"], "hierarchies": {"school": "low;a\nhigh;b"}},
            "no row for 1 of its 3 values",
        ),
        (
            {"secret": ["income"], "columns": ["school"], "hierarchies": {"school": "low;a\nhigh"}},
            "row 2 has 1 cells",
        ),
        ({"secret": ["income"], "columns": ["school"], "hierarchies": {"school": 3}}, "not a text"),
        ({"secret": ["income"], "columns": ["school"], "missing": "refuse"}, "values are missing"),
        ({"secret": ["income"], "columns": ["school"], "missing": "guess"}, "empty cells are"),
        ({"secret": ["income"], "columns": ["school"], "contiguous": "yes"}, "true or false"),
        ({"secret": ["income"], "columns": ["age"], "minimum_count": -1}, "whole number"),
        ({"secret": ["income"], "columns": ["age"], "minimum_count": 1.5}, "whole number"),
        ({"secret": ["income"], "columns": ["age"], "seconds": 0}, "seconds for each point"),
        ({"secret": "income", "columns": ["age"]}, "not a list"),
        ({"secret": ["name"], "columns": ["age"]}, "'name' has 1200 different values"),
    ],
)
def test_choices_that_do_not_fit_are_refused_in_a_sentence(
    tmp_path: Path, fields: dict[str, object], sentence: str
) -> None:
    table = read_table(write_people(tmp_path / "people.csv", 1200))
    with pytest.raises(PrivoptError, match=sentence):
        Analysis.of(Choice.from_dict(fields), table)


def test_more_combinations_than_can_be_counted_are_refused_before_they_are(tmp_path: Path) -> None:
    path = tmp_path / "codes.csv"
    lines = [f"{i % 150},{i // 150},{'ab'[i % 7 > 3]}" for i in range(15_000)]
    path.write_text("\n".join(["a,b,vote", *lines]) + "\n", encoding="utf-8")
    table = read_table(path)
    order: dict[str, tuple[str, ...]] = {"a": (), "b": ()}
    with pytest.raises(PrivoptError, match="15000 different combinations in 15000 rows"):
        Analysis.of(Choice(("vote",), ("a", "b"), order=order, minimum_count=0), table)
    with pytest.raises(PrivoptError, match="the secret has 15000 different values"):
        Analysis.of(Choice(("a", "b"), ("vote",), order=order), table)


@pytest.mark.parametrize("missing", ["drop", "symbol"])
def test_the_joint_is_that_of_a_publication(table: Table, missing: str) -> None:
    choice = Choice(("income",), ("school", "age"), {"age": "width:20"}, minimum_count=5, missing=missing)
    analysis = Analysis.of(choice, table)
    frame = pd.read_csv(table.path, dtype=str, keep_default_na=False, na_values=[""])
    frame["age"] = frame["age"].astype("float64")
    joint = po.JointDistribution.from_frame(
        frame,
        "income",
        ["school", "age"],
        bins={"age": "width:20"},
        missing=missing,
        minimum_count=5,
    )
    assert analysis.joint == joint
    kept = ROWS - EMPTY if missing == "drop" else ROWS
    assert (analysis.rows, analysis.dropped) == (kept, ROWS - kept)
    assert any(("left out" if missing == "drop" else "(missing)") in note for note in analysis.notes)
    assert all(len(cells) == kept for cells in analysis.people.cells.values())


def test_ranges_that_nobody_chose_are_those_of_a_publication(table: Table) -> None:
    analysis = Analysis.of(Choice(("income",), ("age",)), table)
    frame = pd.read_csv(table.path)[["income", "age"]]
    assert (
        analysis.joint
        == po.publish(frame, secret="income", columns="age", epsilon=3.0, time_limit=0.5).problem.joint
    )
