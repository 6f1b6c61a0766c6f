"""Checking an upper bound on the utility of a redaction question."""

from __future__ import annotations

import math
import time
from fractions import Fraction
from typing import TYPE_CHECKING

from privopt.measures.redaction.leakage import possible_values
from privopt.problems.redaction.bound import Setting
from privopt.problems.redaction.central import check as check_central
from privopt.problems.redaction.central import sizes
from privopt.problems.redaction.track import tracks

if TYPE_CHECKING:
    from collections.abc import Callable

    from privopt.core.problem import Enclosure
    from privopt.problems.redaction.problem import Redaction

LIMITS = {"nodes": (2, 1 << 16), "rows": (1, 1 << 16), "share": (0.0, 1.0)}
WORK = 1 << 26
"""Most nodes times rows: a dual may not ask for more than minutes."""

WIDTH = 2.0**-44
"""Share of a bound by which another version of NumPy or Arb may differ; on one version every processor rounds alike."""


def setting(problem: Redaction, clock: Callable[[], float]) -> Setting:
    """The sides of the only private record of a binary chain, and the budget."""
    return Setting(*tracks(problem, problem.private[0], clock), problem.epsilon, clock)


def utility_bound(problem: Redaction, cost: float, known: Setting | None = None) -> Enclosure:
    """The utility that a lower bound on the cost of redaction leaves; the private records give none.

    Where no record that depends on the private one may be released, the others are counted, without rounding.
    """
    silent = known is not None and known.silent
    n, places = problem.length, list(problem.private)
    left, right = (known.tracks[0].length, known.tracks[1].length) if known is not None and silent else (0, 0)
    hidden = sorted({*places, *range(places[0] - left, places[0] + right + 1)} if silent else places)
    if problem.weights is None:
        share = Fraction(n - len(hidden), n)
    else:
        weights = [Fraction(w) for w in problem.weights]
        total = sum(weights, Fraction(0))
        share = (total - sum((weights[t] for t in hidden), Fraction(0))) / total
    exact = cost == 0 or silent
    share = share if exact else max(Fraction(0), share - Fraction(cost))
    high = math.nextafter(float(share), math.inf) if Fraction(float(share)) < share else float(share)
    return (high, high) if exact else (high - WIDTH * high, high)


def check_dual(problem: Redaction, dual: object, seconds: float = math.inf) -> Enclosure | None:
    """The bound on utility that value tables of the sizes in ``dual`` prove, computed afresh, or None.

    One with a kind holds multipliers instead, see :mod:`privopt.problems.redaction.central`. An empty one
    stands for what needs no proof: the private records are redacted, or constant.
    """
    if not isinstance(dual, dict):
        return None
    if "kind" in dual:
        return _check_multipliers(problem, dual, seconds)
    if math.isinf(problem.epsilon) or any(
        len(possible_values(problem.chain, p)) < 2 for p in problem.private
    ):
        return 1.0, 1.0
    if not dual:
        return utility_bound(problem, 0.0)
    if problem.chain.k != 2 or len(problem.private) != 1 or set(dual) != set(LIMITS):
        return None
    if problem.form != "local":
        return None
    given: dict[str, float] = {k: v for k, v in dual.items() if type(v) in (int, float)}
    if any(name not in given or not low <= given[name] <= high for name, (low, high) in LIMITS.items()):
        return None
    if given["nodes"] * min(given["rows"], problem.length) > WORK:
        return None
    stop = time.monotonic() + seconds
    try:
        clock = _clock(stop)
        known = setting(problem, clock)
        return utility_bound(problem, known.bound(given, clock), known)
    except TimeoutError:
        return None


def _clock(stop: float) -> Callable[[], float]:
    return lambda: stop - time.monotonic()


def _check_multipliers(problem: Redaction, dual: dict[object, object], seconds: float) -> Enclosure | None:
    """The bound that ``{"kind": "central", "multipliers": [...]}`` proves within some seconds, or None."""
    begun = time.monotonic()
    kind, given, size = dual["kind"], dual.get("multipliers"), sizes(problem)
    if not isinstance(kind, str) or kind != "central" or len(dual) != 2 or type(given) is not list:
        return None
    if seconds <= 0 or size is None or len(given) != size[1]:
        return None
    if not all(type(value) in (int, float) and 0 <= value < math.inf for value in given):
        return None
    bound = check_central(problem, [float(value) for value in given])
    return bound if time.monotonic() - begun <= seconds else None
