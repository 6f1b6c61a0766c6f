"""Solvers of one step: the closed form and the structured program against the definition, invariants, edge cases."""

from __future__ import annotations

import itertools
import math

import networkx as nx
import numpy as np
import pytest
from instances.beliefs import random_belief
from instances.few import few

import privopt as po

BUDGETS = (0.0, 1e-6, 0.1, 0.5, 1.0, 2.0, 5.0)


@pytest.mark.parametrize("seed", few(range(100), 30))
def test_the_closed_form_is_the_optimum(seed: int) -> None:
    rng = np.random.default_rng(seed)
    belief = random_belief(rng)
    problem = po.BeliefRelease(belief, float(rng.choice([*BUDGETS, 20.0, 60.0, 800.0])))
    solution, other = po.solve(problem, "closed-form"), po.solve(problem, "structure-lp")
    assert solution.status is po.Status.OPTIMAL
    assert solution.certified
    assert solution.gap is not None
    assert solution.gap < 1e-12
    assert solution.objective == pytest.approx(other.objective, abs=1e-8)
    if problem.epsilon <= 5:
        assert solution.objective == pytest.approx(po.solve(problem, "oracle").objective, abs=1e-7)


@pytest.mark.parametrize("seed", few(range(45), 14))
def test_any_distortion_against_the_definition(seed: int) -> None:
    rng = np.random.default_rng(seed)
    belief = random_belief(rng)
    n = len(belief)
    distortion = ("l1", "squared", rng.normal(size=(n, int(rng.integers(1, 8)))))[seed % 3]
    problem = po.BeliefRelease(belief, float(rng.choice(BUDGETS)), distortion)
    solution = po.solve(problem, "structure-lp")
    assert solution.status is po.Status.OPTIMAL
    assert solution.objective == pytest.approx(po.solve(problem, "oracle").objective, abs=1e-7)


@pytest.mark.parametrize(("letters", "epsilon"), [(60, 1.0), (120, 2.0)])
@pytest.mark.parametrize("distortion", ["l1", "squared"])
def test_groups_of_neighbours_are_a_shortest_path_over_all_groups(
    letters: int, epsilon: float, distortion: str
) -> None:
    """No letter has the mass at which one may be in two groups; each group of mass theta or more is an edge."""
    rng = np.random.default_rng(letters)
    belief = rng.uniform(0.7, 1.0, letters)
    belief /= belief.sum()
    problem = po.BeliefRelease(belief.tolist(), epsilon, distortion)
    low, theta = math.exp(-epsilon), 1.0 / (math.exp(epsilon) + 1.0)
    worth = belief[:, None] * ((1.0 - low) * problem.matrix + low * (belief @ problem.matrix))
    graph = nx.DiGraph()
    for begin, end in itertools.combinations(range(letters + 1), 2):
        if belief[begin:end].sum() >= theta:
            graph.add_edge(begin, end, weight=worth[begin:end].sum(axis=0).min())
    least = nx.shortest_path_length(graph, 0, letters, weight="weight")
    assert po.solve(problem, "interval").objective == pytest.approx(-least, rel=1e-9)


def test_groups_of_neighbours_at_no_bound_are_the_letters_themselves() -> None:
    chain = po.MarkovChain([[0.5, 0.3, 0.2], [0.2, 0.5, 0.3], [0.1, 0.1, 0.8]])
    belief = po.BeliefRelease([0.2, 0.3, 0.5], math.inf, "l1")
    sequence = po.SequenceInformationPrivacy(chain, math.inf, distortion="l1", horizon=4)
    assert po.solve(belief, "interval").objective == 0.0
    assert po.solve(sequence, "interval").objective == 0.0


@pytest.mark.parametrize("seed", range(30))
def test_groups_of_neighbours_are_private_and_bounded(seed: int) -> None:
    rng = np.random.default_rng(seed)
    problem = po.BeliefRelease(
        random_belief(rng), float(rng.choice([0.3, 1.0, 3.0])), ("l1", "squared")[seed % 2]
    )
    solution, best = po.solve(problem, "interval"), po.solve(problem, "structure-lp")
    assert solution.certified
    assert solution.objective is not None
    assert best.objective is not None
    assert solution.bound is not None
    assert best.objective + 1e-9 >= solution.objective >= 1.5 * best.objective - 1e-9
    assert solution.bound >= best.objective - 1e-9


def test_letters_of_a_line_may_come_in_any_order() -> None:
    belief, order = np.array([0.1, 0.2, 0.3, 0.25, 0.15]), [3, 0, 4, 1, 2]
    straight = po.BeliefRelease(belief, 1.0, "l1")
    mixed = po.BeliefRelease(belief[order], 1.0, "l1", letters=order)
    for solver in ("interval", "structure-lp"):
        assert po.solve(mixed, solver).utility == pytest.approx(po.solve(straight, solver).utility, abs=1e-9)


@pytest.mark.parametrize("seed", range(12))
def test_conditional_randomised_response_is_optimal_for_metrics_where_every_letter_is_heavy(
    seed: int,
) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 5))
    points = rng.normal(size=(n, 2))
    cost = np.linalg.norm(points[:, None] - points[None, :], axis=2)
    belief = 0.15 + rng.dirichlet(np.ones(n)) * (1 - 0.15 * n)
    problem = po.BeliefRelease(belief, 2.0, cost)
    solution = po.solve(problem, "closed-form")
    assert solution.status is po.Status.OPTIMAL
    assert solution.objective == pytest.approx(po.solve(problem, "published").objective, abs=1e-12)
    assert solution.objective == pytest.approx(po.solve(problem, "oracle").objective, abs=1e-8)


def test_squared_differences_are_no_metric() -> None:
    problem = po.BeliefRelease([1 / 3] * 3, math.log(2), "squared", letters=[0, 1, 10])
    assert po.solve(problem, "closed-form").status is po.Status.REFUSED
    assert po.solve(problem, "published").utility == pytest.approx(-20.2222222222, abs=1e-9)
    assert po.solve(problem).utility == pytest.approx(-19.3333333333, abs=1e-9)


@pytest.mark.parametrize("b", [0.5, 0.6, 0.7, 0.75, 0.8, 0.85, 0.95])
@pytest.mark.parametrize("epsilon", [0.2, 1.0, 2.0])
def test_a_coin(b: float, epsilon: float) -> None:
    """Three regimes of the rarer side."""
    low = math.exp(-epsilon)
    theta = low / (1 + low)
    rare = 1 - b
    error = 2 * b * rare * low if rare >= theta else (2 * low - 1 + (1 - low) * b) / (1 + low)
    error = error if rare > low / 2 else rare
    solution = po.solve(po.BeliefRelease([b, rare], epsilon), "closed-form")
    assert solution.utility == pytest.approx(-error, abs=1e-12)


@pytest.mark.parametrize("seed", few(range(10), 4))
def test_laws(seed: int) -> None:
    rng = np.random.default_rng(seed)
    belief = random_belief(rng)
    order = rng.permutation(len(belief))
    budgets = [0.0, 0.3, 1.0, 2.0, 8.0, math.inf]
    utilities = [po.solve(po.BeliefRelease(belief, e)).utility or 0.0 for e in budgets]
    assert utilities == sorted(utilities)
    assert utilities[0] == pytest.approx(belief.max() - 1, abs=1e-12)
    assert utilities[-1] == 0
    again = po.solve(po.BeliefRelease(belief[order], 1.0)).utility
    assert again == pytest.approx(utilities[2], abs=1e-11)
    padded = po.solve(po.BeliefRelease([*belief, 0.0], 1.0)).utility
    assert padded == pytest.approx(utilities[2], abs=1e-11)
    response = po.solve(po.BeliefRelease(belief, 1.0), "randomised-response").utility
    assert response is not None
    assert response <= utilities[2] + 1e-12


def test_letters_that_hardly_occur() -> None:
    for tiny in (1e-12, 1e-100, 1e-300):
        problem = po.BeliefRelease([1 - tiny, tiny], 1.0)
        assert po.solve(problem).certified
        assert po.solve(problem, "structure-lp").certified
        assert po.solve(problem, "closed-form").utility == pytest.approx(-tiny, rel=1e-9)


@pytest.mark.parametrize("epsilon", [0.3, 0.5, 1.0, 2.0])
def test_a_release_of_an_impossible_letter_may_be_a_short_cut(epsilon: float) -> None:
    """Two possible letters are a metric space, but halfway between them lies a release that costs less."""
    problem = po.BeliefRelease([0.4, 0.0, 0.6], epsilon, "squared")
    refusal = next(c.refusal for c in po.candidates(problem) if c.name == "closed-form")
    assert refusal is not None
    assert "metric" in refusal
    solution = po.solve(problem)
    assert solution.status is po.Status.OPTIMAL
    assert solution.objective == pytest.approx(po.solve(problem, "oracle").objective, abs=1e-8)


@pytest.mark.parametrize("seed", range(10))
def test_the_closed_form_keeps_its_promise_with_impossible_letters(seed: int) -> None:
    rng = np.random.default_rng(seed)
    points = rng.normal(size=(4, 2))
    apart = np.linalg.norm(points[:, None] - points[None], axis=2)
    belief = np.array([0.45, 0.0, 0.3, 0.25])
    problem = po.BeliefRelease(belief, 1.5, (apart + apart.T) / 2)
    solution = po.solve(problem, "closed-form")
    assert solution.status is po.Status.OPTIMAL
    assert solution.objective == pytest.approx(po.solve(problem, "structure-lp").objective, abs=1e-8)
