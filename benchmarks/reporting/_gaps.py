"""The gap against time: how close a solver is proved to come, and how long it takes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from privopt.benchmarks.reporting import _marks as marks
from privopt.benchmarks.reporting._data import finite, of_rows
from privopt.benchmarks.reporting._figure import Figure
from privopt.benchmarks.reporting._judged import Judged, questions
from privopt.benchmarks.reporting._styles import Style

COLUMNS = ("instance", "budget", "solver", "seconds", "gap", "drawn_gap", "own_bound")


def gaps(rows: Sequence[Judged], look: Mapping[str, Style]) -> Iterator[Figure]:
    """A figure a question that has a checked bound somewhere."""
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
