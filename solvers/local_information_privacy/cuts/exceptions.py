"""Over a set of joints with delta > 0: releases that keep the bounds everywhere, mixed with posteriors that may break them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from privopt.arrays import Floats
from privopt.core.solver import Budget, Proposal
from privopt.mechanisms import Channel
from privopt.models.ambiguity.joint import JointAmbiguity
from privopt.models.channel_data import Release
from privopt.problems.local_information_privacy import exceptions_over_set as exceptions
from privopt.problems.local_information_privacy.bound import analytic_bound
from privopt.problems.local_information_privacy.problem import LocalInformationPrivacy
from privopt.solvers.local_information_privacy.answer import ANALYTIC, channel_from_posteriors
from privopt.solvers.local_information_privacy.cuts.mixtures import OverSet
from privopt.solvers.local_information_privacy.watchdog_boosting import RandomisedBoosting, mixture

ROOM = 1e-7
"""Share of delta that is left to rounding."""

CLOSE = 1e-9
"""Nats by which a posterior may exceed its bounds and still counts as keeping them: the repair draws it back."""

STRICT = 0.7
"""Share of the time for releases that keep the bounds everywhere."""


def with_exceptions(
    problem: LocalInformationPrivacy,
    ambiguity: JointAmbiguity,
    budget: Budget,
    strict: Callable[[LocalInformationPrivacy, Budget], Proposal],
) -> Proposal:
    """The best mixture of what keeps the bounds at every joint with what does not, of probability delta; a bound from the nominal joint.

    Parameters
    ----------
    problem : LocalInformationPrivacy
    ambiguity : JointAmbiguity
        Its set.
    budget : Budget
    strict : callable
        Solves the same problem with delta = 0.
    """
    kept = strict(
        _strict(problem), replace(budget, deadline=budget.deadline - (1 - STRICT) * budget.remaining)
    )
    bound, dual = analytic_bound(problem), dict[str, object](ANALYTIC)
    mixtures, pool = OverSet(problem, ambiguity), list[Floats]()
    boosting, alone = RandomisedBoosting(), problem.alone()
    if boosting.refuse(alone) is None and budget.remaining > 0:
        nominal = boosting.run(alone, budget)
        if nominal.bound is not None and nominal.bound < bound and isinstance(nominal.dual, dict):
            bound, dual = nominal.bound, nominal.dual
        if isinstance(nominal.mechanism, Channel):
            pool.append(mixtures.posteriors(nominal.mechanism))
    if not isinstance(kept.mechanism, Release) or problem.matrix is not None:
        return Proposal(kept.mechanism, bound, dual, stats=kept.stats)
    own, masses = mixtures.posteriors(kept.mechanism), problem.observation.p_w @ kept.mechanism.matrix
    offered = np.concatenate([own, np.eye(len(mixtures.p)), mixtures.p[None], *pool])
    weights = _weights(problem, mixtures, offered, masses[masses > 0])
    return Proposal(channel_from_posteriors(problem, weights, offered), bound, dual, stats=kept.stats)


def _strict(problem: LocalInformationPrivacy) -> LocalInformationPrivacy:
    """The same problem with delta = 0."""
    finite = {
        name: side for name, side in (("lower", problem.lower), ("upper", problem.upper)) if side < np.inf
    }
    return LocalInformationPrivacy(
        problem.joint,
        lower=finite.get("lower"),
        upper=finite.get("upper"),
        utility=problem.utility,
        outputs=problem.outputs,
    )


def _weights(
    problem: LocalInformationPrivacy, mixtures: OverSet, posteriors: Floats, masses: Floats
) -> Floats:
    """The best weights of posteriors whose pairs beyond the bounds have probability delta at most.

    What single posteriors spend is added up, each at its worst joint. Where sets are wide it may be better to publish the
    symbol itself with probability delta, whatever the joint; ``masses`` are those of the first posteriors, which keep the bounds.
    """
    spending, n = problem.delta * (1.0 - ROOM), len(mixtures.p)
    itself = np.concatenate(
        [(1.0 - spending) * masses, spending * mixtures.p, np.zeros(len(posteriors) - len(masses) - n)]
    )
    reader, columns = mixtures.rows.reader, mixtures.rows.columns(posteriors)
    excess = exceptions.over(reader.spread(columns, problem.notion).levels(), (problem.upper, problem.lower))
    spent = np.array(
        [exceptions.likely(reader, column[:, None], broken[:, None]) for column, broken in zip(columns.T, (excess > CLOSE).T, strict=True)]
    )  # fmt: skip
    costs = mixtures.costs(posteriors)
    try:
        best = mixture(costs, posteriors, spent, mixtures.p, spending).weights
    except ArithmeticError:
        return itself
    return best if costs @ best <= costs @ itself else itself
