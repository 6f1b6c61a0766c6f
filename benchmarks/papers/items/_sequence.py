"""Verdicts, drawings and data that the items of the paper on sequences share."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from privopt.arrays import Floats, Ints
from privopt.benchmarks.data import streams as loaders
from privopt.benchmarks.data.streams import Gaze, Streams
from privopt.benchmarks.papers.item import Finding
from privopt.benchmarks.papers.sequences import Kernels, leakages
from privopt.benchmarks.report.document import figure_style, svg
from privopt.errors import FileRefused
from privopt.files.text import number
from privopt.plots.curves import COLOURS, MARKERS, new_figure

if TYPE_CHECKING:
    import pandas as pd


def verdict(held: bool) -> Finding:
    """Holds, or the paper is off.

    Examples
    --------
    >>> verdict(True).value, verdict(False).value
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


def lines(frame: pd.DataFrame, columns: Sequence[str], label: str, identifier: str, title: str) -> str:
    """Columns against the first one; "ours" drawn through, the others dashed.

    Raises
    ------
    MissingExtra
        If matplotlib is not installed.
    """
    axis = str(frame.columns[0])
    with figure_style():
        figure, axes = new_figure(6.8, 4.0)
        for place, name in enumerate(columns):
            axes.plot(
                frame[axis],
                frame[name],
                color=COLOURS[place],
                linestyle="-" if name.startswith("ours") else "--",
                marker=MARKERS[place],
                markersize=4.5,
                markerfacecolor="none",
                linewidth=1.4,
                label=name,
            )
        axes.set_xlabel(f"{axis} (nats)" if axis == "ε" else axis)
        axes.set_ylabel(label)
        axes.set_ylim(bottom=0)
        axes.legend(frameon=False, fontsize=8.5)
        return svg(figure, identifier, title)


def panels(frame: pd.DataFrame, axis: str, columns: Sequence[str], identifier: str, title: str) -> str:
    """A panel a column against the axis; points that are not private are hollow.

    Raises
    ------
    MissingExtra
        If matplotlib is not installed.
    """
    with figure_style():
        figure, first = new_figure(8.4, 2.9)
        figure.delaxes(first)
        for place, name in enumerate(columns):
            axes = figure.add_subplot(1, len(columns), place + 1)
            axes.plot(frame[axis], frame[name], color=COLOURS[0], linewidth=1.2)
            for private in (True, False):
                rows = frame[frame["private"] == private]
                face = COLOURS[0] if private else "none"
                axes.plot(rows[axis], rows[name], "o", color=COLOURS[0], markerfacecolor=face, markersize=3)
            axes.set_xlabel(axis)
            axes.set_title(name, fontsize=8.5)
        return svg(figure, identifier, title)


def pairs(frame: pd.DataFrame, columns: Sequence[str], identifier: str, title: str) -> str:
    """Groups of bars, a group a mechanism and budget.

    Raises
    ------
    MissingExtra
        If matplotlib is not installed.
    """
    names = [f"{m}, ε = {e:.3g}" for m, e in zip(frame["mechanism"], frame["ε"], strict=True)]
    width = 0.8 / len(columns)
    with figure_style():
        figure, axes = new_figure(7.2, 0.34 * len(frame) + 1.0)
        for place, column in enumerate(columns):
            at = [i + (place - (len(columns) - 1) / 2) * width for i in range(len(frame))]
            axes.barh(at, frame[column], 0.9 * width, color=COLOURS[place], label=column)
        axes.set_yticks(range(len(frame)), names)
        axes.invert_yaxis()
        axes.legend(frameon=False, loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2, fontsize=8.5)
        return svg(figure, identifier, title)


_SMOOTHING = 0.5


@dataclass(frozen=True, eq=False)
class Released:
    """What was released of (users, steps) letters.

    Parameters
    ----------
    releases : int array (users, steps)
    cost : float
        Mean over users and steps of the expected cost of the true letter's release.
    leakage : float
        The largest leakage at the beliefs that were met.
    columns : array (users, steps, n)
        Pr(release | letter) for every letter.
    """

    releases: Ints
    cost: float
    leakage: float
    columns: Floats


def counted(sequences: Iterable[Ints], letters: int) -> Ints:
    """How often each letter follows each other letter.

    Examples
    --------
    >>> counted([np.array([0, 1, 1, 0])], 2).tolist()
    [[0, 1], [1, 1]]
    """
    table = np.zeros((letters, letters), dtype=np.int64)
    for row in sequences:
        np.add.at(table, (row[:-1], row[1:]), 1)
    return table


def fitted(sequences: Iterable[Ints], letters: int) -> Floats:
    """Transitions by frequency, half a count added to each cell so that none is 0."""
    table = counted(sequences, letters) + _SMOOTHING
    return np.asarray(table / table.sum(axis=1, keepdims=True))


def cut(streams: Streams, users: int, steps: int) -> Ints:
    """The first steps of the first users who have as many, shape (users, steps)."""
    long = [row[:steps] for row in streams.sequences if len(row) >= steps]
    return np.array(long[:users], dtype=np.int64).reshape(-1, steps)


def coded(data: Ints, size: int, letters: int) -> Ints:
    """Sequences (users, steps) read ``size`` letters at a time, as positions of words in the order of digits.

    Examples
    --------
    >>> coded(np.array([[0, 1, 1, 0]]), 2, 2).tolist()
    [[1, 2]]
    """
    powers = letters ** np.arange(size)[::-1]
    return np.asarray(data.reshape(len(data), -1, size) @ powers, dtype=np.int64)


def release(
    start: Floats, transition: Floats, data: Ints, kernels: Kernels, cost: Floats, seed: int
) -> Released:
    """Release step by step; every user's belief follows his own releases.

    Examples
    --------
    >>> from privopt.benchmarks.papers.sequences import optimum_at_once
    >>> half = np.full((2, 2), 0.5)
    >>> released = release(half[0], half, np.array([[0, 1, 1]]), lambda b: optimum_at_once(b, 1.0), 1 - np.eye(2), 0)
    >>> released.releases.shape, round(released.cost, 6), round(released.leakage, 6)
    ((1, 3), 0.18394, 1.0)
    """
    rng, users = np.random.default_rng(seed), np.arange(len(data))
    beliefs = np.tile(start, (len(data), 1))
    releases, columns, total, worst = np.empty_like(data), [], 0.0, 0.0
    for step in range(data.shape[1]):
        kernel = kernels(beliefs)
        rows = kernel[users, data[:, step]]
        total += float((rows * cost[data[:, step]]).sum())
        worst = max(worst, float(leakages(beliefs, kernel).max()))
        drawn = rng.random(len(data))[:, None] * rows.sum(axis=1, keepdims=True)
        releases[:, step] = np.minimum((rows.cumsum(axis=1) < drawn).sum(axis=1), rows.shape[1] - 1)
        columns.append(kernel[users, :, releases[:, step]])
        after = beliefs * columns[-1]
        beliefs = (after / after.sum(axis=1, keepdims=True)) @ transition
    return Released(releases, total / data.size, worst, np.stack(columns, axis=1))


def likelihoods(columns: Floats, start: Floats, transitions: Floats) -> Floats:
    """Ln Pr(releases) of each user under each person's chain, by the forward recursion; shape (users, persons).

    Parameters
    ----------
    columns : array (users, steps, n)
        Pr(release | letter).
    start : array (n,)
    transitions : array (persons, n, n)

    Examples
    --------
    >>> seen = np.eye(2)[np.array([[0, 0, 0]])]
    >>> chains = np.array([[[0.9, 0.1], [0.1, 0.9]], [[0.5, 0.5], [0.5, 0.5]]])
    >>> np.exp(likelihoods(seen, np.full(2, 0.5), chains)).round(6).tolist()
    [[0.405, 0.125]]
    """
    users, steps, n = columns.shape
    state = np.broadcast_to(start, (users, len(transitions), n))
    total = np.zeros((users, len(transitions)))
    for step in range(steps):
        if step:
            state = np.einsum("upx,pxz->upz", state, transitions)
        state = state * columns[:, step, None, :]
        mass = state.sum(axis=2)
        total += np.log(mass)
        state = state / mass[:, :, None]
    return total


def recognised(columns: Floats, start: Floats, transitions: Floats, truth: Ints) -> float:
    """Share of users whose own chain explains the releases best."""
    return float((likelihoods(columns, start, transitions).argmax(axis=1) == truth).mean())


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
        """Distribution of first letters and transitions, by frequency, half a count added to each cell."""
        k = self.streams.letters
        first = np.bincount([int(row[0]) for row in self.streams.sequences], minlength=k) + 0.5
        return first / first.sum(), fitted(self.streams.sequences, k)

    def empty_cells(self) -> int:
        """Transitions that never occur."""
        return int((counted(self.streams.sequences, self.streams.letters) == 0).sum())

    def cut(self, users: int, steps: int) -> Ints:
        """See :func:`cut`."""
        return cut(self.streams, users, steps)


def walks(transition: Floats, users: int, steps: int, seed: int) -> tuple[Ints, ...]:
    """Sequences drawn from a chain with a uniform start.

    Examples
    --------
    >>> [row.tolist() for row in walks(np.eye(3), 2, 3, 1)]
    [[1, 1, 1], [1, 1, 1]]
    """
    rng, n = np.random.default_rng(seed), len(transition)
    states = np.empty((users, steps), dtype=np.int64)
    states[:, 0] = rng.integers(0, n, users)
    sums = transition.cumsum(axis=1)
    for step in range(1, steps):
        u = rng.random(users)[:, None]
        states[:, step] = np.minimum((sums[states[:, step - 1]] < u).sum(axis=1), n - 1)
    return tuple(states)


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
        rows: list[Ints] = []
        for _ in people:
            table = near * rng.gamma(1.0, 1.0, n)
            rows.append(walks(table / table.sum(axis=1, keepdims=True), 1, 4000, len(rows))[0])
        about = f"eight people with random chains on {cells} x {cells} cells"
        return Gaze(Streams(tuple(rows), n, about), people, ("walk",) * 8), False


def grid_distance(cells: int) -> Floats:
    """Euclidean distance between cells, in cells, shape (cells ** 2, cells ** 2)."""
    points = np.stack(np.divmod(np.arange(cells * cells), cells), axis=1).astype(np.float64)
    return np.asarray(np.linalg.norm(points[:, None] - points, axis=2))
