"""Sequences in the suites: chains with memory and without, letters and words, three distortions."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from privopt.benchmarks.runner.suite import Instance, InstanceSet, register_instances
from privopt.models import MarkovChain
from privopt.problems.sequence_information_privacy import SequenceInformationPrivacy as Ask


def _chain(n: int, stay: float, seed: int) -> MarkovChain:
    """A random chain that stays where it is with at least a given probability.

    Examples
    --------
    >>> bool((_chain(4, 0.5, 0).transition.diagonal() >= 0.5).all())
    True
    """
    rng = np.random.default_rng(seed)
    moves = stay * np.eye(n) + (1 - stay) * rng.dirichlet(np.ones(n), n)
    return MarkovChain.normalised(moves, rng.dirichlet(np.ones(n)))


def quick() -> tuple[Instance, ...]:
    """A chain with memory by letters and by words, and a line."""
    return (
        Instance("letters", 3, Ask(_chain(3, 0.5, 1), 1.0, horizon=4), budgets=(0.5, 1.0, 2.0)),
        Instance("words", 2, Ask(_chain(2, 0.5, 2), 0.5, batch=2, horizon=2), budgets=(0.3, 0.5, 1.0)),
        Instance("levels", 4, Ask(_chain(4, 0.3, 3), 1.0, distortion="l1", horizon=2), budgets=(0.5, 1.0)),
    )


def solvers() -> tuple[Instance, ...]:
    """Letters on every distortion, and words of two to five letters that are released at once."""
    letters = tuple(
        Instance(
            f"sequence-{distortion}-{n}",
            n,
            Ask(_chain(n, 0.3, n), 1.0, distortion=distortion, horizon=4 if n < 8 else 2),
            budgets=(0.3, 1.0, 2.0),
        )
        for n in (2, 4, 8)
        for distortion in ("hamming", "l1", "squared")
    )
    words = tuple(
        Instance(f"words-{w}", 2**w, Ask(_chain(2, 0.6, w), 0.5, batch=w, horizon=w), budgets=(0.2, 0.5, 1.0))
        for w in (2, 3, 5)
    )
    return letters + words


def certification() -> tuple[Instance, ...]:
    """Chains that forbid transitions, sticky chains, small and large budgets, long horizons."""
    forbidding = MarkovChain([[0.5, 0.5, 0.0], [0.0, 0.5, 0.5], [0.25, 0.0, 0.75]])
    return (
        Instance("forbidding", 3, Ask(forbidding, 1.0, horizon=6), budgets=(1e-6, 0.1, 5.0)),
        Instance("sticky-letters", 2, Ask(_chain(2, 0.999, 4), 1.0, horizon=8), budgets=(1e-6, 0.1, 5.0)),
        Instance("long", 3, Ask(_chain(3, 0.8, 5), 1.0, horizon=100), budgets=(0.1, 1.0)),
    )


def scaling() -> tuple[Instance, ...]:
    """More and more letters."""
    return tuple(
        Instance(f"sequence-{n}", n, Ask(_chain(n, 0.3, n), 1.0, horizon=2), "letters", (1.0,))
        for n in (4, 8, 16, 32)
    )


def about(suite: str) -> Sequence[str]:
    """Where the instances come from."""
    return (
        "Sequence information privacy: the least distortion of a sequence, each release within its budget.",
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
