"""What the paper's appendices state, checked on instances where it can be seen to hold or to fail.

Source: Massny, Bitar, Ye, El Rouayheb, "Between Close Enough to Reveal and Far Enough to Protect", Appendices C, D and F.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from privopt._text import number
from privopt.benchmarks._papers import Claim, Finding
from privopt.benchmarks.papers import _redaction_frames as frames
from privopt.measures import influence
from privopt.measures._binary import BinaryChain
from privopt.models import MarkovChain
from privopt.problems.redaction import Redaction


def chain(alpha: float, beta: float) -> MarkovChain:
    """The chain with these probabilities of leaving 0 and 1."""
    return MarkovChain.normalised([[1 - alpha, alpha], [beta, 1 - beta]])


def judge(holds: bool) -> Finding:
    """The finding on a statement that holds on an instance, or does not."""
    return Finding.MATCHES if holds else Finding.OFF


def appendices() -> Iterator[Claim]:
    """In the order of the paper."""
    yield _quilt_bound()
    yield _equation_10()
    yield _convexity()


def _quilt_bound() -> Claim:
    problem = frames.figure_problem(1.0)
    quilt, window = (frames.proved(problem, name)[0] for name in ("markov-quilt", "windows"))
    far = BinaryChain(0.01, 0.8).first_within(1.0)
    least = 1 - (far + 2) / 10
    return Claim(
        "MQ is within two records of the bound (chain of Figure 4)",
        "Appendix C",
        f"at least {number(least)}",
        f"MQ {number(quilt)}, best window {number(window)}",
        judge(quilt >= least - 1e-12),
        f"Algorithm 1 hides the record at distance {far} although it may be released.",
    )


def _equation_10() -> Claim:
    law, best = chain(0.25, 0.5), Redaction(chain(0.25, 0.5), 8, 3, 0.3)
    half = BinaryChain.of(law)
    least = 2 * (half.first_within(0.15) if half else 0) - 2
    hidden = frames.proved(best, "windows")[1].mechanism.probabilities[:, 0]
    return Claim(
        "records to hide beside the private one when both sides release (α = 0.25, β = 0.5, n = 8, p = 4, ε = 0.3)",
        "Equation (10)",
        f"at least {least}",
        f"{int(hidden.sum()) - 1} suffice",
        judge(int(hidden.sum()) - 1 >= least),
        "The even sum is at least 2 Δ*(ε/2) − 2, so the odd one, a record less, is at least 2 Δ*(ε/2) − 3.",
    )


def _convexity() -> Claim:
    told = [float(influence(chain(0.9, 0.95), 0, d).max()) for d in range(1, 6)]
    second = np.diff(told, 2)
    return Claim(
        "the max-influence is convex in the distance (α = 0.9, β = 0.95)",
        "Proposition 1",
        "convex",
        f"second differences {', '.join(number(value, 3) for value in second.tolist())}",
        judge(bool((second >= 0).all())),
        "True for a second eigenvalue of at least 0; for a negative one only among distances of equal parity.",
    )
