"""Check that a release is private at every distribution of a set, and what it is worth.

Run alone: python checker_sets.py proof.txt. The rows P(input | secret) and P(secret) lie in sets of their own. With hi and lo the
largest and smallest P(y | secret), the ratio of two secrets is at most hi / lo, the rise of one hi / mean(hi for it, lo for the
others), its fall mean(lo for it, hi for the others) / lo. Costs and informations are those at one distribution, the nominal one.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from fractions import Fraction
from itertools import permutations, product
from math import isqrt, lcm
from typing import Any


def vector(values: Any) -> list[Fraction]:
    """A distribution: numbers >= 0 with sum 1."""
    row = [number(v) for v in values]
    need(min(row) >= 0 and sum(row) == 1, "a distribution has numbers >= 0 and the sum 1")
    return row


def root(x: Fraction) -> Fraction:
    """A number that is at least the square root of one >= 0, by at most 2^-160."""
    return Fraction(isqrt((x.numerator << 320) // x.denominator) + (x > 0), 2**160)


def most(allowed: Any, values: list[Fraction]) -> Fraction:
    """At least the largest mean of some values over a set, and not more but for chi2."""
    if allowed["kind"] == "interval":  # filled up from the largest value down
        low, high = ([number(v) for v in allowed[side]] for side in ("lower", "upper"))
        rooms, left, mean = [b - a for a, b in zip(low, high, strict=True)], 1 - sum(low), dot(low, values)
        need(0 <= left <= sum(rooms) and min(rooms) >= 0, "a set is empty")
        for v, room in sorted(zip(values, rooms, strict=True), reverse=True):
            mean, left = mean + v * min(left, room), left - min(left, room)
        return mean
    center, radius = vector(allowed["center"]), number(allowed["radius"])
    need(radius >= 0, "a radius is at least 0")
    if allowed["kind"] == "total_variation":  # what is moved goes from the smallest values to the largest
        mean, top = dot(center, values), max(values)
        for v, c in sorted(zip(values, center, strict=True)):
            mean, radius = mean + (top - v) * min(radius, c), radius - min(radius, c)
        return mean
    need(allowed["kind"] == "chi2", "a set is of the kind interval, total_variation or chi2")
    return farthest([(v, c) for v, c in zip(values, center, strict=True) if c], radius)


def moments(cells: list[Any]) -> tuple[Fraction, Fraction, Fraction]:
    """Of values with weights: the weight in all, the mean, and the sum of weighted squares about it."""
    mass = sum((c for _, c in cells), Fraction(0))
    mean = sum((v * c for v, c in cells), Fraction(0)) / mass
    return mass, mean, sum((c * (v - mean) ** 2 for v, c in cells), Fraction(0))


def farthest(cells: list[Any], radius: Fraction) -> Fraction:
    """The least mean + radius deviation (Cauchy and Schwarz) of values raised to any floor.

    The best floors are those at which probabilities reach 0, the lowest is that of the values themselves.
    """
    lows, ends = sorted({v for v, _ in cells}), list[Fraction]()
    for low in lows:
        mass, mean, squares = moments([(v, c) for v, c in cells if v >= low])
        room = radius**2 + 1 - 1 / mass
        for floor in (lows[0], mean - root(squares / room) / mass if room > 0 else low):
            _, raised, apart = moments([(max(v, floor), c) for v, c in cells])
            ends.append(raised + radius * root(apart))
    return min(ends)


class Sets:
    """The sets, the nominal distribution, the secrets that may occur, and the inputs that never do."""

    def __init__(self, problem: Any) -> None:
        self.rows, self.prior, self.ldp = problem["rows"], problem["prior"], problem["notion"] == "ldp"
        self.nominal, n, k = table(problem["distribution"]), len(prior(problem)), len(problem["rows"])
        need(max(n, k) <= 1000, "up to 1000 symbols are read")
        units = [[Fraction(int(i == j)) for j in range(max(n, k))] for i in range(max(n, k))]
        self.possible = [s for s in range(k) if most(self.prior, units[s][:k]) > 0]
        self.never = [w for w in range(n) if not any(most(self.rows[s], units[w][:n]) for s in self.possible)]

    def ratios(self, column: list[Fraction]) -> Iterator[tuple[Fraction, Fraction, str]]:
        """What must be at most e^level times what, and the level, for P(y | input) of a release y."""
        high = [most(row, column) for row in self.rows]
        low = [-most(row, [-v for v in column]) for row in self.rows]
        for s in self.possible if not self.ldp else ():
            rise, fall = [-v for v in low], list(high)
            rise[s], fall[s] = -high[s], low[s]
            yield high[s], -most(self.prior, rise), "upper"
            yield most(self.prior, fall), low[s], "lower"
        for s, t in permutations(self.possible if self.ldp else (), 2):
            yield high[s], low[t], "upper"
        whole = [[*map(sum, zip(*self.nominal, strict=True))]]  # who never occurs must not be told apart
        for w, row in product(self.never, filter(any, self.nominal) if self.ldp else whole):
            mean = dot(row, column) / sum(row)
            yield column[w], mean, "upper"
            yield mean, column[w], "upper" if self.ldp else "lower"


def check(problem: Any, mechanism: Any, claim: Any, proofs: list[Any], bits: int) -> list[str]:
    """What a file proves, in sentences; raises an error if anything that it says is not proved."""
    (below, _), sets, notion = levels(problem["levels"], bits), Sets(problem), problem["notion"]
    rows, total = channel(mechanism, len(prior(problem)))
    columns = [[Fraction(v, total) for v in column] for column in zip(*rows, strict=True)]
    named = {"lip": {"upper", "lower"}, "ldp": {"upper"}, "maximal": {"upper"}}[notion]
    need(set() < set(below) <= named, "lip has the levels upper and lower, or one of them; others have upper")
    if notion == "maximal":  # e^(maximal leakage): the sum over releases of the largest P(y | secret)
        tops = [max(most(sets.rows[s], c) for s in sets.possible) for c in columns]
        need(sum(tops) <= below["upper"], "it leaks more")
    for big, small, name in (ratio for c in columns for ratio in sets.ratios(c) if notion != "maximal"):
        need(name not in below or big <= below[name] * small, "not private on the set")
    said = [
        f"PROVED: private on the whole set, {notion}, {k} {v['level']}" for k, v in problem["levels"].items()
    ]
    loss, share = [[number(v) for v in row] for row in problem.get("loss", ())], prior(problem)
    each = [dot(*pair) / total for pair in zip(loss, rows, strict="loss" in problem)]
    if "cost" in claim:
        need(dot(share, each) / sum(share) <= number(claim["cost"]), "it costs more")
        said.append(f"PROVED: it costs at most {claim['cost']} at the nominal distribution")
    if "worst" in claim:
        need(most(sets.prior, [most(row, each) for row in sets.rows]) <= number(claim["worst"]), "costs more")
        said.append(f"PROVED: it costs at most {claim['worst']} at every distribution of the set")
    if "information" in claim:
        joint = [[p * v for v in row] for p, row in zip(share, rows, strict=True)]
        need(information(joint, bits)[0] >= number(claim["information"]), "the mechanism says less")
        said.append(f"PROVED: it says at least {claim['information']} nats at the nominal distribution")
    need(not proofs, "bounds are of the kind set_bounds")
    return said


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


def prior(problem: Any) -> list[int]:
    """How often each input occurs."""
    return [*map(sum, zip(*table(problem["distribution"]), strict=True))]


def channel(mechanism: Any, inputs: int) -> tuple[list[list[int]], int]:
    """P(y | w) times a total, and that total."""
    rows, total = table(mechanism["rows"]), lcm(*map(sum, mechanism["rows"]))
    of = [rows[position(i, len(rows))] for i in mechanism.get("of", range(len(rows)))]
    need(len(of) == inputs and total > 0, "each input has a row with a positive sum")
    need(inputs * len(rows[0]) <= 4 * 10**6, "up to 4 million probabilities are checked")
    return [[v * (total // sum(row)) for v in row] for row in of], total


def information(joint: list[Any], bits: int) -> tuple[Fraction, Fraction]:
    """Rationals around I(X;Y), from the weights of x and y: sum of p(x, y) ln(p(x, y) / p(x) p(y))."""
    whole, columns, ends = sum(map(sum, joint)), [*map(sum, zip(*joint, strict=True))], [Fraction(0)] * 2
    for row in joint:
        for v, column in zip(row, columns, strict=True):
            if v:
                lift = log(Fraction(v * whole, sum(row) * column), bits)
                ends = [end + Fraction(v, whole) * side for end, side in zip(ends, lift, strict=True)]
    return ends[0], ends[1]


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
    main("sets", check, sys.argv[1])
