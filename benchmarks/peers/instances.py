"""The problems that peers and privopt answer side by side: small first, the same every time."""

from __future__ import annotations

import numpy as np

from privopt.benchmarks.data import joints
from privopt.benchmarks.data.rome import rome_problem
from privopt.benchmarks.runner.suite import Instance
from privopt.benchmarks.suites.boundary_colouring import regions
from privopt.benchmarks.suites.metric_privacy import airports, town
from privopt.benchmarks.suites.redaction import frost_chain, random_chain
from privopt.benchmarks.suites.streams import sequence_quick as sequences
from privopt.errors import FileRefused
from privopt.models import DatasetGraph, JointDistribution, MarkovChain
from privopt.problems.bayesian_privacy.problem import BayesianPrivacy
from privopt.problems.belief_release.problem import BeliefRelease
from privopt.problems.boundary_colouring.problem import BoundaryColouring
from privopt.problems.distortion_privacy.problem import DistortionPrivacy
from privopt.problems.information_bottleneck.problem import InformationBottleneck
from privopt.problems.local_information_privacy.problem import LocalInformationPrivacy
from privopt.problems.privacy_funnel.problem import PrivacyFunnel
from privopt.problems.redaction.problem import Redaction


def peer_instances(quick: bool) -> tuple[Instance, ...]:
    """The instances of all problems; those of one problem begin with a small one.

    Examples
    --------
    >>> len(peer_instances(True)) < len(peer_instances(False))
    True
    """
    instances = (
        *_redaction(quick),
        *_ratios(quick),
        *_distortion(quick),
        *_informations(quick),
        *_colouring(quick),
        *_belief(quick),
        *_bayesian(),
        *sequences()[: 1 if quick else 2],
        *_places(quick),
    )
    return tuple(_first_budget(one) if quick else one for one in instances)


def _first_budget(one: Instance) -> Instance:
    return Instance(one.name, one.size, one.problem, one.family, one.budgets[:1])


def _redaction(quick: bool) -> list[Instance]:
    made = [Instance("four-days", 4, Redaction(frost_chain(), 4, 1, 1.0), budgets=(1.0, 2.0))]
    if not quick:
        made += [
            Instance("five-records", 5, Redaction(random_chain(5), 5, 2, 1.0), budgets=(0.5, 1.0)),
            Instance("month", 31, Redaction(frost_chain(), 31, 15, 1.0), budgets=(1.0, 2.0)),
            Instance("year", 365, Redaction(frost_chain(), 365, 182, 1.0), budgets=(1.0,)),
        ]
    return made


def _ratios(quick: bool) -> list[Instance]:
    """Local information privacy: information, distortions, and the ratios of the secret itself."""
    ask = LocalInformationPrivacy
    itself = JointDistribution.normalised(np.eye(8))
    far = np.abs(np.subtract.outer(np.arange(12), np.arange(12))) / 12
    made = [
        Instance("information-2x6", 6, ask(joints.random_joint(2, 6), 0.3), budgets=(0.3, 1.0)),
        Instance(
            "survey-leaning", 7, ask(joints.leaning(), 1.0, utility=1.0 - np.eye(7)), budgets=(0.5, 1.0)
        ),
        Instance("own-ldp-8", 8, ask(itself, 1.0, notion="ldp", utility=1.0 - np.eye(8)), budgets=(1.0, 3.0)),
    ]
    if not quick:
        many = joints.random_joint(4, 40)
        made += [
            Instance("lecture-table", 9, ask(joints.lecture(), 1.0), budgets=(0.3, 1.0)),
            Instance("ldp-distance-12", 12, ask(joints.sparse_joint(4, 12), 1.0, notion="ldp", utility=far)),
            Instance("hamming-4x40", 40, ask(many, 1.0, utility=1.0 - np.eye(40)), budgets=(0.3, 2.0)),
        ]
    return made


def _distortion(quick: bool) -> list[Instance]:
    ask, wrong = DistortionPrivacy, 1.0 - np.eye(7)
    itself = JointDistribution.normalised(np.eye(7))
    own = ask(itself, wrong, max_leakage=0.5, leakage="maximal_leakage")
    made = [
        Instance("survey-capped", 7, ask(joints.leaning(), wrong, max_leakage=0.05), budgets=(0.05, 0.1)),
        Instance("own-maximal-7", 7, own, budgets=(0.5, 1.0)),
    ]
    if not quick:
        joint = joints.sparse_joint(4, 12)
        made += [
            Instance("survey-error", 7, ask(joints.leaning(), wrong, max_distortion=0.3), budgets=(0.2, 0.4)),
            Instance("capped-4x12", 12, ask(joint, 1.0 - np.eye(12), max_leakage=0.1), budgets=(0.05, 0.2)),
        ]
    return made


def _informations(quick: bool) -> list[Instance]:
    """The funnel and the bottleneck."""
    small, lecture = joints.sparse_joint(2, 5), joints.lecture()
    made = [
        Instance("funnel-2x5", 5, PrivacyFunnel(small, theta_fraction=0.6)),
        Instance("funnel-merging-2x5", 5, PrivacyFunnel(small, theta_fraction=0.6, form="merging")),
        Instance("bottleneck-2x4", 4, InformationBottleneck(joints.sparse_joint(2, 4), trade_off=0.1)),
    ]
    if not quick:
        merged = PrivacyFunnel(joints.sparse_joint(8, 12), theta_fraction=0.7, form="merging")
        made += [
            Instance("funnel-lecture", 9, PrivacyFunnel(lecture, theta_fraction=0.7)),
            Instance("funnel-merging-lecture", 9, PrivacyFunnel(lecture, theta_fraction=0.7, form="merging")),
            Instance("funnel-merging-8x12", 12, merged),
            Instance("bottleneck-lecture", 9, InformationBottleneck(lecture, trade_off=0.1)),
        ]
    return made


def _colouring(quick: bool) -> list[Instance]:
    """Grids with a fair boundary, and the metric of a line in which every symbol is an answer of its own."""
    ask = BoundaryColouring
    made = [
        Instance("regions-12x12", 144, ask(regions(12), 0.5), budgets=(0.5, 2.0)),
        Instance("metric-line-20", 20, ask(line_of(20), 1.0, boundary=None), budgets=(1.0, 2.0)),
    ]
    if not quick:
        made += [
            Instance("regions-60x60", 3600, ask(regions(60), 0.5)),
            Instance("regions-150x150", 22_500, ask(regions(150), 0.5)),
            Instance("three-answers-6x6", 36, ask(regions(6, 3), 0.5, boundary=None)),
        ]
    return made


def line_of(n: int) -> DatasetGraph:
    """Symbols 0 .. n-1 on a line, each an answer of its own: privacy along its edges is metric privacy.

    Examples
    --------
    >>> len(line_of(4).palette), line_of(4).edges().tolist()
    (4, [[0, 1], [1, 2], [2, 3]])
    """
    return DatasetGraph([(i, i + 1) for i in range(n - 1)], list(range(n)))


def _belief(quick: bool) -> list[Instance]:
    def belief(n: int, concentration: float) -> list[float]:
        return [float(p) for p in np.random.default_rng(n).dirichlet(np.full(n, concentration))]

    made = [Instance("rare-letters-8", 8, BeliefRelease(belief(8, 0.5), 1.0), budgets=(1.0, 3.0))]
    if not quick:
        made += [
            Instance("line-12", 12, BeliefRelease(belief(12, 1.0), 1.0, "l1"), budgets=(1.0, 3.0)),
            Instance("squared-30", 30, BeliefRelease(belief(30, 1.0), 1.0, "squared")),
        ]
    return made


def _places(quick: bool) -> list[Instance]:
    """A town of few cells, the airports that ship, and nodes of Rome where the folder of outside data has them."""
    made = [Instance("town-4x4", 16, town(4))]
    if not quick:
        made += [Instance("town-6x6", 36, town(6)), Instance("airports-205", 205, airports())]
        if not left_out():
            made += [Instance(f"rome-{n}", n, rome_problem(n)) for n in (500, 1000)]
    return made


def left_out() -> str:
    """Why nodes of Rome are not among the places, in a sentence; empty where they are."""
    try:
        rome_problem(2, 1)
    except FileRefused as cause:
        return f"The nodes of Rome are left out: {cause}"
    return ""


def _bayesian() -> list[Instance]:
    chain = MarkovChain([[0.8, 0.2], [0.3, 0.7]])
    return [Instance("sum-of-20", 20, BayesianPrivacy(chain, "sum", 1.0, length=20), budgets=(1.0, 3.0))]
