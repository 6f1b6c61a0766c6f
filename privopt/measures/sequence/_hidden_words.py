"""Inference of a Markov chain from batches seen through known kernels: filter, smoother, likeliest path."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from privopt.arrays import Floats, Ints
from privopt.errors import InvalidMechanism
from privopt.files.labels import Labels
from privopt.measures.sequence._word_paths import Paths, paths
from privopt.models import MarkovChain


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
    """A batch after its release: its ways, their likelihood, their law given all releases so far, its first record."""

    ways: Paths
    seen: Floats
    law: Floats
    record: int
    log_likelihood: float


def forward(chain: MarkovChain, releases: Sequence[Seen], alphabet: Labels) -> Iterator[Block]:
    """The law of each batch given the releases up to its own.

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
        law = joint / total
        yield Block(ways, seen / scale, law, record, math.log(total) + math.log(scale))
        record += release.width
        if number + 1 < len(releases):
            belief = np.bincount(ways.last, law, chain.k) @ chain.step(record - 1)


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
    """The law of the ways of each batch given all releases."""
    found: list[Floats] = []
    ahead = np.ones(chain.k)
    for block in reversed(blocks):
        ways = block.ways
        tail = ahead[ways.last]
        law = block.law * tail
        found.append(law / law.sum())
        earlier = np.bincount(ways.first, ways.probability * block.seen * tail, chain.k)
        if block.record:
            ahead = chain.step(block.record - 1) @ (earlier / earlier.max())
    return found[::-1]


def letter_laws(blocks: Sequence[Block], laws: Sequence[Floats], n: int) -> Floats:
    """Laws of single letters from laws of ways, shape (letters released, n)."""
    rows = [
        np.bincount(column, law, n)
        for block, law in zip(blocks, laws, strict=True)
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
    state, found = int(score.argmax()), []
    for block, (winner, came) in zip(reversed(blocks), reversed(back), strict=True):
        way = int(winner[state])
        found.append(block.ways.letters[way])
        state = int(came[block.ways.first[way]])
    return np.concatenate(found[::-1]) if found else np.zeros(0, dtype=np.int64)
