"""Chains of three and four letters: a potential of posteriors bounds all releases together, found by cutting planes."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from privopt.arrays import Floats, Ints
from privopt.core.balls import Balls
from privopt.core.highs import Rows, minimise
from privopt.core.registry import register
from privopt.core.solver import OUT_OF_TIME, Budget, Guarantee, Proposal, Solver
from privopt.mechanisms import Mechanism
from privopt.mechanisms.policy.formulas.messages import MOST_LETTERS, copies_of_letters
from privopt.problems.sequence_information_privacy.potential import (
    MAX_DEPTH,
    Cells,
    Potential,
    Releases,
    halves,
    refuse_potential,
    releases_of,
)
from privopt.problems.sequence_information_privacy.problem import SequenceInformationPrivacy
from privopt.problems.sequence_information_privacy.separable import refuse_separable

DEPTHS = {3: 7, 4: 8}
"""Halvings of the first triangulation, by the number of letters."""
SWEEPS = 20
"""Steps of value iteration that the potential begins with."""
MOST = {3: 6000, 4: 12_000}
"""Cells of a proof."""
PIECES = 60
NEAR = 0.01
"""How far a cell may be below the least vertex before it is halved, relatively."""
POSTERIORS = 700
"""At which the potential is held in a program, at most."""
COLUMNS = 4
"""New posteriors of a release in each round of column generation."""
STAGES = 1 / 9, 1 / 3, 1.0
"""Shares of the linear programs after which what is known is proved."""
AGAIN = 1.5
"""How many times as long as the last proof there must be for another one."""
STEEP = 4.0
"""The largest price, in units of what a release and what follows can cost."""
FEW = 8
"""Releases up to which the last one, which has prices of its own here, matters much."""
WIDE = 2**24


@register
@dataclass(frozen=True)
class PotentialBound(Solver[SequenceInformationPrivacy]):
    """Chains of three and four letters: a potential of posteriors bounds all releases together, found by cutting planes.

    The potential is a minimum of quadratic functions of equal curvature. A linear program raises the least amount by
    which a release and the potential after it exceed the potential before it, with a cut for each posterior where that
    fails; a triangulation that is refined where it is loose proves the rest. It proposes one release at a time.

    Releases are those of Jiang, Li, Tandon, "Online Context-aware Data Release with Sequence Information Privacy". Potentials as bounds:
    D. P. de Farias, B. Van Roy, "The Linear Programming Approach to Approximate Dynamic Programming".
    """

    solves: ClassVar = SequenceInformationPrivacy
    name: ClassVar[str] = "potential"
    guaranteed: ClassVar[Guarantee | None] = Guarantee.BOUNDED
    """With a bound that is checked."""
    curvature: float = 0.3
    """Of the potential, in units of the largest distortion."""
    rounds: int = 48
    """Linear programs of the potential, at most; after every other one a triangulation looks for posteriors where it fails."""

    def cost(self, problem: SequenceInformationPrivacy) -> float:
        """Programs and triangulations until the bound is as near as that of quadratics, which is soon for three letters and few releases."""
        if problem.chain.k == 3 and problem.horizon <= FEW:
            return 5.5
        return float(10.0 + 3.0 * problem.chain.k**2)

    def refuse(self, problem: SequenceInformationPrivacy) -> str | None:
        """Refuse long alphabets, words, and budgets of nothing, of everything, or nearly."""
        if problem.robust:
            return "it takes a chain, not a set of chains"
        if problem.chain.k not in DEPTHS:
            return f"it takes chains of three and four letters, this one has {problem.chain.k} states"
        if refuse_separable(problem) is None:
            return "chains that stay or begin afresh have a bound that is nearer, that of separable"
        return refuse_potential(problem)

    def run(self, problem: SequenceInformationPrivacy, budget: Budget) -> Proposal:
        """Propose one release at a time, with the potential as proof."""
        policy = plain_policy(problem, budget)
        unit = float(np.abs(problem.setting(1).cost).max()) or 1.0
        search = Search(releases_of(problem), self.curvature * unit, budget)
        belief = None if problem.lasting else np.array(problem.chain.initial)
        bound, dual, stats = -math.inf, None, dict[str, float | int | str]()
        for share in STAGES:
            potential, rounds = search.potential(max(1, math.ceil(self.rounds * share)))
            begun = time.monotonic()
            found = search.dual(potential, belief)
            proved = problem.prove_bound(found, budget.remaining)
            if proved is not None and -proved[1] > bound:
                bound, dual = -proved[1], found
                stats = {"iterations": rounds, "pieces": len(potential.pieces)}
                budget.report(None, -bound)
            late = budget.remaining < AGAIN * (time.monotonic() - begun)
            if search.ended or late:
                if late and share < STAGES[-1]:
                    stats = {**stats, "stop": OUT_OF_TIME}
                break
        if dual is None:
            return Proposal(policy, stats={"iterations": search.rounds, "stop": OUT_OF_TIME})
        return Proposal(policy, -bound, dual, stats=stats)


def plain_policy(problem: SequenceInformationPrivacy, budget: Budget) -> Mechanism:
    """One release at a time, by a formula where there is one; what is known where that is a program."""
    if problem.distortion == "hamming":
        return problem.answer("closed-form")
    if budget.incumbent is not None:
        return budget.incumbent
    several = copies_of_letters(problem.setting(1)) is not None and problem.chain.k <= MOST_LETTERS
    return problem.answer("messages" if several else "structure-lp")


@dataclass(frozen=True, eq=False)
class Step:
    """The best releases at some posteriors (V, n): their value, prices (V, n), the posteriors that follow (V, n, n), and chances."""

    value: Floats
    prices: Floats
    after: Floats
    chances: Floats


@dataclass(eq=False)
class _State:
    """The potential of the last program, where it is held, the best one with its least gain, and how far one may move."""

    here: Potential
    held: Floats
    best: Potential
    most: float
    trust: float


@dataclass(eq=False)
class Search:
    """A potential for the releases of a chain, and the triangulation that proves it."""

    releases: Releases
    curvature: float
    budget: Budget
    rounds: int = 0
    ended: bool = False
    _cuts: list[tuple[Floats, Floats, Floats]] = field(default_factory=list)
    _state: _State | None = None

    @property
    def letters(self) -> int:
        """How many there are."""
        return len(self.releases.moves)

    def step(self, later: Potential, posteriors: Floats, rounds: int = 8) -> Step:
        """The least cost of a release after each posterior, by column generation over what it leaves."""
        width = max(1, WIDE // (self.letters**2 * len(later.pieces) * self.releases.cost.shape[1]))
        parts = [
            self._step(later, posteriors[begin : begin + width], rounds)
            for begin in range(0, len(posteriors), width)
        ]
        return Step(
            np.concatenate([part.value for part in parts]),
            np.concatenate([part.prices for part in parts]),
            np.concatenate([part.after for part in parts]),
            np.concatenate([part.chances for part in parts]),
        )

    def _step(self, later: Potential, posteriors: Floats, rounds: int) -> Step:
        releases, n = self.releases, self.letters
        beliefs = releases.beliefs(posteriors).mid
        low, up = releases.factors
        far = np.minimum(1 - low, (up - 1) * beliefs / np.maximum(1 - beliefs, 1e-12)).clip(1e-9, 1.0)
        points = beliefs[:, None, :] + far[:, :, None] * (np.eye(n) - beliefs[:, None, :])
        steep = STEEP * float(np.abs(releases.cost).max() + np.abs(later.pieces).max() + later.curvature)
        values, basis = self._costs(later, points), np.tile(np.arange(n), (len(beliefs), 1))
        while True:
            value, prices, basis = solve_many(points, values, beliefs, basis)
            prices = prices.clip(-steep, steep)  # those of letters that are impossible mean nothing
            found = releases.charges(later, beliefs, prices)
            charged = releases.charged(found, Balls.exact(beliefs))
            least, rounds = charged.min(axis=1), rounds - 1
            if rounds == 0 or (value - least).max() <= 1e-3 * np.abs(value).max():
                break
            best = np.argsort(charged, axis=1)[:, :COLUMNS, None]
            new = np.take_along_axis(found.tangent, best, axis=1) / (2 * later.curvature)
            new = new / new.sum(axis=2, keepdims=True)
            points = np.concatenate([points, new], axis=1)
            values = np.concatenate([values, self._costs(later, new)], axis=1)
        after = np.take_along_axis(points, basis[:, :, None], axis=1)
        chances = np.linalg.solve(after.transpose(0, 2, 1), beliefs[:, :, None])[:, :, 0].clip(0.0)
        return Step(np.minimum(value, least), prices, after, chances)

    def _costs(self, later: Potential, points: Floats) -> Floats:
        costs: Floats = (points @ self.releases.cost).min(axis=-1) + later(points)
        return costs

    def potential(self, most_rounds: int) -> tuple[Potential, int]:
        """The best potential of so many programs in all, or in half the time that there is, and how many it took.

        It goes on where it ended before.
        """
        until = 0.5 * self.budget.remaining if self.budget.remaining < math.inf else 0.0
        if self._state is None:
            held = Cover.uniform(self.letters, DEPTHS[self.letters]).vertices()
            first = self._settled(held, until)
            self._state = _State(first, held, first, -math.inf, 0.1 * self.curvature)
        state = self._state
        while not self.ended and self.rounds < most_rounds and self.budget.remaining > until:
            following = self._raised(state.here, state.held, state.trust)
            self.rounds, state.trust = self.rounds + 1, max(0.9 * state.trust, 0.01 * self.curvature)
            if following is None:
                self.ended = True
                break
            state.here, reached = following
            if self.rounds % 2 == 0:
                self._looked(state, reached, until)
        return state.best, self.rounds

    def _looked(self, state: _State, reached: float, until: float) -> None:
        """Keep the potential if it is the best one, and hold it from now on where it fails."""
        met, gains = self._probed(state.here, until)
        if gains.min() > state.most:
            state.best, state.most = state.here, float(gains.min())
        failed = np.argsort(gains)[:150]
        failed = failed[gains[failed] < reached * (1 - NEAR)]
        state.held = np.unique(np.concatenate([state.held, met[failed]]), axis=0)
        if len(state.held) > POSTERIORS:
            gains = self.step(state.here, state.held, 2).value - state.here(state.held)
            state.held = state.held[np.argsort(gains)[: POSTERIORS * 2 // 3]]

    def _settled(self, posteriors: Floats, until: float) -> Potential:
        """Value iteration on the first triangulation, each time with the least minimum of quadratics above the values."""
        here = Potential.nothing(self.letters)
        for _ in range(SWEEPS):
            value = self.step(here, posteriors, 4).value
            here = enveloped(posteriors, value - value.min(), self.curvature)
            if self.budget.remaining <= until:
                break
        return here

    def _raised(self, here: Potential, posteriors: Floats, trust: float) -> tuple[Potential, float] | None:
        """The potential of a linear program with a cut for each posterior, and the gain that it promises."""
        pieces, n = here.pieces, self.letters
        step, kappa = self.step(here, posteriors, 4), self.curvature
        which = (step.after @ pieces.T).argmin(axis=2)
        now = (step.after @ self.releases.cost).min(axis=2) + kappa * (step.after**2).sum(axis=2)
        cost = (step.chances * now).sum(axis=1) - kappa * (posteriors**2).sum(axis=1)
        rows, users = np.zeros((len(posteriors), *pieces.shape)), np.arange(len(posteriors))
        for j in range(n):
            np.add.at(rows, (users, which[:, j]), -step.chances[:, j : j + 1] * step.after[:, j])
        self._cuts.append((posteriors, rows, cost))
        at, rows, cost = (np.concatenate([cut[i] for cut in self._cuts]) for i in range(3))
        whole = rows.copy()
        whole[np.arange(len(at)), (at @ pieces.T).argmin(axis=1)] += at
        table = np.column_stack([whole.reshape(len(at), -1), np.ones(len(at))])
        begin = pieces.ravel()
        objective = np.zeros(len(begin) + 1)
        objective[-1] = -1.0
        solved = minimise(
            objective,
            Rows.dense(table, cost),
            Rows.none(),
            lower=np.append(begin - trust, -np.inf),
            upper=np.append(begin + trust, np.inf),
            seconds=max(0.1, self.budget.remaining),
        )
        if solved is None:
            return None
        keep = cost - table @ solved.point < 0.05 * kappa
        self._cuts = [(at[keep], rows[keep], cost[keep])]
        return Potential(solved.point[:-1].reshape(pieces.shape), kappa), float(solved.point[-1])

    def _probed(self, here: Potential, until: float) -> tuple[Floats, Floats]:
        """Posteriors that a triangulation meets where it is refined, and by how much a release exceeds the potential there."""
        cover = Cover.uniform(self.letters, DEPTHS[self.letters])
        self.refine(cover, here, here, MOST[self.letters] // 4, until)
        met = cover.vertices()
        return met, np.array([cover.gains[row.tobytes()] for row in met])

    def refine(self, cover: Cover, later: Potential, aim: Potential, most: int, until: float) -> None:
        """Halve cells until none is much below the least vertex, there are ``most``, or time is up; all have prices then."""
        fresh = np.arange(len(cover.cells))
        excess = np.full(len(cover.cells), np.inf)
        while True:
            corners = cover.cells[fresh].reshape(-1, self.letters)
            self._price(cover, later, aim, np.unique(corners, axis=0))
            excess[fresh] = self._excess(cover, later, aim, fresh)
            goal = min(cover.gains.values())
            loose = np.flatnonzero((excess < goal - NEAR * abs(goal)) & (cover.depths < MAX_DEPTH))
            if not len(loose) or len(cover.cells) >= most or self.budget.remaining <= until:
                return
            loose = loose[np.argsort(excess[loose])][: max(200, len(loose) // 2)]
            kept = np.delete(excess, loose)
            cover.halve(loose)
            excess = np.concatenate([kept, np.full(2 * len(loose), np.inf)])
            fresh = np.arange(len(kept), len(excess))

    def _price(self, cover: Cover, later: Potential, aim: Potential, rows: Floats) -> None:
        """Prices, and how much a release exceeds ``aim``, at vertices that have none yet."""
        new = np.array([row for row in rows if row.tobytes() not in cover.prices])
        if not len(new):
            return
        step = self.step(later, new)
        gains = step.value - aim(new)
        for row, price, gain in zip(new, step.prices, gains.tolist(), strict=True):
            cover.prices[row.tobytes()], cover.gains[row.tobytes()] = price, gain

    def _excess(self, cover: Cover, later: Potential, aim: Potential, at: Ints) -> Floats:
        width = max(1, WIDE // (self.letters**3 * self.releases.cost.shape[1] * len(later.pieces)))
        parts = []
        for begin in range(0, len(at), width):
            cells = cover.cells[at[begin : begin + width]]
            rows, places = np.unique(cells.reshape(-1, self.letters), axis=0, return_inverse=True)
            some = Cells(rows, places.reshape(cells.shape[:2]))
            prices = np.array([cover.prices[row.tobytes()] for row in rows])
            parts.append(self.releases.excess(later, aim, some, prices))
        return np.concatenate(parts)

    def dual(self, potential: Potential, belief: Floats | None) -> dict[str, Any]:
        """The potential with prices for the last release, for the others, and for the first one at a belief; None where neither is."""
        left = self.budget.remaining
        covers = {"last": (Potential.nothing(self.letters), 0.75), "steps": (potential, 0.3)}
        dual: dict[str, Any] = {
            "kind": "potential",
            "curvature": potential.curvature,
            "pieces": potential.pieces.tolist(),
        }
        if belief is None:
            del covers["last"]
        else:
            dual["first"] = self._at(potential, belief).tolist()
        for name, (later, share) in covers.items():
            cover = Cover.uniform(self.letters, DEPTHS[self.letters])
            self.refine(cover, later, potential, MOST[self.letters], share * left if left < math.inf else 0.0)
            dual[name] = cover.written()
        return dual

    def _at(self, later: Potential, belief: Floats) -> Floats:
        """Prices at a belief that follows no posterior."""
        still = Search(
            Releases(np.eye(self.letters), self.releases.cost, self.releases.epsilon),
            self.curvature,
            self.budget,
        )
        prices: Floats = still.step(later, belief[None]).prices[0]
        return prices


@dataclass(eq=False)
class Cover:
    """Simplices that cover all posteriors, with prices and gains at their vertices; ``paths`` says how each came about."""

    cells: Floats
    paths: list[str]
    depths: Ints
    prices: dict[bytes, Floats] = field(default_factory=dict)
    gains: dict[bytes, float] = field(default_factory=dict)

    @classmethod
    def uniform(cls, letters: int, depth: int) -> Cover:
        """All cells halved so many times.

        Examples
        --------
        >>> Cover.uniform(3, 2).paths
        ['00', '01', '10', '11']
        """
        cover = cls(np.eye(letters)[None], [""], np.zeros(1, dtype=np.int64))
        for _ in range(depth):
            cover.halve(np.arange(len(cover.cells)))
        order = np.argsort(cover.paths)
        return cls(cover.cells[order], [cover.paths[k] for k in order], cover.depths[order])

    def halve(self, at: Ints) -> None:
        """Replace cells by their halves, which are appended."""
        cells, paths = [], []
        for k in at.tolist():
            i, j = halves(self.cells[k])
            middle = 0.5 * (self.cells[k][i] + self.cells[k][j])
            for side, vertex in (("0", i), ("1", j)):
                half = self.cells[k].copy()
                half[vertex] = middle
                cells.append(half)
                paths.append(self.paths[k] + side)
        gone = set(at.tolist())
        depths = np.repeat(self.depths[at] + 1, 2)
        self.cells = np.concatenate([np.delete(self.cells, at, axis=0), np.array(cells)])
        self.paths = [path for k, path in enumerate(self.paths) if k not in gone] + paths
        self.depths = np.concatenate([np.delete(self.depths, at), depths])

    def vertices(self) -> Floats:
        """All vertices, once each."""
        return np.unique(self.cells.reshape(-1, self.cells.shape[2]), axis=0)

    def written(self) -> dict[str, Any]:
        """As it stands in a dual."""
        leaves, parts, waiting = set(self.paths), [], [""]
        while waiting:
            path = waiting.pop()
            parts.append("0" if path in leaves else "1")
            if path not in leaves:
                waiting += [path + "1", path + "0"]
        splits = "".join(parts)
        known = Cells.of(splits, self.cells.shape[2])
        rows = [] if known is None else [self.prices[row.tobytes()].tolist() for row in known.vertices]
        return {"splits": splits, "prices": rows}


def enveloped(posteriors: Floats, values: Floats, curvature: float) -> Potential:
    """The least minimum of quadratics of a curvature that is above values (V,) at posteriors (V, n), thinned out.

    Examples
    --------
    >>> points = np.array([[0.0, 1.0], [0.5, 0.5], [1.0, 0.0]])
    >>> enveloped(points, np.array([0.0, 1.0, 0.0]), 1.0)(points).round(9).tolist()
    [0.0, 1.0, 0.0]
    """
    count, n = posteriors.shape
    flat = values - curvature * (posteriors**2).sum(axis=1)
    corners = [int(np.flatnonzero(posteriors[:, x] == 1.0)[0]) for x in range(n)]
    points = np.broadcast_to(posteriors, (count, count, n))
    least, prices, _ = solve_many(
        points, np.broadcast_to(-flat, (count, count)), posteriors, np.tile(corners, (count, 1))
    )
    planes, above = -prices, -least
    at_points = planes @ posteriors.T
    chosen = [int(((posteriors - 1 / n) ** 2).sum(axis=1).argmin())]
    lowest = at_points[chosen[0]]
    enough = 0.01 * max(float(np.ptp(values)), 1e-3 * curvature)
    while len(chosen) < PIECES and (lowest - above).max() > enough:
        chosen.append(int((lowest - above).argmax()))
        lowest = np.minimum(lowest, at_points[chosen[-1]])
    return Potential(planes[chosen], curvature)


def solve_many(
    points: Floats, values: Floats, targets: Floats, basis: Ints, rounds: int = 300
) -> tuple[Floats, Floats, Ints]:
    """The least sum Q values over Q >= 0 with sum Q points = target, for many targets at once: the simplex method.

    Parameters
    ----------
    points : array (V, M, n)
    values : array (V, M)
    targets : array (V, n)
    basis : int array (V, n)
        Points that have the target as a combination without negative weights, and are independent.

    Returns
    -------
    value (V,), prices (V, n), basis (V, n)

    Examples
    --------
    >>> points = np.array([[[1.0, 0.0], [0.0, 1.0], [0.5, 0.5]]])
    >>> value, prices, basis = solve_many(points, np.array([[1.0, 1.0, 0.0]]), np.array([[0.75, 0.25]]), np.array([[0, 1]]))
    >>> value.tolist(), basis.tolist()
    ([0.5], [[0, 2]])
    """
    users, basis = np.arange(len(targets)), basis.copy()
    prices: Floats = np.zeros(targets.shape)
    for _ in range(rounds):
        chosen = points[users[:, None], basis]
        heights = np.take_along_axis(values, basis, axis=1)[:, :, None]
        prices = np.asarray(np.linalg.solve(chosen, heights)[:, :, 0], dtype=np.float64)
        reduced = values - (points @ prices[:, :, None])[:, :, 0]
        enters = reduced.argmin(axis=1)
        going = np.flatnonzero(reduced[users, enters] < -1e-10)
        if not len(going):
            break
        columns = chosen[going].transpose(0, 2, 1)
        sides = np.stack([targets[going], points[going, enters[going]]], axis=2)
        weights, change = np.linalg.solve(columns, sides).transpose(2, 0, 1)
        moves = change > 1e-9
        ratio = np.where(moves, weights.clip(0.0) / np.where(moves, change, 1.0), np.inf)
        basis[going, ratio.argmin(axis=1)] = enters[going]
    return np.asarray((prices * targets).sum(axis=1), dtype=np.float64), prices, basis
