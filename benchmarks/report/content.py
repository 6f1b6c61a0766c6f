"""What a report says, before it is written as anything."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain

from privopt.benchmarks.report import tables
from privopt.benchmarks.report.cells import Table
from privopt.benchmarks.report.document import facts_table
from privopt.benchmarks.report.figure import Figure, library
from privopt.benchmarks.report.findings import Verdict, findings
from privopt.benchmarks.report.frontiers import attacks, frontiers
from privopt.benchmarks.report.gaps import excesses, gaps
from privopt.benchmarks.report.judged import Judged
from privopt.benchmarks.report.mechanism import draw
from privopt.benchmarks.report.profiles import staircases
from privopt.benchmarks.report.scaling import scalings
from privopt.benchmarks.report.style import Style, styles
from privopt.benchmarks.report.tables import runs, solver_table
from privopt.benchmarks.runner.folder import Manifest, Released
from privopt.errors import MissingExtra

WORDS = (
    (
        "utility, leakage, budget",
        "Of the mechanism that is sampled, with integer weights. Leakage is in nats; the budget is in the problem's own unit.",
    ),
    (
        "seconds",
        (
            "Wall time of solving and judging: s in a process that has solved such a problem before, cold s the first time in "
            "a fresh process, imports included. MiB is the largest resident size of the run's own process."
        ),
    ),
    (
        "certified",
        (
            "The budget was proved in exact arithmetic from the integer weights, and proved again after the solution was "
            "written and read back."
        ),
    ),
    (
        "gap",
        (
            "Room between the objective and a bound that the problem itself checked. A bound that a solver merely claims is not "
            "counted: such rows have no bound."
        ),
    ),
    (
        "best",
        (
            "Certified, with an objective of at least best − 1e-6 max(1, |best|), where best is the largest certified objective "
            "that any solver reached for the instance and budget."
        ),
    ),
    (
        "over as proposed",
        (
            "How often a solver's own proposal leaked more than the budget, beyond what rounding explains, before it was "
            "repaired. After repair there must be none."
        ),
    ),
    (
        "refused",
        "A solver that does not take an instance says so in a sentence. A refusal is a row, and counts as not answered.",
    ),
)


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
    figures, missing = _figures(rows, released, look)
    return Content(
        title=f"privopt benchmark: {manifest.suite}",
        describe=manifest.describe,
        when=f"Run of {manifest.begun}, {manifest.seconds:.0f} s for {len(rows)} runs.",
        about=manifest.about,
        verdict=verdict,
        findings=findings(rows),
        parts=tuple(_parts(rows, released, figures, missing, manifest.environment)),
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
    figures: Mapping[str, tuple[Figure, ...]],
    missing: tuple[str, ...],
    environment: Mapping[str, str],
) -> list[Part]:
    lines = () if released is None else tuple((line[0], line[-1]) for line in released.lines)
    nothing = ("There is none: nothing was released.",) if released is None else ()
    parts = [
        _part("frontier", "How useful, for how much leakage", figures, (*tables.objectives(rows),), missing),
        _part("attack", "How useful, for how much an adversary guesses", figures),
        _part("gap", "How close, how soon", figures),
        _part("profile", "Performance profiles", figures, (solver_table(rows),)),
        _part("scaling", "How cost grows with size", figures, (tables.slopes(rows),)),
        _part("privacy", "Privacy by solver", figures, (tables.privacy(rows),)),
        _part("mechanism", "The mechanism that was used", figures, said=nothing, records=lines),
        _part("runs", "Every run", figures, (runs(rows), tables.refusals(rows))),
        Part("words", "How to read this", words=WORDS),
        Part("environment", "Environment", tables=(facts_table(environment),)),
    ]
    if len({j.row.question for j in rows}) == 1:
        parts = [replace(p, tables=tuple(table.without("question") for table in p.tables)) for p in parts]
    return [p for p in parts if p.figures or p.tables or p.records or p.sentences or p.words]


def _part(
    name: str,
    title: str,
    figures: Mapping[str, tuple[Figure, ...]],
    shown: tuple[Table, ...] = (),
    said: tuple[str, ...] = (),
    records: tuple[tuple[str, str], ...] = (),
) -> Part:
    return Part(
        name, title, said, figures.get(name, ()), tuple(t.trimmed() for t in shown if t.lines), records
    )
