"""What a colouring leaks: the pairs of rows that stand next to each other, each read in float64.

For rows u and v the largest excess over all events is sum_c max(0, P_u(c) - e^eps P_v(c)), and the best events are
prefixes of the colours sorted by ratio. The smallest epsilon for a delta is therefore the largest, over prefixes, of
ln[(P_u(prefix) - delta) / P_v(prefix)], which needs no search; its relative error is 1e-12.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cmp_to_key

import numpy as np
from numpy.typing import NDArray

from privopt.arrays import Floats, Ints
from privopt.core.exact import log_enclosure
from privopt.measures.colouring.steps import LARGEST
from privopt.measures.compiling import compiled, compiling_pays

TABLE = 4096
"""Levels up to which pairs are ticked off in a square table."""
BLOCK = 1 << 22
"""Edges looked at together without compiled code."""


def level_pairs(
    indptr: NDArray[np.int64], indices: NDArray[np.int32], level: NDArray[np.int32], levels: int
) -> tuple[Ints, Ints]:
    """Ordered pairs (a, b), a != b, of the levels of the ends of some edge; both orders are there."""
    if levels <= 1 or len(indices) == 0:
        return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
    if levels > TABLE:
        return _keys(indptr, indices, level, levels)
    seen = np.zeros((levels, levels), dtype=np.bool_)
    if compiling_pays(len(indices)):
        compiled(_tick)(indptr, indices, level, seen)
    else:
        for ones, others in _blocks(indptr, indices, level):
            seen[ones, others] = True
    np.fill_diagonal(seen, val=False)
    first, second = np.nonzero(seen)
    return first.astype(np.int64), second.astype(np.int64)


def _tick(
    indptr: NDArray[np.int64],
    indices: NDArray[np.int32],
    level: NDArray[np.int32],
    seen: NDArray[np.bool_],
) -> None:
    for v in range(len(indptr) - 1):
        for e in range(indptr[v], indptr[v + 1]):
            seen[level[v], level[indices[e]]] = True


def _blocks(
    indptr: NDArray[np.int64], indices: NDArray[np.int32], level: NDArray[np.int32]
) -> list[tuple[NDArray[np.int32], NDArray[np.int32]]]:
    """Levels of both ends of every arc where they differ, a block of edges at a time."""
    cuts = np.searchsorted(indptr, np.arange(0, len(indices), BLOCK), side="left")
    ends = [*cuts[1:].tolist(), len(indptr) - 1]
    blocks = []
    for begin, end in zip(cuts.tolist(), ends, strict=True):
        first = np.repeat(level[begin:end], np.diff(indptr[begin : end + 1]))
        second = level[indices[indptr[begin] : indptr[end]]]
        unequal = first != second
        blocks.append((first[unequal], second[unequal]))
    return blocks


def _keys(
    indptr: NDArray[np.int64], indices: NDArray[np.int32], level: NDArray[np.int32], levels: int
) -> tuple[Ints, Ints]:
    rising = [(a[a < b], b[a < b]) for a, b in _blocks(indptr, indices, level)]
    # Sorting beats NumPy's hashing where most keys are distinct.
    keys = np.sort(np.concatenate([a.astype(np.int64) * levels + b for a, b in rising]))
    keys = keys[np.concatenate([[True], keys[1:] != keys[:-1]])] if keys.size else keys
    low, high = keys // levels, keys % levels
    return np.concatenate([low, high]), np.concatenate([high, low])


def find_edge(
    indptr: NDArray[np.int64], indices: NDArray[np.int32], level: NDArray[np.int32], first: int, second: int
) -> tuple[int, int]:
    """Some edge from a vertex of one level to a vertex of another."""
    for v in np.flatnonzero(level == first).tolist():
        near = indices[indptr[v] : indptr[v + 1]]
        hit = np.flatnonzero(level[near] == second)
        if hit.size:
            return v, int(near[hit[0]])
    raise ValueError(f"no edge joins levels {first} and {second}")


UNIT = 2.0**-53
CELLS = 1 << 22
"""Cells of rows read together."""


@dataclass(frozen=True)
class PairReading:
    """Smallest epsilon of every ordered pair of rows, and the colour at which the ratio is largest."""

    epsilon: Floats
    colour: Ints


def exact_differences(levels: Floats, first: Ints, second: Ints) -> Floats:
    """P_u - P_v, where the largest entry of a row stands for 1 minus the others."""
    if levels.shape[1] == 2:
        return _two_differences(levels, first, second)
    differences = levels[first] - levels[second]
    top = np.argmax(levels, axis=1)
    same = np.flatnonzero(top[first] == top[second])
    column = top[first[same]]
    differences[same, column] = 0.0
    differences[same, column] = -differences[same].sum(axis=1)
    return differences


def _two_differences(levels: Floats, first: Ints, second: Ints) -> Floats:
    """The same of two colours, a column at a time: tables of millions of short rows are slow."""
    zero, one = levels.T.copy()
    differences = np.empty((len(first), 2))
    differences[:, 0], differences[:, 1] = zero[first] - zero[second], one[first] - one[second]
    top = one > zero
    both, alike = top[first], top[first] == top[second]
    np.copyto(differences[:, 0], -differences[:, 1], where=alike & ~both)
    np.copyto(differences[:, 1], -differences[:, 0], where=alike & both)
    return differences


def smallest_epsilons(levels: Floats, first: Ints, second: Ints, delta: float) -> PairReading:
    """The smallest epsilon, >= 0 and perhaps inf, at which each ordered pair of rows is private for a delta."""
    k = levels.shape[1]
    block = max(1, CELLS // k)
    parts = [
        _block(levels, first[i : i + block], second[i : i + block], delta)
        for i in range(0, len(first), block)
    ]
    if not parts:
        return PairReading(np.zeros(0), np.zeros(0, dtype=np.int64))
    return PairReading(np.concatenate([p.epsilon for p in parts]), np.concatenate([p.colour for p in parts]))


def _block(levels: Floats, first: Ints, second: Ints, delta: float) -> PairReading:
    above, below = levels[first], levels[second]
    more = exact_differences(levels, first, second)
    if delta == 0 or levels.shape[1] <= 2:
        order = np.argmax(_ratios(above, below, more), axis=1)[:, None]
        gained, base = (np.take_along_axis(table, order, axis=1) for table in (more, below))
    else:
        order = np.argsort(-_ratios(above, below, more), axis=1, kind="stable")
        gained, base = (np.cumsum(np.take_along_axis(t, order, axis=1), axis=1) for t in (more, below))
    excess = gained - delta
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        rise = np.where(base > 0, excess / base, np.where(excess > 0, np.inf, -1.0))
        most = rise.max(axis=1, initial=-1.0)
        epsilons = np.log1p(np.maximum(most, 0.0))
    _settle_huge(epsilons, above, below, order, delta)
    if delta > 0:
        _settle_doubtful(epsilons, levels, first, second, (excess, base, gained), delta)
    return PairReading(epsilons, order[:, 0].astype(np.int64))


def _ratios(above: Floats, below: Floats, more: Floats) -> Floats:
    """Ratio - 1 of every colour, inf where only the second row rules it out; with two colours one prefix counts."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        return np.where(above > 0, more / below, -1.0)


def _settle_huge(epsilons: Floats, above: Floats, below: Floats, order: Ints, delta: float) -> None:
    """A ratio beyond the largest float, by logarithms; only the first colour can have one."""
    for i in np.flatnonzero(np.isinf(epsilons)).tolist():
        p, q = float(above[i, order[i, 0]]), float(below[i, order[i, 0]])
        if q > 0 and p > delta:
            epsilons[i] = math.log(p - delta) - math.log(q)


def _settle_doubtful(
    epsilons: Floats,
    levels: Floats,
    first: Ints,
    second: Ints,
    sums: tuple[Floats, Floats, Floats],
    delta: float,
) -> None:
    """Pairs whose excess over delta cancels too far are read again in exact arithmetic."""
    excess, base, gained = sums
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        blur = np.where(base > 0, 4 * UNIT * (np.abs(gained) + delta) / base, 0.0)
        near = np.where(base > 0, excess / base, excess) + blur
    known = np.expm1(np.minimum(epsilons, LARGEST))[:, None]
    relevant = (near >= known) & (blur > 1e-13 * np.minimum(1.0, np.maximum(known, 1e-300)))
    relevant &= near > 0
    for i in np.flatnonzero(relevant.any(axis=1)).tolist():
        rows = exact_row(levels[first[i]].tolist()), exact_row(levels[second[i]].tolist())
        epsilons[i] = float_log(largest_ratio(*rows, Fraction(delta)))


def exact_row(row: list[float]) -> list[Fraction]:
    """The distribution that a row of floats stands for: what it misses of 1 goes to its largest entry."""
    exact = [Fraction(x) for x in row]
    exact[row.index(max(row))] += 1 - sum(exact, Fraction(0))
    return exact


def largest_ratio(u: list[Fraction], v: list[Fraction], delta: Fraction) -> Fraction | None:
    """The smallest e^eps at which u is private next to v, perhaps below 1; None stands for infinity."""
    scale = math.lcm(delta.denominator, *(x.denominator for x in (*u, *v)))
    pairs = [(_whole(a, scale), _whole(b, scale)) for a, b in zip(u, v, strict=True) if a > 0]
    if delta == 0:
        return _largest(pairs)
    best, top, low = (0, 1), -_whole(delta, scale), 0
    for a, b in sorted(pairs, key=cmp_to_key(_more_likely)):
        top, low = top + a, low + b
        if low == 0 and top > 0:
            return None
        if low > 0 and top * best[1] > best[0] * low:
            best = (top, low)
    return Fraction(*best)


def _whole(x: Fraction, scale: int) -> int:
    return x.numerator * (scale // x.denominator)


def _largest(pairs: list[tuple[int, int]]) -> Fraction | None:
    """The largest ratio of pairs, 0 where there is none; None stands for infinity."""
    best = (0, 1)
    for a, b in pairs:
        if b == 0:
            return None
        if a * best[1] > best[0] * b:
            best = (a, b)
    return Fraction(*best)


def _more_likely(one: tuple[int, int], other: tuple[int, int]) -> int:
    """Negative where the first pair has the larger ratio, infinity where its second number is 0."""
    return other[0] * one[1] - one[0] * other[1]


def float_log(ratio: Fraction | None) -> float:
    """The logarithm of an exact ratio, at least 0."""
    if ratio is None:
        return math.inf
    if ratio <= 1:
        return 0.0
    return log_enclosure(ratio.numerator, ratio.denominator)[1]


def smallest_deltas(levels: Floats, first: Ints, second: Ints, epsilon: float) -> Floats:
    """The smallest delta at which each ordered pair of rows is private for an epsilon."""
    growth = math.exp(min(epsilon, LARGEST))
    over = exact_differences(levels, first, second) - math.expm1(min(epsilon, LARGEST)) * levels[second]
    direct = levels[first] - growth * levels[second]
    # The first form is exact at small epsilon, the second at large ones.
    least = np.where(growth < 2.0, over, direct)
    return np.asarray(np.maximum(least, 0.0).sum(axis=1))
