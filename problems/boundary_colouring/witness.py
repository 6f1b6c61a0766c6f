"""Proofs that prescribed values are infeasible."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from privopt.measures.colouring.hops import hops
from privopt.measures.colouring.steps import LARGEST
from privopt.problems.boundary_colouring.bound import Budget, rounded_up

if TYPE_CHECKING:
    from privopt.problems.boundary_colouring.problem import BoundaryColouring


def check_witness(problem: BoundaryColouring, witness: object) -> str | None:
    """Why the prescribed values are infeasible: at its distance from one site another one is too likely."""
    values = problem.prescribed
    if values is None or not isinstance(witness, dict):
        return None
    named = [witness.get(name) for name in ("source", "target", "colour")]
    if not all(isinstance(x, int) and not isinstance(x, bool) for x in named):
        return None
    source, target, colour = (int(x) for x in named if isinstance(x, int))
    place = {int(s): i for i, s in enumerate(values.sites.tolist())}
    if source not in place or target not in place or not 0 <= colour < problem.k:
        return None
    graph = problem.graph
    far = int(hops(graph.indptr, graph.indices, np.array([source], dtype=np.int64))[target])
    if far < 0:
        return None
    rows, room = values.rows, values.room(problem.step)
    have, given = float(rows[place[target], colour]), float(rows[place[source], colour])
    if problem.epsilon > LARGEST and (given > 0 or problem.delta > 0):
        return None
    bounded = problem if problem.epsilon <= LARGEST else problem.with_budget(LARGEST)
    rest = float(np.delete(rows[place[source]], colour).sum())
    start, left = rounded_up(np.array([given]), np.array([rest]))
    most = float(Budget.of(bounded).high.orbit(float(start[0]), float(left[0]), far)[0][-1])
    if not have - most > room[place[target], colour]:
        return None
    names = graph.vertices[source], graph.vertices[target]
    shown = graph.palette[colour]
    return (
        f"{names[1]!r} should answer {shown!r} with probability {have:.9g}, but {far} steps from {names[0]!r}, "
        f"which does with {given:.9g}, at most {most:.9g} is private: gap {have - most:.9g}"
    )
