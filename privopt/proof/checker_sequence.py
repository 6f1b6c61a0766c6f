"""Check that a policy which releases a stream letter by letter keeps each release private, over all that may be released.

Run alone: python checker_sequence.py proof.txt. The letters follow a Markov chain. After every course of
releases the file gives the kernel that is used next; the belief in the letters is followed in integers, by Bayes' rule and the
chain. Whatever was released before, a release y may make no letter x more than e^level times as likely or unlikely:
P(y | x) <= e^level P(y) and P(y) <= e^level P(y | x) for every x that is possible then.

A kernel M within e of what it releases, T, has T / e <= M <= e T. So for any prices it loses, of letters with distribution r, at
least sum_x price(x) + min_y of mean(y) + sum_x min(g / e, g e), where g = r(x) (loss(x, y) - mean(y)) - price(x): with a mean of
0 if r is not the belief, as sum_x r(x) M(y | x) is T(y) only then. The beliefs average to the rows of the chain, and what they
lose at least is concave; or all releases so far are one channel, of a level that they add up to.
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


def lost(problem: Any, mechanism: Any, below: Fraction) -> Fraction:
    """What all releases lose together, each of which is private."""
    first, steps = chain(problem)
    kernels = [channel(kernel, len(first)) for kernel in mechanism["kernels"]]
    loss, total = [[number(v) for v in row] for row in problem["loss"]], Fraction(0)
    reached = {
        (0, tuple(first)): Fraction(1)
    }  # kernels with the beliefs at which they are used, and how likely that is
    for place in [*problem["step_of"], None]:
        after = dict[tuple[int, tuple[int, ...]], Fraction]()
        for (node, belief), chance in reached.items():
            rows, unit = kernels[node]
            check_kernel(belief, rows, below)
            each, whole = [dot(*pair) for pair in zip(loss, rows, strict=True)], sum(belief) * unit
            total += chance * dot(belief, each) / whole
            for y in range(len(rows[0]) if place is not None else 0):
                posterior = [weight * row[y] for weight, row in zip(belief, rows, strict=True)]
                if any(posterior):
                    step = steps[position(place, len(steps))]
                    moved = [sum(map(mul, posterior, column)) for column in zip(*step, strict=True)]
                    common = gcd(*moved)
                    follows = position(mechanism["next"][node][y], len(kernels))
                    then = follows, tuple(v // common for v in moved)
                    after[then] = after.get(then, Fraction(0)) + chance * Fraction(sum(posterior), whole)
        need(len(after) <= len(kernels), "each kernel is used at one belief")
        reached = after
    return total


def kernel_cost(row: list[int], loss: list[list[Fraction]], e: Fraction, values: Any, means: Any) -> Fraction:
    """What any kernel within e loses at least of letters with these weights."""
    prices, costs = [number(v) for v in values], list[Fraction]()
    for mean, column in zip(map(number, means), zip(*loss, strict=True), strict=True):
        each = [Fraction(v, sum(row)) * (d - mean) - p for v, d, p in zip(row, column, prices, strict=True)]
        costs.append(sum((g / e if g > 0 else g * e for g in each), mean))
    return sum(prices, min(costs))


def least_cost(problem: Any, e: Fraction, proof: Any) -> Fraction:
    """What all releases of a private policy lose together at least; costs without means are given the letter before."""
    (first, steps), loss = chain(problem), [[number(v) for v in row] for row in problem["loss"]]
    weights, least = first, Fraction(0)
    for t, place in enumerate(proof["use"]):
        entry = proof["each"][position(place, len(proof["each"]))]
        rows, shares, level, means = [weights], [1], e ** (t + 1), entry.get("means")
        if t:
            step, before = steps[position(problem["step_of"][t - 1], len(steps))], weights
            weights = [sum(map(mul, before, column)) for column in zip(*step, strict=True)]
            weights = [v // gcd(*weights) for v in weights]
            rows, shares, level = (step, before, e) if means is None else ([weights], [1], level)
        given = [0] * len(loss[0]) if means is None else means
        each = [
            kernel_cost(row, loss, level, prices, given)
            for row, prices in zip(rows, entry["prices"], strict=True)
        ]
        least += dot(shares, each) / sum(shares)
    need(len(proof["use"]) == len(problem["step_of"]) + 1, "each release has a cost")
    return least


def chain(problem: Any) -> tuple[list[int], list[list[list[int]]]]:
    """Weights of the first letter, and the steps."""
    first = table([problem["initial"]])[0]
    return first, [square(rows, len(first)) for rows in problem["steps"]]


def check(problem: Any, mechanism: Any, claim: Any, proofs: list[Any], bits: int) -> list[str]:
    """What a file proves, in sentences; raises an error if anything that it says is not proved."""
    (below, above), count = levels(problem["levels"], bits), len(problem["step_of"]) + 1
    total = lost(problem, mechanism, below["letter"])
    need(total <= count * number(claim["cost"]), "more is lost")
    said = [f"PROVED: each of {count} releases is private, level {problem['levels']['letter']['level']}"]
    said.append(f"PROVED: a release loses at most {claim['cost']} on average")
    for proof in proofs:
        least = least_cost(problem, above["letter"], proof)
        need(least >= count * number(proof["bound"]), "the prices do not prove the bound")
        said.append(f"PROVED: no private policy loses less than {proof['bound']} on average")
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


def channel(mechanism: Any, inputs: int) -> tuple[list[list[int]], int]:
    """P(y | w) times a total, and that total."""
    rows, total = table(mechanism["rows"]), lcm(*map(sum, mechanism["rows"]))
    of = [rows[position(i, len(rows))] for i in mechanism.get("of", range(len(rows)))]
    need(len(of) == inputs and total > 0, "each input has a row with a positive sum")
    need(inputs * len(rows[0]) <= 4 * 10**6, "up to 4 million probabilities are checked")
    return [[v * (total // sum(row)) for v in row] for row in of], total


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
    main("sequence", check, sys.argv[1])
