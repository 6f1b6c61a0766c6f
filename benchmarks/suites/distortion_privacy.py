"""Distortion against leakage in the suites: the lectures' table, a survey, random tables; all leakages, both directions."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from privopt.benchmarks.data import joints
from privopt.benchmarks.runner.suite import Instance, InstanceSet, register_instances
from privopt.models import JointDistribution
from privopt.problems.distortion_privacy import DistortionPrivacy as Ask

LEAKAGES = ("mutual_information", "maximal_leakage", "lip", "ldp", "sibson")


def quick() -> tuple[Instance, ...]:
    """A survey with a bounded mutual information, and one with a bounded error."""
    return (
        Instance(
            "survey-capped", 7, _capped(joints.leaning(), "mutual_information"), budgets=(0.02, 0.05, 0.1)
        ),
        Instance("survey-error", 7, _error(joints.leaning(), "maximal_leakage"), budgets=(0.2, 0.3, 0.5)),
    )


def solvers() -> tuple[Instance, ...]:
    """Every leakage in both directions, small and larger."""
    made = []
    for s, x in ((2, 4), (4, 9), (5, 20), (8, 40)):
        joint = joints.sparse_joint(s, x)
        for leakage in LEAKAGES:
            made.append(
                Instance(f"capped-{leakage}-{s}x{x}", x, _capped(joint, leakage), budgets=(0.05, 0.2))
            )
            made.append(Instance(f"error-{leakage}-{s}x{x}", x, _error(joint, leakage), budgets=(0.2, 0.5)))
    return tuple(made)


def _capped(joint: JointDistribution, leakage: str) -> Ask:
    return Ask(
        joint, _hamming(joint), max_leakage=0.1, leakage=leakage, alpha=2.0 if leakage == "sibson" else None
    )


def _error(joint: JointDistribution, leakage: str) -> Ask:
    return Ask(
        joint,
        _hamming(joint),
        max_distortion=0.3,
        leakage=leakage,
        alpha=2.0 if leakage == "sibson" else None,
    )


def _hamming(joint: JointDistribution) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    return 1.0 - np.eye(len(joint.useful))


def certification() -> tuple[Instance, ...]:
    """Bounds that conic solvers meet to their tolerance only."""
    return tuple(
        Instance(
            f"cap-{leakage}-{n}-{seed}",
            n,
            _capped(joints.sparse_joint(3, n, seed), leakage),
            budgets=(0.01, 0.1),
        )
        for n in (4, 8)
        for seed in range(3)
        for leakage in LEAKAGES
    )


def scaling() -> tuple[Instance, ...]:
    """Mutual information bounded, with more and more symbols."""
    return tuple(
        Instance(
            f"symbols-capped-{n}",
            n,
            _capped(joints.sparse_joint(4, n), "mutual_information"),
            "distortion",
            (0.1,),
        )
        for n in (5, 10, 20, 40)
    )


def about(suite: str) -> Sequence[str]:
    """Where the instances come from."""
    return (
        "Distortion and privacy: the least distortion of X for a bounded leakage about S, or the least leakage for a bounded distortion.",
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
