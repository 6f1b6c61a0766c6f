"""Verdicts in the words that every item uses."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import numpy as np

from privopt.benchmarks.papers.item import Claim, Exhibit, Finding, Reproduced, Setting
from privopt.files.text import number

EXACT = 1e-9
"""Differences that count as none, relative to max(1, |printed|)."""
Excess = Callable[[np.random.Generator], float]
"""Draws an instance and gives by how much the statement fails on it: at most 0, or rounding, where it holds."""


def compared(
    printed: Sequence[float], ours: Sequence[float], half_digit: float, why: str, digits: int = 6
) -> Reproduced:
    """Numbers against printed ones: equal, equal to half of the last printed digit, or off.

    Examples
    --------
    >>> from fractions import Fraction
    >>> compared([0.292], [7 / 24], 0.0005, "Three digits.").finding.value
    'rounding'
    """
    if len(printed) != len(ours):
        raise ValueError(f"{len(printed)} printed numbers but {len(ours)} of ours")
    worst = max(abs(p - o) / max(1.0, abs(p)) for p, o in zip(printed, ours, strict=True))
    most = max(abs(p - o) for p, o in zip(printed, ours, strict=True))
    near = Finding.ROUNDING if most <= half_digit * (1 + 1e-9) else Finding.OFF
    finding = Finding.MATCHES if worst <= EXACT else near
    return Reproduced(", ".join(number(value, digits) for value in ours), finding, why)


def invariant(
    check: Excess, setting: Setting, instances: int, why: str, tolerance: float = 1e-9
) -> Reproduced:
    """A statement on random instances: it holds if it fails on none by more than rounding.

    Examples
    --------
    >>> invariant(lambda rng: rng.random() - 1, Setting(), 5, "Below one.").ours
    '0 of 5 instances fail'
    """
    rng = setting.rng()
    excesses = [check(rng) for _ in range(instances)]
    failed = sum(not excess <= tolerance for excess in excesses)
    worst = f", the worst by {number(max(excesses), 3)}" if failed else ""
    verdict = f"{failed} of {instances} instances fail{worst}"
    return Reproduced(verdict, Finding.OFF if failed else Finding.HOLDS, why)


def holds(condition: bool, ours: str, why: str, exhibits: Iterable[Exhibit] = ()) -> Reproduced:
    """A statement checked on what is described."""
    return Reproduced(ours, Finding.HOLDS if condition else Finding.OFF, why, tuple(exhibits))


def refuted(condition: bool, ours: str, why: str, exhibits: Iterable[Exhibit] = ()) -> Reproduced:
    """A statement with a counter-example that runs; ``condition`` says that it still refutes.

    Raises
    ------
    ValueError
        If it does not: then the verdict is wrong, and the item fails.
    """
    if not condition:
        raise ValueError(f"the counter-example does not refute any more: {ours}")
    return Reproduced(ours, Finding.OFF, why, tuple(exhibits))


def substitute(ours: str, why: str, exhibits: Iterable[Exhibit] = ()) -> Reproduced:
    """What cannot be computed from what the paper gives, with what was computed instead."""
    return Reproduced(ours, Finding.NOT_REPRODUCIBLE, why, tuple(exhibits))


def claimed(*claims: Claim) -> Reproduced:
    """An item that claims something, or several things: its verdict is that of the first."""
    return Reproduced(claims[0].ours, claims[0].finding, claims[0].sentence, claims=claims)


def judge(holds: bool) -> Finding:
    """The finding on a statement that holds on an instance, or does not."""
    return Finding.MATCHES if holds else Finding.OFF


def compare(printed: float, ours: float, half_digit: float = 0.0) -> Finding:
    """Matches to rounding errors of floats, or to half of the last printed digit, or not.

    Examples
    --------
    >>> compare(0.292, 7 / 24, 0.0005).value, compare(0.375, 0.5).value
    ('rounding', 'paper is off')
    """
    if abs(printed - ours) <= 1e-12:
        return Finding.MATCHES
    return Finding.ROUNDING if abs(printed - ours) <= half_digit else Finding.OFF
