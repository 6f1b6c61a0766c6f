"""One step of a sequence in the suites: random beliefs with rare letters or without, three distortions."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from privopt.benchmarks.runner.suite import Instance, InstanceSet, register_instances
from privopt.problems.belief_release import BeliefRelease as Ask

DISTORTIONS = ("hamming", "l1", "squared")


def _belief(n: int, concentration: float, seed: int) -> list[float]:
    """A random belief; a small concentration makes a few letters likely and the others rare.

    Examples
    --------
    >>> round(sum(_belief(4, 0.5, 0)), 12)
    1.0
    """
    return [float(p) for p in np.random.default_rng(seed).dirichlet(np.full(n, concentration))]


def quick() -> tuple[Instance, ...]:
    """Rare letters, where the printed formula leaks too much, and letters on a line."""
    return (
        Instance("rare-letters", 8, Ask(_belief(8, 0.5, 1), 1.0), budgets=(0.5, 1.0, 2.0)),
        Instance("line", 8, Ask(_belief(8, 1.0, 2), 1.0, "l1"), budgets=(0.5, 1.0, 2.0)),
    )


def solvers() -> tuple[Instance, ...]:
    """Every distortion, small and larger."""
    return tuple(
        Instance(f"{distortion}-{n}", n, Ask(_belief(n, 1.0, n), 1.0, distortion), budgets=(0.2, 1.0, 3.0))
        for n in (3, 8, 32, 64)
        for distortion in DISTORTIONS
    )


def certification() -> tuple[Instance, ...]:
    """Beliefs with very rare letters, small and large budgets."""
    return tuple(
        Instance(f"rare-{n}-{seed}", n, Ask(_belief(n, 0.1, seed), 1.0), budgets=(1e-6, 0.1, 5.0))
        for n in (4, 12)
        for seed in range(3)
    )


def scaling() -> tuple[Instance, ...]:
    """More and more letters on a line."""
    return tuple(
        Instance(f"letters-{n}", n, Ask(_belief(n, 1.0, n), 1.0, "squared"), "letters", (1.0,))
        for n in (10, 20, 40, 80)
    )


def about(suite: str) -> Sequence[str]:
    """Where the instances come from."""
    return (
        "One step of sequence information privacy: the least distortion of a letter of known belief at a bounded leakage.",
    )


register_instances(
    InstanceSet(
        question=Ask.kind,
        quick=quick,
        solvers=solvers,
        certification=certification,
        scaling=scaling,
        about=about,
    )
)
