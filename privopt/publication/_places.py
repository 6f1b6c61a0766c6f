"""What there is to say of a release of places in plain words."""

from __future__ import annotations

import math

from privopt.core.certificate import Certificate
from privopt.mechanisms import Channel
from privopt.problems.metric_privacy.certificate import length, pictured
from privopt.problems.metric_privacy.data import MetricData
from privopt.publication import parts as say
from privopt.publication.guesses import of_joint
from privopt.publication.parts import Parts
from privopt.publication.words import listed, plain, times
from privopt.publication.worst import worst_sentence


def places(data: MetricData, channel: Channel, certificate: Certificate) -> Parts:
    """Places of which near ones stay alike."""
    joint = data.p[:, None] * channel.matrix
    guesses = of_joint(joint)
    single, worst = worst_sentence(joint, "the place", data.metric.labels, say.written_releases(channel))
    unit = data.metric.unit
    numbers = {"utility": certificate.utility[0], **worst, **say.guess_numbers(guesses)}
    if data.epsilon == math.inf:
        bound = "The release may show the place: no bound was set"
    else:
        apart = pictured(data)
        numbers["factor"] = math.exp(min(data.epsilon * apart, 700.0))
        bound = (
            f"Whatever is released, it is at most {times(data.epsilon * apart)} times as likely from one place as from any other within "
            f"{length(apart, unit)}"
        )
    loss = plain(0.0 - certificate.utility[0])
    named = data.loss if isinstance(data.loss, str) else ""
    useful = {
        "distance": f"A released place is {loss} {unit} from the true one on average".replace("  ", " "),
        "squared": f"The square of the distance from a released place to the true one is {loss} on average",
    }.get(named, f"A released place costs {loss} on average, in the unit of the problem")
    across = (
        f", and nothing is promised between the {data.component_count} groups of places that are too far from each other"
        if data.component_count > 1
        else ""
    )
    return Parts(
        say.against(
            "how it was made, and anything at all of where people are",
            f"the place of each record ({listed(data.metric.labels)})",
        ),
        bound,
        "Nothing is assumed of where people are: only how near released places are, what is believed of one, and how often guesses are right, "
        "hangs on the shares in the problem",
        f"It is for one place and one draw: places of one journey, and a second draw of the same place, add up{across}",
        useful,
        single,
        guessed=say.guess_sentence("the place", guesses),
        numbers=numbers,
    )
