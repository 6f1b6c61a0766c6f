"""Argument validation of problems: every argument checked, every refusal a sentence."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeAlias, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from privopt.core.words import NATS, measured
from privopt.errors import InvalidMechanism, InvalidModel, InvalidProblem
from privopt.files.labels import Label, Labels
from privopt.files.numbers import decode_float
from privopt.mechanisms import Merging
from privopt.models import JointDistribution
from privopt.models.channel_data import Joint, Observation, Release, observation
from privopt.models.columns import TableColumns
from privopt.models.distance import Distance
from privopt.models.generalisation import Generalisation, generalisation
from privopt.models.validation import distinct_labels

Cost: TypeAlias = Callable[[NDArray[np.float64]], float]
Matrix: TypeAlias = tuple[tuple[float, ...], ...]
Utility: TypeAlias = str | Matrix | Cost

V = TypeVar("V")

MUTUAL_INFORMATION = "mutual_information"
NOTIONS = ("lip", "ldp")


SMALLEST = 1e-290
"""Probabilities between 0 and this are refused: ratios of them leave the range of floats."""


def joint(observed: Observation) -> None:
    """Refuse probabilities that floats cannot divide by."""
    for table in (observed.leaking, observed.useful):
        if table is None:
            continue
        weights, total = table.exact.weights, table.exact.total
        tiny = next((i for i, weight in enumerate(weights) if weight and weight / total < SMALLEST), None)
        if tiny is not None:
            s, w = divmod(tiny, len(table.useful))
            raise InvalidProblem(
                f"P({table.sensitive[s]!r}, {table.useful[w]!r}) is positive and below {SMALLEST:g}, which floats cannot "
                "work with; make it 0, or merge the symbol with another"
            )


def level(value: object, name: str, unit: str = NATS) -> float:
    """A number of nats >= 0, perhaps inf; a plain one where the unit is empty."""
    try:
        size = decode_float(value.item() if isinstance(value, np.generic) else value)
    except ValueError as cause:
        of = f" of {unit}" if unit else ""
        raise InvalidProblem(f"{name} must be a number{of} >= 0, or inf: {cause}") from cause
    if not size >= 0:
        raise InvalidProblem(f"{name} must be {measured('>= 0', unit)}, got {size}")
    return size + 0.0


def levels(epsilon: object, lower: object, upper: object, unit: str = NATS) -> tuple[float, float]:
    """(lower, upper) from one epsilon for both, or from the two."""
    if epsilon is not None:
        if lower is not None or upper is not None:
            raise InvalidProblem("give epsilon, or lower and upper, not both: epsilon sets both")
        both = level(epsilon, "epsilon", unit)
        return both, both
    if lower is None and upper is None:
        raise InvalidProblem(f"give a budget: epsilon, or lower or upper{f', in {unit}' if unit else ''}")
    return (
        math.inf if lower is None else level(lower, "lower", unit),
        math.inf if upper is None else level(upper, "upper", unit),
    )


def delta(value: object, notion: str) -> float:
    """A probability that may violate the bounds; 0 for LDP."""
    share = value.item() if isinstance(value, np.generic) else value
    if isinstance(share, bool) or not isinstance(share, (int, float)) or not 0 <= share <= 1:
        raise InvalidProblem(f"delta must be in [0, 1], got {value!r}")
    if share > 0 and notion == "ldp":
        raise InvalidProblem('delta > 0 is for notion="lip" only; give delta=0, or notion="lip"')
    return float(share) + 0.0


def notion(value: object, lower: float, upper: float, known: tuple[str, ...] = NOTIONS) -> str:
    """The notion by name; all but "lip" bound by one number."""
    if value not in known:
        listed = " or ".join(f'"{name}"' for name in known)
        raise InvalidProblem(f"notion must be {listed}, got {value!r}")
    if value != "lip" and lower != upper:
        raise InvalidProblem(f'notion="{value}" has one budget: give epsilon, not lower and upper')
    return str(value)


def utility(value: object, symbols: int) -> Utility:
    """The name of a utility, a distortion matrix with a row for each useful symbol, or a concave cost."""
    if isinstance(value, str):
        if value != MUTUAL_INFORMATION:
            raise InvalidProblem(
                f'utility must be "{MUTUAL_INFORMATION}", a distortion matrix or a cost, got {value!r}'
            )
        return value
    if callable(value):
        return cost(cast(Cost, value), symbols)
    return distortion(value, symbols)


def distortion(value: object, symbols: int) -> Matrix:
    """Finite distortions D[x, y], a row for each useful symbol."""
    try:
        table = np.array(value, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as cause:
        raise InvalidProblem(f"the distortion must be a table of numbers D[x, y]: {cause}") from cause
    if table.ndim != 2 or table.shape[0] != symbols or table.shape[1] == 0:
        raise InvalidProblem(
            f"the distortion D[x, y] must have {symbols} rows, one a useful symbol, got shape {table.shape}"
        )
    if not np.isfinite(table).all():
        x, y = np.argwhere(~np.isfinite(table))[0].tolist()
        raise InvalidProblem(f"the distortion D[{x}, {y}] = {table[x, y]} is not a finite number")
    return tuple(tuple(row) for row in (table + 0.0).tolist())


def placed(values: V, symbols: Labels, columns: TableColumns | None) -> V | Distance:
    """A distance as that between the symbols of a model, in their order; anything else as it is."""
    return values.between(symbols, columns) if isinstance(values, Distance) else values


def outputs(names: Iterable[Label] | None, columns: int | None) -> Labels | None:
    """Distinct names of the releases, one for each column of a distortion."""
    if names is None:
        return None
    if columns is None:
        raise InvalidProblem(
            "outputs name the columns of a distortion, and this utility has none: leave outputs out"
        )
    try:
        labels = distinct_labels(names, "outputs")
    except InvalidModel as cause:
        raise InvalidProblem(str(cause)) from cause
    if len(labels) != columns:
        raise InvalidProblem(
            f"outputs holds {len(labels)} names, the distortion has {columns} columns: give one name for each"
        )
    return labels


def check_outputs(release: Release, names: Labels | None) -> None:
    """Refuse a mechanism whose releases are named otherwise than the problem's.

    Raises
    ------
    InvalidMechanism
        If it has other names, or the same in another order; bare positions stand for the names.
    """
    if names is None or release.outputs in (names, tuple(range(len(names)))):
        return
    odd = next(y for y, (a, b) in enumerate(zip(release.outputs, names, strict=True)) if a != b)
    raise InvalidMechanism(
        f"the mechanism names its release {odd} {release.outputs[odd]!r}, the problem {names[odd]!r}: give it the problem's outputs"
    )


def contiguous(flag: object, joint: Joint) -> None:
    """Refuse contiguous blocks where no column has an order or a hierarchy, or a symbol never occurs."""
    if not isinstance(flag, bool):
        raise InvalidProblem(f"contiguous must be True or False, got {flag!r}")
    if not flag:
        return
    shape = shape_of(joint)
    unseen = observation(joint).unseen
    if unseen:
        raise InvalidProblem(
            f"the symbol {shape.symbols[unseen[0]]!r} has probability 0, so it belongs to no block: leave it out"
        )


def shape_of(joint: Joint) -> Generalisation:
    """The orders and hierarchies of the symbols that a mechanism reads."""
    if not isinstance(joint, JointDistribution):
        raise InvalidProblem(
            "contiguous blocks are of the useful columns: give a JointDistribution, whose mechanism reads these"
        )
    try:
        return generalisation(joint)
    except InvalidModel as cause:
        raise InvalidProblem(str(cause)) from cause


def check_contiguous(release: Release, shape: Generalisation, problem: str) -> Merging:
    """The mechanism, if it is a merging into intervals and nodes.

    Raises
    ------
    InvalidMechanism
        If it draws at random, or with the first block that leaves out what lies between its symbols.
    """
    if not isinstance(release, Merging):
        raise InvalidMechanism(
            f"this {problem} asks for contiguous blocks, which a Merging has: got a Channel"
        )
    blocks = [np.flatnonzero(release.assignment == y).tolist() for y in range(len(release.blocks))]
    fault = shape.fault(blocks)
    if fault is not None:
        raise InvalidMechanism(f"this {problem} asks for contiguous blocks: {fault}")
    return release


def cost(function: Cost, symbols: int) -> Cost:
    """A cost of the posterior, tried at random posteriors: finite there, and concave between them."""
    rng = np.random.default_rng(0)
    for _ in range(32):
        a, b = rng.dirichlet(np.full(symbols, 0.5), size=2)
        ends, middle = (float(function(a)) + float(function(b))) / 2, float(function((a + b) / 2))
        if not (math.isfinite(ends) and math.isfinite(middle)):
            raise InvalidProblem("the cost of a posterior must be a finite number")
        if middle < ends - 1e-9 * max(1.0, abs(ends)):
            raise InvalidProblem(
                "the cost must be concave in the posterior: between two random posteriors it falls below its chord"
            )
    return function


def fields(values: Mapping[str, Any], schema: str) -> dict[str, Any]:
    """A dictionary of a problem that fits its schema, with the type of its joint filled in."""
    from privopt.files.json import check_schema

    check_schema(values, schema)
    return {**values, "joint": {"type": "joint_distribution", **values["joint"]}}
