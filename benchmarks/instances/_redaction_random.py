"""Random redaction questions, the same every time: each has a seed of its own."""

from __future__ import annotations

import numpy as np

from privopt.benchmarks._suites import Instance
from privopt.models import MarkovChain
from privopt.problems.redaction import Redaction

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
