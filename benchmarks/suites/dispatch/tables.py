"""Local information privacy, pointwise maximal leakage, distortion privacy and post-randomisation in the suite ``dispatch``."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from privopt.arrays import Floats
from privopt.benchmarks.data import joints
from privopt.benchmarks.runner.case import register_cases
from privopt.benchmarks.suites.post_randomisation import grouped, ordered, random_column
from privopt.core.problem import Problem
from privopt.models import JointAmbiguity, JointDistribution, ObservedJoint
from privopt.problems.distortion_privacy.problem import DistortionPrivacy
from privopt.problems.local_information_privacy.problem import LocalInformationPrivacy
from privopt.problems.pointwise_maximal_leakage.problem import PointwiseMaximalLeakage


def line(n: int) -> Floats:
    """Distances between n symbols on a line, from 0 to 1.

    Examples
    --------
    >>> line(3)[0].tolist()
    [0.0, 0.5, 1.0]
    """
    distances: Floats = np.abs(np.subtract.outer(np.arange(n), np.arange(n))) / (n - 1)
    return distances


def itself(n: int) -> JointDistribution:
    """The secret itself is useful; values of probability proportional to 1 .. n.

    Examples
    --------
    >>> itself(2).p_x.round(3).tolist()
    [0.333, 0.667]
    """
    return JointDistribution.normalised(np.diag(np.arange(1, n + 1)))


def classes(n: int, k: int) -> JointDistribution:
    """The secret is a class of the useful symbol: n symbols of random probabilities dealt into k classes.

    Examples
    --------
    >>> classes(6, 2).table.shape
    (2, 6)
    """
    table = np.zeros((k, n))
    table[np.arange(n) % k, np.arange(n)] = np.random.default_rng([k, n]).dirichlet(np.ones(n))
    return JointDistribution.normalised(table)


def rare(n_s: int, n_x: int, share: float) -> JointDistribution:
    """A random table whose last secret has a small probability.

    Examples
    --------
    >>> bool(rare(3, 4, 1e-9).p_s[-1] < 2e-9)
    True
    """
    cells = np.random.default_rng([n_s, n_x]).random((n_s, n_x))
    cells[-1] *= share
    return JointDistribution.normalised(cells)


def counts_of_weak(n_s: int, n_x: int, rows: int) -> JointAmbiguity:
    """The set around counts whose rows hardly differ; the last value of the secret is seldom counted.

    Examples
    --------
    >>> counts_of_weak(3, 4, 1000).nominal.table.shape
    (3, 4)
    """
    rng = np.random.default_rng([n_s, n_x, rows])
    base = rng.dirichlet(np.full(n_x, 3.0))
    sizes = [rows] * (n_s - 1) + [20]
    return JointAmbiguity.from_counts([rng.multinomial(size, rng.dirichlet(300 * base)) for size in sizes])


def counts_of_random(n_s: int, n_x: int, rows: int) -> JointAmbiguity:
    """The set around counts of a random table.

    Examples
    --------
    >>> counts_of_random(3, 4, 1000).nominal.table.shape
    (3, 4)
    """
    rng = np.random.default_rng([n_s, n_x, rows])
    cells = rng.multinomial(rows, rng.dirichlet(np.ones(n_s * n_x)))
    return JointAmbiguity.from_counts(cells.reshape(n_s, n_x))


def _lip(n_s: int, n_x: int, epsilon: float = 1.0, seed: int = 0) -> Problem[Any]:
    return LocalInformationPrivacy(joints.random_joint(n_s, n_x, seed), epsilon)


def _sparse(n_s: int, n_x: int, epsilon: float = 1.0) -> Problem[Any]:
    return LocalInformationPrivacy(joints.sparse_joint(n_s, n_x), epsilon)


def _counted(n_s: int, n_x: int, rows: int, epsilon: float = 1.0) -> Problem[Any]:
    return LocalInformationPrivacy(joints.counted_joint(n_s, n_x, rows), epsilon)


def _over_set(counts: Callable[[int, int, int], JointAmbiguity], n_s: int, n_x: int) -> Problem[Any]:
    return LocalInformationPrivacy(counts(n_s, n_x, 10_000), 1.0)


def _survey(epsilon: float) -> Problem[Any]:
    return LocalInformationPrivacy(joints.survey(), epsilon)


def _lecture(epsilon: float) -> Problem[Any]:
    return LocalInformationPrivacy(joints.lecture(), epsilon)


def _hamming(n_s: int, n_x: int) -> Problem[Any]:
    return LocalInformationPrivacy(joints.random_joint(n_s, n_x), 1.0, utility=1.0 - np.eye(n_x))


def _metric(n: int, notion: str) -> Problem[Any]:
    return LocalInformationPrivacy(itself(n), 1.0, notion=notion, utility=line(n))


def _informative(joint: JointDistribution, notion: str) -> Problem[Any]:
    return LocalInformationPrivacy(joint, 1.0, notion=notion)


def _upper(n_s: int, n_x: int) -> Problem[Any]:
    return LocalInformationPrivacy(joints.random_joint(n_s, n_x), upper=1.0)


def _uneven(n_s: int, n_x: int) -> Problem[Any]:
    return LocalInformationPrivacy(joints.random_joint(n_s, n_x), lower=1.0, upper=0.5)


def _ldp(n_s: int, n_x: int) -> Problem[Any]:
    return LocalInformationPrivacy(joints.random_joint(n_s, n_x), 1.0, notion="ldp")


def _delta(n_s: int, n_x: int) -> Problem[Any]:
    return LocalInformationPrivacy(joints.random_joint(n_s, n_x), 1.0, delta=0.02)


def _delta_hamming(n_s: int, n_x: int) -> Problem[Any]:
    joint = joints.random_joint(n_s, n_x)
    return LocalInformationPrivacy(joint, 0.3, delta=0.02, utility=1.0 - np.eye(n_x))


def _rare(n_s: int, n_x: int) -> Problem[Any]:
    return LocalInformationPrivacy(rare(n_s, n_x, 5e-9), 1.0)


def _full(n_s: int, n_x: int) -> Problem[Any]:
    return LocalInformationPrivacy(ObservedJoint.full_data(joints.random_joint(n_s, n_x)), 1.0)


_SIZES = (
    ((2, 10), "q"),
    ((2, 200), "q"),
    ((2, 1000), "l"),
    ((2, 5000), "l"),
    ((3, 60), ""),
    ((4, 12), "q"),
    ((4, 40), ""),
    ((4, 200), "l"),
    ((8, 15), ""),
    ((12, 15), "q"),
    ((15, 40), "ql"),
    ((20, 50), "l"),
    ((25, 25), ""),
    ((30, 100), "ql"),
    ((50, 200), "l"),
)

register_cases(
    "local_information_privacy",
    (
        *((f"random-{s}x{x}", marks, partial(_lip, s, x)) for (s, x), marks in _SIZES),
        *((f"square-{n}", "q" if n == 24 else "", partial(_lip, n, n, 1.0, 1)) for n in (20, 24, 32, 40)),
        ("strict-4x40", "", partial(_lip, 4, 40, 0.1)),
        ("strict-10x60", "", partial(_lip, 10, 60, 0.2)),
        ("sparse-4x30", "", partial(_sparse, 4, 30)),
        ("sparse-20x60", "", partial(_sparse, 20, 60)),
        ("sparse-3x2000", "", partial(_sparse, 3, 2000)),
        ("counted-3x120", "", partial(_counted, 3, 120, 400)),
        ("counted-5x400", "", partial(_counted, 5, 400, 2000, 0.5)),
        ("counted-5x1000", "", partial(_counted, 5, 1000, 20_000)),
        ("survey", "q", partial(_survey, 1.0)),
        ("lecture-strict", "", partial(_lecture, 0.3)),
        ("hamming-4x20", "", partial(_hamming, 4, 20)),
        ("hamming-4x150", "", partial(_hamming, 4, 150)),
        ("hamming-20x60", "", partial(_hamming, 20, 60)),
        ("line-20", "q", partial(_metric, 20, "lip")),
        ("line-60", "l", partial(_metric, 60, "lip")),
        *((f"line-ldp-{n}", "", partial(_metric, n, "ldp")) for n in (60, 300)),
        ("line-100", "l", partial(_metric, 100, "lip")),
        ("line-300", "l", partial(_metric, 300, "lip")),
        *((f"itself-ldp-{n}", "", partial(_informative, itself(n), "ldp")) for n in (8, 20, 40, 300)),
        *((f"itself-lip-{n}", "", partial(_informative, itself(n), "lip")) for n in (12, 40)),
        ("classes-ldp-48x6", "q", partial(_informative, classes(48, 6), "ldp")),
        ("upper-10x30", "", partial(_upper, 10, 30)),
        ("uneven-5x20", "", partial(_uneven, 5, 20)),
        ("ldp-5x20", "", partial(_ldp, 5, 20)),
        ("ldp-20x60", "", partial(_ldp, 20, 60)),
        ("ldp-1200x20", "", partial(_ldp, 1200, 20)),
        ("set-4x20", "", partial(_over_set, counts_of_random, 4, 20)),
        ("set-10x50", "", partial(_over_set, counts_of_random, 10, 50)),
        ("set-weak-4x24", "", partial(_over_set, counts_of_weak, 4, 24)),
        ("set-weak-8x60", "", partial(_over_set, counts_of_weak, 8, 60)),
        ("secrets-3000x10", "", partial(_lip, 3000, 10)),
        ("delta-4x12", "", partial(_delta, 4, 12)),
        ("delta-5x12", "", partial(_delta, 5, 12)),
        ("delta-10x60", "", partial(_delta, 10, 60)),
        *((f"delta-hamming-{s}x{x}", "", partial(_delta_hamming, s, x)) for s, x in ((4, 12), (6, 30))),
        ("rare-secret-3x12", "q", partial(_rare, 3, 12)),
        ("full-data-2x20", "", partial(_full, 2, 20)),
    ),
)


def _itself(n: int) -> Problem[Any]:
    return PointwiseMaximalLeakage(itself(n), 0.5)


def _pointwise(n_s: int, n_x: int) -> Problem[Any]:
    return PointwiseMaximalLeakage(joints.random_joint(n_s, n_x), 0.5)


def _pointwise_hamming(n_s: int, n_x: int) -> Problem[Any]:
    return PointwiseMaximalLeakage(joints.random_joint(n_s, n_x), 0.5, utility=1.0 - np.eye(n_x))


register_cases(
    "pointwise_maximal_leakage",
    (
        *((f"itself-{n}", "q" if n == 8 else "", partial(_itself, n)) for n in (6, 8, 20, 60, 200)),
        *(
            (f"random-{s}x{x}", marks, partial(_pointwise, s, x))
            for s, x, marks in ((3, 20, "q"), (8, 15, ""), (20, 50, "l"), (2, 1000, ""), (10, 200, ""))
        ),
        ("hamming-4x20", "", partial(_pointwise_hamming, 4, 20)),
        ("hamming-10x80", "", partial(_pointwise_hamming, 10, 80)),
    ),
)


def _capped(n: int, leakage: str, cap: float = 0.1) -> Problem[Any]:
    """Symbols on a line, ten secrets at most, a bound on the leakage."""
    joint, alpha = joints.sparse_joint(min(10, n), n), 2.0 if leakage == "sibson" else None
    return DistortionPrivacy(joint, line(n), max_leakage=cap, leakage=leakage, alpha=alpha)


def _error(n: int, leakage: str) -> Problem[Any]:
    """The same with a bound on the error."""
    joint, alpha = joints.sparse_joint(min(10, n), n), 2.0 if leakage == "sibson" else None
    return DistortionPrivacy(joint, line(n), max_distortion=0.1, leakage=leakage, alpha=alpha)


def _capped_over_set(n: int, leakage: str, cap: float) -> Problem[Any]:
    """The same over what 10 000 rows of three secrets allow."""
    return DistortionPrivacy(counts_of_weak(3, n, 10_000), line(n), max_leakage=cap, leakage=leakage)


def _metric_distortion(n: int) -> Problem[Any]:
    return DistortionPrivacy(itself(n), line(n), max_leakage=1.0, leakage="ldp")


register_cases(
    "distortion_privacy",
    (
        *(
            (f"information-{n}", marks, partial(_capped, n, "mutual_information"))
            for n, marks in ((10, "q"), (40, ""), (100, "l"), (300, "l"))
        ),
        *(
            (f"ldp-{n}", marks, partial(_capped, n, "ldp", 1.0))
            for n, marks in ((20, "q"), (60, "ql"), (100, "l"), (300, "l"))
        ),
        *((f"lip-{n}", "", partial(_capped, n, "lip", 1.0)) for n in (20, 100)),
        *((f"metric-{n}", "", partial(_metric_distortion, n)) for n in (60, 150)),
        *((f"maximal-{n}", "", partial(_capped, n, "maximal_leakage", 0.5)) for n in (20, 150)),
        *((f"sibson-{n}", "", partial(_capped, n, "sibson", 0.3)) for n in (10, 60)),
        *(
            (f"set-{leakage}-{n}", "", partial(_capped_over_set, n, leakage, cap))
            for leakage, n, cap in (
                ("mutual_information", 20, 0.02),
                ("maximal_leakage", 20, 0.3),
                ("maximal_leakage", 40, 0.3),
            )
        ),
        *((f"error-information-{n}", "", partial(_error, n, "mutual_information")) for n in (10, 100)),
        *((f"error-maximal-{n}", "", partial(_error, n, "maximal_leakage")) for n in (60,)),
        *((f"error-lip-{n}", "", partial(_error, n, "lip")) for n in (40,)),
    ),
)


def _column(secrets: int, symbols: int, notion: str) -> Problem[Any]:
    return random_column(secrets, symbols, notion)


def _ordered(n: int) -> Problem[Any]:
    return ordered(n)


def _grouped(n: int) -> Problem[Any]:
    return grouped(n, 1.5)


register_cases(
    "post_randomisation",
    (
        *(
            (f"column-{n}", marks, partial(_column, 4, n, "lip"))
            for n, marks in ((10, "q"), (30, ""), (150, "l"))
        ),
        *((f"ratio-{n}", "", partial(_column, 3, n, "ldp")) for n in (10, 40)),
        *((f"ordered-{n}", marks, partial(_ordered, n)) for n, marks in ((12, "q"), (40, ""))),
        ("grouped-12", "", partial(_grouped, 12)),
    ),
)
