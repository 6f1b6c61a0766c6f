"""Why a run ended as it did, in words: every row has a reason."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from privopt._solution import Solution, Status
from privopt._text import number


def reason_of(solution: Solution[Any], fault: str = "") -> str:
    """One sentence, never empty; ``fault`` says why a certified claim did not hold when proved again.

    Examples
    --------
    >>> reason_of(Solution(Status.GAP, objective=1.0, bound=1.5, gap=0.5, stats={"stop": "deadline"}))
    'stopped with a checked gap of 0.5; the solver says: deadline'
    """
    ended = _ended(solution)
    own = solution.reason if solution.reason not in ended else ""
    said = next((str(solution.stats[name]) for name in ("stop", "status") if solution.stats.get(name)), "")
    parts = (
        f"the certified claim does not hold: {fault}" if solution.certified and fault else "",
        ended,
        own,
        f"the solver says: {said}" if said and solution.status.ok else "",
    )
    return "; ".join(part for part in parts if part)


def _ended(solution: Solution[Any]) -> str:
    gap = "unknown" if solution.gap is None else number(solution.gap, 3)
    match solution.status:
        case Status.OPTIMAL:
            return f"the checked bound is within tolerance: gap {gap}"
        case Status.GAP:
            return f"stopped with a checked gap of {gap}"
        case Status.FEASIBLE:
            return f"no bound was checked: {_no_bound(solution.stats)}"
        case _:
            return solution.reason or solution.status.value


def _no_bound(stats: Mapping[str, float | int | str]) -> str:
    if "bound_refused" in stats:
        return str(stats["bound_refused"])
    return "the claimed one is not finite" if "claimed_bound" in stats else "the solver claims none"
