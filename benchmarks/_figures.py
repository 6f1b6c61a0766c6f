"""Figures of a report: Matplotlib figures turned into SVG that sits in the page."""

from __future__ import annotations

import html
import io
import re
from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

import numpy as np

from privopt._plots import COLOURS, NEEDS, draw_band, draw_line, new_figure
from privopt.benchmarks._folder import Released
from privopt.benchmarks._rows import Row
from privopt.errors import MissingExtra
from privopt.mechanisms import RedactionMechanism
from privopt.problems.redaction import Redaction

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


def frontier_svg(rows: Sequence[Row], solvers: Sequence[str], identifier: str, title: str) -> str:
    """Objective against budget for the rows of one instance, a curve a solver; the band is what is still open.

    Raises
    ------
    MissingExtra
        If matplotlib is not installed.
    """
    with _style():
        figure, axes = new_figure(4.4, 3.5)
        best = {b: max(r.objective or 0.0 for r in rows if r.budget == b) for b in {r.budget for r in rows}}
        bounds = {
            b: min((r.bound for r in rows if r.budget == b and r.bound is not None), default=None)
            for b in best
        }
        draw_band(axes, [(b, best[b], top) for b, top in bounds.items() if top is not None], "checked bound")
        for place, solver in enumerate(solvers):
            points = [(r.budget, r.objective) for r in rows if r.solver == solver and r.objective is not None]
            if points:
                draw_line(axes, points, solver, place)
        axes.set_xlabel("ε (nats)")
        axes.set_ylabel("utility" if all(r.utility == r.objective for r in rows) else "objective")
        axes.set_ylim(bottom=min(0.0, *best.values()))
        axes.legend(frameon=False, fontsize=8.5)
        return svg(figure, identifier, title)


def redaction_svg(released: Released, identifier: str, title: str) -> str | None:
    """Redaction probabilities by distance from the first private record, a curve a state; None for other questions.

    Raises
    ------
    MissingExtra
        If matplotlib is not installed.
    """
    mechanism, problem = released.solution.mechanism, released.problem
    if not isinstance(mechanism, RedactionMechanism) or not isinstance(problem, Redaction):
        return None
    with _style():
        figure, axes = new_figure(5.4, 3.0)
        distance = np.arange(problem.length) - problem.private[0]
        for place, state in enumerate(mechanism.states):
            column = mechanism.probabilities[:, place]
            width, offset = 0.8 / len(mechanism.states), (place + 0.5) / len(mechanism.states) - 0.5
            axes.bar(
                distance + 0.8 * offset, column, width, color=COLOURS[place % len(COLOURS)], label=str(state)
            )
        axes.set_xlabel("distance from the private record")
        axes.set_ylabel("Pr(redacted)")
        axes.set_ylim(0, 1.02)
        axes.legend(frameon=False, loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=len(mechanism.states))
        return svg(figure, identifier, title)


def _style() -> AbstractContextManager[None]:
    """The settings of the figures, for as long as one is drawn and written."""
    try:
        from matplotlib import rc_context
    except ImportError as cause:
        raise MissingExtra(NEEDS) from cause
    return rc_context(_STYLE)
