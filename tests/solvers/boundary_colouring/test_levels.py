"""Levels of two-coloured answers in 60 digits or more, and programs on them where levels come next to 0."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest

import privopt as po
from privopt.core.judge import judge
from privopt.core.registry import find_solver
from privopt.core.solver import Budget
from privopt.measures.colouring.steps import GUARD, Step, step
from privopt.solvers.boundary_colouring._levels import Levels, levels

EPSILONS = [0.0, 1e-15, 1e-12, 1e-6, 0.1, math.log(2), 1.0, 5.0, 13.0, 31.0, 50.0, 300.0, 704.0]
DELTAS = [0.0, 1e-300, 1e-17, 1e-9, 1e-3, 0.1, 0.2, 0.25, 1 / 3, 0.5, 0.75, 1 - 1e-13, 1.0]


def rise(p: mpmath.mpf, one: Step) -> mpmath.mpf:
    """The largest probability that may stand next to p."""
    grown, rest = mpmath.mpf(one.growth), mpmath.mpf(one.delta)
    return min(grown * p + rest, 1 - (1 - p - rest) / grown, mpmath.mpf(1))


def orbits(one: Step, count: int, *, ends: bool) -> list[mpmath.mpf]:
    """Values of the orbits of the bend, and of 0 and 1, with their complements, up to one half."""
    bend = (1 - mpmath.mpf(one.delta)) / (1 + mpmath.mpf(one.growth))
    values = {mpmath.mpf(0)}
    for p in (1 - bend, mpmath.mpf(0), mpmath.mpf(1))[: 3 if ends else 1]:
        for _ in range(count + 1):
            values.update((p, 1 - p))
            p = rise(p, one)
    return sorted(p for p in values if p <= 0.5)


def exact(table: Levels, i: int) -> mpmath.mpf:
    """A level in many digits: the smaller of value and complement counts."""
    return mpmath.mpf(float(table.p[i])) if table.p[i] <= 0.5 else 1 - mpmath.mpf(float(table.r[i]))


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_levels_are_the_orbits_and_steps_end_on_them(epsilon: float) -> None:
    with mpmath.workdps(700):
        for delta in DELTAS:
            for count in (1, 4, 20):
                one = step(epsilon, delta, GUARD)
                table = levels(one, count)
                assert (table.gaps > 0).all()
                assert float(table.gaps.sum()) == pytest.approx(1.0, abs=1e-12)
                # Where the orbit of the bend comes next to nothing, the others are left out.
                ends = delta > 0 and table.beyond[0] == 0
                for p in orbits(one, count, ends=ends):
                    near = np.abs(table.p - float(p)).min()
                    # Orbits are cut at e^-38; differences with delta blur last digits.
                    assert near <= 1e-11 * float(p) + 1e-15 * one.delta * one.decay + 2e-17 + 4e-16 * (
                        delta > 0.9
                    )
                for i, (k, part) in enumerate(zip(table.up.tolist(), table.beyond.tolist(), strict=True)):
                    value = rise(exact(table, i), one)
                    held = exact(table, k) + (mpmath.mpf(part) * float(table.gaps[k]) if part else 0)
                    rest = min(value, 1 - value + 1e-17)
                    assert abs(value - held) <= 1e-11 * rest + 4e-15 * one.delta + 1e-300 + 2 * GUARD * value


@pytest.mark.parametrize(
    ("epsilon", "delta"),
    [
        (31.0, 0.5), (31.0, 1e-17), (50.0, 0.1), (300.0, 1e-9), (300.0, 1e-300), (1e-12, 0.0), (1e-12, 0.5),
        (0.1, 1e-17), (3.0, 1e-17), (5.0, 0.0), (1.0, 1e-30), (1e-9, 1e-13), (0.0, 0.5), (1e-15, 1.0),
        (13.0, 1e-9), (0.1, 1 - 1e-13), (704.0, 1 / 3),
    ],
)  # fmt: skip
def test_programs_reach_the_bounds_that_they_prove(epsilon: float, delta: float) -> None:
    rng = np.random.default_rng(int(1000 * epsilon + 7))
    for turn in range(6):
        n = int(rng.integers(2, 40))
        parents = [i - 1 if turn % 2 else int(rng.integers(i)) for i in range(1, n)]
        codes = np.sort(rng.integers(0, 2, n)) if turn == 1 else rng.integers(0, 2, n)
        weights = None if turn % 3 else rng.random(n) ** 8 + 1e-9
        graph = po.DatasetGraph([(p, i + 1) for i, p in enumerate(parents)], codes, palette=[0, 1])
        problem = po.BoundaryColouring(graph, epsilon, delta, boundary=None, weights=weights)
        made = {}
        for name in ("forest", "path", "shift", "weighted-lp"):
            solver = find_solver(problem, name)
            if solver.refuse(problem) is None:
                made[name] = judge(problem, solver.run(problem, Budget()), certify=True)
        forest = made["forest"]
        assert forest.status is po.Status.OPTIMAL
        assert forest.gap is not None
        assert forest.gap <= 4e-9  # a bound that no float tells from 1 is given as 1
        for name, solution in made.items():
            tolerance = 2e-7 if name == "weighted-lp" else 1e-10
            assert solution.utility == pytest.approx(forest.utility, abs=tolerance), name
            assert solution.certificate is not None
            assert solution.certificate.ok


def test_the_truth_survives_where_the_bend_is_next_to_nothing() -> None:
    graph = po.DatasetGraph([(0, 1), (1, 2), (1, 3), (3, 4)], [0, 1, 0, 0, 1], palette=[0, 1])
    problem = po.BoundaryColouring(graph, 31.0, 0.5, boundary=None)
    for name in ("forest", "weighted-lp", "equal-boundary"):
        solution = judge(problem, find_solver(problem, name).run(problem, Budget()), certify=True)
        assert solution.utility is not None
        assert 1 - solution.utility == pytest.approx(0.5 * math.exp(-31.0), rel=0.01)
