"""Quotients: against refinement by sorted signatures, and the optimum is that of the graph."""

from __future__ import annotations

import math

import numpy as np
import pytest
from instances.small_graphs import choice, graph

import privopt as po
from privopt.models.graph.graph import Quotient


def signatures(sample: po.DatasetGraph, weights: np.ndarray[tuple[int], np.dtype[np.float64]]) -> list[int]:
    """Refinement by the sorted classes of neighbours, until nothing splits."""
    kinds = [hash((int(c), float(w))) for c, w in zip(sample.codes, weights, strict=True)]
    while True:
        near = [sample.indices[sample.indptr[v] : sample.indptr[v + 1]] for v in range(sample.size)]
        signs = [(kinds[v], tuple(sorted(kinds[u] for u in near[v].tolist()))) for v in range(sample.size)]
        number = {sign: i for i, sign in enumerate(sorted(set(signs)))}
        again = [number[sign] for sign in signs]
        if len(set(again)) == len(set(kinds)):
            return again
        kinds = again


def test_refinement_is_the_coarsest() -> None:
    rng = np.random.default_rng(0)
    for _ in range(200):
        sample = graph(rng, most=14)
        weights = rng.integers(0, 2, sample.size).astype(float)
        small = sample.refined(weights)
        expected = signatures(sample, weights)
        assert len(set(zip(expected, small.classes.tolist(), strict=True))) == len(set(expected))
        assert small.graph.size == len(set(expected))
        assert small.weights.sum() == weights.sum()


@pytest.mark.parametrize("n", [3, 6, 12])
def test_votes_are_counts(n: int) -> None:
    small = po.DatasetGraph.votes(n).refined()
    assert sorted(small.weights.tolist()) == sorted(math.comb(n, c) for c in range(n + 1))
    assert small.graph.edge_count == n


def test_voters_are_a_grid_of_two_counts() -> None:
    small = po.DatasetGraph.voters(4, 3).refined()
    assert small.graph.size == 5 * 4 - 1
    assert small.graph.edge_count == 4 * 4 + 5 * 3 - 2


def test_optimum_of_the_quotient_is_that_of_the_graph() -> None:
    for n, epsilon, delta in ((4, 0.5, 0.0), (5, 1.0, 0.02)):
        cube = po.DatasetGraph.votes(n, 0.3)
        problem = po.BoundaryColouring(cube, epsilon, delta, boundary=None)
        small = cube.refined()
        on_classes = po.BoundaryColouring(small.graph, epsilon, delta, boundary=None, weights=small.weights)
        whole, part = po.solve(problem, "minimum-cut"), po.solve(on_classes, "weighted-lp")
        assert whole.utility == pytest.approx(part.utility, abs=1e-9)
        back = small.pull_back(part.mechanism, cube)
        reading = problem.evaluate(back)
        assert reading.feasible
        assert reading.utility == pytest.approx(part.utility, abs=1e-12)


def test_pull_backs_along_any_map_are_private() -> None:
    rng = np.random.default_rng(1)
    for _ in range(30):
        sample = graph(rng)
        classes = sample.codes * 3 + rng.integers(0, 3, sample.size)
        small: Quotient = sample.quotient(classes)
        problem = choice(rng, sample)
        on_classes = po.BoundaryColouring(
            small.graph, problem.epsilon, problem.delta, boundary=None, weights=small.weights
        )
        back = small.pull_back(po.solve(on_classes, "equal-boundary").mechanism, sample)
        assert problem.evaluate(back).feasible


def test_quotients_say_whether_they_lose_anything() -> None:
    line = po.DatasetGraph.line(3, 3)
    assert not line.quotient([0, 0, 0, 1, 1, 1]).equitable
    ring = po.DatasetGraph([(0, 1), (1, 2), (2, 3), (3, 0)], [0, 1, 0, 1])
    assert ring.quotient([0, 1, 0, 1]).equitable
    assert not ring.quotient([0, 1, 0, 1], weights=[1, 1, 2, 1]).equitable


def test_morphisms_are_checked() -> None:
    cube, counts = po.DatasetGraph.votes(2), po.DatasetGraph.counts(2)
    assert cube.check_morphism([0, 1, 1, 2], counts).tolist() == [0, 1, 1, 2]
    with pytest.raises(po.errors.InvalidModel, match=r"0 \.\. 2"):
        cube.check_morphism([0, 1, 1, 3], counts)
    with pytest.raises(po.errors.InvalidModel, match="keep colours"):
        cube.check_morphism([0, 2, 1, 2], counts)
    long = po.DatasetGraph.line(3, 1)
    with pytest.raises(po.errors.InvalidModel, match="leave the target"):
        po.DatasetGraph.line(2, 0).check_morphism([0, 2], long)
    with pytest.raises(po.errors.InvalidModel, match="two colours"):
        cube.quotient([0, 0, 0, 0])
    with pytest.raises(po.errors.InvalidModel, match="weights"):
        cube.refined([1.0, -1.0, 1.0, 1.0])
