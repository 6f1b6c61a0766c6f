"""The same content as files: Markdown, LaTeX tables, CSV, Parquet, and figures as PDF, SVG and PNG."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from privopt._files import writing, writing_bytes
from privopt.benchmarks._cells import Cell, Table
from privopt.benchmarks.reporting import _figure as drawing
from privopt.benchmarks.reporting._comma import csv_text
from privopt.benchmarks.reporting._content import Content
from privopt.benchmarks.reporting._data import Value
from privopt.benchmarks.reporting._latex import latex
from privopt.benchmarks.reporting._markdown import markdown
from privopt.benchmarks.reporting._parquet import parquet
from privopt.errors import FileRefused, InvalidProblem

PICTURES: dict[str, Callable[[drawing.Figure], bytes]] = {
    "svg": lambda figure: drawing.svg(figure).encode(),
    "png": drawing.png,
    "pdf": drawing.pdf,
}
FORMATS = ("html", "md", "tex", "csv", "parquet", *PICTURES)
"""What a report can be written as; "all" stands for every one."""
MARKDOWN, LATEX = "report.md", "tables.tex"


def checked(formats: Iterable[str]) -> frozenset[str]:
    """The formats by name, "all" spelled out.

    Raises
    ------
    InvalidProblem
        If one is unknown.

    Examples
    --------
    >>> sorted(checked(["md", "csv"])), len(checked(["all"]))
    (['csv', 'md'], 8)
    """
    found = {name.strip().lower() for name in formats} - {""}
    odd = sorted(found - {*FORMATS, "all"})
    if odd:
        raise InvalidProblem(
            f"a report cannot be written as {', '.join(odd)}; there are {', '.join(FORMATS)}, and all"
        )
    return frozenset(FORMATS if "all" in found else found)


def export_files(content: Content, formats: frozenset[str], folder: Path) -> None:
    """Write the report in the given formats: words and tables in the folder, figures and data in folders below.

    Markdown shows figures, so it brings SVG where no format of pictures is asked for.

    Raises
    ------
    FileRefused
        If a file cannot be written.
    MissingExtra
        If figures are asked for by name, or Parquet, and a package is missing.
    """
    pictures = [kind for kind in PICTURES if kind in formats]
    if pictures:
        drawing.library()
    if "md" in formats and not pictures and content.figures:
        pictures = ["svg"]
    if formats:
        _write(content, formats, pictures, folder)


def _write(content: Content, formats: frozenset[str], pictures: Sequence[str], folder: Path) -> None:
    _make(folder)
    if "md" in formats:
        _text(folder / MARKDOWN, markdown(content, pictures))
    if "tex" in formats:
        _text(folder / LATEX, latex(content.tables))
    for kind in pictures:
        _make(folder / "figures")
        for figure in content.figures:
            _bytes(folder / "figures" / f"{figure.name}.{kind}", PICTURES[kind](figure))
    for kind in ("csv", "parquet"):
        if kind in formats:
            _data(content, kind, folder)


def _data(content: Content, kind: str, folder: Path) -> None:
    """Every table, and what every figure shows."""
    found: list[tuple[Path, Sequence[str], list[list[Value]]]] = []
    for table in content.tables:
        lines = [[_value(cell) for cell in line] for line in table.lines]
        found.append((folder / "tables" / f"{table.name}.{kind}", _names(table), lines))
    for figure in content.figures:
        data = figure.data[figure.shown]
        found.append(
            (folder / "figures" / f"{figure.name}.{kind}", data.columns, [list(r) for r in data.records])
        )
    for path, columns, lines in found:
        _make(path.parent)
        if kind == "csv":
            _text(path, csv_text(columns, lines))
        else:
            _bytes(path, parquet(columns, lines))


def _value(cell: Cell | str) -> Value:
    return cell if isinstance(cell, str) else cell.value


def _names(table: Table) -> list[str]:
    """Names of the columns, made different where a solver is called like another column."""
    names: list[str] = []
    for head in table.header:
        name = head.text
        while name in names:
            name += "_"
        names.append(name)
    return names


def _make(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as cause:
        raise FileRefused(f"{folder}: cannot be made: {cause.strerror or cause}") from cause


def _text(path: Path, content: str) -> None:
    with writing(path) as stream:
        stream.write(content)


def _bytes(path: Path, content: bytes) -> None:
    with writing_bytes(path) as stream:
        stream.write(content)
