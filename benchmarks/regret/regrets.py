"""How far ``solve`` is behind the best solver by name, how late it is, and how slow where the optimum is proved."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from privopt.benchmarks.regret.rows import ANCHOR, SOLVE, Run

LEAST_SPAN = 1e-6
"""The span of a case is at least this share of its scale."""
SHARES = (0.001, 0.01, 0.05)
"""Regrets that the summary counts."""
FACTOR, MORE = 1.2, 0.1
"""``solve`` may take this many times as long as the fastest solver that proves the optimum, and so many seconds more."""
LATE = 2.0
"""Seconds past the limit that are too many."""


@dataclass(frozen=True)
class Standing:
    """Where ``solve`` stands on one case at one limit.

    Parameters
    ----------
    case : str
    limit : float
    status, winner : str
        Of the median answer.
    objective, bound, best : float or None
        The median objective of ``solve``, the best bound it proved, and the best certified objective by name.
    best_by : str
        The solver that has it.
    anchor : float or None
    regret : float
        In shares of the span from the anchor to the best; inf where ``solve`` has no answer and a solver has.
    seconds : float
        Median wall time; of the runs that took turns with the fastest solver by name where there are such.
    late : float
        The most by which any repetition passed the limit, never negative.
    fastest : float or None
        Seconds of the fastest solver by name that proves the optimum, where ``solve`` does too; likewise the median.
    fastest_by : str
    """

    case: str
    limit: float
    status: str
    winner: str
    objective: float | None
    bound: float | None
    best: float | None
    best_by: str
    anchor: float | None
    regret: float
    seconds: float
    late: float
    fastest: float | None
    fastest_by: str

    @property
    def slow(self) -> bool:
        """Whether it took more than it may beside the fastest solver by name."""
        return self.fastest is not None and self.seconds > FACTOR * self.fastest + MORE

    @property
    def stayed(self) -> bool:
        """Whether the answer is the anchor though a solver does better."""
        return self.winner in ("", ANCHOR) and self.regret > SHARES[0]


def standings(runs: Sequence[Run]) -> list[Standing]:
    """Where ``solve`` stands on every case at every limit at which it ran, in the order of the rows."""
    keys = dict.fromkeys((r.case, r.limit) for r in runs if r.solver == SOLVE)
    grouped: dict[str, list[Run]] = {}
    for run in runs:
        grouped.setdefault(run.case, []).append(run)
    return [standing(case, limit, grouped[case]) for case, limit in keys]


def standing(case: str, limit: float, rows: Sequence[Run]) -> Standing:
    """Where ``solve`` stands on one case at a limit at which it ran, by the rows of that case."""
    runs = [r for r in rows if not r.paired]
    ours = [r for r in runs if r.solver == SOLVE and r.limit == limit]
    middle = _median(ours)
    refused = middle.status == "REFUSED"  # too large to be judged within the limit: by name as well
    rivals = [
        r
        for r in runs
        if r.solver not in (SOLVE, ANCHOR) and (r.limit <= limit or (r.seconds <= limit and not refused))
    ]
    best = max((r for r in rivals if r.certified and r.objective is not None), key=_objective, default=None)
    anchor = next((r for r in reversed(runs) if r.solver == ANCHOR), None)
    proved = [r for r in rivals if r.status == "OPTIMAL"] if middle.closed else []
    fastest = min(proved, key=lambda r: r.seconds, default=None)
    turns = [] if fastest is None else turns_of(rows, limit, fastest.solver)
    return Standing(
        case=case,
        limit=limit,
        status=middle.status,
        winner=middle.winner,
        objective=middle.objective,
        bound=min((r.bound for r in ours if r.bound is not None), default=None),
        best=None if best is None else best.objective,
        best_by="" if best is None else best.solver,
        anchor=None if anchor is None else anchor.objective,
        regret=regret(middle, best, None if anchor is None else anchor.objective),
        seconds=statistics.median(r.seconds for r in [r for r in turns if r.solver == SOLVE] or ours),
        late=max(0.0, *(r.seconds - limit for r in rows if r.solver == SOLVE and r.limit == limit)),
        fastest=None
        if fastest is None
        else statistics.median(r.seconds for r in [r for r in turns if r.solver != SOLVE] or [fastest]),
        fastest_by="" if fastest is None else fastest.solver,
    )


def turns_of(rows: Sequence[Run], limit: float, solver: str) -> list[Run]:
    """The runs at a limit in which ``solve`` and a solver by name took turns."""
    return [r for r in rows if r.paired and r.limit == limit and solver in (r.solver, r.paired)]


def _median(ours: Sequence[Run]) -> Run:
    """The run of the median objective; of an even number the lower of the two."""
    ranked = sorted(ours, key=_objective)
    return ranked[(len(ranked) - 1) // 2]


def _objective(run: Run) -> float:
    return -math.inf if run.objective is None else run.objective


def regret(ours: Run, best: Run | None, anchor: float | None) -> float:
    """max(0, best - ours) relative to the span from the anchor to the best, or to |best| where the anchor has no value.

    Examples
    --------
    >>> def run(objective):
    ...     return Run("case", "any", 1.0, 0, "FEASIBLE", "", "any", objective, None, 1.0, True, 0.5)
    >>> regret(run(3.0), run(4.0), 2.0), regret(run(3.0), run(4.0), None), regret(run(4.0), run(3.0), 2.0)
    (0.5, 0.25, 0.0)
    """
    if best is None or best.objective is None:
        return 0.0
    if ours.objective is None:
        return 0.0 if ours.status == "INFEASIBLE" else math.inf
    behind = max(0.0, best.objective - ours.objective)
    reached = anchor is not None and math.isfinite(anchor)
    span = best.objective - anchor if reached and anchor is not None else abs(best.objective)
    return behind / max(span, LEAST_SPAN * best.scale, 1e-300)


def said(regret: float, digits: int) -> str:
    """A regret as a percentage; without an answer it is none.

    Examples
    --------
    >>> said(0.25, 1), said(math.inf, 1)
    ('25.0%', 'no answer')
    """
    return "no answer" if math.isinf(regret) else f"{regret:.{digits}%}"


def summary(stands: Sequence[Standing]) -> list[tuple[str, ...]]:
    """A line for each limit under :data:`HEADER`."""
    return [_line([s for s in stands if s.limit == limit]) for limit in sorted({s.limit for s in stands})]


HEADER = (
    "limit",
    "cases",
    "regret <= 0.1 %",
    "<= 1 %",
    "<= 5 %",
    "largest",
    "anchor though beaten",
    "most late",
    "later than 2 s",
    "closed",
    "slower than 1.2 x fastest + 0.1 s",
)


def _line(stands: Sequence[Standing]) -> tuple[str, ...]:
    closed = [s for s in stands if s.fastest is not None]
    return (
        f"{stands[0].limit:g} s",
        str(len(stands)),
        *(f"{sum(s.regret <= share for s in stands) / len(stands):.1%}" for share in SHARES),
        said(max(s.regret for s in stands), 2),
        str(sum(s.stayed for s in stands)),
        f"{max(s.late for s in stands):.2f} s",
        str(sum(s.late > LATE for s in stands)),
        str(sum(s.status in ("OPTIMAL", "INFEASIBLE") for s in stands)),
        f"{sum(s.slow for s in closed)} of {len(closed)}",
    )


def worst(stands: Iterable[Standing], count: int = 10) -> list[Standing]:
    """The largest regrets that are not rounding."""
    return sorted((s for s in stands if s.regret > LEAST_SPAN), key=lambda s: -s.regret)[:count]


def latest(stands: Iterable[Standing], count: int = 10) -> list[Standing]:
    """Those that passed their limit most."""
    return sorted((s for s in stands if s.late > 0), key=lambda s: -s.late)[:count]


def slowest(stands: Iterable[Standing], count: int = 10) -> list[Standing]:
    """Those that took longest beside the fastest solver by name."""
    return sorted((s for s in stands if s.slow), key=lambda s: (s.fastest or 0.0) - s.seconds)[:count]
