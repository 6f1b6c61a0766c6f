"""Figures of a manuscript drawn: by Vega-Lite as SVG, PNG and PDF, and as LaTeX for pgfplots; no title inside."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from privopt.benchmarks.manuscript.cells import escape_latex, written
from privopt.benchmarks.manuscript.charts import GREY, OTHERS, PALE, Axis, Chart, Curve, Look

WIDTH, HEIGHT = 420, 260
"""Pixels of the frame of a drawing."""
SCALE = 3.0
"""Pixels of a PNG for one of the drawing."""
_SHAPES = {"circle": "circle", "square": "square", "triangle": "triangle-up", "diamond": "diamond", "cross": "cross"}  # fmt: skip

PAPER: dict[str, Any] = {
    "background": "#ffffff",
    "font": "system-ui, sans-serif",
    "padding": 6,
    "view": {"stroke": None},
    "axis": {
        "labelColor": "#1c2024",
        "titleColor": "#1c2024",
        "titleFontWeight": "normal",
        "labelFontSize": 12,
        "titleFontSize": 12,
        "gridColor": "#d9dee3",
        "gridOpacity": 0.6,
        "domainColor": "#5b6570",
        "tickColor": "#5b6570",
        "labelFlush": False,
        "labelSeparation": 5,
        "labelOverlap": True,
    },
    "legend": {
        "orient": "bottom",
        "labelColor": "#1c2024",
        "titleColor": "#1c2024",
        "labelFontSize": 12,
        "symbolSize": 70,
        "symbolStrokeWidth": 1.8,
        "labelLimit": 170,
        "columnPadding": 14,
    },
}
"""The look of a figure on paper."""


def specification(chart: Chart) -> dict[str, Any]:
    """The chart as Vega-Lite with its data inside."""
    looks = dict(chart.legend)
    records = [
        {"solver": curve.name, "shown": curve.name if curve.look != PALE else OTHERS, "x": p.x, "y": p.y, "low": p.y - p.half,
         "high": p.y + p.half, "bar": p.half > 0}
        for curve in chart.curves for p in curve.points
    ]  # fmt: skip
    stepped = any(curve.stepped for curve in chart.curves)
    layers = [*_bound_layer(chart), *_curve_layers(chart, looks, stepped)]
    return {
        "width": WIDTH,
        "height": HEIGHT,
        "data": {"values": records},
        "layer": layers,
        "resolve": {"legend": {"strokeDash": "independent"}},
        "config": {
            **PAPER,
            "legend": {**PAPER["legend"], "columns": 3, "labelLimit": 0, "orient": "bottom"},
        },
    }


def _bound_layer(chart: Chart) -> list[dict[str, Any]]:
    if not chart.bound:
        return []
    values = [{"x": p.x, "y": p.y} for p in chart.bound]
    mark = {"type": "line", "color": GREY, "strokeDash": [5, 3], "strokeWidth": 1.3}
    return [{"data": {"values": values}, "mark": mark, "encoding": _places(chart)}]


def _places(chart: Chart) -> dict[str, Any]:
    return {"x": {"field": "x", **_vega_axis(chart.x)}, "y": {"field": "y", **_vega_axis(chart.y)}}


def _vega_axis(axis: Axis) -> dict[str, Any]:
    scale: dict[str, Any] = {"type": "log", "nice": False} if axis.log else {"zero": False, "nice": True}
    shown: dict[str, Any] = {"format": "~g"}
    if axis.ticks:
        shown = {"values": list(axis.ticks), "format": ".4~g", "labelOverlap": "greedy"}
    return {"type": "quantitative", "title": axis.title, "scale": scale, "axis": shown}


def _curve_layers(chart: Chart, looks: dict[str, Look], stepped: bool) -> list[dict[str, Any]]:
    names = list(looks)
    places = _places(chart)
    colour = {
        "field": "shown",
        "type": "nominal",
        "scale": {"domain": names, "range": [looks[name].colour for name in names]},
        "legend": {"title": None},
    }
    dash = {
        "field": "shown",
        "type": "nominal",
        "scale": {"domain": names, "range": [list(looks[name].dash) or [1, 0] for name in names]},
        "legend": None,
    }
    shape = {
        "field": "shown",
        "type": "nominal",
        "scale": {"domain": names, "range": [_SHAPES.get(looks[name].marker, "stroke") for name in names]},
        "legend": {"title": None},
    }
    width = {"condition": {"test": f"datum.shown === '{OTHERS}'", "value": 0.8}, "value": 1.6}
    detail = {"field": "solver", "type": "nominal"}
    line = {"type": "line", **({"interpolate": "step-after"} if stepped else {})}
    lines = {
        "mark": line,
        "encoding": {**places, "color": colour, "strokeDash": dash, "strokeWidth": width, "detail": detail},
    }
    points = {
        "transform": [{"filter": f"datum.shown !== '{OTHERS}'"}],
        "mark": {"type": "point", "size": 34, "filled": True, "opacity": 1},
        "encoding": {**places, "color": colour, "shape": shape, "detail": detail},
    }
    bars = {
        "transform": [{"filter": f"datum.bar && datum.shown !== '{OTHERS}'"}],
        "mark": {"type": "rule", "strokeWidth": 1},
        "encoding": {"x": places["x"], "y": {**places["y"], "field": "low"}, "y2": {"field": "high"}, "color": colour},
    }  # fmt: skip
    barred = any(p.half > 0 for curve in chart.curves for p in curve.points)
    return [lines, *([bars] if barred else []), *([] if stepped else [points])]


def svg(chart: Chart) -> bytes:
    """The chart as SVG."""
    import vl_convert

    drawn: str = vl_convert.vegalite_to_svg(specification(chart), vl_version=_version())
    return drawn.encode()


def png(chart: Chart) -> bytes:
    """The chart as PNG."""
    import vl_convert

    drawn: bytes = vl_convert.vegalite_to_png(specification(chart), vl_version=_version(), scale=SCALE)
    return drawn


def pdf(chart: Chart) -> bytes:
    """The chart as PDF."""
    import vl_convert

    drawn: bytes = vl_convert.vegalite_to_pdf(specification(chart), vl_version=_version())
    return drawn


def _version() -> str:
    """The version of Vega-Lite that the specifications are written in."""
    import altair

    return ".".join(altair.SCHEMA_VERSION.removeprefix("v").split(".")[:2])


PICTURES: dict[str, Callable[[Chart], bytes]] = {"svg": svg, "png": png, "pdf": pdf}
"""How a chart becomes a picture."""
_MARKS = {"circle": "*", "square": "square*", "triangle": "triangle*", "diamond": "diamond*", "cross": "x"}


def pgfplots(chart: Chart) -> str:
    r"""The chart as a ``tikzpicture``, to be read in with ``\input``."""
    return "\n".join(_pgf_lines(chart)) + "\n"


def _pgf_lines(chart: Chart) -> Iterator[str]:
    yield "% Needs \\usepackage{pgfplots} and \\pgfplotsset{compat=1.16}."
    yield "\\begin{tikzpicture}\n\\begin{axis}["
    yield "  width=0.8\\linewidth, height=0.5\\linewidth, grid=major, grid style={black!12},"
    yield f"  xlabel={{{escape_latex(chart.x.title)}}}, ylabel={{{escape_latex(chart.y.title)}}},"
    yield from _pgf_axis("x", chart.x)
    yield from _pgf_axis("y", chart.y)
    yield "  legend style={at={(0.5,-0.24)}, anchor=north, draw=none, font=\\footnotesize, cells={anchor=west}}, legend columns=2,"
    yield "]"
    for curve in chart.curves:
        if curve.look == PALE:
            yield _pgf_curve(curve, f"draw={_rgb(GREY)}, line width=0.4pt, no marks, forget plot")
    if chart.bound:
        yield _pgf_plot(f"draw={_rgb(GREY)}, dashed, line width=0.7pt, no marks, forget plot", [(p.x, p.y) for p in chart.bound])  # fmt: skip
    for curve in chart.curves:
        if curve.look != PALE:
            yield _pgf_curve(curve, _pgf_look(curve.look))
            yield f"\\addlegendentry{{{escape_latex(curve.name)}}}"
    if (OTHERS, PALE) in chart.legend:
        yield f"\\addlegendimage{{draw={_rgb(GREY)}, line width=0.4pt}}\n\\addlegendentry{{{OTHERS}}}"
    yield "\\end{axis}\n\\end{tikzpicture}"


def _pgf_axis(letter: str, axis: Axis) -> Iterator[str]:
    if axis.log:
        yield f"  {letter}mode=log,"
    if axis.ticks:
        ticks = ",".join(repr(value) for value in axis.ticks)
        labels = ",".join(f"${written(value)}$" for value in axis.ticks)
        yield f"  {letter}tick={{{ticks}}}, {letter}ticklabels={{{labels}}}, {letter}minorticks=false,"


def _pgf_look(look: Look) -> str:
    strokes = " ".join(f"{'on' if i % 2 == 0 else 'off'} {length}pt" for i, length in enumerate(look.dash))
    dash = f"dash pattern={strokes}, " if strokes else ""
    mark = f"mark={_MARKS[look.marker]}, mark size=1.4pt, mark options={{solid, fill={_rgb(look.colour)}}}"
    return f"draw={_rgb(look.colour)}, line width=0.9pt, {dash}{mark}"


def _pgf_curve(curve: Curve, options: str) -> str:
    if curve.stepped:
        steps = "const plot, no marks" if curve.look != PALE else "const plot"
        return _pgf_plot(f"{options}, {steps}", [(p.x, p.y) for p in curve.points])
    if curve.look != PALE and any(p.half > 0 for p in curve.points):
        bars = "error bars/.cd, y dir=both, y explicit"
        places = "\n".join(f"  ({p.x!r},{p.y!r}) +- (0,{p.half!r})" for p in curve.points)
        return f"\\addplot[{options}, {bars}] coordinates {{\n{places}\n}};"
    return _pgf_plot(options, [(p.x, p.y) for p in curve.points])


def _pgf_plot(options: str, points: list[tuple[float, float]]) -> str:
    places = "\n".join(f"  ({x!r},{y!r})" for x, y in points)
    return f"\\addplot[{options}] coordinates {{\n{places}\n}};"


def _rgb(colour: str) -> str:
    red, green, blue = (int(colour[i : i + 2], 16) for i in (1, 3, 5))
    return f"{{rgb,255:red,{red};green,{green};blue,{blue}}}"
