"""Distortion against a leakage as one convex programme over P(y | x), in CVXPY with three back ends."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from privopt.benchmarks._peers import PeerAnswer, Work, register_peer
from privopt.benchmarks.peers._conic import BACKENDS, minimum, needs
from privopt.benchmarks.peers._programmes import stochastic
from privopt.problems.distortion_privacy import DistortionPrivacy


def _unfit(problem: DistortionPrivacy) -> str | None:
    if problem.observation.useful is not None:
        return "it is written for a channel that reads X"
    if problem.leakage not in ("mutual_information", "maximal_leakage"):
        return f"it is written for mutual information and maximal leakage, not for {problem.leakage}"
    return None


def _leak(problem: DistortionPrivacy, channel: Any) -> tuple[Any, float]:
    """A convex expression of the leakage, and the budget in its unit: nats, or e to them."""
    import cvxpy

    cp: Any = cvxpy  # much of it has no types
    table, budget = problem.observation.leaking.table, problem.budget
    if problem.leakage == "maximal_leakage":
        given = (table / table.sum(axis=1, keepdims=True)) @ channel
        return cp.sum(cp.max(given, axis=0)), math.exp(budget)
    law = cp.reshape(table.sum(axis=0) @ channel, (1, problem.matrix.shape[1]), order="C")
    return cp.sum(cp.rel_entr(table @ channel, table.sum(axis=1)[:, None] @ law)), budget


def with_backend(backend: str) -> Work:
    """The peer of a back end."""

    def work(problem: DistortionPrivacy, seconds: float) -> PeerAnswer:
        import cvxpy

        cp: Any = cvxpy  # much of it has no types
        cost = problem.observation.p_x[:, None] * problem.matrix
        channel = cp.Variable(cost.shape, nonneg=True)
        error, (leak, limit) = cp.sum(cp.multiply(cost, channel)), _leak(problem, channel)
        rules = [cp.sum(channel, axis=1) == 1]
        if problem.max_leakage is None:
            reached = minimum(leak, [*rules, error <= problem.budget], backend)
            reached = math.log(reached) if problem.leakage == "maximal_leakage" else reached
        else:
            reached = minimum(error, [*rules, leak <= limit], backend)
        return PeerAnswer(problem.answer(stochastic(np.asarray(channel.value))), -reached)

    return work


for _backend in BACKENDS:
    register_peer("distortion_privacy", f"cvxpy-{_backend}", needs(_backend), _unfit)(with_backend(_backend))
