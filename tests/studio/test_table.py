"""Tables are read strictly: each cell as it is written, and whatever is wrong said in a sentence."""

from __future__ import annotations

from pathlib import Path

import pytest
from instances.people import EMPTY, ROWS, write_people

from privopt.errors import FileRefused, PrivoptError
from privopt.studio.choice import Choice
from privopt.studio.table import Table, read_table


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Table:
    return read_table(write_people(tmp_path_factory.mktemp("people") / "people.csv"))


def test_columns_are_described(table: Table) -> None:
    assert table.rows == ROWS
    age, school, country = table.column("age"), table.column("school"), table.column("country")
    assert age.numeric
    assert (age.low, age.high) == (18.0, 79.0)
    assert "ranges" in age.advice
    assert (school.distinct, school.missing) == (3, EMPTY)
    assert country.advice == "it has one value only"


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"", "is empty"),
        (b"a,b\n", "no rows"),
        (b"a,b\n1,2,3\n", "row 1 has 3 cells, the header has 2"),
        (b"a,a\n1,2\n", "the column 'a' is there twice"),
        (b"a,\n1,2\n", "column 2 has no name"),
        (b"a;b\n1;2\n", "separated by semicolons"),
        (b"a\tb\n1\t2\n", "separated by tabs"),
        (b"PK\x03\x04\xff\xfe", "is not UTF-8"),
        (b'a,b\n"1,2\n', "is not a CSV file"),
    ],
)
def test_other_files_are_refused_in_a_sentence(tmp_path: Path, content: bytes, sentence: str) -> None:
    path = tmp_path / "people.csv"
    path.write_bytes(content)
    with pytest.raises(FileRefused, match=sentence):
        read_table(path)


def test_a_missing_file_and_a_folder_are_refused(tmp_path: Path) -> None:
    with pytest.raises(FileRefused, match="there is no file"):
        read_table(tmp_path / "people.csv")
    with pytest.raises(FileRefused, match="is a folder"):
        read_table(tmp_path)


def test_cells_stay_as_they_are_written(tmp_path: Path) -> None:
    path = tmp_path / "codes.csv"
    path.write_text('\ufeffcode,x\n007,"a,b"\n\nNA,None\n', encoding="utf-8")
    table = read_table(path)
    assert table.cells == {"code": ["007", None], "x": ["a,b", "None"]}
    assert table.frame(["code", "x"], []).to_numpy().tolist() == [["007", "a,b"]]


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
        ({"secret": ["income"], "columns": ["country"]}, "one value only: there is nothing to release"),
        ({"secret": ["country"], "columns": ["school"]}, "one value only: there is nothing to hide"),
        ({"secret": ["income"], "columns": ["school"], "bins": {"school": "equal:3"}}, "no numbers"),
        (
            {"secret": ["income"], "columns": ["age"]},
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
        ({"secret": ["income"], "columns": ["age"], "minimum_count": -1}, "whole number"),
        ({"secret": "income", "columns": ["age"]}, "not a list"),
        ({"secret": ["name"], "columns": ["age"]}, "'name' has 1200 different values"),
    ],
)
def test_choices_that_do_not_fit_are_refused_in_a_sentence(
    tmp_path: Path, fields: dict[str, object], sentence: str
) -> None:
    table = read_table(write_people(tmp_path / "people.csv", 1200))
    with pytest.raises(PrivoptError, match=sentence):
        Choice.from_dict(fields).joint(table)


def test_the_joint_counts_the_rows_that_are_whole(table: Table) -> None:
    joint = Choice(("income",), ("school", "age"), {"age": "width:20"}).joint(table)
    assert joint.columns is not None
    assert joint.columns.rows == ROWS - EMPTY
    assert all(len(label) == 2 for label in joint.useful if isinstance(label, tuple))
