"""The linear programme of k colours: laws of the answers, and what each arc exceeds by, colour by colour."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from privopt.arrays import Floats, Ints
from privopt.measures.colouring.steps import Step
from privopt.models import DatasetGraph
from privopt.solvers.boundary_colouring.programme import TOLERANCES


@dataclass(frozen=True, eq=False)
class Laws:
    """What the linear programme found.

    Parameters
    ----------
    rows : array (n, k)
    value : float
        The objective.
    multipliers : array (arcs, k)
        Of P_u(c) - e^eps P_v(c) <= s(c), arcs (u, v) in the order of ``graph.indices``.
    weights : array (n,) or None
        Multipliers of the accuracies for the worst case, which add to 1.
    """

    rows: Floats
    value: float
    multipliers: Floats
    weights: Floats | None


@dataclass(frozen=True, eq=False)
class Programme:
    """Unknowns: P by vertex and colour, then s by arc and colour where delta > 0, then the worst case where asked for."""

    graph: DatasetGraph
    one: Step
    weights: Floats | None
    fixed: tuple[Ints, Floats] | None

    @property
    def shape(self) -> tuple[int, int, int]:
        """Vertices, colours, arcs."""
        return self.graph.size, len(self.graph.palette), len(self.graph.indices)

    @property
    def slack(self) -> int:
        """Number of unknown excesses."""
        _, k, arcs = self.shape
        return arcs * k if self.one.delta > 0 else 0

    @property
    def unknowns(self) -> int:
        """Number of unknowns."""
        n, k, _ = self.shape
        return n * k + self.slack + (self.weights is None)

    def inequalities(self) -> tuple[Any, Floats]:
        """Privacy by arc and colour (divided by e^eps), then the sums of excesses, then the worst case by vertex."""
        from scipy.sparse import csr_array

        n, k, arcs = self.shape
        starts = np.repeat(np.arange(n), np.diff(self.graph.indptr))
        cell = np.arange(k)[None, :]
        row = np.arange(arcs * k)
        u, v = (starts[:, None] * k + cell).ravel(), (self.graph.indices[:, None] * k + cell).ravel()
        rows, columns = [row, row], [u, v]
        entries = [np.full(arcs * k, self.one.decay), np.full(arcs * k, -1.0)]
        limits = [np.zeros(arcs * k)]
        count = arcs * k
        if self.slack:
            rows += [row, count + np.repeat(np.arange(arcs), k)]
            columns += [n * k + row, n * k + row]
            entries += [np.full(arcs * k, -self.one.decay), np.ones(arcs * k)]
            limits.append(np.full(arcs, self.one.delta))
            count += arcs
        if self.weights is None:
            vertex = np.arange(n)
            rows += [count + vertex, count + vertex]
            columns += [vertex * k + self.graph.codes, np.full(n, self.unknowns - 1)]
            entries += [np.full(n, -1.0), np.ones(n)]
            limits.append(np.zeros(n))
            count += n
        cells = (np.concatenate(entries), (np.concatenate(rows), np.concatenate(columns)))
        return csr_array(cells, shape=(count, self.unknowns)), np.concatenate(limits)

    def equations(self) -> tuple[Any, Floats]:
        """Every row is a law."""
        from scipy.sparse import csr_array

        n, k, _ = self.shape
        cells = (np.ones(n * k), (np.repeat(np.arange(n), k), np.arange(n * k)))
        return csr_array(cells, shape=(n, self.unknowns)), np.ones(n)

    def bounds(self) -> Floats:
        """Probabilities, with prescribed laws held fixed; (unknowns, 2)."""
        k = self.shape[1]
        found = np.tile([0.0, 1.0], (self.unknowns, 1))
        if self.weights is None:
            found[-1, 1] = np.inf  # so that the accuracies bound it, and have the multipliers
        if self.fixed is not None:
            cells = (self.fixed[0][:, None] * k + np.arange(k)[None, :]).ravel()
            found[cells] = self.fixed[1].ravel()[:, None]
        return found

    def cost(self) -> Floats:
        """Minus the objective, scaled to 1."""
        n, k, _ = self.shape
        found = np.zeros(self.unknowns)
        if self.weights is None:
            found[-1] = -1.0
        else:
            found[np.arange(n) * k + self.graph.codes] = -self.weights / self.weights.max()
        return found


def solve_laws(given: Programme, seconds: float) -> Laws | None:
    """The best laws, or None where HiGHS finds none."""
    from scipy.optimize import linprog

    (a, b), (c, d) = given.inequalities(), given.equations()
    for tolerance in TOLERANCES:
        options: Any = {
            "time_limit": max(seconds, 0.01),
            "primal_feasibility_tolerance": tolerance,
            "dual_feasibility_tolerance": tolerance,
        }
        box: Any = given.bounds()
        found = linprog(given.cost(), a, b, c, d, box, method="highs-ds", options=options)
        if found.x is not None:
            return _read(given, found)
    return None


def _read(given: Programme, found: Any) -> Laws:
    n, k, arcs = given.shape
    rows = np.maximum(found.x[: n * k].reshape(n, k), 0.0)
    rows /= rows.sum(axis=1, keepdims=True)
    duals = np.maximum(-found.ineqlin.marginals, 0.0)
    scale = 1.0 if given.weights is None else float(given.weights.max())
    multipliers = duals[: arcs * k].reshape(arcs, k) * (given.one.decay * scale)
    if given.weights is not None:
        return Laws(rows, -float(found.fun) * scale, multipliers, None)
    last = duals[-n:]
    total = float(last.sum()) or 1.0
    return Laws(rows, -float(found.fun), multipliers / total, last / total)
