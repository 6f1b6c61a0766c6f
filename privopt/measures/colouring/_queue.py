"""The upper envelope by two queues: sources in the order of their values, and what they push on.

Source: the lectures on privacy-utility trade-offs, differential privacy by randomised colourings; the queues replace
Dijkstra's heap because one step keeps the order of values, so what is pushed never falls.
"""

from __future__ import annotations

import heapq

import numpy as np
from numpy.typing import NDArray

from privopt.arrays import Floats, Ints
from privopt.measures.colouring.steps import TINY, Pair, Step
from privopt.measures.compiling import WORTH, compiled, numba_installed


def two_queues(
    indptr: NDArray[np.int64], indices: NDArray[np.int32], sites: Ints, values: Pair, one: Step
) -> Pair:
    """The least U^dist(s, v)(value of s) over sites s, and its complement; (1, 0) where no site is reached."""
    n = len(indptr) - 1
    p, r = np.ones(n), np.zeros(n)
    order = np.lexsort((-values[1], values[0]))
    ranked = sites[order], np.asarray(values[0][order]), np.asarray(values[1][order])
    loop = compiled(_run) if numba_installed() and n + len(indices) > WORTH else _run
    budget = (one.growth, one.decay, one.delta, one.kink, one.floor)
    loop(indptr, indices, *ranked, budget, p, r, np.zeros(n, dtype=np.int8), np.empty(n, dtype=np.int32))
    return p, r


def _run(
    indptr: NDArray[np.int64],
    indices: NDArray[np.int32],
    sites: Ints,
    site_p: Floats,
    site_r: Floats,
    budget: tuple[float, float, float, float, float],
    p: Floats,
    r: Floats,
    state: NDArray[np.int8],
    queue: NDArray[np.int32],
) -> None:
    """States: 0 untouched, 1 pushed with its value in p and r, 2 settled."""
    growth, decay, delta, kink, floor = budget
    head, tail, source = 0, 0, 0
    while head < tail or source < len(sites):
        take_source = head == tail
        if not take_source and source < len(sites):
            v = queue[head]
            low = site_p[source] <= 0.5 or p[v] <= 0.5
            take_source = site_p[source] <= p[v] if low else site_r[source] >= r[v]
        if take_source:
            v = sites[source]
            if state[v] < 2:
                p[v], r[v] = site_p[source], site_r[source]
            source += 1
        else:
            v = queue[head]
            head += 1
        if state[v] == 2:
            continue
        state[v] = 2
        if p[v] <= kink:
            next_p = growth * p[v] + delta
            next_r = kink + growth * (kink - p[v])
        else:
            next_r = max(decay * (r[v] - delta), min(r[v], floor))
            next_p = 1.0 - next_r
        for e in range(indptr[v], indptr[v + 1]):
            w = indices[e]
            if state[w] == 0:
                state[w] = 1
                p[w], r[w] = next_p, next_r
                queue[tail] = w
                tail += 1


def heap(
    indptr: NDArray[np.int64],
    indices: NDArray[np.int32],
    sites: Ints,
    values: Pair,
    epsilons: Floats,
    deltas: Floats,
) -> Pair:
    """The same with a budget of its own on every arc, in the order of ``indices``."""
    n = len(indptr) - 1
    p, r = [1.0] * n, [0.0] * n
    settled = [False] * n
    growth, decay = np.exp(epsilons), np.exp(-epsilons)
    kinks = ((1.0 - deltas) * decay / (1.0 + decay)).tolist()
    growths, decays, rests = growth.tolist(), decay.tolist(), deltas.tolist()
    ends, near = indptr.tolist(), indices.tolist()
    waiting = [
        (x, -y, s) for x, y, s in zip(values[0].tolist(), values[1].tolist(), sites.tolist(), strict=True)
    ]
    heapq.heapify(waiting)
    while waiting:
        x, y, v = heapq.heappop(waiting)
        if settled[v]:
            continue
        settled[v], p[v], r[v] = True, x, -y
        for e in range(ends[v], ends[v + 1]):
            w = near[e]
            if settled[w]:
                continue
            if x <= kinks[e]:
                up = growths[e] * x + rests[e]
                rest = kinks[e] + growths[e] * (kinks[e] - x)
            else:
                rest = max(decays[e] * (-y - rests[e]), min(-y, TINY) if rests[e] == 0 else 0.0)
                up = 1.0 - rest
            if up < p[w] or rest > r[w]:
                p[w], r[w] = up, rest
                heapq.heappush(waiting, (up, -rest, w))
    return np.array(p), np.array(r)
