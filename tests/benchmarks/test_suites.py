"""Suites and the instances that problems give them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from importlib.resources import files
from pathlib import Path

import pytest
from instances.tiny_suite import TINY, smallest
from typer.testing import CliRunner

from privopt.benchmarks.data import external as registry
from privopt.benchmarks.runner import suite
from privopt.benchmarks.runner.pool import Pool
from privopt.benchmarks.runner.process import Limits
from privopt.benchmarks.runner.suite import (
    InstanceSet,
    Suite,
    collect,
    find_suite,
    instance_sets,
    register_instances,
    register_suite,
    suites,
)
from privopt.benchmarks.runner.task import tasks_of
from privopt.cli import app
from privopt.core.registry import problem_types, solvers_of
from privopt.errors import FileRefused, InvalidProblem

NAMES = ("certification", "quick", "scaling", "solvers")


@pytest.fixture(scope="module")
def pool() -> Iterator[Pool]:
    pool = Pool(2, Limits(4.0))
    yield pool
    pool.close()


@pytest.mark.long  # the main job runs the quick suite whole
@pytest.mark.parametrize("name", NAMES)
def test_every_suite_runs_with_every_solver_on_its_smallest_size(name: str, pool: Pool) -> None:
    tasks = list(tasks_of(smallest(find_suite(name))))
    rows = []
    while len(rows) < len(tasks):
        for _ in range(min(pool.free, len(tasks) - len(rows) - len(pool._busy))):
            pool.submit(tasks[len(rows) + len(pool._busy)])
        rows += [outcome.row for outcome in pool.wait(60)]
    questions = {task.instance.problem.kind: type(task.instance.problem) for task in tasks}
    assert len(rows) == sum(1 + len(solvers_of(kind)) for kind in questions.values())
    assert {row.question for row in rows if row.verified} == set(questions)
    assert not any(row.broken for row in rows)
    assert all(row.reason for row in rows)
    assert not [row.reason for row in rows if row.status == "FAILED"]


@pytest.mark.parametrize("name", sorted(suites()))
def test_every_suite_is_well_formed(name: str) -> None:
    suite = find_suite(name)
    instances = suite.instances()
    assert len({instance.name for instance in instances}) == len(instances)
    assert suite.budgets
    assert all(text.endswith(".") for text in suite.about())
    if suite.showcase is not None:
        assert suite.showcase.instance in {instance.name for instance in instances}
        assert suite.showcase.budget in suite.budgets
        assert len(suite.showcase.records().labels) == len(suite.showcase.records().letters)


def test_the_four_suites_are_there() -> None:
    assert set(suites()) >= set(NAMES)


def test_scaling_families_have_three_sizes_at_least() -> None:
    sizes: dict[str, set[int]] = {}
    for instance in collect("scaling"):
        assert instance.family, instance.name
        sizes.setdefault(instance.family, set()).add(instance.size)
    assert min(map(len, sizes.values())) >= 3


def test_a_suite_names_no_solver() -> None:
    names = {name for kind in problem_types().values() for name in solvers_of(kind)}
    showcase = find_suite("quick").showcase
    assert showcase is not None
    text = Path(str(files("privopt.benchmarks.suites"))).joinpath("standard.py").read_text(encoding="utf-8")
    assert not [name for name in names if f'"{name}"' in text]


def test_instances_are_the_same_every_time() -> None:
    first = [instance.problem.fingerprint for instance in collect("certification")]
    assert [instance.problem.fingerprint for instance in collect("certification")] == first
    assert len(set(first)) == len(first)


def test_a_new_problem_is_in_the_suites(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(suite._SETS, "_items", dict(instance_sets()))
    named = tuple(replace(i, name="a-" + i.name) for i in TINY.instances())
    register_instances(InstanceSet("another", quick=lambda: named, about=lambda suite: (f"In {suite}.",)))
    assert {i.name for i in find_suite("quick").instances()} >= {i.name for i in named}
    assert "In quick." in find_suite("quick").about()
    assert "In scaling." not in find_suite("scaling").about()
    with pytest.raises(ValueError, match="'another' is registered twice"):
        register_instances(InstanceSet("another"))
    register_instances(InstanceSet("one-more", quick=lambda: named[:1]))
    with pytest.raises(ValueError, match="two instances called a-n3"):
        find_suite("quick").instances()


def test_a_suite_of_a_taken_name_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(suite._SUITES, "_items", dict(suites()))
    with pytest.raises(ValueError, match="'quick' is registered twice"):
        register_suite(replace(find_suite("quick"), describe="another"))


def test_an_unknown_suite_is_refused_with_those_there_are() -> None:
    with pytest.raises(InvalidProblem, match=r"there is no suite 'slow'; there are .*quick"):
        find_suite("slow")


def test_list_names_every_suite() -> None:
    import json

    result = CliRunner().invoke(app, ["bench", "list", "--json"])
    assert [suite["name"] for suite in json.loads(result.stdout)["suites"]] == list(suites())
    assert "quick" in CliRunner().invoke(app, ["bench", "list"]).stdout


def test_external_instances_are_left_out_where_their_files_are(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    from privopt.benchmarks.suites.redaction import external

    monkeypatch.delenv(registry.FOLDER, raising=False)
    assert external() == ()
    monkeypatch.setenv(registry.FOLDER, str(tmp_path))
    assert external() == ()
    (tmp_path / "msnbc323").mkdir()
    (tmp_path / "msnbc323" / "msnbc323.seq").write_text("1 2 3", encoding="utf-8")
    with pytest.raises(FileRefused, match="not the msnbc323 that is meant"):
        external()


def test_external_instances_are_there_where_their_files_are() -> None:
    from privopt.benchmarks.suites.redaction import external

    if not os.environ.get(registry.FOLDER):
        pytest.skip(f"{registry.FOLDER} is not set: external data sets do not ship with the package")
    states = {instance.family: instance.problem.chain.k for instance in external()}  # type: ignore[attr-defined]
    assert states == {"activity": 2, "kosarak-reduced16": 16, "msnbc323": 17}


def test_an_instance_brings_its_own_budgets() -> None:
    own = replace(TINY.instances()[0], budgets=(0.5, 2.0))
    suite = Suite("own", "its own budgets", lambda: (own, TINY.instances()[1]), (1.0,), 1.0)
    budgets = {(task.instance.name, task.budget) for task in tasks_of(suite)}
    assert budgets == {("n3", 0.5), ("n3", 2.0), ("n4", 1.0)}
