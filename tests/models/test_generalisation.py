"""Which blocks are contiguous: against their definition by intervals, nodes and boxes."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
import pytest
from oracles.contiguous import NODES, is_interval, partitions, tree_joint

import privopt as po
from privopt.errors import InvalidModel, InvalidProblem
from privopt.models.generalisation import generalisation


def test_intervals_are_the_blocks_of_neighbours() -> None:
    shape = generalisation(po.JointDistribution.normalised([[1, 2, 3, 4, 5]]))
    for blocks in partitions(5):
        assert (shape.fault(blocks) is None) == all(map(is_interval, blocks))


def test_nodes_are_the_blocks_of_a_hierarchy() -> None:
    joint = tree_joint(np.random.default_rng(1))
    shape = generalisation(joint)
    for blocks in partitions(6):
        named = [{joint.useful[i] for i in block} for block in blocks]
        assert (shape.fault(blocks) is None) == all(block in NODES for block in named)


def test_boxes_of_two_columns() -> None:
    ages, schools = ["young", "old"], ["low", "middle", "high"]
    frame = pd.DataFrame(
        [(s, a, b) for s in (0, 1) for a, b in itertools.product(ages, schools)],
        columns=["s", "age", "school"],
    )
    joint = po.JointDistribution.from_frame(
        frame, "s", ["age", "school"], order={"age": ages, "school": schools}
    )
    shape = generalisation(joint)
    cells = {label: (ages.index(label[0]), schools.index(label[1])) for label in joint.useful}  # type: ignore[index]
    for blocks in partitions(6):
        boxes = []
        for block in blocks:
            places = [cells[joint.useful[i]] for i in block]
            sides = [range(min(side), max(side) + 1) for side in zip(*places, strict=True)]
            boxes.append(set(places) == set(itertools.product(*sides)))
        assert (shape.fault(blocks) is None) == all(boxes)


def test_values_that_do_not_occur_and_missing_ones_are_in_nobodys_way() -> None:
    frame = pd.DataFrame({"s": [0, 1, 0, 1, 0], "x": ["a", "c", "d", None, "a"]})
    joint = po.JointDistribution.from_frame(frame, "s", "x", order={"x": list("abcd")}, missing="symbol")
    assert joint.useful == ("a", "c", "d", "(missing)")
    shape = generalisation(joint)
    assert shape.fault([[0, 1], [2]]) is None
    assert shape.fault([[0, 1, 3], [2]]) is None
    assert shape.fault([[0, 2], [1, 3]]) == "the block of x a to d leaves 'c' out"


def test_columns_without_an_order_are_refused() -> None:
    frame = pd.DataFrame({"s": [0, 1, 0], "x": ["a", "b", "a"], "y": [1, 2, 3]})
    for joint in (
        po.JointDistribution.from_frame(frame, "s", "x"),
        po.JointDistribution.normalised([[1, 1]], useful=[("a", 1), ("b", 2)]),
    ):
        with pytest.raises(
            InvalidModel, match=r"fit with bins, order or hierarchies|count the joint with from_frame"
        ):
            generalisation(joint)
        with pytest.raises(InvalidProblem):
            po.LocalInformationPrivacy(joint, 0.5, contiguous=True)
    mixed = generalisation(po.JointDistribution.from_frame(frame, "s", ["x", "y"], bins={"y": [1, 2, 3]}))
    assert [axis.kind for axis in mixed.axes] == ["any", "interval"]
