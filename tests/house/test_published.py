"""Published mechanisms that break their promise are shown as they are."""

from __future__ import annotations

import math

import pytest

import privopt as po


@pytest.mark.parametrize(("belief", "ratio"), [([0.9, 0.1], 11 / 2), ([0.25] * 4, 5 / 2)])
def test_a_published_formula_that_leaks_too_much_is_not_private(belief: list[float], ratio: float) -> None:
    problem = po.BeliefRelease(belief, math.log(2))
    compared = {s.solver: s for s in po.compare(problem, ["published", "closed-form"])}
    shown = compared["published"]
    assert shown.status is po.Status.NOT_PRIVATE
    assert shown.stats["raw_leakage"] == pytest.approx(math.log(ratio), abs=1e-12)
    assert "published" in shown.reason
    assert compared["closed-form"].status.ok


def test_a_published_formula_inside_its_domain_stays_private() -> None:
    solution = po.solve(po.BeliefRelease([0.6, 0.4], 0.5), "published")
    assert solution.status.ok
    assert solution.certificate is not None
    assert solution.certificate.ok
