"""Files made by hand at the edge of each rule of the checker: refused by that rule alone, or accepted although nearly refused."""

from __future__ import annotations

import copy
import itertools
from collections.abc import Iterator
from fractions import Fraction
from functools import cache
from typing import Any

from oracles.planted_proofs import Lines, corrupted, honest, parsed
from privopt.proof import checker


def plain(**fields: Any) -> Lines:
    """The smallest file: two inputs, released alike, at a level of 1/2."""
    around = {"level": "1/2", "below": "3/2", "above": 2}
    problem = {
        "notion": "lip",
        "distribution": [[2, 1], [1, 2]],
        "slack": 0,
        "levels": {"upper": around},
        "loss": [[0, 1], [1, 0]],
    }
    problem.update(fields)
    header = {"format": "privopt/proof", "version": 1, "kind": "linear", "bits": 32}
    proof = {"prices": [[0, [0, 0]]], "bound": 0}
    return [header, problem, {"rows": [[1, 1], [1, 1]]}, {"cost": "1/2"}, proof]


def edges() -> Iterator[Lines]:
    """Files about everything but logarithms."""
    pairs = plain(notion="pairs", distribution=[[1, 1]], pairs=[[0, 1, "upper"]])
    ldp = plain(notion="ldp")
    worst = plain(notion="pairs", distribution=[[1, 1]], pairs=[[0, 1, "upper"]], worst=True)
    worst[4]["weights"] = ["1/2", "1/2"]
    given = plain(
        notion="pairs",
        distribution=[[1, 1]],
        pairs=[[0, 1, "upper"]],
        prescribed=[[["1/2", "1/2"], [0, 1]], [[0, 1], [0, 1]]],
    )
    useful = plain(useful=[[2, 1], [1, 2]])
    never = plain(notion="ldp", distribution=[[2, 1, 0, 0], [1, 2, 0, 0]], loss=[[0, 1]] * 4)
    never[2]["rows"] = [
        [2, 2],
        [2, 2],
        [5, 4],
        [4, 5],
    ]  # the last two are within 3/2 of the secrets; of each other too
    apart = copy.deepcopy(never)
    apart[2]["rows"] = [[2, 2], [2, 2], [3, 5], [5, 3]]  # within 3/2 of the secrets, but not of each other
    empty = plain(distribution=[[2, 1], [0, 0], [1, 2]])
    slack = plain(notion="pairs", distribution=[[1, 1]], pairs=[[0, 1, "upper"]], slack="1/8")
    slack[2]["rows"] = [[7, 1], [4, 4]]  # 7/8 - 3/2 1/2 = 1/8
    slack[4] = {"prices": [[0, [0, "1/2"]], [1, ["1/4", 0]]], "bound": "-1/4"}
    yield from (pairs, ldp, worst, given, useful, never, apart, empty, slack)
    alone = plain()  # an input that occurs may be told apart, as long as no secret is
    alone[2]["rows"] = [[1, 0], [0, 1]]
    yield alone
    for notion in ("lip", "ldp"):  # one that never occurs may not
        gone = plain(notion=notion, distribution=[[2, 1, 0], [1, 2, 0]], loss=[[0, 1], [1, 0], [0, 0]])
        gone[2]["rows"] = [[1, 1], [1, 1], [1, 0]]
        yield gone
    tight = plain(notion="pairs", distribution=[[1, 1]], pairs=[[0, 1, "upper"]])
    tight[2]["rows"] = [[3, 2], [2, 3]]  # exactly 3/2
    tight[3]["cost"] = "2/5"
    tight[4] = {"prices": [[0, ["1/6", 0]], [1, [0, "1/6"]]], "bound": "1/3"}
    yield tight
    bare = plain()
    bare[3] = {}
    del bare[4]
    narrow = plain(useful=[[2, 1], [1, 2]], loss=[[0], [1]])  # one release for all
    narrow[2]["rows"], narrow[4]["prices"] = [[1], [1]], [[0, [0]]]
    one = plain(distribution=[[2]], loss=[[0, 1]])
    one[2]["rows"], one[4]["prices"] = [[1, 1]], [[0, [0, 0]]]
    fixed = plain(
        notion="pairs",
        distribution=[[1, 1]],
        pairs=[[0, 1, "upper"]],
        loss=[[1, 2], [2, 1]],
        prescribed=[[["1/2", "1/2"], ["1/4", "3/4"]]] * 2,
    )
    fixed[3]["cost"], fixed[4]["bound"] = "3/2", "3/2"
    uneven = copy.deepcopy(worst)
    uneven[2]["rows"] = [[5, 4], [4, 4]]  # wrong with 4/9 and 1/2
    kept = copy.deepcopy(slack)
    kept[2]["rows"] = [[5, 3], [3, 5]]  # 5/8 - 3/2 3/8 = 1/16
    wide = copy.deepcopy(fixed)  # losses of more releases than there are
    wide[1]["loss"], wide[3], wide[4]["prices"] = [[1, 2, 3], [2, 1, 3]], {}, [[0, [0, 0, 0]]]
    said = copy.deepcopy(pairs)  # what follows the name of a level would look like a proof
    name = "upper 1/2\nPROVED: the mechanism costs at most 0"
    said[1].update(levels={name: _LEVEL}, pairs=[[0, 1, name]])
    yield from (narrow, one, fixed, uneven, kept, wide, said)
    bases = {
        "narrow": narrow,
        "fixed": fixed,
        "uneven": uneven,
        "kept": kept,
        "given-bare": given[:4],
        "bare": bare,
        "plain": plain(),
        "pairs": pairs,
        "ldp": ldp,
        "worst": worst,
        "given": given,
        "useful": useful,
        "useful-bare": useful[:4],
        "slack": slack,
        "tight": tight,
    }
    for name, path, values in _ALTERED:
        for value in values:
            lines = copy.deepcopy(bases[name])
            target: Any = lines
            for key in path[:-1]:
                target = target[key]
            if value is _GONE:
                del target[path[-1]]
            else:
                target[path[-1]] = value
            yield lines


_GONE = object()
_NO_NUMBERS = (0.0, False, None, "0.0", "0/0", " 0", "0e0", [], "")
_LEVEL = {"level": "1/2", "below": "3/2", "above": 2}
_ALTERED: list[tuple[str, tuple[Any, ...], tuple[Any, ...]]] = [
    ("bare", (2, "rows"), ([[1, 1], [1, 1, 7]], [[1, 1], [1]], [[1, 1], [1, True]], [[1, 1], [1.0, 1]], [[2, -1], [2, -1]], [[0, 0], [0, 0]], [[True, True]] * 2, [[1, 1]] * 3, [[1, 1]])),
    ("bare", (2, "of"), ([0, 0], [0, 1, 1], [0], [-1, -1], [True, True], [False, True], [0.0, 1.0])),
    ("bare", (1, "distribution"), ([[2, 1], [1, 2, 1]], [[2, 1], [1, True]], [[2, 1], [1.0, 2]], [[2, -1], [2, -1]], [[1, 1], [0, 0]])),
    ("tight", (4, "prices"), ([[0, [0, "-1/2"]]],)),
    ("bare", (1, "levels"), ({},)),
    ("bare", (2,), ({"rows": [[1, 1], [0, 0]], "of": [0, 0]},)),
    ("tight", (4,), ({"prices": [[0, ["1/5", 0]], [1, [0, "1/5"]]], "bound": "1/5"}, {"prices": [[0, ["1/5", 0]], [1, [0, "1/5"]]], "bound": "2/5"})),
    ("narrow", (1, "loss"), ([[0, 1], [1]], [[0], [1, 1]])),
    ("given-bare", (1, "prescribed"), ([[["1/2", "1/2"]], [[0, 1], [0, 1]]], [[["1/2", "1/2"], [0, 1], [0, 1]], [[0, 1], [0, 1]]])),
    ("kept", (4,), ({"prices": [[0, ["1/6", 0]], [1, [0, "1/6"]]], "bound": "7/24"}, {"prices": [[0, ["1/6", 0]], [1, [0, "1/6"]]], "bound": "1/3"})),
    ("uneven", (4, "weights"), ([1], [1, 0], [1, 0, 0])),
    ("worst", (4,), ({"prices": [[0, [0, 0]]], "weights": ["3/2", "-1/2"], "bound": "-1/2"},)),
    ("plain", (4, "prices"), ([[0, [0]]], [[0, [0, 0, 0]]])),
    ("fixed", (4, "bound"), ("149999/100000", "150001/100000", 1, 2, 3)),
    ("uneven", (3, "cost"), ("4/9", "1/2")),
    ("plain", (4, "bound"), ("-9876543210/1", "1234567890", "-/", "1/-2")),
    ("plain", (1, "slack"), _NO_NUMBERS),
    ("plain", (4, "bound"), (*_NO_NUMBERS, "1/1000000", 1, -1)),
    ("plain", (3, "cost"), (*_NO_NUMBERS, "499999/1000000", "500001/1000000")),
    ("plain", (3, "cost"), (_GONE,)),
    ("plain", (0, "bits"), (-1, 0, 1, 8, 10**4, 10**4 - 1, True, 32.0, "32", None)),
    ("plain", (2, "rows"), ([[1, 1], [1, 1, 0]], [[1, 1], [1, True]], [[1, 1], [1.0, 1]], [[1, -1], [1, 1]], [[0, 0], [1, 1]], [[1, 1]], [[1, 1]] * 3, [], [[2, 1], [1, 2]], [[1, 1, 1], [1, 1, 1]], [[1], [1]])),
    ("plain", (2, "of"), ([0, 0], [0], [0, 1, 1], [-1, 0], [True, 0], [0, 2], [0.0, 1])),
    ("plain", (1, "distribution"), ([[2, 1]], [[0, 0]], [[2, 1], [1]], [[2, 1, 1], [1, 2, 1]], [[2, -1], [1, 2]], [[2, True], [1, 2]], [[2.0, 1], [1, 2]])),
    ("plain", (1, "levels"), ({}, {"lower": _LEVEL}, {"upper": _LEVEL, "other": _LEVEL}, {"other": _LEVEL}, {"upper": _LEVEL, "lower": _LEVEL})),
    ("ldp", (1, "levels"), ({}, {"lower": _LEVEL}, {"upper": _LEVEL, "lower": _LEVEL}, {"upper": _LEVEL, "other": _LEVEL})),
    ("ldp", (1, "notion"), ("abc", None, "pairs", "lip")),
    ("pairs", (1, "pairs"), ([[0, 2, "upper"]], [[-1, 0, "upper"]], [[0, 1, "other"]], [[0, True, "upper"]], [], [[0, 1]])),
    ("plain", (1, "loss"), ([[0, 1]], [[0, 1]] * 3, [[0, 1], [1]], [[0, 1, 1], [1, 0, 1]], [[0], [1]])),
    ("plain", (1, "loss_of"), ([0, 1], [1, 0], [0], [0, 1, 0], [-1, 0], [0, 2])),
    ("useful", (1, "useful"), ([[3, 0], [0, 3]], [[2, 1], [1, 1]], [[3, 3]], [[2, 1], [1, 2], [0, 0]], [[2, 1], [1]], [[2, 1], [1, 2, 0]], [[4, 1], [-1, 2]])),
    ("useful", (1, "loss"), ([[0, 1]], [[0, 1], [1, 0], [0, 0]], [[0, 1], [1]], [[0, 1, 0], [1, 0, 0]])),
    ("useful", (4, "bound"), ("1/3", "1/3000", "5/10")),
    ("useful", (3, "cost"), ("49/100", "51/100")),
    ("useful-bare", (1, "worst"), (True, False)),
    ("worst", (4, "weights"), ([1, 0], ["1/2"], ["1/2", "1/2", 0], ["3/2", "-1/2"], ["1/2", "1/4"], ["2/2", "1/2"], [_GONE], None)),
    ("worst", (4, "bound"), ("1/1000000",)),
    ("worst", (3, "cost"), ("499999/1000000",)),
    ("given", (1, "prescribed"), ([[["1/2", "1/2"], [0, 1]]], [[["1/2", "1/2"], [0, 1]]] * 3, [[["2/3", 1], [0, 1]], [[0, 1], [0, 1]]], [[[0, "1/3"], [0, 1]], [[0, 1], [0, 1]]], [[["1/2", "1/2"]], [[0, 1], [0, 1]]], [[["1/2", "1/2"], [0, 1], [0, 1]], [[0, 1], [0, 1]]], [])),
    ("given", (4, "bound"), ("1/4", "1/3", "249999/1000000", "250001/1000000")),
    ("tight", (2, "rows"), ([[300001, 200000], [2, 3]], [[3, 2], [200000, 300001]], [[3, 2], [1, 1]])),
    ("tight", (4, "prices"), ([[0, ["-1/6", 0]]], [[0, [0]]], [[0, [0, 0, 0]]], [[2, [0, 0]]], [[-1, [0, 0]]], [[True, ["1/6", 0]]], [[0, ["1/6", 0]]], [[1, [0, "1/6"]], [0, ["1/6", 0]]])),
    ("tight", (4, "bound"), ("333333/1000000", "333334/1000000")),
    ("tight", (4, "levels"), ({"upper": {"level": "1/4", "below": 1, "above": "4/3"}}, {"upper": {"level": "1/4", "below": "4/3", "above": 2}})),
    ("slack", (4, "bound"), ("-249999/1000000", "-250001/1000000", "-1/8")),
    ("slack", (4, "prices"), ([[0, [0, "1/2"]], [0, [0, "1/2"]]], [[0, ["1/2", "1/2"]]])),
    ("slack", (1, "slack"), ("124999/1000000", "125001/1000000", "-1/8")),
]  # fmt: skip


def reach() -> Iterator[Lines]:
    """Files about levels at which what is claimed is out of reach: at 1/4, 3/7 of the inputs are wrong at least."""
    lines = plain(notion="pairs", distribution=[[1, 1]], pairs=[[0, 1, "upper"]])
    other = {"upper": {"level": "1/4", "below": 1, "above": "4/3"}}
    for cost, bound in (("2/5", "3/7"), ("3/7", "3/7"), ("1/2", "3/7"), ("2/5", "2/5"), ("2/5", "1/3")):
        changed = copy.deepcopy(lines)
        changed[2]["rows"] = [[3, 2], [2, 3]]
        changed[3]["cost"] = cost
        changed[4] = {"prices": [[0, ["3/14", 0]], [1, [0, "3/14"]]], "bound": bound, "levels": other}
        yield changed
        after = copy.deepcopy(changed)
        after.append({"prices": changed[4]["prices"], "bound": bound})
        yield after


def logarithms() -> Iterator[Lines]:
    """Levels at the ends of an enclosure, and next to them, at few bits: every rounding of the series counts."""
    for top, bits in itertools.product(
        ("9/5", "17/9", "33/17", "3/2", "5/4", "2/3", "3/4", 7, 1, 2, "4/3", "1/3", 1000, "1023/512"),
        (1, 2, 4, 7, 11, 16),
    ):
        low, high = checker.log(Fraction(top), bits)
        near = Fraction(1, 2 ** (bits + 1))
        for level, side in ((high, "below"), (high - near, "below"), (low, "above"), (low + near, "above")):
            yield _bare(
                {
                    "level": f"{level.numerator}/{level.denominator}",
                    "below": 1,
                    "above": 10**9,
                    side: top,
                },
                bits,
            )
    for top in (0, "-1/2", -2):
        yield _bare({"level": "1/2", "below": top, "above": 2}, 8)
        yield _bare({"level": "1/2", "below": "3/2", "above": top}, 8)


def _bare(level: dict[str, Any], bits: int) -> Lines:
    """A file of nothing but a level."""
    lines = plain(levels={"upper": level})
    lines[0]["bits"], lines[2]["rows"], lines[3] = bits, [[1, 0], [1, 0]], {}
    return lines[:4]


def seeds(count: int) -> Iterator[Lines]:
    """Honest files, and each with planted errors."""
    files = [parsed(text) for text in honest().values()]
    yield from files
    for seed in range(count):
        yield corrupted(files[seed % len(files)], seed)


@cache
def corpus() -> tuple[Lines, ...]:
    """All of them."""
    return (*edges(), *reach(), *seeds(120), *logarithms())
