"""Random redaction instances, reproducible from a generator."""

from __future__ import annotations

import numpy as np

from privopt.models import MarkovChain
from privopt.problems._redaction_side import Floats
from privopt.problems.redaction import Redaction


def binary_chain(rng: np.random.Generator) -> MarkovChain:
    """Stationary, two states, second eigenvalue of either sign."""
    alpha, beta = rng.uniform(0.02, 0.98, 2).tolist()
    return MarkovChain.normalised([[1 - alpha, alpha], [beta, 1 - beta]])


def any_chain(rng: np.random.Generator, k: int, length: int) -> MarkovChain:
    """Stationary, started from another law, or with a matrix for each step."""
    kind = int(rng.integers(3))
    if kind == 0:
        return MarkovChain.normalised(rng.dirichlet(np.ones(k), size=k))
    if kind == 1:
        return MarkovChain.normalised(rng.dirichlet(np.ones(k), size=k), initial=rng.dirichlet(np.ones(k)))
    steps = [rng.dirichlet(np.ones(k), size=k) for _ in range(max(1, length - 1))]
    return MarkovChain.normalised(steps, initial=rng.dirichlet(np.ones(k)))


def question(rng: np.random.Generator, longest: int = 8) -> Redaction:
    """A binary chain of 2 to ``longest`` records, any of them private."""
    length = int(rng.integers(2, longest + 1))
    return Redaction(binary_chain(rng), length, int(rng.integers(length)), float(rng.uniform(0.1, 2.5)))


def table(rng: np.random.Generator, length: int, k: int, private: int) -> Floats:
    """Redaction probabilities with zeros and ones among them; the private record is hidden."""
    found: Floats = rng.random((length, k))
    found[rng.random((length, k)) < 0.2] = 0.0
    found[rng.random((length, k)) < 0.2] = 1.0
    found[private] = 1.0
    return found
