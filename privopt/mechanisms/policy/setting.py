"""What one release of a policy is about: the letters or words that it reads, what they cost, and its budget."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import product
from typing import TypeAlias

import numpy as np

from privopt.arrays import Bools, Floats, Ints
from privopt.errors import InvalidMechanism
from privopt.files.labels import Labels
from privopt.models import MarkovChain

Matrix: TypeAlias = tuple[tuple[float, ...], ...]
Distortion: TypeAlias = str | Matrix

NAMED = ("hamming", "l1", "squared")
MAX_CELLS = 2**25
MAX_PATHS = 2**20


def distortion(value: object, letters: Labels) -> Distortion:
    """The name of a distortion, or its matrix as tuples, a row a letter.

    Raises
    ------
    InvalidMechanism
        If it is unknown, not finite, of another number of rows, or needs letters that are numbers.

    Examples
    --------
    >>> distortion([[0, 1, 0.5], [1, 0, 0.5]], ("a", "b"))
    ((0.0, 1.0, 0.5), (1.0, 0.0, 0.5))
    """
    if isinstance(value, str):
        if value not in NAMED:
            raise InvalidMechanism(f"distortion must be one of {', '.join(NAMED)} or a matrix, got {value!r}")
        if value != "hamming" and not all(map(_is_real, letters)):
            raise InvalidMechanism(
                f"{value!r} needs letters that are finite numbers; give a matrix for others"
            )
        return value
    try:
        table = np.array(value, dtype=np.float64)
    except (TypeError, ValueError) as cause:
        raise InvalidMechanism(
            f"distortion must be a name or a matrix of numbers, a row a letter: {cause}"
        ) from cause
    if table.ndim != 2 or table.shape[0] != len(letters) or not table.shape[1]:
        raise InvalidMechanism(
            f"distortion must have a row for each of the {len(letters)} letters, got shape {table.shape}"
        )
    if not np.isfinite(table).all():
        raise InvalidMechanism("distortion holds an entry that is not a finite number")
    return tuple(map(tuple, (table + 0.0).tolist()))


def costs(named: Distortion, letters: Labels) -> Floats:
    """The matrix D[x, y] of a distortion; read-only.

    Examples
    --------
    >>> costs("l1", (0, 1, 3)).tolist()
    [[0.0, 1.0, 3.0], [1.0, 0.0, 2.0], [3.0, 2.0, 0.0]]
    """
    if not isinstance(named, str):
        table = np.array(named)
    elif named == "hamming":
        table = 1.0 - np.eye(len(letters))
    else:
        places = np.array([float(letter) for letter in letters])  # type: ignore[arg-type]  # numbers, as checked
        with np.errstate(over="ignore"):
            apart = np.abs(places[:, None] - places[None, :])
            table = apart if named == "l1" else apart**2
    if not np.isfinite(table).all():
        raise InvalidMechanism(f"the letters are too far apart: their {named!r} distortion is not finite")
    table.setflags(write=False)
    return table


def _is_real(letter: object) -> bool:
    return isinstance(letter, (int, float)) and not isinstance(letter, bool) and bool(np.isfinite(letter))


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


def reachable(chain: MarkovChain, step: int) -> Bools:
    """Which transition from record ``step`` has a positive probability, exactly; shape (k, k)."""
    return _reachable(chain, chain.phase(step))


@lru_cache(maxsize=512)
def _reachable(chain: MarkovChain, step: int) -> Bools:
    rows = chain.exact_step(step)
    return np.array([[weight > 0 for weight in row.weights] for row in rows])


@lru_cache(maxsize=64)
def forgets(chain: MarkovChain, step: int) -> bool:
    """Whether the state after record ``step`` does not depend on the one at it.

    Examples
    --------
    >>> forgets(MarkovChain([[0.25, 0.75]] * 2), 0), forgets(MarkovChain([[0.25, 0.75], [0.5, 0.5]]), 0)
    (True, False)
    """
    return len({(row.weights, row.total) for row in chain.exact_step(step)}) == 1


def _ever(chain: MarkovChain) -> Bools:
    """Transitions that some step allows."""
    if chain.homogeneous:
        return reachable(chain, 0)
    ever: Bools = np.any([reachable(chain, t) for t in range(len(chain.transition))], axis=0)
    return ever


@lru_cache(maxsize=64)
def paths(chain: MarkovChain, batch: int) -> Paths:
    """Every path of ``batch`` states that some step allows.

    Raises
    ------
    InvalidMechanism
        If there are more than 2**20.

    Examples
    --------
    >>> answer = paths(MarkovChain([[0.5, 0.5], [1.0, 0.0]]), 2)
    >>> answer.words.tolist()
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
    chances = np.ones(len(states))
    for i in range(states.shape[1] - 1):
        chances = chances * chain.step(start + i)[states[:, i], states[:, i + 1]]
    return chances


def possible(chain: MarkovChain, states: Ints, start: int) -> Bools:
    """Which paths have a positive probability, exactly."""
    can = np.ones(len(states), dtype=bool)
    for i in range(states.shape[1] - 1):
        can &= reachable(chain, start + i)[states[:, i], states[:, i + 1]]
    return can


@dataclass(frozen=True)
class Setting:
    """What one release of a policy is about; everything a rule may know besides the belief.

    Parameters
    ----------
    chain : MarkovChain
    batch : int
        Letters in one release.
    epsilon : float
        Budget of one release, in nats: ``batch`` times that of a letter.
    distortion : "hamming", "l1", "squared", or a matrix over letters

    Examples
    --------
    >>> setting = Setting(MarkovChain([[0.5, 0.5], [0.5, 0.5]]), 2, 1.0, "hamming")
    >>> setting.inputs, setting.cost[0].tolist()
    (((0, 0), (0, 1), (1, 0), (1, 1)), [0.0, 0.5, 0.5, 1.0])
    """

    chain: MarkovChain
    batch: int
    epsilon: float
    distortion: Distortion

    @property
    def letters(self) -> Labels:
        """Labels of the letters."""
        return self.chain.letters

    @property
    def paths(self) -> Paths:
        """How inputs follow from the states of the chain."""
        return paths(self.chain, self.batch)

    @cached_property
    def letter_cost(self) -> Floats:
        """Distortion D[x, y] of single letters, shape (letters, columns)."""
        return costs(self.distortion, self.letters)

    @cached_property
    def inputs(self) -> Labels:
        """Letters; for ``batch`` > 1 the words, tuples of letters, that some state can start."""
        return self.letters if self.batch == 1 else _words(self.chain, self.batch)

    @cached_property
    def columns(self) -> Labels:
        """Labels of what stands for a letter in a release: letters, their messages, or columns of a distortion that is not square."""
        n, m = self.letter_cost.shape
        return self.letters if n == m else _messages(self.letters, self.letter_cost) or tuple(range(m))

    @cached_property
    def outputs(self) -> Labels:
        """Labels of releases: the inputs, or columns (and words of columns) of a distortion that is not square."""
        if len(self.columns) == len(self.letters):
            return self.inputs
        return self.columns if self.batch == 1 else tuple(product(self.columns, repeat=self.batch))

    @cached_property
    def cost(self) -> Floats:
        """Distortion of inputs (rows) and outputs (columns): the mean over their letters.

        Raises
        ------
        InvalidMechanism
            If the table would have more than 2**25 cells.
        """
        return self.letter_cost if self.batch == 1 else _word_costs(self.chain, self.batch, self.distortion)


def _messages(letters: Labels, cost: Floats) -> Labels | None:
    """Labels such as "home (2)" where the columns of a distortion are those of the letters again and again, else None."""
    n, m = cost.shape
    if m % n or not (cost == np.tile(cost[:, :n], m // n)).all():
        return None
    labels = tuple(f"{letter} ({message})" for message in range(1, m // n + 1) for letter in letters)
    return labels if len(set(labels)) == m else None


@lru_cache(maxsize=4)
def _words(chain: MarkovChain, batch: int) -> Labels:
    """The words that some state can start."""
    return tuple(tuple(chain.letters[i] for i in word) for word in paths(chain, batch).words.tolist())


@lru_cache(maxsize=2)
def _word_costs(chain: MarkovChain, batch: int, named: Distortion) -> Floats:
    """Distortion of words: the mean over their letters; read-only."""
    one, words = costs(named, chain.letters), paths(chain, batch).words
    square = one.shape[0] == one.shape[1]
    count = len(words) if square else one.shape[1] ** batch
    if len(words) * count > MAX_CELLS:
        raise InvalidMechanism(
            f"words of {batch} letters make a table of {len(words)} x {count}, more than {MAX_CELLS} cells: lower batch"
        )
    others = words if square else np.array(list(product(range(one.shape[1]), repeat=batch)))
    table = np.zeros((len(words), count))
    for i in range(batch):
        table += one[words[:, i][:, None], others[:, i][None, :]]
    table /= batch
    table.setflags(write=False)
    return table
