"""Distances against exact arithmetic, SciPy and networkx; what is computed is never more than the truth."""

from __future__ import annotations

import math
import pickle
from fractions import Fraction

import networkx as nx
import numpy as np
import pytest
from flint import arb, ctx

import privopt as po
from privopt.errors import InvalidModel


def test_computed_distances_are_never_more_than_exact_ones() -> None:
    rng = np.random.default_rng(0)
    points = rng.normal(size=(30, 2)) * 10 ** rng.uniform(-3, 3, size=(30, 1))
    euclidean, manhattan = po.Metric.euclidean(points), po.Metric.manhattan(points)
    for i in range(30):
        for j in range(i):
            apart = [
                Fraction(float(a)) - Fraction(float(b)) for a, b in zip(points[i], points[j], strict=True)
            ]
            squares = sum(x * x for x in apart)
            told = Fraction(float(euclidean.distances[i, j]))
            assert told * told <= squares
            assert float(told) == pytest.approx(math.sqrt(squares), rel=1e-14)
            told = Fraction(float(manhattan.distances[i, j]))
            assert told <= sum(map(abs, apart))


def test_great_circles_are_never_more_than_in_balls() -> None:
    rng = np.random.default_rng(1)
    near = np.array([41.9, 12.5]) + rng.normal(size=(8, 2)) * 1e-5
    far = np.column_stack([rng.uniform(-90, 90, 12), rng.uniform(-180, 180, 12)])
    points = np.vstack([near, far])
    told = po.Metric.great_circle(points, unit="m").distances
    with ctx.workprec(256):
        for i in range(len(points)):
            for j in range(i):
                a, b = ([arb(float(v)) * arb.pi() / 180 for v in points[k]] for k in (i, j))
                chord = ((a[0] - b[0]) / 2).sin() ** 2 + a[0].cos() * b[0].cos() * (
                    (a[1] - b[1]) / 2
                ).sin() ** 2
                true = 2 * arb(6371008.8) * chord.sqrt().asin()
                assert not arb(float(told[i, j])) > true
                assert float(true.mid()) - told[i, j] < 1e-6 + 1e-9 * told[i, j]


def test_a_graph_has_the_shortest_paths_of_networkx() -> None:
    graph = nx.gnm_random_graph(25, 50, seed=3)
    rng = np.random.default_rng(3)
    for a, b in graph.edges:
        graph.edges[a, b]["weight"] = float(rng.uniform(0.1, 2.0))
    metric = po.Metric.graph(graph)
    lengths = dict(nx.all_pairs_dijkstra_path_length(graph))
    for a in range(25):
        for b in range(25):
            true = lengths[a].get(b, math.inf)
            told = metric.distances[a, b]
            assert told == true == math.inf or (
                told <= true * (1 + 1e-15) and told == pytest.approx(true, rel=1e-12)
            )
    assert len(metric.pairs()) == graph.number_of_edges()


def test_lines_and_grids_are_exact() -> None:
    assert (po.Metric.line(6).distances == np.abs(np.subtract.outer(np.arange(6), np.arange(6)))).all()
    paths = po.Metric.grid(3, 4, distance="manhattan")
    cells = np.array(paths.labels)
    assert (paths.distances == np.abs(cells[:, None] - cells[None]).sum(axis=2)).all()
    assert po.Metric.grid(4, 5).distances[0, 19] == 5.0  # a triangle of sides 3, 4 and 5
    assert len(paths.pairs()) == 2 * 4 + 3 * 3


@pytest.mark.parametrize("kind", ["euclidean", "manhattan", "great_circle"])
def test_pairs_within_a_radius_are_those_of_the_table(kind: str) -> None:
    points = np.random.default_rng(4).uniform(0, 3, size=(60, 2))
    metric = {
        "euclidean": po.Metric.euclidean,
        "manhattan": po.Metric.manhattan,
        "great_circle": po.Metric.great_circle,
    }[kind](points)
    radius = float(np.quantile(metric.distances, 0.1))
    pairs = metric.pairs(radius)
    expected = {(i, j) for i in range(60) for j in range(i + 1, 60) if metric.distances[i, j] <= radius}
    assert set(zip(pairs.first.tolist(), pairs.second.tolist(), strict=True)) == expected
    assert (pairs.distance == metric.distances[pairs.first, pairs.second]).all()


@pytest.mark.parametrize(
    "metric",
    [
        po.Metric([[0, math.inf], [math.inf, 0]], ["a", "b"]),
        po.Metric.euclidean([[0.1, 0.2], [0.3, 0.4]], unit="km"),
        po.Metric.manhattan([1.0, 2.0]),
        po.Metric.great_circle([[1.0, 2.0], [3.0, 4.0]], unit="mi"),
        po.Metric.line(3),
        po.Metric.grid(2, 2, distance="manhattan"),
    ],
    ids=lambda m: m.kind,
)
def test_a_metric_is_written_and_read(metric: po.Metric) -> None:
    again = po.Metric.from_dict(metric.to_dict())
    assert again == metric
    assert pickle.loads(pickle.dumps(metric)) == metric
    assert (again.distances == metric.distances).all()


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: po.Metric([[0, 1], [2, 0]]), "symmetric"),
        (lambda: po.Metric([[0, -1], [-1, 0]]), "at least 0"),
        (lambda: po.Metric([[1, 1], [1, 0]]), "distance 0 from itself"),
        (lambda: po.Metric([[0, 1]]), "square"),
        (lambda: po.Metric.euclidean([[0, math.nan]]), "finite"),
        (lambda: po.Metric.great_circle([[100.0, 0.0]]), "latitudes come first"),
        (lambda: po.Metric.great_circle([[1.0, 0.0]], unit="feet"), "unit"),
        (lambda: po.Metric.line(0), "at least 1"),
        (lambda: po.Metric.graph(nx.DiGraph([(0, 1)])), "directed"),
        (lambda: po.Metric.graph(nx.Graph([(0, 1, {"weight": -2})])), "attribute 'weight'"),
        (lambda: po.Metric.from_dict({"kind": "round"}), "kind"),
        (lambda: po.Metric.from_dict({"kind": "graph", "edges": [[0, 5, 1]], "labels": [0, 1]}), "edge"),
    ],
)
def test_bad_input_is_refused_with_a_reason(make: object, said: str) -> None:
    with pytest.raises(InvalidModel, match=said):
        make()  # type: ignore[operator]


def test_lengths_that_are_forgotten_or_misspelt_are_not_1() -> None:
    streets = nx.Graph()
    streets.add_edge("station", "market", length=0.3)
    streets.add_edge("market", "church", length=0.2)
    assert po.Metric.graph(streets, "length").distances[0].tolist() == pytest.approx([0.0, 0.3, 0.5])
    with pytest.raises(InvalidModel, match="no edge has the attribute 'lenght', edges have 'length'"):
        po.Metric.graph(streets, "lenght")
    streets.add_edge("church", "mill")
    with pytest.raises(
        InvalidModel, match="from 'church' to 'mill' has no attribute 'length', which 2 others have"
    ):
        po.Metric.graph(streets, "length")
