"""Averages that hold for every joint of a set: the bound against definitions, and problems that keep it."""

from __future__ import annotations

import itertools
import json
import math
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from instances.few import few

import privopt as po
from privopt.arrays import Floats
from privopt.errors import InvalidProblem
from privopt.measures import robust_level, robustness_radius
from privopt.problems.robust_information import kept_share, most_information_over, read
from privopt.problems.robust_reading import SetReader

SQUARE = po.JointDistribution([[0.3, 0.2], [0.1, 0.4]])
CHANNEL = po.Channel([[0.75, 0.25], [0.25, 0.75]])
KINDS = ("interval", "total_variation", "chi2", "all", "counts")


def information(joint: Floats) -> float:
    """I(S;Y) by its definition."""
    product = joint.sum(axis=1, keepdims=True) * joint.sum(axis=0, keepdims=True)
    seen = joint > 0
    return float((joint[seen] * np.log(joint[seen] / product[seen])).sum())


def random_set(rng: np.random.Generator, kind: str, n_s: int = 3, n_x: int = 4) -> po.JointAmbiguity:
    counts = rng.integers(1, 60, (n_s, n_x))
    joint = po.JointDistribution.normalised(counts)
    if kind == "counts":
        return po.JointAmbiguity.from_counts(counts)
    if kind == "total_variation":
        return po.JointAmbiguity.total_variation(joint, 0.15, 0.1)
    if kind == "all":
        return po.JointAmbiguity([po.RowSet.all(n_x)] * n_s, po.RowSet.all(n_s), nominal=joint)
    if kind == "chi2":
        rows = [po.RowSet.chi2(row / row.sum(), 0.3) for row in counts]
        return po.JointAmbiguity(rows, joint.p_s, nominal=joint)
    rows_of = counts / counts.sum(axis=1, keepdims=True)
    lower, upper = np.maximum(rows_of - 0.1, 0.0), np.minimum(rows_of + 0.1, 1.0)
    return po.JointAmbiguity.interval(lower, upper, po.RowSet.total_variation(joint.p_s, 0.2), nominal=joint)


def member(rng: np.random.Generator, row: po.RowSet) -> Floats:
    """An extreme distribution of a set in a random direction, or a mixture of two."""
    ends = [
        np.array(row.farthest([int(v) for v in rng.integers(0, 1000, row.size)]), dtype=float) for _ in (0, 1)
    ]
    share = float(rng.choice([0.0, 1.0, rng.random()]))
    mixed = share * ends[0] / ends[0].sum() + (1 - share) * ends[1] / ends[1].sum()
    return np.asarray(mixed / mixed.sum())


@pytest.mark.parametrize(
    ("radius", "prior", "known"),
    [
        (0, 0, 0.020346087),
        (0.1, 0, 0.046200829),
        (0, 1, 0.020347),
        (0.05, 1, 0.031923),
        (0.1, 1, 0.046206),
    ],
)
def test_known_values(radius: float, prior: float, known: float) -> None:
    near = po.JointAmbiguity.total_variation(SQUARE, radius, prior)
    reader = SetReader.of(near)
    low, high = most_information_over(near, reader, CHANNEL)
    assert high == pytest.approx(known, abs=1e-6)
    assert low <= high
    assert read(reader, CHANNEL.matrix).bound == pytest.approx(high, abs=1e-12)


@pytest.mark.parametrize("seed", range(4))
def test_two_symbols_say_what_the_secret_and_the_ends_say_together(seed: int) -> None:
    """The bound is the largest I(S, V; Y), where V says at which end of its set the row is: here on a grid of P(v | s)."""
    rng = np.random.default_rng(seed)
    joint = po.JointDistribution(rng.dirichlet(np.ones(4)).reshape(2, 2))
    radius = float(rng.uniform(0.01, 0.2))
    near = po.JointAmbiguity.total_variation(joint, radius)
    matrix = rng.dirichlet(np.ones(3), 2)
    shares = joint.table[:, 0] / joint.p_s
    ends = [np.array([[q, 1 - q] for q in (max(0.0, q - radius), min(1.0, q + radius))]) for q in shares]
    grid = np.linspace(0, 1, 41)
    together = max(
        information(
            np.concatenate(
                [
                    p * np.array([[v], [1 - v]]) * (e @ matrix)
                    for p, v, e in zip(joint.p_s, at, ends, strict=True)
                ]
            )
        )
        for at in itertools.product(grid, grid)
    )
    alone = max(
        information(joint.p_s[:, None] * (np.array(rows) @ matrix)) for rows in itertools.product(*ends)
    )
    low, high = most_information_over(near, SetReader.of(near), po.Channel(matrix))
    assert together - 1e-9 <= high <= together * 1.01 + 1e-6
    assert low <= alone + 1e-9
    assert alone <= high + 1e-9


@pytest.mark.parametrize("share", [1e-1, 1e-2, 1e-3])
@pytest.mark.parametrize("seed", few(range(3), 1))
def test_channels_that_say_little_are_read_as_well(seed: int, share: float) -> None:
    """The same, where the iteration's plain steps would be too short; with V known, I(S, V; Y) is a sum of divergences."""
    from scipy.optimize import minimize

    rng = np.random.default_rng(seed)
    joint = po.JointDistribution(rng.dirichlet(np.ones(4)).reshape(2, 2))
    radius = float(rng.uniform(0.01, 0.2))
    near = po.JointAmbiguity.total_variation(joint, radius)
    matrix = rng.dirichlet(np.ones(3), 2)
    matrix = share * matrix + (1 - share) * matrix.mean(axis=0)
    shares = joint.table[:, 0] / joint.p_s
    ends = [[[q, 1 - q] for q in (max(0.0, q - radius), min(1.0, q + radius))] for q in shares]
    told = np.array(ends).reshape(4, 2) @ matrix

    def missed(at: Floats) -> float:
        weights = np.array([joint.p_s[0] * at[0], joint.p_s[0] * (1 - at[0]), joint.p_s[1] * at[1], 0.0])
        weights[3] = 1.0 - weights[:3].sum()
        mean = weights @ told
        moved = (told - mean) / mean  # t ln t - (t - 1) for t = 1 + moved keeps its digits
        return -float(weights @ (mean * ((1 + moved) * np.log1p(moved) - moved)).sum(axis=1)) / share**2

    best = min(
        float(minimize(missed, start, bounds=[(0, 1)] * 2, tol=1e-12).fun)
        for start in itertools.product((0.2, 0.5, 0.8), repeat=2)
    )
    assert read(SetReader.of(near), matrix).bound == pytest.approx(-best * share**2, rel=1e-6, abs=1e-13)


@pytest.mark.parametrize("kind", KINDS)
def test_every_member_stays_below_what_is_proved(kind: str) -> None:
    rng = np.random.default_rng(7)
    for _ in range(3):
        near = random_set(rng, kind)
        channel = po.Channel(rng.dirichlet(np.ones(4) * 0.6, 4))
        low, high = most_information_over(near, SetReader.of(near), channel)
        largest = 0.0
        for _ in range(80):
            rows = np.array([member(rng, row) for row in near.rows])
            told = information(member(rng, near.prior)[:, None] * (rows @ channel.matrix))
            largest = max(largest, told)
        assert largest <= high + 1e-9
        assert information(near.nominal.table @ channel.matrix) <= low + 1e-9
        assert low <= high


def test_a_set_of_one_joint_says_what_the_joint_says() -> None:
    rng = np.random.default_rng(3)
    for _ in range(5):
        joint = po.JointDistribution(rng.dirichlet(np.ones(12)).reshape(3, 4))
        channel = po.Channel(rng.dirichlet(np.ones(3), 4))
        near = po.JointAmbiguity.total_variation(joint, 0)
        low, high = most_information_over(near, SetReader.of(near), channel)
        exact = information(joint.table @ channel.matrix)
        assert low - 1e-12 <= exact <= high + 1e-12
        assert high - low < 1e-9


def test_the_bound_grows_with_the_radius_and_shrinks_when_nothing_more_is_told() -> None:
    joint = po.JointDistribution.normalised([[5, 2, 1, 3], [1, 3, 4, 2]])
    channel = po.Channel(np.random.default_rng(1).dirichlet(np.ones(4), 4))
    levels = []
    for radius in (0, 0.01, 0.05, 0.2, 1):
        near = po.JointAmbiguity.total_variation(joint, radius)
        levels.append(most_information_over(near, SetReader.of(near), channel)[1])
    assert levels == sorted(levels)
    near = po.JointAmbiguity.total_variation(joint, 0.05, 0.05)
    reader = SetReader.of(near)
    assert most_information_over(near, reader, po.Channel([[0.25, 0.75]] * 4)) == (0.0, 0.0)
    constant = np.tile([0.1, 0.2, 0.3, 0.4], (4, 1))
    whole = read(reader, channel.matrix).bound
    share = kept_share(reader, channel.matrix, constant, whole / 3)
    assert 1 / 3 - 1e-6 <= share < 1  # divergences are convex
    mixed = read(reader, share * channel.matrix + (1 - share) * constant).bound
    assert mixed == pytest.approx(whole / 3, rel=1e-6)
    assert mixed <= whole / 3


FUNNEL = po.JointDistribution.normalised([[5, 2, 1, 3], [1, 3, 4, 2]])


@pytest.mark.long
def test_a_funnel_over_a_set_is_solved_stored_and_proved_from_its_file(tmp_path: Path) -> None:
    near = po.JointAmbiguity.total_variation(FUNNEL, 0.02, 0.02)
    problem = po.PrivacyFunnel(near, max_leakage=0.05)
    again = po.problem_from_dict(json.loads(json.dumps(problem.to_dict())))
    assert again == problem
    assert again.fingerprint == problem.fingerprint
    solution = po.solve(problem, time_limit=20.0)
    assert solution.certified
    assert solution.certificate is not None
    assert solution.certificate.claim.startswith("for every distribution")
    assert solution.bound is not None
    assert solution.utility is not None
    assert 0.9 < solution.utility <= solution.bound
    plain = po.solve(po.PrivacyFunnel(FUNNEL, max_leakage=0.05), time_limit=20.0)
    assert plain.utility is not None
    assert plain.bound is not None
    assert solution.utility < plain.utility
    assert solution.bound <= plain.bound + 1e-9
    assert not problem.certify(plain.mechanism).ok
    said = " ".join(solution.explain().sentences)
    assert "times), if people are spread as they were counted" in said
    assert not problem.evaluate(plain.mechanism).feasible
    solution.save(tmp_path / "solution.json")
    assert po.verify(again, po.Solution.load(tmp_path / "solution.json")).ok
    rng = np.random.default_rng(0)
    for _ in range(200):
        rows = np.array([member(rng, row) for row in near.rows])
        joint = member(rng, near.prior)[:, None] * (rows @ solution.mechanism.matrix)
        assert information(joint) <= 0.05


@pytest.mark.long
def test_a_larger_cap_or_a_smaller_set_costs_nothing() -> None:
    reached = []
    for radius, cap in ((0.05, 0.03), (0.05, 0.06), (0.02, 0.06), (0.0, 0.06)):
        near = po.JointAmbiguity.total_variation(FUNNEL, radius)
        solution = po.solve(po.PrivacyFunnel(near, max_leakage=cap), time_limit=20.0)
        assert solution.certified
        assert solution.utility is not None
        reached.append(solution.utility)
    assert all(a <= b + 1e-3 for a, b in itertools.pairwise(reached))


def test_extreme_caps_over_a_set() -> None:
    near = po.JointAmbiguity.total_variation(FUNNEL, 0.05)
    nothing = po.solve(po.PrivacyFunnel(near, max_leakage=0.0))
    assert nothing.certified
    assert (nothing.utility, nothing.leakage) == (0.0, 0.0)
    everything = po.solve(po.PrivacyFunnel(near, max_leakage=math.inf))
    assert everything.certified
    assert everything.utility == pytest.approx(float(po.measures.entropy(FUNNEL.p_x)), abs=1e-9)


def test_no_proof_file_of_one_distribution_is_written_for_a_set(tmp_path: Path) -> None:
    near = po.JointAmbiguity.total_variation(FUNNEL, 0.05)
    problems = (
        po.PrivacyFunnel(near, max_leakage=math.inf),
        po.DistortionPrivacy(near, 1 - np.eye(4), max_distortion=1.0),
    )
    for problem in problems:
        solution = po.solve(problem, time_limit=20.0)
        assert solution.certified
        with pytest.raises(InvalidProblem, match="over a set of distributions"):
            solution.prove(tmp_path / "proof.txt")
        assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "options", [{"min_utility": 0.1}, {"trade_off": 1.0}, {"max_leakage": 0.1, "form": "merging"}]
)
def test_other_funnels_refuse_a_set_in_a_sentence(options: dict[str, float | str]) -> None:
    near = po.JointAmbiguity.total_variation(FUNNEL, 0.05)
    with pytest.raises(InvalidProblem, match="over a set of distributions a cap on the leakage"):
        po.PrivacyFunnel(near, **options)  # type: ignore[arg-type]
    with pytest.raises(InvalidProblem, match=r"use\s+LocalInformationPrivacy"):
        po.InformationBottleneck(near, max_rate=0.1)  # type: ignore[arg-type]
    with pytest.raises(InvalidProblem, match="sibson"):
        po.DistortionPrivacy(near, 1 - np.eye(4), max_leakage=0.1, leakage="sibson", alpha=2.0)


def test_level_and_radius_of_a_funnel() -> None:
    problem = po.PrivacyFunnel(SQUARE, max_leakage=0.05)
    low, high = robust_level(problem, CHANNEL, po.JointAmbiguity.total_variation(SQUARE, Fraction(1, 10)))
    assert (low, high) == pytest.approx((0.046200829, 0.046200829), abs=1e-8)
    radius, broken = robustness_radius(problem, CHANNEL, 0.046200829)
    assert radius <= 0.1 + 1e-6
    assert broken >= 0.1 - 1e-6
    with pytest.raises(InvalidProblem, match="PrivacyFunnel"):
        robust_level(
            po.InformationBottleneck(SQUARE, max_rate=0.1),
            CHANNEL,
            po.JointAmbiguity.total_variation(SQUARE, 0),
        )


@pytest.mark.long
@pytest.mark.parametrize("budget", [{"max_leakage": 0.03}, {"max_distortion": 0.25}, {"max_leakage": 0.0}])
def test_distortion_against_mutual_information_over_a_set(budget: dict[str, float]) -> None:
    joint = po.JointDistribution.normalised([[4, 1, 2], [1, 4, 3]])
    near = po.JointAmbiguity.total_variation(joint, 0.02, 0.02)
    problem = po.DistortionPrivacy(near, 1 - np.eye(3), **budget)  # type: ignore[arg-type]
    solution = po.solve(problem, time_limit=20.0)
    assert solution.certified
    assert solution.bound is not None
    assert solution.objective is not None
    assert solution.certificate is not None
    assert solution.objective <= solution.bound + 1e-12
    assert po.verify(problem, solution).ok
    constant = problem.evaluate(problem.constant())
    assert solution.objective >= problem.evaluate(problem.anchor()).objective - 1e-12
    if "max_leakage" in budget:
        assert solution.objective >= constant.objective
    rng = np.random.default_rng(5)
    largest = 0.0
    for _ in range(100):
        rows = np.array([member(rng, row) for row in near.rows])
        joint_of = member(rng, near.prior)[:, None] * (rows @ solution.mechanism.matrix)
        largest = max(largest, information(joint_of))
    assert largest <= solution.certificate.leakage[1] + 1e-12


@pytest.mark.long
def test_the_tightened_cap_is_near_the_best_of_a_search() -> None:
    """Two symbols and two releases: every channel of a grid, judged over the set."""
    near = po.JointAmbiguity.total_variation(SQUARE, 0.05)
    problem = po.PrivacyFunnel(near, max_leakage=0.02)
    solution = po.solve(problem, time_limit=20.0)
    grid = np.linspace(0, 1, 41)
    best = 0.0
    for a in grid:
        for b in grid[grid <= a]:
            reading = problem.evaluate(po.Channel([[a, 1 - a], [b, 1 - b]]))
            best = max(best, reading.utility if reading.feasible else 0.0)
    assert solution.utility is not None
    assert solution.utility >= best - 1e-3
