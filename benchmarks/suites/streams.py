"""Belief release and sequence information privacy in the suites."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from privopt.benchmarks.runner.suite import Instance, InstanceSet, register_instances
from privopt.benchmarks.runner.vocabulary import Reference
from privopt.models import MarkovChain
from privopt.problems.belief_release.problem import BeliefRelease
from privopt.problems.sequence_information_privacy.problem import SequenceInformationPrivacy

DISTORTIONS = ("hamming", "l1", "squared")


def _belief(n: int, concentration: float, seed: int) -> list[float]:
    """A random belief; a small concentration makes a few letters likely and the others rare.

    Examples
    --------
    >>> round(sum(_belief(4, 0.5, 0)), 12)
    1.0
    """
    return [float(p) for p in np.random.default_rng(seed).dirichlet(np.full(n, concentration))]


def belief_quick() -> tuple[Instance, ...]:
    """Rare letters, where the printed formula leaks too much, and letters on a line."""
    return (
        Instance(
            "rare-letters",
            8,
            BeliefRelease(_belief(8, 0.5, 1), 1.0),
            budgets=(0.5, 1.0, 2.0),
            title="Eight letters, some of them rare",
            note="Hamming error",
        ),
        Instance(
            "line",
            8,
            BeliefRelease(_belief(8, 1.0, 2), 1.0, "l1"),
            budgets=(0.5, 1.0, 2.0),
            title="Eight letters on a line",
            note="distance",
        ),
    )


def belief_solvers() -> tuple[Instance, ...]:
    """Every distortion, small and larger."""
    return tuple(
        Instance(
            f"{distortion}-{n}",
            n,
            BeliefRelease(_belief(n, 1.0, n), 1.0, distortion),
            budgets=(0.2, 1.0, 3.0),
        )
        for n in (3, 8, 32, 64)
        for distortion in DISTORTIONS
    )


def belief_certification() -> tuple[Instance, ...]:
    """Beliefs with very rare letters, small and large budgets."""
    return tuple(
        Instance(f"rare-{n}-{seed}", n, BeliefRelease(_belief(n, 0.1, seed), 1.0), budgets=(1e-6, 0.1, 5.0))
        for n in (4, 12)
        for seed in range(3)
    )


def belief_scaling() -> tuple[Instance, ...]:
    """More and more letters on a line."""
    return tuple(
        Instance(f"letters-{n}", n, BeliefRelease(_belief(n, 1.0, n), 1.0, "squared"), "letters", (1.0,))
        for n in (10, 20, 40, 80)
    )


def belief_about(suite: str) -> Sequence[str]:
    """Where the instances come from."""
    return (
        "One step of sequence information privacy: the least distortion of a letter of known belief at a bounded leakage.",
    )


register_instances(
    InstanceSet(
        question=BeliefRelease.kind,
        quick=belief_quick,
        solvers=belief_solvers,
        certification=belief_certification,
        scaling=belief_scaling,
        about=belief_about,
        reference=Reference("randomised-response", "randomised response"),
    )
)


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


def sequence_quick() -> tuple[Instance, ...]:
    """A chain with memory by letters and by words, and a line."""
    return (
        Instance(
            "letters",
            3,
            SequenceInformationPrivacy(_chain(3, 0.5, 1), 1.0, horizon=4),
            budgets=(0.5, 1.0, 2.0),
            title="Letters one by one",
            note="3 letters, 4 steps",
        ),
        Instance(
            "words",
            2,
            SequenceInformationPrivacy(_chain(2, 0.5, 2), 0.5, batch=2, horizon=2),
            budgets=(0.3, 0.5, 1.0),
            title="A word at once",
            note="2 letters, words of 2",
        ),
        Instance(
            "levels",
            4,
            SequenceInformationPrivacy(_chain(4, 0.3, 3), 1.0, distortion="l1", horizon=2),
            budgets=(0.5, 1.0),
            title="Levels on a line",
            note="4 levels, 2 steps",
        ),
    )


def sequence_solvers() -> tuple[Instance, ...]:
    """Letters on every distortion, and words of two to five letters that are released at once."""
    letters = tuple(
        Instance(
            f"sequence-{distortion}-{n}",
            n,
            SequenceInformationPrivacy(
                _chain(n, 0.3, n), 1.0, distortion=distortion, horizon=4 if n < 8 else 2
            ),
            budgets=(0.3, 1.0, 2.0),
        )
        for n in (2, 4, 8)
        for distortion in ("hamming", "l1", "squared")
    )
    words = tuple(
        Instance(
            f"words-{w}",
            2**w,
            SequenceInformationPrivacy(_chain(2, 0.6, w), 0.5, batch=w, horizon=w),
            budgets=(0.2, 0.5, 1.0),
        )
        for w in (2, 3, 5)
    )
    return letters + words


def sequence_certification() -> tuple[Instance, ...]:
    """Chains that forbid transitions, sticky chains, small and large budgets, long horizons."""
    forbidding = MarkovChain([[0.5, 0.5, 0.0], [0.0, 0.5, 0.5], [0.25, 0.0, 0.75]])
    return (
        Instance(
            "forbidding", 3, SequenceInformationPrivacy(forbidding, 1.0, horizon=6), budgets=(1e-6, 0.1, 5.0)
        ),
        Instance(
            "sticky-letters",
            2,
            SequenceInformationPrivacy(_chain(2, 0.999, 4), 1.0, horizon=8),
            budgets=(1e-6, 0.1, 5.0),
        ),
        Instance(
            "long", 3, SequenceInformationPrivacy(_chain(3, 0.8, 5), 1.0, horizon=100), budgets=(0.1, 1.0)
        ),
    )


def sequence_scaling() -> tuple[Instance, ...]:
    """More and more letters."""
    return tuple(
        Instance(
            f"sequence-{n}",
            n,
            SequenceInformationPrivacy(_chain(n, 0.3, n), 1.0, horizon=2),
            "letters",
            (1.0,),
        )
        for n in (4, 8, 16, 32)
    )


def sequence_about(suite: str) -> Sequence[str]:
    """Where the instances come from."""
    return (
        "Sequence information privacy: the least distortion of a sequence, each release within its budget.",
    )


register_instances(
    InstanceSet(
        question=SequenceInformationPrivacy.kind,
        quick=sequence_quick,
        solvers=sequence_solvers,
        certification=sequence_certification,
        scaling=sequence_scaling,
        about=sequence_about,
        reference=Reference("randomised-response", "randomised response"),
    )
)
