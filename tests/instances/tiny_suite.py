"""A suite for tests, and what runs it: ``python tests/instances/tiny_suite.py bench run tiny ...`` or ``... FOLDER JOBS``."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import privopt as po
from privopt.benchmarks.runner.job import Job
from privopt.benchmarks.runner.suite import Instance, Suite, register_suite, suites

CHAIN = po.MarkovChain([[0.75, 0.25], [0.5, 0.5]])
FAST = ("windows", "markov-quilt", "constant-closed-form")
SEEDS = tuple(range(8))


def instances(count: int = 4) -> tuple[Instance, ...]:
    """Short problems that differ in where the private record is, and in length."""
    return tuple(
        Instance(f"n{n}", n, po.Redaction(CHAIN, n, n // 2, 1.0), "tiny") for n in range(3, 3 + count)
    )


TINY = Suite("tiny", "short questions", instances, (1.0,), 5.0)


def smallest(suite: Suite) -> Suite:
    """The smallest instance of each problem of a suite, with its first budget."""
    least: dict[str, Instance] = {}
    for instance in sorted(suite.instances(), key=lambda instance: -instance.size):
        budgets = instance.budgets or suite.budgets
        least[instance.problem.kind] = replace(instance, budgets=budgets[-1:])
    return replace(suite, instances=lambda: tuple(least.values()), showcase=None)


def registered(suite: Suite) -> dict[str, Suite]:
    """The registry with one more suite, for ``monkeypatch``."""
    return {**suites(), suite.name: suite}


def job(folder: Path, jobs: int = 2) -> Job:
    """96 tasks: 4 problems, 3 solvers, 8 seeds."""
    return Job(TINY, folder, folder / "page.html", SEEDS, solvers=FAST, jobs=jobs)


if __name__ == "__main__":
    if sys.argv[1] == "bench":
        from privopt.cli import main

        register_suite(TINY)
        main()
    else:
        job(Path(sys.argv[1]), int(sys.argv[2])).work()
