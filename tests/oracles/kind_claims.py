"""What proof files of the newer kinds claim, decided from definitions in floats; and errors planted in them.

A claim is broken if a witness shows it: a distribution of the set at which a release tells more (vertices by linear programs, members
of balls at random), exceptions counted, noise whose leakage a brute force over adversaries finds. Nothing of the checkers is used.
"""

from __future__ import annotations

import copy
import itertools
import math
import random
from fractions import Fraction
from typing import Any

import numpy as np
from scipy.optimize import linprog

import privopt as po
from oracles import bayesian, bayesian_programs, chain_claims, gaussian, lift_claims
from oracles.planted_proofs import Lines, leaves
from privopt.arrays import Floats

ROOM = 1e-9
"""By how much, relatively, a claim is exceeded before it counts as broken."""

SHARES = ("0/1", "1/2", "9/10", "999/1000", "999999/1000000", "11/10", "2/1", "-1/1")


def altered(lines: Lines, seed: int) -> Lines:
    """The file with one or two numbers changed."""
    rng, found = random.Random(seed), copy.deepcopy(lines)
    for _ in range(rng.choice((1, 1, 2))):
        place = rng.choice([(i, *leaf) for i, line in enumerate(found) if i for leaf in leaves(line)])
        target: Any = found
        for key in place[:-1]:
            target = target[key]
        value = target[place[-1]]
        if type(value) is int or (isinstance(value, str) and set(value) <= set("-/0123456789")):
            if type(value) is int and rng.random() < 0.5:
                target[place[-1]] = value + rng.choice((1, -1))
                continue
            changed = Fraction(value) * Fraction(rng.choice(SHARES))
            whole = changed.denominator == 1
            target[place[-1]] = int(changed) if whole else f"{changed.numerator}/{changed.denominator}"
    return found


def broken(lines: Lines) -> bool:
    """Whether a witness shows that a claim is false; also where there is no claim at all."""
    header, problem, mechanism, claim, *bounds = lines
    try:
        with np.errstate(all="ignore"):
            return bool(_KINDS[header["kind"]](problem, mechanism, claim, bounds))
    except (ValueError, TypeError, KeyError, IndexError, ZeroDivisionError, AssertionError):
        return True


def _real(value: Any) -> float:
    return float(Fraction(value))


def _level(problem: Any, name: str) -> float:
    return _real(problem["levels"][name]["level"])


def _beyond(a: float, level: float, b: float) -> bool:
    """Whether a > e^level b for certain."""
    return a > math.exp(min(level, 700)) * b * (1 + ROOM) + 1e-12


def _channel(mechanism: Any, inputs: int) -> Floats:
    rows = mechanism["rows"]
    of = mechanism.get("of", range(len(rows)))
    assert len(of) == inputs
    table = np.array([[float(v) for v in rows[i]] for i in of])
    assert (table >= 0).all()
    return np.asarray(table / table.sum(axis=1, keepdims=True))


def _table(rows: Any) -> Floats:
    table = np.array(rows, dtype=object)
    assert table.ndim == 2
    assert all(type(v) is int and v >= 0 for v in table.ravel())
    return np.asarray(table / table.sum(), dtype=np.float64)


def _mutual(joint: Floats) -> float:
    outer = joint.sum(axis=1, keepdims=True) * joint.sum(axis=0, keepdims=True)
    seen = joint > 0
    return float((joint[seen] * np.log(joint[seen] / outer[seen])).sum())


def _worth(joint: Floats, problem: Any, channel: Floats, claim: Any) -> bool:
    """Whether the cost or the information at a distribution is not as claimed."""
    p = joint.sum(axis=0)
    if "cost" in claim:
        loss = np.array([[_real(v) for v in row] for row in problem["loss"]])
        cost = float((p[:, None] * loss * channel).sum())
        if cost > _real(claim["cost"]) + ROOM * max(1.0, np.abs(loss).max()):
            return True
    return "information" in claim and _mutual(p[:, None] * channel) < _real(claim["information"]) - ROOM


def _exceptions(problem: Any, mechanism: Any, claim: Any, bounds: Any) -> bool:
    joint = _table(problem["distribution"])
    channel = _channel(mechanism, joint.shape[1])
    release, total = joint @ channel, 0.0
    assert problem["levels"]
    assert set(problem["levels"]) <= {"upper", "lower"}
    for s, y in np.argwhere(joint.sum(axis=1)[:, None] * np.ones(channel.shape[1]) > 0):
        own, mean = release[s, y] / joint[s].sum(), release[:, y].sum()
        rises = "upper" in problem["levels"] and _beyond(own, _level(problem, "upper"), mean)
        falls = "lower" in problem["levels"] and _beyond(mean, _level(problem, "lower"), own)
        total += float(release[s, y]) * (rises or falls)
    if total > _real(problem["delta"]) + ROOM or _worth(joint, problem, channel, claim):
        return True
    if "loss" in problem:
        return chain_claims.exceptions_bounds(problem, bounds)
    said = _mutual(joint.sum(axis=0)[:, None] * channel)
    return any(_real(bound["bound"]) < said - ROOM for bound in bounds)


def members_of(allowed: Any, rng: np.random.Generator, count: int = 60) -> list[Floats]:
    """Members of a set at its ends: of polytopes the ends in random directions, of balls random ends that are distributions."""
    if allowed["kind"] == "chi2":
        center, radius = np.array([_real(v) for v in allowed["center"]]), _real(allowed["radius"])
        assert radius >= 0
        assert abs(center.sum() - 1) < ROOM
        found = [center]
        for _ in range(count):
            way = rng.normal(size=len(center)) * (center > 0)
            way -= center * way.sum()
            size = math.sqrt(float((way[center > 0] ** 2 / center[center > 0]).sum()))
            share = radius * (1 - 1e-12) / size if size else 0.0
            down = way < 0
            fits = min([share, *(-center[down] / way[down]).tolist()]) if down.any() else share
            found.append(center + fits * way)
        return found
    n = len(allowed["lower"] if allowed["kind"] == "interval" else allowed["center"])
    if allowed["kind"] == "interval":
        ends = [(_real(a), _real(b)) for a, b in zip(allowed["lower"], allowed["upper"], strict=True)]
        upper, limits, bounds = None, None, [(max(0.0, a), min(1.0, b)) for a, b in ends]
        sums = np.ones((1, n))
    else:
        assert allowed["kind"] == "total_variation"
        center = np.array([_real(v) for v in allowed["center"]])
        assert abs(center.sum() - 1) < ROOM
        assert center.min() >= 0
        eye = np.eye(n)
        upper = np.vstack([np.hstack([eye, -eye]), np.hstack([-eye, -eye]), [[0.0] * n + [1.0] * n]])
        limits = np.concatenate([center, -center, [2 * _real(allowed["radius"])]])
        bounds, sums = [(0.0, 1.0)] * n + [(0.0, None)] * n, np.array([[1.0] * n + [0.0] * n])
    found = []
    for _ in range(count):
        way = np.concatenate([rng.normal(size=n), np.zeros(sums.shape[1] - n)])
        best = linprog(way, upper, limits, sums, [1.0], bounds=bounds)
        assert best.status == 0, "the set is empty"
        assert best.x is not None
        if not any(np.allclose(best.x[:n], known, atol=1e-12) for known in found):
            found.append(best.x[:n])
    return found


def _joints(problem: Any) -> tuple[list[Floats], list[list[Floats]]]:
    """Members of the sets of P(secret), and of each row."""
    rng = np.random.default_rng(5)
    return members_of(problem["prior"], rng, 20), [members_of(row, rng) for row in problem["rows"]]


def _sets(problem: Any, mechanism: Any, claim: Any, bounds: Any) -> bool:
    joint = _table(problem["distribution"])
    channel = _channel(mechanism, joint.shape[1])
    priors, rows = _joints(problem)
    seen = [np.array(row) @ channel for row in rows]  # members by releases
    high, low = (np.array([end(r, axis=0) for r in seen]) for end in (np.max, np.min))
    notion = problem["notion"]
    assert set(problem["levels"]) <= ({"upper", "lower"} if notion == "lip" else {"upper"})
    assert problem["levels"]
    secrets = [s for s in range(len(rows)) if any(p[s] > 1e-12 for p in priors)]
    if notion == "maximal" and high[secrets].max(axis=0).sum() > math.exp(_level(problem, "upper")) + ROOM:
        return True
    if notion == "ldp":
        pairs = [(s, t) for s in secrets for t in secrets if s != t]
        level = _level(problem, "upper")
        if any(_beyond(a, level, b) for s, t in pairs for a, b in zip(high[s], low[t], strict=True)):
            return True
    for s, prior in itertools.product(secrets if notion == "lip" else (), priors):
        if prior[s] < 1e-12:
            continue
        others = [t for t in range(len(rows)) if t != s]
        for y in range(channel.shape[1]):
            least = prior[s] * high[s][y] + sum(prior[t] * low[t][y] for t in others)
            most = prior[s] * low[s][y] + sum(prior[t] * high[t][y] for t in others)
            if "upper" in problem["levels"] and _beyond(high[s][y], _level(problem, "upper"), least):
                return True
            if "lower" in problem["levels"] and _beyond(most, _level(problem, "lower"), low[s][y]):
                return True
    if "worst" in claim:
        loss = np.array([[_real(v) for v in row] for row in problem["loss"]])
        each = (loss * channel).sum(axis=1)
        top = [max(float(r @ each) for r in row) for row in rows]
        if max(float(p @ np.array(top)) for p in priors) > _real(claim["worst"]) + ROOM:
            return True
    return _worth(joint, problem, channel, claim)


def _set_bounds(problem: Any, mechanism: Any, claim: Any, bounds: Any) -> bool:
    """The least cost of a release that keeps the bounds at every end of the set; of a ball, that of one release for all."""
    joint = _table(problem["distribution"])
    loss, p = np.array([[_real(v) for v in row] for row in problem["loss"]]), joint.sum(axis=0)
    (n, m), (priors, rows) = loss.shape, _joints(problem)
    if any(allowed["kind"] == "chi2" for allowed in [problem["prior"], *problem["rows"]]):
        return any(_real(bound["bound"]) > float((p @ loss).min()) + 1e-7 for bound in bounds)
    constraints = []
    level = {name: math.exp(_level(problem, name)) for name in problem["levels"]}
    for some in itertools.product(range(len(rows)), repeat=2) if problem["notion"] == "ldp" else ():
        s, t = some
        constraints += [a - level["upper"] * b for a in rows[s] for b in rows[t] if s != t]
    for prior, *chosen in itertools.product(priors, *rows) if problem["notion"] == "lip" else ():
        mean = prior @ np.array(chosen)
        constraints += [row - level["upper"] * mean for row in chosen if "upper" in level]
        constraints += [mean - level["lower"] * row for row in chosen if "lower" in level]
    blocks = np.unique(np.round(np.array(constraints), 12), axis=0)
    upper = np.vstack([np.kron(blocks, np.eye(m)[y][None, :]) for y in range(m)])
    best = linprog(
        (p[:, None] * loss).ravel(), upper, np.zeros(len(upper)), np.kron(np.eye(n), np.ones(m)), np.ones(n)
    )
    assert best.status == 0
    assert best.fun is not None
    return any(_real(bound["bound"]) > best.fun + 1e-7 for bound in bounds)


def _noise(problem: Any, mechanism: Any) -> float:
    """The level of the noise, which must be as stated."""
    scale, tau = _real(mechanism["scale"]), _level(problem, "noise")
    if mechanism["noise"] == "randomised_response":
        level = abs(math.log((1 - scale) / scale))
    else:
        assert mechanism["noise"] in ("laplace", "discrete_laplace")
        level = _real(problem["sensitivity"]) / scale
        assert level > 0
    assert level <= tau * (1 + ROOM) + 1e-12
    return tau


def _chain_noise(problem: Any, mechanism: Any, claim: Any, bounds: Any) -> bool:
    tau = _noise(problem, mechanism)
    rows = [[Fraction(v, sum(row)) for v in row] for row in problem["transition"]]
    first = [Fraction(v, sum(problem["initial"])) for v in problem["initial"]]
    assert min(min(row) for row in [*rows, first]) >= 0
    n = min(problem.get("length", 6), 6)
    chain = po.MarkovChain(rows, first)
    if n <= 3 or chain.k > 2:
        leak = bayesian_programs.worst_mechanism(
            bayesian_programs.table(chain, min(n, 2 if chain.k > 2 else 3)), tau
        )
    elif all(v > 0 for row in [*rows, first] for v in row):
        leak = float(bayesian.any_mechanism(chain, n, tau, 30))
    else:
        leak = tau
    return leak > _level(problem, "leak") * (1 + 1e-7)


def _gaussian_noise(problem: Any, mechanism: Any, claim: Any, bounds: Any) -> bool:
    tau, epsilon = _noise(problem, mechanism), _level(problem, "leak")
    if bounds[0]["method"] == "group":
        assert int(problem["size"]) > 0
        return int(problem["size"]) * tau > epsilon * (1 + ROOM)
    covariance = np.array([[_real(v) for v in row] for row in problem["covariance"]])
    assert (covariance == covariance.T).all()
    assert np.linalg.eigvalsh(covariance).min() > -1e-9, "no covariance: nothing is claimed"
    assert _real(problem["apart"]) > 0
    moved = gaussian.factor(covariance) * _real(problem["apart"])
    return moved / _real(mechanism["scale"]) > epsilon * (1 + 1e-7)


_KINDS: dict[str, Any] = {
    "exceptions": _exceptions,
    "sets": _sets,
    "set_bounds": _set_bounds,
    "chain_noise": _chain_noise,
    "gaussian_noise": _gaussian_noise,
    "redaction": chain_claims.redaction,
    "redaction_bounds": chain_claims.redaction_bounds,
    "sequence": chain_claims.sequence,
    "information": chain_claims.information,
    "trade_off": chain_claims.trade_off,
    "post_randomisation": chain_claims.post_randomisation,
    "lift_family": lift_claims.lift_family,
}
