"""The one reader of tables: what it gives back is what was written, row by row, and by different cells."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from privopt.errors import FileRefused
from privopt.files.csv import AT_ONCE, groups_of, read_coded, read_table, write_table

CELLS = st.text(st.characters(exclude_characters="\0", exclude_categories=("Cs",)), max_size=6)
TABLES = st.lists(st.tuples(CELLS, CELLS, CELLS), min_size=1, max_size=8)


@given(TABLES)
@settings(deadline=None, max_examples=60)
def test_what_is_written_is_read_again(
    tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[str, str, str]]
) -> None:
    path = tmp_path_factory.mktemp("csv") / "people.csv"
    columns = {name: [row[j] for row in rows] for j, name in enumerate("abc")}
    write_table(path, columns)
    assert read_table(path, ["c", "a"]).columns == {"c": columns["c"], "a": columns["a"]}
    assert {name: column.cells() for name, column in read_coded(path).items()} == columns
    with path.open(encoding="utf-8", newline="") as stream:
        assert [tuple(line) for line in csv.reader(stream)][1:] == rows


def test_rows_are_counted_over_all_that_are_read_at_once(tmp_path: Path) -> None:
    path = tmp_path / "long.csv"
    rows = [f"{i},{i % 3}" for i in range(AT_ONCE + 5)]
    path.write_text("\n".join(["a,b", *rows, "", ""]), encoding="utf-8")
    coded = read_coded(path)
    assert (len(coded["a"].codes), coded["b"].values) == (len(rows), ("0", "1", "2"))
    assert read_table(path, ["b"]).rows == len(rows)
    rows[AT_ONCE + 2] = ""
    path.write_text("\n".join(["a,b", *rows]), encoding="utf-8")
    with pytest.raises(FileRefused, match=f"row {AT_ONCE + 3} is blank"):
        read_coded(path)
    rows[AT_ONCE + 2] = "1,2,3"
    path.write_text("\n".join(["a,b", *rows]), encoding="utf-8")
    with pytest.raises(FileRefused, match=f"row {AT_ONCE + 3} has 3 cells"):
        read_table(path, ["a"])


def test_the_blank_lines_of_one_column_are_kept_but_for_the_last_ones(tmp_path: Path) -> None:
    path = tmp_path / "one.csv"
    cells = ["x"] * (AT_ONCE - 1) + ["", "", "y"]
    path.write_text("\n".join(["a", *cells, "", ""]), encoding="utf-8")
    assert read_table(path, ["a"]).columns == {"a": cells}


def test_every_row_names_its_user() -> None:
    assert groups_of(Path("d.csv"), "user", ["b", "a", "b"]) == {"b": [0, 2], "a": [1]}
    with pytest.raises(FileRefused, match="row 2 has no 'user'"):
        groups_of(Path("d.csv"), "user", ["b", "", "b"])
