"""How often what a solver proposes, and above all what a numerical back end returns, breaks the budget."""

from __future__ import annotations

from functools import partial

from privopt.benchmarks._instances import collect, sentences
from privopt.benchmarks._suites import Suite, register_suite

register_suite(
    Suite(
        name="certification",
        describe="Many instances on which the raw answers of linear and conic back ends can break the budget",
        instances=partial(collect, "certification"),
        budgets=(0.01, 0.1, 1.0, 3.0),
        time_limit=10.0,
        about=partial(sentences, "certification"),
    )
)
