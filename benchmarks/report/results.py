"""What every solver reached on every case over all repetitions, and which of them nobody beats."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from privopt.benchmarks.report.judged import TOLERANCE, Case, Judged

CONFIDENCE = 0.95
"""Of the interval of a mean: solvers whose intervals overlap that of the best are not told apart."""
ROUNDING = 1e-9
"""Standard deviations below this part of the mean are those of rounding."""
PARTLY = "*"
"""Marks a mean of fewer repetitions than were asked for."""
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
}
"""What stands in a cell without a number, and what it means."""


@dataclass(frozen=True)
class Sample:
    """Readings of one number.

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


def unbeaten(every: Sequence[Result]) -> frozenset[tuple[Case, str]]:
    """Case and solver of the best answers.

    Those within 1e-6 of the largest mean objective of the case, relative to it or to 1 if that is more, or, with
    repetitions, with an interval that overlaps that of the largest.
    """
    by_case: dict[Case, list[tuple[str, Sample]]] = {}
    for one in every:
        if one.objective is not None:
            by_case.setdefault(one.case, []).append((one.solver, one.objective))
    return frozenset((case, solver) for case, own in by_case.items() for solver in _unbeaten(own))


def _unbeaten(own: Sequence[tuple[str, Sample]]) -> list[str]:
    top = max((sample for _, sample in own), key=lambda sample: sample.mean)
    least = top.mean - max(top.half, TOLERANCE * max(1.0, abs(top.mean)))
    return [solver for solver, sample in own if sample.mean + sample.half >= least]


def ranking(every: Sequence[Result]) -> tuple[str, ...]:
    """Solvers that answered something, those that are unbeaten in most cases first."""
    best = unbeaten(every)
    wins: dict[str, int] = {}
    for one in every:
        if one.answers:
            wins[one.solver] = wins.get(one.solver, 0) + ((one.case, one.solver) in best)
    return tuple(sorted(wins, key=lambda solver: (-wins[solver], solver)))
