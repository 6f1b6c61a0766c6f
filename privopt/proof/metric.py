"""Proofs about metric privacy: pairs of points, each with a level of its own, in the kind of file that checker.py checks."""

from __future__ import annotations

import math
from collections import defaultdict
from fractions import Fraction

from privopt.errors import InvalidProblem
from privopt.mechanisms import Channel
from privopt.problems.metric_privacy.data import MetricData
from privopt.proof import checker
from privopt.proof.draft import Draft, Line, Solved, rows_of
from privopt.proof.linear import NO_BOUND, add_bound, claim_cost, enclose
from privopt.proof.rationals import GUARD, floor, rows_written, written

MOST = 2_000_000
"""Comparisons of two points at a release that a checker is asked for."""


def metric(data: MetricData, solution: Solved) -> Draft:
    """A channel that sets no two points apart by more than e^(epsilon distance), and the least expected loss of all.

    Raises
    ------
    InvalidProblem
        If nothing is promised, a pair is promised too much to write it down, or the comparisons are too many.
    """
    problem, named = lines_of(data)
    channel = solution.mechanism
    if not isinstance(channel, Channel):
        raise TypeError(f"a release of points is a Channel, got {type(channel).__name__}")
    draft = Draft("linear", problem, rows_of(list(channel.exact())), {}, GUARD)
    enclose(draft, named)
    claim_cost(draft)
    line = _multipliers(data, solution.dual)
    if line is None:
        add_bound(draft)
    else:
        above = checker.levels(draft.problem["levels"], draft.bits)[1]
        least = checker.least_cost(draft.problem, above, line)
        draft.proofs.append({**line, "bound": written(floor(least))})
    return draft


def lines_of(data: MetricData) -> tuple[Line, dict[str, float | Fraction]]:
    """The pairs of points, what each release costs, and the levels by name.

    Raises
    ------
    InvalidProblem
        If nothing is promised, or the comparisons are too many.
    """
    pairs, distances = data.pairs, data.pairs.distance.tolist()
    count = 2 * len(pairs) * len(data.released)
    if count > MOST:
        raise InvalidProblem(
            f"{count} comparisons are not covered by proof files, at most {MOST}: give a smaller radius or fewer outputs"
        )
    if data.epsilon == math.inf or not len(pairs):
        raise InvalidProblem(f"{NO_BOUND}: no two points are promised anything")
    nats = {d: Fraction(data.epsilon) * Fraction(d) for d in sorted(set(distances))}
    names = {level: f"nats_{i}" for i, level in enumerate(sorted(set(nats.values())))}
    ends = zip(pairs.first.tolist(), pairs.second.tolist(), distances, strict=True)
    problem: Line = {
        "notion": "pairs",
        "distribution": [list(data.exact_prior.weights)],
        "pairs": [[u, v, names[nats[d]]] for u, v, d in ends],
        "slack": 0,
        "loss": rows_written(data.losses.tolist()),
    }
    return problem, {name: level for level, name in names.items()}


def _multipliers(data: MetricData, dual: object) -> Line | None:
    """Prices from the multipliers of a solution: of a promised pair, one way or the other, for each output."""
    if not isinstance(dual, dict) or dual.get("kind") != "multipliers":
        return None
    m, listed = len(data.released), len(data.pairs)
    place: dict[tuple[int, int], int] = {}
    for i, (u, v) in enumerate(zip(data.pairs.first.tolist(), data.pairs.second.tolist(), strict=True)):
        place[u, v], place[v, u] = i, listed + i
    prices: dict[int, list[Fraction]] = defaultdict(lambda: [Fraction(0)] * m)
    parts = (dual["first"], dual["second"], dual["outputs"], dual["values"])
    for first, second, y, value in zip(*parts, strict=True):
        if value > 0 and (first, second) in place:
            prices[place[first, second]][y] += Fraction(value)
    return {"prices": [[i, [written(v) for v in values]] for i, values in sorted(prices.items())]}
