"""Releases of two levels over a set of joints: as good as what is known of them, and better than what was found without."""

from __future__ import annotations

import math
import time

import numpy as np
import pytest
from scipy.optimize import linprog

import privopt as po
from privopt.core.solver import Budget
from privopt.solvers.local_information_privacy.cuts.mixtures import OverSet
from privopt.solvers.local_information_privacy.cuts.plateaus import Plateaus


def any_rows(secrets: int, symbols: int) -> po.JointAmbiguity:
    """All rows and all priors around the uniform joint: local differential privacy of the symbol."""
    joint = po.JointDistribution(np.full((secrets, symbols), 1.0 / (secrets * symbols)))
    rows = [po.RowSet.all(symbols)] * secrets
    return po.JointAmbiguity(rows, po.RowSet.all(secrets), nominal=joint)


def wide(secrets: int, symbols: int, seed: int) -> po.JointAmbiguity:
    """Rows that hardly differ, of which one was seldom counted."""
    rng = np.random.default_rng(seed)
    base = rng.dirichlet(np.full(symbols, 3.0))
    sizes = [20, 4000, 8000, 8000, 8000][:secrets]
    counts = [rng.multinomial(size, rng.dirichlet(300 * base)) for size in sizes]
    return po.JointAmbiguity.from_counts([row.tolist() for row in counts], confidence=0.95)


@pytest.mark.parametrize(("symbols", "epsilon"), [(6, 1.0), (9, 2.0)])
def test_over_all_rows_the_subset_mechanism_is_found(symbols: int, epsilon: float) -> None:
    """Its information is known (Wang et al., for a uniform symbol): the best of all sizes of the set."""
    problem = po.LocalInformationPrivacy(any_rows(2, symbols), epsilon=epsilon, notion="ldp")
    assert problem.ambiguity is not None
    mixtures = OverSet(problem, problem.ambiguity)
    Plateaus(mixtures, 0).run(Budget(time.monotonic() + 5))
    factor = math.exp(epsilon)

    def said(size: int) -> float:
        share = size / symbols
        mass = share * factor + 1 - share
        inside = share * factor / mass
        return inside * math.log(factor / mass) + (1 - inside) * math.log(1 / mass)

    assert math.log(symbols) - mixtures.value == pytest.approx(max(map(said, range(1, symbols))), abs=1e-6)


@pytest.mark.parametrize("seed", range(3))
def test_more_is_said_of_wide_sets_than_by_single_symbols(seed: int) -> None:
    problem = po.LocalInformationPrivacy(wide(4, 24, seed), epsilon=1.0)
    assert problem.ambiguity is not None
    mixtures = OverSet(problem, problem.ambiguity)
    mixtures.mix(np.eye(24))
    alone = mixtures.value
    Plateaus(mixtures, 0).run(Budget(time.monotonic() + 2))
    whole = -float((mixtures.p * np.log(mixtures.p)).sum())
    assert whole - mixtures.value > 1.5 * (whole - alone)
    assert mixtures.best is not None
    assert problem.certify(problem.repair(mixtures.best, 2.0**-44).quantised()).ok


@pytest.mark.parametrize("seed", range(3))
def test_the_first_mixture_is_that_of_a_program_over_the_drawn_symbols(seed: int) -> None:
    """And a further one, from its basis, that of a program over all posteriors met, as SciPy solves them."""
    problem = po.LocalInformationPrivacy(wide(4, 24, seed), epsilon=1.0)
    assert problem.ambiguity is not None
    mixtures = OverSet(problem, problem.ambiguity)

    def by_scipy() -> float:
        program = linprog(mixtures.costs(mixtures.pool), A_eq=mixtures.pool.T, b_eq=mixtures.p)
        assert program.fun is not None
        return float(program.fun)

    mixtures.begin()
    assert len(mixtures.pool) == 25
    assert mixtures.value == pytest.approx(by_scipy(), rel=1e-9)
    for size in (6, 200, 3500):
        mixtures.mix(np.random.default_rng([seed, size]).dirichlet(mixtures.p * 5, size=size))
        assert mixtures.value == pytest.approx(by_scipy(), rel=1e-9)
    assert len(mixtures.pool) <= 3001


def test_the_answer_is_the_same_for_the_same_seed_and_steps() -> None:
    problem = po.LocalInformationPrivacy(wide(3, 12, 0), epsilon=1.0)
    assert problem.ambiguity is not None
    values = []
    for _ in range(2):
        mixtures = OverSet(problem, problem.ambiguity)
        Plateaus(mixtures, 5).run(Budget(math.inf))
        values.append(mixtures.value)
    assert values[0] == pytest.approx(values[1], rel=1e-3)
