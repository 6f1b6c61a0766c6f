"""The information bottleneck in the suites: the lectures' table, a survey, random tables."""

from __future__ import annotations

from collections.abc import Sequence

from privopt.benchmarks.data import joints
from privopt.benchmarks.runner.suite import Instance, InstanceSet, register_instances
from privopt.problems.information_bottleneck import InformationBottleneck as Ask

WEIGHTS = (0.02, 0.05, 0.1, 0.2, 0.5)


def quick() -> tuple[Instance, ...]:
    """A survey, compressed to what tells the vote."""
    return (Instance("survey-compressed", 7, Ask(joints.leaning(), trade_off=0.1), budgets=(0.03, 0.1, 0.3)),)


def solvers() -> tuple[Instance, ...]:
    """Weighed and bounded rates, at random and merged."""
    table = [
        Instance(f"compressed-{form}", 9, Ask(joints.lecture(), trade_off=0.1, form=form), budgets=WEIGHTS)
        for form in ("stochastic", "merging")
    ]
    rates = [Instance("rate", 9, Ask(joints.lecture(), max_rate=0.5), budgets=(0.2, 0.5, 1.0))]
    random = [
        Instance(f"compressed-{s}x{x}", x, Ask(joints.sparse_joint(s, x), trade_off=0.1), budgets=WEIGHTS)
        for s, x in ((2, 6), (4, 12), (4, 30))
    ]
    return (*quick(), *table, *rates, *random)


def scaling() -> tuple[Instance, ...]:
    """Merging from 10 to 200 symbols."""
    return tuple(
        Instance(f"bottleneck-{n}", n, Ask(joints.sparse_joint(5, n), trade_off=0.1), "bottleneck", (0.1,))
        for n in (10, 20, 50, 100, 200)
    )


def about(suite: str) -> Sequence[str]:
    """Where the instances come from."""
    return (
        "Information bottleneck: how to compress X and keep what it says about S; the budget is the weight or the bound of the rate.",
    )


register_instances(InstanceSet(question=Ask.kind, quick=quick, solvers=solvers, scaling=scaling, about=about))
