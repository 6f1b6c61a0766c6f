"""Performance profiles as figures: by time among runs that reached the best, and by quality."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from privopt.benchmarks.reporting import _marks as marks
from privopt.benchmarks.reporting._data import Dataset, of_rows
from privopt.benchmarks.reporting._figure import Figure
from privopt.benchmarks.reporting._judged import Judged, questions
from privopt.benchmarks.reporting._profiles import Profile, quality_profile, time_profile
from privopt.benchmarks.reporting._styles import Style

COLUMNS = (
    "suite", "instance", "budget", "seed", "time_limit", "solver", "seconds", "objective", "verified", "reached",
)  # fmt: skip
_TIME = (
    (
        "Performance profile (Dolan and Moré 2002): the share of tasks on which a solver takes at most τ times as long as the "
        "fastest of those shown. Only a run that is certified with an objective of at least best − 1e-6 max(1, |best|) counts as "
        "an answer, where best is the largest certified objective of any solver, shown or not. Over "
    ),
    " solvers and ",
    " tasks (instance, budget, seed and limit) that at least one of them answered; left is fastest, high is reliable.",
)
_QUALITY = (
    (
        "Share of tasks on which a solver's certified objective is at most τ below the best of those shown: differences, not "
        "ratios, because objectives may be zero or negative; those up to 1e-9 are drawn at 1e-9. Over "
    ),
    " solvers and ",
    " tasks (instance, budget, seed and limit) that at least one of them answered.",
)


def staircases(rows: Sequence[Judged], look: Mapping[str, Style]) -> Iterator[Figure]:
    """Two figures a question that has answers."""
    for place, question in enumerate(questions(rows), 1):
        own = [j for j in rows if j.row.question == question]
        data = of_rows(rows, lambda j, asked=question: j.row.question == asked, COLUMNS)  # type: ignore[misc]
        for kind, found, parts in (
            ("time", time_profile(own), _TIME),
            ("quality", quality_profile(own), _QUALITY),
        ):
            if found.tasks:
                yield _staircase(f"profile-{kind}-{place}", question, kind, found, parts, data, look)


def _staircase(
    name: str,
    question: str,
    kind: str,
    found: Profile,
    parts: tuple[str, str, str],
    data: Dataset,
    look: Mapping[str, Style],
) -> Figure:
    before, between, after = parts
    return Figure(
        name=name,
        title=f"{question}: performance profile by {kind}",
        caption=f"{before}{len(found.curves)}{between}{found.tasks}{after}",
        spec=_spec(sorted(found.curves), look, kind),
        data={"curves": points(found), "rows": data},
        shown="curves",
        question=question,
        profile=kind,
        parts=parts,
    )


def points(found: Profile) -> Dataset:
    """The corners of the staircases."""
    records = ((s, x, y) for s in sorted(found.curves) for x, y in found.curves[s])
    return Dataset(("solver", "tau", "share"), tuple(records))


def _spec(names: Sequence[str], look: Mapping[str, Style], kind: str) -> dict[str, object]:
    import altair as alt

    title = (
        "τ: seconds, relative to the fastest"
        if kind == "time"
        else "τ: objective below the best (at least 1e-9)"
    )
    axis = alt.Axis(format="~g") if kind == "time" else alt.Axis(format=".0e", tickCount=8)
    tips = [alt.Tooltip("solver:N"), alt.Tooltip("tau:Q", format=".4g"), alt.Tooltip("share:Q", format=".1%")]
    chart = (
        alt.Chart(marks.named("curves"))
        .encode(
            alt.X("tau:Q", title=title, scale=alt.Scale(type="log", nice=False), axis=axis),
            alt.Y("share:Q", title="share of tasks", scale=alt.Scale(domain=[0, 1]), axis=alt.Axis(format="%")),
            marks.colour(names, look),
        )
    )  # fmt: skip
    curves = chart.mark_line(interpolate="step-after", strokeWidth=1.8).encode(marks.dash(names, look))
    dots = chart.mark_point(size=28, strokeWidth=1.2).encode(marks.shape(names, look), tooltip=tips)
    return marks.specification(alt.layer(curves, dots), names)
