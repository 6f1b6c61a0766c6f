"""The door of a question on a sequence: every argument checked, every refusal a sentence."""

from __future__ import annotations

from collections.abc import Mapping
from operator import index
from typing import Any

from privopt.errors import InvalidProblem
from privopt.models import MarkovChain

HORIZON = 100
"""Letters that utility is averaged over when a chain has no end and none is given."""

MAX_HORIZON = 2**20


def chain(given: object) -> MarkovChain:
    """A Markov chain."""
    if not isinstance(given, MarkovChain):
        raise InvalidProblem(f"chain must be a MarkovChain, got {type(given).__name__}")
    return given


def count(given: object, name: str) -> int:
    """An integer of at least 1."""
    if isinstance(given, bool):
        raise InvalidProblem(f"{name} must be an integer >= 1, got {given!r}")
    try:
        found = index(given)  # type: ignore[arg-type]  # what is not an integer raises
    except TypeError as cause:
        raise InvalidProblem(f"{name} must be an integer >= 1, got {given!r}") from cause
    if found < 1:
        raise InvalidProblem(f"{name} must be an integer >= 1, got {found}")
    return found


def memory(given: object) -> int:
    """1: a kernel that reads older letters too gains nothing."""
    found = count(given, "memory")
    if found != 1:
        raise InvalidProblem(
            "memory must be 1: averaging a kernel over the older letters that it reads keeps its leakage and its cost"
        )
    return found


def horizon(given: object, letters: MarkovChain) -> int | None:
    """A number of letters that the chain has; None for the default."""
    if given is None:
        return None
    found = count(given, "horizon")
    most = letters.max_length
    if most is not None and found > most:
        raise InvalidProblem(f"horizon {found} exceeds the {most} letters that the chain's steps give")
    if found > MAX_HORIZON:
        raise InvalidProblem(f"horizon must be at most {MAX_HORIZON} letters, got {found}")
    return found


def fields(given: Mapping[str, Any]) -> dict[str, Any]:
    """A dictionary of a question with its defaults filled in."""
    from privopt.files.json import check_schema

    check_schema(given, "problem-sequence_information_privacy")
    missing = {"batch": 1, "memory": 1, "distortion": "hamming", "horizon": None}
    return {**missing, **given, "chain": {"type": "markov_chain", **given["chain"]}}
