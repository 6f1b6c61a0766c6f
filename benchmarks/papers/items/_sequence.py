"""Verdicts and numbers of the items of the paper on sequences."""

from __future__ import annotations

from collections.abc import Iterable

from privopt._text import number
from privopt.benchmarks.papers.item import Finding


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
