"""The mechanism that was released, drawn by the function that knows its type."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from privopt.benchmarks.report.figure import Figure
from privopt.benchmarks.report.judged import Dataset
from privopt.benchmarks.report.style import COLOURS, named, specification
from privopt.benchmarks.runner.folder import Released
from privopt.files.text import number
from privopt.mechanisms import RedactionMechanism
from privopt.problems.redaction.problem import Redaction

Drawing = Callable[[Released], Figure | None]

_drawings: dict[type[Any], Drawing] = {}


def register_drawing(mechanism: type[Any], drawing: Drawing) -> None:
    """Enter what draws a type of mechanism; it returns None where the problem is not one it can draw.

    Raises
    ------
    ValueError
        If the type has a drawing.
    """
    if mechanism in _drawings:
        raise ValueError(f"a drawing of {mechanism.__name__} is registered twice; remove one of them")
    _drawings[mechanism] = drawing


def draw(released: Released) -> Figure | None:
    """The figure of a released mechanism, or None if no drawing knows its type."""
    drawing = _drawings.get(type(released.solution.mechanism))
    return None if drawing is None else drawing(released)


def draw_redaction(released: Released) -> Figure | None:
    """Redaction probability by distance from the first private record, a bar a state."""
    solution, problem = released.solution, released.problem
    mechanism = solution.mechanism
    if not isinstance(mechanism, RedactionMechanism) or not isinstance(problem, Redaction):
        return None
    states = [str(state) for state in mechanism.states]
    records = [
        (t - problem.private[0], state, float(mechanism.probabilities[t, i]))
        for t in range(problem.length)
        for i, state in enumerate(states)
    ]
    return Figure(
        title=f"Redaction probability by distance from the private record, by {solution.solver}",
        caption=(
            "How often each record is hidden, by its distance from the private record and by its value: the mechanism of "
            f"“{solution.solver}” at ε = {number(problem.budget)}, utility {number(solution.utility, 4)}, as it was sampled "
            "for the release. No bar: always shown. The private record itself is always hidden."
        ),
        spec=_spec(dict(zip(states, COLOURS * len(states), strict=False)), states),
        data={"bars": Dataset(("distance", "value", "redacted"), tuple(records))},
    )


def _spec(colours: Mapping[str, str], states: Sequence[str]) -> dict[str, object]:
    import altair as alt

    scale = alt.Scale(domain=list(states), range=[colours[state] for state in states])
    chart = (
        alt.Chart(named("bars"))
        .mark_bar()
        .encode(
            alt.X("distance:O", title="distance from the private record", axis=alt.Axis(labelAngle=0)),
            alt.Y("redacted:Q", title="Pr(redacted)", scale=alt.Scale(domain=[0, 1])),
            alt.XOffset("value:N", sort=list(states)),
            alt.Color("value:N", scale=scale, legend=alt.Legend(title=None)),
            tooltip=[
                alt.Tooltip("distance:O"),
                alt.Tooltip("value:N"),
                alt.Tooltip("redacted:Q", format=".6g"),
            ],
        )
    )
    return specification(chart, [], height=240)


register_drawing(RedactionMechanism, draw_redaction)
