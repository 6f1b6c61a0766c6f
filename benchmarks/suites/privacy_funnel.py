"""The privacy funnel in the suites: the lectures' table, a survey, heart data and a census where present, random tables."""

from __future__ import annotations

from collections.abc import Sequence

from privopt.benchmarks.data import joints
from privopt.benchmarks.runner.suite import Instance, InstanceSet, register_instances
from privopt.models import JointDistribution
from privopt.problems.privacy_funnel import PrivacyFunnel as Ask

FRACTIONS = (0.5, 0.7, 0.9)
WEIGHTS = (0.0, 0.05, 0.1, 0.2, 0.3, 0.5, 0.8, 1.0)


def quick() -> tuple[Instance, ...]:
    """The lectures' table as a merging, and a survey with a release at random."""
    return (
        _floor("lecture-merging", joints.lecture(), "merging", (0.5, 0.7)),
        _floor("survey-leaning-floor", joints.leaning(), "stochastic", (0.5, 0.7, 0.9)),
    )


def solvers() -> tuple[Instance, ...]:
    """From 8 symbols to 1000, merged and at random, with a floor and with a weight."""
    sizes = ((4, 8), (4, 12), (8, 8), (3, 20), (10, 50), (10, 200), (10, 1000))
    floors = [_floor(f"floor-{s}x{x}", joints.sparse_joint(s, x), "stochastic", FRACTIONS) for s, x in sizes]
    merged = [_floor(f"merging-{s}x{x}", joints.sparse_joint(s, x), "merging", FRACTIONS) for s, x in sizes]
    capped = [
        Instance(f"capped-{s}x{x}", x, Ask(joints.sparse_joint(s, x), max_leakage=0.1), budgets=(0.02, 0.1))
        for s, x in ((3, 8), (4, 12))
    ]
    return (*floors, *merged, *capped, *_weighed(), *_real())


def _floor(name: str, joint: JointDistribution, form: str, fractions: Sequence[float]) -> Instance:
    asked = [Ask(joint, theta_fraction=f, form=form) for f in fractions]
    return Instance(
        name, len(joint.useful), asked[-1], name.rpartition("-")[0], tuple(p.budget for p in asked)
    )


def _weighed() -> list[Instance]:
    return [
        Instance("lecture-weighed", 9, Ask(joints.lecture(), trade_off=0.1, form="merging"), budgets=WEIGHTS),
        Instance("lecture-weighed-random", 9, Ask(joints.lecture(), trade_off=0.1), budgets=WEIGHTS),
    ]


def _real() -> list[Instance]:
    """The survey, the heart data with every weight in [0, 1], and the census."""
    found = [_floor("survey-merging", joints.survey(), "merging", FRACTIONS)]
    heart, census = joints.heart(), joints.census()
    if heart is not None:
        weighed = Ask(heart, trade_off=0.8)
        found.append(Instance("heart", len(heart.useful), weighed, budgets=WEIGHTS))
    if census is not None:
        weighed = Ask(census, trade_off=0.2)
        found += [
            Instance("census-weighed", len(census.useful), weighed, budgets=WEIGHTS),
            _floor("census-merging", census, "merging", FRACTIONS),
        ]
    return found


def scaling() -> tuple[Instance, ...]:
    """Merging from 50 to 2000 symbols of ten secrets."""
    return tuple(
        _floor(f"funnel-{n}", joints.sparse_joint(10, n), "merging", (0.7,))
        for n in (50, 100, 200, 500, 1000, 2000)
    )


def about(suite: str) -> Sequence[str]:
    """Where the instances come from."""
    question = (
        "Privacy funnel: how little a release can say about the secret S while it says much about X. Its budget is a "
        "floor on I(X;Y), or the weight of I(X;Y) against I(S;Y)."
    )
    return (question,)


register_instances(InstanceSet(question=Ask.kind, quick=quick, solvers=solvers, scaling=scaling, about=about))
