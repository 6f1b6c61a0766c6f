"""Proofs about log-lifts that may be broken with a probability: the kind of file that checker_exceptions.py checks."""

from __future__ import annotations

import math
from fractions import Fraction

from privopt.errors import InvalidProblem
from privopt.problems.local_information_privacy.data import LocalInformationPrivacyData
from privopt.proof import checker_exceptions
from privopt.proof.draft import Draft, Line, Solved, release_line, weights_of
from privopt.proof.linear import claim_cost, enclose
from privopt.proof.rationals import GUARD, rows_written, written

BITS = 192
"""Bits of the logarithms of an information."""


def exceptions(data: LocalInformationPrivacyData, solution: Solved) -> Draft:
    """Bounds of log-lifts that hold but for a probability of delta.

    Raises
    ------
    InvalidProblem
        If no bound is asked for, the cost is a function, or the mechanism is nearer to a level than can be written.
    """
    if data.cost is not None:
        raise InvalidProblem("a cost that is a function of yours is not covered by proof files")
    named = {"upper": data.upper, "lower": data.lower}
    finite: dict[str, float | Fraction] = {k: Fraction(v) for k, v in named.items() if v < math.inf}
    secret, useful = weights_of(data.observation)
    problem: Line = {"distribution": secret, "delta": written(data.delta)}
    if useful is not None:
        problem["useful"] = useful
    draft = Draft("exceptions", problem, release_line(data.observation, solution.mechanism), {}, GUARD)
    enclose(draft, finite, _keeps)
    if data.matrix is not None:
        draft.problem["loss"] = rows_written(data.matrix.tolist())
        claim_cost(draft)
    else:
        draft.bits = max(draft.bits, BITS)
        draft.claim["information"] = written(max(Fraction(0), Fraction(solution.certificate.utility[0])))
    draft.left_out.append("how much better any mechanism with this probability of exceptions could be")
    return draft


def _keeps(draft: Draft) -> None:
    """Let the checker see whether the exceptions are rare enough at these levels."""
    checker_exceptions.check(draft.problem, draft.mechanism, {}, [], draft.bits)
