"""Every invariant that the timings count violations of, on a few instances of its own."""

from __future__ import annotations

import numpy as np
import pytest

from privopt.benchmarks.timings.measurement import Check, invariants

ALL = [
    (name, statement, check) for name, checks in invariants().items() for statement, check in checks.items()
]


@pytest.mark.parametrize(
    ("name", "statement", "check"), ALL, ids=[f"{name}: {said}" for name, said, _ in ALL]
)
def test_an_invariant_holds(name: str, statement: str, check: Check) -> None:
    rng = np.random.default_rng([7, len(name), len(statement)])
    assert all(check(rng) for _ in range(3)), statement
