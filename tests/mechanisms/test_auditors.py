"""Auditors that others wrote: they do not reject what a mechanism promises, and reject a sampler of which every fifth draw tells the truth."""

from __future__ import annotations

import importlib
import math
from collections import Counter
from typing import Any

import numpy as np
import pytest

import privopt as po
from privopt import measures as m
from privopt.arrays import Floats, Ints

EPSILON, FAULT = 1.0, 0.2
NO_PRIVATTACKS = "privattacks guesses secrets from released tables: pip install privattacks"
NO_QIF = "qif reads the level of a table of counts: pip install qif"
NO_AUDITORIUM = "DP-Auditorium's histogram tester is not on PyPI: put python/dp_auditorium of google/differential-privacy on the path"

RUNS = pytest.mark.parametrize("runs", [10, pytest.param(1000, marks=pytest.mark.long)])


def response() -> po.Channel:
    """Randomised response of a bit, as it is solved for, certified and sampled: its ratios are at most e."""
    problem = po.LocalInformationPrivacy(
        po.JointDistribution([[0.5, 0.0], [0.0, 0.5]]),
        EPSILON,
        notion="ldp",
        utility=[[0.0, 1.0], [1.0, 0.0]],
    )
    solution = po.solve(problem, time_limit=10.0)
    assert solution.certified
    assert isinstance(solution.mechanism, po.Channel)
    level = m.local_differential_privacy(solution.mechanism)
    assert level == pytest.approx(EPSILON, abs=1e-6)
    return solution.mechanism


def draws(channel: po.Channel, symbols: Ints, seed: int, fault: float = 0.0) -> Ints:
    """Releases of symbols; with a fault some of them are the symbols themselves."""
    rng = np.random.default_rng(seed)
    told = np.asarray(channel.release(symbols, rng).astype(np.int64))
    return np.where(rng.random(len(symbols)) < fault, symbols, told)


def counts(symbols: Ints, told: Ints) -> Floats:
    """A table of how often each symbol was released as what."""
    return np.bincount(symbols * 2 + told, minlength=4).reshape(2, 2).astype(np.float64)


@RUNS
def test_the_histogram_tester_of_dp_auditorium(runs: int) -> None:
    testers = pytest.importorskip("dp_auditorium.testers.histogram_tester", reason=NO_AUDITORIUM)
    config: Any = importlib.import_module("dp_auditorium.configs.property_tester_config")
    properties: Any = importlib.import_module("dp_auditorium.configs.privacy_property")
    promised = properties.ApproximateDp(epsilon=EPSILON + 1e-6, delta=1e-3)
    tester = testers.HistogramTester(
        config.HistogramPropertyTesterConfig(
            approximate_dp=promised,
            test_discrete_mechanism=True,
            histogram_size=2,
            min_value=0.0,
            max_value=1.0,
        )
    )
    channel, n, failure = response(), 100_000, 0.01
    rejected: Counter[float] = Counter()
    for seed in range(runs):
        for fault in (0.0, FAULT):
            ones, zeros = (draws(channel, np.full(n, x), 2 * seed + x, fault) for x in (1, 0))
            rejected[fault] += bool(tester.reject_property(tester.estimate_lower_bound(ones, zeros, failure)))
    assert rejected[0.0] <= runs * failure + 5 * math.sqrt(runs * failure)
    assert rejected[FAULT] == runs


@RUNS
def test_privattacks_guesses_no_better_than_is_promised(runs: int) -> None:
    privattacks = pytest.importorskip("privattacks", reason=NO_PRIVATTACKS)
    channel, n = response(), 4000
    most = math.exp(EPSILON) / (1 + math.exp(EPSILON))  # of a bit that is as likely as not
    room = 5 * math.sqrt(most * (1 - most) / n)
    for seed in range(runs):
        secret = np.random.default_rng(seed + 10**6).permutation(np.arange(n) % 2)
        for fault in (0.0, FAULT):
            told = draws(channel, secret, seed, fault)
            data = privattacks.Data(matrix=np.column_stack([secret, told]), cols=["secret", "told"])
            attack = privattacks.Attack(data)
            guessed = _value(attack.posterior_vulnerability("ai", ["told"], ["secret"]))
            table = counts(secret, told)
            told_by_us = 0.5 * math.exp(m.min_entropy_leakage(table / table.sum()))
            assert guessed == pytest.approx(told_by_us, abs=1e-9)
            assert (guessed <= most + room) == (fault == 0.0)


def _value(told: object) -> float:
    """The number of the only secret."""
    return float(next(iter(told.values()))) if isinstance(told, dict) else float(told)  # type: ignore[arg-type]


@RUNS
def test_qif_reads_the_promised_level_from_counts(runs: int) -> None:
    qif = pytest.importorskip("qif", reason=NO_QIF)
    channel, n = response(), 20_000
    p = 1 / (1 + math.exp(EPSILON))
    room = 5 * math.sqrt((1 - p) / (p * n)) * 2
    for seed in range(runs):
        for fault in (0.0, FAULT):
            symbols = np.repeat(np.arange(2), n)
            rows = counts(symbols, draws(channel, symbols, seed, fault)) / n
            level = qif.measure.d_privacy.smallest_epsilon(rows, qif.metric.discrete())
            assert level == pytest.approx(m.local_differential_privacy(rows), abs=1e-9)
            assert (level <= EPSILON + room) == (fault == 0.0)
