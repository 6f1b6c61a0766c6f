"""Closed forms where the secret is the useful symbol and uniform."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from privopt.arrays import Floats
from privopt.core.registry import register
from privopt.core.solver import Budget, Guarantee, Proposal, Solver
from privopt.problems.local_information_privacy.bound import analytic_bound, priced_bound
from privopt.problems.local_information_privacy.data import posterior_rows
from privopt.problems.local_information_privacy.patterns import DEEPEST
from privopt.problems.local_information_privacy.problem import LocalInformationPrivacy
from privopt.solvers.local_information_privacy.answer import ANALYTIC, channel_from_posteriors, whole_release
from privopt.solvers.local_information_privacy.direct_lp import linear_bound


def secrets(problem: LocalInformationPrivacy) -> NDArray[np.intp] | None:
    """The secret of each observation, if the observation, the useful symbol and the secret are one, and uniform."""
    joint = problem.observation.leaking
    if problem.observation.useful is not None or len(joint.sensitive) != len(joint.useful):
        return None
    table = np.array(joint.exact.weights, dtype=object).reshape(joint.table.shape)
    places = (table != 0).astype(int)
    one_each = (places.sum(axis=0) == 1).all() and (places.sum(axis=1) == 1).all()
    if not one_each or len(set(table.sum(axis=0).tolist())) > 1:
        return None
    return np.asarray(places.argmax(axis=0))


def hamming_scale(matrix: Floats) -> float | None:
    """The distortion of every error, if the matrix is square with 0 on the diagonal and one value > 0 elsewhere."""
    n = len(matrix)
    if matrix.shape != (n, n) or n < 2:
        return None
    scale = float(matrix[0, 1])
    return scale if scale > 0 and (matrix == scale * (1.0 - np.eye(n))).all() else None


def extreme_hit(problem: LocalInformationPrivacy, n: int) -> float:
    """The largest probability that a release gives to one symbol.

    LDP: r / (r + n - 1) with r = e^epsilon. LIP: e^upper / n, or what the others leave at e^-lower / n.
    """
    if problem.notion == "ldp":
        return 1.0 / (1.0 + (n - 1) * math.exp(-problem.budget))
    return min(_top(problem, n) / n, 1.0 - (n - 1) * math.exp(-problem.lower) / n)


def _top(problem: LocalInformationPrivacy, n: int) -> float:
    """The largest lift: e^upper, at most n."""
    return math.exp(problem.upper) if problem.upper < math.log(n) else float(n)


def best_lifts(problem: LocalInformationPrivacy, n: int) -> Floats:
    """Lifts of an allowed posterior of least entropy, the largest first.

    LDP: k symbols at r / (k r + n - k) and the others at 1 / (k r + n - k), for the best k. LIP: a vertex of
    a box cut by the simplex has all but one lift at a bound, and the sum decides how many at which.
    """
    if problem.notion == "ldp":
        low = math.exp(-problem.budget)
        options = [np.where(np.arange(n) < k, 1.0, low) * (n / (k + (n - k) * low)) for k in range(1, n + 1)]
        return min(options, key=_entropy)
    top, low = _top(problem, n), math.exp(-problem.lower)
    if top <= low:
        return np.ones(n)
    high = min(n - 1, int((n - n * low) / (top - low)))
    middle = n - high * top - (n - 1 - high) * low
    return np.concatenate([np.full(high, top), [min(max(middle, low), top)], np.full(n - 1 - high, low)])


def _entropy(lifts: Floats) -> float:
    v = lifts / lifts.sum()
    return float(-(v * np.log(np.where(v > 0, v, 1.0))).sum())


def hamming_multipliers(problem: LocalInformationPrivacy, rows: int) -> Floats:
    """Multipliers of the posterior rows, a row a release, that prove the least Hamming distortion.

    They make every observation cost the same at every release. LDP: 1 / (n (n - 1 + r)) on the pairs (y, t);
    LIP: 1 on the upper row of y where that binds, else 1 on the lower rows of all others.
    """
    n = len(problem.observation.p_w)
    of, scale = secrets(problem), hamming_scale(np.asarray(problem.matrix))
    multipliers = np.zeros((n, rows))
    if of is None or scale is None:
        return multipliers
    if problem.notion == "ldp":
        for y, s in enumerate(of.tolist()):  # pairs (s, t) in order, without (s, s)
            multipliers[y, s * (n - 1) : (s + 1) * (n - 1)] = scale / (n * (n - 1 + math.exp(problem.budget)))
        return multipliers
    above = problem.upper < math.log(n)  # else the upper rows are idle and left out
    if above and math.exp(problem.upper) <= n - (n - 1) * math.exp(-problem.lower):
        multipliers[np.arange(n), of] = scale
        return multipliers
    multipliers[:, rows - n :] = scale
    multipliers[np.arange(n), rows - n + of] = 0.0
    return multipliers


MOST_MULTIPLIED = 100
"""Symbols up to which multipliers are the proof for the Hamming distortion: a file of proofs has rational arithmetic only."""

ROUNDING = 1e-13
"""Nats that the proof of a bound leaves to rounding."""


@register
@dataclass(frozen=True)
class ClosedForm(Solver[LocalInformationPrivacy]):
    """Formulas for a uniform secret that is the useful symbol: mutual information or Hamming distortion.

    By symmetry the best posterior is any allowed one of least cost and its cyclic shifts: two levels for LDP
    (Kairouz, Oh, Viswanath, "Extremal mechanisms for local differential privacy"), one symbol off the bounds
    for LIP, randomised response for the Hamming distortion.
    """

    solves: ClassVar = LocalInformationPrivacy
    name: ClassVar[str] = "closed-form"

    def guarantee(self, problem: LocalInformationPrivacy) -> Guarantee:
        """Optimal for delta = 0."""
        return Guarantee.FEASIBLE if problem.delta > 0 else Guarantee.OPTIMAL

    def cost(self, problem: LocalInformationPrivacy) -> float:
        """The channel, and its bound."""
        return 0.01 + 1e-6 * len(problem.observation.p_w) ** 2

    def refuse(self, problem: LocalInformationPrivacy) -> str | None:
        """Refuse what has no closed form."""
        if problem.cost is not None:
            return "it knows mutual information and Hamming distortion, this cost is a function"
        if problem.matrix is not None and hamming_scale(problem.matrix) is None:
            return "it knows the Hamming distortion, this matrix is another one"
        if secrets(problem) is None:
            return "it needs a useful symbol that is the secret itself and uniform"
        return None

    def run(self, problem: LocalInformationPrivacy, budget: Budget) -> Proposal:
        """Propose the formula's channel and its bound."""
        if (whole := whole_release(problem)) is not None:
            return whole
        n = len(problem.observation.p_w)
        stats: dict[str, float | int | str] = {"iterations": 0, "vertices": n, "stop": "closed form"}
        if problem.matrix is None:
            first = best_lifts(problem, n) / n
            shifts = np.array([np.roll(first, y) for y in range(n)])
            channel = channel_from_posteriors(problem, np.full(n, 1.0 / n), shifts)
            return Proposal(channel, *_information_bound(problem, first), stats=stats)
        hit = extreme_hit(problem, n)
        rest = (1.0 - hit) / (n - 1)
        channel = problem.answer(rest + (hit - rest) * np.eye(n))
        if problem.delta > 0:
            return Proposal(channel, analytic_bound(problem), ANALYTIC, stats=stats)
        if n > MOST_MULTIPLIED:
            scale = problem.matrix[0].max()
            return Proposal(channel, -float(scale * (n - 1) * rest), ANALYTIC, stats=stats)
        multipliers = hamming_multipliers(problem, len(posterior_rows(problem)))
        dual = {"kind": "linear", "multipliers": multipliers.tolist()}
        return Proposal(channel, linear_bound(problem, multipliers), dual, stats=stats)


def _information_bound(problem: LocalInformationPrivacy, posterior: Floats) -> tuple[float, object]:
    """Equal prices: no posterior has less entropy than this one, which counts of likely symbols show for any number of them."""
    bound = analytic_bound(problem)
    if problem.delta > 0 or problem.budget > DEEPEST:
        return bound, ANALYTIC
    entropy = -math.fsum(v * math.log(v) for v in posterior.tolist() if v > 0)
    prices = np.full(len(posterior), entropy)
    priced = priced_bound(problem, prices, -ROUNDING)
    return (
        (bound, ANALYTIC)
        if bound <= priced
        else (priced, {"kind": "patterns", "pi": prices.tolist(), "least": -ROUNDING})
    )
