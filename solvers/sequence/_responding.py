"""What the statistics of randomised response say of whole sequences."""

from __future__ import annotations

from privopt.problems.sequence_information_privacy.problem import SequenceInformationPrivacy
from privopt.solvers.sequence._respond import sequence_level, steps_within


def sequence_stats(problem: SequenceInformationPrivacy, level: float) -> dict[str, float | int | str]:
    """The leakage of sequences of independent responses at a level: of as many letters as can be listed, and composed.

    ``sequence_leakage`` is exact for ``sequence_letters`` letters; ``composed_leakage`` is their number times the level.
    """
    steps = steps_within(problem.chain, problem.horizon)
    return {
        "sequence_letters": steps,
        "sequence_leakage": sequence_level(problem.chain, steps, level),
        "composed_leakage": steps * level,
    }
