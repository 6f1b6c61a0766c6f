"""Performance profiles as figures: by time among runs that reached the best, and by quality."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from privopt.benchmarks.report import style as marks
from privopt.benchmarks.report.figure import Figure
from privopt.benchmarks.report.judged import LEAST_GAP, Dataset, Judged, Task, of_rows, questions
from privopt.benchmarks.report.style import Style

TICK = 1e-6
"""Shorter times are taken to be this many seconds, so that no ratio is by zero."""

Costs = Mapping[str, Mapping[Task, float]]


@dataclass(frozen=True)
class Profile:
    """A staircase a solver, and over how many solvers and tasks.

    ``curves[s]`` holds (τ, share) where the share changes, from the least τ to a common last one.
    """

    curves: Mapping[str, tuple[tuple[float, float], ...]]
    tasks: int

    def share(self, solver: str, tau: float) -> float:
        """Share of tasks on which a solver is within τ of the best.

        Examples
        --------
        >>> Profile({"a": ((1.0, 0.5), (2.0, 1.0))}, 2).share("a", 1.5)
        0.5
        """
        return max((y for x, y in self.curves[solver] if x <= tau), default=0.0)


def time_costs(rows: Iterable[Judged]) -> dict[str, dict[Task, float]]:
    """Seconds of the rows that reached the best objective known, by solver and task."""
    costs: dict[str, dict[Task, float]] = {}
    for j in rows:
        own = costs.setdefault(j.row.solver, {})
        if j.reached and j.row.seconds is not None:
            own[j.task] = max(j.row.seconds, TICK)
    return costs


def quality_costs(rows: Iterable[Judged]) -> dict[str, dict[Task, float]]:
    """Minus the objective of verified rows, by solver and task."""
    costs: dict[str, dict[Task, float]] = {}
    for j in rows:
        own = costs.setdefault(j.row.solver, {})
        if j.row.verified and j.row.objective is not None and math.isfinite(j.row.objective):
            own[j.task] = -j.row.objective
    return costs


def time_profile(rows: Iterable[Judged]) -> Profile:
    """By the ratio of seconds to those of the fastest of the given solvers."""
    return profile(time_costs(rows), lambda cost, best: cost / best, 1.0)


def quality_profile(rows: Iterable[Judged]) -> Profile:
    """By how far the objective is below the best of the given solvers; differences under 1e-9 count as 1e-9."""
    return profile(quality_costs(rows), lambda cost, best: max(cost - best, LEAST_GAP), LEAST_GAP)


def profile(costs: Costs, compare: Callable[[float, float], float], least: float) -> Profile:
    """The profile of costs; a task that no solver finished is left out, one that some did counts for all.

    Parameters
    ----------
    costs : mapping of solver to mapping of task to float
        A task that is missing was not finished.
    compare : callable
        Takes the cost and the least cost on the task.
    least : float
        What ``compare`` gives for the best solver: where the curves start.
    """
    best: dict[Task, float] = {}
    for own in costs.values():
        for task, cost in own.items():
            best[task] = min(cost, best.get(task, cost))
    apart = {s: sorted(compare(cost, best[task]) for task, cost in own.items()) for s, own in costs.items()}
    last = max((values[-1] for values in apart.values() if values), default=least)
    return Profile(
        {solver: _steps(values, len(best), least, last) for solver, values in apart.items()}, len(best)
    )


def _steps(values: list[float], tasks: int, least: float, last: float) -> tuple[tuple[float, float], ...]:
    if tasks == 0:
        return ()
    shares = {least: 0.0}
    for done, value in enumerate(values, 1):
        shares[value] = done / tasks
    shares.setdefault(last, len(values) / tasks)
    return tuple(shares.items())


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
    """Two figures a problem that has answers."""
    for place, question in enumerate(questions(rows), 1):
        own = [j for j in rows if j.row.question == question]
        data = of_rows(rows, lambda j, question=question: j.row.question == question, COLUMNS)  # type: ignore[misc]
        for kind, performance, parts in (
            ("time", time_profile(own), _TIME),
            ("quality", quality_profile(own), _QUALITY),
        ):
            if performance.tasks:
                yield _staircase(f"profile-{kind}-{place}", question, kind, performance, parts, data, look)


def _staircase(
    name: str,
    question: str,
    kind: str,
    performance: Profile,
    parts: tuple[str, str, str],
    data: Dataset,
    look: Mapping[str, Style],
) -> Figure:
    before, between, after = parts
    return Figure(
        name=name,
        title=f"{question}: performance profile by {kind}",
        caption=f"{before}{len(performance.curves)}{between}{performance.tasks}{after}",
        spec=_spec(sorted(performance.curves), look, kind),
        data={"curves": points(performance), "rows": data},
        shown="curves",
        question=question,
        profile=kind,
        parts=parts,
    )


def points(performance: Profile) -> Dataset:
    """The corners of the staircases."""
    records = ((s, x, y) for s in sorted(performance.curves) for x, y in performance.curves[s])
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
