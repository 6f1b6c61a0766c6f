"""Check what a release says of the secret S and of the useful symbol X on average, and that no release trades better.

Run with checker.py and checker_information.py beside it: python checker_trade_off.py proof.txt. A release leaves a posterior v of
the input, and posteriors average to the distribution P of the input. So for any prices, every release has
s I(S;Y) + x I(X;Y) <= s H(S) + x H(X) - prices . P - least, if s H(S | v) + x H(X | v) - prices . v >= least for every v.
One of s and x is positive: on a box its -t ln t lie above lines that do not cross them at the ends. The other is negative:
-H(q) >= sum of q_k ln r_k for any distribution r (Gibbs). What is left is linear in v, so least where one input is certain.
"""

from __future__ import annotations

import sys
from fractions import Fraction
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING or __package__:
    from privopt.proof.checker import (
        channel,
        costs,
        dot,
        levels,
        log,
        main,
        need,
        number,
        position,
        prior,
        table,
    )
    from privopt.proof.checker_information import information, phi, useful
else:  # run as a program
    from checker import channel, costs, dot, levels, log, main, need, number, position, prior, table
    from checker_information import information, phi, useful

Row = list[Fraction]


def entropy(weights: list[list[int]], bits: int) -> tuple[Fraction, Fraction]:
    """Rationals around the entropy of a symbol, from its weights with the input: what it says of itself."""
    sums = [sum(row) for row in weights]
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
        feet = [min(phi(a, self.bits) - s * a, phi(b, self.bits) - s * b) for a, b, s in ends]
        logs = [log(v / sum(r), self.bits)[0] for v in r]
        columns = zip(zip(*self.seen, strict=True), zip(*self.other, strict=True), self.prices, strict=True)
        linear = [self.up * dot(slopes, a) + self.down * dot(logs, b) - price for a, b, price in columns]
        return self.up * sum(feet) + min(linear)

    def most_weighed(self, tree: Any) -> Fraction:
        """No release has more of s I(S;Y) + x I(X;Y)."""
        ends = [(f, entropy(self.weights[name], self.bits)) for name, f in self.factors.items()]
        whole = sum((f * (high if f > 0 else low) for f, (low, high) in ends), Fraction(0))
        return whole - dot(self.prices, self.mean) - self.least(tree)


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
            sum(tops) <= total * levels({"": claim["maximal"]}, bits)[0][""], "its maximal leakage is larger"
        )
        said.append(f"PROVED: its maximal leakage is at most {claim['maximal']['level']} nats")
    if "cost" in claim:
        each = [dot(*pair) / total for pair in zip(costs(problem), rows, strict=True)]
        need(sum(each) <= number(claim["cost"]), "it costs more")
        said.append(f"PROVED: it costs at most {claim['cost']}")
    for proof in proofs:
        s, x, bound = proof["secret"], proof["useful"], number(proof["bound"])
        need(Cost(problem, proof, bits).most_weighed(proof["tree"]) <= bound, "no proof of the bound")
        said.append(f"PROVED: {s} I(S;Y) + {x} I(X;Y) <= {bound} for every release")
    return said


if __name__ == "__main__":
    main("trade_off", check, sys.argv[1])
