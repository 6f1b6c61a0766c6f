"""The smallest files about streams, made by hand: records that are hidden, policies, noise on dependent records."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

from oracles.crafted_files import GONE, HALF, TWICE, Planted, above, lines
from oracles.planted_proofs import Lines
from privopt.proof import (
    checker,
    checker_chain_noise,
    checker_gaussian_noise,
    checker_redaction_bounds,
    checker_sequence,
)
from privopt.proof.rationals import written

CHAIN = {
    "initial": [3, 1],
    "steps": [[[3, 1], [1, 3]], [[1, 3], [3, 1]]],
    "weights": [1, 2, 1],
    "levels": {"upper": HALF},
}
LONG = {**CHAIN, "levels": {"upper": {"level": 3, "below": 20, "above": 21}}}


def redaction() -> Iterator[Lines]:
    """A private record in the middle, at an end, two of them, and one whose value is known anyway."""
    for problem, hide, released in (
        ({**LONG, "step_of": [0, 1], "private": [1]}, [[1, 2], [4, 4], [2, 0]], None),
        ({**LONG, "step_of": [0, 0], "private": [0]}, [[4, 4], [4, 4], [1, 2]], None),
        ({**LONG, "step_of": [1, 0], "private": [2]}, [[1, 0], [3, 4], [4, 4]], None),
        ({**LONG, "step_of": [0, 0, 1], "weights": [1, 2, 1, 1], "private": [0, 3]}, [[4, 4], [4, 4], [1, 3], [4, 4]], None),
        ({**CHAIN, "step_of": [0, 1], "private": [1]}, [[4, 4], [4, 4], [4, 4]], 0),
        ({**CHAIN, "initial": [1, 0], "step_of": [0], "weights": [1, 1], "private": [0]}, [[0, 0], [1, 2]], None),
        ({**LONG, "initial": [1, 2, 0], "steps": [[[2, 1, 1], [1, 2, 1], [0, 0, 4]]], "step_of": [0], "weights": [1, 1], "private": [0]}, [[4, 4, 0], [1, 2, 3]], None),
    ):  # fmt: skip
        yield lines(
            "redaction",
            problem,
            {"hide": hide, "total": 4},
            _shown(problem, hide) if released is None else {},
        )


def _shown(problem: Any, hide: Any) -> Any:
    """The share that is released, in exact numbers."""
    at = [Fraction(v, sum(problem["initial"])) for v in problem["initial"]]
    shown = [sum((p * (1 - Fraction(h, 4)) for p, h in zip(at, hide[0], strict=True)), Fraction(0))]
    for place, row in zip(problem["step_of"], hide[1:], strict=True):
        step = problem["steps"][place]
        at = [
            sum((p * Fraction(line[v], sum(line)) for p, line in zip(at, step, strict=True)), Fraction(0))
            for v in range(len(at))
        ]
        shown.append(sum((p * (1 - Fraction(h, 4)) for p, h in zip(at, row, strict=True)), Fraction(0)))
    weights = problem["weights"]
    return {
        "released": written(
            sum((w * s for w, s in zip(weights, shown, strict=True)), Fraction(0)) / sum(weights)
        )
    }


def redaction_bounds() -> Iterator[Lines]:
    """One private record, with few nodes."""
    nodes = [i << 57 for i in range(9)]
    problem: Any
    proof: Any
    for problem, proof in (
        ({**CHAIN, "step_of": [0, 1], "private": [1]}, {"depths": [1, 1], "tree": [[0, "3/2"], None, None]}),
        ({**CHAIN, "step_of": [0, 0, 0], "weights": [1, 2, 1, 3], "private": [0]}, {"depths": [0, 3], "tree": [None]}),
        ({**CHAIN, "step_of": [0, 1, 0], "weights": [1, 2, 1, 3], "private": [3]}, {"depths": [3, 0], "tree": [[1, "4/3"], [0, 1], None, None, None]}),
        ({**CHAIN, "initial": [1, 1], "steps": [[[5, 3], [2, 6]]], "step_of": [0] * 4, "weights": [1, 2, 1, 3, 1], "private": [2], "levels": {"upper": HALF}}, {"depths": [2, 2], "tree": [[0, "5/4"], None, None]}),
    ):  # fmt: skip
        full = {**proof, "nodes": nodes}
        hidden = problem["weights"][problem["private"][0]] + Fraction(
            checker_redaction_bounds.least_cost(problem, above(problem)["upper"], full), 2**60
        )
        yield lines(
            "redaction_bounds",
            problem,
            {},
            {},
            {**full, "bound": written(1 - hidden / sum(problem["weights"]))},
        )


def sequence_file(problem: Any, kernels: Any, following: Any, proof: Any) -> Lines:
    """A file with the cost of a policy, and the best bound that prices prove."""
    mechanism = {"kernels": [{"rows": rows} for rows in kernels], "next": following}
    below, above = (ends["letter"] for ends in checker.levels(problem["levels"], 32))
    count = len(problem["step_of"]) + 1
    cost = checker_sequence.lost(problem, mechanism, below) / count
    bound = checker_sequence.least_cost(problem, above, proof) / count
    return lines("sequence", problem, mechanism, {"cost": written(cost)}, {**proof, "bound": written(bound)})


def sequence() -> Iterator[Lines]:
    """One release, three, and three with a kernel for each course."""
    loss = [[0, 1], [1, 0]]
    step = [[3, 1], [1, 3]]

    one: Any = {"initial": [1, 1], "steps": [], "step_of": [], "loss": loss, "levels": {"letter": HALF}}
    means = {"prices": [["1/6", "1/5"]], "means": ["1/9", "-1/8"]}
    yield sequence_file(
        one, [[[2, 1], [1, 2]]], [[0, 0]], {"each": [{"prices": [["1/6", "1/6"]]}], "use": [0]}
    )
    yield sequence_file(one, [[[2, 1], [1, 2]]], [[0, 0]], {"each": [means], "use": [0]})
    more: Any = {**one, "initial": [3, 1], "steps": [step, [[1, 3], [2, 2]]], "step_of": [0, 1]}
    kernels = [[[4, 3], [3, 4]], [[5, 4], [4, 5]], [[4, 5], [5, 5]], *[[[8, 7], [7, 8]]] * 4]
    following = [[1, 2], [3, 4], [5, 6], *[[0, 0]] * 4]
    told = {"prices": [["1/6", "1/5"], ["1/7", "1/9"]]}
    yield sequence_file(more, kernels, following, {"each": [means, told], "use": [0, 1, 0]})
    yield sequence_file(
        more, kernels, following, {"each": [{"prices": [["1/6", "1/5"]]}, told, means], "use": [0, 1, 1]}
    )
    silent: Any = {**one, "initial": [1, 0], "steps": [[[2, 0], [1, 1]]], "step_of": [0]}
    yield sequence_file(
        silent, [[[1, 0], [0, 1]], [[1, 0], [0, 1]]], [[1, 0], [0, 0]], {"each": [means, told], "use": [0, 1]}
    )


NOISE = {"noise": HALF, "leak": {"level": 1, "below": "5/2", "above": 3}}


def gaussian_noise() -> Iterator[Lines]:
    """Groups, and Gaussian records by all methods; reports."""
    laplace = {"noise": "laplace", "scale": 2}
    yield lines(
        "gaussian_noise", {"levels": NOISE, "sensitivity": 1, "size": 2}, laplace, {}, {"method": "group"}
    )
    yield lines(
        "gaussian_noise",
        {"levels": NOISE, "sensitivity": 1, "size": 2},
        {"noise": "randomised_response", "scale": "2/5"},
        {},
        {"method": "group"},
    )
    yield lines(
        "gaussian_noise",
        {"levels": NOISE, "sensitivity": 1, "size": 1},
        {"noise": "discrete_laplace", "scale": 2},
        {},
        {"method": "group"},
    )
    two = [[1, "1/2"], ["1/2", 1]]
    three = [[1, "1/2", "1/4"], ["1/2", 1, "1/2"], ["1/4", "1/2", 1]]
    turned = [[4, -1, "1/4"], [-1, 2, "1/2"], ["1/4", "1/2", 1]]
    for covariance, method, columns in (
        (two, "column", None),
        (three, "column", None),
        (three, "subsets", None),
        (turned, "subsets", None),
        (two, "h-matrix", [[1, 1], [1, "1/2"], ["1/2", 1]]),
        (three, "h-matrix", [[1, 1, 1], [1, "1/2", "1/4"], ["1/2", 1, "1/2"], ["1/4", "1/2", 1]]),
    ):
        proof = {"method": method, **({} if columns is None else {"columns": columns})}
        grid = "1/8"
        s = [[checker.number(v) for v in row] for row in covariance]
        moved = checker_gaussian_noise.factor(s, proof)
        scale = 3
        most = min(
            -(-moved // Fraction(grid)) * Fraction(grid) / scale, moved / scale + Fraction(1, 24) ** 2 / 8
        )
        leak = {"level": written(most), "below": 1, "above": 8}
        problem = {
            "levels": {"noise": HALF, "leak": leak},
            "sensitivity": "3/2",
            "apart": 1,
            "grid": grid,
            "covariance": covariance,
        }
        yield lines("gaussian_noise", problem, {"noise": "laplace", "scale": scale}, {}, proof)


def chain_noise() -> Iterator[Lines]:
    """Two and three states, a given length and any."""
    laplace = {"noise": "discrete_laplace", "scale": 2}
    two: Any = {"transition": [[3, 1], [1, 3]], "initial": [1, 1], "sensitivity": 1}
    three: Any = {"transition": [[2, 1, 1], [1, 2, 1], [1, 1, 2]], "initial": [1, 2, 1], "sensitivity": 1}
    lean: Any = {"transition": [[1, 3], [2, 2]], "initial": [1, 2], "sensitivity": 1}
    for problem, stationary, depth, length in (
        (two, [1, 1], 1, 2),
        (two, [1, 1], 3, 4),
        (two, [1, 1], 3, 3),
        (lean, [2, 3], 2, 3),
        (two, [1, 1], 0, 1),
        (three, [1, 1, 1], 2, 3),
        ({**two, "transition": [[1, 1], [1, 1]]}, [1, 1], 6, None),
        ({**two, "transition": [[5, 3], [3, 5]]}, [1, 1], 24, None),
    ):
        proof = {
            "method": "chain",
            "stationary": stationary,
            "slack": 0 if length else "1/65536",
            "depth": depth,
        }
        full = {**problem, **({"length": length} if length else {})}
        levels = {"noise": HALF, "leak": {"level": 1, "below": 2, "above": 3}}
        growth = Fraction(2)
        ratio = growth * checker_chain_noise.chain_ratio({**full, "levels": levels}, proof, growth)
        leak = {"level": written(checker.log(ratio, 32)[1]), "below": written(ratio), "above": 10**9}
        yield lines("chain_noise", {**full, "levels": {"noise": HALF, "leak": leak}}, laplace, {}, proof)
    reports = {"noise": "randomised_response", "scale": "2/5"}
    level = {"level": 4, "below": 50, "above": 55}
    yield lines(
        "chain_noise",
        {**two, "length": 2, "levels": {"noise": HALF, "leak": level}},
        reports,
        {},
        {"method": "chain", "stationary": [1, 1], "slack": 0, "depth": 1},
    )


PLANTED: Planted = {
    "redaction": [
        (0, (1, "initial", 0), 2),
        (0, (1, "initial", 0), 1000003),
        (0, (1, "steps", 0, 0, 0), 4),
        (0, (1, "private", 0), 2),
        (0, (2, "hide", 2), TWICE),
        (4, (2, "hide", 0, 0), 5),
    ],
    "redaction_bounds": [
        (0, (1, "initial", 0), 4),
        (0, (1, "weights", 0), -1),
        (0, (1, "step_of", 0), TWICE),
        (0, (4, "tree", 0), TWICE),
        (0, (4, "tree", 0, 1), "3/4"),
        (0, (4, "nodes", 0), GONE),
        (1, (1, "initial", 1), 0),
    ],
    "sequence": [
        (0, (1, "initial", 0), 0),
        (0, (1, "loss", 0, 0), 1),
        (0, (1, "levels", "letter", "below"), "1499999999999999/1000000000000000"),
        (2, (1, "steps", 0, 0, 0), 2),
        (2, (4, "use", 1), GONE),
    ],
    "gaussian_noise": [
        (0, (1, "levels", "noise", "level"), "500000000000001/1000000000000000"),
        (0, (1, "levels", "noise", "level"), "499999999999999/1000000000000000"),
        (0, (1, "sensitivity"), 0),
        (0, (2, "noise"), "lip"),
        (0, (2, "noise"), "randomised_response"),
        (3, (1, "levels", "leak", "level"), "499999999999999/1000000000000000"),
        (3, (1, "sensitivity"), "3/4"),
        (3, (1, "covariance", 0, 0), GONE),
        (7, (1, "covariance", 0, 0), "999999999999999/1000000000000000"),
        (7, (4, "method"), "lip"),
        (7, (4, "columns", 0, 0), GONE),
    ],
    "chain_noise": [
        (0, (1, "transition", 0, 0), 2),
        (0, (1, "levels", "noise", "above"), 3),
        (0, (4, "depth"), 0),
    ],
}


def more() -> Iterator[Lines]:
    """What a change of one place does not reach."""
    nowhere = {**CHAIN, "initial": [1, 1], "steps": [[[0, 0], [0, 0]]], "step_of": [0], "private": [0]}
    yield lines("redaction", nowhere, {"hide": [[4, 4], [1, 1]], "total": 4}, {})
    yield [*next(redaction()), {}]
    nobody = {**CHAIN, "initial": [0, 0], "step_of": [0], "private": [0]}
    yield lines("redaction", nobody, {"hide": [[4, 4], [1, 1]], "total": 4}, {})
    leak = {"noise": HALF, "leak": {"level": 2, "below": 1, "above": 8}}
    noisy: Any = {"levels": leak, "sensitivity": "3/2", "apart": 1, "grid": "1/8"}
    laplace = {"noise": "laplace", "scale": 3}
    close = [[1, "9/10", "9/10"], ["9/10", 1, "9/10"], ["9/10", "9/10", 1]]
    yield lines("gaussian_noise", {**noisy, "covariance": close}, laplace, {}, {"method": "column"})
    yield lines(
        "gaussian_noise", {**noisy, "covariance": [[1, 1], [1, 1]]}, laplace, {}, {"method": "subsets"}
    )
    indefinite = [[1, "3/2"], ["3/2", 1]]
    yield lines("gaussian_noise", {**noisy, "covariance": indefinite}, laplace, {}, {"method": "subsets"})
    turned = {**noisy, "covariance": [[1, 0], [0, 1]], "apart": -1}
    yield lines("gaussian_noise", turned, laplace, {}, {"method": "subsets"})
    lies = {"noise": "randomised_response", "scale": "9/10"}
    yield lines(
        "gaussian_noise", {"levels": leak, "sensitivity": 1, "size": 1}, lies, {}, {"method": "group"}
    )
    for made in (gaussian_noise, chain_noise):
        spent = next(made())
        spent[3] = {"cost": 0}
        yield spent
    four = {"transition": [[1] * 4] * 4, "initial": [1] * 4, "sensitivity": 1, "length": 2}
    known = {"method": "chain", "stationary": [1] * 4, "slack": 0, "depth": 1}
    high = {"noise": HALF, "leak": {"level": 1, "below": 2, "above": 3}}
    yield lines("chain_noise", {**four, "levels": high}, {"noise": "laplace", "scale": 2}, {}, known)
    for field in ({"initial": [0, 0]}, {"length": 0}):
        empty = next(chain_noise())
        empty[1].update(field)
        yield empty
    yield lines(
        "gaussian_noise", {"levels": leak, "sensitivity": 1, "size": 0}, laplace, {}, {"method": "group"}
    )
