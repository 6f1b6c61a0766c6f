"""A session from the choice to what is exported: each export read back, looked at, and run."""

from __future__ import annotations

import csv
import io
import json
import shlex
import subprocess
import sys
import threading
import time
import zipfile
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from instances import tables
from instances.people import EMPTY, ROWS, write_people

import privopt as po
from privopt.errors import FileRefused, InvalidProblem, NotSolved
from privopt.files.load import load_problem
from privopt.studio.folder import Drawn
from privopt.studio.session import TABS, Session

pytestmark = pytest.mark.usefixtures("plain_pictures")

CHOICE = {
    "secret": ["income"],
    "columns": ["age", "school"],
    "bins": {"age": "quantiles:4"},
    "missing": "drop",
    "minimum_count": 0,
}
PATIENCE = 120.0


def computed(session: Session, job: int) -> dict[str, Any]:
    """The whole curve, once its thread has ended."""
    until = time.monotonic() + PATIENCE
    while (now := session.progress(job, 0))["state"] == "running":
        assert time.monotonic() < until
        time.sleep(0.05)
    return now


def started(session: Session, fields: dict[str, Any]) -> int:
    job = session.start(fields)["job"]
    assert isinstance(job, int)
    return job


class Made:
    """A session whose curve is there."""

    def __init__(self, folder: Path, fields: dict[str, Any] | None = None) -> None:
        self.session = Session(write_people(folder / "people.csv"))
        self.job = started(self.session, fields or CHOICE)
        self.first = computed(self.session, self.job)
        assert self.first["state"] == "done", self.first["error"]

    def wish(self, epsilon: float, **more: object) -> dict[str, object]:
        return {"job": self.job, "epsilon": epsilon, **more}

    def points(self) -> list[dict[str, Any]]:
        points: list[dict[str, Any]] = self.session.progress(self.job, 0)["points"]
        return points


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Made:
    return Made(tmp_path_factory.mktemp("people"))


def test_more_budget_is_never_less_useful_and_never_less_risky(made: Made) -> None:
    points = made.first["points"]
    assert len(points) >= 5
    assert all(point["ok"] and point["certified"] for point in points)
    useful = [point["useful"] for point in points]
    assert useful == sorted(useful)
    for point in points:
        assert point["useful"] <= point["most"] + 1e-9
        assert point["risk"]["factor"] <= 2.7182818284590451 ** point["epsilon"] * (1 + 1e-9)
        assert len(point["sentences"]) <= 8
        assert sum(entry["share"] for entry in point["book"]) <= 1 + 1e-9


def test_only_new_points_are_sent(made: Made) -> None:
    points = made.points()
    assert made.session.progress(made.job, 3)["points"] == points[3:]
    assert made.session.progress(made.job, len(points))["points"] == []


def test_a_point_is_added_to_the_curve_that_is_there(made: Made) -> None:
    before = made.points()
    made.session.add(made.wish(0.4))
    after = computed(made.session, made.job)["points"]
    assert after[: len(before)] == before
    assert [point["epsilon"] for point in after[len(before) :]] == [0.4]
    made.session.add(made.wish(0.4))
    assert computed(made.session, made.job)["points"] == after


def test_a_longer_search_never_makes_a_point_worse(made: Made) -> None:
    before = {point["epsilon"]: point["useful"] for point in made.points()}
    made.session.add(made.wish(0.3, seconds=1))
    after = {point["epsilon"]: point["useful"] for point in computed(made.session, made.job)["points"]}
    assert after[0.3] >= before[0.3]
    with pytest.raises(InvalidProblem, match="seconds for each point"):
        made.session.add(made.wish(0.3, seconds=1e9))


@pytest.mark.parametrize("epsilon", [-1, 21, "0.3", None, True, float("nan")])
def test_other_budgets_are_refused(made: Made, epsilon: object) -> None:
    with pytest.raises(InvalidProblem, match="ε is a number"):
        made.session.add({"job": made.job, "epsilon": epsilon})


def unpacked(content: bytes, folder: Path) -> Path:
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        archive.extractall(folder)
    return folder


def test_what_is_released_is_the_point_of_the_curve_and_nothing_is_solved_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = Made(tmp_path)
    shown = made.session._job(made.job).point(0.5)
    monkeypatch.setattr("privopt.studio.analysis.solve_from", None)
    monkeypatch.setattr("privopt.publication.least.solve_from", None)
    facts = made.session.draw(made.wish(0.5))
    place = unpacked(made.session.release(), tmp_path / "copy")
    problem = load_problem(place / "problem.json")
    solution = po.Solution[Any].load(place / "solution.json")
    assert problem.fingerprint == shown.problem.fingerprint
    assert solution.mechanism.fingerprint == shown.solution.mechanism.fingerprint
    assert solution.certificate == shown.solution.certificate
    point = next(point for point in made.first["points"] if point["epsilon"] == 0.5)
    assert (facts["useful"], facts["again"]) == (point["useful"], "")
    assert po.verify(problem, solution).ok
    assert po.verify_bundle(place / "bundle.zip", place / "released.csv").ok
    assert "1.649 times" in (place / "explanation.html").read_text(encoding="utf-8")
    assert {path.name: path.read_bytes() for path in place.iterdir()} == {
        path.name: path.read_bytes() for path in (tmp_path / "people-release").iterdir()
    }


def test_a_release_that_says_nothing_is_not_drawn(tmp_path: Path) -> None:
    rows = ["yes,old"] * 30 + ["yes,young"] * 10 + ["no,old"] * 20 + ["no,young"] * 40
    (tmp_path / "votes.csv").write_text("\n".join(["vote,age", *rows, ""]), encoding="utf-8")
    session = Session(tmp_path / "votes.csv")
    job = started(session, {"secret": ["vote"], "columns": ["age"], "minimum_count": 0})
    assert computed(session, job)["state"] == "done"
    session.add({"job": job, "epsilon": 1e-6})
    assert computed(session, job)["state"] == "done"
    with pytest.raises(
        NotSolved, match=r"the best release says nothing about age.*take the script or the command"
    ):
        session.draw({"job": job, "epsilon": 1e-6})
    assert not (tmp_path / "votes-release").exists()
    assert session.draw({"job": job, "epsilon": 0.5})["again"] == ""


def test_the_release_is_whole(tmp_path: Path) -> None:
    made = Made(tmp_path)
    facts = made.session.draw(made.wish(0.5))
    place = tmp_path / "people-release"
    with (place / "released.csv").open(encoding="utf-8", newline="") as stream:
        released = list(csv.DictReader(stream))
    with (place / "codebook.csv").open(encoding="utf-8", newline="") as stream:
        explained = {line["release"] for line in csv.DictReader(stream)}
    assert len(released) == facts["rows"] == ROWS - EMPTY
    assert list(released[0]) == ["released", "age", "school"]
    assert {line["released"] for line in released} <= explained
    groups = Counter(tuple(line.values()) for line in released)
    assert facts["smallest"][1] == min(groups.values())
    assert facts["unique"][1] == sum(count == 1 for count in groups.values())


def test_a_release_is_drawn_once_also_after_a_restart(tmp_path: Path) -> None:
    made = Made(tmp_path)
    assert made.session.describe()["earlier"] is None
    with pytest.raises(FileRefused, match="no release yet"):
        made.session.release()
    made.session.draw(made.wish(0.5))
    first = made.session.release()
    assert "nothing was drawn" in made.session.draw(made.wish(0.5))["again"]
    with pytest.raises(Drawn, match=r"released with epsilon 0\.5"):
        made.session.draw(made.wish(1.0))

    line = made.session.exports(made.wish(0.5))["command"]  # the command goes by the same folder
    assert "nothing was drawn" in tables.run(*shlex.split(line)[1:])

    again = Made(tmp_path)
    assert again.session.describe()["earlier"]["epsilon"] == 0.5
    assert "nothing was drawn" in again.session.draw(again.wish(0.5))["again"]
    with pytest.raises(Drawn, match="a second draw of the same records"):
        again.session.draw(again.wish(1.0))
    assert again.session.release() == first

    other = Made(tmp_path, {**CHOICE, "columns": ["age"]})
    with pytest.raises(Drawn, match="other rows or columns"):
        other.session.draw(other.wish(0.5))


def test_an_unwritable_place_is_said_before_anything_is_drawn(tmp_path: Path) -> None:
    session = Session(write_people(tmp_path / "people.csv", 200), tmp_path / "no" / "where")
    job = started(session, {**CHOICE, "columns": ["school"], "bins": {}})
    epsilon = computed(session, job)["points"][0]["epsilon"]
    with pytest.raises(FileRefused, match="there is no folder"):
        session.draw({"job": job, "epsilon": epsilon})


ORDERED = {
    "secret": ["income"],
    "columns": ["age", "school"],
    "bins": {"age": "width:20"},
    "order": {"school": ["low", "middle", "high"]},
    "missing": "drop",
}
TREE = {
    "secret": ["income"],
    "columns": ["school", "age"],
    "hierarchies": {"school": "low;basic;*\nmiddle;basic;*\nhigh;more;*\n"},
    "minimum_count": 3,
}
PLAIN = {"secret": ["income"], "columns": ["age", "city"]}


def run(*words: str, folder: Path) -> None:
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.long
@pytest.mark.parametrize("fields", [CHOICE, ORDERED, TREE, PLAIN], ids=["bins", "order", "tree", "plain"])
def test_script_notebook_and_command_make_a_release_of_the_same_problem(
    tmp_path: Path, fields: dict[str, Any]
) -> None:
    made = Made(tmp_path, fields)
    epsilon = made.first["points"][-1]["epsilon"]
    made.session.draw(made.wish(epsilon))
    wished = load_problem(tmp_path / "people-release" / "problem.json").fingerprint
    book = json.loads(made.session.notebook(made.wish(epsilon)))
    code = ["".join(cell["source"]) for cell in book["cells"] if cell["cell_type"] == "code"]
    made_by: dict[str, tuple[str, ...]] = {
        "script": (sys.executable, "release.py"),
        "notebook": (sys.executable, "cells.py"),
    }
    line = made.session.exports(made.wish(epsilon))["command"]
    assert bool(line) == ("hierarchies" not in fields)
    if line:
        words = [word.replace(str(tmp_path), ".") for word in shlex.split(line)]
        made_by["command"] = (sys.executable, "-m", *words)
    for name, words in made_by.items():
        place = tmp_path / name
        place.mkdir()
        write_people(place / "people.csv")
        (place / "release.py").write_text(made.session.script(made.wish(epsilon)), encoding="utf-8")
        (place / "cells.py").write_text("\n".join(code), encoding="utf-8")
        run(*words, folder=place)
        out = place / "people-release"
        assert load_problem(out / "problem.json").fingerprint == wished, name
        assert po.verify_bundle(out / "bundle.zip", out / "released.csv").ok
        again = subprocess.run(
            words, cwd=place, capture_output=True, text=True, timeout=PATIENCE, check=False
        )
        assert "released" in again.stdout + again.stderr
        assert (again.returncode == 0) == (name == "command")


def test_the_notebook_is_one(made: Made) -> None:
    book = json.loads(made.session.notebook(made.wish(0.5)))
    assert (book["nbformat"], book["nbformat_minor"]) == (4, 5)
    assert len({cell["id"] for cell in book["cells"]}) == len(book["cells"])
    assert all(line.endswith("\n") for cell in book["cells"] for line in cell["source"][:-1])
    assert "ε = 0.5" in "".join(book["cells"][0]["source"])


def test_names_with_quotes_do_not_become_code(tmp_path: Path) -> None:
    hostile = "a'); import os #\\"
    path = tmp_path / 'people".csv'
    lines = [["secret", hostile], *([["yes", "x"], ["no", "y"], ["no", "x"]] * 20)]
    with path.open("w", encoding="utf-8", newline="") as stream:
        csv.writer(stream).writerows(lines)
    session = Session(path)
    job = started(session, {"secret": ["secret"], "columns": [hostile]})
    wish = {"job": job, "epsilon": computed(session, job)["points"][0]["epsilon"]}
    text = session.script(wish)
    assert f"columns={[hostile]!r}" in text
    assert "import os" not in [line.strip() for line in text.splitlines()]
    compile(text, "release.py", "exec")
    json.loads(session.notebook(wish))
    assert shlex.split(session.exports(wish)["command"])[6] == hostile


def test_two_tabs_have_a_curve_each(tmp_path: Path) -> None:
    session = Session(write_people(tmp_path / "people.csv", 60))
    one = started(session, {"secret": ["income"], "columns": ["school"], "seconds": 0.5})
    two = started(session, {"secret": ["income"], "columns": ["city"], "seconds": 0.5})
    first, second = computed(session, one), computed(session, two)
    assert (first["state"], second["state"]) == ("done", "done")
    assert first["facts"]["columns"] == ["school"]
    assert second["facts"]["columns"] == ["city"]
    three = started(session, {"secret": ["income"], "columns": ["school", "city"], "replaces": one})
    with pytest.raises(InvalidProblem, match="compute it again"):
        session.progress(one, 0)
    computed(session, three)
    assert session.progress(two, 0)["points"] == second["points"]


def test_curves_of_old_tabs_are_let_go(tmp_path: Path) -> None:
    session = Session(write_people(tmp_path / "people.csv", 60))
    jobs = [started(session, {"secret": ["income"], "columns": ["city"]}) for _ in range(TABS + 1)]
    with pytest.raises(InvalidProblem, match="not there any more"):
        session.progress(jobs[0], 0)
    for job in jobs[1:]:
        session.stop({"job": job})
        computed(session, job)


def test_a_stopped_curve_keeps_its_points_and_says_how_far_it_was(tmp_path: Path) -> None:
    session = Session(write_people(tmp_path / "people.csv"))
    job = started(
        session, {"secret": ["income"], "columns": ["age", "school", "city"], "bins": {"age": "width:5"}}
    )
    until = time.monotonic() + PATIENCE
    while not (now := session.progress(job, 0))["points"]:
        assert time.monotonic() < until
        assert now["left"] is None or now["left"] >= 0
        assert 0 <= now["fraction"] < 1
        time.sleep(0.02)
    session.stop({"job": job})
    ended = computed(session, job)
    assert ended["state"] == "stopped"
    assert 1 <= len(ended["points"]) < len(ended["facts"]["budgets"])


def test_what_does_not_fit_is_said_when_it_is_counted(tmp_path: Path) -> None:
    session = Session(write_people(tmp_path / "people.csv"))
    job = started(session, {"secret": ["income"], "columns": ["country"]})
    assert "held one value only" in computed(session, job)["error"]


def test_a_file_that_vanished_is_said_and_can_come_back(tmp_path: Path) -> None:
    path = tmp_path / "people.csv"
    session = Session(path)
    with pytest.raises(FileRefused, match="No such file"):
        session.describe()
    write_people(path, 30)
    assert session.describe()["rows"] == 30
    path.unlink()
    assert session.describe()["rows"] == 30
    with pytest.raises(FileRefused, match="No such file"):
        session.describe(again=True)


def test_nothing_is_left_running(made: Made) -> None:
    computed(made.session, made.job)
    names = [thread.name for thread in threading.enumerate() if thread.name == "privopt-studio"]
    assert names == []
