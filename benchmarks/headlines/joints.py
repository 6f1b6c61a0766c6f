"""Headlines of channels on joint laws: local information privacy and the funnel."""

from __future__ import annotations

import math

from privopt._dispatch import solve
from privopt._problem import M, Problem
from privopt._text import number
from privopt.benchmarks._headlines import Headline, register_headline
from privopt.benchmarks.data.joints import lecture
from privopt.problems.local_information_privacy import LocalInformationPrivacy
from privopt.problems.privacy_funnel import PrivacyFunnel

_BIT = math.log(2)


def _objective(problem: Problem[M], solver: str | None = None) -> float:
    found = solve(problem, solver, time_limit=20.0)
    if found.objective is None or not found.certified:
        raise ValueError(f"{solver} on {problem!r}: {found.status.name}, {found.reason}")
    return found.objective


@register_headline("lip")
def lip() -> Headline:
    """Mutual information on the lectures' table at 1 nat."""
    problem = LocalInformationPrivacy(lecture(), 1.0)
    best, merged = (_objective(problem, name) / _BIT for name in (None, "watchdog-merge"))
    return Headline(
        "lip",
        "bits released of the lectures' 4 x 9 table under 1-LIP (certified optimum)",
        number(best, 4),
        f"{number(merged, 4)} watchdog with merging",
    )


@register_headline("funnel")
def funnel() -> Headline:
    """Leakage on the lectures' table at a floor of 0.7 H(X)."""
    table = lecture()
    random = -_objective(PrivacyFunnel(table, theta_fraction=0.7)) / _BIT
    merging = -_objective(PrivacyFunnel(table, theta_fraction=0.7, form="merging")) / _BIT
    return Headline(
        "funnel",
        "bits leaked while 70 % of H(X) is kept, lectures' table (certified optimum)",
        number(random, 3),
        f"{number(merging, 3)} best merging, which the printed greedy example reaches",
    )
