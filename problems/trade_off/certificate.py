"""The certificate of a release judged by two informations: balls from integer weights, never a float reading.

Informations are averages over releases. What a single release can say is another matter, so every certificate names
the worst log-lift beside the average.
"""

from __future__ import annotations

import math
from collections.abc import Hashable
from dataclasses import replace

from privopt.core.certificate import Terms, over_set
from privopt.core.problem import Enclosure
from privopt.files.text import number
from privopt.mechanisms import Merging
from privopt.models.ambiguity.joint import JointAmbiguity
from privopt.models.channel_data import Release
from privopt.problems.exact_joint import ExactJoint, leaking_joint, worst_log_lift
from privopt.problems.local_information_privacy.over_set import terms as robust_terms
from privopt.problems.robust_information import most_information_over
from privopt.problems.trade_off.data import FLOOR_SLACK, TradeOffData
from privopt.problems.trade_off.information import information_enclosures

SHOWN = 6
"""Symbols named in a sentence, at most."""

OUTWARD = "leakage <= budget, read outward by its last digit"
"""Claimed where the leakage is between the cap and the next float, as of a cap that is an information, rounded."""

HARMLESS = 1e-9
"""A row of an impossible symbol is the average release if no probability is off by more than this share of it."""


def enclosures(problem: TradeOffData, release: Release) -> tuple[Enclosure, Enclosure]:
    """Floats around the exact utility and leakage of the integer form."""
    secret, useful = information_enclosures(problem.observation, release)
    if problem.ambiguity is not None and problem.reader is not None:
        secret = most_information_over(problem.ambiguity, problem.reader, release)
    lows, highs = (problem.split(secret[end], useful[end]) for end in (0, 1))
    return (lows[0], highs[0]), (lows[1], highs[1])


def worst_release(problem: TradeOffData, release: Release) -> tuple[tuple[Hashable, ...], str]:
    """The value of S and the release of the largest |log-lift|, and how large it is; nothing where nothing leaks, or over a set."""
    if problem.ambiguity is not None:
        return (), ""
    lift, (s, y) = worst_log_lift(leaking_joint(problem.observation, release))
    if lift[1] <= 0:
        return (), ""
    names = (problem.observation.leaking.sensitive[s], release.outputs[y])
    return names, f"worst log-lift in [{number(lift[0], 9)}, {number(lift[1], 9)}] nats"


def verdict(problem: TradeOffData, utility: Enclosure, leakage: Enclosure) -> tuple[bool, str, str]:
    """Whether the bound is proved to be kept, what is claimed, and why."""
    if problem.is_floor:
        ok = utility[0] >= problem.floor
        word = "at least" if ok else "not proved to be at least"
        return (
            ok,
            f"utility >= budget - {FLOOR_SLACK:g}",
            f"the utility is {word} the floor, which may be missed by {FLOOR_SLACK:g} nats",
        )
    if problem.is_cap:
        ok = leakage[1] <= problem.cap
        word = "at most" if ok else "not proved to be at most"
        beyond = ok and leakage[1] > problem.budget
        if problem.ambiguity is not None:
            return (
                ok,
                over_set(OUTWARD if beyond else "leakage <= budget"),
                f"a bound on the leakage over the set is {word} the budget",
            )
        return ok, OUTWARD if beyond else "leakage <= budget", f"the leakage is {word} the budget"
    return True, "both informations are enclosed", "there is no bound to keep"


def is_worst(problem: TradeOffData, release: Release, worst: tuple[Hashable, ...]) -> bool | None:
    """Whether a value of S and a release have the largest |log-lift| of all, exactly; None if they are not named."""
    if problem.ambiguity is not None:
        return None if worst else True
    joint = leaking_joint(problem.observation, release)
    secrets = list(problem.observation.leaking.sensitive)
    names: list[Hashable] = list(release.outputs)
    if len(worst) != 2:
        return None
    if worst[0] not in secrets or worst[1] not in names:
        return False
    pair = secrets.index(worst[0]), names.index(worst[1])
    _, most = worst_log_lift(joint)
    if pair not in joint.pairs():
        return False
    (up, down), (over, under) = _ratio(joint, pair), _ratio(joint, most)
    return up * under == over * down if under and down else not under and not down


def _ratio(joint: ExactJoint, pair: tuple[int, int]) -> tuple[int, int]:
    up, down = joint.lift(*pair)
    return (up, down) if up >= down else (down, up)


def terms(problem: TradeOffData, release: Release) -> Terms:
    """What the certificate is about; the worst single release is always said."""
    budget = number(problem.budget, 6)
    single = single_release(problem, release)
    if problem.is_cap and problem.is_funnel:
        kind, said = (
            "average",
            f"on average over releases, a release reveals at most {budget} nats about {_values(problem)}",
        )
    elif problem.is_cap:
        kind, said = (
            "average",
            f"on average over releases, a release reveals at most {budget} nats about X; S is what is to be revealed",
        )
    elif problem.is_floor:
        kind = "utility"
        said = (
            f"on average over releases, a release reveals at least {budget} nats about X (but for {FLOOR_SLACK:g}); what it "
            f"reveals about {_values(problem)} is stated, not bounded"
        )
    else:
        kind, said = (
            "utility",
            "what a release reveals about S and about X on average is stated; nothing is bounded",
        )
    plain = Terms(
        kind=kind,
        statement=f"{said}; an average promises nothing of a single release: {single}",
        assumption=f"the data follow {problem.joint!r} exactly as written (divided by its exact sum)",
        adversary="whoever sees the release, knows the joint distribution and the mechanism, and nothing else of the record",
        unit="release of one record's symbol, in nats on average",
        uncovered=(
            "what single releases reveal, beyond the worst log-lift that is named",
            "columns published beside the release, and other knowledge of the record",
            *_impossible(problem, release),
        ),
    )
    return plain if problem.ambiguity is None else _over_set(plain, said, problem.ambiguity)


def _over_set(plain: Terms, said: str, ambiguity: JointAmbiguity) -> Terms:
    """What is said where the cap is kept over a set: nothing of single releases, whose worst differs with the distribution."""
    alone = "what a single release reveals, as only the average is bounded"
    knows = plain.adversary.replace(
        "the joint distribution", "the distribution of the data, whichever of the set it is,"
    )
    told = replace(plain, statement=said, adversary=knows, uncovered=(alone, plain.uncovered[1]))
    return robust_terms(told, ambiguity)


def single_release(problem: TradeOffData, release: Release) -> str:
    """What the worst single release does to the odds of a secret, in words."""
    joint = leaking_joint(problem.observation, release)
    (lo, hi), (s, y) = worst_log_lift(joint)
    if hi == 0:
        return "here every release is independent of S, and reveals nothing"
    secrets = problem.observation.leaking.sensitive
    up = joint.largest_lift
    factor = _quotient(*joint.lift(*up))
    alone = sum(1 for row in joint.cells if row[up[1]]) == 1 < sum(map(bool, joint.rows))
    certain = ", and leaves no other" if alone else ""
    said = f"the release {release.outputs[up[1]]!r} makes {secrets[up[0]]!r} {factor} times as likely as before{certain}"
    if lo == math.inf:
        said += f"; the release {release.outputs[y]!r} makes {secrets[s]!r} inf times less likely: it is ruled out"
    return f"{said} (worst log-lift {'inf' if lo == math.inf else number(hi, 6)})"


def _quotient(up: int, down: int) -> str:
    try:
        return f"{up / down:.6g}"
    except OverflowError:
        return "more than 1e308"


def _values(problem: TradeOffData) -> str:
    return f"S (one of {_few(problem.observation.leaking.sensitive)})"


def _few(labels: tuple[Hashable, ...]) -> str:
    shown = ", ".join(map(repr, labels[:SHOWN]))
    return shown + (f" and {len(labels) - SHOWN} more" if len(labels) > SHOWN else "")


def _impossible(problem: TradeOffData, release: Release) -> tuple[str, ...]:
    """What is said of symbols that have probability zero."""
    weights = problem.observation.weights
    none = [i for i, w in enumerate(weights) if not w]
    if not none:
        return ()
    labels = problem.observation.observed
    if isinstance(release, Merging):
        how = "each is released as the block that it is in"
        return (
            f"symbols of probability 0, should they occur ({_few(tuple(labels[i] for i in none))}): {how}",
        )
    telling = [i for i in none if not _is_average(weights, release, i)]
    said = []
    if len(telling) < len(none):
        named = _few(tuple(labels[i] for i in none if i not in telling))
        said.append(
            f"symbols of probability 0, should they occur ({named}): they are released as the average symbol is, which "
            "reveals nothing of them"
        )
    if telling:
        named = _few(tuple(labels[i] for i in telling))
        said.append(
            f"symbols of probability 0, should they occur ({named}): their releases are not covered and may give them away"
        )
    return tuple(said)


def _is_average(weights: list[int], release: Release, symbol: int) -> bool:
    """Whether a symbol is released as the average one, but for rounding."""
    matrix = release.matrix
    whole = sum(weights)
    average = [
        math.fsum(w / whole * p for w, p in zip(weights, column, strict=True)) for column in matrix.T.tolist()
    ]
    return all(abs(p - q) <= HARMLESS * q for p, q in zip(matrix[symbol].tolist(), average, strict=True))
