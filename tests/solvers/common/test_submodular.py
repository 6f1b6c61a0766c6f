"""Minimising submodular functions and their differences, against every subset."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import combinations

import numpy as np
import pytest

from privopt import JointDistribution
from privopt.core.solver import Budget
from privopt.errors import InvalidProblem
from privopt.problems.local_information_privacy.examples import lecture_joint
from privopt.problems.privacy_funnel.problem import PrivacyFunnel
from privopt.solvers.common.difference_of_submodular import minimise_difference
from privopt.solvers.common.merging_table import merging_table
from privopt.solvers.common.minimum_norm_point import SetFunction, minimum_norm_point
from privopt.solvers.trade_off.subset_search import mod_mod, repeated, sub_sup, tabulated
from privopt.solvers.trade_off.subset_steps import SubsetMerge


def subsets(n: int) -> Iterator[frozenset[int]]:
    return (frozenset(c) for k in range(n + 1) for c in combinations(range(n), k))


def random_function(rng: np.random.Generator, n: int) -> SetFunction:
    """A weighted cut, plus a concave function of a sum, plus something modular: submodular."""
    cut = np.triu(rng.random((n, n)), 1) * (rng.random((n, n)) < 0.5)
    modular, sizes = rng.normal(size=n) * 1.5, rng.random(n)

    def f(chosen: frozenset[int]) -> float:
        inside = np.zeros(n, dtype=bool)
        inside[list(chosen)] = True
        crossing = cut[inside[:, None] != inside[None, :]].sum()
        return float(crossing + modular[inside].sum() + 2 * math.sqrt(sizes[inside].sum()))

    return f


@pytest.mark.parametrize("seed", range(20))
def test_the_minimum_norm_point_gives_a_minimum(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(0, 9))
    f = random_function(rng, n)
    found = minimum_norm_point(f, n)
    assert found.value == f(found.chosen)
    assert found.value == pytest.approx(min(map(f, subsets(n))), abs=1e-9)
    assert found.gap <= 1e-8


@pytest.mark.parametrize("seed", range(20))
def test_the_minimum_is_that_of_another_minimum_norm_base(seed: int) -> None:
    """The negative entries of dit's point of least norm are a minimiser, and their sum is its value."""
    dit = pytest.importorskip("dit.algorithms.submodular", reason="dit is not installed")
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 9))
    f = random_function(rng, n)
    empty = f(frozenset())
    base = dit.minimum_norm_base(lambda chosen: f(frozenset(chosen)) - empty, list(range(n)))
    found = minimum_norm_point(f, n)
    assert found.value == pytest.approx(empty + sum(min(x, 0.0) for x in base.values()), abs=1e-6)
    assert f(frozenset(i for i, x in base.items() if x < -1e-7)) == pytest.approx(found.value, abs=1e-6)


def test_minimum_cuts_equal_those_of_networkx() -> None:
    import networkx as nx

    rng = np.random.default_rng(0)
    for _ in range(5):
        graph = nx.gnp_random_graph(9, 0.6, seed=int(rng.integers(1000)), directed=True)
        nx.add_path(graph, range(9))
        for _, _, data in graph.edges(data=True):
            data["capacity"] = float(rng.random())

        def f(chosen: frozenset[int], graph: nx.DiGraph = graph) -> float:
            side = {0, *(i + 1 for i in chosen)}
            return sum(d["capacity"] for a, b, d in graph.edges(data=True) if a in side and b not in side)

        assert minimum_norm_point(f, 7).value == pytest.approx(nx.minimum_cut_value(graph, 0, 8), abs=1e-8)


@pytest.mark.parametrize("method", ["sub-sup", "mod-mod"])
def test_differences_come_down_to_a_local_minimum(method: str) -> None:
    rng = np.random.default_rng(1)
    hits = 0
    for _ in range(12):
        n = int(rng.integers(1, 7))
        f, g = random_function(rng, n), random_function(rng, n)
        values = {chosen: f(chosen) - g(chosen) for chosen in subsets(n)}
        found = minimise_difference(f, g, n, method=method)
        assert found.value == pytest.approx(values[found.chosen], abs=1e-12)
        assert found.value <= min(values[frozenset()], values[frozenset(range(n))]) + 1e-12
        hits += found.value == pytest.approx(min(values.values()), abs=1e-9)
    assert hits >= 10


def test_an_unknown_method_is_refused() -> None:
    with pytest.raises(InvalidProblem, match="mod-mod"):
        minimise_difference(len, len, 2, method="sup-sub")


def merge_question(seed: int, n: int, price: float) -> SubsetMerge:
    rng = np.random.default_rng(seed)
    joint = JointDistribution(rng.dirichlet(np.ones(3 * n)).reshape(3, n))
    return SubsetMerge(merging_table(PrivacyFunnel(joint, trade_off=price)), price)


def numbers(chosen: frozenset[int]) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    return np.array(sorted(chosen), dtype=np.int64)


@pytest.mark.parametrize("seed", range(10))
def test_the_step_of_sorted_prefixes_is_exact(seed: int) -> None:
    """Against every subset; it minimises (1 - price) f - modular."""
    question = merge_question(seed, 8, 0.05 + 0.05 * seed)
    rng = np.random.default_rng(seed)
    modular = question.gains(rng.permutation(8)) if seed % 2 else rng.normal(size=8) * 0.05
    f = whole(question)

    def value(chosen: frozenset[int]) -> float:
        return (1 - question.price) * f(chosen) - sum(float(modular[i]) for i in chosen)

    found = frozenset(question.best_for(modular).tolist())
    assert value(found) == pytest.approx(min(map(value, subsets(8))), abs=1e-13)


def whole(question: SubsetMerge) -> SetFunction:
    """f by its definition: what merging changes in H(Y)."""
    mass = question.table.mass.tolist()

    def f(chosen: frozenset[int]) -> float:
        total = sum(mass[i] for i in chosen)
        return sum(mass[i] * math.log(mass[i]) for i in chosen) - (total * math.log(total) if total else 0.0)

    return f


@pytest.mark.parametrize("seed", range(6))
def test_the_tabulated_set_is_the_best_and_the_others_are_no_better(seed: int) -> None:
    question = merge_question(seed, 9, 0.05 + 0.05 * seed)
    best = min(question.change(numbers(chosen)) for chosen in subsets(9))
    assert question.change(tabulated(question, Budget())) == pytest.approx(min(best, 0.0), abs=1e-13)
    first, second = (question.change(step(question, Budget())) for step in (sub_sup, mod_mod))
    assert 0 >= first >= best - 1e-13
    assert 0 >= second >= best - 1e-13
    assert first <= 0.9 * best


def test_change_is_what_the_problem_reads() -> None:
    question = merge_question(3, 7, 0.2)
    start = question.table.informations
    for chosen in ({0, 3}, {1, 2, 4, 6}, set(range(7))):
        to = np.arange(7)
        to[list(chosen)] = min(chosen)
        secret, useful = question.table.merged(np.unique(to, return_inverse=True)[1]).informations
        expected = secret - start[0] - 0.2 * (useful - start[1])
        assert question.change(numbers(frozenset(chosen))) == pytest.approx(expected, abs=1e-13)


def test_the_generic_procedure_finds_the_same_set() -> None:
    question = merge_question(5, 7, 0.1)
    f = whole(question)

    def g(chosen: frozenset[int]) -> float:
        return (1 - question.price) * f(chosen) - question.change(numbers(chosen))

    found = minimise_difference(lambda a: (1 - question.price) * f(a), g, 7)
    assert found.value == pytest.approx(question.change(tabulated(question, Budget())), abs=1e-9)


def test_public_best_sets() -> None:
    for price, change, chosen in ((0.1, -0.036079727, [1, 8, 9]), (0.3, -0.011620223, [8, 9])):
        question = SubsetMerge(merging_table(PrivacyFunnel(lecture_joint(), trade_off=price)), price)
        for step in (sub_sup, tabulated):
            found = step(question, Budget())
            assert (found + 1).tolist() == chosen
            assert question.change(found) == pytest.approx(change, abs=1e-9)
    alone = SubsetMerge(merging_table(PrivacyFunnel(lecture_joint(), trade_off=0.5)), 0.5)
    assert not len(tabulated(alone, Budget()))


def test_repeated_merging_never_raises_the_objective() -> None:
    table = merge_question(8, 10, 0.1).table
    for step in (sub_sup, mod_mod, tabulated):
        secret, useful = table.merged(repeated(table, 0.1, step, Budget())).informations
        assert secret - 0.1 * useful <= table.informations[0] - 0.1 * table.informations[1]
