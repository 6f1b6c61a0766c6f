"""A run written for a manuscript: a LaTeX document with its tables, figures and references, Markdown, pictures, data."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from privopt.benchmarks.manuscript import cells, scoreboard
from privopt.benchmarks.manuscript.cells import Table, escape_latex, escape_markdown
from privopt.benchmarks.manuscript.charts import RECORD, Chart, charts
from privopt.benchmarks.manuscript.drawing import PICTURES, pgfplots
from privopt.benchmarks.manuscript.references import bibliography, problem_sources, solver_sources
from privopt.benchmarks.manuscript.tables import Manner, tables
from privopt.benchmarks.report.board import board
from privopt.benchmarks.report.figure import library
from privopt.benchmarks.report.judged import Judged, Value, encode
from privopt.benchmarks.runner.rows import AUTO
from privopt.benchmarks.runner.vocabulary import Vocabulary
from privopt.errors import FileRefused, InvalidProblem, MissingExtra
from privopt.files.json import writing
from privopt.files.paths import writing_bytes

FORMATS = ("html", "md", "tex", "csv", "parquet", *PICTURES)
"""What a report can be written as; "all" stands for every one."""
MARKDOWN, DOCUMENT, REFERENCES, ROWS = "report.md", "paper.tex", "references.bib", "runs"


@dataclass(frozen=True)
class Manuscript:
    """What is written: words, tables, figures, the runs they come from, and the publications behind them."""

    title: str
    sentences: tuple[str, ...]
    tables: tuple[Table, ...]
    charts: tuple[Chart, ...]
    rows: tuple[Judged, ...]
    words: Vocabulary

    @property
    def problems(self) -> dict[str, tuple[str, ...]]:
        """Keys of the publications on every problem of the run."""
        return {kind: problem_sources(kind) for kind in dict.fromkeys(j.row.question for j in self.rows)}

    @property
    def keys(self) -> tuple[str, ...]:
        """Keys of the publications on its problems, and on every solver that ran or that ``solve()`` chose."""
        used = dict.fromkeys(
            (j.row.question, name)
            for j in self.rows
            for name in (j.row.solver, j.row.chosen)
            if name and name != AUTO and j.row.status != "REFUSED"
        )
        solvers = (key for kind, name in used for key in solver_sources(kind, name))
        problems = (key for keys in self.problems.values() for key in keys)
        return tuple(dict.fromkeys((*problems, *solvers)))


def manuscript(
    title: str, sentences: Sequence[str], rows: Sequence[Judged], words: Vocabulary, manner: Manner
) -> Manuscript:
    """Everything that is written of a run."""
    first = board(rows, words)
    return Manuscript(
        title,
        (*scoreboard.sentences(first), *sentences),
        (scoreboard.scoreboard(first), *tables(rows, words, manner)),
        charts(rows, words, manner),
        tuple(rows),
        words,
    )


def checked_formats(formats: Iterable[str]) -> frozenset[str]:
    """The formats by name, "all" spelled out.

    Raises
    ------
    InvalidProblem
        If one is unknown.

    Examples
    --------
    >>> sorted(checked_formats(["md", "csv"])), len(checked_formats(["all"]))
    (['csv', 'md'], 8)
    """
    names = {name.strip().lower() for name in formats} - {""}
    odd = sorted(names - {*FORMATS, "all"})
    if odd:
        raise InvalidProblem(
            f"a report cannot be written as {', '.join(odd)}; there are {', '.join(FORMATS)}, and all"
        )
    return frozenset(FORMATS if "all" in names else names)


def write_manuscript(told: Manuscript, formats: frozenset[str], folder: Path) -> None:
    """Write words and document into the folder, tables and figures into folders below.

    Markdown shows figures, so it brings SVG where no format of pictures is asked for and Altair is installed.

    Raises
    ------
    FileRefused
        If a file cannot be written.
    MissingExtra
        If pictures or Parquet are asked for by name and a package is missing.
    """
    pictures = [kind for kind in PICTURES if kind in formats]
    if pictures and told.charts:
        library()
    if "md" in formats and not pictures and told.charts and _can_draw():
        pictures = ["svg"]
    for path, content in _files(told, formats, pictures):
        _put(folder / path, content)


def _can_draw() -> bool:
    try:
        library()
    except MissingExtra:
        return False
    return True


def _files(
    told: Manuscript, formats: frozenset[str], pictures: Sequence[str]
) -> Iterator[tuple[str, str | bytes]]:
    """Every file by its path in the folder."""
    if "md" in formats:
        yield MARKDOWN, markdown(told, pictures)
    if "tex" in formats:
        yield DOCUMENT, document(told)
        yield REFERENCES, bibliography(told.keys)
        yield from ((f"tables/{table.name}.tex", cells.latex(table)) for table in told.tables)
        yield from ((f"figures/{chart.name}.tex", pgfplots(chart)) for chart in told.charts)
    for kind in pictures:
        yield from ((f"figures/{chart.name}.{kind}", PICTURES[kind](chart)) for chart in told.charts)
    for kind, write in _DATA.items():
        if kind in formats:
            yield from ((f"{path}.{kind}", write(names, lines)) for path, names, lines in _data(told))


Lines = Sequence[Sequence[Value]]


def _data(told: Manuscript) -> Iterator[tuple[str, Sequence[str], Lines]]:
    """Every table, what every figure shows, and every run."""
    for table in told.tables:
        yield f"tables/{table.name}", *_columns(table)
    for chart in told.charts:
        yield f"figures/{chart.name}", RECORD, chart.records
    records = [{**vars(j.row), "best": j.best, "case_bound": j.bound, "case_gap": j.gap} for j in told.rows]
    names = list(records[0]) if records else ["solver"]
    yield f"tables/{ROWS}", names, [list(record.values()) for record in records]


def _columns(table: Table) -> tuple[list[str], list[list[Value]]]:
    """The columns of a table, those with a standard deviation followed by it."""
    spread = [any(_sd(line[i]) is not None for line in table.lines) for i in range(len(table.columns))]
    names = [
        name for head, wide in zip(table.names, spread, strict=True) for name in (head, *([f"{head} sd"] * wide))
    ]  # fmt: skip
    lines = [
        [value for cell, wide in zip(line, spread, strict=True) for value in (cell.plain, *([_sd(cell)] * wide))]
        for line in table.lines
    ]  # fmt: skip
    return names, lines


def _sd(cell: cells.Cell) -> float | None:
    return cell.sd if isinstance(cell, cells.Number) else None


def document(told: Manuscript) -> str:
    """A LaTeX document that reads in every table and figure, to be compiled or taken apart."""
    return "\n".join(_document(told)) + "\n"


def _document(told: Manuscript) -> Iterator[str]:
    yield "\\documentclass{article}\n\\IfFileExists{lmodern.sty}{\\usepackage{lmodern}}{}"
    yield "\\usepackage[margin=22mm]{geometry}\n\\usepackage{booktabs,longtable,pgfplots}\n\\pgfplotsset{compat=1.16}"
    yield f"\\title{{{escape_latex(told.title)}}}\n\\date{{}}\n\\begin{{document}}\n\\maketitle"
    yield "\n\n".join(escape_latex(sentence) for sentence in told.sentences)
    yield f"\\input{{tables/{scoreboard.NAME}}}"
    for kind, keys in told.problems.items():
        words = told.words.problem(kind)
        cited = f"~\\cite{{{','.join(keys)}}}" if keys else ""
        yield f"\n\\section{{{escape_latex(words.title)}}}\n{escape_latex(words.asks)}{cited}"
        prefix = cells.slug(kind) + "-"
        yield from (
            f"\\input{{tables/{table.name}}}" for table in told.tables if table.name.startswith(prefix)
        )
        for chart in told.charts:
            if chart.name.startswith(prefix):
                yield "\\begin{figure}[htbp]\n\\centering"
                yield f"\\input{{figures/{chart.name}}}"
                yield f"\\caption{{{escape_latex(chart.caption)}}}\\label{{fig:{chart.name}}}\n\\end{{figure}}"
        yield "\\clearpage"
    if told.keys:
        yield "\\bibliographystyle{plain}\n\\bibliography{references}"
    yield "\\end{document}"


def markdown(told: Manuscript, pictures: Sequence[str]) -> str:
    """The tables of solvers by cases and the figures as text; every case stands in the data files."""
    first, *others = sorted(pictures, key=list(PICTURES).index) or [""]
    parts = [f"# {escape_markdown(told.title)}\n", *(f"{escape_markdown(s)}\n" for s in told.sentences)]
    parts += [cells.markdown(table) for table in told.tables if table.name == scoreboard.NAME]
    for kind in told.problems:
        words, prefix = told.words.problem(kind), cells.slug(kind) + "-"
        parts.append(f"## {escape_markdown(words.title)}\n")
        parts += [f"{escape_markdown(words.asks)}\n"] if words.asks else []
        parts += [
            cells.markdown(_shortened(table)) for table in told.tables
            if table.name.startswith(f"{prefix}by-case")
        ]  # fmt: skip
        for chart in told.charts:
            if first and chart.name.startswith(prefix):
                links = "".join(f" [{kind.upper()}](figures/{chart.name}.{kind})" for kind in others)
                parts.append(f"![{chart.name.removeprefix(prefix)}](figures/{chart.name}.{first}){links}\n")
    return "\n".join(parts)


SHOWN = 5
"""Solvers in a table of the text; the data files have all."""


def _shortened(table: Table) -> Table:
    """The first lines of a long table, with those that stand below its rule."""
    end = len(table.lines) - table.last
    if end <= SHOWN:
        return table
    caption = f"{table.caption} {end - SHOWN} more lines are in tables/{table.name}.csv."
    return replace(table, caption=caption, lines=(*table.lines[:SHOWN], *table.lines[end:]))


def csv_text(columns: Sequence[str], lines: Iterable[Sequence[Value]]) -> str:
    r"""CSV: an empty cell is missing, infinity is inf.

    Examples
    --------
    >>> csv_text(["a", "b"], [[1.5, None], [float("inf"), "x,y"]])
    'a,b\n1.5,\ninf,"x,y"\n'
    """
    stream = io.StringIO()
    table = csv.writer(stream, lineterminator="\n")
    table.writerow(columns)
    table.writerows([_plain(value) for value in line] for line in lines)
    return stream.getvalue()


def _plain(value: Value) -> Value:
    return {True: "true", False: "false"}[value] if isinstance(value, bool) else encode(value)


NEEDS = 'Parquet needs polars: pip install "privopt[polars]"'


def parquet(columns: Sequence[str], lines: Lines) -> bytes:
    """Columns with the narrowest type that holds all of theirs: bool, int, float or text; missing is null.

    Raises
    ------
    MissingExtra
        If polars is not installed.
    """
    try:
        import polars
    except ImportError as cause:
        raise MissingExtra(NEEDS) from cause
    table = polars.DataFrame({name: _column([line[i] for line in lines]) for i, name in enumerate(columns)})
    stream = io.BytesIO()
    table.write_parquet(stream)
    return stream.getvalue()


def _column(values: Sequence[Value]) -> list[Value]:
    """One type: a column of numbers with an integer among floats is float, one with words is text."""
    kinds = {type(value) for value in values if value is not None}
    if len(kinds) < 2:
        return list(values)
    if kinds == {int, float}:
        return [None if value is None else float(value) for value in values]
    return [None if value is None else str(value) for value in values]


_DATA: dict[str, Callable[[Sequence[str], Lines], str | bytes]] = {"csv": csv_text, "parquet": parquet}


def _put(path: Path, content: str | bytes) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as cause:
        raise FileRefused(f"{path.parent}: cannot be made: {cause.strerror or cause}") from cause
    if isinstance(content, bytes):
        with writing_bytes(path) as stream:
            stream.write(content)
    else:
        with writing(path) as text:
            text.write(content)
