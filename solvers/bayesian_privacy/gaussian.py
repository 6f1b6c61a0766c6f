"""Noise for records in groups, Gaussian or of any dependence: a bound on the factor of a group gives the level."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from privopt.core.registry import register
from privopt.core.solver import Budget, Guarantee, Proposal
from privopt.measures.bayesian.gaussian import gaussian_factor, published_factor
from privopt.measures.bayesian.gaussian_subsets import MOST_RECORDS as MOST_PROVED
from privopt.models import GaussianModel
from privopt.problems.bayesian_privacy import levels
from privopt.problems.bayesian_privacy.problem import BayesianPrivacy
from privopt.solvers.bayesian_privacy import _calibrated as calibrated


@register
@dataclass(frozen=True)
class General(calibrated.Calibrated):
    """Noise for any dependence: the level is epsilon divided by the number of dependent records.

    Lange, Guerra-Balboa, Parra-Arnau, Strufe, "Balancing Privacy and Utility in Correlated Data: A Study of
    Bayesian Differential Privacy", Section 4: tight where nothing but m is known.
    """

    name: ClassVar[str] = "general"
    robust: ClassVar[bool] = True


@dataclass(frozen=True)
class _Gaussian(calibrated.Calibrated):
    """A bound for Gaussian records and targets inside the clipping interval."""

    def refuse(self, problem: BayesianPrivacy) -> str | None:
        """Refuse what the bound is not for."""
        return calibrated.not_gaussian(problem) or super().refuse(problem)


@register
@dataclass(frozen=True)
class GaussianColumn(_Gaussian):
    """Gaussian records of small correlations: the factor is a column sum of the covariance, exact up to the factor 2.

    The least and most obvious adversary, who knows nothing, attains it.
    """

    name: ClassVar[str] = "gaussian-column"
    robust: ClassVar[bool] = True

    def guarantee(self, problem: BayesianPrivacy) -> Guarantee:
        """As all; feasible where the column sum is too large to bound anything."""
        model = levels.judged_model(problem)
        if (
            isinstance(model, GaussianModel)
            and gaussian_factor(model, self.name, sums=True).method == "general"
        ):
            return Guarantee.FEASIBLE
        return super().guarantee(problem)

    def cost(self, problem: BayesianPrivacy) -> float:
        """Seconds: a sum over pairs of records."""
        return 2e-3 + 1e-8 * calibrated.blocks(problem) ** 2


@register
@dataclass(frozen=True)
class GaussianHMatrix(_Gaussian):
    """Gaussian records by the comparison matrix of their precision: exact for positive dependence, such as AR(1).

    It needs that matrix to be an M-matrix, and is exact where partial correlations are non-negative up to the signs of
    records: AR(1), equal correlations, trees.
    """

    name: ClassVar[str] = "gaussian-h-matrix"

    def cost(self, problem: BayesianPrivacy) -> float:
        """Seconds: two inverses."""
        return 2e-3 + 4e-10 * calibrated.blocks(problem) ** 3


@register
@dataclass(frozen=True)
class GaussianBruteForce(_Gaussian):
    """Gaussian records with every adversary enumerated: exact for blocks of up to eighteen records.

    The largest factor over all sets of known records and all targets of each independent block.
    """

    name: ClassVar[str] = "gaussian-brute-force"

    def cost(self, problem: BayesianPrivacy) -> float:
        """Seconds: exponential in the records of a block."""
        return 2e-3 + 2e-5 * 2.0 ** min(calibrated.blocks(problem), 60)

    def refuse(self, problem: BayesianPrivacy) -> str | None:
        """Refuse what the bound is not for, and blocks too large for its proof."""
        refusal = calibrated.not_gaussian(problem)
        if refusal is None and calibrated.blocks(problem) > MOST_PROVED:
            return f"its proof takes blocks of up to {MOST_PROVED} records"
        return refusal or super().refuse(problem)


@register
@dataclass(frozen=True)
class GaussianClass(_Gaussian):
    """Gaussian records of which only the size of a group and the largest correlation count, or the condition number.

    The factor of all groups of m records with correlations of at most rho: 1 + (m - 1) rho where rho <= 1 / (m - 1),
    else 1 + rho / (1 - (m - 2) rho): never more than the published factor. Or that of all groups whose covariance has the
    condition number k: 1 + sqrt(m - 1) (k - 1) / (2 sqrt(k)), by Wielandt's inequality, for groups of any size.
    """

    name: ClassVar[str] = "gaussian-class"
    seconds: ClassVar[float] = 5e-3


@register
@dataclass(frozen=True)
class GaussianPublished(_Gaussian):
    """Baseline: the published factor for Gaussian records, taken as printed, for targets of any real value too.

    The factor is 1 + m^2 / (4 (1 / rho - m + 2)).

    Lange, Guerra-Balboa, Parra-Arnau, Strufe, "Balancing Privacy and Utility in Correlated Data: A Study of
    Bayesian Differential Privacy", Theorems 5.5 and 5.8. Sound for targets inside the clipping interval. Theorem 5.8
    is printed without that restriction: for ``scope="all_reals"`` the noise is too small, and is shown to be.
    """

    name: ClassVar[str] = "gaussian-published"
    guaranteed: ClassVar[Guarantee | None] = Guarantee.BASELINE
    """Published, and kept for comparison."""

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
