"""The command that checks whether a solver keeps the contract."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import privopt as po
from privopt.cli import show
from privopt.cli.solve import AsJson

if TYPE_CHECKING:
    from privopt.core.contract import Finding

SECONDS = 5.0
"""Spent, at most, on building instances to choose a large one from."""
LARGEST = 10.0
"""Predicted seconds of the largest instance that is worth trying with a short limit."""


def check_solver(
    file: Annotated[Path, typer.Argument(metavar="FILE.py", help="A file that registers solvers.")],
    problem: Annotated[
        list[Path] | None,
        typer.Option("--problem", "-p", help="An instance to try it on too; repeat for more."),
    ] = None,
    time_limit: Annotated[float, typer.Option(min=0.1, max=1e4, help="Seconds for each answer.")] = 20.0,
    as_json: AsJson = False,
) -> None:
    """Check a solver: that it only proposes, what it proposes is private, it ends in time, repeats itself, refuses in words.

    The same checks test the package's own solvers. Exit code 0: every promise is kept; 1: one is not; 2: misuse.
    """
    from privopt.core.contract import check_solver as check
    from privopt.core.contract import summary
    from privopt.core.registry import solvers_in

    classes = solvers_in(file)
    instances = [po.Example(path.stem, po.load_problem(path)) for path in problem or ()]
    results = {
        cls: summary(check(cls, instances=_fitting(cls, instances), large=_large(cls), time_limit=time_limit))
        for cls in classes
    }
    good = all(finding.ok for findings in results.values() for finding in findings)
    if as_json:
        show.emit({"file": str(file), "ok": good, "solvers": [_document(*pair) for pair in results.items()]})
    else:
        for cls, findings in results.items():
            _print(cls, findings)
    if not good:
        raise typer.Exit(1)


def _fitting(cls: type[po.Solver[Any]], instances: Sequence[po.Example[Any]]) -> list[po.Example[Any]]:
    """The instances of the problem that a solver solves."""
    from privopt.core.reformulation import kinds_of

    return [e for e in instances if any(issubclass(kind, cls.solves) for kind in kinds_of(type(e.problem)))]


def _large(cls: type[po.Solver[Any]]) -> list[po.Example[Any]]:
    """The instance of the benchmarks that a solver takes and predicts to take longest, if there is one."""
    from privopt.core.dispatch import fitness

    begun = time.monotonic()
    best: tuple[float, po.Example[Any]] | None = None
    for example in _benchmarks(cls):
        seconds = fitness(cls(), example.problem).seconds
        if seconds is not None and seconds <= LARGEST and (best is None or seconds > best[0]):
            best = (seconds, example)
        if time.monotonic() > begun + SECONDS:
            break
    return [] if best is None else [best[1]]


def _benchmarks(cls: type[po.Solver[Any]]) -> Iterator[po.Example[Any]]:
    """Instances of the benchmarks that are quickly judged, each built when it is asked for."""
    from privopt.benchmarks.runner.case import cases

    for case in cases():
        if case.kind == cls.solves.kind and not case.long:
            problem = case.make()
            if problem.judging_seconds < 1:
                yield po.Example(case.name, problem)


def _document(cls: type[po.Solver[Any]], findings: Sequence[Finding]) -> dict[str, Any]:
    checks = [
        {"check": f.check.name.lower(), "ok": f.ok, "case": f.case, "text": f.fault or f.note}
        for f in findings
    ]
    return {"name": cls.name, "problem": cls.solves.kind, "checks": checks}


def _print(cls: type[po.Solver[Any]], findings: Sequence[Finding]) -> None:
    """One promise a line, what is wrong and what to do on a line below it."""
    lines = []
    for finding in findings:
        note = f" ({finding.note})" if finding.note else ""
        lines.append(f"  {'ok    ' if finding.ok else 'FAILED'}  {finding.check.value}{note}")
        if not finding.ok:
            lines.append(f"          {f'{finding.case}: ' if finding.case else ''}{finding.fault}")
    bad = sum(not finding.ok for finding in findings)
    name, kind = getattr(cls, "name", cls.__name__), getattr(cls, "solves", None)
    verdict = (
        f"{bad} of {len(findings)} promises are broken" if bad else f"all {len(findings)} promises are kept"
    )
    print(f"{name}{'' if kind is None else f', for {kind.__name__}'}: {verdict}")
    print("\n".join(lines))
