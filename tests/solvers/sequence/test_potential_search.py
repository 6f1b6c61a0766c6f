"""The search for a potential: its bounds are near what policies reach, and nearer than prices of single releases."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import linprog

import privopt as po
from privopt import SequenceInformationPrivacy as Ask
from privopt.core.solver import Budget
from privopt.solvers.sequence.potential import Cover, PotentialBound, solve_many


def near(letters: int, stay: float) -> po.MarkovChain:
    moves = np.full((letters, letters), (1 - stay) / (letters - 1))
    np.fill_diagonal(moves, stay)
    return po.MarkovChain.normalised(moves.tolist())


@pytest.mark.parametrize("seed", range(4))
def test_many_programmes_at_once_are_those_of_highs(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n, count = int(rng.integers(2, 5)), 12
    points = np.concatenate(
        [np.broadcast_to(np.eye(n), (5, n, n)), rng.dirichlet(np.ones(n), (5, count))], axis=1
    )
    values, targets = rng.normal(size=(5, n + count)), rng.dirichlet(np.ones(n), 5)
    found, prices, _ = solve_many(points, values, targets, np.tile(np.arange(n), (5, 1)))
    for i in range(5):
        solved = linprog(values[i], A_eq=points[i].T, b_eq=targets[i], method="highs")
        assert found[i] == pytest.approx(solved.fun, abs=1e-8)
        assert (values[i] - points[i] @ prices[i] >= -1e-8).all()


def test_halving_writes_what_is_read_back() -> None:
    cover = Cover.uniform(3, 2)
    cover.halve(np.array([1, 3]))
    for row in cover.vertices():
        cover.prices[row.tobytes()] = row
    written = cover.written()
    assert written["splits"].count("0") == 6
    assert len(written["prices"]) == len(cover.vertices())


@pytest.mark.long
@pytest.mark.parametrize(("letters", "stay", "epsilon", "share"), [(3, 0.8, 1.0, 0.16), (3, 0.95, 1.0, 0.6)])
def test_it_is_nearer_than_prices_of_single_releases(
    letters: int, stay: float, epsilon: float, share: float
) -> None:
    problem = Ask(near(letters, stay), epsilon, horizon=100)
    alone = po.solve(problem, "closed-form", time_limit=30)
    together = PotentialBound(rounds=12).run(problem, Budget())
    assert alone.bound is not None
    assert together.bound is not None
    reached = problem.evaluate(problem.answer("closed-form")).utility
    assert reached <= together.bound < alone.bound
    assert together.bound - reached < share * abs(reached)


def test_it_refuses_other_chains_in_one_sentence() -> None:
    assert "letters" in str(PotentialBound().refuse(Ask(near(2, 0.8), 1.0, horizon=3)))
    assert "letters" in str(PotentialBound().refuse(Ask(near(6, 0.8), 1.0, horizon=3)))
    assert "words" in str(PotentialBound().refuse(Ask(near(3, 0.8), 1.0, batch=2, horizon=4)))
    assert "budgets" in str(PotentialBound().refuse(Ask(near(3, 0.8), 0.0, horizon=4)))
