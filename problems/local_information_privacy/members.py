"""Distributions of a set as rows of the polytope of posteriors: what each of them demands of a release.

Let a joint of the set have P(s) = p and rows q. A release with column m(w) = P(y | w) keeps the bounds there when

    q_s . m <= e^upper sum_t p_t q_t . m,  e^-lower sum_t p_t q_t . m <= q_s . m,  or for "ldp" q_s . m <= e^epsilon q_t . m,

each a row of the posterior v(w) = P(w | y) at the nominal joint, divided by its P(w). Any finite list of joints of the set so
gives a relaxation: what keeps the bounds on the whole set keeps these rows.

In a dual, ``pool`` holds distributions as lists of numbers and fractions; ``members`` joints, each ``[prior, row of the first
s, ...]`` by positions in the pool, -1 where it does not matter; ``cuts``, each ``[member, s, t]`` with t = 1 or -1 for the two
sides of "lip", and another value of the secret for "ldp".
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from operator import mul
from typing import TypeAlias

from privopt.models.ambiguity.joint import JointAmbiguity
from privopt.models.ambiguity.row_set import RowSet
from privopt.models.codec import decode_numbers, encode_number
from privopt.problems.local_information_privacy.data import LocalInformationPrivacyData
from privopt.problems.local_information_privacy.polytope import Cut, exp_above, exp_below

Vector = tuple[int, ...]
"""A distribution as integers in proportion, without a common divisor."""

Quotients: TypeAlias = tuple[list[int], int]
"""Integers over one denominator."""

MOST = 10_000
"""Distributions, and rows, that a dual may carry."""


@dataclass(frozen=True)
class Demand:
    """What a joint of a set, by its P(s) and its P(w | s), demands of a release: the row of s and t; see the module.

    Distributions that do not enter the row are None.
    """

    prior: Vector | None
    rows: tuple[Vector | None, ...]
    s: int
    t: int


def demanded(
    data: LocalInformationPrivacyData, dual: dict[str, object]
) -> LocalInformationPrivacyData | None:
    """The problem with the rows that the distributions of a dual demand; None if one of them is not of the set.

    Raises
    ------
    ValueError, TypeError, LookupError
        If the dual is malformed.
    """
    ambiguity = data.ambiguity
    demands = None if ambiguity is None else _read(ambiguity, data.notion, dual)
    if demands is None:
        return None
    cuts = [row_of(data, demand) for demand in demands]
    kept = tuple(cut for cut in cuts if cut is not None)
    return data.relaxed(kept) if len(kept) == len(cuts) else None


def row_of(data: LocalInformationPrivacyData, demand: Demand) -> Cut | None:
    """The row, in integers; None where it would say nothing, or speak of observations that never occur at the nominal joint.

    A release may treat those as it likes, which must not help it to keep the row.
    """
    above, below = exp_above(data.upper), exp_below(data.lower)
    first = demand.rows[demand.s]
    if first is None or (above is None and (data.notion == "ldp" or demand.t > 0)):
        return None
    top = above or Fraction(1)
    own: Quotients = list(first), sum(first)
    row: Cut | None = None
    if data.notion == "ldp":
        second = demand.rows[demand.t]
        row = None if second is None else _difference(own, (list(second), sum(second)), top)
    elif demand.prior is not None and not any(q is None for q in demand.rows):
        mean = _mean(demand.prior, [q for q in demand.rows if q is not None])
        if demand.t > 0:
            row = _difference(own, mean, top)
        elif below:
            row = _difference(mean, own, 1 / below)
    if row is None or any(row[0][w] < 0 for w in data.observation.unseen):
        return None
    return row


def _difference(a: Quotients, b: Quotients, factor: Fraction) -> Cut:
    """A - factor b over one denominator."""
    common = math.lcm(a[1], b[1] * factor.denominator)
    left, right = common // a[1], factor.numerator * (common // (b[1] * factor.denominator))
    row = [x * left - y * right for x, y in zip(a[0], b[0], strict=True)]
    shared = math.gcd(common, *row)
    return tuple(v // shared for v in row), common // shared


def _mean(prior: Vector, rows: Sequence[Vector]) -> Quotients:
    """P(w) at a joint."""
    totals = [sum(row) for row in rows]
    common = math.lcm(*totals)
    weights = [p * (common // total) for p, total in zip(prior, totals, strict=True)]
    return [sum(map(mul, weights, column)) for column in zip(*rows, strict=True)], sum(prior) * common


def extreme(ambiguity: JointAmbiguity, notion: str, column: Sequence[int], s: int, t: int) -> Demand:
    """The joint of a set at which a column of a channel, in integers, breaks the row of s and t most.

    Examples
    --------
    >>> near = JointAmbiguity.interval([[0.25, 0.25], [0, 0]], [[0.75, 0.75], [1, 1]], [0.5, 0.5], nominal=[[0.25, 0.25], [0, 0.5]])
    >>> extreme(near, "lip", [0, 1], 0, 1).rows
    ((1, 3), (1, 0))
    """
    most, least = list(column), [-v for v in column]
    if notion == "ldp":
        rows: list[Vector | None] = [None] * len(ambiguity.rows)
        rows[s] = _farthest(ambiguity.rows[s], most)
        rows[t] = _farthest(ambiguity.rows[t], least)
        return Demand(None, tuple(rows), s, t)
    own, others = (most, least) if t > 0 else (least, most)
    chosen = [_farthest(row, own if k == s else others) for k, row in enumerate(ambiguity.rows)]
    whole = _expected(chosen, column)
    prior = _farthest(ambiguity.prior, [-v for v in whole] if t > 0 else whole)
    return Demand(prior, tuple(chosen), s, t)


def farthest(ambiguity: JointAmbiguity, values: Sequence[int]) -> Demand:
    """The joint of a set at which an integer function of X is expected to be largest; it demands nothing."""
    return farthest_of_each(ambiguity, [values] * len(ambiguity.rows))


def farthest_of_each(ambiguity: JointAmbiguity, values: Sequence[Sequence[int]]) -> Demand:
    """The joint of a set at which integer functions of X, one for each s, are expected to be largest; it demands nothing."""
    chosen = [_farthest(row, list(v)) for row, v in zip(ambiguity.rows, values, strict=True)]
    expected = [Fraction(sum(map(mul, row, v)), sum(row)) for row, v in zip(chosen, values, strict=True)]
    common = math.lcm(*(v.denominator for v in expected))
    return Demand(_farthest(ambiguity.prior, [int(v * common) for v in expected]), tuple(chosen), 0, 0)


def cells(demand: Demand) -> tuple[list[list[int]], int] | None:
    """P(s, w) at a joint as integers over one denominator; None where it is not given in full."""
    rows = [row for row in demand.rows if row is not None]
    if demand.prior is None or len(rows) != len(demand.rows):
        return None
    totals = [sum(row) for row in rows]
    common = math.lcm(*totals)
    table = [
        [p * (common // total) * v for v in row]
        for p, row, total in zip(demand.prior, rows, totals, strict=True)
    ]
    return table, sum(demand.prior) * common


def tables(
    ambiguity: JointAmbiguity, dual: dict[str, object]
) -> list[tuple[list[list[int]], int] | None] | None:
    """The members of a dual as :func:`cells`; None if a distribution of theirs is not of the set."""
    members = _members(ambiguity, dual)
    return None if members is None else [cells(Demand(prior, rows, 0, 0)) for prior, rows in members]


def _expected(rows: Sequence[Vector], values: Sequence[int]) -> list[int]:
    """The expectations of a function of X under the rows, as integers in proportion."""
    totals = [sum(row) for row in rows]
    common = math.lcm(*totals)
    return [sum(map(mul, row, values)) * (common // total) for row, total in zip(rows, totals, strict=True)]


def _farthest(row: RowSet, values: list[int]) -> Vector:
    return _reduced(row.farthest(values))


def _reduced(weights: Sequence[int]) -> Vector:
    shared = math.gcd(*weights)
    return tuple(w // shared for w in weights)


def written(demands: Sequence[Demand], weights: Sequence[tuple[float, Demand]] = ()) -> dict[str, object]:
    """The distributions as a dual carries them, each once; with ``weights`` also a mixture of some, see :func:`weighed`."""
    pool: dict[Vector, int] = {}
    members: dict[tuple[int, ...], int] = {}

    def place(demand: Demand) -> int:
        vectors = (demand.prior, *demand.rows)
        places = tuple(-1 if v is None else pool.setdefault(v, len(pool)) for v in vectors)
        return members.setdefault(places, len(members))

    cuts = [[place(demand), demand.s, demand.t] for demand in demands]
    weighing = [[weight, place(demand)] for weight, demand in weights]
    dual: dict[str, object] = {
        "kind": "set",
        "pool": [[encode_number(Fraction(v, sum(vector))) for v in vector] for vector in pool],
        "members": [list(places) for places in members],
        "cuts": cuts,
    }
    return {**dual, "weighing": weighing} if weighing else dual


def weighed(ambiguity: JointAmbiguity, dual: dict[str, object]) -> list[Fraction] | None:
    """The distribution of X in a mixture of the members of a dual, by its ``weighing``, ``[[weight, member], ...]``; not divided.

    None if a member is not of the set, or not given in full.
    """
    members = _members(ambiguity, dual)
    if members is None:
        return None
    total = [Fraction(0)] * len(ambiguity.useful)
    for weight, number in _list(dual, "weighing"):
        prior, rows = members[_position(number, 0, len(members))]
        if (
            prior is None
            or isinstance(weight, bool)
            or not isinstance(weight, (int, float))
            or not weight >= 0
        ):
            return None
        given = [row for row in rows if row is not None]
        if len(given) != len(rows):
            return None
        mean, below = _mean(prior, given)
        total = [a + Fraction(weight) * Fraction(b, below) for a, b in zip(total, mean, strict=True)]
    return total


def _members(
    ambiguity: JointAmbiguity, dual: dict[str, object]
) -> list[tuple[Vector | None, tuple[Vector | None, ...]]] | None:
    """The joints of a dual, if every distribution of theirs lies in the set."""
    pool = [_vector(vector) for vector in _list(dual, "pool")]
    known: dict[tuple[int, int], bool] = {}

    def lies(place: int, where: int) -> bool:
        if (place, where) not in known:
            allowed = ambiguity.prior if where < 0 else ambiguity.rows[where]
            known[place, where] = allowed.contains(pool[place])
        return known[place, where]

    members = []
    for entry in _list(dual, "members"):
        places = [_position(v, -1, len(pool)) for v in entry]
        if len(places) != len(ambiguity.rows) + 1:
            return None
        if not all(p < 0 or lies(p, i - 1) for i, p in enumerate(places)):
            return None
        vectors = [None if p < 0 else pool[p] for p in places]
        members.append((vectors[0], tuple(vectors[1:])))
    return members


def _read(ambiguity: JointAmbiguity, notion: str, dual: dict[str, object]) -> list[Demand] | None:
    """What :func:`written` wrote, if every distribution lies in the set."""
    members, secrets = _members(ambiguity, dual), len(ambiguity.rows)
    if members is None:
        return None
    demands = []
    for number, s, t in _list(dual, "cuts"):
        prior, rows = members[_position(number, 0, len(members))]
        first = _position(s, 0, secrets)
        second = _position(t, 0, secrets) if notion == "ldp" else _position(t, -1, 2)
        if (notion == "ldp" and first == second) or (notion != "ldp" and second == 0):
            return None
        demands.append(Demand(prior, rows, first, second))
    return demands


def _list(dual: dict[str, object], name: str) -> list[list[object]]:
    value = dual.get(name)
    if not isinstance(value, list) or len(value) > MOST or not all(isinstance(v, list) for v in value):
        raise ValueError(f"{name} is no list of lists")
    return value


def _vector(values: list[object]) -> Vector:
    numbers = decode_numbers(values, "a distribution", 1)
    exact = [Fraction(v) for v in numbers if isinstance(v, int | float | Fraction)]
    if not exact or min(exact) < 0 or sum(exact) != 1:
        raise ValueError("a distribution holds a negative number, or does not sum to 1")
    common = math.lcm(*(v.denominator for v in exact))
    return _reduced([int(v * common) for v in exact])


def _position(value: object, least: int, end: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value < end:
        raise ValueError(f"{value!r} is no position")
    return value
