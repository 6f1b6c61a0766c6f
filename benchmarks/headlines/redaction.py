"""Headlines of redaction."""

from __future__ import annotations

import numpy as np

from privopt._text import number
from privopt.benchmarks._clock import clock
from privopt.benchmarks._headlines import Headline, register_headline
from privopt.benchmarks.measurements._redaction_isotonic import programme
from privopt.benchmarks.papers import _redaction_frames as frames
from privopt.solvers.redaction._conic import solve_side
from privopt.solvers.redaction._isotonic import pooled


@register_headline("redaction")
def redaction() -> Headline:
    """Utilities on the chain of the paper's Figure 3."""
    problem = frames.figure_problem(1.0)
    names = ("optimal", "constant-closed-form", "windows")
    best, published, window = (number(frames.proved(problem, name)[0], 4) for name in names)
    return Headline(
        "redaction",
        "share of records released, chain of Maßny et al., Figure 3, at 1 nat (certified)",
        best,
        f"{published} published 3R, {window} best window",
    )


@register_headline("redaction-relaxation")
def relaxation() -> Headline:
    """Isotonic regression against a conic solver, m = 1000."""
    bounds, weights = programme(1000)
    solve_side(*programme(5), "clarabel")
    _, ours = clock(lambda: pooled(bounds, weights))
    found, theirs = clock(lambda: solve_side(bounds, weights, "clarabel"))
    worse = float(np.exp(-found).sum() / np.exp(-pooled(bounds, weights)).sum() - 1)
    return Headline(
        "redaction-relaxation",
        "the convex 3R relaxation, 1000 medium records, time of CVXPY with Clarabel over ours",
        f"{number(theirs / ours, 2)} times faster",
        f"objective within {abs(worse):.0e} of ours",
        True,
    )
