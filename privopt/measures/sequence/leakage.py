"""What the release of a whole sequence says about the whole sequence."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

import numpy as np

from privopt.arrays import Floats
from privopt.errors import InvalidMechanism, InvalidProblem
from privopt.measures.inputs import Numbers, read_channel
from privopt.mechanisms.channel import Channel
from privopt.mechanisms.policy.beliefs import Kernels, Walk
from privopt.mechanisms.policy.policy import SequencePolicy
from privopt.models import MarkovChain


def policy_kernels(policy: SequencePolicy) -> Kernels:
    """The kernels of a policy, as they are drawn from."""

    def kernels(beliefs: Floats, begin: int, length: int) -> Floats:
        weights = policy.part(length).weights(beliefs, begin)
        return np.asarray(weights / weights[0, 0].sum())

    return kernels


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
        Distribution of the letters.
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
        if kernels.ambiguity is not None:
            raise InvalidMechanism(
                "the kernels of a policy over a set of chains depend on more than the belief: measures.robust_level bounds what "
                "its releases leak"
            )
        if kernels.rounding:
            raise InvalidMechanism(
                "the kernels of a policy that rounds beliefs depend on the course of its releases: a policy with the same rule "
                "and rounding=0 leaks as much but for what rounding keeps back"
            )
        count = _length(chain, length)
        return _ratios(Walk(chain, kernels.batch).extremes(policy_kernels(kernels), count))
    steps = _steps(chain, kernels, length)
    return _ratios(Walk(chain, 1).extremes(_fixed_kernels(steps), len(steps)))


def _ratios(extremes: tuple[float, float]) -> SequenceRatios:
    return SequenceRatios(max(0.0, extremes[0]), min(0.0, extremes[1]))


def _length(chain: MarkovChain, length: int | None) -> int:
    count = chain.max_length if length is None else length
    if count is None:
        raise InvalidProblem("give the number of letters, length: the chain has no end")
    if isinstance(count, bool) or not 1 <= count <= MAX_RELEASES:
        raise InvalidProblem(f"length must be 1 to {MAX_RELEASES} letters, got {count!r}")
    if chain.max_length is not None and count > chain.max_length:
        raise InvalidProblem(f"length {count} exceeds the {chain.max_length} letters of the chain")
    return count


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


def _kernel(chain: MarkovChain, kernel: Kernel) -> Floats:
    matrix = read_channel(kernel, False)[0]
    if len(matrix) != len(chain.letters):
        raise InvalidMechanism(
            f"a kernel has {len(matrix)} rows for the {len(chain.letters)} letters of the chain"
        )
    return matrix


def _fixed_kernels(steps: list[Floats]) -> Kernels:
    def kernels(beliefs: Floats, begin: int, length: int) -> Floats:
        return np.broadcast_to(steps[begin], (len(beliefs), *steps[begin].shape))

    return kernels
