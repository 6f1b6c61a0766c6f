"""The tables, the picture and the page of the measurement of ``solve``."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING

from privopt.benchmarks.regret.regrets import (
    HEADER,
    LATE,
    SHARES,
    Standing,
    latest,
    said,
    slowest,
    summary,
    worst,
)
from privopt.benchmarks.report.cells import Cell, Head, Table, quantity
from privopt.benchmarks.report.document import figure_style, svg
from privopt.benchmarks.report.shell import render
from privopt.errors import MissingExtra
from privopt.files.json import writing
from privopt.files.text import number
from privopt.plots.curves import COLOURS, MARKERS, new_figure

if TYPE_CHECKING:
    from markupsafe import Markup

FLOOR = 1e-6
"""Smaller regrets are drawn here."""
CEILING = 2.0
"""Larger ones, and those of cases without an answer, are drawn here."""
COLUMNS = (
    "case",
    "limit",
    "regret",
    "solve",
    "by",
    "best by name",
    "by whom",
    "bound",
    "anchor",
    "status",
    "seconds",
    "late",
    "fastest",
    "by whom",
)
_WORDS = (
    (
        "regret",
        (
            "How far solve's median objective is behind the best certified one that a solver by name reached at the same "
            "limit, as a share of the span from the anchor to that best; of |best| where the anchor has no value."
        ),
    ),
    (
        "best by name",
        (
            "Of all solvers that take the case but oracles. A run counts at every limit that it kept to. Where solve proved "
            "the optimum, solvers by name had 1.5 times its seconds: enough to tell who is faster."
        ),
    ),
    ("late", "Wall seconds of the whole call past the limit, the most of all repetitions."),
    (
        "fastest",
        (
            "Seconds of the fastest solver by name that proved the optimum, where solve did too. With repetitions the two took "
            "turns, alone on the machine: both seconds are the medians of that."
        ),
    ),
)


NOTHING = Table("", "", (), ())


@dataclass(frozen=True)
class Picture:
    """The picture as the page shows it; the tables of cases hold its numbers."""

    caption: str
    svg: Markup | str
    table: Table = NOTHING


def page(
    stands: Sequence[Standing],
    begun: str,
    seconds: float,
    environment: Mapping[str, str],
    command: str = "privopt bench dispatch",
) -> str:
    """The page as text: style, script and picture are inside."""
    kinds = dict.fromkeys(s.case.partition("/")[0] for s in stands)
    return render(
        "regret.html.j2",
        {
            "title": "privopt: is solve ever beaten, or late?",
            "mark": "dispatch",
            "kicker": f"Run of {begun}, {seconds:.0f} s",
            "headline": headline(stands),
            "sub": "What solve() answers by itself, beside every solver by name at the same limit.",
            "alarms": tuple(alarms(stands)),
            "header": [name.replace("<=", "≤").replace(" x ", " × ") for name in HEADER],
            "lines": summary(stands),
            "picture": _picture(stands),
            "extremes": [
                _table("largest", "Largest regrets", worst(stands)),
                _table("latest", "Latest", latest(stands)),
                _table("slowest", "Slowest where the optimum is proved", slowest(stands)),
            ],
            "kinds": [_table(kind.replace("_", "-"), _titled(kind), _of(stands, kind)) for kind in kinds],
            "meanings": _WORDS,
            "command": command,
            "environment": environment,
        },
    )


def headline(stands: Sequence[Standing]) -> str:
    """The finding in one line; a case counts once at each limit."""
    near = sum(s.regret <= SHARES[1] for s in stands)
    return f"{near} of {len(stands)} answers of solve() are at most 1 % behind the best solver by name"


def alarms(stands: Sequence[Standing]) -> Iterator[str]:
    """What must not be: far behind, or later than :data:`LATE` seconds."""
    far = sum(s.regret > SHARES[2] for s in stands)
    late = sum(s.late > LATE for s in stands)
    if far:
        yield f"{far} of {len(stands)} answers are more than 5 % behind."
    if late:
        yield f"{late} of {len(stands)} answers came more than {LATE:g} s late."


def _titled(kind: str) -> str:
    return kind.replace("_", " ").capitalize()


def _of(stands: Sequence[Standing], kind: str) -> list[Standing]:
    return [s for s in stands if s.case.startswith(kind + "/")]


def sentences(stands: Sequence[Standing]) -> tuple[str, ...]:
    """What came out, a sentence for each limit."""
    return tuple(
        f"Within {line[0]}: regret at most 0.1 % on {line[2]} of {line[1]} cases, at most 1 % on {line[3]}, at most 5 % on "
        f"{line[4]}; the largest {line[5]}; {line[6]} answers are the anchor though a solver does better; the latest "
        f"{line[7]} past the limit; {line[10]} proved optima took too long beside the fastest solver."
        for line in summary(stands)
    )


def _table(name: str, caption: str, stands: Sequence[Standing]) -> Table:
    return Table(name, caption, tuple(map(Head, COLUMNS)), tuple(map(_row, stands)))


def _row(s: Standing) -> tuple[Cell | str, ...]:
    return (
        s.case,
        quantity(s.limit, 3),
        Cell(said(s.regret, 3), s.regret, "bad" if s.regret > SHARES[1] else ""),
        quantity(s.objective, 9),
        s.winner,
        quantity(s.best, 9),
        s.best_by,
        quantity(s.bound, 9),
        quantity(s.anchor, 6),
        s.status,
        quantity(s.seconds, 3),
        Cell(number(s.late, 3), s.late, "bad" if s.late > LATE else ""),
        quantity(s.fastest, 3),
        s.fastest_by,
    )


def _picture(stands: Sequence[Standing]) -> Picture:
    from markupsafe import Markup

    caption = (
        f"Regret of every case, a column a kind of problem; lower is better. Below {FLOOR:g} at {FLOOR:g}, cases without an "
        f"answer at {CEILING:g}; lines at 0.1 %, 1 % and 5 %."
    )
    try:
        return Picture(caption, Markup(picture_svg(stands)))
    except MissingExtra as cause:
        return Picture(f"The picture was left out: {cause}.", "")


def picture_svg(stands: Sequence[Standing]) -> str:
    """Regret of each case, by kind of problem and limit.

    Raises
    ------
    MissingExtra
        If matplotlib is not installed.
    """
    kinds = list(dict.fromkeys(s.case.partition("/")[0] for s in stands))
    limits = sorted({s.limit for s in stands})
    with figure_style():
        chart, axes = new_figure(8.0, 4.2)
        for place, limit in enumerate(limits):
            points = list(_points(stands, kinds, limit, (place + 0.5) / len(limits)))
            axes.scatter(
                [x for x, _ in points],
                [y for _, y in points],
                s=14,
                facecolors="none",
                edgecolors=COLOURS[place % len(COLOURS)],
                marker=MARKERS[place % len(MARKERS)],
                label=f"{limit:g} s",
            )
        for level in (0.001, 0.01, 0.05):
            axes.axhline(level, linewidth=0.8, linestyle="--", color="#888888")
        axes.set_yscale("log")
        axes.set_ylim(FLOOR / 2, 2 * CEILING)
        # Words are wider than columns: every second label stands lower.
        names = ["\n\n\n" * (i % 2) + kind.replace("_", "\n") for i, kind in enumerate(kinds)]
        axes.set_xticks([i + 0.5 for i in range(len(kinds))], names)
        axes.tick_params(axis="x", labelsize=7)
        axes.set_ylabel("regret")
        axes.legend(frameon=False, ncols=len(limits), loc="lower left", bbox_to_anchor=(0.0, 1.0))
        return svg(chart, "regrets", "Regret of every case")


def _points(
    stands: Sequence[Standing], kinds: Sequence[str], limit: float, share: float
) -> Iterator[tuple[float, float]]:
    """Where the cases are drawn: in the column of their kind, side by side in their order."""
    for column, kind in enumerate(kinds):
        here = [s for s in _of(stands, kind) if s.limit == limit]
        for i, s in enumerate(here):
            yield (
                column + 0.1 + 0.8 * (i + share) / len(here),
                min(CEILING, max(FLOOR, s.regret if math.isfinite(s.regret) else CEILING)),
            )


def write_standings(path: Path, stands: Sequence[Standing]) -> None:
    """Write every standing as CSV, whole or not at all.

    Raises
    ------
    FileRefused
        If the file cannot be written.
    """
    with writing(path) as stream:
        sheet = csv.DictWriter(stream, [f.name for f in fields(Standing)], lineterminator="\n")
        sheet.writeheader()
        sheet.writerows(map(asdict, stands))
