"""The bounds of local information privacy in Fractions, from the law and the weights of a mechanism alone."""

from __future__ import annotations

from fractions import Fraction

from privopt._exact import exp_at_least
from privopt.problems._observation import Release
from privopt.problems.local_information_privacy import LocalInformationPrivacy

ZERO = Fraction(0)
Cells = list[list[Fraction]]


def keeps(problem: LocalInformationPrivacy, release: Release) -> bool:
    """Whether every pair (s, y) keeps the bounds, but for probability delta."""
    cells = _joint(problem, release)
    rows = [sum(row, ZERO) for row in cells]
    whole, mass, broken = sum(rows, ZERO), ZERO, False
    for y in range(len(cells[0])):
        column = [row[y] for row in cells]
        if sum(column, ZERO):
            for s, cell in enumerate(column):
                if _breaks(problem, column, rows, whole, s):
                    broken, mass = True, mass + cell
    return not broken if problem.delta == 0 else mass <= Fraction(problem.delta) * whole


def _joint(problem: LocalInformationPrivacy, release: Release) -> Cells:
    """Weights of (s, y), secrets of probability 0 left out."""
    joint = problem.observation.leaking
    n, weights = len(joint.useful), joint.exact.weights
    table = [weights[i : i + n] for i in range(0, len(weights), n)]
    channel = [[row.fraction(y) for y in range(len(row.weights))] for row in release.exact()]
    outputs = range(len(channel[0]))
    return [
        [sum((w * q[y] for w, q in zip(row, channel, strict=True)), ZERO) for y in outputs]
        for row in table
        if sum(row)
    ]


def _breaks(
    problem: LocalInformationPrivacy, column: list[Fraction], rows: list[Fraction], whole: Fraction, s: int
) -> bool:
    if problem.notion == "ldp":
        pairs = zip(column, rows, strict=True)
        return not all(_at_most(problem.budget, column[s] * other, cell * rows[s]) for cell, other in pairs)
    up, down = column[s] * whole, rows[s] * sum(column, ZERO)
    return not (_at_most(problem.upper, up, down) and _at_most(problem.lower, down, up))


def _at_most(level: float, up: Fraction, down: Fraction) -> bool:
    """Whether up <= e^level down, proved."""
    scale = up.denominator * down.denominator
    return exp_at_least(level, int(up * scale), int(down * scale)) is True
