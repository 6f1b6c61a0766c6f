"""Partitions of graphs: the coarsest equitable one below another, by hashes and proved without; and their quotients."""

from __future__ import annotations

import math
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from privopt.arrays import Ints

Words: TypeAlias = NDArray[np.uint64]


def refine(
    indptr: NDArray[Any], indices: NDArray[Any], start: NDArray[Any], rounds: float = math.inf
) -> Ints | None:
    """The coarsest equitable partition that refines ``start``, classes numbered by their first vertex.

    Each round splits the neighbours of classes that are new by the sum of random words of those classes. A split
    class passes on all its parts but one, as in Hopcroft's minimisation of automata. Equal sums of
    different words could only leave classes too coarse; the exact check at the end sees it and new words are drawn.
    None where it takes more rounds than given: a path of n vertices takes n / 2.
    """
    classes = np.unique(start, return_inverse=True)[1].reshape(-1).astype(np.int64)
    salt = 0
    while True:
        stable = _stable(indptr, indices, classes, salt, rounds)
        if stable is None:
            return None
        if equitable(indptr, indices, stable):
            return _numbered(stable)
        classes, salt = stable, salt + 1


def equitable(indptr: NDArray[Any], indices: NDArray[Any], classes: Ints) -> bool:
    """Whether any two vertices of a class have equally many neighbours in every class; integers only."""
    if not len(indices):
        return True
    k = int(classes.max()) + 1
    rows = np.repeat(np.arange(len(classes)), np.diff(indptr))
    keys, counts = np.unique(rows * k + classes[indices], return_counts=True)
    pairs, of, members = np.unique(classes[keys // k] * k + keys % k, return_inverse=True, return_counts=True)
    least, most = np.full(len(pairs), len(rows)), np.zeros(len(pairs), dtype=np.int64)
    np.minimum.at(least, of, counts)
    np.maximum.at(most, of, counts)
    sizes = np.bincount(classes, minlength=k)
    return bool((least == most).all() and (members == sizes[pairs // k]).all())


def joined(
    indptr: NDArray[Any], indices: NDArray[Any], classes: Ints, k: int
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Compressed rows of k classes, joined where members are; loops go."""
    keys = np.unique(np.repeat(classes, np.diff(indptr)) * max(k, 1) + classes[indices])
    rows, columns = keys // max(k, 1), keys % max(k, 1)
    kept = rows != columns
    return np.concatenate([[0], np.cumsum(np.bincount(rows[kept], minlength=k))]), columns[kept]


def _stable(
    indptr: NDArray[Any], indices: NDArray[Any], classes: Ints, salt: int, rounds: float
) -> Ints | None:
    classes = classes.copy()
    sizes = np.bincount(classes)
    fresh, passed = np.arange(len(classes)), 0
    while fresh.size:
        passed += 1
        if passed > rounds:
            return None
        ends = _neighbours(indptr, indices, fresh)
        if not ends.size:
            break
        words = np.repeat(_words(classes[fresh], salt), np.diff(indptr)[fresh])
        order = np.argsort(ends, kind="stable")
        touched, first = np.unique(ends[order], return_index=True)
        fresh, sizes = _split(classes, sizes, touched, np.add.reduceat(words[order], first))
    return classes


def _neighbours(indptr: NDArray[Any], indices: NDArray[Any], vertices: NDArray[Any]) -> NDArray[Any]:
    """The neighbours of some vertices, in their order."""
    degrees = np.diff(indptr)[vertices]
    offsets = np.repeat(indptr[vertices] - np.concatenate([[0], np.cumsum(degrees)[:-1]]), degrees)
    return np.asarray(indices[offsets + np.arange(degrees.sum())])


def _split(
    classes: Ints, sizes: Ints, touched: NDArray[Any], sums: Words
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Split the classes of touched vertices by their sums, in place.

    Members that were not touched keep the number of their class; where there are none, those of the largest part do.

    Returns
    -------
    The vertices whose number is new, and the sizes of all classes.
    """
    order = np.lexsort((sums, classes[touched]))
    touched, sums = touched[order], sums[order]
    own = classes[touched]
    begins = np.flatnonzero(np.r_[True, (own[1:] != own[:-1]) | (sums[1:] != sums[:-1])])
    counts = np.diff(np.r_[begins, len(own)])
    old = own[begins]
    whole = np.bincount(old, weights=counts, minlength=len(sizes))[old] == sizes[old]
    ranked = np.lexsort((counts, old))
    largest = np.zeros(len(begins), dtype=bool)
    largest[ranked[np.r_[old[ranked][1:] != old[ranked][:-1], True]]] = True
    new = ~(whole & largest)
    number = np.where(new, len(sizes) + np.cumsum(new) - 1, old)
    classes[touched] = np.repeat(number, counts)
    sizes = np.concatenate([sizes, counts[new]])
    np.subtract.at(sizes, old[new], counts[new])
    return touched[np.repeat(new, counts)], sizes


def _words(classes: Ints, salt: int) -> Words:
    """A random word for each class number: the finaliser of the generator SplitMix64 (Steele, Lea, Flood, 2014)."""
    with np.errstate(over="ignore"):
        z = classes.astype(np.uint64) + np.uint64(1 + salt * 0x1_0000_0000)
        z *= np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return np.asarray(z ^ (z >> np.uint64(31)))


def _numbered(classes: Ints) -> Ints:
    """The same partition, classes in the order of their first vertices."""
    _, first, inverse = np.unique(classes, return_index=True, return_inverse=True)
    place = np.empty(len(first), dtype=np.int64)
    place[np.argsort(first)] = np.arange(len(first))
    return np.asarray(place[inverse.reshape(-1)])
