"""Sequence release: agreement, speed, programs, batches and invariants."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from privopt.arrays import Floats
from privopt.benchmarks.timings.measurement import Timing, register_measurement
from privopt.mechanisms.policy.fixed import Levels
from privopt.mechanisms.policy.formulas.program import solve_structure
from privopt.mechanisms.policy.formulas.words import solve_words
from privopt.mechanisms.policy.hamming import HammingKernel, release_many
from privopt.mechanisms.policy.policy import SequencePolicy
from privopt.models import MarkovChain
from privopt.problems.belief_release.bound import structure_bound
from privopt.problems.belief_release.problem import BeliefRelease
from privopt.solvers.sequence.aggregate import solve_aggregated
from privopt.solvers.sequence.closed_form import prices


def plain(p: Floats, cost: Floats, epsilon: float) -> Floats | None:
    """A kernel of least expected cost by HiGHS with its default tolerances, shape (n, m); None if it gives none.

    Examples
    --------
    >>> kernel = plain(np.array([0.6, 0.4]), 1 - np.eye(2), 0.5)
    >>> kernel.round(6).tolist()
    [[0.757388, 0.242612], [0.363918, 0.636082]]
    """
    from scipy.optimize import linprog
    from scipy.sparse import csr_array, eye_array, kron, vstack

    def rows(table: Any) -> Any:
        return csr_array(table)

    n, m = cost.shape
    means = kron(np.tile(p, (n, 1)), eye_array(m))
    below = vstack(
        [eye_array(n * m) - math.exp(epsilon) * means, math.exp(-epsilon) * means - eye_array(n * m)]
    )
    solution = linprog(
        (p[:, None] * cost).ravel(),
        A_ub=rows(below),
        b_ub=np.zeros(2 * n * m),
        A_eq=rows(kron(eye_array(n), np.ones((1, m)))),
        b_eq=np.ones(n),
        method="highs-ds",
    )
    return None if solution.x is None else np.asarray(solution.x).reshape(n, m)


def value(p: Floats, cost: Floats, kernel: Floats) -> float:
    """Expected cost."""
    return float(p @ (kernel * cost).sum(axis=1))


EPSILON = 2.5
EXACT = 512
"""Up to as many words the optimum is sought; beyond, a good kernel with a bound."""


def binary_words(size: int) -> tuple[Floats, Floats]:
    """Distribution and mean Hamming cost of words of a sticky binary chain, start (.1, .9).

    Examples
    --------
    >>> distribution, cost = binary_words(2)
    >>> distribution.round(3).tolist(), cost[0].tolist()
    ([0.09, 0.01, 0.09, 0.81], [0.0, 0.5, 0.5, 1.0])
    """
    codes = np.arange(2**size)[:, None] >> np.arange(size)[::-1] & 1
    stay = (np.diff(codes, axis=1) == 0).sum(axis=1)
    distribution = np.where(codes[:, 0] == 1, 0.9, 0.1) * 0.9**stay * 0.1 ** (size - 1 - stay)
    cost = (codes[:, None, :] != codes[None, :, :]).mean(axis=2)
    return distribution, cost


def proved_batches(sizes: tuple[int, ...], largest_plain: int, limit: float) -> Iterator[Timing]:
    """One row a size: seconds of both, and the gap between our value and the proved bound, as a share."""
    for size in sizes:
        distribution, cost = binary_words(size)
        begun = time.perf_counter()
        solver = solve_words if len(distribution) <= EXACT else solve_aggregated
        answer = solver(distribution, cost, EPSILON, limit)
        seconds = time.perf_counter() - begun
        case = f"words of {size} letters"
        if answer is None:
            yield Timing(case, len(distribution), seconds, note=f"nothing within {limit:g} s", holds=False)
            continue
        note = f"proved gap as a share of the value {answer.value:.10g}"
        if len(distribution) > largest_plain:
            yield Timing(
                case,
                len(distribution),
                seconds,
                quality=answer.gap,
                note=note,
                holds=answer.bound <= answer.value,
            )
            continue
        begun = time.perf_counter()
        theirs = plain(distribution, cost, EPSILON)
        their_seconds = time.perf_counter() - begun
        row = Timing.against(case, len(distribution), seconds, ("plain LP", their_seconds), answer.gap, note)
        agrees = theirs is not None and answer.value <= value(distribution, cost, theirs) + 1e-6
        yield replace(row, holds=agrees and answer.bound <= answer.value + 1e-12)


AGREE, CERTIFIED = 1e-9, 1e-12


def timed(work: Callable[[], object], least: float = 0.0) -> float:
    """Seconds of one run, the best of as many as fit ``least`` seconds."""
    best, begun = np.inf, time.perf_counter()
    while best == np.inf or time.perf_counter() - begun < least:
        start = time.perf_counter()
        work()
        best = min(best, time.perf_counter() - start)
    return max(float(best), 1e-9)


def beliefs(count: int) -> list[tuple[Floats, float]]:
    """Random beliefs of 2 to 12 letters, some with tiny or no mass, with budgets."""
    rng = np.random.default_rng(4)
    drawn = []
    for _ in range(count):
        n = int(rng.integers(2, 13))
        p = rng.dirichlet(np.full(n, float(rng.choice([0.3, 1.0, 10.0]))))
        p[rng.random(n) < 0.1] = 0.0
        p = p if p.sum() > 0 else np.full(n, 1.0)
        drawn.append((p / p.sum(), float(rng.uniform(0.05, 4))))
    return drawn


def agreement(count: int) -> Iterator[Timing]:
    """Agreement with a linear program, then the gap that the prices prove."""
    drawn = beliefs(count)
    ours, theirs, differences, gaps, proving = 0.0, 0.0, [0.0], [0.0], 0.0
    for p, epsilon in drawn:
        cost, levels, seen = 1.0 - np.eye(len(p)), Levels.of(epsilon), np.flatnonzero(p > 0)
        start = time.perf_counter()
        kernel = HammingKernel(p, epsilon)
        error = value(p, cost, kernel.matrix())
        middle = time.perf_counter()
        solved = solve_structure(p[seen], cost[seen], levels, np.inf)
        ours, theirs = ours + middle - start, theirs + time.perf_counter() - middle
        start = time.perf_counter()
        bound = -structure_bound(BeliefRelease(p.tolist(), epsilon), prices(kernel))
        proving += time.perf_counter() - start
        gaps.append(error - bound)
        if solved is not None:
            distribution = levels.low * (p @ cost) @ solved.marginal
            best = float(distribution + levels.room * (p[seen, None] * solved.kernel * cost[seen]).sum())
            differences.append(abs(error - best))
    note = "largest difference of expected errors"
    row = Timing.against(
        "closed form and program", count, ours, ("structure LP", theirs), max(differences), note
    )
    yield replace(row, holds=max(differences) <= AGREE)
    yield Timing(
        "closed form: proof by prices",
        count,
        proving,
        quality=max(gaps),
        note="largest gap between error and proved bound",
        holds=-1e-15 <= max(gaps) <= CERTIFIED,
    )


def programs(sizes: tuple[int, ...], largest_plain: int) -> Iterator[Timing]:
    """The program in K and Q against that in a(y | x), absolute distance of numbers, in one run.

    Beyond ``largest_plain`` letters there is no comparison: the plain program takes minutes.
    """
    rng = np.random.default_rng(5)
    for n in sizes:
        p = rng.dirichlet(np.ones(n))
        cost = np.abs(np.subtract.outer(np.arange(n), np.arange(n))).astype(np.float64)
        levels = Levels.of(1.0)
        start = time.perf_counter()
        solved = solve_structure(p, cost, levels, np.inf)
        middle = time.perf_counter()
        if n > largest_plain:
            yield Timing("structure LP", n, middle - start, holds=solved is not None)
            continue
        theirs = plain(p, cost, 1.0)
        end = time.perf_counter()
        if solved is None or theirs is None:
            yield Timing("structure LP", n, middle - start, note="no optimum was found", holds=False)
            continue
        best = levels.low * float((p @ cost) @ solved.marginal) + levels.room * value(p, cost, solved.kernel)
        off = (best - value(p, cost, theirs)) / best
        note = "relative excess of our cost over that of the plain program"
        row = Timing.against("structure LP", n, middle - start, ("plain LP", end - middle), off, note)
        yield replace(row, holds=off <= 1e-6)


def _draw(belief: Floats, rng: np.random.Generator) -> int:
    return HammingKernel(belief, 1.0).sample(0, rng)


def user_steps(users: int, steps: int, letters: int) -> Iterator[Timing]:
    """Microseconds a user-step of simulated and of certified release, then single users with many letters."""
    rng = np.random.default_rng(6)
    for n in (10, 16):
        drawn, codes = rng.dirichlet(np.ones(n), users), rng.integers(0, n, users)
        seconds = timed(partial(release_many, drawn, 1.0, codes, rng), 0.05)
        yield Timing(
            f"simulated, {n} letters",
            users,
            seconds,
            quality=1e6 * seconds / users,
            note="microseconds a user-step",
        )
        policy = SequencePolicy(MarkovChain.normalised(rng.dirichlet(np.ones(n), n)), 1.0)
        table = rng.integers(0, n, (max(1, users // steps), steps))
        seconds = timed(partial(policy.release, table))
        yield Timing(
            f"certified, {n} letters",
            table.size,
            seconds,
            quality=1e6 * seconds / table.size,
            note="microseconds a user-step",
        )
    for n in (100, letters):
        belief = rng.dirichlet(np.ones(n))
        seconds = timed(partial(_draw, belief, rng), 0.05)
        note = "milliseconds to build a kernel and draw, simulated"
        yield Timing("one user", n, seconds, quality=1e3 * seconds, note=note)


@register_measurement(
    "sequence-closed-form", "Sequence release: the closed form against a linear program, and its proof"
)
def closed_form(quick: bool) -> Sequence[Timing]:
    """Random beliefs: largest difference of the errors, largest proved gap."""
    return list(agreement(60 if quick else 5000))


@register_measurement("sequence-speed", "Sequence release: time of a user-step, simulated and certified")
def speed(quick: bool) -> Sequence[Timing]:
    """Many users side by side, then one user with many letters."""
    users, steps, letters = (200, 10, 2000) if quick else (100_000, 50, 100_000)
    return list(user_steps(users, steps, letters))


@register_measurement(
    "sequence-structure", "Sequence release: the linear program of one step, written in two ways"
)
def structure(quick: bool) -> Sequence[Timing]:
    """Absolute distance, one size a row."""
    return list(programs((8, 16) if quick else (64, 96, 128), 96))


@register_measurement("sequence-batches", "Sequence release: batches of up to 4096 words, with proved gaps")
def batches(quick: bool) -> Sequence[Timing]:
    """A sticky binary chain at 2.5 nats a batch."""
    if quick:
        return list(proved_batches((3, 4), 16, 5.0))
    return list(proved_batches((7, 8, 9, 10, 12), 128, 90.0))
