"""Auditors that others wrote, run on draws of a randomised response, and of one of which every fifth draw tells the truth."""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

import privopt as po
from privopt import measures as m
from privopt.arrays import Floats, Ints

EPSILON, FAULT = 1.0, 0.2
ROOM = 5.0
"""Standard deviations by which what is promised may be exceeded by chance."""


class Missing(Exception):
    """An auditor that is not installed, and where it is to be had."""


@dataclass(frozen=True)
class Audit:
    """How often an auditor rejected what is promised, and the fault, in so many runs.

    ``allowed`` is how often chance lets it reject what is promised.
    """

    runs: int
    true: int
    faulty: int
    allowed: float

    @property
    def holds(self) -> bool:
        """Whether the promise was rejected by chance only, and the fault always."""
        return self.true <= self.allowed and self.faulty == self.runs


@cache
def response() -> po.Channel:
    """Randomised response of a bit, as it is solved for, certified and sampled: its ratios are at most e."""
    joint = po.JointDistribution([[0.5, 0.0], [0.0, 0.5]])
    utility = [[0.0, 1.0], [1.0, 0.0]]
    solution = po.solve(
        po.LocalInformationPrivacy(joint, EPSILON, notion="ldp", utility=utility), time_limit=30.0
    )
    assert solution.certified
    assert isinstance(solution.mechanism, po.Channel)
    assert abs(m.local_differential_privacy(solution.mechanism) - EPSILON) < 1e-6
    return solution.mechanism


def draws(symbols: Ints, seed: int, fault: float = 0.0) -> Ints:
    """Releases of symbols; with a fault some of them are the symbols themselves."""
    rng = np.random.default_rng(seed)
    told = np.asarray(response().release(symbols, rng).astype(np.int64))
    return np.where(rng.random(len(symbols)) < fault, symbols, told)


def counts(symbols: Ints, told: Ints) -> Floats:
    """A table of how often each symbol was released as what."""
    return np.bincount(symbols * 2 + told, minlength=4).reshape(2, 2).astype(np.float64)


def _imported(name: str, why: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError as cause:
        raise Missing(why) from cause


def _audit(runs: int, rejects: Callable[[int, float], bool], chance: float = 0.0) -> Audit:
    """Run an auditor with and without a fault; ``chance`` is its rate of false alarms."""
    true, faulty = (sum(rejects(seed, fault) for seed in range(runs)) for fault in (0.0, FAULT))
    return Audit(runs, true, faulty, runs * chance + ROOM * math.sqrt(runs * chance))


def dp_auditorium(runs: int) -> Audit:
    """DP-Auditorium's histogram tester: a lower bound on epsilon that is wrong with probability 0.01."""
    testers = _imported(
        "dp_auditorium.testers.histogram_tester",
        "DP-Auditorium's histogram tester is not on PyPI: put python/dp_auditorium of google/differential-privacy on the path",
    )
    config: Any = importlib.import_module("dp_auditorium.configs.property_tester_config")
    properties: Any = importlib.import_module("dp_auditorium.configs.privacy_property")
    promised = properties.ApproximateDp(epsilon=EPSILON + 1e-6, delta=1e-3)
    settings = config.HistogramPropertyTesterConfig(
        approximate_dp=promised, test_discrete_mechanism=True, histogram_size=2, min_value=0.0, max_value=1.0
    )
    tester, n, failure = testers.HistogramTester(settings), 100_000, 0.01

    def rejects(seed: int, fault: float) -> bool:
        ones, zeros = (draws(np.full(n, x), 2 * seed + x, fault) for x in (1, 0))
        return bool(tester.reject_property(tester.estimate_lower_bound(ones, zeros, failure)))

    return _audit(runs, rejects, failure)


def statdp(runs: int) -> Audit:
    """StatDP's hypothesis test of P(1 | 1) <= e^epsilon P(1 | 0), at a significance of 0.01."""
    tests = _imported("pystatdp.hypotest", "StatDP tests hypotheses on counts: pip install pystatdp")
    n, significance = 10_000, 0.01
    symbols = np.repeat(np.arange(2), n)

    def rejects(seed: int, fault: float) -> bool:
        table = counts(symbols, draws(symbols, seed, fault))
        return bool(tests.test_statistics(int(table[1, 1]), int(table[0, 1]), EPSILON, n) < significance)

    return _audit(runs, rejects, significance)


def privattacks(runs: int) -> Audit:
    """Privattacks' attribute inference: a guess of a bit is right with e^epsilon / (1 + e^epsilon) at most."""
    attacks = _imported(
        "privattacks", "privattacks guesses secrets from released tables: pip install privattacks"
    )
    n, most = 8000, math.exp(EPSILON) / (1 + math.exp(EPSILON))
    room = ROOM * math.sqrt(most * (1 - most) / n)

    def rejects(seed: int, fault: float) -> bool:
        secret = np.random.default_rng(seed + 10**6).permutation(np.arange(n) % 2)
        told = draws(secret, seed, fault)
        data = attacks.Data(matrix=np.column_stack([secret, told]), cols=["secret", "told"])
        found = attacks.Attack(data).posterior_vulnerability("ai", ["told"], ["secret"])
        guessed = float(next(iter(found.values())) if isinstance(found, dict) else found)
        table = counts(secret, told)
        assert abs(guessed - 0.5 * math.exp(m.min_entropy_leakage(table / table.sum()))) < 1e-9
        return guessed > most + room

    return _audit(runs, rejects)


def qif(runs: int) -> Audit:
    """Qif's level of a table of counts."""
    library = _imported("qif", "qif reads the level of a table of counts: pip install qif")
    n, p = 20_000, 1 / (1 + math.exp(EPSILON))
    room = ROOM * math.sqrt((1 - p) / (p * n)) * 2
    symbols = np.repeat(np.arange(2), n)

    def rejects(seed: int, fault: float) -> bool:
        rows = counts(symbols, draws(symbols, seed, fault)) / n
        level = float(library.measure.d_privacy.smallest_epsilon(rows, library.metric.discrete()))
        assert abs(level - m.local_differential_privacy(rows)) < 1e-9
        return level > EPSILON + room

    return _audit(runs, rejects)


AUDITORS: dict[str, Callable[[int], Audit]] = {
    "DP-Auditorium": dp_auditorium,
    "StatDP": statdp,
    "privattacks": privattacks,
    "qif": qif,
}
