"""What a problem on a sequence says, each argument validated: chain, budget, batch, distortion, horizon, and its releases."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import count
from operator import index

import numpy as np
from numpy.typing import ArrayLike

from privopt.arrays import Floats
from privopt.core.problem import Enclosure
from privopt.errors import InvalidMechanism, InvalidProblem
from privopt.mechanisms.policy.fixed import gathered
from privopt.mechanisms.policy.lasting import felt
from privopt.mechanisms.policy.ranges import check_set
from privopt.mechanisms.policy.setting import Distortion, Paths, Setting, costs, probabilities
from privopt.models import ChainAmbiguity, MarkovChain
from privopt.problems.belief_release.data import read_distortion
from privopt.problems.validation import level

HORIZON = 100
"""Letters that utility is averaged over when a chain has no end and none is given."""
MAX_HORIZON = 2**20
REMEMBERED = 4
"""Bounds that are kept."""


@dataclass(frozen=True, init=False)
class SequenceData:
    """The fields of :class:`privopt.SequenceInformationPrivacy`, which says what they mean."""

    chain: MarkovChain
    epsilon: float
    batch: int
    memory: int
    distortion: Distortion
    horizon: float
    ambiguity: ChainAmbiguity | None

    def __init__(
        self,
        chain: MarkovChain | ChainAmbiguity,
        epsilon: float,
        *,
        batch: int = 1,
        memory: int = 1,
        distortion: str | ArrayLike = "hamming",
        horizon: float | None = None,
        ambiguity: ChainAmbiguity | None = None,
        messages: int = 1,
    ) -> None:
        if isinstance(chain, ChainAmbiguity):
            ambiguity = chain
            chain = ambiguity.nominal
        if not isinstance(chain, MarkovChain):
            raise InvalidProblem(
                f"chain must be a MarkovChain or a ChainAmbiguity, got {type(chain).__name__}"
            )
        letters = None if horizon is None else _horizon(horizon, chain)
        values: dict[str, object] = {
            "chain": chain,
            "epsilon": level(epsilon, "epsilon"),
            "batch": _count(batch, "batch"),
            "memory": _memory(memory),
            "distortion": _with_messages(read_distortion(distortion, chain.letters), chain, messages),
            "horizon": letters or chain.max_length or HORIZON,
            "ambiguity": ambiguity,
        }
        for name, value in values.items():
            object.__setattr__(self, name, value)
        if ambiguity is not None:
            _check_set(ambiguity, chain, self.batch)
        if self.lasting:
            _check_lasting(chain, self.epsilon, self.batch, ambiguity)

    @property
    def lasting(self) -> bool:
        """Whether the stream has no end: what counts is the mean in the long run."""
        return self.horizon == math.inf

    @property
    def span(self) -> int:
        """The letters of the horizon; so many as are looked at where it has no end."""
        return HORIZON if self.lasting else int(self.horizon)

    @property
    def robust(self) -> bool:
        """Whether the budget must be kept for every chain of a set."""
        return self.ambiguity is not None

    @property
    def sizes(self) -> tuple[int, ...]:
        """Letters, letters in one release, and the horizon."""
        return len(self.chain.letters), self.batch, self.span

    @property
    def words(self) -> tuple[float, float]:
        """At most how many words a release reads, and may release: a count that lists nothing."""
        letters, length = len(self.chain.letters), min(self.batch, self.span)
        ever = self.chain.step(0) > 0 if self.chain.max_length != 1 else np.ones((1, 1), dtype=bool)
        paths = np.ones(len(ever))
        for _ in range(length - 1):
            paths = np.minimum(ever @ paths, 1e300)
        read = min(float(paths.sum()), float(letters) ** min(length, 64))
        if isinstance(self.distortion, str) or len(self.distortion[0]) == letters:
            return read, read
        return read, float(len(self.distortion[0])) ** min(length, 64)

    @cached_property
    def enclosures(self) -> dict[object, Enclosure]:
        """What prices proved of late: who proposes them and who judges them ask one after the other."""
        return {}

    def keep(self, key: object, enclosure: Enclosure) -> None:
        """Remember what was proved, and forget what was longest ago."""
        while len(self.enclosures) >= REMEMBERED:
            self.enclosures.pop(next(iter(self.enclosures)))
        self.enclosures[key] = enclosure

    def setting(self, length: int) -> Setting:
        """What a release of ``length`` letters reads, may leak and costs."""
        return Setting(self.chain, length, length * self.epsilon, self.distortion)

    def releases(self) -> Iterator[Release]:
        """The releases in turn, perhaps without end; the last may be shorter, with a budget in proportion."""
        begins = count(0, self.batch) if self.lasting else range(0, self.span, self.batch)
        return map(self.release, begins)

    def release(self, begin: int) -> Release:
        """The release that begins with a letter."""
        left = self.batch if self.lasting else self.span - begin
        return Release(begin, self.setting(min(self.batch, left)))


@dataclass(frozen=True, eq=False)
class Release:
    """A release that reads the ``length`` letters from record ``begin`` on.

    Examples
    --------
    >>> from privopt.models import ChainAmbiguity, MarkovChain
    >>> release = Release(0, Setting(MarkovChain([[0.75, 0.25], [1, 0]]), 2, 1.0, "hamming"))
    >>> release.word_given_state.tolist(), release.last(np.array([0.5, 0.5])).tolist()
    ([[0.75, 0.25, 0.0], [0.0, 0.0, 1.0]], [0.875, 0.125])
    """

    begin: int
    setting: Setting

    @property
    def length(self) -> int:
        """Letters in it."""
        return self.setting.batch

    @property
    def paths(self) -> Paths:
        """The ways in which states spell its words."""
        return self.setting.paths

    @cached_property
    def chances(self) -> Floats:
        """Probability of each path given its first state."""
        return probabilities(self.setting.chain, self.paths.states, self.begin)

    @cached_property
    def word_given_state(self) -> Floats:
        """Pr(word | state at its first letter), shape (states, words)."""
        table = np.zeros((self.setting.chain.k, len(self.paths.words)))
        np.add.at(table, (self.paths.states[:, 0], self.paths.word), self.chances)
        return table

    def joint(self, before: Floats, columns: Floats) -> Floats:
        """Probabilities (M, k) of the state at the last letter, jointly with an output whose column is (M, words)."""
        ways = self.paths
        if ways.identity:
            return before * columns
        each = before[:, ways.states[:, 0]] * columns[:, ways.word] * self.chances
        return gathered(each, ways.states[:, -1], before.shape[1])

    def last(self, belief: Floats) -> Floats:
        """Distribution of the state at the last letter from that at the first, shapes (states,)."""
        after = np.zeros(len(belief))
        np.add.at(after, self.paths.states[:, -1], belief[self.paths.states[:, 0]] * self.chances)
        return after


def refuse_words(problem: SequenceData, nats: float, releases: int) -> str | None:
    """Why a bound on single letters, for budgets up to some nats and so many releases, is none for this problem; None where it is."""
    if min(problem.batch, problem.span) > 1:
        return "it takes single letters, not words"
    if not 0 < problem.epsilon <= nats:
        return f"it takes budgets above 0 and up to {nats:g} nats"
    if problem.setting(1).cost.shape[1] > releases:
        return f"it takes at most {releases} different releases"
    return None


def _check_set(ambiguity: object, chain: MarkovChain, batch: int) -> None:
    """Refuse a set that is not one of chains around this one, and words."""
    try:
        check_set(ambiguity, chain, batch)
    except InvalidMechanism as cause:
        raise InvalidProblem(str(cause)) from cause


def _check_lasting(chain: MarkovChain, epsilon: float, batch: int, ambiguity: ChainAmbiguity | None) -> None:
    """Refuse streams without end of words, over sets, and of chains that do not forget where they began."""
    if batch > 1:
        raise InvalidProblem("a horizon of inf is for single letters: give batch=1, or a number of letters")
    if ambiguity is not None:
        raise InvalidProblem("a horizon of inf is for one chain, not for a set: give a number of letters")
    if felt(chain, 0.0) is None or (0 < epsilon < math.inf and felt(chain, epsilon) is None):
        raise InvalidProblem(
            "a horizon of inf needs a chain of equal steps, a few of which lead from every state to the same states, none of "
            "them almost never: give a number of letters"
        )


def _count(value: object, name: str) -> int:
    """An integer of at least 1."""
    wanted = "an integer >= 1, or inf" if name == "horizon" else "an integer >= 1"
    try:
        number = 0 if isinstance(value, bool) else index(value)  # type: ignore[arg-type]  # what is not an integer raises
    except TypeError as cause:
        raise InvalidProblem(f"{name} must be {wanted}, got {value!r}") from cause
    if number < 1:
        raise InvalidProblem(f"{name} must be {wanted}, got {value!r}")
    return number


def _memory(value: object) -> int:
    """1: a kernel that reads older letters too gains nothing."""
    if _count(value, "memory") != 1:
        raise InvalidProblem(
            "memory must be 1: averaging a kernel over the older letters that it reads keeps its leakage and its cost"
        )
    return 1


def _with_messages(named: Distortion, chain: MarkovChain, messages: int) -> Distortion:
    """The matrix of a distortion with each column so many times; what was given where once is asked for."""
    times = _count(messages, "messages")
    if times == 1:
        return named
    return tuple(row * times for row in map(tuple, costs(named, chain.letters).tolist()))


def _horizon(value: object, chain: MarkovChain) -> float:
    """A number of letters that the chain has, or inf."""
    if isinstance(value, (float, np.floating)) and value == math.inf:
        return math.inf
    letters, most = _count(value, "horizon"), chain.max_length
    if most is not None and letters > most:
        raise InvalidProblem(f"horizon {letters} exceeds the {most} letters that the chain's steps give")
    if letters > MAX_HORIZON:
        raise InvalidProblem(
            f"horizon must be at most {MAX_HORIZON} letters, or inf for the long run, got {letters}"
        )
    return letters
