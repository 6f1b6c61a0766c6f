"""All vertices of the polytope of posteriors by three ways of enumeration, then a linear program over them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from privopt.arrays import Floats
from privopt.core.registry import register
from privopt.core.solver import Budget, Guarantee, Proposal, Solver
from privopt.problems.local_information_privacy.bound import analytic_bound
from privopt.problems.local_information_privacy.data import FURTHER_ROWS
from privopt.problems.local_information_privacy.patterns import classes
from privopt.problems.local_information_privacy.problem import LocalInformationPrivacy
from privopt.solvers.local_information_privacy.answer import (
    ANALYTIC,
    NOT_INDEPENDENT,
    channel_from_posteriors,
    independent,
    too_many_rows,
    whole_release,
    width,
)
from privopt.solvers.local_information_privacy.vertices.exact import (
    MAX_SYMBOLS,
    Point,
    exact_mixture,
    rational_vertices,
)
from privopt.solvers.local_information_privacy.vertices.mixture import best_mixture, proof
from privopt.solvers.local_information_privacy.vertices.systems import (
    TOLERANCE,
    TOO_MANY,
    description_seconds,
    enumeration_seconds,
    expected_vertices,
    system,
    vertices,
    work,
)

EXACT_BELOW = 1e-4
"""Widths of lifts below which the posteriors in use are solved again exactly: rounding would take a share of the width."""


def float_proposal(
    problem: LocalInformationPrivacy, posteriors: Floats, budget: Budget, *, complete: bool, stop: str
) -> Proposal:
    """The best mixture of posteriors, with a proof of its bound if they are all the vertices.

    Parameters
    ----------
    problem : LocalInformationPrivacy
    posteriors : array (m, k)
        On the k observations of positive probability.
    budget : Budget
    complete : bool
        Whether all vertices are among them.
    stop : str
        Why the search for them stopped.
    """
    stats: dict[str, float | int | str] = {"iterations": 1, "vertices": len(posteriors), "stop": stop}
    try:
        best = best_mixture(problem, posteriors, budget.remaining)
    except ArithmeticError as cause:
        late = {**stats, "stop": str(cause)}
        return Proposal(problem.safe(), analytic_bound(problem), ANALYTIC, stats=late)
    channel = exact_mixture(problem, best) if width(problem) < EXACT_BELOW else None
    stats |= {"exact": "no" if channel is None else "yes", "least_reduced_cost": best.least}
    if channel is None:
        channel = channel_from_posteriors(problem, best.solved.weights, best.posteriors)
    bound, dual = proof(problem, best.solved.prices, best.least, budget, complete=complete)
    return Proposal(channel, bound, dual, stats=stats)


def exact_proposal(problem: LocalInformationPrivacy, points: list[Point], budget: Budget) -> Proposal:
    """The best mixture of the exact vertices, with exact weights where the basis allows it, and its bound."""
    try:
        best = best_mixture(problem, np.array([[float(a) for a in v] for v in points]), budget.remaining)
    except ArithmeticError as cause:
        return Proposal(problem.safe(), analytic_bound(problem), ANALYTIC, stats={"stop": str(cause)})
    small = len(problem.observation.support) <= MAX_SYMBOLS
    channel = exact_mixture(problem, best, points) if small else None
    stats: dict[str, float | int | str] = {
        "iterations": 1,
        "vertices": len(points),
        "exact": "no" if channel is None else "yes",
        "stop": "every vertex tried",
    }
    if channel is None:
        channel = channel_from_posteriors(problem, best.solved.weights, best.posteriors)
    bound, dual = proof(problem, best.solved.prices, best.least, budget, complete=True)
    return Proposal(channel, bound, dual, stats=stats)


LONGEST = 600.0
"""Predicted seconds beyond which the enumeration is hopeless."""

SINGULAR = 20.0
"""How much longer the check takes where the secret is a function of the useful symbol: most systems are singular, which rationals show."""

UNPROVED = 0.2
"""How much of the seconds of all systems the search takes where delta is allowed."""

LONGEST_UNSTOPPED = 120.0
"""The same for what cannot be interrupted."""

MAX_CELLS = 4e7
"""Entries of the table of vertices that fit in memory several times over."""

THINNEST_IN_FLOATS = 1e-8
"""Widths of lifts below this, other than 0, drown in the rounding of float64, also that of the linear program."""

THINNEST_FOR_CDD = 1e-4
"""The least width of the lifts at which cdd was never seen to lose a vertex."""

GUARD = 30_000
"""Vertices, as estimated, beyond which exact arithmetic is too slow."""

SHARE = 1e-8
"""Share of the width by which a vertex may miss a bound: the repair of the channel costs this share of its utility."""

ROUNDING = 2e-15
"""What float64 resolves."""


class Vertices(Solver[LocalInformationPrivacy]):
    """Every vertex of the posterior polytope, then a linear program over them.

    The lectures on privacy-utility trade-offs: an optimal release uses only vertices of the polytope of
    allowed posteriors.
    """

    solves: ClassVar = LocalInformationPrivacy
    handles: ClassVar[frozenset[str]] = frozenset({FURTHER_ROWS})

    def guarantee(self, problem: LocalInformationPrivacy) -> Guarantee:
        """Optimal for delta = 0."""
        return Guarantee.OPTIMAL if problem.delta == 0 else Guarantee.FEASIBLE


@register
@dataclass(frozen=True)
class VerticesSystems(Vertices):
    """All vertices of the polytope of posteriors by small linear systems, then a linear program.

    Every vertex of the posterior polytope by small linear systems, batched; then a linear program.

    Each support and each choice of tight rows gives one small system.
    """

    name: ClassVar[str] = "vertices-systems"

    def cost(self, problem: LocalInformationPrivacy) -> float:
        """The systems, solved once to answer and once to check, and the linear program over their vertices."""
        seconds = self._solved(problem) * enumeration_seconds(problem)
        if seconds > LONGEST:
            return seconds
        return 0.02 + seconds + 4e-7 * expected_vertices(problem) * len(problem.observation.support)

    def _solved(self, problem: LocalInformationPrivacy) -> float:
        """How many times the seconds of all systems it takes: the search, and the proof where that is not linear."""
        if problem.delta > 0:  # the bound needs no vertices then, and most systems have none
            return UNPROVED
        if problem.matrix is not None:
            return 1.0
        singular = problem.notion == "ldp" and classes(problem) is not None
        return 2.0 + SINGULAR * singular

    def refuse(self, problem: LocalInformationPrivacy) -> str | None:
        """Refuse hopeless enumerations, perfect privacy, and slabs that drown in rounding."""
        if independent(problem) and whole_release(problem) is None:
            return NOT_INDEPENDENT
        if (reason := too_many_rows(problem)) is not None:
            return reason
        if 0 < width(problem) < THINNEST_IN_FLOATS:
            return f"lifts may differ by {width(problem):.1e} only, which rounding swamps; perfect-privacy takes it"
        if self.cost(problem) > LONGEST:
            return f"it would solve {_systems(problem)} systems, in about {self.cost(problem):.1e} s"
        if (cells := expected_vertices(problem) * len(problem.observation.support)) > MAX_CELLS:
            return f"its linear program would have about {cells:.1e} entries, more than {MAX_CELLS:.0e}"
        return None

    def run(self, problem: LocalInformationPrivacy, budget: Budget) -> Proposal:
        """Propose the best mixture; a third of the time is left for it and for the proof."""
        if (whole := whole_release(problem)) is not None:
            return whole
        until, batches, complete = budget.earlier(0.6), list[Floats](), True
        tolerance = max(min(TOLERANCE, SHARE * width(problem)), ROUNDING)
        for batch in vertices(system(problem), tolerance):
            if len(batch):
                batches.append(batch)
            if until.remaining == 0:
                complete = False
                break
        posteriors = np.concatenate(batches) if batches else np.zeros((0, len(problem.observation.support)))
        why = "every vertex tried" if complete else "out of time before every vertex was tried"
        return float_proposal(problem, posteriors, budget, complete=complete, stop=why)


def _number(problem: LocalInformationPrivacy) -> str:
    """How many vertices there are, in words."""
    count = expected_vertices(problem)
    if count == np.inf:
        return f"vertices too rare to be counted among {_systems(problem)} systems"
    return f"about {count:.1e} vertices"


def _systems(problem: LocalInformationPrivacy) -> str:
    """How many systems there are, in words."""
    count = work(system(problem))
    return f"{count:.1e}" if count <= TOO_MANY else f"more than {TOO_MANY:.0e}"


def cdd_vertices(inequalities: Floats, equations: Floats) -> Floats:
    """Vertices of {v >= 0, sum v = 1, inequalities v <= 0, equations v = 0} as cdd finds them, a row each.

    On thin slabs the double description in floats silently loses vertices.

    Parameters
    ----------
    inequalities : array (r, n)
    equations : array (q, n)

    Examples
    --------
    >>> cdd_vertices(np.array([[1.0, -1.0]]), np.zeros((0, 2))).tolist()
    [[0.5, 0.5], [0.0, 1.0]]
    """
    import cdd

    api: Any = cdd  # its calls have no types
    n = inequalities.shape[1]
    equal = np.vstack([np.concatenate([[1.0], -np.ones(n)]), np.pad(equations, ((0, 0), (1, 0)))])
    unequal = np.vstack([np.pad(-inequalities, ((0, 0), (1, 0))), np.pad(np.eye(n), ((0, 0), (1, 0)))])
    matrix = api.matrix_from_array(
        np.vstack([equal, unequal]).tolist(),
        lin_set=range(len(equal)),
        rep_type=api.RepType.INEQUALITY,
    )
    generators = api.copy_generators(api.polyhedron_from_matrix(matrix)).array
    points = np.array(generators, dtype=np.float64).reshape(-1, n + 1)
    return np.maximum(points[points[:, 0] == 1.0, 1:], 0.0)


@register
@dataclass(frozen=True)
class VerticesCdd(Vertices):
    """All vertices of the polytope of posteriors by double description in floats, then a linear program.

    Every vertex of the posterior polytope by cdd's double description in floats; then a linear program.

    On thin slabs cdd loses vertices without an error, so they are refused.
    """

    name: ClassVar[str] = "vertices-cdd"
    requires: ClassVar[tuple[str, ...]] = ("cdd",)
    interruptible: ClassVar[bool] = False

    def cost(self, problem: LocalInformationPrivacy) -> float:
        """A process of its own, the double description, the linear program and its check."""
        return 1.0 + 8.0 * description_seconds(problem)

    def refuse(self, problem: LocalInformationPrivacy) -> str | None:
        """Refuse thin slabs, perfect privacy and hopeless sizes."""
        if whole_release(problem) is not None:
            return None
        if independent(problem):
            return NOT_INDEPENDENT
        if (reason := too_many_rows(problem)) is not None:
            return reason
        if (wide := width(problem)) < THINNEST_FOR_CDD:
            return (
                f"lifts may differ by {wide:.1e} only; below {THINNEST_FOR_CDD:g} cdd silently loses vertices"
            )
        if self.cost(problem) > LONGEST_UNSTOPPED:
            seconds = self.cost(problem)
            return _number(problem) + (
                f", which would take about {seconds:.1e} s" if seconds < np.inf else ""
            )
        return None

    def run(self, problem: LocalInformationPrivacy, budget: Budget) -> Proposal:
        """Propose the best mixture; whether vertices were lost shows when the bound is checked."""
        if (whole := whole_release(problem)) is not None:
            return whole
        rows = system(problem).rows
        stop = "every vertex that cdd found"
        return float_proposal(problem, cdd_vertices(rows, rows[:0]), budget, complete=True, stop=stop)


@register
@dataclass(frozen=True)
class VerticesExact(Vertices):
    """All vertices of the polytope of posteriors by exact double description, then a linear program.

    Every vertex of the posterior polytope in exact rationals, by PPL; then a linear program.

    The distribution is the exact one; e^-lower is rounded up and e^upper down at 1e-12, so that no posterior breaks a bound, however thin the slab. Weights are solved exactly too.
    """

    name: ClassVar[str] = "vertices-exact"
    requires: ClassVar[tuple[str, ...]] = ("ppl",)
    interruptible: ClassVar[bool] = False

    guard: int = GUARD

    def cost(self, problem: LocalInformationPrivacy) -> float:
        """A process of its own, the double description, the linear program and its check."""
        return 1.0 + description_seconds(problem)

    def refuse(self, problem: LocalInformationPrivacy) -> str | None:
        """Refuse the thinnest slabs and what has too many vertices."""
        if whole_release(problem) is not None:
            return None
        if (reason := too_many_rows(problem)) is not None:
            return reason
        if 0 < (wide := width(problem)) < THINNEST_IN_FLOATS:
            return f"lifts may differ by {wide:.1e} only, which swamps the linear program; perfect-privacy takes it"
        if expected_vertices(problem) > self.guard:
            return f"{_number(problem)}, more than its guard of {self.guard}"
        return None

    def run(self, problem: LocalInformationPrivacy, budget: Budget) -> Proposal:
        """Propose the best mixture, in Fractions."""
        if (whole := whole_release(problem)) is not None:
            return whole
        return exact_proposal(problem, rational_vertices(problem), budget)
