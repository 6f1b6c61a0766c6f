"""Every question, from its smallest instances to the limits of the solvers, random and real."""

from __future__ import annotations

from functools import partial

from privopt.benchmarks._instances import collect, sentences
from privopt.benchmarks._suites import Suite, register_suite

register_suite(
    Suite(
        name="solvers",
        describe="Every question from small instances to what solvers refuse, random and real",
        instances=partial(collect, "solvers"),
        budgets=(0.25, 1.0, 2.5),
        time_limit=10.0,
        about=partial(sentences, "solvers"),
    )
)
