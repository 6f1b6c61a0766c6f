"""One release: the closed form against linear programmes, and how fast streams are released."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial

import numpy as np

from privopt.benchmarks._measurements import Timing
from privopt.benchmarks.measurements._sequence_plain import plain, value
from privopt.mechanisms._hamming_cases import Floats, Levels
from privopt.mechanisms._hamming_kernel import HammingKernel, release_many
from privopt.mechanisms.sequence_policy import SequencePolicy
from privopt.models import MarkovChain
from privopt.problems._belief_bound import structure_bound
from privopt.problems.belief_release import BeliefRelease
from privopt.solvers.belief_release._hamming_prices import prices
from privopt.solvers.belief_release._structure import solve_structure

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
    found = []
    for _ in range(count):
        n = int(rng.integers(2, 13))
        p = rng.dirichlet(np.full(n, float(rng.choice([0.3, 1.0, 10.0]))))
        p[rng.random(n) < 0.1] = 0.0
        p = p if p.sum() > 0 else np.full(n, 1.0)
        found.append((p / p.sum(), float(rng.uniform(0.05, 4))))
    return found


def closed_form(count: int) -> Iterator[Timing]:
    """Agreement with a linear programme, then the gap that the prices prove."""
    drawn = beliefs(count)
    ours, theirs, differences, gaps, proving = 0.0, 0.0, [0.0], [0.0], 0.0
    for p, epsilon in drawn:
        cost, levels, seen = 1.0 - np.eye(len(p)), Levels.of(epsilon), np.flatnonzero(p > 0)
        start = time.perf_counter()
        kernel = HammingKernel(p, epsilon)
        found = value(p, cost, kernel.matrix())
        middle = time.perf_counter()
        solved = solve_structure(p[seen], cost[seen], levels, np.inf)
        ours, theirs = ours + middle - start, theirs + time.perf_counter() - middle
        start = time.perf_counter()
        bound = -structure_bound(BeliefRelease(p.tolist(), epsilon), prices(kernel))
        proving += time.perf_counter() - start
        gaps.append(found - bound)
        if solved is not None:
            law = levels.low * (p @ cost) @ solved.law
            best = float(law + levels.room * (p[seen, None] * solved.kernel * cost[seen]).sum())
            differences.append(abs(found - best))
    note = "largest difference of expected errors"
    row = Timing.against(
        "closed form and programme", count, ours, ("structure LP", theirs), max(differences), note
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


def structure(sizes: tuple[int, ...], largest_plain: int) -> Iterator[Timing]:
    """The programme in K and Q against that in a(y | x), absolute distance of numbers, in one run.

    Beyond ``largest_plain`` letters there is no comparison: the plain programme takes minutes.
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
        best = levels.low * float((p @ cost) @ solved.law) + levels.room * value(p, cost, solved.kernel)
        off = (best - value(p, cost, theirs)) / best
        note = "relative excess of our cost over that of the plain programme"
        row = Timing.against("structure LP", n, middle - start, ("plain LP", end - middle), off, note)
        yield replace(row, holds=off <= 1e-6)


def _draw(belief: Floats, rng: np.random.Generator) -> int:
    return HammingKernel(belief, 1.0).sample(0, rng)


def speed(users: int, steps: int, letters: int) -> Iterator[Timing]:
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
