"""Check that noise on a query leaks at most epsilon about a record of a group, or of Gaussian records with known covariances.

Run alone: python checker_gaussian_noise.py proof.txt. In a group of m records noise of level tau leaks at most m tau. Gaussian
records are moved together: if one moves by d, who knows some others moves the rest by (h - 1) d at most, h the factor. A sum or
mean that one record moves by "apart" then moves by h apart. Rounded to a grid that is rounded up; rounded at random, the
logarithm of the probability of an output changes by h apart / scale + (grid / scale)^2 / 8 at most (Hoeffding).
"""

from __future__ import annotations

import json
import sys
from fractions import Fraction
from itertools import combinations
from math import lcm
from typing import Any

Row = list[Fraction]
Rows = list[Row]


def factor(s: Rows, proof: Any) -> Fraction:
    """H such that noise which is smooth in the sum of |changes| of Gaussian records leaks h times what one of them shows.

    Who knows the records T, the target i in T, learns of the others U by S_UT S_T^-1 e_i: h is 1 and the sum of its sizes.
    """
    n = range(len(s))
    need([list(c) for c in zip(*s, strict=True)] == s and min(s[i][i] for i in n) > 0, "no covariance")
    if proof["method"] == "column":  # for sums up to 2 nobody is worse than who knows nothing
        h = max(sum(map(abs, s[i]), Fraction(0)) / s[i][i] for i in n)
        need(h <= 2, "the sums of the columns prove nothing")
        return h
    if proof["method"] == "subsets":
        need(len(s) <= 12, "all subsets of up to 12 records are tried")
        sets = [some for k in range(1, len(s) + 1) for some in combinations(n, k)]
        return max(1 + told(s, some, i) for some in sets for i in some)
    need(proof["method"] == "h-matrix", "the method is column, subsets or h-matrix")
    p = [inverse(s, tuple(n), i) for i in n]
    w = [[v if i == j else -abs(v) for j, v in enumerate(row)] for i, row in enumerate(p)]
    vector, *columns = ([number(v) for v in row] for row in proof["columns"])
    need(
        min(vector) > 0 and min(dot(row, vector) for row in w) > 0,
        "the comparison of the inverse is no M-matrix",
    )
    sums = []
    for i, column in zip(n, columns, strict=True):
        beside = [v for j, v in enumerate(dot(row, column) for row in w) if j != i]
        need(min(column) >= 0 and column[i] > 0 and min(beside, default=0) >= 0, "a column is too small")
        sums.append(sum(column) / column[i])
    return max(sums)


def inverse(s: Rows, some: tuple[int, ...], i: int) -> list[Fraction]:
    """Column i of the inverse of a part of a matrix."""
    found = solved([[s[a][b] for b in some] for a in (i, *(a for a in some if a != i))])
    need(found is not None and found[some.index(i)] > 0, "a part of the covariance is not positive definite")
    return found or []


def told(s: Rows, some: tuple[int, ...], i: int) -> Fraction:
    """What who knows some records learns of the others with record i."""
    y = inverse(s, some, i)
    others = [u for u in range(len(s)) if u not in some]
    return sum((abs(dot(y, [s[u][t] for t in some])) for u in others), Fraction(0))


def noisy(problem: Any, mechanism: Any, below: dict[str, Fraction]) -> list[str]:
    """Check that the noise has the level that is stated where a record moves the answer by so much; and say so."""
    scale, moves = number(mechanism["scale"]), number(problem["sensitivity"])
    need(scale > 0 and moves > 0, "scale and sensitivity are positive")
    tau = problem["levels"]["noise"]["level"]
    if mechanism["noise"] == "randomised_response":  # each report is false with the probability scale <= 1/2
        need(2 * scale <= 1 and 1 - scale <= below["noise"] * scale, "the noise has a larger level")
        return [f"PROVED: randomised reports have a level of at most {tau}"]
    need(mechanism["noise"] in ("laplace", "discrete_laplace"), "no known noise")
    need(moves <= number(tau) * scale, "the noise has a larger level")
    return [
        f"PROVED: the noise has a level of at most {tau} where a record moves the answer by at most {moves}"
    ]


def check(problem: Any, mechanism: Any, claim: Any, proofs: list[Any], bits: int) -> list[str]:
    """What a file proves, in sentences; raises an error if anything that it says is not proved."""
    (below, _), (proof,) = levels(problem["levels"], bits), proofs
    said, moves = noisy(problem, mechanism, below), number(problem["sensitivity"])
    tau, epsilon = (number(problem["levels"][name]["level"]) for name in ("noise", "leak"))
    need(not claim, "only leakage is of this kind of file")
    if proof["method"] == "group":
        size = position(problem["size"], 10**6)
        need(size > 0 and size * tau <= epsilon, "a release may leak more")
        return [
            *said,
            f"PROVED: a release leaks at most {epsilon} nats about each of {size} records",
        ]
    scale, apart, grid = number(mechanism["scale"]), number(problem["apart"]), number(problem["grid"])
    need(
        mechanism["noise"] == "laplace" and min(grid, apart) > 0 and -(-apart // grid) * grid <= moves,
        "not of this query",
    )
    covariance = [[number(v) for v in row] for row in problem["covariance"]]
    moved = factor(covariance, proof) * apart
    most = min(-(-moved // grid) * grid / scale, moved / scale + (grid / scale) ** 2 / 8)
    need(most <= epsilon, "a release may leak more")
    return [
        *said,
        f"PROVED: a release leaks at most {epsilon} nats about each of {len(covariance)} Gaussian records",
    ]


# From checker.py and checker_information.py, word for word.


def need(holds: bool, why: str) -> None:
    """Refuse the file unless something holds."""
    if not holds:
        raise ValueError(why)


def number(value: Any) -> Fraction:
    """A rational number, from an integer or from a text "p/q"."""
    need(set(str(value)) <= set("-/0123456789"), f"{value!r} is no integer and no text p/q")
    return Fraction(value)


def position(value: Any, count: int) -> int:
    """One of 0, 1, ... count - 1."""
    need(type(value) is int and 0 <= value < count, f"{value!r} is not one of {count} positions")
    return int(value)


def dot(first: Any, second: Any) -> Fraction:
    """The sum of products."""
    return sum((Fraction(a * b) for a, b in zip(first, second, strict=True) if a), Fraction(0))


def artanh(s: Fraction, bits: int) -> tuple[int, int]:
    """Integers around 2^bits (s + s^3/3 + s^5/5 + ...) for 0 <= s <= 1/3: each term rounded down, and up."""
    low, high, k, down, up = 0, 0, 1, s * 2**bits // 1, -(-s * 2**bits // 1)
    before, after = s * s * 2**bits // 1, -(-s * s * 2**bits // 1)
    while up > 1:
        low, high, k = low + down // k, high - (-up // k), k + 2
        down, up = down * before >> bits, -(-up * after >> bits)
    return low, high + 2 * up


def log(x: Fraction, bits: int) -> tuple[Fraction, Fraction]:
    """Rationals around ln x = 2 artanh((m - 1) / (m + 1)) + 2 e artanh(1/3), where x = m 2^e with 1/2 < m < 2."""
    need(x > 0, "only positive numbers have a logarithm")
    e = x.numerator.bit_length() - x.denominator.bit_length()
    m = x / Fraction(2) ** e
    low, high = artanh(abs((m - 1) / (m + 1)), bits)
    low, high = (low, high) if m >= 1 else (-high, -low)
    twos = sorted(e * end for end in artanh(Fraction(1, 3), bits))
    return Fraction(2 * (low + twos[0]), 2**bits), Fraction(2 * (high + twos[1]), 2**bits)


def levels(entries: Any, bits: int) -> tuple[dict[str, Fraction], dict[str, Fraction]]:
    """By name, numbers below and above e^level: ln below <= level <= ln above."""
    below, above = dict[str, Fraction](), dict[str, Fraction]()
    for name, entry in entries.items():
        level, below[name], above[name] = (number(entry[key]) for key in ("level", "below", "above"))
        need(name.isidentifier(), "the name of a level is one word")  # it is printed with what is proved
        need(log(below[name], bits)[1] <= level <= log(above[name], bits)[0], f"{name}: not around e^level")
    return below, above


def main(kind: str, check: Any, path: str) -> None:
    """Print what a file of this kind proves; or why it is refused, and leave with exit code 1."""
    sys.set_int_max_str_digits(10**5)
    try:
        with open(path, encoding="utf-8") as file:
            header, problem, mechanism, claim, *proofs = [json.loads(line) for line in file]
        bits = position(header.pop("bits"), 10**4)
        need(header == {"format": "privopt/proof", "version": 1, "kind": kind}, f"not of the kind {kind}")
        print(*check(problem, mechanism, claim, proofs, bits), sep="\n")
    except (ValueError, LookupError, TypeError, AttributeError, ArithmeticError, RecursionError) as cause:
        sys.exit(f"REFUSED: {type(cause).__name__}: {cause}")


def solved(rows: list[Row]) -> Row | None:
    """The solution x of rows[0] . x = 1 and row . x = 0 for the others; None if there is not just one."""
    k, here, whole = len(rows), 1, [lcm(*(v.denominator for v in row)) for row in rows]
    left = [[*(int(v * whole[i]) for v in row), whole[i] * (i == 0)] for i, row in enumerate(rows)]
    for column in range(k):  # in integers: the pivot before divides all that is left (Bareiss)
        pivot = next((i for i in range(column, k) if left[i][column]), None)
        if pivot is None:
            return None
        top, before = left.pop(pivot), here
        left.insert(column, top)
        here = top[column]
        for i in (i for i in range(k) if i != column):
            left[i] = [(a * here - left[i][column] * b) // before for a, b in zip(left[i], top, strict=True)]
    return [Fraction(row[k], here) for row in left]


if __name__ == "__main__":
    main("gaussian_noise", check, sys.argv[1])
