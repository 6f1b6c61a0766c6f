"""Randomised response of the library OpenDP, which knows nothing of the belief."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from privopt.benchmarks.peers.peer import PeerAnswer, Work, register_peer
from privopt.core.dispatch import fitness
from privopt.core.problem import Problem
from privopt.core.registry import find_solver
from privopt.core.solver import Budget
from privopt.problems.belief_release.problem import BeliefRelease

PUBLISHED = {
    "redaction": (
        "relaxation",
        "conic-ecos",
        "conic-scs",
        "conic-clarabel",
        "markov-quilt",
    ),
    "local_information_privacy": ("watchdog-merge", "watchdog-random"),
    "distortion_privacy": ("blahut-arimoto",),
    "privacy_funnel": ("plain-greedy", "greedy"),
    "information_bottleneck": ("agglomerative", "self-consistent"),
    "boundary_colouring": ("randomised-response", "exponential-half"),
    "belief_release": ("published", "randomised-response"),
    "sequence_information_privacy": (
        "published",
        "randomised-response",
        "temporal-randomised-response",
    ),
    "bayesian_privacy": ("markov-published",),
    "metric_privacy": (
        "exponential",
        "planar-laplace",
        "planar-geometric",
        "spanner",
        "benders",
        "constrained-lp",
        "multi-step",
    ),
}
"""Solvers by problem: the papers' algorithms, in their words where those are numbers."""


def _fits(name: str) -> Callable[[Problem[Any]], str | None]:
    def unfit(problem: Problem[Any]) -> str | None:
        return fitness(find_solver(problem, name), problem).refusal

    return unfit


def _work(name: str) -> Work:
    def work(problem: Problem[Any], seconds: float) -> PeerAnswer:
        proposal = find_solver(problem, name).run(problem, Budget(time.monotonic() + seconds))
        if proposal.mechanism is None:
            raise ArithmeticError("it proposed no mechanism")
        return PeerAnswer(proposal.mechanism)

    return work


for _question, _names in PUBLISHED.items():
    for _name in _names:
        register_peer(_question, f"paper: {_name}", fits=_fits(_name))(_work(_name))


def _unfit(problem: BeliefRelease) -> str | None:
    if problem.matrix.shape[0] != problem.matrix.shape[1]:
        return "randomised response releases a letter for a letter"
    return None


@register_peer("belief_release", "opendp", ("opendp",), _unfit)
def opendp(problem: BeliefRelease, seconds: float) -> PeerAnswer:
    """Its measurement with the largest probability of the truth whose privacy map keeps epsilon."""
    import opendp.prelude as dp

    tool: Any = dp
    tool.enable_features("contrib")
    n, up = len(problem.letters), math.exp(problem.budget)
    truth = up / (up + n - 1)
    while tool.m.make_randomized_response(list(range(n)), prob=truth).map(1) > problem.budget:
        truth -= 1e-15 * truth + 2.0**-53
    matrix = np.where(np.eye(n, dtype=bool), truth, (1 - truth) / (n - 1))
    return PeerAnswer(problem.answer(matrix), -float((problem.p[:, None] * problem.matrix * matrix).sum()))
