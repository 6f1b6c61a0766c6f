"""Graphs of datasets: neighbouring datasets are joined, and each has the colour of its true answer."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from privopt.arrays import Floats, Ints
from privopt.errors import InvalidModel
from privopt.files.labels import Label, Labels, decode_labels, encode_labels, plain_label
from privopt.files.numbers import decode_table
from privopt.models.codec import VERSION, document
from privopt.models.graph import _parts as parts
from privopt.models.graph.refine import equitable, joined, refine
from privopt.models.html import html_table
from privopt.models.validation import distinct_labels, label_tuple

if TYPE_CHECKING:
    import networkx as nx

    from privopt.mechanisms.colouring import Colouring

_FIELDS: dict[str, object] = {"edges": ..., "colours": ..., "vertices": None, "palette": None}
MAX_WRITTEN = 1 << 20
"""Edges of the largest graph that goes into a file."""


@dataclass(frozen=True, init=False, eq=False, repr=False)
class DatasetGraph:
    """Datasets as vertices, neighbouring datasets joined by undirected edges, true answers as colours.

    Stored in compressed rows; loops and repeated edges are dropped. Labels are kept only where given.

    Source: Sadeghi, "Fundamental trade-offs between privacy and utility in data sharing" (CSCIT 2021): differential privacy by randomised colourings of the graph of
    datasets.

    Parameters
    ----------
    edges : array-like of pairs, shape (m, 2)
        Pairs of vertices: positions, or labels where ``vertices`` is given.
    colours : array-like, shape (n,), or mapping of vertex to colour
        The true answer of each dataset.
    vertices : iterable of hashable, length n, optional
        Distinct labels; 0 .. n-1 by default.
    palette : iterable of hashable, optional
        The colours in order; by default the distinct ones that occur, sorted.

    Attributes
    ----------
    indptr, indices : int arrays
        Neighbours of vertex v are ``indices[indptr[v]:indptr[v + 1]]``, sorted; read-only.
    codes : int array, shape (n,)
        Position of each vertex's colour in the palette; read-only.
    palette : tuple
    vertices : sequence of labels

    Raises
    ------
    InvalidModel
        If an edge names an unknown vertex, a colour is missing or not in the palette, or labels repeat.

    Examples
    --------
    >>> graph = DatasetGraph([(0, 1), (1, 2)], ["yes", "yes", "no"])
    >>> graph.size, graph.edge_count, graph.palette, graph.two_coloured_edges().tolist()
    (3, 2, ('no', 'yes'), [[1, 2]])
    """

    indptr: NDArray[np.int64]
    indices: NDArray[np.int32]
    codes: NDArray[np.int16]
    palette: Labels
    vertices: Sequence[Label]

    def __init__(
        self,
        edges: object,
        colours: object,
        vertices: Iterable[Label] | None = None,
        palette: Iterable[Label] | None = None,
    ) -> None:
        names = None if vertices is None else distinct_labels(vertices, "vertices")
        answers = parts.colour_list(colours, names)
        n = len(answers)
        labels: Sequence[Label] = range(n) if names is None else label_tuple(names, n, "vertices")
        indptr, indices = parts.compressed(parts.edge_array(edges, names, n), n)
        self._fill(indptr, indices, *parts.coded(answers, palette), labels)

    def _fill(
        self,
        indptr: NDArray[Any],
        indices: NDArray[Any],
        codes: NDArray[Any],
        palette: Labels,
        vertices: Sequence[Label],
    ) -> None:
        values: dict[str, object] = {
            "indptr": parts.frozen(indptr, np.int64),
            "indices": parts.frozen(indices, np.int32),
            "codes": parts.frozen(codes, np.int16),
            "palette": palette,
            "vertices": vertices,
        }
        for name, value in values.items():
            object.__setattr__(self, name, value)

    @classmethod
    def _made(
        cls,
        indptr: NDArray[Any],
        indices: NDArray[Any],
        codes: NDArray[Any],
        palette: Labels,
        vertices: Sequence[Label] | None = None,
    ) -> Self:
        graph = cls.__new__(cls)
        graph._fill(indptr, indices, codes, palette, range(len(codes)) if vertices is None else vertices)
        return graph

    @classmethod
    def from_networkx(cls, graph: nx.Graph[Any], colour: str = "colour") -> Self:
        """Read a networkx graph, undirected or directed, whose nodes have a colour attribute.

        Raises
        ------
        InvalidModel
            If a node has no such attribute.

        Examples
        --------
        >>> import networkx as nx
        >>> path = nx.path_graph(3)
        >>> nx.set_node_attributes(path, {0: "a", 1: "a", 2: "b"}, "colour")
        >>> DatasetGraph.from_networkx(path).codes.tolist()
        [0, 0, 1]
        """
        colours = dict(graph.nodes(data=colour))
        bare = [node for node, value in colours.items() if value is None]
        if bare:
            named = sorted({str(name) for node in bare[:1] for name in graph.nodes[node]})
            has = f"its attributes are {', '.join(map(repr, named))}" if named else "it has no attributes"
            others = f", nor do {len(bare) - 1} others of {len(colours)}" if len(bare) > 1 else ""
            raise InvalidModel(
                f"the node {bare[0]!r} has no attribute {colour!r}{others} ({has}): set graph.nodes[{bare[0]!r}][{colour!r}] to its answer, or "
                "name the attribute that holds it, colour=..."
            )
        return cls(list(graph.edges()), colours, list(colours))

    @classmethod
    def from_igraph(cls, graph: Any, colour: str = "colour") -> Self:
        """Read an igraph graph whose vertices have a colour attribute; vertices are numbered."""
        if colour not in graph.vs.attributes():
            named = ", ".join(map(repr, graph.vs.attributes())) or "none"
            raise InvalidModel(
                f"the vertices have no attribute {colour!r} (they have {named}): set graph.vs[{colour!r}], or name the attribute that holds "
                "the answers, colour=..."
            )
        return cls(graph.get_edgelist(), graph.vs[colour])

    @classmethod
    def from_csr(
        cls, indptr: object, indices: object, colours: object, palette: Iterable[Label] | None = None
    ) -> Self:
        """Read compressed rows, as SciPy's; made symmetric, without loops and repeats.

        Raises
        ------
        InvalidModel
            If the arrays do not describe a graph of as many vertices as there are colours.
        """
        answers = parts.colour_list(colours, None)
        ends = parts.checked_csr(indptr, indices, len(answers))
        return cls._made(*parts.compressed_symmetric(*ends), *parts.coded(answers, palette))

    @classmethod
    def line(cls, n_blue: int, n_red: int) -> Self:
        """A path of ``n_blue`` vertices of colour "blue", then ``n_red`` of colour "red"."""
        n = parts.count(n_blue, "n_blue") + parts.count(n_red, "n_red")
        codes = np.repeat([0, 1], [n_blue, n_red])
        return cls._made(*parts.path(n), codes, ("blue", "red"))

    @classmethod
    def counts(cls, n: int, threshold: float = 0.5) -> Self:
        """The counts 0 .. n of votes on a path: "blue" up to threshold * n, "red" above."""
        size = parts.count(n, "n") + 1
        share = parts.share(threshold)
        codes = (np.arange(size) > share * n).astype(np.int16)
        return cls._made(*parts.path(size), codes, ("blue", "red"))

    @classmethod
    def votes(cls, n: int, threshold: float | None = None) -> Self:
        """All 2^n outcomes of n votes, neighbours where one vote differs.

        Vertex v has voter i for "red" where bit i of v is set; the answer is "red" where more than threshold * n
        are (default one half).
        """
        if not 1 <= parts.count(n, "n") <= parts.MAX_CUBE:
            raise InvalidModel(
                f"votes(n) has 2**n vertices: n must be in 1 .. {parts.MAX_CUBE}, got {n}; use counts(n)"
            )
        share = 0.5 if threshold is None else parts.share(threshold)
        return cls._made(*parts.cube(n), (parts.bit_counts(n) > share * n).astype(np.int16), ("blue", "red"))

    @classmethod
    def voters(cls, blue: int, red: int) -> Self:
        """All non-empty sets of given voters, neighbours where one voter joins or leaves; ties are "red".

        Vertices are labelled by bit masks: bits 0 .. blue-1 are the blue voters, the next ``red`` bits the red ones.
        """
        n = parts.count(blue, "blue") + parts.count(red, "red")
        if not 1 <= n <= parts.MAX_CUBE:
            raise InvalidModel(
                f"voters(blue, red) has 2**(blue + red) - 1 vertices: at most {parts.MAX_CUBE} voters"
            )
        masks = np.arange(1, 1 << n)
        blues = parts.bit_counts(n)[masks & ((1 << blue) - 1)]
        reds = parts.bit_counts(n)[masks >> blue]
        return cls._made(
            *parts.cube_without_origin(n),
            (blues <= reds).astype(np.int16),
            ("blue", "red"),
            tuple(masks.tolist()),
        )

    @classmethod
    def grid(cls, colours: object) -> Self:
        """A rectangular grid, each cell joined to those above, below, left and right; row by row."""
        table = np.asarray(colours)
        if table.ndim != 2 or table.size == 0:
            raise InvalidModel(f"colours must be a table, a cell a vertex, got shape {table.shape}")
        codes, palette = parts.coded(table.ravel(), None)
        return cls._made(*parts.grid(*table.shape), codes, palette)

    @property
    def size(self) -> int:
        """Number of vertices."""
        return len(self.codes)

    @property
    def edge_count(self) -> int:
        """Number of undirected edges."""
        return len(self.indices) // 2

    def edges(self) -> NDArray[np.int64]:
        """Every edge once, shape (m, 2), the smaller position first."""
        rows = np.repeat(np.arange(self.size, dtype=np.int32), np.diff(self.indptr))
        once = rows < self.indices
        return np.stack([rows[once], self.indices[once]], axis=1).astype(np.int64)

    def two_coloured_edges(self) -> NDArray[np.int64]:
        """The edges whose ends have different colours, shape (b, 2), the smaller position first."""
        arcs = self._two_coloured_arcs()
        start, end = self._starts(arcs), self.indices[arcs].astype(np.int64)
        once = start < end
        return np.stack([start[once], end[once]], axis=1)

    def boundary(self) -> NDArray[np.bool_]:
        """Whether each vertex has a neighbour of another colour, shape (n,)."""
        inside = np.zeros(self.size, dtype=np.bool_)
        inside[self._starts(self._two_coloured_arcs())] = True
        return inside

    def _two_coloured_arcs(self) -> NDArray[np.intp]:
        """Positions in ``indices`` of the arcs between different colours."""
        return np.flatnonzero(self.codes[self.indices] != np.repeat(self.codes, np.diff(self.indptr)))

    def _starts(self, arcs: NDArray[np.intp]) -> NDArray[np.int64]:
        """The vertices that arcs start from."""
        return np.searchsorted(self.indptr, arcs, side="right").astype(np.int64) - 1

    def refined(self, weights: ArrayLike | None = None, rounds: float = math.inf) -> Quotient:
        """The quotient by colour refinement: the coarsest equitable partition that respects colours and weights.

        The best weighted accuracy on the quotient, with its summed weights, is that of this graph.

        Parameters
        ----------
        weights : array-like, shape (n,), optional
            Non-negative; vertices of different weight stay apart.
        rounds : float
            Where refinement takes more, every vertex is a class of its own.

        Raises
        ------
        InvalidModel
            If a weight is missing, negative or not finite.

        Examples
        --------
        >>> cube = DatasetGraph.votes(10)
        >>> cube.refined().graph.size
        11
        """
        values = parts.weights(weights, self.size)
        kind = np.unique(values, return_inverse=True)[1].reshape(-1).astype(np.int64)
        classes = refine(self.indptr, self.indices, kind * max(len(self.palette), 1) + self.codes, rounds)
        return self._by_class(np.arange(self.size) if classes is None else classes, values, same=True)

    def quotient(self, classes: object, weights: ArrayLike | None = None) -> Quotient:
        """The quotient by given classes, a whole number a vertex; ``equitable`` says whether it loses nothing.

        Raises
        ------
        InvalidModel
            If a class has members of two colours, or the classes or weights do not fit.

        Examples
        --------
        >>> DatasetGraph.line(3, 2).quotient([0, 0, 1, 2, 2]).graph.size
        3
        """
        values, labels = parts.weights(weights, self.size), np.asarray(classes)
        if labels.shape != (self.size,) or labels.dtype.kind not in "iub":
            raise InvalidModel(f"classes must be a whole number for each of {self.size} vertices")
        places = np.unique(labels, return_inverse=True)[1].reshape(-1)
        odd = np.flatnonzero(~parts.constant(self.codes, places))
        if odd.size:
            name = self.vertices[int(odd[0])]
            raise InvalidModel(
                f"the class of vertex {name!r} has members of two colours; classes need one each"
            )
        same = equitable(self.indptr, self.indices, places) and bool(parts.constant(values, places).all())
        return self._by_class(places, values, same=same)

    def _by_class(self, classes: Ints, weights: Floats, *, same: bool) -> Quotient:
        k = int(classes.max(initial=-1)) + 1
        codes = np.zeros(k, dtype=np.int16)
        codes[classes] = self.codes
        small = self._made(*joined(self.indptr, self.indices, classes, k), codes, self.palette)
        sums: Floats = np.bincount(classes, weights=weights, minlength=k).astype(np.float64)
        classes.setflags(write=False)
        return Quotient(small, classes, sums, same)

    def check_morphism(self, images: object, target: DatasetGraph) -> Ints:
        """The positions in another graph that the vertices go to, checked.

        A mechanism on ``target``, pulled back along a morphism, is private here and as accurate.

        Raises
        ------
        InvalidModel
            If an image is no vertex of the target, an edge goes to two vertices that are no neighbours, or a
            colour changes.

        Examples
        --------
        >>> cube = DatasetGraph.votes(2)
        >>> cube.check_morphism([0, 1, 1, 2], DatasetGraph.counts(2)).tolist()
        [0, 1, 1, 2]
        """
        places = np.asarray(images)
        if places.shape != (self.size,) or places.dtype.kind not in "iu":
            raise InvalidModel(f"images must be a position in the target for each of {self.size} vertices")
        outside = np.flatnonzero((places < 0) | (places >= target.size))
        if outside.size:
            v = int(outside[0])
            raise InvalidModel(
                f"vertex {self.vertices[v]!r} goes to {int(places[v])}, the target has 0 .. {target.size - 1}"
            )
        place = {colour: i for i, colour in enumerate(target.palette)}
        own = np.array([place.get(colour, -1) for colour in self.palette], dtype=np.int64)[self.codes]
        odd = np.flatnonzero(own != target.codes[places])
        if odd.size:
            v = int(odd[0])
            raise InvalidModel(
                f"vertex {self.vertices[v]!r} is {self.palette[self.codes[v]]!r} and goes to a vertex of "
                f"colour {target.palette[target.codes[places[v]]]!r}; a map must keep colours"
            )
        pairs, row = self.edges(), np.array([target.size, 1])
        ends = np.sort(places.astype(np.int64)[pairs], axis=1)
        lost = np.flatnonzero((ends[:, 0] != ends[:, 1]) & ~np.isin(ends @ row, target.edges() @ row))
        if lost.size:
            names = " - ".join(repr(self.vertices[int(i)]) for i in pairs[lost[0]])
            raise InvalidModel(
                f"{lost.size} edges leave the target graph, such as {names}; neighbours must go to "
                "neighbours or to one vertex"
            )
        return places.astype(np.int64)

    def position(self, vertex: Label) -> int:
        """The position of a vertex.

        Raises
        ------
        InvalidModel
            If there is none of that label.
        """
        position = self._positions.get(plain_label(vertex))
        if position is None:
            raise InvalidModel(f"there is no vertex {vertex!r} among the {self.size} of the graph")
        return position

    @cached_property
    def _positions(self) -> dict[Label, int]:
        return {label: i for i, label in enumerate(self.vertices)}

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 of the arrays, the palette and the labels."""
        digest = hashlib.sha256(f"{self.palette!r}".encode())
        for array in (self.indptr, self.indices, self.codes):
            digest.update(array.tobytes())
        if not isinstance(self.vertices, range):
            digest.update(repr(tuple(self.vertices)).encode())
        return digest.hexdigest()

    def to_dict(self) -> dict[str, object]:
        """Plain JSON values from which :meth:`from_dict` makes an equal graph.

        Raises
        ------
        InvalidModel
            If the graph has more than 2**20 edges, which is too much for a file.
        """
        if self.edge_count > MAX_WRITTEN:
            raise InvalidModel(f"a graph of {self.edge_count} edges is too large for a file; keep its arrays")
        return {
            "type": "dataset_graph",
            "version": VERSION,
            "edges": self.edges().tolist(),
            "colours": encode_labels(self.palette[c] for c in self.codes.tolist()),
            "vertices": None if isinstance(self.vertices, range) else encode_labels(self.vertices),
            "palette": encode_labels(self.palette),
        }

    @classmethod
    def from_dict(cls, d: Mapping[str, object]) -> Self:
        """Read what :meth:`to_dict` wrote, with edges between positions.

        Raises
        ------
        InvalidModel
            If a key is missing or unknown, or a value is not of its kind.
        """
        fields = document(d, "dataset_graph", _FIELDS)
        colours = decode_labels(fields["colours"], "colours")
        names = None if fields["vertices"] is None else decode_labels(fields["vertices"], "vertices")
        palette = None if fields["palette"] is None else decode_labels(fields["palette"], "palette")
        try:
            edges = decode_table(fields["edges"], "edges")
        except ValueError as cause:
            raise InvalidModel(str(cause)) from cause
        graph = cls(edges, list(colours), None, palette)
        labels = graph.vertices if names is None else label_tuple(names, graph.size, "vertices")
        return cls._made(graph.indptr, graph.indices, graph.codes, graph.palette, labels)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, DatasetGraph):
            return NotImplemented
        return self.fingerprint == other.fingerprint

    def __hash__(self) -> int:
        return hash(self.fingerprint)

    def __reduce__(self) -> tuple[object, ...]:
        # Arrays come out of a pickle writable, so the graph is made anew.
        return type(self)._made, (self.indptr, self.indices, self.codes, self.palette, self.vertices)

    def __repr__(self) -> str:
        return f"DatasetGraph({self.size} vertices, {self.edge_count} edges, {len(self.palette)} colours)"

    def _repr_html_(self) -> str:
        tally = np.bincount(self.codes, minlength=len(self.palette)).astype(np.float64)
        return html_table(repr(self), ("vertices",), self.palette, tally[None, :])


@dataclass(frozen=True, eq=False)
class Quotient:
    """A smaller graph, and the map onto it.

    A mechanism that is private on ``graph`` is private when pulled back along the map, because neighbours go to
    neighbours or to one vertex. Where ``equitable``, nothing is lost: averaging a mechanism over the classes keeps
    every constraint (the edges between two classes are biregular), so that the best weighted accuracy is that of the
    quotient with the summed weights.

    Parameters
    ----------
    graph : DatasetGraph
        A vertex a class, joined where members are.
    classes : int array, shape (n,)
        The vertex of ``graph`` that each vertex goes to; read-only.
    weights : array, shape (graph.size,)
        Sum of the members' weights; of ones where none were given.
    equitable : bool
        Whether any two members of a class have equally many neighbours in every class, and equal weights.

    Examples
    --------
    >>> from privopt.models import DatasetGraph
    >>> small = DatasetGraph.votes(5).refined()
    >>> small.graph.size, small.weights.tolist(), small.equitable
    (6, [1.0, 5.0, 10.0, 10.0, 5.0, 1.0], True)
    """

    graph: DatasetGraph
    classes: Ints
    weights: Floats
    equitable: bool

    def pull_back(self, colouring: Colouring, graph: DatasetGraph) -> Colouring:
        """The mechanism on ``graph`` that answers for each vertex what ``colouring`` answers for its class.

        Raises
        ------
        InvalidModel
            If the sizes do not fit.
        """
        from privopt.mechanisms.colouring import Colouring

        if len(colouring.level) != self.graph.size or graph.size != len(self.classes):
            raise InvalidModel(
                f"the quotient takes {len(self.classes)} vertices to {self.graph.size}; the colouring has "
                f"{len(colouring.level)} and the graph {graph.size}"
            )
        return Colouring.of_levels(
            colouring.levels,
            colouring.level[self.classes],
            colouring.colours,
            answers=graph.codes,
            vertices=graph.vertices,
            simulation_only=colouring.simulation_only,
        )
