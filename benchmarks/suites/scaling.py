"""Families of growing size: how time and memory grow."""

from __future__ import annotations

from functools import partial

from privopt.benchmarks._instances import collect, sentences
from privopt.benchmarks._suites import Suite, register_suite

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
