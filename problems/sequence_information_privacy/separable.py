"""Upper bounds on the utility of all releases of chains that stay or begin afresh, by a potential that is a sum over letters.

The chains: from state i one goes to its own letter x with probability beta_x + a, and to each other letter z with beta_z. All chains of
two letters are so, and those that stay with one probability; the own letters may be a cycle, and a may be negative. With r
the posterior of a letter given the releases up to it, and b = r P for the next one, b_x = beta_x + a r_i depends on one number.

Write Box(b) for the posteriors within e^+-epsilon of b, and V_t(r) for the least cost of the t releases after r, whatever
messages they carry. For any prices lam(r), with D_y the distortions of release y,

    V_t(r) >= lam . b + min over y and p in Box(b) of (D_y - lam) . p + V_t-1(p).

Let the potential be h(p) = sum of h_x(p_x), let lam_x depend on b_x alone, and drop that p sums to 1 at a price s_y. Then

    (D_y - lam) . p + h(p) >= s_y + sum over x of the min over p_x of (D_y(x) - s_y - lam_x) p_x + h_x(p_x),

with p_x in [lo, hi], lo = max(L b_x, 1 - U (1 - b_x)) and hi = min(U b_x, 1 - L (1 - b_x)). That is a sum of functions of one number each,
and so is its excess over a potential k(r). The least sum over all r that sum to 1 is at least, for any number nu_y,

    s_y + nu_y + sum over i of the min over r_i in [0, 1] of Phi_yi(r_i) - nu_y r_i.

If it is at least g for all y, with k = h, every release costs g at least, and V_1 >= h + c gives V_t >= h + c + (t - 1) g. Nothing
here grows faster than letters times releases. It is exact where a release shows its letter or nothing, as for Hamming distortion
and letters that are all likely.

**Intervals.** h_x, k_i and prices are linear between the points of a grid. Cut the numbers r_i at the grid, and where lo or hi passes a
point of it: then the least p_x is a point of the grid, the same ones in the whole interval, or lo or hi, which are linear.
Each candidate costs a quadratic function of r_i with leading coefficient (lam' - lam) ((b' - b) - (p' - p)), at least what is linear between
its ends less a quarter of that where it is positive.

**Rounding.** lo and hi are moved outward by ``pad``, more than they and the moves of the chain can be off. A point of the grid that is
within 4 pad of lo or hi all the time is left out, which costs at most that times the slopes. All else is plus, minus, times and divided
by of single numbers in a fixed order, the same on all machines, and 2^-42 U of the size of numbers and slopes is taken off.

The dual is ``{"kind": "separable", "grid": [...], "values": [tables], "releases": [prices], "first": prices}``: a table has a row for
each letter. The first release of the list proves the first table for the last letter, the next one the second table from the first, and the one
after the last table that table from itself. Prices are ``{"prices": table, "level": s, "mean": nu}``, of ``first`` a row, without a mean.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np

from privopt.arrays import Floats, Ints
from privopt.core.balls import Balls
from privopt.core.problem import Enclosure
from privopt.problems.belief_release.bound import price_row
from privopt.problems.sequence_information_privacy.data import SequenceData, refuse_words

MAX_LETTERS = 64
MAX_OUTPUTS = 64
MAX_EPSILON = 8.0
MAX_POINTS = 1025
MAX_TABLES = 64
MAX_CELLS = 2**27
"""States times releases times pairs of points of the grid, over all tables."""
LARGEST = 2.0**20
"""Of prices and values."""
STEEPEST = 2.0**20
"""Of tables between points of the grid."""
SAME = 2.0**-40
"""How far the moves of a chain may be from the pattern, and rounding of a stay from the stated number."""
LEAST_INFLUENCE = 1e-6
MARGIN = 2.0**-42
"""Of the size of numbers, what is taken off for rounding."""


@dataclass(frozen=True, eq=False)
class Stays:
    """A chain that goes from state i to ``own[i]`` with probability ``fresh`` of it + ``stay``, to others with ``fresh`` of them.

    ``off`` is how far the moves are from that at most.

    Examples
    --------
    >>> stays = Stays.of(np.array([[0.7, 0.1, 0.2], [0.2, 0.6, 0.2], [0.2, 0.1, 0.7]]))
    >>> stays.own.tolist(), stays.fresh.round(9).tolist(), round(stays.stay, 9)
    ([0, 1, 2], [0.2, 0.1, 0.2], 0.5)
    >>> Stays.of(np.array([[0.8, 0.2, 0.0], [0.2, 0.6, 0.2], [0.0, 0.2, 0.8]])) is None
    True
    """

    own: Ints
    fresh: Floats
    stay: float
    off: float

    @classmethod
    def of(cls, moves: Floats) -> Stays | None:
        """The pattern of a transition matrix, or None."""
        n = len(moves)
        own = np.arange(2) if n == 2 else np.abs(moves - np.median(moves, axis=0)).argmax(axis=1)
        if len(set(own.tolist())) < n:
            return None
        fresh = np.array([np.median(moves[own != x, x]) for x in range(n)])
        stay = float(np.median(moves[np.arange(n), own] - fresh[own]))
        pattern = np.tile(fresh, (n, 1))
        pattern[np.arange(n), own] += stay
        off = float(np.abs(moves - pattern).max()) + 2.0**-50
        return cls(own, fresh, stay, off) if off <= SAME else None


def refuse_separable(problem: SequenceData) -> str | None:
    """Why no separable potential bounds this problem, or None."""
    chain = problem.chain
    if chain.order != 1 or chain.k != len(chain.letters) or not 2 <= chain.k <= MAX_LETTERS:
        return f"it takes chains of two to {MAX_LETTERS} letters"
    if not chain.homogeneous or chain.max_length == 1 or problem.horizon < 2:
        return "it takes two releases or more, of chains whose steps are alike"
    stays = Stays.of(np.array(chain.step(0)))
    if stays is None:
        return "it takes chains that go from each state to a letter of its own or begin afresh"
    if abs(stays.stay) < LEAST_INFLUENCE:
        return "letters hardly depend on one another"
    return refuse_words(problem, MAX_EPSILON, MAX_OUTPUTS)


@dataclass(frozen=True, eq=False)
class Prices:
    """Prices at points of the grid (n, K), or of one belief (n, 1), by state; s and nu of each release, (m,)."""

    prices: Floats
    level: Floats
    mean: Floats


@dataclass(frozen=True, eq=False)
class SumBounds:
    """Lower bounds on the cost of a release of a chain and of what follows.

    Parameters
    ----------
    stays : Stays
    cost : array (n, m)
        Distortions.
    epsilon : float
        Nats, positive.
    grid : array (K,)
        From 0 to 1.

    Examples
    --------
    >>> stays = Stays.of(np.array([[0.8, 0.2], [0.3, 0.7]]))
    >>> bounds = SumBounds(stays, 1 - np.eye(2), 1.0, np.linspace(0, 1, 3))
    >>> prices = Prices(np.zeros((2, 1)), np.zeros(2), np.zeros(2))
    >>> round(bounds.least(np.zeros((2, 3)), prices, np.array([0.5, 0.5])), 4)  # a release of 1/(2e) at least
    0.1839
    """

    stays: Stays
    cost: Floats
    epsilon: float
    grid: Floats

    @property
    def factors(self) -> tuple[float, float]:
        """Floats not above e^-epsilon and not below e^epsilon."""
        return float((-Balls.exact(self.epsilon)).exp().lower), float(Balls.exact(self.epsilon).exp().upper)

    @property
    def pad(self) -> float:
        """How far ends are moved outward."""
        return self.factors[1] * (2.0**-46 + 2 * self.stays.off)

    def ends(self, beliefs: Floats) -> tuple[Floats, Floats]:
        """Least and largest posterior of a letter by its belief, moved outward."""
        low, up = self.factors
        least = np.maximum(low * beliefs, 1.0 - up * (1.0 - beliefs)) - self.pad
        most = np.minimum(up * beliefs, 1.0 - low * (1.0 - beliefs)) + self.pad
        return least.clip(0.0, 1.0), most.clip(0.0, 1.0)

    def cuts(self, begin: float) -> Floats:
        """Posteriors of a state at which an interval begins or ends; ``begin`` is how likely its letter is from elsewhere."""
        (low, up), z = self.factors, self.grid
        half = 1.0 / (1.0 + up)
        beliefs = np.concatenate([
            np.minimum(z * up, 1.0 - low * (1.0 - z)),
            np.maximum(z * low, 1.0 - up * (1.0 - z)),
            [half, 1.0 - half],
        ])  # fmt: skip
        inner = (beliefs - begin) / self.stays.stay
        return np.unique(np.concatenate([z, inner[(inner > 0.0) & (inner < 1.0)]]))

    def excess(self, later: Floats, aim: Floats, prices: Prices) -> float:
        """How much a release and the potential ``later`` (n, K) cost at least above the potential ``aim`` (n, K) before it."""
        totals = [[s, nu] for s, nu in zip(prices.level.tolist(), prices.mean.tolist(), strict=True)]
        for i, x in enumerate(self.stays.own.tolist()):
            r = self.cuts(float(self.stays.fresh[x]))
            held = _Intervals(
                self, r, float(self.stays.fresh[x]), later[x], interpolated(self.grid, prices.prices[i], r)
            )
            goal = interpolated(self.grid, aim[i], r)
            for y, total in enumerate(totals):
                total.append(
                    held.least(float(self.cost[x, y] - prices.level[y]), goal + float(prices.mean[y]) * r)
                )
        return min(math.fsum(total) for total in totals) - self.room(later, aim, prices)

    def least(self, later: Floats, prices: Prices, belief: Floats) -> float:
        """A lower bound on the cost of a release at one belief (n,) and of the potential after it; prices are by letter."""
        low, high = self.ends(belief)
        totals = [[s] for s in prices.level.tolist()]
        for x, lam in enumerate(prices.prices[:, 0].tolist()):
            inside = self.grid[(self.grid > low[x]) & (self.grid < high[x])]
            points = np.concatenate([inside, [low[x], high[x]]])
            values = interpolated(self.grid, later[x], points)
            for y, total in enumerate(totals):
                charged = (float(self.cost[x, y] - prices.level[y]) - lam) * points + values
                total += [lam * float(belief[x]), float(charged.min())]
        return min(math.fsum(total) for total in totals) - self.room(
            later, np.zeros((1, len(self.grid))), prices
        )

    def room(self, later: Floats, aim: Floats, prices: Prices) -> float:
        """What rounding can amount to."""
        (_, up), widths = self.factors, np.diff(self.grid)
        size = float(np.abs(self.cost).max() + np.abs(prices.level).max() + np.abs(prices.mean).max())
        tables = [later, aim, prices.prices] if prices.prices.shape[1] > 1 else [later, aim]
        size += sum(float(np.abs(np.diff(table) / widths).max()) for table in tables)
        size += sum(float(np.abs(table).max()) for table in (later, aim, prices.prices))
        return (MARGIN * up + 16 * self.pad) * (1 + len(self.stays.own)) * size


class _Intervals:
    """Intervals between posteriors ``r`` (C,) of a state whose letter costs ``later`` (K,) and has prices (C,)."""

    def __init__(self, bounds: SumBounds, r: Floats, begin: float, later: Floats, prices: Floats) -> None:
        z = bounds.grid
        b = begin + bounds.stays.stay * r
        low, high = bounds.ends(b)
        tol = 4 * bounds.pad
        inner = z > np.minimum(low[:-1], low[1:])[:, None] + tol
        inner &= z < np.maximum(high[:-1], high[1:])[:, None] - tol
        self.closed = np.where(inner, 0.0, np.inf)
        self.grid, self.later, self.owed = z, later, prices * b
        self.prices = prices
        self.low, self.high = low, high
        self.at_ends = [(p, interpolated(z, later, p)) for p in (low, high)]
        rise, wide = np.diff(prices), np.diff(b)
        self.bends = [rise * wide, rise * (wide - np.diff(low)), rise * (wide - np.diff(high))]

    def least(self, direct: float, goal: Floats) -> float:
        """The least of (direct - price) p + later(p) + price b - goal over all intervals and posteriors p of the letter."""
        slope, over = direct - self.prices, self.owed - goal
        inside = slope[:, None] * self.grid + self.later
        begins = over[:-1] + (inside[:-1] + self.closed).min(axis=1)
        ends = over[1:] + (inside[1:] + self.closed).min(axis=1)
        found = float((np.minimum(begins, ends) - self.bends[0].clip(0.0) / 4).min())
        for (p, value), bend in zip(self.at_ends, self.bends[1:], strict=True):
            line = over + slope * p + value
            found = min(found, float(bent(line[:-1], line[1:], bend).min()))
        return found


def bent(begins: Floats, ends: Floats, bend: Floats) -> Floats:
    """The least values of quadratic functions on [0, 1] with values at 0 and 1 and leading coefficients ``bend``.

    Examples
    --------
    >>> bent(np.array([0.0, 0.0, 0.0]), np.array([0.0, 2.0, 0.0]), np.array([1.0, 1.0, -1.0])).tolist()
    [-0.25, 0.0, 0.0]
    """
    inside = (bend - np.abs(ends - begins)).clip(0.0)
    least: Floats = np.minimum(begins, ends) - inside**2 / (4 * np.where(inside > 0, bend, 1.0))
    return least


def interpolated(grid: Floats, values: Floats, at: Floats) -> Floats:
    """Values that are linear between points of a grid.

    Examples
    --------
    >>> interpolated(np.array([0.0, 0.5, 1.0]), np.array([0.0, 1.0, 0.0]), np.array([0.25, 1.0])).tolist()
    [0.5, 0.0]
    """
    after = np.searchsorted(grid, at, side="right").clip(1, len(grid) - 1)
    first, last = grid[after - 1], grid[after]
    share = (at - first) / (last - first)
    between: Floats = values[after - 1] + share * (values[after] - values[after - 1])
    return between


def bounds_of(problem: SequenceData, grid: Floats) -> SumBounds | None:
    """The releases of a problem on a grid."""
    stays = Stays.of(np.array(problem.chain.step(0)))
    return None if stays is None else SumBounds(stays, problem.setting(1).cost, problem.epsilon, grid)


def separable_enclosure(
    problem: SequenceData, dual: dict[str, object], seconds: float = math.inf
) -> Enclosure | None:
    """Floats around the upper bound on utility that a separable potential proves, or None."""
    if refuse_separable(problem) is not None:
        return None
    read = _Read.of(problem, dual)
    if read is None:
        return None
    if read.key not in problem.enclosures:
        bounds = bounds_of(problem, read.grid)
        least = None if bounds is None else _least(problem, bounds, read, time.monotonic() + seconds)
        releases = 1 if problem.lasting else problem.span
        if least is None or not abs(least) < LARGEST * releases:
            return None
        mean = float(least / releases)
        problem.keep(read.key, (math.nextafter(-mean, -math.inf), math.nextafter(-mean, math.inf)))
    return problem.enclosures[read.key]


def _least(problem: SequenceData, bounds: SumBounds, read: _Read, until: float) -> Fraction | None:
    """What all releases cost at least, or one of them in the long run; None where time runs out."""
    last = read.values[-1]
    if problem.lasting:
        gain = bounds.excess(last, last, read.releases[-1])
        return Fraction(gain) if math.isfinite(gain) else None
    tables, total = [np.zeros(last.shape), *read.values], Fraction(0)
    left = problem.span - 1 - len(read.values)
    steps = [(*pair, 1) for pair in pairwise(tables)] + ([(last, last, left)] if left else [])
    for (later, aim, times), prices in zip(steps, read.releases, strict=False):
        if time.monotonic() > until:
            return None
        gain = bounds.excess(later, aim, prices)
        if not math.isfinite(gain):
            return None
        total += times * Fraction(gain)
    first = bounds.least(last, read.first, np.array(problem.chain.initial)) if read.first else math.nan
    return total + Fraction(first) if math.isfinite(first) else None


@dataclass(frozen=True, eq=False)
class _Read:
    """A dual whose numbers are of moderate size and fit the problem."""

    grid: Floats
    values: list[Floats]
    releases: list[Prices]
    first: Prices | None
    key: tuple[object, ...]

    @classmethod
    def of(cls, problem: SequenceData, dual: dict[str, object]) -> _Read | None:
        n, m = problem.setting(1).cost.shape
        grid, values, releases = (
            price_row(dual.get("grid"), MAX_POINTS),
            dual.get("values"),
            dual.get("releases"),
        )
        if grid is None or not _sound(grid) or not isinstance(values, list) or not isinstance(releases, list):
            return None
        most = 1 if problem.lasting else min(MAX_TABLES, problem.span - 1)
        if not 1 <= len(values) <= most or len(releases) > len(values) + 1:
            return None
        if n * m * len(grid) ** 2 * len(releases) > MAX_CELLS:
            return None
        if len(releases) < len(values) + (not problem.lasting and problem.span - 1 > len(values)):
            return None
        tables = [_table(rows, n, len(grid)) for rows in values]
        steps = [_prices(each, n, len(grid), m) for each in releases]
        first = None if problem.lasting else _prices(dual.get("first"), n, 1, m)
        known, proofs = [t for t in tables if t is not None], [s for s in steps if s is not None]
        if len(known) < len(tables) or len(proofs) < len(steps) or (first is None and not problem.lasting):
            return None
        arrays = [grid, *known]
        for each in [*proofs, *([] if first is None else [first])]:
            arrays += [each.prices, each.level, each.mean]
        if any(float(np.abs(np.diff(table) / np.diff(grid)).max()) > STEEPEST for table in known):
            return None
        return cls(grid, known, proofs, first, ("separable", *(a.tobytes() for a in arrays)))


def _sound(grid: Floats) -> bool:
    return len(grid) >= 2 and grid[0] == 0.0 and grid[-1] == 1.0 and bool((np.diff(grid) > 2.0**-30).all())


def _table(rows: object, count: int, width: int) -> Floats | None:
    """Rows of finite numbers of moderate size."""
    if not isinstance(rows, list) or len(rows) != count:
        return None
    read = [price_row(row, width) for row in rows]
    known = [row for row in read if row is not None and len(row) == width]
    if len(known) < count:
        return None
    table = np.array(known, dtype=np.float64)
    return table if bool((np.abs(table) <= LARGEST).all()) else None


def _prices(written: object, letters: int, width: int, outputs: int) -> Prices | None:
    if not isinstance(written, dict):
        return None
    fields: dict[str, Any] = written
    prices = _table(fields.get("prices"), letters, width)
    level = _table([fields.get("level")], 1, outputs)
    mean = _table([fields.get("mean", [0.0] * outputs)], 1, outputs)
    return None if prices is None or level is None or mean is None else Prices(prices, level[0], mean[0])
