"""The least distortion at every joint of a set: linear programs, with joints added at which the answer breaks its bounds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from privopt.arrays import Floats
from privopt.core.highs import FINEST, Rows, minimise
from privopt.core.solver import Budget, Proposal
from privopt.problems.local_information_privacy.data import posterior_rows
from privopt.problems.local_information_privacy.problem import LocalInformationPrivacy
from privopt.solvers.common.separation import Separation


@dataclass(frozen=True, eq=False)
class Program:
    """A program's answer.

    ``matrix`` holds joint masses, shape (k, m); ``multipliers`` one list a release, >= 0; ``weights`` those of the costs.
    """

    matrix: Floats
    value: float
    multipliers: Floats
    weights: Floats


def least_of_largest(rows: Floats, p: Floats, costs: Sequence[Floats], budget: Budget) -> Program | None:
    """Min max_i costs_i . q over joint masses q >= 0 with ``rows q[:, y] <= 0`` for every release and marginal p; None if HiGHS fails.

    Examples
    --------
    >>> answer = least_of_largest(np.zeros((0, 2)), np.array([0.5, 0.5]), [1.0 - np.eye(2), np.ones((2, 2))], Budget())
    >>> None if answer is None else answer.value
    1.0
    """
    from scipy.sparse import csr_array, eye_array, hstack, kron, vstack

    (k, outputs), count = costs[0].shape, len(rows)
    bounds = hstack([kron(csr_array(rows), eye_array(outputs)), csr_array((count * outputs, 1))])
    tops = hstack([csr_array(np.array(costs).reshape(len(costs), -1)), csr_array(-np.ones((len(costs), 1)))])
    solved = minimise(
        np.append(np.zeros(k * outputs), 1.0),
        Rows.sparse(vstack([bounds, tops]), 0.0),
        Rows.sparse(kron(eye_array(k), np.ones((1, outputs))), p),
        lower=np.append(np.zeros(k * outputs), -np.inf),
        tolerance=FINEST,
        seconds=budget.remaining,
    )
    if solved is None:
        return None
    of_rows = solved.multipliers[: count * outputs].reshape(count, outputs).T
    matrix = solved.point[:-1].reshape(k, outputs)
    return Program(matrix, solved.value, of_rows, solved.multipliers[count * outputs :])


def least_cost(problem: LocalInformationPrivacy, budget: Budget) -> Proposal:
    """The channel of least distortion at the nominal joint that keeps the bounds at every joint of the set, and the proof.

    Parameters
    ----------
    problem : LocalInformationPrivacy
        Over a set of joints, with a distortion for its utility and bounds above 0.
    budget : Budget
    """
    ambiguity, matrix = problem.ambiguity, problem.matrix
    if ambiguity is None or matrix is None:
        return Proposal()
    cuts = Separation(problem, ambiguity)
    means = problem.observation.x_given_w.T @ matrix
    best, reached = problem.safe(), problem.evaluate(problem.safe()).utility
    bound: float | None = None
    dual: object = None
    rounds, stop = 0, "no joint breaks the bounds"
    while True:
        rounds += 1
        rows = posterior_rows(cuts.relaxed())[:, cuts.support]
        solved = least_of_largest(rows, cuts.p, [means[cuts.support]], budget)
        if solved is None:
            stop = "out of time"
            break
        offered = cuts.proof({"kind": "linear", "multipliers": solved.multipliers.tolist()})
        proved = problem.check_bound(-np.inf, offered)
        if proved is not None and (bound is None or proved < bound):
            bound, dual = proved, offered
        channel = problem.answer(cuts.matrix(solved.matrix))
        new, kept = cuts.separate(cuts.posteriors(channel)), problem.repair(channel, 0.0)
        if (utility := problem.evaluate(kept).utility) > reached:
            best, reached = kept, utility
        if not new or budget.remaining == 0:
            stop = "out of time" if new else stop
            break
    return Proposal(best, bound, dual, stats={"iterations": rounds, "joints": cuts.count, "stop": stop})
