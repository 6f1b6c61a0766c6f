"""The polytope of posteriors in exact integers, its vertices and the weights of a mixture."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from privopt.problems.local_information_privacy.problem import LocalInformationPrivacy

GRID = 10**12
"""e^-lower is rounded up and e^upper down to multiples of 1 / GRID, or of min(1, bound) / GRID for tiny bounds."""

Row = list[int]
Point = list[Fraction]


def integer_rows(problem: LocalInformationPrivacy) -> tuple[list[Row], list[Row], Row]:
    """Integer rows a of a . z <= 0, of a . z = 0, and the weights c of the observations.

    The unknowns are z_w = v_w / c_w for the observations of positive probability, up to a factor, so that c . z > 0
    is the only normalisation. Bounds are rounded inwards: all posteriors of this polytope are allowed.
    """
    joint = problem.observation.leaking
    n, support = len(joint.useful), problem.observation.support.tolist()
    whole = [joint.exact.weights[i : i + n] for i in range(0, len(joint.exact.weights), n)]
    table = [[row[w] for w in support] for row in whole if sum(row)]
    c = [sum(column) for column in zip(*table, strict=True)]
    prior, total = [sum(row) for row in table], joint.exact.total
    if problem.notion == "ldp":
        pairs = _ldp(problem, table, prior)
        return (pairs, [], c) if problem.budget > 0 else ([], pairs, c)
    if min(problem.lower, problem.upper) == 0:
        level = [_row(row, p, c, Fraction(1), total) for row, p in zip(table, prior, strict=True)]
        return [], level, c
    found = []
    for row, p in zip(table, prior, strict=True):
        if problem.upper < math.inf:
            found.append(_row(row, p, c, exp_inwards(problem.upper), total))
        if problem.lower < math.inf:
            found.append([-a for a in _row(row, p, c, exp_inwards(-problem.lower), total)])
    return [row for row in found if any(a > 0 for a in row)], [], c


def _row(row: Row, prior: int, c: Row, factor: Fraction, total: int) -> Row:
    """P(s, v) - factor P(s) P(v), in integers: the lift of v at s against a factor."""
    num, den = factor.numerator, factor.denominator
    return [den * total * t - num * prior * q for t, q in zip(row, c, strict=True)]


def _ldp(problem: LocalInformationPrivacy, table: list[Row], prior: Row) -> list[Row]:
    if problem.budget == math.inf:
        return []
    factor = exp_inwards(problem.budget)
    num, den = factor.numerator, factor.denominator
    found = [
        [den * prior[t] * a - num * prior[s] * b for a, b in zip(table[s], table[t], strict=True)]
        for s in range(len(table))
        for t in range(len(table))
        if s != t
    ]
    return [row for row in found if any(a > 0 for a in row)]


def exp_inwards(level: float) -> Fraction:
    """A rational just nearer to 1 than e^level, by at most min(1, |level|) / GRID + 1 / GRID^2 beyond rounding.

    Examples
    --------
    >>> float(exp_inwards(0.5)) <= math.exp(0.5), float(exp_inwards(-0.5)) >= math.exp(-0.5)
    (True, True)
    """
    from flint import arb, ctx

    grid = GRID * max(1, math.ceil(1 / abs(level))) if level else GRID
    kept = ctx.prec
    ctx.prec = 256
    try:
        scaled = arb(level).exp() * grid
        ends = scaled.floor() if level > 0 else scaled.ceil()
        return Fraction(int(str(ends.unique_fmpz())), grid)
    finally:
        ctx.prec = kept


def rational_vertices(problem: LocalInformationPrivacy) -> list[Point]:
    """The exact vertices on the observations of positive probability, by the Parma Polyhedra Library."""
    import ppl  # type: ignore[import-untyped]

    api: Any = ppl  # its calls have no types
    unequal, equal, c = integer_rows(problem)
    unknowns = [api.Variable(i) for i in range(len(c))]
    system = api.Constraint_System()
    for z in unknowns:
        system.insert(z >= 0)
    for row in unequal:
        system.insert(api.Linear_Expression(row, 0) <= 0)
    for row in equal:
        system.insert(api.Linear_Expression(row, 0) == 0)
    system.insert(api.Linear_Expression(c, 0) == sum(c))
    found = []
    for generator in api.C_Polyhedron(system).minimized_generators():
        numbers, divisor = [int(a) for a in generator.coefficients()], int(generator.divisor())
        numbers += [0] * (len(c) - len(numbers))
        found.append([Fraction(a * q, divisor * sum(c)) for a, q in zip(numbers, c, strict=True)])
    return found


def exact_weights(posteriors: Sequence[Point], law: Point) -> list[Fraction] | None:
    """The only weights, perhaps negative, with which these posteriors sum to the law; None if there are none or several."""
    m = len(posteriors)
    rows = [[v[w] for v in posteriors] + [q] for w, q in enumerate(law)]
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
