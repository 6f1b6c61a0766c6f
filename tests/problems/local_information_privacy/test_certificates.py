"""What certificates of channels say: the worst pairs, averages, whom they protect, what they assume."""

from __future__ import annotations

import math
import re
from fractions import Fraction

import numpy as np
import pytest

import privopt as po
from privopt.problems.exact_joint import ExactJoint, leaking_joint, worst_log_lift
from privopt.problems.local_information_privacy.certificate import certify

SMALL = po.JointDistribution.normalised([[5, 2, 1], [1, 3, 4]], ["ill", "well"], ["a", "b", "c"])
HAMMING = (1.0 - np.eye(3)).tolist()
LETTERS = ["a", "b", "c"]


def random_joint(seed: int, secrets: int = 3, symbols: int = 3) -> po.JointDistribution:
    return po.JointDistribution.normalised(np.random.default_rng(seed).random((secrets, symbols)))


def test_ties_for_the_worst_pair_count() -> None:
    joint = po.JointDistribution.normalised([[3, 1], [1, 3]])
    for problem in (
        po.LocalInformationPrivacy(joint, 1.0),
        po.DistortionPrivacy(joint, [[0, 1], [1, 0]], max_leakage=1.0, leakage="lip"),
    ):
        channel = problem.answer(np.eye(2))
        assert problem.is_worst(channel, (0, 1), "") is True
        assert problem.is_worst(channel, (1, 0), "") is True
        assert problem.is_worst(channel, (0, 0), "") is False
        assert problem.is_worst(channel, (7, "x"), "") is False
        assert problem.is_worst(problem.answer(np.full((2, 2), 0.5)), (), "") is True
    assert po.LocalInformationPrivacy(joint, 1.0).is_worst(channel, (), "") is False


@pytest.mark.parametrize("seed", range(5))
def test_the_worst_log_lift_is_that_of_brute_force(seed: int) -> None:
    cells = np.random.default_rng(seed).integers(1, 30, size=(3, 4))
    joint = ExactJoint(tuple(tuple(int(v) for v in row) for row in cells), int(cells.sum()))
    (lo, hi), (s, y) = worst_log_lift(joint)
    lifts = np.abs(np.log(cells * cells.sum() / np.outer(cells.sum(axis=1), cells.sum(axis=0))))
    assert lo - 1e-12 <= lifts.max() <= hi + 1e-12
    assert lifts[s, y] == pytest.approx(lifts.max(), abs=1e-12)


@pytest.mark.parametrize("seed", range(8))
def test_local_differential_privacy_is_read_from_all_pairs_of_rows(seed: int) -> None:
    rng = np.random.default_rng(seed)
    problem = po.LocalInformationPrivacy(random_joint(seed), 0.4, notion="ldp")
    given = rng.integers(1, 5, size=(3, 4))  # many ties
    channel = problem.answer(given / given.sum(axis=1, keepdims=True))
    joint = leaking_joint(problem.observation, channel)
    rows = [[Fraction(v, sum(cells)) for v in cells] for cells in joint.cells]
    pairs = [(s, t, y) for s in range(3) for t in range(3) for y in range(4) if rows[s][y] or rows[t][y]]
    largest = max(rows[s][y] / rows[t][y] for s, t, y in pairs)
    verdict = certify(problem, channel)
    assert verdict.ok is (largest <= Fraction(math.exp(0.4)))
    assert verdict.leakage[0] - 1e-12 <= math.log(largest) <= verdict.leakage[1] + 1e-12
    reached = {(s, y) for s, t, y in pairs if rows[s][y] == largest * rows[t][y]}
    for s in range(3):
        for y in range(4):
            names = problem.observation.leaking.sensitive[s], channel.outputs[y]
            assert problem.is_worst(channel, names, "") is ((s, y) in reached)


@pytest.mark.parametrize(
    ("leakage", "alpha"), [("mutual_information", None), ("sibson", 2.0), ("maximal_leakage", None)]
)
@pytest.mark.parametrize("kind", ["max_distortion", "max_leakage"])
def test_an_average_is_called_one_and_states_the_worst_log_lift(
    leakage: str, alpha: float | None, kind: str
) -> None:
    bound = {kind: 0.2}
    problem = po.DistortionPrivacy(SMALL, HAMMING, leakage=leakage, alpha=alpha, **bound)  # type: ignore[arg-type]
    solution = po.solve(problem)
    certificate = solution.certificate
    assert certificate is not None
    assert certificate.kind == "average"
    (_, high), _ = worst_log_lift(leaking_joint(problem.observation, solution.mechanism))
    text = " ".join(certificate.sentences())
    assert "a single release may" in text
    if high < math.inf:
        stated = re.search(r"\|log-lift\| at most ([0-9.e-]+)", text)
        assert stated is not None
        assert float(stated[1]) == pytest.approx(high, rel=1e-6)
    assert "PROVED (average)" in text
    shut = po.DistortionPrivacy(
        po.JointDistribution.normalised([[4, 0], [1, 5]]),
        [[0, 1], [1, 0]],
        max_distortion=0.0,
        leakage=leakage,
        alpha=alpha,
    )
    assert "rule a value of the secret out" in shut.certify(shut.reproduction()).reason


def test_certificates_name_the_private_thing_and_the_factor() -> None:
    both = po.LocalInformationPrivacy(SMALL, 0.3)
    certificate = both.certify(both.safe())
    assert certificate.kind == "privacy"
    assert (
        certificate.statement
        == "no release makes a value of the secret ('ill', 'well') more than 1.35 times as likely or unlikely as before"
    )
    assert "one release of the same records" in certificate.uncovered[0]
    assert certificate.adversary
    assert certificate.unit
    assert "exactly as written" in certificate.assumption
    ldp = po.LocalInformationPrivacy(SMALL, 1.0, notion="ldp")
    assert "2.719 times as likely under one value" in ldp.certify(ldp.safe()).statement
    slack = po.LocalInformationPrivacy(SMALL, 0.3, delta=0.05)
    assert slack.certify(slack.safe()).statement.startswith("but for a probability of at most 0.05")
    none = po.LocalInformationPrivacy(po.JointDistribution.normalised([[1, 2], [0, 0]], ["yes", "no"]), 0.3)
    assert any("'no'" in text for text in none.certify(none.safe()).uncovered)


@pytest.mark.parametrize("through", ["local", "distortion", "error"])
def test_a_bound_on_the_rows_of_a_channel_assumes_no_distribution(through: str) -> None:
    """Local differential privacy of the released symbol itself: the same integers are proved for any distribution, in the same words."""

    def asked(shares: list[int]) -> po.LocalInformationPrivacy | po.DistortionPrivacy:
        joint = po.JointDistribution.normalised(np.diag(shares).tolist(), LETTERS, LETTERS)
        if through == "local":
            return po.LocalInformationPrivacy(joint, 1.0, notion="ldp")
        if through == "distortion":
            return po.DistortionPrivacy(joint, HAMMING, max_leakage=1.0, leakage="ldp")
        return po.DistortionPrivacy(joint, HAMMING, max_distortion=0.5, leakage="ldp")

    problem = asked([5, 3, 2])
    mechanism = po.solve(problem).mechanism
    here = problem.certify(mechanism)
    assert here.ok
    assert here.assumption.startswith("nothing of how the data are spread")
    assert "that distribution" not in here.adversary
    assert f"Assumed: {here.assumption}." in here.sentences()
    rng = np.random.default_rng(1)
    for _ in range(20):
        there = asked(rng.integers(1, 10**6, 3).tolist()).certify(mechanism)
        assert there.leakage == here.leakage
        assert (there.ok, there.statement) == (True, here.statement) or through == "error"


def test_other_bounds_assume_the_distribution_that_is_written() -> None:
    whole = po.JointDistribution.normalised(np.diag([5, 3, 2]).tolist(), LETTERS, LETTERS)
    without = po.JointDistribution.normalised(np.diag([5, 3, 0]).tolist(), LETTERS, LETTERS)
    for problem in (
        po.LocalInformationPrivacy(whole, 1.0),
        po.LocalInformationPrivacy(whole, math.inf, notion="ldp"),
        po.LocalInformationPrivacy(without, 1.0, notion="ldp"),
        po.LocalInformationPrivacy(SMALL, 1.0, notion="ldp"),
    ):
        assert "the data follow" in problem.terms(problem.safe()).assumption
