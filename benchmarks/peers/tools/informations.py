"""The funnel and the bottleneck over all channels by SciPy's SLSQP, told nothing of their structure."""

from __future__ import annotations

import math
import time
from typing import Any

import numpy as np

from privopt.arrays import Floats
from privopt.benchmarks.peers.peer import PeerAnswer, Work, register_peer
from privopt.benchmarks.peers.tools._programs import BACKENDS, minimum, needs, stochastic
from privopt.problems.distortion_privacy.problem import DistortionPrivacy
from privopt.problems.information_bottleneck.problem import InformationBottleneck
from privopt.problems.trade_off.problem import TradeOff

MOST_FOR_DIT = 5
"""Symbols; its optimiser over auxiliary variables takes minutes beyond."""
BITS = float(np.log(2))


def _unfit_for_dit(problem: InformationBottleneck) -> str | None:
    if problem.mode != "trade_off" or problem.form != "stochastic" or problem.budget == 0:
        return "dit minimises I(X;T) - beta I(S;T) over stochastic channels"
    if problem.observation.useful is not None:
        return "it is written for a channel that reads X"
    return (
        None if len(problem.observation.p_x) <= MOST_FOR_DIT else f"it has more than {MOST_FOR_DIT} symbols"
    )


@register_peer("information_bottleneck", "dit", ("dit",), _unfit_for_dit)
def dit(problem: InformationBottleneck, seconds: float) -> PeerAnswer:
    """Its ``InformationBottleneck`` at beta = 1 / trade_off; the channel is read off its joint distribution."""
    from dit import Distribution
    from dit.rate_distortion.information_bottleneck import InformationBottleneck as Bottleneck

    table: Any = problem.observation.leaking.table
    cells = [(x, s) for x in range(table.shape[1]) for s in range(table.shape[0]) if table[s, x] > 0]
    distribution = Distribution([f"{x}{s}" for x, s in cells], [float(table[s, x]) for x, s in cells])
    bottleneck: Any = Bottleneck(distribution, beta=1 / problem.budget)
    bottleneck.optimize()
    # dit offers no other way to the channel
    joint = np.asarray(bottleneck.construct_joint(bottleneck._optima))
    with_release = joint.sum(axis=(1, 2))
    channel = stochastic(with_release / with_release.sum(axis=1, keepdims=True))
    reached = float(bottleneck.objective(bottleneck._optima))
    return PeerAnswer(problem.answer(channel), -reached * BITS * problem.budget)


def _unfit_for_cvxpy(problem: DistortionPrivacy) -> str | None:
    if problem.observation.useful is not None:
        return "it is written for a channel that reads X"
    if problem.leakage not in ("mutual_information", "maximal_leakage"):
        return f"it is written for mutual information and maximal leakage, not for {problem.leakage}"
    return None


def _leak(problem: DistortionPrivacy, channel: Any) -> tuple[Any, float]:
    """A convex expression of the leakage, and the budget in its unit: nats, or e to them."""
    import cvxpy

    cp: Any = cvxpy  # much of it has no types
    table, budget = problem.observation.leaking.table, problem.budget
    if problem.leakage == "maximal_leakage":
        conditional = (table / table.sum(axis=1, keepdims=True)) @ channel
        return cp.sum(cp.max(conditional, axis=0)), math.exp(budget)
    distribution = cp.reshape(table.sum(axis=0) @ channel, (1, problem.matrix.shape[1]), order="C")
    return cp.sum(cp.rel_entr(table @ channel, table.sum(axis=1)[:, None] @ distribution)), budget


def with_backend(backend: str) -> Work:
    """The peer of a back end."""

    def work(problem: DistortionPrivacy, seconds: float) -> PeerAnswer:
        import cvxpy

        cp: Any = cvxpy  # much of it has no types
        cost = problem.observation.p_x[:, None] * problem.matrix
        channel = cp.Variable(cost.shape, nonneg=True)
        error, (leak, limit) = cp.sum(cp.multiply(cost, channel)), _leak(problem, channel)
        rules = [cp.sum(channel, axis=1) == 1]
        if problem.max_leakage is None:
            reached = minimum(leak, [*rules, error <= problem.budget], backend)
            reached = math.log(reached) if problem.leakage == "maximal_leakage" else reached
        else:
            reached = minimum(error, [*rules, leak <= limit], backend)
        return PeerAnswer(problem.answer(stochastic(np.asarray(channel.value))), -reached)

    return work


for _backend in BACKENDS:
    register_peer("distortion_privacy", f"cvxpy-{_backend}", needs(_backend), _unfit_for_cvxpy)(
        with_backend(_backend)
    )


STARTS, MOST = 5, 10
FEASIBLE = 1e-6


def _unfit_for_slsqp(problem: TradeOff) -> str | None:
    if problem.form != "stochastic":
        return "a merging is not a smooth variable"
    if problem.observation.useful is not None:
        return "it is written for a channel that reads X"
    return None if len(problem.observation.p_x) <= MOST else f"it has more than {MOST} symbols"


@register_peer("privacy_funnel", "slsqp", ("scipy",), _unfit_for_slsqp)
@register_peer("information_bottleneck", "slsqp", ("scipy",), _unfit_for_slsqp)
def slsqp(problem: TradeOff, seconds: float) -> PeerAnswer:
    """The best of several random starts that keeps the bound to 1e-6."""
    from scipy import optimize

    tool: Any = optimize  # its types know no functions of ours

    begun, n = time.monotonic(), len(problem.observation.p_x)
    shape = (n, n + 1)
    sums = tool.LinearConstraint(np.kron(np.eye(n), np.ones((1, n + 1))), np.ones(n), np.ones(n))
    limits = (
        []
        if problem.mode == "trade_off"
        else [tool.NonlinearConstraint(lambda x: _room(problem, x), 0, np.inf)]
    )
    rng, best = np.random.default_rng(0), None
    for _ in range(STARTS):
        if best is not None and time.monotonic() - begun > seconds / 2:
            break
        trial: Any = tool.minimize(
            lambda x: -_objective(problem, x),
            rng.dirichlet(np.ones(n + 1), n).ravel(),
            method="SLSQP",
            bounds=[(0.0, 1.0)] * (n * (n + 1)),
            constraints=[sums, *limits],
            options={"maxiter": 200},
        )
        kept = problem.mode == "trade_off" or _room(problem, trial.x) >= -FEASIBLE
        if kept and (best is None or trial.fun < best.fun):
            best = trial
    if best is None:
        raise ArithmeticError("no start led to a release that keeps the bound")
    return PeerAnswer(problem.answer(stochastic(best.x.reshape(shape))), -float(best.fun))


def _informations(problem: TradeOff, flat: Floats) -> tuple[float, float]:
    """Utility and leakage of a flattened channel."""
    from scipy.special import rel_entr

    table = problem.observation.leaking.table
    channel = np.maximum(flat.reshape(table.shape[1], -1), 0.0)

    def shared(distribution: Floats) -> float:
        return float(
            rel_entr(distribution, np.outer(distribution.sum(axis=1), distribution.sum(axis=0))).sum()
        )

    return problem.split(shared(table @ channel), shared(table.sum(axis=0)[:, None] * channel))


def _objective(problem: TradeOff, flat: Floats) -> float:
    return problem.objective_of(*_informations(problem, flat))


def _room(problem: TradeOff, flat: Floats) -> float:
    utility, leakage = _informations(problem, flat)
    return utility - problem.budget if problem.is_floor else problem.budget - leakage
