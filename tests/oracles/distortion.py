"""Oracles for problems on distortion and leakage: the measures in 50 digits, and a fine grid of channels."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np

import privopt as po
from privopt.arrays import Floats

MEASURES: tuple[tuple[str, float | None], ...] = (
    ("mutual_information", None),
    ("sibson", 0.5),
    ("sibson", 3.0),
    ("maximal_leakage", None),
    ("lip", None),
    ("ldp", None),
)


def exact_law(problem: po.DistortionPrivacy, release: po.Channel | po.Merging) -> list[list[Fraction]]:
    """P(s, y) in fractions, from the definition."""
    joint = problem.observation.leaking
    n, total = len(joint.useful), joint.exact.total
    rows = release.exact()
    return [
        [
            sum(
                (Fraction(joint.exact.weights[s * n + w], total) * rows[w].fraction(y) for w in range(n)),
                Fraction(0),
            )
            for y in range(len(release.outputs))
        ]
        for s in range(len(joint.sensitive))
    ]


def exact_distortion(problem: po.DistortionPrivacy, release: po.Channel | po.Merging) -> Fraction:
    """E[D] in fractions, from the definition."""
    total = Fraction(0)
    rows = release.exact()
    useful = problem.observation.useful
    if useful is None:
        joint = problem.observation.leaking
        n = len(joint.useful)
        joint_law = {(w, w): Fraction(sum(joint.exact.weights[w::n]), joint.exact.total) for w in range(n)}
    else:
        n = len(useful.useful)
        joint_law = {
            (i // n, i % n): Fraction(weight, useful.exact.total)
            for i, weight in enumerate(useful.exact.weights)
        }
    for (x, w), p in joint_law.items():
        for y, d in enumerate(problem.distortion[x]):
            total += p * rows[w].fraction(y) * Fraction(d)
    return total


def leakage_in_50_digits(problem: po.DistortionPrivacy, joint_law: list[list[Fraction]]) -> Any:
    """The leakage of P(s, y) as an mpmath number, by its definition."""
    with mpmath.workdps(50):
        cells = [[mpmath.mpf(v.numerator) / v.denominator for v in row] for row in joint_law if sum(row)]
        cells = [list(row) for row in zip(*(c for c in zip(*cells, strict=True) if sum(c)), strict=True)]
        prior = [mpmath.fsum(row) for row in cells]
        conditional = [[v / p for v in row] for row, p in zip(cells, prior, strict=True)]
        output = [mpmath.fsum(column) for column in zip(*cells, strict=True)]
        return _measured(problem, conditional, prior, output)


def _measured(problem: po.DistortionPrivacy, conditional: Any, prior: Any, output: Any) -> Any:
    columns = list(zip(*conditional, strict=True))
    lifts = [v / q for column, q in zip(columns, output, strict=True) for v in column]
    if problem.leakage == "lip":
        return mpmath.inf if 0 in lifts else max(abs(mpmath.log(v)) for v in lifts)
    if problem.leakage == "ldp":
        return max(mpmath.inf if min(c) == 0 else mpmath.log(max(c) / min(c)) for c in columns)
    order = problem.order
    assert order is not None
    if math.isinf(order):
        return mpmath.log(mpmath.fsum(max(c) for c in columns))
    if order == 1:
        return mpmath.fsum(
            p * v * mpmath.log(v / q)
            for c, q in zip(columns, output, strict=True)
            for v, p in zip(c, prior, strict=True)
            if v
        )
    a = mpmath.mpf(order)
    means = [mpmath.fsum(p * v**a for v, p in zip(c, prior, strict=True)) ** (1 / a) for c in columns]
    return a / (a - 1) * mpmath.log(mpmath.fsum(means))


def binary_channels(steps: int) -> Iterator[Floats]:
    """All channels with two inputs and two outputs on a grid."""
    grid = np.linspace(0, 1, steps + 1)
    for a, b in itertools.product(grid, grid):
        yield np.array([[1 - a, a], [b, 1 - b]])


def random_joint(rng: np.random.Generator, secrets: int, symbols: int) -> po.JointDistribution:
    """Small integer counts, some of them 0, with no empty row."""
    counts = rng.integers(0, 9, (secrets, symbols)) + np.eye(secrets, symbols, dtype=np.int64)
    return po.JointDistribution.normalised(counts.tolist())
