"""Privacy violations as figures: by how much proposals leaked more than the budget before they were repaired."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

from privopt.benchmarks.reporting import _marks as marks
from privopt.benchmarks.reporting._data import Dataset
from privopt.benchmarks.reporting._figure import Figure
from privopt.benchmarks.reporting._judged import Judged, questions
from privopt.benchmarks.reporting._styles import Style
from privopt.benchmarks.reporting._violations import excess


def excesses(rows: Sequence[Judged], look: Mapping[str, Style]) -> Iterator[Figure]:
    """A figure a question where some proposal was over the budget."""
    for place, question in enumerate(questions(rows), 1):
        own = [j for j in rows if j.row.question == question and j.row.over_budget]
        if own:
            yield _figure(place, question, own, look)


def _figure(place: int, question: str, own: Sequence[Judged], look: Mapping[str, Style]) -> Figure:
    names = sorted({j.row.solver for j in own})
    known = [value for j in own if math.isfinite(value := excess(j))]
    edge = 10 * max(known, default=0.1)
    unbounded = len(own) - len(known)
    right = (
        f" An unbounded violation ({unbounded} runs) is drawn at the right edge, at {edge:.2g}."
        if unbounded
        else ""
    )
    records = (
        (j.row.solver, j.row.instance, j.row.budget, excess(j), min(excess(j), edge), j.row.status)
        for j in own
    )
    return Figure(
        name=f"privacy-{place}",
        title=f"{question}: how far proposals missed the budget",
        caption=(
            f"By how much {len(own)} mechanisms missed the budget as solvers proposed them, before repair, where that is more "
            f"than rounding explains; logarithmic axis.{right} None of these was released as proposed."
        ),
        spec=_spec(names, look),
        data={
            "points": Dataset(
                ("solver", "instance", "budget", "excess", "drawn_excess", "status"), tuple(records)
            )
        },
        shown="points",
        question=question,
    )


def _spec(names: Sequence[str], look: Mapping[str, Style]) -> dict[str, object]:
    import altair as alt

    tips = [alt.Tooltip(f"{c}:N") for c in ("solver", "instance", "status")]
    tips += [alt.Tooltip(f"{c}:Q", format=".4g") for c in ("budget", "excess")]
    chart = (
        alt.Chart(marks.named("points"))
        .mark_point(size=60, strokeWidth=1.6)
        .encode(
            alt.X(
                "drawn_excess:Q",
                title="violation as proposed",
                scale=alt.Scale(type="log"),
                axis=alt.Axis(format=".0e", tickCount=8),
            ),
            alt.Y("solver:N", title=None, axis=alt.Axis(labelLimit=140)),
            marks.colour(names, look),
            marks.shape(names, look),
            tooltip=tips,
        )
    )
    return marks.specification(chart, names, height=60 + 28 * len(names))
