"""Streams on the command line: days of hours, numbers in bins, gaps, a restart, and what is refused."""

from __future__ import annotations

import csv
import gzip
import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner, Result

import privopt as po
from privopt.cli import app
from privopt.files.json import write_json
from privopt.publication.released import Layout
from privopt.publication.table import check_table

DAYS, HOURS = 30, 24


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A stream of 30 days of hourly watts, low at night, with three gaps."""
    monkeypatch.chdir(tmp_path)
    rng, state, rows = np.random.default_rng(5), 0, []
    for t in range(DAYS * HOURS):
        up = 0.55 if 7 <= t % HOURS <= 22 else 0.1
        state = int(rng.random() < (0.3 + up * 0.6 if state else up))
        watts = int(rng.integers(900, 2000) if state else rng.integers(50, 400))
        rows.append((f"d{t // HOURS:02d}", "" if t in (30, 31, 200) else watts))
    with Path("stream.csv").open("w", newline="") as out:
        csv.writer(out).writerows([("day", "watts"), *rows])
    return tmp_path


def call(*args: str, code: int = 0) -> Result:
    result = CliRunner().invoke(app, list(args), prog_name="privopt")
    assert result.exit_code == code, result.output
    return result


def fit(*more: str) -> dict[str, Any]:
    call(
        "fit",
        "stream.csv",
        "--column",
        "watts",
        "--bins",
        "watts=0,500,2500",
        "--output",
        "chain.json",
        *more,
    )
    chain: dict[str, Any] = json.loads(Path("chain.json").read_text())
    return chain


def column(path: str, name: str = "watts") -> list[str]:
    with Path(path).open(newline="") as stream:
        return [row[name] for row in csv.DictReader(stream)]


def solved(name: str, problem: dict[str, Any], solver: str) -> None:
    write_json(Path(f"{name}.problem.json"), problem)
    call("solve", f"{name}.problem.json", "--solver", solver, "--output", f"{name}.json")


def policy_file(*more: str) -> None:
    """A policy of the stream with 0.8 nats a record, in p.problem.json and p.json."""
    chain = fit("--smoothing", "0.5", *more)
    problem = {"type": "sequence_information_privacy", "chain": chain, "epsilon": 0.8, "horizon": 24}
    solved("p", problem, "closed-form")


def goes_on(name: str, words: tuple[str, ...] = (), code: int = 0) -> Result:
    return call("release", "p.json", name, "--state", "s.json", "--output", "o.csv", *words, code=code)


def test_a_private_hour_of_every_day_of_one_stream(folder: Path) -> None:
    chain = fit("--period", "24", "--smoothing", "0.5")
    assert (chain["version"], chain["periodic"], len(chain["transition"])) == (2, True, 24)
    solved(
        "whole",
        {"type": "redaction", "chain": chain, "length": 720, "private": 20, "period": 24, "epsilon": 1.0},
        "windows",
    )
    output = call("release", "whole.json", "stream.csv", "--mark", "hidden", "--output", "out.csv").output
    assert "missing      3 records" in output
    released, raw = column("out.csv"), column("stream.csv")
    assert set(released) == {"0-499", "500-2500", "hidden"}
    assert all(released[t] == "hidden" for t in range(20, 720, 24))
    assert released[30] == released[31] == "hidden"
    shown = [(cell, watts) for cell, watts in zip(released, raw, strict=True) if cell != "hidden"]
    assert all(cell == ("0-499" if int(watts) < 500 else "500-2500") for cell, watts in shown)
    assert len(shown) > 300
    assert "PROVED" in call("verify", "whole.problem.json", "whole.json").output


def test_days_of_one_stream_are_not_released_as_if_they_were_independent(folder: Path) -> None:
    chain = fit("--period", "24", "--smoothing", "0.5")
    solved(
        "day", {"type": "redaction", "chain": chain, "length": 24, "private": 0, "epsilon": 1.0}, "windows"
    )
    refused = call("release", "day.json", "stream.csv", "--by", "day", "--output", "out.csv", code=2)
    assert "fitted to one stream" in refused.stderr
    assert "period=" in refused.stderr
    assert not Path("out.csv").exists()
    mechanism = po.Solution.load("day.json").mechanism
    whole = po.Redaction(po.MarkovChain.from_dict(chain), 720, 0, 1.0, period=24)
    tiled = po.RedactionMechanism(np.tile(mechanism.probabilities, (30, 1)), mechanism.states)
    assert whole.evaluate(tiled).leakage > 1.2  # what the refusal keeps from happening
    apart = fit("--by", "day", "--smoothing", "0.5")
    solved(
        "apart", {"type": "redaction", "chain": apart, "length": 24, "private": 0, "epsilon": 1.0}, "windows"
    )
    call("release", "apart.json", "stream.csv", "--by", "day", "--mark", "hidden", "--output", "out.csv")
    assert column("out.csv")[::24] == ["hidden"] * 30


def test_another_column_is_refused_and_the_own_one_need_not_be_named(folder: Path) -> None:
    policy_file()
    refused = call("release", "p.json", "stream.csv", "--column", "day", "--output", "out.csv", code=2)
    assert "fitted to 'watts', not 'day'" in refused.stderr
    Path("far.csv").write_text("watts\n100\n98765\n")
    refused = call("release", "p.json", "far.csv", "--output", "out.csv", code=2)
    assert "row 2 is outside its bins, 0 to 2500" in refused.stderr
    assert "98765" not in refused.stderr


@pytest.mark.long
def test_a_stream_with_gaps_goes_on_after_a_stop(folder: Path) -> None:
    policy_file("--period", "24")
    lines = Path("stream.csv").read_text().splitlines(keepends=True)
    Path("begun.csv").write_text("".join(lines[:32]))  # it ends with a gap
    call("release", "p.json", "begun.csv", "--state", "state.json", "--output", "begun.out.csv")
    state = json.loads(Path("state.json").read_text())
    assert (state["version"], state["users"][""]["version"]) == (3, 2)
    assert (state["users"][""]["step"], state["users"][""]["missing"]) == (31, [30])
    output = call("release", "p.json", "stream.csv", "--state", "state.json", "--output", "out.csv").output
    assert "drawn before  31" in output
    assert "all together  717 releases of at most 0.8 nats tell at most 573.6 nats" in output
    assert "but for a chance of 1e-06" in output
    released = column("out.csv")
    assert released[:31] == column("begun.out.csv")
    assert [t for t, cell in enumerate(released) if not cell] == [30, 31, 200]
    policy = po.Solution.load("p.json").mechanism
    walked = policy.start()
    for cell in released:
        walked = policy.advance(walked, cell) if cell else policy.skip(1, walked)
    assert json.loads(Path("state.json").read_text())["users"][""]["belief"] == list(walked.belief)
    again = Path("out.csv").read_text()
    call("release", "p.json", "stream.csv", "--state", "state.json", "--output", "out.csv")
    assert Path("out.csv").read_text() == again


def test_a_gap_that_is_filled_in_later_stays_a_gap(folder: Path) -> None:
    policy_file()
    Path("first.csv").write_text('watts\n100\n""\n1200\n')
    call("release", "p.json", "first.csv", "--state", "state.json", "--output", "out.csv")
    Path("first.csv").write_text("watts\n100\n100\n1200\n300\n")
    call("release", "p.json", "first.csv", "--state", "state.json", "--output", "out.csv")
    assert [cell == "" for cell in column("out.csv")] == [False, True, False, False]


def altered(row: int, cell: str) -> str:
    """A copy of the released stream in which one row is another."""
    lines = Path("out.csv").read_text().splitlines()
    lines[row] = cell
    Path("altered.csv").write_text("\n".join(lines) + "\n")
    return "altered.csv"


@pytest.mark.long
def test_a_released_stream_with_gaps_is_verified(folder: Path) -> None:
    policy_file("--period", "24")
    call("release", "p.json", "stream.csv", "--output", "out.csv", "--receipt", "receipt.json")
    assert [t for t, cell in enumerate(column("out.csv")) if not cell] == [30, 31, 200]
    said = call("verify", "p.problem.json", "p.json", "out.csv").output
    assert "The table of 720 rows is plausible" in " ".join(said.split())
    call("verify", "p.problem.json", "p.json", "out.csv", "--receipt", "receipt.json")
    call("bundle", "p.problem.json", "p.json", "--receipt", "receipt.json", "--output", "p.zip")
    call("verify", "p.zip", "out.csv")
    refused = call("verify", "p.problem.json", "p.json", altered(33, "hidden"), code=1)
    assert "row 33 holds what is never released" in " ".join(refused.stderr.split())
    call("verify", "p.problem.json", "p.json", altered(33, "hidden"), "--mark", "hidden")


def test_the_belief_of_who_checks_a_stream_moves_over_a_gap(folder: Path) -> None:
    """Two states that take turns: over one gap the same is released again, over two the other."""
    Path("stream.csv").write_text("turn\n" + "a\nb\n" * 20)
    chain = po.MarkovChain([[0, 1], [1, 0]], [1, 0], states=["a", "b"]).to_dict()
    problem = {"type": "sequence_information_privacy", "chain": chain, "epsilon": 1.0, "horizon": 8}
    solved("p", problem, "closed-form")
    Path("out.csv").write_text('turn\na\n""\na\nb\n')
    call("verify", "p.problem.json", "p.json", "out.csv")
    Path("out.csv").write_text('turn\na\n""\n""\na\n')
    refused = call("verify", "p.problem.json", "p.json", "out.csv", code=1)
    assert "row 4 holds what cannot follow the releases before it" in " ".join(refused.stderr.split())


def test_a_redacted_stream_with_gaps_is_verified(folder: Path) -> None:
    chain = fit("--period", "24", "--smoothing", "0.5")
    problem = {
        "type": "redaction",
        "chain": chain,
        "length": 720,
        "private": 20,
        "period": 24,
        "epsilon": 1.0,
    }
    solved("p", problem, "windows")
    call("release", "p.json", "stream.csv", "--mark", "hidden", "--output", "out.csv", "--receipt", "r.json")
    assert column("out.csv")[30] == "hidden"
    files = ("p.problem.json", "p.json")
    call("verify", *files, "out.csv", "--mark", "hidden")
    call("verify", *files, "out.csv", "--receipt", "r.json")
    refused = call("verify", *files, altered(25, "gone"), "--mark", "hidden", code=1)
    assert "row 25 holds neither a state nor the mark" in " ".join(refused.stderr.split())
    refused = call("verify", *files, altered(21, "0-499"), "--mark", "hidden", code=1)
    assert "record 20 is shown with a value that is always hidden" in " ".join(refused.stderr.split())


def test_words_of_a_stream_are_missing_whole(folder: Path) -> None:
    chain = po.MarkovChain([[0.8, 0.2], [0.3, 0.7]], states=["in", "out"])
    problem = po.SequenceInformationPrivacy(chain, 1.0, batch=2, horizon=4)
    policy = po.SequencePolicy(chain, 1.0, 2, rule="randomised-response")
    cells = ["in", "out", "", "", "out", "out", "", ""]
    assert check_table(problem, policy, {"place": cells}, Layout(("place",))).ok
    cells[2] = "in"
    told = check_table(problem, policy, {"place": cells}, Layout(("place",)))
    assert "rows 3 to 4 are one word" in told.reason


@pytest.mark.parametrize(
    ("missing", "message"),
    [
        ([99], "718 releases do not make 720 steps"),
        ([0, 30], "719 releases do not make 720 steps"),
        ([30, 31, 720], "the missing records are not places in the sequence"),
        ("30", "the missing records are not places in the sequence"),
        ([30, 30], "a record is missing twice"),
    ],
)
def test_a_damaged_state_is_refused(folder: Path, missing: object, message: str) -> None:
    policy_file()
    goes_on("stream.csv")
    state = json.loads(Path("s.json").read_text())
    assert state["users"][""]["missing"] == [30, 31, 200]
    state["users"][""]["missing"] = missing
    write_json(Path("s.json"), state)
    before = Path("s.json").read_bytes(), Path("o.csv").read_bytes()
    said = " ".join(goes_on("stream.csv", code=2).stderr.split())
    assert f"s.json: this stream: {message}" in said
    assert (Path("s.json").read_bytes(), Path("o.csv").read_bytes()) == before


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["--column", "watts", "--period", "24", "--order", "2"], "order 1"),
        (["--column", "watts", "--bins", "day=quantiles:2"], "give --bins watts=RULE"),
        (["--column", "day", "--bins", "day=quantiles:2"], "row 1: 'day' is not a number"),
        (["--sensitive", "day", "--useful", "watts", "--period", "24"], "--period is of a --column"),
        (["--column", "watts", "--bins", "watts=quantiles:2", "--states", "a,b"], "leave states out"),
    ],
)
def test_bad_fits_of_streams(folder: Path, args: list[str], message: str) -> None:
    assert message in call("fit", "stream.csv", *args, code=2).stderr


def test_a_real_month_of_hours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = Path(os.environ.get("PRIVOPT_DATA", "")) / "electricity" / "ampds_hourly.csv.gz"
    if not data.is_file():
        pytest.skip("PRIVOPT_DATA names no folder with electricity/ampds_hourly.csv.gz")
    monkeypatch.chdir(tmp_path)
    with gzip.open(data, "rt") as stream:
        by_time = {int(row["unix_ts"]): float(row["house_wh"]) for row in csv.DictReader(stream)}
    begin = min(t for t in by_time if t % 86400 == 0)
    hours = [by_time.get(begin + 3600 * i, -1) for i in range(24 * 395)]
    cells = ["" if wh < 0 else f"{wh:.0f}" for wh in hours]
    Path("year.csv").write_text("wh\n" + "\n".join(c or '""' for c in cells[: 24 * 365]) + "\n")
    Path("month.csv").write_text("wh\n" + "\n".join(c or '""' for c in cells[24 * 365 :]) + "\n")
    call(
        "fit", "year.csv", "--column", "wh", "--bins", "wh=0,1000,20000", "--period", "24",
        "--smoothing", "0.5", "--output", "chain.json",
    )  # fmt: skip
    chain = json.loads(Path("chain.json").read_text())
    problem = {
        "type": "redaction",
        "chain": chain,
        "length": 720,
        "private": 22,
        "period": 24,
        "epsilon": 1.0,
    }
    solved("p", problem, "windows")
    call("release", "p.json", "month.csv", "--mark", "hidden", "--output", "out.csv")
    released = column("out.csv", "wh")
    assert released[22::24] == ["hidden"] * 30
    assert set(released) == {"0-999", "1000-20000", "hidden"}
    assert released.count("hidden") < 400


def test_a_stream_goes_on_with_its_own_rows_only(folder: Path) -> None:
    policy_file()
    lines = Path("stream.csv").read_text().splitlines(keepends=True)
    Path("begun.csv").write_text("".join(lines[:41]))
    goes_on("begun.csv")
    state, first = json.loads(Path("s.json").read_text()), column("o.csv")
    assert len(state["users"][""]["digest"]) == len(state["salt"]) == 64
    Path("o.csv").unlink()
    kept = Path("s.json").read_bytes()
    others = {
        "other.csv": [*lines[:5], "d00,1999\n" if lines[5] < "d00,5" else "d00,60\n", *lines[6:]],
        "new.csv": [lines[0], *lines[41:]],  # only what came later, longer than what was released
        "moved.csv": [lines[0], lines[2], lines[1], *lines[3:]],
    }
    for name, rows in others.items():
        Path(name).write_text("".join(rows))
        said = " ".join(goes_on(name, code=2).stderr.split())
        assert "this stream: of 40 records the release is recorded" in said
        assert "the first 40 rows here are not those that were read for it" in said
        assert not Path("o.csv").exists()
    Path("short.csv").write_text("".join(lines[:8]))
    said = goes_on("short.csv", code=2).stderr
    assert "this stream has 7 records here, and of 40 the release is recorded" in " ".join(said.split())
    assert Path("s.json").read_bytes() == kept
    filled = [line.replace(",\n", ",77\n") for line in lines]
    assert filled != lines
    Path("filled.csv").write_text("".join(filled))
    goes_on("filled.csv")  # a gap that was recorded stays one, and its row is not one of those that were read
    assert column("o.csv")[:40] == first
    assert column("o.csv")[30] == ""


def test_a_state_of_an_earlier_version_goes_on_and_remembers_from_then(folder: Path) -> None:
    policy_file()
    lines = Path("stream.csv").read_text().splitlines(keepends=True)
    Path("begun.csv").write_text("".join(lines[:11]))
    goes_on("begun.csv")
    state = json.loads(Path("s.json").read_text())
    del state["salt"], state["users"][""]["digest"]
    Path("s.json").write_text(json.dumps({**state, "version": 1}))
    goes_on("begun.csv")
    Path("other.csv").write_text("".join([lines[0], *reversed(lines[1:])]))
    assert "are not those that were read" in " ".join(goes_on("other.csv", code=2).stderr.split())


def test_new_users_come_without_the_earlier_ones(folder: Path) -> None:
    policy_file("--by", "day")
    lines = Path("stream.csv").read_text().splitlines(keepends=True)
    Path("first.csv").write_text("".join(lines[:49]))
    Path("later.csv").write_text("".join([lines[0], *lines[49:97]]))
    Path("mixed.csv").write_text("".join([lines[0], *reversed(lines[25:73])]))
    goes_on("first.csv", ("--by", "day"))
    goes_on("later.csv", ("--by", "day"))
    assert sorted(json.loads(Path("s.json").read_text())["users"]) == ["d00", "d01", "d02", "d03"]
    said = " ".join(goes_on("mixed.csv", ("--by", "day"), code=2).stderr.split())
    assert "user number 1 (--show-values says which): of 24 records the release is recorded" in said


def test_a_stream_that_begins_within_the_period_is_released_as_one_after_a_gap(folder: Path) -> None:
    policy_file("--period", "24")
    lines = Path("stream.csv").read_text().splitlines(keepends=True)
    Path("late.csv").write_text("".join([lines[0], *lines[17:29]]))
    said = call("release", "p.json", "stream.csv", "--output", "o.csv").output
    assert "row 1 of each stream is step 0 of the period of 24 (steps 0 to 23)" in said
    more = ("--start-step", "16")
    said = goes_on("late.csv", (*more, "--receipt", "r.json")).output
    assert "row 1 of each stream is step 16 of the period of 24" in said
    assert "records       12" in said
    state = json.loads(Path("s.json").read_text())
    policy = po.Solution[Any].load("p.json").mechanism
    released: list[str | None] = [cell or None for cell in column("o.csv")]
    after = policy.skip(16)
    for letter in released:
        after = policy.advance(after, letter) if letter else policy.skip(1, after)
    assert state["users"][""]["step"] == 28
    assert state["users"][""]["belief"] == pytest.approx(list(after.belief), abs=1e-12)
    receipt = json.loads(Path("r.json").read_text())
    assert (receipt["start_step"], receipt["rows"], receipt["drawn"]) == (16, 12, 12)
    call("verify", "p.problem.json", "p.json", "o.csv", "--receipt", "r.json")
    assert "drawn before  12" in goes_on("late.csv", more).output
    assert [cell or None for cell in column("o.csv")] == released
    assert "row 1 was released as step 16, not 0: give --start-step 16" in goes_on("late.csv", code=2).stderr


def test_where_a_stream_begins_is_said_of_policies_and_of_whole_words(folder: Path) -> None:
    chain = fit("--smoothing", "0.5")
    whole = {"type": "redaction", "chain": chain, "length": 720, "private": 20, "epsilon": 1.0}
    solved("whole", whole, "windows")
    refused = call("release", "whole.json", "stream.csv", "--start-step", "3", "--output", "out.csv", code=2)
    assert "--start-step is for policies of sequences" in refused.stderr
    refused = call("fit", "stream.csv", "--column", "day", "--start-step", "3", code=2)
    assert "give --period too" in refused.stderr
    policy = po.SequencePolicy(po.MarkovChain.from_dict(chain), 0.8, 2, rule="randomised-response")
    write_json(Path("p.json"), policy.to_dict())
    assert "give a multiple of 2" in goes_on("stream.csv", ("--start-step", "3"), code=2).stderr


def test_a_period_is_counted_from_the_step_that_row_1_is(folder: Path) -> None:
    whole = po.MarkovChain.from_dict(fit("--period", "24", "--smoothing", "0.5"))
    lines = Path("stream.csv").read_text().splitlines(keepends=True)
    Path("stream.csv").write_text("".join([lines[0], *lines[1:][16:]]))
    late = po.MarkovChain.from_dict(fit("--period", "24", "--smoothing", "0.5", "--start-step", "16"))
    for hour in range(24):  # one transition of the first day is missing at most
        assert np.abs(whole.step(hour) - late.step(hour)).max() < 0.15
    wrong = po.MarkovChain.from_dict(fit("--period", "24", "--smoothing", "0.5"))
    assert max(np.abs(whole.step(hour) - wrong.step(hour)).max() for hour in range(24)) > 0.3


def test_times_and_identifiers_beside_a_policy(folder: Path) -> None:
    policy_file()
    lines = Path("stream.csv").read_text().splitlines()
    rows = [f"{line},{t % 24:02d}:00,K{t * 7919 % 1009}" for t, line in enumerate(lines[1:])]
    Path("timed.csv").write_text("\n".join([f"{lines[0]},clock,client", *rows, ""]))
    said = call("release", "p.json", "timed.csv", "--keep", "clock", "--output", "o.csv").output
    assert "only numbers the records" in said
    assert "warning" not in said
    assert column("o.csv", "clock")[:2] == ["00:00", "01:00"]
    asked = ("release", "p.json", "timed.csv", "--keep", "client", "--output", "o.csv")
    assert "as times do that have a row each" in call(*asked, code=2).stderr
    said = call(*asked, "--accept-leakage", "inf").output
    assert "column 'client' has 720 different values in 720 rows, like an identifier" in said
