"""A convex programme in CVXPY with the tolerances that a back end has by default."""

from __future__ import annotations

import warnings
from typing import Any

BACKENDS = {"ecos": "ECOS", "scs": "SCS", "clarabel": "CLARABEL"}
"""Name of a peer, which is also its module, and CVXPY's name of the back end."""


def needs(backend: str) -> tuple[str, ...]:
    """Modules that a back end needs."""
    return ("cvxpy", backend)


def minimum(objective: Any, rules: list[Any], backend: str) -> float:
    """Minimise, and return what the back end says it reached.

    Raises
    ------
    ArithmeticError
        If it says that it found nothing.
    """
    import cvxpy

    cp: Any = cvxpy  # much of it has no types
    posed = cp.Problem(cp.Minimize(objective), rules)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what an inaccurate answer is worth is judged afterwards
        posed.solve(solver=BACKENDS[backend])
    if posed.status not in ("optimal", "optimal_inaccurate"):
        raise ArithmeticError(f"{BACKENDS[backend]} ended with status {posed.status!r}")
    return float(posed.value)
