"""First columns: posteriors of low entropy that average to the law of the observations."""

from __future__ import annotations

import numpy as np

from privopt.arrays import Floats
from privopt.core.solver import Budget
from privopt.solvers.local_information_privacy._heuristic_pricing import slopes
from privopt.solvers.local_information_privacy._pricing_lp import BoxLP

TINY = 1e-9
"""Entries, slacks and steps below this count as 0."""


def peel(lp: BoxLP, start: Floats, rng: np.random.Generator, budget: Budget) -> list[Floats]:
    """Vertices whose hull holds ``start``: one at a time, each leaving what is left on a smaller face.

    From the rest r go away from a vertex v of the least face around r, as far as the polytope allows:
    the end point is the new rest, and r lies between v and it.

    Parameters
    ----------
    lp : BoxLP
    start : array (n,)
        An allowed posterior.
    rng : numpy.random.Generator
        Chooses among the vertices of low entropy.
    budget : Budget
        Out of time, what is left stands as the last column.
    """
    rows = lp.pricing.rows
    rest, found = start.copy(), []
    for _ in range(len(start) + len(rows)):
        vertex = _vertex(lp, rest, rng)
        if vertex is None or budget.remaining == 0:
            break
        found.append(vertex)
        away = rest - vertex
        if np.abs(away).max() <= TINY:
            return found
        rest = _end(rows, rest, away)
    found.append(rest)
    return found


def _vertex(lp: BoxLP, rest: Floats, rng: np.random.Generator) -> Floats | None:
    """A vertex of the least face that holds the rest."""
    random = rng.exponential(size=len(rest)) * (rest > TINY)
    cost = slopes(lp.pricing, random / random.sum())
    tight = lp.pricing.rows @ rest >= -TINY * np.abs(lp.pricing.rows).max(axis=1, initial=0.0)
    return lp.face(cost, rest > TINY, tight)


def _end(rows: Floats, rest: Floats, away: Floats) -> Floats:
    """The last allowed point on the ray from the rest."""
    steps = [np.inf]
    falling = away < -1e-15
    steps.append(float((rest[falling] / -away[falling]).min(initial=np.inf)))
    rise = rows @ away
    rising = rise > 1e-15
    steps.append(float((np.maximum(-(rows @ rest)[rising], 0.0) / rise[rising]).min(initial=np.inf)))
    end = np.maximum(rest + min(steps) * away, 0.0)
    return np.asarray(end / end.sum())
