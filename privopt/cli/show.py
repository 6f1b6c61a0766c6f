"""How the command line shows things: tables on a terminal, plain lines in a pipe, one JSON document for machines."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import Timer
from typing import Any, TypeAlias

from privopt.core.solution import Status
from privopt.errors import FileRefused
from privopt.files.paths import check_name, target_of
from privopt.files.text import plain_table

Progress: TypeAlias = Callable[[float, str], None]

PATIENCE = 1.0
"""Seconds before a progress bar appears."""
LONGEST = 600
"""Characters of a sentence about what went wrong."""


def emit(document: Mapping[str, Any]) -> None:
    """Print one JSON document."""
    print(json.dumps(document, indent=1, allow_nan=False))


def table(rows: Iterable[Sequence[object]], header: Sequence[str]) -> None:
    """Print a table: ruled on a terminal, aligned columns otherwise."""
    cells = [[one_line(str(cell)) for cell in row] for row in rows]
    if not sys.stdout.isatty():
        print(plain_table(cells, header))
        return
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    ruled = Table(*header)
    for row in cells:
        ruled.add_row(
            *(Text(cell) for cell in row)
        )  # Text, so that brackets in a cell are not read as markup
    Console().print(ruled)


def legend(statuses: Iterable[Status]) -> None:
    """Say what a gap is, where a table names one."""
    if Status.GAP in statuses:
        sentences([f"{Status.GAP.name}: {Status.GAP.value}"])


def facts(rows: Iterable[tuple[str, object]]) -> None:
    """Print names with their values, one a line; what is empty is left out, and a list has a line for each item."""
    lines = [
        (name, [one_line(str(item)) for item in (value if isinstance(value, list) else [value])])
        for name, value in rows
        if value not in ("", None, [])
    ]
    if not lines:
        return
    if not sys.stdout.isatty():
        width = max(len(name) for name, _ in lines)
        print("\n".join(f"{name:<{width}}  {item}" for name, value in lines for item in value))
        return
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    ruled = Table(show_header=False)
    for name, value in lines:
        ruled.add_row(Text(name, style="bold"), Text("\n".join(value)))
    Console().print(ruled)


def sentences(said: Sequence[str]) -> None:
    """Print sentences, one a line; on a terminal wrapped, the verdict in green or red and remarks in amber."""
    if not sys.stdout.isatty():
        print("\n".join(map(one_line, said)))
        return
    from rich.console import Console
    from rich.text import Text

    styles = {"PROVED": "bold green", "NOT PROVED": "bold red", "Remark": "yellow"}
    for text in map(one_line, said):
        style = next((style for start, style in styles.items() if text.startswith(start)), "")
        Console().print(Text(text, style=style))


def complain(message: str) -> None:
    """Say in one line on standard error what went wrong."""
    text = one_line(message)
    print(text if len(text) <= LONGEST else text[: LONGEST - 4] + " ...", file=sys.stderr)


def one_line(text: str) -> str:
    r"""The text without line breaks, and without characters that would steer a terminal.

    Examples
    --------
    >>> one_line("not\nthis: \x1b[31m")
    'not this: ?[31m'
    """
    return "".join(c if c.isprintable() else "?" for c in " ".join(text.split()))


def check_output(output: Path | None, *inputs: Path) -> None:
    """Refuse an output that cannot be written, or that is one of the inputs, before any work is done.

    Raises
    ------
    FileRefused
        With what to do instead.
    """
    if output is None:
        return
    target_of(output)
    if not output.parent.is_dir():
        raise FileRefused(f"{output}: cannot be written: there is no folder {output.parent}")
    if not os.access(output.parent, os.W_OK):
        raise FileRefused(f"{output}: cannot be written: no permission in {output.parent}")
    for source in inputs:
        check_name(source)
        if os.path.realpath(output) == os.path.realpath(source):
            raise FileRefused(f"{output}: is also read or written; write to another file")
        if output.exists() and source.exists() and output.samefile(source):
            raise FileRefused(f"{output}: is also read; write to another file")


@contextmanager
def progress(what: str) -> Iterator[Progress]:
    """Something to tell the progress to: a bar on a terminal for what takes longer than a second, else nothing."""
    if not sys.stderr.isatty():
        yield lambda fraction, message: None
        return
    from rich.console import Console
    from rich.progress import Progress as Bar

    bar = Bar(console=Console(stderr=True), transient=True)
    task = bar.add_task(what, total=None)
    late = Timer(PATIENCE, bar.start)
    late.daemon = True
    late.start()
    try:
        yield lambda fraction, message: bar.update(
            task, completed=fraction, total=1.0, description=one_line(message)
        )
    finally:
        late.cancel()
        late.join()
        bar.stop()
