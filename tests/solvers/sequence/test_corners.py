"""Looking ahead with three and four letters: against the best single release, other grids, other policies and bounds."""

from __future__ import annotations

import math

import numpy as np
import pytest

import privopt as po
from privopt import SequenceInformationPrivacy as Ask
from privopt.errors import InvalidMechanism, InvalidProblem
from privopt.mechanisms.policy.corners import Corners, Simplex, Steps, inverses
from privopt.mechanisms.policy.formulas.look_ahead import LookAheadRule
from privopt.mechanisms.policy.setting import Setting
from privopt.solvers.sequence.look_ahead import LookAhead

CYCLE = po.MarkovChain([[0.05, 0.9, 0.05], [0.05, 0.05, 0.9], [0.9, 0.05, 0.05]])


def stays(letters: int, stay: float) -> po.MarkovChain:
    """A chain that stays with some probability, and otherwise goes anywhere else."""
    other = (1 - stay) / (letters - 1)
    return po.MarkovChain((other * np.ones((letters, letters)) + (stay - other) * np.eye(letters)).tolist())


def steps_of(chain: po.MarkovChain, epsilon: float, parts: int, messages: int = 1) -> Steps:
    moves = np.array(chain.step(0))
    cost = np.tile(1.0 - np.eye(chain.k), (1, messages))
    return Steps.of(Corners(moves, cost, epsilon), Simplex(chain.k, parts))


@pytest.mark.parametrize("letters", [2, 3, 4, 5])
def test_inverses_are_those_of_lapack(letters: int) -> None:
    rows = np.random.default_rng(letters).normal(size=(50, letters, letters))
    adjugate, whole = inverses(rows)
    assert np.abs(whole - np.linalg.det(rows)).max() < 1e-10
    assert np.abs(adjugate / whole[:, None, None] - np.linalg.inv(rows)).max() < 1e-8


@pytest.mark.parametrize("letters", [3, 4])
def test_a_linear_function_is_met_between_the_points_of_a_grid(letters: int) -> None:
    grid, rng = Simplex(letters, 7), np.random.default_rng(letters)
    for alpha in (1.0, 0.05):  # inside, and near the corners
        somewhere = rng.dirichlet(alpha * np.ones(letters), 300)
        places, shares = grid.around(somewhere)
        assert (shares >= -1e-12).all()
        assert np.abs(shares.sum(axis=1) - 1).max() < 1e-12
        assert np.abs((grid.points[places] * shares[..., None]).sum(axis=1) - somewhere).max() < 1e-12
    assert len(grid.points) == math.comb(7 + letters - 1, letters - 1)


@pytest.mark.parametrize(("letters", "epsilon"), [(3, 0.3), (3, 1.0), (3, 2.0), (4, 0.7)])
def test_the_last_release_is_the_best_one(letters: int, epsilon: float) -> None:
    """Where nothing follows, the corners reach the optimum of a belief release, which its own solvers prove."""
    rng = np.random.default_rng(letters)
    chain = po.MarkovChain.normalised((rng.dirichlet(np.ones(letters), letters) + np.eye(letters)).tolist())
    steps = steps_of(chain, epsilon, 4)
    reached = steps.cost(np.zeros(len(steps.simplex.points)))
    beliefs = steps.simplex.points @ np.array(chain.step(0))
    for at in rng.choice(len(beliefs), 6, replace=False).tolist():
        best = po.solve(po.BeliefRelease(beliefs[at].tolist(), epsilon), time_limit=30)
        assert best.status is po.Status.OPTIMAL
        assert reached[at] == pytest.approx(-float(best.objective or 0), abs=2e-6)


def test_what_follows_counts_as_a_distortion_does_where_it_is_linear() -> None:
    charges = np.array([0.3, 0.0, 0.7])
    steps = steps_of(CYCLE, 0.8, 5)
    reached = steps.cost(steps.simplex.points @ charges)
    beliefs = steps.simplex.points @ np.array(CYCLE.step(0))
    for at in (0, 4, 9, 13, 20):
        matrix = (1.0 - np.eye(3)) + charges[:, None]
        best = po.solve(po.BeliefRelease(beliefs[at].tolist(), 0.8, matrix), time_limit=30)
        assert best.status is po.Status.OPTIMAL
        assert reached[at] == pytest.approx(-float(best.objective or 0), abs=2e-6)


def test_messages_are_worth_something_where_posteriors_are() -> None:
    points = Simplex(3, 8).points
    later = 1.0 - (points**2).sum(axis=1)  # concave: the less is known, the dearer what follows
    once, twice = (steps_of(CYCLE, 1.0, 8, n).cost(later) for n in (1, 2))
    assert (twice <= once + 0.02).all()  # between the points it is not quite concave
    assert twice.mean() < once.mean() - 1e-3


@pytest.mark.parametrize(("chain", "epsilon"), [(CYCLE, 1.0), (stays(3, 0.95), 0.3), (stays(4, 0.8), 2.0)])
@pytest.mark.parametrize("messages", [1, 2])
def test_kernels_keep_the_budget_before_they_are_enforced(
    chain: po.MarkovChain, epsilon: float, messages: int
) -> None:
    problem = Ask(chain, epsilon, horizon=9, messages=messages)
    beliefs = np.random.default_rng(3).dirichlet(np.ones(chain.k), 200) @ np.array(chain.step(0))
    kernels = LookAheadRule().propose(problem.setting(1), beliefs)
    assert kernels.shape == (200, chain.k, chain.k * messages)
    assert (kernels >= 0).all()
    assert np.abs(kernels.sum(axis=2) - 1).max() < 1e-12
    out = (beliefs[:, :, None] * kernels).sum(axis=1, keepdims=True)
    assert (kernels <= out * np.exp(epsilon) * (1 + 1e-9) + 1e-12).all()
    assert (kernels >= out * np.exp(-epsilon) * (1 - 1e-9) - 1e-12).all()


def test_a_kernel_is_the_same_alone_and_among_others() -> None:
    setting = Setting(stays(3, 0.9), 1, 1.0, "hamming")
    beliefs = np.random.default_rng(0).dirichlet([1, 1, 1], 40)
    together = LookAheadRule().propose(setting, beliefs)
    assert all(
        (LookAheadRule().propose(setting, row[None])[0] == kernel).all()
        for row, kernel in zip(beliefs, together, strict=True)
    )


@pytest.mark.parametrize(
    ("chain", "messages", "gain"),
    [(stays(3, 0.95), 1, 0.04), (stays(3, 0.95), 2, 0.2), (CYCLE, 2, 0.07), (stays(4, 0.95), 1, 0.05)],
)
def test_it_gains_on_single_releases(chain: po.MarkovChain, messages: int, gain: float) -> None:
    """By far more than the simulation may be off."""
    single, problem = Ask(chain, 1.0), Ask(chain, 1.0, messages=messages)
    alone = single.evaluate(single.answer("closed-form"))
    told = po.solve(problem, "look-ahead", time_limit=60)
    assert told.certified
    assert told.objective is not None
    error = alone.standard_error + problem.evaluate(told.mechanism).standard_error
    assert -told.objective <= -alone.utility * (1 - gain) - 4 * error


@pytest.mark.long
def test_it_keeps_below_the_bound_for_any_messages_and_is_near_it() -> None:
    single, double = Ask(CYCLE, 1.0), Ask(CYCLE, 1.0, messages=2)
    bound = po.solve(single, "separable", time_limit=20).bound
    reached = double.evaluate(double.answer("look-ahead"))
    assert bound is not None
    assert bound * 1.08 <= reached.utility <= bound + 4 * reached.standard_error


def test_messages_are_columns_of_the_matrix() -> None:
    problem = Ask(CYCLE, 1.0, horizon=5, messages=2)
    assert problem == Ask(CYCLE, 1.0, horizon=5, distortion=np.tile(1 - np.eye(3), (1, 2)))
    assert Ask.from_dict(problem.to_dict()) == problem
    assert Ask(CYCLE, 1.0, messages=1) == Ask(CYCLE, 1.0)
    told = po.solve(problem, "look-ahead", time_limit=60).mechanism
    released = told.release([0, 1, 2, 0, 1])
    assert set(released) <= {f"{letter} ({message})" for letter in (0, 1, 2) for message in (1, 2)}
    again = po.SequencePolicy.from_dict(told.to_dict())
    assert (
        again.setting.outputs
        == told.setting.outputs
        == tuple(f"{x} ({n})" for n in (1, 2) for x in (0, 1, 2))
    )
    other = np.tile(1 - np.eye(3), (1, 2))
    other[0, 5] = 0.5
    assert Ask(CYCLE, 1.0, distortion=other).setting(1).outputs == tuple(range(6))
    mixed = po.MarkovChain([[0.5, 0.5], [0.2, 0.8]], states=[1, "1"])
    assert Ask(mixed, 1.0, messages=2).setting(1).outputs == (0, 1, 2, 3)  # labels would be the same
    with pytest.raises(InvalidProblem, match="messages must be an integer >= 1"):
        Ask(CYCLE, 1.0, messages=0)


def test_it_refuses_what_it_cannot_look_ahead_in() -> None:
    five = stays(5, 0.6)
    assert "two to four letters" in str(LookAhead().refuse(Ask(five, 1.0, horizon=3)))
    alike = po.MarkovChain([[0.5, 0.3, 0.2]] * 2 + [[0.1, 0.2, 0.7]])
    assert "only in part" in str(LookAhead().refuse(Ask(alike, 1.0, horizon=3)))
    assert "at most 8 different releases" in str(LookAhead().refuse(Ask(CYCLE, 1.0, messages=3)))
    with pytest.raises(InvalidMechanism, match="two to four letters"):
        po.SequencePolicy(five, 1.0, rule="look-ahead").kernel(five.initial)
