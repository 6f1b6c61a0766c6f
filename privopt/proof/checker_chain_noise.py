"""Check that noise on a query of a Markov chain of up to three states leaks at most epsilon about any record.

Run alone: python checker_chain_noise.py proof.txt. Given a record its two sides are independent, and beyond the nearest record
that is known on a side nothing says more of it. So noise of level tau leaks at most tau and, for each side, the logarithm of G(x,
x'), the largest ratio of means of functions that change by a factor of e^tau with a record. G is 1 where no record is unknown,
and with one more it is the largest B(x) F / B(x') F where F(u) <= e^tau G(u, v) F(v), B(x)(u) = P(x, u) h(u) / h(x) a step given
what is known. For up to three states one of F = e^tau G(., v) and F = 1 / e^tau G(u, .) is the largest: where B(x) - m B(x') has
one positive or one negative entry, that F bounds all others.
"""

from __future__ import annotations

import json
import sys
from fractions import Fraction
from typing import Any

Row = list[Fraction]
Rows = list[Row]
Front = tuple[Row, Rows]

ROOM = 1 + Fraction(1, 2**150)
"""More than four weights h of up to 10^4 steps, each rounded by 2^-199 of it, change a ratio by."""


def product(rows: Rows, column: list[Fraction]) -> list[Fraction]:
    """A matrix times a vector."""
    return [dot(row, column) for row in rows]


def short(v: Fraction) -> Fraction:
    """A number that is at most one >= 0, and less by at most 2^-199 of it."""
    bits = 200 + v.denominator.bit_length() - v.numerator.bit_length()
    return Fraction(v * Fraction(2) ** bits // 1) / Fraction(2) ** bits


def step(rows: Rows, front: Front, growth: Fraction) -> Front:
    """One more unknown record between the target and what is known; G rounded up by more than h was rounded."""
    h, ratios = front
    n, after = range(len(h)), product(rows, front[0])
    some = [u for u in n if h[u]]
    rays = [[growth * ratios[u][v] if u != v else Fraction(1) for u in n] for v in some]
    rays += [[1 / (growth * ratios[u][v]) if u != v else Fraction(1) for v in n] for u in some]
    means = [[sum((row[u] * h[u] * ray[u] for u in some), Fraction(0)) for row in rows] for ray in rays]
    table_ = [[Fraction(1)] * len(h) for _ in n]
    for x, z in ((x, z) for x in n for z in n if x != z and after[x] and after[z]):
        most = ROOM * max(mean[x] * after[z] / (mean[z] * after[x]) for mean in means)
        table_[x][z] = max(Fraction(1), Fraction(-(-most * 2**100 // 1), 2**100))
    return [short(v) for v in after], table_


def larger(first: Rows, second: Rows) -> Rows:
    """The larger of each two numbers."""
    return [[max(pair) for pair in zip(*rows, strict=True)] for rows in zip(first, second, strict=True)]


def side(rows: Rows, start: list[Fraction], growth: Fraction, depth: int) -> tuple[list[Rows], list[Front]]:
    """The largest G for up to 0, 1, ... depth records on a side, and what is known at the last."""
    ones = [[Fraction(1)] * len(rows) for _ in rows]
    fronts, tables = [(start, ones)], [ones]
    for d in range(depth):
        fronts = [step(rows, front, growth) for front in fronts]
        if d == 0:  # the next record is known
            fronts += [(list(column), ones) for column in zip(*rows, strict=True)]
        worst = tables[-1]
        for _, ratios in fronts:
            worst = larger(worst, ratios)
        tables.append(worst)
    return tables, fronts


def beyond(rows: Rows, tables: list[Rows], fronts: list[Front], growth: Fraction, slack: Fraction) -> Rows:
    """A bound on G at all later depths: one step from it, with all that is known about even, does not leave it.

    If the largest weight h is at most k times the smallest, as averages keep it, a ratio is at most k times that of the plain
    step for ratios k G.
    """
    need(slack >= 0 and all(min(h) > 0 for h, _ in fronts), "what is known does not even out")
    even = ROOM * max(max(h) / min(h) for h, _ in fronts)
    guess = fronts[0][1]
    for _, ratios in fronts:
        guess = larger(guess, ratios)
    guess = [[v * (1 + slack) if x != z else v for z, v in enumerate(row)] for x, row in enumerate(guess)]
    then = step(rows, ([Fraction(1)] * len(rows), guess), growth * even)[1]
    inside = [
        a * even <= b
        for x, row in enumerate(then)
        for z, (a, b) in enumerate(zip(row, guess[x], strict=True))
        if x != z
    ]
    need(all(inside), "a step leads out of the bound")
    return larger(tables[-1], guess)


def kernels(problem: Any, proof: Any) -> tuple[Rows, Rows, Row]:
    """The steps after a record and those before it, and what is known of the first record in place of the stationary one."""
    rows = [[Fraction(v, sum(row)) for v in row] for row in table(problem["transition"])]
    n, stay = range(len(rows)), [Fraction(v) for v in table([proof["stationary"]])[0]]
    need(
        len(rows) == len(rows[0]) <= 3 and min(stay) > 0,
        "a chain has up to three states, all of them visited",
    )
    need([dot(stay, column) for column in zip(*rows, strict=True)] == stay, "not the stationary distribution")
    back = [[stay[u] * rows[u][x] / stay[x] for u in n] for x in n]
    first = [Fraction(v) / p for v, p in zip(table([problem["initial"]])[0], stay, strict=True)]
    need(any(first), "the first record has a value")
    return rows, back, first


def chain_ratio(problem: Any, proof: Any, growth: Fraction) -> Fraction:
    """The most that the sides of a record may add together, as a ratio."""
    rows, back, first = kernels(problem, proof)
    n = range(len(rows))
    depth, length = position(proof["depth"], 10**4), problem.get("length")
    need(length is None or position(length, 10**6) > 0, "there are records")
    right = side(rows, [Fraction(1)] * len(rows), growth, depth)
    left = side(back, first, growth, depth)
    if length is not None and length <= depth + 1:
        pairs = [(left[0][t], right[0][length - 1 - t]) for t in range(length)]
    else:
        slack = number(proof["slack"])
        pairs = [(beyond(back, *left, growth, slack), beyond(rows, *right, growth, slack))]
    return max((a[x][z] * b[x][z] for a, b in pairs for x in n for z in n if x != z), default=Fraction(1))


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
    (below, above), (proof,) = levels(problem["levels"], bits), proofs
    said, epsilon = noisy(problem, mechanism, below), problem["levels"]["leak"]["level"]
    need(not claim, "only leakage is of this kind of file")
    ratio = above["noise"] * chain_ratio(problem, proof, above["noise"])
    need(ratio <= below["leak"], "a release may leak more")
    length = problem.get("length", "any number of")
    return [*said, f"PROVED: a release of {length} records leaks at most {epsilon} nats about each"]


# From checker.py and, noisy, from checker_gaussian_noise.py, word for word.


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


def table(rows: Any) -> list[list[int]]:
    """Rows of equally many integers >= 0."""
    good = all(type(v) is int and v >= 0 for row in rows for v in row) and len(set(map(len, rows))) == 1
    need(good, "a table has rows of equally many integers >= 0")
    return [list(row) for row in rows]


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


if __name__ == "__main__":
    main("chain_noise", check, sys.argv[1])
