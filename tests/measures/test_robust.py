"""Leakage over sets of distributions and of repeated releases: known answers, brute force over the sets, invariants."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction as F
from typing import Any

import numpy as np
import pytest

import privopt as po
from privopt.errors import InvalidProblem
from privopt.measures import repeated_leakage, robust_level, robustness_radius
from privopt.problems.local_information_privacy.examples import lecture_joint

SMALL = po.JointDistribution([[F(3, 10), F(1, 5)], [F(1, 10), F(2, 5)]])
ROWS = [[F(3, 5), F(2, 5)], [F(1, 5), F(4, 5)]]
LEANING = po.Channel([[0.75, 0.25], [0.25, 0.75]])
COUNTED = po.JointDistribution.normalised([[12, 40, 5, 9], [30, 8, 22, 7]])


def within(radius: F, prior: Any) -> po.JointAmbiguity:
    return po.JointAmbiguity([po.RowSet.total_variation(q, radius) for q in ROWS], prior, nominal=SMALL)


def ldp(epsilon: float = 1.0) -> po.LocalInformationPrivacy:
    return po.LocalInformationPrivacy(SMALL, epsilon, notion="ldp")


def lip(epsilon: float = 1.0) -> po.LocalInformationPrivacy:
    return po.LocalInformationPrivacy(SMALL, epsilon)


@pytest.mark.parametrize(
    ("radius", "expected"),
    [
        (F(0), (F(11, 7), F(9, 7), F(47, 35), F(11, 7))),
        (F(1, 10), (F(2), F(3, 2), F(8, 5), F(2))),
        (F(1), (F(3), F(2), F(11, 5), F(3))),
    ],
)
def test_rows_in_a_ball_and_priors_from_one_point_to_all(radius: F, expected: tuple[F, ...]) -> None:
    half = [F(1, 2), F(1, 2)]
    near = po.RowSet.interval([F(2, 5), F(2, 5)], [F(3, 5), F(3, 5)])
    levels = (
        robust_level(ldp(), LEANING, within(radius, half)),
        robust_level(lip(), LEANING, within(radius, half)),
        robust_level(lip(), LEANING, within(radius, near)),
        robust_level(lip(), LEANING, within(radius, po.RowSet.all(2))),
    )
    for (low, high), exact in zip(levels, expected, strict=True):
        assert low <= math.log(exact) * (1 + 1e-15)
        assert high >= math.log(exact) * (1 - 1e-15)
        assert high - low < 1e-14


def members(rng: np.random.Generator, near: po.JointAmbiguity, count: int) -> list[np.ndarray]:
    """Joints of the set: its rows and priors pushed to random ends, and mixed."""

    def row(one: po.RowSet) -> np.ndarray:
        values = [int(v) for v in rng.integers(-50, 50, one.size)]
        end = np.array([float(F(w, one.denominator)) for w in one.farthest(values)])
        other = np.array([float(F(w, one.denominator)) for w in one.farthest([-v for v in values])])
        share = rng.choice([0.0, 1.0, rng.random()])
        return np.asarray(share * end + (1 - share) * other)

    return [row(near.prior)[:, None] * np.array([row(one) for one in near.rows]) for _ in range(count)]


SETS = {
    "total variation": po.JointAmbiguity.total_variation(COUNTED, F(1, 10), F(1, 20)),
    "joint": po.JointAmbiguity.joint_total_variation(COUNTED, F(1, 50)),
    "counts": po.JointAmbiguity.from_counts([[12, 40, 5, 9], [30, 8, 22, 7]]),
    "weissman": po.JointAmbiguity.from_counts([[120, 400, 50, 90], [300, 80, 220, 70]], method="weissman"),
    "chi-squared": po.JointAmbiguity(
        [
            po.RowSet.chi2([F(k, 66) for k in (12, 40, 5, 9)], 0.3),
            po.RowSet.chi2([F(k, 67) for k in (30, 8, 22, 7)], 0.2),
        ],
        po.RowSet.chi2([F(66, 133), F(67, 133)], 0.1),
        nominal=COUNTED,
    ),
}


@pytest.mark.parametrize("name", SETS)
@pytest.mark.parametrize("notion", ["lip", "ldp"])
def test_no_member_of_a_set_leaks_more_and_some_come_near(name: str, notion: str) -> None:
    rng, near = np.random.default_rng(5), SETS[name]
    channel = po.Channel(rng.dirichlet(np.ones(3), 4))
    problem = po.LocalInformationPrivacy(COUNTED, 1.0, notion=notion)
    low, high = robust_level(problem, channel, near)
    assert high - low < 1e-9
    levels = []
    for table in members(rng, near, 400):
        lifts = (table @ channel.matrix) / table.sum(axis=1)[:, None]
        if notion == "ldp":
            levels.append(float(np.log(lifts.max(axis=0) / lifts.min(axis=0)).max()))
        else:
            levels.append(float(np.abs(np.log(lifts / (table.sum(axis=0) @ channel.matrix))).max()))
    assert max(levels) <= high + 1e-9
    assert max(levels) >= 0.7 * high


@pytest.mark.parametrize("seed", range(3))
def test_a_point_is_the_reading_of_today_and_all_is_local_differential_privacy(seed: int) -> None:
    rng = np.random.default_rng(seed)
    channel = po.Channel(rng.dirichlet(np.ones(3), 4))
    point = po.JointAmbiguity.total_variation(COUNTED, 0)
    everything = po.JointAmbiguity([po.RowSet.all(4)] * 2, po.RowSet.all(2), nominal=COUNTED)
    fixed = po.JointAmbiguity(
        [po.RowSet.all(4)] * 2, [F(1, 2), F(1, 2)], nominal=po.JointDistribution([[F(1, 8)] * 4] * 2)
    )
    for problem in (
        po.LocalInformationPrivacy(COUNTED, 1.0),
        po.LocalInformationPrivacy(COUNTED, 1.0, notion="ldp"),
        po.LocalInformationPrivacy(COUNTED, upper=1.0),
        po.PointwiseMaximalLeakage(COUNTED, 1.0),
        po.DistortionPrivacy(COUNTED, 1 - np.eye(4)[:, :3], max_leakage=1.0, leakage="lip"),
    ):
        low, high = robust_level(problem, channel, point)
        assert (low + high) / 2 == pytest.approx(problem.evaluate(problem.check(channel)).leakage, abs=1e-12)
    of_x = po.measures.local_differential_privacy(channel)
    assert robust_level(po.LocalInformationPrivacy(COUNTED, 1.0), channel, everything)[1] == pytest.approx(
        of_x, abs=1e-12
    )
    assert robust_level(po.LocalInformationPrivacy(COUNTED, 1.0), channel, fixed)[1] < of_x


def test_the_level_grows_with_the_radius_and_an_inner_set_never_exceeds_an_outer_one() -> None:
    problem = po.LocalInformationPrivacy(COUNTED, 1.0)
    channel = po.Channel(np.random.default_rng(2).dirichlet(np.ones(3), 4))
    radii = [F(0), F(1, 100), F(1, 20), F(1, 5), F(1)]
    levels = [robust_level(problem, channel, po.JointAmbiguity.total_variation(COUNTED, r)) for r in radii]
    assert levels == sorted(levels)
    joint = robust_level(problem, channel, po.JointAmbiguity.joint_total_variation(COUNTED, F(1, 20)))
    rows = robust_level(problem, channel, po.JointAmbiguity.total_variation(COUNTED, F(1, 20)))
    assert rows[1] <= joint[1]


@pytest.mark.parametrize(
    ("radius", "level"), [(F(1, 50), 0.546544), (F(1, 20), 0.693147), (F(1, 10), 0.955511)]
)
def test_the_outer_set_of_a_ball_of_joints(radius: F, level: float) -> None:
    low, high = robust_level(ldp(), LEANING, po.JointAmbiguity.joint_total_variation(SMALL, radius))
    assert low == pytest.approx(level, abs=6e-7)
    assert high == pytest.approx(level, abs=6e-7)


def test_the_optimum_of_one_table_leaks_more_near_it() -> None:
    problem = po.LocalInformationPrivacy(lecture_joint(), 1.0)
    channel = po.solve(problem, "column-generation", time_limit=20).mechanism
    near, far = (
        po.JointAmbiguity.total_variation(lecture_joint(), radius) for radius in (F(1, 1000), F(1, 20))
    )
    assert robust_level(problem, channel, near)[1] == pytest.approx(1.046836, abs=2e-6)
    assert robust_level(problem, channel, far)[0] > 31  # infinite where a release has an exact 0


def test_maximal_leakage_over_a_set_is_bracketed() -> None:
    problem = po.DistortionPrivacy(SMALL, 1 - np.eye(2), max_leakage=1.0, leakage="maximal_leakage")
    exact = [
        robust_level(problem, LEANING, within(r, [F(1, 2), F(1, 2)]))[1]
        for r in (F(0), F(1, 20), F(1, 10), F(1))
    ]
    assert exact == pytest.approx([0.182322, 0.223144, 0.262364, math.log(1.5)], abs=1e-6)


def test_a_radius_brackets_where_the_level_is_crossed() -> None:
    problem = lip()
    for level in (0.3, 0.4, 0.6):
        low, high = robustness_radius(problem, LEANING, level)
        assert 0 <= high - low < 1e-9
        assert robust_level(problem, LEANING, problem.neighbourhood(F(low), "total_variation"))[1] <= level
        assert robust_level(problem, LEANING, problem.neighbourhood(F(high), "total_variation"))[0] > level
    assert robustness_radius(problem, LEANING, 0.1) == (0.0, 0.0)
    assert robustness_radius(problem, LEANING, 5.0) == (1.0, 1.0)
    assert robustness_radius(problem, LEANING, 5.0, "chi2")[0] > 1


def test_what_has_no_robust_form_says_so() -> None:
    channel = po.Channel(np.eye(4), COUNTED.useful)
    near = po.JointAmbiguity.total_variation(COUNTED, F(1, 10))
    with pytest.raises(InvalidProblem, match="one bound on all lifts"):
        robust_level(po.LocalInformationPrivacy(COUNTED, 1.0, notion="chi2"), channel, near)
    with pytest.raises(InvalidProblem, match="use PrivacyFunnel"):
        robust_level(po.InformationBottleneck(COUNTED, max_rate=0.1), channel, near)
    with pytest.raises(InvalidProblem, match="other symbols"):
        robust_level(lip(), LEANING, near)
    with pytest.raises(InvalidProblem, match="kind is 'ball'"):
        robustness_radius(lip(), LEANING, 1.0, "ball")


def test_a_second_release_breaks_what_one_keeps() -> None:
    for epsilon, once in ((0.0, 0.0), (0.1, 0.1), (0.3, 0.3)):
        problem = po.LocalInformationPrivacy(COUNTED, epsilon)
        mechanism = po.solve(problem).mechanism
        assert mechanism is not None
        assert repeated_leakage(problem, mechanism, 1) == pytest.approx(once, abs=1e-6)
        assert repeated_leakage(problem, mechanism, 2) == pytest.approx(1.1061, abs=1e-4)
        assert repeated_leakage(problem, mechanism, math.inf) == pytest.approx(1.1061, abs=1e-4)


@pytest.mark.parametrize("times", [1, 2, 3])
def test_counts_tell_as_much_as_whole_sequences(times: int) -> None:
    channel = np.random.default_rng(times).dirichlet(np.ones(3), 4)
    sequences = np.array(
        [[math.prod(row[list(y)]) for y in itertools.product(range(3), repeat=times)] for row in channel]
    )
    for problem in (po.LocalInformationPrivacy(COUNTED, 1.0), po.PrivacyFunnel(COUNTED, max_leakage=0.1)):
        whole = problem.evaluate(problem.check(po.Channel(sequences))).leakage
        assert repeated_leakage(problem, po.Channel(channel), times) == pytest.approx(whole, abs=1e-12)


@pytest.mark.parametrize(
    ("alpha", "beta", "length", "epsilon", "expected"),
    [(0.01, 0.8, 5, 1.0, (2.493, 2.827)), (0.02, 0.3, 6, 0.5, (1.205, 1.705))],
)
def test_repeated_redactions(
    alpha: float, beta: float, length: int, epsilon: float, expected: tuple[float, float]
) -> None:
    chain = po.MarkovChain([[1 - alpha, alpha], [beta, 1 - beta]])
    problem = po.Redaction(chain, length, 0, epsilon)
    mechanism = po.solve(problem).mechanism
    assert mechanism is not None
    read = [repeated_leakage(problem, mechanism, times) for times in (2, 3)]
    assert read == pytest.approx(expected, abs=1e-3)
    assert read[1] <= repeated_leakage(problem, mechanism, math.inf)


def test_mergings_survive_repetition_and_many_counts_are_refused() -> None:
    problem = po.LocalInformationPrivacy(COUNTED, 3.0)
    merging = po.Merging([[0, 3], [1, 2]], COUNTED.useful)
    once = problem.evaluate(merging).leakage
    assert [repeated_leakage(problem, merging, times) for times in (1, 2, math.inf)] == [once] * 3
    wide = po.Channel(np.random.default_rng(0).dirichlet(np.ones(9), 4))
    with pytest.raises(InvalidProblem, match="possible counts"):
        repeated_leakage(problem, wide, 40)
    with pytest.raises(InvalidProblem, match="whole number"):
        repeated_leakage(problem, merging, 1.5)


@pytest.mark.parametrize("seed", range(3))
def test_beliefs_vary_in_a_set_of_rows(seed: int) -> None:
    """Against a grid of beliefs; a letter of belief 0 has its lift too, as somebody may have it."""
    rng = np.random.default_rng(seed)
    channel = po.Channel(rng.dirichlet(np.ones(2), 2))
    problem = po.BeliefRelease([0.7, 0.3], 1.0)
    low, high = robust_level(problem, channel, po.RowSet.interval([F(3, 5), F(1, 5)], [F(4, 5), F(2, 5)]))
    levels = []
    for share in np.linspace(0.2, 0.4, 201):
        outputs = np.array([1 - share, share]) @ channel.matrix
        levels.append(float(np.abs(np.log(channel.matrix / outputs)).max()))
    assert max(levels) == pytest.approx(high, abs=1e-12)
    assert high - low < 1e-12
    point = robust_level(problem, channel, problem.neighbourhood(F(0), "total_variation"))
    assert sum(point) / 2 == pytest.approx(problem.evaluate(channel).leakage, abs=1e-12)
    assert repeated_leakage(problem, channel, 1) == pytest.approx(
        problem.evaluate(channel).leakage, abs=1e-12
    )
    with pytest.raises(InvalidProblem, match="a RowSet over the 2 letters"):
        robust_level(problem, channel, po.RowSet.all(3))
