"""Utility and leakage of a policy within a horizon: proved over every belief that can be reached, else simulated.

One walk over these beliefs (:mod:`privopt.problems.sequence_information_privacy.reach`) serves the reading and the certificate,
so both are about the same ones.

The leakage at a node is read at the computed belief. The true one is within Hilbert distance h of it
(:mod:`privopt.mechanisms.policy.beliefs`), which moves the logarithm of each ratio by at most h.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from functools import lru_cache

from privopt.core.exact import log_enclosure
from privopt.core.problem import Enclosure
from privopt.files.labels import Label
from privopt.mechanisms.policy.beliefs import FAINT
from privopt.mechanisms.policy.policy import SequencePolicy
from privopt.problems.sequence_information_privacy import reach
from privopt.problems.sequence_information_privacy.data import SequenceData
from privopt.problems.sequence_information_privacy.long_run import machine_of, mean_cost
from privopt.problems.sequence_information_privacy.reach import Nodes, affordable, cells_of, nodes
from privopt.problems.sequence_information_privacy.simulated import Reading, simulated

_UNIT = 2.0**-53
_LOST = 2.0**-1000
"""More than all that underflows can amount to: fewer than 2^60 products, each off by 2^-1074 at most."""


@dataclass(frozen=True)
class Walked:
    """What the walk over all outputs proved.

    Parameters
    ----------
    complete : bool
        Whether every output within the horizon was seen, and its kernel is the same on every machine; if not, nothing
        else counts.
    count : int
        Kernels read.
    utility, leakage : (lo, hi)
        Enclosures, a letter.
    reading : Reading
        The floats in their middle.
    """

    complete: bool
    count: int = 0
    utility: Enclosure = (-math.inf, math.inf)
    leakage: Enclosure = (0.0, math.inf)
    reading: Reading = field(default_factory=Reading)


def walk(problem: SequenceData, policy: SequencePolicy) -> Walked:
    """Utility and leakage over all outputs within the horizon, proved; remembered for the last few policies.

    Examples
    --------
    >>> from privopt.models import MarkovChain
    >>> from privopt.problems.sequence_information_privacy.problem import SequenceInformationPrivacy
    >>> problem = SequenceInformationPrivacy(MarkovChain([[0.5, 0.5], [0.5, 0.5]]), 0.5, horizon=6)
    >>> answer = walk(problem, problem.answer("closed-form"))
    >>> answer.complete, answer.count, abs(answer.utility[1] + 0.5 * math.exp(-0.5)) < 1e-7
    (True, 6, True)
    """
    if problem.lasting:
        return _lasting(problem, policy)
    return _walk(problem, policy, (reach.MAX_BELIEFS, reach.MAX_CELLS))


@lru_cache(maxsize=8)
def _lasting(problem: SequenceData, policy: SequencePolicy) -> Walked:
    """The same for a stream without end: over all beliefs that can ever be kept."""
    release = problem.release(0)
    machine = machine_of(policy, affordable(policy, cells_of(release)))
    part = policy.part(1)
    if machine is None or not part.carried(machine.beliefs, 0).all():
        return Walked(False)
    inputs = part.filter.inputs(machine.beliefs, 0)
    here = Nodes(release, part, machine.beliefs, machine.beliefs, 1, machine.weights, inputs)
    cost, best = mean_cost(policy, machine), Reading()
    best.utility = -0.5 * (cost[0] + cost[1]) if here.charged() else 0.0
    utility = (-cost[1], -cost[0]) if here.charged() else (0.0, 0.0)
    ratio, pair = here.largest_ratio()
    low, high = 0.0, 0.0
    if pair is not None:
        low, high = _logarithm(ratio, 1)
        spread = part.filter.distance(math.inf) + 8 * (sum(machine.weights.shape[1:]) + 16) * _UNIT
        low, high = max(0.0, low - spread), high + spread
        if policy.enforced:  # every kernel is checked with a margin for that distance
            high = min(high, policy.epsilon)
        best.leakage, best.where = high, "released in the long run"
        best.worst = (release.setting.inputs[pair[0]], release.setting.outputs[pair[1]])
    if not policy.enforced and bool(((machine.beliefs > 0) & (machine.beliefs < FAINT)).any()):
        low, high = 0.0, math.inf
    return Walked(True, len(machine.beliefs), utility, (low, high), best)


@lru_cache(maxsize=8)
def _walk(problem: SequenceData, policy: SequencePolicy, limits: tuple[int, int]) -> Walked:
    best, count, spread, charged, faint = Reading(), 0, 0.0, False, False
    costs: list[float] = []
    errors: list[float] = []
    largest, letters = 1.0, 1
    low, high = 0.0, 0.0
    for here in nodes(problem, policy, carried=True):
        if here is None:
            return Walked(False, count)
        count += len(here.beliefs) * here.times
        (n, m), length = here.weights.shape[1:], here.release.length
        mean, size = here.cost()
        terms = here.terms + here.roundings() + n + m + length + 12
        costs.append(mean * here.times)
        grown = terms + 0.5 * here.growth * (here.times - 1)
        errors.append(1.01 * grown * here.times * _UNIT * size)
        charged = charged or here.charged()
        faint = faint or bool(((here.beliefs > 0) & (here.beliefs < FAINT)).any())
        at = here.release.begin // problem.batch + (here.times - 1) * here.apart
        drift = here.part.filter.distance(at + 1)
        if at:
            drift = max(drift, policy.part(policy.batch).filter.distance(at + 1))
        spread = max(spread, (drift + 8 * (n + m + 16) * _UNIT) / length)
        ratio, pair = here.largest_ratio()
        if pair is not None and _size(ratio) / length > _size(largest) / letters:
            largest, letters = ratio, length
            setting = here.release.setting
            best.worst = (setting.inputs[pair[0]], setting.outputs[pair[1]])
            best.where = f"released at letter {here.release.begin}"
    if largest > 1.0:
        low, high = _logarithm(largest, letters)
        best.leakage = 0.5 * (low + high) if high < math.inf else high
        low, high = max(0.0, low - spread), high + spread
    if faint and not policy.enforced:
        low, high = 0.0, math.inf
    mid = math.fsum(costs) / problem.horizon
    most = max(abs(float(c)) for c in (problem.setting(1).cost.min(), problem.setting(1).cost.max()))
    slack = (math.fsum(errors) * (1 + 8 * _UNIT) + _LOST * most) / problem.horizon + 4 * _UNIT * abs(mid)
    best.utility = -mid if charged else 0.0
    utility = (
        (math.nextafter(-mid - slack, -math.inf), math.nextafter(-mid + slack, math.inf))
        if charged
        else (0.0, 0.0)
    )
    return Walked(True, count, utility, (low, high), best)


def _size(ratio: float) -> float:
    return math.inf if ratio == math.inf else math.log(ratio)


def _logarithm(ratio: float, length: int) -> Enclosure:
    """Floats around the logarithm of a ratio, a letter."""
    if ratio == math.inf:
        return math.inf, math.inf
    lo, hi = log_enclosure(*ratio.as_integer_ratio())
    return lo / length * (1 - 4 * _UNIT), hi / length * (1 + 4 * _UNIT)


def is_worst(
    problem: SequenceData, policy: SequencePolicy, worst: tuple[Label, ...], where: str
) -> bool | None:
    """Whether a pair leaks as much as any, where the walk is complete; None where rounding leaves it open."""
    known = walk(problem, policy)
    if not known.complete:
        return None
    if problem.lasting:
        return True if (worst, where) == (known.reading.worst, known.reading.where) else None
    if len(worst) != 2 or not known.reading.worst:
        return worst == known.reading.worst
    low = 0.0
    spread = known.leakage[1] - known.reading.leakage
    for here in nodes(problem, policy, carried=True):
        if here is None or f"released at letter {here.release.begin}" != where:
            continue
        setting = here.release.setting
        if worst[0] not in setting.inputs or worst[1] not in setting.outputs:
            return False
        ratio, _ = here.largest_ratio((setting.inputs.index(worst[0]), setting.outputs.index(worst[1])))
        low = _size(ratio) / here.release.length
    if low == known.reading.leakage or worst == known.reading.worst:
        return True
    return None if low + 2 * spread >= known.reading.leakage else False


def read(problem: SequenceData, policy: SequencePolicy) -> Reading:
    """Utility and leakage: those of the walk, or simulated with a fixed seed where it is not complete."""
    walked = walk(problem, policy)
    return walked.reading if walked.complete else replace(simulated(problem, policy))
