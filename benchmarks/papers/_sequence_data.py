"""The data of the real-data figures, and seeded substitutes where a file is absent."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np

from privopt.benchmarks.data import streams as loaders
from privopt.benchmarks.data.streams import Gaze, Integers, Streams
from privopt.benchmarks.papers._sequence_streams import counted, cut, fitted
from privopt.benchmarks.papers.sequences import Floats
from privopt.errors import FileRefused

ABSENT = "data not available, a synthetic substitute is shown"


@dataclass(frozen=True, eq=False)
class Source:
    """Streams with the chain fitted to them; ``real`` is False for a substitute."""

    streams: Streams
    real: bool

    @property
    def about(self) -> str:
        """What it is, and whether it is a substitute."""
        return self.streams.about if self.real else f"{ABSENT}: {self.streams.about}"

    def chain(self) -> tuple[Floats, Floats]:
        """Law of first letters and transitions, by frequency, half a count added to each cell."""
        k = self.streams.letters
        first = np.bincount([int(row[0]) for row in self.streams.sequences], minlength=k) + 0.5
        return first / first.sum(), fitted(self.streams.sequences, k)

    def empty_cells(self) -> int:
        """Transitions that never occur."""
        return int((counted(self.streams.sequences, self.streams.letters) == 0).sum())

    def cut(self, users: int, steps: int) -> Integers:
        """See :func:`cut`."""
        return cut(self.streams, users, steps)


def walks(transition: Floats, users: int, steps: int, seed: int) -> tuple[Integers, ...]:
    """Sequences drawn from a chain with a uniform start.

    Examples
    --------
    >>> [row.tolist() for row in walks(np.eye(3), 2, 3, 1)]
    [[1, 1, 1], [1, 1, 1]]
    """
    rng, n = np.random.default_rng(seed), len(transition)
    found = np.empty((users, steps), dtype=np.int64)
    found[:, 0] = rng.integers(0, n, users)
    sums = transition.cumsum(axis=1)
    for step in range(1, steps):
        u = rng.random(users)[:, None]
        found[:, step] = np.minimum((sums[found[:, step - 1]] < u).sum(axis=1), n - 1)
    return tuple(found)


@cache
def clicks(name: str) -> Source:
    """The streams "msnbc" or "kosarak"."""
    try:
        return Source(loaders.msnbc() if name == "msnbc" else loaders.kosarak(), True)
    except FileRefused:
        letters = 17 if name == "msnbc" else 16
        rng = np.random.default_rng(letters)
        transition = rng.dirichlet(np.full(letters, 0.3), letters)
        return Source(
            Streams(walks(transition, 323, 60, 1), letters, "a random chain of as many letters"), False
        )


def few_letters(source: Source, letters: int) -> Source:
    """The most frequent letters kept, all others made the last one."""
    every = np.concatenate(source.streams.sequences)
    order = np.argsort(-np.bincount(every, minlength=source.streams.letters), kind="stable")
    code = np.full(source.streams.letters, letters - 1)
    code[order[: letters - 1]] = np.arange(letters - 1)
    about = f"{source.streams.about}; the {letters - 1} most frequent letters and one for all others"
    rows = tuple(code[row] for row in source.streams.sequences)
    return Source(Streams(rows, letters, about), source.real)


@cache
def gazes(cells: int) -> tuple[Gaze, bool]:
    """The recordings, or eight synthetic people with chains of their own; and whether they are real."""
    try:
        return loaders.gaze(cells), True
    except FileRefused:
        n, people = cells * cells, tuple(f"P{i}" for i in range(8))
        near = np.exp(-grid_distance(cells) / 0.7)
        rng = np.random.default_rng(8)
        rows: list[Integers] = []
        for _ in people:
            table = near * rng.gamma(1.0, 1.0, n)
            rows.append(walks(table / table.sum(axis=1, keepdims=True), 1, 4000, len(rows))[0])
        about = f"eight people with random chains on {cells} x {cells} cells"
        return Gaze(Streams(tuple(rows), n, about), people, ("walk",) * 8), False


def grid_distance(cells: int) -> Floats:
    """Euclidean distance between cells, in cells, shape (cells ** 2, cells ** 2)."""
    points = np.stack(np.divmod(np.arange(cells * cells), cells), axis=1).astype(np.float64)
    return np.asarray(np.linalg.norm(points[:, None] - points, axis=2))
