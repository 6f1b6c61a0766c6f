"""Words of independent letters: pairs of words counted by type, the program over types, and uniform letters.

A permutation of the positions of a word changes neither its probability nor a distortion that is a mean over
positions. So an optimal kernel may be taken to depend on the joint type of the two words only, how often each letter of
one faces each letter of the other: C(w + 3, 3) numbers for two letters instead of 4^w.

Write L = e^-epsilon, theta = 1 / (e^epsilon + 1). A kernel keeps the bounds exactly when it is
(1 - L) K(y | x) + L Q(y) with K of output distribution Q and K(y | x) <= Q(y) / theta. On types: k(a) is the chance under K
that an input of the type of a makes the joint type a; then k(a) <= share(a) Q(type) / theta.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from privopt.arrays import Floats, Ints
from privopt.core.highs import FINEST, Rows, minimise
from privopt.mechanisms.policy.fixed import Levels
from privopt.mechanisms.policy.formulas.program import cheapest_row

MOST = 20.0
"""1 / theta is a coefficient of the program."""
FAINT = 1e-13
"""Types of input of less probability are left out of the program, and then go wherever is cheapest for them."""


@dataclass(frozen=True, eq=False)
class JointTypes:
    """Joint types of an input word and an output word of w letters.

    Parameters
    ----------
    inputs, outputs : int array (types, letters)
        How often each letter occurs in an input, in an output.
    tables : int array (joint types, letters, output letters)
        How often each pair of letters occurs.
    source, target : int array (joint types,)
        Rows of ``inputs`` and ``outputs``.
    share : array (joint types,)
        For an input word of its type and an output drawn evenly from those of its type: the chance of this joint type.
    """

    inputs: Ints
    outputs: Ints
    tables: Ints
    source: Ints
    target: Ints
    share: Floats

    @property
    def length(self) -> int:
        """Letters in a word."""
        return int(self.inputs[0].sum())

    def distribution(self, letters: Floats) -> Floats:
        """Probability of each type of input for letters of positive probability; shape (input types,)."""
        logs = _log_multinomial(self.inputs) + self.inputs @ np.log(letters)
        return np.asarray(np.exp(logs))

    def cost(self, letter_cost: Floats) -> Floats:
        """Mean distortion of the letters, shape (joint types,)."""
        return np.asarray((self.tables * letter_cost).sum(axis=(1, 2)) / self.length)


def count_joint_types(letters: int, outputs: int, length: int) -> int:
    """How many joint types there are.

    Examples
    --------
    >>> count_joint_types(2, 2, 30)
    5456
    """
    cells = letters * outputs
    return math.comb(length + cells - 1, cells - 1)


def joint_types(letters: int, outputs: int, length: int) -> JointTypes:
    """List the joint types.

    Examples
    --------
    >>> answer = joint_types(2, 2, 2)
    >>> len(answer.tables), answer.inputs.tolist()
    (10, [[0, 2], [1, 1], [2, 0]])
    >>> np.bincount(answer.source, weights=answer.share).round(12).tolist()  # one for each of the 3 output types
    [3.0, 3.0, 3.0]
    """
    tables = compositions(length, letters * outputs).reshape(-1, letters, outputs)
    inputs, source = _distinct(tables.sum(axis=2))
    kinds, target = _distinct(tables.sum(axis=1))
    ways = sum(_log_multinomial(tables[:, a]) for a in range(letters))
    share = np.exp(ways - _log_multinomial(kinds)[target])
    return JointTypes(inputs, kinds, tables, source, target, np.asarray(share))


def compositions(total: int, parts: int) -> Ints:
    """All ways to write ``total`` as an ordered sum of ``parts`` numbers >= 0; shape (ways, parts).

    Examples
    --------
    >>> compositions(2, 2).tolist()
    [[0, 2], [1, 1], [2, 0]]
    """
    rows, left = np.zeros((1, 0), dtype=np.int64), np.array([total])
    for _ in range(parts - 1):
        counts = left + 1
        begins = np.cumsum(counts) - counts
        here = np.arange(counts.sum()) - np.repeat(begins, counts)
        rows = np.column_stack([np.repeat(rows, counts, axis=0), here])
        left = np.repeat(left, counts) - here
    return np.column_stack([rows, left])


def _distinct(rows: Ints) -> tuple[Ints, Ints]:
    kinds, where = np.unique(rows, axis=0, return_inverse=True)
    return kinds, np.asarray(where, dtype=np.int64).ravel()


def _log_multinomial(counts: Ints) -> Floats:
    """Ln of (sum of a row)! / product of the factorials; exact integers below 2^53."""
    top = int(counts.sum(axis=1).max(initial=0))
    logs = np.array([math.lgamma(k + 1) for k in range(top + 1)])
    return np.asarray(logs[counts.sum(axis=1)] - logs[counts].sum(axis=1))


@dataclass(frozen=True, eq=False)
class OrbitAnswer:
    """A private kernel on types and what proves how good it is.

    Parameters
    ----------
    kernel : array (joint types,)
        Chance that an input word of its type is released as an output that makes this joint type.
    marginal : array (output types,)
        Of the releases.
    value, bound : float
        Expected distortion a letter, and a number that none goes below.
    lam : array (input types,)
        Prices in the unit of the distortion.
    """

    kernel: Floats
    marginal: Floats
    value: float
    bound: float
    lam: Floats
    iterations: int


def solve_orbits(types: JointTypes, mass: Floats, cost: Floats, epsilon: float) -> OrbitAnswer | None:
    """The best kernel for types of input of probabilities ``mass`` and joint types that cost ``cost``; None if it fails.

    Budgets above ``MOST`` nats are solved at ``MOST``; the bound is that of the budget itself.
    """
    levels = Levels.of(min(epsilon, MOST))
    means = _sum(types.target, mass[types.source] * types.share * cost)
    heavy = mass >= FAINT
    solved = _program(types, mass, cost, means, heavy, levels)
    if solved is None:
        return None
    kept, tops, prices, iterations = solved
    step, lam = np.zeros(len(cost)), np.zeros(len(mass))
    step[heavy[types.source]], lam[heavy] = kept, prices
    room = types.share * tops[types.target]
    for i in np.flatnonzero(~heavy):
        atoms = np.flatnonzero(types.source == i)
        step[atoms], lam[i] = cheapest_row(cost[atoms], room[atoms])
    kernel, marginal = _private(types, mass, np.minimum(step, room), levels)
    value = float(mass[types.source] @ (kernel * cost))
    bound = orbit_bound(types, mass, cost, means, lam, Levels.of(epsilon))
    return OrbitAnswer(kernel, marginal, value, bound, lam, iterations)


def _program(
    types: JointTypes, mass: Floats, cost: Floats, means: Floats, heavy: Any, levels: Levels
) -> tuple[Floats, Floats, Floats, int] | None:
    """K on the heavy types, Q / theta and prices of the rows."""
    at = np.flatnonzero(heavy[types.source])
    kinds, count, outs = int(heavy.sum()), len(at), len(means)
    row, column, p = (np.cumsum(heavy) - 1)[types.source[at]], types.target[at], mass[types.source[at]]
    own, tops = np.arange(count), count + np.arange(outs)
    below = Rows.cells(
        np.concatenate([own, own]),
        np.concatenate([own, count + column]),
        np.concatenate([np.ones(count), -types.share[at]]),
        np.zeros(count),
    )
    equal = Rows.cells(
        np.concatenate([row, kinds + column, kinds + np.arange(outs)]),
        np.concatenate([own, own, tops]),
        np.concatenate([np.ones(count), p / levels.theta, -np.ones(outs)]),
        np.concatenate([np.ones(kinds), np.zeros(outs)]),
    )
    objective = np.concatenate([levels.room * p * cost[at], levels.theta * levels.low * means])
    solved = minimise(objective, below, equal, tolerance=FINEST)
    if solved is None:
        return None
    point = np.maximum(solved.point, 0.0)
    return (
        point[:count],
        point[count:],
        solved.prices[:kinds] / (levels.room * mass[heavy]),
        solved.iterations,
    )


def _sum(where: Any, what: Floats) -> Floats:
    """Sums of ``what`` by place."""
    return np.asarray(np.bincount(where, weights=what), dtype=np.float64)


def _private(types: JointTypes, mass: Floats, step: Floats, levels: Levels) -> tuple[Floats, Floats]:
    """The kernel that K makes; what rounding left over of a row, and of its ratios, is drawn from the output distribution."""

    def marginal_of(rows: Floats) -> Floats:
        return _sum(types.target, mass[types.source] * rows)

    def blind(marginal: Floats) -> Floats:
        return np.asarray(types.share * marginal[types.target])

    marginal = marginal_of(step)
    marginal /= marginal.sum()
    lost = 1.0 - _sum(types.source, step)
    step = step + lost.clip(0.0)[types.source] * blind(marginal)
    step /= _sum(types.source, step)[types.source]
    marginal = marginal_of(step)
    kernel = levels.room * step + levels.low * blind(marginal)
    free = blind(marginal)
    ratio = np.divide(kernel, free, out=np.ones_like(kernel), where=free > 0)
    high = (ratio[mass[types.source] > 0] * levels.low).max()
    if high > 1:  # a ratio t becomes 1 + s (t - 1)
        s = (1 / levels.low - 1) / (high / levels.low - 1)
        kernel = s * kernel + (1 - s) * free
    return kernel, marginal


def orbit_bound(
    types: JointTypes, mass: Floats, cost: Floats, means: Floats, lam: Floats, levels: Levels
) -> float:
    """The lower bound that prices prove by arithmetic: for each output type the cheapest mass theta of inputs.

    The allowance for rounding is (n + 16) 2^-51 times the size of prices and distortions, as for single letters. The
    masses of types are exponentials of sums of logarithms of factorials: off by a relative 2^-49 ln w! each, which moves
    either term by at most twice that share of the size.
    """
    nu = levels.room * (lam - lam[np.argmax(mass)])
    priced = levels.room * cost - nu[types.source]
    atoms = mass[types.source] * types.share
    order = np.lexsort((priced, types.target))
    values, sizes, column = priced[order], atoms[order], types.target[order]
    least = np.inf
    for j, (begin, end) in enumerate(_runs(column)):
        filled = np.minimum(np.cumsum(sizes[begin:end]), levels.theta)
        filled[-1] = levels.theta  # what rounding of the masses leaves open goes to the dearest
        group = np.diff(filled, prepend=0.0) @ values[begin:end] / levels.theta
        least = min(least, levels.low * means[j] + group)
    size = max(float(np.abs(cost).max()), float(np.abs(nu).max()))
    slack = size * ((len(atoms) + 16) * 2.0**-51 + 2.0**-46 * (1 + math.lgamma(types.length + 1)))
    return float(mass @ nu / mass.sum() + least - slack)


def _runs(column: Any) -> list[tuple[int, int]]:
    ends = [*np.flatnonzero(np.diff(column)) + 1, len(column)]
    return list(zip([0, *ends[:-1]], ends, strict=True))


def taken_shares(letters: int, length: int, epsilon: float) -> Floats:
    """Which share of a group lies at each distance 0, 1, ... from its release, nearest words first; sums to 1.

    A group holds theta = 1 / (e^epsilon + 1) of the mass. Numbers of words are exact integers, their ratios to theta
    are taken by logarithms, so that neither underflows.

    Examples
    --------
    >>> taken_shares(2, 5, 2.5).round(4).tolist()
    [0.412, 0.588]
    """
    whole = length * math.log(letters) - epsilon - math.log1p(math.exp(-epsilon))
    words, around, shares, filled = 1, 0, [], 0.0
    for distance in range(length + 1):
        around += words
        upto = math.exp(min(math.log(around) - whole, 0.0))
        shares.append(upto - filled)
        filled = upto
        if filled >= 1.0:
            break
        words = words * (length - distance) * (letters - 1) // (distance + 1)
    shares[-1] += 1.0 - filled
    return np.array(shares)


def uniform_value(letters: int, length: int, epsilon: float) -> float:
    """The least expected share of wrong letters.

    Every word is a release of the same probability, and its group is the nearest mass theta of words: no kernel may
    put more than that near to it.

    Examples
    --------
    >>> round(uniform_value(2, 5, 2.5), 15), uniform_value(2, 3, 0.0)
    (0.148997943574172, 0.5)
    """
    if letters == 1:
        return 0.0
    levels = Levels.of(epsilon)
    blind = (letters - 1) / letters
    if epsilon == 0:
        return blind
    shares = taken_shares(letters, length, epsilon)
    return levels.low * blind + levels.room * float(shares @ np.arange(len(shares))) / length
