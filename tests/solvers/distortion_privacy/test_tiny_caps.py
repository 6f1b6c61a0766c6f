"""Caps that are lost among roundings: no worse than what leaks nothing, and monotone."""

from __future__ import annotations

import numpy as np
import pytest

import privopt as po


@pytest.mark.parametrize("leakage", ["mutual_information", "maximal_leakage", "lip"])
def test_a_tiny_cap_reaches_what_leaks_nothing(leakage: str) -> None:
    joint = po.JointDistribution.normalised(np.random.default_rng(5).random((2, 3)))
    distortion = 1.0 - np.eye(3)
    nothing = po.DistortionPrivacy(joint, distortion, max_leakage=0.0, leakage=leakage)
    least = po.solve(nothing, "direct-lp")
    assert least.objective is not None
    for cap in (1e-300, 1e-16, 1e-9):
        problem = nothing.with_budget(cap)
        solution = po.solve(problem, "zero-leakage")
        assert solution.certified
        assert solution.objective == pytest.approx(least.objective, abs=1e-12)


def test_it_is_for_positive_caps() -> None:
    joint = po.JointDistribution.normalised(np.random.default_rng(5).random((2, 3)))
    within = po.DistortionPrivacy(joint, 1.0 - np.eye(3), max_distortion=0.2)
    capped = po.DistortionPrivacy(joint, 1.0 - np.eye(3), max_leakage=0.0)
    for problem in (within, capped):
        refusals = {c.solver.name: c.refusal for c in po.candidates(problem)}
        assert refusals["zero-leakage"] is not None
