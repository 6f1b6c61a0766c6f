"""Redaction in the suites: frost days, random chains, and external data sets where they are present."""

from __future__ import annotations

import csv
import gzip
import os
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from pathlib import Path

import numpy as np

from privopt.benchmarks.data.external import FOLDER, external_sets, load_external
from privopt.benchmarks.data.shipped import LETTERS, seattle_weather
from privopt.benchmarks.runner.suite import Instance, InstanceSet, Records, Showcase, register_instances
from privopt.benchmarks.runner.vocabulary import Reference
from privopt.models import MarkovChain
from privopt.problems.redaction.problem import Redaction

MONTH = (2013, 1)
DAYS = 31


@cache
def frost_chain() -> MarkovChain:
    """The chain of frosts, fitted on all days, started from its stationary distribution.

    Examples
    --------
    >>> frost_chain().counts
    ((1345, 28), (27, 60))
    """
    return MarkovChain.fit([seattle_weather().frost()], states=LETTERS)


def month() -> tuple[Instance, ...]:
    """The private day in the middle of a month, at its start, and among four days."""
    chain = frost_chain()
    return (
        Instance(
            "month-middle",
            DAYS,
            Redaction(chain, DAYS, DAYS // 2, 1.0),
            title="A month, a day in the middle private",
            note=f"{DAYS} days",
        ),
        Instance(
            "month-start",
            DAYS,
            Redaction(chain, DAYS, 0, 1.0),
            title="A month, its first day private",
            note=f"{DAYS} days",
        ),
        Instance(
            "four-days",
            4,
            Redaction(chain, 4, 1, 1.0),
            title="Four days, the second one private",
            note="4 days",
        ),
    )


def years() -> tuple[Instance, ...]:
    """A month, a year and four years of days, one in the middle of them private."""
    return tuple(
        Instance(f"frost-{n}", n, Redaction(frost_chain(), n, n // 2, 1.0), "frost") for n in (31, 365, 1461)
    )


def sentences() -> tuple[str, ...]:
    """What the data and the chain are, with the fitted numbers."""
    (_, alpha), (beta, _) = frost_chain().transition.tolist()
    days = len(seattle_weather().dates)
    data = (
        "Weather stands in for a personal stream: each day of Seattle from 2012 to 2015 (public-domain NOAA data) is a "
        "record that says frost (minimum 0 °C or less) or mild. Read it as a diary in which one day is private, "
        "and whose other days give it away because they depend on it."
    )
    model = (
        f"The distribution of the records is a two-state Markov chain fitted on {days} days: after a mild day a frost comes with "
        f"probability α = {alpha:.4f}, after a frost a mild day with probability β = {beta:.4f}; the second eigenvalue "
        f"is λ = {1 - alpha - beta:.4f}, so frosts come in runs. One chain for all seasons is a simplification: every "
        "certificate below is a proof for this chain, not for the weather."
    )
    problem = (
        "The problem is which days to hide, and how often, so that the release shifts the odds of frost on the private "
        "day by a factor of at most e^ε; the utility is the expected share of days released."
    )
    return data, model, problem


def records() -> Records:
    """The month that is released."""
    weather = seattle_weather().month(*MONTH)
    days = tuple(day.isoformat() for day in weather.dates)
    return Records("January 2013 in Seattle", "date", days, "frost", weather.frost())


SHOWCASE = Showcase("month-middle", 1.0, "windows", "hides a window whatever the data say", records)
"""The released mechanism of the quick suite."""


LENGTHS = (4, 10, 30, 100, 300, 1000, 3000, 10_000)
SAMPLES = 12


def random_chain(seed: int, k: int = 2, least: float = 0.02) -> MarkovChain:
    """A stationary chain: of two states with switching probabilities log-uniform in [least, 1/2], else Dirichlet.

    Examples
    --------
    >>> random_chain(0, k=3).k
    3
    """
    rng = np.random.default_rng([k, seed])
    if k > 2:
        return MarkovChain.normalised(rng.dirichlet(np.ones(k), size=k))
    alpha, beta = np.exp(rng.uniform(np.log(least), np.log(0.5), 2)).tolist()
    return MarkovChain.normalised([[1 - alpha, alpha], [beta, 1 - beta]])


def of_all_kinds() -> tuple[Instance, ...]:
    """Two states from 4 to 10,000 records, three states, several private records, sequential mechanisms."""
    two = [Instance(f"random-{n}", n, Redaction(random_chain(n), n, n // 2, 1.0), "random") for n in LENGTHS]
    start = [
        Instance(f"start-{n}", n, Redaction(random_chain(n), n, 0, 1.0), "start") for n in (4, 100, 10_000)
    ]
    three = [
        Instance(f"three-states-{n}", n, Redaction(random_chain(n, 3), n, n // 2, 1.0), "three-states")
        for n in (4, 10, 30)
    ]
    several = [
        Instance(
            f"two-private-{n}", n, Redaction(random_chain(n), n, (n // 4, 3 * n // 4), 1.0), "two-private"
        )
        for n in (7, 30, 100)
    ]
    sequential = [
        Instance(
            f"sequential-{n}", n, Redaction(random_chain(n), n, n // 2, 1.0, form="sequential"), "sequential"
        )
        for n in (6, 30)
    ]
    return (*two, *start, *three, *several, *sequential)


def for_back_ends() -> tuple[Instance, ...]:
    """Chains of every speed of mixing, short and longer, on which a tolerance of 1e-9 can matter."""
    return tuple(
        Instance(
            f"sample-{n}-{seed}",
            n,
            Redaction(random_chain(seed, least=1e-4), n, n // 2, 1.0),
            f"sample-{seed}",
        )
        for n in (6, 12, 40)
        for seed in range(SAMPLES)
    )


def growing() -> tuple[Instance, ...]:
    """Families in which only the length, the number of states, or that of private records grows."""
    slow = MarkovChain([[0.98, 0.02], [0.3, 0.7]])
    length = [
        Instance(f"length-{n}", n, Redaction(slow, n, n // 2, 1.0), "length")
        for n in (2**i for i in range(2, 15))
    ]
    states = [
        Instance(f"states-{k}", k, Redaction(random_chain(0, k), 12, 6, 1.0), "states") for k in (3, 4, 6, 9)
    ]
    private = [
        Instance(f"private-{m}", m, Redaction(slow, 48, tuple(range(0, 48, 48 // m)), 1.0), "private")
        for m in (1, 2, 3, 4, 6)
    ]
    return (*length, *states, *private)


INTERVALS = 288
"""Intervals of five minutes in a day."""


def external() -> tuple[Instance, ...]:
    """Visits to a news site, clicks on a portal, and intervals of a day with steps, where present.

    Raises
    ------
    FileRefused
        If a file is present but not the one that is meant.
    """
    return tuple(instance for name, make in _MAKERS.items() if _present(name) for instance in make(name))


def _present(name: str) -> bool:
    folder = os.environ.get(FOLDER, "")
    return folder != "" and (Path(folder) / external_sets()[name].file).is_file()


def _clicks(name: str) -> Iterator[Instance]:
    """Sequences of states, one a line; states that are never left get half a count of everything."""
    path = load_external(name)
    opener = gzip.open if path.suffix == ".gz" else open
    with opener(path, "rt", encoding="utf-8") as stream:
        sequences = [line.split() for line in stream if line.strip()]
    chain = MarkovChain.fit(sequences, smoothing=0.5)
    for n in (10, 100):
        yield Instance(f"{name}-{n}", n, Redaction(chain, n, n // 2, 1.0), name)


def _steps(name: str) -> Iterator[Instance]:
    """Whether a person walked in each five minutes; a missing measurement ends a sequence."""
    with load_external(name).open(encoding="utf-8", newline="") as stream:
        steps = [row["steps"] for row in csv.DictReader(stream)]
    days: list[list[str]] = [[]]
    for value in steps:
        if value == "NA":
            days.append([])
        else:
            days[-1].append("walks" if float(value) > 0 else "rests")
    chain = MarkovChain.fit([day for day in days if day], states=("rests", "walks"))
    for n in (INTERVALS // 12, INTERVALS):
        yield Instance(f"{name}-{n}", n, Redaction(chain, n, n // 2, 1.0), name)


_MAKERS: dict[str, Callable[[str], Iterator[Instance]]] = {
    "activity": _steps,
    "kosarak-reduced16": _clicks,
    "msnbc323": _clicks,
}


def solvers() -> tuple[Instance, ...]:
    """Random and real, from 4 to 10,000 records."""
    return (*of_all_kinds(), *years(), *external())


def about(suite: str) -> Sequence[str]:
    """Where the instances come from."""
    if suite == "quick":
        return sentences()
    real = " Frost days of Seattle and external data sets are real." if suite == "solvers" else ""
    problem = "Redaction: which records of a Markov chain to hide so that the private ones stay private."
    chains = f"Its chains are random, each from a fixed seed, with switching probabilities log-uniform.{real}"
    return problem, chains


register_instances(
    InstanceSet(
        question="redaction",
        quick=month,
        solvers=solvers,
        certification=for_back_ends,
        scaling=growing,
        about=about,
        reference=Reference("windows", "hiding a fixed window"),
    )
)
