"""A page of its own sections in the shell of the report: same style, same script, and nothing fetched."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib.resources import files
from string import Template


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
    return files("privopt.benchmarks").joinpath(name).read_text(encoding="utf-8")
