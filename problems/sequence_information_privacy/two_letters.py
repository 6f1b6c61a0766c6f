"""Upper bounds on the utility of all releases of a chain with two letters, by dynamic programming over beliefs.

The dual is ``{"kind": "beliefs", "posteriors": [...], "steps": k}``, perhaps with a ``"potential"``: a grid of posteriors from
0 to 1, how many of the last releases are followed one by one, and a number for each grid point. Nothing in it is believed:
:mod:`privopt.problems.sequence_information_privacy.costs_ahead` computes from any grid what releases cost at least.

With V_t(r) the least cost of t releases after a posterior r, V_t = step(V_t-1), and step is monotone and adds constants. So
functions W_t with W_0 = 0 and W_t+1 <= step(W_t) are below V_t. After k of them let h be the potential, or W_k where there
is none, c the least W_k - h and g the least step(h) - h: then V_k+t >= h + c + t g, by induction. So for n releases V_n is at
least the cost of a release from the first belief on, followed by h + c + (n - 1 - k) g. In the long run a release costs at least g.
"""

from __future__ import annotations

import math
import time
from fractions import Fraction

import numpy as np

from privopt.arrays import Floats
from privopt.core.balls import Balls, below
from privopt.core.problem import Enclosure
from privopt.mechanisms.policy.ahead import Ahead
from privopt.problems.belief_release.bound import price_row
from privopt.problems.sequence_information_privacy.costs_ahead import CostsAhead
from privopt.problems.sequence_information_privacy.data import SequenceData, refuse_words

MAX_POINTS = 1025
MAX_STEPS = 2**20
MAX_EPSILON = 8.0
"""Nats: beyond, e^epsilon is too large for the margin of rounding."""
MAX_OUTPUTS = 6
LEAST_INFLUENCE = 1e-6
"""How far apart the rows of the chain are at least; letters that hardly depend on one another have better bounds."""
APART = 2.0**-30
"""Of posteriors, at least."""


def refuse_beliefs(problem: SequenceData) -> str | None:
    """Why dynamic programming over beliefs does not bound this problem, or None."""
    chain = problem.chain
    if chain.k != 2 or chain.order != 1 or len(chain.letters) != 2:
        return f"it takes chains of two letters, this one has {chain.k} states"
    if not chain.homogeneous or chain.max_length == 1:
        return "it takes chains whose steps are alike"
    if words := refuse_words(problem, MAX_EPSILON, MAX_OUTPUTS):
        return words
    moves = chain.step(0)
    if abs(float(moves[1, 1] - moves[0, 1])) < LEAST_INFLUENCE:
        return "letters hardly depend on one another"
    return None


def ahead_of(problem: SequenceData, posteriors: Floats) -> Ahead:
    """The dynamic program of a problem on a grid of posteriors."""
    return Ahead(np.array(problem.chain.step(0)), problem.setting(1).cost, problem.epsilon, posteriors)


def beliefs_enclosure(
    problem: SequenceData, dual: dict[str, object], seconds: float = math.inf
) -> Enclosure | None:
    """Floats around the upper bound on utility that a grid of posteriors proves, or None."""
    if refuse_beliefs(problem) is not None:
        return None
    posteriors, steps = price_row(dual.get("posteriors"), MAX_POINTS), dual.get("steps")
    if posteriors is None or len(posteriors) < 2 or type(steps) is not int or not 0 <= steps <= MAX_STEPS:
        return None
    shown, potential = dual.get("potential"), None
    if shown is not None:
        potential = price_row(shown, MAX_POINTS)
        if potential is None or potential.shape != posteriors.shape:
            return None
    key = ("beliefs", posteriors.tobytes(), steps, None if potential is None else potential.tobytes())
    if key not in problem.enclosures:
        if not (np.diff(posteriors) > APART).all() or posteriors[0] != 0 or posteriors[-1] != 1:
            return None
        least = _least(problem, CostsAhead(ahead_of(problem, posteriors)), steps, potential, seconds)
        if least is None:
            return None
        problem.keep(key, _outward(least, 1 if problem.lasting else problem.span))
    return problem.enclosures[key]


def _outward(least: Fraction, releases: int) -> Enclosure:
    """Floats around minus the mean; the arithmetic before is the same on all machines."""
    mean = float(least / releases)
    return math.nextafter(-mean, -math.inf), math.nextafter(-mean, math.inf)


def _least(
    problem: SequenceData, costs: CostsAhead, steps: int, potential: Floats | None, seconds: float
) -> Fraction | None:
    """What all releases cost at least; None where time runs out."""
    until = time.monotonic() + seconds
    later, before, more = np.zeros(len(costs.grid)), problem.horizon - 1, Fraction(0)
    for _ in range(int(min(steps, before))):
        if time.monotonic() > until:
            return None
        later = costs.step(later)
    if steps < before:
        h = later if potential is None else potential
        gain = Fraction(float(below(costs.step(h) - h).min()))
        if problem.lasting:
            return gain
        more = Fraction(float(below(later - h).min())) + int(before - steps) * gain
        later = h
    exact = problem.chain.exact_initial
    return more + Fraction(costs.least(later, Balls.fractions([exact.fraction(1)])))
