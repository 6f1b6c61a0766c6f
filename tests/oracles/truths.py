"""What is so of a mechanism under a problem: privacy, utility, leakage and the worst pairs, by brute force.

Rationals and 256-bit balls; nothing of the library is imported. It knows joints without a third variable, mergings and
channels, graphs of a few datasets, chains of two states and a few records, binary one-letter policies of the rule
"closed-form", and noise on groups, pairs of Gaussian records and short counted chains. Of the rest it says Undecided.
"""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from flint import arb

from oracles.documents import (
    CHAIN,
    DEFAULTS,
    MET,
    Json,
    Table,
    Undecided,
    at_most_exp,
    ball,
    budget,
    chain,
    channel,
    codes_of,
    costs,
    filled,
    information,
    joint,
    label,
    labels,
    levels_of,
    log_of,
    margins,
    neighbours_of,
    number,
    ratio,
    through,
    words,
)

KERNEL = 1e-6
"""What the kernels of a policy lose to their rounding to integers, relatively."""
FLOOR = 1e-12
"""Nats by which a floor on utility may be missed."""


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


def diagonal(p: Sequence[Fraction]) -> Table:
    """The joint table of a symbol with itself."""
    return [[p[i] if i == j else Fraction(0) for j in range(len(p))] for i in range(len(p))]


def _largest(ratios: dict[tuple[Any, Any], Fraction | None]) -> tuple[Fraction | None, set[tuple[Any, ...]]]:
    """The largest ratio, None for infinity, and all pairs that reach it."""
    known = [v for v in ratios.values() if v is not None]
    top = None if len(known) < len(ratios) else max(known, default=Fraction(1))
    return top, {pair for pair, v in ratios.items() if _ties(v, top)}


def _ties(value: Fraction | None, top: Fraction | None) -> bool:
    """Whether the logarithm of a ratio is that of the largest one, up to a reading of 1e-12."""
    if value is None or top is None:
        return value is top
    return value == top or value >= top * (1 - Fraction(1, 10**12) * Fraction(math.log(max(top, 1))))


def _both(value: arb) -> tuple[arb, arb]:
    return value, value


def _log_of(value: Fraction | None) -> arb:
    return arb("inf") if value is None else log_of(max(value, Fraction(1)))


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


HUGE = 1e4
"""Nats above every ratio of the tables here: a bound that only says which side counts."""


def _pointwise(problem: Json, mechanism: Json) -> Truth:
    table, secrets, symbols = joint(problem["joint"])
    kernel, outputs = channel(mechanism, symbols)
    level, none = min(HUGE, number(problem["epsilon"])), Fraction(0)
    if level < 0:
        raise ValueError("no budget")
    return _ratios(table, secrets, outputs, kernel, "lip", math.inf, level, none, problem["utility"])


def _belief(problem: Json, mechanism: Json) -> Truth:
    weights = [ratio(v) for v in problem["belief"]]
    if min(weights) < 0 or abs(sum(weights) - 1) > MET:
        raise ValueError("no belief")
    names = labels(problem["letters"], len(weights))
    kernel, outputs = channel(mechanism, names)
    level, table = number(problem["epsilon"]), diagonal([p / sum(weights) for p in weights])
    return _ratios(
        table, names, outputs, kernel, "lip", level, level, Fraction(0), costs(problem["distortion"], names)
    )


def _ratios(
    table: Table, secrets: Sequence[Any], outputs: Sequence[Any], kernel: Table, notion: str, lower: float, upper: float,
    delta: Fraction, utility: Any,
) -> Truth:  # fmt: skip
    law = through(table, kernel)
    p_s, p_y = margins(law)
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
            side = upper if up >= 1 else lower
            counts = side < math.inf or lower == upper
            high = (up if up >= 1 else down) if counts else Fraction(1)
        ratios[s, y], weight[s, y] = high, law[i][j]
        private &= kept
        mass += 0 if kept else law[i][j]
    if delta:
        private, (top, worst) = mass <= delta, _level(ratios, weight, delta)
    else:
        top, worst = _largest(ratios)
    p_x = margins(table)[1]
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
            return ratios[pair], {other for other in order if _ties(ratios[other], ratios[pair])}
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
    utility = _usefulness(margins(table)[1], kernel, problem["distortion"])
    law = through(table, kernel)
    kind, level = problem["leakage"], budget(problem)
    worst = None
    if kind in ("lip", "ldp"):
        bound = level if "max_leakage" in problem else math.inf
        limited = _ratios(
            table, secrets, outputs, kernel, kind, bound, bound, Fraction(0), problem["distortion"]
        )
        free = _ratios(table, secrets, outputs, kernel, kind, 1.0, 1.0, Fraction(0), problem["distortion"])
        leakage, kept = free.leakage[0], limited.private
    elif kind == "maximal_leakage":
        p_s = margins(law)[0]
        total = sum(
            (max(law[i][j] / p for i, p in enumerate(p_s) if p) for j in range(len(outputs))), Fraction(0)
        )
        leakage, kept = log_of(total), at_most_exp(total, level) if "max_leakage" in problem else None
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
    p_x = margins(table)[1]
    secret = information(through(table, kernel))
    useful = information([[p * k for k in row] for p, row in zip(p_x, kernel, strict=True)])
    utility, leakage = (useful, secret) if problem["type"] == "privacy_funnel" else (secret, useful)
    level = budget(problem)
    if "min_utility" in problem:
        kept = bool(utility >= arb(level) - FLOOR)
    else:
        cap = level if level in (0.0, math.inf) else math.nextafter(level, math.inf)  # as documented
        kept = "trade_off" in problem or level == math.inf or bool(leakage <= cap)
    return Truth(kept, _both(utility), _both(leakage))


def _colouring(problem: Json, mechanism: Json) -> Truth:
    graph = problem["graph"]
    codes, neighbours = codes_of(graph), neighbours_of(graph)
    names = labels(graph["vertices"], len(codes))
    levels = [filled(row) for row in levels_of(mechanism["levels"])]
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
            ratios[names[u], names[v]] = least_ratio(rows[u], rows[v], delta)
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


def least_ratio(p: Sequence[Fraction], q: Sequence[Fraction], delta: Fraction) -> Fraction | None:
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
            likelihoods = [v / m for v, m in zip(pair, marginal[place], strict=True)]
            for a, b in ((0, 1), (1, 0)):
                now = (
                    None
                    if likelihoods[a] and not likelihoods[b]
                    else likelihoods[a] / likelihoods[b]
                    if likelihoods[b]
                    else Fraction(0)
                )
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
    probability, sides = Fraction(1), [range(len(word))]
    if centre is not None:
        sides = [range(centre, centre + 1), range(centre - 1, -1, -1), range(centre + 1, len(word))]
    for side in sides:
        free = False
        for t in side:
            p = Fraction(0) if free else hide[t][word[t]]
            probability *= p if mask[t] else 1 - p
            free = centre is not None and t != centre and (free or not mask[t])
    return probability


def _sequence(problem: Json, mechanism: Json) -> Truth:
    """Binary letters one at a time under Hamming distortion, the rule of the closed form; up to the rounding of kernels."""
    plain = {"batch": 1, "distortion": "hamming"}
    mechanism = {**DEFAULTS["sequence_policy"], **mechanism}
    mechanism["chain"] = {**CHAIN, **mechanism["chain"]}
    same = chain(mechanism["chain"]) == chain(problem["chain"])
    if not same or any(mechanism[key] != problem[key] for key in plain):
        raise ValueError("a policy of another problem")
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
    leakage = (arb(level) * (1 - arb(KERNEL)), arb(level)) if leaks else (arb(0), arb(0))
    kept = level <= number(problem["epsilon"]) or (
        None if not leaks or level * (1 - KERNEL) < number(problem["epsilon"]) else False
    )
    return Truth(kept, (-mean - room, -mean + room), leakage)


def binary_ends(p: arb, lower: float, upper: float) -> tuple[arb, arb]:
    """Between which posteriors of a letter of probability p both log-ratios are within the bounds."""
    low, high = (-arb(lower)).exp(), arb(upper).exp()
    return arb.max(p * low, 1 - (1 - p) * high), arb.min(p * high, 1 - (1 - p) * low)


def _bayesian(problem: Json, mechanism: Json) -> Truth:
    names = {"query": "query", "noise": "mechanism", "clip": "clip", "length": "length", "scope": "scope"}
    mechanism = {**DEFAULTS["noisy_query"], **mechanism}
    if any(mechanism[ours] != problem[theirs] for ours, theirs in names.items()):
        raise ValueError("noise for another problem")
    scale, tau, stated = (number(mechanism[name]) for name in ("scale", "tau", "leakage"))
    if not scale > 0 or min(tau, stated) < 0 or scale == math.inf:
        raise Undecided("no noise, or noise alone")
    if problem["query"] != "sum" and not isinstance(problem["query"], dict):
        raise Undecided(problem["query"])
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
        known = problem["length"]
        least = most = ball(level * (model["size"] if known is None else min(model["size"], known)))
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
    if Fraction(tau) < level or least > stated * (1 + arb(1.001 * MET)):
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
    "pointwise_maximal_leakage": _pointwise,
    "belief_release": _belief,
    "distortion_privacy": _distortion,
    "privacy_funnel": _two_informations,
    "information_bottleneck": _two_informations,
    "boundary_colouring": _colouring,
    "redaction": _redaction,
    "sequence_information_privacy": _sequence,
    "bayesian_privacy": _bayesian,
}
