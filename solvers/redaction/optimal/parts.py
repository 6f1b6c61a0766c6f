"""Several private records: the optimum of each part of the stream that holds one, put side by side.

Where each part releases everything at its ends, what lies beyond says nothing of its private record, and the parts together
are optimal. Where one does not, the whole is judged as any other proposal, and repaired if it leaks too much.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from fractions import Fraction

import numpy as np

from privopt.core.solver import OUT_OF_TIME, Budget, Proposal, ran_out
from privopt.mechanisms import RedactionMechanism
from privopt.problems.redaction.parts import KIND, Part, cuts, parts
from privopt.problems.redaction.problem import Redaction

Run = Callable[[Redaction, Budget], Proposal]


def apart(problem: Redaction) -> str | None:
    """Why the parts of a problem with several private records cannot be solved one by one, or None."""
    if parts(problem, cuts(problem)) is None:
        return "it cuts the stream between private records, and these are next to each other or a part has no weight"
    return None


def side_by_side(problem: Redaction, budget: Budget, run: Run) -> Proposal:
    """The parts' proposals as one; ``run`` solves a problem with one private record."""
    places = cuts(problem)
    pieces = parts(problem, places)
    if pieces is None:
        return Proposal(problem.safe())
    table = np.ones((problem.length, problem.chain.k))
    bounds, duals = list[Fraction](), list[object]()
    solved: dict[tuple[object, ...], Proposal] = {}
    kinds = len({piece.key for piece in pieces})
    for piece in pieces:
        if piece.key not in solved:
            solved[piece.key] = run(_problem(problem, piece), _share(budget, kinds - len(solved)))
            budget.progress(len(solved) / kinds, f"{len(solved)} of {kinds} parts")
        proposal = solved[piece.key]
        if isinstance(proposal.mechanism, RedactionMechanism):
            table[piece.begin : piece.end] = proposal.mechanism.probabilities
        bound = 1.0 if proposal.bound is None else proposal.bound
        bounds.append(Fraction(bound) * piece.share)
        duals.append({} if proposal.bound is None else proposal.dual)
    mechanism = problem.answer(table)
    stats: dict[str, float | int | str] = {"parts": len(pieces), "different parts": kinds}
    if any(ran_out(proposal.stats) for proposal in solved.values()):
        stats["stop"] = OUT_OF_TIME
    if any(proposal.bound is None for proposal in solved.values()):
        return Proposal(mechanism, stats=stats)
    dual = {"kind": KIND, "cuts": places, "duals": duals}
    return Proposal(mechanism, float(sum(bounds, Fraction(0))), dual, stats=stats)


def _problem(problem: Redaction, piece: Part) -> Redaction:
    own = piece.data(problem)
    made = Redaction(own.utility_chain, own.length, own.private, own.epsilon, weights=own.weights)
    return made if own.chain is own.utility_chain else made.relaxed(own.chain)


def _share(budget: Budget, left: int) -> Budget:
    """An equal share of the time that is left."""
    return Budget(time.monotonic() + budget.remaining / max(1, left), budget.seed)
