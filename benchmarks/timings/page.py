"""The page of timed measurements, with how cost grows with size."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from privopt.benchmarks.report.cells import Cell, Head, Table, quantity
from privopt.benchmarks.report.document import figure_style, svg
from privopt.benchmarks.report.shell import render
from privopt.benchmarks.timings.measurement import Timing
from privopt.benchmarks.timings.run import HEADER, Measured, times
from privopt.errors import MissingExtra
from privopt.files.text import number
from privopt.plots.curves import draw_line, new_figure

if TYPE_CHECKING:
    from markupsafe import Markup

WIDE = 10
"""Ratio of the largest size to the smallest below which no slope is fitted."""
TAIL = 1000
"""Sizes smaller than the largest by more than this factor are dominated by fixed costs, and are not fitted."""


@dataclass(frozen=True)
class Line:
    """Seconds by size of one case, ours or a reference's."""

    name: str
    points: tuple[tuple[int, float], ...]

    @property
    def slope(self) -> float | None:
        """Exponent b of seconds = a size^b by least squares, where the sizes span enough."""
        top = max(size for size, _ in self.points)
        fitted = [(size, seconds) for size, seconds in self.points if size * TAIL >= top and seconds > 0]
        if len(fitted) < 3 or top < WIDE * fitted[0][0]:
            return None
        sizes, seconds = np.log(np.array(fitted)).T
        return float(np.polyfit(sizes, seconds, 1)[0])


def lines(timings: Sequence[Timing]) -> list[Line]:
    """Our lines, then those of references, of at least two sizes each; equal sizes are averaged by median.

    Examples
    --------
    >>> rows = [Timing("sorting", 10**e, 10.0**e) for e in range(1, 4)]
    >>> [(line.name, round(line.slope, 6)) for line in lines(rows)]
    [('sorting', 1.0)]
    """
    seconds_of: dict[str, dict[int, list[float]]] = {}
    for name, size, seconds in (*_ours(timings), *_theirs(timings)):
        seconds_of.setdefault(name, {}).setdefault(size, []).append(seconds)
    made = [
        Line(name, tuple((size, statistics.median(taken)) for size, taken in sorted(sizes.items())))
        for name, sizes in seconds_of.items()
    ]
    return [line for line in made if len(line.points) > 1]


def _ours(timings: Sequence[Timing]) -> Iterator[tuple[str, int, float]]:
    return ((t.case, t.size, t.seconds) for t in timings if t.seconds is not None)


def _theirs(timings: Sequence[Timing]) -> Iterator[tuple[str, int, float]]:
    """A reference that serves several cases has a line for each."""
    cases: dict[str, set[str]] = {}
    for t in timings:
        cases.setdefault(t.reference, set()).add(t.case)
    for t in timings:
        if t.reference_seconds is not None:
            name = t.reference if len(cases[t.reference]) == 1 else f"{t.reference}: {t.case}"
            yield name, t.size, t.reference_seconds


def growth_caption(drawn: Sequence[Line]) -> str:
    """What the figure shows, with the fitted slopes."""
    slopes = [f"{line.name}: n^{line.slope:.2f}" for line in drawn if line.slope is not None]
    fitted = f" Fitted growth over the largest sizes: {'; '.join(slopes)}." if slopes else ""
    return f"Seconds against size, both on logarithmic scales; every line was timed in this run.{fitted}"


def growth_svg(drawn: Sequence[Line], identifier: str, title: str) -> str:
    """Seconds against size, a line each.

    Raises
    ------
    MissingExtra
        If matplotlib is not installed.
    """
    with figure_style():
        chart, axes = new_figure(5.6, 3.4 + 0.17 * len(drawn))
        for place, line in enumerate(drawn):
            draw_line(axes, line.points, line.name, place)
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.set_xlabel("size")
        axes.set_ylabel("seconds")
        axes.legend(frameon=False, fontsize=8.5, loc="lower left", bbox_to_anchor=(0.0, 1.0))
        return svg(chart, identifier, title)


_WORDS = (
    ("seconds", "Wall time of the median of several repetitions after a warm-up; long work runs once."),
    ("ratio", "Seconds of the reference for ours, both taken in this run. Read ratios rather than seconds."),
    ("quality", "A number that says whether the work was done as well; the last column says which."),
)


def holds(measured: Sequence[Measured]) -> bool:
    """Whether no invariant was violated."""
    return all(timing.holds for one in measured for timing in one.timings)


def sentences(measured: Sequence[Measured]) -> tuple[str, ...]:
    """What was found, a sentence for each reference and one for the invariants."""
    said = [sentence for one in measured for sentence in _headlines(one.timings)]
    return (*said, *_invariants(measured))


def _invariants(measured: Sequence[Measured]) -> Iterator[str]:
    invariants = [t for one in measured for t in one.timings if t.note == "violations"]
    if invariants:
        broken = [t.case for t in invariants if not t.holds]
        checks = sum(t.size for t in invariants)
        outcome = f"violated: {', '.join(broken)}" if broken else "none was violated"
        yield f"{len(invariants)} invariants were checked on {checks} random instances in all; {outcome}."


@dataclass(frozen=True)
class Against:
    """A reference at some work: its time over ours, written as factors."""

    work: str
    reference: str
    median: str
    least: str
    most: str


@dataclass(frozen=True)
class Shown:
    """A measurement as it is shown."""

    name: str
    heading: str
    caption: str
    svg: Markup | str
    table: Table


def headline(measured: Sequence[Measured]) -> str:
    """The finding in one line."""
    every = [t for one in measured for t in one.timings]
    ratios = [t.ratio for t in every if t.ratio is not None]
    checks = [t for t in every if t.note == "violations"]
    parts = []
    if ratios:
        slower = sum(ratio > 1 for ratio in ratios)
        parts.append(f"{slower} of {len(ratios)} timings of references are longer than ours")
    if checks:
        parts.append(f"{sum(not t.holds for t in checks)} of {len(checks)} invariants violated")
    return "; ".join(parts) or f"{len(every)} timings"


def page(
    measured: Sequence[Measured], begun: str, quick: bool, environment: Mapping[str, str], command: str = ""
) -> str:
    """The page as text: style, script and figures are inside."""
    seconds = sum(one.seconds for one in measured)
    kind = "small sizes only" if quick else "all sizes"
    return render(
        "timings.html.j2",
        {
            "title": "privopt: timed measurements",
            "mark": "timings",
            "kicker": f"Run of {begun}, {seconds:.0f} s, {kind}",
            "headline": headline(measured),
            "sub": "The same work by privopt and by a reference, on one machine in one run.",
            "alarms": () if holds(measured) else tuple(_invariants(measured)),
            "lines": [line for one in measured for line in _against(one.timings)],
            "invariants": tuple(_invariants(measured)),
            "measured": [_shown(one) for one in measured],
            "meanings": _WORDS,
            "command": command or "privopt bench measure",
            "environment": environment,
        },
    )


def _against(timings: Sequence[Timing]) -> Iterator[Against]:
    for name, cases, ratios in _references(timings):
        factors = (times(statistics.median(ratios)), times(min(ratios)), times(max(ratios)))
        yield Against(", ".join(cases), name, *factors)


def _references(timings: Sequence[Timing]) -> Iterator[tuple[str, list[str], list[float]]]:
    """Every reference with what it was timed on, and its times over ours."""
    for name in dict.fromkeys(t.reference for t in timings if t.ratio is not None):
        ratios = [t.ratio for t in timings if t.reference == name and t.ratio is not None]
        yield name, list(dict.fromkeys(t.case for t in timings if t.reference == name)), ratios


def _headlines(timings: Sequence[Timing]) -> Iterator[str]:
    for name, cases, ratios in _references(timings):
        spread = f"{times(min(ratios))} to {times(max(ratios))} times as long"
        yield f"{', '.join(cases)}: {name} takes {spread}, median {times(statistics.median(ratios))}."


def _shown(one: Measured) -> Shown:
    from markupsafe import Markup

    drawn_lines = lines(one.timings)
    heading = one.measurement.describe
    caption = f"{one.measurement.name}: {len(one.timings)} rows, {one.seconds:.1f} s"
    table = Table(one.measurement.name, caption, tuple(map(Head, HEADER)), tuple(map(_row, one.timings)))
    if not drawn_lines:
        return Shown(one.measurement.name, heading, "", "", table)
    said = growth_caption(drawn_lines)
    try:
        identifier = f"growth-{one.measurement.name}"
        drawing = Markup(growth_svg(drawn_lines, identifier, f"Seconds against size: {heading}"))
    except MissingExtra as cause:
        return Shown(one.measurement.name, heading, f"The figure was left out: {cause}. {said}", "", table)
    return Shown(one.measurement.name, heading, said, drawing, table)


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
