"""Check that a policy which releases a stream letter by letter keeps each release private, over all that may be released.

Run alone: python checker_sequence.py proof.txt. The letters follow a Markov chain. After every course of
releases the file gives the kernel that is used next; the belief in the letters is followed in integers, by Bayes' rule and the
chain. Whatever was released before, a release y may make no letter x more than e^level times as likely or unlikely:
P(y | x) <= e^level P(y) and P(y) <= e^level P(y | x) for every x that is possible then.
"""

from __future__ import annotations

import json
import sys
from fractions import Fraction
from math import gcd, lcm
from operator import mul
from typing import Any


def square(rows: Any, k: int) -> list[list[int]]:
    """A step of the chain: rows of integers with one positive sum."""
    step = table(rows)
    need(
        len(step) == k == len(step[0]) and len({sum(row) for row in step}) == 1,
        "a step is square, its rows have one sum",
    )
    need(sum(step[0]) > 0, "a step goes somewhere")
    return step


def check_kernel(belief: tuple[int, ...], rows: list[list[int]], below: Fraction) -> None:
    """Every release against what is expected of it."""
    possible = [x for x, weight in enumerate(belief) if weight]
    for y in range(len(rows[0])):
        mean = Fraction(sum(belief[x] * rows[x][y] for x in possible), sum(belief))
        for x in possible:
            need(
                rows[x][y] <= below * mean and mean <= below * rows[x][y],
                f"release {y} says too much of {x}",
            )


def check(problem: Any, mechanism: Any, claim: Any, proofs: list[Any], bits: int) -> list[str]:
    """What a file proves, in sentences; raises an error if anything that it says is not proved."""
    first = table([problem["initial"]])[0]
    steps = [square(rows, len(first)) for rows in problem["steps"]]
    below, _ = levels(problem["levels"], bits)
    kernels = [channel(kernel, len(first))[0] for kernel in mechanism["kernels"]]
    need(not claim and not proofs, "only privacy is of this kind of file")
    reached = {(0, tuple(first))}  # kernels with the beliefs at which they are used
    for place in [*problem["step_of"], None]:
        after = set[tuple[int, tuple[int, ...]]]()
        for node, belief in reached:
            rows = kernels[node]
            check_kernel(belief, rows, below["letter"])
            for y in range(len(rows[0]) if place is not None else 0):
                posterior = [weight * row[y] for weight, row in zip(belief, rows, strict=True)]
                if any(posterior):
                    step = steps[position(place, len(steps))]
                    moved = [sum(map(mul, posterior, column)) for column in zip(*step, strict=True)]
                    common = gcd(*moved)
                    follows = position(mechanism["next"][node][y], len(kernels))
                    after.add((follows, tuple(v // common for v in moved)))
        reached = after
    return [
        f"PROVED: each of {len(problem['step_of']) + 1} releases is private, level {problem['levels']['letter']['level']}"
    ]


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
    need(value in range(count) and type(value) is int, f"{value!r} is not one of {count} positions")
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
        need(log(below[name], bits)[1] <= level <= log(above[name], bits)[0], f"{name}: not around e^level")
    return below, above


def channel(mechanism: Any, inputs: int) -> tuple[list[list[int]], int]:
    """P(y | w) times a total, and that total."""
    rows, total = table(mechanism["rows"]), lcm(*map(sum, mechanism["rows"]))
    of = [rows[position(i, len(rows))] for i in mechanism.get("of", range(len(rows)))]
    need(len(of) == inputs and total > 0, "each input has a row with a positive sum")
    return [[v * (total // sum(row)) for v in row] for row in of], total


def main(kind: str, check: Any, path: str) -> None:
    """Print what a file of this kind proves; or why it is refused, and leave with exit code 1."""
    sys.set_int_max_str_digits(0)
    try:
        with open(path, encoding="utf-8") as file:
            header, problem, mechanism, claim, *proofs = [json.loads(line) for line in file]
        bits = position(header.pop("bits"), 10**4)
        need(header == {"format": "privopt/proof", "version": 1, "kind": kind}, f"not of the kind {kind}")
        print(*check(problem, mechanism, claim, proofs, bits), sep="\n")
    except (ValueError, LookupError, TypeError, AttributeError, ArithmeticError) as cause:
        sys.exit(f"REFUSED: {type(cause).__name__}: {cause}")


if __name__ == "__main__":
    main("sequence", check, sys.argv[1])
