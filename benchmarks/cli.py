"""``privopt bench``: run a suite, time work against references, compute a paper again, write reports."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from privopt.benchmarks.report.write import Verdict

PAGE = "report.html"

app = typer.Typer(
    help="Benchmarks: run a suite with every solver, time work, compute a paper again; write a report.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)

Json = Annotated[bool, typer.Option("--json", help="Print one JSON document instead.")]
Verbose = Annotated[bool, typer.Option("--verbose", "-v", help="Say everything, not twenty lines.")]


@app.command("list")
def list_suites(as_json: Json = False) -> None:
    """List the suites."""
    from privopt.benchmarks.runner.suite import suites
    from privopt.cli.show import emit, table

    lines = [(s.name, len(s.instances()), s.describe) for s in suites().values()]
    if as_json:
        emit({"suites": [dict(zip(("name", "instances", "describe"), line, strict=True)) for line in lines]})
    else:
        table(lines, ("suite", "instances", "what it asks"))


@app.command("new")
def new_folder(
    folder: Annotated[Path, typer.Argument(help="The folder to make.")],
    as_json: Json = False,
) -> None:
    """Write a folder of your own with a data set, a solver and a suite, which work as they are.

    Exit code 0: done; 2: misuse.
    """
    from privopt.benchmarks.template.new import new_command

    new_command(folder, as_json)


@app.command()
def run(
    suite: Annotated[
        str | None, typer.Argument(help="Name of a suite; see: privopt bench list", show_default=False)
    ] = None,
    problem: Annotated[
        list[Path] | None,
        typer.Option(
            "--problem", "-p", help="In place of a suite: a problem file, called as it is; repeat for more."
        ),
    ] = None,
    budgets: Annotated[
        str | None, typer.Option(help="With --problem: budgets, as 0.1,0.5,1; default those in the files.")
    ] = None,
    baseline: Annotated[
        str | None, typer.Option(help="The solver that the report compares the best answers with.")
    ] = None,
    report: Annotated[
        Path | None, typer.Option(help="The HTML page to write; default report.html in the folder.")
    ] = None,
    output: Annotated[
        Path | None, typer.Option(help="Folder of the run; default privopt-runs/SUITE.")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the solvers.")] = 0,
    seeds: Annotated[
        str | None, typer.Option(help="Several seeds, as 0,1,2; each task runs with each.")
    ] = None,
    repeat: Annotated[
        int | None,
        typer.Option(min=1, help="Repetitions of each task: with this many seeds, from --seed on."),
    ] = None,
    time_limit: Annotated[
        float | None, typer.Option(min=1e-3, max=1e6, help="Seconds for each run; default that of the suite.")
    ] = None,
    solver: Annotated[
        list[str] | None, typer.Option("--solver", "-s", help="Run this solver only; repeat for more.")
    ] = None,
    instance: Annotated[
        list[str] | None, typer.Option("--instance", "-i", help="Run this instance only; repeat for more.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Do again what is done.")] = False,
    jobs: Annotated[
        int | None,
        typer.Option("--jobs", "-j", min=1, help="Tasks at a time; default 2, or 1 on 1 processor."),
    ] = None,
    memory: Annotated[float, typer.Option(min=0.5, help="GiB of address space for each task.")] = 4.0,
    scheduler: Annotated[
        str | None, typer.Option(help="Dask scheduler, as tcp://host:8786, whose workers run the tasks.")
    ] = None,
    verbose: Verbose = False,
    as_json: Json = False,
) -> None:
    """Run a suite, or problem files, with every solver; release its showcase, prove it again, write the report.

    What is done stays done: the same command goes on where a stopped run was. Exit code 0: done; 1: a certified
    claim did not hold when proved again; 2: misuse; 130: stopped.
    """
    from privopt.benchmarks.runner.command import chosen_seeds, chosen_suite, resume, run_command
    from privopt.benchmarks.runner.job import Job

    posed = chosen_suite(suite, problem or (), budgets, baseline or "")
    folder = Path("privopt-runs", posed.name) if output is None else output
    job = Job(
        posed,
        folder,
        folder / PAGE if report is None else report,
        chosen_seeds(seed, seeds, repeat),
        time_limit,
        tuple(dict.fromkeys((*solver, *([baseline] if baseline else ())))) if solver else (),
        tuple(instance or ()),
        force,
        jobs,
        memory,
        scheduler,
        command=resume(sys.argv[1:]) if problem else "",
    )
    _conclude(run_command(job), folder, job.page, as_json, verbose)


@app.command("merge")
def merge_runs(
    output: Annotated[Path, typer.Argument(help="Folder of the merged run.")],
    runs: Annotated[list[Path], typer.Argument(help="Folders of runs.")],
    as_json: Json = False,
) -> None:
    """Put runs together: every attempt once, and the last of a task counts; then: privopt bench report OUTPUT.

    Exit code 0: done; 2: misuse.
    """
    from privopt.benchmarks.runner.command import merge_command

    merge_command(output, runs, as_json)


@app.command("compare")
def compare_runs(
    before: Annotated[Path, typer.Argument(metavar="RUN_A", help="Folder of a run.")],
    after: Annotated[Path, typer.Argument(metavar="RUN_B", help="Folder of a later run.")],
    fail_on_regression: Annotated[
        bool, typer.Option("--fail-on-regression", help="Exit with 1 if anything got worse.")
    ] = False,
    report: Annotated[
        Path | None, typer.Option(help="The HTML page to write; without it only the tables are printed.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Say what changed between two runs: statuses, objectives, gaps, certificates, and times by solver.

    Worse means that a certified answer was lost or an objective fell. Exit code 0: done; 1: worse, with
    --fail-on-regression; 2: misuse.
    """
    from privopt.benchmarks.runner.compare import compare_command

    if report is not None:
        from privopt.benchmarks.report.compared import write_comparison

        write_comparison(before, after, report, f"privopt bench compare {before} {after} --report {report}")
    if not compare_command(before, after, as_json) and fail_on_regression:
        raise typer.Exit(1)


@app.command("report")
def report_again(
    folder: Annotated[Path, typer.Argument(help="Folder of a run.")],
    report: Annotated[
        Path | None, typer.Option(help="The HTML page to write; default report.html in the folder.")
    ] = None,
    formats: Annotated[
        str,
        typer.Option(help="What to write: html, md, tex, csv, parquet, svg, png, pdf with commas, or all."),
    ] = "html",
    export: Annotated[
        Path | None, typer.Option(help="Folder of all but the page; default report in the folder.")
    ] = None,
    columns: Annotated[
        str,
        typer.Option(
            help="Columns of the tables of every case, with commas: value, worse, bound, gap, leakage, seconds, cpu, cold, "
            "memory, size, iterations."
        ),
    ] = "value,bound,gap,leakage,seconds",
    units: Annotated[
        str, typer.Option(help="What tables and figures show information in: nats or bits.")
    ] = "nats",
    highlight: Annotated[
        list[str] | None, typer.Option(help="Set this solver off in tables and figures; repeat for more.")
    ] = None,
    peers: Annotated[
        Path | None,
        typer.Option(
            help="Rows of privopt bench peers to set on the page; default peers.csv in the folder, if any."
        ),
    ] = None,
    verbose: Verbose = False,
    as_json: Json = False,
) -> None:
    """Write the report of a run again from its files, and prove its release again.

    md, tex, csv, svg and so on are for papers: tables with the best in bold, figures without titles, BibTeX. Exit code 0:
    done; 1: a certified claim did not hold when proved again; 2: misuse.
    """
    from privopt.benchmarks.manuscript.command import report_command

    page = folder / PAGE if report is None else report
    verdict = report_command(
        folder, formats.split(","), page, export, columns=columns.split(","), units=units, highlight=highlight or (),
        peers=peers,
    )  # fmt: skip
    _conclude(verdict, folder, page, as_json, verbose)


@app.command("why")
def explain_alarm(
    place: Annotated[int, typer.Argument(min=1, help="Which alarm, as the summary of the run counts them.")],
    folder: Annotated[Path, typer.Argument(help="Folder of the run.")] = Path("privopt-runs", "quick"),
    as_json: Json = False,
) -> None:
    """Explain an alarm of a run: what differs from what was proved, and whether the claim holds.

    Exit code 0: the claim holds, and only the record differs; 1: it does not hold; 2: misuse.
    """
    from privopt.benchmarks.report.why import why
    from privopt.cli.show import emit

    alarm, said = why(folder, place)
    if as_json:
        emit({"holds": not alarm.red, "row": alarm.row.to_dict(), "said": said})
    else:
        print("\n".join(said))
    if alarm.red:
        raise typer.Exit(1)


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
    """Time the same work by privopt and by references, check invariants on random instances, write the report.

    Exit code 0: done; 1: an invariant was violated; 2: misuse.
    """
    from privopt.benchmarks.timings.command import measure_command

    if not measure_command(name, quick, output, output / PAGE if report is None else report, as_json):
        raise typer.Exit(1)


@app.command("dispatch")
def measure_dispatch(
    limit: Annotated[
        list[float] | None,
        typer.Option(min=0.01, help="Seconds for each run; repeat for more; default 1 and 5, quick 1."),
    ] = None,
    only: Annotated[str, typer.Option(help="Cases whose name matches, such as 'redaction/*'.")] = "*",
    quick: Annotated[bool, typer.Option("--quick", help="Few cases, one repetition, 1 s.")] = False,
    repetitions: Annotated[int | None, typer.Option(min=1, help="Of solve; default 3, quick 1.")] = None,
    solver: Annotated[
        list[str] | None, typer.Option("--solver", "-s", help="Run this one by name only; repeat for more.")
    ] = None,
    against: Annotated[
        Path | None, typer.Option(help="Folder of an earlier run: solvers by name as they were there.")
    ] = None,
    output: Annotated[Path, typer.Option(help="Folder of the rows.")] = Path("privopt-runs", "dispatch"),
    report: Annotated[
        Path | None, typer.Option(help="The HTML page to write; default report.html in the folder.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Do again what is done.")] = False,
    show: Annotated[
        bool, typer.Option("--show", help="Measure nothing, show what the folder holds.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Measure on the suite dispatch whether solve is beaten by a solver by name, and whether it is late.

    What is done stays done: the same command goes on where a stopped run was. Exit code 0: done; 2: misuse.
    """
    from privopt.benchmarks.regret.command import dispatch_command

    dispatch_command(
        output,
        output / PAGE if report is None else report,
        limits=limit or (),
        pattern=only,
        quick=quick,
        repetitions=repetitions,
        solvers=solver or (),
        against=against,
        force=force,
        show=show,
        as_json=as_json,
    )


@app.command("calibrate")
def calibrate_predictions(
    output: Annotated[
        Path | None,
        typer.Option(
            help="The table to write; default that of this machine, privopt/timings.json in the cache folder."
        ),
    ] = None,
    limit: Annotated[float, typer.Option(min=0.05, help="Seconds for each run.")] = 2.0,
    problem: Annotated[
        list[str] | None,
        typer.Option(
            "--problem", help="Measure this kind of problem only, and keep the rest; repeat for more."
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Measure how long solvers take on this machine, so that solve predicts it better; some ten minutes.

    Exit code 0: done; 2: misuse.
    """
    from privopt.benchmarks.timings.calibrate import calibrate_command

    calibrate_command(output, limit, problem or (), as_json)


@app.command("peers")
def compare_peers(
    quick: Annotated[bool, typer.Option("--quick", help="Small instances and short limits only.")] = False,
    report: Annotated[
        Path | None, typer.Option(help="The HTML page to write; default report.html in the folder.")
    ] = None,
    output: Annotated[Path, typer.Option(help="Folder of the rows.")] = Path("privopt-runs", "peers"),
    peer: Annotated[
        list[str] | None, typer.Option("--peer", "-p", help="Ask this peer only; repeat for more.")
    ] = None,
    problem: Annotated[
        list[str] | None,
        typer.Option("--problem", "--question", "-q", help="Ask this kind of problem only; repeat for more."),
    ] = None,
    time_limit: Annotated[
        float | None, typer.Option(min=1e-3, max=1e6, help="Seconds for each answer.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Do the same work with what a user would pick instead: times, what was reached, and who was private.

    Exit code 0: done; 2: misuse.
    """
    from privopt.benchmarks.peers.run import peers_command

    page = output / PAGE if report is None else report
    peers_command(quick, output, page, peer or (), problem or (), time_limit, as_json)


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
    from privopt.benchmarks.papers.paper import paper_command

    paper_command(name, quick, report, as_json)


@app.command("headlines")
def compute_headlines(
    name: Annotated[str | None, typer.Argument(help="Name of a headline; default all of them.")] = None,
    output: Annotated[
        Path | None, typer.Option(help="CSV file to write, such as docs/headlines.csv of a checkout.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Compute the headline numbers of the README: our utility or time, and what others reach.

    Exit code 0: done; 2: misuse.
    """
    from privopt.benchmarks.timings.command import headlines_command

    headlines_command(name, output, as_json)


@app.command("gallery")
def draw_gallery(
    output: Annotated[
        Path, typer.Option(help="Folder of the page; figures and numbers go to its folder gallery.")
    ] = Path("privopt-runs"),
    as_json: Json = False,
) -> None:
    """Compute the pictures of docs/gallery.md again: one a problem, from data that ship with the library.

    Exit code 0: done; 2: misuse.
    """
    from privopt.benchmarks.gallery.page import gallery_command

    gallery_command(output, as_json)


def _conclude(verdict: Verdict, folder: Path, page: Path, as_json: bool, verbose: bool) -> None:
    """Say what came out and where it is; exit 1 if a claim did not hold."""
    from privopt.benchmarks.report.terminal import in_json, summary
    from privopt.cli.show import emit

    if as_json:
        emit({"holds": verdict.holds, "folder": str(folder), "report": str(page), **in_json(verdict, folder)})
    else:
        said = verdict.sentences if verbose else ()
        print("\n".join((*said, *summary(verdict, folder, page))))
    if not verdict.holds:
        raise typer.Exit(1)
