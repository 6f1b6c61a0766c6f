"""Check what a release says of the secret S and of the useful symbol X on average, and that no release trades better.

Run alone: python checker_trade_off.py proof.txt. A release leaves a posterior v of the input, and posteriors average to the
distribution P of the input. So for any prices, every release has s I(S;Y) + x I(X;Y) <= s H(S) + x H(X) - prices . P - least, if s H(S | v) + x H(X | v) - prices . v >= least for every v.
One of s and x is positive: on a box its -t ln t lie above lines that do not cross them at the ends. The other is negative:
-H(q) >= sum of q_k ln r_k for any distribution r (Gibbs). What is left is linear in v, so least where one input is certain.
"""

from __future__ import annotations

import json
import sys
from fractions import Fraction
from functools import cache
from math import lcm
from typing import Any

Row = list[Fraction]


def entropy(weights: list[list[int]], bits: int) -> tuple[Fraction, Fraction]:
    """Rationals around the entropy of a symbol, from its weights with the input: what it says of itself."""
    sums = [sum(row) for row in weights]
    need(len(sums) <= 1000, "up to 1000 symbols are read")
    return information([[v * (x == i) for i in range(len(sums))] for x, v in enumerate(sums)], bits)


class Cost:
    """s H(S | v) + x H(X | v) - prices . v, and what is known of it on boxes of the symbol with the positive factor."""

    def __init__(self, problem: Any, proof: Any, bits: int) -> None:
        total, self.bits = prior(problem), bits
        inputs = [w for w, weight in enumerate(total) if weight]
        self.factors = {"secret": number(proof["secret"]), "useful": number(proof["useful"])}
        self.weights = {"secret": table(problem["distribution"]), "useful": useful(problem)}
        up, down = ("secret", "useful") if self.factors["secret"] > 0 else ("useful", "secret")
        need(self.factors[up] >= 0 >= self.factors[down], "one factor is positive and one is negative")
        self.up, self.down = self.factors[up], -self.factors[down]
        self.seen = [[Fraction(row[w], total[w]) for w in inputs] for row in self.weights[up]]
        self.other = [[Fraction(row[w], total[w]) for w in inputs] for row in self.weights[down]]
        self.mean, self.prices = (
            [Fraction(total[w], sum(total)) for w in inputs],
            [*map(number, proof["prices"])],
        )
        self.itself = up == "useful" and "useful" not in problem and len(inputs) == len(total) and self.up > 0
        self.most = sum(map(any, self.weights["secret"]))
        self.phi = cache(
            lambda t: phi(t, bits)
        )  # of the ends of boxes, most of which are those of others, too

    def least(self, tree: Any) -> Fraction:
        """The least over the boxes of a tree; a node splits the box at hand, and its first part comes first.

        Where X is the input, a node may also split on whether an input is possible, impossible first. A least v has no more
        possible inputs than S has values: else v could move where P(S | v) stays, along which the cost is strictly concave.
        """
        k, least = len(self.seen), []
        boxes = [([*map(min, self.seen)], [*map(max, self.seen)], frozenset[int]())]
        for node in tree:
            low, high, possible = boxes.pop()
            if "support" in node:
                need(self.itself, "inputs are only split where X is the input")
                w = position(node["support"], k)
                closed = [Fraction(0) if i == w else v for i, v in enumerate(high)]
                more = possible | {w}
                open_ = [v if i in more or len(more) < self.most else Fraction(0) for i, v in enumerate(high)]
                boxes += [(low, open_, more), (low, closed, possible)]
            elif "at" in node:
                x, t = position(node["x"], k), number(node["at"])
                less, more_ = (
                    [*high[:x], min(t, high[x]), *high[x + 1 :]],
                    [*low[:x], max(t, low[x]), *low[x + 1 :]],
                )
                boxes += [(*tight(more_, high), possible), (*tight(low, less), possible)]
            elif all(a <= b for a, b in zip(low, high, strict=True)):
                least.append(self.leaf(low, high, node))
        need(not boxes, "a box has no leaf")
        return min(least)

    def leaf(self, low: Row, high: Row, node: Any) -> Fraction:
        """A lower bound on a box, from slopes of lines and a distribution."""
        slopes, r = [number(v) for v in node["slopes"]], [number(v) for v in node["r"]]
        ends = list(zip(low, high, slopes, strict=True))
        feet = [min(self.phi(a) - s * a, self.phi(b) - s * b) for a, b, s in ends]
        logs = [log(v / sum(r), self.bits)[0] for v in r]
        columns = zip(zip(*self.seen, strict=True), zip(*self.other, strict=True), self.prices, strict=True)
        linear = [self.up * dot(slopes, a) + self.down * dot(logs, b) - price for a, b, price in columns]
        return self.up * sum(feet) + min(linear)

    def most_weighed(self, tree: Any) -> Fraction:
        """No release has more of s I(S;Y) + x I(X;Y)."""
        ends = [(f, entropy(self.weights[name], self.bits)) for name, f in self.factors.items()]
        whole = sum((f * (high if f > 0 else low) for f, (low, high) in ends), Fraction(0))
        return whole - dot(self.prices, self.mean) - self.least(tree)


def most(problem: Any, proof: Any, bits: int) -> Fraction:
    """No release has more of s I(S;Y) + x I(X;Y), about classes and what a class leaves open where they are named."""
    smaller, within = joined(problem, proof, bits)
    return (
        Cost(smaller, proof, bits).most_weighed(proof["tree"])
        + max(Fraction(0), number(proof["useful"])) * within
    )


def tight(low: Row, high: Row) -> tuple[Row, Row]:
    """The part of a box that distributions are in."""
    sums = sum(low), sum(high)
    least = [max(a, 1 - sums[1] + b) for a, b in zip(low, high, strict=True)]
    return least, [min(b, 1 - sums[0] + a) for a, b in zip(low, high, strict=True)]


def check(problem: Any, mechanism: Any, claim: Any, proofs: list[Any], bits: int) -> list[str]:
    """What a file proves, in sentences; raises an error if anything that it says is not proved."""
    rows, total = channel(mechanism, len(prior(problem)))
    columns = list(zip(*rows, strict=True))
    said = []
    for name, weights in (("secret", table(problem["distribution"])), ("useful", useful(problem))):
        if name in claim:
            ends, stated = information([[dot(row, y) for y in columns] for row in weights], bits), claim[name]
            need(
                number(stated[0]) <= ends[0] and ends[1] <= number(stated[1]), f"it says otherwise of {name}"
            )
            said.append(f"PROVED: it says {stated} nats of the {name} symbol")
    if "maximal" in claim:  # e^(maximal leakage): the sum over releases of the largest P(y | secret)
        secrets = [row for row in table(problem["distribution"]) if any(row)]
        tops = [max(dot(row, column) / sum(row) for row in secrets) for column in columns]
        need(
            sum(tops) <= total * levels({"y": claim["maximal"]}, bits)[0]["y"],
            "its maximal leakage is larger",
        )
        said.append(f"PROVED: its maximal leakage is at most {claim['maximal']['level']} nats")
    if "cost" in claim:
        each = [dot(*pair) / total for pair in zip(costs(problem), rows, strict=True)]
        need("worst" not in problem and sum(each) <= number(claim["cost"]), "it costs more")
        said.append(f"PROVED: it costs at most {claim['cost']}")
    for proof in proofs:
        s, x, bound = proof["secret"], proof["useful"], number(proof["bound"])
        need(most(problem, proof, bits) <= bound, "no proof of the bound")
        said.append(f"PROVED: {s} I(S;Y) + {x} I(X;Y) <= {bound} for every release")
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


def useful(problem: Any) -> list[list[int]]:
    """Weights of the useful symbol x and the input w, a row a symbol; the input itself if nothing else is said."""
    total = prior(problem)
    need(max(len(total), len(problem.get("useful", ()))) <= 1000, "up to 1000 symbols are read")
    if "useful" not in problem:
        return [[p * (x == w) for w, p in enumerate(total)] for x in range(len(total))]
    need([sum(c) for c in zip(*table(problem["useful"]), strict=True)] == total, "useful is of other inputs")
    return table(problem["useful"])


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
    main("trade_off", check, sys.argv[1])
