"""The problem on sequences against brute force over all data and all outputs, and its invariants."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import privopt as po
from privopt.errors import FileRefused, InvalidMechanism, InvalidProblem
from privopt.problems.sequence_information_privacy.bound import sequence_bound
from privopt.problems.sequence_information_privacy.problem import SequenceInformationPrivacy as Ask
from privopt.problems.sequence_information_privacy.steps import steps

WEATHER = po.MarkovChain([[0.8, 0.2], [0.3, 0.7]], [0.5, 0.5])
SPARSE = po.MarkovChain([[0.5, 0.5, 0.0], [0.0, 0.5, 0.5], [0.25, 0.0, 0.75]], [0.25, 0.75, 0.0], list("abc"))
SECOND = po.MarkovChain.fit([list("aababbaabab"), list("bbabaabba")], order=2, smoothing=1)


def random_chain(seed: int, n: int = 3) -> po.MarkovChain:
    rng = np.random.default_rng(seed)
    return po.MarkovChain.normalised(rng.dirichlet(np.ones(n), n), rng.dirichlet(np.ones(n)))


def brute(problem: Ask, policy: po.SequencePolicy) -> tuple[float, float]:
    """Expected distortion a letter and the largest leakage a letter, over all states and outputs in exact fractions."""
    chain, w, horizon = problem.chain, problem.batch, int(problem.horizon)
    states = range(chain.k)
    start = [Fraction(x, chain.exact_initial.total) for x in chain.exact_initial.weights]
    paths = {}
    for path in itertools.product(states, repeat=horizon):
        p = start[path[0]]
        for t, (i, j) in enumerate(itertools.pairwise(path)):
            row = chain.exact_step(t)[i]
            p *= Fraction(row.weights[j], row.total)
        if p:
            paths[path] = p
    letter = {s: chain.states[s][-1] if chain.order > 1 else chain.states[s] for s in states}  # type: ignore[index]
    cost, worst = Fraction(0), 1.0
    alive: list[tuple[Any, dict[tuple[int, ...], Fraction]]] = [(policy.start(), paths)]
    for begin in range(0, horizon, w):
        length = min(w, horizon - begin)
        part = policy.part(length)
        table = part.setting.cost.tolist()
        following = []
        for state, joint in alive:
            weights = part.weights(np.array([state.belief]), begin)[0].tolist()
            total = sum(joint.values())
            reads = {path: tuple(letter[s] for s in path[begin : begin + length]) for path in joint}
            places = {path: part.places[word if length > 1 else word[0]] for path, word in reads.items()}
            for y, output in enumerate(part.setting.outputs):
                after = {path: p * Fraction(weights[places[path]][y], 2**52) for path, p in joint.items()}
                distribution = sum(after.values())
                if not distribution:
                    continue
                for path in joint:
                    ratio = Fraction(weights[places[path]][y], 2**52) * total / distribution
                    size = math.inf if ratio == 0 else max(float(ratio), float(1 / ratio)) ** (1 / length)
                    worst = max(worst, size)
                    cost += after[path] * Fraction(table[places[path]][y]) * length
                if begin + length < horizon:
                    following.append((policy.advance(state, output), {q: p for q, p in after.items() if p}))
        alive = following
    return float(cost / horizon), math.log(worst)


CASES = [
    Ask(WEATHER, 0.5, horizon=4),
    Ask(SPARSE, 1.0, horizon=3),
    Ask(SECOND, 0.7, horizon=3),
    Ask(random_chain(1), 0.8, batch=2, horizon=3),
    Ask(SPARSE, 0.6, batch=2, horizon=4),
    Ask(SECOND, 0.5, batch=2, horizon=3),
    Ask(random_chain(2), 1.0, distortion=[[0, 1], [2, 0], [0.5, 0.5]], horizon=3),
]


@pytest.mark.parametrize("problem", CASES, ids=repr)
def test_readings_and_certificates_are_those_of_an_enumeration(problem: Ask) -> None:
    rule = "closed-form" if problem.distortion == "hamming" and problem.batch == 1 else "structure-lp"
    for budget in (problem.epsilon, 2 * problem.epsilon):
        policy = problem.answer(rule, budget)
        cost, leakage = brute(problem, policy)
        reading = problem.evaluate(policy)
        assert reading.exact
        assert reading.utility == pytest.approx(-cost, rel=1e-12)
        assert reading.leakage == pytest.approx(leakage, rel=1e-9)
        certificate = problem.certify(policy)
        assert certificate.ok == (leakage <= problem.epsilon)
        assert certificate.ok == reading.feasible
        assert certificate.leakage[0] <= leakage * (1 + 1e-12)
        assert leakage <= certificate.leakage[1] * (1 + 1e-12)
        assert certificate.utility == pytest.approx((-cost, -cost), rel=1e-14)


def test_long_horizons_are_simulated_and_agree_with_the_exact_reading(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from privopt.problems.sequence_information_privacy import reach

    problem = Ask(random_chain(3), 0.8, horizon=6)
    policy = problem.answer("closed-form")
    exact = problem.evaluate(policy)
    monkeypatch.setattr(reach, "MAX_BELIEFS", 3)
    simulated = problem.evaluate(policy)
    assert exact.exact
    assert not simulated.exact
    assert simulated == problem.evaluate(policy)
    assert abs(simulated.utility - exact.utility) < 5 * simulated.standard_error
    assert 0 < simulated.standard_error < 0.01
    assert simulated.leakage <= exact.leakage * (1 + 1e-9)


def test_long_horizons_are_certified_by_construction(monkeypatch: pytest.MonkeyPatch) -> None:
    from privopt.problems.sequence_information_privacy import reach, simulated

    monkeypatch.setattr(reach, "MAX_BELIEFS", 500)
    monkeypatch.setattr(simulated, "USERS", 64)
    problem = Ask(random_chain(4), 0.5, horizon=20)
    solution = po.solve(problem, "closed-form")
    assert solution.certified
    assert "checked again exactly" in solution.certificate.reason  # type: ignore[union-attr]
    assert po.verify(problem, solution).ok
    unenforced = problem.answer("closed-form", 0.4, enforced=False)
    assert "not enforced" in problem.certify(unenforced).reason
    greedy = problem.answer("closed-form", 0.6)
    assert not problem.certify(greedy).ok
    assert problem.certify(problem.repair(greedy, 2**-44)).ok


@pytest.mark.parametrize("seed", range(6))
def test_no_policy_beats_the_bound(seed: int) -> None:
    problem = Ask(random_chain(seed), [0.3, 0.7, 1.5][seed % 3], horizon=4)
    solution = po.solve(problem, "closed-form")
    assert solution.bound is not None
    assert solution.objective is not None
    assert solution.bound >= solution.objective
    for other in ("oracle", "structure-lp"):
        rival = po.solve(problem, other)
        assert rival.objective == pytest.approx(solution.objective, abs=1e-6)
        assert rival.objective <= solution.bound  # type: ignore[operator]
    free = [np.zeros(3)]
    assert sequence_bound(problem, free) >= solution.objective  # type: ignore[operator]


@pytest.mark.parametrize("seed", range(4))
def test_levels_bound_what_all_releases_say_of_a_letter(seed: int) -> None:
    """The belief about a letter after its release stays within e^+-level of its distribution, along every output."""
    problem = Ask(random_chain(seed), 0.9, horizon=4)
    policy = problem.answer("closed-form")
    limits = [(step.distribution, step.level) for step in steps(problem)]
    alive = [np.array(policy.start().belief)]
    for at, (distribution, level) in enumerate(limits):
        following = []
        for belief in alive:
            weights, _ = policy.kernels(belief[None, :], at)
            for y in range(3):
                after = belief * weights[0, :, y]
                if after.sum() > 0:
                    after = after / after.sum()
                    assert np.abs(np.log(after / distribution)).max() <= level + 1e-12
                    following.append(after @ problem.chain.step(at))
        alive = following


def test_levels_are_reached_by_the_worst_belief_about_the_state_before() -> None:
    """Against HiGHS: the largest and the least probability of a next state over beliefs within the level."""
    from scipy.optimize import linprog

    for seed in range(5):
        chain = random_chain(seed, 4)
        problem = Ask(chain, 0.6, horizon=2)
        first, second = steps(problem)
        distribution = np.array(chain.initial)
        worst = 0.0
        for sign, x in itertools.product((1, -1), range(4)):
            bounds = list(
                zip(distribution * math.exp(-first.level), distribution * math.exp(first.level), strict=True)
            )
            solution = linprog(-sign * chain.step(0)[:, x], A_eq=np.ones((1, 4)), b_eq=[1.0], bounds=bounds)
            assert solution.fun is not None
            worst = max(worst, sign * math.log(-sign * solution.fun / second.distribution[x]))
        assert second.level == pytest.approx(worst + 0.6, abs=1e-9)


def test_a_larger_budget_never_costs() -> None:
    for problem in (
        Ask(WEATHER, 1.0, batch=2, horizon=2),
        Ask(po.MarkovChain([[0.7, 0.2, 0.1]] * 3), 1.0, horizon=4),
    ):
        objectives = [po.solve(problem.with_budget(b)).objective for b in np.linspace(0, 2, 7)]
        assert all(b >= a - 1e-12 for a, b in itertools.pairwise(objectives))  # type: ignore[operator]


def test_one_batch_is_never_worse_than_its_letters() -> None:
    for seed in range(3):
        chain = random_chain(seed, 2)
        for w in (2, 3):
            letters = po.solve(Ask(chain, 0.6, horizon=w), "closed-form").objective
            words = po.solve(Ask(chain, 0.6, batch=w, horizon=w), "structure-lp").objective
            assert words >= letters - 1e-6  # type: ignore[operator]


def test_relabelling_changes_nothing() -> None:
    chain, order = random_chain(7), [2, 0, 1]
    other = po.MarkovChain.normalised(
        chain.transition[np.ix_(order, order)], chain.initial[order], ["c", "a", "b"]
    )
    one, two = (po.solve(Ask(c, 0.7, horizon=3), "closed-form") for c in (chain, other))
    assert one.utility == pytest.approx(two.utility, abs=1e-9)
    assert one.bound == pytest.approx(two.bound, abs=1e-9)


def test_leakages_of_steps_add_up() -> None:
    problem = Ask(WEATHER, 0.5, horizon=5)
    policy = problem.answer("closed-form")
    whole = po.measures.sequence_leakage(WEATHER, policy, 5)
    assert problem.evaluate(policy).leakage < whole <= 5 * problem.evaluate(policy).leakage


def test_duals_that_prove_nothing_are_refused() -> None:
    problem = Ask(WEATHER, 0.5, horizon=3)
    for dual in (
        None,
        {},
        {"kind": "sequence"},
        {"kind": "sequence", "lam": [["x"]]},
        {"kind": "sequence", "lam": [[math.nan, 0]]},
    ):
        assert problem.check_bound(-1.0, dual) is None
    weak = problem.check_bound(-1.0, {"kind": "sequence", "lam": [[0.0]]})
    assert weak is not None
    assert weak >= po.solve(problem).objective  # type: ignore[operator]
    assert problem.check_bound(0.5, {"kind": "sequence", "lam": [[0.0, 0.0]]}) == 0.5


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"epsilon": -1.0}, "epsilon"),
        ({"batch": 0}, "batch"),
        ({"memory": 2}, "memory"),
        ({"distortion": "hamming2"}, "distortion"),
        ({"distortion": [[0, 1]]}, "rows"),
        ({"horizon": 0}, "horizon"),
        ({"horizon": 2.5}, "horizon"),
        ({"chain": "abc"}, "chain"),
    ],
)
def test_misuse_is_refused_by_name(arguments: dict[str, Any], words: str) -> None:
    with pytest.raises(InvalidProblem, match=words):
        Ask(**{"chain": WEATHER, "epsilon": 1.0, **arguments})


def test_policies_of_other_questions_are_refused() -> None:
    problem = Ask(WEATHER, 0.5, horizon=4)
    for other in (
        Ask(random_chain(1, 2), 0.5),
        Ask(WEATHER, 0.5, batch=2),
        Ask(WEATHER, 0.5, distortion="l1"),
    ):
        with pytest.raises(InvalidMechanism):
            problem.evaluate(other.anchor())
    with pytest.raises(InvalidMechanism, match="releases"):
        problem.check(po.SequencePolicy(WEATHER, 0.5, limit=3))
    with pytest.raises(InvalidMechanism, match="SequencePolicy"):
        problem.check(po.Channel([[1, 0], [0, 1]]))


def test_horizons_follow_the_chain() -> None:
    varying = po.MarkovChain([[[0.9, 0.1], [0.2, 0.8]], [[0.6, 0.4], [0.5, 0.5]]], [0.5, 0.5])
    assert Ask(varying, 1.0).horizon == 3
    assert Ask(WEATHER, 1.0).horizon == 100
    with pytest.raises(InvalidProblem, match="exceeds the 3 letters"):
        Ask(varying, 1.0, horizon=4)
    cost, leakage = brute(Ask(varying, 0.5), Ask(varying, 0.5).answer("closed-form"))
    solution = po.solve(Ask(varying, 0.5))
    assert (solution.utility, solution.leakage) == (pytest.approx(-cost), pytest.approx(leakage))


def test_written_questions_with_strange_fields_are_refused() -> None:
    fields = Ask(WEATHER, 0.5).to_dict()
    assert Ask.from_dict({k: fields[k] for k in ("type", "chain", "epsilon")}) == Ask(WEATHER, 0.5)
    for wrong in ({"batch": "2"}, {"memory": 3}, {"horizon": -1}, {"extra": 1}, {"messages": 0}):
        with pytest.raises(FileRefused):
            Ask.from_dict({**fields, **wrong})


def test_a_file_asks_for_several_messages_of_a_letter() -> None:
    fields = {
        "type": "sequence_information_privacy",
        "chain": WEATHER.to_dict(),
        "epsilon": 0.5,
        "horizon": 4,
    }
    problem = Ask.from_dict({**fields, "messages": 2})
    assert problem == Ask(WEATHER, 0.5, horizon=4, messages=2)
    assert Ask.from_dict(problem.to_dict()) == problem


def test_a_solution_of_another_budget_does_not_verify() -> None:
    problem = Ask(WEATHER, 0.5, horizon=3)
    solution = po.solve(problem)
    assert not po.verify(problem.with_budget(0.4), solution).ok
    forged = replace(solution, answer=problem.answer("closed-form", 0.6))
    assert not po.verify(problem, forged).ok
