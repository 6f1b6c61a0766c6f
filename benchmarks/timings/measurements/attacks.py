"""Attacks: hostile mechanisms judged, hostile problems solved, and draws of the sampler counted; what must be 0 is."""

from __future__ import annotations

import importlib
import math
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from privopt.benchmarks.timings.measurement import Timing, register_measurement
from privopt.core.exact import IntegerRow
from privopt.mechanisms import draw

TESTS = Path(__file__).resolve().parents[3] / "tests"
"""Where a checkout keeps the exact arithmetic; an installed package has none."""
FIRST = 10**6
"""Seed of the first instance: those of the tests are others."""
MECHANISMS, PROBLEMS = (1500, 12), (10**6, 2 * 10**4)
"""How many are judged and solved, quickly and in full."""
DRAWS = (10**6, 10**8)
SURE = 1e-9
"""Probability of an alarm about a sampler without a fault."""
BIAS = (2.0**-7, 2.0**-10)
"""Planted: by which the probability of an output is shifted, in few and in many draws."""


@register_measurement(
    "attacks",
    "Hostile mechanisms judged and hostile problems solved, by exact arithmetic and against each other: every count must be 0",
)
def attacks(quick: bool) -> Sequence[Timing]:
    """Mechanisms above their budget, NaN, hangs, foreign exceptions, and certified answers above a checked bound."""
    if not (TESTS / "oracles" / "attacks.py").is_file():
        return [
            Timing("hostile mechanisms", 1, None, note="the exact arithmetic is in the tests of a checkout")
        ]
    if str(TESTS) not in sys.path:
        sys.path.append(str(TESTS))
    campaign = importlib.import_module("oracles.attacks")
    mechanisms, problems = MECHANISMS if quick else PROBLEMS
    begun = time.perf_counter()
    judged: Any = campaign.judged(mechanisms, FIRST)
    between = time.perf_counter()
    solved: Any = campaign.solved(problems, FIRST)
    ended = time.perf_counter()
    return [
        *_rows("judged", judged, judged.mechanisms, between - begun),
        *_rows("solved", solved, solved.solved, ended - between),
    ]


def _rows(what: str, tally: Any, size: int, seconds: float) -> list[Timing]:
    wrong = {
        "above their budget in exact arithmetic": tally.above,
        "with NaN": tally.nan,
        "that hang": tally.hangs,
        "with foreign exceptions or warnings": tally.foreign,
        "certified above another's checked bound": tally.contradictions,
    }
    told = {
        "certified": tally.certified,
        "decided by exact arithmetic": tally.decided,
        "refused": tally.refused,
    }
    rows = [
        Timing(f"{what}: {case}", size, seconds, quality=float(n), note="answers") for case, n in told.items()
    ]
    rows += [
        Timing(f"{what}: {case}", size, seconds, quality=float(len(seeds)), note="must be 0", holds=not seeds)
        for case, seeds in wrong.items()
    ]
    named = [seed for seeds in wrong.values() for seed in seeds][:20]
    return [*rows, *(Timing("seed", 1, seconds, quality=0.0, note=seed, holds=False) for seed in named)]


@register_measurement(
    "sampler",
    "Draws of the exact sampler against its integers, and of samplers with a planted bias, which must be noticed",
)
def sampler(quick: bool) -> Sequence[Timing]:
    """The p-value of all draws together for small, large and lopsided totals; planted faults must be below what is sure."""
    draws, bias = DRAWS[not quick], BIAS[not quick]
    rows = []
    for case, row in {
        "two outputs of 2^52": IntegerRow((3 << 50, 1 << 50), 1 << 52),
        "a total of 3": IntegerRow((1, 1, 1), 3),
        "a total of 2^63 + 1": IntegerRow((1, 1 << 62, 1 << 62), (1 << 63) + 1),
        "a total of 200 bits": IntegerRow((1 << 199, (1 << 198) + 7, (1 << 198) - 7), 1 << 200),
    }.items():
        begun = time.perf_counter()
        counts = _counts(row, draws)
        seconds = time.perf_counter() - begun
        chance = p_value(counts, row)
        rows.append(
            Timing(f"sampler: {case}", draws, seconds, quality=chance, note="p-value", holds=chance > SURE)
        )
        shifted = counts.astype(np.float64)
        moved = np.random.default_rng(0).binomial(int(counts[-1]), bias * row.total / row.weights[-1])
        shifted[-1] -= moved
        shifted[0] += moved
        planted = p_value(shifted, row)
        rows.append(
            Timing(
                f"planted bias: {case}",
                draws,
                seconds,
                quality=planted,
                note="p-value",
                holds=planted < SURE,
            )
        )
    return rows


def _counts(row: IntegerRow, draws: int) -> np.ndarray[Any, np.dtype[np.int64]]:
    """How often each output comes, from the generator of the operating system."""
    counts = np.zeros(len(row.weights), dtype=np.int64)
    for begin in range(0, draws, 10**6):
        codes = np.zeros(min(10**6, draws - begin), dtype=np.int64)
        counts += np.bincount(draw.draw([row], codes, None), minlength=len(row.weights))
    return counts


def p_value(counts: Any, row: IntegerRow) -> float:
    """Of a chi-squared test that counts are draws of the integers; 0 where an output comes that never can.

    Outputs that should come less than five times are counted together.

    Examples
    --------
    >>> row = IntegerRow((1, 1), 2)
    >>> p_value(np.array([50, 50]), row), p_value(np.array([90, 10]), row) < 1e-9
    (1.0, True)
    """
    from scipy.stats import chisquare

    seen = np.asarray(counts, dtype=np.float64)
    expected = np.array([weight / row.total for weight in row.weights]) * seen.sum()
    if (seen[expected == 0] > 0).any():
        return 0.0
    few = expected < 5
    if few.any():
        seen = np.append(seen[~few], seen[few].sum())
        expected = np.append(expected[~few], expected[few].sum())
    kept = expected > 0
    if math.isclose(float(expected[kept][-1]), 0.0, abs_tol=1e-3):  # hardly ever: more than a few are a fault
        if seen[kept][-1] > 3:
            return 0.0
        kept[np.flatnonzero(kept)[-1]] = False
        expected = expected * (seen[kept].sum() / expected[kept].sum())
    return float(chisquare(seen[kept], expected[kept]).pvalue)
