"""The smallest files about sets of distributions, made by hand."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from oracles.crafted_files import FIFTH, GONE, HALF, LINES, Planted, above, lines
from oracles.planted_proofs import Lines
from privopt.proof import checker_set_bounds
from privopt.proof.rationals import written

INTERVAL = {"kind": "interval", "lower": ["1/2", "1/4"], "upper": ["3/4", "1/2"]}
VARIATION = {"kind": "total_variation", "center": ["1/3", "2/3"], "radius": "1/8"}
BALL = {"kind": "chi2", "center": ["1/3", "2/3"], "radius": "1/4"}
EVEN = {"kind": "interval", "lower": ["1/2", "1/2"], "upper": ["1/2", "1/2"]}
BASE: dict[str, Any] = {
    "distribution": LINES,
    "notion": "lip",
    "levels": {"upper": HALF},
    "rows": [INTERVAL, VARIATION],
    "prior": EVEN,
    "loss": [[0, 1], [1, 0]],
}


def sets() -> Iterator[Lines]:
    """All kinds of sets and notions; each claim."""
    near: Any = {"rows": [[6, 5], [5, 6]]}
    both = {"upper": HALF, "lower": FIFTH}
    wide = {"kind": "interval", "lower": [0, 0], "upper": [1, 1]}
    yield lines("sets", BASE, near, {"cost": "5/11", "worst": "6/11", "information": 0})
    yield lines("sets", {**BASE, "prior": VARIATION, "levels": both}, near, {"worst": "6/11"})
    yield lines("sets", {**BASE, "notion": "ldp", "rows": [BALL, INTERVAL]}, near, {"cost": "5/11"})
    yield lines(
        "sets", {**BASE, "notion": "maximal", "prior": wide}, {"rows": [[2, 1], [1, 2]]}, {"worst": "1/2"}
    )
    never: Any = {
        **BASE, "distribution": [[2, 1, 0], [1, 2, 0]], "loss": [[0, 1], [1, 0], [0, 0]], "levels": both,
        "rows": [{"kind": "interval", "lower": ["1/2", "1/4", 0], "upper": ["3/4", "1/2", 0]}, {"kind": "total_variation", "center": ["1/3", "2/3", 0], "radius": 0}],
    }  # fmt: skip
    yield lines("sets", never, {"rows": [[6, 5], [5, 6], [1, 1]]}, {"cost": "5/11"})
    yield lines(
        "sets",
        {**never, "notion": "ldp", "levels": {"upper": FIFTH}},
        {"rows": [[12, 11], [11, 12], [1, 1]]},
        {"cost": "1/2"},
    )
    three: Any = {
        "distribution": [[2, 1, 1], [1, 2, 1], [1, 1, 2]], "notion": "lip", "levels": both, "loss": [[0, 1], [1, 0], [1, 1]],
        "rows": [
            {"kind": "chi2", "center": ["1/2", "1/4", "1/4"], "radius": "1/2"},
            {"kind": "total_variation", "center": ["1/4", "1/2", "1/4"], "radius": "1/3"},
            {"kind": "interval", "lower": ["1/8", "1/4", "1/4"], "upper": ["1/4", "1/2", "3/4"]},
        ],
        "prior": {"kind": "chi2", "center": ["1/3", "1/3", "1/3"], "radius": "3/2"},
    }  # fmt: skip
    yield lines("sets", three, {"rows": [[12, 11], [11, 12], [1, 1]]}, {"worst": "9/10"})
    absent = {"kind": "interval", "lower": [0, 1, 0], "upper": [0, 1, 0]}
    yield lines("sets", {**three, "prior": absent}, {"rows": [[2, 1], [1, 1], [1, 2]]}, {"worst": 1})


def set_bounds_file(problem: Any, members: Any, prices: Any) -> Lines:
    """A file with the best bound that prices at members prove."""
    proof = {"members": members, "prices": prices}
    bound = checker_set_bounds.least_cost(problem, above(problem), proof)
    return lines("set_bounds", problem, {}, {}, {**proof, "bound": written(bound)})


def set_bounds() -> Iterator[Lines]:
    """Log-lifts and ratios, members of each kind of set."""
    member = [["1/2", "1/2"], ["3/4", "1/4"], ["11/24", "13/24"]]
    other = [["1/2", "1/2"], ["1/2", "1/2"], ["1/3", "2/3"]]

    yield set_bounds_file(BASE, [member, other], [[0, 0, None, ["1/6", 0]], [1, 1, None, [0, "1/6"]]])
    yield set_bounds_file(
        {**BASE, "levels": {"upper": HALF, "lower": FIFTH}},
        [member],
        [[0, None, 0, ["1/6", 0]], [0, 1, None, [0, "1/6"]]],
    )
    ball = [["1/2", "1/2"], ["1/2", "1/2"], ["1/3", "2/3"]]
    yield set_bounds_file(
        {**BASE, "notion": "ldp", "rows": [INTERVAL, BALL]},
        [ball],
        [[0, 0, 1, ["1/6", 0]], [0, 1, 0, [0, "1/6"]]],
    )
    edge: Any = {"kind": "chi2", "center": ["1/2", "1/2", 0], "radius": "1/2"}
    rim = [["1/2", "1/2"], ["3/4", "1/4", 0], ["1/4", "3/4", 0]]
    yield set_bounds_file(
        {
            **BASE,
            "distribution": [[2, 1, 0], [1, 2, 0]],
            "loss": [[0, 1], [1, 0], [1, 1]],
            "rows": [edge, edge],
        },
        [rim],
        [[0, 0, None, ["1/6", 0]]],
    )
    single = [[1, 0], ["1/2", "1/2"], ["1/3", "2/3"]]
    free = {"kind": "interval", "lower": [0, 0], "upper": [1, 1]}
    yield set_bounds_file({**BASE, "prior": free}, [single], [[0, 0, None, ["1/6", 0]]])


PLANTED: Planted = {
    "sets": [
        (0, (1, "levels", "upper"), GONE),
        (0, (1, "levels", "upper", "below"), "3/4"),
        (0, (1, "rows", 0, "lower", 0), "3/2"),
        (0, (1, "rows", 1, "kind"), "lip"),
        (0, (1, "rows", 1, "center", 0), "1000000000000003/3000000000000000"),
        (0, (1, "rows", 1, "radius"), "-1/8"),
        (0, (1, "loss", 0, 0), "1/1000000000000000"),
        (0, (3, "worst"), "3/11"),
        (0, (3, "information"), 1),
        (3, (1, "levels", "upper", "below"), "3/4"),
    ],
    "set_bounds": [
        (0, (1, "distribution", 0, 0), 1000002),
        (0, (1, "notion"), "ldp"),
        (0, (1, "notion"), "pairs"),
        (0, (1, "rows", 0, "lower", 0), "500000000000001/1000000000000000"),
        (0, (1, "rows", 1, "center", 0), "1000000000000003/3000000000000000"),
        (0, (4, "prices", 0, 3, 0), "-1/6"),
        (2, (1, "rows", 1, "radius"), "-1/4"),
    ],
}


def more() -> Iterator[Lines]:
    """What a change of one place does not reach."""
    yield [*next(sets()), {}]
    claimed = next(set_bounds())
    claimed[3] = {"cost": 0}
    yield claimed
