"""Bayesian leakage over a set of chains of two states whose rows vary with time: read in floats, and proved.

The recursion of :mod:`privopt.measures.bayesian.markov` with every row in its set. For one side of a target let F = f(1) / f(0) for a
function f of the unknown records, given the next one outward, let a and b be the probabilities of leaving state 0 and state 1, and let eta be
how much likelier what is known farther out is from state 1 than from state 0. The ratio for the values 1 and 0 is

    (b + (1 - b) F) / ((1 - a) + a F)                                             if nothing is known of the side,
    (A + eta F) (B + eta) / ((A + eta) (B + eta F)),  A = b / (1 - b), B = (1 - a) / a    if something is.

Both are monotone in a, b and F, and the only maximum in eta inside an interval is at eta = sqrt(A B / F). An adversary who knows
nothing is met exactly; one who knows a record is bounded, as eta and F may not go together.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import product
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from privopt.arrays import Floats
from privopt.core.exact import ball_ceiling, ball_floor
from privopt.errors import InvalidModel, InvalidProblem
from privopt.measures.bayesian._sides import (
    MOST_STEPS,
    Front,
    Weights,
    checked_count,
    checked_level,
    largest_product,
)
from privopt.measures.bayesian.markov import FAMILY
from privopt.measures.bayesian.markov_proof import prove_markov_leak
from privopt.measures.bound import Bound
from privopt.measures.redaction.binary_sets import Leaving
from privopt.models.ambiguity.chains import ChainAmbiguity
from privopt.models.ambiguity.row_set import RowSet
from privopt.models.markov.chain import MarkovChain

if TYPE_CHECKING:
    from flint import arb

Ends: TypeAlias = tuple[float, float]
Pair: TypeAlias = tuple[float, float]
"""The ratios for the values (1, 0) and for (0, 1)."""

METHOD = FAMILY + "recursion"

_SETTLED = 1e-14
_SLACKS = (1e-13, 1e-12, 1e-11, 1e-10, 1e-9, 1e-8, 1e-7, 1e-6)
_ROUNDING = 64 * 2.0**-53
"""More than the relative rounding of a step, which has fewer than 40 operations on positive numbers."""
_MOST = 1e250
_LEAST_LARGE = 1e150
"""A proof from below follows ratios no farther."""
_BITS = 128


def chain_set_recursion(ambiguity: ChainAmbiguity, tau: float, length: int | None = None) -> Bound:
    """Largest Bayesian leakage of a tau-private mechanism over a set of chains of two states, by recursion.

    Parameters
    ----------
    ambiguity : ChainAmbiguity
        Rows forward bind the records after a target, rows backward those before it; they may vary with time.
    tau : float
        Level of differential privacy in nats, >= 0.
    length : int, optional
        Number of records; any by default.

    Returns
    -------
    Bound
        Exact where an adversary who knows nothing is the worst, else an upper bound.

    Raises
    ------
    InvalidProblem
        If tau or the length is out of range, or there are more than two states.

    Examples
    --------
    >>> from privopt.models import MarkovChain, RowSet
    >>> rows = [RowSet.interval([0.75, 0.15], [0.85, 0.25]), RowSet.interval([0.25, 0.65], [0.35, 0.75])]
    >>> near = ChainAmbiguity(rows, rows, RowSet.all(2), nominal=MarkovChain([[0.8, 0.2], [0.3, 0.7]]))
    >>> round(chain_set_recursion(near, 0.5).value, 6)  # 1.479119 for the nominal chain
    1.942123
    """
    level, count = checked_level(tau), _checked(ambiguity, length)
    if level == 0:
        return Bound(0.0, True, METHOD, "targets_in_interval")
    growth = math.exp(level) if level < 700 else math.inf
    left, right = _both(ambiguity, growth, 0, count)
    value = _level(level, largest_product(left.all, right.all, count))
    least = _level(level, largest_product(left.nothing, right.nothing, count))
    if count is not None:
        value = min(value, count * level)
    return Bound(value, value < math.inf and value <= least * (1 + 1e-12), METHOD, "targets_in_interval")


def side_ratios(rows: Sequence[RowSet], tau: float, records: int) -> Floats:
    """The largest ratio E[f | x] / E[f | x'] over what may be known of one side of a target, for its values x and x'.

    Parameters
    ----------
    rows : sequence of RowSet, length 2
        Sets of the distributions of the next record outward.
    tau : float
        By how much the logarithm of f changes with each record.
    records : int
        Of the side.

    Examples
    --------
    >>> side_ratios([RowSet.total_variation(row, 0) for row in ([0.75, 0.25], [0.5, 0.5])], 0.5, 1).round(4)
    array([[1.    , 1.1225],
           [1.1395, 1.    ]])
    """
    return _Side.of(rows, math.exp(tau)).walk(records + 1).all.after(records)


@lru_cache(maxsize=256)
def prove_chain_set(ambiguity: ChainAmbiguity, tau: float, length: int | None = None) -> float:
    """A float that is proved to be at least the Bayesian leakage of every tau-private mechanism at every chain of a set.

    Every step is enlarged by more than its rounding; where the recursion settles, one step that does not lead out of what was
    reached bounds all later ones.

    Returns
    -------
    float
        In nats; inf where nothing was proved.
    """
    level, count = checked_level(tau), _checked(ambiguity, length)
    if level == 0:
        return 0.0
    if level >= 500:
        return math.inf
    growth = _end(level, lambda tau: tau.exp(), ball_ceiling)
    left, right = _both(ambiguity, growth, 1, count)
    most = largest_product(left.all, right.all, count) * (1 + _ROUNDING)
    return math.inf if math.isinf(most) else _end(level, lambda tau: tau + _log(most), ball_ceiling)


@lru_cache(maxsize=256)
def prove_chain_set_leak(ambiguity: ChainAmbiguity, tau: float, length: int | None = None) -> float:
    """A float that is at most the leakage of some tau-private mechanism at some chain of a set.

    The better of: nothing is known of other records, which the recursion meets; and the stationary chain of the set that forgets most
    slowly, see :func:`privopt.measures.bayesian.markov_proof.prove_markov_leak`.
    """
    level, count = checked_level(tau), _checked(ambiguity, length)
    if level == 0 or level >= 500:
        return 0.0
    growth = _end(level, lambda tau: tau.exp(), ball_floor)
    left, right = (each.nothing for each in _both(ambiguity, growth, -1, count))
    for front in (left, right):
        front.settled = True  # deeper sides leak no less: the recursion starts from 1 and is monotone
        front.tables = [np.minimum(table, _LEAST_LARGE) for table in front.tables]
    least = largest_product(left, right, count) * (1 - _ROUNDING)
    nothing = _end(level, lambda tau: tau + _log(least), ball_floor) if least >= 1 else 0.0
    slowest = _slowest(ambiguity)
    return max(0.0, nothing, 0.0 if slowest is None else prove_markov_leak(slowest, level, count))


def _slowest(ambiguity: ChainAmbiguity) -> MarkovChain | None:
    """The stationary chain at the corner of the rows forward that forgets most slowly, if it lies in the set; else the nominal one."""
    corners = []
    for values in ([[1, 0], [0, 1]], [[0, 1], [1, 0]]):
        exact = [
            [Fraction(w, row.denominator) for w in row.farthest(value)]
            for value, row in zip(values, ambiguity.forward, strict=True)
        ]
        corners.append((abs(exact[0][0] + exact[1][1] - 1), exact))
    try:
        chain = MarkovChain(max(corners)[1], states=ambiguity.states)
    except InvalidModel:  # one of the states is never left
        chain = None
    if chain is not None and ambiguity.contains_steps(chain):
        return chain
    return ambiguity.nominal if ambiguity.nominal.period is None else None


def _both(ambiguity: ChainAmbiguity, growth: float, outward: int, length: int | None) -> list[_Fronts]:
    """The left side and the right one, which may be alike."""
    right = _Side.of(ambiguity.forward, growth, outward).walk(length)
    if ambiguity.backward == ambiguity.forward:
        return [right, right]
    return [_Side.of(ambiguity.backward, growth, outward).walk(length), right]


def _log(value: float) -> arb:
    """The logarithm of a float, as a ball."""
    from flint import arb

    return arb(value).log()


def _end(level: float, of: Callable[[arb], arb], end: Callable[[arb], float]) -> float:
    """An end of a function of a level."""
    from flint import arb, ctx

    with ctx.workprec(_BITS):
        return end(of(arb(level)))


def _level(tau: float, ratio: float) -> float:
    return tau + math.log(ratio) if ratio > 0 else 0.0


def _checked(ambiguity: ChainAmbiguity, length: int | None) -> int | None:
    if ambiguity.k != 2:
        raise InvalidProblem(
            f"over a set of chains the leakage is known for two states only, these have {ambiguity.k}: merge states"
        )
    return checked_count(length)


@dataclass(frozen=True)
class _Fronts:
    """The tables of a side against all adversaries, and against those who know nothing of it."""

    all: Front
    nothing: Front


@dataclass(frozen=True)
class _Known:
    """What an adversary who knows a record of the side makes of the unknown ones before it."""

    eta: Ends
    ratios: Pair


@dataclass(frozen=True)
class _Side:
    """The rows of one side, with how steps are rounded: up for 1, down for -1."""

    cross: Ends
    back: Ends
    growth: float
    outward: int

    @classmethod
    def of(cls, rows: Sequence[RowSet], growth: float, outward: int = 0) -> _Side:
        """The probabilities of leaving each state, rounded like the steps."""
        leaving = Leaving.of(rows, inner=outward < 0)
        cross, back = (
            (_near(low, leaving.whole, -outward), _near(high, leaving.whole, outward))
            for low, high in (leaving.cross, leaving.back)
        )
        return cls(cross, back, growth, outward)

    def walk(self, length: int | None) -> _Fronts:
        """Follow the adversaries until the records end or nothing changes; not at all where every record adds as much as the last."""
        if length is None and self._forgets_nothing():
            endless = [_table((1.0, 1.0)), _table((2 * _MOST, 2 * _MOST))]
            return _Fronts(_front(endless, False), _front(list(endless), False))
        nothing: Pair = (1.0, 1.0)
        known = [_Known(self._first(v), (1.0, 1.0)) for v in (0, 1)]
        worst: Pair = (1.0, 1.0)
        tables, plain, settled = [_table(worst)], [_table(nothing)], False
        for _ in range(MOST_STEPS if length is None else min(length - 1, MOST_STEPS)):
            then = self._unknown(nothing)
            after = [_Known(self._shifted(k.eta), self._informed(k)) for k in known]
            worst = _larger(worst, then, *(k.ratios for k in known))
            settled = _same(nothing, then) and all(
                _same(a.ratios, k.ratios) and _same(a.eta, k.eta) for a, k in zip(after, known, strict=True)
            )
            nothing, known = then, after
            tables.append(_table(worst))
            plain.append(_table(nothing))
            if settled or max(worst) > _MOST:
                break
        if settled:
            last = _larger(worst, *(k.ratios for k in known))
            later = last if self.outward < 1 else self._later(nothing, known, last)
            settled = later is not None
            tables[-1] = _table(last if later is None else later)
        return _Fronts(_front(tables, settled), _front(plain, settled))

    def _forgets_nothing(self) -> bool:
        """Whether some rows keep both states, or swap them: then a record changes both ratios by the whole growth, without end."""
        return max(self.cross[0], self.back[0]) == 0.0 or min(self.cross[1], self.back[1]) == 1.0

    def _first(self, value: int) -> Ends:
        """Between which bounds it is likelier from 1 than from 0 that the next record has a value."""
        (a0, a1), (b0, b1) = self.cross, self.back
        if value:
            low, high = _quotient(1.0 - b1, a1), _quotient(1.0 - b0, a0)
        else:
            low, high = _quotient(b0, 1.0 - a0), _quotient(b1, 1.0 - a1)
        return self._wider(low, high)

    def _shifted(self, eta: Ends) -> Ends:
        """The same one record nearer."""
        ends = [_step(each, a, b) for each, a, b in product(eta, self.cross, self.back)]
        return self._wider(min(ends), max(ends))

    def _wider(self, low: float, high: float) -> Ends:
        share = _ROUNDING if self.outward > 0 else 0.0
        return low * (1.0 - share), high * (1.0 + share)

    def _ends(self, ratios: Pair) -> Ends:
        """Least and largest F."""
        return 1.0 / (self.growth * ratios[1]), self.growth * ratios[0]

    def _unknown(self, ratios: Pair) -> Pair:
        """One more unknown record, if nothing is known."""
        steps = [_step(each, a, b) for each, a, b in product(self._ends(ratios), self.cross, self.back)]
        return self._rounded(max(steps), _quotient(1.0, min(steps)))

    def _informed(self, known: _Known) -> Pair:
        """One more unknown record before the one that is known."""
        low, high = self._ends(known.ratios)
        up = max(_informed(f, known.eta, a, b) for f, a, b in product((low, high), self.cross, self.back))
        turned = _quotient(1.0, known.eta[1]), _quotient(1.0, known.eta[0])
        down = max(
            _informed(_quotient(1.0, f), turned, b, a)
            for f, a, b in product((low, high), self.cross, self.back)
        )
        return self._rounded(up, down)

    def _rounded(self, up: float, down: float) -> Pair:
        factor = 1.0 + self.outward * _ROUNDING
        return max(1.0, up * factor), max(1.0, down * factor)

    def _later(self, nothing: Pair, known: list[_Known], last: Pair) -> Pair | None:
        """At least the ratios of all later depths, or None where that is not proved."""
        for slack in _SLACKS:
            plain = (nothing[0] * (1 + slack), nothing[1] * (1 + slack))
            wide = [
                _Known(
                    (k.eta[0] * (1 - slack), k.eta[1] * (1 + slack)),
                    (k.ratios[0] * (1 + slack), k.ratios[1] * (1 + slack)),
                )
                for k in known
            ]
            if _within(self._unknown(plain), plain) and all(self._stays(k) for k in wide):
                return _larger(last, plain, *(k.ratios for k in wide))
        return None

    def _stays(self, known: _Known) -> bool:
        low, high = self._shifted(known.eta)
        return known.eta[0] <= low and high <= known.eta[1] and _within(self._informed(known), known.ratios)


def _step(ratio: float, a: float, b: float) -> float:
    """(b + (1 - b) F) / ((1 - a) + a F)."""
    if math.isinf(ratio):
        return _quotient(1.0 - b, a)
    return _quotient(b + (1.0 - b) * ratio, (1.0 - a) + a * ratio)


def _informed(f: float, eta: Ends, a: float, b: float) -> float:
    """The largest ratio for the values 1 and 0 over an interval of eta, for given F in [0, inf], a and b.

    It is the step of eta F over the step of eta; where F left the floats, its limit, from which it differs by less than rounding.
    """
    best = 1.0
    for each in eta:
        if 0 < each < math.inf:
            best = max(best, _quotient(_step(each * f, a, b), _step(each, a, b)))
    if 0 < a < 1 and 0 < b < 1:
        s, t, r = math.sqrt(b / (1.0 - b)), math.sqrt((1.0 - a) / a), math.sqrt(f)
        if eta[0] * (1 - 1e-12) <= _quotient(s * t, r) <= eta[1] * (1 + 1e-12):
            root = t / s if math.isinf(r) else (s + t * r) / (t + s * r)
            best = max(best, root * root)
    return best


def _quotient(one: float, other: float) -> float:
    if other == 0:
        return math.inf if one > 0 else 1.0
    return one / other


def _near(value: int, whole: int, side: int) -> float:
    """A float next to a probability: at most it for side -1, at least it for 1."""
    near = value / whole
    if Fraction(near) == Fraction(value, whole):
        return near
    if side < 0 and near > 0:
        return math.nextafter(near, 0.0)
    return math.nextafter(near, 1.0) if side > 0 and near < 1 else near


def _larger(*pairs: Pair) -> Pair:
    return max(p[0] for p in pairs), max(p[1] for p in pairs)


def _within(one: Pair, other: Pair) -> bool:
    return one[0] <= other[0] and one[1] <= other[1]


def _same(one: Pair, other: Pair) -> bool:
    return all(x == y or abs(x - y) <= _SETTLED * abs(y) for x, y in zip(one, other, strict=True))


def _table(ratios: Pair) -> Floats:
    up, down = (math.inf if r > _MOST else r for r in ratios)
    return np.array([[1.0, down], [up, 1.0]])


def _front(tables: list[Floats], settled: bool) -> Front:
    """A side whose tables are known."""
    nobody = np.zeros(1, dtype=np.bool_)
    return Front(Weights.of(np.ones((1, 2))), np.ones((1, 2, 2)), nobody, tables, np.ones((2, 2)), settled)
