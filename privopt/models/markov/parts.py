"""What a Markov chain is made of: its numbers as written, and the distributions that follow from them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from privopt.arrays import Floats
from privopt.core.exact import IntegerRow, integer_row
from privopt.errors import InvalidModel
from privopt.files.labels import Label, Labels, decode_labels, encode_labels
from privopt.models.codec import VERSION, decode_numbers, document, encode_numbers
from privopt.models.markov.stream import StreamColumns
from privopt.models.validation import (
    Objects,
    distinct_labels,
    exact_distribution,
    exact_distributions,
    frozen_floats,
    label_tuple,
    number_array,
)

Rows: TypeAlias = tuple[IntegerRow, ...]

REMEDY = "MarkovChain.normalised"

_FIELDS: dict[str, object] = {
    "transition": ...,
    "initial": None,
    "states": None,
    "order": 1,
    "letters": None,
    "normalised": False,
    "counts": None,
    "periodic": False,
    "columns": None,
}

PERIODIC_VERSION = 2
"""Of the documents of chains whose matrices repeat."""


@dataclass(frozen=True, eq=False)
class Distributions:
    """The exact distributions of a chain, of rows by matrix and of the first record, and the same as read-only floats."""

    rows: tuple[Rows, ...]
    initial: IntegerRow
    transition_floats: Floats
    initial_floats: Floats
    homogeneous: bool


@dataclass(frozen=True, eq=False)
class ChainParts:
    """The numbers and labels as written; everything else about a chain follows from them."""

    transition: Objects
    initial: Objects | None
    states: Labels
    letters: Labels
    order: int
    counts: tuple[tuple[int, ...], ...] | None
    normalised: bool
    periodic: bool = False
    columns: StreamColumns | None = None

    @property
    def homogeneous(self) -> bool:
        """Whether one matrix serves every step."""
        return self.transition.ndim == 2

    def exact(self) -> Distributions:
        """The exact distributions: of the rows of each matrix, and of the first record, as written or stationary."""
        remedy = None if self.normalised else REMEDY
        if self.homogeneous:
            rows: tuple[Rows, ...] = (self._rows_of(self.transition, "of transition", remedy),)
        else:
            rows = tuple(
                self._rows_of(m, f"of transition[{t}]", remedy) for t, m in enumerate(self.transition)
            )
        if self.initial is not None:
            initial = exact_distribution(self.initial.tolist(), "initial", remedy)
        elif self.homogeneous:
            initial = stationary_distribution(rows[0], self.states)
        elif self.periodic:
            initial = stationary_distribution(product_of(rows), self.states)
        else:
            raise InvalidModel(
                "a chain with one matrix per step has no stationary distribution: give initial="
            )
        floats = [[[w / row.total for w in row.weights] for row in matrix] for matrix in rows]
        return Distributions(
            rows,
            initial,
            frozen_floats(floats[0] if self.homogeneous else floats),
            frozen_floats([w / initial.total for w in initial.weights]),
            self.homogeneous,
        )

    def _rows_of(self, matrix: Objects, what: str, remedy: str | None) -> Rows:
        names = [f"row {i} (state {state!r}) {what}" for i, state in enumerate(self.states)]
        return exact_distributions(matrix.tolist(), names, remedy)


def chain_parts(
    transition: object,
    initial: object,
    states: Iterable[Label] | None,
    normalised: bool,
    periodic: bool = False,
) -> ChainParts:
    """Check shapes, numbers and labels of a chain of order 1."""
    numbers = number_array(transition, "transition")
    if numbers.ndim not in (2, 3) or numbers.shape[-1] != numbers.shape[-2]:
        raise InvalidModel(
            f"transition has shape {numbers.shape}: give a square matrix (k, k), or a list of them"
        )
    if periodic and numbers.ndim != 3:
        raise InvalidModel("a periodic chain needs a list of matrices, one for each step of a period")
    k = numbers.shape[-1]
    first = None if initial is None else number_array(initial, "initial")
    if first is not None and first.shape != (k,):
        raise InvalidModel(
            f"initial has shape {first.shape}: give one probability for each of the {k} states"
        )
    labels = label_tuple(states, k, "states")
    return ChainParts(numbers, first, labels, labels, 1, None, normalised, periodic)


def encode_chain(parts: ChainParts) -> dict[str, object]:
    """Every part, numbers unrounded."""
    states = encode_labels(parts.states)
    new: dict[str, object] = {"periodic": True} if parts.periodic else {}
    if parts.columns is not None:
        new["columns"] = parts.columns.to_dict()
    return {
        "type": "markov_chain",
        "version": PERIODIC_VERSION if parts.periodic else VERSION,
        "transition": encode_numbers(parts.transition.tolist()),
        "initial": None if parts.initial is None else encode_numbers(parts.initial.tolist()),
        "states": states,
        "order": parts.order,
        "letters": list(states) if parts.letters is parts.states else encode_labels(parts.letters),
        "normalised": parts.normalised,
        "counts": None if parts.counts is None else [list(row) for row in parts.counts],
        **new,  # left out otherwise, so that fingerprints of older files hold
    }


def decode_chain(d: Mapping[str, object]) -> ChainParts:
    """Parts from a document, checked like those of a constructor."""
    fields = document(d, "markov_chain", _FIELDS, PERIODIC_VERSION)
    initial = fields["initial"]
    parts = chain_parts(
        decode_numbers(fields["transition"], "transition", 3),
        None if initial is None else decode_numbers(initial, "initial", 1),
        None if fields["states"] is None else decode_labels(fields["states"], "states"),
        fields["normalised"] is True,
        fields["periodic"] is True,
    )
    letters = parts.states
    if fields["letters"] is not None:
        letters = distinct_labels(decode_labels(fields["letters"], "letters"), "letters")
    order = fields["order"]
    if isinstance(order, bool) or not isinstance(order, int) or order < 1:
        raise InvalidModel(f"order is {order!r}: expected an integer of at least 1")
    _check_words(parts, letters, order)
    return replace(
        parts,
        letters=letters,
        order=order,
        counts=_decode_counts(fields["counts"], len(parts.states)),
        columns=None if fields["columns"] is None else StreamColumns.from_dict(fields["columns"]),
    )


def _check_words(parts: ChainParts, letters: Labels, order: int) -> None:
    """States of a higher order are words of letters, and each step moves on by one letter."""
    if order == 1:
        if letters != parts.states:
            raise InvalidModel("letters differ from states in a chain of order 1: make them equal")
        return
    words = [state for state in parts.states if isinstance(state, tuple)]
    if not parts.homogeneous or len(words) < len(parts.states):
        raise InvalidModel(
            f"a chain of order {order} needs one matrix, and words of {order} letters as states"
        )
    for i, word in enumerate(words):
        if len(word) != order or not set(letters).issuperset(word):
            raise InvalidModel(f"states[{i}] is {word!r}, not a word of {order} of the letters")
        for j, after in enumerate(words):
            if parts.transition[i, j] and word[1:] != after[:-1]:
                raise InvalidModel(
                    f"transition[{i}, {j}] leads from {word!r} to {after!r}, which do not overlap"
                )


def _decode_counts(value: object, k: int) -> tuple[tuple[int, ...], ...] | None:
    """Counts of transitions, if there are any."""
    if value is None:
        return None
    rows = tuple(tuple(row) for row in value if isinstance(row, list)) if isinstance(value, list) else ()
    if len(rows) != k or any(len(row) != k or any(type(n) is not int or n < 0 for n in row) for row in rows):
        raise InvalidModel(f"counts are not {k} lists of {k} non-negative integers")
    return rows


def stationary_distribution(rows: Rows, states: Labels) -> IntegerRow:
    """The stationary distribution, exactly; refused unless unique and positive everywhere.

    Examples
    --------
    >>> stationary_distribution((IntegerRow((3, 1), 4), IntegerRow((1, 1), 2)), (0, 1))
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
    return integer_row(
        [Fraction(int(part.p), int(part.q)) * row.total for part, row in zip(parts, rows, strict=True)]
    )


def product_of(steps: tuple[Rows, ...]) -> Rows:
    """The exact transition over several steps.

    Examples
    --------
    >>> swap = (IntegerRow((0, 1), 1), IntegerRow((1, 0), 1))
    >>> product_of((swap, swap))
    (IntegerRow(weights=(1, 0), total=1), IntegerRow(weights=(0, 1), total=1))
    """
    from flint import fmpz_mat

    result = fmpz_mat([[int(i == j) for j in range(len(steps[0]))] for i in range(len(steps[0]))])
    for rows in steps:
        scale = math.lcm(*(row.total for row in rows))
        result = result * fmpz_mat([[w * (scale // row.total) for w in row.weights] for row in rows])
    return tuple(integer_row([int(w) for w in row]) for row in result.tolist())


def _one_class(rows: Rows, states: Labels) -> None:
    """Refuse chains in which some state does not reach every other."""
    reach = _reachable(rows)
    mutual = reach & reach.T
    closed = (mutual | ~reach).all(axis=1)  # whatever is reached leads back
    first = int(np.flatnonzero(closed)[0])
    apart = np.flatnonzero(closed & ~mutual[first])
    if apart.size:
        raise InvalidModel(
            f"the stationary distribution is not unique (the chain is reducible: {states[first]!r} and "
            f"{states[int(apart[0])]!r} never reach each other): give initial="
        )
    transient = np.flatnonzero(~closed)
    if transient.size:
        raise InvalidModel(
            f"the stationary distribution gives probability 0 to the state {states[int(transient[0])]!r}, which is left "
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
    """Whether one step leaves the distribution as it is, exactly."""
    shares = [Fraction(weight, row.total) for weight, row in zip(initial.weights, rows, strict=True)]
    return all(
        sum((share * row.weights[j] for share, row in zip(shares, rows, strict=True)), Fraction(0)) == weight
        for j, weight in enumerate(initial.weights)
    )


def advance(initial: IntegerRow, rows: Rows, steps: int) -> IntegerRow:
    """The exact distribution after a number of equal steps; its integers grow with that number."""
    from flint import fmpz_mat

    scale = math.lcm(*(row.total for row in rows))
    matrix = fmpz_mat([[weight * (scale // row.total) for weight in row.weights] for row in rows])
    result = fmpz_mat([list(initial.weights)]) * matrix**steps
    return integer_row([int(result[0, j]) for j in range(len(rows))])


def marginals(initial: Floats, transition: Floats, n: int) -> Floats:
    """Distributions of the first n records, shape (n, k), for one matrix or one a step.

    Each product of powers of one matrix doubles how many are known; a list of matrices begins again at its end.
    """
    rows = np.empty((n, len(initial)))
    rows[:1] = initial
    if transition.ndim == 3:
        for t in range(n - 1):
            after = rows[t] @ transition[t % len(transition)]
            rows[t + 1] = after / after.sum()
    known, power = 1, transition
    while known < n and transition.ndim == 2:
        take = min(known, n - known)
        new = rows[:take] @ power
        rows[known : known + take] = new / new.sum(axis=1, keepdims=True)
        known += take
        power = _square(power)
    rows.setflags(write=False)
    return rows


def far_marginal(initial: Floats, transition: Floats, t: int) -> Floats:
    """Distribution of record t in O(log t) products."""
    result, power = initial, transition
    while t:
        if t & 1:
            result = result @ power
            result = result / result.sum()
        power = _square(power)
        t >>= 1
    return frozen_floats(result)


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


def exact_backward(before: IntegerRow, rows: Rows) -> Floats:
    """The same from exact distributions, each entry rounded once."""
    scale = math.lcm(*(row.total for row in rows))
    shares = [weight * (scale // row.total) for weight, row in zip(before.weights, rows, strict=True)]
    joint = [[share * weight for weight in row.weights] for share, row in zip(shares, rows, strict=True)]
    columns = [(column, sum(column)) for column in zip(*joint, strict=True)]
    return frozen_floats([[x / total if total else 0.0 for x in column] for column, total in columns])
