"""More files at the edge of a rule: records that are hidden, noise on Gaussian records, members of sets."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

from oracles.crafted_files import HALF, TINY, changed, lines
from oracles.crafted_sets import BASE, set_bounds_file
from oracles.planted_proofs import Lines
from privopt.proof import checker, checker_redaction
from privopt.proof.rationals import written

STEPS = [[[3, 2], [2, 3]], [[1, 4], [3, 2]]]
"""Steps of which one tells more than the other."""
LAPLACE = {"noise": "laplace", "scale": 3}


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
    f.__name__: f for f in (redaction, gaussian_noise, set_bounds)
}
