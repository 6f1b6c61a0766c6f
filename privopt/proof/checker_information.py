"""Check that a private release says something of the useful symbol, and that no private one says more.

Run alone: python checker_information.py proof.txt. Releases leave posteriors v of the input, which average to
its distribution P, and say H(X) - H(X | v) of the useful symbol X. So for any prices no private release says more than
H(X) - prices . P - least, if H(X | v) - prices . v >= least for all v >= 0 with sum 1 and row . v <= 0, a row for each comparison.
The least is that of all vertices, as it is concave; or on boxes that of lines below each -t ln t.
"""

from __future__ import annotations

import json
import sys
from fractions import Fraction
from itertools import combinations, permutations, product
from math import comb, lcm
from typing import Any

Row = list[Fraction]


def useful(problem: Any) -> list[list[int]]:
    """Weights of the useful symbol x and the input w, a row a symbol; the input itself if nothing else is said."""
    total = prior(problem)
    need(max(len(total), len(problem.get("useful", ()))) <= 1000, "up to 1000 symbols are read")
    if "useful" not in problem:
        return [[p * (x == w) for w, p in enumerate(total)] for x in range(len(total))]
    need([sum(c) for c in zip(*table(problem["useful"]), strict=True)] == total, "useful is of other inputs")
    return table(problem["useful"])


def phi(t: Fraction, bits: int) -> Fraction:
    """A rational at most -t ln t."""
    return -t * log(t, bits)[1] if t else Fraction(0)


def information(joint: list[Any], bits: int) -> tuple[Fraction, Fraction]:
    """Rationals around I(X;Y), from the weights of x and y: sum of p(x, y) ln(p(x, y) / p(x) p(y))."""
    whole, columns, ends = sum(map(sum, joint)), [*map(sum, zip(*joint, strict=True))], [Fraction(0)] * 2
    for row in joint:
        for v, column in zip(row, columns, strict=True):
            if v:
                lift = log(Fraction(v * whole, sum(row) * column), bits)
                ends = [end + Fraction(v, whole) * side for end, side in zip(ends, lift, strict=True)]
    return ends[0], ends[1]


def joined(problem: Any, proof: Any, bits: int) -> tuple[Any, Fraction]:
    """The problem about classes of inputs W that say the same of the secret, if a proof names them, and at most H(W | class)."""
    if "classes" not in proof:
        return problem, Fraction(0)
    need("useful" not in problem, "only what is said of the input itself is divided in a class")
    rows, total = table(problem["distribution"]), prior(problem)
    kinds = [position(c, len(total)) for c in proof["classes"]]
    members = [[p * (c == k) for p, c in zip(total, kinds, strict=True)] for k in range(max(kinds) + 1)]
    sums = [[sum(v for v, p in zip(row, of, strict=True) if p) for of in members] for row in rows]
    for row, of in zip(rows, sums, strict=True):
        same = [v * sum(members[c]) == of[c] * p for v, c, p in zip(row, kinds, total, strict=True)]
        need(all(same), "members of a class say otherwise of the secret")
    within = information(useful(problem), bits)[1] - information(members, bits)[0]
    return {**problem, "distribution": sums}, within


class Posteriors:
    """What privacy allows a posterior v of the inputs that occur to be, and H(X | v) - prices . v."""

    def __init__(self, problem: Any, above: dict[str, Fraction], prices: Any, bits: int) -> None:
        (hypotheses, pairs), total, self.bits = compared(problem), prior(problem), bits
        need(problem["notion"] != "pairs" and number(problem["slack"]) == 0, "lip or ldp, without slack")
        inputs, self.prices = [w for w, weight in enumerate(total) if weight], [number(v) for v in prices]
        self.seen = [[Fraction(row[w], total[w]) for w in inputs] for row in useful(problem)]
        self.parts = [[(x, v) for x, v in enumerate(c) if v] for c in zip(*self.seen, strict=True)]
        self.known = dict[Fraction, Fraction]()
        self.most = sum(any(row) for row in problem["distribution"])  # every row is a mean of so many
        never = {w for w, weight in enumerate(total) if not weight}  # no posterior depends on them
        shares = [{w: Fraction(v, sum(h.values())) for w, v in h.items()} for h in hypotheses]
        kept = [p for p in pairs if not never & {*shares[p[0]], *shares[p[1]]}]
        self.rows = [
            [(shares[i].get(w, 0) - above[name] * shares[j].get(w, 0)) / total[w] for w in inputs]
            for i, j, name in kept
        ]

    def phi(self, t: Fraction) -> Fraction:
        """A rational at most -t ln t, computed once."""
        if t not in self.known:
            self.known[t] = phi(t, self.bits)
        return self.known[t]

    def least_at_vertices(self) -> Fraction:
        """At every vertex: k inputs have positive probability, and k - 1 independent rows are 0.

        All rows are combinations of the distributions of the inputs under the secrets, so k is at most their number.
        """
        least, n = [], len(self.prices)
        sizes = range(1, min(self.most, n) + 1)
        need(sum(comb(n, k) * comb(len(self.rows), k - 1) for k in sizes) <= 10**5, "too many vertices")
        for k in sizes:
            for some, tight in product(combinations(range(n), k), combinations(self.rows, k - 1)):
                part = solved([[Fraction(1)] * k, *([row[w] for w in some] for row in tight)])
                chances = dict(zip(some, part or [], strict=part is not None))
                v = [chances.get(w, Fraction(0)) for w in range(n)]
                if part and min(part) >= 0 and all(dot(row, v) <= 0 for row in self.rows):
                    least.append(sum((phi(dot(x, v), self.bits) for x in self.seen), -dot(self.prices, v)))
        return min(least)

    def least_over_tree(self, tree: Any) -> Fraction:
        """Over boxes low <= P(x | v) <= high; a node splits the box at hand, and the lower part comes first."""
        k, least = len(self.seen), []
        boxes = [([*map(min, self.seen)], [*map(max, self.seen)])]
        for node in tree:
            low, high = boxes.pop()
            if "cuts" in node:
                least.append(number(node["enough"]))
                low, high = self.open_part(low, high, node)
            if "at" in node:
                x, t = position(node["x"], k), number(node["at"])
                boxes += [([*low[:x], t, *low[x + 1 :]], high), (low, [*high[:x], t, *high[x + 1 :]])]
            else:
                least.append(self.leaf(low, high, node))
        need(not boxes, "a box has no leaf")
        return min(least)

    def open_part(self, low: Row, high: Row, node: Any) -> tuple[Row, Row]:
        """Without what is above t, of cuts [x, 1, t], or below it, of [x, 0, t], where the lines of a leaf prove enough."""
        least, ends = self.leaf(low, high, node), ([*low], [*high])
        for x, side, at in node["cuts"]:
            t, sides, slope = number(at), (low[position(x, len(low))], high[x]), number(node["slopes"][x])
            line = [self.phi(v) - slope * v for v in (*sides, t)]
            need(sides[0] <= t <= sides[1] and side in (0, 1), "a cut outside of its box")
            need(least - min(line[:2]) + min(line[side], line[2]) >= number(node["enough"]), "a cut too deep")
            ends[side][x] = t
        return ends

    def leaf(self, low: Row, high: Row, node: Any) -> Fraction:
        """Lines of any slope, lowered until they are not above at an end, and prices of rows leave what is linear in v."""
        slopes = [number(v) for v in node["slopes"]]
        ends = list(zip(low, high, slopes, strict=True))
        feet = [min(self.phi(a) - s * a, self.phi(b) - s * b) for a, b, s in ends]
        paid = zip(self.parts, self.prices, strict=True)
        linear = [sum((slopes[x] * v for x, v in part), -price) for part, price in paid]
        for i, price in node["rows"]:
            need(number(price) >= 0, "prices are at least 0")
            row = self.rows[position(i, len(self.rows))]
            linear = [a + number(price) * b for a, b in zip(linear, row, strict=True)]
        return sum(feet, min(linear))


def most_information(problem: Any, above: dict[str, Fraction], proof: Any, bits: int) -> Fraction:
    """No private mechanism says more: H(X) - prices . P - least, about classes and what a class leaves open where they are named."""
    problem, within = joined(problem, proof, bits)
    total, seen, allowed = prior(problem), useful(problem), Posteriors(problem, above, proof["prices"], bits)
    least = allowed.least_over_tree(proof["tree"]) if "tree" in proof else allowed.least_at_vertices()
    itself = [[sum(of_x) * (x == i) for i in range(len(seen))] for x, of_x in enumerate(seen)]
    paid = dot(allowed.prices, [Fraction(weight, sum(total)) for weight in total if weight])
    return within + information(itself, bits)[1] - paid - least


def check(problem: Any, mechanism: Any, claim: Any, proofs: list[Any], bits: int) -> list[str]:
    """What a file proves, in sentences; raises an error if anything that it says is not proved."""
    (rows, _, above), releases = private(problem, mechanism, bits), range(len(mechanism["rows"][0]))
    joint = [[dot(of_x, [row[y] for row in rows]) for y in releases] for of_x in useful(problem)]
    need(information(joint, bits)[0] >= number(claim["information"]), "the mechanism says less")
    said = [f"PROVED: private, {problem['notion']}, {k} {v['level']}" for k, v in problem["levels"].items()]
    said.append(f"PROVED: the mechanism says at least {claim['information']} nats of the useful symbol")
    for proof in proofs:
        need(most_information(problem, above, proof, bits) <= number(proof["bound"]), "no proof of the bound")
        said.append(f"PROVED: no private mechanism says more than {proof['bound']} nats")
    return said


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
    main("information", check, sys.argv[1])
