"""I(S;Y) and I(X;Y) of a release, in float64 and in proved enclosures, without a table of X against X."""

from __future__ import annotations

from collections.abc import Sequence

from privopt.arrays import Floats
from privopt.core.exact import ball_ceiling, ball_floor
from privopt.core.problem import Enclosure
from privopt.measures.shannon import entropy, mutual_information
from privopt.mechanisms import Merging
from privopt.models import JointDistribution, ObservedJoint
from privopt.models.channel_data import Joint, Observation, Release
from privopt.problems.exact_joint import (
    BITS,
    ExactJoint,
    information_enclosure,
    leaking_joint,
    merged_weights,
    useful_information,
)


def informations(observed: Observation, release: Release) -> tuple[float, float]:
    """I(S;Y) and I(X;Y) in nats."""
    secret = observed.leaking_distribution(release)
    if isinstance(release, Merging) and observed.useful is None:
        return information(secret), float(entropy(secret.sum(axis=0), normalise=True))
    return information(secret), information(observed.useful_distribution(release))


def information(joint: Floats) -> float:
    """Mutual information of a joint distribution whose floats may miss 1 by rounding."""
    kept = joint[:, joint.sum(axis=0) > 0]
    return float(mutual_information(kept[kept.sum(axis=1) > 0], normalise=True))


def information_enclosures(observed: Observation, release: Release) -> tuple[Enclosure, Enclosure]:
    """Floats around the exact I(S;Y) and I(X;Y) of the integer form, in nats."""
    secret = information_enclosure(leaking_joint(observed, release))
    if isinstance(release, Merging) and observed.useful is None:
        return secret, entropy_enclosure(merged_weights(observed, release))
    return secret, useful_information(observed, release)


def most_information(observed: Observation) -> Enclosure:
    """Floats around I(X;W), which no release exceeds; H(X) where W is X."""
    if observed.useful is None:
        return entropy_enclosure(observed.weights)
    return information_enclosure(exact_table(observed.useful))


def secret_information(joint: Joint) -> Enclosure:
    """Floats around I(S;X)."""
    if isinstance(joint, JointDistribution):
        return information_enclosure(exact_table(joint))
    return information_enclosure(_secret_useful(joint))


def _secret_useful(joint: ObservedJoint) -> ExactJoint:
    """The distribution of (S, X) of one of (S, X, W)."""
    n_s, n_x, n_w = joint.table.shape
    sums = [sum(joint.exact.weights[i : i + n_w]) for i in range(0, n_s * n_x * n_w, n_w)]
    return ExactJoint(tuple(tuple(sums[i : i + n_x]) for i in range(0, n_s * n_x, n_x)), joint.exact.total)


def exact_table(joint: JointDistribution) -> ExactJoint:
    """A joint distribution in integers."""
    n, weights = len(joint.useful), joint.exact.weights
    return ExactJoint(tuple(weights[i : i + n] for i in range(0, len(weights), n)), joint.exact.total)


def entropies(observed: Observation) -> tuple[Enclosure, Enclosure]:
    """Floats around H(S) and H(X)."""
    secret = list(exact_table(observed.leaking).rows)
    useful = observed.weights if observed.useful is None else list(exact_table(observed.useful).rows)
    return entropy_enclosure(secret), entropy_enclosure(useful)


def entropy_enclosure(weights: Sequence[int]) -> Enclosure:
    """Floats around the entropy of the distribution proportional to integer weights.

    Examples
    --------
    >>> lo, hi = entropy_enclosure([1, 1, 2])
    >>> lo <= 1.5 * 0.6931471805599453 <= hi and hi - lo < 1e-15
    True
    >>> entropy_enclosure([7])
    (0.0, 0.0)
    """
    from flint import arb, ctx

    total = sum(weights)
    kept = [w for w in weights if w]
    if len(kept) == 1:
        return 0.0, 0.0
    with ctx.workprec(BITS + total.bit_length()):
        ball = sum((arb(w) * (arb(total) / arb(w)).log() for w in kept), arb(0)) / arb(total)
        return max(0.0, ball_floor(ball)), max(0.0, ball_ceiling(ball))
