"""No planted error makes a checker of the newer kinds accept a false claim."""

from __future__ import annotations

import importlib
from functools import cache
from typing import Any

import pytest
from oracles import kind_claims
from oracles.planted_proofs import Lines, accepts, parsed

import privopt as po
from privopt.proof.write import CHECKERS, Proof, prove

SMALL = po.JointDistribution.normalised([[5, 2, 1], [1, 3, 4]])
HAMMING = [[0, 1, 1], [1, 0, 1], [1, 1, 0]]
NEAR = po.JointAmbiguity.total_variation(SMALL, 0.0625, 0.03125)
BOUNDED = po.JointAmbiguity(
    [po.RowSet.interval([0.5, 0.25, 0.0], [0.75, 0.375, 0.25]), po.RowSet.interval([0.0, 0.25, 0.375], [0.25, 0.5, 0.75])],
    po.RowSet.interval([0.375, 0.375], [0.625, 0.625]),
    nominal=[[0.3125, 0.125, 0.0625], [0.0625, 0.1875, 0.25]],
)  # fmt: skip
ROUND = po.JointAmbiguity(
    [po.RowSet.chi2(row, 0.125) for row in SMALL.table / SMALL.p_s[:, None]], [0.5, 0.5]
)
CHAIN = po.MarkovChain([[0.75, 0.25], [0.375, 0.625]])
FAMILY = po.GaussianModel([[1, 0.5, 0.25], [0.5, 1, 0.5], [0.25, 0.5, 1]])
CLOSE = po.GaussianModel([[1, 0.75, 0.5], [0.75, 1, 0.625], [0.5, 0.625, 1]])
POSED: dict[str, tuple[Any, str]] = {
    "sets": (po.LocalInformationPrivacy(NEAR, 0.5, utility=HAMMING), "cuts"),
    "sets-interval": (po.LocalInformationPrivacy(BOUNDED, 0.75, notion="ldp", utility=HAMMING), "cuts"),
    "sets-chi2": (po.LocalInformationPrivacy(ROUND, 0.5, utility=HAMMING), "cuts"),
    "sets-within": (po.DistortionPrivacy(NEAR, HAMMING, max_distortion=0.5, leakage="lip"), "cuts"),
    "sets-maximal": (po.DistortionPrivacy(NEAR, HAMMING, max_leakage=0.25, leakage="maximal_leakage"), "cuts"),
    "exceptions": (po.LocalInformationPrivacy(SMALL, 0.25, delta=0.125, utility=HAMMING), "vertices-exact"),
    "exceptions-information": (po.LocalInformationPrivacy(SMALL, upper=0.25, lower=0.5, delta=0.125), "randomised-boosting"),
    "chain": (po.BayesianPrivacy(CHAIN, "count", 1.0, mechanism="discrete_laplace"), "markov-recursion"),
    "chain-three": (po.BayesianPrivacy(CHAIN, "count", 1.0, length=3, mechanism="randomised_response"), "markov-recursion"),
    "group": (po.BayesianPrivacy(po.GroupModel(3), "sum", 1.5, clip=(0.0, 1.0)), "general"),
    "gaussian": (po.BayesianPrivacy(FAMILY, "sum", 1.0, clip=(40.0, 160.0)), "gaussian-column"),
    "gaussian-near": (po.BayesianPrivacy(CLOSE, "mean", 1.0, clip=(0.0, 8.0), length=8), "gaussian-brute-force"),
}  # fmt: skip


@cache
def files(name: str) -> tuple[Lines, ...]:
    """The proof of a problem, and the file beside it."""
    problem, solver = POSED[name]
    proof: Proof = prove(problem, po.solve(problem, solver, time_limit=30.0))
    return tuple(parsed(part.text) for part in (proof, proof.beside) if part is not None)


def accepted(lines: Lines) -> bool:
    """Whether the checker of a file accepts it."""
    kind = lines[0]["kind"]
    module = importlib.import_module("privopt.proof." + CHECKERS[kind].removesuffix(".py"))
    return accepts(lines, module, kind)


@pytest.mark.parametrize("name", POSED)
def test_honest_files_are_accepted_and_the_brute_force_agrees(name: str) -> None:
    for lines in files(name):
        assert accepted(lines)
        assert not kind_claims.broken(lines)


@pytest.mark.long
@pytest.mark.parametrize("name", POSED)
def test_no_false_claim_is_accepted(name: str) -> None:
    false = 0
    for lines in files(name):
        for seed in range(150):
            wrong = kind_claims.altered(lines, seed)
            if wrong != lines and kind_claims.broken(wrong):
                false += 1
                assert not accepted(wrong), seed
    assert false > 30


def test_each_kind_has_errors_planted() -> None:
    kinds = {lines[0]["kind"] for name in POSED for lines in files(name)}
    assert kinds == {"sets", "set_bounds", "exceptions", "chain_noise", "gaussian_noise"}
