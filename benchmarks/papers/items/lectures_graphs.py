"""Lectures on privacy-utility trade-offs: differential privacy by randomised colourings of a graph of datasets."""

from __future__ import annotations

import numpy as np

from privopt.benchmarks.papers.item import Reproduced, Setting, reproduces
from privopt.benchmarks.papers.items import _lectures_measures
from privopt.benchmarks.papers.verdicts import compared, holds, invariant, substitute
from privopt.core.dispatch import solve
from privopt.errors import InvalidModel
from privopt.measures import above, below, colouring_epsilon, dominates, is_optimal_colouring
from privopt.models import DatasetGraph
from privopt.problems.boundary_colouring.problem import BoundaryColouring

LN2 = _lectures_measures.LN2


@reproduces("F-G0")
def truthful_reporting(setting: Setting) -> Reproduced:
    """What 65 % and 60 % cost, and what is possible."""
    cube, shares = DatasetGraph.votes(3), (0.65, 0.60)
    needs = [colouring_epsilon(cube, np.where(cube.codes == 0, a, 1 - a)) for a in shares]
    ask = BoundaryColouring(cube, 0.5, boundary=None, objective="worst_case")
    best = solve(ask, "oracle", certify=False).utility or 0.0
    spread = max(
        abs((solve(ask.with_budget(e), certify=False).utility or 0.0) - a)
        for e, a in zip(needs, shares, strict=True)
    )
    corner = _lectures_measures.answer(BoundaryColouring(cube, needs[0]), "balanced").max()
    return holds(
        spread < 1e-9 and corner > 0.65,
        f"private from epsilon {needs[0]:.4f} and {needs[1]:.4f} nats; at epsilon 0.5 the best worst case is {best:.5f}",
        "Each is the best worst case at its epsilon, ln(a / (1 - a)), but not optimal everywhere: without more leakage "
        f"unanimous votes can be reported truthfully with {corner:.4f} instead of 0.65.",
    )


@reproduces("F-G1")
def one_edge(setting: Setting) -> Reproduced:
    """What 0.6 on a dataset allows next to it."""
    cube = DatasetGraph.votes(3)
    votes_211, votes_221 = 0b100, 0b110
    least = above(cube, {votes_211: 0.6, votes_221: 0.0}, 0.5)[votes_221]
    weights = np.zeros(8)
    weights[votes_221] = 1.0
    linear = _lectures_measures.program(cube, 0.5, 0.0, weights, {votes_211: 0.6})
    assert linear is not None
    apart = abs(float(linear[votes_221]) - least)
    why = f"One step along the edge 211 - 221; a linear program over the whole cube differs by {apart:.1e}."
    return compared([0.36, 0.64], [least, 1 - least], 0.005, why)


@reproduces("F-G2")
def who_voted(setting: Setting) -> Reproduced:
    """The graph of non-empty sets of three voters."""
    graph = DatasetGraph.voters(2, 1)
    majority = [0 if (m & 1) + (m >> 1 & 1) > (m >> 2 & 1) else 1 for m in range(1, 8)]
    joined = {(a, b) for a in range(1, 8) for b in range(a + 1, 8) if (a ^ b).bit_count() == 1}
    same = (
        graph.codes.tolist() == majority
        and {(graph.vertices[u], graph.vertices[v]) for u, v in graph.edges().tolist()} == joined
    )
    p = _lectures_measures.answer(BoundaryColouring(graph, LN2), "balanced")
    linear = _lectures_measures.answer(BoundaryColouring(graph, LN2), "oracle")
    return holds(
        same and float(np.abs(p - linear).max()) < 1e-8,
        f"{graph.edge_count} edges; Pr[blue] at epsilon ln 2 {', '.join(f'{x:.4f}' for x in p)}",
        "The slide names no neighbours; with one voter joining or leaving, colours by counting agree, and the balanced "
        "mechanism, on sets 1 to 7 as bit masks, is that of a linear program.",
    )


@reproduces("F-G3")
def definitions(setting: Setting) -> Reproduced:
    """Domination, reasonable utilities, and optimality."""

    def check(rng: np.random.Generator) -> float:
        graph, (epsilon, delta) = _lectures_measures.coloured(rng, 8), _lectures_measures.budget(rng)
        p = _lectures_measures.private(rng, graph, epsilon, delta)
        if rng.random() < 0.5:
            sites = np.flatnonzero(graph.boundary() & (graph.codes == 0))
            values = below(graph, {int(v): float(rng.random()) for v in sites}, epsilon, delta)
            p = _lectures_measures.answer(
                BoundaryColouring(graph, epsilon, delta, boundary=values), "propagation"
            )
        own, weights = _lectures_measures.accuracy(graph, p), rng.random(graph.size)
        best = _lectures_measures.program(graph, epsilon, delta, np.ones(graph.size), {}, own - 1e-11)
        assert best is not None
        gain = float((_lectures_measures.accuracy(graph, best) - own).sum())
        wrong = (gain < 1e-8) != is_optimal_colouring(graph, p, epsilon, delta) and not 1e-9 < gain < 1e-7
        better = np.maximum(
            _lectures_measures.accuracy(graph, best), own
        )  # the program may fall short by its tolerance
        falls = max(float(weights @ (own - better)), float(own.min() - better.min()))
        other = _lectures_measures.private(rng, graph, epsilon, delta)
        theirs = _lectures_measures.accuracy(graph, other)
        words = [dominates(_lectures_measures.accuracy(graph, one), p, graph) for one in (better, theirs)]
        unseen = gain > 1e-7 and words[0] != "dominates"
        misread = (words[1] == "dominates") != bool((theirs >= own).all() and (theirs > own).any())
        return wrong + unseen + misread + max(0.0, falls)

    why = (
        "A private mechanism is called optimal exactly where a linear program finds none that dominates it, and the "
        "weighted and the worst accuracy are reasonable: neither is lower for a mechanism that dominates."
    )
    return invariant(check, setting, setting.count(30, 300), why, 1e-7)


@reproduces("F-G4")
def pictures(setting: Setting) -> Reproduced:
    """One pair of mechanisms of each kind."""
    cube = DatasetGraph.votes(3)
    fair = _lectures_measures.answer(BoundaryColouring(cube, 0.5), "balanced")
    flat = _lectures_measures.answer(BoundaryColouring(cube, 0.5), "randomised-response")
    tilted = _lectures_measures.answer(BoundaryColouring(cube, 0.5, boundary=(0.75, None)), "propagation")
    words = [dominates(fair, other, cube) for other in (flat, tilted)]
    return substitute(
        f"balanced and randomised response: {words[0]}; balanced and blue boundary at 0.75: {words[1]}",
        "The probabilities of the pictures are lost; these two pairs on the cube of three votes at epsilon 0.5 show the same.",
    )


@reproduces("F-G5")
def at_most_one(setting: Setting) -> Reproduced:
    """Given values on the blue boundary, the optimum is unique or there is none."""
    none = [0]

    def check(rng: np.random.Generator) -> float:
        graph, (epsilon, delta) = _lectures_measures.coloured(rng), _lectures_measures.budget(rng)
        sites = np.flatnonzero(graph.boundary() & (graph.codes == 0)).tolist()
        drawn = {v: float(rng.uniform(0.1, 0.9)) for v in sites}
        values = drawn if rng.random() < 0.3 else below(graph, drawn, epsilon, delta)
        boundary = {int(str(v)): p for v, p in values.items()}
        tries = [
            _lectures_measures.program(graph, epsilon, delta, rng.random(graph.size) + 0.1, boundary)
            for _ in "ab"
        ]
        solution = solve(
            BoundaryColouring(graph, epsilon, delta, boundary=boundary), "propagation", certify=False
        )
        if not solution.status.ok:
            none[0] += 1
            return float(any(one is not None for one in tries))
        ours = solution.mechanism.probabilities[:, 0]
        return max(1.0 if one is None else float(np.abs(one - ours).max()) for one in tries)

    instances = setting.count(40, 400)
    verdict = invariant(check, setting, instances, "", 1e-6)
    why = (
        "Two linear programs with different random weights end at the same mechanism, that of the propagation, or have "
        f"none where it proves that the values contradict each other ({none[0]} of {instances})."
    )
    return Reproduced(verdict.ours, verdict.finding, why)


@reproduces("F-G6")
def lost_example(setting: Setting) -> Reproduced:
    """Optimal mechanisms for (log 2, 0.1)."""
    line = DatasetGraph.line(7, 1)
    orbit = _lectures_measures.answer(BoundaryColouring(line, LN2, 0.1, boundary={6: 0.05}), "propagation")[
        :7
    ][::-1]
    grid = DatasetGraph.grid([[1, 1, 1, 2], [1, 1, 2, 2], [1, 2, 2, 2]])
    values = {2: 0.5, 5: 0.6, 8: 0.35}
    ours = _lectures_measures.answer(BoundaryColouring(grid, LN2, 0.1, boundary=values), "propagation")
    linear = _lectures_measures.program(grid, LN2, 0.1, np.ones(12), values)
    assert linear is not None
    return substitute(
        f"Pr[blue] from 1/20 on the boundary inwards: {', '.join(f'{x:.4g}' for x in orbit)}",
        "Graph and values of the picture are lost; on a line, and on a grid with boundary values 0.5, 0.6 and 0.35, where "
        f"a linear program differs by {np.abs(ours - linear).max():.1e}.",
    )


def _accepted(source: DatasetGraph, images: list[int], target: DatasetGraph) -> bool:
    try:
        source.check_morphism(images, target)
    except InvalidModel:
        return False
    return True


@reproduces("F-G7")
def morphisms(setting: Setting) -> Reproduced:
    """What counts as a morphism."""
    kept = [0]

    def plain(graph: DatasetGraph) -> DatasetGraph:
        return DatasetGraph(graph.edges(), [1] * graph.size)

    def check(rng: np.random.Generator) -> float:
        source, target = (plain(_lectures_measures.coloured(rng, 6)) for _ in "ab")
        images = rng.integers(0, min(target.size, 3), source.size).tolist()
        joined = {(u, v) for pair in target.edges().tolist() for u, v in (pair, pair[::-1])}
        pairs = [(images[u], images[v]) for u, v in source.edges().tolist()]
        is_one = all(a == b or (a, b) in joined for a, b in pairs)
        kept[0] += is_one
        return float(_accepted(source, images, target) != is_one)

    instances = setting.count(200, 3000)
    verdict = invariant(check, setting, instances, "")
    ring = DatasetGraph([(0, 1), (1, 2), (2, 3), (3, 0)], [1] * 4)
    folded = _accepted(ring, [0, 1, 1, 0], DatasetGraph([(0, 1)], [1, 1]))
    why = (
        f"A map is accepted exactly where the definition does ({kept[0]} of {instances} random ones). The pictures are lost; "
        f"folding a ring of four onto an edge collapses two edges and keeps two: accepted, {folded}."
    )
    return Reproduced(verdict.ours, verdict.finding, why)


@reproduces("F-G8")
def pullback(setting: Setting) -> Reproduced:
    """A private mechanism after a morphism."""

    def check(rng: np.random.Generator) -> float:
        target, (epsilon, delta) = _lectures_measures.coloured(rng), _lectures_measures.budget(rng)
        p = _lectures_measures.private(rng, target, epsilon, delta)
        images = rng.integers(0, target.size, 12)
        joined = {(u, v) for pair in target.edges().tolist() for u, v in (pair, pair[::-1])}
        pairs = [
            (u, v)
            for u in range(12)
            for v in range(u)
            if images[u] == images[v] or (images[u], images[v]) in joined
        ]
        source = DatasetGraph(np.array(pairs).reshape(-1, 2), rng.integers(1, 3, 12).tolist(), palette=[1, 2])
        return colouring_epsilon(source, p[images], delta) - colouring_epsilon(target, p, delta)

    why = "The pullback never needs a larger epsilon; accuracy carries over only where the true answers agree as well."
    return invariant(check, setting, setting.count(100, 1000), why)
