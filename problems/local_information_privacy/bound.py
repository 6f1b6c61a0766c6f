"""Upper bounds on the utility of a channel problem, each proved afresh from its dual, in rationals or balls.

The kinds of dual:

- ``{"kind": "analytic"}``: what is released cannot say more than W itself, nor more about X than
  H(X | S) + B, where B bounds I(S;Y) by the two levels.
- ``{"kind": "linear", "multipliers": [[...], ...]}``: multipliers >= 0 of the posterior rows, one list a
  release, for a distortion; weak duality in integers.
- ``{"kind": "pricing", "pi": [...], "tree": [...]}``: prices of the observations, and a tree of boxes that
  shows how far a posterior's entropy can be below its price; see :mod:`privopt.problems.local_information_privacy.tree`.
- ``{"kind": "vertices", "pi": [...]}``: prices, with every vertex of the polytope tried; for small ones.

With prices pi, any release satisfies sum_y P(y) cost(v_y) >= pi . P(w) + min over the polytope of
cost(v) - pi . v, as the posteriors average to P(w). The polytope is that of :class:`privopt.problems.local_information_privacy.rows.Polytope`,
which holds every allowed posterior, so the rows are implied by the bounds and multipliers cannot be played against rounding.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from privopt.arrays import Floats
from privopt.core.exact import ball_ceiling, ball_floor
from privopt.core.problem import Enclosure
from privopt.measures.information_bound import mutual_information_bound
from privopt.measures.shannon import entropy, mutual_information
from privopt.models.channel_data import Observation
from privopt.problems.costs import Costs, costs
from privopt.problems.exact_joint import ExactJoint
from privopt.problems.exact_utility import enclose, information_enclosure
from privopt.problems.local_information_privacy.rows import LARGEST, Polytope, alignments
from privopt.problems.local_information_privacy.tree import least_reduced_cost
from privopt.problems.local_information_privacy.vertices import least_vertex_cost
from privopt.problems.trade_off.information import entropy_enclosure, most_information

if TYPE_CHECKING:
    from flint import arb

    from privopt.problems.local_information_privacy.problem import LocalInformationPrivacy

WINDOW = 200
"""Bits of the largest multiplier that are kept of all; smaller parts are dropped, which is still a proof."""

GRID = 256
"""Bits of quotients of multipliers that are kept beside those of the weights; they are rounded down."""

READING = 1e-12
"""How far a cost that is the user's function may be off, relative to its size: nothing about it can be proved."""


def prove(problem: LocalInformationPrivacy, dual: object, seconds: float) -> Enclosure | None:
    """What a dual proves about the utility, rounded outward; see :meth:`privopt.Problem.prove_bound`."""
    if not isinstance(dual, dict):
        return None
    kind = dual.get("kind")
    if kind == "analytic":
        return analytic_enclosure(problem)
    if problem.delta > 0:  # the other proofs are for releases that all keep the bounds
        return None
    if kind == "linear":
        if not isinstance(problem.utility, tuple):
            return None
        least = costs(problem.observation, problem.utility)
        value = linear_value(problem, least, Fraction(1), dual.get("multipliers"))
        return None if value is None else enclose(value)
    prices = numbers(dual.get("pi"), (len(problem.observation.support),))
    if prices is None or problem.matrix is not None:
        return None
    found: list[Enclosure] = []
    for kept in alignments(problem) if kind == "pricing" else [problem.polytope.kept]:
        least_cost: Enclosure | None = None
        if kind == "pricing" and problem.cost is None:
            least_cost = least_reduced_cost(problem, kept, prices, dual.get("tree"))
        elif kind == "vertices":
            least_cost = least_vertex_cost(problem, prices, seconds)
        if least_cost is not None:
            found.append(_priced(problem, prices, least_cost))
    return min(found, key=lambda ends: ends[1], default=None)


def _priced(problem: LocalInformationPrivacy, prices: Floats, least: Enclosure) -> Enclosure:
    """H(X) - pi . P(w) - least, or without H(X) for the user's cost."""
    observed = problem.observation
    weights = observed.weights
    total = sum(weights)
    paid = sum(
        (weights[w] * Fraction(p) for w, p in zip(observed.support.tolist(), prices.tolist(), strict=True)),
        Fraction(0),
    )
    low, high = (-v for v in reversed(enclose(paid / total)))
    whole = (0.0, 0.0) if problem.cost is not None else _entropy(observed)
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


def analytic_enclosure(problem: LocalInformationPrivacy) -> Enclosure:
    """Floats around the utility of releasing W itself, or H(X | S) + B if that is less; of a constant where no more is allowed."""
    observed, only = problem.observation, problem.delta == 0 and problem.polytope.determined
    if isinstance(problem.utility, tuple):
        of_map = costs(observed, problem.utility)
        return enclose(-(of_map.of_constant if only else of_map.least))
    if only and problem.cost is None:
        return 0.0, 0.0
    if problem.cost is not None:
        value = analytic_bound(problem)
        return value - READING * abs(value), value + READING * abs(value)
    whole = most_information(observed)
    if problem.delta > 0:
        return whole
    of_x, table = _entropy(observed), _secret_useful(problem)
    about = information_enclosure(table)
    spread = information_limit(problem)
    rest = (
        -_sum_up((-of_x[0], about[1], -spread[0])),
        _sum_up((of_x[1], -about[0], spread[1])),
    )
    return min(whole[0], rest[0]), min(whole[1], rest[1])


def _secret_useful(problem: LocalInformationPrivacy) -> ExactJoint:
    """The exact distribution of (S, X)."""
    joint = problem.joint
    weights, shape = joint.exact.weights, joint.table.shape
    table = np.array(weights, dtype=object).reshape(shape)
    if len(shape) == 3:
        table = table.sum(axis=2)
    return ExactJoint(tuple(tuple(map(int, row)) for row in table.tolist()), joint.exact.total)


def information_limit(problem: LocalInformationPrivacy) -> Enclosure:
    """Floats around the largest I(S;Y) that the two levels allow: t e^u u - (1 - t) e^-l l, t = (1 - e^-l) / (e^u - e^-l).

    See :func:`privopt.measures.mutual_information_bound`. LDP at e^epsilon allows lifts of
    1 / (p + (1 - p) e^epsilon) to e^epsilon / (1 + p (e^epsilon - 1)), for p the least probability of a secret.
    """
    from flint import arb, ctx, fmpq

    lower, upper = problem.lower, problem.upper
    if min(lower, upper) == 0:
        return 0.0, 0.0
    if math.inf in (lower, upper):
        return upper, upper
    if max(lower, upper) > LARGEST:
        return upper, upper
    saved, bits = ctx.prec, 192
    try:
        while True:
            ctx.prec = bits
            u, down = (arb(fmpq(*Fraction(v).as_integer_ratio())) for v in (upper, lower))
            if problem.notion == "ldp":
                u, down = _lift_levels(problem, u)
            top, bottom = u.exp(), (-down).exp()
            t = (1 - bottom) / (top - bottom)
            ball = t * top * u - (1 - t) * bottom * down
            if ball.rel_accuracy_bits() >= 60:
                return max(0.0, ball_floor(ball)), ball_ceiling(ball)
            if bits >= 1 << 14:
                return upper, upper
            bits *= 2
    finally:
        ctx.prec = saved


def _lift_levels(problem: LocalInformationPrivacy, epsilon: arb) -> tuple[arb, arb]:
    from flint import arb, fmpq

    given = problem.polytope
    least = arb(fmpq(min(given.secrets), given.total))
    e = epsilon.exp()
    return (e / (1 + least * (e - 1))).log(), (least + (1 - least) * e).log()


def linear_value(
    problem: LocalInformationPrivacy, prices: Costs, unit: Fraction, given: object
) -> Fraction | None:
    """An exact upper bound on -unit E[D] of every allowed release, by weak duality; None if the multipliers do not fit.

    Each observation takes the release that is cheapest once the rows are paid for. For LIP the rows of one release add
    up to sum_s P(s, w) (up_s - low_s) + P(w) sum_s P(s) (r low_s - R up_s), so that products of integers as large as
    the table do, however many rows there are.

    Parameters
    ----------
    problem : LocalInformationPrivacy
        Says which posteriors are allowed.
    prices : Costs
        The expected distortion of every observation and release.
    unit : Fraction
        What the distortion is multiplied with.
    given : lists of numbers >= 0, one list a release
    """
    outputs = len(prices.cells[0])
    found: list[Fraction] = []
    for kept in alignments(problem):
        multipliers = numbers(given, (outputs, len(kept))) if kept else np.zeros((outputs, 0))
        if multipliers is not None and not (multipliers < 0).any():
            found.append(_weak_duality(problem.polytope, kept, multipliers, prices, unit))
    return min(found, default=None)


def _weak_duality(
    given: Polytope, kept: tuple[int, ...], multipliers: Floats, prices: Costs, unit: Fraction
) -> Fraction:
    from flint import fmpz_mat

    scale, whole = _integers(multipliers)
    coefficients, across, below = (_ldp_terms if given.sides[0] == "ldp" else _lip_terms)(given, kept, whole)
    rows = fmpz_mat([list(row) for row in given.table]).transpose() * fmpz_mat(coefficients).transpose()
    rows += fmpz_mat([[weight] for weight in given.symbols]) * fmpz_mat([across])
    # distortion: unit cells / scale of the costs; rows: integers / (below scale)
    of_cost = unit.numerator * below * scale
    of_rows = unit.denominator * prices.scale
    paid = fmpz_mat([list(row) for row in prices.cells]) * of_cost + rows * of_rows
    total = sum(int(min(row)) for row in paid.tolist())
    return -Fraction(total, of_rows * below * scale)


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
    given: Polytope, kept: tuple[int, ...], whole: list[list[int]]
) -> tuple[list[list[int]], list[int], int]:
    """What multiplies P(s, w), what multiplies P(w), and the denominator of both beside the weights."""
    above, below = given.above or Fraction(0), given.below or Fraction(0)
    common = math.lcm(above.denominator, below.denominator)
    up, low = int(above * common), int(below * common)
    coefficients, across = [], []
    for row in whole:
        share = [0] * len(given.table)
        paid = 0
        for position, value in zip(kept, row, strict=True):
            s, side = given.names[position]
            if side > 0 and given.above is None and value:
                continue  # the row is idle at such a level, and without it the rest is a proof
            share[s] += side * value
            paid += value * given.secrets[s] * (low if side < 0 else -up)
        coefficients.append([v * given.total * common for v in share])
        across.append(paid)
    return coefficients, across, given.total**2 * common


def _ldp_terms(
    given: Polytope, kept: tuple[int, ...], whole: list[list[int]]
) -> tuple[list[list[int]], list[int], int]:
    """As for LIP: the multipliers of a pair meet P(s, w) / P(s) once as they are and once times -e^epsilon, rounded down."""
    ratio, grid = given.above, GRID + max(given.secrets).bit_length()
    coefficients = []
    for row in whole:
        share = [0] * len(given.table)
        for position, value in zip(kept, row, strict=True):
            if value:
                s, t = given.names[position]
                if ratio is None:
                    raise OverflowError(f"e^{given.sides[2]:g} is too long to write down")
                share[s] += value * ratio.denominator
                share[t] -= value * ratio.numerator
        coefficients.append([(v << grid) // a for v, a in zip(share, given.secrets, strict=True)])
    below = (1 if ratio is None else ratio.denominator) << grid
    return coefficients, [0] * len(whole), below


def numbers(given: object, shape: tuple[int, ...]) -> Floats | None:
    """Finite numbers of that shape, or None; booleans, texts and integers beyond floats are none."""
    if not _all_numbers(given):
        return None
    try:
        found = np.array(given, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        return None
    return found if found.shape == shape and np.isfinite(found).all() else None


def _all_numbers(given: object) -> bool:
    """Whether lists hold nothing but numbers."""
    if isinstance(given, (list, tuple)):
        return all(
            _all_numbers(v) if isinstance(v, (list, tuple)) else type(v) in (int, float) for v in given
        )
    return isinstance(given, np.ndarray) and given.dtype.kind in "fi"


# what solvers compare with while they search: floats, which prove nothing


def priced_bound(problem: LocalInformationPrivacy, prices: Floats, least: float) -> float:
    """The bound from prices and a lower bound on cost(v) - prices . v over the polytope, in floats."""
    observed = problem.observation
    value = math.fsum((observed.p_w[observed.support] * prices).tolist()) + least
    whole = float(entropy(observed.p_x)) if problem.cost is None else 0.0
    return whole - value


def analytic_bound(problem: LocalInformationPrivacy) -> float:
    """The utility of releasing W itself, or H(X | S) + B if that is less, in floats."""
    observed, only = problem.observation, problem.delta == 0 and problem.polytope.determined
    if only and problem.cost is None:
        return 0.0 if problem.matrix is None else -float((observed.p_x @ problem.matrix).min())
    if problem.matrix is not None:
        means = observed.x_given_w.T @ problem.matrix
        return -math.fsum((observed.p_w * means.min(axis=1)).tolist())
    if problem.cost is not None:
        posteriors = observed.x_given_w.T[observed.support]
        values = [float(problem.cost(v)) for v in posteriors]
        return -math.fsum((observed.p_w[observed.support] * values).tolist())
    if observed.useful is None:
        whole = float(entropy(observed.p_x))
    else:
        whole = float(mutual_information(observed.useful.table))
    if problem.delta > 0:
        return whole
    lower, upper = _levels(problem)
    table = problem.joint.table
    about = float(mutual_information(table if table.ndim == 2 else np.asarray(table.sum(axis=2))))
    return min(whole, float(entropy(observed.p_x)) - about + mutual_information_bound(upper, lower))


def _levels(problem: LocalInformationPrivacy) -> tuple[float, float]:
    """(lower, upper) bounds on the log-lift that the notion implies."""
    if problem.notion == "lip" or problem.budget == math.inf:
        return problem.lower, problem.upper
    least = float(problem.observation.p_s[problem.observation.p_s > 0].min())
    e = math.exp(min(problem.budget, 700.0))
    return math.log(least + (1 - least) * e), math.log(e / (1 + least * (e - 1)))
