"""The search for a potential of quadratics, and the program of blocks that it solves: against HiGHS, policies and relabelling."""

from __future__ import annotations

import math
import time

import numpy as np
import pytest
from scipy.optimize import linprog

import privopt as po
from privopt.arrays import Floats
from privopt.core.solver import OUT_OF_TIME, Budget
from privopt.solvers.sequence._block_program import Blocks, maximise
from privopt.solvers.sequence.quadratics import Quadratics


def walk(letters: int, stays: float = 0.6) -> po.MarkovChain:
    """A walk between neighbours, which stays where it is more often than not."""
    moves = stays * np.eye(letters)
    for x in range(letters):
        for y in (x - 1, x + 1):
            moves[x, min(max(y, 0), letters - 1)] += (1 - stays) / 2
    return po.MarkovChain.normalised(moves)


def by_highs(groups: list[Blocks], objective: Floats) -> float:
    """The optimum of one large program."""
    count = len(objective)
    columns = count + sum(group.own.shape[0] * group.own.shape[2] for group in groups)
    rows, sides, at = [], list[float](), count
    for group in groups:
        for own, shared, places, side in zip(group.own, group.shared, group.places, group.sides, strict=True):
            part = np.zeros((len(side), columns))
            part[:, at : at + own.shape[1]] = own
            for column, place in zip(shared.T, places.tolist(), strict=True):
                if place < count:
                    part[:, place] += column
            rows.append(part)
            sides += side.tolist()
            at += own.shape[1]
    bounds = [(None, None)] * count + [(0, None)] * (columns - count)
    goal = np.concatenate([-objective, np.zeros(columns - count)])
    solved = linprog(goal, A_eq=np.vstack(rows), b_eq=sides, bounds=bounds, method="highs")
    assert solved.status == 0
    assert solved.fun is not None
    return -float(solved.fun)


@pytest.mark.parametrize("seed", range(6))
def test_a_program_of_blocks_has_the_optimum_that_highs_finds(seed: int) -> None:
    """Two shapes of blocks, some places unused, prices that are feasible by construction."""
    rng = np.random.default_rng(seed)
    count, groups, objective = 4, list[Blocks](), np.zeros(4)
    for blocks, rows, columns in ((3, 2, 6), (2, 3, 7)):
        own, shared = rng.normal(size=(blocks, rows, columns)), rng.normal(size=(blocks, rows, 3))
        places = np.array([rng.choice(count + 1, 3, replace=False) for _ in range(blocks)])
        prices = rng.normal(size=(blocks, rows))
        own *= -np.sign(prices[:, None, :] @ own)
        sides = (own @ rng.random((blocks, columns, 1)))[:, :, 0]
        groups.append(Blocks(own, shared, places, sides))
        for place, each in zip(places, -(prices[:, None, :] @ shared)[:, 0, :], strict=True):
            kept = place < count
            objective[place[kept]] += each[kept]
    best = maximise(groups, objective, time.monotonic() + 10)
    assert best is not None
    optimum = by_highs(groups, objective)
    assert best.value == pytest.approx(optimum, rel=2e-3, abs=2e-3)
    assert best.lost < 1e-3
    assert all((own > 0).all() for own in best.own)


def test_no_time_is_no_program() -> None:
    flat = Blocks(np.ones((1, 1, 2)), np.ones((1, 1, 1)), np.zeros((1, 1), dtype=np.int64), np.ones((1, 1)))
    assert maximise([flat], np.ones(1), 0.0) is None


def bounded(problem: po.SequenceInformationPrivacy, cells: int) -> float:
    """The bound that so many cells prove, however long it takes."""
    proposal = Quadratics(cells=cells).run(problem, Budget())
    proved = problem.prove_bound(proposal.dual)
    assert proved is not None
    assert proved[1] == proposal.bound
    return proved[1]


@pytest.mark.parametrize("epsilon", [0.3, 1.0])
@pytest.mark.parametrize("letters", [3, 4])
def test_three_and_four_letters_are_nearly_proved(letters: int, epsilon: float) -> None:
    rng = np.random.default_rng(letters)
    chain = po.MarkovChain.normalised(rng.dirichlet(np.full(letters, 0.5), letters))
    problem = po.SequenceInformationPrivacy(chain, epsilon)
    reached = problem.evaluate(problem.answer("closed-form")).utility
    assert reached <= bounded(problem, 8) <= 0.9 * reached


@pytest.mark.parametrize("epsilon", [0.3, 1.0])
def test_five_letters_are_bounded_nearer_than_by_one_release(epsilon: float) -> None:
    problem = po.SequenceInformationPrivacy(walk(5), epsilon)
    one = po.solve(problem, "closed-form")
    assert one.objective is not None
    assert one.bound is not None
    assert bounded(problem, 5) - one.objective < 0.7 * (one.bound - one.objective)


def test_more_cells_prove_no_less() -> None:
    problem = po.SequenceInformationPrivacy(walk(3), 2.0)
    bounds = [bounded(problem, cells) for cells in (3, 6, 12)]
    assert bounds[2] < bounds[1] < bounds[0]


def test_names_and_order_of_letters_do_not_matter() -> None:
    rng = np.random.default_rng(7)
    moves, order = rng.dirichlet(np.full(4, 0.6), 4), np.array([2, 0, 3, 1])
    bounds = []
    for rows in (moves, moves[np.ix_(order, order)]):
        chain = po.MarkovChain.normalised(rows)
        bounds.append(bounded(po.SequenceInformationPrivacy(chain, 1.0, horizon=math.inf), 4))
    assert bounds[0] == pytest.approx(bounds[1], rel=0.02)


def test_it_ends_in_time_with_what_it_has() -> None:
    problem, begun = po.SequenceInformationPrivacy(walk(8), 1.0), time.monotonic()
    proposal = Quadratics().run(problem, Budget(begun + 1.0))
    assert time.monotonic() - begun < 16.0
    assert proposal.stats["stop"] == OUT_OF_TIME


@pytest.mark.parametrize(
    ("problem", "why"),
    [
        (po.SequenceInformationPrivacy(walk(3), 1.0, batch=2), "single letters"),
        (po.SequenceInformationPrivacy(walk(3), 0.0), "budgets above 0"),
        (po.SequenceInformationPrivacy(walk(3), 9.0), "up to 8 nats"),
        (po.SequenceInformationPrivacy(walk(3), 1.0, horizon=1), "two releases or more"),
        (po.SequenceInformationPrivacy(po.MarkovChain([[0.5, 0.3, 0.2]] * 3), 1.0), "hardly depend"),
        (po.SequenceInformationPrivacy(walk(17), 1.0), "two to 16 letters"),
        (po.SequenceInformationPrivacy(po.MarkovChain([[0.8, 0.2], [0.3, 0.7]]), 1.0), "look-ahead"),
    ],
)
def test_what_it_does_not_take_is_refused_with_the_reason(
    problem: po.SequenceInformationPrivacy, why: str
) -> None:
    solution = po.solve(problem, "quadratics", time_limit=1)
    assert solution.status is po.Status.REFUSED
    assert why in str(solution.reason)
