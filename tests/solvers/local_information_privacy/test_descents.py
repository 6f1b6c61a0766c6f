"""Releases that stand out at few symbols, against linear programs and all pairs and triples of symbols."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.optimize import linprog

import privopt as po
from privopt.problems.local_information_privacy.layers import Layers
from privopt.solvers.local_information_privacy.cuts.descents import Level


def counted(n: int, rows: int, seed: int) -> po.JointAmbiguity:
    rng = np.random.default_rng(seed)
    shares = rng.dirichlet(np.full(n, 0.3), size=2) * np.array([[0.7], [0.3]]) + 2.0 / rows / n
    table = rng.multinomial(rows, (shares / shares.sum()).ravel()).reshape(2, n)
    return po.JointAmbiguity.from_counts(table[:, table.sum(axis=0) > 0].tolist(), 0.95)


def sparse_bounds(ambiguity: po.JointAmbiguity, epsilon: float) -> np.ndarray:
    """Rows C with C m <= 0: the largest end of a row of the table counts against the least one of the other, at both ends of the prior."""
    low, high = (
        np.array([[float(v) for v in getattr(r, end)] for r in ambiguity.rows]) for end in ("lower", "upper")
    )
    first = float(ambiguity.prior.lower[0]), float(ambiguity.prior.upper[0])
    rows = []
    for p in first:
        for own, prior in ((0, p), (1, 1 - p)):
            rows.append(
                (1 - np.exp(epsilon) * prior) * high[own] - np.exp(epsilon) * (1 - prior) * low[1 - own]
            )
            rows.append(
                np.exp(-epsilon) * (1 - prior) * high[1 - own] - (1 - np.exp(-epsilon) * prior) * low[own]
            )
    return np.array(rows)


@pytest.mark.parametrize("seed", range(6))
def test_programs_over_peaks_have_the_optimum_of_the_same_bounds_written_out(seed: int) -> None:
    ambiguity = counted(9, 4000, seed)
    problem = po.LocalInformationPrivacy(ambiguity, 0.7)
    layers = Layers.of(problem, ambiguity)
    assert layers is not None
    level, p = Level(layers, falls=False), layers.p.mid
    ends = layers.least.mid, layers.least.mid + layers.width.mid
    bounds = layers.above.mid @ ends[1] - layers.below.mid @ ends[0]
    flat = (layers.above.mid - layers.below.mid).sum(axis=1)
    cost = np.random.default_rng(seed).normal(size=len(p))
    found = level.least(cost)
    assert found is not None
    table = np.column_stack([flat, bounds])
    told = linprog(
        np.append(cost @ p, cost * p),
        table,
        np.zeros(len(table)),
        np.append(1.0, p)[None],
        [1.0],
        bounds=(0, None),
    )
    assert cost @ found == pytest.approx(told.fun, abs=1e-9)


def by_triples(ambiguity: po.JointAmbiguity, epsilon: float) -> float:
    """The utility of the best mixture of posteriors of three symbols at most that keep these bounds."""
    bounds, nominal = sparse_bounds(ambiguity, epsilon), np.array(ambiguity.nominal.table)
    p = nominal.sum(axis=0) / nominal.sum()
    n, rays = len(p), [np.eye(len(p))[(bounds <= 0).all(axis=0)]]
    for size in (2, 3):
        places = np.array(list(itertools.combinations(range(n), size)))
        for tight in itertools.combinations(range(len(bounds)), size - 1):
            part = [bounds[k][places] for k in tight]
            m = np.cross(*part) if size == 3 else np.column_stack([part[0][:, 1], -part[0][:, 0]])
            m = m * np.sign(m.sum(axis=1, keepdims=True))
            whole = np.zeros((len(m), n))
            np.put_along_axis(whole, places, m, axis=1)
            rays.append(whole[(m > 0).all(axis=1) & (whole @ bounds.T <= 1e-12).all(axis=1)])
    posteriors = np.concatenate(rays) * p
    posteriors /= posteriors.sum(axis=1, keepdims=True)
    costs = -np.where(posteriors > 0, posteriors * np.log(np.maximum(posteriors, 1e-300)), 0.0).sum(axis=1)
    mixture = linprog(costs, A_eq=posteriors.T, b_eq=p, bounds=(0, None))
    return float(-(p * np.log(p)).sum() - mixture.fun)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(3))
def test_a_counted_table_is_released_as_well_as_by_all_triples_of_symbols(seed: int) -> None:
    ambiguity = counted(40, 30_000, seed)
    solution = po.solve(po.LocalInformationPrivacy(ambiguity, 0.7), time_limit=20)
    assert solution.certified
    assert solution.utility is not None
    assert solution.utility >= 0.995 * by_triples(ambiguity, 0.7)
