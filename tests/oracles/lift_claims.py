"""What proof files of the lift family claim, decided from definitions in floats; a secret of two values has exact optima.

With two values the divergence of a release grows with the distance of P(first | y) from its prior on either side, so what a bound
allows is an interval, found by bisection. Over it the least loss is a linear program, and the most information a linear program over
posteriors at the ends: those certain of an input, and those of two inputs that lie at an end of the interval.
"""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import Any

import numpy as np
from scipy.optimize import linprog

from privopt.arrays import Floats

ROOM = 1e-9
"""By how much, relatively, a claim is exceeded before it counts as broken."""


def _real(value: Any) -> float:
    return float(Fraction(value))


def divergence(notion: str, posterior: Floats, prior: Floats) -> float:
    """How far a posterior is from the prior, from the definition."""
    lifts = posterior / prior
    if notion == "l1":
        return float(np.abs(posterior - prior).sum())
    if notion == "chi2":
        return float((prior * (lifts - 1) ** 2).sum())
    assert notion == "average"
    return math.fsum(q * math.log(v) for q, v in zip(posterior, lifts, strict=True) if q > 0)


def keeps(problem: Any, posterior: Floats, prior: Floats) -> bool:
    """Whether a posterior of the secret is allowed, with a little room."""
    if problem["notion"] != "values":
        return divergence(problem["notion"], posterior, prior) <= _real(problem["bound"]) * (1 + ROOM) + 1e-12
    assert problem["bounds"]
    for s, side, name in problem["bounds"]:
        level = _real(problem["levels"][name]["level"])
        assert type(s) is int
        assert s >= 0
        assert side in (1, -1)
        lift = posterior[s] / prior[s]
        if side > 0 and lift > math.exp(min(level, 700)) * (1 + ROOM):
            return False
        if side < 0 and lift < math.exp(-level) * (1 - ROOM):
            return False
    return True


def entropy(p: Floats) -> float:
    """In nats."""
    return -math.fsum(v * math.log(v) for v in p.tolist() if v > 0)


def joint_of(problem: Any) -> Floats:
    """P(secret, input)."""
    rows = problem["distribution"]
    assert all(type(v) is int and v >= 0 for row in rows for v in row)
    table = np.array([[float(v) for v in row] for row in rows])
    assert table.ndim == 2
    return np.asarray(table / table.sum())


def channel_of(mechanism: Any, inputs: int) -> Floats:
    """P(release | input)."""
    rows = mechanism["rows"]
    of = mechanism.get("of", range(len(rows)))
    assert len(of) == inputs
    assert all(type(v) is int and v >= 0 for row in rows for v in row)
    assert all(0 <= i < len(rows) for i in of)
    table = np.array([[float(v) for v in rows[i]] for i in of])
    return np.asarray(table / table.sum(axis=1, keepdims=True))


def useful_of(problem: Any, joint: Floats) -> Floats:
    """P(useful symbol, input)."""
    if "useful" not in problem:
        return np.diag(joint.sum(axis=0))
    table = np.array([[float(v) for v in row] for row in problem["useful"]])
    assert np.allclose(table.sum(axis=0) / table.sum(), joint.sum(axis=0), atol=1e-12)
    return np.asarray(table / table.sum())


def said(useful: Floats, channel: Floats) -> float:
    """I(X;Y)."""
    joint = useful @ channel
    return entropy(joint.sum(axis=1)) + entropy(joint.sum(axis=0)) - entropy(joint.ravel())


def interval(problem: Any, prior: Floats) -> tuple[float, float]:
    """What P(first value | y) may be."""
    ends = []
    for end in (0.0, 1.0):
        near, far = float(prior[0]), end
        for _ in range(80):
            middle = (near + far) / 2
            if keeps(problem, np.array([middle, 1 - middle]), prior):
                near = middle
            else:
                far = middle
        ends.append(end if keeps(problem, np.array([end, 1 - end]), prior) else near)
    return ends[0], ends[1]


def least_loss(loss: Floats, joint: Floats, allowed: tuple[float, float]) -> float:
    """Of all channels whose releases keep P(first | y) in an interval."""
    n, m = loss.shape
    p = joint.sum(axis=0)
    low, high = (joint[0] - end * p for end in allowed)  # sum over w of P(y | w) times this has a sign
    rows = np.vstack([np.kron(way, np.eye(m)[y]) for y in range(m) for way in (-low, high)])
    best = linprog(
        loss.ravel(), rows, np.zeros(len(rows)), np.kron(np.eye(n), np.ones(m)), np.ones(n),
        bounds=(0, None),
    )  # fmt: skip
    assert best.status == 0
    assert best.fun is not None
    return float(best.fun)


def most_information(useful: Floats, joint: Floats, allowed: tuple[float, float]) -> float:
    """The largest I(X;Y) of all channels whose releases keep P(first | y) in an interval."""
    p = joint.sum(axis=0)
    inputs = np.flatnonzero(p > 0)
    first, of_x = joint[0, inputs] / p[inputs], useful[:, inputs] / p[inputs]
    ends = [np.eye(len(inputs))[i] for i in range(len(inputs)) if allowed[0] <= first[i] <= allowed[1]]
    for i, j in itertools.combinations(range(len(inputs)), 2):
        for end in allowed:
            if (first[i] - end) * (first[j] - end) < 0:
                share = (end - first[j]) / (first[i] - first[j])
                ends.append(share * np.eye(len(inputs))[i] + (1 - share) * np.eye(len(inputs))[j])
    worth = [-entropy(of_x @ end) for end in ends]
    best = linprog(-np.array(worth), A_eq=np.array(ends).T, b_eq=p[inputs], bounds=(0, None))
    assert best.status == 0
    assert best.fun is not None
    return entropy(useful.sum(axis=1)) - float(best.fun)


def lift_family(problem: Any, mechanism: Any, claim: Any, bounds: Any) -> bool:
    """Whether a witness shows that a claim is false; also where there is no claim at all."""
    joint = joint_of(problem)
    prior, p = joint.sum(axis=1), joint.sum(axis=0)
    assert prior.min() > 0
    channel, useful = channel_of(mechanism, joint.shape[1]), useful_of(problem, joint)
    release = joint @ channel
    for y in range(channel.shape[1]):
        mass = release[:, y].sum()
        if mass > 0 and not keeps(problem, release[:, y] / mass, prior):
            return True
        for w in np.flatnonzero(p == 0):
            told = channel[w, y]
            if problem["notion"] != "values" and abs(told - mass) > ROOM:
                return True
            if problem["notion"] == "values" and mass > 0 and not _unseen(problem, told / mass):
                return True
    loss = None
    if "loss" in problem:
        given = np.array([[_real(v) for v in row] for row in problem["loss"]])
        loss = np.asarray(useful.T @ given)
        size = max(1.0, float(np.abs(given).max()))
        if "cost" in claim and float((loss * channel).sum()) > _real(claim["cost"]) + ROOM * size:
            return True
    if "information" in claim and said(useful, channel) < _real(claim["information"]) - ROOM:
        return True
    stated = [_real(bound["bound"]) for bound in bounds]
    if not stated:
        return False
    assert len(prior) == 2, "optima are known for two values"
    allowed = interval(problem, prior)
    if "cost" in claim:
        assert loss is not None
        return max(stated) > least_loss(loss, joint, allowed) + 1e-7
    return min(stated) < most_information(useful, joint, allowed) - 1e-7


def _unseen(problem: Any, lift: float) -> bool:
    """Whether an input that never occurs keeps every bound by value."""
    for _, side, name in problem["bounds"]:
        level = _real(problem["levels"][name]["level"])
        if side > 0 and lift > math.exp(min(level, 700)) * (1 + ROOM):
            return False
        if side < 0 and lift < math.exp(-level) * (1 - ROOM):
            return False
    return True
