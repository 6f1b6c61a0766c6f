"""What ``privopt bench peers`` does."""

from __future__ import annotations

import csv
import time
from collections.abc import Collection, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from privopt._cli_show import check_output, emit, progress, table
from privopt._files import writing
from privopt._numbers import encode_float
from privopt.benchmarks._peer_instances import peer_instances
from privopt.benchmarks._peer_page import HEADER, cells, page, sentences
from privopt.benchmarks._peer_rows import PeerRow, summaries
from privopt.benchmarks._peer_run import chosen_peers, compare_with
from privopt.benchmarks.report.document import environment
from privopt.benchmarks.runner.folder import prepare

CSV = "peers.csv"
LIMITS = {True: 1.0, False: 5.0}
"""Seconds that either tool has, by whether the run is quick."""


def peers_command(
    quick: bool,
    folder: Path,
    report: Path,
    names: Collection[str] = (),
    questions: Collection[str] = (),
    time_limit: float | None = None,
    as_json: bool = False,
) -> None:
    """Compare with peers, write the rows and the page, print the table.

    Raises
    ------
    InvalidProblem
        If there is no peer or question of a name.
    FileRefused
        If the folder or the page cannot be written.
    """
    chosen, limit = chosen_peers(names, questions), time_limit or LIMITS[quick]
    prepare(folder)
    check_output(report)
    when, begun = datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"), time.monotonic()
    with progress("comparing with peers") as tell:
        rows = compare_with(
            chosen, peer_instances(quick), limit, listener=lambda i, n, what: tell(i / max(n, 1), what)
        )
    write_peers(folder / CSV, rows)
    with writing(report) as stream:
        stream.write(page(rows, when, time.monotonic() - begun, environment()))
    if as_json:
        emit(_document(rows, folder, report))
        return
    table(map(cells, summaries(rows)), HEADER)
    print("\n".join((*sentences(rows), f"Rows: {folder / CSV}", f"Report: {report}")))


def write_peers(path: Path, rows: Sequence[PeerRow]) -> None:
    """Write every row as CSV, whole or not at all.

    Raises
    ------
    FileRefused
        If the file cannot be written.
    """
    with writing(path) as stream:
        lines = [row.to_dict() for row in rows]
        names = list(lines[0]) if lines else []
        sheet = csv.DictWriter(stream, names, lineterminator="\n")
        sheet.writeheader()
        sheet.writerows(lines)


def _document(rows: Sequence[PeerRow], folder: Path, report: Path) -> dict[str, Any]:
    lines = [
        {k: encode_float(v) if isinstance(v, float) else v for k, v in asdict(one).items()}
        for one in summaries(rows)
    ]
    return {
        "peers": lines,
        "rows": [row.to_dict() for row in rows],
        "summary": list(sentences(rows)),
        "folder": str(folder),
        "report": str(report),
    }
