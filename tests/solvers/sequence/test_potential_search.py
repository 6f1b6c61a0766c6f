"""The search for a potential: its bounds are near what policies reach, and nearer than prices of single releases."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import linprog

import privopt as po
from privopt import SequenceInformationPrivacy as Ask
from privopt.core.balls import Balls
from privopt.core.solver import Budget
from privopt.core.trace import Reached
from privopt.problems.sequence_information_privacy.potential import Potential, Releases
from privopt.solvers.sequence.potential import Cover, PotentialBound, Search, solve_many


def near(letters: int, stay: float) -> po.MarkovChain:
    moves = np.full((letters, letters), (1 - stay) / (letters - 1))
    np.fill_diagonal(moves, stay)
    return po.MarkovChain.normalised(moves.tolist())


@pytest.mark.parametrize("seed", range(4))
def test_many_programs_at_once_are_those_of_highs(seed: int) -> None:
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


@pytest.mark.long
def test_chains_with_impossible_moves_have_a_bound_that_further_programs_only_lower() -> None:
    """A walk on a line: at a corner one letter cannot follow, and its price means nothing."""
    walk = po.MarkovChain([[0.8, 0.2, 0.0], [0.2, 0.6, 0.2], [0.0, 0.2, 0.8]])
    problem = Ask(walk, 0.7, horizon=100)
    proved: list[float] = []

    def note(_: float, reached: str) -> None:
        assert isinstance(reached, Reached)
        assert reached.bound is not None
        proved.append(reached.bound)

    found = PotentialBound(rounds=9).run(problem, Budget(progress=note))
    alone = po.solve(problem, "closed-form", time_limit=30)
    assert alone.objective is not None
    assert alone.bound is not None
    assert proved
    assert proved == sorted(proved, reverse=True)
    assert found.bound == proved[-1] == problem.prove_bound(found.dual)[1]  # type: ignore[index]
    assert alone.objective <= proved[-1] < alone.bound


def test_prices_where_a_letter_is_impossible_prove_the_best_release() -> None:
    """A belief of two letters out of three: the optimum is that of two letters."""
    moves = np.array([[0.8, 0.2, 0.0], [0.2, 0.6, 0.2], [0.0, 0.2, 0.8]])
    search = Search(Releases(moves, 1 - np.eye(3), 0.7), 1.0, Budget())
    nothing = Potential.nothing(3)
    step = search.step(nothing, np.array([[1.0, 0.0, 0.0]]))
    optimum = po.solve(po.BeliefRelease([0.8, 0.2], 0.7), "closed-form").objective
    assert optimum is not None
    assert np.abs(step.prices).max() < 10
    charges = search.releases.charges(nothing, np.array([[0.8, 0.2, 0.0]]), step.prices)
    proved = float(search.releases.charged(charges, Balls.exact([[0.8, 0.2, 0.0]])).min())
    assert proved == pytest.approx(-optimum, abs=1e-3)
    assert proved <= -optimum + 1e-9


def test_it_refuses_other_chains_in_one_sentence() -> None:
    assert "letters" in str(PotentialBound().refuse(Ask(near(2, 0.8), 1.0, horizon=3)))
    assert "letters" in str(PotentialBound().refuse(Ask(near(6, 0.8), 1.0, horizon=3)))
    assert "words" in str(PotentialBound().refuse(Ask(near(3, 0.8), 1.0, batch=2, horizon=4)))
    assert "budgets" in str(PotentialBound().refuse(Ask(near(3, 0.8), 0.0, horizon=4)))
