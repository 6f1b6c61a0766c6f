"""From a CSV of places to a certified look-up table, a map and released points, by commands."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest
from instances.tables import run, write
from typer.testing import CliRunner

import privopt as po
from privopt.cli import app

SHOPS = [
    ("north", "41.905", "12.49", "30"),
    ("south", "41.895", "12.49", "10"),
    ("east", "41.90", "12.50", "20"),
    ("west", "41.90", "12.48", "5"),
    ("north", "41.905", "12.49", "5"),
]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    write("shops.csv", ("shop", "lat", "lon", "visits"), SHOPS)
    return tmp_path


OPTIONS = ("--latitude", "lat", "--longitude", "lon", "--count", "visits", "--name", "shop", "--epsilon", "2")


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8") as stream:
        return list(csv.DictReader(stream))


def test_places_become_a_certified_table_a_map_and_releases(folder: Path) -> None:
    told = run("places", "shops.csv", *OPTIONS, "--output", "out")
    assert "PROVED" in told
    assert "as likely from one as from the other" in told
    problem = po.load_problem(folder / "out" / "problem.json")
    assert isinstance(problem, po.MetricPrivacy)
    assert problem.metric.labels == ("north", "south", "east", "west")
    assert problem.p.tolist() == [0.5, 1 / 7, 2 / 7, 1 / 14]
    assert "PROVED" in run("verify", "out/problem.json", "out/solution.json")
    table = rows(folder / "out" / "table.csv")
    assert [row["place"] for row in table] == list(problem.metric.labels)
    matrix = np.array([[float(p) for name, p in row.items() if name != "place"] for row in table])
    assert matrix.sum(axis=1) == pytest.approx(np.ones(4))
    assert problem.evaluate(po.Solution.load(folder / "out" / "solution.json").mechanism).feasible
    assert "<svg" in (folder / "out" / "map.svg").read_text(encoding="utf-8")
    write("visits.csv", ("place",), [("north",), ("west",), ("east",)])
    run("release", "out/solution.json", "visits.csv", "--column", "place", "--output", "released.csv")
    assert {row["place"] for row in rows(folder / "released.csv")} <= {"north", "south", "east", "west"}


def test_columns_of_coordinates_under_other_names_are_pointed_to(folder: Path) -> None:
    done = CliRunner().invoke(app, ["places", "shops.csv", "--epsilon", "2", "--output", "out"])
    assert done.exit_code == 2
    assert "name the columns of coordinates by --latitude lat --longitude lon" in " ".join(
        done.output.split()
    )
    assert not Path("out").exists()


def test_places_without_names_are_named_by_their_coordinates(folder: Path) -> None:
    run("places", "shops.csv", "--latitude", "lat", "--longitude", "lon", "--epsilon", "2", "--output", "out")
    assert rows(folder / "out" / "table.csv")[0]["place"] == "41.905 12.49"


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (("south", "48.0", "12.49", "1"), "distinct"),
        (("new", "north", "12.49", "1"), "row 6"),
        (("new", "95.0", "12.49", "1"), "latitudes come first"),
        (("new", "41.9", "12.49", "-3"), "negative"),
        (("new", "nan", "12.49", "1"), "finite"),
    ],
)
def test_bad_rows_are_refused_without_a_cell_and_nothing_is_written(
    folder: Path, line: tuple[str, ...], said: str
) -> None:
    write("shops.csv", ("shop", "lat", "lon", "visits"), [*SHOPS, line])
    result = CliRunner().invoke(app, ["places", "shops.csv", *OPTIONS, "--output", "out"])
    assert result.exit_code == 2, result.output
    assert said in result.stderr
    assert "95.0" not in result.stderr
    assert not (folder / "out").exists()


def test_a_folder_that_exists_is_left_alone(folder: Path) -> None:
    (folder / "out").mkdir()
    result = CliRunner().invoke(app, ["places", "shops.csv", *OPTIONS, "--output", "out"])
    assert result.exit_code == 2
    assert "exists" in result.stderr


def test_a_look_up_table_runs_nothing_and_keeps_its_first_column(folder: Path) -> None:
    write("odd.csv", ("shop", "lat", "lon"), [("=1+1", "41.9", "12.5"), ("place", "41.91", "12.5")])
    run("places", "odd.csv", *OPTIONS[:4], "--name", "shop", "--epsilon", "0.1", "--output", "out")
    table = rows(folder / "out" / "table.csv")
    assert [row["true place"] for row in table] == ["'=1+1", "place"]
    assert set(table[0]) <= {"true place", "'=1+1", "place"}
