"""What there is to say of releases of records that depend on each other: redactions, policies, noisy answers, colourings."""

from __future__ import annotations

import math
from itertools import islice

import numpy as np

from privopt.core.certificate import Certificate
from privopt.measures.sequence.composition import composition
from privopt.measures.sequence.total import DELTA
from privopt.mechanisms import Colouring, NoisyQuery, RedactionMechanism, SequencePolicy
from privopt.models import GaussianModel, GroupModel
from privopt.problems.bayesian_privacy.data import BayesianPrivacyData
from privopt.problems.boundary_colouring.data import ColouringData
from privopt.problems.redaction.data import RedactionData
from privopt.problems.redaction.least import releases_nothing
from privopt.problems.sequence_information_privacy.data import SequenceData
from privopt.problems.sequence_information_privacy.leakage import read
from privopt.publication import parts as say
from privopt.publication.guesses import Guesses, from_odds, of_policy, of_redaction
from privopt.publication.parts import Parts
from privopt.publication.words import LARGEST, listed, one, plain, share, times

STEPS = "It is assumed that each record depends on the one before it exactly as the problem writes"
OVER_SET = "It is assumed that each record depends on the one before it as some chain of the set of the problem says, at each step perhaps another"


def redaction(data: RedactionData, mechanism: RedactionMechanism, certificate: Certificate) -> Parts:
    """Records that are hidden or shown."""
    which = _private(data)
    if data.chain.columns is not None:
        which = f"{one(data.chain.columns.record.name)} of {which}"
    others = "but none of the records" if data.side_information is None else "and any other records besides"
    finite = data.epsilon < math.inf
    shown = certificate.utility[0]
    useful = f"On average {share(max(0.0, shown))} of the records are shown, just as they are; the others are hidden"
    if releases_nothing(data, mechanism):
        useful = "Every record is hidden"
    guesses = _guess_record(data, mechanism)
    numbers = {"utility": shown, **say.guess_numbers(guesses)}
    if finite:
        numbers["factor"] = math.exp(min(data.epsilon, 700.0))
    return Parts(
        say.against(
            f"how records depend on each other and how it was made, {others}",
            which,
        ),
        f"Whatever is shown, the odds between two of its values are at most {times(data.epsilon)} times what they were"
        if finite
        else say.Names().nothing,
        OVER_SET if data.robust else STEPS,
        "It is for one release of this sequence, and for places that were chosen without looking at it: a second draw, another sequence that hangs on it, or data kept beside it can undo it",
        useful,
        guessed=say.guess_sentence(
            "the private record" if len(data.private) == 1 else "the most exposed private record", guesses
        ),
        numbers=numbers,
    )


def _private(data: RedactionData) -> str:
    """The private records in words: by their places in a period where they come again in each."""
    named = [str(p) for p in data.named_private]
    which = f"record {named[0]}" if len(named) == 1 else f"each of the records {say.named(named)}"
    if data.period is None:
        return f"{which} of {data.length}, counted from 0"
    return f"{which} of every {data.period}, counted from 0, in {data.length} records"


def _guess_record(data: RedactionData, mechanism: RedactionMechanism) -> Guesses:
    """Of the private record that the release helps to guess most."""
    guesses = []
    for record in data.private:
        before = float(data.chain.marginal(record).max())
        exact = of_redaction(data.chain, record, mechanism) if data.side_information is None else None
        guesses.append(exact or from_odds(data.epsilon, before))
    return max(guesses, key=lambda g: g.after - g.before)


def sequence(data: SequenceData, policy: SequencePolicy, certificate: Certificate) -> Parts:
    """A stream that is released as it comes."""
    level, spent = data.batch * data.epsilon, data.span * data.epsilon
    unit = "letter" if data.batch == 1 else f"word of {data.batch} letters"
    numbers: dict[str, float] = {}
    bound, total = f"A release may show its {unit}: no bound was set", ""
    if level < math.inf:
        bound = f"With each {unit} released, any course of the data is at most {times(level)} times as likely, or as unlikely, as before it"
        numbers |= {"factor": math.exp(min(level, 700.0)), "total": math.exp(min(spent, 700.0))}
        total = _total(data)
    matrix = np.asarray(1.0 - np.eye(2)) if data.distortion == "hamming" else np.array([[2.0]])
    reading = read(data, policy)
    simulated = None if reading.exact else reading.utility
    useful, numbers_of_use = say.cost_useful(certificate, matrix, "A released letter", simulated=simulated)
    numbers |= numbers_of_use
    guesses = of_policy(policy, data.span)
    return Parts(
        say.against(
            "all releases so far and how they were made",
            f"what a stream of {_letters(data)} was ({listed(data.chain.letters)})",
        ),
        bound,
        OVER_SET if data.robust else STEPS,
        "What else is known of the data, a second draw of the same letters, and streams that move in another way are not covered",
        useful,
        guessed=say.guess_sentence("the letters of a stream", guesses),
        total=total,
        numbers={**numbers, **say.guess_numbers(guesses)},
    )


def _total(data: SequenceData) -> str:
    """What all releases of a stream tell together: always, and but for a small chance."""
    levels = [release.length * data.epsilon for release in islice(data.releases(), data.span)]
    always, usually = composition(levels), composition(levels, DELTA)
    over = f"The bounds of all releases multiply: over {data.span} records a course of the data can become"
    if usually >= always * (1 - 1e-9) or (always > math.log(LARGEST) and usually > math.log(LARGEST)):
        return f"{over} {_at_most(always)} as likely"
    return f"{over} {_at_most(always)} as likely, and save in one case in a million {_at_most(usually)}"


def _at_most(nats: float) -> str:
    """A factor that is not exceeded, where that is worth a number."""
    return f"{times(nats)} times" if nats > math.log(LARGEST) else f"at most {times(nats)} times"


def _letters(data: SequenceData) -> str:
    """What the letters of a stream are called."""
    return "letters" if data.chain.columns is None else one(data.chain.columns.record.name)


def noise(data: BayesianPrivacyData, query: NoisyQuery, certificate: Certificate) -> Parts:
    """A number with noise."""
    model = data.model
    if isinstance(model, GroupModel):
        assumed = f"It is assumed that at most {model.size} records depend on each other, in whatever way"
    elif isinstance(model, GaussianModel):
        assumed = (
            "It is assumed that records vary together exactly as the bell-shaped model in the problem writes"
        )
    else:
        assumed = STEPS
    inside = ""
    if isinstance(model, GaussianModel) and data.scope == "targets_in_interval" and data.clip is not None:
        inside = f" between {plain(data.clip[0])} and {plain(data.clip[1])}"
    error = -certificate.utility[0] + 0.0
    useful = f"The noise makes the {query.name} wrong by {plain(error)} on average, in the unit of the data"
    if query.constant or error == math.inf:
        useful = "The answer does not read the data at all: a larger budget is needed for one that does"
    guesses = from_odds(data.epsilon)
    return Parts(
        say.against(
            "how records depend on each other, and even all the other records",
            f"the value of every single record{inside}",
        ),
        f"Whatever is answered, one of two values of a record is at most {times(data.epsilon)} times as likely against the other as before"
        if data.epsilon < math.inf
        else say.Names().nothing,
        assumed,
        "It is for one answer, further answers about the same data add up, and values outside of what is assumed are not covered",
        useful,
        guessed=say.guess_sentence("which of two equally likely values a record has", guesses),
        numbers={
            "factor": math.exp(min(data.epsilon, 700.0)),
            "utility": certificate.utility[0],
            **say.guess_numbers(guesses),
        },
    )


def colouring(data: ColouringData, mechanism: Colouring, certificate: Certificate) -> Parts:
    """A randomised answer about a dataset."""
    but = f"But for {share(data.delta)} of cases at most, any" if data.delta > 0 else "Any"
    guesses = from_odds(data.epsilon, delta=data.delta)
    right = certificate.utility[0]
    what = "at worst" if data.objective == "worst_case" else "on average over the datasets"
    return Parts(
        say.against(
            "everything but which of two neighbouring datasets was used",
            "whatever neighbouring datasets differ in, as one person's entry",
        ),
        f"{but} answer is at most {times(data.epsilon)} times as likely from a dataset as from a neighbour of it",
        f"It is assumed only that neighbours are the pairs that the graph of {data.graph.size} datasets joins ({data.graph.edge_count} in all)",
        "Datasets that are not in the graph or not neighbours are covered less or not at all, nor is a second answer about the same data",
        f"The answer is right in {share(min(1.0, max(0.0, right)))} of cases {what}",
        guessed=say.guess_sentence("which of two neighbouring datasets was used", guesses),
        numbers={
            "factor": math.exp(data.epsilon) if data.epsilon < 700 else math.inf,
            "utility": right,
            **({"exception": data.delta} if data.delta > 0 else {}),
            **say.guess_numbers(guesses),
        },
    )
