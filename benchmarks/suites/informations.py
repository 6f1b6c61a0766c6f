"""Privacy funnel, information bottleneck and distortion privacy in the suites."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from privopt.benchmarks.data import joints
from privopt.benchmarks.runner.suite import Instance, InstanceSet, register_instances
from privopt.benchmarks.runner.vocabulary import Reference
from privopt.models import JointDistribution
from privopt.problems.distortion_privacy.problem import DistortionPrivacy
from privopt.problems.information_bottleneck.problem import InformationBottleneck
from privopt.problems.privacy_funnel.problem import PrivacyFunnel

FRACTIONS = (0.5, 0.7, 0.9)
WEIGHTS = (0.0, 0.05, 0.1, 0.2, 0.3, 0.5, 0.8, 1.0)


def funnel_quick() -> tuple[Instance, ...]:
    """The lectures' table as a merging, and a survey with a release at random."""
    return (
        replace(
            _floor("lecture-merging", joints.lecture(), "merging", (0.5, 0.7)),
            title="Table of the lectures",
            note="merged",
        ),
        replace(
            _floor("survey-leaning-floor", joints.leaning(), "stochastic", (0.5, 0.7, 0.9)),
            title="Election survey",
            note="at random",
        ),
    )


def funnel_solvers() -> tuple[Instance, ...]:
    """From 8 symbols to 1000, merged and at random, with a floor and with a weight."""
    sizes = ((4, 8), (4, 12), (8, 8), (3, 20), (10, 50), (10, 200), (10, 1000))
    floors = [_floor(f"floor-{s}x{x}", joints.sparse_joint(s, x), "stochastic", FRACTIONS) for s, x in sizes]
    merged = [_floor(f"merging-{s}x{x}", joints.sparse_joint(s, x), "merging", FRACTIONS) for s, x in sizes]
    capped = [
        Instance(
            f"capped-{s}x{x}",
            x,
            PrivacyFunnel(joints.sparse_joint(s, x), max_leakage=0.1),
            budgets=(0.02, 0.1),
        )
        for s, x in ((3, 8), (4, 12))
    ]
    return (*floors, *merged, *capped, *_weighed(), *_real())


def _floor(name: str, joint: JointDistribution, form: str, fractions: Sequence[float]) -> Instance:
    problems = [PrivacyFunnel(joint, theta_fraction=f, form=form) for f in fractions]
    return Instance(
        name, len(joint.useful), problems[-1], name.rpartition("-")[0], tuple(p.budget for p in problems)
    )


def _weighed() -> list[Instance]:
    return [
        Instance(
            "lecture-weighed",
            9,
            PrivacyFunnel(joints.lecture(), trade_off=0.1, form="merging"),
            budgets=WEIGHTS,
        ),
        Instance(
            "lecture-weighed-random", 9, PrivacyFunnel(joints.lecture(), trade_off=0.1), budgets=WEIGHTS
        ),
    ]


def _real() -> list[Instance]:
    """The survey, the heart data with every weight in [0, 1], and the census."""
    instances = [_floor("survey-merging", joints.survey(), "merging", FRACTIONS)]
    heart, census = joints.heart(), joints.census()
    if heart is not None:
        weighed = PrivacyFunnel(heart, trade_off=0.8)
        instances.append(Instance("heart", len(heart.useful), weighed, budgets=WEIGHTS))
    if census is not None:
        weighed = PrivacyFunnel(census, trade_off=0.2)
        instances += [
            Instance("census-weighed", len(census.useful), weighed, budgets=WEIGHTS),
            _floor("census-merging", census, "merging", FRACTIONS),
        ]
    return instances


def funnel_scaling() -> tuple[Instance, ...]:
    """Merging from 50 to 2000 symbols of ten secrets."""
    return tuple(
        _floor(f"funnel-{n}", joints.sparse_joint(10, n), "merging", (0.7,))
        for n in (50, 100, 200, 500, 1000, 2000)
    )


def funnel_about(suite: str) -> Sequence[str]:
    """Where the instances come from."""
    problem = (
        "Privacy funnel: how little a release can say about the secret S while it says much about X. Its budget is a "
        "floor on I(X;Y), or the weight of I(X;Y) against I(S;Y)."
    )
    return (problem,)


register_instances(
    InstanceSet(
        question=PrivacyFunnel.kind,
        quick=funnel_quick,
        solvers=funnel_solvers,
        scaling=funnel_scaling,
        about=funnel_about,
        reference=Reference("plain-greedy", "greedy merging"),
    )
)


RATE_WEIGHTS = (0.02, 0.05, 0.1, 0.2, 0.5)


def bottleneck_quick() -> tuple[Instance, ...]:
    """A survey, compressed to what reveals the vote."""
    return (
        Instance(
            "survey-compressed",
            7,
            InformationBottleneck(joints.leaning(), trade_off=0.1),
            budgets=(0.03, 0.1, 0.3),
            title="Election survey",
            note="the vote as S",
        ),
    )


def bottleneck_solvers() -> tuple[Instance, ...]:
    """Weighed and bounded rates, at random and merged."""
    table = [
        Instance(
            f"compressed-{form}",
            9,
            InformationBottleneck(joints.lecture(), trade_off=0.1, form=form),
            budgets=RATE_WEIGHTS,
        )
        for form in ("stochastic", "merging")
    ]
    rates = [
        Instance("rate", 9, InformationBottleneck(joints.lecture(), max_rate=0.5), budgets=(0.2, 0.5, 1.0))
    ]
    random = [
        Instance(
            f"compressed-{s}x{x}",
            x,
            InformationBottleneck(joints.sparse_joint(s, x), trade_off=0.1),
            budgets=RATE_WEIGHTS,
        )
        for s, x in ((2, 6), (4, 12), (4, 30))
    ]
    return (*bottleneck_quick(), *table, *rates, *random)


def bottleneck_scaling() -> tuple[Instance, ...]:
    """Merging from 10 to 200 symbols."""
    return tuple(
        Instance(
            f"bottleneck-{n}",
            n,
            InformationBottleneck(joints.sparse_joint(5, n), trade_off=0.1),
            "bottleneck",
            (0.1,),
        )
        for n in (10, 20, 50, 100, 200)
    )


def bottleneck_about(suite: str) -> Sequence[str]:
    """Where the instances come from."""
    return (
        "Information bottleneck: how to compress X and keep what it says about S; the budget is the weight or the bound of the rate.",
    )


register_instances(
    InstanceSet(
        question=InformationBottleneck.kind,
        quick=bottleneck_quick,
        solvers=bottleneck_solvers,
        scaling=bottleneck_scaling,
        about=bottleneck_about,
        reference=Reference("agglomerative", "merging pair by pair"),
    )
)


LEAKAGES = ("mutual_information", "maximal_leakage", "lip", "ldp", "sibson")


def distortion_quick() -> tuple[Instance, ...]:
    """A survey with a bounded mutual information, and one with a bounded error."""
    return (
        Instance(
            "survey-capped",
            7,
            _capped(joints.leaning(), "mutual_information"),
            budgets=(0.02, 0.05, 0.1),
            title="Election survey",
            note="leakage capped",
        ),
        Instance(
            "survey-error",
            7,
            _error(joints.leaning(), "maximal_leakage"),
            budgets=(0.2, 0.3, 0.5),
            title="Election survey",
            note="error capped",
        ),
    )


def distortion_solvers() -> tuple[Instance, ...]:
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


def _capped(joint: JointDistribution, leakage: str) -> DistortionPrivacy:
    return DistortionPrivacy(
        joint, _hamming(joint), max_leakage=0.1, leakage=leakage, alpha=2.0 if leakage == "sibson" else None
    )


def _error(joint: JointDistribution, leakage: str) -> DistortionPrivacy:
    return DistortionPrivacy(
        joint,
        _hamming(joint),
        max_distortion=0.3,
        leakage=leakage,
        alpha=2.0 if leakage == "sibson" else None,
    )


def _hamming(joint: JointDistribution) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    return 1.0 - np.eye(len(joint.useful))


def distortion_certification() -> tuple[Instance, ...]:
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


def distortion_scaling() -> tuple[Instance, ...]:
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


def distortion_about(suite: str) -> Sequence[str]:
    """Where the instances come from."""
    return (
        "Distortion and privacy: the least distortion of X for a bounded leakage about S, or the least leakage for a bounded distortion.",
    )


register_instances(
    InstanceSet(
        question=DistortionPrivacy.kind,
        quick=distortion_quick,
        solvers=distortion_solvers,
        certification=distortion_certification,
        scaling=distortion_scaling,
        about=distortion_about,
        reference=Reference("exponential-mixing", "an exponential mechanism"),
    )
)
