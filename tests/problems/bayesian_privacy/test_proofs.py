"""What is proved of noise: on every processor, of every short count, to the last digit, and against hostile duals."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
import warnings
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from instances.few import few
from mpmath import exp, log, mpf, sinh
from oracles.bayesian import any_mechanism, noisy_count

import privopt as po
from privopt.core.judge import judge
from privopt.core.solver import Proposal
from privopt.errors import InvalidMechanism, InvalidProblem
from privopt.measures.bayesian.gaussian_enumeration import prove_brute_force
from privopt.measures.bayesian.gaussian_proof import prove_factor, prove_least_factor
from privopt.measures.bayesian.markov_proof import prove_markov_leak, prove_markov_recursion
from privopt.measures.bayesian.proof import Setting, prove_leak, prove_leakage
from privopt.measures.bayesian.tables import exact_small
from privopt.mechanisms.noise import shapes
from privopt.mechanisms.noise.shapes import SHAPES, enclosed_error
from privopt.mechanisms.noise.statistics import sensitivity, spacing, value

CHAIN = po.MarkovChain([[0.8, 0.2], [0.3, 0.7]])
TURN = po.MarkovChain([[0, 1], [1, 0]])
SWING = po.MarkovChain([[0.2, 0.8], [0.8, 0.2]])
ROW = po.GaussianModel([[1, 0.5, 0.25], [0.5, 1, 0.5], [0.25, 0.5, 1]])


def chains(seed: int, k: int) -> po.MarkovChain:
    rng = np.random.default_rng(seed)
    rows = np.maximum(rng.dirichlet(np.full(k, 0.7), size=k), 1e-3)
    return po.MarkovChain.normalised(rows, None if seed % 2 else rng.dirichlet(np.ones(k)) + 1e-3)


def examples() -> list[po.BayesianPrivacy]:
    problems = [example.problem for example in po.BayesianPrivacy.examples()]
    return [problem for problem in problems if isinstance(problem, po.BayesianPrivacy)]


def problems() -> list[po.BayesianPrivacy]:
    problems = examples()
    for seed in range(4):
        problems.append(
            po.BayesianPrivacy(chains(seed, 2), "count", 0.3 + seed / 3, length=4 + 9 * (seed % 3))
        )
        problems.append(po.BayesianPrivacy(chains(seed, 3), "histogram", 0.3 + seed / 3, length=12))
        half = np.random.default_rng(seed).normal(size=(2 + seed, 12))
        model = po.GaussianModel(half @ half.T)
        problems.append(
            po.BayesianPrivacy(model, "mean", 0.1 + seed / 5, clip=(-0.3, 1.7), length=100 + seed)
        )
    distances = np.abs(np.subtract.outer(np.arange(110), np.arange(110)))
    return [*problems, po.BayesianPrivacy(po.GaussianModel(0.7**distances), "sum", 0.7, clip=(0, 1))]


JUDGE = """
import json, sys
import privopt as po
from privopt.measures.bayesian.markov_proof import prove_markov_recursion
for problem, solution in json.load(open(sys.argv[1])):
    problem = po.BayesianPrivacy.from_dict(problem)
    verdict = po.verify(problem, po.Solution.from_dict(solution))
    proved = prove_markov_recursion(problem.model, 0.3, problem.length).hex() if isinstance(problem.model, po.MarkovChain) else ""
    print(json.dumps([verdict.ok, verdict.reason, proved]))
"""


@pytest.mark.long
def test_every_processor_gives_the_same_verdict(tmp_path: Path) -> None:
    file, solved = tmp_path / "solved.json", []
    for problem in problems():
        solved.append((problem, po.solve(problem)))
        solved += [(problem, s) for s in po.compare(problem, ["laplace-tail", "oracle"]) if s.status.ok]
    file.write_text(json.dumps([(p.to_dict(), s.to_dict()) for p, s in solved]))
    expected = [
        prove_markov_recursion(p.model, 0.3, p.length).hex() if isinstance(p.model, po.MarkovChain) else ""
        for p, _ in solved
    ]
    assert all(s.certified for _, s in solved)
    for setting in (
        {
            "OPENBLAS_CORETYPE": "Prescott",
            "OPENBLAS_NUM_THREADS": "1",
            "NPY_DISABLE_CPU_FEATURES": "X86_V3,X86_V4,AVX2,AVX512F",
        },
        {"OPENBLAS_CORETYPE": "Haswell"},
    ):
        done = subprocess.run(
            [sys.executable, "-W", "ignore", "-c", JUDGE, str(file)],
            env={**os.environ, **setting}, capture_output=True, text=True, check=True,
        )  # fmt: skip
        verdicts = [json.loads(line) for line in done.stdout.splitlines()]
        assert [v[:1] for v in verdicts] == [[True]] * len(solved), verdicts
        assert [v[2] for v in verdicts] == expected  # of chains to the last bit


def test_a_count_that_never_changes_leaks_nothing_at_any_level() -> None:
    problem = po.BayesianPrivacy(TURN, "count", 1.0, length=2)
    assert noisy_count(TURN, 1, 2, 50.0) == 0
    assert problem.certify(problem.answer(50.0)).ok
    for tau in (0.5, 1.0, 2.0, 1e9):
        assert problem.check_bound(-math.inf, {"kind": "level", "tau": tau}) is None
    solution = po.solve(problem)
    assert solution.certified
    assert solution.status is po.Status.OPTIMAL
    assert solution.objective is not None
    assert solution.objective >= -0.02
    slower = po.solve(problem, "general")
    assert slower.status is po.Status.GAP
    assert slower.bound == 0.0


@pytest.mark.parametrize("seed", few(range(10), 4))
def test_bounds_of_short_counts_against_every_adversary(seed: int) -> None:
    k, n = 2 + seed % 2, 3
    zeros = np.random.default_rng(seed).random((k, k)) < 0.3
    rows = np.where(zeros & ~np.eye(k, dtype=bool)[::-1], 0.0, chains(seed, k).transition)
    chain = po.MarkovChain.normalised(rows, np.ones(k))
    noise = ("laplace", "discrete_laplace")[seed % 2]
    for epsilon in (0.2, 1.0, 3.0):
        problem = po.BayesianPrivacy(chain, "count", epsilon, length=n, mechanism=noise)
        truth = {tau: noisy_count(chain, 1, n, tau) for tau in (0.05, 0.3, 1.0, 2.5, 6.0, 40.0)}
        assert all(
            a <= b + mpf(10) ** -40 for a, b in zip(truth.values(), [*truth.values()][1:], strict=False)
        )
        for tau, leakage in truth.items():
            stated = problem.certify(problem.answer(tau))
            spent = noisy_count(chain, 1, n, problem.answer(tau).tau)
            assert stated.ok == (spent <= epsilon) or spent == epsilon
            bound = problem.check_bound(-math.inf, {"kind": "level", "tau": tau})
            assert (bound is None) or leakage >= epsilon
            for allowed in (t for t in truth if truth[t] <= epsilon and bound is not None):
                assert problem.utility_of(problem.answer(allowed).scale) <= bound  # type: ignore[operator]
        solution = po.solve(problem)
        assert solution.status is po.Status.OPTIMAL


@pytest.mark.parametrize("seed", few(range(16), 5))
def test_chains_are_enclosed_from_both_sides(seed: int) -> None:
    chain, n = chains(seed, 2), (1, 2, 4, 9)[seed % 4]
    tau = float(np.exp(np.random.default_rng(seed).uniform(-9, 3)))
    truth = any_mechanism(chain, n, tau)
    low, high = prove_markov_leak(chain, tau, n), prove_markov_recursion(chain, tau, n)
    assert low <= truth <= high
    assert high - low <= 1e-12 * max(1.0, tau)
    if n <= 4 and 0.01 < tau < 3:
        assert float(truth) == pytest.approx(exact_small(chain, tau, n).value, abs=1e-6)


@pytest.mark.parametrize("tiny", few((5e-324, 1e-300, 1e-310, 1e-20), 2))
@pytest.mark.parametrize("n", [2, 5])
def test_tiny_transitions(tiny: float, n: int) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for rows in ([[1.0, tiny], [0.3, 0.7]], [[tiny, 1.0], [1.0, tiny]], [[1.0, tiny], [3 * tiny, 1.0]]):
            chain = po.MarkovChain(rows, [0.5, 0.5])
            for tau in (0.1, 300.0):
                truth = any_mechanism(chain, n, tau, 800)
                assert prove_markov_leak(chain, tau, n) <= truth <= prove_markov_recursion(chain, tau, n)
            for noise in ("laplace", "discrete_laplace") if n == 2 else ():
                problem = po.BayesianPrivacy(chain, "count", 1.0, length=n, mechanism=noise)
                solution = po.solve(problem, time_limit=5)
                assert po.verify(problem, solution).ok
                assert solution.certificate is not None
                assert solution.certificate.leakage[1] >= noisy_count(chain, 1, n, solution.mechanism.tau) * (
                    1 - mpf(10) ** -15
                )
        three = po.MarkovChain([[0.5, 0.5 - tiny, tiny], [0.3, 0.3, 0.4], [tiny, tiny, 1 - 2 * tiny]])
        assert po.solve(po.BayesianPrivacy(three, "histogram", 1.0, length=12)).certified


@pytest.mark.parametrize("seed", range(12))
def test_gaussian_factors_are_enclosed(seed: int) -> None:
    rng = np.random.default_rng(seed)
    m = int(rng.integers(2, 8))
    half = rng.normal(size=(m, 2 * m)) + rng.normal(size=2 * m) * rng.random()
    model = po.GaussianModel(half @ half.T)
    exact = prove_brute_force(model.covariance)
    assert exact is not None
    assert prove_least_factor(model) == exact
    assert exact <= prove_factor(model)[0] <= exact * (1 + Fraction(1, 10**12)) or m > 7
    setting = Setting(model, None, "targets_in_interval")
    assert prove_leak(setting, 0.3) <= exact * Fraction(0.3) <= prove_leakage(setting, 0.3)[0]


def test_all_draws_of_the_rounding_keep_the_mean_and_the_sensitivity() -> None:
    clip, data = (0.0, 0.1), [0.1, 0.07, float(np.nextafter(0.1, 0))]
    total, (_, grid) = sum(map(Fraction, data), Fraction(0)), spacing("mean", clip, 3)
    q = (total / 3 / grid).denominator
    shown = [Fraction(value("mean", data, clip, 3, None, lambda most, j=j: j * most // q)) for j in range(q)]  # type: ignore[misc]
    assert q == 3
    assert sum(shown) / q == total / 3
    for draw in range(q):
        ends = [value("sum", [x, *data[1:]], clip, 3, None, lambda most, j=draw: j * most // q) for x in clip]  # type: ignore[misc]
        assert Fraction(ends[1]) - Fraction(ends[0]) <= Fraction(sensitivity("sum", clip, 3))


@pytest.mark.parametrize(("grid", "scale", "moved"), [(1.0, 2.0, 2.5), (0.5, 0.25, 1.2), (1.0, 30.0, 3.3)])
def test_the_gaussian_proof_counts_the_step_of_the_grid(grid: float, scale: float, moved: float) -> None:
    def density(s: float, y: float) -> mpf:
        k, share = divmod(s / grid, 1.0)
        near, next_ = (exp(-abs(y - j * grid) / mpf(scale)) for j in (k, k + 1))
        return (1 - share) * near + share * next_

    starts, outputs = np.linspace(0, grid, 41), np.linspace(-9, 9, 37)
    worst = max(
        abs(log(density(s + moved, y) / density(s, y))) for s, y in product(starts.tolist(), outputs.tolist())
    )
    apart = Fraction(moved) / Fraction(3, 2)  # of two records with a factor of 1.5
    setting = Setting(
        po.GaussianModel([[1, 0.5], [0.5, 1]]), None, "targets_in_interval", apart, Fraction(grid)
    )
    tau = Fraction(setting.sensitivity) / Fraction(scale)
    proved = prove_leakage(setting, float(tau))[0]
    assert moved / scale < worst <= proved  # without the step it would not hold
    assert proved <= moved / scale + (grid / scale) ** 2 / 8 + 1e-12


def test_wide_grids_are_counted_in_certificates() -> None:
    problem = po.BayesianPrivacy(ROW, "sum", 1.0, clip=(1e15, 1e15 + 3))
    assert problem.sensitivity > 3
    solution = po.solve(problem)
    assert solution.certified
    assert Fraction(solution.mechanism.tau) * 3 >= Fraction(solution.certificate.leakage[1])  # type: ignore[union-attr]
    for clip in ((-1.7e308, 1.7e308), (0, 1.7e308)):
        with pytest.raises(InvalidProblem, match="beyond the floats"):
            po.BayesianPrivacy(ROW, "sum", 1.0, clip=clip)


def test_errors_are_enclosed() -> None:
    for scale in (1e-3, 0.3, 2.0, 1e6):
        low, high = enclosed_error("discrete_laplace", scale, None)
        assert low <= 1 / sinh(1 / mpf(scale)) <= high
        assert high - low <= max(1e-15 * high, 5e-324)
    for n, lie in ((1, 0.1), (5, 0.3), (8, 0.49)):
        truth = Fraction(1.0 - lie)
        exact = max(_deviation(n, k, truth) for k in range(n + 1)) / (2 * truth - 1)
        low, high = enclosed_error("randomised_response", lie, n)
        assert Fraction(low) <= exact <= Fraction(high)
        assert SHAPES["randomised_response"].expected_error(lie, n) == pytest.approx(float(exact), rel=1e-11)


def _deviation(n: int, count: int, truth: Fraction) -> Fraction:
    mean = count * truth + (n - count) * (1 - truth)
    total = Fraction(0)
    for kept in product((0, 1), repeat=n):
        p = math.prod((truth if k else 1 - truth) for k in kept)
        reports = sum(k if i < count else 1 - k for i, k in enumerate(kept))
        total += p * abs(reports - mean)
    return Fraction(total)


@pytest.mark.long
def test_certificates_do_not_depend_on_opendp(monkeypatch: pytest.MonkeyPatch) -> None:
    solved = [(e.problem, po.solve(e.problem)) for e in po.BayesianPrivacy.examples()]
    monkeypatch.setitem(sys.modules, "opendp", None)
    monkeypatch.setattr(shapes, "find_spec", lambda name: None)
    for problem, solution in solved:
        assert problem.certify(solution.mechanism) == solution.certificate
        assert po.verify(problem, solution).ok


DUALS: list[Any] = [
    None, [], "level", {"kind": "level"}, {"kind": "level", "tau": "1"}, {"kind": "level", "tau": True},
    {"kind": "level", "tau": math.nan}, {"kind": "level", "tau": math.inf}, {"kind": "level", "tau": -1.0},
    {"kind": "level", "tau": 0}, {"kind": "level", "tau": 1e-320}, {"kind": "level", "tau": 10**400},
    {"kind": "level", "tau": [1.0]}, {"kind": ["level"], "tau": 1.0}, {"kind": "other", "tau": 9.0},
]  # fmt: skip


def test_hostile_duals_prove_nothing_that_is_false() -> None:
    for example in po.BayesianPrivacy.examples():
        problem, least = example.problem, example.optimum or -1.0
        for dual in DUALS:
            assert problem.check_bound(-math.inf, dual) is None
        for tau in (1e3, 1e15, 1e308, 5, problem.budget / 50):
            bound = problem.check_bound(-math.inf, {"kind": "level", "tau": tau})
            assert bound is None or least <= bound <= 1e-300
            assert bound is None or tau >= 5
        assert problem.check_bound(-math.inf, {"kind": "error"}) == 0.0


def test_too_much_noise_on_a_large_mean_is_not_optimal() -> None:
    problem = po.BayesianPrivacy(ROW, "mean", 1.0, clip=(0, 1), length=10**7)
    solution = po.solve(problem)
    assert solution.status is po.Status.OPTIMAL
    noisy = problem.answer(solution.mechanism.tau / 1.57)
    judged = judge(problem, Proposal(noisy, solution.bound, solution.dual), certify=True)
    assert judged.status is po.Status.GAP


@pytest.mark.parametrize("epsilon", [1e-6, 1e-3, 1.0, 20.0])
def test_ordinary_questions_close(epsilon: float) -> None:
    for problem in (
        po.BayesianPrivacy(CHAIN, "count", epsilon),
        po.BayesianPrivacy(CHAIN, "count", epsilon, length=4, mechanism="discrete_laplace"),
        po.BayesianPrivacy(ROW, "sum", epsilon, clip=(0, 1)),
        po.BayesianPrivacy(po.GroupModel(4), "mean", epsilon, clip=(0, 1), length=10**7),
    ):
        solution = po.solve(problem)
        assert solution.status is po.Status.OPTIMAL, problem
        assert solution.certificate is not None
        assert solution.certificate.leakage[1] <= epsilon


def test_every_certificate_says_what_it_is_about() -> None:
    for problem in examples():
        told = problem.certify(po.solve(problem).mechanism)
        assert told.kind == "privacy"
        assert f"{math.exp(problem.epsilon):.4g} times as likely" in told.statement
        assert "any other records" in told.adversary
        assert "release" in told.unit
        assert any("other releases" in text for text in told.uncovered)
        if isinstance(problem.model, po.GaussianModel):
            inside = problem.scope == "targets_in_interval"
            for text in (told.statement, told.assumption):
                assert problem.scope in text
            assert any("outside the clipping interval" in text for text in told.uncovered) == inside
        assumed = problem.model if problem.ambiguity is None else problem.ambiguity
        assert repr(assumed) in told.assumption or isinstance(problem.model, po.GroupModel)


def test_states_that_cannot_be_are_refused_at_release() -> None:
    chain = po.MarkovChain([[0.5, 0.5, 0], [0.5, 0.5, 0], [0, 0.5, 0.5]], [1, 0, 0], ["a", "b", "gone"])
    for query in ("count", "histogram", ("count", "a")):
        problem = po.BayesianPrivacy(chain, query, 1.0, length=3)
        solution = po.solve(problem)
        assert po.verify(problem, solution).ok
        assert po.BayesianPrivacy.from_dict(problem.to_dict()) == problem
        assert solution.mechanism.release(["a", "b", "b"], np.random.default_rng(0)) is not None
        with pytest.raises(InvalidMechanism, match="record 1: the letter is not one of the states"):
            solution.mechanism.release(["a", "gone", "b"], np.random.default_rng(0))
        assert any("'gone'" in text for text in solution.certificate.uncovered)  # type: ignore[union-attr]
    with pytest.raises(InvalidProblem, match="nothing to count"):
        po.BayesianPrivacy(chain, ("count", "gone"), 1.0, length=3)
    numbers = po.MarkovChain([[0.5, 0.5, 0], [0.5, 0.5, 0], [0, 0.5, 0.5]], [1, 0, 0], [0, 1, 7])
    total = po.solve(po.BayesianPrivacy(numbers, "sum", 1.0, length=3)).mechanism
    with pytest.raises(InvalidMechanism, match="record 1 is none of the states"):
        total.release([0, 7, 1], np.random.default_rng(0))


@pytest.mark.parametrize("model", [CHAIN, ROW, po.GroupModel(3)])
def test_a_ledger_adds_what_is_proved(model: Any) -> None:
    ledger = po.BudgetLedger(model, 1.7, "data", length=50, clip=(0, 1))
    states = (0, 1) if isinstance(model, po.MarkovChain) else None
    query, clip = ("count", None) if states else ("sum", (0, 1))

    def noise(tau: float) -> po.NoisyQuery:
        made = po.NoisyQuery(
            query, "laplace", 1.0 / tau * (1 + 1e-9), tau, 9.0, clip=clip, length=50, states=states
        )
        return made

    for tau in (0.1, 0.03):
        ledger = ledger.charge(noise(tau), "data")
        apart, grid = spacing("sum", (0, 1), 50) if clip else (Fraction(1), Fraction(0))
        setting = Setting(model, 50, ledger.scope, apart, grid)
        assert ledger.leakage >= prove_leakage(setting, ledger.tau)[0] > 0
        assert ledger.leakage >= prove_leak(setting, ledger.tau)
    full = ledger.charge(noise(ledger.remaining), "data")
    assert full.leakage <= 1.7 <= full.leakage * (1 + 1e-9)
    with pytest.raises(InvalidMechanism, match="refused"):
        full.charge(noise(1e-9), "data")
