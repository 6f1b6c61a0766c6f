"""Dynamic programming over intervals and nodes against every partition."""

from __future__ import annotations

import math
import time

import numpy as np
import pytest
from oracles.contiguous import partitions, tree_joint

import privopt as po
from privopt.models.generalisation import Generalisation, generalisation
from privopt.problems import box_partitions
from privopt.problems.box_partitions import Boxes, Threshold, best_partition, boxes_of, front_of


def instance(kind: str, rng: np.random.Generator) -> Generalisation:
    if kind == "tree":
        return generalisation(tree_joint(rng))
    return generalisation(po.JointDistribution.normalised(rng.integers(1, 9, (2, 6))))


def every(boxes: Boxes) -> list[list[int]]:
    """Every partition into boxes, by their positions."""
    place = {tuple(np.flatnonzero(row).tolist()): i for i, row in enumerate(boxes.members())}
    parts = [[tuple(sorted(block)) for block in blocks] for blocks in partitions(6)]
    return [[place[block] for block in blocks] for blocks in parts if all(block in place for block in blocks)]


@pytest.mark.parametrize("kind", ["interval", "tree"])
@pytest.mark.parametrize("seed", range(6))
def test_the_best_partition_is_the_best_of_all(kind: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    boxes = boxes_of(instance(kind, rng))
    assert boxes is not None
    assert boxes.are_all
    count = len(boxes.members())
    value = np.where(rng.random(count) < 0.3, -math.inf, rng.normal(size=count))
    joined = rng.normal(size=count)
    tried = every(boxes)
    best, most = best_partition(boxes, value), max(value[p].sum() for p in tried)
    assert (best is None) == (most == -math.inf)
    if best is not None:
        assert best.value == pytest.approx(most, abs=1e-12)
        assert value[list(best.blocks)].sum() == pytest.approx(most, abs=1e-12)
    both = best_partition(boxes, value, joined)
    most = max(value[p].sum() - value[b] + joined[b] for p in tried for b in p if value[b] > -math.inf)
    most = max(most, *(sum(value[c] for c in p if c != b) + joined[b] for p in tried for b in p))
    assert both is not None
    assert both.value == pytest.approx(most, abs=1e-12)
    assert sum(joined[b] if b == both.joined else value[b] for b in both.blocks) == pytest.approx(
        most, abs=1e-12
    )


@pytest.mark.parametrize("kind", ["interval", "tree"])
@pytest.mark.parametrize("seed", range(6))
def test_the_front_is_what_no_partition_beats(kind: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    boxes = boxes_of(instance(kind, rng))
    assert boxes is not None
    low, high = rng.normal(size=(2, len(boxes.members())))
    points = [(low[p].sum(), high[p].sum()) for p in every(boxes)]
    for weight in (0.3, 3.0):  # what may reach the threshold is not left out
        least = float(np.quantile([weight * b - a for a, b in points], 0.6))
        some = front_of(boxes, low, high, Threshold(weight, least))
        every_one = front_of(boxes, low, high)
        wanted = {
            p for p in zip(every_one.low, every_one.high, strict=True) if weight * p[1] - p[0] >= least + 1e-9
        }
        assert all(np.min(np.abs(some.low - a) + np.abs(some.high - b)) < 1e-9 for a, b in wanted)
    front = front_of(boxes, low, high)
    assert front.complete
    kept = sorted(p for p in points if not any(q[0] <= p[0] and q[1] >= p[1] and q != p for q in points))
    assert np.allclose(sorted(zip(front.low, front.high, strict=True)), kept)
    for k in range(len(front.low)):
        blocks = list(front.blocks(k))
        assert (low[blocks].sum(), high[blocks].sum()) == pytest.approx((front.low[k], front.high[k]))
        assert boxes.members()[blocks].sum(axis=0).tolist() == [1] * 6


def test_a_front_that_is_too_long_is_thinned_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    monkeypatch.setattr(box_partitions, "MOST_POINTS", 3)
    monkeypatch.setattr(box_partitions, "MOST_SUMMANDS", 2)
    for kind in ("interval", "tree"):
        boxes = boxes_of(instance(kind, rng))
        assert boxes is not None
        high = rng.random(len(boxes.members()))
        front = front_of(boxes, high + 0.01 * rng.random(len(high)), high)
        assert not front.complete
        assert len(front.low) <= 3
        for k in range(len(front.low)):
            assert high[list(front.blocks(k))].sum() == pytest.approx(front.high[k])


@pytest.mark.parametrize("kind", ["interval", "tree"])
def test_a_front_that_is_late_says_so_and_holds_partitions(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(0)
    boxes = boxes_of(instance(kind, rng))
    assert boxes is not None
    high = rng.random(len(boxes.members()))
    low = high + 0.01 * rng.random(len(high))
    whole = front_of(boxes, low, high)
    monkeypatch.setattr(box_partitions, "HURRIED", 2)
    front = front_of(boxes, low, high, deadline=0.0)
    assert whole.complete
    assert not front.complete
    assert 1 <= len(front.low) <= 2 < len(whole.low)
    for k in range(len(front.low)):
        blocks = list(front.blocks(k))
        assert boxes.members()[blocks].sum(axis=0).tolist() == [1] * 6
        assert (low[blocks].sum(), high[blocks].sum()) == pytest.approx((front.low[k], front.high[k]))


def test_a_front_is_thinned_as_the_time_runs_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """With a rate at which no stage fits, each is halved until few are left, and every point still is a partition."""
    n, rng = 30, np.random.default_rng(0)
    boxes = boxes_of(generalisation(po.JointDistribution.normalised(rng.integers(1, 9, (2, n)))))
    assert boxes is not None
    high = rng.random(len(boxes.members()))
    low = high + 0.01 * rng.random(len(high))
    monkeypatch.setattr(box_partitions, "POINTS_RATE", 1)
    front = front_of(boxes, low, high, deadline=time.monotonic() + 100.0)
    assert not front.complete
    for k in range(len(front.low)):
        blocks = list(front.blocks(k))
        assert boxes.members()[blocks].sum(axis=0).tolist() == [1] * n
        assert (low[blocks].sum(), high[blocks].sum()) == pytest.approx((front.low[k], front.high[k]))


def test_a_front_of_many_values_ends_soon_after_its_time() -> None:
    n = 200
    joint = po.JointDistribution.normalised(np.ones((2, n)))
    boxes = boxes_of(generalisation(joint))
    assert boxes is not None
    high = np.random.default_rng(0).random(len(boxes.members()))
    start = time.monotonic()
    front = front_of(boxes, high + 0.1 * high**2, high, deadline=start + 0.1)
    assert not front.complete
    assert (
        time.monotonic() - start < 10.0
    )  # generous: it takes a fraction of a second where nothing else runs


def test_too_many_boxes_are_not_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(box_partitions, "MOST_BOXES", 10)
    rng = np.random.default_rng(0)
    assert boxes_of(instance("interval", rng)) is None
    monkeypatch.setattr(box_partitions, "MOST_BOXES", 5)
    assert boxes_of(instance("tree", rng)) is None
