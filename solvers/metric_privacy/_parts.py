"""The components of a problem of metric privacy, and the answer that is put together from theirs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from privopt.arrays import Floats, Ints
from privopt.models.pairs import Pairs
from privopt.problems.metric_privacy.problem import MetricPrivacy

FARTHEST = 25.0
"""Nats beyond which a pair is left out of programs: what it asks for is below what floats of a program show."""


@dataclass(frozen=True, eq=False)
class Part:
    """A component of a problem: its points, ordered pairs of them with e^(epsilon d), and prior times loss.

    Parameters
    ----------
    points : int array (n,)
        Positions in the problem.
    first, second : int array (p,)
        Positions in the part: M[first] <= growth M[second].
    growth : float array (p,)
    cost : float array (n, m)
    """

    points: Ints
    first: Ints
    second: Ints
    growth: Floats
    cost: Floats

    @property
    def scaling(self) -> Floats:
        """What makes the rows of pairs of length 1."""
        return np.asarray(1.0 / np.sqrt(1.0 + self.growth**2))


def parts(
    problem: MetricPrivacy, chosen: Pairs | None = None, epsilon: float | None = None
) -> Iterator[Part]:
    """The components of a problem, largest first; with some of its pairs, at another budget, where these are given."""
    pairs, components = problem.pairs if chosen is None else chosen, problem.components
    level = problem.epsilon if epsilon is None else epsilon
    with np.errstate(invalid="ignore"):
        nats = np.where(pairs.distance == 0, 0.0, level * pairs.distance)
    kept = nats <= FARTHEST
    first, second, growth = pairs.first[kept], pairs.second[kept], np.exp(nats[kept])
    cost = problem.p[:, None] * problem.losses
    order = np.argsort(components, kind="stable")
    sizes = np.bincount(components)
    ends = np.cumsum(sizes)
    position = np.empty(len(components), dtype=np.int64)
    position[order] = np.arange(len(order)) - np.repeat(ends - sizes, sizes)
    by_pair = np.argsort(components[first], kind="stable")
    pair_ends = np.cumsum(np.bincount(components[first], minlength=len(sizes)))
    for c in np.argsort(-sizes, kind="stable").tolist():
        points = order[ends[c] - sizes[c] : ends[c]]
        own = by_pair[(pair_ends[c - 1] if c else 0) : pair_ends[c]]
        a, b = position[first[own]], position[second[own]]
        yield Part(
            points,
            np.concatenate([a, b]),
            np.concatenate([b, a]),
            np.concatenate([growth[own], growth[own]]),
            cost[points],
        )


@dataclass
class Answer:
    """Rows of a channel and multipliers of pairs, put together from the parts."""

    matrix: Floats
    first: list[Ints] = field(default_factory=list)
    second: list[Ints] = field(default_factory=list)
    outputs: list[Ints] = field(default_factory=list)
    values: list[Floats] = field(default_factory=list)
    iterations: int = 0
    rounds: int = 0
    stop: str = "solved"

    def take(self, part: Part, matrix: Floats, pairs: Ints, outputs: Ints, values: Floats) -> None:
        """Enter the rows of a part, and multipliers of some of its ordered pairs at some outputs."""
        rows = np.maximum(matrix, 0.0)
        sums = rows.sum(axis=1, keepdims=True)
        self.matrix[part.points] = np.where(
            sums > 0, rows / np.where(sums > 0, sums, 1.0), 1.0 / rows.shape[1]
        )
        used = values > 0
        self.first.append(part.points[part.first[pairs[used]]])
        self.second.append(part.points[part.second[pairs[used]]])
        self.outputs.append(outputs[used])
        self.values.append(values[used])

    def multipliers(self) -> tuple[Ints, Ints, Ints, Floats]:
        """All multipliers: first and second points, outputs, values."""
        return (
            np.concatenate([*self.first, np.zeros(0, dtype=np.int64)]),
            np.concatenate([*self.second, np.zeros(0, dtype=np.int64)]),
            np.concatenate([*self.outputs, np.zeros(0, dtype=np.int64)]),
            np.concatenate([*self.values, np.zeros(0)]),
        )


def alone(part: Part) -> Floats:
    """The rows of points that nothing is promised: each releases what costs it least."""
    matrix = np.zeros(part.cost.shape)
    matrix[np.arange(len(part.points)), part.cost.argmin(axis=1)] = 1.0
    return matrix
