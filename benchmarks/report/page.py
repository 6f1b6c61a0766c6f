"""The report as one HTML page that needs nothing but itself."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from privopt.benchmarks.report.board import ProblemLine, board
from privopt.benchmarks.report.entries import percent
from privopt.benchmarks.report.figure import Figure, library
from privopt.benchmarks.report.judged import Judged, encode
from privopt.benchmarks.report.mechanism import draw
from privopt.benchmarks.report.packed import coarse, compact, letters, packed
from privopt.benchmarks.report.shell import render
from privopt.benchmarks.report.standings import Standing
from privopt.benchmarks.report.tools import ToolMatrix
from privopt.benchmarks.runner.folder import Manifest, Released
from privopt.benchmarks.runner.rows import AUTO, Row
from privopt.benchmarks.runner.traces import Series
from privopt.benchmarks.runner.vocabulary import Vocabulary
from privopt.core.solution import Status
from privopt.errors import MissingExtra
from privopt.files.text import number

SCRIPTS = (
    "unpack.js", "numbers.js", "state.js", "problem.js", "draw.js", "frontier.js", "speed.js", "profile.js", "cost.js", "anytime.js",
    "against.js", "table.js", "save.js", "print.js", "tips.js", "folded.js", "runs.js", "search.js", "main.js",
)  # fmt: skip

DIGITS = 9
"""Of what solvers told over time."""


@dataclass(frozen=True)
class Told:
    """What a page says beside the rows: red warnings, what was released, how runs went, what other tools made of it."""

    warnings: tuple[str, ...] = ()
    released: Released | None = None
    sentences: tuple[str, ...] = ()
    series: tuple[Series, ...] = ()
    tools: ToolMatrix | None = None


def page(manifest: Manifest, rows: Sequence[Judged], words: Vocabulary, told: Told) -> str:
    """The page as text: style, script and data are inside, and nothing is fetched.

    Without the packages of figures the page says so, and has all else.
    """
    first = board(rows, words)
    engine, missing = _library()
    mechanism = _mechanism(told.released) if engine else None
    data = {**packed(first, rows, words), "missing": missing, "mechanism": mechanism}
    data["traces"] = _traces(rows, told.series)
    released = () if told.released is None else tuple((line[0], line[-1]) for line in told.released.lines)
    return render(
        "report.html.j2",
        {
            "title": f"privopt · {manifest.suite} · which solver",
            "mark": manifest.suite,
            "board": first,
            "words": words,
            "kicker": _kicker(manifest, len(rows)),
            "warnings": told.warnings,
            "failing": sum(alarm.red for alarm in first.alarms),
            "infinity": math.inf,
            "refused": sum(j.row.status == Status.REFUSED.name for j in rows),
            "rows": len(rows),
            "repeated": bool(data["spreads"]),
            "released": released,
            "shown": sum(value != "" for _, value in released),
            "said": told.sentences,
            "tools": told.tools,
            "command": command(manifest, rows),
            "jobs": _together(manifest),
            "environment": {name: text for name, text in manifest.environment.items() if name != "command"},
            "describe": manifest.describe,
            "about": manifest.about,
            "data": letters(compact(data)),
            "library": letters(engine) if engine else "",
            "scripts": SCRIPTS,
            "named_case": lambda row: _named_case(row, words),
            "called": lambda solver: "solve()" if solver == AUTO else solver,
            "loss": percent,
            "strip": _strip,
            "marks": _MARKS,
        },
    )


_MARKS = {standing: "leaky" if standing is Standing.LEAKS else standing.value for standing in Standing}
_COUNTED = {
    Standing.ALL: "best in every case that it takes",
    Standing.SOME: "best in some",
    Standing.NONE: "never best",
    Standing.LEAKS: "not private",
    Standing.REFUSED: "takes none",
}


def _strip(line: ProblemLine) -> str:
    """The marks of a problem in words, for those who hear them."""
    counts = Counter(s.standing for s in line.solvers)
    parts = [f"{counts[standing]} {text}" for standing, text in _COUNTED.items() if counts[standing]]
    return f"{len(line.solvers)} solvers: {', '.join(parts)}. Arrow keys name them."


def _library() -> tuple[str, str]:
    """The script that draws, or a sentence on why there is none."""
    try:
        return library()[0], ""
    except MissingExtra as cause:
        return "", f"Figures were left out: {cause}. The table below holds the same numbers."


def _traces(rows: Sequence[Judged], series: Sequence[Series]) -> dict[str, list[list[Any]]]:
    """What solvers told on the way, by the places of their rows."""
    places = {id(j.row): i for i, j in enumerate(rows)}
    return {
        str(places[id(one.row)]): [[encode(coarse(value, DIGITS)) for value in point] for point in one.points]
        for one in series
        if one.told and id(one.row) in places
    }


def _mechanism(released: Released | None) -> Mapping[str, Any] | None:
    drawn: Figure | None = None if released is None else draw(released)
    if drawn is None:
        return None
    datasets = {name: data.dictionaries() for name, data in drawn.data.items()}
    return {"title": drawn.title, "caption": drawn.caption, "spec": {**drawn.spec, "datasets": datasets}}


def _kicker(manifest: Manifest, runs: int) -> list[str]:
    """Suite, date, runs, machine, version and commit, as far as they are known."""
    known = manifest.environment
    machine = re.sub(r"\((R|TM)\)|\bCPU\b|@.*|\s+", " ", known.get("processor", "")).split()
    version = f"privopt {known.get('privopt', '')}" + (f" ({known['commit']})" if "commit" in known else "")
    return [
        f"Suite “{manifest.suite}”",
        manifest.begun,
        f"{runs} runs in {manifest.seconds:.0f} s",
        *((f"{' '.join(machine)}, {known.get('cores', '?')} cores",) if machine else ()),
        *((version,) if "privopt" in known else ()),
    ]


def _together(manifest: Manifest) -> str:
    """That times were taken side by side, if they were."""
    jobs = manifest.environment.get("jobs", "1")
    return "" if jobs == "1" else f"Times were taken {jobs} at a time: use --jobs 1 for times to publish."


def command(manifest: Manifest, rows: Sequence[Judged]) -> str:
    """What runs it again: as recorded, else from the rows.

    Examples
    --------
    >>> command(Manifest("quick", "", (), "", 0.0, {"command": "privopt bench run quick"}), ())
    'privopt bench run quick'
    """
    if "command" in manifest.environment:
        return manifest.environment["command"]
    seeds = sorted({j.row.seed for j in rows})
    limits = Counter(j.row.time_limit for j in rows).most_common(1)
    told = f" --seeds {','.join(map(str, seeds))}" if seeds else ""
    return f"privopt bench run {manifest.suite}{told}" + "".join(
        f" --time-limit {number(s)}" for s, _ in limits
    )


def _named_case(row: Row, words: Vocabulary) -> str:
    told = words.instance(row.question, row.instance)
    return f"{told.title}, {told.quantity.budget} = {number(row.budget)}"
