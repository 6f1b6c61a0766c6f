"""What a bound on one leakage measure says about the others."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any, Self, TypeAlias

from privopt.errors import InvalidProblem
from privopt.measures.report._rules import Facts, Key, Rule, canonical, rules

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
    >>> found = implied_bounds({"local_differential_privacy": 1.0}, smallest_prior=0.5)
    >>> round(found["upper"], 6), found["upper"].since
    (0.379885, ('local_differential_privacy',))
    >>> round(found["mutual_information"], 6), round(found["alpha_leakage", 2.0], 6)
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
