"""What a reader of releases sees and infers: batches of a Markov chain through known kernels, filtered and smoothed."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from privopt.arrays import Floats, Ints
from privopt.errors import InvalidMechanism, InvalidModel
from privopt.files.labels import Label, Labels, short
from privopt.mechanisms import Channel
from privopt.mechanisms.policy.kernel import TOTAL
from privopt.mechanisms.policy.policy import SequencePolicy
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
    >>> answer = paths(chain, 0, 2, (0, 1))
    >>> answer.letters.tolist(), answer.probability.tolist()
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


class Impossible(InvalidMechanism):
    """A release that the chain rules out."""


@dataclass(frozen=True, eq=False)
class Seen:
    """One release: how many letters it covers, and its probability given each of their words.

    Parameters
    ----------
    width : int
    keys : int array (words,)
        Increasing: the letters of each word as digits of a number. A word that is not there cannot be released.
    likelihood : array (words,)
        A positive factor common to all words does no harm to posteriors.
    """

    width: int
    keys: Ints
    likelihood: Floats

    def at(self, words: Ints) -> Floats:
        """The likelihood of words given by their numbers."""
        place = np.searchsorted(self.keys, words).clip(max=len(self.keys) - 1)
        return np.where(self.keys[place] == words, self.likelihood[place], 0.0)


@dataclass(frozen=True, eq=False)
class Block:
    """A batch after its release: its ways, their likelihood, their posterior given all releases so far, its first record."""

    ways: Paths
    seen: Floats
    posterior: Floats
    record: int
    log_likelihood: float


def forward(chain: MarkovChain, releases: Sequence[Seen], alphabet: Labels) -> Iterator[Block]:
    """The distribution of each batch given the releases up to its own.

    Raises
    ------
    InvalidMechanism
        If a release cannot occur under the chain, with its 0-based number.
    """
    known: dict[tuple[int, int], Paths] = {}
    record, belief = 0, chain.initial
    for number, release in enumerate(releases):
        ways = _ways(known, chain, record, release.width, alphabet)
        seen = release.at(ways.words)
        scale = float(seen.max(initial=0.0))
        joint = belief[ways.first] * ways.probability * (seen / (scale or 1.0))
        total = float(joint.sum())
        if total <= 0:
            raise Impossible(f"release {number} cannot occur under the chain after those before it")
        posterior = joint / total
        yield Block(ways, seen / scale, posterior, record, math.log(total) + math.log(scale))
        record += release.width
        if number + 1 < len(releases):
            belief = np.bincount(ways.last, posterior, chain.k) @ chain.step(record - 1)


def _ways(
    known: dict[tuple[int, int], Paths], chain: MarkovChain, record: int, width: int, alphabet: Labels
) -> Paths:
    """The ways of a batch; those of a homogeneous chain are the same for all batches of a width."""
    key = (0 if chain.homogeneous else record, width)
    if key not in known:
        if not chain.homogeneous:
            known.clear()
        known[key] = paths(chain, record, width, alphabet)
    return known[key]


def backward(chain: MarkovChain, blocks: Sequence[Block]) -> list[Floats]:
    """The distribution of the ways of each batch given all releases."""
    posteriors: list[Floats] = []
    ahead = np.ones(chain.k)
    for block in reversed(blocks):
        ways = block.ways
        tail = ahead[ways.last]
        posterior = block.posterior * tail
        posteriors.append(posterior / posterior.sum())
        earlier = np.bincount(ways.first, ways.probability * block.seen * tail, chain.k)
        if block.record:
            ahead = chain.step(block.record - 1) @ (earlier / earlier.max())
    return posteriors[::-1]


def letter_posteriors(blocks: Sequence[Block], posteriors: Sequence[Floats], n: int) -> Floats:
    """Distributions of single letters from distributions of ways, shape (letters released, n)."""
    rows = [
        np.bincount(column, posterior, n)
        for block, posterior in zip(blocks, posteriors, strict=True)
        for column in block.ways.letters.T
    ]
    return np.asarray(np.array(rows, dtype=np.float64).reshape(-1, n))


def likeliest(chain: MarkovChain, blocks: Sequence[Block]) -> Ints:
    """The sequence of letters of the likeliest sequence of states given all releases (Viterbi's algorithm)."""
    with np.errstate(divide="ignore"):
        score, came = np.log(chain.initial), np.arange(chain.k)
        back: list[tuple[Ints, Ints]] = []
        for block in blocks:
            if block.record:
                moved = score[:, None] + np.log(chain.step(block.record - 1))
                came, score = moved.argmax(axis=0), moved.max(axis=0)
            ways = block.ways
            value = score[ways.first] + np.log(ways.probability) + np.log(block.seen)
            order = np.argsort(value, kind="stable")
            winner = np.zeros(chain.k, dtype=np.int64)
            winner[ways.last[order]] = order  # of equal places the last, so the largest, stays
            score = np.full(chain.k, -np.inf)
            np.maximum.at(score, ways.last, value)
            back.append((winner, came))
    state, words = int(score.argmax()), []
    for block, (winner, came) in zip(reversed(blocks), reversed(back), strict=True):
        way = int(winner[state])
        words.append(block.ways.letters[way])
        state = int(came[block.ways.first[way]])
    return np.concatenate(words[::-1]) if words else np.zeros(0, dtype=np.int64)


@dataclass(frozen=True, eq=False)
class Reading:
    """Releases in order, and the letters whose positions make up their words."""

    releases: tuple[Seen, ...]
    letters: Labels


def read(policy: SequencePolicy | Channel, released: Sequence[Label]) -> Reading:
    """A released sequence, read with a policy or with the one kernel of all letters.

    Raises
    ------
    InvalidMechanism
        If something in it is not a release, or cannot follow the releases before it.

    Examples
    --------
    >>> seen = read(Channel([[0.75, 0.25], [0.5, 0.5]]), [1, 0])
    >>> [release.likelihood.tolist() for release in seen.releases]
    [[0.25, 0.5], [0.75, 0.5]]
    """
    if not len(released):
        raise InvalidMechanism("nothing was released: give at least one release")
    if isinstance(policy, Channel):
        return Reading(tuple(_of_channel(policy, released)), policy.inputs)
    return Reading(tuple(_of_policy(policy, _flat(policy, released))), policy.letters)


def _of_channel(channel: Channel, released: Sequence[Label]) -> Iterator[Seen]:
    codes = {label: i for i, label in enumerate(channel.outputs)}
    keys = np.arange(len(channel.inputs))
    for number, label in enumerate(released):
        yield Seen(1, keys, channel.matrix[:, _code(codes, label, number)])


def _of_policy(policy: SequencePolicy, flat: Sequence[Label]) -> Iterator[Seen]:
    belief = np.array(policy.start().belief)[None, :]
    n = len(policy.letters)
    for number in range(-(-len(flat) // policy.batch)):
        word = tuple(flat[number * policy.batch : (number + 1) * policy.batch])
        part, record = policy.part(len(word)), policy.record(number)
        code = _code(part.codes, word[0] if len(word) == 1 else word, number)
        column = part.weights(belief, record)[:, :, code].astype(np.float64)
        words = part.setting.paths.words
        keys = words @ n ** np.arange(words.shape[1] - 1, -1, -1, dtype=np.int64)
        yield Seen(len(word), keys, column[0] / TOTAL)
        try:
            belief = part.filter.after(belief, column, record)
        except InvalidMechanism as cause:
            raise InvalidMechanism(
                f"release {number}, {short(word)}, cannot follow those before it"
            ) from cause


def _flat(policy: SequencePolicy, released: Sequence[Label]) -> list[Label]:
    """Words laid end to end."""
    single = policy.part(1).codes
    flat: list[Label] = []
    for item in released:
        if policy.batch > 1 and isinstance(item, tuple) and item not in single:
            flat.extend(item)
        else:
            flat.append(item)
    return flat


def _code(codes: Mapping[Label, int], label: Label, number: int) -> int:
    if label not in codes:
        raise InvalidMechanism(
            f"release {number}, {short(label)}, is none of the {len(codes)} that can be released"
        )
    return codes[label]
