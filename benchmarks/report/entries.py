"""One solver on one case: what became of it, and how much worse it is than the best certified answer."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property

from privopt.benchmarks.report.judged import TOLERANCE, Case, Judged
from privopt.benchmarks.runner.rows import AUTO, Row
from privopt.benchmarks.runner.spread import Claims, Spread, claims
from privopt.core.solution import Status
from privopt.core.solver import Guarantee

LITTLE, SOME = 0.01, 0.1
"""Losses up to which an answer is called near the best, and close to it."""


class Kind(StrEnum):
    """What became of one solver on one case; the order is from best to worst."""

    PROVED = "proved"
    BEST = "best"
    UNDECIDED = "not distinguishable"
    NEAR = "near"
    CLOSE = "close"
    MORE = "more"
    CERTIFICATE = "certificate"
    LEAKS = "not private"
    LATE = "out of time"
    FAILED = "failed"
    IMPOSSIBLE = "no mechanism exists"
    REFUSED = "refused"

    @property
    def best(self) -> bool:
        """Whether no certified answer is better."""
        return self in (Kind.PROVED, Kind.BEST)

    @property
    def holds(self) -> bool:
        """Whether nothing is claimed to be better: it is best, or not distinguishable from it."""
        return self.best or self is Kind.UNDECIDED

    @property
    def sign(self) -> str:
        """What stands in a cell that shows no number; empty for those that do."""
        return _SIGNS.get(self, "")

    @property
    def means(self) -> str:
        """The kind in a few words, for a key."""
        return _MEANINGS[self]


_SIGNS = {
    Kind.PROVED: "●",
    Kind.BEST: "○",
    Kind.UNDECIDED: "≈",
    Kind.CERTIFICATE: "!",
    Kind.LEAKS: "✕",
    Kind.LATE: "T",
    Kind.FAILED: "F",
    Kind.IMPOSSIBLE: "∅",
    Kind.REFUSED: "–",
}
_MEANINGS = {
    Kind.PROVED: "best, and proved optimal by this run",
    Kind.BEST: "best",
    Kind.UNDECIDED: "not distinguishable from the best by the repetitions",
    Kind.NEAR: "up to 1 % worse",
    Kind.CLOSE: "up to 10 % worse",
    Kind.MORE: "more than 10 % worse",
    Kind.CERTIFICATE: "the certificate does not hold, or there is none",
    Kind.LEAKS: "not private, withheld",
    Kind.LATE: "out of time",
    Kind.FAILED: "failed",
    Kind.IMPOSSIBLE: "no mechanism exists, by a checked proof",
    Kind.REFUSED: "does not take the case",
}


@dataclass(frozen=True)
class Entry:
    """One solver on one case: the row that stands for its repetitions, and how it compares.

    Of several repetitions the row of the median stands for all, the worse of the two middle ones where they are even;
    numbers are medians.

    Parameters
    ----------
    judged : Judged
    kind : Kind
    loss : float or None
        How much worse than the best certified answer (with repetitions: the median of the best solver), as a share of
        the larger of that and the median size of the case's certified objectives; None without a certified answer.
    seeds : int
    objectives, times : Spread or None
        Of the certified answers over the repetitions; None where nothing was repeated.
    """

    judged: Judged
    kind: Kind
    loss: float | None
    seeds: int = 1
    objectives: Spread | None = None
    times: Spread | None = None

    @property
    def row(self) -> Row:
        """The row that stands for the entry."""
        return self.judged.row

    @property
    def objective(self) -> float | None:
        """The certified objective, or the median of those of the repetitions."""
        own = certified(self.judged)
        return own if own is None or self.objectives is None else self.objectives.median

    @property
    def seconds(self) -> float | None:
        """The time of the answer, or the median of those of the repetitions."""
        return self.row.seconds if self.times is None else self.times.median

    @property
    def taken(self) -> bool:
        """Whether the solver takes the case, and the case has an answer."""
        return self.kind not in (Kind.REFUSED, Kind.IMPOSSIBLE)

    @property
    def shown(self) -> str:
        """What a cell of the table shows: a sign, or the loss in per cent."""
        return self.kind.sign or percent(self.loss)


def percent(loss: float | None) -> str:
    """A loss in per cent for a narrow cell.

    Examples
    --------
    >>> [percent(x) for x in (0.00001, 0.0042, 0.049, 0.38, 12.0)]
    ['<0.1', '0.4', '4.9', '38', '≫']
    """
    if loss is None:
        return ""
    if loss >= 10:
        return "≫"
    if loss < 0.0005:
        return "<0.1"
    return f"{100 * loss:.1f}" if loss < 0.0995 else f"{100 * loss:.0f}"


@dataclass(frozen=True)
class CaseLine:
    """One case with an entry for every solver that was asked."""

    case: Case
    entries: Mapping[str, Entry]

    @property
    def best(self) -> float | None:
        """The largest certified objective."""
        return next((e.judged.best for e in self.entries.values()), None)

    @property
    def level(self) -> float | None:
        """What losses are measured from: the largest median of a solver; without repetitions the best."""
        medians = [
            e.objective for e in self.entries.values() if e.objectives is not None and e.objective is not None
        ]
        return max(medians, default=self.best)

    @property
    def undecided(self) -> bool:
        """Whether repetitions do not tell which solver is best, beside ``solve()``."""
        tied = any(e.kind is Kind.UNDECIDED for s, e in self.entries.items() if s != AUTO)
        return tied and not any(e.kind.best for e in self.entries.values())

    @property
    def bound(self) -> float | None:
        """The least checked bound."""
        return next((e.judged.bound for e in self.entries.values()), None)

    @property
    def answered(self) -> bool:
        """Whether some answer is certified."""
        return self.best is not None

    @property
    def proved(self) -> bool:
        """Whether a checked bound leaves no more than the tolerance above the best answer."""
        best, bound = self.best, self.bound
        return best is not None and bound is not None and bound - best <= TOLERANCE * max(1.0, abs(best))

    @cached_property
    def winners(self) -> tuple[str, ...]:
        """Solvers by name that reach the best answer; what ``solve()`` chose is not among them."""
        return tuple(s for s, e in self.entries.items() if e.kind.best and s != AUTO)

    @property
    def by_oracle_alone(self) -> bool:
        """Whether nothing but reference implementations reaches the best answer."""
        return (
            bool(self.winners)
            and not self._solve_is_best
            and all(role_of(self.entries[s].row) == ORACLE for s in self.winners)
        )

    @property
    def by_solve_alone(self) -> bool:
        """Whether ``solve()`` reaches the best answer and no solver by name does."""
        return self._solve_is_best and not self.winners

    @property
    def _solve_is_best(self) -> bool:
        auto = self.entries.get(AUTO)
        return auto is not None and auto.kind.best


ORACLE, BASELINE = Guarantee.ORACLE.name, Guarantee.BASELINE.name


def role_of(row: Row) -> str:
    """What the solver of a row declares itself to be; of rows that do not say it, what the one installed declares."""
    return row.role or _declared(row.question).get(row.solver, "")


def _declared(kind: str) -> Mapping[str, str]:
    if kind not in _ROLES:
        from privopt.core.registry import problem_types, solvers_of

        cls = problem_types().get(kind)
        known = {} if cls is None else solvers_of(cls)
        _ROLES[kind] = {n: s.guaranteed.name for n, s in known.items() if s.guaranteed is not None}
    return _ROLES[kind]


_ROLES: dict[str, Mapping[str, str]] = {}


def case_lines(rows: Iterable[Judged]) -> tuple[CaseLine, ...]:
    """Every case with the entries of its solvers, in order of appearance."""
    cases: dict[Case, dict[str, list[Judged]]] = {}
    for j in rows:
        cases.setdefault(j.case, {}).setdefault(j.row.solver, []).append(j)
    return tuple(_case(case, own) for case, own in cases.items())


def _case(case: Case, own: Mapping[str, Sequence[Judged]]) -> CaseLine:
    stand = {solver: _middle(runs) for solver, runs in own.items()}
    if all(len({j.row.seed for j in runs}) == 1 for runs in own.values()):
        objectives = [o for j in stand.values() if (o := certified(j)) is not None]
        scale = _scale(objectives)
        return CaseLine(case, {s: _entry(j, j.best, scale, len(own[s])) for s, j in stand.items()})
    return CaseLine(case, _repeated(own, stand))


def _scale(objectives: Iterable[float]) -> float:
    sizes = [abs(o) for o in objectives]
    return statistics.median(sizes) if sizes else 0.0


def _repeated(own: Mapping[str, Sequence[Judged]], stand: Mapping[str, Judged]) -> dict[str, Entry]:
    """Entries whose numbers are medians, and of which those are best that repetitions allow to call so."""
    values = {solver: spread_of(runs) for solver, runs in own.items()}
    medians = {
        s: m for s, j in stand.items() if certified(j) is not None and (m := values[s].median) is not None
    }
    level, scale = max(medians.values(), default=None), _scale(medians.values())
    bound = next(iter(stand.values())).bound
    top = claims(values, alike=TOLERANCE, bound=bound, choosing=(AUTO,))
    made = {}
    for solver, j in stand.items():
        loss = _loss(medians.get(solver), level, scale)
        kind = _claimed(solver, top, j, loss)
        times = Spread(
            tuple(t for r in own[solver] if r.row.verified and (t := r.row.seconds) is not None),
            len(own[solver]),
        )
        made[solver] = Entry(j, kind, loss, len(own[solver]), values[solver], times)
    return made


def spread_of(runs: Sequence[Judged]) -> Spread:
    """The finite certified objectives of repetitions."""
    values = (certified(j) for j in runs)
    return Spread(tuple(o for o in values if o is not None and math.isfinite(o)), len(runs))


def _claimed(solver: str, top: Claims, j: Judged, loss: float | None) -> Kind:
    if loss is None:
        return _unanswered(j)
    if solver in top.best:
        return _best(j)
    return Kind.UNDECIDED if solver in top.undecided else _behind(loss)


def _middle(seeds: Sequence[Judged]) -> Judged:
    """The row of the lower median objective; no certified answer counts as the worst."""
    order = sorted(seeds, key=lambda j: -math.inf if (o := certified(j)) is None else o)
    return order[(len(order) - 1) // 2]


def certified(j: Judged) -> float | None:
    """The objective of an answer whose claim was proved again."""
    return j.row.objective if j.row.verified else None


def _entry(j: Judged, best: float | None, scale: float, seeds: int) -> Entry:
    loss = _loss(certified(j), best, scale)
    kind = _unanswered(j) if loss is None else _best(j) if j.reached else _behind(loss)
    return Entry(j, kind, loss, seeds)


def _loss(objective: float | None, best: float | None, scale: float) -> float | None:
    if objective is None or best is None:
        return None
    lost = max(0.0, best - objective)
    size = max(abs(best), scale)
    if lost == 0:
        return 0.0
    return lost / size if size > 0 else math.inf


def _best(j: Judged) -> Kind:
    best = j.best or 0.0
    proved = j.row.bound is not None and j.row.bound - best <= TOLERANCE * max(1.0, abs(best))
    return Kind.PROVED if proved else Kind.BEST


def _behind(loss: float) -> Kind:
    return Kind.NEAR if loss <= LITTLE else Kind.CLOSE if loss <= SOME else Kind.MORE


def _unanswered(j: Judged) -> Kind:
    row = j.row
    if row.ok:
        return Kind.CERTIFICATE
    if row.status == Status.NOT_PRIVATE.name or row.over_budget:
        return Kind.LEAKS
    return _UNANSWERED.get(row.status, Kind.FAILED)


_UNANSWERED = {
    Status.REFUSED.name: Kind.REFUSED,
    Status.TIME_OUT.name: Kind.LATE,
    Status.INFEASIBLE.name: Kind.IMPOSSIBLE,
}
