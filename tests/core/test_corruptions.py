"""No corrupted record is accepted while a claim of it is broken; an independent brute force says whether one is."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest
from flint import arb
from oracles import claims, corruptions, optima, truths
from oracles.corruptions import Campaign, Case

import privopt as po

ANSWERS = Path(__file__).resolve().parents[1] / "files_of_0_1_0" / "answers"
OLD = (
    "belief_release-uniform", "boundary_colouring-by-hand", "distortion_privacy-rate", "information_bottleneck-small-rate",
    "local_information_privacy-binary", "local_information_privacy-ldp", "local_information_privacy-small",
    "privacy_funnel-small-capped", "redaction-binary-0", "redaction-weighted", "bayesian_privacy-group",
)  # fmt: skip


def old(name: str) -> Case:
    """An answer that version 0.1.0 wrote."""
    problem, solution = (
        json.loads((ANSWERS / name / f"{kind}.json").read_text()) for kind in ("problem", "default")
    )
    return corruptions.stored(name, json.loads(json.dumps(po.problem_from_dict(problem).to_dict())), solution)


def judged(counts: Campaign) -> None:
    """What must hold of every campaign."""
    assert not counts.forged, f"{counts}\n" + "\n".join(counts.forged)
    assert not counts.foreign, f"{counts}\n" + "\n".join(counts.foreign)
    assert counts.refused == counts.broken
    assert counts.slowest < corruptions.PATIENCE


@pytest.mark.parametrize("name", corruptions.NAMES)
def test_honest_records_hold_and_are_accepted(name: str) -> None:
    case = corruptions.case(name)
    for record in case.records:
        assert claims.broken(case.problem, record, case.attained) is None
        assert corruptions.outcome(case.problem, record) == "accepted"
        assert corruptions.outcome(case.problem, record, as_text=True) == "accepted"


@pytest.mark.parametrize("name", OLD)
def test_records_of_0_1_0_hold_and_are_accepted(name: str) -> None:
    case = old(name)
    assert claims.broken(case.problem, case.answer, case.attained) is None
    assert corruptions.outcome(case.problem, case.answer) == "accepted"


def test_noise_of_an_infinite_level_is_refused() -> None:
    case = corruptions.case("noise-count")
    record = {**case.answer, "mechanism": {**case.answer["mechanism"], "tau": "inf"}}
    assert corruptions.outcome(case.problem, record) == "refused"


def test_no_broken_claim_is_accepted() -> None:
    counts = corruptions.campaign(300)
    judged(counts)
    assert counts.broken >= counts.tried / 2
    assert counts.intact_accepted > counts.tried / 10


def test_no_broken_claim_is_accepted_under_version_0_1_0() -> None:
    counts = corruptions.campaign(150, of=tuple(map(old, OLD)))
    judged(counts)
    assert counts.broken >= counts.tried / 3  # last digits are excused, and there is no worse answer beside


@pytest.mark.long
def test_no_broken_claim_is_accepted_among_100_000() -> None:
    counts = corruptions.campaign(100_000, first=10**6)
    judged(counts)
    assert counts.broken >= counts.tried / 2


# the brute force itself


def flat(**changed: object) -> dict[str, object]:
    joint = {
        "type": "joint_distribution", "table": [[0.4, 0.1], [0.1, 0.4]], "sensitive": [0, 1], "useful": [0, 1],
        "normalised": False,
    }  # fmt: skip
    fields = {"type": "local_information_privacy", "joint": joint, "lower": 1.0, "upper": 1.0, "delta": 0.0}
    return {**fields, "notion": "lip", "utility": "mutual_information", **changed}


def test_the_brute_force_knows_a_noisy_coin() -> None:
    channel = {
        "type": "channel",
        "matrix": [[0.75, 0.25], [0.25, 0.75]],
        "inputs": [0, 1],
        "outputs": ["n", "y"],
    }
    truth = truths.TRUTHS["local_information_privacy"](flat(), channel)
    # S and Y agree with probability 0.8 x 0.75 + 0.2 x 0.25 = 0.65: lifts are 1.3 and 0.7
    assert truth.private is True
    assert float(truth.leakage[0]) == pytest.approx(-math.log(0.7), rel=1e-12)
    assert truth.worst == {(0, "y"), (1, "n")}
    assert float(truth.utility[0]) == pytest.approx(math.log(2) - 0.5623351446188083, rel=1e-12)
    assert truths.TRUTHS["local_information_privacy"](flat(lower=0.3), channel).private is False


@pytest.mark.parametrize("name", corruptions.NAMES)
def test_closed_forms_are_between_an_answer_and_its_bound(name: str) -> None:
    case = corruptions.case(name)
    if optima.optimum(case.problem) is None:
        pytest.skip("no closed form")
    best = case.attained
    slack = 1e-12 * abs(case.answer["objective"])
    assert best > case.answer["objective"] - slack
    assert best < case.answer["bound"]


def test_two_symbols_at_a_budget_of_log_2() -> None:
    # fair bit, Hamming: lifts of at most 2 allow certainty; at ln(3/2) posteriors are 1/4 and 3/4
    fields = {"type": "belief_release", "belief": [0.5, 0.5], "distortion": "hamming", "letters": [0, 1]}
    assert float(optima.optimum({**fields, "epsilon": math.log(1.5)}) or 0) == pytest.approx(
        -1 / 3, rel=1e-12
    )
    assert float(optima.optimum({**fields, "epsilon": 40.0}) or 0) == pytest.approx(
        -math.exp(-40) / 2, rel=1e-6
    )


def test_a_pair_of_rows_with_delta() -> None:
    """The least r with (p_1 - r q_1)+ + (p_2 - r q_2)+ <= delta: for (0.6, 0.4) and (0.5, 0.5) it is (0.6 - delta) / 0.5."""
    from fractions import Fraction

    p, q = [Fraction(6, 10), Fraction(4, 10)], [Fraction(1, 2), Fraction(1, 2)]
    assert truths.least_ratio(p, q, Fraction(0)) == Fraction(6, 5)
    assert truths.least_ratio(p, q, Fraction(5, 100)) == Fraction(11, 10)
    assert truths.least_ratio(p, q, Fraction(1, 2)) == 1
    assert truths.least_ratio([Fraction(1), Fraction(0)], [Fraction(0), Fraction(1)], Fraction(0)) is None


def test_the_entropy_of_a_coin_is_inverted() -> None:
    error = optima.inverse_entropy(arb(0.5))
    assert abs(float(optima.binary_entropy(error)) - 0.5) < 1e-12
