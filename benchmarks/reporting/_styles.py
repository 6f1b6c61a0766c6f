"""How solvers look: one colour, dash and marker each, the same in every figure of a report."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from privopt.benchmarks.reporting._judged import Judged

COLOURS = ("#1451f9", "#806221", "#0195f3", "#cc03bf", "#73a101", "#fd2a73", "#14744f", "#c07bb4")
"""Each has a contrast of three to white and to the dark ground; any two stay apart under protanopia and
deuteranopia (CIE76 distance above 20 by the matrices of Machado, Oliveira and Fernandes 2009)."""
MARKERS = ("circle", "square", "triangle-up", "diamond", "cross", "triangle-down", "triangle-right")
DASHES = ((), (6, 2), (2, 2), (8, 2, 2, 2), (4, 4))


@dataclass(frozen=True)
class Style:
    """Colour as hexadecimal, dash as lengths of strokes and gaps, marker by Vega's name."""

    colour: str
    dash: tuple[int, ...]
    marker: str


def style(place: int) -> Style:
    """The style of a place; the first 280 differ, because 8, 5 and 7 have no common factor.

    Examples
    --------
    >>> len({style(i) for i in range(280)})
    280
    """
    return Style(COLOURS[place % len(COLOURS)], DASHES[place % len(DASHES)], MARKERS[place % len(MARKERS)])


def styles(rows: Iterable[Judged]) -> dict[str, Style]:
    """A style for every solver: the earliest that no solver of the same questions has."""
    asked: dict[str, set[str]] = {}
    for j in rows:
        asked.setdefault(j.row.solver, set()).add(j.row.question)
    taken: dict[str, set[int]] = {}
    found = {}
    for solver in sorted(asked, key=lambda name: (-len(asked[name]), name)):
        used = {place for question in asked[solver] for place in taken.get(question, ())}
        place = next(i for i in range(len(used) + 1) if i not in used)
        found[solver] = style(place)
        for question in asked[solver]:
            taken.setdefault(question, set()).add(place)
    return found
