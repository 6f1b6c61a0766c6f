"""Check that a private release says something of the useful symbol, and that no private one says more.

Run with checker.py beside it: python checker_information.py proof.txt. Releases leave posteriors v of the input, which average to
its distribution P, and say H(X) - H(X | v) of the useful symbol X. So for any prices no private release says more than
H(X) - prices . P - least, if H(X | v) - prices . v >= least for all v >= 0 with sum 1 and row . v <= 0, a row for each comparison.
The least is that of all vertices, as it is concave; or on boxes that of lines below each -t ln t.
"""

from __future__ import annotations

import sys
from fractions import Fraction
from itertools import combinations, product
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING or __package__:
    from privopt.proof.checker import compared, dot, log, main, need, number, position, prior, private, table
else:  # run as a program
    from checker import compared, dot, log, main, need, number, position, prior, private, table

Row = list[Fraction]


def useful(problem: Any) -> list[list[int]]:
    """Weights of the useful symbol x and the input w, a row a symbol; the input itself if nothing else is said."""
    total = prior(problem)
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


class Posteriors:
    """What privacy allows a posterior v of the inputs that occur to be, and H(X | v) - prices . v."""

    def __init__(self, problem: Any, above: dict[str, Fraction], prices: Any, bits: int) -> None:
        (hypotheses, pairs), total, self.bits = compared(problem), prior(problem), bits
        need(problem["notion"] != "pairs" and number(problem["slack"]) == 0, "lip or ldp, without slack")
        inputs = [w for w, weight in enumerate(total) if weight]
        self.prices = [number(v) for v in prices]
        self.seen = [[Fraction(row[w], total[w]) for w in inputs] for row in useful(problem)]
        self.most = sum(any(row) for row in problem["distribution"])  # every row is a mean of so many
        never = {w for w, weight in enumerate(total) if not weight}  # no posterior depends on them
        shares = [{w: Fraction(v, sum(h.values())) for w, v in h.items()} for h in hypotheses]
        kept = [
            (shares[i], shares[j], above[name])
            for i, j, name in pairs
            if not never & {*shares[i], *shares[j]}
        ]
        self.rows = [[(p.get(w, 0) - e * q.get(w, 0)) / total[w] for w in inputs] for p, q, e in kept]

    def least_at_vertices(self) -> Fraction:
        """At every vertex: k inputs have positive probability, and k - 1 independent rows are 0.

        All rows are combinations of the distributions of the inputs under the secrets, so k is at most their number.
        """
        least, n = [], len(self.prices)
        for k in range(1, min(self.most, n) + 1):
            for some, tight in product(combinations(range(n), k), combinations(self.rows, k - 1)):
                part = solved([[Fraction(1)] * k, *([row[w] for w in some] for row in tight)])
                v = [Fraction(0)] * n
                for w, chance in zip(some, part or [], strict=part is not None):
                    v[w] = chance
                if part and min(part) >= 0 and all(dot(row, v) <= 0 for row in self.rows):
                    least.append(sum((phi(dot(x, v), self.bits) for x in self.seen), -dot(self.prices, v)))
        return min(least)

    def least_over_tree(self, tree: Any) -> Fraction:
        """Over boxes low <= P(x | v) <= high; a node splits the box at hand, and the lower part comes first."""
        k, least = len(self.seen), []
        boxes = [([*map(min, self.seen)], [*map(max, self.seen)])]
        for node in tree:
            low, high = boxes.pop()
            if "at" in node:
                x, t = position(node["x"], k), number(node["at"])
                boxes += [([*low[:x], t, *low[x + 1 :]], high), (low, [*high[:x], t, *high[x + 1 :]])]
            else:
                least.append(self.leaf(low, high, node))
        need(not boxes, "a box has no leaf")
        return min(least)

    def leaf(self, low: Row, high: Row, node: Any) -> Fraction:
        """Lines of any slope, lowered until they are not above at an end, and prices of rows leave what is linear in v."""
        slopes = [number(v) for v in node["slopes"]]
        ends = list(zip(low, high, slopes, strict=True))
        feet = [min(phi(a, self.bits) - s * a, phi(b, self.bits) - s * b) for a, b, s in ends]
        linear = [dot(slopes, c) - p for c, p in zip(zip(*self.seen, strict=True), self.prices, strict=True)]
        for i, price in node["rows"]:
            need(number(price) >= 0, "prices are at least 0")
            row = self.rows[position(i, len(self.rows))]
            linear = [a + number(price) * b for a, b in zip(linear, row, strict=True)]
        return sum(feet, min(linear))


def most_information(problem: Any, above: dict[str, Fraction], proof: Any, bits: int) -> Fraction:
    """No private mechanism says more: H(X) - prices . P - least."""
    total, seen, allowed = prior(problem), useful(problem), Posteriors(problem, above, proof["prices"], bits)
    least = allowed.least_over_tree(proof["tree"]) if "tree" in proof else allowed.least_at_vertices()
    itself = [[sum(of_x) * (x == i) for i in range(len(seen))] for x, of_x in enumerate(seen)]
    paid = dot(allowed.prices, [Fraction(weight, sum(total)) for weight in total if weight])
    return information(itself, bits)[1] - paid - least


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
    k = len(rows)
    left = [[*row, Fraction(int(i == 0))] for i, row in enumerate(rows)]
    for column in range(k):
        pivot = next((i for i in range(column, k) if left[i][column]), None)
        if pivot is None:
            return None
        left[column], left[pivot] = left[pivot], left[column]
        left[column] = [a / left[column][column] for a in left[column]]
        for i in range(k):
            if i != column and left[i][column]:
                left[i] = [a - left[i][column] * b for a, b in zip(left[i], left[column], strict=True)]
    return [row[k] for row in left]


if __name__ == "__main__":
    main("information", check, sys.argv[1])
