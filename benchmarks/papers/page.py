"""Pages of what papers print: every item with its verdict, and one paper with its claims and exhibits."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from privopt.benchmarks.papers.item import SOURCES, Claim, Exhibit, Finding, Item, PaperReport, Results
from privopt.benchmarks.report.cells import Cell, Head, Table, quantity
from privopt.benchmarks.report.shell import render, seconds

if TYPE_CHECKING:
    from markupsafe import Markup

DIGITS = 6


@dataclass(frozen=True)
class Verdict:
    """A group of findings: how it is marked, and how it is called in a sentence and in a list."""

    kind: str
    title: str
    findings: tuple[Finding, ...]


VERDICTS = (
    Verdict("off", "paper is off", (Finding.OFF,)),
    Verdict("failed", "failed", (Finding.FAILED,)),
    Verdict("open", "nothing computes it", (Finding.OPEN,)),
    Verdict("confirmed", "confirmed", (Finding.MATCHES, Finding.ROUNDING, Finding.HOLDS)),
    Verdict("unknown", "not reproducible", (Finding.NOT_REPRODUCIBLE,)),
)
"""In the order in which they are shown."""


def verdict_of(finding: Finding) -> Verdict:
    """The group of a finding."""
    return next(verdict for verdict in VERDICTS if finding in verdict.findings)


@dataclass(frozen=True)
class Share:
    """How many items have a verdict."""

    kind: str
    title: str
    count: int


def shares(findings: Iterable[Finding]) -> tuple[Share, ...]:
    """The counts by verdict, those of none left out.

    Examples
    --------
    >>> [(one.title, one.count) for one in shares([Finding.HOLDS, Finding.OFF, Finding.MATCHES])]
    [('paper is off', 1), ('confirmed', 2)]
    """
    tally = Counter(verdict_of(finding).kind for finding in findings)
    return tuple(Share(v.kind, v.title, tally[v.kind]) for v in VERDICTS if tally[v.kind])


_SAID = {"off": "where the paper is off", "confirmed": "confirmed", "unknown": "not reproducible", "failed": "that failed",
         "open": "that nothing computes"}  # fmt: skip
_ORDER = ("confirmed", "off", "unknown", "failed", "open")


def headline(findings: Sequence[Finding], what: str = "printed item") -> str:
    """The finding in one line.

    Examples
    --------
    >>> headline([Finding.HOLDS, Finding.ROUNDING, Finding.OFF])
    '3 printed items: 2 confirmed, 1 where the paper is off'
    """
    counts = {share.kind: share.count for share in shares(findings)}
    listed = ", ".join(f"{counts[kind]} {_SAID[kind]}" for kind in _ORDER if kind in counts)
    return f"{len(findings)} {what}{'s' * (len(findings) != 1)}: {listed or 'none'}"


@dataclass(frozen=True)
class Line:
    """An item, or a claim, as a row."""

    name: str
    kind: str
    place: str
    what: str
    printed: str
    ours: str
    verdict: str
    why: str
    seconds: str


@dataclass(frozen=True)
class Drawn:
    """A figure or table computed again."""

    name: str
    heading: str
    caption: str
    svg: Markup | str
    table: Table


@dataclass(frozen=True)
class Source:
    """All that is shown of a paper."""

    letter: str
    title: str
    short: str
    authors: str
    shares: tuple[Share, ...]
    rows: tuple[Line, ...]
    figures: tuple[Drawn, ...]

    @property
    def said(self) -> str:
        """The counts in words."""
        return ", ".join(f"{share.count} {share.title}" for share in self.shares)


SUB = "Every figure, table, algorithm, testable statement and printed number of the papers, with what is computed here beside it."


def reproduced_page(
    reproduced: Results, begun: str, took: float, command: str, environment: Mapping[str, str]
) -> str:
    """The page of items as text: style, script and figures are inside."""
    findings = [one.finding for _, one in reproduced]
    counted = shares(findings)
    return render(
        "reproduce.html.j2",
        {
            "title": "The papers, computed again",
            "mark": "reproduce",
            "kicker": f"Run of {begun}, {took:.0f} s",
            "headline": headline(findings),
            "sub": SUB,
            "alarms": _alarms(counted),
            "shares": counted,
            "total": len(findings),
            "first": "off" if any(share.kind == "off" for share in counted) else "",
            "sources": tuple(_sources(reproduced)),
            "command": command,
            "environment": environment,
        },
    )


def _alarms(counted: Sequence[Share]) -> tuple[str, ...]:
    return tuple(
        f"{share.count} item{'s' * (share.count != 1)} {_SAID[share.kind]}."
        for share in counted
        if share.kind in ("failed", "open")
    )


def _sources(reproduced: Results) -> Iterator[Source]:
    for letter, (authors, title) in SOURCES.items():
        rows = [(item, one) for item, one in reproduced if item.source == letter]
        if rows:
            yield Source(
                letter,
                title,
                authors.split(",")[0].split()[-1],
                authors,
                shares(one.finding for _, one in rows),
                tuple(sorted(_lines(rows), key=_rank)),
                tuple(_drawn(item.name, f"{heading(item)}", e, i) for item, one in rows for i, e in enumerate(one.exhibits)),
            )  # fmt: skip


def _lines(rows: Results) -> Iterator[Line]:
    for item, one in rows:
        yield Line(
            item.name,
            verdict_of(one.finding).kind,
            item.place,
            item.states,
            item.printed or "stated",
            one.ours,
            one.finding.value,
            one.why,
            seconds(one.seconds),
        )


def _rank(line: Line) -> int:
    return [verdict.kind for verdict in VERDICTS].index(line.kind)


_WORDS = {"Fig.": "Figure", "Figs.": "Figures", "Sec.": "Section", "Secs.": "Sections", "App.": "Appendix", "Eq.": "Equation",
          "Eqs.": "Equations", "Def.": "Definition", "Prop.": "Proposition", "Thm.": "Theorem"}  # fmt: skip
LONGEST = 90
"""Letters of a heading, at most."""


def heading(item: Item) -> str:
    """Where an item stands and what it shows, in words.

    Examples
    --------
    >>> heading(Item("R-F3", "Fig. 3 (caption only)", "utility against eps: upper bound, 3R", "", "curve"))
    'Figure 3: utility against ε'
    """
    place = re.sub(r"\s*\((?!\d+\))[^)]*\)", "", item.place)
    place = re.sub(r"\b[A-Z][a-z]+\.", lambda found: _WORDS.get(found[0], found[0]), place)
    what = re.sub(r"\beps\b", "ε", item.states.split(":")[0].strip())
    if len(what) > LONGEST:
        what = what[:LONGEST].rsplit(" ", 1)[0].rstrip(",;") + " …"
    return f"{place[:1].upper()}{place[1:]}: {what}"


def _drawn(name: str, title: str, exhibit: Exhibit, place: int) -> Drawn:
    from markupsafe import Markup

    frame = exhibit.frame
    lines = tuple(tuple(_cell(value) for value in row) for row in frame.itertuples(index=False, name=None))
    heads = tuple(Head(str(column)) for column in frame.columns)
    table = Table(exhibit.name, f"{exhibit.name}: the data", heads, lines)
    several = f" ({place + 1})" if place else ""
    return Drawn(name, title + several, exhibit.caption, Markup(exhibit.svg), table)


def _cell(value: object) -> Cell | str:
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return quantity(value, DIGITS)
    return str(value)


def paper_page(report: PaperReport, begun: str, command: str, environment: Mapping[str, str]) -> str:
    """The page of one paper as text."""
    findings = [claim.finding for claim in report.claims]
    counted = shares(findings)
    source = Source(
        "paper",
        report.title,
        "Claims",
        report.authors,
        counted,
        tuple(sorted((_claim(i, claim) for i, claim in enumerate(report.claims, 1)), key=_rank)),
        tuple(_drawn("", exhibit.name, exhibit, 0) for exhibit in report.exhibits),
    )
    return render(
        "reproduce.html.j2",
        {
            "title": f"{report.title}: computed again",
            "mark": report.name,
            "kicker": f"Run of {begun}, {report.seconds:.0f} s",
            "headline": headline(findings, "printed statement"),
            "sub": " ".join(report.about),
            "alarms": _alarms(counted),
            "shares": counted,
            "total": len(findings),
            "first": "off" if any(share.kind == "off" for share in counted) else "",
            "sources": (source,),
            "command": command,
            "environment": environment,
        },
    )


def _claim(place: int, claim: Claim) -> Line:
    return Line(
        f"claim-{place}",
        verdict_of(claim.finding).kind,
        claim.where,
        claim.what,
        claim.printed,
        claim.ours,
        claim.finding.value,
        claim.sentence,
        "",
    )
