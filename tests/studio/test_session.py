"""A session from the choice to what is exported, each export read back and looked at."""

from __future__ import annotations

import csv
import io
import json
import runpy
import threading
import time
import zipfile
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from instances.people import EMPTY, ROWS, write_people

import privopt as po
from privopt.errors import FileRefused, InvalidProblem
from privopt.studio.session import Drawn, Session

CHOICE = {"secret": ["income"], "columns": ["age", "school"], "bins": {"age": "quantiles:4"}}
PATIENCE = 120.0


def computed(session: Session) -> dict[str, Any]:
    """The whole curve, once its thread has ended."""
    until = time.monotonic() + PATIENCE
    while (now := session.progress(0))["state"] == "running":
        assert time.monotonic() < until
        time.sleep(0.05)
    return now


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Session:
    made = Session(write_people(tmp_path_factory.mktemp("people") / "people.csv"))
    made.start(CHOICE)
    assert computed(made)["state"] == "done"
    return made


def wish(session: Session, epsilon: float, **more: object) -> dict[str, object]:
    return {"job": session.progress(0)["job"], "epsilon": epsilon, **more}


def test_more_budget_is_never_less_useful_and_never_less_risky(session: Session) -> None:
    points = session.progress(0)["points"]
    assert len(points) >= 5
    assert all(point["ok"] and point["certified"] for point in points)
    useful = [point["useful"] for point in points]
    assert useful == sorted(useful)
    for point in points:
        assert point["useful"] <= point["most"] + 1e-9
        assert point["risk"]["factor"] <= 2.7182818284590451 ** point["epsilon"] * (1 + 1e-9)
        assert len(point["sentences"]) <= 8
        assert sum(entry["share"] for entry in point["book"]) <= 1 + 1e-9


def test_only_new_points_are_sent(session: Session) -> None:
    points = session.progress(0)["points"]
    assert session.progress(3)["points"] == points[3:]
    assert session.progress(len(points))["points"] == []


def test_a_point_is_added_to_the_curve_that_is_there(session: Session) -> None:
    before = session.progress(0)["points"]
    session.add(wish(session, 0.4))
    after = computed(session)
    assert after["points"][: len(before)] == before
    assert [point["epsilon"] for point in after["points"][len(before) :]] == [0.4]
    session.add(wish(session, 0.4))
    assert computed(session)["points"] == after["points"]


@pytest.mark.parametrize("epsilon", [-1, 21, "0.3", None, True, float("nan")])
def test_other_budgets_are_refused(session: Session, epsilon: object) -> None:
    with pytest.raises(InvalidProblem, match="ε is a number"):
        session.add({"job": session.progress(0)["job"], "epsilon": epsilon})


def test_the_release_is_proved_plausible_and_whole(session: Session, tmp_path: Path) -> None:
    release = session.release(wish(session, 0.5))
    with zipfile.ZipFile(io.BytesIO(release.content)) as archive:
        archive.extractall(tmp_path)
    problem = po.load_problem(tmp_path / "problem.json")
    solution = po.Solution[Any].load(tmp_path / "solution.json")
    assert po.verify(problem, solution).ok
    assert po.verify_bundle(tmp_path / "bundle.zip", tmp_path / "released.csv").ok
    point = next(point for point in session.progress(0)["points"] if point["epsilon"] == 0.5)
    assert release.facts["useful"] == pytest.approx(point["useful"], abs=1e-6)
    with (tmp_path / "released.csv").open(encoding="utf-8", newline="") as stream:
        released = list(csv.DictReader(stream))
    with (tmp_path / "codebook.csv").open(encoding="utf-8", newline="") as stream:
        explained = {line["release"] for line in csv.DictReader(stream)}
    assert len(released) == release.facts["rows"] == ROWS - EMPTY
    assert list(released[0]) == ["released", "age", "school"]
    assert {line["released"] for line in released} <= explained
    groups = Counter(tuple(line.values()) for line in released)
    assert release.facts["smallest"][1] == min(groups.values())
    assert release.facts["unique"][1] == sum(count == 1 for count in groups.values())
    assert "1.649 times" in (tmp_path / "explanation.html").read_text(encoding="utf-8")


def test_a_release_is_drawn_once(session: Session) -> None:
    first = session.release(wish(session, 0.5))
    assert session.release(wish(session, 0.5)) is first
    with pytest.raises(Drawn, match="already drawn"):
        session.release(wish(session, 1.0))
    assert session.release(wish(session, 1.0, again=True)).content != first.content
    assert session.release(wish(session, 0.5)) is first


def test_the_script_makes_such_a_release(
    session: Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "release.py").write_text(session.script(wish(session, 0.5)), encoding="utf-8")
    runpy.run_path(str(tmp_path / "release.py"))
    made = po.load_problem(tmp_path / "release" / "problem.json")
    with zipfile.ZipFile(io.BytesIO(session.release(wish(session, 0.5)).content)) as archive:
        (tmp_path / "problem.json").write_bytes(archive.read("problem.json"))
    assert made.fingerprint == po.load_problem(tmp_path / "problem.json").fingerprint
    assert po.verify_bundle(tmp_path / "release" / "bundle.zip", tmp_path / "release" / "released.csv").ok


def test_the_cells_of_the_notebook_run(
    session: Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    book = json.loads(session.notebook(wish(session, 0.5)))
    assert (book["nbformat"], book["nbformat_minor"]) == (4, 5)
    assert len({cell["id"] for cell in book["cells"]}) == len(book["cells"])
    assert all(line.endswith("\n") for cell in book["cells"] for line in cell["source"][:-1])
    code = ["".join(cell["source"]) for cell in book["cells"] if cell["cell_type"] == "code"]
    (tmp_path / "cells.py").write_text("\n".join(code), encoding="utf-8")
    runpy.run_path(str(tmp_path / "cells.py"))
    assert (tmp_path / "release" / "released.csv").is_file()
    assert "ε = 0.5" in "".join(book["cells"][0]["source"])


def test_names_with_quotes_do_not_become_code(tmp_path: Path) -> None:
    hostile = "a'); import os #\\"
    path = tmp_path / 'people".csv'
    lines = [["secret", hostile], *([["yes", "x"], ["no", "y"], ["no", "x"]] * 20)]
    with path.open("w", encoding="utf-8", newline="") as stream:
        csv.writer(stream).writerows(lines)
    session = Session(path)
    session.start({"secret": ["secret"], "columns": [hostile]})
    computed(session)
    epsilon = session.progress(0)["points"][0]["epsilon"]
    text = session.script(wish(session, epsilon))
    assert f"columns={[hostile]!r}" in text
    assert "import os" not in [line.strip() for line in text.splitlines()]
    compile(text, "release.py", "exec")
    json.loads(session.notebook(wish(session, epsilon)))


def test_a_curve_in_another_tab_is_told_apart(tmp_path: Path) -> None:
    session = Session(write_people(tmp_path / "people.csv", 60))
    old = session.start({"secret": ["income"], "columns": ["school"]})["job"]
    session.start({"secret": ["income"], "columns": ["city"]})
    with pytest.raises(InvalidProblem, match="not the newest"):
        session.release({"job": old, "epsilon": 0.5})
    computed(session)


def test_a_stopped_curve_keeps_its_points(tmp_path: Path) -> None:
    session = Session(write_people(tmp_path / "people.csv"))
    session.start({"secret": ["income"], "columns": ["age", "school", "city"], "bins": {"age": "width:5"}})
    session.stop()
    ended = computed(session)
    assert ended["state"] == "stopped"
    assert len(ended["points"]) < len(session.start(CHOICE)["budgets"])
    session.stop()
    computed(session)


def test_a_file_that_vanished_is_said_and_can_come_back(tmp_path: Path) -> None:
    path = tmp_path / "people.csv"
    session = Session(path)
    with pytest.raises(FileRefused, match="there is no file"):
        session.describe()
    write_people(path, 30)
    assert session.describe()["rows"] == 30
    path.unlink()
    assert session.describe()["rows"] == 30
    with pytest.raises(FileRefused, match="there is no file"):
        session.describe(again=True)


def test_nothing_is_left_running(session: Session) -> None:
    computed(session)
    names = [thread.name for thread in threading.enumerate() if thread.name == "privopt-studio"]
    assert names == []
