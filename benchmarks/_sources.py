"""Digests of source code: a row is reused only if the code that made it is the code that would make it."""

from __future__ import annotations

import hashlib
import inspect
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Any

from privopt._solver import Solver

CORE = ("", "measures", "mechanisms", "models", "problems", "solvers/common")


def digest(solver: type[Solver[Any]] | None) -> str:
    """SHA-256 of the code that judges and of the folder that the solver lives in.

    The command line, the benchmarks and the folders of other questions do not count; for a solver from
    outside the package its own file counts.

    Examples
    --------
    >>> len(digest(None))
    64
    """
    parts = [_folders(CORE)]
    if solver is not None:
        inside = solver.__module__.startswith("privopt.solvers.")
        parts.append(_folders(("solvers/" + solver.__module__.split(".")[2],)) if inside else _file(solver))
    return hashlib.sha256("".join(parts).encode()).hexdigest()


@cache
def _folders(names: tuple[str, ...]) -> str:
    """One digest of the Python files directly in some folders of the package, with their names."""
    total = hashlib.sha256()
    for name in names:
        place = files("privopt").joinpath(name) if name else files("privopt")
        for entry in sorted(place.iterdir(), key=lambda e: e.name):
            if _counts(entry, top=not name):
                total.update(f"{name}/{entry.name}\0".encode() + entry.read_bytes() + b"\0")
    return total.hexdigest()


def _counts(entry: Traversable, *, top: bool) -> bool:
    """Whether a file can change an answer: the command line cannot."""
    return entry.name.endswith(".py") and not (top and entry.name.startswith(("cli", "_cli", "__main__")))


@cache
def _file(solver: type[Solver[Any]]) -> str:
    try:
        return hashlib.sha256(inspect.getsource(inspect.getmodule(solver) or solver).encode()).hexdigest()
    except (OSError, TypeError):
        return "the source is not to be had"
