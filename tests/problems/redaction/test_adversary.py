"""Impossible values, adversaries who know other records, and what certificates of redaction say."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from instances.few import few
from oracles import enumeration
from oracles.redaction_adversary import informed_leakage, informed_ratio

import privopt as po
from privopt.core.certificate import ONE_RELEASE
from privopt.measures import redaction_leakage

FIGURE = po.MarkovChain([[0.99, 0.01], [0.8, 0.2]])
STARTED = po.MarkovChain([[0.9, 0.1], [0.4, 0.6]], initial=[1.0, 0.0], states=("dry", "wet"))
CYCLE = po.MarkovChain(
    [[[0.5, 0.5, 0.0], [0.0, 0.5, 0.5], [0.2, 0.3, 0.5]]] * 4, initial=[0.5, 0.5, 0.0], states=("a", "b", "c")
)


def with_zeros(rng: np.random.Generator, k: int, length: int) -> po.MarkovChain:
    """A chain with steps and first values that are impossible."""

    def matrix() -> np.ndarray:
        rows = rng.dirichlet(np.ones(k), size=k) * (rng.random((k, k)) > 0.35)
        for i in np.flatnonzero(rows.sum(axis=1) == 0):
            rows[i, rng.integers(k)] = 1.0
        return np.asarray(rows / rows.sum(axis=1, keepdims=True))

    initial = rng.dirichlet(np.ones(k))
    initial[0] *= rng.random() > 0.4
    steps = [matrix() for _ in range(max(1, length - 1))] if rng.random() < 0.5 else matrix()
    return po.MarkovChain.normalised(steps, initial=initial / initial.sum())


@pytest.mark.parametrize("seed", few(range(120), 36))
def test_leakage_to_those_who_know_other_records_is_that_of_enumeration(seed: int) -> None:
    rng = np.random.default_rng(seed)
    k = 2 if seed % 3 else 3
    length = int(rng.integers(1, 7 if k == 2 and seed % 5 == 0 else 5 if k == 2 else 4))
    kind = ("stationary", "started", "stepwise")[seed % 3]
    chain = with_zeros(rng, k, length) if seed % 2 else enumeration.random_chain(rng, k, kind, length)
    p = int(rng.integers(length))
    table = enumeration.random_table(rng, length, k)
    if rng.random() < 0.9:
        table[p] = 1.0
    problem = po.Redaction(chain, length, p, 1.0, side_information="any")
    mechanism = po.RedactionMechanism(table, chain.states).quantised()
    expected = informed_leakage(chain, p, mechanism.probabilities)
    read, certificate = problem.evaluate(mechanism), problem.certify(mechanism)
    assert read.leakage == pytest.approx(expected, rel=1e-12, abs=1e-13)
    lo, hi = certificate.leakage
    assert lo <= expected * (1 + 1e-14) + 1e-15
    assert expected * (1 - 1e-14) - 1e-15 <= hi
    assert math.isinf(hi) or hi - lo <= 1e-13 * max(1.0, hi)
    assert expected >= redaction_leakage(chain, p, table) - 1e-12
    if certificate.worst:
        assert problem.is_worst(mechanism, certificate.worst, certificate.where)


def test_a_certified_budget_is_exceeded_by_knowing_another_record() -> None:
    solution = po.solve(po.Redaction(FIGURE, 10, 0, 1.0))
    table = solution.mechanism.probabilities
    assert solution.leakage is not None
    assert solution.certificate is not None
    assert solution.leakage <= 1.0
    assert redaction_leakage(FIGURE, 0, table, "any") == pytest.approx(1.608, abs=5e-4)
    # The records that count are the first six: the same by enumeration.
    assert informed_leakage(FIGURE, 0, table[:6]) == pytest.approx(1.608, abs=5e-4)
    assert any('side_information="any" covers that' in text for text in solution.certificate.uncovered)


def test_side_information_is_offered() -> None:
    problem = po.Redaction(FIGURE, 10, 0, 1.0, side_information="any")
    solution = po.solve(problem)
    assert solution.certified
    assert solution.utility is not None
    assert solution.utility > 0.75
    window = po.solve(problem, "windows")
    assert window.utility == pytest.approx(0.7)
    assert solution.bound is not None
    assert solution.certificate is not None
    assert solution.bound >= 0.7957304177
    ratio = informed_ratio(FIGURE, 0, solution.mechanism.probabilities[:6])
    assert ratio is not None
    assert float(ratio) <= math.e
    assert not any("side_information" in text for text in solution.certificate.uncovered)
    assert "values of any other records" in solution.certificate.adversary
    for solver in (
        "optimal",
        "relaxation",
        "joint-search",
        "constant-search",
        "markov-quilt",
        "constant-closed-form",
    ):
        refused = po.solve(problem, solver)
        assert refused.status is po.Status.REFUSED
        assert "side_information='any'" in refused.reason
    assert po.solve(po.Redaction(FIGURE, 10, 0, 1.0), "side-information").status is po.Status.REFUSED


@pytest.mark.parametrize(
    "seed", [*range(8), *(pytest.param(n, marks=pytest.mark.long) for n in range(8, 24))]
)
def test_answers_hold_for_any_kind_of_chain_and_windows_are_the_best(seed: int) -> None:
    rng = np.random.default_rng(seed)
    k = 2 if seed % 2 else 3
    length = int(rng.integers(2, 5))
    chain = (
        with_zeros(rng, k, length) if seed % 3 == 0 else enumeration.random_chain(rng, k, "stepwise", length)
    )
    p, epsilon = int(rng.integers(length)), float(np.exp(rng.uniform(-1, 1)))
    problem = po.Redaction(chain, length, p, epsilon, side_information="any")
    window = po.solve(problem, "windows")
    answer = po.solve(problem, "side-information", time_limit=3)
    assert window.certified
    assert answer.certified
    assert answer.utility is not None
    assert window.utility is not None
    assert answer.utility >= window.utility - 1e-12
    for solution in (window, answer):
        leakage = informed_leakage(chain, p, solution.mechanism.probabilities)
        assert leakage <= epsilon * (1 + 1e-12)
        assert po.verify(problem, solution).ok
        if solution.bound is not None:
            shown = enumeration.utility(chain, solution.mechanism.probabilities, [1.0] * length)
            assert shown <= Fraction(solution.bound)
    if len(np.flatnonzero(problem.supports[p])) > 1:
        best = 0.0
        for left in range(p + 1):
            for right in range(length - p):
                table = np.zeros((length, k))
                table[p - left : p + right + 1] = 1.0
                if informed_leakage(chain, p, table) <= epsilon:
                    best = max(best, (length - 1 - left - right) / length)
        assert window.utility == pytest.approx(best, abs=1e-12)


def test_files_and_fingerprints() -> None:
    plain = po.Redaction(FIGURE, 5, 2, 1.0)
    assert "side_information" not in plain.to_dict()
    assert plain.to_dict()["version"] == 1
    informed = po.Redaction(FIGURE, 5, 2, 1.0, side_information="any")
    assert informed.fingerprint != plain.fingerprint
    again = po.problem_from_dict(json.loads(json.dumps(informed.to_dict())))
    assert again == informed
    assert again.with_budget(2.0).side_information == "any"  # type: ignore[attr-defined]
    assert po.problem_from_dict({**plain.to_dict(), "side_information": None}) == plain
    assert "side_information='any'" in repr(informed)
    for wrong in ("all", 1, True, "none"):
        with pytest.raises(po.errors.InvalidProblem, match="side_information"):
            po.Redaction(FIGURE, 5, 2, 1.0, side_information=wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "solver",
    [
        "windows",
        "optimal",
        "relaxation",
        "constant-search",
        "constant-closed-form",
        "joint-search",
        "central-lp",
    ],
)
@pytest.mark.parametrize("chain", [STARTED, CYCLE])
def test_impossible_values_are_hidden_by_every_solver(solver: str, chain: po.MarkovChain) -> None:
    problem = po.Redaction(chain, 5, 3, 1.0)
    solution = po.solve(problem, solver, time_limit=60)
    if solution.status is po.Status.REFUSED:
        return
    assert solution.certified
    assert (solution.mechanism.exact()[~problem.supports] == 2**52).all()
    letters = [chain.states[-1], *[chain.states[0]] * 4]  # record 0 has a value that it never has
    for seed in range(3):
        assert solution.mechanism.release(letters, np.random.default_rng(seed))[0] is None


def test_a_mechanism_that_may_show_an_impossible_value_is_refused_and_repaired() -> None:
    problem = po.Redaction(STARTED, 5, 3, 1.0)
    table = np.ones((5, 2))
    table[0] = 0.5, 0.0
    mechanism = po.RedactionMechanism(table, STARTED.states)
    certificate = problem.certify(mechanism)
    assert not certificate.ok
    assert "record 0 can never be 'wet'" in certificate.reason
    repaired = problem.repair(mechanism, 2.0**-44).quantised()
    assert problem.certify(repaired).ok
    assert problem.evaluate(repaired).utility == problem.evaluate(mechanism).utility
    solution = po.solve(problem)
    assert not po.verify(problem, replace(solution, answer=mechanism)).ok


def test_one_that_releases_a_record_whole_says_so() -> None:
    """As files of earlier versions do: not refused, and named."""
    problem = po.Redaction(STARTED, 5, 3, 1.0)
    table = np.ones((5, 2))
    table[0] = 0.0
    certificate = problem.certify(po.RedactionMechanism(table, STARTED.states))
    assert certificate.ok
    assert any(
        "1 impossible value(s) in the clear, such as 'wet' at record 0" in text
        for text in certificate.uncovered
    )
    hidden = problem.certify(problem.answer(table))
    assert hidden.ok
    assert not any("in the clear" in text for text in hidden.uncovered)


def test_a_constant_private_record_keeps_its_other_value_hidden() -> None:
    problem = po.Redaction(STARTED, 4, 0, 0.0)
    solution = po.solve(problem)
    assert solution.utility == 1.0
    assert solution.mechanism.release(["wet", "dry", "wet", "dry"])[0] is None


@pytest.mark.long
def test_sequential_mechanisms_hide_them_beyond_a_first_release() -> None:
    problem = po.Redaction(STARTED, 5, 3, 1.0, form="sequential")
    solution = po.solve(problem)
    assert solution.certified
    assert solution.mechanism.never == ((0, 1),)
    shown = problem.answer(np.zeros((5, 2)))
    rng = np.random.default_rng(0)
    assert shown.release(["wet", "dry", "dry", "dry", "dry"], rng)[0] is None
    assert shown.release(["dry", "dry", "dry", "dry", "dry"], rng)[0] == "dry"
    again = po.RedactionMechanism.from_dict(json.loads(json.dumps(solution.mechanism.to_dict())))
    assert again == solution.mechanism
    assert solution.mechanism.to_dict()["version"] == 2
    bare = po.RedactionMechanism(np.ones((5, 2)), STARTED.states, sequential=3)
    assert any("in the clear, such as 'wet' at record 0" in text for text in problem.certify(bare).uncovered)
    assert "never" not in bare.to_dict()
    assert not any(
        "clear" in t for t in problem.certify(problem.repair(bare, 2.0**-44).quantised()).uncovered
    )
    for never in ([(0, 2)], [(9, 0)], [(0,)], [("0", 1)], [(True, 1)], 5):
        with pytest.raises(po.errors.InvalidMechanism, match="never"):
            po.RedactionMechanism(np.ones((5, 2)), sequential=3, never=never)  # type: ignore[arg-type]
    with pytest.raises(po.errors.InvalidMechanism, match="sequential"):
        po.RedactionMechanism(np.ones((5, 2)), never=[(0, 1)])


def test_supports_are_exact() -> None:
    from privopt.measures.redaction.leakage import possible_values, supports

    rare = po.MarkovChain([[1.0, 5e-324], [0.5, 0.5]], initial=[1.0, 5e-324])
    assert supports(rare, 5).all()
    assert possible_values(rare, 4).tolist() == [0, 1]
    assert supports(STARTED, 4).tolist() == [[True, False], [True, True], [True, True], [True, True]]
    swap = po.MarkovChain([[0.0, 1.0], [1.0, 0.0]], initial=[1.0, 0.0])
    assert supports(swap, 5).tolist() == [[True, False], [False, True]] * 2 + [[True, False]]


@pytest.mark.parametrize("seed", range(20))
def test_supports_are_those_of_enumeration(seed: int) -> None:
    rng = np.random.default_rng(seed)
    chain = with_zeros(rng, 3, 5)
    initial, problem = chain.exact_initial, po.Redaction(chain, 5, 0, 1.0)
    now = [initial.fraction(v) for v in range(3)]
    for t in range(5):
        assert [x > 0 for x in now] == problem.supports[t].tolist()
        if t < 4:
            rows = chain.exact_step(t)
            now = [sum((now[i] * rows[i].fraction(j) for i in range(3)), Fraction(0)) for j in range(3)]


@pytest.mark.parametrize(
    ("problem", "words"),
    [
        (po.Redaction(STARTED, 5, 3, 1.0), ("record 3", "2.719", "odds")),
        (po.Redaction(STARTED, 5, 3, 0.0), ("says anything of record 3",)),
        (po.Redaction(STARTED, 5, 3, 1e-9), ("1 + 1.001e-09",)),
        (po.Redaction(STARTED, 5, 3, 100.0), ("e^100",)),
        (po.Redaction(STARTED, 5, 3, math.inf), ("nothing is promised",)),
        (po.Redaction(STARTED, 7, (2, 5), 0.3), ("record 2 or record 5, each by itself", "1.35")),
        (po.Redaction(STARTED, 5, 3, 1.0, form="sequential"), ("record 3", "2.719")),
        (po.Redaction(STARTED, 5, 3, 1.0, side_information="any"), ("record 3", "2.719")),
    ],
)
def test_what_certificates_say(problem: po.Redaction, words: tuple[str, ...]) -> None:
    certificate = problem.certify(problem.safe())
    assert certificate.ok
    assert certificate.kind == "privacy"
    for word in words:
        assert word in certificate.statement
    assert "chain" in certificate.adversary
    assert str(problem.length) in certificate.unit
    assert "MarkovChain" in certificate.assumption
    assert any("rules out" in text for text in certificate.uncovered)
    assert ONE_RELEASE in certificate.uncovered
    assert (problem.side_information is None) == any(
        "side_information" in text for text in certificate.uncovered
    )
    assert (len(problem.private) > 1) == any("at once" in text for text in certificate.uncovered)


@pytest.mark.parametrize(
    "epsilon", [1e-12, 1e-4, 0.0009, 0.001, 0.1, 0.6931471805599453, 1.0, 2.302585092994046, 19.99]
)
def test_factors_are_rounded_up(epsilon: float) -> None:
    from flint import arb

    from privopt.problems.redaction.problem import factor

    text = factor(epsilon)
    value = Fraction(text.removeprefix("1 + ")) + (1 if text.startswith("1 + ") else 0)
    excess = value - 1
    assert arb(excess.numerator) / arb(excess.denominator) > arb(epsilon).expm1()
    assert float(excess) <= math.expm1(epsilon) * (1 + 2e-2)


def test_ties_count_as_worst() -> None:
    chain = po.MarkovChain([[0.8, 0.2], [0.2, 0.8]])
    problem = po.Redaction(chain, 4, 1, 2.0)
    mechanism = po.RedactionMechanism([[1, 1], [1, 1], [0, 0], [0, 0]])
    assert problem.is_worst(mechanism, (0, 1), "") is True
    assert problem.is_worst(mechanism, (1, 0), "") is True
    assert problem.is_worst(mechanism, (), "") is False
    assert problem.is_worst(mechanism, (0, 7), "") is False
    assert problem.is_worst(problem.safe(), (), "") is True
    lopsided = po.Redaction(po.MarkovChain([[0.9, 0.1], [0.4, 0.6]]), 2, 0, 5.0)
    worst = lopsided.certify(po.RedactionMechanism([[1, 1], [0, 0]])).worst
    assert worst == (1, 0)
    assert lopsided.is_worst(po.RedactionMechanism([[1, 1], [0, 0]]), (0, 1), "") is False
    three = po.MarkovChain([[0.6, 0.2, 0.2], [0.2, 0.6, 0.2], [0.2, 0.2, 0.6]])
    mechanism = po.RedactionMechanism([[1] * 3, [0] * 3])
    pairs = [(a, b) for a in range(3) for b in range(3) if a != b]
    assert all(po.Redaction(three, 2, 0, 2.0).is_worst(mechanism, pair, "") for pair in pairs)
