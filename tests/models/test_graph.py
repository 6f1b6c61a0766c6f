"""Graphs of datasets: what they are made from, what they store, and what they refuse."""

from __future__ import annotations

import math
import pickle

import networkx as nx
import numpy as np
import pytest

import privopt as po


def pairs(graph: po.DatasetGraph) -> set[tuple[int, int]]:
    return {(u, v) for u, v in graph.edges().tolist()}


def test_loops_and_repeats_are_dropped_and_rows_are_sorted() -> None:
    graph = po.DatasetGraph([(2, 0), (0, 2), (1, 1), (0, 1)], list("aba"))
    assert pairs(graph) == {(0, 1), (0, 2)}
    assert graph.indptr.tolist() == [0, 2, 3, 4]
    assert graph.indices.tolist() == [1, 2, 0, 0]
    assert not graph.indices.flags.writeable


@pytest.mark.parametrize("kind", [nx.Graph, nx.DiGraph, nx.MultiGraph, nx.MultiDiGraph])
def test_networkx_graphs_of_every_kind(kind: type[nx.Graph[str]]) -> None:
    theirs = kind([("x", "y"), ("y", "x"), ("y", "z"), ("z", "z")])
    nx.set_node_attributes(theirs, {"x": 1, "y": 1, "z": 2}, "answer")
    graph = po.DatasetGraph.from_networkx(theirs, colour="answer")
    assert graph.vertices == ("x", "y", "z")
    assert pairs(graph) == {(0, 1), (1, 2)}
    assert graph.position("z") == 2
    with pytest.raises(po.errors.InvalidModel, match="no attribute 'colour'"):
        po.DatasetGraph.from_networkx(theirs)


def test_igraph_graphs() -> None:
    igraph = pytest.importorskip("igraph")
    theirs = igraph.Graph([(0, 1), (1, 2), (1, 2)], directed=True)
    with pytest.raises(po.errors.InvalidModel, match="no attribute"):
        po.DatasetGraph.from_igraph(theirs)
    theirs.vs["colour"] = ["a", "a", "b"]
    graph = po.DatasetGraph.from_igraph(theirs)
    assert pairs(graph) == {(0, 1), (1, 2)}
    assert po.solve(po.BoundaryColouring(graph, 1.0)).status.ok


def test_compressed_rows_are_made_symmetric() -> None:
    graph = po.DatasetGraph.from_csr([0, 2, 2, 2], [1, 2], [0, 1, 1])
    assert pairs(graph) == {(0, 1), (0, 2)}
    assert graph == po.DatasetGraph([(0, 1), (0, 2)], [0, 1, 1])


def test_graphs_known_by_a_formula() -> None:
    assert pairs(po.DatasetGraph.line(2, 1)) == {(0, 1), (1, 2)}
    cube = po.DatasetGraph.votes(3)
    assert {frozenset(e) for e in pairs(cube)} == {
        frozenset((a, b)) for a in range(8) for b in range(a) if (a ^ b).bit_count() == 1
    }
    assert cube.codes.tolist() == [int(2 * v.bit_count() > 3) for v in range(8)]
    voters = po.DatasetGraph.voters(2, 1)
    assert voters.vertices == tuple(range(1, 8))
    assert voters.codes.tolist() == [int((m & 3).bit_count() <= (m >> 2)) for m in range(1, 8)]
    grid = po.DatasetGraph.grid([[0, 0, 1], [1, 0, 1]])
    plain = nx.convert_node_labels_to_integers(nx.grid_2d_graph(2, 3), ordering="sorted")
    assert {frozenset(e) for e in pairs(grid)} == {frozenset(e) for e in plain.edges()}
    counts = po.DatasetGraph.counts(5, 0.4)
    assert [counts.palette[c] for c in counts.codes] == ["blue"] * 3 + ["red"] * 3


def test_boundary_is_that_of_the_two_coloured_edges() -> None:
    rng = np.random.default_rng(0)
    for _ in range(30):
        n = int(rng.integers(1, 30))
        graph = po.DatasetGraph(rng.integers(0, n, (n, 2)), rng.integers(0, 3, n), palette=range(3))
        plain = [(u, v) for u, v in graph.edges().tolist() if graph.codes[u] != graph.codes[v]]
        assert graph.two_coloured_edges().tolist() == [list(e) for e in plain]
        assert set(np.flatnonzero(graph.boundary()).tolist()) == {v for e in plain for v in e}


def test_files_and_pickles_keep_labels_and_palette() -> None:
    graph = po.DatasetGraph([("a", ("b", 1))], {"a": True, ("b", 1): False}, ["a", ("b", 1)], [True, False])
    for again in (po.model_from_dict(graph.to_dict()), pickle.loads(pickle.dumps(graph))):
        assert again == graph
        assert isinstance(again, po.DatasetGraph)
        assert again.vertices == graph.vertices
        assert again.palette == (True, False)
    large = po.DatasetGraph.line(1 << 20, 2)
    with pytest.raises(po.errors.InvalidModel, match="too large for a file"):
        large.to_dict()


@pytest.mark.parametrize(
    ("edges", "colours", "part"),
    [
        ([(0, 5)], [0, 1], "vertices are 0 .. 1"),
        ([(0, -1)], [0, 1], "vertices are 0 .. 1"),
        ([(0, 1, 2)], [0, 1, 1], "pairs"),
        ([(0, 0.5)], [0, 1], "pairs"),
        ([(0, 1)], [0, None], "colour every vertex"),
        ([(0, 1)], [0, math.nan], "colour every vertex"),
        ([(0, 1)], "", "colours must be a list"),
        (3, [0, 1], "edges must be pairs"),
        ([(0, 1)], 3, "colours must be a list"),
    ],
)
def test_refused(edges: object, colours: object, part: str) -> None:
    with pytest.raises(po.errors.InvalidModel, match=part):
        po.DatasetGraph(edges, colours)


def test_refused_labels_and_palettes() -> None:
    for call, part in (
        (lambda: po.DatasetGraph([("a", "c")], ["x", "y"], ["a", "b"]), "unknown vertex"),
        (lambda: po.DatasetGraph([], ["x", "y"], ["a", "a"]), "'a'"),
        (lambda: po.DatasetGraph([], ["x"], ["a", "b"]), "1 colours for 2 vertices"),
        (lambda: po.DatasetGraph([], ["x"], palette=["y"]), "not in the palette"),
        (lambda: po.DatasetGraph.votes(40), "2\\*\\*n"),
        (lambda: po.DatasetGraph.line(-1, 2), "n_blue"),
        (lambda: po.DatasetGraph.counts(5, 1.5), "threshold"),
        (lambda: po.DatasetGraph.grid([1, 2]), "table"),
        (lambda: po.DatasetGraph.from_csr([0, 1], [5], [0]), "indices"),
    ):
        with pytest.raises(po.errors.InvalidModel, match=part):
            call()
