"""Laws of local information privacy on random instances; what is reported is how often each was violated."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from privopt._dispatch import candidates, solve
from privopt._solution import Solution, Status
from privopt.benchmarks._measurements import Timing
from privopt.benchmarks.measurements import _lip_instances as instances
from privopt.benchmarks.measurements._laws import Law, tried
from privopt.benchmarks.measurements._lip_exact import keeps
from privopt.models import ObservedJoint
from privopt.problems._observation import Release
from privopt.problems.local_information_privacy import LocalInformationPrivacy
from privopt.solvers.local_information_privacy.subset_merging import SubsetMerging
from privopt.solvers.local_information_privacy.watchdog_boosting import WatchdogBoosting
from privopt.solvers.local_information_privacy.watchdog_merge import WatchdogMerge

NOISE = 1e-9
"""What rounding may explain, in nats."""
GAP = 1e-6
"""How far an answer that counts as optimal may be from the optimum."""
SECONDS = 5.0


def run(count: int) -> Iterator[Timing]:
    """Every law on ``count`` instances of its own."""
    return tried(LAWS, count)


def _private(rng: np.random.Generator) -> bool:
    """A solver drawn among those that take the question."""
    problem = instances.question(rng, delta=True)
    names = [c.name for c in candidates(problem) if c.refusal is None and (c.seconds or 0.0) < 1.0]
    found = solve(problem, names[int(rng.integers(len(names)))], time_limit=SECONDS)
    if not found.status.ok:
        return found.status in (Status.NOT_PRIVATE, Status.TIME_OUT)
    return found.certified and keeps(problem, found.mechanism)


def _bounded(rng: np.random.Generator) -> bool:
    problem = instances.question(rng)
    names = [c.name for c in candidates(problem) if c.refusal is None and (c.seconds or 0.0) < 1.0]
    chosen = rng.choice(names, size=min(2, len(names)), replace=False).tolist()
    found = [solve(problem, name, time_limit=SECONDS) for name in [*chosen, None]]
    best = max(_utility(s) for s in found)
    return all(s.bound is None or s.bound >= best - NOISE for s in found)


def _budgets(rng: np.random.Generator) -> bool:
    problem = instances.question(rng)
    return _grows(problem, problem.with_budget(problem.budget * (1 + rng.random())))


def _deltas(rng: np.random.Generator) -> bool:
    law, level = instances.joint(rng), instances.budget(rng)
    problem = LocalInformationPrivacy(law, epsilon=level, delta=float(rng.uniform(1e-3, 0.2)))
    without = solve(LocalInformationPrivacy(law, epsilon=level), SubsetMerging())
    return _utility(solve(problem, WatchdogBoosting())) >= _utility(without) - NOISE


def _grows(one: LocalInformationPrivacy, other: LocalInformationPrivacy) -> bool:
    """The optimum and the best blocks of ``other`` are at least those of ``one``."""
    blocks = [_utility(solve(p, SubsetMerging())) for p in (one, other)]
    return blocks[1] >= blocks[0] - NOISE and _at_least(solve(other), solve(one))


def _at_least(high: Solution[Release], low: Solution[Release]) -> bool:
    """Whether the first optimum is at least the second, as far as both are known."""
    reached = high.bound if high.status is not Status.OPTIMAL else _utility(high)
    return reached is None or reached >= _utility(low) - GAP


def _relabelled(rng: np.random.Generator) -> bool:
    one = instances.question(rng)
    if not isinstance(one.joint, ObservedJoint):
        other = instances.with_joint(one, instances.shuffled(rng, one.joint))
        blocks = [_utility(solve(p, SubsetMerging())) for p in (one, other)]
        a, b = solve(one), solve(other)
        return abs(blocks[0] - blocks[1]) <= NOISE and _at_least(a, b) and _at_least(b, a)
    return True


def _full_data(rng: np.random.Generator) -> bool:
    law, level = instances.joint(rng, largest=4), instances.budget(rng)
    whole = LocalInformationPrivacy(ObservedJoint.full_data(law), epsilon=level)
    return _at_least(solve(whole), solve(LocalInformationPrivacy(law, epsilon=level)))


def _processed(rng: np.random.Generator) -> bool:
    problem = instances.question(rng)
    before, after = (problem.evaluate(channel) for channel in instances.processed(problem, rng))
    less = after.leakage <= before.leakage + NOISE * max(1.0, before.leakage)
    return less and after.utility <= before.utility + NOISE


def _ordered(rng: np.random.Generator) -> bool:
    """Watchdog <= best blocks <= optimum."""
    problem = instances.question(rng)
    blocks = solve(problem, SubsetMerging())
    merged = solve(problem, WatchdogMerge(absorb=True))
    return _utility(merged) <= _utility(blocks) + NOISE and _at_least(solve(problem), blocks)


def _utility(solution: Solution[Release]) -> float:
    return 0.0 if solution.utility is None else solution.utility


LAWS: dict[str, Law] = {
    "no mechanism exceeds its budget, in integers": _private,
    "no answer is above a checked bound": _bounded,
    "a larger budget never costs utility": _budgets,
    "delta never costs utility": _deltas,
    "other labels change nothing": _relabelled,
    "full data is never worse than output perturbation": _full_data,
    "post-processing never leaks nor tells more": _processed,
    "watchdog <= best blocks <= optimum": _ordered,
}
