"""Scaling as figures: seconds and memory against size, with fitted slopes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from privopt.benchmarks.reporting import _marks as marks
from privopt.benchmarks.reporting._data import Dataset
from privopt.benchmarks.reporting._figure import Figure
from privopt.benchmarks.reporting._judged import Judged
from privopt.benchmarks.reporting._scaling import Growth, growths
from privopt.benchmarks.reporting._styles import Style

MEASURES = {"seconds": "seconds", "peak_memory": "peak memory (MiB)"}


def scalings(rows: Sequence[Judged], look: Mapping[str, Style]) -> Iterator[Figure]:
    """A figure a family with at least three sizes and a measure that has data."""
    place = 0
    for measure in MEASURES:
        found: dict[tuple[str, str], list[Growth]] = {}
        for growth in growths(rows, measure):
            found.setdefault((growth.question, growth.family), []).append(growth)
        for own in found.values():
            place += 1
            yield _scaling(place, own, look)


def _scaling(place: int, own: Sequence[Growth], look: Mapping[str, Style]) -> Figure:
    first, names = own[0], [g.solver for g in own]
    slopes = [
        f"{g.solver} {g.slope:.2f} ± {g.error:.2f} (n = {len(g.points)})" for g in own if g.slope is not None
    ]
    fitted = (
        f"Slopes with standard errors: {'; '.join(slopes)}." if slopes else "No solver completed three sizes."
    )
    measure = MEASURES[first.measure]
    points = ((g.solver, size, cost) for g in own for size, cost in g.points)
    lines = ((g.solver, size, cost) for g in own for size, cost in g.ends())
    columns = ("solver", "size", "cost")
    return Figure(
        name=f"scaling-{place}",
        title=f"{first.question}, {first.family}: {measure} against size",
        caption=(
            f"{measure[0].upper()}{measure[1:]} of {sum(len(g.points) for g in own)} completed runs (those that gave a mechanism before "
            "their time limit) against size, both axes logarithmic. Lines are least-squares fits of the logarithms, for "
            f"solvers that completed at least three sizes. {fitted}"
        ),
        spec=_spec(names, look, measure),
        data={"points": Dataset(columns, tuple(points)), "lines": Dataset(columns, tuple(lines))},
        shown="points",
        question=first.question,
    )


def _spec(names: Sequence[str], look: Mapping[str, Style], measure: str) -> dict[str, object]:
    import altair as alt

    x = alt.X("size:Q", title="size", scale=alt.Scale(type="log", nice=False), axis=alt.Axis(format="~g"))
    y = alt.Y("cost:Q", title=measure, scale=alt.Scale(type="log"), axis=alt.Axis(format="~g"))
    tips = [
        alt.Tooltip("solver:N"),
        alt.Tooltip("size:Q"),
        alt.Tooltip("cost:Q", title=measure, format=".4g"),
    ]
    dots = alt.Chart(marks.named("points")).mark_point(size=50, strokeWidth=1.5)
    lines = alt.Chart(marks.named("lines")).mark_line(strokeWidth=1.5)
    return marks.specification(
        alt.layer(
            lines.encode(x, y, marks.colour(names, look), marks.dash(names, look)),
            dots.encode(x, y, marks.colour(names, look), marks.shape(names, look), tooltip=tips),
        ),
        names,
    )
