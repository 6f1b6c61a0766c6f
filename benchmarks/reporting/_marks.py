"""What the drawings share: encodings of a solver, axes, and the specification without its data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from privopt.benchmarks.reporting._styles import Style

if TYPE_CHECKING:
    import altair as alt

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
    found: dict[str, Any] = chart.properties(width="container", height=height).add_params(legend).to_dict()
    found.pop("config", None)
    found["autosize"] = {"type": "fit-x", "contains": "padding"}
    return found


def named(name: str) -> alt.NamedData:
    """Data by name."""
    import altair as alt

    return alt.NamedData(name=name)
