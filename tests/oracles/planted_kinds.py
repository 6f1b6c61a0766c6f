"""Proof files of the newer kinds with planted errors, from a seed, their claims judged by brute forces of their own."""

from __future__ import annotations

import importlib
from functools import cache
from typing import Any
from unittest.mock import patch

import numpy as np

import privopt as po
from oracles import kind_claims
from oracles.planted_proofs import Lines, Tally, accepts, parsed
from privopt.proof import redaction_bounds
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
NEVER = po.JointDistribution.normalised([[3, 2, 0], [1, 4, 0]])
SEEN = po.ObservedJoint(np.array([[[4, 1, 1], [1, 2, 1]], [[1, 1, 2], [2, 1, 3]]]) / 20.0)
CHAIN = po.MarkovChain([[0.75, 0.25], [0.375, 0.625]])
REVERSED = po.MarkovChain([[0.25, 0.75], [0.875, 0.125]])
PARTY = po.JointDistribution.normalised([[3, 5, 1, 2], [3, 1, 5, 2]])
REGION = po.JointDistribution.normalised([[4, 1, 1, 3], [2, 5, 5, 1]])
FAMILY = po.GaussianModel([[1, 0.5, 0.25], [0.5, 1, 0.5], [0.25, 0.5, 1]])
CLOSE = po.GaussianModel([[1, 0.75, 0.5], [0.75, 1, 0.625], [0.5, 0.625, 1]])
POSED: dict[str, tuple[Any, str | None]] = {
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
    "exceptions-sides": (po.LocalInformationPrivacy(SMALL, upper=0.25, lower=0.5, delta=0.0625, utility=HAMMING), "vertices-exact"),
    "redaction": (po.Redaction(CHAIN, 4, 1, epsilon=0.75), "optimal"),
    "redaction-weights": (po.Redaction(REVERSED, 4, 3, epsilon=0.5, weights=[1.0, 2.0, 1.0, 1.0]), "optimal"),
    "redaction-two": (po.Redaction(CHAIN, 4, (0, 3), epsilon=1.5), "windows"),
    "sequence": (po.SequenceInformationPrivacy(CHAIN, 0.5, horizon=3), "structure-lp"),
    "information": (po.LocalInformationPrivacy(SMALL, 0.25), "vertices-exact"),
    "information-tree": (po.LocalInformationPrivacy(SMALL, 0.5, notion="ldp"), "column-generation"),
    "funnel": (po.PrivacyFunnel(SMALL, min_utility=0.8), "column-generation"),
    "bottleneck": (po.InformationBottleneck(SMALL, trade_off=0.05), "column-generation"),
    "maximal": (po.DistortionPrivacy(SMALL, HAMMING, max_leakage=0.2, leakage="maximal_leakage"), None),
    "kept": (po.PostRandomisation(PARTY, "hamming", 0.375, preserve=REGION), None),
    "kept-pairs": (po.PostRandomisation([1, 2, 3], "hamming", 0.75, notion=po.Metric.line(3)), None),
    "lifts-values": (po.LocalInformationPrivacy(SMALL, upper={0: 0.25}, lower=0.5), "column-generation"),
    "lifts-values-loss": (po.LocalInformationPrivacy(NEVER, upper=[0.125, 0.25], utility=HAMMING), "vertices-systems"),
    "lifts-l1": (po.LocalInformationPrivacy(SMALL, 0.25, notion="l1"), "vertices-systems"),
    "lifts-l1-observed": (po.LocalInformationPrivacy(SEEN, 0.125, notion="l1", utility=[[0, 1], [1, 0]]), "direct-lp"),
    "lifts-chi2": (po.LocalInformationPrivacy(SMALL, 0.125, notion="chi2"), "cuts"),
    "lifts-chi2-loss": (po.LocalInformationPrivacy(NEVER, 0.0625, notion="chi2", utility=HAMMING), "cuts"),
    "lifts-average": (po.LocalInformationPrivacy(SMALL, 0.0625, notion="average"), "cuts"),
    "lifts-average-loss": (po.LocalInformationPrivacy(SMALL, 0.0625, notion="average", utility=HAMMING), "cuts"),
    "lifts-nothing": (po.LocalInformationPrivacy(SMALL, 0.0, notion="average"), "perfect-privacy"),
    "gaussian-near": (po.BayesianPrivacy(CLOSE, "mean", 1.0, clip=(0.0, 8.0), length=8), "gaussian-brute-force"),
}  # fmt: skip


@cache
def files(name: str) -> tuple[Lines, ...]:
    """The lines of a proof, and of the file beside it."""
    problem, solver = POSED[name]
    solution = po.solve(problem, solver, time_limit=60.0)
    with patch.multiple(redaction_bounds, NODES=256, LEAVES=60):  # checked many times
        proof: Proof = prove(problem, solution)
    return tuple(parsed(part.text) for part in (proof, proof.beside) if part is not None)


def accepted(lines: Lines) -> bool:
    """Whether the checker of a file accepts it."""
    kind = lines[0]["kind"]
    module = importlib.import_module("privopt.proof." + CHECKERS[kind].removesuffix(".py"))
    return accepts(lines, module, kind)


@cache
def honest() -> tuple[tuple[str, Lines], ...]:
    """All files by name."""
    return tuple((name, lines) for name in POSED for lines in files(name))


def campaign(count: int, first: int = 0) -> Tally:
    """Plant errors in all files by turns, and compare the checkers with the brute forces."""
    tally = Tally()
    for seed in range(first, first + count):
        name, lines = honest()[seed % len(honest())]
        wrong = kind_claims.altered(lines, seed)
        broken, taken = wrong != lines and kind_claims.broken(wrong), accepted(wrong)
        tally.tried += 1
        told = "broken" if broken else "true"
        tally.counts[f"{told}, {'accepted' if taken else 'refused'}"] += 1
        if taken and broken:
            tally.forged.append(f"{name}, {lines[0]['kind']}, seed {seed}")
    return tally
