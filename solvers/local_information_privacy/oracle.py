"""The reference optimum of tiny problems by brute force: every support and every tight set, in exact fractions."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations, product
from typing import ClassVar

import numpy as np

from privopt.core.registry import register
from privopt.core.solver import Budget, Guarantee, Proposal, Solver
from privopt.problems.local_information_privacy.data import FURTHER_ROWS
from privopt.problems.local_information_privacy.problem import LocalInformationPrivacy

MAX_SYSTEMS = 6000
LARGEST = 700.0
"""Systems of equations solved in Fractions."""

Row = list[Fraction]


@register
@dataclass(frozen=True)
class Oracle(Solver[LocalInformationPrivacy]):
    """Every posterior with enough tight constraints, one Gaussian elimination each in Fractions, then HiGHS.

    Takes the constraints as the definition writes them, idle ones too, and shares no code with the other solvers.
    """

    solves: ClassVar = LocalInformationPrivacy
    name: ClassVar[str] = "oracle"
    handles: ClassVar[frozenset[str]] = frozenset({FURTHER_ROWS})
    guaranteed: ClassVar[Guarantee | None] = Guarantee.ORACLE
    """Brute force."""

    def cost(self, problem: LocalInformationPrivacy) -> float:
        """Linear in the systems of equations."""
        return 0.1 + 3e-4 * _systems(problem)

    def refuse(self, problem: LocalInformationPrivacy) -> str | None:
        """Refuse delta > 0, a budget of 0 and more than a few symbols."""
        if problem.delta > 0:
            return "it keeps every bound, this problem allows them to be broken (delta > 0)"
        if min(problem.lower, problem.upper) == 0 or any(0 in levels for levels in problem.per_value or ()):
            return "its weights are floats, which cannot make a release exactly independent of the secret"
        levels = [x for x in (problem.lower, problem.upper) if x < math.inf]
        if max(levels, default=0.0) > LARGEST:
            return f"e to the power of {max(levels):g} nats is no float: at most {LARGEST:g}"
        if (count := _systems(problem)) > MAX_SYSTEMS:
            said = f"about 1e{int(math.log10(count))}" if count > MAX_SYSTEMS**2 else str(count)
            return f"it would solve {said} systems in fractions, more than {MAX_SYSTEMS}"
        return None

    def run(self, problem: LocalInformationPrivacy, budget: Budget) -> Proposal:
        """Propose the best mixture of all vertices."""
        from scipy.optimize import linprog

        exact, rows = _distribution(problem), _rows(problem)
        corners: set[tuple[Fraction, ...]] = set()
        for vertex in _vertices(rows, len(exact)):
            corners.add(vertex)
            if budget.remaining == 0:
                break
        table = np.array([[float(a) for a in v] for v in sorted(corners)] + [[float(q) for q in exact]])
        price = [_cost(problem, v) for v in table]
        p = np.array([float(q) for q in exact])
        best = linprog(price, A_eq=table.T, b_eq=p, method="highs")
        if best.x is None:
            return Proposal(stats={"stop": "HiGHS ended without an answer"})
        return Proposal(
            problem.answer(_matrix(problem, np.array(best.x), table, p)),
            stats={"iterations": 1, "vertices": len(corners), "stop": "every tight set tried"},
        )


def _distribution(problem: LocalInformationPrivacy) -> Row:
    """Exact distribution of the observations of positive probability."""
    return [q for column in zip(*_table(problem), strict=True) if (q := sum(column, Fraction(0)))]


def _table(problem: LocalInformationPrivacy) -> list[Row]:
    exact, n = problem.observation.leaking.exact, len(problem.observation.observed)
    cells = [Fraction(w, exact.total) for w in exact.weights]
    return [cells[i : i + n] for i in range(0, len(cells), n)]


def _rows(problem: LocalInformationPrivacy) -> list[Row]:
    """Linear forms that must be <= 0 at a posterior; e^level is the float nearest to it, an ulp nearer to 1."""
    table = _table(problem)
    p_w = [sum(column) for column in zip(*table, strict=True)]
    p_s = [sum(row) for row in table]
    lifts = [
        [a / q / p for a, q in zip(row, p_w, strict=True) if q]
        for row, p in zip(table, p_s, strict=True)
        if p
    ]
    if problem.notion == "ldp":
        r = Fraction(math.nextafter(math.exp(problem.budget), 1.0)) if problem.budget < math.inf else None
        pairs = [(a, b) for a in lifts for b in lifts if a is not b] if r is not None else []
        return [[x - (r or 1) * y for x, y in zip(a, b, strict=True)] for a, b in pairs]
    if problem.measured:
        return [
            _signed(signs, [Fraction(p) for p in p_s if p], lifts, problem.budget)
            for signs in product((1, -1), repeat=len(lifts))
        ]
    rows: list[Row] = []
    possible = [problem.levels(s) for s, p in enumerate(p_s) if p]
    for row, (lower, upper) in zip(lifts, possible, strict=True):
        if upper < math.inf:
            top = Fraction(math.nextafter(math.exp(upper), 1.0))
            rows.append([x - top for x in row])
        if lower < math.inf:
            low = Fraction(math.nextafter(math.exp(-lower), 1.0))
            rows.append([low - x for x in row])
    return rows


def _signed(signs: tuple[int, ...], p_s: Row, lifts: list[Row], bound: float) -> Row:
    """Sum of +-P(s) (lift - 1) less the bound: one of the linear forms whose largest is an absolute sum."""
    terms = [[sign * p * (x - 1) for x in row] for sign, p, row in zip(signs, p_s, lifts, strict=True)]
    return [sum(column, Fraction(0)) - Fraction(bound) for column in zip(*terms, strict=True)]


def _systems(problem: LocalInformationPrivacy) -> int:
    """Supports of k observations times sets of k - 1 rows, k at most one more than the values of S."""
    s = int((problem.observation.p_s > 0).sum())
    n = len(problem.observation.support)
    if problem.notion == "ldp":
        rows = s * (s - 1) * (problem.budget < math.inf)
    elif problem.measured:
        rows = 2**s
    else:
        rows = sum(level < math.inf for v in range(len(problem.table)) for level in problem.levels(v))
    return sum(math.comb(n, k) * math.comb(rows, k - 1) for k in range(1, min(n, rows + 1) + 1))


def _vertices(rows: list[Row], n: int) -> Iterator[tuple[Fraction, ...]]:
    for k in range(1, min(n, len(rows) + 1) + 1):
        for support in combinations(range(n), k):
            for tight in combinations(rows, k - 1):
                part = _solution([[row[i] for i in support] for row in tight])
                if part is None or min(part) < 0:
                    continue
                v = [Fraction(0)] * n
                for i, a in zip(support, part, strict=True):
                    v[i] = a
                if all(sum(a * b for a, b in zip(row, v, strict=True)) <= 0 for row in rows):
                    yield tuple(v)


def _solution(rows: list[Row]) -> Row | None:
    """The only solution of ``rows v = 0`` with sum 1, by Gauss and Jordan; None if there is not exactly one."""
    k = len(rows) + 1
    system = [[Fraction(1)] * (k + 1)] + [[*row, Fraction(0)] for row in rows]
    for column in range(k):
        pivot = next((i for i in range(column, k) if system[i][column]), None)
        if pivot is None:
            return None
        system[column], system[pivot] = system[pivot], system[column]
        scale = system[column][column]
        system[column] = [a / scale for a in system[column]]
        for i in range(k):
            if i != column and (factor := system[i][column]):
                system[i] = [a - factor * b for a, b in zip(system[i], system[column], strict=True)]
    return [row[-1] for row in system]


def _cost(problem: LocalInformationPrivacy, posterior: np.ndarray) -> float:
    """Entropy of X, least distortion, or the user's cost, from a posterior of the observation."""
    observed = problem.observation
    of_x = observed.x_given_w[:, observed.support] @ posterior
    if problem.matrix is not None:
        return float(min(of_x @ problem.matrix))
    if problem.cost is not None:
        return float(problem.cost(of_x))
    return -math.fsum(a * math.log(a) for a in of_x.tolist() if a > 0)


def _matrix(
    problem: LocalInformationPrivacy, weights: np.ndarray, table: np.ndarray, p: np.ndarray
) -> np.ndarray:
    """P(y | w): a column a vertex in use, or, for a distortion, the column of the matrix that is best for it."""
    used = np.flatnonzero(weights > 1e-14)
    joint = (weights[used, None] * table[used]).T
    observed = problem.observation
    if problem.matrix is not None:
        best = (table[used] @ observed.x_given_w[:, observed.support].T @ problem.matrix).argmin(axis=1)
        joint = joint @ np.eye(problem.matrix.shape[1])[best]
    matrix = np.tile(joint.sum(axis=0) / joint.sum(), (len(observed.p_w), 1))
    shares = joint.sum(axis=1)
    matrix[observed.support[shares > 0]] = joint[shares > 0] / shares[shares > 0, None]
    return matrix
