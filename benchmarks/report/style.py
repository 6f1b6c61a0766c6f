"""How solvers look: one colour, dash and marker each, the same in every figure of a report."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from privopt.benchmarks.report.judged import Judged

if TYPE_CHECKING:
    import altair as alt


COLOURS = ("#1451f9", "#806221", "#0195f3", "#cc03bf", "#73a101", "#fd2a73", "#14744f", "#c07bb4")
"""Each has a contrast of three to white and to the dark ground; any two stay apart under protanopia and
deuteranopia (CIE76 distance above 20 by the matrices of Machado, Oliveira and Fernandes 2009)."""
MARKERS = ("circle", "square", "triangle-up", "diamond", "cross", "triangle-down", "triangle-right")
DASHES = ((), (6, 2), (2, 2), (8, 2, 2, 2), (4, 4))


@dataclass(frozen=True)
class Style:
    """Colour as hexadecimal, dash as lengths of strokes and gaps, marker by Vega's name."""

    colour: str
    dash: tuple[int, ...]
    marker: str


def style(place: int) -> Style:
    """The style of a place; the first 280 differ, because 8, 5 and 7 have no common factor.

    Examples
    --------
    >>> len({style(i) for i in range(280)})
    280
    """
    return Style(COLOURS[place % len(COLOURS)], DASHES[place % len(DASHES)], MARKERS[place % len(MARKERS)])


def styles(rows: Iterable[Judged]) -> dict[str, Style]:
    """A style for every solver: the earliest that no solver of the same problems has."""
    questions: dict[str, set[str]] = {}
    for j in rows:
        questions.setdefault(j.row.solver, set()).add(j.row.question)
    taken: dict[str, set[int]] = {}
    look = {}
    for solver in sorted(questions, key=lambda name: (-len(questions[name]), name)):
        used = {place for question in questions[solver] for place in taken.get(question, ())}
        place = next(i for i in range(len(used) + 1) if i not in used)
        look[solver] = style(place)
        for question in questions[solver]:
            taken.setdefault(question, set()).add(place)
    return look


HEIGHT = 300
SHOWN = "shown"
"""The parameter that holds the solvers of the legend."""


def colour(names: Sequence[str], look: Mapping[str, Style]) -> alt.Color:
    """The solver as its colour, with the legend."""
    import altair as alt

    scale = alt.Scale(domain=list(names), range=[look[name].colour for name in names])
    return alt.Color("solver:N", scale=scale, legend=_legend())


def fill(names: Sequence[str], look: Mapping[str, Style]) -> alt.Fill:
    """The solver as the colour inside a marker."""
    import altair as alt

    scale = alt.Scale(domain=list(names), range=[look[name].colour for name in names])
    return alt.Fill("solver:N", scale=scale, legend=_legend())


def dash(names: Sequence[str], look: Mapping[str, Style]) -> alt.StrokeDash:
    """The solver as the dash of its line; the legend shows the marker, whose outline must stay whole."""
    import altair as alt

    scale = alt.Scale(domain=list(names), range=[list(look[name].dash) or [1, 0] for name in names])
    return alt.StrokeDash("solver:N", scale=scale, legend=None)


def shape(names: Sequence[str], look: Mapping[str, Style]) -> alt.Shape:
    """The solver as its marker."""
    import altair as alt

    scale = alt.Scale(domain=list(names), range=[look[name].marker for name in names])
    return alt.Shape("solver:N", scale=scale, legend=_legend())


def _legend() -> alt.Legend:
    import altair as alt

    return alt.Legend(title=None, values=alt.ExprRef(SHOWN))


def specification(chart: Any, names: Sequence[str], height: int = HEIGHT) -> dict[str, Any]:
    """The chart as Vega-Lite with the parameter of the legend, as wide as its container."""
    import altair as alt

    if isinstance(chart, alt.LayerChart):
        chart = chart.resolve_legend(
            strokeDash="independent"
        )  # it has none; sharing would merge it with the colour's
    legend = alt.param(name=SHOWN, value=list(names))
    spec: dict[str, Any] = chart.properties(width="container", height=height).add_params(legend).to_dict()
    spec.pop("config", None)
    spec["autosize"] = {"type": "fit-x", "contains": "padding"}
    return spec


def named(name: str) -> alt.NamedData:
    """Data by name."""
    import altair as alt

    return alt.NamedData(name=name)
