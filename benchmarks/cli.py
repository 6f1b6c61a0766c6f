"""``privopt bench``: run a suite, time work against references, compute a paper again, write reports."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from privopt.benchmarks.report import Verdict

PAGE = "report.html"

app = typer.Typer(
    help="Benchmarks: run a suite with every solver, time work, compute a paper again; write a report.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)

Json = Annotated[bool, typer.Option("--json", help="Print one JSON document instead.")]


@app.command("list")
def list_suites(as_json: Json = False) -> None:
    """List the suites."""
    from privopt._cli_show import emit, table
    from privopt.benchmarks._suites import suites

    found = [(s.name, len(s.instances()), len(s.budgets), s.describe) for s in suites().values()]
    if as_json:
        emit(
            {
                "suites": [
                    dict(zip(("name", "instances", "budgets", "describe"), line, strict=True))
                    for line in found
                ]
            }
        )
    else:
        table(found, ("suite", "instances", "budgets", "what it asks"))


@app.command()
def run(
    suite: Annotated[str, typer.Argument(help="Name of a suite; see: privopt bench list")],
    report: Annotated[
        Path | None, typer.Option(help="The HTML page to write; default report.html in the folder.")
    ] = None,
    output: Annotated[
        Path | None, typer.Option(help="Folder of the run; default privopt-runs/SUITE.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of the solvers.")] = 0,
    time_limit: Annotated[
        float | None, typer.Option(min=1e-3, help="Seconds for each run; default that of the suite.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Run a suite with every solver, release its showcase, prove it again from the files, write the report.

    Exit code 0: done; 1: a certified claim did not hold when proved again; 2: misuse.
    """
    from privopt.benchmarks._job import Job
    from privopt.benchmarks._progress import progress
    from privopt.benchmarks._suites import find_suite
    from privopt.benchmarks.runner import tasks_of

    chosen = find_suite(suite)
    folder = Path("privopt-runs", suite) if output is None else output
    job = Job(chosen, folder, folder / PAGE if report is None else report, seed, time_limit)
    with progress(suite, len(tasks_of(chosen))) as listener:
        verdict = job.run(listener)
    _conclude(verdict, folder, job.page, as_json)


@app.command("report")
def report_again(
    folder: Annotated[Path, typer.Argument(help="Folder of a run.")],
    report: Annotated[
        Path | None, typer.Option(help="The HTML page to write; default report.html in the folder.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Write the report of a run again from its files, and prove its release again.

    Exit code 0: done; 1: a certified claim did not hold when proved again; 2: misuse.
    """
    from privopt.benchmarks.report import write_report

    page = folder / PAGE if report is None else report
    _conclude(write_report(folder, page), folder, page, as_json)


@app.command("measure")
def time_work(
    name: Annotated[str | None, typer.Argument(help="Name of a measurement; default all of them.")] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Small sizes and few instances only.")] = False,
    output: Annotated[Path, typer.Option(help="Folder of the rows.")] = Path("privopt-runs", "measure"),
    report: Annotated[
        Path | None, typer.Option(help="The HTML page to write; default report.html in the folder.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Time the same work by privopt and by references, check laws on random instances, write the report.

    Exit code 0: done; 1: a law was violated; 2: misuse.
    """
    from privopt.benchmarks._measure_command import measure_command

    if not measure_command(name, quick, output, output / PAGE if report is None else report, as_json):
        raise typer.Exit(1)


@app.command("paper")
def compute_paper(
    name: Annotated[str, typer.Argument(help="Name of a paper, such as redaction.")],
    report: Annotated[
        Path | None, typer.Option(help="The HTML page to write; without it only the table is printed.")
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Coarse grids only.")] = False,
    as_json: Json = False,
) -> None:
    """Compute the figures and tables of a paper again, with ours beside them, and check what it prints.

    Exit code 0: done; 2: misuse.
    """
    from privopt.benchmarks._paper_command import paper_command

    paper_command(name, quick, report, as_json)


def _conclude(verdict: Verdict, folder: Path, page: Path, as_json: bool) -> None:
    """Say what was found and where it is; exit 1 if a claim did not hold."""
    from privopt._cli_show import emit

    if as_json:
        emit(
            {
                "holds": verdict.holds,
                "folder": str(folder),
                "report": str(page),
                "summary": list(verdict.sentences),
            }
        )
    else:
        print("\n".join((*verdict.sentences, f"Rows and files: {folder}", f"Report: {page}")))
    if not verdict.holds:
        raise typer.Exit(1)
