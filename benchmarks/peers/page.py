"""The table and the page of the comparison with peers."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from privopt.benchmarks.peers.rows import PeerRow, PeerSummary, geometric_mean
from privopt.benchmarks.report.cells import Cell, Head, Table, quantity
from privopt.benchmarks.report.shell import render
from privopt.benchmarks.report.tools import ToolCell, ToolLine, ToolMatrix
from privopt.benchmarks.runner.vocabulary import Reference, plain, problem_words
from privopt.benchmarks.timings.run import times
from privopt.core.registry import problem_types
from privopt.files.text import number

HEADER = (
    "question",
    "peer",
    "answered",
    "its time / ours",
    "its objective - ours",
    "proved private",
    "largest excess",
    "without an answer",
)
COLUMNS = (
    "instance",
    "size",
    "budget",
    "peer",
    "status",
    "its seconds",
    "our seconds",
    "ratio",
    "its objective",
    "it claims",
    "our objective",
    "our status",
    "difference",
    "excess",
    "private",
    "why, or where it leaks most",
)
_WORDS = (
    (
        "its time / ours",
        (
            "Geometric mean of the ratios of wall times. Both tools answer in one process that has warmed both up; ours "
            "include quantising and certifying the mechanism, which no peer does. Work under 0.1 s is the median of three runs."
        ),
    ),
    (
        "its objective - ours",
        (
            "Least and largest difference, as the problem reads the peer's raw mechanism. Above 0 it got more, which means "
            "little where it is not private."
        ),
    ),
    (
        "proved private",
        "How many of its raw mechanisms, turned into integers as ours are, are proved to keep the budget exactly.",
    ),
    (
        "largest excess",
        (
            "By how much a raw mechanism misses the budget as read in floats, in the unit of the budget; up to 1e-15 or so is "
            "rounding, inf means that a release excludes a value of the secret."
        ),
    ),
)


def sentences(rows: Sequence[PeerRow]) -> tuple[str, ...]:
    """What was found, in four sentences."""
    answered = [r for r in rows if r.status == "answered"]
    leaking = [r for r in answered if r.excess is not None and r.excess > 1e-9]
    unproved = sum(not r.proved for r in answered)
    more = sum((r.difference or 0) > 1e-6 for r in answered if r.proved)
    ours = {(r.question, r.instance, r.budget): r.our_certified for r in rows if r.our_status}
    return (
        f"{len({r.peer for r in rows})} peers were asked {len(rows)} times and answered {len(answered)} times.",
        f"{unproved} of these answers are not proved to keep the budget; {len(leaking)} miss it by more than 1e-9.",
        f"{more} proved answers reach more than 1e-6 above ours.",
        f"privopt's answer was certified at {sum(ours.values())} of {len(ours)} instances.",
    )


def cells(one: PeerSummary) -> tuple[str, ...]:
    """The cells of a line under :data:`HEADER`."""
    spread = "" if one.least is None else f"{number(one.least, 3)} .. {number(one.most, 3)}"
    return (
        one.question,
        one.peer,
        f"{one.answered} of {one.instances}",
        times(one.ratio),
        spread,
        f"{one.proved} of {one.answered}" if one.answered else "",
        number(one.excess, 3),
        one.reason,
    )


ALIKE = 1e-6
"""Differences of objectives, relative to max(1, |ours|), up to which an answer is as good as ours."""
BEYOND = 1e-9
"""An excess over the budget that rounding does not explain."""


def standing(rows: Sequence[PeerRow]) -> ToolCell:
    """Whether a tool was private at a problem, then whether it was as good, then its time beside ours."""
    answered = [r for r in rows if r.status == "answered"]
    if not answered:
        return ToolCell("none", "–", "cannot be asked" if rows[0].status == "refused" else rows[0].status)
    speed = _speed(geometric_mean([r.ratio for r in answered if r.ratio is not None]))
    unproved = [r for r in answered if not r.proved]
    if unproved:
        worst = max((r.excess for r in unproved if r.excess is not None), default=0.0)
        by = (
            "by rounding"
            if worst <= BEYOND
            else "without bound"
            if math.isinf(worst)
            else f"by up to {_two(worst)}"
        )
        said = f"not private, {by}" if worst > BEYOND else f"not proved, {by}"
        many = "" if len(answered) == 1 else f", in {len(unproved)} of {len(answered)}"
        return ToolCell("bad", "✕", said + many, speed)
    worse = [_worse(r) for r in answered]
    if max(worse) <= ALIKE:
        return ToolCell("good", "●", "private, as good", speed)
    return ToolCell("", "◐", f"private, {_percent(max(worse))} worse", speed)


def _worse(r: PeerRow) -> float:
    """By how much an answer is worse, relative to ours; 0 where we have none."""
    if r.difference is None or r.our_objective is None:
        return 0.0
    lost = max(0.0, -r.difference)
    return lost if lost <= ALIKE else lost / max(abs(r.our_objective), ALIKE)


def _percent(share: float) -> str:
    return f"{_two(100 * share)} %" if share < 10 else f"{_two(share)} times"


def _two(value: float) -> str:
    """A number to two digits, without an exponent up to a million."""
    return number(float(f"{value:.2g}"))


def _speed(ratio: float | None) -> str:
    """Its time beside ours in words.

    Examples
    --------
    >>> _speed(0.14), _speed(1.31), _speed(1.02), _speed(None)
    ('7.1 × faster', '1.3 × slower', 'as fast', '')
    """
    if ratio is None:
        return ""
    if 0.95 <= ratio <= 1.05:
        return "as fast"
    return f"{_two(1 / ratio)} × faster" if ratio < 1 else f"{_two(ratio)} × slower"


def headline(rows: Sequence[PeerRow]) -> str:
    """The finding in one line."""
    answered = [r for r in rows if r.status == "answered"]
    timed = [r.ratio for r in answered if r.ratio is not None]
    unproved, faster = sum(not r.proved for r in answered), sum(ratio < 1 for ratio in timed)
    return (
        f"{unproved} of {len(answered)} answers of other tools are not proved to keep the budget; "
        f"{faster} of {len(timed)} are faster"
    )


def matrix(rows: Sequence[PeerRow]) -> ToolMatrix:
    """What a page says of other tools; those asked about most problems come first.

    Examples
    --------
    >>> matrix([PeerRow("redaction", "tool", "i", 3, 1.0, "answered", seconds=1.0, proved=True)]).headline
    '0 of 1 answers of other tools are not proved to keep the budget; 0 of 0 are faster'
    """
    kinds = tuple(dict.fromkeys(r.question for r in rows))
    groups: dict[str, dict[str, list[PeerRow]]] = {}
    for r in rows:
        groups.setdefault(r.peer, {}).setdefault(r.question, []).append(r)
    order = sorted(groups.items(), key=lambda pair: (-len(pair[1]), pair[0]))
    return ToolMatrix(
        headline(rows),
        " ".join(sentences(rows)[2:]),
        tuple(map(_title, kinds)),
        tuple(
            ToolLine(peer, tuple(standing(own[q]) if q in own else None for q in kinds))
            for peer, own in order
        ),
    )


def page(
    rows: Sequence[PeerRow], begun: str, seconds: float, environment: Mapping[str, str], command: str = ""
) -> str:
    """The page as text: style and script are inside."""
    titles = {kind: _title(kind) for kind in dict.fromkeys(r.question for r in rows)}
    made = matrix(rows)
    return render(
        "peers.html.j2",
        {
            "title": "privopt beside other tools",
            "mark": "other tools",
            "kicker": f"Run of {begun}, {seconds:.0f} s",
            "headline": made.headline,
            "sub": made.said,
            "matrix": made,
            "tables": [
                (title, _rows(title, [r for r in rows if r.question == kind]))
                for kind, title in titles.items()
            ],
            "meanings": _WORDS,
            "command": command or "privopt bench peers",
            "environment": environment,
        },
    )


def _title(kind: str) -> str:
    """What a kind of problem is called."""
    cls = problem_types().get(kind)
    return plain(kind) if cls is None else problem_words(cls, Reference()).short


def _rows(title: str, rows: Sequence[PeerRow]) -> Table:
    return Table("peers", f"{title}: {len(rows)} rows", tuple(map(Head, COLUMNS)), tuple(map(_row, rows)))


def _row(r: PeerRow) -> tuple[Cell | str, ...]:
    private = "" if r.status != "answered" else "proved" if r.proved else "not proved"
    return (
        r.instance,
        quantity(r.size),
        quantity(r.budget),
        r.peer,
        r.status,
        quantity(r.seconds, 3),
        quantity(r.our_seconds, 3),
        Cell(times(r.ratio), math.nan if r.ratio is None else r.ratio),
        quantity(r.objective, 9),
        quantity(r.claimed, 9),
        quantity(r.our_objective, 9),
        f"{r.our_status.lower()} by {r.our_solver}" if r.our_status else "",
        quantity(r.difference, 3),
        quantity(r.excess, 3),
        Cell(private, kind="bad" if private == "not proved" else ""),
        r.reason,
    )
