"""Drawings of matplotlib that sit in a page: their text is text, and their ink is that of the page."""

from __future__ import annotations

import html
import io
import re
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

from privopt.errors import MissingExtra
from privopt.plots.curves import NEEDS

if TYPE_CHECKING:
    from matplotlib.figure import Figure

INK = "#010203"
"""Stands for the colour of the surrounding text, which is dark or light by the reader's wish."""

_STYLE: dict[Any, Any] = {
    "svg.fonttype": "none",
    "svg.hashsalt": "privopt",
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"],
    "font.size": 9.5,
    **{
        name: INK
        for name in (
            "text.color",
            "axes.edgecolor",
            "axes.labelcolor",
            "xtick.color",
            "ytick.color",
            "grid.color",
        )
    },
}


def svg(figure: Figure, identifier: str, title: str) -> str:
    """The figure as an SVG element whose text is text, scaled by the page, with a title for screen readers.

    Identifiers inside are prefixed, so that several figures can share a page.
    """
    stream = io.StringIO()
    figure.savefig(
        stream, format="svg", transparent=True, metadata=dict.fromkeys(("Creator", "Date", "Format", "Type"))
    )
    text = stream.getvalue()
    text = text[text.index("<svg") :].replace(INK, "currentColor")
    text = re.sub(r'\bid="', f'id="{identifier}-', text)
    text = re.sub(r'(href="#|url\(#)', rf"\g<1>{identifier}-", text)
    text = re.sub(r"font: ([\d.]+px) [^;\"]*", r"font: \1 system-ui, sans-serif", text)
    head, _, body = text.partition(">")
    head = re.sub(r' (width|height)="[^"]*"', "", head)
    label = f'role="img" aria-labelledby="{identifier}-title"'
    return f'{head} {label}><title id="{identifier}-title">{html.escape(title)}</title>{body}'


def figure_style() -> AbstractContextManager[None]:
    """The settings of the figures, for as long as one is drawn and written."""
    try:
        from matplotlib import rc_context
    except ImportError as cause:
        raise MissingExtra(NEEDS) from cause
    return rc_context(_STYLE)
