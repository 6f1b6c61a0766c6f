"""Limited processes, engines, the runner and its command line."""

from __future__ import annotations

import faulthandler
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from multiprocessing.connection import Pipe
from pathlib import Path
from typing import Any

import psutil
import pytest
from instances.runs import SCRIPT, left_over
from instances.tiny_suite import CHAIN, FAST, SEEDS, TINY, instances, registered
from typer.testing import CliRunner

import privopt as po
from privopt.benchmarks.runner import process as _limits
from privopt.benchmarks.runner import suite as _suites
from privopt.benchmarks.runner import work as runner_work
from privopt.benchmarks.runner import zygote
from privopt.benchmarks.runner.command import parse_seeds
from privopt.benchmarks.runner.folder import ROWS, RUN, TABLE, read_run
from privopt.benchmarks.runner.job import Job
from privopt.benchmarks.runner.outcome import Outcome, outcome_of, reason_of
from privopt.benchmarks.runner.pool import Pool
from privopt.benchmarks.runner.process import Limits, Server
from privopt.benchmarks.runner.suite import Instance, Suite
from privopt.benchmarks.runner.task import Task, chosen, tasks_of
from privopt.cli import app
from privopt.core import registry as _registry
from privopt.core.isolate import already_isolated, run_guarded
from privopt.core.registry import solvers_of
from privopt.errors import FileRefused, InvalidProblem

FOUR = Instance("four", 4, po.Redaction(CHAIN, 4, 1, 1.0))
Send = Callable[[Mapping[str, Any]], None]


def task(solver: str = "windows", budget: float = 1.0, limit: float = 5.0, instance: Instance = FOUR) -> Task:
    return Task("test", instance, solver, budget, limit, 0)


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    server = Server(Limits(4.0))
    yield server
    server.close()


def run(server: Server, task: Task) -> Outcome:
    return outcome_of(task, server.run(task.to_dict()), server.limits.memory)


# tasks


def test_tasks_are_instances_times_budgets_times_seeds_times_competitors() -> None:
    count = len(solvers_of(po.Redaction))
    own = replace(instances(1)[0], budgets=(0.5, 2.0))
    suite = replace(TINY, instances=lambda: (own, *instances(3)[1:]), budgets=(1.0, 2.0, 3.0))
    tasks = tasks_of(suite, seeds=(4, 9), time_limit=0.5)
    assert len(tasks) == (2 + 2 * 3) * 2 * (1 + count)
    assert {t.seed for t in tasks} == {4, 9}
    assert {t.time_limit for t in tasks} == {0.5}
    assert {t.budget for t in tasks if t.instance.name == own.name} == {0.5, 2.0}
    assert len({t.key for t in tasks}) == len(tasks)


def test_a_key_depends_on_all_that_the_answer_does_and_on_nothing_else(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    base = task()
    relabelled = replace(base, suite="other", instance=replace(FOUR, name="x", family="y", size=9))
    longer = Instance("four", 4, po.Redaction(CHAIN, 5, 1, 1.0))
    others = [
        task("optimal"),
        task(budget=2.0),
        task(limit=6.0),
        replace(base, seed=1),
        task(instance=longer),
    ]
    assert relabelled.key == base.key
    assert len({t.key for t in (base, *others)}) == 1 + len(others)
    monkeypatch.setattr(po, "__version__", "9.9")
    assert task().key != base.key


def test_filters_keep_what_is_named_and_refuse_what_is_not_there() -> None:
    tasks = tasks_of(TINY)
    subset = chosen(tasks, solvers=("windows",), instances=("n3", "n5"))
    assert {(t.solver, t.instance.name) for t in subset} == {("windows", "n3"), ("windows", "n5")}
    assert chosen(tasks) == tasks
    with pytest.raises(InvalidProblem, match=r"no solver 'simplex'; it has .*windows"):
        chosen(tasks, solvers=("simplex",))
    with pytest.raises(InvalidProblem, match="no instance 'n99'"):
        chosen(tasks, instances=("n99",))


# limited processes


def test_a_task_is_judged_proved_and_measured(server: Server) -> None:
    outcome = run(server, task("optimal"))
    row, here = outcome.row, po.solve(FOUR.problem, "optimal")
    assert (row.status, row.certified, row.verified) == ("OPTIMAL", True, True)
    assert (row.utility, row.leakage, row.objective) == (here.utility, here.leakage, here.objective)
    assert outcome.solution is not None
    assert po.verify(FOUR.problem, outcome.solution).ok
    assert row.reason.startswith("the checked bound is within tolerance")
    assert row.seconds is not None
    assert row.cold_seconds is not None
    assert row.peak_memory is not None
    assert 30 < row.peak_memory < 4096
    assert (row.key, row.fingerprint) == (task("optimal").key, FOUR.problem.fingerprint)


@pytest.mark.long
def test_a_conic_back_end_runs_in_the_process_of_its_task(server: Server) -> None:
    pytest.importorskip("scs")
    row = run(server, task("conic-scs")).row
    assert row.status == "FEASIBLE"
    assert "cvxpy" in row.libraries
    assert row.iterations is not None
    assert "scs" in row.libraries


def test_a_refusal_is_a_row_with_its_reason(server: Server) -> None:
    row = run(server, task("sequential")).row
    assert row.status == "REFUSED"
    assert "form 'local'" in row.reason
    assert (row.utility, row.seconds, row.cold_seconds) == (None, None, None)


@pytest.mark.parametrize(("solver", "budget"), [("no-such-solver", 1.0), ("windows", -1.0)])
def test_misuse_inside_a_task_is_a_failed_row(server: Server, solver: str, budget: float) -> None:
    outcome = run(server, task(solver, budget))
    assert outcome.row.status == "FAILED"
    assert outcome.row.reason
    assert outcome.row.utility is None
    assert outcome.solution is None


def hostile(monkeypatch: pytest.MonkeyPatch, work: Callable[[Mapping[str, Any], Send], None]) -> Outcome:
    """The outcome of a task whose process does something else, at most a quarter second of it."""
    monkeypatch.setattr(runner_work, "work", work)
    monkeypatch.setattr(zygote, "GRACE", 0.0)
    monkeypatch.setattr(zygote, "PROVING", 0.25)
    here, _there = Pipe()
    short_task = task(limit=0.25)
    result = zygote.run({**short_task.to_dict(), "memory": 3.0}, here)
    here.close()
    _there.close()
    return outcome_of(short_task, json.loads(json.dumps(result)), 3.0)


def too_much(document: Mapping[str, Any], send: Send) -> None:
    bytearray(4 * 2**30)


def told_too_much(document: Mapping[str, Any], send: Send) -> None:
    faulthandler.disable()  # that of pytest would print
    os.write(2, b"terminate called after throwing an instance of 'std::bad_alloc'")
    os.abort()


def killed(document: Mapping[str, Any], send: Send) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def quits(document: Mapping[str, Any], send: Send) -> None:
    os._exit(7)


def raises(document: Mapping[str, Any], send: Send) -> None:
    raise SystemExit("enough")


def crashes(document: Mapping[str, Any], send: Send) -> None:
    faulthandler.disable()
    os.kill(os.getpid(), signal.SIGSEGV)


@pytest.mark.parametrize(
    ("work", "reason"),
    [
        (too_much, "out of memory: the limit is 3 GiB of address space"),
        (told_too_much, "out of memory: the limit is 3 GiB"),
        (killed, "ended by signal 9, as the kernel does when memory runs out"),
        (quits, "ended with exit code 7"),
        (raises, "SystemExit: enough"),
        (crashes, "ended by signal 11 (SIGSEGV)"),
    ],
)
def test_a_death_is_a_failed_row_with_its_reason(
    monkeypatch: pytest.MonkeyPatch, work: Callable[[Mapping[str, Any], Send], None], reason: str
) -> None:
    row = hostile(monkeypatch, work).row
    assert row.status == "FAILED"
    assert reason in row.reason
    assert row.peak_memory is not None


def test_a_task_that_does_not_stop_is_ended_with_all_that_it_started(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def sleeps(document: Mapping[str, Any], send: Send) -> None:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        child = os.fork()
        if child:
            (tmp_path / "child").write_text(str(child))
            send({"cold_seconds": 0.5})
        time.sleep(60)

    begun = time.monotonic()
    row = hostile(monkeypatch, sleeps).row
    assert time.monotonic() - begun < 30
    assert row.status == "TIME_OUT"
    assert "did not stop within" in row.reason
    assert row.cold_seconds == 0.5
    gone(int((tmp_path / "child").read_text()))


def gone(pid: int) -> None:
    """Wait until a process is no more, or is only waiting to be reaped by whoever inherited it."""
    deadline = time.monotonic() + 30
    while psutil.pid_exists(pid) and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE:
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_an_answer_whose_proof_does_not_end_is_kept_but_not_verified(monkeypatch: pytest.MonkeyPatch) -> None:
    stored = po.solve(FOUR.problem, "windows").to_dict()

    def stalls(document: Mapping[str, Any], send: Send) -> None:
        send({"cold_seconds": 0.5})
        send({"solution": stored})
        time.sleep(60)

    row = hostile(monkeypatch, stalls).row
    assert (row.status, row.certified, row.verified, row.broken) == ("FEASIBLE", True, False, True)
    assert "proving it again did not end" in row.reason


def test_what_a_task_prints_goes_nowhere(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    def prints(document: Mapping[str, Any], send: Send) -> None:
        os.write(1, b"noise")
        os.write(2, b"more noise")
        send({"cold_seconds": None})

    hostile(monkeypatch, prints)
    assert capfd.readouterr() == ("", "")


@pytest.mark.long
def test_a_server_ends_with_its_caller_and_ends_its_task(tmp_path: Path) -> None:
    code = (
        "import time; from privopt.benchmarks.runner.process import Server; from privopt.benchmarks.runner.process import Limits;"
        "s = Server(Limits(2.0)); s.start_seconds; print(s._process.pid, flush=True); time.sleep(60)"
    )
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as caller:
        assert caller.stdout is not None
        pid = int(caller.stdout.readline())
        assert psutil.pid_exists(pid)
        caller.kill()
    gone(pid)


def test_libraries_get_one_thread() -> None:
    bound = _limits.one_thread({"OMP_NUM_THREADS": "8", "HOME": "/"})
    assert bound["OMP_NUM_THREADS"] == bound["OPENBLAS_NUM_THREADS"] == "1"
    assert bound["HOME"] == "/"


def test_only_solvers_of_the_package_are_believed_inside_an_isolated_process() -> None:
    class Outside(po.Solver[po.Redaction]):
        solves = po.Redaction
        name = "outside"

        def guarantee(self, problem: po.Redaction) -> po.Guarantee:
            return po.Guarantee.FEASIBLE

        def cost(self, problem: po.Redaction) -> float:
            return 0.0

        def run(self, problem: po.Redaction, budget: po.Budget) -> po.Proposal:
            return po.Proposal(stats={"pid": os.getpid()})

    with already_isolated():
        proposal = run_guarded(Outside(), FOUR.problem, po.Budget(time.monotonic() + 30))
    assert proposal.stats["pid"] != os.getpid()


HOSTILE = """
import time
from dataclasses import dataclass
from typing import ClassVar

import privopt as po


class Rude(po.Solver[po.Redaction]):
    solves: ClassVar = po.Redaction

    def guarantee(self, problem):
        return po.Guarantee.FEASIBLE

    def cost(self, problem):
        return 0.0


@po.register
@dataclass(frozen=True)
class Hungry(Rude):
    name: ClassVar[str] = "hungry"

    def run(self, problem, budget):
        if problem.length == 4:
            bytearray(16 * 2**30)
        return po.Proposal(problem.safe())


@po.register
@dataclass(frozen=True)
class Sleepy(Rude):
    name: ClassVar[str] = "sleepy"

    def run(self, problem, budget):
        time.sleep(60 if problem.length == 4 else 0)
        return po.Proposal(problem.safe())


@po.register
@dataclass(frozen=True)
class Polite(Rude):
    name: ClassVar[str] = "polite"

    def run(self, problem, budget):
        print("noise")
        return po.Proposal(problem.safe())
"""


def _abandoned() -> set[str]:
    """Semaphores of processes that are gone: tests in other processes have semaphores of their own."""
    names = [name for name in os.listdir("/dev/shm") if name.startswith("sem.loky-")]
    return {name for name in names if not Path("/proc", name.split("-")[1]).exists()}


@pytest.mark.long
def test_solvers_from_outside_run_in_limits_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "rude.py").write_text(HOSTILE)
    monkeypatch.setenv("PRIVOPT_SOLVERS", str(tmp_path))
    monkeypatch.setattr(_registry, "_solvers", dict(_registry._solvers))
    before = _abandoned()
    outside = Server(Limits(4.0))
    try:
        rows = [run(outside, task(name, limit=1.0)).row for name in ("hungry", "sleepy", "polite")]
    finally:
        outside.close()
    assert [row.status for row in rows] == ["FAILED", "TIME_OUT", "FEASIBLE"]
    assert rows[0].reason.startswith("out of memory: the limit is 4 GiB")
    assert "ended" in rows[1].reason
    assert rows[2].verified
    assert _abandoned() <= before


# reasons


@pytest.mark.parametrize("status", list(po.Status))
def test_every_status_has_a_reason(status: po.Status) -> None:
    assert reason_of(po.Solution(status))
    assert "because" in reason_of(po.Solution(status, reason="because"))


def test_a_refused_bound_is_the_reason_of_there_being_none() -> None:
    stats = {"bound_refused": "the dual does not prove the claimed bound", "stop": "deadline"}
    text = reason_of(po.Solution(po.Status.FEASIBLE, stats=stats))
    assert text == (
        "no bound was checked: the dual does not prove the claimed bound; the solver says: deadline"
    )


# the runner


@pytest.mark.parametrize("jobs", [1, 3])
@pytest.mark.long
def test_files_are_in_the_order_of_tasks(tmp_path: Path, jobs: int) -> None:
    suite = replace(TINY, instances=lambda: instances(3), showcase=None)
    job = Job(suite, tmp_path, tmp_path / "page.html", seeds=(1, 0), solvers=FAST, jobs=jobs)
    told: list[int] = []
    assert job.left() == len(job.selected) == 18
    job.work(lambda outcome, left: told.append(left))
    manifest, rows = read_run(tmp_path)
    assert [row.key for row in rows] == [t.key for t in job.selected]
    assert sorted(told, reverse=True) == told == list(range(17, -1, -1))
    assert manifest.environment["processes"].startswith(f"{jobs} at a time")
    assert manifest.seconds > 0
    assert job.left() == 0


@pytest.mark.long
def test_what_is_done_is_not_done_again_unless_forced(tmp_path: Path) -> None:
    suite = replace(TINY, instances=lambda: instances(2))
    job = Job(suite, tmp_path, tmp_path / "page.html", solvers=("windows",), jobs=1)
    ran: list[str] = []
    for again in (job, job, replace(job, force=True)):
        again.work(lambda outcome, left: ran.append(outcome.task.instance.name))
    assert ran == ["n3", "n4"] * 2
    replace(job, solvers=("optimal",)).work(lambda outcome, left: ran.append(outcome.task.solver))
    assert ran[4:] == ["optimal", "optimal"]
    assert {row.solver for row in read_run(tmp_path)[1]} == {"windows", "optimal"}


@pytest.mark.long
def test_a_server_that_is_killed_costs_one_row_and_not_the_run() -> None:
    pool = Pool(1, Limits(2.0))
    sleeper = task("oracle", limit=30.0)
    try:
        pool.submit(sleeper)
        ((server, _),) = pool._busy.values()
        server._process.kill()
        (outcome,) = pool.wait(30)
        assert outcome.row.status == "FAILED"
        assert "ended from outside" in outcome.row.reason
        pool.submit(task())
        assert pool.wait(30)[0].row.status == "FEASIBLE"
    finally:
        pool.close()


# the command line


def command(*arguments: str, output: Path) -> list[str]:
    """The command that runs 96 tasks."""
    solvers = [part for name in FAST for part in ("-s", name)]
    seeds = ["--seeds", ",".join(map(str, SEEDS))]
    return [
        *(sys.executable, str(SCRIPT), "bench", "run", "tiny", "--output", str(output)),
        *(*solvers, *seeds, *arguments),
    ]


def wait_for_rows(output: Path, process: subprocess.Popen[str]) -> None:
    """Until a few tasks are done."""
    from privopt.benchmarks.runner.store import opened

    deadline = time.monotonic() + 30
    while time.monotonic() < deadline and process.poll() is None:
        if (output / "store.sqlite").is_file():
            with opened(output) as store:
                if len(store.attempts()) >= 3:
                    return
        time.sleep(0.05)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.long
def test_a_run_that_is_stopped_says_how_to_go_on(tmp_path: Path, number: signal.Signals) -> None:
    output = tmp_path / "my run"
    with subprocess.Popen(
        command(output=output),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PRIVOPT_TEST_MARK": str(output)},
    ) as process:
        wait_for_rows(output, process)
        process.send_signal(number)
        _, said = process.communicate(timeout=30)
    assert process.returncode == 130, said
    rows = read_run(output)[1]
    assert 3 <= len(rows) < 96
    assert f"stopped: {len(rows)} of 96 tasks are done" in said
    assert f"To go on: privopt bench run tiny --output '{output}' -s windows" in said
    assert "Traceback" not in said
    assert left_over(output) == []


@pytest.fixture
def tiny(monkeypatch: pytest.MonkeyPatch) -> str:
    """A suite of one problem of two records, registered for one test."""
    two = Instance("two", 2, po.Redaction(CHAIN, 2, 0, 1.0))
    monkeypatch.setattr(
        _suites._SUITES, "_items", registered(Suite("tiny", "one question", lambda: (two,), (1.0,), 5.0))
    )
    return "tiny"


@pytest.mark.long
def test_run_writes_the_folder_and_the_page(
    tiny: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    arguments = ["bench", "run", tiny, "-s", "windows", "--seeds", "0,1", "--jobs", "1"]
    result = CliRunner().invoke(app, [*arguments, "--report", "page.html"])
    assert result.exit_code == 0, result.output
    names = {path.name for path in (tmp_path / "privopt-runs" / tiny).iterdir()}
    assert names == {ROWS, TABLE, RUN, "store.sqlite"}
    assert (tmp_path / "page.html").is_file()
    assert [row.seed for row in read_run(tmp_path / "privopt-runs" / tiny)[1]] == [0, 1]


@pytest.mark.parametrize(
    "arguments",
    [
        ["run", "no-such-suite"],
        ["run"],
        ["run", "quick", "--seed", "x"],
        ["run", "quick", "--seeds", "0,-1"],
        ["run", "quick", "--jobs", "0"],
        ["run", "quick", "--solver", "no-such-solver", "--output", "out"],
        ["merge", "out"],
        ["merge", "out", "no-such-run"],
        ["compare", "no-such-run", "neither"],
    ],
)
def test_misuse_exits_with_two(arguments: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(app, ["bench", *arguments])
    assert result.exit_code == 2
    assert not (tmp_path / "out").exists()


def test_seeds_are_read_once_each() -> None:
    assert parse_seeds("2,0,2") == (2, 0)


def test_a_folder_that_cannot_be_made_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(FileRefused, match="cannot be used as the folder of a run"):
        Job(TINY, tmp_path / "file", tmp_path / "page.html").left()


def test_imports_are_light() -> None:
    heavy = "scipy matplotlib pandas cvxpy distributed sqlite3 rich.progress privopt.benchmarks.runner.job"
    code = f"""
import sys, privopt
assert "privopt.benchmarks" not in sys.modules
import privopt.benchmarks.cli
loaded = [name for name in "{heavy}".split() if name in sys.modules]
assert not loaded, loaded
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_system_without_such_processes_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "win32")
    with pytest.raises(po.errors.PrivoptError, match="this is win32"):
        Server(Limits())
