"""The door of a noisy query: every refusal a sentence; and its form in a file."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from privopt.errors import InvalidMechanism
from privopt.files.labels import Labels, decode_label, decode_labels, encode_label, encode_labels, plain_label
from privopt.files.numbers import decode_float, decode_table, encode_float
from privopt.mechanisms.noise.level import NOISES
from privopt.mechanisms.noise.query import Query
from privopt.mechanisms.noise.statistics import AnyQuery

if TYPE_CHECKING:
    from privopt.mechanisms.noise.noisy_query import NoisyQuery

SCOPES = ("targets_in_interval", "all_reals")


def noise(given: object, query: AnyQuery) -> str:
    """A noise that can be added to this query."""
    if not isinstance(given, str) or given not in NOISES:
        raise InvalidMechanism(f"noise must be one of {', '.join(NOISES)}, got {given!r}")
    counts = query == "count" or isinstance(query, tuple)
    if given == "discrete_laplace" and not (counts or query == "histogram"):
        raise InvalidMechanism("discrete Laplace noise is for counts and histograms; use laplace")
    if given == "randomised_response" and not counts:
        raise InvalidMechanism("randomised response answers counts; use laplace for other queries")
    return given


def nats(given: object, what: str) -> float:
    """A number of nats >= 0, perhaps inf."""
    try:
        value = decode_float(given.item() if isinstance(given, np.generic) else given)
    except ValueError as cause:
        raise InvalidMechanism(f"{what} must be a number of nats >= 0: {cause}") from cause
    if not value >= 0:
        raise InvalidMechanism(f"{what} must be >= 0 nats, got {value}")
    return value + 0.0


def scale(given: object, noise: str) -> float:
    """A positive scale; below 1/2 for the probability of a lie."""
    value = nats(given, "scale")
    if value == 0:
        raise InvalidMechanism("scale must be > 0: without noise nothing is protected")
    if noise == "randomised_response" and 0.5 <= value < math.inf:
        raise InvalidMechanism(
            f"the probability of a lie must be below 1/2, or inf for no answer, got {value}"
        )
    return value


def scope(given: object) -> str:
    """One of the two scopes."""
    if given not in SCOPES:
        raise InvalidMechanism(f"scope must be one of {', '.join(SCOPES)}, got {given!r}")
    return str(given)


def length(given: object) -> int | None:
    """A number of records, or None."""
    if given is None:
        return None
    if isinstance(given, bool) or not isinstance(given, (int, np.integer)) or given < 1:
        raise InvalidMechanism(f"length must be a whole number of records >= 1, got {given!r}")
    return int(given)


def states(given: object) -> Labels | None:
    """Distinct labels, or None."""
    if given is None:
        return None
    if not isinstance(given, Iterable) or isinstance(given, (str, bytes)):
        raise InvalidMechanism(f"states must be a list of labels, got {given!r}")
    found = tuple(plain_label(s) for s in given)
    if not found or len(set(found)) != len(found):
        raise InvalidMechanism(f"states must be distinct labels, at least one, got {found!r}")
    return found


def query_text(query: AnyQuery) -> str:
    """A query as it is shown."""
    if not isinstance(query, Query):
        return repr(query)
    function: Any = query.function
    name = getattr(function, "__qualname__", type(function).__name__)
    return f"Query({function.__module__}.{name}, sensitivity={query.sensitivity!r})"


def encode_query(query: AnyQuery) -> object:
    """A query as JSON holds it."""
    if isinstance(query, Query):
        raise InvalidMechanism(
            "a query that is a Python function cannot be written to a file; use sum, mean, count or histogram"
        )
    return query if isinstance(query, str) else {"count": encode_label(query[1])}


def decode_query(given: object) -> object:
    """The query that :func:`encode_query` wrote."""
    if isinstance(given, dict) and set(given) == {"count"}:
        return ("count", decode_label(given["count"], "query"))
    return given


def encode(mechanism: NoisyQuery) -> dict[str, Any]:
    """A noisy query as JSON holds it."""
    m = mechanism
    return {
        "type": m.kind,
        "version": 1,
        "query": encode_query(m.query),
        "noise": m.noise,
        "scale": encode_float(m.scale),
        "tau": encode_float(m.tau),
        "leakage": encode_float(m.leakage),
        "scope": m.scope,
        "clip": None if m.clip is None else list(m.clip),
        "length": m.length,
        "states": None if m.states is None else encode_labels(m.states),
        "simulation_only": m.simulation_only,
    }


def decode(fields: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a noisy query, labels and numbers read; the constructor checks them."""
    for name in ("query", "noise", "scale", "tau", "leakage", "scope"):
        if name not in fields:
            raise InvalidMechanism(f'a noisy query needs "{name}"')
    try:
        names, clip = fields.get("states"), fields.get("clip")
        return {
            **{name: fields.get(name) for name in ("noise", "scope", "length", "simulation_only")},
            "clip": None if clip is None else decode_table(clip, "clip"),
            **{name: decode_float(fields[name]) for name in ("scale", "tau", "leakage")},
            "query": decode_query(fields["query"]),
            "states": None if names is None else decode_labels(names),
        }
    except ValueError as cause:
        raise InvalidMechanism(str(cause)) from cause
