"""What one registers in files of one's own: suites of problems, and data sets that are checked before use."""

from __future__ import annotations

from privopt.benchmarks.data.external import (
    FOLDER,
    External,
    external_sets,
    load_external,
    register_data_set,
)
from privopt.benchmarks.runner.suite import Instance, InstanceSet, Suite, register_instances, register_suite
from privopt.benchmarks.runner.vocabulary import Reference

__all__ = [
    "FOLDER",
    "External",
    "Instance",
    "InstanceSet",
    "Reference",
    "Suite",
    "external_sets",
    "load_external",
    "register_data_set",
    "register_instances",
    "register_suite",
]
