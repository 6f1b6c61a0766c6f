"""Headlines of Bayesian differential privacy."""

from __future__ import annotations

from privopt._dispatch import solve
from privopt._text import number
from privopt.benchmarks._headlines import Headline, register_headline
from privopt.models import GaussianModel, MarkovChain
from privopt.problems.bayesian_privacy import BayesianPrivacy


def _error(problem: BayesianPrivacy, solver: str | None = None) -> float:
    found = solve(problem, solver)
    if found.utility is None or not found.certified:
        raise ValueError(f"{solver} on {problem!r}: {found.status.name}, {found.reason}")
    return -found.utility


@register_headline("bayesian-chain")
def chain() -> Headline:
    """The count of active intervals of an activity stream at 10 nats."""
    activity = MarkovChain.normalised([[0.882, 0.118], [0.305, 0.695]])
    problem = BayesianPrivacy(activity, "count", 10.0, length=17_568)
    best, published, general = (_error(problem, name) for name in (None, "markov-published", "general"))
    return Headline(
        "bayesian-chain",
        "mean error of a count over 17 568 records of a chain (activity stream of Lange et al.) at 10 nats (certified)",
        number(best, 3),
        f"{number(published, 3)} published bound, {number(general, 3)} general bound",
    )


@register_headline("bayesian-family")
def family() -> Headline:
    """Noise for families of three with correlation 0.275."""
    rho = 0.275
    model = GaussianModel([[1.0 if i == j else rho for j in range(3)] for i in range(3)])
    problem = BayesianPrivacy(model, "sum", 1.0, clip=(0.0, 1.0))
    best, published, general = (_error(problem, name) for name in (None, "gaussian-published", "general"))
    return Headline(
        "bayesian-family",
        "noise for a sum over families of three with correlation 0.275, against differential privacy (certified)",
        f"{number(best, 4)} times",
        f"{number(published, 4)} times by the published theorem, {number(general, 4)} times by the general bound",
    )
