"""Check that a release is private and keeps tables in expectation, and that no private one that keeps them costs less.

Run alone: python checker_post_randomisation.py proof.txt. Privacy and losses are as in checker.py. What is released follows the
distribution of the input, and so do the tables in "kept": of the records that a row of one counts, each release y is expected
as often as the row counts y. For bounds these equations have prices of either sign, beside those of the comparisons.
"""

from __future__ import annotations

import json
import sys
from fractions import Fraction
from itertools import permutations
from math import lcm
from typing import Any


def kept(problem: Any, inputs: int) -> list[list[int]]:
    """Rows of weights of the inputs that a release keeps, that of all records first."""
    rows = [prior(problem), *(table(problem["kept"]) if problem["kept"] else [])]
    need(all(len(row) == inputs for row in rows), "a table that is kept has a weight for each input")
    return rows


def stays(problem: Any, rows: list[list[int]], total: int) -> None:
    """Every release is expected as often as its symbol, in each row that is kept."""
    columns = list(zip(*rows, strict=True))
    need(len(columns) == len(rows), "inputs and releases are the same symbols")
    for row in kept(problem, len(rows)):
        moved = [dot(row, column) for column in columns]
        need(moved == [v * total for v in row], "a table does not stay as it is")


def least_cost(problem: Any, above: dict[str, Fraction], proof: Any) -> Fraction:
    """No private mechanism that keeps the tables costs less, by weak duality: see checker.py, and prices of the equations."""
    cost, (hypotheses, pairs), given = costs(problem), compared(problem), Fraction(0)
    for row, values in zip(kept(problem, len(cost)), proof["kept"], strict=True):
        prices = [number(v) for v in values]
        given += dot(row, prices)
        cost = [
            [c + v * price for c, price in zip(at, prices, strict=True)]
            for v, at in zip(row, cost, strict=True)
        ]
    for place, values in proof["prices"]:
        (i, j, name), prices = pairs[position(place, len(pairs))], [number(v) for v in values]
        need(min(prices) >= 0, "prices are at least 0")
        for h, sign in ((hypotheses[i], Fraction(1)), (hypotheses[j], -above[name])):
            for w, v in h.items():
                part = sign * Fraction(v, sum(h.values()))
                cost[w] = [c + part * price for c, price in zip(cost[w], prices, strict=True)]
    return sum(map(min, cost), -given)


def check(problem: Any, mechanism: Any, claim: Any, proofs: list[Any], bits: int) -> list[str]:
    """What a file proves, in sentences; raises an error if anything that it says is not proved."""
    rows, total, above = private(problem, mechanism, bits)
    need(number(problem["slack"]) == 0 and "worst" not in problem, "no slack, and mean losses")
    stays(problem, rows, total)
    said = [f"PROVED: private, {problem['notion']}, {k} {v['level']}" for k, v in problem["levels"].items()]
    said.append(
        f"PROVED: the distribution of the symbols stays as it is, and {len(problem['kept'])} rows of tables"
    )
    each = [dot(*pair) / total for pair in zip(costs(problem), rows, strict=True)]
    need(sum(each) <= number(claim["cost"]), "it costs more")
    said.append(f"PROVED: the mechanism costs at most {claim['cost']}")
    for proof in proofs:
        need(least_cost(problem, above, proof) >= number(proof["bound"]), "the prices do not prove the bound")
        said.append(f"PROVED: none that is private and keeps all this costs less than {proof['bound']}")
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


def compared(problem: Any) -> tuple[list[dict[int, int]], list[tuple[int, int, str]]]:
    """Hypotheses, as weights of inputs, and (i, j, level): P(y | i) <= e^level P(y | j) for every release y."""
    total, notion, named = prior(problem), problem["notion"], set(problem["levels"])
    n, secrets = len(total), [row for row in table(problem["distribution"]) if any(row)]
    if notion == "pairs":  # the inputs themselves, each pair in both directions
        listed = [(position(u, n), position(v, n), name) for u, v, name in problem["pairs"]]
        return [{w: 1} for w in range(n)], listed + [(v, u, name) for u, v, name in listed]
    *rows, whole = [{w: v for w, v in enumerate(row) if v} for row in [*secrets, total]]
    rows += [{w: 1} for w in range(n) if total[w] == 0]  # who never occurs must not be told apart
    last = len(rows)
    if notion == "lip":  # against all together, which is what is expected before the release
        need(set() < named <= {"upper", "lower"}, "lip has the levels upper and lower, or one of them")
        pairs = [(i, last, "upper") for i in range(last)] + [(last, i, "lower") for i in range(last)]
    else:  # against each other
        need(notion == "ldp" and named == {"upper"}, "the notion is lip, pairs, or ldp with the level upper")
        need(last <= 2000, "up to 2000 secrets are compared with each other")
        pairs = [(i, j, "upper") for i, j in permutations(range(last), 2) if min(i, j) < len(secrets)]
    return [*rows, whole], [p for p in pairs if p[2] in named]


def costs(problem: Any) -> list[list[Fraction]]:
    """What releasing y costs at input w: the mean loss, times P(w) unless the worst input counts."""
    loss, total = [[number(v) for v in row] for row in problem["loss"]], prior(problem)
    need(len(total) * max(map(len, loss)) <= 4 * 10**6, "up to 4 million losses are read")
    if "useful" in problem:  # the loss is of a symbol x, which occurs with w as often as useful[x][w] says
        seen, columns = table(problem["useful"]), list(zip(*loss, strict=True))
        same = [*map(sum, zip(*seen, strict=True))] == total
        need(same and "worst" not in problem, "useful is of the same inputs, and the mean loss counts")
        return [[dot(column, of_w) / sum(total) for column in columns] for of_w in zip(*seen, strict=True)]
    own = [loss[position(i, len(loss))] for i in problem.get("loss_of", range(len(total)))]
    share = [Fraction(1) if problem.get("worst") else Fraction(p, sum(total)) for p in total]
    return [[p * d for d in row] for p, row in zip(share, own, strict=True)]


def channel(mechanism: Any, inputs: int) -> tuple[list[list[int]], int]:
    """P(y | w) times a total, and that total."""
    rows, total = table(mechanism["rows"]), lcm(*map(sum, mechanism["rows"]))
    of = [rows[position(i, len(rows))] for i in mechanism.get("of", range(len(rows)))]
    need(len(of) == inputs and total > 0, "each input has a row with a positive sum")
    need(inputs * len(rows[0]) <= 4 * 10**6, "up to 4 million probabilities are checked")
    return [[v * (total // sum(row)) for v in row] for row in of], total


def private(problem: Any, mechanism: Any, bits: int) -> tuple[list[list[int]], int, dict[str, Fraction]]:
    """Check every comparison; returns the rows of the mechanism, their total, and the numbers above e^level."""
    (below, above), (rows, total) = levels(problem["levels"], bits), channel(mechanism, len(prior(problem)))
    hypotheses, pairs = compared(problem)
    outputs = [[sum(v * rows[w][y] for w, v in h.items()) for y in range(len(rows[0]))] for h in hypotheses]
    seen = [[Fraction(v, sum(h.values())) for v in sums] for h, sums in zip(hypotheses, outputs, strict=True)]
    for i, j, name in pairs:
        beyond = sum(max(Fraction(0), a - below[name] * b) for a, b in zip(seen[i], seen[j], strict=True))
        need(beyond <= number(problem["slack"]) * total, f"not private: hypothesis {i} against {j}")
    for row, ends in zip(rows, problem.get("prescribed", ()), strict="prescribed" in problem):
        met = [number(a) * total <= v <= number(b) * total for v, (a, b) in zip(row, ends, strict=True)]
        need(all(met), "what is prescribed is not met")
    return rows, total, above


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
    main("post_randomisation", check, sys.argv[1])
