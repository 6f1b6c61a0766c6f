"""One solver on all cases of a problem: how often it is best, takes a case, and proves its answer."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from privopt.benchmarks.report.entries import ORACLE, CaseLine, Entry, Kind, role_of
from privopt.benchmarks.report.shell import seconds
from privopt.benchmarks.runner.rows import AUTO


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
    ``undecided`` those in which repetitions do not tell it from the best; ``seconds`` is the median of its answers. With
    repetitions ``quickly`` and ``slowly`` are the medians over cases of the quartiles of each.
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
    undecided: int = 0
    quickly: float | None = None
    slowly: float | None = None

    @property
    def said(self) -> str:
        """The line in words, as for a tip."""
        if self.standing is Standing.REFUSED:
            return f"{self.solver}: takes none of {self.cases} cases"
        if self.standing is Standing.LEAKS:
            return f"{self.solver}: no answer kept its budget, of {self.taken} cases"
        open_ = f", in {self.undecided} not distinguishable from the best" if self.undecided else ""
        return f"{self.solver}: best in {self.won} of {self.taken} cases that it takes{open_}"

    @property
    def timed(self) -> str:
        """The quartiles of the time over repetitions, in words; empty where nothing was repeated."""
        if self.quickly is None or self.slowly is None:
            return ""
        return f"median over the repetitions, quartiles {seconds(self.quickly)} to {seconds(self.slowly)}"


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
    times = [t for e in entries if e.loss is not None and (t := e.seconds) is not None]
    spreads = [e.times for e in entries if e.loss is not None and e.times is not None and e.times.count]
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
        sum(e.kind is Kind.UNDECIDED for e in entries),
        _middle(s.lower for s in spreads),
        _middle(s.upper for s in spreads),
    )


def _middle(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return statistics.median(known) if known else None


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
