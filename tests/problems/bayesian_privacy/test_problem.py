"""Bayesian differential privacy: public values, invariants, an independent linear program as oracle, and what is refused."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import privopt as po
from privopt.cli import app
from privopt.errors import FileRefused, InvalidMechanism, InvalidModel, InvalidProblem

CHAIN = po.MarkovChain([[0.8, 0.2], [0.3, 0.7]])
ROW = po.GaussianModel([[1, 0.5, 0.25], [0.5, 1, 0.5], [0.25, 0.5, 1]])


def calibrated(model: Any, query: Any, epsilon: float, solver: str | None = None, **rest: Any) -> float:
    solution = po.solve(po.BayesianPrivacy(model, query, epsilon, **rest), solver)
    assert solution.certified
    assert solution.leakage is not None
    assert solution.leakage <= epsilon
    return solution.mechanism.tau


@pytest.mark.parametrize(
    ("epsilon", "tau"), [(0.2, 0.0661684410), (1.0, 0.3306979598), (2.0, 0.7031642550), (4.0, 1.7280175370)]
)
def test_public_levels_of_a_chain(epsilon: float, tau: float) -> None:
    assert calibrated(CHAIN, "count", epsilon) == pytest.approx(tau, rel=1e-7)
    assert calibrated(CHAIN, "count", epsilon, "laplace-tail") == pytest.approx(tau, rel=1e-7)


@pytest.mark.parametrize(
    ("rows", "factors"),
    [
        ([[0.882, 0.118], [0.305, 0.695]], (3.995, 1.801)),
        ([[0.445, 0.555], [0.149, 0.851]], (2.010, 1.318)),
        ([[0.9, 0.1], [0.1, 0.9]], (8.653, 2.836)),
    ],
)
def test_public_factors_of_chains(rows: list[list[float]], factors: tuple[float, ...]) -> None:
    for epsilon, factor in zip((1.0, 10.0), factors, strict=True):
        tau = calibrated(po.MarkovChain(rows), "count", epsilon, "markov-recursion")
        assert epsilon / tau == pytest.approx(factor, abs=6e-4)


def test_the_galton_and_the_intelligence_example() -> None:
    three = po.GaussianModel(0.275 + 0.725 * np.eye(3))
    assert 1 / calibrated(three, "sum", 1.0, "gaussian-class", clip=(0, 254)) == pytest.approx(1.55)
    published = po.solve(po.BayesianPrivacy(three, "sum", 1.0, clip=(0, 254)), "gaussian-published")
    assert 1 / published.mechanism.tau == pytest.approx(1.853448, abs=1e-6)
    pair = po.GaussianModel(np.array([[1, 0.45], [0.45, 1]]) * 225)
    alphas = [
        po.solve(po.BayesianPrivacy(pair, "sum", 1.0, clip=(40, 160)), name).mechanism.accuracy(0.05)
        for name in ("general", "gaussian-column")
    ]
    assert alphas == pytest.approx([719.0, 521.3], abs=0.06)


@pytest.mark.parametrize("scope", ["targets_in_interval", "all_reals"])
def test_the_printed_theorem_is_shown_not_to_hold_for_all_reals(scope: str) -> None:
    pair = po.GaussianModel(np.array([[1, 0.45], [0.45, 1]]) * 225)
    problem = po.BayesianPrivacy(pair, "sum", 1.0, clip=(40, 160), scope=scope)
    shown = po.solve(problem, "gaussian-published")
    assert (shown.status is po.Status.NOT_PRIVATE) == (scope == "all_reals")
    assert scope in repr(problem.anchor())
    if scope == "all_reals":
        # far targets: the conditional distribution of the relative is clipped to one end, so the sum moves by both diameters
        tau = 1 / 1.45
        outputs, relative = (
            np.array([320.0, 80.0]),
            np.random.default_rng(0).normal(0, 15 * math.sqrt(1 - 0.45**2), 4000),
        )
        ratio = 0.0
        for x, other in ((400.0, -200.0), (-200.0, 400.0)):
            sums = [
                np.clip(v, 40, 160) + np.clip(100 + 0.45 * (v - 100) + relative, 40, 160) for v in (x, other)
            ]
            for y in outputs:
                a, b = (np.exp(-tau / 120 * np.abs(y - s)).mean() for s in sums)
                ratio = max(ratio, math.log(a / b))
        assert ratio > 1.0


def test_the_reading_of_short_counts_against_a_joint_law() -> None:
    from itertools import product

    from privopt.problems.bayesian_privacy import levels

    chain = po.MarkovChain([[0.1, 0.9], [0.6, 0.4]], initial=[0.3, 0.7])
    problem = po.BayesianPrivacy(chain, "count", 1.0, length=3)
    tau, worst = 0.8, 0.0
    joint = {
        w: chain.initial[w[0]] * chain.transition[w[0], w[1]] * chain.transition[w[1], w[2]]
        for w in product((0, 1), repeat=3)
    }
    grid = np.linspace(-4.0, 7.0, 221)
    for i in range(3):
        for pattern in product((0, 1, None), repeat=3):
            if pattern[i] is not None:
                continue
            densities = []
            for x in (0, 1):
                fits = {
                    w: p
                    for w, p in joint.items()
                    if w[i] == x and all(k is None or k == v for k, v in zip(pattern, w, strict=True))
                }
                noisy = sum(p * np.exp(-tau * np.abs(grid - sum(w))) for w, p in fits.items())
                densities.append(noisy / sum(fits.values()))
            worst = max(worst, float(np.abs(np.log(densities[0] / densities[1])).max()))
    assert levels.reading(problem, tau).value == pytest.approx(worst, rel=1e-9)
    assert worst <= po.measures.bayesian_leakage(chain, tau, length=3).value + 1e-12


def test_laws_of_the_answer() -> None:
    problem = po.BayesianPrivacy(ROW, "sum", 1.0, clip=(0, 1))
    larger = [po.solve(problem.with_budget(b)).utility for b in (0.1, 0.5, 1.0, 3.0)]
    assert larger == sorted(larger, key=lambda u: -1.0 if u is None else u)
    independent = po.BayesianPrivacy(po.GaussianModel(np.eye(3)), "sum", 1.0, clip=(0, 1))
    assert po.solve(independent).mechanism.tau == pytest.approx(1.0)
    same = po.BayesianPrivacy(po.GaussianModel(np.ones((3, 3))), "sum", 1.0, clip=(0, 1))
    assert po.solve(same).mechanism.tau == pytest.approx(1 / 3)
    mechanism = po.solve(problem).mechanism
    for margin in (2.0**-44, 2.0**-24):
        repaired = problem.repair(mechanism, margin)
        assert repaired.scale > mechanism.scale
        assert problem.evaluate(repaired).leakage <= 1.0
    assert problem.certify(problem.answer(0.51)).ok is False
    assert problem.safe().leakage == 0.0
    assert problem.evaluate(problem.safe()).utility == -math.inf


def test_bounds_hold_or_are_refused() -> None:
    problem = po.BayesianPrivacy(ROW, "sum", 1.0, clip=(0, 1))
    good = problem.check_bound(-math.inf, {"kind": "level", "tau": 0.5001})
    assert good is not None
    assert -2.0 < good < -1.999
    for dual in (
        None,
        {},
        {"kind": "level", "tau": 0.4999},
        {"kind": "level", "tau": -1},
        {"kind": "level", "tau": "x"},
    ):
        assert problem.check_bound(-5.0, dual) is None
    three = po.MarkovChain([[0.6, 0.3, 0.1], [0.2, 0.5, 0.3], [0.2, 0.2, 0.6]])
    loose = po.BayesianPrivacy(three, "histogram", 1.0)
    assert loose.check_bound(-9.0, {"kind": "level", "tau": 0.3}) is None  # no mechanism of it leaks 1 nat
    assert loose.check_bound(-9.0, {"kind": "level", "tau": 0.5}) == pytest.approx(-4.0)


def test_a_group_that_names_its_states_counts_them_and_refuses_others(tmp_path: Path) -> None:
    model = po.GroupModel(3, states=["well", "ill"])
    assert po.model_from_dict(model.to_dict()) == model != po.GroupModel(3)
    assert model.to_dict()["version"] == 2
    for query in (("count", "ill"), "count", "histogram"):
        problem = po.BayesianPrivacy(model, query, 1.5, mechanism="discrete_laplace")
        solution = po.solve(problem, time_limit=120.0)
        # any mechanism of level tau leaks at most 3 tau on groups of three, and some one does
        assert solution.mechanism.tau == pytest.approx(0.5)
        assert po.verify(problem, solution).ok
        assert po.problem_from_dict(problem.to_dict()) == problem
        assert solution.mechanism.states == ("well", "ill")
        solution.mechanism.release(["well", "ill", "ill"], np.random.default_rng(0))
        with pytest.raises(InvalidMechanism, match="record 1"):
            solution.mechanism.release(["well", "il"], np.random.default_rng(0))


def test_functions_are_judged_by_the_size_of_the_group() -> None:
    problem = po.BayesianPrivacy(ROW, po.Query(max, 2.0), 1.5)
    solution = po.solve(problem)
    assert solution.mechanism.scale == pytest.approx(4.0)
    assert po.verify(problem, solution).ok
    with pytest.raises(InvalidProblem, match="cannot be written"):
        problem.to_dict()


def test_a_mechanism_that_states_too_little_is_refused() -> None:
    problem = po.BayesianPrivacy(ROW, "sum", 1.0, clip=(0, 1))
    lying = po.NoisyQuery("sum", "laplace", 2.0, 0.5, 0.9, clip=(0, 1))
    with pytest.raises(InvalidMechanism, match="states a leakage"):
        problem.evaluate(lying)
    with pytest.raises(InvalidMechanism, match="scope"):
        problem.evaluate(po.NoisyQuery("sum", "laplace", 2.0, 0.5, 3.0, "all_reals", clip=(0, 1)))


@pytest.mark.parametrize(
    ("arguments", "rest", "words"),
    [
        ((ROW, "sum", 0.0), {"clip": (0, 1)}, "epsilon must be finite and > 0"),
        ((ROW, "sum", -1.0), {"clip": (0, 1)}, "epsilon"),
        ((ROW, "sum", float("nan")), {"clip": (0, 1)}, "epsilon"),
        ((ROW, "sum", 1.0), {}, "needs clip"),
        ((ROW, "sum", 1.0), {"clip": (1, 0)}, "the lower first"),
        ((ROW, "mean", 1.0), {"clip": (0, 1)}, "needs length"),
        ((ROW, "count", 1.0), {}, "no states to count"),
        ((po.GroupModel(2), "histogram", 1.0), {}, "needs the states that it counts"),
        (
            (po.GroupModel(2, states=["well", "ill"]), ("count", "il"), 1.0),
            {},
            r"of 'il', which is not among the states \('well', 'ill'\)",
        ),
        ((po.GroupModel(2, states=["well"]), "count", 1.0), {}, "one state only"),
        (
            (po.MarkovChain([[0.5, 0.5], [0.5, 0.5]], states=["a", "b"]), "sum", 1.0),
            {},
            "states that are numbers",
        ),
        ((CHAIN, ("count", 7), 1.0), {}, "not among the states"),
        ((CHAIN, "count", 1.0), {"mechanism": "randomised_response"}, "needs length"),
        ((CHAIN, "count", 1.0), {"scope": "some"}, "scope"),
        (("chain", "count", 1.0), {}, "model must be"),
    ],
)
def test_bad_questions_are_refused(arguments: Any, rest: Any, words: str) -> None:
    with pytest.raises(InvalidProblem, match=words):
        po.BayesianPrivacy(*arguments, **rest)


def test_bad_models_are_refused() -> None:
    for covariance in ([[1, 0.5], [0.4, 1]], [[1, 2], [2, 1]], [[1, float("nan")], [float("nan"), 1]]):
        with pytest.raises(InvalidModel):
            po.GaussianModel(covariance)
    with pytest.raises(InvalidModel, match="sum"):
        po.MarkovChain([[0.9, 0.2], [0.5, 0.5]])
    assert po.MarkovChain.normalised([[0.881, 0.118], [0.305, 0.695]]).k == 2


def test_a_ledger_adds_levels_and_refuses_what_exceeds_its_total(tmp_path: Path) -> None:
    mechanism = po.solve(po.BayesianPrivacy(CHAIN, "count", 1.0, mechanism="discrete_laplace")).mechanism
    ledger, path = po.BudgetLedger(CHAIN, 2.0, "stream"), tmp_path / "ledger.json"
    answer, ledger = ledger.release(mechanism, [0, 1, 1], "stream", path)
    assert isinstance(answer, int)
    assert po.BudgetLedger.load(path) == ledger
    ledger = ledger.charge(mechanism, "stream")
    assert ledger.tau == pytest.approx(2 * mechanism.tau)
    assert ledger.leakage == pytest.approx(po.measures.bayesian_leakage(CHAIN, 2 * mechanism.tau).value)
    assert ledger.leakage < 2 * mechanism.leakage
    with pytest.raises(InvalidMechanism, match="refused: all releases together"):
        ledger.release(mechanism, [0, 1, 1], "stream", path)
    assert len(po.BudgetLedger.load(path).entries) == 1
    with pytest.raises(InvalidMechanism, match="other data"):
        ledger.charge(mechanism, "another stream")
    path.write_text(path.read_text().replace('"epsilon": 2.0', '"epsilon": 0.1'))
    with pytest.raises(FileRefused, match="has spent"):
        po.BudgetLedger.load(path)
    with pytest.raises(InvalidMechanism, match="clips to"):
        po.BudgetLedger(ROW, 1.0, "x", clip=(0, 2)).charge(
            po.NoisyQuery("sum", "laplace", 9, 1, 1, clip=(0, 1)), "x"
        )


def test_from_a_table_to_a_released_mean(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(2)
    table = rng.multivariate_normal([175, 165, 170], [[49, 10, 22], [10, 42, 20], [22, 20, 46]], 50).round(1)
    lines = "\n".join(",".join(map(str, row)) for row in table.tolist())
    Path("families.csv").write_text("father,mother,child\n" + lines + "\n")
    run = CliRunner().invoke
    names = [part for name in ("father", "mother", "child") for part in ("--record", name)]
    assert run(app, ["fit", "families.csv", *names, "--output", "model.json"]).exit_code == 0
    fitted = po.load_model("model.json")
    assert isinstance(fitted, po.GaussianModel)
    assert np.allclose(fitted.covariance, np.cov(table.T))
    Path("problem.json").write_text(
        '{"type": "bayesian_privacy", "model": {"file": "model.json"}, "query": "mean", "epsilon": 1.0,'
        ' "clip": [120, 220], "length": 150}'
    )
    assert run(app, ["solve", "problem.json", "--output", "solution.json"]).exit_code == 0
    columns = [part for name in ("father", "mother", "child") for part in ("--column", name)]
    release = ["release", "solution.json", "families.csv", *columns, "--output", "out.csv"]
    done = run(app, release)
    assert done.exit_code == 0
    assert "with 95 % probability the mean is within" in done.output
    assert float(Path("out.csv").read_text().split(",")[-1]) == pytest.approx(table.mean(), abs=60)
    assert run(app, ["verify", "problem.json", "solution.json"]).exit_code == 0
    assert "SIMULATED" in run(app, [*release, "--simulate", "1"]).output
    Path("families.csv").write_text("father,mother,child\n1,x,3\n")
    assert run(app, release).exit_code == 2
    assert run(app, ["fit", "families.csv", *names]).exit_code == 2
