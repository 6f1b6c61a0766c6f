"""The same proofs of linear problems as files of VIPR, which the outside program viprchk checks.

Source: Cheung, Gleixner, Steffy, "Verifying integer programming results" (IPCO 2017); the format is version 1.0 of
https://github.com/scipopt/vipr. Variables are the probabilities P(y | w), and what each comparison uses of the slack.
One file has the mechanism as its solution, with numbers below e^level; another derives the least cost in one step from the
prices, with numbers above e^level, and holds only the comparisons that have a price: what it proves of more mechanisms it
proves of private ones. The numbers near e^level are the shortest that do, since viprchk mostly reads.
Integers only need to be read as rationals, so nothing is integer here.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from privopt.errors import InvalidProblem
from privopt.proof import checker
from privopt.proof.draft import Draft, Line
from privopt.proof.rationals import floor, simplest, written

Terms = dict[int, Fraction]
Factors = dict[str, Fraction]
Weights = list[dict[int, int]]

ZERO, ONE = Fraction(0), Fraction(1)
NEAR = Fraction(1, 2**20)
"""How far below e^level a number may be, relative to it, where the mechanism leaves room."""
CLOSE = Fraction(1, 2**64)
"""How far above e^level a number may be, relative to it."""
UNSEEN = Fraction(1, 2**56)
"""How much less than the bound of the proof may be derived, relative to it: no float shows it."""


@dataclass(frozen=True)
class Vipr:
    """Two files: privacy with the mechanism as a solution, and the least cost by one derivation (None where none is proved)."""

    privacy: str
    bound: str | None


def vipr(draft: Draft) -> Vipr:
    """The files of a linear proof.

    Raises
    ------
    InvalidProblem
        If the proof is of another kind, or the worst cost counts.
    """
    if draft.kind != "linear":
        raise InvalidProblem(
            "VIPR files cover linear problems: mean losses under lifts and ratios, and colourings"
        )
    if draft.problem.get("worst"):
        raise InvalidProblem("VIPR files do not cover the worst accuracy: leave --format out")
    below, above = checker.levels(draft.problem["levels"], draft.bits)
    privacy = _Program(draft.problem, _needed(draft, below)).with_solution(draft.mechanism)
    if not draft.proofs:
        return Vipr(privacy, None)
    proof = draft.proofs[0]
    if "levels" in proof:
        above = checker.levels(proof["levels"], draft.bits)[1]
    used = {(p, y) for p, values in proof["prices"] for y, v in enumerate(values) if checker.number(v)}
    factors, bound = _short(draft.problem, above, proof)
    return Vipr(
        privacy, _Program(draft.problem, factors, used).with_bound({**proof, "bound": written(bound)})
    )


def _needed(draft: Draft, below: Factors) -> Factors:
    """Short numbers below e^level with which the mechanism is still private."""
    if checker.number(draft.problem["slack"]):
        return below
    hypotheses, pairs = checker.compared(draft.problem)
    rows, _ = checker.channel(draft.mechanism, len(checker.prior(draft.problem)))
    seen = [[sum(v * rows[w][y] for w, v in h.items()) for y in range(len(rows[0]))] for h in hypotheses]
    sums = [sum(h.values()) for h in hypotheses]
    least = {name: factor * (1 - NEAR) for name, factor in below.items()}
    for i, j, name in pairs:
        ratio = max(Fraction(a, b) for a, b in zip(seen[i], seen[j], strict=True) if b)
        least[name] = max(least[name], ratio * Fraction(sums[j], sums[i]))
    return {name: simplest(least[name], factor) for name, factor in below.items()}


def _short(problem: Line, above: Factors, proof: Line) -> tuple[Factors, Fraction]:
    """Short numbers above e^level, and the bound that prices prove with them; not where it is less by more than rounding."""
    bound = checker.number(proof["bound"])
    factors = {name: simplest(factor, factor * (1 + CLOSE)) for name, factor in above.items()}
    least = floor(checker.least_cost(problem, factors, proof))
    return (factors, least) if least >= bound - abs(bound) * UNSEEN else (above, bound)


@dataclass
class _Program:
    """Least cost over private mechanisms: variables, constraints in order; of all comparisons (p, y) or of some."""

    problem: Line
    factors: Factors
    only: set[tuple[int, int]] | None = None
    constraints: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.cost = checker.costs(self.problem)
        self.hypotheses, self.pairs = checker.compared(self.problem)
        self.n, self.m = len(self.cost), len(self.cost[0])
        self.slack = checker.number(self.problem["slack"])
        every = ((p, y) for p in range(len(self.pairs)) for y in range(self.m))
        self.at = {place: i for i, place in enumerate(every if self.only is None else sorted(self.only))}
        self.size = self.n * self.m + (len(self.at) if self.slack else 0)
        signed = self._signed()
        for w, ends in enumerate(self._ends()):
            for y, (low, _) in enumerate(ends if w in signed else ()):
                self._add("G", low, {w * self.m + y: ONE})
        for place in range(self.n * self.m, self.size):
            self._add("G", ZERO, {place: ONE})
        self.lower = 0
        self.upper = len(self.constraints)
        for w, ends in enumerate(self._ends() if "prescribed" in self.problem else []):
            for y, (_, high) in enumerate(ends):
                self._add("L", high, {w * self.m + y: ONE})
        self.sums = len(self.constraints)
        for w in range(self.n):
            self._add("E", ONE, {w * self.m + y: ONE for y in range(self.m)})
        self.compared = len(self.constraints)
        self.rows = [self._row(pair) for pair in self.pairs]
        for (p, y), i in self.at.items():
            terms = {w * self.m + y: v for w, v in self.rows[p].items()}
            if self.slack:
                terms[self.n * self.m + i] = -ONE
            self._add("L", ZERO, terms)
        self.of_pair = defaultdict[int, list[int]](list)
        for (p, _), i in self.at.items() if self.slack else ():
            self.of_pair[p].append(self.n * self.m + i)
        self.slacks = {p: len(self.constraints) + i for i, p in enumerate(self.of_pair)}
        for places in self.of_pair.values():
            self._add("L", self.slack, dict.fromkeys(places, ONE))

    def _signed(self) -> set[int]:
        """Inputs that need rows which say P(y | w) >= 0: P(y | w) <= e^level P(y | v) says it of v where it is true of w."""
        if self.only is not None or self.slack or "prescribed" in self.problem:
            return set(range(self.n))
        after = defaultdict[int, list[int]](list)
        for i, j, _ in self.pairs:
            if len(self.hypotheses[i]) == len(self.hypotheses[j]) == 1:
                after[next(iter(self.hypotheses[i]))] += self.hypotheses[j]
        signed, known = set[int](), set[int]()
        for w in range(self.n):
            stack = [w] if w not in known else []
            signed.update(stack)
            while stack:
                known.add(u := stack.pop())
                stack += (v for v in after[u] if v not in known)
        return signed

    def _ends(self) -> list[list[tuple[Fraction, Fraction]]]:
        """What each probability may be."""
        if "prescribed" not in self.problem:
            return [[(ZERO, ONE)] * self.m] * self.n
        return [
            [(checker.number(a), checker.number(b)) for a, b in row] for row in self.problem["prescribed"]
        ]

    def _row(self, pair: tuple[int, int, str]) -> Terms:
        """Coefficients of P(y | w) in a comparison."""
        row = defaultdict[int, Fraction](Fraction)
        for h, sign in ((self.hypotheses[pair[0]], ONE), (self.hypotheses[pair[1]], -self.factors[pair[2]])):
            for w, v in h.items():
                row[w] += sign * Fraction(v, sum(h.values()))
        return {w: v for w, v in row.items() if v}

    def _add(self, sense: str, right: Fraction, terms: Terms) -> None:
        name = f"C{len(self.constraints)}"
        self.constraints.append(f"{name} {sense} {written(right)} {_sparse(terms)}")

    def _head(self, low: str, high: str) -> list[str]:
        names = " ".join(f"x{i}" for i in range(self.size))
        cells = {w * self.m + y: c for w, row in enumerate(self.cost) for y, c in enumerate(row) if c}
        return [
            "VER 1.0", f"VAR {self.size}", names, "INT 0", "OBJ min", _sparse(cells),
            f"CON {len(self.constraints)} {self.sums}", *self.constraints, f"RTP range {low} {high}",
        ]  # fmt: skip

    def with_solution(self, mechanism: Line) -> str:
        """Private: the mechanism meets every constraint, and costs no more than it does."""
        rows, total = checker.channel(mechanism, self.n)
        values = {
            w * self.m + y: Fraction(v, total) for w, row in enumerate(rows) for y, v in enumerate(row) if v
        }
        cost = sum(
            (
                values.get(w * self.m + y, ZERO) * c
                for w, row in enumerate(self.cost)
                for y, c in enumerate(row)
            ),
            ZERO,
        )
        for (p, y), i in self.at.items() if self.slack else ():
            beyond = sum((v * values.get(w * self.m + y, ZERO) for w, v in self.rows[p].items()), ZERO)
            if beyond > 0:
                values[self.n * self.m + i] = beyond
        return _text(
            [*self._head("-inf", str(written(cost))), "SOL 1", f"mechanism {_sparse(values)}", "DER 0"]
        )

    def with_bound(self, proof: Line) -> str:
        """Optimal: the cost is a combination of constraints, which is at least the bound."""
        left = [list(row) for row in self.cost]
        used: Terms = {}
        for place, values in proof["prices"]:
            prices = [checker.number(v) for v in values]
            for y, price in enumerate(prices):
                if not price:
                    continue
                used[self.compared + self.at[place, y]] = -price
                for w, v in self.rows[place].items():
                    left[w][y] += price * v
                if self.slack and price < max(prices):
                    used[self.n * self.m + self.at[place, y]] = max(prices) - price
            if self.slack and max(prices):
                used[self.slacks[place]] = -max(prices)
        for w, (costs, ends) in enumerate(zip(left, self._ends(), strict=True)):
            level = min(costs)
            if "prescribed" in self.problem:
                level = max(
                    costs,
                    key=lambda p: (
                        p + sum(min((c - p) * a, (c - p) * b) for c, (a, b) in zip(costs, ends, strict=True))
                    ),
                )
            used[self.sums + w] = level
            for y, c in enumerate(costs):
                if c != level:
                    place = w * self.m + y + (self.lower if c > level else self.upper)
                    used[place] = c - level
        bound = checker.number(proof["bound"])
        derived = f"D G {written(bound)} OBJ {{ lin {_sparse({k: v for k, v in used.items() if v})} }} -1"
        return _text([*self._head(str(written(bound)), "inf"), "SOL 0", "DER 1", derived])


def _sparse(terms: Terms) -> str:
    """Indices with their values, counted."""
    return " ".join([str(len(terms)), *(f"{i} {written(v)}" for i, v in sorted(terms.items()))])


def _text(lines: Iterable[Any]) -> str:
    return "\n".join(lines) + "\n"
