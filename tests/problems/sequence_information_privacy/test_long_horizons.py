"""Releases that come again to the last digit are counted, not followed."""

from __future__ import annotations

import numpy as np
import pytest
from instances.few import few

import privopt as po
from privopt.problems.sequence_information_privacy import leakage, reach

CHAINS = (
    po.MarkovChain([[0.8, 0.2], [0.3, 0.7]], [0.5, 0.5]),
    po.MarkovChain([[0.1, 0.9], [0.8, 0.2]]),
    po.MarkovChain([[0, 1, 0], [0, 0, 1], [0.5, 0.5, 0]], [1, 0, 0]),
    po.MarkovChain([[0.0, 1.0], [1.0, 0.0]], [0.25, 0.75]),
)


@pytest.mark.parametrize("chain", CHAINS)
@pytest.mark.parametrize("batch", [1, 2])
@pytest.mark.parametrize("horizon", few((301, 700), 1))
def test_counting_rounds_is_the_same_as_following_them(
    chain: po.MarkovChain, batch: int, horizon: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    problem = po.SequenceInformationPrivacy(chain, 0.5, batch=batch, horizon=horizon)
    policy = problem.anchor()
    counted = leakage._walk.__wrapped__(problem, policy, (0, 0))
    monkeypatch.setattr(reach, "FEW", 0)
    followed = leakage._walk.__wrapped__(problem, policy, (0, 0))
    assert counted.complete
    assert followed.complete
    assert counted.count == followed.count
    assert counted.reading.utility == pytest.approx(followed.reading.utility, rel=1e-13)
    assert counted.utility[0] <= followed.reading.utility <= counted.utility[1]
    assert counted.utility == pytest.approx(followed.utility, rel=1e-12)
    assert counted.leakage == pytest.approx(followed.leakage, rel=1e-12, abs=1e-12)


@pytest.mark.long
def test_a_long_horizon_has_a_proved_utility() -> None:
    chain = po.MarkovChain([[0.6, 0.4], [0.6, 0.4]])
    problem = po.SequenceInformationPrivacy(chain, 0.5, horizon=10**5)
    certificate = problem.certify(problem.answer("closed-form"))
    assert certificate.ok
    assert np.ptp(certificate.utility) < 1e-9
