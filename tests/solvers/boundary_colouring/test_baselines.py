"""Published mechanisms: their errors by distance, written out; they are private, and the optimum dominates them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from instances.small_graphs import graph

import privopt as po

ERRORS = {
    "balanced": lambda e, i: math.exp(-i * e) / (1 + math.exp(e)),
    "geometric-threshold": lambda e, i: math.exp(-i * e) / (1 + math.exp(e)),
    "laplace-threshold": lambda e, i: math.exp(-e * (i + 0.5)) / 2,
    "exponential": lambda e, i: 1 / (1 + math.exp(e * (i + 1))),
    "exponential-half": lambda e, i: 1 / (1 + math.exp(e * (i + 1) / 2)),
    "randomised-response": lambda e, i: 1 / (1 + math.exp(e)),
}


@pytest.mark.parametrize("name", ERRORS)
@pytest.mark.parametrize("epsilon", [0.2, 1.0, 3.0])
def test_errors_by_distance(name: str, epsilon: float) -> None:
    problem = po.BoundaryColouring(po.DatasetGraph.line(9, 6), epsilon)
    solution = po.solve(problem, name)
    assert solution.certified
    far = [*range(8, -1, -1), *range(6)]
    expected = [ERRORS[name](epsilon, i) for i in far]
    assert solution.mechanism.error == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("name", [n for n in ERRORS if n != "balanced"])
def test_nothing_beats_the_balanced_mechanism_at_any_vertex(name: str) -> None:
    rng = np.random.default_rng(0)
    for _ in range(20):
        problem = po.BoundaryColouring(graph(rng), float(rng.uniform(0.1, 2)), float(rng.choice([0, 0.05])))
        best, other = po.solve(problem, "balanced").mechanism, po.solve(problem, name)
        assert other.certified
        assert (best.error <= other.mechanism.error + 1e-11).all()


def test_laplace_noise_by_its_own_integral() -> None:
    # The vertex at distance i has the signed distance i + 1/2 from the threshold; noise beyond it flips the answer.
    import mpmath

    epsilon = 0.7
    problem = po.BoundaryColouring(po.DatasetGraph.line(4, 4), epsilon)
    errors = po.solve(problem, "laplace-threshold").mechanism.error
    for i in range(4):
        tail: Any = mpmath.quad(lambda x: epsilon / 2 * mpmath.exp(-epsilon * x), [i + 0.5, mpmath.inf])
        assert errors[3 - i] == pytest.approx(float(tail), rel=1e-9)


def test_tiny_errors_keep_their_relative_accuracy() -> None:
    problem = po.BoundaryColouring(po.DatasetGraph.line(180, 2), 1.0)
    for name in ("balanced", "geometric-threshold", "laplace-threshold", "exponential"):
        errors = po.solve(problem, name).mechanism.error
        assert errors[0] == pytest.approx(ERRORS[name](1.0, 179), rel=1e-9, abs=0)


def test_pictures() -> None:
    from privopt.plots.colourings import accuracy_figure, colouring_figure

    graph = po.DatasetGraph.grid([[1, 1, 2], [1, 2, 2], [1, 2, 1]])
    mechanism = po.solve(po.BoundaryColouring(graph, 1.0)).mechanism
    drawn = colouring_figure(graph, mechanism)
    assert np.shape(drawn.axes[0].collections[-1].get_offsets()) == (graph.size, 2)
    curve = accuracy_figure(graph, {"balanced": mechanism}).axes[0].lines[0]
    assert np.asarray(curve.get_ydata()) == pytest.approx([1 - ERRORS["balanced"](1.0, i) for i in range(2)])
    with pytest.raises(po.errors.InvalidModel, match="300"):
        colouring_figure(po.DatasetGraph.line(200, 200), mechanism)
