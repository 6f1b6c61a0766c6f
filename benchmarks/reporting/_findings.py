"""What was found, a question at a time, in sentences: who was best, proved it, was fastest, private, refused."""

from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from privopt._solution import Status
from privopt._text import number
from privopt.benchmarks.reporting._judged import Judged, questions
from privopt.benchmarks.reporting._profiles import time_costs
from privopt.benchmarks.reporting._solvers import fastest
from privopt.benchmarks.reporting._violations import violations


def findings(rows: Sequence[Judged]) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Each kind of question with its sentences."""
    return tuple(
        (question, tuple(_question([j for j in rows if j.row.question == question])))
        for question in questions(rows)
    )


def _question(own: Sequence[Judged]) -> Iterator[str]:
    cases = {j.case for j in own}
    yield (
        f"{len(own)} runs of {len({j.row.solver for j in own})} solvers on {len({c.instance for c in cases})} instances: "
        f"{len(cases)} cases with their budgets."
    )
    yield from _best(own)
    yield from _proved(own)
    yield from _fastest(own)
    yield from _private(own)
    yield from _unanswered(own)


def _best(own: Sequence[Judged]) -> Iterator[str]:
    known = {j.case for j in own if j.best is not None}
    if not known:
        yield "No solver has a certified answer."
        return
    counts = Counter(solver for _, solver in {(j.case, j.row.solver) for j in own if j.reached})
    yield f"Certified and best, to 1e-6 relative, of {len(known)} answered cases: {_listed(counts)}."


def _proved(own: Sequence[Judged]) -> Iterator[str]:
    pairs = {(j.case, j.row.solver) for j in own if Status[j.row.status] is Status.OPTIMAL and j.row.verified}
    counts = Counter(solver for _, solver in pairs)
    if counts:
        yield f"Proved optimal by a checked bound: {_listed(counts)}."
    else:
        yield "No checked bound closes a gap."


def _fastest(own: Sequence[Judged]) -> Iterator[str]:
    costs, counts = time_costs(own), fastest(own)
    leader = min(counts, key=lambda s: (-counts[s], s), default="")
    if not counts[leader]:
        return
    tasks = {task for found in costs.values() for task in found}
    others = []
    for solver in sorted(costs):
        shared = [task for task in costs[solver] if task in costs[leader]]
        if solver != leader and shared:
            ratios = [math.log(costs[solver][t] / costs[leader][t]) for t in shared]
            others.append(
                f"{solver} {number(math.exp(statistics.fmean(ratios)), 3)} times (n = {len(shared)})"
            )
    yield (
        f"Most often fastest to the best objective: {leader}, on {counts[leader]} of {len(tasks)} tasks."
        + (
            f" Geometric mean of the others' seconds to its own where both reached it: {'; '.join(others)}."
            if others
            else ""
        )
    )


def _private(own: Sequence[Judged]) -> Iterator[str]:
    found = [v for v in violations(own) if v.over]
    if found:
        listed = "; ".join(
            f"{v.solver} {v.over} of {v.proposed}, worst by {number(v.worst, 2)}" for v in found
        )
        yield f"Not private as proposed, before repair: {listed}."
    else:
        yield "Every proposal was private before repair."
    after = sum(v.after for v in violations(own))
    if after:
        yield f"OVER THE BUDGET after repair: {after} mechanisms."


def _unanswered(own: Sequence[Judged]) -> Iterator[str]:
    late = Counter(j.row.solver for j in own if Status[j.row.status] is Status.TIME_OUT)
    if late:
        limits = sorted({j.row.time_limit for j in own if Status[j.row.status] is Status.TIME_OUT})
        yield f"Out of time, at limits of {', '.join(number(s, 3) for s in limits)} s: {_listed(late)}."
    yield from _because(own, Status.REFUSED, "Refused")
    for status in (Status.NOT_PRIVATE, Status.INFEASIBLE, Status.FAILED):
        yield from _because(own, status, status.name.capitalize().replace("_", " "))


def _because(own: Iterable[Judged], status: Status, word: str) -> Iterator[str]:
    found: dict[str, Counter[str]] = {}
    for j in own:
        if Status[j.row.status] is status:
            found.setdefault(j.row.solver, Counter())[j.row.reason or status.value] += 1
    for solver, reasons in sorted(found.items()):
        (reason, _), *rest = reasons.most_common()
        more = f" ({len(rest)} other reasons below)" if rest else ""
        yield f"{word} by {solver}, {reasons.total()} times: {reason.rstrip('.')}{more}."


def _listed(counts: Counter[str]) -> str:
    ordered = sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))
    return ", ".join(f"{name} {n}" for name, n in ordered)
