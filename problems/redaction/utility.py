"""The exact utility of a redaction mechanism: the share of records that it releases, enclosed."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from privopt.arrays import Floats, Ints
from privopt.core.exact import IntegerRow, ball_enclosure
from privopt.core.problem import Enclosure
from privopt.mechanisms.redaction import TOTAL, equal_rows
from privopt.models import MarkovChain
from privopt.problems.redaction.data import RedactionData
from privopt.problems.redaction.screen import Side, U

if TYPE_CHECKING:
    from flint import arb, arb_mat

Rows: TypeAlias = tuple[IntegerRow, ...]

UTILITY_BITS = 192
MANY = 20_000
"""Cells from which sums are taken in floats, with their roundings."""
BLOCK = 512
"""Records whose distributions come from one known distribution by powers of the step."""


def utility_enclosure(data: RedactionData, weights: Ints, sequential: int | None) -> Enclosure:
    """Floats below and above sum_t w_t Pr(t released) / sum_t w_t."""
    from flint import ctx

    with ctx.workprec(UTILITY_BITS):
        kept = _released(data, weights) if sequential is None else _sequential(data, weights, sequential)
        return ball_enclosure(kept)


def _released(data: RedactionData, redacted: Ints) -> arb:
    """Utility of a local mechanism."""
    from flint import arb

    chain = data.utility_chain
    if data.weights is None and chain.stationary:
        # Two halves of 26 bits: sums of up to 2**37 of them fit 64-bit integers.
        begins, counts = equal_rows(redacted)
        rows = TOTAL - redacted[begins]
        high, low = counts @ (rows >> 26), counts @ (rows & (2**26 - 1))
        sums = [(int(h) << 26) + int(part) for h, part in zip(high, low, strict=True)]
        initial = chain.exact_initial
        kept = sum((arb(w) * arb(s) for w, s in zip(initial.weights, sums, strict=True)), arb(0))
        return kept / (arb(initial.total) * arb(TOTAL) * arb(data.length))
    shown = TOTAL - redacted
    if chain.homogeneous and shown.size > MANY:
        return _released_of_many(data, shown / float(TOTAL))
    kept, weights = arb(0), [arb(w) for w in data.record_weights.tolist()]
    for weight, row, now in zip(weights, shown.tolist(), _distributions(data), strict=True):
        kept += weight * sum((now[v] * arb(row[v]) for v in np.flatnonzero(row)), arb(0))
    return kept / (sum(weights, arb(0)) * arb(TOTAL))


def _released_of_many(data: RedactionData, shown: Floats) -> arb:
    """The same of many records: products of floats, none of them negative, whose exact sum is rounded once."""
    chances = float_distributions(data)
    k = chances.shape[1]
    weights = data.record_weights
    with np.errstate(under="ignore"):
        released = math.fsum((weights * (chances * shown).sum(axis=1)).tolist())
    # Roundings: those of the distributions, a product, a sum over k, the weight, and the sum's; and what underflowed.
    lost = (2 * k + 16) * U * released + 2.0**-1000 * shown.size * float(weights.max(initial=1.0))
    return _around(released, lost) / _around(math.fsum(weights.tolist()), U * math.fsum(weights.tolist()))


def float_distributions(data: RedactionData) -> Floats:
    """The distribution of every record of a chain of equal steps, each entry within k + 8 roundings.

    Powers of the step up to a block's length, and the distribution at the start of each block, are rounded once from
    balls; a product of the two is all that is left to floats.
    """
    from flint import arb_mat, ctx

    chain, n, k = data.utility_chain, data.length, data.utility_chain.k
    if chain.stationary:
        return np.broadcast_to(np.array(chain.exact_initial.floats()), (n, k))
    with ctx.workprec(UTILITY_BITS):
        step, unit = _step(chain.exact_step(0)), [[int(i == j) for j in range(k)] for i in range(k)]
        powers = [arb_mat(unit)]
        for _ in range(min(BLOCK, n)):
            powers.append(powers[-1] * step)
        first = _row(chain.exact_initial)
        starts = [first]
        for _ in range(-(-n // BLOCK) - 1):
            starts.append(starts[-1] * powers[-1])
        inside = np.array([_floats(power) for power in powers[:BLOCK]])
        blocks = np.array([_floats(row)[0] for row in starts])
    table: Floats = np.einsum("bi,rij->brj", blocks, inside).reshape(-1, k)[:n]
    return table


def _floats(matrix: arb_mat) -> list[list[float]]:
    return [[float(matrix[i, j].mid()) for j in range(matrix.ncols())] for i in range(matrix.nrows())]


def _around(middle: float, radius: float) -> arb:
    """The ball of a number known to within a radius."""
    from flint import arb

    return arb(middle, radius * (1 + 2.0**-20))


def _row(distribution: IntegerRow) -> arb_mat:
    """A distribution as a row."""
    from flint import arb, arb_mat

    return arb_mat([[arb(w) / arb(distribution.total) for w in distribution.weights]])


def _step(rows: Rows) -> arb_mat:
    """A step, as balls."""
    from flint import arb, arb_mat

    return arb_mat([[arb(w) / arb(row.total) for w in row.weights] for row in rows])


def _sequential(data: RedactionData, redacted: Ints, p: int) -> arb:
    """Utility of a sequential mechanism: a record stays hidden while nothing nearer was released.

    Chances of release are summed, not one minus the chance of hiding: what is never released is exactly 0. On
    the right, Pr(something released up to t) grows by what each step of the transfer recursion lets out. On
    the left, with r[i] the chance that one of the records between t and the private one is released given
    X_t = i, it is sum_i Pr(X_t = i) (1 - h_t[i] + h_t[i] r[i]). Beyond the last record that adds anything the chance
    stays as it is.
    """
    from flint import arb

    weights = [arb(w) for w in data.record_weights.tolist()]
    tails = _tails(data)
    now = distribution(data.utility_chain, p)
    kept = weights[p] * _dot(now, _shown(redacted[p]))
    can, k = data.supports, data.utility_chain.k
    right, left = Side.of(redacted[p + 1 :], can[p + 1 :]), Side.of(redacted[:p][::-1], can[:p][::-1])
    same = (
        _step(data.utility_chain.exact_step(0))
        if data.utility_chain.homogeneous and data.length > 1
        else None
    )
    ahead, out, t = now, arb(0), p
    for t in range(p + 1, p + 1 + len(right.weights)):
        reached = ahead * (_step(data.utility_chain.exact_step(t - 1)) if same is None else same)
        out += _dot(reached, _shown(redacted[t]))
        ahead = _times(reached, redacted[t])
        kept += weights[t] * out
    kept += (out if right.open else arb(1)) * (tails[-1] - tails[p + 1 + len(right.weights)])
    back, chance = [arb(0)] * k, arb(0)
    for t in range(p - 1, p - 1 - len(left.weights), -1):
        step = _step(data.utility_chain.exact_step(t)) if same is None else same
        nearer = step * _column(back)
        show, row = _shown(redacted[t]), redacted[t].tolist()
        back = [show[i] + arb(row[i]) / arb(TOTAL) * nearer[i, 0] for i in range(k)]
        chance = _dot(distribution(data.utility_chain, t), back)
        kept += weights[t] * chance
    kept += (chance if left.open else arb(1)) * tails[p - len(left.weights)]
    return kept / tails[-1]


def _tails(data: RedactionData) -> list[arb]:
    """Weights of the records before each place, exactly up to the precision."""
    from flint import arb

    if data.weights is None:
        return [arb(t) for t in range(data.length + 1)]
    sums = [arb(0)]
    for weight in data.weights:
        sums.append(sums[-1] + arb(weight))
    return sums


def _shown(row: Ints) -> list[arb]:
    from flint import arb

    return [arb(TOTAL - w) / arb(TOTAL) for w in row.tolist()]


def _times(row: arb_mat, redacted: Ints) -> arb_mat:
    from flint import arb, arb_mat

    return arb_mat([[row[0, v] * arb(w) / arb(TOTAL) for v, w in enumerate(redacted.tolist())]])


def _column(values: list[arb]) -> arb_mat:
    from flint import arb_mat

    return arb_mat([[x] for x in values])


def _dot(row: arb_mat, values: list[arb]) -> arb:
    from flint import arb

    return sum((row[0, v] * x for v, x in enumerate(values)), arb(0))


def distribution(chain: MarkovChain, t: int) -> arb_mat:
    """The distribution of one record, as a row of balls."""
    now = _row(chain.exact_initial)
    if chain.stationary or t == 0:
        return now
    if chain.homogeneous:
        return now * _step(chain.exact_step(0)) ** t
    for place in range(t):
        now = now * _step(chain.exact_step(place))
    return now


def distributions_between(chain: MarkovChain, begin: int, end: int) -> Floats:
    """The distributions of records ``begin`` to ``end - 1``, each entry rounded once, shape (end - begin, k)."""
    from flint import ctx

    with ctx.workprec(UTILITY_BITS):
        now, rows = distribution(chain, begin), list[list[float]]()
        for t in range(begin, end):
            rows += _floats(now)
            if t + 1 < end:
                now = now if chain.stationary else now * _step(chain.exact_step(t))
    return np.array(rows)


def _distributions(data: RedactionData) -> Iterator[list[arb]]:
    """The distribution of every record, as balls."""
    now, k = _row(data.utility_chain.exact_initial), data.utility_chain.k
    for t in range(data.length):
        yield [now[0, v] for v in range(k)]
        if t + 1 < data.length and not data.utility_chain.stationary:
            now = now * _step(data.utility_chain.exact_step(t))
