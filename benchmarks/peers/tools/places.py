"""Metric privacy by the plain linear program, with a row for each promised pair and release, and by qif."""

from __future__ import annotations

from typing import Any

import numpy as np

from privopt.benchmarks.peers.peer import PeerAnswer, Work, register_peer
from privopt.benchmarks.peers.tools._programs import BACKENDS, minimum, needs, stochastic
from privopt.benchmarks.timings.places import plain_channel, promised
from privopt.problems.metric_privacy.problem import MetricPrivacy

MOST_OF_QIF = 40
"""Points; its programs have a row for every pair and release."""


def _with_method(method: str) -> Work:
    def work(problem: MetricPrivacy, seconds: float) -> PeerAnswer:
        matrix, loss = plain_channel(problem, method, seconds)
        return PeerAnswer(problem.answer(stochastic(matrix)), -loss)

    return work


for _method in ("highs", "highs-ipm"):
    register_peer("metric_privacy", _method, ("scipy",))(_with_method(_method))


def _with_backend(backend: str) -> Work:
    def work(problem: MetricPrivacy, seconds: float) -> PeerAnswer:
        import cvxpy

        cp: Any = cvxpy  # much of it has no types
        cost = problem.p[:, None] * problem.losses
        channel = cp.Variable(cost.shape, nonneg=True)
        rules = [cp.sum(channel, axis=1) == 1, promised(problem) @ channel <= 0]
        reached = minimum(cp.sum(cp.multiply(cost, channel)), rules, backend)
        return PeerAnswer(problem.answer(stochastic(channel.value)), -reached)

    return work


for _backend in BACKENDS:
    register_peer("metric_privacy", f"cvxpy-{_backend}", needs(_backend))(_with_backend(_backend))


def _too_many(problem: MetricPrivacy) -> str | None:
    if problem.radius is not None:
        return "qif promises something to every pair of secrets: a radius has no form there"
    return None if len(problem.p) <= MOST_OF_QIF else f"it has more than {MOST_OF_QIF} points"


@register_peer("metric_privacy", "qif", ("qif",), _too_many)
def qif_places(problem: MetricPrivacy, seconds: float) -> PeerAnswer:
    """Least loss under d-privacy, with epsilon times the distances."""
    import qif

    tool: Any = qif
    far, losses = problem.epsilon * problem.metric.distances, problem.losses
    matrix = np.asarray(
        tool.mechanism.d_privacy.min_loss_given_d(
            problem.p, losses.shape[1], lambda a, b: float(far[a, b]), lambda x, y: float(losses[x, y])
        )
    )
    return PeerAnswer(
        problem.answer(stochastic(matrix)), -float((problem.p[:, None] * losses * matrix).sum())
    )
