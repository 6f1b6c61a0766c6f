"""The certificate of a channel: integer lifts against e^upper and e^-lower, never a float reading."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from privopt._certificate import Certificate
from privopt._exact import MAX_BITS, exp_at_least, log_enclosure
from privopt.problems._exact_joint import ExactJoint, leaking_joint
from privopt.problems._exact_utility import utility_enclosure
from privopt.problems._observation import Release

if TYPE_CHECKING:
    from privopt.problems.local_information_privacy import LocalInformationPrivacy

Cell = tuple[int, int]
Ratio = tuple[int, int]


@dataclass(frozen=True)
class _Found:
    """The cells that do not keep the bounds (None in ``passes``: undecided), and the largest ratio of each side."""

    broken: tuple[Cell, ...]
    undecided: tuple[Cell, ...]
    ratios: dict[Cell, Ratio]


def certify(problem: LocalInformationPrivacy, release: Release) -> Certificate:
    """Prove or refute that every release keeps the bounds, but for a probability of at most delta."""
    law = leaking_joint(problem.observation, release)
    found = _compare(problem, law)
    mass = sum(law.cells[s][y] for s, y in (*found.broken, *found.undecided))
    # At delta = 0 a pair of probability 0 (a secret ruled out) counts although its mass is 0.
    ok = (
        not (found.broken or found.undecided)
        if problem.delta == 0
        else mass <= Fraction(problem.delta) * law.total
    )
    leakage, worst = _leakage(problem, law, found)
    joint = problem.observation.leaking
    names = (joint.sensitive[worst[0]], release.outputs[worst[1]]) if worst else ()
    return Certificate(
        ok=bool(ok),
        claim=_claim(problem),
        reason=_reason(problem, law, found, ok=bool(ok)),
        budget=problem.budget,
        leakage=leakage,
        utility=utility_enclosure(problem, release),
        worst=names,
        where=f"the release {names[1]!r} shifts the odds of {names[0]!r} most" if names else "",
        problem=problem.fingerprint,
        mechanism=release.fingerprint,
        method="integer lifts against balls of e^budget",
        assumption=f"the data follow {joint!r} exactly as written (divided by its exact sum)",
    )


def _claim(problem: LocalInformationPrivacy) -> str:
    if problem.notion == "ldp":
        return "leakage <= budget"
    sides = f"-{problem.lower:g} <= log-lift <= {problem.upper:g}"
    return sides if problem.delta == 0 else f"{sides} but for probability <= {problem.delta:g}"


def _compare(problem: LocalInformationPrivacy, law: ExactJoint) -> _Found:
    """Every cell against its bounds."""
    ratios = _ldp_ratios(law) if problem.notion == "ldp" else None
    kept: dict[Cell, Ratio] = {}
    broken: list[Cell] = []
    undecided: list[Cell] = []
    for cell in law.pairs():
        if ratios is not None:
            kept[cell] = ratios[cell]
            verdict = exp_at_least(problem.budget, *ratios[cell])
        else:
            up, down = law.lift(*cell)
            verdict = _both(exp_at_least(problem.upper, up, down), exp_at_least(problem.lower, down, up))
            kept[cell] = _used(problem, up, down)
        if verdict is not True:
            (broken if verdict is False else undecided).append(cell)
    return _Found(tuple(broken), tuple(undecided), kept)


def _both(a: bool | None, b: bool | None) -> bool | None:
    return False if False in (a, b) else None if None in (a, b) else True


def _used(problem: LocalInformationPrivacy, up: int, down: int) -> Ratio:
    """The lift or its inverse, whichever is above 1 on a bounded side; else 1."""
    if up >= down:
        return (up, down) if problem.upper < math.inf else (1, 1)
    return (down, up) if problem.lower < math.inf else (1, 1)


def _ldp_ratios(law: ExactJoint) -> dict[Cell, Ratio]:
    """P(y | s) against the least P(y | t) of its column."""
    lowest: dict[int, Cell] = {}
    pairs = law.pairs()
    for s, y in pairs:
        if (
            y not in lowest
            or law.cells[s][y] * law.rows[lowest[y][0]] < law.cells[lowest[y][0]][y] * law.rows[s]
        ):
            lowest[y] = (s, y)
    found = {}
    for s, y in pairs:
        t = lowest[y][0]
        found[s, y] = law.cells[s][y] * law.rows[t], law.cells[t][y] * law.rows[s]
    return found


def _leakage(
    problem: LocalInformationPrivacy, law: ExactJoint, found: _Found
) -> tuple[tuple[float, float], Cell | None]:
    """Enclosure of the least t such that cells beyond t have probability at most delta, and the cell that reaches it."""
    if not found.ratios:
        return (0.0, 0.0), None
    if problem.delta == 0:
        cell = _largest(found.ratios)
        lo, hi = log_enclosure(*found.ratios[cell])
        return (max(0.0, lo), max(0.0, hi)), cell if hi > 0 else None
    ends = {cell: log_enclosure(*ratio) for cell, ratio in found.ratios.items()}
    limit = Fraction(problem.delta) * law.total
    lo, _ = _level({cell: e[0] for cell, e in ends.items()}, law, limit)
    hi, cell_at = _level({cell: e[1] for cell, e in ends.items()}, law, limit)
    return (max(0.0, lo), max(0.0, hi)), cell_at


def _largest(ratios: dict[Cell, Ratio]) -> Cell:
    best = next(iter(ratios))
    for cell, (up, down) in ratios.items():
        if up * ratios[best][1] > ratios[best][0] * down:
            best = cell
    return best


def _level(values: dict[Cell, float], law: ExactJoint, limit: Fraction) -> tuple[float, Cell | None]:
    mass = 0
    for cell in sorted(values, key=lambda c: -values[c]):
        mass += law.cells[cell[0]][cell[1]]
        if mass > limit:
            return values[cell], cell
    return 0.0, None


def _reason(problem: LocalInformationPrivacy, law: ExactJoint, found: _Found, *, ok: bool) -> str:
    count = len(found.ratios)
    if ok and problem.delta == 0:
        return f"every one of {count} ratios keeps the bounds"
    mass = sum(law.cells[s][y] for s, y in (*found.broken, *found.undecided)) / law.total
    if ok:
        return f"{len(found.broken)} of {count} pairs break the bounds, with probability {mass:.17g} in all"
    if not found.broken:
        return f"undecided at {MAX_BITS} bits for {len(found.undecided)} pairs, which is not a pass"
    return f"{len(found.broken)} of {count} ratios break the bounds, with probability {mass:.17g} in all"
