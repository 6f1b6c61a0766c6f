"""Policies of published rules, proposed as they are."""

from __future__ import annotations

from collections.abc import Mapping

from privopt.core.solver import Proposal
from privopt.mechanisms.policy.rules import Rule, Setting
from privopt.problems.sequence_information_privacy.problem import SequenceInformationPrivacy

NOT_SQUARE = "it releases a letter for a letter, this distortion has other columns"


def setting_of(problem: SequenceInformationPrivacy) -> Setting:
    """What a release of a policy for this problem is about."""
    return problem.setting(problem.batch)


def releases_letters(problem: SequenceInformationPrivacy) -> bool:
    """Whether the columns of the distortion are the letters."""
    rows, columns = setting_of(problem).letter_cost.shape
    return bool(rows == columns)


def unenforced(
    problem: SequenceInformationPrivacy, rule: Rule, stats: Mapping[str, float | int | str]
) -> Proposal:
    """The policy whose kernels are those of the rule, not repaired."""
    return Proposal(problem.answer(rule.name, enforced=False), stats=stats)
