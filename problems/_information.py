"""I(S;Y) and I(X;Y) of a release, in float64 and in proved enclosures, without a table of X against X."""

from __future__ import annotations

from privopt._exact import ball_ceiling, ball_floor
from privopt.measures.shannon import entropy, mutual_information
from privopt.mechanisms import Merging
from privopt.problems._exact_joint import leaking_joint, merged_weights, useful_joint
from privopt.problems._exact_utility import BITS, information_enclosure
from privopt.problems._observation import Floats, Observation, Release

Enclosure = tuple[float, float]


def informations(observed: Observation, release: Release) -> tuple[float, float]:
    """I(S;Y) and I(X;Y) in nats."""
    secret = observed.leaking_law(release)
    if isinstance(release, Merging) and observed.useful is None:
        return information(secret), float(entropy(secret.sum(axis=0), normalise=True))
    return information(secret), information(observed.useful_law(release))


def information(law: Floats) -> float:
    """Mutual information of a joint law whose floats may miss 1 by rounding."""
    kept = law[:, law.sum(axis=0) > 0]
    return float(mutual_information(kept[kept.sum(axis=1) > 0], normalise=True))


def information_enclosures(observed: Observation, release: Release) -> tuple[Enclosure, Enclosure]:
    """Floats around the exact I(S;Y) and I(X;Y) of the integer form, in nats."""
    secret = information_enclosure(leaking_joint(observed, release))
    if isinstance(release, Merging) and observed.useful is None:
        return secret, entropy_enclosure(merged_weights(observed, release))
    return secret, information_enclosure(useful_joint(observed, release))


def most_information(observed: Observation) -> Enclosure:
    """Floats around I(X;W), which no release exceeds; H(X) where W is X."""
    weights = observed.weights
    if observed.useful is None:
        return entropy_enclosure(weights)
    from privopt.mechanisms import Channel

    n = len(weights)
    identity = Channel([[float(i == j) for j in range(n)] for i in range(n)], observed.observed)
    return information_enclosure(useful_joint(observed, identity))


def entropy_enclosure(weights: list[int]) -> Enclosure:
    """Floats around the entropy of the law proportional to integer weights.

    Examples
    --------
    >>> lo, hi = entropy_enclosure([1, 1, 2])
    >>> lo <= 1.5 * 0.6931471805599453 <= hi and hi - lo < 1e-15
    True
    >>> entropy_enclosure([7])
    (0.0, 0.0)
    """
    from flint import arb, ctx

    total, saved = sum(weights), ctx.prec
    kept = [w for w in weights if w]
    if len(kept) == 1:
        return 0.0, 0.0
    try:
        ctx.prec = BITS + total.bit_length()
        ball = arb(0)
        for w in kept:
            ball += arb(w) * (arb(total) / arb(w)).log()
        ball = ball / arb(total)
        return max(0.0, ball_floor(ball)), max(0.0, ball_ceiling(ball))
    finally:
        ctx.prec = saved
