"""Over a set of joints with delta > 0: the pairs that may break their bounds at some joint, and how likely they are at most together.

A pair (s, y) counts as beyond a level if it is so at some joint of the set. These pairs B have at a joint P the probability

    sum_s P(s) sum_x P(x | s) M_s(x),  M_s(x) = sum of P(y | x) over the y with (s, y) in B,

linear in each row and in the prior, which vary independently: its maximum is one extreme over each row and one over the
priors. At no single joint are more pairs beyond, so that a level is proved where this is at most delta. It need not be the
least level of the definition, as pairs may be beyond at different joints; the one at the nominal joint is below it. A set of one joint has both in one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np

from privopt.arrays import Bools, Floats, Ints
from privopt.core.exact import log_enclosure
from privopt.core.problem import Enclosure
from privopt.models.ambiguity.joint import JointAmbiguity
from privopt.models.channel_data import Release
from privopt.problems.local_information_privacy.certificate import Cell, Limit, Ratio, Verdict
from privopt.problems.local_information_privacy.certificate import certify as certify_one
from privopt.problems.local_information_privacy.data import LocalInformationPrivacyData
from privopt.problems.robust import NOTHING, Shift, larger, most_likely
from privopt.problems.robust_reading import SetReader

ROOM = 1e-10
"""Share of delta that a mixture leaves to rounding."""


def level(
    data: LocalInformationPrivacyData, ambiguity: JointAmbiguity, release: Release, found: Sequence[Shift]
) -> tuple[Enclosure, Cell | None]:
    """Floats around the least level beyond which pairs are as likely as delta at most, and a pair that reaches the upper one.

    The lower end is the leakage at the nominal joint.
    """
    ratios = largest_of_pairs(found)
    ends = {cell: max(0.0, log_enclosure(*ratio)[1]) for cell, ratio in ratios.items()}
    ranked = sorted(ends, key=lambda cell: -ends[cell])
    limit = Fraction(data.delta)

    def fits(count: int) -> bool:
        return most_likely(ambiguity, release, ranked[:count]) <= limit

    count = last(fits, len(ranked))
    high = 0.0 if count == len(ranked) else ends[ranked[count]]
    low = min(certify_one(data.alone(ambiguity.nominal), release).leakage[0], high)
    return (low, high), ranked[count] if high > 0 else None


def certify(
    data: LocalInformationPrivacyData, ambiguity: JointAmbiguity, release: Release, found: Sequence[Shift]
) -> Verdict:
    """Prove that pairs beyond the bounds have probability at most delta at every joint of the set; undecided ones count as beyond."""
    upper, lower = Limit(data.upper), Limit(data.lower)
    beyond = {
        (shift.s, shift.y)
        for shift in found
        if shift.high[0] and (upper if shift.other > 0 else lower).keeps(*shift.high) is not True
    }
    mass = most_likely(ambiguity, release, sorted(beyond))
    leakage, worst = level(data, ambiguity, release, found)
    names = (data.observation.leaking.sensitive[worst[0]], release.outputs[worst[1]]) if worst else ()
    count = len({(shift.s, shift.y) for shift in found})
    return Verdict(
        ok=mass <= Fraction(data.delta),
        reason=f"{len(beyond)} of {count} pairs may break the bounds at some distribution of the set, with probability "
        f"{float(mass):.17g} in all at most",
        leakage=leakage,
        worst=names,
        where="",
        uncovered=(),
    )


def is_worst(
    data: LocalInformationPrivacyData,
    ambiguity: JointAmbiguity,
    release: Release,
    found: Sequence[Shift],
    named: tuple[Hashable, ...],
) -> bool:
    """Whether a pair of labels reaches the level; no pair only where nothing leaks."""
    _, cell = level(data, ambiguity, release, found)
    if not named or cell is None:
        return not named and cell is None
    ratios, sensitive = largest_of_pairs(found), data.observation.leaking.sensitive
    if len(named) != 2 or named[0] not in sensitive or named[1] not in release.outputs:
        return False
    pair = sensitive.index(named[0]), release.outputs.index(named[1])
    (up, down), (most, least) = ratios.get(pair, NOTHING), ratios[cell]
    return up * least == most * down


def largest_of_pairs(found: Sequence[Shift]) -> dict[Cell, Ratio]:
    """The largest ratio of each pair, of both sides; at least 1.

    Examples
    --------
    >>> largest_of_pairs([Shift(0, 1, 1, (3, 2), (3, 2)), Shift(0, 1, -1, (2, 1), (2, 1))])
    {(0, 1): (2, 1)}
    """
    ratios: dict[Cell, Ratio] = {}
    for shift in found:
        pair = shift.s, shift.y
        ratios[pair] = larger(ratios.get(pair, NOTHING), shift.high)
    return ratios


def last(fits: Callable[[int], bool], most: int) -> int:
    """The largest number up to ``most`` that fits, where all below one that fits do, and 0 does.

    Examples
    --------
    >>> last(lambda n: n * n <= 50, 100), last(lambda n: True, 4)
    (7, 4)
    """
    low, high = 0, most + 1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low


def reading(reader: SetReader, matrix: Floats, levels: Floats, delta: float) -> float:
    """The least level beyond which pairs are as likely as delta at most, in floats.

    Parameters
    ----------
    reader : SetReader
    matrix : array (n_x, n_y)
    levels : array (n_s, n_y)
        Of each pair, at least 0.
    delta : float
    """
    order = np.argsort(-levels, axis=None, kind="stable")

    def fits(count: int) -> bool:
        return likely(reader, matrix, _first(order, count, levels.shape)) <= delta

    count = last(fits, int(np.count_nonzero(levels)))
    return float(levels.ravel()[order[count]]) if count < levels.size else 0.0


def likely(reader: SetReader, matrix: Floats, pairs: Bools) -> float:
    """The largest probability of some pairs (s, y), shape (n_s, n_y), over the set, in floats."""
    sums = matrix @ pairs.T.astype(float)
    of_s = np.array([row.ends(sums[:, [s]])[1][0] for s, row in enumerate(reader.rows)])
    return float(reader.prior.ends(of_s[:, None])[1][0])


def share(
    data: LocalInformationPrivacyData,
    reader: SetReader,
    matrix: Floats,
    marginal: Floats,
    aims: tuple[float, float],
) -> float:
    """A large weight of a release in a mixture with a constant that keeps delta over the set.

    The pairs that are farthest beyond are let be, as long as they are unlikely enough, and the others drawn within
    ``aims``. Where the mixture makes those too likely all are drawn.
    """
    spread = reader.spread(matrix, data.notion)
    excess = over(spread.levels(), aims)
    order, room = np.argsort(-excess, axis=None, kind="stable"), data.delta * (1.0 - ROOM)

    def fits(count: int) -> bool:
        return likely(reader, matrix, _first(order, count, excess.shape)) <= room

    spared = _first(order, last(fits, int(np.count_nonzero(excess))), excess.shape)
    keep = float(replace(spread, used=spread.used & ~spared).shares(marginal, aims).min())
    if keep == 1.0:
        return 1.0
    mixed = keep * matrix + (1.0 - keep) * marginal
    beyond = over(reader.spread(mixed, data.notion).levels(), (data.upper, data.lower)) > 0
    if likely(reader, mixed, beyond) <= data.delta * (1.0 - ROOM / 2):
        return keep
    return float(spread.shares(marginal, aims).min())


def _first(order: Ints, count: int, shape: tuple[int, ...]) -> Bools:
    """The first pairs of an order, as a table."""
    chosen = np.zeros(math.prod(shape), dtype=np.bool_)
    chosen[order[:count]] = True
    return chosen.reshape(shape)


def over(levels: tuple[Floats, Floats], bounds: tuple[float, float]) -> Floats:
    """By how much rises and falls exceed their bounds, the larger of both, at least 0."""
    with np.errstate(invalid="ignore"):  # inf - inf, where there is no bound
        above, below = (
            np.where(level > bound, level - bound, 0.0) for level, bound in zip(levels, bounds, strict=True)
        )
    return np.maximum(above, below)
