"""Whether the claims of a stored answer hold: decided from two JSON documents, by brute force in rationals and 256-bit balls.

Nothing of the library is imported. What is decided is the truth of statements, not whether a proof came with them:
a true bound beside a broken proof of it is no false claim. Words, times, statistics and alternatives claim nothing.

It knows joints without a third variable, mergings and channels, graphs of a few datasets, chains of two states and a
few records, binary one-letter policies of the rule "closed-form", and noise on groups, pairs of Gaussian records and
short counted chains. What it cannot decide it leaves out, so that it never calls a true claim false.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import math
import struct
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from flint import arb, ctx, fmpq

Json = dict[str, Any]
Table = list[list[Fraction]]

READING = 1e-12
"""What a stated number may be off by, relative to itself."""
READING_0_1_0 = 1e-9
"""The same, relative to max(1, number), in records of version 0.1.0."""
MET = 1e-9
"""What a prescribed value of a colouring may be missed by, and rounded probabilities may miss 1 by."""
KERNEL = 1e-6
"""What the kernels of a policy lose to their rounding to integers, relatively."""
FLOOR = 1e-12
"""Nats by which a floor on utility may be missed."""


class Undecided(Exception):
    """What this brute force does not know."""


MALFORMED = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError, struct.error)


@dataclass
class Truth:
    """What is so.

    Parameters
    ----------
    private : bool or None
        Whether the budget is kept; None where that is not decided.
    utility, leakage : pairs of balls (lo, hi)
        The exact number is in between.
    worst : set of pairs, or None
        All that leak most; None where that is not decided.
    """

    private: bool | None
    utility: tuple[Any, Any]
    leakage: tuple[Any, Any]
    worst: set[tuple[Any, ...]] | None = None


def broken(problem: Json, solution: Json, attained: arb | None = None) -> str | None:
    """The first claim of a stored solution that does not hold, or None; what cannot be read is one.

    ``attained`` is the objective of some mechanism that is known to be allowed: no bound may be below it.
    """
    with _precision():
        try:
            return next(_Claims(problem, solution, attained).broken(), None)
        except Undecided:
            return None
        except MALFORMED as cause:
            return f"malformed: {type(cause).__name__}: {cause}"


def objective(problem: Json, mechanism: Json) -> arb | None:
    """A ball around the objective that a mechanism attains, or None if it does not surely keep the budget."""
    with _precision():
        found = truth(problem, mechanism)
        if found.private is not True:
            return None
        return _objective(problem, found.utility[0], found.leakage[1])


_KNOWN: dict[str, Truth] = {}
"""The last truths found; most corruptions leave the mechanism alone."""


def truth(problem: Json, mechanism: Json) -> Truth:
    """What holds of a mechanism under a problem."""
    key = json.dumps([problem, mechanism], default=repr)
    if key not in _KNOWN:
        if len(_KNOWN) > 1000:
            _KNOWN.clear()
        _KNOWN[key] = TRUTHS[problem["type"]](problem, mechanism)
    return _KNOWN[key]


@contextmanager
def _precision() -> Iterator[None]:
    saved, ctx.prec = ctx.prec, 256
    try:
        yield
    finally:
        ctx.prec = saved


@dataclass
class _Claims:
    problem: Json
    solution: Json
    attained: arb | None

    def broken(self) -> Iterator[str]:
        s, c = self.solution, self.solution["certificate"]
        if s["format"] != "privopt/solution" or not _among(s["version"], (1, 2)):
            yield "format"
        if c is None or s["mechanism"] is None or s["status"] not in ("OPTIMAL", "GAP", "FEASIBLE"):
            yield "nothing certified"
            return
        if c["ok"] is not True or not _among(c["version"], (1, 2)):
            yield "the certificate is not one"
        if not _among(s["mechanism"].get("version", 1), (1,)):
            yield "version of the mechanism"
        old = c["version"] == 1
        self.reading = (READING_0_1_0, 1.0) if old else (READING, 0.0)
        if {s["problem"], c["problem"]} != {problem_fingerprint(self.problem)}:
            yield "fingerprint of the problem"
        if c["mechanism"] != mechanism_fingerprint(s["mechanism"]):
            yield "fingerprint of the mechanism"
        if number(c["budget"]) != budget(self.problem):
            yield "budget"
        found = truth(self.problem, s["mechanism"])
        if found.private is False:
            yield "the budget is not kept"
        for name, exact in (("utility", found.utility), ("leakage", found.leakage)):
            if not self._near(number(s[name]), exact):
                yield name
            lo, hi = map(number, c[name])
            if not lo <= hi or not self._reaches(lo, hi, exact):
                yield f"enclosure of the {name}"
        worst = tuple(label(name) for name in c["worst"])
        if worst and found.worst is not None and worst not in found.worst:
            yield "worst pair"
        yield from self._standing(old)

    def _near(self, stated: float, exact: tuple[Any, Any]) -> bool:
        """Whether a number is within what is exact, up to its reading; an infinity only where the exact number is one."""
        lo, hi = exact
        if math.isinf(stated):
            return bool(lo <= stated) and bool(hi >= stated)
        relative, unit = self.reading
        room = relative * max(unit, abs(stated), *(abs(float(end.mid())) for end in exact if end.is_finite()))
        return not (lo > arb(stated) + room or hi < arb(stated) - room)

    def _reaches(self, low: float, high: float, exact: tuple[Any, Any]) -> bool:
        """Whether an enclosure holds the exact number, up to its reading."""
        from_below = bool(exact[1] >= low) or self._near(low, exact)
        return from_below and (bool(exact[0] <= high) or self._near(high, exact))

    def _standing(self, old: bool) -> Iterator[str]:
        s = self.solution
        stated = number(s["objective"])
        utility, leakage = number(s["utility"]), number(s["leakage"])
        follows = _objective(self.problem, arb(utility), arb(leakage))
        size = abs(utility) + abs(leakage) if _weighed(self.problem) else 0.0
        if not math.isfinite(stated) or abs(follows - stated) > arb(READING) * size:
            yield "objective"
        if s["bound"] is None:
            if (s["gap"], s["status"], s["guarantee"]) != (None, "FEASIBLE", "FEASIBLE"):
                yield "standing"
            return
        bound = number(s["bound"])
        slack = READING_0_1_0 * max(1.0, abs(bound)) if old and math.isfinite(bound) else 0.0
        if not bound >= stated - slack:
            yield "the bound is below the objective"
        if self.attained is not None and self.attained > arb(bound) + slack:
            yield "the bound is below what is attained"
        gap, right = number(s["gap"]), max(bound, stated) - stated
        if (
            abs(gap - right) > max(READING * abs(right), READING * 1e-15)
            if math.isfinite(right)
            else gap != right
        ):
            yield "gap"
        optimal = gap <= max(1e-15, 1e-6 * _scale(self.problem, utility, leakage, stated))
        allowed = gap <= 1e-6 * max(1.0, abs(stated)) if old else optimal
        names = (s["status"], s["guarantee"])
        if names != ("GAP", "BOUNDED") and not (names == ("OPTIMAL", "OPTIMAL") and (optimal or allowed)):
            yield "standing"


def _among(value: object, known: tuple[int, ...]) -> bool:
    return not isinstance(value, bool) and value in known


def number(value: object) -> float:
    """A float of a file."""
    if isinstance(value, str) and value in ("inf", "-inf"):
        return float(value)
    if isinstance(value, bool) or not isinstance(value, (int, float)) or math.isnan(value):
        raise ValueError(f"{value!r} is no number")
    return float(value)


def ratio(value: object) -> Fraction:
    """An exact number of a file: a float as the rational it stores, or "a/b"."""
    if isinstance(value, str):
        if value.strip("0123456789/") or value.count("/") > 1:
            raise ValueError(f"{value!r} is no fraction")
        return Fraction(value)
    found = number(value)
    return Fraction(value) if isinstance(value, int) else Fraction(found)


def label(value: Any) -> Any:
    """A label of a file."""
    if isinstance(value, dict):
        if set(value) == {"tuple"}:
            return tuple(map(label, value["tuple"]))
        if set(value) == {"float"} and value["float"] in ("inf", "-inf"):
            return float(value["float"])
        raise ValueError(f"{value!r} is no label")
    if not isinstance(value, (str, int, float)):
        raise TypeError(f"{value!r} is no label")
    return value


def labels(values: object, count: int) -> list[Any]:
    """Distinct labels; 0, 1, ... where none are given."""
    if values is None:
        return list(range(count))
    if not isinstance(values, list) or len(values) != count:
        raise ValueError("labels do not fit")
    found = [label(value) for value in values]
    if len(set(found)) != count:
        raise ValueError("labels are not distinct")
    return found


def ball(value: Fraction | int) -> arb:
    """A rational as a ball."""
    exact = Fraction(value)
    return arb(fmpq(exact.numerator, exact.denominator))


def _log(value: Fraction) -> arb:
    return ball(value).log() if value else arb("-inf")


def at_most_exp(value: Fraction | None, level: float) -> bool:
    """Whether a ratio (None for infinity) is at most e^level."""
    if level == math.inf:
        return True
    if value is None:
        return False
    if level == 0 or value == 0:
        return value <= 1
    limit = arb(level).exp()
    if ball(value) < limit or ball(value) > limit:
        return bool(ball(value) < limit)
    raise Undecided("256 bits do not decide")


# Budgets, objectives, scales


def budget(problem: Json) -> float:
    """The number that bounds the answer."""
    if problem["type"] == "local_information_privacy":
        sides = [number(problem[side]) for side in ("lower", "upper")]
        return max((side for side in sides if side < math.inf), default=math.inf)
    for name in ("epsilon", "max_distortion", "max_leakage", "min_utility", "max_rate", "trade_off"):
        if name in problem:
            return number(problem[name])
    raise KeyError("budget")


def _weighed(problem: Json) -> bool:
    return "trade_off" in problem


def _objective(problem: Json, utility: arb, leakage: arb) -> arb:
    if _weighed(problem):
        weight = arb(number(problem["trade_off"]))
        return (
            weight * utility - leakage if problem["type"] == "privacy_funnel" else utility - weight * leakage
        )
    return -leakage if "min_utility" in problem or "max_distortion" in problem else utility


def _scale(problem: Json, utility: float, leakage: float, stated: float) -> float:
    kind = problem["type"]
    if _weighed(problem):
        weight = number(problem["trade_off"])
        parts = (
            (weight * abs(utility), abs(leakage))
            if kind == "privacy_funnel"
            else (abs(utility), weight * abs(leakage))
        )
        return sum(parts)
    errors = ("distortion_privacy", "belief_release", "sequence_information_privacy", "bayesian_privacy")
    cost = kind == "local_information_privacy" and problem["utility"] != "mutual_information"
    return abs(stated) if kind in errors or cost or "min_utility" in problem else min(1.0, abs(stated))


# Fingerprints


def canonical(fields: Json) -> str:
    """SHA-256 of a document."""
    text = json.dumps(fields, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()


def problem_fingerprint(problem: Json) -> str:
    """What identifies a question."""
    if problem["type"] != "boundary_colouring":
        return canonical(problem)
    if isinstance(problem["boundary"], (list, dict)):
        raise Undecided("prescribed boundaries")
    graph, neighbours, codes = problem["graph"], _neighbours(problem["graph"]), _codes(problem["graph"])
    palette = tuple(label(c) for c in graph["palette"])
    ends = list(itertools.accumulate(map(len, neighbours), initial=0))
    flat = [v for row in neighbours for v in row]
    digest = hashlib.sha256(f"{palette!r}".encode())
    digest.update(struct.pack(f"<{len(ends)}q", *ends) + struct.pack(f"<{len(flat)}i", *flat))
    digest.update(struct.pack(f"<{len(codes)}h", *codes))
    if graph["vertices"] is not None:
        digest.update(repr(tuple(label(v) for v in graph["vertices"])).encode())
    head = (
        problem["type"],
        digest.hexdigest(),
        float(problem["epsilon"]),
        float(problem["delta"]),
        problem["objective"],
    )
    whole = hashlib.sha256(repr(head).encode())
    whole.update(repr(problem["boundary"]).encode())
    if problem["weights"] is not None:
        whole.update(struct.pack(f"<{len(codes)}d", *problem["weights"]))
    return whole.hexdigest()


def mechanism_fingerprint(mechanism: Json) -> str:
    """What identifies a mechanism: the hash of the document in which numbers are floats and fractions in lowest terms."""
    simulated = mechanism.get("simulation_only", False) is True
    if mechanism["type"] == "channel":
        rows = [[_plain(v) for v in row] for row in mechanism["matrix"]]
        given = {"inputs": mechanism.get("inputs"), "outputs": mechanism.get("outputs")}
        sizes = {"inputs": len(rows), "outputs": len(rows[0])}
        names = {key: list(range(sizes[key])) if value is None else value for key, value in given.items()}
        return canonical(
            {"type": "channel", "version": 1, "matrix": rows, **names, "simulation_only": simulated}
        )
    if mechanism["type"] == "colouring":
        levels, level = _levels(mechanism["levels"]), mechanism["level"]
        colours = tuple(labels(mechanism.get("colours"), len(levels[0])))
        digest = hashlib.sha256(f"{colours!r}{simulated}".encode())
        digest.update(b"".join(struct.pack("<d", v) for row in levels for v in row))
        digest.update(struct.pack(f"<{len(level)}i", *level))
        if mechanism.get("answers") is not None:
            digest.update(struct.pack(f"<{len(level)}h", *mechanism["answers"]))
        if mechanism.get("vertices") is not None:
            digest.update(repr(tuple(label(v) for v in mechanism["vertices"])).encode())
        return digest.hexdigest()
    if mechanism["type"] == "redaction":
        rows = [[number(v) + 0.0 for v in row] for row in mechanism["probabilities"]]
        weights = [[math.ceil(v * 2.0**52) for v in row] for row in rows]
        states = mechanism.get("states")
        known = {
            "states": list(range(len(rows[0]))) if states is None else states,
            "sequential": mechanism.get("sequential"),
        }
        fields = {
            "type": "redaction",
            "version": 1,
            "probabilities": rows,
            "total": 2**52,
            "weights": weights,
        }
        return canonical({**fields, **known, "simulation_only": simulated})
    if mechanism["type"] == "noisy_query":
        numbers = {name: _encoded(number(mechanism[name])) for name in ("scale", "tau", "leakage")}
        clip = mechanism.get("clip")
        known = {**numbers, "clip": None if clip is None else [float(v) + 0.0 for v in clip], "version": 1}
        return canonical({**DEFAULTS["noisy_query"], **mechanism, **known, "simulation_only": simulated})
    whole = {**DEFAULTS.get(mechanism["type"], {}), **mechanism, "version": 1, "simulation_only": simulated}
    if "chain" in whole:
        whole["chain"] = {**whole["chain"], "version": 1}
    return canonical(whole)


DEFAULTS: dict[str, Json] = {
    "sequence_policy": {
        "batch": 1, "distortion": "hamming", "rule": "closed-form", "enforced": True, "limit": 2**20, "prepared": [],
    },
    "noisy_query": {"clip": None, "length": None, "states": None},
}  # fmt: skip


def _encoded(value: float) -> float | str:
    return value + 0.0 if math.isfinite(value) else str(value)


def _plain(value: object) -> float | str:
    if isinstance(value, str):
        exact = ratio(value)
        return f"{exact.numerator}/{exact.denominator}"
    return number(value) + 0.0


# Mechanisms as rationals


def rows_of_floats(matrix: list[list[Any]]) -> Table:
    """Rows of probabilities: floats as they are, but the largest of a row takes what it misses of 1; fractions over their sum."""
    if not matrix or not all(isinstance(row, list) and len(row) == len(matrix[0]) > 0 for row in matrix):
        raise ValueError("not a table")
    found = []
    for row in matrix:
        exact = [ratio(v) for v in row]
        if min(exact) < 0 or abs(sum(exact) - 1) > MET * 1.01:
            raise ValueError("not probabilities")
        if any(isinstance(v, str) for v in row):
            found.append([v / sum(exact) for v in exact])
            continue
        total = math.fsum(map(float, row))
        floats = [Fraction(float(v) if total == 1.0 else float(v) / total) for v in row]
        top = floats.index(max(floats))
        floats[top] += 1 - sum(floats)
        found.append(floats)
    return found


def _levels(levels: list[list[Any]]) -> list[list[float]]:
    found = []
    for row in levels:
        values = [number(v) + 0.0 for v in row]
        if min(values) < 0 or abs(math.fsum(values) - 1) > MET:
            raise ValueError("not probabilities")
        total = math.fsum(values)
        found.append([v / total for v in values] if abs(total - 1) > (len(values) + 1) * 2.0**-52 else values)
    return found


def channel(mechanism: Json, inputs: Sequence[Any]) -> tuple[Table, list[Any]]:
    """Kernel and names of the outputs of a channel or a merging of known inputs."""
    if mechanism["type"] == "channel":
        kernel = rows_of_floats(mechanism["matrix"])
        if labels(mechanism.get("inputs"), len(kernel)) != list(inputs):
            raise ValueError("other inputs")
        return kernel, labels(mechanism.get("outputs"), len(kernel[0]))
    if mechanism["type"] != "merging":
        raise ValueError("no channel")
    blocks = [[label(v) for v in block] for block in mechanism["blocks"]]
    if sorted(map(repr, inputs)) != sorted(repr(v) for block in blocks for v in block):
        raise ValueError("not a partition")
    own = mechanism.get("inputs")
    if own is not None and [label(v) for v in own] != list(inputs):
        raise ValueError("other inputs")
    return [[Fraction(int(x in block)) for block in blocks] for x in inputs], list(range(len(blocks)))


def joint(model: Json) -> tuple[Table, list[Any], list[Any]]:
    """P(s, x) with the names of both."""
    if model["type"] != "joint_distribution":
        raise Undecided(model["type"])
    table = [[ratio(v) for v in row] for row in model["table"]]
    total = sum(map(sum, table))
    if min(map(min, table)) < 0 or total <= 0 or not (model["normalised"] or abs(total - 1) <= MET):
        raise ValueError("not a distribution")
    names = labels(model["sensitive"], len(table)), labels(model["useful"], len(table[0]))
    return [[v / total for v in row] for row in table], *names


def through(table: Table, kernel: Table) -> Table:
    """P(s, y)."""
    return [
        [
            sum((p * k[y] for p, k in zip(row, kernel, strict=True)), Fraction(0))
            for y in range(len(kernel[0]))
        ]
        for row in table
    ]


def _margins(table: Table) -> tuple[list[Fraction], list[Fraction]]:
    return [sum(row, Fraction(0)) for row in table], [
        sum(col, Fraction(0)) for col in zip(*table, strict=True)
    ]


def information(table: Table) -> arb:
    """I of the two of a joint table."""
    rows, columns = _margins(table)
    found = arb(0)
    for r, row in zip(rows, table, strict=True):
        for c, p in zip(columns, row, strict=True):
            if p and p != r * c:
                found += ball(p) * _log(p / (r * c))
    return found


def _diagonal(p: Sequence[Fraction]) -> Table:
    return [[p[i] if i == j else Fraction(0) for j in range(len(p))] for i in range(len(p))]


def _largest(ratios: dict[tuple[Any, Any], Fraction | None]) -> tuple[Fraction | None, set[tuple[Any, ...]]]:
    """The largest ratio, None for infinity, and all pairs that reach it."""
    top = (
        None
        if None in ratios.values()
        else max([v for v in ratios.values() if v is not None], default=Fraction(1))
    )
    return top, {pair for pair, v in ratios.items() if v == top}


def _both(value: arb) -> tuple[arb, arb]:
    return value, value


def _log_of(value: Fraction | None) -> arb:
    return arb("inf") if value is None else _log(max(value, Fraction(1)))


# Problems


def _lip(problem: Json, mechanism: Json) -> Truth:
    table, secrets, symbols = joint(problem["joint"])
    kernel, outputs = channel(mechanism, symbols)
    lower, upper = number(problem["lower"]), number(problem["upper"])
    return _ratios(
        table,
        secrets,
        outputs,
        kernel,
        problem["notion"],
        lower,
        upper,
        ratio(problem["delta"]),
        problem["utility"],
    )


def _belief(problem: Json, mechanism: Json) -> Truth:
    given = [ratio(v) for v in problem["belief"]]
    if min(given) < 0 or abs(sum(given) - 1) > MET:
        raise ValueError("no belief")
    names = labels(problem["letters"], len(given))
    kernel, outputs = channel(mechanism, names)
    level, table = number(problem["epsilon"]), _diagonal([p / sum(given) for p in given])
    return _ratios(
        table, names, outputs, kernel, "lip", level, level, Fraction(0), costs(problem["distortion"], names)
    )


def costs(distortion: Any, names: Sequence[Any]) -> list[list[Any]]:
    """D[x, y] of letters."""
    if isinstance(distortion, str):
        by = {
            "hamming": lambda a, b: int(a != b),
            "l1": lambda a, b: abs(a - b),
            "squared": lambda a, b: (a - b) ** 2,
        }
        return [[by[distortion](a, b) for b in names] for a in names]
    return distortion


def _ratios(
    table: Table, secrets: Sequence[Any], outputs: Sequence[Any], kernel: Table, notion: str, lower: float, upper: float,
    delta: Fraction, utility: Any,
) -> Truth:  # fmt: skip
    law = through(table, kernel)
    p_s, p_y = _margins(law)
    private, mass = True, Fraction(0)
    ratios: dict[tuple[Any, Any], Fraction | None] = {}
    weight: dict[tuple[Any, Any], Fraction] = {}
    for (i, s), (j, y) in itertools.product(enumerate(secrets), enumerate(outputs)):
        if not p_s[i] or not p_y[j]:
            continue
        if notion == "ldp":
            least = min(law[k][j] / p for k, p in enumerate(p_s) if p)
            high = None if not least else (law[i][j] / p_s[i]) / least
            if not least and not law[i][j]:
                high = Fraction(1)
            kept = at_most_exp(
                high,
                max(v for v in (lower, upper) if v < math.inf) if min(lower, upper) < math.inf else math.inf,
            )
        else:
            up = law[i][j] / (p_s[i] * p_y[j])
            down = None if not up else 1 / up
            kept = at_most_exp(up, upper) and at_most_exp(down, lower)
            high = (
                (up if upper < math.inf else Fraction(1))
                if up >= 1
                else (down if lower < math.inf else Fraction(1))
            )
        ratios[s, y], weight[s, y] = high, law[i][j]
        private &= kept
        mass += 0 if kept else law[i][j]
    if delta:
        private, (top, worst) = mass <= delta, _level(ratios, weight, delta)
    else:
        top, worst = _largest(ratios)
    p_x = _margins(table)[1]
    return Truth(private, _both(_usefulness(p_x, kernel, utility)), _both(_log_of(top)), worst)


def _level(
    ratios: dict[Any, Fraction | None], weight: dict[Any, Fraction], delta: Fraction
) -> tuple[Fraction | None, set[Any]]:
    """The least level beyond which pairs have probability at most delta, and the pairs at it."""
    order = sorted(ratios, key=lambda pair: (ratios[pair] is not None, -(ratios[pair] or 0)))
    mass = Fraction(0)
    for pair in order:
        mass += weight[pair]
        if mass > delta:
            return ratios[pair], {other for other in order if ratios[other] == ratios[pair]}
    return Fraction(1), set(ratios)


def _usefulness(p_x: Sequence[Fraction], kernel: Table, utility: Any) -> arb:
    if utility == "mutual_information":
        return information([[p * k for k in row] for p, row in zip(p_x, kernel, strict=True)])
    cost = [
        [ratio(v) for v in row] if not _signed(row) else [Fraction(number(v)) for v in row] for row in utility
    ]
    if len(cost) != len(kernel) or any(len(row) != len(kernel[0]) for row in cost):
        raise ValueError("the distortion does not fit")
    return -ball(
        sum(
            (
                p * k * d
                for p, row, line in zip(p_x, kernel, cost, strict=True)
                for k, d in zip(row, line, strict=True)
            ),
            Fraction(0),
        )
    )


def _signed(row: Sequence[Any]) -> bool:
    return not any(isinstance(v, str) for v in row)


def _distortion(problem: Json, mechanism: Json) -> Truth:
    table, secrets, symbols = joint(problem["joint"])
    kernel, outputs = channel(mechanism, symbols)
    utility = _usefulness(_margins(table)[1], kernel, problem["distortion"])
    law = through(table, kernel)
    kind, level = problem["leakage"], budget(problem)
    worst = None
    if kind in ("lip", "ldp"):
        bound = level if "max_leakage" in problem else math.inf
        found = _ratios(
            table, secrets, outputs, kernel, kind, bound, bound, Fraction(0), problem["distortion"]
        )
        free = _ratios(table, secrets, outputs, kernel, kind, 1.0, 1.0, Fraction(0), problem["distortion"])
        leakage, kept = free.leakage[0], found.private
    elif kind == "maximal_leakage":
        p_s = _margins(law)[0]
        total = sum(max(law[i][j] / p for i, p in enumerate(p_s) if p) for j in range(len(outputs)))
        leakage, kept = _log(total), at_most_exp(total, level) if "max_leakage" in problem else None
    elif kind == "mutual_information":
        leakage = information(law)
        kept = bool(leakage <= level) if "max_leakage" in problem else None
    else:
        raise Undecided(kind)
    if "max_distortion" in problem:
        kept = level == math.inf or bool(-utility <= level)
    return Truth(kept, _both(utility), _both(leakage), worst)


def _two_informations(problem: Json, mechanism: Json) -> Truth:
    table, _, symbols = joint(problem["joint"])
    if problem["form"] == "merging" and mechanism["type"] != "merging":
        raise ValueError("not a merging")
    kernel, _ = channel(mechanism, symbols)
    p_x = _margins(table)[1]
    secret = information(through(table, kernel))
    useful = information([[p * k for k in row] for p, row in zip(p_x, kernel, strict=True)])
    utility, leakage = (useful, secret) if problem["type"] == "privacy_funnel" else (secret, useful)
    level = budget(problem)
    if "min_utility" in problem:
        kept = bool(utility >= arb(level) - FLOOR)
    else:
        kept = "trade_off" in problem or level == math.inf or bool(leakage <= level)
    return Truth(kept, _both(utility), _both(leakage))


def _codes(graph: Json) -> list[int]:
    palette = [label(c) for c in graph["palette"]]
    return [palette.index(label(c)) for c in graph["colours"]]


def _neighbours(graph: Json) -> list[list[int]]:
    names = labels(graph["vertices"], len(graph["colours"]))
    found: list[set[int]] = [set() for _ in names]
    for a, b in graph["edges"]:
        i, j = names.index(label(a)), names.index(label(b))
        if i != j:
            found[i].add(j)
            found[j].add(i)
    return [sorted(row) for row in found]


def _colouring(problem: Json, mechanism: Json) -> Truth:
    graph = problem["graph"]
    codes, neighbours = _codes(graph), _neighbours(graph)
    names = labels(graph["vertices"], len(codes))
    levels = rows_of_floats(_levels(mechanism["levels"]))
    colours = labels(mechanism.get("colours"), len(levels[0]))
    level = mechanism["level"]
    if not all(type(v) is int and 0 <= v < len(levels) for v in level) or len(level) != len(codes):
        raise ValueError("no level")
    own = mechanism.get("vertices")
    if colours != [label(c) for c in graph["palette"]] or mechanism.get("answers") not in (None, codes):
        raise ValueError("another palette or other answers")
    if (own is None) != (graph["vertices"] is None) or (own is not None and [label(v) for v in own] != names):
        raise ValueError("other vertices")
    rows, delta, epsilon = [levels[v] for v in level], ratio(problem["delta"]), number(problem["epsilon"])
    ratios: dict[tuple[Any, Any], Fraction | None] = {}
    for u, row in enumerate(neighbours):
        for v in row:
            ratios[names[u], names[v]] = _least_ratio(rows[u], rows[v], delta)
    top, worst = _largest(ratios)
    kept = at_most_exp(top if top is None else max(top, Fraction(1)), epsilon)
    if problem["boundary"] == "balanced" and len(colours) == 2:
        grown = arb(epsilon).exp()
        most = (grown + ball(delta)) / (1 + grown)
        sites = [v for v, row in enumerate(neighbours) if any(codes[w] != codes[v] for w in row)]
        kept &= all(not (ball(rows[v][codes[v]]) > most + 2 * MET) for v in sites)
    elif problem["boundary"] not in (None, "balanced"):
        raise Undecided("prescribed boundaries")
    right = [row[c] for row, c in zip(rows, codes, strict=True)]
    weights = (
        [Fraction(1)] * len(right) if problem["weights"] is None else [ratio(w) for w in problem["weights"]]
    )
    mean = sum((w * a for w, a in zip(weights, right, strict=True)), Fraction(0)) / sum(weights)
    utility = min(right) if problem["objective"] == "worst_case" else mean
    return Truth(kept, _both(ball(utility)), _both(_log_of(top)), worst)


def _least_ratio(p: Sequence[Fraction], q: Sequence[Fraction], delta: Fraction) -> Fraction | None:
    """The least r >= 1 with sum_c max(0, p_c - r q_c) <= delta; None for infinity."""
    parts = sorted(
        ((a / b if b else None, a, b) for a, b in zip(p, q, strict=True)),
        key=lambda t: (t[0] is None, t[0] or 0),
    )
    base = sum((a for r, a, b in parts if r is None), Fraction(0))
    if base > delta:
        return None
    best: Fraction | None = None
    for count in range(len(parts) + 1):
        used = [(a, b) for r, a, b in parts[count:]]
        slope, height = sum((b for _, b in used), Fraction(0)), sum((a for a, _ in used), Fraction(0))
        r = max(Fraction(1), (height - delta) / slope) if slope else Fraction(1)
        for x in (r, *(v for v, _, _ in parts if v is not None)):
            x = max(x, Fraction(1))
            if sum(
                (max(Fraction(0), a - x * b) for a, b in zip(p, q, strict=True)), Fraction(0)
            ) <= delta and (best is None or x < best):
                best = x
    return best


def chain(model: Json) -> tuple[list[Fraction], Table, list[Any]]:
    """Initial distribution, transition matrix and states of a homogeneous chain of two states."""
    if model["type"] != "markov_chain" or model["order"] != 1:
        raise Undecided("chain")
    rows = [[ratio(v) for v in row] for row in model["transition"]]
    if [len(row) for row in rows] != [2, 2]:
        raise Undecided("chain of other than two states")
    given = model["initial"]
    for row in [*rows, *([] if given is None else [[ratio(v) for v in given]])]:
        if min(row) < 0 or sum(row) <= 0 or not (model["normalised"] or abs(sum(row) - 1) <= MET):
            raise ValueError("not a distribution")
    rows = [[v / sum(row) for v in row] for row in rows]
    if given is None:
        a, b = rows[0][1], rows[1][0]
        initial = [b / (a + b), a / (a + b)]
    else:
        exact = [ratio(v) for v in given]
        initial = [v / sum(exact) for v in exact]
    return initial, rows, labels(model["states"], 2)


def words(model: Json, length: int) -> dict[tuple[int, ...], Fraction]:
    """The probability of every sequence."""
    initial, rows, _ = chain(model)
    found = {}
    for word in itertools.product((0, 1), repeat=length):
        p = initial[word[0]]
        for a, b in itertools.pairwise(word):
            p *= rows[a][b]
        if p:
            found[word] = p
    return found


def _redaction(problem: Json, mechanism: Json) -> Truth:
    if mechanism["type"] != "redaction" or mechanism.get("total", 2**52) != 2**52:
        raise ValueError("no redaction")
    length, private, form = problem["length"], problem["private"], problem["form"]
    table = [[number(v) for v in row] for row in mechanism["probabilities"]]
    if len(table) != length or any(len(row) != 2 or not all(0 <= v <= 1 for v in row) for row in table):
        raise ValueError("no table of probabilities")
    weights = [[math.ceil(v * 2.0**52) for v in row] for row in table]
    if (
        mechanism.get("weights", weights) != weights
        or labels(mechanism.get("states"), 2) != chain(problem["chain"])[2]
    ):
        raise ValueError("other weights or states")
    if mechanism.get("sequential") != (private[0] if form == "sequential" else None):
        raise ValueError("another form")
    hide = [[Fraction(v, 2**52) for v in row] for row in weights]
    states = chain(problem["chain"])[2]
    outputs: dict[int, dict[Any, list[Fraction]]] = {
        p: defaultdict(lambda: [Fraction(0)] * 2) for p in private
    }
    released, marginal = [Fraction(0)] * length, {p: [Fraction(0)] * 2 for p in private}
    for word, p_word in words(problem["chain"], length).items():
        for p in private:
            marginal[p][word[p]] += p_word
        for mask in itertools.product((False, True), repeat=length):
            p = p_word * _masked(word, mask, hide, private[0] if form == "sequential" else None)
            if not p:
                continue
            shown = tuple(None if m else x for m, x in zip(mask, word, strict=True))
            for place in private:
                outputs[place][shown][word[place]] += p
            for t, m in enumerate(mask):
                released[t] += 0 if m else p
    ratios: dict[tuple[Any, Any], Fraction | None] = defaultdict(Fraction)
    for place in private:
        if not all(marginal[place]):
            continue
        for pair in outputs[place].values():
            given = [v / m for v, m in zip(pair, marginal[place], strict=True)]
            for a, b in ((0, 1), (1, 0)):
                now = None if given[a] and not given[b] else given[a] / given[b] if given[b] else Fraction(0)
                key = states[a], states[b]
                known = ratios[key]
                ratios[key] = None if None in (known, now) else max(known, now)  # type: ignore[type-var]
    top, worst = _largest(dict(ratios)) if ratios else (Fraction(1), set())
    value = [Fraction(1)] * length if problem["weights"] is None else [ratio(w) for w in problem["weights"]]
    utility = sum((w * r for w, r in zip(value, released, strict=True)), Fraction(0)) / sum(value)
    kept = at_most_exp(top if top is None else max(top, Fraction(1)), number(problem["epsilon"]))
    return Truth(kept, _both(ball(utility)), _both(_log_of(top)), worst)


def _masked(word: tuple[int, ...], mask: tuple[bool, ...], hide: Table, centre: int | None) -> Fraction:
    """The probability that just these records are hidden."""
    found, sides = Fraction(1), [range(len(word))]
    if centre is not None:
        sides = [range(centre, centre + 1), range(centre - 1, -1, -1), range(centre + 1, len(word))]
    for side in sides:
        free = False
        for t in side:
            p = Fraction(0) if free else hide[t][word[t]]
            found *= p if mask[t] else 1 - p
            free = centre is not None and t != centre and (free or not mask[t])
    return found


def _sequence(problem: Json, mechanism: Json) -> Truth:
    """Binary letters one at a time under Hamming distortion, the rule of the closed form; up to the rounding of kernels."""
    plain = {"batch": 1, "distortion": "hamming"}
    mechanism = {**DEFAULTS["sequence_policy"], **mechanism}
    if not all(mechanism[key] == problem[key] for key in ("chain", *plain)):
        raise ValueError("a policy of another question")
    level, horizon = number(mechanism["epsilon"]), problem["horizon"]
    if level < 0 or type(mechanism["limit"]) is not int or mechanism["limit"] < horizon:
        raise ValueError("no policy")
    wide = Truth(None, (arb("-inf"), arb(0)), (arb(0), arb("inf")))
    known = (
        plain == {key: problem[key] for key in plain}
        and mechanism["rule"] == "closed-form"
        and not mechanism["prepared"]
    )
    if not known or mechanism["enforced"] is not True or horizon > 4 or not 1e-3 < level < 20:
        return wide
    initial, rows, _ = chain(problem["chain"])
    beliefs, lost, leaks = [(arb(1), ball(initial[1]))], arb(0), False
    for _ in range(horizon):
        after = []
        for p, belief in beliefs:
            ends = binary_ends(belief, level, level)
            error = arb.min(belief, 1 - belief)
            if not (ends[0] < arb(1) / 2 < ends[1] and error > 0):
                after.append((p, belief))
                lost += p * error
                continue
            leaks = True
            share = (belief - ends[0]) / (ends[1] - ends[0])
            for weight, end in zip((1 - share, share), ends, strict=True):
                after.append((p * weight, end))
                lost += p * weight * arb.min(end, 1 - end)
        beliefs = [(p, b * ball(rows[1][1]) + (1 - b) * ball(rows[0][1])) for p, b in after]
    mean = lost / horizon
    room = arb(KERNEL) * mean
    found = (arb(level) * (1 - arb(KERNEL)), arb(level)) if leaks else (arb(0), arb(0))
    kept = level <= number(problem["epsilon"]) or (
        None if not leaks or level * (1 - KERNEL) < number(problem["epsilon"]) else False
    )
    return Truth(kept, (-mean - room, -mean + room), found)


def binary_ends(p: arb, lower: float, upper: float) -> tuple[arb, arb]:
    """Between which posteriors of a letter of probability p both log-ratios are within the bounds."""
    low, high = (-arb(lower)).exp(), arb(upper).exp()
    return arb.max(p * low, 1 - (1 - p) * high), arb.min(p * high, 1 - (1 - p) * low)


def _bayesian(problem: Json, mechanism: Json) -> Truth:
    names = {"query": "query", "noise": "mechanism", "clip": "clip", "length": "length", "scope": "scope"}
    mechanism = {**DEFAULTS["noisy_query"], **mechanism}
    if any(mechanism[ours] != problem[theirs] for ours, theirs in names.items()):
        raise ValueError("noise for another question")
    scale, tau, stated = (number(mechanism[name]) for name in ("scale", "tau", "leakage"))
    if not scale > 0 or min(tau, stated) < 0 or scale == math.inf:
        raise Undecided("no noise, or noise alone")
    model, epsilon = problem["model"], number(problem["epsilon"])
    reach = (
        Fraction(1)
        if problem["query"] != "sum"
        else Fraction(problem["clip"][1]) - Fraction(problem["clip"][0])
    )
    level = reach / Fraction(scale)
    if problem["mechanism"] == "laplace":
        utility = _both(-arb(scale))
    elif problem["mechanism"] == "discrete_laplace":
        utility = _both(-1 / (1 / arb(scale)).sinh())
    else:
        raise Undecided(problem["mechanism"])
    least, most = ball(level), ball(level)
    if model["type"] == "group":
        least = most = ball(level * model["size"])
    elif model["type"] == "gaussian":
        (a, b), (_, d) = ([ratio_of(v) for v in row] for row in model["covariance"])
        if a != d:
            raise Undecided("other than equal variances")
        most = ball(level * (1 + abs(b / a)))
    elif model["type"] == "markov_chain" and problem["mechanism"] == "discrete_laplace":
        least = most = _counted(problem, arb(1) / arb(scale))
    else:
        raise Undecided(model["type"])
    kept = True if most <= epsilon else False if least > epsilon else None
    if Fraction(tau) < level or least > stated * (1 + arb(1e-9)):
        kept = False  # the file understates what its own noise is
    return Truth(kept, utility, (least * (1 - arb(MET)), arb("inf")))


def ratio_of(value: Any) -> Fraction:
    """A signed number of a file."""
    return Fraction(number(value))


def _counted(problem: Json, tau: arb) -> arb:
    """The leakage of a noisy count of a short chain: every target, every set of known records, every integer output."""
    n, states = problem["length"], chain(problem["model"])[2]
    target = states.index(label(problem["query"]["count"]))
    laws: dict[Any, dict[int, list[Fraction]]] = defaultdict(dict)
    for word, p in words(problem["model"], n).items():
        count = word.count(target)
        for i in range(n):
            others = [j for j in range(n) if j != i]
            for size in range(n):
                for known in itertools.combinations(others, size):
                    row = laws[i, known, tuple(word[j] for j in known)].setdefault(
                        word[i], [Fraction(0)] * (n + 1)
                    )
                    row[count] += p
    decay = [(-tau * d).exp() for d in range(n + 1)]
    best = arb(0)
    for by in laws.values():
        if len(by) < 2:
            continue
        shown = [
            [
                sum((ball(p) * decay[abs(y - c)] for c, p in enumerate(row)), arb(0)) / ball(sum(row))
                for y in range(n + 1)
            ]
            for row in by.values()
        ]
        for y in range(n + 1):
            best = arb.max(best, abs((shown[0][y] / shown[1][y]).log()))
    return best


TRUTHS: dict[str, Callable[[Json, Json], Truth]] = {
    "local_information_privacy": _lip,
    "belief_release": _belief,
    "distortion_privacy": _distortion,
    "privacy_funnel": _two_informations,
    "information_bottleneck": _two_informations,
    "boundary_colouring": _colouring,
    "redaction": _redaction,
    "sequence_information_privacy": _sequence,
    "bayesian_privacy": _bayesian,
}
