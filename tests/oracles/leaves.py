"""Leaves of a JSON document: where they are, and what may stand there instead."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from typing import Any

Json = dict[str, Any]
Path = tuple[str | int, ...]


def leaves(value: Any, path: Path = ()) -> Iterator[Path]:
    """Where the leaves of a document are."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from leaves(inner, (*path, key))
    elif isinstance(value, list):
        for i, inner in enumerate(value):
            yield from leaves(inner, (*path, i))
    else:
        yield path


def at(value: Any, path: Path) -> Any:
    """What is at a path."""
    for step in path:
        value = value[step]
    return value


def put(value: Any, path: Path, new: Any) -> None:
    """Write at a path."""
    at(value, path[:-1])[path[-1]] = new


def other_number(rng: random.Random, value: float) -> Any:
    """Another number in place of one, or what is none."""
    x = float(value)
    near = [
        math.nextafter(x, math.inf), math.nextafter(x, -math.inf), x * (1 + 1e-9), x * (1 - 1e-9), x * (1 + 1e-12),
        x * 1.001, x * 0.999, x + 1e-9, x - 1e-9, x + 1e-3, x - 1e-3,
    ]  # fmt: skip
    far = [x * 2, x / 2, -x, 0.0, -0.0, 1.0, -1.0, 0.5, x + 1, rng.random(), 10.0 ** rng.uniform(-12, 3)]
    huge = [1e13, -1e13, 1e15, 1e100, -1e300, 1e308, 5e-324, 1e-310, 2.0**63, 10**30, -(10**30)]
    odd = [
        "inf",
        "-inf",
        "NaN",
        "nan",
        math.nan,
        math.inf,
        -math.inf,
        True,
        False,
        None,
        "1/3",
        "0.5",
        [],
        {},
        10**400,
        [x],
    ]
    kind = rng.choices((near, far, huge, odd), (5, 4, 2, 2))[0]
    return rng.choice(kind)


def other_leaf(rng: random.Random, value: Any, document: Json) -> Any:
    """Another value in place of a leaf."""
    if isinstance(value, bool) or value is None:
        return rng.choice([True, False, None, 0, 1, "", 0.5])
    if isinstance(value, int):
        return rng.choice(
            [
                value + 1,
                value - 1,
                -value,
                0,
                1,
                2,
                float(value),
                2**63,
                10**400,
                True,
                "1",
                None,
                other_number(rng, value),
            ]
        )
    if isinstance(value, float):
        return other_number(rng, value)
    words = [w for w in (at(document, p) for p in leaves(document)) if isinstance(w, str)]
    names = [
        "OPTIMAL",
        "GAP",
        "FEASIBLE",
        "INFEASIBLE",
        "FAILED",
        "BOUNDED",
        "BASELINE",
        "",
        "x" * 500,
        "inf",
        "-inf",
        "NaN",
    ]
    return rng.choice(
        [*names, *rng.sample(words, min(4, len(words))), value.upper(), value[::-1], 0, 1.5, None, True]
    )
