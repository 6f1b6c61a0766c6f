"""What holds of channels between points, and of channels that keep tables: exact rationals, and balls around e^level."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

from flint import arb

from oracles.documents import (
    Json,
    Undecided,
    ball,
    budget,
    channel,
    joint,
    labels,
    log_of,
    margins,
    number,
    ratio,
)
from oracles.truths import TRUTHS, Truth


def _metric_privacy(problem: Json, mechanism: Json) -> Truth:
    if problem["radius"] is not None:
        raise Undecided("radius")
    n = len(problem["prior"])
    names = labels(problem["metric"].get("labels"), n)
    kernel, outputs = channel(mechanism, names)
    return _kept(problem, kernel, list(_distances(problem["metric"], n)), outputs)


def _kept(problem: Json, kernel: Any, pairs: list[tuple[int, int, arb]], outputs: list[Any]) -> Truth:
    """Whether no two points are further apart at a release than their distance allows; the rest is not decided."""
    epsilon, private, unknown = budget(problem), True, False
    for x, other, distance in pairs:
        level = arb(0) if distance == 0 else arb("inf") if epsilon == math.inf else arb(epsilon) * distance
        for a, b in zip(kernel[x], kernel[other], strict=True):
            if a == b or not level.is_finite():
                continue
            if distance == 0 or not a or not b or epsilon == 0:
                private = False
                continue
            apart = abs(log_of(a / b))
            private &= not bool(apart > level)
            unknown |= not bool(apart > level) and not bool(apart <= level)
    every = arb("-inf"), arb("inf")
    return Truth(None if private and unknown else private, every, every)


def _distances(metric: Json, n: int) -> Iterator[tuple[int, int, arb]]:
    """Pairs of points that are promised something, with balls around their exact distances."""
    kind = metric["kind"]
    if kind == "graph":
        for x, other, length in metric["edges"]:
            yield x, other, arb(number(length))
        return
    for x in range(n):
        for other in range(x):
            if kind == "matrix":
                apart = number(metric["distances"][x][other])
                if apart < math.inf:
                    yield x, other, arb(apart)
                continue
            gaps = [
                ratio(a) - ratio(b) for a, b in zip(metric["points"][x], metric["points"][other], strict=True)
            ]
            if kind == "euclidean":
                yield x, other, ball(sum((gap * gap for gap in gaps), Fraction(0))).sqrt()
            elif kind == "manhattan":
                yield x, other, ball(sum(map(abs, gaps), Fraction(0)))
            else:
                raise Undecided(kind)


def _post_randomisation(problem: Json, mechanism: Json) -> Truth:
    table, _, symbols = joint(problem["joint"])
    kernel, outputs = channel(mechanism, symbols)
    tables = [] if problem["preserve"] == "marginal" else [joint(kept)[0] for kept in problem["preserve"]]
    rows = [margins(table)[1], *(row for kept in tables for row in kept)]
    stays = all(
        sum(p * line[y] for p, line in zip(row, kernel, strict=True)) == v
        for row in rows
        for y, v in enumerate(row)
    )
    if isinstance(problem["notion"], str):
        target = {
            "joint": problem["joint"], "notion": problem["notion"], "lower": problem["epsilon"], "upper": problem["epsilon"],
            "delta": 0, "utility": _costs(problem["distortion"], len(symbols)),
        }  # fmt: skip
        truth = TRUTHS["local_information_privacy"](target, mechanism)
    else:
        truth = _kept(problem, kernel, list(_distances(problem["notion"], len(symbols))), outputs)
    return Truth(truth.private if stays else False, truth.utility, truth.leakage, truth.worst)


def _costs(distortion: Any, n: int) -> Any:
    return [[float(x != y) for y in range(n)] for x in range(n)] if distortion == "hamming" else distortion


POINT_TRUTHS: dict[str, Callable[[Json, Json], Truth]] = {
    "metric_privacy": _metric_privacy,
    "post_randomisation": _post_randomisation,
}
