"""Baseline: the published factor for Gaussian records, taken as printed, for targets of any real value too."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from privopt.core.registry import register
from privopt.core.solver import Budget, Guarantee, Proposal, Solver
from privopt.measures.bayesian.gaussian import published_factor
from privopt.models import GaussianModel
from privopt.problems.bayesian_privacy import levels
from privopt.problems.bayesian_privacy.problem import BayesianPrivacy
from privopt.solvers.bayesian_privacy import _calibrated as calibrated


@register
@dataclass(frozen=True)
class GaussianPublished(Solver[BayesianPrivacy]):
    """Noise by the factor 1 + m^2 / (4 (1 / rho - m + 2)).

    Lange, Guerra-Balboa, Parra-Arnau, Strufe, "Balancing Privacy and Utility in Correlated Data: A Study of
    Bayesian Differential Privacy", Theorems 5.5 and 5.8. Sound for targets inside the clipping interval. Theorem 5.8 is printed
    without that restriction: for ``scope="all_reals"`` the noise is too small, and is shown to be.
    """

    solves: ClassVar = BayesianPrivacy
    name: ClassVar[str] = "gaussian-published"
    guaranteed: ClassVar[Guarantee | None] = Guarantee.BASELINE
    """Published, and kept for comparison."""

    def cost(self, problem: BayesianPrivacy) -> float:
        """A formula."""
        return 1e-3

    def refuse(self, problem: BayesianPrivacy) -> str | None:
        """Refuse what the theorem is not for."""
        model = levels.judged_model(problem)
        if not isinstance(model, GaussianModel):
            return calibrated.not_gaussian(problem)
        variances = model.covariance.diagonal()
        if variances.max() > variances.min() * (1 + calibrated.SAME):
            return "the theorem is for records of equal variance"
        if math.isinf(published_factor(model.size, model.max_correlation)):
            return f"the theorem needs correlations below 1 / (m - 2), here {model.max_correlation:.4g}"
        return None

    def run(self, problem: BayesianPrivacy, budget: Budget) -> Proposal:
        """Propose noise of the printed level; beyond m the general bound is less, as the paper says."""
        model = levels.judged_model(problem)
        assert isinstance(model, GaussianModel)
        factor = min(published_factor(model.size, model.max_correlation), float(model.size))
        inside = "yes" if problem.scope == "targets_in_interval" else "no"
        stats = {"method": self.name, "inside_domain": inside}
        return calibrated.proposal(problem, problem.epsilon / factor * (1 - 1e-12), dict(stats), printed=True)
