"""What every solver reached on every case over all repetitions, as papers write it, and which may be called the best."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from privopt.benchmarks.report.entries import spread_of
from privopt.benchmarks.report.judged import TOLERANCE, Case, Judged
from privopt.benchmarks.runner.rows import AUTO
from privopt.benchmarks.runner.spread import Claims, claims

CONFIDENCE = 0.95
"""Of the interval of a mean, as of ratios of times of two runs."""
ROUNDING = 1e-9
"""Standard deviations below this part of the mean are those of rounding."""
PARTLY, UNDECIDED = "*", "≈"
"""Mark a mean of fewer repetitions than were asked for, and one that cannot be told from the best."""
_SIGNS = {"REFUSED": "–", "TIME_OUT": "T", "FAILED": "F", "NOT_PRIVATE": "✕", "INFEASIBLE": "∅"}
UNCERTIFIED = "!"
SIGNS = {
    "–": "does not take the case",
    "T": "out of time",
    "F": "failed",
    "✕": "not private, withheld",
    "∅": "said to be infeasible",
    "!": "certificate does not hold",
    "*": "some repetitions without an answer",
    "≈": "not distinguishable from the best",
}
"""What stands in a cell without a number or beside it, and what it means."""


@dataclass(frozen=True)
class Sample:
    """Readings of one number, written as mean (standard deviation); who is best is said by their quartiles alone.

    Examples
    --------
    >>> Sample((1.0, 2.0, 3.0)).mean, Sample((1.0, 2.0, 3.0)).sd, Sample((1.0,)).sd
    (2.0, 1.0, None)
    """

    values: tuple[float, ...]

    @property
    def mean(self) -> float:
        """The mean; infinite if a reading is."""
        return math.fsum(self.values) / len(self.values)

    @property
    def sd(self) -> float | None:
        """The standard deviation of the sample; None of a single reading, or of infinite ones; 0 up to rounding."""
        if len(self.values) < 2 or not all(map(math.isfinite, self.values)):
            return None
        spread = statistics.stdev(self.values)
        return spread if spread > ROUNDING * abs(self.mean) else 0.0

    @property
    def half(self) -> float:
        """Half the width of the interval of the mean, by Student's t; 0 of a single reading.

        Examples
        --------
        >>> round(Sample((1.0, 2.0, 3.0)).half, 3)
        2.484
        """
        if not self.sd:
            return 0.0
        from scipy.stats import t

        n = len(self.values)
        return float(t.ppf((1 + CONFIDENCE) / 2, n - 1)) * self.sd / math.sqrt(n)


@dataclass(frozen=True)
class Result:
    """All runs of one solver on one case; only certified ones whose claim was proved again count as answers."""

    case: Case
    solver: str
    runs: tuple[Judged, ...]

    @property
    def answers(self) -> tuple[Judged, ...]:
        """The runs that count."""
        return tuple(j for j in self.runs if j.row.verified and j.row.objective is not None)

    @property
    def objective(self) -> Sample | None:
        """The objective over the repetitions."""
        return self.sample(lambda j: j.row.objective)

    def sample(self, read: Callable[[Judged], float | None]) -> Sample | None:
        """A number over the answers, None where none has it."""
        values = tuple(value for j in self.answers if (value := read(j)) is not None)
        return Sample(values) if values else None

    @property
    def sign(self) -> str:
        """What stands in place of a number: why there is none, or that some repetitions had none."""
        if self.answers:
            return PARTLY if len(self.answers) < len(self.runs) else ""
        return next((_SIGNS[j.row.status] for j in self.runs if j.row.status in _SIGNS), UNCERTIFIED)


def results(rows: Iterable[Judged]) -> tuple[Result, ...]:
    """The runs by case and solver, in order of appearance."""
    groups: dict[tuple[Case, str], list[Judged]] = {}
    for j in rows:
        groups.setdefault((j.case, j.row.solver), []).append(j)
    return tuple(Result(case, solver, tuple(own)) for (case, solver), own in groups.items())


def claimed(every: Iterable[Result]) -> dict[Case, Claims]:
    """Who is best on each case, and who cannot be told from them, by :func:`privopt.benchmarks.runner.spread.claims`."""
    by_case: dict[Case, dict[str, Result]] = {}
    for one in every:
        by_case.setdefault(one.case, {})[one.solver] = one
    return {
        case: claims(
            {solver: spread_of(one.runs) for solver, one in own.items()},
            alike=TOLERANCE,
            bound=next(iter(own.values())).runs[0].bound,
            choosing=(AUTO,),
        )
        for case, own in by_case.items()
    }


def ranking(every: Sequence[Result]) -> tuple[str, ...]:
    """Solvers that answered something, those that are best in most cases first, then those not told from the best."""
    said = claimed(every)
    wins: dict[str, tuple[int, int]] = {}
    for one in every:
        if one.answers:
            (best, tied), own = wins.get(one.solver, (0, 0)), said[one.case]
            wins[one.solver] = (best + (one.solver in own.best), tied + (one.solver in own.undecided))
    return tuple(sorted(wins, key=lambda solver: (-wins[solver][0], -wins[solver][1], solver)))
