"""Bounds from programs of two colours: against the program of all colours, and the optima that they are made of."""

from __future__ import annotations

import math

import numpy as np
import pytest
from instances.small_graphs import graph

import privopt as po
from privopt.core.solver import Budget, Proposal
from privopt.solvers.boundary_colouring.colour_by_colour import ColourByColour


def proposal_of(problem: po.BoundaryColouring) -> tuple[Proposal, float]:
    proposal = ColourByColour().run(problem, Budget())
    bound = problem.check_bound(-math.inf, proposal.dual)
    assert bound is not None
    return proposal, bound


@pytest.mark.parametrize("seed", range(12))
def test_no_answer_in_all_colours_is_above_the_bound(seed: int) -> None:
    rng = np.random.default_rng(seed)
    sample = graph(rng, colours=3 + seed % 2, most=9)
    weights = rng.random(sample.size) + 0.01 if seed % 3 else None
    epsilon, delta = float(rng.choice([0.1, 0.7, 2.0])), float(rng.choice([0.0, 0.05]))
    problem = po.BoundaryColouring(sample, epsilon, delta, boundary=None, weights=weights)
    best = po.solve(problem, "k-colour-lp")
    assert best.status is po.Status.OPTIMAL
    assert best.objective is not None
    proposal, bound = proposal_of(problem)
    assert bound >= best.objective - 1e-12
    assert isinstance(proposal.mechanism, po.Colouring)
    assert problem.certify(proposal.mechanism).ok


@pytest.mark.parametrize("k", [3, 4, 5])
def test_it_is_half_of_what_the_colours_reach_one_by_one(k: int) -> None:
    """The accuracies of "this colour or another" sum to k - 2 more than twice that of a mechanism."""
    codes = np.random.default_rng(k).integers(0, k, 20)
    path = [(i, i + 1) for i in range(19)]
    problem = po.BoundaryColouring(
        po.DatasetGraph(path, codes.tolist(), palette=list(range(k))), 0.8, boundary=None
    )
    optima = []
    for colour in range(k):
        apart = po.DatasetGraph(path, (codes != colour).astype(int).tolist(), palette=[0, 1])
        solution = po.solve(po.BoundaryColouring(apart, 0.8, boundary=None), "forest")
        assert solution.objective is not None
        optima.append(solution.objective)
    assert proposal_of(problem)[1] <= (sum(optima) - (k - 2)) / 2 + 1e-9


def test_names_of_colours_change_nothing() -> None:
    grid, rng = po.DatasetGraph.grid, np.random.default_rng(1)
    codes = rng.integers(0, 3, 30)
    one = grid(codes.reshape(5, 6).tolist())
    other = grid(((codes + 1) % 3).reshape(5, 6).tolist())
    bounds = [proposal_of(po.BoundaryColouring(each, 1.0, boundary=None))[1] for each in (one, other)]
    assert bounds[0] == pytest.approx(bounds[1], abs=1e-9)


def test_two_colours_are_left_to_the_program_of_two() -> None:
    problem = po.BoundaryColouring(po.DatasetGraph.line(2, 2), 1.0, boundary=None)
    assert "weighted-lp" in str(ColourByColour().refuse(problem))


def test_without_time_it_proves_what_it_has() -> None:
    path = po.DatasetGraph([(0, 1), (1, 2)], [0, 1, 2])
    proposal = ColourByColour().run(po.BoundaryColouring(path, 1.0, boundary=None), Budget(0.0))
    assert proposal.stats["stop"] == "out of time"
    assert proposal.bound == 1.0
