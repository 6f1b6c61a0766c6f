"""How drawings look that are not of solvers: colours that nobody confuses, and what every drawing has."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import altair as alt


COLOURS = ("#1451f9", "#806221", "#0195f3", "#cc03bf", "#73a101", "#fd2a73", "#14744f", "#c07bb4")
"""Each has a contrast of three to white and to the dark ground; any two stay apart under protanopia and
deuteranopia (CIE76 distance above 20 by the matrices of Machado, Oliveira and Fernandes 2009)."""


HEIGHT = 300
SHOWN = "shown"
"""The parameter that holds the solvers of the legend."""


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
