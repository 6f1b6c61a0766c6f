"""Every sequence with every release: joint distributions by enumeration, for short sequences."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from privopt.arrays import Floats
from privopt.mechanisms.policy.fixed import Levels
from privopt.mechanisms.policy.hamming import HammingKernel, rows

Kernels = Callable[[Floats], Floats]
"""Kernels for beliefs."""


def optimum(epsilon: float) -> Kernels:
    """The kernel of least Hamming error.

    Examples
    --------
    >>> bool(np.allclose(optimum(0.5)(np.array([[0.6, 0.4]])), printed(0.5)(np.array([[0.6, 0.4]]))))
    True
    """

    def kernels(beliefs: Floats) -> Floats:
        return np.array([HammingKernel(belief, epsilon).matrix() for belief in beliefs])

    return kernels


def optimum_at_once(beliefs: Floats, epsilon: float) -> Floats:
    """The same kernels written from the implicit ones, a column at a time: faster for many beliefs of few letters."""
    mine, (m, n) = rows(beliefs, epsilon), beliefs.shape
    columns = np.stack([mine.column(np.full(m, y)) for y in range(n)], axis=2)
    kernels = mine.levels.room * columns + mine.levels.low * mine.marginal[:, None, :]
    place = np.argsort(mine.order, axis=1)
    kernels = np.take_along_axis(kernels, place[:, :, None], axis=1)
    return np.take_along_axis(kernels, place[:, None, :], axis=2)


def printed(epsilon: float) -> Kernels:
    """Conditional randomised response as Algorithm 1 prints it, private or not."""
    low = math.exp(-epsilon)

    def kernels(beliefs: Floats) -> Floats:
        n = beliefs.shape[1]
        return np.asarray(low * beliefs[:, None, :] + (1 - low) * np.eye(n))

    return kernels


def randomised_response(epsilon: float) -> Kernels:
    """Randomised response, which does not look at the belief."""

    def kernels(beliefs: Floats) -> Floats:
        m, n = beliefs.shape
        matrix = np.exp(np.where(np.eye(n, dtype=bool), 0.0, -epsilon))
        return np.broadcast_to(matrix / matrix.sum(axis=1, keepdims=True), (m, n, n))

    return kernels


def cheapest(epsilon: float, cost: Floats) -> Kernels:
    """The kernel of least expected cost, shape (n, m), by a linear program for each belief.

    Examples
    --------
    >>> hamming = 1 - np.eye(2)
    >>> belief = np.array([0.8, 0.2])
    >>> kernel = cheapest(1.0, hamming)(belief[None, :])[0]
    >>> round(float((belief @ (kernel * hamming)).sum()), 9) == round(HammingKernel(belief, 1.0).error, 9)
    True
    """
    from privopt.mechanisms.policy.formulas.program import solve_structure

    levels = Levels.of(epsilon)

    def one(belief: Floats) -> Floats:
        seen = np.flatnonzero(belief > 0)
        p = belief[seen] / belief[seen].sum()
        solved = solve_structure(p, cost[seen], levels, math.inf)
        if solved is None:
            raise ArithmeticError(f"the linear program of a belief of {len(p)} letters found no optimum")
        rows_of = solved.kernel / solved.kernel.sum(axis=1, keepdims=True)
        distribution = p @ rows_of
        kernel = np.tile(distribution, (len(belief), 1))
        kernel[seen] = levels.room * rows_of + levels.low * distribution
        return mended(kernel, belief, epsilon)

    return lambda beliefs: np.array([one(belief) for belief in beliefs])


def mended(kernel: Floats, belief: Floats, epsilon: float) -> Floats:
    """A kernel mixed with its own output distribution by the least weight that keeps the budget at this belief.

    Examples
    --------
    >>> kernel = np.array([[0.9, 0.1], [0.2, 0.8]])
    >>> after = mended(kernel, np.array([0.5, 0.5]), 0.4)
    >>> round(float((after[0, 0] - 0.9) / (0.55 - 0.9)), 12)
    0.576125773474
    """
    distribution = belief @ kernel
    used, seen = distribution > 0, belief > 0
    ratios = kernel[np.ix_(seen, used)] / distribution[used]
    low, high = float(ratios.min()), float(ratios.max())
    weight = max(
        0.0,
        (math.exp(-epsilon) - low) / (1 - low) if low < math.exp(-epsilon) else 0.0,
        (high - math.exp(epsilon)) / (high - 1) if high > math.exp(epsilon) else 0.0,
    )
    return np.asarray((1 - weight) * kernel + weight * distribution)


def leakages(beliefs: Floats, kernels: Floats) -> Floats:
    """The largest |ln a(y | x) / Q(y)| of each belief, over possible letters and releases.

    Examples
    --------
    >>> belief = np.array([[0.9, 0.1]])
    >>> round(float(np.exp(leakages(belief, printed(np.log(2))(belief))[0])), 9)
    5.5
    """
    distribution = np.einsum("mx,mxy->my", beliefs, kernels)
    counted = (beliefs > 0)[:, :, None] & (distribution > 0)[:, None, :]
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.abs(np.log(kernels / distribution[:, None, :]))
    return np.asarray(np.where(counted, logs, 0.0).max(axis=(1, 2)))


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
        Row x: distribution of the next input after x.
    kernels : callable
    cost : array (n, m)
    steps : int

    Examples
    --------
    >>> from privopt.benchmarks.papers.sequences import optimum
    >>> half = np.full((2, 2), 0.5)
    >>> walked = walk(half[0], half, optimum(1.0), 1 - np.eye(2), 3)
    >>> round(walked.cost, 9), round(walked.worst, 9), walked.beliefs
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
    distribution = joint.sum(axis=1)
    chance = (weights[:, None] * distribution).ravel()
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


@dataclass(frozen=True, eq=False)
class Enumerated:
    """Joint distribution after each step, ``joints[k]`` of shape (m^(k+1), n^(k+1)): a row a sequence of releases.

    ``leakage`` is the largest leakage of the one letter read by each step.
    """

    joints: tuple[Floats, ...]
    leakage: tuple[float, ...]

    def logs(self) -> tuple[Floats, Floats]:
        """Ln Pr(x, y) / (Pr(x) Pr(y)) of whole sequences, and their probabilities, for those of positive probability."""
        distribution = self.joints[-1]
        apart = np.outer(distribution.sum(axis=1), distribution.sum(axis=0))
        used = distribution > 0
        return np.log(distribution[used] / apart[used]), distribution[used]

    @property
    def sequence_leakage(self) -> float:
        """The largest |ln Pr(x | y) / Pr(x)| of whole sequences."""
        return float(np.abs(self.logs()[0]).max())

    def prefix_leakage(self) -> tuple[float, ...]:
        """The largest |ln Pr(x prefix | y prefix) / Pr(x prefix | y before)| of each step, by enumeration."""
        leaks = []
        for distribution in self.joints:
            before = distribution.reshape(-1, self._releases, distribution.shape[1]).sum(axis=1)
            posterior, after = (
                _posteriors(before),
                distribution / np.maximum(distribution.sum(axis=1, keepdims=True), 1e-300),
            )
            prior = np.repeat(posterior, self._releases, axis=0)
            used = after > 0
            leaks.append(float(np.abs(np.log(after[used] / prior[used])).max()))
        return tuple(leaks)

    @property
    def _releases(self) -> int:
        return len(self.joints[0])


def enumerate_releases(initial: Floats, transition: Floats, kernels: Kernels, steps: int) -> Enumerated:
    """The joint distribution of sequences and releases if each step's kernel reads one letter and the releases before.

    Examples
    --------
    >>> from privopt.benchmarks.papers.sequences import optimum
    >>> half = np.full((2, 2), 0.5)
    >>> enumerated = enumerate_releases(half[0], half, optimum(1.0), 3)
    >>> enumerated.joints[-1].shape, round(enumerated.sequence_leakage, 9), [round(v, 9) for v in enumerated.prefix_leakage()]
    ((8, 8), 3.0, [1.0, 1.0, 1.0])
    """
    n, distribution = len(initial), np.asarray(initial, dtype=np.float64)[None, :]
    joints, leaks = [], []
    for step in range(steps):
        if step:
            distribution = (
                distribution.reshape(len(distribution), -1, n)[:, :, :, None] * transition
            ).reshape(len(distribution), -1)
        last = distribution.reshape(len(distribution), -1, n)
        beliefs = _posteriors(last.sum(axis=1))
        kernel = kernels(beliefs)
        leaks.append(float(leakages(beliefs, kernel).max()))
        distribution = np.einsum("pax,pxy->pyax", last, kernel).reshape(
            len(distribution) * kernel.shape[2], -1
        )
        joints.append(distribution)
    return Enumerated(tuple(joints), tuple(leaks))


def _posteriors(table: Floats) -> Floats:
    """Rows divided by their sums; what cannot happen gets a uniform row, which counts for nothing."""
    sums = table.sum(axis=1, keepdims=True)
    return np.asarray(np.where(sums > 0, table / np.where(sums > 0, sums, 1.0), 1.0 / table.shape[1]))


def random_chain(rng: np.random.Generator, n: int) -> tuple[Floats, Floats]:
    """Start and transitions drawn from Dirichlet distributions."""
    return np.asarray(rng.dirichlet(np.ones(n))), np.asarray(rng.dirichlet(np.ones(n), n))


def random_kernels(rng: np.random.Generator, epsilon: float | None = None) -> Kernels:
    """New random kernels at every belief, mixed down to a budget if there is one."""

    def kernels(beliefs: Floats) -> Floats:
        m, n = beliefs.shape
        drawn = np.asarray(rng.dirichlet(np.full(n, 0.5), (m, n)) * (1 - 1e-9) + 1e-9 / n)
        if epsilon is None:
            return drawn
        return np.array([mended(k, b, epsilon) for k, b in zip(drawn, beliefs, strict=True)])

    return kernels
