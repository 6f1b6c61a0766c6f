"""Column generation against every vertex of the polytope, and its proofs against tampering."""

from __future__ import annotations

import copy
import json
import math
import time
from typing import Any

import cdd
import numpy as np
import pytest
from instances.few import few
from scipy.optimize import linprog

import privopt as po
from privopt.arrays import Floats
from privopt.core.solver import Budget
from privopt.mechanisms import Channel
from privopt.models import JointDistribution, ObservedJoint
from privopt.problems.local_information_privacy.problem import LocalInformationPrivacy
from privopt.solvers.common.mixing import Restricted
from privopt.solvers.local_information_privacy.column_generation import ColumnGeneration
from privopt.solvers.local_information_privacy.columns import generation, pricing
from privopt.solvers.local_information_privacy.columns.pricing import Search, prove, written
from privopt.solvers.local_information_privacy.columns.program import BoxLP, pricing_of
from privopt.solvers.local_information_privacy.columns.walks import Edges, Walks


def solved(problem: LocalInformationPrivacy, seconds: float = 20.0, seed: int = 0) -> po.Proposal:
    return ColumnGeneration().run(problem, Budget(time.monotonic() + seconds, seed))


def halfspaces(problem: LocalInformationPrivacy) -> Floats:
    """Rows b - a . v >= 0 written from the definitions, for the observations of positive probability."""
    seen = problem.observation
    used = seen.support
    posteriors, prior = seen.s_given_w[:, used], seen.p_s
    posteriors, prior = posteriors[prior > 0], prior[prior > 0]
    rows: list[Floats] = []
    if problem.notion == "ldp":
        lifts, e = posteriors / prior[:, None], math.exp(problem.budget)
        n = len(lifts)
        rows = [
            np.concatenate([[0.0], e * lifts[t] - lifts[s]]) for s in range(n) for t in range(n) if s != t
        ]
    else:
        for row, p in zip(posteriors, prior, strict=True):
            if problem.upper < math.inf:
                rows.append(np.concatenate([[math.exp(problem.upper) * p], -row]))
            if problem.lower < math.inf:
                rows.append(np.concatenate([[-math.exp(-problem.lower) * p], row]))
    return np.array(rows).reshape(-1, len(used) + 1)


def entropies(posteriors: Floats) -> Floats:
    return np.asarray(-(posteriors * np.log(np.where(posteriors > 0, posteriors, 1.0))).sum(axis=-1))


def every_vertex(problem: LocalInformationPrivacy) -> Floats:
    """Double description by cddlib."""
    n = len(problem.observation.support)
    plain = np.hstack([np.zeros((n, 1)), np.eye(n)])
    total = np.concatenate([[-1.0], np.ones(n)])
    table = np.vstack([total, plain, halfspaces(problem)])
    matrix = cdd.matrix_from_array(table.tolist(), lin_set=[0], rep_type=cdd.RepType.INEQUALITY)
    generators = cdd.copy_generators(cdd.polyhedron_from_matrix(matrix)).array
    vertices = np.maximum(np.array([row[1:] for row in generators if row[0] == 1]), 0.0)
    return np.asarray(vertices / vertices.sum(axis=1, keepdims=True))


def exact_optimum(problem: LocalInformationPrivacy) -> tuple[float, Floats]:
    """Largest mutual information, by SciPy over every vertex, and its prices."""
    seen = problem.observation
    vertices = every_vertex(problem)
    costs = entropies(vertices @ seen.x_given_w[:, seen.support].T)
    optimum = linprog(costs, A_eq=vertices.T, b_eq=seen.p_w[seen.support], method="highs")
    assert optimum.status == 0, optimum.message
    return float(entropies(seen.p_x)) - float(optimum.fun or 0.0), np.array(optimum.eqlin.marginals)


def random_problem(rng: np.random.Generator) -> LocalInformationPrivacy:
    """Any notion, one-sided and asymmetric bounds, zero cells, symbols of probability zero, other observations."""
    s, x = int(rng.integers(2, 5)), int(rng.integers(2, 8))
    kind = int(rng.integers(6))
    table = rng.random((s, x))
    if rng.random() < 0.3:
        table *= rng.random((s, x)) < 0.8
    if rng.random() < 0.2:
        table[:, 0] = 0.0
    if rng.random() < 0.2:
        table[0] = 0.0
    table[-1, -1] += 0.1
    joint: Any = JointDistribution.normalised(table)
    if kind == 4:
        joint = ObservedJoint.normalised(rng.random((s, 3, x)) * (table > 0)[:, None, :])
    if kind == 5:
        joint = ObservedJoint.full_data(JointDistribution.normalised(rng.random((2, 3))))
    a, b = rng.uniform(0.05, 1.5, size=2)
    if kind == 0:
        return LocalInformationPrivacy(joint, epsilon=a, notion="ldp")
    if kind == 1:
        return LocalInformationPrivacy(joint, upper=a)
    if kind == 2:
        return LocalInformationPrivacy(joint, lower=a)
    if kind == 3:
        return LocalInformationPrivacy(joint, lower=a, upper=b)
    return LocalInformationPrivacy(joint, epsilon=a, notion="ldp" if b > 1 else "lip")


@pytest.mark.parametrize("block", range(10))
def test_it_is_optimal_on_small_random_questions(block: int) -> None:
    rng = np.random.default_rng(block)
    for _ in range(10):
        problem = random_problem(rng)
        optimum, _ = exact_optimum(problem)
        proposal = solved(problem)
        assert isinstance(proposal.mechanism, Channel)
        assert proposal.bound is not None
        assert problem.evaluate(proposal.mechanism).utility == pytest.approx(optimum, abs=5e-7)
        proved = problem.check_bound(proposal.bound, proposal.dual)
        assert proved is not None
        assert optimum - 1e-11 <= proved <= optimum + 5e-7


@pytest.mark.parametrize("block", range(5))
def test_a_proved_bound_is_above_the_optimum_whatever_the_prices(block: int) -> None:
    rng = np.random.default_rng(100 + block)
    for _ in range(10):
        problem = random_problem(rng)
        optimum, prices = exact_optimum(problem)
        for noise in (0.0, 0.01, 1.0):
            made = prove(problem, prices + noise * rng.normal(size=len(prices)), Budget())
            assert made is not None
            proved = problem.check_bound(made[0], made[1])
            assert proved is not None
            assert proved >= optimum - 1e-11
            if noise == 0.0:
                assert proved <= optimum + 5e-7


def instance(s: int, x: int, epsilon: float, seed: int = 0, notion: str = "lip") -> LocalInformationPrivacy:
    table = np.random.default_rng(seed).random((s, x))
    return LocalInformationPrivacy(JointDistribution.normalised(table), epsilon=epsilon, notion=notion)


@pytest.mark.parametrize(
    ("s", "x", "epsilon", "notion"),
    [(2, 25, 0.3, "lip"), (3, 12, 0.3, "lip"), (4, 12, 1.0, "lip"), (6, 9, 0.3, "lip"), (4, 9, 0.5, "ldp")],
)
def test_it_is_optimal_on_middling_questions(s: int, x: int, epsilon: float, notion: str) -> None:
    problem = instance(s, x, epsilon, 7, notion)
    optimum, _ = exact_optimum(problem)
    solution = po.solve(problem, "column-generation", time_limit=30)
    assert solution.status is po.Status.OPTIMAL
    assert solution.certified
    assert solution.utility == pytest.approx(optimum, abs=5e-7)
    assert solution.bound is not None
    assert solution.bound >= optimum - 1e-11


@pytest.mark.parametrize(("s", "x", "epsilon", "seed"), [(3, 40, 0.3, 0), (6, 30, 1.0, 1)])
def test_no_posterior_has_a_negative_entry(s: int, x: int, epsilon: float, seed: int) -> None:
    # HiGHS returned entries of -1e-14 in first columns that stayed in the answer
    problem = instance(s, x, epsilon, seed)
    proposal = solved(problem)
    assert isinstance(proposal.mechanism, Channel)
    proved = problem.check_bound(proposal.bound or -math.inf, proposal.dual)
    assert proved == pytest.approx(problem.evaluate(proposal.mechanism).utility, abs=5e-7)


@pytest.mark.parametrize(
    ("epsilon", "bits"),
    [(0.1, 1.736000500375), (0.3, 2.265587437447), (0.5, 2.404668685441), (1.0, 2.757543035553),
     (2.0, 3.062320248447), (3.0, 3.109973207197)],
)  # fmt: skip
def test_the_lecture_table(epsilon: float, bits: float) -> None:
    lecture = next(e for e in LocalInformationPrivacy.examples() if e.name == "lecture").problem
    solution = po.solve(lecture.with_budget(epsilon), "column-generation", time_limit=30)
    assert solution.utility is not None
    assert solution.utility / math.log(2) == pytest.approx(bits, abs=1e-9)
    assert solution.status is po.Status.OPTIMAL


@pytest.fixture(scope="module")
def proof() -> tuple[LocalInformationPrivacy, float, dict[str, Any]]:
    problem = instance(4, 9, 0.5)
    optimum, prices = exact_optimum(problem)
    made = prove(problem, prices, Budget())
    assert made is not None
    assert len(made[1]["tree"]) > 20  # type: ignore[arg-type]
    return problem, optimum, dict(made[1])


def test_a_proof_survives_a_file(proof: tuple[LocalInformationPrivacy, float, dict[str, Any]]) -> None:
    problem, _, dual = proof
    again = json.loads(json.dumps(dual))
    assert problem.check_bound(-math.inf, again) == problem.check_bound(-math.inf, dual)


def test_any_beginning_of_the_search_is_a_proof() -> None:
    problem = instance(4, 9, 0.3)
    optimum, prices = exact_optimum(problem)
    made = prove(problem, prices, Budget(time.monotonic()))
    assert made is not None
    assert len(made[1]["tree"]) == 1  # type: ignore[arg-type]
    proved = problem.check_bound(*made)
    assert proved is not None
    assert proved > optimum + 0.01


def test_a_proof_with_a_leaf_too_few_or_too_many_is_refused(
    proof: tuple[LocalInformationPrivacy, float, dict[str, Any]],
) -> None:
    problem, _, dual = proof
    for i in range(len(dual["tree"])):
        short, long = copy.deepcopy(dual), copy.deepcopy(dual)
        del short["tree"][i]
        long["tree"].insert(i, {"rows": [], "values": []})
        assert problem.check_bound(-math.inf, short) is None
        assert problem.check_bound(-math.inf, long) is None


@pytest.mark.parametrize("value", [-1e-9, math.nan, math.inf, 1e300, "a", None])
def test_a_multiplier_that_is_not_one_is_refused(
    proof: tuple[LocalInformationPrivacy, float, dict[str, Any]], value: object
) -> None:
    problem, _, dual = proof
    bad = copy.deepcopy(dual)
    leaf = next(node for node in bad["tree"] if node.get("rows"))
    leaf["values"][0] = value
    assert problem.check_bound(-math.inf, bad) is None


@pytest.mark.parametrize("row", [-1, 10_000, 10**30, 1e400])
def test_a_row_that_is_not_one_is_refused(
    proof: tuple[LocalInformationPrivacy, float, dict[str, Any]], row: object
) -> None:
    problem, _, dual = proof
    bad = copy.deepcopy(dual)
    leaf = next(node for node in bad["tree"] if node.get("rows"))
    leaf["rows"][0] = row
    assert problem.check_bound(-math.inf, bad) is None


@pytest.mark.parametrize("changes", few([40, 120], 1))
def test_a_changed_proof_is_refused_or_weaker_but_never_wrong(
    proof: tuple[LocalInformationPrivacy, float, dict[str, Any]], changes: int
) -> None:
    problem, optimum, dual = proof
    rng = np.random.default_rng(0)
    outcomes = set()
    assert sum("enough" in node for node in dual["tree"]) > 10
    for _ in range(changes):
        bad = copy.deepcopy(dual)
        for node in rng.choice(np.array(bad["tree"], dtype=object), size=3):
            if "k" in node:
                node["t"] *= rng.choice([0.0, 0.5, 0.9, 1.1, 2.0])
                node["k"] = int(rng.integers(9)) if rng.random() < 0.3 else node["k"]
            if "enough" in node:
                node["enough"] += rng.choice([-0.1, 0.0, 0.01, 0.1, 1.0])
            if node.get("rows"):
                node["values"] = (np.array(node["values"]) * rng.uniform(0, 2, len(node["values"]))).tolist()
                node["rows"] = rng.permutation(8)[: len(node["rows"])].tolist()
        proved = problem.check_bound(-math.inf, bad)
        outcomes.add(proved is None)
        assert proved is None or proved >= optimum - 1e-11
    assert outcomes == {True, False}


@pytest.mark.parametrize("below", [math.nan, math.inf, "0", None, 10**400, [0.0]])
def test_a_level_of_a_cut_that_is_no_number_is_refused(
    proof: tuple[LocalInformationPrivacy, float, dict[str, Any]], below: object
) -> None:
    problem, _, dual = proof
    bad = copy.deepcopy(dual)
    next(node for node in bad["tree"] if "enough" in node)["enough"] = below
    assert problem.check_bound(-math.inf, bad) is None


def test_multipliers_of_a_cut_are_checked_as_those_of_a_leaf(
    proof: tuple[LocalInformationPrivacy, float, dict[str, Any]],
) -> None:
    problem, _, dual = proof
    for changed in ({"values": [-1.0], "rows": [0]}, {"values": [1.0], "rows": [10_000]}, {"rows": None}):
        bad = copy.deepcopy(dual)
        next(node for node in bad["tree"] if "enough" in node).update(changed)
        assert problem.check_bound(-math.inf, bad) is None


@pytest.mark.parametrize(("secrets", "symbols", "epsilon"), [(3, 12, 0.3), (4, 20, 0.6), (5, 12, 1.0)])
def test_boxes_that_are_cut_down_prove_as_much(
    secrets: int, symbols: int, epsilon: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    problem = instance(secrets, symbols, epsilon)
    columns = generation.Generation(problem, Budget())
    while columns.walk(Budget()):
        pass
    found = []
    for worth in (0.0, 0.9):
        monkeypatch.setattr(pricing, "WORTH", worth)
        search = Search(columns.lp, columns.prices, 1e-8)
        search.run(Budget())
        bound, dual = written(problem, search)
        checked = problem.check_bound(bound, dual)
        assert checked is not None
        assert checked == pytest.approx(bound, abs=1e-10)
        found.append((checked, search.nodes))
    assert found[1][0] == pytest.approx(found[0][0], abs=3e-8)
    assert found[1][1] < found[0][1]


@pytest.mark.parametrize(("secrets", "symbols", "epsilon"), [(3, 12, 0.3), (4, 20, 0.6), (5, 12, 1.0)])
@pytest.mark.parametrize("boxes", [1, 30, 10_000])
def test_a_search_that_begins_from_the_tree_of_another_proves_as_much(
    secrets: int, symbols: int, epsilon: float, boxes: int
) -> None:
    problem = instance(secrets, symbols, epsilon)
    columns = generation.Generation(problem, Budget())
    other = Search(columns.lp, columns.prices, 1e-8)  # at prices before any walk
    other.run(Budget(), boxes=boxes)
    while columns.walk(Budget()):
        pass
    alone, carried = (Search(columns.lp, columns.prices, 1e-8, before) for before in (None, other.root))
    first, taken_over = carried.bound, carried.nodes
    proved = []
    for search in (alone, carried):
        search.run(Budget())
        bound, dual = written(problem, search)
        checked = problem.check_bound(bound, dual)
        assert checked is not None
        assert checked == pytest.approx(bound, abs=1e-10)
        tree = dual["tree"]
        assert isinstance(tree, list)
        assert len(tree) == search.nodes
        proved.append(checked)
    assert proved[1] == pytest.approx(proved[0], abs=3e-8)
    assert first <= alone.bound + 1e-9
    assert 0 < taken_over <= other.nodes


def test_no_prices_overflow_into_a_proof() -> None:
    problem = instance(3, 4, 0.5)
    dual = {"kind": "pricing", "pi": [1e308, -1e308, 1e308, 0.0], "tree": [{"rows": [], "values": []}]}
    assert problem.check_bound(-math.inf, dual) is None


def test_the_same_seed_gives_the_same_answer() -> None:
    problem = instance(5, 12, 0.5)
    one, two = solved(problem, seed=3), solved(problem, seed=3)
    assert one.mechanism == two.mechanism
    assert one.dual == two.dual


@pytest.mark.parametrize("seconds", [0.0, 0.5, 2.0])
def test_a_deadline_leaves_a_feasible_answer_and_an_honest_gap(seconds: float) -> None:
    problem = instance(12, 60, 0.5)
    begun = time.monotonic()
    proposal = solved(problem, seconds)
    assert time.monotonic() - begun < seconds + 15.0
    assert isinstance(proposal.mechanism, Channel)
    reading = problem.evaluate(problem.repair(proposal.mechanism, 2.0**-44))
    proved = problem.check_bound(proposal.bound or -math.inf, proposal.dual)
    assert proved is not None
    assert reading.feasible
    assert proved > reading.utility
    assert len(json.dumps(proposal.dual)) < 5_000_000


@pytest.mark.long
@pytest.mark.parametrize("epsilon", [1e-3, 1e-5, 1e-6])
def test_thin_slabs_never_prove_too_little(epsilon: float) -> None:
    rng = np.random.default_rng(5)
    for _ in range(4):
        counts = rng.integers(1, 20, size=(4, 8))
        problem = LocalInformationPrivacy(JointDistribution.normalised(counts), epsilon=epsilon)
        solution = po.solve(problem, "column-generation", time_limit=10)
        reference = po.solve(problem, "vertices-systems", time_limit=10)
        assert solution.bound is not None
        assert reference.utility is not None
        assert solution.bound >= reference.utility - 1e-10
        assert solution.utility == pytest.approx(reference.utility, abs=1e-6)


def test_a_delta_keeps_the_answer_and_only_the_analytic_bound() -> None:
    table = np.random.default_rng(2).random((3, 6))
    joint = JointDistribution.normalised(table)
    plain = solved(LocalInformationPrivacy(joint, epsilon=0.4))
    relaxed = LocalInformationPrivacy(joint, epsilon=0.4, delta=0.02)
    proposal = solved(relaxed)
    assert proposal.mechanism == plain.mechanism
    assert proposal.dual == {"kind": "analytic"}
    assert prove(relaxed, np.zeros(6), Budget()) is None


def test_it_refuses_other_utilities_and_perfect_privacy() -> None:
    joint = JointDistribution.normalised([[1, 2, 3], [3, 1, 1]])
    solver = ColumnGeneration()
    assert solver.refuse(LocalInformationPrivacy(joint, epsilon=1.0)) is None
    for other in (
        LocalInformationPrivacy(joint, epsilon=1.0, utility=np.eye(3)),
        LocalInformationPrivacy(joint, epsilon=1.0, utility=lambda v: 1.0 - float(v.max())),
        LocalInformationPrivacy(joint, epsilon=0.0),
    ):
        assert solver.refuse(other) is not None


def test_the_master_program_keeps_its_optimum_as_columns_come() -> None:
    rng = np.random.default_rng(1)
    p = rng.dirichlet(np.ones(6))
    columns = np.vstack([p, rng.dirichlet(np.full(6, 0.2), size=60)])
    costs = rng.random(61)
    master = Restricted(p)
    for first in range(0, 61, 10):
        master.add(columns[first : first + 10], costs[first : first + 10])
        weights, prices, value = master.solve()
        count = min(first + 10, 61)
        expected = linprog(costs[:count], A_eq=columns[:count].T, b_eq=p, method="highs")
        assert value == pytest.approx(expected.fun, abs=1e-9)
        assert weights @ columns[:count] == pytest.approx(p, abs=1e-9)
        assert (costs[:count] - columns[:count] @ prices).min() >= -1e-9


@pytest.mark.parametrize("observed", [False, True])
def test_walks_stay_on_vertices_and_know_their_cost(observed: bool) -> None:
    rng = np.random.default_rng(4)
    joint: Any = JointDistribution.normalised(rng.random((4, 9)))
    if observed:
        joint = ObservedJoint.normalised(rng.random((4, 5, 9)))
    problem = LocalInformationPrivacy(joint, epsilon=0.4 if not observed else 0.1)
    vertices = every_vertex(problem)
    prices = rng.normal(size=9)
    pricing = pricing_of(problem)
    lp, edges = BoxLP(pricing), Edges.of(pricing)
    lp.solve(rng.normal(size=9))
    basis = lp.basis()
    assert basis is not None
    walks = Walks.of(edges, np.array([basis] * 20))
    walks.wander(rng, 8)
    visited = walks.descend(prices, Budget(), stop=-np.inf)
    points, good = edges.points(np.array([b for _, b in visited]))
    assert good.all()
    for v, (cost, _) in zip(points, visited, strict=True):
        assert np.abs(vertices - v).max(axis=1).min() < 1e-9
        expected = float(entropies(problem.observation.x_given_w @ v) - prices @ v)
        assert cost == pytest.approx(expected, abs=1e-9)
    assert len({v.round(9).tobytes() for v in points}) > 3


def test_bases_solved_together_are_those_solved_alone() -> None:
    rng = np.random.default_rng(0)
    joint = JointDistribution.normalised(rng.random((3, 8)))
    edges = Edges.of(pricing_of(LocalInformationPrivacy(joint, epsilon=0.4)))
    m, columns = len(edges.real), edges.size
    rows = np.hstack([edges.real, np.eye(m)[:, : m - 1]])
    bases = np.array([rng.choice(columns, m, replace=False) for _ in range(300)])
    regular = np.array([np.linalg.cond(rows[:, basis]) < 1e8 for basis in bases])
    values = edges.values(bases)
    assert 50 < regular.sum() < 300
    alone = [np.linalg.solve(rows[:, basis], np.eye(m)[-1]) for basis in bases[regular]]
    assert values[regular] == pytest.approx(np.array(alone), rel=1e-6, abs=1e-9)
    assert edges.values(bases[regular]) == pytest.approx(np.array(alone), rel=1e-6, abs=1e-9)


def test_a_mixture_of_many_vertices_enters_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(generation, "PEELS", 1)
    # Released as it is, the secret needs about as many posteriors as it has values: without some of them nothing is said.
    table = np.diag(np.random.default_rng(1).dirichlet(np.ones(75)))
    joint = po.JointDistribution.normalised(table + 1e-9)
    problem = po.LocalInformationPrivacy(joint, upper=0.5)
    columns = generation.Generation(problem, Budget())
    entropy = -float(columns.p @ np.log(columns.p))
    assert entropy - columns.value > 0.4
