"""Two runs on one page: in how many cases the best answer got better or worse, and whose times changed beyond chance."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from privopt.benchmarks.report.entries import spread_of
from privopt.benchmarks.report.judged import TOLERANCE, Case, judged
from privopt.benchmarks.report.results import CONFIDENCE, Sample, results
from privopt.benchmarks.report.shell import render
from privopt.benchmarks.runner.compare import Change, Comparison, Identity, compare_rows, identity
from privopt.benchmarks.runner.folder import Manifest, read_run
from privopt.benchmarks.runner.rows import AUTO, Row
from privopt.benchmarks.runner.spread import Spread, claims
from privopt.benchmarks.runner.vocabulary import Vocabulary
from privopt.files.json import writing
from privopt.files.text import number

MOST = 200
"""Changed rows that are listed."""


@dataclass(frozen=True)
class Pair:
    """The best certified answer to a case in two runs, over the solvers that both asked; None where there is none."""

    case: Case
    before: Spread | None
    after: Spread | None

    @property
    def change(self) -> int:
        """1 for better, -1 for worse, 0 where they are alike to 1e-6, or repetitions do not tell them apart."""
        if self.before is None or self.after is None:
            return (self.after is not None) - (self.before is not None)
        best = claims({"before": self.before, "after": self.after}, alike=TOLERANCE).best
        return ("after" in best) - ("before" in best)


def best_pairs(before: Sequence[Row], after: Sequence[Row]) -> tuple[Pair, ...]:
    """Every case of both runs, in the order of the first."""
    common = {(identity(row)[:4]) for row in before} & {identity(row)[:4] for row in after}
    first, second = (_best(row for row in rows if identity(row)[:4] in common) for rows in (before, after))
    return tuple(Pair(case, first[case], second[case]) for case in first if case in second)


def _best(rows: Iterable[Row]) -> dict[Case, Spread | None]:
    """The solver of the largest median."""
    best: dict[Case, Spread | None] = {}
    for one in results(judged(tuple(rows))):
        best[one.case] = _better(best.get(one.case), spread_of(one.runs))
    return best


def _better(known: Spread | None, one: Spread) -> Spread | None:
    if one.median is None or (known is not None and known.median is not None and known.median >= one.median):
        return known
    return one


@dataclass(frozen=True)
class TimeRatio:
    """Geometric mean of seconds after / before, over pairs that both solved, with the interval of its mean.

    ``over`` says over what the interval is: "seeds", or "cases" where there is one seed.
    """

    solver: str
    ratio: float
    low: float
    high: float
    pairs: int
    over: str

    @property
    def clear(self) -> bool:
        """Whether the interval leaves out 1: only then is anything said."""
        return self.low > 1 or self.high < 1


def time_ratios(before: Iterable[Row], after: Iterable[Row]) -> tuple[TimeRatio, ...]:
    """A ratio a solver with at least two seeds or cases, in the order of names."""
    first = {identity(row): row for row in before}
    logs: dict[str, dict[int, list[float]]] = defaultdict(lambda: defaultdict(list))
    for b in after:
        a = first.get(identity(b))
        if a is not None and a.ok and b.ok and a.seconds and b.seconds:
            logs[b.solver][b.seed].append(math.log(b.seconds / a.seconds))
    made = (_time_ratio(solver, by_seed) for solver, by_seed in sorted(logs.items()))
    return tuple(one for one in made if one is not None)


def _time_ratio(solver: str, by_seed: Mapping[int, Sequence[float]]) -> TimeRatio | None:
    values = [value for own in by_seed.values() for value in own]
    means = [math.fsum(own) / len(own) for own in by_seed.values()] if len(by_seed) > 1 else values
    sample = Sample(tuple(means))
    if len(means) < 2:
        return None
    middle, over = math.fsum(values) / len(values), "seeds" if len(by_seed) > 1 else "cases"
    ends = (math.exp(middle - sample.half), math.exp(middle + sample.half))
    return TimeRatio(solver, math.exp(middle), *ends, len(values), over)


@dataclass(frozen=True)
class Line:
    """A problem in two runs."""

    title: str
    better: int
    worse: int
    same: int
    certified: tuple[int, int]


def headline(pairs: Sequence[Pair]) -> str:
    """The finding in one line.

    Examples
    --------
    >>> case = Case("s", "q", "i", 1.0)
    >>> headline([Pair(case, Spread((1.0,), 1), Spread((2.0,), 1)), Pair(case, None, None)])
    '1 better, 0 worse, 1 the same'
    """
    changes = [pair.change for pair in pairs]
    return f"{changes.count(1)} better, {changes.count(-1)} worse, {changes.count(0)} the same"


def compared_page(
    before: tuple[Manifest, Sequence[Row]], after: tuple[Manifest, Sequence[Row]], names: tuple[str, str], command: str
) -> str:  # fmt: skip
    """The page as text.

    Parameters
    ----------
    before, after : tuple of (Manifest, sequence of Row)
    names : tuple of str
        What the two runs are called.
    command : str
        What writes the page.
    """
    (old, first), (new, second) = before, after
    words = new.words.joined(old.words)
    comparison = compare_rows(first, second)
    pairs = best_pairs(first, second)
    ratios = time_ratios(first, second)
    return render(
        "compare.html.j2",
        {
            "title": f"{names[0]} and {names[1]}",
            "mark": "two runs",
            "kicker": f"A: {names[0]}, {old.begun} · B: {names[1]}, {new.begun} · {comparison.pairs} runs in both",
            "headline": headline(pairs),
            "sub": f"The best certified answer of B against that of A, in each of {len(pairs)} cases that both asked the same solvers.",
            "alarms": _alarms(second),
            "problems": _lines(pairs, comparison, words, first, second),
            "changes": tuple(_change(change, words) for change in _ranked(comparison)[:MOST]),
            "changed": len(comparison.changes),
            "told": [ratio for ratio in ratios if ratio.clear],
            "silent": len([ratio for ratio in ratios if not ratio.clear]),
            "confidence": f"{CONFIDENCE:.0%}".replace("%", " %"),
            "only": (_only(comparison.only_before), _only(comparison.only_after)),
            "machines": _machines(old, new),
            "called": lambda solver: "solve()" if solver == AUTO else solver,
            "factor": _factor,
            "command": command,
        },
    )


def _alarms(rows: Iterable[Row]) -> tuple[str, ...]:
    broken = sum(row.broken for row in rows)
    return (f"{broken} certified claims of B do not hold.",) if broken else ()


def _lines(
    pairs: Sequence[Pair], comparison: Comparison, words: Vocabulary, first: Sequence[Row], second: Sequence[Row]
) -> list[Line]:  # fmt: skip
    absent = {identity(row) for row in (*comparison.only_before, *comparison.only_after)}
    counts = [_certified(rows, absent) for rows in (first, second)]
    lines = []
    for kind in dict.fromkeys(pair.case.question for pair in pairs):
        own = [pair.change for pair in pairs if pair.case.question == kind]
        certified = (counts[0].get(kind, 0), counts[1].get(kind, 0))
        title = words.problem(kind).title
        lines.append(Line(title, own.count(1), own.count(-1), own.count(0), certified))
    return lines


def _certified(rows: Iterable[Row], absent: Container[Identity]) -> dict[str, int]:
    counts: dict[str, int] = {}
    for row in rows:
        if identity(row) not in absent:
            counts[row.question] = counts.get(row.question, 0) + row.verified
    return counts


def _ranked(comparison: Comparison) -> list[Change]:
    """Worse ones first, then those that touch the answer, then the others."""
    return sorted(
        comparison.changes, key=lambda change: (not change.lost, -abs(_gain(change)), change.before.solver)
    )


def _gain(change: Change) -> float:
    a, b = change.before.objective, change.after.objective
    return 0.0 if a is None or b is None or not math.isfinite(b - a) else b - a


def _change(change: Change, words: Vocabulary) -> dict[str, str]:
    row, quantity = change.after, words.instance(change.after.question, change.after.instance).quantity
    a, b = (None if r.objective is None else quantity.of(r.objective) for r in (change.before, row))
    return {
        "title": words.instance(row.question, row.instance).title,
        "case": f"{quantity.budget} = {number(row.budget, 4)}" + (f", seed {row.seed}" if row.seed else ""),
        "solver": row.solver,
        "before": number(a, 6) or change.before.status.lower().replace("_", " "),
        "after": number(b, 6) or row.status.lower().replace("_", " "),
        "mark": "down" if change.lost else "up" if _gain(change) > 0 else "same",
        "what": change.what,
    }


def _only(rows: Sequence[Row]) -> str:
    solvers = sorted({row.solver for row in rows})
    listed = ", ".join(solvers[:3]) + (f" and {len(solvers) - 3} more solvers" if len(solvers) > 3 else "")
    return f"{len(rows)} runs ({listed})" if rows else ""


def _machines(old: Manifest, new: Manifest) -> list[tuple[str, str, str]]:
    """What differs between the environments of two runs."""
    names = dict.fromkeys((*old.environment, *new.environment))
    every = ((name, old.environment.get(name, "–"), new.environment.get(name, "–")) for name in names)
    return [line for line in every if line[1] != line[2]]


def _factor(ratio: TimeRatio) -> str:
    """A ratio of times in words."""
    return (
        f"{number(ratio.ratio, 3)} × the time"
        if ratio.ratio > 1
        else f"{number(1 / ratio.ratio, 3)} × faster"
    )


def write_comparison(before: Path, after: Path, page: Path, command: str) -> None:
    """Write the page of two runs from the files in their folders.

    Raises
    ------
    FileRefused
        If a file of a run is missing or malformed, or the page cannot be written.
    """
    text = compared_page(read_run(before), read_run(after), (str(before), str(after)), command)
    with writing(page) as stream:
        stream.write(text)
