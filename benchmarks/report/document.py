"""A page that needs nothing but itself: style, script, sections, and drawings that sit in it."""

from __future__ import annotations

import html
import io
import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from importlib.resources import files
from string import Template
from typing import TYPE_CHECKING, Any

from privopt.benchmarks.report.cells import Head, Table
from privopt.errors import MissingExtra
from privopt.plots.curves import NEEDS

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Section:
    """A heading, and HTML below it."""

    name: str
    title: str
    body: str


def document(
    title: str, describe: str, when: str, sections: Sequence[Section], *, before: str = "", scripts: str = ""
) -> str:
    """The page as text, with HTML before the sections and scripts after them where a page has its own.

    Examples
    --------
    >>> page = document("a < b", "", "", [Section("one", "First", paragraphs(["said."]))])
    >>> "<title>a &lt; b</title>" in page, '<h2 id="one">First</h2>' in page
    (True, True)
    """
    return Template(_text("page.html")).substitute(
        title=html.escape(title),
        describe=html.escape(describe),
        when=html.escape(when),
        css=_text("page.css"),
        script=_text("page.js"),
        sections=before + "".join(map(_section, sections)),
        scripts=scripts,
    )


def paragraphs(lines: Iterable[str]) -> str:
    """Escaped sentences, a paragraph each."""
    return "".join(f"<p>{html.escape(line)}</p>\n" for line in lines)


def result(lines: Iterable[str], holds: bool) -> str:
    """Sentences set off as the outcome, or as an alarm."""
    return f'<div class="result{"" if holds else " alarm"}">{paragraphs(lines)}</div>'


def figure(drawn: str, caption: str) -> str:
    """An SVG element with its caption."""
    return f"<figure>{drawn}<figcaption>{html.escape(caption)}</figcaption></figure>\n"


def words(pairs: Iterable[tuple[str, str]]) -> str:
    """Terms with what they mean."""
    lines = (f"<dt>{html.escape(name)}</dt><dd>{html.escape(text)}</dd>" for name, text in pairs)
    return f"<dl>{''.join(lines)}</dl>"


def _section(section: Section) -> str:
    name = html.escape(section.name)
    return (
        f'<section aria-labelledby="{name}">\n<h2 id="{name}">{html.escape(section.title)}</h2>\n'
        f"{section.body}\n</section>\n"
    )


def _text(name: str) -> str:
    return files("privopt.benchmarks.report").joinpath(name).read_text(encoding="utf-8")


def facts_table(pairs: Mapping[str, str]) -> Table:
    """Names with their values."""
    header = (Head("what"), Head("version"))
    return Table("environment", "Environment", header, tuple(pairs.items()), sortable=False)


def facts(pairs: Mapping[str, str]) -> str:
    """The same as HTML.

    Examples
    --------
    >>> "<td>Python</td><td>3</td>" in facts({"Python": "3"})
    True
    """
    return facts_table(pairs).html()


INK = "#010203"
"""Stands for the colour of the surrounding text, which is dark or light by the reader's wish."""

_STYLE: dict[Any, Any] = {
    "svg.fonttype": "none",
    "svg.hashsalt": "privopt",
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"],
    "font.size": 9.5,
    **{
        name: INK
        for name in (
            "text.color",
            "axes.edgecolor",
            "axes.labelcolor",
            "xtick.color",
            "ytick.color",
            "grid.color",
        )
    },
}


def svg(figure: Figure, identifier: str, title: str) -> str:
    """The figure as an SVG element whose text is text, scaled by the page, with a title for screen readers.

    Identifiers inside are prefixed, so that several figures can share a page.
    """
    stream = io.StringIO()
    figure.savefig(
        stream, format="svg", transparent=True, metadata=dict.fromkeys(("Creator", "Date", "Format", "Type"))
    )
    text = stream.getvalue()
    text = text[text.index("<svg") :].replace(INK, "currentColor")
    text = re.sub(r'\bid="', f'id="{identifier}-', text)
    text = re.sub(r'(href="#|url\(#)', rf"\g<1>{identifier}-", text)
    text = re.sub(r"font: ([\d.]+px) [^;\"]*", r"font: \1 system-ui, sans-serif", text)
    head, _, body = text.partition(">")
    head = re.sub(r' (width|height)="[^"]*"', "", head)
    label = f'role="img" aria-labelledby="{identifier}-title"'
    return f'{head} {label}><title id="{identifier}-title">{html.escape(title)}</title>{body}'


def figure_style() -> AbstractContextManager[None]:
    """The settings of the figures, for as long as one is drawn and written."""
    try:
        from matplotlib import rc_context
    except ImportError as cause:
        raise MissingExtra(NEEDS) from cause
    return rc_context(_STYLE)
