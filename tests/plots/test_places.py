"""The map of a mechanism on places."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest

import privopt as po
from privopt.errors import InvalidMechanism
from privopt.plots.places import LEAST, places_figure


def test_lines_lead_from_places_to_reports_that_are_likely() -> None:
    problem = po.MetricPrivacy(po.Metric.grid(3, 3, unit="km"), [1 / 9] * 9, "distance", 2.0)
    solution = po.solve(problem)
    axes = solution.plot().axes[0]
    segments = axes.collections[0].get_segments()  # type: ignore[attr-defined]
    assert len(segments) == int((solution.mechanism.matrix >= LEAST).sum())
    assert {tuple(end) for line in segments for end in np.asarray(line).tolist()} <= {
        tuple(place)
        for place in problem.metric.places.tolist()  # type: ignore[union-attr]
    }
    assert axes.get_xlabel() == "first coordinate (km)"


def test_a_globe_has_longitudes_to_the_right() -> None:
    cities = po.Metric.great_circle([[41.9, 12.5], [45.5, 9.2]], ["Rome", "Milan"])
    problem = po.MetricPrivacy(cities, [0.5, 0.5], "distance", 0.005)
    axes = places_figure(problem, problem.anchor()).axes[0]
    assert axes.get_xlabel() == "longitude"
    assert {text.get_text() for text in axes.texts} == {"Rome", "Milan"}


def test_a_line_has_no_map() -> None:
    problem = po.MetricPrivacy(po.Metric.line(3), [1 / 3] * 3, "distance", 1.0)
    with pytest.raises(InvalidMechanism, match="two coordinates"):
        places_figure(problem, problem.anchor())
    assert po.solve(problem).plot().axes


def test_names_leave_each_other_room_and_the_likeliest_come_first() -> None:
    near = po.Metric.euclidean([[0.0, 0.0], [0.001, 0.0], [1.0, 1.0]], ["a long name", "another", "$x"])
    problem = po.MetricPrivacy(near, [0.2, 0.5, 0.3], "distance", 1.0)
    figure = places_figure(problem, problem.anchor())
    assert {text.get_text() for text in figure.axes[0].texts} == {"another", "$x"}
    assert [text.get_text() for text in figure.legends[0].get_texts()] == [
        "may be reported there (5% and more)",
        "reported (area: how often)",
        "place",
    ]


def test_a_graph_whose_nodes_say_where_they_are_is_a_map_of_its_edges() -> None:
    graph = nx.Graph([("mill", "church"), ("church", "quay")])
    nx.set_node_attributes(graph, {"mill": (0, 0), "church": (1, 0), "quay": (1, 1)}, "pos")
    problem = po.MetricPrivacy(po.Metric.graph(graph, unit="m", places="pos"), [1 / 3] * 3, "distance", 1.0)
    axes = places_figure(problem, problem.anchor()).axes[0]
    assert axes.get_xlabel() == "first coordinate"  # the unit is that of the lengths of edges
    assert len(axes.collections[0].get_paths()) == 2
    with pytest.raises(po.errors.InvalidModel, match="'mill' has no attribute 'x'"):
        po.Metric.graph(graph, places=["x", "y"])
