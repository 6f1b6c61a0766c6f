"""Solvers for alphabets of any size: merging in rounds, moves of single symbols from the best answer so far, soft clusters."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar, TypeVar

import numpy as np

from privopt.arrays import Floats, Ints
from privopt.core.registry import register
from privopt.core.solver import Budget, Guarantee, Proposal, Solver
from privopt.mechanisms import Channel, Merging
from privopt.models.channel_data import Release
from privopt.problems.information_bottleneck.problem import InformationBottleneck
from privopt.problems.privacy_funnel.problem import PrivacyFunnel
from privopt.problems.trade_off.problem import TradeOff
from privopt.problems.trade_off.tree import cost_of
from privopt.solvers.trade_off.balanced import Part, balanced_parts, channel_matrix, revealed
from privopt.solvers.trade_off.columns.descent import alternate
from privopt.solvers.trade_off.columns.program import CHANNELS_ONLY, Program, kept
from privopt.solvers.trade_off.matchings import Aim, merged_in_rounds
from privopt.solvers.trade_off.mergings import (
    MergingTable,
    best_kept,
    impossible,
    keeps_bound,
    merging_table,
    numbered,
    proposed,
)
from privopt.solvers.trade_off.pairs import FLOOR_SLACK
from privopt.solvers.trade_off.portfolio import SPARE, Worth, cap_worth, floor_worth, moved, weighed_worth
from privopt.solvers.trade_off.zero_leakage import refuse_independence

CHANNEL_CELLS = 1_500_000
"""Entries of a channel that is proposed: judging visits them one by one."""

MOST_PARTS = 1000
"""Parts that leak nothing, at most."""

CLUSTERS = 32
"""Soft clusters, at most, and twice as many as there are secrets at most."""

STEPS = 14
"""Multipliers tried by bisection."""

ROUNDS = 60
"""Steps at each."""

LEAST_PRICE = 1e-290
"""Least trade-off at which posteriors are followed: its inverse has to be a float."""

T = TypeVar("T", bound=TradeOff)


def aim_of(problem: TradeOff) -> Aim:
    """What is merged, and how far."""
    together = not problem.is_funnel
    if problem.mode == "trade_off":
        return Aim(together, price=problem.budget)
    if problem.is_floor:
        return Aim(together, floor=problem.budget - FLOOR_SLACK + SPARE)
    cap = problem.budget - SPARE
    return Aim(together, stop_useful=cap) if together else Aim(together, stop_secret=cap)


def worth_of(problem: TradeOff) -> Worth:
    """What a move of a symbol is worth."""
    if problem.mode == "trade_off":
        sign, price = (1.0, problem.budget) if problem.is_funnel else (-1.0, problem.budget)
        plain = weighed_worth(price)
        return plain if sign > 0 else lambda ds, du, s, u: -plain(ds, du, s, u)
    if problem.is_floor:
        return floor_worth(problem.budget - FLOOR_SLACK + SPARE)
    if problem.is_funnel:
        return cap_worth(problem.budget - SPARE)
    rate = problem.budget - SPARE
    return lambda ds, du, s, u: np.where(u + du <= rate, ds, -np.inf)


def rounds_of(problem: TradeOff, table: MergingTable, budget: Budget) -> list[Ints]:
    """The partition at the end of the rounds, and those before it that are as good or may be."""
    met = [np.arange(table.size), *merged_in_rounds(table, aim_of(problem), budget)]
    if problem.mode == "trade_off":
        return met[-1:]
    return [met[-1], np.zeros(table.size, dtype=np.int64)] if problem.is_cap else [met[-1], met[0]]


def start_of(problem: TradeOff, budget: Budget) -> Ints:
    """The block number of each symbol in the incumbent, or where moves from a merging in rounds end."""
    if isinstance(budget.incumbent, Merging):
        return numbered(budget.incumbent.assignment[problem.observation.support])
    table = merging_table(problem)
    merged = rounds_of(problem, table, budget)
    trivial = np.zeros(table.size, dtype=np.int64) if not problem.is_floor else np.arange(table.size)
    ends = [moved(table, merged[0], worth_of(problem), budget), *merged, trivial]
    release = best_kept(problem, ends)
    return (
        numbered(release.assignment[problem.observation.support]) if isinstance(release, Merging) else trivial
    )


class InRounds(Solver[T]):
    """Merging in rounds of disjoint pairs."""

    name: ClassVar[str] = "matched-merging"
    guaranteed: ClassVar[Guarantee | None] = Guarantee.FEASIBLE

    def cost(self, problem: T) -> float:
        """A sort of the symbols along some directions in each round."""
        n, width = len(problem.observation.support), len(problem.observation.p_s)
        useful = 0 if problem.observation.useful is None else len(problem.observation.p_x)
        return 0.01 + 6e-6 * n * (4 + width + useful)

    def refuse(self, problem: T) -> str | None:
        """Refuse no leakage at all, which no merging of symbols that tell the secret apart keeps."""
        return refuse_independence(problem)

    def run(self, problem: T, budget: Budget) -> Proposal:
        """Propose the best of them."""
        if (none := impossible(problem)) is not None:
            return none
        table = merging_table(problem)
        release = best_kept(problem, rounds_of(problem, table, budget))
        stats: dict[str, float | int | str] = {"stop": "merged" if budget.remaining > 0 else "out of time"}
        anchor = problem.anchor()
        if release is None or _better(problem, anchor, release):
            release = anchor
        return proposed(problem, release, stats)


@register
@dataclass(frozen=True)
class MatchedMerging(InRounds[PrivacyFunnel]):
    """Merging in rounds of many disjoint pairs, those that cancel first: for alphabets of any size.

    A round sorts the blocks along some directions of their deviations from P(s) and merges opposites, the largest fall of
    I(S;Y) for the fall of I(X;Y) first, O(n log n).
    """

    solves: ClassVar = PrivacyFunnel


@register
@dataclass(frozen=True)
class BalancedParts(Solver[PrivacyFunnel]):
    """Parts in which every secret has its share, so that nothing leaks; X itself is published within some of them.

    Sets of symbols are halved at vertices that share few symbols between both halves. What parts say within the floor
    leaks nothing; above it, and under a cap, X is published within those parts where that leaks least.
    """

    solves: ClassVar = PrivacyFunnel
    name: ClassVar[str] = "balanced-parts"
    guaranteed: ClassVar[Guarantee | None] = Guarantee.FEASIBLE

    def cost(self, problem: PrivacyFunnel) -> float:
        """A linear program for each part."""
        n, width = len(problem.observation.support), len(problem.observation.p_s)
        parts = min(MOST_PARTS, CHANNEL_CELLS // max(n, 1), n // width + 1)
        return 0.02 + 2.5e-3 * parts + 2e-6 * n * width + 5e-8 * n * parts

    def refuse(self, problem: PrivacyFunnel) -> str | None:
        """Refuse mergings, weighed objectives, no leakage at all, observations of X, and more secrets than symbols."""
        if problem.form != "stochastic":
            return CHANNELS_ONLY
        if problem.mode == "trade_off" or (problem.is_cap and not 0 < problem.budget < math.inf):
            return (
                "it keeps a floor on the utility or a positive cap on the leakage, this problem has neither"
            )
        if problem.observation.useful is not None:
            return "it is made for releases of X itself, here X is seen through an observation"
        size, secrets = len(problem.observation.support), len(problem.observation.p_s)
        if size <= secrets:
            return f"it needs more symbols than secrets, this problem has {size} and {secrets}"
        most = min(MOST_PARTS, CHANNEL_CELLS // size)
        if problem.is_floor and problem.budget > math.log(max(most, 1)):
            return f"a channel of at most {most} releases cannot say {problem.budget:.3g} nats"
        return None

    def run(self, problem: PrivacyFunnel, budget: Budget) -> Proposal:
        """Propose the parts, with X published within some of them; the anchor where they do not keep the bound."""
        if (none := impossible(problem)) is not None:
            return none
        answer = problem.anchor()
        for release in _silent(problem, merging_table(problem), budget):
            repaired = kept(problem, release)
            if _better(problem, repaired, answer):
                answer = repaired
        return proposed(problem, answer, {})


@register
@dataclass(frozen=True)
class MatchedBottleneck(InRounds[InformationBottleneck]):
    """Merging in rounds of many disjoint pairs, those that are alike first: for alphabets of any size.

    A round sorts the blocks along some directions of the roots of their posteriors and merges neighbours, the least
    fall of I(S;Y) for the fall of the rate first, O(n log n): agglomeration with bounded lists of candidates.
    """

    solves: ClassVar = InformationBottleneck


class Moves(Solver[T]):
    """Moves of single symbols between blocks, from the best answer so far."""

    name: ClassVar[str] = "symbol-moves"
    guaranteed: ClassVar[Guarantee | None] = Guarantee.FEASIBLE

    def cost(self, problem: T) -> float:
        """Sweeps over all symbols and blocks."""
        n, width = float(len(problem.observation.support)), len(problem.observation.p_s)
        useful = 0 if problem.observation.useful is None else len(problem.observation.p_x)
        return 0.01 + 2e-7 * math.pow(n, 1.8) * (2 + width + useful)

    def refuse(self, problem: T) -> str | None:
        """Refuse no leakage at all, which no merging of symbols that tell the secret apart keeps."""
        return refuse_independence(problem)

    def run(self, problem: T, budget: Budget) -> Proposal:
        """Propose the partition that no move makes better, or that time left."""
        if (none := impossible(problem)) is not None:
            return none
        table = merging_table(problem)
        short = budget.earlier(0.04)
        ends: list[Ints] = []
        if isinstance(budget.incumbent, Merging):
            ends += _ended(
                problem, table, numbered(budget.incumbent.assignment[problem.observation.support]), short
            )
        if not ends or short.remaining > 0.5 * budget.remaining:
            half = budget.earlier(0.5)
            ends += _ended(problem, table, rounds_of(problem, table, half)[0], short)
        stats = {
            "iterations": len(ends) // 2,
            "stop": "no move helps" if short.remaining > 0 else "out of time",
        }
        return proposed(problem, best_kept(problem, ends), stats)


def _ended(problem: TradeOff, table: MergingTable, start: Ints, budget: Budget) -> list[Ints]:
    """Where moves from a partition end, and the partition itself."""
    return [moved(table, start, worth_of(problem), budget), start]


@register
@dataclass(frozen=True)
class SymbolMoves(Moves[PrivacyFunnel]):
    """Single symbols move between blocks as long as that helps, from the best merging so far and from merging in rounds."""

    solves: ClassVar = PrivacyFunnel


@register
@dataclass(frozen=True)
class BottleneckMoves(Moves[InformationBottleneck]):
    """Single symbols move between blocks as long as that helps, from the best merging so far and from merging in rounds.

    Source: Slonim, Friedman, Tishby, "Unsupervised document classification using sequential information maximization".
    """

    solves: ClassVar = InformationBottleneck


@register
@dataclass(frozen=True)
class SoftClusters(Solver[InformationBottleneck]):
    """The self-consistent equations from the clusters of a merging, at the price that meets the rate.

    A few clusters answer as well as many once they outnumber the secrets, so a step costs O(n) for n symbols. The price is
    bisected, each run from the clusters of the last; two runs on both sides of the rate are mixed, and which of
    them it was is published, so that the rate is just kept.

    Source: Tishby, Pereira, Bialek, "The information bottleneck method".
    """

    solves: ClassVar = InformationBottleneck
    name: ClassVar[str] = "soft-clusters"
    guaranteed: ClassVar[Guarantee | None] = Guarantee.FEASIBLE

    def cost(self, problem: InformationBottleneck) -> float:
        """Steps times the entries of the channel."""
        n, width = len(problem.observation.support), len(problem.observation.p_s)
        steps = ROUNDS * (4 if problem.mode == "trade_off" else STEPS)
        return 0.02 + 6e-6 * n * (4 + width) + steps * (1e-4 + 2e-8 * n * min(n, CLUSTERS, 2 * width + 2))

    def refuse(self, problem: InformationBottleneck) -> str | None:
        """Refuse mergings, and channels that are too large to judge."""
        if problem.form != "stochastic":
            return CHANNELS_ONLY
        n = len(problem.observation.support)
        if n * CLUSTERS > CHANNEL_CELLS:
            return f"its channel would have more than {CHANNEL_CELLS} entries, this problem has {n} symbols"
        return None

    def run(self, problem: InformationBottleneck, budget: Budget) -> Proposal:
        """Propose the best channel met."""
        table = merging_table(problem)
        short = budget.earlier(0.05)
        clusters = _clusters(problem, table, short)
        if not problem.is_cap or problem.budget == math.inf:
            price = problem.budget if problem.mode == "trade_off" else 0.0
            ends = [_soft(problem, price, clusters, 4 * ROUNDS, short)] if LEAST_PRICE < price < 1 else []
        else:
            ends = list(_at_rate(problem, clusters, short))
        answer = problem.anchor()
        for joint in ends:
            release = kept(problem, _channel(problem, joint))
            if _better(problem, release, answer):
                answer = release
        return proposed(problem, answer, {"clusters": len(clusters), "runs": len(ends)})


def _better(problem: TradeOff, release: Release, than: Release) -> bool:
    """Whether a release that keeps the bound has the larger objective."""
    return problem.evaluate(release).objective > problem.evaluate(than).objective and keeps_bound(
        problem, release
    )


def _silent(problem: TradeOff, table: MergingTable, budget: Budget) -> Iterator[Channel]:
    """The channel of parts that leak nothing, raised to the floor or the cap by publishing X within some of them."""
    most = min(MOST_PARTS, CHANNEL_CELLS // len(problem.observation.p_w))
    useful = problem.budget if problem.is_floor else math.inf
    parts = balanced_parts(table, useful, most, budget.earlier(0.04))
    matrix, whole = channel_matrix(parts, table), revealed(parts, table)
    if not (problem.is_floor and whole >= problem.budget):
        published = _published(problem, table, parts, whole)
        outputs = len(parts) + sum(len(parts[k].symbols) for k in np.flatnonzero(published))
        if outputs > most:
            return
        matrix = _with_published(parts, matrix, published)
    yield _on_all(problem, matrix)


def _published(problem: TradeOff, table: MergingTable, parts: list[Part], whole: float) -> Floats:
    """How often X itself is published in each part: the least leakage for what it says first, a knapsack of fractions."""
    costs = [table.costs_of(_rows(table, p), np.zeros((len(p.symbols), 0)), p.mass) for p in parts]
    ends = [table.costs_of(_rows(table, p).sum(axis=0), np.zeros(0), np.asarray(p.total)) for p in parts]
    leaks = np.maximum([float(c[0].sum() - e[0]) for c, e in zip(costs, ends, strict=True)], 0.0)
    says = np.maximum([float(c[1].sum() - e[1]) for c, e in zip(costs, ends, strict=True)], 0.0)
    order = np.argsort(leaks / np.maximum(says, 1e-300), kind="stable")
    taken, room = (says, problem.budget - whole) if problem.is_floor else (leaks, problem.budget)
    before = np.cumsum(taken[order]) - taken[order]
    share = np.zeros(len(parts))
    share[order] = np.clip((room - before) / np.maximum(taken[order], 1e-300), 0.0, 1.0)
    return share


def _rows(table: MergingTable, part: Part) -> Floats:
    """The joint probabilities of the symbols of a part with S."""
    return np.asarray(table.secret[part.symbols] * (part.mass / table.mass[part.symbols])[:, None])


def _with_published(parts: list[Part], matrix: Floats, share: Floats) -> Floats:
    """A column more for each symbol of a part that is published, in which it is with that probability."""
    columns = [matrix * (1.0 - share)]
    for k in np.flatnonzero(share).tolist():
        symbols = parts[k].symbols
        some = np.zeros((len(matrix), len(symbols)))
        some[symbols, np.arange(len(symbols))] = share[k] * matrix[symbols, k]
        columns.append(some)
    every = np.hstack(columns)
    return np.asarray(every[:, every.sum(axis=0) > 0])


def _on_all(problem: TradeOff, matrix: Floats) -> Channel:
    """The channel of all symbols; one of probability 0 is released as the average is."""
    observed = problem.observation
    support = observed.support
    every = np.tile(observed.p_w[support] @ matrix, (len(observed.p_w), 1))
    every[support] = matrix
    return problem.answer(every / every.sum(axis=1, keepdims=True))


def _clusters(problem: InformationBottleneck, table: MergingTable, budget: Budget) -> Floats:
    """Joint probabilities of a few blocks and the symbols (m, n), a little of each symbol in every block."""
    m = min(CLUSTERS, 2 * table.secret.shape[1] + 2, table.size)
    assignment = np.arange(table.size)
    for assignment in merged_in_rounds(table, Aim(together=True), budget):
        if assignment.max() < m:
            break
    if assignment.max() >= m:  # time ran out
        assignment = assignment % m
    channel = np.full((int(assignment.max()) + 1, table.size), 1e-3)
    channel[assignment, np.arange(table.size)] = 1.0
    p_w = Program(problem).p_w
    return np.asarray(channel / channel.sum(axis=0) * p_w)


def _soft(problem: InformationBottleneck, price: float, joint: Floats, rounds: int, budget: Budget) -> Floats:
    """Steps at a price of the rate."""
    return alternate(cost_of(problem, price), Program(problem).p_w, joint, rounds, deadline=budget.deadline)


def _at_rate(problem: InformationBottleneck, clusters: Floats, budget: Budget) -> Iterator[Floats]:
    """Joint probabilities on both sides of the rate, by bisection of the price, and the mixture that just keeps it."""
    low, high, ends = math.log(1e-3), 0.0, [clusters.sum(axis=0)[None, :]] * 2
    sides: list[Floats | None] = [None, None]
    for _ in range(STEPS):
        if budget.remaining <= 0:
            break
        price = (low + high) / 2
        joint = _soft(problem, math.exp(price), clusters, ROUNDS, budget)
        above = _rate(joint) > problem.budget
        low, high = (price, high) if above else (low, price)
        sides[int(above)] = joint
    ends = [j for j in sides if j is not None]
    yield from ends
    below = clusters.sum(axis=0)[None, :] if sides[0] is None else sides[0]
    if sides[1] is not None:
        least, most = _rate(below), _rate(sides[1])
        share = (problem.budget - least) / max(most - least, 1e-300)
        yield np.vstack([(1.0 - share) * below, share * sides[1]])


def _rate(joint: Floats) -> float:
    """The mutual information of a joint distribution, in nats."""
    outer = joint.sum(axis=1, keepdims=True) * joint.sum(axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        return float(np.where(joint > 0, joint * np.log(joint / outer), 0.0).sum())


def _channel(problem: TradeOff, joint: Floats) -> Channel:
    """The channel of joint probabilities (m, n) on the support."""
    joint = joint[joint.sum(axis=1) > 0]
    return _on_all(problem, (joint / joint.sum(axis=0)).T)
