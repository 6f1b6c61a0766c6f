"""Check that hiding records of a Markov chain keeps single records private, and how much of the stream is released.

Run alone: python checker_redaction.py proof.txt. Record t with value v is hidden with probability
hide[t][v] / total, whatever else happens. Given a private record its two sides are independent, and beyond the first record
that is released on a side nothing says more of it. So the likeliest ratio of two values x and y of the private record is the
largest over first releases on the left times the largest over those on the right, no release at all included.
"""

from __future__ import annotations

import json
import sys
from fractions import Fraction
from math import gcd
from operator import mul
from typing import Any

Table = list[list[int]]


def reduced(rows: Table) -> Table:
    """The same up to one factor of all entries, which no ratio depends on."""
    common = gcd(*(v for row in rows for v in row)) or 1
    return [[v // common for v in row] for row in rows]


class Chain:
    """The stream: integer weights of the first record, and of each step from one record to the next."""

    def __init__(self, problem: Any) -> None:
        self.first, steps = table([problem["initial"]])[0], [table(rows) for rows in problem["steps"]]
        self.steps = [steps[position(i, len(steps))] for i in problem["step_of"]]
        self.n, self.k = len(self.steps) + 1, len(self.first)
        need(self.k <= 1000 and any(self.first), "up to 1000 values are read, and one comes first")
        for rows in steps:  # every row has one sum, so that weights need not be divided
            need(
                len(rows) == self.k == len(rows[0]) and len({sum(row) for row in rows}) == 1,
                "a step is a square table of rows with one sum",
            )
            need(sum(rows[0]) > 0, "a step goes somewhere")
        self.marginals = [self.first]
        for rows in self.steps:
            before = self.marginals[-1]
            after = [sum(map(mul, before, column)) for column in zip(*rows, strict=True)]
            self.marginals.append(reduced([after])[0])

    def share(self, t: int, v: int) -> Fraction:
        """The probability that record t has value v."""
        return Fraction(self.marginals[t][v], sum(self.marginals[t]))


class Ratios:
    """For each ordered pair of values of a private record, the largest ratio of any event met so far."""

    def __init__(self, values: list[int]) -> None:
        self.largest = {(x, y): Fraction(1) for x in values for y in values if x != y}

    def meet(self, weight: dict[int, Fraction]) -> None:
        """An event, by its probability under each value, up to a factor that all of them share."""
        for x, y in self.largest:
            if weight[x] > 0:
                need(weight[y] > 0, "a release rules a value of the private record out")
                self.largest[x, y] = max(self.largest[x, y], weight[x] / weight[y])


def right(chain: Chain, hide: Table, total: int, p: int, values: list[int]) -> Ratios:
    """Walk from the private record to the end; rows: by its value, what is reached with all records between hidden."""
    rows, ratios = [[int(v == x) for v in range(chain.k)] for x in values], Ratios(values)
    for t in range(p + 1, chain.n):
        step = chain.steps[t - 1]
        rows = [[sum(a * step[u][v] for u, a in enumerate(row)) for v in range(chain.k)] for row in rows]
        for v in range(chain.k):
            if hide[t][v] < total:
                ratios.meet({x: Fraction(row[v]) for x, row in zip(values, rows, strict=True)})
        rows = reduced([[a * h for a, h in zip(row, hide[t], strict=True)] for row in rows])
    ratios.meet({x: Fraction(sum(row)) for x, row in zip(values, rows, strict=True)})
    return ratios


def left(chain: Chain, hide: Table, total: int, p: int, values: list[int]) -> Ratios:
    """Walk from the private record to the beginning; rows: by the value of record t, the weight of each private value.

    By Bayes' rule the probability of a record given the private value is that of the private value given the record,
    over that of the private value, up to the probability of the record.
    """
    rows, ratios = [[int(v == x) for x in values] for v in range(chain.k)], Ratios(values)
    for t in range(p - 1, -1, -1):
        across = list(zip(*rows, strict=True))
        rows = [[sum(map(mul, step, column)) for column in across] for step in chain.steps[t]]
        for v in range(chain.k):
            if hide[t][v] < total and chain.marginals[t][v]:
                ratios.meet({x: a / chain.share(p, x) for x, a in zip(values, rows[v], strict=True)})
        rows = reduced([[a * h for a in row] for h, row in zip(hide[t], rows, strict=True)])
    start = [sum(map(mul, chain.first, column)) for column in zip(*rows, strict=True)]
    ratios.meet({x: a / chain.share(p, x) for x, a in zip(values, start, strict=True)})
    return ratios


def check(problem: Any, mechanism: Any, claim: Any, proofs: list[Any], bits: int) -> list[str]:
    """What a file proves, in sentences; raises an error if anything that it says is not proved."""
    chain, hide, total = Chain(problem), table(mechanism["hide"]), table([[mechanism["total"]]])[0][0]
    below, _ = levels(problem["levels"], bits)
    need(len(hide) == chain.n and len(hide[0]) == chain.k, "each record has a weight for each value")
    need(0 < total >= max(map(max, hide)), "a record is hidden with probability 1 at most")
    said = [
        f"PROVED: each of the records {problem['private']} is private, level {problem['levels']['upper']['level']}"
    ]
    for place in problem["private"]:
        p = position(place, chain.n)
        values = [x for x in range(chain.k) if chain.marginals[p][x]]
        if len(values) > 1:
            need(all(hide[p][x] == total for x in values), "a private record is always hidden")
            before, after = (side(chain, hide, total, p, values).largest for side in (left, right))
            most = max(before[pair] * after[pair] for pair in before)
            need(most <= below["upper"], f"record {p} leaks more")
    if "released" in claim:
        weights = [number(w) for w in problem["weights"]]
        shown = [
            1 - sum(chain.share(t, v) * Fraction(hide[t][v], total) for v in range(chain.k))
            for t in range(chain.n)
        ]
        mean = sum((w * s for w, s in zip(weights, shown, strict=True)), Fraction(0)) / sum(weights)
        need(min(weights) >= 0 and mean >= number(claim["released"]), "less is released")
        said.append(f"PROVED: the share that is released is at least {claim['released']}")
    need(not proofs, "bounds are not of this kind of file")
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


def artanh(s: Fraction, bits: int) -> tuple[int, int]:
    """Integers around 2^bits (s + s^3/3 + s^5/5 + ...) for 0 <= s <= 1/3: each term rounded down, and up."""
    low, high, k, down, up = 0, 0, 1, s * 2**bits // 1, -(-s * 2**bits // 1)
    before, after = s * s * 2**bits // 1, -(-s * s * 2**bits // 1)
    while up > 1:
        low, high, k = low + down // k, high - (-up // k), k + 2
        down, up = down * before >> bits, -(-up * after >> bits)
    return low, high + 2 * up  # the terms that are left out are at most up, up / 9, up / 81, ...


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
    main("redaction", check, sys.argv[1])
