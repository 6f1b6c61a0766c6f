"""Bounds that hold for every joint of a set: read, proved, repaired, stored, and refused in words."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import privopt as po
from privopt.errors import InvalidProblem
from privopt.measures import robust_level

SQUARE = po.JointDistribution([[0.3, 0.2], [0.1, 0.4]])
CHANNEL = po.Channel([[0.75, 0.25], [0.25, 0.75]])


@pytest.mark.parametrize(
    ("radius", "notion", "prior", "ratio"),
    [
        (0, "ldp", 0, Fraction(11, 7)),
        (0, "lip", 0, Fraction(9, 7)),
        (0, "lip", 0.1, Fraction(47, 35)),
        (0, "lip", 1, Fraction(11, 7)),
        (0.1, "ldp", 0, Fraction(2)),
        (0.1, "lip", 0, Fraction(3, 2)),
        (0.1, "lip", 0.1, Fraction(8, 5)),
        (0.1, "lip", 1, Fraction(2)),
        (1, "ldp", 0, Fraction(3)),
        (1, "lip", 0, Fraction(2)),
        (1, "lip", 0.1, Fraction(11, 5)),
        (1, "lip", 1, Fraction(3)),
    ],
)
def test_readings_and_proofs_meet_the_known_levels(
    radius: float, notion: str, prior: float, ratio: Fraction
) -> None:
    near = po.JointAmbiguity.total_variation(SQUARE, radius, prior)
    problem = po.LocalInformationPrivacy(near, 1.0, notion=notion)
    reading, proved = problem.evaluate(CHANNEL), problem.certify(CHANNEL)
    assert reading.leakage == pytest.approx(math.log(ratio), abs=1e-9)
    assert proved.leakage[0] <= math.log(ratio) + 1e-9
    assert proved.leakage[1] >= math.log(ratio) - 1e-9
    assert reading.feasible == proved.ok == (ratio <= math.e)
    assert problem.is_worst(CHANNEL, proved.worst, proved.where)


def random_set(rng: np.random.Generator, kind: str, n_s: int = 3, n_x: int = 5) -> po.JointAmbiguity:
    counts = rng.integers(1, 40, (n_s, n_x))
    joint = po.JointDistribution.normalised(counts)
    if kind == "counts":
        return po.JointAmbiguity.from_counts(counts)
    if kind == "chi2":
        rows = [po.RowSet.chi2(row / row.sum(), float(rng.uniform(0, 0.5))) for row in counts]
        return po.JointAmbiguity(rows, joint.p_s, nominal=joint)
    if kind == "all":
        return po.JointAmbiguity([po.RowSet.all(n_x)] * n_s, po.RowSet.all(n_s), nominal=joint)
    return po.JointAmbiguity.total_variation(joint, float(rng.uniform(0, 0.3)), float(rng.uniform(0, 0.1)))


KINDS = ("total_variation", "counts", "chi2", "all")


@settings(max_examples=12, deadline=None)
@given(
    st.integers(0, 2**32 - 1),
    st.sampled_from(KINDS),
    st.sampled_from([("lip", 0.5, 0.5), ("lip", 0.3, None), ("lip", None, 0.4), ("ldp", 0.5, 0.5)]),
)
def test_floats_agree_with_rationals_and_repair_keeps_the_bounds(
    seed: int, kind: str, sides: tuple[str, float | None, float | None]
) -> None:
    rng = np.random.default_rng(seed)
    near, (notion, lower, upper) = random_set(rng, kind), sides
    problem = po.LocalInformationPrivacy(near, lower=lower, upper=upper, notion=notion)
    channel = po.Channel(rng.dirichlet(np.full(4, 0.5), 5), near.useful)
    low, high = robust_level(problem, channel, near)
    reading, proved = problem.evaluate(channel), problem.certify(channel)
    assert proved.leakage == (low, high)
    assert reading.leakage == pytest.approx(high, rel=1e-9, abs=1e-12)
    assert low <= high or low == high == math.inf
    repaired = problem.check(problem.repair(channel, 2.0**-36)).quantised()
    assert problem.certify(repaired).ok
    assert problem.evaluate(repaired).leakage <= problem.budget * (1 + 1e-12)


@settings(max_examples=6, deadline=None)
@given(st.integers(0, 2**32 - 1), st.sampled_from(("total_variation", "counts")))
def test_members_of_the_set_stay_below(seed: int, kind: str) -> None:
    rng = np.random.default_rng(seed)
    near = random_set(rng, kind)
    channel = po.Channel(rng.dirichlet(np.ones(3), 5), near.useful)
    problem = po.LocalInformationPrivacy(near, 1.0)
    most = problem.certify(channel).leakage[1]
    for _ in range(20):
        prior = near.prior.farthest(rng.integers(0, 100, 3).tolist())
        rows = [row.farthest(rng.integers(0, 100, 5).tolist()) for row in near.rows]
        joint = [
            [Fraction(p, sum(prior)) * Fraction(v, sum(row)) for v in row]
            for p, row in zip(prior, rows, strict=True)
        ]
        member = po.LocalInformationPrivacy(po.JointDistribution.normalised(joint), 1.0)
        if min(prior) > 0:
            assert member.certify(channel).leakage[0] <= most


@settings(max_examples=10, deadline=None)
@given(st.integers(0, 2**32 - 1), st.sampled_from(("lip", "ldp")))
def test_a_set_of_one_joint_is_that_joint(seed: int, notion: str) -> None:
    rng = np.random.default_rng(seed)
    joint = po.JointDistribution.normalised(rng.integers(1, 30, (3, 4)))
    channel = po.Channel(rng.dirichlet(np.ones(3), 4))
    alone = po.LocalInformationPrivacy(joint, 0.5, notion=notion).certify(channel)
    near = po.LocalInformationPrivacy(po.JointAmbiguity.total_variation(joint, 0), 0.5, notion=notion)
    proved = near.certify(channel)
    assert (proved.ok, proved.leakage, proved.utility) == (alone.ok, alone.leakage, alone.utility)


@settings(max_examples=10, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_levels_rise_with_the_radius_up_to_local_differential_privacy_of_the_symbol(seed: int) -> None:
    rng = np.random.default_rng(seed)
    joint = po.JointDistribution.normalised(rng.integers(1, 30, (3, 4)))
    matrix = rng.dirichlet(np.ones(3), 4)
    channel = po.Channel(matrix)
    levels = []
    for radius in (0, Fraction(1, 20), Fraction(1, 5), 1):
        near = po.JointAmbiguity.total_variation(joint, radius, radius)
        levels.append(po.LocalInformationPrivacy(near, 1.0).evaluate(channel).leakage)
    assert levels == sorted(levels)
    of_rows = np.log(matrix.max(axis=0) / matrix.min(axis=0)).max()
    anything = po.JointAmbiguity([po.RowSet.all(4)] * 3, po.RowSet.all(3), nominal=joint)
    for notion in ("lip", "ldp"):
        problem = po.LocalInformationPrivacy(anything, 1.0, notion=notion)
        assert problem.evaluate(channel).leakage == pytest.approx(of_rows, rel=1e-9)
    known = po.JointAmbiguity([po.RowSet.all(4)] * 3, joint.p_s, nominal=joint)
    assert po.LocalInformationPrivacy(known, 1.0).evaluate(channel).leakage <= of_rows + 1e-12


def test_problems_over_sets_are_stored_and_labels_come_from_the_nominal_joint() -> None:
    counted = po.JointAmbiguity.from_counts([[30, 10], [20, 40]], sensitive=["a", "b"], useful=["x", "y"])
    for problem in (
        po.LocalInformationPrivacy(counted, lower=0.5, upper=0.25),
        po.LocalInformationPrivacy(counted, 0.5, notion="ldp", utility=[[0, 1], [1, 0]]),
        po.PointwiseMaximalLeakage(counted, 0.5),
        po.DistortionPrivacy(counted, [[0, 1], [1, 0]], max_leakage=0.5, leakage="ldp"),
    ):
        again = po.problem_from_dict(problem.to_dict())
        assert again == problem
        assert again.fingerprint == problem.fingerprint
        assert problem.robust
        assert problem.with_budget(0.125).budget == 0.125
    assert not po.LocalInformationPrivacy(SQUARE, 1.0).robust
    reading = po.LocalInformationPrivacy(counted, 0.1).evaluate(po.Channel(np.eye(2), ["x", "y"], ["x", "y"]))
    assert reading.worst[0] in ("a", "b")


def test_fingerprints_do_not_depend_on_remembered_columns() -> None:
    import pandas as pd

    frame = pd.DataFrame({"s": ["a", "a", "b", "b", "b"], "x": ["u", "v", "u", "u", "v"]})
    counted = po.JointAmbiguity.from_frame(frame, "s", "x")
    plain = po.JointAmbiguity.from_counts([[1, 1], [2, 1]], sensitive=["a", "b"], useful=["u", "v"])
    of_frame, of_counts = (po.LocalInformationPrivacy(near, 0.5) for near in (counted, plain))
    assert of_frame.fingerprint == of_counts.fingerprint
    assert of_frame.columns is not None


def test_certificates_say_for_which_distributions_they_hold() -> None:
    counted = po.JointAmbiguity.from_counts([[300, 100], [200, 400]], 0.9)
    solution = po.solve(po.LocalInformationPrivacy(counted, 0.3))
    certificate = solution.certificate
    assert certificate is not None
    assert certificate.ok
    assert certificate.confidence == 0.9
    assert certificate.distributions.startswith(
        "from counts of 1000 rows at 90 % confidence, Clopper-Pearson"
    )
    assert any("fresh record" in text for text in certificate.uncovered)
    assert "for every distribution in the set" in certificate.claim
    assert po.verify(po.LocalInformationPrivacy(counted, 0.3), solution).ok
    fixed = po.LocalInformationPrivacy(po.JointAmbiguity.total_variation(SQUARE, 0.125), 0.3)
    told = fixed.certify(fixed.safe())
    assert told.confidence is None
    assert "total variation at most 0.125" in told.distributions
    guesses = po.PointwiseMaximalLeakage(po.JointAmbiguity.total_variation(SQUARE, 0.125), 0.3)
    assert "for every distribution in the set" in guesses.certify(guesses.anchor()).claim


def test_what_has_no_form_over_a_set_is_refused_in_a_sentence() -> None:
    near = po.JointAmbiguity.total_variation(SQUARE, 0.1)
    with pytest.raises(InvalidProblem, match="cost of the posterior"):
        po.LocalInformationPrivacy(near, 0.5, utility=lambda v: float(1 - v.max()))
    with pytest.raises(InvalidProblem, match="contiguous"):
        po.LocalInformationPrivacy(near, 0.5, contiguous=True)
    with pytest.raises(InvalidProblem, match="finite"):
        po.PointwiseMaximalLeakage(near, math.inf)
    with pytest.raises(InvalidProblem, match=r"\.nominal"):
        po.InformationBottleneck(near, max_rate=0.1)  # type: ignore[arg-type]  # what a user may write
    with pytest.raises(InvalidProblem, match="sibson"):
        po.DistortionPrivacy(near, [[0, 1], [1, 0]], max_leakage=0.1, leakage="sibson", alpha=2.0)


def test_symbols_outside_the_whole_set_keep_the_bounds_around_the_output() -> None:
    rows = [po.RowSet.chi2([0.5, 0.5, 0.0], 0.2), po.RowSet.chi2([0.25, 0.75, 0.0], 0.2)]
    joint = po.JointDistribution([[0.25, 0.25, 0.0], [0.125, 0.375, 0.0]])
    problem = po.LocalInformationPrivacy(po.JointAmbiguity(rows, [0.5, 0.5], nominal=joint), 0.5)
    channel = po.Channel([[0.5, 0.5], [0.5, 0.5], [1, 0]])
    assert not problem.certify(channel).ok
    assert problem.certify(problem.check(problem.repair(channel, 2.0**-36)).quantised()).ok
