"""Vertices by the double description method in float64, through pycddlib."""

from __future__ import annotations

from typing import Any

import numpy as np

from privopt.arrays import Floats


def cdd_vertices(inequalities: Floats, equations: Floats) -> Floats:
    """Vertices of {v >= 0, sum v = 1, inequalities v <= 0, equations v = 0} as cdd finds them, a row each.

    On thin slabs the double description in floats silently loses vertices.

    Parameters
    ----------
    inequalities : array (r, n)
    equations : array (q, n)

    Examples
    --------
    >>> cdd_vertices(np.array([[1.0, -1.0]]), np.zeros((0, 2))).tolist()
    [[0.5, 0.5], [0.0, 1.0]]
    """
    import cdd

    api: Any = cdd  # its calls have no types
    n = inequalities.shape[1]
    equal = np.vstack([np.concatenate([[1.0], -np.ones(n)]), np.pad(equations, ((0, 0), (1, 0)))])
    unequal = np.vstack([np.pad(-inequalities, ((0, 0), (1, 0))), np.pad(np.eye(n), ((0, 0), (1, 0)))])
    matrix = api.matrix_from_array(
        np.vstack([equal, unequal]).tolist(),
        lin_set=range(len(equal)),
        rep_type=api.RepType.INEQUALITY,
    )
    found = api.copy_generators(api.polyhedron_from_matrix(matrix)).array
    points = np.array(found, dtype=np.float64).reshape(-1, n + 1)
    return np.maximum(points[points[:, 0] == 1.0, 1:], 0.0)
