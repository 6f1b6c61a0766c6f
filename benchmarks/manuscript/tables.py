"""Tables of a manuscript: solvers by cases with the best in bold, and chosen columns for every case."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from privopt.benchmarks.manuscript.cells import Cell, Number, Table, Text, decimals_for, distinct, slug
from privopt.benchmarks.manuscript.references import solver_sources
from privopt.benchmarks.manuscript.units import NATS, Measure, measure_of, scale_of
from privopt.benchmarks.report.judged import Case, Judged
from privopt.benchmarks.report.results import SIGNS, UNDECIDED, Result, Sample, claimed, ranking, results
from privopt.benchmarks.runner.rows import AUTO
from privopt.benchmarks.runner.spread import ENOUGH
from privopt.benchmarks.runner.vocabulary import Vocabulary
from privopt.errors import InvalidProblem

WIDEST = {False: 8, True: 4}
"""Most columns of numbers in a table, by whether each has a standard deviation beside it."""
SOLVE = "solve()"
"""What ``privopt.solve`` is called in tables and figures."""


def label(solver: str) -> str:
    """The name of a solver as it is shown."""
    return SOLVE if solver == AUTO else solver


@dataclass(frozen=True)
class Manner:
    """How tables and figures are written.

    Parameters
    ----------
    columns : tuple of str
        Members of :data:`COLUMNS`, for the table of every case.
    units : str
        "nats" or "bits".
    highlight : tuple of str
        Solvers that stand below the others in tables, and out in figures.
    """

    columns: tuple[str, ...] = ("value", "bound", "gap", "leakage", "seconds")
    units: str = NATS
    highlight: tuple[str, ...] = ()


@dataclass(frozen=True)
class Column:
    """A column of numbers: its head, and how it is read off a run.

    ``objective`` says that it is the objective or a bound on it, ``least`` that the smallest mean of a case is set in bold.
    """

    head: Callable[[Measure, str], str]
    read: Callable[[Judged, Measure, str], float | None]
    objective: bool = False
    least: bool = False


def _nats(read: Callable[[Judged], float | None]) -> Callable[[Judged, Measure, str], float | None]:
    def scaled(j: Judged, measure: Measure, units: str) -> float | None:
        value = read(j)
        return None if value is None else value * scale_of(NATS, units).factor

    return scaled


def _plain(name: str) -> Callable[[Measure, str], str]:
    return lambda measure, units: name


def _value(j: Judged, measure: Measure, units: str) -> float | None:
    return None if j.row.objective is None else measure.of(j.row.objective)


def _bound(j: Judged, measure: Measure, units: str) -> float | None:
    return None if j.row.bound is None else measure.of(j.row.bound)


def _gap(j: Judged, measure: Measure, units: str) -> float | None:
    return None if j.gap is None else measure.difference(j.gap)


def _worse(j: Judged, measure: Measure, units: str) -> float | None:
    if j.best is None or j.row.objective is None:
        return None
    lost = max(0.0, j.best - j.row.objective)
    return 0.0 if lost == 0 else (100 * lost / abs(j.best) if j.best else None)


COLUMNS: dict[str, Column] = {
    "value": Column(lambda measure, units: measure.title, _value, objective=True),
    "worse": Column(_plain("worse than the best (%)"), _worse),
    "bound": Column(_plain("bound"), _bound, objective=True),
    "gap": Column(_plain("gap"), _gap),
    "leakage": Column(lambda measure, units: scale_of(NATS, units).title("leakage"), _nats(lambda j: j.row.leakage)),
    "seconds": Column(_plain("time (s)"), lambda j, measure, units: j.row.seconds, least=True),
    "cpu": Column(_plain("processor time (s)"), lambda j, measure, units: j.row.cpu, least=True),
    "cold": Column(_plain("first time (s)"), lambda j, measure, units: j.row.cold_seconds, least=True),
    "memory": Column(_plain("memory (MiB)"), lambda j, measure, units: j.row.peak_memory, least=True),
    "size": Column(_plain("size"), lambda j, measure, units: float(j.row.size)),
    "iterations": Column(
        _plain("iterations"), lambda j, measure, units: None if j.row.iterations is None else float(j.row.iterations)
    ),
}  # fmt: skip
"""Numbers that a table of every case can have."""


def checked_columns(names: Iterable[str]) -> tuple[str, ...]:
    """The columns by name.

    Raises
    ------
    InvalidProblem
        If one is unknown, or there is none.

    Examples
    --------
    >>> checked_columns([" Value", "gap"])
    ('value', 'gap')
    """
    chosen = tuple(dict.fromkeys(name.strip().lower() for name in names if name.strip()))
    odd = [name for name in chosen if name not in COLUMNS]
    if odd or not chosen:
        raise InvalidProblem(
            f"a table has no column {', '.join(odd) or 'at all'}; choose with commas among {', '.join(COLUMNS)}"
        )
    return chosen


def checked_highlight(names: Iterable[str], rows: Sequence[Judged]) -> tuple[str, ...]:
    """The solvers to set off, "solve()" among them under the name of its rows.

    Raises
    ------
    InvalidProblem
        If the run has no such solver.
    """
    known = {j.row.solver for j in rows}
    chosen = tuple(dict.fromkeys(AUTO if name == SOLVE else name for name in names))
    odd = [name for name in chosen if name not in known]
    if odd:
        raise InvalidProblem(
            f"the run has no solver {', '.join(odd)} to highlight; it has {', '.join(sorted(map(label, known)))}"
        )
    return chosen


def tables(rows: Sequence[Judged], words: Vocabulary, manner: Manner) -> tuple[Table, ...]:
    """For every problem: solvers by cases, as many tables as fit their columns, then every case with the chosen columns."""
    made: list[Table] = []
    for kind in dict.fromkeys(j.row.question for j in rows):
        own = [j for j in rows if j.row.question == kind]
        problem = _Problem(kind, own, words, manner)
        made += [*problem.by_case(), problem.every_case()]
    names = distinct([table.name for table in made])
    return tuple(
        replace(table, name=name) for table, name in zip(made, names, strict=True) if len(table.lines)
    )


class _Problem:
    """The tables of one kind of problem."""

    def __init__(self, kind: str, rows: Sequence[Judged], words: Vocabulary, manner: Manner) -> None:
        self.kind, self.words, self.manner = kind, words, manner
        self.title = words.problem(kind).title
        self.results = results(rows)
        self.claims = claimed(self.results)
        self.by_key = {(one.case, one.solver): one for one in self.results}
        self.cases = tuple(dict.fromkeys(one.case for one in self.results))
        self.measures = {
            case: measure_of(
                words, kind, case.instance, [j for j in rows if j.case[:3] == case[:3]], manner.units
            )
            for case in self.cases
        }
        ranked = ranking(self.results)
        last = [name for name in manner.highlight if name in ranked]
        self.solvers = (*(name for name in ranked if name not in last), *last)
        self.last = len(last)
        self.repeated = any(one.objective is not None and one.objective.sd for one in self.results)
        self.repetitions = max((len(one.runs) for one in self.results), default=0)

    def by_case(self) -> Iterator[Table]:
        """Solvers by cases, whole instances together where they fit."""
        chunks = list(_packed(self.cases, WIDEST[self.repeated]))
        for place, cases in enumerate(chunks, 1):
            part = f" (part {place} of {len(chunks)})" if len(chunks) > 1 else ""
            solvers = [s for s in self.solvers if any(self._answered(case, s) for case in cases)]
            decimals = [self._decimals(case, solvers) for case in cases]
            yield Table(
                slug(self.kind, "by-case", *([str(place)] if len(chunks) > 1 else [])),
                f"{self.title}{part}: {self._said(cases)}{self._notes(cases, solvers)}",
                (Text("solver"), *(Text(_budget(case.budget)) for case in cases)),
                tuple(
                    (self._name(solver), *(self._cell(c, solver, d) for c, d in zip(cases, decimals, strict=True)))
                    for solver in solvers
                ),
                tuple(self._groups(cases)),
                sum(s in self.manner.highlight for s in solvers),
            )  # fmt: skip

    def every_case(self) -> Table:
        """A line a case and solver that answers it, with the chosen columns."""
        chosen = [COLUMNS[name] for name in self.manner.columns]
        measures = [self.measures[case] for case in self.cases]
        heads = [self._head(column, measures) for column in chosen]
        lines = [line for case in self.cases for line in self._lines(case, chosen)]
        return Table(
            slug(self.kind, "every-case"),
            f"{self.title}, every case: the best value and the least time of a case in bold{self._spread()}."
            f"{self._tied()}{self._bounds()}",
            (Text("instance"), Text("budget"), Text("solver"), *map(Text, heads)),
            _steady(lines),
            headed=True,
        )

    def _head(self, column: Column, measures: Sequence[Measure]) -> str:
        heads = dict.fromkeys(column.head(measure, self.manner.units) for measure in measures)
        return next(iter(heads)) if len(heads) == 1 else "value"

    def _lines(self, case: Case, chosen: Sequence[Column]) -> Iterator[tuple[Cell, ...]]:
        own = [(s, self.by_key[case, s]) for s in self.solvers if self._answered(case, s)]
        measure, units = self.measures[case], self.manner.units
        samples = [[_sample(one, column, measure, units) for column in chosen] for _, one in own]
        least = [
            _least([line[i] for line in samples]) if column.least else None for i, column in enumerate(chosen)
        ]
        title = self.words.instance(self.kind, case.instance).title
        decimals = self._decimals(case, [solver for solver, _ in own])
        for (solver, _), line in zip(own, samples, strict=True):
            best, undecided = self._claim(case, solver)
            cells = (
                _number(
                    sample,
                    decimals if column.objective else None,
                    bold=(best and column is COLUMNS["value"]) or (sample is not None and sample.mean == low),
                    sign=UNDECIDED if undecided and column is COLUMNS["value"] else "",
                )
                for column, sample, low in zip(chosen, line, least, strict=True)
            )
            yield (Text(title), Text(_budget(case.budget)), Text(label(solver)), *cells)

    def _answered(self, case: Case, solver: str) -> bool:
        one = self.by_key.get((case, solver))
        return one is not None and bool(one.answers)

    def _decimals(self, case: Case, solvers: Sequence[str]) -> int:
        shown = [self.by_key[case, s].objective for s in solvers if self._answered(case, s)]
        return decimals_for(self.measures[case].of(sample.mean) for sample in shown if sample is not None)

    def _cell(self, case: Case, solver: str, decimals: int) -> Number:
        one = self.by_key.get((case, solver), Result(case, solver, ()))
        measure = self.measures[case]
        sample = one.sample(lambda j: _value(j, measure, self.manner.units))
        if sample is None:
            return Number(None, sign=one.sign if one.runs else "")
        spread = sample.sd if self.repeated else None
        best, undecided = self._claim(case, solver)
        return Number(sample.mean, spread, decimals, best, one.sign + (UNDECIDED if undecided else ""))

    def _claim(self, case: Case, solver: str) -> tuple[bool, bool]:
        """Whether a solver is best on a case, and whether it cannot be told from the best."""
        own = self.claims[case]
        return solver in own.best, solver in own.undecided

    def _name(self, solver: str) -> Text:
        return Text(label(solver), solver_sources(self.kind, solver))

    def _groups(self, cases: Sequence[Case]) -> Iterator[tuple[str, int]]:
        spans: dict[tuple[str, str], int] = {}
        for case in cases:
            spans[case.suite, case.instance] = spans.get((case.suite, case.instance), 0) + 1
        for (_, instance), span in spans.items():
            told = self.words.instance(self.kind, instance)
            yield f"{told.title} ({told.quantity.budget})", span

    def _said(self, cases: Sequence[Case]) -> str:
        """What is shown and which way is better, for all instances or for each."""
        said: dict[str, list[str]] = {}
        for case in cases:
            measure = self.measures[case]
            names = said.setdefault(f"{measure.title}, {measure.quantity.better} is better", [])
            title = self.words.instance(self.kind, case.instance).title
            if title not in names:
                names.append(title)
        if len(said) == 1:
            return f"{next(iter(said))}. "
        return "".join(f"{', '.join(names)}: {text}. " for text, names in said.items())

    def _notes(self, cases: Sequence[Case], solvers: Sequence[str]) -> str:
        signs = {sign for case in cases for solver in solvers for sign in self._cell(case, solver, 0).sign}
        meanings = "; ".join(f"{sign} {SIGNS[sign]}" for sign in SIGNS if sign in signs)
        key = f" {meanings}." if meanings else ""
        return f"Best in bold{self._spread()}.{key}"

    def _tied(self) -> str:
        tied = any(own.undecided for own in self.claims.values())
        return f" {UNDECIDED} {SIGNS[UNDECIDED]}." if tied else ""

    def _bounds(self) -> str:
        """Which bounds the columns are about."""
        said = {
            "bound": "Bound: the checked bound that the solver itself came with.",
            "gap": "Gap: between the value and the tightest checked bound of the case, whichever solver came with it.",
        }
        return "".join(f" {text}" for name, text in said.items() if name in self.manner.columns)

    def _spread(self) -> str:
        if self.repetitions < 2:
            return ""
        if not self.repeated:
            return f"; each of {self.repetitions} repetitions reached the same values"
        return (
            f"; mean (standard deviation) of {self.repetitions} repetitions, and bold only where the quartiles of at least "
            f"{ENOUGH} lie nowhere below those of another solver"
        )


def _steady(lines: Sequence[tuple[Cell, ...]]) -> tuple[tuple[Cell, ...], ...]:
    """The lines, where numbers of a column that never vary have no standard deviation."""
    columns = range(len(lines[0])) if lines else range(0)
    vary = [any(isinstance(line[i], Number) and line[i].sd for line in lines) for i in columns]  # type: ignore[union-attr]
    return tuple(
        tuple(
            cell if vary[i] or isinstance(cell, Text) else replace(cell, sd=None)
            for i, cell in enumerate(line)
        )
        for line in lines
    )


def _sample(one: Result, column: Column, measure: Measure, units: str) -> Sample | None:
    return one.sample(lambda j: column.read(j, measure, units))


def _least(samples: Sequence[Sample | None]) -> float | None:
    return min((sample.mean for sample in samples if sample is not None), default=None)


def _number(sample: Sample | None, decimals: int | None, *, bold: bool, sign: str = "") -> Number:
    return Number(None) if sample is None else Number(sample.mean, sample.sd, decimals, bold, sign)


def _budget(value: float) -> str:
    return f"{value:.4g}".replace("inf", "∞")


def _packed(cases: Sequence[Case], widest: int) -> Iterator[list[Case]]:
    """Cases in groups of at most so many, an instance in one group where it fits."""
    by_instance: dict[tuple[str, str], list[Case]] = {}
    for case in cases:
        by_instance.setdefault((case.suite, case.instance), []).append(case)
    group: list[Case] = []
    for own in by_instance.values():
        parts = [own[i : i + widest] for i in range(0, len(own), widest)]
        for part in parts:
            if group and len(group) + len(part) > widest:
                yield group
                group = []
            group = [*group, *part]
    if group:
        yield group
