"""The door of a question on colourings of a graph: every argument checked, every refusal a sentence."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from privopt.arrays import Floats
from privopt.errors import InvalidProblem
from privopt.files.labels import Label, decode_labels, encode_labels, plain_label
from privopt.models import DatasetGraph

Ends: TypeAlias = tuple[float, float | None]
Values: TypeAlias = Mapping[Any, Any]
Boundary: TypeAlias = str | Ends | Values | None

OBJECTIVES = ("accuracy", "worst_case")
BALANCED = "balanced"
LISTED = 20
"""Missed edges that a message lists."""


def graph(given: object) -> DatasetGraph:
    """A graph of datasets."""
    if not isinstance(given, DatasetGraph):
        raise InvalidProblem(f"graph must be a DatasetGraph, got {type(given).__name__}")
    return given


def number(given: object, name: str) -> float:
    """A plain float; booleans and texts are refused."""
    value = given.item() if isinstance(given, (np.generic, np.ndarray)) and np.ndim(given) == 0 else given
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise InvalidProblem(f"{name} must be a number, got {given!r}")
    try:
        return float(value) + 0.0
    except OverflowError as cause:
        raise InvalidProblem(f"{name} is an integer beyond the range of floats") from cause


def epsilon(given: object) -> float:
    """A finite budget in nats, >= 0."""
    value = number(given, "epsilon")
    if not 0 <= value < math.inf:
        raise InvalidProblem(f"epsilon must be a finite number of nats >= 0, got {value}")
    return value


def delta(given: object) -> float:
    """A probability that may break the bound."""
    value = number(given, "delta")
    if not 0 <= value <= 1:
        raise InvalidProblem(f"delta must be in [0, 1], got {value}")
    return value


def objective(given: object) -> str:
    """What is maximised, by name."""
    if given not in OBJECTIVES:
        raise InvalidProblem(f'objective must be "accuracy" or "worst_case", got {given!r}')
    return str(given)


def weights(given: ArrayLike | None, size: int) -> Floats | None:
    """Finite non-negative weights, one a vertex, not all zero; read-only."""
    if given is None:
        return None
    try:
        table = np.array(given, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as cause:
        raise InvalidProblem(f"weights must be {size} numbers: {cause}") from cause
    if table.shape != (size,):
        raise InvalidProblem(f"weights must be {size} numbers, one a vertex, got shape {table.shape}")
    bad = np.flatnonzero(~((table >= 0) & (table < math.inf)))
    if bad.size:
        raise InvalidProblem(f"weights[{bad[0]}] = {table[bad[0]]} is not a finite number >= 0")
    with np.errstate(over="ignore"):
        total = float(table.sum())
    if size and not 0 < total < math.inf:
        raise InvalidProblem("weights must have a positive finite sum; give at least one vertex a weight")
    table.setflags(write=False)
    return table


def boundary(given: object, of: DatasetGraph) -> Boundary:
    """The boundary as it is kept: None, "balanced", two numbers, or numbers by vertex."""
    k = len(of.palette)
    if given is None or (isinstance(given, str) and given == BALANCED):
        # With three or more colours no closed form is best on the boundary, so it is chosen there.
        return BALANCED if given is not None and k <= 2 else None
    if isinstance(given, Mapping):
        return {plain_label(v): _value(x, v, k) for v, x in given.items()}
    if isinstance(given, (tuple, list)) and len(given) == 2:
        if k > 2:
            raise InvalidProblem(
                f"boundary=(q_first, q_second) is for two colours, the graph has {k}: give "
                "{vertex: [a probability a colour]}, or None"
            )
        second = None if given[1] is None else probability(given[1], "q_second")
        return probability(given[0], "q_first"), second
    raise InvalidProblem(
        'boundary must be "balanced", (q_first, q_second or None), {vertex: probability of the first colour} '
        f"or None, got {given!r}"
    )


def _value(given: object, vertex: Label, k: int) -> float | tuple[float, ...]:
    """Pr[first colour], or a whole law where there are more than two colours."""
    what = f"the value prescribed on vertex {vertex!r}"
    if k <= 2:
        value = probability(given, what)
        if k < 2 and value != 1:
            raise InvalidProblem(f"{what} must be 1: there is only one colour, got {value}")
        return value
    if isinstance(given, (str, bytes)) or np.ndim(given) != 1 or len(given) != k:  # type: ignore[arg-type]
        raise InvalidProblem(f"{what} must be {k} probabilities, one a colour, got {given!r}")
    row = tuple(probability(x, what) for x in given)  # type: ignore[attr-defined]
    if abs(math.fsum(row) - 1) > 1e-9:
        raise InvalidProblem(f"{what} is no distribution: it sums to {math.fsum(row)}, not to 1 within 1e-9")
    return row


def probability(given: object, what: str) -> float:
    """A number in [0, 1]."""
    value = number(given, what)
    if not 0 <= value <= 1:
        raise InvalidProblem(f"{what} must be in [0, 1], got {value}")
    return value


def hitting(of: DatasetGraph, sites: NDArray[np.int64]) -> None:
    """Refuse sites that leave a two-coloured edge with neither end prescribed: nothing dominates then."""
    held = np.zeros(of.size, dtype=bool)
    held[sites] = True
    pairs = of.two_coloured_edges()
    missed = pairs[~held[pairs].any(axis=1)]
    if len(missed):
        shown = [(of.vertices[u], of.vertices[v]) for u, v in missed[:LISTED].tolist()]
        more = f" and {len(missed) - LISTED} more" if len(missed) > LISTED else ""
        raise InvalidProblem(
            f"the prescribed vertices miss {len(missed)} two-coloured edges, so that no mechanism dominates: "
            f"{shown}{more}; prescribe one end of each, or boundary=None"
        )


def write_boundary(given: Boundary) -> object:
    """The boundary as JSON holds it."""
    if isinstance(given, Mapping):
        values = [list(x) if isinstance(x, tuple) else x for x in given.values()]
        return {"vertices": encode_labels(given), "values": values}
    return list(given) if isinstance(given, tuple) else given


def read_boundary(given: Any) -> Boundary:
    """What :func:`write_boundary` wrote, not yet checked."""
    if isinstance(given, dict):
        names = decode_labels(given["vertices"], "boundary vertices")
        if len(names) != len(given["values"]) or len(set(names)) != len(names):
            raise InvalidProblem("boundary needs distinct vertices and one value for each")
        return dict(zip(names, given["values"], strict=True))
    kept: Boundary = tuple(given) if isinstance(given, list) else given
    return kept


def fields(given: Mapping[str, Any]) -> dict[str, Any]:
    """A dictionary of the problem that fits its schema, with the defaults filled in."""
    from privopt.files.json import check_schema

    check_schema(given, "problem-boundary_colouring")
    defaults = {"delta": 0.0, "boundary": BALANCED, "weights": None, "objective": "accuracy"}
    return {**defaults, **given, "graph": {"type": "dataset_graph", **given["graph"]}}
