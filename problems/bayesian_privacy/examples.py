"""Small questions on Bayesian differential privacy, with optima that are public values."""

from __future__ import annotations

from privopt.core.problem import Example
from privopt.mechanisms import NoisyQuery
from privopt.models import GaussianModel, GroupModel, MarkovChain
from privopt.problems.bayesian_privacy.problem import BayesianPrivacy


def examples() -> tuple[Example[NoisyQuery], ...]:
    """Easiest first."""
    ask = BayesianPrivacy
    row = GaussianModel([[1, 0.5, 0.25], [0.5, 1, 0.5], [0.25, 0.5, 1]])
    signs = GaussianModel([[1, 0.3, -0.2], [0.3, 1, 0.1], [-0.2, 0.1, 1]])
    pair = GaussianModel([[225, 100.8675], [100.8675, 225]])
    chain = MarkovChain([[0.8, 0.2], [0.3, 0.7]])
    three = MarkovChain([[0.6, 0.3, 0.1], [0.2, 0.5, 0.3], [0.2, 0.2, 0.6]])
    swing = MarkovChain([[0.2, 0.8], [0.8, 0.2]])
    return (
        Example("group", ask(GroupModel(3), "sum", 1.5, clip=(0, 1)), -2.0),
        Example("family", ask(row, "sum", 1.0, clip=(40, 160)), -240.0),
        Example("signs", ask(signs, "mean", 1.0, clip=(0, 10), length=10), -1.5),
        Example("pair", ask(pair, "sum", 1.0, clip=(40, 160)), -120 * 1.4483),
        Example("all-reals", ask(row, "sum", 1.5, clip=(0, 1), scope="all_reals"), -2.0),
        Example("any-heights", ask(pair, "sum", 1.0, clip=(40, 160), scope="all_reals"), -240.0),
        Example("long-chain", ask(chain, "count", 1.0), -1 / 0.3306979598, 1e-7),
        Example("short-chain", ask(chain, "count", 1.2544221173, length=5), -2.0, 1e-7),
        Example("discrete", ask(chain, "count", 1.0, mechanism="discrete_laplace")),
        Example("reports", ask(chain, "count", 1.0, length=6, mechanism="randomised_response")),
        Example("swing", ask(swing, "count", 1.0, length=6), -1.0, 1e-7),
        Example("three-states", ask(three, "histogram", 1.3, mechanism="discrete_laplace")),
    )
