"""Sequences over a set of chains: known answers, brute force over corner chains and all outputs, chains drawn from the set."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.optimize import linprog

import privopt as po
from privopt.arrays import Floats
from privopt.errors import InvalidMechanism, InvalidProblem
from privopt.mechanisms.policy.ranges import Ranges, extremes, posterior
from privopt.problems.sequence_information_privacy.over_set import level_over

CHAIN = po.MarkovChain([[0.8, 0.2], [0.3, 0.7]], [0.5, 0.5])
SHARES = (0.05, 0.2)


def near(share: float) -> po.ChainAmbiguity:
    return po.ChainAmbiguity.interval(CHAIN, share)


def problem(share: float | None, epsilon: float = 1.0, horizon: int = 8) -> po.SequenceInformationPrivacy:
    return po.SequenceInformationPrivacy(CHAIN if share is None else near(share), epsilon, horizon=horizon)


def three(share: float | None, seed: int = 3) -> po.SequenceInformationPrivacy:
    rows = 0.5 * np.random.default_rng(seed).dirichlet(np.ones(3), 3) + 0.5 * np.eye(3)
    chain = po.MarkovChain.normalised(rows, [0.2, 0.3, 0.5])
    model = chain if share is None else po.ChainAmbiguity.interval(chain, share)
    return po.SequenceInformationPrivacy(model, 1.0, horizon=5)


@pytest.mark.parametrize(("share", "level"), [(0.05, 1.038196), (0.2, 1.151878)])
def test_the_policy_of_one_chain_over_a_set_around_it(share: float, level: float) -> None:
    plain = problem(None)
    low, high = po.measures.robust_level(plain, plain.answer("closed-form"), near(share))
    assert low <= high < low + 1e-9
    assert high == pytest.approx(level, abs=1e-6)


@pytest.mark.parametrize(("share", "level"), [(0.05, 1.2062), (0.2, 1.8971)])
def test_the_hilbert_bound(share: float, level: float) -> None:
    ranges = Ranges.of(near(share))
    assert ranges.kappa == pytest.approx(0.506788, abs=1e-6)
    assert ranges.eta == pytest.approx(-math.log(1 - share), rel=1e-9)
    assert 1 + ranges.distance(7) == pytest.approx(
        level, abs=5e-5
    )  # of 8 releases, with 7 transitions between them


def test_a_policy_built_for_less_keeps_the_budget_over_a_small_set() -> None:
    smaller = problem(None, 0.9625)
    policy = smaller.answer("closed-form")
    assert po.measures.robust_level(smaller, policy, near(0.05))[1] <= 1
    assert -smaller.evaluate(policy).utility == pytest.approx(0.17415, abs=2e-5)


def test_enforcing_within_the_bounds_of_beliefs_costs_less_than_either_margin() -> None:
    robust = problem(0.05)
    policy = robust.answer("closed-form")
    evaluation = robust.evaluate(policy)
    assert evaluation.leakage <= 1
    assert evaluation.leakage == pytest.approx(1, abs=1e-6)
    left = 1 - Ranges.of(near(0.05)).distance(10**6)
    assert left == pytest.approx(0.7920, abs=5e-5)
    hilbert = problem(None, left)
    margin = hilbert.evaluate(hilbert.answer("closed-form"))
    assert -margin.utility == pytest.approx(0.21406, abs=2e-5)
    assert 0.16609 < -evaluation.utility < 0.17415 < -margin.utility


def corners(share: float) -> list[Floats]:
    """The matrices whose rows are the ends of their sets."""
    a, b = ((p * (1 - share), p * (1 + share)) for p in (0.2, 0.3))
    return [np.array([[1 - p, p], [q, 1 - q]]) for p, q in itertools.product(a, b)]


@pytest.mark.parametrize("rule", ["closed-form", "randomised-response"])
@pytest.mark.parametrize("share", SHARES)
@pytest.mark.parametrize("robust", [False, True])
def test_the_level_is_that_of_brute_force_over_corner_chains(rule: str, share: float, robust: bool) -> None:
    asked = problem(share if robust else None, horizon=4)
    policy = asked.answer(rule)
    worst = 0.0
    front = [(policy.start(), np.array([[0.5, 0.5]]))]
    for step in range(4):
        following = []
        for state, beliefs in front:
            kernel = policy.kernel(state.belief).matrix
            outputs = beliefs @ kernel
            for y in range(2):
                worst = max(worst, float(np.abs(np.log(kernel[:, y] / outputs[:, y][:, None])).max()))
                seen = beliefs * kernel[:, y] / outputs[:, y][:, None]
                if step < 3:
                    after = np.concatenate([seen @ moves for moves in corners(share)])
                    following.append((policy.advance(state, y), after))
        front = following
    low, high = po.measures.robust_level(asked, policy, near(share))
    assert low - 1e-10 <= worst <= high + 1e-10
    assert high == pytest.approx(worst, abs=1e-9)


@pytest.mark.parametrize("kind", ["interval", "total_variation", "chi2"])
def test_chains_of_the_set_stay_below_the_budget(kind: str) -> None:
    rng = np.random.default_rng(5)
    chain = three(None).chain
    rows = [chain.transition[i] for i in range(3)]
    make = {"total_variation": po.RowSet.total_variation, "chi2": po.RowSet.chi2}
    sets = (
        list(po.ChainAmbiguity.interval(chain, 0.2).forward)
        if kind == "interval"
        else [make[kind](row.tolist(), 0.06) for row in rows]
    )
    over = po.ChainAmbiguity(sets, [po.RowSet.all(3)] * 3, [0.2, 0.3, 0.5], nominal=chain)
    asked = po.SequenceInformationPrivacy(over, 0.7, horizon=5)
    policy = asked.answer("closed-form")
    assert asked.certify(policy).ok
    assert asked.evaluate(policy).leakage <= 0.7 + 1e-12
    largest = 0.0
    for _ in range(40):
        state, belief = policy.start(), np.array([0.2, 0.3, 0.5])
        for _step in range(5):
            kernel = policy.kernel(state.belief).matrix
            output = belief @ kernel
            used = output > 0
            largest = max(largest, float(np.abs(np.log(kernel[:, used] / output[used])).max()))
            y = int(rng.choice(len(output), p=output / output.sum()))
            moves = np.array([_member(row, rng) for row in sets])
            belief = (belief * kernel[:, y] / output[y]) @ moves
            state = policy.advance(state, y)
    assert 0.6 < largest <= 0.7 + 1e-9


def _member(row: po.RowSet, rng: np.random.Generator) -> Floats:
    """A distribution far out in a set: one with a large expectation of random values."""
    values = [int(v) for v in rng.integers(0, 1000, row.size)]
    return np.array([float(Fraction(v, row.denominator)) for v in row.farthest(values)])


def test_one_chain_is_a_set_of_one() -> None:
    for make in (lambda share: problem(share, horizon=5), three):
        plain, point = make(None), make(0.0)
        one, other = plain.evaluate(plain.answer("closed-form")), point.evaluate(point.answer("closed-form"))
        assert other.utility == pytest.approx(one.utility, abs=1e-7)
        assert other.leakage == pytest.approx(one.leakage, abs=1e-7)


@pytest.mark.parametrize("make", [problem, three])
def test_a_larger_set_leaks_more_and_is_served_worse(make: Any) -> None:
    plain = make(None)
    policy = plain.answer("closed-form")
    levels, errors = [plain.evaluate(policy).leakage], [0.0]
    for share in (0.02, 0.1, 0.3):
        robust = make(share)
        assert robust.certify(robust.answer("closed-form")).ok
        levels.append(po.measures.robust_level(plain, policy, robust.ambiguity)[1])
        errors.append(-robust.evaluate(robust.answer("closed-form")).utility)
    assert levels == sorted(levels)
    assert errors == sorted(errors)


def test_a_set_of_all_chains_leaves_local_differential_privacy() -> None:
    rows = [po.RowSet.all(2)] * 2
    over = po.ChainAmbiguity(rows, rows, po.RowSet.all(2), nominal=CHAIN)
    asked = po.SequenceInformationPrivacy(over, 1.0, horizon=4)
    policy = asked.answer("closed-form")
    kernel = policy.kernel(policy.start().belief).matrix
    assert float(np.log(kernel.max(axis=0) / kernel.min(axis=0)).max()) <= 1 + 1e-9
    assert -asked.evaluate(policy).utility >= 1 / (1 + math.e) - 1e-6
    assert asked.certify(policy).ok


def test_the_certificate_names_the_set_and_holds_from_files(tmp_path: Path) -> None:
    robust = problem(0.05)
    solution = po.solve(robust, "closed-form", time_limit=20)
    assert solution.certified
    certificate = solution.certificate
    assert certificate is not None
    assert certificate.claim == "for every distribution in the set, leakage <= budget"
    assert "may differ from step to step" in certificate.distributions
    assert "at each step perhaps another" in certificate.assumption
    solution.save(tmp_path / "solution.json")
    again = po.Solution.load(tmp_path / "solution.json")
    assert po.problem_from_dict(robust.to_dict()) == robust
    proved = po.verify(po.problem_from_dict(robust.to_dict()), again)
    assert proved.ok
    assert proved.distributions == certificate.distributions
    assert not proved.remarks


@pytest.mark.long
def test_an_explanation_names_the_set() -> None:
    solution = po.solve(problem(0.05), "closed-form", time_limit=20)
    assert "some chain of the set of the problem" in str(solution.explain())


def test_a_policy_for_less_than_the_set_is_refused() -> None:
    robust = problem(0.2)
    with pytest.raises(InvalidMechanism, match="another set of chains"):
        robust.certify(problem(0.05).answer("closed-form"))
    with pytest.raises(InvalidMechanism, match="another set of chains"):
        robust.certify(problem(None).answer("closed-form"))
    loose = robust.answer("closed-form", enforced=False)
    assert not robust.certify(loose).ok
    assert robust.certify(robust.repair(loose, 2.0**-40)).ok


def test_what_has_no_bounds_over_a_set_is_refused() -> None:
    with pytest.raises(InvalidProblem, match="single letters"):
        po.SequenceInformationPrivacy(near(0.1), 1.0, batch=2)
    with pytest.raises(InvalidMechanism, match="another chain"):
        po.SequencePolicy(po.MarkovChain([[0.5, 0.5], [0.5, 0.5]]), 1.0, ambiguity=near(0.1))
    plain = problem(None)
    with pytest.raises(InvalidProblem, match="ChainAmbiguity"):
        po.measures.robust_level(plain, plain.anchor(), po.RowSet.all(2))


def test_what_follows_one_belief_is_refused_over_a_set() -> None:
    with pytest.raises(InvalidMechanism, match="robust_level"):
        po.measures.sequence_leakage(CHAIN, problem(0.1).answer("closed-form"), 3)


def test_a_stream_over_a_set_goes_on_where_it_stopped(tmp_path: Path) -> None:
    policy = problem(0.1).answer("closed-form")
    journal = policy.state(tmp_path / "journal.json")
    list(policy.release(iter([0, 1, None]), state=journal))
    again = policy.state(tmp_path / "journal.json")
    assert again.current == journal.current
    assert len(again.current.belief) == 6
    list(policy.release(iter([1, 1]), state=again))
    assert again.step == 5
    least, most = np.array(again.current.belief[2:4]), np.array(again.current.belief[4:])
    assert (least <= again.current.belief[:2]).all()
    assert (most >= again.current.belief[:2]).all()


def test_the_radius_until_a_level_is_where_the_level_is() -> None:
    plain = problem(None, horizon=2)
    policy = plain.answer("closed-form")
    low, high = po.measures.robustness_radius(plain, policy, 1.1)
    assert 0 < low <= high < low + 1e-6
    over = plain.neighbourhood(Fraction(low), "total_variation")
    assert po.measures.robust_level(plain, policy, over)[1] == pytest.approx(1.1, abs=1e-5)


def test_levels_where_outputs_are_too_many_come_from_how_kernels_are_built() -> None:
    robust = problem(0.05, horizon=200)
    policy = robust.answer("closed-form")
    assert not level_over(robust, policy, near(0.05)).complete
    assert po.measures.robust_level(robust, policy, near(0.05))[1] == 1.0
    plain = problem(None, horizon=200)
    low, high = po.measures.robust_level(plain, plain.answer("closed-form"), near(0.05))
    assert 1.03 < low < high == pytest.approx(1 + Ranges.of(near(0.05)).distance(10**6))
    assert robust.certify(policy).ok


def _optimum(result: Any) -> float:
    return float(result.fun)


@pytest.mark.parametrize("seed", range(6))
def test_extremes_and_posteriors_are_those_of_linear_programs(seed: int) -> None:
    rng = np.random.default_rng(seed)
    k = 4
    middle = rng.dirichlet(np.ones(k))
    least, most = middle * rng.uniform(0.3, 1, k), np.minimum(1.0, middle * rng.uniform(1, 2, k))
    values = rng.integers(0, 9, k).astype(float)
    ends = [
        sign
        * _optimum(
            linprog(
                sign * values, A_eq=np.ones((1, k)), b_eq=[1.0], bounds=list(zip(least, most, strict=True))
            )
        )
        for sign in (1, -1)
    ]
    low, high = (float(end[0]) for end in extremes(least[None], most[None], values))
    assert (low, high) == pytest.approx(tuple(ends), abs=1e-9)
    columns = rng.integers(1, 9, k).astype(float)
    bottom, top = posterior(least[None], most[None], columns[None])
    for i in range(k):  # Charnes and Cooper: b = z / t with z . columns = 1
        rows = np.concatenate([np.eye(k), -np.eye(k)])
        room = np.concatenate([-most, least])[:, None]
        ratios = [
            sign
            * _optimum(
                linprog(
                    sign * np.append(columns * (np.arange(k) == i), 0.0),
                    A_ub=np.concatenate([rows, room], axis=1),
                    b_ub=np.zeros(2 * k),
                    A_eq=[np.append(columns, 0.0), np.append(np.ones(k), -1.0)],
                    b_eq=[1.0, 0.0],
                )
            )
            for sign in (1, -1)
        ]
        assert (bottom[0, i], top[0, i]) == pytest.approx(tuple(ratios), abs=1e-9)
