"""Families of instances of every problem from which predictions of times are recorded, and those in between that check them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from privopt.benchmarks.data import joints
from privopt.benchmarks.suites.boundary_colouring import regions
from privopt.benchmarks.suites.dispatch.records import tree
from privopt.benchmarks.suites.dispatch.tables import itself, line
from privopt.benchmarks.suites.metric_privacy import street, town, towns
from privopt.benchmarks.suites.post_randomisation import random_column
from privopt.benchmarks.suites.redaction import random_chain
from privopt.core.problem import Problem
from privopt.models import ChainAmbiguity, DatasetGraph, GaussianModel, JointAmbiguity, MarkovChain
from privopt.problems.bayesian_privacy.problem import BayesianPrivacy
from privopt.problems.belief_release.problem import BeliefRelease
from privopt.problems.boundary_colouring.problem import BoundaryColouring
from privopt.problems.distortion_privacy.problem import DistortionPrivacy
from privopt.problems.information_bottleneck.problem import InformationBottleneck
from privopt.problems.local_information_privacy.problem import LocalInformationPrivacy
from privopt.problems.privacy_funnel.problem import PrivacyFunnel
from privopt.problems.redaction.problem import Redaction
from privopt.problems.sequence_information_privacy.problem import SequenceInformationPrivacy

Sizes = tuple[tuple[int, ...], ...]


@dataclass(frozen=True)
class Family:
    """Instances that differ in their sizes.

    Parameters
    ----------
    name : str
    make : callable
        Builds the instance of some sizes.
    recorded, between : tuples of sizes
        Those that the table holds, smallest first, and those that it does not.
    """

    name: str
    make: Callable[..., Problem[Any]]
    recorded: Sizes
    between: Sizes


def _lip(n_s: int, n_x: int) -> Problem[Any]:
    return LocalInformationPrivacy(joints.random_joint(n_s, n_x, 7), 1.0)


def _strict(n_s: int, n_x: int) -> Problem[Any]:
    return LocalInformationPrivacy(joints.random_joint(n_s, n_x, 7), 0.3)


def _uneven(n_s: int, n_x: int) -> Problem[Any]:
    return LocalInformationPrivacy(joints.sparse_joint(n_s, n_x, 7), 1.0)


def _differential(n_s: int, n_x: int) -> Problem[Any]:
    return LocalInformationPrivacy(joints.random_joint(n_s, n_x, 7), 1.0, notion="ldp")


def _near(points: int, outputs: int) -> Problem[Any]:
    return towns(points, outputs, 0.4)


def _hamming(n_s: int, n_x: int) -> Problem[Any]:
    return LocalInformationPrivacy(joints.random_joint(n_s, n_x, 7), 1.0, utility=1.0 - np.eye(n_x))


def _metric(n: int) -> Problem[Any]:
    return LocalInformationPrivacy(itself(n), 1.0, utility=line(n))


def _secret(notion: str) -> Callable[[int], Problem[Any]]:
    def make(n: int) -> Problem[Any]:
        return LocalInformationPrivacy(itself(n), 1.0, notion=notion)

    return make


def _spending(n_s: int, n_x: int) -> Problem[Any]:
    return LocalInformationPrivacy(joints.random_joint(n_s, n_x, 7), 1.0, delta=0.02)


def _spending_hamming(n_s: int, n_x: int) -> Problem[Any]:
    joint = joints.random_joint(n_s, n_x, 7)
    return LocalInformationPrivacy(joint, 1.0, delta=0.02, utility=1.0 - np.eye(n_x))


def _near_joint(n_s: int, n_x: int) -> JointAmbiguity:
    return JointAmbiguity.total_variation(joints.random_joint(n_s, n_x, 7), 0.02)


def _lip_over(n_s: int, n_x: int) -> Problem[Any]:
    return LocalInformationPrivacy(_near_joint(n_s, n_x), 1.0)


def _cap_over(n_s: int, n_x: int) -> Problem[Any]:
    return PrivacyFunnel(_near_joint(n_s, n_x), max_leakage=0.1)


def _distortion(leakage: str) -> Callable[[int, int], Problem[Any]]:
    def make(n_s: int, n_x: int) -> Problem[Any]:
        joint = joints.sparse_joint(n_s, n_x, 7)
        alpha = 2.0 if leakage == "sibson" else None
        return DistortionPrivacy(joint, line(n_x), max_leakage=0.3, leakage=leakage, alpha=alpha)

    return make


def _least(leakage: str) -> Callable[[int, int], Problem[Any]]:
    def make(n_s: int, n_x: int) -> Problem[Any]:
        joint = joints.sparse_joint(n_s, n_x, 7)
        return DistortionPrivacy(joint, line(n_x), max_distortion=0.1, leakage=leakage)

    return make


def _floor(form: str) -> Callable[[int, int], Problem[Any]]:
    def make(n_s: int, n_x: int) -> Problem[Any]:
        return PrivacyFunnel(joints.sparse_joint(n_s, n_x, 7), theta_fraction=0.6, form=form)

    return make


def _cap(n_s: int, n_x: int) -> Problem[Any]:
    return PrivacyFunnel(joints.sparse_joint(n_s, n_x, 7), max_leakage=0.1)


def _perfect(n_s: int, n_x: int) -> Problem[Any]:
    return PrivacyFunnel(joints.sparse_joint(n_s, n_x, 7), max_leakage=0.0)


def _compressed(form: str) -> Callable[[int, int], Problem[Any]]:
    def make(n_s: int, n_x: int) -> Problem[Any]:
        return InformationBottleneck(joints.sparse_joint(n_s, n_x, 7), trade_off=0.1, form=form)

    return make


def _redaction(records: int, states: int, private: int) -> Problem[Any]:
    places = tuple((2 * i + 1) * records // (2 * private) for i in range(private))
    return Redaction(random_chain(records + 7, states), records, places, 1.0)


def _sequential(records: int) -> Problem[Any]:
    return Redaction(random_chain(records + 7), records, records // 2, 1.0, form="sequential")


def _informed(records: int, states: int) -> Problem[Any]:
    chain = random_chain(records + 7, states)
    return Redaction(chain, records, records // 2, 3.0, side_information="any")


def _redaction_over(records: int, states: int) -> Problem[Any]:
    return Redaction(_near_chain(states), records, records // 2, 1.0)


def _near_chain(k: int) -> ChainAmbiguity:
    return ChainAmbiguity.interval(_chain(k), 0.1)


def _counts(n: int) -> Problem[Any]:
    return BoundaryColouring(DatasetGraph.counts(n), 0.4, boundary=None)


def _grid(n: int) -> Problem[Any]:
    return BoundaryColouring(regions(n), 0.4)


def _free(n: int, colours: int) -> Problem[Any]:
    return BoundaryColouring(regions(n, colours), 0.4, boundary=None)


def _delta(n: int) -> Problem[Any]:
    return BoundaryColouring(regions(n), 0.4, 0.02, boundary=None)


def _tree(n: int) -> Problem[Any]:
    return BoundaryColouring(tree(n), 0.4, boundary=None)


def _probabilities(n: int) -> list[float]:
    return [float(p) for p in np.random.default_rng(n + 7).dirichlet(np.ones(n))]


def _belief(distortion: str) -> Callable[[int], Problem[Any]]:
    def make(n: int) -> Problem[Any]:
        return BeliefRelease(_probabilities(n), 1.0, distortion)

    return make


def _generous(n: int) -> Problem[Any]:
    return BeliefRelease(_probabilities(n), 6.0, "l1")


def _priced(n: int, m: int) -> Problem[Any]:
    return BeliefRelease(_probabilities(n), 1.0, np.random.default_rng([n, m]).random((n, m)))


def _chain(k: int) -> MarkovChain:
    rows = np.random.default_rng(k + 7).dirichlet(np.ones(k), size=k) + 0.5 * np.eye(k)
    return MarkovChain.normalised(rows)


def _sequence(distortion: str) -> Callable[[int, int, int], Problem[Any]]:
    def make(k: int, batch: int, horizon: int) -> Problem[Any]:
        chain = _chain(k)
        return SequenceInformationPrivacy(chain, 1.0, batch=batch, distortion=distortion, horizon=horizon)

    return make


def _sequence_over(k: int, horizon: int) -> Problem[Any]:
    return SequenceInformationPrivacy(_near_chain(k), 1.0, horizon=horizon)


def _stream(k: int) -> Problem[Any]:
    return BayesianPrivacy(_chain(k), "count" if k == 2 else "histogram", 1.0)


def _short(k: int, length: int) -> Problem[Any]:
    return BayesianPrivacy(_chain(k), "count" if k == 2 else "histogram", 1.0, length=length)


def _row(m: int) -> Problem[Any]:
    covariance = 0.5 ** np.abs(np.subtract.outer(np.arange(m), np.arange(m)))
    return BayesianPrivacy(GaussianModel(covariance), "sum", 1.0, clip=(0, 1))


def _ones(*sizes: int) -> Sizes:
    return tuple((n,) for n in sizes)


FAMILIES = (
    Family(
        "local information privacy",
        _lip,
        (
            (2, 10),
            (2, 100),
            (2, 1000),
            (4, 8),
            (4, 40),
            (4, 200),
            (7, 15),
            (10, 12),
            (10, 100),
            (15, 15),
            (25, 25),
            (30, 100),
        ),
        ((2, 30), (2, 400), (3, 20), (6, 80), (12, 30), (18, 18), (20, 60)),
    ),
    Family("local information privacy, .3 nats", _strict, ((3, 60), (5, 20), (6, 13)), ((4, 24), (5, 14))),
    Family(
        "local information privacy, uneven cells",
        _uneven,
        ((3, 8), (4, 25), (4, 60), (7, 20)),
        ((3, 20), (4, 40), (5, 15)),
    ),
    Family("local differential privacy", _differential, ((3, 80), (4, 30), (7, 13)), ((4, 16), (5, 22))),
    Family(
        "local information privacy, Hamming",
        _hamming,
        ((4, 8), (4, 30), (4, 100), (20, 40)),
        ((3, 15), (6, 60), (12, 30)),
    ),
    Family("local information privacy, a line", _metric, _ones(8, 25, 60, 120), _ones(14, 40, 90)),
    *(
        Family(
            f"{notion} of the secret itself", _secret(notion), _ones(4, 8, 12, 20, 32), _ones(6, 10, 16, 26)
        )
        for notion in ("ldp", "lip")
    ),
    Family(
        "local information privacy with delta", _spending, ((4, 12), (5, 20), (10, 60)), ((4, 16), (8, 30))
    ),
    Family(
        "local information privacy with delta, Hamming",
        _spending_hamming,
        ((3, 6), (3, 12), (4, 12), (4, 18), (5, 12), (5, 20), (6, 30)),
        ((4, 8), (5, 14)),
    ),
    Family("local information privacy over a set", _lip_over, ((3, 5), (4, 12), (6, 30)), ((3, 8), (5, 18))),
    *(
        Family(
            f"distortion, {leakage}",
            _distortion(leakage),
            ((3, 8), (5, 20), (10, 60), (10, 150)),
            ((4, 12), (8, 35), (10, 100)),
        )
        for leakage in ("mutual_information", "sibson", "maximal_leakage", "lip", "ldp")
    ),
    *(
        Family(
            f"least leakage, {leakage}",
            _least(leakage),
            ((3, 8), (5, 20), (10, 60)),
            ((4, 12), (8, 35)),
        )
        for leakage in ("mutual_information", "maximal_leakage", "lip")
    ),
    *(
        Family(
            f"funnel with a floor, {form}",
            _floor(form),
            ((3, 6), (4, 12), (10, 50), (10, 300), (10, 2000)),
            ((3, 9), (6, 25), (10, 120), (10, 800)),
        )
        for form in ("stochastic", "merging")
    ),
    Family("funnel with a cap", _cap, ((3, 6), (4, 20), (10, 200)), ((3, 10), (8, 70))),
    Family("funnel with a cap over a set", _cap_over, ((3, 5), (3, 9), (5, 30)), ((3, 7), (4, 15))),
    Family("perfect privacy", _perfect, ((3, 6), (4, 20), (10, 200)), ((3, 10), (8, 70))),
    *(
        Family(
            f"bottleneck, {form}",
            _compressed(form),
            ((3, 6), (4, 20), (5, 100), (5, 600)),
            ((3, 10), (5, 45), (5, 250)),
        )
        for form in ("stochastic", "merging")
    ),
    Family(
        "redaction",
        _redaction,
        (
            (6, 2, 1),
            (30, 2, 1),
            (300, 2, 1),
            (10**4, 2, 1),
            (10**6, 2, 1),
            (30, 2, 3),
            (1000, 2, 3),
            (30, 2, 5),
            (600, 2, 4),
            (2000, 2, 4),
            (10, 4, 1),
            (300, 4, 1),
            (12, 20, 1),
        ),
        (
            (12, 2, 1),
            (100, 2, 1),
            (2000, 2, 1),
            (10**5, 2, 1),
            (100, 2, 2),
            (200, 2, 4),
            (40, 3, 1),
            (12, 9, 1),
        ),
    ),
    Family("redaction, sequential", _sequential, _ones(10, 100, 3000), _ones(30, 600)),
    Family(
        "redaction with side information",
        _informed,
        ((10, 2), (300, 2), (10, 4), (100, 4)),
        ((50, 2), (30, 3)),
    ),
    Family("redaction over a set", _redaction_over, ((6, 2), (100, 2), (6, 3), (60, 3)), ((20, 2), (15, 3))),
    Family("colouring of counts", _counts, _ones(30, 1000, 4000, 30_000, 10**5, 10**6), _ones(200, 10**4)),
    Family("colouring of a grid", _grid, _ones(6, 40, 300, 1000), _ones(15, 120)),
    Family(
        "colouring with free boundary",
        _free,
        ((6, 2), (30, 2), (150, 2), (5, 3), (15, 3), (60, 3), (10, 5)),
        ((14, 2), (70, 2), (9, 3), (30, 4)),
    ),
    Family("colouring with delta", _delta, _ones(6, 30, 150), _ones(14, 70)),
    Family("colouring of a tree", _tree, _ones(30, 1000, 30_000), _ones(200, 6000)),
    *(
        Family(f"belief, {distortion}", _belief(distortion), _ones(4, 16, 64, 250), _ones(8, 32, 120))
        for distortion in ("hamming", "l1", "squared")
    ),
    Family("belief, 6 nats", _generous, _ones(80, 250, 1000), _ones(140, 500)),
    Family("belief, any matrix", _priced, ((4, 4), (20, 20), (80, 80)), ((10, 10), (40, 40))),
    *(
        Family(
            f"sequence, {distortion}",
            _sequence(distortion),
            ((2, 1, 4), (2, 1, 300), (4, 1, 10), (12, 1, 4), (50, 1, 2)),
            ((3, 1, 6), (2, 1, 60), (7, 1, 5), (25, 1, 3)),
        )
        for distortion in ("hamming", "l1")
    ),
    Family(
        "sequence of words",
        _sequence("hamming"),
        (
            (2, 2, 4),
            (2, 4, 8),
            (2, 5, 10),
            (2, 7, 14),
            (2, 8, 16),
            (3, 3, 6),
            (3, 2, 40),
            (5, 3, 60),
            (20, 2, 4),
        ),
        ((2, 3, 6), (2, 6, 12), (4, 2, 60), (7, 3, 6)),
    ),
    Family("sequence over a set", _sequence_over, ((2, 4), (2, 100), (4, 10)), ((2, 20), (3, 6))),
    Family("noise for a chain", _stream, _ones(2, 4, 8, 16), _ones(3, 6, 12)),
    Family(
        "noise for a short chain",
        _short,
        ((2, 6), (2, 100), (2, 1000), (3, 20), (3, 200), (5, 30), (5, 300), (12, 100)),
        ((2, 30), (3, 60), (8, 100)),
    ),
    Family(
        "a column changed at random", random_column, ((2, 5), (4, 12), (4, 40), (4, 80)), ((3, 8), (4, 25))
    ),
    Family("places in towns", _near, ((12, 4), (50, 10), (120, 20), (300, 20)), ((25, 8), (80, 15))),
    Family("places in a town", town, _ones(3, 5, 6, 8, 11), _ones(4, 7)),
    Family("places along a street", street, _ones(8, 20, 40, 100), _ones(14, 30, 70)),
    Family("noise for a row", _row, _ones(4, 20, 100, 500), _ones(10, 50, 250)),
)


def instances(*, recorded: bool, few: bool = False) -> Iterator[tuple[str, Callable[[], Problem[Any]]]]:
    """What builds the instances whose times are recorded, or those in between, family by family; the smallest of each if few.

    Examples
    --------
    >>> len(list(instances(recorded=True))) > 100
    True
    """
    for family in FAMILIES:
        every = family.recorded if recorded else family.between
        for sizes in every[:1] if few else every:
            yield family.name, partial(family.make, *sizes)
