"""The arrays of a graph: checked, compressed, and made for the graphs that are known by a formula."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import DTypeLike, NDArray

from privopt.arrays import Floats, Ints
from privopt.errors import InvalidModel
from privopt.files.labels import Label, Labels, plain_label
from privopt.models.validation import distinct_labels, is_missing, sorted_labels

Rows: TypeAlias = tuple[NDArray[Any], NDArray[Any]]
"""indptr and indices."""

MAX_CUBE = 22
MAX_VERTICES = 2**31 - 1


def frozen(values: NDArray[Any], kind: DTypeLike) -> NDArray[Any]:
    """A read-only contiguous array; the given one where it is that already."""
    array = np.ascontiguousarray(values, dtype=kind)
    if array.flags.writeable:
        array = array.copy() if array is values else array
        array.setflags(write=False)
    return array


def count(value: object, what: str) -> int:
    """A number of things, >= 0."""
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < 0:
        raise InvalidModel(f"{what} must be a whole number >= 0, got {value!r}")
    return int(value)


def share(value: object) -> float:
    """A threshold in [0, 1]."""
    if isinstance(value, bool) or not isinstance(value, (int, float, np.floating)) or not 0 <= value <= 1:
        raise InvalidModel(f"threshold must be a share in [0, 1], got {value!r}")
    return float(value)


def colour_list(colours: object, names: Labels | None) -> NDArray[Any] | list[Label]:
    """The colours in the order of the vertices."""
    if isinstance(colours, Mapping):
        if names is None:
            raise InvalidModel("colours are a mapping: give the vertices, so that their order is known")
        missing = [name for name in names if name not in colours]
        if missing or len(colours) > len(names):
            odd = missing[0] if missing else next(k for k in colours if k not in set(names))
            raise InvalidModel(f"colours and vertices do not fit at {odd!r}: give every vertex one colour")
        return [plain_label(colours[name]) for name in names]
    if isinstance(colours, np.ndarray) and colours.ndim == 1 and colours.dtype.kind in "iub":
        return colours
    if isinstance(colours, (str, bytes)) or not isinstance(colours, Iterable):
        raise InvalidModel(f"colours must be a list with one a vertex, got {colours!r}")
    labels = [plain_label(c) for c in colours]
    if names is not None and len(labels) != len(names):
        raise InvalidModel(f"there are {len(labels)} colours for {len(names)} vertices: give one for each")
    return labels


def coded(
    colours: NDArray[Any] | list[Label], palette: Iterable[Label] | None
) -> tuple[NDArray[np.int16], Labels]:
    """Positions in the palette, and the palette."""
    if isinstance(colours, np.ndarray):
        values, codes = np.unique(colours, return_inverse=True)
        present: Labels = tuple(values.tolist())
    else:
        bad = next((i for i, c in enumerate(colours) if is_missing(c)), None)
        if bad is not None:
            raise InvalidModel(f"the colour of vertex {bad} is {colours[bad]!r}: colour every vertex")
        present = tuple(sorted_labels(dict.fromkeys(colours)))
        place = {c: i for i, c in enumerate(present)}
        codes = np.array([place[c] for c in colours], dtype=np.int64)
    if palette is None:
        chosen = present
    else:
        chosen = distinct_labels(palette, "palette")
        outside = [c for c in present if c not in chosen]
        if outside:
            raise InvalidModel(f"the colour {outside[0]!r} is not in the palette {chosen!r}")
        codes = np.array([chosen.index(c) for c in present], dtype=np.int64)[codes]
    if len(chosen) > 2**15 - 1:
        raise InvalidModel(f"there are {len(chosen)} colours, more than {2**15 - 1}")
    return codes.astype(np.int16), chosen


def edge_array(edges: object, names: Labels | None, n: int) -> Ints:
    """Pairs of positions, shape (m, 2)."""
    if names is not None:
        place = {name: i for i, name in enumerate(names)}
        edges = [_placed(pair, place) for pair in _iterated(edges)]
    try:
        pairs = np.array(edges if isinstance(edges, np.ndarray) else list(_iterated(edges)))
    except ValueError as cause:
        raise InvalidModel(f"edges must be pairs of vertices: {cause}") from cause
    if pairs.size == 0:
        return np.zeros((0, 2), dtype=np.int64)
    if pairs.ndim != 2 or pairs.shape[1] != 2 or pairs.dtype.kind not in "iu":
        raise InvalidModel(
            f"edges must be pairs of positions, shape (m, 2), got {pairs.dtype} of shape {pairs.shape}"
        )
    bad = np.flatnonzero(((pairs < 0) | (pairs >= n)).any(axis=1))
    if bad.size:
        raise InvalidModel(
            f"edge {int(bad[0])} is {tuple(pairs[bad[0]].tolist())}: vertices are 0 .. {n - 1}"
        )
    return pairs.astype(np.int64)


def _iterated(edges: object) -> Iterable[Any]:
    if not isinstance(edges, Iterable):
        raise InvalidModel(f"edges must be pairs of vertices, got {edges!r}")
    return edges


def _placed(pair: Any, place: dict[Label, int]) -> tuple[int, int]:
    ends = tuple(pair)
    if len(ends) != 2:
        raise InvalidModel(f"the edge {pair!r} is not a pair of vertices")
    for end in ends:
        if end not in place:
            raise InvalidModel(f"the edge {pair!r} names the unknown vertex {end!r}")
    return place[ends[0]], place[ends[1]]


def compressed(pairs: Ints, n: int) -> Rows:
    """Symmetric compressed rows of pairs, sorted, without loops and repeats."""
    kept = pairs[pairs[:, 0] != pairs[:, 1]]
    ends = np.concatenate([kept, kept[:, ::-1]])
    keys = np.unique(ends[:, 0] * max(n, 1) + ends[:, 1])
    rows = keys // max(n, 1)
    return np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=n))]), keys % max(n, 1)


def checked_csr(indptr: object, indices: object, n: int) -> Rows:
    """Arrays that are compressed rows of n vertices."""
    ptr, ends = np.asarray(indptr), np.asarray(indices)
    if (
        ptr.ndim != 1
        or ends.ndim != 1
        or ptr.dtype.kind not in "iu"
        or (ends.size and ends.dtype.kind not in "iu")
    ):
        raise InvalidModel("indptr and indices must be lists of whole numbers")
    if len(ptr) != n + 1 or ptr[0] != 0 or ptr[-1] != len(ends) or (np.diff(ptr) < 0).any():
        raise InvalidModel(
            f"indptr must rise from 0 to {len(ends)}, the length of indices, in {n} steps, one a vertex"
        )
    if ends.size and (ends.min() < 0 or ends.max() >= n):
        raise InvalidModel(
            f"indices must be vertices 0 .. {n - 1}, got {int(ends.min())} .. {int(ends.max())}"
        )
    return ptr.astype(np.int64), ends.astype(np.int64)


def compressed_symmetric(indptr: NDArray[Any], indices: NDArray[Any]) -> Rows:
    """The same rows made symmetric, without loops and repeats; SciPy does the work."""
    from scipy.sparse import csr_array

    n = len(indptr) - 1
    table = csr_array((np.ones(len(indices), dtype=np.int8), indices, indptr), shape=(n, n))
    both = (table + table.T).tocsr()
    both.setdiag(0)
    both.eliminate_zeros()
    both.sort_indices()
    return both.indptr, both.indices


def path(n: int) -> Rows:
    """0 - 1 - ... - (n - 1)."""
    return grid(1, n)


def grid(rows: int, columns: int) -> Rows:
    """Cells joined to those above, left, right and below, in that order, which is sorted."""
    n = rows * columns
    if n > MAX_VERTICES:
        raise InvalidModel(f"a grid of {n} vertices is too large: at most {MAX_VERTICES}")
    cell: NDArray[np.int32] = np.arange(n, dtype=np.int32)
    column = cell % max(columns, 1)
    neighbours = np.stack([cell - columns, cell - 1, cell + 1, cell + columns], axis=1)
    there = np.stack([cell >= columns, column > 0, column < columns - 1, cell < n - columns], axis=1)
    indptr = np.concatenate([[0], np.cumsum(there.sum(axis=1))])
    return indptr, neighbours[there]


def cube(n: int) -> Rows:
    """Bit masks below 2^n, neighbours where one bit differs."""
    masks = np.arange(1 << n, dtype=np.int32)
    neighbours = np.sort(masks[:, None] ^ (1 << np.arange(n, dtype=np.int32))[None, :], axis=1)
    return np.arange(len(masks) + 1, dtype=np.int64) * n, neighbours.ravel()


def cube_without_origin(n: int) -> Rows:
    """The same without mask 0; vertex i is mask i + 1."""
    _, indices = cube(n)
    rows = np.repeat(np.arange(1 << n), n)
    kept = (rows > 0) & (indices > 0)
    degrees = np.bincount(rows[kept] - 1, minlength=(1 << n) - 1)
    return np.concatenate([[0], np.cumsum(degrees)]), indices[kept] - 1


def weights(values: object, n: int) -> Floats:
    """A finite number >= 0 for each of n vertices; ones where none are given."""
    if values is None:
        return np.ones(n)
    table = np.array(values, dtype=np.float64)
    if table.shape != (n,) or not np.isfinite(table).all() or (table < 0).any():
        raise InvalidModel(f"weights must be {n} finite numbers >= 0, one a vertex")
    return table


def constant(values: NDArray[Any], classes: Ints) -> NDArray[np.bool_]:
    """Whether each value is that of the last member of its class."""
    last = np.zeros(int(classes.max(initial=-1)) + 1, dtype=values.dtype)
    last[classes] = values
    return np.asarray(last[classes] == values)


def bit_counts(n: int) -> Ints:
    """How many bits each mask below 2^n has."""
    counts = np.zeros(1, dtype=np.int64)
    for _ in range(n):
        counts = np.concatenate([counts, counts + 1])
    return counts
