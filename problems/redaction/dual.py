"""What proves an upper bound on the utility of a redaction: sizes of value tables or of a search, or multipliers.

Value tables serve a binary chain with one private record, see :mod:`privopt.problems.redaction.bound`, and in the sequential form
:mod:`privopt.problems.redaction.sequential_tables`. Branch and bound serves few
records around the private ones, any states and the sequential form, see :mod:`privopt.problems.redaction.boxes`. Influences serve any
local problem, and are looser, see :mod:`privopt.problems.redaction.shown`. Multipliers serve any small problem: they bound
what mechanisms reach that see the whole sequence before they hide anything.

Such a mechanism picks, for a sequence x, a set of records to release with probability ``M(set | x)``; local and
sequential redaction are special cases. With y(x, set) the output, epsilon-privacy of record p asks for every y and
every ordered pair (a, b) of its possible values

    exp(-epsilon) P(y | X_p = a) - P(y | X_p = b) <= 0.

For multipliers ``mu >= 0`` of these constraints the utility of a private mechanism is at most its Lagrangian, and each
row ``M(. | x)`` is a probability distribution, so

    utility <= sum over x of max over sets of
        Pr(x) gain(set) - sum over p, b of exp(-epsilon) mu[p, x_p, b, y] Pr(x | X_p = x_p)
                        + sum over p, a of mu[p, a, x_p, y] Pr(x | X_p = x_p).

This holds for any multipliers, so nothing has to be known of where they come from. A private record with two possible
values is never released: that output would be impossible under the other value. An adversary who knows other records
as well only adds constraints. The sum is taken in balls around the exact probabilities.
"""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from privopt.core.balls import Balls
from privopt.core.problem import Enclosure
from privopt.problems.redaction.bound import Setting
from privopt.problems.redaction.boxes import KIND as BOXES
from privopt.problems.redaction.boxes import box_cost
from privopt.problems.redaction.data import RedactionData
from privopt.problems.redaction.over_set import check_member
from privopt.problems.redaction.parts import KIND, check_parts
from privopt.problems.redaction.shown import KIND as INFLUENCE
from privopt.problems.redaction.shown import influence_bound
from privopt.problems.redaction.track import U, tracks
from privopt.problems.redaction.utility import distributions_between

LIMITS = {"nodes": (2, 1 << 16), "rows": (1, 1 << 16), "share": (0.0, 1.0)}
RAYS = {"rays": (2, 1 << 10)}
"""Of the tables of a sequential form besides."""
WORK = 1 << 26
"""Most nodes times rows: a dual may not ask for more than minutes."""

WIDTH = 2.0**-44
"""Share of a bound by which another version of NumPy or Arb may differ; on one version every processor rounds alike."""

MAX_RECORDS = 15
MAX_CELLS = MAX_MULTIPLIERS = 1 << 15


def setting(data: RedactionData, clock: Callable[[], float]) -> Setting:
    """The sides of the only private record of a binary chain, and the budget."""
    (p,) = data.private
    sides = tracks(data, p, clock)
    if data.form == "local":
        return Setting(*sides, data.epsilon, clock)
    one, two = (distributions_between(data.chain, p, p + 1)[0] * (1 - 4 * U)).tolist()
    return Setting(*sides, data.epsilon, clock, (one, two))


def utility_bound(data: RedactionData, cost: float, known: Setting | None = None) -> Enclosure:
    """The utility that a lower bound on the cost of redaction leaves; the private records give none.

    Where no record that depends on the private one may be released, the others are counted, without rounding.
    """
    silent = known is not None and known.silent
    n, places = data.length, list(data.private)
    left, right = (known.tracks[0].length, known.tracks[1].length) if known is not None and silent else (0, 0)
    hidden = sorted({*places, *range(places[0] - left, places[0] + right + 1)} if silent else places)
    if data.weights is None:
        share = Fraction(n - len(hidden), n)
    else:
        weights = [Fraction(w) for w in data.weights]
        total = sum(weights, Fraction(0))
        share = (total - sum((weights[t] for t in hidden), Fraction(0))) / total
    exact = cost == 0 or silent
    share = share if exact else max(Fraction(0), share - Fraction(cost))
    high = math.nextafter(float(share), math.inf) if Fraction(float(share)) < share else float(share)
    return (high, high) if exact else (high - WIDTH * high, high)


def check_dual(data: RedactionData, dual: object, seconds: float = math.inf) -> Enclosure | None:
    """The bound on utility that value tables of the sizes in ``dual`` prove, computed afresh, or None.

    One with a kind holds multipliers instead, see the module, or duals of parts of the stream. An empty one stands
    for what needs no proof: the private records are redacted, or constant. Over a set of chains it names one of them, see
    :mod:`privopt.problems.redaction.over_set`.
    """
    if not isinstance(dual, dict):
        return None
    if data.ambiguity is not None and dual:
        return check_member(data, data.ambiguity, dual, seconds, check_dual)
    if dual.get("kind") == KIND:
        return check_parts(data, dual, seconds, check_dual)
    if dual == {"kind": INFLUENCE}:
        return influence_bound(data) if seconds > 0 else None
    if dual.get("kind") == BOXES:
        cost = box_cost(data, dual, seconds)
        return None if cost is None else utility_bound(data, cost)
    if "kind" in dual:
        return _check_multipliers(data, dual, seconds)
    if math.isinf(data.epsilon) or any(len(data.possible_values(p)) < 2 for p in data.private):
        return 1.0, 1.0
    if not dual:
        return utility_bound(data, 0.0)
    sequential = data.form == "sequential"
    limits = LIMITS | RAYS if sequential else LIMITS
    if data.chain.k != 2 or len(data.private) != 1 or set(dual) != set(limits):
        return None
    if sequential and data.utility_chain is not data.chain:
        return None
    entries: dict[str, float] = {k: v for k, v in dual.items() if type(v) in (int, float)}
    if any(name not in entries or not low <= entries[name] <= high for name, (low, high) in limits.items()):
        return None
    if work(entries, data.length) > WORK:
        return None
    stop = time.monotonic() + seconds

    def clock() -> float:
        return stop - time.monotonic()

    try:
        known = setting(data, clock)
        return utility_bound(data, known.bound(entries, clock), known)
    except TimeoutError:
        return None


def work(sizes: Mapping[str, float], length: int) -> float:
    """About how many costs tables of some sizes compare."""
    cells = sizes["nodes"] ** 2 / 2 if "rays" in sizes else 1
    return sizes.get("rays", sizes["nodes"]) * cells * min(sizes["rows"], length)


def _check_multipliers(data: RedactionData, dual: dict[object, object], seconds: float) -> Enclosure | None:
    """The bound that ``{"kind": "central", "multipliers": [...]}`` proves within some seconds, or None."""
    begun = time.monotonic()
    kind, multipliers, size = dual["kind"], dual.get("multipliers"), sizes(data)
    if not isinstance(kind, str) or kind != "central" or len(dual) != 2 or type(multipliers) is not list:
        return None
    if seconds <= 0 or size is None or len(multipliers) != size[1] or data.utility_chain is not data.chain:
        return None
    if not all(type(value) in (int, float) and 0 <= value < math.inf for value in multipliers):
        return None
    bound = central_bound(data, [float(value) for value in multipliers])
    return bound if time.monotonic() - begun <= seconds else None


@dataclass(frozen=True, eq=False)
class Pair:
    """One ordered pair of values of a private record: the sequences that have them, and how probable they are."""

    mine: NDArray[np.intp]
    theirs: NDArray[np.intp]
    my_probability: Fraction
    their_probability: Fraction


@dataclass(frozen=True, eq=False)
class Whole:
    """What a mechanism that sees everything can do.

    Parameters
    ----------
    probabilities, gain
        Probability of each possible sequence, and utility of releasing each set of records.
    outputs
        ``(sequences, sets)``: number of the output that shows, below ``count``.
    pairs
        For every private record, the ordered pairs of its possible values; each has ``count`` multipliers.
    epsilon
        The budget.
    """

    probabilities: list[Fraction]
    gain: list[Fraction]
    outputs: NDArray[np.intp]
    count: int
    pairs: tuple[Pair, ...]
    epsilon: float


def _secrets(data: RedactionData) -> tuple[int, ...]:
    """Private records that a finite budget protects: those with at least two possible values."""
    if math.isinf(data.epsilon):
        return ()
    return tuple(p for p in data.private if len(data.possible_values(p)) > 1)


def sizes(data: RedactionData) -> tuple[int, int] | None:
    """Numbers of (sequence, set) cells and of multipliers; None if there are too many of either."""
    n, k = data.length, data.chain.k
    if n > MAX_RECORDS:
        return None
    hidden = _secrets(data)
    values = [len(data.possible_values(p)) for p in hidden]
    free = n - len(hidden)
    cells, multipliers = k**n * 2**free, (k + 1) ** free * sum(v * (v - 1) for v in values)
    return None if cells > MAX_CELLS or multipliers > MAX_MULTIPLIERS else (cells, multipliers)


def whole(data: RedactionData) -> Whole:
    """Every sequence, every set, every output; only for problems that have :func:`sizes`."""
    n, k, hidden = data.length, data.chain.k, _secrets(data)
    sequences, probabilities = _sequences(data)
    free = [t for t in range(n) if t not in hidden]
    sets = np.indices((2,) * len(free)).reshape(len(free), 2 ** len(free)).T
    weights = [Fraction(w) for w in data.record_weights.tolist()]
    total = sum(weights, Fraction(0))
    gain = [
        sum((weights[t] for t, shown in zip(free, row, strict=True) if shown), Fraction(0))
        for row in sets.tolist()
    ]
    # In base k + 1 an output has the digit k where a record is redacted.
    place = (k + 1) ** np.arange(len(free))
    outputs = k * place.sum() + ((sequences[:, free] - k) * place) @ sets.T
    pairs = tuple(
        pair for p in hidden for pair in _pairs(data.possible_values(p), sequences[:, p], probabilities)
    )
    shares = [g / total for g in gain]
    return Whole(probabilities, shares, outputs, (k + 1) ** len(free), pairs, data.epsilon)


def _sequences(data: RedactionData) -> tuple[NDArray[np.intp], list[Fraction]]:
    """The possible sequences, and their exact probabilities."""
    chain = data.chain
    words: list[tuple[int, ...]] = [(v,) for v, weight in enumerate(chain.exact_initial.weights) if weight]
    weights = [chain.exact_initial.weights[word[0]] for word in words]
    total = chain.exact_initial.total
    for t in range(data.length - 1):
        rows = chain.exact_step(t)
        scale = math.lcm(*(row.total for row in rows))
        moves = [[(j, w * (scale // row.total)) for j, w in enumerate(row.weights) if w] for row in rows]
        weights = [w * move for word, w in zip(words, weights, strict=True) for _, move in moves[word[-1]]]
        words = [(*word, j) for word in words for j, _ in moves[word[-1]]]
        total *= scale
    sequences = np.array(words, dtype=np.intp).reshape(len(words), data.length)
    return sequences, [Fraction(w, total) for w in weights]


def _pairs(
    values: NDArray[np.intp], column: NDArray[np.intp], probabilities: list[Fraction]
) -> Iterator[Pair]:
    places = [np.flatnonzero(column == v) for v in values]
    totals = [sum((probabilities[i] for i in place.tolist()), Fraction(0)) for place in places]
    for a, b in itertools.permutations(range(len(values)), 2):
        yield Pair(places[a], places[b], totals[a], totals[b])


def central_bound(data: RedactionData, multipliers: list[float]) -> Enclosure:
    """The bound on utility that multipliers prove, by pair and then by output, all in one row."""
    space = whole(data)
    if not space.pairs:
        return 1.0, 1.0
    value = Balls.fractions(space.probabilities).reshape(-1, 1) * Balls.fractions(space.gain).reshape(1, -1)
    shrink = Balls.exact(-space.epsilon).exp()
    prices = np.array(multipliers, dtype=np.float64).reshape(len(space.pairs), space.count)
    for pair, price in zip(space.pairs, prices, strict=True):
        for where, probability, sign in (
            (pair.mine, pair.my_probability, -1),
            (pair.theirs, pair.their_probability, 1),
        ):
            conditional = Balls.fractions(
                space.probabilities[i] / probability for i in where.tolist()
            ).reshape(-1, 1)
            part = Balls.exact(price[space.outputs[where]]) * conditional
            moved = value[where] + (part if sign > 0 else -(part * shrink))
            value.mid[where], value.rad[where] = moved.mid, moved.rad
    low, high = value.max(axis=1).sum().ends
    return min(1.0, low), min(1.0, high)
