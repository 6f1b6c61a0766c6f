"""Leakage measures against other libraries: qif, dit, and a power-cone program."""

from __future__ import annotations

import math

import numpy as np
import pytest

from privopt import measures as m
from privopt.arrays import Floats

NO_QIF = "qif is the oracle for min-entropy leakage, capacities and metric privacy: pip install qif"
NO_DIT = "dit is the oracle for Sibson's information, Rényi and Shannon entropies: pip install dit"


def cases(count: int) -> list[tuple[Floats, Floats]]:
    """Priors and channels."""
    rng = np.random.default_rng(0)
    return [(rng.dirichlet(np.ones(4)), rng.dirichlet(np.ones(5) * 0.7, size=4)) for _ in range(count)]


def test_qif_agrees() -> None:
    qif = pytest.importorskip("qif", reason=NO_QIF)
    for prior, rows in cases(30):
        joint = prior[:, None] * rows
        guess = qif.measure.bayes_vuln.min_entropy_leakage(prior, rows)
        assert m.min_entropy_leakage(joint, unit="bits", normalise=True) == pytest.approx(guess, abs=1e-12)
        most = qif.measure.bayes_vuln.mult_capacity(rows)
        assert m.maximal_leakage(rows) == pytest.approx(math.log(most), abs=1e-13)
        shannon = qif.measure.shannon
        told = shannon.add_leakage(prior, rows)
        assert m.mutual_information(joint, unit="bits", normalise=True) == pytest.approx(told, abs=1e-12)
        left = shannon.posterior(prior, rows)
        assert m.conditional_entropy(joint, unit="bits", normalise=True) == pytest.approx(left, abs=1e-12)
        assert m.entropy(prior, unit="bits") == pytest.approx(shannon.prior(prior), abs=1e-13)
        low, high = m.capacity(rows, unit="bits")
        assert low - 1e-6 <= shannon.add_capacity(rows)[0] <= high + 1e-6


def test_qif_agrees_on_differential_privacy() -> None:
    qif = pytest.importorskip("qif", reason=NO_QIF)
    for _, rows in cases(20):
        level = qif.measure.d_privacy.smallest_epsilon(rows, qif.metric.discrete())
        assert m.local_differential_privacy(rows) == pytest.approx(level, abs=1e-10)


def test_dit_agrees() -> None:
    dit = pytest.importorskip("dit", reason=NO_DIT)
    for prior, rows in cases(6):
        joint = prior[:, None] * rows
        joint /= joint.sum()
        cells = {f"{s}{y}": joint[s, y] for s in range(4) for y in range(5)}
        law = dit.Distribution(list(cells), list(cells.values()))
        for a in (0.5, 1, 2, 7, math.inf):
            sibson = dit.other.sibson_mutual_information(law, [0], [1], a)
            assert m.sibson_mutual_information(joint, a, unit="bits") == pytest.approx(sibson, abs=1e-12)
        assert m.maximal_leakage(rows, unit="bits") == pytest.approx(
            dit.other.maximal_leakage(law, [0], [1]), abs=1e-12
        )
        information = dit.shannon.mutual_information(law, [0], [1])
        assert m.mutual_information(joint, unit="bits") == pytest.approx(information, abs=1e-12)
        left = dit.shannon.conditional_entropy(law, [0], [1])
        assert m.conditional_entropy(joint, unit="bits") == pytest.approx(left, abs=1e-12)
        assert m.entropy(joint, unit="bits") == pytest.approx(dit.shannon.entropy(law), abs=1e-12)
        for a in (1.5, 3, math.inf):
            # The loss of order a is (1 - e^-cH) / c of the Rényi entropy, c = 1 - 1/a.
            renyi, c = math.log(2) * dit.other.renyi_entropy(law, a, [0]), 1 - 1 / a
            assert m.expected_alpha_loss(joint, a)[1] == pytest.approx(-math.expm1(-c * renyi) / c, abs=1e-12)


def power_cone(rows: Floats, alpha: float) -> float:
    """Maximal alpha-leakage from the concave program max over p of sum_y (sum_x p_x W(y|x)^a)^(1/a)."""
    cp = pytest.importorskip("cvxpy")
    prior = cp.Variable(len(rows), nonneg=True)
    total = cp.sum(cp.power((rows**alpha).T @ prior, 1 / alpha))
    problem = cp.Problem(cp.Maximize(total), [cp.sum(prior) == 1])
    value = problem.solve(solver="CLARABEL")
    return float(alpha / (alpha - 1) * math.log(value))


@pytest.mark.filterwarnings("ignore")  # of the modelling layer, on how it approximates powers
@pytest.mark.parametrize("alpha", [1.5, 2.0, 4.0])
def test_a_power_cone_program_agrees(alpha: float) -> None:
    for _, rows in cases(4):
        low, high = m.maximal_alpha_leakage(rows, alpha)
        assert low - 1e-6 <= power_cone(rows, alpha) <= high + 1e-6


@pytest.mark.parametrize("alpha", [1.0, 1.2, 3.0, 25.0])
def test_no_prior_of_a_grid_beats_the_interval(alpha: float) -> None:
    rng = np.random.default_rng(1)
    steps = 12
    grid = [np.array([i, j, steps - i - j]) / steps for i in range(steps + 1) for j in range(steps + 1 - i)]
    for _ in range(4):
        rows = rng.dirichlet(np.ones(4) * 0.6, size=3)
        low, high = m.capacity(rows) if alpha == 1 else m.maximal_alpha_leakage(rows, alpha)
        values = [m.sibson_mutual_information(p[:, None] * rows, alpha, normalise=True) for p in grid]
        assert max(values) <= high
        assert max(values) >= low - 0.02  # the grid is coarse
