"""Optimal channels of the library qif, where it knows the problem: the secret itself is read."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from privopt.arrays import Floats
from privopt.benchmarks.peers.peer import PeerAnswer, register_peer
from privopt.benchmarks.peers.tools._programs import stochastic
from privopt.problems.boundary_colouring.problem import BoundaryColouring
from privopt.problems.distortion_privacy.problem import DistortionPrivacy
from privopt.problems.local_information_privacy.problem import LocalInformationPrivacy

LARGEST = 40
"""Symbols; its programs have a row for every pair and column."""


def _not_itself(problem: LocalInformationPrivacy | DistortionPrivacy) -> str | None:
    table = problem.observation.leaking.table
    square = table.shape[0] == table.shape[1] and not np.any(table - np.diag(np.diag(table)))
    return None if square else "qif's optimal channels read the secret itself"


def _no_ldp(problem: LocalInformationPrivacy) -> str | None:
    if problem.notion != "ldp" or problem.matrix is None:
        return 'qif minimises a loss under d-privacy: notion "ldp" and a distortion'
    return _not_itself(problem)


@register_peer("local_information_privacy", "qif", ("qif",), _no_ldp)
def local(problem: LocalInformationPrivacy, seconds: float) -> PeerAnswer:
    """Least loss under d-privacy with every two symbols at distance epsilon."""
    import qif

    tool: Any = qif
    loss, p, budget = problem.matrix, problem.observation.p_x, problem.budget
    if loss is None:
        raise ValueError("qif minimises a loss")
    channel = tool.mechanism.d_privacy.min_loss_given_d(
        p, loss.shape[1], lambda a, b: budget * (a != b), lambda x, y: float(loss[x, y])
    )
    return PeerAnswer(problem.answer(stochastic(channel)), -_expected(p, loss, channel))


def _no_vulnerability(problem: DistortionPrivacy) -> str | None:
    if problem.leakage != "maximal_leakage" or problem.max_leakage is None:
        return "qif bounds a Bayes vulnerability: maximal leakage with a bound on it"
    if np.ptp(problem.observation.p_x) > 1e-12:
        return "qif's vulnerability is maximal leakage for equally likely secrets only"
    return _not_itself(problem)


@register_peer("distortion_privacy", "qif", ("qif",), _no_vulnerability)
def vulnerability(problem: DistortionPrivacy, seconds: float) -> PeerAnswer:
    """Least loss for a Bayes vulnerability of at most e^budget / n."""
    import qif

    tool: Any = qif
    p, loss = problem.observation.p_x, problem.matrix
    most = math.exp(problem.budget) / len(p)
    channel = tool.mechanism.bayes_vuln.min_loss_given_max_vuln(
        p, loss.shape[1], most, lambda x, y: float(loss[x, y])
    )
    return PeerAnswer(problem.answer(stochastic(channel)), -_expected(p, loss, channel))


def _no_metric(problem: BoundaryColouring) -> str | None:
    if problem.delta > 0 or problem.boundary is not None or problem.objective != "accuracy":
        return "qif minimises an expected loss under d-privacy, with nothing prescribed"
    return None if problem.graph.size <= LARGEST else f"it has more than {LARGEST} datasets"


@register_peer("boundary_colouring", "qif", ("qif", "scipy"), _no_metric)
def metric(problem: BoundaryColouring, seconds: float) -> PeerAnswer:
    """Least error under d-privacy, with epsilon times the hops of the graph for distances."""
    import qif
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import shortest_path

    tool: Any = qif
    graph, n = problem.graph, problem.graph.size
    links = csr_array((np.ones(len(graph.indices)), graph.indices, graph.indptr), shape=(n, n))
    far = problem.epsilon * shortest_path(links, unweighted=True)
    weights = np.ones(n) if problem.weights is None else problem.weights
    p, codes = weights / weights.sum(), np.asarray(graph.codes)
    loss = (codes[:, None] != np.arange(problem.k)).astype(float)
    channel = tool.mechanism.d_privacy.min_loss_given_d(
        p, problem.k, lambda a, b: float(far[a, b]), lambda x, y: float(loss[x, y])
    )
    return PeerAnswer(problem.colouring(stochastic(channel), np.arange(n)), 1.0 - _expected(p, loss, channel))


def _expected(p: Floats, loss: Floats, channel: Floats) -> float:
    return float((p[:, None] * loss * channel).sum())
