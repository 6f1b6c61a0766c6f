"""Utility against the success of an attack: what solvers give up for how much an adversary still guesses."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from privopt.benchmarks.report import style as marks
from privopt.benchmarks.report.figure import GREY, Figure
from privopt.benchmarks.report.judged import Dataset, Judged, finite, of_rows
from privopt.benchmarks.report.style import Style

if TYPE_CHECKING:
    import altair as alt


COLUMNS = ("instance", "solver", "budget", "objective", "bound")
NEAR = 1e-4
"""Relative differences below this are not told apart by stretching the axis."""
WIDE = 50
"""Ratio of the largest budget to the smallest from which the axis is logarithmic."""


def frontiers(rows: Sequence[Judged], look: Mapping[str, Style]) -> Iterator[Figure]:
    """A figure an instance that some solver answered."""
    by_instance: dict[tuple[str, str, str], list[Judged]] = {}
    for j in rows:
        if drawable(j):
            by_instance.setdefault((j.row.suite, j.row.question, j.row.instance), []).append(j)
    return (_frontier(i, rows, own, look) for i, own in enumerate(by_instance.values(), 1))


def drawable(j: Judged) -> bool:
    """Whether a run has a place in the plane of budget and objective."""
    return j.row.ok and finite(j.row.objective) and finite(j.row.budget)


def _frontier(place: int, rows: Sequence[Judged], own: Sequence[Judged], look: Mapping[str, Style]) -> Figure:
    case = own[0].case
    names = sorted({j.row.solver for j in own})
    points = of_rows(rows, lambda j: drawable(j) and j.case[:3] == case[:3], COLUMNS)
    measured = "utility" if all(j.row.objective == j.row.utility for j in own) else "objective"
    return Figure(
        name=f"frontier-{place}",
        title=f"{case.instance}: {measured} against budget",
        caption=_caption(own, measured),
        spec=_spec(own, names, look, measured),
        data={"points": points, "band": _band(own)},
        shown="points",
        question=case.question,
        instance=case.instance,
    )


def _band(own: Sequence[Judged]) -> Dataset:
    """The room between the best objective known and the best checked bound, by budget."""
    by_budget = {
        j.row.budget: (j.row.budget, j.best, j.bound)
        for j in own
        if j.best is not None and j.bound is not None
    }
    return Dataset(("budget", "best", "bound"), tuple(by_budget[b] for b in sorted(by_budget)))


def _spec(
    own: Sequence[Judged], names: Sequence[str], look: Mapping[str, Style], measured: str
) -> dict[str, object]:
    import altair as alt

    x = _budgets(sorted({j.row.budget for j in own}))
    y = alt.Y("objective:Q", title=measured, scale=_heights(own))
    band = alt.Chart(marks.named("band"))
    room = band.mark_area(opacity=0.22, color=GREY).encode(
        x, alt.Y("best:Q", title=measured), alt.Y2("bound")
    )
    top = band.mark_line(
        color=GREY, strokeDash=[5, 3], strokeWidth=1.5, point={"shape": "stroke", "color": GREY}
    )
    points = alt.Chart(marks.named("points")).encode(x, y, marks.colour(names, look))
    tips = [
        alt.Tooltip("solver:N"),
        *(alt.Tooltip(f"{c}:Q", format=".6g") for c in ("budget", "objective", "bound")),
    ]
    curves = points.mark_line(strokeWidth=1.6).encode(marks.dash(names, look))
    dots = points.mark_point(size=55, strokeWidth=1.5).encode(marks.shape(names, look), tooltip=tips)
    return marks.specification(
        alt.layer(room, top.encode(x, alt.Y("bound:Q", title=measured)), curves, dots), names
    )


def _budgets(budgets: Sequence[float]) -> alt.X:
    """The axis of budgets: logarithmic where they are far apart, and with room around a single one."""
    import altair as alt

    low, high = budgets[0], budgets[-1]
    if low == high:
        room = 0.5 * max(abs(low), 0.1)
        axis = alt.Axis(values=[low], format=".4~g")
        return alt.X("budget:Q", title="budget", scale=alt.Scale(domain=[low - room, high + room]), axis=axis)
    wide = low > 0 and high > WIDE * low
    return alt.X("budget:Q", title="budget", scale=alt.Scale(type="log" if wide else "linear", nice=not wide))


def _heights(own: Sequence[Judged]) -> alt.Scale:
    """The scale of objectives: from zero where none is negative, and with room around those that agree."""
    import altair as alt

    shown = [v for j in own for v in (j.row.objective, j.bound) if v is not None and finite(v)]
    low, high = min(shown), max(shown)
    if low < 0 and high - low < NEAR * max(1.0, abs(low)):
        room = 0.1 * max(abs(low), 0.1)
        return alt.Scale(domain=[low - room, high + room])
    return alt.Scale(zero=all((j.row.objective or 0.0) >= 0 for j in own))


def _caption(own: Sequence[Judged], measured: str) -> str:
    """What the figure shows, and what of the bound."""
    proved = (
        "Every point is certified" if all(j.row.verified for j in own) else "Not every point is certified"
    )
    band = (
        "the dashed grey line is the best checked bound, the grey band what is still open below it"
        if any(j.bound is not None for j in own)
        else "no solver brought a checked bound"
    )
    kind = own[0].row.question
    return (
        f"{measured.capitalize()} that each solver reaches on {own[0].row.instance} ({kind}, size {own[0].row.size}) "
        f"within the budget. {proved}; {band}."
    )


ATTACKED = ("instance", "solver", "budget", "attack_accuracy", "objective")


def attacks(rows: Sequence[Judged], look: Mapping[str, Style]) -> Iterator[Figure]:
    """A figure an instance on whose mechanisms an attack was simulated."""
    by_instance: dict[tuple[str, str, str], list[Judged]] = {}
    for j in rows:
        if attacked(j):
            by_instance.setdefault(j.case[:3], []).append(j)
    return (_figure(i, rows, own, look) for i, own in enumerate(by_instance.values(), 1))


def attacked(j: Judged) -> bool:
    """Whether a run has a place in the plane of attack and utility."""
    return j.row.ok and finite(j.row.objective) and finite(j.row.attack_accuracy)


def _figure(place: int, rows: Sequence[Judged], own: Sequence[Judged], look: Mapping[str, Style]) -> Figure:
    case = own[0].case
    names = sorted({j.row.solver for j in own})
    return Figure(
        name=f"attack-{place}",
        title=f"{case.instance}: utility against what an adversary guesses",
        caption=(
            f"Utility that each solver reaches on {case.instance} ({case.question}) beside the share of letters that an "
            "adversary who knows the model and reads all releases guesses right, by a seeded simulation. A point a budget; "
            "up and left is better."
        ),
        spec=_attack_spec(names, look),
        data={"points": of_rows(rows, lambda j: attacked(j) and j.case[:3] == case[:3], ATTACKED)},
        shown="points",
        question=case.question,
        instance=case.instance,
    )


def _attack_spec(names: Sequence[str], look: Mapping[str, Style]) -> dict[str, object]:
    import altair as alt

    room = alt.Scale(zero=False, nice=True)
    points = alt.Chart(marks.named("points")).encode(
        alt.X("attack_accuracy:Q", title="letters guessed right", scale=room, axis=alt.Axis(format="%")),
        alt.Y("objective:Q", title="utility", scale=room),
        marks.colour(names, look),
    )
    tips = [alt.Tooltip("solver:N")]
    tips += [alt.Tooltip(f"{name}:Q", format=".4g") for name in ("budget", "attack_accuracy", "objective")]
    curves = points.mark_line(strokeWidth=1.6).encode(marks.dash(names, look), alt.Order("budget:Q"))
    dots = points.mark_point(size=55, strokeWidth=1.5).encode(marks.shape(names, look), tooltip=tips)
    return marks.specification(alt.layer(curves, dots), names)
