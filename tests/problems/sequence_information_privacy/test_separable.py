"""The bound by a separable potential: against releases that HiGHS finds, policies, two letters, and odd duals."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy.optimize import linprog

import privopt as po
from privopt import SequenceInformationPrivacy as Ask
from privopt.arrays import Floats
from privopt.core.balls import Balls
from privopt.core.solver import Budget
from privopt.mechanisms.policy.ahead import interpolated
from privopt.problems.sequence_information_privacy.lines import line_below
from privopt.problems.sequence_information_privacy.separable import (
    Prices,
    Stays,
    SumBounds,
    bounds_of,
    refuse_separable,
)
from privopt.solvers.sequence.separable import Alike, Separable


def stays(letters: int, stay: float) -> po.MarkovChain:
    moves = np.full((letters, letters), (1 - stay) / (letters - 1))
    np.fill_diagonal(moves, stay)
    return po.MarkovChain.normalised(moves.tolist())


CYCLE = po.MarkovChain([[0.05, 0.9, 0.05], [0.05, 0.05, 0.9], [0.9, 0.05, 0.05]])
UNLIKE = po.MarkovChain([[0.8, 0.12, 0.08], [0.2, 0.72, 0.08], [0.2, 0.12, 0.68]])


def best_release(bounds: SumBounds, moves: Floats, later: Floats, before: Floats) -> float:
    """The least cost over posteriors of a grid within the bounds, an upper bound on the optimum: a linear program by HiGHS."""
    belief, n, steps = before @ moves, len(moves), 14
    grid = [np.array(k) / steps for k in itertools.product(range(steps + 1), repeat=n) if sum(k) == steps]
    sides = [belief * factor for factor in (math.exp(-bounds.epsilon), math.exp(bounds.epsilon))]
    for x, bits in itertools.product(range(n), itertools.product((0, 1), repeat=n - 1)):
        others = np.delete(np.arange(n), x)
        corner = np.insert([sides[s][k] for s, k in zip(bits, others, strict=True)], x, 0.0)
        corner[x] = 1 - corner.sum()
        grid.append(corner)
    posteriors = np.array(grid)
    inside = ((posteriors >= sides[0] - 1e-12) & (posteriors <= sides[1] + 1e-12)).all(axis=1)
    posteriors = np.concatenate([posteriors[inside], belief[None]])
    held = np.array([interpolated(bounds.grid, later[x], posteriors[:, x]) for x in range(n)]).sum(axis=0)
    solved = linprog(
        (posteriors @ bounds.cost).min(axis=1) + held, A_eq=posteriors.T, b_eq=belief, method="highs"
    )
    assert solved.fun is not None
    return float(solved.fun)


@pytest.mark.parametrize("seed", range(6))
def test_what_is_proved_is_below_the_best_release_everywhere(seed: int) -> None:
    """Any numbers: cycles, chains that rather leave, tables that bend either way."""
    rng = np.random.default_rng(seed)
    n, m = (3, 3) if seed % 2 else (4, int(rng.integers(2, 4)))
    own, stay = rng.permutation(n), float(rng.uniform(0.2, 0.8))
    fresh = rng.dirichlet(np.ones(n)) * (1 - stay)
    if seed == 5:
        own, stay, fresh = np.arange(n), -0.2, np.full(n, 1.2 / n)
    moves = np.tile(fresh, (n, 1))
    moves[np.arange(n), own] += stay
    known = Stays.of(moves)
    assert known is not None
    assert known.own.tolist() == own.tolist()
    bounds = SumBounds(known, rng.random((n, m)), float(rng.uniform(0.2, 2.5)), np.linspace(0, 1, 7))
    later, aim = rng.normal(size=(2, n, 7)) * 0.3
    prices = Prices(rng.normal(size=(n, 7)) * 0.5, rng.normal(size=m) * 0.3, rng.normal(size=m) * 0.3)
    proved = bounds.excess(later, aim, prices)
    for before in (*np.eye(n), *rng.dirichlet(np.ones(n), 8)):
        goal = sum(float(interpolated(bounds.grid, aim[i], before[i : i + 1])[0]) for i in range(n))
        found = best_release(bounds, moves, later, before)
        assert proved <= found - goal + 1e-9
        single = Prices(rng.normal(size=(n, 1)), prices.level, prices.mean)
        assert bounds.least(later, single, Balls.exact(before @ moves)) <= found + 1e-9


def line(xs: list[Fraction], ys: list[Fraction], at: Fraction) -> Fraction:
    """Exactly, between points in increasing order."""
    k = min(max(sum(x <= at for x in xs), 1), len(xs) - 1)
    return ys[k - 1] + (at - xs[k - 1]) / (xs[k] - xs[k - 1]) * (ys[k] - ys[k - 1])


def exactly(
    bounds: SumBounds, later: Floats, aim: Floats, prices: Prices, before: list[Fraction]
) -> Fraction:
    """What a release and ``later`` cost at least above ``aim`` after one posterior, in rationals, with letters apart."""
    low, up = map(Fraction, bounds.factors)
    z, stay = list(map(Fraction, bounds.grid.tolist())), Fraction(bounds.stays.stay)
    totals = [Fraction(s) for s in prices.level.tolist()]
    for i, x in enumerate(bounds.stays.own.tolist()):
        cuts = bounds.cuts(float(bounds.stays.fresh[x]))
        lam = line(
            [Fraction(r) for r in cuts.tolist()],
            [Fraction(v) for v in interpolated(bounds.grid, prices.prices[i], cuts).tolist()],
            before[i],
        )
        b = Fraction(float(bounds.stays.fresh[x])) + stay * before[i]
        least, most = max(low * b, 1 - up * (1 - b)), min(up * b, 1 - low * (1 - b))
        rows = [list(map(Fraction, table.tolist())) for table in (later[x], aim[i])]
        for y, s in enumerate(prices.level.tolist()):
            slope = Fraction(float(bounds.cost[x, y])) - Fraction(s) - lam
            points = [least, most, *(point for point in z if least < point < most)]
            totals[y] += (
                min(slope * p + line(z, rows[0], p) for p in points) + lam * b - line(z, rows[1], before[i])
            )
    return min(totals)


@pytest.mark.parametrize("seed", range(4))
def test_nothing_is_above_what_rationals_say(seed: int) -> None:
    """Without any tolerance, also where an end of an interval is a point of the grid."""
    rng = np.random.default_rng(seed)
    n, z = 3, np.array([0.0, 0.125, 0.3, 0.5, 0.9, 1.0])
    stay = (0.5, 0.25, -0.125, 0.75)[seed]
    moves = np.full((n, n), (1 - stay) / n) + stay * np.eye(n)
    known = Stays.of(moves)
    assert known is not None
    bounds = SumBounds(known, rng.random((n, 2)), (0.7, 2.0, 0.1, 5.0)[seed], z)
    cuts = bounds.cuts(float(known.fresh[0]))
    for size in (0.0, 1e-9, 1.0, 1e5):
        later, aim = rng.normal(size=(2, n, len(z))) * size
        prices = Prices(rng.normal(size=(n, len(z))) * size, rng.normal(size=2), rng.normal(size=2) * size)
        proved = bounds.excess(later, aim, prices)
        for _ in range(10):
            one = Fraction(float(rng.choice(cuts)))
            other = (1 - one) * Fraction(float(rng.random()))
            assert proved <= exactly(bounds, later, aim, prices, [one, other, 1 - one - other])


@pytest.mark.parametrize("seed", range(3))
def test_lines_stay_below_and_pass_no_point(seed: int) -> None:
    rng = np.random.default_rng(seed)
    grid = np.unique(np.concatenate([[0.0, 1.0], rng.random(5)]))
    at = np.unique(np.concatenate([rng.random(30), grid]))
    values = np.stack([0.7 * at, 1 - 2.0 * (1 - at)])
    begins, ends = line_below(values, grid)
    for share in np.linspace(0, 1, 5):
        assert (
            begins + share * (ends - begins)
            <= np.maximum(*(v[:-1] + share * (v[1:] - v[:-1]) for v in values)) + 1e-15
        ).all()
    inner = grid[1:-1]
    low, high = np.minimum(begins, ends), np.maximum(begins, ends)
    assert not ((inner > low[:, None]) & (inner < high[:, None])).any()


def test_patterns_of_chains() -> None:
    for chain, own in ((stays(5, 0.7), [0, 1, 2, 3, 4]), (CYCLE, [1, 2, 0]), (UNLIKE, [0, 1, 2])):
        found = Stays.of(np.array(chain.step(0)))
        assert found is not None
        assert found.own.tolist() == own
        assert found.off < 1e-14
    assert Stays.of(np.array([[0.8, 0.2, 0.0], [0.2, 0.6, 0.2], [0.0, 0.2, 0.8]])) is None
    assert Stays.of(np.array([[0.8, 0.1, 0.1], [0.1, 0.8, 0.1], [0.1, 0.1 + 1e-9, 0.8 - 1e-9]])) is None


@pytest.mark.parametrize(
    ("problem", "share"),
    [
        (Ask(stays(3, 0.8), 1.0, horizon=4), 0.07),
        (Ask(stays(4, 0.7), 1.0, horizon=3), 0.07),
    ],
)
def test_it_is_near_what_policies_reach(problem: Ask, share: float, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("privopt.solvers.sequence.separable.POINTS", (9,))
    found = Separable().run(problem, Budget())
    assert found.bound is not None
    assert found.bound == problem.prove_bound(found.dual)[1]  # type: ignore[index]
    reached = problem.evaluate(problem.answer("closed-form")).utility
    assert reached <= found.bound
    assert found.bound - reached < share * abs(reached)


@pytest.mark.long
@pytest.mark.parametrize("chain", [stays(3, 0.8), CYCLE, UNLIKE, stays(8, 0.8)])
@pytest.mark.parametrize("horizon", [2, 5, 40, math.inf])
@pytest.mark.parametrize("distortion", ["hamming", "l1"])
def test_it_is_above_policies_and_finer_grids_prove_more(
    chain: po.MarkovChain, horizon: float, distortion: str
) -> None:
    problem = Ask(chain, 0.8, horizon=horizon, distortion=distortion)
    found = Separable().run(problem, Budget())
    assert found.bound is not None
    reached = problem.evaluate(problem.answer("closed-form" if distortion == "hamming" else "structure-lp"))
    assert reached.utility - 5 * (reached.standard_error or 0.0) <= found.bound
    if horizon > 2:
        alone = po.solve(problem, "closed-form" if distortion == "hamming" else "structure-lp", time_limit=20)
        assert alone.bound is not None
        assert found.bound < alone.bound


def test_it_is_below_the_exact_bound_of_two_letters() -> None:
    """Where both are known: look-ahead is nearer, and neither is wrong."""
    problem = Ask(stays(2, 0.8), 1.0, horizon=6)
    bounds = bounds_of(problem, np.linspace(0, 1, 5))
    assert bounds is not None
    assert refuse_separable(problem) is None
    assert "look-ahead" in str(Separable().refuse(problem))


def test_letters_that_are_alike_are_one_class() -> None:
    bounds = bounds_of(Ask(stays(5, 0.7), 1.0, horizon=3), np.linspace(0, 1, 3))
    assert bounds is not None
    alike = Alike.of(bounds, np.full(5, 0.2))
    assert alike.letters.tolist() == [0] * 5
    assert len(alike.types) == 2
    assert [dict(counted) for _, counted in alike.sums] == [{0: 1, 1: 4}]
    apart = Alike.of(bounds, np.array([0.4, 0.15, 0.15, 0.15, 0.15]))
    assert len(set(apart.letters.tolist())) == 2


def dual(letters: int, tables: int = 2) -> dict[str, Any]:
    """Nothing but zeros, on three points."""
    prices = {"prices": [[0.0] * 3] * letters, "level": [0.0] * letters, "mean": [0.0] * letters}
    first = {"prices": [[0.0]] * letters, "level": [0.0] * letters}
    return {
        "kind": "separable",
        "grid": [0.0, 0.5, 1.0],
        "values": [[[0.0] * 3] * letters] * tables,
        "releases": [prices] * (tables + 1),
        "first": first,
    }


@pytest.mark.parametrize("seed", range(6))
def test_whatever_the_prices_nothing_false_is_proved(seed: int) -> None:
    rng = np.random.default_rng(seed)
    chain = (stays(3, 0.9), CYCLE, UNLIKE)[seed % 3]
    problem = Ask(chain, float(rng.uniform(0.2, 3)), horizon=5)
    reached = problem.evaluate(problem.answer("closed-form")).utility

    def odd(written: Any, size: float) -> Any:
        if isinstance(written, dict):
            return {
                name: odd(each, size) if name not in ("kind", "grid") else each
                for name, each in written.items()
            }
        if isinstance(written, list):
            return [odd(each, size) for each in written]
        return float(rng.normal() * size)

    for size in (0.0, 0.1, 1.0, 100.0):
        proved = problem.prove_bound(odd(dual(3), size))
        assert proved is not None
        assert proved[0] <= proved[1]
        assert proved[1] >= reached


@pytest.mark.parametrize(
    "change",
    [
        {"grid": [0.0, 1.0]},
        {"grid": [0.0, 0.5, 0.5, 1.0]},
        {"grid": [0.1, 0.5, 1.0]},
        {"grid": [0.0, math.nan, 1.0]},
        {"grid": np.linspace(0, 1, 1025).tolist(), "releases": dual(3)["releases"] * 100},
        {"values": []},
        {"values": [[[0.0] * 3] * 2]},
        {"values": [[[0.0, 0.0, math.inf]] * 3] * 2},
        {"values": [[[0.0, 0.0, 1e300]] * 3] * 2},
        {"values": [[[0.0] * 3] * 3] * 5},
        {"releases": dual(3)["releases"][:2]},
        {"releases": [*dual(3)["releases"], *dual(3)["releases"]]},
        {"releases": [{**dual(3)["releases"][0], "level": [0.0]}] * 3},
        {"releases": [{**dual(3)["releases"][0], "prices": "0"}] * 3},
        {"first": None},
        {"first": {"prices": [[0.0] * 3] * 3, "level": [0.0] * 3}},
    ],
)
def test_what_is_no_dual_proves_nothing(change: dict[str, object]) -> None:
    problem = Ask(stays(3, 0.8), 1.0, horizon=5)
    assert problem.prove_bound(dual(3)) is not None
    assert problem.proved_bound({**dual(3), **change}) is None


def test_more_tables_than_releases_prove_nothing() -> None:
    problem = Ask(stays(3, 0.8), 1.0, horizon=3)
    assert problem.prove_bound(dual(3, 2)) is not None
    assert problem.proved_bound(dual(3, 3)) is None
    endless = Ask(stays(3, 0.8), 1.0, horizon=math.inf)
    assert endless.prove_bound({**dual(3, 1), "releases": dual(3)["releases"][:1]}) is not None
    assert endless.proved_bound(dual(3, 2)) is None


@pytest.mark.parametrize(
    "problem",
    [
        Ask(stays(3, 0.8), 0.0, horizon=4),
        Ask(stays(3, 0.8), math.inf, horizon=4),
        Ask(stays(3, 0.8), 1.0, horizon=1),
        Ask(stays(3, 0.8), 1.0, batch=2, horizon=4),
        Ask(po.MarkovChain(np.full((3, 3), 1 / 3)), 1.0, horizon=4),
        Ask(po.MarkovChain([[0.8, 0.2, 0.0], [0.2, 0.6, 0.2], [0.0, 0.2, 0.8]]), 1.0, horizon=4),
    ],
)
def test_other_problems_have_no_such_bound(problem: Ask) -> None:
    assert problem.prove_bound(dual(3)) is None
    assert Separable().refuse(problem) is not None
