"""The bound by a potential for words of two letters: against linear programs of SciPy, policies, independent letters, and odd duals."""

from __future__ import annotations

import copy
import math
import time
from typing import Any

import numpy as np
import pytest
from scipy.optimize import linprog

import privopt as po
from privopt import SequenceInformationPrivacy as Ask
from privopt.arrays import Floats
from privopt.core.solver import Budget, Proposal
from privopt.problems.sequence_information_privacy import word_potential
from privopt.problems.sequence_information_privacy.word_potential import (
    WordBounds,
    bounds_of,
    first_words,
    refuse_words_of_two,
)
from privopt.solvers.sequence.word_potential import WordPotential

WEATHER = po.MarkovChain([[0.8, 0.2], [0.3, 0.7]])
STAYS = po.MarkovChain([[0.9, 0.1], [0.1, 0.9]])
RARE = po.MarkovChain([[0.5, 0.5], [0.05, 0.95]])
SWINGS = po.MarkovChain([[0.1, 0.9], [0.9, 0.1]], [0.3, 0.7])


def proposed(problem: Ask, cells: int = 24) -> Proposal:
    """What the solver proposes with so many cells, on any machine the same."""
    return WordPotential(cells=cells).run(problem, Budget(math.inf))


def by_programs(bounds: WordBounds, epsilon: float, later: Floats, prices: Floats, words: Floats) -> float:
    """The least lam . pi + (D_y - lam) . p + h over posteriors within the budget: a program for each release and cell, by SciPy."""
    nats, second = epsilon * bounds.release.length, bounds.second.astype(float)
    box = list(zip(words * math.exp(-nats), np.minimum(1.0, words * math.exp(nats)), strict=True))
    least = math.inf
    cost = bounds.release.setting.cost.T * bounds.release.length
    for j in range(len(bounds.nodes) - 1):
        low, high = bounds.nodes[j : j + 2]
        rising = (later[j + 1] - later[j]) / (high - low)
        for row in cost - prices:
            program = linprog(
                row + rising * second,
                A_ub=np.stack([second, -second]),
                b_ub=[high, -low],
                A_eq=np.ones((1, len(words))),
                b_eq=[1.0],
                bounds=box,
                method="highs",
            )
            if program.fun is not None:
                least = min(least, float(program.fun) + later[j] - rising * low)
    return least + float(prices @ words)


@pytest.mark.parametrize("seed", range(4))
def test_what_a_release_costs_is_at_least_what_is_proved_and_no_more_at_a_node(seed: int) -> None:
    rng = np.random.default_rng(seed)
    chain, epsilon, batch = (
        (WEATHER, STAYS, RARE, SWINGS)[seed],
        (0.3, 1.0, 0.7, 0.5)[seed],
        (2, 2, 3, 2)[seed],
    )
    problem = Ask(chain, epsilon, batch=batch, horizon=3 * batch)
    nodes = np.array([0.0, 0.3, 0.8, 1.0])
    bounds = WordBounds.of(problem, problem.release(batch), nodes)
    later, aim = rng.random(4), rng.random(4)
    prices = rng.random((6, 2**batch)) * batch
    for r, lam in zip(np.repeat(nodes, 2)[1:-1], prices, strict=True):
        words = bounds.given(np.array([r]))
        exact = by_programs(bounds, epsilon, later, lam, words.mid[0])
        assert exact - 1e-9 <= bounds.least(later, lam, words) <= exact + 1e-12
    excess = bounds.excess(later, aim, prices)
    for cell in range(3):
        a, b = nodes[cell : cell + 2]
        for share in (0.0, 0.2, 0.5, 0.9, 1.0):
            r = a + share * (b - a)
            ends = bounds.given(np.array([a, b])).mid
            words = (1 - share) * ends[0] + share * ends[1]
            total = (1 - share) * prices[2 * cell] * ends[0] + share * prices[2 * cell + 1] * ends[1]
            lam = np.divide(total, words, out=np.zeros(len(words)), where=words > 0)
            cost = by_programs(bounds, epsilon, later, lam, words) - float(np.interp(r, nodes, aim))
            assert excess[cell] <= cost + 1e-9
    some = np.array([0, 2])
    assert bounds.excess(later, aim, prices[[0, 1, 4, 5]], some).tolist() == excess[some].tolist()


@pytest.mark.parametrize("chain", [WEATHER, STAYS, RARE, SWINGS])
@pytest.mark.parametrize(
    ("batch", "epsilon", "horizon"), [(2, 1.0, 4), (2, 0.3, 7), (3, 0.5, 9), (3, 0.7, 7)]
)
def test_no_policy_does_better_and_the_gap_is_small(
    chain: po.MarkovChain, batch: int, epsilon: float, horizon: int
) -> None:
    """Policies whose utility is exact; the horizon may end with a shorter word."""
    problem = Ask(chain, epsilon, batch=batch, horizon=horizon)
    proposal = proposed(problem)
    bound = problem.check_bound(-math.inf, proposal.dual)
    assert bound is not None
    assert proposal.bound == pytest.approx(bound, rel=1e-9)
    utilities = []
    for rule in ("structure-lp", "exact-lp", "word-groups"):
        policy = problem.answer(rule)
        assert problem.evaluate(policy).exact
        utilities.append(problem.evaluate(policy).utility)
    assert max(utilities) <= bound
    assert bound <= 0.87 * max(utilities)


@pytest.mark.parametrize("batch", [2, 3])
def test_independent_letters_have_the_optimum_of_each_word(batch: int) -> None:
    problem = Ask(po.MarkovChain([[0.7, 0.3], [0.7, 0.3]], [0.7, 0.3]), 0.5, batch=batch, horizon=4 * batch)
    single = po.solve(Ask(problem.chain, 0.5, batch=batch, horizon=batch), "structure-lp")
    assert single.status is po.Status.OPTIMAL
    assert single.utility is not None
    proposal = proposed(problem)
    assert problem.check_bound(-math.inf, proposal.dual) == pytest.approx(single.utility, rel=1e-5)


def test_cells_are_cut_no_further_than_the_check_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    """A bound that is too long to be checked would be none."""
    most = 14
    monkeypatch.setattr(word_potential, "MAX_CELLS", 16 * most**2 * (word_potential.MAX_TABLES + 1))
    problem = Ask(STAYS, 1.0, batch=2, horizon=40)
    dual: Any = proposed(problem, 100).dual
    assert len(dual["nodes"]) <= most
    assert problem.check_bound(-math.inf, dual) is not None


def test_a_policy_of_long_words_that_takes_long_to_judge_is_not_proposed() -> None:
    problem = Ask(WEATHER, 0.5, batch=8, horizon=80)
    begun = time.monotonic()
    solution = po.solve(problem, "word-potential", time_limit=0.5)
    assert solution.status.ok
    assert time.monotonic() - begun < 5.0


@pytest.mark.parametrize(
    ("chain", "batch", "epsilon"), [(RARE, 2, 2.0), (STAYS, 2, 3.0), (WEATHER, 3, 2.0), (STAYS, 3, 1.0)]
)
def test_more_cells_prove_no_less_and_few_do_for_large_budgets(
    chain: po.MarkovChain, batch: int, epsilon: float
) -> None:
    problem = Ask(chain, epsilon, batch=batch, horizon=3 * batch)
    few, more = (proposed(problem, cells).bound for cells in (8, 16))
    assert few is not None
    assert more is not None
    best = problem.evaluate(problem.answer("structure-lp"))
    assert best.exact
    assert best.utility <= more <= few
    assert few <= (0.9 if batch * epsilon >= 4 else 0.5) * best.utility


def test_names_of_letters_change_nothing() -> None:
    chain, other = RARE, po.MarkovChain([[0.95, 0.05], [0.5, 0.5]])
    bounds = [proposed(Ask(c, 0.8, batch=2, horizon=8)).bound for c in (chain, other)]
    assert bounds[0] is not None
    assert bounds[0] == pytest.approx(bounds[1], rel=2e-2)


def test_any_prices_prove_something_that_holds() -> None:
    """Whatever a dual says, no policy does better than what it proves."""
    problem = Ask(STAYS, 1.0, batch=2, horizon=6)
    dual: Any = proposed(problem).dual
    best = problem.evaluate(problem.answer("structure-lp")).utility
    rng = np.random.default_rng(0)
    for _ in range(5):
        other = copy.deepcopy(dual)
        other["first"] = (np.array(other["first"]) + 0.2 * rng.standard_normal(4)).tolist()
        other["values"][0] = (
            np.array(other["values"][0]) + 0.2 * rng.standard_normal(len(other["nodes"]))
        ).tolist()
        other["prices"][0][1] = (0.3 * rng.standard_normal(4)).tolist()
        bound = problem.check_bound(-math.inf, other)
        assert bound is not None
        assert best <= bound


@pytest.mark.parametrize(
    "change",
    [
        lambda d: d.update(nodes=[0.0, 1.0]),
        lambda d: d.update(nodes=d["nodes"][::-1]),
        lambda d: d.update(first=[0.0]),
        lambda d: d.update(first="prices"),
        lambda d: d.update(values=[]),
        lambda d: d.update(values=d["values"] * 20),
        lambda d: d.update(prices=d["prices"][:-1]),
        lambda d: d["prices"][0].pop(),
        lambda d: d["prices"][0][0].append(0.0),
        lambda d: d["values"][0].__setitem__(0, math.nan),
        lambda d: d["values"][0].__setitem__(0, 1e300),
        lambda d: d["prices"].__setitem__(0, {"rows": 1}),
    ],
)
def test_an_odd_dual_proves_nothing(change: Any) -> None:
    problem = Ask(WEATHER, 1.0, batch=2, horizon=6)
    dual: Any = copy.deepcopy(proposed(problem).dual)
    assert problem.check_bound(-math.inf, dual) is not None
    change(dual)
    assert Ask(WEATHER, 1.0, batch=2, horizon=6).check_bound(-math.inf, dual) is None


def test_other_problems_are_refused_in_a_sentence() -> None:
    three = po.MarkovChain(np.full((3, 3), 1 / 3).tolist())
    for problem, why in (
        (Ask(three, 1.0, batch=2, horizon=6), "two letters"),
        (Ask(WEATHER, 1.0, horizon=6), "words of several letters"),
        (Ask(WEATHER, 1.0, batch=3, horizon=3), "two releases or more"),
        (Ask(WEATHER, 15.0, batch=2, horizon=6), "nats a word"),
        (Ask(WEATHER, 0.0, batch=2, horizon=6), "budgets above 0"),
        (Ask(WEATHER, 0.5, batch=9, horizon=18), "more than 256"),
    ):
        assert why in str(refuse_words_of_two(problem))


def test_a_shorter_last_word_has_its_own_bounds() -> None:
    problem = Ask(WEATHER, 0.5, batch=3, horizon=7)
    last, usual = bounds_of(problem, np.array([0.0, 1.0]))
    assert (last.release.length, usual.release.length) == (1, 3)
    assert last.cost.shape == (2, 2)
    assert usual.cost.shape == (8, 8)
    assert float(first_words(problem).mid.sum()) == pytest.approx(1.0)
    assert usual.second.sum() == 4
