"""What one release of a policy reads: letters, or words of several, and how they follow from the states of a chain."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from privopt.arrays import Bools, Floats, Ints
from privopt.errors import InvalidMechanism
from privopt.models import MarkovChain

MAX_PATHS = 2**20


@dataclass(frozen=True, eq=False)
class Paths:
    """The ways in which the states of a chain spell words of w letters.

    Parameters
    ----------
    states : int array (paths, w)
        Successive states, sorted by the last one.
    word : int array (paths,)
        Position of the word that a path spells.
    words : int array (words, w)
        Positions of letters, in lexicographic order.
    identity : bool
        Whether path i is state i and spells letter i.
    """

    states: Ints
    word: Ints
    words: Ints
    identity: bool


def letter_of(chain: MarkovChain) -> Ints:
    """Position of the last letter of each state."""
    places = {letter: i for i, letter in enumerate(chain.letters)}
    last = [state[-1] if chain.order > 1 and isinstance(state, tuple) else state for state in chain.states]
    return np.array([places[letter] for letter in last], dtype=np.int64)


@lru_cache(maxsize=256)
def reachable(chain: MarkovChain, step: int) -> Bools:
    """Which transition from record ``step`` has a positive probability, exactly; shape (k, k)."""
    rows = chain.exact_step(step)
    return np.array([[weight > 0 for weight in row.weights] for row in rows])


def _ever(chain: MarkovChain) -> Bools:
    """Transitions that some step allows."""
    if chain.max_length is None:
        return reachable(chain, 0)
    found: Bools = np.any([reachable(chain, t) for t in range(chain.max_length - 1)], axis=0)
    return found


@lru_cache(maxsize=64)
def paths(chain: MarkovChain, batch: int) -> Paths:
    """Every path of ``batch`` states that some step allows.

    Raises
    ------
    InvalidMechanism
        If there are more than 2**20.

    Examples
    --------
    >>> found = paths(MarkovChain([[0.5, 0.5], [1.0, 0.0]]), 2)
    >>> found.words.tolist()
    [[0, 0], [0, 1], [1, 0]]
    """
    last = letter_of(chain)
    states: Ints = np.arange(chain.k)[:, None]
    if batch > 1:
        ever = _ever(chain)
        for _ in range(batch - 1):
            grown = int(ever.sum(axis=1)[states[:, -1]].sum())
            if grown > MAX_PATHS:
                raise InvalidMechanism(
                    f"words of {batch} letters follow from more than {MAX_PATHS} paths of states: lower batch"
                )
            at, to = np.nonzero(ever[states[:, -1]])
            states = np.concatenate([states[at], to[:, None]], axis=1)
    states = states[np.argsort(states[:, -1], kind="stable")]
    words, word = np.unique(last[states], axis=0, return_inverse=True)
    same = batch == 1 and chain.order == 1
    return Paths(states, np.asarray(word, dtype=np.int64).ravel(), words, same)


def probabilities(chain: MarkovChain, states: Ints, start: int) -> Floats:
    """Probability of each path given its first state, which is that of record ``start``."""
    found = np.ones(len(states))
    for i in range(states.shape[1] - 1):
        found = found * chain.step(start + i)[states[:, i], states[:, i + 1]]
    return found


def possible(chain: MarkovChain, states: Ints, start: int) -> NDArray[np.bool_]:
    """Which paths have a positive probability, exactly."""
    found = np.ones(len(states), dtype=bool)
    for i in range(states.shape[1] - 1):
        found &= reachable(chain, start + i)[states[:, i], states[:, i + 1]]
    return found
