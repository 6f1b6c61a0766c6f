"""What a release leaks over a set of joints, in float64: the extremes of :mod:`privopt.problems.robust`, many columns at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from privopt.arrays import Bools, Floats
from privopt.models.ambiguity.joint import JointAmbiguity
from privopt.models.ambiguity.row_set import RowSet
from privopt.problems.robust import possible_secrets


@dataclass(frozen=True, eq=False)
class RowReader:
    """The smallest and the largest expectations over a set of distributions, in floats."""

    kind: str
    lower: Floats
    slack: Floats
    left: float
    center: Floats
    radius: float

    @classmethod
    def of(cls, row: RowSet) -> RowReader:
        """Of a set.

        Examples
        --------
        >>> reader = RowReader.of(RowSet.total_variation([0.5, 0.25, 0.25], 0.25))
        >>> [ends.tolist() for ends in reader.ends(np.array([[1.0], [2.0], [3.0]]))]
        [[1.25], [2.25]]
        """
        slack = [float(b - a) for a, b in zip(row.lower, row.upper, strict=True)]
        return cls(
            row.kind, np.array([float(v) for v in row.lower]), np.array(slack), float(1 - sum(row.lower)),
            np.array([float(v) for v in row.center]), float(row.radius),
        )  # fmt: skip

    def ends(self, values: Floats) -> tuple[Floats, Floats]:
        """For each column of values, shape (n, k), the two expectations, shape (k,) each."""
        order = np.argsort(values, axis=0, kind="stable")
        ranked = np.take_along_axis(values, order, axis=0)
        return self.ranked(values, order, ranked)

    def ranked(self, values: Floats, order: NDArray[np.intp], ranked: Floats) -> tuple[Floats, Floats]:
        """The same where the order of each column is known."""
        if self.kind == "all":
            return ranked[0], ranked[-1]
        if self.kind == "chi2":
            return -_largest_chi2(self.center[order[::-1]], -ranked[::-1], self.radius), _largest_chi2(
                self.center[order], ranked, self.radius
            )
        up, down = slice(None, None, -1), slice(None)
        if self.kind == "interval":
            base, slack = self.lower @ values, self.slack[order]
            low, high = (
                base + (_filled(slack[way], self.left) * ranked[way]).sum(axis=0) for way in (down, up)
            )
            return low, high
        center = self.center[order]
        return self._moved(center[up], ranked[up]), self._moved(center, ranked)

    def farthest(self, values: Floats) -> Floats:
        """A distribution of the set with the largest expectation of values, or one for each column of them; the center for "chi2".

        Examples
        --------
        >>> RowReader.of(RowSet.total_variation([0.5, 0.25, 0.25], 0.25)).farthest(np.array([1.0, 2.0, 3.0])).tolist()
        [0.25, 0.25, 0.5]
        """
        if self.kind == "chi2":
            return np.broadcast_to(self.center, values.T.shape).T
        order = np.argsort(values, axis=0, kind="stable")
        rows, best = np.zeros(values.shape), order[-1:]
        if self.kind == "all":
            np.put_along_axis(rows, best, 1.0, axis=0)
        elif self.kind == "interval":
            rising = order[::-1]
            np.put_along_axis(rows, rising, _filled(self.slack[rising], self.left), axis=0)
            return np.asarray((self.lower + rows.T).T)
        else:
            kept = self.center[order] - _filled(self.center[order], self.radius)
            kept[-1] += 1.0 - kept.sum(axis=0)
            np.put_along_axis(rows, order, kept, axis=0)
        return rows

    def _moved(self, center: Floats, ranked: Floats) -> Floats:
        """The expectation once the first values have given their mass to the last one."""
        gone = _filled(center, self.radius)
        return np.asarray(((center - gone) * ranked).sum(axis=0) + gone.sum(axis=0) * ranked[-1])


def _filled(room: Floats, amount: float) -> Floats:
    """What goes into each place, shape (n, k), when an amount fills them from the first on."""
    before = np.cumsum(room, axis=0) - room
    return np.asarray(np.clip(amount - before, 0.0, room))


def _largest_chi2(center: Floats, ranked: Floats, radius: float) -> Floats:
    """The largest expectation over a chi-squared ball of values in rising order; the least ones are pressed to 0 one by one."""
    shift = ranked.mean(axis=0)
    v = ranked - shift

    def onwards(terms: Floats) -> Floats:
        return np.cumsum(terms[::-1], axis=0)[::-1]

    mass = np.maximum(onwards(center), 1e-300)
    mean = onwards(center * v) / mass
    variance = np.maximum(onwards(center * v * v) / mass - mean**2, 0.0)
    room = radius**2 - (1 - mass) / mass
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        negative = room / (mass * variance) * (mean - v) ** 2 > 1 / mass**2
    first = np.argmax((center > 0) & ~(negative & (variance > 1e-18)), axis=0)[None, :]
    mass, mean, variance = (np.take_along_axis(a, first, axis=0)[0] for a in (mass, mean, variance))
    with np.errstate(over="ignore"):  # no expectation is above the largest value
        spread = np.sqrt(np.maximum(variance * (mass * (radius**2 + 1) - 1), 0.0))
    return np.asarray(np.minimum(shift + mean + spread, ranked[-1]))


@dataclass(frozen=True, eq=False)
class Spread:
    """For each value of the secret and each column the ratios that bounds are on: numerators and denominators, shape (n_s, k).

    ``rise`` is the probability of the release given the value over its least one; ``fall`` the largest one over that.
    For "ldp" the rise is against the other values, and there is no fall.
    """

    rise: tuple[Floats, Floats]
    fall: tuple[Floats, Floats] | None
    used: Bools

    def levels(self) -> tuple[Floats, Floats]:
        """Logarithms of both ratios, at least 0; 0 where the release or the value never occurs."""
        levels = [_logs(*pair, self.used) for pair in (self.rise, self.fall) if pair is not None]
        return levels[0], levels[1] if self.fall is not None else np.zeros_like(levels[0])

    def shares(self, mixed: Floats, levels: tuple[float, float]) -> Floats:
        """For each column the largest weight of it in a mixture with the constant ``mixed`` that keeps the levels.

        Extremes are linear in the column, and that of a constant is the constant, so that each bound is linear in the weight.
        """
        kept = np.ones(len(mixed))
        for pair, level in zip((self.rise, self.fall), levels, strict=True):
            if pair is None or level > 700:
                continue
            room = np.expm1(level)
            need = (pair[0] - mixed) - (room + 1.0) * (pair[1] - mixed)
            over = self.used & (pair[0] > (room + 1.0) * pair[1])
            positive = np.where(need > 0, need, 1.0)
            shares = np.where(over, np.minimum(room * mixed, positive) / positive, 1.0)
            kept = np.minimum(kept, shares.min(axis=0, initial=1.0))
        return kept


def _logs(up: Floats, down: Floats, used: Bools) -> Floats:
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = np.log(up.astype(np.longdouble) / down.astype(np.longdouble)).astype(np.float64)
    return np.where(used & (up > 0), np.maximum(np.nan_to_num(ratios, nan=0.0, posinf=np.inf), 0.0), 0.0)


@dataclass(frozen=True, eq=False)
class SetReader:
    """The extremes over a set of joints, in floats."""

    rows: Sequence[RowReader]
    prior: RowReader
    possible: Bools

    @classmethod
    def of(cls, ambiguity: JointAmbiguity) -> SetReader:
        """Of a set."""
        possible = np.zeros(len(ambiguity.rows), dtype=np.bool_)
        possible[possible_secrets(ambiguity)] = True
        return cls([RowReader.of(row) for row in ambiguity.rows], RowReader.of(ambiguity.prior), possible)

    def extremes(self, columns: Floats) -> tuple[Floats, Floats]:
        """The smallest and the largest P(y | s) of columns P(y | x), shape (n_x, k); shapes (n_s, k)."""
        order = np.argsort(columns, axis=0, kind="stable")
        ranked = np.take_along_axis(columns, order, axis=0)
        ends = [row.ranked(columns, order, ranked) for row in self.rows]
        return np.array([low for low, _ in ends]), np.array([high for _, high in ends])

    def spread(self, columns: Floats, notion: str) -> Spread:
        """The ratios of columns."""
        low, high = self.extremes(columns)
        occurs = np.asarray((high[self.possible] > 0).any(axis=0))
        used = np.asarray(self.possible[:, None] & occurs[None, :])
        if notion == "ldp":
            return Spread((high, self._least_other(low)), None, used)
        least, most = np.empty_like(low), np.empty_like(low)
        for s in range(len(low)):
            rising, falling = low.copy(), high.copy()
            rising[s], falling[s] = high[s], low[s]
            least[s], most[s] = self.prior.ends(rising)[0], self.prior.ends(falling)[1]
        return Spread((high, least), (most, low), used)

    def slopes(self, column: Floats, secret: int, notion: str, factor: float, *, rising: bool) -> Floats:
        """What multiplies the entries of one column in the bound of one value, at the joint where that is closest: shape (n_x,).

        The bound is ``rise <= factor * least`` where the probability rises, else ``most <= factor * fall``; see :class:`Spread`.
        Not for sets of kind "chi2".
        """
        own = self.rows[secret].farthest(column if rising else -column)
        others = [row.farthest(-column if rising else column) for row in self.rows]
        reached = np.array([row @ column for row in others])
        if notion == "ldp":
            reached[~self.possible] = np.inf
            reached[secret] = np.inf
            return np.asarray(own - factor * others[int(np.argmin(reached))])
        reached[secret] = own @ column
        others[secret] = own
        prior = self.prior.farthest(-reached if rising else reached)
        mixed = prior @ np.array(others)
        return np.asarray(own - factor * mixed if rising else mixed - factor * own)

    def _least_other(self, low: Floats) -> Floats:
        """For each value the least of the other possible ones; its own where there is no other."""
        kept = np.where(self.possible[:, None], low, np.inf)
        least = np.array([np.delete(kept, s, axis=0).min(axis=0, initial=np.inf) for s in range(len(low))])
        return np.where(np.isfinite(least), least, np.inf)
