"""A secret of tiny probability binds as much as any other: floats against vertices in rationals."""

from __future__ import annotations

import numpy as np
import pytest

import privopt as po
from privopt.core.judge import judge
from privopt.core.registry import find_solver
from privopt.core.solver import Budget
from privopt.models.channel_data import Release


def solved(problem: po.LocalInformationPrivacy, name: str) -> po.Solution[Release]:
    return judge(problem, find_solver(problem, name).run(problem, Budget()), certify=True)


@pytest.mark.parametrize("prior", [1e-3, 1e-6, 1e-9, 1e-12])
@pytest.mark.parametrize("notion", ["lip", "ldp"])
def test_vertices_of_systems_are_those_of_rationals(prior: float, notion: str) -> None:
    rng = np.random.default_rng(5)
    for zeros in (False, True):
        table = rng.dirichlet(np.ones(5), size=3)
        if zeros:
            table[0] = [0.5, 0.5, 0, 0, 0]
        joint = po.JointDistribution.normalised(table * np.array([prior, 0.4, 0.6 - prior])[:, None])
        for epsilon in (0.3, 1.0):
            problem = po.LocalInformationPrivacy(joint, epsilon, notion=notion)
            fast, exact = solved(problem, "vertices-systems"), solved(problem, "vertices-exact")
            assert fast.status is po.Status.OPTIMAL
            assert fast.certificate is not None
            assert fast.certificate.ok
            assert fast.objective == pytest.approx(exact.objective, abs=1e-8)
            assert fast.bound is not None
            assert exact.objective is not None
            assert fast.bound >= exact.objective - 1e-12
