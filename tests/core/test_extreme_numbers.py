"""Numbers at the ends of the floats: what a campaign of hostile problems once made a solver stumble over."""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np
import pytest
from oracles import hostile, hostile_sets

import privopt as po
from privopt.measures.bayesian.chain_sets import prove_chain_set, prove_chain_set_leak

LEAST = 5e-324
FOREIGN = re.compile(r"(?:Error|Exception|Warning)\b|cannot be judged|process of the solver died")


def redaction(
    transition: list[list[float]],
    initial: list[float] | None,
    length: int,
    private: int,
    epsilon: float,
    form: Any,
) -> po.Redaction:
    return po.Redaction(po.MarkovChain(transition, initial=initial), length, private, epsilon, form=form)


def places(epsilon: float) -> po.MetricPrivacy:
    return po.MetricPrivacy(
        po.Metric.euclidean([[0, 0], [1, 0], [0, 2]]), [0.5, 0.25, 0.25], "distance", epsilon
    )


CHANGED = [[0.0, 1.0, 1.0], [1.0, 0.0, 1.0], [1.0, 1.0, 0.0]]
SQUARE = [[0.06, 0.13, 0.31], [0.02, 0.35, 0.13]]
CASES: list[tuple[str, po.Problem[Any]]] = [
    ("branch-and-bound", redaction([[0.33, 0.67], [1.0, 1e-300]], [1.0, 0.0], 4, 1, 1.5, "sequential")),
    ("branch-and-bound", redaction([[1.0, 0.0], [1.0, 1e-310]], [1e-310, 1.0], 2, 1, 1e-300, "sequential")),
    ("branch-and-bound", redaction([[1.0, 0.0], [0.5, 0.5]], [0.2, 0.8], 4, 2, 0.9, "local")),
    ("oracle", redaction([[1e-100, 1.0], [1e-100, 1.0]], None, 3, 2, 745.0, "local")),
    ("optimal", redaction([[1.0, 0.0], [0.5, 0.5]], [1.0, 1e-310], 5, 4, LEAST, "local")),
    ("sequential", redaction([[0.0, 1.0], [1e-100, 1.0]], None, 3, 1, 745.0, "sequential")),
    ("sequential", redaction([[1.0, 0.0], [0.0, 1.0]], [0.36, 0.64], 3, 1, math.inf, "sequential")),
    ("planar-laplace", places(LEAST)),
    ("planar-laplace", places(1e-300)),
    (
        "direct-lp",
        po.MetricPrivacy(po.Metric.euclidean([[0], [0], [1]]), [0.25, 0.25, 0.5], "distance", math.inf),
    ),
    (
        "soft-clusters",
        po.InformationBottleneck(
            po.JointDistribution([[0.25], [0.25], [0.5]]), trade_off=LEAST, form="stochastic"
        ),
    ),
    (
        "interior-point",
        po.DistortionPrivacy(
            po.JointDistribution(SQUARE), CHANGED, max_leakage=LEAST, leakage="maximal_leakage"
        ),
    ),
    (
        "oracle",
        po.BayesianPrivacy(
            po.MarkovChain([[1e-310, 1.0], [1e-310, 1.0]], initial=[0.75, 0.25]), "count", 300.0, length=3
        ),
    ),
    (
        "laplace-tail",
        po.BayesianPrivacy(po.MarkovChain([[0.0, 1.0], [1e-310, 1.0]]), "count", 0.3, length=5),
    ),
    ("cuts", po.BeliefRelease(po.RowSet.interval([0, 0, 0, 0.9999], [0.5, 1e-9, LEAST, 1]), 1e-300)),
    ("cuts", po.BeliefRelease(po.RowSet.chi2([0.5, 0.25, 0.25, LEAST], 0.5), 0.3)),
    ("markov-published", po.BayesianPrivacy(po.MarkovChain([[0.5, 0.5], [1.0, 1e-310]]), "count", 0.5)),
    (
        "oracle",
        po.BayesianPrivacy(
            po.GaussianModel([[1.0, 0.0], [0.0, 1.0]]), "mean", 1e-300, length=4, clip=(0.0, 1e150)
        ),
    ),
]


@pytest.mark.parametrize(("solver", "problem"), CASES, ids=lambda case: case if isinstance(case, str) else "")
def test_what_comes_is_an_answer_or_a_sentence(solver: str, problem: po.Problem[Any]) -> None:
    solution = po.solve(problem, solver, time_limit=10)
    assert FOREIGN.search(solution.reason) is None
    assert solution.status.ok or solution.status in {po.Status.REFUSED, po.Status.NOT_PRIVATE}
    if solution.certified:
        assert po.verify(problem, solution).ok


@pytest.mark.parametrize("seed", [3000015, 3000135, 3000136, 3000172, 3000244, 3000252, 3000287])
@pytest.mark.filterwarnings("error")
def test_sets_of_distributions_at_the_ends_of_the_floats(seed: int) -> None:
    rng = np.random.default_rng(seed)
    kinds = hostile_sets.kinds()
    problem = hostile_sets.problem(kinds[seed % len(kinds)], rng)()
    solution = po.solve(problem, time_limit=2.0)
    assert not [line for line in (solution.reason, *solution.alternatives) if FOREIGN.search(line)]
    assert solution.status.ok


@pytest.mark.parametrize(("solver", "seed"), [("cuts", 1000272), ("slowest-chain", 1001878)])
@pytest.mark.filterwarnings("error")
def test_rows_and_budgets_beyond_the_floats_are_left_out(solver: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    kinds = hostile.kinds() + hostile_sets.kinds()
    problem = hostile_sets.problem(kinds[seed % len(kinds)], rng)()
    solution = po.solve(problem, solver, time_limit=4.0)
    assert solution.status.ok
    assert po.verify(problem, solution).ok
    assert solution.bound is not None
    assert solution.objective is not None
    assert solution.bound >= solution.objective


@pytest.mark.parametrize(
    "belief",
    [
        po.RowSet.interval([0, 0, 0, 0.9999], [0.5, 1e-9, LEAST, 1]),
        po.RowSet.chi2([0.5, 0.25, 0.25, LEAST], 0.5),
    ],
    ids=["interval", "chi2"],
)
@pytest.mark.filterwarnings("error")
def test_beliefs_over_letters_too_rare_for_floats_are_refused(belief: po.RowSet) -> None:
    solution = po.solve(po.BeliefRelease(belief, 0.3), "cuts")
    assert solution.status is po.Status.REFUSED
    assert "a probability below 1e-290" in solution.reason


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("stays", [0.0, 1e-310, 0.5])
def test_tails_are_refused_only_where_a_state_makes_the_other_more_likely(stays: float) -> None:
    for back in (1e-310, 0.25):
        chain = po.MarkovChain([[stays, 1.0 - stays], [back, 1.0 - back]])
        known = po.candidates(po.BayesianPrivacy(chain, "count", 0.3, length=5))
        refusal = next(c.refusal for c in known if c.name == "laplace-tail")
        assert (refusal is None) == (stays >= back), refusal


@pytest.mark.parametrize("level", [300.0, 450.0, 499.0])
def test_levels_whose_ratios_leave_the_floats_are_bounded_by_the_chain(level: float) -> None:
    rows = [po.RowSet.interval([0.75, 0.15], [0.85, 0.25]), po.RowSet.interval([0.25, 0.65], [0.35, 0.75])]
    near = po.ChainAmbiguity(rows, rows, po.RowSet.all(2), nominal=po.MarkovChain([[0.8, 0.2], [0.3, 0.7]]))
    proved, least = prove_chain_set(near, level), prove_chain_set_leak(near, level)
    assert level <= least <= proved
    assert proved <= level + 4 * math.log(0.85 / 0.15)
