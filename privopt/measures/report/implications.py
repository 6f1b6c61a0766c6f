"""What one measure's value says of another's, and the bounds that follow."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Self, TypeAlias

from privopt.errors import InvalidProblem
from privopt.measures.lifts import mutual_information_bound

Key: TypeAlias = str | tuple[str, float]
Facts: TypeAlias = tuple[float, ...]

LDP, DP, MI = "local_differential_privacy", "differential_privacy", "mutual_information"
SIBSON, ALPHA, MAXIMAL, LIFT = (
    "sibson_mutual_information",
    "alpha_leakage",
    "maximal_alpha_leakage",
    "alpha_lift",
)
_PLAIN = {"upper", "lower", "symmetric", LDP, DP, MI, "min_entropy_leakage", "maximal_leakage", "capacity"}
_AT_INF = {SIBSON: "maximal_leakage", ALPHA: "min_entropy_leakage", MAXIMAL: "maximal_leakage", LIFT: "upper"}
_AT_ONE = {SIBSON: MI, ALPHA: MI}
_MIXTURE = "Pr(y) is a mixture of likelihoods that differ by a factor e^epsilon at most"
_DELTAS = ("delta_at", "delta_at_neighbours")


@dataclass(frozen=True)
class Rule:
    """target <= bound(since)."""

    target: Key
    since: tuple[Key, ...]
    bound: Callable[..., float]
    why: str


def canonical(key: object) -> Key:
    """A key as the rules name it: orders 1 and inf have names of their own."""
    if isinstance(key, str) and key in _PLAIN:
        return key
    if isinstance(key, tuple) and len(key) == 2 and isinstance(key[1], (int, float)):
        name, order = key[0], float(key[1])
        if name in _DELTAS and order >= 0:
            return name, order
        if name in _AT_INF and order > 1:
            return _AT_INF[name] if math.isinf(order) else (name, order)
        if name in _AT_ONE and order == 1:
            return _AT_ONE[name]
    raise InvalidProblem(
        f"{key!r} names no measure with known implications: use one of {', '.join(sorted(_PLAIN))}, or a pair "
        f"(name, order > 1) of {', '.join(_AT_INF)}, or ({' or '.join(_DELTAS)}, epsilon)"
    )


def rules(keys: Iterable[Key], orders: Iterable[float], smallest: float | None) -> Iterator[Rule]:
    """All rules, for the orders of some keys, some others in (1, inf), and perhaps a smallest prior."""
    ordered = {key[1] for key in keys if isinstance(key, tuple) and key[0] not in _DELTAS}
    epsilons = [key[1] for key in keys if isinstance(key, tuple) and key[0] in _DELTAS]
    yield from _delta_rules(sorted(set(epsilons)))
    yield from _rules_of(sorted(ordered | {float(a) for a in orders if 1 < a < math.inf}), smallest)


def _rules_of(orders: Sequence[float], smallest: float | None) -> Iterator[Rule]:
    yield from _lift_rules(0.0 if smallest is None else smallest)
    yield from _information_rules()
    for a in orders:
        yield from _order_rules(a)
    for b, a in pairwise(orders):
        yield Rule((SIBSON, b), ((SIBSON, a),), _same, "Sibson's information grows with the order")
        yield Rule((MAXIMAL, b), ((MAXIMAL, a),), _same, "maximal alpha-leakage grows with the order")
        ratio = _share(b) / _share(a)
        yield Rule((LIFT, b), ((LIFT, a),), _times(ratio), "Rényi divergences grow with the order")


def _lift_rules(p: float) -> Iterator[Rule]:
    def raised(e: float) -> float:  # ln( e^e / (1 + p (e^e - 1)) )
        return e if p == 0 else -math.log1p((1 - p) * math.expm1(-e))

    def lowered(e: float) -> float:  # ln( p + (1-p) e^e )
        return e + math.log1p(p * math.expm1(-e)) if p < 1 else 0.0

    def from_lower(low: float) -> float:  # ln( (1 - (1-p) e^-low) / p )
        return math.log1p(-math.expm1(-low) * (1 - p) / p)

    yield Rule("upper", (LDP,), raised, _MIXTURE)
    yield Rule("lower", (LDP,), lowered, _MIXTURE)
    yield Rule("upper", ("symmetric",), _same, "symmetric is the larger of the two")
    yield Rule("lower", ("symmetric",), _same, "symmetric is the larger of the two")
    yield Rule("symmetric", ("upper", "lower"), max, "symmetric is the larger of the two")
    yield Rule(LDP, ("upper", "lower"), _sum, "a ratio of likelihoods is a ratio of lifts")
    yield Rule(DP, (LDP,), _same, "neighbours are some of all pairs")
    if p > 0:
        yield Rule("upper", ("lower",), from_lower, "what the other secrets keep, this one cannot have")


def _information_rules() -> Iterator[Rule]:
    yield Rule(
        "maximal_leakage", ("upper",), _same, "a sum of largest likelihoods is a mean of largest lifts"
    )
    yield Rule("capacity", ("maximal_leakage",), _same, "maximal leakage is the largest of all orders")
    yield Rule(
        "min_entropy_leakage", ("maximal_leakage",), _same, "maximal leakage covers every secret and order"
    )
    yield Rule(MI, ("capacity",), _same, "capacity is the largest mutual information over priors")
    yield Rule(MI, ("upper", "lower"), mutual_information_bound, "lifts between two limits, with mean 1")


def _order_rules(a: float) -> Iterator[Rule]:
    yield Rule((MAXIMAL, a), ("maximal_leakage",), _same, "maximal leakage is the largest of all orders")
    yield Rule("capacity", ((MAXIMAL, a),), _same, "capacity is the limit at order 1")
    yield Rule((SIBSON, a), ((MAXIMAL, a),), _same, "maximal alpha-leakage is the largest over priors")
    yield Rule((ALPHA, a), ((MAXIMAL, a),), _same, "alpha-leakage is Sibson's information at another prior")
    yield Rule(MI, ((SIBSON, a),), _same, "Sibson's information grows with the order")
    yield Rule((SIBSON, a), ("maximal_leakage",), _same, "Sibson's information grows with the order")
    yield Rule(
        (SIBSON, a), ((LIFT, a),), _times(1 / _share(a)), "Sibson's information is a mean of alpha-lifts"
    )
    yield Rule((LIFT, a), ("upper",), _times(_share(a)), "no divergence exceeds the largest log-ratio")


def _delta_rules(epsilons: Iterable[float]) -> Iterator[Rule]:
    for epsilon in epsilons:
        for delta, level in zip(_DELTAS, (LDP, DP), strict=True):
            why = "randomised response has the largest delta of all private channels"
            yield Rule((delta, epsilon), (level,), _excess_of(epsilon), why)
        key = (_DELTAS[0], epsilon)
        yield Rule((_DELTAS[1], epsilon), (key,), _same, "neighbours are some of all pairs")


def _excess_of(epsilon: float) -> Callable[[float], float]:
    """(e^level - e^epsilon) / (1 + e^level), or 0: a mean of max(0, r - e^epsilon), r in e^-+level with mean 1."""
    return lambda level: -math.expm1(epsilon - level) / (1 + math.exp(-level)) if level > epsilon else 0.0


def _same(value: float) -> float:
    return value


def _sum(first: float, second: float) -> float:
    return first + second


def _share(a: float) -> float:
    return (a - 1) / a


def _times(factor: float) -> Callable[[float], float]:
    return lambda value: factor * value


Known: TypeAlias = Mapping[Any, float]  # of Key, but keys of a mapping are invariant

_ROUNDS = 50
_GAIN = 1e-12


class ImpliedBound(float):
    """An upper bound in nats, with the measures that it follows from.

    Attributes
    ----------
    since : tuple
        Keys of the measures that the last step of the reasoning used; empty for what was given.
    why : str
        That step in words.
    """

    since: tuple[Key, ...]
    why: str

    def __new__(cls, value: float, since: tuple[Key, ...] = (), why: str = "given") -> Self:
        """Make a float that remembers."""
        bound = super().__new__(cls, value)
        bound.since, bound.why = since, why
        return bound

    def __reduce__(self) -> tuple[object, ...]:
        # A float's own pickle would forget the reasons.
        return type(self), (float(self), self.since, self.why)


def implied_bounds(
    known: Known, *, smallest_prior: float | None = None, orders: Iterable[float] = (2.0,)
) -> dict[Key, ImpliedBound]:
    """Upper bounds on all leakages of S into Y that follow from bounds on some.

    Rules of Sadeghi, "Fundamental trade-offs between privacy and utility in data sharing" (CSCIT 2021), with sharper
    constants where there are any (alpha-leakage <= largest log-lift, without a/(a-1); alpha-lift <= (a-1)/a of it),
    chained until nothing improves. Keys are

    ``"upper"``, ``"lower"``, ``"symmetric"``
        largest log-lift, size of the smallest log-lift (its sign does not matter), both;
    ``"local_differential_privacy"``, ``"differential_privacy"``
        levels of the channel from S to Y;
    ``"mutual_information"``, ``"min_entropy_leakage"``, ``"maximal_leakage"``, ``"capacity"``
        of S to Y, in nats;
    ``("sibson_mutual_information", a)``, ``("alpha_leakage", a)``, ``("maximal_alpha_leakage", a)``, ``("alpha_lift", a)``
        of order a, 1 < a < inf (orders 1 and inf are read as the names above);
    ``("delta_at", epsilon)``, ``("delta_at_neighbours", epsilon)``
        the delta of (epsilon, delta)-differential privacy, between all values of S, or between neighbours.

    Parameters
    ----------
    known : dict of key to float
        Upper bounds in nats (values will do), at least 0, perhaps inf.
    smallest_prior : float, optional
        The smallest positive Pr(s), or less; some rules need it, others get sharper.
    orders : iterable of float
        Orders to bound, besides those in ``known``.

    Returns
    -------
    dict of key to ImpliedBound
        The best bound found for everything that has a finite one, the given ones included. Differential privacy
        between neighbours alone implies nothing here: it does not bound the mutual information.

    Raises
    ------
    InvalidProblem
        If a key is unknown, a bound negative, or the smallest prior impossible.

    Examples
    --------
    >>> bounds = implied_bounds({"local_differential_privacy": 1.0}, smallest_prior=0.5)
    >>> round(bounds["upper"], 6), bounds["upper"].since
    (0.379885, ('local_differential_privacy',))
    >>> round(bounds["mutual_information"], 6), round(bounds["alpha_leakage", 2.0], 6)
    (0.110944, 0.379885)
    """
    _check_prior(smallest_prior)
    best: dict[Key, ImpliedBound] = {}
    for key, value in known.items():
        name, level = canonical(key), abs(value) if key == "lower" else value
        if not level >= 0:
            raise InvalidProblem(f"the bound on {key!r} must be at least 0 nats, got {value!r}")
        best[name] = min(best.get(name, ImpliedBound(math.inf)), ImpliedBound(level))
    chain = list(rules(tuple(best), tuple(orders), smallest_prior))
    for _ in range(_ROUNDS):
        gained = [_apply(rule, best) for rule in chain]
        if not any(gained):
            break
    return {key: bound for key, bound in best.items() if bound < math.inf}


def _apply(rule: Rule, best: dict[Key, ImpliedBound]) -> bool:
    """Use one rule; whether it improved a bound."""
    if not all(key in best for key in rule.since):
        return False
    facts: Facts = tuple(float(best[key]) for key in rule.since)
    value = max(rule.bound(*facts), 0.0)
    # Without a least gain, rounding could make a circle of rules improve for ever.
    if not value < best.get(rule.target, math.inf) * (1 - _GAIN):
        return False
    best[rule.target] = ImpliedBound(value, rule.since, rule.why)
    return True


def _check_prior(smallest: float | None) -> None:
    if smallest is not None and not (0 < smallest <= 0.5 or smallest == 1):
        raise InvalidProblem(
            f"smallest_prior must be in (0, 1/2], or 1 for a single secret, got {smallest!r}: two or more "
            "probabilities cannot all be larger"
        )
