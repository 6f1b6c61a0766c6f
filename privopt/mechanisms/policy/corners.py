"""What releases cost from a belief on, for chains of three and four letters: dynamic programming over corners, estimated.

The state is the posterior r that the last release left, so that the belief over the present letter is b = r P. A release leaves a
posterior p with e^-epsilon b <= p <= e^epsilon b, and b is the mean of the posteriors. With D the distortion and V(p) what later
releases cost, the release y costs D_y . p + V(p). V is concave, and so is that, so the best posteriors are corners of what the
budget allows: all letters but one have their smallest or their largest probability there. For given posteriors the best
probabilities of the releases solve a linear program with a constraint for each letter: as many corners as there are letters
are enough. Where two corners are best by the same release there are two ways out: other releases, or one posterior in
their place, their mean.

V is kept at a grid of posteriors, in the triangulation of Freudenthal, linear within each simplex. Arithmetic is in a fixed order, so
that a policy that looks ahead has the same kernels on every machine. What policies cost at least is proved elsewhere.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, pairwise, permutations, product

import numpy as np

from privopt.arrays import Bools, Floats, Ints
from privopt.core.balls import Balls
from privopt.mechanisms.policy.fixed import total

FLAT = 1e-9
"""Determinants of ratios of corners to a belief below which they lie in a plane with each other."""
LOST = 1e-12
"""Probabilities below 0 by no more than this are 0."""


@dataclass(frozen=True, eq=False)
class Simplex:
    """A grid of distributions whose probabilities are multiples of 1 / ``parts``, with the triangulation of Freudenthal.

    Parameters
    ----------
    letters, parts : int

    Examples
    --------
    >>> grid = Simplex(3, 4)
    >>> len(grid.points)
    15
    >>> corners, shares = grid.around(np.array([[0.3, 0.3, 0.4]]))
    >>> total(grid.points[corners].swapaxes(-1, -2) * shares[:, None, :]).round(9).tolist()
    [[0.3, 0.3, 0.4]]
    """

    letters: int
    parts: int

    @cached_property
    def _sums(self) -> Ints:
        """What the probabilities of each grid point from a letter on add up to, in parts, for all letters but the first."""
        steps = product(range(self.parts + 1), repeat=self.letters - 1)
        return np.array([s for s in steps if all(a >= b for a, b in pairwise(s))])

    @cached_property
    def points(self) -> Floats:
        """The grid, shape (points, letters)."""
        ends = np.zeros((len(self._sums), 1), dtype=np.int64)
        sums = np.concatenate([ends + self.parts, self._sums, ends], axis=1)
        return np.asarray((sums[:, :-1] - sums[:, 1:]) / self.parts)

    @cached_property
    def _places(self) -> Ints:
        places = np.full((self.parts + 1,) * (self.letters - 1), -1)
        places[tuple(self._sums.T)] = np.arange(len(self._sums))
        return places

    def around(self, distributions: Floats) -> tuple[Ints, Floats]:
        """The grid points of the simplex around each distribution, and their shares in it, shapes (..., letters)."""
        sums = np.empty((*distributions.shape[:-1], self.letters - 1))
        above = np.zeros(distributions.shape[:-1])
        for i in range(self.letters - 1, 0, -1):
            above = above + distributions[..., i]
            sums[..., i - 1] = above
        sums = (sums * self.parts).clip(0.0, self.parts)
        base = np.floor(sums).clip(0, self.parts - 1)
        rest = sums - base
        order = np.argsort(-rest, axis=-1, kind="stable")
        falling = np.take_along_axis(rest, order, axis=-1)
        shares = np.concatenate(
            [1.0 - falling[..., :1], falling[..., :-1] - falling[..., 1:], falling[..., -1:]], axis=-1
        )
        at = base.astype(np.int64)
        places = [self._place(at)]
        for i in range(self.letters - 1):
            at = at + (np.arange(self.letters - 1) == order[..., i : i + 1])
            places.append(self._place(at))
        return np.stack(places, axis=-1), shares

    def between(self, values: Floats, distributions: Floats) -> Floats:
        """Values (points,) at the grid, linear in each simplex, at distributions."""
        return _between(values, self.around(distributions))

    def _place(self, sums: Ints) -> Ints:
        """Positions of grid points; rounding may leave one out of order, which is then moved to the next."""
        ordered = np.minimum.accumulate(sums, axis=-1)
        return np.asarray(self._places[tuple(ordered[..., i] for i in range(self.letters - 1))])


@dataclass(frozen=True, eq=False)
class Choice:
    """Which releases are taken after each of some posteriors (M,): the corners, by pattern, and the columns released at them.

    Parameters
    ----------
    patterns, columns : int arrays (M, letters)
        Where the first pattern is -1 nothing is told: the first column is always released.
    """

    patterns: Ints
    columns: Ints


@dataclass(frozen=True, eq=False)
class Corners:
    """Releases at corners, for a chain and a distortion.

    Parameters
    ----------
    moves : array (k, k)
        Transition probabilities.
    cost : array (k, m)
        Distortions. Columns that are equal are messages of the same meaning, which leave different posteriors.
    epsilon : float
        Nats, positive.
    """

    moves: Floats
    cost: Floats
    epsilon: float

    @property
    def letters(self) -> int:
        """How many there are."""
        return len(self.moves)

    @cached_property
    def factors(self) -> tuple[float, float]:
        """Floats not below e^-epsilon and not above e^epsilon: posteriors between them keep the budget."""
        up = float(Balls.exact(self.epsilon).exp().lower)
        return float((-Balls.exact(self.epsilon)).exp().upper), up

    @cached_property
    def patterns(self) -> tuple[Ints, Bools]:
        """The letter that is left free, and which letters have their largest probability, for each pattern."""
        k = self.letters
        free = np.repeat(np.arange(k), 2 ** (k - 1))
        raised = np.zeros((len(free), k), dtype=bool)
        sides = list(product((False, True), repeat=k - 1))
        for row, letter in enumerate(free.tolist()):
            raised[row, [i for i in range(k) if i != letter]] = sides[row % len(sides)]
        return free, raised

    @cached_property
    def kinds(self) -> Ints:
        """The kind of each column: equal ones are messages of one meaning."""
        return np.asarray(np.unique(self.cost, axis=1, return_inverse=True)[1].ravel())

    @cached_property
    def labellings(self) -> Ints:
        """All different columns for as many corners as there are letters, once for each sequence of kinds."""
        seen: dict[tuple[int, ...], tuple[int, ...]] = {}
        for columns in permutations(range(self.cost.shape[1]), self.letters):
            seen.setdefault(tuple(self.kinds[list(columns)].tolist()), columns)
        return np.array(list(seen.values()), dtype=np.int64).reshape(-1, self.letters)

    def alike(self, posteriors: Floats) -> Ints:
        """The best column for each of some posteriors (S, k, k) by itself, shape (S, k): of equal columns each has its own while they last."""
        kinds, columns = self.kinds, np.asarray(self.told(posteriors).argmin(axis=2))
        for i in range(1, self.letters):
            before = (kinds[columns[:, :i]] == kinds[columns[:, i : i + 1]]).sum(axis=1)
            for kind in range(int(kinds.max()) + 1):
                own, here = np.flatnonzero(kinds == kind), kinds[columns[:, i]] == kind
                columns[here, i] = own[np.minimum(before[here], len(own) - 1)]
        return columns

    def cheapest(self, posteriors: Floats, shares: Floats) -> tuple[Floats, Ints]:
        """The least cost (S,) of releases that leave posteriors (S, k, k) with shares (S, k), and their columns (S, k)."""
        each = self.told(posteriors) * shares[..., None]
        least, columns = np.full(len(each), np.inf), np.zeros(shares.shape, dtype=np.int64)
        for labelling in self.labellings:
            cost = total(each[:, np.arange(self.letters), labelling])
            better = cost < least
            least[better], columns[better] = cost[better], labelling
        return least, columns

    def told(self, posteriors: Floats) -> Floats:
        """The distortion of each column at posteriors, shape (..., m)."""
        return total(posteriors[..., None, :] * self.cost.T)

    def posteriors(self, beliefs: Floats, patterns: Ints) -> tuple[Floats, Bools]:
        """Corners (..., letters) for beliefs (..., letters) and patterns (...), and whether the budget allows them."""
        free, raised = (table[patterns] for table in self.patterns)
        low, up = self.factors
        bound = np.where(raised, up * beliefs, low * beliefs)
        left = np.arange(self.letters) == free[..., None]
        rest = 1.0 - total(np.where(left, 0.0, bound))
        own = total(np.where(left, beliefs, 0.0))
        there = (rest >= low * own - LOST) & (rest <= up * own + LOST)
        return np.where(left, rest[..., None], bound), there

    def shares(self, beliefs: Floats, posteriors: Floats) -> tuple[Floats, Bools]:
        """How often each of some posteriors (..., letters, letters), a row each, is left, so that the belief is their mean.

        By Cramer's rule for their ratios to the belief, whose mean is 1 for each letter; False where there is no answer.
        """
        known = beliefs > 0
        lifts = posteriors / np.where(known, beliefs, 1.0)[..., None, :]
        adjugate, whole = inverses(lifts)
        fine = (np.abs(whole) > FLAT) & known.all(axis=-1)
        shares = total(adjugate.swapaxes(-1, -2)) / np.where(fine, whole, 1.0)[..., None]
        return shares.clip(0.0), fine & (shares >= -LOST).all(axis=-1)

    def following(self, posteriors: Floats) -> Floats:
        """The beliefs over the next letter."""
        return np.stack([total(posteriors * self.moves[:, j]) for j in range(self.letters)], axis=-1)

    def before(self, beliefs: Floats) -> Floats:
        """Distributions (M, letters) that beliefs follow, by Cramer's rule; the nearest ones where none has them."""
        adjugate, whole = inverses(self.moves)
        inverse = adjugate / whole
        found = np.stack([total(beliefs * inverse[:, j]) for j in range(self.letters)], axis=-1).clip(0.0)
        return np.asarray(found / total(found)[..., None])


def merged(posteriors: Floats, shares: Floats, columns: Ints) -> Floats:
    """Posteriors (..., k, k) of releases that are columns (..., k): where some are the same, their mean, by their shares."""
    same = (columns[..., :, None] == columns[..., None, :]) * shares[..., None, :]
    whole = total(same)
    weights = same / np.where(whole > 0, whole, 1.0)[..., None]
    sums = np.zeros(posteriors.shape)
    for j in range(posteriors.shape[-2]):
        sums = sums + weights[..., :, j, None] * posteriors[..., j, None, :]
    return np.where((whole > 0)[..., None], sums, posteriors)


def inverses(rows: Floats) -> tuple[Floats, Floats]:
    """Inverses (..., k, k) of small matrices times their determinants, and the determinants (...), in a fixed order; k is 2 or more.

    Each minor is computed once, from those of one row and one column less.

    Examples
    --------
    >>> adjugate, whole = inverses(np.array([[2.0, 0.0, 1.0], [1.0, 3.0, 0.0], [0.0, 1.0, 1.0]]))
    >>> float(whole), adjugate.tolist()
    (7.0, [[3.0, 1.0, -3.0], [-1.0, 2.0, 1.0], [1.0, -2.0, 6.0]])
    """
    k = rows.shape[-1]
    cells = [[np.ascontiguousarray(rows[..., i, j]) for j in range(k)] for i in range(k)]
    known: dict[tuple[tuple[int, ...], tuple[int, ...]], Floats] = {}

    def minor(of: tuple[int, ...], to: tuple[int, ...]) -> Floats:
        if len(of) == 1:
            return cells[of[0]][to[0]]
        if (of, to) not in known:
            found = cells[of[0]][to[0]] * minor(of[1:], to[1:])
            for n in range(1, len(to)):
                product = cells[of[0]][to[n]] * minor(of[1:], to[:n] + to[n + 1 :])
                found = found - product if n % 2 else found + product
            known[of, to] = found
        return known[of, to]

    every = tuple(range(k))
    adjugate = np.empty(rows.shape)
    for i in range(k):
        for j in range(k):
            part = minor(every[:i] + every[i + 1 :], every[:j] + every[j + 1 :])
            adjugate[..., j, i] = -part if (i + j) % 2 else part
    return adjugate, np.asarray(total(rows[..., 0, :] * adjugate[..., :, 0]))


@dataclass(frozen=True, eq=False)
class Steps:
    """Steps of dynamic programming over all choices of corners after the points of a grid.

    Examples
    --------
    >>> moves = np.array([[0.8, 0.1, 0.1], [0.1, 0.8, 0.1], [0.1, 0.1, 0.8]])
    >>> steps = Steps.of(Corners(moves, 1.0 - np.eye(3), 1.0), Simplex(3, 8))
    >>> costs = steps.cost(np.zeros(45))  # of one release, by the posterior before it
    >>> round(float(costs.min()), 4), round(float(costs.max()), 4)
    (0.2, 0.2888)
    """

    corners: Corners
    simplex: Simplex
    owner: Ints
    """The grid point before each set of corners, increasing."""
    patterns: Ints
    shares: Floats
    told: Floats
    """What the best columns for each set of corners cost."""
    columns: Ints
    """These columns, one for each corner."""
    later: tuple[Ints, Floats]
    """Grid points around each corner, and their shares."""
    nothing: tuple[Floats, Ints, tuple[Ints, Floats]]
    """Of releases that say nothing: the cost, the kind of column, and the grid points around."""

    @classmethod
    def of(cls, corners: Corners, simplex: Simplex) -> Steps:
        """All sets of corners around the belief that follows each point of the grid."""
        beliefs, k = corners.following(simplex.points), corners.letters
        count = len(corners.patterns[0])
        points, there = corners.posteriors(beliefs[:, None, :], np.arange(count))
        most = int(there.sum(axis=1).max(initial=k))
        first = np.argsort(~there, axis=1, kind="stable")[:, :most]
        points = np.take_along_axis(points, first[:, :, None], axis=1)
        there = np.take_along_axis(there, first, axis=1)
        sets = np.array(list(combinations(range(most), k)), dtype=np.int64)
        owner, chosen = np.nonzero(there[:, sets].all(axis=2))
        posteriors = points[owner[:, None], sets[chosen]]
        shares, fine = corners.shares(beliefs[owner], posteriors)
        owner, posteriors, shares = owner[fine], posteriors[fine], shares[fine]
        patterns = first[owner[:, None], sets[chosen[fine]]]
        plain = corners.told(beliefs)
        nothing = plain.min(axis=1), plain.argmin(axis=1), simplex.around(beliefs)
        return cls._labelled(corners, simplex, (owner, patterns, posteriors, shares), nothing)

    @classmethod
    def _labelled(
        cls,
        corners: Corners,
        simplex: Simplex,
        sets: tuple[Ints, Ints, Floats, Floats],
        nothing: tuple[Floats, Ints, tuple[Ints, Floats]],
    ) -> Steps:
        """Sets of corners (whose they are, patterns, posteriors, shares) with columns that differ, and where these are the same with the best ones."""
        owner, patterns, posteriors, shares = sets
        told, columns = corners.cheapest(posteriors, shares)
        together = corners.alike(posteriors)
        ordered = np.sort(together, axis=1)
        same = np.flatnonzero((ordered[:, 1:] == ordered[:, :-1]).any(axis=1))
        at = np.concatenate([np.arange(len(owner)), same])
        best = np.take_along_axis(corners.told(posteriors[same]), together[same][..., None], axis=2)[..., 0]
        told = np.concatenate([told, total(best * shares[same])])
        columns = np.concatenate([columns, together[same]])
        left = merged(posteriors[at], shares[at], columns)
        return cls(
            corners,
            simplex,
            owner[at],
            patterns[at],
            shares[at],
            told,
            columns,
            simplex.around(left),
            nothing,
        )

    def cost(self, later: Floats) -> Floats:
        """The least cost after each point of the grid, where what follows costs ``later``."""
        least = self._untold(later)
        np.minimum.at(least, self.owner, self._told(later))
        return least

    def choice(self, later: Floats) -> Choice:
        """The best releases after each point of the grid."""
        own, least, k = self._told(later), self._untold(later), self.corners.letters
        patterns = np.full((len(least), k), -1)
        columns = np.repeat(self.nothing[1][:, None], k, axis=1)
        order = np.lexsort((own, self.owner))
        points, at = np.unique(self.owner[order], return_index=True)
        best = order[at]
        telling = own[best] < least[points]
        patterns[points[telling]] = self.patterns[best[telling]]
        columns[points[telling]] = self.columns[best[telling]]
        return Choice(patterns, columns)

    def _told(self, later: Floats) -> Floats:
        """The cost of each set of corners with all that follows."""
        return np.asarray(self.told + total(self.shares * _between(later, self.later)))

    def _untold(self, later: Floats) -> Floats:
        """The cost of a release that says nothing, after each point of the grid."""
        return np.asarray(self.nothing[0] + _between(later, self.nothing[2]))


def _between(values: Floats, around: tuple[Ints, Floats]) -> Floats:
    """Values between grid points."""
    places, shares = around
    return total(values[places] * shares)
