"""Mergings into intervals, nodes and boxes that keep local information privacy: against every partition of few symbols."""

from __future__ import annotations

import itertools
import json
import time
from typing import Any

import numpy as np
import pandas as pd
import pytest
from instances.few import few
from oracles.contiguous import NODES, best, is_interval, tree_joint

import privopt as po
from privopt.errors import InvalidMechanism, InvalidProblem
from privopt.mechanisms.codebook import codebook
from privopt.problems import box_partitions

NAME = "contiguous-merging"


def random_joint(rng: np.random.Generator, n: int = 6, secrets: int = 2) -> po.JointDistribution:
    return po.JointDistribution.normalised(rng.integers(1, 30, (secrets, n)))


@pytest.mark.parametrize("seed", few(range(8), 4))
@pytest.mark.parametrize("notion", ["lip", "ldp"])
def test_intervals_are_the_best_of_all(seed: int, notion: str) -> None:
    rng = np.random.default_rng(seed)
    joint = random_joint(rng, secrets=int(rng.integers(2, 4)))
    for epsilon in (0.0, 0.3, 0.8):
        problem = po.LocalInformationPrivacy(joint, epsilon, notion=notion, contiguous=True)
        solution = po.solve(problem)
        assert solution.objective == pytest.approx(best(problem, is_interval), abs=1e-12)
        assert solution.status is po.Status.OPTIMAL
        assert po.verify(problem, solution).ok


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(
    "bounds",
    [
        {"epsilon": 0.2, "notion": "l1"},
        {"epsilon": 0.1, "notion": "chi2"},
        {"epsilon": 0.05, "notion": "average"},
        {"epsilon": 0.0, "notion": "chi2"},
        {"upper": {0: 0.2}},
        {"lower": [0.3, 0.6, 0.2], "upper": 0.4},
    ],
)
def test_intervals_are_the_best_of_all_under_bounds_of_the_lift_family(
    bounds: dict[str, Any], seed: int
) -> None:
    joint = random_joint(np.random.default_rng(seed), secrets=3)
    problem = po.LocalInformationPrivacy(joint, contiguous=True, **bounds)
    solution = po.solve(problem)
    assert solution.objective == pytest.approx(best(problem, is_interval), abs=1e-12)
    assert solution.status is po.Status.OPTIMAL
    assert po.verify(problem, solution).ok
    alone = po.Merging([[label] for label in joint.useful], joint.useful)
    assert problem.certify(problem.repair(alone, 2**-44)).ok


@pytest.mark.parametrize("seed", range(4))
def test_nodes_are_the_best_of_all_and_name_the_blocks(seed: int) -> None:
    joint = tree_joint(np.random.default_rng(seed))
    problem = po.LocalInformationPrivacy(joint, 0.35, contiguous=True)
    solution = po.solve(problem)
    known = best(problem, lambda block: {joint.useful[i] for i in block} in NODES)
    assert solution.objective == pytest.approx(known, abs=1e-12)
    assert solution.status is po.Status.OPTIMAL
    book = codebook(solution.mechanism, joint.useful, joint.p_x)  # type: ignore[arg-type]  # a merging
    names = {"anything", *(f"x {name}" for name in ("A", "left", "D", *"abcdef"))}
    names |= {"x right"}
    assert {entry.suggestion for entry in book} <= names


def test_boxes_of_two_columns_are_the_best_of_all() -> None:
    rng = np.random.default_rng(2)
    ages, schools = ["young", "old"], ["low", "middle", "high"]
    cells = list(itertools.product((0, 1), ages, schools))
    rows = [cell for cell in cells for _ in range(int(rng.integers(2, 40)))]
    joint = po.JointDistribution.from_frame(
        pd.DataFrame(rows, columns=["s", "age", "school"]), "s", ["age", "school"],
        order={"age": ages, "school": schools},
    )  # fmt: skip
    for epsilon in (0.1, 0.3, 0.6, 1.0):
        problem = po.LocalInformationPrivacy(joint, epsilon, contiguous=True)
        solution = po.solve(problem)
        known = best(problem, lambda block, shape=problem.shape: shape.fault([block]) is None)
        assert solution.objective == pytest.approx(known, abs=1e-12)
        assert problem.shape.fault(_blocks(problem, solution.mechanism)) is None


def _blocks(problem: Any, mechanism: Any) -> list[list[int]]:
    return [np.flatnonzero(mechanism.assignment == y).tolist() for y in range(len(mechanism.blocks))]


@pytest.mark.parametrize("seed", range(4))
def test_missing_and_rare_values_join_a_block_where_they_leak(seed: int) -> None:
    rng = np.random.default_rng(seed)
    joint = random_joint(rng, 5)
    cells = [(s, x) for s in range(2) for x in range(5) for _ in range(int(joint.exact.weights[s * 5 + x]))]
    rows = [*cells, *[(0, None)] * 3, (1, None), *[(1, None)] * seed]
    frame = pd.DataFrame(rows, columns=["s", "x"]).astype({"x": "Int64"})
    known = po.JointDistribution.from_frame(
        frame.astype(object).where(frame.notna(), None), "s", "x", order={"x": range(5)}, missing="symbol"
    )
    problem = po.LocalInformationPrivacy(known, 0.4, contiguous=True)
    solution = po.solve(problem)
    assert solution.status.ok
    assert problem.shape.fault(_blocks(problem, solution.mechanism)) is None
    least = po.LocalInformationPrivacy(known, 0.4)
    ceiling = best(least, lambda block: is_interval([i for i in block if i < 5] or [0]))
    assert ceiling is not None
    assert solution.objective is not None
    assert solution.objective <= ceiling + 1e-12
    assert solution.objective >= 0.5 * ceiling


def test_only_contiguous_blocks_are_judged() -> None:
    joint = random_joint(np.random.default_rng(0), 4)
    problem = po.LocalInformationPrivacy(joint, 5.0, contiguous=True)
    assert problem.evaluate(po.Merging([[0, 1], [2, 3]])).feasible
    with pytest.raises(InvalidMechanism, match="the block of X 0 to 2 leaves 1 out"):
        problem.evaluate(po.Merging([[0, 2], [1], [3]], range(4)))
    with pytest.raises(InvalidMechanism, match="which a Merging has: got a Channel"):
        problem.evaluate(po.Channel(np.eye(4)))
    other = [c for c in po.candidates(problem) if c.name != NAME]
    assert all("which it does not keep to" in str(c.refusal) for c in other)
    free = po.LocalInformationPrivacy(joint, 5.0)
    assert "does not ask for" in str(next(c.refusal for c in po.candidates(free) if c.name == NAME))
    apart = po.Merging([[0], [1], [2], [3]])
    assert problem.repair(apart, 2.0**-24) is apart
    assert len(problem.with_budget(0.0).repair(apart, 2.0**-24).outputs) == 1


def test_orders_count_in_the_fingerprint_only_where_blocks_are_contiguous() -> None:
    frame = pd.DataFrame({"s": [0, 1, 0, 1, 1], "x": ["a", "b", "c", "b", "a"]})
    one, other = (
        po.JointDistribution.from_frame(frame, "s", "x", order={"x": order})
        for order in (list("abc"), list("acb"))
    )
    plain = po.LocalInformationPrivacy(one, 0.5)
    assert "contiguous" not in plain.to_dict()
    shuffled = po.JointDistribution.from_dict({**one.to_dict(), "columns": other.to_dict()["columns"]})
    assert po.LocalInformationPrivacy(shuffled, 0.5).fingerprint == plain.fingerprint
    asked = po.LocalInformationPrivacy(one, 0.5, contiguous=True)
    assert po.LocalInformationPrivacy(shuffled, 0.5, contiguous=True).fingerprint != asked.fingerprint
    again = po.problem_from_dict(json.loads(json.dumps(asked.to_dict())))
    assert (again, again.contiguous, again.fingerprint) == (asked, True, asked.fingerprint)
    assert asked.with_budget(0.1).contiguous


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"utility": [[0, 1], [1, 0], [1, 1]]}, "leave utility at"),
        ({"contiguous": "yes"}, "must be True or False"),
    ],
)
def test_what_does_not_fit_is_refused(options: Any, match: str) -> None:
    joint = random_joint(np.random.default_rng(0), 3)
    with pytest.raises(InvalidProblem, match=match):
        po.LocalInformationPrivacy(joint, 0.5, **{"contiguous": True, **options})
    with pytest.raises(InvalidProblem, match="give a JointDistribution"):
        po.LocalInformationPrivacy(po.ObservedJoint.full_data(joint), 0.5, contiguous=True)
    unseen = po.JointDistribution.normalised([[1, 0, 2], [2, 0, 1]])
    with pytest.raises(InvalidProblem, match="the symbol 1 has probability 0"):
        po.LocalInformationPrivacy(unseen, 0.5, contiguous=True)


def test_too_many_boxes_are_cut_one_after_the_other(monkeypatch: pytest.MonkeyPatch) -> None:
    joint = random_joint(np.random.default_rng(3), 12)
    problem = po.LocalInformationPrivacy(joint, 0.4, contiguous=True)
    best_known = po.solve(problem, NAME).objective
    monkeypatch.setattr(box_partitions, "MOST_BOXES", 10)
    solution = po.solve(problem, NAME)
    assert solution.status.ok
    assert solution.status is po.Status.GAP
    assert best_known is not None
    assert solution.objective is not None
    assert 0.5 * best_known <= solution.objective <= best_known + 1e-12


def test_a_probability_of_violations_is_kept() -> None:
    joint = random_joint(np.random.default_rng(4))
    problem = po.LocalInformationPrivacy(joint, 0.3, delta=0.05, contiguous=True)
    solution = po.solve(problem)
    assert solution.status.ok
    assert problem.prove_bound({"kind": "contiguous"}) is None


def ordered(*lengths: int) -> po.JointDistribution:
    """Random rows of columns with so many values each."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({f"x{j}": rng.integers(0, n, 8000) for j, n in enumerate(lengths)})
    useful = list(frame.columns)
    order = {name: list(range(n)) for name, n in zip(useful, lengths, strict=True)}
    frame["s"] = (frame.sum(axis=1) + rng.normal(0, 5, 8000) > sum(lengths) / 2).astype(int)
    return po.JointDistribution.from_frame(frame, "s", useful, order=order)


def test_longer_columns_are_predicted_to_take_longer() -> None:
    seconds = []
    for lengths in ((20,), (80,), (200,)):
        problem = po.LocalInformationPrivacy(ordered(*lengths), 0.5, contiguous=True)
        (candidate,) = [c for c in po.candidates(problem) if c.name == NAME]
        seconds.append(candidate.seconds or 0.0)
    assert 0 < seconds[0] < seconds[1] < seconds[2]


def test_little_time_gives_the_best_so_far() -> None:
    problem = po.LocalInformationPrivacy(ordered(10, 8, 8), 0.5, contiguous=True)
    for limit in (0.05, 0.5):
        start = time.monotonic()
        solution = po.solve(problem, NAME, time_limit=limit)
        assert time.monotonic() - start < 20.0  # generous: a second on an idle machine
        assert solution.status.ok or solution.status is po.Status.TIME_OUT
        assert not solution.status.ok or problem.certify(solution.mechanism).ok
