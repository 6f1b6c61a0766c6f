"""Proof files with planted errors: leaf by leaf from a seed, the claim judged by a brute force that knows nothing of the library."""

from __future__ import annotations

import copy
import io
import random
import warnings
from collections import Counter
from contextlib import redirect_stdout
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from types import ModuleType
from typing import Any

import numpy as np

import privopt as po
from oracles import proof_claims
from privopt.files.json import parse_json
from privopt.proof import checker
from privopt.proof.rationals import json_lines
from privopt.proof.write import draft_of

Lines = list[dict[str, Any]]


@cache
def honest() -> dict[str, str]:
    """Files that hold, by name."""
    files = {}
    for name, problem in posed().items():
        solution = po.solve(problem, time_limit=20.0)
        files[name] = json_lines(draft_of(problem, solution).lines())
    return files


def posed() -> dict[str, po.Problem[Any]]:
    """What they are about: every notion and every option of the kind."""
    small = po.JointDistribution.normalised([[5, 2, 1], [1, 3, 4]])
    hamming = [[0, 1, 1], [1, 0, 1], [1, 1, 0]]
    never = po.JointDistribution.normalised([[3, 2, 0], [1, 4, 0]])
    seen = po.ObservedJoint(np.array([[[4, 1, 1], [1, 2, 1]], [[1, 1, 2], [2, 1, 3]]]) / 20.0)
    line = po.DatasetGraph.line(2, 2)
    return {
        "lip": po.LocalInformationPrivacy(small, 0.25, utility=hamming),
        "lip-sides": po.LocalInformationPrivacy(small, lower=0.5, upper=0.25, utility=hamming),
        "nothing": po.LocalInformationPrivacy(small, 0.0, utility=hamming),
        "ldp": po.LocalInformationPrivacy(small, 0.5, notion="ldp", utility=hamming),
        "ldp-never": po.LocalInformationPrivacy(never, 0.5, notion="ldp", utility=hamming),
        "pointwise-never": po.PointwiseMaximalLeakage(never, 0.25, utility=hamming),
        "observed": po.LocalInformationPrivacy(seen, 0.25, utility=[[0, 1], [1, 0]]),
        "belief": po.BeliefRelease([0.5, 0.25, 0.25], 0.5),
        "within": po.DistortionPrivacy(small, hamming, max_distortion=0.3, leakage="lip"),
        "line": po.BoundaryColouring(line, 0.5),
        "line-free": po.BoundaryColouring(line, 0.5, 0.125, boundary=None, weights=[1.0, 2.0, 1.0, 3.0]),
        "line-worst": po.BoundaryColouring(
            po.DatasetGraph.line(1, 2), 0.5, boundary=None, objective="worst_case"
        ),
        "line-given": po.BoundaryColouring(line, 0.5, boundary=(0.6, None)),
    }


def parsed(text: str) -> Lines:
    """The lines of a file."""
    return [dict(parse_json(line)) for line in text.splitlines()]


def accepts(lines: Lines, program: ModuleType = checker, kind: str = "linear") -> bool:
    """Whether a checker accepts a file."""
    with TemporaryDirectory() as folder, redirect_stdout(io.StringIO()), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        path = Path(folder) / "proof.txt"
        path.write_text(json_lines(lines), encoding="utf-8")
        try:
            program.main(kind, program.check, str(path))
        except SystemExit:
            return False
    return True


def leaves(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Paths of all numbers, texts and truth values."""
    if isinstance(value, dict):
        return [leaf for key, part in value.items() for leaf in leaves(part, (*path, key))]
    if isinstance(value, list):
        return [leaf for i, part in enumerate(value) for leaf in leaves(part, (*path, i))]
    return [path]


def corrupted(lines: Lines, seed: int) -> Lines:
    """The file with one planted error, or a few: mostly where it matters."""
    rng = random.Random(seed)
    found = copy.deepcopy(lines)
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        _AIMED[rng.randrange(len(_AIMED))](found, rng)
    return found


def _leaf(lines: Lines, rng: random.Random) -> None:
    place = rng.choice([(i, *leaf) for i, line in enumerate(lines) for leaf in leaves(line)])
    _put(lines, place, _other(_at(lines, place), rng))


def _weight(lines: Lines, rng: random.Random) -> None:
    rows = lines[2]["rows"]
    row = rng.choice(rows)
    y = rng.randrange(len(row))
    if not all(type(v) is int for v in row):  # an error that was planted before
        return
    row[y] = rng.choice(
        (0, row[y] // 2, row[y] * 2, row[y] + max(row) // rng.choice((2, 50, 10**6)), max(row))
    )


def _rows(lines: Lines, rng: random.Random) -> None:
    rows = lines[2]["rows"]
    i, j = rng.randrange(len(rows)), rng.randrange(len(rows))
    rows[i], rows[j] = rows[j], rows[i] if rng.random() < 0.7 else rows[j]


def _level(lines: Lines, rng: random.Random) -> None:
    name = rng.choice(list(lines[1]["levels"]))
    entry = lines[1]["levels"][name]
    share = rng.choice(("1/2", "9/10", "999999/1000000", "11/10"))
    for key in ("level", "below", "above") if rng.random() < 0.5 else ("level",):
        entry[key] = _scaled(entry[key], share)


def _claim(lines: Lines, rng: random.Random) -> None:
    lines[3]["cost"] = _scaled(
        lines[3]["cost"], rng.choice(("9/10", "999/1000", "999999999/1000000000", "2/1"))
    )


def _bound(lines: Lines, rng: random.Random) -> None:
    for line in lines[4:]:
        line["bound"] = _scaled(line["bound"], rng.choice(("11/10", "1001/1000", "100001/100000", "2/1")))


def _price(lines: Lines, rng: random.Random) -> None:
    for line in lines[4:]:
        for entry in line["prices"]:
            y = rng.randrange(len(entry[1]))
            entry[1][y] = rng.choice((0, _scaled(entry[1][y], "2/1"), _scaled(entry[1][y], "-1/1"), "1/3"))
    _bound(lines, rng)


def _distribution(lines: Lines, rng: random.Random) -> None:
    row = rng.choice(lines[1]["distribution"])
    w = rng.randrange(len(row))
    if not all(type(v) is int for v in row):
        return
    row[w] = rng.choice((0, row[w] * 2, row[w] + max(row)))


_AIMED = (
    _leaf,
    _leaf,
    _weight,
    _weight,
    _weight,
    _rows,
    _level,
    _level,
    _claim,
    _claim,
    _bound,
    _bound,
    _price,
    _distribution,
)


def _scaled(value: Any, share: str) -> Any:
    if type(value) is not int and not (isinstance(value, str) and set(value) <= set("-/0123456789")):
        return value
    try:
        product = Fraction(value) * Fraction(share)
    except (ValueError, ZeroDivisionError):  # an error that was planted before
        return value
    return product.numerator if product.denominator == 1 else f"{product.numerator}/{product.denominator}"


def _other(value: Any, rng: random.Random) -> Any:
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return rng.choice(
            (0, 1, -1, value + 1, value - 1, value * 2, -value, str(value), True, float(value), None)
        )
    if isinstance(value, str) and "/" in value and value[-1:].isdigit():
        return rng.choice(
            (_scaled(value, "1/2"), _scaled(value, "3/2"), _scaled(value, "-1/1"), 0, 1, "1/0", "x")
        )
    return rng.choice(("lip", "ldp", "pairs", "upper", "lower", "", 0, None, [], {}))


def _at(value: Any, path: tuple[Any, ...]) -> Any:
    for key in path:
        value = value[key]
    return value


def _put(value: Any, path: tuple[Any, ...], leaf: Any) -> None:
    _at(value, path[:-1])[path[-1]] = leaf


@dataclass
class Tally:
    """What became of planted errors."""

    tried: int = 0
    counts: Counter[str] = field(default_factory=Counter)
    forged: list[str] = field(default_factory=list)

    @property
    def broken(self) -> int:
        """Files that claim what is false, by the brute force."""
        return self.counts["broken, refused"] + len(self.forged)


def campaign(count: int, first: int = 0) -> Tally:
    """Plant errors in the honest files by turns, and compare the checker with the brute force."""
    tally, files = Tally(), [(name, parsed(text)) for name, text in honest().items()]
    for seed in range(first, first + count):
        name, lines = files[seed % len(files)]
        wrong = corrupted(lines, seed)
        accepted = accepts(wrong)
        try:
            verdict = proof_claims.broken(wrong)
            told = "broken" if verdict else "undecided" if verdict is None else "true"
        except proof_claims.Meaningless:
            told = "meaningless"
        tally.tried += 1
        tally.counts[f"{told}, {'accepted' if accepted else 'refused'}"] += 1
        if accepted and told in ("broken", "meaningless"):
            tally.forged.append(f"{name}, seed {seed}: {told}")
    return tally
