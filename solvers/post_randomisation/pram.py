"""Baseline: the invariant matrix of the software of statistical offices, drawn at random, which looks at no secret."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from privopt.arrays import Floats
from privopt.core.registry import register
from privopt.core.solver import Budget, Guarantee, Proposal, Solver
from privopt.problems.post_randomisation.problem import PostRandomisation


@register
@dataclass(frozen=True)
class Pram(Solver[PostRandomisation]):
    """Baseline: the invariant matrix of sdcMicro's ``pram``, with random diagonal entries; it looks at no secret.

    Source: Gouweleeuw, Kooiman, Willenborg, de Wolf, "Post randomisation for statistical disclosure control", for the two
    stages; Templ, Kowarik, Meindl, "Statistical disclosure control for micro-data using the R package sdcMicro", for the draw.

    Parameters
    ----------
    least : float
        In [0, 1]: the smallest diagonal entry of the first stage ("pd" there).
    amount : float
        In [0, 1]: the weight of the two stages against no change ("alpha" there).
    """

    solves: ClassVar = PostRandomisation
    name: ClassVar[str] = "pram"
    guaranteed: ClassVar[Guarantee | None] = Guarantee.BASELINE

    least: float = 0.8
    amount: float = 0.5

    def cost(self, problem: PostRandomisation) -> float:
        """A product of matrices, and rationals of every cell."""
        n = len(problem.symbols)
        return 1e-3 + 2e-6 * n**2 + 1e-9 * n**3

    def refuse(self, problem: PostRandomisation) -> str | None:
        """Refuse joint tables, which it does not keep."""
        return "it keeps the distribution of the symbols and no joint table" if problem.tables else None

    def run(self, problem: PostRandomisation, budget: Budget) -> Proposal:
        """Propose the matrix, brought to the distribution exactly."""
        n = len(problem.symbols)
        stays = np.random.default_rng(budget.seed).uniform(self.least, 1.0, n)
        matrix = invariant_matrix(problem.observation.p_w, stays, self.amount)
        kept = problem.preserving(matrix)
        return Proposal(problem.answer(matrix) if kept is None else kept)


def invariant_matrix(p: ArrayLike, stays: ArrayLike, amount: float = 1.0) -> Floats:
    """The matrix that changes a symbol, guesses it again from what came out, and does so with a given weight.

    The first stage keeps symbol x with probability ``stays[x]`` and takes all others equally often. The second is Bayes' rule of
    the first: given what came out, a symbol is drawn as likely as it was the original. The two together keep the distribution.

    Parameters
    ----------
    p : n probabilities
    stays : n numbers in [0, 1]
    amount : float
        In [0, 1]; the rest stays as it is.

    Examples
    --------
    >>> matrix = invariant_matrix([0.75, 0.25], [0.9, 0.8])
    >>> bool(np.allclose([0.75, 0.25] @ matrix, [0.75, 0.25])), matrix.round(4).tolist()
    (True, [[0.8652, 0.1348], [0.4044, 0.5956]])
    """
    prior, diagonal = np.asarray(p, dtype=np.float64), np.asarray(stays, dtype=np.float64)
    n = len(prior)
    first = np.repeat(((1.0 - diagonal) / max(1, n - 1))[:, None], n, axis=1)
    first[np.arange(n), np.arange(n)] = diagonal if n > 1 else 1.0
    joint = prior[:, None] * first
    back = (joint / joint.sum(axis=0)).T
    return np.asarray(amount * (first @ back) + (1.0 - amount) * np.eye(n))
