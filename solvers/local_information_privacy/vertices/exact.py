"""The polytope of posteriors in exact integers: its vertices, and mixtures of them in fractions."""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import combinations, permutations
from typing import Any

import numpy as np

from privopt.arrays import Floats
from privopt.core.exact import ensure_nearest
from privopt.mechanisms import Channel
from privopt.problems.local_information_privacy.problem import LocalInformationPrivacy
from privopt.solvers.local_information_privacy.answer import as_fraction, exact_channel, exact_distribution
from privopt.solvers.local_information_privacy.vertices.mixture import Best

GRID = 10**12
"""e^-lower is rounded up and e^upper down to multiples of 1 / GRID, or of min(1, bound) / GRID for tiny bounds."""

Row = list[int]

Point = list[Fraction]


POSITIVE = 1e-11
"""Entries of a vertex above this belong to its support."""

NEARLY = 1e-9
"""Rows further from tight than this are not tried beyond the number that a vertex needs."""


@dataclass(frozen=True, eq=False)
class ExactPolytope:
    """{v >= 0, sum v = 1, a . z <= 0, b . z = 0} with z_w = v_w / c_w, for integer rows a and b.

    Parameters
    ----------
    unequal, equal : lists of rows of int
    c : row of int
        Positive.
    """

    unequal: list[Row]
    equal: list[Row]
    c: Row

    @cached_property
    def floats(self) -> Floats:
        """The unequal rows as coefficients of v, each divided by its largest."""
        table = [[Fraction(a, q) for a, q in zip(row, self.c, strict=True)] for row in self.unequal]
        scaled = [[float(a / max(map(abs, row))) for a in row] for row in table]
        return np.array(scaled).reshape(len(table), len(self.c))

    def allowed(self, point: Point) -> bool:
        """Whether a point with sum 1 lies in the polytope, exactly."""
        met = [(w, v / self.c[w]) for w, v in enumerate(point) if v]
        scale = math.lcm(*(z.denominator for _, z in met))
        whole = [(w, z.numerator * (scale // z.denominator)) for w, z in met]

        def along(row: Row) -> int:
            return sum(row[w] * z for w, z in whole)

        inside = all(v.numerator >= 0 for v in point) and all(along(row) <= 0 for row in self.unequal)
        return inside and all(along(row) == 0 for row in self.equal)

    def snapped(self, vertex: Floats) -> Point | None:
        """The exact vertex with the same support, as few and as nearly tight rows as determine it; None if not allowed.

        Parameters
        ----------
        vertex : array (k,)
        """
        used = np.flatnonzero(vertex > POSITIVE).tolist()
        away = np.abs(self.floats @ vertex)
        nearest = np.argsort(away, kind="stable").tolist()
        fewest = 0 if self.equal else len(used) - 1
        for count in range(fewest, len(nearest) + 1):
            if count > fewest and away[nearest[count - 1]] > NEARLY:
                return None
            point = self._solved(used, [*self.equal, *(self.unequal[i] for i in nearest[:count])])
            if point is not None and self.allowed(point):
                return point
        return None

    def _solved(self, used: list[int], tight: list[Row]) -> Point | None:
        """The only point on these positions where these rows are 0, or None."""
        if len(used) > len(tight) + 1:
            return None
        c = [self.c[w] for w in used]
        solved = only_point([[row[w] for w in used] for row in tight], c)
        if solved is None:
            return None
        point = [Fraction(0)] * len(self.c)
        for w, q, z in zip(used, c, solved, strict=True):
            point[w] = q * z
        return point


def exact_polytope(problem: LocalInformationPrivacy) -> ExactPolytope:
    """The posteriors that keep the bounds of a problem, on the observations of positive probability.

    The unknowns are z_w = v_w / c_w up to a factor, so that c . z > 0 is the only normalisation. Bounds are rounded
    inwards: all posteriors of this polytope are allowed.
    """
    outer = problem.polytope
    table = [[row[w] for w in outer.support] for row in outer.table]
    c, prior, total = [outer.symbols[w] for w in outer.support], outer.secrets, outer.total
    if problem.notion == "ldp":
        pairs = _ldp_rows(problem, table, prior)
        return ExactPolytope(pairs, [], c) if problem.budget > 0 else ExactPolytope([], pairs, c)
    if problem.measured and problem.beyond:
        return ExactPolytope(_breakable(_total_variation_rows(problem, table, prior, c)), [], c)
    if min(problem.lower, problem.upper) == 0:
        level = [_lip_row(row, p, c, Fraction(1), total) for row, p in zip(table, prior, strict=True)]
        return ExactPolytope([], level, c)
    rows = []
    possible = [problem.levels(s) for s, row in enumerate(problem.table) if any(row)]
    for row, p, (lower, upper) in zip(table, prior, possible, strict=True):
        if upper < math.inf:
            rows.append(_lip_row(row, p, c, exp_inwards(upper), total))
        if lower < math.inf:
            rows.append([-a for a in _lip_row(row, p, c, exp_inwards(-lower), total)])
    return ExactPolytope(_breakable(rows), [], c)


def _lip_row(row: Row, prior: int, c: Row, factor: Fraction, total: int) -> Row:
    """P(s, v) - factor P(s) P(v), in integers: the lift of v at s against a factor."""
    num, den = factor.numerator, factor.denominator
    return [den * total * t - num * prior * q for t, q in zip(row, c, strict=True)]


def _total_variation_rows(
    problem: LocalInformationPrivacy, table: list[Row], prior: Sequence[int], c: Row
) -> Iterator[Row]:
    """P(A, v) - P(A) P(v) <= P(v) epsilon / 2 of every set A of values of the secret, in integers."""
    total, bound = sum(prior), Fraction(problem.budget) / 2
    for size in range(1, len(prior)):
        for members in combinations(range(len(prior)), size):
            of_set = [sum(table[s][w] for s in members) for w in range(len(c))]
            level = bound * total + sum(prior[s] for s in members)
            yield [
                level.denominator * total * t - level.numerator * q for t, q in zip(of_set, c, strict=True)
            ]


def _ldp_rows(problem: LocalInformationPrivacy, table: list[Row], prior: Sequence[int]) -> list[Row]:
    if problem.budget == math.inf:
        return []
    factor = exp_inwards(problem.budget)
    num, den = factor.numerator, factor.denominator
    return _breakable(
        [den * prior[t] * a - num * prior[s] * b for a, b in zip(table[s], table[t], strict=True)]
        for s, t in permutations(range(len(table)), 2)
    )


def _breakable(rows: Iterable[Row]) -> list[Row]:
    return [row for row in rows if any(a > 0 for a in row)]


def exp_inwards(level: float) -> Fraction:
    """A rational just nearer to 1 than e^level, by at most min(1, |level|) / GRID + 1 / GRID^2 beyond rounding.

    Examples
    --------
    >>> float(exp_inwards(0.5)) <= math.exp(0.5), float(exp_inwards(-0.5)) >= math.exp(-0.5)
    (True, True)
    >>> exp_inwards(5e-324) > 1, exp_inwards(700.0) > 10**300
    (True, True)
    """
    from flint import arb, ctx

    grid = GRID * max(1, math.ceil(1 / Fraction(abs(level)))) if level else GRID
    with ctx.workprec(256 + 2 * grid.bit_length() + math.ceil(max(0.0, 1.5 * level))):
        scaled = arb(level).exp() * grid
        ends = scaled.floor() if level > 0 else scaled.ceil()
        return Fraction(int(str(ends.unique_fmpz())), grid)


def rational_vertices(problem: LocalInformationPrivacy) -> list[Point]:
    """The exact vertices on the observations of positive probability, by the Parma Polyhedra Library."""
    import ppl  # type: ignore[import-untyped]

    ensure_nearest()  # some versions of it leave the processor rounding upward
    api: Any = ppl  # its calls have no types
    polytope, points = exact_polytope(problem), []
    c = polytope.c
    unknowns = [api.Variable(i) for i in range(len(c))]
    system = api.Constraint_System()
    for z in unknowns:
        system.insert(z >= 0)
    for row in polytope.unequal:
        system.insert(api.Linear_Expression(row, 0) <= 0)
    for row in polytope.equal:
        system.insert(api.Linear_Expression(row, 0) == 0)
    system.insert(api.Linear_Expression(c, 0) == sum(c))
    for generator in api.C_Polyhedron(system).minimized_generators():
        numbers, divisor = [int(a) for a in generator.coefficients()], int(generator.divisor())
        numbers += [0] * (len(c) - len(numbers))
        points.append([Fraction(a * q, divisor * sum(c)) for a, q in zip(numbers, c, strict=True)])
    return points


def exact_weights(posteriors: Sequence[Point], p: Point) -> list[Fraction] | None:
    """The only weights, perhaps negative, with which these posteriors sum to the distribution; None if there are none or several."""
    m = len(posteriors)
    rows = [[v[w] for v in posteriors] + [q] for w, q in enumerate(p)]
    reduced, rank = reduced_rows(rows)
    if rank != m or any(reduced[i][i] != 1 for i in range(m)):
        return None
    return [reduced[i][m] for i in range(m)]


def reduced_rows(rows: Sequence[Sequence[Fraction]]) -> tuple[list[list[Fraction]], int]:
    """Reduced row echelon form, and the rank, in exact arithmetic."""
    from flint import fmpq, fmpq_mat

    matrix = fmpq_mat([[fmpq(a.numerator, a.denominator) for a in row] for row in rows])
    form, rank = matrix.rref()
    return [[Fraction(int(a.p), int(a.q)) for a in row] for row in form.tolist()], int(rank)


def only_point(rows: Sequence[Row], c: Row) -> Point | None:
    """The only point z with c . z = 1 at which these rows are 0, or None; of a determined system more rows are not read.

    Examples
    --------
    >>> only_point([[1, -2]], [1, 1])
    [Fraction(2, 3), Fraction(1, 3)]
    """
    from flint import fmpz_mat

    n = len(c)
    try:
        z = fmpz_mat([*rows[: n - 1], c]).solve(fmpz_mat(n, 1, [0] * (n - 1) + [1]))
    except ZeroDivisionError:
        system = [[*map(Fraction, row), Fraction(0)] for row in rows]
        reduced, rank = reduced_rows([*system, [*map(Fraction, c), Fraction(1)]])
        unique = rank == n and all(reduced[i][i] == 1 for i in range(n))
        return [row[-1] for row in reduced[:n]] if unique else None
    return [Fraction(int(a.p), int(a.q)) for a in z.entries()]


MAX_SYMBOLS = 60
"""Observations up to which the weights of wide slabs are solved in Fractions."""

MAX_WEIGHED = 24
"""Observations up to which the exact weights of a basis have few digits; beyond, one more release makes up for rounding."""

LOST = Fraction(1, 10**8)
"""Weight of posteriors without an exact form that a patch may replace, where floats are an alternative."""

SHARES = tuple(Fraction(1, 10**k) for k in range(14, 1, -1))
"""What a patch may take from the other releases, least first."""


def exact_seconds(problem: LocalInformationPrivacy) -> float:
    """Predicted seconds of :func:`exact_mixture`: a system for each posterior, and rows of fractions.

    Examples
    --------
    >>> exact_seconds(LocalInformationPrivacy.examples()[0].problem) < 0.1
    True
    """
    n, secrets = len(problem.observation.support), len(problem.observation.p_s)
    return n * (2e-4 * min(n, secrets) + 5e-6 * n)


def exact_mixture(
    problem: LocalInformationPrivacy,
    best: Best,
    vertices: Sequence[Point] | None = None,
    *,
    deadline: float = math.inf,
    lost: Fraction = LOST,
) -> Channel | None:
    """The optimal mixture as a channel of Fractions, or None if nothing near it is exactly allowed.

    The weights of the optimal basis are solved exactly. Where rounding chose a basis whose exact weights are
    not all non-negative, the others are kept and one more release, near the distribution, makes up for what they miss.

    Parameters
    ----------
    problem : LocalInformationPrivacy
    best : Best
        The last of its posteriors is the distribution of the observations.
    vertices : lists of Fraction, optional
        The other posteriors of ``best``, exactly; by default they are solved again from the floats.
    deadline : float
        On the clock of ``time.monotonic()``: past it, posteriors count as if they had no exact form. The likely ones come first.
    lost : Fraction
        Weight of posteriors without an exact form that may be replaced by one more release.
    """
    polytope, p = exact_polytope(problem), exact_distribution(problem)

    def point(i: int) -> Point | None:
        if i == len(best.posteriors) - 1:
            return p
        if time.monotonic() > deadline:
            return None
        return polytope.snapped(best.posteriors[i]) if vertices is None else vertices[i]

    likely = sorted(best.solved.basis.tolist(), key=lambda i: -float(best.solved.weights[i]))
    exact = {i: v for i in likely if (v := point(i)) is not None}
    posteriors = list(exact.values())
    weights = exact_weights(posteriors, p) if len(p) <= MAX_WEIGHED else None
    if weights is not None and min(weights) >= 0:
        return exact_channel(problem, p, weights, posteriors)
    if weights is None:
        weights = [_short(float(best.solved.weights[i]), v) for i, v in exact.items()]
    if sum(weights, Fraction(0)) < 1 - lost:
        return None
    rough = [max(a, Fraction(0)) for a in weights]
    patch = _patched(polytope, rough, posteriors, p)
    return None if patch is None else exact_channel(problem, p, *patch)


def _short(weight: float, posterior: Point) -> Fraction:
    """About the weight, such that weight times posterior has a power of two as its denominator: numbers stay short."""
    scale = math.lcm(*(a.denominator for a in posterior))
    bits = scale.bit_length() + 60
    return Fraction(math.floor(Fraction(weight) / scale * 2**bits) * scale, 2**bits)


def _patched(
    polytope: ExactPolytope, weights: Sequence[Fraction], posteriors: list[Point], p: Point
) -> tuple[list[Fraction], list[Point]] | None:
    """Weights a little smaller, and one more posterior that completes the distribution; by the least share that allows it."""
    average = _average(weights, posteriors, len(p))
    for share in SHARES:
        rest = [q - (1 - share) * a for q, a in zip(p, average, strict=True)]
        total = sum(rest, Fraction(0))
        if total > 0 and polytope.allowed(last := [a / total for a in rest]):
            return [*((1 - share) * a for a in weights), total], [*posteriors, last]
    return None


def _average(weights: Sequence[Fraction], posteriors: Sequence[Point], size: int) -> Point:
    """The weighted sum of posteriors, with quotients of flint: there are many, of long numbers."""
    from flint import fmpq

    sums = [fmpq(0)] * size
    for a, v in zip(weights, posteriors, strict=True):
        share = fmpq(a.numerator, a.denominator)
        for w, q in enumerate(v):
            if q:
                sums[w] += share * fmpq(q.numerator, q.denominator)
    return [as_fraction(q) for q in sums]
