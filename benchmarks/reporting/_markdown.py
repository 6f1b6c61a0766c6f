"""The report as Markdown, with links to the files of its figures."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from privopt.benchmarks._cells import Table, text
from privopt.benchmarks.reporting._content import Content, Part
from privopt.benchmarks.reporting._figure import Figure


def markdown(content: Content, pictures: Sequence[str]) -> str:
    """The report as text; ``pictures`` are the formats in which its figures lie in the folder ``figures``."""
    return "\n".join(_lines(content, pictures)) + "\n"


def escape(given: str) -> str:
    r"""Text in which nothing is markup, on one line.

    Examples
    --------
    >>> escape("a|b <i> *c*")
    'a\\|b &lt;i> \\*c\\*'
    """
    flat = " ".join(given.split()).replace("&", "&amp;").replace("<", "&lt;")
    return re.sub(r"([\\`*_\[\]|#$~])", r"\\\1", flat)


def _lines(content: Content, pictures: Sequence[str]) -> Iterator[str]:
    yield from (f"# {escape(content.title)}", "", escape(content.describe), "", escape(content.when), "")
    yield from ("## Summary", "")
    for sentence in (*content.about, *content.verdict.sentences):
        yield from (escape(sentence), "")
    for question, said in content.findings:
        yield from (f"### {escape(question)}", "", *(f"- {escape(sentence)}" for sentence in said), "")
    for part in content.parts:
        yield from _part(part, pictures)


def _part(part: Part, pictures: Sequence[str]) -> Iterator[str]:
    yield from (f"## {escape(part.title)}", "")
    for sentence in part.sentences:
        yield from (escape(sentence), "")
    for figure in part.figures:
        yield from _figure(figure, pictures)
    for table in part.tables:
        yield from (f"**{escape(table.caption)}**", "", *_table(table), "")
    if part.records:
        yield from ("| record | released |", "| --- | --- |")
        yield from (f"| {escape(label)} | {escape(cell) or '*hidden*'} |" for label, cell in part.records)
        yield ""
    for word, meaning in part.words:
        yield from (f"- **{escape(word)}**: {escape(meaning)}",)
    if part.words:
        yield ""


def _figure(figure: Figure, pictures: Sequence[str]) -> Iterator[str]:
    """The picture, its caption, and its other formats."""
    first, *others = sorted(pictures, key=("svg", "png", "pdf").index) or [""]
    if first:
        yield from (f"![{escape(figure.title)}](figures/{figure.name}.{first})", "")
    links = "".join(f" [{kind.upper()}](figures/{figure.name}.{kind})" for kind in others)
    yield from (f"**{escape(figure.title)}.** {escape(figure.caption)}{links}", "")


def _table(table: Table) -> Iterator[str]:
    yield _row(head.text for head in table.header)
    yield "| " + " | ".join("---:" if right else "---" for right in table.numeric) + " |"
    for line in table.lines:
        yield _row(map(text, line))


def _row(cells: Iterable[str]) -> str:
    return "| " + " | ".join(map(escape, cells)) + " |"
