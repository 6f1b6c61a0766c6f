"""More files at the edge of a rule: records that are hidden, noise on dependent records, members of sets."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from operator import mul
from typing import Any

from oracles.crafted_files import FIFTH, HALF, TINY, changed, lines
from oracles.crafted_sets import BASE, set_bounds_file
from oracles.planted_proofs import Lines
from privopt.proof import (
    checker,
    checker_chain_noise,
    checker_information,
    checker_redaction,
    checker_redaction_bounds,
    checker_sets,
)
from privopt.proof.rationals import written

STEPS = [[[3, 2], [2, 3]], [[1, 4], [3, 2]]]
"""Steps of which one tells more than the other."""
LAPLACE = {"noise": "laplace", "scale": 3}
TREES: Any = (
    [None],
    [[0, "5/4"], None, None],
    [[1, "5/4"], None, None],
    [[1, "4/3"], [0, "6/5"], None, None, None],
    [[1, "4/3"], [1, "6/5"], None, None, None],
)
HIDDEN: Any = (
    ([2, 4], [[[2, 3], [2, 3]], [[2, 6], [1, 7]], [[3, 1], [3, 1]]], [2, 1, 2, 1, 1], [2, 4, 4, 0, 3, 4], 1, "7/4", 0, [4, 13, 23, 24, 27, 31, 32, 33, 36, 37, 53, 56, 61]),
    ([1, 1], [[[2, 3], [4, 1]]], [0], [4, 3], 0, 2, 4, [7, 13, 14, 19, 23, 25, 28, 32, 37, 38, 43, 44, 58, 61]),
    ([2, 3], [[[4, 1], [1, 4]], [[3, 1], [2, 2]]], [0, 0, 0, 0, 1], [1, 0, 4, 2, 4, 2], 3, 3, 3, [1, 8, 20, 23, 29, 35, 46]),
    ([1, 2], [[[3, 2], [1, 4]], [[6, 2], [2, 6]]], [1, 0, 1, 1, 1], [1, 1, 1, 2, 3, 4], 4, 3, 3, [17, 22, 29, 46]),
    ([4, 2], [[[4, 4], [6, 2]], [[4, 1], [3, 2]]], [1, 1, 1, 0, 0], [1, 1, 1, 1, 0, 0], 2, "7/4", 4, [1, 4, 6, 7, 12, 14, 26, 28, 36, 40, 42, 47, 50, 54, 61, 62]),
    ([3, 4], [[[5, 3], [1, 7]]], [0] * 5, [4, 2, 1, 0, 0, 3], 0, "7/4", 4, [1, 3, 6, 15, 36, 49, 57, 58]),
    ([2, 1], [[[4, 4], [1, 7]], [[1, 4], [4, 1]]], [0, 1, 1, 0, 0], [1, 4, 0, 2, 2, 4], 3, "7/4", 4, [3, 8, 9, 12, 13, 16, 18, 31, 33, 37, 41, 44, 49, 61, 62, 63]),
    ([3, 4], [[[11, 1], [4, 8]], [[2, 3], [4, 1]]], [0, 1, 0], [0, 4, 3, 4], 1, 2, 0, [1, 2, 3, 4, 6, 7, 9, 15, 16, 17, 24, 25, 29, 30, 32, 35, 36, 38, 41, 42, 44, 45, 46, 52, 54, 58, 62]),
    ([1, 4], [[[5, 11], [13, 3]], [[4, 4], [7, 1]], [[1, 4], [4, 1]]], [1, 2, 0], [3, 2, 4, 4], 3, 3, 2, [1, 6, 10, 12, 15, 19, 20, 21, 23, 25, 26, 28, 29, 30, 32, 34, 35, 36, 37, 38, 39, 42, 47, 48, 51, 52, 55]),
    ([4, 3], [[[2, 3], [1, 4]], [[8, 8], [10, 6]], [[5, 7], [1, 11]]], [2, 0, 1], [1, 3, 1, 1], 0, 2, 1, [1, 3, 4, 7, 9, 12, 18, 24, 26, 27, 28, 32, 33, 38, 43, 44, 45, 47, 50, 54, 55, 56, 58, 61, 62]),
    ([4, 3], [[[15, 1], [5, 11]]], [0] * 3, [2, 2, 2, 1], 0, 2, 2, [2, 9, 24, 35, 46, 55, 56, 58]),
    ([2, 2], [[[11, 5], [2, 14]], [[9, 7], [3, 13]], [[2, 14], [12, 4]]], [0, 0, 2], [4, 4, 1, 3], 0, 3, 4, [3, 5, 7, 12, 13, 16, 17, 23, 28, 29, 30, 31, 32, 34, 36, 37, 40, 41, 48, 49, 50, 53, 56, 58, 60, 62]),
)  # fmt: skip
"""Chains with one private record: first record, steps, which, weights, the record, e^level, the tree, and nodes in 64ths.

Found among random ones: each has a least cost that a program with a mistake gets wrong.
"""


def redaction() -> Iterator[Lines]:
    """One value, one record, a ratio at its level; sides that say different things of the record between them."""
    sure = {"initial": [1], "steps": [[[1]]], "step_of": [0], "private": [0], "levels": {"upper": HALF}}
    yield lines("redaction", sure, {"hide": [[1], [0]], "total": 1}, {})
    alone = {**sure, "initial": [3, 1], "steps": [], "step_of": []}
    yield lines("redaction", alone, {"hide": [[1, 1]], "total": 1}, {})
    shown = {**sure, "initial": [1, 1], "steps": [[[3, 2], [2, 3]]], "weights": [1, 1]}
    yield lines("redaction", shown, {"hide": [[1, 1], [0, 0]], "total": 1}, {"released": "1/2"})
    shown["weights"] = [0, 1]
    yield lines("redaction", shown, {"hide": [[1, 1], [0, 0]], "total": 1}, {"released": 1})
    for place, hide in (
        (1, [[1, 3], [4, 4], [2, 1]]),
        (1, [[3, 1], [4, 4], [1, 2]]),
        (2, [[2, 0], [1, 3], [4, 4]]),
        (2, [[0, 0], [4, 4], [4, 4]]),
        (0, [[4, 4], [4, 0], [4, 4]]),
    ):
        problem: Any = {
            "initial": [2, 3],
            "steps": STEPS,
            "step_of": [1, 0] if place == 0 else [0, 1],
            "private": [place],
        }
        sides = checker_redaction.left, checker_redaction.right
        before, after = (
            side(checker_redaction.Chain(problem), hide, 4, place, [0, 1]).largest for side in sides
        )
        problem["levels"] = {"upper": _level(max(before[pair] * after[pair] for pair in before))}
        yield lines("redaction", problem, {"hide": hide, "total": 4}, {})


def _level(ratio: Fraction) -> Any:
    """A level of which a ratio is just below e^level."""
    return {"level": written(checker.log(ratio, 32)[1]), "below": written(ratio), "above": 10**6}


def redaction_bounds() -> Iterator[Lines]:
    """Tables with many lines, trees that split either value, steps that turn values round."""
    for initial, steps, places, weights, place, above, tree, nodes in HIDDEN:
        problem: Any = {"initial": initial, "steps": steps, "step_of": places, "weights": weights}
        problem |= {"private": [place], "levels": {"upper": {**HALF, "above": above}}}
        proof: Any = {"depths": [place, len(places) - place], "tree": TREES[tree]}
        proof["nodes"] = [0, *(i << 54 for i in nodes), 1 << 60]
        least = checker_redaction_bounds.least_cost(problem, checker.number(above), proof)
        bound = 1 - (weights[place] + Fraction(least, 2**60)) / sum(weights)
        yield lines("redaction_bounds", problem, {}, {}, {**proof, "bound": written(bound)})


def gaussian_noise() -> Iterator[Lines]:
    """Rounding at random that says less than rounding up, h-matrices with entries of both signs and of 0, reports by a coin."""
    rounded: Any = {"levels": _leak("37/72"), "sensitivity": 1, "apart": 1, "grid": 1}
    two = [[1, "1/2"], ["1/2", 1]]
    yield lines("gaussian_noise", {**rounded, "covariance": two}, LAPLACE, {}, {"method": "column"})
    turned: Any = {**rounded, "grid": "1/8", "covariance": [[1, "-1/2"], ["-1/2", 1]]}
    for columns, level in (
        ([[1, 1], [1, "1/2"], ["1/2", 1]], "1/2"),
        ([[1, 1], [1, 10], ["1/2", 1]], "11/3"),
    ):
        proof = {"method": "h-matrix", "columns": columns}
        yield lines("gaussian_noise", {**turned, "levels": _leak(level)}, LAPLACE, {}, proof)
    apart = {**turned, "covariance": [[1, 0], [0, 1]], "levels": _leak("1/3")}
    units = {"method": "h-matrix", "columns": [[1, 1], [1, 0], [0, 1]]}
    yield lines("gaussian_noise", apart, LAPLACE, {}, units)
    coin = {"noise": "randomised_response", "scale": "1/2"}
    yield lines(
        "gaussian_noise", {"levels": _leak("1/2"), "sensitivity": 1, "size": 1}, coin, {}, {"method": "group"}
    )


def _leak(level: int | str) -> Any:
    return {"noise": HALF, "leak": {"level": level, "below": 1, "above": 10**6}}


WANDERING = [[1, 2, 3], [3, 1, 1], [1, 5, 2]], [114, 135, 112]
TURNING = [[0, 1, 3], [2, 0, 1], [1, 1, 0]], [4, 3, 4]
LEAN = [[5, 4], [3, 5]], [27, 32]
NOISY: Any = (
    (WANDERING, [1, 1, 4], 3, 4, 0),
    (WANDERING, [0, 1, 2], 1, 1, 0),
    (TURNING, [1, 0, 0], 2, 2, 0),
    (TURNING, [1, 0, 0], 2, 3, 0),
    (LEAN, [1, 2], 8, 10, "3148687/1099511627776"),
    (([[4, 3, 3], [3, 4, 3], [2, 3, 5]], [7, 8, 9]), [1, 1, 1], 8, None, "18629773/1099511627776"),
    (([[1]], [1]), [1], 1, None, 0),
)
"""Chains and their stationary distributions, what is known of the first record, depth, length and the least slack that is enough."""


def chain_noise() -> Iterator[Lines]:
    """Chains that are not the same backwards, first records that are ruled out, lengths beyond the depth, the least slack."""
    for chain, initial, depth, length, slack in NOISY:
        yield _noisy(chain, initial, depth, length, slack)


def _noisy(chain: Any, initial: list[int], depth: int, length: int | None, slack: int | str) -> Lines:
    """A file whose level is the least that is proved."""
    rows, stationary = chain
    problem: Any = {"transition": rows, "initial": initial, "sensitivity": 1}
    problem |= {} if length is None else {"length": length}
    proof = {"method": "chain", "stationary": stationary, "slack": slack, "depth": depth}
    ratio = 2 * checker_chain_noise.chain_ratio(problem, proof, Fraction(2))
    problem["levels"] = {"noise": HALF, "leak": _level(ratio)}
    return lines("chain_noise", problem, {"noise": "discrete_laplace", "scale": 2}, {}, proof)


def _too_noisy() -> Iterator[Lines]:
    """Levels a little below what is proved, a little less slack than is enough, four states."""
    for file in chain_noise():
        ratio = checker.number(file[1]["levels"]["leak"]["below"]) - TINY
        yield changed(file, (1, "levels", "leak"), _level(ratio))
        if file[4]["slack"]:
            slack = checker.number(file[4]["slack"]) - Fraction(1, 1 << 40)
            yield changed(file, (4, "slack"), written(slack))
    high = {"level": "3/2", "below": 4, "above": 5}
    four = {"transition": [[1] * 4] * 4, "initial": [1] * 4, "sensitivity": 1, "length": 2}
    proof = {"method": "chain", "stationary": [1] * 4, "slack": 0, "depth": 1}
    yield lines("chain_noise", {**four, "levels": {"noise": HALF, "leak": high}}, LAPLACE, {}, proof)


def sets() -> Iterator[Lines]:
    """Worst losses exactly as large as what is proved over balls small and large, and losses that no distribution changes."""
    far = {"kind": "chi2", "center": ["1/6", "1/6", "2/3"], "radius": "1/3"}
    even = {"kind": "chi2", "center": ["1/2", "1/2"], "radius": "1/5"}
    three: Any = {
        "distribution": [[3, 2, 1], [1, 1, 4]],
        "notion": "lip",
        "levels": {"upper": HALF},
        "prior": even,
    }
    near: Any = {"rows": [[12, 11], [11, 12], [1, 1]]}
    apart, same = [[0, 1], [2, 1], [1, 3]], [[1, 1]] * 3
    for radius, loss in (("1/2", apart), (1, apart), ("5/4", apart), ("1/2", same)):
        sets: Any = [{**far, "center": ["1/2", "1/3", "1/6"], "radius": radius}, far]
        each = [Fraction(sum(map(mul, *pair)), sum(pair[1])) for pair in zip(loss, near["rows"], strict=True)]
        worst = checker_sets.most(even, [checker_sets.most(row, each) for row in sets])
        yield lines("sets", {**three, "rows": sets, "loss": loss}, near, {"worst": written(worst)})

    yield from _exactly()


def _fixed(*shares: int) -> Any:
    """The set of one distribution."""
    row = [written(Fraction(v, sum(shares))) for v in shares]
    return {"kind": "interval", "lower": row, "upper": row}


def _exactly() -> Iterator[Lines]:
    """Leakages and informations that are met exactly, and an input that is impossible with one secret only."""
    whole = {"kind": "interval", "lower": [0, 0], "upper": [1, 1]}
    seven = {"upper": {"level": "7/10", "below": 2, "above": 3}}
    told: Any = {**BASE, "notion": "maximal", "rows": [whole, whole], "levels": seven}
    yield lines("sets", told, {"rows": [[1, 0], [0, 1]]}, {})
    yield lines("sets", _uneven("lip", "3/2"), {"rows": [[3, 1], [1, 3]]}, _says(0))
    once = {**BASE, "distribution": [[1, 1, 0], [50, 49, 1]], "loss": [[0, 1]] * 3, "rows": [_fixed(1, 1, 0), _fixed(50, 49, 1)]}  # fmt: skip
    yield lines("sets", once, {"rows": [[1, 1], [1, 1], [2, 0]]}, {})


def _uneven(notion: str, below: int | str) -> Any:
    """Secrets of different probabilities that tell the inputs, which leak 3/2 by a channel of 3/4 and 1/4."""
    level = {"level": 2, "below": below, "above": 8}
    told = {**BASE, "distribution": [[1, 0], [0, 1]], "notion": notion, "levels": {"upper": level}}
    return {**told, "rows": [_fixed(1, 0), _fixed(0, 1)]}


def _says(end: int) -> Any:
    """What that channel says of inputs that are equally likely: an end of the enclosure."""
    joint = [[Fraction(v, 4) for v in row] for row in ([3, 1], [1, 3])]
    return {"information": written(checker_information.information(joint, 32)[end])}


def set_bounds() -> Iterator[Lines]:
    """A ball of radius 0."""
    center = {"kind": "chi2", "center": ["1/2", "1/2"], "radius": 0}
    problem = {**BASE, "rows": [center, center]}
    yield set_bounds_file(problem, [[["1/2", "1/2"]] * 3], [[0, 0, None, ["1/6", 0]]])


def wrong() -> Iterator[Lines]:
    """Files that one rule refuses, or numbers a little beyond an end."""
    for file in list(redaction())[4:]:
        ratio = checker.number(file[1]["levels"]["upper"]["below"]) - TINY
        yield changed(file, (1, "levels", "upper"), _level(ratio))
    never: Any = next(redaction())[1]
    yield lines("redaction", never, {"hide": [[0], [0]], "total": 0}, {})
    yield lines("redaction", never, {"hide": [[1, 1], [0, 0]], "total": 1}, {})
    out = {**never, "initial": [1, 1], "steps": [[[1, 1], [0, 2]]], "levels": {"upper": _level(Fraction(20))}}
    yield lines("redaction", out, {"hide": [[1, 1], [0, 1]], "total": 1}, {})
    yield from _not_hidden()
    yield from _not_on_sets()
    rounded = next(gaussian_noise())
    yield changed(changed(rounded, (1, "levels"), _leak("2/5")), (4, "method"), "subsets")
    yield changed(rounded, (1, "levels"), _leak(written(Fraction(37, 72) - TINY)))
    turned = list(gaussian_noise())[1]
    turned[4]["columns"], turned[1]["levels"] = [[1, 1], [1, 0], [0, 1]], _leak("1/3")
    yield turned
    backwards = {**_leak(1), "noise": {"level": -1, "below": "1/4", "above": "1/2"}}
    one: Any = {"levels": backwards, "sensitivity": 1, "size": 1}
    yield lines("gaussian_noise", one, {"noise": "laplace", "scale": -1}, {}, {"method": "group"})
    yield _no_m_matrix()
    yield from _no_members()
    yield from _too_noisy()
    yield from _says_too_much()


def _not_hidden() -> Iterator[Lines]:
    """Bounds that are a unit of the tables too good, three values, and files that claim something of a mechanism."""
    made = list(redaction_bounds())
    for file in made:
        yield changed(file, (4, "bound"), written(checker.number(file[4]["bound"]) - Fraction(1, 2**80)))
    yield changed(made[0], (2, "hide"), [])
    yield changed(made[0], (3, "released"), 0)
    three = {"initial": [1, 1, 1], "steps": [], "step_of": [], "weights": [1], "private": [0]}
    proof = {"depths": [0, 0], "tree": [None], "nodes": [0, 1 << 60], "bound": 1}
    yield lines("redaction_bounds", {**three, "levels": {"upper": HALF}}, {}, {}, proof)


def _no_m_matrix() -> Lines:
    """The comparison matrix of the inverse is none, as only a vector with negative entries shows."""
    inverse = [[1, "9/10", "9/10"], ["9/10", 1, "9/10"], ["9/10", "9/10", 1]]
    exact = [[Fraction(v) for v in row] for row in inverse]
    size = (exact[0][0] - exact[0][1]) * (exact[0][0] + 2 * exact[0][1])
    own, other = (exact[0][0] + exact[0][1]) / size, -exact[0][1] / size
    covariance: list[list[int | str]] = [
        [written(own if i == j else other) for j in range(3)] + [0] for i in range(3)
    ] + [[0, 0, 0, 1]]
    columns = [[-1, -1, -1, 1], [1, 9, 9, 0], [9, 1, 9, 0], [9, 9, 1, 0], [0, 0, 0, 1]]
    problem = {"levels": _leak("13"), "sensitivity": 1, "apart": 1, "grid": 1, "covariance": covariance}
    return lines("gaussian_noise", problem, LAPLACE, {}, {"method": "h-matrix", "columns": columns})


def _not_on_sets() -> Iterator[Lines]:
    """A loss that a root is a little too large for, and a center that is no distribution."""
    tight = next(sets())
    yield changed(tight, (3, "worst"), written(checker.number(tight[3]["worst"]) - Fraction(1, 2**170)))
    beyond = {"kind": "total_variation", "center": ["3/2", "-1/2"], "radius": 0}
    yield lines("sets", {**BASE, "rows": [beyond, beyond]}, {"rows": [[6, 5], [5, 6]]}, {})


def _says_too_much() -> Iterator[Lines]:
    """Inputs that never occur and are told apart, secrets of which one says more, the wrong end of an information."""
    ldp = {"upper": FIFTH}
    rows = [_fixed(10, 10, 0), _fixed(11, 9, 0)]
    never: Any = {
        **BASE,
        "notion": "ldp",
        "distribution": [[10, 10, 0], [11, 9, 0]],
        "rows": rows,
        "levels": ldp,
    }
    for seldom in ([98, 151, 151], [64, 168, 168]):
        channel = {"rows": [[160, 120, 120], [0, 200, 200], seldom]}
        yield lines("sets", {**never, "loss": [[0, 1, 1]] * 3}, channel, {})
    yield lines("sets", _uneven("maximal", "11/8"), {"rows": [[4, 0], [2, 2]]}, {})
    yield lines("sets", _uneven("lip", "3/2"), {"rows": [[3, 1], [1, 3]]}, _says(1))


def _no_members() -> Iterator[Lines]:
    """Members with negative entries and beyond a center, secrets that none of them has, other losses."""
    wide = {"kind": "interval", "lower": [-1, -1], "upper": [2, 2]}
    whole = {"kind": "interval", "lower": [0, 0], "upper": [1, 1]}
    negative = {"members": [[["3/2", "-1/2"], ["1/2", "1/2"], ["1/2", "1/2"]]], "prices": []}
    yield lines(
        "set_bounds", {**BASE, "prior": wide, "rows": [whole, whole]}, {}, {}, {**negative, "bound": -9}
    )
    single = {
        "members": [[[1, 0], ["1/2", "1/2"], ["1/2", "1/2"]]],
        "prices": [[0, 1, None, [0, 0]]],
        "bound": -9,
    }
    yield lines("set_bounds", {**BASE, "prior": whole, "rows": [whole, whole]}, {}, {}, single)
    ball = {"kind": "chi2", "center": ["1/2", "1/2", 0], "radius": "1/2"}
    three: Any = {
        **BASE, "distribution": [[2, 1, 1], [1, 2, 1]], "loss": [[0, 1], [1, 0], [1, 1]], "rows": [ball, ball],
    }  # fmt: skip
    outside = {
        "members": [[["1/2", "1/2"], ["1/4", "1/4", "1/2"], ["1/2", "1/2", 0]]],
        "prices": [],
        "bound": -9,
    }
    yield lines("set_bounds", three, {}, {}, outside)
    wider = {"kind": "interval", "lower": [0, 0, 0], "upper": [1, 1, 1]}
    halves: Any = [["1/2", "1/2"], ["1/2", "1/2"], ["1/2", "1/2", 0]]
    uneven = {"members": [halves], "prices": [[0, 0, None, ["1/6", 0]]], "bound": -9}
    yield lines("set_bounds", {**BASE, "rows": [BASE["rows"][0], wider]}, {}, {}, uneven)
    plain = {"members": [], "prices": [], "bound": -9}
    yield lines("set_bounds", {**BASE, "loss": [[0, 1], [1, 0], [0, 0]]}, {}, {}, plain)
    yield lines("set_bounds", BASE, {"rows": [[1]]}, {}, plain)


EDGES: dict[str, Callable[[], Iterator[Lines]]] = {
    f.__name__: f for f in (redaction, redaction_bounds, gaussian_noise, chain_noise, sets, set_bounds)
}
