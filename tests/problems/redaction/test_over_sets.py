"""Redaction over sets of chains: known answers, all chains of corners by brute force, members, invariants, files, refusals."""

from __future__ import annotations

import itertools
import json
import math
from fractions import Fraction as F
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from instances.few import few

import privopt as po
from privopt.errors import InvalidMechanism, InvalidProblem
from privopt.measures import robust_level, robustness_radius
from privopt.measures.redaction.leakage import redaction_leakage
from privopt.measures.redaction.over_sets import redaction_leakage_over
from privopt.measures.redaction.state_sets import vertices
from privopt.problems.redaction import over_set

README = po.MarkovChain([[F(3, 4), F(1, 4)], [F(1, 2), F(1, 2)]])
RARE = po.MarkovChain([[F(99, 100), F(1, 100)], [F(4, 5), F(1, 5)]])
THREE = po.MarkovChain([[0.5, 0.3, 0.2], [0.1, 0.7, 0.2], [0.3, 0.3, 0.4]], states=("walk", "sit", "lie"))


@pytest.mark.parametrize(
    ("distance", "expected"),
    [(1, 0.893817876), (2, 0.303283013), (3, 0.101333195), (4, 0.033287325), (6, 0.003533182)],
)
def test_windows_leak_what_they_leak_at_the_slowest_corner(distance: int, expected: float) -> None:
    near = po.ChainAmbiguity.interval(README, F(1, 10))
    table = [(1, 1)] * distance + [(0, 0)]
    level = redaction_leakage_over(near, 0, table)
    slow = po.MarkovChain([[F(31, 40), F(9, 40)], [F(9, 20), F(11, 20)]])
    assert level == pytest.approx(expected, abs=1e-9)
    assert level == pytest.approx(redaction_leakage(slow, 0, table), abs=1e-12)


@pytest.mark.parametrize(
    ("chain", "length", "private", "levels"),
    [(RARE, 10, 0, (1.379116, 2.377939)), (README, 5, 2, (1.171834, 1.725428))],
)
def test_optima_of_one_chain_leak_more_near_it(
    chain: po.MarkovChain, length: int, private: int, levels: tuple[float, float]
) -> None:
    problem = po.Redaction(chain, length, private, 1.0)
    mechanism = po.solve(problem, "optimal").mechanism
    for relative, expected in zip((F(1, 20), F(1, 5)), levels, strict=True):
        near = po.ChainAmbiguity.interval(chain, relative)
        low, high = robust_level(problem, mechanism, near)
        assert high == pytest.approx(expected, abs=1e-6)
        assert high - low < 1e-14
        assert problem.repeated_leakage(mechanism, 1) <= low
        over = po.Redaction(near, length, private, 1.0)
        assert over.evaluate(mechanism).leakage == pytest.approx(high, abs=1e-12)
        assert not over.certify(mechanism).ok
        assert over.certify(over.repair(mechanism, 2**-30).quantised()).ok


def largest_ratios(sets: list[np.ndarray], redaction: np.ndarray) -> np.ndarray:
    """By every choice of vertices at every step: the largest ratio of the outputs of a side, for each ordered pair."""
    k, best = len(sets), np.ones((len(sets), len(sets)))
    for steps in itertools.product(itertools.product(*sets), repeat=len(redaction)):
        table = np.eye(k)
        for step, row in zip(steps, redaction, strict=True):
            table = table @ np.array(step)
            for v in np.flatnonzero(row < 1):
                best = np.maximum(best, _quotients(table[:, v]))
            table = table * row
        if table.any():
            best = np.maximum(best, _quotients(table.sum(axis=1)))
    return best


def _quotients(column: np.ndarray) -> np.ndarray:
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = column[:, None] / column[None]
    return np.nan_to_num(ratios, nan=0.0, posinf=np.inf)


def random_set(rng: np.random.Generator, k: int) -> po.ChainAmbiguity:
    chain = po.MarkovChain.normalised([[int(n) for n in row] for row in rng.integers(1, 12, (k, k))])
    return po.ChainAmbiguity.interval(chain, F(int(rng.integers(1, 9)), 10))


def random_table(rng: np.random.Generator, length: int, k: int) -> np.ndarray:
    return np.where(rng.random((length, k)) < 0.5, 1.0, rng.choice([0.0, 0.25, 0.5, 0.875], (length, k)))


@pytest.mark.parametrize("seed", few(range(20), 6))
def test_two_states_are_all_chains_of_corners(seed: int) -> None:
    rng = np.random.default_rng(seed)
    near, length = random_set(rng, 2), int(rng.integers(2, 6))
    private = int(rng.integers(0, length))
    table = random_table(rng, length, 2)
    table[private] = 1.0
    sets = [[np.array(vertices(row)) for row in rows] for rows in (near.backward, near.forward)]
    left, right = (
        largest_ratios(sets[0], table[:private][::-1]),
        largest_ratios(sets[1], table[private + 1 :]),
    )
    expected = math.log(max(left[0, 1] * right[0, 1], left[1, 0] * right[1, 0]))
    assert redaction_leakage_over(near, private, table) == pytest.approx(expected, abs=1e-12)
    problem = po.Redaction(near, length, private, max(expected, 1e-3))
    low, high = problem.certify(problem.answer(table).quantised()).leakage
    assert low - 1e-12 <= expected <= high + 1e-12
    assert low == high or high - low < 1e-14


@pytest.mark.parametrize("seed", range(3))
def test_more_states_are_bounded_from_above_and_nearly_met(seed: int) -> None:
    rng = np.random.default_rng(seed)
    near, length = random_set(rng, 3), 3
    table = random_table(rng, length, 3)
    table[0] = 1.0
    sets = [np.array(vertices(row)) for row in near.forward]
    expected = math.log(largest_ratios(sets, table[1:]).max())
    bound = redaction_leakage_over(near, 0, table)
    assert expected <= bound + 1e-12
    assert bound <= expected + 0.05 or math.isinf(expected)


@pytest.mark.parametrize("k", [2, 3])
def test_no_member_leaks_more_and_the_level_grows_with_the_set(k: int) -> None:
    chain = RARE if k == 2 else THREE
    rng = np.random.default_rng(k)
    for _ in range(6):
        table = random_table(rng, 6, k)
        table[3] = 1.0
        levels = []
        for relative in (F(0), F(1, 20), F(1, 10), F(1, 5)):
            near = po.ChainAmbiguity.interval(chain, relative)
            levels.append(redaction_leakage_over(near, 3, table))
            for member in members(rng, chain, relative):
                assert near.contains(member)
                assert redaction_leakage(member, 3, table) <= levels[-1] + 1e-9
        assert levels == sorted(levels)
        assert levels[0] == pytest.approx(redaction_leakage(chain, 3, table), abs=1e-9)  # one chain


def members(rng: np.random.Generator, chain: po.MarkovChain, relative: F) -> list[po.MarkovChain]:
    listed = []
    for _ in range(3):
        rows = [
            [v * (1 + relative * F(int(rng.integers(-99, 100)), 100)) for v in row] for row in _exact(chain)
        ]
        for i, row in enumerate(rows):
            row[i] = 1 - sum((v for j, v in enumerate(row) if j != i), F(0))
        listed.append(po.MarkovChain(rows, states=chain.states))
    return listed


def _exact(chain: po.MarkovChain) -> list[list[F]]:
    return [[row.fraction(j) for j in range(chain.k)] for row in chain.exact_step(0)]


def test_a_set_of_one_chain_gives_the_certificate_of_the_chain() -> None:
    one, near = (
        po.Redaction(README, 6, 2, 1.0),
        po.Redaction(po.ChainAmbiguity.interval(README, 0), 6, 2, 1.0),
    )
    mechanism = po.solve(one, "optimal").mechanism
    assert near.certify(mechanism).leakage == one.certify(mechanism).leakage
    assert near.certify(mechanism).ok


def test_everything_possible_is_local_differential_privacy_of_nothing() -> None:
    """With all rows a release next to the private record tells it; only what is hidden always is safe."""
    sets = [po.RowSet.all(2)] * 2
    problem = po.Redaction(po.ChainAmbiguity(sets, sets, po.RowSet.all(2), nominal=README), 4, 1, 5.0)
    table = np.ones((4, 2))
    assert problem.certify(problem.safe().quantised()).ok
    table[3] = 0.5
    assert problem.evaluate(problem.answer(table)).leakage == math.inf
    assert not problem.certify(problem.answer(table).quantised()).ok


def test_long_sequences_are_proved_quickly_and_long_numbers_rounded_outward(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    near = po.ChainAmbiguity.interval(README, F(1, 10))
    problem = po.Redaction(near, 1000, 500, 1.0)
    table = np.ones((1000, 2))
    table[:, 0] = np.linspace(0.5, 1, 1000)
    table[500] = 1.0
    mechanism = problem.answer(table).quantised()
    exact = problem.certify(mechanism)
    assert "exact rationals" in exact.method or "rounded outward" in exact.method
    monkeypatch.setattr(over_set, "LONG", 0)
    rounded = problem.certify(mechanism)
    assert "rounded outward" in rounded.method
    assert rounded.leakage == pytest.approx(exact.leakage, abs=1e-15)
    monkeypatch.setattr(over_set, "LONG", 1 << 62)
    whole = problem.certify(mechanism)
    assert "exact rationals" in whole.method
    assert rounded.leakage[0] <= whole.leakage[1]
    assert whole.leakage[0] <= rounded.leakage[1]


def test_sets_with_irrational_ends_are_enclosed() -> None:
    rows = [[F(3, 4), F(1, 4)], [F(1, 2), F(1, 2)]]
    sets = [po.RowSet.chi2(row, F(1, 10)) for row in rows]
    near = po.ChainAmbiguity(sets, sets, po.RowSet.all(2), nominal=README)
    problem = po.Redaction(near, 4, 0, 2.0)
    mechanism = problem.answer([[1, 1], [1, 0.5], [0.25, 1], [0, 0]]).quantised()
    low, high = problem.certify(mechanism).leakage
    assert 0 < high - low < 1e-12
    assert low - 1e-12 <= problem.evaluate(mechanism).leakage <= high + 1e-12


def test_files_and_words(tmp_path: Path) -> None:
    chain = po.MarkovChain.fit(list("aabbbabaabaaabbaabababbbaabaabab" * 20))
    problem = po.Redaction(po.ChainAmbiguity.from_counts(chain, 0.9), 6, 2, 2.0)
    again = po.problem_from_dict(json.loads(json.dumps(problem.to_dict())))
    assert again == problem
    assert again.fingerprint == problem.fingerprint
    assert "ChainAmbiguity" in repr(problem)
    assert problem.robust
    assert not po.Redaction(chain, 6, 2, 2.0).robust
    assert "version" in problem.to_dict()
    solution = po.solve(problem)
    assert solution.certified
    certificate = po.verify(problem, solution)
    assert certificate.ok
    assert certificate.claim == "for every distribution in the set, leakage <= budget"
    assert certificate.confidence == 0.9
    assert "counts of 639 transitions" in certificate.distributions
    path = tmp_path / "solution.json"
    solution.save(path)
    stored = po.Solution.load(path)
    assert po.verify(again, stored).ok
    other = po.Redaction(po.ChainAmbiguity.from_counts(chain, 0.99), 6, 2, 2.0)
    assert not po.verify(other, stored).ok


def test_a_bound_names_a_chain_of_the_set() -> None:
    near = po.ChainAmbiguity.interval(RARE, F(1, 10))
    problem = po.Redaction(near, 10, 0, 1.0)
    solution = po.solve(problem)
    assert solution.bound is not None
    dual: Any = solution.dual
    assert dual["kind"] == "member"
    proved = problem.prove_bound(dual)
    assert proved is not None
    assert proved[1] == pytest.approx(0.7244351679, abs=1e-6)
    outside = po.MarkovChain([[F(98, 100), F(2, 100)], [F(4, 5), F(1, 5)]])
    assert problem.proved_bound({**dual, "chain": outside.to_dict()}) is None
    assert problem.proved_bound({**dual, "dual": dual}) is None
    assert problem.proved_bound({**dual, "chain": {"type": "markov_chain"}}) is None
    assert problem.proved_bound(dual["dual"]) is None
    nominal = problem.prove_bound({**dual, "chain": RARE.to_dict()})
    assert nominal is not None
    assert nominal[1] == pytest.approx(0.7957304177, abs=1e-6)


def test_radius_of_what_keeps_a_level() -> None:
    problem = po.Redaction(RARE, 10, 0, 1.0)
    mechanism = po.solve(problem, "windows").mechanism
    low, high = robustness_radius(problem, mechanism, 2 * problem.evaluate(mechanism).leakage)
    assert 0 < low <= high < low + 1e-9
    assert robust_level(problem, mechanism, problem.neighbourhood(F(low), "total_variation"))[1] <= 2 * 1.0
    assert robustness_radius(problem, mechanism, 0.01) == (0.0, 0.0)
    assert robustness_radius(problem, mechanism, 1.0, "chi2")[0] > 0
    started = po.Redaction(po.MarkovChain(RARE.transition, initial=[1, 0]), 10, 0, 1.0)
    with pytest.raises(InvalidProblem, match="need a stationary chain"):
        robustness_radius(started, started.safe(), 1.0)


def test_refusals() -> None:
    near = po.ChainAmbiguity.interval(README, F(1, 10))
    with pytest.raises(InvalidProblem, match="leave side_information out"):
        po.Redaction(near, 5, 2, 1.0, side_information="any")
    with pytest.raises(InvalidProblem, match="at most 6 states"):
        po.Redaction(po.ChainAmbiguity.interval(po.MarkovChain(np.full((7, 7), F(1, 7))), 0), 5, 2, 1.0)
    with pytest.raises(InvalidProblem, match="another nominal chain"):
        po.Redaction(RARE, 5, 2, 1.0, ambiguity=near)
    with pytest.raises(InvalidProblem, match="chains vary in a ChainAmbiguity"):
        robust_level(
            po.Redaction(README, 5, 2, 1.0), po.Redaction(README, 5, 2, 1.0).safe(), po.RowSet.all(2)
        )
    with pytest.raises(InvalidProblem, match="of chains of the states"):
        robust_level(
            po.Redaction(README, 5, 2, 1.0),
            po.Redaction(README, 5, 2, 1.0).safe(),
            po.ChainAmbiguity.interval(THREE),
        )
    with pytest.raises(InvalidMechanism, match=r"table in \[0, 1\]"):
        redaction_leakage_over(near, 0, [[1, 2]])
    with pytest.raises(InvalidMechanism, match="private must be"):
        redaction_leakage_over(near, 3, [[1, 1]])
