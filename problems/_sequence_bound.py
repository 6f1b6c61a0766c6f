"""Upper bounds on the utility of every sequence of releases, proved from prices of letters or words by arithmetic alone.

Each release has two bounds, and the better one counts: that of its level (:mod:`privopt.problems._sequence_steps`), which
fades on long chains that depend, and one that does not (:mod:`privopt.problems._sequence_revealed`).

The dual is ``{"kind": "sequence", "lam": [[...], ...]}``, a row of prices for each release. A last row serves all later
releases that read as many words; a release without prices gets zeros. ``"revealed"`` may give a row of prices for each
state before a release, for all releases that read as many words.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from privopt.problems._observation import Floats
from privopt.problems._sequence_revealed import MAX_CELLS, least_costs
from privopt.problems._sequence_steps import Step, slack_of, steps

if TYPE_CHECKING:
    from privopt.problems.sequence_information_privacy import SequenceInformationPrivacy

MAX_WORDS = 4096
"""Words of a release whose bound is checked."""


def check_dual(problem: SequenceInformationPrivacy, dual: object, seconds: float = math.inf) -> float | None:
    """The upper bound on utility that a dual proves, or None."""
    if not isinstance(dual, dict) or dual.get("kind") != "sequence":
        return None
    prices, revealed = _prices(dual.get("lam")), _prices(dual.get("revealed"))
    if prices is None or (revealed is not None and len({len(row) for row in revealed}) > 1):
        return None
    found = sequence_bound(problem, prices, None if revealed is None else np.array(revealed), seconds)
    return found if found is not None and math.isfinite(found) else None


def _prices(given: object) -> list[Floats] | None:
    """Rows of finite prices."""
    if not isinstance(given, list) or not given:
        return None
    try:
        rows = [np.array(row, dtype=np.float64) for row in given]
    except (TypeError, ValueError, OverflowError):
        return None
    return rows if all(row.ndim == 1 and np.isfinite(row).all() for row in rows) else None


def sequence_bound(
    problem: SequenceInformationPrivacy,
    prices: list[Floats],
    revealed: Floats | None = None,
    seconds: float = math.inf,
) -> float | None:
    """The upper bound on utility of prices, a row a release, and of those with the state before revealed, a row a state.

    None where words are too many or time runs out.
    """
    deadline = time.monotonic() + seconds
    if len(problem.setting(min(problem.batch, problem.horizon)).inputs) > MAX_WORDS:
        return None
    total: list[float] = []
    known: tuple[object, float] = (None, 0.0)
    shown = _Revealed(problem, revealed)
    for at, step in enumerate(steps(problem)):
        if time.monotonic() > deadline:
            return None
        lam = prices[min(at, len(prices) - 1)]
        if lam.shape != step.law.shape:
            lam = np.zeros(step.law.shape)
        key = (step.law.tobytes(), step.level, lam.tobytes())
        if key != known[0]:
            known = (key, step.bound(lam))
        total.append(step.release.length * min(known[1], shown.bound(step)))
    return math.fsum(total) / problem.horizon


@dataclass(eq=False)
class _Revealed:
    """Bounds with the state before revealed; where steps are alike, so are the costs given that state."""

    problem: SequenceInformationPrivacy
    prices: Floats | None
    _costs: Floats | None = None
    _length: int = 0

    def bound(self, step: Step) -> float:
        """Upper bound on minus the expected distortion of a release, a letter; inf where there is none."""
        if self.prices is None or step.before is None:
            return math.inf
        cost = step.release.setting.cost
        k, n = self.prices.shape
        if (k, n) != (len(step.before[0]), len(cost)) or k * cost.size > MAX_CELLS:
            return math.inf
        if self._costs is None or self._length != step.release.length or not self.problem.chain.homogeneous:
            self._costs = least_costs(step.revealed, cost, step.release.setting.epsilon, self.prices)
            self._length = step.release.length
        slack = 2 * slack_of(step.release) * float(np.abs(cost).max())
        return float(-(step.before[0] @ self._costs) + slack)
