"""Local information privacy and pointwise maximal leakage in the suites: the lectures' table, a survey, random tables."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from privopt.benchmarks.data import joints
from privopt.benchmarks.runner.suite import Instance, InstanceSet, register_instances
from privopt.benchmarks.runner.vocabulary import Reference
from privopt.models import JointDistribution, ObservedJoint
from privopt.problems.local_information_privacy.problem import LocalInformationPrivacy as Ask
from privopt.problems.pointwise_maximal_leakage.problem import PointwiseMaximalLeakage

BUDGETS = (0.1, 0.3, 1.0, 2.0)


def quick() -> tuple[Instance, ...]:
    """The lectures' table, a survey with a distortion, and one with a tolerated probability."""
    hamming = 1.0 - np.eye(7)
    return (
        Instance(
            "lecture-table",
            9,
            Ask(joints.lecture(), 1.0),
            budgets=(0.3, 1.0),
            title="Table of the lectures",
            note="4 × 9",
        ),
        Instance(
            "survey-leaning",
            7,
            Ask(joints.leaning(), 1.0, utility=hamming),
            budgets=(0.5,),
            title="Election survey",
            note="Hamming error",
        ),
        Instance(
            "lecture-delta",
            9,
            Ask(joints.lecture(), 1.0, delta=0.01),
            budgets=(1.0,),
            title="Table of the lectures, δ = 0.01",
            note="4 × 9",
        ),
    )


def solvers() -> tuple[Instance, ...]:
    """Random tables to the limits of every back end, other notions, and real tables."""
    sizes = (
        (2, 10),
        (2, 50),
        (2, 200),
        (3, 20),
        (3, 60),
        (4, 12),
        (4, 40),
        (6, 20),
        (8, 15),
        (8, 25),
        (12, 15),
        (20, 100),
    )
    random = [Instance(f"random-{s}x{x}", x, _random(s, x), f"random-{s}", BUDGETS) for s, x in sizes]
    linear = [
        Instance(
            f"linear-4x{n}",
            n,
            Ask(joints.random_joint(4, n), 1.0, utility=1.0 - np.eye(n)),
            "linear",
            BUDGETS,
        )
        for n in (5, 20, 60, 150)
    ]
    return (*random, *linear, *_notions(), *_thin(), *_real())


def _random(n_s: int, n_x: int) -> Ask:
    return Ask(joints.random_joint(n_s, n_x), 1.0)


def _notions() -> list[Instance]:
    """One-sided and uneven bounds, LDP, delta, full data."""
    small, table = joints.random_joint(3, 8), joints.sparse_joint(2, 4)
    return [
        Instance("upper-3x8", 8, Ask(small, upper=1.0), budgets=BUDGETS),
        Instance("lower-3x8", 8, Ask(small, lower=1.0), budgets=BUDGETS),
        Instance("uneven-3x8", 8, Ask(small, lower=1.0, upper=0.5), budgets=BUDGETS),
        Instance("ldp-3x8", 8, Ask(small, 1.0, notion="ldp"), budgets=BUDGETS),
        Instance("delta-3x8", 8, Ask(small, 1.0, delta=0.02), budgets=BUDGETS),
        Instance("full-data-2x4", 8, Ask(ObservedJoint.full_data(table), 1.0), budgets=BUDGETS),
    ]


def _thin() -> list[Instance]:
    """Budgets so small that the polytope is a thin slab, and none at all."""
    counts = np.random.default_rng(19).integers(1, 20, size=(4, 8))
    return [
        Instance(
            "thin-4x8", 8, Ask(JointDistribution.normalised(counts), 1.0), budgets=(0.0, 1e-8, 1e-6, 1e-4)
        )
    ]


def _real() -> list[Instance]:
    instances = [
        Instance("lecture-table", 9, Ask(joints.lecture(), 1.0), budgets=BUDGETS),
        Instance("survey", 47, Ask(joints.survey(), 1.0), budgets=BUDGETS),
    ]
    census = joints.census()
    if census is not None:
        instances.append(Instance("census", len(census.useful), Ask(census, 1.0), budgets=BUDGETS))
    return instances


def certification() -> tuple[Instance, ...]:
    """Small distortions, where linear programs in floats break the budget, and small vertices."""
    return tuple(
        Instance(f"{name}-{n}-{seed}", n, problem, f"{name}-{seed}", (0.01, 0.1, 1.0, 3.0))
        for n in (4, 10, 20)
        for seed in range(6)
        for name, problem in _sampled(n, seed)
    )


def _sampled(n: int, seed: int) -> list[tuple[str, Ask]]:
    joint = joints.sparse_joint(4, n, seed)
    linear = Ask(joint, 1.0, utility=1.0 - np.eye(n))
    metric = Ask(joint, 1.0, notion="ldp", utility=np.abs(np.subtract.outer(np.arange(n), np.arange(n))) / n)
    return [
        ("hamming", linear),
        ("ldp-distance", metric),
        *([("information", Ask(joint, 1.0))] if n == 4 else []),
    ]


def scaling() -> tuple[Instance, ...]:
    """Families in which only the number of symbols, or that of secrets, grows."""
    symbols = [
        Instance(f"symbols-{n}", n, _random(3, n), "lip-symbols", (1.0,)) for n in (6, 10, 16, 25, 40, 60)
    ]
    secrets = [
        Instance(f"secrets-{s}", s, _random(s, 12), "lip-secrets", (1.0,)) for s in (2, 3, 4, 6, 9, 12)
    ]
    linear = [
        Instance(
            f"outputs-{n}",
            n,
            Ask(joints.random_joint(6, n), 1.0, utility=1.0 - np.eye(n)),
            "lip-linear",
            (1.0,),
        )
        for n in (10, 20, 40, 80, 150)
    ]
    return (*symbols, *secrets, *linear)


def about(suite: str) -> Sequence[str]:
    """Where the instances come from."""
    problem = (
        "Local information privacy: what to release of X so that no release shifts the odds of a value of the secret S by "
        "more than a factor e^ε."
    )
    tables = "Its distributions are the 4 x 9 table of the lectures and a survey before the election of 1996, with the vote as the secret."
    more = "" if suite == "quick" else " The others are random tables, each from a fixed seed."
    return problem, tables + more


register_instances(
    InstanceSet(
        question=Ask.kind,
        quick=quick,
        solvers=solvers,
        certification=certification,
        scaling=scaling,
        about=about,
        reference=Reference("watchdog-merge", "the watchdog"),
    )
)


def pointwise_quick() -> tuple[Instance, ...]:
    """The lectures' table, and a secret that is published itself."""
    return (
        Instance(
            "lecture-pointwise",
            9,
            PointwiseMaximalLeakage(joints.lecture(), 1.0),
            budgets=(0.3,),
            title="Table of the lectures",
            note="4 × 9",
        ),
        Instance("itself-5", 5, _itself(5), budgets=(0.3,), title="The secret itself", note="5 values"),
    )


def pointwise_solvers() -> tuple[Instance, ...]:
    """The secret itself, other secrets, a distortion, and a survey."""
    tables = ((2, 10), (3, 20), (4, 12), (8, 15))
    hamming = PointwiseMaximalLeakage(joints.random_joint(4, 20), 1.0, utility=1.0 - np.eye(20))
    return (
        *(Instance(f"itself-{n}", n, _itself(n), "itself", BUDGETS) for n in (4, 6, 8)),
        *(
            Instance(
                f"pointwise-{s}x{x}",
                x,
                PointwiseMaximalLeakage(joints.random_joint(s, x), 1.0),
                f"pointwise-{s}",
                BUDGETS,
            )
            for s, x in tables
        ),
        Instance("pointwise-hamming-4x20", 20, hamming, budgets=BUDGETS),
        Instance("survey-pointwise", 47, PointwiseMaximalLeakage(joints.survey(), 1.0), budgets=BUDGETS),
    )


def _itself(n: int) -> PointwiseMaximalLeakage:
    """Values of probability proportional to 1 .. n."""
    return PointwiseMaximalLeakage(JointDistribution.normalised(np.diag(np.arange(1, n + 1))), 1.0)


def pointwise_scaling() -> tuple[Instance, ...]:
    """The secret itself, ever larger."""
    return tuple(Instance(f"itself-{n}", n, _itself(n), "pointwise-itself", (1.0,)) for n in (4, 6, 8, 10))


def pointwise_about(suite: str) -> Sequence[str]:
    """Where the instances come from."""
    return (
        (
            "Pointwise maximal leakage: what to release of X so that no release makes a value of the secret S more than e^ε times "
            "as likely as before."
        ),
        "Its tables are those of local information privacy, and diagonal ones, where the secret itself is published.",
    )


register_instances(
    InstanceSet(
        question=PointwiseMaximalLeakage.kind,
        quick=pointwise_quick,
        solvers=pointwise_solvers,
        scaling=pointwise_scaling,
        about=pointwise_about,
        reference=Reference("watchdog-merge", "the watchdog"),
    )
)
