"""How far a release still protects when the distribution is another one, or when it is drawn again."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

from privopt.errors import InvalidProblem

if TYPE_CHECKING:
    from privopt.core.problem import Enclosure, Problem
    from privopt.mechanisms import Mechanism
    from privopt.models.ambiguity.joint import Ambiguity

KINDS = ("total_variation", "chi2")
HALVINGS = 40


def robust_level(problem: Problem[Any], mechanism: Mechanism, ambiguity: Ambiguity) -> Enclosure:
    """The largest leakage of a mechanism over a set of distributions, in nats.

    Exact for bounds on ratios (local information privacy, pointwise maximal leakage, distortion with ratios, beliefs): rational
    numbers, with logarithms rounded outward. For averages (mutual information, maximal leakage) an upper bound, and below it what the
    release leaks at some joint of the set. With delta > 0 likewise: pairs that are beyond the level at some joint count at all, and
    the lower end is that of the nominal joint.

    Source: derived for product sets of rows and a set of priors, as in Lopuhaa-Zwakenberg and Goseling, "Mechanisms for Robust
    Local Differential Privacy" (Entropy 2024).

    Parameters
    ----------
    problem : Problem
        Says what leaks; its own distribution does not count.
    mechanism : Mechanism
    ambiguity : JointAmbiguity, RowSet for a belief, or ChainAmbiguity for records that depend on their neighbours
        Over the symbols of the problem.

    Returns
    -------
    tuple of float
        At most and at least that leakage; both may be inf.

    Raises
    ------
    InvalidProblem
        If the problem has no leakage over such sets, or the set is over other symbols.

    Examples
    --------
    >>> import privopt as po
    >>> joint = po.JointDistribution.normalised([[3, 2], [1, 4]])
    >>> problem = po.LocalInformationPrivacy(joint, 0.3, notion="ldp")
    >>> channel = po.Channel([[0.75, 0.25], [0.25, 0.75]])
    >>> low, high = robust_level(problem, channel, po.JointAmbiguity.total_variation(joint, Fraction(1, 10)))
    >>> round(low, 6), round(high, 6)  # ln 2; 0.452 at the joint itself
    (0.693147, 0.693147)
    """
    return problem.robust_level(problem.check(mechanism), ambiguity)


def robustness_radius(
    problem: Problem[Any], mechanism: Mechanism, level: float, kind: str = "total_variation"
) -> Enclosure:
    """How far each row P(x | s) may be from the nominal one before a mechanism leaks more than a level.

    Parameters
    ----------
    problem : Problem
    mechanism : Mechanism
    level : float
        Leakage in nats; for instance twice the budget.
    kind : {"total_variation", "chi2"}
        Distance of rows; the prior is the nominal one.

    Returns
    -------
    tuple of float
        A radius that is proved to keep the level, and one that is proved to break it or is as large as radii get; (0, 0) if the
        level is missed already.

    Raises
    ------
    InvalidProblem
        If the problem has no leakage over sets, or the kind is unknown.

    Examples
    --------
    >>> import math
    >>> import privopt as po
    >>> joint = po.JointDistribution.normalised([[3, 2], [1, 4]])
    >>> problem = po.LocalInformationPrivacy(joint, 0.3, notion="ldp")
    >>> low, high = robustness_radius(problem, po.Channel([[0.75, 0.25], [0.25, 0.75]]), math.log(2) + 1e-12)
    >>> round(low, 6), round(high, 6)
    (0.1, 0.1)
    """
    if kind not in KINDS:
        raise InvalidProblem(f"kind is {kind!r}: choose {' or '.join(map(repr, KINDS))}")
    checked = problem.check(mechanism)

    def keeps(radius: Fraction) -> bool:
        return problem.robust_level(checked, problem.neighbourhood(radius, kind))[1] <= level

    def breaks(radius: Fraction) -> bool:
        return problem.robust_level(checked, problem.neighbourhood(radius, kind))[0] > level

    low, high = Fraction(0), problem.largest_radius(kind)
    if not keeps(low):
        return 0.0, 0.0
    if keeps(high):
        return float(high), float(high)
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        if keeps(middle):
            low = middle
        elif breaks(middle):
            high = middle
        else:
            break
    return float(low), float(high)


def repeated_leakage(problem: Problem[Any], mechanism: Mechanism, times: float) -> float:
    """What several independent releases of the same records leak together, in nats; exact up to rounding.

    Releases of one record are independent given the record, not given the secret, so that they may leak more than their
    levels added: a second release can break a certificate that says 0. Outputs of several releases count by how often each came.

    Parameters
    ----------
    problem : Problem
    mechanism : Mechanism
    times : int or inf
        Releases, at least 1; inf is the limit, the leakage of a merging of symbols with equal rows.

    Raises
    ------
    InvalidProblem
        If the problem has no such measure, or the counts are too many to compute.

    Examples
    --------
    >>> import privopt as po
    >>> joint = po.JointDistribution([[0.25, 0.0, 0.25], [0.0, 0.25, 0.25]])
    >>> problem = po.LocalInformationPrivacy(joint, 0.5)
    >>> channel = po.Channel([[0.75, 0.25], [0.25, 0.75], [0.5, 0.5]])
    >>> [round(repeated_leakage(problem, channel, times), 4) for times in (1, 2, float("inf"))]
    [0.2877, 0.5878, inf]
    """
    return problem.repeated_leakage(problem.check(mechanism), times)
