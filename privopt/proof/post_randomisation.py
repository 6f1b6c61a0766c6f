"""Proofs about channels that keep tables in expectation: the kind of file that checker_post_randomisation.py checks."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from privopt.errors import InvalidProblem
from privopt.mechanisms import Channel
from privopt.models.metric import Metric
from privopt.problems.post_randomisation.data import PostRandomisationData
from privopt.proof import checker, checker_post_randomisation
from privopt.proof.draft import Draft, Line, Solved, rows_of, weights_of
from privopt.proof.linear import NO_BOUND, claim_cost, enclose
from privopt.proof.metric import lines_of
from privopt.proof.prices import DIGITS, Program, comparisons
from privopt.proof.rationals import GUARD, floor, rows_written, written

UNPROVED = "how little any private mechanism that keeps the tables costs: the linear program is too large to be solved again"


def post_randomisation(data: PostRandomisationData, solution: Solved) -> Draft:
    """Privacy, every table that stays as it is, and the least cost of all channels that keep both.

    Raises
    ------
    InvalidProblem
        If nothing is promised, or what is promised is too much to write down.
    """
    channel = solution.mechanism
    if not isinstance(channel, Channel):
        raise TypeError(f"the answer is a Channel, got {type(channel).__name__}")
    problem, named = _privacy(data)
    problem["kept"] = [_whole(row) for row in data.kept_rows[1:]]
    draft = Draft("post_randomisation", problem, rows_of(list(channel.exact())), {}, GUARD)
    enclose(draft, named)
    claim_cost(draft)
    _add_bound(draft)
    return draft


def _privacy(data: PostRandomisationData) -> tuple[Line, dict[str, float | Fraction]]:
    """Who is protected, what a change costs, and the levels."""
    if isinstance(data.notion, Metric):
        return lines_of(data.metric_problem(data.costs))
    if data.epsilon == math.inf:
        raise InvalidProblem(f"{NO_BOUND}: no bound was asked for")
    secret, _ = weights_of(data.observation)
    loss = rows_written(data.costs.tolist())
    problem: Line = {"notion": data.notion, "distribution": secret, "slack": 0, "loss": loss}
    sides = ("upper",) if data.notion == "ldp" else ("upper", "lower")
    return problem, dict.fromkeys(sides, data.epsilon)


def _whole(row: list[Fraction]) -> list[int]:
    """Weights of the same proportions."""
    scale = math.lcm(*(v.denominator for v in row))
    return [int(v * scale) for v in row]


def _add_bound(draft: Draft) -> None:
    """Prices of comparisons and of the tables, from a linear program in floats."""
    problem, above = draft.problem, checker.levels(draft.problem["levels"], draft.bits)[1]
    cost = checker.costs(problem)
    rows = checker_post_randomisation.kept(problem, len(cost))
    shares = np.array([[float(Fraction(v, sum(row))) for v in row] for row in rows])
    program = Program(
        np.array([[float(c) for c in row] for row in cost]), comparisons(problem, above), kept=shares
    )
    solved = program.solved()
    if solved is None:
        draft.left_out.append(UNPROVED)
        return
    each = [
        [written(floor(Fraction(v) / sum(row), DIGITS)) for v in prices]
        for row, prices in zip(rows, solved[1].tolist(), strict=True)
    ]
    line: Line = {"kept": each, "prices": program.prices(solved[0])}
    least = checker_post_randomisation.least_cost(problem, above, line)
    draft.proofs.append({**line, "bound": written(floor(least))})
