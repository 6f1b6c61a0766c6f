"""The main job: a few small instances of every question, under two minutes on two cores."""

from __future__ import annotations

from functools import partial

from privopt.benchmarks._instances import collect, sentences
from privopt.benchmarks._suites import Suite, register_suite
from privopt.benchmarks.instances._redaction_frost import SHOWCASE

register_suite(
    Suite(
        name="quick",
        describe="A few small instances of every question; a month of Seattle frost days is released with one day private",
        instances=partial(collect, "quick"),
        budgets=(0.1, 0.25, 0.5, 1.0, 2.0, 3.0),
        time_limit=3.0,
        about=partial(sentences, "quick"),
        showcase=SHOWCASE,
    )
)
