"""Published releases of streams that are no function of a public belief: they read the letter before, or post-process."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from privopt.arrays import Floats
from privopt.errors import InvalidProblem
from privopt.files.labels import Label
from privopt.models import MarkovChain

Streams = Sequence[Sequence[Label]]


class StreamBaseline(Protocol):
    """A release of whole streams, simulated; ``guarantee`` says what it really promises."""

    name: str
    guarantee: str

    def release(self, sequences: Streams, epsilon: float, rng: np.random.Generator) -> list[list[Label]]:
        """One release a letter, epsilon nats each."""
        ...


@dataclass(frozen=True)
class TemporalRandomisedResponse:
    """Randomised response among the letters that may follow the letter before.

    Jiang, Li, Tandon, "Online Context-aware Data Release with Sequence Information Privacy", Section VI, describe it for gaze in
    words: the support is that of the conditional distribution given the previous values. Read here: given the previous raw
    letter, and the support of the initial distribution at first. A letter that the chain rules out after the one before is
    an error. A reader of the releases who knows the chain learns about the letter before from the support.

    Examples
    --------
    >>> chain = MarkovChain([[0.5, 0.5, 0.0], [0.5, 0.0, 0.5], [0.0, 0.5, 0.5]])
    >>> baseline = TemporalRandomisedResponse(chain)
    >>> baseline.release([[0, 0, 1, 2]], 50.0, np.random.default_rng(0))
    [[0, 0, 1, 2]]
    """

    chain: MarkovChain
    name: str = "temporal-randomised-response-raw"
    guarantee: str = (
        "given the letter before, the present letter is epsilon-LDP among those that may follow; what a release reveals of "
        "the letter before is not bounded"
    )

    def __post_init__(self) -> None:
        if self.chain.order > 1:
            raise InvalidProblem(
                "temporal randomised response reads one letter back: give a chain of order 1"
            )

    def release(self, sequences: Streams, epsilon: float, rng: np.random.Generator) -> list[list[Label]]:
        """Release every stream, epsilon nats a letter."""
        return [self._stream(letters, epsilon, rng) for letters in sequences]

    def _stream(self, letters: Sequence[Label], epsilon: float, rng: np.random.Generator) -> list[Label]:
        released: list[Label] = []
        distribution = self.chain.initial
        for t, letter in enumerate(letters):
            x, support = self.chain.index(letter), np.flatnonzero(distribution > 0)
            if distribution[x] <= 0:
                raise InvalidProblem(f"letter {t} of a stream, {letter!r}, cannot follow the one before it")
            others = support[support != x]
            true = 1.0 / (1.0 + len(others) * math.exp(-epsilon))
            y = x if rng.random() < true else int(rng.choice(others))
            released.append(self.chain.states[y])
            if t + 1 < len(letters):
                distribution = self.chain.step(t)[x]
        return released


@dataclass(frozen=True)
class ThresholdSmoothing:
    """Threshold estimation, perturbation, smoothing, for letters that are numbers.

    The same section describes in words the method of Wang et al., "Continuous Release of Data Streams under both Centralized
    and Local Differential Privacy". The readings chosen where the words leave a choice:

    * *Threshold*: the first ``share`` of each stream (one letter at least) has Laplace noise for the whole range of letters; the
      threshold is the ``quantile`` of these noisy values of all streams, within the range.
    * *Perturbation*: later letters are cut at the threshold and have Laplace noise for the range below it. The hierarchy that
      answers queries of ranges plays no part in the release of single letters and is left out.
    * *Smoothing*: the noisy value is moved to the letter of the same rank in a specified distribution, that of ``distribution``: values that follow it
      are released with that distribution.

    Parameters
    ----------
    letters : n increasing numbers
    distribution : n floats
        The specified distribution of letters, summing to 1.
    quantile, share : float
        In (0, 1].

    Examples
    --------
    >>> baseline = ThresholdSmoothing((0, 1, 2), (0.5, 0.3, 0.2))
    >>> baseline.release([[2, 0, 1, 2]], 1e6, np.random.default_rng(0))
    [[2, 0, 1, 2]]
    """

    letters: tuple[float, ...]
    distribution: tuple[float, ...]
    quantile: float = 0.95
    share: float = 0.1
    name: str = "threshold-smoothing"
    guarantee: str = "each letter is epsilon-LDP, so T letters are T epsilon-LDP; simulated in floats"

    def __post_init__(self) -> None:
        rising = all(a < b for a, b in zip(self.letters, self.letters[1:], strict=False))
        if len(self.letters) < 2 or not rising or len(self.distribution) != len(self.letters):
            raise InvalidProblem(
                "threshold smoothing needs two or more increasing numbers as letters, and their distribution"
            )

    def release(self, sequences: Streams, epsilon: float, rng: np.random.Generator) -> list[list[Label]]:
        """Release every stream, epsilon > 0 nats a letter."""
        if not epsilon > 0:
            raise InvalidProblem(
                f"threshold smoothing adds Laplace noise: epsilon must be > 0, got {epsilon}"
            )
        values = [np.array([self._value(x) for x in stream]) for stream in sequences]
        heads = [min(len(v), max(1, round(self.share * len(v)))) for v in values]
        low, high = self.letters[0], self.letters[-1]
        noisy = [
            v[:h] + rng.laplace(0.0, (high - low) / epsilon, h) for v, h in zip(values, heads, strict=True)
        ]
        pooled = np.concatenate(noisy) if noisy else np.zeros(0)
        top = float(np.quantile(pooled, self.quantile).clip(self.letters[1], high)) if pooled.size else high
        released: list[list[Label]] = []
        for v, h, first in zip(values, heads, noisy, strict=True):
            cut = np.minimum(v[h:], top)
            later = cut + rng.laplace(0.0, (top - low) / epsilon, len(cut))
            released.append([*self._ranked(first, high, epsilon), *self._ranked(later, top, epsilon)])
        return released

    def _value(self, letter: Label) -> float:
        if not isinstance(letter, int | float) or letter not in self.letters:
            raise InvalidProblem(f"{letter!r} is not one of the letters of threshold smoothing")
        return float(letter)

    def _ranked(self, noisy: Floats, top: float, epsilon: float) -> list[Label]:
        """The letters whose rank in the distribution is that of the noisy values cut at a threshold."""
        centres = np.minimum(np.array(self.letters), top)
        z = (noisy[:, None] - centres) * (epsilon / (top - self.letters[0]))
        distribution = np.array(self.distribution) / sum(self.distribution)
        half = 0.5 * np.exp(-np.abs(z))
        rank = np.where(z < 0, half, 1.0 - half) @ distribution
        places = np.searchsorted(np.cumsum(distribution)[:-1], rank)
        return [self.letters[int(i)] for i in places]
