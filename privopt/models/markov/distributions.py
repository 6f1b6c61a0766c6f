"""Laws that follow from a transition matrix: stationary, marginal and reversed."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from privopt.arrays import Floats
from privopt.core.exact import IntegerRow, law
from privopt.errors import InvalidModel
from privopt.files.labels import Labels
from privopt.models.validation import frozen_floats

Rows: TypeAlias = tuple[IntegerRow, ...]


def stationary_law(rows: Rows, states: Labels) -> IntegerRow:
    """The stationary law, exactly; refused unless unique and positive everywhere.

    Examples
    --------
    >>> stationary_law((IntegerRow((3, 1), 4), IntegerRow((1, 1), 2)), (0, 1))
    IntegerRow(weights=(2, 1), total=3)
    """
    from flint import fmpz_mat

    _one_class(rows, states)
    k = len(rows)
    # Unknown u_i = pi_i / total_i keeps the system in integers: sum_i u_i w_ij = u_j total_j. The
    # equations add up to 0 = 0, so the last one can make room for the scale, sum_i u_i = 1.
    system = [[rows[i].weights[j] - (rows[i].total if i == j else 0) for i in range(k)] for j in range(k - 1)]
    solution = fmpz_mat([*system, [1] * k]).solve(fmpz_mat([[0]] * (k - 1) + [[1]]))
    parts = [solution[i, 0] for i in range(k)]
    return law(Fraction(int(part.p), int(part.q)) * row.total for part, row in zip(parts, rows, strict=True))


def _one_class(rows: Rows, states: Labels) -> None:
    """Refuse chains in which some state does not reach every other."""
    reach = _reachable(rows)
    mutual = reach & reach.T
    closed = (mutual | ~reach).all(axis=1)  # whatever is reached leads back
    first = int(np.flatnonzero(closed)[0])
    apart = np.flatnonzero(closed & ~mutual[first])
    if apart.size:
        raise InvalidModel(
            f"the stationary law is not unique (the chain is reducible: {states[first]!r} and "
            f"{states[int(apart[0])]!r} never reach each other): give initial="
        )
    transient = np.flatnonzero(~closed)
    if transient.size:
        raise InvalidModel(
            f"the stationary law gives probability 0 to the state {states[int(transient[0])]!r}, which is left "
            "for ever: give initial=, or drop the state (when fitting: or use smoothing > 0)"
        )


def _reachable(rows: Rows) -> NDArray[np.bool_]:
    """Which state leads to which, in any number of steps (also none)."""
    k = len(rows)
    reach = np.array([[weight > 0 for weight in row.weights] for row in rows]) | np.eye(k, dtype=np.bool_)
    for _ in range(k.bit_length()):
        steps = reach.astype(np.float64)
        reach = steps @ steps > 0
    return reach


def is_invariant(initial: IntegerRow, rows: Rows) -> bool:
    """Whether one step leaves the law as it is, exactly."""
    shares = [Fraction(weight, row.total) for weight, row in zip(initial.weights, rows, strict=True)]
    return all(
        sum((share * row.weights[j] for share, row in zip(shares, rows, strict=True)), Fraction(0)) == weight
        for j, weight in enumerate(initial.weights)
    )


def advance(initial: IntegerRow, rows: Rows, steps: int) -> IntegerRow:
    """The exact law after a number of equal steps; its integers grow with that number."""
    from flint import fmpz_mat

    scale = math.lcm(*(row.total for row in rows))
    matrix = fmpz_mat([[weight * (scale // row.total) for weight in row.weights] for row in rows])
    result = fmpz_mat([list(initial.weights)]) * matrix**steps
    return law(int(result[0, j]) for j in range(len(rows)))


def marginals(initial: Floats, transition: Floats, n: int) -> Floats:
    """Laws of the first n records, shape (n, k); each product doubles how many are known."""
    laws = np.empty((n, len(initial)))
    laws[:1] = initial
    known, power = 1, transition
    while known < n:
        take = min(known, n - known)
        new = laws[:take] @ power
        laws[known : known + take] = new / new.sum(axis=1, keepdims=True)
        known += take
        power = _square(power)
    laws.setflags(write=False)
    return laws


def far_marginal(initial: Floats, transition: Floats, t: int) -> Floats:
    """Law of record t in O(log t) products."""
    result, power = initial, transition
    while t:
        if t & 1:
            result = result @ power
            result = result / result.sum()
        power = _square(power)
        t >>= 1
    return frozen_floats(result)


def step_marginals(initial: Floats, transitions: Floats) -> Floats:
    """Laws of all records of a chain with one matrix per step, shape (m + 1, k)."""
    laws = np.empty((len(transitions) + 1, len(initial)))
    laws[0] = initial
    for t, transition in enumerate(transitions):
        laws[t + 1] = laws[t] @ transition
        laws[t + 1] /= laws[t + 1].sum()
    laws.setflags(write=False)
    return laws


def _square(power: Floats) -> Floats:
    """Two equal powers in one, with rows kept on 1: rounding would otherwise double each time."""
    product = power @ power
    scaled: Floats = product / product.sum(axis=1, keepdims=True)
    return scaled


def backward(before: Floats, transition: Floats) -> Floats:
    """Pr(previous = i | now = j) as [j, i]; a row of zeros where now = j is impossible."""
    joint = (before[:, None] * transition).T
    total = joint.sum(axis=1, keepdims=True)
    result: Floats = np.divide(joint, total, out=np.zeros_like(joint), where=total > 0)
    result.setflags(write=False)
    return result


def exact_backward(before: IntegerRow, rows: Rows) -> list[list[float]]:
    """The same from exact laws, each entry rounded once."""
    k = len(rows)
    shares = [Fraction(weight, row.total) for weight, row in zip(before.weights, rows, strict=True)]
    result = []
    for j in range(k):
        joint = [share * row.weights[j] for share, row in zip(shares, rows, strict=True)]
        result.append(law(joint).floats() if any(joint) else [0.0] * k)
    return result
