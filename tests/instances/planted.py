"""Planted solvers, whose predictions or promises are wrong, and a problem for them."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import pytest

import privopt as po
from privopt.core import registry
from privopt.solvers.local_information_privacy.subset_merging import SubsetMerging

RNG = np.random.default_rng(5)
WIDE = po.LocalInformationPrivacy(po.JointDistribution.normalised(RNG.dirichlet(np.ones(12), 8)), 1.0)
"""Eight secrets and twelve symbols: too many for the quickest proofs, a second for the others."""


@dataclass(frozen=True)
class Planted(po.Solver[po.LocalInformationPrivacy]):
    """Predicts far too little, then spends what it is given without polling the deadline."""

    solves: ClassVar = po.LocalInformationPrivacy
    name: ClassVar[str] = "planted"
    guaranteed: ClassVar[po.Guarantee | None] = po.Guarantee.OPTIMAL
    interruptible: ClassVar[bool] = False
    seconds: ClassVar[float] = 0.05

    def cost(self, problem: po.LocalInformationPrivacy) -> float:
        return self.seconds

    def run(self, problem: po.LocalInformationPrivacy, budget: po.Budget) -> po.Proposal:
        time.sleep(100 * self.seconds)
        return po.Proposal(problem.safe())


@dataclass(frozen=True)
class Feasible(Planted):
    """Proves nothing, and says that it polls the deadline."""

    guaranteed: ClassVar[po.Guarantee | None] = po.Guarantee.FEASIBLE
    interruptible: ClassVar[bool] = True


@dataclass(frozen=True)
class Noting(Feasible):
    """Notes how much time it has, and brings the constant mechanism."""

    guaranteed: ClassVar[po.Guarantee | None] = po.Guarantee.BOUNDED
    seconds: ClassVar[float] = 3.0
    times: ClassVar[list[float]] = []

    def run(self, problem: po.LocalInformationPrivacy, budget: po.Budget) -> po.Proposal:
        self.times.append(budget.remaining)
        return po.Proposal(problem.safe())


@dataclass(frozen=True)
class Using(Noting):
    """Spends all it is given."""

    guaranteed: ClassVar[po.Guarantee | None] = po.Guarantee.FEASIBLE
    seconds: ClassVar[float] = 0.05

    def run(self, problem: po.LocalInformationPrivacy, budget: po.Budget) -> po.Proposal:
        self.times.append(budget.remaining)
        time.sleep(budget.remaining)
        return po.Proposal(problem.safe())


@dataclass(frozen=True)
class Merging(Feasible):
    """Quick answers, of a feasible solver that says it needs far longer than any limit here."""

    name: ClassVar[str] = "merging"
    seconds: ClassVar[float] = 5.0

    def run(self, problem: po.LocalInformationPrivacy, budget: po.Budget) -> po.Proposal:
        return replace(SubsetMerging().run(problem, budget), bound=None, dual=None)


@dataclass(frozen=True)
class Quick(Merging):
    """The same in next to no time."""

    name: ClassVar[str] = "quick"
    seconds: ClassVar[float] = 0.01


def planted_only(monkeypatch: pytest.MonkeyPatch, *kinds: type[po.Solver[Any]]) -> None:
    """Only these solvers are there, and those that say so are believed to poll the deadline, so that they run in this process."""
    monkeypatch.setattr(
        registry, "_solvers", {(po.LocalInformationPrivacy, kind.name): kind for kind in kinds}
    )
    monkeypatch.setattr(registry, "_scan_for", lambda kinds: None)
    monkeypatch.setattr("privopt.core.isolate.believed", lambda solver, problem: solver.polls(problem))
