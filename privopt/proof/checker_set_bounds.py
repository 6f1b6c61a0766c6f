"""Check that no release that is private at every distribution of a set costs less than a bound at the nominal one.

Run alone: python checker_set_bounds.py proof.txt. Such a release is private at each member of the set, a distribution P(secret)
with a row P(input | secret) for each secret. By weak duality prices >= 0 of what privacy compares there are charged to the
inputs, and each input then takes the release that is cheapest. A secret counts if it may occur at one of the members.
"""

from __future__ import annotations

import json
import sys
from fractions import Fraction
from typing import Any


def vector(values: Any) -> list[Fraction]:
    """A distribution: numbers >= 0 with sum 1."""
    row = [number(v) for v in values]
    need(min(row) >= 0 and sum(row) == 1, "a distribution has numbers >= 0 and the sum 1")
    return row


def contains(allowed: Any, row: list[Fraction]) -> bool:
    """Whether a distribution lies in a set: between two bounds each, or near a center."""
    if allowed["kind"] == "interval":
        ends = zip(allowed["lower"], allowed["upper"], row, strict=True)
        return all(number(a) <= v <= number(b) for a, b, v in ends)
    center, radius = vector(allowed["center"]), number(allowed["radius"])
    need(radius >= 0, "a radius is at least 0")
    apart = [(v - c, c) for v, c in zip(row, center, strict=True)]
    if allowed["kind"] == "total_variation":
        return sum(abs(d) for d, _ in apart) <= 2 * radius
    return all(c or not d for d, c in apart) and sum(d * d / c for d, c in apart if c) <= radius**2


class Members:
    """Members of a set, and what privacy compares at them."""

    def __init__(self, problem: Any, entries: Any) -> None:
        sets = [problem["prior"], *problem["rows"]]
        self.members = [[vector(v) for v in entry] for entry in entries]
        for member in self.members:
            inside = [contains(*pair) for pair in zip(sets, member, strict=True)]
            need(all(inside), "a member is not of the set")
        self.possible = {s for prior_, *_ in self.members for s, p in enumerate(prior_) if p}
        self.ldp = problem["notion"] == "ldp"
        need(self.ldp or problem["notion"] == "lip", "the notion is lip or ldp")

    def compared(self, m: Any, i: Any, j: Any) -> tuple[list[Fraction], list[Fraction], str]:
        """P(y | first) <= e^level P(y | second): rows of two secrets, or of one and of all together, null."""
        shares, *rows = self.members[position(m, len(self.members))]
        secrets = [position(s, len(rows)) for s in (i, j) if s is not None]
        need(len(secrets) == 1 + self.ldp and self.possible >= set(secrets), "no comparison of this notion")
        mean = [dot(shares, column) for column in zip(*rows, strict=True)]
        first, second = (mean if s is None else rows[s] for s in (i, j))
        return first, second, "lower" if i is None else "upper"


def least_cost(problem: Any, above: dict[str, Fraction], proof: Any) -> Fraction:
    """No release that is private on the set costs less."""
    members, weights = Members(problem, proof["members"]), prior(problem)
    share = [Fraction(p, sum(weights)) for p in weights]
    cost = [[p * number(v) for v in row] for p, row in zip(share, problem["loss"], strict=True)]
    for m, i, j, values in proof["prices"]:
        prices, (first, second, name) = [number(v) for v in values], members.compared(m, i, j)
        need(min(prices) >= 0, "prices are at least 0")
        for w, (a, b) in enumerate(zip(first, second, strict=True)):
            cost[w] = [c + q * (a - above[name] * b) for c, q in zip(cost[w], prices, strict=True)]
    return sum(map(min, cost), Fraction(0))


def check(problem: Any, mechanism: Any, claim: Any, proofs: list[Any], bits: int) -> list[str]:
    """What a file proves, in sentences; raises an error if anything that it says is not proved."""
    above = levels(problem["levels"], bits)[1]
    need(not mechanism and not claim, "only bounds are of this kind of file")
    named, said = ", ".join(f"{k} {v['level']}" for k, v in problem["levels"].items()), list[str]()
    for proof in proofs:
        least = least_cost(problem, above, proof)
        need(least >= number(proof["bound"]), "the prices do not prove the bound")
        said.append(f"PROVED: none private on the whole set, {named}, costs less than {proof['bound']}")
    return said


# From checker.py, word for word.


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
    main("set_bounds", check, sys.argv[1])
