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

**Intervals.** h_x and k_i are linear between the points of a grid. Cut the numbers r_i at the grid and where lo or hi passes a
point of it, and let prices be linear between the cuts. Between two cuts lo is replaced by a line that is below it, and hi by a line
above it; where a line would pass a point of the grid it ends there, farther out. So the least p_x is a point of the grid between the lines,
the same ones in the whole interval, or on one of the lines. Each of these candidates costs a quadratic function of r_i with leading coefficient
(lam' - lam) ((b' - b) - (p' - p)), at least what is linear between its ends less a quarter of that where it is positive.

**Rounding.** Cuts, prices at the cuts and ends of lines are whatever floats are computed. Everything that follows from them is in
balls, or rounded downward at every operation, with the chain as the exact rational value of its floats; sums over letters are exact.

The dual is ``{"kind": "separable", "grid": [...], "values": [tables], "releases": [prices], "first": prices}``: a table has a row for
each letter. The first release of the list proves the first table for the last letter, the next one the second table from the first, and the one
after the last table that table from itself. Prices are ``{"prices": table, "level": s, "mean": nu}``, of ``first`` a row, without a mean.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np

from privopt.arrays import Bools, Floats, Ints
from privopt.core.balls import ETA, Balls, U, below
from privopt.core.problem import Enclosure
from privopt.mechanisms.policy.ahead import interpolated
from privopt.problems.belief_release.bound import price_row
from privopt.problems.sequence_information_privacy.data import SequenceData, refuse_words
from privopt.problems.sequence_information_privacy.lines import (
    FAR,
    bent,
    ends_of,
    factors_of,
    held,
    least_total,
    line_below,
)

MAX_LETTERS = 64
MAX_OUTPUTS = 64
MAX_EPSILON = 8.0
MAX_POINTS = 1025
MAX_TABLES = 64
MAX_CELLS = 2**27
"""States times releases times pairs of points of the grid, over all tables."""
LARGEST = 2.0**20
"""Of prices and values."""
SAME = 2.0**-40
"""How far the moves of a chain may be from the pattern."""
LEAST_INFLUENCE = 1e-6


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
        stays = np.zeros((n, n))
        stays[np.arange(n), own] = stay
        pattern = Balls.exact(np.tile(fresh, (n, 1))) + Balls.exact(stays)
        off = float(abs(Balls(moves, moves * U + ETA) - pattern).upper.max())
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
    >>> prices, even = Prices(np.zeros((2, 1)), np.zeros(2), np.zeros(2)), Balls.exact([0.5, 0.5])
    >>> round(bounds.least(np.zeros((2, 3)), prices, even), 4)  # a release of 1/(2e) at least
    0.1839
    """

    stays: Stays
    cost: Floats
    epsilon: float
    grid: Floats

    @cached_property
    def factors(self) -> tuple[float, float]:
        """Floats not above e^-epsilon and not below e^epsilon."""
        return factors_of(self.epsilon)

    def box(self, beliefs: Floats) -> tuple[Floats, Floats]:
        """Around the least and the largest posterior of a letter by its belief (C,)."""
        under, over = ends_of(self.factors, Balls.exact(beliefs))
        return under.max(axis=0).clip(0.0, 1.0), over.min(axis=0).clip(0.0, 1.0)

    def cuts(self, begin: float) -> Floats:
        """Posteriors of a state at which an interval begins or ends; ``begin`` is how likely its letter is from elsewhere.

        Ends pass points of the grid a little before or after, so that rounding does not move them back.
        """
        (low, up), z = self.factors, self.grid
        half, pad = 1.0 / (1.0 + up), up * (2.0**-49 + 2 * self.stays.off)
        under, over = z + pad, z - pad
        beliefs = np.concatenate([
            np.minimum(under / low, 1.0 - (1.0 - under) / up),
            np.maximum(over / up, 1.0 - (1.0 - over) / low),
            [half, 1.0 - half],
        ])  # fmt: skip
        inner = (beliefs - begin) / self.stays.stay
        return np.unique(np.concatenate([z, inner[(inner > 0.0) & (inner < 1.0)]]))

    def excess(self, later: Floats, aim: Floats, prices: Prices) -> float:
        """How much a release and the potential ``later`` (n, K) cost at least above the potential ``aim`` (n, K) before it."""
        own, (n, m) = self.stays.own, self.cost.shape
        least = np.empty((n, m))
        for states in self._alike(later, aim, prices):
            i = states[0]
            held = _Intervals.of(self, i, later[own[i]], aim[i], prices.prices[i])
            asked = np.empty((len(states), m, 3))
            asked[...] = np.stack([np.zeros(m), prices.level, prices.mean], axis=1)
            asked[:, :, 0] = self.cost[own[states]]
            distinct, back = np.unique(asked.reshape(-1, 3), axis=0, return_inverse=True)
            found = np.array([held.least(*row) for row in distinct.tolist()])
            least[states] = found[back.ravel()].reshape(len(states), m)
        return least_total(np.vstack([prices.level, prices.mean, least]))

    def _alike(self, later: Floats, aim: Floats, prices: Prices) -> list[list[int]]:
        """States that have the same intervals and potentials."""
        groups: dict[tuple[float, bytes], list[int]] = {}
        for i, x in enumerate(self.stays.own.tolist()):
            rows = np.concatenate([later[x], aim[i], prices.prices[i]])
            groups.setdefault((float(self.stays.fresh[x]), rows.tobytes()), []).append(i)
        return list(groups.values())

    def least(self, later: Floats, prices: Prices, belief: Balls) -> float:
        """A lower bound on the cost of a release at one belief (n,) and of the potential after it; prices are by letter."""
        under, over = ends_of(self.factors, belief)
        low, high = under.max(axis=0), over.min(axis=0)
        level, lam = Balls.exact(prices.level), Balls.exact(prices.prices[:, 0])
        least = np.empty(self.cost.shape)
        for x in range(len(least)):
            inside = self.grid[1:-1][(self.grid[1:-1] > low[x]) & (self.grid[1:-1] < high[x])]
            points = np.concatenate([inside, [low[x], high[x]]])
            slopes = Balls.exact(self.cost[x]) - level - lam[x]
            charged = slopes.reshape(-1, 1) * points + held(self.grid, later[x], points)
            least[x] = charged.lower.min(axis=1)
        paid = np.broadcast_to((lam * belief).lower[:, None], least.shape)
        return least_total(np.vstack([prices.level, paid, least]))


@dataclass(frozen=True, eq=False)
class _Intervals:
    """Intervals between posteriors ``r`` (C,) of a state; ``held`` of what follows, and prices (C,)."""

    r: Floats
    grid: Floats
    later: Floats
    prices: Floats
    owed: Balls
    """Prices of the belief less the potential before."""
    inner: Bools
    """Which inner points of the grid are posteriors, (C - 1, K - 2)."""
    lines: Floats
    """A line below the posteriors and one above them, (2, 2, C - 1), with ends."""
    at_lines: Balls
    """What they cost later."""
    bends: Floats
    """At least the leading coefficients of a point of the grid, and of both lines, (3, C - 1)."""

    @classmethod
    def of(cls, bounds: SumBounds, i: int, later: Floats, aim: Floats, prices: Floats) -> _Intervals:
        """Those of state i, whose letter costs ``later``, with prices on the grid."""
        z, begin = bounds.grid, float(bounds.stays.fresh[bounds.stays.own[i]])
        r = bounds.cuts(begin)
        lam = interpolated(z, prices, r)
        belief = Balls.exact(begin) + Balls.exact(bounds.stays.stay) * r
        off = Balls(np.zeros(len(r)), np.full(len(r), bounds.stays.off))
        low, high = ends_of(bounds.factors, belief + off)
        under, over = line_below(low, z), -line_below(-high, -z[::-1])
        lines = np.stack([under, over])
        inner = (z[1:-1] > under.min(axis=0)[:, None]) & (z[1:-1] < over.max(axis=0)[:, None])
        rise = Balls.exact(lam[1:]) - lam[:-1]
        wide = Balls.exact(bounds.stays.stay) * (Balls.exact(r[1:]) - r[:-1])
        far = Balls.exact(lines[:, 1]) - lines[:, 0]
        bends = np.concatenate([(rise * wide).upper[None], (rise * (wide - far)).upper])
        owed = Balls.exact(lam) * (belief + off) - held(z, aim, r)
        return cls(r, z, later, lam, owed, inner, lines, held(z, later, lines), bends)

    def least(self, cost: float, level: float, mean: float) -> float:
        """At most the least (cost - level - price) p + later(p) + price b - aim - mean r, over all intervals and posteriors p."""
        slope = Balls.exact(cost) - level - self.prices
        over = self.owed - Balls.exact(mean) * self.r
        inside = below(below(slope.lower[:, None] * self.grid[1:-1]) + self.later[1:-1])
        begins, ends = (
            np.where(self.inner, at, FAR).min(axis=1, initial=FAR) for at in (inside[:-1], inside[1:])
        )
        begins, ends = below(begins + over.lower[:-1]), below(ends + over.lower[1:])
        found = float(below(np.minimum(begins, ends) - self.bends[0].clip(0.0) / 4).min())
        begins = (over[:-1] + slope[:-1] * self.lines[:, 0] + self.at_lines[:, 0]).lower
        ends = (over[1:] + slope[1:] * self.lines[:, 1] + self.at_lines[:, 1]).lower
        return min(found, float(bent(begins, ends, self.bends[1:]).min()))


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
    exact = problem.chain.exact_initial
    belief = Balls.fractions(map(exact.fraction, range(problem.chain.k)))
    first = bounds.least(last, read.first, belief) if read.first else math.nan
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
