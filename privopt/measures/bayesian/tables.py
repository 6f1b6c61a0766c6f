"""Bayesian leakage on a few records with any joint distribution as a table: of one mechanism, and of the worst."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import combinations, permutations, product
from typing import SupportsIndex, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from privopt.arrays import Floats
from privopt.errors import InvalidModel, InvalidProblem
from privopt.measures.bayesian._sides import checked_length, checked_level
from privopt.measures.bound import Bound
from privopt.models import MarkovChain

Pair: TypeAlias = tuple[Floats, Floats]
Edges: TypeAlias = NDArray[np.int64]

MOST_ENTRIES = 1_000_000
"""Entries of a joint distribution up to which all adversaries are listed."""

MOST_SOLVED = 256
"""Entries of a joint distribution up to which the linear programs are solved."""

_MOST_WIDTH = 10_000  # values of a sum


def joint_table(joint: MarkovChain | ArrayLike, length: SupportsIndex | None, most: int) -> Floats:
    """Pr(X = x) as an array with one axis a record.

    Parameters
    ----------
    joint : MarkovChain, or array with one axis a record
        The entries of an array are non-negative and sum to 1 within 1e-9.
    length : int, optional
        Number of records of a chain; of an array only its own.
    most : int
        Number of entries from which it is refused.

    Raises
    ------
    InvalidModel
        If an array is not a distribution.
    InvalidProblem
        If the length is missing, does not fit, or gives too many entries.

    Examples
    --------
    >>> joint_table(MarkovChain([[0.5, 0.5], [1, 0]]), 2, 100).round(4)
    array([[0.3333, 0.3333],
           [0.3333, 0.    ]])
    """
    if isinstance(joint, MarkovChain):
        count = checked_length(joint, length)
        if count is None:
            raise InvalidProblem("length is missing: a table needs the number of records")
        # k**count of a billion records is no number
        _check_size(joint.k ** min(count, most.bit_length()), most)
        table = np.asarray(joint.initial)
        for t in range(count - 1):
            table = table[..., None] * joint.step(t)
        return table
    table = np.asarray(joint, dtype=np.float64)
    if table.ndim == 0 or table.size == 0 or not (table >= 0).all() or abs(table.sum() - 1) > 1e-9:
        raise InvalidModel(
            f"a joint distribution needs non-negative entries that sum to 1, got shape {table.shape}, sum {table.sum()}"
        )
    if length is not None and length != table.ndim:
        raise InvalidProblem(f"length must be the table's {table.ndim} axes, got {length}")
    _check_size(table.size, most)
    scaled: Floats = table / table.sum()
    return scaled


def _check_size(size: int, most: int) -> None:
    if size > most:
        raise InvalidProblem(
            f"the joint distribution has {size} entries or more, {most} are allowed: take fewer records"
        )


def exact_small(joint: MarkovChain | ArrayLike, tau: float, length: int | None = None) -> Bound:
    """Largest Bayesian leakage of a tau-private mechanism, by one linear program for each adversary and pair of values.

    An adversary knows some records and compares two values x, x' of another one. The probability f of an output is
    any positive function of the records whose logarithm changes by at most tau with each (scaled down, it is an
    output of a private mechanism). The linear program maximises E[f | known, x] with E[f | known, x'] = 1. Definitions as in
    Lange, Guerra-Balboa, Parra-Arnau and Strufe, "Balancing Privacy and Utility in Correlated Data".

    Parameters
    ----------
    joint : MarkovChain, or array with one axis a record
        Joint distribution of at most 256 entries.
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
        If the distribution, tau or the length is out of range, or a linear program fails.

    Examples
    --------
    >>> identical = [[0.5, 0.0], [0.0, 0.5]]
    >>> round(exact_small(identical, 0.3).value, 6)
    0.6
    """
    tau, table = checked_level(tau), joint_table(joint, length, MOST_SOLVED)
    worst = 0.0
    for above, below in _adversaries(table) if tau > 0 else ():
        worst = max(worst, _linear_program(above, below, tau))
    return Bound(worst, True, EXACT_SMALL, "targets_in_interval")


EXACT_SMALL = exact_small.__name__.replace("_", "-")
"""The name of this method, and of other readings of every adversary of a few records."""


def _adversaries(table: Floats) -> Iterator[Pair]:
    """Distributions of the unknown records given what is known and either value of the target, each pair once."""
    records = range(table.ndim)
    for target in records:
        others = [j for j in records if j != target]
        for size in range(len(others) + 1):
            for known in combinations(others, size):
                hidden = [j for j in others if j not in known]
                moved = table.transpose([*known, target, *hidden])
                for values in product(*(range(table.shape[j]) for j in known)):
                    conditional = [row / row.sum() for row in moved[values] if row.sum() > 0]
                    yield from permutations(conditional, 2)


def _linear_program(above: Floats, below: Floats, tau: float) -> float:
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
    pairs = []
    for axis, size in enumerate(shape):
        lines = np.moveaxis(cells, axis, -1).reshape(-1, size)
        pairs += [lines[:, [a, b]] for a, b in permutations(range(size), 2)]
    return np.concatenate(pairs)


def response_leakage(joint: MarkovChain | ArrayLike, tau: float, length: int | None = None) -> float:
    """Bayesian leakage of randomised response on every record, over all adversaries and outputs.

    A record keeps its value with probability e^tau / (e^tau + s - 1) and otherwise takes another one uniformly.

    Parameters
    ----------
    joint : MarkovChain, or array with one axis a record
        Joint distribution of at most a million entries.
    tau : float
        Level of the response, in nats, >= 0.
    length : int, optional
        Number of records of a chain.

    Returns
    -------
    float
        In nats.

    Raises
    ------
    InvalidModel, InvalidProblem
        If the distribution, tau or the length is out of range.

    Examples
    --------
    >>> round(response_leakage([[0.4, 0.1], [0.1, 0.4]], 1.0), 10)
    1.569445196
    """
    tau, table = checked_level(tau), joint_table(joint, length, MOST_ENTRIES)
    lie = np.exp(-tau)
    worst = 0.0

    def visit(outputs: Floats, weights: Floats, hidden: int) -> None:
        nonlocal worst
        targets = [j for j in range(table.ndim) if weights.shape[j] > 1]
        high, low = _logarithms(outputs, weights)
        for target in targets:
            worst = max(worst, tau + _widest(high, low, target))
        for j in range(hidden, table.ndim):
            others = outputs.sum(axis=j, keepdims=True)
            visit(outputs * (1 - lie) + others * lie, weights.sum(axis=j, keepdims=True), j + 1)

    visit(table, table, 0)
    return worst


def laplace_leakage(
    joint: MarkovChain | ArrayLike, weights: Sequence[int], tau: float, length: int | None = None
) -> float:
    """Bayesian leakage of the sum of g(X_j) plus Laplace noise, over all adversaries and outputs.

    For integer g the ratio of two densities of the output is monotone between integers and constant beyond them, so
    that integers suffice.

    Parameters
    ----------
    joint : MarkovChain, or array with one axis a record
        Joint distribution of at most a million entries; all records have the same states.
    weights : sequence of int
        g of each state.
    tau : float
        Level of differential privacy, in nats, >= 0: the scale of the noise is (max g - min g) / tau.
    length : int, optional
        Number of records of a chain.

    Returns
    -------
    float
        In nats.

    Raises
    ------
    InvalidModel, InvalidProblem
        If the distribution, the weights, tau or the length is out of range.

    Examples
    --------
    >>> round(laplace_leakage(MarkovChain([[0.8, 0.2], [0.3, 0.7]]), [0, 1], 0.5, 5), 10)
    1.2544221173
    """
    tau, table = checked_level(tau), joint_table(joint, length, MOST_ENTRIES)
    g = _integers(weights, table)
    span, most = max(g), max(g) * table.ndim
    offsets = np.arange(-span, most + span + 1)
    density = np.exp(-tau / span * np.abs(np.arange(most + 1)[:, None] - offsets[None, :]))
    worst = 0.0

    def visit(sums: Floats, hidden: int) -> None:
        nonlocal worst
        high, low = _logarithms(sums @ density, sums.sum(axis=-1, keepdims=True))
        for target in range(table.ndim):
            if sums.shape[target] > 1:
                top = _aligned(high, target, g, span)
                bottom = top if high is low else _aligned(low, target, g, span)
                worst = max(worst, _widest(top, bottom, target))
        for j in range(hidden, table.ndim):
            visit(_added(sums, j, g), j + 1)

    visit(np.concatenate([table[..., None], np.zeros((*table.shape, most))], axis=-1), 0)
    return worst


def _logarithms(outputs: Floats, weights: Floats) -> tuple[Floats, Floats]:
    """ln(outputs / weights) twice: with -inf and with inf where the condition is impossible."""
    possible = weights > 0
    if possible.all():
        logs = np.log(outputs / weights)
        return logs, logs
    ratios = np.divide(outputs, weights, out=np.ones_like(outputs), where=possible)
    logs = np.log(ratios)
    return np.where(possible, logs, -np.inf), np.where(possible, logs, np.inf)


def _widest(high: Floats, low: Floats, target: int) -> float:
    """Largest difference for two possible values of the target; -inf where there are no two."""
    difference = high.max(axis=target) - low.min(axis=target)
    if high is low:
        return float(difference.max())
    several = np.isfinite(high).sum(axis=target) > 1
    return float(difference[several].max(initial=-np.inf))


def _aligned(outputs: Floats, target: int, g: list[int], span: int) -> Floats:
    """Log-densities at the same outputs for all values of the target, from those without its own summand."""
    width = outputs.shape[-1] - span
    rows = [
        np.take(outputs, value, axis=target)[..., span - own : span - own + width]
        for value, own in enumerate(g)
    ]
    return np.stack(rows, axis=target)


def _added(sums: Floats, j: int, g: list[int]) -> Floats:
    """The distribution with record j's summand in the sum and its value forgotten."""
    result = np.zeros_like(np.take(sums, [0], axis=j))
    width = sums.shape[-1]
    for value, own in enumerate(g):
        result[..., own:] += np.take(sums, [value], axis=j)[..., : width - own]
    return result


def _integers(weights: Sequence[int], table: Floats) -> list[int]:
    values = np.asarray(weights)
    if (
        len(set(table.shape)) != 1
        or values.shape != (table.shape[0],)
        or not np.issubdtype(values.dtype, np.integer)
    ):
        raise InvalidProblem(f"weights must be one integer a state and all records alike, got {weights!r}")
    g = [int(v) - int(values.min()) for v in values]
    if not 0 < max(g) <= _MOST_WIDTH // table.ndim:
        raise InvalidProblem(f"weights must differ, by at most {_MOST_WIDTH} in a sum, got {weights!r}")
    return g
