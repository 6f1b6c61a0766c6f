"""Post-randomisation in the suites."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from privopt.arrays import Floats
from privopt.benchmarks.data import joints
from privopt.benchmarks.data.shipped import us_employment
from privopt.benchmarks.runner.suite import Instance, InstanceSet, register_instances
from privopt.benchmarks.runner.vocabulary import Reference
from privopt.models import JointDistribution
from privopt.models.metric import Metric
from privopt.problems.post_randomisation.problem import PostRandomisation

BUDGETS = (0.2, 0.5, 1.0)


def sectors(epsilon: float = 0.5, notion: str = "lip") -> PostRandomisation:
    """The sector of an employee, by the official table of December 2015; the sector itself is the secret.

    Examples
    --------
    >>> len(sectors().symbols)
    15
    """
    return PostRandomisation(us_employment(), "hamming", epsilon, notion=notion)


def census_occupations(epsilon: float = 0.5) -> PostRandomisation | None:
    """Known occupations of the Adult set with sex and income as the secret; None where the file is missing."""
    path = joints.present("adult")
    if path is None:
        return None
    import pandas as pd

    frame = pd.read_csv(path).dropna(subset=["occupation"])
    joint = JointDistribution.from_frame(frame, ["sex", "income"], ["occupation"])
    return PostRandomisation(joint, "hamming", epsilon)


def random_column(secrets: int, symbols: int, notion: str = "lip") -> PostRandomisation:
    """A random table of a secret and a symbol."""
    return PostRandomisation(joints.random_joint(secrets, symbols), "hamming", 0.5, notion=notion)


def steps(n: int) -> Floats:
    """How far numbers are apart.

    Examples
    --------
    >>> steps(3)[0].tolist()
    [0.0, 1.0, 2.0]
    """
    return np.abs(np.subtract.outer(np.arange(n), np.arange(n))).astype(np.float64)


def ordered(n: int, epsilon: float = 0.5) -> PostRandomisation:
    """Ordered categories, of which near ones are hard to tell apart; a change costs its steps."""
    counts = np.random.default_rng(n).integers(1, 100, n).tolist()
    return PostRandomisation(counts, steps(n), epsilon, notion=Metric.line(n))


def grouped(n: int, epsilon: float = 0.5) -> PostRandomisation:
    """A column whose joint table with another one stays as well: that one knows the parity of the symbol only."""
    joint = joints.random_joint(3, n)
    weights = np.array(joint.exact.weights, dtype=object).reshape(3, n).sum(axis=0)
    table = [
        [2 * w if x % 2 else w for x, w in enumerate(weights)],
        [w if x % 2 else 2 * w for x, w in enumerate(weights)],
    ]
    return PostRandomisation(
        joint, "hamming", epsilon, preserve=JointDistribution.normalised(table, useful=joint.useful)
    )


def _quick() -> tuple[Instance, ...]:
    return (
        Instance(
            "sectors",
            15,
            sectors(),
            budgets=BUDGETS,
            title="Sectors of employment",
            note="15 sectors, December 2015",
        ),
    )


def _solvers() -> tuple[Instance, ...]:
    census = census_occupations()
    return (
        Instance("sectors-ratio", 15, sectors(notion="ldp"), budgets=BUDGETS),
        *((Instance("census-occupations", 14, census, budgets=BUDGETS),) if census is not None else ()),
        *(Instance(f"column-4x{n}", n, random_column(4, n), budgets=BUDGETS) for n in (6, 12, 25)),
        Instance("column-ratio-3x12", 12, random_column(3, 12, "ldp"), budgets=BUDGETS),
        Instance("ordered-12", 12, ordered(12), budgets=BUDGETS),
        Instance("grouped-10", 10, grouped(10), budgets=BUDGETS),
    )


def _certification() -> tuple[Instance, ...]:
    return tuple(
        Instance(f"column-2x{n}", n, random_column(2, n), budgets=(0.001, 0.1, 3.0)) for n in (5, 10, 20)
    )


def _scaling() -> tuple[Instance, ...]:
    return tuple(
        Instance(f"columns-{n}", n, random_column(4, n), "post-randomisation", (0.5,))
        for n in (10, 20, 40, 80)
    )


def _about(suite: str) -> Sequence[str]:
    return (
        "Post-randomisation: which values of a column to change at random so that its distribution stays exactly as it is.",
    )


register_instances(
    InstanceSet(
        question=PostRandomisation.kind,
        quick=_quick,
        solvers=_solvers,
        certification=_certification,
        scaling=_scaling,
        about=_about,
        reference=Reference("pram", "the invariant matrix of sdcMicro"),
    )
)
