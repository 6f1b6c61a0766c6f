"""Repair of a channel on its own support: what is 0 stays 0.

Every release of an optimum meets some of its bounds exactly, so rounding breaks some. A mixture with the distribution of the
output mends that and makes every symbol release everything, if only with probability 1e-14: a table that nobody can read and
that takes a hundred times as long to judge. Bounds are linear in the weights of a release, so a relative change rho of the weights
that are not 0 mends them as well where one exists: G (W rho) = -shift where a bound is met, and rows of W that still sum to 1. An
optimum at a vertex has as many weights as equations. The least such rho is of the size of the shift.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from privopt.arrays import Bools, Floats
from privopt.mechanisms import Channel
from privopt.models.channel_data import Release
from privopt.problems.local_information_privacy.data import LocalInformationPrivacyData, posterior_rows

NEAR = 4096.0
"""Bounds that are met within that many margins are mended, or kept as they are."""
MOST_MISSED, MOST_CHANGE = 1e5, 1e9
"""Margins by which a bound may be missed, and by which a small weight may change relatively: beyond, it is not rounding."""
LIMIT = 1e-3
"""The same for both whatever the margin."""
LEAST_MARGIN = 2.0**-48
"""A relative margin below it is lost in the sums of a row."""
MOST_ROWS = 4000
"""Bounds beyond which none is looked at: so many pairs of values of the secret cost more than a mixture."""
MOST_EQUATIONS = 12_000
"""Beyond which their factors need not be sparse."""
MOST_DENSE = 100_000
"""Numbers of a system up to which it is solved as a dense one."""
DAMPING = 1e-12
"""Share of the identity in the normal equations, which makes them regular; steps of refinement take out what it changes."""
STEPS = 3
SUMS = 1e-9
"""What rows may miss 1 by before they are divided by their sums; the bounds are read after."""
ROUNDS = 4
"""Solutions at most: each looks at the bounds, too, that the one before broke."""


def on_support(data: LocalInformationPrivacyData, release: Release, margin: float) -> Channel | None:
    """The release with its positive weights moved until it keeps the bounds with a relative margin, or None where that fails."""
    if data.delta > 0 or not isinstance(release, Channel) or len(data.polytope.kept) > MOST_ROWS:
        return None
    matrix, p_w = np.asarray(release.matrix), data.observation.p_w
    rows, relative = posterior_rows(data), max(margin, LEAST_MARGIN)
    weights = p_w[:, None] * matrix
    values, sizes = rows @ weights, np.abs(rows) @ weights
    shift = relative * sizes
    missed, most = (min(LIMIT, times * relative) for times in (MOST_MISSED, MOST_CHANGE))
    near = (values > -NEAR * shift) & (sizes > 0)
    if not near.any() or (values > missed * sizes).any():
        return None
    for _ in range(ROUNDS):
        if near.sum() + len(matrix) > MOST_EQUATIONS:
            return None
        change = _least_change(rows, matrix, p_w, near, np.minimum(0.0, -shift - values), sizes)
        moved = matrix * (1.0 + change)
        sums = moved.sum(axis=1, keepdims=True)
        if np.abs(change).max() > most or np.abs(sums - 1.0).max() > SUMS:
            return None
        moved /= sums
        broken = (rows @ (p_w[:, None] * moved) > -shift / 4) & (sizes > 0)
        if not broken.any():
            return Channel(moved, release.inputs, release.outputs, simulation_only=release.simulation_only)
        if not (broken & ~near).any():
            return None
        near |= broken
    return None


def _least_change(
    rows: Floats, matrix: Floats, p_w: Floats, near: Bools, wanted: Floats, sizes: Floats
) -> Floats:
    """Relative changes of the positive weights, of least norm, that move the bounds that are near as wanted and keep every row's sum."""
    symbols, releases = np.nonzero(matrix)
    number = np.zeros(matrix.shape, dtype=np.int64)
    number[symbols, releases] = np.arange(len(symbols))
    bounds, columns = np.nonzero(near)
    where, used, values = [len(bounds) + symbols], [np.arange(len(symbols))], [matrix[symbols, releases]]
    for equation, (k, y) in enumerate(zip(bounds.tolist(), columns.tolist(), strict=True)):
        held = np.flatnonzero(matrix[:, y])
        where.append(np.full(len(held), equation))
        used.append(number[held, y])
        values.append(rows[k, held] * p_w[held] * matrix[held, y] / sizes[k, y])
    entries = tuple(np.concatenate(part) for part in (where, used, values))
    right = np.concatenate([wanted[bounds, columns] / sizes[bounds, columns], np.zeros(len(matrix))])
    change = np.zeros(matrix.shape)
    change[symbols, releases] = _least_norm(entries, (len(right), len(symbols)), right)
    return change


def _least_norm(entries: tuple[NDArray[Any], ...], shape: tuple[int, int], right: Floats) -> Floats:
    """The solution of least norm of a system of (row, column, value), where it has one."""
    where, used, values = entries
    if shape[0] * shape[1] <= MOST_DENSE:
        dense = np.zeros(shape)
        dense[where, used] = values
        return np.asarray(np.linalg.lstsq(dense, right, rcond=None)[0])
    from scipy.sparse import coo_array, diags_array, eye_array
    from scipy.sparse.linalg import splu

    system = coo_array((values, (where, used)), shape=shape).tocsr()
    lengths = np.sqrt((system * system).sum(axis=1))
    scales = 1.0 / np.where(lengths > 0, lengths, 1.0)
    scaled = diags_array(scales) @ system
    factors = splu((scaled @ scaled.T + DAMPING * eye_array(len(right))).tocsc())
    solved = np.zeros(shape[1])
    for _ in range(STEPS):
        solved += scaled.T @ factors.solve(scales * right - scaled @ solved)
    return solved
