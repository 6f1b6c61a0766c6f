"""The linear programme over joint laws q(w, y) for a distortion, in sparse form."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from privopt.arrays import Floats
from privopt.problems.local_information_privacy.problem import LocalInformationPrivacy
from privopt.problems.local_information_privacy.rows import posterior_rows

NEGLIGIBLE = 1e-9
"""Probability of a release that is rounding rather than part of the answer."""


@dataclass(frozen=True, eq=False)
class Programme:
    """min cost . q over q >= 0 with ``rows q[:, y] <= 0`` for every y and ``q.sum(axis=1) == law``.

    Parameters
    ----------
    cost : array (k, m)
        Distortion of showing column y after the k-th observation of positive probability.
    rows : array (r, k)
        The posterior rows.
    law : array (k,)
    """

    cost: Floats
    rows: Floats
    law: Floats

    @property
    def cells(self) -> int:
        """Entries of the constraint matrix."""
        return int(self.cost.size * (len(self.rows) + 1))

    def inequalities(self) -> Any:
        """Sparse (r m, k m): row by row of ``rows``, then by column; unknowns by observation, then by column."""
        from scipy.sparse import csr_array, eye_array, kron

        return kron(csr_array(self.rows), eye_array(self.cost.shape[1]), format="csr")

    def equations(self) -> Any:
        """Sparse (k, k m): the joint law has the given marginal."""
        from scipy.sparse import eye_array, kron

        k, m = self.cost.shape
        return kron(eye_array(k), np.ones((1, m)), format="csr")


def programme(problem: LocalInformationPrivacy) -> Programme:
    """The programme of a question whose utility is a distortion."""
    observed = problem.observation
    support = observed.support
    cost = (observed.x_given_w.T @ problem_matrix(problem))[support]
    return Programme(cost, posterior_rows(problem)[:, support], observed.p_w[support])


def problem_matrix(problem: LocalInformationPrivacy) -> Floats:
    """The distortion.

    Raises
    ------
    ValueError
        If the utility is another one.
    """
    if problem.matrix is None:
        raise ValueError("the utility of this problem is not a distortion")
    return problem.matrix


def matrix_from_joint(
    problem: LocalInformationPrivacy, joint: Floats, negligible: float = NEGLIGIBLE
) -> Floats:
    """P(y | w) from q(w, y) on the support; observations of probability 0 are treated like the average one.

    Columns of probability at most ``negligible`` are dropped: rounding decides their posteriors, and one that breaks a
    bound by far costs the whole channel dearly in its repair.
    """
    kept = np.maximum(joint, 0.0) * (np.maximum(joint, 0.0).sum(axis=0) > negligible)
    matrix = np.tile(kept.sum(axis=0) / kept.sum(), (len(problem.observation.p_w), 1))
    shares = kept.sum(axis=1)
    used = shares > 0  # rounding may leave an observation of hardly any probability without a release
    matrix[problem.observation.support[used]] = kept[used] / shares[used, None]
    return matrix
