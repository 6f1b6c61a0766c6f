"""Check that releases shift the odds of secrets beyond two levels with a small probability only, and what a mechanism is worth.

Run alone: python checker_exceptions.py proof.txt. A secret s and a release y are an exception if P(y | s) > e^upper P(y) or
P(y) > e^lower P(y | s). All exceptions together must have a probability of at most delta. Inputs that never occur must be none.
"""

from __future__ import annotations

import json
import sys
from fractions import Fraction
from math import lcm
from typing import Any


def kept(own: Fraction, mean: Fraction, below: dict[str, Fraction]) -> bool:
    """Whether P(y | s) is within the levels around P(y)."""
    rises = "upper" in below and own > below["upper"] * mean
    return not rises and not ("lower" in below and mean > below["lower"] * own)


def exceptions(problem: Any, columns: list[list[Fraction]], below: dict[str, Fraction]) -> Fraction:
    """The probability of all exceptions, from P(y | input), a list a release."""
    weights, beyond = prior(problem), Fraction(0)
    for column in columns:
        mean = dot(weights, column) / sum(weights)
        for row in table(problem["distribution"]):
            if any(row) and not kept(dot(row, column) / sum(row), mean, below):
                beyond += dot(row, column) / sum(weights)
        for weight, v in zip(weights, column, strict=True):
            need(weight > 0 or kept(v, mean, below), "an input that never occurs gives itself away")
    return beyond


def check(problem: Any, mechanism: Any, claim: Any, proofs: list[Any], bits: int) -> list[str]:
    """What a file proves, in sentences; raises an error if anything that it says is not proved."""
    (below, _), delta = levels(problem["levels"], bits), number(problem["delta"])
    need(set() < set(below) <= {"upper", "lower"}, "the levels are upper and lower, or one of them")
    rows, total = channel(mechanism, len(prior(problem)))
    columns = [[Fraction(v, total) for v in column] for column in zip(*rows, strict=True)]
    need(exceptions(problem, columns, below) <= delta, "the exceptions are likelier than delta")
    said = [
        f"PROVED: but for a probability of {delta}, {k} {v['level']}" for k, v in problem["levels"].items()
    ]
    if "cost" in claim:
        each = [dot(*pair) / total for pair in zip(costs(problem), rows, strict=True)]
        need("worst" not in problem and sum(each) <= number(claim["cost"]), "it costs more")
        said.append(f"PROVED: the mechanism costs at most {claim['cost']}")
    if "information" in claim:
        joint = [[dot(of_x, column) for column in columns] for of_x in useful(problem)]
        need(information(joint, bits)[0] >= number(claim["information"]), "the mechanism says less")
        said.append(f"PROVED: the mechanism says at least {claim['information']} nats of the useful symbol")
    need(not proofs, "bounds are not of this kind of file")
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
    need(value in range(count) and type(value) is int, f"{value!r} is not one of {count} positions")
    return int(value)


def table(rows: Any) -> list[list[int]]:
    """Rows of equally many integers >= 0."""
    good = all(type(v) is int and v >= 0 for row in rows for v in row) and len(set(map(len, rows))) == 1
    need(good, "a table has rows of equally many integers >= 0")
    return [list(row) for row in rows]


def dot(first: Any, second: Any) -> Fraction:
    """The sum of products."""
    return sum((Fraction(a * b) for a, b in zip(first, second, strict=True)), Fraction(0))


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
        need(log(below[name], bits)[1] <= level <= log(above[name], bits)[0], f"{name}: not around e^level")
    return below, above


def prior(problem: Any) -> list[int]:
    """How often each input occurs."""
    return [*map(sum, zip(*table(problem["distribution"]), strict=True))]


def costs(problem: Any) -> list[list[Fraction]]:
    """What releasing y costs at input w: the mean loss, times P(w) unless the worst input counts."""
    loss, total = [[number(v) for v in row] for row in problem["loss"]], prior(problem)
    if "useful" in problem:  # the loss is of a symbol x, which occurs with w as often as useful[x][w] says
        seen, columns = table(problem["useful"]), list(zip(*loss, strict=True))
        need([*map(sum, zip(*seen, strict=True))] == total, "useful is of other inputs")
        return [[dot(column, of_w) / sum(total) for column in columns] for of_w in zip(*seen, strict=True)]
    own = [loss[position(i, len(loss))] for i in problem.get("loss_of", range(len(total)))]
    share = [Fraction(1) if problem.get("worst") else Fraction(p, sum(total)) for p in total]
    return [[p * d for d in row] for p, row in zip(share, own, strict=True)]


def channel(mechanism: Any, inputs: int) -> tuple[list[list[int]], int]:
    """P(y | w) times a total, and that total."""
    rows, total = table(mechanism["rows"]), lcm(*map(sum, mechanism["rows"]))
    of = [rows[position(i, len(rows))] for i in mechanism.get("of", range(len(rows)))]
    need(len(of) == inputs and total > 0, "each input has a row with a positive sum")
    return [[v * (total // sum(row)) for v in row] for row in of], total


def useful(problem: Any) -> list[list[int]]:
    """Weights of the useful symbol x and the input w, a row a symbol; the input itself if nothing else is said."""
    total = prior(problem)
    if "useful" not in problem:
        return [[p * (x == w) for w, p in enumerate(total)] for x in range(len(total))]
    need([sum(c) for c in zip(*table(problem["useful"]), strict=True)] == total, "useful is of other inputs")
    return table(problem["useful"])


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
    main("exceptions", check, sys.argv[1])
