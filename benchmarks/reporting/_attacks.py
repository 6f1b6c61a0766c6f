"""Utility against the success of an attack: what solvers give up for how much an adversary still guesses."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from privopt.benchmarks.reporting import _marks as marks
from privopt.benchmarks.reporting._data import finite, of_rows
from privopt.benchmarks.reporting._figure import Figure
from privopt.benchmarks.reporting._judged import Judged
from privopt.benchmarks.reporting._styles import Style

COLUMNS = ("instance", "solver", "budget", "attack_accuracy", "objective")


def attacks(rows: Sequence[Judged], look: Mapping[str, Style]) -> Iterator[Figure]:
    """A figure an instance on whose mechanisms an attack was simulated."""
    found: dict[tuple[str, str, str], list[Judged]] = {}
    for j in rows:
        if attacked(j):
            found.setdefault(j.case[:3], []).append(j)
    return (_figure(i, rows, own, look) for i, own in enumerate(found.values(), 1))


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
        spec=_spec(names, look),
        data={"points": of_rows(rows, lambda j: attacked(j) and j.case[:3] == case[:3], COLUMNS)},
        shown="points",
        question=case.question,
        instance=case.instance,
    )


def _spec(names: Sequence[str], look: Mapping[str, Style]) -> dict[str, object]:
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
