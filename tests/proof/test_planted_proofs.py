"""No planted error makes a checker accept a false claim."""

from __future__ import annotations

import pytest
from oracles import proof_claims
from oracles.planted_proofs import accepts, campaign, honest, parsed, posed


@pytest.mark.parametrize("name", posed())
def test_honest_files_are_accepted_and_the_brute_force_agrees(name: str) -> None:
    lines = parsed(honest()[name])
    assert len(lines) == 5, "a bound is proved"
    assert proof_claims.broken(lines) is not True
    assert accepts(lines)


@pytest.mark.long
def test_no_false_claim_is_accepted() -> None:
    tally = campaign(400)
    assert tally.forged == []
    assert tally.broken >= tally.tried / 2
