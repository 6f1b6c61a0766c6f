"""What there is to say of a release in plain words, by the kind of its problem."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from privopt.arrays import Floats
from privopt.core.certificate import Certificate
from privopt.measures.shannon import entropy
from privopt.models import JointAmbiguity
from privopt.models.channel_data import JointOrSet, Observation, Release
from privopt.publication.guesses import SIMULATED, Guesses, of_joint
from privopt.publication.words import listed, one, plain, share
from privopt.publication.worst import worst_sentence

BIT = math.log(2.0)
NOTHING = "Nothing is promised about {secret}: no bound was set"


@dataclass(frozen=True)
class Names:
    """What the secret and the useful value are called: by their columns where the model remembers them.

    Parameters
    ----------
    secret, useful : str

    Examples
    --------
    >>> Names().bound("at most 1.35 times as likely")
    'Whatever is released, a value of the secret is at most 1.35 times as likely as before'
    """

    secret: str = "the secret"
    useful: str = "the useful value"

    def bound(self, said: str) -> str:
        """That whatever is released, no value of the secret changes more than this."""
        return f"Whatever is released, a value of {self.secret} is {said} as before"

    @property
    def nothing(self) -> str:
        """That there is no bound."""
        return NOTHING.format(secret=self.secret)


def names_of(joint: JointOrSet) -> Names:
    """The names of the columns that a joint distribution was counted from, or words for them."""
    if joint.columns is None:
        return Names()
    return Names(
        *(named([column.name for column in role]) for role in (joint.columns.sensitive, joint.columns.useful))
    )


def how_read(joint: JointOrSet) -> str:
    """What was lost when the useful columns were read, before any protection; empty where nothing was, or nothing is known of it.

    Examples
    --------
    >>> import pandas as pd, privopt as po
    >>> frame = pd.DataFrame({"s": ["a", "b"] * 4, "x": [1.0, 2, 3, 4, 5, 6, 7, 8]})
    >>> how_read(po.JointDistribution.from_frame(frame, "s", "x", bins={"x": "equal:2"}))
    'after numbers were put into intervals'
    """
    counted = joint.nominal if isinstance(joint, JointAmbiguity) else joint
    columns = counted.columns
    if columns is None:
        return ""
    done = ["numbers were put into intervals"] * any(column.kind == "binned" for column in columns.useful)
    rare = bool(columns.minimum_count) and columns.rare in counted.useful
    done += ["rare combinations were made one"] * rare
    return f"after {' and '.join(done)}" if done else ""


def named(columns: Sequence[str], most: int = 4) -> str:
    """Names of columns in a sentence.

    Examples
    --------
    >>> named(["age"]), named(["age", "sex", "town"]), named("abcdefg")
    ('age', 'age, sex and town', 'a, b, c and 4 more')
    """
    shown = [one(name) for name in columns]
    if len(shown) > most:
        shown = [*shown[: most - 1], f"{len(shown) - most + 1} more"]
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}"


@dataclass(frozen=True)
class Parts:
    """The sentences of an explanation, without their full stops, in their order; empty ones are left out.

    Parameters
    ----------
    who : str
        Who or what is protected, and against whom.
    bound : str
        How much a release may change.
    single : str
        Which single release raises the belief in what is private most, and how far.
    assumed, uncovered, useful, guessed, total : str
    numbers : mapping
        The numbers that the sentences show, before they were rounded.
    """

    who: str
    bound: str
    assumed: str
    uncovered: str
    useful: str
    single: str = ""
    guessed: str = ""
    total: str = ""
    numbers: Mapping[str, float] = field(default_factory=dict)

    def sentences(self) -> tuple[str, ...]:
        """Those that are not empty."""
        said = (
            self.who, self.bound, self.single, self.assumed, self.uncovered, self.useful, self.guessed, self.total,
        )  # fmt: skip
        return tuple(f"{text}." for text in said if text)


NOTHING_ASSUMED = (
    "Nothing is assumed of how people are spread: only how useful the release is, what is believed of a record, and how often guesses are right, "
    "hangs on the shares in the problem"
)


ONCE = "It holds for one release of each record: a second draw of the same record, or other columns kept beside the release, can undo it"


def against(whom: str, secret: str) -> str:
    """The sentence on who is protected."""
    return f"What is protected is {secret}, against anyone who sees the release and knows {whom}"


def guess_sentence(what: str, guesses: Guesses, *, counted: bool = False) -> str:
    """The sentence on the best guess; ``counted`` where people may be spread otherwise than it is computed for."""
    said = _guess_sentence(what, guesses)
    return f"If people are spread as they were counted, {said[0].lower()}{said[1:]}" if counted else said


def _guess_sentence(what: str, guesses: Guesses) -> str:
    if math.isclose(guesses.before, guesses.after, rel_tol=1e-9):
        return f"Whoever guesses {what} is right in {share(guesses.before)} of cases, and the release does not help"
    most = {"bound": "at most ", SIMULATED: "about "}.get(guesses.how, "")
    said = f"Whoever guesses {what} is right in {share(guesses.before)} of cases without the release, and in {most}{share(guesses.after)} with it"
    if guesses.interval is None:
        return said
    low, high = guesses.interval
    return f"{said} (simulated: between {share(low)} and {share(high)} with a confidence of 99 %)"


def guess_numbers(guesses: Guesses) -> dict[str, float]:
    """The numbers of :func:`guess_sentence`."""
    low, high = guesses.interval or (None, None)
    more = {} if low is None or high is None else {"guessed low": low, "guessed high": high}
    return {"guessed before": guesses.before, "guessed after": guesses.after, **more}


def table_assumption(observation: Observation) -> str:
    """That the joint table is taken as it is written."""
    rows, columns = observation.leaking.table.shape
    return f"It is assumed that people are spread exactly as the table of {rows} by {columns} shares in the problem says"


def assumption_of(joint: JointOrSet, observation: Observation) -> str:
    """That the table is taken as it is written, or which other distributions the bound holds for as well, and how often.

    Examples
    --------
    >>> from privopt.models import JointAmbiguity
    >>> from privopt.models.channel_data import observation
    >>> near = JointAmbiguity.from_counts([[30, 10], [20, 40]])
    >>> print(assumption_of(near, observation(near.nominal)))
    The bound holds however people are spread, as far as the 100 rows allow: of samples like this one, drawn row by row from the population, 5 % at most do not allow for how it is spread; that the release was made from these very rows is not covered
    """
    if not isinstance(joint, JointAmbiguity):
        return table_assumption(observation)
    if joint.confidence is None:
        return "The bound holds for all the ways in which people may be spread that the problem writes down, and not for one of them only"
    rows = joint.nominal.rows_counted
    counted = "the rows" if rows is None else f"the {rows} rows"
    return (
        f"The bound holds however people are spread, as far as {counted} allow: of samples like this one, drawn row by row from the "
        f"population, {share(1 - joint.confidence)} at most do not allow for how it is spread; that the release was made from these very rows is not covered"
    )


def secret_of(observation: Observation, names: Names) -> str:
    """The secret by its name and values."""
    return f"{names.secret} of each record ({listed(observation.leaking.sensitive)})"


def guesses_of(observation: Observation, release: Release) -> Guesses:
    """The best guess of the secret of one record from its release."""
    return of_joint(observation.leaking_distribution(release))


def written_releases(release: Release) -> list[str]:
    """How each release is written in a table."""
    return [one(tuple(cells)) for cells in release.cells]


def worst_single(
    observation: Observation, release: Release, names: Names, *, average: bool = False, counted: bool = False
) -> tuple[str, dict[str, float]]:
    """Which release raises the belief in which value of the secret most, from what to what, and these numbers.

    ``average`` where the bound is on an average only, ``counted`` where people may be spread otherwise than it is computed for.
    """
    said, numbers = worst_sentence(
        observation.leaking_distribution(release),
        names.secret,
        observation.leaking.sensitive,
        written_releases(release),
    )
    if average and numbers["single"] > 1.0:
        said = f"That is an average, and a single release may say more: {said[0].lower()}{said[1:]}"
    return f"{said}, if people are spread as they were counted" if counted else said, numbers


def of_most(part: float, most: float) -> str:
    """A quantity of information as a part of what there is, in bits."""
    if most <= 0:
        return "there is nothing to say"
    return f"{share(min(1.0, part / most))} of what there is to say ({plain(part / BIT)} of {plain(most / BIT)} bits)"


def information_useful(
    certificate: Certificate, p_x: Floats, names: Names, how: str = ""
) -> tuple[str, dict[str, float]]:
    """How much a release says about the useful value; ``how`` says what of it was lost before, as :func:`how_read` does."""
    low, most = certificate.utility[0], entropy(p_x)
    if low == -math.inf:
        return "", {}
    read = f" {how}" if how else ""
    said = f"About {names.useful}{read}, the release says {of_most(max(low, 0.0), most)}"
    return said, {"utility": low}


def cost_useful(
    certificate: Certificate,
    matrix: Floats,
    what: str = "A released value",
    *,
    unit: str | None = None,
    simulated: float | None = None,
) -> tuple[str, dict[str, float]]:
    """How far a release is from the truth, in the unit of its table of costs; nothing where that is not known.

    A utility that was only simulated is said to be about what it was.
    """
    cost = -(certificate.utility[0] if simulated is None else simulated) + 0.0
    if not math.isfinite(cost):
        return "", {}
    about = "" if simulated is None else "about "
    if unit is not None:
        return f"{what} is off by {about}{plain(cost)} {one(unit)} on average", {"utility": -cost}
    if set(np.unique(matrix)) <= {0.0, 1.0}:
        return f"{what} is wrong in {about}{share(max(0.0, cost))} of cases on average", {"utility": -cost}
    return (
        f"{what} is off by {about}{plain(cost)} on average, in the unit of the table of costs of the problem",
        {"utility": -cost},
    )
