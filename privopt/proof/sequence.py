"""Proofs about policies on Markov chains: the kind of file that checker_sequence.py checks."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from operator import mul
from typing import Any, TypeAlias

import numpy as np

from privopt.arrays import Floats
from privopt.errors import InvalidProblem
from privopt.mechanisms.policy.policy import SequencePolicy
from privopt.problems.sequence_information_privacy.data import SequenceData
from privopt.proof import checker, checker_sequence
from privopt.proof.draft import Draft, Line, Solved, whole_rows
from privopt.proof.prices import DIGITS
from privopt.proof.rationals import GUARD, PRECISIONS, floor, levels, rows_written, written

MOST = 2000
"""Kernels that are written."""

TOGETHER = 12
"""Releases of which all so far are tried as one channel."""

MOST_E = 1e12
"""Factors beyond which kernels are free in a linear program."""

Node: TypeAlias = tuple[tuple[float, ...], tuple[int, ...]]
"""The belief that the policy computes, by which it chooses a kernel, and the exact one up to a factor."""


def sequence(data: SequenceData, solution: Solved) -> Draft:
    """Every kernel that may be used within the horizon.

    Raises
    ------
    InvalidProblem
        If letters are released in words, the chain varies in a set, or the kernels are too many.
    """
    if data.lasting:
        raise InvalidProblem("proof files follow a number of letters, and this horizon has no end")
    policy, releases = solution.mechanism, list(data.releases())
    if data.ambiguity is not None:
        raise InvalidProblem("policies for a set of chains are not covered by proof files")
    if not isinstance(policy, SequencePolicy) or any(not r.paths.identity or r.length != 1 for r in releases):
        raise InvalidProblem("proof files cover policies that release one letter at a time and remember one")
    if data.epsilon == math.inf:
        raise InvalidProblem("nothing is promised about the letters, so there is no privacy to prove")
    steps, places = list[list[list[int]]](), list[int]()
    for t in range(len(releases) - 1):
        rows = whole_rows(data.chain.exact_step(t))
        if rows not in steps:
            steps.append(rows)
        places.append(steps.index(rows))
    kernels, following = _walk(data, policy, steps, places)
    problem: Line = {"initial": list(data.chain.exact_initial.weights), "steps": steps, "step_of": places}
    draft = Draft("sequence", problem, {"kernels": kernels, "next": following}, {}, GUARD)
    draft.at(levels({"letter": data.epsilon}, PRECISIONS[0]))
    draft.left_out.append(
        "what is released beyond the horizon, for which the policy checks its kernels itself"
    )
    problem["loss"] = rows_written(data.setting(1).cost.tolist())
    below, above = (ends["letter"] for ends in checker.levels(problem["levels"], draft.bits))
    lost = checker_sequence.lost(problem, draft.mechanism, below) / len(releases)
    draft.claim["cost"] = written(-floor(-lost))
    _add_bound(draft, above)
    return draft


def _add_bound(draft: Draft, above: Fraction) -> None:
    """Prices for each release: given the letter before, or of all releases so far as one, whichever prove more."""
    problem = draft.problem
    first, steps = checker_sequence.chain(problem)
    loss = np.array([[float(checker.number(v)) for v in row] for row in problem["loss"]])
    costs = _Costs(loss, [[checker.number(v) for v in row] for row in problem["loss"]])
    each, use, weights = list[Line](), list[int](), first
    for t in range(len(problem["step_of"]) + 1):
        ways: list[tuple[bool, list[list[int]], list[int], Fraction]] = []
        if t:
            step = steps[problem["step_of"][t - 1]]
            ways.append((True, step, weights, above))
            weights = [sum(map(mul, weights, column)) for column in zip(*step, strict=True)]
            weights = [v // math.gcd(*weights) for v in weights]
        if t < TOGETHER:
            ways.append((False, [weights], [1], above ** (t + 1)))
        best: tuple[Fraction, Line] | None = None
        for told, rows, shares, level in ways:
            found = [costs.of(row, level, told) for row in rows]
            value = sum((f.cost * s for f, s in zip(found, shares, strict=True)), Fraction(0)) / sum(shares)
            if best is None or value > best[0]:
                entry: Line = {"prices": [f.prices for f in found]}
                best = value, entry if told else {**entry, "means": found[0].means}
        assert best is not None
        if best[1] not in each:
            each.append(best[1])
        use.append(each.index(best[1]))
    line: Line = {"each": each, "use": use}
    least = checker_sequence.least_cost(problem, above, line) / len(use)
    draft.proofs.append({**line, "bound": written(floor(least))})


@dataclass(frozen=True)
class _Cost:
    """What a kernel loses at least, by prices of letters and of what is released on average."""

    cost: Fraction
    prices: list[int | str]
    means: list[int | str]


@dataclass
class _Costs:
    """Least losses of kernels, for distributions of letters; each linear program is solved once."""

    loss: Floats
    exact: list[list[Fraction]]
    known: dict[tuple[tuple[int, ...], Fraction, bool], _Cost] = field(default_factory=dict)

    def of(self, row: list[int], level: Fraction, told: bool) -> _Cost:
        """The better of what a linear program proves, and of the cheapest release of each letter."""
        key = tuple(row), level, told
        if key not in self.known:
            share, (n, m) = np.array([v / sum(row) for v in row]), self.loss.shape
            solved = _prices(share, self.loss, min(float(level), MOST_E), told)
            cheapest = [Fraction(v, sum(row)) * min(costs) for v, costs in zip(row, self.exact, strict=True)]
            tries = [
                ([floor(v, DIGITS) for v in part] for part in (solved[:n], solved[n:])),
                (cheapest, [Fraction(0)] * m),
            ]
            found = []
            for values in tries:
                prices, means = ([written(v) for v in part] for part in values)
                cost = checker_sequence.kernel_cost(row, self.exact, level, prices, means)
                found.append(_Cost(cost, prices, means))
            self.known[key] = max(found, key=lambda each: each.cost)
        return self.known[key]


def _prices(share: Floats, loss: Floats, e: float, told: bool) -> list[float]:
    """What letters, and releases on average, add to the least loss of kernels M with T / e <= M <= e T for some T."""
    import scipy.optimize

    linprog: Any = scipy.optimize.linprog
    n, m = loss.shape
    eye, shown = np.eye(n * m), np.tile(np.eye(m), (n, 1))
    upper = np.vstack([np.hstack([eye, -e * shown]), np.hstack([-eye, shown / e])])
    letters = np.hstack([np.repeat(np.eye(n), m, axis=1), np.zeros((n, m))])
    means = np.hstack([shown.T * np.repeat(share, m), -np.eye(m)]) * (not told)
    whole = np.append(np.zeros(n * m), np.ones(m))
    cost = np.append((share[:, None] * loss).ravel(), np.zeros(m))
    fixed, right = np.vstack([letters, means, whole]), np.concatenate([np.ones(n), np.zeros(m), [1.0]])
    solved = linprog(cost, upper, np.zeros(len(upper)), fixed, right, method="highs")
    if solved.status != 0:
        return [0.0] * (n + m)
    used = np.append(np.ones(n), np.full(m, float(not told)))
    return [float(v) for v in solved.eqlin.marginals[: n + m] * used]


def _walk(
    data: SequenceData, policy: SequencePolicy, steps: list[list[list[int]]], places: list[int]
) -> tuple[list[Line], list[list[int]]]:
    """The kernels in the order in which they are reached, and which one follows each release."""
    part = policy.part(1)
    kernels, following = list[Line](), list[list[int]]()
    reached: list[Node] = [(policy.start().belief, data.chain.exact_initial.weights)]
    for record in range(len(places) + 1):
        computed = np.array([node[0] for node in reached])
        weights = part.weights(computed, record)
        first, after = len(kernels), dict[Node, int]()
        kernels += [{"rows": table.tolist()} for table in weights]
        if len(kernels) > MOST:
            raise InvalidProblem(
                f"more than {MOST} kernels may be used, which is too many for a proof file: give a shorter horizon"
            )
        for at, (_, belief) in enumerate(reached):
            row = [0] * weights.shape[2]
            for y in range(weights.shape[2] if record < len(places) else 0):
                moved = _moved(belief, weights[at, :, y].tolist(), steps[places[record]])
                if moved is not None:
                    column = weights[at : at + 1, :, y].astype(np.float64)
                    then = part.filter.after(computed[at : at + 1], column, record)[0]
                    node = (tuple(then.tolist()), moved)
                    row[y] = first + len(reached) + after.setdefault(node, len(after))
            following.append(row)
        reached = list(after)
    return kernels, following


def _moved(belief: tuple[int, ...], column: list[Any], step: list[list[int]]) -> tuple[int, ...] | None:
    """The belief in the next letter after a release; None if it cannot be released."""
    posterior = [p * int(c) for p, c in zip(belief, column, strict=True)]
    if not any(posterior):
        return None
    moved = [sum(p * row[v] for p, row in zip(posterior, step, strict=True)) for v in range(len(belief))]
    common = math.gcd(*moved)
    return tuple(v // common for v in moved)
