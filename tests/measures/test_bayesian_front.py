"""One function for every model: the Markov side of it, and what all models share."""

from __future__ import annotations

import math

import pytest

import privopt as po
from privopt.errors import InvalidProblem
from privopt.measures import Bound, bayesian_leakage

CHAIN = po.MarkovChain([[0.8, 0.2], [0.3, 0.7]])


def test_published_values() -> None:
    assert bayesian_leakage(CHAIN, 0.5).value == pytest.approx(1.4791192266, abs=1e-9)
    assert bayesian_leakage(CHAIN, 0.5, length=5).value == pytest.approx(1.2544221173, abs=1e-9)
    assert bayesian_leakage(CHAIN, 0.5, method="markov-published").value == pytest.approx(
        6.0451774446, abs=1e-9
    )


@pytest.mark.parametrize("tau", [0.0, 0.05, 1.0, 5.0])
@pytest.mark.parametrize("length", [1, 3])
def test_methods_are_ordered(tau: float, length: int) -> None:
    bounds = {
        method: bayesian_leakage(CHAIN, tau, length=length, method=method)
        for method in ("best", "general", "markov-published", "markov-recursion", "exact-small")
    }
    assert bounds["general"].value == length * tau
    assert bounds["best"] == bounds["markov-recursion"]
    assert bounds["exact-small"].value == pytest.approx(bounds["best"].value, abs=1e-6)
    assert bounds["best"].value <= bounds["markov-published"].value + 1e-12 <= length * tau + 2e-12


def test_unlimited_chains_have_no_general_bound() -> None:
    assert bayesian_leakage(CHAIN, 1.0, method="general") == Bound(
        math.inf, False, "general", "targets_in_interval"
    )
    assert bayesian_leakage(CHAIN, 0.0, method="general").value == 0.0


def test_the_scope_is_passed_on() -> None:
    for model in (CHAIN, po.GroupModel(2), po.GaussianModel([[1, 0.5], [0.5, 1]])):
        for scope in ("targets_in_interval", "all_reals"):
            bound = bayesian_leakage(model, 1.0, scope=scope)
            assert bound.scope == scope
            assert scope in str(bound)


def test_chains_end() -> None:
    two = po.MarkovChain([[[0.8, 0.2], [0.3, 0.7]]], initial=[0.5, 0.5])
    assert bayesian_leakage(two, 1.0, method="general").value == 2.0
    with pytest.raises(InvalidProblem, match="at most 2 records"):
        bayesian_leakage(two, 1.0, length=3)
    with pytest.raises(InvalidProblem, match="'gaussian-column' does not serve a Markov chain"):
        bayesian_leakage(CHAIN, 1.0, method="gaussian-column")
