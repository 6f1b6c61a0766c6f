"""Belief release, sequence information privacy and Bayesian privacy in the suite ``dispatch``."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from privopt.arrays import Floats
from privopt.benchmarks.runner.case import register_cases
from privopt.core.problem import Problem
from privopt.models import ChainAmbiguity, GaussianModel, GroupModel, MarkovChain
from privopt.problems.bayesian_privacy.problem import BayesianPrivacy
from privopt.problems.belief_release.problem import BeliefRelease
from privopt.problems.sequence_information_privacy.problem import SequenceInformationPrivacy


def _probabilities(n: int, concentration: float = 1.0) -> Floats:
    """A random distribution; a small concentration makes a few letters likely and the others rare.

    Examples
    --------
    >>> round(float(_probabilities(4).sum()), 12)
    1.0
    """
    drawn: Floats = np.random.default_rng(n).dirichlet(np.full(n, concentration))
    return drawn


def _belief(
    n: int, distortion: str = "hamming", concentration: float = 1.0, epsilon: float = 1.0
) -> Problem[Any]:
    return BeliefRelease(_probabilities(n, concentration).tolist(), epsilon, distortion)


def _matrix(n: int, m: int, epsilon: float = 1.0) -> Problem[Any]:
    costs = np.random.default_rng([n, m]).random((n, m))
    return BeliefRelease(_probabilities(n).tolist(), epsilon, costs)


def _impossible(n: int) -> Problem[Any]:
    return BeliefRelease([0.0, *_probabilities(n - 1).tolist()], 1.0, "squared")


_LETTERS = ((8, "q"), (100, "q"), (300, ""), (1000, "l"), (3000, ""))
_LINES = ((8, "q"), (64, ""), (300, "l"), (1000, ""))

register_cases(
    "belief_release",
    (
        *((f"letters-{n}", marks, partial(_belief, n)) for n, marks in _LETTERS),
        *((f"l1-{n}", marks, partial(_belief, n, "l1")) for n, marks in _LINES),
        *((f"squared-{n}", "", partial(_belief, n, "squared")) for n in (8, 300)),
        *((f"matrix-{n}x{m}", "", partial(_matrix, n, m)) for n, m in ((8, 8), (100, 100))),
        ("l1-300-large", "", partial(_belief, 300, "l1", 0.3, 8.0)),
        ("squared-1000-large", "", partial(_belief, 1000, "squared", 1.0, 6.0)),
        ("matrix-400x400-large", "", partial(_matrix, 400, 400, 8.0)),
        ("rare-12", "q", partial(_belief, 12, "hamming", 0.1)),
        ("rare-l1-40", "", partial(_belief, 40, "l1", 0.1)),
        ("impossible-5", "", partial(_impossible, 5)),
    ),
)


def _sticky(k: int, stay: float) -> MarkovChain:
    """A random chain that stays where it is with at least a given probability.

    Examples
    --------
    >>> bool((_sticky(4, 0.5).transition.diagonal() >= 0.5).all())
    True
    """
    rng = np.random.default_rng(k)
    moves = stay * np.eye(k) + (1 - stay) * rng.dirichlet(np.ones(k), k)
    return MarkovChain.normalised(moves, rng.dirichlet(np.ones(k)))


def _sequence(
    k: int, horizon: int, distortion: str = "hamming", stay: float = 0.3, epsilon: float = 1.0
) -> Problem[Any]:
    return SequenceInformationPrivacy(_sticky(k, stay), epsilon, distortion=distortion, horizon=horizon)


_TWO = {
    "stays": ((0.9, 0.1), (0.1, 0.9)),
    "long-stays": ((0.97, 0.03), (0.03, 0.97)),
    "rare": ((0.9, 0.1), (0.01, 0.99)),
    "swing": ((0.2, 0.8), (0.8, 0.2)),
}


def _two(name: str, epsilon: float, horizon: int) -> Problem[Any]:
    chain = MarkovChain([list(row) for row in _TWO[name]])
    return SequenceInformationPrivacy(chain, epsilon, horizon=horizon)


def _fresh(
    k: int, epsilon: float, horizon: int, stay: float, shift: int = 0, messages: int = 1
) -> Problem[Any]:
    """Letters that stay with one probability, or a noisy cycle of them."""
    moves = np.full((k, k), (1 - stay) / (k - 1))
    moves[np.arange(k), (np.arange(k) + shift) % k] = stay
    chain = MarkovChain.normalised(moves)
    return SequenceInformationPrivacy(chain, epsilon, horizon=horizon, messages=messages)


def _walk(k: int, epsilon: float, horizon: int) -> Problem[Any]:
    """Letters that move to a neighbour with probability 0.4, at the ends with 0.2."""
    moves = 0.6 * np.eye(k)
    for x in range(k):
        for y in (x - 1, x + 1):
            moves[x, min(max(y, 0), k - 1)] += 0.2
    return SequenceInformationPrivacy(MarkovChain.normalised(moves), epsilon, horizon=horizon)


def _likely_words(batch: int) -> Problem[Any]:
    chain = MarkovChain([[0.9, 0.1], [0.1, 0.9]], [0.1, 0.9])
    return SequenceInformationPrivacy(chain, 1.0, batch=batch, horizon=batch)


def _over_set(k: int, share: float, horizon: int) -> Problem[Any]:
    return SequenceInformationPrivacy(ChainAmbiguity.interval(_sticky(k, 0.3), share), 1.0, horizon=horizon)


def _words(k: int, batch: int, horizon: int) -> Problem[Any]:
    return SequenceInformationPrivacy(_sticky(k, 0.6), 0.5, batch=batch, horizon=horizon)


_SEQUENCES = (
    (2, 4, ""),
    (2, 100, ""),
    (2, 1000, "l"),
    (4, 4, ""),
    (4, 1000, ""),
    (8, 2, ""),
    (8, 100, ""),
    (32, 2, ""),
    (64, 4, ""),
    (200, 2, "l"),
    (200, 100, ""),
)

register_cases(
    "sequence_information_privacy",
    (
        *((f"letters-{k}-horizon-{n}", marks, partial(_sequence, k, n)) for k, n, marks in _SEQUENCES),
        *((f"l1-{k}-horizon-4", "", partial(_sequence, k, 4, "l1")) for k in (4, 64)),
        *((f"squared-{k}-horizon-4", "", partial(_sequence, k, 4, "squared")) for k in (4, 16)),
        *((f"two-{name}-horizon-100", "", partial(_two, name, 1.0, 100)) for name in _TWO),
        *(
            (f"two-stays-{epsilon:g}-horizon-1000", "", partial(_two, "stays", epsilon, 1000))
            for epsilon in (0.1, 3.0)
        ),
        ("two-rare-horizon-8", "q", partial(_two, "rare", 1.0, 8)),
        ("words-2^10-ten-nats", "", partial(_likely_words, 10)),
        ("l1-24-horizon-4", "", partial(_sequence, 24, 4, "l1")),
        ("l1-200-horizon-4-large", "", partial(_sequence, 200, 4, "l1", epsilon=8.0)),
        ("squared-100-horizon-16-large", "", partial(_sequence, 100, 16, "squared", epsilon=6.0)),
        ("stays-3-horizon-100", "", partial(_sequence, 3, 100, "hamming", 0.99)),
        *(
            (f"fresh-{k}-horizon-100", "", partial(_fresh, k, 1.0, 100, stay))
            for k, stay in ((3, 0.8), (4, 0.7), (8, 0.8))
        ),
        ("cycle-3-horizon-100", "", partial(_fresh, 3, 1.0, 100, 0.9, 1)),
        *((f"walk-{k}-horizon-100", "", partial(_walk, k, 0.3, 100)) for k in (5, 8)),
        *((f"messages-{k}-horizon-100", "", partial(_fresh, k, 1.0, 100, 0.95, messages=2)) for k in (3, 4)),
        *((f"set-{k}-horizon-{n}", "", partial(_over_set, k, 0.1, n)) for k, n in ((2, 8), (4, 100))),
        *(
            (f"words-{k}^{w}-horizon-{n}", marks, partial(_words, k, w, n))
            for k, w, n, marks in (
                (2, 2, 4, "q"),
                (2, 2, 100, ""),
                (2, 3, 99, ""),
                (2, 5, 10, ""),
                (2, 10, 20, ""),
                (3, 4, 8, ""),
                (7, 3, 99, ""),
                (20, 2, 40, ""),
            )
        ),
    ),
)


def _chain(k: int) -> MarkovChain:
    rows = np.random.default_rng(k).dirichlet(np.ones(k), size=k) + np.eye(k)
    return MarkovChain.normalised(rows.tolist())


def _absorbing(k: int) -> MarkovChain:
    """States are left upwards only; the last one never.

    Examples
    --------
    >>> float(_absorbing(3).transition[2, 2])
    1.0
    """
    moves = np.triu(np.random.default_rng(k).random((k, k)) + 0.1)
    return MarkovChain.normalised(moves, np.full(k, 1 / k))


def _count(k: int, length: int | None = None, epsilon: float = 1.0) -> Problem[Any]:
    return BayesianPrivacy(_chain(k), "count" if k == 2 else "histogram", epsilon, length=length)


def _read(k: int, query: str, length: int | None = None, epsilon: float = 1.0) -> Problem[Any]:
    """A count, a sum or a mean of a chain whose states need not stay.

    Examples
    --------
    >>> _read(3, "sum", 50).length
    50
    """
    rows = np.random.default_rng(k).dirichlet(np.full(k, 0.5), size=k)
    clip = None if query == "count" else (0, k - 1)
    return BayesianPrivacy(MarkovChain.normalised(rows.tolist()), query, epsilon, length=length, clip=clip)


def _absorbed(k: int, length: int | None) -> Problem[Any]:
    return BayesianPrivacy(_absorbing(k), "histogram", 1.0, length=length)


def _slow(k: int, stay: float) -> Problem[Any]:
    return BayesianPrivacy(_sticky(k, stay), "histogram", 1.0)


def _correlations(m: int, rho: float) -> GaussianModel:
    return GaussianModel(rho ** np.abs(np.subtract.outer(np.arange(m), np.arange(m))))


def _row(m: int, rho: float = 0.6) -> Problem[Any]:
    return BayesianPrivacy(_correlations(m, rho), "sum", 1.0, clip=(0, 1))


def _family(m: int) -> Problem[Any]:
    factors = np.random.default_rng(m).normal(size=(m, 2 * m))
    return BayesianPrivacy(GaussianModel(factors @ factors.T), "sum", 1.0, clip=(0, 1))


def _everywhere(m: int) -> Problem[Any]:
    return BayesianPrivacy(_correlations(m, 0.6), "sum", 1.0, clip=(0, 1), scope="all_reals")


def _group(m: int) -> Problem[Any]:
    return BayesianPrivacy(GroupModel(m), "sum", 1.0, clip=(0, 1))


def _flipped(k: int) -> Problem[Any]:
    return BayesianPrivacy(_chain(k), ("count", 0), 3.0, length=100, mechanism="randomised_response")


_CHAINS = ((2, "q"), (5, "q"), (10, ""), (20, "l"))
_ROWS = ((5, "q"), (40, ""), (200, ""), (2000, "l"))

register_cases(
    "bayesian_privacy",
    (
        *((f"chain-{k}", marks, partial(_count, k)) for k, marks in _CHAINS),
        *((f"chain-2-records-{n}", "", partial(_count, 2, n)) for n in (6, 1000)),
        ("chain-5-records-1000", "", partial(_count, 5, 1000)),
        ("count-3", "", partial(_read, 3, "count")),
        ("count-6-records-72", "", partial(_read, 6, "count", 72)),
        ("count-12", "", partial(_read, 12, "count")),
        ("sum-5", "", partial(_read, 5, "sum")),
        ("sum-8-records-1000000", "", partial(_read, 8, "sum", 10**6)),
        ("mean-4-records-134", "", partial(_read, 4, "mean", 134, 0.1)),
        ("absorbing-3-records-20", "q", partial(_absorbed, 3, 20)),
        ("absorbing-10-records-100", "", partial(_absorbed, 10, 100)),
        ("absorbing-20-records-100", "", partial(_absorbed, 20, 100)),
        ("sticky-3", "", partial(_slow, 3, 0.999)),
        ("sticky-10", "", partial(_slow, 10, 0.99)),
        ("flipped-3-records-100", "", partial(_flipped, 3)),
        *((f"row-{m}", marks, partial(_row, m)) for m, marks in _ROWS),
        ("row-100-strong", "", partial(_row, 100, 0.95)),
        *((f"family-{m}", "", partial(_family, m)) for m in (3, 30)),
        ("all-reals-40", "", partial(_everywhere, 40)),
        ("group-10", "", partial(_group, 10)),
    ),
)
