"""Repairs on the support of a channel: certified by integers, with no release where there was none, at hardly any cost."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import privopt as po
from privopt.core.dispatch import fitness
from privopt.core.registry import find_solver
from privopt.mechanisms import Channel
from privopt.problems.information_support import information_slopes, sibson_slopes

SHAPES = [(2, 8), (3, 12), (4, 15)]
SAMPLES = [(shape, seed) for shape in SHAPES for seed in range(3)]


def table(shape: tuple[int, int], seed: int) -> po.JointDistribution:
    n, m = shape
    return po.JointDistribution(np.random.default_rng(seed).dirichlet(np.ones(n * m)).reshape(n, m))


def hamming(m: int) -> np.ndarray:
    return 1.0 - np.eye(m)


PROBLEMS: dict[str, Callable[[po.JointDistribution, int], Any]] = {
    "lip": lambda joint, m: po.LocalInformationPrivacy(joint, epsilon=0.7),
    "one side": lambda joint, m: po.LocalInformationPrivacy(joint, upper=0.7, lower=0.2),
    "ldp": lambda joint, m: po.LocalInformationPrivacy(joint, epsilon=1.0, notion="ldp"),
    "pml": lambda joint, m: po.PointwiseMaximalLeakage(joint, 0.5),
    "distortion": lambda joint, m: po.LocalInformationPrivacy(joint, epsilon=0.5, utility=hamming(m)),
    "cap": lambda joint, m: po.PrivacyFunnel(joint, max_leakage=0.05),
    "floor": lambda joint, m: po.PrivacyFunnel(joint, min_utility=1.6),
    "bounded": lambda joint, m: po.DistortionPrivacy(joint, hamming(m), max_leakage=0.1),
    "sibson": lambda joint, m: po.DistortionPrivacy(
        joint, hamming(m), max_leakage=0.1, leakage="sibson", alpha=2.0
    ),
}


@pytest.mark.parametrize("kind", PROBLEMS)
@pytest.mark.parametrize(("shape", "seed"), SAMPLES)
def test_certified_releases_have_no_crumbs(kind: str, shape: tuple[int, int], seed: int) -> None:
    problem = PROBLEMS[kind](table(shape, seed), shape[1])
    solution = po.solve(problem, time_limit=20)
    assert solution.certified
    matrix = solution.mechanism.matrix
    assert not ((matrix > 0) & (matrix < 1e-10)).any()
    assert (matrix > 0).sum() < 0.7 * matrix.size


@pytest.mark.parametrize("notion", ["lip", "ldp"])
@pytest.mark.parametrize("off", [1e-15, 1e-12, 1e-9])
def test_a_vertex_out_by_rounding_is_mended_where_it_is(notion: str, off: float) -> None:
    joint = table((3, 10), 7)
    problem = po.LocalInformationPrivacy(joint, epsilon=0.8, notion=notion)
    best = po.solve(problem, time_limit=20).mechanism
    rng = np.random.default_rng(0)
    shaken = best.matrix * (1 + off * rng.uniform(-1, 1, best.matrix.shape))
    broken = Channel(shaken / shaken.sum(axis=1, keepdims=True), best.inputs, best.outputs)
    mended = problem.repair(broken, 2.0**-44)
    assert problem.certify(mended.quantised()).ok
    assert ((mended.matrix > 0) == (best.matrix > 0)).all()
    assert abs(problem.evaluate(mended).utility - problem.evaluate(broken).utility) <= 100 * (off + 2.0**-44)


def test_what_is_far_out_is_mixed_as_before() -> None:
    problem = po.LocalInformationPrivacy(table((3, 10), 7), epsilon=0.3)
    mended = problem.repair(Channel(np.eye(10)), 2.0**-44)
    assert (mended.matrix > 0).all()
    assert problem.certify(mended.quantised()).ok


def test_rows_of_a_single_release_leave_nothing_to_move() -> None:
    """A deterministic release has no other channel on its support: it is mixed."""
    joint = po.JointDistribution([[0.3, 0.2], [0.2, 0.3]])
    problem = po.PrivacyFunnel(joint, max_leakage=0.0199)
    leaks = problem.evaluate(Channel(np.eye(2))).leakage
    assert leaks > 0.0199
    mended = problem.repair(Channel(np.eye(2)), 2.0**-44)
    assert problem.certify(mended.quantised()).ok


@pytest.mark.parametrize("seed", range(4))
def test_slopes_are_those_of_differences(seed: int) -> None:
    rng = np.random.default_rng(seed)
    joint = table((3, 6), seed)
    observed = po.PrivacyFunnel(joint, max_leakage=0.1).observation
    matrix, towards = rng.dirichlet(np.ones(4), size=6), rng.normal(size=(6, 4))
    towards -= towards.mean(axis=1, keepdims=True)
    step = 1e-6

    def difference(reading: Callable[[np.ndarray], float]) -> float:
        return (reading(matrix + step * towards) - reading(matrix - step * towards)) / (2 * step)

    def secret(at: np.ndarray) -> float:
        return po.measures.mutual_information(joint.table @ at)

    def useful(at: np.ndarray) -> float:
        return po.measures.mutual_information(observed.p_w[:, None] * at)

    def sibson(at: np.ndarray) -> float:
        return po.measures.sibson_mutual_information(joint.table @ at, 3.0)

    for reading, slopes in (
        (secret, information_slopes(observed, matrix, leaking=True)),
        (useful, information_slopes(observed, matrix, leaking=False)),
        (sibson, sibson_slopes(observed, matrix, 3.0)),
    ):
        assert difference(reading) == pytest.approx(float((slopes * towards).sum()), abs=1e-7)


def test_column_generation_leaves_out_what_kept_it_inside() -> None:
    problem = po.LocalInformationPrivacy(table((6, 20), 3), epsilon=1.0)
    assert fitness(find_solver(problem, "column-generation"), problem).refusal is None
    solution = po.solve(problem, solver="column-generation", time_limit=20)
    assert solution.certified
    assert solution.gap < 1e-5
    matrix = solution.mechanism.matrix
    assert not ((matrix > 0) & (matrix < 1e-10)).any()
