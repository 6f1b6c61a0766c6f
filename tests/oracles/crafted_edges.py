"""Files that only a program with a small mistake judges otherwise: at the edge of a rule, or where two ways to compute differ."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

from oracles.crafted_files import FIFTH, HALF, LINES, QUARTER, TINY, changed, lines, lip
from oracles.crafted_releases import (
    PAIRED,
    exceptions_file,
    information_file,
    lift_family_file,
    trade_off_file,
)
from oracles.crafted_streams import sequence_file
from oracles.planted_proofs import Lines
from privopt.proof import checker, checker_information, checker_lift_family
from privopt.proof.rationals import written

TWO = [[5, 4], [4, 5]]
"""Two releases that say little."""
LOSS: Any = {"loss": [[0, 1], [1, 0]]}
LEAF = {"slopes": ["1/3", "-1/5"], "rows": [[0, "1/7"], [1, "1/9"]]}


def near(file: Lines) -> Iterator[Lines]:
    """A file with each claim and each bound a little larger, and a little smaller."""
    for place, line in enumerate(file[3:], 3):
        for key in ("cost", "information", "worst", "released", "bound"):
            for step in (TINY, -TINY) if key in line else ():
                yield changed(file, (place, key), written(checker.number(line[key]) + step))


def information() -> Iterator[Lines]:
    """One leaf, a price of 0, an input that a secret excludes, one release for all, pairs without a bound."""
    yield information_file(lip(), TWO, {"prices": ["1/10", "1/20"], "tree": [LEAF]})
    free = {**LEAF, "rows": [[0, "1/7"], [1, 0]]}
    yield information_file(lip(), TWO, {"prices": ["1/10", "1/20"], "tree": [free]})
    sides = lip(distribution=[[2, 1, 0], [1, 2, 0]], levels={"upper": HALF, "lower": FIFTH})
    numbered = {"slopes": ["1/3", "-1/5", 0], "rows": [[2, "1/7"], [3, "1/9"]]}
    yield information_file(sides, [*TWO, [1, 1]], {"prices": ["1/10", "1/20"], "tree": [numbered]})
    excluded = lip(distribution=[[2, 1, 0], [0, 1, 2]], levels={"upper": HALF})
    yield information_file(excluded, [[5, 4], [1, 1], [4, 5]], {"prices": ["1/10", "1/20", 0]})
    yield information_file(
        {**excluded, "notion": "ldp"}, [[5, 4], [1, 1], [4, 5]], {"prices": ["1/10", "1/20", 0]}
    )
    alike = information_file(lip(), [[1, 1]] * 2, {"prices": ["1/10", "1/20"]})
    alike[2] = {"rows": [[1, 1]], "of": [0, 0]}
    yield alike


def exceptions() -> Iterator[Lines]:
    """One level alone, secrets one and three, ends of the level, of the price, of what is said; an input of weight one."""
    every = [[[0, ["1/6", 0]], [1, [0, "1/6"]]], [[1, ["1/7", "1/5"]]], [[0, ["1/7", "1/5"]]], []]
    fall: Any = {"distribution": LINES, "delta": 0, "levels": {"lower": FIFTH}, **LOSS}
    yield exceptions_file(fall, [[3, 7], [1, 9]], {"price": "1/2", "prices": every}, {"cost": "2/5"})
    once: Any = {"distribution": [[1, 0], [0, 1]], "delta": 1, "levels": {"upper": FIFTH}, **LOSS}
    yield exceptions_file(once, [[1, 0], [0, 1]], {"price": "1/2", "prices": every}, {"cost": 0})
    three: Any = {
        "distribution": [[3, 1, 1], [1, 3, 1], [1, 1, 3]],
        "delta": "1/8",
        "levels": {"upper": QUARTER},
        "loss": [[0, 1], [1, 0], [1, 1]],
    }
    rows = [[3, 2], [2, 3], [1, 1]]
    prices = [[[0, ["1/10", 0]], [1, [0, "1/10"]]], *[[]] * 6, []]
    yield exceptions_file(three, rows, {"price": "1/9", "prices": prices}, {"cost": "3/5"})
    said = {key: value for key, value in three.items() if key != "loss"}
    yield exceptions_file(said, rows, {"price": "1/9", "prices": ["1/10", "1/20", 0]}, {"information": 0})
    one: Any = {"distribution": [[2, 1]], "delta": 0, "levels": {"upper": FIFTH}}
    yield exceptions_file(one, TWO, {"price": "1/9", "prices": ["1/10", "1/20"]}, {"information": 0})
    two: Any = {"distribution": LINES, "delta": "1/8", "levels": {"upper": FIFTH}}
    low = checker_information.information([[15, 12], [12, 15]], 32)[0]
    yield exceptions_file(two, TWO, {"price": 0, "prices": ["1/10", "1/20"]}, {"information": written(low)})


def trade_off() -> Iterator[Lines]:
    """The maximal leakage where a secret never occurs."""
    yield lines(
        "trade_off", {"distribution": [[3, 0], [0, 0], [0, 2]]}, {"rows": [[3, 1], [1, 3]]}, {"maximal": HALF}
    )


def lift_family() -> Iterator[Lines]:
    """Ends of each bound and of each half-space, a release that never comes, a value of weight one."""
    said: Any = {"distribution": LINES, "notion": "values", "levels": {"a": FIFTH}}
    once = {**said, "distribution": [[1, 0], [1, 2]], "bounds": [[0, 1, "a"]]}
    yield lines("lift_family", once, {"rows": [[1, 1]] * 2}, {})
    above, below = {**said, "bounds": [[0, 1, "a"]]}, {**said, "bounds": [[1, -1, "a"]]}
    yield lines("lift_family", above, {"rows": [[4, 6], [1, 9]]}, {})
    yield lines("lift_family", below, {"rows": [[3, 7], [1, 9]]}, {})
    yield lines("lift_family", above, {"rows": [[5, 4, 0], [4, 5, 0]]}, {})
    for notion in ("l1", "chi2", "average"):
        problem: Any = {"distribution": LINES, "notion": notion}
        lifts = [Fraction(28, 27), Fraction(26, 27)]
        problem["bound"] = written(checker_lift_family.moved(problem, lifts, 32))
        yield lines("lift_family", problem, {"rows": [[5, 4, 0], [4, 5, 0]]}, {})
    sure: Any = {
        "distribution": [[1, 0], [0, 1]],
        "notion": "average",
        "bound": written(checker.log(Fraction(2), 32)[1]),
    }
    yield lines("lift_family", sure, {"rows": [[1, 0], [0, 1]]}, {})
    low = written(checker_information.information([[15, 12], [12, 15]], 32)[0])
    for notion, bound, way in _directions():
        posed: Any = {"distribution": LINES, "notion": notion, "bound": bound}
        proof = {"directions": [way], "prices": ["1/10", "1/20"]}
        rows, claim = ([[1, 1]] * 2, 0) if bound == 0 else (TWO, low)
        yield lift_family_file(posed, rows, {"information": claim}, proof)


def _directions() -> Iterator[tuple[str, Any, Any]]:
    """Notions, bounds, and half-spaces that just hold what is allowed."""
    yield "l1", "1/4", {"along": [1, 0], "far": "5/8"}
    yield "l1", 4, {"along": [1, -1], "far": 1}
    yield "chi2", "1/4", {"along": [1, 0], "far": "3/4"}
    yield "chi2", 0, {"along": [1, -1], "far": 0}
    along = [written(checker.log(v, 32)[0]) for v in (Fraction(11, 4), Fraction(3, 8))]
    far = written(Fraction(1, 8) + checker.log(Fraction(25, 16), 32)[1])
    yield "average", "1/8", {"along": along, "far": far, "powers": ["11/4", "3/8"]}


def sequence() -> Iterator[Lines]:
    """One letter only, steps whose rows have the sum one, releases after which the weights of one belief differ."""
    sure: Any = {"initial": [1], "steps": [[[1]]], "step_of": [0], "loss": [[0]], "levels": {"letter": HALF}}
    told = {"prices": [["1/6"]]}
    yield sequence_file(sure, [[[1]]], [[0]], {"each": [told], "use": [0, 0]})
    turns = {**sure, "initial": [1, 1], "steps": [[[0, 1], [1, 0]]], **LOSS}
    priced = {"prices": [["1/6", "1/5"], ["1/7", "1/9"]]}
    one = {"prices": [["1/6", "1/5"]]}
    rows = [[4, 3], [3, 4]]
    following = [[1, 2], [0, 0], [0, 0]]
    yield sequence_file(
        turns, [rows, [[1, 1], [1, 1]], rows], following, {"each": [one, priced], "use": [0, 1]}
    )
    even = {**turns, "steps": [[[1, 1], [1, 1]]]}
    yield sequence_file(even, [[[1, 2], [1, 2]]], [[0, 0]], {"each": [one, priced], "use": [0, 1]})


def _lifts_that_are_wrong() -> Iterator[Lines]:
    """A little beyond each of these ends."""
    for file in lift_family():
        problem = file[1]
        if "bound" in problem and len(file) == 4:
            yield changed(file, (1, "bound"), written(checker.number(problem["bound"]) - TINY))
        for proof in file[4:]:
            way = proof["directions"][0]
            yield changed(file, (4, "directions", 0, "far"), written(checker.number(way["far"]) - TINY))
            if problem["notion"] == "average":
                high = written(checker.log(Fraction(11, 4), 32)[1])
                file[4]["bound"] = 9
                yield changed(file, (4, "directions", 0, "along", 0), high)
    said: Any = {"distribution": LINES, "notion": "values", "levels": {"a": FIFTH}}
    yield lines("lift_family", {**said, "bounds": [[1, -1, "a"]]}, {"rows": [[4, 6], [1, 9]]}, {})
    yield lines("lift_family", {**said, "bounds": []}, {"rows": TWO}, {})
    worst: Any = {"distribution": LINES, "notion": "l1", "bound": 4, "loss": [[-3, 0], [0, 2]], "worst": True}
    yield lines("lift_family", worst, {"rows": [[1, 0], [0, 1]]}, {"cost": -1})
    high = written(checker_information.information([[15, 12], [12, 15]], 32)[1])
    yield lines(
        "lift_family",
        {"distribution": LINES, "notion": "l1", "bound": 4},
        {"rows": TWO},
        {"information": high},
    )


def _classes_that_are_wrong() -> Iterator[Lines]:
    """Members that say otherwise of the secret, a useful symbol beside, and what a class leaves open, forgotten or rounded inward."""
    apart: Any = {"prices": ["1/10", "1/20"], "classes": [0, 0, 1], "bound": 9}
    rows = [*TWO, [5, 4]]
    yield lines("information", lip(distribution=PAIRED), {"rows": rows}, {"information": 0}, apart)
    said = lip(distribution=PAIRED, useful=[[3, 0, 3], [0, 3, 3]])
    each = {"prices": ["1/10", "1/20", 0], "classes": [0, 1, 2], "bound": 9}
    yield lines("information", said, {"rows": rows}, {"information": 0}, each)
    whole, of_class = (
        checker_information.information(joint, 32)
        for joint in ([[3, 0, 0], [0, 3, 0], [0, 0, 6]], [[3, 0, 6], [0, 3, 0]])
    )
    assert whole[0] < whole[1]
    assert of_class[0] < of_class[1]
    within = whole[1] - of_class[0]
    short = (whole[1] - whole[0], of_class[1] - of_class[0], within)
    honest = information_file(
        lip(distribution=PAIRED), rows, {"prices": ["1/10", "1/20"], "classes": [0, 1, 0]}
    )
    for less in short:
        yield changed(honest, (4, "bound"), written(checker.number(honest[4]["bound"]) - less))
    leaf = {"slopes": ["1/3", "-1/5"], "r": ["1/2", "1/3"]}
    funnel = {"secret": -1, "useful": "1/3", "prices": ["1/10", "1/20"], "classes": [0, 1, 0], "tree": [leaf]}
    for proof, less in ((funnel, within / 3), ({**funnel, "secret": 1, "useful": "-1/3"}, within / 9)):
        file = trade_off_file({"distribution": PAIRED}, rows, proof)
        yield changed(file, (4, "bound"), written(checker.number(file[4]["bound"]) - less))


def wrong() -> Iterator[Lines]:
    """Files that one rule refuses, or the end of an enclosure at which a number is taken."""
    apart: Any = {
        "notion": "pairs",
        "distribution": [[1, 1, 1]],
        "pairs": [[0, 1, "near"]],
        "slack": 0,
        "levels": {"near": HALF},
    }
    forged = {"prices": [100, 100, 0], "bound": 0}  # if corners were all that there is
    yield lines("information", apart, {"rows": [[1, 0], [1, 0], [0, 1]]}, {"information": 0}, forged)
    low, high = checker_information.information([[15, 12], [12, 15]], 32)
    two: Any = {"distribution": LINES, "delta": "1/8", "levels": {"upper": FIFTH}}
    assert low < high
    yield lines("exceptions", two, {"rows": TWO}, {"information": written(high)})
    yield lines("information", lip(), {"rows": TWO}, {"information": written(high)})
    yield lines("exceptions", {**two, "levels": {}}, {"rows": TWO}, {})
    worst: Any = {**two, "loss": [[-3, 0], [0, 2]], "delta": 1, "worst": True}
    yield lines("exceptions", worst, {"rows": [[1, 0], [0, 1]]}, {"cost": -1})
    sides = {"secret": -1, "useful": "1/3", "bound": 100}
    parts = [{"support": 0}, {"slopes": [0, 0], "r": [1, 1]}, {"slopes": [0, 0], "r": [1, 1]}]
    split = {**sides, "prices": [0, 0], "tree": parts}
    traded: Any = {"distribution": LINES}
    yield lines("trade_off", traded, {"rows": TWO}, {}, {**split, "secret": 1, "useful": "-1/3"})
    yield lines("trade_off", traded, {"rows": TWO}, {}, {**split, "useful": 0})
    yield from _lifts_that_are_wrong()
    yield from _classes_that_are_wrong()
    kept: Any = {**lip(kept=[], loss=[[-3, 0], [0, 2]], levels={"upper": HALF}), "worst": True}
    yield lines("post_randomisation", kept, {"rows": [[2, 1], [1, 2]]}, {"cost": "-2/3"})
    longer = next(sequence())[:4]
    longer[1]["loss"] = [[0], [1]]
    yield longer
    nowhere = next(sequence())[:4]
    nowhere[1]["steps"].append([[0]])
    yield nowhere
    never: Any = {"distribution": [[3, 1, 0], [1, 3, 0]]}
    leaf = {"slopes": [0, 0, 0], "r": [1, 1]}
    yield lines(
        "trade_off", never, {"rows": [*TWO, [1, 1]]}, {}, {**split, "tree": [{"support": 0}, leaf, leaf]}
    )


EDGES: dict[str, Callable[[], Iterator[Lines]]] = {
    f.__name__: f for f in (information, exceptions, trade_off, lift_family, sequence)
}
