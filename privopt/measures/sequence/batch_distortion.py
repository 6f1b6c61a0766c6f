"""How little a private release of many independent letters at once distorts them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from privopt.arrays import Floats
from privopt.errors import InvalidProblem, NotSolved
from privopt.files.numbers import decode_float
from privopt.mechanisms.policy.formulas.types import (
    count_joint_types,
    joint_types,
    solve_orbits,
    uniform_value,
)

MAX_TYPES = 60_000
MAX_LENGTH = 20_000


@dataclass(frozen=True)
class BatchDistortion:
    """The least distortion of a batch, enclosed.

    Attributes
    ----------
    value : float
        Distortion a letter of a private kernel.
    bound : float
        No private kernel has less.
    method : str
        ``"closed-form"`` or ``"orbits"``.
    """

    value: float
    bound: float
    method: str

    @property
    def gap(self) -> float:
        """How much the value may be above the optimum."""
        return self.value - self.bound


def iid_batch_distortion(
    letters: int | Sequence[float],
    length: int,
    epsilon: float,
    distortion: Sequence[Sequence[float]] | None = None,
) -> BatchDistortion:
    """The least expected distortion a letter of w independent letters that are released together.

    A kernel reads the whole word and releases a word; its leakage |ln P(y | x) / P(y)| is at most epsilon, the budget
    of the whole batch. For letters that are all alike likely and Hamming distortion there is a closed form, for any
    number of letters. Otherwise a linear program over joint types of words, C(w + 3, 3) numbers for two letters,
    with the bound of its prices.

    Source of the problem: Jiang, Li, Tandon, "Online Context-aware Data Release with Sequence Information Privacy",
    batches.

    Parameters
    ----------
    letters : int or sequence of float
        How many letters there are, all of the same probability; or the distribution of a letter, summing to 1 within 1e-9.
    length : int
        Letters in a batch, w >= 1.
    epsilon : float
        Budget of the batch in nats, >= 0, perhaps inf.
    distortion : matrix, shape (letters, releases), optional
        Finite costs of a letter and what it is released as; 1 where they differ by default.

    Returns
    -------
    BatchDistortion
        Value and lower bound. They agree to about 1e-9 for budgets up to 15 nats; beyond, see the gap.

    Raises
    ------
    InvalidProblem
        If an argument is out of its range, or there are more than 60 000 joint types.
    NotSolved
        If the linear program fails.

    Examples
    --------
    >>> round(iid_batch_distortion(2, 100, 50.0).value, 12)
    0.056579303506
    >>> answer = iid_batch_distortion([0.7, 0.3], 8, 4.0)
    >>> round(answer.value, 9), answer.gap < 1e-9, answer.method
    (0.063926416, True, 'orbits')
    """
    distribution = _distribution(letters)
    budget = _budget(epsilon)
    if isinstance(length, bool) or not isinstance(length, int) or not 1 <= length <= MAX_LENGTH:
        raise InvalidProblem(f"length must be an integer from 1 to {MAX_LENGTH}, got {length!r}")
    if distortion is None and (isinstance(letters, int) or np.ptp(distribution) == 0):
        value = uniform_value(len(distribution), length, budget)
        return BatchDistortion(value, value * (1 - 1e-12), "closed-form")
    return _orbits(distribution, _cost(distortion, len(distribution)), length, budget)


def _orbits(distribution: Floats, cost: Floats, length: int, budget: float) -> BatchDistortion:
    """By the linear program, or at once where nothing or all may leak."""
    possible = np.flatnonzero(distribution > 0)
    p, cost = distribution[possible], cost[possible]
    if budget in (0.0, math.inf):
        value = float((p @ cost).min() if budget == 0 else p @ cost.min(axis=1))
        return BatchDistortion(value, value - 1e-14 * float(np.abs(cost).max()), "closed-form")
    n, m = cost.shape
    count = count_joint_types(n, m, length)
    if count > MAX_TYPES:
        raise InvalidProblem(
            f"words of {length} letters have {count} joint types, more than {MAX_TYPES}: lower length"
        )
    types = joint_types(n, m, length)
    unit = float(np.abs(cost).max()) or 1.0
    answer = solve_orbits(types, types.distribution(p), types.cost(cost / unit), budget)
    if answer is None:
        raise NotSolved("the linear program over joint types did not end: try a smaller budget or length")
    return BatchDistortion(unit * answer.value, unit * answer.bound, "orbits")


def _distribution(letters: int | Sequence[float]) -> Floats:
    if isinstance(letters, int) and not isinstance(letters, bool):
        if not 1 <= letters <= 2**20:
            raise InvalidProblem(f"letters must be a number from 1 to 2^20 or a distribution, got {letters}")
        return np.full(letters, 1.0 / letters)
    try:
        distribution = np.array(letters, dtype=np.float64)
    except (TypeError, ValueError) as cause:
        raise InvalidProblem(f"letters must be a number of letters or their distribution: {cause}") from cause
    if (
        distribution.ndim != 1
        or not len(distribution)
        or not (distribution >= 0).all()
        or not abs(distribution.sum() - 1) <= 1e-9
    ):
        raise InvalidProblem(
            "letters must be a number of letters, or probabilities that sum to 1 within 1e-9"
        )
    return np.asarray(distribution / distribution.sum())


def _budget(epsilon: float) -> float:
    try:
        value = decode_float(float(epsilon) if isinstance(epsilon, np.generic) else epsilon)
    except ValueError as cause:
        raise InvalidProblem(f"epsilon must be a number of nats >= 0, or inf: {cause}") from cause
    if not value >= 0:
        raise InvalidProblem(f"epsilon must be >= 0 nats, got {value}")
    return value


def _cost(distortion: Sequence[Sequence[float]] | None, letters: int) -> Floats:
    if distortion is None:
        return np.asarray(1.0 - np.eye(letters))
    try:
        cost = np.array(distortion, dtype=np.float64)
    except (TypeError, ValueError) as cause:
        raise InvalidProblem(f"distortion must be a matrix of numbers: {cause}") from cause
    if cost.ndim != 2 or cost.shape[0] != letters or not cost.shape[1] or not np.isfinite(cost).all():
        raise InvalidProblem(f"distortion must have {letters} rows of finite numbers, got shape {cost.shape}")
    return cost
