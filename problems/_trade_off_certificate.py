"""The certificate of a release judged by two informations: balls from integer weights, never a float reading."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from privopt._certificate import Certificate
from privopt.problems._information import Enclosure, information_enclosures
from privopt.problems._observation import Release
from privopt.problems._trade_off import FLOOR_SLACK

if TYPE_CHECKING:
    from privopt.problems._trade_off import TradeOff


def certify(problem: TradeOff, release: Release) -> Certificate:
    """Prove that the bound holds, with both informations enclosed."""
    secret, useful = information_enclosures(problem.observation, release)
    lows = problem.split(secret[0], useful[0])
    highs = problem.split(secret[1], useful[1])
    utility, leakage = (lows[0], highs[0]), (lows[1], highs[1])
    ok, claim, reason = _verdict(problem, utility, leakage)
    return Certificate(
        ok=ok,
        claim=claim,
        reason=reason,
        budget=problem.budget,
        leakage=leakage,
        utility=utility,
        problem=problem.fingerprint,
        mechanism=release.fingerprint,
        method="balls from integer weights",
        assumption=f"the data follow {problem.joint!r} exactly as written (divided by its exact sum)",
    )


def _verdict(problem: TradeOff, utility: Enclosure, leakage: Enclosure) -> tuple[bool, str, str]:
    if problem.is_floor:
        ok = utility[0] >= problem.budget - FLOOR_SLACK
        word = "at least" if ok else "not proved to be at least"
        return (
            ok,
            "utility >= budget",
            f"the utility is {word} the floor, with a slack of {FLOOR_SLACK:g} nats",
        )
    if problem.is_cap:
        ok = problem.budget == math.inf or leakage[1] <= problem.budget
        word = "at most" if ok else "not proved to be at most"
        return ok, "leakage <= budget", f"the leakage is {word} the budget"
    return True, "both informations are enclosed", "there is no bound to keep"
