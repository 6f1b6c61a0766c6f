"""The certificate of a channel: integer lifts against e^upper and e^-lower, never a float reading."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING

from privopt.core.certificate import Certificate, Terms
from privopt.core.exact import MAX_BITS, IntegerRow, exp_at_least, log_enclosure
from privopt.files.labels import Label
from privopt.models.channel_data import Observation, Release, release_rows
from privopt.problems.exact_joint import ExactJoint, leaking_joint
from privopt.problems.exact_utility import utility_enclosure

if TYPE_CHECKING:
    from privopt.problems.local_information_privacy.problem import LocalInformationPrivacy

Cell = tuple[int, int]
Ratio = tuple[int, int]


@dataclass(frozen=True)
class _Found:
    """The cells that do not keep the bounds (None in ``passes``: undecided), and the largest ratio of each side."""

    broken: tuple[Cell, ...]
    undecided: tuple[Cell, ...]
    ratios: dict[Cell, Ratio]


def certify(problem: LocalInformationPrivacy, release: Release, *, cover: bool = True) -> Certificate:
    """Prove or refute that every release keeps the bounds, but for a probability of at most delta.

    With ``cover`` the rows of symbols of probability 0 must keep them as well, against the distribution of the output;
    else the certificate names those that do not as not covered.
    """
    joint = leaking_joint(problem.observation, release)
    found = _compare(problem, joint)
    mass = sum(joint.cells[s][y] for s, y in (*found.broken, *found.undecided))
    # At delta = 0 a pair of probability 0 (a secret ruled out) counts although its mass is 0.
    kept = (
        not (found.broken or found.undecided)
        if problem.delta == 0
        else mass <= Fraction(problem.delta) * joint.total
    )
    outside = uncovered_symbols(problem, release, joint)
    ok = kept and not (cover and outside)
    leakage, worst = _leakage(problem, joint, found)
    sensitive = problem.observation.leaking.sensitive
    names = (sensitive[worst[0]], release.outputs[worst[1]]) if worst else ()
    reason = _reason(problem, joint, found, ok=bool(kept))
    if kept and outside and cover:
        reason = f"{few(outside)} of probability 0 {BREAKS}: repair releases it like the average symbol"
    certificate = problem.certificate(
        release,
        release.fingerprint,
        ok=bool(ok),
        claim=_claim(problem),
        reason=reason,
        method="integer lifts against balls of e^budget",
        leakage=leakage,
        utility=utility_enclosure(problem, release),
        worst=names,
        where=f"the release {names[1]!r} shifts the odds of {names[0]!r} most" if names else "",
    )
    if not outside or cover:
        return certificate
    return replace(certificate, uncovered=(*certificate.uncovered, not_covered(outside)))


BREAKS = "breaks the bounds around the distribution of the output"


def not_covered(labels: Sequence[Label]) -> str:
    """What an old record does not promise."""
    return f"{few(labels)}, which the distribution gives probability 0 and whose rows break the bounds: do not release them"


def few(labels: Sequence[Label]) -> str:
    """Some symbols by name."""
    shown = ", ".join(repr(label) for label in labels[:5])
    return f"the symbol{'s' if len(labels) > 1 else ''} {shown}{' and others' if len(labels) > 5 else ''}"


def uncovered_symbols(
    problem: LocalInformationPrivacy, release: Release, joint: ExactJoint
) -> tuple[Label, ...]:
    """Symbols of probability 0 whose rows are outside the bounds: around P(y), for LDP around every P(y | s)."""
    unseen = problem.observation.unseen
    if not unseen or problem.lower == problem.upper == math.inf:
        return ()
    rows = dict(zip(unseen, release_rows(release, unseen), strict=True))
    verdicts: dict[IntegerRow, bool] = {}
    for row in rows.values():
        if row not in verdicts:
            verdicts[row] = _covered(problem, row, joint)
    return tuple(problem.observation.observed[w] for w, row in rows.items() if not verdicts[row])


def _covered(problem: LocalInformationPrivacy, row: IntegerRow, joint: ExactJoint) -> bool:
    """Whether a row is proved to be within the bounds."""
    around = [(joint.columns, joint.total)]
    if problem.notion == "ldp":
        around = [(cells, weight) for cells, weight in zip(joint.cells, joint.rows, strict=True) if weight]
    for cells, weight in around:
        for q, cell in zip(row.weights, cells, strict=True):
            up, down = q * weight, row.total * cell
            if not (exp_at_least(problem.upper, up, down) and exp_at_least(problem.lower, down, up)):
                return False
    return True


def is_worst(problem: LocalInformationPrivacy, release: Release, worst: tuple[Hashable, ...]) -> bool:
    """Whether a pair of labels reaches the stated leakage; no pair only where nothing leaks."""
    joint = leaking_joint(problem.observation, release)
    found = _compare(problem, joint)
    leakage, cell = _leakage(problem, joint, found)
    if not worst or cell is None:
        return not worst and leakage[1] == 0
    sensitive = problem.observation.leaking.sensitive
    if len(worst) != 2 or worst[0] not in sensitive or worst[1] not in release.outputs:
        return False
    named = sensitive.index(worst[0]), release.outputs.index(worst[1])
    if named not in found.ratios:
        return False
    (up, down), (most, least) = found.ratios[named], found.ratios[cell]
    return up * least == most * down


def terms(problem: LocalInformationPrivacy) -> Terms:
    """What a certificate says beside its numbers."""
    joint = problem.observation.leaking
    kind, statement = "privacy", _statement(problem)
    if problem.lower == problem.upper == math.inf:
        kind = "utility"
    return Terms(
        kind=kind,
        statement=statement,
        assumption=f"the data follow {joint!r} exactly as written (divided by its exact sum)",
        adversary="whoever sees the release and knows the mechanism and that distribution, but nothing else about the record",
        unit="release of one record",
        uncovered=(SIDE_INFORMATION, *_never_seen(problem.observation)),
    )


SIDE_INFORMATION = "what else the recipient knows of the record: columns kept beside the release, releases about records that depend on it"


def _never_seen(observed: Observation) -> tuple[str, ...]:
    joint = observed.leaking
    n, weights = len(joint.useful), joint.exact.weights
    none = [s for i, s in enumerate(joint.sensitive) if not any(weights[i * n : (i + 1) * n])]
    if not none:
        return ()
    shown = ", ".join(repr(s) for s in none[:5]) + (" and others" if len(none) > 5 else "")
    return (f"values of the secret to which the distribution gives probability 0: {shown}",)


def _statement(problem: LocalInformationPrivacy) -> str:
    if problem.lower == problem.upper == math.inf:
        return "nothing is promised about the secret: no bound was asked for"
    secret = named_secret(problem.observation)
    if problem.notion == "ldp":
        if problem.budget == 0:
            return f"every release is as likely under one value of {secret} as under another"
        return f"no release is more than {factor(problem.budget)} times as likely under one value of {secret} as under another"
    sides = []
    if problem.upper < math.inf:
        sides.append(f"more than {factor(problem.upper)} times as likely")
    if problem.lower < math.inf:
        sides.append(f"more than {factor(problem.lower)} times as unlikely")
    if min(problem.lower, problem.upper) == 0:
        told = f"no release changes the probability of any value of {secret}"
    elif problem.lower == problem.upper:
        told = f"no release makes a value of {secret} more than {factor(problem.upper)} times as likely or unlikely as before"
    else:
        told = f"no release makes a value of {secret} {' or '.join(sides)} as before"
    return told if problem.delta == 0 else f"but for a probability of at most {problem.delta:g}, {told}"


def named_secret(observed: Observation) -> str:
    """The secret by some of its values."""
    labels = observed.leaking.sensitive
    return f"the secret ({', '.join(repr(s) for s in labels[:3])}{', ...' if len(labels) > 3 else ''})"


def factor(level: float) -> str:
    """e^level to four digits, rounded up.

    Examples
    --------
    >>> factor(0.3), factor(0.0), factor(1e6)
    ('1.35', '1', 'e^1e+06')
    """
    if level > 230:
        return f"e^{level:g}"
    value = math.exp(level) * (1 + 1e-15) if level else 1.0
    step = 10.0 ** (math.floor(math.log10(value)) - 3)
    return f"{math.ceil(value / step - 1e-12) * step:.4g}"


def _claim(problem: LocalInformationPrivacy) -> str:
    if problem.lower == problem.upper == math.inf:
        return "no bound is asked for; leakage enclosed"
    if problem.notion == "ldp":
        return "leakage <= budget"
    sides = f"-{problem.lower:g} <= log-lift <= {problem.upper:g}"
    return sides if problem.delta == 0 else f"{sides} but for probability <= {problem.delta:g}"


def _compare(problem: LocalInformationPrivacy, joint: ExactJoint) -> _Found:
    """Every cell against its bounds."""
    ratios = _ldp_ratios(joint) if problem.notion == "ldp" else None
    kept: dict[Cell, Ratio] = {}
    broken: list[Cell] = []
    undecided: list[Cell] = []
    for cell in joint.pairs():
        if ratios is not None:
            kept[cell] = ratios[cell]
            verdict = exp_at_least(problem.budget, *ratios[cell])
        else:
            up, down = joint.lift(*cell)
            verdict = _both(exp_at_least(problem.upper, up, down), exp_at_least(problem.lower, down, up))
            kept[cell] = _used(problem, up, down)
        if verdict is not True:
            (broken if verdict is False else undecided).append(cell)
    return _Found(tuple(broken), tuple(undecided), kept)


def _both(a: bool | None, b: bool | None) -> bool | None:
    return False if False in (a, b) else None if None in (a, b) else True


def _used(problem: LocalInformationPrivacy, up: int, down: int) -> Ratio:
    """The lift or its inverse, whichever is above 1 on a bounded side, else 1; either side where none is bounded."""
    free = problem.lower == problem.upper
    if up >= down:
        return (up, down) if free or problem.upper < math.inf else (1, 1)
    return (down, up) if free or problem.lower < math.inf else (1, 1)


def _ldp_ratios(joint: ExactJoint) -> dict[Cell, Ratio]:
    """P(y | s) against the least P(y | t) of its column."""
    lowest: dict[int, Cell] = {}
    pairs = joint.pairs()
    for s, y in pairs:
        if (
            y not in lowest
            or joint.cells[s][y] * joint.rows[lowest[y][0]] < joint.cells[lowest[y][0]][y] * joint.rows[s]
        ):
            lowest[y] = (s, y)
    found = {}
    for s, y in pairs:
        t = lowest[y][0]
        found[s, y] = joint.cells[s][y] * joint.rows[t], joint.cells[t][y] * joint.rows[s]
    return found


def _leakage(
    problem: LocalInformationPrivacy, joint: ExactJoint, found: _Found
) -> tuple[tuple[float, float], Cell | None]:
    """Enclosure of the least t such that cells beyond t have probability at most delta, and the cell that reaches it."""
    if not found.ratios:
        return (0.0, 0.0), None
    if problem.delta == 0:
        cell = _largest(found.ratios)
        lo, hi = log_enclosure(*found.ratios[cell])
        return (max(0.0, lo), max(0.0, hi)), cell if hi > 0 else None
    ends = {cell: log_enclosure(*ratio) for cell, ratio in found.ratios.items()}
    limit = Fraction(problem.delta) * joint.total
    lo, _ = _level({cell: e[0] for cell, e in ends.items()}, joint, limit)
    hi, cell_at = _level({cell: e[1] for cell, e in ends.items()}, joint, limit)
    return (max(0.0, lo), max(0.0, hi)), cell_at if hi > 0 else None


def _largest(ratios: dict[Cell, Ratio]) -> Cell:
    best = next(iter(ratios))
    for cell, (up, down) in ratios.items():
        if up * ratios[best][1] > ratios[best][0] * down:
            best = cell
    return best


def _level(values: dict[Cell, float], joint: ExactJoint, limit: Fraction) -> tuple[float, Cell | None]:
    mass = 0
    for cell in sorted(values, key=lambda c: -values[c]):
        mass += joint.cells[cell[0]][cell[1]]
        if mass > limit:
            return values[cell], cell
    return 0.0, None


def _reason(problem: LocalInformationPrivacy, joint: ExactJoint, found: _Found, *, ok: bool) -> str:
    count = len(found.ratios)
    if ok and problem.delta == 0:
        return f"every one of {count} ratios keeps the bounds"
    mass = sum(joint.cells[s][y] for s, y in (*found.broken, *found.undecided)) / joint.total
    if ok:
        return f"{len(found.broken)} of {count} pairs break the bounds, with probability {mass:.17g} in all"
    if not found.broken:
        return f"undecided at {MAX_BITS} bits for {len(found.undecided)} pairs, which is not a pass"
    return f"{len(found.broken)} of {count} ratios break the bounds, with probability {mass:.17g} in all"
