"""Random graphs of datasets and obvious readings of their colourings, in exact arithmetic where that is possible."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np

import privopt as po

LN2 = math.log(2)


def random_graph(rng: np.random.Generator, colours: int = 2, most: int = 12) -> po.DatasetGraph:
    n = int(rng.integers(2, most))
    edges = rng.integers(0, n, (int(rng.integers(1, 2 * n)), 2))
    codes = rng.integers(0, colours, n)
    codes[: min(n, colours)] = np.arange(min(n, colours))
    return po.DatasetGraph(edges, codes, palette=range(colours))


def exact_rows(colouring: po.Colouring) -> list[list[Fraction]]:
    rows = colouring.exact()
    return [[rows[i].fraction(c) for c in range(len(rows[i].weights))] for i in colouring.level.tolist()]


def excess(u: list[Fraction], v: list[Fraction], ratio: Fraction) -> Fraction:
    """The largest P_u(event) - ratio P_v(event), over every event."""
    events = itertools.chain.from_iterable(
        itertools.combinations(range(len(u)), size) for size in range(len(u) + 1)
    )
    return max(sum((u[c] - ratio * v[c] for c in event), Fraction(0)) for event in events)


def worst_excess(problem: po.BoundaryColouring, colouring: po.Colouring, ratio: Fraction) -> Fraction:
    """The largest excess over all edges, in both directions."""
    rows, edges = exact_rows(colouring), problem.graph.edges().tolist()
    pairs = [(rows[a], rows[b]) for u, v in edges for a, b in ((u, v), (v, u))]
    return max((excess(a, b, ratio) for a, b in pairs), default=Fraction(0))


def e_to(epsilon: float, *, up: bool) -> Fraction:
    """A rational within 1e-40 of e^epsilon, relatively, on the side that ``up`` names."""
    import mpmath

    with mpmath.workdps(60):
        value = mpmath.e ** mpmath.mpf(epsilon)
        shifted = value * (1 + (1 if up else -1) * mpmath.mpf(10) ** -40)
        return Fraction(int(mpmath.floor(shifted * mpmath.mpf(10) ** 50)), 10**50)


def first(colouring: po.Colouring) -> list[float]:
    """Pr[first colour] of every vertex."""
    return [float(x) for x in colouring.probabilities[:, 0]]
