"""Bayesian leakage by brute force: one linear program over all records, and sums of products."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import combinations, permutations, product
from typing import Any

import numpy as np
from mpmath import log as mplog
from mpmath import mp, mpf
from numpy.typing import NDArray
from scipy.optimize import linprog

import privopt as po

Table = NDArray[np.float64]
Known = dict[int, int]


def table(chain: po.MarkovChain, n: int) -> Table:
    joint = np.zeros((chain.k,) * n)
    for x in product(range(chain.k), repeat=n):
        steps = (chain.step(t)[x[t], x[t + 1]] for t in range(n - 1))
        joint[x] = chain.initial[x[0]] * math.prod(steps)
    return joint


def adversaries(n: int, s: int) -> Iterator[tuple[Known, Known]]:
    """What is known together with either value of the target."""
    for target in range(n):
        others = [j for j in range(n) if j != target]
        for size in range(n):
            for known in combinations(others, size):
                for values in product(range(s), repeat=size):
                    seen = dict(zip(known, values, strict=True))
                    for a, b in permutations(range(s), 2):
                        yield seen | {target: a}, seen | {target: b}


def conditional(joint: Table, known: Known) -> Table | None:
    """The distribution when some records are known, on all records; None where that is impossible."""
    part = np.zeros_like(joint)
    where = tuple(known.get(j, slice(None)) for j in range(joint.ndim))
    part[where] = joint[where]
    return part / part.sum() if part.sum() > 0 else None


def worst_mechanism(joint: Table, tau: float) -> float:
    """Largest leakage of a tau-private mechanism: the probability of its output on all s^n inputs is unknown."""
    n, s = joint.ndim, joint.shape[0]
    cells = list(product(range(s), repeat=n))
    number = {x: i for i, x in enumerate(cells)}
    rows = []
    for x in cells:
        for j, value in product(range(n), range(s)):
            if value != x[j]:
                row = np.zeros(len(cells))
                row[number[x]], row[number[*x[:j], value, *x[j + 1 :]]] = 1.0, -math.exp(tau)
                rows.append(row)
    worst = 0.0
    for first, second in adversaries(n, s):
        above, below = conditional(joint, first), conditional(joint, second)
        if above is not None and below is not None:
            answer = linprog(
                -above.ravel(),
                np.array(rows),
                np.zeros(len(rows)),
                below.ravel()[None],
                [1.0],
                method="highs",
            )
            assert answer.status == 0
            assert answer.fun is not None
            worst = max(worst, math.log(-answer.fun))
    return worst


def response(joint: Table, tau: float) -> Any:
    """Leakage of binary or larger randomised response, in 50 digits."""
    keep = mp.e ** mpf(tau)

    def chance(y: tuple[int, ...], known: Known) -> Any:
        where = [
            x
            for x in product(range(joint.shape[0]), repeat=joint.ndim)
            if all(x[j] == v for j, v in known.items())
        ]
        weight = sum(mpf(joint[x]) for x in where)
        same = [sum(a == b for a, b in zip(x, y, strict=True)) for x in where]
        total = sum(mpf(joint[x]) * keep**k for x, k in zip(where, same, strict=True))
        return total / weight if weight > 0 else None

    worst = mpf(0)
    for y in product(range(joint.shape[0]), repeat=joint.ndim):
        for first, second in adversaries(joint.ndim, joint.shape[0]):
            above, below = chance(y, first), chance(y, second)
            if above is not None and below is not None:
                worst = max(worst, mplog(above / below))
    return worst


def laplace(joint: Table, g: list[int], tau: float) -> float:
    """Leakage of the noisy sum on a fine grid of outputs."""
    n, s = joint.ndim, joint.shape[0]
    sums = np.zeros(joint.shape)
    for x in product(range(s), repeat=n):
        sums[x] = sum(g[v] for v in x)
    worst = 0.0
    rate = tau / (max(g) - min(g))
    outputs = np.arange(n * min(g) - 2, n * max(g) + 2.01, 0.25)
    density = [np.exp(-rate * np.abs(y - sums)) for y in outputs]
    for first, second in adversaries(n, s):
        above, below = conditional(joint, first), conditional(joint, second)
        if above is not None and below is not None:
            worst = max(worst, *(math.log((above * d).sum() / (below * d).sum()) for d in density))
    return worst


def random_chain(seed: int, s: int, zeros: float = 0.0, stationary: bool = True) -> po.MarkovChain:
    """A chain with some zeros, always irreducible and aperiodic where stationary."""
    rng = np.random.default_rng(seed)
    steps = rng.dirichlet(np.full(s, 0.7), size=s) + 1e-3
    drop = rng.random((s, s)) < zeros
    if stationary:
        drop[0] = False
        drop[:, 0] = False
    drop[np.arange(s), rng.integers(s, size=s)] = False
    steps[drop] = 0.0
    initial = None
    if not stationary:
        initial = rng.dirichlet(np.ones(s)) * (rng.random(s) > zeros)
        initial = initial + (np.arange(s) == rng.integers(s)) * 1.0
    return po.MarkovChain.normalised(steps, initial)
