"""Proofs about channels whose utility is a mean loss, and about colourings: the kind of file that checker.py checks."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

from privopt.errors import InvalidProblem
from privopt.problems.belief_release.data import BeliefData
from privopt.problems.boundary_colouring.boundary import MET
from privopt.problems.boundary_colouring.data import ColouringData
from privopt.problems.distortion_privacy.data import DistortionData
from privopt.problems.local_information_privacy.data import LocalInformationPrivacyData
from privopt.proof import checker
from privopt.proof.draft import Draft, Line, Solved, release_line, rows_of, weights_of
from privopt.proof.prices import priced
from privopt.proof.rationals import GUARD, LARGEST, PRECISIONS, floor, levels, rows_written, written

Named = dict[str, Fraction]

NO_BOUND = "nothing is promised about the secret, so there is no privacy to prove"
BACKWARDS = (1e-9, 1e-8, 1e-7, 1e-6, 1e-5, 1e-4)
"""How far below what is claimed a level is tried at which the loss is out of reach, relative to it."""


def channel_draft(data: LocalInformationPrivacyData, solution: Solved, kind: str) -> Draft:
    """Privacy of a channel under bounds of lifts or ratios; its utility is left to the caller."""
    named = {"upper": data.upper, "lower": data.lower} if data.notion == "lip" else {"upper": data.budget}
    secret, useful = weights_of(data.observation)
    problem: Line = {"notion": data.notion, "distribution": secret, "slack": 0}
    if useful is not None:
        problem["useful"] = useful
    draft = Draft(kind, problem, release_line(data.observation, solution.mechanism), {}, GUARD)
    enclose(draft, {name: level for name, level in named.items() if level < math.inf})
    return draft


def _keeps(draft: Draft) -> None:
    checker.private(draft.problem, draft.mechanism, draft.bits)


def enclose(
    draft: Draft, named: Mapping[str, float | Fraction], check: Callable[[Draft], None] = _keeps
) -> None:
    """Give the problem its levels, enclosed so closely that a check of the mechanism passes.

    Raises
    ------
    InvalidProblem
        If there are none, one is too large, or the mechanism is nearer to one than can be written.
    """
    if not named:
        raise InvalidProblem(f"{NO_BOUND}: no bound was asked for")
    reason = ""
    for precision in PRECISIONS:
        draft.at(levels({name: Fraction(level) for name, level in named.items()}, precision))
        try:
            check(draft)
        except ValueError as cause:
            reason = str(cause)
            continue
        return
    raise InvalidProblem(
        f"the mechanism is not proved private with e^level to {PRECISIONS[-1]} bits: {reason}"
    )


def distortion_lines(draft: Draft, loss: Any) -> None:
    """Give a problem its mean loss, claim what the mechanism costs, and prove the least that any costs."""
    draft.problem["loss"] = rows_written(loss)
    claim_cost(draft)
    add_bound(draft)


def claim_cost(draft: Draft) -> None:
    """Claim the exact cost of the mechanism."""
    rows, total = checker.channel(draft.mechanism, len(checker.prior(draft.problem)))
    each = [checker.dot(*pair) / total for pair in zip(checker.costs(draft.problem), rows, strict=True)]
    draft.claim["cost"] = written(max(each) if draft.problem.get("worst") else sum(each, Fraction(0)))


def add_bound(draft: Draft) -> None:
    """Add a proof of the least cost of all private mechanisms, or say that none is given."""
    above = checker.levels(draft.problem["levels"], draft.bits)[1]
    line = priced(draft.problem, above)
    if line is None:
        draft.left_out.append(
            "how little any private mechanism costs: the linear program is too large to be solved again"
        )
        return
    draft.proofs.append({**line, "bound": written(floor(checker.least_cost(draft.problem, above, line)))})


def local_information(data: LocalInformationPrivacyData, solution: Solved) -> Draft:
    """A channel whose utility is minus a mean distortion."""
    draft = channel_draft(data, solution, "linear")
    distortion_lines(draft, data.matrix.tolist() if data.matrix is not None else [])
    return draft


def belief(data: BeliefData, solution: Solved) -> Draft:
    """One step of a sequence: the secret is the letter itself."""
    weights = data.exact_belief.weights
    table = [[w * (x == y) for y in range(len(weights))] for x, w in enumerate(weights)]
    problem: Line = {"notion": "lip", "distribution": table, "slack": 0}
    draft = Draft("linear", problem, rows_of(list(solution.mechanism.exact())), {}, GUARD)
    enclose(draft, {"upper": data.epsilon, "lower": data.epsilon} if data.epsilon < math.inf else {})
    distortion_lines(draft, data.matrix.tolist())
    return draft


def distortion(data: DistortionData, solution: Solved) -> Draft:
    """The least mean distortion at a bound of ratios, or the least bound at a mean distortion.

    Raises
    ------
    InvalidProblem
        If the leakage is an average.
    """
    if data.order is not None:
        raise InvalidProblem(
            f"proof files do not cover a bound on an average such as {data.leakage.replace('_', ' ')}"
        )
    notion = "ldp" if data.leakage == "ldp" else "lip"
    secret, useful = weights_of(data.observation)
    problem: Line = {"notion": notion, "distribution": secret, "slack": 0}
    if useful is not None:
        problem["useful"] = useful
    draft = Draft("linear", problem, release_line(data.observation, solution.mechanism), {}, GUARD)
    sides = ("upper",) if notion == "ldp" else ("upper", "lower")
    if data.max_leakage is not None:
        enclose(draft, dict.fromkeys(sides, data.budget) if data.budget < math.inf else {})
        distortion_lines(draft, data.matrix.tolist())
        return draft
    level = solution.certificate.leakage[1]
    enclose(draft, dict.fromkeys(sides, level) if level < math.inf else {})
    draft.problem["loss"] = rows_written(data.matrix.tolist())
    draft.claim["cost"] = written(data.budget)
    _out_of_reach(draft, sides, solution.bound)
    return draft


def _out_of_reach(draft: Draft, sides: tuple[str, ...], bound: float | None) -> None:
    """Prove that at a level just below the least one, the mean distortion cannot be what it must."""
    if bound is None or not -bound > 0:
        draft.left_out.append("how little any mechanism within this distortion leaks")
        return
    for less in BACKWARDS:
        tried = levels(dict.fromkeys(sides, floor(Fraction(-bound) * (1 - Fraction(less)))), PRECISIONS[0])
        above = checker.levels(tried.entries, max(draft.bits, tried.bits))[1]
        line = priced(draft.problem, above)
        least = None if line is None else floor(checker.least_cost(draft.problem, above, line))
        if line is not None and least is not None and least > checker.number(draft.claim["cost"]):
            draft.bits = max(draft.bits, tried.bits)
            draft.proofs.append({**line, "levels": tried.entries, "bound": written(least)})
            return
    draft.left_out.append("how little any mechanism within this distortion leaks")


def colouring(data: ColouringData, solution: Solved) -> Draft:
    """Answers about datasets: neighbours are compared, and the loss is to answer with another colour."""
    graph, mechanism, k = data.graph, solution.mechanism, data.k
    ends = [
        (int(u), int(v))
        for u in range(graph.size)
        for v in graph.indices[graph.indptr[u] : graph.indptr[u + 1]]
        if u < v
    ]
    worst = data.objective == "worst_case"
    weights = [1] * graph.size if data.weights is None or worst else _whole(data.weights.tolist())
    problem: Line = {
        "notion": "pairs",
        "distribution": [weights],
        "pairs": [[u, v, "edge"] for u, v in ends],
        "slack": written(data.delta),
        "loss": [[int(c != y) for y in range(k)] for c in range(k)],
        "loss_of": graph.codes.tolist(),
    }
    if worst:
        problem["worst"] = True
    if (ranges := _prescribed(data)) is not None:
        problem["prescribed"] = ranges
    rows = [list(row.weights) for row in mechanism.exact()]
    draft = Draft("linear", problem, {"rows": rows, "of": mechanism.level.tolist()}, {}, GUARD)
    if data.epsilon > LARGEST:
        raise InvalidProblem(
            f"a level of {data.epsilon:g} nats is not covered: e^level is too long to write down"
        )
    enclose(draft, {"edge": data.epsilon})
    claim_cost(draft)
    add_bound(draft)
    return draft


def _whole(values: list[float]) -> list[int]:
    """Weights as integers of the same proportions."""
    exact = [Fraction(v) for v in values]
    scale = math.lcm(*(v.denominator for v in exact))
    return [int(v * scale) for v in exact]


def _prescribed(data: ColouringData) -> list[list[list[int | str]]] | None:
    """Ends of the probability of each colour at each dataset; None where nothing is prescribed."""
    k, free = data.k, [0, 1]
    ranges: list[list[list[int | str]]] = [[list(free) for _ in range(k)] for _ in range(data.graph.size)]
    if data.prescribed is not None:
        rooms = data.prescribed.room(data.step)
        for site, row, room in zip(data.prescribed.sites.tolist(), data.prescribed.rows, rooms, strict=True):
            for y, (value, off) in enumerate(zip(row.tolist(), room.tolist(), strict=True)):
                ranges[site][y] = [
                    written(max(Fraction(0), Fraction(value) - Fraction(off))),
                    written(min(Fraction(1), Fraction(value) + Fraction(off))),
                ]
        return ranges
    if data.boundary is None or k != 2:
        return None
    cap = 1 - Fraction(float(data.step.kink)) * (1 - Fraction(MET))
    for site in data.boundary_sites.tolist():
        ranges[site][int(data.graph.codes[site])][1] = written(cap)
    return ranges
