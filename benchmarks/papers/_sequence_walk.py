"""What a policy costs and leaks on a Markov chain, over every sequence of releases."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from privopt.benchmarks.papers._sequence_kernels import Kernels, leakages
from privopt.mechanisms._hamming_cases import Floats

_DIGITS = 13


@dataclass(frozen=True, eq=False)
class Walked:
    """Mean cost and largest leakage of each step, over all releases; ``beliefs`` is how many distinct ones were met."""

    costs: Floats
    leakage: Floats
    beliefs: int

    @property
    def cost(self) -> float:
        """Mean cost of a step."""
        return float(self.costs.mean())

    @property
    def worst(self) -> float:
        """Largest leakage of a step."""
        return float(self.leakage.max())


def walk(initial: Floats, transition: Floats, kernels: Kernels, cost: Floats, steps: int) -> Walked:
    """Follow every belief from step to step; equal ones, to 13 digits, are followed once.

    Parameters
    ----------
    initial : array (n,)
    transition : array (n, n)
        Row x: law of the next input after x.
    kernels : callable
    cost : array (n, m)
    steps : int

    Examples
    --------
    >>> from privopt.benchmarks.papers._sequence_kernels import optimum
    >>> half = np.full((2, 2), 0.5)
    >>> found = walk(half[0], half, optimum(1.0), 1 - np.eye(2), 3)
    >>> round(found.cost, 9), round(found.worst, 9), found.beliefs
    (0.183939721, 1.0, 3)
    """
    beliefs, weights = np.asarray(initial, dtype=np.float64)[None, :], np.ones(1)
    costs, leaks, met = [], [], 0
    for _ in range(steps):
        met += len(beliefs)
        kernel = kernels(beliefs)
        joint = beliefs[:, :, None] * kernel
        costs.append(float(weights @ (joint * cost).sum(axis=(1, 2))))
        leaks.append(float(leakages(beliefs, kernel).max()))
        beliefs, weights = _next(joint, weights, transition)
    return Walked(np.array(costs), np.array(leaks), met)


def _next(joint: Floats, weights: Floats, transition: Floats) -> tuple[Floats, Floats]:
    """The beliefs after every release, with their probabilities; equal ones are put together."""
    law = joint.sum(axis=1)
    chance = (weights[:, None] * law).ravel()
    kept = chance > 0
    after = joint.transpose(0, 2, 1).reshape(-1, joint.shape[1])[kept]
    after = (after / after.sum(axis=1, keepdims=True)) @ transition
    _, first, which = np.unique(after.round(_DIGITS), axis=0, return_index=True, return_inverse=True)
    return np.asarray(after[first]), np.asarray(
        np.bincount(which.ravel(), chance[kept], len(first)), dtype=np.float64
    )


@dataclass(frozen=True, eq=False)
class Words:
    """A chain of letters read w at a time: ``initial`` (N,), ``transition`` (N, N), ``cost`` (N, N) a letter."""

    initial: Floats
    transition: Floats
    cost: Floats


def in_words(initial: Floats, transition: Floats, size: int, letter_cost: Floats) -> Words:
    """Batches of ``size`` letters as letters of a chain, in the order of their digits.

    Examples
    --------
    >>> half = np.full((2, 2), 0.5)
    >>> words = in_words(half[0], half, 2, 1 - np.eye(2))
    >>> words.initial.tolist(), words.cost[0].tolist()
    ([0.25, 0.25, 0.25, 0.25], [0.0, 0.5, 0.5, 1.0])
    """
    n = len(initial)
    codes = np.stack(np.unravel_index(np.arange(n**size), (n,) * size), axis=1)
    inner = np.prod(transition[codes[:, :-1], codes[:, 1:]], axis=1)
    first, last = codes[:, 0], codes[:, -1]
    cost = np.mean([letter_cost[np.ix_(codes[:, i], codes[:, i])] for i in range(size)], axis=0)
    return Words(initial[first] * inner, transition[np.ix_(last, first)] * inner, cost)
