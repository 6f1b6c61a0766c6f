"""From strictly inside to the vertex that is near, for interior-point methods over releases with bounded lifts or ratios."""

from __future__ import annotations

from privopt.core.problem import Problem
from privopt.core.solver import Budget
from privopt.mechanisms import Channel
from privopt.models.channel_data import Release
from privopt.problems.local_information_privacy.data import LocalInformationPrivacyData
from privopt.problems.local_information_privacy.support import at_vertex

PART = 0.1
"""Share of the time left after which no further threshold is tried."""
LOST = 1e-9
"""What zeros may cost, relative to the objective."""


def crossed(
    problem: Problem[Release], bounds: LocalInformationPrivacyData, channel: Channel, budget: Budget
) -> Channel:
    """The vertex near a channel where it is hardly worse: it is often better, and has zeros; else the channel.

    Parameters
    ----------
    problem : Problem
        Judges both.
    bounds : LocalInformationPrivacyData
        The bounds that it has on lifts or ratios.
    channel : Channel
        That keeps them.
    budget : Budget
        Of which a part may be spent on it.
    """
    vertex = at_vertex(bounds, channel, PART * budget.remaining)
    if vertex is channel:
        return channel
    inside, there = (problem.evaluate(problem.check(one)) for one in (channel, vertex))
    return (
        vertex if there.objective >= inside.objective - LOST * max(abs(inside.objective), LOST) else channel
    )
