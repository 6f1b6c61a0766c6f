"""What a proof file of the kind "linear" claims, decided from the definitions: decimals of 120 digits and a linear program in floats.

Nothing of the library is imported, and nothing of a file but its problem, mechanism and stated numbers is read.
"""

from __future__ import annotations

import itertools
from decimal import Context, Decimal, localcontext
from fractions import Fraction
from typing import Any

import numpy as np
from scipy.optimize import linprog

DIGITS = Context(prec=120, Emax=10**9, Emin=-(10**9))
ROOM = 1e-7
"""How far a bound must be above the optimum, relative to the size of the costs, to count as broken."""


class Meaningless(Exception):
    """What the file says is no claim at all."""


def broken(lines: list[Any]) -> bool | None:
    """Whether a claim of the file is false; None where the linear program in floats does not decide.

    Raises
    ------
    Meaningless
        If problem, mechanism and claim do not make a claim.
    """
    try:
        problem, mechanism, claim, *bounds = lines[1:]
        rows = rows_of(mechanism, weights_of(problem))
        if leaks(problem, rows) or ("cost" in claim and cost_of(problem, rows) > rational(claim["cost"])):
            return True
        verdicts = [_too_high(problem, claim, bound) for bound in bounds]
    except (
        ValueError,
        TypeError,
        KeyError,
        IndexError,
        ZeroDivisionError,
        AttributeError,
        OverflowError,
        AssertionError,
    ) as cause:
        raise Meaningless(str(cause)) from cause
    return True if True in verdicts else None if None in verdicts else False


def rational(value: Any) -> Fraction:
    if type(value) is int:
        return Fraction(value)
    top, _, under = value.partition("/")
    return Fraction(int(top), int(under or 1))


def _exp(level: Any) -> Decimal:
    value = rational(level)
    with localcontext(DIGITS):
        return (Decimal(value.numerator) / Decimal(value.denominator)).exp()


def weights_of(problem: Any) -> list[int]:
    table = problem["distribution"]
    assert all(type(v) is int and v >= 0 for row in table for v in row)
    return [sum(row[w] for row in table) for w in range(len(table[0]))]


def rows_of(mechanism: Any, weights: list[int]) -> list[list[Fraction]]:
    of = mechanism.get("of", list(range(len(mechanism["rows"]))))
    assert len(of) == len(weights)
    assert min(of) >= 0
    rows = [mechanism["rows"][i] for i in of]
    assert all(type(v) is int and v >= 0 for row in rows for v in row)
    assert len({len(row) for row in rows}) == 1
    return [[Fraction(v, sum(row)) for v in row] for row in rows]


def _mixed(weights: list[int], rows: list[list[Fraction]]) -> list[Fraction]:
    return [
        sum((w * row[y] for w, row in zip(weights, rows, strict=True)), Fraction(0)) / sum(weights)
        for y in range(len(rows[0]))
    ]


def _likelier(
    first: list[Fraction], second: list[Fraction], level: Any, slack: Fraction = Fraction(0)
) -> bool:
    """Whether one distribution of the release is beyond e^level times another, by more than the slack in all."""
    factor, total = _exp(level), Decimal(0)
    with localcontext(DIGITS):
        for a, b in zip(first, second, strict=True):
            top, under = (
                Decimal(a.numerator) / Decimal(a.denominator),
                Decimal(b.numerator) / Decimal(b.denominator),
            )
            if slack == 0 and (a > b if rational(level) == 0 else top > factor * under):
                return True
            total += max(Decimal(0), top - factor * under)
        return bool(slack and total > Decimal(slack.numerator) / Decimal(slack.denominator))


def neighbours(problem: Any) -> list[tuple[list[int], list[int], Any]]:
    """What must be hard to tell apart: weights, weights, level."""
    table, weights, levels = problem["distribution"], weights_of(problem), problem["levels"]
    n = len(weights)
    unit = [[int(i == w) for i in range(n)] for w in range(n)]
    if problem["notion"] == "pairs":
        listed = [(unit[u], unit[v], levels[name]["level"]) for u, v, name in problem["pairs"]]
        assert all(u >= 0 and v >= 0 for u, v, _ in problem["pairs"])
        return listed + [(v, u, level) for u, v, level in listed]
    secrets = [row for row in table if sum(row)]
    never = [unit[w] for w in range(n) if not weights[w]]
    found = []
    if problem["notion"] == "lip":
        assert levels
        assert set(levels) <= {"upper", "lower"}
        for row in secrets + never:
            if "upper" in levels:
                found.append((row, weights, levels["upper"]["level"]))
            if "lower" in levels:
                found.append((weights, row, levels["lower"]["level"]))
        return found
    assert problem["notion"] == "ldp"
    assert set(levels) == {"upper"}
    level = levels["upper"]["level"]
    found = [(a, b, level) for a, b in itertools.permutations(secrets, 2)]
    return found + [p for a in secrets for b in never for p in ((a, b, level), (b, a, level))]


def leaks(problem: Any, rows: list[list[Fraction]]) -> bool:
    slack = rational(problem["slack"])
    assert slack >= 0
    if any(_likelier(_mixed(a, rows), _mixed(b, rows), level, slack) for a, b, level in neighbours(problem)):
        return True
    ends = problem.get("prescribed")
    if ends is None:
        return False
    assert len(ends) == len(rows)
    assert all(len(e) == len(r) for e, r in zip(ends, rows, strict=True))
    return any(
        not rational(a) <= v <= rational(b)
        for row, pairs in zip(rows, ends, strict=True)
        for v, (a, b) in zip(row, pairs, strict=True)
    )


def losses(problem: Any) -> list[list[Fraction]]:
    """What a release costs at each input, its probability included unless the worst counts."""
    weights, loss = weights_of(problem), [[rational(v) for v in row] for row in problem["loss"]]
    total = sum(weights)
    if "useful" in problem:
        seen = problem["useful"]
        assert "worst" not in problem
        assert [sum(row[w] for row in seen) for w in range(len(weights))] == weights
        assert len(seen) == len(loss)
        assert all(type(v) is int and v >= 0 for row in seen for v in row)
        return [
            [
                sum((Fraction(seen[x][w], total) * loss[x][y] for x in range(len(seen))), Fraction(0))
                for y in range(len(loss[0]))
            ]
            for w in range(len(weights))
        ]
    of = problem.get("loss_of", list(range(len(weights))))
    assert len(of) == len(weights)
    assert min(of) >= 0
    return [
        [v if problem.get("worst") else v * Fraction(p, total) for v in loss[i]]
        for i, p in zip(of, weights, strict=True)
    ]


def cost_of(problem: Any, rows: list[list[Fraction]]) -> Fraction:
    each = [
        sum((c * p for c, p in zip(costs, row, strict=True)), Fraction(0))
        for costs, row in zip(losses(problem), rows, strict=True)
    ]
    return max(each) if problem.get("worst") else sum(each, Fraction(0))


def _too_high(problem: Any, claim: Any, bound: Any) -> bool | None:
    """Whether some private mechanism costs less than the bound, and for other levels whether these prove nothing."""
    stated = rational(bound["bound"])
    if bound.get("levels"):
        if stated <= rational(claim["cost"]):
            return True
        problem = {**problem, "levels": bound["levels"]}
    cost = np.array([[float(c) for c in row] for row in losses(problem)])
    (n, m), slack, worst = cost.shape, float(rational(problem["slack"])), bool(problem.get("worst"))
    near = neighbours(problem)
    size = n * m + (len(near) * m if slack else 0) + worst
    rows, right = [], []
    for p, (a, b, level) in enumerate(near):
        beyond = np.array(a) / sum(a) - float(_exp(level)) * np.array(b) / sum(b)
        for y in range(m):
            row = np.zeros(size)
            row[np.arange(n) * m + y] = beyond
            if slack:
                row[n * m + p * m + y] = -1.0
            rows.append(row)
            right.append(0.0)
        if slack:
            row = np.zeros(size)
            row[n * m + p * m : n * m + (p + 1) * m] = 1.0
            rows.append(row)
            right.append(slack)
    for w in range(n if worst else 0):
        row = np.zeros(size)
        row[w * m : (w + 1) * m], row[-1] = cost[w], -1.0
        rows.append(row)
        right.append(0.0)
    objective = np.zeros(size)
    objective[: n * m] = 0.0 if worst else cost.ravel()
    objective[-1] = 1.0 if worst else objective[-1]
    sums = np.zeros((n, size))
    for w in range(n):
        sums[w, w * m : (w + 1) * m] = 1.0
    ends = [
        (float(rational(a)), float(rational(b))) for row in problem.get("prescribed", []) for a, b in row
    ] or [(0.0, 1.0)] * (n * m)
    bounds = [*ends, *[(0.0, None)] * (size - n * m - worst), *[(None, None)] * worst]
    solved = linprog(
        objective,
        A_ub=np.array(rows) if rows else None,
        b_ub=right or None,
        A_eq=sums,
        b_eq=np.ones(n),
        bounds=bounds,
    )
    if solved.status == 2:
        return False
    if solved.status != 0:
        return None
    least, room = float(solved.fun or 0.0), ROOM * max(1e-12, float(np.abs(cost).max()))
    return True if float(stated) > least + room else False if float(stated) < least - room else None
