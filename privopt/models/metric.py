"""Distances between points, for promises that weaken with the distance; whatever is computed is rounded down."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike

from privopt.arrays import Floats, Ints
from privopt.errors import InvalidModel
from privopt.files.labels import Label, Labels, decode_labels, encode_labels
from privopt.models import _metric_input as metric_input
from privopt.models.codec import decode_numbers, encode_numbers
from privopt.models.coordinates import EARTH, PLACED, measure
from privopt.models.pairs import Pairs
from privopt.models.validation import label_tuple

if TYPE_CHECKING:
    import networkx as nx

KINDS = ("matrix", *PLACED, "graph")

BLOCK = 2**22
"""Distances that are computed at a time."""


@dataclass(frozen=True, init=False, eq=False, repr=False)
class Metric:
    """Distances between points: a symmetric matrix, or made by one of the constructors below.

    A distance that is computed is rounded down, so that a promise per unit of distance errs on the side of privacy;
    integers on a line or a grid, the entries of a matrix and the edges of a graph are exact. A distance of 0 makes two
    points one; an infinite one promises nothing.

    Parameters
    ----------
    distances : array (n, n)
        Symmetric, 0 on the diagonal, >= 0, perhaps inf. The triangle inequality is not needed: what follows from
        others is implied.
    labels : n distinct labels, optional
        0 .. n-1 by default.
    unit : str
        Of the distances, in words: "km"; empty for none.

    Raises
    ------
    InvalidModel
        If an argument is out of its range, with its name.

    Examples
    --------
    >>> Metric([[0, 2], [2, 0]], unit="km").between([0], [0, 1]).tolist()
    [[0.0, 2.0]]
    >>> Metric.euclidean([[0, 0], [3, 4]]), Metric.line(3).distances.tolist()
    (Metric(2 points, euclidean), [[0.0, 1.0, 2.0], [1.0, 0.0, 1.0], [2.0, 1.0, 0.0]])
    """

    kind: str
    labels: Labels
    unit: str
    places: Floats | None
    _table: Floats | None
    _edges: Pairs | None

    def __init__(
        self, distances: ArrayLike, labels: Iterable[Label] | None = None, *, unit: str = ""
    ) -> None:
        table = metric_input.distances(distances)
        self._fill("matrix", labels, len(table), unit, table=table)

    def _fill(
        self,
        kind: str,
        labels: Iterable[Label] | None,
        count: int,
        unit: str,
        *,
        places: Floats | None = None,
        table: Floats | None = None,
        edges: Pairs | None = None,
    ) -> None:
        if not isinstance(unit, str):
            raise InvalidModel(f"unit is {unit!r}: give a text such as 'km'")
        values = {
            "kind": kind,
            "labels": label_tuple(labels, count, "labels"),
            "unit": unit,
            "places": places,
            "_table": table,
            "_edges": edges,
        }
        for name, value in values.items():
            object.__setattr__(self, name, value)

    @classmethod
    def _placed(cls, kind: str, points: ArrayLike, labels: Iterable[Label] | None, unit: str) -> Self:
        places = metric_input.places(points, kind)
        metric = cls.__new__(cls)
        metric._fill(kind, labels, len(places), unit, places=places)
        return metric

    @classmethod
    def euclidean(cls, points: ArrayLike, labels: Iterable[Label] | None = None, *, unit: str = "") -> Self:
        """Straight-line distances between points, shape (n, k); one number a point is a line.

        Examples
        --------
        >>> float(Metric.euclidean([[0, 0], [1, 1]]).distances[0, 1]) <= 2**0.5
        True
        """
        return cls._placed("euclidean", points, labels, unit)

    @classmethod
    def manhattan(cls, points: ArrayLike, labels: Iterable[Label] | None = None, *, unit: str = "") -> Self:
        """Sums of absolute differences of coordinates, shape (n, k)."""
        return cls._placed("manhattan", points, labels, unit)

    @classmethod
    def great_circle(
        cls, points: ArrayLike, labels: Iterable[Label] | None = None, *, unit: str = "km"
    ) -> Self:
        """Distances on a sphere of the Earth's mean radius, 6371.0088 km.

        Parameters
        ----------
        points : array (n, 2)
            Latitude and longitude in degrees.
        labels : n distinct labels, optional
        unit : {"km", "m", "mi"}

        Examples
        --------
        >>> round(float(Metric.great_circle([[41.9, 12.5], [48.86, 2.35]]).distances[0, 1]))
        1106
        """
        if unit not in EARTH:
            raise InvalidModel(f"unit is {unit!r}: a great circle is measured in {', '.join(EARTH)}")
        return cls._placed("great_circle", points, labels, unit)

    @classmethod
    def graph(
        cls,
        graph: nx.Graph[Any],
        weight: str = "weight",
        *,
        unit: str = "",
        places: ArrayLike | str | Sequence[str] | None = None,
    ) -> Self:
        """Shortest paths in an undirected networkx graph; its nodes are the points, in their order.

        The promise is made along edges, whose lengths are exact as given, and holds along every path.

        Parameters
        ----------
        graph : networkx.Graph
        weight : str
            The attribute that holds the length of an edge, >= 0. Where edges have no attribute at all each of them counts as 1.
        unit : str
        places : array (n, k), or names of attributes of nodes, optional
            Where the nodes are, for a loss or a map: "pos" if that attribute holds the coordinates, ("x", "y") if each holds one.

        Examples
        --------
        >>> import networkx as nx
        >>> Metric.graph(nx.path_graph(3)).distances[0].tolist()
        [0.0, 1.0, 2.0]
        >>> crossing = nx.Graph([("mill", "church")])
        >>> nx.set_node_attributes(crossing, {"mill": 12.49, "church": 12.5}, "x")
        >>> nx.set_node_attributes(crossing, {"mill": 41.9, "church": 41.91}, "y")
        >>> Metric.graph(crossing, places=("x", "y")).places.tolist()
        [[12.49, 41.9], [12.5, 41.91]]
        """
        if graph.is_directed():
            raise InvalidModel(
                "the graph is directed: a metric is symmetric, give graph.to_undirected(), in which every edge leads both ways"
            )
        nodes = list(graph.nodes)
        position = {node: i for i, node in enumerate(nodes)}
        lengths = [
            (position[a], position[b], length)
            for a, b, length in metric_input.edge_lengths(graph, weight)
            if a != b
        ]
        where = metric_input.node_places(graph, places)
        return cls._of_edges(lengths, nodes, unit, where, f"attribute {weight!r}")

    @classmethod
    def _of_edges(
        cls,
        lengths: Iterable[tuple[int, int, Any]],
        labels: Iterable[Label] | None,
        unit: str,
        places: ArrayLike | None,
        called: str = "length",
    ) -> Self:
        names = tuple(labels or ())
        if not names:
            raise InvalidModel("the graph has no nodes: give at least one point")
        shortest: dict[tuple[int, int], float] = {}
        for a, b, length in lengths:
            value = metric_input.length(length, names[a], names[b], called)
            key = (min(a, b), max(a, b))
            shortest[key] = min(value, shortest.get(key, math.inf))
        kept = sorted((key, value) for key, value in shortest.items() if value < math.inf)
        edges = Pairs(
            np.array([a for (a, _), _ in kept], dtype=np.int64),
            np.array([b for (_, b), _ in kept], dtype=np.int64),
            np.array([value for _, value in kept], dtype=np.float64),
        )
        metric = cls.__new__(cls)
        where = None if places is None else metric_input.places(places, "graph")
        if where is not None and len(where) != len(names):
            raise InvalidModel(f"places holds {len(where)} points for {len(names)} nodes: give one for each")
        metric._fill("graph", names, len(names), unit, places=where, edges=edges)
        return metric

    @classmethod
    def line(cls, n: int, *, step: float = 1.0, unit: str = "") -> Self:
        """Points 0 .. n-1 on a line, neighbours a step apart.

        Examples
        --------
        >>> len(Metric.line(5).pairs())
        4
        """
        metric_input.count(n, "n")
        lengths = [(i, i + 1, step) for i in range(n - 1)]
        return cls._of_edges(lengths, range(n), unit, step * np.arange(n, dtype=np.float64)[:, None])

    @classmethod
    def grid(cls, h: int, w: int, *, step: float = 1.0, unit: str = "", distance: str = "euclidean") -> Self:
        """Cells (row, column) of a grid, neighbours a step apart.

        Parameters
        ----------
        h, w : int
            Rows and columns.
        step : float
        unit : str
        distance : {"euclidean", "manhattan"}
            Straight lines between the middles, or paths along the sides.

        Examples
        --------
        >>> Metric.grid(2, 2).labels
        ((0, 0), (0, 1), (1, 0), (1, 1))
        >>> Metric.grid(2, 2, distance="manhattan").distances[0].tolist()
        [0.0, 1.0, 1.0, 2.0]
        """
        metric_input.count(h, "h")
        metric_input.count(w, "w")
        cells = [(r, c) for r in range(h) for c in range(w)]
        middles = step * np.array(cells, dtype=np.float64)
        if distance == "euclidean":
            return cls._placed("euclidean", middles, cells, unit)
        if distance != "manhattan":
            raise InvalidModel(f'distance is {distance!r}: give "euclidean" or "manhattan"')
        down = [(r * w + c, (r + 1) * w + c, step) for r in range(h - 1) for c in range(w)]
        across = [(r * w + c, r * w + c + 1, step) for r in range(h) for c in range(w - 1)]
        return cls._of_edges(down + across, cells, unit, middles)

    def __len__(self) -> int:
        return len(self.labels)

    @property
    def distances(self) -> Floats:
        """The distances that are promised, shape (n, n), rounded down where they are computed."""
        every = np.arange(len(self))
        return self.lower(every, every)

    def between(self, rows: ArrayLike, columns: ArrayLike) -> Floats:
        """Distances from some points to others, by position, to the nearest float that is computed."""
        return self._measured(np.asarray(rows, dtype=np.int64), np.asarray(columns, dtype=np.int64), False)

    def lower(self, rows: ArrayLike, columns: ArrayLike) -> Floats:
        """The same, never more than the true distance."""
        return self._measured(np.asarray(rows, dtype=np.int64), np.asarray(columns, dtype=np.int64), True)

    def _measured(self, rows: Ints, columns: Ints, down: bool) -> Floats:
        if self._table is not None:
            return np.asarray(self._table[np.ix_(rows, columns)])
        if self._edges is not None:
            paths = self._paths[np.ix_(rows, columns)]
            return np.asarray(paths if down else paths * self._upward)
        assert self.places is not None
        return measure(self.kind, self.places[rows, None], self.places[None, columns], self.unit, down)

    def to_points(self, points: ArrayLike) -> Floats:
        """Distances from every point to places elsewhere, shape (n, m), in the same coordinates.

        Raises
        ------
        InvalidModel
            If the metric has no coordinates, or the places have others.
        """
        if self.places is None or self.kind not in PLACED:
            raise InvalidModel(
                f"a metric of kind {self.kind} has no distance to places elsewhere: name outputs among its points"
            )
        places = metric_input.places(points, self.kind)
        if places.shape[1] != self.places.shape[1]:
            raise InvalidModel(
                f"outputs have {places.shape[1]} coordinates, the points {self.places.shape[1]}: give as many"
            )
        return measure(self.kind, self.places[:, None], places[None, :], self.unit, False)

    @cached_property
    def _paths(self) -> Floats:
        """Lengths of shortest paths, rounded down; exact where all edges are integers."""
        from scipy.sparse import coo_array
        from scipy.sparse.csgraph import dijkstra

        edges = self._edges
        assert edges is not None
        n = len(self)
        least = np.minimum.reduce(edges.distance, initial=math.inf)
        if least == 0:  # the sparse routines take no edge of length 0
            dense = np.full((n, n), np.inf)
            np.fill_diagonal(dense, 0.0)
            dense[edges.first, edges.second] = dense[edges.second, edges.first] = edges.distance
            for k in range(n):
                np.minimum(dense, dense[:, k, None] + dense[None, k], out=dense)
            paths = dense
        else:
            table = coo_array((edges.distance, (edges.first, edges.second)), shape=(n, n)).tocsr()
            paths = np.asarray(dijkstra(table, directed=False))
        return np.asarray(paths / self._upward)

    @property
    def _upward(self) -> float:
        """The factor by which sums along a path may be too large: 1 where all edges are integers."""
        lengths = self._edges.distance if self._edges is not None else np.zeros(0)
        whole = bool((lengths == np.round(lengths)).all()) and float(lengths.sum()) < 2.0**53
        return 1.0 if whole else 1.0 + len(self) * 2.0**-51

    def pairs(self, radius: float | None = None) -> Pairs:
        """The pairs of points that are promised, at most a radius apart; of paths in a graph only the edges.

        Examples
        --------
        >>> pairs = Metric.euclidean([0.0, 1.0, 5.0]).pairs(radius=2.0)
        >>> pairs.first.tolist(), pairs.second.tolist()
        ([0], [1])
        """
        if self._edges is not None:
            return self._edges.within(radius)
        if self.places is not None and self.kind != "great_circle" and radius is not None:
            return self._near(radius)
        return self._all_pairs(radius)

    def _near(self, radius: float) -> Pairs:
        """Pairs within a radius, from a tree of the points."""
        from scipy.spatial import KDTree

        assert self.places is not None
        power = 2.0 if self.kind == "euclidean" else 1.0
        near = KDTree(self.places).query_pairs(radius * (1 + 1e-9), p=power, output_type="ndarray")
        near = near[np.lexsort((near[:, 1], near[:, 0]))].astype(np.int64)
        first, second = near[:, 0], near[:, 1]
        apart = measure(self.kind, self.places[first], self.places[second], self.unit, True)
        return Pairs(first, second, apart).within(radius)

    def _all_pairs(self, radius: float | None) -> Pairs:
        n = len(self)
        parts: list[Pairs] = []
        rows = max(1, BLOCK // max(1, n))
        for begin in range(0, n, rows):
            block = np.arange(begin, min(n, begin + rows))
            apart = self.lower(block, np.arange(n))
            kept = np.isfinite(apart) & (np.arange(n)[None, :] > block[:, None])
            if radius is not None:
                kept &= apart <= radius
            first, second = np.nonzero(kept)
            parts.append(Pairs(first + begin, second, apart[kept]))
        return Pairs(
            np.concatenate([p.first for p in parts]),
            np.concatenate([p.second for p in parts]),
            np.concatenate([p.distance for p in parts]),
        )

    def to_dict(self) -> dict[str, Any]:
        """A JSON-safe dictionary."""
        fields: dict[str, Any] = {"type": "metric", "version": 1, "kind": self.kind}
        if self._table is not None:
            fields["distances"] = encode_numbers(self._table.tolist())
        if self._edges is not None:
            edges = (self._edges.first.tolist(), self._edges.second.tolist(), self._edges.distance.tolist())
            fields["edges"] = [list(edge) for edge in zip(*edges, strict=True)]
        if self.places is not None:
            fields["points"] = self.places.tolist()
        return {**fields, "labels": encode_labels(self.labels), "unit": self.unit}

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> Self:
        """The metric that :meth:`to_dict` wrote.

        Raises
        ------
        InvalidModel
            If the document is not well formed.
        """
        kind, unit = fields.get("kind"), fields.get("unit", "")
        named = fields.get("labels")
        labels = None if named is None else decode_labels(named)
        needed = {"matrix": "distances", "graph": "edges"}.get(str(kind), "points")
        if kind not in KINDS or needed not in fields:
            raise InvalidModel(f"a metric is of a kind among {', '.join(KINDS)}, and has {needed!r}")
        if kind == "matrix":
            return cls(decode_numbers(fields["distances"], "distances", 2), labels, unit=unit)  # type: ignore[arg-type]  # numbers, as it checked
        if kind != "graph":
            points = decode_numbers(fields["points"], "points", 2)
            if kind == "great_circle" and unit not in EARTH:
                raise InvalidModel(f"unit is {unit!r}: a great circle is measured in {', '.join(EARTH)}")
            return cls._placed(str(kind), points, labels, unit)  # type: ignore[arg-type]  # numbers, as it checked
        edges = fields["edges"]
        if labels is None or not isinstance(edges, list):
            raise InvalidModel('a metric of a graph has "labels" and "edges"')
        return cls._of_edges(metric_input.read_edges(edges, len(labels)), labels, unit, fields.get("points"))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Metric) and self.to_dict() == other.to_dict()

    def __hash__(self) -> int:
        return hash((self.kind, self.labels, self.unit))

    def __reduce__(self) -> tuple[object, ...]:
        # Arrays come out of a pickle writable, so the metric is made anew.
        return type(self).from_dict, (self.to_dict(),)

    def __repr__(self) -> str:
        unit = f", {self.unit}" if self.unit else ""
        return f"Metric({len(self)} points, {self.kind.replace('_', ' ')}{unit})"
