"""What the papers themselves propose: the published algorithms among the solvers, taken raw, with no repair."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from privopt._dispatch import fitness
from privopt._problem import Problem
from privopt._registry import find_solver
from privopt._solver import Budget
from privopt.benchmarks._peers import PeerAnswer, Work, register_peer

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
}
"""Solvers by question: the papers' algorithms, in their words where those are numbers."""


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
