"""Files of version 0.1.0 stay readable for ever: problems, answers, accounts, runs. The folder says how they were written."""

from __future__ import annotations

import csv
import json
import math
import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import privopt as po
from privopt.benchmarks.runner.folder import read_released, read_run
from privopt.benchmarks.runner.store import opened
from privopt.cli import app
from privopt.cli._policies import Journals
from privopt.errors import InvalidMechanism
from privopt.mechanisms import mechanism_from_dict

FILES = Path(__file__).resolve().parents[1] / "files_of_0_1_0"
NOT_ANSWERS = {"problem.json", "joint.json", "state.json"}


def files(pattern: str) -> list[Path]:
    return sorted(path for path in FILES.glob(pattern) if path.name not in NOT_ANSWERS)


PROBLEMS = sorted(FILES.glob("answers/*/problem.json"))
ANSWERS = files("answers/*/*.json")
MODELS = sorted(FILES.glob("models/*.json"))
MECHANISMS = files("mechanisms/*.json")
CERTIFICATES = files("certificates/*.json")
UNSOLVED = files("unsolved/*/solution.json")
LEDGERS = files("ledgers/*.json")
RELEASES = sorted(path.parent for path in FILES.glob("releases/*/solution.json"))
ELSEWHERE = files("other_processors/*/*.json")

RULES = {
    "aggregation", "closed-form", "constant", "exact-lp", "iid-closed-form", "interval", "oracle", "orbit-lp",
    "published", "published-gradient", "randomised-response", "randomised-response-calibrated",
    "randomised-response-double", "restricted-outputs", "structure-lp", "temporal-randomised-response",
}  # fmt: skip

DUALS = {
    "bayesian_privacy": {"level"},
    "belief_release": {"structure"},
    "boundary_colouring": {"envelope", "linear", "minimax", "trivial"},
    "distortion_privacy": {"analytic", "level", "linear", "posteriors"},
    "information_bottleneck": {"analytic", "partitions", "pricing"},
    "local_information_privacy": {"analytic", "linear", "pricing", "vertices"},
    "privacy_funnel": {"analytic", "partitions", "pricing"},
    "redaction": {"central", "nothing to prove", "tables"},
    "sequence_information_privacy": {"sequence", "sequence with the state revealed"},
}


def named(path: Path) -> str:
    return f"{path.parent.name}/{path.stem}"


def fields_of(path: Path) -> dict[str, Any]:
    read: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return read


def kind_of(dual: dict[str, Any]) -> str:
    if "revealed" in dual:
        return "sequence with the state revealed"
    return str(dual.get("kind", "tables" if dual else "nothing to prove"))


# what is there


def test_nothing_is_missing() -> None:
    folders = (PROBLEMS, ANSWERS, MODELS, MECHANISMS, CERTIFICATES, UNSOLVED, LEDGERS, RELEASES, ELSEWHERE)
    assert [len(paths) for paths in folders] == [143, 228, 22, 32, 9, 5, 4, 9, 18]
    assert Counter(fields_of(path)["type"] for path in PROBLEMS) == {
        "bayesian_privacy": 18,
        "belief_release": 15,
        "boundary_colouring": 23,
        "distortion_privacy": 17,
        "information_bottleneck": 6,
        "local_information_privacy": 16,
        "privacy_funnel": 11,
        "redaction": 18,
        "sequence_information_privacy": 19,
    }


def test_every_solver_rule_and_kind_of_proof_is_there() -> None:
    duals: dict[str, set[str]] = {kind: set() for kind in DUALS}
    rules = set()
    for path in ANSWERS:
        answer = fields_of(path)
        if answer["dual"] is not None:
            duals[fields_of(path.with_name("problem.json"))["type"]].add(kind_of(answer["dual"]))
        rules.add(answer["mechanism"].get("rule"))
    assert duals == DUALS
    assert rules - {None} == RULES
    types = Counter(fields_of(path)["mechanism"]["type"] for path in ANSWERS)
    assert set(types) == {"channel", "colouring", "merging", "noisy_query", "redaction", "sequence_policy"}
    assert {fields_of(path)["type"] for path in MODELS} == {
        "dataset_graph", "gaussian", "group", "joint_distribution", "markov_chain", "observed_joint",
    }  # fmt: skip


# problems, answers, models


@pytest.mark.parametrize("path", PROBLEMS, ids=lambda path: path.parent.name)
def test_a_problem_is_the_one_that_was_answered(path: Path) -> None:
    problem = po.load_problem(path)
    assert problem.fingerprint == fields_of(path.with_name("default.json"))["problem"]
    again = po.problem_from_dict(json.loads(json.dumps(problem.to_dict())))
    assert (again, again.fingerprint) == (problem, problem.fingerprint)


NO_LONGER_BEST = {"bayesian_privacy-signs/default"}
"""Answers whose bound was for noise on any function of the records: sums need less. They are as private as they were."""


@pytest.mark.parametrize("path", ANSWERS, ids=named)
def test_an_answer_is_proved_again(path: Path) -> None:
    problem, solution = po.load_problem(path.with_name("problem.json")), po.Solution[Any].load(path)
    assert solution.problem == problem.fingerprint
    certificate = po.verify(problem, solution)
    assert any("version 0.1.0 called private" in r for r in certificate.remarks) == (
        named(path) in NO_LONGER_BEST
    )
    assert certificate.ok, certificate.reason
    again = po.Solution[Any].from_dict(json.loads(json.dumps(solution.to_dict())))
    assert again.mechanism == solution.mechanism
    assert again.mechanism.fingerprint == fields_of(path)["certificate"]["mechanism"]


@pytest.mark.parametrize("path", ELSEWHERE, ids=named)
def test_an_answer_of_another_processor_is_proved_again(path: Path) -> None:
    problem, solution = po.load_problem(path.with_name("problem.json")), po.Solution[Any].load(path)
    assert solution.problem == problem.fingerprint
    certificate = po.verify(problem, solution)
    assert certificate.ok, certificate.reason


@pytest.mark.parametrize("path", UNSOLVED, ids=lambda path: path.parent.name)
def test_what_was_not_solved_or_not_proved_stays_so(path: Path) -> None:
    problem, solution = po.load_problem(path.with_name("problem.json")), po.Solution[Any].load(path)
    assert solution.problem == problem.fingerprint
    assert not po.verify(problem, solution).ok
    assert solution.certificate is None
    if not path.parent.name.startswith("not-certified"):
        with pytest.raises(po.errors.NotSolved):
            _ = solution.mechanism
        return
    assert len(sample(solution.mechanism, np.random.default_rng(0))) > 0
    with pytest.raises(InvalidMechanism, match="certif"):
        sample(solution.mechanism, None)


@pytest.mark.parametrize("path", MODELS, ids=lambda path: path.stem)
def test_a_model_comes_back(path: Path) -> None:
    model = po.load_model(path)
    assert model.to_dict()["type"] == fields_of(path)["type"]
    assert po.model_from_dict(json.loads(json.dumps(model.to_dict()))) == model


@pytest.mark.parametrize("path", CERTIFICATES, ids=lambda path: path.stem)
def test_a_certificate_says_what_it_said(path: Path) -> None:
    said, certificate = fields_of(path), po.Certificate.from_dict(fields_of(path))
    problem = FILES / "answers" / f"{path.stem}-by-hand" / "problem.json"
    assert certificate.ok
    assert certificate.problem == po.load_problem(problem).fingerprint
    assert [certificate.claim, certificate.law, certificate.method] == [
        said["claim"],
        said["law"],
        said["method"],
    ]
    assert list(certificate.leakage) == [math.inf if x == "inf" else x for x in said["leakage"]]


# mechanisms


def sample(mechanism: Any, rng: np.random.Generator | None) -> list[Any]:
    """What it releases of data of its form."""
    match mechanism:
        case po.Channel() | po.Merging():
            return list(mechanism.release(list(mechanism.inputs), rng))
        case po.Colouring():
            return list(mechanism.release([0], rng))
        case po.RedactionMechanism():
            return list(mechanism.release([mechanism.states[0]] * mechanism.length, rng))
        case po.NoisyQuery():
            records: Any = [1.0] * (mechanism.length or 5)
            if mechanism.states:
                records = [mechanism.states[0]] * len(records)
            return list(np.atleast_1d(mechanism.release(records, rng)))
    assert isinstance(mechanism, po.SequencePolicy)
    return list(mechanism.release(likely(mechanism.chain, mechanism.chain.max_length or 5), rng))


def likely(chain: po.MarkovChain, length: int) -> list[Any]:
    """Letters of a path that the chain may take."""
    at, letters = int(np.argmax(chain.marginal(0))), []
    for t in range(length):
        state = chain.states[at]
        letters.append(state[-1] if chain.order > 1 and isinstance(state, tuple) else state)
        if t + 1 < length:
            at = int(np.argmax(chain.step(t)[at]))
    return letters


@pytest.mark.parametrize("path", MECHANISMS, ids=lambda path: path.stem)
def test_a_mechanism_runs(path: Path) -> None:
    mechanism = mechanism_from_dict(fields_of(path))
    assert type(mechanism).from_dict(json.loads(json.dumps(mechanism.to_dict()))) == mechanism
    drawn = sample(mechanism, None)
    if isinstance(mechanism, (po.Channel, po.Merging)):
        assert len(drawn) == len(mechanism.inputs)
        assert set(drawn) <= set(mechanism.outputs)
    elif isinstance(mechanism, po.Colouring):
        assert drawn[0] in mechanism.colours
    elif isinstance(mechanism, po.RedactionMechanism):
        assert len(drawn) == mechanism.length
        assert set(drawn) <= {None, *mechanism.states}
    elif isinstance(mechanism, po.NoisyQuery):
        assert len(drawn) == (len(mechanism.states or ()) if mechanism.query == "histogram" else 1)
    else:
        assert isinstance(mechanism, po.SequencePolicy)
        assert len(drawn) == (mechanism.chain.max_length or 5)


# accounts


@pytest.mark.parametrize("path", LEDGERS, ids=lambda path: path.stem)
def test_a_ledger_goes_on(path: Path, tmp_path: Path) -> None:
    ledger, said = po.BudgetLedger.load(path), fields_of(path)
    assert [entry.tau for entry in ledger.entries] == [entry["tau"] for entry in said["entries"]]
    data = {"chain": "weather", "empty": "weather", "gaussian": "family", "group": "survey"}[path.stem]
    options: dict[str, Any] = {"length": ledger.length} if ledger.length else {}
    options |= {"clip": ledger.clip} if ledger.clip else {}
    query, unit = ("sum", 5.0) if ledger.clip else ("count", 1.0)
    small = po.NoisyQuery(query, "laplace", unit / 0.02, 0.02, 0.5, **options)
    answer, after = ledger.release(small, [1] * (ledger.length or 6), data, tmp_path / "ledger.json")
    assert math.isfinite(float(answer))
    assert after.remaining < ledger.remaining
    assert po.BudgetLedger.load(tmp_path / "ledger.json") == after
    with pytest.raises(InvalidMechanism, match="refused"):
        ledger.charge(po.NoisyQuery(query, "laplace", unit / 8, 8.0, 20.0, **options), data)


@pytest.mark.parametrize("name", ["open", "ended"])
def test_a_journal_goes_on(name: str, tmp_path: Path) -> None:
    folder = FILES / "releases" / "journals"
    policy = po.SequencePolicy.from_dict(fields_of(folder / "policy.json"))
    path = tmp_path / "journal.json"
    shutil.copy(folder / f"{name}.json", path)
    journal = policy.state(path)
    assert journal.step == (2 if name == "open" else 3)
    more = iter(["dry", "wet", "dry"])
    if name == "ended":
        with pytest.raises(InvalidMechanism, match="ended"):
            list(policy.release(more, state=journal))
        return
    before = journal.last
    (word,) = policy.release(more, state=journal)
    again = policy.state(path)
    assert (again.step, again.last) == (3, word)
    assert isinstance(before, tuple)
    assert len(before) == len(word) == 3


@pytest.mark.parametrize("name", ["policy", "policy-words"])
def test_the_state_of_a_policy_is_read(name: str) -> None:
    folder = FILES / "releases" / name
    policy = po.Solution[po.SequencePolicy].load(folder / "solution.json").mechanism
    accounts = Journals.open(folder / "state.json", policy).accounts
    with (folder / "released.csv").open(encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream))
    for user, account in accounts.items():
        mine = [row["day"] for row in rows if row.get("user", "") == user]
        assert account.released == mine
        assert account.state.step == len(mine) / policy.batch


# the command line


def columns_of(folder: Path) -> list[str]:
    """The columns that were released, and those who tell users apart."""
    with (folder / "data.csv").open(encoding="utf-8", newline="") as stream:
        header = next(csv.reader(stream))
    columns = [name for name in header if name not in ("user", "vote")]
    by = "user" in header and folder.name in ("policy-words", "redaction-users")
    return [word for name in columns for word in ("--column", name)] + (["--by", "user"] if by else [])


@pytest.mark.parametrize("folder", RELEASES, ids=lambda folder: folder.name)
def test_a_release_is_proved_and_made_again(folder: Path, tmp_path: Path) -> None:
    run, answer, out = CliRunner(), folder / "solution.json", tmp_path / "released.csv"
    proved = run.invoke(app, ["verify", str(folder / "problem.json"), str(answer)])
    assert proved.exit_code == 0, proved.output
    state: list[str] = []
    if (folder / "state.json").exists():
        shutil.copy(folder / "state.json", tmp_path / "state.json")
        state = ["--state", str(tmp_path / "state.json")]
    arguments = [*columns_of(folder), "--output", str(out), *state]
    done = run.invoke(app, ["release", str(answer), str(folder / "data.csv"), *arguments])
    assert done.exit_code == 0, done.output
    then, now = (folder / "released.csv").read_text(), out.read_text()
    if state:
        assert now == then  # what is recorded is never drawn again
    assert now.splitlines()[0] == then.splitlines()[0]
    assert len(now.splitlines()) == len(then.splitlines())


def test_a_recorded_policy_releases_what_comes_next(tmp_path: Path) -> None:
    folder = FILES / "releases" / "policy-words"
    for name in ("solution.json", "data.csv", "state.json"):
        shutil.copy(folder / name, tmp_path)
    with (tmp_path / "data.csv").open("a", encoding="utf-8") as stream:
        stream.write("bob,wet\n")
    words = ["solution.json", "data.csv", "--output", "out.csv", "--state", "state.json"]
    paths = [word if word.startswith("--") else str(tmp_path / word) for word in words]
    done = CliRunner().invoke(app, ["release", *paths, "--column", "day", "--by", "user"])
    assert done.exit_code == 0, done.output
    then, now = (folder / "released.csv").read_text(), (tmp_path / "out.csv").read_text()
    assert now.startswith(then)
    assert [line.split(",")[0] for line in now[len(then) :].splitlines()] == ["bob"] * 3


def test_a_run_is_read(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    shutil.copytree(FILES / "run", folder)
    manifest, rows = read_run(folder)
    assert (manifest.suite, len(rows)) == ("quick", 12)
    released = read_released(folder)
    assert released is not None
    assert len(released.lines) == 31
    certificate = po.verify(released.problem, released.solution)
    assert certificate.ok, certificate.reason
    with opened(folder, make=False) as store:
        attempts = store.attempts()
        kept = [store.solution(a.solution) for a in attempts.values() if a.solution is not None]
    assert [attempt.row for attempt in attempts.values()] == list(rows)
    assert [po.Solution[Any].from_dict(fields).status.name for fields in kept] == [row.status for row in rows]


def test_a_run_is_compared_and_merged(tmp_path: Path) -> None:
    for name in ("one", "two"):
        shutil.copytree(FILES / "run", tmp_path / name)
    one, two = str(tmp_path / "one"), str(tmp_path / "two")
    compared = CliRunner().invoke(app, ["bench", "compare", one, two, "--fail-on-regression"])
    assert compared.exit_code == 0, compared.output
    merged = CliRunner().invoke(app, ["bench", "merge", str(tmp_path / "both"), one, two])
    assert merged.exit_code == 0, merged.output
    assert len(read_run(tmp_path / "both")[1]) == 12
