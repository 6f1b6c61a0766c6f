"""Policies on streams, columns, tables and folders; journals that survive a crash; the command line."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from instances.few import few
from oracles.policy import GREEDY, random_chain
from typer.testing import CliRunner

import privopt as po
from privopt.cli import app
from privopt.cluster.release import release_users
from privopt.errors import FileRefused, InvalidMechanism
from privopt.mechanisms import PolicyJournal, PolicyState
from privopt.mechanisms.columns import ReleasedArray
from privopt.mechanisms.policy import stepwise
from privopt.mechanisms.policy.release import release_from

PLAIN = po.MarkovChain([[0.8, 0.2], [0.3, 0.7]], [0.5, 0.5], ["home", "away"])
BARRED = po.MarkovChain([[0.0, 1.0], [0.5, 0.5]], [0.5, 0.5], ["a", "b"])
POLICY = po.SequencePolicy(PLAIN, 1.0)
WORDS = po.SequencePolicy(PLAIN, 1.0, 3, rule=GREEDY.name)
SURE = po.SequencePolicy(PLAIN, float("inf"))
DATA = ["home", "away", "away", "home", "home"]


def test_streams_are_lazy() -> None:
    read: list[str] = []

    def endless() -> Iterator[str]:
        for letter in itertools.cycle(DATA):
            read.append(letter)
            yield letter

    released = SURE.release(endless())
    assert list(itertools.islice(released, 3)) == DATA[:3] == read


def test_containers_come_back_as_they_were() -> None:
    import pandas as pd
    import polars as pl

    column = pd.Series(DATA, index=list("vwxyz"), name="place")
    series = SURE.release(column, np.random.default_rng(0))
    assert series.tolist() == DATA
    assert (list(series.index), series.name, series.attrs["simulated"]) == (list("vwxyz"), "place", True)
    assert SURE.release(pl.Series("place", DATA)).to_list() == DATA
    assert isinstance(SURE.release(DATA), ReleasedArray)
    assert SURE.release([DATA, DATA]).tolist() == [DATA, DATA]
    assert SURE.release([]).tolist() == []
    words = po.SequencePolicy(PLAIN, float("inf"), 3, rule=GREEDY.name)
    assert words.release(DATA).tolist() == DATA
    assert list(words.release(iter(DATA))) == [("home", "away", "away"), ("home", "home")]
    assert words.release([DATA, DATA[::-1]]).tolist() == [DATA, DATA[::-1]]


def test_rectangular_distortions_release_columns() -> None:
    table = [[0.0, 1.0, 0.4], [1.0, 0.0, 0.4]]
    for batch in (1, 2):
        policy = po.SequencePolicy(PLAIN, 0.1, batch, table, GREEDY.name)
        assert set(policy.release(DATA * 20).tolist()) <= {0, 1, 2}
        one = policy.part(batch).setting
        assert one.cost.shape == (2**batch, 3**batch)
        assert one.cost[0, -1] == pytest.approx(0.4)


def test_a_short_word_ends_a_sequence() -> None:
    state = WORDS.start()
    release, state = WORDS.step(state, ("home", "away", "away"))
    assert len(release) == 3  # type: ignore[arg-type]  # a tuple
    release, after = WORDS.step(state, ("home",))
    assert WORDS.advance(state, release) == after
    assert after.ended
    with pytest.raises(InvalidMechanism, match="ended"):
        WORDS.step(after, ("home",))
    with pytest.raises(InvalidMechanism, match="tuple of 1 to 3"):
        WORDS.step(state, "home")
    setting = WORDS.part(1).setting
    assert (setting.epsilon, WORDS.setting.epsilon) == (1.0, 3.0)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (["a", "x"], "record 1: the letter is not one"),
        (["a", "a"], "record 1: the letter cannot follow"),
        ([["a", "b", "b"], ["b", "a", "a"]], "row 1, record 2: the letter cannot follow"),
        (iter(["b", "a", "a"]), "record 2: the letter cannot follow"),
        (iter(["b", "z"]), "record 1: the letter is not one"),
    ],
)
def test_letters_that_cannot_be_are_named_with_their_place(data: Any, message: str) -> None:
    policy = po.SequencePolicy(BARRED, 1.0)
    with pytest.raises(InvalidMechanism, match=message):
        list(policy.release(data))


def test_first_letters_long_data_and_long_sequences_are_refused() -> None:
    sure = po.MarkovChain([[0.5, 0.5], [0.5, 0.5]], [1.0, 0.0])
    with pytest.raises(InvalidMechanism, match="record 0: the letter cannot come first"):
        po.SequencePolicy(sure, 1.0).release([1, 0])
    with pytest.raises(InvalidMechanism, match="release 2 is not within the 2"):
        po.SequencePolicy(PLAIN, 1.0, limit=2).release(DATA)
    steps = po.MarkovChain([[[0.5, 0.5], [0.1, 0.9]], [[1.0, 0.0], [0.0, 1.0]]], [0.5, 0.5])
    policy = po.SequencePolicy(steps, 1.0)
    assert len(policy.release([0, 1, 1])) == 3
    with pytest.raises(InvalidMechanism, match="record 2: the letter cannot follow"):
        policy.release([0, 1, 0])
    with pytest.raises(InvalidMechanism, match="data has 4 records, the chain 3"):
        policy.release([0, 1, 1, 1])
    with pytest.raises(InvalidMechanism, match="beyond the chain"):
        list(policy.release(iter([0, 1, 1, 1])))


def test_higher_orders_follow_their_words() -> None:
    rng = np.random.default_rng(0)
    chain = po.MarkovChain.fit([[0, 0, 1, 1, 0, 0, 1, 1, 0, 0]], order=2)
    policy = po.SequencePolicy(chain, 1.0)
    assert len(policy.release([0, 1, 1, 0, 0, 1], rng)) == 6
    with pytest.raises(InvalidMechanism, match="record 3: the letter cannot follow"):
        policy.release([0, 1, 1, 1], rng)


class Killed(BaseException):
    """The end of a process."""


@pytest.mark.parametrize("policy", [POLICY, WORDS], ids=["letters", "words"])
@pytest.mark.parametrize("seed", few(range(6), 3))
def test_no_recorded_step_is_drawn_again_after_a_crash(
    seed: int, policy: po.SequencePolicy, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Killed at random: before a record is written, or after it and before the release is handed out."""
    rng, path = np.random.default_rng(seed), str(tmp_path / "journal.json")
    letters = [PLAIN.letters[i] for i in rng.integers(0, 2, 30)]
    drawn: dict[int, list[object]] = {}
    write = PolicyJournal.write

    def dying(journal: PolicyJournal, state: PolicyState, release: Any) -> None:
        if rng.random() < 0.15:
            raise Killed
        write(journal, state, release)
        drawn.setdefault(state.step, []).append(release)
        if rng.random() < 0.25:
            raise Killed

    monkeypatch.setattr(PolicyJournal, "write", dying)
    received: list[object] = []
    for _ in range(200):
        journal = policy.state(path)
        if journal.step > len(received):  # a consumer that missed the last one
            assert journal.step == len(received) + 1
            received.append(journal.last)
        try:
            for release in policy.release(iter(letters[journal.step * policy.batch :]), state=journal):
                received.append(release)  # noqa: PERF402 - what came before the crash is kept
            break
        except Killed:
            continue
    steps = len(letters) // policy.batch
    assert {step: len(times) for step, times in drawn.items()} == {step + 1: 1 for step in range(steps)}
    assert received == [drawn[step + 1][0] for step in range(steps)]
    monkeypatch.undo()
    state = policy.start()
    for release in received:
        state = policy.advance(state, release)  # type: ignore[arg-type]  # a label
    assert policy.state(path).current == state


def test_journals_hold_nothing_but_releases_and_beliefs(tmp_path: Path) -> None:
    path = tmp_path / "journal.json"
    journal = POLICY.state(str(path))
    releases = POLICY.release(DATA, state=journal)
    fields = json.loads(path.read_text())
    assert set(fields) == {"type", "version", "policy", "step", "belief", "ended", "last"}
    assert fields["last"] == {"release": releases[-1]}
    assert [p.name for p in tmp_path.iterdir()] == ["journal.json"]
    assert POLICY.state(str(path)).current == journal.current


def test_foreign_and_damaged_journals_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "journal.json"
    list(POLICY.release(iter(DATA), state=POLICY.state(str(path))))
    other = po.SequencePolicy(PLAIN, 1.5)
    with pytest.raises(FileRefused, match="another policy"):
        other.state(str(path))
    with pytest.raises(InvalidMechanism, match="another policy"):
        other.release(DATA, state=POLICY.state())
    with pytest.raises(InvalidMechanism, match="one sequence"):
        POLICY.release([DATA, DATA], state=POLICY.state())
    good = json.loads(path.read_text())
    for change in (
        {"step": -1},
        {"belief": [2, 0]},
        {"belief": [1.0]},
        {"last": None},
        {"last": 3},
        {"version": 2},
    ):
        path.write_text(json.dumps({**good, **change}))
        with pytest.raises(FileRefused, match=r"journal\.json"):
            POLICY.state(str(path))
    for text in ("", "[]", "{", "null"):
        path.write_text(text)
        with pytest.raises(FileRefused, match=r"journal\.json"):
            POLICY.state(str(path))


def test_two_runs_on_one_journal_are_noticed(tmp_path: Path) -> None:
    path = str(tmp_path / "journal.json")
    one, two = POLICY.state(path), POLICY.state(path)
    first = POLICY.release(iter(DATA), state=one)
    second = POLICY.release(iter(DATA), state=two)
    next(first)
    with pytest.raises(FileRefused, match="another run"):
        next(second)


def test_users_of_all_lengths_go_on_where_they_stood() -> None:
    rng = np.random.default_rng(2)
    chain = random_chain(6)
    policy = po.SequencePolicy(chain, float("inf"))
    full = [rng.integers(0, chain.k, n) for n in (5, 0, 9, 2, 9)]
    first = [codes[: len(codes) // 2] for codes in full]
    released, states = release_from(policy, first, [policy.start()] * 5, None)
    rest = [codes[len(codes) // 2 :] for codes in full]
    more, ends = release_from(policy, rest, states, None)
    assert [[*a, *b] for a, b in zip(released, more, strict=True)] == [list(c) for c in full]
    assert [s.step for s in ends] == [5, 0, 9, 2, 9]
    for codes, end in zip(full, ends, strict=True):
        state = policy.start()
        for letter in codes.tolist():
            state = policy.advance(state, letter)
        assert end.belief == pytest.approx(state.belief, abs=1e-12)


def test_pieces_of_users_and_progress(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("privopt.cluster.release.PIECE", 3)
    told: list[float] = []
    table = np.random.default_rng(0).integers(0, 2, (8, 4))
    policy = po.SequencePolicy(po.MarkovChain([[0.5, 0.5], [0.25, 0.75]]), float("inf"))
    released = release_users(policy, table, progress=lambda f, s: told.append(f))
    assert released.tolist() == table.tolist()
    assert told == [3 / 8, 6 / 8, 1.0]
    lazy = release_users(policy, (row for row in [[0, 1], [1], [], [1, 1, 1]]))
    assert [r.tolist() for r in lazy] == [[0, 1], [1], [], [1, 1, 1]]
    with pytest.raises(InvalidMechanism, match="user 4: record 1"):
        list(release_users(policy, [[0]] * 4 + [[0, 7]]))
    told.clear()
    policy.release(table, progress=lambda f, s: told.append(f))
    assert told[-1] == 1.0


@pytest.mark.long
def test_a_cluster_draws_what_is_drawn_here(monkeypatch: pytest.MonkeyPatch) -> None:
    distributed = pytest.importorskip("distributed")
    monkeypatch.setattr("privopt.cluster.release.PIECE", 5)
    table = np.random.default_rng(0).integers(0, 2, (23, 6))
    policy = po.SequencePolicy(po.MarkovChain([[0.5, 0.5], [0.25, 0.75]]), 1.0)
    with distributed.LocalCluster(
        n_workers=1, threads_per_worker=1, host="127.0.0.1", dashboard_address=None
    ) as cluster:
        there = release_users(
            policy, table, scheduler=cluster.scheduler_address, rng=np.random.default_rng(1)
        )
        real = release_users(policy, table, scheduler=cluster.scheduler_address)
    here = release_users(policy, table, rng=np.random.default_rng(1))
    assert (there == here).all()
    assert there.simulated
    assert real.shape == table.shape


def csv(path: Path, rows: list[tuple[str, str]]) -> Path:
    path.write_text("user,place\n" + "".join(f"{u},{p}\n" for u, p in rows))
    return path


def run(*arguments: object) -> Any:
    return CliRunner().invoke(app, ["release", *map(str, arguments)])


@pytest.fixture
def machine(tmp_path: Path) -> Path:
    path = tmp_path / "policy.json"
    path.write_text(json.dumps(SURE.to_dict()))
    return path


ROWS = [("ann", "home"), ("bob", "away"), ("ann", "away"), ("ann", "home"), ("bob", "home")]


def test_the_command_line_takes_each_user_as_a_sequence(machine: Path, tmp_path: Path) -> None:
    data, out = csv(tmp_path / "data.csv", ROWS), tmp_path / "out.csv"
    done = run(machine, data, "--column", "place", "--by", "user", "--output", out)
    assert done.exit_code == 0, done.output
    assert out.read_text() == data.read_text()
    assert "users" in done.output
    bad = csv(tmp_path / "bad.csv", [*ROWS, ("bob", "moon")])
    refused = run(machine, bad, "--column", "place", "--by", "user", "--output", out)
    assert refused.exit_code == 2
    assert "row 6" in refused.output


def test_the_command_line_never_draws_a_recorded_release_again(tmp_path: Path) -> None:
    machine, state, out = tmp_path / "policy.json", tmp_path / "state.json", tmp_path / "out.csv"
    machine.write_text(json.dumps(po.SequencePolicy(PLAIN, 0.5).to_dict()))
    data = csv(tmp_path / "data.csv", ROWS * 8)
    where = ("--column", "place", "--by", "user", "--state", state, "--output", out)
    assert run(machine, data, *where).exit_code == 0
    first, kept = out.read_text(), state.read_text()
    out.unlink()
    again = run(machine, data, *where)
    assert again.exit_code == 0, again.output
    assert (out.read_text(), json.loads(state.read_text())) == (first, json.loads(kept))
    csv(data, [*(ROWS * 8), *ROWS, ("eve", "home")])
    assert run(machine, data, *where).exit_code == 0
    assert out.read_text().startswith(first)
    assert len(out.read_text().splitlines()) == 47
    csv(data, ROWS)
    assert "from the first record" in " ".join(run(machine, data, *where).output.split())
    machine.write_text(json.dumps(POLICY.to_dict()))
    refused = run(machine, csv(data, ROWS * 8), *where)
    assert refused.exit_code == 2
    assert "another policy" in refused.output


def test_words_wait_until_they_are_full(tmp_path: Path) -> None:
    machine, state, out = tmp_path / "policy.json", tmp_path / "state.json", tmp_path / "out.csv"
    machine.write_text(json.dumps(WORDS.to_dict()))
    where = ("--column", "place", "--by", "user", "--state", state, "--output", out)
    done = run(machine, csv(tmp_path / "data.csv", ROWS), *where)
    assert done.exit_code == 0, done.output
    assert [line.split(",")[0] for line in out.read_text().splitlines()] == ["user", "ann", "ann", "ann"]
    first = out.read_text().splitlines()
    assert run(machine, csv(tmp_path / "data.csv", [*ROWS, ("bob", "away")]), *where).exit_code == 0
    assert [line for line in out.read_text().splitlines() if "bob" not in line] == first
    assert len(out.read_text().splitlines()) == 7


def test_a_folder_has_a_file_for_each_user(machine: Path, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    for name in ("ann", "bob"):
        csv(tmp_path / "in" / f"{name}.csv", [r for r in ROWS if r[0] == name])
    done = run(machine, tmp_path / "in", "--column", "place", "--output", tmp_path / "out")
    assert done.exit_code == 0, done.output
    assert (tmp_path / "out" / "ann.csv").read_text() == "place\nhome\naway\nhome\n"
    assert (tmp_path / "out" / "bob.csv").read_text() == "place\naway\nhome\n"
    refused = run(machine, tmp_path / "in", "--column", "place", "--output", tmp_path / "in")
    assert refused.exit_code == 2
    both = run(machine, tmp_path / "in", "--column", "place", "--output", tmp_path / "out", "--state",
               tmp_path / "s.json", "--simulate", 1)  # fmt: skip
    assert both.exit_code == 2


def test_a_channel_answers_the_same_records_from_its_state(tmp_path: Path) -> None:
    machine = tmp_path / "channel.json"
    machine.write_text(json.dumps(po.Channel([[1, 0], [0, 1]], ["home", "away"], ["home", "away"]).to_dict()))
    written = []
    for name in ("first.csv", "second.csv"):
        released = run(machine, csv(tmp_path / "d.csv", ROWS), "--column", "place", "--output", tmp_path / name,
                       "--state", tmp_path / "s.json")  # fmt: skip
        assert released.exit_code == 0, released.output
        written.append((tmp_path / name).read_text())
    assert written[0] == written[1]


def test_the_journal_counts_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    """One draw a release, no more."""
    calls: list[int] = []
    draw = stepwise.draw
    monkeypatch.setattr(stepwise, "draw", lambda rows, rng: (calls.append(len(rows)), draw(rows, rng))[1])
    list(WORDS.release(iter(DATA)))
    assert calls == [1, 1]
