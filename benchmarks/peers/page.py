"""The table and the page of the comparison with peers."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from privopt.benchmarks.peers.rows import PeerRow, PeerSummary, summaries
from privopt.benchmarks.report.cells import Cell, quantity, table
from privopt.benchmarks.report.document import Section, document, facts, paragraphs, result, words
from privopt.benchmarks.timings.run import times
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


def page(rows: Sequence[PeerRow], begun: str, seconds: float, environment: Mapping[str, str]) -> str:
    """The page as text: style and script are inside."""
    lines = summaries(rows)
    return document(
        "privopt: the same work by peers",
        "What a user would pick instead, at the same problems in the same run, judged by the same judge.",
        f"Run of {begun}, {seconds:.0f} s.",
        (
            Section(
                "summary",
                "Summary",
                result(sentences(rows), True) + table(HEADER, map(_line, lines), "peers"),
            ),
            *(
                Section(q.replace("_", "-"), q.replace("_", " "), _rows([r for r in rows if r.question == q]))
                for q in dict.fromkeys(r.question for r in rows)
            ),
            Section("words", "How to read this", words(_WORDS)),
            Section("environment", "Environment", facts(environment)),
        ),
    )


def _line(one: PeerSummary) -> tuple[Cell | str, ...]:
    shown = cells(one)
    bad = "bad" if one.answered and one.proved < one.answered else ""
    return (
        *shown[:3],
        Cell(shown[3], math.nan if one.ratio is None else one.ratio),
        shown[4],
        Cell(shown[5], kind=bad),
        quantity(one.excess, 3),
        shown[7],
    )


def _rows(rows: Sequence[PeerRow]) -> str:
    if not rows:
        return paragraphs(["Nobody was asked."])
    return table(COLUMNS, map(_row, rows), f"{rows[0].question}: {len(rows)} rows")


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
