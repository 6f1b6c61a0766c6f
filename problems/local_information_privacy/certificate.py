"""The certificate of a channel: integer lifts against e^upper and e^-lower, never a float reading."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

from privopt.core.certificate import Terms
from privopt.core.exact import MAX_BITS, IntegerRow, exp_at_least, log_enclosure
from privopt.core.problem import Enclosure
from privopt.files.labels import Label
from privopt.models.channel_data import Observation, Release, release_name, release_rows
from privopt.problems.exact_joint import (
    ExactJoint,
    enclose,
    leaking_joint,
    useful_information,
)
from privopt.problems.local_information_privacy.by_value import Levels
from privopt.problems.local_information_privacy.data import LocalInformationPrivacyData
from privopt.problems.local_information_privacy.polytope import BITS, exp_above

Cell = tuple[int, int]
Ratio = tuple[int, int]


@dataclass(frozen=True)
class Verdict:
    """What integers say of a release: whether it keeps the bounds and why, and the pair that leaks most."""

    ok: bool
    reason: str
    leakage: Enclosure
    worst: tuple[Label, ...]
    where: str
    uncovered: tuple[str, ...]


@dataclass(frozen=True)
class _Comparison:
    """The cells that do not keep the bounds, or are undecided, the ratios that the largest is among, and how many were compared."""

    broken: tuple[Cell, ...]
    undecided: tuple[Cell, ...]
    ratios: dict[Cell, Ratio]
    count: int


def certify(data: LocalInformationPrivacyData, release: Release, *, cover: bool = True) -> Verdict:
    """Prove or refute that every release keeps the bounds, but for a probability of at most delta.

    With ``cover`` the rows of symbols of probability 0 must keep them as well, against the distribution of the output;
    else the verdict names those that do not as not covered.
    """
    joint = leaking_joint(data.observation, release)
    compared = _compare(data, joint)
    mass = sum(joint.cells[s][y] for s, y in (*compared.broken, *compared.undecided))
    # At delta = 0 a pair of probability 0 (a secret ruled out) counts although its mass is 0.
    kept = (
        not (compared.broken or compared.undecided)
        if data.delta == 0
        else mass <= Fraction(data.delta) * joint.total
    )
    outside = uncovered_symbols(data, release, joint)
    leakage, worst = _leakage(data, joint, compared)
    sensitive = data.observation.leaking.sensitive
    names = (sensitive[worst[0]], release.outputs[worst[1]]) if worst else ()
    named = release_name(release, worst[1]) if worst else ""
    reason = _reason(data, compared, mass / joint.total, ok=kept)
    if kept and outside and cover:
        reason = f"{few(outside)} of probability 0 {BREAKS}: repair releases it like the average symbol"
    return Verdict(
        ok=kept and not (cover and outside),
        reason=reason,
        leakage=leakage,
        worst=names,
        where=f"the release {named} shifts the odds of {names[0]!r} most" if names else "",
        uncovered=(not_covered(outside),) if outside and not cover else (),
    )


READING = 1e-12
"""What a quotient of integers in floats may be off, relatively, and more."""
MOST_BITS = 1000
"""Beyond which a quotient counts as infinite in floats."""
BREAKS = "breaks the bounds around the distribution of the output"


def not_covered(labels: Sequence[Label]) -> str:
    """What an old record does not promise."""
    return f"{few(labels)}, which the distribution gives probability 0 and whose rows break the bounds: do not release them"


def few(labels: Sequence[Label]) -> str:
    """Some symbols by name."""
    shown = ", ".join(repr(label) for label in labels[:5])
    return f"the symbol{'s' if len(labels) > 1 else ''} {shown}{' and others' if len(labels) > 5 else ''}"


def uncovered_symbols(
    data: LocalInformationPrivacyData, release: Release, joint: ExactJoint
) -> tuple[Label, ...]:
    """Symbols of probability 0 whose rows are outside the bounds: around P(y), for LDP around every P(y | s)."""
    unseen = data.observation.unseen
    if not unseen or data.unbounded:
        return ()
    rows = dict(zip(unseen, release_rows(release, unseen), strict=True))
    verdicts: dict[IntegerRow, bool] = {}
    for row in rows.values():
        if row not in verdicts:
            verdicts[row] = _covered(data, row, joint)
    return tuple(data.observation.observed[w] for w, row in rows.items() if not verdicts[row])


def _covered(data: LocalInformationPrivacyData, row: IntegerRow, joint: ExactJoint) -> bool:
    """Whether a row is proved to be within the bounds."""
    around, lower, upper = [(joint.columns, joint.total)], data.lower, data.upper
    if data.per_value is not None:  # nobody knows which value such a symbol goes with
        lower, upper = (min(side) for side in zip(*data.per_value, strict=True))
    if data.notion == "ldp":
        around = [(cells, weight) for cells, weight in zip(joint.cells, joint.rows, strict=True) if weight]
    for cells, weight in around:
        for q, cell in zip(row.weights, cells, strict=True):
            up, down = q * weight, row.total * cell
            if not (exp_at_least(upper, up, down) and exp_at_least(lower, down, up)):
                return False
    return True


def is_worst(data: LocalInformationPrivacyData, release: Release, worst: tuple[Hashable, ...]) -> bool:
    """Whether a pair of labels reaches the stated leakage; no pair only where nothing leaks."""
    joint = leaking_joint(data.observation, release)
    compared = _compare(data, joint)
    leakage, cell = _leakage(data, joint, compared)
    if not worst or cell is None:
        return not worst and leakage[1] == 0
    sensitive = data.observation.leaking.sensitive
    if len(worst) != 2 or worst[0] not in sensitive or worst[1] not in release.outputs:
        return False
    named = sensitive.index(worst[0]), release.outputs.index(worst[1])
    ratios = compared.ratios if named in compared.ratios else _every(data, joint).ratios
    if named not in ratios:
        return False
    (up, down), (most, least) = ratios[named], compared.ratios[cell]
    return up * least == most * down


def terms(data: LocalInformationPrivacyData) -> Terms:
    """What a certificate says beside its numbers."""
    written = f"{data.observation.leaking!r} exactly as written (divided by its exact sum)"
    assumption, knows = f"the data follow {written}", "that distribution, but nothing else about the record"
    if holds_everywhere(data) and not data.robust:
        assumption = (
            f"nothing of how the data are spread: the secret is the released symbol itself, so the bound holds for every distribution of it "
            f"(how useful the release is rests on {written})"
        )
        knows = "any distribution of the data, but nothing else about the record"
    return Terms(
        kind="utility" if data.unbounded else "privacy",
        statement=_statement(data),
        assumption=assumption,
        adversary=f"whoever sees the release and knows the mechanism and {knows}",
        unit="release of one record",
        uncovered=(SIDE_INFORMATION, *_never_seen(data.observation)),
    )


def holds_everywhere(data: LocalInformationPrivacyData) -> bool:
    """Whether the bound is on the rows of the channel alone, which no distribution changes: local differential privacy of the symbol itself."""
    return data.notion == "ldp" and data.delta == 0 and not data.unbounded and data.observation.is_whole


SIDE_INFORMATION = "what else the recipient knows of the record: columns kept beside the release, releases about records that depend on it"


def _never_seen(observed: Observation) -> tuple[str, ...]:
    joint = observed.leaking
    n, weights = len(joint.useful), joint.exact.weights
    none = [s for i, s in enumerate(joint.sensitive) if not any(weights[i * n : (i + 1) * n])]
    if not none:
        return ()
    shown = ", ".join(repr(s) for s in none[:5]) + (" and others" if len(none) > 5 else "")
    return (f"values of the secret to which the distribution gives probability 0: {shown}",)


def _statement(data: LocalInformationPrivacyData) -> str:
    if data.unbounded:
        return "nothing is promised about the secret: no bound was asked for"
    secret = named_secret(data.observation)
    if data.notion == "ldp":
        if data.budget == 0:
            return f"every release is as likely under one value of {secret} as under another"
        return f"no release is more than {factor(data.budget)} times as likely under one value of {secret} as under another"
    if data.per_value is not None:
        return _statement_by_value(data, data.per_value)
    sides = []
    if data.upper < math.inf:
        sides.append(f"more than {factor(data.upper)} times as likely")
    if data.lower < math.inf:
        sides.append(f"more than {factor(data.lower)} times as unlikely")
    if min(data.lower, data.upper) == 0:
        statement = f"no release changes the probability of any value of {secret}"
    elif data.lower == data.upper:
        statement = f"no release makes a value of {secret} more than {factor(data.upper)} times as likely or unlikely as before"
    else:
        statement = f"no release makes a value of {secret} {' or '.join(sides)} as before"
    return statement if data.delta == 0 else f"but for a probability of at most {data.delta:g}, {statement}"


def _statement_by_value(data: LocalInformationPrivacyData, each: Levels) -> str:
    """What is promised of each value of the secret, in one sentence."""
    parts, free = [], []
    for label, (low, high) in zip(data.observation.leaking.sensitive, each, strict=True):
        sides = [f"{factor(high)} times as likely"] if high < math.inf else []
        sides += [f"{factor(low)} times as unlikely"] if low < math.inf else []
        if sides:
            parts.append(f"{label!r} more than {' or '.join(sides)}")
        else:
            free.append(repr(label))
    rest = f"; of {', '.join(free)} nothing is promised" if free else ""
    return f"no release makes {', or '.join(parts)} as before{rest}"


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


SHOWN = 6
"""Values of the secret whose bounds a claim lists."""


def claim(data: LocalInformationPrivacyData) -> str:
    """What the certificate claims, in a formula."""
    if data.unbounded:
        return "no bound is asked for; leakage enclosed"
    if data.notion == "ldp":
        return "leakage <= budget"
    if data.per_value is not None:
        listed = zip(data.observation.leaking.sensitive, data.per_value, strict=True)
        each = "; ".join(f"{label!r}: -{low:g} <= log-lift <= {high:g}" for label, (low, high) in listed)
        return (
            each
            if len(data.per_value) <= SHOWN
            else f"-lower <= log-lift <= upper of each of {len(data.per_value)} values"
        )
    sides = f"-{data.lower:g} <= log-lift <= {data.upper:g}"
    return sides if data.delta == 0 else f"{sides} but for probability <= {data.delta:g}"


def _compare(data: LocalInformationPrivacyData, joint: ExactJoint) -> _Comparison:
    """Every cell against its bounds; of a release with one bound on all ratios only the largest ratio, if that keeps it."""
    if data.notion == "ldp" and data.delta == 0:
        ratios, limit = _widest(joint), _limits(data)[0][1]
        if all(limit.keeps(*ratio) is True for ratio in ratios.values()):
            return _Comparison((), (), ratios, sum(map(bool, joint.rows)) * len(ratios))
    return _every(data, joint)


def _widest(joint: ExactJoint) -> dict[Cell, Ratio]:
    """The first largest P(y | s) of each release against the least, with its cell."""
    rows = [(s, weight) for s, weight in enumerate(joint.rows) if weight]
    widest: dict[Cell, Ratio] = {}
    for y, mass in enumerate(joint.columns):
        if not mass:
            continue
        first, weight = rows[0]
        most = least = joint.cells[first][y]
        of_most = of_least = weight
        for s, weight in rows[1:]:
            value = joint.cells[s][y]
            if value * of_most > most * weight:
                first, most, of_most = s, value, weight
            elif value * of_least < least * weight:
                least, of_least = value, weight
        widest[first, y] = most * of_least, least * of_most
    return widest


def _every(data: LocalInformationPrivacyData, joint: ExactJoint) -> _Comparison:
    """Every cell against its bounds."""
    ratios = _ldp_ratios(joint) if data.notion == "ldp" else None
    kept: dict[Cell, Ratio] = {}
    broken: list[Cell] = []
    undecided: list[Cell] = []
    limits = _limits(data)
    for cell in joint.pairs():
        lower, upper = limits[cell[0]]
        if ratios is not None:
            kept[cell] = ratios[cell]
            verdict = upper.keeps(*ratios[cell])
        else:
            up, down = joint.lift(*cell)
            verdict = _both(upper.keeps(up, down), lower.keeps(down, up))
            kept[cell] = _used(lower.level, upper.level, up, down, free=data.unbounded)
        if verdict is not True:
            (broken if verdict is False else undecided).append(cell)
    return _Comparison(tuple(broken), tuple(undecided), kept, len(kept))


@dataclass(frozen=True)
class Limit:
    """e^level, enclosed once, for many ratios."""

    level: float

    @cached_property
    def _ends(self) -> tuple[Fraction, Fraction] | None:
        """Rationals around e^level; None where ratios are compared one by one."""
        top = exp_above(self.level) if 0 < self.level < math.inf else None
        if top is None:
            return None
        return top * (1 - Fraction(1, 1 << (BITS - 8))), top

    def keeps(self, up: int, down: int) -> bool | None:
        """Whether up / down <= e^level, proved; None where undecided."""
        if self._ends is not None and down > 0:
            below, above = self._ends
            if up * below.denominator <= below.numerator * down:
                return True
            if up * above.denominator > above.numerator * down:
                return False
        return exp_at_least(self.level, up, down)


def _limits(data: LocalInformationPrivacyData) -> list[tuple[Limit, Limit]]:
    """The bounds of each value of the secret, each level enclosed once."""
    known: dict[float, Limit] = {}
    count = len(data.observation.leaking.sensitive)
    return [
        (known.setdefault(low, Limit(low)), known.setdefault(high, Limit(high)))
        for low, high in map(data.levels, range(count))
    ]


def _both(a: bool | None, b: bool | None) -> bool | None:
    return False if False in (a, b) else None if None in (a, b) else True


def _used(lower: float, upper: float, up: int, down: int, *, free: bool) -> Ratio:
    """The lift or its inverse, whichever is above 1 on a bounded side, else 1; either side where nothing is bounded at all."""
    if up >= down:
        return (up, down) if free or upper < math.inf else (1, 1)
    return (down, up) if free or lower < math.inf else (1, 1)


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
    ratios = {}
    for s, y in pairs:
        t = lowest[y][0]
        ratios[s, y] = joint.cells[s][y] * joint.rows[t], joint.cells[t][y] * joint.rows[s]
    return ratios


def _leakage(
    data: LocalInformationPrivacyData, joint: ExactJoint, compared: _Comparison
) -> tuple[tuple[float, float], Cell | None]:
    """Enclosure of the least t such that cells beyond t have probability at most delta, and the cell that reaches it."""
    if not compared.ratios:
        return (0.0, 0.0), None
    if data.delta == 0:
        cell = _largest(compared.ratios)
        lo, hi = log_enclosure(*compared.ratios[cell])
        return (max(0.0, lo), max(0.0, hi)), cell if hi > 0 else None
    ends = {cell: log_enclosure(*ratio) for cell, ratio in compared.ratios.items()}
    limit = Fraction(data.delta) * joint.total
    lo, _ = _level({cell: e[0] for cell, e in ends.items()}, joint, limit)
    hi, cell_at = _level({cell: e[1] for cell, e in ends.items()}, joint, limit)
    return (max(0.0, lo), max(0.0, hi)), cell_at if hi > 0 else None


def _largest(ratios: dict[Cell, Ratio]) -> Cell:
    """The first cell of the largest ratio, exactly: quotients in floats say which cells may be it."""
    readings = {cell: _quotient(*ratio) for cell, ratio in ratios.items()}
    near = max(readings.values()) * (1 - READING)
    best, *others = (cell for cell, reading in readings.items() if reading >= near)
    for cell in others:
        up, down = ratios[cell]
        if up * ratios[best][1] > ratios[best][0] * down:
            best = cell
    return best


def _quotient(up: int, down: int) -> float:
    """In floats, infinite where it is none of them."""
    return up / down if down and up.bit_length() - down.bit_length() < MOST_BITS else math.inf


def _level(values: dict[Cell, float], joint: ExactJoint, limit: Fraction) -> tuple[float, Cell | None]:
    mass = 0
    for cell in sorted(values, key=lambda c: -values[c]):
        mass += joint.cells[cell[0]][cell[1]]
        if mass > limit:
            return values[cell], cell
    return 0.0, None


def _reason(data: LocalInformationPrivacyData, compared: _Comparison, mass: float, *, ok: bool) -> str:
    count, broken = compared.count, len(compared.broken)
    if ok and data.delta == 0:
        return f"every one of {count} ratios keeps the bounds"
    if not ok and not broken:
        return f"undecided at {MAX_BITS} bits for {len(compared.undecided)} pairs, which is not a pass"
    pairs = "pairs" if ok else "ratios"
    return f"{broken} of {count} {pairs} break the bounds, with probability {mass:.17g} in all"


def utility_enclosure(data: LocalInformationPrivacyData, release: Release) -> Enclosure:
    """Of the utility of a release; unbounded where it rests on the user's own cost."""
    if data.cost is not None:
        return -math.inf, math.inf
    if data.costs is not None:
        lo, hi = enclose(data.costs.expected(release))
        return -hi + 0.0, -lo + 0.0
    return useful_information(data.observation, release)
