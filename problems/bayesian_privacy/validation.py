"""Argument validation of Bayesian privacy: every refusal a sentence."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TypeAlias

import numpy as np

from privopt.errors import InvalidMechanism, InvalidProblem
from privopt.files.labels import Labels
from privopt.files.numbers import decode_float
from privopt.mechanisms.noise import statistics
from privopt.mechanisms.noise import validation as noisy
from privopt.mechanisms.noise.statistics import AnyQuery, Clip
from privopt.models import ChainAmbiguity, CovarianceAmbiguity, GaussianModel, GroupModel, MarkovChain

Records: TypeAlias = GaussianModel | GroupModel | MarkovChain
Sets: TypeAlias = ChainAmbiguity | CovarianceAmbiguity


def model(value: object, ambiguity: object) -> tuple[Records, Sets | None]:
    """A model of dependent records, and the set of distributions around it if there is one."""
    if isinstance(value, (ChainAmbiguity, CovarianceAmbiguity)):
        return model(value.nominal, value)
    if ambiguity is not None:
        if not isinstance(ambiguity, (ChainAmbiguity, CovarianceAmbiguity)) or ambiguity.nominal != value:
            raise InvalidProblem("the set has another nominal model: give the set itself as the model")
        if isinstance(ambiguity, ChainAmbiguity) and ambiguity.k != 2:
            raise InvalidProblem(
                f"over a set of chains the leakage is known for two states only, these have {ambiguity.k}: merge states"
            )
        return ambiguity.nominal, ambiguity
    if not isinstance(value, (GaussianModel, GroupModel, MarkovChain)):
        raise InvalidProblem(
            "model must be a GaussianModel, a GroupModel, a MarkovChain, a ChainAmbiguity or a CovarianceAmbiguity, got "
            f"{type(value).__name__}"
        )
    return value, None


def epsilon(value: object) -> float:
    """A finite number of nats above 0."""
    try:
        nats = decode_float(value.item() if isinstance(value, np.generic) else value)
    except ValueError as cause:
        raise InvalidProblem(f"epsilon must be a number of nats > 0: {cause}") from cause
    if not 0 < nats < math.inf:
        raise InvalidProblem(f"epsilon must be finite and > 0 nats, got {nats}")
    return nats


@contextmanager
def as_problem() -> Iterator[None]:
    """What is refused as an argument of a mechanism is refused as one of a problem."""
    try:
        yield
    except InvalidMechanism as cause:
        raise InvalidProblem(str(cause)) from cause


def query(value: object, records: Records) -> AnyQuery:
    """A query that these records can answer."""
    statistic = statistics.read_query(value)
    counts = statistic == "count" or isinstance(statistic, tuple)
    if isinstance(records, GaussianModel) and (counts or statistic == "histogram"):
        raise InvalidProblem(
            f"Gaussian records have no states to count: ask for a sum or a mean, not {statistic!r}; a count, and a sum or mean that shares its "
            "ledger, are had for GroupModel(size)"
        )
    if isinstance(records, GroupModel) and records.states is None and statistic == "histogram":
        raise InvalidProblem(
            "a histogram needs the states that it counts: give GroupModel(size, states=[...]), or ask for "
            '("count", value), a sum or a mean'
        )
    if isinstance(records, (MarkovChain, GroupModel)) and records.states is not None and counts:
        statistics.counted(statistic, tuple(records.states))
    return statistic


def possible(statistic: AnyQuery, records: MarkovChain, gone: Labels) -> AnyQuery:
    """The query, which must not count a state that no record can have; the counted state is named if some are left out."""
    if gone and statistic == "count":
        statistic = ("count", statistics.counted(statistic, records.states))
    if isinstance(statistic, tuple) and statistic[1] in gone:
        raise InvalidProblem(f"no record can be in the state {statistic[1]!r}: there is nothing to count")
    return statistic


def clip(value: object, statistic: AnyQuery, records: Records) -> Clip | None:
    """The interval that records are clipped to; for a chain of numbers by default the range of its states."""
    interval = statistics.read_clip(value)
    if statistic not in ("sum", "mean"):
        return interval
    if isinstance(records, MarkovChain):
        numbers = [s for s in records.states if isinstance(s, (int, float)) and not isinstance(s, bool)]
        if len(numbers) < len(records.states):
            raise InvalidProblem(
                f"the {statistic} needs states that are numbers: ask for a count, or recode them"
            )
        if interval is None:
            return statistics.read_clip((min(numbers), max(numbers)))
    if interval is None:
        raise InvalidProblem(f"the {statistic} needs clip=(lower, upper): without it one record has no limit")
    return interval


def length(value: object, statistic: AnyQuery, records: Records, noise: str) -> int | None:
    """The number of records; a chain of a list of matrices says it by itself."""
    count = noisy.length(value)
    if isinstance(records, MarkovChain) and records.period is not None:
        raise InvalidProblem(
            f"the steps of the chain repeat after {records.period} records without end: give model.unrolled(length)"
        )
    if isinstance(records, MarkovChain) and not records.homogeneous:
        most = len(records.transition) + 1
        count = most if count is None else count
        if count > most:
            raise InvalidProblem(f"the chain has {most} records, length={count} asks for more")
    if count is None and (statistic == "mean" or noise == "randomised_response"):
        raise InvalidProblem(f"the {statistic} with {noise} noise needs length=, the number of records")
    return count


def impossible(chain: MarkovChain, length: int | None) -> Labels:
    """The states that no record of a chain can have."""
    support = {i for i, weight in enumerate(chain.exact_initial.weights) if weight}
    seen, t = set(support), 0
    past: set[frozenset[int]] = set()
    while t + 1 < (length or math.inf) and (chain.max_length is None or t + 1 < chain.max_length):
        if chain.homogeneous and (len(seen) == chain.k or frozenset(support) in past):
            break
        past.add(frozenset(support))
        rows = chain.exact_step(t)
        support = {j for i in support for j, weight in enumerate(rows[i].weights) if weight}
        seen |= support
        t += 1
    return tuple(state for i, state in enumerate(chain.states) if i not in seen)
