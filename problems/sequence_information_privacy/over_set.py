"""What a policy leaks over a set of chains: every output within the horizon, at every belief that some chain of the set leads to.

Each output is followed with the belief by which the policy chooses its kernels, and with the bounds of the true belief over
the set (:mod:`privopt.mechanisms.policy.ranges`). The largest ratio of an output is that of its likeliest input to the least
mean within the bounds, or of the largest mean to its least likely input. For two states whose rows lie between bounds it is
attained, by rows that vary with time; else it is at least the leakage. Rows backward in time say nothing of releases that
go forward, so that a chain counts whatever its rows backward are.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from privopt.arrays import Floats
from privopt.core.balls import Balls, above
from privopt.core.certificate import Terms
from privopt.core.problem import Enclosure
from privopt.errors import InvalidProblem
from privopt.files.labels import Label
from privopt.mechanisms.policy.beliefs import distinct
from privopt.mechanisms.policy.policy import SequencePolicy
from privopt.mechanisms.policy.ranges import FilterOver, spans
from privopt.models import ChainAmbiguity, MarkovChain
from privopt.models.ambiguity.joint import Ambiguity
from privopt.models.ambiguity.row_set import RowSet
from privopt.problems.sequence_information_privacy.data import Release, SequenceData
from privopt.problems.sequence_information_privacy.leakage import walk
from privopt.problems.sequence_information_privacy.reach import HOPE, affordable, hopeless

MOST_CELLS = 2**24
"""Of all kernels of one release."""
ROUNDING, STEP = 2.0**-40, 2.0**-44
"""Nats: how far below the bound the leakage that is attained is read: more than bounds of beliefs are moved outward at each release."""


@dataclass(frozen=True)
class Level:
    """The leakage over a set, a letter, in nats: what is attained, at most, and at least what no chain of the set exceeds.

    ``complete`` says whether every output within the horizon was followed; if not, ``high`` is inf.
    """

    complete: bool
    low: float = 0.0
    high: float = math.inf
    worst: tuple[Label, ...] = ()
    where: str = ""


@dataclass(eq=False)
class _Follow:
    """The largest ratio so far."""

    ratio: float = 1.0
    worst: tuple[Label, ...] = ()
    where: str = ""

    def note(self, release: Release, weights: Floats, bounds: tuple[Floats, Floats]) -> None:
        """Take the ratios of all kernels (M, n, m) of a release."""
        low, high = spans(weights, bounds)
        can = (bounds[1] > 0)[:, :, None]
        most, least = np.where(can, weights, -1.0), np.where(can, weights, np.inf)
        differ = most.max(axis=1) > least.min(axis=1)
        with np.errstate(divide="ignore", invalid="ignore"):
            rise = np.where(differ, most.max(axis=1) / low, 1.0)
            fall = np.where(differ, high / least.min(axis=1), 1.0)
        size = np.maximum(rise, fall)
        user, y = np.unravel_index(int(size.argmax()), size.shape)
        if not float(size[user, y]) > self.ratio:
            return
        x = most[user, :, y].argmax() if rise[user, y] >= fall[user, y] else least[user, :, y].argmin()
        setting = release.setting
        self.ratio, self.where = float(size[user, y]), f"released at letter {release.begin}"
        self.worst = setting.inputs[int(x)], setting.outputs[int(y)]


def level_over(problem: SequenceData, policy: SequencePolicy, ambiguity: ChainAmbiguity) -> Level:
    """The largest leakage of a policy over a set of chains, within the horizon.

    Examples
    --------
    >>> from privopt.problems.sequence_information_privacy.problem import SequenceInformationPrivacy
    >>> chain = MarkovChain([[0.8, 0.2], [0.3, 0.7]], [0.5, 0.5])
    >>> problem = SequenceInformationPrivacy(chain, 1.0, horizon=4)
    >>> level = level_over(problem, problem.answer("closed-form"), ChainAmbiguity.interval(chain, 0.05))
    >>> level.complete, 1.0 < level.low <= level.high < 1.04
    (True, True)
    """
    follow = _Follow()
    complete = _followed(problem, policy, FilterOver(problem.chain, 1, ambiguity), follow)
    high = 0.0 if follow.ratio <= 1 else float(Balls.exact(above(np.array(follow.ratio))).log().upper)
    room = ROUNDING + STEP * problem.horizon
    low = max(0.0, high - room) if _attained(ambiguity) else 0.0
    if not complete:
        return Level(False, low)
    return Level(True, low, high, follow.worst, follow.where)


def _followed(problem: SequenceData, policy: SequencePolicy, over: FilterOver, follow: _Follow) -> bool:
    """Whether every output was followed."""
    own, known = np.array([policy.start().belief]), over.start()[None, :]
    count, begin, same = 0, 0, False
    part, width = policy.part(1), own.shape[1]
    most = affordable(policy, part.shape[0] * part.shape[1])
    while begin < problem.horizon and not same:
        release = problem.release(begin)
        count += len(own)
        if count > most:
            return False
        weights = part.weights(own, begin).astype(np.float64)
        follow.note(release, weights, over.bounds(known))
        begin += 1
        if begin == problem.horizon:
            return True
        users, outputs = np.nonzero((weights > 0).any(axis=1))
        if len(users) > HOPE * most or len(users) * part.shape[0] * part.shape[1] > MOST_CELLS:
            return False
        columns = weights[users, :, outputs]
        rows = np.concatenate(
            [
                part.filter.after(own[users], columns, begin - 1),
                over.after(known[users], columns, begin - 1),
            ],
            axis=1,
        )
        rows = rows[distinct(rows)[0]]
        before = np.concatenate([own, known], axis=1)
        if hopeless(problem, begin, len(own), len(rows)):
            return False
        same = problem.chain.homogeneous and rows.shape == before.shape and bool((rows == before).all())
        own, known = rows[:, :width], rows[:, width:]
    return True


def _attained(ambiguity: ChainAmbiguity) -> bool:
    """Whether the bounds of beliefs are those of some chain of the set."""
    return ambiguity.k == 2 and all(
        row.kind != "chi2" or row.is_point for row in (*ambiguity.forward, ambiguity.initial)
    )


def robust_level(problem: SequenceData, policy: SequencePolicy, ambiguity: Ambiguity) -> Enclosure:
    """Floats around the largest leakage of a policy over a set of chains, a letter, in nats.

    Where too many outputs are within reach it is at most the budget that the policy keeps over the same set, or that of
    its own chain and the Hilbert distance of the beliefs.

    Raises
    ------
    InvalidProblem
        If it is no set of chains around that of the problem, or releases are words.
    """
    over = set_of_chains(problem, ambiguity)
    level = level_over(problem, policy, over)
    known = walk(problem, policy)
    nominal = (
        known.leakage[0] if known.complete and over.contains_steps(problem.chain, backward=False) else 0.0
    )
    high = min(level.high, _by_construction(policy, over))
    return min(max(level.low, nominal), high), high


def _by_construction(policy: SequencePolicy, ambiguity: ChainAmbiguity) -> float:
    """What an enforced policy keeps over a set, whatever is released."""
    if not policy.enforced:
        return math.inf
    if policy.ambiguity == ambiguity:
        return policy.epsilon
    if policy.chain != ambiguity.nominal or policy.limit == math.inf:
        return math.inf
    return policy.epsilon + FilterOver(ambiguity.nominal, 1, ambiguity).ranges.distance(int(policy.limit))


def set_of_chains(problem: SequenceData, ambiguity: Ambiguity) -> ChainAmbiguity:
    """A set of distributions, if it is one of chains around that of a problem that releases single letters.

    Raises
    ------
    InvalidProblem
        If it is not, or words or a chain of a higher order are released.
    """
    if not isinstance(ambiguity, ChainAmbiguity):
        raise InvalidProblem(
            f"the distributions of a sequence vary in a ChainAmbiguity, got {type(ambiguity).__name__}"
        )
    if ambiguity.nominal != problem.chain:
        raise InvalidProblem(
            "the set is around another chain than that of the problem: make it with nominal=problem.chain"
        )
    check_letters(problem.chain, problem.batch)
    return ambiguity


def check_letters(chain: MarkovChain, batch: int) -> None:
    """Refuse words, and chains of a higher order: their beliefs are not bounded over a set."""
    if batch > 1 or chain.order > 1:
        raise InvalidProblem(
            "over a set of chains only single letters of a chain of order 1 are released: give batch=1 and such a chain, or "
            ".nominal"
        )


def is_worst(
    problem: SequenceData, policy: SequencePolicy, worst: tuple[Label, ...], where: str
) -> bool | None:
    """Whether a pair is the one that leaks most; None where outputs were not all followed, or another leaks as much."""
    if problem.ambiguity is None:
        return None
    level = level_over(problem, policy, problem.ambiguity)
    return True if level.complete and (worst, where) == (level.worst, level.where) else None


def neighbourhood(problem: SequenceData, radius: Fraction, kind: str) -> ChainAmbiguity:
    """The chains of this first distribution whose rows lie within a radius of those of the problem.

    Raises
    ------
    InvalidProblem
        If the chain has several matrices, or words are released.
    """
    chain = problem.chain
    check_letters(chain, problem.batch)
    if not chain.homogeneous:
        raise InvalidProblem("rows within a radius need a chain of one matrix for all steps")
    make = RowSet.total_variation if kind == "total_variation" else RowSet.chi2
    rows = [make([Fraction(w, row.total) for w in row.weights], radius) for row in chain.exact_step(0)]
    first = [Fraction(w, chain.exact_initial.total) for w in chain.exact_initial.weights]
    return ChainAmbiguity(rows, [RowSet.all(chain.k)] * chain.k, first, nominal=chain)


def terms(plain: Terms, ambiguity: ChainAmbiguity) -> Terms:
    """What a certificate says, made of every chain in a set."""
    return replace(
        plain,
        assumption=(
            f"the data follow some chain of the set, at each step perhaps another, and {ambiguity.nominal!r} where the utility "
            "is concerned; a letter that this one makes impossible is refused by release, and keeps the same bounds in step"
        ),
        adversary=(
            "anyone who sees every release so far, and knows the chain that the data follow, the policy and the beliefs that follow"
        ),
        uncovered=tuple(
            "what is known of the data besides the chain and the releases, and data that follow a chain outside the set"
            if "another chain" in text
            else text
            for text in plain.uncovered
        ),
        distributions=ambiguity.described,
        confidence=ambiguity.confidence,
    )
