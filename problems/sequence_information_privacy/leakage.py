"""Utility and leakage of a policy within a horizon: proved over every belief that can be reached, else simulated.

One walk serves the reading and the certificate, so both are about the same beliefs. It keeps, for each belief that the
policy computes, the probability of having come there jointly with the state. That is linear in what came before,
so outputs that lead to the same floats are one node, and only sums of products of numbers that are not negative are
taken: n of them in a row have a relative error of n 2^-53 at most, whatever their order; n is counted on the way.

The leakage at a node is read at the computed belief. The true one is within Hilbert distance h of it
(:mod:`privopt.mechanisms.policy.beliefs`), which moves the logarithm of each ratio by at most h.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import lru_cache

import numpy as np

from privopt.arrays import Floats, Ints
from privopt.core.exact import log_enclosure
from privopt.core.problem import Enclosure
from privopt.files.labels import Label
from privopt.mechanisms.channel import Channel
from privopt.mechanisms.policy.beliefs import FAINT, distinct
from privopt.mechanisms.policy.fixed import gathered, means, total
from privopt.mechanisms.policy.kernel import TOTAL
from privopt.mechanisms.policy.part import Part
from privopt.mechanisms.policy.policy import SequencePolicy
from privopt.problems.sequence_information_privacy.data import Release, SequenceData
from privopt.problems.sequence_information_privacy.long_run import lasting_policy, machine_of, mean_cost

MAX_CELLS = 2**23
"""Of all kernels that are read together, about 3 s."""
MAX_BELIEFS = 100_000
SLOW_SECONDS = 2.0
FEW, LONGEST = 64, 8
"""Beliefs, and releases in a round, up to which it is looked whether all comes again."""
RELEASE = 16
"""Beliefs that take as long as beginning a release."""
CARRIED = 2**17
"""Cells of kernels that a policy carries; as text they take some 3 MB."""
BY_DIMENSION = 30_000
"""Beliefs of a policy without end for each dimension that they have."""
USERS = 4096
DRAWN_CELLS = 2**19
"""Cells of all kernels that are drawn from, about 0.4 s; of large ones at most so many times :data:`LEAST_USERS`."""
LEAST_USERS, LEAST_DRAWN = 8, 16
LETTERS = 192
"""Releases of a chain with equal steps that are drawn at most."""
HOPE = 2
"""How many times as many beliefs as are allowed may be computed in the hope that more of them are equal than before."""
SEEN, FAR = 2048, 100.0
"""Beliefs after which it is given up where so many times as many as are allowed lie ahead, if they multiply as before."""
SEED = 20260101
_UNIT = 2.0**-53
_LOST = 2.0**-1000
"""More than all that underflows can amount to: fewer than 2^60 products, each off by 2^-1074 at most."""


@dataclass
class Reading:
    """What was read; utility is minus the mean distortion of a letter."""

    utility: float = 0.0
    leakage: float = 0.0
    worst: tuple[Label, ...] = ()
    where: str = ""
    exact: bool = True
    standard_error: float = 0.0


@dataclass(frozen=True)
class Walked:
    """What the walk over all outputs proved.

    Parameters
    ----------
    complete : bool
        Whether every output within the horizon was seen, and its kernel is the same on every machine; if not, nothing
        else counts.
    count : int
        Kernels read.
    utility, leakage : (lo, hi)
        Enclosures, a letter.
    reading : Reading
        The floats in their middle.
    """

    complete: bool
    count: int = 0
    utility: Enclosure = (-math.inf, math.inf)
    leakage: Enclosure = (0.0, math.inf)
    reading: Reading = field(default_factory=Reading)


@dataclass(frozen=True, eq=False)
class Nodes:
    """All beliefs before one release.

    Parameters
    ----------
    beliefs : array (M, k)
        As the policy computes them.
    joint : array (M, k)
        Probability of coming there with each state, to a relative error of ``terms`` 2^-53.
    weights : int array (M, n, m)
        The kernels out of 2**52.
    inputs : array (M, n)
        Beliefs over what is read, as the policy computes them.
    times, apart, growth : int
        How many releases are like this one to the last digit, how many releases lie from one of them to the next, and
        by how much ``terms`` grows on the way.
    """

    release: Release
    part: Part
    beliefs: Floats
    joint: Floats
    terms: int
    weights: Ints
    inputs: Floats
    times: int = 1
    apart: int = 0
    growth: int = 0

    def largest_ratio(self, only: tuple[int, int] | None = None) -> tuple[float, tuple[int, int] | None]:
        """The largest ratio, or inverse ratio, and the input and output where it is, or of one pair."""
        pieces = self._pieces()
        if len(pieces) > 1:
            return max((piece.largest_ratio(only) for piece in pieces), key=lambda largest: largest[0])
        real, can = self.weights.astype(np.float64), self.inputs > 0
        marginal = means(self.inputs, real) / total(self.inputs)[:, None]
        high = np.where(can[:, :, None], real, -1.0)
        low = np.where(can[:, :, None], real, np.inf)
        differ = high.max(axis=1) > low.min(axis=1)
        over = np.where(marginal > 0, marginal, 1.0)
        if only is not None:
            x, y = only
            real, can = real[:, x : x + 1, y : y + 1], can[:, x : x + 1]
            differ, over = differ[:, y : y + 1], over[:, y : y + 1]
        seen = can[:, :, None] & differ[:, None, :]
        with np.errstate(divide="ignore"):
            ratio = real / over[:, None, :]
            size = np.where(seen, np.maximum(ratio, 1.0 / np.where(seen, ratio, 1.0)), 1.0)
        at = int(size.argmax())
        largest = float(size.reshape(-1)[at])
        if largest <= 1.0:
            return 1.0, None
        _, row, column = np.unravel_index(at, size.shape)
        return largest, (int(row), int(column))

    def cost(self) -> tuple[float, float]:
        """Expected sum of distortions of this release, and the same of their sizes, before rounding is counted."""
        if len(pieces := self._pieces()) > 1:
            parts = [piece.cost() for piece in pieces]
            return math.fsum(mean for mean, _ in parts), math.fsum(size for _, size in parts)
        read, cost = self._distribution(), self.release.setting.cost
        kernels = self.weights / float(TOTAL)
        length = self.release.length
        size = math.fsum(total(read * total(kernels * np.abs(cost))).tolist()) * length
        mean = size if cost.min() >= 0 else math.fsum(total(read * total(kernels * cost)).tolist()) * length
        return mean, size

    def _pieces(self) -> list[Nodes]:
        """A part of the beliefs at a time, as memory allows."""
        width = self.part.users
        if len(self.beliefs) <= width:
            return [self]
        some = [slice(begin, begin + width) for begin in range(0, len(self.beliefs), width)]
        arrays = [(self.beliefs[i], self.joint[i], self.weights[i], self.inputs[i]) for i in some]
        return [
            replace(self, beliefs=beliefs, joint=joint, weights=weights, inputs=inputs)
            for beliefs, joint, weights, inputs in arrays
        ]

    def charged(self) -> bool:
        """Whether anything is released that costs something."""
        used = (self.weights > 0) & (self.inputs > 0)[:, :, None]
        return bool((used & (self.release.setting.cost != 0)).any())

    def _distribution(self) -> Floats:
        """True probabilities of what is read, jointly with coming here; shape (M, n)."""
        if self.release.paths.identity:
            return self.joint
        ways = self.release.paths
        return gathered(self.joint[:, ways.states[:, 0]] * self.release.chances, ways.word, len(ways.words))

    def following(self, most: float) -> tuple[Floats, Floats, int, int] | None:
        """Beliefs, joint probabilities and counted roundings before the next release, and outputs; None for more than ``most``."""
        release, (n, m) = self.release, self.weights.shape[1:]
        can = (self.inputs > 0)[:, :, None]
        users, outputs = np.nonzero(((self.weights > 0) & can).any(axis=1))
        if len(users) > most or len(users) * n * m > 8 * MAX_CELLS:
            return None
        columns = self.weights[users, :, outputs].astype(np.float64)
        beliefs = self.part.filter.after(self.beliefs[users], columns, release.begin)
        last = release.joint(self.joint[users], columns / float(TOTAL))
        joint = means(last, release.setting.chain.step(release.begin + release.length - 1))
        first, which = distinct(beliefs)
        merged = np.zeros((len(first), joint.shape[1]))
        np.add.at(merged, which, joint)
        equal = int(np.bincount(which).max())
        terms = self.terms + self.roundings() + joint.shape[1] + equal + 8
        return beliefs[first], merged, terms, len(users)

    def roundings(self) -> int:
        """Roundings, at most, from the joint probabilities to the distribution of what is read, or of the last state."""
        ways = self.release.paths
        if ways.identity:
            return 2
        most = max(int(np.bincount(ways.word).max()), int(np.bincount(ways.states[:, -1]).max()))
        return most + 2 * self.release.length + 4


def affordable(policy: SequencePolicy, cells: int) -> int:
    """How many beliefs to ask a rule about: as many as take about 2 s where it solves a programme of so many cells.

    Examples
    --------
    >>> from privopt.models import MarkovChain
    >>> affordable(SequencePolicy(MarkovChain([[0.5, 0.5], [0.5, 0.5]]), 1.0), 4)
    100000
    """
    if policy.cost.quick:
        return max(1, min(MAX_BELIEFS, MAX_CELLS // cells))
    return max(4, min(600, int(SLOW_SECONDS / slow_seconds(cells))))


def asked(problem: SequenceData, policy: SequencePolicy) -> tuple[float, float]:
    """How many beliefs a rule that solves a programme is asked about until its kernels are written down, and simulated.

    The second number is 0 where the first kernels are all that there are; both are where the rule is quick.

    Examples
    --------
    >>> from privopt.models import MarkovChain
    >>> from privopt.problems.sequence_information_privacy.problem import SequenceInformationPrivacy
    >>> problem = SequenceInformationPrivacy(MarkovChain([[0.5, 0.5], [0.5, 0.5]]), 0.5, horizon=6)
    >>> asked(problem, problem.answer("closed-form")), asked(problem, SequencePolicy(problem.chain, 0.5, rule="structure-lp"))
    ((0.0, 0.0), (63.0, 0.0))
    """
    if policy.cost.quick:
        return 0.0, 0.0
    release = next(problem.releases())
    cells, outputs = _cells(release), len(release.setting.outputs)
    releases = -(-problem.span // problem.batch)
    beliefs = sum(float(outputs) ** min(i, 20) for i in range(min(releases, 20)))
    most = affordable(policy, cells)
    if beliefs <= most:
        return beliefs, 0.0
    return float(most), float(_users(problem, policy) * min(releases, _drawn(problem, policy)))


def slow_seconds(cells: int) -> float:
    """Predicted seconds of a rule that solves a programme of so many cells."""
    return 0.005 + 4e-5 * cells + 8e-9 * cells**2


def _cells(release: Release) -> int:
    return len(release.setting.inputs) * len(release.setting.outputs)


def nodes(problem: SequenceData, policy: SequencePolicy, *, carried: bool) -> Iterator[Nodes | None]:
    """All beliefs, release by release; None, and no more, where there are too many, or one is not carried."""
    beliefs, joint, terms = np.array([policy.start().belief]), np.array([problem.chain.initial]), 1
    most = affordable(policy, _cells(next(problem.releases())))
    known: set[bytes] = set()
    seen = work = begin = 0
    cycle, alone = _Cycle(problem), 1.0
    while begin < problem.horizon:
        release = problem.release(begin)
        part = policy.part(release.length)
        work += len(beliefs) + RELEASE
        seen += len(beliefs)
        if not policy.cost.quick:  # it is not asked twice
            known |= {row.tobytes() for row in beliefs}
            seen = len(known)
        if seen > most or work > MAX_BELIEFS + RELEASE:
            yield None
            return
        if carried and not part.carried(beliefs, release.begin).all():
            yield None
            return
        inputs = part.filter.inputs(beliefs, release.begin)
        weights = part.weights(beliefs, release.begin)
        cycle.meet(begin, beliefs, joint, terms)
        repeats = (cycle.times, cycle.length, cycle.growth) if cycle.left else (1, 0, 0)
        here = Nodes(release, part, beliefs, joint, terms, weights, inputs, *repeats)
        yield here
        begin += release.length
        if begin < problem.horizon:
            room = math.inf
            if problem.chain.homogeneous and policy.cost.quick:
                room = HOPE * max(0, min(most - seen, MAX_BELIEFS - work)) / alone
            following = here.following(room)
            if following is None:
                yield None
                return
            if room < math.inf and hopeless(problem, begin, len(beliefs), len(following[0])):
                yield None
                return
            beliefs, joint, terms, outputs = following
            alone = len(beliefs) / outputs
        if cycle.passed():
            begin += (cycle.times - 1) * cycle.length * problem.batch
            terms += (cycle.times - 1) * cycle.growth


def hopeless(problem: SequenceData, begin: int, before: int, beliefs: int) -> bool:
    """Whether far too many beliefs lie ahead if they multiply as at the release before the one at a record.

    Examples
    --------
    >>> from privopt.models import MarkovChain
    >>> problem = SequenceData(MarkovChain([[0.5, 0.5], [0.5, 0.5]]), 0.5, horizon=100)
    >>> hopeless(problem, 12, 2048, 4096), hopeless(problem, 12, 4096, 4096), hopeless(problem, 98, 2048, 4096)
    (True, False, False)
    """
    ahead = min(20, (problem.span - 1 - begin) // problem.batch)
    return beliefs >= SEEN and beliefs * (beliefs / before) ** ahead > FAR * MAX_BELIEFS


@dataclass
class _Cycle:
    """Releases that come again as they were, to the last digit: they are followed once, and counted."""

    problem: SequenceData
    length: int = 0
    times: int = 1
    growth: int = 0
    left: int = 0
    done: bool = False
    _met: list[tuple[bytes, bytes, int]] = field(default_factory=list)

    def meet(self, begin: int, beliefs: Floats, joint: Floats, terms: int) -> None:
        """The nodes before a release; of a chain whose steps differ, or of many beliefs, nothing comes again."""
        if self.done or self.left or not self.problem.chain.homogeneous or len(beliefs) > FEW:
            return
        met = beliefs.tobytes(), joint.tobytes()
        for back, (*before, count) in enumerate(reversed(self._met), start=1):
            times = (self.problem.span - begin) // (self.problem.batch * back)
            if tuple(before) == met and times > 1:
                self.length, self.times, self.growth, self.left = back, times, terms - count, back
                return
        self._met = [*self._met[1 - LONGEST :], (*met, terms)]

    def passed(self) -> bool:
        """Whether this was the last release of the one round that is followed."""
        if not self.left:
            return False
        self.left -= 1
        self.done = not self.left
        return self.done


def walk(problem: SequenceData, policy: SequencePolicy) -> Walked:
    """Utility and leakage over all outputs within the horizon, proved; remembered for the last few policies.

    Examples
    --------
    >>> from privopt.models import MarkovChain
    >>> from privopt.problems.sequence_information_privacy.problem import SequenceInformationPrivacy
    >>> problem = SequenceInformationPrivacy(MarkovChain([[0.5, 0.5], [0.5, 0.5]]), 0.5, horizon=6)
    >>> answer = walk(problem, problem.answer("closed-form"))
    >>> answer.complete, answer.count, abs(answer.utility[1] + 0.5 * math.exp(-0.5)) < 1e-7
    (True, 6, True)
    """
    if problem.lasting:
        return _lasting(problem, policy)
    return _walk(problem, policy, (MAX_BELIEFS, MAX_CELLS))


@lru_cache(maxsize=8)
def _lasting(problem: SequenceData, policy: SequencePolicy) -> Walked:
    """The same for a stream without end: over all beliefs that can ever be kept."""
    release = problem.release(0)
    machine = machine_of(policy, affordable(policy, _cells(release)))
    part = policy.part(1)
    if machine is None or not part.carried(machine.beliefs, 0).all():
        return Walked(False)
    inputs = part.filter.inputs(machine.beliefs, 0)
    here = Nodes(release, part, machine.beliefs, machine.beliefs, 1, machine.weights, inputs)
    cost, best = mean_cost(policy, machine), Reading()
    best.utility = -0.5 * (cost[0] + cost[1]) if here.charged() else 0.0
    utility = (-cost[1], -cost[0]) if here.charged() else (0.0, 0.0)
    ratio, pair = here.largest_ratio()
    low, high = 0.0, 0.0
    if pair is not None:
        low, high = _logarithm(ratio, 1)
        spread = part.filter.distance(math.inf) + 8 * (sum(machine.weights.shape[1:]) + 16) * _UNIT
        low, high = max(0.0, low - spread), high + spread
        if policy.enforced:  # every kernel is checked with a margin for that distance
            high = min(high, policy.epsilon)
        best.leakage, best.where = high, "released in the long run"
        best.worst = (release.setting.inputs[pair[0]], release.setting.outputs[pair[1]])
    if not policy.enforced and bool(((machine.beliefs > 0) & (machine.beliefs < FAINT)).any()):
        low, high = 0.0, math.inf
    return Walked(True, len(machine.beliefs), utility, (low, high), best)


@lru_cache(maxsize=8)
def _walk(problem: SequenceData, policy: SequencePolicy, limits: tuple[int, int]) -> Walked:
    best, count, spread, charged, faint = Reading(), 0, 0.0, False, False
    costs: list[float] = []
    errors: list[float] = []
    largest, letters = 1.0, 1
    low, high = 0.0, 0.0
    for here in nodes(problem, policy, carried=True):
        if here is None:
            return Walked(False, count)
        count += len(here.beliefs) * here.times
        (n, m), length = here.weights.shape[1:], here.release.length
        mean, size = here.cost()
        terms = here.terms + here.roundings() + n + m + length + 12
        costs.append(mean * here.times)
        grown = terms + 0.5 * here.growth * (here.times - 1)
        errors.append(1.01 * grown * here.times * _UNIT * size)
        charged = charged or here.charged()
        faint = faint or bool(((here.beliefs > 0) & (here.beliefs < FAINT)).any())
        at = here.release.begin // problem.batch + (here.times - 1) * here.apart
        drift = here.part.filter.distance(at + 1)
        if at:
            drift = max(drift, policy.part(policy.batch).filter.distance(at + 1))
        spread = max(spread, (drift + 8 * (n + m + 16) * _UNIT) / length)
        ratio, pair = here.largest_ratio()
        if pair is not None and _size(ratio) / length > _size(largest) / letters:
            largest, letters = ratio, length
            setting = here.release.setting
            best.worst = (setting.inputs[pair[0]], setting.outputs[pair[1]])
            best.where = f"released at letter {here.release.begin}"
    if largest > 1.0:
        low, high = _logarithm(largest, letters)
        best.leakage = 0.5 * (low + high) if high < math.inf else high
        low, high = max(0.0, low - spread), high + spread
    if faint and not policy.enforced:
        low, high = 0.0, math.inf
    mid = math.fsum(costs) / problem.horizon
    most = max(abs(float(c)) for c in (problem.setting(1).cost.min(), problem.setting(1).cost.max()))
    slack = (math.fsum(errors) * (1 + 8 * _UNIT) + _LOST * most) / problem.horizon + 4 * _UNIT * abs(mid)
    best.utility = -mid if charged else 0.0
    utility = (
        (math.nextafter(-mid - slack, -math.inf), math.nextafter(-mid + slack, math.inf))
        if charged
        else (0.0, 0.0)
    )
    return Walked(True, count, utility, (low, high), best)


def _size(ratio: float) -> float:
    return math.inf if ratio == math.inf else math.log(ratio)


def _logarithm(ratio: float, length: int) -> Enclosure:
    """Floats around the logarithm of a ratio, a letter."""
    if ratio == math.inf:
        return math.inf, math.inf
    lo, hi = log_enclosure(*ratio.as_integer_ratio())
    return lo / length * (1 - 4 * _UNIT), hi / length * (1 + 4 * _UNIT)


def is_worst(
    problem: SequenceData, policy: SequencePolicy, worst: tuple[Label, ...], where: str
) -> bool | None:
    """Whether a pair leaks as much as any, where the walk is complete; None where rounding leaves it open."""
    known = walk(problem, policy)
    if not known.complete:
        return None
    if problem.lasting:
        return True if (worst, where) == (known.reading.worst, known.reading.where) else None
    if len(worst) != 2 or not known.reading.worst:
        return worst == known.reading.worst
    low = 0.0
    spread = known.leakage[1] - known.reading.leakage
    for here in nodes(problem, policy, carried=True):
        if here is None or f"released at letter {here.release.begin}" != where:
            continue
        setting = here.release.setting
        if worst[0] not in setting.inputs or worst[1] not in setting.outputs:
            return False
        ratio, _ = here.largest_ratio((setting.inputs.index(worst[0]), setting.outputs.index(worst[1])))
        low = _size(ratio) / here.release.length
    if low == known.reading.leakage or worst == known.reading.worst:
        return True
    return None if low + 2 * spread >= known.reading.leakage else False


def settled(problem: SequenceData, policy: SequencePolicy) -> SequencePolicy:
    """The same policy with the kernel of every belief within reach written into it, where they are few.

    A linear program has other optima on another processor; a policy that carries its kernels does not ask again.
    """
    if policy.cost.same_everywhere:
        return policy
    if problem.lasting:
        return _carrying(problem, policy)
    carried: dict[tuple[int, bytes], tuple[Floats, Channel]] = {}
    cells = 0
    for here in nodes(problem, policy, carried=False):
        if here is None:
            return policy
        setting = here.release.setting
        for belief, weights in zip(here.inputs, here.weights, strict=True):
            key = (here.release.length, belief.tobytes())
            if key in carried:
                continue
            cells += weights.size
            if cells > CARRIED:
                return policy
            carried[key] = (belief, Channel(weights / float(TOTAL), setting.inputs, setting.outputs))
    return policy.with_prepared(tuple(carried.values()))


def _carrying(problem: SequenceData, policy: SequencePolicy) -> SequencePolicy:
    """The same for a stream without end."""
    release = problem.release(0)
    setting, machine = release.setting, machine_of(policy, affordable(policy, _cells(release)))
    if machine is None or machine.weights.size > CARRIED:
        return policy
    inputs = policy.part(1).filter.inputs(machine.beliefs, 0)
    inputs = inputs / total(inputs)[:, None]
    pairs = zip(inputs, machine.weights, strict=True)
    return policy.with_prepared(
        [(p, Channel(w / float(TOTAL), setting.inputs, setting.outputs)) for p, w in pairs]
    )


def lasting(problem: SequenceData, policy: SequencePolicy) -> SequencePolicy:
    """The same rule for streams of any length, with beliefs that are rounded as little as can be followed."""
    cells = _cells(problem.release(0))
    bare = replace(policy, limit=math.inf, prepared=())
    return lasting_policy(lambda steps: replace(bare, rounding=steps), lambda made: _followed(made, cells))


def _followed(policy: SequencePolicy, cells: int) -> int:
    """Beliefs of a machine: as many as are asked about, or as a file may carry the kernels of; fewer where few are enough."""
    most = min(affordable(policy, cells), BY_DIMENSION * max(1, policy.chain.k - 1))
    return most if policy.cost.same_everywhere else min(most, CARRIED // cells)


def read(problem: SequenceData, policy: SequencePolicy) -> Reading:
    """Utility and leakage: those of the walk, or simulated with a fixed seed where it is not complete."""
    walked = walk(problem, policy)
    return walked.reading if walked.complete else replace(_simulated(problem, policy))


@dataclass(frozen=True, eq=False)
class Table:
    """Kernels (M, n, m) in floats, the beliefs over what they read (M, n) and their output distributions (M, m)."""

    release: Release
    part: Part
    inputs: Floats
    kernels: Floats
    marginal: Floats

    @property
    def distortion(self) -> Floats:
        """Expected distortion of a letter, for each belief."""
        return total(self.inputs * total(self.kernels * self.release.setting.cost))

    def note_leakage(self, reading: Reading) -> None:
        """Keep the worst pair if it is worse than what was known."""
        real = (self.inputs > 0)[:, :, None] & (self.marginal > 0)[:, None, :]
        over = np.where(self.marginal > 0, self.marginal, 1.0)[:, None, :]
        with np.errstate(divide="ignore"):
            sizes = np.where(real, np.abs(np.log(np.where(real, self.kernels, 1.0) / over)), 0.0)
        at = int(sizes.argmax())
        leakage = float(sizes.reshape(-1)[at]) / self.release.length
        if leakage > reading.leakage:
            _, x, y = np.unravel_index(at, sizes.shape)
            setting = self.release.setting
            reading.leakage = leakage
            reading.worst = (setting.inputs[int(x)], setting.outputs[int(y)])
            reading.where = f"released at letter {self.release.begin}"


def _table(release: Release, policy: SequencePolicy, beliefs: Floats) -> Table:
    part = policy.part(release.length)
    inputs = part.filter.inputs(beliefs, release.begin)
    inputs = inputs / total(inputs)[:, None]
    weights = part.weights(beliefs, release.begin)
    kernels = weights / float(weights[0, 0].sum())
    return Table(release, part, inputs, kernels, means(inputs, kernels))


@lru_cache(maxsize=8)
def _simulated(problem: SequenceData, policy: SequencePolicy) -> Reading:
    """Releases drawn from their own distribution; the distortion of each is its mean at the belief.

    Of a long horizon with equal steps a beginning is drawn, whose second half stands for what follows.
    """
    reading, rng = Reading(exact=False), np.random.default_rng(SEED)
    users = _users(problem, policy)
    beliefs, spent = np.repeat([policy.start().belief], users, axis=0), np.zeros(users)
    drawn_letters = problem.span
    if problem.chain.homogeneous:
        drawn_letters = min(drawn_letters, _drawn(problem, policy) * problem.batch)
    later = (problem.span - drawn_letters) / (drawn_letters - drawn_letters // 2)
    for release in problem.releases():
        if release.begin >= drawn_letters:
            break
        table = _table(release, policy, beliefs)
        table.note_leakage(reading)
        settled = release.begin >= drawn_letters // 2
        share = float(settled) if problem.lasting else 1.0 + later * settled
        spent += share * release.length * table.distortion
        if release.begin + release.length < drawn_letters:
            sums = np.cumsum(table.marginal, axis=1)
            drawn = (sums <= (rng.random(users) * sums[:, -1])[:, None]).sum(axis=1)
            columns = table.kernels[np.arange(users), :, drawn]
            beliefs = table.part.filter.after(beliefs, columns, release.begin)
    spent /= drawn_letters - drawn_letters // 2 if problem.lasting else problem.horizon
    reading.utility = -float(spent.mean())
    reading.standard_error = float(spent.std(ddof=1) / math.sqrt(users))
    return reading


def _drawn(problem: SequenceData, policy: SequencePolicy) -> int:
    """How many releases of a chain with equal steps are drawn."""
    cells = _cells(next(problem.releases()))
    if policy.cost.quick:
        return min(LETTERS, max(LEAST_DRAWN, DRAWN_CELLS // cells))
    return max(LEAST_DRAWN, affordable(policy, cells) // 2)


def _users(problem: SequenceData, policy: SequencePolicy) -> int:
    """How many sequences to simulate: bounded in memory and in work."""
    cells = _cells(next(problem.releases()))
    count = -(-problem.span // problem.batch)
    count = min(count, _drawn(problem, policy)) if problem.chain.homogeneous else count
    most = USERS if policy.cost.quick else affordable(policy, cells) // count
    return max(2, min(most, 2**20 // cells, max(LEAST_USERS, DRAWN_CELLS // (count * cells))))
