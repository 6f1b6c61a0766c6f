"""Repair of a channel on its own support: what is 0 stays 0.

Every release of an optimum meets some of its bounds exactly, so rounding breaks some. A mixture with the distribution of the
output mends that and makes every symbol release everything, if only with probability 1e-14: a table that nobody can read and
that takes a hundred times as long to judge. Near such an optimum bounds are linear in the weights of a release, so a relative change
rho of the weights that are not 0 mends them as well where one exists: G (W rho) = -shift where a bound is met, and rows of W that
still sum to 1. An optimum at a vertex has as many weights as equations. The least such rho is of the size of the shift.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from privopt.arrays import Floats, Ints
from privopt.mechanisms import Channel
from privopt.models.channel_data import Release
from privopt.problems.local_information_privacy import divergences
from privopt.problems.local_information_privacy.data import LocalInformationPrivacyData, posterior_rows
from privopt.problems.robust_reading import SetReader

NEAR = 4096.0
"""Bounds that are met within that many margins are mended, or kept as they are."""
MOST_MISSED, MOST_CHANGE = 1e5, 1e9
"""Margins by which a bound may be missed, and by which a small weight may change relatively: beyond, it is not rounding."""
LIMIT = 1e-3
"""The same for both whatever the margin."""
VERTEX, LEAST_MARGIN = 2.0**-44, 2.0**-48
"""The relative margin at a vertex, and one below which it is lost in the sums of a row."""
MOST_ROWS = 4000
"""Bounds beyond which none is looked at: so many pairs of values of the secret cost more than a mixture."""
MOST_EQUATIONS = 12_000
"""Beyond which their factors need not be sparse."""
MOST_ENTRIES = 2_000_000
"""Numbers of a sparse system that are written down: 100 MB, with their factors several times that."""
MOST_DENSE = 100_000
"""Numbers of a system up to which it is solved as a dense one."""
DAMPING = 1e-12
"""Share of the identity in the normal equations, which makes them regular; steps of refinement take out what it changes."""
STEPS = 3
SUMS = 1e-9
"""What rows may miss 1 by before they are divided by their sums; the bounds are read after."""
ROUNDS = 4
"""Solutions at most: each looks at the bounds, too, that the one before broke."""
CROSSINGS = (1e-5, 1e-6, 1e-7, 1e-8)
"""Weights that are left out at a vertex, tried one after the other."""
MET = 1e-6
"""How near a bound is, relatively, that is met at a vertex."""
MOVED = 1e-2
"""What other weights may change by, relatively, for that."""
LARGEST = 700.0
"""Levels above this bound nothing."""


class Row(NamedTuple):
    """A bound on the weights of one release, ``coefficients . W[held, release] <= 0``, nearly or exactly."""

    release: int
    held: Ints
    """Where the release is not 0."""
    coefficients: Floats
    value: float
    size: float
    """What a miss is relative to."""


Reading = Callable[[Floats, float], Iterator[Row]]
"""The bounds of a matrix that are missed, or met with less than so much to spare, relatively."""


def on_support(data: LocalInformationPrivacyData, release: Release, margin: float) -> Channel | None:
    """The release with its positive weights moved until it keeps the bounds at one joint, by a margin; None where that fails."""
    return mended(release, margin, _reading(data))


def _reading(data: LocalInformationPrivacyData) -> Reading | None:
    """The bounds at one joint; None where they are too many, or may be broken."""
    if data.delta > 0:
        return None
    if data.notion == "ldp" and not data.further_rows:
        return of_pairs(data)
    return None if len(data.polytope.kept) > MOST_ROWS else of_lifts(data)


def at_vertex(data: LocalInformationPrivacyData, release: Channel, seconds: float) -> Channel:
    """A release from strictly inside, moved to the vertex that it is near; the release itself where none is found in some seconds.

    Weights below a threshold become 0 and bounds that are nearly met are met, as where an interior-point method crosses over.
    What that costs or gains is for the caller to judge.
    """
    matrix, read, until = np.asarray(release.matrix), _reading(data), time.monotonic() + seconds
    if read is None:
        return release
    for threshold in CROSSINGS:
        kept = np.where(matrix > threshold, matrix, 0.0)
        if (kept.sum(axis=1) < 0.5).any():
            continue
        kept /= kept.sum(axis=1, keepdims=True)
        thin = Channel(kept, release.inputs, release.outputs, simulation_only=release.simulation_only)
        for meet in (True, False):
            if time.monotonic() > until:
                return release
            limits = _Limits(min(threshold, MET), 100 * threshold, MOVED, meet)
            if (moved := _mended(thin, VERTEX, read, limits)) is not None:
                return moved
    return release


def mended(release: Release, margin: float, read: Reading | None) -> Channel | None:
    """The release with its positive weights moved until no bound is missed, by a margin; None where that fails, or bounds are not known."""
    if read is None or not isinstance(release, Channel):
        return None
    relative = max(margin, LEAST_MARGIN)
    missed, most = (min(LIMIT, times * relative) for times in (MOST_MISSED, MOST_CHANGE))
    return _mended(release, relative, read, _Limits(NEAR * relative, missed, most))


class _Limits(NamedTuple):
    """How near bounds are looked at, by how much they may be missed, and weights may change, relatively."""

    near: float
    missed: float
    change: float
    meet: bool = False
    """Whether bounds that are near are met, even where they are not missed."""


def _mended(release: Channel, relative: float, read: Reading, limits: _Limits) -> Channel | None:
    """The same within limits."""
    matrix, rows = np.asarray(release.matrix), list[Row]()
    entries = int(np.count_nonzero(matrix))
    for row in read(matrix, limits.near):
        rows.append(row)
        entries += len(row.held)
        if row.value > limits.missed * row.size or _too_large(rows, matrix, entries):
            return None
    for _ in range(ROUNDS if rows else 0):
        change = _least_change(matrix, rows, relative, meet=limits.meet)
        moved = matrix * (1.0 + change)
        sums = moved.sum(axis=1, keepdims=True)
        if np.abs(change).max() > limits.change or np.abs(sums - 1.0).max() > SUMS:
            return None
        moved /= sums
        broken = list(read(moved, relative / 4))
        if not broken:
            return Channel(moved, release.inputs, release.outputs, simulation_only=release.simulation_only)
        rows += [_read_at(matrix, row) for row in broken]
        entries += sum(len(row.held) for row in broken)
        if _too_large(rows, matrix, entries):
            return None
    return None


def _too_large(rows: list[Row], matrix: Floats, entries: int) -> bool:
    return len(rows) + len(matrix) > MOST_EQUATIONS or entries > MOST_ENTRIES


def _read_at(matrix: Floats, row: Row) -> Row:
    return row._replace(value=float(row.coefficients @ matrix[row.held, row.release]))


def of_pairs(data: LocalInformationPrivacyData) -> Reading:
    """The bound on the ratios of all pairs of values at one joint: of each release, with the least and with the largest probability."""
    table = data.observation.leaking.table
    given = table[table.sum(axis=1) > 0]
    given = given / given.sum(axis=1, keepdims=True)
    factor = float(np.exp(min(data.budget, LARGEST)))

    def read(matrix: Floats, within: float) -> Iterator[Row]:
        chances = given @ matrix
        top, least = chances.argmax(axis=0), chances.argmin(axis=0)
        near = chances.max(axis=0) - factor * chances.min(axis=0) > -within * chances.max(axis=0)
        for y in np.flatnonzero(near & (chances.max(axis=0) > 0)).tolist():
            held, column = np.flatnonzero(matrix[:, y]), chances[:, y]
            size = float(2.0 * column[top[y]])
            high = np.flatnonzero(column - factor * column[least[y]] > -within * size)
            low = np.flatnonzero(column[top[y]] - factor * column > -within * size)
            pairs = [(s, int(least[y])) for s in high.tolist()]
            pairs += [(int(top[y]), t) for t in low.tolist() if t != least[y]]
            for s, t in pairs:
                row = given[s, held] - factor * given[t, held]
                yield Row(y, held, row, float(column[s] - factor * column[t]), size)

    return read


def of_lifts(data: LocalInformationPrivacyData) -> Reading:
    """The bounds on the lifts at one joint."""
    rows = posterior_rows(data) * data.observation.p_w

    def read(matrix: Floats, within: float) -> Iterator[Row]:
        values, sizes = rows @ matrix, np.abs(rows) @ matrix
        for k, y in zip(*np.nonzero((values > -within * sizes) & (sizes > 0)), strict=True):
            held = np.flatnonzero(matrix[:, y])
            yield Row(int(y), held, rows[k, held], float(values[k, y]), float(sizes[k, y]))

    return read


def of_divergences(data: LocalInformationPrivacyData) -> Reading:
    """The bound on the divergence of every release, by its gradient."""
    table, bound = data.observation.leaking.table, data.divergence
    seen = table.sum(axis=1) > 0

    def read(matrix: Floats, within: float) -> Iterator[Row]:
        joint = table @ matrix
        mass = joint.sum(axis=0)
        over = divergences.readings(data.notion, joint) - bound
        for y in np.flatnonzero((over > -within * bound) & (mass > 0)).tolist():
            held = np.flatnonzero(matrix[:, y])
            slopes = divergences.slopes(data.notion, joint[seen, y], table[seen].sum(axis=1), bound)
            yield Row(
                y, held, slopes @ table[seen][:, held], float(over[y] * mass[y]), float(bound * mass[y])
            )

    return read


def of_set(reader: SetReader, notion: str, levels: tuple[float, float]) -> Reading | None:
    """The bounds on the rises and falls over a set of joints, each at the joint where it is closest; None where that is not known."""
    if any(row.kind == "chi2" for row in (*reader.rows, reader.prior)):
        return None

    def read(matrix: Floats, within: float) -> Iterator[Row]:
        spread = reader.spread(matrix, notion)
        for rising, (pair, level) in enumerate(zip((spread.fall, spread.rise), levels[::-1], strict=True)):
            if pair is None or level > LARGEST:
                continue
            factor = float(np.exp(level))
            values, sizes = pair[0] - factor * pair[1], pair[0] + factor * pair[1]
            for s, y in zip(*np.nonzero(spread.used & (values > -within * sizes)), strict=True):
                held = np.flatnonzero(matrix[:, y])
                slopes = reader.slopes(matrix[:, y], int(s), notion, factor, rising=bool(rising))
                yield Row(int(y), held, slopes[held], float(values[s, y]), float(sizes[s, y]))

    return read


def _least_change(matrix: Floats, rows: list[Row], relative: float, *, meet: bool) -> Floats:
    """Relative changes of the positive weights, of least norm, that move every bound inside and keep the sums of the rows of the matrix."""
    symbols, releases = np.nonzero(matrix)
    number = np.zeros(matrix.shape, dtype=np.int64)
    number[symbols, releases] = np.arange(len(symbols))
    where, used, values = [len(rows) + symbols], [np.arange(len(symbols))], [matrix[symbols, releases]]
    right = np.zeros(len(rows) + len(matrix))
    for i, (y, held, coefficients, value, size) in enumerate(rows):
        where.append(np.full(len(held), i))
        used.append(number[held, y])
        values.append(coefficients * matrix[held, y] / size)
        right[i] = -relative - value / size if meet else min(0.0, -relative - value / size)
    entries = tuple(np.concatenate(part) for part in (where, used, values))
    change = np.zeros(matrix.shape)
    change[symbols, releases] = _least_norm(entries, (len(right), len(symbols)), right)
    return change


def _least_norm(entries: tuple[NDArray[Any], ...], shape: tuple[int, int], right: Floats) -> Floats:
    """The solution of least norm of a system of (row, column, value), where it has one."""
    where, used, values = entries
    if shape[0] * shape[1] <= MOST_DENSE:
        dense = np.zeros(shape)
        dense[where, used] = values
        return np.asarray(np.linalg.lstsq(dense, right, rcond=None)[0], dtype=np.float64)
    from scipy.sparse import coo_array, diags_array, eye_array
    from scipy.sparse.linalg import splu

    system = coo_array((values, (where, used)), shape=shape).tocsr()
    lengths = np.sqrt((system * system).sum(axis=1))
    scales = 1.0 / np.where(lengths > 0, lengths, 1.0)
    scaled = diags_array(scales) @ system
    factors = splu((scaled @ scaled.T + DAMPING * eye_array(len(right))).tocsc())
    solved: Floats = np.zeros(shape[1])
    for _ in range(STEPS):
        solved = np.asarray(
            solved + scaled.T @ factors.solve(scales * right - scaled @ solved), dtype=np.float64
        )
    return solved
