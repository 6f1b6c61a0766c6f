"""Whether the claims of a stored answer hold: decided from two JSON documents and :mod:`oracles.truths` alone.

Nothing of the library is imported. What is decided is the truth of statements, not whether a proof came with them:
a true bound beside a broken proof of it is no false claim. Words, times, statistics and alternatives claim nothing.
What the brute force cannot decide it leaves out, so that it never calls a true claim false.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import math
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from flint import arb, ctx

from oracles.documents import (
    CHAIN,
    DEFAULTS,
    Json,
    Undecided,
    budget,
    codes_of,
    label,
    labels,
    levels_of,
    neighbours_of,
    number,
    ratio,
)
from oracles.optima import optimum
from oracles.point_truths import POINT_TRUTHS
from oracles.truths import TRUTHS, Truth

READING = 1.001e-12
"""What a stated number may be off by, relative to itself: 1e-12, and a little for the rounding of that itself."""
READING_0_1_0 = 1.001e-9
"""The same, relative to max(1, number), in records of version 0.1.0."""

MALFORMED = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError, struct.error)


def broken(problem: Json, solution: Json, reached: arb | None = None) -> str | None:
    """The first claim of a stored solution that does not hold, or None; what cannot be read is one.

    ``reached`` is an objective that some allowed mechanism is known to have: no bound may be below it.
    """
    with ctx.workprec(256):
        try:
            return next(_Claims(problem, solution, reached).broken(), None)
        except Undecided:
            return None
        except MALFORMED as cause:
            return f"malformed: {type(cause).__name__}: {cause}"


def attained(problem: Json, mechanism: Json) -> arb | None:
    """A ball below which no bound may be: the optimum where that has a closed form, else what a mechanism attains."""
    with ctx.workprec(256):
        best = optimum(problem)
        if best is not None:
            return best
        try:
            facts = truth(problem, mechanism)
        except Undecided:
            return None
        if facts.private is not True:
            return None
        return _objective(problem, facts.utility[0], facts.leakage[1])


_KNOWN: dict[str, Truth] = {}
"""The last truths found; most corruptions leave the mechanism alone."""


def forget() -> None:
    """Find truths again, with other digits."""
    _KNOWN.clear()


def truth(problem: Json, mechanism: Json) -> Truth:
    """What holds of a mechanism under a problem."""
    key = json.dumps([problem, mechanism], default=repr)
    if key not in _KNOWN:
        if len(_KNOWN) > 1000:
            _KNOWN.clear()
        _KNOWN[key] = (TRUTHS | POINT_TRUTHS)[problem["type"]](problem, mechanism)
    return _KNOWN[key]


@dataclass
class _Claims:
    problem: Json
    solution: Json
    reached: arb | None

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
        old = c["version"] == 1 or c["kind"] == ""  # as version 0.1.0 is read, and written again
        self.reading = (READING_0_1_0, 1.0) if old else (READING, 0.0)
        if {s["problem"], c["problem"]} != {problem_fingerprint(self.problem)}:
            yield "fingerprint of the problem"
        if c["mechanism"] != mechanism_fingerprint(s["mechanism"]):
            yield "fingerprint of the mechanism"
        if number(c["budget"]) != budget(self.problem):
            yield "budget"
        facts = truth(self.problem, s["mechanism"])
        if facts.private is False:
            yield "the budget is not kept"
        for name, exact in (("utility", facts.utility), ("leakage", facts.leakage)):
            if not self._near(number(s[name]), exact):
                yield name
            lo, hi = map(number, c[name])
            if not lo <= hi or not self._reaches(lo, hi, exact):
                yield f"enclosure of the {name}"
        worst = tuple(label(name) for name in c["worst"])
        if worst and facts.worst is not None and worst not in facts.worst:
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
        if (
            stated != float(follows.mid())
            if math.isinf(stated)
            else not abs(follows - stated) <= arb(READING) * size
        ):
            yield "objective"
        if s["bound"] is None:
            if (s["gap"], s["status"], s["guarantee"]) != (None, "FEASIBLE", "FEASIBLE"):
                yield "standing"
            return
        bound = number(s["bound"])
        slack = READING_0_1_0 * max(1.0, abs(bound)) if old and math.isfinite(bound) else 0.0
        if not bound >= stated - slack:
            yield "the bound is below the objective"
        if self.reached is not None and self.reached > arb(bound) + slack:
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
    ratios = ("local_information_privacy", "pointwise_maximal_leakage")
    cost = kind in ratios and problem["utility"] != "mutual_information"
    return abs(stated) if kind in errors or cost or "min_utility" in problem else min(1.0, abs(stated))


# Fingerprints


def canonical(fields: Json) -> str:
    """SHA-256 of a document."""
    text = json.dumps(fields, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()


def problem_fingerprint(problem: Json) -> str:
    """What identifies a problem."""
    if problem["type"] != "boundary_colouring":
        return canonical(problem)
    if isinstance(problem["boundary"], (list, dict)):
        raise Undecided("prescribed boundaries")
    graph, neighbours, codes = problem["graph"], neighbours_of(problem["graph"]), codes_of(problem["graph"])
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
        label_lists = {"inputs": mechanism.get("inputs"), "outputs": mechanism.get("outputs")}
        sizes = {"inputs": len(rows), "outputs": len(rows[0])}
        names = {
            key: list(range(sizes[key])) if value is None else value for key, value in label_lists.items()
        }
        return canonical(
            {"type": "channel", "version": 1, "matrix": rows, **names, "simulation_only": simulated}
        )
    if mechanism["type"] == "colouring":
        levels, level = levels_of(mechanism["levels"]), mechanism["level"]
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
    if mechanism["type"] == "merging" and mechanism.get("inputs") is None:
        whole["inputs"] = [label for block in mechanism["blocks"] for label in block]
    if "chain" in whole:
        whole["chain"] = {**CHAIN, **whole["chain"], "version": 1}
    return canonical(whole)


def _encoded(value: float) -> float | str:
    return value + 0.0 if math.isfinite(value) else str(value)


def _plain(value: object) -> float | str:
    if isinstance(value, str):
        exact = ratio(value)
        return f"{exact.numerator}/{exact.denominator}"
    return number(value) + 0.0
