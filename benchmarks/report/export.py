"""The same content as files: Markdown, LaTeX tables, CSV, Parquet, and figures as PDF, SVG and PNG."""

from __future__ import annotations

import csv
import io
import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

from privopt.benchmarks.report import figure as drawing
from privopt.benchmarks.report.cells import Cell, Table, text
from privopt.benchmarks.report.content import Content, Part
from privopt.benchmarks.report.figure import Figure
from privopt.benchmarks.report.judged import Value, encode
from privopt.errors import FileRefused, InvalidProblem, MissingExtra
from privopt.files.json import writing, writing_bytes


def csv_text(columns: Sequence[str], lines: Iterable[Sequence[Value]]) -> str:
    r"""CSV as the page writes it: an empty cell is missing, infinity is inf.

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


def parquet(columns: Sequence[str], lines: Sequence[Sequence[Value]]) -> bytes:
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


PREAMBLE = "% Needs \\usepackage{booktabs,longtable} and an engine that reads UTF-8.\n"
_SPECIAL = {
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "$": r"\$", "&": r"\&", "#": r"\#", "_": r"\_", "%": r"\%",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": r"\textless{}", ">": r"\textgreater{}",
    "|": r"\textbar{}", '"': r"\textquotedbl{}", "ε": r"$\varepsilon$", "δ": r"$\delta$", "τ": r"$\tau$",
    "α": r"$\alpha$", "β": r"$\beta$", "λ": r"$\lambda$", "−": r"$-$", "±": r"$\pm$", "×": r"$\times$",
    "≤": r"$\leq$", "≥": r"$\geq$", "[": "{[}", "]": "{]}", "“": "``", "”": "''", "∞": r"$\infty$",
}  # fmt: skip


def latex(tables: Iterable[Table]) -> str:
    r"""Every table, to be read in with ``\input``."""
    return PREAMBLE + "\n".join("\n".join(_latex_table(table)) + "\n" for table in tables)


def escape_latex(raw: str) -> str:
    r"""Text in which nothing is a command, on one line.

    Examples
    --------
    >>> print(escape_latex("50 % of {x_1} & \\more"))
    50 \% of \{x\_1\} \& \textbackslash{}more
    """
    flat = " ".join(raw.split())
    printable = (c for c in flat if unicodedata.category(c) not in ("Cc", "Cf", "Cs", "Co"))
    return "".join(_SPECIAL.get(c, c) for c in printable)


def _latex_table(table: Table) -> Iterator[str]:
    columns = "".join("r" if right else "l" for right in table.numeric)
    heads = _latex_row(head.text for head in table.header)
    yield f"\\begin{{longtable}}{{{columns}}}"
    yield f"\\caption{{{escape_latex(table.caption)}}}\\label{{tab:{escape_label(table.name)}}}\\\\"
    yield f"\\toprule\n{heads}\n\\midrule\n\\endfirsthead"
    yield f"\\toprule\n{heads}\n\\midrule\n\\endhead\n\\bottomrule\n\\endfoot"
    yield from (_latex_row(map(text, line)) for line in table.lines)
    yield "\\end{longtable}"


def _latex_row(cells: Iterable[str]) -> str:
    return " & ".join(map(escape_latex, cells)) + r" \\"


def escape_label(name: str) -> str:
    """Letters, digits and hyphens of a name.

    Examples
    --------
    >>> escape_label("runs_1")
    'runs-1'
    """
    return "".join(c if c.isascii() and c.isalnum() else "-" for c in name)


def markdown(content: Content, pictures: Sequence[str]) -> str:
    """The report as text; ``pictures`` are the formats in which its figures lie in the folder ``figures``."""
    return "\n".join(_lines(content, pictures)) + "\n"


def escape_markdown(raw: str) -> str:
    r"""Text in which nothing is markup, on one line.

    Examples
    --------
    >>> escape_markdown("a|b <i> *c*")
    'a\\|b &lt;i> \\*c\\*'
    """
    flat = " ".join(raw.split()).replace("&", "&amp;").replace("<", "&lt;")
    return re.sub(r"([\\`*_\[\]|#$~])", r"\\\1", flat)


def _lines(content: Content, pictures: Sequence[str]) -> Iterator[str]:
    yield from (
        f"# {escape_markdown(content.title)}",
        "",
        escape_markdown(content.describe),
        "",
        escape_markdown(content.when),
        "",
    )
    yield from ("## Summary", "")
    for sentence in (*content.about, *content.verdict.sentences):
        yield from (escape_markdown(sentence), "")
    for question, said in content.findings:
        yield from (
            f"### {escape_markdown(question)}",
            "",
            *(f"- {escape_markdown(sentence)}" for sentence in said),
            "",
        )
    for part in content.parts:
        yield from _part(part, pictures)


def _part(part: Part, pictures: Sequence[str]) -> Iterator[str]:
    yield from (f"## {escape_markdown(part.title)}", "")
    for sentence in part.sentences:
        yield from (escape_markdown(sentence), "")
    for figure in part.figures:
        yield from _figure(figure, pictures)
    for table in part.tables:
        yield from (f"**{escape_markdown(table.caption)}**", "", *_markdown_table(table), "")
    if part.records:
        yield from ("| record | released |", "| --- | --- |")
        yield from (
            f"| {escape_markdown(label)} | {escape_markdown(cell) or '*hidden*'} |"
            for label, cell in part.records
        )
        yield ""
    for word, meaning in part.words:
        yield from (f"- **{escape_markdown(word)}**: {escape_markdown(meaning)}",)
    if part.words:
        yield ""


def _figure(figure: Figure, pictures: Sequence[str]) -> Iterator[str]:
    """The picture, its caption, and its other formats."""
    first, *others = sorted(pictures, key=("svg", "png", "pdf").index) or [""]
    if first:
        yield from (f"![{escape_markdown(figure.title)}](figures/{figure.name}.{first})", "")
    links = "".join(f" [{kind.upper()}](figures/{figure.name}.{kind})" for kind in others)
    yield from (f"**{escape_markdown(figure.title)}.** {escape_markdown(figure.caption)}{links}", "")


def _markdown_table(table: Table) -> Iterator[str]:
    yield _markdown_row(head.text for head in table.header)
    yield "| " + " | ".join("---:" if right else "---" for right in table.numeric) + " |"
    for line in table.lines:
        yield _markdown_row(map(text, line))


def _markdown_row(cells: Iterable[str]) -> str:
    return "| " + " | ".join(map(escape_markdown, cells)) + " |"


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
    names = {name.strip().lower() for name in formats} - {""}
    odd = sorted(names - {*FORMATS, "all"})
    if odd:
        raise InvalidProblem(
            f"a report cannot be written as {', '.join(odd)}; there are {', '.join(FORMATS)}, and all"
        )
    return frozenset(FORMATS if "all" in names else names)


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
    files: list[tuple[Path, Sequence[str], list[list[Value]]]] = []
    for table in content.tables:
        lines = [[_value(cell) for cell in line] for line in table.lines]
        files.append((folder / "tables" / f"{table.name}.{kind}", _names(table), lines))
    for figure in content.figures:
        data = figure.data[figure.shown]
        files.append(
            (folder / "figures" / f"{figure.name}.{kind}", data.columns, [list(r) for r in data.records])
        )
    for path, columns, lines in files:
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
