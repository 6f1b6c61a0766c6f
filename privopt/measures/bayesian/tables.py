"""Exact Bayesian leakage of a given mechanism on records with any joint law, small enough for a table."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from privopt.arrays import Floats
from privopt.errors import InvalidProblem
from privopt.measures.bayesian._steps import checked_level
from privopt.measures.bayesian.joint import joint_table
from privopt.models import MarkovChain

MOST_ENTRIES = 1_000_000
"""Entries of a joint law up to which all adversaries are listed."""

_MOST_WIDTH = 10_000  # values of a sum


def response_leakage(law: MarkovChain | ArrayLike, tau: float, length: int | None = None) -> float:
    """Bayesian leakage of randomised response on every record, over all adversaries and outputs.

    A record keeps its value with probability e^tau / (e^tau + s - 1) and otherwise takes another one uniformly.

    Parameters
    ----------
    law : MarkovChain, or array with one axis a record
        Joint law of at most a million entries.
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
        If the law, tau or the length is out of range.

    Examples
    --------
    >>> round(response_leakage([[0.4, 0.1], [0.1, 0.4]], 1.0), 10)
    1.569445196
    """
    tau, table = checked_level(tau), joint_table(law, length, MOST_ENTRIES)
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
    law: MarkovChain | ArrayLike, weights: Sequence[int], tau: float, length: int | None = None
) -> float:
    """Bayesian leakage of the sum of g(X_j) plus Laplace noise, over all adversaries and outputs.

    For integer g the ratio of two densities of the output is monotone between integers and constant beyond them, so
    that integers suffice.

    Parameters
    ----------
    law : MarkovChain, or array with one axis a record
        Joint law of at most a million entries; all records have the same states.
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
        If the law, the weights, tau or the length is out of range.

    Examples
    --------
    >>> round(laplace_leakage(MarkovChain([[0.8, 0.2], [0.3, 0.7]]), [0, 1], 0.5, 5), 10)
    1.2544221173
    """
    tau, table = checked_level(tau), joint_table(law, length, MOST_ENTRIES)
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
    """The law with record j's summand in the sum and its value forgotten."""
    result = np.zeros_like(np.take(sums, [0], axis=j))
    width = sums.shape[-1]
    for value, own in enumerate(g):
        result[..., own:] += np.take(sums, [value], axis=j)[..., : width - own]
    return result


def _integers(weights: Sequence[int], table: Floats) -> list[int]:
    given = np.asarray(weights)
    if (
        len(set(table.shape)) != 1
        or given.shape != (table.shape[0],)
        or not np.issubdtype(given.dtype, np.integer)
    ):
        raise InvalidProblem(f"weights must be one integer a state and all records alike, got {weights!r}")
    g = [int(v) - int(given.min()) for v in given]
    if not 0 < max(g) <= _MOST_WIDTH // table.ndim:
        raise InvalidProblem(f"weights must differ, by at most {_MOST_WIDTH} in a sum, got {weights!r}")
    return g
