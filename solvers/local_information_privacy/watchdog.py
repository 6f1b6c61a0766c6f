"""The high-risk observations, and the one block that they become."""

from __future__ import annotations

import math

import numpy as np

from privopt.arrays import Bools, Floats
from privopt.solvers.local_information_privacy.merge_blocks import BAND, Blocks


def high_risk(blocks: Blocks) -> Bools:
    """Which observations break a bound when released as they are, shape (n,)."""
    return ~blocks.allowed(blocks.singles)


def one_block(high: Bools) -> Bools:
    """The partition into one block of these and the others as they are, shape (m, n)."""
    rest = np.eye(len(high), dtype=bool)[~high]
    return np.concatenate([high[None, :], rest]) if high.any() else rest


def absorbed(blocks: Blocks, high: Bools) -> Bools:
    """The block with further observations added until its partition keeps the bounds, shape (n,).

    Each time the one that makes it allowed at the least loss of worth, or else brings it nearest. The block of
    all observations says nothing, so this ends.
    """
    high = high.copy()
    while high.any() and not high.all() and not blocks.keep(one_block(high)):
        low = np.flatnonzero(~high)
        block = high.astype(np.float64)
        sums, seen = block @ blocks.law + blocks.law[low], block @ blocks.seen + blocks.seen[low]
        excess = blocks.excess_of(sums).max(axis=1)
        loss = blocks.worth_of(blocks.seen[low]) - blocks.worth_of(seen)
        fits = excess <= BAND
        best = (
            np.argmin(np.where(fits, loss, math.inf)) if fits.any() else np.argmin(np.minimum(excess, 1e300))
        )
        high[low[int(best)]] = True
    return high


def alpha_risks(blocks: Blocks, members: Bools, alpha: float) -> Floats:
    """Logarithm of the alpha-lift of blocks, (a-1)/a D_a(P(s | block) from P(s)), nats, shape (m,)."""
    from privopt.measures.renyi import divergences

    sums = members.astype(np.float64) @ blocks.law
    prior = blocks.law.sum(axis=0)
    factor = 1.0 if math.isinf(alpha) else (alpha - 1) / alpha
    return factor * divergences(sums / sums.sum(axis=1, keepdims=True), prior / prior.sum(), alpha)


def violations(blocks: Blocks, parts: Bools, shown: int = 10) -> dict[str, float | str]:
    """The pairs (secret, block) that break the bounds in words, and their probability."""
    observed = blocks.problem.observation
    if blocks.problem.notion == "ldp":
        return {}
    broken = blocks.broken(parts)
    secrets = [label for label, p in zip(observed.leaking.sensitive, observed.p_s, strict=True) if p > 0]
    pairs = [
        f"({secrets[s]!r}, {' | '.join(str(observed.observed[w]) for w in blocks.support[parts[y]])!r})"
        for y, s in np.argwhere(broken).tolist()
    ]
    more = "" if len(pairs) <= shown else f" and {len(pairs) - shown} more"
    return {
        "violating_pairs": ", ".join(pairs[:shown]) + more,
        "violating_mass": float(blocks.broken_mass(parts).sum()),
    }
