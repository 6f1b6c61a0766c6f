"""What is certified is what is drawn: kernels do not depend on the company they are made in, nor on the machine."""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import privopt as po
from privopt.benchmarks.timings.settings import settings
from privopt.core.judge import with_bound
from privopt.mechanisms.policy import fixed
from privopt.mechanisms.policy.rules import cost_of
from privopt.problems.sequence_information_privacy.leakage import walk
from privopt.problems.sequence_information_privacy.problem import SequenceInformationPrivacy as Ask

pytestmark = pytest.mark.long

RNG = np.random.default_rng(20)
WEATHER = po.MarkovChain([[0.8, 0.2], [0.3, 0.7]], [0.5, 0.5])
SPARSE = po.MarkovChain([[0.5, 0.5, 0.0], [0.0, 0.5, 0.5], [0.4, 0.3, 0.3]])


def chain(n: int, seed: int, sharp: float = 1.0) -> po.MarkovChain:
    rng = np.random.default_rng(seed)
    return po.MarkovChain(rng.dirichlet(np.full(n, sharp), n), rng.dirichlet(np.ones(n)))


def beliefs(n: int, count: int, rng: np.random.Generator) -> Any:
    """Ordinary ones, some with letters that are faint or impossible."""
    table = rng.dirichlet(np.ones(n), count)
    faint = rng.random(table.shape) < 0.2
    table = np.where(faint, table * 10.0 ** -rng.integers(5, 290, table.shape), table)
    table = np.where(rng.random(table.shape) < 0.05, 0.0, table)
    table[:, 0] = np.maximum(table[:, 0], 1e-3)
    return table / table.sum(axis=1, keepdims=True)


POLICIES = [
    po.SequencePolicy(chain(2, 0), 0.7),
    po.SequencePolicy(chain(10, 1), 1.0),
    po.SequencePolicy(chain(10, 2), 25.0),
    po.SequencePolicy(chain(40, 3), 0.3),
    po.SequencePolicy(chain(9, 4), 1.0, rule="randomised-response"),
    po.SequencePolicy(chain(3, 5), 0.5, 2, rule="randomised-response"),
    po.SequencePolicy(chain(3, 6), 0.8, 2, rule="structure-lp"),
    po.SequencePolicy(chain(4, 7), 1.0, distortion="l1", rule="interval"),
    po.SequencePolicy(SPARSE, 1.0, 2, rule="constant"),
]


@pytest.mark.parametrize("policy", POLICIES, ids=lambda p: f"{p.rule}-{p.chain.k}-{p.batch}")
def test_kernels_are_the_same_alone_and_in_any_company(policy: po.SequencePolicy) -> None:
    rng = np.random.default_rng(3)
    many = beliefs(policy.chain.k, 40 if policy.rule in ("structure-lp", "interval") else 3000, rng)
    together, _ = policy.kernels(many)
    some = rng.permutation(len(many))[:40]
    for i in some:
        alone, _ = policy.validated().kernels(many[i : i + 1])
        assert (alone[0] == together[i]).all()
        company = np.concatenate([many[i : i + 1], many[rng.integers(len(many), size=7)]])
        assert (policy.validated().kernels(company)[0][0] == together[i]).all()
    order = rng.permutation(len(many))
    assert (policy.validated().kernels(many[order])[0] == together[order]).all()


@pytest.mark.parametrize("policy", POLICIES[:4], ids=lambda p: f"{p.chain.k}")
def test_beliefs_move_the_same_alone_and_in_company(policy: po.SequencePolicy) -> None:
    many = RNG.dirichlet(np.ones(policy.chain.k), 500)
    kernels, _ = policy.kernels(many)
    drawn = kernels.argmax(axis=2)[:, 0]
    together = policy.predict(many, kernels, drawn)
    for i in range(0, 500, 37):
        alone = policy.predict(many[i : i + 1], kernels[i : i + 1], drawn[i : i + 1])
        assert (alone[0] == together[i]).all()


def test_sums_run_in_order_whatever_the_shape() -> None:
    rng = np.random.default_rng(0)
    for many, n, m in product((1, 2, 70, 2000), (1, 2, 7, 33), (1, 2, 31, 40)):
        weights, values = rng.normal(size=(many, n)), rng.normal(size=(many, n, m))
        by_hand = weights[:, 0, None] * values[:, 0]
        for x in range(1, n):
            by_hand = by_hand + weights[:, x, None] * values[:, x]
        assert (fixed.means(weights, values) == by_hand).all()
        assert (fixed.means(weights, values[0]) == fixed.means(weights, np.repeat(values[:1], many, 0))).all()
        rows = values[..., 0].copy()
        for y in range(1, m):
            rows = rows + values[..., y]
        assert (fixed.total(values) == rows).all()


def test_exponentials_are_the_nearest_floats() -> None:
    import mpmath

    rng = np.random.default_rng(1)
    for x in [*rng.uniform(-745, 700, 200), *10.0 ** rng.uniform(-300, 0, 100), 1e-6, 1.0, 30.0]:
        with mpmath.workdps(400):
            exact, lacking = mpmath.exp(mpmath.mpf(float(x))), -mpmath.expm1(-mpmath.mpf(abs(float(x))))
            assert fixed.exp(float(x)) == float(mpmath.nstr(exact, 60))
            assert fixed.lacking(abs(float(x))) == float(mpmath.nstr(lacking, 60))


def test_policies_of_programs_carry_their_kernels() -> None:
    """The rule is not needed for any belief within the horizon, so no other vertex can come out of it."""
    problem = Ask(WEATHER, 0.5, batch=2, horizon=5)
    policy = problem.answer("structure-lp")
    assert len({len(kernel.inputs) for _, kernel in policy.prepared}) == 2  # the short word at the end too
    again = po.SequencePolicy(
        policy.chain, policy.epsilon, 2, policy.distortion, "constant", prepared=policy.prepared
    )
    first, second = problem.evaluate(policy), walk(problem, again)
    assert first.exact
    assert second.complete
    assert second.reading.utility == first.utility
    assert po.SequencePolicy.from_dict(json.loads(json.dumps(policy.to_dict()))) == policy
    for belief, kernel in policy.prepared:
        if len(kernel.inputs) == 4:
            part = policy.part(2)
            drawn = part._some(np.array([_states_of(problem, belief)]), 0)
            assert (drawn[0] == kernel.matrix * 2.0**52).all()


def _states_of(problem: Ask, belief: tuple[float, ...]) -> Any:
    """The belief over states whose words have a belief: the sum over words by their first letter."""
    firsts = problem.setting(2).paths.words[:, 0]
    return np.bincount(firsts, weights=np.array(belief))


def test_kernels_in_a_file_are_not_believed() -> None:
    """Prepared kernels that break the budget are mixed like any proposal."""
    loud = po.Channel([[1, 0], [0, 1]])
    start = WEATHER.initial
    policy = po.SequencePolicy(WEATHER, 0.5, prepared=[(start, loud)])
    weights, total = policy.kernels(start[None, :])
    distribution = start @ (weights[0] / total)
    ratio = weights[0] / total / distribution
    assert np.exp(-0.5) <= ratio.min()
    assert ratio.max() <= np.exp(0.5)
    problem = Ask(WEATHER, 0.5, horizon=3)
    assert problem.certify(policy).ok
    blind = po.MarkovChain([[0.5, 0.5, 0.0]] * 3, [0.5, 0.5, 0.0])
    sneaky = po.Channel(
        [[0.5, 0.5, 0], [0.5, 0.5, 0], [0, 0, 1]]
    )  # a letter that cannot be there gives itself away
    told = po.SequencePolicy(blind, 0.5, prepared=[(blind.initial, sneaky)])
    assert told.kernels(blind.initial[None, :])[0][0, 2, 2] == 0


@pytest.mark.parametrize("seed", range(12))
def test_reading_and_certificate_agree_on_what_is_exact(seed: int) -> None:
    """Words with a short one at the end: one walk decides for both, so a stated utility is never another's."""
    rng = np.random.default_rng(seed)
    batch = int(rng.integers(2, 4))
    horizon = batch * int(rng.integers(1, 4)) + int(rng.integers(1, batch))
    problem = Ask(chain(2, seed), float(rng.uniform(0.2, 2)), batch=batch, horizon=horizon)
    solution = po.solve(problem, time_limit=3)
    certificate = solution.certificate
    assert certificate is not None
    assert po.verify(problem, solution).ok
    reading = problem.evaluate(solution.mechanism)
    narrow = certificate.utility[1] - certificate.utility[0] < 1e-9
    assert reading.exact == narrow == walk(problem, solution.mechanism).complete
    if reading.exact:
        assert certificate.utility[0] <= solution.utility <= certificate.utility[1]  # type: ignore[operator]


def test_what_is_simulated_says_so_and_is_never_optimal() -> None:
    problem = Ask(chain(3, 2), 0.8, horizon=60)
    solution = po.solve(problem, "closed-form")
    reading = problem.evaluate(solution.mechanism)
    assert not reading.exact
    assert reading.standard_error > 0
    certificate = solution.certificate
    assert certificate is not None
    assert any("simulated" in text for text in certificate.uncovered)
    assert certificate.utility == (-1.0, 0.0)
    assert solution.status is po.Status.GAP
    checked = po.verify(problem, solution)
    assert checked.ok
    assert any("simulated" in text for text in checked.remarks)
    tight = po.SequencePolicy(problem.chain, problem.epsilon)
    assert solution.objective is not None
    pretended = with_bound(problem, solution, solution.objective, solution.dual)
    assert pretended.status is po.Status.GAP
    assert problem.scale(solution) < 0
    assert tight == solution.mechanism


def test_a_program_that_is_not_carried_is_simulated() -> None:
    """On another processor it could have other optima, so nothing exact is said of it."""
    problem = Ask(chain(3, 1), 1.0, distortion="l1", horizon=3)
    loose = po.SequencePolicy(problem.chain, 1.0, distortion="l1", rule="structure-lp")
    assert not problem.evaluate(loose).exact
    certificate = problem.certify(loose)
    assert certificate.ok
    assert any("does not carry" in text for text in certificate.uncovered)
    assert problem.evaluate(problem.answer("structure-lp")).exact
    assert not cost_of("structure-lp").same_everywhere
    assert cost_of("closed-form").same_everywhere


def test_terms_name_the_data_the_letter_and_the_whole() -> None:
    problem = Ask(WEATHER, 0.5, batch=2, horizon=6)
    terms = problem.terms(problem.anchor())
    assert terms.kind == "privacy"
    assert "2.71828" in terms.statement
    assert "word of 2 letters" in terms.statement
    assert "every release so far" in terms.adversary
    assert "3 nats in all" in terms.uncovered[0]
    assert "20.0855" in terms.uncovered[0]
    everything = Ask(WEATHER, np.inf, horizon=3)
    solution = po.solve(everything)
    assert solution.leakage == np.inf
    assert solution.certificate is not None
    assert solution.certificate.leakage == (np.inf, np.inf)
    assert "everything" in solution.certificate.statement


def test_impossible_letters_keep_the_bounds_or_are_refused() -> None:
    policy = po.SequencePolicy(SPARSE, 0.7)
    state = policy.advance(policy.start(), 0)
    for belief in ([0.5, 0.5, 0.0], [0.0, 1.0, 0.0], list(state.belief)):
        distribution = np.array(belief)
        weights, total = policy.kernels(distribution[None, :])
        table = weights[0] / total
        shown = distribution @ table
        used = shown > 0
        assert (table[:, ~used] == 0).all()
        assert (np.abs(np.log(table[:, used] / shown[used])) <= 0.7).all()
    with pytest.raises(po.errors.InvalidMechanism, match="cannot follow"):
        policy.release([0, 2])
    certificate = Ask(SPARSE, 0.7, horizon=2).certify(policy)
    assert "impossible" in certificate.assumption


@pytest.mark.parametrize("seed", range(4))
def test_any_of_the_worst_pairs_will_do(seed: int) -> None:
    problem = Ask(chain(3, seed), 0.9, horizon=3)
    policy = problem.answer("closed-form")
    certificate = problem.certify(policy)
    assert problem.is_worst(policy, certificate.worst, certificate.where) is True
    others = {pair: problem.is_worst(policy, pair, certificate.where) for pair in product(range(3), range(3))}
    assert others[certificate.worst] is True  # type: ignore[index]
    assert False in others.values()
    assert problem.is_worst(policy, ("nobody", 0), certificate.where) is False


MACHINES = [
    {"OPENBLAS_CORETYPE": "Prescott", "NPY_DISABLE_CPU_FEATURES": "{all}"},
    {"OPENBLAS_CORETYPE": "Haswell", "OPENBLAS_NUM_THREADS": "1"},
    {"OPENBLAS_CORETYPE": "SkylakeX"},
]
SCRIPT = """
import json, sys
import privopt as po
for line in open(sys.argv[1]):
    problem, solution = (json.loads(line)[i] for i in (0, 1))
    certificate = po.verify(po.problem_from_dict(problem), po.Solution.from_dict(solution))
    print(json.dumps([certificate.ok, certificate.reason]))
"""


@pytest.fixture(scope="module")
def records(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("machines") / "records"
    problems: list[po.Problem[Any]] = [
        Ask(chain(2, 11), 0.6, batch=3, horizon=4),
        Ask(chain(3, 12), 0.6, batch=2, horizon=5),
        Ask(chain(4, 13), 1.0, distortion="squared", horizon=3),
        Ask(chain(3, 14), 2.0, distortion="l1", horizon=30),
        Ask(chain(5, 15), 1.0, horizon=4),
        po.BeliefRelease(np.random.default_rng(0).dirichlet(np.ones(7)), 27.0),
        po.BeliefRelease(np.random.default_rng(1).dirichlet(np.ones(7)), 1.3, "squared"),
    ]
    names = (None, "structure-lp", "oracle", "interval", "restricted-outputs", "exact-lp", "closed-form")
    with place.open("w") as file:
        for problem in problems:
            for name in names:
                try:
                    solution = po.solve(problem, name, time_limit=3)
                except po.errors.UnsuitableSolver:
                    continue
                if solution.status.ok:
                    file.write(json.dumps([problem.to_dict(), solution.to_dict()]) + "\n")
    return place


@pytest.mark.long
@pytest.mark.parametrize("machine", MACHINES, ids=lambda m: m["OPENBLAS_CORETYPE"])
def test_every_machine_gives_the_same_verdict(records: Path, machine: dict[str, str]) -> None:
    skipped = next((s.skipped for s in settings() if s.variables == machine), "")
    if skipped:
        pytest.skip(skipped)
    core = importlib.import_module("numpy._core._multiarray_umath")
    names = [name for name in core.__cpu_dispatch__ if core.__cpu_features__.get(name)]
    variables = {key: value.format(all=" ".join(names)) for key, value in machine.items()}
    ran = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(records)],
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        check=True,
        timeout=300,
    )
    verdicts = [json.loads(line) for line in ran.stdout.splitlines()]
    assert len(verdicts) == len(records.read_text().splitlines()) > 20
    assert all(ok for ok, _ in verdicts), [reason for ok, reason in verdicts if not ok]
