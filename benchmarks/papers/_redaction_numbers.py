"""The numbers that the paper's text prints.

Source: Massny, Bitar, Ye, El Rouayheb, "Between Close Enough to Reveal and Far Enough to Protect", Section III.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction

import numpy as np

from privopt._text import number
from privopt.benchmarks._papers import Claim, Finding
from privopt.benchmarks.papers import _redaction_frames as frames
from privopt.measures import influence, redaction_leakage
from privopt.mechanisms import RedactionMechanism
from privopt.problems.redaction import Redaction

_DIGITS = 10


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


def numbers() -> Iterator[Claim]:
    """Table I, then Example 1."""
    for row in frames.table_one().itertuples(index=False):
        printed, ours = str(row.printed), float(str(row.computed))
        what = f"Pr(X₂ = {row.x2} | X₁ = {row.x}) / Pr(X₂ = {row.x2} | X₁ = {1 - int(str(row.x))})"
        finding = compare(float(Fraction(printed)), ours)
        yield Claim(
            what, "Table I", printed, number(ours, _DIGITS), finding, "A ratio of two entries of the matrix."
        )
    yield from _influences()
    yield from _example()


def _influences() -> Iterator[Claim]:
    told = influence(frames.example_chain(), 0, 1).tolist()
    for value, printed, ratio in ((0, "log(3/2)", 1.5), (1, "log(2)", 2.0)):
        yield Claim(
            f"influence on the first record of X₂ = {value}",
            "Example 1",
            printed,
            number(told[value], _DIGITS),
            compare(math.log(ratio), told[value]),
            "Logarithms are natural.",
        )


def _example() -> Iterator[Claim]:
    problem = Redaction(frames.example_chain(), 2, 0, 0.5)
    window = frames.proved(problem, "windows")[0]
    why = "Both values of the second record may be shown only if the larger influence fits."
    none = number(window, _DIGITS)
    yield Claim("best data-independent utility", "Example 1", "0", none, compare(0.0, window), why)
    table = np.array([[1.0, 1.0], [frames.CHOICE, 1.0]])
    leakage = redaction_leakage(problem.chain, 0, table)
    ratio = (0.5 * frames.CHOICE + 0.5) / (0.25 + 0.75 * frames.CHOICE)
    yield Claim(
        "q₂ = 1/8 is private at ε = 0.5",
        "Example 1",
        "stated",
        f"ratio {number(ratio)}, at most {number(math.exp(0.5))}; leakage {number(leakage, 7)}",
        Finding.MATCHES if leakage <= problem.epsilon else Finding.OFF,
        "The hidden output leaks most; the display writes X₂ where the output Y₂ is meant.",
    )
    yield from _utility(problem, problem.evaluate(RedactionMechanism(table)).utility)


def _utility(problem: Redaction, utility: float) -> Iterator[Claim]:
    best, found = frames.proved(problem, "optimal")
    smaller = number(float(found.mechanism.probabilities[1, 0]), _DIGITS)
    why = f"Right, but 1/8 is not the best choice: q₂ = {smaller} gives {number(best, _DIGITS)}."
    shown = number(utility, _DIGITS)
    yield Claim("utility with q₂ = 1/8", "Example 1", "7/24", shown, compare(7 / 24, utility), why)
    finding = compare(0.292, utility, 5e-4)
    yield Claim("the same as a decimal", "Example 1", "0.292", shown, finding, "Three digits of 7/24.")
