"""Bad problems on graphs of datasets are refused in one sentence; odd but good ones are answered."""

from __future__ import annotations

import math
from typing import Any

import networkx as nx
import numpy as np
import pytest

import privopt as po
from privopt.errors import InvalidProblem

LINE = po.DatasetGraph.line(2, 2)
THREE = po.DatasetGraph([(0, 1), (1, 2)], [0, 1, 2])


@pytest.mark.parametrize(
    ("change", "part"),
    [
        ({"epsilon": -1.0}, "epsilon must be a finite number"),
        ({"epsilon": math.nan}, "epsilon must be a finite number"),
        ({"epsilon": math.inf}, "epsilon must be a finite number"),
        ({"epsilon": True}, "epsilon must be a number"),
        ({"epsilon": "1"}, "epsilon must be a number"),
        ({"delta": -0.1}, "delta must be in"),
        ({"delta": 1.1}, "delta must be in"),
        ({"delta": math.nan}, "delta must be in"),
        ({"graph": [(0, 1)]}, "graph must be a DatasetGraph"),
        ({"objective": "speed"}, "objective must be"),
        ({"boundary": "fair"}, "boundary must be"),
        ({"boundary": (1.2, None)}, "q_first must be in"),
        ({"boundary": (0.5, math.nan)}, "q_second must be in"),
        ({"boundary": {1: 1.5}}, "vertex 1 must be in"),
        ({"boundary": {1: math.nan}}, "vertex 1 must be in"),
        ({"boundary": {1: "x"}}, "vertex 1 must be a number"),
        ({"boundary": {9: 0.5}}, "unknown vertex"),
        ({"boundary": {0: 0.5}}, "miss 1 two-coloured edges"),
        ({"weights": [1, 1, -1, 1]}, r"weights\[2\]"),
        ({"weights": [0, 0, 0, 0]}, "positive finite sum"),
        ({"weights": [1, 2]}, "one a vertex"),
        ({"weights": [1, math.nan, 1, 1]}, r"weights\[1\]"),
        ({"graph": THREE, "boundary": (0.5, None)}, "two colours"),
        ({"graph": THREE, "boundary": {1: 0.5}}, "3 probabilities"),
        ({"graph": THREE, "boundary": {1: [0.5, 0.6, 0.1]}}, "no distribution"),
    ],
)
def test_refused_at_the_door(change: dict[str, Any], part: str) -> None:
    fields = {"graph": LINE, "epsilon": 1.0, **change}
    with pytest.raises(po.errors.InvalidProblem, match=part) as caught:
        po.BoundaryColouring(**fields)
    assert "\n" not in str(caught.value)


def test_missed_edges_are_listed_up_to_twenty() -> None:
    stripes = po.DatasetGraph.grid([[0, 1] * 20])
    with pytest.raises(po.errors.InvalidProblem, match=r"miss 39 .*\(0, 1\), .*and 19 more"):
        po.BoundaryColouring(stripes, 1.0, boundary={})


@pytest.mark.parametrize(
    ("made", "part"),
    [
        (po.Channel([[1.0]]), "answered by a Colouring"),
        (po.Colouring([[0.5, 0.5]], ["blue", "red"]), "is of 1 vertices"),
        (po.Colouring([[0.5, 0.5]] * 4), "palette"),
        (po.Colouring([[0.5, 0.5]] * 4, ["red", "blue"]), "palette"),
        (po.Colouring([[0.5, 0.5]] * 4, ["blue", "red"], vertices="abcd"), "label"),
        (po.Colouring([[0.5, 0.5]] * 4, ["blue", "red"], answers=[0, 0, 0, 0]), "true answers"),
    ],
)
def test_other_mechanisms_are_not_judged(made: po.Mechanism, part: str) -> None:
    with pytest.raises(po.errors.InvalidMechanism, match=part):
        po.BoundaryColouring(LINE, 1.0).check(made)


@pytest.mark.parametrize(
    "graph",
    [
        po.DatasetGraph([], []),
        po.DatasetGraph([], ["a"]),
        po.DatasetGraph([], ["a", "b"]),
        po.DatasetGraph([(0, 0), (0, 1), (1, 0), (0, 1)], ["a", "b", "a"]),
        po.DatasetGraph([(0, 1)], ["a", "a"], palette=["a", "b"]),
        po.DatasetGraph([(0, 1), (2, 3)], ["a", "b", "b", "b"]),
    ],
    ids=["empty", "one", "isolated", "loops", "constant", "components"],
)
@pytest.mark.parametrize(("epsilon", "delta"), [(0.0, 0.0), (1.0, 0.0), (0.0, 1.0), (2.0, 0.3)])
def test_odd_graphs_and_budgets_are_answered(graph: po.DatasetGraph, epsilon: float, delta: float) -> None:
    problem = po.BoundaryColouring(graph, epsilon, delta)
    for name in (None, "propagation", "balanced"):
        solution = po.solve(problem, name)
        assert solution.status is po.Status.OPTIMAL
        assert po.verify(problem, solution).ok
        hit = (max(math.exp(epsilon) + delta, 1) / (1 + math.exp(epsilon))) if delta < 1 else 1.0
        expected = np.where(graph.boundary(), hit, 1.0)
        assert solution.mechanism.error == pytest.approx(1 - expected, abs=1e-12)
    assert po.solve(problem.with_budget(epsilon), "propagation", certify=False).status.ok


def test_files_tell_what_is_wrong_with_them() -> None:
    fields = po.BoundaryColouring(LINE, 1.0, boundary={1: 0.4}).to_dict()
    again = po.problem_from_dict(fields)
    assert isinstance(again, po.BoundaryColouring)
    assert again.boundary == {1: 0.4}
    for key, value in (("epsilon", "inf"), ("boundary", "fair"), ("graph", {"edges": []}), ("speed", 3)):
        with pytest.raises(po.errors.FileRefused):
            po.problem_from_dict({**fields, key: value})
    with pytest.raises(po.errors.InvalidProblem, match="distinct vertices"):
        po.problem_from_dict({**fields, "boundary": {"vertices": [1, 1], "values": [0.4, 0.4]}})


@pytest.mark.parametrize(
    "call",
    [
        lambda: po.measures.is_private_colouring(LINE, [[0.5, 0.5]] * 3, 1.0),
        lambda: po.measures.is_private_colouring([(0, 1)], [[0.5, 0.5]] * 4, 1.0),  # type: ignore[arg-type]
        lambda: po.measures.is_private_colouring(LINE, [[0.5, 0.5]] * 4, -1.0),
        lambda: po.measures.is_private_colouring(LINE, [[0.5, 0.5]] * 4, 1.0, 2.0),
        lambda: po.measures.is_private_colouring(LINE, [[0.5, 0.6]] * 4, 1.0),
        lambda: po.measures.is_optimal_colouring(THREE, [[0.2, 0.3, 0.5]] * 3, 1.0),
        lambda: po.measures.dominates([0.5] * 4, [0.5] * 3, LINE),
        lambda: po.measures.below(LINE, {0: 1.5}, 1.0),
        lambda: po.measures.above(LINE, {7: 0.5}, 1.0),
        lambda: po.measures.minimax_change(LINE, {0: math.nan}, 1.0),
        lambda: po.measures.colouring_with_edge_budgets(THREE, {0: 0.5}, 1.0),
    ],
)
def test_measures_refuse_what_does_not_fit(call: Any) -> None:
    with pytest.raises(ValueError, match=r"\w+ \w+ \w+") as caught:
        call()
    assert isinstance(caught.value, po.errors.PrivoptError)


def test_weights_by_vertex_of_a_networkx_graph() -> None:
    graph = nx.path_graph(["a", "b", "c"])
    nx.set_node_attributes(graph, {"a": "yes", "b": "no", "c": "no"}, "colour")
    data = po.DatasetGraph.from_networkx(graph)
    named = po.BoundaryColouring(data, 0.5, boundary=None, weights={"c": 3, "a": 1, "b": 2})
    listed = po.BoundaryColouring(data, 0.5, boundary=None, weights=[1, 2, 3])
    assert named.fingerprint == listed.fingerprint
    with pytest.raises(InvalidProblem, match="lacks the vertex 'b'"):
        po.BoundaryColouring(data, 0.5, weights={"a": 1, "c": 1})
    with pytest.raises(InvalidProblem, match="names 'd', which is no vertex"):
        po.BoundaryColouring(data, 0.5, weights={"a": 1, "b": 1, "c": 1, "d": 1})
    with pytest.raises(InvalidProblem, match=r"give DatasetGraph.from_networkx\(graph"):
        po.BoundaryColouring(graph, 0.5)  # type: ignore[arg-type]
