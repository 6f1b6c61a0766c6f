"""No planted error makes a checker of the newer kinds accept a false claim."""

from __future__ import annotations

import pytest
from oracles import kind_claims
from oracles.planted_kinds import POSED, accepted, campaign, files

from privopt.proof.write import CHECKERS

SEEDS = {
    "lifts-values": 300, "lifts-chi2": 700, "lifts-average": 700,
    "information-tree": 600, "funnel": 600, "bottleneck": 800,
}  # fmt: skip
"""Errors in files that are mostly trees, where most of them change no claim."""


@pytest.mark.parametrize("name", POSED)
def test_honest_files_are_accepted_and_the_brute_force_agrees(name: str) -> None:
    for lines in files(name):
        assert accepted(lines)
        assert not kind_claims.broken(lines)


@pytest.mark.long
@pytest.mark.parametrize("name", POSED)
def test_no_false_claim_is_accepted(name: str) -> None:
    false = 0
    for lines in files(name):
        for seed in range(SEEDS.get(name, 150)):
            wrong = kind_claims.altered(lines, seed)
            if wrong != lines and kind_claims.broken(wrong):
                false += 1
                assert not accepted(wrong), seed
    assert false > 30


@pytest.mark.long
def test_a_campaign_counts_what_is_false() -> None:
    tally = campaign(200)
    assert tally.forged == []
    assert tally.broken > 40


def test_each_kind_has_errors_planted() -> None:
    kinds = {lines[0]["kind"] for name in POSED for lines in files(name)}
    assert kinds == set(CHECKERS) - {"linear"}
