"""What the release of a whole sequence says about the whole sequence."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from privopt.arrays import Floats
from privopt.errors import InvalidMechanism, InvalidProblem
from privopt.measures.inputs import read_channel
from privopt.measures.values import Numbers
from privopt.mechanisms.channel import Channel
from privopt.mechanisms.policy.beliefs import Filter
from privopt.mechanisms.policy.policy import SequencePolicy
from privopt.mechanisms.policy.words import possible, reachable
from privopt.models import MarkovChain

Kernels: TypeAlias = Callable[[Floats, int, int], Floats]
"""From beliefs over states (M, k), the first record and the number of letters to kernels (M, n, m)."""

MAX_BELIEFS = 2**20
DIGITS = 13
"""Beliefs that agree to so many decimals are one."""


def same_beliefs(beliefs: Floats) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Position of the first of each distinct belief, and for every belief which of these it is.

    Examples
    --------
    >>> first, which = same_beliefs(np.array([[0.25, 0.75], [0.5, 0.5], [0.25, 0.75]]))
    >>> len(first), bool(which[0] == which[2] != which[1])
    (2, True)
    """
    rounded = np.round(beliefs, DIGITS) + 0.0
    keys = np.ascontiguousarray(rounded).view(np.dtype((np.void, rounded.dtype.itemsize * rounded.shape[1])))
    _, first, which = np.unique(keys.ravel(), return_index=True, return_inverse=True)
    return first, np.asarray(which.ravel())


def policy_kernels(policy: SequencePolicy) -> Kernels:
    """The kernels of a policy, as they are drawn from."""

    def kernels(beliefs: Floats, begin: int, length: int) -> Floats:
        weights = policy.part(length).weights(beliefs, begin)
        return np.asarray(weights / weights[0, 0].sum())

    return kernels


@dataclass(frozen=True, eq=False)
class _Front:
    """Distinct beliefs (M, k), and for each state the extremes of the sums of log-ratios of paths that end there."""

    beliefs: Floats
    most: Floats
    least: Floats


@dataclass(frozen=True)
class Walk:
    """Outputs of a chain released ``batch`` letters at a time.

    Examples
    --------
    >>> walk = Walk(MarkovChain([[0.5, 0.5], [0.5, 0.5]]), 1)
    >>> kernel = np.array([[[0.75, 0.25], [0.25, 0.75]]])
    >>> [round(x, 6) for x in walk.extremes(lambda beliefs, begin, length: kernel, 1)]
    [0.405465, -0.693147]
    """

    chain: MarkovChain
    batch: int

    def extremes(self, kernels: Kernels, count: int) -> tuple[float, float]:
        """The largest and the least ln Pr(x | y) / Pr(x) over sequences of ``count`` letters."""
        start = Filter(self.chain, 1).start()[None, :]
        front = _Front(start, np.where(start > 0, 0.0, -np.inf), np.where(start > 0, 0.0, np.inf))
        floor = np.inf
        for begin in range(0, count, self.batch):
            length = min(self.batch, count - begin)
            table = kernels(front.beliefs, begin, length)
            if len(table) * table.shape[2] > 2 * MAX_BELIEFS or len(front.beliefs) > MAX_BELIEFS:
                raise InvalidProblem(
                    f"more than {MAX_BELIEFS} beliefs within {begin} letters: give a smaller length"
                )
            front, lowest = self._released(front, table, begin, length)
            floor = min(floor, lowest)
            if begin + length < count:
                front = self._moved(front, begin + length - 1)
        return float(front.most.max()), min(float(front.least.min()), floor)

    def _released(self, front: _Front, table: Floats, begin: int, length: int) -> tuple[_Front, float]:
        """After a release, by output and by state at its last letter; and the least ratio if that is -inf."""
        filtered = Filter(self.chain, length)
        ways = filtered.paths
        inputs = filtered.inputs(front.beliefs, begin)
        law = (inputs[:, None, :] @ table)[:, 0] / inputs.sum(axis=1, keepdims=True)
        users, outputs = np.nonzero(law > 0)
        columns = table[users, :, outputs]
        with np.errstate(divide="ignore"):
            told = np.log(columns) - np.log(law[users, outputs])[:, None]
        first, last = ways.states[:, 0], ways.states[:, -1]
        can = (front.beliefs[:, first] > 0) & possible(self.chain, ways.states, begin)
        can = can[users]
        step = told[:, ways.word]
        most = np.where(can, front.most[users][:, first] + step, -np.inf)
        least = np.where(can, front.least[users][:, first] + step, np.inf)
        there, begins = np.unique(last, return_index=True)
        shape = (len(users), self.chain.k)
        ups, downs = np.full(shape, -np.inf), np.full(shape, np.inf)
        ups[:, there] = np.maximum.reduceat(most, begins, axis=1)
        downs[:, there] = np.minimum.reduceat(least, begins, axis=1)
        after = filtered.after(front.beliefs[users], columns, begin)
        return _Front(after, ups, downs), float(downs.min())

    def _moved(self, front: _Front, record: int) -> _Front:
        """One transition on, and beliefs that are the same made one."""
        can = reachable(self.chain, record)
        most, least = np.full(front.most.shape, -np.inf), np.full(front.least.shape, np.inf)
        for state in range(self.chain.k):
            if can[:, state].any():
                most[:, state] = front.most[:, can[:, state]].max(axis=1)
                least[:, state] = front.least[:, can[:, state]].min(axis=1)
        firsts, which = same_beliefs(front.beliefs)
        order = np.argsort(which, kind="stable")
        begins = np.searchsorted(which[order], np.arange(len(firsts)))
        return _Front(
            front.beliefs[firsts],
            np.maximum.reduceat(most[order], begins, axis=0),
            np.minimum.reduceat(least[order], begins, axis=0),
        )


Kernel: TypeAlias = Channel | Numbers
MAX_RELEASES = 100_000


class SequenceRatios(NamedTuple):
    """Extremes of ln Pr(x | y) / Pr(x) over sequences x and releases y of positive probability, in nats."""

    upper: float
    lower: float

    @property
    def leakage(self) -> float:
        """The larger of the two in size."""
        return max(self.upper, -self.lower)


def sequence_leakage(
    chain: MarkovChain, kernels: SequencePolicy | Kernel | Sequence[Kernel], length: int | None = None
) -> float:
    """The largest |ln Pr(x | y) / Pr(x)| over whole sequences x and whole releases y of positive probability.

    Outputs are walked through letter by letter. With each goes the belief about the present state and, for every state,
    the largest and the least log-ratio of the paths that end in it (a Viterbi pass; transitions of probability 0 count).
    Releases that lead to the same belief are one from then on. So the work is linear for independent letters, and at
    most the number of output sequences otherwise.

    Source: Jiang, Li, Tandon, "Online Context-aware Data Release with Sequence Information Privacy": sequence
    information leakage.

    Parameters
    ----------
    chain : MarkovChain
        Law of the letters.
    kernels : Channel or array (n, m), a sequence of them, or SequencePolicy
        How letters are released: the same kernel for all, one a letter, or a policy, whose kernels follow the releases.
    length : int, optional
        Number of letters; needed with a single kernel or a policy, unless the chain has an end.

    Returns
    -------
    float
        In nats, >= 0; inf where a release rules out a sequence.

    Raises
    ------
    InvalidProblem
        If the length is missing or wrong, or more than 2**20 beliefs come up.
    InvalidMechanism
        If a kernel does not read the letters of the chain.

    Examples
    --------
    >>> chain = MarkovChain([[0.8, 0.2], [0.3, 0.7]], [0.5, 0.5])
    >>> response = np.array([[0.7, 0.3], [0.3, 0.7]])
    >>> round(sequence_leakage(chain, response, 1), 6), round(sequence_leakage(chain, response, 6), 6)
    (0.510826, 3.834855)
    """
    return sequence_ratios(chain, kernels, length).leakage


def sequence_ratios(
    chain: MarkovChain, kernels: SequencePolicy | Kernel | Sequence[Kernel], length: int | None = None
) -> SequenceRatios:
    """Both sides of :func:`sequence_leakage`: the largest and the least ln Pr(x | y) / Pr(x); arguments as there.

    Examples
    --------
    >>> chain = MarkovChain([[0.5, 0.5], [0.5, 0.5]])
    >>> upper, lower = sequence_ratios(chain, [[0.75, 0.25], [0.25, 0.75]], 2)
    >>> round(upper, 6), round(lower, 6)
    (0.81093, -1.386294)
    """
    if not isinstance(chain, MarkovChain):
        raise InvalidProblem(f"chain must be a MarkovChain, got {type(chain).__name__}")
    if isinstance(kernels, SequencePolicy):
        if kernels.chain != chain:
            raise InvalidMechanism("the policy is for another chain: give policy.chain")
        count = _length(chain, length)
        return _ratios(Walk(chain, kernels.batch).extremes(policy_kernels(kernels), count))
    steps = _steps(chain, kernels, length)
    return _ratios(Walk(chain, 1).extremes(_fixed_kernels(steps), len(steps)))


def _ratios(found: tuple[float, float]) -> SequenceRatios:
    return SequenceRatios(max(0.0, found[0]), min(0.0, found[1]))


def _length(chain: MarkovChain, given: int | None) -> int:
    found = chain.max_length if given is None else given
    if found is None:
        raise InvalidProblem("give the number of letters, length: the chain has no end")
    if isinstance(found, bool) or not 1 <= found <= MAX_RELEASES:
        raise InvalidProblem(f"length must be 1 to {MAX_RELEASES} letters, got {found!r}")
    if chain.max_length is not None and found > chain.max_length:
        raise InvalidProblem(f"length {found} exceeds the {chain.max_length} letters of the chain")
    return found


def _steps(chain: MarkovChain, kernels: Kernel | Sequence[Kernel], length: int | None) -> list[Floats]:
    """One kernel a letter."""
    several = isinstance(kernels, Sequence) and len(kernels) > 0 and _is_table(kernels[0])
    if not isinstance(kernels, Channel) and not several and np.ndim(kernels) == 3:  # type: ignore[arg-type]  # a table
        kernels, several = list(np.asarray(kernels)), True
    if several:
        listed = [_kernel(chain, one) for one in kernels]  # type: ignore[union-attr]  # a sequence of tables
        count = _length(chain, len(listed) if length is None else length)
        if count != len(listed):
            raise InvalidProblem(
                f"{len(listed)} kernels for {count} letters: give one a letter, or a single one"
            )
        return listed
    one = _kernel(chain, kernels)
    return [one] * _length(chain, length)


def _is_table(item: object) -> bool:
    return isinstance(item, Channel) or np.ndim(item) == 2  # type: ignore[arg-type]  # anything array-like


def _kernel(chain: MarkovChain, given: Kernel) -> Floats:
    matrix = read_channel(given, False)[0]
    if len(matrix) != len(chain.letters):
        raise InvalidMechanism(
            f"a kernel has {len(matrix)} rows for the {len(chain.letters)} letters of the chain"
        )
    return matrix


def _fixed_kernels(steps: list[Floats]) -> Kernels:
    def kernels(beliefs: Floats, begin: int, length: int) -> Floats:
        return np.broadcast_to(steps[begin], (len(beliefs), *steps[begin].shape))

    return kernels
