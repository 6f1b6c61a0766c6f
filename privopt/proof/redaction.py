"""Proofs about redaction of Markov chains: the kind of file that checker_redaction.py checks."""

from __future__ import annotations

import math
from fractions import Fraction

from privopt.errors import InvalidProblem
from privopt.mechanisms.redaction import TOTAL
from privopt.problems.redaction.data import RedactionData
from privopt.proof import checker, checker_redaction_bounds
from privopt.proof.draft import Draft, Line, Solved, whole_rows
from privopt.proof.rationals import GUARD, PRECISIONS, floor, levels, written
from privopt.proof.redaction_bounds import redaction_bounds

LONGEST = 2000
"""Records of a stream whose recursion is still written out."""

UNCOVERED = (
    "how much any private mechanism releases: privacy is proved, bounds are covered for one private record of a chain of two "
    "values, each record hidden by itself"
)

CLOSE = 1e-6
"""By how much a bound is weaker before that is said."""


def redaction(data: RedactionData, solution: Solved) -> Draft:
    """Which records may be told apart, and how many are released.

    Raises
    ------
    InvalidProblem
        If the adversary knows other records, nothing is promised, the chain varies in a set, or the stream is too long.
    """
    if data.ambiguity is not None:
        raise InvalidProblem("redaction for a set of chains is not covered by proof files")
    if data.side_information is not None:
        raise InvalidProblem("redaction against those who know other records is not covered by proof files")
    if data.epsilon == math.inf:
        raise InvalidProblem("nothing is promised about the private records, so there is no privacy to prove")
    if data.length > LONGEST:
        raise InvalidProblem(
            f"streams of more than {LONGEST} records are not covered by proof files, this one has {data.length}"
        )
    steps, places = list[list[list[int]]](), list[int]()
    for t in range(data.length - 1):
        rows = whole_rows(data.chain.exact_step(t))
        if rows not in steps:
            steps.append(rows)
        places.append(steps.index(rows))
    problem: Line = {
        "initial": list(data.chain.exact_initial.weights),
        "steps": steps,
        "step_of": places,
        "private": list(data.private),
        "weights": [written(w) for w in data.record_weights.tolist()],
    }
    hide = [[int(w) for w in row] for row in solution.mechanism.exact().tolist()]
    draft = Draft("redaction", problem, {"hide": hide, "total": TOTAL}, {}, GUARD)
    draft.at(levels({"upper": data.epsilon}, PRECISIONS[0]))
    if data.form == "local":
        draft.claim["released"] = written(
            max(Fraction(0), floor(Fraction(solution.certificate.utility[0]), 60))
        )
    else:
        draft.left_out.append("how much is released, as what follows a release is released too")
    _add_bound(draft, data, solution)
    return draft


def _add_bound(draft: Draft, data: RedactionData, solution: Solved) -> None:
    """The most that any private mechanism releases, where the chain has two values and one private record."""
    chain = checker_redaction_bounds.Chain(draft.problem)
    one = data.form == "local" and len(data.private) == 1 and chain.k == 2
    if not one or not all(all(row) for row in chain.marginals):
        draft.left_out.append(UNCOVERED)
        return
    weights = [Fraction(w) for w in data.record_weights.tolist()]
    released = Fraction(solution.certificate.utility[0]) * sum(weights)
    hidden = float(sum(weights) - weights[data.private[0]] - released)
    draft.beside = redaction_bounds(draft.problem, draft.bits, hidden)
    proved = checker.number(draft.beside.proofs[0]["bound"])
    if solution.bound is not None and proved > Fraction(solution.bound) + Fraction(CLOSE):
        draft.left_out.append(
            f"the bound of the solution, {solution.bound:.6g}; a weaker one is proved, {float(proved):.6g}"
        )
