"""The bound by a potential: against releases that HiGHS finds, policies, triangulations that must cover, and odd duals."""

from __future__ import annotations

import itertools
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
from privopt.problems.sequence_information_privacy.potential import Cells, Potential, Releases

STAYS = [[0.8, 0.1, 0.1], [0.1, 0.8, 0.1], [0.1, 0.1, 0.8]]


def best_release(moves: Floats, cost: Floats, epsilon: float, later: Potential, before: Floats) -> float:
    """The least cost over posteriors of a grid within the bounds, an upper bound on the optimum: a linear program by HiGHS."""
    belief, n, steps = before @ moves, len(moves), 14
    grid = [np.array(k) / steps for k in itertools.product(range(steps + 1), repeat=n) if sum(k) == steps]
    sides = [belief * factor for factor in (math.exp(-epsilon), math.exp(epsilon))]
    for x, bits in itertools.product(range(n), itertools.product((0, 1), repeat=n - 1)):
        corner = np.insert(
            [sides[s][k] for s, k in zip(bits, np.delete(np.arange(n), x), strict=True)], x, 0.0
        )
        corner[x] = 1 - corner.sum()
        grid.append(corner)
    posteriors = np.array(grid)
    inside = ((posteriors >= sides[0] - 1e-12) & (posteriors <= sides[1] + 1e-12)).all(axis=1)
    posteriors = np.concatenate([posteriors[inside], belief[None]])
    charge = (posteriors @ cost).min(axis=1) + later(posteriors)
    solved = linprog(charge, A_eq=posteriors.T, b_eq=belief, method="highs")
    assert solved.status == 0
    assert solved.fun is not None
    return float(solved.fun)


@pytest.mark.parametrize("seed", range(6))
def test_what_a_cell_proves_is_below_the_best_release_everywhere_in_it(seed: int) -> None:
    """Any chain, prices, pieces and curvature; the excess over the potential at random posteriors of the cell."""
    rng = np.random.default_rng(seed)
    n, m = (2, 2) if seed == 0 else (3, int(rng.integers(2, 4)))
    moves, cost, epsilon = rng.dirichlet(np.ones(n), n), rng.random((n, m)), float(rng.uniform(0.2, 2.5))
    later = Potential(rng.normal(size=(4, n)) * 0.3, float(rng.choice([0.01, 0.5, 2.0])))
    aim = Potential(rng.normal(size=(3, n)) * 0.3, float(rng.choice([0.1, 1.0])))
    releases = Releases(moves, cost, epsilon)
    cells = rng.dirichlet(np.ones(n), (4, n))
    cells = cells.mean(axis=1, keepdims=True) + 0.3 * (cells - cells.mean(axis=1, keepdims=True))
    prices = rng.normal(size=n) * 0.3 + rng.normal(size=(4, n, n)) * 0.1
    corners = np.arange(4 * n).reshape(4, n)
    proved = releases.excess(later, aim, Cells(cells.reshape(-1, n), corners), prices.reshape(-1, n))
    for cell, least in zip(cells, proved.tolist(), strict=True):
        for weights in (*np.eye(n), *rng.dirichlet(np.ones(n), 6)):
            before = weights @ cell
            found = best_release(moves, cost, epsilon, later, before) - float(aim(before))
            assert least <= found + 1e-9


def rationals(values: Floats) -> Any:
    """The floats themselves, as an array of objects."""
    return np.array([Fraction(v) for v in np.ravel(values).tolist()], dtype=object).reshape(np.shape(values))


@pytest.mark.parametrize("seed", range(4))
def test_nothing_is_above_what_rationals_say(seed: int) -> None:
    """Without any tolerance: the inequality of a cell in rationals, with the prices of each vertex and those in between."""
    rng = np.random.default_rng(seed)
    n, size = 3, (1.0, 1e-6, 1e4, 1.0)[seed]
    moves, cost = np.array([[0.5, 0.25, 0.25], [0.0, 0.5, 0.5], [0.125, 0.0, 0.875]]), rng.random((n, 2))
    later, aim = (Potential(rng.normal(size=(2, n)) * size, kappa) for kappa in (0.5, 0.25))
    releases, cell = Releases(moves, cost, (1.0, 0.2, 3.0, 1.5)[seed]), rng.dirichlet(np.ones(n), n).round(2)
    prices = rng.normal(size=(n, n)) * size
    proved = float(releases.excess(later, aim, Cells(cell, np.arange(n)[None]), prices)[0])
    found = releases.charges(later, releases.beliefs(cell).mid, prices)
    low, up = map(Fraction, releases.factors)
    columns = rationals(cost.T)[:, None] + rationals(later.pieces)[None]
    known = [rationals(each) for each in (prices, found.level, found.tangent)]
    for weights in (*np.eye(n, dtype=int), *rng.integers(0, 9, (8, n)) + 1):
        share = np.array([Fraction(int(w), int(sum(weights))) for w in weights], dtype=object)
        before = share @ rationals(cell)
        belief = before @ rationals(moves)
        least = [before @ row + Fraction(aim.curvature) * (before @ before) for row in rationals(aim.pieces)]
        said = []
        for way in (share, *(rationals(row) for row in np.eye(n))):
            lam, s, sigma = (np.tensordot(way, each, 1) for each in known)
            z = columns.reshape(-1, n) - lam + sigma - s[:, None]
            rest = np.minimum(low * z, up * z) @ belief - (sigma * sigma).sum(axis=1) / 2
            said.append(min(lam @ belief + s + rest))
        assert proved <= max(said) - min(least)


@pytest.mark.parametrize("epsilon", [0.3, 1.0, 2.5])
def test_the_best_prices_of_one_belief_prove_its_optimum(epsilon: float) -> None:
    """One release and nothing after it: the optimum of a belief release, whose prices are known."""
    belief = np.array([0.5, 0.3, 0.2])
    optimum = po.solve(po.BeliefRelease(belief.tolist(), epsilon), "structure-lp")
    assert optimum.objective is not None
    releases = Releases(np.eye(3), 1 - np.eye(3), epsilon)
    nothing = Potential.nothing(3)

    assert isinstance(optimum.dual, dict)
    found = releases.charges(nothing, belief[None], np.array([optimum.dual["lam"]]))
    proved = float(releases.charged(found, Balls.exact(belief[None])).min())
    assert proved == pytest.approx(-optimum.objective, abs=1e-7)
    assert proved <= -optimum.objective + 1e-9


@pytest.mark.parametrize("letters", [2, 3, 4])
def test_cells_cover_all_posteriors_and_overlap_nowhere(letters: int) -> None:
    rng = np.random.default_rng(letters)

    def tree(depth: int) -> str:
        if depth == 0 or rng.random() < 0.2:
            return "0"
        return "1" + tree(depth - 1) + tree(depth - 1)

    cells = Cells.of("1" + tree(6) + tree(6), letters)
    assert cells is not None
    volumes = np.abs(np.linalg.det(cells.vertices[cells.corners]))
    assert volumes.sum() == pytest.approx(1.0, abs=1e-12)
    inside = rng.dirichlet(np.ones(letters), 50)
    weights = np.linalg.solve(
        cells.vertices[cells.corners].transpose(0, 2, 1)[:, None], inside[None, :, :, None]
    )[..., 0]
    assert ((weights > 1e-12).all(axis=2).sum(axis=0) == 1).all()


@pytest.mark.parametrize("splits", ["", "1", "10", "000", "1000", "2", "1" * 30 + "0" * 31])
def test_what_is_no_tree_has_no_cells(splits: str) -> None:
    assert Cells.of(splits, 3) is None


def dual(letters: int, curvature: float = 0.5) -> dict[str, Any]:
    """A potential of nothing but curvature, on the four halves of halves."""
    cells = Cells.of("1100100", letters)
    assert cells is not None
    prices = {"splits": "1100100", "prices": [[0.3] * letters for _ in cells.vertices]}
    pieces = [[-curvature] * letters]
    return {
        "kind": "potential",
        "curvature": curvature,
        "pieces": pieces,
        "first": [0.3] * letters,
        "last": prices,
        "steps": prices,
    }


@pytest.mark.parametrize("seed", range(6))
def test_whatever_the_prices_nothing_false_is_proved(seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows = rng.dirichlet(np.ones(3) * 0.7, 3) + 2 * np.eye(3) * (seed % 2)
    problem = Ask(po.MarkovChain.normalised(rows), float(rng.uniform(0.2, 3)), horizon=5)
    reached = problem.evaluate(problem.answer("closed-form")).utility
    for size in (0.0, 0.1, 1.0, 100.0):
        odd = dual(3, float(rng.uniform(0.01, 2)))
        odd["pieces"] = (rng.normal(size=(5, 3)) * size).tolist()
        odd["first"] = (rng.normal(size=3) * size).tolist()
        for name in ("last", "steps"):
            odd[name] = {
                **odd[name],
                "prices": (rng.normal(size=np.shape(odd[name]["prices"])) * size).tolist(),
            }
        proved = problem.prove_bound(odd)
        assert proved is not None
        assert proved[0] <= proved[1]
        assert proved[1] >= reached


@pytest.mark.parametrize(
    "change",
    [
        {"curvature": 0.0},
        {"curvature": math.nan},
        {"curvature": "1"},
        {"pieces": []},
        {"pieces": [[0.0, 0.0]]},
        {"pieces": [[0.0, math.inf, 0.0]]},
        {"pieces": [[0.0, 1e300, 0.0]]},
        {"first": [0.0]},
        {"first": None},
        {"last": {"splits": "0", "prices": []}},
        {"steps": {"splits": "10", "prices": [[0.0] * 3] * 3}},
        {"steps": {"splits": "0"}},
        {"steps": None},
    ],
)
def test_what_is_no_dual_proves_nothing(change: dict[str, object]) -> None:
    problem = Ask(po.MarkovChain(STAYS), 1.0, horizon=5)
    assert problem.prove_bound(dual(3)) is not None
    assert problem.proved_bound({**dual(3), **change}) is None


@pytest.mark.parametrize(
    "problem",
    [
        Ask(po.MarkovChain(STAYS), 0.0, horizon=4),
        Ask(po.MarkovChain(STAYS), math.inf, horizon=4),
        Ask(po.MarkovChain(STAYS), 1.0, horizon=1),
        Ask(po.MarkovChain(STAYS), 1.0, batch=2, horizon=4),
        Ask(po.MarkovChain(np.full((7, 7), 1 / 7)), 1.0, horizon=4),
    ],
)
def test_other_problems_have_no_such_bound(problem: Ask) -> None:
    assert problem.prove_bound(dual(len(problem.chain.letters))) is None
