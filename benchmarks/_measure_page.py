"""The page of timed measurements."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterator, Mapping, Sequence

from privopt._text import number
from privopt.benchmarks._growth import growth_caption, growth_svg, lines
from privopt.benchmarks._measure import HEADER, Measured, times
from privopt.benchmarks._measurements import Timing
from privopt.benchmarks.report.cells import Cell, quantity, table
from privopt.benchmarks.report.document import Section, document, facts, figure, paragraphs, result, words
from privopt.errors import MissingExtra

_WORDS = (
    ("seconds", "Wall time of the median of several repetitions after a warm-up; long work runs once."),
    ("ratio", "Seconds of the reference for ours, both taken in this run. Read ratios rather than seconds."),
    ("quality", "A number that says whether the work was done as well; the last column says which."),
)


def holds(found: Sequence[Measured]) -> bool:
    """Whether no law was violated."""
    return all(timing.holds for one in found for timing in one.timings)


def sentences(found: Sequence[Measured]) -> tuple[str, ...]:
    """What was found, a sentence for each reference and one for the laws."""
    said = [sentence for one in found for sentence in _headlines(one.timings)]
    laws = [t for one in found for t in one.timings if t.note == "violations"]
    if laws:
        broken = [t.case for t in laws if not t.holds]
        checks = sum(t.size for t in laws)
        outcome = f"violated: {', '.join(broken)}" if broken else "none was violated"
        said.append(f"{len(laws)} laws were checked on {checks} random instances in all; {outcome}.")
    return tuple(said)


def page(found: Sequence[Measured], begun: str, quick: bool, environment: Mapping[str, str]) -> str:
    """The page as text: style, script and figures are inside."""
    seconds = sum(one.seconds for one in found)
    kind = "small sizes only" if quick else "all sizes"
    return document(
        "privopt: timed measurements",
        "The same work by privopt and by a reference, on one machine in one run.",
        f"Run of {begun}, {seconds:.0f} s, {kind}.",
        (
            Section("summary", "Summary", result(sentences(found), holds(found))),
            *(Section(one.measurement.name, one.measurement.describe, _body(one)) for one in found),
            Section("words", "How to read this", words(_WORDS)),
            Section("environment", "Environment", facts(environment)),
        ),
    )


def _headlines(timings: Sequence[Timing]) -> Iterator[str]:
    for name in dict.fromkeys(t.reference for t in timings if t.ratio is not None):
        ratios = [t.ratio for t in timings if t.reference == name and t.ratio is not None]
        cases = dict.fromkeys(t.case for t in timings if t.reference == name)
        spread = f"{times(min(ratios))} to {times(max(ratios))} times as long"
        yield f"{', '.join(cases)}: {name} takes {spread}, median {times(statistics.median(ratios))}."


def _body(one: Measured) -> str:
    drawn, shown = lines(one.timings), ""
    if drawn:
        title = f"Seconds against size: {one.measurement.describe}"
        try:
            shown = figure(growth_svg(drawn, f"growth-{one.measurement.name}", title), growth_caption(drawn))
        except MissingExtra as cause:
            shown = paragraphs([f"The figure was left out: {cause}. {growth_caption(drawn)}"])
    caption = f"{one.measurement.name}: {len(one.timings)} rows, {one.seconds:.1f} s"
    return shown + table(HEADER, map(_row, one.timings), caption)


def _row(t: Timing) -> tuple[Cell | str, ...]:
    return (
        t.case,
        quantity(t.size, 7),
        quantity(t.seconds, 3),
        t.reference,
        quantity(t.reference_seconds, 3),
        Cell(times(t.ratio), math.nan if t.ratio is None else t.ratio),
        quantity(t.quality, 3) if t.holds else Cell(number(t.quality, 3), t.quality, "bad"),
        t.note,
    )
