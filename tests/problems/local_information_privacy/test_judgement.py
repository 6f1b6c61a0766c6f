"""How the problem of local information privacy judges: readings, certificates, repair, bounds, argument validation."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest
from scipy.optimize import linprog

import privopt as po
from privopt.problems.local_information_privacy.data import posterior_rows
from privopt.problems.local_information_privacy.examples import lecture_joint
from privopt.solvers.local_information_privacy.columns.program import Pricing, phi

JOINT = po.JointDistribution.normalised([[5, 2, 1], [1, 3, 4]], ["ill", "well"], ["a", "b", "c"])


def random_case(rng: np.random.Generator) -> tuple[po.JointDistribution, po.Channel]:
    s, x, y = rng.integers(2, 5, size=3)
    joint = po.JointDistribution.normalised(rng.integers(1, 30, size=(s, x)))
    return joint, po.Channel(rng.dirichlet(np.ones(y), size=x))


def by_hand(joint: po.JointDistribution, channel: po.Channel) -> tuple[Any, Any]:
    """Log-lifts and I(X;Y) with 50 digits from the exact integers."""
    with mpmath.workdps(50):
        n = len(joint.useful)
        p = [
            [mpmath.mpf(joint.exact.weights[s * n + x]) / joint.exact.total for x in range(n)]
            for s in range(len(joint.sensitive))
        ]
        w = [[mpmath.mpf(v) / row.total for v in row.weights] for row in channel.exact()]
        ys = range(len(channel.outputs))
        sy = [[sum(p[s][x] * w[x][y] for x in range(n)) for y in ys] for s in range(len(p))]
        ps, py = [sum(row) for row in sy], [sum(sy[s][y] for s in range(len(p))) for y in ys]
        px = [sum(p[s][x] for s in range(len(p))) for x in range(n)]
        lifts = [[mpmath.log(sy[s][y] / (ps[s] * py[y])) for y in ys] for s in range(len(p))]
        info = sum(px[x] * w[x][y] * mpmath.log(w[x][y] / py[y]) for x in range(n) for y in ys if w[x][y])
        return lifts, info


@pytest.mark.parametrize("seed", range(12))
def test_readings_and_certificates_agree_with_fifty_digits(seed: int) -> None:
    joint, channel = random_case(np.random.default_rng(seed))
    lifts, info = by_hand(joint, channel)
    level = max(abs(v) for row in lifts for v in row)
    for budget, ok in ((float(level) * 1.001, True), (float(level) * 0.999, False)):
        problem = po.LocalInformationPrivacy(joint, budget)
        reading, proof = problem.evaluate(channel), problem.certify(channel)
        assert (reading.feasible, proof.ok) == (ok, ok)
        assert abs(reading.leakage - level) <= 1e-12 * max(1, level)
        assert proof.leakage[0] <= level <= proof.leakage[1]
        assert proof.utility[0] - 1e-18 <= info <= proof.utility[1] + 1e-18
        assert abs(reading.utility - info) <= 1e-13
    ldp = po.LocalInformationPrivacy(joint, 0.1, notion="ldp")
    spread = max(max(col) - min(col) for col in zip(*lifts, strict=True))
    assert abs(ldp.evaluate(channel).leakage - spread) <= 1e-12
    lo, hi = ldp.certify(channel).leakage
    assert lo <= spread <= hi


@pytest.mark.parametrize("seed", range(8))
def test_one_sided_and_uneven_bounds_judge_their_own_side(seed: int) -> None:
    joint, channel = random_case(np.random.default_rng(seed))
    lifts, _ = by_hand(joint, channel)
    top, bottom = float(max(max(r) for r in lifts)), float(-min(min(r) for r in lifts))
    assert po.LocalInformationPrivacy(joint, upper=1.0).evaluate(channel).leakage == pytest.approx(
        top, abs=1e-13
    )
    assert po.LocalInformationPrivacy(joint, lower=1.0).evaluate(channel).leakage == pytest.approx(
        bottom, abs=1e-13
    )
    for lower, upper in (
        (bottom * 1.01, top * 1.01),
        (bottom * 1.01, top * 0.99),
        (bottom * 0.99, top * 1.01),
    ):
        problem = po.LocalInformationPrivacy(joint, lower=lower, upper=upper)
        expected = lower >= bottom and upper >= top
        assert problem.evaluate(channel).feasible is expected
        assert problem.certify(channel).ok is expected


@pytest.mark.parametrize("seed", range(8))
def test_delta_counts_every_release(seed: int) -> None:
    joint, channel = random_case(np.random.default_rng(seed))
    released = joint.table @ channel.matrix
    used = np.abs(np.log(released / np.outer(released.sum(axis=1), released.sum(axis=0))))
    for budget in (np.sort(used, axis=None)[:-1] + np.diff(np.sort(used, axis=None)) / 2)[1::3].tolist():
        mass = float(released[used > budget].sum())
        for delta in (mass * 1.001, mass * 0.999):
            problem = po.LocalInformationPrivacy(joint, budget, delta=min(1.0, delta))
            assert problem.evaluate(channel).feasible is (delta > mass)
            assert problem.certify(channel).ok is (delta > mass)
            level = problem.evaluate(channel).leakage
            assert released[used > level + 1e-12].sum() <= delta
            assert level == 0 or released[used > level - 1e-12].sum() > delta


@pytest.mark.parametrize("notion", ["lip", "ldp"])
@pytest.mark.parametrize("budget", [0.0, 1e-8, 1e-3, 0.3])
@pytest.mark.parametrize("delta", [0.0, 0.02])
def test_repair_makes_any_channel_provably_private(notion: str, budget: float, delta: float) -> None:
    rng = np.random.default_rng(1)
    for _ in range(10):
        joint, channel = random_case(rng)
        problem = po.LocalInformationPrivacy(
            joint, budget, notion=notion, delta=delta if notion == "lip" else 0.0
        )
        repaired = problem.repair(channel, 2**-36)
        assert problem.certify(repaired).ok
        assert problem.evaluate(repaired).utility <= problem.evaluate(channel).utility + 1e-15


def test_repair_mixes_by_the_least_weight() -> None:
    """Half a per mille less mixing would break the budget."""
    rng = np.random.default_rng(2)
    for notion in ("lip", "ldp"):
        joint, channel = random_case(rng)
        problem = po.LocalInformationPrivacy(joint, 0.05, notion=notion)
        repaired = problem.repair(channel, 2**-44)
        marginal = (joint.table @ channel.matrix).sum(axis=0)
        keep = (repaired.matrix - marginal) / (channel.matrix - marginal)
        assert np.allclose(keep, keep.ravel()[0])
        less = po.Channel(1.0005 * float(keep.ravel()[0]) * (channel.matrix - marginal) + marginal)
        assert not problem.evaluate(less).feasible


def test_a_channel_that_is_private_by_a_hair_only_is_decided_exactly() -> None:
    """Lifts of 1 + 2^-60 and a budget near it: float readings see nothing, the certificate decides."""
    joint = po.JointDistribution.normalised([[1, 1], [1, 1]])
    tilted = po.JointDistribution.normalised([[2**60 + 1, 2**60 - 1], [2**60 - 1, 2**60 + 1]])
    channel = po.Channel([[1.0, 0.0], [0.0, 1.0]])
    assert po.LocalInformationPrivacy(joint, 0.0).certify(channel).ok
    hair = -math.log1p(-(2.0**-60))
    assert not po.LocalInformationPrivacy(tilted, hair * 0.999).certify(channel).ok
    assert po.LocalInformationPrivacy(tilted, hair * 1.001).certify(channel).ok
    assert not po.LocalInformationPrivacy(tilted, 0.0).certify(channel).ok


def test_zero_cells_forbid_a_lower_bound_and_leave_the_upper_one() -> None:
    joint = po.JointDistribution.normalised([[1, 1], [0, 2]])
    identity = po.Channel([[1.0, 0.0], [0.0, 1.0]])
    assert po.LocalInformationPrivacy(joint, 5.0).evaluate(identity).leakage == math.inf
    assert po.LocalInformationPrivacy(joint, upper=5.0).evaluate(identity).leakage == pytest.approx(
        math.log(2)
    )
    assert po.LocalInformationPrivacy(joint, 50.0, notion="ldp").evaluate(identity).leakage == math.inf
    assert not po.LocalInformationPrivacy(joint, 50.0).certify(identity).ok


def test_symbols_of_probability_zero_do_not_count() -> None:
    joint = po.JointDistribution.normalised([[3, 1, 0], [1, 3, 0], [0, 0, 0]])
    channel = po.Channel([[0.6, 0.4], [0.4, 0.6], [1.0, 0.0]])
    small = po.JointDistribution.normalised([[3, 1], [1, 3]])
    expected = po.LocalInformationPrivacy(small, 1.0).evaluate(po.Channel([[0.6, 0.4], [0.4, 0.6]]))
    reading = po.LocalInformationPrivacy(joint, 1.0).evaluate(channel)
    assert (reading.utility, reading.leakage) == pytest.approx(
        (expected.utility, expected.leakage), abs=1e-15
    )
    certificate = po.LocalInformationPrivacy(joint, 1.0).certify(channel)
    assert not certificate.ok
    assert "symbol 2 of probability 0" in certificate.reason
    assert po.LocalInformationPrivacy(joint, upper=1.0).certify(channel).ok


def test_worst_pair_is_named() -> None:
    problem = po.LocalInformationPrivacy(JOINT, 0.3)
    reading = problem.evaluate(po.Channel(np.eye(3), JOINT.useful, ["A", "B", "C"]))
    assert reading.worst == ("well", "A")
    assert "'A'" in reading.where
    assert problem.certify(po.Channel(np.eye(3), JOINT.useful, ["A", "B", "C"])).worst == ("well", "A")


def test_utilities_of_distortion_and_cost() -> None:
    hamming = 1.0 - np.eye(3)
    channel = po.Channel([[0.8, 0.1, 0.1], [0.2, 0.6, 0.2], [0, 0, 1]], JOINT.useful)
    problem = po.LocalInformationPrivacy(JOINT, 2.0, utility=hamming)
    expected = -sum(JOINT.p_x[x] * channel.matrix[x, y] * hamming[x, y] for x in range(3) for y in range(3))
    assert problem.evaluate(channel).utility == pytest.approx(expected, abs=1e-15)
    lo, hi = problem.certify(channel).utility
    assert lo <= expected <= hi or abs(lo - expected) < 1e-15
    guess = po.LocalInformationPrivacy(JOINT, 2.0, utility=lambda v: 1.0 - float(v.max()))
    right = sum(max(JOINT.p_x[x] * channel.matrix[x, y] for x in range(3)) for y in range(3))
    assert guess.evaluate(channel).utility == pytest.approx(right - 1, abs=1e-15)
    with pytest.raises(po.errors.InvalidProblem, match="cannot be written"):
        guess.to_dict()
    assert guess.fingerprint == guess.fingerprint


@pytest.mark.parametrize(
    ("kwargs", "fragment"),
    [
        ({}, "give a budget"),
        ({"epsilon": 1.0, "lower": 1.0}, "not both"),
        ({"epsilon": -1.0}, "epsilon must be >= 0"),
        ({"lower": -0.1}, "lower must be >= 0"),
        ({"upper": math.nan}, "upper must be a number"),
        ({"epsilon": 1.0, "delta": 1.5}, "delta must be in"),
        ({"epsilon": 1.0, "delta": math.nan}, "delta must be in"),
        ({"epsilon": 1.0, "notion": "dp"}, "notion must be"),
        ({"lower": 1.0, "upper": 2.0, "notion": "ldp"}, "has one budget"),
        ({"epsilon": 1.0, "notion": "ldp", "delta": 0.1}, "delta > 0 is for"),
        ({"epsilon": 1.0, "utility": "accuracy"}, "utility must be"),
        ({"epsilon": 1.0, "utility": [[1, 2]]}, "must have 3 rows"),
        ({"epsilon": 1.0, "utility": [[1, 2], [1, math.inf], [0, 0]]}, r"D\[1, 1\] = inf"),
        ({"epsilon": 1.0, "utility": lambda v: float(v.max())}, "concave"),
        ({"epsilon": 1.0, "utility": lambda v: math.nan}, "finite"),
    ],
)
def test_bad_questions_are_refused(kwargs: dict[str, Any], fragment: str) -> None:
    with pytest.raises(po.errors.InvalidProblem, match=fragment):
        po.LocalInformationPrivacy(JOINT, **kwargs)


def test_a_mechanism_of_other_symbols_is_refused() -> None:
    problem = po.LocalInformationPrivacy(JOINT, 1.0)
    with pytest.raises(po.errors.InvalidMechanism, match="symbols are 3 symbols 'a', 'b', 'c'"):
        problem.evaluate(po.Channel(np.eye(3)))
    with pytest.raises(po.errors.InvalidProblem, match="joint must be a JointDistribution"):
        po.LocalInformationPrivacy(JOINT.table, 1.0)  # type: ignore[arg-type]


# bounds


def optimum(problem: po.LocalInformationPrivacy, step: int = 60) -> float:
    """A lower bound on the best utility: an LP over posteriors on a grid, for three symbols."""
    grid = [(i / step, j / step, (step - i - j) / step) for i in range(step + 1) for j in range(step + 1 - i)]
    posteriors = np.array([*grid, problem.observation.p_w])
    rows = posterior_rows(problem)
    kept = posteriors[(posteriors @ rows.T <= 1e-15).all(axis=1)]
    costs = phi(kept).sum(axis=1)
    optimum = linprog(costs, A_eq=kept.T, b_eq=problem.observation.p_w)
    return float(phi(problem.observation.p_w).sum() - optimum.fun)


@pytest.mark.parametrize("notion", ["lip", "ldp"])
def test_bounds_from_prices_are_above_what_can_be_reached(notion: str) -> None:
    problem = po.LocalInformationPrivacy(JOINT, 0.3, notion=notion)
    reached = optimum(problem)
    rng = np.random.default_rng(0)
    leaf: list[dict[str, object]] = [{"rows": [], "values": []}]
    split: list[dict[str, object]] = [{"k": 1, "t": 0.2}, *leaf, *leaf]
    for _ in range(40):
        prices = rng.normal(1.0, 0.5, size=3).tolist()
        vertices = problem.check_bound(-9.0, {"kind": "vertices", "pi": prices})
        assert vertices is not None
        assert vertices >= reached - 1e-9
        for tree in (leaf, split):
            proved = problem.check_bound(-9.0, {"kind": "pricing", "pi": prices, "tree": tree})
            assert proved is not None
            assert proved >= vertices - 1e-9
    analytic = problem.check_bound(-9.0, {"kind": "analytic"})
    assert analytic is not None
    assert analytic >= reached


@pytest.mark.parametrize(
    "tree",
    [
        [],
        None,
        [{"k": 1, "t": 0.2}, {"rows": [], "values": []}],
        [{"rows": [], "values": []}, {"rows": [], "values": []}],
        [{"rows": [0], "values": [-1.0]}],
        [{"rows": [99], "values": [1.0]}],
        [{"rows": [0, 0], "values": [1.0, 1.0]}],
        [{"rows": [0], "values": [math.nan]}],
        [{"k": 7, "t": 0.2}, {"rows": [], "values": []}, {"rows": [], "values": []}],
        [{"k": 0, "t": 5.0}, {"rows": [], "values": []}, {"rows": [], "values": []}],
        [{"rows": "x", "values": [1.0]}],
        ["leaf"],
    ],
)
def test_a_tree_that_is_no_proof_proves_nothing(tree: object) -> None:
    problem = po.LocalInformationPrivacy(JOINT, 0.3)
    assert problem.check_bound(-9.0, {"kind": "pricing", "pi": [1.0, 1.0, 1.0], "tree": tree}) is None


@pytest.mark.parametrize(
    "dual", [None, {}, {"kind": "oracle"}, {"kind": "linear"}, {"kind": "vertices", "pi": [1]}]
)
def test_a_dual_that_says_nothing_proves_nothing(dual: object) -> None:
    assert po.LocalInformationPrivacy(JOINT, 0.3).check_bound(-9.0, dual) is None


def test_leaf_bounds_are_below_the_cost_everywhere_in_their_box() -> None:
    rng = np.random.default_rng(5)
    problem = po.LocalInformationPrivacy(JOINT, 0.3)
    pricing = Pricing(posterior_rows(problem), None)
    low, high = pricing.first_box()
    for _ in range(50):
        prices, values = rng.normal(size=3), rng.exponential(size=len(pricing.rows))
        full = np.concatenate([values, np.zeros(6)])[None]
        box = low[None], high[None]
        bound = float(pricing.leaf_bounds(prices, box, pricing.secants(*box), full)[0])
        for v in rng.dirichlet(np.ones(3), size=200):
            if (pricing.rows @ v <= 0).all():
                assert (v <= high + 1e-12).all()
                assert phi(v).sum() - prices @ v >= bound


def test_a_linear_bound_is_weak_duality() -> None:
    hamming = 1.0 - np.eye(3)
    problem = po.LocalInformationPrivacy(JOINT, 0.3, utility=hamming)
    rng = np.random.default_rng(4)
    rows = posterior_rows(problem)
    best = max(problem.evaluate(problem.repair(problem.answer(np.eye(3)), 1e-12)).utility, -1.0)
    for _ in range(30):
        multipliers = rng.exponential(0.2, size=(3, len(rows))).tolist()
        proved = problem.check_bound(-9.0, {"kind": "linear", "multipliers": multipliers})
        assert proved is not None
        assert proved >= best
    assert problem.check_bound(-9.0, {"kind": "linear", "multipliers": [[-1.0] * len(rows)] * 3}) is None


def test_the_question_goes_through_a_file(tmp_path: Any) -> None:
    joint = tmp_path / "joint.json"
    joint.write_text(json.dumps(lecture_joint().to_dict()))
    path = tmp_path / "problem.json"
    path.write_text(
        json.dumps({"type": "local_information_privacy", "joint": {"file": "joint.json"}, "epsilon": 1})
    )
    assert po.load_problem(path) == po.LocalInformationPrivacy(lecture_joint(), 1.0)
    path.write_text(
        json.dumps({"type": "local_information_privacy", "joint": {"file": "../joint.json"}, "epsilon": 1})
    )
    with pytest.raises(po.errors.FileRefused, match="in the folder of the problem"):
        po.load_problem(path)


def test_the_lecture_table_measures_as_printed_there() -> None:
    """I(S;X) and the log-lift range of the slides' table, to their rounding."""
    problem = po.LocalInformationPrivacy(lecture_joint(), 1.0)
    identity = problem.answer([[Fraction(int(i == j)) for j in range(9)] for i in range(9)])
    reading = problem.evaluate(identity)
    assert reading.leakage == pytest.approx(2.699431, abs=1e-6)
    assert reading.utility / math.log(2) == pytest.approx(3.109973207, abs=1e-9)


@pytest.mark.filterwarnings("error")
def test_a_lift_beyond_all_floats_is_repaired() -> None:
    joint = po.JointDistribution([[0.5, 0.5 - 1e-289], [1e-289, 0.0]])
    problem = po.LocalInformationPrivacy(joint, lower=0.001, upper=1.0)
    repaired = problem.repair(po.Channel([[1e-300, 1.0], [1.0, 0.0]]), 2.0**-40)
    assert problem.evaluate(repaired).feasible
    assert problem.certify(repaired).ok
