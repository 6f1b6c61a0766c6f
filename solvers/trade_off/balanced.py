"""Blocks in which every secret has its share: halves of halves, a few symbols shared between two, nothing leaks.

A set of symbols with masses w is split in two of equal distributions of S: f in [0, 1]^n with sum w f P(s | x) =
sum w P(s | x) / 2 is met by f = 1/2, so a vertex of this polytope exists, and it shares at most as many symbols between both
halves as there are secrets.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass

import numpy as np

from privopt.arrays import Floats, Ints
from privopt.core.highs import Rows, minimise
from privopt.core.solver import Budget
from privopt.solvers.trade_off.mergings import MergingTable

WORTH = 1.5
"""Symbols of a part, in numbers of secrets, up to which it is not split: both halves would share most of them."""

EXACT = 1e-13
"""By how much, relatively, a half may miss its distribution of S."""


@dataclass(frozen=True, eq=False)
class Part:
    """Symbols, the mass of each that belongs to the part, and their rows P(s | x)."""

    symbols: Ints
    mass: Floats

    @property
    def total(self) -> float:
        """Probability of the part."""
        return float(self.mass.sum())


def balanced_parts(table: MergingTable, useful: float, most: int, budget: Budget) -> list[Part]:
    """Parts that reveal nothing of S, split until I(X;Y) is at least ``useful``, no part can be split, or there are ``most``.

    Examples
    --------
    >>> secret = np.array([[0.2, 0.1], [0.1, 0.2], [0.05, 0.15], [0.15, 0.05]])
    >>> table = MergingTable(secret, np.zeros((4, 0)), secret.sum(axis=1), (0.0, 0.0))
    >>> [part.symbols.tolist() for part in balanced_parts(table, 0.5, 4, Budget())]
    [[0, 2], [1, 3]]
    """
    rng = np.random.default_rng(budget.seed)
    posterior = table.secret / table.mass[:, None]
    whole = Part(np.arange(table.size), table.mass.copy())
    waiting, number = [(-whole.total, 0, whole)], 0
    done: list[Part] = []
    while waiting and len(waiting) + len(done) < most and budget.remaining > 0:
        _, _, part = heapq.heappop(waiting)
        halves = _halves(part, posterior, rng)
        if halves is None:
            done.append(part)
            continue
        for half in halves:
            number += 1
            heapq.heappush(waiting, (-half.total, number, half))
        if revealed([p for _, _, p in waiting] + done, table) >= useful:
            break
    parts = done + [p for _, _, p in waiting]
    return sorted(parts, key=lambda p: int(p.symbols[0]))


def revealed(parts: list[Part], table: MergingTable) -> float:
    """I(X;Y) of saying which part a symbol belongs to, in nats."""
    mass = np.array([p.total for p in parts])
    shared = np.concatenate([p.mass for p in parts]) / table.mass[np.concatenate([p.symbols for p in parts])]
    each = np.concatenate([p.mass for p in parts])
    inside = np.log(np.where(shared > 0, shared, 1.0))
    return float(-(mass * np.log(mass)).sum() + (each * inside).sum())


def channel_matrix(parts: list[Part], table: MergingTable) -> Floats:
    """P(part | symbol), a row a symbol."""
    matrix = np.zeros((table.size, len(parts)))
    for k, part in enumerate(parts):
        matrix[part.symbols, k] = part.mass / table.mass[part.symbols]
    return np.asarray(matrix / matrix.sum(axis=1, keepdims=True))


def _halves(part: Part, posterior: Floats, rng: np.random.Generator) -> tuple[Part, Part] | None:
    """Two parts of one half each with the same distribution of S; None where floats give none."""
    share = _vertex(part, posterior, rng)
    if share is None:
        return None
    halves = []
    for f in (share, 1.0 - share):
        kept = f > 0
        halves.append(Part(part.symbols[kept], part.mass[kept] * f[kept]))
    return halves[0], halves[1]


def _vertex(part: Part, posterior: Floats, rng: np.random.Generator) -> Floats | None:
    """A vertex of the shares, its few fractions solved again to rounding."""
    rows = (posterior[part.symbols] * (part.mass / part.total)[:, None]).T
    if part.symbols.size <= WORTH * len(rows):
        return None
    half = rows.sum(axis=1) / 2
    cost = rng.standard_normal(len(part.symbols))
    solved = minimise(cost, Rows.none(), Rows.dense(rows, half), upper=1.0)
    if solved is None:
        return None
    share = solved.point
    inner = (share > 1e-9) & (share < 1 - 1e-9)
    share = np.where(inner, share, np.rint(share))
    if inner.any():
        missing = half - rows @ share
        share[inner] += np.linalg.lstsq(rows[:, inner], missing, rcond=None)[0]
    off = float(np.abs(rows @ share - half).max())
    return share if off <= EXACT and share.min() >= 0 and share.max() <= 1 else None
