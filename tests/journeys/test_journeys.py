"""Eight tutorials: every block of a page is run, in its order, in an empty folder with an empty home."""

from __future__ import annotations

import doctest
import os
import re
import runpy
import shlex
import subprocess
import sys
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import chdir, redirect_stdout
from dataclasses import dataclass, field
from io import StringIO
from pathlib import Path
from typing import Protocol

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import privopt as po
from privopt.cli import app

ROOT = Path(__file__).resolve().parents[2]
LIST = (ROOT / "docs" / "journeys.md").read_text(encoding="utf-8")
TUTORIALS = ROOT / "docs" / "tutorials"
QUICK = ("table", "officer", "stream", "families", "graph", "survey", "counts")
LONG = ("solver",)
"""It measures for a minute, with a folder of the user's own, of which only new processes know."""
JOURNEYS = (*QUICK, *LONG)
PUBLISHED, OFFICER = "table", "officer"
"""The officer goes on in the folder of the data scientist."""

PARTS = re.compile(
    r"^## (?P<part>[^\n]+)$|^```(?P<kind>sh|python|text)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL
)
CHECKER = doctest.OutputChecker()
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
EXTERNAL = "PRIVOPT_DATA"
PATIENCE = 300.0
"""Seconds for one command, on a busy machine."""


@dataclass(frozen=True)
class Block:
    """What is typed, in which part of a journey, and what is printed, where the page shows it."""

    kind: str
    text: str
    part: str
    printed: str | None = None

    @property
    def refused(self) -> bool:
        return self.part == "Refused"

    @property
    def external(self) -> bool:
        return EXTERNAL in self.text

    def commands(self) -> Iterator[str]:
        """The commands of a block for the shell, each whole."""
        waiting = ""
        for line in self.text.splitlines():
            waiting += line + "\n"
            try:
                complete = not line.endswith("\\") and bool(shlex.split(waiting))
            except ValueError:  # a quotation goes on
                continue
            if complete:
                yield waiting.strip()
                waiting = ""
        assert not waiting, waiting


def text_of(name: str) -> str:
    return (TUTORIALS / f"{name}.md").read_text(encoding="utf-8")


def blocks(name: str) -> list[Block]:
    part, ordered = "", list[Block]()
    for match in PARTS.finditer(text_of(name)):
        if match["part"]:
            part = match["part"]
        elif match["kind"] == "text":
            last = ordered.pop()
            assert last.printed is None, match["text"]
            ordered.append(Block(last.kind, last.text, part, match["text"]))
        else:
            ordered.append(Block(match["kind"], match["text"], part))
    return ordered


@dataclass(frozen=True)
class Done:
    code: int
    output: str


class Runner(Protocol):
    """How commands and scripts are run."""

    def shell(self, command: str, folder: Path) -> Done: ...

    def script(self, text: str, folder: Path) -> Done: ...


@dataclass(frozen=True)
class Installed:
    """As a user does: by bash and Python, with what is installed in one environment, and nothing else of this process."""

    programs: Path
    home: Path

    def shell(self, command: str, folder: Path) -> Done:
        return self._run(["bash", "-c", command], folder)

    def script(self, text: str, folder: Path) -> Done:
        return self._run([str(self.programs / "python"), "-c", text], folder)

    def _run(self, command: Sequence[str], folder: Path) -> Done:
        data = {EXTERNAL: os.environ[EXTERNAL]} if EXTERNAL in os.environ else {}
        environment = {"PATH": f"{self.programs}:/usr/bin:/bin", "HOME": str(self.home), **data}
        done = subprocess.run(
            command,
            cwd=folder,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=PATIENCE,
            check=False,
        )
        return Done(done.returncode, done.stdout)


@dataclass(frozen=True)
class Here:
    """The same in this process, which spares each command the start of Python; what is not privopt's goes to bash."""

    outside: Installed

    def shell(self, command: str, folder: Path) -> Done:
        if not command.startswith("privopt "):
            return self.outside.shell(command, folder)
        with chdir(folder):
            done = CliRunner().invoke(app, shlex.split(command)[1:])
        assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
        return Done(done.exit_code, done.stdout + done.stderr)

    def script(self, text: str, folder: Path) -> Done:
        printed, place = StringIO(), folder.parent / "block.py"
        place.write_text(text, encoding="utf-8")
        with chdir(folder), redirect_stdout(printed), warnings.catch_warnings():
            try:
                runpy.run_path(str(place), run_name="__main__")
            except ValueError:  # all that privopt refuses
                return Done(1, printed.getvalue() + traceback.format_exc())
        return Done(0, printed.getvalue())


@dataclass
class Walk:
    """Journeys that were made, each once, in folders below one."""

    root: Path
    runner: Runner
    seconds: dict[str, float] = field(default_factory=dict)

    def folder(self, name: str) -> Path:
        """The folder of a journey that was made; what went wrong on it raises."""
        place = self.root / (PUBLISHED if name == OFFICER else name)
        if name not in self.seconds:
            if name == OFFICER:
                self.folder(PUBLISHED)
            place.mkdir(exist_ok=True)
            start = time.perf_counter()
            for block in blocks(name):
                if not block.external:
                    self.follow(block, place)
            self.seconds[name] = time.perf_counter() - start
        return place

    def follow(self, block: Block, folder: Path) -> None:
        """Run a block, and compare its ending and what it prints with the page."""
        if block.kind == "python":
            done = self.runner.script(block.text, folder)
            assert (done.code != 0) == block.refused, done.output
            printed = done.output
        else:
            printed = ""
            for command in block.commands():
                done = self.runner.shell(command, folder)
                refused = block.refused and "privopt " in command
                assert done.code in ((1, 2) if refused else (0,)), f"{command}\n{done.output}"
                printed += done.output
        if block.printed is not None:
            assert CHECKER.check_output(block.printed, printed, FLAGS), f"{block.text}\nprinted\n{printed}"


def clean_home(root: Path) -> Path:
    home = root / "home"
    home.mkdir()
    return home


@pytest.fixture(scope="module")
def walk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Walk]:
    root = tmp_path_factory.mktemp("journeys")
    home = clean_home(root)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HOME", str(home))
        yield Walk(root, Here(Installed(Path(sys.executable).parent, home)))
    assert {path.name for path in home.iterdir()} <= {".cache", ".config"}  # of the library of pictures


def table(path: Path) -> pd.DataFrame:
    return pd.read_csv(path, dtype=str, keep_default_na=False)


def values_of(cell: str) -> set[str]:
    """The values that a released cell names, as ``a|b``, or as ``1 to 3`` in a column of whole numbers."""
    values = set[str]()
    for part in cell.split("|"):
        ends = re.fullmatch(r"(\d+) to (\d+)", part)
        values |= {str(n) for n in range(int(ends[1]), int(ends[2]) + 1)} if ends else {part}
    return values


@pytest.mark.parametrize("name", QUICK)
def test_every_block_of_a_tutorial_does_what_the_page_says(walk: Walk, name: str) -> None:
    walk.folder(name)


@pytest.mark.long
@pytest.mark.parametrize("name", LONG)
def test_every_block_of_a_long_tutorial_does_what_the_page_says(tmp_path: Path, name: str) -> None:
    folder = Walk(tmp_path, Installed(Path(sys.executable).parent, clean_home(tmp_path))).folder(name)
    assert (folder / "runs" / "report.html").is_file()
    assert (folder / "runs" / "report" / "paper.tex").is_file()


def test_families_have_a_mean_near_the_true_one(walk: Walk) -> None:
    folder = walk.folder("families")
    (mean,) = pd.read_csv(folder / "mean.csv")["released"]
    true = pd.read_csv(folder / "families.csv").to_numpy().mean()
    assert abs(float(mean) - true) < 25 * 0.148  # e^-25 of answers are farther off


def test_a_survey_gives_shares_and_no_answer(walk: Walk) -> None:
    folder = walk.folder("survey")
    asked, released = table(folder / "survey.csv"), table(folder / "released.csv")
    assert list(released.columns) == ["vote"]
    assert set(released["vote"]) == {"Clinton", "Dole"}
    assert len(released) == len(asked) == 944
    true = (released["vote"] == asked["vote"]).mean()
    assert abs(true - np.e / (1 + np.e)) < 5 * 0.0145  # randomised response at 1 nat
    seen = (released["vote"] == "Clinton").mean()
    share = (seen + true - 1) / (2 * true - 1)
    assert abs(share - (asked["vote"] == "Clinton").mean()) < 0.2
    leaning = table(folder / "leaning.csv")
    assert set(leaning["leaning"]) <= set(asked["leaning"])
    assert not (folder / "changed-again.csv").exists()


def test_a_graph_gives_an_answer_for_each_dataset(walk: Walk) -> None:
    folder = walk.folder("graph")
    solution = po.Solution.load(folder / "solution.json")
    mechanism = solution.mechanism
    assert isinstance(mechanism, po.Colouring)
    said = {mechanism.release((5, 5)) for _ in range(20)}
    assert said <= {"passed", "failed"}
    assert "passed" in said  # wrong with probability 0.0018 each
    answers = table(folder / "answers.csv")
    assert list(answers.columns) == ["town", "released"]
    assert list(answers["town"]) == ["Ulm", "Bonn"]
    assert set(answers["released"]) <= {"passed", "failed"}


def test_a_table_is_read_by_people(walk: Walk) -> None:
    folder = walk.folder(PUBLISHED) / "out"
    asked, released = table(folder.parent / "survey.csv"), table(folder / "released.csv")
    book = table(folder / "codebook.csv")
    assert list(released.columns) == ["released", "education", "tv_news"]
    assert len(released) == len(asked)
    assert set(released["released"]) <= set(book["release"])
    for name in ("education", "tv_news"):
        cells = [values_of(cell) for cell in released[name]]
        assert set().union(*cells) <= {*asked[name], "(rare)"}
        assert np.mean([value in cell for value, cell in zip(asked[name], cells, strict=True)]) > 0.75
        for release, cell in zip(released["released"], cells, strict=True):
            assert cell <= set(book.loc[book["release"] == release, name]), release
    assert float(pd.read_csv(folder / "codebook.csv")["probability"].sum()) == pytest.approx(
        book["release"].nunique()
    )
    assert {path.name for path in folder.iterdir()} >= {
        "README.txt", "bundle.zip", "codebook.csv", "explanation.html", "receipt.json", "released.csv"
    }  # fmt: skip


@pytest.mark.long
def test_a_census_is_published_where_it_is_at_hand(walk: Walk) -> None:
    if EXTERNAL not in os.environ:
        pytest.skip(f"{EXTERNAL} names no folder: the census set does not ship")
    folder = walk.folder(PUBLISHED)
    (block,) = [block for block in blocks(PUBLISHED) if block.external]
    walk.follow(block, folder)
    raw, released = folder / "adult.csv", folder / "adult" / "released.csv"
    assert released.stat().st_size < raw.stat().st_size
    assert list(table(released).columns) == ["released", "age", "education", "hours_per_week"]
    assert len(table(released)) == len(table(raw)) == 32_561
    cells = Counter(cell for cell in table(released)["age"])
    assert all(re.fullmatch(r"(\d+-\d+|\(rare\))(\|(\d+-\d+|\(rare\)))*", cell) for cell in cells)


def test_an_officer_has_a_note_and_a_bundle_without_the_counted_table(walk: Walk) -> None:
    folder = walk.folder(OFFICER)
    assert "What is protected" in (folder / "note.html").read_text(encoding="utf-8")
    assert (folder / "public.zip").stat().st_size < (folder / "out" / "bundle.zip").stat().st_size
    altered, released = table(folder / "altered.csv"), table(folder / "out" / "released.csv")
    assert 0.03 < (altered != released).any(axis=1).mean() < 0.06


def test_a_stream_has_a_gap_and_no_record_is_drawn_twice(walk: Walk) -> None:
    folder = walk.folder("stream")
    released = pd.read_csv(folder / "released.csv", dtype=str, keep_default_na=False)["temp_min"].tolist()
    assert len(released) == 7
    assert [cell == "" for cell in released] == [False, False, False, True, False, False, False]
    shown = {cell.removeprefix("'") for cell in released}  # which a spreadsheet would else take for a formula
    assert shown - {""} <= {"-10 to 5", "5 to 10", "10 to 20"}
    hours = table(folder / "hours-released.csv")
    assert set(hours["place"]) == {"home", "away"}
    assert len(hours) == 60 * 24


def test_answers_are_numbers_near_the_count_and_are_charged(walk: Walk) -> None:
    folder = walk.folder("counts")
    count = int((table(folder / "days.csv")["day"] == "frost").sum())
    for name in ("first.csv", "second.csv"):
        answer = pd.read_csv(folder / name)
        assert list(answer.columns) == ["query", "released"]
        assert abs(int(answer["released"][0]) - count) < 25 * 7.6  # e^-25 of answers are farther off
    assert not (folder / "third.csv").exists()
    assert not (folder / "new.json").exists()


def test_what_was_refused_left_nothing(walk: Walk) -> None:
    allowed = {
        "survey": {"again.csv"},
        "stream": {"again.csv"},
    }  # of the check that the same rows are answered alike
    for tutorial in QUICK:
        folder = walk.folder(tutorial)
        named = {word for block in blocks(tutorial) if block.refused and block.kind == "sh"
                 for command in block.commands() if command.startswith("privopt ")
                 for word in re.findall(r"--output (\S+)", command)}  # fmt: skip
        for name in named - allowed.get(tutorial, set()):
            assert name == "out" or not (folder / name).exists(), (tutorial, name)
    for tutorial, names in allowed.items():
        for name in names:
            same = (walk.folder(tutorial) / "released.csv").read_bytes()
            assert (walk.folder(tutorial) / name).read_bytes() == same


FIRST = re.compile(r"privopt (release|publish|verify|bench run)|\.release\(")
"""What makes a release, for the officer a verdict, for the researcher a comparison."""


def minutes_to_a_release(name: str) -> float:
    """At 200 words a minute of reading, and 200 characters a minute for whoever types all that could be copied."""
    words = typed = 0
    before = 0
    text = text_of(name)
    for match in PARTS.finditer(text):
        words += len(text[before : match.start()].split())
        before = match.end()
        if match["kind"] in ("sh", "python"):
            typed += len(match["text"])
            if FIRST.search(match["text"]):
                break
    return words / 200 + typed / 200


@pytest.mark.parametrize("name", JOURNEYS)
def test_a_release_takes_less_than_seven_minutes_of_reading_and_typing(name: str) -> None:
    told = re.search(
        rf"^\| \[[^]]+\]\(tutorials/{name}\.md\) .*\| ([\d.]+) min \|$", LIST, flags=re.MULTILINE
    )
    assert told is not None, f"docs/journeys.md does not list tutorials/{name}.md with its minutes"
    assert minutes_to_a_release(name) == pytest.approx(float(told[1]), abs=0.5)
    assert float(told[1]) < 7
    assert {block.part for block in blocks(name)} >= {"", "Check", "Refused"}


def test_every_tutorial_is_listed_and_the_list_is_linked() -> None:
    assert "(docs/journeys.md)" in (ROOT / "README.md").read_text(encoding="utf-8")
    assert sorted(path.stem for path in TUTORIALS.glob("*.md")) == sorted(JOURNEYS)
    for name in JOURNEYS:
        for link in re.findall(r"\]\(([\w./]+\.md)\)", text_of(name)):
            assert (TUTORIALS / link).is_file(), (name, link)


@pytest.mark.long
def test_the_journeys_in_a_fresh_environment(tmp_path: Path) -> None:
    """The built package in an environment of its own, by the installed command; prints the seconds of each journey."""
    environment, dist = tmp_path / "environment", tmp_path / "dist"
    for command in (
        [sys.executable, "-m", "build", "--wheel", "--outdir", str(dist), str(ROOT)],
        [sys.executable, "-m", "venv", str(environment)],
    ):
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    wheel = next(dist.glob("*.whl"))
    install = [str(environment / "bin" / "pip"), "install", "-q", f"{wheel}[noise,plot]"]
    done = subprocess.run(install, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    walk = Walk(tmp_path, Installed(environment / "bin", clean_home(tmp_path)))
    for name in JOURNEYS:
        walk.folder(name)
        print(f"{name}: {walk.seconds[name]:.1f} s")
    if EXTERNAL in os.environ:
        start = time.perf_counter()
        test_a_census_is_published_where_it_is_at_hand(walk)
        print(f"census: {time.perf_counter() - start:.1f} s")
