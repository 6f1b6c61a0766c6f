"""Redaction in the suites: frost days, random chains, and external data sets where they are present."""

from __future__ import annotations

from collections.abc import Sequence

from privopt.benchmarks._instances import InstanceSet, register_instances
from privopt.benchmarks._suites import Instance
from privopt.benchmarks.instances import _redaction_frost as frost
from privopt.benchmarks.instances import _redaction_random as random
from privopt.benchmarks.instances._redaction_external import external


def solvers() -> tuple[Instance, ...]:
    """Random and real, from 4 to 10,000 records."""
    return (*random.of_all_kinds(), *frost.years(), *external())


def about(suite: str) -> Sequence[str]:
    """Where the instances come from."""
    if suite == "quick":
        return frost.sentences()
    real = " Frost days of Seattle and external data sets are real." if suite == "solvers" else ""
    question = "Redaction: which records of a Markov chain to hide so that the private ones stay private."
    chains = f"Its chains are random, each from a fixed seed, with switching probabilities log-uniform.{real}"
    return question, chains


register_instances(
    InstanceSet(
        question="redaction",
        quick=frost.month,
        solvers=solvers,
        certification=random.for_back_ends,
        scaling=random.growing,
        about=about,
    )
)
