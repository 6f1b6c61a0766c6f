"""The bound by a potential that is quadratic on cells: against rationals, releases that HiGHS finds, policies, and odd duals."""

from __future__ import annotations

import copy
import itertools
import json
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy.optimize import linprog

import privopt as po
from privopt import SequenceInformationPrivacy as Ask
from privopt.arrays import Floats
from privopt.core.balls import Balls
from privopt.core.solver import Budget
from privopt.problems.sequence_information_privacy.quadratics import (
    Partition,
    Release,
    least_remainders,
    squares,
)
from privopt.solvers.sequence.quadratics import Quadratics

WALK = [[0.8, 0.2, 0.0], [0.2, 0.6, 0.2], [0.0, 0.2, 0.8]]
SPLIT = {"by": [1.0, -0.5, 0.25], "parts": [None, {"by": [0.0, 1.0, -1.0], "parts": [None, None]}]}


def rationals(values: Floats) -> Any:
    """The floats themselves, as an array of objects."""
    return np.array([Fraction(v) for v in np.ravel(values).tolist()], dtype=object).reshape(np.shape(values))


@pytest.mark.parametrize("seed", range(6))
def test_nothing_is_above_the_polynomial_in_rationals(seed: int) -> None:
    """Without any tolerance, at points where the forms are not negative; monomials are between 0 and 1."""
    rng = np.random.default_rng(seed)
    width, count = 4, 5
    forms = rng.integers(-4, 5, (count, width)) / 4 * (1.0, 1e-7, 1e6, 1.0, 0.1, 3.0)[seed]
    forms[:, 0] = np.abs(forms[:, 1:]).sum(axis=1) * rng.choice([0.6, 1.0], count)
    polynomial, roots = rng.normal(size=(width, width)), rng.normal(size=(2, width))
    weights = np.triu(rng.random((count, count)))
    balls = Balls.exact(polynomial[None]), Balls.exact(forms[None])
    proved = Fraction(float(least_remainders(*balls, weights[None], roots[None])[0]))
    seen = 0
    for point in itertools.product((0, 1, 2, 4), repeat=width - 1):
        m = np.array([Fraction(1), *(Fraction(u, 4) for u in point)], dtype=object)
        if min(rationals(forms) @ m) >= 0:
            seen += 1
            assert proved <= m @ rationals(polynomial) @ m
    assert seen > 5


def test_a_square_needs_no_sign() -> None:
    """(u - 1/2)^2 is not negative, which no products of 1, u and 1 - u show."""
    square = Balls.exact(np.array([[[0.25, -0.5], [-0.5, 1.0]]]))
    forms = Balls.exact(np.array([[[1.0, 0.0], [0.0, 1.0], [1.0, -1.0]]]))
    nothing = np.zeros((1, 3, 3))
    assert least_remainders(square, forms, nothing)[0] < -0.7
    assert -1e-14 < least_remainders(square, forms, nothing, np.array([[[-0.5, 1.0]]]))[0] <= 0.0


@pytest.mark.parametrize("outputs", [1, 2, 3])
def test_cells_cover_all_posteriors_where_their_release_is_best(outputs: int) -> None:
    rng = np.random.default_rng(outputs)
    cost = np.unique(rng.random((3, outputs)).round(1), axis=1)
    trees = [SPLIT, None, {"by": [-1.0, 0.3, 0.3], "parts": [SPLIT, None]}][: cost.shape[1]]
    cells = Partition.of(trees, cost)
    assert cells is not None
    for posterior in (*np.eye(3), *rng.dirichlet(np.ones(3), 200)):
        inside = [(rows.upper @ posterior >= -1e-12).all() for rows in cells.rows]
        assert any(inside)
        for within, y in zip(inside, cells.outputs, strict=True):
            assert not within or posterior @ cost[:, y] <= (posterior @ cost).min() + 1e-9


@pytest.mark.parametrize(
    "tree",
    [
        1.0,
        {"by": [1.0, 0.0, 0.0]},
        {"by": [1.0, 0.0], "parts": [None, None]},
        {"by": [1.0, 0.0, math.nan], "parts": [None, None]},
        {"by": [1.0, 0.0, 0.0], "parts": [None]},
        {"by": [1.0, 0.0, 0.0], "parts": [None, "0"]},
    ],
)
def test_what_is_no_tree_has_no_cells(tree: Any) -> None:
    assert Partition.of([None, tree, None], 1 - np.eye(3)) is None
    assert Partition.of([None, None], 1 - np.eye(3)) is None


def test_too_many_cells_are_refused() -> None:
    tree: Any = None
    for _ in range(80):
        tree = {"by": [1.0, -1.0, 0.0], "parts": [None, tree]}
    assert Partition.of([tree, None, None], 1 - np.eye(3)) is None


def found(problem: Ask, cells: int = 6) -> dict[str, Any]:
    """A dual of the solver, as it would stand in a file."""
    proposal = Quadratics(cells=cells).run(problem, Budget())
    read: dict[str, Any] = json.loads(json.dumps(proposal.dual))
    assert read["kind"] == "quadratics"
    return read


def best_release(moves: Floats, cost: Floats, epsilon: float, later: Any, before: Floats) -> float:
    """The least cost over posteriors of a grid within the bounds, an upper bound on the optimum: a linear program by HiGHS."""
    belief, n, steps = before @ moves, len(moves), 12
    grid = [np.array(k) / steps for k in itertools.product(range(steps + 1), repeat=n) if sum(k) == steps]
    sides = [belief * math.exp(-epsilon), belief * math.exp(epsilon)]
    for x, bits in itertools.product(range(n), itertools.product((0, 1), repeat=n - 1)):
        rest = [sides[s][k] for s, k in zip(bits, np.delete(np.arange(n), x), strict=True)]
        corner = np.insert(rest, x, 0.0)
        corner[x] = 1 - corner.sum()
        grid.append(corner)
    posteriors = np.array(grid)
    inside = ((posteriors >= sides[0] - 1e-12) & (posteriors <= sides[1] + 1e-12)).all(axis=1)
    posteriors = np.concatenate([posteriors[inside], belief[None]])
    charge = (posteriors @ cost).min(axis=1) + np.array([later(p) for p in posteriors])
    solved = linprog(charge, A_eq=posteriors.T, b_eq=belief, method="highs")
    assert solved.status == 0
    assert solved.fun is not None
    return float(solved.fun)


@pytest.mark.parametrize(("epsilon", "seed"), [(0.3, 0), (1.0, 1), (2.0, 2)])
def test_a_release_costs_at_least_the_gain_above_the_potential_wherever_it_begins(
    epsilon: float, seed: int
) -> None:
    """The potential as the dual writes it, read by this test; HiGHS finds releases that cost no less."""
    rng = np.random.default_rng(seed)
    moves = rng.dirichlet(np.ones(3) * 0.7, 3)
    problem = Ask(po.MarkovChain.normalised(moves), epsilon, horizon=math.inf)
    dual = found(problem)
    proved = problem.prove_bound(dual)
    assert proved is not None
    cost = np.unique(1 - np.eye(3), axis=1)
    cells = Partition.of(dual["cells"], cost)
    assert cells is not None
    pieces = [squares(np.array(row), np.eye(3)).mid for row in dual["quadratics"]]

    def potential(posterior: Floats) -> float:
        at = next(k for k, rows in enumerate(cells.rows) if (rows.mid @ posterior >= -1e-12).all())
        return float(posterior @ pieces[min(at, len(pieces) - 1)] @ posterior)

    for before in (*np.eye(3), *rng.dirichlet(np.ones(3), 12), *rng.dirichlet(np.ones(3) * 0.2, 6)):
        reached = best_release(moves, cost, epsilon, potential, before) - potential(before)
        assert -proved[1] <= reached + 1e-7


@pytest.mark.parametrize("horizon", [2, 3])
def test_a_few_releases_are_bounded_below_what_nested_programs_reach(horizon: int) -> None:
    moves = np.array(WALK)
    problem = Ask(po.MarkovChain.normalised(moves, [0.5, 0.3, 0.2]), 1.0, horizon=horizon)
    cost = np.unique(1 - np.eye(3), axis=1)

    def costs(left: int, before: Floats, steps: Floats) -> float:
        if left == 0:
            return 0.0
        return best_release(
            steps, cost, 1.0, lambda p: costs(left - 1, p, moves) if left > 1 else 0.0, before
        )

    proved = problem.prove_bound(found(problem))
    assert proved is not None
    if horizon == 2:
        reached = costs(2, np.array([0.5, 0.3, 0.2]), np.eye(3)) / 2
        assert reached * 0.85 <= -proved[1] <= reached + 1e-9
    policy = problem.evaluate(problem.answer("closed-form")).utility
    assert policy <= proved[1] <= 0.8 * policy


@pytest.mark.parametrize("seed", range(5))
def test_whatever_the_numbers_nothing_false_is_proved(seed: int) -> None:
    """Perturbed potentials, slopes, weights and forms: the bound is weaker, or the same, and never below a policy."""
    rng = np.random.default_rng(seed)
    rows = rng.dirichlet(np.ones(3) * 0.7, 3)
    problem = Ask(po.MarkovChain.normalised(rows), float(rng.uniform(0.2, 3)), horizon=5)
    reached = problem.evaluate(problem.answer("closed-form")).utility
    dual = found(problem, 4)
    for size in (0.0, 1e-6, 1e-3, 0.1, 10.0):
        odd = copy.deepcopy(dual)
        for name in ("quadratics", "slopes", "squares"):
            odd[name] = [
                (np.array(row) + size * rng.normal(size=np.shape(row))).tolist() for row in odd[name]
            ]
        for name in ("first", "end"):
            odd[name]["weights"] = [
                np.abs(np.array(row) + size * rng.normal(size=len(row))).tolist()
                for row in odd[name]["weights"]
            ]
        odd["steps"] = [
            np.abs(np.array(row) + size * rng.normal(size=len(row))).tolist() for row in odd["steps"]
        ]
        proved = problem.prove_bound(odd)
        if size == 0.0:
            assert proved is not None
        assert proved is None or proved[1] >= reached


def without(dual: dict[str, Any], name: str) -> dict[str, Any]:
    return {key: value for key, value in dual.items() if key != name}


def test_what_does_not_fit_proves_nothing() -> None:
    problem = Ask(po.MarkovChain.normalised(WALK), 1.0, horizon=4)
    dual = found(problem, 4)
    assert problem.prove_bound(dual) is not None
    negative = copy.deepcopy(dual)
    negative["steps"][0][0] = -1.0
    fewer = {**dual, "steps": dual["steps"][1:], "squares": dual["squares"][1:]}
    narrow = {**dual, "quadratics": [row[1:] for row in dual["quadratics"]]}
    large = {**dual, "slopes": [[1e30 for _ in row] for row in dual["slopes"]]}
    words = {**dual, "squares": [["a"]] * len(dual["steps"])}
    odd = [negative, fewer, narrow, large, words, *(without(dual, name) for name in dual if name != "kind")]
    for each in odd:
        assert problem.prove_bound(each) is None
    other = Ask(po.MarkovChain.normalised(WALK), 0.2, horizon=4)
    proved = other.prove_bound(dual)
    assert proved is None or proved[1] >= other.evaluate(other.answer("closed-form")).utility


def test_a_proof_takes_no_more_time_than_it_may() -> None:
    problem = Ask(po.MarkovChain.normalised(WALK), 1.0, horizon=4)
    dual, fresh = found(problem, 4), Ask(po.MarkovChain.normalised(WALK), 1.0, horizon=4)
    assert fresh.prove_bound(dual, 0.0) is None
    assert fresh.prove_bound(dual) is not None


def test_beliefs_are_what_rows_of_the_chain_say() -> None:
    release = Release(Balls.exact(np.array(WALK)), 1 - np.eye(3), (0.5, 2.0))
    before, after = np.array([0.2, 0.5, 0.3]), np.array([0.1, 0.3, 0.6])
    at = np.array([1.0, *before[:-1], *after[:-1]])
    assert release.before @ at == pytest.approx(before)
    assert release.after @ at == pytest.approx(after)
    assert release.belief.mid @ at == pytest.approx(before @ np.array(WALK))
    slopes = np.arange(9.0).reshape(3, 3)
    said = at @ release.slopes(slopes).mid @ at
    assert said == pytest.approx(before @ slopes @ (after - before @ np.array(WALK)))
