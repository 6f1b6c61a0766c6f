"""The funnel and the bottleneck over all channels by SciPy's SLSQP, told nothing of their structure."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from privopt.benchmarks._peers import PeerAnswer, register_peer
from privopt.benchmarks.peers._programmes import stochastic
from privopt.problems._observation import Floats
from privopt.problems._trade_off import TradeOff

STARTS, MOST = 5, 10
FEASIBLE = 1e-6


def _unfit(problem: TradeOff) -> str | None:
    if problem.form != "stochastic":
        return "a merging is not a smooth variable"
    if problem.observation.useful is not None:
        return "it is written for a channel that reads X"
    return None if len(problem.observation.p_x) <= MOST else f"it has more than {MOST} symbols"


@register_peer("privacy_funnel", "slsqp", ("scipy",), _unfit)
@register_peer("information_bottleneck", "slsqp", ("scipy",), _unfit)
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
        found: Any = tool.minimize(
            lambda x: -_objective(problem, x),
            rng.dirichlet(np.ones(n + 1), n).ravel(),
            method="SLSQP",
            bounds=[(0.0, 1.0)] * (n * (n + 1)),
            constraints=[sums, *limits],
            options={"maxiter": 200},
        )
        kept = problem.mode == "trade_off" or _room(problem, found.x) >= -FEASIBLE
        if kept and (best is None or found.fun < best.fun):
            best = found
    if best is None:
        raise ArithmeticError("no start led to a release that keeps the bound")
    return PeerAnswer(problem.answer(stochastic(best.x.reshape(shape))), -float(best.fun))


def _informations(problem: TradeOff, flat: Floats) -> tuple[float, float]:
    """Utility and leakage of a flattened channel."""
    from scipy.special import rel_entr

    table = problem.observation.leaking.table
    channel = np.maximum(flat.reshape(table.shape[1], -1), 0.0)

    def shared(law: Floats) -> float:
        return float(rel_entr(law, np.outer(law.sum(axis=1), law.sum(axis=0))).sum())

    return problem.split(shared(table @ channel), shared(table.sum(axis=0)[:, None] * channel))


def _objective(problem: TradeOff, flat: Floats) -> float:
    return problem.objective_of(*_informations(problem, flat))


def _room(problem: TradeOff, flat: Floats) -> float:
    utility, leakage = _informations(problem, flat)
    return utility - problem.budget if problem.is_floor else problem.budget - leakage
