"""The smallest files about single releases, made by hand: informations, exceptions, kept tables, trade-offs, lifts."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

from oracles.crafted_files import FIFTH, GONE, HALF, LINES, QUARTER, TWICE, Planted, above, lines, lip
from oracles.planted_proofs import Lines
from privopt.proof import (
    checker_exceptions,
    checker_information,
    checker_lift_family,
    checker_post_randomisation,
    checker_trade_off,
)
from privopt.proof.rationals import written

PAIRED = [[2, 1, 4], [1, 2, 2]]
"""Two inputs that say the same of the secret, and one that says otherwise."""


def information_file(problem: Any, rows: Any, proof: Any, claim: Any = 0) -> Lines:
    """A file with the best bound that its prices prove."""
    bound = checker_information.most_information(problem, above(problem), proof, 32)
    return lines(
        "information", problem, {"rows": rows}, {"information": claim}, {**proof, "bound": written(bound)}
    )


def information() -> Iterator[Lines]:
    """With vertices and with trees; with a useful symbol of its own, inputs and secrets that never occur."""

    two = [[5, 4], [4, 5]]
    leaf = {"slopes": ["1/3", "-1/5"], "rows": [[0, "1/7"], [1, "1/9"]]}
    flat = {"slopes": [1, 2], "rows": []}
    said = checker_information.information([[15, 12], [12, 15]], 32)[0]
    yield information_file(lip(), two, {"prices": ["1/10", "1/20"]}, written(said))
    yield information_file(
        lip(), two, {"prices": ["1/10", "1/20"], "tree": [{"x": 0, "at": "1/2"}, leaf, flat]}
    )
    yield information_file(
        lip(),
        two,
        {
            "prices": ["1/10", "1/20"],
            "tree": [{"x": 1, "at": "1/3"}, leaf, {"x": 0, "at": "2/3"}, flat, leaf],
        },
    )
    allowed = checker_information.Posteriors(lip(), above(lip()), ["1/10", "1/20"], 32)
    most = written(allowed.leaf([Fraction(0)] * 2, [Fraction(1)] * 2, leaf) + Fraction(1, 5))
    for enough, ends in (
        ("-1/2", ("1/4", "1/2")),
        (-5, ("1/4", "1/2")),
        (most, ("1/4", "1/2")),
        (-5, (0, 1)),
    ):
        cut = {**leaf, "cuts": [[0, 0, ends[0]], [1, 1, ends[1]]], "enough": enough, "x": 1, "at": "1/8"}
        yield information_file(lip(), two, {"prices": ["1/10", "1/20"], "tree": [cut, leaf, flat]})
    yield information_file(
        lip(distribution=[[2, 1, 1], [1, 2, 1]], useful=[[2, 1, 2], [1, 2, 0]], levels={"upper": HALF, "lower": FIFTH}),
        [[5, 4], [4, 5], [1, 1]], {"prices": ["1/10", "1/20", "-1/8"]},
    )  # fmt: skip
    yield information_file(
        lip(notion="ldp", distribution=[[2, 1, 0], [0, 0, 0], [1, 2, 0]], levels={"upper": HALF}),
        [[5, 4], [4, 5], [1, 1]], {"prices": ["1/10", "1/20"]},
    )  # fmt: skip
    three = [[3, 1, 1], [1, 3, 1], [1, 1, 3]]
    yield information_file(
        lip(distribution=three, levels={"upper": QUARTER}),
        [[3, 2, 2], [2, 3, 2], [2, 2, 3]],
        {"prices": ["1/10", "1/20", 0]},
    )
    for tree in ({}, {"tree": [leaf]}):
        classes = {"prices": ["1/10", "1/20"], "classes": [0, 1, 0], **tree}
        yield information_file(lip(distribution=PAIRED), [*two, [5, 4]], classes)


def exceptions_file(problem: Any, rows: Any, proof: Any, claim: Any) -> Lines:
    """A file with the best bound that its prices prove."""
    bits = 32
    bound = (
        checker_exceptions.least_cost(problem, above(problem), proof)
        if "cost" in claim
        else checker_exceptions.most_said(problem, above(problem), proof, bits)
    )
    return lines("exceptions", problem, {"rows": rows}, claim, {**proof, "bound": written(bound)})


def exceptions() -> Iterator[Lines]:
    """Losses and informations; exceptions from above, from below and none; an input and a secret that never occur."""
    loss: Any = {"loss": [[0, 1], [1, 0]]}
    problem: Any = {"distribution": LINES, "delta": "1/3", "levels": {"upper": FIFTH}, **loss}

    every = [[[0, ["1/6", 0]], [1, [0, "1/6"]]], [[1, ["1/7", "1/5"]]], [[0, ["1/7", "1/5"]]], []]
    yield exceptions_file(problem, [[1, 0], [1, 2]], {"price": "1/2", "prices": every}, {"cost": "1/6"})
    yield exceptions_file(
        {**problem, "delta": "2/3"}, [[1, 0], [0, 1]], {"price": 0, "prices": every}, {"cost": 0}
    )
    sides = {"upper": HALF, "lower": FIFTH}
    least = [[[2, ["1/6", 0]], [1, [0, "1/6"]]], [[1, ["1/7", "1/5"]]], [[0, ["1/7", "1/5"]]], []]
    yield exceptions_file(
        {**problem, "delta": 1, "levels": sides},
        [[1, 0], [0, 1]],
        {"price": "1/3", "prices": least},
        {"cost": 0},
    )
    never = {**problem, "distribution": [[2, 1, 0], [0, 0, 0], [1, 2, 0]], "loss": [[0, 1]] * 3}
    yield exceptions_file(never, [[6, 4], [4, 6], [1, 1]], {"price": "1/2", "prices": every}, {"cost": "1/2"})
    said: Any = {"distribution": LINES, "delta": "1/8", "levels": {"upper": FIFTH}}
    yield exceptions_file(
        said, [[5, 4], [4, 5]], {"price": "1/2", "prices": ["1/10", "1/20"]}, {"information": 0}
    )
    useful = {**said, "distribution": [[2, 1, 1], [1, 2, 1]], "useful": [[2, 1, 2], [1, 2, 0]]}
    yield exceptions_file(
        useful,
        [[5, 4], [4, 5], [1, 1]],
        {"price": "1/3", "prices": ["1/10", "1/20", "-1/8"]},
        {"information": 0},
    )
    yield exceptions_file(
        {**said, "distribution": [[2, 1, 0], [0, 0, 0], [1, 2, 0]]},
        [[5, 4], [4, 5], [1, 1]],
        {"price": "1/3", "prices": ["1/10", "1/20"]},
        {"information": 0},
    )


def post_randomisation_file(problem: Any, rows: Any, proof: Any, cost: Any) -> Lines:
    """A file with the best bound that its prices prove."""
    bound = checker_post_randomisation.least_cost(problem, above(problem), proof)
    return lines(
        "post_randomisation", problem, {"rows": rows}, {"cost": cost}, {**proof, "bound": written(bound)}
    )


def post_randomisation() -> Iterator[Lines]:
    """Two symbols and three, log-lifts and pairs, with and without a table that is kept."""

    loss = [[0, 1], [1, 0]]
    plain = lip(kept=[], loss=loss, levels={"upper": HALF})
    prices = [[0, ["1/6", 0]], [1, [0, "1/6"]]]
    yield post_randomisation_file(
        plain, [[2, 1], [1, 2]], {"kept": [["1/12", "-1/12"]], "prices": prices}, "1/3"
    )
    table = lip(
        distribution=[[1, 1, 1], [2, 2, 1]],
        kept=[[1, 1, 2], [1, 1, 0]],
        loss=[[0, 1, 2], [1, 0, 2], [2, 1, 0]],
        levels={"upper": HALF},
    )
    kept = [[0, "1/9", "1/8"], ["1/7", 0, "-1/9"], [0, 0, "1/5"]]
    yield post_randomisation_file(
        table, [[1, 1, 0], [1, 1, 0], [0, 0, 2]], {"kept": kept, "prices": [[1, ["1/6", 0, "1/9"]]]}, "3/8"
    )
    pairs = {
        "notion": "pairs",
        "distribution": [[1, 1]],
        "pairs": [[0, 1, "near"]],
        "slack": 0,
        "levels": {"near": HALF},
        "kept": [],
        "loss": loss,
    }
    yield post_randomisation_file(
        pairs, [[3, 2], [2, 3]], {"kept": [["1/12", "-1/12"]], "prices": prices}, "2/5"
    )


def trade_off_file(problem: Any, rows: Any, *proofs: Any, **claim: Any) -> Lines:
    """A file with the best bounds that trees prove."""
    full = []
    for proof in proofs:
        bound = checker_trade_off.most(problem, proof, 32)
        full.append({**proof, "bound": written(bound)})
    return lines("trade_off", problem, {"rows": rows}, claim, *full)


def trade_off() -> Iterator[Lines]:
    """Informations, maximal leakage and losses; bounds of funnels and bottlenecks with splits of both kinds."""

    problem: Any = {"distribution": LINES, "loss": [[0, 1], [1, 0]]}
    rows = [[3, 1], [1, 3]]
    secret = [written(v) for v in checker_trade_off.information([[21, 15], [15, 21]], 32)]
    useful = [written(v) for v in checker_trade_off.information([[27, 9], [9, 27]], 32)]
    leak = {"level": "1/4", "below": "7/6", "above": "4/3"}
    leaf = {"slopes": ["1/3", "-1/5"], "r": ["1/2", "1/3"]}
    other = {"slopes": [1, "2/3"], "r": [3, 5]}
    split = {"x": 0, "at": "1/2"}
    funnel = {"secret": -1, "useful": "1/3", "prices": ["1/10", "1/20"]}
    neck = {"secret": 1, "useful": "-1/3", "prices": ["1/10", "1/20"]}
    yield trade_off_file(problem, rows, secret=secret, useful=useful, maximal=leak, cost="1/4")
    yield trade_off_file(problem, rows, {**funnel, "tree": [leaf]}, {**neck, "tree": [other]})
    yield trade_off_file(
        problem,
        rows,
        {**funnel, "tree": [split, leaf, other]},
        {**neck, "tree": [{"x": 1, "at": "1/2"}, leaf, {"x": 0, "at": "1/2"}, other, leaf]},
    )
    wide: Any = {"distribution": [[3, 1, 1], [1, 3, 1]]}
    leaves = [{"slopes": ["1/3", "-1/5", v], "r": [1, 2]} for v in ("1/7", 1, 0)]
    support = [{"support": 0}, leaves[0], {"support": 1}, leaves[1], leaves[2]]
    yield trade_off_file(
        wide, [[3, 1], [1, 3], [1, 1]], {**funnel, "prices": ["1/10", "1/20", 0], "tree": support}
    )
    box = [
        {"x": 2, "at": "1/4"},
        leaves[0],
        {"x": 0, "at": "2/3"},
        leaves[1],
        {"x": 1, "at": "1/3"},
        leaves[2],
        leaves[0],
    ]
    yield trade_off_file(
        wide, [[3, 1], [1, 3], [1, 1]], {**funnel, "prices": ["1/10", "1/20", 0], "tree": box}
    )
    apart: Any = {"distribution": [[3, 1, 0], [1, 3, 0]], "useful": [[1, 2, 0], [3, 2, 0]]}
    yield trade_off_file(
        apart,
        [[3, 1], [1, 3], [1, 1]],
        {**funnel, "tree": [split, leaf, other]},
        {**neck, "tree": [leaf]},
        {**funnel, "useful": 0, "secret": -1, "tree": [leaf]},
    )
    certain: Any = {"distribution": [[3, 0], [0, 0], [0, 2]]}
    yield trade_off_file(certain, [[1, 0], [0, 1]], {**neck, "tree": [{"slopes": [0, 0, 0], "r": [1, 1]}]})
    classes = {"classes": [0, 1, 0], "tree": [split, leaf, other]}
    yield trade_off_file(
        {"distribution": PAIRED}, [*rows, [2, 1]], {**funnel, **classes}, {**neck, **classes}
    )


def lift_family_file(problem: Any, rows: Any, claim: Any, proof: Any) -> Lines:
    """A file with the best bound that its prices prove."""
    factors = above(problem) if "levels" in problem else {}
    ways = checker_lift_family.half_spaces(problem, factors, proof, 32)
    if "cost" in claim:
        bound = checker_lift_family.least_cost(problem, ways, proof)
    else:
        bound = checker_lift_family.most_said(problem, ways, proof, 32)
    return lines("lift_family", problem, {"rows": rows}, claim, {**proof, "bound": written(bound)})


def lift_family() -> Iterator[Lines]:
    """Bounds of single values and of each divergence, losses and informations, inputs that never occur."""
    loss: Any = {"loss": [[0, 1], [1, 0]]}

    values: Any = {
        "distribution": LINES,
        "notion": "values",
        "levels": {"a": FIFTH, "b": HALF},
        "bounds": [[0, 1, "a"], [1, -1, "b"]],
    }
    prices = [[0, ["1/6", 0]], [1, [0, "1/6"]]]
    yield lift_family_file({**values, **loss}, [[5, 4], [4, 5]], {"cost": "4/9"}, {"prices": prices})
    yield lift_family_file(values, [[5, 4], [4, 5]], {"information": 0}, {"prices": ["1/10", "1/20"]})
    never: Any = {**values, "distribution": [[2, 1, 0], [1, 2, 0]], "loss": [[0, 1], [1, 0], [0, 0]]}
    yield lift_family_file(never, [[5, 4], [4, 5], [1, 1]], {"cost": "4/9"}, {"prices": prices})
    ways = {
        "l1": {"along": [1, -1], "far": "1/8"},
        "chi2": {"along": [1, -1], "far": "3/8"},
        "average": {"along": [1, -1], "far": "3/4", "powers": ["11/4", "3/8"]},
    }
    for (notion, way), bound in zip(ways.items(), ("1/8", "1/8", "1/8"), strict=True):
        problem: Any = {"distribution": LINES, "notion": notion, "bound": bound}
        other = {**way, "along": [-1, 1], **({"powers": ["3/8", "11/4"]} if notion == "average" else {})}
        yield lift_family_file(
            {**problem, **loss},
            [[5, 4], [4, 5]],
            {"cost": "4/9"},
            {"directions": [way, other], "prices": prices},
        )
        leaf = {"slopes": ["1/3", "-1/5"], "rows": [[0, "1/7"]]}
        tree = {"prices": ["1/10", "1/20"], "tree": [{"x": 0, "at": "1/2"}, leaf, leaf]}
        yield lift_family_file(
            problem, [[5, 4], [4, 5]], {"information": 0}, {"directions": [way, other], **tree}
        )
        apart: Any = {**problem, "distribution": [[2, 1, 0], [1, 2, 0]]}
        yield lift_family_file(
            apart,
            [[5, 4], [4, 5], [1, 1]],
            {"information": 0},
            {"directions": [way], "prices": ["1/10", "1/20"]},
        )


PLANTED: Planted = {
    "information": [
        (0, (1, "distribution", 0, 0), 1000002),
        (0, (1, "slack"), 1),
        (0, (1, "slack"), 1),
        (1, (4, "tree", 0), TWICE),
        (1, (4, "tree", 1, "rows", 0, 1), "-1/7"),
        (3, (4, "tree", 0, "enough"), 0),
        (3, (4, "tree", 0, "cuts", 0, 1), -1),
        (4, (4, "tree", 0, "cuts", 0, 2), "5/4"),
        (7, (1, "distribution", 0), TWICE),
    ],
    "exceptions": [
        (0, (1, "distribution", 0), TWICE),
        (0, (1, "distribution", 0, 1), 0),
        (0, (1, "loss", 0, 0), 1),
        (0, (3, "cost"), GONE),
        (0, (4, "prices", 0, 0, 1, 1), -1),
        (1, (4, "price"), "-1/1000000000000000"),
        (3, (1, "distribution", 0, 0), 1000002),
        (4, (3, "information"), 1),
    ],
    "post_randomisation": [
        (0, (1, "distribution", 0, 0), 1),
        (0, (1, "slack"), 1),
        (0, (1, "levels", "upper", "above"), 3),
        (0, (1, "loss", 0), TWICE),
        (0, (4, "prices", 0, 1, 0), "-1/6"),
    ],
    "trade_off": [
        (0, (1, "distribution", 0), GONE),
        (0, (1, "loss", 0), TWICE),
        (0, (3, "maximal", "level"), "1/8"),
        (1, (1, "distribution", 0), GONE),
        (1, (4, "secret"), 1),
        (2, (4, "tree", 0), TWICE),
    ],
    "lift_family": [
        (0, (1, "distribution", 0, 0), 1),
        (0, (1, "levels", "a", "below"), "3/5"),
        (0, (1, "bounds", 0, 1), 2),
        (0, (1, "loss", 0), TWICE),
        (0, (4, "prices", 0, 1, 1), -1),
        (1, (3, "information"), 1),
        (3, (1, "distribution", 0, 0), 3),
        (3, (1, "bound"), "-1/8"),
        (5, (1, "distribution", 0, 1), 0),
        (9, (1, "notion"), "lip"),
    ],
}


def more() -> Iterator[Lines]:
    """What a change of one place does not reach."""
    bare = next(exceptions())[:4]
    bare[1]["levels"], bare[3] = {"other": HALF}, {}
    yield bare
    below = list(exceptions())[4]
    below[4].update(price=-1, bound=10**6)
    yield below
    worst: Any = {"distribution": LINES, "loss": [[-3, 0], [0, 2]], "worst": True}
    yield lines("trade_off", worst, {"rows": [[1, 0], [0, 1]]}, {"cost": -1})
    told = list(trade_off())[3]
    told[1]["useful"] = [[4, 0, 0], [0, 4, 0], [0, 0, 2]]
    yield told
