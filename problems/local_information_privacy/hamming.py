"""The least cost of errors where the secret is the observation and uniform, in closed form."""

from __future__ import annotations

from fractions import Fraction

from privopt.problems.costs import Costs
from privopt.problems.local_information_privacy.data import LocalInformationPrivacyData
from privopt.problems.local_information_privacy.polytope import Polytope


def least_errors(data: LocalInformationPrivacyData) -> Fraction | None:
    """A rational a little below the least distortion of any release that keeps all bounds, where it counts errors.

    Each release is right at most as often as its likeliest secret occurs, which of n secrets has r / (r + n - 1) at most for ratios up
    to r = e^epsilon; for lifts e^upper / n, and what the others leave at e^-lower / n. None where the secret is not the
    observation and uniform, the distortion is another one than that of Hamming, or the bounds are on something else.
    """
    if data.costs is None or data.notion not in ("lip", "ldp"):
        return None
    error = _every_error(data.polytope, data.costs)
    if error is None:
        return None
    n, above, below = len(data.polytope.table), data.polytope.above, data.polytope.below
    if data.notion == "ldp":
        return None if above is None else error * Fraction(n - 1) / (n - 1 + above)
    left = Fraction(0) if below is None else Fraction(n - 1, n) * below
    return error * max(left, Fraction(0) if above is None else 1 - above / n)


def _every_error(polytope: Polytope, costs: Costs) -> Fraction | None:
    """What every error costs, above 0; None where it is not the same for all, or secrets are not observations of one probability."""
    n = len(costs.cells)
    one_each = all(sum(map(bool, row)) == 1 for row in (*polytope.table, *zip(*polytope.table, strict=True)))
    if len(polytope.table) != n or not one_each or len(set(polytope.symbols)) > 1:
        return None
    right = [row.index(0) if row.count(0) == 1 else -1 for row in costs.cells]
    others = {cell for row in costs.cells for cell in row if cell}
    if len(others) != 1 or min(others) < 0 or min(right) < 0 or len(set(right)) < n:
        return None
    return Fraction(n * others.pop(), costs.scale)
