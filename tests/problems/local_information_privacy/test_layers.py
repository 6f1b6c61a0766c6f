"""The proof by layers: no leaf promises more than posteriors keep, no tree less than the optimum, no damaged one anything."""

from __future__ import annotations

import copy
import itertools
import math
import time
from typing import Any

import numpy as np
import pytest

import privopt as po
from privopt.core.solver import Budget
from privopt.problems.local_information_privacy.layers import Cells, Layers, least_layer_cost, stacked
from privopt.problems.robust_reading import SetReader
from privopt.solvers.local_information_privacy.cuts.descents import Allowed, Descents, Level
from privopt.solvers.local_information_privacy.cuts.layered import Layered
from privopt.solvers.local_information_privacy.cuts.layers import LayerTree
from privopt.solvers.local_information_privacy.cuts.mixtures import OverSet
from privopt.solvers.local_information_privacy.cuts.programs import Programs, Solved, lines

COUNTS = np.array([[60, 20, 30, 40, 25], [20, 50, 45, 10, 35], [30, 30, 10, 60, 20]])
SIDES: list[dict[str, Any]] = [
    {"epsilon": 0.8},
    {"upper": 0.5},
    {"lower": 0.7},
    {"epsilon": 1.5, "notion": "ldp"},
]


def over(**sides: Any) -> tuple[po.LocalInformationPrivacy, Layers]:
    problem = po.LocalInformationPrivacy(po.JointAmbiguity.from_counts(COUNTS, 0.9), **sides)
    assert problem.ambiguity is not None
    layers = Layers.of(problem, problem.ambiguity)
    assert layers is not None
    return problem, layers


def _allowed(problem: po.LocalInformationPrivacy, rng: np.random.Generator) -> np.ndarray:
    """m = v / P(w) of a posterior that keeps the bounds at every joint of the set."""
    p = problem.observation.p_w
    levels = (
        rng.choice([0.0, 0.5, 1.0, 4.0], len(p)) + 1e-3
        if rng.random() < 0.5
        else rng.exponential(1.0, len(p)) ** 2
    )
    m = levels / (p @ levels)
    assert problem.ambiguity is not None
    upper, lower = (problem.budget if problem.notion == "ldp" else problem.upper), problem.lower
    spread = SetReader.of(problem.ambiguity).spread(m[:, None], problem.notion)
    share = float(spread.shares(np.ones(1), (upper, lower))[0])
    return np.asarray(share * m + 1.0 - share)


def _around(m: np.ndarray, layers: Layers, rng: np.random.Generator) -> Cells:
    """A box of d, c, u, a, b and m that holds a posterior."""
    p, order = layers.p.mid, np.argsort(m)
    mass = np.cumsum(p[order])
    room = rng.uniform(0.0, 0.5, len(m)) * rng.integers(0, 2, len(m))
    ends = []
    for share in (layers.theta, 0.5, 1 - layers.theta):
        at = m[order][min(int(np.searchsorted(mass, share)), len(m) - 1)]
        off = rng.uniform(0.0, 0.3, 2) * rng.integers(0, 2, 2)
        ends.append((np.array([max(0.0, at - off[0])]), np.array([at + off[1]])))
    d, c, u = ends
    sides = []
    for least in (layers.left.mid, layers.total.mid - layers.left.mid):
        at = [
            min(t for t in (0.0, *m) if width @ (m > t) <= r)
            for width, r in zip(layers.width.mid, least, strict=True)
        ]
        off = rng.uniform(0.0, 0.3, (2, len(at))) * rng.integers(0, 2, (2, len(at)))
        sides.append((np.maximum(at - off[0], 0.0)[None], (at + off[1])[None]))
    return stacked([Cells(d, c, u, sides[0], sides[1], np.maximum(m - room, 0.0)[None], (m + room)[None])])


@pytest.mark.parametrize("sides", SIDES)
def test_no_allowed_posterior_costs_less_than_a_leaf_promises(sides: dict[str, Any]) -> None:
    problem, layers = over(**sides)
    rng = np.random.default_rng(3)
    p, count = layers.p.mid, layers.count
    closest = math.inf
    for _ in range(150):
        m = _allowed(problem, rng)
        prices = rng.normal(1.0, 1.0, len(p))
        full = rng.exponential(0.3, (1, count)) * (rng.random((1, count)) < 0.3)
        bound = layers.least_costs(prices, _around(m, layers, rng), full, rng.normal(size=1))
        v = p * m
        cost = float(-(v * np.log(v)).sum() - prices @ v)
        assert bound.lower[0] <= cost + 1e-12
        closest = min(closest, cost - float(bound.upper[0]))
    assert closest < 0.5  # a vacuous promise would pass as well


def _vertices(low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """All vertices of the distributions between two ends: every entry but one is at an end."""
    found = []
    for free in range(len(low)):
        for sides in itertools.product((0, 1), repeat=len(low)):
            row = np.where(sides, high, low)
            row[free] = 1.0 - np.delete(row, free).sum()
            if low[free] - 1e-12 <= row[free] <= high[free] + 1e-12:
                found.append(row)
    return np.array(found)


def test_lines_of_layers_are_beside_the_extremes_over_all_vertices() -> None:
    problem, layers = over(epsilon=0.8)
    rows = po.JointAmbiguity.from_counts(COUNTS, 0.9).rows
    corners = [_vertices(*(np.array(end, dtype=float) for end in (row.lower, row.upper))) for row in rows]
    rng = np.random.default_rng(5)
    closest = math.inf
    for _ in range(200):
        m = _allowed(problem, rng)
        cell = _around(m, layers, rng)
        start = cell.ends[0]
        layer = np.clip(m, start[:, None], cell.stop[0][:, None]) - start[:, None]
        length = np.append(np.diff(start), 0.0)
        for s, every in enumerate(corners):
            ends = [
                layers.least.mid[s] @ m
                + constants.mid[0, :, s] @ length
                + slopes[0, :, s] @ (layer @ layers.width.mid[s])
                for constants, slopes in layers.lines(cell)
            ]
            assert ends[0] <= (every @ m).max() + 1e-12
            assert ends[1] >= (every @ m).min() - 1e-12
            closest = min(closest, float((every @ m).max()) - ends[0])
    assert closest < 1e-9  # a box that holds one m only says what it is


@pytest.mark.parametrize("sides", SIDES)
def test_programs_of_boxes_say_in_floats_what_proofs_say(sides: dict[str, Any]) -> None:
    problem, layers = over(**sides)
    rng = np.random.default_rng(7)
    for _ in range(30):
        cell = _around(_allowed(problem, rng), layers, rng)
        for exact, read in zip(layers.lines(cell), lines(layers, cell), strict=True):
            assert np.allclose(exact[0].mid[0], read[0], atol=1e-9)
            assert np.allclose(exact[1][0], read[1], atol=1e-6)
        solved = Programs(layers).solve(cell, prices := rng.normal(1.0, 1.0, len(layers.p.mid)))
        assert isinstance(solved, Solved)
        proved = layers.least_costs(prices, cell, solved.full[None], np.array([solved.nu]))
        assert float(proved.lower[0]) == pytest.approx(solved.value, abs=1e-6)


def test_boxes_of_few_values_are_split_by_the_numbers_of_each() -> None:
    problem, layers = over(epsilon=0.8)
    tree = LayerTree(layers)
    tree.begin(np.log(layers.p.mid.size) * np.ones(layers.p.mid.size), Budget(math.inf, 0))
    first = tree.bound
    for _ in range(40):
        tree.step(Budget(math.inf, 0))
    nodes = tree.root.preorder()
    assert any("a" in node or "b" in node for node in nodes)
    assert first < tree.bound
    assert least_layer_cost(problem, tree.at, nodes) == pytest.approx((tree.bound,) * 2, abs=1e-6)


@pytest.mark.parametrize("sides", SIDES)
def test_posteriors_of_one_level_keep_the_bounds_and_cost_no_less_than_all(sides: dict[str, Any]) -> None:
    problem, layers = over(**sides)
    level, allowed, p = Level(layers), Allowed(layers), layers.p.mid
    rng = np.random.default_rng(2)
    assert problem.ambiguity is not None
    reader = SetReader.of(problem.ambiguity)
    for _ in range(5):
        cost = rng.normal(size=len(p))
        one, best = level.least(cost), allowed.least(cost)
        assert one is not None
        assert best is not None
        assert cost @ best <= cost @ one + 1e-9 <= cost @ p + 2e-9
        low, high = reader.extremes((one / p)[:, None])
        of_bounds = layers.above.mid @ high[:, 0] - layers.below.mid @ low[:, 0]
        assert (of_bounds <= 1e-9).all()


@pytest.mark.parametrize("sides", SIDES[:3])
def test_bounds_at_the_worst_prior_are_those_that_judging_finds_broken(sides: dict[str, Any]) -> None:
    problem, layers = over(**sides)
    assert problem.ambiguity is not None
    mixtures, rng, p = OverSet(problem, problem.ambiguity), np.random.default_rng(4), layers.p.mid
    found = 0
    for _ in range(10):
        v = rng.dirichlet(np.full(len(p), 0.3))
        share = float(mixtures.shares(v[None])[0])
        bounds = mixtures.broken(np.array([v, share * v + (1 - share) * p]))
        assert len(bounds) == (1 if share < 1 else 0)
        for bound in bounds:
            found += 1
            low, high = (ends[:, 0] for ends in mixtures.rows.reader.extremes((v / p)[:, None]))
            assert bound.above @ high > bound.below @ low
    assert found >= 3


def test_rows_that_do_not_vary_in_intervals_have_no_layers() -> None:
    joint = po.JointDistribution.normalised(COUNTS)
    near = po.JointAmbiguity.total_variation(joint, 0.1)
    assert Layers.of(po.LocalInformationPrivacy(near, 1.0), near) is None


def _proof(problem: po.LocalInformationPrivacy, layers: Layers) -> dict[str, Any]:
    tree = LayerTree(layers)
    budget = Budget(math.inf, 0)
    tree.prepare(budget)
    for _ in range(2):
        found = tree.prices(30.0)
        assert found is not None
        tree.begin(found, budget)
        tree.run(budget, -0.05)
    return {"kind": "layers", "pi": tree.at.tolist(), "tree": tree.root.preorder()}


@pytest.mark.long
@pytest.mark.parametrize("sides", SIDES)
def test_the_bound_is_above_the_optimum_and_below_what_is_trivial(sides: dict[str, Any]) -> None:
    problem, layers = over(**sides)
    proved = problem.prove_bound(_proof(problem, layers))
    assert proved is not None
    best = po.solve(problem, "cuts", time_limit=20)
    assert best.status is po.Status.OPTIMAL
    assert best.objective is not None
    assert best.objective <= proved[1]
    wider = po.LocalInformationPrivacy(po.JointAmbiguity.from_counts(COUNTS, 0.999), **sides)
    reached = po.solve(wider, "cuts", time_limit=20).objective
    assert reached is not None
    assert reached <= best.objective + 1e-6 <= proved[1] + 1e-6
    assert proved[1] <= 0.98 * float(po.measures.entropy(problem.observation.p_w))


@pytest.mark.long
def test_a_run_stays_on_its_side_of_the_optimum() -> None:
    problem, layers = over(epsilon=0.8)
    assert problem.ambiguity is not None
    best = po.solve(problem, "cuts", time_limit=20)
    mixtures, begun = OverSet(problem, problem.ambiguity), time.monotonic()
    mixtures.mix(np.eye(len(layers.p.mid)))
    descents = Descents(Allowed(layers), mixtures, 0)
    run = Layered(problem, layers, descents, lambda share: Budget(begun + 15.0 * share, 0))
    assert run.begin() < math.inf
    proved = run.run()
    assert proved is not None
    assert best.objective is not None
    assert best.bound is not None
    checked = problem.prove_bound(proved[1])
    assert checked is not None
    assert checked[1] == pytest.approx(proved[0], abs=1e-9)
    assert best.objective <= proved[0]
    assert mixtures.best is not None
    judged = problem.evaluate(mixtures.best)
    assert judged.leakage <= 0.8 + 1e-9
    assert judged.utility <= best.bound + 1e-9
    assert judged.utility >= 0.95 * best.objective


@pytest.mark.long
@pytest.mark.parametrize("sides", SIDES)
def test_descents_come_near_the_optimum_and_keep_the_bounds_at_every_joint(sides: dict[str, Any]) -> None:
    problem, layers = over(**sides)
    assert problem.ambiguity is not None
    best = po.solve(problem, "cuts", time_limit=20)
    mixtures = OverSet(problem, problem.ambiguity)
    mixtures.mix(np.eye(len(layers.p.mid)))
    Descents(Allowed(layers), mixtures, 0).run(Budget(time.monotonic() + 30.0, 0))
    assert mixtures.best is not None
    assert best.objective is not None
    assert best.bound is not None
    judged = problem.evaluate(mixtures.best)
    assert judged.violation <= 1e-9
    assert 0.97 * best.objective <= judged.utility <= best.bound + 1e-9


@pytest.mark.long
def test_damaged_proofs_prove_nothing_or_less() -> None:
    problem, layers = over(epsilon=0.8)
    proof = _proof(problem, layers)
    proved = problem.prove_bound(proof)
    assert proved is not None
    leaf = next(i for i, node in enumerate(proof["tree"]) if node.get("values"))
    for damage in ({"values": [-1.0]}, {"rows": [999]}, {"nu": math.inf}, {"values": "x"}):
        broken = copy.deepcopy(proof)
        broken["tree"][leaf].update(damage)
        assert problem.prove_bound(broken) is None
    for tree in (
        [],
        proof["tree"][:-1],
        proof["tree"][1:],
        [{"u": -1.0}, proof["tree"][leaf], proof["tree"][leaf]],
    ):
        assert problem.prove_bound({**proof, "tree": tree}) is None
    idle = {"rows": [], "values": [], "nu": 0.0}
    loose = problem.prove_bound({**proof, "tree": [idle]})
    assert loose is not None
    assert loose[1] > proved[1]
    at_one = po.LocalInformationPrivacy(problem.nominal, 0.8)
    assert at_one.prove_bound(proof) is None
