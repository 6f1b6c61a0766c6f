"""Argument validation of a noisy query: every refusal a sentence."""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np

from privopt.errors import InvalidMechanism, InvalidModel
from privopt.files.labels import Labels, plain_labels
from privopt.files.numbers import decode_float
from privopt.mechanisms.noise.shapes import SHAPES
from privopt.mechanisms.noise.statistics import AnyQuery
from privopt.models.validation import column_names

SCOPES = ("targets_in_interval", "all_reals")


def noise(value: object, query: AnyQuery) -> str:
    """A noise that can be added to this query."""
    if not isinstance(value, str) or value not in SHAPES:
        raise InvalidMechanism(f"noise must be one of {', '.join(SHAPES)}, got {value!r}")
    counts = query == "count" or isinstance(query, tuple)
    if value == "discrete_laplace" and not (counts or query == "histogram"):
        raise InvalidMechanism("discrete Laplace noise is for counts and histograms; use laplace")
    if value == "randomised_response" and not counts:
        raise InvalidMechanism("randomised response answers counts; use laplace for other queries")
    return value


def nats(value: object, what: str) -> float:
    """A number of nats >= 0, perhaps inf."""
    try:
        level = decode_float(value.item() if isinstance(value, np.generic) else value)
    except ValueError as cause:
        raise InvalidMechanism(f"{what} must be a number of nats >= 0: {cause}") from cause
    if not level >= 0:
        raise InvalidMechanism(f"{what} must be >= 0 nats, got {level}")
    return level + 0.0


def scale(value: object, noise: str) -> float:
    """A positive scale; below 1/2 for the probability of a lie."""
    size = nats(value, "scale")
    if size == 0:
        raise InvalidMechanism("scale must be > 0: without noise nothing is protected")
    if noise == "randomised_response" and 0.5 <= size < math.inf:
        raise InvalidMechanism(
            f"the probability of a lie must be below 1/2, or inf for no answer, got {size}"
        )
    return size


def scope(value: object) -> str:
    """One of the two scopes."""
    if value not in SCOPES:
        raise InvalidMechanism(f"scope must be one of {', '.join(SCOPES)}, got {value!r}")
    return str(value)


def length(value: object) -> int | None:
    """A number of records, or None."""
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < 1:
        raise InvalidMechanism(f"length must be a whole number of records >= 1, got {value!r}")
    return int(value)


def columns(value: object) -> tuple[str, ...]:
    """Names of columns, none if they are not remembered."""
    try:
        return column_names(value)
    except InvalidModel as cause:
        raise InvalidMechanism(str(cause)) from cause


def states(value: object) -> Labels | None:
    """Distinct labels, or None."""
    if value is None:
        return None
    if not isinstance(value, Iterable) or isinstance(value, (str, bytes)):
        raise InvalidMechanism(f"states must be a list of labels, got {value!r}")
    labels = plain_labels(value)
    if not labels or len(set(labels)) != len(labels):
        raise InvalidMechanism(f"states must be distinct labels, at least one, got {labels!r}")
    return labels
