"""Under a floor: the mean leakage of each way of merging, against the best of all mergings."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from privopt._dispatch import solve
from privopt._solver import Solver
from privopt.benchmarks._measurements import Timing
from privopt.benchmarks.measurements._funnel_tables import MILLIBITS, floored
from privopt.problems.privacy_funnel import PrivacyFunnel
from privopt.solvers.privacy_funnel.exact_merging import ExactMerging
from privopt.solvers.privacy_funnel.greedy import Greedy
from privopt.solvers.privacy_funnel.portfolio import Portfolio

CELLS = ((4, 8, 0.5), (4, 8, 0.9), (4, 10, 0.7), (8, 10, 0.5), (8, 10, 0.7), (16, 10, 0.7))
"""Secrets, symbols, share of H(X) that is kept."""

WAYS: dict[str, Solver[PrivacyFunnel]] = {
    "pairs, first": Greedy("first"),
    "pairs, skip": Greedy(),
    "pairs, skip, by ratio": Greedy(score="ratio"),
    "portfolio": Portfolio(enumerated=0),
}

LIMIT = 60.0


def run(draws: int) -> Iterator[Timing]:
    """Seconds are means for one question, with judging and proof."""
    for secrets, symbols, fraction in CELLS:
        problems = [floored(k, secrets, symbols, fraction) for k in range(draws)]
        best, their_seconds = _leakages(problems, ExactMerging())
        for name, solver in WAYS.items():
            found, seconds = _leakages(problems, solver)
            note = (
                f"mean leakage in millibits over {draws} tables; the best merging leaks {np.mean(best):.4g}"
            )
            yield Timing(
                f"{name}: {secrets} secrets, floor {fraction:g} H(X)",
                symbols,
                seconds,
                "exact-merging",
                their_seconds,
                their_seconds / seconds,
                float(np.mean(found)),
                note,
                holds=all(f >= b - 1e-9 for f, b in zip(found, best, strict=True)),
            )


def _leakages(problems: Sequence[PrivacyFunnel], solver: Solver[Any]) -> tuple[list[float], float]:
    """Leakage in millibits for each problem, and mean seconds."""
    found = [solve(problem, solver, time_limit=LIMIT) for problem in problems]
    values = [float("inf") if s.leakage is None else s.leakage * MILLIBITS for s in found]
    return values, sum(s.seconds for s in found) / len(found)
