"""Privacy violations as figures: by how much proposals leaked more than the budget before they were repaired."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

from privopt.benchmarks.report import style as marks
from privopt.benchmarks.report.figure import Figure
from privopt.benchmarks.report.judged import Dataset, Judged, excess, finite, of_rows, questions
from privopt.benchmarks.report.style import Style

COLUMNS = ("instance", "budget", "solver", "seconds", "gap", "drawn_gap", "own_bound")


def gaps(rows: Sequence[Judged], look: Mapping[str, Style]) -> Iterator[Figure]:
    """A figure a problem that has a checked bound somewhere."""
    for place, question in enumerate(questions(rows), 1):
        own = [j for j in rows if j.row.question == question and drawable(j)]
        if own:
            yield _gap(place, question, rows, own, look)


def drawable(j: Judged) -> bool:
    """Whether a run has a gap and a time."""
    return j.row.ok and finite(j.gap) and finite(j.row.seconds) and (j.row.seconds or 0.0) > 0


def _gap(
    place: int, question: str, rows: Sequence[Judged], own: Sequence[Judged], look: Mapping[str, Style]
) -> Figure:
    names = sorted({j.row.solver for j in own})
    answered = sum(j.row.ok for j in rows if j.row.question == question)
    borrowed = sum(j.row.gap is None for j in own)
    caption = (
        f"A point is one run of {question}: how far the objective may be below the optimum, against the seconds of "
        f"solving and judging; both axes are logarithmic, and gaps up to 1e-9 are drawn at 1e-9. Filled: by the "
        f"run's own checked bound. Hollow ({borrowed} of {len(own)}): the solver brought none, and the gap is to the "
        f"best bound that any solver proved for the same instance and budget. {answered - len(own)} of {answered} "
        "runs with a mechanism are left out, because nothing bounds their case or their gap is infinite."
    )
    return Figure(
        name=f"gap-{place}",
        title=f"{question}: gap against time",
        caption=caption,
        spec=_spec(names, look),
        data={"points": of_rows(rows, lambda j: j.row.question == question and drawable(j), COLUMNS)},
        shown="points",
        question=question,
    )


def _spec(names: Sequence[str], look: Mapping[str, Style]) -> dict[str, object]:
    import altair as alt

    opacity = alt.when(alt.datum.own_bound).then(alt.value(0.55)).otherwise(alt.value(0))
    tips = [alt.Tooltip(f"{c}:N") for c in ("instance", "solver", "own_bound")]
    tips += [alt.Tooltip(f"{c}:Q", format=".4g") for c in ("budget", "seconds", "gap")]
    chart = (
        alt.Chart(marks.named("points"))
        .mark_point(size=60, strokeWidth=1.5)
        .encode(
            alt.X("seconds:Q", title="seconds", scale=alt.Scale(type="log"), axis=alt.Axis(format="~g")),
            alt.Y(
                "drawn_gap:Q",
                title="gap (at least 1e-9)",
                scale=alt.Scale(type="log"),
                axis=alt.Axis(format=".0e", tickCount=8),
            ),
            marks.colour(names, look),
            marks.fill(names, look),
            marks.shape(names, look),
            fillOpacity=opacity,
            tooltip=tips,
        )
    )
    return marks.specification(chart, names)


def excesses(rows: Sequence[Judged], look: Mapping[str, Style]) -> Iterator[Figure]:
    """A figure a problem where some proposal was over the budget."""
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
        spec=_excess_spec(names, look),
        data={
            "points": Dataset(
                ("solver", "instance", "budget", "excess", "drawn_excess", "status"), tuple(records)
            )
        },
        shown="points",
        question=question,
    )


def _excess_spec(names: Sequence[str], look: Mapping[str, Style]) -> dict[str, object]:
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
