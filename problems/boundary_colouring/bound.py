"""Upper bounds on accuracy, each proved afresh from its dual with every rounding bounded; and proofs of infeasibility.

The kinds of dual:

- ``{"kind": "envelope"}``: with values prescribed, or "balanced": a colour is an event, so no vertex answers with its
  true colour more often than min over sites s of U^dist(P_s(colour)); the envelope is computed again. U is the least of
  two increasing affine pieces and 1, so either piece, along any path, and with its constants rounded up, bounds from above.
- ``{"kind": "minimax"}``: a worst case t leaves every colour c at least L^dist(v, c)(t) at v, and these sum to at most 1.
  The sum increases in t, so one vertex at which it is proved to exceed 1 bounds t.
- ``{"kind": "linear", "at": [...], "values": [...], "weights": [...]}``: weak duality. Position e k + c is the multiplier,
  >= 0, of P_u(c) <= e^epsilon P_v(c) + s_e(c) on arc e from u to v in the order of ``graph.indices``, with
  sum_c s_e(c) <= delta. Whatever it leaves over is absorbed by P_v being a distribution. ``weights``, a number a vertex,
  only for "worst_case". Any multipliers prove a bound, so they are first rounded to a grid on which their sums are exact.
- ``{"kind": "trivial"}``: 1.

A bound holds for every mechanism that a certificate accepts: prescribed values may be missed by what counts as met.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from privopt.arrays import Floats, Ints
from privopt.core.balls import Balls, U, leading
from privopt.core.problem import Enclosure
from privopt.measures.colouring.envelope import upper
from privopt.measures.colouring.hops import colour_hops, hops
from privopt.measures.colouring.steps import GUARD, LARGEST, TINY, Pair, Step
from privopt.problems.boundary_colouring.boundary import MET, SMALLEST
from privopt.problems.boundary_colouring.data import ColouringData, distinct_rows

if TYPE_CHECKING:
    from flint import arb


GRID = 2.0**-48
"""A bound on the worst case is looked for among multiples of this."""
TRIED = 64
"""Vertices whose equations are proved for a bound on the worst case: those with the largest sums."""
DIGITS = 3
"""Leading parts of multipliers that are summed exactly, 30 bits each or more; the rest is dropped."""
CELLS = 1 << 22
"""Vertices times colours that are summed together."""
FEW = 8
"""One multiplier in so many vertices, or less: then those that none concerns are bounded together."""


def prove(data: ColouringData, dual: object) -> Enclosure | None:
    """The number that a dual defines, enclosed; its upper end is a proved bound on the objective, at most 1."""
    with np.errstate(all="ignore"):  # what overflows is not finite, and refused below
        proved = _proved(data, dual) if isinstance(dual, dict) else None
    if proved is None or not all(map(math.isfinite, proved)):
        return None
    return (1.0, 1.0) if proved[1] >= 1 else proved


def _proved(data: ColouringData, dual: dict[str, object]) -> Enclosure | None:
    kind = dual.get("kind")
    if kind == "trivial":
        return 1.0, 1.0
    if kind == "minimax" and data.objective == "worst_case":
        return minimax(data)
    if kind == "envelope" and (data.boundary is not None or data.k == 1):
        return mean(data, *best_accuracy(data))
    return _linear(data, dual) if kind == "linear" else None


def mean(data: ColouringData, right: Balls, place: Ints | None = None) -> Enclosure:
    """The utility of given accuracies, the sums rounded once.

    With ``place``, the accuracies are those of classes of vertices, and it holds the class of each vertex.
    """
    if data.graph.size == 0:
        return 1.0, 1.0
    if data.weights is not None and data.objective == "accuracy":
        every = right if place is None else right[place]
        return (_sum(every * data.weights) / _total(data.weights)).ends
    count = np.ones(len(right.mid))
    if place is not None:
        count = np.asarray(np.bincount(place, minlength=len(count)), dtype=np.float64)
        right, count = right[count > 0], count[count > 0]
    if data.objective == "worst_case":
        return right.min().ends
    return (_sum(right * count) / Balls.exact(data.graph.size)).ends


def _sum(terms: Balls) -> Balls:
    """A sum of many terms, with no more rounding than that of each term and of the result."""
    low, high = (math.fsum(ends.tolist()) for ends in (terms.lower, terms.upper))
    return Balls.between(math.nextafter(low, -math.inf), math.nextafter(high, math.inf))


def _total(values: Floats) -> Balls:
    """The sum of floats; of equal ones a product."""
    if values.size and (values == values[0]).all():
        return Balls.exact(values[0]) * values.size
    total = math.fsum(values.tolist())
    return Balls.between(math.nextafter(total, -math.inf), math.nextafter(total, math.inf))


@dataclass(frozen=True)
class Budget:
    """Steps with constants rounded so far that each computed one is at least, or at most, the exact one.

    A step makes at most 8 roundings, each at most 2^-53 of the result; the constants are off by 2^-48. The bend is moved
    once more, because the complement of a step below it is larger than the step.
    """

    high: Step
    low: Step

    @classmethod
    def of(cls, epsilon: float, delta: float) -> Budget:
        """The steps of a budget whose e^epsilon is a float."""
        g = float(_growth(epsilon).mid)
        return cls(_step(epsilon, g, delta, 1 + 2 * GUARD), _step(epsilon, g, delta, 1 - 2 * GUARD))


def _step(epsilon: float, growth: float, delta: float, share: float) -> Step:
    grown, rest = growth * share, delta * share
    decay = 1.0 / grown
    bend = max(0.0, (1.0 - rest) * decay / (1.0 + decay)) / share
    return Step(epsilon, rest, grown, decay, bend, 0.0 if rest > 0 else TINY)


def _growth(epsilon: float) -> Balls:
    """e^epsilon."""
    return Balls.exact(epsilon).exp() if epsilon else Balls.exact(1.0)


def _bend(data: ColouringData) -> Balls:
    """(1 - delta) / (1 + e^epsilon)."""
    return (Balls.exact(1.0) - data.delta) / (_growth(data.epsilon) + 1.0)


def best_accuracy(data: ColouringData) -> tuple[Balls, Ints | None]:
    """Largest accuracy of every vertex, given what the boundary prescribes or caps; by classes of vertices where there are few."""
    if data.prescribed is None and data.epsilon <= LARGEST:
        return _by_distance(data)
    graph = data.graph
    low, high = np.ones(graph.size), np.ones(graph.size)
    for sites, members, values in _regions(data):
        if data.epsilon > LARGEST:
            # One step takes any positive probability to next to 1, so only the sites themselves are bounded.
            place = np.isin(sites, members)
            high[sites[place]] = low[sites[place]] = np.minimum(values[0][place], 1.0)
            continue
        budget = Budget.of(data.epsilon, data.delta)
        for best, one in ((high, budget.high), (low, budget.low)):
            best[members] = _envelope(data, sites, values, one)[members]
    return _outwards(low, high), None


def _outwards(low: Floats, high: Floats) -> Balls:
    """Probabilities between floats, one further out."""
    high = np.minimum(np.nextafter(high, math.inf), 1.0)
    return Balls.between(np.minimum(np.nextafter(np.minimum(low, 1.0), 0.0), high), high)


def _by_distance(data: ColouringData) -> tuple[Balls, Ints]:
    """The accuracies next to capped boundary values at distances 0, 1, ..., after that of vertices that reach none; the last one holds beyond."""
    most, budget = int(data.far.max(initial=-1)), Budget.of(data.epsilon, data.delta)
    tables = [
        one.orbit(float(p[0]), float(r[0]), most)[0]
        for one in (budget.low, budget.high)
        for _, _, (p, r) in _regions(data)
    ]
    size = max((len(table) for table in tables), default=0)
    ends = [np.append(1.0, table[np.minimum(np.arange(size), len(table) - 1)]) for table in tables]
    low, high = ends if ends else (np.ones(1), np.ones(1))
    return _outwards(low, high), np.asarray(np.minimum(data.far + 1, size))


def _regions(data: ColouringData) -> Iterator[tuple[Ints, Ints, Pair]]:
    """For each colour: sites, vertices of that colour, and the most that the sites may have of it."""
    codes = data.graph.codes
    if data.prescribed is None:
        sites = data.boundary_sites
        if len(sites):
            error = float(_bend(data).lower) * (1 - MET - 2 * GUARD) - 16 * U
            one = np.ones(len(sites))
            yield sites, np.arange(data.graph.size), rounded_up(one - error, error * one)
        return
    sites, rows = data.prescribed.sites, data.prescribed.rows
    k = data.k
    room = data.prescribed.room(data.step) * (1 + 8 * GUARD) + 8 * k * (k + 1) * U * rows
    for c in range(k):
        members = np.flatnonzero(codes == c)
        if members.size:
            rest, off = (np.delete(table, c, axis=1).sum(axis=1) for table in (rows, room))
            yield sites, members, rounded_up(rows[:, c] + room[:, c], rest * (1 - 4 * k * U) - off)


def rounded_up(p: Floats, r: Floats) -> Pair:
    """Probabilities rounded up and complements rounded down, away from subnormal numbers."""
    p = np.where(p > 0, np.clip(np.nextafter(p, math.inf), SMALLEST, 1.0), 0.0)
    r = np.clip(np.nextafter(r, -math.inf), 0.0, 1.0)
    return p, np.where(r < SMALLEST, 0.0, r)


def _envelope(data: ColouringData, sites: Ints, values: Pair, one: Step) -> Floats:
    """Probabilities of a colour on every vertex: from one value on all sites by distance, else by two queues."""
    graph = data.graph
    if not len(sites):
        return np.ones(graph.size)
    if (values[0] == values[0][0]).all() and (values[1] == values[1][0]).all():
        far = hops(graph.indptr, graph.indices, sites)
        table = one.orbit(float(values[0][0]), float(values[1][0]), int(far.max(initial=0)))[0]
        return np.where(far < 0, 1.0, table[np.minimum(far, len(table) - 1)])
    return upper((graph.indptr, graph.indices), sites, values, one, "two_queue")[0]


def minimax(data: ColouringData) -> Enclosure:
    """The largest worst case that the distances to the colours leave open; met by "balanced" for two colours."""
    graph = data.graph
    if not len(data.boundary_sites):
        return 1.0, 1.0
    if data.epsilon > LARGEST:
        return 1.0, 1.0
    if data.k == 2:
        return (1.0 - _bend(data)).ends
    far = distinct_rows(colour_hops(graph.indptr, graph.indices, graph.codes, data.k))[0]
    return largest_share(far, data)


def largest_share(far: Ints, data: ColouringData) -> Enclosure:
    """The largest t with sum_c L^far[v, c](t) <= 1 for every row of hops, on a grid; -1 stands for unreachable."""
    one, reached = data.step, far >= 0
    away = np.where(reached, far, 0)

    def sums(t: float) -> Floats:
        least = one.power(np.full(far.shape, 1.0 - t), np.full(far.shape, t), away)[1]
        return np.asarray(np.where(reached, least, 0.0).sum(axis=1))

    low, high = 0, round(1.0 / GRID)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if (sums(middle * GRID) <= 1.0).all() else (low, middle)
    tried = np.argsort(-sums(high * GRID), kind="stable")[:TRIED]
    rows = [[int(d) for d in far[i] if d >= 0] for i in tried.tolist()]
    # Floats chose the place on the grid; which multiples of it are too large is proved.
    at = max(high - 2, 1)
    while at * GRID < 1.0 and not any(_exceeds(row, Fraction(at) * Fraction(GRID), data) for row in rows):
        at = at + 1 if at < high + 8 else 2 * at
    return max(0.0, (at - 2) * GRID), min(1.0, at * GRID)


def _exceeds(row: list[int], t: Fraction, data: ColouringData) -> bool:
    """Whether sum_d L^d(t) > 1 is proved, in balls: U^d(1 - t) is at most any order of its two pieces."""
    from flint import arb, ctx, fmpq

    with ctx.workprec(256):
        exact, epsilon, delta = (
            arb(fmpq(*Fraction(x).as_integer_ratio())) for x in (t, data.epsilon, data.delta)
        )
        return bool(sum((_least(exact, d, epsilon, delta, data.step) for d in row), arb(0)) > 1)


def _least(t: arb, d: int, epsilon: arb, delta: arb, one: Step) -> arb:
    """A lower bound of L^d(t): 1 - U^d(1 - t), first steep steps, then flat ones."""
    from flint import arb

    p = 1.0 - float(t.mid())
    steep = 0
    if one.epsilon == 0:
        kept = t - d * delta
        return arb(0) if not kept > 0 else kept
    if p <= one.kink:
        steep = min(int(one.steep_steps(np.array([p]))[0]), d)
    base = epsilon.expm1()
    rise = (steep * epsilon).expm1()
    kept = t - rise * (1 - t) - delta * (rise / base)
    way = (d - steep) * epsilon
    kept = kept * (-way).exp() + delta * ((-way).expm1() / base)
    return arb(0) if not kept > 0 else kept


def _linear(data: ColouringData, dual: dict[str, object], nothing: bool = False) -> Enclosure | None:
    """Sum of what each vertex can still gain at these multipliers, plus what delta gives them; with ``nothing`` of no accuracy at all."""
    arcs, k = len(data.graph.indices), data.k
    at, values = np.array(dual["at"]), np.array(dual["values"], dtype=np.float64)
    if at.size and at.dtype.kind not in "iu":
        return None
    at = at.astype(np.int64)
    good = at.ndim == 1 and at.shape == values.shape and bool(((values >= 0) & (values < math.inf)).all())
    if not good or (at.size and not 0 <= at.min() <= at.max() < arcs * k) or data.epsilon > LARGEST:
        return None
    weights = np.zeros(data.graph.size) if nothing else _gained(data, dual.get("weights"))
    if weights is None:
        return None
    whole = Balls.exact(1.0) if nothing else _total(weights)
    cells, place = np.unique(at, return_inverse=True)
    if len(cells) < len(at):
        values, at = np.asarray(np.bincount(place, weights=values), dtype=np.float64), cells
    parts, dropped = _digits(values, int(np.diff(data.graph.indptr).max(initial=0)))
    apart, near = _touched(data, at)
    best = _reach(near, Balls.exact(weights if apart is None else weights[~apart]) / whole, parts)
    if best is None:
        return None
    total = _sum(best)
    if apart is not None:
        # Where no multiplier is, nothing bounds a vertex but 1.
        total = total + _total(weights[apart]) / whole
    if data.delta > 0 and at.size:
        concerned, place = np.unique(at // k, return_inverse=True)
        most = np.zeros(len(concerned))
        np.maximum.at(most, place, values)
        total = total + (_sum(Balls.exact(most)) + Balls.between(0.0, dropped) * len(at)) * data.delta
    return total.ends


def _gained(data: ColouringData, weights: object) -> Floats | None:
    """Weights of the accuracies, not all 0: those of the problem, or for a minimum those of the dual."""
    n = data.graph.size
    if data.objective == "accuracy":
        table = np.ones(n) if data.weights is None else data.weights
    else:
        table = np.array(weights, dtype=np.float64)
        if table.shape != (n,) or not ((table >= 0) & (table < math.inf)).all():
            return None
    return table if 0 < float(table.max(initial=0.0)) <= 1e300 else None


def _digits(values: Floats, degree: int) -> tuple[list[Floats], float]:
    """Values as sums of parts of which any ``degree`` + 1 add without rounding, and what is dropped."""
    parts: list[Floats] = []
    rest = np.asarray(values, dtype=np.float64)
    for _ in range(DIGITS):
        largest = float(np.abs(rest).max(initial=0.0))
        if largest == 0 or largest * (degree + 2) > 2.0**1000:
            break
        part = leading(rest, degree + 1)
        parts.append(part)
        rest = rest - part
    return parts, float(np.abs(rest).max(initial=0.0))


@dataclass(frozen=True, eq=False)
class _Near:
    """Some vertices, and the cells, vertex by colour, out of which and into which multipliers of their arcs go."""

    data: ColouringData
    codes: Ints
    sites: Ints
    """Where the prescribed vertices are among them, in their order."""
    out: Ints
    into: Ints


def _touched(data: ColouringData, at: Ints) -> tuple[NDArray[np.bool_] | None, _Near]:
    """Which vertices no multiplier and no prescribed value concerns, where these are most, and the others."""
    graph, k, n = data.graph, data.k, data.graph.size
    arc, colour = at // k, at % k
    start = np.searchsorted(graph.indptr, arc, side="right") - 1
    end, codes = graph.indices[arc].astype(np.int64), np.asarray(graph.codes, dtype=np.int64)
    sites = np.zeros(0, dtype=np.int64) if data.prescribed is None else data.prescribed.sites
    if (len(at) + len(sites)) * FEW > n:
        return None, _Near(data, codes, sites, start * k + colour, end * k + colour)
    apart = np.ones(n, dtype=bool)
    for concerned in (start, end, sites):
        apart[concerned] = False
    kept = np.flatnonzero(~apart)
    start, end, sites = (np.searchsorted(kept, x) for x in (start, end, sites))
    return apart, _Near(data, codes[kept], sites, start * k + colour, end * k + colour)


def _reach(near: _Near, weights: Balls, parts: list[Floats]) -> Balls | None:
    """The most that each vertex can make of its gains: its best colour, or what is prescribed."""
    data, k, n = near.data, near.data.k, len(near.codes)
    growth, block = _growth(data.epsilon), max(1, CELLS // k)
    lows, highs = np.zeros(n), np.zeros(n)
    for begin in range(0, n, block):
        end = min(n, begin + block)
        own = np.arange(end - begin) * k + near.codes[begin:end]
        mid, rad = np.zeros((end - begin) * k), np.zeros((end - begin) * k)
        mid[own], rad[own] = weights.mid[begin:end], weights.rad[begin:end]
        gain = Balls(mid, rad) - _added(near.out, parts, begin * k, end * k)
        gain = (gain + growth * _added(near.into, parts, begin * k, end * k)).reshape(end - begin, k)
        if not np.isfinite(gain.rad).all():
            return None
        best = gain.max(axis=1)
        if data.prescribed is not None:
            best = _prescribed(near, gain, best, begin)
        lows[begin:end], highs[begin:end] = best.lower, best.upper
    return Balls.between(lows, highs)


def _added(places: Ints, parts: list[Floats], begin: int, end: int) -> Balls:
    """Sums of multipliers in the cells of a block."""
    inside = np.flatnonzero((places >= begin) & (places < end))
    here = places if len(inside) == len(places) else places[inside]
    total = Balls.exact(np.zeros(end - begin))
    for part in parts:
        values = part if here is places else part[inside]
        total = total + np.bincount(here - begin, weights=values, minlength=end - begin)
    return total


def _prescribed(near: _Near, gain: Balls, best: Balls, begin: int) -> Balls:
    """The same, where a site can have no more than its values, and what counts as meeting them."""
    data = near.data
    if data.prescribed is None:
        return best
    values, k = data.prescribed, data.k
    inside = np.flatnonzero((near.sites >= begin) & (near.sites < begin + best.mid.size))
    here = near.sites[inside] - begin
    rows = values.rows[inside]
    room = values.room(data.step)[inside] * (1 + GUARD) + 8 * k * (k + 1) * U * rows
    most = ((gain[here] * rows).sum(axis=1) + (abs(gain[here]) * room).sum(axis=1)).minimum(best[here])
    mid, rad = best.mid.copy(), best.rad.copy()
    mid[here], rad[here] = most.mid, most.rad
    return Balls(mid, rad)


def check_witness(data: ColouringData, witness: object) -> str | None:
    """Why the prescribed values are infeasible: at its distance from one site another one is too likely, or multipliers prove it."""
    values = data.prescribed
    if values is None or not isinstance(witness, dict):
        return None
    if witness.get("kind") == "linear":
        return _contradiction(data, witness)
    named = [witness.get(name) for name in ("source", "target", "colour")]
    if not all(isinstance(x, int) and not isinstance(x, bool) for x in named):
        return None
    source, target, colour = (int(x) for x in named if isinstance(x, int))
    place = {int(s): i for i, s in enumerate(values.sites.tolist())}
    if source not in place or target not in place or not 0 <= colour < data.k:
        return None
    graph = data.graph
    far = int(hops(graph.indptr, graph.indices, np.array([source], dtype=np.int64))[target])
    if far < 0:
        return None
    rows, room = values.rows, values.room(data.step)
    have, here = float(rows[place[target], colour]), float(rows[place[source], colour])
    if data.epsilon > LARGEST and (here > 0 or data.delta > 0):
        return None
    budget = Budget.of(min(data.epsilon, LARGEST), data.delta)
    rest = float(np.delete(rows[place[source]], colour).sum())
    start, left = rounded_up(np.array([here]), np.array([rest]))
    most = float(budget.high.orbit(float(start[0]), float(left[0]), far)[0][-1])
    if not have - most > room[place[target], colour]:
        return None
    names = graph.vertices[source], graph.vertices[target]
    shown = graph.palette[colour]
    return (
        f"{names[1]!r} should answer {shown!r} with probability {have:.9g}, but {far} steps from {names[0]!r}, "
        f"which does with {here:.9g}, at most {most:.9g} is private: gap {have - most:.9g}"
    )


def _contradiction(data: ColouringData, witness: dict[str, object]) -> str | None:
    """Why multipliers of the arcs contradict the prescribed values: whatever the other vertices answer, 0 is at most a number below 0."""
    with np.errstate(all="ignore"):
        most = _linear(data, witness, nothing=True)
    if data.prescribed is None or most is None or not -math.inf < most[1] < 0:
        return None
    arcs = np.unique(np.array(witness["at"], dtype=np.int64) // data.k)
    starts = np.searchsorted(data.graph.indptr, arcs, side="right") - 1
    ends = np.unique([starts, data.graph.indices[arcs]])
    sites = [int(site) for site in data.prescribed.sites.tolist() if site in ends]
    shown = ", ".join(repr(data.graph.vertices[site]) for site in sites[:4]) + (
        ", ..." if len(sites) > 4 else ""
    )
    return (
        f"the values of {shown} contradict each other whatever the vertices between them answer: constraints of {len(arcs)} arcs, "
        f"weighted and added, say that 0 is at most {most[1]:.3g}"
    )
