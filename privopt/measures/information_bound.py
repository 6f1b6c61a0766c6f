"""The largest mutual information that log-lifts between two limits allow."""

from __future__ import annotations

import math

from privopt.errors import InvalidProblem
from privopt.measures.values import Unit, in_unit

_SMALL = 0.1
_TERMS = 16


def mutual_information_bound(upper: float, lower: float, *, unit: Unit = "nats") -> float:
    """Largest mutual information of a joint whose log-lifts lie in [-l, u].

    t e^u u - (1-t) e^-l l with t = (1 - e^-l) / (e^u - e^-l): the mean of lift ln lift is convex in the law of the
    lift, whose mean is 1, so the two ends carry all of it in the worst case. For u = l it is u tanh(u/2). Sharpens
    the lemma MI <= u of Sadeghi, "Fundamental trade-offs between privacy and utility in data sharing" (CSCIT 2021).

    Parameters
    ----------
    upper : float
        Bound u >= 0 on the log-lifts, nats, perhaps inf.
    lower : float
        Smallest log-lift, or its size l (the sign does not matter), nats, perhaps infinite.
    unit : {"nats", "bits"}
        Of the answer.

    Returns
    -------
    float
        At least 0 and at most u.

    Raises
    ------
    InvalidProblem
        If ``upper`` is negative, or either is not a number.

    Examples
    --------
    >>> round(mutual_information_bound(1.0, -1.0), 9), mutual_information_bound(0.5, float("inf"))
    (0.462117157, 0.5)
    """
    u, size = float(upper), abs(float(lower))
    if not u >= 0 or math.isnan(size):
        raise InvalidProblem(
            f"upper must be at least 0 and lower a number, in nats, got {upper!r} and {lower!r}"
        )
    if min(u, size) == 0:
        return 0.0
    if math.isinf(size) or math.isinf(u):
        return in_unit(u, unit)
    # With weights t and 1-t both lifts are compared with 1 through phi(r) = r ln r - r + 1 >= 0, so that no
    # difference of large numbers is left: t e^u phi-part (u - 1 + e^-u) and (1-t) e^-l phi-part (e^l - 1 - l).
    spread = -math.expm1(-(u + size))
    high = -math.expm1(-size) / spread * _excess(-u)
    low = -math.expm1(-u) / spread * _scaled_excess(size)
    return in_unit(min(high + low, u), unit)


def _excess(x: float) -> float:
    """e^x - 1 - x."""
    if abs(x) >= _SMALL:
        return math.expm1(x) - x
    found = 0.0
    for k in range(_TERMS, 1, -1):
        found = found * x + 1 / math.factorial(k)
    return found * x * x


def _scaled_excess(x: float) -> float:
    """e^-x (e^x - 1 - x), for x > 0."""
    return math.exp(-x) * _excess(x) if x < 1 else -math.expm1(-x) - x * math.exp(-x)
