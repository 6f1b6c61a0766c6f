"""What there is to say of values that change at random while their distribution stays, in plain words."""

from __future__ import annotations

import math
from dataclasses import replace

from privopt.core.certificate import Certificate
from privopt.mechanisms import Channel
from privopt.problems.metric_privacy.certificate import length, pictured
from privopt.problems.metric_privacy.problem import MetricPrivacy
from privopt.problems.post_randomisation.data import PostRandomisationData
from privopt.publication import _tables
from privopt.publication import parts as say
from privopt.publication.guesses import of_joint
from privopt.publication.parts import Parts
from privopt.publication.words import listed, plain, times
from privopt.publication.worst import worst_sentence

STAYS = "one release of a record has exactly the shares of the original values, and counts of many match on average"


def changed(data: PostRandomisationData, channel: Channel, certificate: Certificate) -> Parts:
    """A column that keeps its shares."""
    target = data.target
    if isinstance(target, MetricPrivacy):
        parts = _near(data, target, channel, certificate)
    else:
        parts = _tables.local(target, channel, certificate)
    cost = plain(0.0 - certificate.utility[0])
    what = (
        f"{cost} of the values change"
        if isinstance(data.distortion, str)
        else f"A change costs {cost} on average"
    )
    kept = f"; so do {len(data.tables)} tables with other columns" if data.tables else ""
    useful = f"On average {what}" if isinstance(data.distortion, str) else what
    return replace(
        parts,
        useful=f"{useful}; {STAYS}{kept}",
        numbers={**parts.numbers, "utility": certificate.utility[0]},
    )


def _near(
    data: PostRandomisationData, target: MetricPrivacy, channel: Channel, certificate: Certificate
) -> Parts:
    """Values of which near ones stay alike."""
    joint = target.p[:, None] * channel.matrix
    guesses = of_joint(joint)
    single, worst = worst_sentence(joint, "the column", data.symbols, say.written_releases(channel))
    numbers = {**worst, **say.guess_numbers(guesses)}
    bound = "The release may show the value: no bound was set"
    if data.epsilon < math.inf:
        apart = pictured(target)
        numbers = {**numbers, "factor": math.exp(min(data.epsilon * apart, 700.0))}
        bound = (
            f"Whatever is released, it is at most {times(data.epsilon * apart)} times as likely for one value as for any other "
            f"within {length(apart, target.metric.unit)}"
        )
    return Parts(
        say.against(
            "how it was made, and anything at all of how people are spread",
            f"the value of each record ({listed(data.symbols)})",
        ),
        bound,
        say.NOTHING_ASSUMED,
        say.ONCE,
        "",
        single,
        guessed=say.guess_sentence("the value", guesses),
        numbers=numbers,
    )
