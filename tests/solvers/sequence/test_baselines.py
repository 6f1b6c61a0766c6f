"""Published releases of sequences: what they leak by enumeration, public values, and where they are not private."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import privopt as po
from privopt.benchmarks.papers.baselines import TemporalRandomisedResponse, ThresholdSmoothing
from privopt.benchmarks.runner.work import attack_accuracy, work
from privopt.errors import InvalidProblem
from privopt.measures import adversary
from privopt.measures.sequence.leakage import sequence_ratios
from privopt.mechanisms.policy.policy import SequencePolicy
from privopt.problems.sequence_information_privacy.problem import SequenceInformationPrivacy

STRONG = po.MarkovChain([[0.9, 0.1], [0.1, 0.9]], [0.9, 0.1])
WEATHER = po.MarkovChain([[0.8, 0.2], [0.3, 0.7]], [0.5, 0.5])


def enumerated_leakage(chain: po.MarkovChain, kernel: list[list[float]], length: int) -> float:
    """The largest |ln Pr(x | y) / Pr(x)| by listing all sequences."""
    sequences = list(itertools.product(range(chain.k), repeat=length))
    distribution = {}
    for x in sequences:
        p = chain.initial[x[0]]
        for t, (i, j) in enumerate(itertools.pairwise(x)):
            p *= chain.step(t)[i, j]
        distribution[x] = float(p)
    worst = 0.0
    for y in itertools.product(range(len(kernel[0])), repeat=length):
        likely = {
            x: math.prod(kernel[i][j] for i, j in zip(x, y, strict=True))
            for x in sequences
            if distribution[x]
        }
        shown = sum(distribution[x] * p for x, p in likely.items())
        worst = max(worst, *(abs(math.log(p / shown)) for p in likely.values()))
    return worst


def response(n: int, epsilon: float) -> list[list[float]]:
    scale = math.exp(epsilon) + n - 1
    return [[(math.exp(epsilon) if x == y else 1.0) / scale for y in range(n)] for x in range(n)]


def test_sequences_of_randomised_response_leak_the_public_value() -> None:
    shown = po.solve(SequenceInformationPrivacy(WEATHER, 0.7, horizon=6), "randomised-response")
    assert shown.stats["sequence_letters"] == 6
    assert shown.stats["sequence_leakage"] == pytest.approx(3.068908686917074, abs=1e-12)
    assert shown.stats["composed_leakage"] == pytest.approx(4.2)
    assert shown.stats["sequence_leakage"] == pytest.approx(
        enumerated_leakage(WEATHER, response(2, 0.7), 6), abs=1e-12
    )
    assert sequence_ratios(WEATHER, response(2, 0.7), 6).upper == pytest.approx(1.9994466869504248, abs=1e-12)


@pytest.mark.parametrize(("n", "length", "epsilon"), [(2, 5, 0.6), (3, 4, 1.0)])
def test_the_calibrated_level_is_that_of_enumeration(n: int, length: int, epsilon: float) -> None:
    rng = np.random.default_rng(n)
    steps = rng.random((length - 1, n, n))
    steps[0, 0, 1] = 0.0
    chain = po.MarkovChain.normalised(list(steps), rng.random(n))
    shown = po.solve(SequenceInformationPrivacy(chain, epsilon), "randomised-response-calibrated")
    level = float(shown.stats["level"])
    assert level > epsilon
    assert shown.stats["calibrated_over"] == length
    assert enumerated_leakage(chain, response(n, level), length) == pytest.approx(length * epsilon, abs=1e-7)


@pytest.mark.parametrize("name", ["randomised-response", "temporal-randomised-response"])
@pytest.mark.parametrize("seed", range(4))
def test_randomised_response_keeps_its_budget_and_twice_it_at_most_twice(name: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    table = rng.random((3, 3)) * (rng.random((3, 3)) > 0.3) + np.eye(3)
    chain = po.MarkovChain.normalised(table, initial=[1, 0, 1])
    problem = SequenceInformationPrivacy(chain, 0.8, horizon=3)
    single, double = po.solve(problem, name), po.solve(problem, "randomised-response-double")
    assert single.status.ok, single.reason
    assert float(single.stats["raw_leakage"]) <= 0.8
    assert float(double.stats["raw_leakage"]) <= 1.6
    assert float(double.stats["raw_leakage"]) > float(
        po.solve(problem, "randomised-response").stats["raw_leakage"]
    )


def test_knowing_which_letters_are_possible_helps_where_some_are_not() -> None:
    block = [[0.5, 0.5, 0, 0], [0.5, 0.5, 0, 0], [0, 0, 0.5, 0.5], [0, 0, 0.5, 0.5]]
    open_problem = SequenceInformationPrivacy(po.MarkovChain(block, [0.25] * 4), 1.0, horizon=3)
    shut = SequenceInformationPrivacy(po.MarkovChain(block, [0.5, 0.5, 0, 0]), 1.0, horizon=3)
    names = ("temporal-randomised-response", "randomised-response")
    temporal, plain = (po.solve(open_problem, name).utility for name in names)
    assert temporal == pytest.approx(plain, abs=1e-12)
    assert po.solve(shut, names[0]).utility == pytest.approx(-1 / (math.e + 1), abs=1e-12)
    assert po.solve(shut, names[1]).utility == pytest.approx(-3 / (math.e + 3), abs=1e-12)


def test_the_printed_formula_leaves_its_domain_along_a_chain() -> None:
    shown = po.solve(SequenceInformationPrivacy(STRONG, 1.0, horizon=16), "published")
    assert shown.status is po.Status.NOT_PRIVATE
    first = math.log((math.e - 1 + 0.1) / (math.e * 0.1))  # of the rare letter, at the start
    assert shown.stats["raw_leakage"] == pytest.approx(first, abs=1e-12)
    assert shown.stats["inside_domain_at_the_start"] == "no"
    late = po.solve(SequenceInformationPrivacy(WEATHER, 0.5, horizon=5), "published")
    assert late.stats["inside_domain_at_the_start"] == "yes"
    assert late.status is po.Status.NOT_PRIVATE


def test_the_printed_formula_is_the_optimum_where_letters_are_heavy_and_independent() -> None:
    problem = SequenceInformationPrivacy(po.MarkovChain([[0.6, 0.4], [0.6, 0.4]]), 0.5, horizon=4)
    shown = po.solve(problem, "published")
    assert shown.status.ok
    assert shown.utility == pytest.approx(-0.29113471666206403, abs=1e-12)


@pytest.mark.parametrize(("batch", "optimum"), [(2, 0.24819150640920878), (3, 0.09449394617421311)])
def test_the_descent_is_private_and_stops_short_of_the_optimum(batch: int, optimum: float) -> None:
    epsilon = {2: 0.5, 3: 2 / 3}[batch]
    shown = po.solve(
        SequenceInformationPrivacy(WEATHER, epsilon, batch=batch, horizon=batch), "published-gradient"
    )
    assert shown.status.ok
    assert shown.stats["raw_violation"] == 0.0
    assert -float(shown.utility or 0.0) > 1.1 * optimum


def test_attacks_on_noisier_releases_guess_less() -> None:
    accuracies = []
    for epsilon in (0.0, 0.5, 1.0, 2.0):
        problem = SequenceInformationPrivacy(WEATHER, epsilon, horizon=12)
        solution = po.solve(problem, "randomised-response")
        accuracies.append(attack_accuracy(problem, solution, 0))
        assert accuracies[-1] == attack_accuracy(problem, solution, 0)
    assert all(a is not None for a in accuracies)
    assert accuracies == sorted(accuracies)  # type: ignore[type-var]  # none is None
    assert accuracies[0] == pytest.approx(float(WEATHER.marginals(12).max(axis=1).mean()), abs=1e-12)


def test_a_run_tells_what_an_attack_guesses_and_another_question_does_not() -> None:
    run = {"solver": "randomised-response", "time_limit": 5.0, "seed": 3}
    problem = SequenceInformationPrivacy(WEATHER, 1.0, horizon=4)
    told: list[Mapping[str, Any]] = []
    work({**run, "problem": problem.to_dict(), "budget": 1.0}, told.append)
    solution = po.Solution.from_dict(told[1]["solution"])
    assert told[-1] == {"attack_accuracy": attack_accuracy(problem, solution, 3)}
    one = po.BeliefRelease([0.6, 0.4], 0.5)
    told.clear()
    work({**run, "problem": one.to_dict(), "budget": 0.5}, told.append)
    assert len(told) == 3
    assert told[-1]["verified"] is True


def test_the_stream_baseline_draws_from_its_response() -> None:
    chain = po.MarkovChain([[0.5, 0.5, 0.0], [0.2, 0.4, 0.4], [0.0, 0.5, 0.5]])
    baseline = TemporalRandomisedResponse(chain)
    rng, count = np.random.default_rng(0), 4000
    released = baseline.release([[0, 1, 2]] * count, 1.0, rng)
    table = np.array(released)
    assert not (table[:, 1] == 2).any()  # 2 cannot follow 0
    for column, letter, size in ((0, 0, 3), (1, 1, 2), (2, 2, 3)):
        want = math.e / (math.e + size - 1)
        assert abs((table[:, column] == letter).mean() - want) < 5 * math.sqrt(want * (1 - want) / count)
    with pytest.raises(InvalidProblem, match="letter 1 of a stream"):
        baseline.release([[0, 2]], 1.0, rng)


def test_threshold_smoothing_releases_the_law_it_is_given() -> None:
    distribution = (0.4, 0.3, 0.15, 0.1, 0.05)
    rng = np.random.default_rng(1)
    data = rng.choice(5, p=distribution, size=(40, 400)).tolist()
    baseline = ThresholdSmoothing(tuple(range(5)), distribution, quantile=1.0)
    wrong = []
    for epsilon in (0.5, 2.0, 20.0):
        released = np.array(baseline.release(data, epsilon, rng))
        shares = np.bincount(released.ravel(), minlength=5) / released.size
        assert np.abs(shares - distribution).max() < 0.02
        wrong.append(float((released != np.array(data)).mean()))
    assert wrong == sorted(wrong, reverse=True)
    assert wrong[-1] < 0.1
    cut = np.array(replace(baseline, quantile=0.5).release(data, 20.0, rng))
    assert set(np.unique(cut)) <= set(range(5))
    with pytest.raises(InvalidProblem, match="epsilon must be > 0"):
        baseline.release(data, 0.0, rng)
    with pytest.raises(InvalidProblem, match="9 is not one"):
        baseline.release([[9]], 1.0, rng)


def test_a_policy_of_a_baseline_only_simulates() -> None:
    policy = SequencePolicy(WEATHER, 0.5, rule="published", enforced=False)
    with pytest.raises(po.errors.InvalidMechanism, match="not enforced"):
        policy.release([0, 1])
    released = policy.release([0, 1], np.random.default_rng(0))
    assert adversary(policy, released).smoothed.sum(axis=1) == pytest.approx([1.0, 1.0])
