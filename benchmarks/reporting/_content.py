"""What a report says, before it is written as anything."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain

from privopt.benchmarks._cells import Table
from privopt.benchmarks._folder import Manifest, Released
from privopt.benchmarks._tables import facts_table
from privopt.benchmarks._verdict import Verdict
from privopt.benchmarks.reporting import _tables as tables
from privopt.benchmarks.reporting._attacks import attacks
from privopt.benchmarks.reporting._drawn import draw
from privopt.benchmarks.reporting._excesses import excesses
from privopt.benchmarks.reporting._figure import Figure, library
from privopt.benchmarks.reporting._findings import findings
from privopt.benchmarks.reporting._frontiers import frontiers
from privopt.benchmarks.reporting._gaps import gaps
from privopt.benchmarks.reporting._judged import Judged
from privopt.benchmarks.reporting._runs import runs
from privopt.benchmarks.reporting._scalings import scalings
from privopt.benchmarks.reporting._solvers import solver_table
from privopt.benchmarks.reporting._staircases import staircases
from privopt.benchmarks.reporting._styles import Style, styles
from privopt.benchmarks.reporting._words import WORDS
from privopt.errors import MissingExtra


@dataclass(frozen=True)
class Part:
    """A heading with what stands below it; ``records`` are labels with what was released, empty where hidden."""

    name: str
    title: str
    sentences: tuple[str, ...] = ()
    figures: tuple[Figure, ...] = ()
    tables: tuple[Table, ...] = ()
    records: tuple[tuple[str, str], ...] = ()
    words: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class Content:
    """A report: its words, its parts, the rows they come from, and how solvers look."""

    title: str
    describe: str
    when: str
    about: tuple[str, ...]
    verdict: Verdict
    findings: tuple[tuple[str, tuple[str, ...]], ...]
    parts: tuple[Part, ...]
    rows: tuple[Judged, ...]
    look: Mapping[str, Style]

    @property
    def figures(self) -> tuple[Figure, ...]:
        """All figures, in order."""
        return tuple(chain.from_iterable(part.figures for part in self.parts))

    @property
    def tables(self) -> tuple[Table, ...]:
        """All tables, in order."""
        return tuple(chain.from_iterable(part.tables for part in self.parts))


def content(
    manifest: Manifest, rows: Sequence[Judged], released: Released | None, verdict: Verdict
) -> Content:
    """All that a report of a run says; without the libraries of figures it says that they were left out."""
    look = styles(rows)
    found, missing = _figures(rows, released, look)
    return Content(
        title=f"privopt benchmark: {manifest.suite}",
        describe=manifest.describe,
        when=f"Run of {manifest.begun}, {manifest.seconds:.0f} s for {len(rows)} runs.",
        about=manifest.about,
        verdict=verdict,
        findings=findings(rows),
        parts=tuple(_parts(rows, released, found, missing, manifest.environment)),
        rows=tuple(rows),
        look=look,
    )


def _figures(
    rows: Sequence[Judged], released: Released | None, look: Mapping[str, Style]
) -> tuple[dict[str, tuple[Figure, ...]], tuple[str, ...]]:
    """Figures by part, and a sentence if there can be none."""
    try:
        library()
    except MissingExtra as cause:
        return {}, (f"Figures were left out: {cause}. The tables below hold the same numbers.",)
    drawn = None if released is None else draw(released)
    return {
        "frontier": tuple(frontiers(rows, look)),
        "attack": tuple(attacks(rows, look)),
        "gap": tuple(gaps(rows, look)),
        "profile": tuple(staircases(rows, look)),
        "scaling": tuple(scalings(rows, look)),
        "privacy": tuple(excesses(rows, look)),
        "mechanism": () if drawn is None else (drawn,),
    }, ()


def _parts(
    rows: Sequence[Judged],
    released: Released | None,
    found: Mapping[str, tuple[Figure, ...]],
    missing: tuple[str, ...],
    environment: Mapping[str, str],
) -> list[Part]:
    lines = () if released is None else tuple((line[0], line[-1]) for line in released.lines)
    nothing = ("There is none: nothing was released.",) if released is None else ()
    parts = [
        _part("frontier", "How useful, for how much leakage", found, (*tables.objectives(rows),), missing),
        _part("attack", "How useful, for how much an adversary guesses", found),
        _part("gap", "How close, how soon", found),
        _part("profile", "Performance profiles", found, (solver_table(rows),)),
        _part("scaling", "How cost grows with size", found, (tables.slopes(rows),)),
        _part("privacy", "Privacy by solver", found, (tables.privacy(rows),)),
        _part("mechanism", "The mechanism that was used", found, said=nothing, records=lines),
        _part("runs", "Every run", found, (runs(rows), tables.refusals(rows))),
        Part("words", "How to read this", words=WORDS),
        Part("environment", "Environment", tables=(facts_table(environment),)),
    ]
    if len({j.row.question for j in rows}) == 1:
        parts = [replace(p, tables=tuple(table.without("question") for table in p.tables)) for p in parts]
    return [p for p in parts if p.figures or p.tables or p.records or p.sentences or p.words]


def _part(
    name: str,
    title: str,
    found: Mapping[str, tuple[Figure, ...]],
    shown: tuple[Table, ...] = (),
    said: tuple[str, ...] = (),
    records: tuple[tuple[str, str], ...] = (),
) -> Part:
    return Part(name, title, said, found.get(name, ()), tuple(t.trimmed() for t in shown if t.lines), records)
