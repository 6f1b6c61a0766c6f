"""Problems and mechanisms that are meant to break the library: zeros, denormals, budgets from 1e-300 to 745 and infinity, odd chains and graphs."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import networkx as nx
import numpy as np

import privopt as po
from privopt.arrays import Floats
from privopt.core.registry import problem_types

Rng = np.random.Generator
Build = Callable[[], po.Problem[Any]]

BUDGETS = (0.0, 5e-324, 1e-300, 1e-12, 1e-3, 0.3, 1.0, 5.0, 36.0, 300.0, 700.0, 745.0, math.inf)
SMALL = (0.0, 5e-324, 1e-310, 1e-300, 1e-100, 1e-17)
"""What a probability is replaced by."""


def budget(rng: Rng) -> float:
    """A budget in nats."""
    return float(rng.choice(BUDGETS)) if rng.random() < 0.6 else float(rng.exponential())


def vector(rng: Rng, n: int) -> list[float]:
    """A distribution of n symbols: spread, concentrated, on one symbol, or with entries of hardly any probability."""
    style = rng.integers(5)
    if style == 0:
        return np.full(n, 1.0 / n).tolist()
    if style == 1:
        return np.eye(n)[int(rng.integers(n))].tolist()
    p = rng.dirichlet(np.full(n, float(rng.choice([0.05, 1.0, 20.0]))))
    if style == 2 or not np.isfinite(p).all():
        p = rng.dirichlet(np.ones(n))
    if style >= 3 and n > 1:
        few = rng.choice(n, size=int(rng.integers(1, n)), replace=False)
        p[few] = rng.choice(SMALL, size=len(few))
        rest = np.setdiff1d(np.arange(n), few)
        p[rest] = rng.dirichlet(np.ones(len(rest)))
    return [float(x) for x in p]


def joint(rng: Rng) -> po.JointDistribution:
    """A table of 1 to 4 secrets and 1 to 4 symbols; independent or the same at times, a name given twice, rows that are equal."""
    s, x = (int(rng.integers(1, 5)) for _ in range(2))
    style = rng.random()
    if style < 0.02:
        return po.JointDistribution(np.reshape(vector(rng, s * x), (s, x)), None, ["same"] * x)
    if style < 0.07:
        return po.JointDistribution(np.tile(np.array(vector(rng, x)) / s, (s, 1)))
    if rng.random() < 0.1:
        return po.JointDistribution(np.diag(vector(rng, s)))
    if rng.random() < 0.1:
        return po.JointDistribution.normalised(np.outer(vector(rng, s), vector(rng, x)))
    return po.JointDistribution(np.reshape(vector(rng, s * x), (s, x)))


def chain(rng: Rng, states: int = 2) -> po.MarkovChain:
    """Two states or so: periodic, absorbing, reducible, independent, nearly so, or any."""
    k = states
    style = int(rng.integers(6))
    rows = {
        0: np.roll(np.eye(k), 1, axis=1),
        1: np.vstack([np.eye(k)[0], *(vector(rng, k) for _ in range(k - 1))]),
        2: np.eye(k),
        3: np.tile(vector(rng, k), (k, 1)),
    }.get(style)
    if rows is None:
        rows = np.array([vector(rng, k) for _ in range(k)])
    initial = vector(rng, k) if rng.random() < 0.5 else None
    return po.MarkovChain(rows.tolist(), initial)


def states(rng: Rng) -> int:
    """Two mostly, one or three at times."""
    return int(rng.choice([1, 2, 2, 2, 3]))


def metric(rng: Rng) -> po.Metric:
    """1 to 5 points: on a line, anywhere, one upon another, hardly or very far apart, or of a graph in parts."""
    n = int(rng.integers(1, 6))
    style = int(rng.integers(4))
    unit = float(rng.choice([1.0, 1e-300, 5e-324, 1e-9, 1e150]))
    if style == 0:
        return po.Metric.line(n, step=unit)
    if style == 1:
        return po.Metric.euclidean((rng.integers(3, size=(n, 2)) * unit).tolist())
    if style == 2:
        parts: nx.Graph[int] = nx.Graph()
        parts.add_nodes_from(range(n))
        parts.add_weighted_edges_from(
            (i, j, float(rng.random())) for i in range(n) for j in range(i) if rng.random() < 0.4
        )
        return po.Metric.graph(parts)
    return po.Metric.manhattan(rng.normal(size=(n, 1)).tolist())


def graph(rng: Rng) -> po.DatasetGraph:
    """1 to 6 datasets of 1 to 3 colours: paths, edges at random, none, in parts."""
    n = int(rng.integers(1, 7))
    k = int(rng.integers(1, 4))
    share = float(rng.choice([0.0, 0.2, 0.5, 1.0]))
    edges = [(i, j) for i in range(n) for j in range(i) if rng.random() < share]
    if rng.random() < 0.3:
        edges = [(i, i + 1) for i in range(n - 1)]
    return po.DatasetGraph(
        edges, rng.integers(k, size=n).tolist(), vertices=list(range(n)), palette=list(range(k))
    )


def costs(rng: Rng, n: int, m: int) -> list[list[float]]:
    """A distortion, zeros among it."""
    return (rng.random((n, m)) * rng.choice([0.0, 1.0, 1e-300, 1e150])).tolist()


def _lip(rng: Rng) -> Build:
    table, notion = joint(rng), str(rng.choice(["lip", "ldp"]))
    low, high = budget(rng), budget(rng)
    delta = float(rng.choice([0.0, 0.0, 1e-300, 0.01])) if notion == "lip" else 0.0
    utility: Any = "mutual_information"
    if rng.random() < 0.3:
        utility = costs(rng, len(table.useful), len(table.useful))
    if rng.random() < 0.5:
        return lambda: po.LocalInformationPrivacy(table, low, delta=delta, notion=notion, utility=utility)
    return lambda: po.LocalInformationPrivacy(table, lower=low, upper=high, delta=delta, utility=utility)


def _pointwise(rng: Rng) -> Build:
    table, level = joint(rng), budget(rng)
    return lambda: po.PointwiseMaximalLeakage(table, level)


def _distortion(rng: Rng) -> Build:
    table, level = joint(rng), budget(rng)
    n = len(table.useful)
    distortion = costs(rng, n, n)
    kind = str(rng.choice(["mutual_information", "lip", "ldp", "maximal_leakage"]))
    if rng.random() < 0.5:
        return lambda: po.DistortionPrivacy(table, distortion, max_leakage=level, leakage=kind)
    return lambda: po.DistortionPrivacy(table, distortion, max_distortion=level, leakage=kind)


def _funnel(rng: Rng) -> Build:
    table, level = joint(rng), budget(rng)
    form = str(rng.choice(["stochastic", "merging"]))
    which = int(rng.integers(3))
    if which == 0:
        return lambda: po.PrivacyFunnel(table, min_utility=level, form=form)
    if which == 1:
        return lambda: po.PrivacyFunnel(table, max_leakage=level, form=form)
    return lambda: po.PrivacyFunnel(table, trade_off=level, form=form)


def _bottleneck(rng: Rng) -> Build:
    table, level = joint(rng), budget(rng)
    form = str(rng.choice(["stochastic", "merging"]))
    if rng.random() < 0.5:
        return lambda: po.InformationBottleneck(table, max_rate=level, form=form)
    return lambda: po.InformationBottleneck(table, trade_off=level, form=form)


def _belief(rng: Rng) -> Build:
    p, level = vector(rng, int(rng.integers(1, 6))), budget(rng)
    return lambda: po.BeliefRelease(p, level)


def _sequence(rng: Rng) -> Build:
    one, level, horizon = chain(rng, states(rng)), budget(rng), int(rng.integers(1, 4))
    return lambda: po.SequenceInformationPrivacy(one, level, horizon=horizon)


def _redaction(rng: Rng) -> Build:
    one, level, length = chain(rng, states(rng)), budget(rng), int(rng.integers(1, 6))
    private, form = int(rng.integers(length)), str(rng.choice(["local", "sequential"]))
    return lambda: po.Redaction(one, length, private, level, form=form)


def _colouring(rng: Rng) -> Build:
    one, level = graph(rng), budget(rng)
    delta = float(rng.choice([0.0, 0.0, 1e-300, 0.1, 1.0]))
    boundary: Any = [None, "balanced"][int(rng.integers(2))]
    return lambda: po.BoundaryColouring(one, level, delta, boundary=boundary)


def _bayesian(rng: Rng) -> Build:
    level, query = budget(rng), str(rng.choice(["sum", "count", "mean"]))
    clip = None if query == "count" else (0.0, float(rng.choice([1e-300, 1.0, 1e150])))
    length = int(rng.integers(1, 6)) if query == "mean" or rng.random() < 0.3 else None
    if rng.random() < 0.3 and query == "count":
        one = chain(rng, states(rng))
        return lambda: po.BayesianPrivacy(one, query, level, length=length)
    if rng.random() < 0.5:
        between = float(rng.choice([-1.0, -0.5, 0.0, 1e-300, 0.9, 1.0]))
        return lambda: po.BayesianPrivacy(
            po.GaussianModel([[1.0, between], [between, 1.0]]), query, level, length=length, clip=clip
        )
    size = int(rng.integers(1, 5))
    return lambda: po.BayesianPrivacy(po.GroupModel(size), query, level, length=length, clip=clip)


def _metric(rng: Rng) -> Build:
    points, level = metric(rng), budget(rng)
    prior = vector(rng, len(points))
    loss: Any = str(rng.choice(["distance", "squared"]))
    if rng.random() < 0.4:
        loss = costs(rng, len(points), int(rng.integers(1, 4)))
    radius = float(rng.choice([0.0, 1.0, 1e150])) if rng.random() < 0.3 else None
    return lambda: po.MetricPrivacy(points, prior, loss, level, radius=radius)


def _post_randomisation(rng: Rng) -> Build:
    """Counts, and tables of the same counts; at times a table of other ones, or a distribution with hardly any of a symbol."""
    level, n = budget(rng), int(rng.integers(1, 5))
    whole = rng.integers(0 if rng.random() < 0.2 else 1, 9, size=n)
    whole *= 10 ** rng.integers(0, 3, size=n) if rng.random() < 0.5 else 1

    def split() -> po.JointDistribution:
        shares = rng.integers(0, whole + 1)
        return po.JointDistribution.normalised([shares.tolist(), (whole - shares).tolist()])

    table = joint(rng) if rng.random() < 0.1 else split()
    kept = [split() for _ in range(int(rng.integers(0, 3)))]
    distortion: Any = "hamming" if rng.random() < 0.5 else costs(rng, n, n)
    notion: Any = str(rng.choice(["lip", "ldp"])) if rng.random() < 0.7 else po.Metric.line(n)
    return lambda: po.PostRandomisation(table, distortion, level, notion=notion, preserve=kept or "marginal")


MADE: dict[str, Callable[[Rng], Build]] = {
    "local_information_privacy": _lip,
    "pointwise_maximal_leakage": _pointwise,
    "distortion_privacy": _distortion,
    "privacy_funnel": _funnel,
    "information_bottleneck": _bottleneck,
    "belief_release": _belief,
    "sequence_information_privacy": _sequence,
    "redaction": _redaction,
    "boundary_colouring": _colouring,
    "bayesian_privacy": _bayesian,
    "metric_privacy": _metric,
    "post_randomisation": _post_randomisation,
}


def problem(kind: str, rng: Rng) -> Build:
    """How a problem of a kind is built; what it says may be refused."""
    return lambda: MADE[kind](rng)()


def kinds() -> list[str]:
    """Names of all kinds of problems."""
    return list(problem_types())


FIXED = ("belief_release", "distortion_privacy", "metric_privacy", "post_randomisation")
"""Kinds whose releases are as many as the distortion says."""


def mechanism(rng: Rng, of: po.Problem[Any]) -> Callable[[], po.Mechanism]:
    """How a mechanism for a problem is built; it may leak anything."""
    anchor = of.anchor()
    if isinstance(anchor, (po.Channel, po.Merging)):
        inputs, form = anchor.inputs, vars(of).get("form")
        if form == "merging" or (form is not None and rng.random() < 0.2):
            blocks = [
                [x for x, b in zip(inputs, where, strict=True) if b == c]
                for where in [rng.integers(3, size=len(inputs))]
                for c in range(3)
            ]
            return lambda: po.Merging([block for block in blocks if block], inputs)
        m = (
            len(anchor.outputs)
            if (form is None and of.kind in FIXED) or rng.random() < 0.5
            else int(rng.integers(1, 5))
        )
        rows = [vector(rng, m) for _ in inputs]
        mix = float(rng.choice([0.0, 0.1, 0.9, 1 - 2.0**-40, 1.0]))
        shared = np.array(vector(rng, m))
        table = (1 - mix) * np.array(rows) + mix * shared
        return lambda: po.Channel(table, inputs, anchor.outputs if m == len(anchor.outputs) else None)
    if isinstance(anchor, po.RedactionMechanism):
        shape: Floats = anchor.probabilities
        table = rng.choice([0.0, 1.0, 0.5, 1e-300, 1 - 2.0**-53, float(rng.random())], size=shape.shape)
        return lambda: po.RedactionMechanism(table, anchor.states, sequential=anchor.sequential)
    if isinstance(anchor, po.Colouring):
        rows = [vector(rng, len(anchor.colours)) for _ in anchor.level]
        mix = float(rng.choice([0.0, 0.5, 1.0]))
        table = (1 - mix) * np.array(rows) + mix * np.array(vector(rng, len(anchor.colours)))
        return lambda: of.of_rows(table) if isinstance(of, po.BoundaryColouring) else anchor
    return lambda: anchor
