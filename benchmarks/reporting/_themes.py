"""Colours of the ground, the axes and the words of figures, on paper and in the dark."""

from __future__ import annotations

from typing import Any

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
