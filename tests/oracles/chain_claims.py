"""What proof files of chains, informations and kept tables claim, decided from definitions; a better mechanism refutes a bound.

Sequences, releases and merges of inputs are written out; nothing of the checkers is used. Mechanisms that refute a bound are looked
for: the one of the file, all deterministic ones, and some at random.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np
from scipy.optimize import linprog

from oracles import proof_claims

ROOM = 1e-9
"""By how much, relatively, a claim is exceeded before it counts as broken."""


def _level(problem: Any, name: str) -> float:
    return float(proof_claims.rational(problem["levels"][name]["level"]))


def _beyond(a: Fraction | int, level: float, b: Fraction | int) -> bool:
    """Whether a > e^level b for certain."""
    return a > 0 and (b == 0 or math.log(Fraction(a) / b) > level + ROOM)


def _chain(problem: Any) -> tuple[list[Fraction], list[list[list[Fraction]]]]:
    """The first distribution, and the step to each later record."""
    steps = [problem["steps"][i] for i in problem["step_of"]]
    assert all(
        type(v) is int and v >= 0
        for rows in [[problem["initial"]], *problem["steps"]]
        for row in rows
        for v in row
    )
    assert min([0, *problem["step_of"]]) >= 0
    first = [Fraction(v, sum(problem["initial"])) for v in problem["initial"]]
    return first, [[[Fraction(v, sum(row)) for v in row] for row in rows] for rows in steps]


def _sequences(problem: Any) -> dict[tuple[int, ...], Fraction]:
    """Every sequence with its probability."""
    first, steps = _chain(problem)
    found: dict[tuple[int, ...], Fraction] = {(v,): p for v, p in enumerate(first) if p}
    for rows in steps:
        found = {(*x, v): p * q for x, p in found.items() for v, q in enumerate(rows[x[-1]]) if q}
    return found


def redaction(problem: Any, mechanism: Any, claim: Any, bounds: Any) -> bool:
    """Every output of every sequence, by the values of each private record."""
    hide = [[Fraction(v, mechanism["total"]) for v in row] for row in mechanism["hide"]]
    assert all(0 <= v <= 1 for row in hide for v in row)
    sequences, level = _sequences(problem), _level(problem, "upper")
    assert all(0 <= p < len(hide) for p in problem["private"])
    assert all(len(x) == len(hide) for x in sequences)
    shown = dict[tuple[int, ...], dict[tuple[int, ...], Fraction]]()
    for x, weight in sequences.items():
        outputs: dict[tuple[int, ...], Fraction] = {(): weight}
        for t, v in enumerate(x):
            pair = ((-1, hide[t][v]), (v, 1 - hide[t][v]))
            outputs = {(*y, seen): w * q for y, w in outputs.items() for seen, q in pair if q}
        shown[x] = outputs
    for p in problem["private"]:
        values = sorted({x[p] for x in sequences})
        own = {v: sum(w for x, w in sequences.items() if x[p] == v) for v in values}
        given: dict[int, dict[tuple[int, ...], Fraction]] = {v: {} for v in values}
        for x, outputs in shown.items():
            for y, w in outputs.items():
                given[x[p]][y] = given[x[p]].get(y, Fraction(0)) + w / own[x[p]]
        for a, b in itertools.permutations(values, 2):
            if any(_beyond(w, level, given[b].get(y, Fraction(0))) for y, w in given[a].items()):
                return True
    if "released" not in claim:
        return False
    weights = [proof_claims.rational(w) for w in problem["weights"]]
    each = [sum(p * (1 - hide[t][x[t]]) for x, p in sequences.items()) for t in range(len(hide))]
    share = sum(w * e for w, e in zip(weights, each, strict=True)) / sum(weights)
    return share < proof_claims.rational(claim["released"])


def redaction_bounds(problem: Any, mechanism: Any, claim: Any, bounds: Any) -> bool:
    """Many tables of hiding probabilities: all of 0 and 1, and some at random, each judged by every output."""
    sequences, (p,), level = _sequences(problem), problem["private"], _level(problem, "upper")
    x = np.array(list(sequences))
    chance, n = np.array([float(v) for v in sequences.values()]), x.shape[1]
    assert 0 <= p < n
    rng = np.random.default_rng(3)
    corners = np.array(list(itertools.product((0.0, 1.0), repeat=2 * n - 2)))
    tables = np.insert(
        np.vstack([corners, rng.random((400, 2 * n - 2)), np.round(rng.random((200, 2 * n - 2)), 1)]),
        [2 * p, 2 * p], 1.0, axis=1,
    ).reshape(-1, n, 2)  # fmt: skip
    outputs = np.ones((len(tables), len(x), 1))
    for t in range(n):
        hidden = tables[:, t, x[:, t]]
        shown = [(1 - hidden) * (x[:, t] == v) for v in range(2)]
        outputs = np.concatenate([outputs * part[:, :, None] for part in (hidden, *shown)], axis=2)
    seen = [
        (outputs * (chance * (x[:, p] == v))[None, :, None]).sum(axis=1) / chance[x[:, p] == v].sum()
        for v in range(2)
    ]
    most = math.exp(level) * (1 - 1e-12)
    private = np.all((seen[0] <= most * seen[1]) & (seen[1] <= most * seen[0]), axis=1)
    weights = np.array([float(proof_claims.rational(w)) for w in problem["weights"]])
    share = [((1 - tables[:, t, x[:, t]]) @ chance) * weights[t] for t in range(n)]
    best = float(np.max(np.sum(share, axis=0)[private] / weights.sum(), initial=-math.inf))
    return any(float(proof_claims.rational(b["bound"])) < best - ROOM for b in bounds)


def sequence(problem: Any, mechanism: Any, claim: Any, bounds: Any) -> bool:
    """Every course of releases, with the belief in the letters at each."""
    first, steps = _chain(problem)
    kernels = [[[Fraction(v, sum(row)) for v in row] for row in k["rows"]] for k in mechanism["kernels"]]
    kernels = [
        [k[i] for i in given.get("of", range(len(k)))]
        for k, given in zip(kernels, mechanism["kernels"], strict=True)
    ]
    assert all(v >= 0 and len(k) == len(first) for k in kernels for row in k for v in row)
    loss = [[proof_claims.rational(v) for v in row] for row in problem["loss"]]
    level, lost = _level(problem, "letter"), Fraction(0)
    courses: list[tuple[int, Any, Fraction]] = [(0, first, Fraction(1))]
    for t in range(len(steps) + 1):
        after = list[tuple[int, Any, Fraction]]()
        for node, belief, chance in courses:
            rows = kernels[node]
            mean = [sum(b * row[y] for b, row in zip(belief, rows, strict=True)) for y in range(len(rows[0]))]
            for b, row, costs in zip(belief, rows, loss, strict=True):
                if b and any(
                    _beyond(v, level, m) or _beyond(m, level, v) for v, m in zip(row, mean, strict=True)
                ):
                    return True
                lost += chance * b * sum(v * c for v, c in zip(row, costs, strict=True))
            for y, likely in enumerate(mean if t < len(steps) else []):
                if likely:
                    told = [b * row[y] / likely for b, row in zip(belief, rows, strict=True)]
                    moved = [
                        sum(b * step[v] for b, step in zip(told, steps[t], strict=True))
                        for v in range(len(first))
                    ]
                    follows = mechanism["next"][node][y]
                    assert 0 <= follows < len(kernels)
                    after.append((follows, moved, chance * likely))
        courses = after
    lost /= len(steps) + 1
    if lost > proof_claims.rational(claim["cost"]):
        return True
    return any(proof_claims.rational(b["bound"]) > lost for b in bounds)


def _channels(n: int, own: list[list[Fraction]]) -> Iterator[list[list[Fraction]]]:
    """The channel of a file, all deterministic ones, and some between one of these and what says nothing."""
    yield own
    rng = np.random.default_rng(4)
    for to in itertools.product(range(n), repeat=n):
        rows = [[Fraction(int(y == z)) for y in range(n)] for z in to]
        yield rows
        mix = Fraction(float(rng.random()))
        yield [[mix * v + (1 - mix) / n for v in row] for row in rows]


def _information(weights: Any, rows: list[list[Fraction]]) -> float:
    joint = np.array(weights, dtype=np.float64) @ np.array([[float(v) for v in row] for row in rows])
    joint /= joint.sum()
    outer, seen = joint.sum(axis=1, keepdims=True) * joint.sum(axis=0), joint > 0
    return float((joint[seen] * np.log(joint[seen] / outer[seen])).sum())


def _useful(problem: Any) -> Any:
    if "useful" in problem:
        assert [sum(c) for c in zip(*problem["useful"], strict=True)] == proof_claims.weights_of(problem)
        return problem["useful"]
    weights = proof_claims.weights_of(problem)
    return [[w * (x == i) for i, w in enumerate(weights)] for x in range(len(weights))]


def information(problem: Any, mechanism: Any, claim: Any, bounds: Any) -> bool:
    """Privacy in decimals, what is said in floats."""
    weights, seen = proof_claims.weights_of(problem), _useful(problem)
    rows = proof_claims.rows_of(mechanism, weights)
    stated = float(proof_claims.rational(claim["information"]))
    if proof_claims.leaks(problem, rows) or _information(seen, rows) < stated - ROOM:
        return True
    least = min((float(proof_claims.rational(b["bound"])) for b in bounds), default=math.inf)
    return any(
        _information(seen, other) > least + ROOM and not proof_claims.leaks(problem, other)
        for other in _channels(len(weights), rows)
    )


def trade_off(problem: Any, mechanism: Any, claim: Any, bounds: Any) -> bool:
    """Informations of both symbols, the largest P(y | s) of each release, mean losses."""
    assert "worst" not in problem
    weights = proof_claims.weights_of(problem)
    rows, tables = (
        proof_claims.rows_of(mechanism, weights),
        {"secret": problem["distribution"], "useful": _useful(problem)},
    )
    for name, table in tables.items():
        ends = [float(proof_claims.rational(v)) for v in claim.get(name, [])]
        if ends and not ends[0] - ROOM <= _information(table, rows) <= ends[1] + ROOM:
            return True
    if "maximal" in claim:
        of_secret = [
            [sum(v * row[y] for v, row in zip(s, rows, strict=True)) / sum(s) for y in range(len(rows[0]))]
            for s in problem["distribution"]
            if any(s)
        ]
        total = sum(max(column) for column in zip(*of_secret, strict=True))
        if _beyond(total, float(proof_claims.rational(claim["maximal"]["level"])), Fraction(1)):
            return True
    if "cost" in claim and proof_claims.cost_of(problem, rows) > proof_claims.rational(claim["cost"]):
        return True
    for bound in bounds:
        s, x, most = (float(proof_claims.rational(bound[key])) for key in ("secret", "useful", "bound"))
        for other in _channels(len(weights), rows):
            if (
                s * _information(tables["secret"], other) + x * _information(tables["useful"], other)
                > most + ROOM
            ):
                return True
    return False


def post_randomisation(problem: Any, mechanism: Any, claim: Any, bounds: Any) -> bool:
    """Privacy and tables exactly, the least cost by a linear program in floats."""
    weights = proof_claims.weights_of(problem)
    rows, kept = proof_claims.rows_of(mechanism, weights), [weights, *problem["kept"]]
    if proof_claims.leaks(problem, rows) or proof_claims.cost_of(problem, rows) > proof_claims.rational(
        claim["cost"]
    ):
        return True
    if any(
        sum(v * row[y] for v, row in zip(table, rows, strict=True)) != table[y]
        for table in kept
        for y in range(len(rows[0]))
    ):
        return True
    cost = np.array([[float(c) for c in row] for row in proof_claims.losses(problem)])
    n, m = cost.shape
    near = [
        np.array(a, dtype=np.float64) / sum(a)
        - math.exp(float(proof_claims.rational(level))) * np.array(b, dtype=np.float64) / sum(b)
        for a, b, level in proof_claims.neighbours(problem)
    ]
    upper = np.vstack([np.kron(row, np.eye(m)[y]) for row in near for y in range(m)])
    equal = np.vstack(
        [
            np.kron(np.eye(n), np.ones(m)),
            *[np.kron(np.array(table, dtype=np.float64), np.eye(m)) for table in kept],
        ]
    )
    right = np.concatenate([np.ones(n), *[np.array(table, dtype=np.float64) for table in kept]])
    best = linprog(cost.ravel(), upper, np.zeros(len(upper)), equal, right)
    return best.status == 0 and any(
        float(proof_claims.rational(b["bound"])) > float(best.fun or 0.0) + 1e-7 for b in bounds
    )


def exceptions_bounds(problem: Any, bounds: Any) -> bool:
    """The least cost of releases that may break the levels of any set of secrets, paid from delta: a linear program."""
    joint = np.array(problem["distribution"], dtype=np.float64)
    joint = joint[joint.sum(axis=1) > 0] / joint.sum()
    cost = np.array([[float(c) for c in row] for row in proof_claims.losses(problem)])
    (n, m), p = cost.shape, joint.sum(axis=0)
    parts = [
        some for size in range(len(joint) + 1) for some in itertools.combinations(range(len(joint)), size)
    ]
    upper, right = [], []
    for t, some in enumerate(parts):
        for s in set(range(len(joint))) - set(some):
            own = joint[s] / joint[s].sum()
            for name in problem["levels"]:
                e = math.exp(_level(problem, name))
                beyond = own - e * p if name == "upper" else p - e * own
                for y in range(m):
                    row = np.zeros((len(parts), n, m))
                    row[t, :, y] = beyond
                    upper.append(row.ravel())
                    right.append(0.0)
    spent = [np.repeat(joint[list(some)].sum(axis=0), m) for some in parts]
    upper.append(np.concatenate(spent))
    right.append(float(proof_claims.rational(problem["delta"])))
    equal = np.tile(np.kron(np.eye(n), np.ones(m)), len(parts))
    best = linprog(np.tile(cost.ravel(), len(parts)), np.array(upper), right, equal, np.ones(n))
    return best.status == 0 and any(
        float(proof_claims.rational(b["bound"])) > float(best.fun or 0.0) + 1e-7 for b in bounds
    )
