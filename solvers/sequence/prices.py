"""Prices of steps and of policies: those of one release, of each release of a horizon, and of states that are revealed.

The program with the state before a release revealed is that of :mod:`privopt.problems.sequence_information_privacy.bound`:
the least cost of L T + (1 - L) K, K <= T / theta, over kernels K and distributions T, for the distribution of what is
read given each state.
"""

from __future__ import annotations

import itertools
import math
import time
from typing import Any

import numpy as np

from privopt.arrays import Floats
from privopt.core.highs import FINEST, Rows, minimise
from privopt.core.registry import find_solver
from privopt.core.solver import OUT_OF_TIME, Budget, Guarantee, Proposal
from privopt.mechanisms import Mechanism
from privopt.mechanisms.policy.fixed import Levels
from privopt.mechanisms.policy.formulas.steps import Answer
from privopt.mechanisms.policy.formulas.steps import Step as OneStep
from privopt.mechanisms.policy.policy import SequencePolicy
from privopt.mechanisms.policy.rules import find_rule
from privopt.mechanisms.policy.setting import Setting, forgets
from privopt.problems.belief_release.bound import structure_bound
from privopt.problems.belief_release.problem import BeliefRelease
from privopt.problems.sequence_information_privacy.bound import (
    MAX_CELLS,
    MAX_WORDS,
    MIN_THETA,
    sequence_bound,
)
from privopt.problems.sequence_information_privacy.problem import SequenceInformationPrivacy
from privopt.problems.sequence_information_privacy.simulated import asked
from privopt.problems.sequence_information_privacy.steps import Step, steps
from privopt.solvers.sequence._near_cells import Pairs, nearest

MAX_ROWS = 200
"""Later releases are served by the last row of prices."""
MAX_PRICES = 40_000
"""States times words, for a dual that is written as text."""
MAX_PROGRAM, WHOLE = 2**16, 2**14
"""Words times releases of a program of few of their pairs, and of all."""
FEW_CELLS, FEW = 400, 0.25
"""Of a program, up to which all pairs of a word and a release are in it, and share of larger ones up to which it begins with the nearest."""
ROUNDS, NEAR = 4, 1e-7
"""Such programs of one distribution at most, to which pairs are added, and what these must be worth, as a share of the prices."""
LARGE, SPARE = 2**17, 2.0**-44
"""Numbers of a kernel beyond which a certificate that fails in the last digit costs a second: it keeps that share of epsilon free."""
SHARE = 0.5
"""Of the time that is left, what stays for the bound."""


def step_of(problem: BeliefRelease) -> OneStep:
    """The numbers of a problem on one step."""
    line = problem.letters if problem.distortion in ("l1", "squared") else ()
    return OneStep(problem.p, problem.matrix, problem.epsilon, problem.nominal, line)


def priced(problem: BeliefRelease, answer: Answer) -> Proposal:
    """A channel with the bound that its prices, if there are any, prove."""
    channel = problem.answer(answer.kernel)
    if channel.matrix.size > LARGE:
        channel = problem.repair(channel, SPARE)
    if not len(answer.prices):
        return Proposal(channel, stats=answer.stats)
    lam = np.where(np.isfinite(answer.prices), answer.prices, 0.0)
    dual = {"kind": "structure", "lam": lam.tolist()}
    return Proposal(channel, structure_bound(problem, lam), dual, stats=answer.stats)


def belief_release(setting: Setting, distribution: Floats, level: float) -> BeliefRelease:
    """The problem of one step for a distribution of letters or words, at a level.

    Examples
    --------
    >>> from privopt.models import MarkovChain
    >>> belief_release(Setting(MarkovChain([[0.5, 0.5], [0.5, 0.5]]), 1, 0.3, "hamming"), np.array([0.25, 0.75]), 1.0)
    BeliefRelease(2 letters, epsilon=1, distortion='hamming')
    """
    if setting.batch == 1 and isinstance(setting.distortion, str):
        return BeliefRelease(distribution.tolist(), level, setting.distortion, setting.letters)
    return BeliefRelease(distribution.tolist(), level, setting.cost)


MAX_ROWS = 200
"""Later releases are served by the last row of prices."""


def independent(problem: SequenceInformationPrivacy) -> bool:
    """Whether letters are independent of one another, so that releases may be treated one by one.

    Examples
    --------
    >>> from privopt.models import MarkovChain
    >>> independent(SequenceInformationPrivacy(MarkovChain([[0.25, 0.75]] * 2), 1.0))
    True
    """
    chain = problem.chain
    records = 1 if chain.homogeneous else problem.span - 1
    return all(forgets(chain, t) for t in range(records))


def step_guarantee(problem: SequenceInformationPrivacy) -> Guarantee:
    """Optimal where a step at a time is the whole problem; else with a bound."""
    words = len(problem.setting(min(problem.batch, problem.span)).inputs)
    if words > MAX_WORDS:
        return Guarantee.FEASIBLE
    single = problem.horizon <= problem.batch or independent(problem)
    return Guarantee.OPTIMAL if single else Guarantee.BOUNDED


HOPELESS = 4.0
"""How many times the time left a policy may be predicted to take before its programs are not even measured."""

LEAST_UNIT = 1e-4
"""Of costs, relative to the largest one: smaller ones make coefficients that programs do not end with."""
PEAKED, LARGE = 2.0, 1500
"""How many times as long as at the belief that is measured a program of so many cells may take at those that releases lead to."""

LATE = 0.5
"""Seconds past the deadline that the judgement of a policy is predicted to end, at most."""


def priced_policy(
    problem: SequenceInformationPrivacy, rule: str, budget: Budget, one: float = 0.0
) -> Proposal:
    """The policy of a rule, with the bound that the prices of the one-step solver of the same name prove.

    ``one`` is about how many seconds the rule takes at one belief.
    """
    stats: dict[str, float | int | str] = {}
    policy: Mechanism | None = policy_in_time(problem, rule, budget, one)
    if policy is None:  # what is known already is handed back with the bound
        policy = problem.anchor() if budget.incumbent is None else budget.incumbent
        stats["stop"] = f"{OUT_OF_TIME}: asking {rule} at the beliefs within reach takes longer than there is"
    rows = _rows(problem, rule, budget)
    stats["priced_releases"] = len(rows)
    if not rows:
        return Proposal(policy, stats=stats)
    bound, dual = proved(problem, [np.array(row) for row in rows], budget)
    return Proposal(policy, bound, dual, stats=stats)


def _measured(problem: SequenceInformationPrivacy, rule: str, budget: Budget) -> float:
    """Seconds of the rule at one belief here: where the record before is known, if there is one and time for it.

    Peaked beliefs take several times as long as even ones, and the first program waits for imports.
    """
    took = 0.0
    for step in itertools.islice(steps(problem), 2):
        if took and budget.remaining <= 0:
            break
        belief = step.distribution if step.before is None else step.revealed[len(step.revealed) // 2]
        begun = time.monotonic()
        find_rule(rule).propose(step.release.setting, belief[None])
        took = time.monotonic() - begun
    setting = problem.setting(min(problem.batch, problem.span))
    return PEAKED * took if setting.cost.size > LARGE else took


def policy_in_time(
    problem: SequenceInformationPrivacy, rule: str, budget: Budget, one: float
) -> SequencePolicy | None:
    """The policy of a rule, or None where its kernels could not be judged in time, as predicted or as the first ones took.

    ``one`` is about how many seconds the rule takes at one belief.
    """
    plain = SequencePolicy(problem.chain, problem.epsilon, problem.batch, problem.distortion, rule)
    first, later = asked(problem, plain)
    if one * (first + later) > HOPELESS * (budget.remaining + LATE):
        return None
    words = len(problem.setting(min(problem.batch, problem.span)).inputs)
    if (
        one
        and words <= MAX_WORDS
        and _measured(problem, rule, budget) * (first + later) > budget.remaining + LATE
    ):
        return None
    begun = time.monotonic()
    policy = problem.answer(rule)
    spent = time.monotonic() - begun
    if later and not policy.prepared and spent * later / first > budget.remaining + LATE:
        return None
    return policy


def _rows(problem: SequenceInformationPrivacy, solver: str, budget: Budget) -> list[list[float]]:
    """A row of prices for each release, until they repeat, or half the time is gone."""
    if len(problem.setting(min(problem.batch, problem.span)).inputs) > MAX_WORDS:
        return []
    rows: list[list[float]] = []
    until = budget.earlier(0.5)
    before: Step | None = None
    for step in steps(problem):
        if len(rows) >= MAX_ROWS or (rows and until.remaining == 0):
            break
        if before is not None and alike(before, step):
            rows.append(rows[-1])
            continue
        release = belief_release(step.release.setting, step.distribution, step.level)
        dual = find_solver(release, solver).run(release, Budget(budget.deadline, budget.seed)).dual
        if not isinstance(dual, dict):
            break
        rows.append([float(price) for price in dual["lam"]])
        before = step
    while len(rows) > 1 and rows[-1] == rows[-2]:
        rows.pop()
    return rows


def alike(one: Step, other: Step) -> bool:
    """Whether prices of one serve the other as well."""
    if one.distribution.shape != other.distribution.shape:
        return False
    near = math.isclose(one.level, other.level, rel_tol=1e-12)
    return near and bool(np.abs(one.distribution - other.distribution).max() < 1e-13)


def revealed_prices(problem: SequenceInformationPrivacy, budget: Budget) -> Floats | None:
    """A row of prices for each state before a release; None where there is none, or programs are too large.

    Examples
    --------
    >>> from privopt.models import MarkovChain
    >>> coin = MarkovChain([[0.5, 0.5], [0.2, 0.8]])
    >>> revealed_prices(SequenceInformationPrivacy(coin, 1.0), Budget()).round(4).tolist()
    [[0.0, 0.0], [0.0594, 0.0]]
    """
    later = (step for step in steps(problem) if step.before is not None)
    step = next(later, None)
    if step is None:
        return None
    k, (n, m) = problem.chain.k, step.release.setting.cost.shape
    if k * n > MAX_PRICES or k * n * m > MAX_CELLS:
        return None
    cost, levels = step.release.setting.cost, Levels.of(step.release.setting.epsilon)
    if levels.theta < MIN_THETA:
        return np.zeros((k, n))
    if n == m and np.array_equal(cost, 1.0 - np.eye(n)):
        return hamming_prices(step.revealed, levels)
    return _by_programs(step, levels, budget) if n * m <= MAX_PROGRAM else None


def proved(
    problem: SequenceInformationPrivacy, lam: list[Floats], budget: Budget
) -> tuple[float | None, dict[str, Any] | None]:
    """The bound that prices for each release prove, helped by those with the state before revealed, and its dual."""
    revealed = revealed_prices(problem, budget)
    bound = sequence_bound(problem, lam, revealed, budget.remaining + 1.0)
    if bound is None:
        return None, None
    dual: dict[str, Any] = {"kind": "sequence", "lam": [row.tolist() for row in lam]}
    return bound, dual if revealed is None else {**dual, "revealed": revealed.tolist()}


def hamming_prices(rows: Floats, levels: Levels) -> Floats:
    """Prices nu(x) = min(theta (L (1 - r(x)) - mu), (1 - L) r(x)), mu as large as pays, shape (k, n).

    With them each release costs at least mu, and the sum of nu(x) + mu rises in mu while at most 1 / theta letters are
    below their limit. So mu is where the next one gets there, at most the L (1 - max r) at which a price is 0.
    """
    low, room, theta = levels.low, levels.room, levels.theta
    sure = low * (1.0 - rows)
    order = np.sort(sure - room * rows / theta, axis=1)
    count = int(1.0 / theta)
    top = sure.min(axis=1)
    mu = np.minimum(top, order[:, count]) if count < rows.shape[1] else top
    prices: Floats = np.minimum(theta * (sure - mu[:, None]), room * rows)
    return prices


def _by_programs(step: Step, levels: Levels, budget: Budget) -> Floats:
    """Prices of every state, the likeliest first; 0 where time is short, which proves what a constant release costs at least."""
    rows, cost = step.revealed, step.release.setting.cost
    table, until = np.zeros(rows.shape), budget.earlier(SHARE)
    likely = np.zeros(1) if step.before is None else step.before[0]
    for i in np.argsort(-likely, kind="stable").tolist():
        seen = rows[i] > 0
        if until.remaining == 0:
            break
        prices = row_prices(rows[i, seen], cost[seen], levels, budget.remaining)
        if prices is None:
            break
        table[i, seen] = prices
    return table


def row_prices(row: Floats, cost: Floats, levels: Levels, seconds: float = math.inf) -> Floats | None:
    """The prices of one distribution, all positive: by a program of few pairs of a letter and a release, where these matter.

    None where there is no time, or all pairs would be too many.
    """
    until = time.monotonic() + seconds
    every = np.ones(cost.shape, dtype=bool)
    pairs = nearest(row, cost, levels) if cost.size > FEW_CELLS else every
    for _ in range(ROUNDS if pairs.sum() <= FEW * cost.size else 0):
        prices = _program(row, cost, levels, pairs, until - time.monotonic())
        if prices is None:
            return None
        gains = (prices[:, None] - levels.room * row[:, None] * cost).clip(0.0) / levels.theta
        own = levels.low * (row @ cost)
        least = float((own - np.where(pairs, gains, 0.0).sum(axis=0)).min())
        cheap = own - gains.sum(axis=0) < least - NEAR * abs(float(prices.sum()))
        new = (gains > 0) & ~pairs & cheap
        if not new.any():
            return prices
        pairs |= new
    return _program(row, cost, levels, every, until - time.monotonic()) if cost.size <= WHOLE else None


def _program(row: Floats, cost: Floats, levels: Levels, pairs: Pairs, seconds: float) -> Floats | None:
    """The prices of one distribution, all positive: variables T, then K on the pairs."""
    if seconds <= 0:
        return None
    (n, m), (letters, releases) = cost.shape, np.nonzero(pairs)
    cells, ones = np.arange(len(letters)), np.ones(len(letters))
    tops = Rows.cells(
        np.r_[cells, cells], np.r_[releases, m + cells], np.r_[-ones / levels.theta, ones], 0.0 * ones
    )
    sums = Rows.cells(
        np.r_[letters, np.full(m, n)],
        np.r_[m + cells, np.arange(m)],
        np.r_[ones, np.ones(m)],
        np.ones(n + 1),
    )
    price = np.r_[levels.low * (row @ cost), levels.room * row[letters] * cost[letters, releases]]
    # what is lost is about e^-epsilon of the largest cost, and tolerances of programs are absolute
    unit = max(levels.low, LEAST_UNIT) * (float(np.abs(cost).max()) or 1.0)
    solved = minimise(price / unit, tops, sums, tolerance=FINEST, seconds=seconds)
    return None if solved is None else unit * solved.prices[:n]
