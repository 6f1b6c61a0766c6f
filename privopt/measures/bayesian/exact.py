"""Largest Bayesian leakage of a differentially private mechanism on a few records with any joint law."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import combinations, permutations, product
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from privopt.arrays import Floats
from privopt.errors import InvalidProblem
from privopt.measures.bayesian._steps import checked_level
from privopt.measures.bayesian.joint import joint_table
from privopt.measures.bound import Bound
from privopt.models import MarkovChain

Pair: TypeAlias = tuple[Floats, Floats]
Edges: TypeAlias = NDArray[np.int64]

MOST_ENTRIES = 256
"""Entries of a joint law up to which the linear programs are solved."""


def exact_small(law: MarkovChain | ArrayLike, tau: float, length: int | None = None) -> Bound:
    """Largest Bayesian leakage of a tau-private mechanism, by one linear program an adversary and pair of values.

    An adversary knows some records and compares two values x, x' of another one. The probability f of an output is
    any positive function of the records whose logarithm changes by at most tau with each (scaled down, it is an
    output of a private mechanism). The program maximises E[f | known, x] with E[f | known, x'] = 1. Definitions as in
    Lange, Guerra-Balboa, Parra-Arnau and Strufe, "Balancing Privacy and Utility in Correlated Data".

    Parameters
    ----------
    law : MarkovChain, or array with one axis a record
        Joint law of at most 256 entries.
    tau : float
        Level of differential privacy in nats, >= 0.
    length : int, optional
        Number of records of a chain.

    Returns
    -------
    Bound
        Exact, to the tolerance of the linear programs (about 1e-7).

    Raises
    ------
    InvalidModel, InvalidProblem
        If the law, tau or the length is out of range, or a program fails.

    Examples
    --------
    >>> identical = [[0.5, 0.0], [0.0, 0.5]]
    >>> round(exact_small(identical, 0.3).value, 6)
    0.6
    """
    tau, table = checked_level(tau), joint_table(law, length, MOST_ENTRIES)
    worst = 0.0
    for above, below in _adversaries(table) if tau > 0 else ():
        worst = max(worst, _programme(above, below, tau))
    return Bound(worst, True, "exact-small", "targets_in_interval")


def _adversaries(table: Floats) -> Iterator[Pair]:
    """Laws of the unknown records given what is known and either value of the target, each pair once."""
    records = range(table.ndim)
    for target in records:
        others = [j for j in records if j != target]
        for size in range(len(others) + 1):
            for known in combinations(others, size):
                hidden = [j for j in others if j not in known]
                moved = table.transpose([*known, target, *hidden])
                for values in product(*(range(table.shape[j]) for j in known)):
                    laws = [row / row.sum() for row in moved[values] if row.sum() > 0]
                    yield from permutations(laws, 2)


def _programme(above: Floats, below: Floats, tau: float) -> float:
    if np.array_equal(above, below):
        return tau  # the target's own change, which no averaging over the others can exceed
    from scipy.optimize import linprog

    pairs = _neighbours((2, *above.shape))
    rows = np.arange(len(pairs))
    limits = np.zeros((len(pairs), 2 * above.size))
    limits[rows, pairs[:, 0]], limits[rows, pairs[:, 1]] = 1.0, -math.exp(tau)
    nothing = np.zeros(above.size)
    answer = linprog(
        np.concatenate([-above.ravel(), nothing]),
        A_ub=limits,
        b_ub=np.zeros(len(pairs)),
        A_eq=np.concatenate([nothing, below.ravel()])[None],
        b_eq=[1.0],
        method="highs",
    )
    if answer.status != 0 or answer.fun is None:
        raise InvalidProblem(f"a linear program for tau={tau:g} failed ({answer.message}): try another tau")
    return math.log(-answer.fun)


def _neighbours(shape: tuple[int, ...]) -> Edges:
    """Pairs of cells that differ in one coordinate, both ways round."""
    cells = np.arange(math.prod(shape)).reshape(shape)
    found = []
    for axis, size in enumerate(shape):
        lines = np.moveaxis(cells, axis, -1).reshape(-1, size)
        found += [lines[:, [a, b]] for a, b in permutations(range(size), 2)]
    return np.concatenate(found)
