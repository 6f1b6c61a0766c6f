"""The door of a question on Bayesian differential privacy: every refusal a sentence."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TypeAlias, TypeVar

import numpy as np

from privopt.errors import InvalidMechanism, InvalidProblem
from privopt.files.labels import Labels
from privopt.files.numbers import decode_float
from privopt.mechanisms import Query
from privopt.mechanisms.noise import statistics
from privopt.mechanisms.noise import validation as noisy
from privopt.mechanisms.noise.statistics import Asked, Clip
from privopt.models import GaussianModel, GroupModel, MarkovChain

Records: TypeAlias = GaussianModel | GroupModel | MarkovChain
T = TypeVar("T")


def model(given: object) -> Records:
    """A model of dependent records."""
    if not isinstance(given, (GaussianModel, GroupModel, MarkovChain)):
        raise InvalidProblem(
            f"model must be a GaussianModel, a GroupModel or a MarkovChain, got {type(given).__name__}"
        )
    return given


def epsilon(given: object) -> float:
    """A finite number of nats above 0."""
    try:
        value = decode_float(given.item() if isinstance(given, np.generic) else given)
    except ValueError as cause:
        raise InvalidProblem(f"epsilon must be a number of nats > 0: {cause}") from cause
    if not 0 < value < math.inf:
        raise InvalidProblem(f"epsilon must be finite and > 0 nats, got {value}")
    return value


def as_problem(read: Callable[[], T]) -> T:
    """A reading of the mechanism's door, refused as a question."""
    try:
        return read()
    except InvalidMechanism as cause:
        raise InvalidProblem(str(cause)) from cause


def query(given: object, records: Records) -> Asked:
    """A query that these records can answer."""
    found = as_problem(lambda: statistics.read_query(given))
    counts = found == "count" or isinstance(found, tuple)
    if isinstance(records, GaussianModel) and (counts or found == "histogram"):
        raise InvalidProblem(
            f"Gaussian records have no states to count: ask for a sum or a mean, not {found!r}"
        )
    if isinstance(records, GroupModel) and found == "histogram":
        raise InvalidProblem('a GroupModel has no states: ask for ("count", value), a sum or a mean')
    if isinstance(records, MarkovChain) and counts:
        as_problem(lambda: statistics.counted(found, records.states))
    return found


def possible(asked: Asked, records: MarkovChain, gone: Labels) -> Asked:
    """The query, which must not count a state that no record can have; the state at position 1 is named if some are left out."""
    counted = (
        as_problem(lambda: statistics.counted(asked, records.states)) if gone and asked == "count" else None
    )
    found = asked if counted is None else ("count", counted)
    if isinstance(found, tuple) and found[1] in gone:
        raise InvalidProblem(f"no record can be in the state {found[1]!r}: there is nothing to count")
    return found


def clip(given: object, asked: Asked, records: Records) -> Clip | None:
    """The interval that records are clipped to; for a chain of numbers by default the range of its states."""
    found = as_problem(lambda: statistics.read_clip(given))
    if asked not in ("sum", "mean"):
        return found
    if isinstance(records, MarkovChain):
        numbers = [s for s in records.states if isinstance(s, (int, float)) and not isinstance(s, bool)]
        if len(numbers) < len(records.states):
            raise InvalidProblem(
                f"the {asked} needs states that are numbers: ask for a count, or recode them"
            )
        if found is None:
            return as_problem(lambda: statistics.read_clip((min(numbers), max(numbers))))
    if found is None:
        raise InvalidProblem(f"the {asked} needs clip=(lower, upper): without it one record has no limit")
    return found


def length(given: object, asked: Asked, records: Records, noise: str) -> int | None:
    """The number of records; a chain of a list of matrices says it by itself."""
    found = as_problem(lambda: noisy.length(given))
    if isinstance(records, MarkovChain) and not records.homogeneous:
        most = len(records.transition) + 1
        found = most if found is None else found
        if found > most:
            raise InvalidProblem(f"the chain has {most} records, length={found} asks for more")
    if found is None and (asked == "mean" or noise == "randomised_response"):
        raise InvalidProblem(f"the {asked} with {noise} noise needs length=, the number of records")
    return found


def scope(given: object) -> str:
    """Which values of a target are compared."""
    return as_problem(lambda: noisy.scope(given))


def noise(given: object, asked: Asked) -> str:
    """The noise, which must suit the query."""
    return as_problem(lambda: noisy.noise(given, asked))


def is_function(asked: Asked) -> bool:
    """Whether the query is a function of the caller."""
    return isinstance(asked, Query)
