"""Proofs that prescribed values are infeasible."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from privopt.measures._colouring_distance import hops
from privopt.problems._graph_boundary import MET

if TYPE_CHECKING:
    from privopt.problems.boundary_colouring import BoundaryColouring


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
    rows = values.rows
    have, given = float(rows[place[target], colour]), float(rows[place[source], colour])
    rest = float(np.delete(rows[place[source]], colour).sum())
    most = float(problem.step.power(np.array([given]), np.array([rest]), np.array([far]))[0][0])
    if have - most <= MET:
        return None
    names = graph.vertices[source], graph.vertices[target]
    shown = graph.palette[colour]
    return (
        f"{names[1]!r} should answer {shown!r} with probability {have:.9g}, but {far} steps from {names[0]!r}, "
        f"which does with {given:.9g}, at most {most:.9g} is private: gap {have - most:.9g}"
    )
