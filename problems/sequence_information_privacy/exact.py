"""Outputs of a horizon in exact integers: the true belief beside the computed one, and the ratios of each kernel."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from operator import mul
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from privopt.core.exact import exp_at_least
from privopt.files.labels import Label
from privopt.mechanisms.policy.policy import SequencePolicy
from privopt.models import MarkovChain
from privopt.problems.sequence_information_privacy.data import Release, SequenceData
from privopt.problems.sequence_information_privacy.reach import affordable

if TYPE_CHECKING:
    from flint import fmpz, fmpz_mat

Ratio: TypeAlias = tuple[int, int]
Key: TypeAlias = tuple[tuple[float, ...], tuple[int, ...]]

MAX_NODES = 2000
MAX_WORK = 2**18
"""Products of long integers, about 0.3 s."""
FOLLOWED = 100
"""Releases that are all followed of a policy that checks its kernels as it builds them, about 0.1 s."""
MAX_DIGITS = 5e7
"""Products of machine words that common divisors of long integers may take, about 0.2 s."""
PATHS = 4
"""Outputs followed where they are too many, for at most ``STEPS`` releases."""
STEPS = 48


@dataclass
class Walked:
    """What the walk read.

    Parameters
    ----------
    complete : bool
        Whether every output within the horizon was seen.
    count : int
        Kernels checked.
    broken : int
        Ratios that are beyond the budget, or not decided.
    largest : (numerator, denominator)
        The largest ratio or inverse ratio, of a release of ``length`` letters.
    """

    complete: bool = True
    count: int = 0
    broken: int = 0
    largest: Ratio = (1, 1)
    length: int = 1
    worst: tuple[Label, ...] = ()
    where: str = ""
    _size: float = 0.0

    def note(self, ratio: Ratio, release: Release, names: tuple[Label, ...], budget: Budget) -> None:
        """Compare a ratio with the budget of its release, and keep it if it is the worst."""
        size = math.inf if ratio[1] == 0 else math.log(ratio[0] / ratio[1])
        if size > self._size * release.length:
            self.largest, self.length, self.worst = ratio, release.length, names
            self.where, self._size = f"released at letter {release.begin}", size / release.length
        if not (size < budget.surely or budget.allows(ratio)):
            self.broken += 1


@dataclass(frozen=True)
class Budget:
    """What a release may leak, None for all, and a float below it that differs from it by more than any logarithm's rounding."""

    exact: Fraction | None
    surely: float

    @classmethod
    def of(cls, problem: SequenceData, release: Release) -> Budget:
        """That of a release."""
        if problem.epsilon == math.inf:
            return cls(None, math.inf)
        exact = Fraction(problem.epsilon) * release.length
        return cls(exact, float(exact) - 1e-12 * (1 + float(exact)))

    def allows(self, ratio: Ratio) -> bool:
        """Whether ratio <= e^budget, proved in balls."""
        if self.exact is None:
            return True
        return ratio[1] != 0 and exp_at_least(self.exact, *ratio) is True


def walk(problem: SequenceData, policy: SequencePolicy) -> Walked:
    """Check the kernels of all outputs within the horizon, or of a few where those are too many."""
    walked = Walked()
    start = problem.chain.exact_initial
    nodes: dict[Key, None] = {(policy.start().belief, start.weights): None}
    digits = 0.0
    for at, release in enumerate(problem.releases()):
        cells = len(release.setting.inputs) * len(release.setting.outputs)
        single = len(release.paths.states) + problem.chain.k**2
        going = release.begin + release.length < problem.horizon
        all_outputs = cells + going * len(release.setting.outputs) * single
        most = min(MAX_NODES, affordable(policy, cells), max(MAX_WORK // all_outputs, not going))
        digits += len(nodes) * sum((w.bit_length() / 64) ** 2 for w in next(iter(nodes))[1])
        long = policy.enforced and at >= FOLLOWED
        if walked.complete and (long or walked.count + len(nodes) > most or digits > MAX_DIGITS):
            walked.complete = False
        if not walked.complete:
            if at >= min(STEPS, 1 + MAX_WORK // (2 * PATHS * (cells + single))):
                return walked
            nodes = dict.fromkeys(list(nodes)[:: -(-len(nodes) // PATHS)])
        nodes = _checked(problem, policy, release, nodes, walked)
    return walked


def _checked(
    problem: SequenceData,
    policy: SequencePolicy,
    release: Release,
    nodes: dict[Key, None],
    walked: Walked,
) -> dict[Key, None]:
    """Ratios at all nodes of a release; the nodes that follow."""
    part = policy.part(release.length)
    computed = np.array([key[0] for key in nodes])
    weights = part.weights(computed, release.begin)
    budget = Budget.of(problem, release)
    exact = _Exact(problem.chain, release)
    going = release.begin + release.length < problem.horizon
    steps: list[tuple[int, int, tuple[int, ...]]] = []
    for at, (_, joint) in enumerate(nodes):
        table = weights[at].tolist()
        inputs = exact.inputs(joint)
        walked.count += 1
        _note_ratios(walked, table, inputs, release, budget)
        if going:
            one = None if walked.complete else _likely(inputs, table, walked.count)
            steps += [(at, y, moved) for y, moved in _moves(exact, joint, table, one)]
    if not steps:
        return {}
    users, outputs = [at for at, _, _ in steps], [y for _, y, _ in steps]
    columns = weights[users, :, outputs].astype(np.float64)
    beliefs = part.filter.after(computed[users], columns, release.begin)
    return {
        (tuple(belief), moved): None for belief, (_, _, moved) in zip(beliefs.tolist(), steps, strict=True)
    }


def _note_ratios(
    walked: Walked, table: list[list[int]], inputs: list[int], release: Release, budget: Budget
) -> None:
    """The largest and the least ratio of every column, over inputs that can be."""
    total, setting = sum(inputs), release.setting
    can = [x for x, p in enumerate(inputs) if p]
    chances = [inputs[x] for x in can]
    for y, column in enumerate(zip(*(table[x] for x in can), strict=True)):
        marginal = sum(map(mul, chances, column))
        if marginal == 0:
            continue
        high, low = max(column), min(column)
        for weight, ratio in ((high, (high * total, marginal)), (low, (marginal, low * total))):
            names = setting.inputs[can[column.index(weight)]], setting.outputs[y]
            walked.note(ratio, release, names, budget)


def _likely(inputs: list[int], table: list[list[int]], turn: int) -> int:
    """One of the outputs that can be, another each turn."""
    can = [any(p and row[y] for p, row in zip(inputs, table, strict=True)) for y in range(len(table[0]))]
    possible = [y for y, likely in enumerate(can) if likely]
    return possible[turn % len(possible)]


def _moves(
    exact: _Exact, joint: tuple[int, ...], table: list[list[int]], only: int | None
) -> Iterator[tuple[int, tuple[int, ...]]]:
    """The outputs that can be, or a single one, and the distribution of the state that follows each, without common factors."""
    for y in range(len(table[0])) if only is None else (only,):
        moved = exact.after(joint, [row[y] for row in table])
        if any(moved):
            yield y, _without_common_factor(moved)


def _without_common_factor(weights: list[fmpz]) -> tuple[int, ...]:
    """Weights divided by their greatest common divisor; of many states they have a million digits, which Python divides slowly."""
    common = weights[0]
    for weight in weights[1:]:
        if common == 1:
            break
        common = common.gcd(weight)
    return tuple(int(weight // common) for weight in weights)


class _Exact:
    """Exact transitions through one release; distributions are integers up to a common factor."""

    def __init__(self, chain: MarkovChain, release: Release) -> None:
        self.chain, self.release = chain, release
        self.paths = release.paths.states.tolist()
        self.words = release.paths.word.tolist()
        steps = [_whole(chain, release.begin + i) for i in range(release.length - 1)]
        chances = [
            math.prod(step[path[i]][path[i + 1]] for i, (step, _) in enumerate(steps)) for path in self.paths
        ]
        self._ways = list(zip(self.paths, self.words, chances, strict=True))

    def inputs(self, joint: tuple[int, ...]) -> list[int]:
        """Distribution of what is read."""
        masses = [0] * len(self.release.setting.inputs)
        for path, word, chance in self._ways:
            masses[word] += joint[path[0]] * chance
        return masses

    def after(self, joint: tuple[int, ...], column: list[int]) -> list[fmpz]:
        """Distribution of the state that follows an output."""
        from flint import fmpz_mat

        last = [0] * self.chain.k
        if self.release.paths.identity:
            last = [p * c for p, c in zip(joint, column, strict=True)]
        for path, word, chance in () if self.release.paths.identity else self._ways:
            last[path[-1]] += joint[path[0]] * chance * column[word]
        rows, factors = self._step
        moved = fmpz_mat([[p * factor for p, factor in zip(last, factors, strict=True)]]) * rows
        return [moved[0, s] for s in range(self.chain.k)]

    @cached_property
    def _step(self) -> tuple[fmpz_mat, list[int]]:
        """The transition after the release: rows of integers, each to be multiplied by its factor, up to a common one."""
        step = self.release.begin + self.release.length - 1
        return _matrix(self.chain, 0 if self.chain.homogeneous else step)


@lru_cache(maxsize=4)
def _matrix(chain: MarkovChain, step: int) -> tuple[fmpz_mat, list[int]]:
    """The rows of a transition matrix as integers, and the factors that bring them over one denominator.

    Of many states the denominator has thousands of digits: only what is multiplied by it has them, not the matrix.
    """
    from flint import fmpz_mat

    rows = chain.exact_step(step)
    unit = math.lcm(*(row.total for row in rows))
    return fmpz_mat([row.weights for row in rows]), [unit // row.total for row in rows]


def _whole(chain: MarkovChain, step: int) -> tuple[list[list[int]], int]:
    """A transition matrix as integers over one denominator."""
    rows = chain.exact_step(step)
    unit = math.lcm(*(row.total for row in rows))
    return [[w * (unit // row.total) for w in row.weights] for row in rows], unit
