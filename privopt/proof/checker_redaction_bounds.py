"""Check that no way to hide records of a chain of two values, each by itself, keeps one record private and releases more.

Run alone: python checker_redaction_bounds.py proof.txt. Given the private record its sides are independent, so the ratios of its two
values that they show may multiply to e^level at most: a tree splits what the left side may show, and each part leaves the right
side no more than what the least of it leaves over. Values are renamed so that no step turns them round. One may be shown alone from
the first record on where its ratio is allowed, the other only once both are, and then all is; with the other's slack as rho in
(0, 1] till then, a record that hides the one with probability rho / s <= 1 moves it to

    next = ((1 - b) s - a) / ((1 - a) - b s), a and b the chances of a step from 0 to 1 and from 1 to 0,

and next <= 0 allows all. What this costs at least rises with rho, and is tabulated at nodes, everything rounded down.
"""

from __future__ import annotations

import json
import sys
from bisect import bisect_right
from fractions import Fraction
from math import gcd
from operator import mul
from typing import Any

Table = list[list[int]]
BITS = 60


class Side:
    """One side, nearest record first: what hiding each value costs, and what a first release of it would show."""

    def __init__(self, steps: list[Table], costs: list[list[Fraction]], nodes: list[int]) -> None:
        self.nodes, self.spent, self.shown, self.known = nodes, [0], list[Table](), dict[Any, int]()
        product = [[1, 0], [0, 1]]
        for step, cost in zip(steps, costs, strict=True):
            product = reduced([[sum(map(mul, row, c)) for c in zip(*step, strict=True)] for row in product])
            self.shown.append(product)
            self.spent.append(self.spent[-1] + int(sum(cost) * 2**BITS // 1))
        self.tables = [[0] * len(nodes)]  # by how many records are left
        for step, cost in zip([*steps, [[1, 0], [0, 1]]][:0:-1], costs[::-1], strict=True):
            self.tables.append(self.before(self.tables[-1], step, cost))

    def at(self, later: list[int], top: Any, under: Any) -> int:
        """The least cost from a state top / under on: that of the node below, and nothing once all may be released."""
        return later[bisect_right(self.nodes, top * 2**BITS // under) - 1] if top > 0 else 0

    def before(self, later: list[int], step: Table, cost: list[Fraction]) -> list[int]:
        """One record more. With s between two nodes it costs at least cost[0] rho / s at the upper, and the rest at the lower.

        The lines cost / s are met by rising slope and asked at falling rho, so those that are never least are left out.
        """
        (one, other), last = (int(v * 2**BITS // 1) for v in cost), len(self.nodes) - 1
        lines, costs, (stay, leave), (back, rest) = list[tuple[int, int]](), [0] * len(self.nodes), *step
        for i in range(last, -1, -1):
            s, upper = self.nodes[i], self.nodes[min(i + 1, last)]
            beyond = self.at(later, rest * s - (leave << BITS), (stay << BITS) - back * s)
            new = (one << BITS) // upper, other + beyond
            while len(lines) > 1 and unneeded(lines[-2], lines[-1], new):
                lines.pop()
            lines.append(new)
            while len(lines) > 1 and worth(lines[1], self.nodes[i]) <= worth(lines[0], self.nodes[i]):
                lines.pop(0)
            costs[i] = worth(lines[0], self.nodes[i]) >> BITS
        return costs

    def least(self, e: list[Fraction]) -> int:
        """The least cost of a side on which value x may be e[x] times as likely as the other by any release."""
        key = tuple(e)
        if key not in self.known:
            self.known[key] = self.spent[-1]
            for d, (own, other) in enumerate(self.shown):
                if own[0] <= e[0] * other[0]:
                    high, low = other[1] - e[1] * own[1], e[1] * own[0] - other[0]
                    self.known[key] = self.spent[d] + self.at(self.tables[-1 - d], high, low)
                    break
        return self.known[key]


def worth(line: tuple[int, int], rho: int) -> int:
    """A line at a node."""
    return line[0] * rho + (line[1] << BITS)


def unneeded(first: tuple[int, int], middle: tuple[int, int], last: tuple[int, int]) -> bool:
    """Whether the middle one of three lines with rising slopes and falling heights is least nowhere."""
    return (middle[1] - last[1]) * (middle[0] - first[0]) >= (first[1] - middle[1]) * (last[0] - middle[0])


def sides(problem: Any, proof: Any) -> list[list[Side]]:
    """Left and right, each twice: value 0 is shown alone, or value 1 is."""
    chain, (place,) = Chain(problem), problem["private"]
    p, nodes = position(place, chain.n), table([proof["nodes"]])[0]
    need(chain.k == 2 and all(map(all, chain.marginals)), "there are two values, and each may occur")
    need(nodes[0] == 0 and nodes[-1] == 2**BITS and nodes == sorted(set(nodes)), "nodes rise from 0 to 1")
    weights, made = [number(w) for w in problem["weights"]], list[list[Side]]()
    need(len(weights) == chain.n, "each record has a weight")
    for depth, places in zip(proof["depths"], (range(p - 1, -1, -1), range(p + 1, chain.n)), strict=True):
        steps, costs, turned = list[Table](), list[list[Fraction]](), False
        for t in places[: position(depth, len(places) + 1)]:
            rows = chain.steps[t - 1]
            if t < p:
                rows = [
                    list(map(mul, chain.marginals[t], column)) for column in zip(*chain.steps[t], strict=True)
                ]
            first, second = rows[::-1] if turned else rows  # then to rows of one sum
            step = [[v * sum(second) for v in first], [v * sum(first) for v in second]]
            turned = step[0][0] < step[1][0]
            steps.append(reduced([row[::-1] for row in step] if turned else step))
            costs.append([weights[t] * chain.share(t, v != turned) for v in range(2)])
        other = [[row[::-1] for row in step[::-1]] for step in steps]
        made.append([Side(steps, costs, nodes), Side(other, [row[::-1] for row in costs], nodes)])
    return made


def least_cost(problem: Any, above: Fraction, proof: Any) -> int:
    """What is hidden at least beside the private record, times 2^BITS."""
    left, right = sides(problem, proof)
    parts, least = [([Fraction(1)] * 2, [above] * 2)], list[int]()
    for node in proof["tree"]:
        low, high = parts.pop()
        if node is None:
            over = [above / v for v in low]
            mine, theirs = (
                min(side[0].least(e), side[1].least(e[::-1])) for side, e in ((left, high), (right, over))
            )
            least.append(mine + theirs)
        else:
            x, at = position(node[0], 2), number(node[1])
            need(low[x] <= at <= high[x], "a part is split within")
            parts += [([*low[:x], at, *low[x + 1 :]], high), (low, [*high[:x], at, *high[x + 1 :]])]
    need(not parts, "a part has no leaf")
    return min(least)


def check(problem: Any, mechanism: Any, claim: Any, proofs: list[Any], bits: int) -> list[str]:
    """What a file proves, in sentences; raises an error if anything that it says is not proved."""
    above, said = levels(problem["levels"], bits)[1]["upper"], list[str]()
    weights = [number(w) for w in problem["weights"]]
    need(not mechanism and not claim and min(weights) >= 0, "only bounds are of this kind of file")
    for proof in proofs:
        hidden = weights[problem["private"][0]] + Fraction(least_cost(problem, above, proof), 2**BITS)
        need(1 - hidden / sum(weights) <= number(proof["bound"]), "the tables do not prove the bound")
        said.append(f"PROVED: no mechanism that is as private releases more than {proof['bound']}")
    return said


# From checker.py and checker_redaction.py, word for word.


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


if __name__ == "__main__":
    main("redaction_bounds", check, sys.argv[1])
