"""Ways of a Markov chain through one batch of letters, as arrays."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from privopt.arrays import Floats, Ints
from privopt.errors import InvalidModel
from privopt.files.labels import Labels
from privopt.models import MarkovChain


@dataclass(frozen=True, eq=False)
class Paths:
    """Every way through a batch that its first state allows.

    Parameters
    ----------
    first, last : int array (paths,)
        States at the first and at the last letter.
    letters : int array (paths, width)
        Positions in the alphabet of the releases.
    words : int array (paths,)
        The letters as digits of one number, the first the most significant.
    probability : array (paths,)
        Given the first state.
    """

    first: Ints
    last: Ints
    letters: Ints
    words: Ints
    probability: Floats


def letters_of(chain: MarkovChain, alphabet: Labels) -> Ints:
    """Position in the alphabet of the present letter of each state: the last one of its word.

    Raises
    ------
    InvalidModel
        If a letter of the chain is not in the alphabet.

    Examples
    --------
    >>> letters_of(MarkovChain([[0.5, 0.5], [0.5, 0.5]], states=["a", "b"]), ("b", "a")).tolist()
    [1, 0]
    """
    place = {letter: i for i, letter in enumerate(alphabet)}
    present = [state[-1] if chain.order > 1 and isinstance(state, tuple) else state for state in chain.states]
    strange = [letter for letter in present if letter not in place]
    if strange:
        raise InvalidModel(
            f"the chain has the letter {strange[0]!r}, which no kernel reads; give chains of the same letters"
        )
    return np.array([place[letter] for letter in present], dtype=np.int64)


def paths(chain: MarkovChain, record: int, width: int, alphabet: Labels) -> Paths:
    """The ways of the chain through ``width`` letters from a record on.

    Examples
    --------
    >>> chain = MarkovChain([[0.5, 0.5], [1.0, 0.0]])
    >>> found = paths(chain, 0, 2, (0, 1))
    >>> found.letters.tolist(), found.probability.tolist()
    ([[0, 0], [0, 1], [1, 0]], [0.5, 0.5, 1.0])
    """
    present = letters_of(chain, alphabet)
    first = last = np.arange(chain.k)
    probability, letters = np.ones(chain.k), present[:, None]
    for i in range(1, width):
        step = chain.step(record + i - 1)
        way, state = np.nonzero(step[last])
        probability = probability[way] * step[last[way], state]
        first, letters = first[way], np.column_stack([letters[way], present[state]])
        last = state
    digits = len(alphabet) ** np.arange(width - 1, -1, -1, dtype=np.int64)
    return Paths(first, last, letters, letters @ digits, probability)
