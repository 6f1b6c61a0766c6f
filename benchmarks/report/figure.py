"""A figure: one Vega-Lite specification that the page draws and that becomes SVG, PNG and PDF without a browser."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from privopt.benchmarks.report.judged import Dataset
from privopt.errors import MissingExtra

GREY = "#888888"
"""Of bounds: shows on both grounds."""


def _theme(ink: str, soft: str, line: str, ground: str) -> dict[str, Any]:
    return {
        "background": ground,
        "font": "system-ui, sans-serif",
        "padding": 6,
        "view": {"stroke": None},
        "axis": {
            "labelColor": ink,
            "titleColor": ink,
            "titleFontWeight": "normal",
            "labelFontSize": 12,
            "titleFontSize": 12,
            "gridColor": line,
            "gridOpacity": 0.6,
            "domainColor": soft,
            "tickColor": soft,
            "labelFlush": False,
            "labelSeparation": 5,
            "labelOverlap": True,
        },
        "legend": {
            "orient": "bottom",
            "labelColor": ink,
            "titleColor": ink,
            "labelFontSize": 12,
            "symbolSize": 70,
            "symbolStrokeWidth": 1.8,
            "labelLimit": 170,
            "columnPadding": 14,
        },
        "title": {
            "anchor": "start",
            "color": ink,
            "subtitleColor": soft,
            "fontSize": 14,
            "subtitleFontSize": 11,
            "subtitleLineHeight": 14,
            "subtitlePadding": 5,
            "offset": 12,
        },
    }


LIGHT = _theme("#1c2024", "#5b6570", "#d9dee3", "#ffffff")
DARK = _theme("#e4e8ec", "#9aa5b1", "#353c44", "#14171a")


NEEDS = 'figures need altair and vl-convert-python: pip install "privopt[plot]"'
WIDTH, CHARACTERS = 520, 84
"""Of the files: pixels, and letters of a caption in a line."""
SCALE = 2.0
"""Pixels of a PNG for one of the drawing."""


@dataclass(frozen=True)
class Figure:
    """A drawing with its words and its data.

    Parameters
    ----------
    name : str
        Identifier in the page and stem of its files.
    title, caption : str
    spec : mapping
        Vega-Lite, its data named and left out, its width that of its container.
    data : mapping of str to Dataset
        By the names that the specification reads.
    shown : str
        Which of the data are what the figure shows: those become CSV.
    problem, instance : str
        What it is about; empty where it is about more than one.
    profile : str
        "time" or "quality" if ``data["rows"]`` holds what the curves are computed from.
    parts : tuple of str
        The caption around the number of solvers and the number of tasks, for profiles.
    """

    name: str
    title: str
    caption: str
    spec: Mapping[str, Any]
    data: Mapping[str, Dataset]
    shown: str
    question: str = ""
    instance: str = ""
    profile: str = ""
    parts: tuple[str, ...] = ()


def library() -> tuple[str, str]:
    """The script that draws in the page, and the version of Vega-Lite that the specifications are written in.

    Raises
    ------
    MissingExtra
        If Altair or vl-convert is not installed.
    """
    try:
        import altair
        import vl_convert  # noqa: F401
    except ImportError as cause:
        raise MissingExtra(NEEDS) from cause
    version = ".".join(altair.SCHEMA_VERSION.removeprefix("v").split(".")[:2])
    return _bundle(version), version


@cache
def _bundle(version: str) -> str:
    """The script, which takes longer to put together than to write."""
    import vl_convert

    made: str = vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;", version)
    return made


def svg(figure: Figure) -> str:
    """The figure with its title and its caption as SVG."""
    import vl_convert

    drawn: str = vl_convert.vegalite_to_svg(complete(figure), vl_version=_version())
    return drawn


def png(figure: Figure) -> bytes:
    """The same as PNG."""
    import vl_convert

    drawn: bytes = vl_convert.vegalite_to_png(complete(figure), vl_version=_version(), scale=SCALE)
    return drawn


def pdf(figure: Figure) -> bytes:
    """The same as PDF."""
    import vl_convert

    drawn: bytes = vl_convert.vegalite_to_pdf(complete(figure), vl_version=_version())
    return drawn


def _version() -> str:
    import altair

    return ".".join(altair.SCHEMA_VERSION.removeprefix("v").split(".")[:2])


def complete(figure: Figure) -> dict[str, Any]:
    """The specification with data, title and caption, in the colours of paper."""
    return {
        **figure.spec,
        "width": WIDTH,
        "datasets": {
            name: data.dictionaries() for name, data in figure.data.items() if name in _names(figure)
        },
        "title": {"text": figure.title, "subtitle": textwrap.wrap(figure.caption, CHARACTERS)},
        "config": {**LIGHT, "legend": {**LIGHT["legend"], "columns": 3}},
    }


def _names(figure: Figure) -> set[str]:
    """Names of the data that the specification reads."""
    layers = figure.spec.get("layer", [figure.spec])
    return {layer.get("data", figure.spec.get("data", {})).get("name", "") for layer in layers}
