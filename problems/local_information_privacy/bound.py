"""Upper bounds on the utility of a channel problem, each proved afresh from its dual, in rationals or balls.

The kinds of dual:

- ``{"kind": "analytic"}``: what is released cannot say more than W itself, nor more about X than
  H(X | S) + B, where B bounds I(S;Y) by the two levels. Where W is the secret and uniform, and the distortion that of Hamming,
  no release is right more often than the likeliest secret is that the levels allow.
- ``{"kind": "contiguous"}``: where blocks must be contiguous, every partition of one column tried again.
- ``{"kind": "linear", "multipliers": [[...], ...]}``: multipliers >= 0 of the posterior rows, one list a
  release, for a distortion; weak duality in integers.
- ``{"kind": "bands", "above": [[...], ...], "below": [[...], ...]}``: where ratios are bounded ("ldp") and the utility is a
  distortion, multipliers >= 0 of P(y | s) <= e^e h(y) and h(y) <= P(y | s) for the least h(y) of these, a list a release; see
  :mod:`privopt.problems.bands`.
- ``{"kind": "pricing", "pi": [...], "tree": [...]}``: prices of the observations, and a tree of boxes that
  shows how far a posterior's entropy can be below its price; see :mod:`privopt.problems.local_information_privacy.tree`.
- ``{"kind": "vertices", "pi": [...]}``: prices, with every vertex of the polytope tried; for small ones.
- ``{"kind": "set", "pool": ..., "members": ..., "cuts": ..., "proof": {...}}``: distributions of the set of the problem, and
  a proof of the kind "linear" or "pricing" about releases that keep the bounds at these and at the nominal one; see
  :mod:`privopt.problems.local_information_privacy.members`.
- ``{"kind": "layers", "pi": [...], "tree": [...]}``: over a set of joints whose rows vary in intervals, prices and a tree of boxes of
  two quantiles of a posterior over P(w) and of its values; see :mod:`privopt.problems.local_information_privacy.layers`.
- ``{"kind": "directions", "directions": [[...], ...], "proof": {...}}``: directions of the secret's posterior, each of which makes
  a row that a bound on a divergence implies, and a proof of the kind "linear" or "pricing" about releases that keep these; see
  :mod:`privopt.problems.local_information_privacy.divergences`.
- ``{"kind": "pairs", "pi": [...]}``: prices, with every vertex tried where the secret has two values; see
  :mod:`privopt.problems.local_information_privacy.pairs`.
- ``{"kind": "patterns", "pi": [...], "least": c}``: prices, where the secret is a function of the observation; branch and bound
  shows again that no posterior costs less than c; see :mod:`privopt.problems.local_information_privacy.patterns`.
- ``{"kind": "lattice", "pi": [...]}``: the same where the probabilities of the secret are multiples of one unit, all patterns priced
  again; see :mod:`privopt.problems.local_information_privacy.lattice`.
- ``{"kind": "spending", "pi": [...], "price": m}``: prices and, for delta > 0, a price of violations, with every vertex tried;
  see :mod:`privopt.problems.local_information_privacy.spending`.
- ``{"kind": "spending", "price": m, "multipliers": [[[...], ...], ...]}``: the same for a distortion, with multipliers of the rows
  that are left, one list a release, for each set of secrets whose bounds a release may break. Or, in place of the two,
  ``"release": y, "sets": [i, ...], "within": {...}, "beyond": {...}``: two such proofs, where release y breaks the bounds of one of
  these sets and where it does not.
- ``{"kind": "classes", "proof": {...}}``: a proof of another kind about the classes of observations with the same posterior of the
  secret, to which H(W | class) is added; see :attr:`privopt.problems.local_information_privacy.data.LocalInformationPrivacyData.of_classes`.

With prices pi, any release satisfies sum_y P(y) cost(v_y) >= pi . P(w) + min over the polytope of
cost(v) - pi . v, as the posteriors average to P(w). The polytope is that of :class:`privopt.problems.local_information_privacy.polytope.Polytope`,
which holds every allowed posterior, so the rows are implied by the bounds and multipliers cannot be played against rounding.
"""

from __future__ import annotations

import math
import time
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from privopt.arrays import Bools, Floats
from privopt.core.exact import ball_ceiling, ball_floor
from privopt.core.problem import Enclosure
from privopt.measures.lifts import mutual_information_bound
from privopt.measures.shannon import entropy, mutual_information
from privopt.models.channel_data import Observation
from privopt.problems.bands import band_enclosure
from privopt.problems.classes import within_classes
from privopt.problems.costs import Costs, costs
from privopt.problems.exact_joint import enclose
from privopt.problems.local_information_privacy import divergences
from privopt.problems.local_information_privacy.contiguous import proved_best
from privopt.problems.local_information_privacy.data import LocalInformationPrivacyData, alignments
from privopt.problems.local_information_privacy.hamming import least_errors
from privopt.problems.local_information_privacy.lattice import least_lattice_cost
from privopt.problems.local_information_privacy.layers import least_layer_cost
from privopt.problems.local_information_privacy.members import MOST, demanded
from privopt.problems.local_information_privacy.pairs import least_pair_cost
from privopt.problems.local_information_privacy.patterns import least_pattern_cost
from privopt.problems.local_information_privacy.polytope import LARGEST, Polytope
from privopt.problems.local_information_privacy.spending import MOST as MOST_BROKEN
from privopt.problems.local_information_privacy.spending import (
    bounded,
    broken_sets,
    least_spending_cost,
    spent_costs,
)
from privopt.problems.local_information_privacy.tree import least_reduced_cost
from privopt.problems.local_information_privacy.vertices import least_vertex_cost
from privopt.problems.trade_off.information import entropy_enclosure, most_information, secret_information
from privopt.problems.validation import Matrix

if TYPE_CHECKING:
    from flint import arb

WINDOW = 200
"""Bits of the largest multiplier that are kept of all; smaller parts are dropped, which is still a proof."""

GRID = 256
"""Bits of quotients of multipliers that are kept beside those of the weights; they are rounded down."""

READING = 1e-12
"""How far a cost that is the user's function may be off, relative to its size: nothing about it can be proved."""


def prove(data: LocalInformationPrivacyData, dual: object, seconds: float) -> Enclosure | None:
    """What a dual proves about the utility, rounded outward; see :meth:`privopt.Problem.prove_bound`.

    Of a distortion no less than that it is at least the least of any release, whatever multipliers say.
    """
    proved = _proved(data, dual, seconds)
    if proved is None or data.costs is None:
        return proved
    return min(proved, enclose(-data.costs.least), key=lambda ends: ends[1])


def _proved(data: LocalInformationPrivacyData, dual: object, seconds: float) -> Enclosure | None:
    if not isinstance(dual, dict):
        return None
    kind = dual.get("kind")
    if kind == "analytic":
        return analytic_enclosure(data)
    if kind == "contiguous":
        return proved_best(data)
    if kind == "set":
        return _over_set(data, dual, seconds)
    if kind == "spending":
        return _spending(data, dual, seconds)
    if kind == "directions":
        return _along(data, dual, seconds)
    if kind == "classes":
        return _of_classes(data, dual, seconds)
    if data.delta > 0:  # the other proofs are for releases that all keep the bounds
        return None
    if kind == "bands":
        return _bands(data, dual)
    if kind == "linear":
        if data.costs is None:
            return None
        value = linear_value(data, data.costs, Fraction(1), dual.get("multipliers"))
        return None if value is None else enclose(value)
    prices = numbers(dual.get("pi"), (len(data.observation.support),))
    if prices is None or data.matrix is not None:
        return None
    if kind == "layers":
        least_of_layers = least_layer_cost(data, prices, dual.get("tree"))
        return None if least_of_layers is None else _priced(data, prices, least_of_layers)
    if kind == "patterns":
        found = (
            None if data.cost is not None else least_pattern_cost(data, prices, dual.get("least"), seconds)
        )
        return None if found is None else _priced(data, prices, found)
    if kind == "lattice":
        least_on_lattice = least_lattice_cost(data, prices)
        return None if least_on_lattice is None else _priced(data, prices, least_on_lattice)
    proved: list[Enclosure] = []
    for kept in alignments(data) if kind == "pricing" else [data.polytope.kept]:
        least_cost: Enclosure | None = None
        if kind == "pricing" and data.cost is None:
            least_cost = least_reduced_cost(data, kept, prices, dual.get("tree"))
        elif kind == "vertices":
            least_cost = least_vertex_cost(data, prices, seconds)
        elif kind == "pairs":
            least_cost = least_pair_cost(data, prices)
        if least_cost is not None:
            proved.append(_priced(data, prices, least_cost))
    return min(proved, key=lambda ends: ends[1], default=None)


def _over_set(data: LocalInformationPrivacyData, dual: dict[str, object], seconds: float) -> Enclosure | None:
    """What a proof about finitely many distributions of the set proves, once each is seen to lie in it."""
    if data.delta > 0:  # releases need not keep the rows that the distributions demand
        return None
    relaxed, inner = demanded(data, dual), dual.get("proof")
    if relaxed is None or not isinstance(inner, dict) or inner.get("kind") not in ("linear", "pricing"):
        return None
    return prove(relaxed, inner, seconds)


def _of_classes(
    data: LocalInformationPrivacyData, dual: dict[str, object], seconds: float
) -> Enclosure | None:
    """What a proof about classes of observations that say the same of the secret proves: its bound, and H(W | class)."""
    joined, inner = data.of_classes, dual.get("proof")
    if joined is None or not isinstance(inner, dict) or inner.get("kind") == "classes":
        return None
    proved = prove(joined, inner, seconds)
    if proved is None:
        return None
    within = within_classes(data.observation, joined.observation)
    return -_sum_up((-proved[0], -within[0])), _sum_up((proved[1], within[1]))


def _along(data: LocalInformationPrivacyData, dual: dict[str, object], seconds: float) -> Enclosure | None:
    """What a proof about finitely many half-spaces proves: each holds every posterior that keeps the divergence."""
    inner, values = dual.get("proof"), sum(map(any, data.table))
    along = dual.get("directions")
    if not data.beyond or data.per_value is not None or not isinstance(along, list) or len(along) > MOST:
        return None
    if not isinstance(inner, dict) or inner.get("kind") not in ("linear", "pricing"):
        return None
    if not all(isinstance(c, list) and len(c) == values and all(map(_entry, c)) for c in along):
        return None
    return prove(data.relaxed(tuple(map(data.cut, along))), inner, seconds)


def _entry(value: object) -> bool:
    """Whether a number may stand in a direction."""
    return type(value) is int and abs(value) <= divergences.DEEPEST * divergences.SCALE


def _spending(data: LocalInformationPrivacyData, dual: dict[str, object], seconds: float) -> Enclosure | None:
    """Prices of observations and of violations: H(X) - pi . P(w) - least + m delta."""
    if isinstance(data.utility, tuple):
        return _spending_distortion(data, data.utility, dual, seconds)
    prices, price = numbers(dual.get("pi"), (len(data.observation.support),)), dual.get("price")
    if prices is None or data.utility != "mutual_information" or data.notion != "lip":
        return None
    least = least_spending_cost(data, prices, price, seconds)
    if least is None or not isinstance(price, float):
        return None
    low, high = _priced(data, prices, least)
    spent = enclose(Fraction(price) * Fraction(data.delta))
    return -_sum_up((-low, -spent[0])), _sum_up((high, spent[1]))


def _spending_distortion(
    data: LocalInformationPrivacyData, matrix: Matrix, dual: dict[str, object], seconds: float
) -> Enclosure | None:
    """The largest bound of the cases into which a dual splits what each release may break; None if one of them proves nothing."""
    if data.notion != "lip" or data.ambiguity is not None or len(bounded(data)) > MOST_BROKEN:
        return None
    sets, ends = list(broken_sets(data)), time.monotonic() + seconds
    polytopes = [data.without(frozenset(broken)).polytope for broken in sets]
    plain, largest = costs(data.observation, matrix), None
    cases: list[tuple[object, Bools]] = [(dual, np.ones((len(sets), len(matrix[0])), dtype=bool))]
    while cases:
        case, open_sets = cases.pop()
        if not isinstance(case, dict) or time.monotonic() > ends:
            return None
        if "release" in case:
            halves = _halves(case, open_sets)
            if halves is None:
                return None
            cases += zip((case.get("within"), case.get("beyond")), halves, strict=True)
            continue
        if not open_sets.any(axis=0).all():
            continue  # a release that may break no set of those left: there is no such mechanism
        value = _spending_case(data, plain, polytopes, sets, open_sets, case)
        if value is None:
            return None
        largest = value if largest is None else max(largest, value)
    return None if largest is None else enclose(largest)


def _halves(case: dict[str, object], open_sets: Bools) -> tuple[Bools, Bools] | None:
    """The pairs of sets and releases that are left where one release breaks one of the sets named, and where it does not."""
    release, named = case.get("release"), case.get("sets")
    count, releases = open_sets.shape
    if type(release) is not int or not 0 <= release < releases or not isinstance(named, list):
        return None
    if not all(type(i) is int and 0 <= i < count for i in named):
        return None
    within, beyond, chosen = open_sets.copy(), open_sets.copy(), np.isin(np.arange(count), named)
    within[~chosen, release] = False
    beyond[chosen, release] = False
    return within, beyond


def _spending_case(
    data: LocalInformationPrivacyData,
    plain: Costs,
    polytopes: list[Polytope],
    sets: list[tuple[int, ...]],
    open_sets: Bools,
    case: dict[str, object],
) -> Fraction | None:
    """Weak duality over releases and the sets they may break: m delta - sum_w of the least of them."""
    price, tables = case.get("price"), case.get("multipliers")
    if not isinstance(price, float) or not 0 <= price < math.inf:
        return None
    if not isinstance(tables, list) or len(tables) != len(sets):
        return None
    least: list[Fraction] | None = None
    for polytope, broken, multipliers, releases in zip(polytopes, sets, tables, open_sets, strict=True):
        if not releases.any():
            continue
        shape = len(releases), len(polytope.kept)
        table = numbers(multipliers, shape) if polytope.kept else np.zeros(shape)
        if table is None or (table < 0).any():
            return None
        of = spent_costs(polytope, plain, price, broken)
        rows, below = _paid(polytope, polytope.kept, table, of, Fraction(1))
        used = np.flatnonzero(releases).tolist()
        lowest = [Fraction(min(row[y] for y in used), below) for row in rows]
        least = lowest if least is None else list(map(min, least, lowest))
    return Fraction(price) * Fraction(data.delta) - sum(least or [], Fraction(0))


def _priced(data: LocalInformationPrivacyData, prices: Floats, least: Enclosure) -> Enclosure:
    """H(X) - pi . P(w) - least, or without H(X) for the user's cost."""
    observed = data.observation
    weights = observed.weights
    total = sum(weights)
    paid = sum(
        (weights[w] * Fraction(p) for w, p in zip(observed.support.tolist(), prices.tolist(), strict=True)),
        Fraction(0),
    )
    low, high = (-v for v in reversed(enclose(paid / total)))
    whole = (0.0, 0.0) if data.cost is not None else _entropy(observed)
    hi = _sum_up((whole[1], high, -least[0]))
    lo = -_sum_up((-whole[0], -low, least[1]))
    return lo, hi


def _sum_up(terms: tuple[float, ...]) -> float:
    """A float that is at least the sum."""
    if not all(map(math.isfinite, terms)):
        return math.inf if math.inf in terms else -math.inf
    return enclose(sum(map(Fraction, terms), Fraction(0)))[1]


def _entropy(observed: Observation) -> Enclosure:
    """Floats around H(X)."""
    if observed.useful is None:
        return entropy_enclosure(observed.weights)
    n = len(observed.useful.useful)
    weights = observed.useful.exact.weights
    return entropy_enclosure([sum(weights[i : i + n]) for i in range(0, len(weights), n)])


def analytic_enclosure(data: LocalInformationPrivacyData) -> Enclosure:
    """Floats around the utility of releasing W itself, or H(X | S) + B if that is less; of a constant where no more is allowed."""
    observed, only = data.observation, data.delta == 0 and data.polytope.determined
    if (of_map := data.costs) is not None:
        if only:
            return enclose(-of_map.of_constant)
        errors = least_errors(data) if data.delta == 0 else None
        return enclose(-(of_map.least if errors is None else max(of_map.least, errors)))
    if only and data.cost is None:
        return 0.0, 0.0
    if data.cost is not None:
        value = analytic_bound(data)
        return value - READING * abs(value), value + READING * abs(value)
    whole = most_information(observed)
    if data.delta > 0:
        return whole
    of_x, about, spread = _entropy(observed), secret_information(data.nominal), information_limit(data)
    rest = (
        -_sum_up((-of_x[0], about[1], -spread[0])),
        _sum_up((of_x[1], -about[0], spread[1])),
    )
    return min(whole[0], rest[0]), min(whole[1], rest[1])


def _bands(data: LocalInformationPrivacyData, dual: dict[str, object]) -> Enclosure | None:
    """Floats around what multipliers of bands prove of releases whose ratios are bounded."""
    if data.costs is None or data.notion != "ldp" or not math.isfinite(data.upper):
        return None
    shape = len(data.costs.cells[0]), len(data.polytope.table)
    above, below = numbers(dual.get("above"), shape), numbers(dual.get("below"), shape)
    if above is None or below is None:
        return None
    return band_enclosure(data.observation, data.costs, data.polytope.sides, above, below)


def information_limit(data: LocalInformationPrivacyData) -> Enclosure:
    """Floats around the largest I(S;Y) that the two levels allow: t e^u u - (1 - t) e^-l l, t = (1 - e^-l) / (e^u - e^-l).

    See :func:`privopt.measures.mutual_information_bound`. LDP at e^epsilon allows lifts of
    1 / (p + (1 - p) e^epsilon) to e^epsilon / (1 + p (e^epsilon - 1)), for p the least probability of a secret.
    """
    from flint import arb, ctx, fmpq

    lower, upper = data.lower, data.upper
    if min(lower, upper) == 0:
        return 0.0, 0.0
    if data.notion in divergences.NOTIONS:
        return divergences.most_information(data.notion, data.divergence)
    if math.inf in (lower, upper):
        return upper, upper
    if max(lower, upper) > LARGEST:
        return upper, upper
    bits = 192
    while True:
        with ctx.workprec(bits):
            u, down = (arb(fmpq(*Fraction(v).as_integer_ratio())) for v in (upper, lower))
            if data.notion == "ldp":
                u, down = _lift_levels(data, u)
            top, bottom = u.exp(), (-down).exp()
            t = (1 - bottom) / (top - bottom)
            ball = t * top * u - (1 - t) * bottom * down
            if ball.rel_accuracy_bits() >= 60:
                return max(0.0, ball_floor(ball)), ball_ceiling(ball)
        if bits >= 1 << 14:
            return upper, upper
        bits *= 2


def _lift_levels(data: LocalInformationPrivacyData, epsilon: arb) -> tuple[arb, arb]:
    from flint import arb, fmpq

    least = arb(fmpq(min(data.polytope.secrets), data.polytope.total))
    e = epsilon.exp()
    return (e / (1 + least * (e - 1))).log(), (least + (1 - least) * e).log()


def linear_value(
    data: LocalInformationPrivacyData, prices: Costs, unit: Fraction, multipliers: object
) -> Fraction | None:
    """An exact upper bound on -unit E[D] of every allowed release, by weak duality; None if the multipliers do not fit.

    Each observation takes the release that is cheapest once the rows are paid for. For LIP the rows of one release add
    up to sum_s P(s, w) (up_s - low_s) + P(w) sum_s P(s) (r low_s - R up_s), so that products of integers as large as
    the table do, however many rows there are.

    Parameters
    ----------
    data : LocalInformationPrivacyData
        Says which posteriors are allowed.
    prices : Costs
        The expected distortion of every observation and release.
    unit : Fraction
        What the distortion is multiplied with.
    multipliers : lists of numbers >= 0, one list a release
    """
    outputs = len(prices.cells[0])
    proved: list[Fraction] = []
    for kept in alignments(data):
        table = numbers(multipliers, (outputs, len(kept))) if kept else np.zeros((outputs, 0))
        if table is not None and not (table < 0).any():
            proved.append(_weak_duality(data.polytope, kept, table, prices, unit))
    return min(proved, default=None)


def _weak_duality(
    polytope: Polytope, kept: tuple[int, ...], multipliers: Floats, prices: Costs, unit: Fraction
) -> Fraction:
    rows, below = _paid(polytope, kept, multipliers, prices, unit)
    return -Fraction(sum(map(min, rows)), below)


def _paid(
    polytope: Polytope, kept: tuple[int, ...], multipliers: Floats, prices: Costs, unit: Fraction
) -> tuple[list[list[int]], int]:
    """What every observation and release costs once the rows are paid for, in integers over a denominator."""
    from flint import fmpz_mat

    scale, whole = _integers(multipliers)
    coefficients, across, below = (_ldp_terms if polytope.sides[0] == "ldp" else _lip_terms)(
        polytope, kept, whole
    )
    rows = fmpz_mat([list(row) for row in polytope.table]).transpose() * fmpz_mat(coefficients).transpose()
    rows += fmpz_mat([[weight] for weight in polytope.symbols]) * fmpz_mat([across])
    if further := [(k, row) for k, row in enumerate(kept) if polytope.names[row][0] < 0]:
        sums, below = _with_further(polytope, further, whole, rows, below)
        rows = sums
    # distortion: unit cells / scale of the costs; rows: integers / (below scale)
    of_cost = unit.numerator * below * scale
    of_rows = unit.denominator * prices.scale
    paid = fmpz_mat([list(row) for row in prices.cells]) * of_cost + rows * of_rows
    return [[int(value) for value in row] for row in paid.tolist()], of_rows * below * scale


def _with_further(
    polytope: Polytope, further: list[tuple[int, int]], whole: list[list[int]], rows: Any, below: int
) -> tuple[Any, int]:
    """The rows with what the further ones pay, and their denominator; multipliers of these are rounded down."""
    from flint import fmpz_mat

    deepest = max(polytope.denominator(row) for _, row in further)
    shift = max(0, deepest.bit_length() + WINDOW - below.bit_length())
    paid, below = rows * (1 << shift), below << shift
    values = [[line[k] * below // polytope.denominator(row) for line in whole] for k, row in further]
    numerators = [polytope.numerators(row) for _, row in further]
    return paid + fmpz_mat(numerators).transpose() * fmpz_mat(values), below


def _integers(multipliers: Floats) -> tuple[int, list[list[int]]]:
    """A power of 2, and the multipliers times it, rounded down."""
    exponent = int(np.frexp(multipliers.max(initial=0.0))[1])
    shift = max(0, WINDOW - exponent)
    whole = []
    for row in multipliers.tolist():
        ratios = [value.as_integer_ratio() if value else (0, 1) for value in row]
        whole.append([(up << shift) // down for up, down in ratios])
    return 1 << shift, whole


def _lip_terms(
    polytope: Polytope, kept: tuple[int, ...], whole: list[list[int]]
) -> tuple[list[list[int]], list[int], int]:
    """What multiplies P(s, w), what multiplies P(w), and the denominator of both beside the weights."""
    above, below = polytope.above or Fraction(0), polytope.below or Fraction(0)
    common = math.lcm(above.denominator, below.denominator)
    up, low = int(above * common), int(below * common)
    coefficients, across = [], []
    for row in whole:
        share = [0] * len(polytope.table)
        paid = 0
        for position, value in zip(kept, row, strict=True):
            s, side = polytope.names[position]
            if s < 0:
                continue
            if side > 0 and polytope.above is None and value:
                continue  # the row is idle at such a level, and without it the rest is a proof
            share[s] += side * value
            paid += value * polytope.secrets[s] * (low if side < 0 else -up)
        coefficients.append([v * polytope.total * common for v in share])
        across.append(paid)
    return coefficients, across, polytope.total**2 * common


def _ldp_terms(
    polytope: Polytope, kept: tuple[int, ...], whole: list[list[int]]
) -> tuple[list[list[int]], list[int], int]:
    """As for LIP: the multipliers of a pair meet P(s, w) / P(s) once as they are and once times -e^epsilon, rounded down."""
    ratio, grid = polytope.above, GRID + max(polytope.secrets).bit_length()
    coefficients = []
    for row in whole:
        share = [0] * len(polytope.table)
        for position, value in zip(kept, row, strict=True):
            if value:
                s, t = polytope.names[position]
                if s < 0:
                    continue
                if ratio is None:
                    raise OverflowError(f"e^{polytope.sides[2]:g} is too long to write down")
                share[s] += value * ratio.denominator
                share[t] -= value * ratio.numerator
        coefficients.append([(v << grid) // a for v, a in zip(share, polytope.secrets, strict=True)])
    below = (1 if ratio is None else ratio.denominator) << grid
    return coefficients, [0] * len(whole), below


def numbers(values: object, shape: tuple[int, ...]) -> Floats | None:
    """Finite numbers of that shape, or None; booleans, texts and integers beyond floats are none."""
    if not _all_numbers(values):
        return None
    try:
        table = np.array(values, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        return None
    return table if table.shape == shape and np.isfinite(table).all() else None


def _all_numbers(values: object) -> bool:
    """Whether lists hold nothing but numbers."""
    if isinstance(values, (list, tuple)):
        others = set(map(type, values)) - {int, float}
        nested = all(issubclass(kind, (list, tuple)) for kind in others)
        return not others or (nested and all(_all_numbers(v) for v in values if type(v) in others))
    return isinstance(values, np.ndarray) and values.dtype.kind in "fi"


# what solvers compare with while they search: floats, which prove nothing


def priced_bound(data: LocalInformationPrivacyData, prices: Floats, least: float) -> float:
    """The bound from prices and a lower bound on cost(v) - prices . v over the polytope, in floats."""
    observed = data.observation
    value = math.fsum((observed.p_w[observed.support] * prices).tolist()) + least
    whole = float(entropy(observed.p_x)) if data.cost is None else 0.0
    return whole - value


def analytic_bound(data: LocalInformationPrivacyData) -> float:
    """The utility of releasing W itself, or H(X | S) + B if that is less, in floats."""
    observed, only = data.observation, data.delta == 0 and data.polytope.determined
    if only and data.cost is None:
        return 0.0 if data.matrix is None else -float((observed.p_x @ data.matrix).min())
    if data.matrix is not None:
        means = observed.x_given_w.T @ data.matrix
        return -math.fsum((observed.p_w * means.min(axis=1)).tolist())
    if data.cost is not None:
        posteriors = observed.x_given_w.T[observed.support]
        values = [float(data.cost(v)) for v in posteriors]
        return -math.fsum((observed.p_w[observed.support] * values).tolist())
    if observed.useful is None:
        whole = float(entropy(observed.p_x))
    else:
        whole = float(mutual_information(observed.useful.table))
    if data.delta > 0:
        return whole
    lower, upper = _levels(data)
    limit = mutual_information_bound(upper, lower)
    if data.notion in divergences.NOTIONS:
        limit = min(limit, divergences.most_information(data.notion, data.divergence)[1])
    table = data.nominal.table
    about = float(mutual_information(table if table.ndim == 2 else np.asarray(table.sum(axis=2))))
    return min(whole, float(entropy(observed.p_x)) - about + limit)


def _levels(data: LocalInformationPrivacyData) -> tuple[float, float]:
    """(lower, upper) bounds on the log-lift that the notion implies."""
    if data.notion != "ldp" or data.budget == math.inf:
        return data.lower, data.upper
    least = float(data.observation.p_s[data.observation.p_s > 0].min())
    e = math.exp(min(data.budget, 700.0))
    return math.log(least + (1 - least) * e), math.log(e / (1 + least * (e - 1)))
