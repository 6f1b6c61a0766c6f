"""The printed items of the paper on sequences, and the functions that compute each of them again."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from privopt._text import number
from privopt.benchmarks._papers import Finding


@dataclass(frozen=True)
class Answer:
    """Our value of a printed item, the verdict, and why in one sentence."""

    ours: str
    finding: Finding
    why: str


Check = Callable[[bool], Answer]
"""Computes an item; True asks for few instances and coarse grids."""

CHECKS: dict[str, Check] = {}
"""What computes each item, by its name; filled by the modules of this paper when they are imported."""


def answers(name: str) -> Callable[[Check], Check]:
    """Decorate the function that computes an item.

    Raises
    ------
    ValueError
        If something computes it already.
    """

    def enter(check: Check) -> Check:
        if name in CHECKS:
            raise ValueError(f"item {name} is computed twice")
        CHECKS[name] = check
        return check

    return enter


def law(held: bool) -> Finding:
    """Holds, or the paper is off.

    Examples
    --------
    >>> law(True).value, law(False).value
    ('holds', 'paper is off')
    """
    return Finding.HOLDS if held else Finding.OFF


def on_substitute(held: bool) -> Finding:
    """Holds on the data shown; that it fails there says nothing of the paper's data.

    Examples
    --------
    >>> on_substitute(False).value
    'not reproducible'
    """
    return Finding.HOLDS if held else Finding.NOT_REPRODUCIBLE


def listed(values: Iterable[float], digits: int = 4) -> str:
    """Numbers in a row.

    Examples
    --------
    >>> listed([0.25, 1 / 3])
    '0.25, 0.3333'
    """
    return ", ".join(number(v if abs(v) > 1e-12 else 0.0, digits) for v in map(float, values))
