"""A picture of a mechanism, for each kind: what becomes of what, and how often. Matplotlib, when drawn."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from privopt.arrays import Floats
from privopt.core.problem import Problem
from privopt.errors import InvalidMechanism
from privopt.files.labels import Label
from privopt.mechanisms import (
    Channel,
    Colouring,
    Mechanism,
    Merging,
    NoisyQuery,
    RedactionMechanism,
    SequencePolicy,
)
from privopt.plots.axes import COLOURS, MARKERS, new_figure
from privopt.plots.colourings import MOST, accuracy_figure, colouring_figure
from privopt.plots.places import on_a_map, places_figure
from privopt.problems.boundary_colouring.data import ColouringData
from privopt.problems.metric_privacy.data import MetricData
from privopt.problems.redaction.data import RedactionData

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

NAMED = 24
"""Symbols of an axis that are named one by one; of more, some."""
WRITTEN = 8
"""Inputs and outputs up to which each cell says its number."""


def mechanism_figure(problem: Problem[Any], mechanism: Mechanism) -> Figure:
    """A picture of a mechanism of a problem, with a title and named axes.

    Channels, mergings and policies are tables of probabilities; redactions curves over the records; noise a density;
    colourings the graph, or accuracy against distance where it is large.

    Raises
    ------
    InvalidMechanism
        If there is no picture of this kind of mechanism.
    MissingExtra
        If matplotlib is not installed.

    Examples
    --------
    >>> import privopt as po
    >>> problem = po.Redaction(po.MarkovChain([[0.75, 0.25], [0.5, 0.5]]), 5, 2, epsilon=1.0)
    >>> mechanism_figure(problem, po.solve(problem).mechanism).axes[0].get_xlabel()
    'record (counted from 0)'
    """
    if isinstance(problem, MetricData) and isinstance(mechanism, Channel) and on_a_map(problem):
        return places_figure(problem, mechanism)
    if isinstance(mechanism, (Channel, Merging)):
        return _table(
            mechanism.matrix, mechanism.inputs, mechanism.outputs, "what each value is released as", "value"
        )
    if isinstance(mechanism, SequencePolicy):
        first = mechanism.kernel(mechanism.start().belief)
        title = f"the first release of a stream ({mechanism.epsilon:g} nats a letter)"
        return _table(first.matrix, first.inputs, first.outputs, title, "true letter")
    if isinstance(mechanism, RedactionMechanism):
        private = problem.private if isinstance(problem, RedactionData) else ()
        return _redaction(mechanism, private)
    if isinstance(mechanism, NoisyQuery):
        return _noise(mechanism)
    if isinstance(mechanism, Colouring) and isinstance(problem, ColouringData):
        if problem.graph.size <= MOST:
            return colouring_figure(problem.graph, mechanism)
        figure = accuracy_figure(problem.graph, {"this answer": mechanism})
        figure.axes[0].set_title("how often the answer is right, by distance from the boundary", fontsize=10)
        return figure
    raise InvalidMechanism(f"there is no picture of a {type(mechanism).__name__}")


def _table(
    matrix: Floats, inputs: Sequence[Label], outputs: Sequence[Label], title: str, rows: str
) -> Figure:
    """Probabilities as shades; releases that never occur are left out."""
    used = np.flatnonzero((matrix > 0).any(axis=0))
    shown, names = matrix[:, used], [outputs[y] for y in used.tolist()]
    tall, wide = (min(9.0, 1.6 + 0.3 * min(size, NAMED)) for size in shown.shape)
    figure, axes = new_figure(max(4.6, wide + 1.4), max(3.0, tall))
    axes.grid(visible=False)
    image = axes.imshow(shown, vmin=0.0, vmax=1.0, cmap="Blues", aspect="auto", interpolation="nearest")
    figure.colorbar(image, ax=axes, label="probability")
    _name(axes, inputs, "y")
    _name(axes, names, "x")
    if max(shown.shape) <= WRITTEN:
        for (x, y), p in np.ndenumerate(shown):
            axes.text(
                y, x, f"{p:.2f}", ha="center", va="center", color="white" if p > 0.6 else "black", fontsize=8
            )
    axes.set_title(title, fontsize=10)
    axes.set_ylabel(rows)
    axes.set_xlabel("release")
    return figure


def _name(axes: Axes, labels: Sequence[Label], which: str) -> None:
    """Names along an axis, at most about two dozen of them."""
    step = max(1, math.ceil(len(labels) / NAMED))
    places = list(range(0, len(labels), step))
    texts = [_short(labels[i]) for i in places]
    turned = which == "x" and max(map(len, texts), default=0) * len(texts) > 40
    if which == "y":
        axes.set_yticks(places, texts, fontsize=8, parse_math=False)
    else:
        axes.set_xticks(places, texts, fontsize=8, rotation=90 if turned else 0, parse_math=False)


def _short(label: Label) -> str:
    text = ", ".join(map(str, label)) if isinstance(label, tuple) else str(label)
    return text if len(text) <= 24 else f"{text[:21]}..."


def _redaction(mechanism: RedactionMechanism, private: Sequence[int]) -> Figure:
    figure, axes = new_figure(6.0, 3.6)
    records = range(mechanism.length)
    for place, (state, column) in enumerate(zip(mechanism.states, mechanism.probabilities.T, strict=True)):
        few = mechanism.length <= 60
        axes.plot(
            records,
            column,
            marker=MARKERS[place % len(MARKERS)] if few else "",
            color=COLOURS[place % len(COLOURS)],
            markersize=5,
            markerfacecolor="none",
            linewidth=1.2,
            label=f"where it is {_short(state)}",
        )
    for number, record in enumerate(private):
        axes.axvspan(
            record - 0.5,
            record + 0.5,
            color="#888888",
            alpha=0.25,
            linewidth=0,
            label="private" if number == 0 else None,
        )
    axes.set_ylim(-0.03, 1.05)
    axes.set_title("how often each record is hidden", fontsize=10)
    axes.set_xlabel("record (counted from 0)")
    axes.set_ylabel("probability of being hidden")
    axes.locator_params(axis="x", integer=True)
    axes.legend(frameon=False, fontsize=8, loc="center left", bbox_to_anchor=(1.0, 0.5))
    return figure


def _noise(mechanism: NoisyQuery) -> Figure:
    figure, axes = new_figure()
    axes.set_title(f"the noise of the {mechanism.name}", fontsize=10)
    axes.set_xlabel(f"error of the {mechanism.name} (in its own unit)")
    if mechanism.constant:
        axes.set_ylabel("density")
        axes.set_title(f"the answer does not read the data: no {mechanism.name} is told", fontsize=10)
        return figure
    if mechanism.noise == "randomised_response":
        axes.set_title("each record is reported truly, or as the other value", fontsize=10)
        axes.set_xlabel("probability of the report")
        axes.set_ylabel("report")
        axes.barh(
            [0, 1], [1.0 - mechanism.scale, mechanism.scale], height=0.5, color=[COLOURS[0], COLOURS[1]]
        )
        axes.set_yticks([0, 1], ["true", "false"])
        return figure
    reach = mechanism.accuracy(0.01)
    if mechanism.noise == "discrete_laplace":
        errors = np.arange(-math.ceil(reach), math.ceil(reach) + 1)
        decay = math.exp(-1.0 / mechanism.scale)
        heights = (1.0 - decay) / (1.0 + decay) * decay ** np.abs(errors)
        axes.bar(errors, heights, width=0.9, color=COLOURS[0])
        axes.set_ylabel("probability")
    else:
        grid = np.linspace(-reach, reach, 801)
        axes.plot(grid, np.exp(-np.abs(grid) / mechanism.scale) / (2.0 * mechanism.scale), color=COLOURS[0])
        axes.set_ylabel("density (per unit of the error)")
    inner = mechanism.accuracy(0.05)
    axes.axvspan(-inner, inner, color="#888888", alpha=0.15, linewidth=0, label="95 % of answers")
    axes.legend(frameon=False, fontsize=8)
    return figure
