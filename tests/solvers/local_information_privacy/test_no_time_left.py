"""Searches that begin when no time is left look at one batch of systems, or none, and say so."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from typing import Any

import pytest

import privopt as po
from privopt.arrays import Floats
from privopt.benchmarks.data.joints import random_joint
from privopt.core.solver import Budget
from privopt.solvers.local_information_privacy import perfect_privacy, vertex_enumeration
from privopt.solvers.local_information_privacy.vertices.systems import vertices


@pytest.mark.parametrize("module", [vertex_enumeration, perfect_privacy])
def test_enumeration_ends_after_a_batch(module: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[int] = []

    def counted(*given: Any) -> Iterator[Floats]:
        for batch in vertices(*given):
            seen.append(len(batch))
            yield batch

    monkeypatch.setattr(module, "vertices", counted)
    over = Budget(time.monotonic() - 1.0, 0)
    if module is perfect_privacy:
        problem = po.LocalInformationPrivacy(random_joint(5, 30, 7), 0.0)
        strict = problem.with_budget(0.0)
        with contextlib.suppress(ArithmeticError):  # the program over what was found may not end either
            assert "out of time" in perfect_privacy.enumerated(problem, strict, over).stop
    else:
        problem = po.LocalInformationPrivacy(random_joint(9, 9, 7), 1.0)
        proposal = vertex_enumeration.VerticesSystems().run(problem, over)
        assert proposal.mechanism is not None
        assert problem.evaluate(problem.check(proposal.mechanism)).feasible
    assert len(seen) == 1
