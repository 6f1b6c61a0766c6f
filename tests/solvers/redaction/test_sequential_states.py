"""Sequential redactions of three states and more: what they hide, its slopes, and local searches against proved bounds."""

from __future__ import annotations

import numpy as np
import pytest

import privopt as po
from privopt.solvers.redaction._hidden import hidden


def random_chain(seed: int, k: int = 3) -> po.MarkovChain:
    return po.MarkovChain.normalised(np.random.default_rng(seed).dirichlet(np.ones(k), size=k))


def random_table(seed: int, problem: po.Redaction) -> np.ndarray:  # type: ignore[type-arg]
    rng = np.random.default_rng(seed)
    table = np.where(
        rng.random((problem.length, problem.chain.k)) < 0.3,
        1.0,
        rng.random((problem.length, problem.chain.k)),
    )
    table[list(problem.private)] = 1.0
    return table


@pytest.mark.parametrize("form", ["local", "sequential"])
@pytest.mark.parametrize("private", [0, 3, 6])
@pytest.mark.parametrize("seed", range(3))
def test_what_a_table_hides_is_what_its_utility_lacks(form: str, private: int, seed: int) -> None:
    weights = np.random.default_rng(seed).random(7)
    problem = po.Redaction(random_chain(seed), 7, private, 1.0, form=form, weights=weights)
    table = random_table(seed, problem)
    released = problem.evaluate(problem.answer(table)).utility
    assert 1.0 - hidden(problem).value(table) / problem.record_weights.sum() == pytest.approx(
        released, abs=1e-12
    )


@pytest.mark.parametrize("seed", range(3))
def test_slopes_are_those_of_differences(seed: int) -> None:
    problem = po.Redaction(random_chain(seed, 4), 6, 2, 1.0, form="sequential")
    cost, table = hidden(problem), 0.1 + 0.8 * random_table(seed, problem)
    slopes, step = cost.slopes(table), 1e-6
    for t in (0, 1, 3, 4, 5):
        for v in range(4):
            more, less = table.copy(), table.copy()
            more[t, v] += step
            less[t, v] -= step
            assert slopes[t, v] == pytest.approx((cost.value(more) - cost.value(less)) / (2 * step), abs=1e-8)


@pytest.mark.parametrize(("seed", "epsilon"), [pytest.param(3, 1.0, marks=pytest.mark.long), (4, 0.5)])
def test_a_local_search_meets_what_is_proved(seed: int, epsilon: float) -> None:
    problem = po.Redaction(random_chain(seed), 12, 6, epsilon, form="sequential")
    found, proved = po.solve(problem, "joint-search", time_limit=30), po.solve(problem, time_limit=30)
    assert found.objective is not None
    assert proved.bound is not None
    assert found.certified
    assert proved.bound * (1 - 1e-6) <= found.objective <= proved.bound


def test_names_of_states_change_nothing_and_a_sequential_form_releases_no_less() -> None:
    chain, order = random_chain(5), [2, 0, 1]
    moved = po.MarkovChain.normalised(chain.transition[np.ix_(order, order)])
    values = [
        po.solve(po.Redaction(c, 4, 1, 1.0, form=form), "branch-and-bound", time_limit=20).objective
        for c, form in ((chain, "sequential"), (moved, "sequential"), (chain, "local"))
    ]
    assert values[0] is not None
    assert values[2] is not None
    assert values[0] == pytest.approx(values[1], rel=1e-6)
    assert values[0] >= values[2] * (1 - 1e-6)


@pytest.mark.long
def test_records_that_tell_little_are_counted_where_leaving_them_out_leaves_a_gap() -> None:
    """The seven nearest records, all others being free, prove no less than 0.85085."""
    problem = po.Redaction(random_chain(5), 12, 6, 2.0, form="sequential")
    solution = po.solve(problem, "branch-and-bound", time_limit=25)
    assert solution.stats["records"] in (11, 12)
    assert solution.bound is not None
    assert solution.bound < 0.8506
    assert solution.objective is not None
    assert solution.objective > 0.846
