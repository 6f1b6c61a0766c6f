"""Every kind of file that a release writes: a true one is accepted, and altered, swapped and betrayed ones are refused."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from instances.few import few
from typer.testing import CliRunner

import privopt as po
from privopt.cli import app

Table = dict[str, list[str]]
PEOPLE = 6000
PLAUSIBLE = "a true release is refused with probability 1e-06 at most"


@dataclass(frozen=True)
class Kind:
    """A kind of release: what is solved, what is read, and how its file may be forged.

    Parameters
    ----------
    problem, mechanism
        Certified here, without a solver.
    data : table
        The first column is of users where ``by`` is true.
    read : tuple of str
        The columns that are released.
    secret : str
        A column of the data that must not stand beside the release.
    written : tuple of str
        The released columns in the file.
    forged : tuple of str
        What is written into one row of twenty.
    blind : tuple of str
        The forgeries that nobody sees without the receipt: their frequencies are possible as well.
    """

    problem: po.Problem[Any]
    mechanism: po.Mechanism
    data: Table
    read: tuple[str, ...]
    secret: str
    written: tuple[str, ...]
    forged: tuple[str, ...]
    by: str = ""
    mark: str = ""
    folder: bool = False
    blind: tuple[str, ...] = ()


def people() -> tuple[Table, po.JointDistribution, po.JointDistribution]:
    """Incomes with an education and an age that hang on them, and their joint distribution with both, and with the age."""
    rng = np.random.default_rng(0)
    income = rng.choice(["low", "high"], PEOPLE, p=[0.7, 0.3])
    rich = income == "high"
    school = np.where(
        rich,
        rng.choice(["basic", "college"], PEOPLE, p=[0.3, 0.7]),
        rng.choice(["basic", "college"], PEOPLE, p=[0.6, 0.4]),
    )
    age = np.where(
        rich,
        rng.choice(["old", "young"], PEOPLE, p=[0.7, 0.3]),
        rng.choice(["old", "young"], PEOPLE, p=[0.4, 0.6]),
    )
    table = {"income": income.tolist(), "school": school.tolist(), "age": age.tolist()}
    import pandas as pd

    frame = pd.DataFrame(table)
    return (
        table,
        po.JointDistribution.from_frame(frame, "income", ["school", "age"]),
        po.JointDistribution.from_frame(frame, "income", "age"),
    )


def noisy(labels: tuple[Any, ...], stay: float = 0.7) -> np.ndarray:
    n = len(labels)
    return np.eye(n) * stay + (1 - stay) / n


def of_table(name: str) -> Kind:
    """Kinds whose release is drawn row by row."""
    data, both, age = people()
    rich, one = ("college", "old"), ("old",)
    pair = po.Channel(noisy(both.useful), both.useful, both.useful)
    single = po.Channel(noisy(age.useful), age.useful, age.useful)
    blocks = po.Merging([both.useful[:2], both.useful[2:]], both.useful)
    wrong = (1.0 - np.eye(2)).tolist()
    two, alone, message = ("school", "age"), ("age",), ("released",)
    return {
        "channel of two columns": lambda: Kind(
            po.LocalInformationPrivacy(both, 3.0), pair, data, two, "income", two, rich
        ),
        "merging": lambda: Kind(
            po.LocalInformationPrivacy(both, 3.0), blocks, data, two, "income", message, ("B1",)
        ),
        "maximal leakage": lambda: Kind(
            po.PointwiseMaximalLeakage(age, 2.0), single, data, alone, "income", alone, one
        ),
        "funnel": lambda: Kind(
            po.PrivacyFunnel(age, max_leakage=1.0), single, data, alone, "income", alone, one
        ),
        "distortion": lambda: Kind(
            po.DistortionPrivacy(age, wrong, max_leakage=3.0, leakage="lip"),
            single,
            data,
            alone,
            "income",
            alone,
            one,
        ),
    }[name]()


CHAIN = po.MarkovChain([[0.8, 0.2], [0.3, 0.7]], states=["in", "out"])
HOURS = 20


def walks(days: int) -> Table:
    """Days of hours of a chain, with the hour, and the place once more under another name."""
    rng = np.random.default_rng(1)
    table: Table = {"day": [], "place": [], "hour": [], "raw": []}
    for day in range(days):
        state = int(rng.random() < 0.4)
        for hour in range(HOURS):
            for name, cell in (
                ("day", f"d{day}"),
                ("place", CHAIN.states[state]),
                ("hour", hour),
                ("raw", CHAIN.states[state]),
            ):
                table[name].append(str(cell))
            state = int(rng.random() < CHAIN.transition[state, 1])
    return table


def of_stream(name: str) -> Kind:
    """Kinds whose records depend on each other."""
    data, days, few, place = walks(200), walks(12), walks(6), ("place",)
    hidden = np.full((HOURS, 2), 0.2)
    hidden[8:13] = 1.0
    redaction = po.RedactionMechanism(hidden, CHAIN.states)
    whole = po.RedactionMechanism(np.tile(hidden, (12, 1)), CHAIN.states)
    some = po.Redaction(CHAIN, HOURS, 10, 3.0)
    every = po.Redaction(CHAIN, HOURS * 12, 10, 3.0, period=HOURS)
    stream = po.SequenceInformationPrivacy(CHAIN, 1.0, horizon=4)
    policy = po.SequencePolicy(CHAIN, 1.0)
    words = po.SequenceInformationPrivacy(CHAIN, 1.0, batch=2, horizon=4)
    pairs = po.SequencePolicy(CHAIN, 1.0, 2, rule="randomised-response")
    return {
        "redaction of users": lambda: Kind(some, redaction, data, place, "raw", place, ("",), by="day"),
        "redaction of a stream": lambda: Kind(
            every, whole, days, place, "raw", place, ("hidden",), mark="hidden", blind=("altered",)
        ),
        "policy of users": lambda: Kind(
            stream, policy, few, place, "raw", place, ("out",), by="day", blind=("altered",)
        ),
        "policy of a stream": lambda: Kind(
            stream, policy, few, place, "raw", place, ("in",), blind=("altered",)
        ),
        "policy of a folder": lambda: Kind(
            stream, policy, few, place, "raw", place, ("out",), folder=True, blind=("altered",)
        ),
        "policy of words": lambda: Kind(words, pairs, few, place, "raw", place, ("",), by="day"),
    }[name]()


def of_answer(name: str) -> Kind:
    """Kinds that answer with a number, or about a dataset."""
    rng = np.random.default_rng(2)
    ages: Table = {"age": [str(a) for a in rng.integers(18, 80, 60).tolist()]}
    group = po.GroupModel(2)
    places = [(i, j) for i in range(3) for j in range(3)]
    edges = [(a, b) for a in places for b in places if a < b and abs(a[0] - b[0]) + abs(a[1] - b[1]) == 1]
    graph = po.DatasetGraph(edges, {v: "passed" if sum(v) >= 2 else "failed" for v in places}, places)
    votes = [places[i] for i in rng.integers(0, 9, PEOPLE).tolist()]
    towns: Table = {
        "town": [f"t{i}" for i in range(PEOPLE)],
        "east": [str(v[0]) for v in votes],
        "west": [str(v[1]) for v in votes],
    }
    number = ("query", "released")
    colours = po.BoundaryColouring(graph, epsilon=1.0)

    def query(problem: po.BayesianPrivacy, data: Table, written: tuple[str, ...]) -> Kind:
        forged = ("sum", "17") if written == number else ("a", "7")
        return Kind(
            problem,
            po.solve(problem).mechanism,
            data,
            tuple(data),
            next(iter(data)),
            written,
            forged,
            blind=("altered",),
        )

    letters: Table = {"letter": rng.choice(["a", "b"], 60).tolist()}
    chain = po.MarkovChain([[0.5, 0.5], [0.4, 0.6]], states=["a", "b"])
    return {
        "sum": lambda: query(po.BayesianPrivacy(group, "sum", 1.0, clip=(18, 80)), ages, number),
        "histogram": lambda: query(
            po.BayesianPrivacy(chain, "histogram", 2.0, length=60), letters, ("state", "count")
        ),
        "colouring": lambda: Kind(
            colours, po.solve(colours).mechanism, towns, ("east", "west"), "east", ("released",), ("passed",), by="town", blind=("altered",)
        ),
    }[name]()  # fmt: skip


TABLES = ("channel of two columns", "merging", "maximal leakage", "funnel", "distortion")
STREAMS = (
    "redaction of users", "redaction of a stream", "policy of users", "policy of a stream", "policy of a folder", "policy of words",
)  # fmt: skip
ANSWERS = ("sum", "histogram", "colouring")
NAMES = (*TABLES, *STREAMS, *ANSWERS)
MADE: dict[str, Callable[[str], Kind]] = {
    **dict.fromkeys(TABLES, of_table),
    **dict.fromkeys(STREAMS, of_stream),
    **dict.fromkeys(ANSWERS, of_answer),
}


def run(*words: str, code: int = 0) -> str:
    done = CliRunner().invoke(app, list(words))
    assert done.exit_code == code, done.output
    return " ".join(done.output.split())


def write(path: Path, table: Table) -> None:
    with path.open("w", newline="", encoding="utf-8") as stream:
        out = csv.writer(stream)
        out.writerow(list(table))
        out.writerows(zip(*table.values(), strict=True))


def read(path: Path) -> Table:
    with path.open(newline="", encoding="utf-8") as stream:
        header, *rows = csv.reader(stream)
    return {name: [row[j] for row in rows] for j, name in enumerate(header)}


@dataclass(frozen=True)
class Released:
    """A kind, and the folder that holds its release."""

    kind: Kind
    place: Path

    @property
    def options(self) -> tuple[str, ...]:
        """What an officer without the receipt says of the table."""
        kind = self.kind
        by = kind.by or ("(file)" if kind.folder else "")
        columns = tuple(word for name in kind.written for word in ("--column", name))
        return (*columns, *(("--by", by) if by else ()), *(("--mark", kind.mark) if kind.mark else ()))

    def path(self, name: str) -> str:
        return str(self.place / name)

    @property
    def file(self) -> Path:
        """The released table, or that of the first user of a folder."""
        return self.place / ("out/d0.csv" if self.kind.folder else "out.csv")

    @property
    def output(self) -> str:
        return self.path("out" if self.kind.folder else "out.csv")

    def bare(self) -> tuple[int, str]:
        """Verified from the problem, the solution and the table: the exit code and what is printed."""
        files = (self.path("problem.json"), self.path("solution.json"), self.output)
        done = CliRunner().invoke(app, ["verify", *files, *self.options])
        return done.exit_code, " ".join(done.output.split())

    def with_receipt(self, code: int) -> str:
        """Verified with the receipt as well, and from the bundle of all of them."""
        files = (self.path("problem.json"), self.path("solution.json"), self.output)
        run("verify", self.path("bundle.zip"), self.output, code=code)
        return run("verify", *files, "--receipt", self.path("receipt.json"), code=code)


LONG = {"policy of users", "policy of a folder", "policy of a stream"}
"""Kinds whose tables take many seconds to check."""


@pytest.fixture(
    scope="module",
    params=[pytest.param(name, marks=[pytest.mark.long] if name in LONG else []) for name in NAMES],
)
def released(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Released:
    """The release of a kind by the command line, with its receipt and bundles."""
    kind = MADE[request.param](request.param)
    place = tmp_path_factory.mktemp("kind")
    here = Released(kind, place)
    Path(here.path("problem.json")).write_text(json.dumps(kind.problem.to_dict()), encoding="utf-8")
    proved(kind).save(here.path("solution.json"))
    data = place / "data.csv"
    if kind.folder:
        data = place / "data"
        data.mkdir()
        for user in dict.fromkeys(kind.data["day"]):
            rows = [i for i, day in enumerate(kind.data["day"]) if day == user]
            write(data / f"{user}.csv", {name: [cells[i] for i in rows] for name, cells in kind.data.items()})
    else:
        write(data, kind.data)
    words = [word for name in kind.read for word in ("--column", name)]
    words += ["--by", kind.by] if kind.by else []
    words += ["--mark", kind.mark] if kind.mark else []
    run(
        "release",
        here.path("solution.json"),
        str(data),
        *words,
        "--output",
        here.output,
        "--receipt",
        here.path("receipt.json"),
    )
    parts = (here.path("problem.json"), here.path("solution.json"), "--receipt", here.path("receipt.json"))
    run("bundle", *parts, "--output", here.path("bundle.zip"))
    run("bundle", *parts, "--public", "--output", here.path("public.zip"))
    return here


def proved(kind: Kind) -> po.Solution[Any]:
    """The mechanism as a solution, certified without a solver."""
    problem = kind.problem
    mechanism = problem.named(kind.mechanism)
    certificate = problem.certify(mechanism)
    assert certificate.ok, certificate.reason
    reading = problem.evaluate(mechanism)
    return po.Solution[Any](
        po.Status.FEASIBLE,
        answer=mechanism,
        utility=reading.utility,
        leakage=reading.leakage,
        objective=reading.objective,
        certificate=certificate,
        guarantee=po.Guarantee.FEASIBLE,
        problem=problem.fingerprint,
    )


def forgeries(kind: Kind, table: Table) -> Iterator[tuple[str, Table]]:
    """One row of twenty altered; two columns swapped; a secret kept; a row that is never released; rows left out."""
    rows = len(next(iter(table.values())))
    forged = dict(zip(kind.written, kind.forged, strict=True))
    others = [i for i in range(rows) if any(table[name][i] != cell for name, cell in forged.items())]
    some = {*others[:: max(1, len(others) * 20 // rows)]}
    yield (
        "altered",
        {
            name: [forged[name] if i in some and name in forged else cell for i, cell in enumerate(cells)]
            for name, cells in table.items()
        },
    )
    other = next(
        (name for name in (kind.by, *kind.written, *kind.data) if name and name != kind.written[-1]), ""
    )
    pair = {other: kind.written[-1], kind.written[-1]: other}
    beside = table.get(other, kind.data.get(other, [""] * rows)[:rows])
    swapped = {**table, other: beside}
    yield "swapped", {name: swapped[pair.get(name, name)] for name in swapped}
    secret = kind.data[kind.secret][:rows]
    yield "secret", {**table, "beside": secret}
    last = kind.written[-1]
    yield "never", {**table, last: ["never released", *table[last][1:]]}


def test_a_true_release_is_accepted_and_says_how_often_it_would_not_be(released: Released) -> None:
    code, said = released.bare()
    assert code == 0, said
    assert PLAUSIBLE in said
    assert PLAUSIBLE in released.with_receipt(0)


@pytest.mark.parametrize("forgery", few(("altered", "secret", "swapped", "never"), 2))
def test_forged_releases_are_refused(released: Released, forgery: str) -> None:
    true = released.file.read_bytes()
    table = dict(forgeries(released.kind, read(released.file)))[forgery]
    try:
        write(released.file, table)
        assert "is not the file that was released" in released.with_receipt(1)
        if forgery == "altered":
            run("verify", released.path("public.zip"), released.output, code=1)
        code, said = released.bare()
        assert code in (1, 2) or forgery in released.kind.blind, said
    finally:
        released.file.write_bytes(true)
