"""What ``privopt bench headlines`` does."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

from privopt._cli_show import check_output, emit, progress, table
from privopt._files import writing
from privopt.benchmarks._headlines import Headline, compute, headlines, written


def headlines_command(name: str | None, output: Path | None, as_json: bool) -> None:
    """Compute one headline or all of them, write the CSV if one is asked for, print the table.

    Raises
    ------
    InvalidProblem
        If there is no headline of that name.
    FileRefused
        If the file cannot be written.
    """
    check_output(output)
    with progress("computing the headlines"):
        found = compute(name)
    if output is not None:
        with writing(output) as stream:
            stream.write(written(found))
    if as_json:
        emit(
            {"headlines": [asdict(one) for one in found], "written": None if output is None else str(output)}
        )
        return
    _show(found)
    if name is None:
        print(f"{len(headlines())} headlines; those that are times differ between machines.")


def _show(found: list[Headline]) -> None:
    table(
        [(one.name, one.what, one.privopt, one.beside) for one in found],
        ("name", "what", "privopt", "beside"),
    )
