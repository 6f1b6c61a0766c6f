"""What the unknown records on one side of a target add to a sum: exact generating polynomials, by a forward recursion.

Given the target, the two sides of a Markov chain are independent, and given the nearest known record of a side so are the
records beyond it. If those are unknown too, they add something independent to the sum, which cannot raise the leakage. So
an adversary knows nothing of a side or the nearest record of some distance, with a value, and all beyond it. The
polynomial of a side for a value x of the target is

    sum over what the unknown records u_1 ... u_d may be of Pr(them and what is known | x) q^(g(u_1) + ... + g(u_d)),

up to a factor, and one more record multiplies by the matrix of entries P(x, u) q^g(u). On the left the same holds with the
step transposed, and the distribution of the first record where nothing is known.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import count, islice
from typing import TYPE_CHECKING

from privopt.models import MarkovChain

if TYPE_CHECKING:
    from flint import fmpz_poly


@dataclass(frozen=True)
class Side:
    """What an adversary knows of one side of a target.

    Parameters
    ----------
    records : int
        Records of the side, up to the nearest known one; all where none is known.
    known : bool
    polynomials : tuple of fmpz_poly, one a value of the target
        In the powers of q, up to a common factor; 0 where the target cannot have that value.
    """

    records: int
    known: bool
    polynomials: tuple[fmpz_poly, ...]


Steps = Sequence[Sequence[int]]


def arrangements(chain: MarkovChain, values: Sequence[int], length: int) -> Iterator[tuple[Side, list[Side]]]:
    """Each side on the left of some target, with the sides on the right that go with it.

    Where one step serves all records and every value is possible at all times, targets with the same surroundings are
    listed once.
    """
    weights = [integer_step(chain, t) for t in range(length - 1)]
    initial = list(chain.exact_initial.weights)
    everywhere = all(initial) and all(map(any, zip(*(weights or [[initial]])[0], strict=True)))
    if chain.homogeneous and everywhere and length > 1:
        yield from _everywhere(weights[0], initial, values, length)
        return
    left = _lefts(weights, initial, values)
    right = _rights(weights, [1] * chain.k, values, [[1] * chain.k] * length)
    for i in range(length):
        for side in left[i]:
            yield side, right[i]


def count_arrangements(chain: MarkovChain, length: int) -> int:
    """At most how many pairs of sides there are.

    Examples
    --------
    >>> chain = MarkovChain([[0.5, 0.5], [0.25, 0.75]])
    >>> count_arrangements(chain, 6) >= sum(len(rights) for _, rights in arrangements(chain, (0, 1), 6))
    True
    """
    k, n = chain.k, length
    if chain.homogeneous and all(chain.exact_initial.weights):
        return (k * k + 2 * k) * n * n // 2 + n
    return sum((k * i + 1) * (k * (n - 1 - i) + 1) for i in range(min(n, 10**4))) * (1 + n // 10**4) ** 3


def integer_step(chain: MarkovChain, t: int) -> list[list[int]]:
    """The step from record t, times a common factor."""
    rows = chain.exact_step(t)
    common = math.lcm(*(row.total for row in rows))
    return [[w * (common // row.total) for w in row.weights] for row in rows]


def _everywhere(
    step: Steps, initial: list[int], values: Sequence[int], length: int
) -> Iterator[tuple[Side, list[Side]]]:
    """Pairs of sides of a chain of one step, each once."""
    steps = [step] * (length - 1)
    ones, n = [1] * len(initial), length
    rights = _grown(step, ones, values, n)
    back = [list(column) for column in zip(*step, strict=True)]
    for side in _grown(back, initial, values, n):
        fits = (other for other in rights if side.records + other.records <= n - 1)
        yield side, [o for o in fits if side.known or o.known or side.records + o.records == len(steps)]


def _grown(step: Steps, ends: list[int], values: Sequence[int], length: int) -> list[Side]:
    """Sides of every size, by the step towards the target."""
    starts = [(False, ends)] + [(True, [row[z] for row in step]) for z in range(len(step))]
    listed = [islice(grown(step, weights, known, values), length - known) for known, weights in starts]
    return [side for sides in listed for side in sides if any(side.polynomials)]


def grown(step: Steps, weights: Sequence[int], known: bool, values: Sequence[int]) -> Iterator[Side]:
    """Sides of one unknown record more each, by the step towards the target, from none.

    Parameters
    ----------
    step : k rows of k integers
        Entry (x, u) goes with value x of a record and u of the next one away from the target.
    weights : k integers
        For each value of the last unknown record, or of the target where there is none.
    known : bool
        Whether they come from a known record beyond.
    values : k integers
        What each value of a record adds.

    Examples
    --------
    >>> sides = grown([[1, 1], [1, 3]], [1, 1], False, (0, 1))
    >>> [str(p) for p in (next(sides), next(sides))[1].polynomials]
    ['x + 1', '3*x + 1']
    """
    polynomials = _constants(weights)
    for records in count():
        yield Side(records + known, known, polynomials)
        polynomials = _advanced(step, polynomials, values)


def _rights(
    weights: Sequence[Steps], ends: list[int], values: Sequence[int], possible: Sequence[Sequence[int]]
) -> list[list[Side]]:
    """The sides on the right of each target, with known records that have a possible value."""
    n = len(weights) + 1
    sides: list[list[Side]] = [[] for _ in range(n)]

    def follow(known: bool, end: int, start: list[int]) -> None:
        polynomials = _constants(start)
        for i in range(end - known, -1, -1):
            if any(polynomials):
                sides[i].append(Side(end - i, known, polynomials))
            if i:
                polynomials = _advanced(weights[i - 1], polynomials, values)

    follow(False, n - 1, ends)
    for j in range(1, n):
        for z in range(len(ends)):
            if possible[j][z]:
                follow(True, j, [row[z] for row in weights[j - 1]])
    return sides


def _lefts(weights: Sequence[Steps], initial: list[int], values: Sequence[int]) -> list[list[Side]]:
    """The sides on the left of each target: those on the right of a chain that runs backward."""
    possible = [initial]
    for step in weights:
        last = possible[-1]
        possible.append(
            [int(any(w and row[u] for w, row in zip(last, step, strict=True))) for u in range(len(initial))]
        )
    backward = [[list(column) for column in zip(*step, strict=True)] for step in reversed(weights)]
    return _rights(backward, initial, values, possible[::-1])[::-1]


def _advanced(
    step: Steps, polynomials: tuple[fmpz_poly, ...], values: Sequence[int]
) -> tuple[fmpz_poly, ...]:
    """One more unknown record."""
    from flint import fmpz_poly

    moved = [p * fmpz_poly([0] * value + [1]) for p, value in zip(polynomials, values, strict=True)]
    return tuple(sum((p * w for p, w in zip(moved, row, strict=True) if w), fmpz_poly([])) for row in step)


def _constants(weights: Sequence[int]) -> tuple[fmpz_poly, ...]:
    from flint import fmpz_poly

    return tuple(fmpz_poly([w]) if w else fmpz_poly([]) for w in weights)
