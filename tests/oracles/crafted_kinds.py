"""The smallest files of the newer kinds, made by hand, and all that differ from them in one number, entry or field."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

from oracles.planted_proofs import Lines
from privopt.proof import (
    checker,
    checker_chain_noise,
    checker_exceptions,
    checker_gaussian_noise,
    checker_information,
    checker_lift_family,
    checker_post_randomisation,
    checker_redaction_bounds,
    checker_sequence,
    checker_set_bounds,
    checker_trade_off,
)
from privopt.proof.rationals import written

HALF = {"level": "1/2", "below": "3/2", "above": 2}
FIFTH = {"level": "1/5", "below": "6/5", "above": "5/4"}
QUARTER = {"level": "1/4", "below": "5/4", "above": "4/3"}
LINES = [[2, 1], [1, 2]]
"""Two secrets, and two inputs that are likelier with one of them each."""


def lines(kind: str, problem: Any, mechanism: Any, claim: Any, *proofs: Any, bits: int = 32) -> Lines:
    """A file."""
    header = {"format": "privopt/proof", "version": 1, "kind": kind, "bits": bits}
    return copy.deepcopy([header, problem, mechanism, claim, *proofs])


def _lip(*more: Any, **fields: Any) -> Any:
    """A problem with log-lifts that are bounded from above."""
    return {"notion": "lip", "distribution": LINES, "slack": 0, "levels": {"upper": FIFTH}, **fields}


def _above(problem: Any, bits: int = 32) -> Any:
    return checker.levels(problem["levels"], bits)[1]


def information() -> Iterator[Lines]:
    """With vertices and with trees; with a useful symbol of its own, inputs and secrets that never occur."""

    def file(problem: Any, rows: Any, proof: Any, claim: Any = 0) -> Lines:
        bound = checker_information.most_information(problem, _above(problem), proof, 32)
        return lines(
            "information", problem, {"rows": rows}, {"information": claim}, {**proof, "bound": written(bound)}
        )

    two = [[5, 4], [4, 5]]
    leaf = {"slopes": ["1/3", "-1/5"], "rows": [[0, "1/7"], [1, "1/9"]]}
    flat = {"slopes": [1, 2], "rows": []}
    said = checker_information.information([[15, 12], [12, 15]], 32)[0]
    yield file(_lip(), two, {"prices": ["1/10", "1/20"]}, written(said))
    yield file(_lip(), two, {"prices": ["1/10", "1/20"], "tree": [{"x": 0, "at": "1/2"}, leaf, flat]})
    yield file(
        _lip(),
        two,
        {
            "prices": ["1/10", "1/20"],
            "tree": [{"x": 1, "at": "1/3"}, leaf, {"x": 0, "at": "2/3"}, flat, leaf],
        },
    )
    yield file(
        _lip(distribution=[[2, 1, 1], [1, 2, 1]], useful=[[2, 1, 2], [1, 2, 0]], levels={"upper": HALF, "lower": FIFTH}),
        [[5, 4], [4, 5], [1, 1]], {"prices": ["1/10", "1/20", "-1/8"]},
    )  # fmt: skip
    yield file(
        _lip(notion="ldp", distribution=[[2, 1, 0], [0, 0, 0], [1, 2, 0]], levels={"upper": HALF}),
        [[5, 4], [4, 5], [1, 1]], {"prices": ["1/10", "1/20"]},
    )  # fmt: skip
    three = [[3, 1, 1], [1, 3, 1], [1, 1, 3]]
    yield file(
        _lip(distribution=three, levels={"upper": QUARTER}),
        [[3, 2, 2], [2, 3, 2], [2, 2, 3]],
        {"prices": ["1/10", "1/20", 0]},
    )


def exceptions() -> Iterator[Lines]:
    """Losses and informations; exceptions from above, from below and none; an input and a secret that never occur."""
    loss: Any = {"loss": [[0, 1], [1, 0]]}
    problem: Any = {"distribution": LINES, "delta": "1/3", "levels": {"upper": FIFTH}, **loss}

    def file(problem: Any, rows: Any, proof: Any, claim: Any) -> Lines:
        bits = 32
        bound = (
            checker_exceptions.least_cost(problem, _above(problem), proof)
            if "cost" in claim
            else checker_exceptions.most_said(problem, _above(problem), proof, bits)
        )
        return lines("exceptions", problem, {"rows": rows}, claim, {**proof, "bound": written(bound)})

    every = [[[0, ["1/6", 0]], [1, [0, "1/6"]]], [[1, ["1/7", "1/5"]]], [[0, ["1/7", "1/5"]]], []]
    yield file(problem, [[1, 0], [1, 2]], {"price": "1/2", "prices": every}, {"cost": "1/6"})
    yield file({**problem, "delta": "2/3"}, [[1, 0], [0, 1]], {"price": 0, "prices": every}, {"cost": 0})
    sides = {"upper": HALF, "lower": FIFTH}
    least = [[[2, ["1/6", 0]], [1, [0, "1/6"]]], [[1, ["1/7", "1/5"]]], [[0, ["1/7", "1/5"]]], []]
    yield file(
        {**problem, "delta": 1, "levels": sides},
        [[1, 0], [0, 1]],
        {"price": "1/3", "prices": least},
        {"cost": 0},
    )
    never = {**problem, "distribution": [[2, 1, 0], [0, 0, 0], [1, 2, 0]], "loss": [[0, 1]] * 3}
    yield file(never, [[6, 4], [4, 6], [1, 1]], {"price": "1/2", "prices": every}, {"cost": "1/2"})
    said: Any = {"distribution": LINES, "delta": "1/8", "levels": {"upper": FIFTH}}
    yield file(said, [[5, 4], [4, 5]], {"price": "1/2", "prices": ["1/10", "1/20"]}, {"information": 0})
    useful = {**said, "distribution": [[2, 1, 1], [1, 2, 1]], "useful": [[2, 1, 2], [1, 2, 0]]}
    yield file(
        useful,
        [[5, 4], [4, 5], [1, 1]],
        {"price": "1/3", "prices": ["1/10", "1/20", "-1/8"]},
        {"information": 0},
    )
    yield file(
        {**said, "distribution": [[2, 1, 0], [0, 0, 0], [1, 2, 0]]},
        [[5, 4], [4, 5], [1, 1]],
        {"price": "1/3", "prices": ["1/10", "1/20"]},
        {"information": 0},
    )


def post_randomisation() -> Iterator[Lines]:
    """Two symbols and three, log-lifts and pairs, with and without a table that is kept."""

    def file(problem: Any, rows: Any, proof: Any, cost: Any) -> Lines:
        bound = checker_post_randomisation.least_cost(problem, _above(problem), proof)
        return lines(
            "post_randomisation", problem, {"rows": rows}, {"cost": cost}, {**proof, "bound": written(bound)}
        )

    loss = [[0, 1], [1, 0]]
    plain = _lip(kept=[], loss=loss, levels={"upper": HALF})
    prices = [[0, ["1/6", 0]], [1, [0, "1/6"]]]
    yield file(plain, [[2, 1], [1, 2]], {"kept": [["1/12", "-1/12"]], "prices": prices}, "1/3")
    table = _lip(
        distribution=[[1, 1, 1], [2, 2, 1]],
        kept=[[1, 1, 2], [1, 1, 0]],
        loss=[[0, 1, 2], [1, 0, 2], [2, 1, 0]],
        levels={"upper": HALF},
    )
    kept = [[0, "1/9", "1/8"], ["1/7", 0, "-1/9"], [0, 0, "1/5"]]
    yield file(
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
    yield file(pairs, [[3, 2], [2, 3]], {"kept": [["1/12", "-1/12"]], "prices": prices}, "2/5")


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
            checker_redaction_bounds.least_cost(problem, _above(problem)["upper"], full), 2**60
        )
        yield lines(
            "redaction_bounds",
            problem,
            {},
            {},
            {**full, "bound": written(1 - hidden / sum(problem["weights"]))},
        )


def sequence() -> Iterator[Lines]:
    """One release, three, and three with a kernel for each course."""
    loss = [[0, 1], [1, 0]]
    step = [[3, 1], [1, 3]]

    def file(problem: Any, kernels: Any, following: Any, proof: Any) -> Lines:
        mechanism = {"kernels": [{"rows": rows} for rows in kernels], "next": following}
        below, above = (ends["letter"] for ends in checker.levels(problem["levels"], 32))
        count = len(problem["step_of"]) + 1
        cost = checker_sequence.lost(problem, mechanism, below) / count
        bound = checker_sequence.least_cost(problem, above, proof) / count
        return lines(
            "sequence", problem, mechanism, {"cost": written(cost)}, {**proof, "bound": written(bound)}
        )

    one: Any = {"initial": [1, 1], "steps": [], "step_of": [], "loss": loss, "levels": {"letter": HALF}}
    means = {"prices": [["1/6", "1/5"]], "means": ["1/9", "-1/8"]}
    yield file(one, [[[2, 1], [1, 2]]], [[0, 0]], {"each": [{"prices": [["1/6", "1/6"]]}], "use": [0]})
    yield file(one, [[[2, 1], [1, 2]]], [[0, 0]], {"each": [means], "use": [0]})
    more: Any = {**one, "initial": [3, 1], "steps": [step, [[1, 3], [2, 2]]], "step_of": [0, 1]}
    kernels = [[[4, 3], [3, 4]], [[5, 4], [4, 5]], [[4, 5], [5, 5]], *[[[8, 7], [7, 8]]] * 4]
    following = [[1, 2], [3, 4], [5, 6], *[[0, 0]] * 4]
    told = {"prices": [["1/6", "1/5"], ["1/7", "1/9"]]}
    yield file(more, kernels, following, {"each": [means, told], "use": [0, 1, 0]})
    yield file(
        more, kernels, following, {"each": [{"prices": [["1/6", "1/5"]]}, told, means], "use": [0, 1, 1]}
    )
    silent: Any = {**one, "initial": [1, 0], "steps": [[[2, 0], [1, 1]]], "step_of": [0]}
    yield file(
        silent, [[[1, 0], [0, 1]], [[1, 0], [0, 1]]], [[1, 0], [0, 0]], {"each": [means, told], "use": [0, 1]}
    )


INTERVAL = {"kind": "interval", "lower": ["1/2", "1/4"], "upper": ["3/4", "1/2"]}
VARIATION = {"kind": "total_variation", "center": ["1/3", "2/3"], "radius": "1/8"}
BALL = {"kind": "chi2", "center": ["1/3", "2/3"], "radius": "1/4"}
EVEN = {"kind": "interval", "lower": ["1/2", "1/2"], "upper": ["1/2", "1/2"]}


def sets() -> Iterator[Lines]:
    """All kinds of sets and notions; each claim."""
    base: Any = {
        "distribution": LINES,
        "notion": "lip",
        "levels": {"upper": HALF},
        "rows": [INTERVAL, VARIATION],
        "prior": EVEN,
        "loss": [[0, 1], [1, 0]],
    }
    near: Any = {"rows": [[6, 5], [5, 6]]}
    both = {"upper": HALF, "lower": FIFTH}
    wide = {"kind": "interval", "lower": [0, 0], "upper": [1, 1]}
    yield lines("sets", base, near, {"cost": "5/11", "worst": "6/11", "information": 0})
    yield lines("sets", {**base, "prior": VARIATION, "levels": both}, near, {"worst": "6/11"})
    yield lines("sets", {**base, "notion": "ldp", "rows": [BALL, INTERVAL]}, near, {"cost": "5/11"})
    yield lines(
        "sets", {**base, "notion": "maximal", "prior": wide}, {"rows": [[2, 1], [1, 2]]}, {"worst": "1/2"}
    )
    never: Any = {
        **base, "distribution": [[2, 1, 0], [1, 2, 0]], "loss": [[0, 1], [1, 0], [0, 0]], "levels": both,
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


def set_bounds() -> Iterator[Lines]:
    """Log-lifts and ratios, members of each kind of set."""
    base: Any = {
        "distribution": LINES,
        "notion": "lip",
        "levels": {"upper": HALF},
        "rows": [INTERVAL, VARIATION],
        "prior": EVEN,
        "loss": [[0, 1], [1, 0]],
    }
    member = [["1/2", "1/2"], ["3/4", "1/4"], ["11/24", "13/24"]]
    other = [["1/2", "1/2"], ["1/2", "1/2"], ["1/3", "2/3"]]

    def file(problem: Any, members: Any, prices: Any) -> Lines:
        proof = {"members": members, "prices": prices}
        bound = checker_set_bounds.least_cost(problem, _above(problem), proof)
        return lines("set_bounds", problem, {}, {}, {**proof, "bound": written(bound)})

    yield file(base, [member, other], [[0, 0, None, ["1/6", 0]], [1, 1, None, [0, "1/6"]]])
    yield file(
        {**base, "levels": {"upper": HALF, "lower": FIFTH}},
        [member],
        [[0, None, 0, ["1/6", 0]], [0, 1, None, [0, "1/6"]]],
    )
    ball = [["1/2", "1/2"], ["1/2", "1/2"], ["1/3", "2/3"]]
    yield file(
        {**base, "notion": "ldp", "rows": [INTERVAL, BALL]},
        [ball],
        [[0, 0, 1, ["1/6", 0]], [0, 1, 0, [0, "1/6"]]],
    )
    edge: Any = {"kind": "chi2", "center": ["1/2", "1/2", 0], "radius": "1/2"}
    rim = [["1/2", "1/2"], ["3/4", "1/4", 0], ["1/4", "3/4", 0]]
    yield file(
        {
            **base,
            "distribution": [[2, 1, 0], [1, 2, 0]],
            "loss": [[0, 1], [1, 0], [1, 1]],
            "rows": [edge, edge],
        },
        [rim],
        [[0, 0, None, ["1/6", 0]]],
    )
    single = [[1, 0], ["1/2", "1/2"], ["1/3", "2/3"]]
    free = {"kind": "interval", "lower": [0, 0], "upper": [1, 1]}
    yield file({**base, "prior": free}, [single], [[0, 0, None, ["1/6", 0]]])


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


def trade_off() -> Iterator[Lines]:
    """Informations, maximal leakage and losses; bounds of funnels and bottlenecks with splits of both kinds."""

    def file(problem: Any, rows: Any, *proofs: Any, **claim: Any) -> Lines:
        full = []
        for proof in proofs:
            bound = checker_trade_off.Cost(problem, proof, 32).most_weighed(proof["tree"])
            full.append({**proof, "bound": written(bound)})
        return lines("trade_off", problem, {"rows": rows}, claim, *full)

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
    yield file(problem, rows, secret=secret, useful=useful, maximal=leak, cost="1/4")
    yield file(problem, rows, {**funnel, "tree": [leaf]}, {**neck, "tree": [other]})
    yield file(
        problem,
        rows,
        {**funnel, "tree": [split, leaf, other]},
        {**neck, "tree": [{"x": 1, "at": "1/2"}, leaf, {"x": 0, "at": "1/2"}, other, leaf]},
    )
    wide: Any = {"distribution": [[3, 1, 1], [1, 3, 1]]}
    leaves = [{"slopes": ["1/3", "-1/5", v], "r": [1, 2]} for v in ("1/7", 1, 0)]
    support = [{"support": 0}, leaves[0], {"support": 1}, leaves[1], leaves[2]]
    yield file(wide, [[3, 1], [1, 3], [1, 1]], {**funnel, "prices": ["1/10", "1/20", 0], "tree": support})
    box = [
        {"x": 2, "at": "1/4"},
        leaves[0],
        {"x": 0, "at": "2/3"},
        leaves[1],
        {"x": 1, "at": "1/3"},
        leaves[2],
        leaves[0],
    ]
    yield file(wide, [[3, 1], [1, 3], [1, 1]], {**funnel, "prices": ["1/10", "1/20", 0], "tree": box})
    apart: Any = {"distribution": [[3, 1, 0], [1, 3, 0]], "useful": [[1, 2, 0], [3, 2, 0]]}
    yield file(
        apart,
        [[3, 1], [1, 3], [1, 1]],
        {**funnel, "tree": [split, leaf, other]},
        {**neck, "tree": [leaf]},
        {**funnel, "useful": 0, "secret": -1, "tree": [leaf]},
    )
    certain: Any = {"distribution": [[3, 0], [0, 0], [0, 2]]}
    yield file(certain, [[1, 0], [0, 1]], {**neck, "tree": [{"slopes": [0, 0, 0], "r": [1, 1]}]})


def lift_family() -> Iterator[Lines]:
    """Bounds of single values and of each divergence, losses and informations, inputs that never occur."""
    loss: Any = {"loss": [[0, 1], [1, 0]]}

    def file(problem: Any, rows: Any, claim: Any, proof: Any) -> Lines:
        above = _above(problem) if "levels" in problem else {}
        ways = checker_lift_family.half_spaces(problem, above, proof, 32)
        if "cost" in claim:
            bound = checker_lift_family.least_cost(problem, ways, proof)
        else:
            bound = checker_lift_family.most_said(problem, ways, proof, 32)
        return lines("lift_family", problem, {"rows": rows}, claim, {**proof, "bound": written(bound)})

    values: Any = {
        "distribution": LINES,
        "notion": "values",
        "levels": {"a": FIFTH, "b": HALF},
        "bounds": [[0, 1, "a"], [1, -1, "b"]],
    }
    prices = [[0, ["1/6", 0]], [1, [0, "1/6"]]]
    yield file({**values, **loss}, [[5, 4], [4, 5]], {"cost": "4/9"}, {"prices": prices})
    yield file(values, [[5, 4], [4, 5]], {"information": 0}, {"prices": ["1/10", "1/20"]})
    never: Any = {**values, "distribution": [[2, 1, 0], [1, 2, 0]], "loss": [[0, 1], [1, 0], [0, 0]]}
    yield file(never, [[5, 4], [4, 5], [1, 1]], {"cost": "4/9"}, {"prices": prices})
    ways = {
        "l1": {"along": [1, -1], "far": "1/8"},
        "chi2": {"along": [1, -1], "far": "3/8"},
        "average": {"along": [1, -1], "far": "3/4", "powers": ["11/4", "3/8"]},
    }
    for (notion, way), bound in zip(ways.items(), ("1/8", "1/8", "1/8"), strict=True):
        problem: Any = {"distribution": LINES, "notion": notion, "bound": bound}
        other = {**way, "along": [-1, 1], **({"powers": ["3/8", "11/4"]} if notion == "average" else {})}
        yield file(
            {**problem, **loss},
            [[5, 4], [4, 5]],
            {"cost": "4/9"},
            {"directions": [way, other], "prices": prices},
        )
        leaf = {"slopes": ["1/3", "-1/5"], "rows": [[0, "1/7"]]}
        tree = {"prices": ["1/10", "1/20"], "tree": [{"x": 0, "at": "1/2"}, leaf, leaf]}
        yield file(problem, [[5, 4], [4, 5]], {"information": 0}, {"directions": [way, other], **tree})
        apart: Any = {**problem, "distribution": [[2, 1, 0], [1, 2, 0]]}
        yield file(
            apart,
            [[5, 4], [4, 5], [1, 1]],
            {"information": 0},
            {"directions": [way], "prices": ["1/10", "1/20"]},
        )


MADE: dict[str, Callable[[], Iterator[Lines]]] = {
    f.__name__: f
    for f in (
        information, exceptions, post_randomisation, redaction, redaction_bounds, sequence, sets, set_bounds, gaussian_noise,
        chain_noise, trade_off, lift_family,
    )
}  # fmt: skip


_GONE, _TWICE = object(), object()
TINY = Fraction(1, 10**15)


def neighbours(file: Lines) -> Iterator[Lines]:
    """A file with one thing changed: each number in several ways, each entry and field left out, each entry given twice."""
    for path, value in _parts(file[1:]):
        for other in _others(path, value):
            yield _changed(file, (path[0] + 1, *path[1:]), other)


def _changed(file: Lines, path: tuple[Any, ...], value: Any) -> Lines:
    """A file with something else in a place."""
    changed = copy.deepcopy(file)
    target: Any = changed
    for key in path[:-1]:
        target = target[key]
    if value is _GONE:
        del target[path[-1]]
    elif value is _TWICE:
        target.insert(path[-1], copy.deepcopy(target[path[-1]]))
    else:
        target[path[-1]] = value
    return changed


def _parts(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], Any]]:
    if path:
        yield path, value
    if isinstance(value, dict):
        for key, part in value.items():
            yield from _parts(part, (*path, key))
    if isinstance(value, list):
        for i, part in enumerate(value):
            yield from _parts(part, (*path, i))


def _others(path: tuple[Any, ...], value: Any) -> Iterator[Any]:
    if len(path) > 1:
        yield _GONE
        if isinstance(path[-1], int):
            yield _TWICE
    if type(value) is int:
        yield from (value + 1, value - 1, -value, 2 * value, value + 10**6, True, float(value), str(value))
    if isinstance(value, str) and not set(value) <= set("-/0123456789"):
        yield from (
            "lip",
            "ldp",
            "pairs",
            "maximal",
            "interval",
            "total_variation",
            "chi2",
            "laplace",
            "discrete_laplace",
            "",
            None,
        )
        yield from (
            "randomised_response",
            "column",
            "subsets",
            "h-matrix",
            "group",
            "upper",
            "lower",
            "other",
        )
    elif type(value) is int or isinstance(value, str):
        exact = Fraction(value)
        yield from (
            written(v)
            for v in (
                exact + TINY,
                exact - TINY,
                exact * Fraction(9, 10),
                exact * Fraction(11, 10),
                exact / 2,
            )
        )
        yield from (written(v) for v in (-exact, exact * 3, exact + 1, exact - 1))
    if value is None:
        yield from (0, 1)


PLANTED: dict[str, list[tuple[int, tuple[Any, ...], Any]]] = {
    "information": [
        (0, (1, "distribution", 0, 0), 1000002),
        (0, (1, "slack"), 1),
        (0, (1, "slack"), 1),
        (1, (4, "tree", 0), _TWICE),
        (1, (4, "tree", 1, "rows", 0, 1), "-1/7"),
        (3, (1, "distribution", 0), _TWICE),
    ],
    "exceptions": [
        (0, (1, "distribution", 0), _TWICE),
        (0, (1, "distribution", 0, 1), 0),
        (0, (1, "loss", 0, 0), 1),
        (0, (3, "cost"), _GONE),
        (0, (4, "prices", 0, 0, 1, 1), -1),
        (1, (4, "price"), "-1/1000000000000000"),
        (3, (1, "distribution", 0, 0), 1000002),
        (4, (3, "information"), 1),
    ],
    "post_randomisation": [
        (0, (1, "distribution", 0, 0), 1),
        (0, (1, "slack"), 1),
        (0, (1, "levels", "upper", "above"), 3),
        (0, (1, "loss", 0), _TWICE),
        (0, (4, "prices", 0, 1, 0), "-1/6"),
    ],
    "redaction": [
        (0, (1, "initial", 0), 2),
        (0, (1, "initial", 0), 1000003),
        (0, (1, "steps", 0, 0, 0), 4),
        (0, (1, "private", 0), 2),
        (0, (2, "hide", 2), _TWICE),
        (4, (2, "hide", 0, 0), 5),
    ],
    "redaction_bounds": [
        (0, (1, "initial", 0), 4),
        (0, (1, "weights", 0), -1),
        (0, (1, "step_of", 0), _TWICE),
        (0, (4, "tree", 0), _TWICE),
        (0, (4, "tree", 0, 1), "3/4"),
        (0, (4, "nodes", 0), _GONE),
        (1, (1, "initial", 1), 0),
    ],
    "sequence": [
        (0, (1, "initial", 0), 0),
        (0, (1, "loss", 0, 0), 1),
        (0, (1, "levels", "letter", "below"), "1499999999999999/1000000000000000"),
        (2, (1, "steps", 0, 0, 0), 2),
        (2, (4, "use", 1), _GONE),
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
    "gaussian_noise": [
        (0, (1, "levels", "noise", "level"), "500000000000001/1000000000000000"),
        (0, (1, "levels", "noise", "level"), "499999999999999/1000000000000000"),
        (0, (1, "sensitivity"), 0),
        (0, (2, "noise"), "lip"),
        (0, (2, "noise"), "randomised_response"),
        (3, (1, "levels", "leak", "level"), "499999999999999/1000000000000000"),
        (3, (1, "sensitivity"), "3/4"),
        (3, (1, "covariance", 0, 0), _GONE),
        (7, (1, "covariance", 0, 0), "999999999999999/1000000000000000"),
        (7, (4, "method"), "lip"),
        (7, (4, "columns", 0, 0), _GONE),
    ],
    "trade_off": [
        (0, (1, "distribution", 0), _GONE),
        (0, (1, "loss", 0), _TWICE),
        (0, (3, "maximal", "level"), "1/8"),
        (1, (1, "distribution", 0), _GONE),
        (1, (4, "secret"), 1),
        (2, (4, "tree", 0), _TWICE),
    ],
    "lift_family": [
        (0, (1, "distribution", 0, 0), 1),
        (0, (1, "levels", "a", "below"), "3/5"),
        (0, (1, "bounds", 0, 1), 2),
        (0, (1, "loss", 0), _TWICE),
        (0, (4, "prices", 0, 1, 1), -1),
        (1, (3, "information"), 1),
        (3, (1, "distribution", 0, 0), 3),
        (3, (1, "bound"), "-1/8"),
        (5, (1, "distribution", 0, 1), 0),
        (9, (1, "notion"), "lip"),
    ],
    "chain_noise": [
        (0, (1, "transition", 0, 0), 2),
        (0, (1, "levels", "noise", "above"), 3),
        (0, (4, "depth"), 0),
    ],
    "sets": [
        (0, (1, "levels", "upper"), _GONE),
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
}
"""A number, entry or field of one of the files by its place, and what is put there; each is refused by one rule only, and all are by some."""


def _more() -> Iterator[Lines]:
    """What a change of one place does not reach."""
    bare = next(exceptions())[:4]
    bare[1]["levels"], bare[3] = {"other": HALF}, {}
    yield bare
    below = list(exceptions())[4]
    below[4].update(price=-1, bound=10**6)
    yield below
    nowhere = {**CHAIN, "initial": [1, 1], "steps": [[[0, 0], [0, 0]]], "step_of": [0], "private": [0]}
    yield lines("redaction", nowhere, {"hide": [[4, 4], [1, 1]], "total": 4}, {})
    yield [*next(redaction()), {}]
    yield [*next(sets()), {}]
    claimed = next(set_bounds())
    claimed[3] = {"cost": 0}
    yield claimed
    leak = {"noise": HALF, "leak": {"level": 2, "below": 1, "above": 8}}
    noisy: Any = {"levels": leak, "sensitivity": "3/2", "apart": 1, "grid": "1/8"}
    laplace = {"noise": "laplace", "scale": 3}
    close = [[1, "9/10", "9/10"], ["9/10", 1, "9/10"], ["9/10", "9/10", 1]]
    yield lines("gaussian_noise", {**noisy, "covariance": close}, laplace, {}, {"method": "column"})
    yield lines(
        "gaussian_noise", {**noisy, "covariance": [[1, 1], [1, 1]]}, laplace, {}, {"method": "subsets"}
    )
    for made in (gaussian_noise, chain_noise):
        spent = next(made())
        spent[3] = {"cost": 0}
        yield spent
    four = {"transition": [[1] * 4] * 4, "initial": [1] * 4, "sensitivity": 1, "length": 2}
    known = {"method": "chain", "stationary": [1] * 4, "slack": 0, "depth": 1}
    high = {"noise": HALF, "leak": {"level": 1, "below": 2, "above": 3}}
    yield lines("chain_noise", {**four, "levels": high}, {"noise": "laplace", "scale": 2}, {}, known)
    told = list(trade_off())[3]
    told[1]["useful"] = [[4, 0, 0], [0, 4, 0], [0, 0, 2]]
    yield told


def planted(kind: str) -> Iterator[Lines]:
    """Files that a checker refuses: for each of its rules one that nothing else refuses."""
    made = list(MADE[kind]())
    for place, path, value in PLANTED[kind]:
        yield _changed(made[place], path, value)
    yield from (file for file in _more() if file[0]["kind"] == kind)


def corpus(kind: str) -> Iterator[Lines]:
    """All files of a kind: those made by hand first."""
    made = list(MADE[kind]())
    yield from made
    for file in made:
        yield from neighbours(file)
