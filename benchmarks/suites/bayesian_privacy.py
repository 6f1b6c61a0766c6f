"""Noise on queries of dependent records in the suites: families, long correlated rows, chains of several states."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from privopt.benchmarks.runner.suite import Instance, InstanceSet, register_instances
from privopt.benchmarks.runner.vocabulary import Reference
from privopt.models import GaussianModel, MarkovChain
from privopt.problems.bayesian_privacy.problem import BayesianPrivacy as Ask


def _row(m: int, rho: float) -> GaussianModel:
    """Records in a row, of correlation rho to the power of their distance.

    Examples
    --------
    >>> _row(2, 0.5).max_correlation
    0.5
    """
    places = np.arange(m)
    return GaussianModel(rho ** np.abs(places[:, None] - places[None, :]))


def _family(m: int, seed: int) -> GaussianModel:
    """Records with random dependence."""
    factors = np.random.default_rng(seed).normal(size=(m, 2 * m))
    return GaussianModel(factors @ factors.T)


def _chain(k: int, seed: int) -> MarkovChain:
    """A random chain that tends to stay."""
    rows = np.random.default_rng(seed).dirichlet(np.ones(k), size=k) + np.eye(k)
    return MarkovChain.normalised(rows.tolist())


def quick() -> tuple[Instance, ...]:
    """A family, and a stream of two states."""
    return (
        Instance(
            "family",
            3,
            Ask(_family(3, 1), "sum", 1.0, clip=(0, 1)),
            budgets=(0.5, 1.0, 2.0),
            title="Three correlated records",
            note="sum",
        ),
        Instance(
            "stream",
            2,
            Ask(_chain(2, 2), "count", 1.0),
            budgets=(0.5, 1.0, 2.0),
            title="Stream of two states",
            note="count",
        ),
    )


def solvers() -> tuple[Instance, ...]:
    """Families and rows of several sizes, chains of several states, short and long."""
    budgets = (0.5, 1.0, 3.0)
    return (
        *(
            Instance(f"family-{m}", m, Ask(_family(m, m), "sum", 1.0, clip=(0, 1)), budgets=budgets)
            for m in (3, 6, 9)
        ),
        *(
            Instance(f"row-{m}", m, Ask(_row(m, 0.6), "sum", 1.0, clip=(0, 1)), budgets=budgets)
            for m in (5, 40)
        ),
        *(Instance(f"chain-{k}", k, Ask(_chain(k, k), "histogram", 1.0), budgets=budgets) for k in (2, 3)),
        Instance(
            "short", 6, Ask(MarkovChain([[0.2, 0.8], [0.8, 0.2]]), "count", 1.0, length=6), budgets=budgets
        ),
    )


def certification() -> tuple[Instance, ...]:
    """Nearly deterministic chains and strong correlations, small and large budgets."""
    chain = MarkovChain([[0.99, 0.01], [0.03, 0.97]])
    return (
        Instance("sticky", 2, Ask(chain, "count", 1.0), budgets=(1e-6, 0.1, 8.0)),
        Instance("strong", 8, Ask(_row(8, 0.95), "sum", 1.0, clip=(0, 1)), budgets=(1e-6, 0.1, 8.0)),
    )


def scaling() -> tuple[Instance, ...]:
    """Longer and longer rows."""
    return tuple(
        Instance(f"row-{m}", m, Ask(_row(m, 0.6), "sum", 1.0, clip=(0, 1)), "records", (1.0,))
        for m in (10, 20, 40, 80)
    )


def about(suite: str) -> Sequence[str]:
    """Where the instances come from."""
    return (
        "Noise on a query of dependent records under Bayesian differential privacy; all instances are made up.",
    )


register_instances(
    InstanceSet(
        question=Ask.kind,
        quick=quick,
        solvers=solvers,
        certification=certification,
        scaling=scaling,
        about=about,
        reference=Reference("general", "ε divided by the size of the group"),
    )
)
