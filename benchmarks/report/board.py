"""The first screen of a report in numbers: the finding, four counts, a line a problem, alarms."""

from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from privopt.benchmarks.report.covers import Candidate, smallest_cover
from privopt.benchmarks.report.entries import BASELINE, ORACLE, CaseLine, case_lines, percent
from privopt.benchmarks.report.judged import Case, Judged, leaks
from privopt.benchmarks.report.standings import SolverLine, solver_lines
from privopt.benchmarks.runner.rows import AUTO, Row
from privopt.benchmarks.runner.vocabulary import ProblemWords, Reference, Vocabulary
from privopt.core.words import SHARE, Quantity


@dataclass(frozen=True)
class Named:
    """A solver of the smallest set that is best everywhere, and how many cases it adds to those before it."""

    solver: str
    adds: int


NOTHING = 1e-9
"""A share of the best answers at which the simple method reaches nothing but rounding."""


@dataclass(frozen=True)
class Gain:
    """What the best answers gain on the simple method, over the cases where that has a certified answer.

    ``change`` is a mean difference where the quantity is a share, else the relative change of the sum, infinite where
    the simple method reaches nothing.
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
        if math.isinf(self.change):
            return "from 0"
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
    def by_solve(self) -> tuple[Case, ...]:
        """Cases whose best answer is by ``solve()`` alone: no solver by name reaches it."""
        return tuple(line.case for line in self.lines if line.by_solve_alone)

    @property
    def undecided(self) -> int:
        """Cases in which repetitions do not tell which solver by name is best."""
        return sum(line.undecided for line in self.lines)

    @property
    def first(self) -> SolverLine | None:
        """The solver that is named first; ``solve()`` where none is named."""
        return next((s for n in self.named for s in self.solvers if s.solver == n.solver), self.auto)

    @property
    def seconds(self) -> float | None:
        """Median seconds of :attr:`first`."""
        return None if self.first is None else self.first.seconds


@dataclass(frozen=True)
class Finding:
    """What the report says first, in numbers.

    ``best`` of ``cases`` are those in which ``solve()`` gives the best certified answer, None where it did not run;
    ``worst`` its largest loss elsewhere, inf where it has no answer, None where there is no elsewhere. In ``undecided``
    cases repetitions do not tell it from the best.
    """

    broken: int
    best: int | None
    cases: int
    worst: float | None
    answered: int
    proved: int
    problems: int
    solvers: int
    undecided: int = 0

    @property
    def headline(self) -> str:
        """One sentence without a full stop, the call in backticks."""
        if self.broken:
            one = self.broken == 1
            return f"{self.broken} certified claim{'' if one else 's'} {'does' if one else 'do'} not hold"
        if self.best is not None:
            tied = f"; in {self.undecided} it cannot be told from the best" if self.undecided else ""
            return f"`privopt.solve()` gives the best certified answer in {self.best} of {self.cases} cases{tied}"
        return (
            f"{self.answered} of {self.cases} cases have a certified answer, {self.proved} are proved optimal"
        )

    @property
    def detail(self) -> str:
        """A sentence on what was asked, and on what ``solve()`` loses where it is not best."""
        asked = f"{_count(self.problems, 'problem')}, {_count(self.solvers, 'solver')}, every answer judged and certified"
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
    """The largest loss of ``solve()`` over the answered cases where it falls behind the best; inf where it has no answer."""
    losses = [
        math.inf if e.loss is None else e.loss
        for line in lines
        if line.answered and (e := line.entries.get(AUTO)) is not None and not e.kind.holds
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
        objective = None if entry is None else entry.objective
        if objective is not None and line.level is not None:
            quantity = replace(known.instance(line.case.question, line.case.instance).quantity, budget="")
            pairs.setdefault(quantity, []).append((quantity.of(line.level), quantity.of(objective)))
    if not pairs:
        return None
    quantity = max(pairs, key=lambda q: len(pairs[q]))
    own = pairs[quantity]
    change = _change(own, quantity.unit == SHARE)
    return Gain(reference, quantity, len(own), change)


def _change(pairs: Sequence[tuple[float, float]], share: bool) -> float:
    if share:
        return statistics.fmean(best - simple for best, simple in pairs)
    best, simple = (math.fsum(side) for side in zip(*pairs, strict=True))
    if abs(simple) <= NOTHING * abs(best):
        return math.copysign(math.inf, best) if best else 0.0
    return best / simple - 1


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
        undecided=sum(a.undecided for a in autos),
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
