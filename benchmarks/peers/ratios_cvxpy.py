"""Bounds on ratios and a distortion as one programme over P(y | x), in CVXPY with three back ends."""

from __future__ import annotations

from typing import Any

from privopt.benchmarks._peers import PeerAnswer, Work, register_peer
from privopt.benchmarks.peers._conic import BACKENDS, minimum, needs
from privopt.benchmarks.peers._programmes import Linear, no_linear_programme, programme, stochastic


def with_backend(backend: str) -> Work:
    """The peer of a back end."""

    def work(problem: Linear, seconds: float) -> PeerAnswer:
        import cvxpy

        cp: Any = cvxpy  # much of it has no types
        cost, rows = programme(problem)
        channel = cp.Variable(cost.shape, nonneg=True)
        rules = [cp.sum(channel, axis=1) == 1, rows @ channel <= 0]
        reached = minimum(cp.sum(cp.multiply(cost, channel)), rules, backend)
        return PeerAnswer(problem.answer(stochastic(channel.value)), -reached)

    return work


for _backend in BACKENDS:
    _work = with_backend(_backend)
    register_peer("local_information_privacy", f"cvxpy-{_backend}", needs(_backend), no_linear_programme)(
        _work
    )
    register_peer("belief_release", f"cvxpy-{_backend}", needs(_backend))(_work)
