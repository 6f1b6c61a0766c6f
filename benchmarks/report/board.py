"""The first screen of a report in numbers: the finding, four counts, a line a problem, alarms."""

from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cached_property

from privopt.benchmarks.report.covers import Candidate, smallest_cover
from privopt.benchmarks.report.judged import TOLERANCE, Case, Judged, leaks
from privopt.benchmarks.runner.rows import AUTO, Row
from privopt.benchmarks.runner.vocabulary import ProblemWords, Reference, Vocabulary
from privopt.core.solution import Status
from privopt.core.solver import Guarantee
from privopt.core.words import SHARE, Quantity

LITTLE, SOME = 0.01, 0.1
"""Losses up to which an answer is called near the best, and close to it."""


class Kind(StrEnum):
    """What became of one solver on one case; the order is from best to worst."""

    PROVED = "proved"
    BEST = "best"
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
    """One solver on one case: the row that stands for its seeds, and how it compares.

    Of several seeds the median stands for all, the worse of the two middle ones where they are even.

    Parameters
    ----------
    judged : Judged
    kind : Kind
    loss : float or None
        How much worse than the best certified answer, as a share of the larger of that and the median size of the
        case's certified objectives; None without a certified answer.
    seeds : int
    """

    judged: Judged
    kind: Kind
    loss: float | None
    seeds: int = 1

    @property
    def row(self) -> Row:
        """The row that stands for the entry."""
        return self.judged.row

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
        auto = self.entries.get(AUTO)
        beside = auto is not None and auto.kind.best
        return (
            bool(self.winners)
            and not beside
            and all(role_of(self.entries[s].row) == ORACLE for s in self.winners)
        )


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


class Standing(StrEnum):
    """How one solver did on a whole problem; the order is that of its marks."""

    ALL = "all"
    SOME = "some"
    NONE = "none"
    LEAKS = "not private"
    REFUSED = "refused"


@dataclass(frozen=True)
class SolverLine:
    """One solver on all cases of a problem.

    ``won`` counts cases in which it is best, ``taken`` those that it does not refuse, ``proved`` those it proved itself,
    ``seconds`` is the median of its answers.
    """

    solver: str
    role: str
    standing: Standing
    won: int
    taken: int
    cases: int
    answered: int
    proved: int
    seconds: float | None

    @property
    def said(self) -> str:
        """The line in words, as for a tip."""
        if self.standing is Standing.REFUSED:
            return f"{self.solver}: takes none of {self.cases} cases"
        if self.standing is Standing.LEAKS:
            return f"{self.solver}: no answer kept its budget, of {self.taken} cases"
        return f"{self.solver}: best in {self.won} of {self.taken} cases that it takes"


@dataclass(frozen=True)
class Named:
    """A solver of the smallest set that is best everywhere, and how many cases it adds to those before it."""

    solver: str
    adds: int


@dataclass(frozen=True)
class Gain:
    """What the best answers gain on the simple method, over the cases where that has a certified answer.

    ``change`` is a mean difference where the quantity is a share, else the relative change of the sum.
    """

    reference: Reference
    quantity: Quantity
    cases: int
    change: float

    @property
    def amount(self) -> str:
        """The change in a few characters.

        Examples
        --------
        >>> Gain(Reference("a"), Quantity("error", sign=-1), 3, -0.378).amount
        '−38 %'
        >>> Gain(Reference("a"), Quantity("answers", "share"), 3, 0.0601).amount
        '+6.0 pts'
        """
        sign = "−" if self.change < 0 else "+"
        size = 100 * abs(self.change)
        return f"{sign}{size:.1f} pts" if self.quantity.unit == SHARE else f"{sign}{size:.0f} %"


@dataclass(frozen=True)
class ProblemLine:
    """One problem on the board.

    Parameters
    ----------
    kind : str
    words : ProblemWords
    lines : tuple of CaseLine
    solvers : tuple of SolverLine
        All solvers by name, the best first; what ``solve()`` did is :attr:`auto`.
    auto : SolverLine or None
    worst : float or None
        The largest loss of ``solve()`` where it is not best: None where it always is, inf where it has no answer.
    named : tuple of Named
        The fewest solvers that are best in every case that one beside the oracles reaches.
    gain : Gain or None
    """

    kind: str
    words: ProblemWords
    lines: tuple[CaseLine, ...]
    solvers: tuple[SolverLine, ...]
    auto: SolverLine | None
    worst: float | None
    named: tuple[Named, ...]
    gain: Gain | None

    @property
    def cases(self) -> int:
        """How many there are."""
        return len(self.lines)

    @property
    def answered(self) -> int:
        """Cases with a certified answer."""
        return sum(line.answered for line in self.lines)

    @property
    def proved(self) -> int:
        """Cases whose best answer is proved optimal."""
        return sum(line.proved for line in self.lines)

    @property
    def by_oracle(self) -> tuple[Case, ...]:
        """Cases whose best answer is by an oracle alone."""
        return tuple(line.case for line in self.lines if line.by_oracle_alone)

    @property
    def seconds(self) -> float | None:
        """Median seconds of the solver that is named first; of ``solve()`` where none is named."""
        first = next((s for n in self.named for s in self.solvers if s.solver == n.solver), self.auto)
        return None if first is None else first.seconds


@dataclass(frozen=True)
class Finding:
    """What the report says first, in numbers.

    ``best`` of ``cases`` are those in which ``solve()`` gives the best certified answer, None where it did not run;
    ``worst`` its largest loss elsewhere, inf where it has no answer, None where there is no elsewhere.
    """

    broken: int
    best: int | None
    cases: int
    worst: float | None
    answered: int
    proved: int
    problems: int
    solvers: int

    @property
    def headline(self) -> str:
        """One sentence without a full stop, the call in backticks."""
        if self.broken:
            one = self.broken == 1
            return f"{self.broken} certified claim{'' if one else 's'} {'does' if one else 'do'} not hold"
        if self.best is not None:
            return f"`privopt.solve()` gives the best certified answer in {self.best} of {self.cases} cases"
        return (
            f"{self.answered} of {self.cases} cases have a certified answer, {self.proved} are proved optimal"
        )

    @property
    def detail(self) -> str:
        """A sentence on what was asked, and on what ``solve()`` loses where it is not best."""
        asked = f"{_count(self.problems, 'problem')}, {_count(self.solvers, 'solver')}, every answer judged and certified by the problem"
        proved = f"{self.proved} answers are proved optimal."
        return " ".join(filter(None, (f"{asked}.", self.elsewhere, proved)))

    @property
    def elsewhere(self) -> str:
        """What ``solve()`` loses where it is not best; empty where it always is."""
        if self.best is None or self.worst is None:
            return ""
        if math.isinf(self.worst):
            return "In some other cases it has no certified answer."
        return f"Elsewhere it loses at most {percent(self.worst)} %."


def _count(n: int, what: str) -> str:
    return f"{n} {what}{'s' * (n != 1)}"


@dataclass(frozen=True)
class Alarm:
    """A certified row that failed or differs when proved again; ``place`` counts from 1, failures first.

    ``red`` where the claim does not hold, or what came out is over its budget; else only the record differs.
    """

    place: int
    red: bool
    row: Row

    @property
    def what(self) -> str:
        """What differs, or why the claim fails."""
        return self.row.differs or self.row.reason


@dataclass(frozen=True)
class Counts:
    """The four numbers of the first screen, each with what it is out of."""

    cases: int
    answered: int
    proved: int
    certificates: int
    held: int
    over: int
    withheld: int
    repaired: int


@dataclass(frozen=True)
class Board:
    """All of the first screen."""

    finding: Finding
    counts: Counts
    problems: tuple[ProblemLine, ...]
    alarms: tuple[Alarm, ...]

    @property
    def red(self) -> bool:
        """Whether some claim fails."""
        return any(alarm.red for alarm in self.alarms)


def board(rows: Sequence[Judged], words: Vocabulary | None = None) -> Board:
    """The first screen of the report of some rows; problems of more cases come first.

    Examples
    --------
    >>> board(()).finding.cases
    0
    """
    known = words or Vocabulary()
    lines: dict[str, list[CaseLine]] = {}
    for line in case_lines(rows):
        lines.setdefault(line.case.question, []).append(line)
    order = sorted(lines.items(), key=lambda pair: -len(pair[1]))
    problems = tuple(_problem(kind, own, known) for kind, own in order)
    warned = alarms(rows)
    return Board(_finding(problems, warned), _counts(problems, rows), problems, warned)


def case_lines(rows: Iterable[Judged]) -> tuple[CaseLine, ...]:
    """Every case with the entries of its solvers, in order of appearance."""
    cases: dict[Case, dict[str, list[Judged]]] = {}
    for j in rows:
        cases.setdefault(j.case, {}).setdefault(j.row.solver, []).append(j)
    return tuple(_case(case, own) for case, own in cases.items())


def _case(case: Case, own: Mapping[str, Sequence[Judged]]) -> CaseLine:
    stand = {solver: _middle(seeds) for solver, seeds in own.items()}
    sizes = [abs(o) for j in stand.values() if (o := _certified(j)) is not None]
    scale = statistics.median(sizes) if sizes else 0.0
    return CaseLine(case, {s: _entry(j, scale, len(own[s])) for s, j in stand.items()})


def _middle(seeds: Sequence[Judged]) -> Judged:
    """The row of the lower median objective; no certified answer counts as the worst."""
    order = sorted(seeds, key=lambda j: -math.inf if (o := _certified(j)) is None else o)
    return order[(len(order) - 1) // 2]


def _certified(j: Judged) -> float | None:
    return j.row.objective if j.row.verified else None


def _entry(j: Judged, scale: float, seeds: int) -> Entry:
    loss = _loss(j, scale)
    return Entry(j, _kind(j, loss), loss, seeds)


def _loss(j: Judged, scale: float) -> float | None:
    objective = _certified(j)
    if objective is None or j.best is None:
        return None
    lost = max(0.0, j.best - objective)
    size = max(abs(j.best), scale)
    if lost == 0:
        return 0.0
    return lost / size if size > 0 else math.inf


def _kind(j: Judged, loss: float | None) -> Kind:
    row = j.row
    if loss is None:
        return _unanswered(j)
    if j.reached:
        best = j.best or 0.0
        own = row.bound is not None and row.bound - best <= TOLERANCE * max(1.0, abs(best))
        return Kind.PROVED if own else Kind.BEST
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


def solver_lines(lines: Sequence[CaseLine]) -> tuple[SolverLine, ...]:
    """A line a solver: ``solve()`` first, then by cases won, oracles after equals, those that refuse all last."""
    own: dict[str, list[Entry]] = {}
    for line in lines:
        for solver, entry in line.entries.items():
            own.setdefault(solver, []).append(entry)
    return tuple(sorted((_solver(s, entries) for s, entries in own.items()), key=_rank))


def _solver(solver: str, entries: Sequence[Entry]) -> SolverLine:
    won = sum(e.kind.best for e in entries)
    taken = sum(e.taken for e in entries)
    answered = sum(e.loss is not None for e in entries)
    times = [e.row.seconds for e in entries if e.loss is not None and e.row.seconds is not None]
    return SolverLine(
        solver,
        next((r for e in entries if (r := role_of(e.row))), ""),
        _standing(entries, won, taken, answered),
        won,
        taken,
        len(entries),
        answered,
        sum(e.kind is Kind.PROVED for e in entries),
        statistics.median(times) if times else None,
    )


def _standing(entries: Sequence[Entry], won: int, taken: int, answered: int) -> Standing:
    if not taken:
        return Standing.REFUSED
    if not answered and any(e.kind is Kind.LEAKS for e in entries):
        return Standing.LEAKS
    return Standing.ALL if won == taken else Standing.SOME if won else Standing.NONE


def _rank(line: SolverLine) -> tuple[bool, int, int, bool, int, float, str]:
    return (
        line.solver != AUTO,
        max(0, list(Standing).index(line.standing) - 2),
        -line.won,
        line.role == ORACLE,
        -line.proved,
        math.inf if line.seconds is None else line.seconds,
        line.solver,
    )


def _problem(kind: str, lines: Sequence[CaseLine], known: Vocabulary) -> ProblemLine:
    words = known.problem(kind)
    everyone = solver_lines(lines)
    auto = next((s for s in everyone if s.solver == AUTO), None)
    solvers = tuple(s for s in everyone if s.solver != AUTO)
    return ProblemLine(
        kind,
        words,
        tuple(lines),
        solvers,
        auto,
        worst_loss(lines),
        named(lines, solvers),
        gain(lines, words.reference, known),
    )


def worst_loss(lines: Iterable[CaseLine]) -> float | None:
    """The largest loss of ``solve()`` over the answered cases where it is not best; inf where it has no answer."""
    losses = [
        math.inf if e.loss is None else e.loss
        for line in lines
        if line.answered and (e := line.entries.get(AUTO)) is not None and not e.kind.best
    ]
    return max(losses, default=None)


def named(lines: Sequence[CaseLine], solvers: Sequence[SolverLine]) -> tuple[Named, ...]:
    """The fewest solvers that reach the best answer in every case that one beside the oracles reaches.

    Among equally many: fewer baselines, then more cases proved, then less time. The order is by cases added.
    """
    fit = [s for s in solvers if s.role != ORACLE]
    wins = {s.solver: frozenset(i for i, line in enumerate(lines) if s.solver in line.winners) for s in fit}
    chosen = smallest_cover(
        Candidate(s.solver, wins[s.solver], (float(s.role == BASELINE), -float(s.proved), s.seconds or 0.0))
        for s in fit
    )
    left, order = list(chosen), list[Named]()
    seen: frozenset[int] = frozenset()
    while left:
        first = max(left, key=lambda name: (len(wins[name] - seen), -chosen.index(name)))
        order.append(Named(first, len(wins[first] - seen)))
        seen |= wins[first]
        left.remove(first)
    return tuple(order)


def gain(lines: Sequence[CaseLine], reference: Reference, known: Vocabulary) -> Gain | None:
    """What the best answers gain on the simple method; None where there is none, or it has no certified answer.

    Where instances measure different quantities, only those of the most frequent one count.
    """
    pairs: dict[Quantity, list[tuple[float, float]]] = {}
    for line in lines:
        entry = line.entries.get(reference.solver)
        objective = None if entry is None else _certified(entry.judged)
        if objective is not None and line.best is not None:
            quantity = replace(known.instance(line.case.question, line.case.instance).quantity, budget="")
            pairs.setdefault(quantity, []).append((quantity.of(line.best), quantity.of(objective)))
    if not pairs:
        return None
    quantity = max(pairs, key=lambda q: len(pairs[q]))
    own = pairs[quantity]
    change = _change(own, quantity.unit == SHARE)
    return None if change is None else Gain(reference, quantity, len(own), change)


def _change(pairs: Sequence[tuple[float, float]], share: bool) -> float | None:
    if share:
        return statistics.fmean(best - simple for best, simple in pairs)
    best, simple = (math.fsum(side) for side in zip(*pairs, strict=True))
    return best / simple - 1 if simple != 0 else None


def alarms(rows: Iterable[Judged]) -> tuple[Alarm, ...]:
    """Rows whose claim fails, then rows whose record differs although the claim holds."""
    own = list(rows)
    red = [j.row for j in own if leaks(j)]
    amber = [j.row for j in own if not leaks(j) and j.row.differing]
    marked = [(True, row) for row in red] + [(False, row) for row in amber]
    return tuple(Alarm(place, failed, row) for place, (failed, row) in enumerate(marked, 1))


def _finding(problems: Sequence[ProblemLine], warned: Sequence[Alarm]) -> Finding:
    autos = [p.auto for p in problems if p.auto is not None]
    losses = [p.worst for p in problems if p.worst is not None]
    return Finding(
        broken=sum(alarm.red for alarm in warned),
        best=sum(a.won for a in autos) if autos else None,
        cases=sum(a.cases for a in autos) if autos else sum(p.cases for p in problems),
        worst=max(losses, default=None),
        answered=sum(p.answered for p in problems),
        proved=sum(p.proved for p in problems),
        problems=len(problems),
        solvers=len({s.solver for p in problems for s in p.solvers}),
    )


def _counts(problems: Sequence[ProblemLine], rows: Sequence[Judged]) -> Counts:
    over = Counter(j.row.ok for j in rows if j.row.over_budget)
    return Counts(
        cases=sum(p.cases for p in problems),
        answered=sum(p.answered for p in problems),
        proved=sum(p.proved for p in problems),
        certificates=sum(j.row.certified for j in rows),
        held=sum(j.row.certified and j.row.verified for j in rows),
        over=over.total(),
        withheld=over[False],
        repaired=over[True],
    )
