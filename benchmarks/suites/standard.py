"""Every problem, from its smallest instances to the limits of the solvers, random and real."""

from __future__ import annotations

from functools import partial

from privopt.benchmarks.runner.suite import Suite, collect, register_suite, sentences
from privopt.benchmarks.suites.redaction import SHOWCASE

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


register_suite(
    Suite(
        name="quick",
        describe="A few small instances of every problem; a month of Seattle frost days is released with one day private",
        instances=partial(collect, "quick"),
        budgets=(0.1, 0.25, 0.5, 1.0, 2.0, 3.0),
        time_limit=3.0,
        about=partial(sentences, "quick"),
        showcase=SHOWCASE,
    )
)


register_suite(
    Suite(
        name="scaling",
        describe="Families of growing size, for how time and memory grow",
        instances=partial(collect, "scaling"),
        budgets=(1.0,),
        time_limit=30.0,
        about=partial(sentences, "scaling"),
    )
)


register_suite(
    Suite(
        name="solvers",
        describe="Every problem from small instances to what solvers refuse, random and real",
        instances=partial(collect, "solvers"),
        budgets=(0.25, 1.0, 2.5),
        time_limit=10.0,
        about=partial(sentences, "solvers"),
    )
)
