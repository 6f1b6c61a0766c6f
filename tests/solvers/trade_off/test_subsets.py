"""Merging of subsets, against every subset."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from itertools import combinations

import numpy as np
import pytest

from privopt import JointDistribution
from privopt.core.solver import Budget
from privopt.problems.local_information_privacy.examples import lecture_joint
from privopt.problems.privacy_funnel.problem import PrivacyFunnel
from privopt.solvers.trade_off.mergings import merging_table
from privopt.solvers.trade_off.subsets import SubsetMerge, mod_mod, repeated, sub_sup, tabulated


def subsets(n: int) -> Iterator[frozenset[int]]:
    return (frozenset(c) for k in range(n + 1) for c in combinations(range(n), k))


def random_merge(seed: int, n: int, price: float) -> SubsetMerge:
    rng = np.random.default_rng(seed)
    joint = JointDistribution(rng.dirichlet(np.ones(3 * n)).reshape(3, n))
    return SubsetMerge(merging_table(PrivacyFunnel(joint, trade_off=price)), price)


def numbers(chosen: frozenset[int]) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    return np.array(sorted(chosen), dtype=np.int64)


@pytest.mark.parametrize("seed", range(10))
def test_the_step_of_sorted_prefixes_is_exact(seed: int) -> None:
    """Against every subset; it minimises (1 - price) f - modular."""
    merge = random_merge(seed, 8, 0.05 + 0.05 * seed)
    rng = np.random.default_rng(seed)
    modular = merge.gains(rng.permutation(8)) if seed % 2 else rng.normal(size=8) * 0.05
    f = whole(merge)

    def value(chosen: frozenset[int]) -> float:
        return (1 - merge.price) * f(chosen) - sum(float(modular[i]) for i in chosen)

    best = frozenset(merge.best_for(modular).tolist())
    assert value(best) == pytest.approx(min(map(value, subsets(8))), abs=1e-13)


def whole(merge: SubsetMerge) -> Callable[[frozenset[int]], float]:
    """f by its definition: what merging changes in H(Y)."""
    mass = merge.table.mass.tolist()

    def f(chosen: frozenset[int]) -> float:
        total = sum(mass[i] for i in chosen)
        return sum(mass[i] * math.log(mass[i]) for i in chosen) - (total * math.log(total) if total else 0.0)

    return f


@pytest.mark.parametrize("seed", range(6))
def test_the_tabulated_set_is_the_best_and_the_others_are_no_better(seed: int) -> None:
    merge = random_merge(seed, 9, 0.05 + 0.05 * seed)
    best = min(merge.change(numbers(chosen)) for chosen in subsets(9))
    assert merge.change(tabulated(merge, Budget())) == pytest.approx(min(best, 0.0), abs=1e-13)
    first, second = (merge.change(step(merge, Budget())) for step in (sub_sup, mod_mod))
    assert 0 >= first >= best - 1e-13
    assert 0 >= second >= best - 1e-13
    assert first <= 0.9 * best


def test_change_is_what_the_problem_reads() -> None:
    merge = random_merge(3, 7, 0.2)
    start = merge.table.informations
    for chosen in ({0, 3}, {1, 2, 4, 6}, set(range(7))):
        to = np.arange(7)
        to[list(chosen)] = min(chosen)
        secret, useful = merge.table.merged(np.unique(to, return_inverse=True)[1]).informations
        expected = secret - start[0] - 0.2 * (useful - start[1])
        assert merge.change(numbers(frozenset(chosen))) == pytest.approx(expected, abs=1e-13)


def test_public_best_sets() -> None:
    for price, change, chosen in ((0.1, -0.036079727, [1, 8, 9]), (0.3, -0.011620223, [8, 9])):
        merge = SubsetMerge(merging_table(PrivacyFunnel(lecture_joint(), trade_off=price)), price)
        for step in (sub_sup, tabulated):
            chosen_set = step(merge, Budget())
            assert (chosen_set + 1).tolist() == chosen
            assert merge.change(chosen_set) == pytest.approx(change, abs=1e-9)
    alone = SubsetMerge(merging_table(PrivacyFunnel(lecture_joint(), trade_off=0.5)), 0.5)
    assert not len(tabulated(alone, Budget()))


def test_repeated_merging_never_raises_the_objective() -> None:
    table = random_merge(8, 10, 0.1).table
    for step in (sub_sup, mod_mod, tabulated):
        secret, useful = table.merged(repeated(table, 0.1, step, Budget())).informations
        assert secret - 0.1 * useful <= table.informations[0] - 0.1 * table.informations[1]
