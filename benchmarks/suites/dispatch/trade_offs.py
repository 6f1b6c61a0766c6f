"""Privacy funnel and information bottleneck in the suite ``dispatch``."""

from __future__ import annotations

from functools import partial
from typing import Any

from privopt.benchmarks.data import joints
from privopt.benchmarks.runner.case import register_cases
from privopt.benchmarks.suites.dispatch.tables import counts_of_weak
from privopt.core.problem import Problem
from privopt.models import JointDistribution
from privopt.problems.information_bottleneck.problem import InformationBottleneck
from privopt.problems.privacy_funnel.problem import PrivacyFunnel


def _floor(n_s: int, n_x: int, form: str, share: float = 0.7) -> Problem[Any]:
    return PrivacyFunnel(joints.sparse_joint(n_s, n_x), theta_fraction=share, form=form)


def _cap(n_s: int, n_x: int, cap: float) -> Problem[Any]:
    return PrivacyFunnel(joints.sparse_joint(n_s, n_x), max_leakage=cap)


def _weighed(joint: JointDistribution, form: str = "stochastic") -> Problem[Any]:
    return PrivacyFunnel(joint, trade_off=0.2, form=form)


def _weighed_random(n_s: int, n_x: int) -> Problem[Any]:
    return _weighed(joints.sparse_joint(n_s, n_x))


def _weighed_lecture(form: str) -> Problem[Any]:
    return _weighed(joints.lecture(), form)


def _weighed_survey() -> Problem[Any]:
    return _weighed(joints.survey())


def _cap_over_set(n_s: int, n_x: int) -> Problem[Any]:
    return PrivacyFunnel(counts_of_weak(n_s, n_x, 10_000), max_leakage=0.005)


_FLOORS = (
    (4, 8, "q"),
    (3, 20, ""),
    (10, 50, "q"),
    (10, 200, ""),
    (10, 1000, "l"),
    (5, 5000, "l"),
)
_MERGED = ((4, 12, "q"), (4, 20, ""), (4, 30, ""), (5, 60, ""), (10, 1000, ""), (10, 5000, "l"))
_PERFECT = ((3, 6, "q"), (5, 12, "q"), (10, 40, ""), (20, 200, ""))
_CAPS = ((3, 8, ""), (4, 12, "q"), (10, 100, ""), (10, 1000, ""))

register_cases(
    "privacy_funnel",
    (
        *((f"floor-{s}x{x}", marks, partial(_floor, s, x, "stochastic")) for s, x, marks in _FLOORS),
        *((f"merging-{s}x{x}", marks, partial(_floor, s, x, "merging")) for s, x, marks in _MERGED),
        *((f"perfect-{s}x{x}", marks, partial(_cap, s, x, 0.0)) for s, x, marks in _PERFECT),
        *((f"capped-{s}x{x}", marks, partial(_cap, s, x, 0.1)) for s, x, marks in _CAPS),
        ("low-floor-4x40", "", partial(_floor, 4, 40, "stochastic", 0.3)),
        ("high-floor-4x40", "", partial(_floor, 4, 40, "stochastic", 0.95)),
        ("high-floor-5x60", "", partial(_floor, 5, 60, "stochastic", 0.9)),
        ("capped-5x60", "", partial(_cap, 5, 60, 0.1)),
        *((f"capped-set-{s}x{x}", "", partial(_cap_over_set, s, x)) for s, x in ((2, 16), (5, 30))),
        *((f"weighed-5x{x}", "", partial(_weighed_random, 5, x)) for x in (60, 120)),
        ("capped-5x120", "", partial(_cap, 5, 120, 0.1)),
        *((f"weighed-10x{x}", "", partial(_weighed_random, 10, x)) for x in (50, 120)),
        ("weighed-10x500", "", partial(_weighed_random, 10, 500)),
        ("weighed-lecture-merging", "", partial(_weighed_lecture, "merging")),
        ("weighed-survey", "", partial(_weighed_survey)),
    ),
)


def _compressed(n_s: int, n_x: int, form: str = "stochastic") -> Problem[Any]:
    return InformationBottleneck(joints.sparse_joint(n_s, n_x), trade_off=0.1, form=form)


def _rate(n_s: int, n_x: int, rate: float) -> Problem[Any]:
    return InformationBottleneck(joints.sparse_joint(n_s, n_x), max_rate=rate)


def _rate_lecture() -> Problem[Any]:
    return InformationBottleneck(joints.lecture(), max_rate=0.5)


def _compressed_survey() -> Problem[Any]:
    return InformationBottleneck(joints.survey(), trade_off=0.1)


_WEIGHED = (
    (2, 6, "q"),
    (4, 12, ""),
    (4, 30, "q"),
    (5, 60, ""),
    (10, 60, ""),
    (5, 100, ""),
    (5, 120, ""),
    (5, 300, ""),
    (5, 1000, "l"),
    (20, 1000, ""),
)
_RATES = ((4, 30, "q"), (5, 60, ""), (5, 100, ""), (5, 1000, ""))
_BLOCKS = ((4, 12, ""), (4, 24, ""), (5, 60, ""), (5, 1000, ""))

register_cases(
    "information_bottleneck",
    (
        *((f"weighed-{s}x{x}", marks, partial(_compressed, s, x)) for s, x, marks in _WEIGHED),
        *((f"rate-{s}x{x}", marks, partial(_rate, s, x, 0.5)) for s, x, marks in _RATES),
        *((f"merging-{s}x{x}", marks, partial(_compressed, s, x, "merging")) for s, x, marks in _BLOCKS),
        ("rate-lecture", "", partial(_rate_lecture)),
        ("survey", "", partial(_compressed_survey)),
    ),
)
