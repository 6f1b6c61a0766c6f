"""A proved enclosure of the utility of the integer mechanism."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from privopt.core.exact import ball_ceiling, ball_floor
from privopt.mechanisms import RedactionMechanism
from privopt.mechanisms.redaction import TOTAL

if TYPE_CHECKING:
    from flint import arb

    from privopt.problems.redaction.problem import Redaction

BITS = 192


def utility_enclosure(problem: Redaction, mechanism: RedactionMechanism) -> tuple[float, float]:
    """Floats below and above sum_t w_t Pr(t released) / sum_t w_t."""
    from flint import ctx

    saved = ctx.prec
    try:
        ctx.prec = BITS
        value = _released(problem, mechanism)
        return ball_floor(value), ball_ceiling(value)
    finally:
        ctx.prec = saved


def _released(problem: Redaction, mechanism: RedactionMechanism) -> arb:
    from flint import arb

    if mechanism.sequential is not None:
        return _sequential(problem, mechanism)
    shown = TOTAL - mechanism.exact()
    chain = problem.chain
    if problem.weights is None and chain.stationary:
        # Two halves of 26 bits: sums of up to 2**37 of them fit 64-bit integers.
        high, low = (shown >> 26).sum(axis=0), (shown & (2**26 - 1)).sum(axis=0)
        sums = [(int(h) << 26) + int(part) for h, part in zip(high, low, strict=True)]
        initial = chain.exact_initial
        kept = sum((arb(w) * arb(s) for w, s in zip(initial.weights, sums, strict=True)), arb(0))
        return kept / (arb(initial.total) * arb(TOTAL) * arb(problem.length))
    law = [arb(w) / arb(chain.exact_initial.total) for w in chain.exact_initial.weights]
    kept, whole = arb(0), arb(0)
    weights = problem.record_weights.tolist()
    for t, row in enumerate(shown.tolist()):
        kept += arb(weights[t]) * sum((law[v] * arb(row[v]) for v in np.flatnonzero(row)), arb(0))
        whole += arb(weights[t])
        if t + 1 < problem.length and not chain.stationary:
            law = _next(law, problem, t)
    return kept / (whole * arb(TOTAL))


def _next(law: list[arb], problem: Redaction, t: int) -> list[arb]:
    from flint import arb

    rows = problem.chain.exact_step(t)
    moved = [
        [law[i] * arb(row.weights[j]) / arb(row.total) for i, row in enumerate(rows)] for j in range(len(law))
    ]
    return [sum(column, arb(0)) for column in moved]


def _sequential(problem: Redaction, mechanism: RedactionMechanism) -> arb:
    """Utility of a sequential mechanism: a record stays hidden while nothing nearer was released.

    Chances of release are summed, not one minus the chance of hiding: what is never released is exactly 0. On
    the right, Pr(something released up to t) grows by what each step of the transfer recursion lets out. On
    the left, with r[i] the chance that one of the records between t and the private one is released given
    X_t = i, it is sum_i Pr(X_t = i) (1 - h_t[i] + h_t[i] r[i]).
    """
    from flint import arb

    p, n, k = mechanism.sequential, problem.length, problem.chain.k
    assert p is not None
    hidden = mechanism.exact().tolist()
    hide = [[arb(w) / arb(TOTAL) for w in row] for row in hidden]
    show = [[arb(TOTAL - w) / arb(TOTAL) for w in row] for row in hidden]
    distributions = _distributions(problem)
    weights = [arb(w) for w in problem.record_weights.tolist()]
    kept = weights[p] * _dot(distributions[p], show[p])
    ahead, out = distributions[p], arb(0)
    for t in range(p + 1, n):
        reached = _next(ahead, problem, t - 1)
        out += _dot(reached, show[t])
        ahead = [x * h for x, h in zip(reached, hide[t], strict=True)]
        kept += weights[t] * out
    back = [arb(0)] * k
    for t in range(p - 1, -1, -1):
        nearer = [
            _dot([arb(w) for w in row.weights], back) / arb(row.total) for row in problem.chain.exact_step(t)
        ]
        back = [s + h * r for s, h, r in zip(show[t], hide[t], nearer, strict=True)]
        kept += weights[t] * _dot(distributions[t], back)
    return kept / sum(weights, arb(0))


def _dot(left: list[arb], right: list[arb]) -> arb:
    from flint import arb

    return sum((x * y for x, y in zip(left, right, strict=True)), arb(0))


def _distributions(problem: Redaction) -> list[list[arb]]:
    """The distribution of every record, as balls."""
    from flint import arb

    initial = problem.chain.exact_initial
    distributions = [[arb(w) / arb(initial.total) for w in initial.weights]]
    for t in range(problem.length - 1):
        distributions.append(
            distributions[-1] if problem.chain.stationary else _next(distributions[-1], problem, t)
        )
    return distributions
