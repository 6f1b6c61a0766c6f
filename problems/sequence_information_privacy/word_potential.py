"""Upper bounds on the utility of all releases of words of a chain of two letters, by a potential of the posterior of the last letter.

With r the posterior that the last letter is the second one, given the releases up to it, the next word has the distribution
pi(r) = (1 - r) R_0 + r R_1. Write Box(pi) for the posteriors p with L pi <= p <= U pi, L and U = e^+-w epsilon for w letters, rho(p) for how
likely they make the second letter at the end, and V_t(r) for the least cost of the t releases after r, whatever messages they carry. For any
prices lam of words, with D_y the distortions of release y,

    V_t(r) >= lam . pi(r) + min over y and p in Box(pi(r)) of (D_y - lam) . p + V_t-1(rho(p)).

Let h be linear between nodes of [0, 1]. For any numbers s_0 and s_1, by which the words that end in either letter are priced, and phi(x) = L x for
x >= 0 and U x below,

    lam . pi + (D_y - lam) . p + h(rho) >= lam . pi + s_0 (1 - rho) + s_1 rho + h(rho) + sum over words of pi_w(r) phi(D_y(w) - lam_w - s_last(w)),

as L pi <= p <= U pi. Take r from one cell between nodes, rho from one, too, lam_w pi_w and s_0, s_1 linear in r. The argument of phi times pi_w, which phi
leaves as it is, is then linear in r but for s pi_w: less than that by at most a quarter of d, the product of what s falls and pi_w rises, or more
where d is below 0. Where the argument keeps its sign in the whole cell, phi is linear, with slope L or U; elsewhere it is concave, and loses at most U d / 4,
or L d / 4 where d < 0. So the right side is at least what is linear between the ends of both cells less a quarter of the sum of these products, if that is
above 0. Of several such lines in r the largest counts everywhere, and the least value of the larger one of two is
that of a mixture of them. So for every y and pair of cells some s_0, s_1 prove what a release costs at least beyond a potential k(r). If that is
g for k = h, every release costs g at least; and V_1 >= k + c, V_t >= h + c + (t - 1) g for t > 1 follow from the same, table by table, beginning
with V_0 = 0.

**Rounding.** The numbers s are floats that are computed here, best at each node; whatever they are, the inequality holds. D_y(w) - lam_w - s is
rounded downward, phi rises; the rest is in balls.

The dual is ``{"kind": "words", "nodes": [...], "values": [...], "prices": [...], "first": [...]}``: values of the tables at the nodes, and for each of
them two rows of prices for each cell, at its two nodes: where the best releases change at a node its cells have other prices there. The first prices prove the first table for the last release, the next ones the second table from the
first, and the ones after the last table that table from itself. ``first`` are prices of the first word of all.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from privopt.arrays import Bools, Floats, Ints
from privopt.core.balls import ETA, Balls, U, above, below
from privopt.core.problem import Enclosure
from privopt.problems.belief_release.bound import price_row
from privopt.problems.sequence_information_privacy.data import Release, SequenceData

MAX_WORDS = 256
MAX_NATS = 20.0
"""Of a word: beyond, rounding of e^nats shows."""
MAX_NODES = 257
MAX_TABLES = 16
MAX_CELLS = 2**28
"""Pairs of words and releases times pairs of cells, over all tables."""
AT_ONCE = 2**22
"""Numbers of a table that are computed at a time."""
LARGEST = 2.0**20
"""Of potentials and prices."""
APART = 2.0**-30
"""Of nodes, at least."""
BEYOND = 4.0
"""How far multipliers go beyond all costs where no posterior is so far, as a share of their range."""


def refuse_words_of_two(problem: SequenceData) -> str | None:
    """Why no potential of this kind bounds a problem, or None."""
    chain, length = problem.chain, min(problem.batch, problem.span)
    if chain.k != 2 or chain.order != 1 or len(chain.letters) != 2:
        return f"it takes chains of two letters, this one has {chain.k} states"
    if length == 1:
        return "it releases words of several letters; give batch=2 or more"
    if not chain.homogeneous or chain.max_length == 1 or problem.span <= problem.batch:
        return "it takes two releases or more, of chains whose steps are alike"
    if not 0 < length * problem.epsilon <= MAX_NATS:
        return f"it takes budgets above 0 and up to {MAX_NATS:g} nats a word"
    if 2**length > MAX_WORDS or max(problem.words) > MAX_WORDS:
        return f"it lists words, of which there are more than {MAX_WORDS}"
    return None


@dataclass(frozen=True, eq=False)
class _End:
    """One end of cells, for releases and cells after them: what words cost beyond prices there, and how likely they are.

    Attributes
    ----------
    slopes : array (..., 1, n)
    words : Balls (..., n, 1)
    owed : array (..., 1)
        What prices say of the words at least.
    levels : array (2, ..., 3)
        The best multipliers of words that end in either letter, of three kinds.
    """

    slopes: Floats
    words: Balls
    owed: Floats
    levels: Floats

    def of(self, cells: Ints, releases: Ints, after: Ints) -> _End:
        """That of some of them."""
        slopes = self.slopes[cells, releases, 0]
        return _End(
            slopes, self.words[cells, 0, 0], self.owed[cells, 0, 0], self.levels[:, cells, releases, after]
        )

    def over(self, levels: Floats, second: Bools) -> Floats:
        """At most what words cost beyond prices and multipliers, (..., 3, n)."""
        return below(self.slopes - np.where(second, levels[1, ..., None], levels[0, ..., None]))


@dataclass(frozen=True, eq=False)
class WordBounds:
    """Lower bounds on the cost of a release of words and of what follows.

    Parameters
    ----------
    release : Release
    rows : Balls (2, n)
        Distributions of the word given the last letter before it.
    factors : pair of float
        Not above e^-nats and not below e^nats of the budget of a word.
    nodes : array (N + 1,)
        From 0 to 1.

    Examples
    --------
    >>> from privopt.models import MarkovChain
    >>> from privopt.problems.sequence_information_privacy.problem import SequenceInformationPrivacy
    >>> problem = SequenceInformationPrivacy(MarkovChain([[0.8, 0.2], [0.3, 0.7]]), 1.0, batch=2, horizon=4)
    >>> bounds = WordBounds.of(problem, problem.release(2), np.linspace(0, 1, 3))
    >>> bounds.excess(np.zeros(3), np.zeros(3), np.zeros((4, 4))).round(4).tolist()  # one word is as likely as the budget allows
    [0.0677, 0.1015]
    """

    release: Release
    rows: Balls
    factors: tuple[float, float]
    nodes: Floats

    @classmethod
    def of(cls, problem: SequenceData, release: Release, nodes: Floats) -> WordBounds:
        """Those of a release that follows another one."""
        moves, words = np.array(problem.chain.step(0)), release.word_given_state
        chances = Balls(words, words * (3 * release.length * U) + ETA * (words > 0))
        rows = Balls(moves, moves * U + ETA * (moves > 0)) @ chances
        nats = Balls.exact(problem.epsilon) * release.length
        return cls(release, rows, (float((-nats).exp().lower), float(nats.exp().upper)), nodes)

    @cached_property
    def cost(self) -> Floats:
        """At most the distortions of each release, summed over letters, shape (m, n)."""
        return below(self.release.setting.cost.T * self.release.length)

    @cached_property
    def second(self) -> Bools:
        """Which words end in the second letter."""
        paths = self.release.paths
        ends = np.zeros(self.cost.shape[1], dtype=bool)
        ends[paths.word] = paths.states[:, -1] == 1
        return ends

    def given(self, posteriors: Floats) -> Balls:
        """Distributions of the word (K, n) at posteriors (K,) of the last letter before it."""
        second = Balls.exact(posteriors).reshape(-1, 1)
        return (1.0 - second) * self.rows[0] + second * self.rows[1]

    def excess(self, later: Floats, aim: Floats, prices: Floats, cells: Ints | None = None) -> Floats:
        """How much a release and the potential ``later`` (N + 1,) cost at least above the potential ``aim`` before it, in each cell, shape (N,).

        Prices (2 N, n) are those at the two nodes of each cell; or of some cells only, (K,).
        """
        some, after = np.arange(len(self.nodes) - 1), np.arange(len(self.nodes) - 1)
        some = some if cells is None else cells
        words, least = self.given(self.nodes), np.full(len(some), np.inf)
        owed = np.stack([aim[some], aim[some + 1]], axis=-1)
        for part in self._parts(2 * len(some) + 2):
            before = self._end(later, prices[::2], words[some], part)
            here = self._end(later, prices[1::2], words[some + 1], part)
            own = np.stack([self._value(later, end, end.levels, after) for end in (before, here)], axis=-1)
            own = below(own - owed[:, None, None, None])
            bent = below(own - self._bend(before, here)[..., None])
            proved = bent.min(axis=-1).max(axis=-1)
            most = own.max(axis=3).min(axis=(1, 2, 3))
            open_ = np.nonzero(proved < most[:, None, None])  # the others limit nothing
            lines = self._lines(later, before.of(*open_), here.of(*open_), open_[2], owed[open_[0]])
            lines = np.concatenate([lines, bent[open_]], axis=1)
            proved[open_] = np.maximum(proved[open_], _least_of_largest(lines))
            least = np.minimum(least, proved.min(axis=(1, 2)))
        return least

    def least(self, later: Floats, prices: Floats, words: Balls) -> float:
        """At most the least cost of a release and of the potential after it, by prices (n,), at one distribution (1, n) of words."""
        after = np.arange(len(self.nodes) - 1)
        ends = [self._end(later, prices[None], words, part) for part in self._parts(1)]
        return float(min(self._value(later, end, end.levels, after).max(axis=-1).min() for end in ends))

    def _parts(self, nodes: int) -> list[Floats]:
        """Distortions of some releases at a time."""
        each = max(1, AT_ONCE // (3 * nodes * len(self.nodes) * self.cost.shape[1]))
        return [self.cost[i : i + each] for i in range(0, len(self.cost), each)]

    def _end(self, later: Floats, prices: Floats, words: Balls, cost: Floats) -> _End:
        """One end of cells, with dimensions for cells, releases, and cells after them."""
        slopes, (count, n) = below(cost - prices[:, None]), prices.shape
        owed = (words * prices).sum(axis=1).lower.reshape(count, 1, 1, 1)
        levels = self.levels(later, slopes, words.mid)
        return _End(slopes[:, :, None, None], words.reshape(count, 1, 1, n, 1), owed, levels)

    def _value(self, later: Floats, end: _End, levels: Floats, after: Ints) -> Floats:
        """What releases and what follows in the cells after them cost at least at an end by multipliers, (..., 3)."""
        low, up = self.factors
        over = end.over(levels, self.second)
        charged = below(over * np.where(over >= 0, low, up))
        of_words = (Balls.exact(charged) @ end.words).lower[..., 0]
        both = np.stack([after, after + 1], axis=-1)[:, None]
        first, second = (Balls.exact(each[..., None]) for each in levels)
        paid = first * (1.0 - Balls.exact(self.nodes[both])) + second * self.nodes[both]
        of_after = below(paid.lower + later[both]).min(axis=-1)
        return below(below(of_words + of_after) + end.owed)

    def _lines(self, later: Floats, before: _End, here: _End, after: Ints, owed: Floats) -> Floats:
        """What is at most the cost in cells and linear there, above what is owed (P, 2), by the multipliers of either end; (P, 6, 2)."""
        lines = [
            np.stack([self._value(later, end, levels, after) for end in (before, here)], axis=-1)
            for levels in (before.levels, here.levels)
        ]
        return below(np.concatenate(lines, axis=1) - owed[:, None])

    def _bend(self, before: _End, here: _End) -> Floats:
        """At least what multipliers that are linear lose in the cells between two ends, (..., 3)."""
        overs = [end.over(end.levels, self.second) for end in (before, here)]
        chances = [np.swapaxes(end.words.lower, -1, -2) for end in (before, here)]
        wide = here.words - before.words
        lost = Balls.exact(0.0)
        for level, part in enumerate((~self.second, self.second)):
            drop = Balls.exact(before.levels[level]) - here.levels[level]
            fall = drop.reshape(*drop.shape, 1) * wide[..., part, 0][..., None, :]
            ends = [(over[..., part], chance[..., part]) for over, chance in zip(overs, chances, strict=True)]
            lost = lost + Balls.exact(self._charge(fall, ends)).sum(axis=-1)
        return np.asarray(lost.upper.clip(0.0) / 4.0)

    def _charge(self, fall: Balls, ends: list[tuple[Floats, Floats]]) -> Floats:
        """At least four times what phi loses in a cell where its argument falls by at most a quarter of ``fall``.

        ``ends`` are what words cost at its two nodes, and no more than their probabilities there.
        """
        low, up = self.factors
        most = fall.upper
        deep, high = most.clip(0.0) / 4.0, (-fall.lower).clip(0.0) / 4.0
        above_zero = np.all([(over >= 0) & (below(over * words) >= deep) for over, words in ends], axis=0)
        below_zero = np.all([(over <= 0) & (below(-over * words) >= high) for over, words in ends], axis=0)
        slope = np.where(above_zero, low, np.where(below_zero | (most > 0), up, low))
        return above(slope * most)

    def levels(self, later: Floats, slopes: Floats, words: Floats) -> Floats:
        """Multipliers of the words that end in either letter, at nodes, of releases with slopes (K, m, n), cells, and candidates: (2, K, m, N, 3).

        Best where the posterior after the release is one end of the cell, the other, or where the whole is least.
        """
        count, m, n = slopes.shape
        far = BEYOND * np.ptp(slopes, axis=(1, 2), keepdims=True).clip(max(1.0, float(np.ptp(later))))
        masses = [1.0 - self.nodes, self.nodes]
        held = np.stack([
            self._level(slopes[..., part], words[:, part], mass, far)
            for part, mass in zip((~self.second, self.second), masses, strict=True)
        ])  # fmt: skip
        rising = np.diff(later) / np.diff(self.nodes)
        bent = slopes[:, :, None] + rising[:, None] * self.second
        whole = self._level(bent.reshape(count, -1, n), words, np.ones(1), far).reshape(count, m, -1)
        return np.stack([held[..., :-1], held[..., 1:], np.stack([whole, whole - rising])], axis=-1)

    def _level(self, slopes: Floats, words: Floats, masses: Floats, far: Floats) -> Floats:
        """The multiplier of the total of words (K, n) of slopes (K, m, n), where it is each of some masses (T,); shape (K, m, T).

        It is the slope of the word that is neither as likely as may be nor as little; ``far`` (K, 1, 1) beyond them where none is.
        """
        low, up = self.factors
        order = slopes.argsort(axis=-1, kind="stable")
        ranked = np.take_along_axis(slopes, order, axis=-1)
        gaps = np.take_along_axis(np.broadcast_to((up - low) * words[:, None], slopes.shape), order, axis=-1)
        least = low * words.sum(axis=-1)[:, None, None]
        reached = least + gaps.cumsum(axis=-1)
        at = (reached[..., None, :] < masses[:, None]).sum(axis=-1)
        padded = np.concatenate([ranked, ranked[..., -1:] + far], axis=-1)
        level = np.take_along_axis(padded, at, axis=-1)
        return np.where(masses < least, ranked[..., :1] - far, level)


def _least_of_largest(lines: Floats) -> Floats:
    """At most the least value over a cell of the largest of some lines with ends (..., L, 2).

    Of pairs among those that are largest at one end, at the other, and in the middle, the mixture that is level, or nearly.

    Examples
    --------
    >>> _least_of_largest(np.array([[0.0, 1.0], [1.0, 0.0], [0.1, 0.1]])).round(12).tolist()
    0.5
    """
    asked = (lines[..., 0], lines[..., 1], lines.mean(axis=-1))
    chosen = [
        np.take_along_axis(lines, by.argmax(axis=-1)[..., None, None], axis=-2)[..., 0, :] for by in asked
    ]
    pairs = [_level_mixture(chosen[i], chosen[j]) for i, j in ((0, 1), (0, 2), (2, 1))]
    return np.asarray(np.max(pairs, axis=0))


def _level_mixture(first: Floats, second: Floats) -> Floats:
    """At most the lesser end of the mixture of two lines (..., 2) whose lesser end is largest."""
    falls = first[..., 0] - first[..., 1], second[..., 0] - second[..., 1]
    apart = falls[0] - falls[1]
    with np.errstate(divide="ignore", invalid="ignore"):
        share = np.where(apart == 0, 1.0, -falls[1] / apart)
    one = np.clip(share, 0.0, 1.0)[..., None]
    mixed = Balls.exact(first) * one + Balls.exact(second) * (1.0 - Balls.exact(one))
    each = [mixed.lower.min(axis=-1), first.min(axis=-1), second.min(axis=-1)]
    return np.asarray(np.max(each, axis=0))


def words_enclosure(
    problem: SequenceData, dual: dict[str, object], seconds: float = math.inf
) -> Enclosure | None:
    """Floats around the upper bound on utility that a potential for words proves, or None."""
    if refuse_words_of_two(problem) is not None:
        return None
    read = _Read.of(problem, dual)
    if read is None:
        return None
    if read.key not in problem.enclosures:
        least = _total(problem, read, time.monotonic() + seconds)
        if least is None:
            return None
        mean = float(least / problem.span)
        problem.keep(read.key, (math.nextafter(-mean, -math.inf), math.nextafter(-mean, math.inf)))
    return problem.enclosures[read.key]


def lengths(problem: SequenceData) -> tuple[int, int]:
    """How many releases there are, and the letters of the last one."""
    releases = -(-problem.span // problem.batch)
    return releases, problem.span - (releases - 1) * problem.batch


def bounds_of(problem: SequenceData, nodes: Floats) -> tuple[WordBounds, WordBounds]:
    """Those of the last release, which may be shorter, and of one before it."""
    releases, last = lengths(problem)
    usual = WordBounds.of(problem, problem.release(problem.batch if releases > 2 else 0), nodes)
    if last == problem.batch:
        return usual, usual
    return WordBounds.of(problem, problem.release((releases - 1) * problem.batch), nodes), usual


def first_words(problem: SequenceData) -> Balls:
    """The distribution of the first word of all, shape (1, n)."""
    exact, words = problem.chain.exact_initial, problem.release(0).word_given_state
    chances = Balls(words, words * (3 * problem.release(0).length * U) + ETA * (words > 0))
    return Balls.fractions([exact.fraction(0), exact.fraction(1)]).reshape(1, 2) @ chances


class Step(NamedTuple):
    """A table that is to be proved from the one of the releases after, and how many releases it stands for."""

    bounds: WordBounds
    later: Floats
    aim: Floats
    times: int


def steps_of(
    problem: SequenceData, bounds: tuple[WordBounds, WordBounds], values: list[Floats]
) -> list[Step]:
    """The tables that are to be proved: of the last release, of the one before it, and so on."""
    tables, left = [np.zeros(len(values[0])), *values], lengths(problem)[0] - 1 - len(values)
    pairs = [(*pair, 1) for pair in pairwise(tables)] + ([(tables[-1], tables[-1], left)] if left else [])
    return [Step(bounds[min(i, 1)], *pair) for i, pair in enumerate(pairs)]


def fits(problem: SequenceData, nodes: int, proofs: int) -> bool:
    """Whether the check takes so many nodes and tables of prices."""
    return nodes <= MAX_NODES and problem.setting(problem.batch).cost.size * nodes**2 * proofs <= MAX_CELLS


def _total(problem: SequenceData, read: _Read, until: float) -> Fraction | None:
    """What all releases cost at least, in letters; None where time runs out."""
    bounds, total = bounds_of(problem, read.nodes), Fraction(0)
    for step, prices in zip(steps_of(problem, bounds, read.values), read.prices, strict=True):
        gain = float(step.bounds.excess(step.later, step.aim, prices).min())
        if time.monotonic() > until or not abs(gain) < LARGEST:
            return None
        total += step.times * Fraction(gain)
    first = bounds[1].least(read.values[-1], read.first, first_words(problem))
    return total + Fraction(first) if abs(first) < LARGEST else None


@dataclass(frozen=True, eq=False)
class _Read:
    """A dual whose numbers are of moderate size and fit the problem."""

    nodes: Floats
    values: list[Floats]
    prices: list[Floats]
    first: Floats
    key: tuple[object, ...]

    @classmethod
    def of(cls, problem: SequenceData, dual: dict[str, object]) -> _Read | None:
        nodes, first = price_row(dual.get("nodes"), MAX_NODES), price_row(dual.get("first"), MAX_WORDS)
        values, prices = dual.get("values"), dual.get("prices")
        if nodes is None or first is None or not isinstance(values, list) or not isinstance(prices, list):
            return None
        releases, last = lengths(problem)
        if not (1 <= len(values) <= min(MAX_TABLES, releases - 1) and _sound(nodes)):
            return None
        if len(prices) != len(values) + (releases - 1 > len(values)):
            return None
        words = [
            problem.setting(last).cost.shape[0],
            *[problem.setting(problem.batch).cost.shape[0]] * (len(prices) - 1),
        ]
        if len(first) != problem.setting(problem.batch).cost.shape[0]:
            return None
        if not fits(problem, len(nodes), len(prices)):
            return None
        tables = _tables([values], [len(nodes)])
        each = _tables(prices, words)
        if tables is None or each is None or any(len(rows) != 2 * len(nodes) - 2 for rows in each):
            return None
        arrays = [nodes, first, *tables, *each]
        if not all(bool((np.abs(a) <= LARGEST).all()) for a in arrays):
            return None
        return cls(nodes, list(tables[0]), each, first, ("words", *(a.tobytes() for a in arrays)))


def _tables(written: list[object], widths: list[int]) -> list[Floats] | None:
    """Tables of finite numbers, each with rows of a width; None where one is none."""
    read = list[Floats]()
    for rows, width in zip(written, widths, strict=True):
        if not isinstance(rows, list) or not rows:
            return None
        known = [
            row for row in (price_row(row, width) for row in rows) if row is not None and len(row) == width
        ]
        if len(known) < len(rows):
            return None
        read.append(np.array(known))
    return read


def _sound(nodes: Floats) -> bool:
    return len(nodes) >= 2 and nodes[0] == 0.0 and nodes[-1] == 1.0 and bool((np.diff(nodes) > APART).all())
