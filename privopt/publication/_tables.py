"""What there is to say of releases drawn from tables: channels and mergings of a useful symbol."""

from __future__ import annotations

import math

from privopt.core.certificate import Certificate
from privopt.measures.shannon import entropy
from privopt.mechanisms import Channel
from privopt.models import JointAmbiguity
from privopt.models.channel_data import Release
from privopt.problems.belief_release.data import BeliefData
from privopt.problems.distortion_privacy.data import DistortionData
from privopt.problems.local_information_privacy.data import LocalInformationPrivacyData
from privopt.problems.local_information_privacy.divergences import NOTIONS
from privopt.problems.trade_off.data import TradeOffData
from privopt.publication import parts as say
from privopt.publication.guesses import of_joint
from privopt.publication.parts import Parts
from privopt.publication.words import listed, one, plain, share, times
from privopt.publication.worst import worst_sentence

KNOWS = "how it was made and how people are spread, but nothing else about the record"
KNOWS_PEOPLE = "how it was made, and anything at all of how people are spread"


def local(data: LocalInformationPrivacyData, release: Release, certificate: Certificate) -> Parts:
    """Bounds on every single release."""
    observation = data.observation
    budget = math.inf if certificate.kind == "utility" else certificate.budget
    names = say.names_of(data.joint)
    bound, numbers = (
        _bound(data, budget, names),
        {} if budget == math.inf or data.notion in NOTIONS else {"factor": math.exp(min(budget, 700.0))},
    )
    if budget < math.inf and (data.per_value is not None or data.notion in NOTIONS):
        bound = f"{certificate.statement[0].upper()}{certificate.statement[1:]}"
    if budget < math.inf and data.delta > 0:
        bound = f"But for {share(data.delta)} of cases at most, {bound[0].lower()}{bound[1:]}"
        numbers["exception"] = data.delta
    if isinstance(data.utility, str):
        useful, more = say.information_useful(certificate, observation.p_x, names, say.how_read(data.joint))
    elif data.matrix is not None:
        useful, more = say.cost_useful(certificate, data.matrix)
    else:
        useful = f"The cost that the problem declares is {plain(-certificate.utility[0])} on average"
        more = {"utility": certificate.utility[0]}
    free = data.notion == "ldp" and data.delta == 0 and budget < math.inf and observation.is_whole
    return _table(data, release, bound, useful, {**numbers, **more}, free=free)


def _bound(data: LocalInformationPrivacyData, budget: float, names: say.Names) -> str:
    if budget == math.inf:
        return names.nothing
    if data.notion == "ldp":
        return f"Any release is at most {times(budget)} times as likely for one value of {names.secret} as for another"
    if min(data.upper, data.lower) == 0:
        return f"No release changes how likely any value of {names.secret} is: at most 1 times as likely as before"
    if data.upper == data.lower:
        return names.bound(f"at most {times(data.upper)} times as likely, or as unlikely,")
    sides = []
    if data.upper < math.inf:
        sides.append(f"at most {times(data.upper)} times as likely")
    if data.lower < math.inf:
        sides.append(f"at most {times(data.lower)} times as unlikely")
    other = "" if len(sides) == 2 else "; the other way nothing is promised"
    return f"{names.bound(' and '.join(sides))}{other}"


def _table(
    data: LocalInformationPrivacyData | DistortionData | TradeOffData,
    release: Release,
    bound: str,
    useful: str,
    numbers: dict[str, float],
    *,
    free: bool = False,
    average: bool = False,
) -> Parts:
    """What all releases of tables share; ``free`` where the bound holds however people are spread, ``average`` where it is on one."""
    observation, counted = data.observation, isinstance(data.joint, JointAmbiguity)
    guesses, names = say.guesses_of(observation, release), say.names_of(data.joint)
    single, worst = say.worst_single(observation, release, names, average=average, counted=counted)
    return Parts(
        say.against(KNOWS_PEOPLE if free else KNOWS, say.secret_of(observation, names)),
        bound,
        say.NOTHING_ASSUMED if free else say.assumption_of(data.joint, observation),
        say.ONCE,
        useful,
        single,
        say.guess_sentence(f"{names.secret} of a record", guesses, counted=counted),
        numbers={**numbers, **worst, **say.guess_numbers(guesses)},
    )


def distortion(data: DistortionData, release: Release, certificate: Certificate) -> Parts:
    """A bound on the cost or on the leakage, which may be an average."""
    bounded, names = data.max_leakage is not None, say.names_of(data.joint)
    level = certificate.budget if bounded else certificate.leakage[1]
    useful, numbers = say.cost_useful(certificate, data.matrix, unit=data.unit)
    if not bounded and certificate.budget < math.inf:
        unit = "" if data.unit is None else f" {one(data.unit)}"
        useful += f", where at most {plain(certificate.budget)}{unit} was asked for"
        numbers["budget"] = certificate.budget
    if data.order is None:
        ldp = f"Any release is at most {times(level)} times as likely for one value of {names.secret} as for another"
        lip = names.bound(f"at most {times(level)} times as likely, or as unlikely,")
        bound = names.nothing if level == math.inf else ldp if data.leakage == "ldp" else lip
        numbers["factor"] = math.exp(min(level, 700.0))
    else:
        bound, more = _average(data, level, names)
        numbers.update(more)
    free = data.leakage == "ldp" and level < math.inf and data.observation.is_whole
    return _table(data, release, bound, useful, numbers, free=free, average=data.order is not None)


def _average(data: DistortionData, level: float, names: say.Names) -> tuple[str, dict[str, float]]:
    """The bound on an average, by its order."""
    if level == math.inf:
        return names.nothing, {}
    if data.order == math.inf:
        return (
            f"On average over releases, the chance to guess anything that hangs on {names.secret} grows at most {times(level)} times",
            {"factor": math.exp(min(level, 700.0))},
        )
    most = entropy(data.observation.p_s)
    if data.order == 1.0:
        return (
            f"On average over releases, a release says at most {say.of_most(level, most)} about {names.secret}",
            {"leakage": level},
        )
    return (
        f"On average over releases, an order-{plain(data.order or 0.0)} mean of what is said about {names.secret} is at most {plain(level / say.BIT)} bits",
        {"leakage": level},
    )


def trade_off(data: TradeOffData, release: Release, certificate: Certificate) -> Parts:
    """Funnels, where S is the secret, and bottlenecks, where S is what is to be told."""
    observation = data.observation
    leakage = certificate.budget if data.is_cap and data.is_funnel else certificate.leakage[1]
    secret, most = entropy(observation.p_s), entropy(observation.p_x)
    names = say.names_of(data.joint)
    if data.is_funnel:
        bounded = "at most" if data.is_cap else "about"
        bound = f"On average over releases, a release says {bounded} {say.of_most(leakage, secret)} about {names.secret}"
        bound = bound if leakage < math.inf else names.nothing
        useful, numbers = say.information_useful(
            certificate, observation.p_x, names, say.how_read(data.joint)
        )
        return _table(data, release, bound, useful, {**numbers, "leakage": leakage}, average=True)
    known = data.joint.columns is not None
    value, wanted = (names.useful, names.secret) if known else ("the value itself", "what is asked for")
    rate, told = certificate.leakage[1], max(0.0, certificate.utility[0])
    guesses = say.guesses_of(observation, release)
    return Parts(
        "Nothing is kept secret: the release is a short description of a value, made to say what is asked for",
        f"On average over releases, it says at most {say.of_most(rate, most)} about {value}",
        say.table_assumption(observation),
        "Nothing is promised about a single release, about a second draw of the same record, or about columns kept beside it",
        f"About {wanted}, the release says {say.of_most(told, secret)}",
        guessed=say.guess_sentence(wanted, guesses),
        numbers={"rate": rate, "told": told, **say.guess_numbers(guesses)},
    )


def belief(data: BeliefData, channel: Channel, certificate: Certificate) -> Parts:
    """One letter of a sequence."""
    joint = data.p[:, None] * channel.matrix
    guesses = of_joint(joint)
    useful, numbers = say.cost_useful(certificate, data.matrix, "A released letter")
    single, worst = worst_sentence(joint, "the letter", data.letters, say.written_releases(channel))
    bound = (
        f"Whatever is released, a letter is at most {times(data.epsilon)} times as likely, or as unlikely, as before"
        if data.epsilon < math.inf
        else "The release may show the letter: no bound was set"
    )
    if data.epsilon < math.inf:
        numbers["factor"] = math.exp(min(data.epsilon, 700.0))
    return Parts(
        say.against(
            "how it was made and what all earlier releases said",
            f"one letter of a sequence ({listed(data.letters)})",
        ),
        bound,
        "It is assumed that the letter is as likely as the problem writes, given everything that was released before",
        "It is for one letter and one draw: what earlier and later releases say comes on top, and so does a second draw",
        useful,
        single,
        guessed=say.guess_sentence("the letter", guesses),
        numbers={**numbers, **worst, **say.guess_numbers(guesses)},
    )
