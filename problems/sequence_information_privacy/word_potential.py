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
leaves as it is, is then linear in r but for s pi_w: less than that by a quarter of the product of what s and pi_w rise, where one of them falls.
As phi is concave and rises by U at most, the right side is at least what is linear between the ends of both cells less U / 4 times the sum of these
products, which is 0 where s is the same at both ends. Of several such lines in r the largest counts everywhere, and the least value of the larger one of two is
that of a mixture of them. So for every y and pair of cells some s_0, s_1 prove what a release costs at least beyond a potential k(r). If that is
g for k = h, every release costs g at least; and V_1 >= k + c, V_t >= h + c + (t - 1) g for t > 1 follow from the same, table by table, beginning
with V_0 = 0.

**Rounding.** The numbers s are floats that are computed here, best at each node; whatever they are, the inequality holds. D_y(w) - lam_w - s is
rounded downward, phi rises; the rest is in balls.

The dual is ``{"kind": "words", "nodes": [...], "values": [...], "prices": [...], "first": [...]}``: values of the tables at the nodes, and for each of
them a row of prices for each node. The first prices prove the first table for the last release, the next ones the second table from the
first, and the ones after the last table that table from itself. ``first`` are prices of the first word of all.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import pairwise

import numpy as np

from privopt.arrays import Bools, Floats
from privopt.core.balls import ETA, Balls, U, below
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
class _Nodes:
    """What releases read at nodes, (K, n), what they cost beyond prices there, (K, m, n), and the best multipliers, (2, K, m, N, 3)."""

    words: Balls
    prices: Floats
    slopes: Floats
    levels: Floats

    def __getitem__(self, at: slice) -> _Nodes:
        return _Nodes(self.words[at], self.prices[at], self.slopes[at], self.levels[:, at])


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
    >>> bounds.excess(np.zeros(3), np.zeros(3), np.zeros((3, 4))).round(4).tolist()  # one word is as likely as the budget allows
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

    def excess(self, later: Floats, aim: Floats, prices: Floats) -> Floats:
        """How much a release and the potential ``later`` (N + 1,) cost at least above the potential ``aim`` before it, in each cell, shape (N,).

        Prices (N + 1, n) are those at nodes.
        """
        words, least = self.given(self.nodes), np.full(len(self.nodes) - 1, np.inf)
        owed = np.stack([aim[:-1], aim[1:]], axis=-1)[:, None, None, None]
        for part in self._parts(len(self.nodes)):
            nodes = self._at(later, prices, words, part)
            lines = below(self._lines(later, nodes) - owed)
            least = np.minimum(least, _least_of_largest(lines).min(axis=(1, 2)))
        return least

    def least(self, later: Floats, prices: Floats, words: Balls) -> float:
        """At most the least cost of a release and of the potential after it, by prices (n,), at one distribution (1, n) of words."""
        nodes = [self._at(later, prices[None], words, part) for part in self._parts(1)]
        return float(min(self._value(later, node, node.levels).max(axis=-1).min() for node in nodes))

    def _parts(self, nodes: int) -> list[Floats]:
        """Distortions of some releases at a time."""
        each = max(1, AT_ONCE // (3 * nodes * len(self.nodes) * self.cost.shape[1]))
        return [self.cost[i : i + each] for i in range(0, len(self.cost), each)]

    def _at(self, later: Floats, prices: Floats, words: Balls, cost: Floats) -> _Nodes:
        slopes = below(cost - prices[:, None])
        return _Nodes(words, prices, slopes, self.levels(later, slopes, words.mid))

    def _value(self, later: Floats, nodes: _Nodes, levels: Floats) -> Floats:
        """What releases cost at least at nodes by multipliers, (K, m, N, 3)."""
        low, up = self.factors
        paid_off = np.where(self.second, levels[1, ..., None], levels[0, ..., None])
        over = below(nodes.slopes[:, :, None, None] - paid_off)
        charged = below(over * np.where(over >= 0, low, up))
        of_words = (Balls.exact(charged) @ nodes.words.reshape(-1, 1, 1, over.shape[-1], 1)).lower[..., 0]
        after = np.stack([self.nodes[:-1], self.nodes[1:]], axis=1)[:, None]
        first, second = (Balls.exact(each[..., None]) for each in levels)
        paid = first * (1.0 - Balls.exact(after)) + second * after
        of_after = below(paid.lower + np.stack([later[:-1], later[1:]], axis=1)[:, None]).min(axis=-1)
        owed = (nodes.words * nodes.prices).sum(axis=1).lower[:, None, None, None]
        return below(below(of_words + of_after) + owed)

    def _lines(self, later: Floats, nodes: _Nodes) -> Floats:
        """What is at most the cost in each cell between two nodes and linear there, by its ends; shape (K - 1, m, N, 9, 2).

        By the multipliers of either node, and by those that are linear in between.
        """
        before, here = nodes[:-1], nodes[1:]
        own = self._value(later, nodes, nodes.levels)
        bend = self._bend(before, here)
        return np.concatenate([
            np.stack([own[:-1], self._value(later, here, before.levels)], axis=-1),
            np.stack([self._value(later, before, here.levels), own[1:]], axis=-1),
            below(np.stack([own[:-1], own[1:]], axis=-1) - bend[..., None]),
        ], axis=3)  # fmt: skip

    def _bend(self, before: _Nodes, here: _Nodes) -> Floats:
        """At least what multipliers that are linear lose in the cells between nodes, (K - 1, m, N, 3)."""
        rise, wide = Balls.exact(here.levels) - before.levels, here.words - before.words
        lost = Balls.exact(0.0)
        for level, part in zip((rise[0], rise[1]), (~self.second, self.second), strict=True):
            for higher, fewer in ((level, -wide), (-level, wide)):
                fall = Balls.exact(fewer.upper[:, part].clip(0.0)).sum(axis=1).reshape(-1, 1, 1, 1)
                lost = lost + Balls.exact(higher.upper.clip(0.0)) * fall
        return np.asarray((lost * (Balls.exact(self.factors[1]) / 4.0)).upper)

    def levels(self, later: Floats, slopes: Floats, words: Floats) -> Floats:
        """Multipliers of the words that end in either letter, at nodes, of releases with slopes (K, m, n), cells, and candidates: (2, K, m, N, 3).

        Best where the posterior after the release is one end of the cell, the other, or where the whole is least.
        """
        count, m, n = slopes.shape
        far = BEYOND * max(1.0, float(np.ptp(slopes)), float(np.ptp(later)))
        masses = [1.0 - self.nodes, self.nodes]
        held = np.stack([
            self._level(slopes[..., part], words[:, part], mass, far)
            for part, mass in zip((~self.second, self.second), masses, strict=True)
        ])  # fmt: skip
        rising = np.diff(later) / np.diff(self.nodes)
        bent = slopes[:, :, None] + rising[:, None] * self.second
        whole = self._level(bent.reshape(count, -1, n), words, np.ones(1), far).reshape(count, m, -1)
        return np.stack([held[..., :-1], held[..., 1:], np.stack([whole, whole - rising])], axis=-1)

    def _level(self, slopes: Floats, words: Floats, masses: Floats, far: float) -> Floats:
        """The multiplier of the total of words (K, n) of slopes (K, m, n), where it is each of some masses (T,); shape (K, m, T).

        It is the slope of the word that is neither as likely as may be nor as little; ``far`` beyond them where none is.
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


def steps_of(
    problem: SequenceData, bounds: tuple[WordBounds, WordBounds], values: list[Floats], prices: list[Floats]
) -> Iterator[tuple[Floats, int]]:
    """What releases cost at least above their tables, in each cell, and how many releases that is said of: of the last one, and so on."""
    tables, left = [np.zeros(len(values[0])), *values], lengths(problem)[0] - 1 - len(values)
    steps = [(*pair, 1) for pair in pairwise(tables)] + ([(tables[-1], tables[-1], left)] if left else [])
    for i, ((later, aim, times), rows) in enumerate(zip(steps, prices, strict=True)):
        yield bounds[min(i, 1)].excess(later, aim, rows), times


def fits(problem: SequenceData, nodes: int, proofs: int) -> bool:
    """Whether the check takes so many nodes and tables of prices."""
    return nodes <= MAX_NODES and problem.setting(problem.batch).cost.size * nodes**2 * proofs <= MAX_CELLS


def _total(problem: SequenceData, read: _Read, until: float) -> Fraction | None:
    """What all releases cost at least, in letters; None where time runs out."""
    bounds, total = bounds_of(problem, read.nodes), Fraction(0)
    for excess, times in steps_of(problem, bounds, read.values, read.prices):
        gain = float(excess.min())
        if time.monotonic() > until or not abs(gain) < LARGEST:
            return None
        total += times * Fraction(gain)
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
        if tables is None or each is None or any(len(rows) != len(nodes) for rows in each):
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
