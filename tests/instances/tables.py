"""CSV files in the folder of a test, and the command line run in it."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path

from typer.testing import CliRunner

from privopt.cli import app


def write(path: str, header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    with Path(path).open("w", newline="", encoding="utf-8") as stream:
        csv.writer(stream).writerows([header, *rows])


def read(path: str) -> list[dict[str, str]]:
    with Path(path).open(newline="", encoding="utf-8") as stream:
        return list(csv.DictReader(stream))


def run(*words: str, code: int = 0) -> str:
    """What a command writes, as it is or, where it is refused, as one line."""
    done = CliRunner().invoke(app, list(words))
    assert done.exit_code == code, (done.output, done.stderr, done.exception)
    return done.stdout if code == 0 else " ".join(done.stderr.split())
