"""Figures of a manuscript as data: axes with units and curves with their looks, to be drawn by Vega-Lite and by pgfplots."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from privopt.benchmarks.manuscript.cells import distinct, slug
from privopt.benchmarks.manuscript.tables import Manner, label
from privopt.benchmarks.manuscript.units import Measure, measure_of
from privopt.benchmarks.report.judged import Judged
from privopt.benchmarks.report.profiles import time_profile
from privopt.benchmarks.report.results import Result, Sample, ranking, results
from privopt.benchmarks.report.scaling import MEASURES, growths
from privopt.benchmarks.runner.vocabulary import Vocabulary

COLOURED = 5
"""Most solvers of a figure that have a colour."""
FEW = 8
"""Tasks below which a profile would show nothing but noise."""
APART = 8.0
"""Ratio of the largest to the smallest from which an axis of budgets is logarithmic."""
GREY = "#9aa3ad"
OTHERS = "other solvers"


@dataclass(frozen=True)
class Look:
    """Colour as hexadecimal, dash as lengths of strokes and gaps, marker and width: solvers differ without colour as well."""

    colour: str
    dash: tuple[int, ...]
    marker: str
    width: float = 1.4


LOOKS = (
    Look("#0b5cab", (), "circle"),
    Look("#c04a00", (6, 3), "square"),
    Look("#0b7a5b", (2, 2), "triangle"),
    Look("#9b2f86", (8, 3, 2, 3), "diamond"),
    Look("#7a6100", (4, 2), "cross"),
)
PALE = Look(GREY, (), "", 0.8)
"""Of all others, which share an entry of the legend."""


@dataclass(frozen=True)
class Axis:
    """Title with the unit, and what is marked; ``ticks`` is empty where the axis marks itself."""

    title: str
    log: bool = False
    ticks: tuple[float, ...] = ()


@dataclass(frozen=True)
class Point:
    """A place with half the width of an interval around its height, 0 for none."""

    x: float
    y: float
    half: float = 0.0


@dataclass(frozen=True)
class Curve:
    """Points of one solver; ``stepped`` draws stairs."""

    name: str
    look: Look
    points: tuple[Point, ...]
    stepped: bool = False


@dataclass(frozen=True)
class Chart:
    """A figure.

    Parameters
    ----------
    name : str
        Stem of its files.
    caption : str
        Stands beside the figure, never in it.
    x, y : Axis
    curves : tuple of Curve
    bound : tuple of Point
        The best proved bound, drawn dashed in grey; empty for none.
    """

    name: str
    caption: str
    x: Axis
    y: Axis
    curves: tuple[Curve, ...]
    bound: tuple[Point, ...] = ()

    @property
    def legend(self) -> tuple[tuple[str, Look], ...]:
        """What the legend names: the coloured solvers, then all others as one."""
        coloured = [(curve.name, curve.look) for curve in self.curves if curve.look != PALE]
        return (*coloured, *([(OTHERS, PALE)] if len(coloured) < len(self.curves) else []))

    @property
    def records(self) -> tuple[tuple[str, float, float, float], ...]:
        """What is drawn: solver, x, y and half the width of the interval."""
        bound = (("bound", p.x, p.y, p.half) for p in self.bound)
        return (*((c.name, p.x, p.y, p.half) for c in self.curves for p in c.points), *bound)


RECORD = ("solver", "x", "y", "half")
"""Columns of :attr:`Chart.records`."""


def charts(rows: Sequence[Judged], words: Vocabulary, manner: Manner) -> tuple[Chart, ...]:
    """Frontiers of instances with several budgets, profiles of problems with enough tasks, growth with size."""
    made: list[Chart] = []
    for kind in dict.fromkeys(j.row.question for j in rows):
        own = [j for j in rows if j.row.question == kind]
        made += [*_frontiers(kind, own, words, manner), *_profile(kind, own, words, manner)]
        made += _growths(kind, own, words, manner)
    names = distinct([chart.name for chart in made])
    return tuple(replace(chart, name=name) for chart, name in zip(made, names, strict=True))


def _frontiers(kind: str, rows: Sequence[Judged], words: Vocabulary, manner: Manner) -> Iterator[Chart]:
    for key in dict.fromkeys(j.case[:3] for j in rows):
        own = [j for j in rows if j.case[:3] == key and math.isfinite(j.row.budget)]
        budgets = sorted({j.row.budget for j in own if j.row.verified})
        if len(budgets) > 1:
            yield _frontier(kind, key[2], own, budgets, words, manner)


def _frontier(
    kind: str, instance: str, rows: Sequence[Judged], budgets: Sequence[float], words: Vocabulary, manner: Manner
) -> Chart:  # fmt: skip
    measure = measure_of(words, kind, instance, rows, manner.units)
    every = results(rows)
    points: dict[str, list[Point]] = {}
    for one in sorted(every, key=lambda one: one.case.budget):
        sample = _shown(one, measure)
        if sample is not None and math.isfinite(sample.mean):
            points.setdefault(one.solver, []).append(Point(one.case.budget, sample.mean, sample.half))
    bounds = {j.row.budget: j.bound for j in rows if j.bound is not None and math.isfinite(j.bound)}
    title, quantity = words.instance(kind, instance).title, measure.quantity
    bars = any(point.half for own in points.values() for point in own)
    return Chart(
        slug(kind, instance, "frontier"),
        f"{title}: {quantity.name} against {quantity.budget}; {quantity.better} is better."
        + (" The dashed grey line is the best proved bound." if bounds else "")
        + (" Bars are 95 % intervals." if bars else ""),
        Axis(quantity.budget, budgets[0] > 0 and budgets[-1] > APART * budgets[0], tuple(budgets)),
        Axis(measure.title),
        _dressed(points, _first(ranking(every), kind, words, manner)),
        tuple(Point(budget, measure.of(bounds[budget])) for budget in sorted(bounds)),
    )


def _shown(one: Result, measure: Measure) -> Sample | None:
    return one.sample(lambda j: None if j.row.objective is None else measure.of(j.row.objective))


def _first(ranked: Sequence[str], kind: str, words: Vocabulary, manner: Manner) -> tuple[str, ...]:
    """Solvers in the order in which they get a colour: those set off, the best one, the simple method, the others."""
    simple = words.problem(kind).reference.solver
    order = (*manner.highlight, *ranked[:1], simple, *ranked[1:])
    return tuple(dict.fromkeys(name for name in order if name in ranked))


def _dressed(
    points: Mapping[str, Sequence[Point]], order: Sequence[str], stepped: bool = False
) -> tuple[Curve, ...]:
    """Curves, pale ones first; one that runs along a coloured one stays pale, so that colours are not hidden."""
    looks: dict[str, Look] = {}
    for name in order:
        hidden = any(_along(points[name], points[other]) for other in looks) if name in points else True
        if len(looks) < COLOURED and not hidden:
            looks[name] = LOOKS[len(looks)]
    names = sorted(points, key=lambda name: (name in looks, name))
    pale = [name for name in names if name not in looks]
    return tuple(
        Curve(label(name), looks.get(name, PALE), tuple(points[name]), stepped) for name in (*pale, *looks)
    )


def _along(points: Sequence[Point], others: Sequence[Point]) -> bool:
    """Whether each point lies on the other curve, to what an eye can tell."""
    known = {point.x: point.y for point in others}
    size = max((abs(point.y) for point in (*points, *others)), default=0.0)
    return all(p.x in known and abs(p.y - known[p.x]) <= 1e-3 * size for p in points)


def _profile(kind: str, rows: Sequence[Judged], words: Vocabulary, manner: Manner) -> Iterator[Chart]:
    performance = time_profile(rows)
    if performance.tasks < FEW:
        return
    points = {
        solver: [Point(x, y * 100) for x, y in curve]
        for solver, curve in performance.curves.items()
        if any(y for _, y in curve)
    }
    title = words.problem(kind).title
    yield Chart(
        slug(kind, "profile"),
        f"{title}: in how many of {performance.tasks} tasks a solver reaches the best certified answer within a multiple of the "
        "time of the fastest; higher is better.",
        Axis("time, relative to the fastest", True, _ticks(max(p.x for own in points.values() for p in own))),
        Axis("tasks (%)"),
        _dressed(points, _first(ranking(results(rows)), kind, words, manner), stepped=True),
    )


def _ticks(largest: float) -> tuple[float, ...]:
    """Round numbers from 1 to a largest one: 1, 2, 5 and so on, or powers of ten where these are many."""
    powers = range(math.ceil(math.log10(max(largest, 1.0))) + 1)
    fine = [factor * 10.0**power for power in powers for factor in (1, 2, 5)]
    every = fine if len(fine) <= 10 else [10.0**power for power in powers]
    return tuple(value for value in every if value <= largest)


def _growths(kind: str, rows: Sequence[Judged], words: Vocabulary, manner: Manner) -> Iterator[Chart]:
    for measure, title in MEASURES.items():
        grown = growths(rows, measure)
        for family in dict.fromkeys(one.family for one in grown):
            points = {
                one.solver: [Point(float(size), cost) for size, cost in one.points]
                for one in grown
                if one.family == family
            }
            yield Chart(
                slug(kind, family, measure),
                f"{words.problem(kind).title}, {family}: {title} of completed runs against size; lower is better.",
                Axis("size", log=True),
                Axis("time (s)" if measure == "seconds" else title, log=True),
                _dressed(points, _first(ranking(results(rows)), kind, words, manner)),
            )
